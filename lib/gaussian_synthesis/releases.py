"""A whole release of Gaussian synthesis: what m records cost, whatever bound of a single one is used."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from .. import accounting
from ..accounting.hockey_stick import hockey_stick_gaussian
from ..numerics import checks
from .bounds import largest_radius, unbounded_epsilon

ORDERS = 1 + np.geomspace(1e-2, 1e4, 1200)
"""Default grid of Rényi orders over which a conversion to (epsilon, delta) is optimised."""


def released_dp(n, delta, d, sigma, *, size=None, bound=unbounded_epsilon, conversion="canonne2020", orders=ORDERS):
    """(epsilon, delta)-DP of a release of `size` records (default n), the best over `orders`.

    n, d, sigma: scalars as in `bound` (any of this module's epsilons); delta: (0, 1);
    conversion: see `accounting.rdp_to_dp`, whose result (with `.epsilon` and the minimising
    `.alpha`) is returned. `size` is fixed in advance. Source: miura2022, Table 2, with the order optimised.
    """
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    return accounting.rdp_to_dp(orders, size * bound(n, orders, d, sigma), delta, conversion=conversion)


def extremal_pair(n, d, radius, direction) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two Gaussians (mean1, cov1, mean2, cov2) in d dimensions at squared Mahalanobis distance `radius`.

    What `divergence_added` (direction "added") and `divergence_removed` ("removed") compare,
    in coordinates where the first is N(0, I). n, d: whole, [1, inf); radius: [0, inf), for
    "removed" [0, n). Source: "Beyond the document", Theorem D.
    """
    n, d = checks.whole("n", n, "[1, inf)"), checks.whole("d", d, "[1, inf)")
    checks.one_of("direction", direction, ("added", "removed"))
    sign, other = (1, n + 1) if direction == "added" else (-1, n)
    radius = checks.number("radius", radius, "[0, inf)" if sign == 1 else f"[0, {n})")
    variances = np.full(d, (other - sign) / other)
    variances[0] *= 1 + sign * radius / other
    mean = np.zeros(d)
    mean[0] = sign * np.sqrt(radius) / other
    return np.zeros(d), np.eye(d), mean, np.diag(variances)


def released_delta(n, epsilon, d, sigma, *, size=None, radius=None):
    """(lower, upper) bounds on the smallest delta for which `size` records are (epsilon, delta)-DP.

    Unbounded neighbours of sizes n and n + 1; `size` (default n) is fixed in advance;
    epsilon: scalar or array, (-inf, inf); n, d, sigma, radius: scalars as in `unbounded_epsilon_exact`.

    The upper bound holds for all neighbours: the extremal pair in d + 1 dimensions can be turned, by a map that does
    not look at the data, into the pair of any neighbours in d. The lower bound is the extremal pair in d dimensions
    itself, which neighbours come as close to as n allows. Both include the error bound of the quadrature, and lie
    within [0, 1]. Source: "Beyond the document", Theorem E.
    """
    n, largest = checks.whole("n", n, "[1, 1e15]"), float(largest_radius(d, sigma))
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    epsilon = checks.real("epsilon", epsilon, "(-inf, inf)")
    radius = largest if radius is None else checks.number("radius", radius, "[0, inf)")
    lower, upper = np.zeros(np.shape(epsilon)), np.zeros(np.shape(epsilon))
    if radius >= n:  # a record that far, once removed, leaves a singular covariance
        return lower, np.ones(np.shape(epsilon))
    for direction in ("added", "removed"):
        attained = hockey_stick_gaussian(*extremal_pair(n, d, radius, direction), epsilon, count=size)
        dominating = hockey_stick_gaussian(*extremal_pair(n, d + 1, radius, direction), epsilon, count=size)
        lower = np.maximum(lower, attained.delta - attained.error)
        upper = np.maximum(upper, dominating.delta + dominating.error)
    return lower, np.minimum(upper, 1.0)


def released_epsilon(n, delta, d, sigma, *, size=None, radius=None):
    """Smallest epsilon (to 1e-9) whose `released_delta` upper bound is at most delta, in (0, 1).

    ``inf`` where the squared Mahalanobis distance may reach n: no epsilon is then small enough.

    A guarantee for all neighbours, like `released_dp`, but from the privacy loss itself
    rather than from its Rényi moments. Arguments and source as in `released_delta`.
    """
    delta = checks.number("delta", delta, "(0, 1)")

    def excess(epsilon):
        return float(released_delta(n, epsilon, d, sigma, size=size, radius=radius)[1]) - delta

    if excess(0.0) <= 0:
        return 0.0
    if (largest_radius(d, sigma) if radius is None else radius) >= n:
        return np.inf
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 1e6:
            raise ValueError(f"delta must be larger than the error of the quadrature at epsilon = 1e6, got {delta:g}")
    return float(brentq(excess, 0.0, high, xtol=1e-9)) + 1e-9


def records_needed(epsilon, cost, *, tolerance=0.0, largest=10**15):
    """Fewest records n for which ``cost(n) <= epsilon``, by bisection; `cost` must decrease in n.

    For example ``records_needed(1, lambda n: n * unbounded_epsilon(n, 4, d, sigma))``.
    epsilon: (0, inf); tolerance: [0, 1), how much too large the answer may be, relatively; largest: whole, [1, 1e100].
    Raises ``ValueError`` where `largest` records are too few.
    """
    epsilon, largest = checks.number("epsilon", epsilon, "(0, inf)"), checks.whole("largest", largest, "[1, 1e100]")
    tolerance = checks.number("tolerance", tolerance, "[0, 1)")
    if cost(largest) > epsilon:
        raise ValueError(f"epsilon must be at least {cost(largest):g}, the cost at n = {largest:.0e}, got {epsilon:g}")
    low, high = 0, largest  # n = low is too few, or none at all; high is enough
    while high - low > max(1, tolerance * high):
        middle = min(max(round((max(low, 1) * high) ** 0.5), low + 1), high - 1)
        low, high = (low, middle) if cost(middle) <= epsilon else (middle, high)
    return high
