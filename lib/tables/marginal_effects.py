"""Map tables on overlapping cliques to their pure effects and back, as sparse linear maps of flat arrays.

A function on a clique is a sum of effects, one for each subset of the clique. Each effect sums to zero along each of
its axes (`reconciliation`). Cliques that overlap share effects. Different arrays of potentials can give the same
function of a record, because a main effect may belong to any clique that contains its attribute. The effects of that
function are unique; `Effects` computes them for all cliques together. The effect of the empty subset, a constant, is
left out throughout.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray


def subsets(clique: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the non-empty subsets of a clique, small subsets first."""
    return [subset for k in range(1, len(clique) + 1) for subset in itertools.combinations(clique, k)]


class Effects:
    """The effects of tables on `cliques`.

    cliques : different sorted tuples of variables; sizes : number of values of each variable (a tuple)

    Flat arrays contain the tables of all cliques, or of all effects, one after another, each in C order. The effects
    are in the order of `subsets`, and the table of an effect has the axes of its subset. `slices` gives the positions
    of the effects, and `cells` is their total length.
    """

    def __init__(self, cliques: Iterable[tuple[int, ...]], sizes: Sequence[int]) -> None:
        self.subsets = sorted({subset for clique in cliques for subset in subsets(clique)})
        shapes = [tuple(sizes[v] for v in subset) for subset in self.subsets]
        ends = [0, *itertools.accumulate(map(math.prod, shapes))]
        self.slices = [slice(start, end) for start, end in zip(ends, ends[1:])]
        self.cells = ends[-1]
        start, shape = dict(zip(self.subsets, ends)), dict(zip(self.subsets, shapes))
        # A clique's cell is the sum of its cells of the effects, each spread over the rest of the clique.
        blocks: list[tuple] = []
        copies = dict.fromkeys(self.subsets, 0.0)
        for clique in cliques:
            places, weights = _spreading(shape[clique])
            within = subsets(clique)
            blocks.append((places, [start[e] for e in within], weights))
            for e, weight in zip(within, weights):
                copies[e] += weight
        self._spread = _gather(blocks, self.cells)
        self._copies = np.repeat(list(copies.values()), list(map(math.prod, shapes)))
        # Centring subtracts, with alternating signs, a table's sums over its smaller subsets.
        blocks, end = [], 0
        for of_subset in shapes:
            places, starts, weights, cells = _centring(of_subset)
            blocks.append((places, end + starts, weights))
            end += cells
        self._share = _gather(blocks, end)
        ones = np.ones_like(self._share.data)
        self._sums = scipy.sparse.csr_array((ones, self._share.indices, self._share.indptr), self._share.shape).T
        self._collect = self._spread.T  # kept, because making it takes longer than many products with it

    def of_potentials(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the effects of the function sum_c theta_c(x_c), for all cliques together."""
        return self._centred(self._collect @ theta)

    def of_counts(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the effects of `tables`, whose sums over the other variables must agree where cliques overlap."""
        return self._centred((self._collect @ tables) / self._copies)

    def spread(self, effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the tables with these `effects`, which are tables of sums, as in `of_counts`. If the effects are
        centred, this map is the transpose of `of_potentials`."""
        return self._spread @ effects

    def _centred(self, tables):
        return tables + self._share @ (self._sums @ tables)


def _gather(blocks, cells) -> scipy.sparse.csr_array:
    """Return a sparse matrix with `cells` columns; it stacks the rows of all `blocks` (places, starts, weights). In a
    block, row i has weights[t] in column starts[t] + places[i, t] for each term t; `places` has shape (rows, terms)."""
    ends = [0, *itertools.accumulate(places.size for places, _, _ in blocks)]
    columns, weights = np.empty(ends[-1], int), np.empty(ends[-1])
    for (places, starts, of_terms), start, end in zip(blocks, ends, ends[1:]):
        np.add(places, starts, out=columns[start:end].reshape(places.shape))
        weights[start:end].reshape(places.shape)[:] = of_terms
    heights, lengths = zip(*(places.shape for places, _, _ in blocks)) if blocks else ((), ())
    pointers = np.concatenate([np.zeros(1, int), np.cumsum(np.repeat(lengths, heights), dtype=int)])
    return scipy.sparse.csr_array((weights, columns, pointers), (len(pointers) - 1, cells))


@functools.lru_cache(maxsize=1024)
def _spreading(shape) -> tuple[np.ndarray, list[float]]:
    """Return the places of each cell of a table of `shape` in the tables of its effects, and the effects' weights."""
    within = subsets(range(len(shape)))
    return _places(shape)[:, 1:], [_cells(shape, subset) / math.prod(shape) for subset in within]


@functools.lru_cache(maxsize=1024)
def _centring(shape) -> tuple[np.ndarray, np.ndarray, list[float], int]:
    """Return the places of an effect's cells in the sums over smaller subsets, and the sums' starts, weights, cells."""
    within = [(), *subsets(range(len(shape)))[:-1]]
    *starts, end = itertools.accumulate((_cells(shape, subset) for subset in within), initial=0)
    weights = [(-1) ** (len(shape) - len(subset)) * _cells(shape, subset) / math.prod(shape) for subset in within]
    return _places(shape)[:, :-1], np.array(starts), weights, end


def _cells(shape, axes) -> int:
    return math.prod(shape[axis] for axis in axes)


@functools.lru_cache(maxsize=1024)
def _places(shape) -> np.ndarray:
    """Return each cell's flat positions in the tables over all subsets of the axes of `shape`, the empty set first."""
    places = []
    for subset in [(), *subsets(range(len(shape)))]:
        kept = [n if axis in subset else 1 for axis, n in enumerate(shape)]
        places.append(np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape).ravel())
    return np.stack(places, axis=1)
