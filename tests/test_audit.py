"""`audit`: intervals with exact coverage, bounds that neither lie nor sleep."""

import numpy as np
import pytest
from scipy.stats import binom

from lib import audit


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_covers_at_least_as_often_as_it_says(trials, confidence):
    successes = np.arange(trials + 1)
    low, high = audit.clopper_pearson(successes, trials, confidence)
    for p in np.linspace(0, 1, 101):
        weights = binom.pmf(successes, trials, p)
        assert weights[p < low].sum() <= (1 - confidence) / 2 + 1e-12
        assert weights[p > high].sum() <= (1 - confidence) / 2 + 1e-12


def laplace_scores(epsilon, trials, rng):
    return rng.laplace(0, 1 / epsilon, trials), rng.laplace(1, 1 / epsilon, trials)


def test_the_bound_stays_under_a_true_epsilon_and_comes_near_it():
    # 200 audits at 99 %: at most 2 false alarms expected; more than 10 has probability below 1e-4
    rng = np.random.default_rng(5)
    found = np.array([audit.epsilon_lower_bound(*laplace_scores(1.0, 2000, rng), confidence=0.99).epsilon_lower
                      for _ in range(200)])
    assert (found > 1.0).sum() <= 10
    assert 0.6 < np.median(found) < 1.0
    large = audit.epsilon_lower_bound(*laplace_scores(1.0, 400_000, rng)).epsilon_lower
    assert 0.95 < large <= 1.0


def test_a_mechanism_with_a_third_of_its_noise_is_caught():
    # claimed epsilon 1, true epsilon 3
    found = audit.epsilon_lower_bound(*laplace_scores(3.0, 20_000, np.random.default_rng(6)))
    assert found.epsilon_lower > 2


def test_delta_lowers_the_bound_and_equal_inputs_prove_nothing():
    rng = np.random.default_rng(7)
    first, second = laplace_scores(2.0, 20_000, rng)
    plain = audit.epsilon_lower_bound(first, second).epsilon_lower
    assert audit.epsilon_lower_bound(first, second, delta=0.05).epsilon_lower < plain
    same = audit.epsilon_lower_bound(rng.normal(size=20_000), rng.normal(size=20_000))
    assert same.epsilon_lower < 0.1


def test_the_direction_of_the_scores_does_not_matter():
    first, second = laplace_scores(2.0, 20_000, np.random.default_rng(8))
    forth = audit.epsilon_lower_bound(first, second).epsilon_lower
    assert audit.epsilon_lower_bound(-first, -second).epsilon_lower == pytest.approx(forth, rel=0.05)
    assert audit.epsilon_lower_bound(second, first).epsilon_lower == pytest.approx(forth, rel=0.05)


@pytest.mark.parametrize("arguments, name", [
    (dict(first=np.zeros(3), second=np.zeros(3)), "first and second"),
    (dict(first=np.zeros(5), second=np.zeros(6)), "first and second"),
    (dict(first=np.full(5, np.nan), second=np.zeros(5)), "first must be"),
    (dict(first=np.zeros(5), second=np.zeros(5), delta=1.0), "delta must be"),
    (dict(first=np.zeros(5), second=np.zeros(5), confidence=1.0), "confidence must be"),
])
def test_bad_input_is_refused(arguments, name):
    with pytest.raises(ValueError, match=name):
        audit.epsilon_lower_bound(arguments.pop("first"), arguments.pop("second"), **arguments)
