"""Keep the statements of proofs/ without their proofs in statements.txt, which shows each change of a statement.

    python -m proofs.stated         # rewrites the file

The file contains everything that Coq reads, except comments and the proofs between `Proof` and `Qed`. It contains only the
name of a lemma, unless the lemma contains `with`, because it may then state a second one.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from pathlib import Path

from book.ledger import machine_checked
from lib.release import files
from proofs import cells

FOLDER = Path(__file__).resolve().parent
KEPT = FOLDER / "statements.txt"
HEAD = """\
Written by `python -m proofs.stated`: what the files of proofs/ state. Definitions, theorems, and the sections and scopes
around them, in the words that Coq reads; of lemmas the names. `make proofs` fails where the files differ from this one.
"""


class Failed(Exception):
    """An error, described in a sentence or in Coq's words."""


def sources() -> dict[str, str]:
    """Return {name: text} of everything that Coq reads: the files in proofs/, and the cells made from the ledger."""
    names = [FOLDER / "_CoqProject", *sorted(FOLDER.glob("*.v"))]
    return {path.name: path.read_text(encoding="utf-8") for path in names} | {cells.FILE: cells.text()}


def text(texts: dict[str, str]) -> str:
    """Return the content of statements.txt, from the texts that Coq reads."""
    parts = [HEAD, "==== _CoqProject", texts["_CoqProject"]]
    for name in texts["_CoqProject"].split():
        if name in texts:
            parts += [f"==== {name}", *kept(texts[name]), ""]
    return "\n".join(parts)


def kept(source: str) -> list[str]:
    """Return the sentences of one file that are not in proofs, wrapped at 120 characters."""
    lines = []
    for sentence in machine_checked.sentences(source):
        said = " ".join(sentence.text.split())
        if said.startswith("Lemma ") and "with" not in re.findall(r"[\w']+", said):
            said = " ".join(said.split()[:2])
        if not sentence.proving:
            lines += textwrap.wrap(said, 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    return lines


def hold(texts: dict[str, str], path: Path = KEPT) -> None:
    """Raise `Failed`, with the lines that differ, unless the statements of `texts` are those in the file at `path`."""
    was, now = path.read_text(encoding="utf-8"), text(texts)
    if was.splitlines() != now.splitlines():
        raise Failed(
            f"{difference(was, now, path.name)}\nproofs/ states something different from proofs/{path.name}. If that is meant: python -m proofs.stated"
        )


def difference(was: str, now: str, name: str) -> str:
    """Return the lines in which `now`, from the files of proofs/, differs from `was`, the text of the file `name`."""
    lines = difflib.unified_diff(was.splitlines(), now.splitlines(), name, "the files of proofs/", n=1, lineterm="")
    return "\n".join(lines)


if __name__ == "__main__":
    with files.whole(KEPT) as draft:
        draft.write_text(text(sources()), encoding="utf-8")
