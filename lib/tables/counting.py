"""List the attribute sets that AIM may measure, and count the records over these sets."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks, in_order
from .marginal_effects import subsets
from .table import Domain

Workload = int | Iterable[Collection[str]] | Mapping[Any, float]

_KEPT = 2**26  # cells of a table's marginals that are kept, at four or eight bytes each


class Counted(Protocol):
    """Records that can be counted over a `domain`: a `Table`, or a `lib.release.Counter` for records in batches."""

    domain: Domain

    def marginal(self, attributes: Collection[str]) -> NDArray[np.int64]: ...
    def __len__(self) -> int: ...


def requested(domain: Domain, workload: Workload, most: int) -> dict[tuple[int, ...], float]:
    """Return the non-empty sets of the workload, as sorted positions in the `domain`, with their weights c_s.

    workload : as for `downward_closure`, but k is at most `most`
    """
    if isinstance(workload, Mapping):
        weights = {tuple(sorted(domain.axes(names))): checks.number("workload weight", c, "[1e-100, 1e100]")
                   for names, c in workload.items()}  # fmt: skip
    else:
        if isinstance(workload, (int, np.integer)):
            k = checks.whole("workload", workload, f"[1, {most}]")
            workload = itertools.combinations(domain.attributes, k)
        weights = {tuple(sorted(domain.axes(names))): 1.0 for names in workload}
    weights.pop((), None)
    if not weights:
        raise ValueError("workload must contain a non-empty set of attributes")
    return weights


def downward_closure(domain: Domain, workload: Workload) -> dict[tuple[int, ...], float]:
    """Return the candidates r, all non-empty subsets of the workload's sets s, with weights w_r = sum_s c_s |r & s|.

    domain : `Domain`; workload : k for all sets of k attributes, a collection of attribute sets, or a mapping from
        attribute sets to weights c_s in [1e-100, 1e100]

    A candidate is a clique, the sorted tuple of the positions of its attributes in the domain; small cliques come
    first.
    Source: miura2025, Algorithm 2, line 7.
    """
    weights = requested(domain, workload, len(domain))
    ordered = sorted({r for s in weights for r in subsets(s)}, key=lambda r: (len(r), r))
    sets, holding = list(weights.items()), [set[int]() for _ in domain.sizes]
    for number, (s, _) in enumerate(sets):
        for v in s:
            holding[v].add(number)
    meeting = {r: (sets[number] for number in sorted(set.union(*(holding[v] for v in r)))) for r in ordered}
    return {r: in_order.total(c * len(set(r) & set(s)) for s, c in met) for r, met in meeting.items()}


class Counts:
    """The marginals of a table over `sets` of its attributes. Each marginal is counted when it is requested.

    The smallest marginals, up to a fixed total number of cells, are cached. Other marginals are counted at each call.
    Which marginals are cached depends only on the domain and the sets, not on the records.
    """

    def __init__(self, table: Counted, sets: Iterable[tuple[str, ...]]) -> None:
        self._table, self._kept = table, dict[tuple, np.ndarray | None]()
        holds = getattr(table, "holds", None)  # a counter has counts over some sets only
        for attributes in sets:  # now, before any budget is spent
            if holds is not None and not holds(attributes):
                raise ValueError(f"table must have counted all candidates, got one that has not counted {attributes}")
        cells = 0
        for attributes in sorted(sets, key=table.domain.size):
            cells += table.domain.size(attributes)
            if cells > _KEPT:
                break
            self._kept[attributes] = None
        self._type = np.min_scalar_type(-len(table) - 1)

    def __call__(self, attributes: tuple[str, ...]) -> NDArray[np.int64]:
        """Return the counts over `attributes`, an array of 64-bit integers with one axis for each attribute."""
        counts = self._kept.get(attributes)
        if counts is None:
            counts = self._table.marginal(attributes)
            if attributes in self._kept:
                self._kept[attributes] = counts.astype(self._type)
        return counts.astype(np.int64, copy=False)
