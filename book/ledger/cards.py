"""A claim as its readers see it, in HTML: the same entry in the chapter that judges it and on the scorecard.

The verdict comes first, then where the claim stands and what it says, what is printed beside what was found, the reason, what
a machine has checked of it, and what was replied. It is no table, so it fits a telephone and a sheet of paper as it fits a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import yaml

from book.editions import edition
from book.editions.edition import say
from book.ledger import claims, machine_checked, retold
from book.ledger.claims import Claim, Ledger, Record

REPLIES = Path(__file__).resolve().parents[1] / "replies.yml"
WORD = re.compile(r"(?:a|[a-z]{2,}(?:-[a-z]+)*)(?![\w-])")  # of English, and no name such as aim-k2 or x_1


def markup(text: str) -> str:
    """As `claims.markup`, in fewer words: a page may have thousands of formulas."""
    return claims.markup(text).replace(' class="math notranslate nohighlight"', ' class="math"')


# ---------------------------------------------------------------- what was replied


@dataclass(frozen=True)
class Reply:
    """What somebody replied to the verdict of one claim, and what came of it."""

    claim: str
    by: str
    date: str
    text: str
    answer: str = ""


@cache
def replies(path: Path = REPLIES) -> dict[str, list[Reply]]:
    """The replies by claim; ``ValueError`` for an entry that is no reply."""
    found: dict[str, list[Reply]] = {}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        try:
            reply = Reply(**entry)
        except TypeError as error:
            raise ValueError(f"{path.name}: a reply has claim, by, date, text and perhaps answer: {error}") from None
        if not all(isinstance(text, str) and text.strip() for text in (reply.by, reply.date, reply.text)):
            raise ValueError(f"{path.name}: by, date and text must be (quoted) strings, got {entry}")
        found.setdefault(reply.claim, []).append(reply)
    return found


# ---------------------------------------------------------------- one claim


@dataclass(frozen=True)
class Finding:
    """All that is known of one claim: what this build found and, if there is one, the full run on the real data."""

    claim: Claim
    here: Record
    full: Record | None = None

    @property
    def standing(self) -> Record:
        return standing(self.here, self.full)

    @property
    def section(self) -> str:
        """Which table, theorem or section of the document it is from."""
        return re.split("[,、]", self.claim.item)[0]


def standing(here: Record, full: Record | None) -> Record:
    """What the book says of a claim: this build's record, or the full run's where the build used stand-in data."""
    return full if full and here.verdict == "stand-in" else here


def findings(ledger: Ledger, records, full: dict[str, Record]) -> list[Finding]:
    known = {id: retold.record(full[id], ledger) for id in {record.id for record in records} & full.keys()}
    return [Finding(retold.claim(ledger[each.id]), retold.record(each, ledger), known.get(each.id)) for each in records]


def tally(found: list[Finding]) -> str:
    """``22 claims: 20 reproduced, 2 differs``, by the verdicts that count."""
    return retold.tally(each.standing.verdict for each in found)


def entry(finding: Finding, place: str, foot: str = "") -> str:
    """One claim; `place` is the address that the name of its place leads to, `foot` what stands below all else."""
    claim, record = finding.claim, finding.standing
    read = f" {retold.read_mark()}" if claim.judge == claims.READ else ""
    parts = [
        f'<p class="claim-verdict">{retold.badge(record.verdict)}{read}</p>',
        f'<p class="claim-says"><a href="{place}">{markup(claim.item)}</a> {markup(claim.statement)}</p>',
        _values(finding),
        f'<p class="claim-note">{markup(sentence(record.note, claim.readings))}</p>' if record.note else "",
        _readings(finding),
        _checked(claim, place),
        *(_reply(reply) for reply in replies().get(claim.id, [])),
        foot,
    ]
    return f'<div class="claim" id="{claims.anchor(claim.id)}">{"".join(parts)}</div>'


def _checked(claim: Claim, place: str) -> str:
    """The theorems about it that Coq has checked, as links to where they stand; `place` says where the book's root is."""
    root = place.partition("#")[0].removesuffix("scorecard.html")
    links = [
        f'<a href="{root}{machine_checked.address(each.statement)}"><code>{each.statement.name}</code></a>'
        for each in machine_checked.about(claim.id)
    ]
    told = say("Checked by a machine: {theorems}", theorems=say(", ").join(links))
    return f'<p class="claim-checked">{told}</p>' if links else ""


def folded(found: list[Finding], entries: list[str], name: str = "") -> str:
    """The `entries` of `found` behind one line: their number, verdicts and, if they are all from one, their place or `name`."""
    places = {each.section for each in found}
    name = name or (places.pop() if len(places) == 1 else "")
    line = say("{name}: {tally}", name=name, tally=tally(found)) if name else tally(found)
    return f'<details class="claims"><summary>{markup(line)}</summary>{"".join(entries)}</details>'


def _values(finding: Finding) -> str:
    """What is printed and, of a number, what was found; each value is told once."""
    claim, here, full = finding.claim, finding.here, finding.full
    if claim.judge not in claims.NUMERIC_JUDGES:
        return f'<p class="claim-values"><span>{say("Printed:")} {markup(claim.printed)}</span></p>'
    spread = f" ± {claim.spread:g}" if claim.spread is not None else ""
    told = {say("printed"): claim.printed + spread}
    if not claim.readings:
        told |= {say("full run"): full.reproduced} if full and full.reproduced != here.reproduced else {}
        told |= {say("here, on stand-in data") if here.verdict == "stand-in" else say("here"): here.reproduced}
    shown = [f"<span>{name} <b>{markup(value)}</b></span>" for name, value in told.items() if value]
    return f'<p class="claim-values">{" ".join(shown)}</p>'


def sentence(note: str, names: Iterable[str] = ()) -> str:
    """A note as a sentence; it may begin with a formula, a number or a name (such as aim-k2, or one of `names`) as it is."""
    if edition.language == edition.SOURCE and WORD.match(note) and not note.startswith(tuple(names)):
        note = note[0].upper() + note[1:]
    return note if not note or note.endswith((".", "?", "!", "。")) else note + say(".")


def _readings(finding: Finding) -> str:
    """What the document's words may mean, and what was found for each; those that agree are folded behind what they found."""
    claim = finding.claim
    found = by_reading(claim, finding.standing.reproduced)
    agreeing: dict[str, list[str]] = {}
    for name in claim.readings:
        agreeing.setdefault(found.get(name, ""), []).append(name)
    items = [_agreeing(claim, names, value) for value, names in agreeing.items()]
    return f'<ul class="claim-readings">{"".join(items)}</ul>' if items else ""


def _agreeing(claim: Claim, names: list[str], value: str) -> str:
    """The readings `names`, for each of which `value` was found."""
    own = " " + say("(favoured by the text)")
    value = f"<b>{markup(value)}</b>" if value else ""
    told = [
        say("{name}: {meaning}", name=escape(name) + own * (name == claim.own), meaning=markup(claim.readings[name]))
        for name in names
    ]
    if len(told) == 1 or not value:
        return "".join(f"<li>{each}{say('; ') + value if value else ''}</li>" for each in told)
    if claim.own in names:
        line = say("{n} readings, one of them favoured by the text: {found}", n=len(names), found=value)
    else:
        line = say("{n} readings: {found}", n=len(names), found=value)
    folded = "".join(f"<li>{each}</li>" for each in told)
    return f"<li><details><summary>{line}</summary><ul>{folded}</ul></details></li>"


def by_reading(claim: Claim, reproduced: str) -> dict[str, str]:
    """The value for each of the claim's readings, from a record's text, ``first: holds; second: does not hold``."""
    names = "|".join(sorted(map(re.escape, claim.readings), key=len, reverse=True))
    parts = re.split(rf"(?:^|; )({names}): ", reproduced) if names else []
    return dict(zip(parts[1::2], parts[2::2]))


def _reply(reply: Reply) -> str:
    head = say("Reply by {by}, {date}:", by=escape(reply.by), date=escape(reply.date))
    answer = f" <em>{say('What was done:')}</em> {markup(reply.answer)}" if reply.answer else ""
    return f'<p class="claim-reply"><em>{head}</em> {markup(reply.text)}{answer}</p>'
