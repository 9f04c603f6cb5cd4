"""Random and adversarial instances on which the lemmas of `miura2022` can be checked exactly.

Every number produced here is an integer or a multiple of 1/64. So an instance can be converted to rational arithmetic without
rounding (`exact_moments`), and an inequality can be decided, not estimated. Each generator has a random and an
adversarial form, because a false lemma can hold with slack on nearly all random instances; its error then shows at the
corners.
"""

from __future__ import annotations

from itertools import product

import mpmath as mp
import numpy as np
import sympy as sp

from lib.gaussian_synthesis import smallest_eigenvalue
from lib.numerics import checks

GRID = 64  # data are multiples of 1 / GRID
KINDS = ("add", "remove", "replace")


def weights(k, *, rng, decades=4):
    """Return positive integer weights (k,) spread over `decades` powers of ten: a distribution on k points.

    Divided by their sum, the weights are probabilities that are far apart, so that likelihood ratios are extreme.
    """
    k, decades = checks.whole("k", k, "[1, inf)"), checks.number("decades", decades, "[0, 15]")
    return np.ceil(10.0 ** rng.uniform(0, decades, k)).astype(int)


def semidefinite_matrix(d, rank, *, rng, size=3):
    """Return an integer positive semidefinite matrix (d, d) of at most the given rank, G G' with |G_ij| <= size.

    Add the identity for a positive definite one. Raises ``ValueError`` for rank outside [0, d].
    """
    d = checks.whole("d", d, "[1, inf)")
    rank = checks.whole("rank", rank, f"[0, {d}]")
    size = checks.whole("size", size, "[0, 1e6]")
    factor = rng.integers(-size, size + 1, (d, rank))
    return factor @ factor.T


def dataset(n, d, sigma, *, rng):
    """Return a random data set (n, d) in [-1, 1]^d whose covariance has no eigenvalue below `sigma`.

    The records are uniform around a point off the centre, and are pushed towards the corners until the covariance is
    large enough.

    Raises ``ValueError`` for n <= d (then the covariance is singular), for sigma outside (0, 1), and if fifty draws
    find no such data set.
    """
    n, d, sigma = _size(n, d, sigma)
    for _ in range(50):
        raw = np.clip(rng.uniform(-1, 1, (n, d)) + rng.uniform(-0.5, 0.5, d), -1, 1)
        for power in (1, 1 / 2, 1 / 4, 1 / 16, 0):
            data = np.round(GRID * np.sign(raw) * np.abs(raw) ** power) / GRID
            if smallest_eigenvalue(data) >= sigma * (1 + 1e-9):
                return data
    raise ValueError(f"sigma must be smaller for n = {n} and d = {d}, got {sigma:g}")


def corner_dataset(n, d, sigma, *, rng):
    """Return an adversarial data set (n, d): all records at corners, most at (-1, ..., -1), one at (1, ..., 1).

    As few coordinates are +1 as the bound `sigma` on the smallest eigenvalue allows. So the mean is near one corner and
    the last record is as far from the mean as a record can be. For such data, Lemmas 4.3-4.5 are tight. Raises
    ``ValueError`` as `dataset` does.
    """
    n, d, sigma = _size(n, d, sigma)
    for ones in range(1, n // 2 + 1):
        data = -np.ones((n, d))
        data[-1] = 1
        for column in data[:-1].T:
            column[rng.permutation(n - 1)[:ones]] = 1
        if smallest_eigenvalue(data) >= sigma * (1 + 1e-9):
            return data
    raise ValueError(f"sigma must be smaller for n = {n} and d = {d}, got {sigma:g}")


def neighbours(data, kind, *, rng, extreme=False):
    """Return neighbouring data sets (first, second), equal except for their last record.

    kind : "add" (second has one record more than first), "remove" (one fewer) or "replace".
    extreme : whether the record is extreme instead of random. An added record is the corner of the cube farthest from
        the mean, in the metric of the covariance. A removed or replaced record is the farthest record of the table, and
        it is replaced by the opposite corner.

    The records of `data` (n, d) are kept, but their order may change. Raises ``ValueError`` for any other kind.
    """
    checks.one_of("kind", kind, KINDS)
    data = _data(data)
    n, d = data.shape
    if kind == "add":
        corners = np.array(list(product((-1.0, 1.0), repeat=d)))
        record = corners[np.argmax(_distances(corners, data))] if extreme else _record(d, rng)
        return data, np.vstack([data, record])
    last = int(np.argmax(_distances(data, data))) if extreme else int(rng.integers(n))
    first = np.vstack([np.delete(data, last, axis=0), data[last]])
    if kind == "remove":
        return first, first[:-1]
    record = np.where(first[-1] > 0, -1.0, 1.0) if extreme else _record(d, rng)
    return first, np.vstack([first[:-1], record])


def exact(values):
    """Return `values`, multiples of 1/64 of shape (d,) or (m, d), as a rational sympy matrix (d, 1) or (m, d).

    Raises ``ValueError`` for other values.
    """
    return sp.Matrix(_on_grid(values).tolist()) / GRID


def exact_moments(data):
    """Return the mean (d, 1) and covariance (d, d), with 1/n, of `data` (n, d) as rational sympy matrices.

    Raises ``ValueError`` if `data` are not multiples of 1/64.
    """
    n, scaled = len(data), _on_grid(data)
    total = scaled.sum(axis=0)
    scatter = n * (scaled.T @ scaled) - np.outer(total, total)
    return sp.Matrix(total.tolist()) / (n * GRID), sp.Matrix(scatter.tolist()) / (n * GRID) ** 2


def exact_divergences(first, second, orders, *, digits=50) -> list:
    """Return D_alpha between the Gaussians fitted to two data sets, as mpmath numbers of `digits` digits.

    first, second : data (n, d), multiples of 1/64; orders : rational sympy numbers in (1, inf) for which
        T_alpha is positive definite; digits : integer in [1, inf)

    The method is miura2022, Proposition 4.1: moments and determinants are exact, and only the logarithms are rounded.
    """
    digits = checks.whole("digits", digits, "[1, inf)")
    (mean1, cov1), (mean2, cov2) = exact_moments(first), exact_moments(second)
    with mp.workdps(digits):
        log_det1, log_det2 = (_log(cov.det(method="domain-ge")) for cov in (cov1, cov2))
        found = []
        for order in orders:
            mixed = (1 - order) * cov1 + order * cov2
            shift = ((mean2 - mean1).T * mixed.inv() * (mean2 - mean1))[0]
            alpha = _number(order)
            log_ratio = _log(mixed.det(method="domain-ge")) - (1 - alpha) * log_det1 - alpha * log_det2
            found.append(alpha * _number(shift) / 2 - log_ratio / (2 * (alpha - 1)))
        return found


def _number(rational):
    """Return a rational sympy number at the working precision of mpmath."""
    return mp.mpf(int(rational.p)) / int(rational.q)


def _log(rational):
    return mp.log(_number(rational))


def _data(data):
    data = checks.real("data", data, "[-1e9, 1e9]")
    if data.ndim != 2 or 0 in data.shape:
        raise ValueError(f"data must have shape (n, d) with n >= 1 and d >= 1, got {data.shape}")
    return data


def _on_grid(values):
    scaled = GRID * checks.real("values", values, "[-1e9, 1e9]")
    if not np.array_equal(scaled, np.round(scaled)):
        raise ValueError("values must be multiples of 1/64 to be taken exactly")
    if scaled.ndim not in (1, 2):
        raise ValueError(f"values must have shape (d,) or (m, d), got {scaled.shape}")
    return scaled.astype(int)


def _size(n, d, sigma):
    d = checks.whole("d", d, "[1, inf)")
    n = checks.whole("n", n, f"({d}, inf)")
    return n, d, checks.number("sigma", sigma, "(0, 1)")


def _record(d, rng):
    return rng.integers(-GRID, GRID + 1, d) / GRID


def _distances(points, data):
    """Return the squared Mahalanobis distances (m,) of the `points` (m, d) from `data`; equal distances compare
    equal."""
    offset = points - data.mean(axis=0)
    covariance = np.atleast_2d(np.cov(data, rowvar=False, bias=True))
    return np.round(np.einsum("ij,ij->i", offset, np.linalg.solve(covariance, offset.T).T), 9)


def radii_of_corner_tables(n, sigma) -> np.ndarray:
    """Return the squared Mahalanobis distance of the record (1, 1) from every table of n records in the corners of [-1, 1]^2.

    n : integer in [1, 200]; sigma : (0, 1]

    Only tables in D_sigma that remain there when the record is added are included. The order of the records does not
    matter, so there are (n + 1)(n + 2)(n + 3)/6 tables to check. The other corners are mirror images of (1, 1).
    """
    n, sigma = checks.whole("n", n, "[1, 200]"), checks.number("sigma", sigma, "(0, 1]")
    counts = np.array([(a, b, c) for a in range(n + 1) for b in range(n + 1 - a) for c in range(n + 1 - a - b)]) / n
    both, one, other = counts.T  # the shares of the corners (1, 1), (1, -1) and (-1, 1)
    x, y = 2 * (both + one) - 1, 2 * (both + other) - 1
    cov = 1 - x**2, 1 - y**2, 1 - 2 * (one + other) - x * y
    v = 1 - x, 1 - y
    larger = [n / (n + 1) * (c + step / (n + 1)) for c, step in zip(cov, (v[0] ** 2, v[1] ** 2, v[0] * v[1]))]
    inside = (_least(*cov) >= sigma) & (_least(*larger) >= sigma)
    (a, b, c), (v, w) = (part[inside] for part in cov), (part[inside] for part in v)
    return (b * v**2 - 2 * c * v * w + a * w**2) / (a * b - c**2)


def _least(a, b, c):
    """Return the smaller eigenvalue of the matrix [[a, c], [c, b]]."""
    return (a + b) / 2 - np.sqrt((a - b) ** 2 / 4 + c**2)


def gaussian_moment_on_grid(mean1, cov1, mean2, cov2, alpha, *, half=30):
    """Return the integral of P^alpha Q^(1 - alpha) for two Gaussians, e^((alpha - 1) D_alpha), by the trapezoidal rule.

    means: (d,); covariances: (d, d); alpha: in (1, inf), such that the integrand is itself a Gaussian
    half : number of steps on each side of its centre, integer in [1, inf), a quarter of a standard deviation each

    This function serves to check `renyi_gaussian`, with which it shares no code. It is for few dimensions, because it
    needs (2 half + 1)^d points. Raises ``numpy.linalg.LinAlgError`` if alpha cov1^-1 + (1 - alpha) cov2^-1 is not
    positive definite.
    """
    alpha, half = checks.number("alpha", alpha, "(1, inf)"), checks.whole("half", half, "[1, inf)")
    d, ticks = len(mean1), np.meshgrid(*[np.arange(-half, half + 1) / 4] * len(mean1), indexing="ij")

    def log_density(mean, K):
        quadratic = np.einsum("ij,jk,ik->i", points - mean, K, points - mean)
        return (np.linalg.slogdet(K / (2 * np.pi))[1] - quadratic) / 2

    A, B = np.linalg.inv(cov1), np.linalg.inv(cov2)
    T = alpha * A + (1 - alpha) * B
    centre = np.linalg.solve(T, alpha * A @ mean1 + (1 - alpha) * B @ mean2)
    frame = np.linalg.inv(np.linalg.cholesky(T)).T
    points = centre + np.stack(ticks, -1).reshape(-1, d) @ frame.T
    integrand = np.exp(alpha * log_density(mean1, A) + (1 - alpha) * log_density(mean2, B))
    return float(integrand.sum() * abs(np.linalg.det(frame)) / 4**d)
