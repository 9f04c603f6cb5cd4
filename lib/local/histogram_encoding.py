"""Histogram encoding: Laplace noise on every cell of the one-hot vector (SHE), and then a threshold (THE).

Two one-hot vectors differ by 2 in L1, so Laplace noise of scale 2/epsilon makes the vector epsilon-DP.

Reference: Wang et al. 2017, Section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..mechanisms import noise
from ..numerics import checks
from ..numerics.elementwise import rounded_up
from .protocol import FrequencyOracle, representable
from .unary_encoding import UnaryEncoding


class SHE(FrequencyOracle):
    """Summation with histogram encoding: reports are the noisy one-hot vectors, and support counts are their sum.

    epsilon : [1e-150, inf)

    The protocol is not pure: the support that a report lends a value is a real number, with mean p = 1 for the user's
    value and q = 0 for any other, and variance 8/eps^2. So the variance of the estimate is 8/(n eps^2) at every
    frequency. `probability` gives the density of a report.

    The guarantee holds for real numbers. In floating-point arithmetic, the last digits of a report can reveal which
    values are not the user's, unless reports are rounded before they are sent, for example to multiples of 2^-20.
    """

    p, q, _gap = 1.0, 0.0, 1.0

    def __init__(self, k: int, epsilon: float) -> None:
        super().__init__(k, checks.number("epsilon", epsilon, "[1e-150, inf)"))  # below, the variance overflows
        self.scale = rounded_up(2 / Fraction(self.epsilon))
        self.report_bytes = 8 * self.k

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the one-hot vector of each of the `values` plus Laplace noise, shape (n, k)."""
        values = self._checked_values(values)
        rows = noise.laplace((values.size, self.k), self.scale, rng=rng)
        rows[np.arange(values.size), values] += 1
        return rows

    def supports(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the reports themselves. Raises ``ValueError`` unless they are in [-1e300, 1e300], of shape (n, k)."""
        reports = checks.real("reports", reports, "[-1e300, 1e300]")
        if reports.ndim != 2 or reports.shape[1] != self.k:
            raise ValueError(f"reports must have shape (n, {self.k}), got {reports.shape}")
        return reports

    def probability(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return the density of each report under each value of its sender, shape (n, k)."""
        reports = self.supports(reports)
        distance = np.abs(reports).sum(axis=1, keepdims=True) - np.abs(reports) + np.abs(reports - 1)
        with np.errstate(over="ignore"):  # to inf, which is refused
            return representable(np.exp(-distance / self.scale - self.k * math.log(2 * self.scale)))

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return support counts from their exact joint law: n Laplace variables sum to a difference of two gammas."""
        own = self._checked_true_counts(counts)
        plus, minus = rng.standard_gamma(np.full((2, self.k), own.sum(), dtype=float))
        return own + self.scale * (plus - minus)

    def _variance_ends(self, estimate=None) -> tuple:
        return (2 * self.scale**2,) * 2

    def _checked_counts(self, counts, n) -> np.ndarray:
        counts = checks.real("counts", counts, "(-inf, inf)")  # any real sum can come from any n
        if counts.shape[-1:] != (self.k,):
            raise ValueError(f"counts must have shape (..., {self.k}), got {counts.shape}")
        return counts


class THE(UnaryEncoding):
    """Thresholding with histogram encoding: a bit for each noisy cell, 1 if the cell is above `theta`.

    theta : [0, 1]; default: the threshold with the smallest variance at frequency 0

    The bits are independent, so the client draws them with their probabilities p and q and never draws the noise. The
    law of a report is the same, but no Laplace variable is rounded. Thresholding makes `privacy_loss` smaller than
    `epsilon`.
    """

    def __init__(self, k: int, epsilon: float, theta: float | None = None) -> None:
        epsilon = checks.number("epsilon", epsilon, "(0, inf)")
        self.theta = optimal_threshold(epsilon) if theta is None else checks.number("theta", theta, "[0, 1]")
        super().__init__(k, epsilon, self.theta)

    @staticmethod
    def probabilities(epsilon: Any, theta: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the probabilities (p, q) for theta in [0, 1], from numbers or, with sympy's `exp`, from symbols."""
        return 1 - exp(epsilon * (theta - 1) / 2) / 2, exp(-epsilon * theta / 2) / 2


def optimal_threshold(epsilon: float) -> float:
    """Return the threshold in [1/2, 1] with the smallest variance at frequency 0.

    epsilon : (0, inf); above 1000 the result is the threshold for 1000, because any threshold would do

    With c = e^(-epsilon/2), y = 2 e^(epsilon theta/2) - 1 solves 3 c y^2 = (4 - 2 c) y + c. A search for the zero of
    the slope loses no digits. Wang et al. 2017 also solve for the threshold numerically.
    """
    epsilon = min(checks.number("epsilon", epsilon, "(0, inf)"), 1000.0)

    def slope(theta):  # of log((p - q)^2 / (q (1 - q))), up to a positive factor
        q = math.exp(-epsilon * theta / 2) / 2
        gap = -(math.expm1(epsilon * (theta - 1) / 2) + math.expm1(-epsilon * theta / 2)) / 2  # p - q
        return gap * (1 - 2 * q) - 2 * q * math.expm1(epsilon * (theta - 0.5)) * (1 - q)  # q e^... = 1 - p

    return float(scipy.optimize.brentq(slope, 0.5, 1, xtol=1e-15))
