"""PrivBayes: draw records from a noisy Bayesian network (Zhang et al. 2017; miura2025, section 2.5).

Attributes are placed one after another, the first at random. The exponential mechanism chooses each further attribute
and its parents among the attributes already placed. The score measures how strongly the attribute depends on these
parents. Then the counts of each attribute with its parents are measured with noise, and records are drawn along the
network.

The first attributes, which have fewer than `parents` parents, need no tables of their own: they are in the table of the
first attribute that has `parents` parents. So d attributes need d - 1 selections and max(d - parents, 1) measurements.

The score, "dependence", is half the sum of |c(x, y) - c(x) c(y)/n| over all values x of an attribute and y of its
parents. Here c are the counts, and n is the number of records. This score is n times the score R of Zhang et al. Adding
the record (x_0, y_0) to a table with proportions p(x) and q(y) changes

    c(x, y) - c(x) c(y) / n    by    n/(n+1) (1[x = x_0] - p(x)) (1[y = y_0] - q(y)),

which follows with the common denominator n + 1. The L1 norm of each bracket is at most 2, so the score changes by at
most 2n/(n+1), which is below 2 for every n. The number of records may therefore be private. (The paper's score is the
mutual information. Multiplied by n, it changes by up to about log(n), which has no bound if n is private.)

The domain must be public. Noise is drawn in floating point, so the guarantee does not cover attacks that use low-order
bits (Mironov 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..mechanisms.noise import generator, laplace
from ..mechanisms.selection import exponential
from ..numerics import checks, simplex
from .table import Table

SENSITIVITY = 2.0  # of the score
_STRUCTURE = 0.3  # of the budget, for choosing the network; Zhang et al. find that it works well


@dataclass(frozen=True)
class PrivBayes:
    """The release of `privbayes`.

    table : the synthetic `Table`
    network : pairs (attribute, its parents), in the order in which the attributes are drawn
    epsilon : the guarantee, which is pure DP for unbounded neighbours
    """

    table: Table
    network: tuple
    epsilon: float


def privbayes(table: Table, epsilon: float, *, rng: np.random.Generator, parents: int = 2) -> PrivBayes:
    """Return a `PrivBayes` with synthetic records; it is `epsilon`-DP if a record of `table` is added or removed.

    table : `Table` over a public domain; epsilon : (0, inf); rng : numpy Generator
    parents : integer >= 1, the number of parents of an attribute. The parents of the first attributes, which are
        fewer, are all earlier attributes

    Each table of counts has sensitivity 1 and gets Laplace noise. Post-processing replaces the noisy counts by the
    nearest counts >= 0 whose sum is a noisy estimate of the number of records. This estimate, rounded, is also the
    number of synthetic records. Raises ``ValueError`` for values out of range.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table, privbayes
    >>> rng = np.random.default_rng(0)
    >>> table = Table(rng.integers(0, 2, (1000, 3)), Domain({"a": 2, "b": 2, "c": 2}))
    >>> found = privbayes(table, epsilon=1.0, rng=rng)
    >>> print(found.table.domain.sizes, found.epsilon)
    (2, 2, 2) 1.0
    """
    epsilon = checks.number("epsilon", epsilon, "(0, inf)")
    parents = checks.whole("parents", parents, "[1, inf)")
    if not isinstance(table, Table):
        raise ValueError(f"table must be a Table, got {type(table).__name__}")
    generator(rng)
    attributes = len(table.domain)
    selections, measurements = attributes - 1, max(attributes - parents, 1)
    share = _STRUCTURE if selections else 0.0
    selection_epsilon, scale = share * epsilon / max(selections, 1), measurements / ((1 - share) * epsilon)
    network = _network(table, parents, selection_epsilon, rng)
    noisy = _measured(table, network, measurements, scale, rng)
    total = _common_total(noisy)
    counts = _consistent(network, [simplex.nearest(values.ravel(), total).reshape(values.shape) for values in noisy])
    drawn = _draw(table.domain, network, counts, max(round(total), 1), rng)
    return PrivBayes(drawn, network, epsilon)


def dependence(counts: ArrayLike) -> float:
    """Return half the L1 distance between a table of counts (x, y), shape (a, b), and the counts under independence."""
    counts = checks.real("counts", counts, "[0, 1e15]")
    if counts.ndim != 2 or counts.sum() <= 0:
        got = f"shape {counts.shape}, sum {counts.sum():g}"
        raise ValueError(f"counts must be a table (a, b) with a positive sum, got {got}")
    return float(np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()).sum() / 2)


def _network(table, parents, epsilon, rng):
    """Return pairs (attribute, parents), chosen one after another by the exponential mechanism."""
    known, tables = {}, {}

    def scored(attribute, group):
        """Return the score of `attribute` with the parents `group`, cached because most scores are needed again."""
        if (attribute, group) not in known:
            together = tuple(sorted((attribute, *group), key=table.domain.attributes.index))
            if together not in tables:
                tables[together] = table.marginal(together)
            counts = np.moveaxis(tables[together], together.index(attribute), 0)
            known[attribute, group] = dependence(counts.reshape(len(counts), -1))
        return known[attribute, group]

    free = list(table.domain.attributes)
    placed = [free.pop(int(rng.integers(len(free))))]
    network = [(placed[0], ())]
    while free:
        groups = combinations(sorted(placed, key=table.domain.attributes.index), min(parents, len(placed)))
        candidates = [(attribute, group) for group in groups for attribute in free]
        scores = [scored(*candidate) for candidate in candidates]
        chosen = candidates[exponential(scores, epsilon, SENSITIVITY, rng=rng)]
        network.append(chosen)
        free.remove(chosen[0])
        placed.append(chosen[0])
    return tuple(network)


def _measured(table, network, measurements, scale, rng):
    """Return noisy counts of each of the last attributes (first axis) with its parents."""
    tables = [table.marginal((attribute, *parents)) for attribute, parents in network[-measurements:]]
    return [counts + laplace(counts.shape, scale, rng=rng) for counts in tables]


def _common_total(noisy) -> float:
    """Estimate the number of records, at least 1: the mean of the tables' sums, weighted by 1 / number of cells."""
    weights = [1 / values.size for values in noisy]
    return max(float(np.average([values.sum() for values in noisy], weights=weights)), 1.0)


def _consistent(network, counts):
    """Return one table for each attribute; an attribute without a table gets a marginal of the first measured table."""
    first = len(network) - len(counts)
    axes, whole = (network[first][0], *network[first][1]), counts[0]
    # The attributes before `first` are its parents.
    derived = [
        np.einsum(whole, range(whole.ndim), [axes.index(name) for name in (attribute, *parents)])
        for attribute, parents in network[:first]
    ]
    return derived + counts


def _draw(domain, network, counts, records, rng) -> Table:
    """Draw `records` records, attribute by attribute, each attribute given the values of its parents."""
    columns: dict[str, np.ndarray] = {}
    for (attribute, parents), joint in zip(network, counts):
        size = len(joint)
        given = joint.reshape(size, -1).T  # a row for each combination of the parents' values
        # For parents' values that do not occur, the attribute's marginal distribution.
        given = np.where(given.sum(axis=1, keepdims=True) > 0, given, joint.reshape(size, -1).sum(axis=1))
        cumulated = np.cumsum(given, axis=1)
        cumulated /= cumulated[:, -1:]
        row = np.zeros(records, dtype=np.intp)
        for parent in parents:
            row = row * domain.shape([parent])[0] + columns[parent]
        # Row r's cumulative proportions, plus r, follow row r-1's, so that one search serves all rows.
        raised = (cumulated + np.arange(len(cumulated))[:, None]).ravel()
        place = np.searchsorted(raised, row + rng.random(records), side="right")
        columns[attribute] = np.minimum(place - row * size, size - 1)
    return Table(np.stack([columns[name] for name in domain.attributes], axis=1), domain)
