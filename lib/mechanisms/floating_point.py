"""Show what the last bits of the textbook Laplace sampler reveal in floating point (Mironov 2012).

A real Laplace variable takes every value. The sampler ``value +- scale * log(u)`` does not, because u is one of the
2^bits multiples of 2^-bits in (0, 1]. Each `value` makes many of the doubles near an output impossible, and anybody can
compute which doubles these are. An output that only one table can give identifies that table, however small epsilon is.

- `textbook_laplace` is the sampler; `reachable` decides whether an output can come from a value.
- `attack` measures how often an output identifies the table.
- `lattice_laplace` is the remedy: it adds exact noise to a multiple of a power of two.

`noise.laplace`, numpy's sampler, has the same flaw with other multiples of 2^-53; see `SAMPLERS`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.checks import Numbers, number, whole
from . import exact_noise, noise
from .noise import SystemRandomness

# For noise below 0 and for noise above 0: whether k is possible. numpy draws a multiple U of 2^-53. It takes the
# logarithm of U + U if U < 1/2, and otherwise of (2 - U) - U, where 2 - U is rounded.
SAMPLERS = {
    "textbook": (lambda k: k >= 1, lambda k: k >= 1),
    "numpy": (lambda k: k % 2 == 0, lambda k: (k % 2 == 0) | (k % 8 == 1) | (k % 8 == 7)),
}
_NEAR = 8  # k whose logarithms may be out of order with their neighbours': see `_reaches_down`


def _log(x):
    """Return the C library's logarithm, elementwise. The last bit of `np.log` may differ between processors."""
    return np.fromiter(map(math.log, x.ravel().tolist()), dtype=float, count=x.size).reshape(x.shape)


def textbook_laplace(
    value: ArrayLike, scale: float, *, rng: np.random.Generator, bits: int = 53
) -> NDArray[np.float64]:
    """Return ``value +- scale * log(u)`` with fair signs and u = k 2^-bits, k uniform in 1, ..., 2^bits.

    value : finite, any shape; scale : (0, inf); bits : integer in [1, 53]
    """
    value, scale, bits = _parameters(value, scale, bits)
    k = exact_noise.uniform_integers(value.shape, 2**bits, rng=rng) + 1
    sign = 1.0 - 2 * exact_noise.uniform_integers(value.shape, 2, rng=rng)
    return value + sign * (scale * _log(np.ldexp(k.astype(float), -bits)))


def reachable(
    output: ArrayLike, value: ArrayLike, scale: float, *, sampler: str = "textbook", bits: int = 53
) -> np.ndarray:
    """Return booleans: whether the sampler can give `output` when the true answer is `value`. The arguments broadcast.

    output, value : finite; scale, bits : as for `textbook_laplace`
    sampler : "textbook", or "numpy" for ``value + noise.laplace(shape, scale)``, with bits 53

    >>> import numpy as np
    >>> from lib.mechanisms.floating_point import reachable, textbook_laplace
    >>> answers = textbook_laplace(np.zeros(1000), 2.0, rng=np.random.default_rng(0))
    >>> print(reachable(answers, 0.0, 2.0).all(), reachable(answers, 1.0, 2.0).all())
    True False
    """
    value, scale, bits = _parameters(value, scale, bits)
    below_zero, above_zero = _grids(sampler, bits)
    output, value = np.broadcast_arrays(checks.real("output", output, "(-inf, inf)"), value)
    below = _reaches_down(output.ravel(), value.ravel(), scale, bits, below_zero)
    above = _reaches_down(-output.ravel(), -value.ravel(), scale, bits, above_zero)  # rounding is symmetric
    return (below | above).reshape(output.shape)[()]


def _reaches_down(output, value, scale, bits, possible):
    """Return whether some `possible` k in 1, ..., 2^bits gives value + scale log(k 2^-bits) == output, after all
    roundings. Rounded multiplication and addition are monotone, and so is the rounded logarithm, up to its last bit.
    Bisection therefore finds where the answers pass `output`. If the error of a logarithm is less than two units in the
    last place, answers are out of order only for values of k whose true logarithms are within 2^-50 |log u| of each
    other. Since u |log u| < 0.37, these are fewer than 4 neighbouring k. All of them are tried. If more than 8 values
    of k give the same answer, at least one of them is `possible`.
    """

    def answers(k, log):
        return value + scale * log(np.ldexp(k.astype(float), -bits))

    low, high = np.zeros(len(output), dtype=np.int64), np.full(len(output), 2**bits, dtype=np.int64)
    for _ in range(bits + 1):  # low (if positive) answers below output; high does not, if any k does
        middle = np.maximum((low + high) // 2, 1)
        under = answers(middle, np.log) < output
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    found = np.zeros(len(output), dtype=bool)
    for step in range(-_NEAR, _NEAR + 1):
        k = np.clip(high + step, 1, 2**bits)
        found |= possible(k) & (answers(k, _log) == output)
    return found


class Attack(NamedTuple):
    """Proportions of outputs that only one table can give, and their standard errors.

    first, second : proportions among the outputs of the first and of the second table
    trials : number of outputs of each table
    """

    first: float
    second: float
    first_error: float
    second_error: float
    trials: int


def attack(first: float, second: float, scale: float, *, trials: int, rng: np.random.Generator,
           sampler: str = "textbook", bits: int = 53) -> Attack:  # fmt: skip
    """Run the sampler on the answers `first` and `second` of two tables; count the outputs that identify their table.

    first, second : finite numbers; trials : integer >= 1; sampler, bits : as for `reachable`
    The decision about each output is exact; the proportions are estimates.
    """
    first, second = number("first", first, "(-inf, inf)"), number("second", second, "(-inf, inf)")
    trials = whole("trials", trials, "[1, inf)")
    _grids(sampler, bits)
    shares = []
    for value, other in ((first, second), (second, first)):
        if sampler == "numpy":
            outputs = value + noise.laplace(trials, scale, rng=rng)
        else:
            outputs = textbook_laplace(np.full(trials, value), scale, rng=rng, bits=bits)
        shares.append(float((~reachable(outputs, other, scale, sampler=sampler, bits=bits)).mean()))
    errors = [math.sqrt(share * (1 - share) / trials) for share in shares]
    return Attack(shares[0], shares[1], errors[0], errors[1], trials)


def lattice_laplace(value: ArrayLike, epsilon: float | Fraction, sensitivity: float, *,
                    rng: np.random.Generator | SystemRandomness,
                    granularity: float = 2.0**-20) -> Numbers:  # fmt: skip
    """Return `value`, rounded to a multiple of `granularity`, plus exact discrete Laplace noise on these multiples.

    value : finite, any shape, at most 2^52 granularities from 0; epsilon : (0, inf), a float or a Fraction
    sensitivity : L1 sensitivity of the query before rounding, (0, inf). Rounding can increase the sensitivity of a
        single number to the next multiple of the granularity; each further entry of a vector can add one granularity.
        The noise allows for this increase
    granularity : a power of two, far below the scale of the noise; rng : may also be `noise.system_rng()`
    The result, an array of floats, is exactly epsilon-DP. The sum is computed without
    further rounding unless it exceeds 2^53 granularities.
    """
    granularity = number("granularity", granularity, "(0, inf)")
    if math.frexp(granularity)[0] != 0.5:
        raise ValueError(f"granularity must be a power of two in (0, inf), got {granularity:g}")
    value = checks.real("value", value, f"[{-(2**52) * granularity!r}, {2**52 * granularity!r}]")
    sensitivity = number("sensitivity", sensitivity, "(0, inf)")
    cells = value / granularity  # exact: only the exponent changes
    nearest = np.floor(cells)
    nearest = (nearest + (cells - nearest >= 0.5)).astype(np.int64)  # halves up, so that differences round up at most
    units = math.ceil(Fraction(sensitivity) / Fraction(granularity)) + max(value.size - 1, 0)
    scale = units / exact_noise.fraction("epsilon", epsilon)
    if scale > 2**900:  # noise too large for a float
        raise ValueError(
            f"epsilon must be larger for a sensitivity of {sensitivity:g} and granularity of {granularity:g}, got {epsilon}"
        )
    noisy = nearest + exact_noise.discrete_laplace(value.shape, scale, rng=rng)
    return noisy.astype(float) * granularity


def _grids(sampler, bits):
    checks.one_of("sampler", sampler, tuple(SAMPLERS))
    if sampler == "numpy" and bits != 53:
        raise ValueError(f"bits must be 53 for numpy's sampler, got {bits}")
    return SAMPLERS[sampler]


def _parameters(value, scale, bits) -> tuple[np.ndarray, float, int]:
    bits = whole("bits", bits, "[1, 53]")
    return checks.real("value", value, "(-inf, inf)"), number("scale", scale, "(0, inf)"), bits
