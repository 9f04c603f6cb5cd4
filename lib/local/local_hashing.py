"""Local hashing: every user hashes the k values to g buckets and randomizes the bucket of the true value (BLH, OLH).

A report is a hash function, freshly drawn by the user, and a randomized bucket. A report supports the values that its
function sends to its bucket. The function is independent of the value, so only the bucket needs randomized response.

With a and b uniform in [0, 2^64), the hash function is

    h(x) = floor(g * floor(((a m(x) + b) mod 2^64) / 2^32) / 2^32),

which is multiply-shift hashing (Dietzfelbinger 1996) after a fixed scrambling m of 32-bit numbers. For x != y the
positions of x and y on the ring of 2^64 fall independently into any two buckets. Given one position, the other position
is uniform on a lattice. The spacing of this lattice, a power of two below 2^32, divides the ends of every bucket. Two
buckets differ in size by at most one part in about 2^32/g, so two values collide with probability q = 1/g up to a
relative error of g^2/2^66, which is less than 10^-10 for g up to 2^16 and 0 for powers of two. This pairwise
independence suffices for the variance formula, and the scrambling preserves it, because it is a bijection. The
scrambling matters for three or more values. Without it, the positions of v, v + 1 and v + 2 would form an arithmetic
progression, and the variance of a sum of estimates, as in a range query, would be up to twice that of independent
counts.

References: Wang et al. 2017, Section 4. M. Dietzfelbinger: Universal hashing and k-wise independent
random variables via integer arithmetic without primes, STACS 1996.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .protocol import GRR, FrequencyOracle

_BLOCK = 2**14  # users whose positions stay in the processor's cache while all k values pass
_HALF = np.uint64(32)
MOST_BUCKETS = 2**16


def scramble(values: ArrayLike) -> NDArray[np.uint64]:
    """Return the images of `values` under a bijection of [0, 2^32), the finalizer of MurmurHash3 (Appleby 2011), as uint64."""
    word = np.array(values, dtype=np.uint32)
    word ^= word >> np.uint32(16)
    word *= np.uint32(0x85EBCA6B)
    word ^= word >> np.uint32(13)
    word *= np.uint32(0xC2B2AE35)
    word ^= word >> np.uint32(16)
    return word.astype(np.uint64)


def bucket(position: NDArray[np.uint64], g: int) -> NDArray[np.uint64]:
    """Return the bucket in [0, g) that each `position` on the ring of 2^64 (uint64) lies in."""
    return ((position >> _HALF) * np.uint64(g)) >> _HALF


def bucket_start(index: NDArray[np.uint64], g: int) -> NDArray[np.uint64]:
    """Return the first position of bucket `index` (uint64); for bucket g, this is the ring's end, 0."""
    return (((index << _HALF) + np.uint64(g - 1)) // np.uint64(g)) << _HALF


class LocalHashing(FrequencyOracle):
    """Randomized response over `g` buckets of a random hash function: p = e^eps/(e^eps + g - 1), q = 1/g.

    g : number of buckets, integer in [2, 65536]
    Reports are rows (a, b, bucket), uint64, shape (n, 3).
    """

    def __init__(self, k: int, epsilon: float, g: int) -> None:
        super().__init__(k, epsilon)
        self.g = checks.whole("g", g, f"[2, {MOST_BUCKETS}]")
        self._randomizer = GRR(self.g, self.epsilon)
        self._support_with(self._randomizer.p, 1 / self.g, Fraction(self._randomizer.p) - Fraction(1, self.g))
        self._unsupported, self.privacy_loss = self._randomizer.q, self._randomizer.privacy_loss
        self.report_bytes = 32  # the report and the position on the ring

    @staticmethod
    def probabilities(epsilon: Any, g: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from numbers or, with sympy's `exp`, from symbols."""
        return 1 / (1 + (g - 1) * exp(-epsilon)), 1 / g

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.uint64]:
        """Return, for each of the `values`, a random hash function and the randomized bucket: rows (a, b, bucket)."""
        values = self._checked_values(values)
        reports = np.empty((values.size, 3), dtype=np.uint64)
        reports[:, :2] = rng.integers(0, 2**64 - 1, size=(values.size, 2), dtype=np.uint64, endpoint=True)
        own = bucket(reports[:, 0] * scramble(values) + reports[:, 1], self.g)
        reports[:, 2] = self._randomizer.perturb(own.astype(np.int64), rng=rng)
        return reports

    def supports(self, reports: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each report's hash function sends each value to the reported bucket, shape (n, k)."""
        a, b, reported = self._checked_reports(reports).T[:, :, None]
        return bucket(a * scramble(np.arange(self.k)) + b, self.g) == reported

    def aggregate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return support counts: for each value, how many reported buckets contain the value's position."""
        reports = self._checked_reports(reports)
        counts = np.zeros(self.k, dtype=np.int64)
        factors = scramble(np.arange(self.k))
        for start in range(0, len(reports), _BLOCK):
            a, b, reported = np.array(reports[start : start + _BLOCK].T, order="C")  # a copy: b is changed
            first = bucket_start(reported, self.g)
            width = bucket_start(reported + np.uint64(1), self.g) - first
            b -= first  # now a position below `width` is in the bucket
            position, inside = np.empty_like(a), np.empty(a.shape, dtype=bool)
            for x, factor in enumerate(factors):
                np.multiply(a, factor, out=position)
                position += b
                np.less(position, width, out=inside)
                counts[x] += np.count_nonzero(inside)
        return counts

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return support counts, each from its exact law; their joint law is that of ideal random hash functions.

        The hash functions of `perturb` are independent for any two values, which makes each count's law exact. Ideal
        functions would be independent for all values. For three or more values jointly, the law of ideal functions is
        an approximation.
        """
        return self._independent_binomials(counts, rng)

    def _checked_reports(self, reports) -> np.ndarray:
        reports = np.asarray(reports)
        if reports.dtype != np.uint64 or reports.ndim != 2 or reports.shape[1] != 3:
            raise ValueError(f"reports must be uint64 of shape (n, 3), got {reports.dtype} of shape {reports.shape}")
        if reports.size and reports[:, 2].max() >= self.g:
            raise ValueError(f"reports must name a bucket in [0, {self.g}), got {reports[:, 2].max()}")
        return reports


class BLH(LocalHashing):
    """Binary local hashing: g = 2 (Bassily and Smith 2015, in the form of Wang et al. 2017)."""

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k, epsilon, 2)


class OLH(LocalHashing):
    """Optimized local hashing: g is whichever integer next to e^eps + 1 has the smaller variance at frequency 0."""

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k, epsilon, optimal_buckets(checks.number("epsilon", epsilon, "(0, inf)")))


def optimal_buckets(epsilon: float) -> int:
    """Return the g in [2, 65536] with the smallest variance at frequency 0; over real g the minimum is at e^eps + 1."""
    epsilon = checks.number("epsilon", epsilon, "(0, inf)")
    odds = math.exp(min(epsilon, math.log(MOST_BUCKETS)))
    nearest = (min(round_(odds + 1), MOST_BUCKETS) for round_ in (math.floor, math.ceil))
    return min(nearest, key=lambda g: (odds + g - 1) ** 2 / (g - 1))  # q (1-q) / (p-q)^2 up to the factor (odds - 1)^2
