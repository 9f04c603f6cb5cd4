"""`reconciliation`: the same minimizer, agreement where tables overlap, and the estimate of the total of smallest
variance."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lib.tables.marginal_effects import Effects
from lib.tables.reconciliation import Reconciliation

SIZES = (2, 3, 4)
CLIQUES = [(0, 1), (1, 2), (0, 1, 2), (1,), (0, 1)]


def reconciled(rng, total=None):
    tables = [(c, rng.normal(50, 30, [SIZES[v] for v in c]), float(rng.uniform(0.5, 20))) for c in CLIQUES]
    reconciliation = Reconciliation(SIZES, total)
    for table in tables:
        reconciliation.add(*table)
    return tables, reconciliation


def consistent(reconciliation) -> dict:
    """Return, for each clique, the table of counts that the effects make, put together as `fit` does it."""
    cliques = list(dict.fromkeys(CLIQUES))
    effects, tables, start = Effects(cliques, SIZES), {}, 0
    flat = effects.spread(reconciliation.effects(effects)[0])
    for clique in cliques:
        table = np.zeros([SIZES[v] for v in clique])
        tables[clique] = flat[start : start + table.size].reshape(table.shape) + reconciliation.total / table.size
        start += table.size
    return tables


def sums(table, clique, onto):
    return table.sum(axis=tuple(axis for axis, v in enumerate(clique) if v not in onto))


def loss(joint, tables):
    return sum(np.sum((sums(joint, (0, 1, 2), c) - y) ** 2) / s**2 for c, y, s in tables)


@given(st.integers(0, 10**9))
@settings(max_examples=50)
def test_the_loss_of_any_records_changes_by_a_constant(seed):
    rng = np.random.default_rng(seed)
    tables, reconciliation = reconciled(rng)
    changed = [(c, table, reconciliation.weights[c] ** -0.5) for c, table in consistent(reconciliation).items()]
    differences = []
    for _ in range(4):
        joint = rng.uniform(0, 50, SIZES)
        differences.append(loss(joint, tables) - loss(joint, changed))
    assert np.ptp(differences) < 1e-9 * max(1, abs(differences[0]))


@given(st.integers(0, 10**9))
@settings(max_examples=50)
def test_tables_agree_where_they_overlap_and_sum_to_the_total(seed):
    _, reconciliation = reconciled(np.random.default_rng(seed))
    tables = consistent(reconciliation)
    for one, other in itertools.combinations(tables, 2):
        shared = tuple(v for v in one if v in other)
        assert np.allclose(sums(tables[one], one, shared), sums(tables[other], other, shared))
        assert tables[one].sum() == pytest.approx(reconciliation.total)


def test_the_total_is_the_inverse_variance_mean():
    reconciliation = Reconciliation((2, 3))
    reconciliation.add((0,), np.array([40.0, 60.0]), 2.0)  # 100, variance 2 * 4
    reconciliation.add((1,), np.array([30.0, 30.0, 30.0]), 1.0)  # 90, variance 3 * 1
    assert reconciliation.total == pytest.approx((100 / 8 + 90 / 3) / (1 / 8 + 1 / 3))


def test_a_public_total_is_kept_and_an_absurd_one_is_raised_to_one():
    assert reconciled(np.random.default_rng(1), total=77)[1].total == 77
    reconciliation = Reconciliation((2,))
    assert reconciliation.total == 1
    reconciliation.add((0,), np.array([-50.0, 10.0]), 1.0)
    assert reconciliation.total == 1


@pytest.mark.parametrize("told", [False, True])
def test_an_effect_that_is_as_expected_is_as_strong_as_its_noise(told):
    """There are 400 tables of 10^8 records, so the proportions are known. Each strength is chi-squared over its degrees of freedom.
    The expectation is independent attributes, or the one that `strengths` is given. False alarms 1e-6."""
    rng, shares = np.random.default_rng(7), [np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3]), np.full(4, 0.25)]
    found = {effect: [] for effect in [(0, 1), (1, 2), (0, 2), (0, 1, 2), *([(0,), (1,), (2,)] if told else [])]}
    expected = lambda clique: 1e8 * functools.reduce(np.multiply.outer, [shares[v] for v in clique])  # noqa: E731
    for _ in range(400):
        reconciliation = Reconciliation(SIZES)
        for clique in CLIQUES:
            truth, sigma = np.float64(1e8), float(rng.uniform(0.5, 20))
            for v in clique:
                truth = np.multiply.outer(truth, shares[v])
            reconciliation.add(clique, truth + rng.normal(0, sigma, truth.shape), sigma)
        strengths = reconciliation.strengths(expected) if told else reconciliation.strengths()
        for effect, values in found.items():
            values.append(strengths[effect])
    for effect, values in found.items():
        degrees = 400 * np.prod([SIZES[v] - 1 for v in effect])
        low, high = stats.chi2.ppf([1e-7, 1 - 1e-7], degrees)
        assert low < np.sum(values) * degrees / 400 < high, effect


def test_the_strength_of_an_interaction_is_its_distance_from_independence_in_units_of_the_noise():
    """A 2 x 2 table has one degree of freedom: n11 - n1. n.1 / n, which is in all four cells, over its noise, sigma / 2."""
    reconciliation = Reconciliation((2, 2))
    reconciliation.add((0, 1), np.array([[50.0, 10.0], [20.0, 20.0]]), 3.0)
    apart = 50 - 60 * 70 / 100
    assert reconciliation.strengths()[0, 1] == pytest.approx((4 * apart) ** 2 / (4 * 3**2))


def test_the_strength_of_an_attribute_is_its_distance_from_even_counts_in_units_of_the_noise():
    """Two values have one degree of freedom: their difference, over its noise."""
    reconciliation = Reconciliation((2, 3))
    reconciliation.add((0,), np.array([60.0, 40.0]), 3.0)
    assert reconciliation.strengths() == {(0,): pytest.approx((60 - 40) ** 2 / (2 * 3**2))}


def test_the_deviation_of_an_effect_is_that_of_sums_of_noisy_cells_averaged_over_the_tables():
    reconciliation = Reconciliation((2, 3))
    reconciliation.add((0, 1), np.zeros((2, 3)), 2.0)
    assert reconciliation.deviations() == {
        (0,): pytest.approx(2 * 3**0.5),
        (1,): pytest.approx(2 * 2**0.5),
        (0, 1): pytest.approx(2.0),
    }
    reconciliation.add((0,), np.zeros(2), 1.0)
    assert reconciliation.deviations()[0,] == pytest.approx((1 / (4 * 3) + 1) ** -0.5)


def test_attributes_of_four_values_or_more_are_moved_towards_uniformity_and_nothing_else_is():
    reconciliation = Reconciliation((3, 4, 5, 6))
    given = [(0,), (1,), (2,), (3,), (1, 2)]
    for clique in given:
        shape = tuple(reconciliation._sizes[v] for v in clique)
        reconciliation.add(clique, 10 + np.arange(np.prod(shape)).reshape(shape) ** 1.5, 2.0)
    strengths = dict.fromkeys(given, 2.0) | {(2,): 0.5, (3,): 0.0}
    before, after = (
        {e: weighted / weight for e, (weight, weighted) in each._effects.items()}
        for each in (reconciliation, reconciliation.shrunken(strengths))
    )
    proportions = {(1,): 0.75, (2,): 0.0, (3,): 0.0}
    assert set(after) == set(before) and all(np.abs(effect).max() > 0 for effect in before.values())
    assert all(np.allclose(after[e], proportions.get(e, 1.0) * before[e]) for e in before)


def test_counts_below_nothing_do_not_become_shares():
    reconciliation = Reconciliation((2, 2))
    reconciliation.add((0,), np.array([-4.0, 10.0]), 1.0)
    reconciliation.add((0, 1), np.array([[-1.0, -1.0], [4.0, 6.0]]), 1.0)
    strength = reconciliation.strengths()[0, 1]
    assert np.isfinite(strength) and strength >= 0
