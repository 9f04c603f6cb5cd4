"""The cost of the reconstructions of hasegawa2015, Table 1: operations, counted while they are carried out on small tables.

A count has no noise, and its growth is exact. Each function does the work, returns the result, and adds the operations
that it needed to a `Tally`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lib.microdata import algorithm_1
from lib.microdata.perturbation import Perturbation, RetentionReplacement

CATEGORIES = 3  # of each attribute


@dataclass
class Tally:
    """The cost so far.

    operations : the number of multiplications, additions to a table, or evaluations
    numbers : the number of numbers that must be stored
    """

    operations: int = 0
    numbers: int = 0


class Counted:
    """A matrix that reports to a `Tally` the multiplications of its products."""

    def __init__(self, matrix, tally):
        self.matrix, self.tally, self.shape = matrix, tally, matrix.shape

    @property
    def T(self):
        return Counted(self.matrix.T, self.tally)

    def __matmul__(self, vector):
        self.tally.operations += self.matrix.size
        return self.matrix @ vector


def table(n, m, *, rng) -> tuple[Perturbation, np.ndarray]:
    """Return a perturbation of `m` attributes, and `n` records that it has perturbed."""
    weak = Perturbation({f"a{j}": RetentionReplacement(CATEGORIES, 0.5) for j in range(m)})
    return weak, weak.perturb(rng.integers(CATEGORIES, size=(n, m)), rng=rng)


def dummies(records) -> np.ndarray:
    """Return Y of section 3.2: the 0/1 columns of the records, (n, M')."""
    return np.concatenate([np.eye(CATEGORIES)[column] for column in records.astype(int).T], axis=1)


def densities(perturbation, records, tally) -> np.ndarray:
    """Return P by equation 13, with one operation for each pair of records and each attribute."""
    P = np.ones((len(records), len(records)))
    for mechanism, column in zip(perturbation.mechanisms.values(), records.T):
        P *= mechanism.density(column[:, None], column)
        tally.operations += P.size
    tally.numbers += P.size
    return P


def kernel(records, width, tally) -> np.ndarray:
    """Return K. For each pair of records, each attribute adds 2 to the squared distance if its categories differ."""
    squared = np.zeros((len(records), len(records)))
    for column in records.T:
        squared += 2 * (column[:, None] != column)
        tally.operations += squared.size
    tally.numbers += squared.size
    return np.exp(-squared / width)


def beforehand(P, records, tally) -> np.ndarray:
    """Return P Y without forming Y, by adding each entry of P to one cell for each attribute of the record."""
    product = np.zeros((len(P), records.shape[1] * CATEGORIES))
    for j, column in enumerate(records.astype(int).T):
        np.add.at(product.T, CATEGORIES * j + column, P.T)
        tally.operations += P.size
    tally.numbers += product.size
    return product


def iteration(P, K) -> int:
    """Return the multiplications of one iteration of Algorithm 1, for given P and K."""
    counts = []
    for iterations in (1, 2):
        tally = Tally()
        algorithm_1(Counted(P, tally), Counted(K, tally), rate=1e-9, tol=0, max_iter=iterations)
        counts.append(tally.operations)
    return counts[1] - counts[0]


def gradient(product, alpha, tally) -> np.ndarray:
    """Return the gradient of an iteration from P Y alone: Y^T P^T (1/P Y alpha)."""
    A = Counted(product, tally)
    return A.T @ (1 / (A @ alpha))


def expectation_maximisation(shares, observed, rho, tally) -> np.ndarray:
    """Return a histogram (c, ..., c) after a step of iterative Bayes for retention-replacement.

    The step needs a sum and a multiple along each axis.
    """

    def applied(cells):
        for axis in range(cells.ndim):
            cells = rho * cells + (1 - rho) / cells.shape[axis] * cells.sum(axis=axis, keepdims=True)
            tally.operations += 2 * cells.size  # a multiplication for each cell, an addition to a sum
        return cells

    ratio = observed / applied(shares) / observed.sum()
    tally.operations += 2 * ratio.size
    return shares * applied(ratio)


def growth(count, **sizes) -> dict:
    """Return, for each of `sizes`, the factor by which ``count(**sizes)`` grows if this size is doubled."""
    base = count(**sizes)
    return {name: count(**(sizes | {name: 2 * size})) / base for name, size in sizes.items()}


def within(grown, printed) -> bool:
    """Return whether each factor in `grown`, a result of `growth`, is at most the factor in `printed`, by the printed order."""
    return all(grown[name] <= printed[name] * (1 + 1e-12) for name in printed)


# ---------------------------------------------------------------- Table 1


def initial_kernel(n, m) -> int:
    """Return the number of operations that form P and K."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    tally = Tally()
    densities(weak, records, tally), kernel(records, 1.0, tally)
    return tally.operations


def space_kernel(n, m) -> int:
    """Return how many numbers the iterations must store: P and K."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    tally = Tally()
    densities(weak, records, tally), kernel(records, 1.0, tally)
    return tally.numbers


def initial_linear(n, m, *, product) -> int:
    """Return the number of operations that form P and, if `product`, P Y."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    tally = Tally()
    P = densities(weak, records, tally)
    if product:
        beforehand(P, records, tally)
    return tally.operations


def loop_kernel(n, m) -> int:
    """Return the number of multiplications in an iteration."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    return iteration(densities(weak, records, Tally()), kernel(records, 1.0, Tally()))


def loop_linear(n, m, *, product) -> int:
    """Return the number of multiplications in an iteration of Algorithm 1 or, if `product`, in its gradient from P
    Y."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    P, Y = densities(weak, records, Tally()), dummies(records)
    if not product:
        return iteration(P, Y)
    tally = Tally()
    gradient(beforehand(P, records, Tally()), np.ones(Y.shape[1]), tally)
    return tally.operations


def space_linear(n, m, *, product) -> int:
    """Return how many numbers the iterations must store: P and Y or, if `product`, P Y."""
    weak, records = table(n, m, rng=np.random.default_rng(1))
    tally = Tally()
    P = densities(weak, records, tally)
    if not product:
        return tally.numbers + dummies(records).size
    tally = Tally()
    beforehand(P, records, tally)
    return tally.numbers


def loop_bayes(m) -> int:
    """Return the number of operations in a step on the histogram of `m` attributes."""
    tally, cells = Tally(), np.ones(m * (CATEGORIES,))
    expectation_maximisation(cells / cells.size, cells, 0.5, tally)
    return tally.operations
