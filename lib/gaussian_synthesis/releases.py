"""The cost of a whole release of m records by Gaussian synthesis, under any bound for a single record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting.conversions import ApproximateDP
from ..accounting.hockey_stick import HockeyStick, hockey_stick_gaussian
from ..numerics import checks
from ..numerics.checks import Numbers
from .bounds import largest_radius, unbounded_epsilon
from .pairs import attained_radius

ORDERS = 1 + np.geomspace(1e-2, 1e4, 1200)
"""Default grid of Rényi orders over which a conversion to (epsilon, delta) is optimized."""


def released_dp(n: int, delta: float, d: int, sigma: float, *, size: int | None = None,
                bound: Callable[..., Numbers] = unbounded_epsilon, conversion: str = "canonne2020",
                orders: ArrayLike = ORDERS) -> ApproximateDP:  # fmt: skip
    """Return the (epsilon, delta)-DP of a release of `size` records (default n), the best over `orders`.

    n, d, sigma : scalars as in `bound`, any epsilon of `bounds`; delta : (0, 1); size : fixed in advance
    conversion : as for `accounting.rdp_to_dp`, whose result, with `.epsilon` and the minimizing `.alpha`, is returned
    Source: miura2022, Table 2, with the order optimized.

    >>> from lib.gaussian_synthesis import released_dp
    >>> print(round(released_dp(10**7, delta=1e-5, d=6, sigma=0.01).epsilon, 3))
    2.345
    """
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    return accounting.rdp_to_dp(orders, size * bound(n, orders, d, sigma), delta, conversion=conversion)


def extremal_pair(
    n: int, d: int, radius: float, direction: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two Gaussians (mean1, cov1, mean2, cov2) in d dimensions, of n and n + 1 records or the reverse.

    They are the Gaussians that `divergence_added` (direction "added") and `divergence_removed` ("removed") compare. The
    changed record has squared Mahalanobis distance `radius` from the mean of the n, and the first Gaussian is N(0, I).
    n, d : integer in [1, inf); radius : [0, inf). Source: chapter 3 of miura2022, Theorem D.
    """
    n, d = checks.whole("n", n, "[1, inf)"), checks.whole("d", d, "[1, inf)")
    checks.one_of("direction", direction, ("added", "removed"))
    radius, more = checks.number("radius", radius, "[0, inf)"), n + 1
    mean, variances = np.zeros(d), np.full(d, n / more if direction == "added" else more / n)
    if direction == "added":
        variances[0] *= 1 + radius / more
        mean[0] = np.sqrt(radius) / more
    else:
        variances[0] /= 1 + radius / more
        mean[0] = -np.sqrt(radius / n / (more + radius))
    return np.zeros(d), np.eye(d), mean, np.diag(variances)


def released_delta(
    n: int, epsilon: ArrayLike, d: int, sigma: float, *, size: int | None = None, tolerance: float = 1e-14
) -> tuple[Numbers, Numbers]:
    """Return (lower, upper) bounds on the smallest delta for which `size` records are (epsilon, delta)-DP.

    Neighbours are unbounded, of sizes n and n + 1, both in D_sigma.

    epsilon : number or array in (-inf, inf); n, d, sigma : scalars as in `unbounded_epsilon_tight`
    size : fixed in advance, default n; tolerance : as for `hockey_stick_gaussian` (1e-6 is faster for few records)

    The upper bound holds for all neighbours whose smaller data set lies in D_sigma. The reason is that a map that does
    not depend on the data turns the extremal pair in d + 1 dimensions into the pair of any such neighbours in d. The
    lower bound is attained by `worst_case_neighbours`, both in D_sigma; it is 0 if no pair is known. Both are for
    unclipped records, allow for the quadrature's error and lie in [0, 1]. Source: chapter 3 of miura2022, Theorem E.

    >>> from lib.gaussian_synthesis import released_delta
    >>> lower, upper = released_delta(10**7, epsilon=1.0, d=6, sigma=0.01)
    >>> print(f"{lower:.2e} {upper:.2e}")
    1.02e-02 1.02e-02
    """
    upper = _upper_delta(n, epsilon, d, sigma, size, tolerance=tolerance)
    try:
        radius = attained_radius(n, d, sigma)
    except ValueError:  # no pair is known
        return np.zeros_like(upper)[()], upper
    lower = _hockey_stick(n, epsilon, d, radius, size, tolerance)
    return np.maximum(lower.delta - lower.error, 0.0), upper


def _upper_delta(n, epsilon, d, sigma, size, radius=None, tolerance=1e-14):
    n, sigma = checks.whole("n", n, "[1, 1e15]"), checks.number("sigma", sigma, "(0, 1)")
    upper = _hockey_stick(n, epsilon, d + 1, largest_radius(d, sigma) if radius is None else radius, size, tolerance)
    return np.minimum(upper.delta + upper.error, 1.0)


def _hockey_stick(n, epsilon, d, radius, size, tolerance) -> HockeyStick:
    """Return the larger delta of the two directions of the extremal pair, with the larger error."""
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    pairs = [extremal_pair(n, d, radius, direction) for direction in ("added", "removed")]
    both = [hockey_stick_gaussian(*pair, epsilon, count=size, tolerance=tolerance) for pair in pairs]
    return HockeyStick(*(np.maximum(*each) for each in zip(*both)))


def released_epsilon(
    n: int, delta: float, d: int, sigma: float, *, size: int | None = None, radius: float | None = None
) -> float:
    """Return the smallest epsilon (to 1e-9) whose `released_delta` upper bound is at most delta, in (0, 1).

    radius : as in `unbounded_epsilon_tight`; other arguments, errors and source are as in `released_delta`
    The guarantee holds for all neighbours, like that of `released_dp`, but comes from the privacy loss itself rather than
    from its Rényi moments. Raises ``ArithmeticError`` if the quadrature cannot distinguish delta from 0.

    >>> from lib.gaussian_synthesis import released_epsilon
    >>> print(round(released_epsilon(10**7, delta=1e-5, d=6, sigma=0.01), 3))
    2.146
    """
    epsilon = _epsilon_at(delta, lambda epsilon: _upper_delta(n, epsilon, d, sigma, size, radius))
    return epsilon * (1 + 2.0**-48) + 1e-9 if epsilon else 0.0


def released_epsilon_attained(n: int, delta: float, d: int, sigma: float, *, size: int | None = None) -> float:
    """Return a lower bound (to 1e-9) on the epsilon of unclipped draws, from the explicit pair of `released_delta`.

    The bound is 0 if no pair is known. Arguments, errors and source are as in `released_epsilon`.

    >>> from lib.gaussian_synthesis import released_epsilon_attained
    >>> print(round(released_epsilon_attained(10**7, delta=1e-5, d=6, sigma=0.01), 3))
    2.146
    """
    epsilon = _epsilon_at(delta, lambda epsilon: released_delta(n, epsilon, d, sigma, size=size)[0])
    return max(epsilon * (1 - 2.0**-48) - 1e-9, 0.0)


def _epsilon_at(delta, delta_at) -> float:
    """Return where the decreasing function `delta_at` equals `delta`; 0 if it is below from the start."""
    delta = checks.number("delta", delta, "(0, 1)")

    def excess(epsilon):
        return float(delta_at(epsilon)) - delta

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 1e18:
            raise ArithmeticError(
                f"no epsilon up to 1e18 has a delta of {delta:g}, the error of its quadrature included"
            )
    return float(scipy.optimize.brentq(excess, 0.0, high, xtol=1e-9))


def records_needed(epsilon: float, cost: Callable[[int], Numbers], *, tolerance: float = 0.0) -> int:
    """Return the fewest records n, at most 10^15, for which ``cost(n) <= epsilon``, by bisection; `cost` must decrease in n.

    epsilon: (0, inf); tolerance: [0, 1), the relative excess allowed in the answer.
    For example ``records_needed(1, lambda n: n * unbounded_epsilon(n, 4, d, sigma))``. A `cost` from
    `bounded_epsilon` rises in places by some thousandths for orders near 1. Then n suffices and n - 1 does not, but a
    smaller n may. Raises ``ValueError`` if 10^15 records are too few.

    >>> from lib.gaussian_synthesis import records_needed, unbounded_epsilon
    >>> n = records_needed(1, lambda n: n * unbounded_epsilon(n, alpha=4, d=6, sigma=0.01), tolerance=0.001)
    >>> print(f"{n:.2e}")
    5.77e+06
    """
    epsilon, largest = checks.number("epsilon", epsilon, "(0, inf)"), 10**15
    tolerance = checks.number("tolerance", tolerance, "[0, 1)")
    if cost(largest) > epsilon:
        raise ValueError(f"epsilon must be at least {cost(largest):g}, the cost at n = {largest:.0e}, got {epsilon:g}")
    low, high = 0, largest  # n = low is too few, or none at all; high is enough
    while high - low > max(1, tolerance * high):
        middle = min(max(round((max(low, 1) * high) ** 0.5), low + 1), high - 1)
        low, high = (low, middle) if cost(middle) <= epsilon else (middle, high)
    return high
