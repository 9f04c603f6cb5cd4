"""Tables for tests: dependent attributes, counts cell by cell, and counts that raise an error if combined with a
float."""

import math
from functools import cache

import numpy as np

from lib.tables.table import Domain, Table


def dependent(domain: Domain, n: int = 2000, seed: int = 1) -> Table:
    """Return records whose attributes all follow one hidden number, seven times in ten."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 60, n)
    columns = [np.where(rng.random(n) < 0.7, hidden * size // 60, rng.integers(0, size, n)) for size in domain.sizes]
    return Table(np.stack(columns, axis=1), domain)


@cache
def counted(table, names):
    """Return the counts of `table` over `names`, cell by cell."""
    shape = table.domain.shape(names)
    if not (len(table) and names):
        return np.full(shape, len(table))
    cells = np.ravel_multi_index([table.column(name) for name in names], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


class Watched(np.ndarray):
    """Counts that refuse floating point: any operation of theirs with a float, or that gives one, is an error."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(each) for each in inputs]
        if any(each.dtype.kind == "f" for each in plain):
            raise AssertionError(f"{ufunc.__name__} mixes counts with floats")
        result = np.asarray(getattr(ufunc, method)(*plain, **options))
        if result.dtype.kind == "f":
            raise AssertionError(f"{ufunc.__name__} makes floats of counts")
        return result.view(Watched)


class WatchedTable(Table):
    def marginal(self, attributes):
        return super().marginal(attributes).view(Watched)
