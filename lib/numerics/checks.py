"""Check arguments; every error names the parameter, its value and the permitted range.

Ranges are written in mathematical notation, ``"(0, 1]"``. The notebooks' parameter cells also use this notation.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = float | np.ndarray  # one number, or an array of numbers

_INTERVAL = re.compile(r"^([\[(])\s*([^,\s]+)\s*,\s*([^,\s]+)\s*([\])])$")


@dataclass(frozen=True)
class Interval:
    """A real interval whose ends are open or closed; ``Interval.parse("(0, 1]")`` makes one."""

    low: float
    high: float
    low_closed: bool
    high_closed: bool

    @classmethod
    def parse(cls, text: str) -> Interval:
        """Return the interval that `text` denotes, or raise ``ValueError``."""
        match = _INTERVAL.match(text.strip())
        if match is None:
            raise ValueError(f"interval must look like '(0, 1]', got {text!r}")
        opening, low, high, closing = match.groups()
        return cls(float(low), float(high), opening == "[", closing == "]")

    def contains(self, values: ArrayLike) -> np.bool_ | NDArray[np.bool_]:
        """Return whether the interval contains each of `values`, booleans of the same shape. NaN is in no interval."""
        values = np.asarray(values, dtype=float)
        above = values >= self.low if self.low_closed else values > self.low
        below = values <= self.high if self.high_closed else values < self.high
        return above & below


def real(name: str, value: Any, interval: str) -> NDArray[np.float64]:
    """Return `value` as a float array (any shape), all of whose elements must be in `interval`.

    Raises a ``ValueError`` that names the parameter, the first offending value and the range, also for non-numbers.
    """
    try:
        array = _numbers(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number in {interval}, got {value!r:.100}") from None
    inside = Interval.parse(interval).contains(array)
    if not inside.all():
        offender = array[~inside].flat[0]
        raise ValueError(f"{name} must be in {interval}, got {offender:g}")
    return array


def _numbers(value) -> np.ndarray:
    """Return `value` as floats, refusing the dates and complex numbers that numpy would convert."""
    array = np.asarray(value)
    if array.dtype.kind in "cmM":
        raise TypeError
    return array.astype(float, copy=False)


def integer(name: str, value: Any, interval: str) -> NDArray[np.float64]:
    """Return `value` as `real` does; every element must be an integer (``6.0`` is one; ``6.5`` is not)."""
    array = real(name, value, interval)
    whole = array == np.floor(array)
    if not whole.all():
        offender = array[~whole].flat[0]
        raise ValueError(f"{name} must be an integer in {interval}, got {offender:g}")
    return array


def number(name: str, value: Any, interval: str) -> float:
    """Return `value` as one float. Raises ``ValueError`` if it is an array or is not a number in `interval`."""
    array = real(name, value, interval)
    if array.ndim:
        raise ValueError(f"{name} must be one number in {interval}, got shape {array.shape}")
    return float(array)


def whole(name: str, value: Any, interval: str) -> int:
    """Return `value` as one int. Raises ``ValueError`` unless it is one integer in `interval`."""
    number(name, value, interval)
    return int(integer(name, value, interval))


def features(value: Any, interval: str) -> NDArray[np.float64]:
    """Return `value` as a table (n, d) of floats. Raises ``ValueError`` unless n, d >= 1 and entries are in range."""
    array = real("features", value, interval)
    if array.ndim != 2 or 0 in array.shape:
        found = f"shape {array.shape}"
        raise ValueError(f"features must be a table (n, d) with at least one record and one attribute, got {found}")
    return array


def labels(value: Any, n: int, classes: int = 2) -> NDArray[np.int64]:
    """Return `value` as labels (n,), integers from 0 to `classes` - 1. Raises ``ValueError`` for any other input."""
    array = integer("labels", value, f"[0, {classes - 1}]").astype(np.int64)
    if array.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), one for each record, got {array.shape}")
    return array


def one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise a ``ValueError`` that names all `allowed` values if `value` is not among them."""
    if value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {value!r}")


def plain(values: Any) -> Numbers:
    """Return a float for a scalar and an array for an array."""
    return values if np.ndim(values) else float(values)


@dataclass(frozen=True)
class PositiveFields:
    """A dataclass each of whose fields must be one number in (0, inf). Raises ``ValueError`` for other values."""

    def __post_init__(self) -> None:
        for field in fields(self):
            number(field.name, getattr(self, field.name), "(0, inf)")
