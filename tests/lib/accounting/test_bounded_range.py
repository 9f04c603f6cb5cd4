"""`bounded_range` and `numerical.BoundedRangeLoss`: against closed forms, brute force and dp-accounting."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize
from scipy.special import ndtr

from lib import accounting
from lib.accounting import (
    bounded_range,
    bounded_range_zcdp,
    compose_schedule,
    compose_zcdp,
    prv_compose,
)
from lib.accounting.numerical import BoundedRangeLoss
from lib.mechanisms import Exponential, Gaussian, Laplace
from notebooks.studies import aim_trace

properties = settings(derandomize=True, deadline=None, max_examples=100)
ranges = st.floats(-2, 1).map(lambda exponent: 10.0**exponent)


def gaussian(sigma, count=1, sensitivity=1.0):
    return Gaussian(sigma, sensitivity).prv, count


def laplace(scale, count=1, sensitivity=1.0):
    return Laplace(scale, sensitivity).prv, count


def exponential(epsilon, count=1):
    return Exponential(epsilon).prv, count


def hockey_stick(p, q, x):
    """Return sum (p - e^x q)+ for two pairs of finite distributions, each of one shape."""
    return np.maximum(p - np.exp(x) * q, 0).sum()


def envelope(epsilon, x):
    """Return the largest hockey-stick divergence of any epsilon-bounded-range pair at x, any real x."""
    inside = (np.exp(epsilon / 2) - np.exp(np.minimum(x, epsilon) / 2)) ** 2 / np.expm1(epsilon)
    return np.where(x < -epsilon, -np.expm1(x), inside)


def two_point(epsilon, t):
    """Return the probabilities of the losses t and t - epsilon under the first distribution."""
    top = -np.expm1(t - epsilon) / -np.expm1(-epsilon)
    return top, 1 - top


# ---- one mechanism


@properties
@given(ranges, st.integers(2, 6), st.floats(-1, 1), st.integers(0, 2**32))
def test_no_pair_with_bounded_range_exceeds_the_envelope_and_one_attains_it(epsilon, size, where, seed):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(size))
    p = q * np.exp(epsilon * rng.integers(0, 5, size) / 4)
    p, x = p / p.sum(), where * epsilon
    bound = float(envelope(epsilon, x))
    assert hockey_stick(p, q, x) <= bound * (1 + 1e-12) + 1e-15
    t = (epsilon + x) / 2
    worst = np.array(two_point(epsilon, t))
    assert hockey_stick(worst, worst * np.exp([-t, epsilon - t]), x) == pytest.approx(bound, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("epsilon", [0.003, 0.3, 2.0, 12.0])
def test_the_variable_has_the_envelopes_curve_mean_and_renyi_divergences(epsilon):
    prv = BoundedRangeLoss(epsilon)
    assert prv.cdf(-epsilon) == 0 and prv.cdf(epsilon) == 1 and prv.cdf(2 * epsilon) == 1 and prv.cdf(-9e9) == 0
    for x in np.linspace(-0.9, 0.9, 7) * epsilon:
        # E[(1 - e^(x - L))+] by parts: the integral of e^(x - y) P(L > y)
        curve = integrate.quad(lambda y: np.exp(x - y) * (1 - prv.cdf(y)), x, epsilon, epsabs=1e-13)[0]
        assert curve == pytest.approx(float(envelope(epsilon, x)), rel=1e-7)

    def density(y):
        return np.exp((y - epsilon) / 2) / 2 / -np.expm1(-epsilon)

    def expected(function):
        return integrate.quad(lambda y: function(y) * density(y), -epsilon, epsilon)[0]

    assert expected(np.ones_like) == pytest.approx(1)
    assert expected(lambda y: np.exp(-y)) == pytest.approx(1)  # what makes it a privacy loss
    assert prv.truncated_mean(-epsilon - 3, epsilon + 3) == pytest.approx(expected(lambda y: y), rel=1e-6)
    for alpha in (1.1, 2, 5, 20):
        assert math.log(expected(lambda y: np.exp((alpha - 1) * y))) / (alpha - 1) <= prv.rdp(alpha) * (1 + 1e-6)


@properties
@given(ranges, st.floats(0, 1), st.floats(-1, 2))
def test_zcdp_of_every_two_point_pair(epsilon, where, log_excess):
    excess, t = 10.0**log_excess, where * epsilon
    top, bottom = two_point(epsilon, t)
    with np.errstate(divide="ignore"):
        logs = np.log([top, bottom]) + excess * np.array([t, t - epsilon])
    divergence = np.logaddexp(*logs) / excess
    assert divergence <= (1 + excess) * bounded_range_zcdp(epsilon) + 1e-13


def test_zcdp_of_the_exponential_mechanism_broadcasts():
    np.testing.assert_array_equal(bounded_range_zcdp([0, 2, 4]), [0, 0.5, 2])
    assert bounded_range_zcdp(2) == 0.5 and isinstance(bounded_range_zcdp(2), float)
    assert compose_zcdp([exponential(2, 3)]) == 1.5
    assert compose_zcdp([gaussian(2, 4, 3)]) == compose_zcdp([laplace(2, 4, 3)]) == 4.5


# ---- composition of the one variable


def irwin_hall(u, k):
    """Return the density of the sum of k uniform variables on [0, 1]."""
    return sum((-1) ** j * math.comb(k, j) * max(u - j, 0) ** (k - 1) for j in range(k + 1)) / math.factorial(k - 1)


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 2), (0.5, 3), (2.0, 4)])
def test_composed_variables_have_the_density_of_a_tilted_irwin_hall(epsilon, k):
    # Each loss is 2 epsilon (u - 1/2), u uniform, tilted by e^(loss/2); so is the sum.
    normaliser = (epsilon / np.expm1(epsilon) * np.exp(epsilon / 2)) ** k / (2 * epsilon)

    def delta(x):
        def integrand(s):
            return -np.expm1(x - s) * np.exp(s / 2) * irwin_hall(s / (2 * epsilon) + k / 2, k)

        return normaliser * integrate.quad(integrand, x, k * epsilon, limit=200)[0]

    exact = optimize.brentq(lambda x: delta(x) - 1e-3, 0, k * epsilon)
    bounds = prv_compose([(BoundedRangeLoss(epsilon), k)], 1e-3, eps_error=0.002)
    assert bounds.lower <= exact <= bounds.upper and bounds.upper - bounds.lower < 0.006
    same = compose_schedule([exponential(epsilon, k)], 1e-3, exponential="bounded range prv", eps_error=0.002)
    assert same == bounds


# ---- the least epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-4), (0.5, 1e-6), (0.5, 0.05), (8.0, 1e-12)])
def test_one_selection_costs_what_the_envelope_says(epsilon, delta):
    exact = max(0.0, 2 * math.log(math.exp(epsilon / 2) - math.sqrt(delta * math.expm1(epsilon))))
    for resolution in (2, 7, 32, 300):
        bounds = compose_schedule([exponential(epsilon)], delta, resolution=resolution)
        assert bounds.lower <= exact * (1 + 1e-12) <= bounds.upper * (1 + 1e-9)
        assert bounds.upper - bounds.lower <= 3.5 * epsilon / resolution


def optimum(epsilons, x, tops=801):
    """Return V(x) by the definition: nested maximization over t, a grid of tops at each step (below the truth)."""
    if len(epsilons) == 1:
        return envelope(epsilons[0], x)
    t = np.linspace(0, epsilons[0], tops).reshape(-1, *[1] * np.ndim(x))
    top, bottom = two_point(epsilons[0], t)
    rest = epsilons[1:]
    return (top * optimum(rest, x - t, tops) + bottom * optimum(rest, x - t + epsilons[0], tops)).max(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilons", [(1.0, 1.0), (0.2, 1.0), (1.0, 0.2), (0.5, 0.5, 0.5), (0.3, 1.0, 0.1)])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_few_selections_against_nested_maximisation(epsilons, delta):
    exact = optimize.brentq(lambda x: float(optimum(epsilons, np.float64(x), 401)) - delta, 0, sum(epsilons), xtol=1e-9)
    for resolution in (8, 64):
        bounds = compose_schedule([exponential(epsilon) for epsilon in epsilons], delta, resolution=resolution)
        assert bounds.lower <= exact + 1e-4 and exact <= bounds.upper
        assert bounds.upper - bounds.lower <= 5 * len(epsilons) * max(epsilons) / resolution


def test_choosing_t_anew_costs_more_than_any_choice_made_in_advance():
    """Dong, Durfee, Rogers 2020: adaptivity has a price here, unlike for pure DP."""
    epsilon, delta, t = 1.0, 0.26, np.linspace(0, 1, 201)
    top, bottom = two_point(epsilon, t)

    def fixed(x):  # all pairs of t
        losses = t[:, None, None, None] + t[None, :, None, None] - np.arange(2)[:, None] - np.arange(2)
        mass = np.stack([top, bottom], -1)[:, None, :, None] * np.stack([top, bottom], -1)[None, :, None, :]
        return (mass * np.maximum(-np.expm1(x - losses), 0)).sum(axis=(2, 3)).max()

    in_advance = optimize.brentq(lambda x: fixed(x) - delta, 0, 2)
    adaptive = compose_schedule([exponential(epsilon, 2)], delta, resolution=400)
    assert adaptive.lower > in_advance + 0.01


@pytest.mark.slow
@properties
@given(st.lists(st.floats(0.05, 2), min_size=1, max_size=3), st.integers(0, 2**32))
def test_real_exponential_mechanisms_cost_at_most_the_upper_bound(epsilons, seed):
    rng, p, q = np.random.default_rng(seed), np.ones(1), np.ones(1)
    for epsilon in epsilons:
        scores = rng.normal(scale=2, size=4)
        # Both neighbours' scores are within 1 of common ones: sensitivity 2.
        for_p, for_q = (np.exp(epsilon / 4 * (scores + rng.choice([-1, 0, 1], 4))) for _ in range(2))
        p, q = np.outer(p, for_p / for_p.sum()).ravel(), np.outer(q, for_q / for_q.sum()).ravel()
    bounds = compose_schedule([exponential(epsilon) for epsilon in epsilons], 0.01, resolution=8)
    assert hockey_stick(p, q, bounds.upper) <= 0.01 * (1 + 1e-9)


# ---- with measurements


@pytest.mark.parametrize("delta", [1e-8, 1e-3])
def test_every_order_of_a_measurement_among_selections_is_bracketed(delta):
    sigma, epsilon = 2.0, 0.8
    nodes, weights = np.polynomial.legendre.leggauss(400)
    noise = 9 * nodes  # standard normal, to beyond 1e-18
    density = 9 * weights * np.exp(-(noise**2) / 2) / np.sqrt(2 * np.pi)
    loss = 1 / (2 * sigma**2) + noise / sigma

    def gaussian_curve(x):
        return ndtr(0.5 / sigma - x * sigma) - np.exp(x) * ndtr(-0.5 / sigma - x * sigma)

    def selected(curve, x, tops=400):  # the definition, once more
        t = np.linspace(0, epsilon, tops)[:, None]
        top, bottom = two_point(epsilon, t)
        return (top * curve(x - t) + bottom * curve(x - t + epsilon)).max(axis=0)

    first = lambda x: float(density @ envelope(epsilon, x - loss))  # noqa: E731
    last = lambda x: float(selected(gaussian_curve, np.array([x]))[0])  # noqa: E731
    seen, unseen = (optimize.brentq(lambda x: f(x) - delta, -1, 5, xtol=1e-8) for f in (first, last))
    assert seen >= unseen - 1e-6
    groups = [gaussian(2 * sigma, 2), exponential(epsilon), gaussian(sigma, sensitivity=np.sqrt(0.5))]
    bounds = compose_schedule(groups, delta, eps_error=1e-3, resolution=64)
    assert bounds.lower <= unseen + 1e-6 and seen <= bounds.upper
    assert bounds.upper - bounds.lower < seen - unseen + 0.06
    assert bounds == compose_schedule(groups[::-1], delta, eps_error=1e-3, resolution=64)


def randomised_response_epsilon(epsilon, count, delta):
    """Return the exact epsilon, by enumeration of the outputs."""
    outputs = np.array(list(itertools.product([1, -1], repeat=count))).sum(axis=1) * epsilon
    p = np.exp(-(count * epsilon - outputs) / 2 - count * np.log1p(np.exp(-epsilon)))
    return optimize.brentq(lambda x: hockey_stick(p, p * np.exp(-outputs), x) - delta, 0, count * epsilon)


def test_pure_dp_is_randomised_response():
    for epsilon, count in [(0.1, 10), (1.0, 3)]:
        exact = randomised_response_epsilon(epsilon, count, 1e-3)
        steps = [exponential(epsilon)] * count
        bounds = compose_schedule(steps, 1e-3, exponential="pure dp")
        assert bounds.lower <= exact <= bounds.upper and bounds.upper - bounds.lower < 0.02
        assert bounds == compose_schedule([exponential(epsilon, count)], 1e-3, exponential="pure dp")


@pytest.mark.parametrize("exponentials", [0, 4])
def test_a_mixed_schedule_against_dp_accounting(exponentials):
    groups = [gaussian(8.0, 9), laplace(20.0, 10, sensitivity=2), gaussian(4.0, 3)]
    grid = {"value_discretization_interval": 1e-3}
    low, high = [], []
    for pessimistic, ends in [(False, low), (True, high)]:
        pld = peer.from_gaussian_mechanism(8 / 3, pessimistic_estimate=pessimistic, **grid)
        pld = pld.compose(peer.from_gaussian_mechanism(4 / math.sqrt(3), pessimistic_estimate=pessimistic, **grid))
        noise = peer.from_laplace_mechanism(10.0, pessimistic_estimate=pessimistic, **grid).self_compose(10)
        pld = pld.compose(noise)
        if exponentials:
            at_random = 2 / (1 + math.exp(0.1))  # probability of an answer at random, one of two
            response = peer.from_randomized_response(at_random, 2, pessimistic_estimate=pessimistic, **grid)
            pld = pld.compose(response.self_compose(exponentials))
        ends.append(pld.get_epsilon_for_delta(1e-5))
    groups += [exponential(0.1, exponentials)] if exponentials else []
    bounds = compose_schedule(groups, 1e-5, exponential="pure dp")
    assert bounds.lower <= high[0] and low[0] <= bounds.upper and bounds.upper - bounds.lower < 0.05
    least = compose_schedule(groups, 1e-5)
    if exponentials:
        assert least.upper < bounds.lower
    else:
        assert least == bounds


def aim_like(epsilon, delta, rounds=144):
    """Return a schedule such as miura2025's Algorithm 2 comes to: nine tables, then rounds with two annealings."""
    share = accounting.dp_to_zcdp(epsilon, delta) / rounds
    sigma, selection = 1 / math.sqrt(2 * 0.9 * share), math.sqrt(8 * 0.1 * share)
    groups = [gaussian(sigma, 9)]
    for factor, count in [(1, 100), (2, 6), (2.7, 1)]:
        groups += [exponential(factor * selection, count), gaussian(sigma / factor, count)]
    return groups


def test_the_schedule_of_a_run_is_its_steps():
    steps = [SimpleNamespace(sigma=2.0, epsilon=0), SimpleNamespace(sigma=3.0, epsilon=0.5)]
    assert aim_trace.schedule_of(steps) == [gaussian(2), exponential(0.5), gaussian(3)]
    doubled = [laplace(2, sensitivity=2), exponential(0.5), laplace(3, sensitivity=2)]
    assert aim_trace.schedule_of(steps, "laplace", "bounded") == doubled
    assert aim_trace.schedule_of(steps[:1], neighbours="bounded") == [gaussian(2, sensitivity=math.sqrt(2))]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_a_schedule_of_aim_by_all_accountants(epsilon):
    groups, delta = aim_like(epsilon, 1e-5), 1e-5
    zcdp = accounting.zcdp_to_dp(compose_zcdp(groups), delta)
    least = compose_schedule(groups, delta, resolution=16)
    variable = compose_schedule(groups, delta, exponential="bounded range prv")
    pure = compose_schedule(groups, delta, exponential="pure dp")
    measured = compose_schedule([pair for pair in groups if pair[0].largest == np.inf], delta)
    assert measured.lower < least.lower < least.upper < zcdp
    assert least.upper < variable.upper < pure.lower and zcdp < pure.lower
    assert least.upper - least.lower < 0.025 * epsilon


def test_the_numbers_of_a_longer_schedule_stay_below_zcdp_and_shrink_with_the_resolution():
    groups, widths = [exponential(0.05, 60)], []
    for resolution in (4, 16, 64):
        bounds = compose_schedule(iter(groups), 1e-9, resolution=resolution)
        widths.append(bounds.upper - bounds.lower)
        assert bounds.estimate == pytest.approx((bounds.lower + bounds.upper) / 2)
    assert bounds.upper < accounting.zcdp_to_dp(compose_zcdp(groups), 1e-9)
    assert widths[1] < widths[0] / 3 and widths[2] < widths[1] / 3


def test_selections_that_matter_little_beside_the_measurements():
    groups = [laplace(1.5, 22), exponential(0.002, 27), laplace(0.9, 28)]
    alone = compose_schedule(groups[::2], 1e-8)
    bounds = compose_schedule(groups, 1e-8)
    assert alone.lower <= bounds.upper and bounds.lower <= alone.upper + 27 * 0.002
    assert bounds.upper - bounds.lower < 0.01 * alone.upper


def test_nothing_is_free_and_a_large_delta_buys_everything():
    assert compose_schedule([exponential(0.01)], 0.5) == (0, 0, 0)
    for treatment in bounded_range.TREATMENTS:
        tiny = compose_schedule([exponential(1e-3), gaussian(1e3)], 1e-3, exponential=treatment)
        assert tiny.lower == 0 and tiny.upper < 0.01


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sigma", lambda: gaussian(0)),
        ("sensitivity", lambda: gaussian(1, sensitivity=-1)),
        ("sigma", lambda: gaussian([1, 2])),
        ("scale", lambda: laplace(math.inf)),
        ("sensitivity", lambda: laplace(1, sensitivity=math.nan)),
        ("epsilon", lambda: exponential(-1)),
        ("count", lambda: compose_zcdp([exponential(1, 0)])),
        ("count", lambda: compose_zcdp([gaussian(1, 1.5)])),
        ("count", lambda: compose_zcdp([laplace(1, [1, 2])])),
        ("epsilon", lambda: bounded_range_zcdp(-1)),
        ("noise", lambda: aim_trace.schedule_of([], "uniform")),
        ("neighbours", lambda: aim_trace.schedule_of([], neighbours="both")),
        ("epsilon", lambda: aim_trace.schedule_of([SimpleNamespace(sigma=1, epsilon=-1)])),
        ("mechanisms", lambda: compose_schedule([], 0.1)),
        ("mechanisms", lambda: compose_schedule([gaussian(1), ("exponential", 1)], 0.1)),
        (r"delta must be in \[1e-12, 1\)", lambda: compose_schedule([gaussian(1)], 1)),
        ("delta", lambda: compose_schedule([exponential(1)], 1e-13)),
        ("exponential", lambda: compose_schedule([exponential(1)], 0.1, exponential="zcdp")),
        ("eps_error", lambda: compose_schedule([exponential(1)], 0.1, eps_error=0)),
        ("mechanisms must cost", lambda: compose_schedule([exponential(200, 3)], 0.1)),
        ("mechanisms must cost", lambda: compose_schedule([gaussian(0.01)], 0.1, exponential="pure dp")),
        ("resolution", lambda: compose_schedule([exponential(1)], 0.1, resolution=1)),
        ("eps_error", lambda: accounting.prv_distribution([(BoundedRangeLoss(1), 1)], eps_error=0, delta_error=0.1)),
        ("delta_error", lambda: accounting.prv_distribution([(BoundedRangeLoss(1), 1)], eps_error=1, delta_error=1)),
        ("mechanisms", lambda: accounting.prv_distribution([], eps_error=1, delta_error=0.1)),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
