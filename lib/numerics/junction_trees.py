"""In which order to sum variables out, and how large the tables become: junction trees.

A model over variables 0 to d - 1 is known here only by the scopes of its factors: tuples of
variables. Eliminating a variable joins everything that shares a factor with it; the sets so
joined, less those inside others, are the cliques of a junction tree, and the cells of their tables
are the size of the model (McKenna, Mullins, Sheldon, Miklau 2022, section 4: JT-SIZE).

Finding the best order is NP-hard. Two greedy rules are tried and the smaller result is kept, for either alone is up to
30 times worse on some structures: the variable whose joint table is smallest (min-size), and the one whose elimination
adds the fewest pairs of values (weighted min-fill). Koller and Friedman 2009, section 9.4.3.2.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

_SMALL = 50_000  # cells whose summation takes no longer than looking for a better order


class JunctionTree(NamedTuple):
    """`order` : all variables, first eliminated first; `cliques` : sorted tuples of variables, none
    inside another; `cells` : the cells of their tables, added up."""

    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    cells: int


@functools.lru_cache(maxsize=4096)
def junction_tree(scopes, sizes, order=None) -> JunctionTree:
    """The smaller of the two greedy junction trees of a model, and that of `order` where one is given.

    scopes : the factors' variables, in [0, len(sizes)), a tuple of tuples
    sizes : the number of values of each variable, a tuple
    """
    graph = _graph(scopes, len(sizes))
    trees = [_tree(_greedy_order(graph, sizes, cost), graph, sizes) for cost in (_table_size, _fill)]
    if order is not None:
        trees.append(_tree(order, graph, sizes))
    return min(trees, key=lambda tree: tree.cells)


def within(limit, scopes, sizes, order) -> bool:
    """Whether ``junction_tree(scopes, sizes, order)`` has at most `limit` cells, often without making it."""
    given = _tree(order, _graph(scopes, len(sizes)), sizes)
    return given.cells <= limit or junction_tree(scopes, sizes, order).cells <= limit


@functools.lru_cache(maxsize=4096)
def elimination_order(scopes, sizes, keep, order) -> tuple[int, ...]:
    """An order in which to sum out what occurs in `scopes` but not in `keep`, that of `order` or a better one.

    Small tables are not worth the search.
    """
    graph = _graph((*scopes, keep), len(sizes))
    occurring = {v for scope in scopes for v in scope}
    rest = tuple(v for v in order if v in occurring and v not in keep)
    cells = _tree(rest, graph, sizes).cells
    if cells <= _SMALL:
        return rest
    orders = [_greedy_order(graph, sizes, cost, rest) for cost in (_table_size, _fill)]
    return min([rest, *orders], key=lambda found: _tree(found, graph, sizes).cells)


def components(scopes, d: int) -> list[int]:
    """For each of d variables, a number that it shares with exactly the variables connected to it."""
    component = list(range(d))
    for scope in scopes:
        joined = {component[v] for v in scope}
        if len(joined) > 1:
            lowest = min(joined)
            component = [lowest if c in joined else c for c in component]
    return component


# A set of variables is an integer whose bits are its members: unions and tests in one operation.


def _graph(scopes, d: int) -> tuple[int, ...]:
    """For each variable, the set of those that share a factor with it, itself left out."""
    neighbours = [0] * d
    for scope in scopes:
        members = _set(scope)
        for v in scope:
            neighbours[v] |= members
    return tuple(near & ~(1 << v) for v, near in enumerate(neighbours))


def _set(scope) -> int:
    return sum(1 << v for v in scope)


@functools.lru_cache(maxsize=65536)
def _members(variables: int) -> tuple[int, ...]:
    return tuple(v for v in range(variables.bit_length()) if variables >> v & 1)


@functools.lru_cache(maxsize=65536)
def _cells(variables: int, sizes) -> int:
    return math.prod(sizes[v] for v in _members(variables))


def _table_size(v: int, neighbours, sizes) -> int:
    return _cells(neighbours[v] | 1 << v, sizes)


def _fill(v: int, neighbours, sizes) -> int:
    """Pairs of values of neighbours of v that eliminating v would join (each pair twice)."""
    near = neighbours[v]
    return sum(sizes[u] * sizes[w] for u in _members(near) for w in _members(near & ~neighbours[u] & ~(1 << u)))


def _greedy_order(graph, sizes, cost, variables=None) -> tuple[int, ...]:
    """All variables, or those given, each time the one that costs least to eliminate."""
    neighbours = list(graph)
    costs = {v: cost(v, neighbours, sizes) for v in (range(len(sizes)) if variables is None else variables)}
    order = []
    while costs:
        v = min(costs, key=costs.__getitem__)
        order.append(v)
        del costs[v]
        near = _members(neighbours[v])
        _join(v, neighbours)
        changed = set(near)
        if cost is _fill:  # a new edge may also spare a common neighbour of its ends
            changed.update(u for w in near for u in _members(neighbours[w]))
        for u in changed & costs.keys():
            costs[u] = cost(u, neighbours, sizes)
    return tuple(order)


def _join(v: int, neighbours: list[int]) -> int:
    """Take v out of the graph, its neighbours joined to each other; the set of v and them."""
    near = neighbours[v]
    for u in _members(near):
        neighbours[u] = (neighbours[u] | near) & ~(1 << u | 1 << v)
    return near | 1 << v


def _tree(order, graph, sizes) -> JunctionTree:
    neighbours, maximal = list(graph), list[int]()
    for v in order:
        clique = _join(v, neighbours)
        if not any(clique & ~other == 0 for other in maximal):
            maximal.append(clique)
    return JunctionTree(tuple(order), tuple(map(_members, maximal)), sum(_cells(c, sizes) for c in maximal))
