"""What a mechanism object can say of itself: the interface of everything in `mechanisms`.

A mechanism knows its `sensitivity` and what one run of it costs, in every currency of `accounting` (an `Accountant` prices several):

- `epsilon`, of pure DP: inf where it has none;   `rho`, of zCDP
- `delta(epsilon)` and `epsilon_at(delta)`: the curve of all its (epsilon, delta), and the inverse
- `rdp(alpha)`: its RDP epsilon at orders in (1, inf);   `prv`, its privacy loss as a variable

The guarantee is for the neighbours, unbounded or bounded, that the sensitivity was computed for.
``release(value, *, rng)`` applies it. `worst_case` is a pair of inputs, from neighbours, whose outputs
differ as much as the guarantee says (or nearly), and `events` says which sets of outputs tell them
apart: "thresholds" or "categories"; that is what `audit` needs to know.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting import DiscreteLoss, privacy_loss
from ..numerics.checks import Numbers


class FromLoss:
    """The guarantee of a mechanism whose worst neighbours have the `privacy_loss.DiscreteLoss` `self.loss`."""

    @property
    def loss(self) -> DiscreteLoss:
        raise NotImplementedError

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        return self.loss

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """The least delta at `epsilon` in [0, inf), any shape."""
        return self.loss.delta(epsilon)

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """The least epsilon at `delta` in [0, 1), any shape."""
        return self.loss.epsilon(delta)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """The RDP epsilon at orders `alpha` in (1, inf), any shape."""
        return self.loss.renyi(alpha)


class PureDP(FromLoss):
    """The guarantee of a mechanism of which only `self.epsilon`-DP is used: randomized response is the worst."""

    epsilon: float

    @property
    def loss(self) -> DiscreteLoss:
        return privacy_loss.randomized_response(self.epsilon)

    @property
    def rho(self) -> float:
        """zCDP: the mean loss of randomized response, epsilon tanh(epsilon/2), which no epsilon-DP mechanism exceeds.

        Its log-moment K((alpha - 1/2)^2), with D_alpha = K / (alpha - 1), is log cosh(epsilon (alpha - 1/2)) but for
        a constant: concave in the square. So D_alpha / alpha is greatest as alpha goes to 1. (A refinement of Bun
        and Steinke 2016, Proposition 1.4, which has epsilon^2/2.)
        """
        return max(float(self.epsilon * np.tanh(self.epsilon / 2)), np.finfo(float).tiny)
