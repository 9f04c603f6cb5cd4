"""A multilayer perceptron and its training in compiled epochs (sei2017, section 2-2, equations 1 to 6 and 16 to 19).

Hidden layers are ReLU, the last layer is softmax, and the loss is cross-entropy; depth and widths may vary. `Network`
holds the parameters, and `train` returns a new network. The steps of an epoch are in `backpropagation`.

Parameters and changes are flat vectors: for each layer the weights (n_in, n_out), row by row, then the biases (n_out,).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..mechanisms.noise import generator
from ..numerics import checks
from .backpropagation import backward, descend, forward, propagate, summed
from .compiled import compiled

SCHEMES = ("he", "glorot")


@dataclass(frozen=True, eq=False)
class Network:
    """A network of `widths` (n_0, …, n_L), inputs first, L >= 1, with one flat, read-only vector of `parameters`.

    There are `size` parameters, float32 or float64, in the order that the module's docstring describes; `weights` and
    `biases` show them as L matrices (n_in, n_out) and L vectors (n_out,). Parameters that are not finite raise a
    ``ValueError``.

    >>> import numpy as np
    >>> from lib.networks import Network
    >>> network = Network.initial((2, 3, 2), rng=np.random.default_rng(0))
    >>> print(network.size, [w.shape for w in network.weights])
    17 [(2, 3), (3, 2)]
    """

    widths: tuple[int, ...]
    parameters: np.ndarray

    def __post_init__(self) -> None:
        given = checks.integer("widths", self.widths, "[1, inf)")
        if given.ndim != 1 or given.size < 2 or given[-1] < 2:
            raise ValueError(
                "widths must list the number of inputs, the size of each hidden layer (if any) and the number of classes "
                f"(at least 2), got {self.widths!r}"
            )
        widths = tuple(int(width) for width in given)
        dtype = np.asarray(self.parameters).dtype
        checks.one_of("dtype of parameters", dtype.name, ("float32", "float64"))
        checks.real("parameters", self.parameters, "(-inf, inf)")
        parameters = np.array(self.parameters)
        if parameters.shape != (count(widths),):
            wanted = f"({count(widths)},) for widths {widths}"
            raise ValueError(f"parameters must have shape {wanted}, got {parameters.shape}")
        parameters.flags.writeable = False
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "parameters", parameters)

    @classmethod
    def initial(
        cls, widths: Sequence[int], *, rng: np.random.Generator, scheme: str = "he", dtype: str = "float32"
    ) -> Network:
        """Return a network to start training from, with random weights and with biases of 0.

        scheme : "he", normal with variance 2/n_in (He et al. 2015), or "glorot", uniform between
            -+ sqrt(6 / (n_in + n_out)) (Glorot and Bengio 2010). The paper does not name a scheme.
        """
        checks.one_of("scheme", scheme, SCHEMES)
        checks.one_of("dtype", dtype, ("float32", "float64"))
        widths = [int(width) for width in np.ravel(checks.integer("widths", widths, "[1, inf)"))]
        weights = []
        for n, m in zip(widths, widths[1:]):
            if scheme == "he":
                weights.append(rng.normal(0, math.sqrt(2 / n), (n, m)))
            else:
                weights.append(rng.uniform(-1, 1, (n, m)) * math.sqrt(6 / (n + m)))
        return cls.of(weights, [np.zeros(m) for m in widths[1:]], dtype=dtype)

    @classmethod
    def of(cls, weights: Sequence[ArrayLike], biases: Sequence[ArrayLike], *, dtype: str = "float32") -> Network:
        """Return the network with L matching matrices `weights` (n_in, n_out) and L vectors `biases` (n_out,)."""
        matrices, vectors = [np.asarray(w) for w in weights], [np.asarray(b) for b in biases]
        shapes = [w.shape for w in matrices]
        chained = all(len(shape) == 2 for shape in shapes) and all(a[1] == b[0] for a, b in zip(shapes, shapes[1:]))
        if not shapes or not chained or [b.shape for b in vectors] != [shape[1:] for shape in shapes]:
            raise ValueError(
                f"weights and biases must have matching shapes, got {shapes} and {[b.shape for b in vectors]}"
            )
        parts = [part.ravel() for pair in zip(matrices, vectors) for part in pair]
        return cls((shapes[0][0], *(shape[1] for shape in shapes)), np.concatenate(parts).astype(dtype))

    @property
    def size(self) -> int:
        """Return the number of parameters."""
        return self.parameters.size

    @property
    def weights(self) -> list[np.ndarray]:
        """Return the weights, L matrices (n_in, n_out): read-only views of `parameters`."""
        return [w for w, _ in layers(self.widths, self.parameters)]

    @property
    def biases(self) -> list[np.ndarray]:
        """Return the biases, L vectors (n_out,): read-only views of `parameters`."""
        return [b for _, b in layers(self.widths, self.parameters)]

    def outputs(self, features: ArrayLike) -> list[np.ndarray]:
        """Return the outputs of every layer, from the input on: matrices (records, n_l) of the network's dtype."""
        outputs = [_checked_features(features, self)]
        for w, b in layers(self.widths, self.parameters):
            x = outputs[-1] @ w + b
            outputs.append(np.maximum(x, 0) if len(outputs) < len(self.widths) - 1 else x)
        exponentials = np.exp(outputs[-1] - outputs[-1].max(axis=1, keepdims=True))
        outputs[-1] = exponentials / exponentials.sum(axis=1, keepdims=True)
        return outputs

    def predict_proba(self, features: ArrayLike) -> np.ndarray:
        """Return the probabilities of the classes, (records, classes), for features (records, n_0) in [0, 1]."""
        return self.outputs(features)[-1]

    def predict(self, features: ArrayLike) -> NDArray[np.int64]:
        """Return the most likely class of each record, integers, shape (records,); a tie gives the first class."""
        return self.predict_proba(features).argmax(axis=1)


def count(widths: Sequence[int]) -> int:
    """Return the number of parameters of a network of `widths`."""
    return sum((n + 1) * m for n, m in zip(widths, widths[1:]))


def layers(widths: Sequence[int], vector: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each layer's views of the flat `vector` (parameters, changes or bounds): pairs (n_in, n_out), (n_out,)."""
    pairs, start = [], 0
    for n, m in zip(widths, widths[1:]):
        pairs.append((vector[start : start + n * m].reshape(n, m), vector[start + n * m : start + (n + 1) * m]))
        start += (n + 1) * m
    return pairs


def _checked_features(features: ArrayLike, network: Network) -> np.ndarray:
    """Return `features`, shape (records >= 1, n_0), all in [0, 1], in `network`'s dtype, or raise ``ValueError``."""
    features = checks.real("features", features, "[0, 1]")
    if features.ndim != 2 or features.shape[0] == 0 or features.shape[1] != network.widths[0]:
        raise ValueError(f"features must have shape (1 or more, {network.widths[0]}), got {features.shape}")
    return np.ascontiguousarray(features, dtype=network.parameters.dtype)


def checked_records(features: ArrayLike, labels: ArrayLike, network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Return `features` in `network`'s dtype and `labels` as int64, or raise ``ValueError``.

    features : shape (records >= 1, n_0), in [0, 1]; labels : (records,), integers from 0 to classes - 1
    """
    features = _checked_features(features, network)
    return features, checks.labels(labels, len(features), network.widths[-1])


def checked_range(name: str, value: tuple[float, float] | None) -> tuple[float, float]:
    """Return `value` as a pair (low, high) with -inf <= low < high <= inf; None means all numbers."""
    pair = checks.real(name, (-np.inf, np.inf) if value is None else value, "[-inf, inf]")
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise ValueError(f"{name} must be a pair (low, high) with low < high, got {value!r}")
    return float(pair[0]), float(pair[1])


def changes(network: Network, features: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return the change of every parameter (equation 4), summed over the records: a flat vector, shape (size,).

    This vector is the gradient of the summed cross-entropy. `layers` shows it as matrices and vectors.
    """
    features, labels = checked_records(features, labels, network)
    parameters, widths = network.parameters.copy(), np.array(network.widths)
    outputs, errors, change = workspace(network, len(labels))
    outputs[: features.size] = features.ravel()
    forward(parameters, widths, outputs, len(labels))
    backward(parameters, widths, outputs, labels, errors, change)
    summed(widths, outputs, errors, len(labels), change)
    return change


def train(features: ArrayLike, labels: ArrayLike, network: Network, *, learning_rate: float = 0.01, batch: int = 50,
          epochs: int = 500, l2: float = 0.001, weight_range: tuple[float, float] | None = None, bias_range: tuple[float, float] | None = None,
          shuffle: bool = True, rng: np.random.Generator) -> Network:  # fmt: skip
    """Return `network` after SGD on mini-batches (equations 5 and 6); the defaults are the settings of section 5-1.

    features : shape (records, n_0), in [0, 1]; labels : (records,), integers from 0 to classes - 1
    network : the initial network, which is not modified
    learning_rate : alpha in (0, inf); batch : B, integer >= 1, at most the number of records; epochs : integer >= 1
    l2 : lambda in [0, inf), on weights only: w - alpha (change + lambda w) / B, as in the paper and in scikit-learn
    weight_range, bias_range : pairs (low, high). The initial parameters and the result of every step are projected to
        these ranges
    shuffle : if False, each epoch takes the records in the given order; rng : numpy Generator, which shuffles the
        records

    An epoch's last batch holds the remaining records, and its change is divided by its own size.
    Raises ``ValueError`` for bad input, and ``FloatingPointError`` if parameters are no longer finite.
    """
    features, labels = checked_records(features, labels, network)
    batch, epochs = checked_plan(len(labels), learning_rate, batch, epochs, l2, rng)
    ranges = np.array(checked_range("weight_range", weight_range) + checked_range("bias_range", bias_range))
    widths, parameters = np.array(network.widths), projected(network, weight_range, bias_range).parameters.copy()
    plan, work = (float(learning_rate), float(l2)), workspace(network, batch)
    for epoch in range(epochs):
        order = rng.permutation(len(labels)) if shuffle else np.arange(len(labels))
        _epoch(parameters, widths, features, labels, order, batch, plan, ranges, *work)
        refuse_divergence(parameters, epoch, learning_rate)
    return Network(network.widths, parameters)


def checked_plan(
    records: int, learning_rate: float, batch: int, epochs: int, l2: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Return `batch` and `epochs` as int, after checking all arguments."""
    checks.real("learning_rate", learning_rate, "(0, inf)")
    checks.real("l2", l2, "[0, inf)")
    generator(rng)
    return checks.whole("batch", batch, f"[1, {records}]"), checks.whole("epochs", epochs, "[1, inf)")


def projected(
    network: Network, weight_range: tuple[float, float] | None, bias_range: tuple[float, float] | None
) -> Network:
    """Return `network` with its weights and biases cut to the ranges (low, high); None leaves them unchanged."""
    parameters = network.parameters.copy()
    for w, b in layers(network.widths, parameters):
        np.clip(w, *checked_range("weight_range", weight_range), out=w)
        np.clip(b, *checked_range("bias_range", bias_range), out=b)
    return Network(network.widths, parameters)


def refuse_divergence(parameters: np.ndarray, epoch: int, learning_rate: float) -> None:
    """Raise ``FloatingPointError`` if parameters are not finite after `epoch`, counted from 0."""
    if not np.isfinite(parameters).all():
        raise FloatingPointError(f"training diverged in epoch {epoch + 1}: parameters are no longer finite; "
                                 f"lower learning_rate, now {learning_rate:g}")  # fmt: skip


def workspace(network: Network, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return buffers for outputs and errors of `rows` records, and for one change of all parameters."""
    size, dtype = rows * sum(network.widths), network.parameters.dtype
    return np.zeros(size, dtype), np.zeros(size, dtype), np.zeros(network.size, dtype)


@compiled
def _epoch(parameters, widths, features, labels, order, batch, plan, ranges, outputs, errors, change):
    rate, l2 = plan
    for start in range(0, order.size, batch):
        rows = propagate(parameters, widths, features, labels, order[start : start + batch], outputs, errors, change)
        summed(widths, outputs, errors, rows, change)
        descend(parameters, widths, change, rate / rows, rate * l2 / rows, ranges)
