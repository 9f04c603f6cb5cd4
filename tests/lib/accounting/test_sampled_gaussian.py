"""The sampled Gaussian mechanism: its privacy loss against quadrature, its epsilon against Google's accountant."""

import itertools
import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from lib import accounting
from lib.accounting.sampled_gaussian import SampledGaussian, epsilon, noise_multiplier, rdp_epsilon

pytestmark = pytest.mark.slow

QUICK = settings(derandomize=True, deadline=None, max_examples=30)
PAIRS = [(0.5, 0.02), (1.0, 0.1), (3.0, 0.001), (10.0, 0.9)]
DIRECTIONS = ("remove", "add", "replace")


def law(variable, x):
    """Return the density of the side that the loss is taken under, and the loss; both are written down anew."""
    p = (1 - variable.q) * stats.norm(0, variable.sigma).pdf(x) + variable.q * stats.norm(1, variable.sigma).pdf(x)
    q = stats.norm(0, variable.sigma).pdf(x)
    if variable.direction == "replace":
        other = (1 - variable.q) * q + variable.q * stats.norm(-1, variable.sigma).pdf(x)
        return p, np.log(p / other)
    return (p, np.log(p / q)) if variable.direction == "remove" else (q, np.log(q / p))


def variables():
    return [SampledGaussian(1 / sigma, sigma, q, direction) for sigma, q in PAIRS for direction in DIRECTIONS]


@pytest.mark.parametrize("variable", variables(), ids=str)
def test_the_distribution_of_the_loss(variable):
    """P(L <= t) and the mean on an interval, against sums over a fine grid."""
    x = np.linspace(-12 * variable.sigma, 1 + 12 * variable.sigma, 1_000_001)
    density, loss = law(variable, x)
    density *= x[1] - x[0]
    low, high, *others = np.quantile(loss, [0.3, 0.8, 0.001, 0.2, 0.5, 0.9, 0.999])
    for t in others:
        assert float(variable.cdf(t)) == pytest.approx(density[loss <= t].sum(), abs=2e-5)
    inside = (loss > low) & (loss <= high)
    wanted = (density * loss)[inside].sum() / density[inside].sum()
    assert variable.truncated_mean(low, high) == pytest.approx(wanted, rel=1e-4, abs=1e-9)
    assert variable.truncated_mean(-1e3, 1e3) == pytest.approx((density * loss).sum(), rel=1e-6, abs=1e-13)


def test_the_loss_stays_above_its_least_value():
    variable = SampledGaussian(1.0, 1.0, 0.2, "remove")
    assert np.array_equal(variable.cdf([-10, math.log(0.8) - 1e-9]), [0, 0]) and variable.cdf(1e4) == 1
    assert np.array_equal(SampledGaussian(1.0, 1.0, 0.2, "add").cdf([-math.log(0.8) + 1e-9, 10]), [1, 1])


def renyi(variable, alpha, low, high):
    """Integrate by the trapezoidal rule, for the two densities written down anew: the function is smooth and vanishes at both ends."""
    x = np.linspace(low, high, 20_001)
    density, loss = law(variable, x)
    return math.log(np.trapezoid(density * np.exp((alpha - 1) * loss), x)) / (alpha - 1)


@pytest.mark.parametrize(("sigma", "q"), PAIRS)
@pytest.mark.parametrize("alpha", [2, 5, 32])
def test_renyi_divergence_at_whole_orders(sigma, q, alpha):
    """Mironov, Talwar, Zhang 2019: a binomial sum; and for "add" by the trapezoidal rule, which has all digits here."""
    terms = [
        math.log(math.comb(alpha, k)) + (alpha - k) * math.log1p(-q) + k * math.log(q) + (k * k - k) / (2 * sigma**2)
        for k in range(alpha + 1)
    ]
    removed = SampledGaussian(1 / sigma, sigma, q, "remove").rdp(alpha)
    assert removed == pytest.approx(logsumexp(terms) / (alpha - 1), rel=1e-9, abs=1e-14)
    added = SampledGaussian(1 / sigma, sigma, q, "add")
    assert added.rdp(alpha) == pytest.approx(renyi(added, alpha, -30 * sigma - 1, 30 * sigma), rel=1e-6, abs=1e-12)
    assert added.rdp(alpha) <= removed * (1 + 1e-9)


@pytest.mark.parametrize(("sigma", "q"), PAIRS)
@pytest.mark.parametrize("alpha", [2, 5])
def test_renyi_divergence_where_a_record_is_replaced(sigma, q, alpha):
    variable = SampledGaussian(2 / sigma, sigma, q, "replace")
    ends = -1 - 12 * sigma, 2 * alpha - 1 + 12 * sigma
    assert variable.rdp(alpha) == pytest.approx(renyi(variable, alpha, *ends), rel=1e-6, abs=1e-12)
    assert variable.rdp(alpha) >= SampledGaussian(1 / sigma, sigma, q, "remove").rdp(alpha)


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"),
    [(1.0, 0.01, 1000, 1e-5), (0.7, 0.001, 5000, 1e-6), (5.0, 0.3, 10, 1e-3), (0.5, 0.02, 20, 1e-5)],
)
def test_epsilon_is_that_of_another_accountant(sigma, q, steps, delta):
    """dp-accounting's privacy loss distributions, pessimistic in steps of 5e-4: at most 7e-4 more than in steps of 1e-4."""
    accountant = pld.PLDAccountant(value_discretization_interval=5e-4)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma)), steps)
    theirs = accountant.get_epsilon(delta)
    ours = epsilon(sigma, q, steps, delta)
    assert theirs - 1e-3 < ours < theirs + 0.012


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"),
    [(2.0, 0.01, 1000, 1e-5), (1.4, 0.001, 5000, 1e-6), (8.0, 0.3, 10, 1e-3), (1.0, 0.02, 20, 1e-5)],
)
def test_epsilon_for_a_replaced_record_is_that_of_another_accountant(sigma, q, steps, delta):
    accountant = pld.PLDAccountant(
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE, value_discretization_interval=5e-4
    )
    accountant.compose(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma)), steps)
    theirs, ours = accountant.get_epsilon(delta), epsilon(sigma, q, steps, delta, "bounded")
    assert theirs - 1e-3 < ours < theirs + 0.012 + theirs / 40
    added_or_removed = epsilon(sigma, q, steps, delta)
    assert added_or_removed < ours < epsilon(sigma / 2, q, steps, delta) * 1.03  # between C and 2 C, added or removed


@QUICK
@given(
    sigma=st.floats(0.3, 5), q=st.floats(0.01, 0.9), log_t=st.floats(-3, 3), seed=st.integers(0, 10**6),
    lengths=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)  # fmt: skip
def test_no_two_records_are_told_apart_more_easily_than_opposite_ones(sigma, q, log_t, seed, lengths):
    """The hockey-stick divergence of two changes in the plane, on a grid, is at most that of 1 and -1 on the line."""
    angles = np.random.default_rng(seed).uniform(0, 2 * math.pi, 2)
    grid = np.linspace(-1 - 7 * sigma, 1 + 7 * sigma, 281)
    cell = (grid[1] - grid[0]) ** 2
    x, y = np.meshgrid(grid, grid)

    def over(*centres):
        laws = []
        for a, b in centres:
            noise, moved = (np.exp(-((x - u) ** 2 + (y - v) ** 2) / (2 * sigma**2)) for u, v in ((0, 0), (a, b)))
            laws.append(((1 - q) * noise + q * moved) / (2 * math.pi * sigma**2))
        return np.maximum(laws[0] - math.exp(log_t) * laws[1], 0).sum() * cell

    changes = [(r * math.cos(angle), r * math.sin(angle)) for r, angle in zip(lengths, angles)]
    assert over(*changes) <= over((1, 0), (-1, 0)) + 1e-4


def test_small_epsilons_are_resolved():
    theirs = pld.PLDAccountant(value_discretization_interval=1e-5)
    theirs.compose(dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(10.0)), 50)
    assert theirs.get_epsilon(1e-5) <= epsilon(10.0, 0.01, 50, 1e-5) <= theirs.get_epsilon(1e-5) * 1.05


def bracket(sigma, q, steps, delta, mesh):
    """Yield the epsilon with each step's loss rounded down to the mesh, and up: the law is tilted to where delta is decided, so that its
    transform keeps the digits of a tail that is 1e-12 in all."""
    variable = SampledGaussian(1 / sigma, sigma, q)
    orders = np.arange(1.1, 100, 0.1)
    tilt = orders[np.argmin([steps * variable.rdp(a) + math.log(1 / delta) / (a - 1) for a in orders])] - 1
    edges = np.arange(math.floor(math.log1p(-q) / mesh), math.ceil(float(variable.loss(9 * sigma)) / mesh) + 1) * mesh
    x = variable.place(edges)
    mass = -np.diff((1 - q) * stats.norm.sf(x / sigma) + q * stats.norm.sf((x - 1) / sigma))
    for losses in (edges[:-1], edges[1:]):
        tilted = mass * np.exp(tilt * losses)
        mean, size = steps * (tilted @ losses) / tilted.sum(), 2**21
        law = np.fft.irfft(np.fft.rfft(tilted / tilted.sum(), size) ** steps)
        index = np.arange(size) + round(mean / mesh) - size // 2
        t = index * mesh
        law = law[(index - round(losses[0] / mesh) * steps) % size] * np.exp(steps * math.log(tilted.sum()) - tilt * t)
        least = np.searchsorted(t, mean - 2)
        law, t = law[least:][::-1], t[least:][::-1]
        above = np.cumsum(law) - np.exp(t - mean) * np.cumsum(law * np.exp(mean - t))  # delta, with each t as epsilon
        yield t[np.argmax(above > delta)]


def test_a_small_delta_is_not_undercut():
    """With transforms in double precision the epsilon was 10.28."""
    low, high = bracket(1.0, 0.01, 10_000, 1e-12, mesh=1e-5)
    assert low + 0.08 < high < low + 0.12 and low <= epsilon(1.0, 0.01, 10_000, 1e-12) <= 1.05 * high


def test_without_sampling_it_is_the_gaussian_mechanism():
    assert epsilon(5.0, 1, 9, 1e-5) == pytest.approx(accounting.gaussian_epsilon(5.0 / 3, 1e-5))
    assert epsilon(5.0, 1, 9, 1e-5, "bounded") == pytest.approx(accounting.gaussian_epsilon(2.5 / 3, 1e-5))


def test_the_noise_multiplier_does_not_fall_below_what_is_accounted_for():
    assert noise_multiplier(1e3, 1e-5, 0.01, 1) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("setting", "share"),
    [((0.5, 0.5, 10**6, 1e-5), 0.9), ((2.0, 0.5, 10**6, 1e-5), 0.99), ((1.0, 0.01, 1000, 1e-6), 0.8)],
)
def test_large_epsilons_take_no_finer_grid_than_they_need(setting, share):
    by_rdp = rdp_epsilon(*setting)
    assert share * by_rdp < epsilon(*setting) <= by_rdp * 1.025
    peer = dp_accounting.rdp.RdpAccountant(1 + np.geomspace(0.05, 511, 56))
    sigma, q, steps, delta = setting
    peer.compose(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(sigma)), steps)
    theirs = peer.get_epsilon(delta)  # which leaves out orders near 1 where its series does not converge
    assert by_rdp <= theirs * 1.02 and (steps > 1000 or by_rdp >= theirs * 0.98)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_a_coarse_grid_holds_the_loss_of_many_steps(direction):
    """A million small shifts to the mean carry the grid far from the loss, unless it is turned back."""
    steps = [(SampledGaussian(2.0, 0.5, 0.05, direction), 10**6)]
    fine = accounting.prv_compose(steps, 0.01, eps_error=100).estimate
    for error in (426, 200):
        found = accounting.prv_compose(steps, 0.01, eps_error=error)
        assert found.lower <= fine <= found.upper < fine + 2.1 * error


def test_no_cost_takes_no_finer_grid():
    assert epsilon(0.5, 1e-4, 1000, 0.01) == 0.0


def test_too_many_steps_are_refused():
    with pytest.raises(ArithmeticError, match=r"found for 1e\+23 steps: .* a grid of .* points, more than 50,000,000"):
        epsilon(1.1, 0.01, 10**23, 1e-5)


@pytest.mark.parametrize("direction, first, second", [("remove", 1, 0), ("add", 0, -1), ("replace", 1, -1)])
def test_no_direction_has_an_rdp_below_its_exact_value(direction, first, second):
    """The trapezoidal rule in 40 digits. Orders near 1 and large, sigmas of 0.4 to 10^4, and rare and frequent records."""
    with mpmath.workdps(40):

        def density(x, mean, sigma, q):
            alone = mpmath.npdf(x, 0, sigma)
            return alone if mean == 0 else (1 - q) * alone + q * mpmath.npdf(x, mean, sigma)

        for sigma, q, alpha in itertools.product((0.4, 1.0, 1e4), (1e-5, 0.3, 0.9), (1.05, 2.0, 8.5)):
            s, p, a = mpmath.mpf(sigma), mpmath.mpf(q), mpmath.mpf(alpha)
            step = min(s / 6, s**2 / 3)
            points = [-1 - 14 * s + step * i for i in range(int((2 * a + 2 + 28 * s) / step) + 1)]
            ratios = ((density(x, second, s, p), density(x, first, s, p)) for x in points)
            exact = mpmath.log(mpmath.fsum(other * (one / other) ** a for other, one in ratios) * step) / (a - 1)
            found = SampledGaussian(1 / sigma, sigma, q, direction).rdp(alpha)
            assert exact <= found <= exact * (1 + mpmath.mpf(1e-11))
