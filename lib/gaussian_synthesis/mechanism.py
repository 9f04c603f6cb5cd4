"""The mechanism of `miura2022` (section 2.3): fit one Gaussian to the records and release draws from it.

The records are n points in [-1, 1]^d, and the draws are clipped to the cube. The paper adds no noise; `synthesize` can
add a variance to each attribute before it draws, so that the guarantee needs no assumption about the data (Theorem H).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks


def fit(data: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean (d,) and the covariance (d, d) of `data` (n, d), with divisor n as in the paper.

    Raises ``ValueError`` unless `data` is a table of at least one record in [-1, 1]^d. Source: miura2022, section 2.3.

    >>> from lib.gaussian_synthesis import fit
    >>> mean, cov = fit([[0.0, 0.5], [1.0, -0.5], [-1.0, 0.0]])
    >>> print(mean.tolist(), cov.round(3).tolist())
    [0.0, 0.0] [[0.667, -0.167], [-0.167, 0.167]]
    """
    data = checks.real("data", data, "[-1, 1]")
    if data.ndim != 2 or 0 in data.shape:
        raise ValueError(f"data must have shape (n, d) with n >= 1 and d >= 1, got {data.shape}")
    mean = data.mean(axis=0)
    centred = data - mean
    return mean, centred.T @ centred / len(data)


def sample(mean: ArrayLike, cov: ArrayLike, size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `size` records (size, d) from N(mean, cov), clipped to [-1, 1]^d.

    mean : (d,); cov : (d, d), possibly singular (a constant attribute stays constant); both in [-1e6, 1e6]
    Raises ``ValueError`` for other shapes or values, or if `cov` is not symmetric. Source: miura2022, section 2.3.

    >>> import numpy as np
    >>> from lib.gaussian_synthesis import sample
    >>> print(sample(np.zeros(2), 0.1 * np.eye(2), 3, rng=np.random.default_rng(0)).round(2))
    [[ 0.04 -0.04]
     [ 0.2   0.03]
     [-0.17  0.11]]
    """
    size = checks.whole("size", size, "[0, inf)")
    mean, cov = checks.real("mean", mean, "[-1e6, 1e6]"), checks.real("cov", cov, "[-1e6, 1e6]")
    if mean.ndim != 1 or cov.shape != (mean.size, mean.size) or mean.size == 0 or not np.allclose(cov, cov.T):
        raise ValueError(
            f"cov must be symmetric with shape (d, d), and mean must have shape (d,) with d >= 1, got {cov.shape} and {mean.shape}"
        )
    # The symmetric square root is the same on every machine; eigenvectors of equal eigenvalues are not.
    values, axes = np.linalg.eigh(cov)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    return np.clip(mean + rng.standard_normal((size, len(root))) @ root, -1, 1)


def synthesize(data: ArrayLike, size: int, *, sigma: float = 0.0, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `size` synthetic records (size, d) for `data` (n, d): draws from N(mean, covariance + sigma I), clipped.

    sigma : the variance that is added to each attribute, [0, 1e5]

    With a positive sigma, the release is (epsilon, delta)-differentially private for all unbounded neighbours with at
    least n records in [-1, 1]^d. By Theorem H, epsilon = `regularised_released_epsilon(n, delta, d, sigma, size=size)`.
    With a sigma of 0, this is the mechanism M_G of miura2022, whose guarantee assumes that no eigenvalue of the
    covariance is below a known number. In both cases, `size` and sigma must not depend on the data: a size of n reveals
    n.

    >>> import numpy as np
    >>> from lib.gaussian_synthesis import synthesize
    >>> rng = np.random.default_rng(0)
    >>> data = rng.uniform(-1, 1, (1000, 2))
    >>> print(synthesize(data, 3, rng=rng).round(2))
    [[ 0.92 -0.65]
     [-0.36 -0.4 ]
     [ 0.5  -1.  ]]
    """
    mean, cov = fit(data)
    cov = cov + checks.number("sigma", sigma, "[0, 1e5]") * np.eye(len(mean))
    return sample(mean, cov, size, rng=rng)


def smallest_eigenvalue(data: ArrayLike) -> float:
    """Return the smallest eigenvalue of the 1/n covariance of `data` (n, d), the largest sigma with `data` in D_sigma.

    >>> from lib.gaussian_synthesis import smallest_eigenvalue
    >>> print(round(float(smallest_eigenvalue([[0.0, 0.5], [1.0, -0.5], [-1.0, 0.0]])), 4))
    0.1162
    """
    return float(np.linalg.eigvalsh(fit(data)[1])[0])


def squared_mahalanobis(data: ArrayLike, records: ArrayLike) -> NDArray[np.float64]:
    """Return the squared Mahalanobis distance (m,) of `records` (m, d) from the Gaussian fitted to `data` (n, d).

    Raises ``ValueError`` if `data` lies outside [-1, 1] or `records` has a different number of columns, and
    ``LinAlgError`` for a singular covariance.

    >>> from lib.gaussian_synthesis import squared_mahalanobis
    >>> data = [[0.0, 0.5], [1.0, -0.5], [-1.0, 0.0]]
    >>> print(squared_mahalanobis(data, [[1.0, 1.0]]).round(3))
    [14.]
    """
    mean, cov = fit(data)
    records = checks.real("records", records, "[-1e100, 1e100]")
    if records.ndim != 2 or records.shape[1] != len(mean):
        raise ValueError(f"records must have shape (m, {len(mean)}), got {records.shape}")
    offsets = np.linalg.solve(np.linalg.cholesky(cov), (records - mean).T)
    return (offsets**2).sum(axis=0)
