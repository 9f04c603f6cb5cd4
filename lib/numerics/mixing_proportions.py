"""Fit mixing proportions by maximum likelihood, with a certificate, when there are too many components to store.

The problem is to maximize F(theta) = sum_i ln u_i, u = A theta, over theta >= 0 with sum 1, where A is (n, m) and
non-negative. F is concave. Let g = A^T (1/u) / n, whose mean under theta is 1. For every other theta',

    F(theta') - F(theta) <= grad F . (theta' - theta) = n (theta' . g - 1) <= n (max g - 1).

The right-hand side is the gap: no theta' is better than theta by more than the gap. Few components have weight at the
optimum. So a Newton method works on a pool of columns. The columns with the largest g join the pool, and the other
columns enter only through g (Lindsay, Ann. Statist. 1983; the Newton step is that of Wang, J. R. Statist. Soc. B 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

NEWTON_STEPS = 100


@dataclass(frozen=True)
class Mixture:
    """The result of `fit`.

    support : components with positive proportion, (s,) positions; theta : their proportions, (s,), sum 1
    density : u, (n,); gap : a bound on how far the log-likelihood is below the maximum
    trace : (rounds, 2), log-likelihood and gap of each round; converged : whether the gap is below the tolerance
    """

    support: np.ndarray
    theta: np.ndarray
    density: np.ndarray
    gap: float
    trace: np.ndarray
    converged: bool


def fit(columns: Callable[[NDArray[np.int64]], NDArray[np.float64]],
        scores: Callable[[NDArray[np.float64]], NDArray[np.float64]], start: NDArray[np.int64], *, tol: float,
        max_iter: int, batch: int = 100) -> Mixture:  # fmt: skip
    """Return proportions whose gap is below `tol`, or the proportions after `max_iter` rounds.

    columns : function from positions (h,) to the columns of A at these positions, (n, h)
    scores : function from r (n,) to A^T r, (m,)
    start : positions of the columns in the first pool, all different
    batch : the largest number of columns that join the pool in a round. The pool keeps about four times as many

    Raises ``ValueError`` if a row of A is 0 in every column of the first pool.
    """
    pool = np.asarray(start)
    a = columns(pool)
    if not (a.sum(axis=1) > 0).all():
        raise ValueError("columns of the first pool must give every row a positive density, got a row of zeros")
    theta = np.full(len(pool), 1 / len(pool))
    trace = []
    for _ in range(max_iter):
        theta = newton(a, theta, tol=tol / 10)
        if len(pool) > 4 * batch:
            used = theta > 0  # columns that leave the pool may join again
            pool, a, theta = pool[used], a[:, used], theta[used]
        density = a @ theta
        g = scores(1 / density) / len(density)
        trace.append((np.log(density).sum(), len(density) * (g.max() - 1)))
        joining = _joining(g, pool, tol / len(density), batch)
        if trace[-1][1] < tol or joining.size == 0:
            break
        pool = np.concatenate([pool, joining])
        a = np.column_stack([a, columns(joining)])
        theta = np.concatenate([theta, np.zeros(joining.size)])
    used, gap = theta > 0, float(trace[-1][1])
    return Mixture(pool[used], theta[used], density, gap, np.array(trace), gap < tol)


def _joining(g, pool, slack, batch) -> np.ndarray:
    """Return columns with large g, mostly the largest of each interleaved part, as the top columns are nearly equal."""
    better = np.setdiff1d(np.flatnonzero(g > 1 + slack / 10), pool)
    better = better[np.argsort(-g[better], kind="stable")]
    first, rest = better[: batch // 4], better[batch // 4 :]
    _, spread = np.unique(rest % (batch - len(first)), return_index=True)
    return np.concatenate([first, rest[np.sort(spread)]])


def newton(a: NDArray[np.float64], theta: NDArray[np.float64], *, tol: float) -> NDArray[np.float64]:
    """Return proportions of the columns of `a` (n, s) with a gap below `tol`, starting at `theta`.

    The method minimizes sum(theta) - mean(ln a theta) over theta >= 0; at the minimum, theta has sum 1. A step goes to
    the minimum of the quadratic model, found by non-negative least squares, and is halved until the value decreases. If
    rounding prevents further descent, the current proportions are returned.
    """
    n = len(a)
    value = _value(a, theta)
    for _ in range(NEWTON_STEPS):
        ratios = a / (a @ theta)[:, None]
        g = ratios.mean(axis=0)
        if n * (g.max() - 1) < tol:
            return theta
        hessian = ratios.T @ ratios / n
        # Near copies among the columns make the Hessian singular. The ridge damps the step and keeps the optimum.
        ridge = 1e-10 * np.trace(hessian) / len(hessian)
        hessian[np.diag_indices(len(hessian))] += ridge
        lower = np.linalg.cholesky(hessian)
        target, _ = scipy.optimize.nnls(
            lower.T, np.linalg.solve(lower, 2 * g - 1 + ridge * theta), maxiter=100 * len(theta)
        )
        step, slope = 1.0, (target - theta) @ (1 - g)
        while (new := _value(a, theta + step * (target - theta))) > value + 1e-4 * step * slope:
            step /= 2
            if step < 1e-8:
                return theta
        theta = theta + step * (target - theta)
        theta[theta < 1e-15] = 0
        theta /= theta.sum()
        value = min(new, _value(a, theta))
    return theta


def _value(a, theta) -> float:
    density = a @ theta
    return np.inf if density.min() <= 0 else theta.sum() - np.log(density).mean()
