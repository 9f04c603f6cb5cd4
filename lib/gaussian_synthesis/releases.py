"""The cost of a release of m records by Gaussian synthesis, given any bound for a single record.

If the cost for a fixed m falls as n grows, a cost for n records also holds for all larger data sets. Coq checks that
the Rényi cost falls for Theorems 3.1 and H from n = 1, for 3.2, A, B, G and G' from n = 2, and for D from the n given
below. For the privacy loss itself, the proofs for H, D and E follow. Let P and Q(N) be the pair for N = n + 1, and w =
1 / N:

- H: Q(N) has a first coordinate of mean w sqrt(tau) and variance 1 + t, t = (w - w^2) tau, and others of
  variance 1 - w;
- E: the same with mean w sqrt(R) and t = w (R - 1) - w^2 R, where R is the largest radius. D has one coordinate fewer.

Lemma. For t > -1, the pair N(0, 1), N(m, 1 + t) becomes more distinguishable, in every measure that respects
post-processing and for any number k of draws, as m >= 0 grows. Proof. By Blackwell's theorem it is enough that
delta(eps) grows in both directions. The set S of k draws whose loss exceeds eps is a ball around the point with all
coordinates -m/t, or its complement (a half-space if t = 0). As S is optimal, it can be held fixed: the derivative of
delta(eps) in m is the derivative of the probability of S under N(m, 1 + t), multiplied by -e^eps if N(0, 1) comes
first and otherwise by 1. A normal law's probability of a ball falls with the distance of its mean from the centre. For
t > 0, the distance grows with m, and S is the ball if N(0, 1) comes first and otherwise its complement. For t < 0, the
mean m lies between 0 and the centre -m/t, the distance shrinks, and the ball and its complement change places. So
delta(eps) grows.

Theorem. As N grows, H's pair becomes less distinguishable, and so do the pairs of E and D if N >= 2 R / (R - 1) or R <=
1. Proof. Let w' and t' belong to N' > N, so that w' < w. For H, t' <= t, as w <= 1/2. For E, 0 <= t' <= t if w <= (R -
1) / (2 R); if R <= 1, t <= t' <= 0. With c^2 = t' / t <= 1, z -> c z + sqrt(1 - c^2) g, g ~ N(0, 1), keeps N(0, 1) and
sends the first coordinate to variance 1 + t' and mean c times as large. This mean is at least the mean for N', as
(t'/w') / (t/w) >= w'/w: for H, (1 - w') w >= (1 - w) w'; for E, |R - 1| w >= |R - 1| w'. By the lemma, some channel
lowers this mean to the mean for N'. In the other coordinates c^2 = w'/w sends variance 1 - w to 1 - w'.

For one attribute R = (1 + s) / (1 - s) with s = sqrt(1 - sigma), and the condition is n >= 1/s. For d >= 2, the
condition holds from n = 3, and for d >= 3 from n = 2. For fewer records the claim is open for D and E. One channel
cannot prove the claim: where t < 0 < t', the loss is bounded for N but not for N'. A search found no n at which the
cost rises.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .. import accounting
from ..accounting.conversions import ApproximateDP
from ..accounting.divergence import GaussianPair
from ..accounting.hockey_stick import hockey_stick_pair
from ..numerics import checks
from ..numerics.checks import Numbers
from .bounds import largest_radius, unbounded_epsilon
from .pairs import attained_radius

ORDERS = 1 + np.geomspace(1e-2, 1e4, 1200)
"""Default grid of Rényi orders over which a conversion to (epsilon, delta) is optimized."""


def released_dp(n: int, delta: float, d: int, sigma: float, *, size: int | None = None,
                bound: Callable[..., Numbers] = unbounded_epsilon, conversion: str = "canonne2020",
                orders: ArrayLike = ORDERS) -> ApproximateDP:  # fmt: skip
    """Return the (epsilon, delta)-DP guarantee of a release of `size` records (default n) by the best of `orders`.

    n, d, sigma : scalars as for `bound`, an epsilon function of `bounds`; delta : (0, 1)
    size : number of released records, fixed in advance
    conversion : as for `accounting.rdp_to_dp`

    The result is that of `rdp_to_dp`, with the smallest `.epsilon` and its order `.alpha`.
    Source: miura2022, Table 2, with the order optimized.

    >>> from lib.gaussian_synthesis import released_dp
    >>> print(round(released_dp(10**7, delta=1e-5, d=6, sigma=0.01).epsilon, 3))
    2.345
    """
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    return accounting.rdp_to_dp(orders, size * bound(n, orders, d, sigma), delta, conversion=conversion)


def extremal_pair(n: int, d: int, radius: float) -> GaussianPair:
    """Return, in normal form, the Gaussians of n and of n + 1 records in d dimensions that `divergence_added` compares.

    The record that is added has squared Mahalanobis distance `radius` from the mean of the n records. `swapped` gives
    the pair of `divergence_removed`.
    n : integer in [1, 1e15]; d : integer in [1, inf); radius : [0, 1e100]
    Source: chapter 3 of miura2022, Theorem D.
    """
    n, d = checks.whole("n", n, "[1, 1e15]"), checks.whole("d", d, "[1, inf)")
    radius, more = checks.number("radius", radius, "[0, 1e100]"), n + 1
    return _normal_form(n, d, np.sqrt(radius) / more, (n * radius - more) / more**2, (n * radius + more) / more**2)


def regularised_pair(n: int, d: int, sigma: float) -> GaussianPair:
    """Return the pair (P, Q) of Theorem H in normal form, with d + 1 coordinates.

    The first coordinate alone is the pair of `regularised_epsilon_attained`.

    n : integer in [1, 1e15]; d : integer in [1, inf); sigma : the variance added to each attribute, [1e-30, 1e30]
    Source: Theorem H, stated and proved in `regularised_epsilon`.
    """
    n, d = checks.whole("n", n, "[1, 1e15]"), checks.whole("d", d, "[1, inf)")
    tau = 4 * d / checks.number("sigma", sigma, "[1e-30, 1e30]")
    last = n * tau / (n + 1) ** 2
    return _normal_form(n, d + 1, np.sqrt(tau) / (n + 1), last, last)


def _normal_form(n, d, mean, last, size) -> GaussianPair:
    """Return a pair with one coordinate of mean `mean` and variance 1 + `last`, and d - 1 of variance n / (n + 1).

    `size` is the sum of the absolute values of the terms of `last`, and bounds the rounding error of `last`.
    """
    m, t, t_size = np.zeros(d), np.full(d, -1 / (n + 1)), np.full(d, 1 / (n + 1))
    m[0], t[0], t_size[0] = mean, last, size
    return GaussianPair(m, t, 2.0**-50 * m, 2.0**-50 * t_size)


def released_delta(
    n: int, epsilon: ArrayLike, d: int, sigma: float, *, size: int | None = None, tolerance: float | None = None
) -> tuple[Numbers, Numbers]:
    """Return (lower, upper) bounds on the smallest delta for which releasing `size` records is (epsilon, delta)-DP.

    Neighbours are unbounded, of sizes n and n + 1, both in D_sigma.

    epsilon : number or array in (-inf, inf); n, d, sigma : scalars as in `unbounded_epsilon_tight`
    size : number of released records, fixed in advance, default n
    tolerance : as for `hockey_stick_gaussian`. The default is 1e-14, or 10^-(4 + size) for fewer than 10 records,
        because their integrand falls slowly

    The upper bound holds for all neighbours whose smaller data set lies in D_sigma. The reason is that some random map
    turns the extremal pair in d + 1 dimensions into the Gaussians of any such neighbours in d dimensions. The lower
    bound is attained by `worst_case_neighbours`, which both lie in D_sigma; it is 0 if no pair is known. Both bounds
    are for unclipped records, allow for the quadrature's error and lie in [0, 1]. Source: chapter 3 of miura2022,
    Theorem E.

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
    return _delta(n, epsilon, extremal_pair(n, d, radius), size, tolerance, lower=True), upper


def _upper_delta(n, epsilon, d, sigma, size, radius=None, tolerance=None):
    sigma = checks.number("sigma", sigma, "(0, 1)")
    radius = largest_radius(d, sigma) if radius is None else radius
    return _delta(n, epsilon, extremal_pair(n, d + 1, radius), size, tolerance)


def _delta(n, epsilon, pair, size, tolerance=None, lower=False):
    """Return the larger delta, of `pair` or of the swapped pair, plus its error (minus its error if `lower`)."""
    size = n if size is None else checks.whole("size", size, "[1, inf)")
    tolerance = 10.0 ** -min(4 + size, 14) if tolerance is None else tolerance
    both = [hockey_stick_pair(each, epsilon, size, tolerance=tolerance) for each in (pair, pair.swapped())]
    ends = [each.delta - each.error if lower else each.delta + each.error for each in both]
    return np.clip(np.maximum(ends[0], ends[1]), 0.0, 1.0)


def regularised_released_delta(
    n: int, epsilon: ArrayLike, d: int, sigma: float, *, size: int | None = None, tolerance: float | None = None
) -> tuple[Numbers, Numbers]:
    """Return (lower, upper) bounds on the smallest delta for which releasing `size` records is (epsilon, delta)-DP.

    The records are drawn from N(mu, Sigma + sigma I).

    Neighbours are unbounded, of sizes n and n + 1. The only condition on the data is that they lie in [-1, 1]^d.

    n : [1, 1e15]; d : integer in [1, inf); sigma : the variance added to each attribute, [1e-30, 1e30]
    epsilon : number or array in (-inf, inf); size and tolerance : as in `released_delta`

    The upper bound is the delta of `regularised_pair`, and the lower bound is that of its first coordinate, which the
    data sets of `regularised_epsilon_attained` attain. Both bounds are for unclipped records, allow for the
    quadrature's error and lie in [0, 1]. Raises ``ValueError`` for other arguments, and ``ArithmeticError`` where 4 d /
    sigma exceeds about 1e15. Source: Theorem H, stated and proved in `regularised_epsilon`.

    >>> from lib.gaussian_synthesis import regularised_released_delta
    >>> lower, upper = regularised_released_delta(10**7, epsilon=1.0, d=6, sigma=0.01)
    >>> print(f"{lower:.4e} {upper:.4e}")
    1.0491e-02 1.0491e-02
    """
    return tuple(_regularised_delta(n, epsilon, d, sigma, size, tolerance, lower=way) for way in (True, False))


def _regularised_delta(n, epsilon, d, sigma, size, tolerance=None, lower=False):
    pair = regularised_pair(n, d, sigma)
    if lower:
        pair = GaussianPair(*(part[:1] for part in pair))
    return _delta(n, epsilon, pair, size, tolerance, lower)


def released_epsilon(
    n: int, delta: float, d: int, sigma: float, *, size: int | None = None, radius: float | None = None
) -> float:
    """Return the smallest epsilon for which the upper bound of `released_delta` is at most `delta`.

    delta : (0, 1); radius : as in `unbounded_epsilon_tight`

    Other arguments, errors and source are as in `released_delta`. The search stops within 1e-9 of the root, and the
    quadrature's error is added. For fewer than 10 records, this error can be a hundred-thousandth of epsilon. The
    guarantee holds for the same neighbours as the upper bound of `released_delta`. Unlike the guarantee of
    `released_dp`, it comes from the privacy loss itself rather than from its Rényi moments. Raises ``ArithmeticError``
    if the quadrature cannot distinguish delta from 0.

    >>> from lib.gaussian_synthesis import released_epsilon
    >>> print(round(released_epsilon(10**7, delta=1e-5, d=6, sigma=0.01), 3))
    2.146
    """
    return _above(_epsilon_at(delta, lambda epsilon: _upper_delta(n, epsilon, d, sigma, size, radius)))


def released_epsilon_attained(n: int, delta: float, d: int, sigma: float, *, size: int | None = None) -> float:
    """Return a lower bound on the epsilon of unclipped draws, from the explicit pair of `released_delta`.

    The bound is 0 if no pair is known. Arguments, errors and source are as in `released_epsilon`.

    >>> from lib.gaussian_synthesis import released_epsilon_attained
    >>> print(round(released_epsilon_attained(10**7, delta=1e-5, d=6, sigma=0.01), 3))
    2.146
    """
    return _below(_epsilon_at(delta, lambda epsilon: released_delta(n, epsilon, d, sigma, size=size)[0]))


def regularised_released_epsilon(n: int, delta: float, d: int, sigma: float, *, size: int | None = None) -> float:
    """Return the smallest epsilon at `delta` for releasing `size` records from N(mu, Sigma + sigma I).

    delta : (0, 1)
    The guarantee needs no condition on the data except that they lie in [-1, 1]^d. Neighbours, arguments, errors and
    source are those of `regularised_released_delta`. The result is as accurate as that of `released_epsilon`. Raises
    ``ArithmeticError`` if the quadrature cannot distinguish delta from 0.

    >>> from lib.gaussian_synthesis import regularised_released_epsilon
    >>> print(round(regularised_released_epsilon(10**7, delta=1e-5, d=6, sigma=0.01), 6))
    2.159336
    """
    return _above(_epsilon_at(delta, lambda epsilon: _regularised_delta(n, epsilon, d, sigma, size)))


def regularised_released_epsilon_attained(
    n: int, delta: float, d: int, sigma: float, *, size: int | None = None
) -> float:
    """Return a lower bound for `regularised_released_epsilon`, from the pair of
    `regularised_epsilon_attained`.

    >>> from lib.gaussian_synthesis import regularised_released_epsilon_attained
    >>> print(round(regularised_released_epsilon_attained(10**7, delta=1e-5, d=6, sigma=0.01), 6))
    2.159334
    """
    return _below(_epsilon_at(delta, lambda epsilon: _regularised_delta(n, epsilon, d, sigma, size, lower=True)))


def _above(root: float) -> float:
    """Return a root of `_epsilon_at` raised by more than its error, or 0 if the root is 0, which is exact."""
    return root * (1 + 2.0**-48) + 1e-9 if root else 0.0


def _below(root: float) -> float:
    return max(root * (1 - 2.0**-48) - 1e-9, 0.0)


def _epsilon_at(delta, delta_at) -> float:
    """Return the epsilon at which the decreasing `delta_at` equals `delta`, or 0 if `delta_at(0)` is not larger."""
    delta = checks.number("delta", delta, "(0, 1)")

    def excess(epsilon):
        # Logarithms keep the search near the root. Far beyond it, the quadrature for few records takes long.
        return float(np.log(np.maximum(delta_at(epsilon), 5e-324)) - np.log(delta))

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > 0:
        low, high = high, 2 * high
        if high > 1e18:
            raise ArithmeticError(
                f"no epsilon up to 1e18 has a delta of at most {delta:g} once the quadrature error is added"
            )
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-9))


def records_needed(epsilon: float, cost: Callable[[int], Numbers], *, tolerance: float = 0.0) -> int:
    """Return the smallest number n of records for which ``cost(n) <= epsilon``, by bisection.

    The result is at most 10^15. `cost` must decrease in n.

    epsilon : (0, inf); tolerance : [0, 1), the relative excess allowed in the answer

    An example is ``records_needed(1, lambda n: n * unbounded_epsilon(n, 4, d, sigma))``. The cost of n records by
    `bounded_epsilon` rises in places by some thousandths for orders near 1. In this case, the returned n suffices and n
    - 1 does not, but a smaller n may suffice. Raises ``ValueError`` if 10^15 records are too few.

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
