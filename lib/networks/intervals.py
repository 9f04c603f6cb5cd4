"""Bounds on all quantities inside a network whose inputs lie in [0, 1] (sei2017, section 4-2 (3), equations 20 to 26).

The intervals are computed from the parameters alone. For every record, they contain the inputs x, outputs y, error
signals delta and changes of every layer. The paper derives the thresholds of AnonymizedLearning from them.
`change_bounds` has three variants:

- "printed": equations (20) to (26) as they are printed. If the largest input of a node is negative, equation (21) gives
  a negative "largest output". The intervals of later layers can then be empty or miss the true values.
- "corrected": equation (21) with max(max(x), 0). These intervals are correct for every network and record.
- "tight": equation (20) also uses the smallest output where the paper takes 0, the error signals of the last layer come
  from the range of the softmax instead of -1 and 1, and signals pass only through nodes that some record can switch on.

The bounds hold for the changes caused by one record. For the sum over a batch of B records, multiply the bounds by B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks
from .compiled import compiled
from .network import Network, layers
from .views import biases_of, weights_into

VARIANTS = ("printed", "corrected", "tight")


@dataclass(frozen=True, eq=False)
class Intervals:
    """Lists of pairs (low, high) of arrays, one pair for each layer from 1 to L (for `outputs`, from 0 to L).

    inputs, outputs, errors : arrays (n_l,); biases : arrays (n_l,), the changes of biases, which are the errors
    weights : arrays (n_{l-1}, n_l), the changes of weights
    """

    inputs: list
    outputs: list
    errors: list
    weights: list

    @property
    def biases(self) -> list:
        """Return the changes of biases, which equal the errors: a pair (low, high) of arrays (n_l,) for each layer."""
        return self.errors


def change_bounds(network: Network, *, variant: str = "corrected") -> Intervals:
    """Return the `Intervals` of `network` for any record with features in [0, 1] and any label; float64.

    With "corrected" and "tight", low <= 0 <= high for all errors and changes; with "printed", a low may exceed its high.

    >>> import numpy as np
    >>> from lib.networks import Network
    >>> from lib.networks.intervals import change_bounds
    >>> network = Network.of([np.ones((2, 2))], [np.zeros(2)])
    >>> low, high = change_bounds(network).inputs[0]
    >>> print(low, high)
    [0. 0.] [2. 2.]
    """
    checks.one_of("variant", variant, VARIANTS)
    pairs = layers(network.widths, network.parameters.astype(float))
    inputs, outputs = _forward(pairs, network.widths[0], variant)
    errors = _backward(pairs, inputs, outputs[-1], variant)
    changes = []
    for (_, high), (low_error, high_error) in zip(outputs, errors):  # equation (24)
        changes.append((np.outer(high, low_error), np.outer(high, high_error)))
    return Intervals(inputs, outputs, errors, changes)


def _forward(pairs, n, variant):
    """Return the inputs of layers 1 to L and the outputs of layers 0 to L, by equations (20) and (21)."""
    inputs, outputs = [], [(np.zeros(n), np.ones(n))]
    for w, b in pairs:
        low, high = outputs[-1]
        low = low if variant == "tight" else np.zeros_like(low)
        positive, negative = np.maximum(w, 0), np.minimum(w, 0)
        inputs.append((b + low @ positive + high @ negative, b + high @ positive + low @ negative))
        least, most = inputs[-1]
        outputs.append((np.maximum(least, 0), most if variant == "printed" else np.maximum(most, 0)))
    outputs[-1] = _softmax(*inputs[-1]) if variant == "tight" else (np.zeros_like(b), np.ones_like(b))
    return inputs, outputs


def _softmax(low, high):
    """Return the smallest and the largest softmax outputs, each (classes,), for inputs between `low` and `high`."""

    def probabilities(own, others):
        """Return each class's output if its own input is in `own` and the other classes' inputs are in `others`."""
        gaps = others - own[:, None]  # excess of the other classes' inputs, in columns, over the class's own input
        np.fill_diagonal(gaps, 0)
        top = gaps.max(axis=1, keepdims=True)
        return np.exp(-top[:, 0]) / np.exp(gaps - top).sum(axis=1)

    return probabilities(low, high), probabilities(high, low)


def _backward(pairs, inputs, probabilities, variant):
    """Return error signals of layers 1 to L, by equations (22) and (23)."""
    low, high = probabilities
    errors = [(low - 1, high)]  # y - t; for y in [0, 1], equation (22)
    for (w, _), (_, most) in zip(pairs[:0:-1], inputs[-2::-1]):
        low, high = errors[0]
        positive, negative = np.maximum(w, 0), np.minimum(w, 0)
        low, high = positive @ low + negative @ high, positive @ high + negative @ low
        silent = (most <= 0) & (variant == "tight")
        errors.insert(0, (np.where(silent, 0.0, low), np.where(silent, 0.0, high)))
    return errors


@compiled
def fill_change_bounds(parameters: np.ndarray, widths: NDArray[np.int64], low: np.ndarray, high: np.ndarray) -> None:
    """Write the "corrected" bounds on every change into the flat vectors `low` and `high`; `widths` is int64."""
    last = widths.size - 1
    most = np.ones(widths[0], parameters.dtype)
    # Equations (20), (21): the largest outputs, stored where the change bounds of the next layer's weights will be.
    for layer in range(1, last + 1):
        w, b = weights_into(parameters, widths, layer), biases_of(parameters, widths, layer)
        bound = weights_into(high, widths, layer)
        above = b.copy()
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                bound[i, j] = most[i]
                above[j] += most[i] * max(w[i, j], 0)
        most = np.maximum(above, 0)
    # Equations (22) to (26), from the last layer back.
    biases_of(low, widths, last)[:] = -1
    biases_of(high, widths, last)[:] = 1
    for layer in range(last, 0, -1):
        least, greatest = biases_of(low, widths, layer), biases_of(high, widths, layer)
        w, low_w = weights_into(parameters, widths, layer), weights_into(low, widths, layer)
        high_w = weights_into(high, widths, layer)
        for i in range(w.shape[0]):
            down, up = 0.0, 0.0
            for j in range(w.shape[1]):
                low_w[i, j], high_w[i, j] = high_w[i, j] * least[j], high_w[i, j] * greatest[j]
                positive, negative = max(w[i, j], 0), min(w[i, j], 0)
                down += positive * least[j] + negative * greatest[j]
                up += positive * greatest[j] + negative * least[j]
            if layer > 1:
                biases_of(low, widths, layer - 1)[i] = down
                biases_of(high, widths, layer - 1)[i] = up
