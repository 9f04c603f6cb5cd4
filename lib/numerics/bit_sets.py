"""Represent sets of variables as integers with a bit for each member, so that unions and tests take one operation."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable


def of(variables: Iterable[int]) -> int:
    """Return the set of `variables`, non-negative integers."""
    found = 0
    for v in variables:
        found |= 1 << v
    return found


@functools.lru_cache(maxsize=65536)
def members(variables: int) -> tuple[int, ...]:
    """Return the members of a set, smallest first."""
    return tuple(v for v in range(variables.bit_length()) if variables >> v & 1)


@functools.lru_cache(maxsize=65536)
def cells(variables: int, sizes: tuple[int, ...]) -> int:
    """Return the number of cells of a table over the set `variables`, where variable v has `sizes[v]` values."""
    return math.prod(sizes[v] for v in members(variables))
