"""Junction trees: find an order for summing variables out, and the sizes of the resulting tables.

A model over variables 0 to d - 1 is given by the scopes of its factors, tuples of variables. Eliminating a variable
joins all variables that share a factor with it. The joined sets that are not subsets of others are the cliques of a
junction tree. The size of the model is the total number of cells of the tables over these cliques (McKenna, Mullins,
Sheldon, Miklau 2022, section 4: JT-SIZE).

Finding the best order is NP-hard. Two greedy rules are tried and the smaller model is kept, because on some structures
one rule gives a model up to 30 times as large as the other. One rule eliminates the variable whose joint table is
smallest (min-size). The other rule eliminates the variable whose elimination adds the fewest pairs of values (weighted
min-fill).
Source: Koller and Friedman 2009, 9.4.3.2.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from . import bit_sets

_SMALL = 50_000  # summing this number of cells takes no longer than looking for a better order


class JunctionTree(NamedTuple):
    """A junction tree and its elimination order.

    order : all variables, in elimination order; cliques : sorted tuples of variables, none a subset of another
    cells : the total number of cells of the tables over the cliques
    """

    order: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    cells: int


@functools.lru_cache(maxsize=256)
def junction_tree(
    scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], order: tuple[int, ...] | None = None
) -> JunctionTree:
    """Return the smallest of the two greedy junction trees of a model and, if `order` is given, the tree of `order`.

    scopes : the factors' variables, in [0, len(sizes)), a tuple of tuples
    sizes : the number of values of each variable, a tuple
    """
    parts = _parts(scopes, len(sizes))
    trees = [_joined([_greedy(*part, sizes, cost) for part in parts]) for cost in (_table_size, _fill)]
    if order is not None:
        trees.append(_tree(order, _graph(scopes, len(sizes)), sizes))
    return min(trees, key=lambda tree: tree.cells)


class Growth:
    """The size of a model's junction tree after one more factor.

    scopes, sizes : as for `junction_tree`; tree : a `JunctionTree` of the model, whose order is a third candidate

    If the order of `tree` is kept, only the cliques along one path grow: each clique passes the variables that it gains
    to the clique of its next variable in the order. Under the greedy rules, only components with a variable of the new
    factor change.
    """

    def __init__(self, scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], tree: JunctionTree) -> None:
        self._sizes, self._parts = sizes, _parts(scopes, len(sizes))
        self._part_of = {v: number for number, (_, variables) in enumerate(self._parts) for v in variables}
        self._cells = [tuple(self._by_rule(*part)) for part in self._parts]
        self._all = [sum(cells) for cells in zip(*self._cells)]
        self._held = [[set(held) for held in tree.cliques if v in held] for v in range(len(sizes))]
        # From here on, variables are numbered by place in the order: the lowest bit of a set is eliminated first.
        self._place = {v: place for place, v in enumerate(tree.order)}
        renamed = [tuple(self._place[v] for v in scope) for scope in scopes]
        neighbours = list(_graph(renamed, len(sizes)))
        self._left = [_join(v, neighbours) & ~(1 << v) for v in range(len(sizes))]  # what each variable leaves behind
        self._behind = set(self._left)
        self._size_at = tuple(sizes[v] for v in tree.order)
        self._kept_order = sum(self._maximal(v, left) for v, left in enumerate(self._left))

    def has(self, clique: Sequence[int]) -> bool:
        """Return whether `clique`, not empty, is a subset of a clique of the tree."""
        return any(held.issuperset(clique) for held in self._held[clique[0]])

    def within(self, limit: float | Fraction, clique: Sequence[int]) -> bool:
        """Return whether ``junction_tree((*scopes, clique), sizes, tree.order)`` has at most `limit` cells."""
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
        """Return the numbers of cells of the greedy trees of one component."""
        return (_greedy(scopes, variables, self._sizes, cost)[0].cells for cost in (_table_size, _fill))

    def _in_kept_order(self, clique) -> int:
        """Return the number of cells of the tree that the order of `tree` gives after `clique` is added."""
        v, *others = sorted(self._place[v] for v in clique)
        gained, left = bit_sets.of(others), dict[int, int]()
        while gained & ~self._left[v]:
            left[v] = self._left[v] | gained
            first = left[v] & -left[v]
            v, gained = first.bit_length() - 1, left[v] ^ first
        # A clique inside an earlier one stays inside. A new clique is inside one if all of it is newly left behind.
        behind = set(left.values())
        changed = {*left, *((each & -each).bit_length() - 1 for each in behind if each)}
        cells = self._kept_order
        for v in changed:
            cells += self._maximal(v, left.get(v, self._left[v]), behind) - self._maximal(v, self._left[v])
        return cells

    def _maximal(self, v, left, behind=()) -> int:
        """Return the number of cells of v's clique, 0 if an earlier variable left the clique behind (see `_tree`)."""
        clique = left | 1 << v
        return 0 if clique in self._behind or clique in behind else bit_sets.cells(clique, self._size_at)


def _parts(scopes, d: int) -> list:
    """Return (scopes, variables) of each connected component: the scopes in the given order, the variables sorted."""
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
    """Return the greedy tree of one component, and the cost of each step of its order."""
    graph = _graph(scopes, len(sizes))
    steps = _greedy_steps(graph, sizes, cost, variables)
    return _tree([v for _, v in steps], graph, sizes), tuple(step_cost for step_cost, _ in steps)


def _joined(parts) -> JunctionTree:
    """Return the greedy tree of all components, merging their steps by cost."""
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
    """Return an order to sum out variables of `scopes` not in `keep`: `order` or, for large tables, a better order."""
    graph = _graph((*scopes, keep), len(sizes))
    occurring = {v for scope in scopes for v in scope}
    rest = tuple(v for v in order if v in occurring and v not in keep)
    cells = _tree(rest, graph, sizes).cells
    if cells <= _SMALL:
        return rest
    orders = [tuple(v for _, v in _greedy_steps(graph, sizes, cost, rest)) for cost in (_table_size, _fill)]
    return min([rest, *orders], key=lambda found: _tree(found, graph, sizes).cells)


def components(scopes: Iterable[Sequence[int]], d: int) -> list[int]:
    """Return a number for each of d variables; two variables have the same number if and only if they are connected."""
    component = list(range(d))
    for scope in scopes:
        joined = {component[v] for v in scope}
        if len(joined) > 1:
            lowest = min(joined)
            component = [lowest if c in joined else c for c in component]
    return component


def _graph(scopes, d: int) -> tuple[int, ...]:
    """Return, for each variable, the set of the other variables that share a factor with it."""
    neighbours = [0] * d
    for scope in scopes:
        members = bit_sets.of(scope)
        for v in scope:
            neighbours[v] |= members
    return tuple(near & ~(1 << v) for v, near in enumerate(neighbours))


def _table_size(v: int, neighbours, sizes) -> int:
    return bit_sets.cells(neighbours[v] | 1 << v, sizes)


def _fill(v: int, neighbours, sizes) -> int:
    """Return how many pairs of values of neighbours of v the elimination of v would join, counting each pair twice."""
    near = neighbours[v]
    return sum(sizes[u] * _values(near & ~neighbours[u] & ~(1 << u), sizes) for u in bit_sets.members(near))


@functools.lru_cache(maxsize=65536)
def _values(variables: int, sizes) -> int:
    return sum(sizes[v] for v in bit_sets.members(variables))


def _greedy_steps(graph, sizes, cost, variables) -> list:
    """Return (cost, variable) of each step that eliminates `variables`; a step takes the first of the cheapest ones."""
    neighbours = list(graph)
    costs = {v: cost(v, neighbours, sizes) for v in variables}
    steps = []
    while costs:
        v = min(costs, key=costs.__getitem__)
        steps.append((costs.pop(v), v))
        near = bit_sets.members(neighbours[v])
        _join(v, neighbours)
        changed = set(near)
        if cost is _fill:  # a new edge may also lower the cost of common neighbours of its ends
            changed.update(u for w in near for u in bit_sets.members(neighbours[w]))
        for u in changed & costs.keys():
            costs[u] = cost(u, neighbours, sizes)
    return steps


def _join(v: int, neighbours: list[int]) -> int:
    """Remove v from the graph and join its neighbours to one another; return the set of v and its neighbours."""
    near = neighbours[v]
    for u in bit_sets.members(near):
        neighbours[u] = (neighbours[u] | near) & ~(1 << u | 1 << v)
    return near | 1 << v


def _tree(order, graph, sizes) -> JunctionTree:
    """Return the tree of `order`. Eliminating a variable leaves behind the rest of its clique. A clique is a subset of
    an earlier one if and only if it equals the set that an earlier variable left behind. Proof: let u be the last
    earlier variable whose clique contains the given clique. The set that u left behind also contains the given clique.
    This set lies in the clique of its own member that is eliminated first. That member comes after u, so its clique is
    the given clique, and the two sets are equal.
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
