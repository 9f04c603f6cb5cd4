"""The entries of book/errata.md and their addresses, so that a claim can link to those that speak of its place in the document."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "errata.md"
NAMED = r"[A-Z]?\.?\d+(?:[.-]\d+)*"
PLACE = re.compile(
    r"\b(table|figure|equation|section|theorem|lemma|definition|proposition|algorithm|footnote|reference)s?"
    rf" \(?({NAMED}\)?(?:(?:,? and |,? to |, )\(?{NAMED}\)?)*)",
    re.IGNORECASE,
)


@cache
def entries(path: Path = PAGE) -> dict[str, list[str]]:
    """The heads of a document's entries, in their order, by the document's key: each is a line above one that begins with a colon."""
    parts = re.split(r"(?m)^\(errata-(\w+)\)=$", path.read_text(encoding="utf-8"))
    return {key: re.findall(r"(?m)^(\S.*)\n: ", text) for key, text in zip(parts[1::2], parts[2::2])}


def anchor(document: str, number: int) -> str:
    """The place on the page of a document's entry, counted from 0."""
    return f"errata-{document}-{number}"


def about(document: str, item: str, path: Path = PAGE) -> list[tuple[str, str]]:
    """(anchor, head) of the document's entries that name a numbered part which `item` names; of the very section, if any is."""
    wanted, section = places(item), item.split(",")[0]
    found = [
        (anchor(document, number), head)
        for number, head in enumerate(entries(path).get(document, []))
        if wanted & places(head.partition(":")[0])
    ]
    return [(place, head) for place, head in found if section in head] or found


def places(text: str) -> set[tuple[str, str]]:
    """The numbered parts of a document that `text` names: ``Lemmas 4.3 and 4.5`` are (lemma, 4.3) and (lemma, 4.5)."""
    return {
        (kind.lower(), number.lower()) for kind, numbers in PLACE.findall(text) for number in re.findall(NAMED, numbers)
    }
