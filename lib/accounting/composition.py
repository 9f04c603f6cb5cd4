"""What several releases cost together, by the theorems that the chapters compare.

- `basic`: epsilons and deltas add up;   `parallel`: on disjoint parts of the table they do not
- `advanced`: Dwork, Rothblum, Vadhan 2010;   `optimal`: Kairouz, Oh, Viswanath 2015, which nothing beats if all
  that is known of a mechanism is its (epsilon, delta)
- `gaussian`: Gaussian mechanisms are one Gaussian mechanism, exactly (Dong, Roth, Su 2022)
- `repeated`: one mechanism of `mechanisms` many times, by a method of choice, for comparison

RDP and zCDP add up by themselves (`conversions.compose_rdp`); numerical composition is `numerical.prv_compose`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ..numerics import checks
from ..numerics.checks import number, whole
from . import conversions, gaussian_curve, numerical, privacy_loss

METHODS = ("basic", "advanced", "optimal", "rdp", "zcdp", "numerical", "gaussian")
ORDERS = 1 + 2.0 ** np.arange(-7, 17.01, 0.1)  # alpha of the RDP method


class Cost(NamedTuple):
    """(epsilon, delta)-DP of a whole composition."""

    epsilon: float
    delta: float


def basic(epsilons, deltas=0.0) -> Cost:
    """Any mechanisms, chosen as one likes: the sums. epsilons in [0, inf), deltas in [0, 1], shape (k,) or one for all.

    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.

    >>> from lib.accounting.composition import basic
    >>> basic([0.5, 1.0], [0.0, 1e-6])
    Cost(epsilon=1.5, delta=1e-06)
    """
    epsilons, deltas = _pairs(epsilons, deltas)
    with np.errstate(over="ignore"):
        return Cost(float(epsilons.sum()), float(min(deltas.sum(), 1.0)))


def parallel(epsilons, deltas=0.0, *, neighbours="unbounded") -> Cost:
    """Mechanisms of which each sees one part of a partition of the records by their values.

    epsilons, deltas : as for `basic`, under unbounded neighbours. One record more or less is in one part
    only: the largest (McSherry 2009, Theorem 4). A record replaced may leave one part and enter
    another: for "bounded" neighbours, the two largest together.

    >>> from lib.accounting.composition import parallel
    >>> parallel([0.5, 1.0])
    Cost(epsilon=1.0, delta=0.0)
    >>> parallel([0.5, 1.0], neighbours="bounded")
    Cost(epsilon=1.5, delta=0.0)
    """
    checks.one_of("neighbours", neighbours, ("unbounded", "bounded"))
    epsilons, deltas = _pairs(epsilons, deltas)
    touched = 1 if neighbours == "unbounded" else 2
    with np.errstate(over="ignore"):
        epsilon, delta = (float(np.sort(part)[-touched:].sum()) for part in (epsilons, deltas))
        return Cost(epsilon, min(delta, 1.0))


def advanced(epsilon: float, count: int, slack: float, delta: float = 0.0) -> Cost:
    """`count` mechanisms, each (`epsilon`, `delta`)-DP: sqrt(2 count log(1/slack)) epsilon + count epsilon (e^epsilon - 1),
    at count delta + slack. epsilon : [0, inf); count : >= 1; slack : (0, 1); delta : [0, 1)

    Source: Dwork, Rothblum, Vadhan 2010, Theorem III.3. For large epsilon it is worse than `basic`.

    >>> from lib.accounting.composition import advanced
    >>> print(round(advanced(0.1, count=100, slack=1e-6).epsilon, 3))
    6.308
    """
    epsilon, runs = number("epsilon", epsilon, "[0, inf)"), float(whole("count", count, "[1, inf)"))
    slack, delta = number("slack", slack, "(0, 1)"), number("delta", delta, "[0, 1)")
    with np.errstate(over="ignore"):
        drift = runs * epsilon * np.expm1(epsilon)
        spread = np.sqrt(runs) * np.sqrt(-2 * np.log(slack)) * epsilon
        return Cost(float(spread + drift), min(runs * delta + slack, 1.0))


def optimal(epsilon: float, count: int, total_delta: float, delta: float = 0.0) -> Cost:
    """The least epsilon at `total_delta` that holds for every `count` mechanisms, each (`epsilon`, `delta`)-DP.

    epsilon : [0, inf); count : whole number in [1, 1e6]; delta : [0, 1)
    total_delta : [0, 1), at least 1 - (1 - delta)^count, or the epsilon is inf
    Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3: with probability 1 - (1 - delta)^count all is revealed, and
    else the worst is randomized response `count` times. (The theorem names epsilons on a grid; between them
    the curve of delta is linear in e^epsilon, and this is its inverse.)

    >>> from lib.accounting.composition import optimal
    >>> print(round(optimal(0.1, count=100, total_delta=1e-6).epsilon, 3))
    4.775
    """
    epsilon, count = number("epsilon", epsilon, "[0, inf)"), whole("count", count, "[1, 1e6]")
    delta, total_delta = number("delta", delta, "[0, 1)"), number("total_delta", total_delta, "[0, 1)")
    log_kept = count * np.log1p(-delta)
    rest = -np.expm1(np.log1p(-total_delta) - log_kept)
    if rest < 0:
        return Cost(np.inf, total_delta)
    if epsilon == 0:
        return Cost(0.0, total_delta)
    return Cost(float(privacy_loss.repeated_response(epsilon, count).epsilon(rest)), total_delta)


def gaussian(sigmas, delta: float, sensitivities=1.0) -> Cost:
    """Gaussian mechanisms of `sigmas` and L2 `sensitivities`, (0, inf), shape (k,) or one for all: exactly.

    Together they are as private as one of mu = sqrt(sum (sensitivity/sigma)^2). delta : (0, 1)
    Source: Dong, Roth, Su 2022, Corollary 3.3; fixed in advance or chosen adaptively, of fixed sigmas.

    >>> from lib.accounting.composition import gaussian
    >>> print(round(gaussian([10.0, 20.0], delta=1e-6).epsilon, 4))
    0.4472
    """
    sigmas = np.atleast_1d(checks.real("sigmas", sigmas, "(0, inf)"))
    sensitivities = checks.real("sensitivities", sensitivities, "(0, inf)")
    if sigmas.size == 0 or sensitivities.shape not in ((), sigmas.shape):
        raise ValueError(f"sensitivities must match one or more sigmas, got {sensitivities.shape} and {sigmas.shape}")
    with np.errstate(over="ignore", under="ignore"):
        mu = checks.number("sensitivities / sigmas", np.linalg.norm(sensitivities / sigmas), "[1e-150, 1e150]")
    return Cost(gaussian_curve.gaussian_epsilon(1 / mu, number("delta", delta, "(0, 1)")), float(delta))


def repeated(mechanism, count: int, delta: float, method: str = "numerical") -> float:
    """The epsilon at `delta` in (0, 1) of `count` >= 1 runs of a mechanism of `mechanisms`, by a `method`:

    - "basic", "advanced", "optimal": from its pure epsilon; where that is infinite from the epsilon at some
      delta of its own, a share delta/count for "basic", else the best of many shares
    - "rdp" (the best of `ORDERS`), "zcdp", "numerical" (an upper bound, delta >= 1e-12)
    - "gaussian": exactly; for `Gaussian` alone, as the method is no approximation

    >>> from lib.mechanisms import Laplace
    >>> from lib.accounting.composition import repeated
    >>> for method in ("basic", "rdp", "numerical"):
    ...     print(method, round(repeated(Laplace(10.0), 100, 1e-6, method), 2))
    ...
    basic 10.0
    rdp 4.99
    numerical 4.7
    """
    checks.one_of("method", method, METHODS)
    count, delta = whole("count", count, "[1, inf)"), number("delta", delta, "(0, 1)")
    if method == "rdp":
        return float(conversions.rdp_to_dp(ORDERS, count * mechanism.rdp(ORDERS), delta).epsilon)
    if method == "zcdp":
        return conversions.zcdp_to_dp(count * mechanism.rho, delta)
    if method == "numerical":
        error = max(2e-3 * conversions.zcdp_to_dp(count * mechanism.rho, delta), 1e-5)
        return numerical.prv_compose([(mechanism.prv, count)], delta, eps_error=error).upper
    if method == "gaussian":
        if not hasattr(mechanism, "sigma") or not isinstance(mechanism.sigma, float):
            raise ValueError(f"method must not be 'gaussian' for {mechanism!r}, which is no Gaussian mechanism")
        return gaussian(np.full(1, mechanism.sigma), delta, mechanism.sensitivity * np.sqrt(count)).epsilon
    if np.isfinite(mechanism.epsilon):
        return _by_theorem(method, mechanism.epsilon, 0.0, count, delta)
    if method == "basic":
        return count * mechanism.epsilon_at(delta / count)

    def cost(log_share):
        own = float(np.exp(log_share)) * delta / count
        return _by_theorem(method, mechanism.epsilon_at(own), own, count, delta)

    shares = np.append(np.linspace(np.log(1e-4), np.log(0.99), 24), np.log1p(-1e-9))
    best = int(np.argmin([cost(share) for share in shares]))
    near = shares[max(best - 1, 0)], shares[min(best + 1, len(shares) - 1)]
    refined = minimize_scalar(cost, bounds=near, method="bounded", options={"xatol": 1e-4})
    return min(float(refined.fun), cost(shares[best]))


def _by_theorem(method, epsilon, own, count, delta):
    """The epsilon at `delta` of `count` mechanisms, each (epsilon, own)-DP with own < delta / count."""
    if method == "basic":
        return count * epsilon
    if method == "advanced":
        return advanced(epsilon, count, delta - count * own, own).epsilon
    return optimal(epsilon, count, delta, own).epsilon


def _pairs(epsilons, deltas):
    epsilons = np.atleast_1d(checks.real("epsilons", epsilons, "[0, inf)"))
    deltas = checks.real("deltas", deltas, "[0, 1]")
    if epsilons.ndim != 1 or epsilons.size == 0 or deltas.shape not in ((), epsilons.shape):
        raise ValueError(f"deltas must match one or more epsilons, got {deltas.shape} and {epsilons.shape}")
    return epsilons, np.broadcast_to(deltas, epsilons.shape)
