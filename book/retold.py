"""The ledger in the edition's language: what claims say, their rules, readings and notes, and the documents' names.

The texts are translated in locale/ja/claims/kiri2019.po, a document a file. A note is translated part by part, as semicolons
divide it; parts of several notes that differ in their numbers alone are one message, in which {1} is the first number.
"""

from __future__ import annotations

import re
from collections import Counter

from book import edition
from book.claims import Claim, Ledger, Record

PART = re.compile(
    r"(?:\([^()]*\)|\$[^$]*\$|[^;]|;(?! ))+"
)  # up to a semicolon that stands in no brackets and no formula
NUMBER = re.compile(r"\$[^$]*\$|[-+]?\d+(?:[.,]\d+)*")
FOUND = ("holds", "fails", "does not hold", "within the noise")


def catalogue(document: str) -> str:
    """The name of the catalogue of a document's claims."""
    return f"claims/{document}"


def parts(note: str) -> list[str]:
    return [part.strip("; ") for part in PART.findall(note)]


def without_numbers(text: str) -> tuple[str, list[str]]:
    """`text` with {1}, {2} … for its numbers outside formulas, and the numbers."""
    numbers: list[str] = []

    def numbered(match):
        if match[0].startswith("$"):
            return match[0]
        numbers.append(match[0])
        return f"{{{len(numbers)}}}"

    return NUMBER.sub(numbered, text), numbers


def messages(ledger: Ledger, records: list[Record]) -> dict[str, dict[str, str]]:
    """By catalogue, what there is to translate: the documents' names, the claims' texts, and the parts of the records' notes."""
    found: dict[str, dict[str, str]] = {}
    for key, document in ledger.documents.items():
        texts = found.setdefault(catalogue(key), {})
        texts |= {document.cited: "how the document is cited", document.title: "title", document.authors: "authors"}
        texts |= {document.venue: "venue", document.subject: "subject"}
    notes: dict[str, list[str]] = {record.id: _own(ledger.claims[record.id], record.note) for record in records}
    shapes = Counter(shape for each in set().union(*notes.values()) if (shape := without_numbers(each)[0]) != each)
    for id, claim in ledger.claims.items():
        said = [
            (f"note of {id}", shape if shapes[shape := without_numbers(part)[0]] > 1 else part) for part in notes[id]
        ]
        for kind, text in [*_texts(claim), *said]:
            if edition.worded(text):
                found[catalogue(claim.document)].setdefault(text, kind)
    return found


def _texts(claim: Claim):
    for kind in ("item", "statement", "printed", "rule"):
        yield f"{kind} of {claim.id}", getattr(claim, kind)
    for name, meaning in claim.readings.items():
        yield from ((f"name of a reading of {claim.id}", part) for part in name.split(", "))
        yield f"meaning of a reading of {claim.id}", meaning


def _own(claim: Claim, note: str) -> list[str]:
    """The parts of a note but those that say of a reading what was found."""
    made = {f"{name}: {found}" for name in claim.readings for found in FOUND}
    return [part for part in parts(note) if part not in made]
