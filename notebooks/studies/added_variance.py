"""Check Theorem H: tables that try to exceed it, its channel, the earlier Theorem F, and the cost of added variance.

The mechanism draws from N(mu, Sigma + sigma I). A pair consists of a table of n records in [-1, 1]^d, an additional
record, and sigma. The chapter "Synthetic data whose only noise is the sampling: a guarantee without assumptions" uses
this module.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lib import accounting
from lib.accounting.divergence import psi, renyi_gaussian
from lib.accounting.hockey_stick import hockey_stick_gaussian
from lib.gaussian_synthesis import fit, regularised_epsilon
from lib.numerics import checks

Pair = tuple[NDArray[np.float64], NDArray[np.float64], float]
KINDS = ("random", "corners", "opposite")


def interlacing_epsilon(n: ArrayLike, alpha: ArrayLike, d: int, sigma: float) -> NDArray[np.float64]:
    """Return the Rényi epsilon of one record by Theorem F, or ``inf`` outside its range.

    The range is alpha < n + 1 and alpha (n + 1) tau < n^2, where tau = 4 d / sigma.

    n : integer in [1, 1e15]; alpha : (1, 1e6]; d : integer in [1, inf); sigma : (0, 1e6]
    Source: the chapter's remark on Theorem F.
    """
    n, alpha = checks.integer("n", n, "[1, 1e15]"), checks.real("alpha", alpha, "(1, 1e6]")
    more, tau = n + 1, 4 * checks.whole("d", d, "[1, inf)") / checks.number("sigma", sigma, "(0, 1e6]")
    with np.errstate(all="ignore"):
        margin = n**2 - alpha * more * tau
        ordinary = psi(np.where(more > alpha, -1 / more, 0), alpha)
        added = alpha * tau / (more * (more - alpha) + alpha * n * tau) + (d - 1) * ordinary
        added = added + np.maximum(ordinary, psi(n * tau / more**2, alpha))
        shrunk = psi(np.where(margin > 0, -more * tau / n**2, 0), alpha)
        removed = alpha * tau / margin + (d - 1) * psi(1 / n, alpha) + np.maximum(psi(1 / n, alpha), shrunk)
    return np.where((margin > 0) & (more > alpha), np.maximum(added, removed) / 2, np.inf)


def pairs(count: int, *, rng: np.random.Generator) -> Iterator[tuple[str, Pair]]:
    """Yield `count` pairs of 2 to 148 records and one to four attributes, with their kinds, which are `KINDS` in turn.

    The records of "random" are uniform in the cube, and those of "corners" are corners with unequal probabilities. In
    "opposite", the table is nearly constant in one corner and the additional record is in the opposite corner, where
    Theorem H is nearly attained.
    """
    for i in range(checks.whole("count", count, "[0, inf)")):
        kind, d, n = KINDS[i % len(KINDS)], int(rng.integers(1, 5)), int(np.exp(rng.uniform(np.log(2), 5)))
        sigma, corner = float(np.exp(rng.uniform(np.log(0.01), np.log(8 * d)))), rng.choice([-1.0, 1.0], d)
        if kind == "random":
            data, record = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, d)
        elif kind == "corners":
            data, record = np.where(rng.random((n, d)) < rng.random(d), 1.0, -1.0), corner
        else:
            spread = rng.choice([0, 1e-3, 0.1])
            data, record = np.clip(-corner + spread * rng.normal(size=(n, d)), -1, 1), corner
        yield kind, (data, record, sigma)


def laws(pair: Pair) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the mean and covariance of a released record, for the table without the additional record and with it."""
    data, record, sigma = pair
    fits = (fit(table) for table in (data, np.vstack([data, record])))
    return [(mean, cov + sigma * np.eye(len(mean))) for mean, cov in fits]


def order(pair: Pair, part: float) -> float:
    """Return the Rényi order 1 + `part` r, with `part` in (0, 1), where Theorem H is finite for orders in (1, 1 + r)."""
    (n, d), sigma = pair[0].shape, pair[2]
    return 1 + checks.number("part", part, "(0, 1)") * min(n, (n + 1) ** 2 * sigma / (4 * d * n))


def exact(pair: Pair, alpha: float) -> float:
    """Return the larger of the Rényi divergences of one released record in the two directions."""
    p, q = laws(pair)
    return float(max(renyi_gaussian(*p, *q, alpha), renyi_gaussian(*q, *p, alpha)))


def bound(pair: Pair, alpha: float) -> float:
    """Return Theorem H's bound, which depends on the shape of the table and on sigma only."""
    return float(regularised_epsilon(len(pair[0]), alpha, len(pair[1]), pair[2]))


def climb(pair: Pair, alpha: float, *, steps: int, rng: np.random.Generator) -> list[float]:
    """Return `exact` over `bound` for a pair, and after each step of a search for the largest such ratio.

    A step moves one coordinate, of all records of the table, of one of them, or of the additional record, to an end of
    [-1, 1] or to a random place in it. The change is kept if the ratio grows.
    """
    (data, record, sigma), above = pair, bound(pair, alpha)
    found = [exact(pair, alpha) / above]
    for _ in range(checks.whole("steps", steps, "[0, inf)")):
        data_, record_, j = data.copy(), record.copy(), rng.integers(len(record))
        place = rng.choice([-1.0, 1.0, -1.0, 1.0, rng.uniform(-1, 1)])
        if (what := rng.integers(4)) == 0:
            record_[j] = place
        elif what == 1:
            data_[rng.integers(len(data)), j] = place
        else:
            data_[:, j] = place
        ratio = exact((data_, record_, sigma), alpha) / above
        if ratio > found[-1]:
            data, record = data_, record_
        found.append(max(ratio, found[-1]))
    return found


def release_delta(pair: Pair, epsilon: float, size: int) -> float:
    """Return the delta of a release of `size` records minus its quadrature error, in the direction where this is larger."""
    p, q = laws(pair)
    both = (hockey_stick_gaussian(*way, epsilon, size, tolerance=1e-5) for way in (p + q, q + p))
    return max(float(each.delta - each.error) for each in both)


def channel(pair: Pair) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Theorem H's matrix A (d, d + 1) and the covariance I - A A^T (d, d) of the noise that its channel adds."""
    data, record, sigma = pair
    mean, cov = laws(pair)[0]
    values, axes = np.linalg.eigh(cov)
    w = (axes / np.sqrt(values)) @ axes.T @ (record - mean)
    rest = (axes * np.sqrt(np.maximum(1 - sigma / values, 0))) @ axes.T
    matrix = np.column_stack([w / np.sqrt(4 * len(record) / sigma), rest])
    return matrix, np.eye(len(record)) - matrix @ matrix.T


def covariance_errors(
    data: ArrayLike, size: int, sigma: float, *, releases: int, rng: np.random.Generator
) -> list[float]:
    """Return the errors of two estimates of the covariance of `data` from `size` released records, averaged over `releases`.

    The first estimate is the covariance of the records after clipping to the cube. The second is the covariance of the
    unclipped draws, less sigma I. An error is the Frobenius norm of the estimate's difference from the covariance of
    `data`, divided by the norm of that covariance. size and releases : integers in [2, inf)
    """
    size, releases = checks.whole("size", size, "[2, inf)"), checks.whole("releases", releases, "[2, inf)")
    mean, cov = fit(data)
    added = checks.number("sigma", sigma, "(0, 1e6]") * np.eye(len(mean))
    found = []
    for _ in range(releases):
        drawn = rng.multivariate_normal(mean, cov + added, size, method="cholesky")
        found.append([np.cov(np.clip(drawn, -1, 1).T, bias=True) - cov, np.cov(drawn.T, bias=True) - added - cov])
    return (np.linalg.norm(found, axis=(2, 3)).mean(axis=0) / np.linalg.norm(cov)).tolist()


def noisy_moments_error(
    data: ArrayLike, epsilon: float, delta: float, *, releases: int, rng: np.random.Generator
) -> float:
    """Return the error, as in `covariance_errors`, of a covariance whose moments are released with Gaussian noise.

    The noise is added to the sum of (1, x)(1, x)^T over the records x. A record changes this sum by at most d + 1 in
    the Frobenius norm. The noise also hides n, which is an entry of the sum.
    """
    _, cov = fit(data)
    rows = np.column_stack([np.ones(len(data)), data])
    total, scale = rows.T @ rows, accounting.gaussian_sigma(epsilon, delta) * rows.shape[1]
    found = []
    for _ in range(checks.whole("releases", releases, "[2, inf)")):
        noise = rng.normal(scale=scale, size=total.shape)
        noisy = total + (noise + noise.T) / 2
        mean = noisy[0, 1:] / noisy[0, 0]
        found.append(noisy[1:, 1:] / noisy[0, 0] - np.outer(mean, mean) - cov)
    return float(np.linalg.norm(found, axis=(1, 2)).mean() / np.linalg.norm(cov))
