"""Mechanisms that choose one of k candidates by score: the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from .. import accounting
from ..accounting.divergence import expm1mx
from ..numerics import checks
from ..numerics.checks import Numbers, PositiveFields, plain
from ..numerics.elementwise import raised, raised_delta
from . import exact_noise, noise
from .guarantees import PureDP
from .noise import SystemRandomness


def exponential(scores: ArrayLike, epsilon: float, sensitivity: float, *, rng: np.random.Generator) -> int:
    """Return the index that the exponential mechanism chooses among `scores`.

    scores : finite, shape (k,), k >= 1, higher is better; epsilon : [0, inf)
    sensitivity : the largest change of any score between neighbouring tables, (0, inf)

    Index i has probability proportional to exp(epsilon scores[i] / (2 sensitivity)). Gumbel noise is added to each
    exponent, and the index of the largest sum is chosen, so no exponential is computed. The choice is epsilon-DP. Its
    privacy loss has a range of epsilon, so the choice is also epsilon^2/8-zCDP (miura2025, Definition 2.6; Cesar and
    Rogers 2021, Lemma 4).
    Raises ``ArithmeticError`` if an exponent overflows.
    """
    scores, epsilon = _scores(scores, 1), checks.number("epsilon", epsilon, "[0, inf)")
    return int(_largest(scores, epsilon, checks.number("sensitivity", sensitivity, "(0, inf)"), rng))


def exact_exponential(
    scores: Iterable[int], epsilon: float | Fraction, sensitivity: int, *, rng: np.random.Generator | SystemRandomness
) -> int:
    """Return the choice of `exponential` for integer scores, with exact probabilities and no floating-point arithmetic.

    scores : integers of any size, shape (k,), k >= 1; epsilon : (0, inf); sensitivity : integer in [1, inf)
    rng : may also be `noise.system_rng()`

    Candidates are proposed uniformly and accepted with probability e^(-epsilon gap / (2 sensitivity)), where the gap is
    the distance to the largest score. The expected number of proposals is at most k. The function is faster if epsilon
    has few binary digits.
    """
    scores = list(scores)
    if not scores or not all(isinstance(score, numbers.Integral) and not isinstance(score, bool) for score in scores):
        raise ValueError(f"scores must be integers of shape (k,), k >= 1, got {scores!r:.100}")
    rate = exact_noise.fraction("epsilon", epsilon) / (2 * checks.whole("sensitivity", sensitivity, "[1, inf)"))
    best = max(map(int, scores))
    below = [rate.numerator * (best - int(score)) for score in scores]
    gaps = np.array(below, dtype=object if max(below) >= 2**62 else np.int64)
    while True:
        proposed = exact_noise.uniform_integers(2 * len(scores), len(scores), rng=rng)
        accepted = exact_noise.bernoulli_exp(gaps[proposed], rate.denominator, rng=rng)
        if accepted.any():
            return int(proposed[np.argmax(accepted)])


def _largest(scores, epsilon, sensitivity, rng):
    """Return the index of the largest noisy exponent, over the last axis."""
    return np.argmax(_exponents(scores, epsilon, sensitivity) + rng.gumbel(size=scores.shape), axis=-1)


def _exponents(scores, epsilon, sensitivity):
    with np.errstate(over="ignore", invalid="ignore"):
        exponents = epsilon * scores / (2 * sensitivity)
    if not np.isfinite(exponents).all():  # infinite exponents would tie, and the first would be chosen
        raise ArithmeticError("epsilon * scores / (2 * sensitivity) is too large for double precision")
    return exponents


@dataclass(frozen=True)
class Exponential(PositiveFields):
    """Choose index i with probability proportional to e^(epsilon scores[i] / (2 sensitivity)).

    epsilon : (0, inf); sensitivity : the largest change of any score between neighbours, (0, inf)

    The guarantee is that of bounded range (Durfee and Rogers 2019): see `accounting.numerical.BoundedRangeLoss`.
    For compositions, `accounting.compose_schedule` is sharper than `prv_compose`.
    Coq checks that the choice is epsilon-DP and, by its bounded range, epsilon^2/8-zCDP, except for rounding:
    `exponential_private` and `exponential_zcdp` in proofs/.

    >>> from lib.mechanisms import Exponential
    >>> print(Exponential(epsilon=1.0).probabilities([3.0, 5.0, 4.0]).round(3))
    [0.186 0.506 0.307]
    """

    epsilon: float
    sensitivity: float = 1.0
    events = "categories"

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho of bounded range, epsilon^2/8, in (0, inf]."""
        return float(accounting.bounded_range_zcdp(self.epsilon))

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        """Return a privacy loss that dominates the losses of all neighbours, for `accounting.prv_compose`."""
        return accounting.numerical.BoundedRangeLoss(float(self.epsilon))

    @property
    def worst_case(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two neighbouring pairs of scores.

        The odds of the first candidate are e^-3 in the first pair and e^(epsilon - 3) in the second. The privacy loss
        reaches epsilon only in the limit as the odds go to 0.
        """
        gap = 6 * self.sensitivity / self.epsilon
        return np.array([0.0, gap]), np.array([self.sensitivity, gap - self.sensitivity])

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """Return the smallest delta at each `epsilon` in [0, inf).

        With e the mechanism's own epsilon, delta is (exp(e/2) - exp(epsilon/2))^2 / (exp(e) - 1) for epsilon <= e.
        """
        short = np.minimum(checks.real("epsilon", epsilon, "[0, inf)") - self.epsilon, 0)
        return raised_delta(np.expm1(short / 2) * (np.expm1(short / 2) / -np.expm1(-self.epsilon)))

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """Return the smallest epsilon at each `delta` in [0, 1)."""
        root = np.sqrt(checks.real("delta", delta, "[0, 1)")) * np.sqrt(-np.expm1(-self.epsilon)) * (1 - 2.0**-50)
        return plain(np.clip(self.epsilon + 2 * np.log1p(-root) + 2.0**-50 * self.epsilon, 0.0, self.epsilon))

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """Return, at each order `alpha` in (1, inf), the largest RDP epsilon of any mechanism with this bounded range.

        For the pair with the losses t and t - epsilon (see `accounting.bounded_range`), e^((alpha-1) D_alpha) is
        y^(alpha-1) (a - b y) / (1 - e^-epsilon), with y = e^t, a = 1 - e^(-alpha epsilon) and b = e^-epsilon -
        e^(-alpha epsilon). The maximum is at y = a (alpha-1) / (b alpha). A margin of 1e-12 covers rounding.
        """
        x, epsilon = checks.real("alpha", alpha, "(1, inf)") - 1, self.epsilon
        with np.errstate(all="ignore"):  # in entries that `where` discards
            odd = (x + 0.5) * epsilon / 2
            below = np.log1p(1 / x) - np.log1p(np.expm1(-epsilon) / -np.expm1(x * epsilon))  # epsilon - t
            below = np.clip(np.where(odd < 1e-4, epsilon / 2 * (1 - odd / 3), below), 0, epsilon)
            t = epsilon - below
            high, low = np.expm1(-below) / np.expm1(-epsilon), np.exp(-below) * np.expm1(-t) / np.expm1(-epsilon)
            # All terms are positive: the addition, x e^-loss - x, has mean 0 (see `DiscreteLoss`).
            excess = high * (expm1mx(np.minimum(x * t, 1)) + x * expm1mx(-t))
            excess += low * (expm1mx(-x * below) + x * expm1mx(np.minimum(below, 700)))
            far = np.logaddexp(np.log(high) + x * t, np.log(low) - x * below)
            exact = np.where(x * t < 1, np.log1p(excess), far) / x * (1 + 1e-12)
            exact = exact if epsilon > 1e-140 else np.inf  # where the terms underflow, the bounds are exact enough
            return plain(np.minimum(raised(exact, 0.0), np.minimum(raised((1 + x) * self.rho), raised(epsilon, 0.0))))

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each choice among `scores`, shape (k,)."""
        return scipy.special.softmax(_exponents(_scores(scores, 1), self.epsilon, self.sensitivity))

    def release(self, value: ArrayLike, *, rng: np.random.Generator) -> int | NDArray[np.int64]:
        """Return the index chosen among the scores `value`, shape (k,), or m indices for shape (m, k)."""
        chosen = _largest(_scores(value, 2), self.epsilon, self.sensitivity, noise.generator(rng))
        return chosen if chosen.ndim else int(chosen)


@dataclass(frozen=True)
class PermuteAndFlip(PositiveFields, PureDP):
    """Go through the candidates in random order and choose the first candidate i whose coin succeeds.

    This coin has probability e^(-epsilon (best - scores[i]) / (2 sensitivity)), where `best` is the largest score.
    Sampling is exact, without rounding.

    epsilon : (0, inf); sensitivity : the largest change of any score between neighbours, (0, inf)

    The expected score is never worse than that of the exponential mechanism with the same epsilon. But permute-and-flip
    does not have bounded range, and composes like any epsilon-DP mechanism. Permute-and-flip is equivalent to reporting
    the largest score after adding exponential noise of scale 2 sensitivity / epsilon to each score (Ding et al. 2021).
    Coq checks that the mechanism is epsilon-DP and that integrals give its probabilities:
    `permute_and_flip_private` and `law_is_integral` in proofs/.
    Source: McKenna and Sheldon 2020, Algorithm 1.

    >>> from lib.mechanisms import PermuteAndFlip
    >>> print(PermuteAndFlip(epsilon=1.0).probabilities([3.0, 5.0, 4.0]).round(3))
    [0.147 0.587 0.266]
    """

    epsilon: float
    sensitivity: float = 1.0
    events = "categories"

    @property
    def worst_case(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two neighbouring pairs of scores.

        In the first pair one candidate is worse by twice the sensitivity; in the second pair the candidates tie.
        """
        return np.array([0.0, 2.0 * self.sensitivity]), np.array([self.sensitivity, self.sensitivity], dtype=float)

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each choice among `scores`, shape (k,).

        Random order means that each candidate comes at a uniform time in [0, 1]. If p_i is the probability of candidate
        i's coin, candidate i is chosen with probability p_i times the integral of the product of 1 - t p_j over j != i,
        where t is its time. The product is a polynomial in t.
        """
        scores = _scores(scores, 1)
        p = np.exp(_exponents(scores - scores.max(), self.epsilon, self.sensitivity))
        nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
        t = (nodes[:, None] + 1) / 2
        return p * (weights / 2 @ (np.prod(1 - t * p, axis=1)[:, None] / (1 - t * p)))

    def release(self, value: ArrayLike, *, rng: np.random.Generator | SystemRandomness) -> int | NDArray[np.int64]:
        """Return the index chosen among the scores `value`, shape (k,), or m indices for shape (m, k).

        rng : may also be `noise.system_rng()`
        """
        scores = _scores(value, 2)
        rows = np.atleast_2d(scores)
        heads = exact_noise.bernoulli_exp(*self._exponents(rows), rng=rng)
        # The first success in random order is uniform among all successes.
        rank, successes = np.empty(len(rows), dtype=np.int64), heads.sum(axis=1)
        for count in np.unique(successes):
            these = np.flatnonzero(successes == count)
            rank[these] = exact_noise.uniform_integers(len(these), int(count), rng=rng)
        chosen = np.argmax(np.cumsum(heads, axis=1) == rank[:, None] + 1, axis=1)
        return chosen if scores.ndim == 2 else int(chosen[0])

    def _exponents(self, rows):
        """Return integers num (m, k) and den with num/den = epsilon (best - score) / (2 sensitivity), exactly."""
        rate = Fraction(self.epsilon) / (2 * Fraction(self.sensitivity))
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        table = [[rate * (Fraction(max(row)) - Fraction(score)) for score in row] for row in kinds.tolist()]
        den = math.lcm(*(gap.denominator for row in table for gap in row))
        whole = np.array([[int(gap * den) for gap in row] for row in table], dtype=object)
        return whole.reshape(kinds.shape)[which.ravel()], den


def _scores(scores, most_axes) -> np.ndarray:
    scores = checks.real("scores", scores, "(-inf, inf)")
    if not 1 <= scores.ndim <= most_axes or scores.size == 0:
        shapes = "(k,)" if most_axes == 1 else "(k,) or (m, k)"
        raise ValueError(f"scores must have shape {shapes} with k >= 1, got {scores.shape}")
    return scores
