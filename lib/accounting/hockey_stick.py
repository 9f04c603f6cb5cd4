"""The hockey-stick divergence of two Gaussians, computed numerically and with an error bound.

Let L = log(dP/dQ). Then delta(eps) = sup_S P(S) - e^eps Q(S) = E_P[max(0, 1 - e^(eps - L))] is the smallest delta for
which P(S) <= e^eps Q(S) + delta for all events S.

The integral. Let K(z) = log E_P[e^(zL)] = z D_{1+z}(P||Q), which is analytic in a strip lo < Re z < hi around [-1, 0].
The two-sided Laplace transform of delta is exp(K(z)) / (z (1 + z)). So on any line Re z = r with 0 < r < hi we have

    delta(eps) = 1/(2 pi) ∫ F(u) du,  F(u) = exp(K(z) - z eps) / (z (1 + z)),  z = r + iu.

Beyond the poles z = 0 and z = -1, the same integral gives delta - 1 for -1 < r < 0 and delta - 1 + e^eps for lo < r <
-1. The minima of log|F(0)| over r are three saddle points. We use the lowest saddle point (`_choose_line`). It belongs
to the smallest of the three numbers, so tiny deltas keep their relative accuracy. This is the saddle-point accountant
of Alghamdi et al. (2023), with quadrature in place of an asymptotic series.

The trapezoid rule with step h has three sources of error, which are all bounded and reported:
- Aliasing. By Poisson's summation formula (Abate and Whitt, Queueing Systems 10, 1992) the infinite sum is exactly
  sum_j e^(r j w) delta(eps + j w), w = 2 pi / h. By Chernoff's bound delta(x) <= C(r') exp(K(r') - r' x) for every r'
  of the same strip, with C(r') = r'^r' / (1 + r')^(1 + r') (Canonne, Kamath and Steinke 2020, for r' > 0). So the terms
  with j < 0, and likewise those with j > 0, contribute at most C exp(K(r') - r' eps) q / (1 - q), where q = e^(-|r -
  r'| w) and r' is on their side of r; r' = 0 gives the trivial bound delta <= 1.
- Truncation at u = U. |exp(K(r + iu))| decreases in |u| (see `_log_moment`), and |z (1 + z)| >= u^2, so the omitted
  part is at most |exp(K(r + iU) - r eps)| / (pi U).
- Rounding. The bound covers, to first order, the rounding of every exponent and of the whitening of the Gaussians.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers
from .divergence import GaussianPair, gaussian_pair, kl_term, log1pmx

_EPS = np.finfo(float).eps
_TINY = np.finfo(float).tiny
_ALIASING = np.log(1e-16)  # wanted, relative to the integral
_MOST_NODES = 2**20


class HockeyStick(NamedTuple):
    """The computed `delta` and a bound, `error`, on its distance from the true delta, both in the shape of epsilon."""

    delta: Numbers
    error: Numbers


def hockey_stick_gaussian(mean1: ArrayLike, cov1: ArrayLike, mean2: ArrayLike, cov2: ArrayLike, epsilon: ArrayLike,
                          count: int = 1, *, tolerance: float = 1e-14) -> HockeyStick:  # fmt: skip
    """Return delta(epsilon), with its error, for `count` draws from N(mean1, cov1) against as many from N(mean2, cov2).

    mean1, mean2, cov1, cov2 : as for `divergence.gaussian_pair`, with the same errors
    epsilon : array_like of real numbers, any shape. Negative numbers are permitted, and 0 gives the total variation
        distance
    count : integer in [1, 1e15], the number of independent draws that are seen
    tolerance : in (0, 0.1], the proportion of the integral that may be left out; `error` includes it

    `delta` lies in [max(0, 1 - e^epsilon), 1]. The error is near rounding level unless exp(K(z)) falls slowly along the
    line: if few coordinates differ in variance and few draws are seen, even the maximum of 2^20 nodes can leave a
    relative error of about 1e-8.

    >>> import numpy as np
    >>> from lib.accounting import hockey_stick_gaussian
    >>> found = hockey_stick_gaussian([0.0], np.eye(1), [1.0], np.eye(1), epsilon=1.0)
    >>> print(round(float(found.delta), 6))
    0.126937
    """
    return hockey_stick_pair(gaussian_pair(mean1, cov1, mean2, cov2), epsilon, count, tolerance=tolerance)


def hockey_stick_pair(
    pair: GaussianPair, epsilon: ArrayLike, count: int = 1, *, tolerance: float = 1e-14
) -> HockeyStick:
    """Return the result of `hockey_stick_gaussian` for two Gaussians in normal form.

    The normal form keeps the digits of a tiny t.

    >>> import numpy as np
    >>> from lib.accounting.divergence import GaussianPair
    >>> from lib.accounting.hockey_stick import hockey_stick_pair
    >>> pair = GaussianPair(m=np.array([1.0]), t=np.zeros(1), m_error=np.zeros(1), t_error=np.zeros(1))
    >>> print(round(float(hockey_stick_pair(pair, epsilon=1.0).delta), 6))
    0.126937
    """
    epsilon = checks.real("epsilon", epsilon, "(-inf, inf)")
    draws = float(checks.whole("count", count, "[1, 1e15]"))
    tolerance = checks.number("tolerance", tolerance, "(0, 0.1]")
    if np.abs(pair.m).max() > 1e150 or pair.t.max() > 1e15:
        raise ArithmeticError("means or covariances are too far apart for double precision")
    top, top_margin = _largest_loss(pair, draws)
    bottom, bottom_margin = _largest_loss(pair.swapped(), draws)
    bottom = -bottom
    loss = _Loss.of(pair, draws)
    results = []
    for x in np.clip(epsilon, -1e100, 1e100).flat:  # beyond, delta is 0 or 1 to any precision
        least = 0.0 - np.expm1(min(x, 0.0))  # delta if L never exceeds x, or always does
        slack = max(min(top + top_margin - x, x - bottom + bottom_margin, 1 - least), 0.0)
        inside = bottom + bottom_margin < x < top - top_margin
        delta, error = _integrate(loss, x, tolerance) if inside else (least, slack)
        delta = min(max(delta, least), least + slack)
        results.append((delta, min(error, slack) + _EPS * delta))
    delta, error = np.reshape(results, (*epsilon.shape, 2)).T
    return HockeyStick(delta.T[()], error.T[()])


class _Loss(NamedTuple):
    """The privacy loss of `draws` draws, a sum over coordinates i. With s = t / (1 + t) and b = m^2 / (1 + t),

        K(z) = draws/2 sum_i [b z (1 + z) / (1 + z s) + z slope - curve(z s)].

    For small t, slope = -phi(-s) and curve = phi, where phi(x) = log1p(x) - x, so that no terms cancel. In `wide`
    coordinates, with |t| > 1/2, slope = log1p(t) and curve = log1p, because z s would cancel there. The fields that end
    in `_error` allow for rounding in the whitening.
    """

    draws: float
    s: np.ndarray
    b: np.ndarray
    slope: np.ndarray
    wide: np.ndarray
    s_error: np.ndarray
    b_error: np.ndarray
    slope_error: np.ndarray

    @classmethod
    def of(cls, pair: GaussianPair, count: float) -> _Loss:
        """Return the loss of `count` draws, with errors that follow from the errors of `pair`."""
        m, t, m_error, t_error = pair
        s, q, wide = t / (1 + t), 1 + t, np.abs(t) > 0.5
        b = m**2 / q
        return cls(
            draws=count,
            s=s,
            b=b,
            slope=np.where(wide, np.log1p(t), kl_term(t)),
            wide=wide,
            s_error=t_error / q**2 + 2 * _EPS * np.abs(s),
            b_error=m_error * (2 * np.abs(m) + m_error) / q + b * t_error / q,
            slope_error=t_error / q * np.where(wide, 1.0, np.abs(s) + t_error),
        )

    def curve(self, x):
        """Return phi(x) or, in the wide coordinates (last axis), log1p(x), for real or complex x."""
        out = np.empty_like(x)
        out[..., self.wide] = scipy.special.log1p(x[..., self.wide])
        out[..., ~self.wide] = log1pmx(x[..., ~self.wide])
        return out


def _largest_loss(pair: GaussianPair, count: float):
    """Return sup L and a margin for its rounding, or (inf, 0) if the loss is unbounded."""
    m, t, m_error, t_error = pair
    zero = (np.abs(t) <= t_error) & (np.abs(m) <= m_error)
    m, t, m_error, t_error = (part[~zero] for part in pair)
    if np.any(t <= t_error):
        return np.inf, 0.0
    loss = m**2 / t + np.log1p(t)
    margin = m_error * (2 * np.abs(m) + m_error) / t + (m / t) ** 2 * t_error + t_error / (1 + t)
    return count / 2 * loss.sum(), count / 2 * (margin + 4 * _EPS * loss).sum()


def _log_moment(loss: _Loss, z):
    """Return K(z) in the shape of `z`, real or complex. |exp(K(r + iu))| decreases in |u|. Proof: with w = 1 + z s the
    Gaussian factor is |w|^(-1/2) e^(linear in z), and b z (1 + z) / w = b [w - (2 - s) + (1 - s) / w] / s^2. The real
    part of this quotient depends on u only through Re(1/w) = (1 + r s) / |w|^2 (for s = 0, through -u^2). The real part
    of w stays positive, so principal logarithms are the right branch."""
    z = np.asarray(z)[..., np.newaxis]
    s, b = loss.s, loss.b
    terms = b * z * (1 + z) / (1 + z * s) + z * loss.slope - loss.curve(z * s)
    return loss.draws / 2 * terms.sum(axis=-1)


def _exponent_error(loss: _Loss, z, x):
    """Return a first-order bound on the error of the computed K(z) - z x, in the shape of `z`."""
    size_z = np.abs(z)
    linear = 4 * _EPS * np.abs(x) * size_z
    z, size_z = z[..., np.newaxis], size_z[..., np.newaxis]
    w = np.abs(1 + z * loss.s)
    factor = np.abs(z * (1 + z)) / w
    size = loss.b * factor + size_z * np.abs(loss.slope) + np.abs(loss.curve(z * loss.s))
    rounding = (len(loss.s) + 16) * _EPS * size
    curve_slope = np.where(loss.wide, 1.0, size_z * (np.abs(loss.s) + loss.s_error)) / w
    whitening = size_z * (curve_slope + loss.b * factor / w) * loss.s_error
    whitening += size_z * loss.slope_error + factor * loss.b_error
    return linear + loss.draws / 2 * (rounding + whitening).sum(axis=-1)


class _Line(NamedTuple):
    """The line Re z = r in the strip (low, high), which has a pole at one or both ends.

    `height` is log|F(0)|, `curvature` is the second derivative of `height` in r, and `residue` is delta minus the
    integral.
    """

    r: float
    low: float
    high: float
    height: float
    curvature: float
    residue: float


def _choose_line(loss: _Loss, x: float) -> _Line:
    """Return the line through the lowest saddle point of the strips Re z < -1 (if x < 0), (-1, 0) and Re z > 0."""
    least, largest = loss.s.min(), loss.s.max()  # K needs 1 + z s > 0
    high = -1 / least if least < 0 else np.inf
    low = -1 / largest if largest > 0 else -np.inf
    lines = [_saddle(loss, x, 0.0, high, 0.0), _saddle(loss, x, -1.0, 0.0, 1.0)]
    if x < 0:
        lines.append(_saddle(loss, x, low, -1.0, -np.expm1(x)))
    return min(lines, key=lambda line: line.height)


def _saddle(loss: _Loss, x, low, high, residue) -> _Line:
    """Minimize the convex log|F(0)| = K(r) - r x - log|r (1 + r)| over (low, high), by bisection."""
    s, b, half = loss.s, loss.b, loss.draws / 2
    origin, sign = (low, 1.0) if low == 0 else (high, -1.0)  # an end at a pole
    shortest = (1 + 1e-9) / (high - low)

    def at(theta):
        """Return the point of the strip for `theta`, which runs from -inf at the pole to inf at the other end."""
        return origin + sign / (np.exp(-theta) + shortest)

    def derivative(r):
        """Return the derivative of log|F(0)| at a real r; the derivative increases over the strip."""
        w = 1 + r * s
        terms = b * (1 + 2 * r + s * r**2) / w**2 + loss.slope
        terms += np.where(loss.wide, -s, r * s**2) / w
        return half * terms.sum() - x - 1 / r - 1 / (1 + r)

    near, far = -34.0, 100.0
    for _ in range(30):
        middle = (near + far) / 2
        if sign * derivative(at(middle)) < 0:
            near = middle
        else:
            far = middle
    r = at((near + far) / 2)
    w = 1 + r * s
    height = _log_moment(loss, r) - r * x - np.log(abs(r)) - np.log(abs(1 + r))
    curvature = half * (2 * b * (1 - s) / w**3 + (s / w) ** 2).sum() + r**-2 + (1 + r) ** -2
    return _Line(r, low, high, height, curvature, residue)


def _chernoff(loss: _Loss, line: _Line, x):
    """Return the logarithm of Chernoff's bound, log C(r') + K(r') - r' x, and the distance |r - r'| for candidates r'
    on both sides of the line. The results are arrays of shape (sides, candidates). The candidates r' include the poles
    at the ends of the strip, but not the ends of the domain of K."""
    steps = 2.0 ** np.arange(-4, 16.5, 0.5) / np.sqrt(line.curvature)
    sides = []
    for end, sign in ((line.low, -1), (line.high, 1)):
        reach = abs(end - line.r) * (1.0 if end in (-1.0, 0.0) else 0.999)
        sides.append(line.r + sign * np.minimum(steps, reach))
    r = np.clip(sides, line.low, line.high)
    a, b = np.minimum(np.abs(r), np.abs(1 + r)), np.maximum(np.abs(r), np.abs(1 + r))
    within = (r >= -1) & (r <= 0)  # there the integrand is min(1, e^(eps - L)) and C = 1
    constant = np.where(within, 0.0, scipy.special.xlogy(a, a) - scipy.special.xlogy(b, b))
    return constant + _log_moment(loss, r) - r * x, np.abs(r - line.r)


def _integrate(loss: _Loss, x: float, tolerance: float):
    """Return delta(x) and its error bound, by the trapezoid rule on the chosen line."""
    line = _choose_line(loss, x)
    log_bound, distance = _chernoff(loss, line, x)
    if line.height < -690:  # the integral underflows: use Chernoff's bound
        return line.residue, np.exp(log_bound.min()) + _TINY
    log_integral = line.height - np.log(2 * np.pi * line.curvature) / 2  # by Laplace's method

    excess = log_bound + 0.7 - log_integral - _ALIASING
    period = np.maximum(excess, 0.7) / distance  # q <= 1/2, so q / (1 - q) <= 2 q
    period = period.min(axis=1).max()
    log_alias = log_bound - distance * period - np.log(-np.expm1(-distance * period))
    aliasing = np.exp(log_alias.min(axis=1)).sum()

    h = 2 * np.pi / period
    nodes = np.ceil(2.0 ** np.arange(3, np.log2(_MOST_NODES) + 0.1, 0.25))
    ends = line.r + 1j * h * nodes
    log_tail = _log_moment(loss, ends).real - line.r * x - np.log(np.pi * h * nodes)
    enough = int(np.argmax(np.append(log_tail <= log_integral + np.log(tolerance), True)))
    enough = min(enough, len(nodes) - 1)

    value, rounding = _trapezoid(loss, line.r, x, h, int(nodes[enough]))
    return line.residue + value, aliasing + np.exp(log_tail[enough]) + rounding


def _trapezoid(loss: _Loss, r, x, h, nodes):
    """Return h/pi [F(0)/2 + sum_k Re F(kh)], k <= nodes (F is symmetric), and its rounding error."""
    peak = _log_moment(loss, r) - r * x
    total = error = 0.0
    chunk = max(1, 2**17 // len(loss.s))
    for start in range(0, nodes + 1, chunk):
        k = np.arange(start, min(start + chunk, nodes + 1))
        z = r + 1j * h * k
        weight = np.where(k == 0, h / (2 * np.pi), h / np.pi)
        f = weight * np.exp(_log_moment(loss, z) - z * x - peak) / (z * (1 + z))
        total += f.real.sum()
        relative = np.expm1(np.minimum(_exponent_error(loss, z, x), 100.0))
        error += (np.abs(f) * (8 * _EPS + relative)).sum()
    return total * np.exp(peak), error * np.exp(peak)
