"""Numerical composition: the privacy loss variables of mechanisms, and the joint cost of many mechanisms.

A privacy random variable (PRV) is all that numerical composition needs to know about a mechanism. Every function here
and in `bounded_range` takes pairs (mechanism, count), like `composition.Accountant`. The mechanisms of `lib.mechanisms`
have such a variable as their attribute `prv`. A pair may contain a variable in place of a mechanism.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from ..numerics import checks, in_order
from ..numerics.checks import Numbers
from ..numerics.elementwise import raised, total_up
from .conversions import bounded_range_zcdp, pure_dp_to_zcdp
from .divergence import expm1mx

if TYPE_CHECKING:
    from prv_accountant.discrete_privacy_random_variable import DiscretePrivacyRandomVariable
    from prv_accountant.domain import Domain


Mechanisms = Iterable[tuple[Any, int]]  # pairs (mechanism of `lib.mechanisms` or variable, how many times it runs)
_MOST_POINTS = 50_000_000  # these take some gigabytes


class EpsilonBounds(NamedTuple):
    """Bounds on an epsilon: the true epsilon lies in [lower, upper]; quote `upper` as the guarantee."""

    lower: float
    estimate: float
    upper: float


# Numerical composition (Gopi, Lee, Wutschitz 2021). The package prv-accountant, which is slow to import, supplies the
# FFT. We replace three of its parts. Its grid extends 3 beyond the likely losses, which takes millions of points for a
# small epsilon, and depends on an RDP curve for pure DP that is too small. Its discretization computes means by
# quadrature, which can miss a jump. Its final search computes e^epsilon, which can overflow.
@dataclass(frozen=True)
class PrivacyLossVariable(ABC):
    """A privacy random variable for `prv_compose`: the privacy loss for a mechanism's worst pair of neighbours.

    Subclasses supply `cdf(t)`, at points t of any shape, and `truncated_mean(low, high)`, the mean over an interval
    (low, high]. This mean must be exact if low and high are the ends of the grid. Subclasses may override
    `masses(edges)` with a more accurate formula, and `rdp(alpha)`, `rho` and `largest` with sharper bounds.
    """

    size: float  # (0, inf): epsilon of pure DP, sensitivity / scale or sensitivity / sigma; size^2 / 2 is a rho

    def rdp(self, alpha: float) -> float:
        """Return an RDP cost at `alpha` in (1, inf); unless overridden, it is that of pure DP with epsilon `size`."""
        return min(self.size, float(raised(alpha * self.rho)))

    @property
    def rho(self) -> float:
        """Return a zCDP cost; unless overridden, it is that of pure DP with epsilon `size`."""
        return float(pure_dp_to_zcdp(self.size))

    @property
    def largest(self) -> float:
        """Return the largest possible privacy loss: the pure-DP cost."""
        return self.size

    @property
    def reversed(self) -> PrivacyLossVariable:
        """Return the loss of the pair in reverse order; unless overridden, the pair is taken to be symmetric."""
        return self

    @abstractmethod
    def cdf(self, t: Numbers) -> Numbers:
        """Return the probability that the loss is at most each entry of `t`, an array of any shape."""

    @abstractmethod
    def truncated_mean(self, low: float, high: float) -> float:
        """Return the mean of the losses in (low, high]."""

    def masses(self, edges: np.ndarray) -> np.ndarray:
        """Return the probabilities (n,) that the loss lies between consecutive increasing `edges` (n + 1,)."""
        return np.diff(self.cdf(edges))


class GaussianLoss(PrivacyLossVariable):
    """The privacy loss of the Gaussian mechanism: the normal law N(size^2/2, size^2), `size` = sensitivity / sigma."""

    largest = np.inf

    def rdp(self, alpha: float) -> float:
        return float(raised(alpha * self.rho))

    def cdf(self, t: Numbers) -> Numbers:
        return scipy.special.ndtr(np.asarray(t / self.size - self.size / 2, dtype=float))

    def masses(self, edges: np.ndarray) -> np.ndarray:
        return self.standard_masses(edges / self.size - self.size / 2)

    @staticmethod
    def standard_masses(edges: np.ndarray) -> np.ndarray:
        """Return the standard normal mass between consecutive increasing `edges`, precise in both tails."""
        edges = np.asarray(edges, dtype=float)
        below, above = np.diff(scipy.special.ndtr(edges)), -np.diff(scipy.special.ndtr(-edges))
        return np.where(edges[:-1] < 0, below, above)

    def truncated_mean(self, low: float, high: float) -> float:
        ends = np.array([low, high]) / self.size - self.size / 2
        densities = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
        return self.size**2 / 2 - self.size * np.diff(densities).item() / np.diff(scipy.special.ndtr(ends)).item()


class LaplaceLoss(PrivacyLossVariable):
    """The Laplace mechanism's loss: atoms at -size and size, and a density proportional to e^(t/2) between them."""

    def cdf(self, t: Numbers) -> Numbers:
        return np.where(t < -self.size, 0, np.where(t < self.size, np.exp(np.minimum(t - self.size, 0) / 2) / 2, 1))

    def truncated_mean(self, low: float, high: float) -> float:  # the grid reaches beyond both atoms
        return float(expm1mx(-self.size))


class BoundedRangeLoss(PrivacyLossVariable):
    """A loss that dominates all mechanisms of range `size`; its density is proportional to e^(t/2) on [-size, size].

    For the interval [t - epsilon, t] of log-likelihood ratios (see `bounded_range`) the worst pair has delta(x) =
    (e^epsilon - e^t)(1 - e^(x-t)) / (e^epsilon - 1) for t - epsilon <= x <= t (Dong, Durfee, Rogers 2020). The maximum
    over t, attained at t = (epsilon + x)/2, is the curve of this variable,

        delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1),    -epsilon <= x <= epsilon.

    This curve bounds the curve of each t, so the variable also composes under adaptive choice (Zhu, Dong, Wang 2022).
    But no single mechanism attains the curve. The rho is epsilon^2/6 for the variable, epsilon^2/8 for bounded range
    and epsilon^2/2 for pure DP. `bounded_range.compose_schedule` comes as close to the optimum as its `resolution`
    allows.
    """

    def rdp(self, alpha: float) -> float:
        # log(sinh(u) / u) rises with u^2 at a rate of at most 1/6.
        return min(self.size, float(raised(alpha * (self.size / 6) * self.size)))

    @property
    def rho(self) -> float:
        """Return the zCDP cost of a mechanism of range `size`, size^2/8; the variable's own cost is size^2/6."""
        return float(bounded_range_zcdp(self.size))

    def cdf(self, t: Numbers) -> Numbers:
        inside = np.clip(np.asarray(t, dtype=float), -self.size, self.size)
        return np.exp((inside - self.size) / 2) * np.expm1(-(inside + self.size) / 2) / np.expm1(-self.size)

    def truncated_mean(self, low: float, high: float) -> float:  # the grid reaches beyond both ends
        if self.size < 0.01:  # the difference would lose its digits
            return self.size**2 / 6 - self.size**4 / 360
        return self.size / np.tanh(self.size / 2) - 2


def _variables(mechanisms: Mechanisms) -> list[tuple[Any, int]]:
    """Return pairs (variable, count). Raises ``ValueError`` if there is no pair or a count is not an integer >= 1."""
    pairs = [(getattr(each, "prv", each), checks.whole("count", count, "[1, inf)")) for each, count in mechanisms]
    if not pairs or not all(isinstance(prv, PrivacyLossVariable) for prv, _ in pairs):
        raise ValueError(
            "mechanisms must contain at least one pair of a mechanism (or a privacy-loss variable) and a count, got "
            f"{pairs}"
        )
    return pairs


def compose_zcdp(mechanisms: Mechanisms) -> float:
    """Return the rho of a composition, the sum of the mechanisms' rhos.

    mechanisms : as for `prv_compose`
    Source: Bun and Steinke 2016; miura2025, Proposition 2.7.

    >>> from lib.accounting import compose_zcdp
    >>> from lib.mechanisms import Gaussian
    >>> print(round(compose_zcdp([(Gaussian(5.0), 3)]), 4))
    0.06
    """
    mechanisms = list(mechanisms)
    return total_up([each.rho for each, _ in mechanisms], [count for _, count in _variables(mechanisms)])


def prv_compose(mechanisms: Mechanisms, delta: float, *, eps_error: float = 0.01,
                ) -> EpsilonBounds:  # fmt: skip
    """Return bounds on the epsilon at `delta` of a composition; `upper` is the guarantee.

    mechanisms : pairs (mechanism of `mechanisms` or variable, count >= 1). List equal mechanisms as one pair, because
        the run time grows with the number of pairs and with the square root of the total count
    delta : [1e-12, 1); eps_error : (0, inf)

    The true epsilon lies in [lower, upper], an interval slightly wider than 2 eps_error, and can exceed `estimate`.
    Negative bounds become 0. The bounds allow for rounding errors, whose size is estimated from the result. Raises
    ``ArithmeticError`` if delta is lost in rounding, or if the grid would exceed 50 million points. The mechanisms
    must be fixed in advance: if parameters are chosen from earlier outputs, the result is only a diagnostic.

    >>> from lib.accounting import prv_compose
    >>> from lib.mechanisms import Gaussian, Laplace
    >>> bounds = prv_compose([(Gaussian(5.0), 3), (Laplace(2.0), 1)], delta=1e-6)
    >>> print(round(bounds.upper, 1))
    2.0
    """
    delta = checks.number("delta", delta, "[1e-12, 1)")  # below, rounding errors rival delta
    delta_error = delta / 1000
    eps_error = checks.number("eps_error", eps_error, "(0, inf)")
    pairs = _variables(mechanisms)
    grid = _grid(pairs, eps_error, delta_error)
    rounding, left = 0.0, delta - delta_error - len(grid) * float(np.finfo(np.longdouble).eps)
    if left > 0:
        composed = _composed(pairs, grid)
        # Four times the likely error of a sum over a tail: no true sum is negative, so a negative sum shows the error.
        rounding = 4 * float(max(-composed.pmf.cumsum().min(), -composed.pmf[::-1].cumsum().min(), 0))
    if rounding >= left:
        lost = f"delta = {delta:g} is lost in rounding errors on a grid of {len(grid):,} points"
        raise ArithmeticError(f"{lost}: take a larger delta or eps_error, or fewer mechanisms")
    error = delta_error + rounding
    low, estimate, high = _epsilons(composed, [delta + error, delta, delta - error])
    return EpsilonBounds(*(max(bound, 0.0) for bound in (low - eps_error, estimate, high + eps_error)))


def _epsilons(composed, deltas) -> list[float]:
    """Return the epsilon of `composed`, a variable on a grid, at each of `deltas`, or -inf if the total mass is below
    delta. At t_i, delta is the mass at and above t_i minus damped_i. Here damped_i is the sum over j >= i of p_j e^(t_i
    - t_j), which cannot overflow."""
    backwards = composed.pmf[::-1]
    fall = np.exp(-np.longdouble(composed.domain.dt()))
    mass, damped = backwards.cumsum()[::-1], scipy.signal.lfilter([1], [1, -fall], backwards)[::-1]
    places = np.searchsorted(damped - mass, [-delta for delta in deltas])
    left = [max(mass[i] - delta, 0) for i, delta in zip(places, deltas)]
    with np.errstate(divide="ignore"):
        return [float(composed.domain.t(i) + np.log(rest / damped[i])) for i, rest in zip(places, left)]


def prv_distribution(mechanisms: Mechanisms, *, eps_error: float, delta_error: float) -> DiscretePrivacyRandomVariable:
    """Return the privacy random variable of a composition on a grid: the masses `pmf` at the points `domain.ts()`.

    mechanisms : as for `prv_compose`; eps_error : (0, inf); delta_error : [1e-300, 1)

    The variable can be coupled with the true variable so that the two differ by at most eps_error with probability at
    least 1 - delta_error.

    >>> from lib.accounting import prv_distribution
    >>> from lib.mechanisms import Gaussian
    >>> found = prv_distribution([(Gaussian(5.0), 3)], eps_error=0.1, delta_error=1e-6)
    >>> print(round(float(found.pmf.sum()), 6))
    1.0
    """
    pairs = _variables(mechanisms)
    eps_error = checks.number("eps_error", eps_error, "(0, inf)")
    delta_error = checks.number("delta_error", delta_error, "[1e-300, 1)")
    return _composed(pairs, _grid(pairs, eps_error, delta_error))


def _grid(pairs, eps_error, delta_error) -> Domain:
    """Return the grid on which `pairs` are composed; the number of its points is one for which the FFT is fast."""
    from prv_accountant.domain import Domain

    # Gopi et al., Theorem 5.5: the rounding errors add up to at most eps_error, except with probability delta_error /
    # 6. The rest of delta_error covers the events that a single loss or the sum of the losses leaves the grid: a
    # quarter of delta_error is for the single losses, and another quarter is for their sum.
    total = sum(count for _, count in pairs)
    reach = max(_reach([(each, 1)], delta_error / (8 * total), eps_error) for each, _ in pairs)
    reach = max(reach, _reach(pairs, delta_error / 8, eps_error) + eps_error)
    mesh = eps_error / np.sqrt(total / 2 * np.log(12 / delta_error))
    if not reach / mesh < _MOST_POINTS / 2:
        wanted = f"eps_error = {eps_error:g} for {total:g} mechanisms"
        raise ArithmeticError(
            f"{wanted} would need a grid of {2 * reach / mesh:.2g} points, more than {_MOST_POINTS:,}"
        )
    half = scipy.fft.next_fast_len(int(np.ceil(reach / mesh)) + 1, real=True)
    return Domain((1 - half) * mesh, half * mesh, 2 * half)


def _reach(pairs, probability, enough) -> float:
    """Return a t that Y, the sum of the losses of `pairs`, exceeds with at most this `probability`, and -Y likewise.

    The search stops as soon as t is at most `enough`.

    By Markov's inequality for e^(x Y), the probability is at most e^(x (D - t)) for every x > 0, where D is the RDP cost
    at alpha = 1 + x. If P and Q are the two laws, -Y is the loss of the pair (Q, P). So P(-Y > t) is at most e^-t Q(-Y
    > t), and the same bound applies to Q(-Y > t).
    """
    least = 0.0
    for both in (pairs, [(each.reversed, count) for each, count in pairs]):
        found = np.inf
        for x in 2.0 ** np.arange(-4, 31):
            t = in_order.total(count * each.rdp(1 + x) for each, count in both) - np.log(probability) / x
            found = min(found, t)
            if t > 2 * found or found <= enough:
                break
        least = max(least, found)
    return float(least)


def _composed(pairs, grid) -> DiscretePrivacyRandomVariable:
    from prv_accountant.composers import Heterogeneous
    from prv_accountant.discrete_privacy_random_variable import DiscretePrivacyRandomVariable

    composer = Heterogeneous([_discretised(prv, grid) for prv, _ in pairs])
    with warnings.catch_warnings():  # scipy 1.15 and 1.16 warn that longdouble will go; in 1.17 it did not
        warnings.filterwarnings("ignore", "dtype=float128", DeprecationWarning)
        found = composer.compute_composition([count for _, count in pairs])
    # Many small shifts to the exact means may carry the grid, a circle, away from the loss; rotate it back.
    turns = round(found.domain.shifts() / grid.dt())
    return DiscretePrivacyRandomVariable(np.roll(found.pmf, turns), found.domain.shift_left(turns * grid.dt()))


def _discretised(prv: PrivacyLossVariable, grid: Domain) -> DiscretePrivacyRandomVariable:
    """Return `prv`, truncated to the grid, rounded to the nearest points and then shifted so that its mean is exact."""
    from prv_accountant.discrete_privacy_random_variable import DiscretePrivacyRandomVariable

    points = grid.ts()
    edges = np.append(points, points[-1] + grid.dt()) - grid.dt() / 2
    edges[0], edges[-1] = grid.t_min(), grid.t_max()
    # Computed in long double, like the transforms; double-precision rounding would rival a delta of 1e-12.
    mass = np.asarray(prv.masses(edges), dtype=np.longdouble)
    mass /= mass.sum()
    shift = prv.truncated_mean(grid.t_min(), grid.t_max()) - float(mass @ points)
    return DiscretePrivacyRandomVariable(mass, grid.shift_right(shift))
