"""Spend the budget of AIM round by round (miura2025, Algorithm 2, lines 1, 2 and 10; Algorithm 4)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..accounting.certified import root_down, root_up
from ..numerics import checks

# The proportion for measuring. With a proportion closer to 1, rounding `used` could leave a negative last budget.
ALPHAS = "[1e-9, 0.999999]"
_BITS = 13  # of a fraction, so that draws are fast because 64-bit integers suffice


class Schedule:
    """A spending plan for the budget rho; apart from rounding, the part `used` never exceeds rho.

    rho, rounds : [1e-100, 1e100]; alpha : [1e-9, 0.999999]
    For the next round t, `multiplier` is sigma_t at sensitivity 1, and `epsilon` is epsilon_t.
    Source: miura2025, Algorithm 2, lines 1, 2 and 10; Algorithm 4.
    """

    rho: Any  # floats here, fractions in `ExactSchedule`
    alpha: Any
    used: Any
    multiplier: Any
    epsilon: Any
    rounds: Any

    def __init__(self, rho: float, rounds: float, alpha: float) -> None:
        rho, rounds = checks.number("rho", rho, "[1e-100, 1e100]"), checks.number("rounds", rounds, "[1e-100, 1e100]")
        self.rho, self.alpha, self.used = rho, checks.number("alpha", alpha, ALPHAS), 0.0
        self.rounds, self.exhausted = rounds, False
        self.divide()

    def measure(self, share: Any = None) -> Any:
        """Spend the cost of a measurement without a choice: the part `share` of the budget or, by default, the cost of
        the measurement in a round. Return the noise multiplier. Raises ``ValueError`` if this would leave no budget for
        a round."""
        multiplier = self.multiplier if share is None else self.multiplier_of(share)
        cost, left = 1 / (2 * multiplier**2), self._left()
        if cost >= left:
            raise ValueError(
                f"share must be below {float(left / self.rho)}, the part of the budget that is left, got {float(cost / self.rho)}"
            )
        self.used += cost
        self._finish_if_short()
        return multiplier

    def multiplier_of(self, share: Any) -> Any:
        """Return sigma at sensitivity 1 for a measurement that costs the part `share` in [1e-100, 1] of the budget."""
        return math.sqrt(1 / (2 * checks.number("share", share, "[1e-100, 1]") * self.rho))

    def divide(self) -> None:
        """Divide the remaining budget into `rounds` rounds."""
        self.last = False
        self._share(self.rho - self.used, self.rounds)
        self._finish_if_short()

    def spend(self) -> None:
        """Spend the cost of a whole round, which is a choice and a measurement."""
        self.used += self._cost()
        self.exhausted = self.last

    def advance(self, anneal: bool, growth: int = 4) -> None:
        """Set the budget of the next round: that of the round before, times `growth` if `anneal`."""
        if anneal:
            self._grow(checks.whole("growth", growth, "[1, 1000]"))
        self._finish_if_short()

    def _grow(self, growth) -> None:
        self.multiplier, self.epsilon = self.multiplier / math.sqrt(growth), math.sqrt(growth) * self.epsilon

    def _cost(self) -> Any:
        return 1 / (2 * self.multiplier**2) + self.epsilon**2 / 8

    def _left(self) -> Any:
        return (self.rho - self.used) * (1 - 1e-12)  # minus a margin for rounding errors

    def _finish_if_short(self) -> None:
        """If the remaining budget is at most the cost of two rounds, give all of it to the next round, the last one."""
        left = self._left()
        if left <= 2 * self._cost():
            self.last = True
            self._share(left, 1)

    def _share(self, budget, rounds) -> None:
        self.multiplier = math.sqrt(rounds / (2 * self.alpha * budget))
        self.epsilon = math.sqrt(8 * (1 - self.alpha) * budget / rounds)


class ExactSchedule(Schedule):
    """A `Schedule` in fractions; scales are rounded up and epsilons down, and `used` is exact and never exceeds rho.

    rho, rounds : Fractions in (0, inf); alpha : Fraction in (0, 1)
    """

    def __init__(self, rho: Fraction, rounds: Fraction, alpha: Fraction) -> None:
        self.rho, self.alpha, self.used = rho, alpha, Fraction(0)
        self.rounds, self.exhausted = rounds, False
        self.divide()

    def _grow(self, growth) -> None:
        self.multiplier, self.epsilon = (
            root_up(self.multiplier**2 / growth, _BITS),
            root_down(self.epsilon**2 * growth, _BITS),
        )

    def _left(self) -> Fraction:
        return self.rho - self.used

    def _share(self, budget, rounds) -> None:
        """Set the scale and the epsilon of `rounds` rounds that together cost at most `budget`. Those of the last round
        have more binary digits, because budget that is left over by rounding would be lost."""
        bits = 20 if self.last else _BITS
        self.multiplier = root_up(rounds / (2 * self.alpha * budget), bits)
        self.epsilon = root_down(8 * (1 - self.alpha) * budget / rounds, bits)

    def multiplier_of(self, share: Fraction) -> Fraction:
        """Return the multiplier of `Schedule.multiplier_of`, rounded up to a Fraction with few binary digits."""
        return root_up(1 / (2 * share * self.rho), _BITS)
