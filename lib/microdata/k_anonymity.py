"""k-anonymity by generalization and by suppression of records: the two baselines of hasegawa2015, section 5.

- `generalize`: full-domain generalization (all values of an attribute at one level of its hierarchy) with the smallest
  loss, by an exact search of the lattice of levels; with `max_suppression`, records in small classes may be left out
- `suppress`: suppression of every record whose class is smaller than k
- `class_sizes`, `anonymity`: the sizes of a table's classes and the table's k (Sweeney 2002)

The classes of every returned table are counted again, to check that it is k-anonymous.

The search. A node x gives a level for each attribute. The loss G(x) of the table with nothing left out has one term
for each attribute. So G is known for every node, and increases with the levels. The set S(x) of records that must be
left out contains all classes smaller than k. Classes merge as levels rise, so S shrinks. A record left out counts as
fully generalized. So for n records, where g_i(x) is the loss of record i,

    L(x) = G(x) + p(x),  p(x) = 1/n sum over S(x) of (1 - g_i(x)),  and p(x) = infinity where S(x) is larger than permitted.

As levels rise, S(x) shrinks and so do the terms of the sum, so p decreases. Once p(y) is known, every node x <= y has
L(x) >= G(x) + p(y), and every node x >= y has p(x) <= p(y). This is predictive tagging in both directions (LeFevre,
DeWitt and Ramakrishnan, Incognito, SIGMOD 2005) with a bound in place of a yes-or-no answer. Nodes are taken in order
of increasing G. A node is evaluated if its bound does not exceed the best loss so far. If the node turns out to be
worse than the best one, it is raised, attribute by attribute, as long as p stays large enough to rule out the original
node. The p of the last node then rules out all nodes below the last node.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks
from ..numerics.extras import extra
from .hierarchies import Hierarchy, apply

with extra("classifiers"):
    import pandas as pd

LOSSES = ("lm", "precision")
MAX_NODES = 10_000_000
SPARSE = 4  # up to this number of places for each record, counting empty classes is faster than leaving them out
# The rows and the number of records of a node that leaves out more than is allowed.
REFUSED = np.zeros(0, dtype=int), math.inf
TIE = 1e-12  # losses that differ by at most 1e-12 count as equal, because rounding depends on the order of a sum


@dataclass(frozen=True)
class Suppression:
    """A table made k-anonymous by leaving records out.

    levels : mapping from attribute to its level, in the order of the attributes
    frame : the remaining records, generalized, with their original index; other columns are unchanged
    suppressed : (n,), True for each record left out
    """

    levels: dict
    frame: pd.DataFrame
    suppressed: np.ndarray

    @property
    def suppressed_share(self) -> float:
        """Return the proportion of records left out, in [0, 1]."""
        return float(self.suppressed.mean())


@dataclass(frozen=True)
class Generalization(Suppression):
    """A table made k-anonymous by `generalize`.

    loss : in [0, 1], by the chosen measure. Every cell of a record that is left out has loss 1
    nodes, checked : the number of nodes in the lattice, and the number of nodes whose classes were counted (over all
        attributes, or over some attributes that already leave out too many records)
    """

    loss: float
    nodes: int
    checked: int


def generalize(records: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], k: int, *, max_suppression: float = 0.0,
               loss: str = "lm") -> Generalization:  # fmt: skip
    """Return the k-anonymous full-domain generalization with the smallest loss.

    records : frame of n >= 1 records. Columns without a hierarchy are returned unchanged
    hierarchies : mapping from each quasi-identifier to its `hierarchies.Hierarchy`
    k : integer in [1, n]
    max_suppression : in [0, 1], the largest proportion of records that may be left out; they are in classes smaller
        than k
    loss : the mean over all cells to minimize: "lm", (values in the group - 1)/(values of the attribute - 1)
        (Iyengar, KDD 2002), or "precision", level/height (1 - Prec of Sweeney, Int. J. Uncertain. Fuzz. 10(5), 2002)

    Among nodes with equal loss (to 1e-12), `generalize` takes the node that leaves out the fewest records. If these
    numbers are also equal, it takes the node whose levels come first in lexicographic order. Raises ``ValueError`` for
    a hierarchy that lacks a value, an attribute that `records` lacks, or a lattice of more than 10^7 nodes.

    >>> import pandas as pd
    >>> from lib.microdata.hierarchies import adult
    >>> from lib.microdata.k_anonymity import anonymity, generalize
    >>> frame = pd.DataFrame({"age": [23, 25, 41, 47], "sex": ["Male", "Female", "Male", "Male"]})
    >>> found = generalize(frame, adult(["age", "sex"]), k=2)
    >>> print(anonymity(found.frame, ["age", "sex"]), found.levels)
    2 {'age': 2, 'sex': 1}
    """
    names = _columns(records, hierarchies)
    k = _level_k(k, records)
    share = checks.number("max_suppression", max_suppression, "[0, 1]")
    checks.one_of("loss", loss, LOSSES)
    lattice = _Lattice(records, hierarchies, k, math.floor(share * len(records) + 1e-9), loss)
    node = _search(lattice)
    made = _made(records, hierarchies, dict(zip(names, node)), names, k)
    return Generalization(**made, loss=lattice.loss(node), nodes=lattice.rising.size, checked=len(lattice.known))


def suppress(records: pd.DataFrame, k: int, *, attributes: Collection[str], levels: Mapping[str, int] | None = None,
             hierarchies: Mapping[str, Hierarchy] | None = None) -> Suppression:  # fmt: skip
    """Return `records` without those that share their values of `attributes` with fewer than k - 1 other records.

    records : frame of n >= 1 records; k : integer in [1, n]; attributes : names of columns, at least one
    levels : mapping from attribute to the level to which it is first generalized. The result contains the labels of
        that level
    hierarchies : mapping from each attribute in `levels` to its `Hierarchy`. By default nothing is generalized

    >>> import pandas as pd
    >>> from lib.microdata.k_anonymity import suppress
    >>> frame = pd.DataFrame({"sex": ["Male", "Female", "Male", "Male"]})
    >>> print(len(suppress(frame, 2, attributes=["sex"]).frame))
    3
    """
    names = _columns(records, attributes)
    k = _level_k(k, records)
    levels = dict(levels or {})
    for name in levels:
        checks.one_of("attribute of levels", name, names)
    return Suppression(**_made(records, hierarchies or {}, levels, names, k))


def _made(records, hierarchies, levels, names, k) -> dict:
    """Generalize, leave out the classes smaller than `k`, and return the fields of a `Suppression`."""
    generalized = apply(records, hierarchies, levels)
    suppressed = class_sizes(generalized, names) < k
    frame = generalized[~suppressed]
    if len(frame) and anonymity(frame, names) < k:
        raise RuntimeError(f"a class of the result has fewer than {k} records: this is a defect of the method")
    return {
        "levels": {name: int(levels.get(name, 0)) for name in names},
        "frame": frame,
        "suppressed": suppressed,
    }


def class_sizes(frame: pd.DataFrame, attributes: Collection[str]) -> NDArray[np.int64]:
    """Return, for each record, the number of records (itself included) that share its values of `attributes`, (n,)."""
    columns = [pd.factorize(frame[name], use_na_sentinel=False) for name in _columns(frame, attributes)]
    classes = _classes([(codes.astype(np.int64), len(distinct)) for codes, distinct in columns])
    return np.bincount(classes)[classes]


def anonymity(frame: pd.DataFrame, attributes: Collection[str]) -> int:
    """Return the largest k for which `frame` (n >= 1 records) is k-anonymous in `attributes`.

    This k is the size of the smallest class.
    """
    if len(frame) == 0:
        raise ValueError("frame must not be empty")
    return int(class_sizes(frame, attributes).min())


def _columns(frame, attributes) -> tuple:
    attributes = tuple(attributes)
    if not attributes:
        raise ValueError("attributes must not be empty")
    for name in attributes:
        checks.one_of("attributes", name, tuple(frame.columns))
    return attributes


def _level_k(k, records) -> int:
    if len(records) == 0:
        raise ValueError("records must not be empty")
    return checks.whole("k", k, f"[1, {len(records)}]")


def _classes(columns) -> np.ndarray:
    """Return each row's class, numbered by first occurrence. columns : pairs (codes (n,), number of codes), >= 1"""
    key, span = columns[0]
    for codes, size in columns[1:]:
        if span * size > 2**62:
            key, span = pd.factorize(key)[0], len(key)
        key, span = key * size + codes, span * size
    return pd.factorize(key)[0]


class _Lattice:
    """The nodes, tuples of levels, and what is known about each of them; see the module's docstring.

    rising : G of every node; lower, upper : bounds on p of every node. Each array has an axis for each attribute
    known : mapping from each node that was counted to its p and the number of records left out
    """

    def __init__(self, records, hierarchies, k, allowed, loss):
        self.k, self.allowed, self.n = k, allowed, len(records)
        self.shape = tuple(hierarchy.height + 1 for hierarchy in hierarchies.values())
        if math.prod(self.shape) > MAX_NODES:
            raise ValueError(
                f"hierarchies must have at most {MAX_NODES} combinations of levels, got {math.prod(self.shape)}"
            )
        rows, weights = np.unique(
            np.column_stack([hierarchy.codes(records[name], 0) for name, hierarchy in hierarchies.items()]),
            axis=0,
            return_counts=True,
        )
        self.weights, self.known = weights.astype(float), {}
        self._number = np.min_scalar_type(self.n)  # of class numbers: small, as thousands of arrays are kept
        # The row of each record, beginning with each row once, so that counting needs no weights.
        self._records = np.concatenate([np.arange(len(rows)), np.repeat(np.arange(len(rows)), weights - 1)])
        self._attributes = []  # for each attribute and level: codes of the records, number of codes, losses of the rows
        self.rising = np.zeros(self.shape)
        for axis, hierarchy in enumerate(hierarchies.values()):
            levels = [self._level(hierarchy, rows[:, axis], level, loss) for level in range(hierarchy.height + 1)]
            means = np.array([self.weights @ losses / self.n for _, _, losses in levels])
            self.rising += np.expand_dims(means, tuple(other for other in range(len(self.shape)) if other != axis))
            self._attributes.append([(codes[self._records], many, losses) for codes, many, losses in levels])
        self.lower, self.upper = np.zeros(self.shape), np.full(self.shape, math.inf)
        axes = range(len(self.shape))
        self._halves = axes[: len(axes) // 2], axes[len(axes) // 2 :]
        self._half = functools.cache(self._half_classes)

    def _level(self, hierarchy, values, level, loss):
        groups = hierarchy.positions[level][values]
        codes, distinct = pd.factorize(groups)
        cells = hierarchy.losses(level)[groups] if loss == "lm" else np.full(len(groups), level / hierarchy.height)
        return codes.astype(self._number), len(distinct), cells / len(self.shape)

    def by_groups(self) -> list[int]:
        """Return the axes, most values first, because raising the axes with most values merges the most classes."""
        return sorted(range(len(self.shape)), key=lambda axis: -self._attributes[axis][0][1])

    def p(self, node) -> float:
        """Return p (see the module's docstring), counting the classes only if p is not yet known."""
        if node not in self.known:
            self.known[node] = self._count(node)
        return self.known[node][0]

    def exceeds(self, node, need) -> bool:
        """Return whether p(node) > need. If the bounds do not decide this, count the classes; if p(node) is not above
        `need`, record it as an upper bound for the nodes above."""
        if self.lower[node] > need or not self.upper[node] > need:
            return bool(self.lower[node] > need)
        if self.p(node) > need:
            return True
        above = self.upper[tuple(slice(level, None) for level in node)]
        np.minimum(above, self.p(node), out=above)
        return False

    def rule_out(self, node) -> None:
        """Record p(node) as a lower bound of p for all nodes with levels no higher than those of `node`."""
        below = self.lower[tuple(slice(None, level + 1) for level in node)]
        np.maximum(below, self.p(node), out=below)

    def total(self, node) -> float:
        """Return the loss L."""
        return self.rising[node] + self.p(node)

    def loss(self, node) -> float:
        """Return the loss L, summed over attributes in their order, so that earlier counts do not affect it."""
        return float(self.rising[node] + self._penalty(node, self._left_out(node)[0]))

    def _penalty(self, node, rows) -> float:
        left = 1 - sum(attribute[level][2][rows] for attribute, level in zip(self._attributes, node))
        return float(self.weights[rows] @ left / self.n)

    def _count(self, node) -> tuple[float, float]:
        rows, gone = self._left_out(node)
        if gone > self.allowed:
            return math.inf, gone
        return self._penalty(node, rows), gone

    def _left_out(self, node) -> tuple[np.ndarray, float]:
        """Return the rows that must be left out and the number of their records, or `REFUSED` if there are too many."""
        # Few nodes have all levels in common, but many have half of them in common.
        first, second = (self._half(half, node[half.start : half.stop]) for half in self._halves)
        (key, many, by_first), (other, few, by_second) = first, second
        if max(by_first, by_second) > self.allowed:  # classes by all attributes are at most as large as by half of them
            return REFUSED
        places = many * few
        classes = _pairs(key, few, other, places)
        if places > SPARSE * self.n:
            # Classes that share a place count as one, so this number of records is at most the true one.
            if self._small(np.bincount(classes % (SPARSE * self.n + 1)))[1] > self.allowed:
                return REFUSED
            classes = pd.factorize(classes)[0]
        small, gone = self._small(np.bincount(classes))
        if gone > self.allowed:
            return REFUSED
        return np.flatnonzero(small[classes[: len(self.weights)]]), gone

    def _small(self, counts) -> tuple[np.ndarray, float]:
        """Return which classes, given their numbers of records, are smaller than k, and the number of their records."""
        large = counts >= self.k
        return ~large, float(self.n - counts[large].sum())

    def _half_classes(self, axes: range, levels: tuple[int, ...]) -> tuple[np.ndarray, int, float]:
        """Return each record's class by `axes`, the number of classes, and the number of records in small ones.

        If the first few `axes` already leave out too many records, the results are for these axes alone.
        """
        if not axes:
            return np.zeros(self.n, dtype=self._number), 1, 0.0
        classes, many, gone = self._half(axes[:-1], levels[:-1])
        if gone > self.allowed:
            return classes, many, gone
        codes, few, _ = self._attributes[axes[-1]][levels[-1]]
        pairs = _pairs(classes, few, codes, many * few)
        if many * few > SPARSE * self.n:
            pairs = pd.factorize(pairs)[0]
        counts = np.bincount(pairs)
        numbers = np.cumsum(counts > 0)  # of the classes that occur, from 1
        return (numbers - 1).astype(self._number)[pairs], int(numbers[-1]), self._small(counts)[1]


def _pairs(first, few, second, places) -> np.ndarray:
    """Return, for each pair of codes, a distinct integer below `places`; the second codes are below `few`."""
    pairs = np.multiply(first, few, dtype=np.uint16 if places < 2**16 else np.int64)  # codes of two bytes are faster
    pairs += second
    return pairs.astype(np.intp, copy=False)  # numpy's type for look-ups, so that no look-up converts again


def _search(lattice) -> tuple[int, ...]:
    """Return the node with the smallest loss; ties are broken as in `generalize`."""
    best = _descend(lattice)
    rising, lower = lattice.rising.ravel(), lattice.lower.ravel()  # views, which show new bounds at once
    for block in _graded(rising, best + TIE):
        block = block[rising[block] + lower[block] <= best + TIE]
        for index in block[np.argsort(rising[block], kind="stable")]:
            need = best + TIE - rising[index]
            if lower[index] <= need:
                node = tuple(map(int, np.unravel_index(index, lattice.shape)))
                if lattice.p(node) <= need:
                    best = min(best, lattice.total(node))
                else:
                    _push_upwards(lattice, node, need)
    equal = [node for node, (penalty, _) in lattice.known.items() if lattice.rising[node] + penalty <= best + TIE]
    return min(equal, key=lambda node: (lattice.known[node][1], node))


def _graded(rising, most) -> list[np.ndarray]:
    """Return the nodes whose loss `rising`, in [0, 1], is at most `most`, in blocks of increasing losses."""
    nodes = np.flatnonzero(rising <= most)
    # Sorting bytes is fast, and most nodes are ruled out before the order within their block matters.
    grades = (rising[nodes] * 255).astype(np.uint8)
    order = np.argsort(grades, kind="stable")
    return np.split(nodes[order], np.flatnonzero(np.diff(grades[order])) + 1)


def _push_upwards(lattice, node, need) -> None:
    """Raise `node` as long as its p exceeds `need`, and update the bounds of all nodes below the last one."""
    for axis in lattice.by_groups():
        levels = range(lattice.shape[axis] - 1, node[axis], -1)
        higher = (node[:axis] + (level,) + node[axis + 1 :] for level in levels)
        node = next((one for one in higher if lattice.exceeds(one, need)), node)
    if node in lattice.known:  # otherwise a node above it has been ruled out already
        lattice.rule_out(node)


def _descend(lattice) -> float:
    """Descend from the top node, one level at a time, as long as the loss decreases, and return the last loss."""
    node = tuple(size - 1 for size in lattice.shape)
    while True:
        steps = [node[:axis] + (level - 1,) + node[axis + 1 :] for axis, level in enumerate(node) if level]
        lowest = min(steps, key=lattice.total, default=node)
        if lattice.total(lowest) >= lattice.total(node):
            return lattice.total(node)
        node = lowest
