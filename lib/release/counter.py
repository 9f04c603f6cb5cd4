"""Count records over many sets of attributes in one pass; the memory does not depend on the number of records.

`Counter` adds records batch by batch; counters for parts of the records can be added. `aim` accepts a counter in place of
a `Table`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..tables.counting import Workload, downward_closure
from ..tables.table import Domain, checked_codes

_TOGETHER = 2**14  # largest table in which sets are counted together, so that it stays in the processor's cache
_AT_A_TIME = 2**14  # records counted at a time, for the same reason


class Counter:
    """Records counted over sets of attributes; a new counter is empty.

    domain : `Domain`
    workload : the sets, as for `aim`: k for all sets of k attributes, a collection of sets, or a mapping whose keys are
        sets
    max_cells : [1, inf). A set with more cells is not counted, but its smaller subsets are

    >>> import numpy as np
    >>> from lib.release import Counter
    >>> from lib.tables import Domain
    >>> counter = Counter(Domain({"sex": 2, "age": 5}))
    >>> counter.add({"sex": np.array([0, 1, 1]), "age": np.array([4, 0, 4])})
    >>> len(counter), counter.marginal(["sex"])
    (3, array([1, 2]))

    `len(counter)` is the number of records. The statement ``counter += other`` adds the records of another counter with
    the same domain and sets. A cell takes eight bytes. Small sets are counted together, in the table of a larger set.

    Raises ``ValueError`` for a workload without sets, for attributes that the domain lacks, and if all sets are too large.
    """

    def __init__(self, domain: Domain, workload: Workload = 2, *, max_cells: int = 10_000_000) -> None:
        max_cells = checks.whole("max_cells", max_cells, "[1, inf)")
        wanted = [clique for clique in downward_closure(domain, workload) if _cells(clique, domain.sizes) <= max_cells]
        if not wanted:
            raise ValueError(f"max_cells must be at least {min(domain.sizes)}, got {max_cells}")
        self.domain, self._records = domain, 0
        self._block = _blocks(tuple(wanted), domain.sizes)  # from set to the set whose table contains it
        self._counts = {block: np.zeros(_cells(block, domain.sizes), np.int64) for block in self._block.values()}
        self._columns = sorted({v for block in self._counts for v in block})

    def add(self, batch: Mapping[str, ArrayLike]) -> None:
        """Count the records of a batch.

        batch : mapping from each attribute that is counted to its codes, integer arrays (n,); other keys are ignored

        Raises ``ValueError`` for an absent attribute, columns of different lengths, and a code outside the domain. For
        such a code, the message gives the number of its record among all records added, counted from 0. After an error,
        no record of the batch is counted.
        """
        columns = {v: self._column(batch, v) for v in self._columns}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"batch must contain columns of equal length, got {sorted(lengths)}")
        (n,) = lengths
        for start in range(0, n, _AT_A_TIME):
            part = {v: column[start : start + _AT_A_TIME].astype(np.intp) for v, column in columns.items()}
            for block, counts in self._counts.items():
                cells = np.zeros_like(part[block[0]])
                for v in block:
                    cells *= self.domain.sizes[v]
                    cells += part[v]
                np.add.at(counts, cells, 1)
        self._records += n

    def _column(self, batch, v) -> np.ndarray:
        name = self.domain.attributes[v]
        if name not in batch:
            raise ValueError(f"batch must contain the attribute {name!r}, got {', '.join(map(repr, batch)) or 'none'}")
        codes = np.asarray(batch[name])
        if codes.ndim != 1:
            raise ValueError(f"column {name!r} must have shape (n,), got {codes.shape}")
        return checked_codes(name, self.domain.sizes[v], codes, first=self._records)

    def __iadd__(self, other: Counter) -> Counter:
        if not isinstance(other, Counter):
            return NotImplemented
        if other.domain != self.domain or other._block != self._block:
            raise ValueError(
                f"counters must have equal sets and the domain {self.domain!r}, got one with {other.domain!r}"
            )
        for block, counts in self._counts.items():
            counts += other._counts[block]
        self._records += other._records
        return self

    def marginal(self, attributes: Collection[str]) -> NDArray[np.int64]:
        """Return counts over `attributes`, integers of shape ``domain.shape(attributes)``; 0-d for no attributes.

        Raises ``ValueError`` if no counted set contains all `attributes`.
        """
        axes = self.domain.axes(attributes)
        if not self.holds(attributes):
            raise ValueError(f"attributes must all be in one of the counted sets, got {tuple(attributes)}")
        block = self._block[tuple(sorted(axes))]
        counts = self._counts[block].reshape([self.domain.sizes[v] for v in block])
        counts = counts.sum(axis=tuple(axis for axis, v in enumerate(block) if v not in axes), dtype=np.int64)
        return np.asarray(counts).transpose([sorted(axes).index(axis) for axis in axes])

    def holds(self, attributes: Collection[str]) -> bool:
        """Return whether the records were counted over `attributes`."""
        return tuple(sorted(self.domain.axes(attributes))) in self._block

    def __len__(self) -> int:
        return self._records


def _cells(clique, sizes) -> int:
    return math.prod(sizes[v] for v in clique)


@functools.lru_cache(maxsize=8)
def _blocks(cliques, sizes) -> dict:
    """Return a mapping from each clique, and the empty clique, to a set of attributes that contains it; the sets are few.

    Large cliques are unchanged. A small clique is extended repeatedly, as far as `_TOGETHER` allows, by the attribute
    that completes the most other cliques.
    """
    left = sorted(cliques, key=lambda clique: _cells(clique, sizes))
    holding = {v: {clique for clique in cliques if v in clique} for v in range(len(sizes))}
    blocks = dict[tuple, tuple]()
    while left:
        first = left.pop()
        if first in blocks:
            continue
        block = set(first)
        while True:
            room = _TOGETHER // _cells(block, sizes)
            gains = {
                v: sum(block.issuperset(set(clique) - {v}) for clique in holding[v])
                for v, size in enumerate(sizes)
                if v not in block and size <= room
            }
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None or not gains[best]:
                break
            block.add(best)
        for clique in {clique for v in block for clique in holding[v] if block.issuperset(clique)}:
            blocks[clique] = tuple(sorted(block))
            for v in clique:
                holding[v].discard(clique)
    return {(): next(iter(blocks.values()))} | blocks
