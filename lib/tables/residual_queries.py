"""Answer residual queries, which are centred tables of counts, and compute the privacy cost of the noisy answers.

The residual of a set e of attributes is the table of counts over e, centred along each of its axes: the part that the
proper subsets of e do not explain. The marginal over a set r is the sum over the subsets e of r of their residuals,
each spread evenly over the cells of r (`rebuilt`). The residual of () is the number of records. A marginal with
Gaussian noise therefore combines several residuals with noise. A stage, as this module calls it, chooses the noise of
each residual separately.

Privacy. Let a stage answer the residuals of sets e. The Gaussian noise has variance 1/p_e in each cell and is then
centred like the residual, so it has variance 1/p_e in all directions that a residual can take. For two tables of
records, let z_e be the difference of their residuals. The answers for the two tables have Gaussian laws with the same
covariance, and their means are sqrt(sum_e p_e |z_e|^2) standard deviations apart. So the stage is mu-GDP if

    mu^2 >= sum_e p_e |z_e|^2    for all neighbouring tables (Dong, Roth, Su 2022, Theorem 2.7).

Let r_v = 1/n_v for an attribute of n_v values. A record x adds to the residual of e the vector u_e(x), the outer
product over v in e of the indicator of x_v minus r_v. The inner product of two such vectors is

    <u_e(x), u_e(y)> = prod_(v in e) ([x_v = y_v] - r_v).                                          (1)

Unbounded neighbours: z_e = u_e(x). By (1), |z_e|^2 = prod_(v in e) (1 - r_v), the same for every record x. So
mu^2 = sum_e p_e prod_(v in e) (1 - r_v) is exact for every pair of neighbours (Xiao, He, Zhang, Kifer 2023).

Bounded neighbours: z_e = u_e(x) - u_e(y), and |z_e|^2 = 2 (prod (1 - r_v) - prod ([x_v = y_v] - r_v)). Let A be the set of
attributes in which x and y agree. For sets of one or two attributes, sum_e p_e |z_e|^2 = 2 (C - Q(A)) with

    C = sum_e p_e prod_(v in e) (1 - r_v),    Q(A) = sum_e p_e prod_(v in e) ([v in A] - r_v),

where e = () contributes nothing to the difference. If v joins A, Q increases by p_v + sum_u p_uv ([u in A] - r_u). This
increase is at least its value for the empty A, q_v = p_v - sum_u p_uv r_u. Adding the attributes of A one by one gives
Q(A) >= Q({}) + sum_(v in A) q_v >= Q({}) - sum_v max(0, -q_v). Two records may differ in all attributes, so that

    2 (C - Q({})) <= max mu^2 <= 2 (C - Q({})) + 2 sum_v max(0, -q_v),
    C - Q({}) = sum_v p_v + sum_uv p_uv (1 - r_u - r_v).                                           (2)

If q_v is negative for one v only, two records that agree in this v alone attain the right side; if no q_v is negative,
two records that differ in all attributes attain it. If many q_v are negative, 4 C may be smaller; it is also a bound on
mu^2, because |z_e| <= |u_e(x)| + |u_e(y)|. `squared_mu` returns the smaller of the two bounds.

For a set e of three attributes, the product in |z_e|^2 is negative only if one or three of them are outside A. Because
r_v <= 1/2, the product is smallest if the records differ only in the attribute v with the fewest values; it is then
-r_v prod_(u in e, u != v) (1 - r_u). So |z_e|^2 is at most 2 prod_(u in e, u != v) (1 - r_u), and this bound is
attained. For each such set, `squared_mu` adds p_e times this bound to the right side of (2). Residuals of four or more
attributes are not supported.

Integers (`exact_answer`). With n_e = prod_(v in e) n_v, the table Z_e = n_e times the residual contains integers
(`integer_form`). For a pair (a, b) it is n_a n_b x_ij - n_a x_i. - n_b x_.j + N, for an attribute n_a x_i - N, and for () the
number of records N. Neighbours change Z_e by an integer vector D_e = n_e z_e. If a record is added or removed, (1) gives

    |D_e|^2 = prod_(v in e) n_v (n_v - 1)    for every record.                                      (3)

If a record is replaced, |D_e|^2 = 2 (prod n_v (n_v - 1) - prod n_v (n_v [x_v = y_v] - 1)). This is at most 2 n_a^2 for an
attribute, and at most 2 n_a n_b ((n_a - 1)(n_b - 1) + max(n_a, n_b) - 1) for a pair. For three attributes with n_c the smallest of
n_a, n_b and n_c, it is at most 2 n_a (n_a - 1) n_b (n_b - 1) n_c^2.

An exact stage adds independent rounded Gaussian noise to the cells of Z_e (`mechanisms.rounded_noise`). This is normal
noise with standard deviation s_e, where s_e^2 >= n_e^2 / p_e, rounded to integers. The stage is mu-GDP with the mu
above, for both kinds of neighbours:

    sum_e |D_e|^2 / s_e^2 <= sum_e p_e |z_e|^2 <= mu^2.                                             (4)

For an integer z, z + round(s g) is round(z + s g). The noisy Z_e are therefore a post-processing of Z_e plus normal
noise, for which mu^2 is the left side of (4). Centring and division by n_e are post-processing as well.

Norms (`norm_answer`, `exact_norm`). Instead of the residual R_e, a stage may answer the norm |R_e - m_e|_1, the sum of
absolute values. Here m_e is any array that does not depend on the records, or depends only on earlier noisy answers. By
the triangle inequality, the norms of neighbours differ by at most |z_e|_1, and thus by at most its maximum L_e
(`longest_change`). Norms with independent Gaussian noise of variance 1/p_e are therefore mu-GDP with

    mu^2 = sum_e p_e L_e^2    (`squared_mu_of_norms`).                                              (5)

If a record is added or removed, |z_e|_1 = prod_(v in e) 2 (1 - r_v) for every record: each factor of the outer product u_e(x) has
one entry 1 - r_v and n_v - 1 entries -r_v. If a record is replaced, the number of records stays the same. If the two
records differ in v, z_v has one entry 1 and one entry -1, so that L_v = 2. For a pair (a, b), there are three cases. If
the records agree in a alone, z_e is the outer product of u_a(x) and a difference of two indicators, so that |z_e|_1 = 4
(1 - r_a). If they agree in b alone, |z_e|_1 = 4 (1 - r_b). If x = (i, j) and y = (k, l) differ in both, z_e is

    in (i, j): 1 - r_a - r_b       in (i, l): r_a - r_b       in the rest of row i: -r_b       in the rest of column j: -r_a
    in (k, l): r_a + r_b - 1       in (k, j): r_b - r_a       in the rest of row k: r_b        in the rest of column l: r_a

and 0 elsewhere. The rest of a row has n_b - 2 cells, and the rest of a column n_a - 2, so the absolute values add up to
|z_e|_1 = 6 - 6 r_a - 6 r_b + 2 |r_a - r_b|. L_e is the maximum of the three cases, and 0 if an attribute has one value.
For three attributes, L_e is the bound 2 prod_(v in e) 2 (1 - r_v), which follows from |z_e|_1 <= |u_e(x)|_1 +
|u_e(y)|_1.

In an exact stage, M_e is an integer array, so W_e = |Z_e - M_e|_1 is an integer. The W_e and W_e' of neighbours differ
by at most |D_e|_1 = n_e |z_e|_1 <= n_e L_e. Rounded Gaussian noise with s_e >= n_e / sqrt(p_e) gives (W_e - W_e')^2 /
s_e^2 <= p_e L_e^2 for every e, so the stage is mu-GDP with the mu of (5). Division by n_e is post-processing.

With discrete Gaussian noise of parameter s_e instead, the stage would be rho-zCDP with rho = mu^2 / 2 (Canonne, Kamath,
Steinke 2020, Theorem 14). This guarantee requires about 5 % more noise at (epsilon, delta) = (1, 1e-9) and gives no mu.

Sources: Xiao, He, Zhang, Kifer 2023 (ResidualPlanner, arXiv 2305.08175) and Mullins, Fuentes, Xiao, Kifer, Musco,
Sheldon 2024 (ReM, arXiv 2410.01091) for residual queries and their noise; the bound for bounded neighbours is ours.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting.certified import root_up
from ..mechanisms.noise import gaussian
from ..mechanisms.rounded_noise import rounded_gaussian
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks
from ..numerics.elementwise import rounded_up, total_up
from .private_draws import ExactDraws

_LARGEST = 2**61  # of an entry of M_e
_BITS = 13  # of a scale of exact noise, so that draws of scales below 2^13 are fast because 64-bit integers suffice

Effect = tuple[int, ...]  # sorted positions of at most three attributes


def centred(table: ArrayLike) -> NDArray[np.float64]:
    """Return the residual of `table`, counts in [-1e150, 1e150]: subtract the means along each axis in turn.

    A table without axes is a number of records and is returned unchanged.

    >>> from lib.tables.residual_queries import centred
    >>> print(centred([[3.0, 1.0], [1.0, 1.0]]))
    [[ 0.5 -0.5]
     [-0.5  0.5]]
    """
    found = checks.real("table", table, "[-1e150, 1e150]")
    if 0 in found.shape:
        raise ValueError(f"table must not be empty, got shape {found.shape}")
    for axis in range(found.ndim):
        found = found - found.sum(axis=axis, keepdims=True) / found.shape[axis]
    return found


def rebuilt(
    residuals: Mapping[Effect, NDArray[np.float64]], clique: Effect, sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Return the marginal over `clique`, sorted positions of attributes, from the residuals of its subsets.

    residuals : mapping from sets to their residuals; a missing set has a residual of 0
    sizes : the number of values of each attribute of the domain
    """
    shape = tuple(sizes[v] for v in clique)
    found = np.zeros(shape)
    for effect, residual in residuals.items():
        if set(effect) <= set(clique):
            kept = [n if v in effect else 1 for v, n in zip(clique, shape)]
            found = found + np.reshape(residual, kept) / math.prod(n for v, n in zip(clique, shape) if v not in effect)
    return found


def squared_length(effect: Effect, sizes: Sequence[int]) -> Fraction:
    """Return the squared length of the vector that any record adds to the residual of `effect`: prod (1 - 1/n_v)."""
    return math.prod((Fraction(sizes[v] - 1, sizes[v]) for v in effect), start=Fraction(1))


def squared_mu(precisions: Mapping[Effect, float], sizes: Sequence[int], neighbours: str) -> float:
    """Return mu^2, rounded up, of a stage that answers residuals with noise of the variances 1/`precisions`.

    precisions : mapping from sets of at most three attributes (sorted positions in the domain) to [0, 1e150]
    sizes : the number of values of each attribute, integers in [1, 1e15]
    neighbours : "unbounded", where the result is exact, or "bounded", where it is the bound of the module's docstring

    The stage is mu-GDP. Stages whose mu are fixed in advance compose to sqrt(mu_1^2 + mu_2^2 + ...)-GDP, even if the
    precisions of a stage depend on the answers of previous stages (Dong, Roth, Su 2022, Corollary 3.3). Raises
    ``ValueError`` for values outside these ranges.

    >>> from lib.tables.residual_queries import squared_mu
    >>> print(squared_mu({(0,): 1.0, (0, 1): 0.5}, (2, 4), "unbounded"), squared_mu({(0,): 1.0}, (2, 4), "bounded"))
    0.6875 2.0
    """
    known, sizes = _checked(precisions, sizes, neighbours)
    alone = [p * squared_length(effect, sizes) for effect, p in known.items()]
    if neighbours == "unbounded":
        return _sum_up(alone)
    part = [Fraction(1, size) for size in sizes]
    terms, short = [], [Fraction(0) for _ in sizes]
    for effect, p in known.items():
        if not effect or any(sizes[v] == 1 for v in effect):  # their differences are 0
            continue
        if len(effect) == 3:
            low, middle, _ = sorted(part[v] for v in effect)
            terms.append(2 * p * (1 - low) * (1 - middle))
            continue
        terms.append(2 * p if len(effect) == 1 else 2 * p * (1 - part[effect[0]] - part[effect[1]]))
        for v, u in itertools.permutations(effect, 2):
            short[v] += Fraction(rounded_up(p * part[u]))  # safe, because (2) does not fall if a term grows
    terms += [2 * max(each - known.get((v,), Fraction(0)), Fraction(0)) for v, each in enumerate(short)]
    return min(_sum_up(terms), _sum_up([4 * each for effect, each in zip(known, alone) if effect]))


def longest_change(effect: Effect, sizes: Sequence[int], neighbours: str) -> Fraction:
    """Return L_e of (5), the largest sum of the absolute changes that one record can cause in the residual of `effect`.

    For three attributes and bounded neighbours, L_e is an upper bound on this sum.

    effect, sizes, neighbours : as for `squared_mu_of_norms`

    >>> from lib.tables.residual_queries import longest_change
    >>> print(longest_change((0, 1), (4, 8), "unbounded"), longest_change((0, 1), (4, 8), "bounded"))
    21/8 4
    """
    return _longest_change(tuple(sizes[v] for v in effect), neighbours)


@functools.lru_cache(maxsize=4096)
def _longest_change(sizes, neighbours) -> Fraction:
    """Return `longest_change` for attributes with these numbers of values."""
    parts = [Fraction(1, size) for size in sizes]
    of_one = math.prod((2 * (1 - part) for part in parts), start=Fraction(1))
    if neighbours == "unbounded":
        return of_one
    if not sizes or 1 in parts:
        return Fraction(0)
    if len(sizes) == 3:
        return 2 * of_one
    if len(sizes) == 1:
        return Fraction(2)
    low, high = sorted(parts)
    return max(4 * (1 - low), 6 * (1 - low - high) + 2 * (high - low))


def squared_mu_of_norms(precisions: Mapping[Effect, float], sizes: Sequence[int], neighbours: str) -> float:
    """Return mu^2, rounded up, of a stage that answers norms of residuals with noise of the variances 1/`precisions`.

    The parameters and the exceptions are those of `squared_mu`.
    """
    known, sizes = _checked(precisions, sizes, neighbours)
    return _sum_up([p * longest_change(effect, sizes, neighbours) ** 2 for effect, p in known.items()])


def _checked(precisions, sizes, neighbours):
    """Return the precisions as Fractions and the sizes as ints, after checking them."""
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    sizes = [checks.whole("sizes", size, "[1, 1e15]") for size in sizes]
    known = {}
    for effect, precision in precisions.items():
        if len(effect) > 3 or list(effect) != sorted(set(effect)) or not set(effect) <= set(range(len(sizes))):
            raise ValueError(
                f"precisions must be of at most three sorted positions in [0, {len(sizes)}), got {effect!r}"
            )
        known[effect] = Fraction(checks.number(f"precision of {effect}", precision, "[0, 1e150]"))
    return known, sizes


def _sum_up(terms) -> float:
    return total_up(map(rounded_up, terms), [1] * len(terms))


def sigma_for(precision: float) -> float:
    """Return the smallest standard deviation, up to rounding, for which 1/sigma^2 is at most `precision`.

    precision : [1e-150, 1e150]
    """
    return _sigma_for(checks.number("precision", precision, "[1e-150, 1e150]"))


@functools.lru_cache(maxsize=4096)
def _sigma_for(precision) -> float:
    goal = Fraction(precision)
    sigma = 1 / math.sqrt(goal)
    while Fraction(sigma) ** 2 * goal < 1:
        sigma = math.nextafter(sigma, math.inf)
    return sigma


def answer(counts: ArrayLike, sigma: float, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the residual of `counts` with centred Gaussian noise; `sigma` is its standard deviation before centring.

    counts : array in [-1e150, 1e150] with an axis for each attribute; sigma : (0, 1e150]

    The noise is drawn in floating point, which can reveal more than the guarantee permits (`mechanisms.floating_point`).
    """
    counts = checks.real("counts", counts, "[-1e150, 1e150]")
    return centred(counts + gaussian(counts.shape, checks.number("sigma", sigma, "(0, 1e150]"), rng=rng))


def integer_form(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the residual of integer `counts` times the number of cells, an array of integers.

    counts : array of integers with an axis for each attribute; their sum times the number of cells must be below 2^62

    >>> import numpy as np
    >>> from lib.tables.residual_queries import integer_form
    >>> print(integer_form(np.array([[3, 1], [1, 1]])))
    [[ 2 -2]
     [-2  2]]
    """
    counts = np.asanyarray(counts)
    if counts.dtype.kind not in "iu" or not counts.size:
        raise ValueError(f"counts must be integers, at least one, got {counts.dtype} of shape {counts.shape}")
    found = counts.astype(np.int64, copy=False)
    for axis, size in enumerate(found.shape):
        found = size * found - found.sum(axis=axis, keepdims=True)
    return found


class RoundedDraws(ExactDraws):
    """`ExactDraws` with rounded Gaussian noise in place of the discrete Gaussian."""

    def noisy(self, counts: NDArray[np.int64], scale: Fraction) -> tuple[NDArray, float]:
        """Return integer counts with integer noise, and approximately the standard deviation of this noise."""
        return counts + rounded_gaussian(counts.shape, scale, rng=self.rng), float(scale)


def exact_answer(
    counts: NDArray[np.integer], precision: float, draws: RoundedDraws
) -> tuple[NDArray[np.float64], Fraction]:
    """Return the residual of integer `counts` with exact noise, and the noise's standard deviation in a cell.

    counts : as for `integer_form`; precision : [1e-150, 1e150]
    draws : a `RoundedDraws`, which adds rounded Gaussian noise to the `integer_form`

    The second value, sigma, is a Fraction that is equal to 1/sqrt(precision) or slightly larger; it does not include
    the rounding to integers. The noise of the `integer_form` has standard deviation n_e sigma, where n_e is the number
    of cells. Only the noisy integers are divided by n_e.
    """
    whole = integer_form(counts)
    cells = math.prod(whole.shape)
    scale = _scale(cells, precision, draws)
    noisy, _ = draws.noisy(whole, scale)
    return centred(np.asarray(noisy, dtype=float) / cells), scale / cells


def _scale(change, precision, draws) -> Fraction:
    """Return `change` / sqrt(`precision`), rounded up, after checking `draws`."""
    if not isinstance(draws, RoundedDraws):
        raise ValueError(f"draws must be a RoundedDraws, got {type(draws).__name__}")
    return root_up(change**2 / Fraction(checks.number("precision", precision, "[1e-150, 1e150]")), _BITS)


def norm_answer(
    counts: ArrayLike, expected: ArrayLike, sigma: float, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the norm |R_e - m_e|_1 of (5) with Gaussian noise: an array without axes.

    counts, expected : arrays of the same shape, [-1e150, 1e150]; R_e is the residual of `counts` and m_e is that of
        `expected`, which may depend on the records only through noisy answers
    sigma : (0, 1e150], the standard deviation of the noise
    """
    apart = centred(counts) - _residual_of(expected, np.shape(counts))
    return answer(np.abs(apart).sum(), sigma, rng=rng)


def exact_norm(
    counts: NDArray[np.integer], expected: ArrayLike, precision: float, draws: RoundedDraws
) -> tuple[NDArray[np.float64], Fraction]:
    """Return `norm_answer` of integer `counts` with exact noise, and the standard deviation of the noise.

    counts, precision, draws : as for `exact_answer`; expected : as for `norm_answer`, [-1e150, 1e150]

    The residual of `expected` is rounded to multiples of 1 / n_e, where n_e is the number of cells, so the norm times
    n_e is an integer. The second value is a Fraction that is equal to 1/sqrt(precision) or slightly larger.
    """
    whole = integer_form(counts)
    cells = math.prod(whole.shape)
    public = np.rint(np.clip(cells * _residual_of(expected, whole.shape), -_LARGEST, _LARGEST)).astype(np.int64)
    norm = sum(abs(entry) for entry in (whole - public).ravel().tolist())  # in Python's integers
    scale = _scale(cells, precision, draws)
    noisy, _ = draws.noisy(np.array(norm, dtype=object), scale)
    return np.asarray(int(noisy) / cells), scale / cells


def _residual_of(expected, shape) -> NDArray[np.float64]:
    """Return the residual of `expected`, which must have the `shape` of the counts."""
    found = checks.real("expected", expected, "[-1e150, 1e150]")
    if found.shape != shape:
        raise ValueError(f"expected must have the shape of counts, {shape}, got {found.shape}")
    return centred(found)
