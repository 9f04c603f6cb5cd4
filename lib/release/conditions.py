"""Conditions on a record, in text: which records to draw, to count, or to rule out.

    age < 18 and carrier in ('AS', 'AA')
    origin = destination or not (joined >= 2010-01-01)
    "dep delay" is missing

A comparison (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, also ``==`` and ``<>``) has an attribute on its left and a value
or another attribute on its right. Values with characters other than letters, digits and ``.+-/:%`` need single quotes.
Attribute names that are not one word, or are keywords, need double quotes or backticks. If an attribute has a list of
values, they can only be compared for equality. As in SQL, no comparison holds for a missing value; ``is missing`` does.

A record of the domain has bins instead of numbers. So a condition may hold for all values of a bin, for some of them,
or for none. Likewise, two unlisted values may be equal or not. `Condition.holds` returns where a condition surely holds
and where it possibly holds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks

Attribute = Any  # that of `schema`, which imports this module
Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # where a condition surely holds, and where it possibly holds
View = Callable[[Attribute], tuple[Any, Any, Any]]  # an attribute's codes, smallest and largest values

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>"[^"]+"|`[^`]+`)|(?P<mark><=|>=|==|!=|<>|[=<>(),])|(?P<word>[\w.+\-/:%]+)|(?P<end>$))"""
)
_MARKS = {"==": "=", "<>": "!="}
_SWAPPED = {">": "<", ">=": "<="}
_KEYWORDS = ("and", "or", "not", "in", "is", "where")


@dataclass(frozen=True)
class Condition:
    """A condition on a record; `parse` makes it from text.

    kind : "and", "or", "not"; "is" (an attribute has a code); or a comparison "=", "!=", "<", "<="
    parts : the conditions, or the attribute and the code, or the two sides, each an `Attribute` or a number
    """

    kind: str
    parts: tuple

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Return the attributes of the condition, each once."""
        found: list = []
        for part in self.parts:
            found += part.attributes if isinstance(part, Condition) else [part] if hasattr(part, "labels") else []
        return tuple(dict.fromkeys(found))

    def clauses(self) -> Iterable[Condition]:
        """Yield conditions on few attributes each; all of them hold if and only if this condition holds."""
        kind, parts = self.kind, self.parts
        if kind == "not" and parts[0].kind in ("or", "not"):
            inner = parts[0].parts
            parts = tuple(Condition("not", (part,)) for part in inner) if parts[0].kind == "or" else inner
            kind = "and"
        if kind != "and":
            yield self
            return
        for part in parts:
            yield from part.clauses()

    def holds(self, view: View) -> Truth:
        """Return for which records the condition surely holds, and for which it possibly holds.

        view : function from an attribute to three arrays that can be broadcast: the codes of records, and the smallest
            and the largest value that each record may have, NaN if it is missing. For an attribute with a list of
            values, only the codes are used
        """
        if self.kind in ("and", "or"):
            found = [part.holds(view) for part in self.parts]
            both = np.logical_and if self.kind == "and" else np.logical_or
            surely, possibly = (functools.reduce(both, each) for each in zip(*found))
            return surely, possibly
        if self.kind == "not":
            surely, possibly = self.parts[0].holds(view)
            return ~possibly, ~surely
        if self.kind == "is":
            equal = view(self.parts[0])[0] == self.parts[1]
            return equal, equal
        (low, high), (least, most) = (_ends(side, other, view) for side, other in (self.parts, self.parts[::-1]))
        if self.kind == "<":
            return high < least, low < most
        if self.kind == "<=":
            return high <= least, low <= most
        surely, possibly = (high <= least) & (low >= most), (low <= most) & (high >= least)
        present = ~(np.isnan(low) | np.isnan(least))
        return (surely, possibly) if self.kind == "=" else (~possibly & present, ~surely & present)

    def cells(self, attributes: Sequence[Attribute]) -> Truth:
        """Return what `holds` returns for each cell of the domain of `attributes`: two arrays of the domain's shape."""
        shape = [len(each.labels) for each in attributes]
        codes = dict(zip((each.name for each in attributes), np.ogrid[tuple(map(slice, shape))]))

        def view(each):
            ends = each.ends if each.starts else (np.zeros(1), np.zeros(1))
            return codes[each.name], *(end[codes[each.name] if each.starts else np.zeros(1, int)] for end in ends)

        surely, possibly = self.holds(view)
        return np.broadcast_to(surely, shape), np.broadcast_to(possibly, shape)

    def decided(self, attributes: Sequence[Attribute], what: str) -> NDArray[np.bool_]:
        """Return for which cells of the domain of `attributes` the condition holds; see `cells`.

        Raises ``ValueError``, with a message that begins with `what`, if a value or bin does not determine whether the
        condition holds.
        """
        surely, possibly = self.cells(attributes)
        if (surely != possibly).any():
            binned = [each for each in self.attributes if each.starts]
            starts = "; ".join(f"{each.name}: {', '.join(each.shown_starts())}" for each in binned[:3])
            said = (
                f"compare with the start of a bin ({starts})" if binned else "two unlisted values may be equal or not"
            )
            raise ValueError(f"{what} must be true or false throughout each value and bin of the schema; {said}")
        return surely


def _ends(side, other, view) -> tuple[Any, Any]:
    """Return the smallest and the largest value of one side of a comparison with `other`."""
    if not hasattr(side, "labels"):
        return side, side
    codes, low, high = view(side)
    if side.kind != "values":
        return low, high
    numbers = {label: float(n) for n, label in enumerate(sorted({*side.labels, *other.labels}))}
    ids = np.array([numbers[label] for label in side.labels])
    if side.own_missing:
        ids[side.missing] = np.nan
    low, high = ids.copy(), ids
    if side.own_unseen:  # any string
        low[side.unseen], high[side.unseen] = -np.inf, np.inf
    return low[codes], high[codes]


def parse(text: str, attributes: Iterable[Attribute], what: str = "where") -> Condition:
    """Return the `Condition` on `attributes` that `text` contains.

    Raises ``ValueError``, with a message that begins with `what`, for any other text.

    >>> from lib.release import conditions, schema
    >>> public = schema.parse("attributes: {sex: {values: [f, m]}, age: {range: [0, 99], bins: [0, 18]}}")
    >>> adults = conditions.parse("age >= 18 and sex != m", public.attributes)
    >>> print(adults.decided(public.attributes, "where"))
    [[False  True False]
     [False False False]
     [False False False]
     [False  True False]]
    """
    parser = Parser(text, attributes, what)
    found = parser.condition()
    parser.end()
    return found


class Parser:
    """A parser of one text: `condition` reads a condition, `word` reads a keyword, and `end` refuses remaining text."""

    def __init__(self, text: str, attributes: Iterable[Attribute], what: str) -> None:
        if not isinstance(text, str):
            raise ValueError(f"{what} must be a string, got {text!r:.60}")
        self.text, self.what = text, what
        self.attributes = {each.name: each for each in attributes}
        self.tokens: list[tuple[str, str, int]] = []
        place, kind = 0, ""
        while kind != "end":
            found = _TOKEN.match(text, place)
            if not found:
                self.refuse(len(text[:place]), "a value with this character must be in single quotes")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found[kind], found.start(kind)))
            place = found.end()

    def refuse(self, place: int, said: str) -> NoReturn:
        here = next((text for _, text, at in self.tokens if at == place), self.text[place:].strip())
        form = "a count or a statistic" if self.what == "question" else "a condition on attributes"
        raise ValueError(f"{self.what} must be {form}: {said}, got {here[:60]!r}")

    def word(self, *words: str) -> str:
        """Read and return the next word or mark if it is one of `words`; otherwise return ""."""
        kind, text, _ = self.tokens[0]
        if kind not in ("word", "mark") or text.lower() not in words:
            return ""
        return self.tokens.pop(0)[1].lower()

    def need(self, *words: str) -> str:
        wanted = repr(words[0]) if len(words) == 1 else f"one of {' '.join(words)}"
        return self.word(*words) or self.refuse(self.tokens[0][2], f"{wanted} is expected here")

    def end(self) -> None:
        if self.tokens[0][0] != "end":
            self.refuse(self.tokens[0][2], "the text should end here")

    def condition(self) -> Condition:
        return self._joined("or", lambda: self._joined("and", self._one))

    def _joined(self, word, one) -> Condition:
        parts = [one()]
        while self.word(word):
            parts.append(one())
        return parts[0] if len(parts) == 1 else Condition(word, tuple(parts))

    def _one(self) -> Condition:
        negated = 0
        while self.word("not"):
            negated += 1
        if self.word("("):
            found = self._deeper()
            self.need(")")
        else:
            found = self._comparison()
        return Condition("not", (found,)) if negated % 2 else found

    def _deeper(self) -> Condition:
        if self.text.count("(") > 100:
            self.refuse(0, "at most 100 parentheses are permitted")
        return self.condition()

    def attribute(self) -> Attribute:
        """Read the name of an attribute."""
        kind, text, place = self.tokens[0]
        name = text[1:-1] if kind == "name" else text
        if kind not in ("name", "word") or (kind == "word" and text.lower() in _KEYWORDS):
            self.refuse(place, "an attribute is expected here")
        if name not in self.attributes:
            self.refuse(place, f"an attribute must be one of {', '.join(self.attributes)}")
        self.tokens.pop(0)
        return self.attributes[name]

    def number(self, permitted: str) -> float:
        """Read a number in the range `permitted`, which is written as for `checks.number`."""
        _, text, place = self.tokens[0]
        try:
            found = checks.number("the proportion", text, permitted)
        except ValueError as error:
            self.refuse(place, str(error).partition(", got")[0])
        self.tokens.pop(0)
        return found

    def _comparison(self) -> Condition:
        left = self.attribute()
        if self.word("is"):
            unequal = self.word("not")
            self.need("missing")
            return self._missing(left, bool(unequal))
        unequal = self.word("not")
        if unequal or self.tokens[0][1].lower() == "in":
            self.need("in")
            self.need("(")
            values = [self._value(left)]
            while self.word(","):
                values.append(self._value(left))
            self.need(")")
            if unequal:
                return Condition("and", tuple(self._compared("!=", left, each) for each in values))
            return Condition("or", tuple(self._compared("=", left, each) for each in values))
        mark = self.need("=", "==", "!=", "<>", "<=", ">=", "<", ">")
        mark, place = _MARKS.get(mark, mark), self.tokens[0][2]
        right = self._value(left)
        listed = left.kind == "values"
        if listed and mark not in ("=", "!="):
            self.refuse(place, f"{left.name} has a list of values, which can only be equal or unequal")
        if hasattr(right, "labels") and (
            (right.kind == "values") != listed or ("dates" in {left.kind, right.kind} and left.kind != right.kind)
        ):
            self.refuse(place, f"{left.name} and {right.name} must be of the same kind to be compared")
        return self._compared(mark, left, right)

    def _compared(self, mark, left, right) -> Condition:
        if isinstance(right, int):  # a code
            found = Condition("is", (left, right))
            if mark == "=":
                return found
            unequal = Condition("not", (found,))
            return unequal if right == left.missing else Condition("and", (unequal, self._missing(left, True)))
        sides = (right, left) if mark in _SWAPPED else (left, right)
        return Condition(_SWAPPED.get(mark, mark), sides)

    def _missing(self, attribute, unequal) -> Condition:
        code = attribute.missing if attribute.own_missing else -1
        found = Condition("is", (attribute, code))
        return Condition("not", (found,)) if unequal else found

    def _value(self, left) -> Any:
        """Read the right side of a comparison: an attribute, a number (a float), or a value's code (an int)."""
        kind, text, place = self.tokens[0]
        if kind == "name" and text[1:-1] not in self.attributes:
            self.refuse(place, "a value must be in single quotes; double quotes are for attributes")
        if kind == "name" or (kind == "word" and text in self.attributes and text not in left.labels):
            return self.attribute()
        if kind not in ("word", "text"):
            self.refuse(place, f"a value of {left.name} is expected here")
        self.tokens.pop(0)
        text = text[1:-1].replace("''", "'") if kind == "text" else text
        try:
            return left.constant(text.strip())
        except ValueError as error:
            self.refuse(place, str(error))
