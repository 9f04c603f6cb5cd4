"""What the files of proofs/ state: definitions and theorems as they stand, with the comment before each, without the proofs.

for theorem in machine_checked.headlines():
    print(theorem.file, theorem.line, theorem.name, theorem.says)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "proofs"
LIST = FOLDER / "headlines.yml"

# A comment, or a sentence of Coq: up to a full stop before white space.
PART = re.compile(r"\(\*.*?\*\)|[^\s(].*?\.(?=\s)", re.DOTALL)
NAMED = re.compile(r"(?:Local )?(Definition|Fixpoint|Inductive|Record|Theorem|Lemma)\s+(\w+)")


@dataclass(frozen=True)
class Statement:
    """A definition or a theorem: `context` holds the variables, abbreviations and hypotheses of the sections around it."""

    file: str
    line: int
    kind: str
    name: str
    text: str
    says: str
    context: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """A theorem of the list: its statement, its axioms' group, the functions of lib it bounds, its claims, the box it stands in."""

    statement: Statement
    axioms: str
    lib: tuple[str, ...]
    claims: tuple[str, ...]
    box: str = ""


def statements(path: Path) -> list[Statement]:
    """The definitions and theorems of one file, in its order."""
    text = path.read_text(encoding="utf-8")
    found: list[Statement] = []
    sections: list[list[str]] = []
    says, proving = "", False
    for part in PART.finditer(text):
        said = part[0]
        if said.startswith("(*"):
            says = " ".join(said[2:-2].split()) if not proving else says
            continue
        if proving or said.startswith("Proof"):
            proving = not re.search(r"(?:^|\s)(?:Qed|Defined)\.$", said)
            says = ""
        elif said.startswith("Section "):
            sections.append([])
        elif said.startswith("End "):
            sections.pop()
        elif re.match(r"(?:Variables?|Hypothes[ie]s)\b|Let \w+ :[^=]+:=", said):
            sections[-1].append(said)
        elif named := NAMED.match(said):
            line = text.count("\n", 0, part.start()) + 1
            context = tuple(held for section in sections for held in section)
            found.append(Statement(path.name, line, named[1], named[2], said, says, context))
            says = ""
        else:
            says = ""
    return found


def everything() -> dict[str, list[Statement]]:
    """{file: its definitions and theorems}, in the order in which the files build on one another."""
    names = [line for line in (FOLDER / "_CoqProject").read_text(encoding="utf-8").split() if line.endswith(".v")]
    return {name: statements(FOLDER / name) for name in names if (FOLDER / name).is_file()}


def headlines() -> list[Headline]:
    """The theorems of proofs/headlines.yml. ``ValueError`` for one that stands in no file, or in two."""
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
                f"{LIST.name}: theorem {entry['name']} must stand in one file of proofs/, found {len(places)}"
            )
        listed = (tuple(entry.get(key, ())) for key in ("lib", "claims"))
        made.append(Headline(places[0], entry.get("axioms", "reals"), *listed, entry.get("box", "")))
    return made


def axioms() -> dict[str, list[str]]:
    """{group: patterns of the names of axioms that a theorem of the group may use}."""
    return yaml.safe_load(LIST.read_text(encoding="utf-8"))["axioms"]
