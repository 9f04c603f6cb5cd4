"""The privacy loss of mechanisms with countably many outputs, exactly.

Two neighbours give an output the probabilities p and q; its privacy loss is L = log(p/q). The law of L
under p holds every guarantee there is: with m the mass at the loss l,

    delta(epsilon) = sum m (1 - e^(epsilon - l))+,    D_alpha = log(sum m e^((alpha-1) l)) / (alpha-1).

A `DiscreteLoss` is such a law, and also a variable for `numerical.prv_compose`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers, number, plain, whole
from .divergence import beyond_line
from .numerical import PrivacyLossVariable

WIDEST_SIGMA = 1e4  # of the discrete Gaussians whose losses are listed one by one


@dataclass(frozen=True, eq=False)
class DiscreteLoss(PrivacyLossVariable):
    """Losses, increasing, and the log of the mass of each, both of shape (n,); `size` is the largest or,
    with a `gaussian_rdp` below alpha size^2/2, the Gaussian mechanism's sensitivity / sigma."""

    losses: np.ndarray
    log_mass: np.ndarray
    gaussian_rdp: bool = False

    __eq__, __hash__ = object.__eq__, object.__hash__  # equal ones are the same: the functions below keep them

    @property
    def mass(self) -> np.ndarray:
        """The probability of each loss under the first of the neighbours, shape (n,)."""
        return np.exp(self.log_mass)

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """The least delta at `epsilon` in [0, inf), any shape; every term is positive, so small ones are accurate."""
        epsilon = checks.real("epsilon", epsilon, "[0, inf)")
        least = np.finfo(float).tiny if self.gaussian_rdp else 0.0  # a Gaussian's delta is never 0
        deltas = [self.mass @ np.maximum(-np.expm1(np.minimum(x - self.losses, 0)), 0) for x in epsilon.flat]
        return plain(np.clip(np.reshape(deltas, epsilon.shape), least, 1.0))  # masses may sum to a last digit more

    def epsilon(self, delta: ArrayLike) -> Numbers:
        """The least epsilon at `delta` in [0, 1), any shape: the inverse of `delta`, which is linear in e^epsilon
        between losses. 0 where (0, delta)-DP holds already; at delta 0 the largest loss there is, for a Gaussian inf."""
        delta = checks.real("delta", delta, "[0, 1)")
        return plain(np.reshape([self._epsilon(target) for target in delta.flat], delta.shape))

    def _epsilon(self, target):
        if target == 0:
            return np.inf if self.gaussian_rdp else float(self.losses[-1])
        if self.delta(0.0) <= target:
            return 0.0
        tail = np.cumsum(self.mass[::-1])[::-1]  # of the losses from each on
        log_tilted = np.logaddexp.accumulate((self.log_mass - self.losses)[::-1])[::-1]
        at_losses = np.append(tail[1:] - np.exp(log_tilted[1:] + self.losses[:-1]), 0.0)
        segment = int(np.argmax(at_losses <= target))  # the epsilon lies just below this loss
        gap = tail[segment] - target
        return max(float(min(np.log(gap) - log_tilted[segment], self.losses[segment])), 0.0)

    def renyi(self, alpha: ArrayLike) -> Numbers:
        """D_alpha for orders `alpha` in (1, inf), any shape, by the sum over all losses."""
        x = checks.real("alpha", alpha, "(1, inf)") - 1
        return plain(np.reshape([self._renyi(order) for order in x.flat], x.shape))

    def _renyi(self, x):
        if x > 1e150:  # beyond, it is the largest loss to rounding
            return float(self.losses[-1])
        total = scipy.special.logsumexp(self.log_mass + x * self.losses)
        if total < 0.1:
            excess = beyond_line(self.log_mass, x * self.losses) + x * beyond_line(self.log_mass, -self.losses)
            total = np.log1p(excess.sum())
        return float(total / x)

    @property
    def kl(self) -> float:
        """The mean loss, D_1."""
        return float(beyond_line(self.log_mass, -self.losses).sum())  # l + e^-l - 1; the addition sums to 0

    # What accounting asks of a variable.
    def rdp(self, alpha: float) -> float:
        """An RDP epsilon at one order `alpha` in (1, inf), exact but for a Gaussian's."""
        alpha = number("alpha", alpha, "(1, inf)")
        return alpha * self.size**2 / 2 if self.gaussian_rdp else self._renyi(alpha - 1)

    def cdf(self, t: Numbers) -> Numbers:
        """The probability, under the first of the neighbours, of a loss up to `t`, any shape."""
        return np.append(0.0, np.cumsum(self.mass))[np.searchsorted(self.losses, t, side="right")]

    def masses(self, edges: np.ndarray) -> np.ndarray:
        """The probabilities of a loss between each of the increasing `edges` and the next, which belongs to it."""
        place = np.searchsorted(edges, self.losses, side="left") - 1
        inside = (place >= 0) & (place < len(edges) - 1)
        return np.bincount(place[inside], self.mass[inside], len(edges) - 1)

    def truncated_mean(self, low: float, high: float) -> float:
        """The mean of the losses in (low, high]."""
        inside = (self.losses > low) & (self.losses <= high)
        return float(self.mass[inside] @ self.losses[inside] / self.mass[inside].sum())


@lru_cache(maxsize=256)
def randomized_response(epsilon: float, k: int = 2) -> DiscreteLoss:
    """Loss of a truth among k, whole, [2, inf), told with odds e^epsilon to 1 against each other value; epsilon in (0, 1e150]."""
    epsilon, k = number("epsilon", epsilon, "(0, 1e150]"), whole("k", k, "[2, inf)")
    log_lie = -np.logaddexp(epsilon, np.log(k - 1))
    if k == 2:
        return DiscreteLoss(epsilon, np.array([-epsilon, epsilon]), np.array([log_lie, epsilon + log_lie]))
    log_mass = np.array([log_lie, np.log(k - 2) + log_lie, epsilon + log_lie])
    return DiscreteLoss(epsilon, np.array([-epsilon, 0.0, epsilon]), log_mass)


@lru_cache(maxsize=256)
def discrete_laplace(scale: float, shift: int) -> DiscreteLoss:
    """Loss between discrete Laplace noise of `scale` around 0 and around `shift`: two tails and the values between.

    scale : [1e-150, 1e150]; shift : whole number >= 1
    """
    scale, shift = number("scale", scale, "[1e-150, 1e150]"), whole("shift", shift, "[1, inf)")
    j = np.arange(shift - 1, 0, -1)
    log_tail = -np.log1p(np.exp(-1 / scale))  # of the values <= 0, q^0 / (1 + q) for q = e^(-1/scale)
    between = log_tail + np.log(-np.expm1(-1 / scale)) - j / scale
    losses = np.concatenate([[-shift], shift - 2.0 * j, [shift]]) / scale
    return DiscreteLoss(shift / scale, losses, np.concatenate([[log_tail - shift / scale], between, [log_tail]]))


@lru_cache(maxsize=8)
def discrete_gaussian(sigma: float, shift: int) -> DiscreteLoss:
    """Loss between discrete Gaussian noise around 0 and around `shift`, whole, >= 1; sigma in [1e-150, 1e4]."""
    sigma, shift = number("sigma", sigma, "[1e-150, inf)"), whole("shift", shift, "[1, inf)")
    if sigma > WIDEST_SIGMA:
        raise ValueError(f"sigma must be in (0, {WIDEST_SIGMA:g}] for the exact curve, got {sigma:g}; use rho")
    reach = int(40 * sigma) + shift + 40  # beyond, less than 1e-300 of either
    x = np.arange(reach, -reach - 1, -1.0)
    log_weight = -(x**2) / (2 * sigma**2)
    losses = shift * (shift - 2 * x) / (2 * sigma**2)
    return DiscreteLoss(shift / sigma, losses, log_weight - scipy.special.logsumexp(log_weight), gaussian_rdp=True)


@lru_cache(maxsize=256)
def repeated_response(epsilon: float, count: int) -> DiscreteLoss:
    """Loss of `count` >= 1 binary randomized responses, the worst of as many epsilon-DP mechanisms; epsilon in (0, 1e150]."""
    epsilon, count = number("epsilon", epsilon, "(0, 1e150]"), whole("count", count, "[1, inf)")
    truths = np.arange(count + 1)
    log_mass = scipy.stats.binom.logpmf(truths, count, 1 / (1 + np.exp(-epsilon)))
    return DiscreteLoss(count * epsilon, (2.0 * truths - count) * epsilon, log_mass)
