"""DP-SGD: a network trained so that the whole of it is (epsilon, delta)-DP at record level (Abadi et al. 2016).

A step takes each record with probability q (Poisson sampling), clips each record's change of all parameters together to the
L2 norm C, adds the clipped changes and normal noise of standard deviation sigma C, and goes down the result. One record
moves the sum by C at most, and only with probability q; what the steps publish, and the network at the end with it,
is a composition of sampled Gaussian mechanisms with noise multiplier sigma.

Neighbours are "unbounded", a record is added or removed, or "bounded", one is replaced; both have a cost here. q, C, sigma, the
number of steps and the batch size that the sum is divided by must be public, and chosen without a look at the records.

**Accounting.** Let N be normal with the standard deviation sigma, in units of C. With and without a record, and along the worst
change, the sum has the laws

    P = (1 - q) N(0) + q N(1)    and    N(0),

which dominate all others (Zhu, Dong, Wang 2022): (P, N(0)) where a record is removed, (N(0), P) where one is added. Where one is
replaced, P and

    P' = (1 - q) N(0) + q N(-1)

do: *let c and c' be the clipped changes of the two records, |c|, |c'| <= 1. For every event A and t >= 1, P(A) - t P'(A) is largest
for c' = -c, |c| = 1.* It is q N(c)(A) - t q N(c')(A) - (t - 1)(1 - q) N(0)(A). Among the events with N(c)(A) = a, by Neyman and
Pearson, N(c')(A) is at least Phi(Phi^-1(a) - |c - c'| / sigma) and N(0)(A) at least Phi(Phi^-1(a) - |c| / sigma), which decrease with
the distances 2 and 1 at most; a half-space across c reaches both where c' = -c. For t < 1 exchange the two, which are each
other's mirror image. ∎ What the other records send is the same for both, and mixing over it raises no such difference.
`accounting.prv_compose` composes each pair, and the worst counts.

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
from ..numerics.checks import number, one_of, whole
from .compiled import compiled
from .network import Network, block, checked_records, descend, propagate, summed, workspace
from .private_networks import PrivateNetwork

NEIGHBOURS = {"unbounded": ("remove", "add"), "bounded": ("replace",)}
# What the record in question sends, under either of two laws that are compared.
_MEANS = {"remove": (1, 0), "add": (0, -1), "replace": (1, -1)}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


# ---- accounting


@dataclass(frozen=True)
class SampledGaussian(accounting.PrivacyLossVariable):
    """Privacy loss of one step, for `accounting.prv_compose`, under the first of the two laws that `direction` compares.

    Each law is (1 - q) N(0) + q N(m), with its m in `_MEANS` ("add" is turned round, so that the loss increases).
    sigma : noise multiplier in [0.1, 1e6]; q : in (0, 1); direction : "remove", "add" or "replace"
    """

    sigma: float = 1.0
    q: float = 0.5
    direction: str = "remove"

    def _over_noise(self, x, mean):
        """log of the density of (1 - q) N(0) + q N(mean) over that of N(0)."""
        if mean == 0:
            return np.zeros(np.shape(x))
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + (2 * mean * x - 1) / (2 * self.sigma**2))

    def loss(self, x):
        """The log of the first law's density over the second's at x, increasing."""
        first, second = _MEANS[self.direction]
        return self._over_noise(x, first) - self._over_noise(x, second)

    def place(self, t):
        """The x at which the loss is t; -inf where t is below all of it, inf above."""
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

    def cdf(self, t):
        """Probability that the loss is at most t."""
        x = self.place(t)
        return (1 - self.q) * ndtr(x / self.sigma) + self.q * ndtr((x - _MEANS[self.direction][0]) / self.sigma)

    def rdp(self, alpha):
        """D_alpha of the pair, by the trapezoidal rule, which for such functions errs by less than rounding."""
        return _rdp(self, alpha)

    def truncated_mean(self, low, high):
        """Mean of the loss given that it lies between low and high: Gauss-Legendre panels of half a sigma or less."""
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
    x = np.arange(-1 - 40 * sigma, (first - second) * max(alpha, 1) + 40 * sigma, step)
    logs = alpha * variable.loss(x) + variable._over_noise(x, second) - x**2 / (2 * sigma**2)
    high = logs.max()
    log_integral = high + math.log(np.exp(logs - high).sum() * step / (sigma * math.sqrt(2 * math.pi)))
    return max(float(log_integral), 0.0) / (alpha - 1)


@lru_cache(maxsize=1024)
def epsilon(noise_multiplier, sampling, steps, delta, neighbours="unbounded") -> float:
    """Epsilon at `delta` of `steps` steps: an upper bound, above the truth by 5 % or 0.0002 at most.

    noise_multiplier : sigma in [0.1, 1e6]; sampling : q in [1e-6, 1]; steps : whole number >= 1; delta : [1e-12, 1)
    neighbours : "unbounded", a record is added or removed, or "bounded", one is replaced

    >>> from lib.networks.dp_sgd import epsilon
    >>> print(round(epsilon(1.0, sampling=0.01, steps=1000, delta=1e-6), 1))
    2.1
    """
    sigma, q = number("noise_multiplier", noise_multiplier, "[0.1, 1e6]"), number("sampling", sampling, "[1e-6, 1]")
    steps = whole("steps", steps, "[1, inf)")
    one_of("neighbours", neighbours, tuple(NEIGHBOURS))
    moved = 1 if neighbours == "unbounded" else 2
    if q == 1:
        return accounting.gaussian_epsilon(sigma, number("delta", delta, "[1e-12, 1)"), moved * math.sqrt(steps))
    variables = [SampledGaussian(moved / sigma, sigma, q, direction) for direction in NEIGHBOURS[neighbours]]
    error = 0.01
    while True:
        found = max(accounting.prv_compose([(variable, steps)], delta, eps_error=error).upper for variable in variables)
        if error <= max(found / 40, 1e-4):
            return found
        error = max(found / 50, 1e-4)


@lru_cache(maxsize=256)
def noise_multiplier(epsilon_wanted, delta, sampling, steps, neighbours="unbounded") -> float:
    """The least sigma, to within 0.3 %, for which `epsilon` gives at most `epsilon_wanted` in [0.001, inf); at least 0.1.

    delta : [1e-12, 1); sampling : q in [1e-6, 1]; steps : whole number >= 1; neighbours : as for `epsilon`

    >>> from lib.networks.dp_sgd import noise_multiplier
    >>> print(round(noise_multiplier(1.0, 1e-6, sampling=0.01, steps=1000), 2))
    1.58
    """
    wanted = number("epsilon", epsilon_wanted, "[0.001, inf)")
    one_of("neighbours", neighbours, tuple(NEIGHBOURS))

    @cache
    def surplus(log_sigma):  # in log sigma nearly a straight line
        return math.log(max(epsilon(math.exp(log_sigma), sampling, steps, delta, neighbours), 1e-300) / wanted)

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
    def calibrated(cls, epsilon, delta, *, sampling, steps, neighbours="unbounded") -> Plan:
        """The plan that is (`epsilon`, `delta`)-DP with hardly more noise than it takes: `noise_multiplier`."""
        return cls(sampling, steps, noise_multiplier(epsilon, delta, sampling, steps, neighbours), delta)

    @cached_property
    def epsilon(self) -> float:
        """At `delta`, for records added or removed."""
        return epsilon(self.noise_multiplier, self.sampling, self.steps, self.delta)

    @cached_property
    def replaced(self) -> float:
        """Epsilon at the same `delta`, for a record that is replaced by another."""
        return epsilon(self.noise_multiplier, self.sampling, self.steps, self.delta, "bounded")

    @property
    def lines(self) -> dict[str, str]:
        """What each guarantee is of, and its size, as text."""
        return {
            f"the whole model, one record {what}, delta = {self.delta:.3g}": f"epsilon = {size:.4g}"
            for what, size in (("added or removed", self.epsilon), ("replaced", self.replaced))
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

    >>> import numpy as np
    >>> from lib.networks import Network
    >>> from lib.networks.dp_sgd import Plan, train
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(0, 1, (200, 2))
    >>> labels = (features[:, 0] > 0.5).astype(int)
    >>> plan = Plan(sampling=0.1, steps=20, noise_multiplier=2.0, delta=1e-5)
    >>> found = train(features, labels, Network.initial((2, 3, 2), rng=rng), plan, rng=rng)
    >>> print(round(found.statement.epsilon, 1))
    1.1
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
