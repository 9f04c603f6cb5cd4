"""Privacy accounting over its whole documented range: against 60-digit arithmetic, identities and orders that must hold.

Sizes are drawn by their exponents, from 1e-300 to 1e300 where the range allows it. The references are the formulas as
their papers print them, in mpmath; nothing of `lib` is in them.
"""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lib import accounting, local
from lib.accounting import composition, divergence, privacy_loss
from lib.gaussian_synthesis.bounds import (
    bounded_epsilon,
    bounded_epsilon_joint,
    bounded_epsilon_tight,
    largest_radius,
    unbounded_epsilon,
)
from lib.local import consistency
from lib.mechanisms import additive_noise, selection, sensitivity
from lib.mechanisms.randomized_response import RandomizedResponse

TINY = np.finfo(float).tiny
extremes = settings(derandomize=True, deadline=None, max_examples=60)


def powers(low, high):
    """Positive numbers whose decimal exponents are spread over [low, high]."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


sizes, small, deltas = powers(-300, 300), powers(-70, 70), powers(-300, -0.01)


def close(value, reference, rel=1e-12):
    reference = float(reference)
    if reference > 1e307 or reference < TINY:  # may be rounded to inf, or up to the smallest normal number
        return value >= min(reference, 1e307)
    return value == pytest.approx(reference, rel=rel, abs=0)


# ---- rho


@extremes
@given(st.one_of(st.floats(-1e3, 700), small, small.map(lambda x: -x)))
def test_expm1mx_to_twelve_digits(x):
    assume(x <= 700)
    with mpmath.workdps(200):
        exact = mpmath.expm1(mpmath.mpf(x)) - mpmath.mpf(x)
    assert divergence.expm1mx(x) == pytest.approx(float(exact), rel=1e-12, abs=0)


@extremes
@given(powers(-140, 0), st.integers(2, 100), st.floats(1, 50))
def test_nearly_equal_distributions_keep_their_digits(epsilon, k, alpha):
    """Of all but equal distributions the divergence is of second order; what cancels must not leave rounding errors."""
    loss = privacy_loss.randomized_response(epsilon, k)
    with mpmath.workdps(400):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        lie = 1 / (mpmath.exp(e) + k - 1)
        truth = mpmath.exp(e) * lie
        mean = e * (truth - lie)
        moment = truth * mpmath.exp((a - 1) * e) + lie * mpmath.exp(-(a - 1) * e) + (k - 2) * lie
        renyi = mpmath.log(moment) / (a - 1) if a > 1 else mean
    assert loss.kl == pytest.approx(float(mean), rel=1e-10, abs=0)
    if alpha > 1.001:
        assert loss.renyi(alpha) == pytest.approx(float(renyi), rel=1e-10, abs=0)


@extremes
@given(sizes)
def test_rho_of_pure_dp_is_never_understated(epsilon):
    with mpmath.workdps(60):
        exact = mpmath.mpf(epsilon) ** 2 / 2
    for rho in (accounting.pure_dp_to_zcdp(epsilon), additive_noise.Laplace.calibrated(epsilon).rho):
        assert rho > 0
    assert close(accounting.pure_dp_to_zcdp(epsilon), exact)
    assert accounting.pure_dp_to_zcdp(epsilon) >= float(exact) * (1 - 1e-15)


@extremes
@given(powers(-150, 150), powers(-150, 150))
def test_rho_of_a_gaussian_or_a_refusal(sigma, shift):
    ratio = mpmath.mpf(shift) / mpmath.mpf(sigma)
    if not 1.01e-150 < ratio < 0.99e150:
        assume(not 0.99e-150 < ratio < 1.01e150)
        with pytest.raises(ValueError, match="sensitivity / sigma must be in"):
            accounting.gaussian_zcdp(sigma, shift)
        return
    with mpmath.workdps(60):
        assert close(accounting.gaussian_zcdp(sigma, shift), ratio**2 / 2)


@extremes
@given(sizes, deltas)
def test_mironovs_conversion_over_the_whole_range(rho, delta):
    with mpmath.workdps(60):
        exact = mpmath.mpf(rho) + 2 * mpmath.sqrt(mpmath.mpf(rho) * mpmath.log(1 / mpmath.mpf(delta)))
    found = accounting.zcdp_to_dp(rho, delta, "mironov2017")
    assert close(found, exact)
    assert accounting.zcdp_to_dp(rho, delta) <= found * (1 + 1e-12)


@pytest.mark.slow
@extremes
@given(powers(-100, 100), deltas)
def test_the_sharper_conversion_is_attained_at_an_order_and_undercut_by_none(rho, delta):
    found = accounting.zcdp_to_dp(rho, delta)
    with mpmath.workdps(60):
        rho, log_inverse = mpmath.mpf(rho), mpmath.log(1 / mpmath.mpf(delta))

        def at(x):
            return rho * (1 + x) - mpmath.log1p(1 / x) - mpmath.log1p(x) / x + log_inverse / x

        # The derivative has the sign of rho x^2 + log(1 + x) - log(1/delta), which increases.
        low, high = mpmath.mpf(10) ** -200, mpmath.mpf(10) ** 330
        for _ in range(120):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if rho * middle**2 + mpmath.log1p(middle) < log_inverse else (low, middle)
        exact = float(max(at(low), 0))
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-12)


# ---- the Gaussian mechanism


@extremes
@given(st.floats(-3, 3), powers(-5, 2.5))
def test_the_gaussians_delta_to_ten_digits(log_mu, epsilon):
    mu = 10.0**log_mu
    with mpmath.workdps(400):
        m, e = mpmath.mpf(1) / mpmath.mpf(1 / mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    found = accounting.gaussian_delta(1 / mu, epsilon)
    assert TINY <= found <= 1
    if exact > 1e-300:
        assert found == pytest.approx(float(exact), rel=1e-9, abs=0)
    else:
        assert found < 1e-299


@extremes
@given(powers(-100, 100), deltas)
def test_the_gaussians_epsilon_is_enough(mu, delta):
    try:
        epsilon = accounting.gaussian_epsilon(1 / mu, delta)
    except ArithmeticError as error:  # beyond, epsilon itself is known to fewer digits than it takes
        assert mu > 1e14 and "too extreme" in str(error)
        return
    assert 0 <= epsilon < math.inf
    assert epsilon <= accounting.zcdp_to_dp(mu**2 / 2, delta) * (1 + 1e-9)
    slack = 1e-9 * (1 + epsilon + abs(math.log(delta)))  # in log delta: rounding of the epsilon
    if mu < 1e6:
        assert math.log(accounting.gaussian_delta(1 / mu, epsilon)) <= math.log(max(delta, TINY)) + slack * max(
            1, 1 / mu
        )


@pytest.mark.slow
@extremes
@given(powers(-100, 100), powers(-200, -0.1), powers(-100, 100))
def test_sigma_scales_with_the_sensitivity(epsilon, delta, shift):
    one = accounting.gaussian_sigma(epsilon, delta)
    assert 0 < one < math.inf
    assert accounting.gaussian_sigma(epsilon, delta, shift) == pytest.approx(one * shift, rel=1e-12)
    assert one <= accounting.gaussian_sigma(epsilon, delta, calibration="zcdp") * (1 + 1e-9)


# ---- Laplace, randomized response


@extremes
@given(small, powers(-60, 60))
def test_laplace_curve_against_mpmath(own, epsilon):
    mechanism = additive_noise.Laplace(1 / own)
    with mpmath.workdps(60):
        exact = max(-mpmath.expm1((mpmath.mpf(epsilon) - mpmath.mpf(mechanism.epsilon)) / 2), 0)
    assert mechanism.delta(epsilon) == pytest.approx(float(exact), rel=1e-9, abs=1e-15)
    assert 0 <= mechanism.delta(epsilon) <= 1


@extremes
@given(small, powers(-8, 300))
def test_laplace_renyi_lies_below_its_two_bounds(own, order):
    mechanism, alpha = additive_noise.Laplace(1 / own), 1 + order
    assume(alpha > 1)
    found = mechanism.rdp(alpha)
    assert 0 <= found <= mechanism.epsilon
    with mpmath.workdps(320):  # the logarithm is of a number as close to 1 as 1e-150
        e, a = mpmath.mpf(mechanism.epsilon), mpmath.mpf(alpha)
        if (a - 1) * e < 1e5:
            terms = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
            exact = float(mpmath.log(terms) / (a - 1))
            assert found == pytest.approx(exact, rel=1e-9, abs=0)


@extremes
@given(powers(-300, math.log10(700)), st.integers(2, 2**31))
def test_randomized_response_probabilities(epsilon, k):
    epsilon = min(epsilon, 700.0)  # the power may be rounded up
    mechanism = RandomizedResponse(epsilon, k)
    with mpmath.workdps(60):
        odds = mpmath.exp(mpmath.mpf(epsilon))
        truth = odds / (odds + k - 1)
    assert mechanism.truth == pytest.approx(float(truth), rel=1e-12)
    assert mechanism.truth + (k - 1) * mechanism.lie == pytest.approx(1, rel=1e-12)
    assert 0 <= mechanism.delta(0.0) <= 1 and mechanism.delta(epsilon) <= 1e-12


@pytest.mark.slow
@extremes
@given(powers(-150, 150), st.integers(1, 40))
def test_repeated_response_is_a_distribution_and_its_curve_falls(epsilon, count):
    loss = privacy_loss.repeated_response(epsilon, count)
    assert loss.mass.sum() == pytest.approx(1, rel=1e-12)
    curve = loss.delta(np.array([0, 0.25, 0.5, 1]) * count * epsilon)
    # Where all losses are far out, delta is the sum of the masses: 1 but for their rounding.
    assert ((0 <= curve) & (curve <= 1 + 2e-14)).all() and (np.diff(curve) <= 1e-15).all() and curve[-1] <= 1e-15


# ---- composition, sensitivities, choices


@extremes
@given(powers(-300, 4), st.integers(1, 10**6), deltas)
def test_advanced_composition_is_the_printed_formula(epsilon, count, slack):
    found = composition.advanced(epsilon, count, slack)
    with mpmath.workdps(60):
        e, k = mpmath.mpf(epsilon), mpmath.mpf(count)
        exact = mpmath.sqrt(2 * k * mpmath.log(1 / mpmath.mpf(slack))) * e + k * e * mpmath.expm1(e)
    assert (exact > 1e308 and found.epsilon == math.inf) or close(found.epsilon, exact, rel=1e-10)
    assert found.delta == slack


@extremes
@given(powers(-10, 2), st.integers(1, 100), powers(-30, -0.5))
def test_optimal_composition_costs_no_more_than_any_other(epsilon, count, delta):
    best = composition.optimal(epsilon, count, delta).epsilon
    assert 0 <= best <= composition.basic(np.full(count, epsilon)).epsilon * (1 + 1e-9)
    assert best <= composition.advanced(epsilon, count, delta).epsilon * (1 + 1e-9)


@extremes
@given(st.floats(-1e300, 1e300), powers(-100, 300))
def test_sensitivities_of_sums_and_means(low, width):
    high = low + width
    assume(low < high < math.inf)
    largest = max(abs(low), abs(high))
    assert sensitivity.of_sum(low, high, "unbounded") == largest
    assert sensitivity.of_sum(low, high, "bounded") == high - low
    assert sensitivity.of_mean(low, high, 10, neighbours="bounded") == (high - low) / 10


@extremes
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8))
def test_the_projection_on_distributions_is_one(estimates):
    projected = consistency.norm_sub(estimates)
    assert (projected >= 0).all() and projected.sum() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(consistency.norm_sub(projected), projected, atol=1e-15)


@extremes
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), powers(-300, 300))
def test_choices_have_probabilities(scores, epsilon):
    for mechanism in (selection.Exponential(epsilon), selection.PermuteAndFlip(epsilon)):
        probabilities = mechanism.probabilities(scores)
        assert (probabilities >= 0).all() and probabilities.sum() == pytest.approx(1, rel=1e-9)


def test_a_choice_whose_exponents_overflow_is_refused():
    """They would tie at infinity, and the first of them be taken for the best."""
    with pytest.raises(ArithmeticError, match="too large"):
        selection.exponential([1.0, 2.0], 1e300, 1e-300, rng=np.random.default_rng(0))


# ---- local oracles


@extremes
@given(
    st.sampled_from(["GRR", "SUE", "OUE", "THE", "OLH", "BLH", "SubsetSelection", "HadamardResponse"]),
    st.integers(2, 300),
    powers(-12, 300),
)
def test_oracles_report_probabilities_and_variances_or_refuse(name, k, epsilon):
    try:
        oracle = getattr(local, name)(k, epsilon)
    except ValueError as error:
        assert "epsilon must be large enough" in str(error)
        return
    assert 0 <= oracle.q < oracle.p <= 1
    variance = oracle.variance(np.array([0.0, 0.5, 1.0]), 100)
    assert (variance >= 0).all() and np.isfinite(variance).all()


# ---- divergences and the theorems of miura2022


@extremes
@given(powers(-150, 150), powers(-150, 150), powers(-6, 6))
def test_divergence_of_gaussians_on_the_line(variance1, variance2, order):
    ratio, alpha = mpmath.mpf(variance2) / mpmath.mpf(variance1), 1 + order
    with mpmath.workdps(400):
        a = mpmath.mpf(alpha)
        inner = (1 - a) + a * ratio
        exact = (a * mpmath.log(ratio) - mpmath.log(inner)) / (2 * (a - 1)) if inner > 0 else mpmath.inf
    try:
        found = divergence.renyi_gaussian(0.0, variance1, 0.0, variance2, alpha)
    except (ValueError, ArithmeticError) as error:
        assert "singular" in str(error) or "too far apart" in str(error)
        assert not 1e-12 < ratio < 1e12
        return
    assert found >= 0
    if abs(inner) > 1e-3 and abs(ratio - 1) > 1e-6:
        assert (mpmath.isinf(exact) and math.isinf(found)) or found == pytest.approx(float(exact), rel=1e-6)


@extremes
@given(st.integers(1, 10**15), powers(-6, 6), st.integers(1, 1000), powers(-12, 0))
def test_each_bound_lies_below_the_looser_one(n, order, d, sigma):
    alpha = 1 + order
    for name, bound in (("unbounded", unbounded_epsilon), ("bounded", bounded_epsilon)):
        assert bound(n, alpha, d, sigma) > 0, name
    printed, tight, joint = (
        bound(n, alpha, d, sigma) for bound in (bounded_epsilon, bounded_epsilon_tight, bounded_epsilon_joint)
    )
    assert joint <= tight * (1 + 1e-9) and tight <= printed * (1 + 1e-9)
    assert largest_radius(d, sigma) <= 4 * d / sigma
