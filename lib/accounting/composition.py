"""The joint cost of several releases.

A mechanism reports the cost of one run (`mechanisms.guarantees`). An `Accountant` takes pairs (mechanism, count)
and bounds their joint cost; each of its methods gives one bound. The theorems that need only numbers are also available
as functions: `gaussian` takes sigmas, and the other functions take the (epsilon, delta) of each mechanism.

- `basic` adds up epsilons and deltas; `parallel` is for mechanisms on disjoint parts of the table.
- `advanced` is due to Dwork, Rothblum, Vadhan 2010.
- `optimal` is the best bound possible if all mechanisms have the same (epsilon, delta) (Kairouz, Oh, Viswanath 2015).
- `gaussian` is exact: Gaussian mechanisms together are one Gaussian mechanism (Dong, Roth, Su 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks, in_order
from ..numerics.checks import number, whole
from ..numerics.elementwise import raised, raised_delta, total_up
from . import conversions, gaussian_curve, numerical, privacy_loss

ORDERS = 1 + 2.0 ** np.arange(-7, 17.01, 0.1)  # alpha of `Accountant.rdp`


class Cost(NamedTuple):
    """The cost of a composition: the composition is (epsilon, delta)-DP."""

    epsilon: float
    delta: float


def basic(epsilons: ArrayLike, deltas: ArrayLike = 0.0) -> Cost:
    """Return the sum of the epsilons and the sum of the deltas of any mechanisms, which may be chosen adaptively.

    epsilons : [0, inf); deltas : [0, 1], shape (k,) or one for all
    Coq checks this composition for deltas of 0 and finitely many outcomes: `basic_composition` in proofs/.
    Source: Dwork, Kenthapadi, McSherry, Mironov, Naor 2006.
    """
    epsilons, deltas = _pairs(epsilons, deltas)
    return Cost(*_sums(epsilons, deltas))


def parallel(epsilons: ArrayLike, deltas: ArrayLike = 0.0, *, neighbours: str = "unbounded") -> Cost:
    """Return the joint cost of mechanisms that each use one part of the records; a record's values determine its part.

    epsilons, deltas : as for `basic`, each for unbounded neighbours
    neighbours : "unbounded" or "bounded"

    Under unbounded neighbours, the result is the largest epsilon and the largest delta, because a record is added to or
    removed from one part only (McSherry 2009, Theorem 4). Under bounded neighbours, the result is twice the largest
    epsilon and the larger of the deltas of two cases. If the new record is in the same part as the old one, the two
    changes in this part cost a delta of (1 + e^epsilon) delta. If the new record is in another part, the deltas of the
    two parts add up.

    >>> from lib.accounting.composition import parallel
    >>> parallel([0.5, 1.0])
    Cost(epsilon=1.0, delta=0.0)
    >>> parallel([0.5, 1.0], neighbours="bounded")
    Cost(epsilon=2.0, delta=0.0)
    """
    checks.one_of("neighbours", neighbours, ("unbounded", "bounded"))
    epsilons, deltas = _pairs(epsilons, deltas)
    if neighbours == "unbounded":
        return Cost(float(epsilons.max()), float(deltas.max()))
    largest, elsewhere = _sums([epsilons.max()] * 2, np.sort(deltas)[-2:])
    with np.errstate(over="ignore", invalid="ignore"):
        within = raised_delta(deltas + np.exp(epsilons) * deltas)
    return Cost(largest, max(elsewhere, float(np.max(within))))


def advanced(epsilon: float, count: int, slack: float, delta: float = 0.0) -> Cost:
    """Return the cost of `count` mechanisms, each (`epsilon`, `delta`)-DP, by advanced composition.

    epsilon : [0, inf); count : integer >= 1; slack : (0, 1); delta : [0, 1)

    The cost is an epsilon of sqrt(2 count log(1/slack)) epsilon + count epsilon (e^epsilon - 1) and a delta of
    count delta + slack. For large epsilon, `basic` gives a smaller cost.
    Source: Dwork, Rothblum, Vadhan 2010, Theorem III.3.
    """
    epsilon, runs = number("epsilon", epsilon, "[0, inf)"), float(whole("count", count, "[1, inf)"))
    slack, delta = number("slack", slack, "(0, 1)"), number("delta", delta, "[0, 1)")
    with np.errstate(over="ignore"):
        drift = runs * epsilon * np.expm1(epsilon)
        spread = np.sqrt(runs) * np.sqrt(-2 * np.log(slack)) * epsilon
        spent = float(raised(spread + drift)) if epsilon else 0.0
        return Cost(spent, min(total_up([delta, slack], [int(runs), 1]), 1.0))


def optimal(epsilon: float, count: int, total_delta: float, delta: float = 0.0) -> Cost:
    """Return the smallest epsilon at `total_delta` that holds for any `count` mechanisms, each (`epsilon`, `delta`)-DP.

    epsilon : [0, inf); count : integer in [1, 1e6]; delta : [0, 1)
    total_delta : [0, 1); below 1 - (1 - delta)^count the epsilon is inf

    In the worst case everything is revealed with probability 1 - (1 - delta)^count, and otherwise randomized response
    runs `count` times. Theorem 3.3 gives delta on a grid of epsilons; between grid points, delta is linear in
    e^epsilon.
    Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3.

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
    rest = max(rest + 2.0**-50 * log_kept, 0.0)  # rounded down
    if epsilon == 0:
        return Cost(0.0, total_delta)
    return Cost(float(privacy_loss.repeated_response(epsilon, count).epsilon(rest)), total_delta)


def gaussian(sigmas: ArrayLike, delta: float, sensitivities: ArrayLike = 1.0) -> Cost:
    """Return the exact cost of Gaussian mechanisms, rounded up; their joint mu is sqrt(sum (sensitivity/sigma)^2).

    sigmas, sensitivities : (0, inf), each of shape (k,) or one for all, sensitivities in L2; delta : (0, 1)
    The mechanisms may be chosen adaptively if their sigmas are fixed.
    Source: Dong, Roth, Su 2022, Corollary 3.3.

    >>> from lib.accounting.composition import gaussian
    >>> print(round(gaussian([10.0, 20.0], delta=1e-6).epsilon, 4))
    0.4472
    """
    sigmas = np.atleast_1d(checks.real("sigmas", sigmas, "(0, inf)"))
    sensitivities = checks.real("sensitivities", sensitivities, "(0, inf)")
    if sigmas.size == 0 or sensitivities.shape not in ((), sigmas.shape):
        raise ValueError(
            "sigmas must not be empty, and sensitivities must be one number or one for each sigma, got shapes "
            f"{sigmas.shape} and {sensitivities.shape}"
        )
    with np.errstate(over="ignore", under="ignore"):
        norm = raised(float(np.linalg.norm(sensitivities / sigmas)), 2.0**-52 * (sigmas.size + 4))
        mu = checks.number("sensitivities / sigmas", norm, "[1e-150, 1e150]")
    return Cost(float(gaussian_curve.gaussian_epsilon(1.0, number("delta", delta, "(0, 1)"), mu)), float(delta))


class Accountant:
    """Bounds on the joint cost of mechanisms that are fixed in advance and see the same records.

    mechanisms : one or more pairs (mechanism, count): a mechanism of `mechanisms`, and the number of times that it
        runs, >= 1
    delta : (0, 1)

    Each method returns one bound on the joint epsilon of all mechanisms at `delta`. `basic`, `advanced` and `optimal`
    use the mechanisms' pure epsilons. If a mechanism's pure epsilon is infinite, `basic` divides `delta` equally among
    the runs of such mechanisms and uses the epsilon of each such run at its part of `delta`. In this case, `advanced`
    and `optimal` use the epsilon of every run at a common part of `delta`; they try many parts and return the smallest
    result. The theorems behind `advanced` and `optimal` are about mechanisms of equal cost, so each mechanism is
    assumed to cost as much as the most expensive one.

    >>> from lib.accounting import Accountant
    >>> from lib.mechanisms import Laplace
    >>> accountant = Accountant([(Laplace(10.0), 100)], delta=1e-6)
    >>> print(round(accountant.basic(), 2), round(accountant.rdp(), 2), round(accountant.numerical(), 2))
    10.0 4.99 4.7
    """

    def __init__(self, mechanisms: numerical.Mechanisms, delta: float) -> None:
        self.mechanisms = [(mechanism, whole("count", count, "[1, inf)")) for mechanism, count in mechanisms]
        self.delta = number("delta", delta, "(0, 1)")
        if not self.mechanisms:
            raise ValueError("mechanisms must not be empty")

    @property
    def bounds(self) -> tuple[str, ...]:
        """Return the names of the bounds that apply. The exact bound `gaussian` applies only to Gaussian mechanisms."""
        names = ("basic", "advanced", "optimal", "rdp", "zcdp", "numerical")
        exact = all(isinstance(getattr(each, "sigma", None), float) for each, _ in self.mechanisms)
        return (*names, "gaussian") if exact else names

    def basic(self) -> float:
        """Return the sum of the epsilons; see `basic` of this module."""
        needy = in_order.total(count for each, count in self.mechanisms if not np.isfinite(each.epsilon))
        costs = [
            each.epsilon if np.isfinite(each.epsilon) else each.epsilon_at(self.delta / needy)
            for each, _ in self.mechanisms
        ]
        return total_up(costs, [count for _, count in self.mechanisms])

    def advanced(self) -> float:
        """Return the epsilon that the theorem of Dwork, Rothblum, Vadhan 2010 gives; see `advanced` of this module."""
        return self._by(lambda epsilon, own, count: advanced(epsilon, count, self.delta - count * own, own).epsilon)

    def optimal(self) -> float:
        """Return the epsilon that the theorem of Kairouz, Oh, Viswanath 2015 gives; see `optimal` of this module."""
        return self._by(lambda epsilon, own, count: optimal(epsilon, count, self.delta, own).epsilon)

    def rdp(self) -> float:
        """Return the epsilon by Rényi DP, the smallest over the orders in `ORDERS`."""
        curves, counts = zip(*((each.rdp(ORDERS), count) for each, count in self.mechanisms))
        return float(conversions.rdp_to_dp(ORDERS, conversions.compose_rdp(curves, counts), self.delta).epsilon)

    def zcdp(self) -> float:
        """Return the epsilon by zero-concentrated DP."""
        return float(conversions.zcdp_to_dp(numerical.compose_zcdp(self.mechanisms), self.delta))

    def numerical(self) -> float:
        """Return an upper bound by numerical composition (`prv_compose`); `delta` must be at least 1e-12."""
        return numerical.prv_compose(self.mechanisms, self.delta, eps_error=max(2e-3 * self.zcdp(), 1e-5)).upper

    def gaussian(self) -> float:
        """Return the exact epsilon of Gaussian mechanisms. Raises ``ValueError`` if other mechanisms are present."""
        if "gaussian" not in self.bounds:
            raise ValueError(f"mechanisms must all be Gaussian for the bound 'gaussian', got {self.mechanisms!r:.100}")
        own, counts = np.array([(each.sensitivity, float(count)) for each, count in self.mechanisms]).T
        sensitivities = raised(own * np.sqrt(counts))
        return gaussian([each.sigma for each, _ in self.mechanisms], self.delta, sensitivities).epsilon

    def _by(self, theorem):
        """Return the epsilon that a `theorem` gives from only an (epsilon, delta) of each mechanism."""
        count = in_order.total(count for _, count in self.mechanisms)
        if np.isfinite(pure := max(each.epsilon for each, _ in self.mechanisms)):
            return theorem(pure, 0.0, count)

        def cost(log_part):
            own = float(np.exp(log_part)) * self.delta / count
            return theorem(max(each.epsilon_at(own) for each, _ in self.mechanisms), own, count)

        parts = np.append(np.linspace(np.log(1e-4), np.log(0.99), 24), np.log1p(-1e-9))
        best = int(np.argmin([cost(part) for part in parts]))
        near = parts[max(best - 1, 0)], parts[min(best + 1, len(parts) - 1)]
        refined = scipy.optimize.minimize_scalar(cost, bounds=near, method="bounded", options={"xatol": 1e-4})
        return min(float(refined.fun), cost(parts[best]))


def _sums(epsilons, deltas) -> tuple[float, float]:
    return total_up(epsilons, [1] * len(epsilons)), min(total_up(deltas, [1] * len(deltas)), 1.0)


def _pairs(epsilons, deltas) -> tuple[np.ndarray, np.ndarray]:
    epsilons = np.atleast_1d(checks.real("epsilons", epsilons, "[0, inf)"))
    deltas = checks.real("deltas", deltas, "[0, 1]")
    if epsilons.ndim != 1 or epsilons.size == 0 or deltas.shape not in ((), epsilons.shape):
        raise ValueError(
            "epsilons must be a vector of at least one value, and deltas must be one number or one for each epsilon, got shapes "
            f"{epsilons.shape} and {deltas.shape}"
        )
    return epsilons, np.broadcast_to(deltas, epsilons.shape)
