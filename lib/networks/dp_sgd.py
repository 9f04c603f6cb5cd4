"""DP-SGD: a network trained so that the whole of it is (epsilon, delta)-DP at record level (Abadi et al. 2016).

A step takes each record with probability q (Poisson sampling), clips each record's change of all parameters together to the
L2 norm C, adds the clipped changes and normal noise of standard deviation sigma C, and goes down the result. One record
moves the sum by C at most, and only with probability q; what the steps publish, and the network at the end with it,
is a composition of sampled Gaussian mechanisms with noise multiplier sigma.

Neighbours are unbounded: a record is added or removed (`bounded_guarantee` for replaced ones). q, C, sigma, the number of
steps and the batch size that the sum is divided by must be public, and chosen without a look at the records.

**Accounting.** The sum with and without the record, in units of C and along the worst change, has the laws

    P = (1 - q) N(0, sigma^2) + q N(1, sigma^2)    and    Q = N(0, sigma^2),

which dominate all others (Zhu, Dong, Wang 2022): (P, Q) where a record is removed, (Q, P) where one is added.
`accounting.prv_compose` composes each of the two, and the worse counts.

**No gradient of a single record is ever formed.** The change of layer l is the outer product y d^T of the outputs below and the
error signals, with d for the biases; so its squared norm is (|y|^2 + 1) |d|^2, and to clip it is to shorten d.

The guarantee is that of real numbers (`floating_point` shows the difference): in float32, norms are clipped to a relative 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from .. import accounting
from ..numerics.checks import number, whole
from .compiled import compiled
from .network import Network, block, checked_records, descend, propagate, summed, workspace
from .private_networks import PrivateNetwork

DIRECTIONS = ("remove", "add")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


# ---- accounting


@dataclass(frozen=True)
class SampledGaussian(accounting.PrivacyLossVariable):
    """Privacy loss of one step, for `accounting.prv_compose`: L = log(P/Q) under P, or log(Q/P) under Q ("add").

    sigma : noise multiplier in (0, inf); q : in (0, 1); direction : one of `DIRECTIONS`
    """

    sigma: float = 1.0
    q: float = 0.5
    direction: str = "remove"

    def loss(self, x):
        """log(P/Q) at x, increasing."""
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + (2 * x - 1) / (2 * self.sigma**2))

    def place(self, t):
        """The x at which log(P/Q) is t; -inf where t is below all of it."""
        t = np.asarray(t, dtype=float)
        above = np.expm1(np.minimum(t, 500)) + self.q
        with np.errstate(divide="ignore"):
            x = self.sigma**2 * np.log(np.maximum(above, 0) / self.q) + 0.5
        return np.where(t > 500, self.sigma**2 * (t - math.log(self.q)) + 0.5, x)

    def cdf(self, t):
        """Probability that the loss is at most t."""
        if self.direction == "add":
            return ndtr(-self.place(-np.asarray(t)) / self.sigma)
        x = self.place(t)
        return (1 - self.q) * ndtr(x / self.sigma) + self.q * ndtr((x - 1) / self.sigma)

    def rdp(self, alpha):
        """D_alpha of the pair, by the trapezoidal rule, which for such functions errs by less than rounding."""
        return _rdp(self, alpha)

    def truncated_mean(self, low, high):
        """Mean of the loss given that it lies between low and high: Gauss-Legendre panels of half a sigma or less."""
        sign = 1 if self.direction == "remove" else -1
        ends = np.sort(self.place([sign * low, sign * high]))
        left, right = ends.clip(-40 * self.sigma, 1 + 40 * self.sigma)
        panels = np.linspace(left, right, math.ceil((right - left) / min(self.sigma / 2, self.sigma**2)) + 1)
        half = np.diff(panels)[:, None] / 2
        x = panels[:-1, None] + half * (1 + _NODES)
        density = np.exp(-(x**2) / (2 * self.sigma**2)) / (self.sigma * math.sqrt(2 * math.pi))
        if self.direction == "remove":
            density = density * np.exp(self.loss(x))
        mass = half * _WEIGHTS * density
        return sign * float((mass * self.loss(x)).sum() / mass.sum())


@lru_cache(maxsize=4096)  # the size of a grid is found twice, from the same orders
def _rdp(loss, alpha) -> float:
    order, sigma = alpha if loss.direction == "remove" else 1 - alpha, loss.sigma  # E_Q of (P/Q)^order
    step = min(sigma / 10, sigma**2 / 3)
    x = np.arange(-40 * sigma, max(order, 1) + 40 * sigma, step)
    logs = -(x**2) / (2 * sigma**2) + order * loss.loss(x)
    high = logs.max()
    log_integral = high + math.log(np.exp(logs - high).sum() * step / (sigma * math.sqrt(2 * math.pi)))
    return max(float(log_integral), 0.0) / (alpha - 1)


@lru_cache(maxsize=1024)
def epsilon(noise_multiplier, sampling, steps, delta) -> float:
    """Epsilon at `delta` of `steps` steps: an upper bound, above the truth by 5 % or 0.0002 at most.

    noise_multiplier : sigma in [0.1, 1e6]; sampling : q in [1e-6, 1]; steps : whole number >= 1; delta : [1e-12, 1)
    """
    sigma, q = number("noise_multiplier", noise_multiplier, "[0.1, 1e6]"), number("sampling", sampling, "[1e-6, 1]")
    steps = whole("steps", steps, "[1, inf)")
    if q == 1:
        return accounting.gaussian_epsilon(sigma, number("delta", delta, "[1e-12, 1)"), math.sqrt(steps))
    variables = [SampledGaussian(1 / sigma, sigma, q, direction) for direction in DIRECTIONS]
    error = 0.01
    while True:
        found = max(accounting.prv_compose([(variable, steps)], delta, eps_error=error).upper for variable in variables)
        if error <= max(found / 40, 1e-4):
            return found
        error = max(found / 50, 1e-4)


@lru_cache(maxsize=256)
def noise_multiplier(epsilon_wanted, delta, sampling, steps) -> float:
    """The least sigma, to within 0.3 %, for which `epsilon` gives at most `epsilon_wanted` in [0.001, inf); at least 0.1.

    delta : [1e-12, 1); sampling : q in [1e-6, 1]; steps : whole number >= 1
    """
    wanted = number("epsilon", epsilon_wanted, "[0.001, inf)")

    @cache
    def surplus(log_sigma):  # in log sigma nearly a straight line
        return math.log(max(epsilon(math.exp(log_sigma), sampling, steps, delta), 1e-300) / wanted)

    least, low, high = math.log(0.1), 0.0, 0.0
    while surplus(high) > 0:
        low, high = high, high + math.log(2)
    while surplus(low) <= 0:
        if low == least:
            return 0.1
        low, high = max(low - math.log(2), least), low
    root = brentq(surplus, low, high, xtol=1e-3)
    while surplus(root) > 0:
        root += 1e-3
    return math.exp(root)


def bounded_guarantee(epsilon, delta) -> tuple:
    """(2 epsilon, (1 + e^epsilon) delta): what (epsilon, delta) for added or removed records means for replaced ones.

    A replacement removes a record and adds another (Dwork and Roth 2014, group privacy).
    """
    epsilon, delta = number("epsilon", epsilon, "[0, inf)"), number("delta", delta, "[0, 1]")
    return 2 * epsilon, min((1 + math.exp(min(epsilon, 700))) * delta, 1.0)


# ---- training


@dataclass(frozen=True)
class Plan:
    """What a run of DP-SGD does, and thereby guarantees: for the whole network, at record level.

    sampling : q in [1e-6, 1]; steps : whole number >= 1; noise_multiplier : sigma in [0.1, 1e6]; delta : [1e-12, 1)
    """

    sampling: float
    steps: int
    noise_multiplier: float
    delta: float

    def __post_init__(self):
        number("sampling", self.sampling, "[1e-6, 1]")
        whole("steps", self.steps, "[1, inf)")
        number("noise_multiplier", self.noise_multiplier, "[0.1, 1e6]")
        number("delta", self.delta, "[1e-12, 1)")

    @classmethod
    def calibrated(cls, epsilon, delta, *, sampling, steps) -> Plan:
        """The plan that is (`epsilon`, `delta`)-DP with hardly more noise than it takes: `noise_multiplier`."""
        return cls(sampling, steps, noise_multiplier(epsilon, delta, sampling, steps), delta)

    @cached_property
    def epsilon(self) -> float:
        """At `delta`, for records added or removed."""
        return epsilon(self.noise_multiplier, self.sampling, self.steps, self.delta)

    @property
    def lines(self) -> dict[str, str]:
        """What each guarantee is of, and its size, as text."""
        replaced, its_delta = bounded_guarantee(self.epsilon, self.delta)
        return {
            f"the whole model, one record added or removed, delta = {self.delta:.3g}": f"epsilon = {self.epsilon:.4g}",
            f"the whole model, one record replaced, delta = {its_delta:.3g}": f"epsilon = {replaced:.4g}",
        }

    def __str__(self):
        return "\n".join(["DP-SGD", *(f"  {of}: {size}" for of, size in self.lines.items())])


def train(
    features, labels, network, plan, *, learning_rate=0.5, clip=1.0, momentum=0.0, l2=0.0, records=None, rng
) -> PrivateNetwork:
    """`network` after DP-SGD; its `statement` is the plan.

    features : (records, n_0) in [0, 1]; labels : (records,), whole numbers from 0 to classes - 1
    plan : a `Plan`
    learning_rate : (0, inf); clip : C in (0, inf); momentum : [0, 1); l2 : [0, inf), of weights, per step, the "usual"
        convention of `network.train`. None of these costs privacy, unless chosen by what the records say.
    records : the noisy sum of a step is divided by sampling x records: a public number >= 1. Default: as many as there
        are, which must then be public.
    rng : numpy Generator: which records are taken, and the noise

    Raises ``ValueError`` for bad input, ``FloatingPointError`` where training diverges.
    """
    features, labels = checked_records(features, labels, network)
    rate, clip = number("learning_rate", learning_rate, "(0, inf)"), number("clip", clip, "(0, inf)")
    momentum, l2 = number("momentum", momentum, "[0, 1)"), number("l2", l2, "[0, inf)")
    records = number("records", len(labels) if records is None else records, "[1, inf)")
    if not isinstance(plan, Plan):
        raise ValueError(f"plan must be a Plan, got {plan!r}")
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy Generator, got {rng!r}")
    sizes = rng.binomial(len(labels), plan.sampling, size=plan.steps)
    widths, parameters = np.array(network.widths), network.parameters.copy()
    work = workspace(network, max(int(sizes.max()), 1))
    settings = rate, clip, plan.noise_multiplier * clip, momentum, l2, 1 / (plan.sampling * records)
    _run(parameters, widths, features, labels, sizes, np.arange(len(labels)), *settings, rng, *work)
    if not np.isfinite(parameters).all():
        now = f"lower learning_rate, now {rate:g}"
        raise FloatingPointError(f"training diverged: parameters are no longer finite; {now}")
    return PrivateNetwork(Network(network.widths, parameters), plan)


# ---- compiled


@compiled
def clip_errors(widths, outputs, errors, rows, limit):
    """Shorten the error signals of each record so that its change of all parameters has an L2 norm of `limit` at most."""
    last = widths.size - 1
    squares = np.zeros(rows)
    for layer in range(1, last + 1):
        y, delta = block(outputs, widths, layer - 1, rows), block(errors, widths, layer, rows)
        for r in range(rows):
            squares[r] += (1.0 + _square(y[r])) * _square(delta[r])
    for r in range(rows):
        norm = math.sqrt(squares[r])
        squares[r] = 1.0 if norm <= limit else limit / norm
    for layer in range(1, last + 1):
        delta = block(errors, widths, layer, rows)
        for r in range(rows):
            if squares[r] != 1.0:
                factor = delta.dtype.type(squares[r])
                d = delta[r]
                for j in range(d.size):
                    d[j] *= factor


@compiled
def _square(vector):
    total = vector.dtype.type(0)
    for j in range(vector.size):
        total += vector[j] * vector[j]
    return np.float64(total)


@compiled
def _sample(order, size, rng):
    """Move a uniformly random subset of `size` to the front of `order`, whatever order it was in."""
    for i in range(size):
        j = rng.integers(i, order.size)
        order[i], order[j] = order[j], order[i]


@compiled
def _run(
    parameters, widths, features, labels, sizes, order, rate, limit, sigma, momentum, l2, scale, rng, outputs, errors, change
):  # fmt: skip
    velocity = np.zeros_like(change)
    kind = parameters.dtype.type
    unlimited = np.array([-np.inf, np.inf, -np.inf, np.inf])
    for rows in sizes:
        if rows == 0:
            change[:] = 0
        else:
            _sample(order, rows, rng)
            propagate(parameters, widths, features, labels, order[:rows], outputs, errors, change)
            clip_errors(widths, outputs, errors, rows, limit)
            summed(widths, outputs, errors, rows, change)
        for k in range(change.size):
            velocity[k] = kind(momentum) * velocity[k] + change[k]
        if sigma > 0:  # it is 0 only where the cost of clipping alone is measured
            for k in range(change.size):
                velocity[k] += kind(sigma * rng.standard_normal())
        descend(parameters, widths, velocity, rate * scale, rate * l2, unlimited)
