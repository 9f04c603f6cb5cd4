"""Views of layers in the flat vectors of compiled loops: a network's parameters, and the outputs of all its layers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled


@compiled
def block(buffer: np.ndarray, widths: NDArray[np.int64], layer: int, rows: int) -> np.ndarray:
    """Return the outputs or errors (rows, n) of `layer` in a flat buffer: a view."""
    start = 0
    for k in range(layer):
        start += rows * widths[k]
    return buffer[start : start + rows * widths[layer]].reshape((rows, widths[layer]))


@compiled
def offset(widths: NDArray[np.int64], layer: int) -> int:
    """Return where the weights into `layer` >= 1 begin in a flat vector of parameters."""
    start = 0
    for k in range(1, layer):
        start += (widths[k - 1] + 1) * widths[k]
    return start


@compiled
def weights_into(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """Return the weights (n_in, n_out) into `layer` >= 1: a view."""
    start = offset(widths, layer)
    return vector[start : start + widths[layer - 1] * widths[layer]].reshape((widths[layer - 1], widths[layer]))


@compiled
def biases_of(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """Return the biases (n_out,) of `layer` >= 1: a view."""
    start = offset(widths, layer) + widths[layer - 1] * widths[layer]
    return vector[start : start + widths[layer]]
