"""Instances have the properties that their names promise: exact, inside the cube, inside D_sigma, neighbours,
adversarial."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational

from lib import gaussian_synthesis
from lib.accounting import divergence
from notebooks.studies import lemma_instances

GENERATORS = [lemma_instances.dataset, lemma_instances.corner_dataset]
SIZES = st.sampled_from([(40, 1, 0.25), (40, 2, 0.25), (60, 3, 0.125), (90, 5, 0.125)])
SEEDS = st.integers(0, 2**32 - 1)
often = settings(derandomize=True, deadline=None, max_examples=40)


@pytest.mark.slow
@often
@given(SIZES, SEEDS, st.sampled_from(GENERATORS))
def test_datasets_lie_in_d_sigma(size, seed, generator):
    n, d, sigma = size
    data = generator(n, d, sigma, rng=np.random.default_rng(seed))
    assert data.shape == (n, d) and np.abs(data).max() <= 1
    centred = data - data.sum(axis=0) / n
    # min z' Sigma z over unit z, by an independent route: the smallest singular value
    assert np.linalg.svd(centred, compute_uv=False)[-1] ** 2 / n >= sigma


@often
@given(SIZES, SEEDS, st.sampled_from(lemma_instances.KINDS), st.booleans())
def test_neighbours_differ_in_the_last_record_only(size, seed, kind, extreme):
    rng = np.random.default_rng(seed)
    data = lemma_instances.dataset(*size, rng=rng)
    first, second = lemma_instances.neighbours(data, kind, rng=rng, extreme=extreme)
    assert sorted(map(tuple, first)) == sorted(map(tuple, data))
    assert len(second) - len(first) == {"add": 1, "remove": -1, "replace": 0}[kind]
    common = min(len(first), len(second)) - (kind == "replace")
    assert np.array_equal(first[:common], second[:common]) and np.abs(second).max() <= 1


def test_extreme_record_is_the_farthest():
    rng = np.random.default_rng(1)
    data = lemma_instances.dataset(50, 2, 0.1, rng=rng)
    inverse = np.linalg.inv(np.cov(data.T, bias=True))
    distance = lambda x: (x - data.mean(0)) @ inverse @ (x - data.mean(0))
    added = lemma_instances.neighbours(data, "add", rng=rng, extreme=True)[1][-1]
    anywhere = rng.uniform(-1, 1, (2000, 2))
    assert distance(added) >= max(map(distance, anywhere))
    removed = lemma_instances.neighbours(data, "remove", rng=rng, extreme=True)[0][-1]
    assert distance(removed) == pytest.approx(max(map(distance, data)))


@often
@given(SEEDS)
def test_corner_dataset_is_near_the_worst_case(seed):
    n, d, sigma = 400, 2, 0.125
    data = lemma_instances.corner_dataset(n, d, sigma, rng=np.random.default_rng(seed))
    offset = np.ones(d) - data.mean(axis=0)
    assert np.array_equal(np.abs(data), np.ones((n, d))) and (data[-1] == 1).all()
    assert offset @ offset > 0.85 * 4 * d, "the last record is nearly 2 sqrt(d) from the mean"
    assert gaussian_synthesis.smallest_eigenvalue(data) < 1.3 * sigma


@pytest.mark.parametrize("kind", lemma_instances.KINDS)
def test_exact_divergences_against_floating_point_and_one_another(kind):
    rng = np.random.default_rng([1, lemma_instances.KINDS.index(kind)])
    first, second = lemma_instances.neighbours(lemma_instances.dataset(60, 2, 0.25, rng=rng), kind, rng=rng)
    orders = [Rational(101, 100), Rational(3, 2), Rational(4)]
    found = lemma_instances.exact_divergences(first, second, orders)
    moments = [(data.mean(axis=0), np.cov(data.T, bias=True)) for data in (first, second)]
    numeric = divergence.renyi_gaussian(*moments[0], *moments[1], [float(order) for order in orders])
    np.testing.assert_allclose(np.array(found, dtype=float), numeric, rtol=1e-9)
    more = lemma_instances.exact_divergences(first, second, orders, digits=80)
    with mp.workdps(80):
        assert all(0 < abs(a / b - 1) < mp.mpf(10) ** -42 for a, b in zip(found, more))


def test_exact_divergence_of_a_pair_worked_by_hand():
    """{-1, 1} and {-1/2, 1/2}: means 0, variances 1 and 1/4, D_alpha = -log(mixed 4^alpha) / (2 (alpha - 1))."""
    first, second = np.array([[-1.0], [1.0]]), np.array([[-0.5], [0.5]])
    order = Rational(5, 4)  # mixed: -1/4 + 5/16
    (found,) = lemma_instances.exact_divergences(first, second, [order], digits=30)
    with mp.workdps(30):
        expected = -mp.log(mp.mpf(1) / 16 * mp.mpf(4) ** mp.mpf("1.25")) / mp.mpf("0.5")
        assert abs(found - expected) < mp.mpf(10) ** -28


@pytest.mark.slow
@often
@given(SIZES, SEEDS)
def test_exact_moments_against_fractions(size, seed):
    data = lemma_instances.dataset(*size, rng=np.random.default_rng(seed))
    mean, covariance = lemma_instances.exact_moments(data)
    rows = [[Fraction(x) for x in row] for row in data.tolist()]
    n, d = data.shape
    means = [sum(row[j] for row in rows) / n for j in range(d)]
    assert [Fraction(int(m.p), int(m.q)) for m in mean] == means
    assert lemma_instances.exact(data[0]).tolist() == [[Rational(x)] for x in data[0]]
    for j in range(d):
        for k in range(d):
            expected = sum((row[j] - means[j]) * (row[k] - means[k]) for row in rows) / n
            assert Fraction(int(covariance[j, k].p), int(covariance[j, k].q)) == expected


@often
@given(st.integers(1, 6), SEEDS, st.data())
def test_semidefinite_matrix(d, seed, data):
    rank = data.draw(st.integers(0, d))
    matrix = lemma_instances.semidefinite_matrix(d, rank, rng=np.random.default_rng(seed))
    assert matrix.shape == (d, d) and matrix.dtype.kind == "i" and (matrix == matrix.T).all()
    assert np.linalg.matrix_rank(matrix) <= rank
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-9


@often
@given(st.integers(1, 9), SEEDS)
def test_weights_are_positive_integers(k, seed):
    found = lemma_instances.weights(k, rng=np.random.default_rng(seed))
    assert found.shape == (k,) and found.dtype.kind == "i" and (found >= 1).all() and (found <= 10**4).all()


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(
    "n, d, sigma, name",
    [(3, 3, 0.1, "n"), (9, 0, 0.1, "d"), (9, 2, 0.0, "sigma"), (9, 2, 1.0, "sigma"), (4, 3, 0.999, "sigma")],
)
def test_impossible_datasets_are_refused(generator, n, d, sigma, name):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        generator(n, d, sigma, rng=np.random.default_rng(0))


def test_other_bad_input_is_refused():
    rng = np.random.default_rng(0)
    data = lemma_instances.dataset(9, 2, 0.1, rng=rng)
    with pytest.raises(ValueError, match="kind must be one of 'add', 'remove', 'replace', got 'swap'"):
        lemma_instances.neighbours(data, "swap", rng=rng)
    with pytest.raises(ValueError, match=r"rank must be in \[0, 2\], got 3"):
        lemma_instances.semidefinite_matrix(2, 3, rng=rng)
    with pytest.raises(ValueError, match="k must be"):
        lemma_instances.weights(0, rng=rng)
    with pytest.raises(ValueError, match="multiples of 1/64"):
        lemma_instances.exact_moments(data / 3)
