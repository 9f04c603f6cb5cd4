"""Mechanisms that add noise to a number or a vector. `guarantees` describes their common interface.

`Laplace` and `Gaussian` are the textbook mechanisms. Their guarantees assume real numbers, but they compute in floating
point; `floating_point` shows what this difference reveals. `DiscreteLaplace` and `DiscreteGaussian` add exact integer
noise to integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

import numpy as np
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting import numerical, privacy_loss
from ..accounting.divergence import expm1mx
from ..numerics import checks
from ..numerics.checks import Numbers, PositiveFields, number, plain, whole
from ..numerics.elementwise import quotient_up, raised, raised_delta, ratio, rounded_up
from . import exact_noise, noise
from .guarantees import FromLoss
from .noise import SystemRandomness


class _AddedNoise:
    """Base class of the four mechanisms. The noise `_noise` has the scale or sigma in the field that `_size` names."""

    sensitivity: float
    events = "thresholds"
    _size: str
    _noise: Callable[..., np.ndarray]

    @property
    def worst_case(self) -> tuple[float, float]:
        """Return two answers, 0 and `sensitivity`, which differ by the sensitivity."""
        return 0 * self.sensitivity, self.sensitivity

    def release(self, value: ArrayLike, *, rng: np.random.Generator | SystemRandomness) -> np.number | np.ndarray:
        """Return `value` plus noise, as a float array of the same shape. `value` must be finite and may have any shape.

        The discrete mechanisms accept integers in [-2^53, 2^53] and return integers; their `rng` may be
        `noise.system_rng()`.
        """
        value = self._checked(value)
        return value + self._noise(value.shape, getattr(self, self._size), rng=rng)

    @staticmethod
    def _checked(value) -> np.ndarray:
        return checks.real("value", value, "(-inf, inf)")


class _WholeNoise(_AddedNoise, FromLoss):
    """Base class of the discrete mechanisms, which add exact noise; its scale or sigma is a Fraction."""

    def __post_init__(self):
        object.__setattr__(self, self._size, exact_noise.fraction(self._size, getattr(self, self._size)))
        object.__setattr__(self, "sensitivity", whole("sensitivity", self.sensitivity, "[1, inf)"))

    @property
    def _size_down(self) -> float:
        """Return the largest double that is not above the scale or sigma."""
        up = rounded_up(size := getattr(self, self._size))
        return up if up == size else nextafter(up, 0)

    @staticmethod
    def _checked(value) -> np.ndarray:
        return checks.integer("value", value, f"[{-(2**53)}, {2**53}]").astype(np.int64)


def _proportional(rho, alpha):
    """Return alpha rho, the RDP epsilon of Gaussian noise at each order `alpha` in (1, inf), any shape."""
    with np.errstate(over="ignore"):
        return raised(checks.real("alpha", alpha, "(1, inf)") * rho)


@dataclass(frozen=True)
class Laplace(_AddedNoise, PositiveFields):
    """Add Laplace noise of `scale` in (0, inf) to a query of L1 `sensitivity` in (0, inf).

    Source: kiri2019, "Laplace Mechanism" (equations 3 and 4); sei2017, Theorem 1; Dwork, McSherry, Nissim, Smith 2006.

    >>> import numpy as np
    >>> from lib.mechanisms import Laplace
    >>> count = Laplace.calibrated(epsilon=0.5)
    >>> print(count, count.epsilon)
    Laplace(scale=2.0, sensitivity=1.0) 0.5
    >>> print(count.release(120, rng=np.random.default_rng(0)).round(2))
    120.64
    """

    scale: float
    sensitivity: float = 1.0
    _size, _noise = "scale", staticmethod(noise.laplace)

    @classmethod
    def calibrated(cls, epsilon: float, sensitivity: float = 1.0) -> Laplace:
        """Return the `epsilon`-DP mechanism with scale sensitivity / epsilon, rounded up, for epsilon in (0, inf)."""
        sensitivity = number("sensitivity", sensitivity, "(0, inf)")
        return cls(float(quotient_up(sensitivity, number("epsilon", epsilon, "(0, inf)"))), sensitivity)

    @property
    def epsilon(self) -> float:
        """Return the epsilon of pure DP, in (0, inf]: sensitivity / scale, rounded up."""
        return float(quotient_up(float(self.sensitivity), float(self.scale)))

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho, the mean loss epsilon + e^-epsilon - 1; it is below epsilon^2/2.

        The supremum of D_alpha / alpha is its limit as alpha goes to 1. With u = alpha - 1/2, e^((alpha-1) D_alpha) is
        a constant times cosh(u epsilon) + sinh(u epsilon)/(2u). As a function of u^2, this expression has only real,
        negative zeros, so its logarithm is concave. D_alpha / alpha is the slope of the chord of this logarithm from
        1/4 to u^2, so it decreases as alpha grows.
        """
        return float(raised(expm1mx(-self.epsilon)))

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        """Return the privacy loss of the worst neighbours, for `accounting.prv_compose`."""
        return numerical.LaplaceLoss(float(ratio("scale", self.sensitivity, self.scale)))

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """Return the smallest delta at each `epsilon` in [0, inf): max(0, 1 - e^((epsilon - sensitivity/scale)/2)).

        Source: Balle, Barthe, Gaboardi 2020, Theorem 3.
        """
        short = np.minimum(checks.real("epsilon", epsilon, "[0, inf)") - self.epsilon, 0)
        return raised_delta(-np.expm1(short / 2))

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """Return the smallest epsilon at each `delta` in [0, 1)."""
        saved = 2 * np.log1p(-checks.real("delta", delta, "[0, 1)"))
        return plain(np.clip(self.epsilon + saved + 2.0**-50 * self.epsilon, 0.0, self.epsilon))

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """Return the RDP epsilon at each order `alpha` in (1, inf) (Mironov 2017, Proposition 6)."""
        given = checks.real("alpha", alpha, "(1, inf)") - 1
        x = np.minimum(given, 1e150)  # beyond it only the two bounds below apply
        with np.errstate(over="ignore"):  # in entries that `where` discards, and to inf
            rise, fall = x * self.epsilon, -(1 + x) * self.epsilon
            # The first-order terms, (1 + x) rise + x fall, cancel; without them small epsilons keep their digits.
            near = np.log1p(((1 + x) * expm1mx(np.minimum(rise, 1)) + x * expm1mx(fall)) / (1 + 2 * x))
            far = np.logaddexp(np.log((1 + x) / (1 + 2 * x)) + rise, np.log(x / (1 + 2 * x)) + fall)
            # Rounding may exceed the bounds, which are accurate enough where the terms underflow.
            exact = np.where((given > x) | (self.epsilon < 1e-140), np.inf, np.where(rise < 1, near, far) / x)
            return plain(np.minimum(np.minimum(raised(exact), raised((1 + given) * self.rho)), self.epsilon))


@dataclass(frozen=True)
class Gaussian(_AddedNoise, PositiveFields):
    """Add normal noise of standard deviation `sigma` in (0, inf) to a query of L2 `sensitivity` in (0, inf).

    >>> import numpy as np
    >>> from lib.mechanisms import Gaussian
    >>> sums = Gaussian.calibrated(epsilon=1.0, delta=1e-6, sensitivity=2.0)
    >>> print(round(sums.sigma, 3), round(sums.epsilon_at(1e-6), 6))
    8.449 1.0
    >>> print(sums.release([10.0, 20.0], rng=np.random.default_rng(0)).round(2))
    [11.06 18.88]
    """

    sigma: float
    sensitivity: float = 1.0
    _size, _noise = "sigma", staticmethod(noise.gaussian)
    epsilon = inf

    @classmethod
    def calibrated(cls, epsilon: float, delta: float, sensitivity: float = 1.0) -> Gaussian:
        """Return the (`epsilon`, `delta`)-DP mechanism of smallest sigma, for epsilon in [0, inf) and delta in (0, 1).

        Source: Balle and Wang 2018, Theorem 8.
        """
        delta = number("delta", delta, "(0, 1)")
        sensitivity = number("sensitivity", sensitivity, "(0, inf)")
        epsilon = number("epsilon", epsilon, "[0, inf)")
        return cls(float(accounting.gaussian_sigma(epsilon, delta, sensitivity)), sensitivity)

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho, in (0, inf): sensitivity^2 / (2 sigma^2), rounded up."""
        return float(accounting.gaussian_zcdp(self.sigma, self.sensitivity))

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        """Return the privacy loss of the worst neighbours, for `accounting.prv_compose`."""
        return numerical.GaussianLoss(float(ratio("sigma", self.sensitivity, self.sigma)))

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """Return the smallest delta at each `epsilon` in [0, inf): `accounting.gaussian_delta`."""
        return accounting.gaussian_delta(self.sigma, epsilon, self.sensitivity)

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """Return the smallest epsilon at each `delta` in (0, 1): `accounting.gaussian_epsilon`."""
        return accounting.gaussian_epsilon(self.sigma, delta, self.sensitivity)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """Return the RDP epsilon at each order `alpha` in (1, inf): alpha rho (Mironov 2017, Proposition 7)."""
        return _proportional(self.rho, alpha)


@dataclass(frozen=True)
class DiscreteLaplace(_WholeNoise):
    """Add exact discrete Laplace noise of `scale` in (0, inf) to integers of L1 `sensitivity`, an integer >= 1.

    The curves `delta`, `epsilon_at` and `rdp` are those of the worst neighbours, which differ by `sensitivity` in one
    entry. At sensitivity 1, they are exactly the curves of randomized response. With the scale sensitivity / epsilon,
    the mechanism is epsilon-DP, but not with any smaller epsilon.
    Coq checks the noise and this epsilon: `noise_is_law`, `discrete_laplace_private` and `discrete_laplace_no_better`
    in proofs/.
    Source: Ghosh, Roughgarden, Sundararajan 2012; Canonne, Kamath, Steinke 2020.

    >>> import numpy as np
    >>> from lib.mechanisms import DiscreteLaplace
    >>> count = DiscreteLaplace.calibrated(epsilon=0.5)
    >>> print(count.release([120, 0], rng=np.random.default_rng(0)))
    [119   6]
    """

    scale: float | Fraction
    sensitivity: int = 1
    _size, _noise = "scale", staticmethod(exact_noise.discrete_laplace)

    @classmethod
    def calibrated(cls, epsilon: float | Fraction, sensitivity: int = 1) -> DiscreteLaplace:
        """Return the `epsilon`-DP mechanism with scale sensitivity / epsilon; epsilon in (0, inf) may be a Fraction."""
        epsilon = exact_noise.fraction("epsilon", epsilon)
        return cls(whole("sensitivity", sensitivity, "[1, inf)") / epsilon, sensitivity)

    @property
    def epsilon(self) -> float:
        """Return the epsilon of pure DP, in (0, inf]: sensitivity / scale, rounded up."""
        return rounded_up(self.sensitivity / self.scale)

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho, the mean loss; as for `Laplace`, D_alpha / alpha has this limit at alpha = 1.

        With s = 1/scale, rho is epsilon + (e^-epsilon - 1) s / sinh(s), computed as a sum of two positive terms.
        """
        each = min(rounded_up(1 / self.scale), 700.0)
        rest = np.expm1(-self.epsilon) * (expm1mx(-each) - expm1mx(each)) / (2 * np.sinh(each))
        return float(raised(expm1mx(-self.epsilon) + rest, 2.0**-48))

    @property
    def loss(self) -> accounting.DiscreteLoss:
        return privacy_loss.discrete_laplace(self._size_down, self.sensitivity)


@dataclass(frozen=True)
class DiscreteGaussian(_WholeNoise):
    """Add exact discrete Gaussian noise of `sigma` in (0, inf) to integers of L2 `sensitivity`, an integer >= 1.

    `rho` and `rdp` hold for all neighbours at L2 distance up to `sensitivity`. `delta`, `epsilon_at` and `prv` hold for
    neighbours that differ in one entry, and for sigma up to 1e4.
    Source: Canonne, Kamath, Steinke 2020, Theorems 4 and 7.
    """

    sigma: float | Fraction
    sensitivity: int = 1
    _size, _noise = "sigma", staticmethod(exact_noise.discrete_gaussian)
    epsilon = inf

    @classmethod
    def calibrated(cls, epsilon: float, delta: float, sensitivity: int = 1) -> DiscreteGaussian:
        """Return an (`epsilon`, `delta`)-DP mechanism, sigma nearly minimal; epsilon in [0, inf), delta in (0, 1)."""
        epsilon, delta = number("epsilon", epsilon, "[0, inf)"), number("delta", delta, "(0, 1)")
        sensitivity = whole("sensitivity", sensitivity, "[1, inf)")
        high = float(accounting.gaussian_sigma(epsilon, delta, sensitivity))  # nearly right, unless very small
        while cls(high, sensitivity).delta(epsilon) > delta:
            high *= 1.5
        low = high / 2
        while low > 0.01 and cls(low, sensitivity).delta(epsilon) <= delta:
            low, high = low / 2, low
        while high > low * (1 + 1e-9):
            middle = (low + high) / 2
            low, high = (low, middle) if cls(middle, sensitivity).delta(epsilon) <= delta else (middle, high)
        return cls(high, sensitivity)

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho, in (0, inf]: sensitivity^2 / (2 sigma^2), rounded up."""
        return rounded_up(self.sensitivity**2 / (2 * Fraction(self.sigma) ** 2))

    @property
    def loss(self) -> accounting.DiscreteLoss:
        return privacy_loss.discrete_gaussian(self._size_down, self.sensitivity)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """Return an RDP epsilon at each order `alpha` in (1, inf): alpha rho, attained at integer orders."""
        return _proportional(self.rho, alpha)
