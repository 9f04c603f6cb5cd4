"""The attack on Gaussian synthesis: scores against scipy, the pair against linear algebra, and the bounds on right and
broken releases."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from lib import gaussian_synthesis as gs
from notebooks.studies import synthesis_audit

SURE = 1 - 1e-6


@pytest.mark.parametrize("n, d, sigma", [(64, 1, 0.1), (1024, 4, 0.05), (640, 6, 0.01)])
def test_the_pair_off_the_wall(n, d, sigma):
    data, record = synthesis_audit.off_the_wall(n, d, sigma)
    assert data.shape == (n, d) and np.abs(data).max() <= 1 and np.array_equal(record, np.ones(d))
    assert min(gs.smallest_eigenvalue(data), gs.smallest_eigenvalue(np.vstack([data, record]))) >= sigma
    distance = gs.squared_mahalanobis(data, [record])[0]
    assert distance == pytest.approx(d * (2 - np.sqrt(sigma)) ** 2 / sigma, rel=6 / n)
    assert distance <= gs.largest_radius(d, sigma)


def test_scores_are_sums_over_the_first_records():
    given = np.array([-0.2, 0.1]), np.array([[0.1, 0.02], [0.02, 0.2]])
    pair = given, (np.array([0.1, 0.0]), np.array([[0.2, 0.0], [0.0, 0.1]]))
    found = synthesis_audit.log_likelihood_ratios(given, pair, [1, 3, 5], trials=700, rng=np.random.default_rng(1))
    rng = np.random.default_rng(1)
    records = np.concatenate([gs.sample(*given, count * 5, rng=rng) for count in (500, 200)]).reshape(700, 5, 2)
    logs = [multivariate_normal(*gaussian).logpdf(records) for gaussian in pair]
    expected = [(logs[0] - logs[1])[:, :m].sum(axis=1) for m in (1, 3, 5)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_the_attack_stays_below_the_truth_and_catches_a_broken_condition():
    """False-alarm rate 1e-6 for each of the two bounds."""
    rng, sizes, delta = np.random.default_rng(2), [32], 1e-3
    told = [gs.released_epsilon(640, delta, 3, 0.05, size=m) for m in sizes]
    pair = synthesis_audit.off_the_wall(640, 3, 0.05)
    found = synthesis_audit.attack(*pair, sizes, trials=4000, delta=delta, confidence=SURE, rng=rng)
    assert all(low <= high for low, high in zip(found, told)) and found[0] > 0
    broken = synthesis_audit.off_the_wall(4096, 3, 0.05 / 50)
    caught = synthesis_audit.attack(*broken, [64], trials=4000, delta=0.01, confidence=SURE, rng=rng)[0]
    assert caught > gs.released_epsilon(4096, 0.01, 3, 0.05, size=64)


@pytest.mark.parametrize(
    "arguments, name", [((64, 0, 0.1), "d"), ((3, 2, 0.1), "n"), ((64, 2, 0.0), "sigma"), ((64, 2, np.nan), "sigma")]
)
def test_a_pair_that_cannot_be_is_refused(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        synthesis_audit.off_the_wall(*arguments)


def test_sizes_and_trials_are_checked():
    given = np.zeros(1), np.eye(1)
    for sizes, trials, name in (([0], 10, "sizes"), ([1], 0, "trials")):
        with pytest.raises(ValueError, match=f"^{name} must"):
            synthesis_audit.log_likelihood_ratios(
                given, (given, given), sizes, trials=trials, rng=np.random.default_rng(0)
            )
