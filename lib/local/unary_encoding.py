"""Unary encoding: a bit for every value, each flipped by a separate coin (SUE, OUE; THE builds on it).

The bit of the user's value is 1 with probability p, and every other bit is 1 with probability q, independently.
Reports are boolean rows of k bits; a 1 supports its value.

References: U. Erlingsson, V. Pihur, A. Korolova: RAPPOR, CCS 2014 (SUE is its permanent randomized
response, without the Bloom filter). Wang et al. 2017, Section 4 (OUE).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .protocol import FrequencyOracle, bit_rows, column_sums, representable


def coins(shape: int | tuple[int, ...], probability: float, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return independent booleans of `shape`, each True with `probability` in [0, 1] (exact to 2^-61).

    A random byte below floor(256 probability) means True, and a byte above that number means False. If the byte is
    equal to that number, which has probability 1/256, a uniform number decides by the remaining fraction.
    """
    shape = tuple(checks.integer("shape", shape, "[0, inf)").astype(int).ravel().tolist())
    probability, size = checks.number("probability", probability, "[0, 1]"), math.prod(shape)
    words = rng.integers(0, 2**64 - 1, size=-(-size // 8), dtype=np.uint64, endpoint=True)
    byte = words.view(np.uint8)[:size]
    whole, fraction = divmod(256 * probability, 1)  # exact: 256 is a power of two
    if whole == 256:  # certain
        return np.ones(shape, dtype=bool)
    result = byte < np.uint8(whole)
    ties = np.flatnonzero(byte == np.uint8(whole))
    result[ties] = rng.random(ties.size) < fraction
    return result.reshape(shape)


class UnaryEncoding(FrequencyOracle):
    """Unary encoding with the support probabilities that a subclass gives by `probabilities(epsilon, *parameters)`.

    The encodings of two values differ in two bits, which give the privacy loss log(p (1-q) / (q (1-p))).
    """

    def __init__(self, k: int, epsilon: float, *parameters: float) -> None:
        super().__init__(k, epsilon)
        p, q = self.probabilities(self.epsilon, *parameters)
        q = max(math.ceil(q * 2**61), 1) / 2**61  # as `coins` draws it; p is at least 1/2, so it is drawn as it is
        self._support_with(min(p, 1 - 2.0**-53), q)
        self.report_bytes = self.k
        while self._loss() > self.epsilon:  # by rounding
            self._support_with(math.nextafter(self.p, 0), self.q)
        self.privacy_loss = self._loss()

    def _loss(self) -> float:
        gap = self.p - self.q
        return (math.log1p(gap / self.q) + math.log1p(gap / (1 - self.p))) * (1 + 2**-50)  # to round up

    @staticmethod
    @abstractmethod
    def probabilities(epsilon: Any, *parameters: Any) -> tuple[Any, Any]:
        """Return (p, q): the probability of a 1 for the bit of the user's value, and for any other bit."""

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return bits drawn for each of the `values`, boolean, shape (n, k)."""
        values = self._checked_values(values)
        bits = coins((values.size, self.k), self.q, rng=rng)
        bits[np.arange(values.size), values] = coins((values.size,), self.p, rng=rng)
        return bits

    def supports(self, reports: ArrayLike) -> NDArray[np.bool_]:
        """Return the bits themselves, boolean. Raises ``ValueError`` unless `reports` are bits of shape (n, k)."""
        return bit_rows(reports, self.k)

    def probability(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each report under each value of its sender, (n, k): a product over its bits."""
        bits = self.supports(reports)
        under_others, under_own = np.where(bits, self.q, 1 - self.q), np.where(bits, self.p, 1 - self.p)
        return representable(representable(under_others.prod(axis=1, keepdims=True)) / under_others * under_own)

    def aggregate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return support counts, shape (k,): the number of reports that have each bit set."""
        return column_sums(self.supports(reports))

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return support counts from their exact joint law: a user's bits are independent, and so are the counts."""
        return self._independent_binomials(counts, rng)


class SUE(UnaryEncoding):
    """Symmetric unary encoding (basic RAPPOR): every bit is kept with probability e^(eps/2)/(e^(eps/2) + 1)."""

    @staticmethod
    def probabilities(epsilon: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from a number or, with sympy's `exp`, from a symbol."""
        return 1 / (1 + exp(-epsilon / 2)), exp(-epsilon / 2) / (1 + exp(-epsilon / 2))


class OUE(UnaryEncoding):
    """Optimized unary encoding: p = 1/2, q = 1/(e^eps + 1), which give the smallest variance at frequency 0.

    >>> import numpy as np
    >>> from lib.local import OUE
    >>> oracle, rng = OUE(k=4, epsilon=1.0), np.random.default_rng(0)
    >>> counts = oracle.collect(rng.choice(4, 10_000, p=[0.4, 0.3, 0.2, 0.1]), rng=rng)
    >>> low, high = oracle.interval(counts, 10_000)
    >>> print(low.round(2), high.round(2))
    [0.35 0.26 0.15 0.07] [0.43 0.34 0.23 0.14]
    """

    @staticmethod
    def probabilities(epsilon: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from a number or, with sympy's `exp`, from a symbol."""
        return exp(0) / 2, exp(-epsilon) / (1 + exp(-epsilon))  # exp(0): 1.0, or sympy's exact 1
