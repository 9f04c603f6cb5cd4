"""The ledger in the edition's language: the claims, their rules, interpretations and notes, and the documents' names.

The texts are translated in files such as locale/ja/claims/kiri2019.po, one for each document. A note is translated in
parts, which semicolons separate; if `book.ledger.claims` has written the first sentence, that is also a part. Parts of
several notes that differ only in their numbers are one message, in which the first number is written {1}.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from book.editions import edition
from book.editions.edition import say
from book.ledger import claims
from book.ledger.claims import VERDICTS, Claim, Document, Ledger, Record

PART = re.compile(r"(?:\([^()]*\)|\$[^$]*\$|[^;]|;(?! ))+")  # up to a semicolon outside of brackets and formulas
_REST = r"[^.]*(?:\.\d[^.]*)*"  # of a sentence; a point in it is that of a number
MADE = re.compile(rf"(?:{re.escape(claims.NOISE)} {_REST}|The claim (?:holds|fails|is) {_REST})\.(?: |$)")
CLAUSE = re.compile(
    r"(holds|fails|is left open by the noise) under ((?:“[^”]*”(?:, (?=“)| and (?=“))?)+|\d+(?: of \d+ interpretations)?)"
)
NUMBER = re.compile(r"\$[^$]*\$|[-+]?\d+(?:[.,]\d+)*")
PLACE = re.compile(r"\$[^$]*\$|\{(\d+)\}")  # of a number; the braces of a formula are its own
JUDGED = (*VERDICTS, *claims.RULES.values())  # passed to `say` unchanged
SAID = ("holds", "fails", "does not hold", "within the noise", "not judged")  # possible findings


def catalogue(document: str) -> str:
    """Return the name of the catalogue of a document's claims."""
    return f"claims/{document}"


def parts(note: str) -> list[str]:
    made = MADE.match(note)
    rest = note[made.end() :] if made else note
    return ([made[0].rstrip(". ")] if made else []) + [part.strip("; ") for part in PART.findall(rest)]


def without_numbers(text: str) -> tuple[str, list[str]]:
    """Return `text` with {1}, {2} … for its numbers outside formulas, and the numbers."""
    numbers: list[str] = []

    def numbered(match):
        if match[0].startswith("$"):
            return match[0]
        numbers.append(match[0])
        return f"{{{len(numbers)}}}"

    return NUMBER.sub(numbered, text), numbers


def filled(shape: str, numbers: list[str]) -> str:
    """Return `shape` with the `numbers` in their places {1}, {2} …"""
    return PLACE.sub(lambda found: numbers[int(found[1]) - 1] if found[1] else found[0], shape)


def messages(ledger: Ledger, records: list[Record]) -> dict[str, dict[str, str]]:
    """Return the messages by catalogue: the documents' names, the claims' texts, and the parts of the records' notes."""
    found: dict[str, dict[str, str]] = {}
    for key, document in [*ledger.documents.items(), *([(claims.OWN.key, claims.OWN)] if ledger.own else [])]:
        texts = found.setdefault(catalogue(key), {})
        texts |= {document.cited: "how the document is cited", document.title: "title", document.authors: "authors"}
        texts |= {document.venue: "venue", document.subject: "subject"}
    notes: dict[str, list[str]] = {record.id: _own(ledger[record.id], record.note) for record in records}
    shapes = Counter(shape for each in set().union(*notes.values()) if (shape := without_numbers(each)[0]) != each)
    for id, claim in ledger.all.items():
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
        yield from ((f"meaning of a reading of {claim.id}", part) for part in meaning.split("; "))


def _own(claim: Claim, note: str) -> list[str]:
    """Return the parts of a note except those that say what was found under the readings."""
    made = {f"{name}: {found}" for name in claim.readings for found in SAID}
    return [part for part in parts(note) if part not in made and not _clauses(part)]


def _clauses(part: str) -> list[tuple[str, str]]:
    """Return pairs (outcome, its readings by name or number) from a part that `evidence.told` has written; [] for
    another part."""
    told = CLAUSE.findall(part)
    clauses = [f"{found} under {them}" for found, them in told]
    return told if part.removeprefix("The claim ").split("; it ") == clauses else []


# ---------------------------------------------------------------- in the edition's language


def _told(text: str, key: str) -> str:
    return edition.translated(text, catalogue(key))


def document(one: Document) -> Document:
    texts = {name: _told(getattr(one, name), one.key) for name in ("title", "authors", "venue", "subject")}
    return replace(one, **texts)


def cited(one: Document) -> str:
    """Return how the document is cited."""
    return _told(one.cited, one.key)


def headed(one: Document) -> str:
    """Return the heading for a document on a page: how the document is cited, and its title."""
    return say("{cited}: {title}", cited=cited(one), title=document(one).title)


def claim(one: Claim) -> Claim:
    texts: dict = {name: _told(getattr(one, name), one.document) for name in ("item", "statement", "printed", "rule")}
    readings, *sets = (
        {
            _reading(name, one): say("; ").join(_told(part, one.document) for part in meaning.split("; "))
            for name, meaning in each.items()
        }
        for each in (one.readings, *one.sets)
    )
    return replace(one, **texts, readings=readings, sets=tuple(sets), own=_reading(one.own, one))


def record(one: Record, ledger: Ledger) -> Record:
    if edition.language == edition.SOURCE:
        return one
    known = ledger[one.id]
    found = claims_found(known, one.reproduced)
    note = say("; ").join(_part(part, known) for part in parts(one.note))
    note += say(".") * bool(note and not note.endswith(say(".")))
    item, published = _told(one.item, one.document), _told(one.published, one.document)
    told = source(known, ledger)
    return replace(one, item=item, published=published, reproduced=found, note=note, source=told)


def source(one: Claim, ledger: Ledger) -> str:
    """Return the claim's place in its document."""
    item = _told(one.item, one.document)
    return say("{document}, {item}", document=cited(ledger.document(one)), item=item)


def claims_found(one: Claim, reproduced: str) -> str:
    """Return the value, or whether the claim holds, for each interpretation, with names and words translated."""
    pieces = reproduced.split("; ") if one.readings else [reproduced]
    return "; ".join(_part(piece, one) for piece in pieces)


def _reading(name: str, one: Claim) -> str:
    return say(", ").join(_told(part, one.document) for part in name.split(", ")) if name else ""


def _part(part: str, one: Claim) -> str:
    """Return the translation of a part of a note or finding."""
    name, colon, found = part.rpartition(": ")
    if colon and name in one.readings:
        return f"{_reading(name, one)}: {say(found) if found in SAID else found}"
    if part in SAID:
        return say(part)
    if told := _clauses(part):
        clauses = [_clause(*each, one, last=each is told[-1]) for each in told]
        return say("The claim {clauses}", clauses=edition.enumerated(clauses))
    shape, numbers = without_numbers(part)
    if not numbers or not edition.missing(part, catalogue(one.document)):
        return _told(part, one.document)
    return filled(_told(shape, one.document), numbers)


def _clause(found: str, them: str, one: Claim, last: bool) -> str:
    """Return what was found under some interpretations of the claim, which are named or counted; `last` is whether
    the sentence ends here."""
    names, counts = re.findall("“([^”]*)”", them), re.findall(r"\d+", them)
    if names:
        told = edition.enumerated([say("“{name}”", name=_reading(name, one)) for name in names])
    else:
        n, total = counts[0], counts[-1]
        told = say("{n} of {total} interpretations", n=n, total=total) if len(counts) > 1 else say("{n} of them", n=n)
    if found == "holds":
        return say("holds under {told}", told=told) if last else say("holds under {told}; it", told=told)
    if found == "fails":
        return say("fails under {told}", told=told) if last else say("fails under {told}; it", told=told)
    if last:
        return say("is left open by the noise under {told}", told=told)
    return say("is left open by the noise under {told}; it", told=told)


def badge(verdict: str) -> str:
    return claims.badge(verdict).replace(f">{verdict}<", f">{say(verdict)}<")


def read_mark() -> str:
    return claims.READ_MARK.replace(f">{claims.READ}<", f">{say('read')}<")


def counted(n: int, verdict: str) -> str:
    """Return ``30 reproduced``, ``1 differs`` or ``2 differ``."""
    return (
        say("{n} differs", "{n} differ", n=n)
        if verdict == "differs"
        else say("{n} {verdict}", n=n, verdict=say(verdict))
    )


def tally(verdicts) -> str:
    """Return ``32 claims: 30 reproduced, 2 differ`` (in the order of `VERDICTS`)."""
    count = Counter(verdicts)
    listed = say(", ").join(counted(count[each], each) for each in (*VERDICTS, "not judged") if count[each])
    return say("{n} claim: {listed}", "{n} claims: {listed}", n=count.total(), listed=listed)


def counts(count: Counter) -> list[str]:
    """Return ``32 are reproduced``, ``9 differ`` and so on, for each verdict that occurs."""
    told = {
        "reproduced": say("{n} is reproduced", "{n} are reproduced", n=count["reproduced"]),
        "differs": counted(count["differs"], "differs"),
        "not determinable": say("{n} is not determinable", "{n} are not determinable", n=count["not determinable"]),
        "stand-in": say("{n} still needs the real data", "{n} still need the real data", n=count["stand-in"]),
    }
    return [clause for verdict, clause in told.items() if count[verdict]]


def sentence(count: Counter) -> str:
    """Return ``of 42 claims, 32 are reproduced, 9 differ and 1 is not determinable``."""
    listed = edition.enumerated(counts(count))
    return say("of {n} claim, {listed}", "of {n} claims, {listed}", n=count.total(), listed=listed)


def rule(one: Claim) -> str:
    """Return how the translated claim `one` is judged, without its interpretations."""
    told, parts = claims.template(one)
    return say(told, **parts) if told and not one.rule else told
