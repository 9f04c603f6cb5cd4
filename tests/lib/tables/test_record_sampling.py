"""`records`: rounding of distributions to whole records."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tables import record_sampling
from lib.tables.graphical_model import GraphicalModel
from lib.tables.table import Domain

DOMAIN = Domain([("a", 3), ("b", 4), ("c", 2), ("d", 5)])
CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]
seeds = given(st.integers(0, 10**9))


def model(seed, total, zeros=0.0):
    rng = np.random.default_rng(seed)
    potentials = {clique: rng.normal(size=DOMAIN.shape(clique)) * 2 for clique in CHAIN}
    for table in potentials.values():
        table[(rng.random(table.shape) < zeros) & (np.arange(table.size).reshape(table.shape) > 0)] = -np.inf
    return GraphicalModel(DOMAIN, potentials, total)


@seeds
@settings(max_examples=40, derandomize=True, deadline=None)
def test_every_value_occurs_as_often_as_its_marginal_says(seed):
    """The first variable's counts are within one by construction. Those of the others are also within one, as far as
    a parent's few records allow it."""
    expected = model(seed, 5000.0)
    synthetic = expected.synthesize(rng=np.random.default_rng(seed))
    for name in DOMAIN.attributes:
        assert np.abs(synthetic.marginal((name,)) - expected.marginal((name,))).max() < 4


@seeds
@settings(max_examples=40, derandomize=True, deadline=None)
def test_no_impossible_record_is_made(seed):
    expected = model(seed, 300.0, zeros=0.4)
    synthetic = expected.synthesize(rng=np.random.default_rng(seed))
    for clique in CHAIN:
        assert not synthetic.marginal(clique)[expected.marginal(clique) == 0].any()


@pytest.mark.slow
def test_on_average_the_records_are_those_of_the_model():
    """There are 2,000 tables of 7 records. For single attributes each count is within one of its expectation, so its mean
    has a standard error below 1/sqrt(2000); 5 of those are allowed (false alarms: 1e-5)."""
    expected = model(3, 7.0)
    rng = np.random.default_rng(1)
    tables = [expected.synthesize(rng=rng) for _ in range(2000)]
    for name in DOMAIN.attributes:
        mean = np.mean([table.marginal((name,)) for table in tables], axis=0)
        assert np.abs(mean - expected.marginal((name,))).max() < 5 / np.sqrt(2000)


@seeds
@settings(max_examples=100, derandomize=True, deadline=None)
def test_rounding_keeps_the_sum_and_stays_within_one(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 50))
    expected = n * rng.dirichlet(np.full(6, 0.3))
    counts = record_sampling._rounded(expected, n, rng)
    assert counts.sum() == n and np.abs(counts - expected).max() < 1 + 1e-9 and counts.min() >= 0


@seeds
@settings(max_examples=100, derandomize=True, deadline=None)
def test_tilting_reaches_the_count_and_leaves_the_certain_alone(seed):
    rng = np.random.default_rng(seed)
    share = np.concatenate([[0.0, 1.0], rng.uniform(0.05, 0.95, 8)])
    weights = rng.integers(1, 40, 10).astype(float)
    count = weights @ share + rng.uniform(-0.1, 0.1) * weights[2:].sum() * 0.1
    tilted = record_sampling._tilted(share, weights, count)
    assert tilted[0] == 0 and tilted[1] == 1 and weights @ tilted == pytest.approx(count, abs=1e-3)
    odds = (tilted[2:] / (1 - tilted[2:])) / (share[2:] / (1 - share[2:]))
    assert np.allclose(odds, odds[0])


def test_pairs_are_closer_than_by_independent_draws():
    """Rounding along the line leaves each pair a fraction of the error that sampling would."""
    expected = model(8, 3000.0)
    synthetic = expected.synthesize(rng=np.random.default_rng(0))
    for pair in itertools.combinations(DOMAIN.attributes, 2):
        p = expected.marginal(pair) / expected.total
        sampling = np.sqrt(2 / np.pi * 3000 * p * (1 - p)).sum()  # expected L1 error of 3,000 independent draws
        assert np.abs(synthetic.marginal(pair) - expected.marginal(pair)).sum() < 0.6 * sampling
