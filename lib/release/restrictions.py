"""Rule out records of a model, by a condition on those to draw (`given`) or because they cannot occur (`without`).

Both functions add potentials over the attributes of each clause of the condition to a model. They do not use the
records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..numerics import lbfgs
from ..tables.graphical_model import GraphicalModel, Measurement
from ..tables.marginal_oracle import MarginalOracle
from ..tables.reconciliation import Reconciliation
from ..tables.table import Domain
from .conditions import Condition

_OUT = -150.0  # potential of what is ruled out; other potentials move by less in a fit
_NONE = -35.0  # logarithm of a probability of which no sample shows anything
MOST_CELLS = 10_000_000  # of the junction tree's cliques


def given(model: GraphicalModel, condition: Condition) -> GraphicalModel:
    """Return the distribution of `model` given that `condition` holds, with the number of such records that `model` expects.

    Raises ``ValueError`` if the bins do not determine whether the condition holds, if it links too many values, and if
    it holds for no record.
    """
    for clause in condition.clauses():
        _check_size(model, clause, "where")
        clause.decided(clause.attributes, "where")
    potentials = {tuple(model.domain.axes(names)): values for names, values in model.potentials.items()}
    for clique, table in _tables(model.domain, condition).items():
        potentials[clique] = potentials.get(clique, 0.0) + table
    made = _named(model, potentials)
    change = made.log_partition - model.log_partition
    if change < _NONE:
        raise ValueError("where must hold for some record of the model, got a condition that holds for none")
    made.total = model.total * math.exp(change)
    return made


def check(domain: Domain, impossible: Sequence[Condition]) -> None:
    """Raise ``ValueError`` if the conditions of `impossible` link too many values, or rule out all records of `domain`."""
    even = GraphicalModel(domain, {})
    for condition in impossible:
        for clause in Condition("not", (condition,)).clauses():
            _check_size(even, clause, "never")
    allowed = _named(even, _tables(domain, *(Condition("not", (each,)) for each in impossible)))
    if allowed.log_partition - even.log_partition < _NONE:
        raise ValueError(
            "the conditions in never must permit at least one record, got conditions that rule out all records"
        )


def without(model: GraphicalModel, impossible: Sequence[Condition], measurements: Sequence[Measurement]) -> GraphicalModel:  # fmt: skip
    """Return a model without records for which a condition of `impossible` surely holds, fitted to `model` otherwise.

    Conditioning `model` would also change the counts of other attributes. Let M_c be the marginals of `model` over its
    cliques c, and mu_c those of a distribution mu of N records without the records that are ruled out. Instead we
    minimize, over these mu,

        sum_c w_c/2 |mu_c - M_c|^2 + tau N KL(mu/N, model without the records),    w_c = 1/sigma_c^2,

    in the dual form, as in `graphical_model`. The precisions w_c are those of `measurements` (of staged residuals,
    those of the residual of c), and tau was found by trial.
    """
    tables = _tables(model.domain, *(Condition("not", (each,)) for each in impossible))
    known = Reconciliation(model.domain.sizes, model.total)
    for measurement in measurements:
        known.add(*measurement.checked(model.domain))
    largest = max(known.weights.values(), default=1.0)
    cliques = {tuple(model.domain.axes(names)): values for names, values in model.potentials.items()}
    oracle = MarginalOracle(tuple({**cliques, **tables}), model.domain.sizes)
    begin, fixed, target, free, precision = np.zeros((5, oracle.cells))
    for clique, cells in zip(oracle.cliques, oracle.slices):
        fixed[cells] = np.ravel(tables.get(clique, 0.0))
        if clique in cliques:
            begin[cells], target[cells] = cliques[clique].ravel(), model.counts(clique).ravel()
            free[cells], precision[cells] = 1.0, known.weights.get(clique, largest)
    free[oracle(begin + fixed)[1] < math.exp(_NONE)] = 0.0  # impossible cells stay so, whatever their target
    ridge = 0.01 * math.sqrt(largest) / np.where(free, precision, 1.0)  # tau w_c^-1

    best = math.inf, begin

    def evaluate(theta):
        nonlocal best
        log_z, probabilities = oracle(theta + fixed)
        mu, moved = model.total * probabilities, theta - begin
        gradient = free * (mu - target + ridge * moved)
        value = model.total * log_z - target @ theta + (0.5 * ridge * moved) @ moved
        gap = float((0.5 * precision * gradient) @ gradient)
        best = min(best, (gap, theta), key=lambda each: each[0])
        return value, gradient, free / (4 * (mu + ridge)), gap <= 0.001 * oracle.cells / 2

    lbfgs.minimise(
        evaluate, begin, max_evaluations=200
    )  # whose last step need not be the best, if it does not converge
    theta = best[1] + fixed
    return _named(model, {c: theta[s].reshape(n) for c, s, n in zip(oracle.cliques, oracle.slices, oracle.shapes)})


def _check_size(model, clause, what) -> None:
    names = [each.name for each in clause.attributes]
    if not model.fits(names, max(MOST_CELLS, model.size)):
        raise ValueError(f"{what} must link fewer values, got {', '.join(names)}, which make the model too large")


def _tables(domain, *conditions) -> dict[tuple[int, ...], np.ndarray]:
    """Return a mapping from cliques to potentials that rule out all cells in which one of the conditions cannot hold."""
    tables: dict = {}
    for clause in (clause for condition in conditions for clause in condition.clauses()):
        axes = domain.axes([each.name for each in clause.attributes])
        clique, possibly = tuple(sorted(axes)), clause.cells(clause.attributes)[1].transpose(np.argsort(axes))
        tables[clique] = np.where(possibly, tables.get(clique, 0.0), _OUT)
    return tables


def _named(model, potentials) -> GraphicalModel:
    attributes = model.domain.attributes
    named = {tuple(attributes[v] for v in clique): values for clique, values in potentials.items()}
    return GraphicalModel(model.domain, named, model.total)
