"""Explicit pairs of neighbours: their divergences are lower bounds on the suprema that `bounds` bounds from above."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..accounting.divergence import psi
from ..numerics import checks
from ..numerics.checks import Numbers
from .bounds import _WITH_NOISE, _elementwise, _regularised_terms, divergence_added, divergence_removed


def unbounded_epsilon_attained(n: int, alpha: ArrayLike, d: int, sigma: float) -> Numbers:
    """Return a lower bound for `unbounded_epsilon_tight`: the D_alpha of `worst_case_neighbours` in D_sigma.

    alpha : (1, inf), any shape; n, d, sigma : scalars as in `unbounded_epsilon_tight`, with the same errors
    Source: chapter 3 of miura2022, after Theorem D.

    >>> from lib.gaussian_synthesis import unbounded_epsilon_attained
    >>> n = 10**7
    >>> print(f"{n * unbounded_epsilon_attained(n, alpha=4, d=6, sigma=0.01):.4f}")
    0.5704
    """
    radius = attained_radius(n, d, sigma)
    return np.maximum(divergence_added(n, alpha, d, radius), divergence_removed(n, alpha, d, radius))


def bounded_epsilon_attained(n: int, alpha: ArrayLike, d: int, sigma: float) -> Numbers:
    """Return a lower bound for `bounded_epsilon_centred`: the larger D_alpha of two explicit pairs of data sets.

    The common n - 1 records are those of `worst_case_neighbours`. (If the mean of these records is added as another
    record, the covariance has an eigenvalue of sigma.) In each pair, the second data set also contains the record (1,
    ..., 1). In one pair, the first data set also contains the mean of the common records. In the other pair, it
    contains (-1, ..., -1), which gives a larger divergence for large sigma.
    n : integer in [2, inf); other arguments are as in `unbounded_epsilon_attained`.
    Source: chapter 3 of miura2022, Theorem G.

    >>> from lib.gaussian_synthesis import bounded_epsilon_attained
    >>> n = 10**7
    >>> print(f"{n * bounded_epsilon_attained(n, alpha=4, d=6, sigma=0.01):.2f}")
    0.57
    """
    n = checks.whole("n", n, "[2, inf)")
    floor = checks.number("sigma", sigma, "(0, 1)") * n / (n - 1)
    alpha = checks.real("alpha", alpha, "(1, inf)")
    far, near = (float(radius) / n for radius in _radii(n - 1, d, checks.number("sigma", floor, "(0, 1)")))
    return np.maximum(_replaced(n, alpha, far, 0.0), _replaced(n, alpha, far, near))


def _replaced(n, alpha, far, near):
    """Return the larger D_alpha, in either direction, of two data sets with n - 1 common records. Each has one more
    record. These two records lie on a line through the mean of the common records, on opposite sides of the mean, at
    squared Mahalanobis distances n far and n near."""
    grown, shrunk = (far - near) / (1 + near), (far - near) / (1 + far)
    mean = (np.sqrt(far) + np.sqrt(near)) ** 2 / (n - 1)
    to_the_far = alpha * mean / (1 + near) / (1 + alpha * grown) + psi(grown, alpha)
    with np.errstate(all="ignore"):
        from_it = alpha * mean / (1 + far) / (1 - alpha * shrunk) + psi(-shrunk, alpha)
    return np.maximum(to_the_far, np.where(alpha * shrunk < 1, from_it, np.inf)) / 2


@functools.partial(_elementwise, error=-(2.0**-48), ranges=_WITH_NOISE)
def regularised_epsilon_attained(n: Numbers, alpha: Numbers, d: Numbers, sigma: Numbers) -> Numbers:
    """Return a lower bound for `regularised_epsilon`: the D_alpha of an explicit pair of data sets, rounded down.

    One data set has n equal records in a corner of the cube; the other data set has one more record, in the opposite
    corner. Their Gaussians differ in one direction only, as the first coordinates of Theorem H's pair do. So
    `regularised_epsilon` is above the true supremum by at most the terms of its other d coordinates: d psi(-1/(n+1))/2
    or d psi(1/n)/2, of order d / n^2. Arguments and errors are as in `regularised_epsilon`. The result is ``inf`` if
    (alpha - 1) n tau >= (n + 1)^2.
    Coq checks this bound, except for rounding, for adding the record and for removing it: `H_added_attained` and
    `H_removed_attained` in proofs/.

    >>> from lib.gaussian_synthesis import regularised_epsilon_attained
    >>> n = 32_561
    >>> print(f"{n * regularised_epsilon_attained(n, alpha=4, d=6, sigma=0.01):.5f}")
    198.50854
    """
    return np.maximum(*_regularised_terms(n, alpha, d, sigma)) / 2


def attained_radius(n: int, d: int, sigma: float) -> float:
    """Return the squared Mahalanobis distance of the record of `worst_case_neighbours`, without building the data.

    Arguments and errors are as in `worst_case_neighbours`. Source: chapter 3 of miura2022, after Theorem D.

    >>> from lib.gaussian_synthesis import attained_radius
    >>> print(round(attained_radius(n=10**7, d=6, sigma=0.01), 1))
    2388.0
    """
    return float(_radii(n, d, sigma)[0])


def _radii(n, d, sigma):
    """Return the squared Mahalanobis distances of (1, ..., 1) and (-1, ..., -1) from the n records of
    `worst_case_neighbours`."""
    n, d, sigma = _pair_arguments(n, d, sigma)
    own, shared = _corner_weights(n, d, sigma)
    share = (own.sum + shared.sum) / n
    least = 4 * (own.squares / n + d * (shared.squares / n - share**2))
    return 4 * d * (1 - share) ** 2 / least, 4 * d * share**2 / least


def worst_case_neighbours(n: int, d: int, sigma: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a data set (n, d) and a record to add, (d,), that nearly attain Theorem D.

    The data set lies in D_sigma with and without the record.

    Each attribute is 1 in k records where all other attributes are -1. In a few more records, all attributes are 1.
    Each kind may include one more record, where a value between -1 and 1 takes the place of 1. All other values are -1.
    So the smallest eigenvalue is that along (1, ..., 1), where the new record lies. The other eigenvalues are (n + 1)/n
    times as large; adding the record lowers them to sigma.

    n, d : integer in [1, inf); sigma : [1e-300, 1)
    Raises ``ValueError`` for d sigma >= 4 or too few records. Source: chapter 3 of miura2022, after Theorem D.

    >>> import numpy as np
    >>> from lib.gaussian_synthesis import worst_case_neighbours
    >>> data, record = worst_case_neighbours(n=10**4, d=2, sigma=0.01)
    >>> print(data.shape, record, np.linalg.eigvalsh(np.cov(data.T, bias=True)).min().round(6))
    (10000, 2) [1. 1.] 0.01
    """
    n, d, sigma = _pair_arguments(n, d, sigma)
    own, shared = _corner_weights(n, d, sigma)
    data = -np.ones((n, d))
    rows = own.rows
    for j in range(d):
        data[j * rows : (j + 1) * rows, j] += 2 * own.values()
    data[d * rows : d * rows + shared.rows] += 2 * shared.values()[:, np.newaxis]
    return data, np.ones(d)


def _pair_arguments(n, d, sigma):
    n, d = checks.whole("n", n, "[1, inf)"), checks.whole("d", d, "[1, inf)")
    return n, d, checks.number("sigma", sigma, "[1e-300, 1)")


class _Weights(NamedTuple):
    """An attribute's values on some records: 1 on `ones` of them, -1 + 2 `part` on one, `part` in [0, 1), and -1 on the
    rest."""

    ones: int
    part: float

    @property
    def rows(self):
        return self.ones + (self.part > 0)

    @property
    def sum(self):
        return self.ones + self.part

    @property
    def squares(self):
        return self.ones + self.part**2

    def values(self):
        return np.append(np.ones(self.ones), [self.part] * (self.part > 0))


def _corner_weights(n, d, sigma) -> tuple[_Weights, _Weights]:
    """Return the weights of an attribute on the records where only this attribute is 1, and on those where all
    attributes are. Let p be the sum of all these weights divided by n, and let q and c be the sums of the squares of
    each kind, divided by n. Along (1, ..., 1) the covariance has the eigenvalue 4 (q + d (c - p^2)), here sigma. In the
    orthogonal directions, the eigenvalue is 4 q, which is sigma (n + 1)/n and becomes sigma when the record is
    added."""
    wanted = sigma / 4 * (1 + 1e-12)  # for rounding in values computed from the data
    squares = wanted * (n + 1) if d > 1 else 0.0
    own = _Weights(int(squares), float(np.sqrt(squares % 1)))
    lacking = (wanted - own.squares / n) / d

    def excess(ones, part=0.0):
        return (ones + part**2) / n - ((own.sum + ones + part) / n) ** 2 - lacking

    free = 1 - 2 * own.sum / n  # the smallest root of excess(ones), a quadratic, rounded up
    root = (free - np.sqrt(max(free**2 - 4 * ((own.sum / n) ** 2 + lacking), 0))) / 2
    ones = max(int(np.ceil(n * root)), 0)
    farther = 2 * np.sqrt(d) * (1 - (own.sum + ones) / n) > np.sqrt(sigma * (1 + 1 / n))
    if d * sigma / 4 >= 1:
        raise ValueError(f"sigma must be below 4 / d = {4 / d:g}: no known pair has a larger sigma; got {sigma:g}")
    if d * own.rows + ones > n or excess(ones) < 0 or not farther:
        raise ValueError(f"n must be large enough for a smallest eigenvalue of {sigma:g} at d = {d}, got {n}")
    if not ones or excess(ones - 1) >= 0:
        return own, _Weights(ones, 0.0)
    part = scipy.optimize.brentq(lambda part: excess(ones - 1, part), 0, 1) * (1 + 1e-9)
    return own, _Weights(ones - 1, part) if part < 1 else _Weights(ones, 0.0)
