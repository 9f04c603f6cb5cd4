"""The common base of all frequency oracles: support counts, the raw estimator, its variance and its intervals.

Each user holds one of k values and sends one randomized report. A report supports some of the values, and the number
of reports that support a value is its support count. In a pure protocol (Wang et al. 2017, Section 3) a report supports
its sender's value with probability p and any other value with probability q, whatever the two values are. Then
(count/n - q)/(p - q) is an unbiased estimate of a value's frequency, and its variance follows from p and q alone
(`pure_variance`). `GRR`, the simplest oracle, is also in this module. The other oracles have their own modules;
`lib.local` collects them.

References: T. Wang, J. Blocki, N. Li, S. Jha: Locally differentially private protocols for frequency
estimation, USENIX Security 2017. P. Kairouz, K. Bonawitz, D. Ramage: Discrete distribution estimation
under local privacy, ICML 2016 (GRR).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.checks import Numbers
from ..numerics.elementwise import TINY

_CHUNK_BYTES = 2**19  # bytes of reports at a time, which stay in the processor's cache


def pure_variance(p: Any, q: Any, f: Any, n: Any) -> Any:
    """Return the variance of a pure protocol's estimate at frequency `f` among `n` users.

    All arguments may be numbers, arrays or symbols. A support count is a sum of independent Bernoulli variables, n f of
    them with probability p and n (1 - f) with probability q, so the variance is exact at every f (Wang et al. 2017,
    Theorem 2).
    Coq checks this variance for GRR, except for rounding: `grr_variance` in proofs/.

    >>> from lib.local import pure_variance
    >>> print(f"{pure_variance(p=0.5, q=0.25, f=0.1, n=10_000):.2e}")
    3.10e-04
    """
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def count_law(own: int, n: int, p: float, q: float) -> NDArray[np.float64]:
    """Return the distribution of the support count of a value that `own` of the `n` users hold, shape (n + 1,).

    own : integer in [0, n]; n : integer in [0, inf); p, q : the probabilities of a pure protocol, [0, 1]
    The count is the sum of two binomial counts.

    >>> from lib.local import count_law
    >>> print(count_law(own=1, n=2, p=0.75, q=0.25).round(4))
    [0.1875 0.625  0.1875]
    """
    n = checks.whole("n", n, "[0, inf)")
    own = checks.whole("own", own, f"[0, {n}]")
    p, q = checks.number("p", p, "[0, 1]"), checks.number("q", q, "[0, 1]")
    law, parts = np.zeros(n + 1), []
    for users, chance in ((own, p), (n - own, q)):
        masses = scipy.stats.binom.pmf(np.arange(users + 1), users, chance)
        inside = np.flatnonzero(masses)
        parts.append((inside[0], masses[inside[0] : inside[-1] + 1]))
    (start, ours), (after, others) = parts
    sums = np.convolve(ours, others)  # not by Fourier transforms, whose errors exceed small probabilities
    law[start + after :][: len(sums)] = sums
    return law


class FrequencyOracle(ABC):
    """A local protocol for the frequencies of `k` values, whose reports are `epsilon`-differentially private.

    k : number of values, which are 0, ..., k-1; integer in [2, 2^32]
    epsilon : (0, inf); neighbours are any two values of one user. The protocol's probabilities are doubles, rounded
        towards more privacy: a large epsilon is not fully used, and an epsilon too small to affect `p` is refused

    Attributes
    p, q : expected support that a report lends to its sender's value, and to any other value
    privacy_loss : the largest log-ratio of a report's probabilities under two values, for the rounded probabilities; at
        most epsilon

    Subclasses supply `perturb`, `supports`, `simulate` and, if counting can be faster, `aggregate`.
    """

    p: float
    q: float
    _unsupported: float  # the probability of a report under a value that it does not support
    _unit: float = 1  # the support that a report lends is a multiple of it
    _lent: int | None = None  # the total support that a report lends, if fixed

    def __init__(self, k: int, epsilon: float) -> None:
        self.k = checks.whole("k", k, f"[2, {2**32}]")
        self.epsilon = self.privacy_loss = checks.number("epsilon", epsilon, "(0, inf)")
        self.report_bytes = 8  # what a report and the work on it take, roughly

    def _support_with(self, p, q, gap=None) -> None:
        """Set the support probabilities. gap : p - q, if computing it from p and q would lose digits"""
        self._gap = p - q if gap is None else float(gap)
        if not self._gap > 0:
            raise ValueError(f"epsilon must be large enough to distinguish p = {p} from q = {q}, got {self.epsilon:g}")
        self.p, self.q = p, q

    @abstractmethod
    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
        """Return one report for each of the `values`, integers in [0, k), shape (n,); axis 0 runs over users."""

    @abstractmethod
    def supports(self, reports: ArrayLike) -> np.ndarray:
        """Return an array (n, k): the amount that each report adds to the support count of each value.

        The array has n k numbers, so call this method for few reports at a time.
        """

    def _coin(self, p: float, odds: Callable[[Fraction], Fraction]) -> float:
        """Return the largest multiple of 2^-53 that is at most `p` and below 1 and whose `odds` are at most e^epsilon.
        Here `odds` gives the largest ratio of a report's probabilities under two values. ``rng.random() < p`` has
        exactly the returned probability p. The method also sets `privacy_loss`, the logarithm of this ratio."""
        units = min(math.floor(p * 2**53), 2**53 - 1) + 1
        self.privacy_loss = math.inf
        while self.privacy_loss > self.epsilon:
            units -= 1
            self.privacy_loss = math.log1p(odds(Fraction(units, 2**53)) - 1) * (1 + 2**-51)  # to round up
        return units / 2**53

    def probability(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each report under each value of its sender, shape (n, k).

        A report is exp(`privacy_loss`) times as likely under the values that it supports as under the others. Raises
        ``ArithmeticError`` for a probability too small for a double.
        """
        supported = min(self._unsupported * math.exp(self.privacy_loss), 1.0)
        return representable(np.where(self.supports(reports) == 1, supported, self._unsupported))

    def aggregate(self, reports: ArrayLike) -> np.ndarray:
        """Return support counts, shape (k,). Raises ``ValueError`` for reports that no user can send."""
        return self.supports(reports).sum(axis=0)

    def collect(self, values: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
        """Return the counts of `aggregate(perturb(values, rng=rng))`, shape (k,), computed a few reports at a time."""
        values = np.asarray(values)
        step = max(1, _CHUNK_BYTES // self.report_bytes)
        chunks = [values[start : start + step] for start in range(0, len(values), step)] or [values]
        return reduce(np.add, (self.aggregate(self.perturb(chunk, rng=rng)) for chunk in chunks))

    def estimate(self, counts: ArrayLike, n: int) -> NDArray[np.float64]:
        """Return the raw, unbiased estimate of every frequency, shaped like `counts`; it may be negative or exceed 1.

        counts : support counts, shape (..., k); n : number of users, integer in [1, inf)
        Raises ``ValueError`` for counts that cannot come from n users.
        Source: Wang et al. 2017, Theorem 1; kiri2019, equation 7, in counts rather than frequencies.
        """
        users = float(checks.whole("n", n, "[1, inf)"))
        return (self._checked_counts(counts, users) / users - self.q) / self._gap

    def variance(self, f: ArrayLike, n: ArrayLike) -> Numbers:
        """Return the exact variance of the raw estimate of a value of true frequency `f` in [0, 1] among `n` users."""
        at_zero, at_one = self._variance_ends()
        f = checks.real("f", f, "[0, 1]")
        return ((1 - f) * at_zero + f * at_one) / checks.integer("n", n, "[1, inf)")

    def variances(self, counts: ArrayLike) -> np.ndarray:
        """Return the exact variance of each value's raw estimate, shape (k,), if `counts[v]` users have the value v.

        counts : integer in [0, 1e15], not all 0, shape (k,)
        """
        own = self._checked_true_counts(counts, none=False)
        return np.asarray(self.variance(own / own.sum(), own.sum()))

    def interval(
        self, counts: ArrayLike, n: int, confidence: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of a confidence interval for each frequency, as two arrays in the shape of `counts`.

        The interval is Wilson's, with the protocol's variance: the set of all f with (estimate - f)^2 <= z^2
        variance(f, n). The `confidence`, in (0, 1), is asymptotic and holds for one value at a time. The interval is
        not clipped to [0, 1].
        """
        estimate = self.estimate(counts, n)
        z = -scipy.special.ndtri((1 - checks.number("confidence", confidence, "(0, 1)")) / 2)
        intercept, at_one = self._variance_ends(estimate)
        slope = at_one - intercept
        shrink = z**2 / n
        middle = estimate + shrink * slope / 2
        spread = np.maximum(shrink * (intercept + slope * estimate), 0)
        half = np.sqrt(spread + (shrink * slope / 2) ** 2)
        return middle - half, middle + half

    @abstractmethod
    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
        """Draw support counts for `counts[v]` users of each value v, in time independent of the number of users.

        counts : integer in [0, 1e15], shape (k,)
        The method of each oracle states how much of the joint law is exact.
        """

    def _variance_ends(self, estimate=None) -> tuple:
        """Return n times the variance at f = 0 and at f = 1; it is linear in between. Some oracles need `estimate`."""
        at_zero = self.q * (1 - self.q) / self._gap**2
        return at_zero, self.p * (1 - self.p) / self._gap**2

    def _independent_binomials(self, counts, rng) -> np.ndarray:
        own = self._checked_true_counts(counts)
        return rng.binomial(own, self.p) + rng.binomial(own.sum() - own, self.q)

    def _checked_values(self, values) -> np.ndarray:
        return whole_numbers("values", values, self.k)

    def _checked_true_counts(self, counts, none=True) -> np.ndarray:
        counts = checks.integer("counts", counts, "[0, 1e15]").astype(np.int64)
        if counts.shape != (self.k,):
            raise ValueError(f"counts must have shape ({self.k},), got {counts.shape}")
        if not (none or counts.any()):
            raise ValueError("counts must not all be 0")
        return counts

    def _checked_counts(self, counts, n) -> np.ndarray:
        """Return the counts if n users can cause them: multiples of `_unit` in [0, n] that sum to n `_lent` if set."""
        counts, unit = checks.real("counts", counts, f"[0, {n:.0f}]"), self._unit
        if counts.shape[-1:] != (self.k,):
            raise ValueError(f"counts must have shape (..., {self.k}), got {counts.shape}")
        if (counts % unit).any():
            raise ValueError(f"counts must be multiples of {unit}, got {counts[counts % unit > 0][0]}")
        if self._lent is not None and (counts.sum(axis=-1) != (total := n * self._lent)).any():
            raise ValueError(f"counts of {n:.0f} users must sum to {total:.0f}, got {counts.sum(axis=-1).flat[0]:.0f}")
        return counts


def representable(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `probabilities` or densities unchanged. Raises ``ArithmeticError`` if one is below 2.3e-308 or inf."""
    if not ((probabilities >= TINY) & np.isfinite(probabilities)).all():  # smaller numbers have lost digits
        raise ArithmeticError(
            "probabilities of reports are too small for double precision: take fewer values or a smaller epsilon"
        )
    return probabilities


def whole_numbers(name: str, array: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return `array` as integers. Raises ``ValueError`` unless it has shape (n,) and integers in [0, size)."""
    array = np.asarray(array)
    if array.dtype.kind not in "iu":
        array = checks.integer(name, array, f"[0, {size})")
    if array.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), got {array.shape}")
    if array.size and not (0 <= array.min() and array.max() < size):
        checks.integer(name, array, f"[0, {size})")  # names the wrong value
    return array.astype(np.int64, copy=False)


def bit_rows(reports: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Return `reports` with entries 0 and 1 as booleans, shape (n, k). Raises ``ValueError`` for any other input."""
    reports = np.asarray(reports)
    if reports.ndim != 2 or reports.shape[1] != k:
        raise ValueError(f"reports must have shape (n, {k}), got {reports.shape}")
    if reports.dtype != bool:
        reports = checks.integer("reports", reports, "[0, 1]").astype(bool)
    return reports


def column_sums(bits: np.ndarray) -> NDArray[np.int64]:
    """Return how many rows have each bit set, shape (k,), several times as fast as `bits.sum(axis=0)` on booleans."""
    whole = len(bits) // 255 * 255
    bits = np.ascontiguousarray(bits).view(np.uint8)
    by_255 = bits[:whole].reshape(-1, 255, bits.shape[1]).sum(axis=1, dtype=np.uint8)
    return by_255.sum(axis=0, dtype=np.int64) + bits[whole:].sum(axis=0, dtype=np.int64)


class GRR(FrequencyOracle):
    """Generalized randomized response: a report is the user's value with probability p and otherwise another value.

    Here p = e^eps/(e^eps + k - 1), and each other value has probability q = 1/(e^eps + k - 1). With k = 2, the protocol
    is Warner's randomized response of 1965. A report supports the value that it contains.
    Coq checks the privacy of the protocol and the mean and variance of its estimates, except for rounding:
    `grr_private`, `grr_unbiased` and `grr_variance` in proofs/.
    """

    _lent = 1

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k, epsilon)
        p = self._coin(self.probabilities(self.epsilon, self.k)[0], lambda p: p * (self.k - 1) / (1 - p))
        self._support_with(p, (1 - p) / (self.k - 1), (Fraction(p) * self.k - 1) / (self.k - 1))
        self._unsupported = self.q

    @staticmethod
    def probabilities(epsilon: Any, k: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from numbers or, with sympy's `exp`, from symbols."""
        return 1 / (1 + (k - 1) * exp(-epsilon)), exp(-epsilon) / (1 + (k - 1) * exp(-epsilon))

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return each of the `values` with probability p, and otherwise a uniform draw from the k - 1 other values."""
        values = self._checked_values(values)
        other = rng.integers(self.k - 1, size=values.size, dtype=np.uint32).astype(np.int64)
        other += other >= values  # uniform among the k - 1 others
        return np.where(rng.random(values.size) < self.p, values, other)

    def supports(self, reports: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each report supports each value, a boolean array (n, k)."""
        return whole_numbers("reports", reports, self.k)[:, None] == np.arange(self.k)

    def aggregate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return support counts, shape (k,): the histogram of the reports."""
        return np.bincount(whole_numbers("reports", reports, self.k), minlength=self.k)

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts from their exact joint law: with probability p - q a report is true, and otherwise uniform."""
        own = self._checked_true_counts(counts)
        honest = rng.binomial(own, self.p - self.q)
        return honest + rng.multinomial(own.sum() - honest.sum(), np.full(self.k, 1 / self.k))
