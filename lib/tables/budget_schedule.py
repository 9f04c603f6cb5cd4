"""How AIM spends its budget round by round (miura2025, Algorithm 2, lines 1, 2 and 10; Algorithm 4)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..accounting.certified import root_down, root_up
from ..numerics import checks

# The share for measuring. Nearer to 1, the rounding of `used` could leave less than nothing for the last round.
ALPHAS = "[1e-9, 0.999999]"


class Schedule:
    """How the budget rho is spent; `used` never exceeds it but for rounding.

    rho, rounds : [1e-100, 1e100]; alpha : [1e-9, 0.999999]
    `multiplier` and `epsilon` are those of the next round: sigma_t for sensitivity 1, and epsilon_t.
    Source: miura2025, Algorithm 2, lines 1, 2 and 10; Algorithm 4.
    """

    rho: Any  # floats here, fractions in `ExactSchedule`
    alpha: Any
    used: Any
    multiplier: Any
    epsilon: Any

    def __init__(self, rho: float, rounds: float, alpha: float) -> None:
        rho, rounds = checks.number("rho", rho, "[1e-100, 1e100]"), checks.number("rounds", rounds, "[1e-100, 1e100]")
        self.rho, self.alpha, self.used = rho, checks.number("alpha", alpha, ALPHAS), 0.0
        self.multiplier = math.sqrt(rounds / (2 * self.alpha * rho))
        self.epsilon = math.sqrt(8 * (1 - alpha) * rho / rounds)
        self.last = self.exhausted = False
        self._finish_if_short()

    def measure(self) -> None:
        """Spend on one measurement without a choice."""
        self.used += 1 / (2 * self.multiplier**2)
        self._finish_if_short()

    def spend(self) -> None:
        """Spend on a whole round: a choice and a measurement."""
        self.used += self._cost()
        self.exhausted = self.last

    def advance(self, anneal: bool) -> None:
        """Set the next round's share; `anneal` says that the last one taught the model too little."""
        if anneal:
            self.multiplier, self.epsilon = self.multiplier / 2, 2 * self.epsilon
        self._finish_if_short()

    def _cost(self) -> float:
        return 1 / (2 * self.multiplier**2) + self.epsilon**2 / 8

    def _finish_if_short(self) -> None:
        """If less than two rounds' worth is left, the next round is the last and gets it all."""
        left = (self.rho - self.used) * (1 - 1e-12)  # less rounding errors
        if left <= 2 * self._cost():
            self.last = True
            self.epsilon = math.sqrt(8 * (1 - self.alpha) * left)
            self.multiplier = math.sqrt(1 / (2 * self.alpha * left))


class ExactSchedule(Schedule):
    """The same in fractions, each scale rounded up and each epsilon down: `used` is exact, and never exceeds rho.

    rho, rounds : Fractions in (0, inf); alpha : Fraction in (0, 1)
    """

    def __init__(self, rho: Fraction, rounds: Fraction, alpha: Fraction) -> None:
        self.rho, self.alpha, self.used = rho, alpha, Fraction(0)
        self._divide(rho / rounds)
        self.last = self.exhausted = False
        self._finish_if_short()

    def _divide(self, budget: Fraction, bits: int = 13) -> None:
        """Rounds that cost at most `budget`, in few binary digits: then drawing is quick, in 64-bit integers."""
        self.multiplier = root_up(1 / (2 * self.alpha * budget), bits)
        self.epsilon = root_down(8 * (1 - self.alpha) * budget, bits)

    def _finish_if_short(self) -> None:
        left = self.rho - self.used
        if left <= 2 * self._cost():
            self.last = True
            self._divide(left, bits=20)  # nobody spends what it leaves
