"""The two-step example: each fixed choice costs what is stated, and the adaptive choice costs more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from lib import accounting
from lib.accounting.privacy_loss import randomized_response
from lib.mechanisms import Gaussian
from notebooks.studies.odometer import two_steps

EXAMPLES = [(1.0, 1e-5, 0.5), (1.0, 1e-5, 0.9), (0.3, 1e-4, 0.2), (3.0, 1e-8, 0.6)]


@pytest.mark.parametrize("epsilon, delta, share", EXAMPLES)
def test_two_gaussians_are_the_one_gaussian_that_costs_epsilon_and_delta(epsilon, delta, share):
    example = two_steps(epsilon, delta, share)
    sigma = 1 / np.hypot(example.first, example.second)
    assert accounting.gaussian_epsilon(sigma, delta) == pytest.approx(epsilon, rel=1e-9)
    for x in (0.0, epsilon / 2, epsilon):
        assert example.delta_at(x, "gaussian") == pytest.approx(accounting.gaussian_delta(sigma, x), rel=1e-6)


@pytest.mark.parametrize("epsilon, delta, share", EXAMPLES)
def test_gaussian_and_response_agree_with_numerical_composition(epsilon, delta, share):
    example = two_steps(epsilon, delta, share)
    parts = [(Gaussian(1 / example.first), 1), (randomized_response(example.response), 1)]
    bounds = accounting.prv_compose(parts, delta, eps_error=1e-3 * epsilon)
    assert bounds.lower <= epsilon <= bounds.upper
    assert example.delta_at(epsilon, "response") == pytest.approx(delta, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, delta, share", EXAMPLES)
def test_a_choice_by_the_first_outcome_costs_more(epsilon, delta, share):
    example = two_steps(epsilon, delta, share)
    assert example.delta_at(epsilon) > 1.2 * delta
    assert example.true_epsilon > 1.005 * epsilon
    assert example.delta_at(example.true_epsilon) == pytest.approx(delta, rel=1e-6)
    for x in np.linspace(0, 2 * epsilon, 9):
        assert example.delta_at(x) >= max(example.delta_at(x, "gaussian"), example.delta_at(x, "response"))


@pytest.mark.slow
def test_sampling_the_whole_mechanism_gives_the_worst_delta():
    """10^6 draws of outcomes of a large-delta example: within 5 standard errors (false alarm 6e-7)."""
    example, rng, n = two_steps(1.0, 0.01, 0.5), np.random.default_rng(0), 10**6
    first = example.first**2 / 2 + example.first * rng.standard_normal(n)
    gaussian = example.second**2 / 2 + example.second * rng.standard_normal(n)
    response = np.where(rng.random(n) < expit(example.response), 1, -1) * example.response
    # The adversary's rule: the larger of the two curves at what is left, known to both data sets.
    left = np.linspace(-4, 6, 1001)
    curves = [_tail(left, sample) for sample in (gaussian, response)]
    chosen = np.interp(1.0 - first, left, curves[0]) >= np.interp(1.0 - first, left, curves[1])
    loss = first + np.where(chosen, gaussian, response)
    hockey = np.maximum(-np.expm1(1.0 - loss), 0)
    assert abs(hockey.mean() - example.delta_at(1.0)) < 5 * hockey.std() / n**0.5


def _tail(at, losses):
    losses = np.sort(losses[:20_000])
    return np.array([np.mean(np.maximum(-np.expm1(x - losses), 0)) for x in at])


@pytest.mark.parametrize(
    "arguments, name",
    [((0, 1e-5), "epsilon"), ((11, 1e-5), "epsilon"), ((1, 0), "delta"), ((1, 0.5), "delta"), ((1, 1e-5, 1), "share")],
)
def test_bad_input_is_refused_by_name(arguments, name):
    with pytest.raises(ValueError, match=name):
        two_steps(*arguments)


def test_a_bad_rule_is_refused():
    with pytest.raises(ValueError, match="rule"):
        two_steps(1.0, 1e-5).delta_at(1.0, "best")


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.floats(-1e300, 1e300))
def test_delta_at_any_epsilon_is_a_probability(epsilon):
    assert 0 <= two_steps(1.0, 1e-5).delta_at(epsilon) <= 1 + 1e-9
