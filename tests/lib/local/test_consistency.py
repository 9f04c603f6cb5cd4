"""Post-processing: the projection against its optimality conditions, the cut against its false positives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import optimize

from lib.local import GRR, OUE, consistency

PROPERTY = settings(derandomize=True, deadline=None, max_examples=80)
finite = st.floats(-5, 5).map(lambda x: round(x, 6))
estimates = arrays(float, array_shapes(max_dims=3, max_side=9), elements=finite)


@pytest.mark.slow
@PROPERTY
@given(estimates)
def test_the_projection_is_a_distribution_and_no_other_is_nearer(raw):
    """The projection is the nearest point of a convex set: no corner of the simplex lies on the estimates' side of the projection."""
    projected = consistency.norm_sub(raw)
    assert projected.shape == raw.shape and (projected >= 0).all()
    assert projected.sum(axis=-1) == pytest.approx(1, abs=1e-12)
    away = raw - projected
    to_corners = away - (away * projected).sum(axis=-1, keepdims=True)  # away . (corner - projected), every corner
    assert to_corners.max() <= 1e-12


@pytest.mark.slow
@PROPERTY
@given(estimates.filter(lambda raw: raw.ndim == 1))
def test_norm_sub_finds_the_shift_of_its_definition(raw):
    """The reference finds the shift by bisection on the sum of positive parts."""
    delta = optimize.brentq(lambda delta: np.maximum(raw + delta, 0).sum() - 1, -7, 7, xtol=1e-14)
    assert consistency.norm_sub(raw) == pytest.approx(np.maximum(raw + delta, 0), abs=1e-12)


def test_a_distribution_stays_as_it_is():
    frequencies = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    assert consistency.norm_sub(frequencies) == pytest.approx(frequencies, abs=1e-15)


def test_a_worked_example():
    """The sum is 1.2 without the negative one: each of the other three gives up 1/15."""
    assert consistency.norm_sub([0.7, 0.3, 0.2, -0.2]) == pytest.approx([19 / 30, 7 / 30, 4 / 30, 0])
    assert consistency.base_cut([0.7, 0.3, 0.2, -0.2], deviation=0.1).tolist() == [
        0.7,
        0.3,
        0.0,
        0.0,
    ]  # 2.24 deviations


def test_the_projection_brings_noisy_estimates_nearer_to_the_truth():
    """The truth is a distribution, and projecting onto a convex set that holds it never moves away from it: here, where
    estimates are negative, it moves nearer."""
    rng = np.random.default_rng(5)
    truth = rng.multinomial(3000, rng.dirichlet(np.full(20, 0.3)))
    for oracle in (GRR(20, 1.0), OUE(20, 1.0)):
        raw = oracle.estimate([oracle.simulate(truth, rng=rng) for _ in range(50)], 3000)
        before, after = (np.linalg.norm(x - truth / 3000, axis=-1) for x in (raw, consistency.norm_sub(raw)))
        assert (after < before).all()


def test_base_cut_lets_noise_through_as_rarely_as_it_says():
    """20,000 samples of 50 values of frequency 0, alpha = 0.05, independent normal noise: a survivor in
    1 - (1 - 0.05/50)^50 = 4.88 % of them; false alarms 1 in 10^6 (4.9 deviations of a binomial of 20,000)."""
    noise = np.random.default_rng(11).normal(scale=0.02, size=(20_000, 50))
    survivors = (consistency.base_cut(noise, deviation=0.02) > 0).any(axis=1).mean()
    expected = 1 - (1 - 0.05 / 50) ** 50
    assert abs(survivors - expected) < 4.9 * np.sqrt(expected * (1 - expected) / 20_000)


def test_base_cut_leaves_what_it_keeps_alone():
    raw = np.random.default_rng(2).normal(size=(4, 30))
    cut = consistency.base_cut(raw, deviation=0.3, alpha=0.01)
    assert set(np.unique(cut[cut != raw])) == {0.0} and (cut[cut == raw] > 0.9).all() and (raw[cut != raw] < 1.1).all()


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: consistency.norm_sub([0.2, np.nan]), "estimates"),
        (lambda: consistency.norm_sub([]), "estimates"),
        (lambda: consistency.norm_sub(0.3), "estimates"),
        (lambda: consistency.base_cut([0.1, np.inf], 0.1), "estimates"),
        (lambda: consistency.base_cut([0.1, 0.2], 0.0), "deviation"),
        (lambda: consistency.base_cut([0.1, 0.2], 0.1, alpha=1.0), "alpha"),
    ],
)
def test_bad_input_is_refused_by_name(call, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        call()
