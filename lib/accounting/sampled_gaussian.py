"""The repeated sampled Gaussian mechanism: normal noise is added to a sum over records, each drawn with probability q.

A step of DP-SGD (`networks.dp_sgd`) draws records by Poisson sampling. The step publishes the sum of these records'
changes to the parameters, each clipped to L2 norm C, plus normal noise of standard deviation sigma C. Neighbours are
"unbounded" if a record is added or removed and "bounded" if one is replaced. The values of q, C, sigma and the step
count must be public.

Let N(m) be the normal law with the mean m and the standard deviation sigma, in units of C. In the worst case a record's
change has norm C. In the direction of this change, the sum has the following laws with and without the record:

    P = (1 - q) N(0) + q N(1)    and    N(0).

The pair (P, N(0)) dominates all others if a record is removed, and (N(0), P) does if one is added (Zhu, Dong, Wang
2022). If a record is replaced, the dominating pair consists of P and

    P' = (1 - q) N(0) + q N(-1).

For every event A and t >= 1, P(A) - t P'(A) is largest if the clipped changes of the two records have norm 1 and point
in opposite directions. The proof uses the lemma of Neyman and Pearson; see the chapter "Which method wins when all are
equally private?". The other records' changes are the same under both laws, and mixing over them cannot increase this
difference. `numerical.prv_compose` composes each pair; the largest result is the cost.

Source: Abadi et al. 2016; Mironov, Talwar, Zhang 2019; Gopi, Lee, Wutschitz 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics.checks import Numbers, number, one_of, whole
from .conversions import rdp_to_dp
from .divergence import beyond_line
from .gaussian_curve import gaussian_epsilon
from .numerical import GaussianLoss, PrivacyLossVariable, prv_compose

NEIGHBOURS = {"unbounded": ("remove", "add"), "bounded": ("replace",)}
ORDERS = 1 + np.geomspace(0.05, 511, 56)  # alpha of `rdp_epsilon`
_ROUNDING = 1e-12  # what the sums of `_rdp` may lose, relatively
# The record's contribution under each of the two laws compared.
_MEANS = {"remove": (1, 0), "add": (0, -1), "replace": (1, -1)}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True)
class SampledGaussian(PrivacyLossVariable):
    """The privacy loss of one step, for `prv_compose`, under the first of the two laws that `direction` compares.

    sigma : noise multiplier in [0.1, 1e6]; q : in (0, 1); direction : "remove", "add" or "replace"

    Each law is (1 - q) N(0) + q N(m) with m = -1, 0 or 1; "add" reverses the axis, so the loss increases with x.
    """

    sigma: float = 1.0
    q: float = 0.5
    direction: str = "remove"

    @property
    def reversed(self) -> SampledGaussian:
        swapped = {"remove": "add", "add": "remove", "replace": "replace"}
        return SampledGaussian(self.size, self.sigma, self.q, swapped[self.direction])

    def _over_noise(self, x, mean):
        """Return the logarithm of the density of (1 - q) N(0) + q N(mean) divided by the density of N(0)."""
        if mean == 0:
            return np.zeros(np.shape(x))
        exponent = (2 * mean * x - 1) / (2 * self.sigma**2)
        near, far = np.log1p(self.q * np.expm1(np.minimum(exponent, 1))), math.log(self.q) + exponent
        return np.where(exponent < 1, near, np.logaddexp(math.log1p(-self.q), far))

    def loss(self, x: np.ndarray) -> np.ndarray:
        """Return the log-ratio of the first law's density to the second's at x; it increases with x."""
        first, second = _MEANS[self.direction]
        return self._over_noise(x, first) - self._over_noise(x, second)

    def place(self, t: ArrayLike) -> np.ndarray:
        """Return the x at which the loss is t: -inf for t below all losses, and inf for t above all losses."""
        t = np.asarray(t, dtype=float)
        if self.direction == "add":
            return -SampledGaussian(self.size, self.sigma, self.q).place(-t)
        if self.direction == "remove":
            above = np.expm1(np.minimum(t, 500)) + self.q
            with np.errstate(divide="ignore"):
                x = self.sigma**2 * np.log(np.maximum(above, 0) / self.q) + 0.5
            return np.where(t > 500, self.sigma**2 * (t - math.log(self.q)) + 0.5, x)
        # e^(x/sigma^2) solves a quadratic equation, and sinh(x/sigma^2 - t/2) = k sinh(t/2).
        log_k = math.log1p(-self.q) - math.log(self.q) + 1 / (2 * self.sigma**2)
        near = np.arcsinh(math.exp(log_k) * np.sinh(np.clip(t / 2, -500, 500)))
        far = t / 2 + np.sign(t) * log_k
        return self.sigma**2 * (t / 2 + np.where(np.abs(t) > 1000, far, near))

    def cdf(self, t: Numbers) -> Numbers:
        """Return the probability that the loss is at most t."""
        return self._under_first(scipy.special.ndtr, self.place(t))

    def masses(self, edges: np.ndarray) -> np.ndarray:
        """Return the probabilities that the loss lies between consecutive increasing `edges`."""
        return self._under_first(GaussianLoss.standard_masses, self.place(edges))

    def _under_first(self, normal, x):
        """Return the function `normal`, such as a distribution function, of the first law (a mixture) at x."""
        moved = x - _MEANS[self.direction][0]
        return (1 - self.q) * normal(x / self.sigma) + self.q * normal(moved / self.sigma)

    def rdp(self, alpha: float) -> float:
        """Return D_alpha of the two laws by the trapezoidal rule, rounded up by a relative 1e-12."""
        return _rdp(self, alpha)

    def truncated_mean(self, low: float, high: float) -> float:
        """Return the mean loss between low and high, by Gauss-Legendre quadrature on panels of at most half a sigma."""
        left, right = self.place([low, high]).clip(-1 - 40 * self.sigma, 1 + 40 * self.sigma)
        panels = np.linspace(left, right, math.ceil((right - left) / min(self.sigma / 2, self.sigma**2)) + 1)
        half = np.diff(panels)[:, None] / 2
        x = panels[:-1, None] + half * (1 + _NODES)
        first = self._over_noise(x, _MEANS[self.direction][0])
        mass = half * _WEIGHTS * np.exp(first - x**2 / (2 * self.sigma**2))
        return float((mass * self.loss(x)).sum() / mass.sum())


@lru_cache(maxsize=4096)  # the size of a grid is found twice, from the same orders
def _rdp(variable, alpha) -> float:
    (first, second), sigma = _MEANS[variable.direction], variable.sigma
    step = min(sigma / 10, sigma**2 / 3)
    end = (first - second) * max(alpha, 1)
    if variable.direction == "add":  # from here on, the integrand falls as fast as a normal density
        end = min(end, 1 + sigma**2 * math.log1p(max(alpha - 1, 0) * variable.q / (1 - variable.q)))
    x = np.arange(-1 - 40 * sigma, end + 40 * sigma, step)
    logs = alpha * variable.loss(x) + variable._over_noise(x, second) - x**2 / (2 * sigma**2)
    high = logs.max()
    unit = step / (sigma * math.sqrt(2 * math.pi))
    log_integral = high + math.log(np.exp(logs - high).sum() * unit)
    if log_integral < 0.1:
        log_mass, loss = variable._over_noise(x, first) - x**2 / (2 * sigma**2), variable.loss(x)
        excess = beyond_line(log_mass, (alpha - 1) * loss) + (alpha - 1) * beyond_line(log_mass, -loss)
        log_integral = math.log1p(excess.sum() * unit)
    return float(log_integral) / (alpha - 1) * (1 + _ROUNDING)


@lru_cache(maxsize=1024)
def epsilon(noise_multiplier: float, sampling: float, steps: int, delta: float, neighbours: str = "unbounded") -> float:
    """Return an upper bound on the epsilon of `steps` steps at `delta`.

    The bound is too large by at most 5 % of the bound or 0.0002, whichever is larger.

    noise_multiplier : sigma in [0.1, 1e6]; sampling : q in [1e-6, 1]; steps : integer >= 1; delta : [1e-12, 1)
    neighbours : "unbounded" (a record is added or removed) or "bounded" (a record is replaced)

    If a finer grid is impossible, as for a `delta` near 1e-12 or a million steps, the bound may be too large by 0.03 or
    a twentieth of `rdp_epsilon`, whichever is larger. Raises ``ArithmeticError`` if `delta` is lost in rounding, or if
    no grid suffices.

    >>> from lib.accounting.sampled_gaussian import epsilon
    >>> print(round(epsilon(1.0, sampling=0.01, steps=1000, delta=1e-6), 1))
    2.1
    """
    sigma, q, variables = _checked(noise_multiplier, sampling, neighbours)
    steps = whole("steps", steps, "[1, inf)")
    if q == 1:
        moved = 1 if neighbours == "unbounded" else 2
        return float(gaussian_epsilon(sigma, number("delta", delta, "[1e-12, 1)"), moved * math.sqrt(steps)))
    error, found = 0.01, None
    while True:
        try:
            found = max(prv_compose([(variable, steps)], delta, eps_error=error).upper for variable in variables)
        except ArithmeticError as refused:
            if found is not None:
                return found
            # A coarse grid suffices for a large epsilon.
            coarse = rdp_epsilon(noise_multiplier, sampling, steps, delta, neighbours) / 50
            if error >= coarse:
                raise ArithmeticError(f"no epsilon found for {steps:g} steps: {refused}") from None
            error = coarse
            continue
        if error <= max(found / 40, 1e-4) or found == 0:
            return found
        # A bound below the error is probably that of an epsilon of 0; a grid ten times finer will tell.
        error = max(found / 50, error / 10 if found < error else 0, 1e-4)


def rdp_epsilon(
    noise_multiplier: float, sampling: float, steps: int, delta: float, neighbours: str = "unbounded"
) -> float:
    """Return the epsilon at `delta` in (0, 1) of `steps` steps by Rényi DP, the smallest over the orders in `ORDERS`.

    The function is fast, but its result is seldom as small as that of `epsilon`.
    sampling : q in [1e-6, 1); other arguments as for `epsilon`
    Source: Mironov, Talwar, Zhang 2019.
    """
    steps = whole("steps", steps, "[1, inf)")
    *_, variables = _checked(noise_multiplier, number("sampling", sampling, "[1e-6, 1)"), neighbours)
    curve = [float(steps) * max(variable.rdp(alpha) for variable in variables) for alpha in ORDERS]
    return float(rdp_to_dp(ORDERS, curve, delta).epsilon)


def _checked(noise_multiplier: float, sampling: float, neighbours: str) -> tuple[float, float, list[SampledGaussian]]:
    """Return sigma, q, and the loss of one step in each direction."""
    sigma, q = number("noise_multiplier", noise_multiplier, "[0.1, 1e6]"), number("sampling", sampling, "[1e-6, 1]")
    one_of("neighbours", neighbours, tuple(NEIGHBOURS))
    moved = 1 if neighbours == "unbounded" else 2
    return sigma, q, [SampledGaussian(moved / sigma, sigma, q, direction) for direction in NEIGHBOURS[neighbours]]


@lru_cache(maxsize=256)
def noise_multiplier(
    epsilon_wanted: float, delta: float, sampling: float, steps: int, neighbours: str = "unbounded"
) -> float:
    """Return the smallest sigma >= 0.1, to within 0.3 %, for which `epsilon` is at most `epsilon_wanted`.

    epsilon_wanted : [0.001, inf); delta : [1e-12, 1); sampling : q in [1e-6, 1]; steps : integer >= 1
    neighbours : as for `epsilon`

    >>> from lib.accounting.sampled_gaussian import noise_multiplier
    >>> print(round(noise_multiplier(1.0, 1e-6, sampling=0.01, steps=1000), 2))
    1.58
    """
    wanted = number("epsilon", epsilon_wanted, "[0.001, inf)")
    one_of("neighbours", neighbours, tuple(NEIGHBOURS))

    @cache
    def surplus(log_sigma):  # nearly linear in log sigma
        return math.log(max(epsilon(math.exp(log_sigma), sampling, steps, delta, neighbours), 1e-300) / wanted)

    least, low, high = math.log(0.1), 0.0, 0.0
    while surplus(high) > 0:
        low, high = high, high + math.log(2)
    while surplus(low) <= 0:
        if low == least:
            return 0.1
        low, high = max(low - math.log(2), least), low
    root = scipy.optimize.brentq(surplus, low, high, xtol=1e-3)
    while surplus(root) > 0:
        root += 1e-3
    return math.exp(root)
