"""Private-PGM as the paper describes it: entropic mirror descent (miura2025, Algorithm 1, appendix A.1).

One step moves the potentials against the gradient of the loss with respect to the marginals,

    theta <- theta - eta_t grad L(mu(theta)),        L(mu) = 1/2 sum_c w_c |mu_c - y_c|^2,

which is mirror descent on the marginals with the entropy as mirror map. The algorithm is a plain reference for
`graphical_model.fit`, which reaches the same distribution in far fewer calls of the oracle.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..numerics import checks
from .graphical_model import GraphicalModel, Measurement, _carried_over
from .marginal_oracle import MarginalOracle
from .table import Domain

WEIGHTS = ("inverse-variance", "inverse-deviation", "equal")  # sigma to the power -2, -1, 0


class Descent(NamedTuple):
    """The last `model`; the `losses` and cumulative oracle `calls` before each of T steps and at the end.

    Both arrays have the shape (T + 1,).
    """

    model: GraphicalModel
    losses: np.ndarray
    calls: np.ndarray


def mirror_descent(domain: Domain, measurements: Iterable[Measurement], total: float, *, steps: int = 1000,
                   step_size: float | None = None, weights: str = "inverse-variance",
                   start: GraphicalModel | None = None) -> Descent:  # fmt: skip
    """Run Algorithm 1 for `steps` steps and return the `Descent`.

    domain : `Domain`; measurements : iterable of `graphical_model.Measurement`, at least one
    total : number of records, (0, 1e100]
    step_size : eta_t for every t, (0, 1e100]. By default the step size is adaptive (see below)
    weights : w_c, "inverse-variance" for 1/sigma_c^2 as in `graphical_model.fit`, "inverse-deviation" for 1/sigma_c
        as in Algorithm 2, or "equal" as in section 2.3
    start : `GraphicalModel` over the same domain; its potentials on the measured cliques are the initial theta. The
        default is the uniform model

    By default, each step first tries twice the previous step size. The size is then halved until the loss decreases by
    at least half of the amount that the slope predicts. Each trial requires a call of the oracle.

    >>> import numpy as np
    >>> from lib.tables import Domain, Measurement, mirror_descent
    >>> domain = Domain({"a": 2, "b": 2})
    >>> measured = [Measurement(("a",), np.array([60.0, 40.0]), 1.0)]
    >>> found = mirror_descent(domain, measured, 100.0, steps=200)
    >>> print(found.model.marginal(["a"]).round(1))
    [60. 40.]
    """
    total = checks.number("total", total, "(0, 1e100]")
    steps = checks.whole("steps", steps, "[1, inf)")
    checks.one_of("weights", weights, WEIGHTS)
    if step_size is not None:
        step_size = checks.number("step_size", step_size, "(0, 1e100]")
    oracle, evaluate = _problem(domain, measurements, total, 2 - WEIGHTS.index(weights), start)
    theta = _carried_over(start, oracle)
    loss, gradient, mu = evaluate(theta)
    losses, calls, eta = [loss], [1], step_size or 1 / (total * max(np.abs(gradient).max(), 1e-300))
    for _ in range(steps):
        calls.append(calls[-1])
        while True:
            calls[-1] += 1
            candidate = theta - eta * gradient
            new_loss, new_gradient, new_mu = evaluate(candidate)
            if step_size is not None or new_loss <= loss - 0.5 * gradient @ (mu - new_mu):
                break
            eta /= 2
            if eta < 1e-300:  # theta is the minimum up to rounding
                candidate, new_loss, new_gradient, new_mu = theta, loss, gradient, mu
                break
        theta, loss, gradient, mu = candidate, new_loss, new_gradient, new_mu
        losses.append(loss)
        eta = step_size or 2 * eta
    cliques = [tuple(domain.attributes[v] for v in clique) for clique in oracle.cliques]
    parts = [theta[part].reshape(shape) for part, shape in zip(oracle.slices, oracle.shapes)]
    return Descent(GraphicalModel(domain, dict(zip(cliques, parts)), total), np.array(losses), np.array(calls))


def _problem(domain, measurements, total, power, start):
    """Return the oracle on the measured cliques, and the function `evaluate` for the weights sigma^-power."""
    checked = [measurement.checked(domain) for measurement in measurements]
    checked = [each for each in checked if each[0]]  # the total, which is given, needs no potential
    if not checked:
        raise ValueError("measurements must include a measurement of an attribute")
    order = None if start is None else start.oracle.tree.order
    oracle = MarginalOracle(list(dict.fromkeys(clique for clique, _, _ in checked)), domain.sizes, order)
    precisions, means, apart = np.zeros(oracle.cells), np.zeros(oracle.cells), 0.0
    for clique, values, sigma in checked:  # combine into one mean for each cell
        part, weight, flat = oracle.slices[oracle.cliques.index(clique)], sigma**-power, values.ravel()
        before = precisions[part][0]
        off = flat - means[part]
        precisions[part] += weight
        means[part] += weight / (before + weight) * off
        apart += 0.5 * before * weight / (before + weight) * off @ off

    def evaluate(theta):
        """Return (loss, its gradient in mu, mu) at the potentials `theta`; both arrays have the shape (cells,)."""
        mu = total * oracle(theta)[1]
        gradient = precisions * (mu - means)
        return apart + 0.5 * gradient @ (mu - means), gradient, mu

    return oracle, evaluate
