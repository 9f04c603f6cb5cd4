"""`make proofs`: let Coq check every file of proofs/, and each theorem in headlines.yml for axioms that it may not use.

The files are copied to build/proofs, where the makefile that Coq writes builds what has changed. No proof may be left
out and nothing may be assumed: a command that could do so is refused before Coq runs, and at the end Coq lists the
axioms that the theorems of each group rest on. Definitions and theorems must be those in statements.txt. What Coq
prints of them, with full names, must be the text of read_by_coq.txt.

    python -m proofs.check keep             # rewrites read_by_coq.txt, after an intended change
    python -m proofs.check unless-checked   # does nothing if checked.txt has the hash of the present files

A successful run writes checked.txt, the hash of everything that the result depends on; commit it with the proofs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from book.ledger import machine_checked
from lib.release import files
from proofs import cells, stated
from proofs.stated import Failed, sources

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/proofs"
PACKAGES = (ROOT / "proofs/packages.txt").read_text(encoding="utf-8").split()

# The commands in these files. All other commands of Coq, such as Axiom, Context, attributes and flags, are refused.
COMMAND = re.compile(
    r"From (?:Coq|mathcomp|Coquelicot|Interval|Compendium) Require |Import |Local Open Scope \w+\.$"
    r"|Set Implicit Arguments\.$|Unset Strict Implicit\.$|Unset Printing Implicit Defensive\.$"
    r"|Delimit Scope |Implicit Types |Arguments |Ltac |Section |End "
    r"|(?:Local )?(?:Definition|Fixpoint|Inductive|Record|Lemma|Theorem) "
)
IN_SECTIONS = re.compile(r"(?:Variables?|Hypothes[ie]s|Let) ")
# Tactics begin with a lower-case letter, and commands with a capital letter. `abstract` would state another lemma.
IN_PROOFS = re.compile(r"Proof(?:\.$| using)|Qed\.$|(?!.*(?:\badmit|give_up|abstract)\b)[a-z]", re.DOTALL)
READ = ROOT / "proofs/read_by_coq.txt"
CHECKED = ROOT / "proofs/checked.txt"
PROJECT = re.compile(r"-Q \. Compendium|-arg -w -arg [\w,-]+|\w+\.v")


def refuse_assumptions(texts: dict[str, str]) -> None:
    """Raise `Failed` for a command that the files do not need: it might assume something or switch off a check of Coq."""
    for name, text in texts.items():
        if name == "_CoqProject":
            refused = [line for line in enumerate(text.splitlines(), 1) if not PROJECT.fullmatch(line[1])]
        else:
            refused = list(not_needed(text))
        for line, said in refused:
            raise Failed(
                f"proofs/{name}:{line}: {said!r} is not a command of proofs/check.py: it may take for true what is not proved"
            )


def not_needed(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line, first words) of each sentence that is not one of the commands above."""
    depth = 0
    for sentence in machine_checked.sentences(text):
        said = sentence.clause
        depth += said.startswith("Section ") - said.startswith("End ")
        known = IN_PROOFS.match(said) if sentence.proving else COMMAND.match(said) or depth and IN_SECTIONS.match(said)
        if not known:
            yield sentence.line, " ".join(said.split()[:4])


def key(texts: dict[str, str]) -> str:
    """Return the hexadecimal hash of what Coq reads (`texts`) and of the lists and programs in proofs/ that check it."""
    beside = [path for path in CHECKED.parent.iterdir() if path.suffix in (".py", ".txt", ".yml") and path != CHECKED]
    read = texts | {path.name: path.read_text(encoding="utf-8") for path in beside}
    return hashlib.sha256(repr(sorted(read.items())).encode()).hexdigest()


def build(texts: dict[str, str], folder: Path) -> None:
    """Let Coq check the changed files in `folder` and the files that need them. Raises `Failed` with Coq's message."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text:
            with files.whole(folder / name) as draft:
                draft.write_text(text, encoding="utf-8")
    coq(["coq_makefile", "-f", "_CoqProject", "-o", "Makefile"], folder)
    coq(["make", "--no-print-directory", f"-j{os.cpu_count() or 1}"], folder)


def coq(command: list[str], folder: Path) -> str:
    """Return what `command` prints when it runs without the variables that make sets. Raises `Failed` with its message."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def read_by_coq(folder: Path, everything: dict[str, list[machine_checked.Statement]], theorems: set[str]) -> str:
    """Return the definitions and the named theorems as Coq prints them. No file is imported, so names include their files."""
    lines = ["Set Printing Width 120. Set Printing Depth 100000. Set Printing Coercions."]
    for file, statements in everything.items():
        module = file.removesuffix(".v")
        lines.append(f"From Compendium Require {module}.")
        lines += [f"{ask} Compendium.{module}.{each.name}." for each in statements if (ask := question(each, theorems))]
    (folder / "ReadByCoq.v").write_text("\n".join(lines), encoding="utf-8")
    return coq(["coqc", "-Q", ".", "Compendium", "ReadByCoq.v"], folder)


def question(statement: machine_checked.Statement, theorems: set[str]) -> str:
    """Return the command that prints a definition or a theorem; "" for lemmas and for the cells, which each run rewrites."""
    if statement.file == cells.FILE:
        return ""
    if statement.kind in ("Theorem", "Lemma"):
        return "Check" if statement.name in theorems else ""
    return "Print"


def hold_read(now: str, keep: bool = False, path: Path = READ) -> None:
    """Raise `Failed`, with the lines that differ, unless `now` is the text of the file at `path`; `keep` writes it first."""
    if keep:
        with files.whole(path) as draft:
            draft.write_text(now, encoding="utf-8")
    was = path.read_text(encoding="utf-8")
    if was != now:
        raise Failed(
            f"{stated.difference(was, now, path.name)}\nCoq has read something different from proofs/{path.name}. "
            "If that is meant: python -m proofs.check keep"
        )


def assumptions(folder: Path, theorems: list[machine_checked.Headline]) -> list[set[str]]:
    """Return, for each theorem, a set of axioms that contains all axioms it rests on, as Coq prints them.

    folder : where the files are built

    Coq reads everything that a theorem rests on again for each question, so there is one question for all theorems of a
    group. If the answer contains an axiom that the group may not use, there is one question for each theorem of it.
    """
    granted = machine_checked.axioms()
    groups = {name: [theorem for theorem in theorems if theorem.axioms == name] for name in granted}
    groups = {name: members for name, members in groups.items() if members}
    found: dict[str, set[str]] = {}
    for (name, members), axioms in zip(groups.items(), ask(folder, list(groups.values()))):
        each = [axioms] * len(members) if not beyond(axioms, granted[name]) else ask(folder, [[one] for one in members])
        found |= {theorem.statement.name: part for theorem, part in zip(members, each)}
    return [found[theorem.statement.name] for theorem in theorems]


def ask(folder: Path, questions: list[list[machine_checked.Headline]]) -> list[set[str]]:
    """Return, for each question, the axioms that at least one of its theorems rests on."""
    lines = []
    for number, question in enumerate(questions):
        names = [f"@{each.statement.file.removesuffix('.v')}.{each.statement.name}" for each in question]
        lines += [f"Definition together{number} := ({', '.join(names)}).", f"Print Assumptions together{number}."]
    modules = " ".join({each.statement.file.removesuffix(".v"): 0 for question in questions for each in question})
    text = "\n".join([f"From Compendium Require {modules}.", *lines, ""])
    (folder / "Assumptions.v").write_text(text, encoding="utf-8")
    said = coq(["coqc", "-Q", ".", "Compendium", "Assumptions.v"], folder)
    each = re.split(r"^(?:Closed under the global context|Axioms:)$", said, flags=re.MULTILINE)[1:]
    if len(each) != len(questions):
        raise Failed(f"Coq answered {len(each)} of {len(questions)} questions:\n{said}")
    return [set(re.findall(r"^[\w.']+", part, flags=re.MULTILINE)) for part in each]


def beyond(axioms: set[str], granted: list[str]) -> list[str]:
    """Return the axioms that match none of the patterns in `granted`."""
    return sorted(name for name in axioms if not any(fnmatch(name, rule) for rule in granted))


def hold(theorems: list[machine_checked.Headline], found: list[set[str]]) -> list[str]:
    """Return a line with the place and the axioms of each theorem. Raises `Failed` if its group may not use an axiom."""
    groups, lines = machine_checked.axioms(), []
    for theorem, axioms in zip(theorems, found):
        stands = theorem.statement
        if lacking := beyond(axioms, groups[theorem.axioms]):
            raise Failed(
                f"{stands.name} rests on {', '.join(lacking)}, which {theorem.axioms!r} of headlines.yml lacks"
            )
        shown = sorted({re.sub(r"^(PrimInt63|Uint63)\..*|.*\.", r"\1", name) for name in axioms})
        most = f"at most {', '.join(shown)}" if shown else "no axiom"
        lines.append(f"proofs/{stands.file}:{stands.line} {stands.name}: {most}")
    return lines


def main(arguments: list[str]) -> int:
    texts = sources()
    now = f"{key(texts)}\n"
    if "unless-checked" in arguments and CHECKED.is_file() and CHECKED.read_text(encoding="utf-8") == now:
        print("proofs: those that Coq has checked (proofs/checked.txt)")
        return 0
    if shutil.which("coqc") is None:
        print(f"The proofs need Coq, which is not installed: apt-get install {' '.join(PACKAGES)}", file=sys.stderr)
        return 2
    start = time.monotonic()
    try:
        refuse_assumptions(texts)
        stated.hold(texts)
        build(texts, BUILD)
        theorems = machine_checked.headlines()
        names = {theorem.statement.name for theorem in theorems}
        hold_read(read_by_coq(BUILD, machine_checked.everything(), names), keep="keep" in arguments)
        lines = hold(theorems, assumptions(BUILD, theorems))
    except (Failed, ValueError) as failure:
        print(failure, file=sys.stderr)
        return 1
    with files.whole(CHECKED) as draft:
        draft.write_text(now, encoding="utf-8")
    print("\n".join(lines))
    print(
        f"{len(theorems)} theorems checked, with the axioms that proofs/headlines.yml grants ({time.monotonic() - start:.0f} s)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
