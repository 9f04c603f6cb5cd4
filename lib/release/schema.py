"""Public schemas: the attributes of a table, their possible values, and how a record's value becomes one of these.

Write a schema from a codebook or the questionnaire before anybody looks at the records. A schema derived from the
records would disclose, without noise, which values occur or the smallest and the largest number. An example in YAML:

    name: Members of the library  # what the report calls the table
    blanks: [NA, "?"]             # strings that mean a missing value, beside the empty one
    attributes:
      sex:
        values: [female, male]
        missing: female           # what a missing value counts as
        unseen: other             # what an unlisted string counts as
      age:
        range: [0, 120]           # integers, the ends included
        bins: [0, 18, 30, 45, 65] # where each bin starts, or the number of bins
      income:
        range: [0, 200000]
        bins: 20
        whole: no
      joined:
        dates: [2001-01-01, 2025-12-31]
        by: quarter               # or year, month, day
        format: "%d/%m/%Y"        # default: 2001-12-31
        missing: 2001-01-01
    never: [age < 18 and income >= 100000]  # what no record is
    targets: [income]             # what analyses predict: pairs with these attributes get more of the budget

"missing", the default of `missing`, and "other", the default of `unseen`, are additional values unless `values` lists
them. A value beyond a range counts as the nearest end of the range.

Each record of a CSV file is one line. With `multiline: yes` at the same level as `attributes`, quoted text may continue
over several lines. Then one record can change where other records end, unless the program that wrote the file escapes
quotation marks.

The treatment of a value depends only on the schema and on the value. So each record becomes one record of the domain,
independently of the other records. Strings are compared without white space at their ends; 1.0 equals 1. If a number or
a date is expected, any other value counts as missing. In a column of numbers, values are compared as numbers (2.50
equals 2.5). If `values` lists true and false, or 1 and 0, both spellings are accepted, in upper or lower case.
"""

from __future__ import annotations

import csv
import datetime
import functools
import io
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks
from ..numerics.extras import extra
from ..tables.table import Domain
from . import conditions
from .conditions import Condition
from .escapes import printable

with extra("data"):
    import yaml

KINDS = ("values", "whole", "real", "dates")
NUMBERS = ("whole", "real")
PERIODS = {"year": 12, "quarter": 3, "month": 1, "day": 0}  # in months
MOST_VALUES = 10_000
MISSING, OTHER = "missing", "other"
_WIDE, _HALVES = 3, 6  # of a range: its part that is too wide, and the number of halvings of a bin that begins at 0
csv.field_size_limit(
    max(csv.field_size_limit(), 2**23)
)  # characters of a cell, also in `sources`; Python's 2**17 are few
_ROOT = ("name", "blanks", "multiline", "attributes", "never", "targets")
_PLAIN_NUMBER = r"[+-]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_KEYS = {"values": ("unseen",), "range": ("bins", "whole"), "dates": ("by", "format")}


@dataclass(frozen=True)
class Attribute:
    """One attribute, and the codes of its values.

    name : the name of the column; kind : one of `KINDS`
    labels : the labels of the codes 0, 1, ... in the domain. The schema gives the first `declared` labels
    missing, unseen : the codes of missing values and of unlisted values; `unseen` is -1 unless the kind is "values"
    starts : the starts of the bins in increasing order, as numbers, or as ordinals of days if the kind is "dates"
    last : the end of the last bin, which includes this value
    form : the format of dates, for `datetime.strptime`; "" means dates such as 2001-12-31
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    declared: int
    missing: int
    unseen: int = -1
    starts: tuple[float, ...] = ()
    last: float = math.inf
    form: str = ""

    @property
    def own_missing(self) -> bool:
        """Return whether a missing value is a separate value."""
        return self.missing >= self.declared and self.labels[self.missing] == MISSING

    @property
    def own_unseen(self) -> bool:
        """Return whether an unlisted string is a separate value."""
        return self.unseen >= self.declared and self.labels[self.unseen] == OTHER

    @property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the smallest and the largest number (or day) of each code, NaN for missing; use only for kinds with bins."""
        whole = self.kind != "real"
        beyond = np.array([*self.starts[1:], self.last + 1 if whole else np.nextafter(self.last, np.inf)])
        last = beyond - 1 if whole else np.nextafter(beyond, -np.inf)
        missing = [np.nan] * (len(self.labels) - self.declared)
        return np.array([*self.starts, *missing]), np.array([*last, *missing])

    def constant(self, text: str) -> float | int:
        """Return the number or the day in `text` as a float, or the code of the listed or missing value in it as an integer."""
        if self.kind == "values" or (text == MISSING and self.own_missing):
            known, key = known_texts(self, frozenset(), False)
            if (code := known.get(text, known.get(key(text)))) is None:
                shown = f"{', '.join(self.labels[:20])}{', ...' * (len(self.labels) > 20)}"
                raise ValueError(f"a value of {self.name} must be one of {shown}")
            return code
        dates = self.kind == "dates"
        found = next((n for n in (day(text, self.form), day(text)) if n == n), math.nan) if dates else _float(text)
        if math.isnan(found):
            raise ValueError(f"a value of {self.name} must be a {'date' if dates else 'number'}")
        return found

    def shown_starts(self, most: int = 12) -> list[str]:
        """Return the starts of the first bins, as text."""
        dates = self.kind == "dates"
        shown = [datetime.date.fromordinal(int(s)).isoformat() if dates else f"{s:.12g}" for s in self.starts[:most]]
        return [*shown, "..."] if len(self.starts) > most else shown

    @property
    def mixed(self) -> tuple[int, ...]:
        """Return the codes of declared values that also include missing, unlisted or out-of-range values."""
        ends = () if self.kind == "values" else (0, self.declared - 1)
        return tuple(sorted({code for code in (self.missing, self.unseen, *ends) if 0 <= code < self.declared}))

    def binned(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return codes (n,) of `numbers` (n,). NaN means missing; a number beyond the range counts as the nearest end."""
        codes = np.searchsorted(self.starts, numbers, side="right") - 1
        return np.where(np.isnan(numbers), self.missing, np.maximum(codes, 0))

    def treatment(self) -> str:
        """Return a description of how missing and undeclared values are treated."""
        missing = "a value of its own" if self.own_missing else self.labels[self.missing]
        if self.kind == "values":
            return f"missing: {missing}; unlisted: {self.labels[self.unseen]}"
        expected = "date" if self.kind == "dates" else "number"
        return f"missing, or no {expected}: {missing}; beyond the range: its end"


def day(text: str, form: str = "") -> float:
    """Return the ordinal of the date in `text`, or NaN if `text` is not a date; `form` is as in an `Attribute`.

    >>> from lib.release.schema import day
    >>> print(day("1970-01-01"), day("01/01/1970", "%d/%m/%Y"), day("01/01/1970"))
    719163.0 719163.0 nan
    """
    try:
        if form:
            return float(datetime.datetime.strptime(text, form).toordinal())
        return float(datetime.date.fromisoformat(text[:10]).toordinal()) if text[10:11] in ("", " ", "T") else math.nan
    except ValueError:
        return math.nan


def _float(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return math.nan
    return found if math.isfinite(found) else math.nan


@functools.lru_cache(maxsize=64)
def known_texts(attribute: Attribute, blanks: frozenset[str], number: bool) -> tuple[dict, Callable]:
    """Return the codes of strings and keys, and the function that maps a string to its key; equal values have equal keys.

    number : whether the strings are from a column of numbers, where 2.50 equals 2.5. In a column of strings, 2.50 may
        be a code
    """
    key, labels = (as_number if number else as_text), attribute.labels
    known: dict = dict.fromkeys(map(key, blanks), attribute.missing)
    known |= {key(label): code for code, label in reversed([*enumerate(labels)])}
    truths = {TRUTHS.get(as_text(label)): code for code, label in reversed([*enumerate(labels[: attribute.declared])])}
    if {True, False} <= set(truths):
        known = {spelling: truths[truth] for spelling, truth in TRUTHS.items()} | known
    return known | {label: code for code, label in enumerate(labels)} | dict.fromkeys(blanks, attribute.missing), key


def as_text(text: str) -> str:
    """Return `text` in lower case if it is a truth value; otherwise remove a fraction of zeros (`whole_text`)."""
    return text.lower() if text.lower() in TRUTHS else whole_text(text)


def as_number(text: str) -> Decimal | str:
    """Return the number in `text`, or `as_text` if it contains none; text with leading zeros is a code, not a number."""
    return Decimal(text) if re.fullmatch(_PLAIN_NUMBER, text) else as_text(text)


def whole_text(text: str) -> str:
    """Return an integer without its fraction if this consists of zeros, and any other string unchanged.

    >>> from lib.release.schema import whole_text
    >>> print(whole_text("1.00"), whole_text("1.10"), whole_text("v1.0"))
    1 1.10 v1.0
    """
    return re.sub(r"^([+-]?[0-9]+)\.0+$", r"\1", text)


def _complete(form: str) -> bool:
    """Return whether `form` writes different days differently, and so that each can be read again."""
    days = [datetime.date(*each) for each in ((2001, 12, 31), (2002, 12, 31), (2001, 10, 31), (2001, 12, 30))]
    texts = [each.strftime(form) for each in days]
    return len(set(texts)) == len(days) and [day(text, form) for text in texts] == [each.toordinal() for each in days]


@dataclass(frozen=True, repr=False)
class Schema:
    """The schema of a table: its `attributes`, in order, and `blanks`, the strings that mean a missing value.

    `read` makes a schema from a file.

    multiline : whether a record of a CSV file may continue over several lines
    never : conditions that hold for no record, as text (`conditions`)
    targets : the names of the attributes that analyses predict; name : the table's name in the report
    """

    attributes: tuple[Attribute, ...]
    blanks: frozenset[str] = frozenset([""])
    multiline: bool = False
    never: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    name: str = ""

    @property
    def domain(self) -> Domain:
        """Return the domain of tables of this schema, which does not depend on their content."""
        return Domain.from_labels({each.name: each.labels for each in self.attributes})

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{each.name}: {len(each.labels)}' for each in self.attributes)})"

    @property
    def impossible(self) -> tuple[Condition, ...]:
        """Return the conditions `never`, which hold for no record."""
        return tuple(conditions.parse(text, self.attributes, "never") for text in self.never)

    def as_json(self) -> dict:
        """Return the schema as JSON-serializable values, from which `from_json` makes the schema again."""
        return asdict(self) | {"blanks": sorted(self.blanks)}

    @classmethod
    def from_json(cls, parts: Mapping) -> Schema:
        def restored(one: Mapping[str, Any]) -> Attribute:
            made: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in one.items()}
            return Attribute(**made)

        attributes = tuple(map(restored, parts["attributes"]))
        return cls(
            attributes,
            frozenset(parts["blanks"]),
            parts["multiline"],
            tuple(parts["never"]),
            tuple(parts.get("targets", ())),
            parts.get("name", ""),
        )


def of(given: Schema | str | Path | Mapping | Domain) -> Schema:
    """Return a schema from a `Schema`, the path of a YAML file, a mapping with the content of such a file, or a `Domain`.

    A domain's labels become the listed values of an attribute, as strings. An attribute without labels becomes a range
    of integers with a bin for each code. Missing and unlisted values are added, as in any schema. Errors are those of
    `read` and `parse`.

    >>> from lib.release import schema
    >>> from lib.tables import Domain
    >>> schema.of({"attributes": {"age": {"range": [0, 99], "bins": 10}}}) == schema.of(
    ...     schema.parse("attributes: {age: {range: [0, 99], bins: 10}}")
    ... )
    True
    >>> print(schema.of(Domain({"sex": 2, "age": 5}, {"sex": ["f", "m"]})).domain.labels["age"])
    ('0', '1', '2', '3', '4', 'missing')
    """
    if isinstance(given, Schema):
        return given
    if isinstance(given, Domain):
        given = {"attributes": {name: _of_domain(given, name) for name in given.attributes}}
    if isinstance(given, Mapping):
        return parse(yaml.safe_dump(_as_texts(given), sort_keys=False, allow_unicode=True))
    if not isinstance(given, (str, Path)):
        raise ValueError(f"schema must be a path, a mapping, a Domain or a Schema, got {type(given).__name__}")
    return read(given)


def _of_domain(domain, name) -> dict:
    (size,) = domain.shape([name])
    if name in domain.labels or size == 1:
        return {"values": domain.values(name)}
    return {"range": [0, size - 1], "bins": size}


def _as_texts(given):
    """Return `given` with sequences as lists and scalars as strings, as they would be written in a file."""
    if isinstance(given, Mapping):
        return {str(key): _as_texts(value) for key, value in given.items()}
    if isinstance(given, (list, tuple, set, frozenset, np.ndarray)):
        return [str(each) for each in given]
    return {True: "yes", False: "no"}[given] if isinstance(given, bool) else str(given)


def read(path: str | Path) -> Schema:
    """Return the schema in the YAML file `path`.

    Raises ``ValueError`` that gives the line and the column of an error in the file, and ``OSError`` if the file cannot
    be read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "schema.yml")
    ...     written = path.write_text("attributes: {age: {range: [0, 99], bins: [0, 18, 65]}}")
    ...     public = read(path)
    >>> print(public.attributes[0].labels)
    ('0 to 17', '18 to 64', '65 to 99', 'missing')
    """
    return parse(_text_of(path), str(path))


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line} must be UTF-8 text, got byte {error.object[error.start]:#04x}") from None


def parse(text: str, name: str = "schema") -> Schema:
    """Return the schema in the YAML `text`. Raises ``ValueError`` that gives `name`, line and column.

    >>> from lib.release.schema import parse
    >>> schema = parse("attributes: {sex: {values: [female, male]}, age: {range: [0, 99], bins: 10}}")
    >>> print([attribute.name for attribute in schema.attributes])
    ['sex', 'age']
    """
    try:
        return _Reader(name).schema(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or yaml.Mark(name, 0, 0, 0, None, 0)
        raise ValueError(f"{name}, line {mark.line + 1}, column {mark.column + 1}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{name} is not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError(
            f"{name} must have three levels of names, got hundreds of levels of braces or brackets"
        ) from None


class _Reader:
    """A reader that makes attributes from the nodes of a YAML document; scalars stay strings, so a value `no` is "no"."""

    def __init__(self, name):
        self.name = name

    def schema(self, root) -> Schema:
        if root is None:
            raise ValueError(f"{self.name} must have attributes, got an empty file")
        parts = self._mapping(root, "the schema", _ROOT)
        if "attributes" not in parts:
            self._refuse(root, "the schema must contain attributes")
        blanks = frozenset(["", *self._texts(parts["blanks"], "blanks")] if "blanks" in parts else [""])
        named = self._mapping(parts["attributes"], "attributes")
        if not named:
            self._refuse(parts["attributes"], "attributes must not be empty")
        attributes = tuple(self._attribute(name, node, blanks) for name, node in named.items())
        never = tuple(self._texts(parts["never"], "never")) if "never" in parts else ()
        targets = tuple(self._texts(parts["targets"], "targets")) if "targets" in parts else ()
        for place, name in enumerate(targets):
            if name not in named:
                self._refuse(parts["targets"].value[place], f"targets must be among {', '.join(named)}, got {name!r}")
        title = self._text(parts["name"]) if "name" in parts else ""
        made = Schema(attributes, blanks, self._truth(parts, "multiline", "no"), never, targets, title)
        for number, text in enumerate(never):
            try:
                conditions.parse(text, attributes, "never")
            except ValueError as error:
                self._refuse(parts["never"].value[number], str(error))
        return made

    def _attribute(self, name, node, blanks) -> Attribute:
        parts = self._mapping(node, f"attribute {name!r}")
        kinds = [kind for kind in _KEYS if kind in parts]
        if len(kinds) != 1:
            self._refuse(
                node,
                f"attribute {name!r} must have exactly one of values, range, dates, got {', '.join(parts) or 'none'}",
            )
        self._mapping(node, f"attribute {name!r}", (kinds[0], *_KEYS[kinds[0]], "missing"))
        made = {"values": self._values, "range": self._range, "dates": self._dates}[kinds[0]](name, parts)
        self._few(parts[kinds[0]], name, len(made.labels))
        if len(set(made.labels)) < len(made.labels):
            self._refuse(
                parts[kinds[0]], f"the bins of {name!r} are too narrow to get different labels; use fewer bins"
            )
        same = set(map(whole_text, blanks)) - {MISSING}
        if made.kind == "values" and (both := [label for label in made.labels if whole_text(label) in same]):
            self._refuse(node, f"attribute {name!r} has the value {min(both)!r}, which is also one of the blanks")
        return made

    def _few(self, node, name, count) -> None:
        if count > MOST_VALUES:
            self._refuse(
                node,
                f"attribute {name!r} must have at most {MOST_VALUES:,} values, because each count gets separate noise, got "
                f"{count:,}; group the values first, by the leading digits of a code or in wider bins",
            )

    def _values(self, name, parts) -> Attribute:
        labels = self._texts(parts["values"], f"values of {name!r}", whole_text)
        missing = self._treated(name, parts, "missing", MISSING, labels)
        unseen = self._treated(name, parts, "unseen", OTHER, labels)
        declared, labels = len(labels), list(dict.fromkeys([*labels, missing, unseen]))
        return Attribute(name, "values", tuple(labels), declared, labels.index(missing), labels.index(unseen))

    def _treated(self, name, parts, key, own, labels) -> str:
        stated = self._text(parts[key]) if key in parts else own
        stated = next((label for label in labels if whole_text(label) == whole_text(stated)), stated)
        if stated not in (MISSING, OTHER, *labels):
            self._refuse(
                parts[key], f"{key} of {name!r} must be {MISSING}, {OTHER} or one of its values, got {stated!r}"
            )
        return stated

    def _range(self, name, parts) -> Attribute:
        whole = self._truth(parts, "whole", "yes")
        low, high = self._ends(parts["range"], f"range of {name!r}", lambda node: self._number(node, whole))
        starts = self._starts(parts, name, low, high, whole)
        ends = [*starts[1:], high + 1 if whole else high]
        labels = [
            f"{start:.12g}" + (f" to {end - 1:.12g}" * (end > start + 1) if whole else f" to under {end:.12g}")
            for start, end in zip(starts, ends)
        ]
        if not whole:
            labels[-1] = labels[-1].replace("under ", "")
        return self._scale(
            name, parts, "whole" if whole else "real", starts, high, labels, lambda n: self._number(n, whole)
        )

    def _starts(self, parts, name, low, high, whole) -> list[float]:
        node = parts.get("bins")
        if isinstance(node, yaml.SequenceNode):
            self._few(node, name, len(node.value))
            starts = [self._number(each, whole) for each in node.value]
            if starts[:1] != [low] or any(a >= b for a, b in zip(starts, [*starts[1:], high + whole])):
                self._refuse(
                    node,
                    f"bins of {name!r} must be increasing bin starts: the first must be {low:.12g}, and all must be "
                    f"below {high + whole:.12g}",
                )
            return starts
        most = min(high + 1 - low, MOST_VALUES) if whole else MOST_VALUES
        count = self._number(node, True) if node is not None else min(16, most)
        if not 1 <= count <= most:
            self._refuse(node, f"bins of {name!r} must be in [1, {most:.0f}], got {count:.0f}")
        width = (high + whole - low) / count
        starts = [low + index * width for index in range(int(count))]
        return [math.floor(start) for start in starts] if whole else starts

    def _dates(self, name, parts) -> Attribute:
        form = self._text(parts["format"]) if "format" in parts else ""
        if form and not _complete(form):
            self._refuse(
                parts["format"], f"format of {name!r} must contain day, month and year, such as %d/%m/%Y, got {form!r}"
            )
        by = self._choice(parts, "by", tuple(PERIODS), "year")
        first, last = self._ends(parts["dates"], f"dates of {name!r}", self._day)
        for end in (first, last) if form else ():  # a year of two digits means a year from 1969 to 2068
            here = datetime.date.fromordinal(int(end))
            if day(here.strftime(form), form) != end:
                self._refuse(
                    parts["format"], f"format of {name!r} must distinguish {here} from other days, got {form!r}"
                )
        if by == "day":
            self._few(parts["dates"], name, int(last - first) + 2)  # with `missing`
        starts, labels = _periods(int(first), int(last), by)
        return self._scale(name, parts, "dates", starts, last, labels, self._day, form)

    def _scale(self, name, parts, kind, starts, last, labels, number, form="") -> Attribute:
        made = Attribute(
            name, kind, tuple(labels), len(labels), len(labels), starts=tuple(starts), last=last, form=form
        )
        stated = parts.get("missing")
        if stated is None or self._text(stated) == MISSING:
            return replace(made, labels=(*labels, MISSING))
        try:
            value = number(stated)
        except ValueError:  # its message mentions only numbers
            value = math.nan
        if not starts[0] <= value <= last:
            wanted = f"the word {MISSING!r} or a value within the range of {name!r}"
            self._refuse(stated, f"missing of {name!r} must be {wanted}, got {self._text(stated)!r}")
        return replace(made, missing=int(made.binned(np.array([value]))[0]))

    # ---- nodes

    def _refuse(self, node, said) -> NoReturn:
        mark = node.start_mark
        raise ValueError(f"{self.name}, line {mark.line + 1}, column {mark.column + 1}: {said}")

    def _mapping(self, node, what, allowed=()) -> dict:
        if not isinstance(node, yaml.MappingNode):
            self._refuse(node, f"{what} must be a mapping of names to values")
        found: dict = {}
        for key, value in node.value:
            text = self._text(key)
            if not text or (allowed and text not in allowed):
                self._refuse(key, f"{what} may contain only {', '.join(allowed) or 'non-empty names'}, got {text!r}")
            if text in found:
                self._refuse(key, f"{what} must contain {text!r} only once, got it twice")
            found[text] = value
        return found

    def _text(self, node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._refuse(node, "a single string or number is expected here")
        return node.value.strip()

    def _texts(self, node, what, key=str) -> list[str]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self._refuse(node, f"{what} must be a list of at least one string, such as [a, b]")
        texts, seen = [self._text(each) for each in node.value], {""}
        for place, text in enumerate(texts):
            if key(text) in seen:
                self._refuse(
                    node.value[place],
                    f"{what} must be distinct strings (1.0 equals 1), none of them empty, got {text!r}",
                )
            seen.add(key(text))
        return texts

    def _choice(self, parts, key, allowed, default) -> str:
        text = self._text(parts[key]) if key in parts else default
        if text not in allowed:
            self._refuse(parts[key], f"{key} must be one of {', '.join(allowed)}, got {text!r}")
        return text

    def _truth(self, parts, key, default) -> bool:
        return self._choice(parts, key, ("yes", "no", "true", "false"), default) in ("yes", "true")

    def _ends(self, node, what, number) -> tuple[float, float]:
        if not isinstance(node, yaml.SequenceNode) or len(node.value) != 2:
            self._refuse(node, f"{what} must be [first, last]")
        low, high = (number(each) for each in node.value)
        if not low < high:
            self._refuse(node, f"{what} must be [first, last] with first below last")
        return low, high

    def _number(self, node, whole) -> float:
        text = self._text(node)
        try:
            return checks.whole("", text, "[-1e15, 1e15]") if whole else checks.number("", text, "[-1e100, 1e100]")
        except ValueError:
            self._refuse(node, f"{'an integer' if whole else 'a number'} is expected here, got {text!r}")

    def _day(self, node) -> float:
        found = day(self._text(node))
        if math.isnan(found):
            self._refuse(node, f"a date such as 2001-12-31 is expected here, got {self._text(node)!r}")
        return found


# ---- bins that are too wide


class WideBins(UserWarning):
    """A warning that bins are too wide for means, which depends only on the schema."""


def wide(schema: Schema) -> str:
    """Return a warning about bins so wide that a mean over them says little, with finer bins; "" if no bin is too wide.

    A bin is too wide if it is wider than a third of the range and a number in it may be more than twice as large as
    another. The starts of the finer bins double from 0 or from the bin's end that is nearer to 0. They depend only on
    the schema.

    >>> from lib.release.schema import parse, wide
    >>> print(wide(parse("attributes: {delay: {range: [0, 1300], bins: [0, 15, 60, 240]}}")).partition(", such as ")[2])
    [0, 15, 60, 240, 480, 960]. The records are not needed to choose them.
    """
    said = []
    for each in schema.attributes:
        if each.kind not in NUMBERS:
            continue
        low, high = (np.array(ends[: each.declared]) for ends in each.ends)
        width, starts = high - low, set(each.starts)
        found = width > (each.last - each.starts[0]) / _WIDE
        for start, end in zip(low[found], high[found]):
            cuts = {float(round(cut)) if each.kind == "whole" else float(f"{cut:.2g}") for cut in _doubled(start, end)}
            starts |= {cut for cut in cuts if start < cut < end}
        finer = ", ".join(f"{start:.12g}" for start in sorted(starts))
        if len(starts) > len(each.starts):
            said.append(
                f"A mean of {printable(each.name)} may be off by up to {width.max() / 2:.6g} because of the width of its bins alone. Use narrower "
                f"bins, such as [{finer}]."
            )
    return " ".join([*said, "The records are not needed to choose them."]) if said else ""


def _doubled(low: float, high: float) -> set[float]:
    """Return cuts between `low` and `high` that double from 0 or from the end that is nearer to 0."""
    if low < 0 < high:
        return {0.0} | _doubled(low, 0.0) | _doubled(0.0, high)
    if high <= 0:
        return {-cut for cut in _doubled(-high, -low)}
    step, cuts = 2 * low or high / 2**_HALVES, set()
    while step < high:
        cuts.add(step)
        step *= 2
    return cuts


def _periods(first: int, last: int, by: str) -> tuple[list[float], list[str]]:
    """Return the first days and the names of the periods between the days `first` and `last`, which are ordinals."""
    days = [datetime.date.fromordinal(day) for day in (range(first, last + 1) if PERIODS[by] == 0 else (first, last))]
    if PERIODS[by] == 0:
        return [float(day.toordinal()) for day in days], [day.isoformat() for day in days]
    months = range(days[0].year * 12 + days[0].month - 1, days[1].year * 12 + days[1].month)
    begins = [month for month in months if month % PERIODS[by] == 0 or month == months[0]]
    labels = [
        {12: f"{m // 12}", 3: f"{m // 12}-Q{m % 12 // 3 + 1}", 1: f"{m // 12}-{m % 12 + 1:02}"}[PERIODS[by]]
        for m in begins
    ]
    starts = [datetime.date(month // 12, month % 12 + 1, 1).toordinal() for month in begins]
    return [float(first), *map(float, starts[1:])], labels


# ---- a template

COLUMNS = ("attribute", "kind", "values", "low", "high", "bins", "by", "format", "missing", "unseen")


def template(codebook: str | Path) -> str:
    r"""Return a draft schema in YAML, to be checked and completed, from the CSV file `codebook`; no data are read.

    The columns are those of `COLUMNS`; the first two are required. The kind is one of `KINDS`, values are separated by
    "|", and low and high are the ends of a range, or its first and last day. Raises ``ValueError`` that gives line and
    column.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import template
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "codebook.csv")
    ...     lines = "attribute,kind,values,low,high", "sex,values,female|male,,", "age,whole,,0,99"
    ...     written = path.write_text("\n".join(lines))
    ...     print(template(path).partition("\n")[2])
    attributes:
      sex:
        values: [female, male]
      age:
        range: [0, 99]
    <BLANKLINE>
    """
    rows = csv.DictReader(io.StringIO(_text_of(codebook), newline=""))
    try:
        names, lines = list(rows.fieldnames or ()), [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        raise ValueError(f"{codebook}, line {rows.line_num} is not valid CSV: {error}") from None
    if not {"attribute", "kind"} <= set(names) <= set(COLUMNS) or len(set(names)) < len(names):
        got = ", ".join(map(repr, names)) or "none"
        raise ValueError(
            f"{codebook}, line 1: the columns must be attribute and kind, optionally {', '.join(COLUMNS[2:])}, each once, got {got}"
        )
    attributes = {}
    for line, row in lines:
        name, made = _of_codebook(f"{codebook}, line {line}", row)
        if name in attributes:
            raise ValueError(f"{codebook}, line {line}, column attribute: duplicate attribute {name!r}")
        attributes[name] = made
        try:
            parse(_yaml({name: made}))
        except ValueError as error:
            raise ValueError(f"{codebook}, line {line}: {str(error).partition(': ')[2]}") from None
    if not attributes:
        raise ValueError(f"{codebook} must have a line for each attribute, got none")
    return f"# Proposed from a codebook, not from any data. Check it, and do not copy anything from the records.\n{_yaml(attributes)}"


def _yaml(attributes) -> str:
    return yaml.safe_dump(
        {"attributes": attributes}, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
    )


def _of_codebook(place, row) -> tuple[str, dict]:
    """Return the name and the schema entry of the attribute in `row` of a codebook; errors name `place`."""
    if None in row or None in row.values():
        raise ValueError(f"{place} must have as many cells as the first line")
    cells = {key: value.strip() for key, value in row.items() if value.strip()}
    for column in ("attribute", "kind"):
        if column not in cells:
            raise ValueError(f"{place}, column {column} must not be empty")
    kind = cells.pop("kind")
    if kind not in KINDS:
        raise ValueError(f"{place}, column kind must be one of {', '.join(KINDS)}, got {kind!r}")
    for column in ["values"] if kind == "values" else ["low", "high"]:
        if column not in cells:
            raise ValueError(f"{place}, column {column} is required for the kind {kind}")
    name = cells.pop("attribute")
    if kind == "values":
        made: dict = {"values": [value.strip() for value in cells.pop("values").split("|")]}
    else:
        made = {"dates" if kind == "dates" else "range": [_plain(cells.pop("low")), _plain(cells.pop("high"))]}
    made |= {"whole": False} if kind == "real" else {}
    if "bins" in cells:
        starts = [_plain(start) for start in cells.pop("bins").split("|")]
        made["bins"] = starts if len(starts) > 1 else starts[0]
    return name, made | cells


def _plain(text: str):
    """Return `text` as a number or a date if it looks like one, so that YAML shows it without quotation marks."""
    try:
        found = yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError):  # such as 2001-13-45 or >=0; `parse` says what it must be
        return text
    return found if isinstance(found, (int, float, datetime.date)) and str(found) == text else text
