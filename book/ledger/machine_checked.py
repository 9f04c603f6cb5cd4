"""The statements in proofs/: definitions and theorems, verbatim and without the proofs, each with the comment before
it.

for theorem in machine_checked.headlines():
    print(theorem.file, theorem.line, theorem.name, theorem.says)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import yaml

from proofs import cells

FOLDER = Path(__file__).resolve().parents[2] / "proofs"
LIST = FOLDER / "headlines.yml"

# What Coq's lexer distinguishes: both ends of comments, which may be nested; strings; and the full stop that ends a sentence.
TOKEN = re.compile(r'\(\*|\*\)|"[^"]*"|(\.(?=\s|$))|[^(*".]+|.', re.DOTALL)
# Marks that may precede a command or a tactic of a proof: bullets, braces, and goal selectors.
LEADING = re.compile(r"\A(?:[\s\-+*{}]|(?:\d+(?:\s*[-,]\s*\d+)*|\[\s*[\w']+\s*\]|all|par|!)\s*:(?!=))+")
NAMED = re.compile(r"(?:Local )?(Definition|Fixpoint|Inductive|Record|Theorem|Lemma)\s+(\w+)")


@dataclass(frozen=True)
class Sentence:
    """One sentence of Coq, with its full stop: `says` is the comment before it, and `proving` says whether it is in a
    proof."""

    line: int
    text: str
    says: str = ""
    proving: bool = False

    @property
    def clause(self) -> str:
        """Return the sentence's text without the bullets, braces and goal selectors at its start."""
        return LEADING.sub("", self.text)


@dataclass(frozen=True)
class Statement:
    """A definition or a theorem: `context` contains the variables, abbreviations and hypotheses of the sections around
    it."""

    file: str
    line: int
    kind: str
    name: str
    text: str
    says: str
    context: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """A theorem in proofs/headlines.yml: its statement, the group of its axioms, the functions of lib that it bounds,
    the ids of its claims or patterns for them, and the label of its box."""

    statement: Statement
    axioms: str
    lib: tuple[str, ...]
    claims: tuple[str, ...]
    box: str = ""


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a file, without comments. A proof extends from `Proof` to `Qed`, which belong to it."""
    depth, start, said, comment, says, proving = 0, 0, "", "", "", False
    for token in TOKEN.finditer(text):
        word = token[0]
        if word == "(*":
            depth += 1
        elif word == "*)" and depth:
            depth -= 1
            if not depth and said:
                said += " "  # as in Coq, a comment separates two words
            elif not depth:
                says, comment = " ".join(comment.split()), ""
        elif depth:
            comment += word
        else:
            if not said:
                start, word = token.end() - len(word.lstrip()), word.lstrip()
            said += word
            if token[1]:
                proving = proving or said.startswith("Proof")
                sentence = Sentence(text.count("\n", 0, start) + 1, said, says, proving)
                yield sentence
                proving = proving and sentence.clause != "Qed."
                said, comment, says = "", "", ""
    if said or depth:
        raise ValueError(
            f"line {text.count(chr(10), 0, start) + 1}: the sentence or comment that starts here has no end"
        )


def statements(path: Path) -> list[Statement]:
    """Return the definitions and theorems of one file, in the order of its text."""
    return stated(path.name, path.read_text(encoding="utf-8"))


def stated(file: str, text: str) -> list[Statement]:
    """Return the definitions and theorems in the text of a file."""
    found: list[Statement] = []
    sections: list[list[str]] = []
    for sentence in sentences(text):
        said = sentence.text
        if sentence.proving:
            continue
        if said.startswith("Section "):
            sections.append([])
        elif said.startswith("End "):
            sections.pop()
        elif re.match(r"(?:Variables?|Hypothes[ie]s)\b|Let\b.*:=", said, re.DOTALL):
            sections[-1].append(said)
        elif named := NAMED.match(said):
            context = tuple(held for section in sections for held in section)
            found.append(Statement(file, sentence.line, named[1], named[2], said, sentence.says, context))
    return found


def everything() -> dict[str, list[Statement]]:
    """Return {file: its definitions and theorems}, each file after those on which it builds."""
    names = [line for line in (FOLDER / "_CoqProject").read_text(encoding="utf-8").split() if line.endswith(".v")]
    return {name: stated(name, cells.text()) if name == cells.FILE else statements(FOLDER / name) for name in names}


def headlines() -> list[Headline]:
    """Return the theorems of proofs/headlines.yml. Raises ``ValueError`` for a theorem that is in no file, or in
    several."""
    theorems: dict[str, list[Statement]] = {}
    for file in everything().values():
        for statement in file:
            if statement.kind == "Theorem":
                theorems.setdefault(statement.name, []).append(statement)
    made = []
    for entry in yaml.safe_load(LIST.read_text(encoding="utf-8"))["theorems"]:
        places = theorems.get(entry["name"], [])
        if len(places) != 1:
            raise ValueError(
                f"{LIST.name}: theorem {entry['name']} must be in one file of proofs/, found in {len(places)}"
            )
        listed = (tuple(entry.get(key, ())) for key in ("lib", "claims"))
        made.append(Headline(places[0], entry.get("axioms", "reals"), *listed, entry.get("box", "")))
    return made


def about(claim: str) -> list[Headline]:
    """Return the theorems that prove or refute, entirely or in part, the claim of the ledger with this id."""
    return [each for each in _of_claims() if any(fnmatchcase(claim, pattern) for pattern in each.claims)]


@cache
def _of_claims() -> list[Headline]:
    return [each for each in headlines() if each.claims]


def address(statement: Statement) -> str:
    """Return the address, within the book, of the statement on the page of checked theorems."""
    return f"machine-checked.html#{label(statement)}"


def label(statement: Statement) -> str:
    return f"checked-{statement.name.replace('_', '-').lower()}"


def axioms() -> dict[str, list[str]]:
    """Return {group: patterns of the names of axioms that a theorem of the group may use}."""
    return yaml.safe_load(LIST.read_text(encoding="utf-8"))["axioms"]
