"""Privacy accounting: RDP, zCDP, the exact Gaussian curve and numerical composition, both ways.

- Rényi DP (RDP), an epsilon at each order alpha > 1: `compose_rdp`, `rdp_to_dp`, `rdp_to_delta`
- zero-concentrated DP (zCDP), epsilon = rho alpha: `zcdp_to_dp`, `dp_to_zcdp`
- one Gaussian mechanism, exactly: `gaussian_delta`, `gaussian_epsilon`, `gaussian_sigma`
- privacy random variables (PRVs), composed numerically: `prv_compose`, `prv_distribution`

A guarantee holds for the neighbours (unbounded or bounded) that its sensitivity or RDP curve was
computed for. `conversion` to (epsilon, delta) is "canonne2020" (Canonne, Kamath, Steinke 2020,
Prop. 12) or the older, looser "mironov2017" (Mironov 2017, Prop. 3; miura2022, Prop. 2.5).

Of the Gaussian and Laplace mechanisms, sensitivity / sigma or / scale is in [1e-150, 1e150]. A cost too large for a
double is inf, and one too small the smallest normal double, not 0; ``ArithmeticError`` says that an input is too extreme.

Arguments broadcast; results are plain floats where every argument is a scalar. Bad arguments raise
``ValueError``. A delta that underflows is reported as the smallest normal double, never as 0:
rounding must not turn an approximate guarantee into a pure one.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from prv_accountant import PrivacyRandomVariable
from prv_accountant.accountant import compute_safe_domain_size
from prv_accountant.composers import Heterogeneous
from prv_accountant.discrete_privacy_random_variable import DiscretePrivacyRandomVariable
from prv_accountant.domain import Domain
from scipy.optimize import elementwise
from scipy.special import erfcx, erfinv, expit, log_ndtr, ndtr

from lib import checks
from lib.divergence import expm1mx

CONVERSIONS = ("canonne2020", "mironov2017")
_TINY = np.finfo(float).tiny
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


class ApproximateDP(NamedTuple):
    """(epsilon, delta)-DP, and the order `alpha` of the RDP curve that proves it (NaN: none does)."""

    epsilon: float | np.ndarray
    delta: float | np.ndarray
    alpha: float | np.ndarray


class EpsilonBounds(NamedTuple):
    """The true epsilon lies in [lower, upper]; quote `upper` as the guarantee."""

    lower: float
    estimate: float
    upper: float


def _plain(values):
    return values if np.ndim(values) else float(values)


def _half_square(x):
    """x^2 / 2 for x >= 0: inf where that overflows, and not 0 where it underflows."""
    with np.errstate(over="ignore", under="ignore"):
        return np.where(x > 0, np.maximum(x**2 / 2, _TINY), 0.0)[()]


def _ratio(name: str, sensitivity, size):
    """sensitivity / size, whose square and that of its inverse are to be numbers."""
    sensitivity, size = checks.real("sensitivity", sensitivity, "(0, inf)"), checks.real(name, size, "(0, inf)")
    with np.errstate(over="ignore", under="ignore"):
        return checks.real(f"sensitivity / {name}", sensitivity / size, "[1e-150, 1e150]")


def _delta_from_log(log_delta):  # in [smallest normal double, 1]
    return _plain(np.exp(np.clip(log_delta, np.log(_TINY), 0.0)))


def _root(function, low, high, *args):
    """The root of an elementwise monotone `function(x, *args)` between sure bounds, to rounding."""
    with np.errstate(over="ignore"):  # far from the root a side may be inf
        solution = elementwise.find_root(function, (low, high), args=args)
    if not np.all(solution.success):
        raise ArithmeticError(f"no root between {low} and {high} for {args}: input too extreme for double precision")
    return solution.x


# Rényi DP. In formulas, x = alpha - 1 > 0.
def _saving(x, conversion: str):
    """What `conversion` takes off Mironov's epsilon at order 1 + x."""
    return 0.0 if conversion == "mironov2017" else np.log1p(1 / x) + np.log1p(x) / x


def _curve(alpha, name: str, epsilon, conversion: str):
    """The checked orders, minus one, and RDP epsilons, both flattened."""
    checks.one_of("conversion", conversion, CONVERSIONS)
    alpha = checks.real("alpha", alpha, "(1, inf)")
    epsilon = checks.real(name, epsilon, "[0, inf]")
    if alpha.shape != epsilon.shape or alpha.size == 0:
        raise ValueError(f"alpha and {name} must have one non-empty shape, got {alpha.shape} and {epsilon.shape}")
    return alpha.ravel() - 1, epsilon.ravel()


def _best_order(x, values):
    """Minimum of `values` over their last axis (the orders 1 + x) and its order, NaN if all are inf."""
    best = values.argmin(axis=-1)
    least = np.take_along_axis(values, best[..., None], axis=-1)[..., 0]
    return least, _plain(np.where(np.isinf(least), np.nan, 1 + x[best]))


def compose_rdp(epsilons, counts=None):
    """RDP epsilon of an adaptive composition: at equal order, epsilons add up.

    epsilons : K curves in [0, inf], scalars (one order) or arrays over one grid of orders; they
        broadcast, and a single curve is passed as ``[curve]``
    counts : K whole numbers >= 0, how often each mechanism runs; default: once each
    Source: Mironov 2017, Proposition 1; miura2022, Proposition 2.4.
    """
    curves = [checks.real("epsilons", curve, "[0, inf]") for curve in epsilons]
    counts = checks.integer("counts", np.ones(len(curves)) if counts is None else counts, "[0, inf)")
    if not curves or counts.shape != (len(curves),):
        raise ValueError(f"counts must match one or more epsilons, got {counts.size} counts for {len(curves)} curves")
    # A mechanism that never runs costs nothing, even where its curve is infinite (0 * inf is NaN).
    with np.errstate(over="ignore"):  # to inf, no guarantee
        costs = [np.zeros_like(curve) if count == 0 else count * curve for curve, count in zip(curves, counts)]
        return _plain(sum(costs))


def rdp_to_dp(alpha, epsilon, delta, conversion: str = "canonne2020") -> ApproximateDP:
    """The smallest epsilon at `delta` that an RDP curve gives over its grid of orders.

    alpha, epsilon : orders in (1, inf) and RDP epsilons in [0, inf] (inf: no guarantee), of one shape
    delta : in (0, 1), any shape, which the result takes
    conversion : "mironov2017" is ``epsilon + log(1/delta)/(alpha-1)``; "canonne2020", never larger,
        is ``epsilon + log((alpha-1)/alpha) - (log(delta) + log(alpha))/(alpha-1)``

    Clipped at 0: (negative, delta) implies (0, delta), and DP knows no negative epsilon; `alpha`
    stays the minimiser before clipping. A wholly infinite curve gives epsilon inf, alpha NaN.
    """
    x, curve = _curve(alpha, "epsilon", epsilon, conversion)
    delta = checks.real("delta", delta, "(0, 1)")
    least, order = _best_order(x, curve - _saving(x, conversion) - np.log(delta)[..., None] / x)
    return ApproximateDP(_plain(np.maximum(least, 0.0)), _plain(delta), order)


def rdp_to_delta(alpha, epsilon_rdp, epsilon, conversion: str = "canonne2020") -> ApproximateDP:
    """The smallest delta at `epsilon` that an RDP curve gives: the inverse of `rdp_to_dp`.

    alpha, epsilon_rdp : the curve, as for `rdp_to_dp`; epsilon : [0, inf), any shape
    Clipped at 1, which every mechanism satisfies; a wholly infinite curve gives delta 1, alpha NaN.
    """
    x, curve = _curve(alpha, "epsilon_rdp", epsilon_rdp, conversion)
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    with np.errstate(over="ignore"):
        least, order = _best_order(x, x * (curve - _saving(x, conversion) - epsilon[..., None]))
    return ApproximateDP(_plain(epsilon), _delta_from_log(least), order)


# Zero-concentrated DP. The optimal order is a root in u = log(alpha - 1).
def pure_dp_to_zcdp(epsilon):
    """rho = epsilon^2 / 2 of every epsilon-DP mechanism, epsilon in [0, inf) (Bun and Steinke 2016, Prop. 1.4)."""
    return _plain(_half_square(checks.real("epsilon", epsilon, "[0, inf)")))


def gaussian_zcdp(sigma, sensitivity=1.0):
    """rho = sensitivity^2 / (2 sigma^2) of the Gaussian mechanism (miura2025, Definition 2.5); both in (0, inf)."""
    return _plain(_half_square(_signal(sigma, sensitivity)))


def zcdp_to_dp(rho, delta, conversion: str = "canonne2020"):
    """epsilon such that rho-zCDP implies (epsilon, delta)-DP, optimised over all real orders > 1.

    rho : [0, inf), delta : (0, 1); they broadcast. Clipped at 0 as in `rdp_to_dp`.
    "canonne2020" is miura2025, Proposition 2.4, solved for epsilon; "mironov2017" is the closed
    form ``rho + 2 sqrt(rho log(1/delta))`` (Bun and Steinke 2016, Proposition 1.3).
    """
    checks.one_of("conversion", conversion, CONVERSIONS)
    rho = checks.real("rho", rho, "[0, inf)")
    log_inverse = -np.log(checks.real("delta", delta, "(0, 1)"))
    if conversion == "mironov2017":
        with np.errstate(over="ignore"):
            return _plain(rho + 2 * np.sqrt(rho * log_inverse))
    # Stationary where rho x^2 + log(1 + x) = log(1/delta). At `high` one term alone reaches the
    # right side, at `low` neither exceeds half of it; the margins of 1 absorb rounding.
    log_ratio = np.log(log_inverse) - np.log(np.maximum(rho, _TINY))
    high = np.minimum(log_ratio / 2, log_inverse) + 1
    low = np.minimum(log_ratio / 2, np.log(log_inverse)) - np.log(2) - 1
    x = np.exp(_root(lambda u, r, c: r * np.exp(2 * u) + np.logaddexp(0, u) - c, low, high, rho, log_inverse))
    with np.errstate(over="ignore"):
        return _plain(np.maximum(rho * (1 + x) - _saving(x, conversion) + log_inverse / x, 0.0))


def dp_to_zcdp(epsilon, delta, conversion: str = "canonne2020"):
    """The largest rho for which `zcdp_to_dp` gives at most `epsilon`.

    epsilon : [0, inf), delta : (0, 1); they broadcast.
    """
    checks.one_of("conversion", conversion, CONVERSIONS)
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    log_inverse = -np.log(checks.real("delta", delta, "(0, 1)"))
    if conversion == "mironov2017":
        return _plain((epsilon / (np.sqrt(epsilon + log_inverse) + np.sqrt(log_inverse))) ** 2)

    def epsilon_at(u, target, c):
        # With rho = (c - log(1+x)) / x^2, for which the order 1 + x is optimal; decreasing in u.
        x = np.exp(u)
        return (2 + 1 / x) * (c - np.logaddexp(0, u)) / x - np.logaddexp(0, -u) - target

    high = log_inverse + 1  # alpha > 1/delta: no positive rho has so high an optimum
    low = np.log(np.maximum(np.minimum(log_inverse, 1) / 4 / (1 + epsilon), _TINY))  # epsilon_at exceeds 2/x - 1/2 > epsilon there
    x = np.exp(_root(epsilon_at, low, high, epsilon, log_inverse))
    return _plain((epsilon + _saving(x, conversion) - log_inverse / x) / (1 + x))


# The Gaussian mechanism, exactly. In formulas, mu = sensitivity / sigma.
def _signal(sigma, sensitivity):
    return _ratio("sigma", sensitivity, sigma)


def _gaussian_log_delta(epsilon, mu):
    """Logarithm of Phi(-t0) - e^epsilon Phi(-t1), where t0, t1 = epsilon/mu -+ mu/2.

    With the Mills ratio R(t) = Phi(-t)/phi(t), the second term is phi(t0) R(t1). For small mu the
    two terms agree in most digits, and phi(t0) times the integral of -R' = 1 - t R(t) from t0 to
    t1 is used instead (Gauss-Legendre: R is entire and the interval shorter than 1).
    """
    with np.errstate(over="ignore"):
        middle = np.minimum(epsilon / mu, 1e100)  # beyond it delta has long underflowed
    t0, t1 = middle - mu / 2, middle + mu / 2
    apart = log_ndtr(-t0) + np.log1p(-np.minimum(erfcx(t1 / np.sqrt(2)) / erfcx(t0 / np.sqrt(2)), 1 - 1e-16))
    t = middle[..., None] + np.minimum(mu, 1)[..., None] / 2 * _NODES
    slopes = np.maximum(1 - t * np.sqrt(np.pi / 2) * erfcx(t / np.sqrt(2)), _TINY)
    close = -(t0**2) / 2 + np.log(np.maximum(mu / np.sqrt(2 * np.pi) * (slopes @ _WEIGHTS) / 2, _TINY))
    return np.where(mu < 1, close, apart)


def gaussian_delta(sigma, epsilon, sensitivity=1.0):
    """The exact delta(epsilon) of the Gaussian mechanism (Balle and Wang 2018, Theorem 8).

    sigma (standard deviation), sensitivity (L2) : (0, inf), epsilon : [0, inf); they broadcast.
    """
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    return _delta_from_log(_gaussian_log_delta(epsilon, _signal(sigma, sensitivity)))


def gaussian_epsilon(sigma, delta, sensitivity=1.0):
    """The inverse of `gaussian_delta` for delta in (0, 1); 0 where (0, delta)-DP holds already."""
    mu, log_delta = np.broadcast_arrays(_signal(sigma, sensitivity), np.log(checks.real("delta", delta, "(0, 1)")))
    log_delta_at_zero = _gaussian_log_delta(np.zeros_like(mu), mu)
    positive = log_delta_at_zero > log_delta
    target = np.where(positive, log_delta, log_delta_at_zero - 1)  # elsewhere: any solvable problem
    high = mu * (mu / 2 + 2 * np.sqrt(-2 * target))  # above the zCDP conversion's epsilon
    root = _root(lambda e, m, goal: _gaussian_log_delta(e, m) - goal, np.zeros_like(mu), high, mu, target)
    return _plain(np.where(positive, root, 0.0))


def gaussian_sigma(epsilon, delta, sensitivity=1.0, calibration: str = "balle2018"):
    """The noise that makes the Gaussian mechanism (epsilon, delta)-DP.

    epsilon : [0, 1e150], delta : (0, 1), sensitivity : (0, inf); they broadcast.
    calibration : "balle2018", the least sigma there is (inverse of `gaussian_epsilon`), or
        "zcdp", through ``rho = dp_to_zcdp(epsilon, delta)``: larger, but composes by addition.
    """
    checks.one_of("calibration", calibration, ("balle2018", "zcdp"))
    sensitivity = checks.real("sensitivity", sensitivity, "(0, inf)")
    rho = np.asarray(dp_to_zcdp(checks.real("epsilon", epsilon, "[0, 1e150]"), delta))
    if calibration == "zcdp":
        with np.errstate(divide="ignore", over="ignore"):  # rho underflows for epsilon 0, delta < 1e-154: no finite sigma
            return _plain(sensitivity / np.sqrt(2 * rho))
    epsilon, delta = np.asarray(epsilon, dtype=float), np.asarray(delta, dtype=float)
    # Too careful are mu by zCDP and, as delta(0) < mu, mu = delta. Too bold is the mu with t0 = -t
    # (above) where Phi(t) - Phi(-t) = delta, since R decreases. Factors of 2 absorb rounding.
    t = np.sqrt(2) * erfinv(delta)
    low = np.log(np.maximum(np.sqrt(2 * rho), delta) / 2)
    high = np.log(2 * (t + np.hypot(t, np.sqrt(2 * epsilon))))
    log_mu = _root(lambda v, e, goal: _gaussian_log_delta(e, np.exp(v)) - goal, low, high, epsilon, np.log(delta))
    with np.errstate(over="ignore"):
        return _plain(sensitivity / np.exp(log_mu))


# Numerical composition (Gopi, Lee, Wutschitz 2021). prv-accountant supplies the grid, the FFT and the
# final search, but not the variables and their discretisation: its pure-DP variable has an RDP curve
# below the truth, hence too small a grid, and its means, found by quadrature, can miss a jump.
@dataclass(frozen=True)
class PrivacyLossVariable(PrivacyRandomVariable):
    """A privacy random variable as `prv_compose` takes it: the privacy loss of a mechanism's worst neighbours.

    Subclasses supply `cdf(t)`, at points t of any shape, and `truncated_mean(low, high)`, the mean on an interval
    (low, high], exact for the grid's ends; and `rdp(alpha)`, where they know better, never below the truth.
    """

    size: float  # epsilon of pure DP; sensitivity / scale or / sigma; so size^2 / 2 is a rho

    def rdp(self, alpha):
        """An RDP epsilon at one order `alpha` in (1, inf): here that of a pure-DP mechanism."""
        return min(self.size, alpha * self.size**2 / 2)


class _Gaussian(PrivacyLossVariable):  # N(size^2/2, size^2)
    def rdp(self, alpha):
        return alpha * self.size**2 / 2

    def cdf(self, t):
        return ndtr(np.asarray(t / self.size - self.size / 2, dtype=float))

    def truncated_mean(self, low, high):
        ends = np.array([low, high]) / self.size - self.size / 2
        densities = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
        return self.size**2 / 2 - self.size * np.diff(densities).item() / np.diff(ndtr(ends)).item()


class _Laplace(PrivacyLossVariable):  # atoms at -size and size, between them a density proportional to e^(t/2)
    def cdf(self, t):
        return np.where(t < -self.size, 0, np.where(t < self.size, np.exp(np.minimum(t - self.size, 0) / 2) / 2, 1))

    def truncated_mean(self, low, high):  # the grid reaches beyond both atoms
        return expm1mx(-self.size)


class _PureDP(PrivacyLossVariable):  # randomised response: size or -size, with odds e^size to 1
    def cdf(self, t):
        return np.where(t < -self.size, 0, np.where(t < self.size, expit(-self.size), 1))

    def truncated_mean(self, low, high):
        return self.size * np.tanh(self.size / 2)


class _BoundedRange(PrivacyLossVariable):  # between -size and size a density proportional to e^(t/2); see bounded_range_prv
    def rdp(self, alpha):
        # log(sinh(u) / u) rises with u^2 at a rate of at most 1/6.
        return min(self.size, alpha * self.size**2 / 6)

    def cdf(self, t):
        inside = np.clip(np.asarray(t, dtype=float), -self.size, self.size)
        return np.exp((inside - self.size) / 2) * np.expm1(-(inside + self.size) / 2) / np.expm1(-self.size)

    def truncated_mean(self, low, high):  # the grid reaches beyond both ends
        if self.size < 0.01:  # the difference would lose its digits
            return self.size**2 / 6 - self.size**4 / 360
        return self.size / np.tanh(self.size / 2) - 2


def gaussian_prv(sigma: float, sensitivity: float = 1.0) -> PrivacyRandomVariable:
    """Privacy random variable of the Gaussian mechanism; sigma and L2 sensitivity in (0, inf)."""
    return _Gaussian(float(_signal(sigma, sensitivity)))


def laplace_prv(scale: float, sensitivity: float = 1.0) -> PrivacyRandomVariable:
    """Privacy random variable of the Laplace mechanism; scale and L1 sensitivity in (0, inf)."""
    return _Laplace(float(_ratio("scale", sensitivity, scale)))


def pure_dp_prv(epsilon: float) -> PrivacyRandomVariable:
    """The worst privacy random variable of an `epsilon`-DP mechanism, randomised response; epsilon in (0, inf)."""
    return _PureDP(float(checks.real("epsilon", epsilon, "(0, inf)")))


def bounded_range_prv(epsilon: float) -> PrivacyRandomVariable:
    """A privacy random variable that dominates every `epsilon`-bounded-range mechanism; epsilon in (0, inf).

    Bounded range (Durfee and Rogers 2019): the log-likelihood ratios of all outputs lie in one
    interval [t - epsilon, t], t unknown. The exponential mechanism with probabilities proportional
    to e^(epsilon s / (2 sensitivity)) has it. For a given t the worst pair has two outputs, with
    delta(x) = (e^epsilon - e^t)(1 - e^(x-t)) / (e^epsilon - 1) for t - epsilon <= x <= t (Dong,
    Durfee, Rogers 2020). The most over t, at t = (epsilon + x)/2, is the curve of this variable,

        delta(x) = (e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1),    -epsilon <= x <= epsilon.

    As it bounds each t, it composes under adaptive choice too (Zhu, Dong, Wang 2022);
    but no single mechanism attains it, and it costs rho = epsilon^2/6, where zCDP charges
    epsilon^2/8 and pure DP epsilon^2/2. `bounded_range.compose_schedule` goes down to the optimum.
    """
    return _BoundedRange(float(checks.real("epsilon", epsilon, "(0, inf)")))


def prv_compose(mechanisms, delta, *, eps_error=0.01, delta_error=None) -> EpsilonBounds:
    """Bounds on the epsilon at `delta` of a composition; `upper` is the guarantee.

    mechanisms : sequence of (variable from one of the functions above, count >= 1).
        Give equal mechanisms once with their count: time grows with pairs and sqrt(total count).
    delta : [1e-12, 1); eps_error : (0, inf); delta_error : [1e-300, delta), default delta / 1000

    The truth lies in [lower, upper], a little wider than 2 eps_error; the estimate can lie below
    it. Clipped at 0. The mechanisms must be fixed in advance: for parameters chosen from earlier
    outputs this is a diagnostic, not a guarantee.
    """
    delta = float(checks.real("delta", delta, "[1e-12, 1)"))  # below, rounding errors rival delta
    delta_error = delta / 1000 if delta_error is None else delta_error
    delta_error = float(checks.real("delta_error", delta_error, f"[1e-300, {delta!r})"))
    composed = prv_distribution(mechanisms, eps_error=eps_error, delta_error=delta_error)
    return EpsilonBounds(*(max(bound, 0.0) for bound in composed.compute_epsilon(delta, delta_error, float(eps_error))))


def prv_distribution(mechanisms, *, eps_error, delta_error) -> DiscretePrivacyRandomVariable:
    """The privacy random variable of a composition on a grid: `pmf` at the points `domain.ts()`.

    It can be drawn together with the true variable so that they differ by more than eps_error with
    probability at most delta_error. mechanisms : as for `prv_compose`; eps_error, delta_error :
    (0, inf), [1e-300, 1)
    """
    mechanisms = list(mechanisms)
    prvs = [prv for prv, _ in mechanisms]
    counts = [int(checks.integer("count", count, "[1, inf)")) for _, count in mechanisms]
    if not prvs or not all(isinstance(prv, PrivacyLossVariable) for prv in prvs):
        raise ValueError(f"mechanisms must hold pairs (variable from gaussian_prv or its like; count), got {prvs}")
    eps_error = float(checks.real("eps_error", eps_error, "(0, inf)"))
    delta_error = float(checks.real("delta_error", delta_error, "[1e-300, 1)"))
    # Reach and mesh of the grid: Gopi et al., Theorem 5.5 and Remark 5.6.
    reach = compute_safe_domain_size(prvs, counts, eps_error, delta_error)
    grid = Domain.create_aligned(-reach, reach, eps_error / np.sqrt(sum(counts) / 2 * np.log(12 / delta_error)))
    return Heterogeneous([_discretised(prv, grid) for prv in prvs]).compute_composition(counts)


def _discretised(prv: PrivacyLossVariable, grid: Domain) -> DiscretePrivacyRandomVariable:
    """`prv`, truncated to the grid, rounded to the nearest point and then shifted to its exact mean."""
    points = grid.ts()
    edges = np.append(points, points[-1] + grid.dt()) - grid.dt() / 2
    edges[0], edges[-1] = grid.t_min(), grid.t_max()
    cdf = prv.cdf(edges)
    mass = np.diff(cdf) / (cdf[-1] - cdf[0])
    shift = prv.truncated_mean(grid.t_min(), grid.t_max()) - float(mass @ points)
    return DiscretePrivacyRandomVariable(mass, grid.shift_right(shift))
