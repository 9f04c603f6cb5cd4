"""PrivBayes: records from a noisy Bayesian network (Zhang et al. 2017; miura2025, section 2.5).

Attributes are placed one after another, the first at random. Each further one, together with its
parents among those already placed, is chosen by the exponential mechanism: the score is how strongly
attribute and parents depend on each other. The table of counts of each attribute with its parents is
then measured with noise, and records are drawn down the network, attribute by attribute.

The first attributes, which have fewer than `parents` parents, need no table of their own: it is a
marginal of the table of the first attribute that has all of them. So d attributes cost d - 1
selections and max(d - parents, 1) measurements.

Scores, with c the joint counts of an attribute x and its parents y, n = sum(c), and their sensitivity.
Adding the record (x0, y0) to a table with shares p of x and q of y moves

    c(x, y) - c(x) c(y) / n    by    n/(n+1) (1[x = x0] - p(x)) (1[y = y0] - q(y))

(put both sides over n + 1). Write e for 1[x = x0], f for 1[y = y0].

- "dependence", half the sum of |c(x, y) - c(x) c(y)/n|: n times the score R of Zhang et al.
  Unbounded (add or remove a record): |e - p|_1 and |f - q|_1 are below 2, so the score moves by less
  than 2. Bounded (replace a record): remove, then add, from the same n - 1 records; the difference of
  the two moves is (n-1)/n (e'f' - ef - p(f' - f) - (e' - e)q), of norm at most 6, so the score moves
  by less than 3. (Zhang et al. have 3 + 2/n.) Neither depends on n, which may be private.
- "mutual information", sum of c(x, y) log(n c(x, y) / (c(x) c(y))), n times the mutual information in
  nats. With phi(c) = c log c and its growth g(c) = phi(c + 1) - phi(c), concave and increasing, adding
  a record to n - 1 others moves it by h + g(n-1), h = g(c) - g(c(x)) - g(c(y)), counts before. Here
  h <= 0, as c <= c(x); and h is least where c = 0 and c(x) = c(y) = (n-1)/2, whatever is traded within
  c(x) + c(y) - c <= n - 1. So, bounded, it moves by at most 2 g((n-1)/2) = 2 log((n+1)/2) + (n-1)
  log((n+1)/(n-1)), as in Zhang et al. Unbounded, it moves by up to about log(n): a private n gives no
  bound, and this score is refused.

The domain must be public. Noise is drawn in floating point, which leaves attacks on its low-order
bits aside (Mironov 2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from .. import accounting
from ..mechanisms.noise import gaussian, generator, laplace
from ..mechanisms.selection import exponential
from ..mechanisms.sensitivity import NEIGHBOURS, of_histogram
from ..numerics import checks, simplex
from .table import Table

SCORES = ("dependence", "mutual information")


@dataclass(frozen=True)
class PrivBayes:
    """What `privbayes` released.

    table : the synthetic `Table`
    network : pairs (attribute, its parents), in the order in which records are drawn
    selection_epsilon, selections : epsilon of each exponential mechanism, and their number
    noise_scale, measurements : scale of the Laplace noise, or standard deviation of the Gaussian, in
        each table of counts, and their number
    epsilon, delta : the guarantee, delta 0 if pure
    neighbours : which neighbours it is for
    """

    table: Table
    network: tuple
    selection_epsilon: float
    selections: int
    noise_scale: float
    measurements: int
    epsilon: float
    delta: float
    neighbours: str


def privbayes(table: Table, epsilon: float, *, rng: np.random.Generator, delta: float = 0.0, parents: int = 2,
              score: str = "dependence", neighbours: str = "unbounded", structure_share: float = 0.3,
              records: int | None = None) -> PrivBayes:  # fmt: skip
    """Synthetic records of `table` that satisfy (epsilon, delta)-DP.

    table : `Table` over a public domain
    epsilon : (0, inf)
    rng : numpy Generator
    delta : [0, 1). 0 gives pure DP, by Laplace noise; otherwise Gaussian noise, and the budget is split
        as zCDP, where a selection costs its epsilon^2/8 (bounded range).
    parents : whole number >= 1, how many parents an attribute has (as many as there are, at first)
    score : "dependence" or, for bounded neighbours, "mutual information" (what the document describes)
    neighbours : "unbounded" (add or remove a record) or "bounded" (replace one; n is public)
    structure_share : (0, 1), share of the budget for choosing the network; Zhang et al. find 0.3 good
    records : how many to draw, whole number >= 1; default: n where it is public, else its noisy value

    A table of counts has sensitivity 1 (L1 and L2) if unbounded, 2 (L1) and sqrt(2) (L2) if bounded.
    Noisy counts are moved to the nearest ones that are not negative and have one sum, n or its
    estimate, which is postprocessing, as is all that follows. Raises ``ValueError`` for arguments outside their ranges.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table, privbayes
    >>> rng = np.random.default_rng(0)
    >>> table = Table(rng.integers(0, 2, (1000, 3)), Domain({"a": 2, "b": 2, "c": 2}))
    >>> found = privbayes(table, epsilon=1.0, rng=rng)
    >>> print(found.table.domain.sizes, found.epsilon, found.delta)
    (2, 2, 2) 1.0 0.0
    """
    epsilon = checks.number("epsilon", epsilon, "(0, inf)")
    delta = checks.number("delta", delta, "[0, 1)")
    parents = checks.whole("parents", parents, "[1, inf)")
    share = checks.number("structure_share", structure_share, "(0, 1)")
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    if not isinstance(table, Table):
        raise ValueError(f"table must be a Table, got {type(table).__name__}")
    generator(rng)
    sensitivity = score_sensitivity(score, neighbours, len(table))
    if records is not None:
        records = checks.whole("records", records, "[1, inf)")

    attributes = len(table.domain)
    selections, measurements = attributes - 1, max(attributes - parents, 1)
    selection_epsilon, scale = _split(epsilon, delta, share, selections, measurements, neighbours)
    network = _network(table, parents, score, selection_epsilon, sensitivity, rng)
    noisy = _measured(table, network, measurements, laplace if delta == 0 else gaussian, scale, rng)
    total = len(table) if neighbours == "bounded" else _common_total(noisy)
    counts = _consistent(network, [simplex.nearest(values.ravel(), total).reshape(values.shape) for values in noisy])
    drawn = _draw(table.domain, network, counts, max(round(total), 1) if records is None else records, rng)
    return PrivBayes(drawn, network, selection_epsilon, selections, scale, measurements, epsilon, delta, neighbours)


def score_sensitivity(score: str, neighbours: str = "unbounded", n: int | None = None) -> float:
    """How much one record can change a score, in counts; the proofs stand in the module's text.

    score : one of `SCORES`; neighbours : one of `NEIGHBOURS`
    n : the public number of records, whole number >= 1; only "mutual information" needs it
    """
    checks.one_of("score", score, SCORES)
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    if score == "dependence":
        return 2.0 if neighbours == "unbounded" else 3.0
    if neighbours == "unbounded":
        raise ValueError("score must be 'dependence' for unbounded neighbours, got 'mutual information'")
    n = max(checks.whole("n", n, "[1, inf)"), 2)  # a single record has no dependence to change
    return 2 * math.log((n + 1) / 2) + (n - 1) * math.log1p(2 / (n - 1))


def dependence(counts: ArrayLike) -> float:
    """Half the L1 distance of a table of counts (x, y), shape (a, b), from that of independence."""
    counts = _joint(counts)
    return float(np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()).sum() / 2)


def mutual_information_in_counts(counts: ArrayLike) -> float:
    """n times the mutual information, in nats, of a table of counts (x, y), shape (a, b)."""
    counts = _joint(counts)
    entropies = [_sum_of_logs(table) for table in (counts, counts.sum(axis=1), counts.sum(axis=0), counts.sum())]
    return max(float(entropies[0] - entropies[1] - entropies[2] + entropies[3]), 0.0)


def _joint(counts) -> np.ndarray:
    counts = checks.real("counts", counts, "[0, 1e15]")
    if counts.ndim != 2 or counts.sum() <= 0:
        got = f"shape {counts.shape}, sum {counts.sum():g}"
        raise ValueError(f"counts must be a table (a, b) of positive sum, got {got}")
    return counts


def _sum_of_logs(counts):
    counts = np.asarray(counts)[np.asarray(counts) > 0]
    return counts @ np.log(counts)


def _split(epsilon, delta, share, selections, measurements, neighbours):
    """Epsilon of a selection (0 if there is none) and scale of the noise."""
    share = share if selections else 0.0
    sensitivity = of_histogram(norm=1 if delta == 0 else 2, neighbours=neighbours)
    if delta == 0:
        return share * epsilon / max(selections, 1), sensitivity * measurements / ((1 - share) * epsilon)
    rho = accounting.dp_to_zcdp(epsilon, delta)
    selection_epsilon = math.sqrt(8 * share * rho / max(selections, 1))
    return selection_epsilon, sensitivity * math.sqrt(measurements / (2 * (1 - share) * rho))


def _network(table, parents, score, epsilon, sensitivity, rng):
    """Pairs (attribute, parents), chosen one after another by the exponential mechanism."""
    function = dependence if score == "dependence" else mutual_information_in_counts
    known, tables = {}, {}

    def scored(attribute, group):
        """The score of `attribute` with the parents `group`, computed once: the rounds ask again for most of them."""
        if (attribute, group) not in known:
            together = tuple(sorted((attribute, *group), key=table.domain.attributes.index))
            if together not in tables:
                tables[together] = table.marginal(together)
            counts = np.moveaxis(tables[together], together.index(attribute), 0)
            known[attribute, group] = function(counts.reshape(len(counts), -1))
        return known[attribute, group]

    free = list(table.domain.attributes)
    placed = [free.pop(int(rng.integers(len(free))))]
    network = [(placed[0], ())]
    while free:
        groups = combinations(sorted(placed, key=table.domain.attributes.index), min(parents, len(placed)))
        candidates = [(attribute, group) for group in groups for attribute in free]
        scores = [scored(*candidate) for candidate in candidates]
        chosen = candidates[exponential(scores, epsilon, sensitivity, rng=rng)]
        network.append(chosen)
        free.remove(chosen[0])
        placed.append(chosen[0])
    return tuple(network)


def _measured(table, network, measurements, noise, scale, rng):
    """Noisy counts of each of the last attributes (first axis) with its parents."""
    tables = [table.marginal((attribute, *parents)) for attribute, parents in network[-measurements:]]
    return [counts + noise(counts.shape, scale, rng=rng) for counts in tables]


def _common_total(noisy) -> float:
    """The number of records, at least 1: mean of the tables' sums, whose variances are as their cells."""
    weights = [1 / values.size for values in noisy]
    return max(float(np.average([values.sum() for values in noisy], weights=weights)), 1.0)


def _consistent(network, counts):
    """One table for each attribute: those without their own get marginals of the first one measured."""
    first = len(network) - len(counts)
    axes, whole = (network[first][0], *network[first][1]), counts[0]
    # The attributes before `first` are its parents.
    derived = [
        np.einsum(whole, range(whole.ndim), [axes.index(name) for name in (attribute, *parents)])
        for attribute, parents in network[:first]
    ]
    return derived + counts


def _draw(domain, network, counts, records, rng) -> Table:
    """`records` records, each attribute drawn given its parents' values, all records at once."""
    columns: dict[str, np.ndarray] = {}
    for (attribute, parents), joint in zip(network, counts):
        size = len(joint)
        given = joint.reshape(size, -1).T  # a row for each combination of the parents' values
        # Where the parents' values were never seen, the attribute's own distribution.
        given = np.where(given.sum(axis=1, keepdims=True) > 0, given, joint.reshape(size, -1).sum(axis=1))
        cumulated = np.cumsum(given, axis=1)
        cumulated /= cumulated[:, -1:]
        row = np.zeros(records, dtype=np.intp)
        for parent in parents:
            row = row * domain.shape([parent])[0] + columns[parent]
        # Row r's cumulated shares, raised by r, follow row r-1's: one search serves all rows.
        raised = (cumulated + np.arange(len(cumulated))[:, None]).ravel()
        place = np.searchsorted(raised, row + rng.random(records), side="right")
        columns[attribute] = np.minimum(place - row * size, size - 1)
    return Table(np.stack([columns[name] for name in domain.attributes], axis=1), domain)
