"""Compute the sensitivity of a query, by formula or by enumerating all tables over a small domain.

Neighbours are "unbounded" if one record is added or removed, so that the number n of records differs. Neighbours are
"bounded" if one record is replaced; n is then the same for both tables and counts as public.

Records are numbers in [low, high]; clamp values outside this range first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.elementwise import rounded_up

NEIGHBOURS = ("unbounded", "bounded")


def of_sum(low: float, high: float, neighbours: str = "unbounded") -> float:
    """Return the sensitivity of a sum of numbers in [low, high].

    The result is max(|low|, |high|) for "unbounded" neighbours and high - low for "bounded" ones.
    Source: kiri2019, "sensitivity" (equation 2), with low 0 and high 1.

    >>> from lib.mechanisms.sensitivity import of_sum
    >>> print(of_sum(-1, 3), of_sum(-1, 3, "bounded"))
    3.0 4.0
    """
    low, high = _ends(low, high)
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    return max(abs(low), abs(high)) if neighbours == "unbounded" else _width(low, high)


def of_histogram(norm: float = 1, neighbours: str = "unbounded") -> float:
    """Return the sensitivity of the cell counts of a partition, in the norm L1, L2 or L-infinity (`norm` 1, 2 or inf).

    "unbounded" neighbours differ by 1 in one cell, so the result is 1. For "bounded" neighbours it is 2 in L1, sqrt(2)
    in L2 and 1 in L-infinity.

    >>> from lib.mechanisms.sensitivity import of_histogram
    >>> print(of_histogram(), round(of_histogram(2, "bounded"), 3))
    1.0 1.414
    """
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    checks.one_of("norm", norm, (1, 2, np.inf))
    return 1.0 if neighbours == "unbounded" else float(2 ** (1 / norm))


def of_mean(low: float, high: float, n: float | None = None, *, neighbours: str) -> float:
    """Return the sensitivity of the mean of numbers in [low, high]; an empty table has the midpoint as its mean.

    - "bounded" with n (public, an integer >= 1): the result is (high - low)/n, the "1/n" of kiri2019.
    - "unbounded" without n: over tables of all sizes, the mean moves by at most (high - low)/2 (from one record to
      two).
    - "unbounded" with n: the largest change of the mean from a table OF n RECORDS is (high - low)/n for n >= 2. This
      result is a local sensitivity. Noise scaled to it is not differentially private, because its scale reveals n.
      (Instead, divide a noisy sum by a noisy count.)

    >>> from lib.mechanisms.sensitivity import of_mean
    >>> print(of_mean(0, 100, n=1000, neighbours="bounded"), of_mean(0, 100, neighbours="unbounded"))
    0.1 50.0
    """
    low, high = _ends(low, high)
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    if n is not None:
        n = checks.whole("n", n, "[1, inf)")
    if neighbours == "bounded":
        if n is None:
            raise ValueError("n must be an integer in [1, inf) for bounded neighbours, for which n is public, got None")
        return _width(low, high, n)
    return _width(low, high, 2 if n is None or n == 1 else n)


class Witness(NamedTuple):
    """The largest distance, `value`, and neighbours `first` and `second` (tuples of records) at that distance."""

    value: float
    first: tuple
    second: tuple


def brute_force(
    query: Callable[[tuple], ArrayLike], domain: Iterable[Any], n: int, *, neighbours: str, norm: float = 1
) -> Witness:
    """Return the sensitivity of a query over all tables of records from `domain`, and two neighbours that attain it.

    query : symmetric function of a tuple of records, which returns a number or an array
    domain : the values a record can take, at least two; n : integer >= 1; norm : 1, 2 or inf
    neighbours : "bounded" tables have exactly n records, "unbounded" ones at most n

    The running time grows as k times the number of tables, (n + k)! / (n! k!), if `domain` has k values.

    >>> from lib.mechanisms.sensitivity import brute_force
    >>> print(brute_force(sum, domain=(0, 1, 3), n=3, neighbours="bounded"))
    Witness(value=3.0, first=(0, 0, 0), second=(0, 0, 3))
    """
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    checks.one_of("norm", norm, (1, 2, np.inf))
    n, domain = checks.whole("n", n, "[1, inf)"), tuple(domain)
    if len(domain) < 2:
        raise ValueError(f"domain must contain at least two values, got {domain!r}")
    worst = Witness(-1.0, (), ())
    # Neighbours share the other records. One adds a record to these and the other none, or they add different records.
    sizes = range(n) if neighbours == "unbounded" else (n - 1,)
    for rest in itertools.chain.from_iterable(itertools.combinations_with_replacement(domain, size) for size in sizes):
        tables = [(*rest, record) for record in domain]
        answers = [_answer(query, table) for table in tables]
        if neighbours == "unbounded":
            answer = _answer(query, rest)
            pairs = [(rest, answer, table, other) for table, other in zip(tables, answers)]
        else:
            pairs = [(*a, *b) for a, b in itertools.combinations(zip(tables, answers), 2)]
        for first, answer, second, other in pairs:
            with np.errstate(over="ignore"):
                distance = float(np.linalg.norm((answer - other).ravel(), norm))
            worst = max(worst, Witness(distance, first, second), key=lambda witness: witness.value)
    return worst


def _answer(query, table) -> np.ndarray:
    return np.atleast_1d(checks.real("query", query(table), "(-inf, inf)"))


def _width(low, high, n=1):
    """Return (high - low)/n, rounded up."""
    return rounded_up((Fraction(high) - Fraction(low)) / n)


def _ends(low, high):
    low, high = (checks.number(name, end, "(-inf, inf)") for name, end in (("low", low), ("high", high)))
    if low >= high:
        raise ValueError(f"low must be below high, got low {low:g}, high {high:g}")
    return low, high
