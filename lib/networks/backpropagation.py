"""Compiled forward pass, backpropagation and descent, used by all training (sei2017, equations 1, 4 to 6, 16, 18, 19).

Widths are an int64 array (n_0, …, n_L). All other arrays are flat vectors of the network's dtype:

- parameters and changes: for each layer the weights (n_in, n_out), row by row, and then the biases (n_out,)
- outputs and errors of `rows` records: for each layer, including the input, a block (rows, n); see `views.block`

BLAS computes the matrix products. On one processor, repeated runs agree to the last digit. Runs on different kinds of
processor agree only with the same kernels (OPENBLAS_CORETYPE) and instructions (NUMBA_CPU_NAME).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled
from .views import biases_of, block, offset, weights_into


@compiled
def _gather(features, labels, chosen, outputs):
    """Put the `chosen` records into the input block of `outputs`, and return their labels, shape (chosen,)."""
    n, batch_labels = features.shape[1], np.empty(chosen.size, np.int64)
    for r in range(chosen.size):
        batch_labels[r] = labels[chosen[r]]
        for i in range(n):
            outputs[r * n + i] = features[chosen[r], i]
    return batch_labels


@compiled
def forward(parameters: np.ndarray, widths: NDArray[np.int64], outputs: np.ndarray, rows: int) -> None:
    """Fill the blocks of all layers of `outputs`, starting from the input block, by equations (1) and (16)."""
    last = widths.size - 1
    for layer in range(1, last + 1):
        outcome, b = block(outputs, widths, layer, rows), biases_of(parameters, widths, layer)
        np.dot(block(outputs, widths, layer - 1, rows), weights_into(parameters, widths, layer), outcome)
        if layer < last:
            _relu(outcome, b)
        else:
            _softmax(outcome, b)


@compiled
def _relu(x, b):
    """Replace x (rows, n) by max(x + b, 0); NaN stays NaN."""
    zero = x.dtype.type(0)
    for r in range(x.shape[0]):
        y = x[r]
        for j in range(b.size):
            value = y[j] + b[j]
            y[j] = zero if value <= 0 else value


@compiled
def _softmax(x, b):
    """Replace x (rows, classes) by the softmax of x + b, equation (16). The exponentials are computed in double
    precision and rounded, so that they agree on all machines."""
    for r in range(x.shape[0]):
        high = x[r, 0] + b[0]
        for j in range(b.size):
            x[r, j] += b[j]
            if x[r, j] > high:
                high = x[r, j]
        total = 0.0
        for j in range(b.size):
            exponential = math.exp(np.float64(x[r, j] - high))
            total += exponential
            x[r, j] = exponential
        for j in range(b.size):
            x[r, j] /= total


@compiled
def backward(parameters: np.ndarray, widths: NDArray[np.int64], outputs: np.ndarray, labels: NDArray[np.int64],
             errors: np.ndarray, room: np.ndarray) -> None:  # fmt: skip
    """Write the error signals of the records into blocks 1 to L of `errors`, by equations (18) and (19).

    labels : one for each record; room : a flat vector of the parameters' size, which is overwritten
    """
    rows, last = labels.size, widths.size - 1
    delta, y = block(errors, widths, last, rows), block(outputs, widths, last, rows)
    for r in range(rows):
        for j in range(widths[last]):
            delta[r, j] = y[r, j]
        delta[r, labels[r]] -= 1
    for layer in range(last - 1, 0, -1):
        delta, above = block(errors, widths, layer, rows), block(errors, widths, layer + 1, rows)
        w = weights_into(parameters, widths, layer + 1)
        turned = room[: w.size].reshape((w.shape[1], w.shape[0]))  # faster than a product with w.T
        for j in range(w.shape[1]):
            column = turned[j]
            for i in range(w.shape[0]):
                column[i] = w[i, j]
        np.dot(above, turned, delta)
        _silence(delta.ravel(), block(outputs, widths, layer, rows).ravel())


@compiled
def _silence(delta, y):
    """Set the signal to 0 where a ReLU outputs 0."""
    zero = delta.dtype.type(0)
    for k in range(delta.size):
        delta[k] = zero if y[k] <= 0 else delta[k]


@compiled
def summed(widths: NDArray[np.int64], outputs: np.ndarray, errors: np.ndarray, rows: int, change: np.ndarray) -> None:
    """Write the changes of the weights (equation 4) and of the biases, summed over the records, into `change`."""
    for layer in range(1, widths.size):
        delta, bias = block(errors, widths, layer, rows), biases_of(change, widths, layer)
        np.dot(block(outputs, widths, layer - 1, rows).T, delta, weights_into(change, widths, layer))
        bias[:] = 0
        for r in range(rows):
            d = delta[r]
            for j in range(bias.size):
                bias[j] += d[j]


@compiled
def descend(parameters: np.ndarray, widths: NDArray[np.int64], change: np.ndarray, step: float, shrink: float,
            ranges: np.ndarray) -> None:  # fmt: skip
    """Subtract step * change from `parameters` and shrink * weight from weights, and clip to `ranges` (eqs. 5 and 6).

    ranges : (low, high) of weights, then of biases, shape (4,); -inf and inf mean that there is no range
    """
    kind = parameters.dtype.type
    step, shrink, none = kind(step), kind(shrink), kind(0)
    for layer in range(1, widths.size):
        start = offset(widths, layer)
        middle = start + widths[layer - 1] * widths[layer]
        end = middle + widths[layer]
        _descend(parameters[start:middle], change[start:middle], step, shrink, kind(ranges[0]), kind(ranges[1]))
        _descend(parameters[middle:end], change[middle:end], step, none, kind(ranges[2]), kind(ranges[3]))


@compiled
def _descend(part, change, step, shrink, low, high):
    for k in range(part.size):
        value = part[k] - (step * change[k] + shrink * part[k])
        part[k] = low if value < low else (high if value > high else value)


@compiled
def propagate(parameters: np.ndarray, widths: NDArray[np.int64], features: np.ndarray, labels: NDArray[np.int64],
              chosen: NDArray[np.int64], outputs: np.ndarray, errors: np.ndarray, room: np.ndarray) -> int:  # fmt: skip
    """Compute the outputs and error signals of the `chosen` records; return their number. room : as for `backward`"""
    batch_labels = _gather(features, labels, chosen, outputs)
    forward(parameters, widths, outputs, chosen.size)
    backward(parameters, widths, outputs, batch_labels, errors, room)
    return chosen.size
