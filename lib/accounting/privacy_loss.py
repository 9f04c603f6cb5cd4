"""The exact privacy loss of mechanisms with countably many outputs.

An output that has the probabilities p and q under two neighbours has the privacy loss L = log(p/q). The law of L under
the first neighbour determines every guarantee. If m is the mass at the loss l,

    delta(epsilon) = sum m (1 - e^(epsilon - l))+,    D_alpha = log(sum m e^((alpha-1) l)) / (alpha-1).

A `DiscreteLoss` is a law of this kind, and also a variable for `numerical.prv_compose`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers, number, plain, whole
from ..numerics.elementwise import TINY, quotient_up, raised, raised_delta, total_up
from .divergence import beyond_line
from .numerical import PrivacyLossVariable

WIDEST_SIGMA = 1e4  # largest sigma of the discrete Gaussians whose losses are enumerated
MOST_SHIFT = "[1, 1e6]"  # range of the shifts whose losses are enumerated


@dataclass(frozen=True, eq=False)
class DiscreteLoss(PrivacyLossVariable):
    """A law of the privacy loss: increasing `losses` (n,) and `log_mass` (n,), the logarithms of their probabilities.

    `size` is the largest loss. If `gaussian_rdp` is set, however, `size` is sensitivity / sigma, and the RDP epsilon is
    at most alpha size^2/2.
    """

    losses: np.ndarray
    log_mass: np.ndarray
    gaussian_rdp: bool = False

    __eq__, __hash__ = object.__eq__, object.__hash__  # equality is identity: the functions below cache them

    @property
    def reversed(self) -> DiscreteLoss:
        return DiscreteLoss(self.size, -self.losses[::-1], (self.log_mass - self.losses)[::-1], self.gaussian_rdp)

    @cached_property
    def _error(self) -> float:
        """Return an upper bound on the relative rounding error of a sum over the masses."""
        return float(2.0**-47 * min(1 - self.log_mass.min(), 1000) + 2.0**-50 * scipy.special.gammaln(len(self.losses)))

    @property
    def _largest(self) -> float:
        return float(self.losses[-1]) if self.gaussian_rdp else self.size

    @property
    def mass(self) -> np.ndarray:
        """Return the probability of each loss under the first neighbour, shape (n,)."""
        return np.exp(self.log_mass)

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """Return the smallest delta at each `epsilon` in [0, inf), rounded up; even a tiny delta is accurate."""
        epsilon = checks.real("epsilon", epsilon, "[0, inf)")
        least = np.finfo(float).tiny if self.gaussian_rdp else 0.0  # a Gaussian's delta is never 0
        deltas = [self.mass @ np.maximum(-np.expm1(np.minimum(x - self.losses, 0)), 0) for x in epsilon.flat]
        return plain(np.maximum(raised_delta(np.reshape(deltas, epsilon.shape), self._error), least))

    def epsilon(self, delta: ArrayLike) -> Numbers:
        """Return the smallest epsilon at each `delta` in [0, 1), rounded up.

        The method inverts `delta`, which is linear in e^epsilon between losses. The result is 0 where (0, delta)-DP
        already holds. For a delta below 1e-290, the result is the largest loss, or inf with `gaussian_rdp`.
        """
        delta = checks.real("delta", delta, "[0, 1)")
        return plain(np.reshape([self._epsilon(target) for target in delta.flat], delta.shape))

    def _epsilon(self, target):
        if self.delta(0.0) <= target:
            return 0.0
        if target < 1e-290:  # 0, or so small that the terms underflow
            return np.inf if self.gaussian_rdp else self.size
        target *= 1 - self._error
        log_tilted = np.logaddexp.accumulate((self.log_mass - self.losses)[::-1])[::-1]
        tilted = np.exp(log_tilted + self.losses)  # sum of m e^(l - loss) over the losses from l on
        rises = tilted[1:] * -np.expm1(-np.diff(self.losses))  # of delta, from each loss down to the one before
        at_losses = np.append(np.cumsum(rises[::-1])[::-1], 0.0)
        segment = int(np.argmax(at_losses <= target))  # the epsilon lies just below this loss
        below = -np.log1p(-min((target - at_losses[segment]) / tilted[segment], 1 - 2.0**-53))
        largest = float(self.losses[segment])
        return min(max(largest * (1 + 2.0**-50) - float(below), TINY), self._largest)

    def renyi(self, alpha: ArrayLike) -> Numbers:
        """Return D_alpha at each order `alpha` in (1, inf), by the sum over all losses, rounded up."""
        x = checks.real("alpha", alpha, "(1, inf)") - 1
        return plain(np.reshape([self._renyi(order) for order in x.flat], x.shape))

    def _renyi(self, x):
        if x > 1e150:  # beyond, the result is the largest loss, up to rounding
            return self._largest
        if self.size < 1e-140:  # the sum would underflow; this bound holds for all laws
            return min(raised((1 + x) * self.size / 2 * self.size), self._largest)
        total = scipy.special.logsumexp(self.log_mass + x * self.losses)
        if total < 0.1:
            excess = beyond_line(self.log_mass, x * self.losses) + x * beyond_line(self.log_mass, -self.losses)
            total = np.log1p(excess.sum())
        return min(float(raised(total / x, self._error)), self._largest)

    @property
    def kl(self) -> float:
        """Return the mean loss, D_1, rounded up."""
        excess = beyond_line(self.log_mass, -self.losses).sum()  # the mean of l + e^-l - 1; that of e^-l - 1 is 0
        return float(raised(excess, self._error))

    def rdp(self, alpha: float) -> float:
        """Return an RDP epsilon at one order `alpha` in (1, inf), exact unless `gaussian_rdp` is set."""
        alpha = number("alpha", alpha, "(1, inf)")
        return alpha * self.size**2 / 2 if self.gaussian_rdp else self._renyi(alpha - 1)

    def cdf(self, t: Numbers) -> Numbers:
        """Return the probability, under the first neighbour, that the loss is at most each entry of `t`."""
        return np.append(0.0, np.cumsum(self.mass))[np.searchsorted(self.losses, t, side="right")]

    def masses(self, edges: np.ndarray) -> np.ndarray:
        """Return the probability of each interval (low, high] between consecutive, increasing `edges`."""
        place = np.searchsorted(edges, self.losses, side="left") - 1
        inside = (place >= 0) & (place < len(edges) - 1)
        return np.bincount(place[inside], self.mass[inside], len(edges) - 1)

    def truncated_mean(self, low: float, high: float) -> float:
        """Return the mean of the losses in (low, high]."""
        inside = (self.losses > low) & (self.losses <= high)
        return float(self.mass[inside] @ self.losses[inside] / self.mass[inside].sum())


@lru_cache(maxsize=256)
def randomized_response(epsilon: float, k: int = 2) -> DiscreteLoss:
    """Return the loss of randomized response over k values: the true value is e^epsilon times as likely as any other.

    epsilon : (0, 1e150]; k : integer in [2, inf)
    """
    epsilon, k = number("epsilon", epsilon, "(0, 1e150]"), whole("k", k, "[2, inf)")
    log_truth = -np.logaddexp(0, math.log(k - 1) - epsilon)
    log_lie = log_truth - epsilon
    if k == 2:
        return DiscreteLoss(epsilon, np.array([-epsilon, epsilon]), np.array([log_lie, log_truth]))
    log_mass = np.array([log_lie, math.log(k - 2) + log_lie, log_truth])
    return DiscreteLoss(epsilon, np.array([-epsilon, 0.0, epsilon]), log_mass)


@lru_cache(maxsize=256)
def discrete_laplace(scale: float, shift: int) -> DiscreteLoss:
    """Return the loss of discrete Laplace noise of `scale` around 0 against the same noise around `shift`.

    scale : [1e-150, 1e150]; shift : integer in [1, 1e6]
    """
    scale, shift = number("scale", scale, "[1e-150, 1e150]"), whole("shift", shift, MOST_SHIFT)
    j = np.arange(shift - 1, 0, -1)
    log_tail = -np.log1p(np.exp(-1 / scale))  # of the values <= 0, q^0 / (1 + q) for q = e^(-1/scale)
    between = log_tail + np.log(-np.expm1(-1 / scale)) - j / scale
    losses = np.concatenate([[-shift], shift - 2.0 * j, [shift]]) / scale
    largest = float(quotient_up(shift, scale))
    return DiscreteLoss(largest, losses, np.concatenate([[log_tail - largest], between, [log_tail]]))


@lru_cache(maxsize=8)
def discrete_gaussian(sigma: float, shift: int) -> DiscreteLoss:
    """Return the loss of a discrete Gaussian around 0 against the same Gaussian around `shift`.

    sigma : [1e-150 shift, 1e4]; shift : integer in [1, 1e6]
    """
    shift = whole("shift", shift, MOST_SHIFT)
    sigma = number("sigma", sigma, f"[{1e-150 * shift!r}, inf)")  # losses are finite
    if sigma > WIDEST_SIGMA:
        raise ValueError(
            f"sigma must be in (0, {WIDEST_SIGMA:g}] for the exact curve, got {sigma:g}; for a larger sigma use rho"
        )
    reach = int(40 * sigma) + shift + 40  # either law has a mass below 1e-300 beyond it
    x = np.arange(reach, -reach - 1, -1.0)
    log_weight = -(x**2) / (2 * sigma**2)
    losses = shift * (shift - 2 * x) / (2 * sigma**2)
    return DiscreteLoss(shift / sigma, losses, log_weight - scipy.special.logsumexp(log_weight), gaussian_rdp=True)


@lru_cache(maxsize=256)
def repeated_response(epsilon: float, count: int) -> DiscreteLoss:
    """Return the loss of `count` >= 1 binary randomized responses, the worst case of `count` epsilon-DP mechanisms.

    epsilon : (0, 1e150]
    """
    epsilon, count = number("epsilon", epsilon, "(0, 1e150]"), whole("count", count, "[1, inf)")
    truths = np.arange(count + 1)
    log_mass = scipy.stats.binom.logpmf(truths, count, 1 / (1 + np.exp(-epsilon)))
    return DiscreteLoss(total_up([epsilon], [count]), (2.0 * truths - count) * epsilon, log_mass)
