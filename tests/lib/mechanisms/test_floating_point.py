"""`floating_point`: the attack against enumeration of all outputs; the remedy against its exact law."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lib.mechanisms import noise
from lib.mechanisms.floating_point import attack, lattice_laplace, reachable, textbook_laplace

properties = settings(derandomize=True, deadline=None, max_examples=60)


def all_outputs(value, scale, bits):
    """Return every answer of the sampler, one number at a time, and how many of the equally likely draws give it."""
    draws = [value + sign * (scale * math.log(k / 2**bits)) for k in range(1, 2**bits + 1) for sign in (1.0, -1.0)]
    return np.unique(draws, return_counts=True)


values = st.one_of(st.floats(-5, 5), st.floats(-1e9, 1e9), st.sampled_from([0.0, 1.0, 1e15, -0.1]))


@pytest.mark.slow
@properties
@given(values, values, st.floats(-3, 3).map(lambda x: 10.0**x), st.integers(1, 9))
def test_reachable_is_membership_among_all_outputs(value, other, scale, bits):
    own, others = all_outputs(value, scale, bits)[0], all_outputs(other, scale, bits)[0]
    asked = np.concatenate([own, others, np.nextafter(own, np.inf), np.nextafter(own, -np.inf), [value, other, 1e18]])
    np.testing.assert_array_equal(reachable(asked, value, scale, bits=bits), np.isin(asked, own))


@pytest.mark.slow
@pytest.mark.parametrize("value, scale", [(0.0, 1.0), (1.0, 1.0), (5.0, 0.3), (100.0, 10.0), (-0.7, 1e4)])
def test_reachable_at_full_precision_against_all_draws_near_the_output(value, scale):
    rng = np.random.default_rng(1)
    outputs = textbook_laplace(np.full(60, value + 0.001), scale, rng=rng)  # some within reach of value, some not
    verdicts = reachable(outputs, value, scale)
    for output, verdict in zip(outputs, verdicts):
        sign = 1.0 if output <= value else -1.0
        middle = round(2**53 * math.exp(-abs(output - value) / scale))
        around = np.clip(np.arange(middle - 4000, middle + 4001), 1, 2**53)
        answers = [value + sign * (scale * math.log(k / 2**53)) for k in around.tolist()]
        assert answers[0] != output or answers[-1] != output  # 4000 are enough
        assert verdict == (output in answers)
    assert 0 < verdicts.sum() < len(verdicts) or abs(value) > 10 * scale


@pytest.mark.slow
@pytest.mark.parametrize("value, scale", [(0.0, 1.0), (5.0, 3.0), (1e3, 0.1), (-7.5, 1e5)])
def test_every_output_is_reachable_from_its_own_value(value, scale):
    rng = np.random.default_rng(2)
    assert reachable(textbook_laplace(np.full(5000, value), scale, rng=rng), value, scale).all()
    assert reachable(value + noise.laplace(5000, scale, rng=rng), value, scale, sampler="numpy").all()


def test_the_textbook_sampler_follows_its_law():
    """Kolmogorov-Smirnov; false alarm in 1 of 10,000 seeds."""
    draws = textbook_laplace(np.full((50, 400), 2.0), 3.0, rng=np.random.default_rng(3))
    assert draws.shape == (50, 400)
    assert stats.kstest(draws.ravel(), stats.laplace(2.0, 3.0).cdf).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("bits", [4, 8])
def test_the_shares_of_the_attack_against_enumeration(bits):
    """Within 5 standard errors: false alarm in 1 of a million seeds."""
    first, second, scale, trials = 0.0, 1.0, 2.0, 20_000
    found = attack(first, second, scale, trials=trials, rng=np.random.default_rng(4), bits=bits)
    for share, (own, counts), (others, _) in (
        (found.first, all_outputs(first, scale, bits), all_outputs(second, scale, bits)),
        (found.second, all_outputs(second, scale, bits), all_outputs(first, scale, bits)),
    ):
        exact = counts[~np.isin(own, others)].sum() / counts.sum()
        assert abs(share - exact) <= 5 * math.sqrt(exact * (1 - exact) / trials) + 1e-12


@pytest.mark.parametrize("sampler", ["textbook", "numpy"])
def test_a_third_of_the_outputs_and_more_identify_the_table(sampler):
    found = attack(0.0, 1.0, 1.0, trials=4000, rng=np.random.default_rng(5), sampler=sampler)
    assert found.first > 0.33 and found.second > 0.33 and found.trials == 4000
    assert found.first_error == pytest.approx(math.sqrt(found.first * (1 - found.first) / 4000))
    far = attack(1e9, 1e9 + 1, 1.0, trials=1000, rng=np.random.default_rng(5), sampler=sampler)
    assert far.first == far.second == 0  # rounding to a value so large hides where the noise came from


def test_equal_answers_are_never_told_apart():
    assert attack(3.0, 3.0, 1.0, trials=1000, rng=np.random.default_rng(6))[:2] == (0, 0)


# ---- the remedy


@pytest.mark.slow
def test_exact_noise_withstands():
    """Both tables reach the same outputs, with frequencies as an exact law has them; false alarm in 1 of 10,000 seeds."""
    granularity, epsilon, rng = 0.25, 1.0, np.random.default_rng(7)
    outputs = [
        lattice_laplace(np.full(50_000, v), epsilon, 50_000.0, rng=rng, granularity=granularity) for v in (0.0, 1.0)
    ]
    assert all((x % granularity == 0).all() for x in outputs)
    units = 50_000 / granularity + 49_999  # for a vector of so many entries
    assert stats.kstest(outputs[0] / granularity, stats.laplace(0, units).cdf).pvalue > 1e-4
    single = [
        np.array([lattice_laplace(v, epsilon, 1.0, rng=rng, granularity=0.5) for _ in range(1500)]) for v in (0.0, 0.7)
    ]
    for draws, centre in zip(single, (0, 1)):  # 0.7 is rounded to 1/2
        cells = np.clip(draws / 0.5 - centre, -6, 6).astype(int) + 6
        p = stats.dlaplace(0.5).pmf(np.arange(-6, 7))
        p[[0, -1]] = stats.dlaplace(0.5).sf(5)
        assert stats.chisquare(np.bincount(cells, minlength=13), 1500 * p / p.sum()).pvalue > 1e-4


@properties
@given(st.floats(-1000, 1000), st.floats(-3, 3), st.integers(-6, 2))
def test_rounding_increases_the_distance_to_its_ceiling_at_most(value, distance, exponent):
    granularity = 2.0**exponent
    other = value + distance
    rounded = [
        lattice_laplace(x, 1e9, 1.0, rng=np.random.default_rng(0), granularity=granularity) for x in (value, other)
    ]
    exact = abs(Fraction(value) - Fraction(other)) / Fraction(granularity)
    assert abs(rounded[0] - rounded[1]) / granularity <= math.ceil(exact)
    assert abs(rounded[0] - value) <= granularity / 2


def test_the_systems_randomness_serves_the_remedy():
    draws = lattice_laplace(np.zeros(100), Fraction(1, 3), 1.0, rng=noise.system_rng())
    assert draws.shape == (100,) and len(np.unique(draws)) > 50


@pytest.mark.parametrize("name, call", [
    ("value", lambda rng: textbook_laplace(np.nan, 1, rng=rng)),
    ("scale", lambda rng: textbook_laplace(0, 0, rng=rng)),
    ("scale", lambda rng: textbook_laplace(0, [1, 2], rng=rng)),
    ("bits", lambda rng: textbook_laplace(0, 1, rng=rng, bits=54)),
    ("output", lambda _: reachable(np.inf, 0, 1)),
    ("sampler", lambda _: reachable(0, 0, 1, sampler="numpy2")),
    ("bits", lambda _: reachable(0, 0, 1, sampler="numpy", bits=52)),
    ("bits", lambda _: reachable(0, 0, 1, bits=2.5)),
    ("first", lambda rng: attack([0, 1], 1, 1, trials=10, rng=rng)),
    ("second", lambda rng: attack(0, np.inf, 1, trials=10, rng=rng)),
    ("trials", lambda rng: attack(0, 1, 1, trials=0, rng=rng)),
    ("rng", lambda _: attack(0, 1, 1, trials=10, rng=None)),
    ("granularity", lambda rng: lattice_laplace(0, 1, 1, rng=rng, granularity=0.3)),
    ("granularity", lambda rng: lattice_laplace(0, 1, 1, rng=rng, granularity=-0.5)),
    ("value", lambda rng: lattice_laplace(1e20, 1, 1, rng=rng)),
    ("epsilon", lambda rng: lattice_laplace(0, 0, 1, rng=rng)),
    ("epsilon", lambda rng: lattice_laplace(0, math.inf, 1, rng=rng)),
    ("sensitivity", lambda rng: lattice_laplace(0, 1, 0, rng=rng)),
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=f"{name} must"):
        call(np.random.default_rng(0))
