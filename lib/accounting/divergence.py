"""Rényi divergences: closed forms for Gaussians, sums and quadrature for other distributions.

D_alpha(P||Q) = log E_P[(P/Q)^(alpha - 1)] / (alpha - 1) for alpha > 1, with the KL-divergence
at alpha = 1 and the max-divergence at alpha = inf (miura2022, Definition 2.2, Lemma A.1.1).

Two Gaussians are first brought to normal form (`gaussian_pair`): in new coordinates
Sigma_1 = I, Sigma_2 = diag(1 + t) and the means differ by m. The Rényi divergence is then a sum over coordinates. A
small difference between the covariances appears as a small number t, whereas it would be lost to rounding in
determinants. `lib.accounting.hockey_stick` computes the hockey-stick divergence of such a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers

# log1p(x) = 2 atanh(r) with r = x / (2 + x); these are the coefficients of
# atanh(r) / r^3 - 1 / r^2 = 1/3 + r^2/5 + r^4/7 + ..., enough of them for |r| <= 1/4.
_ATANH = 1.0 / np.arange(3, 27, 2)
_ABOVE_MINUS_ONE = np.nextafter(-1.0, 0.0)


def log1pmx(x: ArrayLike) -> complex | np.ndarray:
    """Return log(1 + x) - x to full relative accuracy, in the shape of `x`.

    x : array_like, real in (-1, inf), or complex off the cut (-inf, -1]; any shape

    For real `x` the result is never positive, and about -x^2/2 near 0. For |x| < 0.4 the leading terms are cancelled
    analytically: with r = x / (2 + x), log(1 + x) = 2 r + 2 r^3 (1/3 + r^2/5 + ...) and 2 r - x = -r x.
    """
    x = np.asarray(x)
    if not np.iscomplexobj(x):
        x = checks.real("x", x, "(-1, inf)")
    near = np.abs(x) < 0.4
    out = np.empty_like(x)
    far = x[~near]
    # numpy's own loses the real part of complex arguments near the unit circle
    out[~near] = (scipy.special.log1p(far) if np.iscomplexobj(far) else np.log1p(far)) - far
    x = x[near]
    r = x / (2.0 + x)
    square = r * r
    series = np.full_like(x, _ATANH[-1])
    for coefficient in _ATANH[-2::-1]:
        series *= square
        series += coefficient
    out[near] = r * (2.0 * square * series - x)
    return out[()]


def expm1mx(x: ArrayLike) -> Numbers:
    """Return e^x - 1 - x >= 0, about x^2/2 near 0, to full relative accuracy for each `x` in [-inf, 700]."""
    return _expm1mx(checks.real("x", x, "[-inf, 700]"))


def _expm1mx(x):
    near = np.abs(x) < 0.5
    small, far = np.where(near, x, 0.0), np.where(near, 1.0, x)
    return np.where(near, small * small / 2 * scipy.special.hyp1f1(1.0, 3.0, small), np.expm1(far) - far)[()]


def beyond_line(log_mass: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return e^log_mass (e^u - 1 - u), for u in (-inf, inf) and log_mass + u up to 700; they broadcast.

    Where e^u dominates, the result may be too large by a relative error of 1e-15. For a privacy loss L under the law P,
    sum this function over the values of L at u = (alpha - 1) L, and add alpha - 1 times the sum at u = -L. Because
    E[e^-L] = 1, the result is e^((alpha - 1) D_alpha) - 1. All terms are non-negative, so the divergence of nearly
    equal laws keeps its digits.
    """
    return np.where(u > 40, np.exp(log_mass + u), np.exp(log_mass) * _expm1mx(np.minimum(u, 40)))


def psi(t: ArrayLike, alpha: ArrayLike) -> Numbers:
    """Return twice the order-`alpha` divergence of N(0, 1) from N(0, 1 + t).

    t : array_like in (-1, inf), the relative difference of the variances; alpha : in [1, inf]; they broadcast

    psi_alpha(t) = [alpha log(1 + t) - log(1 + alpha t)] / (alpha - 1) is >= 0 and grows with |t| on both sides of 0.
    Its limit is log(1 + t) - t / (1 + t) at alpha = 1, and log(1 + t) at alpha = inf. The result is ``inf`` where alpha
    t <= -1 (after rounding), and for alpha = inf where t < 0. With s = t / (1 + t) and phi(x) = log(1 + x) - x, psi is
    the sum of -phi(-s) and -phi((alpha - 1) s) / (alpha - 1). Both terms are >= 0, so nothing cancels. The relative
    error is that of a few roundings. Near the edge of the region it is larger by a factor of 1 / (1 + alpha t), but
    there the rounding of `t` has an equally large effect.
    Coq checks the sign and the growth, except for rounding: `psi_nonneg`, `psi_increasing` and `psi_decreasing` in
    proofs/.
    """
    t = checks.real("t", t, "(-1, inf)")
    alpha = checks.real("alpha", alpha, "[1, inf]")
    largest = np.isinf(alpha)
    order = np.where(largest, 1.0, alpha) - 1.0
    s = t / (1.0 + t)
    finite = np.where(largest, t >= 0, np.where(largest, 1.0, alpha) * np.minimum(t, 0.0) > -1)
    x = np.where(finite, np.maximum(order * s, _ABOVE_MINUS_ONE), 0.0)
    second = -log1pmx(x) / np.where(order > 0, order, 1.0)
    out = np.where(largest, np.log1p(t), kl_term(t) + second)
    return np.where(finite, out, np.inf)[()]


def kl_term(t: ArrayLike) -> Numbers:
    """Return `psi` at alpha = 1, which is log(1 + t) - t / (1 + t) >= 0, for each `t` in (-1, inf)."""
    t = checks.real("t", t, "(-1, inf)")
    s = t / (1.0 + t)
    small = t < 0.5  # beyond, s rounds towards 1 and log1p(-s) would not notice t
    return np.where(small, -log1pmx(np.where(small, -s, 0.0)), np.log1p(t) - s)[()]


class GaussianPair(NamedTuple):
    """Two Gaussians in coordinates where they are N(0, I) and N(m, diag(1 + t)).

    All fields have shape (d,). `m_error` and `t_error` allow for rounding in the whitening, and grow with the condition
    number of the first Gaussian's correlation matrix.
    """

    m: np.ndarray
    t: np.ndarray
    m_error: np.ndarray
    t_error: np.ndarray

    def swapped(self) -> GaussianPair:
        """Return the normal form of the same pair in the other order, whitened by the second Gaussian."""
        m, t, m_error, t_error = self
        q = 1 + t
        relative = t_error / q
        return GaussianPair(m / np.sqrt(q), -t / q, (m_error + np.abs(m) * relative) / np.sqrt(q), relative / q)


def gaussian_pair(mean1: ArrayLike, cov1: ArrayLike, mean2: ArrayLike, cov2: ArrayLike) -> GaussianPair:
    """Whiten N(mean1, cov1) and rotate the axes so that N(mean2, cov2) has independent coordinates.

    mean1, mean2 : shape (d,), or numbers if d = 1; cov1, cov2 : shape (d, d), or numbers
    Raises ``ValueError`` if shapes disagree, an entry is not finite, or a covariance is not symmetric and positive
    definite (in double precision). Raises ``ArithmeticError`` if the two Gaussians are too far apart for double
    precision.
    """
    mean1, cov1, factor1 = _gaussian("1", mean1, cov1)
    mean2, cov2, factor2 = _gaussian("2", mean2, cov2)
    if mean1.shape != mean2.shape:
        raise ValueError(f"mean2 must have shape {mean1.shape} like mean1, got {mean2.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        pair = _normal_form(mean1, cov1, factor1, mean2, cov2, factor2)
    if not np.isfinite(pair).all():
        raise ArithmeticError("means or covariances are too far apart for double precision")
    if np.any(1.0 + pair.t <= pair.t_error):
        raise ValueError(f"cov2 must not be numerically singular relative to cov1, got {_brief(cov2)}")
    return pair


def _normal_form(mean1, cov1, factor1, mean2, cov2, factor2) -> GaussianPair:
    """Return the normal form of the two Gaussians; entries that overflowed are not finite."""
    d = len(mean1)

    def whiten(columns):
        return scipy.linalg.solve_triangular(factor1, columns, lower=True, check_finite=False)

    difference = whiten(whiten(cov2 - cov1).T)
    t, axes = np.linalg.eigh((difference + difference.T) / 2)
    size = np.full(d, np.abs(t).max())
    if size[0] > 0.5:  # no cancellation to fear; singular values keep small 1 + t
        axes, scale, _ = np.linalg.svd(whiten(factor2))
        t, size = (scale - 1.0) * (scale + 1.0), scale * scale.max()
    m = axes.T @ whiten(mean2 - mean1)
    spread = np.sqrt(np.diag(cov1))
    condition = np.linalg.cond(cov1 / np.outer(spread, spread)) if d > 1 else 1.0
    tolerance = 8 * d * np.finfo(float).eps * condition
    if tolerance > 0.01:
        raise ValueError(f"cov1 must not be singular in double precision, got {_brief(cov1)}")
    t_error = tolerance * size + np.finfo(float).eps * np.abs(t)
    return GaussianPair(m, t, np.full(d, tolerance * np.abs(m).max()), t_error)


def _gaussian(index, mean, cov) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean (d,), the covariance (d, d) and its lower Cholesky factor, or raise ``ValueError``."""
    mean = np.atleast_1d(checks.real(f"mean{index}", mean, "(-inf, inf)"))
    cov = np.atleast_2d(checks.real(f"cov{index}", cov, "(-inf, inf)"))
    if mean.ndim != 1 or mean.size == 0:
        raise ValueError(f"mean{index} must have shape (d,) with d >= 1, got {mean.shape}")
    if cov.shape != (len(mean), len(mean)):
        raise ValueError(f"cov{index} must have shape {(len(mean),) * 2}, got {cov.shape}")
    if not np.allclose(cov, cov.T, rtol=1e-10, atol=1e-14 * np.abs(cov).max()):
        raise ValueError(f"cov{index} must be symmetric, got {_brief(cov)}")
    try:
        return mean, cov, np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        raise ValueError(f"cov{index} must be positive definite, got {_brief(cov)}") from None


def _brief(matrix):
    return " ".join(np.array2string(matrix, threshold=16).split())


def renyi_gaussian(mean1: ArrayLike, cov1: ArrayLike, mean2: ArrayLike, cov2: ArrayLike, alpha: ArrayLike) -> Numbers:
    """Return D_alpha(N(mean1, cov1) || N(mean2, cov2)) in nats, in the shape of `alpha` (miura2022, Proposition 4.1).

    mean1, mean2 : shape (d,), or numbers if d = 1
    cov1, cov2 : shape (d, d), symmetric positive definite, or positive numbers
    alpha : array_like in [1, inf], any shape; 1 gives the KL-divergence, and inf gives the max-divergence, sup_x
        log(p_1(x)/p_2(x))

    The result is ``inf`` where Sigma_alpha = (1 - alpha) cov1 + alpha cov2 is not positive definite. At alpha = inf,
    the result is finite only if cov2 - cov1 is positive semidefinite and mean2 - mean1 lies in the range of cov2 -
    cov1. In the normal form of `gaussian_pair`, the formula of Proposition 4.1 is sum_i [alpha m_i^2 / (1 + alpha t_i)
    + psi_alpha(t_i)] / 2. If rounding in the whitening leaves it open whether a t_i is at the edge alpha t_i = -1, the
    result is ``inf``. At alpha = inf the edge is t_i = 0 (equal variances); there, each t_i or m_i that is 0 up to
    rounding counts as 0.
    Raises ``ValueError`` like `gaussian_pair`.
    Source: M. Gil, F. Alajaji, T. Linder, Information Sciences 249 (2013) 124-131.

    >>> import numpy as np
    >>> from lib.accounting import renyi_gaussian
    >>> print(round(float(renyi_gaussian([0.0], np.eye(1), [1.0], np.eye(1), alpha=3.0)), 6))
    1.5
    """
    pair = gaussian_pair(mean1, cov1, mean2, cov2)
    alpha = checks.real("alpha", alpha, "[1, inf]")[..., np.newaxis]
    largest = np.isinf(alpha)
    zero_t = largest & (np.abs(pair.t) <= pair.t_error)
    t = np.where(zero_t, 0.0, pair.t)
    m = np.where(zero_t & (np.abs(pair.m) <= pair.m_error), 0.0, pair.m)
    gap = 1.0 / alpha + t  # alpha / (1 + alpha t) = 1 / gap, at alpha = inf too
    inside = (gap > 0) & ((t >= 0) | (gap > pair.t_error))
    with np.errstate(over="ignore"):
        from_means = m**2 / np.where(inside, gap, 1.0)
    from_both = np.where(inside, from_means + psi(t, alpha), np.inf)
    same = (t == 0) & (m == 0)
    return np.where(same, 0.0, from_both).sum(axis=-1)[()] / 2


def renyi_discrete(p: ArrayLike, q: ArrayLike, alpha: ArrayLike) -> Numbers:
    """Return D_alpha of two distributions on the same finite set, in nats, as an array of the shape of `alpha`.

    p, q : shape (k,), entries >= 0 that sum to 1 (within 1e-9); alpha : array_like in [1, inf], any shape
    The result is ``inf`` if `q` is 0 at an entry where `p` is not. Raises ``ValueError`` if an argument is out of
    range.

    >>> from lib.accounting import renyi_discrete
    >>> print(round(float(renyi_discrete([0.75, 0.25], [0.25, 0.75], alpha=2.0)), 6))
    0.847298
    """
    p, q = checks.real("p", p, "[0, inf)"), checks.real("q", q, "[0, inf)")
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(f"p and q must have the same shape (k,), got {p.shape} and {q.shape}")
    for name, values in (("p", p), ("q", q)):
        with np.errstate(over="ignore"):
            total = values.sum()
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"{name} must sum to 1, got {total:g}")
    alpha = checks.real("alpha", alpha, "[1, inf]")
    if np.any((p > 0) & (q == 0)):
        return np.full(alpha.shape, np.inf)[()]
    return np.reshape([_renyi_discrete(p, q, order) for order in alpha.flat], alpha.shape)[()]


def _renyi_discrete(p, q, alpha):
    both = p > 0
    log_ratio = np.log(p[both]) - np.log(q[both])
    if np.isinf(alpha):
        return log_ratio.max()
    if alpha > 1 and (alpha * np.abs(log_ratio)).max() > 1:
        log_moment = scipy.special.logsumexp((alpha - 1) * log_ratio, b=p[both])
        return max(log_moment / (alpha - 1), 0.0)
    with np.errstate(divide="ignore"):
        excess = _excess(np.log(p), np.log(q), alpha).sum()
    return excess if alpha == 1 else np.log1p(excess) / (alpha - 1)


def _excess(log_p, log_q, alpha):
    """Return the integrand q f(p / q) >= 0 whose integral is E_P[(p/q)^(alpha - 1)] - 1, or the KL-divergence at alpha
    = 1. Here f(u) is u^alpha - 1 - alpha (u - 1), or u log u - u + 1 at alpha = 1. The tangent at u = 1, whose integral
    is 0, is subtracted so that the integrand is as small as the divergence itself."""
    no_p = log_p == -np.inf
    neither = no_p & (log_q == -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        p, q = np.exp(log_p), np.exp(log_q)
        ratio = np.where(neither, 0.0, log_p - log_q)
        if alpha == 1:
            near, far = p * _expm1mx(-ratio), p * ratio - p + q
        else:
            near = q * (_expm1mx(alpha * ratio) - alpha * _expm1mx(ratio))
            far = np.exp(alpha * log_p - (alpha - 1) * log_q) - alpha * p + (alpha - 1) * q
    far = np.where(no_p, q if alpha == 1 else (alpha - 1) * q, far)
    return np.where(neither, 0.0, np.where(alpha * np.abs(ratio) < 1, near, far))


class Estimate(NamedTuple):
    """A computed `value` and an estimate of its absolute `error`; an error of inf means that no accuracy is claimed."""

    value: float
    error: float


def renyi(log_p: Callable[[float], float], log_q: Callable[[float], float], alpha: float,
          support: tuple[float, float] = (-np.inf, np.inf), *, points: Iterable[float] = ()) -> Estimate:  # fmt: skip
    """Return D_alpha(P||Q) of two densities on the line, in nats, by adaptive quadrature.

    log_p, log_q : functions that return the logarithm of a density with integral 1 over `support` (-inf where it is 0)
    alpha : a number in [1, inf); 1 gives the KL-divergence
    support : (low, high), possibly infinite
    points : places inside the support at which the densities have kinks, jumps or narrow peaks

    The error is the quadrature's own estimate, not a proven bound. The result is (inf, inf) if the integrand overflows
    because the divergence is infinite or too large. An integral that diverges logarithmically may be mistaken for a
    finite one. Raises ``ValueError`` if alpha or a point is out of range, or if the integral of a density differs from
    1 by more than 1e-6. (If the quadrature missed a peak, list the peak in `points`.) Raises ``ArithmeticError`` if the
    quadrature does not converge.

    >>> import numpy as np
    >>> from lib.accounting import renyi
    >>> found = renyi(lambda x: -abs(x) - np.log(2), lambda x: -abs(x - 1) - np.log(2), alpha=2.0, points=(0.0, 1.0))
    >>> print(round(float(found.value), 6))
    0.619124
    """
    alpha = checks.number("alpha", alpha, "[1, inf)")
    low, high = support
    if not low < high:
        raise ValueError(f"support must be (low, high) with low < high, got {support!r}")
    edges = [low, *np.unique(checks.real("points", points, f"({low}, {high})")), high]
    masses = [_integrate(lambda x, f=f: np.exp(f(x)), edges).value for f in (log_p, log_q)]
    for name, mass in zip(("log_p", "log_q"), masses, strict=True):
        if not abs(mass - 1.0) < 1e-6:
            raise ValueError(f"{name} must integrate to 1 over the support, got {mass:g}")
    excess, error = _integrate(lambda x: _excess(log_p(x), log_q(x), alpha), edges)
    if not np.isfinite(excess):
        return Estimate(np.inf, np.inf)
    error += alpha * abs(masses[0] - 1) + (alpha - 1) * abs(masses[1] - 1)
    error += 8 * np.finfo(float).eps * (1 + excess)
    if alpha == 1:
        return Estimate(float(excess), float(error))
    value = np.log1p(excess) / (alpha - 1)
    return Estimate(float(value), float(error / (1 + excess) / (alpha - 1)))


def _integrate(function, edges) -> Estimate:
    """Return the sum of the integrals between consecutive edges, or inf if the function overflows."""
    total = error = 0.0
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        # quad_vec does not extrapolate: QUADPACK's quad can give a divergent integral a value
        with np.errstate(all="ignore"):
            value, bound, info = scipy.integrate.quad_vec(
                function, low, high, epsabs=1e-15, epsrel=1e-11, limit=1000, full_output=True
            )
        if not np.isfinite(value):
            return Estimate(np.inf, np.inf)
        if not info.success and bound > 1e-6 * (1 + abs(value)):
            raise ArithmeticError(f"the quadrature over ({low:g}, {high:g}) failed: {info.message}")
        total, error = total + value, error + bound
    return Estimate(total, error)
