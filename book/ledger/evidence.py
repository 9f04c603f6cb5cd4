"""Evidence for a comparison of noisy means: a difference, its standard error, and what the two say together.

That a difference exceeds a limit is found to hold if it is above by more than two standard errors, and found not to
hold if it is below by more than two. Between the two lies the noise, where nothing is found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

_FOUND = {True: "holds", False: "fails", None: "within the noise"}
NAMED = 6  # readings, each by its name
ERRORS = 2  # standard errors; beyond as many, a difference is no noise


@dataclass(frozen=True)
class Difference:
    """A difference that is claimed to exceed `limit`, with its standard error, which is 0 where nothing is left to chance."""

    value: float
    error: float
    limit: float = 0.0

    @property
    def errors(self) -> float:
        """By how many standard errors it exceeds the limit; without error, by infinitely many, on one side or the other."""
        margin = self.value - self.limit
        if self.error == 0:
            return math.inf if margin > 0 else -math.inf  # equal to the limit it does not exceed it, and noise is none
        return margin / self.error

    @property
    def holds(self) -> bool | None:
        """Whether it exceeds the limit; None within the noise."""
        return bool(self.errors > 0) if abs(self.errors) > ERRORS else None

    def __str__(self) -> str:
        noise = ERRORS * self.error
        places = max(0, 1 - math.floor(math.log10(noise))) if noise else 4
        limit = f", limit {self.limit:g}" if self.limit else ""
        return f"difference {self.value:+.{places}f}{limit}, two standard errors {noise:.{places}f}"


@dataclass(frozen=True)
class Mean:
    """The mean of some runs with its standard error: what `claims.check` takes for a claim that is judged by a printed spread."""

    value: float
    error: float

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Readings:
    """A value for each of a claim's readings, by the names that the ledger gives them: what `claims.check` takes for such a claim."""

    values: Mapping[str, object]

    @property
    def found(self) -> dict[str, bool | None]:
        """Whether the claim holds in each reading, where the values are bools or differences; None within the noise."""
        return {
            name: holds(each) if many(each) else each if each is None else bool(each)
            for name, each in self.values.items()
        }


def mean(runs) -> Mean:
    """Return the mean of two `runs` or more, with its standard error."""
    values = np.asarray(runs, dtype=float)
    return Mean(float(values.mean()), _error(values))


def between(above, below, *, limit=0.0, paired=False) -> Difference:
    """That the mean of the runs `above` exceeds that of the runs `below` by more than `limit`.

    paired : run by run, as where both saw the same split of the data; else the runs are independent
    """
    a, b = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    if paired:
        return Difference(float((a - b).mean()), _error(a - b), limit)
    return Difference(float(a.mean() - b.mean()), math.hypot(_error(a), _error(b)), limit)


def _error(runs) -> float:
    """The standard error of the mean of `runs`, of which there must be two at least."""
    if runs.size < 2:
        raise ValueError(f"runs must be two or more for a standard error, got {runs.size}")
    return float(runs.std(ddof=1) / math.sqrt(runs.size))


def near(difference: Difference, tolerance: float) -> dict[str, Difference]:
    """That the difference is less than `tolerance` on either side, of which it must keep clear by two standard errors."""
    value, error = difference.value, difference.error
    return {
        f"below {tolerance:g}": Difference(tolerance - value, error),
        f"above {-tolerance:g}": Difference(value + tolerance, error),
    }


def many(value) -> dict[str, Difference] | None:
    """The differences in `value`, one or a mapping or a list of several, by name; None if they are not differences alone."""
    if isinstance(value, Difference):
        return {"": value}
    if not isinstance(value, (Mapping, list, tuple)):
        return None
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
    found = {str(name): each for name, each in pairs}
    return found if found and all(isinstance(each, Difference) for each in found.values()) else None


def weakest(value) -> tuple[str, Difference]:
    """The name and the difference that exceeds its limit by the fewest standard errors: by it all hold, or one does not."""
    found = many(value)
    if found is None:
        raise ValueError(f"value must be a Difference, or a list or mapping of such, got {value!r}")
    return min(found.items(), key=lambda each: each[1].errors)


def holds(value) -> bool | None:
    """Whether all of the differences hold: False if one clearly does not, None if noise leaves it open.

    Of `Readings` whether the claim holds in all: False if it does in none, None else.
    """
    if isinstance(value, Readings):
        found = set(value.found.values())
        return found.pop() if len(found) == 1 else None
    return weakest(value)[1].holds


def told(value) -> str:
    """The weakest of the differences in words; of `Readings` which hold, or how many if they are more than `NAMED`."""
    if isinstance(value, Readings) and len(value.values) > NAMED:
        found = list(value.found.values())
        counts = [found.count(each) for each in (True, False, None)]
        return "holds in {}, fails in {} and is within the noise in {} of {} interpretations".format(
            *counts, len(found)
        )
    if isinstance(value, Readings):
        return "; ".join(f"{name}: {_FOUND[each]}" for name, each in value.found.items())
    name, difference = weakest(value)
    return f"{name}: {difference}" if name else str(difference)
