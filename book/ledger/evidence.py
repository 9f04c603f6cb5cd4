"""Evidence for a comparison of noisy means: a difference, its standard error, and the conclusion from these.

A difference counts as above a limit if it exceeds the limit by more than two standard errors, and as not above it if it
is below the limit by more than two standard errors. Otherwise the difference is within the noise, and nothing is
concluded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

_FOUND = {True: "holds", False: "fails", None: "is left open by the noise"}
NAMED = 4  # more readings than this are counted, not named
ERRORS = 2  # standard errors; a larger difference is not noise


@dataclass(frozen=True)
class Difference:
    """A difference that is claimed to exceed `limit`, with its standard error, which is 0 if the difference is not
    random."""

    value: float
    error: float
    limit: float = 0.0

    @property
    def errors(self) -> float:
        """Return by how many standard errors the difference exceeds the limit: plus or minus infinity if the difference
        is not random."""
        margin = self.value - self.limit
        if self.error == 0:
            return math.inf if margin > 0 else -math.inf  # at the limit it does not exceed it, and there is no noise
        return margin / self.error

    @property
    def holds(self) -> bool | None:
        """Return whether the difference exceeds the limit, or None if it is within the noise."""
        return bool(self.errors > 0) if abs(self.errors) > ERRORS else None

    def __str__(self) -> str:
        value, noise = self._figures
        limit = f", limit {self.limit:g}" if self.limit else ""
        return f"difference {value}{limit}, two standard errors {noise}"

    @property
    def _figures(self) -> tuple[str, str]:
        """Return the value and two standard errors as texts, rounded to two significant digits of the two standard
        errors."""
        noise = ERRORS * self.error
        places = max(0, 1 - math.floor(math.log10(noise))) if noise else 4
        return f"{self.value:+.{places}f}", f"{noise:.{places}f}"

    def sentence(self, name: str = "") -> str:
        """Return a sentence with the numbers of the difference and, if it is one of several, its `name` or number."""
        value, noise = self._figures
        subject = f"For {'comparison ' * name.isdigit()}{name}, the difference" if name else "The difference"
        limit = f", the limit is {self.limit:g}" if self.limit else ""
        return f"{subject} is {value}{limit}, and two standard errors are {noise}."


@dataclass(frozen=True)
class Mean:
    """The mean of some runs with its standard error, for `claims.check` on a claim that is judged by a printed
    spread, or by the digits of a random number."""

    value: float
    error: float

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Readings:
    """A value for each interpretation of a claim, by the interpretation's name in the ledger; for `claims.check` on
    such a claim."""

    values: Mapping[str, object]

    @property
    def found(self) -> dict[str, bool | None]:
        """Return whether the claim holds in each interpretation, or None if that is within the noise. The values must
        be bools, None or differences."""
        return {
            name: holds(each) if many(each) else each if each is None else bool(each)
            for name, each in self.values.items()
        }


def mean(runs) -> Mean:
    """Return the mean of at least two `runs`, with its standard error."""
    values = np.asarray(runs, dtype=float)
    return Mean(float(values.mean()), _error(values))


def between(above, below, *, limit=0.0, paired=False) -> Difference:
    """Return the evidence that the mean of the runs `above` exceeds that of the runs `below` by more than `limit`.

    paired : whether the runs are compared in pairs, because both runs of a pair used the same split; otherwise all runs
        are independent
    """
    a, b = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    if paired:
        return Difference(float((a - b).mean()), _error(a - b), limit)
    return Difference(float(a.mean() - b.mean()), math.hypot(_error(a), _error(b)), limit)


def _error(runs) -> float:
    """Return the standard error of the mean of at least two `runs`."""
    if runs.size < 2:
        raise ValueError(f"runs must be two or more for a standard error, got {runs.size}")
    return float(runs.std(ddof=1) / math.sqrt(runs.size))


def overlap(difference: Difference, spreads: tuple[float, ...], runs: int | None) -> Difference:
    """Return the evidence that the error bars of two means overlap, which means that the `difference` of the means is
    smaller than the sum of their standard deviations.

    spreads : the two standard deviations. If paired runs share a part of their spread, such as a split, one number
        instead: the root of 2 times the standard deviation of the paired differences. It leaves out the shared part,
        and is twice the rest of a spread if both spreads are equal
    runs : the number of runs behind each standard deviation, at least 2. The standard error of the result includes the
        noise of the standard deviations, for many normal runs. With five runs, overlapping bars at the limit are taken
        for separate ones in about one of ten cases. With None the numbers are printed ones, and their overlap is a
        fact without noise
    """
    gap = sum(spreads) - abs(difference.value)
    if runs is None:
        return Difference(gap, 0.0)
    if runs < 2:
        raise ValueError(f"runs must be two or more for the noise of a standard deviation, got {runs}")
    return Difference(gap, math.hypot(difference.error, math.hypot(*spreads) / math.sqrt(2 * (runs - 1))))


def near(difference: Difference, tolerance: float) -> dict[str, Difference]:
    """Return the evidence that the difference lies between minus `tolerance` and `tolerance`."""
    value, error = difference.value, difference.error
    return {
        f"below {tolerance:g}": Difference(tolerance - value, error),
        f"above {-tolerance:g}": Difference(value + tolerance, error),
    }


def many(value) -> dict[str, Difference] | None:
    """Return the differences in `value` by name. It is one difference, or a list or mapping of several; for anything
    else, return None."""
    if isinstance(value, Difference):
        return {"": value}
    if not isinstance(value, (Mapping, list, tuple)):
        return None
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
    found = {str(name): each for name, each in pairs}
    return found if found and all(isinstance(each, Difference) for each in found.values()) else None


def weakest(value) -> tuple[str, Difference]:
    """Return (name, difference) for the difference that exceeds its limit by the fewest standard errors. It decides
    whether all differences hold."""
    found = many(value)
    if found is None:
        raise ValueError(f"value must be a Difference, or a list or mapping of Differences, got {value!r}")
    return min(found.items(), key=lambda each: each[1].errors)


def holds(value) -> bool | None:
    """Return whether all differences hold: False if one clearly does not hold, and None if noise leaves the answer
    open.

    For `Readings`, return True if the claim holds in all readings, False if it holds in none, and None otherwise.
    """
    if isinstance(value, Readings):
        found = set(value.found.values())
        return found.pop() if len(found) == 1 else None
    return weakest(value)[1].holds


def told(value) -> str:
    """Return a sentence about the weakest of the differences. For `Readings`, the sentence names the readings with each
    outcome, or counts them if there are more than `NAMED`."""
    if isinstance(value, Readings):
        return f"The claim {'; it '.join(_by_found(value.found))}."
    name, difference = weakest(value)
    return difference.sentence(name)


def _by_found(found: Mapping[str, bool | None]) -> list[str]:
    """Return a clause for each outcome that occurs, which names or counts the readings with this outcome: ``holds under
    “deep” and “flat”``."""
    if len(set(found.values())) == 1:
        return [f"{_FOUND[next(iter(found.values()))]} under every interpretation"]
    found = _deciding(found)
    total, clauses = f" of {len(found)} interpretations", []
    for outcome, verb in _FOUND.items():
        names = [name for name, each in found.items() if each is outcome]
        if names and len(found) > NAMED:
            clauses.append(f"{verb} under {len(names)}{total}")
            total = ""
        elif names:
            clauses.append(f"{verb} under {_listed([f'“{name}”' for name in names])}")
    return clauses


def _deciding(found: Mapping[str, bool | None]) -> Mapping[str, bool | None]:
    """Shorten names such as "printed, half" to the part that decides the outcome, for example to "half" if "ours, half"
    has the same outcome.

    Names stay as they are if they do not have two parts, or if the outcome depends on both parts.
    """
    parts = [name.split(", ") for name in found]
    if {len(each) for each in parts} == {2} and len(parts) == len({a for a, _ in parts}) * len({b for _, b in parts}):
        for place in (0, 1):
            outcomes = {(each[place], outcome) for each, outcome in zip(parts, found.values())}
            if len(outcomes) == len({each[place] for each in parts}):
                names = dict.fromkeys(each[place] for each in parts)
                return {name: dict(outcomes)[name] for name in names}
    return found


def _listed(parts: list[str]) -> str:
    *before, last = parts
    return f"{', '.join(before)} and {last}" if before else last
