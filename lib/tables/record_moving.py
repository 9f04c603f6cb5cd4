"""Move records, value by value, until their pair counts are close to targets, as a last step after any synthesis.

The counts of records drawn from a model differ from the model's counts by rounding, and a junction tree cannot contain
all pairs. Here single values of the records are changed so that

    F = sum_(u, v) w_uv |S_uv - T_uv|^2 + one sum_v |S_v - T_v|^2

decreases, where S are the counts of the records and T are the targets. One attribute at a time is considered, for a
random part of the records. The residuals S - T at the other values of a record give the change of F for each new value.
The changes that are expected to lower F the most are made together. These changes affect each other, so the number of
moved records is halved until F decreases by at least half of the expected sum.

A new value in one record changes S_v too. So records also exchange their values of an attribute, two at a time, which
leaves S_v as it is. If the counts of single attributes are off by more than `OFF` records at the end, `one` is
multiplied by `RESTORING`, and some more sweeps without exchanges bring them closer. Pairs may then get slightly worse.
No move increases F with the value of `one` at that time.

The step reads only the synthetic records and the targets. If both are differentially private, so is its result, at no
further cost (post-processing). The idea of moving records towards noisy marginals comes from the gradual update of
PrivSyn (Zhang et al. 2021).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..mechanisms.noise import generator
from ..numerics import checks, in_order
from .table import Table

SINGLES = 3.0  # weight of a single attribute in F, in units of the mean weight of a pair
SWEEPS = 100
_PART, _FEWEST, _MOST = 0.1, 200, 10_000  # of the records that may move at once
_TURNS = (1, 2, 2)  # records that change together, in turn, for each attribute in a sweep
_MOST_CELLS = 2**22  # records that may move at once, times values
_SLOW = 0.004  # a sweep that lowers F by less than this proportion is the last one
OFF, RESTORING = 1.0, 30.0  # records, the root mean square over all values; and what `one` is then multiplied by
_LAST = 15  # at most that many sweeps follow


def moved(table: Table, targets: Mapping[Collection[str], ArrayLike], *, rng: np.random.Generator, weights: Mapping[Any, float] | None = None,
          singles: float = SINGLES, sweeps: int = SWEEPS) -> Table:  # fmt: skip
    """Return a `Table` like the synthetic `table`, but with counts over pairs that are closer to `targets`.

    table : synthetic records, for example `aim(...).synthetic`. Do not pass records that need protection
    targets : mapping from at least one pair of attributes to an array of counts in [-1e15, 1e15], whose axes are the
        attributes of the pair. The counts may be noisy or negative, and may disagree with one another. For a model `m`
        of `aim`, the targets are ``{pair: m.marginal(pair) for pair in all_sets(m.domain, 2)}``
    weights : mapping from the same pairs to weights w_uv in [1e-6, 1e6]; default: all 1
    singles : [0, 1e6], the weight of each single attribute (`one` in F), as a multiple of the mean weight of a pair.
        The target of an attribute is the mean of the targets of its pairs. With 0, F consists of pairs alone, and
        there are no last sweeps
    sweeps : [1, inf), the largest number of sweeps, each over all attributes, before the last sweeps

    The number of records stays the same, and so does the order of the attributes. Counts over pairs that are not in
    `targets` may get worse. Raises ``ValueError`` for values outside these ranges, unknown attributes, and targets of
    the wrong shape.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table, moved
    >>> table = Table(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), Domain({"a": 2, "b": 2}))
    >>> print(moved(table, {("a", "b"): [[1.0, 1.0], [0.0, 2.0]]}, rng=np.random.default_rng(0)).marginal(("a", "b")))
    [[1 1]
     [0 2]]
    """
    rng = generator(rng)
    singles, sweeps = checks.number("singles", singles, "[0, 1e6]"), checks.whole("sweeps", sweeps, "[1, inf)")
    pairs = _pairs(table, targets, weights)
    state = _State(table, pairs, singles)
    for _ in range(sweeps):
        before = state.distance
        state.shuffle(rng)
        for v in rng.permutation(sorted(state.others)).tolist():
            for together in _TURNS:
                state.move(v, together, rng)
        if before - state.distance <= _SLOW * before:
            break
    state.weigh(RESTORING)
    for _ in range(_LAST if singles else 0):
        if state.off() <= OFF:
            break
        state.shuffle(rng)
        for v in state.others:
            state.move(v, 1, rng)
    return Table(state.in_order(), table.domain)


def _pairs(table, targets, weights) -> dict:
    """Return {(u, v): (target, weight)} with u < v, after checking `targets` and `weights`."""
    domain, found = table.domain, {}
    if not isinstance(targets, Mapping) or not targets:
        raise ValueError(f"targets must be a mapping with one pair of attributes or more, got {targets!r:.100}")
    if weights is not None and (not isinstance(weights, Mapping) or set(weights) != set(targets)):
        raise ValueError(f"weights must be a mapping from the pairs of targets, got {weights!r:.100}")
    for names, counts in targets.items():
        axes, shape = domain.axes(names), domain.shape(names)
        if len(axes) != 2:
            raise ValueError(f"targets must be for pairs of attributes, got {names!r}")
        counts = checks.real(f"targets[{names}]", counts, "[-1e15, 1e15]")
        if counts.shape != shape:
            raise ValueError(f"targets[{names}] must have shape {shape}, got {counts.shape}")
        weight = 1.0 if weights is None else checks.number(f"weights[{names}]", weights[names], "[1e-6, 1e6]")
        pair = tuple(sorted(axes))
        if pair in found:
            raise ValueError(f"targets must have each pair once, got {names!r} twice")
        found[pair] = (counts if pair == axes else counts.T, weight)
    return dict(sorted(found.items()))


class _State:
    """The records, and how far their counts are from the targets.

    records : codes (n, d); others : for each attribute v, the attributes that share a pair with it
    residuals : for each v, S - T of these pairs, one below the other, (sum of n_u, n_v); starts : the first row of each
        pair
    single : for each v, S_v - T_v; distance : F
    """

    def __init__(self, table, pairs, singles) -> None:
        self.records, self.sizes = table.records, table.domain.sizes
        self._places, self._share = np.arange(len(table)), {1: [1.0] * len(self.sizes), 2: [1.0] * len(self.sizes)}
        self.others: dict[int, list[int]] = {}
        for u, v in pairs:
            self.others.setdefault(u, []).append(v)
            self.others.setdefault(v, []).append(u)
        self.others = {v: sorted(others) for v, others in sorted(self.others.items())}
        self.one = singles * in_order.total(weight for _, weight in pairs.values()) / len(pairs)
        self.weight = {v: np.array([pairs[min(u, v), max(u, v)][1] for u in us]) for v, us in self.others.items()}
        self.starts, self.residuals, self.single, self._blocks = {}, {}, {}, {}
        for v, others in self.others.items():
            ends = np.cumsum([0, *(self.sizes[u] for u in others)])
            self.starts[v], self.residuals[v] = ends[:-1], np.empty((ends[-1], self.sizes[v]))
            for u, start, end in zip(others, ends, ends[1:]):
                self._blocks[v, u] = self.residuals[v][start:end]
            own = np.zeros(self.sizes[v])
            for u, part in zip(others, self._parts(v)):
                target = pairs[u, v][0] if u < v else pairs[v, u][0].T
                names = table.domain.attributes[u], table.domain.attributes[v]
                part[:] = self._blocks[u, v].T if u < v else table.marginal(names) - target
                own += target.sum(axis=0)
            self.single[v] = np.bincount(self.records[:, v], minlength=self.sizes[v]) - own / len(others)
        apart = [
            w * (part**2).sum()
            for v in self.others
            for u, w, part in zip(self.others[v], self.weight[v], self._parts(v))
            if u < v
        ]
        self.distance = float(
            in_order.total(apart) + self.one * in_order.total((s**2).sum() for s in self.single.values())
        )

    def _parts(self, v) -> list:
        """Return views of the residuals of v, one for each of its other attributes u, with the axes (u, v)."""
        return [self._blocks[v, u] for u in self.others[v]]

    def off(self) -> float:
        """Return the root mean square of S_v - T_v, less the mean over the values of v, which no move can change."""
        return math.sqrt(np.concatenate([(s - s.mean()) ** 2 for s in self.single.values()]).mean())

    def weigh(self, factor) -> None:
        """Multiply `one` by `factor`."""
        self.distance += (factor - 1) * self.one * float(in_order.total((s**2).sum() for s in self.single.values()))
        self.one *= factor

    def shuffle(self, rng) -> None:
        """Put the records in random order, so that any contiguous block is a random part."""
        order = rng.permutation(len(self.records))
        self.records, self._places = self.records[order], self._places[order]

    def in_order(self) -> np.ndarray:
        """Return the records in their original order."""
        return self.records[np.argsort(self._places)]

    def move(self, v, together, rng) -> None:
        """Move values of attribute v in a random part of the records, one by one or, if `together` is 2, by exchange."""
        n, size, weight, share = len(self.records), self.sizes[v], self.weight[v], self._share[together]
        part = min(max(int(n * _PART), _FEWEST), _MOST, max(_MOST_CELLS // size, 1), n)
        start = int(rng.integers(n - part + 1))
        records = self.records[start : start + part]
        cells = records[:, self.others[v]] + self.starts[v]
        ends = np.arange(0, cells.size + 1, cells.shape[1])
        at_others = scipy.sparse.csr_array((np.tile(weight, part), cells.ravel(), ends), (part, len(self.residuals[v])))
        one = self.one if together == 1 else 0.0
        slopes = at_others @ self.residuals[v] + one * self.single[v]
        old, new, each = records[:, v].copy(), slopes.argmin(axis=1), np.arange(part)
        promised = 2 * (slopes[each, new] - slopes[each, old] + weight.sum() + one)
        better = np.flatnonzero(new != old)[:, None]
        if together == 2:
            better = _exchanges(better[:, 0], old, new, promised, size)
        sums = promised[better].sum(axis=1)
        order = np.argsort(sums, kind="stable")[: np.count_nonzero(sums < 0)]
        better, sums = better[order], sums[order]
        better = better[: max(int(len(better) * share[v]), 1)]
        while better.size:
            rows = better.ravel()
            pairs, single, change = self._changed(v, cells[rows], old[rows], new[rows])
            if change <= 0.5 * sums[: len(better)].sum():
                records[rows, v] = new[rows]
                self.single[v] += single
                self.distance += change
                self.residuals[v] += pairs
                for u, start in zip(self.others[v], self.starts[v]):
                    self._blocks[u, v][:] += pairs[start : start + self.sizes[u]].T
                break
            share[v] /= 2
            better = better[: len(better) // 2]
        share[v] = min(2 * share[v], 1.0)

    def _changed(self, v, rows, old, new):
        """Return the changes of the residuals and of F if v changes from `old` to `new` in records with `rows`."""
        size, shape = self.sizes[v], self.residuals[v].shape
        to, of = (np.bincount((rows * size + each[:, None]).ravel(), minlength=math.prod(shape)) for each in (new, old))
        pairs = (to - of).reshape(shape)
        single = np.bincount(new, minlength=size) - np.bincount(old, minlength=size)
        weights = np.repeat(self.weight[v], [self.sizes[u] for u in self.others[v]])
        change = (weights * (pairs * (2 * self.residuals[v] + pairs)).sum(axis=1)).sum()
        return pairs, single, change + self.one * (single * (2 * self.single[v] + single)).sum()


def _exchanges(rows, old, new, promised, size) -> np.ndarray:
    """Return pairs (k, 2) of `rows` where each wants the other's value, the best with the best; each row once at most.

    The next three arrays give, for every record, its old and new value and the expected change of F; `size` is the number
    of values.
    """
    rows = rows[np.argsort(promised[rows], kind="stable")]
    low, high = np.minimum(old, new)[rows], np.maximum(old, new)[rows]
    wants = 2 * (low * size + high) + (old[rows] > new[rows])
    order = np.argsort(wants, kind="stable")
    rows, wants = rows[order], wants[order]
    rank = np.arange(len(rows)) - np.searchsorted(wants, wants)
    place, down = (wants // 2) * len(old) + rank, wants % 2 == 1
    _, ups, downs = np.intersect1d(place[~down], place[down], assume_unique=True, return_indices=True)
    return np.stack([rows[~down][ups], rows[down][downs]], axis=1)
