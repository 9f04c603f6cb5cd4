"""Compute elementwise squares, ratios, exponentials and roots that neither overflow nor vanish in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import checks, in_order
from .checks import Numbers

TINY = np.finfo(float).tiny


def rounded_up(exact: Fraction | float) -> float:
    """Return the smallest normal double that is at least `exact` >= 0, or inf if there is none; 0 gives 0."""
    try:
        found = float(exact)
    except OverflowError:
        return math.inf
    return max(found if found >= exact else math.nextafter(found, math.inf), TINY if exact else 0.0)


def raised(cost: Numbers, error: float = 2.0**-50) -> Numbers:
    """Return a positive `cost` raised to at least its exact value; its relative error must be below `error`."""
    with np.errstate(over="ignore", under="ignore"):
        return checks.plain(np.maximum(np.multiply(cost, 1 + error), TINY))


def raised_delta(delta: Numbers, error: float = 2.0**-49) -> Numbers:
    """Return `delta`, raised as by `raised`, except that 0 stays 0 and the result is at most 1."""
    return checks.plain(np.where(np.greater(delta, 0), np.minimum(raised(delta, error), 1.0), 0.0))


def total_up(costs: Iterable[float], counts: Iterable[int]) -> float:
    """Return the sum of `costs`, each multiplied by its count; the exact sum is rounded up once.

    Costs are in [0, inf], and counts are integers >= 0. A cost with the count 0 is left out, even if it is infinite.
    """
    pairs = [pair for pair in zip(costs, counts, strict=True) if pair[1]]
    if any(math.isinf(cost) for cost, _ in pairs):
        return math.inf
    if max((count for _, count in pairs), default=1) == 1:  # `fsum` rounds an exact sum to the nearest, and is quick
        once = [float(cost) for cost, _ in pairs]
        try:
            total = math.fsum(once)
        except OverflowError:
            return math.inf
        return max(math.nextafter(total, math.inf) if math.fsum([*once, -total]) > 0 else total, TINY if total else 0.0)
    return rounded_up(Fraction(in_order.total(count * Fraction(float(cost)) for cost, count in pairs)))


def quotient_up(a: Numbers, b: Numbers) -> Numbers:
    """Return a / b, rounded up, for a and b in (0, inf); the arguments broadcast."""
    return np.vectorize(lambda x, y: rounded_up(Fraction(x) / Fraction(y)), otypes=[float])(a, b)[()]


def half_square(x: Numbers) -> Numbers:
    """Return x^2 / 2, rounded up, for x in [0, inf): inf where the square overflows, positive where it underflows."""
    return np.vectorize(lambda each: rounded_up(Fraction(each) ** 2 / 2), otypes=[float])(x)[()]


def ratio(name: str, sensitivity: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
    """Return sensitivity / size, rounded up, in [1e-150, 1e150]; in this range, 1 / ratio^2 and ratio^2 are finite."""
    sensitivity, size = checks.real("sensitivity", sensitivity, "(0, inf)"), checks.real(name, size, "(0, inf)")
    return checks.real(f"sensitivity / {name}", quotient_up(sensitivity, size), "[1e-150, 1e150]")


def delta_from_log(log_delta: ArrayLike) -> Numbers:
    """Return e^log_delta, rounded up, in [smallest normal double, 1]; a scalar gives a float."""
    return checks.plain(np.minimum(raised(np.exp(np.clip(log_delta, np.log(TINY), 0.0)), 2.0**-51), 1.0))


def root(function: Callable[..., Any], low: Numbers, high: Numbers, *args: Numbers) -> Numbers:
    """Return the root of an elementwise monotone `function(x, *args)`; `low` and `high` must bracket the root."""
    from scipy.optimize import elementwise  # slow to import, and not an attribute of scipy.optimize

    with np.errstate(over="ignore"):  # a value far from the root may be inf
        solution = elementwise.find_root(function, (low, high), args=args)
    if not np.all(solution.success):
        raise ArithmeticError(f"no root between {low} and {high} for {args}: input too extreme for double precision")
    return solution.x
