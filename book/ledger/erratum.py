"""The entries of book/errata.md, each tied to its claims, so that the page states no more than the ledger does.

An entry is a line (its head) above a line that begins with a colon. A comment above the head names the entry's claims:

    % claims: smith2026.lemma1.sign
    Lemma 1: the sign of $x$
    : It is negative.

Entries without a claim that differs, such as omissions and open points, are below the heading Remarks of their
document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "errata.md"
ENTRY = re.compile(r"(?m)^### (?P<heading>.+)$|^(?:% claims: (?P<claims>.+)\n)?(?P<head>\S.*)\n: ")
REMARKS = "Remarks"


@dataclass(frozen=True)
class Entry:
    """One entry: its head, the ids of its claims, and whether it is one of the remarks."""

    head: str
    claims: tuple[str, ...]
    remark: bool


@cache
def entries(path: Path = PAGE) -> dict[str, list[Entry]]:
    """Return the entries of each document, in the order of the page. The keys are those of the documents."""
    parts = re.split(r"(?m)^\(errata-(\w+)\)=$", path.read_text(encoding="utf-8"))
    return {key: _entries(text) for key, text in zip(parts[1::2], parts[2::2])}


def _entries(text: str) -> list[Entry]:
    found, heading = [], ""
    for match in ENTRY.finditer(text):
        if match["heading"]:
            heading = match["heading"]
        else:
            found.append(Entry(match["head"], tuple((match["claims"] or "").split()), heading == REMARKS))
    return found


def anchor(document: str, number: int) -> str:
    """Return the id, on the page, of a document's entry with this `number`; the first has number 0."""
    return f"errata-{document}-{number}"


def about(id: str, path: Path = PAGE) -> list[tuple[str, str]]:
    """Return (anchor, head) of the entries that name the claim `id`."""
    document = id.split(".")[0]
    found = enumerate(entries(path).get(document, []))
    return [(anchor(document, number), entry.head) for number, entry in found if id in entry.claims]


def problems(verdicts: dict[str, str], excused: set[str], path: Path = PAGE) -> list[str]:
    """Return a sentence for each contradiction between the page and `verdicts`, which maps the ids of claims to
    verdicts. The claims in `excused` need no entry."""
    told = [(key, entry) for key, each in entries(path).items() for entry in each]
    named = {id for _, entry in told for id in entry.claims if not entry.remark}
    found = [
        f"{key}, {entry.head}: unknown claim {id}" for key, entry in told for id in entry.claims if id not in verdicts
    ]
    for key, entry in told:
        differs = any(verdicts.get(id) == "differs" for id in entry.claims)
        if entry.remark and differs:
            found.append(f"{key}, {entry.head}: one of its claims differs, so it must not be a remark")
        if not entry.remark and not differs:
            found.append(f"{key}, {entry.head}: none of its claims differs, so it must be a remark")
    missing = {id for id, verdict in verdicts.items() if verdict == "differs"} - named - excused
    return found + [f"{id}: differs, but has neither an erratum nor a reason for having none" for id in sorted(missing)]
