"""A claim as readers see it, in HTML: the same entry in the chapter that judges it and on the scorecard.

The verdict comes first, then the claim's place and text, the printed value and the value found, the reason, the
theorems that Coq has checked, and the replies. The entry is not a table, so it fits a phone, a printed page and a
screen. A folded claim is added to the page only when it is shown (book/_static/scrolling.js), because the layout of
thousands of formulas takes long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import yaml

from book.editions.edition import say
from book.ledger import claims, machine_checked, retold
from book.ledger.claims import Claim, Ledger, Record

REPLIES = Path(__file__).resolve().parents[1] / "replies.yml"


def markup(text: str) -> str:
    """Return the HTML of `claims.markup`, shortened because a page may have thousands of formulas."""
    return claims.markup(text).replace(' class="math notranslate nohighlight"', ' class="math"')


# ---------------------------------------------------------------- what was replied


@dataclass(frozen=True)
class Reply:
    """A reply to the verdict of one claim, and its outcome."""

    claim: str
    by: str
    date: str
    text: str
    answer: str = ""


@cache
def replies(path: Path = REPLIES) -> dict[str, list[Reply]]:
    """Return the replies by claim. Raises ``ValueError`` for an invalid entry."""
    found: dict[str, list[Reply]] = {}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
        try:
            reply = Reply(**entry)
        except TypeError as error:
            raise ValueError(
                f"{path.name}: a reply must have claim, by, date and text, and may have answer: {error}"
            ) from None
        if not all(isinstance(text, str) and text.strip() for text in (reply.by, reply.date, reply.text)):
            raise ValueError(f"{path.name}: by, date and text must be (quoted) strings, got {entry}")
        # One paragraph: on the scorecard, a line of signs could otherwise end the part that is not Markdown.
        reply = Reply(*(" ".join(str(text).split()) for text in vars(reply).values()))
        if not all(text.isprintable() for text in vars(reply).values()):
            raise ValueError(f"{path.name}: a reply must consist of letters and signs that print, got {entry}")
        found.setdefault(reply.claim, []).append(reply)
    return found


# ---------------------------------------------------------------- one claim


@dataclass(frozen=True)
class Finding:
    """One claim, with the record of this build and, if there is a full run on the real data, the record of that run."""

    claim: Claim
    here: Record
    full: Record | None = None

    @property
    def standing(self) -> Record:
        return standing(self.here, self.full)

    @property
    def section(self) -> str:
        """Return the table, theorem or section of the document from which the claim comes."""
        return re.split("[,、]", self.claim.item)[0]


def standing(here: Record, full: Record | None) -> Record:
    """Return the book's record of a claim: this build's, or the full run's if the build used synthetic data."""
    return full if full and here.verdict == "stand-in" else here


def findings(ledger: Ledger, records, full: dict[str, Record]) -> list[Finding]:
    known = {id: retold.record(full[id], ledger) for id in {record.id for record in records} & full.keys()}
    return [Finding(retold.claim(ledger[each.id]), retold.record(each, ledger), known.get(each.id)) for each in records]


def tally(found: list[Finding]) -> str:
    """Return a count of the verdicts in the book, such as ``22 claims: 20 reproduced, 2 differ``."""
    return retold.tally(each.standing.verdict for each in found)


def entry(finding: Finding, place: str, foot: str = "") -> str:
    """Return one claim as HTML. Its place in the document links to the address `place`, and the text `foot` is at its
    end."""
    claim, record = finding.claim, finding.standing
    read = f" {retold.read_mark()}" if claim.judge == claims.READ else ""
    parts = [
        f'<p class="claim-verdict">{retold.badge(record.verdict)}{read}</p>',
        f'<p class="claim-says"><a href="{place}">{markup(claim.item)}</a> {markup(claim.statement)}</p>',
        _values(finding),
        f'<p class="claim-note">{markup(record.note)}</p>' if record.note else "",
        _readings(finding),
        _checked(claim, place),
        *(_reply(reply) for reply in replies().get(claim.id, [])),
        foot,
    ]
    return f'<div class="claim" id="{claims.anchor(claim.id)}">{"".join(parts)}</div>'


def _checked(claim: Claim, place: str) -> str:
    """Return links to the theorems about the claim that Coq has checked; `place` is the address of the claim on the
    scorecard."""
    root = place.partition("#")[0].removesuffix("scorecard.html")
    links = [
        f'<a href="{root}{machine_checked.address(each.statement)}"><code>{each.statement.name}</code></a>'
        for each in machine_checked.about(claim.id)
    ]
    told = say("Checked by a machine: {theorems}", theorems=say(", ").join(links))
    return f'<p class="claim-checked">{told}</p>' if links else ""


def folded(found: list[Finding], entries: list[str], line: str = "") -> str:
    """Return the `entries` of `found`, folded behind one `line`. By default, the line gives their number, their
    verdicts and, if all are from one place, that place."""
    places = {each.section for each in found}
    if not line:
        line = say("{name}, {tally}", name=places.pop(), tally=tally(found)) if len(places) == 1 else tally(found)
    return f'<details class="claims"><summary>{markup(line)}</summary>{"".join(map(_later, entries))}</details>'


def _later(entry: str) -> str:
    """Return `entry` with its content in a `noscript`: browsers that run scripts keep the content as one text, and
    others show it."""
    return re.sub(r"(?s)^(<div[^>]*>)(.*)(</div>)$", r"\1<noscript>\2</noscript>\3", entry)


def _values(finding: Finding) -> str:
    """Return the printed value and, if the claim is a number, the values found; if the full run and this build found
    the same value, it is shown once."""
    claim, here, full = finding.claim, finding.here, finding.full
    if claim.judge not in claims.NUMERIC_JUDGES:
        return f'<p class="claim-values"><span>{say("Printed:")} {markup(claim.printed)}</span></p>'
    spread = f" ± {claim.spread:g}" if claim.spread is not None else ""
    told = {say("printed"): claim.printed + spread}
    if not claim.readings:
        told |= {say("full run"): full.reproduced} if full and full.reproduced != here.reproduced else {}
        told |= {say("here, on a synthetic sample") if here.verdict == "stand-in" else say("here"): here.reproduced}
    shown = [f"<span>{name} <b>{markup(value)}</b></span>" for name, value in told.items() if value]
    return f'<p class="claim-values">{" ".join(shown)}</p>'


def _readings(finding: Finding) -> str:
    """Return the interpretations of the document's words, with the finding for each; those with the same finding are
    folded together.

    If each interpretation is a combination, the names of its parts are explained once, in a folded list at the end.
    """
    claim = finding.claim
    found = by_reading(claim, finding.standing.reproduced)
    agreeing: dict[str, list[str]] = {}
    for name in claim.readings:
        agreeing.setdefault(found.get(name, ""), []).append(name)
    items = [_agreeing(claim, names, value) for value, names in agreeing.items()]
    if len(claim.sets) > 1:
        pairs = [pair for each in claim.sets for pair in each.items()]
        told = "".join(f"<li>{_meaning(escape(name), meaning)}</li>" for name, meaning in pairs)
        items.append(f"<li><details><summary>{say('What the names mean')}</summary><ul>{told}</ul></details></li>")
    return f'<ul class="claim-readings">{"".join(items)}</ul>' if items else ""


def _meaning(name: str, meaning: str) -> str:
    return say("{name}: {meaning}", name=name, meaning=markup(meaning))


def _agreeing(claim: Claim, names: list[str], value: str) -> str:
    """Return list items for the interpretations `names`, which all gave `value`."""
    own = " " + say("(selected by the text)")
    value = f"<b>{markup(value)}</b>" if value else ""
    told = [escape(name) + own * (name == claim.own) for name in names]
    before = say("; ")
    if len(claim.sets) > 1:
        before = ": "
    else:
        told = [_meaning(each, claim.readings[name]) for each, name in zip(told, names)]
    if len(told) == 1 or not value:
        return "".join(f"<li>{each}{before + value if value else ''}</li>" for each in told)
    if claim.own in names:
        line = say("{n} interpretations, one of them selected by the text: {found}", n=len(names), found=value)
    else:
        line = say("{n} interpretations: {found}", n=len(names), found=value)
    folded = "".join(f"<li>{each}</li>" for each in told)
    return f"<li><details><summary>{line}</summary><ul>{folded}</ul></details></li>"


def by_reading(claim: Claim, reproduced: str) -> dict[str, str]:
    """Return the finding for each of the claim's interpretations, from the text of a record, such as ``first: holds;
    second: does not hold``."""
    names = "|".join(sorted(map(re.escape, claim.readings), key=len, reverse=True))
    parts = re.split(rf"(?:^|; )({names}): ", reproduced) if names else []
    return dict(zip(parts[1::2], parts[2::2]))


def _reply(reply: Reply) -> str:
    head = say("Reply by {by}, {date}:", by=escape(reply.by), date=escape(reply.date))
    answer = f" <em>{say('What was done:')}</em> {markup(reply.answer)}" if reply.answer else ""
    return f'<p class="claim-reply"><em>{head}</em> {markup(reply.text)}{answer}</p>'
