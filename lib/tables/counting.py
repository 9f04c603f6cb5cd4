"""Counts of many sets of attributes, in bounded memory."""

from __future__ import annotations

import itertools

import numpy as np

from .table import Table

KEPT_CELLS = 2**26  # counts of a table's marginals that are kept, in four or eight bytes each


class Counts:
    """The marginals of a table by clique, counted when they are first asked for.

    names : mapping from cliques to their attributes

    Those of a `Table` are kept as far as the smallest of them have `KEPT_CELLS` cells together, and the others are counted
    each time. Which these are depends on the domain alone.
    """

    def __init__(self, table, names):
        self._table, self._names, self._kept = table, names, dict[tuple, np.ndarray | None]()
        if isinstance(table, Table):
            cells = {clique: table.domain.size(attributes) for clique, attributes in names.items()}
            ordered = sorted(cells, key=cells.__getitem__)
            fitting = np.cumsum([cells[clique] for clique in ordered]) <= KEPT_CELLS
            self._kept = dict.fromkeys(itertools.compress(ordered, fitting))
        self._type = np.min_scalar_type(-len(table) - 1)

    def __getitem__(self, clique) -> np.ndarray:
        """Counts, 64-bit integers with the clique's axes."""
        counts = self._kept.get(clique)
        if counts is None:
            counts = self._table.marginal(self._names[clique])
            if clique in self._kept:
                self._kept[clique] = counts.astype(self._type)
        return counts.astype(np.int64, copy=False)
