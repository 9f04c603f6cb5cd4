"""L-BFGS with an initial diagonal, to minimize a smooth, strictly convex function.

The initial matrix is usually a multiple of the identity. Here the caller gives, with each gradient, the inverse of a
diagonal matrix that approximates the Hessian, and the stored steps correct this inverse. Source: Liu and Nocedal 1989;
Nocedal and Wright 2006, algorithm 7.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

_MEMORY = 12  # number of last steps kept
_SUFFICIENT = 1e-4  # of the decrease that the slope predicts (Armijo's rule)


def minimise(evaluate: Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray, bool]], x: np.ndarray, *,
             max_evaluations: float = 10_000) -> tuple[np.ndarray, int, bool]:  # fmt: skip
    """Minimize a convex function, starting at `x`; return (x, evaluations used, whether the minimizer was reached).

    evaluate : x -> (value, gradient, inverse_diagonal, done). The gradient and the inverse diagonal are arrays of the
        shape of x that the next call must not overwrite. A true `done` ends the search: the caller decides when x is
        close enough to the minimizer

    The search also ends, before the minimizer is reached, if rounding prevents every step from decreasing the value.
    """
    value, gradient, inverse_diagonal, done = evaluate(x)
    pairs: deque[tuple] = deque(maxlen=_MEMORY)
    evaluations = 1
    while not done and evaluations < max_evaluations:
        direction = -_inverse_hessian(gradient, inverse_diagonal, pairs)
        slope, step = gradient @ direction, 1.0
        while True:
            candidate = x + step * direction
            new_value, new_gradient, inverse_diagonal, done = evaluate(candidate)
            evaluations += 1
            # Rounding may make the values equal; then the slope at the new point decides.
            enough = new_value <= value + _SUFFICIENT * step * slope
            flat = abs(new_value - value) <= 1e-12 * abs(value) and abs(new_gradient @ direction) <= abs(slope)
            if done or enough or flat:
                break
            step *= _shorter(value, new_value, step * slope)
            if step < 1e-12 or evaluations >= max_evaluations:
                return x, evaluations, False
        change, bend = candidate - x, new_gradient - gradient
        if change @ bend > 0:
            pairs.append((change, bend, 1 / (change @ bend)))
        x, value, gradient = candidate, new_value, new_gradient
    return x, evaluations, done


def _inverse_hessian(gradient, inverse_diagonal, pairs):
    """Return approximately the inverse Hessian times the gradient, by the two-loop recursion."""
    q, weights = gradient.copy(), []
    for change, bend, scale in reversed(pairs):
        weights.append(scale * (change @ q))
        q -= weights[-1] * bend
    q *= inverse_diagonal
    for (change, bend, scale), weight in zip(pairs, reversed(weights)):
        q += (weight - scale * (bend @ q)) * change
    return q


def _shorter(value, new_value, slope):
    """Return a factor in [0.1, 0.5] for the step, from the minimum of the parabola through the known values."""
    if not np.isfinite(new_value):
        return 0.1
    return min(max(-slope / (2 * (new_value - value - slope)), 0.1), 0.5)
