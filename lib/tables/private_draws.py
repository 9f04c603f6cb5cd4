"""Draw what AIM takes from the data, in floating point or exactly: noisy counts, and which marginal to measure next.

`ExactDraws` computes only with integers until the noise is added, so that its guarantee holds for the program:

- Counts are integers, and their noise is an exact discrete Gaussian. With L2 sensitivity s, integer counts plus noise
  of variance parameter sigma^2 are s^2/(2 sigma^2)-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14).
- The model is public, because it is computed from noisy counts. Its marginals and the expected noise are rounded to
  multiples of 1/`GRAIN`, and the weights, which are public, to integers. In units of 1/`GRAIN`, the scores are then
  integers. Adding or removing a record changes a score by at most GRAIN times the largest weight, and replacing a
  record by at most twice that. The exact exponential mechanism makes the choice.

For tables of fewer than 2^50 records, the sums of 64-bit integers cannot overflow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..accounting.certified import root_up
from ..mechanisms.exact_noise import discrete_gaussian
from ..mechanisms.noise import SystemRandomness, gaussian, laplace
from ..mechanisms.selection import exact_exponential, exponential

GRAIN = 1024
_LARGEST_WEIGHT = 2**10
_MOST_RECORDS = 2**50


class FloatingDraws:
    """Draws with double-precision noise from a numpy generator.

    noise : "gaussian" or "laplace"; changed : the number of counts in a marginal that one record changes, 1 or 2
    weights : mapping from each candidate's clique to its weight
    clear : whether scores omit differences within the noise (`plan`)
    """

    weights: Mapping[tuple[int, ...], Any]  # integers in `ExactDraws`

    def __init__(
        self, noise: str, changed: int, weights: Mapping[tuple[int, ...], float], rng: Any, clear: bool = False
    ) -> None:
        self.noise, self.changed, self.weights, self.rng, self.clear = noise, changed, weights, rng, clear

    def scale(self, multiplier: Any) -> Any:
        """Return the scale of the noise, `multiplier` times the sensitivity; this gives 1 / (2 multiplier^2)-zCDP.

        The scale of Gaussian noise is its standard deviation; the L2 sensitivity is the square root of the number of
        changed counts. Laplace noise of scale b at L1 sensitivity s gives s/b-DP, and therefore (s/b)^2/2-zCDP.
        """
        return multiplier * (math.sqrt(self.changed) if self.noise == "gaussian" else self.changed)

    def per_cell(self, scale: float) -> float:
        """Return the mean absolute noise of a count."""
        return scale * (math.sqrt(2 / math.pi) if self.noise == "gaussian" else 1.0)

    @property
    def variance_of_squares(self) -> float:
        """Return the variance of the squared noise of a count, in units of the squared variance of the noise."""
        return 2.0 if self.noise == "gaussian" else 5.0

    def noisy(self, counts: np.ndarray, scale: Any) -> tuple[np.ndarray, float]:
        """Return `counts` with noise, and the standard deviation of this noise."""
        draw, deviation = (gaussian, scale) if self.noise == "gaussian" else (laplace, scale * math.sqrt(2))
        return counts + draw(counts.shape, scale, rng=self.rng), deviation

    def score(self, clique: tuple[int, ...], truth: np.ndarray, believed: np.ndarray, scale: Any) -> float:
        """Return the score of a candidate; it is higher if the model's counts are further from the true counts.

        truth : the true counts; believed : the model's counts; scale : the scale of the noise that the measurement will
            have
        """
        off, expected = np.abs(truth - believed), self.per_cell(scale)
        return self.weights[clique] * self._beyond(off, expected)

    def _beyond(self, off, expected):
        """Return the sum of `off` - `expected` over all cells or, if `clear`, over the cells where it is positive."""
        return np.maximum(off - expected, 0).sum() if self.clear else off.sum() - expected * off.size

    def choose(self, scores: Mapping[tuple[int, ...], float], epsilon: Any) -> tuple[int, ...]:
        """Return a clique with a high score in the mapping `scores`, by the exponential mechanism with `epsilon`."""
        sensitivity = self.changed * max(self.weights.values())
        return list(scores)[exponential(list(scores.values()), epsilon, sensitivity, rng=self.rng)]


class ExactDraws(FloatingDraws):
    """Exact draws of Gaussian noise and of choices, in integers; scales and epsilons are Fractions (see the module)."""

    def __init__(self, changed: int, weights: Mapping[tuple[int, ...], float],
                 rng: np.random.Generator | SystemRandomness, clear: bool = False) -> None:  # fmt: skip
        super().__init__("gaussian", changed, _whole(weights), rng, clear)

    def scale(self, multiplier: Fraction) -> Fraction:
        """Return `FloatingDraws.scale` as a Fraction, rounded up. Raises ``ValueError`` at 2^50 or above."""
        scale = root_up(multiplier**2 * self.changed, bits=20)
        if scale >= _MOST_RECORDS:
            raise ValueError(
                f"noise must have a standard deviation below 2^50, got {float(scale):g}: epsilon or alpha is too small, or there are too many rounds"
            )
        return scale

    def noisy(self, counts: np.ndarray, scale: Fraction) -> tuple[np.ndarray, float]:
        """Return integer counts with integer noise, and approximately the standard deviation of this noise."""
        return counts + discrete_gaussian(counts.shape, scale, rng=self.rng), float(scale)

    def score(self, clique: tuple[int, ...], truth: np.ndarray, believed: np.ndarray, scale: Fraction) -> int:
        """Return the score of `FloatingDraws.score` as an integer, in units of 1/GRAIN."""
        off, expected = np.abs(GRAIN * truth - _grains(believed)), GRAIN * self.per_cell(float(scale))
        return self.weights[clique] * self._beyond(off, expected)

    def _beyond(self, off, expected) -> int:
        if self.clear:
            return int(np.maximum(off - round(expected), 0).sum())
        return int(off.sum()) - round(expected * off.size)

    def choose(self, scores: Mapping[tuple[int, ...], Any], epsilon: Fraction) -> tuple[int, ...]:
        """Return a clique as `FloatingDraws.choose` does, with exact probabilities; `epsilon` is a Fraction."""
        sensitivity = GRAIN * self.changed * max(self.weights.values())
        return list(scores)[exact_exponential(scores.values(), epsilon, sensitivity, rng=self.rng)]


def _grains(marginal) -> np.ndarray:
    """Return a public marginal in units of 1/`GRAIN`, as integers of at least 0 whose sum is below 2^60."""
    total = float(marginal.sum())
    if not total < _MOST_RECORDS:
        raise ArithmeticError(f"the model must have fewer than 2^50 records, got {total:g}: epsilon is too small")
    return np.rint(GRAIN * marginal).astype(np.int64)


def _whole(weights) -> dict:
    """Return the public weights as integers: unchanged if they are integers of at most 1024. Otherwise the unit is
    1/1024 of the largest weight, and weights that would round to 0 become 1."""
    if all(weight == int(weight) <= _LARGEST_WEIGHT for weight in weights.values()):
        return {clique: int(weight) for clique, weight in weights.items()}
    unit = max(weights.values()) / _LARGEST_WEIGHT
    return {clique: max(round(weight / unit), 1) for clique, weight in weights.items()}
