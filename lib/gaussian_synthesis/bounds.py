"""Bounds on the Rényi privacy of one record that Gaussian synthesis releases: the paper's bounds, and sharper ones.

The bounds hold for D_sigma, the data sets in [-1, 1]^d whose covariance has no eigenvalue below sigma. If no two of
these are neighbours, as for sigma = 1 or n <= d, the bounds are vacuous. `regularised_epsilon` has no such condition,
because sigma is added to the covariance. Each function bounds the Rényi divergence of ONE released record before it is
clipped to the cube. For a number m that is fixed in advance, m records cost m times as much (`miura2022`, Proposition
2.4).

Notation, after the paper: N = n + 1, tau = 4 d / sigma, alpha the Rényi order, and mu and Sigma the mean and the
covariance of a data set. The divergence of two Gaussians splits into a mean term and, for each eigenvalue 1 + t_i of
Sigma_1^-1 Sigma_2, half of psi_alpha(t_i). The function

    psi_alpha(t) = (alpha log(1 + t) - log(1 + alpha t)) / (alpha - 1)  >= 0,

vanishes at t = 0 and grows on both sides of 0. In the paper's formulas, terms of opposite sign partly cancel; here no
such terms are added.

Coq checks the statements in real numbers, with the closed form of Proposition 4.1 as the divergence. The proof for
`divergence_added` covers alpha < n + 1, and the proof for `unbounded_epsilon_tight` covers the default radius.
"""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ..accounting.divergence import log1pmx, psi
from ..numerics import checks
from ..numerics import double_double as dd
from ..numerics.checks import Numbers
from ..numerics.elementwise import raised

_RANGES = {
    "n": (checks.integer, "[1, 1e30]"),  # the products of these are finite
    "alpha": (checks.real, "(1, 1e100]"),
    "d": (checks.integer, "[1, 1e30]"),
    "sigma": (checks.real, "[1e-30, 1]"),
    "radius": (checks.real, "[0, 1e100]"),
}
_BLOCK = 2**14  # elements worked on at a time: the intermediate arrays stay in the cache


def _elementwise(formula, *, error=2.0**-48, ranges=_RANGES):
    """Return a function that checks and broadcasts its arguments, applies `formula` to flat float arrays block by
    block, and raises the results by a relative `error` (or lowers them if `error` is negative). Where the condition of
    the formula fails, its intermediate values may be meaningless, but it must return ``inf``."""
    names = list(inspect.signature(formula).parameters)

    @functools.wraps(formula)
    def function(*args, **kwargs):
        """Apply the formula, under its own name and docstring (`functools.wraps`)."""
        given = inspect.signature(formula).bind(*args, **kwargs).arguments
        checked = [ranges[name][0](name, given[name], ranges[name][1]) for name in names]
        arrays = np.broadcast_arrays(*checked)
        flat = [array.reshape(-1) for array in arrays]
        result = np.empty(arrays[0].size)
        with np.errstate(all="ignore"):
            for start in range(0, result.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                result[block] = raised(formula(*(array[block] for array in flat)), error)
        return result.reshape(arrays[0].shape)[()]

    return function


@_elementwise
def unbounded_epsilon(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the epsilon of Theorem 3.1 (unbounded neighbours: sizes n and n + 1), per released record.

    n : number of records of the smaller neighbour, integer in [1, 1e30]; alpha : Rényi order, (1, 1e100]
    d : number of attributes, integer in [1, 1e30]; sigma : lower bound on the covariance's smallest eigenvalue, [1e-30,
        1]
    All arguments broadcast. The result is the larger of epsilon_{alpha,1} (n against n + 1) and epsilon_{alpha,2} (n +
    1 against n), rounded up by at most a relative 1e-14. It is ``inf`` where the condition of Theorem 3.1 fails.
    Raises ``ValueError`` for arguments outside these ranges.
    Coq checks this bound, except for rounding: `theorem_3_1` in proofs/.
    Source: miura2022, Theorem 3.1 (Lemmas 4.2-4.5) and, times n, Table 1.

    >>> from lib.gaussian_synthesis import unbounded_epsilon
    >>> n = 10**7
    >>> print(f"{n * unbounded_epsilon(n, alpha=4, d=6, sigma=0.01):.3f}")
    0.576
    """
    added, removed, holds = _theorem_3_1_directions(n, alpha, d, sigma)
    return np.where(holds, np.maximum(added, removed), np.inf)


@_elementwise
def bounded_epsilon(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the epsilon of Theorem 3.2 (bounded neighbours: one of n records replaced), per released record.

    Arguments, errors and accuracy are as in `unbounded_epsilon`.
    The result is ``inf`` unless alpha < n^2 / (tau (n - 1)).
    Coq checks this bound, except for rounding: `theorem_3_2` in proofs/. Source: miura2022, Theorem 3.2 (Lemmas
    4.6-4.9).

    >>> from lib.gaussian_synthesis import bounded_epsilon
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon(n, alpha=4, d=6, sigma=0.01):.0f}")
    3201
    """
    margin, kappa, one_minus = _bounded_terms(n, alpha, d, sigma)
    # The second logarithm is that of 1 - alpha kappa itself if alpha kappa is so near 1 that its digits are lost.
    logs = alpha * np.log1p(kappa) - np.where(alpha * kappa > 0.5, np.log(one_minus), np.log1p(-alpha * kappa))
    return np.where(margin > 0, 2 * alpha * d / margin + logs / (2 * (alpha - 1)), np.inf)


@_elementwise
def bounded_epsilon_tight(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the epsilon of Theorem 3.2 with a separate bound for each of the two non-zero t_i.

    The t_i are defined in the module's docstring. One t_i lies in [0, kappa] and the other in [-kappa, 0], with kappa =
    (n - 1) tau / n^2. The divergence grows with the distance of each t_i from 0. So the bound is

        epsilon = alpha/2 tau/(n^2 - alpha (n-1) tau) + psi(kappa)/2 + psi(-kappa)/2.

    Arguments and errors are as in `bounded_epsilon`; the result is finite on the same condition.
    Coq checks this bound, except for rounding: `theorem_A` in proofs/.
    Source: chapter 3 of miura2022, Theorem A, the improvement that miura2022 (end of section 3.2) hopes for.

    >>> from lib.gaussian_synthesis import bounded_epsilon_tight
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon_tight(n, alpha=4, d=6, sigma=0.01):.2f}")
    1.15
    """
    margin, kappa, one_minus = _bounded_terms(n, alpha, d, sigma)
    both = psi(kappa, alpha) + _psi_shrinking(kappa, alpha, one_minus)
    return np.where(margin > 0, 2 * alpha * d / margin + both / 2, np.inf)


@_elementwise
def bounded_epsilon_joint(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the epsilon of Theorem 3.2 with the two non-zero t_i bounded together.

    For large n, the result is about half that of `bounded_epsilon_tight`, where kappa is defined. In the cube, the old
    and the new record cannot both be extreme: t_1^2 + t_2^2 <= kappa^2. As psi(t)/t^2 decreases in t, the bound is

        epsilon = alpha/2 tau/(n^2 - alpha (n-1) tau) + psi(-kappa)/2.

    Like Theorem 3.2, this bound holds if the first data set lies in D_sigma. Arguments and errors are as in
    `bounded_epsilon`.
    Coq checks this bound, except for rounding: `theorem_B` in proofs/. Source: chapter 3 of miura2022, Theorem B.

    >>> from lib.gaussian_synthesis import bounded_epsilon_joint
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon_joint(n, alpha=4, d=6, sigma=0.01):.2f}")
    0.58
    """
    margin, kappa, one_minus = _bounded_terms(n, alpha, d, sigma)
    return np.where(margin > 0, 2 * alpha * d / margin + _psi_shrinking(kappa, alpha, one_minus) / 2, np.inf)


@_elementwise
def bounded_epsilon_both(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return Theorem G's upper bound on D_alpha over bounded neighbours (one of n records replaced) in D_sigma.

    Both neighbours lie in D_sigma. If the mechanism adds sigma I to the covariance, Theorem G holds for all data sets
    in the cube. Theorems 3.2, A and B then also hold for all data sets, because all four proofs use only that no
    eigenvalue is below sigma. The t_i are defined in the module's docstring. Suppose that sigma I is added, that all
    records lie in one corner, and that one of them is moved to the opposite corner. Then t_1 = kappa, and the bound
    exceeds the divergence of this pair by a relative error of about 2 kappa.

    Theorem B's kappa bounds both |t_i| and |t_i / (1 + t_i)|. So with q = kappa / (1 + kappa) the bound is

        epsilon = alpha/2 tau/n^2 / (1 - alpha q) + max(psi(-q), (1 + kappa)^2 psi(kappa))/2,

    and the result is ``inf`` unless alpha q < 1. Arguments and errors are as in `bounded_epsilon`.
    Coq checks this bound, except for rounding: `theorem_G` in proofs/. Source: chapter 3 of miura2022, Theorem G.

    >>> from lib.gaussian_synthesis import bounded_epsilon_both
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon_both(n, alpha=4, d=6, sigma=0.01):.2f}")
    0.58
    """
    margin, kappa, left = _bounded_terms(n, alpha, d, sigma, less=1)  # 1 - alpha q is left / (1 + kappa)
    spread = np.maximum(_psi_from(kappa, alpha, left), (1 + kappa) ** 2 * psi(kappa, alpha))
    return np.where(margin > 0, 2 * alpha * d * (1 + kappa) / margin + spread / 2, np.inf)


@_elementwise
def bounded_epsilon_centred(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the epsilon of Theorem G', a sharper form of Theorem G.

    Theorem G' uses what Lemma C says about means, and bounds the two terms of Theorem G together. It covers the pairs
    of `bounded_epsilon_both` and, apart from rounding, never exceeds that function's bound. Each attribute's mean over
    the n - 1 common records is at most m in absolute value, with m = min(1, (n sqrt(1 - sigma) + 1) / (n - 1)). With M
    = 1 + m, h = 1 - m, c = (n-1) / (n^2 sigma), kappa = c d M^2 / sqrt(1 - h^2/2), q = kappa / (1 + kappa) and K =
    max(psi(-q), (1 + kappa)^2 psi(kappa)) / kappa^2, the bound is

        epsilon = max over e >= -h of  [a (2 M - 2 e) + b (M^4 + (2 m e + M h)^2 - 2 M^2 e^2)] / 2,

    with a = alpha d / (sigma n^2 (1 - alpha q)) and b = K (c d)^2. The bound is ``inf`` unless alpha q < 1. If each of
    the two terms is replaced by its own maximum, the result is the simpler Theorem G with this kappa: alpha/2 tau/n^2 /
    (1 - alpha q) + K kappa^2 / 2. Arguments and errors are as in `bounded_epsilon`; kappa is rounded up by a relative
    2e-14. For n >= 2, the bound falls as n grows.

    Proof. Let x be replaced by y, mu be the mean of the common records, v = y - x and u = (y - mu) + (x - mu). For each
    attribute, |v_j| <= 2 and |u_j| + |v_j| <= 2 M, because n mean_j = (n - 1) mu_j + x_j and |mean_j| <= sqrt(1 -
    sigma). The mean term is at most a |v|^2 / d. Theorem G's proof bounds the spread term by K c^2 f, f = (|u|^2 |v|^2
    + (u.v)^2) / 2. f is largest where u_j and v_j have equal signs, and then grows with |u_j|. So let |u_j| = 2 M -
    |v_j| and w_j = M - |v_j|, in [-h, M]. Let e and s be the means of w_j and w_j^2. Then |v|^2 = d (M^2 - 2 M e + s)
    and f = d^2 (M^4 + s^2 - 2 M^2 e^2). Both grow with s, and s <= 2 m e + M h, because (w_j + h) (w_j - M) <= 0. Also,
    M + h = 2. The maximum of f alone is d^2 M^4 / (1 - h^2/2), so kappa bounds all eigenvalues. As n grows, m, c and q
    fall, K does not grow, and (e, s) covers a smaller set.
    Coq checks the bound and that it falls, except for rounding: `theorem_G_centred` and `centred_falls` in proofs/.
    Source: Theorem G', our own; `bounded_epsilon_attained` is a lower bound for it.

    >>> from lib.gaussian_synthesis import bounded_epsilon_centred
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon_centred(n, alpha=4, d=6, sigma=0.01):.4f}")
    0.5709
    """
    m = np.where(n > 1, np.minimum((n * np.sqrt(1 - sigma) + 1) / np.maximum(n - 1, 1), 1), 1)
    more, less = 1 + m, 1 - m
    factor = more**2 / np.sqrt(1 - less**2 / 2) / 4  # Theorem G has 1
    _, whole, _ = _bounded_terms(n, alpha, d, sigma)
    kappa = whole * factor * (1 + 2.0**-46)  # more than its rounding: the bound grows with kappa
    left = 1 - (alpha - 1) * kappa  # 1 - alpha q is left / (1 + kappa)
    largest = np.maximum(_psi_from(np.where(left > 0, kappa, 0), alpha, left), (1 + kappa) ** 2 * psi(kappa, alpha))
    mean, spread = alpha * d * (1 + kappa) / (sigma * n**2 * left), largest / factor**2 / 16
    e = np.maximum((2 * m * more * less - mean / spread) / (more**2 - 2 * m**2) / 2, -less)
    total = 2 * mean * (more - e) + spread * (more**4 + (2 * m * e + more * less) ** 2 - 2 * (more * e) ** 2)
    return np.where(left > 0, total / 2, np.inf)


def largest_radius(d: Numbers, sigma: Numbers) -> Numbers:
    """Return the largest squared Mahalanobis distance of a record in [-1, 1]^d: d (1 + sqrt(1 - sigma))^2 / sigma.

    Each variance is in [sigma, 1 - mean^2], so no |mean| exceeds sqrt(1 - sigma). The paper uses 4 d / sigma.
    Coq checks this distance, except for rounding: `lemma_C` in proofs/. Source: chapter 3 of miura2022, Lemma C.

    >>> from lib.gaussian_synthesis import largest_radius
    >>> print(round(float(largest_radius(d=6, sigma=0.01)), 1))
    2388.0
    """
    d, sigma = (_RANGES[name][0](name, given, _RANGES[name][1]) for name, given in (("d", d), ("sigma", sigma)))
    return raised(d * (1 + np.sqrt(1 - sigma)) ** 2 / sigma)


@_elementwise
def divergence_added(n: Numbers, alpha: Numbers, d: Numbers, radius: Numbers) -> Numbers:
    """Return the exact D_alpha of the Gaussian of n records from the Gaussian after one record is added.

    n, alpha, d : as in `unbounded_epsilon`
    radius : the squared Mahalanobis distance r = (x - mu)^T Sigma^-1 (x - mu) of the record from the mean of the n
        records, in [0, 1e100]

    The divergence depends on the record only through r. It is ``inf`` for alpha >= n + 1 if d > 1 or r is too small.
    Coq checks this divergence, except for rounding: `theorem_D_added` in proofs/.
    Source: miura2022, Lemmas 4.2-4.5 (s = 1) without their inequalities; chapter 3 of miura2022, Theorem D.

    >>> from lib.gaussian_synthesis import divergence_added
    >>> print(f"{divergence_added(n=1000, alpha=4, d=6, radius=100.0):.5f}")
    0.00745
    """
    more = n + 1
    margin = more * (more - alpha) + alpha * n * radius
    others = np.where(d > 1, (d - 1) * psi(np.where(more > alpha, -1 / more, 0), alpha), 0)
    last = psi(np.where(margin > 0, (n * radius - more) / more**2, 0), alpha)
    total = alpha * radius / margin + others + last
    return np.where((margin > 0) & ((more > alpha) | (d == 1)), total / 2, np.inf)


@_elementwise
def divergence_removed(n: Numbers, alpha: Numbers, d: Numbers, radius: Numbers) -> Numbers:
    """Return the exact D_alpha of the Gaussian of n + 1 records from the Gaussian after one record is removed.

    n, alpha, d : as in `unbounded_epsilon`
    radius : the squared Mahalanobis distance r of the removed record, by the mean and covariance of the n remaining
        records, in [0, 1e100]. (By the mean and covariance of all n + 1 records, the squared distance is n r / (n + 1 +
        r).)

    The result is ``inf`` unless n (alpha - 1) r < (n + 1) (n + alpha).
    Coq checks this divergence, except for rounding: `theorem_D_removed` in proofs/.
    Source: miura2022, the equations in Lemmas 4.2-4.5 (s = -1); Theorem D in the book's chapter miura2022/03.

    >>> from lib.gaussian_synthesis import divergence_removed
    >>> print(f"{divergence_removed(n=1000, alpha=4, d=6, radius=100.0):.5f}")
    0.01177
    """
    more = n + 1
    margin = dd.to_float(dd.minus(_dd_times_sum((more, 0.0), n, alpha), dd.times(dd.two_product(n, alpha - 1), radius)))
    slope = np.where(margin > 0, (n * radius - more) / more**2, 0)  # -s, s = t/(1 + t)
    last = _psi_from(slope, alpha, margin / more**2)
    total = alpha * radius / margin + (d - 1) * psi(1 / n, alpha) + last
    return np.where(margin > 0, total / 2, np.inf)


def unbounded_epsilon_tight(
    n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers, *, radius: Numbers | None = None
) -> Numbers:
    """Return Theorem D's upper bound on D_alpha over unbounded neighbours (n, n + 1), per released record.

    n, alpha, d, sigma : as in `unbounded_epsilon`, but sigma in [1e-30, 1): at 1 no data set has a neighbour
    radius : default `largest_radius(d, sigma)`; the paper uses 4 d / sigma

    This bound covers all pairs whose smaller data set has no eigenvalue below sigma. In both directions the divergence
    grows with r, the squared distance of the added or removed record from the smaller set's mean. There is one
    exception: for alpha > (n+1)^2/(2n+1), the divergence of adding a record may first fall near r = 0. So the supremum
    over r in [0, `radius`] is attained at an endpoint. Errors are as in `unbounded_epsilon`.
    Coq checks this bound, except for rounding: `theorem_D` in proofs/. Source: chapter 3 of miura2022, Theorem D.

    >>> from lib.gaussian_synthesis import unbounded_epsilon_tight
    >>> n = 10**7
    >>> print(f"{n * unbounded_epsilon_tight(n, alpha=4, d=6, sigma=0.01):.4f}")
    0.5704
    """
    sigma = checks.real("sigma", sigma, "[1e-30, 1)")
    radius = largest_radius(d, sigma) if radius is None else radius
    ends = np.maximum(divergence_added(n, alpha, d, 0), divergence_added(n, alpha, d, radius))
    return np.maximum(ends, divergence_removed(n, alpha, d, radius))


_WITH_NOISE = _RANGES | {"sigma": (checks.real, "[1e-30, 1e30]")}


@functools.partial(_elementwise, ranges=_WITH_NOISE)
def regularised_epsilon(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return the Rényi epsilon of one record drawn from N(mu, Sigma + sigma I), for all data sets: Theorem H.

    n : number of records of the smaller neighbour, integer in [1, 1e30]; alpha : Rényi order, (1, 1e100]
    d : number of attributes, integer in [1, 1e30]; sigma : the variance added to each attribute, [1e-30, 1e30]
    All arguments broadcast. The result is the larger of the divergences in the two directions, rounded up by at most a
    relative 1e-14. It is ``inf`` unless alpha < n + 1 and (alpha - 1) n tau < (n + 1)^2. Raises ``ValueError`` for
    arguments outside these ranges.

    The only condition on the data is that they lie in [-1, 1]^d. Neighbours are unbounded, of sizes n and n + 1.
    The pair (P, Q) of Theorem H, below, is at least as distinguishable as any pair of neighbours. With N = n + 1 and
    kappa = n tau / N^2, the divergences of this pair are

        added   = alpha kappa / (2 n (1 + alpha kappa))       + psi(kappa)/2              + d psi(-1/N)/2,
        removed = alpha kappa / (2 n (1 - (alpha-1) kappa))   + psi(-kappa/(1+kappa))/2   + d psi(1/n)/2.

    Theorem H. Let P = N(0, I) and Q = N((sqrt(tau)/N) e_1, diag(1 + kappa, n/N, ..., n/N)) in d + 1 dimensions. For any
    data set of n records in the cube and any added record, some channel sends P to the law of the release before the
    record is added, and Q to the law after the record is added. So every measure of distinguishability that respects
    post-processing is, in both directions, at most its value for (P, Q) or, for m records, for the m-fold products of P
    and Q.

    Proof. Let Sigma_1 = Sigma + sigma I, v the added record minus mu, w = Sigma_1^-1/2 v and R = I - sigma Sigma_1^-1,
    which is positive semidefinite. Let A = [w / sqrt(tau), R^1/2], a d x (d+1) matrix. Since v v^T <= |v|^2 I <= 4 d I
    = tau sigma I, A A^T = w w^T / tau + R <= I. The channel is z -> A z + g, g ~ N(0, I - A A^T). It sends P to N(0,
    I), and Q to N(w/N, I - R/N + (n/N^2) w w^T): the two laws in the coordinates Sigma_1^-1/2 (. - mu).

    The bound falls as n grows, as `releases` proves.
    Coq checks the bound and that it falls, except for rounding: `theorem_H` and `H_falls` in proofs/.

    Related work. Wei et al. (2023) compute the hockey-stick divergence of any two Gaussians. They also add randomness
    to an algorithm with Gaussian output until a single pair of Gaussians describes its privacy. Here the covariance
    depends on the data. Theorem H names one pair that dominates all neighbours, and `regularised_epsilon_attained`
    shows how close the bound is. We have read only their abstract and do not know whether their pair is this one.
    Source: Theorem H, our own; `regularised_epsilon_attained` is a lower bound for it.

    >>> from lib.gaussian_synthesis import regularised_epsilon
    >>> n = 10**7
    >>> print(f"{n * regularised_epsilon(n, alpha=4, d=6, sigma=0.01):.5f}")
    0.57667
    """
    added, removed = _regularised_terms(n, alpha, d, sigma)
    rest = np.maximum(n - alpha + 1, 0) / n  # 1 - (alpha - 1) / n, exact where it is small
    added += d * _psi_from(1 / n, alpha, rest)
    return np.where((rest > 0), np.maximum(added, removed + d * psi(1 / n, alpha)) / 2, np.inf)


def _regularised_terms(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> tuple[Numbers, Numbers]:
    """Return twice the D_alpha of the first coordinates of Theorem H's pair in each direction: added, removed."""
    _, kappa, left = _bounded_terms(n, alpha, d, sigma, more=1, less=1)
    added = alpha * kappa / (n * (1 + alpha * kappa)) + psi(kappa, alpha)
    removed = alpha * kappa / (n * left) + _psi_from(np.where(left > 0, kappa, 0), alpha, left)
    return added, np.where(left > 0, removed, np.inf)


def _theorem_3_1_directions(n, alpha, d, sigma):
    """Return (epsilon_alpha1, epsilon_alpha2, condition) of Theorem 3.1."""
    more, tau = n + 1, 4 * d / sigma
    ordinary, extreme = psi(-1 / more, alpha), psi((n * tau - more) / more**2, alpha)
    added = alpha * tau / (more * (more - alpha)) + (d - 1) * ordinary + np.maximum(ordinary, extreme)

    # margin = sigma (n (n + alpha) - alpha (n + 1) tau); room = sigma (n - tau)
    square = _dd_times_sum(dd.two_product(sigma, n), n, alpha)
    margin = dd.to_float(dd.minus(square, dd.times(dd.two_product(4 * d, more), alpha)))
    room = dd.to_float(dd.minus(dd.two_product(sigma, n), (4 * d, 0.0)))
    slope = np.where(margin > 0, (more * tau - n) * sigma / (more * room), 0)  # -s, s = t/(1 + t)
    ordinary = psi(1 / n, alpha)
    extreme = _psi_from(slope, alpha, margin / (more * room))
    removed = 4 * alpha * d / margin + (d - 1) * ordinary + np.maximum(ordinary, extreme)
    return added / 2, removed / 2, margin > 0


def _bounded_terms(n, alpha, d, sigma, *, more=0, less=0):
    """Return margin = sigma (N^2 - a (N-1) tau), kappa = (N-1) tau / N^2 and 1 - a kappa, accurately.

    N is n + more, and a is alpha - less.
    """
    square = _dd_times_sum(_dd_times_sum((sigma, 0.0 * sigma), n, more), n, more)
    margin = dd.to_float(dd.minus(square, _dd_times_sum(dd.two_product(4 * d, n - 1 + more), alpha, -less)))
    whole = dd.to_float(square)
    return margin, 4 * d * (n - 1 + more) / whole, margin / whole


def _psi_shrinking(kappa, alpha, one_minus):
    """Return psi_alpha(-kappa), accurate even where `one_minus`, 1 - alpha kappa, is nearly 0."""
    slope = np.where(one_minus > 0, kappa / (1 - kappa), 0)
    return _psi_from(slope, alpha, one_minus / (1 - kappa))


def _psi_from(slope, alpha, rest):
    """Return psi_alpha(t), t = -slope / (1 + slope), accurate even if rest = 1 - (alpha - 1) slope is nearly 0."""
    return -log1pmx(slope) - _log1pmx_from((1 - alpha) * slope, rest) / (alpha - 1)


def _dd_times_sum(x, a, b):
    """Return the double-double `x` times the exact sum of the floats a and b."""
    high, low = dd.two_sum(a, b)
    return dd.minus(dd.times(x, high), dd.times(x, -low))


def _log1pmx_from(x, one_plus_x):
    """Return log(1 + x) - x, computed from `one_plus_x` if x is near -1."""
    return np.where(x < -0.5, np.log(one_plus_x) - x, log1pmx(np.maximum(x, -0.5)))
