"""Privacy of each parameter separately, and of all parameters jointly (sei2017, section 4-1), computed exactly.

A model with P parameters is parameter-wise epsilon-DP if the law of each parameter, taken alone, changes by at most a
factor e^epsilon from one data set to a neighbour. A model is jointly epsilon-DP, which is differential privacy, if the
joint law of all P parameters changes by at most such a factor. In either case, the smallest such epsilon is called the
loss.

A finite mechanism is an array `law` of shape (datasets, k_1, ..., k_P): for each data set, the probabilities of the
outputs, with an axis for each parameter. All data sets are neighbours of one another.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.checks import Numbers


def loss(law: ArrayLike, parameters: Iterable[int] | None = None) -> float:
    """Return the smallest joint epsilon of the `parameters` of `law` (numbers from 0 to P - 1; default: all).

    law : shape (datasets, k_1, ..., k_P), entries >= 0 that sum to 1 for each data set; see the module's docstring

    The result is inf if an output is possible for one data set but not for another. Raises ``ValueError`` for bad
    input.

    >>> import numpy as np
    >>> from lib.networks.parameterwise import loss
    >>> law = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> print(round(loss(law), 4))
    1.0986
    """
    law = _law("law", law)
    count = law.ndim - 1
    chosen = checks.integer("parameters", range(count) if parameters is None else parameters, f"[0, {count - 1}]")
    others = tuple(axis for axis in range(1, law.ndim) if axis - 1 not in np.ravel(chosen))
    outputs = law.sum(axis=others).reshape(len(law), -1)
    most, least = outputs.max(axis=0), outputs.min(axis=0)
    possible = most > 0
    if (least[possible] == 0).any():
        return math.inf
    return float(np.log1p(((most - least)[possible] / least[possible]).max()))


def losses(law: ArrayLike) -> NDArray[np.float64]:
    """Return the loss of each parameter of `law` separately, shape (P,): sei2017, Theorem 2 (equation 9)."""
    law = _law("law", law)
    return np.array([loss(law, [parameter]) for parameter in range(law.ndim - 1)])


def chain(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the joint law of the outputs of two mechanisms; the second reads the data set and the first's outputs.

    first : shape (datasets, *outputs); second : conditional laws given the outputs of the first, in the result's shape
    Returns an array of shape (datasets, *outputs of the first, *outputs of the second).
    Source: sei2017, Lemma 2 (sequential composition).
    """
    first, second = _law("first", first), checks.real("second", second, "[0, 1]")
    if second.ndim <= first.ndim or second.shape[: first.ndim] != first.shape:
        raise ValueError(f"second must have the shape {first.shape} followed by further dimensions, got {second.shape}")
    _check_sums("second", second, first.ndim, "each data set and each output of the first")
    return first.reshape(first.shape + (1,) * (second.ndim - first.ndim)) * second


def _law(name, law) -> np.ndarray:
    law = checks.real(name, law, "[0, 1]")
    if law.ndim < 2 or law.size == 0:
        raise ValueError(f"{name} must have shape (datasets, k_1, ..., k_P), got {law.shape}")
    _check_sums(name, law, 1, "each data set")
    return law


def _check_sums(name, law, given, what) -> None:
    sums = law.sum(axis=tuple(range(given, law.ndim)))
    if np.abs(sums - 1).max() > 1e-9:
        raise ValueError(f"{name} must sum to 1 for {what}, got {sums.flat[np.abs(sums - 1).argmax()]:g}")


def atoms(centre: ArrayLike, scale: ArrayLike, low: float, high: float) -> tuple[Numbers, Numbers]:
    """Return the probabilities of the outputs `low` and `high` of min(high, max(low, centre + Lap(scale))).

    centre : array_like in [low, high]; scale : in [1e-100, inf); low, high : in [-1e100, 1e100], low < high
    Returns two arrays of the shape of `centre`. Source: sei2017, Lemma 1, equations 10, 11, 13 and 14, corrected.
    """
    low, high = (checks.number(name, end, "[-1e100, 1e100]") for name, end in (("low", low), ("high", high)))
    if low >= high:
        raise ValueError(f"low must be below high, got low {low:g}, high {high:g}")
    centre = checks.real("centre", centre, f"[{low}, {high}]")
    scale = checks.real("scale", scale, "[1e-100, inf)")
    return 0.5 * np.exp(-(centre - low) / scale), 0.5 * np.exp(-(high - centre) / scale)
