"""Networks published with privacy for each parameter separately (sei2017, section 4-2).

- `learning_first`: train within bounds, then perturb every parameter once with `release` (Theorem 3)
- `anonymized_learning`: perturb every parameter's change at every step (Theorem 4)

Each function returns a `PrivateNetwork`: the network and its `PrivacyStatement`, which says what the same noise means
for the whole model. A per-parameter epsilon is a weak guarantee, because a model is published with all its parameters.

Noise is drawn in floating point, but the guarantees hold for real numbers (`floating_point` shows the difference).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import accounting
from ..mechanisms import noise
from ..mechanisms.additive_noise import Laplace
from ..numerics import checks
from ..numerics.checks import number, whole
from ..numerics.elementwise import total_up
from .backpropagation import descend, propagate, summed
from .compiled import compiled
from .intervals import fill_change_bounds
from .network import (
    Network,
    checked_plan,
    checked_range,
    checked_records,
    layers,
    projected,
    refuse_divergence,
    train,
    workspace,
)
from .views import biases_of, block, weights_into

CLIPPING = ("sum", "records")


@dataclass(frozen=True)
class PrivacyStatement:
    """The guarantee that the noise in a network gives if one record is replaced (bounded neighbours).

    method : "LearningFirst" or "AnonymizedLearning"
    epsilon : in (0, inf), what the paper states for each parameter separately
    parameters, epochs, batches : the numbers of parameters, of epochs and of batches in an epoch; for LearningFirst,
        `epochs` and `batches` are 1
    noise_covers_range : whether each change lies in a range that is no wider than the range for which its noise is
        scaled, whatever the other parameters are. It is False if the thresholds depend on the other parameters, or if
        the change of each record is clipped separately

    AnonymizedLearning divides epsilon among the E epochs: each step adds noise to every change, with the scale
    E/epsilon times the range. A record takes part in one step of each epoch. It also influences later steps, since
    these read all parameters. The guarantees are:

    - Given everything that was released before, all P parameters together depend on a record only through the steps in
      which the record takes part. Each of these steps costs P epsilon / E, so the whole model costs P epsilon.
    - Consider one parameter separately. If the noise covers the range, each of the E K steps (K in each epoch) costs at
      most epsilon / E given the past values of this parameter, whatever the other parameters were. All steps together
      cost at most min(K, P) epsilon.
    """

    method: str
    epsilon: float
    parameters: int
    epochs: int = 1
    batches: int = 1
    noise_covers_range: bool = True

    def __post_init__(self) -> None:
        checks.one_of("method", self.method, ("LearningFirst", "AnonymizedLearning"))
        number("epsilon", self.epsilon, "(0, inf)")
        for name in ("parameters", "epochs", "batches"):
            whole(name, getattr(self, name), "[1, inf)")

    @property
    def one_parameter(self) -> float:
        """Return one parameter's epsilon: P times `epsilon` or, if `noise_covers_range`, min(K, P) times `epsilon`."""
        times = min(self.batches, self.parameters) if self.noise_covers_range else self.parameters
        return total_up([self.epsilon], [times])

    @property
    def whole_model(self) -> float:
        """Return the epsilon of pure DP for the model as published: epsilon times the number of parameters."""
        return total_up([self.epsilon], [self.parameters])

    @property
    def rho(self) -> float:
        """Return the zCDP parameter rho of the model as published: the sum of rho over all its Laplace mechanisms."""
        return total_up([Laplace(self.epochs, self.epsilon).rho], [self.parameters * self.epochs])

    def epsilon_at(self, delta: float = 1e-5) -> float:
        """Return the epsilon of the published model at `delta` in (0, 1), by pure DP or zCDP, whichever is smaller."""
        delta, rho = number("delta", delta, "(0, 1)"), self.rho
        return self.whole_model if rho == np.inf else min(self.whole_model, float(accounting.zcdp_to_dp(rho, delta)))

    def __str__(self) -> str:
        return (
            f"{self.method}, one record replaced\n"
            f"  each parameter by itself, as stated: epsilon = {self.epsilon:.4g}\n"
            f"  each parameter by itself, as proved: epsilon = {self.one_parameter:.4g}\n"
            f"  the whole model, {self.parameters:,} parameters: epsilon = {self.whole_model:.4g}\n"
            f"  the whole model, zCDP: rho = {self.rho:.4g}\n"
            f"  the whole model, delta = 1e-5: epsilon = {self.epsilon_at():.4g}"
        )


@dataclass(frozen=True, eq=False)
class PrivateNetwork:
    """A `network` to publish and the `statement` of its privacy: a `PrivacyStatement`, or the plan of `dp_sgd`."""

    network: Network
    statement: Any

    def predict(self, features: ArrayLike) -> NDArray[np.int64]:
        """Return the most likely class of each record, integers (records,), for features (records, n_0) in [0, 1]."""
        return self.network.predict(features)

    def predict_proba(self, features: ArrayLike) -> np.ndarray:
        """Return the probabilities of the classes, (records, classes), for features (records, n_0) in [0, 1]."""
        return self.network.predict_proba(features)


def learning_first(features: ArrayLike, labels: ArrayLike, network: Network, *, epsilon: float,
                   weight_range: tuple[float, float], bias_range: tuple[float, float], rng: np.random.Generator,
                   **training: Any) -> PrivateNetwork:  # fmt: skip
    """Return a network that `train` fits within the ranges and `release` perturbs (section 4-2 (2), Theorem 3).

    The paper does not say when to apply thresholds; here every step ends within the ranges (projected descent).

    training : further arguments of `train`; other arguments and exceptions are as for `train` and `release`

    >>> import numpy as np
    >>> from lib.networks import Network, learning_first
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(0, 1, (200, 2))
    >>> labels = (features[:, 0] > 0.5).astype(int)
    >>> found = learning_first(
    ...     features, labels, Network.initial((2, 3, 2), rng=rng), epsilon=1.0, weight_range=(-1.0, 1.0), bias_range=(-1.0, 1.0), rng=rng, epochs=2
    ... )
    >>> print(found.statement.epsilon)
    1.0
    """
    _finite_ranges(weight_range, bias_range)
    number("epsilon", epsilon, "(0, inf)")
    trained = train(features, labels, network, weight_range=weight_range, bias_range=bias_range, rng=rng, **training)
    return release(trained, epsilon=epsilon, weight_range=weight_range, bias_range=bias_range, rng=rng)


def release(network: Network, *, epsilon: float, weight_range: tuple[float, float], bias_range: tuple[float, float],
            rng: np.random.Generator) -> PrivateNetwork:  # fmt: skip
    """Return a trained network after clipping every parameter, adding Lap((high - low) / epsilon), and clipping again.

    Source: sei2017, Theorem 3.

    epsilon : (0, inf); weight_range, bias_range : finite pairs (low, high), low < high, chosen without the data
    rng : numpy Generator

    The noise covers the whole range, so the statement holds for any two databases. The costs of several releases add
    up.

    >>> import numpy as np
    >>> from lib.networks import Network, release
    >>> rng = np.random.default_rng(0)
    >>> network = Network.initial((2, 3, 2), rng=rng)
    >>> found = release(network, epsilon=1.0, weight_range=(-1.0, 1.0), bias_range=(-1.0, 1.0), rng=rng)
    >>> print(found.statement.epsilon)
    1.0
    """
    epsilon, (weights, biases) = number("epsilon", epsilon, "(0, inf)"), _finite_ranges(weight_range, bias_range)
    clipped = projected(network, weights, biases).parameters.astype(float)
    for pair in layers(network.widths, clipped):
        for part, (low, high) in zip(pair, (weights, biases)):
            part[...] = np.clip(part + noise.laplace(part.shape, (high - low) / epsilon, rng=rng), low, high)
    released = Network(network.widths, clipped.astype(network.parameters.dtype))
    return PrivateNetwork(released, PrivacyStatement("LearningFirst", epsilon, network.size))


def _finite_ranges(weights, biases, kind="range"):
    """Return the two pairs after checking that both are finite with low < high."""
    for name, pair in ((f"weight_{kind}", weights), (f"bias_{kind}", biases)):
        if pair is None:
            raise ValueError(f"{name} must be a pair (low, high) with low < high, got None")
        checks.real(name, pair, "(-inf, inf)")
    return checked_range(f"weight_{kind}", weights), checked_range(f"bias_{kind}", biases)


def anonymized_learning(features: ArrayLike, labels: ArrayLike, network: Network, *, epsilon: float,
                        weight_thresholds: tuple[float, float] | None = None,
                        bias_thresholds: tuple[float, float] | None = None, clipping: str = "sum",
                        learning_rate: float = 0.01, batch: int = 50, epochs: int = 500, l2: float = 0.001,
                        shuffle: bool = True, rng: np.random.Generator) -> PrivateNetwork:  # fmt: skip
    """Return `network` trained with Laplace noise of scale (high - low) epochs / epsilon on every change (Theorem 4).

    network : the initial network, chosen without the data
    epsilon : (0, inf), for each parameter as the paper states it. `PrivacyStatement` gives the actual guarantee
    weight_thresholds, bias_thresholds : (low, high) for the changes of weights and biases, finite, low < high, chosen
        without the data. If neither is given, each parameter has its own pair, the "corrected" bounds (`intervals`) at
        the current parameters
    clipping : "sum" or "records"
    shuffle : if False, the records are taken in the given order, so that the batches are the same in each epoch

    With clipping "sum", as in the paper, the summed change of a batch is clipped to [low, high] before and after the
    noise is added. With "records", the change of each record is clipped, and the noisy sum is clipped to the size of
    the batch times [low, high]. The same noise is then added to a signal up to `batch` times as large. But each single
    parameter then has only the guarantee of the whole model.

    The paper prints the noise on w instead of on its change, and min instead of max (its proof is correct). It prints
    no clipping before the noise, but without such clipping high - low does not bound the sensitivity. The noise is
    float32, with a resolution of 2^-23 and magnitudes of at most 28.4 times its scale. It comes from SplitMix64, seeded
    by `rng`. Other arguments and errors are as for `train`.

    >>> import numpy as np
    >>> from lib.networks import Network, anonymized_learning
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(0, 1, (200, 2))
    >>> labels = (features[:, 0] > 0.5).astype(int)
    >>> found = anonymized_learning(features, labels, Network.initial((2, 3, 2), rng=rng), epsilon=1.0, epochs=2, rng=rng)
    >>> print(found.statement.epsilon)
    1.0
    """
    epsilon = number("epsilon", epsilon, "(0, inf)")
    checks.one_of("clipping", clipping, CLIPPING)
    features, labels = checked_records(features, labels, network)
    batch, epochs = checked_plan(len(labels), learning_rate, batch, epochs, l2, rng)
    fixed = weight_thresholds is not None or bias_thresholds is not None
    low, high = _thresholds(network, weight_thresholds, bias_thresholds) if fixed else np.zeros((2, network.size))
    widths, parameters = np.array(network.widths), network.parameters.copy()
    low, high = low.astype(parameters.dtype), high.astype(parameters.dtype)
    state = rng.integers(2**64, size=1, dtype=np.uint64)
    room = *workspace(network, batch), np.empty(network.size, np.float32)
    plan = (float(learning_rate), float(l2), epochs / epsilon, fixed, clipping == "records")
    for epoch in range(epochs):
        order = rng.permutation(len(labels)) if shuffle else np.arange(len(labels))
        _epoch(parameters, widths, features, labels, order, batch, plan, low, high, state, *room)
        refuse_divergence(parameters, epoch, learning_rate)
    batches, covered = -(-len(labels) // batch), fixed and clipping == "sum"
    statement = PrivacyStatement("AnonymizedLearning", epsilon, network.size, epochs, batches, covered)
    return PrivateNetwork(Network(network.widths, parameters), statement)


def _thresholds(network, weights, biases):
    """Return two flat vectors, the low and the high thresholds of all parameters, from two pairs."""
    bounds = np.empty((2, network.size))
    for vector, *ends in zip(bounds, *_finite_ranges(weights, biases, "thresholds")):
        for pair in layers(network.widths, vector):
            for part, end in zip(pair, ends):
                part[...] = end
    return bounds


@compiled
def _epoch(parameters, widths, features, labels, order, batch, plan, low, high, state, outputs, errors, change, draws):
    rate, l2, factor, fixed, by_record = plan
    unbounded = np.array([-np.inf, np.inf, -np.inf, np.inf])
    for start in range(0, order.size, batch):
        rows = propagate(parameters, widths, features, labels, order[start : start + batch], outputs, errors, change)
        if not fixed:
            fill_change_bounds(parameters, widths, low, high)
        if fixed and by_record:
            _clipped_sum(widths, outputs, errors, rows, low, high, change)
        else:
            summed(widths, outputs, errors, rows, change)
        fill_laplace(draws, state)
        _disturb(change, low, high, rows if by_record else 1, factor, draws)
        descend(parameters, widths, change, rate / rows, rate * l2 / rows, unbounded)


@compiled
def _clipped_sum(widths, outputs, errors, rows, low, high, change):
    """Write into `change` the sum of the records' changes, each clipped to [low, high] in every parameter."""
    change[:] = 0
    ones = np.ones(rows, change.dtype)
    for layer in range(1, widths.size):
        y, delta = block(outputs, widths, layer - 1, rows), block(errors, widths, layer, rows)
        sums, least = weights_into(change, widths, layer), weights_into(low, widths, layer)
        most = weights_into(high, widths, layer)
        for i in range(widths[layer - 1]):
            _add_clipped(sums[i], y[:, i], delta, least[i], most[i])
        bias = biases_of(change, widths, layer)
        _add_clipped(bias, ones, delta, biases_of(low, widths, layer), biases_of(high, widths, layer))


@compiled
def _add_clipped(total, factors, signals, low, high):
    for r in range(factors.size):
        for j in range(total.size):
            value = factors[r] * signals[r, j]
            total[j] += low[j] if value < low[j] else (value if value < high[j] else high[j])  # NaN too


@compiled
def _disturb(change, low, high, reach, factor, draws):
    """Clip to reach times [low, high], add Laplace noise of scale (high - low) * factor, and clip again."""
    kind = change.dtype.type
    reach, factor = kind(reach), kind(factor)
    for k in range(change.size):
        least, most = reach * low[k], reach * high[k]
        value = change[k]
        value = least if value < least else (value if value < most else most)  # NaN too
        value += (high[k] - low[k]) * factor * draws[k]
        change[k] = least if value < least else (most if value > most else value)


_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE, _WORD, _FRACTION, _MANTISSA = np.uint64(1), np.uint64(2**22 - 1), np.uint64(22), np.uint64(52)
_BY = (np.uint64(30), np.uint64(27), np.uint64(31))
_LOG_2, _TWO, _UNIT, _HALF, _STRIDE = (np.float32(x) for x in (np.log(2), 2, 1, 0.5, 2.0**-22))
_SERIES = tuple(np.float32(1 / k) for k in (3, 5, 7, 9, 11))


@compiled
def _leading_zeros(z):
    """Return the number of leading zeros, 0 to 41, of the upper 41 bits of the uint64 `z`, from a float's exponent."""
    exponent = np.float64(np.int64((z >> _FRACTION) | _ONE)).view(np.uint64) >> _MANTISSA
    return np.int32(1023 + 41) - np.int32(exponent)


@compiled
def fill_laplace(draws: NDArray[np.float32], state: NDArray[np.uint64]) -> None:
    """Write standard Laplace variates into the float32 vector `draws` and advance `state`, one uint64.

    Each variate uses a word of SplitMix64 (Steele, Lea, Flood 2014): one bit gives the sign, 22 bits give a fraction f,
    and the number g is the number of leading zeros of the other 41 bits. U = 2^-(g+1) (1 + f) is uniform; the magnitude
    is -log U = (g+1) log 2 - log(1+f). Magnitudes lie between 1e-7 and 28.4. The logarithm log(1+f) is computed by the
    series of 2 artanh(f / (2 + f)), with an error of at most 2e-7.
    """
    start = state[0]
    for k in range(draws.size):
        z = start + np.uint64(k) * _STEP
        z = (z ^ (z >> _BY[0])) * _FIRST
        z = (z ^ (z >> _BY[1])) * _SECOND
        z = z ^ (z >> _BY[2])
        zeros = _leading_zeros(z)
        fraction = (np.float32(np.int32((z >> _ONE) & _WORD)) + _HALF) * _STRIDE
        s = fraction / (_TWO + fraction)
        q = s * s
        tail = _SERIES[0] + q * (_SERIES[1] + q * (_SERIES[2] + q * (_SERIES[3] + q * _SERIES[4])))
        magnitude = np.float32(np.int32(zeros) + np.int32(1)) * _LOG_2 - _TWO * s * (_UNIT + q * tail)
        draws[k] = magnitude if z & _ONE else -magnitude
    state[0] = start + np.uint64(draws.size) * _STEP
