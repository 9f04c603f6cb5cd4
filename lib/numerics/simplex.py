"""Find the nearest point of a simplex, the set of vectors with non-negative entries and a given sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def nearest(values: np.ndarray, total: float = 1.0) -> NDArray[np.float64]:
    """Return the point nearest to `values`, in the Euclidean norm, among those with entries >= 0 and sum `total`.

    values : shape (..., k), k >= 1, finite, each row projected separately; total : (0, inf)

    The point is max(values - shift, 0). If the j largest entries stay positive, the shift is (their sum - total)/j. The
    correct j is the largest j for which these j entries stay positive (Held, Wolfe and Crowder 1974).
    """
    # A common shift changes nothing, and values `total` below the largest are cut, so no sum overflows.
    largest = values.max(axis=-1, keepdims=True)
    values = np.maximum(values, largest - total) - largest
    descending = -np.sort(-values, axis=-1)
    shifts = (np.cumsum(descending, axis=-1) - total) / np.arange(1, values.shape[-1] + 1)
    last = np.count_nonzero(descending > shifts, axis=-1)[..., None] - 1
    return np.maximum(values - np.take_along_axis(shifts, last, axis=-1), 0.0)
