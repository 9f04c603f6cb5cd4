"""The study of added variance: its search finds faults, its channel is Theorem H's, and its errors are those of known laws."""

import numpy as np
import pytest

from lib import accounting
from lib import gaussian_synthesis as gs
from lib.accounting.divergence import psi
from notebooks.studies import added_variance

CORNERS = -np.ones((40, 2)), np.ones(2), 0.3


def test_theorem_f_has_its_earlier_figure_and_is_below_theorem_h_by_one_coordinate_at_most():
    assert 32_561 * added_variance.interlacing_epsilon(32_561, 4, 6, 0.01) == pytest.approx(233.8831, abs=1e-4)
    n, alpha = np.meshgrid([10, 1000, 10**6], [1.1, 2.0, 8.0])
    by_f, by_h = (f(n, alpha, 2, 0.3) for f in (added_variance.interlacing_epsilon, gs.regularised_epsilon))
    one = np.maximum(psi(1 / n, alpha), psi(np.where(n + 1 > alpha, -1 / (n + 1), 0), alpha)) / 2
    assert np.all(by_h <= (by_f + one) * (1 + 1e-12)) and np.isfinite(by_f).sum() == 6
    assert by_h[2, 2] > by_f[2, 2] and by_h[2, 1] < by_f[2, 1]  # each can be the smaller one
    assert added_variance.interlacing_epsilon(3, 4.0, 1, 100.0) == np.inf  # alpha = n + 1


@pytest.mark.parametrize("name, given", [("n", 0), ("alpha", 1.0), ("d", 0), ("sigma", 0.0)])
def test_theorem_f_refuses_bad_arguments(name, given):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        added_variance.interlacing_epsilon(**({"n": 10, "alpha": 2.0, "d": 1, "sigma": 1.0} | {name: given}))


@pytest.mark.slow
def test_pairs_lie_in_the_cube_and_the_opposite_ones_nearly_attain_the_bound():
    rng, nearest = np.random.default_rng(1), 0.0
    for kind, pair in added_variance.pairs(60, rng=rng):
        data, record, sigma = pair
        assert max(np.abs(data).max(), np.abs(record).max()) <= 1 and sigma > 0
        at = added_variance.order(pair, 0.5)
        ratio = added_variance.exact(pair, at) / added_variance.bound(pair, at)
        assert ratio <= 1
        nearest = max(nearest, ratio if kind == "opposite" else 0.0)
    assert nearest > 0.999


@pytest.mark.slow
def test_the_search_exceeds_a_bound_that_is_too_small(monkeypatch):
    rng = np.random.default_rng(2)
    starts = [pair for kind, pair in added_variance.pairs(12, rng=rng) if kind == "random"]
    ends = [added_variance.climb(pair, added_variance.order(pair, 0.5), steps=80, rng=rng) for pair in starts]
    assert all(np.all(np.diff(found) >= 0) and found[0] < 0.5 and found[-1] <= 1 for found in ends)
    whole = gs.regularised_epsilon
    smaller = lambda n, alpha, d, sigma: whole(n, alpha, d, sigma * 1.02)  # noqa: E731  tau too small by 2 %
    monkeypatch.setattr(added_variance, "regularised_epsilon", smaller)
    ends = [added_variance.climb(pair, added_variance.order(pair, 0.5), steps=80, rng=rng) for pair in starts]
    assert max(found[-1] for found in ends) > 1


def test_the_channel_makes_the_two_laws_of_the_pair():
    data, record, sigma = pair = np.random.default_rng(3).uniform(-1, 1, (9, 3)), np.array([1.0, -1, 1]), 0.4
    matrix, noise = added_variance.channel(pair)
    (mean, cov), (mean_, cov_) = added_variance.laws(pair)
    values, axes = np.linalg.eigh(cov)
    W = (axes / np.sqrt(values)) @ axes.T
    tau, N = 4 * 3 / sigma, 10
    variances = np.diag([1 + 9 * tau / N**2, *[9 / N] * 3])
    np.testing.assert_allclose(matrix[:, 0] * np.sqrt(tau) / N, W @ (mean_ - mean), atol=1e-12)
    np.testing.assert_allclose(matrix @ variances @ matrix.T + noise, W @ cov_ @ W, atol=1e-12)
    assert np.linalg.eigvalsh(noise).min() >= 0


def test_the_delta_of_the_corners_lies_between_both_bounds():
    lower, upper = gs.regularised_released_delta(40, 0.5, 2, 0.3, size=10, tolerance=1e-5)
    assert lower * (1 - 1e-4) <= added_variance.release_delta(CORNERS, 0.5, 10) <= upper


def test_the_errors_are_those_of_a_wishart_matrix_and_of_the_noise():
    rng = np.random.default_rng(4)
    data, sigma, size = rng.uniform(-0.1, 0.1, (2000, 2)), 0.01, 5000  # so narrow that next to nothing is clipped
    cov = gs.fit(data)[1]
    as_it_is, less = added_variance.covariance_errors(data, size, sigma, releases=300, rng=rng)
    drawn = cov + sigma * np.eye(2)
    expected = np.sqrt((np.trace(drawn @ drawn) + np.trace(drawn) ** 2) / size) / np.linalg.norm(cov)
    assert less == pytest.approx(expected, rel=0.15)  # a mean of norms is a little below their root mean square
    assert as_it_is == pytest.approx(sigma * np.sqrt(2) / np.linalg.norm(cov), rel=0.05)
    noise = accounting.gaussian_sigma(1.0, 1e-5) * 3 / len(data)
    found = added_variance.noisy_moments_error(data, 1.0, 1e-5, releases=300, rng=rng)
    assert found == pytest.approx(noise * np.sqrt(3) / np.linalg.norm(cov), rel=0.15)  # means are near 0
