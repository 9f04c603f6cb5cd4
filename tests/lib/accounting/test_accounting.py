"""`accounting`: against dp-accounting, mpmath, brute force and exact compositions; inverse pairs."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism as peer_gaussian
from dp_accounting.pld import privacy_loss_distribution as peer_pld
from dp_accounting.rdp import rdp_privacy_accountant as peer_rdp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from prv_accountant.domain import Domain
from scipy import integrate
from scipy.stats import binom, norm

from lib import accounting
from lib.accounting import numerical, prv_compose, prv_distribution
from lib.accounting.conversions import CONVERSIONS
from lib.accounting.privacy_loss import DiscreteLoss, randomized_response
from lib.accounting.sampled_gaussian import SampledGaussian
from lib.mechanisms import Exponential, Gaussian, Laplace

ORDERS = np.concatenate([1 + np.logspace(-3, 0, 40), np.linspace(2.1, 64, 60), np.logspace(2, 5, 30)])
ten_decades = st.floats(-5, 5).map(lambda exponent: 10.0**exponent)
deltas = st.floats(-300, math.log10(0.5)).map(lambda exponent: 10.0**exponent)
conversions = st.sampled_from(CONVERSIONS)
properties = settings(derandomize=True, deadline=None, max_examples=60)


def close_to(value, rel=1e-12):
    return pytest.approx(value, rel=rel, abs=0)  # the default abs of 1e-12 would forgive anything to a small delta


# RDP


def test_rdp_adds_up_order_by_order():
    first, second = np.array([1.0, 2.0, np.inf]), np.array([0.5, 0.25, 0.125])
    np.testing.assert_allclose(accounting.compose_rdp([first, second]), [1.5, 2.25, np.inf], rtol=1e-15)
    np.testing.assert_array_equal(accounting.compose_rdp([first, second], counts=[0, 4]), [2, 1, 0.5])
    np.testing.assert_array_equal(accounting.compose_rdp([second, 1.0], counts=[2, 3]), [4, 3.5, 3.25])
    composed = accounting.compose_rdp([0.25, 0.5], counts=[2, 1])
    assert composed == 1.0 and isinstance(composed, float)


def test_k_equal_gaussians_are_one_gaussian_of_sigma_over_root_k():
    one, whole = accounting.gaussian_zcdp(10.0), accounting.gaussian_zcdp(2.0)
    np.testing.assert_allclose(accounting.compose_rdp([one * ORDERS], counts=[25]), whole * ORDERS, rtol=1e-14)


def printed_conversion(alpha, epsilon, delta, conversion):
    """Convert at one order, in 50 digits, by the formulas as their papers print them."""
    with mpmath.workdps(50):
        a, e, d = mpmath.mpf(alpha), mpmath.mpf(epsilon), mpmath.mpf(delta)
        if conversion == "mironov2017":
            return e + mpmath.log(1 / d) / (a - 1)
        return e + mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)


@pytest.mark.slow
@properties
@given(st.floats(-6, 6), st.floats(0, 100), deltas, conversions)
def test_one_order_is_the_printed_formula_and_delta_inverts_it(log_excess, epsilon, delta, conversion):
    alpha = 1 + 10.0**log_excess
    ours = accounting.rdp_to_dp(alpha, epsilon, delta, conversion)
    wanted = printed_conversion(alpha, epsilon, delta, conversion)
    assert ours.epsilon == pytest.approx(max(0.0, float(wanted)), rel=1e-12, abs=1e-13)
    assert (ours.alpha, ours.delta) == (alpha, delta)
    assume(ours.epsilon > 0)
    back = accounting.rdp_to_delta(alpha, epsilon, ours.epsilon, conversion).delta
    slope = (alpha - 1) * (epsilon + ours.epsilon)  # relative change of delta per relative change of epsilon
    assert back == close_to(delta, rel=1e-12 + 1e-15 * slope)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_the_minimiser_is_the_best_of_all_single_orders(conversion, delta):
    curve = np.minimum(0.02 * ORDERS + 0.3, 7)
    curve[::7] = np.inf
    singles = [float(printed_conversion(a, e, delta, conversion)) for a, e in zip(ORDERS, curve) if e < np.inf]
    best = accounting.rdp_to_dp(ORDERS, curve, delta, conversion)
    assert best.epsilon == pytest.approx(max(min(singles), 0), rel=1e-13, abs=1e-14)  # its terms cancel
    assert best.alpha == ORDERS[curve < np.inf][np.argmin(singles)]
    shuffled = np.random.default_rng(1).permutation(ORDERS.size)
    assert accounting.rdp_to_dp(ORDERS[shuffled], curve[shuffled], delta, conversion) == best


def test_a_table_of_deltas_gives_a_table_of_results():
    table = np.array([[0.1, 1e-3], [1e-5, 1e-9]])
    whole = accounting.rdp_to_dp(ORDERS, 0.1 * ORDERS, table)
    assert whole.epsilon.shape == whole.alpha.shape == (2, 2)
    for index in np.ndindex(2, 2):
        single = accounting.rdp_to_dp(ORDERS, 0.1 * ORDERS, table[index])
        assert isinstance(single.epsilon, float)
        assert (single.epsilon, single.alpha) == (whole.epsilon[index], whole.alpha[index])
        back = accounting.rdp_to_delta(ORDERS, 0.1 * ORDERS, single.epsilon)
        assert back.delta == close_to(table[index], rel=1e-12)


@pytest.mark.slow
@properties
@given(st.lists(st.floats(0, 50), min_size=130, max_size=130), deltas)
def test_the_newer_conversion_is_never_worse(curve, delta):
    newer, older = (accounting.rdp_to_dp(ORDERS, curve, delta, name) for name in CONVERSIONS)
    assert newer.epsilon <= older.epsilon


def test_infinite_entries_prove_nothing():
    alone = accounting.rdp_to_dp(4, 2.0, 1e-5)
    assert accounting.rdp_to_dp([2, 4, 8], [np.inf, 2.0, np.inf], 1e-5) == alone
    nothing = accounting.rdp_to_dp([2, 4], [np.inf, np.inf], 1e-5)
    assert nothing.epsilon == np.inf and math.isnan(nothing.alpha)
    nothing = accounting.rdp_to_delta([2, 4], [np.inf, np.inf], 1.0)
    assert nothing.delta == 1 and math.isnan(nothing.alpha)


def test_clipping_epsilon_at_zero_delta_at_one_and_above_zero():
    clipped = accounting.rdp_to_dp([2, 1000], [0, 0], 0.5)
    assert clipped.epsilon == 0 and clipped.alpha == 2
    assert accounting.rdp_to_delta(2, 10.0, 0.0).delta == 1
    assert accounting.rdp_to_delta(1000, 0.0, 5.0).delta == close_to(np.finfo(float).tiny)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_epsilon_equals_dp_accounting_where_its_further_shortcuts_rest(rho, delta):
    # dp-accounting adds two rules to the same formula: epsilon 0 at an order where
    # delta^2 > 1 - exp(-rdp) (Bretagnolle-Huber), and no result below order 1.01.
    orders = ORDERS[ORDERS > 1.01]
    assert (delta**2 <= -np.expm1(-rho * orders)).all()
    epsilon, order = peer_rdp.compute_epsilon(orders, rho * orders, delta)
    ours = accounting.rdp_to_dp(orders, rho * orders, delta)
    assert ours.epsilon == close_to(epsilon, rel=1e-12)
    assert ours.alpha == close_to(order)


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.1, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 10.0])
def test_delta_equals_dp_accounting_without_its_second_bound(rho, epsilon):
    orders = ORDERS[ORDERS > 1.01]
    theirs, _ = peer_rdp.compute_delta(orders, rho * orders, epsilon)
    bretagnolle_huber = math.sqrt(-math.expm1(-rho * orders[0]))
    ours = accounting.rdp_to_delta(orders, rho * orders, epsilon).delta
    assert min(ours, bretagnolle_huber) == close_to(max(theirs, np.finfo(float).tiny), rel=1e-10)


@pytest.mark.slow
@properties
@given(st.floats(-3, 3).map(lambda exponent: 10.0**exponent), deltas)
def test_no_conversion_undercuts_the_exact_gaussian(sigma, delta):
    exact = accounting.gaussian_epsilon(sigma, delta)
    rho = accounting.gaussian_zcdp(sigma)
    assert accounting.rdp_to_dp(ORDERS, rho * ORDERS, delta).epsilon >= exact * (1 - 1e-12)
    assert accounting.zcdp_to_dp(rho, delta) >= exact * (1 - 1e-12)


# zCDP


@properties
@given(ten_decades, deltas, conversions)
def test_rho_returns_from_epsilon(rho, delta, conversion):
    epsilon = accounting.zcdp_to_dp(rho, delta, conversion)
    assume(epsilon > 0)
    assert accounting.dp_to_zcdp(epsilon, delta, conversion) == close_to(rho, rel=1e-12)


@properties
@given(ten_decades, deltas, conversions)
def test_epsilon_returns_from_rho(epsilon, delta, conversion):
    rho = accounting.dp_to_zcdp(epsilon, delta, conversion)
    assert accounting.zcdp_to_dp(rho, delta, conversion) == close_to(epsilon, rel=1e-9)


@pytest.mark.parametrize("rho, delta", [(1e-6, 1e-5), (0.01, 0.01), (0.5, 1e-9), (3.0, 1e-5), (200.0, 1e-30)])
def test_zcdp_is_proposition_2_4_of_miura2025_as_printed(rho, delta):
    # delta = inf over alpha of exp((alpha-1)(alpha rho - epsilon)) / (alpha-1) * (1 - 1/alpha)^alpha
    epsilon = accounting.zcdp_to_dp(rho, delta)
    with mpmath.workdps(40):

        def printed(log_excess):
            x = mpmath.exp(log_excess)
            return mpmath.exp(x * ((1 + x) * rho - mpmath.mpf(epsilon))) / x * (1 - 1 / (1 + x)) ** (1 + x)

        at = min(mpmath.linspace(-12, 30, 400), key=printed)
        stationary = mpmath.findroot(lambda u: mpmath.diff(lambda v: mpmath.log(printed(v)), u), at)
        assert float(printed(stationary)) == close_to(delta, rel=1e-10)


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_zcdp_is_the_limit_of_the_rdp_conversion_on_ever_finer_orders(conversion):
    rho, delta = np.array([1e-4, 0.05, 1.0, 30.0]), 1e-6
    orders = 1 + np.logspace(-3, 5, 40_001)
    brute = [accounting.rdp_to_dp(orders, r * orders, delta, conversion).epsilon for r in rho]
    smooth = accounting.zcdp_to_dp(rho, delta, conversion)
    assert (smooth <= brute).all()
    np.testing.assert_allclose(smooth, brute, rtol=1e-6)


def test_zcdp_values_broadcast_and_start_at_zero():
    rho, delta = np.array([0.0, 0.1, 1.0]), np.array([[1e-3], [1e-9]])
    whole = accounting.zcdp_to_dp(rho, delta)
    assert whole.shape == (2, 3) and (whole[:, 0] == 0).all() and (np.diff(whole) > 0).all()
    assert whole[1, 2] == accounting.zcdp_to_dp(1.0, 1e-9)
    assert (whole <= accounting.zcdp_to_dp(rho, delta, "mironov2017")).all()
    assert accounting.zcdp_to_dp(0.5, math.exp(-8), "mironov2017") == close_to(0.5 + 4)
    assert (accounting.dp_to_zcdp([1.0, 2.0], 1e-9) > accounting.dp_to_zcdp([1.0, 2.0], 1e-9, "mironov2017")).all()
    assert accounting.pure_dp_to_zcdp(3.0) == 4.5
    assert accounting.gaussian_zcdp(2.0, sensitivity=3.0) == 1.125


# The Gaussian mechanism


def exact_gaussian_delta(sigma, epsilon):
    """Return delta to 50 digits, and its relative change per relative change of the arguments."""
    with mpmath.workdps(150):
        mu, eps = 1 / mpmath.mpf(sigma), mpmath.mpf(epsilon)
        delta = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        return delta, float((mu + eps / mu) * mpmath.npdf(mu / 2 - eps / mu) / delta)


def test_gaussian_delta_to_the_last_digits_that_its_arguments_have():
    compared = 0
    for sigma in np.logspace(-5, 8, 27) * 1.1:
        for z in [0.0, 1e-6, 0.3, 2.0, 10.0, 36.0]:
            for base in [0.0, 0.5 / sigma**2]:
                epsilon = base + z / sigma
                wanted, condition = exact_gaussian_delta(sigma, epsilon)
                if wanted > 1e-300:
                    compared += 1
                    ours = accounting.gaussian_delta(sigma, epsilon)
                    assert abs(ours / wanted - 1) < 1e-12 + 2e-15 * condition, (sigma, epsilon)
    assert compared > 200


def test_gaussian_delta_never_claims_pure_dp():
    assert accounting.gaussian_delta(1.0, [100.0, 1e6, 1e300]) == close_to(np.finfo(float).tiny)
    assert accounting.gaussian_delta(1e-5, 0.0) == 1


@pytest.mark.slow
@properties
@given(ten_decades, deltas)
def test_sigma_returns_from_epsilon(sigma, delta):
    epsilon = accounting.gaussian_epsilon(sigma, delta)
    assume(epsilon > 0)
    assert accounting.gaussian_sigma(epsilon, delta) == close_to(sigma, rel=1e-10)


@pytest.mark.slow
@properties
@given(ten_decades, deltas)
def test_epsilon_and_delta_return_from_sigma(epsilon, delta):
    sigma = accounting.gaussian_sigma(epsilon, delta)
    assert accounting.gaussian_epsilon(sigma, delta) == close_to(epsilon, rel=1e-9)
    assert accounting.gaussian_delta(sigma, epsilon) == close_to(delta, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12])
def test_gaussian_calibration_equals_dp_accounting(epsilon, delta):
    sigma = accounting.gaussian_sigma(epsilon, delta)
    assert sigma == close_to(peer_gaussian.get_sigma_gaussian(epsilon, delta), rel=1e-8)
    assert epsilon == close_to(peer_gaussian.get_epsilon_gaussian(sigma, delta), rel=1e-8)


def test_gaussian_zero_epsilon_sensitivity_and_the_zcdp_calibration():
    # at epsilon 0, delta = 2 Phi(mu/2) - 1, the total variation distance
    assert accounting.gaussian_delta(1 / norm.ppf(0.75) / 2, 0.0) == close_to(0.5)
    assert accounting.gaussian_epsilon(100.0, 0.5) == 0
    assert accounting.gaussian_sigma(0.0, 1e-300) == close_to(1e300 / math.sqrt(2 * math.pi))
    assert accounting.gaussian_sigma(1.0, 1e-5, sensitivity=7.0) == close_to(7 * accounting.gaussian_sigma(1.0, 1e-5))
    assert accounting.gaussian_epsilon(21.0, 1e-5, sensitivity=7.0) == close_to(accounting.gaussian_epsilon(3.0, 1e-5))
    epsilon, delta = np.logspace(-2, 2, 9), np.array([[1e-2], [1e-9]])
    careful = accounting.gaussian_sigma(epsilon, delta, calibration="zcdp")
    assert (careful > accounting.gaussian_sigma(epsilon, delta)).all()
    returned = accounting.zcdp_to_dp(accounting.gaussian_zcdp(careful), delta)
    np.testing.assert_allclose(returned, np.broadcast_to(epsilon, (2, 9)), rtol=1e-9)
    assert accounting.gaussian_sigma(0.0, 1e-200, calibration="zcdp") == np.inf


# Numerical composition


def assert_brackets(bounds, low, high, eps_error=0.01):
    """Check that `bounds` contain the truth, which is in [low, high], and are not wider than they state."""
    assert 0 <= bounds.lower <= bounds.estimate <= bounds.upper
    assert bounds.lower <= high and low <= bounds.upper
    assert bounds.upper <= high + 2.2 * eps_error
    assert bounds.lower >= low - 2.2 * eps_error


@pytest.mark.slow
@pytest.mark.parametrize("sigma, count", [(0.1, 1), (1.0, 1), (3.0, 4), (50.0, 1000), (50.0, 1001), (1e4, 3)])
@pytest.mark.parametrize("delta", [0.4, 1e-5, 1e-12])
def test_prv_brackets_the_exact_gaussian_composition(sigma, count, delta):
    exact = accounting.gaussian_epsilon(sigma / math.sqrt(count), delta)
    assert_brackets(prv_compose([(Gaussian(sigma), count)], delta), exact, exact, eps_error=0.02)


def randomised_response_epsilon(epsilon, count, delta):
    """Return the exact epsilon: the number of truthful answers is binomial, and delta(epsilon) is a finite sum."""
    losses = (2 * np.arange(count + 1) - count) * epsilon
    masses = binom.pmf(np.arange(count + 1), count, 1 / (1 + math.exp(-epsilon)))

    def excess(target):
        above = losses > target
        return (masses[above] * -np.expm1(target - losses[above])).sum() - delta

    low, high = 0.0, count * epsilon
    if excess(low) <= 0:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


# For (1.0, 50) and (5.0, 10), prv-accountant's own pure-DP variable gives "upper" bounds below the truth.
@pytest.mark.slow
@pytest.mark.parametrize("epsilon, count", [(0.01, 1000), (0.1, 100), (1.0, 50), (1.0, 51), (5.0, 10), (100.0, 1)])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12])
def test_prv_brackets_exact_randomised_response(epsilon, count, delta):
    exact = randomised_response_epsilon(epsilon, count, delta)
    assert_brackets(prv_compose([(randomized_response(epsilon), count)], delta), exact, exact, eps_error=0.02)


@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_prv_brackets_one_exact_laplace_mechanism(scale):
    exact = 1 / scale + 2 * math.log1p(-1e-6)  # delta = 1 - exp((epsilon - 1/scale) / 2)
    assert_brackets(prv_compose([(Laplace(scale), 1)], 1e-6), exact, exact)
    assert_brackets(prv_compose([(Laplace(3 * scale, sensitivity=3), 1)], 1e-6), exact, exact)


# The last two have jumps just past 0.1 on a wide grid: there prv-accountant's own quadrature finds wrong means.
@pytest.mark.slow
@pytest.mark.parametrize(
    "mixture",
    [
        [("laplace", 1.0, 50)],
        [("laplace", 0.3, 7), ("gaussian", 0.2, 30)],
        [("pure", 0.1619, 2), ("pure", 0.0024, 55), ("gaussian", 0.515, 6)],
        [("pure", 3.3876, 3), ("laplace", 0.1161, 8), ("laplace", 0.004, 20)],
    ],
)
def test_prv_agrees_with_dp_accountings_two_sided_pld(mixture):
    make_ours = {"laplace": Laplace, "gaussian": Gaussian, "pure": lambda scale: randomized_response(1 / scale)}
    ours = [(make_ours[kind](1 / size), count) for kind, size, count in mixture]

    def theirs(kind, size, count, pessimistic):
        options = dict(pessimistic_estimate=pessimistic, value_discretization_interval=1e-3)
        if kind == "pure":
            single = peer_pld.from_randomized_response(2 / (1 + math.exp(size)), 2, **options)
        else:
            make = peer_pld.from_laplace_mechanism if kind == "laplace" else peer_pld.from_gaussian_mechanism
            single = make(1 / size, **options)
        return single.self_compose(count)

    delta = 1e-6
    low, high = (math.inf, -math.inf)
    for pessimistic in (False, True):
        composed, *others = [theirs(*part, pessimistic) for part in mixture]
        for other in others:
            composed = composed.compose(other)
        epsilon = composed.get_epsilon_for_delta(delta)
        low, high = min(low, epsilon), max(high, epsilon)
    assert_brackets(prv_compose(ours, delta), low, high)


def test_prv_counts_are_repetitions_and_errors_are_as_asked():
    split = prv_compose([(Gaussian(5.0), 2), (Gaussian(5.0), 1)], 1e-5, eps_error=0.001)
    whole = prv_compose([(Gaussian(5.0), 3)], 1e-5, eps_error=0.001)
    assert split == pytest.approx(whole, abs=1e-4)
    assert 0.002 <= whole.upper - whole.lower < 0.003
    assert Gaussian(5.0).prv == Gaussian(10.0, sensitivity=2.0).prv != Laplace(5.0).prv
    assert prv_compose(iter([(Gaussian(1e3), 1)]), 0.1) == (0, 0, pytest.approx(0, abs=0.02))


@pytest.mark.slow
@pytest.mark.parametrize("sigma, count, eps_error", [(20.0, 100, 0.01), (100.0, 1000, 1e-3), (20.0, 1, 1e-4)])
def test_prv_bounds_hold_the_truth_where_rounding_rivals_delta(sigma, count, eps_error):
    """With transforms in double precision the second is 0.003 off, and its lower bound above the truth."""
    found = prv_compose([(Gaussian(sigma), count)], 1e-12, eps_error=eps_error)
    truth = accounting.gaussian_epsilon(sigma / math.sqrt(count), 1e-12)
    assert found.lower <= truth <= found.upper
    assert found.estimate == pytest.approx(truth, abs=eps_error / 50)


@pytest.mark.parametrize("lost", [1e-13, -1e-13])
def test_what_rounding_does_to_a_tail_is_allowed_for(lost, monkeypatch):
    honest = numerical._composed

    def drifting(pairs, grid):
        found = honest(pairs, grid)
        losses = found.domain.ts()
        found.pmf = found.pmf - abs(lost) / np.sum(losses > truth) * np.where(losses > 0, np.sign(lost), 1)
        return found

    truth = accounting.gaussian_epsilon(1.0, 1e-12)
    monkeypatch.setattr(numerical, "_composed", drifting)
    found = prv_compose([(Gaussian(1.0), 1)], 1e-12, eps_error=1e-3)
    assert abs(found.estimate - truth) > 2e-3 and found.lower <= truth <= found.upper


def test_a_delta_lost_in_rounding_is_refused():
    with pytest.raises(ArithmeticError, match="^delta = 1e-12 is lost in rounding errors on .*: take a larger"):
        prv_compose([(Gaussian(20.0), 10_000)], 1e-12, eps_error=1e-3)


@pytest.mark.parametrize("prv", [Gaussian(0.7).prv, Laplace(0.7).prv, randomized_response(1.7)])
def test_masses_are_the_differences_of_the_distribution(prv):
    edges = np.linspace(-9, 9, 1001)
    assert np.asarray(prv.masses(edges), dtype=float) == pytest.approx(
        np.diff(np.asarray(prv.cdf(edges), dtype=float)), abs=1e-15
    )


def test_small_masses_keep_their_digits():
    prv, edges = Gaussian(0.7).prv, np.array([14, 14.018])
    far = norm.sf(edges / prv.size - prv.size / 2)
    assert prv.masses(edges) == pytest.approx(far[0] - far[1], rel=1e-9, abs=0)
    assert np.diff(prv.cdf(edges)) == 0


@pytest.mark.parametrize("prv", [Gaussian(0.7).prv, Laplace(0.7).prv, randomized_response(1.7)])
def test_prv_curve_dominates_and_mean_is_exact(prv):
    low, high = -4.0, 5.0
    jumps = [-prv.size, prv.size]
    total = float(prv.cdf(high) - prv.cdf(low))
    area = sum(integrate.quad(prv.cdf, a, b)[0] for a, b in zip([low, *jumps], [*jumps, high]))
    mean = (high * float(prv.cdf(high)) - low * float(prv.cdf(low)) - area) / total
    assert prv.truncated_mean(low, high) == close_to(mean, rel=1e-9)
    # The Rényi divergence is log E[exp((alpha-1) Y)] / (alpha-1): over the grid, a sum by parts.
    grid = np.linspace(-40, 40, 800_001)
    masses = np.diff(np.asarray(prv.cdf(grid)))
    for alpha in [1.1, 2.0, 5.0]:
        divergence = math.log(masses @ np.exp((alpha - 1) * grid[1:])) / (alpha - 1)
        assert divergence <= prv.rdp(alpha) + 1e-3


SKEWED = DiscreteLoss(
    math.log(50), np.log([0.01 / 0.5, 0.99 / 0.5]), np.log([0.01, 0.99])
)  # a loss that is seldom far below 0
SAMPLED = [
    SampledGaussian(1 / sigma, sigma, q, side) for sigma, q in ((0.7, 0.01), (3.0, 0.2)) for side in ("remove", "add")
]


@pytest.mark.slow
@pytest.mark.parametrize("prv", [Gaussian(7.0).prv, Laplace(0.7).prv, Exponential(0.1).prv, SKEWED, *SAMPLED], ids=repr)
@pytest.mark.parametrize("count", [1, 20])
def test_few_losses_leave_the_grid(prv, count):
    """On either side of the reach lies at most the probability asked for, and the reach is not five times too large."""
    for probability in (1e-4, 1e-8, 1e-12):
        reach, ends = numerical._reach([(prv, count)], probability, 1e-9), []
        assert reach == numerical._reach([(prv.reversed, count)], probability, 1e-9)
        for each in (prv, prv.reversed):
            found = prv_distribution([(each, count)], eps_error=3e-3, delta_error=1e-13)
            losses = found.domain.ts()
            for side in (losses, -losses):
                order = np.argsort(-side)
                above = found.pmf[order].cumsum()
                assert above[side[order] > reach + 3e-3][-1:] <= probability + 2e-13
                ends.append(side[order][np.searchsorted(above, probability)])
        assert reach < 5 * max(ends)


@pytest.mark.parametrize("prv", [Gaussian(0.7).prv, Laplace(0.7).prv, randomized_response(1.7)])
def test_prv_on_the_grid_keeps_its_mass_and_its_mean(prv):
    grid = Domain.create_aligned(-2.5, 2.5, 0.3)
    rounded = numerical._discretised(prv, grid)
    assert rounded.pmf.sum() == close_to(1.0)
    mean = prv.truncated_mean(grid.t_min(), grid.t_max())
    assert float(rounded.pmf @ rounded.domain.ts()) == close_to(mean)
    assert 1e-5 < abs(rounded.domain.shifts()) <= 0.15


# Refusals


@pytest.mark.parametrize(
    "name, call",
    [
        ("alpha", lambda: accounting.rdp_to_dp(1.0, 1.0, 1e-5)),
        ("alpha", lambda: accounting.rdp_to_dp([2, math.nan], [1, 1], 1e-5)),
        ("alpha and epsilon", lambda: accounting.rdp_to_dp([2, 3], [1, 1, 1], 1e-5)),
        ("alpha and epsilon", lambda: accounting.rdp_to_dp([2, 3], 1.0, 1e-5)),
        ("alpha and epsilon", lambda: accounting.rdp_to_dp([], [], 1e-5)),
        ("epsilon", lambda: accounting.rdp_to_dp(2, -0.1, 1e-5)),
        ("epsilon", lambda: accounting.rdp_to_dp(2, math.nan, 1e-5)),
        ("delta", lambda: accounting.rdp_to_dp(2, 1, 0.0)),
        ("delta", lambda: accounting.rdp_to_dp(2, 1, 1.0)),
        ("delta", lambda: accounting.rdp_to_dp(2, 1, [0.1, math.nan])),
        ("conversion", lambda: accounting.rdp_to_dp(2, 1, 0.1, "mironov")),
        ("epsilon_rdp", lambda: accounting.rdp_to_delta(2, -1, 1)),
        ("epsilon", lambda: accounting.rdp_to_delta(2, 1, -1)),
        ("epsilon", lambda: accounting.rdp_to_delta(2, 1, math.inf)),
        ("conversion", lambda: accounting.rdp_to_delta(2, 1, 1, None)),
        ("epsilons", lambda: accounting.compose_rdp([])),
        ("epsilons", lambda: accounting.compose_rdp([[1, -1]])),
        ("broadcast", lambda: accounting.compose_rdp([[1, 2], [1, 2, 3]])),
        ("counts", lambda: accounting.compose_rdp([1, 2], counts=[1])),
        ("counts", lambda: accounting.compose_rdp([1, 2], counts=[1, 1.5])),
        ("counts", lambda: accounting.compose_rdp([1, 2], counts=[1, -1])),
        ("rho", lambda: accounting.zcdp_to_dp(-1e-9, 0.1)),
        ("delta", lambda: accounting.zcdp_to_dp(1, 2)),
        ("conversion", lambda: accounting.zcdp_to_dp(1, 0.1, "bun2016")),
        ("epsilon", lambda: accounting.dp_to_zcdp(-1, 0.1)),
        ("delta", lambda: accounting.dp_to_zcdp(1, -0.1)),
        ("conversion", lambda: accounting.dp_to_zcdp(1, 0.1, "")),
        ("epsilon", lambda: accounting.pure_dp_to_zcdp(-1)),
        ("sigma", lambda: accounting.gaussian_zcdp(0)),
        ("sensitivity", lambda: accounting.gaussian_zcdp(1, -1)),
        ("sigma", lambda: accounting.gaussian_delta(-1, 1)),
        ("epsilon", lambda: accounting.gaussian_delta(1, -1)),
        ("delta", lambda: accounting.gaussian_epsilon(1, 1)),
        ("epsilon", lambda: accounting.gaussian_sigma(math.nan, 0.1)),
        ("calibration", lambda: accounting.gaussian_sigma(1, 0.1, calibration="rdp")),
        ("mechanisms", lambda: prv_compose([], 0.1)),
        ("mechanisms", lambda: prv_compose([("gaussian", 1)], 0.1)),
        ("count", lambda: prv_compose([(Gaussian(1), 0)], 0.1)),
        (r"delta must be in \[1e-12, 1\)", lambda: prv_compose([(Gaussian(1), 1)], 1e-13)),
        ("eps_error", lambda: prv_compose([(Gaussian(1), 1)], 0.1, eps_error=0)),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()


def test_the_rdp_of_pure_dp_is_the_smaller_of_its_two_bounds():
    mechanism = Laplace(2.0).prv
    assert mechanism.rdp(2.0) == close_to(2 * 0.5**2 / 2) and mechanism.rdp(100.0) == 0.5


def test_an_atom_belongs_to_the_distribution_function_at_its_own_place():
    for prv, least in ((randomized_response(0.5), 1 / (1 + math.exp(0.5))), (Laplace(2.0).prv, math.exp(-0.5) / 2)):
        assert prv.cdf(-0.5) == close_to(least) and prv.cdf(np.nextafter(-0.5, -1)) == 0
        assert prv.cdf(0.5) == 1 and prv.cdf(np.nextafter(0.5, 0)) < 0.7
