"""`junction_tree` against properties that define a junction tree, and sizes counted by brute force."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.numerics import junction_trees as module
from lib.numerics.junction_trees import components, elimination_order, junction_tree, within


@st.composite
def structures(draw):
    d = draw(st.integers(1, 6))
    sizes = tuple(draw(st.lists(st.integers(1, 9), min_size=d, max_size=d)))
    scope = st.lists(st.integers(0, d - 1), min_size=1, max_size=3, unique=True).map(lambda s: tuple(sorted(s)))
    return tuple(draw(st.lists(scope, max_size=8))), sizes


def size_of(order, scopes, sizes):
    """Cells of the maximal cliques that `order` makes, with sets instead of bits."""
    sets, cliques = [set(scope) for scope in scopes], []
    for v in order:
        clique = {v}.union(*(s for s in sets if v in s))
        sets = [s for s in sets if v not in s] + [clique - {v}]
        cliques.append(clique)
    maximal = [c for i, c in enumerate(cliques) if not any(c <= other for other in cliques[:i])]
    return sum(math.prod(sizes[v] for v in clique) for clique in maximal)


@given(structures())
def test_a_tree_covers_every_factor_and_counts_its_cells(structure):
    scopes, sizes = structure
    tree = junction_tree(scopes, sizes)
    assert sorted(tree.order) == list(range(len(sizes)))
    assert all(any(set(scope) <= set(clique) for clique in tree.cliques) for scope in scopes)
    assert not any(set(a) < set(b) for a, b in itertools.permutations(tree.cliques, 2))
    assert tree.cells == size_of(tree.order, scopes, sizes)


@given(structures())
def test_a_tree_is_never_smaller_than_the_best_of_all_orders_and_heeds_a_good_hint(structure):
    scopes, sizes = structure
    orders = itertools.permutations(range(min(len(sizes), 5)))
    rest = tuple(range(5, len(sizes)))
    best = min((order + rest for order in orders), key=lambda order: size_of(order, scopes, sizes))
    least = size_of(best, scopes, sizes)
    found = junction_tree(scopes, sizes)
    if len(sizes) <= 5:
        assert found.cells >= least
    assert junction_tree(scopes, sizes, best).cells == min(found.cells, least)
    assert within(min(found.cells, least), scopes, sizes, best)
    assert not within(min(found.cells, least) - 1, scopes, sizes, best)


@given(structures(), st.data())
def test_with_variables_to_keep_the_order_covers_the_rest_and_is_no_worse_than_the_one_given(structure, data):
    scopes, sizes = structure
    occurring = sorted({v for scope in scopes for v in scope})
    keep = tuple(sorted(data.draw(st.lists(st.sampled_from(occurring), max_size=2, unique=True)))) if occurring else ()
    given_order = tuple(data.draw(st.permutations(range(len(sizes)))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0)
        elimination_order.cache_clear()
        found = elimination_order(scopes, sizes, keep, given_order)
    rest = [v for v in given_order if v in occurring and v not in keep]
    assert sorted(found) == sorted(rest)
    assert size_of(found, (*scopes, keep), sizes) <= size_of(rest, (*scopes, keep), sizes)


def test_keeping_both_ends_of_a_chain_goes_from_one_end_to_the_other():
    """The order that is best for the chain, from outside in, would join all neighbours of the ends."""
    chain, sizes = ((0, 1), (1, 2), (2, 3), (3, 4)), (50,) * 5
    found = elimination_order(chain, sizes, (0, 4), (0, 4, 2, 1, 3))
    assert size_of(found, (*chain, (0, 4)), sizes) == 3 * 50**3


@pytest.mark.parametrize(
    "scopes, sizes, cells",
    [
        ((), (3, 4), 3 + 4),  # no factor: every variable by itself
        (((0, 1), (1, 2)), (2, 3, 4), 2 * 3 + 3 * 4),  # a chain
        (((0, 1), (1, 2), (2, 3), (0, 3)), (2, 9, 2, 9), 2 * (2 * 9 * 2)),  # a cycle, cut at the small ends
        (((0, 1), (2, 3)), (2, 3, 4, 5), 2 * 3 + 4 * 5),  # two parts
        (((0, 1, 2),), (2, 3, 4), 24),  # one clique
        (((0,),), (1,), 1),
    ],
)
def test_known_structures(scopes, sizes, cells):
    assert junction_tree(scopes, sizes).cells == cells


@given(structures())
def test_components_are_those_of_the_graph(structure):
    scopes, sizes = structure
    component = components(scopes, len(sizes))
    reached = {v: {v} for v in range(len(sizes))}
    for _ in sizes:
        for scope in scopes:
            union = set().union(*(reached[v] for v in scope))
            for v in scope:
                reached[v] |= union
    for u, v in itertools.product(range(len(sizes)), repeat=2):
        assert (component[u] == component[v]) == (v in reached[u] or u in reached[v])
