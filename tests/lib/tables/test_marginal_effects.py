"""`effects` against functions tabulated over all records."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tables.marginal_effects import Effects, subsets

SIZES = (2, 3, 4, 1)
CLIQUES = [(0, 1), (1, 2), (0, 1, 2), (1,), (2, 3)]
SHAPES = [tuple(SIZES[v] for v in clique) for clique in CLIQUES]
ENDS = np.cumsum([0] + [int(np.prod(shape)) for shape in SHAPES])
EFFECTS = Effects(CLIQUES, SIZES)
seeds = given(st.integers(0, 10**9))


def along(table, scope):
    return table[tuple(slice(None) if v in scope else None for v in range(len(SIZES)))]


def tabulate(flat, scopes, slices):
    """Return the sum of the tables in a flat array, over all records."""
    tables = [flat[part].reshape([SIZES[v] for v in scope]) for scope, part in zip(scopes, slices)]
    return sum(np.broadcast_to(along(table, scope), SIZES) for table, scope in zip(tables, scopes))


def cliques_of(flat):
    return tabulate(flat, CLIQUES, [slice(a, b) for a, b in zip(ENDS, ENDS[1:])])


def sums(joint, scope):
    return joint.sum(axis=tuple(v for v in range(len(SIZES)) if v not in scope))


@seeds
@settings(max_examples=50)
def test_the_effects_of_potentials_are_the_same_function_up_to_a_constant_and_centred(seed):
    theta = np.random.default_rng(seed).normal(size=ENDS[-1])
    effects = EFFECTS.of_potentials(theta)
    difference = cliques_of(theta) - tabulate(effects, EFFECTS.subsets, EFFECTS.slices)
    assert np.ptp(difference) < 1e-12
    for subset, part in zip(EFFECTS.subsets, EFFECTS.slices):
        table = effects[part].reshape([SIZES[v] for v in subset])
        assert all(np.allclose(table.sum(axis=axis), 0, atol=1e-12) for axis in range(table.ndim))


@seeds
@settings(max_examples=50)
def test_spreading_is_the_transpose(seed):
    rng = np.random.default_rng(seed)
    theta, other = rng.normal(size=ENDS[-1]), EFFECTS.of_potentials(rng.normal(size=ENDS[-1]))
    assert EFFECTS.of_potentials(theta) @ other == pytest.approx(theta @ EFFECTS.spread(other))


@seeds
@settings(max_examples=50)
def test_the_effects_of_counts_give_the_counts_back(seed):
    """Spread over the cliques, with the total, the effects of some records' marginals are the marginals."""
    joint = np.random.default_rng(seed).uniform(0, 9, SIZES)
    tables = [sums(joint, clique).ravel() for clique in CLIQUES]
    effects = EFFECTS.of_counts(np.concatenate(tables))
    uniform = np.concatenate([np.full(table.size, joint.sum() / table.size) for table in tables])
    assert np.allclose(uniform + EFFECTS.spread(effects), np.concatenate(tables))


def test_subsets_come_small_ones_first_and_without_the_empty_one():
    assert subsets((0, 2, 5)) == [(0,), (2,), (5,), (0, 2), (0, 5), (2, 5), (0, 2, 5)]
    assert Effects([], SIZES).of_potentials(np.empty(0)).shape == (0,)
