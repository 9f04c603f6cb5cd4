"""The ledger: every claim of the documents, and how a computed value is compared with the claim.

A notebook calls ``claims.check(id, value)``. The call looks up the claim, judges the
value, displays one line, and stores the verdict as a JSON record in the cell's output.
So the executed notebook contains the verdicts.

The ledger is one YAML file with ``documents`` and ``claims``. The environment variable
``COMPENDIUM_CLAIMS`` gives its path. If the variable is not set, the ledger is the first
``book/claims.yml`` found by walking up from the working directory or, failing that, from this file.

How a claim is judged:

=========== ========== ==================================================================
judge       value      ``reproduced`` where
=========== ========== ==================================================================
digits      number,    it rounds to the printed digits: |value - printed| <= half a unit of
            mean       the last printed place (``"11.3620"`` has four decimals; a trailing
                       ``%`` is a unit, the value is given in per cent). A ``random`` claim
                       ``differs`` where the mean lies outside by more than two of its
                       standard errors; between, it is not determinable
within      number,    |value - printed| <= the spread that the document prints; ``differs``
            mean       where the distance exceeds both this spread and two standard errors of
                       the difference; otherwise not determinable
ordering    bool       the order or trend that the document asserts was found to hold
proof       bool       the mathematical claim was found to hold as printed
statement   bool       the sentence was found to be true
read        a verdict  a person checked it in the document, because it cannot be computed: a
                       title, an index, a matter of record; ``claims.read`` notes the source
=========== ========== ==================================================================

For an ordering or a statement about noisy means, the value is an ``evidence.Difference`` (`book.ledger.evidence`), or a
list or mapping of several. The claim is ``reproduced`` if each difference exceeds its limit by more than two standard
errors. It ``differs`` if any difference lies below its limit by more than two standard errors. Otherwise the claim is
not determinable because of the noise.

The standard error of a difference combines two standard errors: ours, if the value is an `evidence.Mean`, and that of
the document, if the claim gives its number of ``runs``. The document's standard error is the spread divided by the
square root of ``runs``. For a plain number, and for a claim without ``runs``, the standard error is 0.

If a document leaves a setting open, the claim lists the sensible interpretations as ``readings`` and, if the document's
text selects one, names it as ``own``. The value is then an `evidence.Readings` with a value for each interpretation.
The interpretation selected by the text decides. If none is selected, the claim is ``reproduced`` if it holds in all
interpretations, ``differs`` if it fails in all, and is not determinable otherwise.

The interpretations of each open setting of a table, figure or formula are declared once, as a set in
``interpretations``, and the claims of the table, figure or formula name this set. A claim that names several sets,
``[smith2026-kernel, smith2026-scaling]``, has an interpretation for each combination. If a claim has some, but not all,
of the readings of another claim of the same table or figure, it gives the reason in ``apart``. A set's name begins with
the key of its document.

Claims whose id begins with ``compendium.``, followed by the document whose chapters judge them, are our own results.
They are judged like the claims of the documents, and counted separately.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

import numpy as np
import yaml

from book.ledger import evidence

MIME = "application/vnd.compendium.claim+json"

NUMERIC_JUDGES = ("digits", "within")
NOISY_JUDGES = ("ordering", "statement")  # whose value may be an `evidence.Difference`
READ = "read"
JUDGES = (*NUMERIC_JUDGES, "ordering", "proof", "statement", READ)
VERDICTS = ("reproduced", "differs", "not determinable", "stand-in")
READ_VERDICTS = VERDICTS[:3]
NO_REASON = "No reason is given."
NOISE = "The result is within the noise."
STAND_IN = "This was computed on a synthetic sample; a verdict needs the real data."

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_FORMULA = re.compile(r"\$([^$]+)\$")
_ID = re.compile(r"[\w-]+(\.[\w-]+)+")


# ---------------------------------------------------------------- the ledger


@dataclass(frozen=True)
class Document:
    """One document of the compendium."""

    key: str
    title: str
    authors: str
    year: int
    venue: str
    title_ja: str = ""
    subject: str = ""

    @property
    def cited(self) -> str:
        """Return the document as a reader would cite it: ``Miura et al. (2022)``."""
        names = self.authors.replace(" and ", ", ").split(", ")
        return f"{names[0] + ' et al.' if len(names) > 2 else self.authors} ({self.year})"


@dataclass(frozen=True)
class Claim:
    """One claim as the document prints it.

    `setting` contains the parameters for which the claim is made. `rule` is the ledger's text on how the claim is
    judged, if any. `readings` are the interpretations of the document's words, by name. `own` is the name of the
    interpretation that these words select, if any. `runs` is the number of runs from which the document computed a
    printed spread. `random` says, for the judge digits, that other runs would give another number. `apart` says why the
    readings differ from those of other claims of the same table or figure. `sets`
    contains the sets of readings that the claim combines, each a mapping from names to meanings. `no_erratum` says why
    a claim that differs is not among the errata.
    """

    id: str
    document: str
    item: str
    statement: str
    printed: str
    judge: str
    setting: dict
    spread: float | None = None
    rule: str = ""
    readings: dict[str, str] = dataclasses.field(default_factory=dict)
    own: str = ""
    runs: int | None = None
    random: bool = False
    apart: str = ""
    no_erratum: str = ""
    sets: tuple[dict[str, str], ...] = ()


OWN = Document(
    "compendium", "Theorems of the compendium", "The compendium", 2026, "This book", subject="Our own results"
)


@dataclass(frozen=True)
class Ledger:
    """The documents by key, their claims by id, and our own results, which belong to no document; all in the order of
    the file."""

    documents: dict[str, Document]
    claims: dict[str, Claim]
    own: dict[str, Claim] = dataclasses.field(default_factory=dict)

    @property
    def all(self) -> dict[str, Claim]:
        """Return the claims of the documents, and then our results."""
        return self.claims | self.own

    def document(self, claim: Claim) -> Document:
        """Return the source of `claim`: one of the documents, or the compendium."""
        return OWN if claim.document == OWN.key else self.documents[claim.document]

    def __getitem__(self, id: str) -> Claim:
        """Return the claim called `id`. Raises ``ValueError``, which names the nearest ids, if there is none."""
        for known in (self.claims, self.own):
            if id in known:
                return known[id]
        near = ", ".join(get_close_matches(id, self.all, n=3)) or "none"
        raise ValueError(f"id must be one of the ledger's claims, got {id!r} (nearest: {near})")


def ledger_path() -> Path:
    """Return the path of the ledger (see the module's docstring). Raises ``FileNotFoundError`` if there is none."""
    named = os.environ.get("COMPENDIUM_CLAIMS")
    if named:
        candidates = [Path(named)]
    else:
        here = Path(__file__).resolve()
        folders = [Path.cwd(), *Path.cwd().parents, *here.parents]
        candidates = [folder / "book" / "claims.yml" for folder in folders]
    for path in candidates:
        if path.is_file():
            return path
    looked = str(candidates[0]) if named else "book/claims.yml in or above the working directory"
    raise FileNotFoundError(f"no ledger: looked for {looked}; set COMPENDIUM_CLAIMS to its path")


def load(path=None) -> Ledger:
    """Return the validated ledger at `path` (default: `ledger_path()`), which is read again after the file has changed.

    Raises ``ValueError``, which names the first id that is repeated or has a malformed entry.
    """
    path = Path(path) if path is not None else ledger_path()
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: Path, modified: int) -> Ledger:
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(raw, dict) or set(raw) - {"interpretations"} != {"documents", "claims"}:
        raise ValueError(
            f"{path.name} must contain 'documents' and 'claims'; it may contain 'interpretations', but nothing else"
        )
    sets = raw.get("interpretations") or {}
    documents = {key: _document(key, entry) for key, entry in raw["documents"].items()}
    found = Ledger(documents, {})
    for entry in raw["claims"]:
        claim = _claim(entry, documents, sets)
        if claim.id in found.all:
            raise ValueError(f"{claim.id} is listed twice")
        (found.own if claim.document == OWN.key else found.claims)[claim.id] = claim
    return found


def _document(key: str, entry: dict) -> Document:
    try:
        return Document(key=key, **entry)
    except TypeError as error:
        raise ValueError(f"document {key}: {error}") from None


def _claim(entry: dict, documents: dict, sets: dict[str, dict]) -> Claim:
    """Return a validated `Claim`, with the readings of the `sets` that it names. Raises ``ValueError``, with a message
    that begins with the claim's id."""
    id = str(entry.get("id", f"claim without an id: {entry}"))
    document = id.split(".")[0]
    if entry.get("readings"):
        chosen = _named_sets(id, entry["readings"], sets)
        entry = entry | {"readings": _combined(chosen), "sets": tuple(chosen)}
    try:
        claim = Claim(document=document, **{"setting": {}, **entry})
    except TypeError as error:
        raise ValueError(f"{id}: {error}") from None
    if not _ID.fullmatch(id):
        raise ValueError(f"{id}: id must have the form document.where.what, with letters, digits, '-' and '_'")
    judging = id.split(".")[1] if document == OWN.key else document
    if judging not in documents:
        raise ValueError(f"{id}: document must be one of {', '.join(documents)}, got {judging!r}")
    for field in ("item", "statement", "printed", "no_erratum"):
        text = getattr(claim, field)
        if not isinstance(text, str) or not (text.strip() or field == "no_erratum"):
            raise ValueError(f"{id}: {field} must be a (quoted) string, got {text!r}")
    if claim.judge not in JUDGES:
        raise ValueError(f"{id}: judge must be one of {JUDGES}, got {claim.judge!r}")
    if claim.judge in NUMERIC_JUDGES and _parse(claim.printed) is None:
        raise ValueError(f"{id}: printed must be a number to be judged by {claim.judge}, got {claim.printed!r}")
    _check_spread(claim)
    _check_setting(claim)
    _check_rule(claim)
    _check_readings(claim)
    return claim


def _named_sets(id: str, readings, sets: dict[str, dict]) -> list[dict]:
    """Return the sets of readings that a claim names, by one name or a list of names, or the readings that it lists
    itself."""
    names = [readings] if isinstance(readings, str) else readings
    if not isinstance(names, list):
        if not isinstance(readings, dict):
            raise ValueError(
                f"{id}: readings must map two or more names to what they mean, or name interpretations, got {readings!r}"
            )
        return [readings]
    mine = [name for name in sets if name.startswith(f"{id.split('.')[0]}-")]
    if unknown := [name for name in names if name not in mine]:
        raise ValueError(
            f"{id}: readings must name interpretations of its document ({', '.join(mine)}), got {unknown[0]!r}"
        )
    return [sets[name] for name in names]


def _combined(sets: list[dict]) -> dict:
    """Return all combinations of readings of several sets, such as ``{"linear, held out": "a linear kernel; tested on a
    fifth"}``."""
    if len(sets) == 1:
        return sets[0]
    return {
        ", ".join(name for name, _ in chosen): "; ".join(meaning for _, meaning in chosen)
        for chosen in itertools.product(*(each.items() for each in sets))
    }


def _check_spread(claim: Claim) -> None:
    if (claim.judge == "within") != (claim.spread is not None):
        raise ValueError(f"{claim.id}: a spread must be given for the judge 'within', and only for it")
    if claim.spread is not None and not (isinstance(claim.spread, (int, float)) and claim.spread > 0):
        raise ValueError(f"{claim.id}: spread must be in (0, inf), got {claim.spread!r}")
    whole = isinstance(claim.runs, int) and not isinstance(claim.runs, bool)
    if claim.runs is not None and not (claim.spread is not None and whole and claim.runs >= 2):
        raise ValueError(
            f"{claim.id}: runs must be an integer of at least 2, and be given only with a spread, got {claim.runs!r}"
        )
    if claim.random not in (False, True) or (claim.random and claim.judge != "digits"):
        raise ValueError(
            f"{claim.id}: random must be true, and be given only for the judge 'digits', got {claim.random!r}"
        )


def _check_setting(claim: Claim) -> None:
    if not isinstance(claim.setting, dict):
        raise ValueError(f"{claim.id}: setting must be a mapping, got {claim.setting!r}")
    for name, value in claim.setting.items():
        # YAML 1.1 reads 1e-5 as text; only 1.0e-5 is a number
        if isinstance(value, str) and _parse(value) is not None:
            raise ValueError(
                f"{claim.id}: setting {name} must be a number, got the text {value!r}; write numbers like 1.0e-5"
            )


def _check_rule(claim: Claim) -> None:
    if not isinstance(claim.rule, str) or claim.rule != claim.rule.strip():
        raise ValueError(f"{claim.id}: rule must be a (quoted) string, got {claim.rule!r}")
    if claim.rule and claim.judge in RULES:
        raise ValueError(
            f"{claim.id}: a rule must be written only for the judges ordering and statement; the rule of {claim.judge} is derived"
        )


def _check_readings(claim: Claim) -> None:
    readings = claim.readings
    good = isinstance(readings, dict) and all(
        isinstance(each, str) and each for pair in readings.items() for each in pair
    )
    if not good or len(readings) == 1:
        raise ValueError(f"{claim.id}: readings must map two or more names to what they mean, got {readings!r}")
    if claim.own and claim.own not in readings:
        raise ValueError(f"{claim.id}: own must name one of its readings ({', '.join(readings)}), got {claim.own!r}")
    if not isinstance(claim.apart, str) or (claim.apart and not readings):
        raise ValueError(
            f"{claim.id}: apart must be a (quoted) string, and be given only with readings, got {claim.apart!r}"
        )
    if readings and claim.judge in ("proof", READ):
        raise ValueError(
            f"{claim.id}: readings must not be given for the judge {claim.judge}, which does not compare computed values"
        )


RULES = {
    "digits": "Reproduced if the value lies within {tolerance:f} of {printed}, half a unit of the last printed place.",
    "digits random": "Reproduced if our mean lies within {tolerance:f} of {printed}, half a unit of the last printed place. "
    "Otherwise the claim differs if our mean lies outside of this range by more than two of its standard errors, and is "
    "not determinable in between.",
    "within": "Reproduced if the value lies within {tolerance:f} of {printed}, the spread that the paper prints.",
    "within runs": "Reproduced if the value lies within {tolerance:f} of {printed}, the spread that the paper prints. "
    "Otherwise the claim differs if the value and {printed} differ by more than two standard errors of their difference, and is "
    "not determinable in between. The paper's standard error is {error:f}, the spread over the square root of its {runs} runs; ours is "
    "that of our repetitions.",
    "proof": "Reproduced if the statement holds as printed in every case that the chapter derives or computes. Two numbers count "
    "as equal if they differ by no more than the error of the computation or, if they come from random draws, by no more than four "
    "to five standard errors.",
    READ: "Read, not computed: the note says where it was read and what the source says.",
}


def rule(claim: Claim) -> str:
    """Return in words how `claim` is judged: its own rule or, if it has none, the rule of its judge with its printed
    numbers; "" if there is neither."""
    told, parts = template(claim)
    told = told.format(**parts) if parts else told
    return f"{told} {_told_readings(claim)}" if claim.readings else told


def template(claim: Claim) -> tuple[str, dict]:
    """Return the rule of `claim` without its readings, and the numbers to insert."""
    if claim.judge not in NUMERIC_JUDGES:
        return claim.rule or RULES.get(claim.judge, ""), {}
    parts = {"printed": claim.printed, "tolerance": tolerance(claim)}
    if claim.runs is None:
        return RULES["digits random" if claim.random else claim.judge], parts
    return RULES["within runs"], parts | {"error": Decimal(f"{standard_error(claim):.2g}"), "runs": claim.runs}


def _told_readings(claim: Claim) -> str:
    """Return a text that says which interpretations decide the verdict, and lists all of them. For combinations, the
    text lists the sets that are combined."""
    listed = [
        "; ".join(f"{name}: {meaning}" for name, meaning in each.items()) for each in claim.sets or [claim.readings]
    ]
    selected = f"the interpretation that the document's words select, “{claim.own}”"
    deciding = selected if claim.own else "all interpretations"
    if len(listed) == 1:
        return f"The claim must hold under {deciding}: {listed[0]}."
    return f"The claim must hold under {deciding}. Each combines {' and '.join(f'one of ({each})' for each in listed)}."


# ---------------------------------------------------------------- judging


@dataclass(frozen=True)
class Record:
    """The result of a notebook for one claim; all fields are texts.

    `verdict` is one of `VERDICTS`, or ``not judged`` for a run in another setting, which does not count. `reproduced` is the
    value, or "read". `source` is the claim's place in the document. `notebook` is filled in when the executed notebooks are
    gathered.
    """

    id: str
    document: str
    item: str
    published: str
    reproduced: str
    verdict: str
    note: str
    source: str
    notebook: str = ""

    def _ipython_display_(self) -> None:
        """Display nothing if the record is a cell's last value, because `check` has already displayed the line."""


class Records(tuple):
    """The records of one `check_all`, which has already displayed their table."""

    def _ipython_display_(self) -> None:
        """Display nothing, as for `Record`."""


def check(id: str, value, *, reason: str = "", stand_in: bool = False, undetermined: str = "", **setting) -> Record:
    """Judge `value` against the claim `id`, display one line, and return the `Record`.

    value : depends on the judge. For digits, it is a number, or an `evidence.Mean` if the claim is random. For within,
        it is a number or an `evidence.Mean`; for proof, a bool; for ordering and statement, a bool, an
        `evidence.Difference`, or a list or mapping of several. If a difference is within the noise, the claim is not
        determinable, and the note says so. For a claim with readings, the value is an `evidence.Readings` with one
        such value for each reading. It may be None if `undetermined` or `stand_in` is given.
    reason : why the claim differs (required in the book if it does); otherwise shown as a remark.
    stand_in : whether the value was computed on synthetic data, although the claim needs the real data.
    undetermined : what the document leaves out, which makes the claim not determinable.
    setting : parameters of this run. If one differs from the ledger's setting, nothing is judged.

    Raises ``ValueError`` for an unknown id, a value of the wrong kind, or a parameter
    that is not in the claim's ledger setting.
    """
    claim = load()[id]
    _refuse_unknown(setting, [claim])
    record = _judge(claim, value, reason, stand_in, undetermined, setting)
    _display(_line(record), _line_html(record), asdict(record))
    return record


def read(id: str, verdict: str, note: str) -> Record:
    """Record the verdict on the claim `id`, which a person has read and which cannot be computed; display one line, and
    return the `Record`.

    verdict : reproduced, differs or not determinable.
    note : where the claim was read, and what the source says.

    Raises ``ValueError`` for an unknown id, a claim whose judge is not read, an invalid verdict, or an empty note.
    """
    record = _read(id, verdict, note)
    _display(_line(record), _line_html(record), asdict(record))
    return record


def read_all(document: str, found: dict[str, tuple[str, str]]) -> Records:
    """Record the verdicts on many claims of one `document`, as `read` does for one, and display one compact table.

    found : {id without the document: (verdict, note)}"""
    if not found:
        raise ValueError("found must not be empty")
    records = Records(_read(f"{document}.{name}", *told) for name, told in found.items())
    _display(_table(records), _table_html(records), [asdict(record) for record in records])
    return records


def _read(id: str, verdict: str, note: str) -> Record:
    ledger = load()
    claim = ledger[id]
    if claim.judge != READ:
        raise ValueError(f"id must name a claim with the judge {READ}, got {id!r} (judge {claim.judge})")
    if verdict not in READ_VERDICTS:
        raise ValueError(f"verdict must be one of {READ_VERDICTS} for {id}, got {verdict!r}")
    if not isinstance(note, str) or not note.strip():
        raise ValueError(f"note must say where {id} was read, got {note!r}")
    where = source(claim, ledger.document(claim))
    return Record(id, claim.document, claim.item, claim.printed, READ, verdict, note, where)


def check_all(values: dict, *, reasons: dict | None = None, stand_in: bool = False, **setting) -> Records:
    """Judge many claims, ``{id: value}``, and display one compact table.

    The arguments are those of `check`, except that `reasons` is ``{id: text}``. Every parameter of `setting` must be in
    the ledger setting of at least one of the claims, and is compared only for claims that have it.
    """
    if not values:
        raise ValueError("values must not be empty")
    reasons = reasons or {}
    unused = sorted(set(reasons) - set(values))
    if unused:
        raise ValueError(f"reasons must name claims among the values, got {unused[0]!r}")
    ledger = load()
    chosen = [ledger[id] for id in values]
    _refuse_unknown(setting, chosen)
    records = Records(
        _judge(
            claim,
            values[claim.id],
            reasons.get(claim.id, ""),
            stand_in,
            "",
            {name: setting[name] for name in setting if name in claim.setting},
        )
        for claim in chosen
    )
    _display(_table(records), _table_html(records), [asdict(record) for record in records])
    return records


def judge(document: str, found: dict, reasons: dict | None = None, **options) -> Records:
    """Call `check_all` for claims of one `document`, whose key the given ids omit. A list of bools counts as one bool,
    which is True if all are True.

    found : {id without the document: value}; reasons : {id without the document: text}; options : as for `check_all`
    """

    def full(table):
        return {f"{document}.{name}": value for name, value in table.items()}

    def one(value):
        if _empty(value):
            return value  # `check_all` reports its error
        if isinstance(value, evidence.Readings):
            return evidence.Readings({name: one(each) for name, each in value.values.items()})
        many = list(np.ravel(np.asarray(value, dtype=object)))
        return all(bool(each) for each in many) if all(map(_is_truth, many)) else value

    return check_all(full({name: one(value) for name, value in found.items()}), reasons=full(reasons or {}), **options)


def _is_truth(value) -> bool:
    """Return whether `value` is True or False, from Python, numpy or sympy, and not a number or text with that
    meaning."""
    return isinstance(value, (bool, np.bool_)) or type(value).__name__ in ("BooleanTrue", "BooleanFalse")


def _empty(value) -> bool:
    """Return whether `value` is an empty list, table or mapping, which is not evidence, because every statement about
    its elements would hold."""
    if isinstance(value, evidence.Readings):
        return not value.values or any(_empty(each) for each in value.values.values())
    if isinstance(value, (Mapping, Set, str)):
        return not value
    return np.asarray(value, dtype=object).size == 0


def _judge(claim: Claim, value, reason, stand_in, undetermined, setting) -> Record:
    """Return the record of the verdict on `claim`; the other arguments are those of `check`."""
    other = [
        f"{name} is {here!r} in this run and {claim.setting[name]!r} in the document"
        for name, here in setting.items()
        if not _same(here, claim.setting[name])
    ]
    if claim.judge == READ:
        raise ValueError(f"value must not be given for {claim.id}, which is read and not computed: use claims.read")
    if _empty(value):
        raise ValueError(f"value must contain at least one piece of evidence for {claim.id}, got {value!r}")
    shown = "" if value is None and (undetermined or stand_in) else _shown(claim, value)
    if value is not None:
        _check_names(claim, value)
    if other:
        verdict, note = "not judged", f"This run has a different setting: {'; '.join(other)}."
    elif undetermined:
        verdict, note = "not determinable", undetermined
    elif stand_in:
        verdict, note = "stand-in", reason or STAND_IN
    elif (agrees := _agrees(claim, value)) is None:
        verdict, note = (
            "not determinable",
            " ".join(filter(None, [_told_open(claim, value), reason])),
        )
    elif agrees:
        verdict, note = "reproduced", reason
    else:
        verdict, note = "differs", reason or NO_REASON
    return Record(
        claim.id,
        claim.document,
        claim.item,
        claim.printed,
        shown,
        verdict,
        note,
        source=source(claim, load().document(claim)),
    )


def source(claim: Claim, document: Document) -> str:
    """Return the claim's place, such as ``Miura et al. (2022), Table 1``."""
    return f"{document.cited}, {claim.item}"


def _refuse_unknown(setting: dict, chosen: list[Claim]) -> None:
    known = sorted({name for claim in chosen for name in claim.setting})
    for name in setting:
        if name not in known:
            raise ValueError(
                f"setting must name parameters of the claim's ledger setting "
                f"({', '.join(known) or 'it has none'}), got {name!r}"
            )


def _same(here, printed) -> bool:
    """Return whether a parameter of this run equals that of the document; numbers are compared up to rounding."""
    try:
        a, b = np.asarray(here, dtype=float), np.asarray(printed, dtype=float)
    except (TypeError, ValueError):
        return here == printed
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-9, atol=0))


def _agrees(claim: Claim, value) -> bool | None:
    """Return whether `value` agrees with the claim; None if noise, or an open setting, leaves this undecided."""
    if isinstance(value, evidence.Readings):
        found = {name: _agrees(claim, each) for name, each in value.values.items()}
        if claim.own:
            return found[claim.own]
        if all(found.values()):
            return True
        return False if all(each is False for each in found.values()) else None
    if claim.judge not in NUMERIC_JUDGES:
        return bool(value) if evidence.many(value) is None else evidence.holds(value)
    number = float(value)
    if not math.isfinite(number):
        return False
    if abs(Decimal(repr(number)) - _parse(claim.printed)) <= tolerance(claim):
        return True
    difference = _from_printed(claim, value)
    return False if abs(difference.errors) > evidence.ERRORS else None


def _from_printed(claim: Claim, value) -> evidence.Difference:
    """Return the excess of `value` over the printed number, with the standard error of that difference. For the judge
    digits, its limit is half a unit of the last printed place, above or below."""
    ours = value.error if isinstance(value, evidence.Mean) else 0.0
    excess = float(value) - float(_parse(claim.printed))
    limit = math.copysign(float(tolerance(claim)), excess) if claim.judge == "digits" else 0.0
    return evidence.Difference(excess, math.hypot(ours, standard_error(claim)), limit)


def standard_error(claim: Claim) -> float:
    """Return the document's standard error: its spread divided by the square root of its number of runs, or 0 if the
    claim gives no runs."""
    return claim.spread / math.sqrt(claim.runs) if claim.spread is not None and claim.runs else 0.0


def _told_open(claim: Claim, value) -> str:
    """Return a sentence on why `value` leaves the claim open: the noise, or the readings and which of them hold."""
    if not isinstance(value, evidence.Readings):
        return f"{NOISE} {evidence.told(_from_printed(claim, value) if claim.judge in NUMERIC_JUDGES else value)}"
    return evidence.told(evidence.Readings({name: _agrees(claim, each) for name, each in value.values.items()}))


def _check_names(claim: Claim, value) -> None:
    """Raise `ValueError` unless `value` has exactly the readings that the ledger lists for the claim."""
    names = list(value.values) if isinstance(value, evidence.Readings) else []
    if sorted(names) != sorted(claim.readings):
        raise ValueError(f"value must have the readings {sorted(claim.readings)} of {claim.id}, got {sorted(names)}")


def tolerance(claim: Claim) -> Decimal:
    """Return how far a value may lie from the printed one: the printed spread, or half a unit of the last printed place."""
    if claim.judge not in NUMERIC_JUDGES:
        raise ValueError(f"claim must have one of the judges {NUMERIC_JUDGES}, got {claim.id} (judge {claim.judge})")
    return Decimal(repr(float(claim.spread))) if claim.judge == "within" else _unit(_parse(claim.printed)) / 2


def _shown(claim: Claim, value) -> str:
    """Return `value` as text with three more digits than printed. Raises ``ValueError`` for a value of the wrong
    kind."""
    if isinstance(value, evidence.Readings):
        return "; ".join(f"{name}: {_shown(claim, each)}" for name, each in value.values.items())
    is_bool = isinstance(value, (bool, np.bool_))
    noisy = claim.judge == "within" or claim.random
    if isinstance(value, evidence.Mean) and not (noisy and 0 <= value.error < math.inf):
        raise ValueError(
            f"value may be a mean, with a finite error, only for the judge within or a random number, got {value!r} for "
            f"{claim.id}"
        )
    if claim.random and not isinstance(value, evidence.Mean):
        raise ValueError(f"value must be a mean with its error for {claim.id}, whose number is random, got {value!r}")
    if claim.judge in NOISY_JUDGES and evidence.many(value) is not None:
        _check_differences(claim, value)
        return {True: "holds", False: "does not hold", None: "within the noise"}[evidence.holds(value)]
    if claim.judge not in NUMERIC_JUDGES:
        if not is_bool:
            raise ValueError(f"value must be True or False for {claim.id} (judge {claim.judge}), got {value!r}")
        return "holds" if value else "does not hold"
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = None
    if is_bool or number is None:
        raise ValueError(f"value must be a number for {claim.id} (judge {claim.judge}), got {value!r}")
    if math.isnan(number):
        raise ValueError(
            f"value must be a number for {claim.id} (judge {claim.judge}), got {number}, so nothing was found"
        )
    if not math.isfinite(number):
        return str(number)
    number = Decimal(repr(number))
    unit = _unit(_parse(claim.printed))
    if unit >= 1 and number == int(number):
        return str(int(number))
    # a value far from the printed one keeps at most 15 digits, the precision of a double
    exponent = max(unit.adjusted() - 3, number.adjusted() - 14)
    rounded = round(number.scaleb(-exponent))
    return str(Decimal(rounded).scaleb(exponent))


def _check_differences(claim: Claim, value) -> None:
    for name, each in (evidence.many(value) or {}).items():
        numbers = (each.value, each.error, each.limit)
        if not all(math.isfinite(number) for number in numbers) or each.error < 0:
            told = f" ({name})" if name else ""
            raise ValueError(
                f"value must have finite numbers and an error of at least 0, for {claim.id}{told}, got {each!r}"
            )


def _parse(printed: str) -> Decimal | None:
    """Return a printed number, such as ``0.576``, ``1e-5``, ``32,561`` or ``85.3%``, with its digits, or None for
    another text."""
    text = printed.strip().replace("−", "-").replace(",", "").removesuffix("%").strip()
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _unit(number: Decimal) -> Decimal:
    """Return one unit of the last printed place: 0.001 for ``0.576``."""
    return Decimal(1).scaleb(number.as_tuple().exponent)


# ---------------------------------------------------------------- display


def _display(plain: str, markup: str, record) -> None:
    """Show the text in a notebook, with the record as a separate mime type; elsewhere do nothing."""
    ipython = sys.modules.get("IPython")  # if it is not imported, this is not a notebook
    if ipython is not None and ipython.get_ipython() is not None:
        from IPython.display import display

        display({"text/plain": plain, "text/html": markup, MIME: record}, raw=True)


READ_MARK = f'<span class="judged-read">{READ}</span>'  # beside the verdict of a claim that was not computed


def css_class(verdict: str) -> str:
    """Return the CSS class of a verdict's badge, such as ``verdict-not-determinable``."""
    return "verdict-" + verdict.replace(" ", "-")


def badge(verdict: str) -> str:
    """Return a verdict as the small HTML badge used in notebooks and on the scorecard."""
    return f'<span class="verdict {css_class(verdict)}">{verdict}</span>'


def anchor(id: str) -> str:
    """Return the HTML id of the place in a page where the claim is judged."""
    return f"claim-{id}"


def markup(text: str) -> str:
    """Return `text` as HTML. Text between two dollar signs becomes a formula in TeX, which the book's pages show; the
    rest is literal."""
    pieces = _FORMULA.split(html.escape(text))
    return "".join(
        rf'<span class="math notranslate nohighlight">\({piece}\)</span>' if i % 2 else piece
        for i, piece in enumerate(pieces)
    )


def _line(record: Record) -> str:
    parts = [record.id, f"printed {record.published}"]
    if record.reproduced:
        parts.append(READ if record.reproduced == READ else f"here {record.reproduced}")
    parts.append(record.verdict)
    if record.note:
        parts.append(f"({record.note})")
    return "  ".join(parts)


def _line_html(record: Record) -> str:
    here = f", here <b>{markup(record.reproduced)}</b>" if record.reproduced else ""
    if record.reproduced == READ:
        here = f", {READ_MARK}"
    note = f'<span class="claim-note">; {markup(record.note.removesuffix("."))}</span>' if record.note else ""
    return (
        f'<div class="claim" id="{anchor(record.id)}">{badge(record.verdict)} '
        f"{markup(record.item)} <code>{record.id}</code>: "
        f"printed <b>{markup(record.published)}</b>{here}{note}.</div>"
    )


def tally(verdicts) -> str:
    """Return ``32 claims: 31 reproduced, 1 differs`` (in the order of `VERDICTS`)."""
    count = Counter(verdicts)
    total = sum(count.values())
    shown = {"differs": "differs" if count["differs"] == 1 else "differ"}
    parts = [
        f"{count[verdict]} {shown.get(verdict, verdict)}" for verdict in (*VERDICTS, "not judged") if count[verdict]
    ]
    return f"{total} claim{'s' * (total != 1)}: {', '.join(parts)}"


def _table(records: Records) -> str:
    return "\n".join([tally(record.verdict for record in records), *map(_line, records)])


def _table_html(records: Records) -> str:
    """Return one table; if all claims are of one document, the ids omit its key, to keep the table narrow."""
    prefix = f"{records[0].document}." if len({r.document for r in records}) == 1 else ""
    title = tally(record.verdict for record in records)
    if prefix:
        title = f"{records[0].document}: {title}"
    notes = any(record.note for record in records)
    head = ["claim", "printed", "here", "verdict", *(["note"] if notes else [])]
    rows = []
    for record in records:
        cells = [
            f"<code>{record.id.removeprefix(prefix)}</code>",
            markup(record.published),
            markup(record.reproduced),
            badge(record.verdict),
            *([markup(record.note)] if notes else []),
        ]
        rows.append(f'<tr id="{anchor(record.id)}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return (
        '<div class="claims"><table>'
        f"<caption>{title}</caption>"
        f"<thead><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
