"""`mechanisms`: laws of the releases, and guarantees against definitions, worst cases and dp-accounting.

The statistical tests have fixed seeds; each raises a false alarm in 1 of 10,000 seeds.
"""

import itertools
import math
from fractions import Fraction

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lib import accounting
from lib.accounting import divergence
from lib.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    noise,
    randomized_response,
)  # fmt: skip
from lib.mechanisms.selection import exact_exponential, exponential

properties = settings(derandomize=True, deadline=None, max_examples=60)
epsilons = st.floats(-2, 1).map(lambda exponent: 10.0**exponent)
scores = st.lists(st.floats(-5, 5), min_size=1, max_size=5)
ALL = [
    Laplace(2.0), Laplace(0.2, 3.0), Gaussian(1.5), DiscreteLaplace(2), DiscreteLaplace(Fraction(7, 3), 4), DiscreteGaussian(1.5),
    Exponential(0.8), Exponential(5.0, 2.0), PermuteAndFlip(0.8), RandomizedResponse(0.8), RandomizedResponse(2.0, 30),
]  # fmt: skip
every = pytest.mark.parametrize("mechanism", ALL, ids=repr)


# ---- what they release


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, sensitivity", [(1.0, 1.0), (3.0, 2.0), (0.0, 1.0)])
def test_frequencies_follow_the_exact_law(epsilon, sensitivity):
    rng, scores = np.random.default_rng(1), np.array([0.0, 1.0, 2.5, -1.0])
    counts = np.bincount([exponential(scores, epsilon, sensitivity, rng=rng) for _ in range(20_000)], minlength=4)
    law = np.exp(epsilon * scores / (2 * sensitivity))
    assert stats.chisquare(counts, 20_000 * law / law.sum()).pvalue > 1e-4


def test_huge_scores_neither_overflow_nor_err():
    rng = np.random.default_rng(2)
    for choose in (lambda s: exponential(s, 1.0, 1.0, rng=rng), lambda s: PermuteAndFlip(1.0).release(s, rng=rng)):
        assert choose([0.0, 1e300]) == 1 and choose([-1e300, -1e280]) == 1


def test_the_exponential_object_draws_as_the_function_does():
    rows = np.random.default_rng(3).normal(size=(50, 4))
    rng, same = np.random.default_rng(4), np.random.default_rng(4)
    chosen = Exponential(2.0, 0.5).release(rows, rng=rng)
    np.testing.assert_array_equal(chosen, [exponential(row, 2.0, 0.5, rng=same) for row in rows])
    assert Exponential(2.0, 0.5).release(rows[0], rng=rng) == exponential(rows[0], 2.0, 0.5, rng=same)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [Exponential(2.0, 0.7), PermuteAndFlip(2.0, 0.7), PermuteAndFlip(0.1)])
def test_choices_follow_their_law(mechanism):
    scores = np.array([0.0, 1.0, 0.9, -1.0, 1.0])
    chosen = mechanism.release(np.tile(scores, (30_000, 1)), rng=np.random.default_rng(5))
    counts = np.bincount(chosen, minlength=5)
    assert stats.chisquare(counts, 30_000 * mechanism.probabilities(scores)).pvalue > 1e-4


def test_rows_of_different_scores_keep_their_places():
    rows = np.tile([[0.0, 1e6, 0.0], [1e6, 0.0, 0.0], [5.0, 5.0, -1e6]], (100, 1))
    chosen = PermuteAndFlip(1.0).release(rows, rng=np.random.default_rng(6)).reshape(100, 3)
    assert (chosen[:, 0] == 1).all() and (chosen[:, 1] == 0).all() and set(chosen[:, 2]) == {0, 1}


class Lucky:
    """Random bytes of which the first are `proposals`. Then `heads` times four coins of 1/e succeed, and the last coin too."""

    def __init__(self, proposals, heads):
        self.bits = itertools.chain(proposals, [b"\0"] * heads, [b"\xff"] * 9)

    def bytes(self, length):
        return next(self.bits) * length

    def gumbel(self, size):
        return np.arange(size[0]) * 1e40  # none can be so large


@pytest.mark.parametrize("exponent", [0.75, 5.5, 37.25, 2001.5])
@pytest.mark.parametrize("kind", ["exact", "floating", "permute and flip"])
def test_a_candidate_that_is_far_worse_is_chosen_if_the_random_numbers_say_so(kind, exponent):
    """The last of 2 or 4 candidates is up to 2^100 worse than the others. It is chosen with a probability of e^-2002 at least."""
    for k, gap in itertools.product((2, 4), (1, 1000, 2**33, 2**40, 2**53, 2**62, 2**100)):
        scores, epsilon, heads = [gap] * (k - 1) + [0], 6 * exponent / gap, math.ceil(int(exponent) / 4)
        if kind == "exact":
            assert exact_exponential(scores, epsilon, 3, rng=Lucky([bytes([k - 1])], heads)) == k - 1
        elif kind == "floating":
            assert exponential(scores, epsilon, 3.0, rng=Lucky([], heads)) == k - 1
        else:
            assert PermuteAndFlip(epsilon, 3.0).release(scores, rng=Lucky([], heads)) == k - 1


@properties
@given(scores, epsilons)
def test_permute_and_flip_by_enumeration_of_permutations(scores, epsilon):
    p = np.exp(epsilon / 2 * (np.array(scores) - max(scores)))
    law = np.zeros(len(p))
    for order in itertools.permutations(range(len(p))):
        reached = 1.0
        for i in order:
            law[i] += reached * p[i] / math.factorial(len(p))
            reached *= 1 - p[i]
    np.testing.assert_allclose(PermuteAndFlip(epsilon).probabilities(scores), law, rtol=1e-10, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[0.0, 1.0], [0.3, -0.5, 2.0], [1.0, 1.0, 0.0, -4.0, 0.8]])
def test_permute_and_flip_is_the_largest_score_with_exponential_noise(scores):
    """Ding et al. 2021: noise of scale 2 sensitivity / epsilon."""
    epsilon, sensitivity = 1.4, 0.8
    noisy = [stats.expon(loc=score, scale=2 * sensitivity / epsilon) for score in scores]

    def wins(i):
        return integrate.quad(
            lambda x: noisy[i].pdf(x) * math.prod(other.cdf(x) for j, other in enumerate(noisy) if j != i),
            max(scores), max(scores) + 60, epsabs=1e-12, limit=200,
        )[0]  # fmt: skip

    law = [wins(i) for i in range(len(scores))]
    np.testing.assert_allclose(PermuteAndFlip(epsilon, sensitivity).probabilities(scores), law, rtol=1e-7)


@properties
@given(scores, epsilons)
def test_permute_and_flip_is_never_worse_than_exponential(scores, epsilon):
    better, worse = (
        m.probabilities(scores) @ np.array(scores) for m in (PermuteAndFlip(epsilon), Exponential(epsilon))
    )
    assert better >= worse - 1e-9


@pytest.mark.parametrize("epsilon, k", [(1.0, 2), (0.1, 5), (3.0, 4)])
def test_randomized_response_follows_its_law(epsilon, k):
    mechanism = RandomizedResponse(epsilon, k)
    assert mechanism.truth + (k - 1) * mechanism.lie == pytest.approx(1)
    assert mechanism.truth == pytest.approx(math.exp(epsilon) * mechanism.lie)
    for value in range(k):
        reports = mechanism.release(np.full((100, 200), value), rng=np.random.default_rng(7 + value))
        law = np.where(np.arange(k) == value, mechanism.truth, mechanism.lie)
        assert reports.shape == (100, 200) and reports.dtype == np.int64
        assert stats.chisquare(np.bincount(reports.ravel(), minlength=k), 20_000 * law).pvalue > 1e-4


@properties
@given(st.floats(-300, 2.8).map(lambda exponent: 10.0**exponent), st.integers(2, 2**31), st.integers(1, 4))
def test_the_digits_of_the_truth(epsilon, k, words):
    mpmath.mp.dps = 700
    exact = mpmath.floor(mpmath.mpf(2) ** (62 * words) / (1 + (k - 1) * mpmath.exp(-mpmath.mpf(epsilon))))
    assert randomized_response._digits(epsilon, k, 62 * words) == int(exact)


@pytest.mark.parametrize("epsilon, k", [(1.0, 3), (20.0, 2), (60.0, 2)])
def test_equal_digits_are_settled_by_further_ones(epsilon, k):
    first = randomized_response._digits(epsilon, k, 62)
    following = randomized_response._digits(epsilon, k, 124) - (first << 62)

    class Script:
        def __init__(self, *words):
            self.data = b"".join(word.to_bytes(8, "little") for word in words)

        def bytes(self, length):  # the first of each request is scripted, the rest too large to be accepted or used
            word, self.data = self.data[:8], self.data[8:]
            return word + b"\xff" * (length - 8)

    for last, honest in [(following - 1, True), (following + 1, False)]:
        assert randomized_response._truths(1, epsilon, k, Script(first, last)) == [honest]


@every
def test_releases_keep_shape_and_seed(mechanism):
    first = mechanism.worst_case[0]
    value = np.broadcast_to(first, (6, *np.shape(first)))
    one, two = (mechanism.release(value, rng=np.random.default_rng(8)) for _ in range(2))
    assert one.shape == (6,)
    np.testing.assert_array_equal(one, two)
    assert np.ndim(mechanism.release(first, rng=np.random.default_rng(8))) == 0


def test_the_noise_is_the_samplers():
    value = np.array([[1.0, 2.0], [-3.0, 1e6]])
    rng, same = np.random.default_rng(9), np.random.default_rng(9)
    np.testing.assert_array_equal(Laplace(2.0).release(value, rng=rng), value + noise.laplace((2, 2), 2.0, rng=same))
    np.testing.assert_array_equal(Gaussian(2.0).release(value, rng=rng), value + noise.gaussian((2, 2), 2.0, rng=same))
    for mechanism, law in [(DiscreteLaplace(2, 1), stats.dlaplace(0.5)), (DiscreteGaussian(2), None)]:
        noisy = mechanism.release(np.full(20_000, 7), rng=rng)
        assert noisy.dtype == np.int64 and abs(np.mean(noisy) - 7) < 0.1
        if law is not None:
            cells = np.clip(noisy - 7, -5, 5)
            p = np.append(np.append(law.cdf(-5), law.pmf(np.arange(-4, 5))), law.sf(4))
            assert stats.chisquare(np.bincount(cells + 5, minlength=11), 20_000 * p).pvalue > 1e-4


@pytest.mark.parametrize("mechanism", [m for m in ALL if not isinstance(m, Laplace | Gaussian | Exponential)], ids=repr)
def test_exact_mechanisms_take_the_systems_randomness(mechanism):
    first = mechanism.worst_case[0]
    assert mechanism.release(np.broadcast_to(first, (50, *np.shape(first))), rng=noise.system_rng()).shape == (50,)


@pytest.mark.parametrize("mechanism", [Laplace(1.0), Gaussian(1.0), Exponential(1.0)])
def test_floating_point_mechanisms_refuse_it(mechanism):
    with pytest.raises(ValueError, match="rng must be a numpy"):
        mechanism.release(mechanism.worst_case[0], rng=noise.system_rng())


# ---- what they guarantee


@pytest.mark.slow
@every
def test_the_currencies_agree(mechanism):
    deltas = np.array([1e-9, 1e-5, 0.01, 0.3])
    found = mechanism.epsilon_at(deltas)
    assert found.shape == (4,) and (np.diff(found) <= 0).all() and (found <= mechanism.epsilon).all()
    back = mechanism.delta(found)
    np.testing.assert_allclose(back[found > 0], deltas[found > 0], rtol=1e-5)
    assert (back[found == 0] <= deltas[found == 0]).all()
    alpha = 1 + np.logspace(-6, 5, 2001)
    renyi = mechanism.rdp(alpha)
    quotients = renyi / alpha
    assert (quotients <= mechanism.rho * (1 + 1e-9)).all()
    assert quotients.max() >= mechanism.rho * (1 - 1e-3) or isinstance(mechanism, Exponential)  # tight
    assert (np.diff(renyi) >= -1e-9).all()
    if math.isfinite(mechanism.epsilon):
        assert (renyi <= mechanism.epsilon * (1 + 1e-12)).all()
        assert mechanism.delta(mechanism.epsilon) == pytest.approx(0, abs=1e-15)
    assert (found <= accounting.zcdp_to_dp(mechanism.rho, deltas) + 1e-9).all()
    assert isinstance(mechanism.delta(0.1), float) and isinstance(mechanism.rdp(2.0), float)
    assert isinstance(mechanism.epsilon_at(0.1), float) and isinstance(mechanism.rho, float)


@pytest.mark.slow
@every
def test_the_variable_composes_to_the_curve(mechanism):
    bounds = accounting.prv_compose([(mechanism.prv, 1)], 1e-3, eps_error=1e-3)
    assert bounds.lower <= mechanism.epsilon_at(1e-3) <= bounds.upper


@pytest.mark.slow
@pytest.mark.parametrize("scale, sensitivity", [(1.0, 1.0), (4.0, 2.0), (0.1, 1.0)])
def test_laplace_against_quadrature(scale, sensitivity):
    mechanism = Laplace(scale, sensitivity)
    p, q = stats.laplace(0, scale).logpdf, stats.laplace(sensitivity, scale).logpdf
    for alpha in (1.01, 2.0, 8.0):
        exact = divergence.renyi(p, q, alpha, points=(0, sensitivity)).value
        assert mechanism.rdp(alpha) == pytest.approx(exact, rel=1e-6)
    assert mechanism.rho == pytest.approx(divergence.renyi(p, q, 1.0, points=(0, sensitivity)).value, rel=1e-6)
    for x in (0.0, 0.3 * mechanism.epsilon, 0.9 * mechanism.epsilon):
        cut = (sensitivity - x * scale) / 2  # where the loss is x
        exact = stats.laplace(0, scale).cdf(cut) - math.exp(x) * stats.laplace(sensitivity, scale).cdf(cut)
        assert mechanism.delta(x) == pytest.approx(exact, abs=1e-12)


def test_tiny_laplace_losses_keep_their_digits():
    mpmath.mp.dps = 60
    for epsilon in (1e-3, 1e-5):
        for alpha in (1.0001, 2.0, 300.0):
            a, e = mpmath.mpf(alpha), mpmath.mpf(epsilon)
            moment = (a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)) / (2 * a - 1)
            assert Laplace.calibrated(epsilon).rdp(alpha) == pytest.approx(
                float(mpmath.log(moment) / (a - 1)), rel=1e-4
            )
        assert Laplace.calibrated(epsilon).rho == pytest.approx(float(e + mpmath.exp(-e) - 1), rel=1e-4)


@pytest.mark.parametrize("mechanism, other", [
    (Laplace(3.0, 1.5), lambda **grid: peer.from_laplace_mechanism(3.0, 1.5, **grid)),
    (Gaussian(1.5), lambda **grid: peer.from_gaussian_mechanism(1.5, **grid)),
    (DiscreteLaplace(2, 3), lambda **grid: peer.from_discrete_laplace_mechanism(0.5, 3, **grid)),
    (DiscreteGaussian(3, 2), lambda **grid: peer.from_discrete_gaussian_mechanism(3, 2, **grid)),
    (RandomizedResponse(1.0, 8), lambda **grid: peer.from_randomized_response(8 / (math.e + 7), 8, **grid)),
    (PermuteAndFlip(1.0), lambda pessimistic_estimate, **grid: peer.from_privacy_parameters(
        dp_accounting.pld.common.DifferentialPrivacyParameters(1.0, 0), **grid)),
], ids=lambda part: "peer" if callable(part) else repr(part))  # fmt: skip
def test_curves_against_dp_accounting(mechanism, other):
    low, high = (other(pessimistic_estimate=above, value_discretization_interval=1e-3) for above in (False, True))
    for delta in (1e-6, 1e-3, 0.1):
        ours = mechanism.epsilon_at(delta)
        assert low.get_epsilon_for_delta(delta) - 1e-6 <= ours <= high.get_epsilon_for_delta(delta) + 1e-6


def test_rdp_against_dp_accounting():
    orders = [1.5, 2.0, 8.0, 64.0]
    for mechanism, event in [
        (Gaussian(1.5), dp_accounting.GaussianDpEvent(1.5)), (Laplace(2.0), dp_accounting.LaplaceDpEvent(2.0)),
    ]:  # fmt: skip
        accountant = rdp_privacy_accountant.RdpAccountant(orders)
        accountant.compose(event, 1)
        np.testing.assert_allclose(mechanism.rdp(np.array(orders)), accountant._rdp, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 0.8, 5.0])
def test_exponential_is_the_worst_two_point_pair_of_its_range(epsilon):
    t = np.linspace(0, epsilon, 20_001)
    top = -np.expm1(t - epsilon) / -np.expm1(-epsilon)
    mechanism = Exponential(epsilon)
    for alpha in (1.5, 2.0, 10.0, 100.0):
        with np.errstate(divide="ignore"):
            moments = np.logaddexp(np.log(top) + (alpha - 1) * t, np.log1p(-top) + (alpha - 1) * (t - epsilon))
        assert mechanism.rdp(alpha) == pytest.approx(moments.max() / (alpha - 1), rel=1e-5)
    for x in (0.0, 0.4 * epsilon, 0.9 * epsilon):
        curve = top * np.maximum(-np.expm1(x - t), 0) + (1 - top) * np.maximum(-np.expm1(x - t + epsilon), 0)
        assert mechanism.delta(x) == pytest.approx(curve.max(), rel=1e-5)


@properties
@given(st.integers(2, 6), epsilons, st.floats(0.1, 3), st.integers(0, 2**32))
def test_no_neighbours_exceed_the_guarantee_of_a_choice(k, epsilon, sensitivity, seed):
    rng = np.random.default_rng(seed)
    first = rng.normal(scale=3 * sensitivity, size=k)
    second = first + sensitivity * rng.choice([-1, 0, 1], k)
    for mechanism in (Exponential(epsilon, sensitivity), PermuteAndFlip(epsilon, sensitivity)):
        p, q = mechanism.probabilities(first), mechanism.probabilities(second)
        assert p.sum() == pytest.approx(1) and np.abs(np.log(p / q)).max() <= epsilon * (1 + 1e-9)
        for x in (0.0, epsilon / 3, epsilon):
            assert np.maximum(p - np.exp(x) * q, 0).sum() <= mechanism.delta(x) + 1e-12
        assert divergence.renyi_discrete(p, q, 3.0) <= mechanism.rdp(3.0) * (1 + 1e-9) + 1e-14


@every
def test_the_worst_case_is_one(mechanism):
    """Neighbours by the sensitivity, whose outputs differ as much as is claimed (the exponential mechanism's nearly)."""
    first, second = mechanism.worst_case
    if isinstance(mechanism, RandomizedResponse):
        assert (first, second) == (0, 1)
    else:
        assert np.abs(np.subtract(first, second)).max() == pytest.approx(mechanism.sensitivity)
    if isinstance(mechanism, Exponential | PermuteAndFlip):
        loss = np.log(mechanism.probabilities(first) / mechanism.probabilities(second))
        short = (
            0.05
            if isinstance(mechanism, PermuteAndFlip)
            else math.log((1 + math.exp(mechanism.epsilon - 3)) / (1 + math.exp(-3))) + 1e-9
        )
        assert mechanism.epsilon - short <= np.abs(loss).max() <= mechanism.epsilon * (1 + 1e-12)


# ---- calibration


@pytest.mark.slow
@properties
@given(epsilons, st.floats(-8, -1), st.floats(0.1, 10))
def test_calibrated_mechanisms_keep_their_promise(epsilon, log_delta, sensitivity):
    delta = 10.0**log_delta
    assert Laplace.calibrated(epsilon, sensitivity).epsilon == pytest.approx(epsilon)
    assert DiscreteLaplace.calibrated(epsilon, 3).epsilon == pytest.approx(epsilon)
    assert Fraction(3) / DiscreteLaplace.calibrated(epsilon, 3).scale == Fraction(epsilon)
    least = Gaussian.calibrated(epsilon, delta, sensitivity)
    assert least.delta(epsilon) == pytest.approx(delta, rel=1e-6)
    if epsilon < 1:  # the classical calibration (Dwork and Roth 2014, Theorem A.1) suffices, with more noise
        classical = Gaussian(sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon, sensitivity)
        assert classical.sigma >= least.sigma and classical.delta(epsilon) <= delta


@pytest.mark.parametrize(
    "epsilon, delta, sensitivity", [(0.5, 1e-6, 1), (1.0, 0.01, 2), (6.0, 1e-9, 1), (0.0, 0.2, 1), (12.0, 0.05, 1)]
)
def test_the_calibrated_discrete_gaussian(epsilon, delta, sensitivity):
    mechanism = DiscreteGaussian.calibrated(epsilon, delta, sensitivity)
    assert mechanism.delta(epsilon) <= delta
    less = DiscreteGaussian(mechanism.sigma * Fraction(999, 1000), sensitivity)
    assert less.delta(epsilon) > delta


# ---- refusals

WRONG = [0, -1, math.nan, math.inf, "x", None, [1.0, 2.0]]


@pytest.mark.parametrize("value", WRONG, ids=str)
@pytest.mark.parametrize("name, make", [
    ("scale", Laplace), ("sigma", Gaussian), ("scale", DiscreteLaplace), ("sigma", DiscreteGaussian), ("epsilon", Exponential),
    ("epsilon", PermuteAndFlip), ("epsilon", RandomizedResponse), ("epsilon", Laplace.calibrated), ("epsilon", DiscreteLaplace.calibrated),
    *[("sensitivity", lambda value, kind=kind: kind(1.0, value)) for kind in (Laplace, Gaussian, Exponential, PermuteAndFlip)],
    *[("sensitivity", lambda value, kind=kind: kind(1, value)) for kind in (DiscreteLaplace, DiscreteGaussian)],
])  # fmt: skip
def test_bad_parameters_are_refused_by_name(name, make, value):
    with pytest.raises(ValueError, match=f"{name} must"):
        make(value)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], 1, 1), "shape"), (([[1.0]], 1, 1), "shape"), (([np.nan], 1, 1), "scores must be in"),
        (([np.inf], 1, 1), "scores must be in"), (([1.0], -1, 1), "epsilon must be in"), (([1.0], 1, 0), "sensitivity must be in"),
    ],
)  # fmt: skip
def test_bad_arguments_of_the_function_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        exponential(*arguments, rng=np.random.default_rng(0))


@pytest.mark.parametrize("name, call", [
    ("k", lambda rng: RandomizedResponse(1.0, 1)), ("k", lambda rng: RandomizedResponse(1.0, 2.5)),
    ("epsilon", lambda rng: RandomizedResponse(701.0)), ("sensitivity", lambda rng: DiscreteLaplace(1, 1.5)),
    ("delta", lambda rng: Gaussian.calibrated(1.0, 0.0)), ("delta", lambda rng: DiscreteGaussian.calibrated(1.0, 1.0)),
    ("value", lambda rng: Laplace(1.0).release(np.nan, rng=rng)), ("value", lambda rng: Gaussian(1.0).release(np.inf, rng=rng)),
    ("value", lambda rng: DiscreteLaplace(1).release(0.5, rng=rng)), ("value", lambda rng: DiscreteGaussian(1).release(2.0**60, rng=rng)),
    ("value", lambda rng: RandomizedResponse(1.0, 3).release([0, 3], rng=rng)),
    ("value", lambda rng: RandomizedResponse(1.0, 3).release([-1], rng=rng)),
    ("scores", lambda rng: PermuteAndFlip(1.0).release([], rng=rng)), ("scores", lambda rng: Exponential(1.0).release(3.0, rng=rng)),
    ("scores", lambda rng: PermuteAndFlip(1.0).probabilities([[1.0]])), ("scores", lambda rng: Exponential(1.0).probabilities([np.nan])),
    *[("epsilon", lambda rng, m=m: m.delta(-0.1)) for m in ALL], *[("delta", lambda rng, m=m: m.epsilon_at(1.0)) for m in ALL],
    *[("alpha", lambda rng, m=m: m.rdp([2.0, 1.0])) for m in ALL],
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=f"{name} must"):
        call(np.random.default_rng(0))
