"""Mechanisms that add noise to a number or a vector: see `guarantees` for what each of them knows.

`Laplace` and `Gaussian` are the textbook's, in floating point; their guarantee is that of real numbers
(`floating_point` shows the difference). `DiscreteLaplace` and `DiscreteGaussian` add whole numbers to
whole numbers, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting import numerical, privacy_loss
from ..accounting.divergence import expm1mx
from ..numerics import checks
from ..numerics.checks import Numbers, PositiveFields, number, plain, whole
from ..numerics.elementwise import ratio
from . import exact_noise, noise
from .guarantees import FromLoss
from .noise import SystemRandomness


class _AddedNoise:
    """What all four share: `_noise` of the size that the field called `_size` has."""

    sensitivity: float
    events = "thresholds"
    _size: str
    _noise: Callable[..., np.ndarray]

    @property
    def worst_case(self) -> tuple[float, float]:
        return 0 * self.sensitivity, self.sensitivity

    def release(self, value: ArrayLike, *, rng: np.random.Generator | SystemRandomness) -> np.number | np.ndarray:
        """`value`, finite, any shape, with noise: a float array of that shape.

        The discrete ones take and give whole numbers, `value` in [-2^53, 2^53]; their `rng` is also `noise.system_rng()`.
        """
        value = self._checked(value)
        return value + self._noise(value.shape, getattr(self, self._size), rng=rng)

    @staticmethod
    def _checked(value) -> np.ndarray:
        return checks.real("value", value, "(-inf, inf)")


class _WholeNoise(_AddedNoise, FromLoss):
    """What the discrete ones share: exact noise, whose size is a Fraction."""

    def __post_init__(self):
        object.__setattr__(self, self._size, exact_noise.fraction(self._size, getattr(self, self._size)))
        object.__setattr__(self, "sensitivity", whole("sensitivity", self.sensitivity, "[1, inf)"))

    @staticmethod
    def _checked(value) -> np.ndarray:
        return checks.integer("value", value, f"[{-(2**53)}, {2**53}]").astype(np.int64)


def _proportional(rho, alpha):
    """alpha rho, the RDP of Gaussian noise at orders `alpha` in (1, inf), any shape."""
    with np.errstate(over="ignore"):
        return plain(checks.real("alpha", alpha, "(1, inf)") * rho)


@dataclass(frozen=True)
class Laplace(_AddedNoise, PositiveFields):
    """Adds Laplace noise of `scale` in (0, inf) to a query of L1 `sensitivity` in (0, inf).

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
        """The one that is `epsilon`-DP, epsilon in (0, inf): scale = sensitivity / epsilon."""
        sensitivity = number("sensitivity", sensitivity, "(0, inf)")
        return cls(sensitivity / number("epsilon", epsilon, "(0, inf)"), sensitivity)

    @property
    def epsilon(self) -> float:
        return float(self.sensitivity / self.scale)

    @property
    def rho(self) -> float:
        """zCDP: the mean loss epsilon + e^-epsilon - 1, below pure DP's epsilon^2/2.

        D_alpha / alpha is greatest as alpha goes to 1: with u = alpha - 1/2, e^((alpha-1) D_alpha) is
        cosh(u epsilon) + sinh(u epsilon)/(2u) but for a factor, which as a function of u^2 has real,
        negative zeros only, hence a concave logarithm.
        """
        return max(float(expm1mx(-self.epsilon)), np.finfo(float).tiny)

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        return numerical.LaplaceLoss(float(ratio("scale", self.sensitivity, self.scale)))

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """The least delta at `epsilon` in [0, inf), any shape: 1 - e^((epsilon - self.epsilon)/2) (Balle, Barthe,
        Gaboardi 2020, Theorem 3)."""
        return plain(-np.expm1(np.minimum(checks.real("epsilon", epsilon, "[0, inf)") - self.epsilon, 0) / 2) + 0.0)

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """The least epsilon at `delta` in [0, 1), any shape."""
        return plain(np.maximum(self.epsilon + 2 * np.log1p(-checks.real("delta", delta, "[0, 1)")), 0.0))

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """The RDP epsilon at orders `alpha` in (1, inf), any shape (Mironov 2017, Proposition 6)."""
        given = checks.real("alpha", alpha, "(1, inf)") - 1
        x = np.minimum(given, 1e150)  # beyond, only the two bounds below
        rise, fall = x * self.epsilon, -(1 + x) * self.epsilon
        # The terms of first order, (1 + x) rise + x fall, cancel: without them small epsilons keep their digits.
        with np.errstate(over="ignore"):  # where it is not near
            near = np.log1p(((1 + x) * expm1mx(np.minimum(rise, 1)) + x * expm1mx(fall)) / (1 + 2 * x))
        far = np.logaddexp(np.log((1 + x) / (1 + 2 * x)) + rise, np.log(x / (1 + 2 * x)) + fall)
        exact = np.where(rise < 1, near, far) / x
        with np.errstate(over="ignore"):
            bound = np.minimum((1 + given) * self.rho, self.epsilon)  # which rounding may exceed
        return plain(np.where(given > x, bound, np.minimum(exact, bound)))


@dataclass(frozen=True)
class Gaussian(_AddedNoise, PositiveFields):
    """Adds normal noise of standard deviation `sigma` in (0, inf) to a query of L2 `sensitivity` in (0, inf).

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
        """The one of least sigma that is (`epsilon`, `delta`)-DP; [0, inf), (0, 1) (Balle and Wang 2018, Theorem 8)."""
        delta = number("delta", delta, "(0, 1)")
        sensitivity = number("sensitivity", sensitivity, "(0, inf)")
        epsilon = number("epsilon", epsilon, "[0, inf)")
        return cls(float(accounting.gaussian_sigma(epsilon, delta, sensitivity)), sensitivity)

    @property
    def rho(self) -> float:
        return float(accounting.gaussian_zcdp(self.sigma, self.sensitivity))

    @property
    def prv(self) -> accounting.PrivacyLossVariable:
        return numerical.GaussianLoss(float(ratio("sigma", self.sensitivity, self.sigma)))

    def delta(self, epsilon: ArrayLike) -> Numbers:
        """The least delta at `epsilon` in [0, inf), any shape: `accounting.gaussian_delta`."""
        return accounting.gaussian_delta(self.sigma, epsilon, self.sensitivity)

    def epsilon_at(self, delta: ArrayLike) -> Numbers:
        """The least epsilon at `delta` in (0, 1), any shape: `accounting.gaussian_epsilon`."""
        return accounting.gaussian_epsilon(self.sigma, delta, self.sensitivity)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """The RDP epsilon at orders `alpha` in (1, inf), any shape: alpha rho (Mironov 2017, Proposition 7)."""
        return _proportional(self.rho, alpha)


@dataclass(frozen=True)
class DiscreteLaplace(_WholeNoise):
    """Adds exact discrete Laplace noise of `scale` in (0, inf) to whole numbers of L1 `sensitivity`, a whole number >= 1.

    The curves are those of neighbours that differ in one entry, by `sensitivity`, the worst there are.
    For sensitivity 1 the mechanism is as private as randomized response, no more and no less.
    Source: Ghosh, Roughgarden, Sundararajan 2012; Canonne, Kamath, Steinke 2020.
    Checked by Coq: `noise_is_law`, `discrete_laplace_private` and `discrete_laplace_no_better` in proofs/.

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
        """The one that is `epsilon`-DP, epsilon (int, float or Fraction) in (0, inf): scale = sensitivity / epsilon."""
        epsilon = exact_noise.fraction("epsilon", epsilon)
        return cls(whole("sensitivity", sensitivity, "[1, inf)") / epsilon, sensitivity)

    @property
    def epsilon(self) -> float:
        return float(self.sensitivity / self.scale)

    @property
    def rho(self) -> float:
        """zCDP: the mean loss; as for `Laplace`, D_alpha / alpha is greatest as alpha goes to 1."""
        return self.loss.kl

    @property
    def loss(self) -> accounting.DiscreteLoss:
        return privacy_loss.discrete_laplace(float(self.scale), self.sensitivity)


@dataclass(frozen=True)
class DiscreteGaussian(_WholeNoise):
    """Adds exact discrete Gaussian noise of `sigma` in (0, inf) to whole numbers of `sensitivity`, a whole number >= 1.

    `rho` and `rdp` hold for any neighbours of L2 distance up to `sensitivity`; `delta`, `epsilon_at` and
    `prv` for those that differ in one entry, and for a sigma of up to 1e4.
    Source: Canonne, Kamath, Steinke 2020, Theorems 4 and 7.
    """

    sigma: float | Fraction
    sensitivity: int = 1
    _size, _noise = "sigma", staticmethod(exact_noise.discrete_gaussian)
    epsilon = inf

    @classmethod
    def calibrated(cls, epsilon: float, delta: float, sensitivity: int = 1) -> DiscreteGaussian:
        """One that is (`epsilon`, `delta`)-DP with nearly the least sigma there is; [0, inf), (0, 1)."""
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
        return float(Fraction(self.sensitivity) ** 2 / (2 * self.sigma**2))

    @property
    def loss(self) -> accounting.DiscreteLoss:
        return privacy_loss.discrete_gaussian(float(self.sigma), self.sensitivity)

    def rdp(self, alpha: ArrayLike) -> Numbers:
        """An RDP epsilon at orders `alpha` in (1, inf), any shape: alpha rho, attained at whole orders."""
        return _proportional(self.rho, alpha)
