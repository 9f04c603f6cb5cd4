"""`junction_tree` against properties that define a junction tree, and sizes counted by brute force."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.numerics import junction_trees as module
from lib.numerics.junction_trees import Growth, components, elimination_order, junction_tree


@st.composite
def structures(draw, most=6):
    d = draw(st.integers(1, most))
    sizes = tuple(draw(st.lists(st.integers(1, 9), min_size=d, max_size=d)))
    scope = st.lists(st.integers(0, d - 1), min_size=1, max_size=3, unique=True).map(lambda s: tuple(sorted(s)))
    return tuple(draw(st.lists(scope, max_size=most + 2))), sizes


def size_of(order, scopes, sizes):
    """Return cells of the maximal cliques that `order` makes, with sets instead of bits."""
    sets, cliques = [set(scope) for scope in scopes], []
    for v in order:
        clique = {v}.union(*(s for s in sets if v in s))
        sets = [s for s in sets if v not in s] + [clique - {v}]
        cliques.append(clique)
    maximal = [c for i, c in enumerate(cliques) if not any(c <= other for other in cliques[:i])]
    return sum(math.prod(sizes[v] for v in clique) for clique in maximal)


@pytest.mark.slow
@given(structures())
def test_a_tree_covers_every_factor_and_counts_its_cells(structure):
    scopes, sizes = structure
    tree = junction_tree(scopes, sizes)
    assert sorted(tree.order) == list(range(len(sizes)))
    assert all(any(set(scope) <= set(clique) for clique in tree.cliques) for scope in scopes)
    assert not any(set(a) < set(b) for a, b in itertools.permutations(tree.cliques, 2))
    assert tree.cells == size_of(tree.order, scopes, sizes)


@pytest.mark.slow
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


def greedy(scopes, sizes, fill):
    """Return the order of a greedy rule over all variables at once, whatever their components, with sets instead of bits."""
    near = {v: set().union(*(s for s in scopes if v in s)) - {v} for v in range(len(sizes))}

    def cost(v):
        if not fill:
            return sizes[v] * math.prod(sizes[u] for u in near[v])
        return sum(sizes[u] * sizes[w] for u, w in itertools.permutations(near[v], 2) if w not in near[u])

    order = []
    while near:
        v = min(near, key=lambda u: (cost(u), u))
        order.append(v)
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}
        del near[v]
    return tuple(order)


@pytest.mark.slow
@given(structures(most=12))
def test_components_apart_the_greedy_orders_are_those_of_the_whole(structure):
    """They agree to the last step, because the order of elimination of a model's variables changes last digits."""
    scopes, sizes = structure
    orders = [greedy(scopes, sizes, fill) for fill in (False, True)]
    best = min(orders, key=lambda order: size_of(order, scopes, sizes))
    found = junction_tree(scopes, sizes)
    assert found.order == best and found.cells == size_of(best, scopes, sizes)


@pytest.mark.slow
@given(structures(most=10), st.data())
def test_growth_says_what_the_tree_with_one_factor_more_says(structure, data):
    scopes, sizes = structure
    tree = junction_tree(scopes, sizes, tuple(data.draw(st.permutations(range(len(sizes))))))
    growth = Growth(scopes, sizes, tree)
    for clique in itertools.combinations(range(len(sizes)), data.draw(st.integers(1, min(3, len(sizes))))):
        cells = junction_tree((*scopes, clique), sizes, tree.order).cells
        assert growth.within(cells, clique) and not growth.within(cells - 1, clique)
        assert growth._in_kept_order(clique) == size_of(tree.order, (*scopes, clique), sizes)
        assert growth.has(clique) == any(set(clique) <= set(held) for held in tree.cliques)


@pytest.mark.slow
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


@pytest.mark.slow
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
