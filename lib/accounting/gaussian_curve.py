"""The exact curve of all pairs (epsilon, delta) of the Gaussian mechanism, and the noise that a guarantee needs.

Conventions are as in `conversions`; mu = sensitivity / sigma is in [1e-150, 1e150]. Deltas, epsilons and the smallest
sigma are raised by a margin of about three times the largest rounding error that we observed (`_raised_log_delta`).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers, plain
from ..numerics.elementwise import TINY, delta_from_log, half_square, quotient_up, ratio, root
from .conversions import dp_to_zcdp

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def gaussian_zcdp(sigma: ArrayLike, sensitivity: ArrayLike = 1.0) -> Numbers:
    """Return the Gaussian mechanism's rho, sensitivity^2 / (2 sigma^2), for arguments in (0, inf).

    Source: miura2025, Definition 2.5.

    >>> from lib.accounting import gaussian_zcdp
    >>> print(round(gaussian_zcdp(sigma=5.0), 4))
    0.02
    """
    return plain(half_square(ratio("sigma", sensitivity, sigma)))


def _gaussian_log_delta(epsilon, mu):
    """Return the logarithm of Phi(-t0) - e^epsilon Phi(-t1), where t0, t1 = epsilon/mu -+ mu/2. With the Mills ratio
    R(t) = Phi(-t)/phi(t), the second term is phi(t0) R(t1). For small mu, the two terms agree in most digits. Then
    delta is computed as phi(t0) times the integral of -R' = 1 - t R(t) from t0 to t1, by Gauss-Legendre quadrature,
    which is accurate because R is entire."""
    with np.errstate(over="ignore"):
        middle = np.minimum(epsilon / mu, 1e100)  # beyond it delta has long underflowed
    t0, t1 = middle - mu / 2, middle + mu / 2
    apart = scipy.special.log_ndtr(-t0) + np.log1p(
        -np.minimum(scipy.special.erfcx(t1 / np.sqrt(2)) / scipy.special.erfcx(t0 / np.sqrt(2)), 1 - 1e-16)
    )
    t = middle[..., None] + np.minimum(mu, 1)[..., None] / 2 * _NODES
    slopes = np.maximum(1 - t * np.sqrt(np.pi / 2) * scipy.special.erfcx(t / np.sqrt(2)), TINY)
    close = -(t0**2) / 2 + np.log(np.maximum(mu / np.sqrt(2 * np.pi) * (slopes @ _WEIGHTS) / 2, TINY))
    return np.where(mu < 1, close, apart)


def _raised_log_delta(epsilon, mu):
    """Return `_gaussian_log_delta` plus a margin. In 7,318 random cases, the error was at most 0.32 of the margin."""
    log_delta = _gaussian_log_delta(epsilon, mu)
    with np.errstate(over="ignore"):
        middle = np.minimum(epsilon / mu, 1e100)
    return log_delta + 2.0**-50 * (1 - log_delta + np.abs(middle - mu / 2) * (middle + mu / 2))


def gaussian_delta(sigma: ArrayLike, epsilon: ArrayLike, sensitivity: ArrayLike = 1.0) -> Numbers:
    """Return the exact delta(epsilon) of the Gaussian mechanism (Balle and Wang 2018, Theorem 8).

    sigma : standard deviation, (0, inf); epsilon : [0, inf); sensitivity : in L2, (0, inf); they broadcast

    >>> from lib.accounting import gaussian_delta
    >>> print(f"{gaussian_delta(sigma=5.0, epsilon=1.0):.3e}")
    1.755e-08
    """
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    return delta_from_log(_raised_log_delta(epsilon, ratio("sigma", sensitivity, sigma)))


def gaussian_epsilon(sigma: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike = 1.0) -> Numbers:
    """Return the epsilon of the Gaussian mechanism at `delta` in (0, 1), or 0 where (0, delta)-DP already holds.

    This function inverts `gaussian_delta`.

    >>> from lib.accounting import gaussian_epsilon
    >>> print(round(gaussian_epsilon(sigma=5.0, delta=1e-6), 4))
    0.8341
    """
    mu, log_delta = np.broadcast_arrays(
        ratio("sigma", sensitivity, sigma), np.log(checks.real("delta", delta, "(0, 1)"))
    )
    log_delta_at_zero = _raised_log_delta(np.zeros_like(mu), mu)
    positive = log_delta_at_zero > log_delta
    target = np.where(positive, log_delta, log_delta_at_zero - 1)  # elsewhere: any solvable problem
    high = mu * (mu / 2 + 2 * np.sqrt(-2 * target))  # above the zCDP conversion's epsilon
    found = root(lambda e, m, goal: _raised_log_delta(e, m) - goal, np.zeros_like(mu), high, mu, target)
    for _ in range(20):  # a few steps, because of rounding
        if not (low := _raised_log_delta(found, mu) > target).any():
            break
        found = np.where(low, found * (1 + 2.0**-51) + TINY, found)
    return plain(np.where(positive, found, 0.0))


def gaussian_sigma(
    epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike = 1.0, calibration: str = "balle2018"
) -> Numbers:
    """Return a sigma, the standard deviation of the noise, that makes the Gaussian mechanism (epsilon, delta)-DP.

    epsilon : [0, 1e150]; delta : (0, 1); sensitivity : in L2, (0, inf); they broadcast
    calibration : "balle2018" gives the smallest possible sigma (the inverse of `gaussian_epsilon`). "zcdp" gives a
        larger sigma, which follows from ``rho = dp_to_zcdp(epsilon, delta)``; this rho adds up under composition

    >>> from lib.accounting import gaussian_sigma
    >>> print(round(gaussian_sigma(epsilon=1.0, delta=1e-6), 4))
    4.2247
    """
    checks.one_of("calibration", calibration, ("balle2018", "zcdp"))
    sensitivity = checks.real("sensitivity", sensitivity, "(0, inf)")
    rho = np.asarray(dp_to_zcdp(checks.real("epsilon", epsilon, "[0, 1e150]"), delta))
    if calibration == "zcdp":
        with np.errstate(divide="ignore", over="ignore"):  # no finite sigma: rho underflows for tiny epsilon and delta
            return plain(sensitivity / np.sqrt(2 * rho))
    epsilon, delta = np.asarray(epsilon, dtype=float), np.asarray(delta, dtype=float)
    # The mu by zCDP is too small, and so is mu = delta, because delta(0) < mu. The mu at which t0 = -t is too large,
    # because R decreases and Phi(t) - Phi(-t) = delta. Factors of 2 absorb rounding.
    t = np.sqrt(2) * scipy.special.erfinv(delta)
    low = np.log(np.maximum(np.sqrt(2 * rho), delta) / 2)
    high = np.log(2 * (t + np.hypot(t, np.sqrt(2 * epsilon))))
    log_mu = root(lambda v, e, goal: _raised_log_delta(e, np.exp(v)) - goal, low, high, epsilon, np.log(delta))
    mu = np.exp(log_mu)
    for _ in range(20):  # a few steps, because of rounding
        mu = np.where(delta_from_log(_raised_log_delta(epsilon, mu)) > delta, np.nextafter(mu, 0), mu)
    return plain(quotient_up(sensitivity, mu))
