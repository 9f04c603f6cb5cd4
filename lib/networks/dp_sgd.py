"""DP-SGD: training that makes the whole network (epsilon, delta)-DP at record level (Abadi et al. 2016).

A step takes each record with probability q (Poisson sampling) and clips its change of all parameters to the L2 norm C.
It sums the clipped changes, adds normal noise of standard deviation sigma C, and descends. Adding or removing a record
moves the sum by at most C, and only with probability q. So training is a composition of sampled Gaussian mechanisms
with noise multiplier sigma.

Neighbours are "unbounded" (a record is added or removed) or "bounded" (a record is replaced). q, C, sigma, the number
of steps and the batch size that divides the sum must be public. `accounting.sampled_gaussian` computes the cost.

No gradient of a single record is ever formed. A record changes the weights of layer l by the outer product y d^T, where
y is the output of the layer below and d the error signal, and it changes the biases by d. Both changes together have
the squared norm (|y|^2 + 1) |d|^2, so shortening d clips them.

The guarantee holds for real numbers (see `floating_point`). In float32, norms are clipped with a relative error of 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..accounting.sampled_gaussian import epsilon, noise_multiplier
from ..mechanisms.noise import generator
from ..numerics.checks import number, whole
from .backpropagation import descend, propagate, summed
from .compiled import compiled
from .network import Network, checked_records, workspace
from .private_networks import PrivateNetwork
from .views import block


@dataclass(frozen=True)
class Plan:
    """The settings of a DP-SGD run, and the guarantee that follows from them for the whole network, at record level.

    sampling : q in [1e-6, 1]; steps : integer >= 1; noise_multiplier : sigma in [0.1, 1e6]; delta : [1e-12, 1)
    """

    sampling: float
    steps: int
    noise_multiplier: float
    delta: float

    def __post_init__(self) -> None:
        number("sampling", self.sampling, "[1e-6, 1]")
        whole("steps", self.steps, "[1, inf)")
        number("noise_multiplier", self.noise_multiplier, "[0.1, 1e6]")
        number("delta", self.delta, "[1e-12, 1)")

    @classmethod
    def calibrated(
        cls, epsilon: float, delta: float, *, sampling: float, steps: int, neighbours: str = "unbounded"
    ) -> Plan:
        """Return the (`epsilon`, `delta`)-DP plan with almost the smallest possible noise (see `noise_multiplier`)."""
        return cls(sampling, steps, noise_multiplier(epsilon, delta, sampling, steps, neighbours), delta)

    @cached_property
    def epsilon(self) -> float:
        """Return the epsilon at `delta`, for a record that is added or removed."""
        return epsilon(self.noise_multiplier, self.sampling, self.steps, self.delta)

    @cached_property
    def replaced(self) -> float:
        """Return the epsilon at the same `delta`, for a record that is replaced."""
        return epsilon(self.noise_multiplier, self.sampling, self.steps, self.delta, "bounded")


def train(features: ArrayLike, labels: ArrayLike, network: Network, plan: Plan, *, learning_rate: float = 0.5,
          clip: float = 1.0, momentum: float = 0.0, l2: float = 0.0, records: float | None = None,
          rng: np.random.Generator) -> PrivateNetwork:  # fmt: skip
    """Return `network` after DP-SGD; its `statement` is the plan.

    features : (records, n_0) in [0, 1]; labels : (records,), integers from 0 to classes - 1
    plan : a `Plan`
    learning_rate : (0, inf); clip : C in (0, inf); momentum : [0, 1); l2 : lambda in [0, inf), for weights only
    records : a public number >= 1. Each step divides its noisy sum by `sampling` times `records`. By default this is
        the actual number of records, which is then public
    rng : numpy Generator, which selects the records and draws the noise

    Because of the penalty `l2`, each step subtracts learning_rate lambda w from a weight w. The values of
    learning_rate, clip, momentum and l2 cost privacy only if they are chosen by looking at the records.

    Raises ``ValueError`` for bad input, and ``FloatingPointError`` if training diverges.
    """
    features, labels = checked_records(features, labels, network)
    rate, clip = number("learning_rate", learning_rate, "(0, inf)"), number("clip", clip, "(0, inf)")
    momentum, l2 = number("momentum", momentum, "[0, 1)"), number("l2", l2, "[0, inf)")
    records = number("records", len(labels) if records is None else records, "[1, inf)")
    if not isinstance(plan, Plan):
        raise ValueError(f"plan must be a Plan, got {plan!r}")
    sizes = generator(rng).binomial(len(labels), plan.sampling, size=plan.steps)
    widths, parameters = np.array(network.widths), network.parameters.copy()
    work = workspace(network, max(int(sizes.max()), 1))
    settings = rate, clip, plan.noise_multiplier * clip, momentum, l2, 1 / (plan.sampling * records)
    _run(parameters, widths, features, labels, sizes, np.arange(len(labels)), *settings, rng, *work)
    if not np.isfinite(parameters).all():
        now = f"lower learning_rate, now {rate:g}"
        raise FloatingPointError(f"training diverged: parameters are no longer finite; {now}")
    return PrivateNetwork(Network(network.widths, parameters), plan)


_LEAST = 2.0**-126  # the smallest number that float32 holds with all digits


@compiled
def clip_errors(widths: NDArray[np.int64], outputs: np.ndarray, errors: np.ndarray, rows: int, limit: float) -> None:
    """Shorten the error signals of each record so that its change of all parameters has an L2 norm of at most `limit`.

    Signals below 2^-126 become 0, both before and after clipping. If a record's norm is not finite, or more than 2^126
    times the limit, all signals and outputs of the record become 0, so that the record changes nothing.
    """
    last = widths.size - 1
    squares = np.zeros(rows)
    for layer in range(1, last + 1):
        y, delta = block(outputs, widths, layer - 1, rows), block(errors, widths, layer, rows)
        for r in range(rows):
            _scale(delta[r], 1.0)
            squares[r] += (1.0 + _square(y[r])) * _square(delta[r])
    for r in range(rows):
        norm = math.sqrt(squares[r])
        squares[r] = 1.0 if norm <= limit else limit / norm
    for layer in range(1, last + 1):
        y, delta = block(outputs, widths, layer - 1, rows), block(errors, widths, layer, rows)
        for r in range(rows):
            if not squares[r] >= _LEAST:
                _scale(y[r], 0.0)
                _scale(delta[r], 0.0)
            elif squares[r] != 1.0:
                _scale(delta[r], squares[r])


@compiled
def _scale(vector, factor):
    """Multiply `vector` by `factor`; NaN and numbers below 2^-126 in magnitude become 0."""
    factor = vector.dtype.type(factor)
    for j in range(vector.size):
        value = vector[j] * factor
        vector[j] = value if abs(value) >= _LEAST else vector.dtype.type(0)


@compiled
def _square(vector):
    total = 0.0  # in double precision, whatever the dtype of the network
    for j in range(vector.size):
        total += np.float64(vector[j]) * np.float64(vector[j])
    return total


@compiled
def _sample(order, size, rng):
    """Move a uniformly random subset of `size` entries to the front of `order`, whatever the previous order."""
    for i in range(size):
        j = rng.integers(i, order.size)
        order[i], order[j] = order[j], order[i]


@compiled
def _run(parameters, widths, features, labels, sizes, order, rate, limit, sigma, momentum, l2, scale, rng, outputs,
         errors, change):  # fmt: skip
    """Train `parameters` in place; each of `sizes` is the number of records in a step."""
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
        if sigma > 0:  # sigma is 0 only if the cost of clipping alone is measured
            for k in range(change.size):
                velocity[k] += kind(sigma * rng.standard_normal())
        descend(parameters, widths, velocity, rate * scale, rate * l2, unlimited)
