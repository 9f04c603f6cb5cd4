"""Privacy accounting over its whole documented range: against 60-digit arithmetic, identities and orders that must hold.

Sizes are drawn by their exponents, from 1e-300 to 1e300 where the range allows it. The references are the formulas as
their papers print them, in mpmath; nothing of `lib` is in them.
"""

import inspect
import itertools
import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lib import accounting, local
from lib.accounting import composition, divergence, numerical, privacy_loss, sampled_gaussian
from lib.attacks import membership_inference
from lib.gaussian_synthesis import bounds
from lib.gaussian_synthesis.bounds import (
    bounded_epsilon,
    bounded_epsilon_joint,
    bounded_epsilon_tight,
    largest_radius,
    unbounded_epsilon,
)
from lib.local import consistency
from lib.local.unary_encoding import UnaryEncoding
from lib.mechanisms import additive_noise, selection, sensitivity
from lib.mechanisms.randomized_response import RandomizedResponse
from lib.microdata import perturbation
from lib.networks import parameterwise, private_networks
from lib.numerics.kernel_matrix import LEAST, gaussian_kernel
from tests.lib import fuzz_cases

TINY = np.finfo(float).tiny
extremes = settings(derandomize=True, deadline=None, max_examples=60)


def powers(low, high):
    """Return positive numbers whose decimal exponents are spread over [low, high]."""
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
    """The divergence of nearly equal distributions is of second order; terms that cancel must not leave rounding errors."""
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
    exact = _gaussian_delta(mpmath.mpf(mu), epsilon)
    found = accounting.gaussian_delta(1.0, epsilon, mu)
    assert TINY <= found <= 1 and found >= exact
    if exact > 1e-300:
        assert found == pytest.approx(float(exact), rel=1e-9, abs=0)
    else:
        assert found < 1e-299


def _gaussian_delta(mu, epsilon):
    with mpmath.workdps(100):
        e = mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.slow
@extremes
@given(st.lists(st.tuples(powers(-3, 3), powers(-2, 2)), min_size=1, max_size=9), powers(-20, -0.1), powers(-3, 2))
def test_the_epsilon_of_gaussians_is_never_too_small(mechanisms, delta, epsilon):
    """At that epsilon the exact delta is at most the one given: of one Gaussian, of several together, and with a calibrated sigma."""
    sigmas, sensitivities = map(np.array, zip(*mechanisms))
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.fsum((mpf(b) / mpf(a)) ** 2 for a, b in mechanisms))
    together = composition.gaussian(sigmas, delta, sensitivities).epsilon
    assert _gaussian_delta(mu, together) <= delta
    one = accounting.gaussian_epsilon(sigmas[0], delta, sensitivities[0])
    assert _gaussian_delta(mpf(sensitivities[0]) / mpf(sigmas[0]), one) <= delta
    sigma = accounting.gaussian_sigma(epsilon, delta, sensitivities[0])
    assert _gaussian_delta(mpf(sensitivities[0]) / mpf(sigma), epsilon) <= delta


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
    width = Fraction(high) - Fraction(low)
    for found, exact in (
        (sensitivity.of_sum(low, high, "bounded"), width),
        (sensitivity.of_mean(low, high, 10, neighbours="bounded"), width / 10),
        (sensitivity.of_mean(low, high, neighbours="unbounded"), width / 2),
    ):
        assert exact <= found <= max(exact * (1 + Fraction(1, 2**52)), TINY)


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


@extremes
@given(st.one_of(st.floats(0, 40), powers(-12, 300)), st.integers(2, 2**31))
def test_retention_replacement_protects_no_less_than_asked(epsilon, size):
    made = perturbation.RetentionReplacement.from_epsilon(epsilon, size)
    with mpmath.workdps(60):
        exact = mpmath.log1p(size * mpf(made.rho) / (1 - mpf(made.rho)))
    assert exact <= epsilon * (1 + 1e-15) + 1e-300
    if 1e-12 < epsilon < 20:
        assert exact >= epsilon * (1 - 1e-3) - size * 2.0**-53  # as fine as it is drawn


@pytest.mark.slow
@extremes
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_posteriors_of_matchings_whose_products_leave_the_range(n, seed):
    rng = np.random.default_rng(seed)
    densities = 10.0 ** rng.integers(-300, 300, (n, n)) * (rng.random((n, n)) < 0.8)
    weights = {
        order: math.prod(Fraction(densities[i, r]) for i, r in enumerate(order))
        for order in itertools.permutations(range(n))
    }
    total = sum(weights.values())
    if not total:
        with pytest.raises(ValueError, match="densities must allow at least one matching"):
            perturbation.matching_posteriors(densities)
        return
    exact = [
        [float(sum(weight for order, weight in weights.items() if order[i] == r) / total) for r in range(n)]
        for i in range(n)
    ]
    np.testing.assert_allclose(perturbation.matching_posteriors(densities), exact, rtol=1e-12, atol=1e-290)


@pytest.mark.slow
@extremes
@given(powers(-6, 6), st.one_of(powers(-300, -0.01), st.integers(2, 53).map(lambda bits: 1 - 2.0**-bits)))
def test_the_certified_rho_is_hardly_less_than_the_largest(epsilon, delta):
    """It is smaller by at most what its docstring says, also where delta is almost 1; another test shows that it is never larger."""
    assert (
        1 - 1e-12
        <= float(accounting.certified_zcdp(epsilon, delta)) / accounting.dp_to_zcdp(epsilon, delta)
        <= 1 + 1e-12
    )


@extremes
@given(powers(-14, 3), powers(-6, 6), st.sampled_from([1, 2, 8, 200, 1000]))
def test_a_kernel_is_accurate_or_refuses_its_width(width, size, columns):
    """As accurate as its docstring says: of equal features (in half of the rows) the rounding errors add up."""
    points = size * np.random.default_rng(columns).random((30, columns))
    points[::2] = size * 0.7
    per_unit = (6 * columns + 24) * 2.0**-53 / width
    try:
        found = gaussian_kernel(points, width).dense()
    except ValueError as error:
        assert "width must be at least" in str(error) and per_unit * (points**2).sum(axis=1).max() > 0.0099
        return
    exact = np.exp(np.maximum(-((points[:, None] - points) ** 2).sum(axis=2) / width, LEAST))
    np.testing.assert_allclose(found, exact, rtol=1e-12 + 1.01 * per_unit * (points**2).sum(axis=1).max())


def test_a_choice_whose_exponents_overflow_is_refused():
    """They would tie at infinity, and the first of them would be taken as the best."""
    with pytest.raises(ArithmeticError, match="too large"):
        selection.exponential([1.0, 2.0], 1e300, 1e-300, rng=np.random.default_rng(0))


# ---- local oracles


@extremes
@given(
    st.sampled_from(["GRR", "SUE", "OUE", "THE", "OLH", "BLH", "SubsetSelection", "HadamardResponse"]),
    st.integers(2, 300),
    powers(-12, 300),
)
def test_oracles_protect_as_they_say_and_state_probabilities_and_variances_or_refuse(name, k, epsilon):
    """The loss is that of the coins as they are thrown, multiples of 2^-53 or, of bits, floats: in exact fractions."""
    try:
        oracle = getattr(local, name)(k, epsilon)
    except ValueError as error:
        assert "epsilon must be large enough" in str(error) and epsilon < 1e-11
        return
    p, q, odds = _coins(oracle)
    assert (
        0 <= q < p < 1
        and oracle.p == pytest.approx(float(p), rel=1e-15)
        and oracle.q == pytest.approx(float(q), rel=1e-15)
    )
    with mpmath.workdps(60):
        loss = mpmath.log(mpf(odds.numerator) / odds.denominator)
        assert loss <= oracle.privacy_loss <= min(loss * (1 + mpf(1e-14)), epsilon)
    if epsilon < 30 and name != "THE":
        assert oracle.privacy_loss == pytest.approx(epsilon, rel=1e-3)
    assert oracle.variance(SHARES, 1) == pytest.approx(
        [float(_variance(oracle, p, q, f)) for f in SHARES], rel=1e-12, abs=0
    )
    reports = oracle.perturb(np.arange(min(k, 5)), rng=np.random.default_rng(0))
    try:
        law = oracle.probability(reports)
    except ArithmeticError as error:
        assert "too small for double precision" in str(error) and (k > 100 or epsilon > 600)
    else:
        assert ((law > 0) & (law <= 1)).all()
        assert np.log(law.max(axis=1) / law.min(axis=1)).max() <= oracle.privacy_loss * (1 + 1e-12) + 1e-15


SHARES = np.array([0.0, 0.3, 1 - 1e-12, 1.0])


def _variance(oracle, p, q, f):
    f = Fraction(f)
    if not isinstance(oracle, local.HadamardResponse):
        return ((1 - f) * q * (1 - q) + f * p * (1 - p)) / (p - q) ** 2
    d, blocks = Fraction(oracle._forced), oracle.blocks  # a report scores 1/d or -1/d in its block, and 0 elsewhere
    share = f + (1 - f) / blocks
    return (share * (d + (1 - d) / blocks) + (1 - share) * (1 - d) / blocks) / d**2 - f


def _coins(oracle) -> tuple[Fraction, Fraction, Fraction]:
    """Return the support p and q, and the greatest ratio of a report's probabilities, of the coins as they are thrown."""
    p, k = Fraction(oracle.p), oracle.k
    if isinstance(oracle, UnaryEncoding):
        q = Fraction(oracle.q)
        assert (p * 2**61).denominator == (q * 2**61).denominator == 1  # as finely as `coins` draws
        return p, q, p * (1 - q) / (q * (1 - p))
    if isinstance(oracle, local.LocalHashing):
        return p, Fraction(1, oracle.g), p * (oracle.g - 1) / (1 - p)
    if isinstance(oracle, local.HadamardResponse):
        d = Fraction(oracle._forced)
        return (1 + d) / 2, Fraction(1, 2), 1 + 2 * oracle.blocks * d / (1 - d)
    d = getattr(oracle, "d", 1)
    return p, (p * (d - 1) + (1 - p) * d) / (k - 1), p * (k - d) / ((1 - p) * d)


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


# ---- costs and probabilities, each against its formula


FULL = math.log10(5e-324), 308.2547  # all positive doubles: the last is taken for the largest
HALF = -149.9, 149.9  # of which the squares are doubles


def case(function, reference, *ranges, low=0.0, high=1e-14):
    """Return a case: a `function` of numbers whose decimal exponents lie in `ranges`, and its `reference`, in mpmath.

    The reference is the exact value, or a pair of it and the quantity that the permitted errors are relative to. A cost may not lie
    below (`low`), and may lie above by a relative `high`, or up to the smallest normal double. A number that is not a cost is
    rounded to the nearest and has a different `low`.
    """
    return function, reference, ranges, low, high


NEAREST = dict(low=1e-12, high=1e-9)
mpf = mpmath.mpf


def order(x):
    return mpf(1 + float(x))


def exp(x):
    """Return e^x, or 0 or infinity where it is beyond e^-10^6 and e^10^6: mpmath would take long."""
    return mpmath.exp(x) if abs(x) < 10**6 else mpf(0) if x < 0 else mpmath.inf


def _drawn(rho):
    """Return the probability of `rng.random() < rho`."""
    return mpf(math.ceil(rho * 2**53)) / 2**53


def _exponential_rdp(e, x):
    """Return the maximum over t of D_alpha for losses t and t - e, with probabilities such that both laws sum to 1."""
    a = order(x)
    x = a - 1
    if x == 0:
        return None
    shown, kept = -mpmath.expm1(-a * e), -mpmath.exp(-e) * mpmath.expm1(-x * e)
    odds = shown * x / (kept * a)
    return mpmath.log(odds) + mpmath.log((shown - kept * odds) / -mpmath.expm1(-e)) / x


def _response_rdp(e, k, x):
    """Return the RDP epsilon of a truth among k values, with losses e, 0 and -e."""
    x, lie = order(x) - 1, 1 / (mpmath.exp(e) + k - 1)
    return mpmath.log(lie * (mpmath.exp((1 + x) * e) + mpmath.exp(-x * e) + k - 2)) / x if x else None


def _response_rho(e, k):
    """Return sup D_alpha / alpha: for k = 2 at alpha = 1; else on a grid of alpha, where it may be too low by 1/2000."""
    lie = 1 / (mpmath.exp(e) + k - 1)
    if k == 2:
        return e * lie * mpmath.expm1(e)
    with mpmath.workdps(20 + 2 * max(int(-mpmath.log10(e)), 10)):
        orders = [1 + mpmath.mpf(i) / 60 * (4 + 2 * mpmath.log(k) / e) for i in range(1, 61)]
        moments = [lie * (mpmath.exp(a * e) + mpmath.exp((1 - a) * e) + k - 2) for a in orders]
        return max(e * lie * mpmath.expm1(e), *(mpmath.log(moment) / (a - 1) / a for a, moment in zip(orders, moments)))


def _laplace_rdp(e, x):
    a = order(x)
    if a == 1:
        return None
    rest = (a - 1) * exp(-(2 * a - 1) * e)  # the other term is a, where e^((a - 1) e) is taken out of both
    return e + mpmath.log((a + rest) / (2 * a - 1)) / (a - 1)


def _discrete_laplace_rho(scale, shift):
    """Return the sum over both tails, and over the values between, whose masses are a geometric progression."""
    e, s = 1 / scale, int(mpmath.nint(shift))
    return e * s + mpmath.expm1(-e * s) * e / mpmath.sinh(e)


def _optimal(e, k, target):
    """Return the epsilon at which delta is `target`: between two losses, delta is the mass above less a multiple of e^epsilon."""
    mass = tilted = mpf(0)
    for i in range(k, -1, -1):
        loss, below = (2 * i - k) * e, (2 * i - 2 - k) * e
        law = mpmath.binomial(k, i) * mpmath.exp(i * e) / (1 + mpmath.exp(e)) ** k
        mass, tilted = mass + law, tilted + law * mpmath.exp(-loss)
        if below < 0 or mass - tilted * mpmath.exp(below) >= target:
            return max(mpmath.log((mass - target) / tilted), 0), k * e


def _best_conversion(rho, delta):
    """Return the conversion where its derivative, of the sign of rho x^2 + log(1 + x) - log(1/delta), changes sign."""
    goal, low, high = -mpmath.log(delta), mpf(10) ** -400, mpf(10) ** 400
    with mpmath.workdps(60):  # the least is flat
        for _ in range(150):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if rho * middle**2 + mpmath.log1p(middle) < goal else (low, middle)
    terms = rho * (1 + low), goal / low, -mpmath.log1p(1 / low), -mpmath.log1p(low) / low
    return max(sum(terms), 0), sum(map(abs, terms))


def _sampled_rdp(sigma, q, x):
    """Integrate by the trapezoidal rule, step and reach halved and doubled, in 50 digits; a record removed."""
    a = order(x)
    with mpmath.workdps(50):
        step, low, high = min(sigma / 6, sigma**2 / 3), -1 - 15 * sigma, a + 15 * sigma
        points = [low + step * i for i in range(int((high - low) / step) + 1)]
        mean = mpmath.fsum(
            mpmath.npdf(z, 0, sigma) * (1 - q + q * mpmath.exp((2 * z - 1) / (2 * sigma**2))) ** a for z in points
        )
        return mpmath.log(mean * step) / (a - 1)


COSTS = {
    "selection.Exponential.rdp": case(lambda e, x: selection.Exponential(e).rdp(1 + x), _exponential_rdp, (-150, 3), (-12, 20), high=1e-11),
    "selection.Exponential.rho": case(lambda e: selection.Exponential(e).rho, lambda e: e**2 / 8, FULL),
    "selection.Exponential.delta": case(
        lambda e, part: selection.Exponential(e).delta(part * e),
        lambda e, part: (
            (mpmath.exp(e / 2) - mpmath.exp(mpf(float(part) * float(e)) / 2)) ** 2 / mpmath.expm1(e),
            max(1, e / (e - part * e)) * (mpmath.exp(e / 2) - mpmath.exp(part * e / 2)) ** 2 / mpmath.expm1(e),
        ), (-300, 2.5), (-6, -0.01),
    ),
    "selection.Exponential.epsilon_at": case(
        lambda e, delta: selection.Exponential(e).epsilon_at(delta),
        lambda e, delta: (max(e + 2 * mpmath.log(1 - mpmath.sqrt(delta * -mpmath.expm1(-e))), 0), e), (-300, 2.5), (-300, -1),
    ),
    "guarantees.PureDP.rho": case(lambda e: selection.PermuteAndFlip(e).rho, lambda e: e * mpmath.tanh(e / 2), FULL),
    "randomized_response.RandomizedResponse.rho": case(
        lambda e, k: RandomizedResponse(e, round(k)).rho, lambda e, k: _response_rho(e, int(mpmath.nint(k))), (-150, 2.8), (0.31, 9.3), high=0.01
    ),
    "randomized_response.RandomizedResponse.truth": case(
        lambda e, k: RandomizedResponse(e, round(k)).truth, lambda e, k: 1 / (1 + (mpmath.nint(k) - 1) * mpmath.exp(-e)), (-300, 2.8), (0.31, 9.3), **NEAREST
    ),
    "randomized_response.RandomizedResponse.lie": case(
        lambda e, k: RandomizedResponse(e, round(k)).lie, lambda e, k: 1 / (mpmath.exp(e) + mpmath.nint(k) - 1), (-300, 2.8), (0.31, 9.3), **NEAREST
    ),
    "additive_noise.Laplace.rho": case(lambda e: additive_noise.Laplace(1.0, e).rho, lambda e: mpmath.expm1(-e) + e, FULL),
    "additive_noise.Laplace.epsilon_at": case(
        lambda e, delta: additive_noise.Laplace(1.0, e).epsilon_at(delta), lambda e, delta: (max(e + 2 * mpmath.log(1 - delta), 0), e), (-300, 300), (-300, -0.01)
    ),
    "additive_noise.Laplace.epsilon": case(lambda a, b: additive_noise.Laplace(a, b).epsilon, lambda a, b: b / a, FULL, FULL, high=2**-52),
    "additive_noise.Laplace.delta": case(
        lambda e, part: additive_noise.Laplace(1.0, e).delta(part * e), lambda e, part: (-mpmath.expm1((mpf(float(part) * float(e)) - e) / 2)), FULL, (-6, -0.01)
    ),
    "additive_noise.Laplace.rdp": case(lambda e, x: additive_noise.Laplace(1.0, e).rdp(1 + x), _laplace_rdp, (-150, FULL[1]), (-12, 300)),
    "additive_noise.Gaussian.rho": case(lambda a, b: additive_noise.Gaussian(a, b).rho, lambda a, b: (b / a) ** 2 / 2, (-70, 70), (-75, 75)),
    "additive_noise.Gaussian.rdp": case(lambda a, x: additive_noise.Gaussian(a).rdp(1 + x), lambda a, x: order(x) / a**2 / 2, HALF, (-12, 300)),
    "gaussian_curve.gaussian_zcdp": case(accounting.gaussian_zcdp, lambda a: 1 / a**2 / 2, HALF),
    "additive_noise.DiscreteLaplace.epsilon": case(
        lambda a, b: additive_noise.DiscreteLaplace(a, round(b)).epsilon, lambda a, b: mpmath.nint(b) / a, FULL, (0, 15), high=2**-52
    ),
    "additive_noise.DiscreteLaplace.rho": case(lambda a, b: additive_noise.DiscreteLaplace(a, round(b)).rho, _discrete_laplace_rho, FULL, (0, 15)),
    "additive_noise.DiscreteGaussian.rho": case(
        lambda a, b: additive_noise.DiscreteGaussian(a, round(b)).rho, lambda a, b: (mpmath.nint(b) / a) ** 2 / 2, FULL, (0, 15), high=2**-52
    ),
    "additive_noise.DiscreteGaussian.rdp": case(lambda a, x: additive_noise.DiscreteGaussian(a).rdp(1 + x), lambda a, x: order(x) / a**2 / 2, HALF, (-12, 300)),
    "guarantees.PureDP.rdp": case(lambda e, x: selection.PermuteAndFlip(e).rdp(1 + x), lambda e, x: _response_rdp(e, 2, x), (-323, 150), (-12, 20), high=1e-10),
    "guarantees.PureDP.delta": case(
        lambda e, part: selection.PermuteAndFlip(e).delta(part * e),
        lambda e, part: -mpmath.expm1(mpf(float(part) * float(e)) - e) / (1 + mpmath.exp(-e)), (-323, 150), (-6, -0.01), high=1e-10
    ),
    "guarantees.PureDP.epsilon_at": case(
        lambda e, delta: selection.PermuteAndFlip(e).epsilon_at(delta),
        lambda e, delta: (max(e + mpmath.log1p(-delta * (1 + mpmath.exp(-e))), 0), e), (-323, 150), (-300, -0.35), high=1e-10
    ),
    "privacy_loss.DiscreteLoss.kl": case(
        lambda e, k: privacy_loss.randomized_response(e, round(k)).kl, lambda e, k: e * mpmath.expm1(e) / (mpmath.exp(e) + mpmath.nint(k) - 1), (-323, 2.8), (0.31, 9.3), high=1e-10
    ),
    "composition.optimal": case(
        lambda e, k, part: composition.optimal(e, round(k), part * min(e, 1)).epsilon,
        lambda e, k, part: _optimal(e, int(mpmath.nint(k)), mpf(float(part) * min(float(e), 1))), (-250, 2), (0, 2), (-20, -0.5), high=1e-9
    ),
    "composition.optimal, of runs with a delta": case(
        lambda e, k, d: composition.optimal(e, round(k), round(k) * d, d).epsilon,
        lambda e, k, d: _optimal(e, int(mpmath.nint(k)), 1 - (1 - mpf(round(float(k)) * float(d))) / (1 - d) ** int(mpmath.nint(k))),
        (-6, 1), (0.5, 1.5), (-6, -2), high=1e-6
    ),
    "composition.advanced": case(
        lambda e, k, slack: composition.advanced(e, round(k), slack).epsilon,
        lambda e, k, slack: mpmath.sqrt(-2 * mpmath.nint(k) * mpmath.log(slack)) * e + mpmath.nint(k) * e * mpmath.expm1(e), (-323, 2.8), (0, 15), (-323, -0.01)
    ),
    "conversions.pure_dp_to_zcdp": case(accounting.pure_dp_to_zcdp, lambda e: e**2 / 2, FULL, high=2**-52),
    "conversions.zcdp_to_dp, mironov": case(
        lambda rho, delta: accounting.zcdp_to_dp(rho, delta, "mironov2017"), lambda rho, delta: rho + 2 * mpmath.sqrt(-rho * mpmath.log(delta)), FULL, (-323, -0.01)
    ),
    "conversions.zcdp_to_dp": case(accounting.zcdp_to_dp, _best_conversion, (-100, 100), (-300, -0.01)),
    "sensitivity.of_mean": case(lambda w, n: sensitivity.of_mean(0, w, round(n), neighbours="bounded"), lambda w, n: w / mpmath.nint(n), FULL, (0, 15), high=2**-52),
    "sensitivity.of_sum": case(lambda a, b: sensitivity.of_sum(-a, b, "bounded"), lambda a, b: a + b, FULL, FULL, high=2**-52),
    "histogram_encoding.SHE, its noise": case(lambda e: local.SHE(2, e).scale, lambda e: 2 / e, (-150, 300), high=2**-52),
    "privacy_loss.DiscreteLoss.renyi": case(
        lambda e, k, x: privacy_loss.randomized_response(e, round(k)).renyi(1 + x),
        lambda e, k, x: _response_rdp(e, int(mpmath.nint(k)), x), (-139, 2.8), (0.5, 9.3), (-12, 20), high=1e-10,
    ),
    "numerical.LaplaceLoss.truncated_mean": case(
        lambda e: numerical.LaplaceLoss(e).truncated_mean(-np.inf, np.inf), lambda e: mpmath.expm1(-e) + e, (-150, 150), **NEAREST
    ),
    "numerical.BoundedRangeLoss.truncated_mean": case(
        lambda e: numerical.BoundedRangeLoss(e).truncated_mean(-np.inf, np.inf), lambda e: e * mpmath.coth(e / 2) - 2, (-150, 150), low=1e-10, high=1e-9
    ),
    "numerical.BoundedRangeLoss.cdf": case(
        lambda e, part: numerical.BoundedRangeLoss(e).cdf(-part * e),
        lambda e, part: (mpmath.expm1(e - part * e) - mpmath.expm1(0)) and (mpmath.exp(-part * e / 2) - mpmath.exp(-e / 2)) / (2 * mpmath.sinh(e / 2)),
        (-300, 2.5), (-6, -0.3), low=1e-13, high=1e-12,
    ),
    "sampled_gaussian.SampledGaussian.rdp": case(
        lambda sigma, q, x: sampled_gaussian.SampledGaussian(1 / sigma, sigma, q).rdp(1 + x), _sampled_rdp, (-0.5, 6), (-6, -0.1), (-1, 1), low=0, high=1e-11
    ),
    "conversions.bounded_range_zcdp": case(accounting.bounded_range_zcdp, lambda e: e**2 / 8, FULL),
    "conversions.compose_rdp": case(lambda e: accounting.compose_rdp([e], [10**15]), lambda e: e * 10**15, FULL, high=2**-52),
    "conversions.rdp_to_dp": case(
        lambda e, x, delta: accounting.rdp_to_dp([1 + x], [e], delta).epsilon, lambda e, x, delta: _converted(e, order(x) - 1, delta), (-300, 300), (-12, 12), (-300, -0.01)
    ),
    "conversions.rdp_to_delta": case(
        lambda e, x, target: mpmath.log(mpf(accounting.rdp_to_delta([1 + x], [e], target).delta)),
        lambda e, x, target: _converted_log_delta(e, order(x) - 1, target), (-300, 300), (-12, 12), (-300, 300),
    ),
    "composition.basic": case(lambda a, b: composition.basic([a, b, a]).epsilon, lambda a, b: 2 * a + b, FULL, FULL, high=2**-52),
    "composition.parallel": case(lambda e: composition.parallel([e, e / 2], neighbours="bounded").epsilon, lambda e: 2 * e, (-300, 300), high=2**-52),
    "composition.gaussian": case(  # mu of four is twice that of one
        lambda s, delta: composition.gaussian([s] * 4, delta).epsilon, lambda s, delta: mpf(float(accounting.gaussian_epsilon(float(s) / 2, float(delta)))), (-3, 3), (-30, -0.5), low=1e-12, high=1e-12
    ),
    "membership_inference.posterior_bound": case(
        lambda prior, e: membership_inference.posterior_bound(prior, e), lambda prior, e: prior / (prior + (1 - prior) * exp(-e)), (-300, -0.01), (-300, 300), **NEAREST
    ),
    "membership_inference.tpr_bound": case(
        lambda fpr, e, delta: membership_inference.tpr_bound(fpr, e, delta),
        lambda fpr, e, delta: min(1, exp(e) * fpr + delta, 1 - exp(-e) * (1 - delta - fpr)), (-300, -0.5), (-300, 300), (-300, -0.5), **NEAREST,
    ),
    "membership_inference.advantage_bound": case(
        membership_inference.advantage_bound, lambda e: mpmath.tanh(e / 2), (-300, 300), **NEAREST
    ),
    "private_networks.PrivacyStatement.rho": case(
        lambda e: private_networks.PrivacyStatement("AnonymizedLearning", e, 1000, 7).rho, lambda e: 7000 * (mpmath.expm1(-e / 7) + e / 7), (-150, FULL[1])
    ),
    "private_networks.PrivacyStatement.epsilon_at": case(
        lambda e: private_networks.PrivacyStatement("LearningFirst", e, 1000).epsilon_at(1e-6),
        lambda e: min(1000 * e, mpf(accounting.zcdp_to_dp(additive_noise.Laplace(1.0, float(e)).rho * 1000, 1e-6))), (-150, 150),
    ),
    "parameterwise.loss": case(
        lambda gap: parameterwise.loss([[0.5, 0.5], [1 - (0.5 - gap), 0.5 - gap]]), lambda gap: mpmath.log(max(0.5 / mpf(0.5 - float(gap)), mpf(1 - (0.5 - float(gap))) * 2)), (-15, -0.4), **NEAREST
    ),
    "perturbation.RetentionReplacement.epsilon": case(
        lambda rho, k: perturbation.RetentionReplacement(round(k), rho).epsilon, lambda rho, k: mpmath.log(1 + mpmath.nint(k) * _drawn(rho) / (1 - _drawn(rho))), (-300, -0.001), (0.31, 9)
    ),
    "perturbation.RetentionReplacement.density": case(
        lambda rho, k: perturbation.RetentionReplacement(round(k), rho).density(1, 0), lambda rho, k: (1 - _drawn(rho)) / mpmath.nint(k), (-300, -0.001), (0.31, 9), **NEAREST
    ),
    "perturbation.BoundedLaplace.epsilon": case(lambda phi: perturbation.BoundedLaplace(0, 1, phi).epsilon, lambda phi: 1 / phi, (-300, 300), high=2**-52),
    "perturbation.BoundedLaplace.density": case(
        lambda phi: perturbation.BoundedLaplace(0, 1, phi).density(0.25, 0.75),
        lambda phi: mpmath.exp(-1 / (2 * phi)) / phi / (2 - mpmath.exp(-3 / (4 * phi)) - mpmath.exp(-1 / (4 * phi))), (-2, 15), **NEAREST,
    ),
    "perturbation.pk_level": case(
        lambda e: perturbation.pk_level(perturbation.Perturbation({"a": perturbation.BoundedLaplace(0, 1, 1 / e)}), 10**6) , lambda e: 1 + (10**6 - 1) * mpmath.exp(-2 / mpf(1 / float(e))), (-300, 300), low=1e-14, high=0.0
    ),
    "perturbation.pk_epsilon": case(lambda k: perturbation.pk_epsilon(1 + k, 10**6), lambda k: mpmath.log((10**6 - 1) / (mpf(1 + float(k)) - 1)) / 2, (-15, 5.9), **NEAREST),
}  # fmt: skip


def _converted(e, x, delta):
    terms = e, -mpmath.log1p(1 / x), -mpmath.log1p(x) / x, -mpmath.log(delta) / x
    return max(sum(terms), 0), sum(map(abs, terms))


def _converted_log_delta(e, x, target):
    terms = x * e, -x * mpmath.log1p(1 / x), -mpmath.log1p(x), -x * target
    return min(max(sum(terms), mpmath.log(mpf(TINY))), 0), 1 + sum(map(abs, terms))


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTS)
def test_a_cost_is_its_formula_and_never_less(name):
    function, reference, ranges, low, high = COSTS[name]
    rng, checked = np.random.default_rng(0), 0
    draws = [[rng.uniform(*ends) for ends in ranges] for _ in range(8 if reference is _sampled_rdp else 40)]
    for exponents in itertools.chain(draws, () if reference is _sampled_rdp else itertools.product(*ranges)):
        arguments = [
            np.finfo(float).max if exponent == FULL[1] else float(10.0**exponent) or 5e-324 for exponent in exponents
        ]
        with mpmath.workdps(700 if min(np.ravel(ranges)) < -60 else 120):
            exact = reference(*map(mpf, arguments))
            exact, unit = exact if isinstance(exact, tuple) else (exact, exact)
            if exact is None:  # the argument was rounded to the end of its range
                continue
            found = function(*arguments)
            checked += 1
            assert not (exact > 0 and found == 0), (arguments, "rounded to nothing")
            if abs(exact) < 1e307:
                room = mpmath.fabs(unit)
                assert exact - low * room <= found <= exact + max(high * room, mpf(2 * TINY)), (
                    arguments,
                    found,
                    float(exact),
                )
            else:
                assert found >= 1e307
    assert checked > 5


# ---- the bounds of Gaussian synthesis, to their ends


def _psi(t, a):
    return (a * mpmath.log(1 + t) - mpmath.log(1 + a * t)) / (a - 1)


def _printed_unbounded(n, a, d, sigma):
    more, tau = n + 1, 4 * d / sigma
    if n * (n + a) <= a * more * tau:
        return mpmath.inf
    s = -(more * tau - n) / (more * (n - tau))
    added = a * tau / (more * (more - a)) + (d - 1) * _psi(-1 / more, a)
    added += max(_psi(-1 / more, a), _psi((n * tau - more) / more**2, a))
    removed = (
        a * tau / (n * (n + a) - a * more * tau) + (d - 1) * _psi(1 / n, a) + max(_psi(1 / n, a), _psi(s / (1 - s), a))
    )
    return max(added, removed) / 2


def _bounded(spread):
    def epsilon(n, a, d, sigma):
        tau = 4 * d / sigma
        kappa, margin = (n - 1) * tau / n**2, n**2 - a * (n - 1) * tau
        return (a * tau / margin + spread(kappa, a)) / 2 if margin > 0 else mpmath.inf

    return epsilon


def _bounded_both(n, a, d, sigma):
    tau = 4 * d / sigma
    kappa = (n - 1) * tau / n**2
    q = kappa / (1 + kappa)
    if a * q >= 1:
        return mpmath.inf
    return (a * tau / n**2 / (1 - a * q) + max(_psi(-q, a), (1 + kappa) ** 2 * _psi(kappa, a))) / 2


def _bounded_centred(n, a, d, sigma, stretch=0):
    """Evaluate with kappa larger by a relative `stretch`; the quadratic in e at its ends and where its derivative is 0."""
    m = min(1, (n * mpmath.sqrt(1 - sigma) + 1) / (n - 1)) if n > 1 else 1
    big, h, c = 1 + m, 1 - m, (n - 1) / (n**2 * sigma)
    kappa = c * d * big**2 / mpmath.sqrt(1 - h**2 / 2) * (1 + stretch)
    q = kappa / (1 + kappa)
    if a * q >= 1:
        return mpmath.inf
    mean, spread = a * d / (sigma * n**2 * (1 - a * q)), 0
    if kappa:
        spread = max(_psi(-q, a), (1 + kappa) ** 2 * _psi(kappa, a)) / (big**2 / mpmath.sqrt(1 - h**2 / 2)) ** 2

    def value(e):
        return mean * (2 * big - 2 * e) + spread * (big**4 + (2 * m * e + big * h) ** 2 - 2 * (big * e) ** 2)

    flat = (4 * m * big * h * spread - 2 * mean) / (4 * spread * (big**2 - 2 * m**2)) if spread else -h
    return max(value(-h), value(max(flat, -h))) / 2


def _added(n, a, d, r):
    more = n + 1
    margin = more * (more - a) + a * n * r
    if margin <= 0 or (a >= more and d > 1):
        return mpmath.inf
    others = (d - 1) * _psi(-1 / more, a) if d > 1 else 0
    return (a * r / margin + others + _psi((n * r - more) / more**2, a)) / 2


def _removed(n, a, d, r):
    more = n + 1
    margin = more * (n + a) - n * (a - 1) * r
    if margin <= 0:
        return mpmath.inf
    return (a * r / margin + (d - 1) * _psi(1 / n, a) + _psi((more - n * r) / (n * (more + r)), a)) / 2


def _tight(n, a, d, sigma, stretch=0):
    """Evaluate at a radius that is larger by a relative `stretch`."""
    r = d * (1 + mpmath.sqrt(1 - sigma)) ** 2 / sigma * (1 + stretch)
    return max(_added(n, a, d, 0), _added(n, a, d, r), _removed(n, a, d, r))


def _regularised(n, a, d, sigma):
    """Evaluate Theorem H, from Proposition 4.1 in the form of `renyi_gaussian`."""
    more, kappa, m = n + 1, n * 4 * d / sigma / (n + 1) ** 2, 4 * d / sigma / (n + 1) ** 2
    if a >= more or (a - 1) * kappa >= 1:
        return mpmath.inf
    added = a * m / (1 + a * kappa) + _psi(kappa, a) + d * _psi(-1 / more, a)
    t = -kappa / (1 + kappa)
    return max(added, a * m / (1 + kappa) / (1 + a * t) + _psi(t, a) + d * _psi(1 / n, a)) / 2


THEOREMS = {
    "unbounded_epsilon": _printed_unbounded,
    "bounded_epsilon": _bounded(lambda t, a: (a * mpmath.log(1 + t) - mpmath.log(1 - a * t)) / (a - 1)),
    "bounded_epsilon_tight": _bounded(lambda t, a: _psi(t, a) + _psi(-t, a)),
    "bounded_epsilon_joint": _bounded(lambda t, a: _psi(-t, a)),
    "bounded_epsilon_both": _bounded_both,
    "bounded_epsilon_centred": _bounded_centred,
    "divergence_added": _added,
    "divergence_removed": _removed,
    "unbounded_epsilon_tight": _tight,
    "regularised_epsilon": _regularised,
}


STRETCHED = {
    "unbounded_epsilon_tight": _tight,
    "bounded_epsilon_centred": _bounded_centred,
}  # one argument is rounded up


@pytest.mark.slow
@pytest.mark.parametrize("name", THEOREMS)
def test_a_bound_of_gaussian_synthesis_is_its_formula_and_never_less(name):
    """This holds over the whole permitted range, ends included; the formula is evaluated as printed, in 300 digits or more."""
    rng, of_radius, finite = np.random.default_rng(0), name.startswith("divergence"), 0
    ranges = (0, 30), (-12, 100), (0, 30), ((-30, 100) if of_radius else (-30, -1e-3))
    draws = [[rng.uniform(*ends) for ends in ranges] for _ in range(60)]
    draws += [
        [*(rng.uniform(0, 30) for _ in "n"), rng.uniform(-12, 3), rng.uniform(0, 3), rng.uniform(-6, -0.1)]
        for _ in range(60)
    ]
    for powers_of_ten in itertools.chain(draws, itertools.product(*ranges)):
        n, alpha, d, last = (10.0**power for power in powers_of_ten)
        n, alpha, d = min(round(n), 10**30), min(1 + alpha, 1e100), min(round(d), 10**30)
        found = float(getattr(bounds, name)(n, alpha, d, last))
        with mpmath.workdps(600):
            arguments = [mpf(float(each)) for each in (n, alpha, d, last)]
            exact = THEOREMS[name](*arguments)
            most = STRETCHED[name](*arguments, stretch=mpf(2) ** -45) if name in STRETCHED else exact
            assert exact <= found <= most * (1 + mpf(1e-14)), (n, alpha, d, last, found, float(exact))
        finite += math.isfinite(found)
    assert finite > 20


@pytest.mark.parametrize("sigma", [1e-30, 1e-3, 0.3, 1.0])
@pytest.mark.parametrize("d", [1, 7, 10**30])
def test_the_largest_radius_is_never_less_than_its_formula(d, sigma):
    with mpmath.workdps(60):
        exact = mpf(float(d)) * (1 + mpmath.sqrt(1 - mpf(sigma))) ** 2 / mpf(sigma)
        assert exact <= largest_radius(d, sigma) <= exact * (1 + mpf(1e-14))


@pytest.mark.parametrize("arguments, parameter", [
    ((1e31, 2, 1, 0.5), "n"), ((10, 1e101, 1, 0.5), "alpha"), ((10, 2, 1e31, 0.5), "d"), ((10, 1.5, 1, 5e-324), "sigma"), ((1e160, 2, 1, 0.5), "n"),
])  # fmt: skip
def test_a_bound_beyond_its_range_names_the_argument(arguments, parameter):
    for name in THEOREMS:
        if not name.startswith("divergence"):
            with pytest.raises(ValueError, match=f"^{parameter} must be"):
                getattr(bounds, name)(*arguments)
    with pytest.raises(ValueError, match="^radius must be"):
        bounds.divergence_added(10, 3, 1, 1e308)


# ---- never more than asked


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.one_of(st.floats(1e-3, 60), powers(-290, 290)), powers(-10, 10))
def test_a_calibrated_mechanism_costs_no_more_than_asked(epsilon, size):
    """This holds for the cost that a mechanism states, and for the cost in fractions."""
    laplace, oracle = additive_noise.Laplace.calibrated(epsilon, size), local.SHE(3, max(epsilon, 1e-150))
    bounded = perturbation.BoundedLaplace.from_epsilon(epsilon, -size, size / 3)
    discrete = additive_noise.DiscreteLaplace.calibrated(epsilon, 7)
    assert max(each.epsilon for each in (laplace, bounded, discrete)) <= epsilon
    assert perturbation.RetentionReplacement.from_epsilon(epsilon, 5).epsilon <= epsilon
    assert Fraction(laplace.sensitivity) / Fraction(laplace.scale) <= Fraction(epsilon)
    assert 2 / Fraction(oracle.scale) <= Fraction(oracle.epsilon)
    if math.isfinite(bounded.phi):
        assert (Fraction(size / 3) + Fraction(size)) / Fraction(bounded.phi) <= Fraction(epsilon)
        assert bounded.epsilon >= epsilon * (1 - 2**-52)
    assert laplace.epsilon >= epsilon * (1 - 2**-52)


@extremes
@given(
    st.one_of(st.floats(1e-3, 60), powers(-290, 290)),
    st.lists(st.sampled_from([2, 5, (0.0, 1.0), (-3.0, 8.1)]), min_size=1, max_size=9),
)
def test_a_perturbation_costs_no_more_than_asked(epsilon, kinds):
    made = perturbation.Perturbation.from_epsilon(epsilon, dict(enumerate(kinds)))
    assert sum(map(Fraction, made.epsilons)) <= Fraction(made.epsilon) <= Fraction(epsilon)


@pytest.mark.slow
@extremes
@given(
    st.integers(2, 10**9),
    st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1), powers(-16, 0)),
    st.lists(st.sampled_from([2, 5, (0.0, 1.0)]), min_size=1, max_size=5),
)
def test_pk_parameters_reach_the_level_that_was_asked_for(n, part, kinds):
    k = max(min(1 + part * (n - 1), n), 1 + 2**-52)
    made = perturbation.pk_parameters(k, n, dict(enumerate(kinds)))
    with mpmath.workdps(60):
        exact = 1 + (n - 1) * mpmath.exp(-2 * mpmath.fsum(map(mpf, made.epsilons)))
    assert k <= perturbation.pk_level(made, n) <= exact


@pytest.mark.slow
@extremes
@given(powers(-6, 6), powers(-300, -0.01), powers(-6, 6))
def test_calibrated_gaussian_noise_is_as_private_as_asked_by_its_own_curve(epsilon, delta, size):
    assert additive_noise.Gaussian.calibrated(epsilon, delta, size).delta(epsilon) <= delta


# ---- what permitted input must not cause


def test_costs_that_underflow_are_not_zero_and_those_that_overflow_are_infinite():
    tiny = [
        additive_noise.Laplace(1e300, 1e-300).epsilon, additive_noise.Laplace(1e300, 1e-300).rdp(2.0), selection.PermuteAndFlip(1e-200).rdp(2.0),
        RandomizedResponse(1e-200, 3).rdp(1e10), additive_noise.DiscreteGaussian(1e200).rho, additive_noise.DiscreteLaplace(Fraction(10**400)).epsilon,
        sensitivity.of_mean(0, 5e-324, neighbours="unbounded"), privacy_loss.randomized_response(1e-200).kl,
    ]  # fmt: skip
    assert all(TINY <= each < 1e-150 for each in tiny), tiny
    assert additive_noise.DiscreteLaplace(1e-310).epsilon == additive_noise.DiscreteGaussian(1e-200).rho == math.inf
    assert private_networks.PrivacyStatement("AnonymizedLearning", 1e300, 10**18, 7).epsilon_at(1e-6) == math.inf
    assert composition.basic([1e308, 1e308]).epsilon == math.inf


def test_a_range_beyond_double_precision_is_refused_in_words():
    with pytest.raises(ValueError, match="epsilon must be in .1e-150, inf"):
        local.SHE(3, 1e-160)
    assert local.SHE(3, 1e-150).variance(0.1, 10) == pytest.approx(8e299)
    for make in (
        lambda: perturbation.BoundedLaplace(-1e308, 1e308, 1.0),
        lambda: perturbation.BoundedLaplace.from_epsilon(3.0, -1e308, 1e308),
    ):
        with pytest.raises(ValueError, match="high - low must be"):
            make()
    for mechanism in (selection.Exponential(1e300, 1e-300), selection.PermuteAndFlip(1e300, 1e-300)):
        with pytest.raises(ArithmeticError, match="too large"):
            mechanism.probabilities([1.0, 2.0])
    for mechanism in (additive_noise.DiscreteLaplace(2.0, 10**9), additive_noise.DiscreteGaussian(2.0, 10**9)):
        assert mechanism.rho > 1
        with pytest.raises(ValueError, match="shift must be"):
            mechanism.delta(1.0)


@pytest.mark.parametrize("epsilon, total", [(1e-14, 1e-16), (1e-12, 1e-14)])
def test_small_epsilons_compose_without_losing_their_digits(epsilon, total):
    with mpmath.workdps(60):
        exact = _optimal(mpf(epsilon), 40, mpf(total))[0]
        found = composition.optimal(epsilon, 40, total).epsilon
        assert exact * (1 - mpf(2) ** -55) <= found <= exact * (1 + mpf(1e-12))


# ---- nothing is forgotten

STATED = re.compile("(^|_)(epsilons?|delta|rho|rdp|zcdp|dp|renyi|kl|loss|losses|probability|density|mass|masses|cdf|truth|lie|level|variances?|posteriors|"
                    "(tpr|auc|advantage|posterior)_bound|mean|multiplier)($|_)")  # fmt: skip
SEEN = "a distance of data, a fit's objective or a plan, not a cost"
EXACT_FRACTIONS = (
    "computed in fractions, and rounded the safe way; tested with them in test_plan and test_exact_release"
)
SIXTY = "compared with 60 digits over its range in test_gaussian_synthesis"
WHOLE = "a law that numerical composition sums: test_accounting compares its composition with closed forms"
EXEMPT = {
    "sensitivity.of_mean": "a sensitivity; its range is that of sums, above", "parameterwise.losses": "`loss`, for each parameter",
    "hierarchies.": SEEN, "graphical_model.": SEEN, "table.": SEEN, "utility.": SEEN, "uncertainty.": SEEN, "network.": SEEN, "mixing_proportions.": SEEN,
    "private_regression.": "shown in test_private_regression, with the range of epsilon", "budget_schedule.ExactSchedule.": EXACT_FRACTIONS,
    "sampled_gaussian.epsilon": "bounds of numerical composition, with a stated error: test_sampled_gaussian",
    "sampled_gaussian.noise_multiplier": "its inverse: test_dp_sgd", "dp_sgd.Plan.": "`sampled_gaussian.epsilon`",
}  # fmt: skip


def stated() -> set[str]:
    """Return all public functions, methods and properties of `lib` whose names say that they return a cost or a probability."""
    found = set()
    for leaf, module in fuzz_cases.MODULES.items():
        if module.__name__.startswith(("lib.release", "lib.command", "lib.data")):
            continue
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            members = (
                {f"{name}.{own}": each for own, each in vars(value).items()}
                if inspect.isclass(value)
                else {name: value}
            )
            found |= {f"{leaf}.{own}" for own, each in members.items()
                      if not own.rpartition(".")[2].startswith("_") and STATED.search(own.rpartition(".")[2])
                      and (callable(each) or hasattr(each, "__get__"))}  # fmt: skip
    return found
