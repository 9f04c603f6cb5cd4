"""The exact law of a local protocol's reports, found by running its program on every outcome of its random draws.

The protocol gets a generator whose draws branch. The program runs once for every combination of outcomes, and the
probabilities of equal reports are summed. Reports are equal if they agree in type, shape and every byte.

Draws branch as follows. An integer from a small range takes each of its values. An integer from a large range, or a
real number from [0, 1), is determined only as far as the program's comparisons require: a comparison with a constant
has two outcomes. An integer from a large range that is used in any other way, such as a hash seed, is one of `SEEDS`,
which are equally likely.

The law is exact for the program with these few seeds (and for real draws that are not rounded to multiples of 2^-53).
A protocol that is private for every seed passes. A protocol that is private only with a uniform seed would be refuted
wrongly, and a leak that shows only with other seeds is missed. Probabilistic model checkers explore programs in the
same way (J. Katoen, LICS 2016).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics import checks

SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)  # the first digits of pi
_SMALL = 256  # ranges up to this are enumerated
_MOST_RUNS = 2**17
_ROUNDING = 1e-9


class NotEnumerable(ValueError):
    """The error for an oracle whose random draws have outcomes that cannot be listed."""


@dataclass(frozen=True)
class ExactLoss:
    """The largest log-ratio, `loss`, of a report's probabilities under the first and the second of `values`.

    `reports` is the number of different reports. `loss` is infinite if a report is possible under only one value.
    """

    loss: float
    values: tuple[int, int]
    reports: int

    def refutes(self, epsilon: float) -> bool:
        """Return whether the loss exceeds an `epsilon` in [0, inf) by more than rounding could explain (1e-9)."""
        return bool(self.loss > checks.real("epsilon", epsilon, "[0, inf)") + _ROUNDING)


def exact_loss(
    oracle: Any, *, beside: Sequence[int] = (), with_draws: bool = False, seeds: Sequence[int] = SEEDS
) -> ExactLoss:
    """Return the largest privacy loss of a frequency oracle's reports over all pairs of values and all reports.

    oracle : a frequency oracle with few values, or anything with `k` and `perturb`
    beside, with_draws, seeds : as for `report_law`, which is called for every value; its errors are passed on

    >>> from lib.attacks import exact_loss
    >>> from lib.local import GRR
    >>> print(round(exact_loss(GRR(k=3, epsilon=1.0)).loss, 6))
    1.0
    """
    options: dict[str, Any] = dict(beside=beside, with_draws=with_draws, seeds=seeds)
    laws = [report_law(oracle, value, **options) for value in range(oracle.k)]
    reports = sorted({report for law in laws for report in law}, key=repr)
    table = np.array([[law.get(report, 0.0) for report in reports] for law in laws])
    worst = ExactLoss(0.0, (0, 0), len(reports))
    for first, second in np.ndindex(oracle.k, oracle.k):
        seen = table[first] > 0
        with np.errstate(divide="ignore"):
            loss = float(np.log(table[first, seen] / table[second, seen]).max())
        if loss > worst.loss + _ROUNDING:
            worst = ExactLoss(loss, (first, second), len(reports))
    return worst


def report_law(
    oracle: Any, value: int, *, beside: Sequence[int] = (), with_draws: bool = False, seeds: Sequence[int] = SEEDS
) -> dict[tuple, float]:
    """Return the probability of every report that a frequency oracle sends for `value`.

    oracle : a frequency oracle, or anything with `k` and `perturb(values, rng=rng)`
    value : integer in [0, k-1]
    beside : values of further users, used to detect shared noise. Their reports come from the same call and are also
        observed
    with_draws : whether the number of random draws is also observed, as through a shared generator or a clock
    seeds : outcomes of a draw from a large range, integers in [0, 2^64), taken modulo the range

    The keys are tuples (type, shape, bytes), or (type, shape, bytes, draws) if `with_draws`. Raises `NotEnumerable` if
    the oracle draws with anything but `random` and `integers`, or uses a real draw for more than comparisons. Raises
    ``ArithmeticError`` if more than 2^17 runs are needed.
    """
    inside = f"[0, {oracle.k - 1}]"
    users = [checks.whole("value", value, inside), *checks.integer("beside", beside, inside).astype(int).ravel()]
    law: dict = defaultdict(float)
    walk = _Walk(_seeds(seeds))
    rng = _Enumerated(walk)
    while walk.again():
        sent = np.asarray(oracle.perturb(np.array(users), rng=rng))
        seen = (sent.dtype.str, sent.shape, sent.tobytes())
        law[(*seen, walk.draws) if with_draws else seen] += walk.probability
    return dict(law)


def _seeds(seeds) -> tuple:
    seeds = tuple(seeds)
    if not seeds or not all(isinstance(seed, int) and 0 <= seed < 2**64 for seed in seeds):
        raise ValueError(f"seeds must be integers in [0, 2^64), at least one, got {seeds!r:.100}")
    return seeds


class _Walk:
    """A depth-first walk through all outcomes: `choose` gives an outcome, and `again` tells whether a run is left."""

    def __init__(self, seeds):
        self.seeds, self._runs = seeds, 0
        self._taken: list[list[int]] = []  # for each choice on the way: the outcome taken, and the number of outcomes

    def again(self) -> bool:
        """Go back to the last choice that has an outcome left and take that outcome; return False if no run is left."""
        self.probability, self.draws, self._depth = 1.0, 0, 0
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise ArithmeticError(f"oracle has more than {_MOST_RUNS} outcomes of its draws: too many to enumerate")
        while self._taken and self._taken[-1][0] + 1 == self._taken[-1][1]:
            self._taken.pop()
        if self._taken:
            self._taken[-1][0] += 1
        return bool(self._taken) or self._runs == 1

    def choose(self, chances) -> int:
        """Return the outcome that this run takes, among the outcomes of positive probability."""
        possible = [outcome for outcome, chance in enumerate(chances) if chance > 0]
        if not possible:  # the chances are NaN: see `view`
            raise NotEnumerable("oracle cannot be enumerated: it must use a draw as a number or as bytes, not both")
        if self._depth == len(self._taken):
            self._taken.append([0, len(possible)])
        outcome = possible[self._taken[self._depth][0]]
        self._depth += 1
        self.probability *= chances[outcome]
        return outcome


class _Cell:
    """A uniform draw that is known only to lie in [low, high): a real number, or an integer if `whole`."""

    def __init__(self, low, high, whole):
        self.low, self.high, self.whole = low, high, whole

    def below(self, bound, walk) -> bool:
        """Return whether the draw is below `bound`, and narrow its range accordingly."""
        cut = math.ceil(bound) if self.whole else bound
        if cut <= self.low or cut >= self.high:
            return cut >= self.high
        share = (cut - self.low) / (self.high - self.low)
        if walk.choose((share, 1 - share)) == 0:
            self.high = cut
            return True
        self.low = cut
        return False

    def value(self, walk):
        """Return the draw as a number, and narrow its range to that number."""
        if not self.whole:
            raise NotEnumerable("oracle cannot be enumerated: it must only compare its real draws with constants")
        width = self.high - self.low
        if math.isnan(width):
            walk.choose([])
        offsets = range(width) if width <= _SMALL else sorted({seed % width for seed in walk.seeds})
        self.low += offsets[walk.choose([1 / len(offsets)] * len(offsets))]
        self.high = self.low + 1
        return self.low


# Comparisons, expressed as: is the draw below some bound?
_ANSWERS = {
    np.less: lambda cell, c, walk: cell.below(c, walk),
    np.greater_equal: lambda cell, c, walk: not cell.below(c, walk),
    np.less_equal: lambda cell, c, walk: cell.below(_after(cell, c), walk),
    np.greater: lambda cell, c, walk: not cell.below(_after(cell, c), walk),
    np.equal: lambda cell, c, walk: _is(cell, c, walk),
    np.not_equal: lambda cell, c, walk: not _is(cell, c, walk),
}
_MIRRORED = {np.less: np.greater, np.greater: np.less, np.less_equal: np.greater_equal, np.greater_equal: np.less_equal,
             np.equal: np.equal, np.not_equal: np.not_equal}  # fmt: skip


def _after(cell, bound):
    return math.floor(bound) + 1 if cell.whole else bound


def _is(cell, constant, walk) -> bool:
    return cell.whole and not cell.below(constant, walk) and cell.below(_after(cell, constant), walk)


class _Draws(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of draws, each determined only as far as comparisons require; other uses turn the draws into numbers."""

    def __init__(self, cells, dtype, walk):
        self._cells, self.dtype, self._walk = cells, np.dtype(dtype), walk
        self.shape, self.size, self.ndim = cells.shape, cells.size, cells.ndim

    def __array__(self, dtype=None, copy=None):
        numbers = [cell.value(self._walk) for cell in self._cells.flat]
        return np.array(numbers, dtype=self.dtype).reshape(self.shape).astype(dtype or self.dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        lazy = [isinstance(x, _Draws) for x in inputs]
        if ufunc in _ANSWERS and method == "__call__" and sum(lazy) == 1:
            constants = inputs[1] if lazy[0] else inputs[0]
            return self._compare(ufunc if lazy[0] else _MIRRORED[ufunc], constants)
        inputs = tuple(np.asarray(x) if isinstance(x, _Draws) else x for x in inputs)
        if out is not None and not isinstance(out[0], _Draws):  # `draws += 1` makes new numbers
            options["out"] = out
        return getattr(ufunc, method)(*inputs, **options)

    def _compare(self, ufunc, constants):
        compare, constants = _ANSWERS[ufunc], np.asarray(constants)
        cells, shape = self._cells, self.shape
        if constants.ndim:
            cells, constants = np.broadcast_arrays(cells, constants)
            shape = cells.shape
        against = constants.ravel().tolist() if constants.ndim else [constants.item()] * cells.size
        answers = [compare(cell, constant, self._walk) for cell, constant in zip(cells.ravel().tolist(), against)]
        return np.array(answers, dtype=bool).reshape(shape)[()]

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index):
        chosen = self._cells[index]
        if isinstance(chosen, _Cell):
            chosen = _array([chosen], ())
        return _Draws(chosen, self.dtype, self._walk)

    def __setitem__(self, index, value):
        raise NotEnumerable("oracle cannot be enumerated: it must not change the arrays that it draws")

    def view(self, dtype):
        """Return the bytes of words that were not yet compared, as independent draws; the words become unusable."""
        full = 2 ** (8 * self.dtype.itemsize)
        untouched = self.dtype.kind == "u" and all(cell.high - cell.low == full for cell in self._cells.flat)
        if not (untouched and np.dtype(dtype) == np.uint8):
            return np.asarray(self).view(dtype)
        for cell in self._cells.flat:
            cell.low = cell.high = math.nan
        shape = (*self.shape[:-1], self.shape[-1] * self.dtype.itemsize)
        return _Draws(_array([_Cell(0, 256, True) for _ in range(math.prod(shape))], shape), np.uint8, self._walk)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)  # all other array operations use numbers


def _array(cells, shape) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array.reshape(shape)


class _Enumerated(np.random.Generator):
    """A generator whose draws branch; it supports only `random` and `integers`."""

    def __init__(self, walk):
        super().__init__(np.random.PCG64(0))  # never used
        self._walk = walk

    def random(self, size=None, dtype=np.float64, out=None):
        """Return draws that are known only to lie in [0, 1); the arguments are those of numpy's method."""
        if out is not None:
            raise NotEnumerable("oracle cannot be enumerated: it must call rng.random without the argument out")
        shape = () if size is None else tuple(np.atleast_1d(size).tolist())
        return self._drawn([_Cell(0.0, 1.0, False) for _ in range(math.prod(shape))], shape, dtype)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Return draws known only by their range, or numbers for small ranges; arguments are as for numpy's method."""
        low, high = (0, low) if high is None else (low, high)
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else size
        shape = tuple(np.atleast_1d(shape).astype(int).tolist())
        if np.ndim(low) or np.ndim(high):
            low, high = (np.broadcast_to(np.asarray(end, dtype=object), shape).ravel().tolist() for end in (low, high))
        else:  # far quicker, and far more frequent
            low, high = ([end] * math.prod(shape) for end in (low, high))
        cells = [_Cell(int(first), int(last) + int(endpoint), True) for first, last in zip(low, high)]
        draws = self._drawn(cells, shape, dtype)
        small = all(cell.high - cell.low <= _SMALL for cell in cells)
        return np.asarray(draws)[()] if small else draws

    def _drawn(self, cells, shape, dtype):
        self._walk.draws += len(cells)
        return _Draws(_array(cells, shape), dtype, self._walk)


def _refused(name):
    def draw(self, *arguments, **options):
        raise NotEnumerable(f"oracle cannot be enumerated: it must draw by rng.random and rng.integers, got rng.{name}")

    return draw


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("random", "integers"):
        setattr(_Enumerated, _name, _refused(_name))
