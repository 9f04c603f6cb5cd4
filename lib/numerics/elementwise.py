"""Elementwise arithmetic at the edges of double precision: squares, ratios, logarithms and roots that neither overflow nor vanish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import checks
from .checks import Numbers

TINY = np.finfo(float).tiny


def half_square(x: Numbers) -> Numbers:
    """x^2 / 2 for x >= 0: inf where that overflows, and not 0 where it underflows."""
    with np.errstate(over="ignore", under="ignore"):
        return np.where(x > 0, np.maximum(x**2 / 2, TINY), 0.0)[()]


def ratio(name: str, sensitivity: ArrayLike, size: ArrayLike) -> NDArray[np.float64]:
    """sensitivity / size, whose square and that of its inverse are to be numbers."""
    sensitivity, size = checks.real("sensitivity", sensitivity, "(0, inf)"), checks.real(name, size, "(0, inf)")
    with np.errstate(over="ignore", under="ignore"):
        return checks.real(f"sensitivity / {name}", sensitivity / size, "[1e-150, 1e150]")


def delta_from_log(log_delta: ArrayLike) -> Numbers:
    """e^log_delta, in [smallest normal double, 1]: a float for a scalar."""
    return checks.plain(np.exp(np.clip(log_delta, np.log(TINY), 0.0)))


def root(function: Callable[..., Any], low: Numbers, high: Numbers, *args: Numbers) -> Numbers:
    """The root of an elementwise monotone `function(x, *args)` between sure bounds, to rounding."""
    from scipy.optimize import elementwise  # slow to import, and no attribute of scipy.optimize

    with np.errstate(over="ignore"):  # far from the root a side may be inf
        solution = elementwise.find_root(function, (low, high), args=args)
    if not np.all(solution.success):
        raise ArithmeticError(f"no root between {low} and {high} for {args}: input too extreme for double precision")
    return solution.x
