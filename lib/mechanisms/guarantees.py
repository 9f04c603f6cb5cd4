"""Define the interface of the mechanisms in `mechanisms`.

A mechanism reports its `sensitivity` and the cost of one run in every notion of `accounting`. (An `Accountant` gives
the total cost of several mechanisms.)

- `epsilon` is the parameter of pure DP, inf if the mechanism is not pure-DP, and `rho` is the parameter of zCDP.
- `delta(epsilon)` is the curve of all pairs (epsilon, delta), and `epsilon_at(delta)` is the inverse.
- `rdp(alpha)` is the RDP epsilon at orders in (1, inf), and `prv` is the privacy loss as a random variable.

The guarantee holds for the neighbours, unbounded or bounded, for which the sensitivity was computed. ``release(value,
*, rng)`` applies the mechanism. For `audit`, `worst_case` is a pair of inputs whose outputs differ (nearly) as much as
the guarantee allows, and `events` names the kind of events that show this difference: "thresholds" or "categories".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting import DiscreteLoss, privacy_loss
from ..numerics.checks import Numbers
from ..numerics.elementwise import raised


class FromLoss:
    """The guarantee of a mechanism whose `loss` is the privacy loss of its worst neighbours, a `DiscreteLoss`."""

    @property
    def loss(self) -> DiscreteLoss:
        """Return the exact privacy loss of the worst neighbours, a `DiscreteLoss`."""
        raise NotImplementedError

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        """Return `loss`, for `accounting.prv_compose`."""
        return self.loss

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """Return the smallest delta at each `epsilon` in [0, inf)."""
        return self.loss.delta(epsilon)

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """Return the smallest epsilon at each `delta` in [0, 1)."""
        return self.loss.epsilon(delta)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """Return the RDP epsilon at each order `alpha` in (1, inf)."""
        return self.loss.renyi(alpha)


class PureDP(FromLoss):
    """The guarantee that `epsilon`-DP alone gives: that of randomized response, the worst `epsilon`-DP mechanism."""

    epsilon: float

    @property
    def loss(self) -> DiscreteLoss:
        return privacy_loss.randomized_response(self.epsilon)

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho, epsilon tanh(epsilon/2): the largest mean loss of any epsilon-DP mechanism.

        Randomized response attains this rho, with D_alpha = K / (alpha - 1). Up to a constant, K is log cosh(epsilon
        (alpha - 1/2)), which is concave in (alpha - 1/2)^2. So the supremum of D_alpha / alpha is its limit as alpha
        goes to 1. The result refines Bun and Steinke 2016, Proposition 1.4, which states epsilon^2/2.
        """
        return float(raised(self.epsilon * np.tanh(self.epsilon / 2)))
