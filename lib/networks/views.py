"""Layers in the flat vectors that compiled loops work on: the parameters of a network, and what all its layers put out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled


@compiled
def block(buffer: np.ndarray, widths: NDArray[np.int64], layer: int, rows: int) -> np.ndarray:
    """The outputs or errors (rows, n) of `layer` in a flat buffer: a view.

    >>> import numpy as np
    >>> from lib.networks.views import block
    >>> outputs = np.arange(10.0)  # of two records, in layers of 2 and 3
    >>> print(block(outputs, np.array([2, 3]), 1, 2))
    [[4. 5. 6.]
     [7. 8. 9.]]
    """
    start = 0
    for k in range(layer):
        start += rows * widths[k]
    return buffer[start : start + rows * widths[layer]].reshape((rows, widths[layer]))


@compiled
def offset(widths: NDArray[np.int64], layer: int) -> int:
    """Where the weights into `layer` >= 1 begin in a flat vector of parameters.

    >>> import numpy as np
    >>> from lib.networks.views import offset
    >>> print(offset(np.array([2, 3, 2]), 2))  # behind 2 x 3 weights and 3 biases
    9
    """
    start = 0
    for k in range(1, layer):
        start += (widths[k - 1] + 1) * widths[k]
    return start


@compiled
def weights_into(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """The weights (n_in, n_out) into `layer` >= 1: a view.

    >>> import numpy as np
    >>> from lib.networks.views import weights_into
    >>> print(weights_into(np.arange(6.0), np.array([2, 2]), 1))
    [[0. 1.]
     [2. 3.]]
    """
    start = offset(widths, layer)
    return vector[start : start + widths[layer - 1] * widths[layer]].reshape((widths[layer - 1], widths[layer]))


@compiled
def biases_of(vector: np.ndarray, widths: NDArray[np.int64], layer: int) -> np.ndarray:
    """The biases (n_out,) of `layer` >= 1: a view.

    >>> import numpy as np
    >>> from lib.networks.views import biases_of
    >>> print(biases_of(np.arange(6.0), np.array([2, 2]), 1))
    [4. 5.]
    """
    start = offset(widths, layer) + widths[layer - 1] * widths[layer]
    return vector[start : start + widths[layer]]
