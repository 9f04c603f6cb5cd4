"""The smallest example of why composing a schedule after the fact guarantees nothing, computed exactly.

A mechanism has two steps. The first is Gaussian. The second is either Gaussian or randomized response, depending on the
outcome of the first. In both cases the two steps, composed as if they had been fixed in advance, cost the same
(epsilon, delta). So an odometer that composes the steps that were run always shows this cost. But the privacy loss of
the release has the distribution of neither composition. For a loss L of the first step and a curve V of the second,

    delta = E[V(epsilon - L)],    and E[max(V_1, V_2)] >= max(E[V_1], E[V_2]).

Rogers, Roth, Ullman, Vadhan 2016 asked what such a release guarantees. The answer is known for zCDP with a budget fixed
in advance (a filter), and for Gaussian steps alone (Smith and Thakurta 2022, Koskela, Tobaben, Honkela 2023).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from lib.accounting import gaussian_sigma
from lib.numerics import checks

_Z = np.linspace(-10, 10, 20_001)  # standard deviations of the first step's loss
_MASS = np.exp(-(_Z**2) / 2) * (_Z[1] - _Z[0]) / np.sqrt(2 * np.pi)


@dataclass(frozen=True)
class TwoSteps:
    """A first Gaussian step and the choice of a second; see `two_steps`.

    epsilon, delta : the cost of each choice if it is fixed in advance
    first, second : sensitivity over sigma of the Gaussian steps
    response : epsilon of the randomized response
    """

    epsilon: float
    delta: float
    first: float
    second: float
    response: float

    def delta_at(self, epsilon: float, rule: str = "worst") -> float:
        """Return the delta of the two steps together at an `epsilon` in (-inf, inf), to a relative error of about 1e-3.

        rule : how the second step is chosen: always "gaussian", always "response", or "worst", by an adversary who sees
            the outcome of the first step
        """
        checks.one_of("rule", rule, ("gaussian", "response", "worst"))
        left = checks.number("epsilon", epsilon, "(-inf, inf)") - self.losses
        curves = {"gaussian": _gaussian(left, self.second), "response": _response(left, self.response)}
        return float(_MASS @ (np.maximum(*curves.values()) if rule == "worst" else curves[rule]))

    @property
    def losses(self) -> np.ndarray:
        """Return the privacy losses of the first step at the points over which expectations are summed."""
        return self.first**2 / 2 + self.first * _Z

    @property
    def true_epsilon(self) -> float:
        """Return the epsilon at `delta` of the two steps together, under the worst rule."""
        return scipy.optimize.brentq(lambda x: self.delta_at(x) - self.delta, self.epsilon, self.epsilon + 10)


def two_steps(epsilon: float, delta: float, share: float = 0.5) -> TwoSteps:
    """Return the example in which each choice costs exactly (epsilon, delta).

    epsilon : (0, 10]; delta : [1e-9, 0.01]
    share : (0, 1), the first step's sensitivity over sigma, divided by that of a single Gaussian step of the same cost
    """
    epsilon, delta = checks.number("epsilon", epsilon, "(0, 10]"), checks.number("delta", delta, "[1e-9, 0.01]")
    whole = 1 / float(gaussian_sigma(epsilon, delta))
    first = checks.number("share", share, "(0, 1)") * whole
    left = epsilon - (first**2 / 2 + first * _Z)
    response = scipy.optimize.brentq(lambda e: _MASS @ _response(left, e) - delta, 1e-9, 2 * epsilon)
    return TwoSteps(epsilon, delta, first, float(np.sqrt(whole**2 - first**2)), response)


# Hockey-stick curves at any real x.
def _gaussian(x, mu):
    with np.errstate(over="ignore"):  # where e^x overflows, both terms have long vanished
        return np.maximum(
            scipy.special.ndtr(mu / 2 - x / mu) - np.exp(np.minimum(x, 700)) * scipy.special.ndtr(-mu / 2 - x / mu), 0
        )


def _response(x, epsilon):
    truth = scipy.special.expit(epsilon)
    return -truth * np.expm1(np.minimum(x - epsilon, 0)) - (1 - truth) * np.expm1(np.minimum(x + epsilon, 0))
