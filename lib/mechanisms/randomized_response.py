"""Randomized response over k values: report the true value e^epsilon times as often as any other value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..accounting import privacy_loss
from ..accounting.divergence import beyond_line
from ..numerics import checks
from ..numerics.checks import number, whole
from ..numerics.elementwise import raised
from . import exact_noise
from .guarantees import PureDP
from .noise import SystemRandomness


@dataclass(frozen=True)
class RandomizedResponse(PureDP):
    """Report the true value among 0, ..., k - 1 with probability `truth` = e^epsilon / (e^epsilon + k - 1), and each
    other value with probability `lie` = 1 / (e^epsilon + k - 1). Sampling is exact.

    epsilon : (0, 700]; k : integer in [2, 2^31]
    Coq checks this mechanism's guarantee: `grr_private` and `grr_no_better` in proofs/.
    Source: kiri2019, "Random Response" (equation 6, k = 2); Kairouz, Bonawitz, Ramage 2016 (k-RR).

    >>> import numpy as np
    >>> from lib.mechanisms import RandomizedResponse
    >>> answer = RandomizedResponse(epsilon=1.0, k=4)
    >>> print(round(answer.truth, 4), answer.release([0, 1, 2, 3, 3], rng=np.random.default_rng(0)))
    0.4754 [1 1 2 3 3]
    """

    epsilon: float
    k: int = 2
    events = "categories"
    sensitivity = 1  # any value of one user may change to any other: the neighbours of local DP

    def __post_init__(self) -> None:
        number("epsilon", self.epsilon, "(0, 700]")
        object.__setattr__(self, "k", whole("k", self.k, f"[2, {2**31}]"))

    @property
    def truth(self) -> float:
        """Return the probability of reporting the true value, in (0, 1]."""
        return float(1 / (1 + (self.k - 1) * np.exp(-self.epsilon)))

    @property
    def lie(self) -> float:
        """Return the probability of reporting one particular other value, in (0, 1)."""
        return float(np.exp(-np.logaddexp(self.epsilon, np.log(self.k - 1))))

    @property
    def loss(self) -> privacy_loss.DiscreteLoss:
        return privacy_loss.randomized_response(float(self.epsilon), self.k)

    @property
    def rho(self) -> float:
        """Return the zCDP rho, sup D_alpha/alpha: epsilon tanh(epsilon/2) if k = 2, at most 0.05 % too large if k > 2.

        The search covers a grid of orders from 1 to epsilon / D_1. D_alpha increases to epsilon. So between two orders,
        no quotient D_alpha / alpha exceeds D at the larger order divided by the smaller order. Beyond the grid, no
        quotient exceeds D_1. If v is the mean square of the losses, the quotients of all orders up to alpha lie below
        e^(alpha epsilon) v/2, and D_1 lies above e^-epsilon v/2. So for small epsilon the grid can start at a larger
        order than 1.
        """
        loss, ratio, tiny = self.loss, 1 + 1 / 2000, np.finfo(float).tiny
        if self.k == 2 or super().rho == tiny:
            return super().rho
        start = max(1.0, np.log(ratio) / 2 / self.epsilon - 1)
        orders = start * ratio ** np.arange(1, int(np.log(self.epsilon / loss.kl / start) / np.log(ratio)) + 3)
        x = orders[:, None] - 1
        far = scipy.special.logsumexp(loss.log_mass + x * loss.losses, axis=1)
        near = beyond_line(loss.log_mass, np.where(far[:, None] < 0.1, x * loss.losses, 0)) + x * beyond_line(
            loss.log_mass, -loss.losses
        )
        divergences = np.where(far < 0.1, np.log1p(near.sum(axis=1)), far) / x[:, 0]
        return float(min(raised(ratio * max((divergences / orders).max(), loss.kl), loss._error), super().rho))

    @property
    def worst_case(self) -> tuple[int, int]:
        """Return two different values, 0 and 1."""
        return 0, 1

    def release(self, value: ArrayLike, *, rng: np.random.Generator | SystemRandomness) -> NDArray[np.int64]:
        """Return reports, int64, for values in {0, ..., k - 1}, any shape. rng : may also be `noise.system_rng()`"""
        value = checks.integer("value", value, f"[0, {self.k - 1}]").astype(np.int64)
        honest = _truths(value.size, float(self.epsilon), self.k, rng).reshape(value.shape)
        other = exact_noise.uniform_integers(value.shape, self.k - 1, rng=rng)
        return np.where(honest, value, other + (other >= value))


def _truths(count, epsilon, k, rng):
    """Return exact coins of probability `truth`: compare its binary digits with random digits, 62 at a time."""
    words = exact_noise.uniform_integers(count, 2**62, rng=rng)
    first = _digits(epsilon, k, 62)
    heads = words < first
    for tie in np.flatnonzero(words == first):  # 1 in 2^62
        drawn, bits = first, 62
        while drawn == _digits(epsilon, k, bits):
            drawn, bits = (drawn << 62) + int(exact_noise.uniform_integers((), 2**62, rng=rng)), bits + 62
        heads[tie] = drawn < _digits(epsilon, k, bits)
    return heads


@lru_cache(maxsize=256)
def _digits(epsilon, k, bits):
    """Return the integer part of 2^bits / (1 + (k - 1) e^-epsilon), which is irrational, from enough digits."""
    digits = bits // 3 + 20
    while True:
        with localcontext(prec=digits):
            scaled = Decimal(2**bits) / (1 + (k - 1) * (-Decimal(epsilon)).exp())
            margin = scaled.scaleb(3 - digits)  # each operation errs by less than 10^(1 - digits), relatively
            if int(scaled - margin) == int(scaled + margin):
                return int(scaled)
        digits *= 2
