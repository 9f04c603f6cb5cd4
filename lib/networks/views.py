"""View single layers in the flat vectors of compiled loops: parameters of a network, and outputs of all its layers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled


@compiled
def block(buffer: np.ndarray, widths: NDArray[np.int64], layer: int, rows: int) -> np.ndarray:
    """Return a view (rows, n) of the outputs or errors of `layer` in a flat buffer."""
    start = 0
    for k in range(layer):
        start += rows * widths[k]
    return buffer[start : start + rows * widths[layer]].reshape((rows, widths[layer]))


@compiled
def offset(widths: NDArray[np.int64], layer: int) -> int:
    """Return the position at which the weights into `layer` >= 1 begin in a flat vector of parameters."""
    start = 0
    for k in range(1, layer):
        start += (widths[k - 1] + 1) * widths[k]
    return start


@compiled
def weights_into(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """Return a view (n_in, n_out) of the weights into `layer` >= 1."""
    start = offset(widths, layer)
    return vector[start : start + widths[layer - 1] * widths[layer]].reshape((widths[layer - 1], widths[layer]))


@compiled
def biases_of(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """Return a view (n_out,) of the biases of `layer` >= 1."""
    start = offset(widths, layer) + widths[layer - 1] * widths[layer]
    return vector[start : start + widths[layer]]
