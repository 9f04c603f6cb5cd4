"""What several releases cost together, by the theorems that the chapters compare.

- `basic`: epsilons and deltas add up;   `parallel`: on disjoint parts of the table they do not
- `advanced`: Dwork, Rothblum, Vadhan 2010;   `optimal`: Kairouz, Oh, Viswanath 2015, which nothing beats if all
  that is known of a mechanism is its (epsilon, delta)
- `gaussian`: Gaussian mechanisms are one Gaussian mechanism, exactly (Dong, Roth, Su 2022)
- `together`: mechanisms of `mechanisms`, each as often as one likes, by a method of choice, for comparison; `repeated`: one of them

RDP and zCDP add up by themselves (`conversions.compose_rdp`); numerical composition is `numerical.prv_compose`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks, in_order
from ..numerics.checks import number, whole
from . import conversions, gaussian_curve, numerical, privacy_loss

METHODS = ("basic", "advanced", "optimal", "rdp", "zcdp", "numerical", "gaussian")
ORDERS = 1 + 2.0 ** np.arange(-7, 17.01, 0.1)  # alpha of the RDP method


class Cost(NamedTuple):
    """(epsilon, delta)-DP of a whole composition."""

    epsilon: float
    delta: float


def basic(epsilons: ArrayLike, deltas: ArrayLike = 0.0) -> Cost:
    """Any mechanisms, chosen as one likes: the sums. epsilons in [0, inf), deltas in [0, 1], shape (k,) or one for all.

    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
    Checked by Coq, for deltas of 0 and finitely many outcomes: `basic_composition` in proofs/.

    >>> from lib.accounting.composition import basic
    >>> basic([0.5, 1.0], [0.0, 1e-6])
    Cost(epsilon=1.5, delta=1e-06)
    """
    epsilons, deltas = _pairs(epsilons, deltas)
    with np.errstate(over="ignore"):
        return Cost(float(epsilons.sum()), float(min(deltas.sum(), 1.0)))


def parallel(epsilons: ArrayLike, deltas: ArrayLike = 0.0, *, neighbours: str = "unbounded") -> Cost:
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


def gaussian(sigmas: ArrayLike, delta: float, sensitivities: ArrayLike = 1.0) -> Cost:
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
    return Cost(float(gaussian_curve.gaussian_epsilon(1 / mu, number("delta", delta, "(0, 1)"))), float(delta))


def repeated(mechanism: Any, count: int, delta: float, method: str = "numerical") -> float:
    """The epsilon at `delta` in (0, 1) of `count` >= 1 runs of a mechanism of `mechanisms`, by a `method`: see `together`.

    >>> from lib.mechanisms import Gaussian
    >>> from lib.accounting.composition import repeated
    >>> print(round(repeated(Gaussian(10.0), 100, 1e-6, "zcdp"), 2))
    5.22
    """
    return together([(mechanism, count)], delta, method)


def together(mechanisms: Iterable[tuple[Any, int]], delta: float, method: str = "numerical") -> float:
    """The epsilon at `delta` in (0, 1) of several `mechanisms`, pairs (one of `mechanisms`, count >= 1), by a `method`:

    - "basic", "advanced", "optimal": from their pure epsilons; where one is infinite from the epsilons at some
      delta of their own, a share delta/count for "basic", else the best of many shares. The theorems are of equal mechanisms:
      "advanced" and "optimal" take all for as costly as the costliest
    - "rdp" (the best of `ORDERS`), "zcdp", "numerical" (an upper bound, delta >= 1e-12)
    - "gaussian": exactly; for `Gaussian` alone, as the method is no approximation

    >>> from lib.mechanisms import Laplace
    >>> from lib.accounting.composition import together
    >>> for method in ("basic", "rdp", "numerical"):
    ...     print(method, round(together([(Laplace(10.0), 100)], 1e-6, method), 2))
    ...
    basic 10.0
    rdp 4.99
    numerical 4.7
    """
    checks.one_of("method", method, METHODS)
    pairs = [(mechanism, whole("count", count, "[1, inf)")) for mechanism, count in mechanisms]
    delta = number("delta", delta, "(0, 1)")
    if not pairs:
        raise ValueError("mechanisms must be one or more pairs (mechanism, count), got none")
    if method == "rdp":
        curves, counts = [each.rdp(ORDERS) for each, _ in pairs], [count for _, count in pairs]
        return float(conversions.rdp_to_dp(ORDERS, conversions.compose_rdp(curves, counts), delta).epsilon)
    if method in ("zcdp", "numerical"):
        cost = float(conversions.zcdp_to_dp(in_order.total(count * each.rho for each, count in pairs), delta))
        if method == "zcdp":
            return cost
        variables = [(each.prv, count) for each, count in pairs]
        return numerical.prv_compose(variables, delta, eps_error=max(2e-3 * cost, 1e-5)).upper
    if method == "gaussian":
        for each, _ in pairs:
            if not hasattr(each, "sigma") or not isinstance(each.sigma, float):
                raise ValueError(f"method must not be 'gaussian' for {each!r}, which is no Gaussian mechanism")
        sensitivities = [each.sensitivity * np.sqrt(float(count)) for each, count in pairs]
        return gaussian([each.sigma for each, _ in pairs], delta, sensitivities).epsilon
    return _by_theorems(method, pairs, delta)


def _by_theorems(method, pairs, delta):
    """By a theorem that asks for an (epsilon, delta) of each mechanism and nothing else."""
    count = in_order.total(count for _, count in pairs)
    needy = in_order.total(count for each, count in pairs if not np.isfinite(each.epsilon))  # of a share of delta
    if method == "basic":
        own = [each.epsilon if np.isfinite(each.epsilon) else each.epsilon_at(delta / needy) for each, _ in pairs]
        return in_order.total(count * epsilon for epsilon, (_, count) in zip(own, pairs))
    if needy == 0:
        return _by_theorem(method, max(each.epsilon for each, _ in pairs), 0.0, count, delta)

    def cost(log_share):
        own = float(np.exp(log_share)) * delta / count
        return _by_theorem(method, max(each.epsilon_at(own) for each, _ in pairs), own, count, delta)

    shares = np.append(np.linspace(np.log(1e-4), np.log(0.99), 24), np.log1p(-1e-9))
    best = int(np.argmin([cost(share) for share in shares]))
    near = shares[max(best - 1, 0)], shares[min(best + 1, len(shares) - 1)]
    refined = scipy.optimize.minimize_scalar(cost, bounds=near, method="bounded", options={"xatol": 1e-4})
    return min(float(refined.fun), cost(shares[best]))


def _by_theorem(method, epsilon, own, count, delta):
    """By "advanced" or "optimal", the epsilon at `delta` of `count` mechanisms, each (epsilon, own)-DP with own < delta / count."""
    if method == "advanced":
        return advanced(epsilon, count, delta - count * own, own).epsilon
    return optimal(epsilon, count, delta, own).epsilon


def _pairs(epsilons, deltas) -> tuple[np.ndarray, np.ndarray]:
    epsilons = np.atleast_1d(checks.real("epsilons", epsilons, "[0, inf)"))
    deltas = checks.real("deltas", deltas, "[0, 1]")
    if epsilons.ndim != 1 or epsilons.size == 0 or deltas.shape not in ((), epsilons.shape):
        raise ValueError(f"deltas must match one or more epsilons, got {deltas.shape} and {epsilons.shape}")
    return epsilons, np.broadcast_to(deltas, epsilons.shape)
