"""Draw records from conditional distributions, with rounding that makes their counts fit the distributions.

Independent draws would add sampling noise to the model. Here the variables get their values one after another. The
records are sorted by the variables that already have values, and along this line each value is assigned at the rate of
its probability. The fraction that is left over by rounding at a record is passed on to the next record (error
diffusion, as in printing; systematic sampling, Madow 1949). In any section of the line, the number of occurrences of a
value is then close to its expectation. Rounding the earlier variables shifts the expected counts of the next variable.
To correct this shift, the odds of each value are scaled so that its count over the whole line matches its marginal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np


def from_conditionals(
    n: int, conditionals: Iterable[tuple[int, list]], marginals: Sequence[np.ndarray], *, rng: np.random.Generator
) -> np.ndarray:
    """Return `n` records, an integer array (n, d), in random order.

    conditionals : one pair (variable, [(logarithms, axes), ...]) for each of the d variables. Up to a constant, the sum
        of the arrays is the logarithm of the variable's probability given the other variables in the axes. Those
        variables come earlier in the list
    marginals : for each variable, in order, an array of the probabilities of its values
    """
    columns = [np.empty(0, dtype=np.min_scalar_type(max(map(len, marginals)) - 1))] * len(marginals)
    known: list[int] = []
    for v, tensors in conditionals:
        parents = [u for u in known if any(u in axes for _, axes in tensors)]
        # Neighbours on the line agree in the parents and, as far as possible, in all other variables.
        others = [u for u in known if u not in parents]
        line = _sorted([columns[u] for u in others + parents], [len(marginals[u]) for u in others + parents], n)
        given = {u: columns[u][line] for u in parents}
        probabilities, row = _rows(given, v, tensors, n, len(marginals[v]))
        columns[v] = np.empty(n, dtype=columns[v].dtype)
        columns[v][line] = _diffuse(probabilities, row, _rounded(n * marginals[v], n, rng), rng)
        known.append(v)
    return rng.permutation(np.stack(columns, axis=1))


def _sorted(columns, sizes, n) -> np.ndarray:
    """Return the indices that sort the `n` records by `columns` (codes below `sizes`); the last column counts first.

    Several columns are combined into a key of 16 bits, because such keys sort faster.
    """
    keys, cells = [np.zeros(n, dtype=np.uint16)], 1
    for column, size in zip(columns, sizes):
        if cells * size < 2**16:
            keys[-1] = keys[-1] + cells * column.astype(np.uint16)
            cells *= size
        else:
            keys.append(column.astype(np.min_scalar_type(size - 1)))
            cells = size
    return np.lexsort(keys)


def _rows(given, v, tensors, n, size):
    """Return the distributions of v (rows, values) given the sorted columns `given`, and the row of each record."""
    change = np.zeros(n, dtype=bool)
    for column in given.values():
        change[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(change | (np.arange(n) == 0))
    logs = np.zeros((len(firsts), size))
    for array, axes in tensors:
        before = [u for u in axes if u != v]
        array = array.transpose([axes.index(u) for u in (*before, v)])
        logs += array[tuple(given[u][firsts] for u in before)]
    logs -= logs.max(axis=1, keepdims=True)
    probabilities = np.exp(logs)
    return probabilities / probabilities.sum(axis=1, keepdims=True), np.cumsum(change)


def _rounded(expected, n, rng) -> np.ndarray:
    """Return random integers with sum `n`; each is within 1 of its entry of `expected`, and equal to it on average."""
    passed = np.floor(np.cumsum(expected) + rng.random())
    passed[-1] = n
    return np.diff(passed, prepend=0.0)


def _diffuse(probabilities, row, counts, rng) -> np.ndarray:
    """Return a value for each record i by ``probabilities[row[i]]``; about ``counts[v]`` records get the value v."""
    frequent_first = np.argsort(-counts, kind="stable")
    values = np.full(len(row), frequent_first[-1])
    left, tail = np.arange(len(row)), np.ones(len(probabilities))
    for value in frequent_first[:-1]:
        # Choose which of the records without a value get this value.
        share = probabilities[:, value] / np.maximum(tail, probabilities[:, value]).clip(min=1e-300)
        share = _tilted(share, np.bincount(row[left], minlength=len(share)), counts[value])
        passed = np.zeros(len(left) + 1)
        np.cumsum(share[row[left]], out=passed[1:])
        passed[1:] += rng.random()
        np.floor(passed, out=passed)
        taken = passed[1:] > passed[:-1]
        values[left[taken]] = value
        left, tail = left[~taken], tail - probabilities[:, value]
    return values


def _tilted(share, weights, count) -> np.ndarray:
    """Return `share` with all odds times one factor, so that ``weights @ share`` is nearly `count` (3 Newton steps)."""
    logarithm, tilted = 0.0, share
    for _ in range(3):
        slope = weights @ (tilted * (1 - tilted))
        if slope <= 1e-9:
            break
        logarithm += np.clip((count - weights @ tilted) / slope, -1, 1)
        odds = math.exp(logarithm)
        tilted = share * odds / (1 - share + share * odds)
    return tilted
