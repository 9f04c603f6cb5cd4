"""Tables on overlapping cliques and their pure effects, as sparse linear maps of flat arrays.

A function on a clique is a sum of effects, one for each subset of the clique, that sum to zero along
each of their axes (`reconciliation`). Cliques that overlap share effects: potentials that are
different arrays can be the same function of a record, for a main effect may stand in any clique
with that attribute. `Effects` sees through this, for all cliques at once. The effect of the empty
subset, a constant, is left out throughout.
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
    """The non-empty subsets of a clique, small ones first.

    >>> from lib.tables.marginal_effects import subsets
    >>> print(list(subsets((0, 1))))
    [(0,), (1,), (0, 1)]
    """
    return [subset for k in range(1, len(clique) + 1) for subset in itertools.combinations(clique, k)]


class Effects:
    """The effects of tables on `cliques`, different sorted tuples of variables of `sizes` (a tuple).

    Flat arrays hold the tables of one clique after the other, or of one effect after the other
    (`subsets`; its table has the axes of the subset), each in C order. `slices` are the places of the
    effects, `cells` the length of all together.
    """

    def __init__(self, cliques: Iterable[Sequence[int]], sizes: Sequence[int]) -> None:
        size = functools.cache(lambda variables: math.prod(sizes[v] for v in variables))
        self.subsets = sorted({subset for clique in cliques for subset in subsets(clique)})
        ends = [0, *itertools.accumulate(map(size, self.subsets))]
        self.slices = [slice(start, end) for start, end in zip(ends, ends[1:])]
        self.cells = ends[-1]
        start = dict(zip(self.subsets, ends))
        # Each cell of a clique takes up its cells of the effects, spread over the rest of the clique.
        terms = [[(start[e], e, size(e) / size(c)) for e in subsets(c)] for c in cliques]
        self._spread = _gather(cliques, terms, self.cells, sizes)
        copies = dict.fromkeys(self.subsets, 0.0)
        for clique in cliques:
            for e in subsets(clique):
                copies[e] += size(e) / size(clique)
        self._copies = np.repeat([copies[e] for e in self.subsets], [size(e) for e in self.subsets])
        # Centring takes away, with alternating signs, a table's sums over its smaller subsets.
        terms, end = [], 0
        for e in self.subsets:
            terms.append([])
            for smaller in [(), *subsets(e)[:-1]]:
                terms[-1].append((end, smaller, (-1) ** (len(e) - len(smaller)) * size(smaller) / size(e)))
                end += size(smaller)
        self._share = _gather(self.subsets, terms, end, sizes)
        ones = np.ones_like(self._share.data)
        self._sums = scipy.sparse.csr_array((ones, self._share.indices, self._share.indptr), self._share.shape).T
        self._collect = self._spread.T  # kept: making it takes longer than many a product with it

    def of_potentials(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The effects of the function sum_c theta_c(x_c), whichever cliques they stand in."""
        return self._centred(self._collect @ theta)

    def of_counts(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """The effects, as sums, of tables that agree where their cliques overlap."""
        return self._centred((self._collect @ tables) / self._copies)

    def spread(self, effects: NDArray[np.float64]) -> NDArray[np.float64]:
        """The tables that have these effects, as sums: the transpose of `of_potentials`, for centred `effects`."""
        return self._spread @ effects

    def _centred(self, tables):
        return tables + self._share @ (self._sums @ tables)


def _gather(cliques, terms, cells, sizes) -> scipy.sparse.csr_array:
    """The matrix with a row for each cell of `cliques` and, for each term (start, subset, weight) of
    the clique, that weight in the column of the subset's table, which begins at `start`, for the
    cell's values of the subset."""
    columns, weights, lengths = [np.empty(0, int)], [np.empty(0)], [np.zeros(1, int)]
    for clique, of_clique in zip(cliques, terms):
        shape = tuple(sizes[v] for v in clique)
        places = [start + _projection(shape, tuple(v in subset for v in clique)) for start, subset, _ in of_clique]
        columns.append(np.stack(places, axis=1).ravel())
        weights.append(np.tile([weight for _, _, weight in of_clique], math.prod(shape)))
        lengths.append(np.full(math.prod(shape), len(of_clique)))
    pointers = np.cumsum(np.concatenate(lengths))
    return scipy.sparse.csr_array(
        (np.concatenate(weights), np.concatenate(columns), pointers), (len(pointers) - 1, cells)
    )


@functools.lru_cache(maxsize=4096)
def _projection(shape, kept) -> np.ndarray:
    """For each cell of a table of `shape`, the flat position of its cell in the table of the axes `kept`."""
    smaller = np.arange(math.prod(n for n, keep in zip(shape, kept) if keep))
    return np.broadcast_to(smaller.reshape([n if keep else 1 for n, keep in zip(shape, kept)]), shape).ravel()
