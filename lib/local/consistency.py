"""Make frequency estimates more consistent: non-negative and, with `norm_sub`, of sum 1, like true frequencies.

Post-processing costs no privacy. It trades the unbiasedness of the raw estimates for a smaller error, and is therefore
a separate step. Each function takes the estimates of any oracle, shape (..., k), and returns the same shape.

Reference: T. Wang, M. Lopuhaä-Zwakenberg, Z. Li, B. Skoric, N. Li: Locally differentially private
frequency estimation with consistency, NDSS 2020.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks, simplex


def base_cut(estimates: ArrayLike, deviation: ArrayLike, alpha: ArrayLike = 0.05) -> NDArray[np.float64]:
    """Return the estimates that exceed a significance threshold, and 0 for the rest; the sum is not corrected.

    deviation : standard deviation of an estimate at frequency 0, (0, inf): `oracle.variance(0, n) ** 0.5`
    alpha : (0, 1); the threshold is deviation * z(1 - alpha/k), where z is the normal quantile. The probability that
        any of k values of frequency 0 exceeds the threshold is at most about alpha (union bound)

    >>> from lib.local.consistency import base_cut
    >>> print(base_cut([0.5, 0.02, -0.01], deviation=0.05))
    [0.5 0.  0. ]
    """
    estimates = _checked(estimates)
    deviation = checks.real("deviation", deviation, "(0, inf)")
    alpha = checks.real("alpha", alpha, "(0, 1)")
    with np.errstate(over="ignore"):
        threshold = -deviation * scipy.special.ndtri(alpha / estimates.shape[-1])
    return np.where(estimates > threshold, estimates, 0.0)


def norm_sub(estimates: ArrayLike) -> NDArray[np.float64]:
    """Return the estimates, all shifted by one number and then with negative results set to 0, so that they sum to 1.

    By the conditions of Karush, Kuhn and Tucker, the result is the probability distribution nearest to the estimates in
    the Euclidean norm.

    >>> from lib.local.consistency import norm_sub
    >>> print(norm_sub([0.7, 0.5, -0.1]).round(3))
    [0.6 0.4 0. ]
    """
    return simplex.nearest(_checked(estimates))


def _checked(estimates) -> np.ndarray:
    estimates = checks.real("estimates", estimates, "(-inf, inf)")
    if estimates.ndim == 0 or estimates.shape[-1] == 0:
        raise ValueError(f"estimates must have shape (..., k) with k >= 1, got {estimates.shape}")
    return estimates
