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
import heapq
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from . import bit_sets

_SMALL = 50_000  # cells whose summation takes no longer than looking for a better order


class JunctionTree(NamedTuple):
    """`order` : all variables, first eliminated first; `cliques` : sorted tuples of variables, none
    inside another; `cells` : the cells of their tables, added up."""

    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    cells: int


@functools.lru_cache(maxsize=256)
def junction_tree(
    scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], order: tuple[int, ...] | None = None
) -> JunctionTree:
    """The smaller of the two greedy junction trees of a model, and that of `order` where one is given.

    scopes : the factors' variables, in [0, len(sizes)), a tuple of tuples
    sizes : the number of values of each variable, a tuple
    """
    parts = _parts(scopes, len(sizes))
    trees = [_joined([_greedy(*part, sizes, cost) for part in parts]) for cost in (_table_size, _fill)]
    if order is not None:
        trees.append(_tree(order, _graph(scopes, len(sizes)), sizes))
    return min(trees, key=lambda tree: tree.cells)


class Growth:
    """How large the junction tree of a model becomes with one factor more.

    scopes, sizes : as of `junction_tree`; tree : a `JunctionTree` of them, whose order is kept as a third rule

    With the order kept, more is joined only along one path: what a variable's clique gains is handed on to that of its next
    companion. By the greedy rules, only the components that the factor touches are different.
    """

    def __init__(self, scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], tree: JunctionTree) -> None:
        self._sizes, self._parts = sizes, _parts(scopes, len(sizes))
        self._part_of = {v: number for number, (_, variables) in enumerate(self._parts) for v in variables}
        self._cells = [tuple(self._by_rule(*part)) for part in self._parts]
        self._all = [sum(cells) for cells in zip(*self._cells)]
        self._held = [[set(held) for held in tree.cliques if v in held] for v in range(len(sizes))]
        # From here on, variables are their places in the order, so that the lowest bit of a set is eliminated first.
        self._place = {v: place for place, v in enumerate(tree.order)}
        renamed = [tuple(self._place[v] for v in scope) for scope in scopes]
        neighbours = list(_graph(renamed, len(sizes)))
        self._left = [_join(v, neighbours) & ~(1 << v) for v in range(len(sizes))]  # behind, by each variable
        self._behind = set(self._left)
        self._size_at = tuple(sizes[v] for v in tree.order)
        self._kept_order = sum(self._maximal(v, left) for v, left in enumerate(self._left))

    def has(self, clique: Sequence[int]) -> bool:
        """Whether `clique`, not empty, is inside a clique of the tree."""
        return any(held.issuperset(clique) for held in self._held[clique[0]])

    def within(self, limit: float | Fraction, clique: Sequence[int]) -> bool:
        """Whether ``junction_tree((*scopes, clique), sizes, tree.order)`` has at most `limit` cells, often without making it."""
        if math.prod(self._sizes[v] for v in clique) > limit:
            return False
        if self._in_kept_order(clique) <= limit:
            return True
        touched = {self._part_of[v] for v in clique}
        scopes = (clique, *(scope for number in touched for scope in self._parts[number][0]))
        variables = tuple(sorted(v for number in touched for v in self._parts[number][1]))
        before = zip(self._all, zip(*(self._cells[number] for number in touched)))
        elsewhere = [everywhere - sum(here) for everywhere, here in before]
        return any(rest + cells <= limit for rest, cells in zip(elsewhere, self._by_rule(scopes, variables)))

    def _by_rule(self, scopes, variables):
        """The cells of the greedy trees of one component."""
        return (_greedy(scopes, variables, self._sizes, cost)[0].cells for cost in (_table_size, _fill))

    def _in_kept_order(self, clique) -> int:
        """The cells of the tree with `clique` in the order of the tree."""
        v, *others = sorted(self._place[v] for v in clique)
        gained, left = bit_sets.of(others), dict[int, int]()
        while gained & ~self._left[v]:
            left[v] = self._left[v] | gained
            first = left[v] & -left[v]
            v, gained = first.bit_length() - 1, left[v] ^ first
        # What was inside an earlier clique stays so. Another is now, if what is newly left behind is all of it.
        behind = set(left.values())
        changed = {*left, *((each & -each).bit_length() - 1 for each in behind if each)}
        cells = self._kept_order
        for v in changed:
            cells += self._maximal(v, left.get(v, self._left[v]), behind) - self._maximal(v, self._left[v])
        return cells

    def _maximal(self, v, left, behind=()) -> int:
        """The cells of v's clique, or 0 if it is all that an earlier one left behind (see `_tree`)."""
        clique = left | 1 << v
        return 0 if clique in self._behind or clique in behind else bit_sets.cells(clique, self._size_at)


def _parts(scopes, d: int) -> list:
    """(scopes, variables) of each connected component, the scopes in the order given, the variables sorted."""
    component = components(scopes, d)
    parts = {number: (list[tuple](), list[int]()) for number in component}
    for scope in scopes:
        if scope:
            parts[component[scope[0]]][0].append(scope)
    for v, number in enumerate(component):
        parts[number][1].append(v)
    return [(tuple(own), tuple(variables)) for own, variables in parts.values()]


@functools.lru_cache(maxsize=4096)
def _greedy(scopes, variables, sizes, cost):
    """The greedy tree of one component, and the cost of each step of its order."""
    graph = _graph(scopes, len(sizes))
    steps = _greedy_steps(graph, sizes, cost, variables)
    return _tree([v for _, v in steps], graph, sizes), tuple(step_cost for step_cost, _ in steps)


def _joined(parts) -> JunctionTree:
    """The greedy tree of all components: each time, the step that costs least of those that are next in theirs."""
    steps = [list(zip(costs, tree.order)) for tree, costs in parts]
    heads, order = [(own[0], number, 0) for number, own in enumerate(steps)], []
    heapq.heapify(heads)
    while heads:
        (_, v), number, place = heads[0]
        order.append(v)
        if place + 1 < len(steps[number]):
            heapq.heapreplace(heads, (steps[number][place + 1], number, place + 1))
        else:
            heapq.heappop(heads)
    cliques = tuple(clique for tree, _ in parts for clique in tree.cliques)
    return JunctionTree(tuple(order), cliques, sum(tree.cells for tree, _ in parts))


@functools.lru_cache(maxsize=4096)
def elimination_order(
    scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], keep: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, ...]:
    """An order in which to sum out what occurs in `scopes` but not in `keep`, that of `order` or a better one.

    Small tables are not worth the search.
    """
    graph = _graph((*scopes, keep), len(sizes))
    occurring = {v for scope in scopes for v in scope}
    rest = tuple(v for v in order if v in occurring and v not in keep)
    cells = _tree(rest, graph, sizes).cells
    if cells <= _SMALL:
        return rest
    orders = [tuple(v for _, v in _greedy_steps(graph, sizes, cost, rest)) for cost in (_table_size, _fill)]
    return min([rest, *orders], key=lambda found: _tree(found, graph, sizes).cells)


def components(scopes: Iterable[Sequence[int]], d: int) -> list[int]:
    """For each of d variables, a number that it shares with exactly the variables connected to it."""
    component = list(range(d))
    for scope in scopes:
        joined = {component[v] for v in scope}
        if len(joined) > 1:
            lowest = min(joined)
            component = [lowest if c in joined else c for c in component]
    return component


def _graph(scopes, d: int) -> tuple[int, ...]:
    """For each variable, the set of those that share a factor with it, itself left out."""
    neighbours = [0] * d
    for scope in scopes:
        members = bit_sets.of(scope)
        for v in scope:
            neighbours[v] |= members
    return tuple(near & ~(1 << v) for v, near in enumerate(neighbours))


def _table_size(v: int, neighbours, sizes) -> int:
    return bit_sets.cells(neighbours[v] | 1 << v, sizes)


def _fill(v: int, neighbours, sizes) -> int:
    """Pairs of values of neighbours of v that eliminating v would join (each pair twice)."""
    near = neighbours[v]
    return sum(sizes[u] * _values(near & ~neighbours[u] & ~(1 << u), sizes) for u in bit_sets.members(near))


@functools.lru_cache(maxsize=65536)
def _values(variables: int, sizes) -> int:
    return sum(sizes[v] for v in bit_sets.members(variables))


def _greedy_steps(graph, sizes, cost, variables) -> list:
    """(cost, variable) of each step that eliminates `variables`: each time the one that costs least, the first of equals."""
    neighbours = list(graph)
    costs = {v: cost(v, neighbours, sizes) for v in variables}
    steps = []
    while costs:
        v = min(costs, key=costs.__getitem__)
        steps.append((costs.pop(v), v))
        near = bit_sets.members(neighbours[v])
        _join(v, neighbours)
        changed = set(near)
        if cost is _fill:  # a new edge may also spare a common neighbour of its ends
            changed.update(u for w in near for u in bit_sets.members(neighbours[w]))
        for u in changed & costs.keys():
            costs[u] = cost(u, neighbours, sizes)
    return steps


def _join(v: int, neighbours: list[int]) -> int:
    """Take v out of the graph, its neighbours joined to each other; the set of v and them."""
    near = neighbours[v]
    for u in bit_sets.members(near):
        neighbours[u] = (neighbours[u] | near) & ~(1 << u | 1 << v)
    return near | 1 << v


def _tree(order, graph, sizes) -> JunctionTree:
    """The tree that `order` makes. A clique is inside an earlier one just if it is all that one of them left behind.

    For let it be inside the clique of u, and u the last such. What u left is inside the clique of the first of these to be
    eliminated, which comes after u, so that it is this clique itself.
    """
    neighbours, maximal, left_behind = list(graph), list[int](), set[int]()
    for v in order:
        clique = _join(v, neighbours)
        if clique not in left_behind:
            maximal.append(clique)
        left_behind.add(clique & ~(1 << v))
    return JunctionTree(
        tuple(order), tuple(map(bit_sets.members, maximal)), sum(bit_sets.cells(c, sizes) for c in maximal)
    )
