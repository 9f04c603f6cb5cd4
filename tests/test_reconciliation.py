"""`reconciliation`: the same minimiser, agreement where tables overlap, the total of least variance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    """For each clique the table of counts that the effects make together, as `fit` puts them together."""
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
