"""Sum products of tensors, and compute marginals, for numbers of any size: the steps of `contraction`, on logarithms.

A step divides each row of the tables of its two groups by the largest entry of the row, and sums the variable out by
one batched matrix product. The table over all variables involved is never formed. Where all terms of a sum are tiny,
because each group gives small entries to the values that the other favours, the sum is computed again from the
logarithms of its terms.

A tensor is a pair (array of logarithms, tuple of the variables that are its axes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .contraction import schedule

_LOWEST = np.finfo(float).min
_TINY = 1e-200  # a smaller sum may have lost terms to underflow


class Elimination:
    """The product of `tensors`, summed over `order`.

    sizes : number of values of each variable
    order : the variables to sum out, each in some tensor; keep : the other variables

    `result` contains the logarithms of the sums, an array with the axes `keep`. `steps` are those of `contraction`, and
    `pool` contains the tensors, followed by the result of each step.
    """

    def __init__(self, tensors: Iterable[tuple[np.ndarray, tuple[int, ...]]], sizes: Sequence[int], order: Iterable[int],
                 keep: Sequence[int] = ()) -> None:  # fmt: skip
        self.pool, self._sums = list(tensors), list[_Sums]()
        self._sizes, self._inputs = sizes, len(self.pool)
        scopes = tuple(axes for _, axes in self.pool)
        self.steps, rest = schedule(scopes, tuple(sizes), tuple(order), tuple(keep))
        for step in self.steps:
            batch, rows, columns, values = step.shape
            left = self._table(step.left, step.batch + step.rows + (step.variable,)).reshape(batch, rows, values)
            right = self._table(step.right, step.batch + step.columns + (step.variable,))
            self._sums.append(_Sums(left, right.reshape(batch, columns, values)))
            axes = step.batch + step.rows + step.columns
            self.pool.append((self._sums[-1].logs.reshape([sizes[v] for v in axes]), axes))
        self.result = self._table(rest, tuple(keep))

    def _table(self, numbers, along):
        """Return the product of the tensors `numbers`, an array with the axes `along`."""
        total = np.zeros([self._sizes[v] for v in along])
        for array, axes in (self.pool[number] for number in numbers):
            order = [axes.index(v) for v in along if v in axes]
            total += array.transpose(order)[(*(slice(None) if v in axes else None for v in along), ...)]
        return total

    def marginals(self) -> list[np.ndarray]:
        """Return, for each tensor, its cells' probabilities under the product. All variables must have been summed out.

        The method computes P(v, companions) = P(companions) P(v | companions), from the last variable v to the first.
        """
        found = [np.ones(())] * len(self.pool)
        for number, (step, sums) in reversed(list(enumerate(zip(self.steps, self._sums), start=self._inputs))):
            left, right = sums.shared(found[number].reshape(sums.logs.shape))
            for table, group, free in ((left, step.left, step.rows), (right, step.right, step.columns)):
                axes = step.batch + free + (step.variable,)
                for member in group:
                    found[member] = _sum_to(table.reshape([self._sizes[v] for v in axes]), axes, self.pool[member][1])
        return found[: self._inputs]


class _Sums:
    """Sums of products of two tables of logarithms, `left` (batch, rows, values) and `right` (batch, columns, values),
    over the values; `logs` (batch, rows, columns) contains the logarithms of the sums."""

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        scales = [np.maximum(table.max(axis=-1, keepdims=True), _LOWEST) for table in (left, right)]
        self._left, self._right = np.exp(left - scales[0]), np.exp(right - scales[1])
        self._sums = self._left @ self._right.transpose(0, 2, 1)
        self._tiny = batch, row, column = np.nonzero(self._sums < _TINY)
        self._sums[self._tiny] = np.inf  # whose inverse is 0
        self.logs = np.log(self._sums) + scales[0] + scales[1].transpose(0, 2, 1)
        terms = left[batch, row] + right[batch, column]
        highest = np.maximum(terms.max(axis=-1, keepdims=True), _LOWEST)
        self._terms = np.exp(terms - highest)
        totals = self._terms.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            self.logs[self._tiny] = (np.log(totals) + highest)[:, 0]
        self._terms /= np.where(totals > 0, totals, 1.0)

    def shared(self, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities of the cells of both tables, from the `probabilities` of the sums."""
        weights = probabilities / self._sums
        left = self._left * (weights @ self._right)
        right = self._right * (weights.transpose(0, 2, 1) @ self._left)
        batch, row, column = self._tiny
        terms = self._terms * probabilities[self._tiny][:, None]
        np.add.at(left, (batch, row), terms)
        np.add.at(right, (batch, column), terms)
        return left, right


def _sum_to(array, axes, wanted):
    summed = array.sum(axis=tuple(position for position, v in enumerate(axes) if v not in wanted))
    left = [v for v in axes if v in wanted]
    return summed.transpose([left.index(v) for v in wanted])
