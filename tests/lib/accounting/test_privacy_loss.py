"""`privacy_loss`: against sums in high precision, enumeration of outputs, and dp-accounting."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import accounting
from lib.accounting import privacy_loss

properties = settings(derandomize=True, deadline=None, max_examples=60)
epsilons = st.floats(-3, 1).map(lambda exponent: 10.0**exponent)


def by_definition(p, q):
    """Return delta(epsilon) and D_alpha of two lists of probabilities, in 40 digits."""

    def delta(epsilon):
        return float(sum(max(a - mpmath.exp(epsilon) * b, 0) for a, b in zip(p, q)))

    def renyi(alpha):
        return float(mpmath.log(sum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q))) / (alpha - 1))

    return delta, renyi


def response(epsilon, k):
    total = mpmath.exp(epsilon) + k - 1
    p = [mpmath.exp(epsilon) / total, *[1 / total] * (k - 1)]
    return p, [p[1], p[0], *p[2:]]


def laplace(scale, shift, reach=4000):
    q = mpmath.exp(-1 / mpmath.mpf(scale))
    law = [(1 - q) / (1 + q) * q ** abs(x) for x in range(-reach, reach + shift + 1)]
    return law[shift:], law[: len(law) - shift]


def gaussian(sigma, shift):
    reach = int(12 * sigma) + 10
    weights = [
        mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for x in range(-reach, reach + shift + 1)
    ]
    law = [w / sum(weights) for w in weights]
    return law[shift:], law[: len(law) - shift]


@pytest.mark.parametrize("loss, pair, orders", [
    (lambda: privacy_loss.randomized_response(0.7), lambda: response(0.7, 2), (1.001, 1.5, 2, 30)),
    (lambda: privacy_loss.randomized_response(3.0, 40), lambda: response(3.0, 40), (1.001, 1.5, 2, 30)),
    (lambda: privacy_loss.randomized_response(1e-5, 3), lambda: response(1e-5, 3), (1.001, 1.5, 2, 30)),
    (lambda: privacy_loss.discrete_laplace(0.5, 1), lambda: laplace(0.5, 1, 100), (1.001, 1.5, 2, 30)),
    (lambda: privacy_loss.discrete_laplace(4.0, 3), lambda: laplace(4.0, 3, 600), (1.001, 1.5, 2, 30)),
    (lambda: privacy_loss.discrete_gaussian(0.4, 1), lambda: gaussian(0.4, 1), (1.001, 1.5, 2)),
    (lambda: privacy_loss.discrete_gaussian(3.0, 2), lambda: gaussian(3.0, 2), (1.001, 1.5, 2)),
])  # fmt: skip
def test_curves_against_their_definition(loss, pair, orders):
    mpmath.mp.dps = 40
    loss, (delta, renyi) = loss(), by_definition(*pair())
    largest = min(loss.losses[-1], 20)
    assert loss.mass.sum() == pytest.approx(1, rel=1e-13)
    for share in (0, 0.1, 0.5, 0.8):
        assert loss.delta(share * largest) == pytest.approx(delta(share * largest), rel=1e-9)
    assert loss.delta(loss.losses[-1]) < 1e-300
    for alpha in orders:
        assert loss.renyi(alpha) == pytest.approx(renyi(mpmath.mpf(alpha)), rel=1e-8)
    assert loss.kl == pytest.approx(loss.renyi(1 + 1e-9), rel=1e-5)


@properties
@given(epsilons, st.integers(2, 50), st.floats(-12, -0.01))
def test_epsilon_is_the_inverse_of_delta(epsilon, k, log_delta):
    delta = 10.0**log_delta
    for loss in (
        privacy_loss.randomized_response(epsilon, k), privacy_loss.discrete_laplace(k / epsilon, k),
        privacy_loss.discrete_gaussian(min(k / epsilon / 20, 30), 2), privacy_loss.repeated_response(epsilon, k),
    ):  # fmt: skip
        found = loss.epsilon(delta)
        if found == 0:
            assert loss.delta(0) <= delta
        else:
            assert loss.delta(found) == pytest.approx(
                delta, rel=1e-7, abs=1e-14 * max(found, 10)
            )  # as exactly as found is
        assert loss.epsilon(0) == (math.inf if loss.gaussian_rdp else loss.size)


def test_repeated_response_is_the_enumeration_of_all_answers():
    epsilon, count = 0.6, 5
    p, q = response(epsilon, 2)
    together = [
        [math.prod(float(law[i]) for i in answer) for answer in itertools.product((0, 1), repeat=count)]
        for law in (p, q)
    ]
    delta, renyi = by_definition(*([mpmath.mpf(x) for x in law] for law in together))
    loss = privacy_loss.repeated_response(epsilon, count)
    for x in (0, 0.3, 0.6, 1.0, 2.9):
        assert loss.delta(x) == pytest.approx(delta(x), rel=1e-10)
    assert loss.renyi(2.0) == pytest.approx(renyi(2), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("loss, other", [
    (lambda: privacy_loss.discrete_laplace(2.5, 2), lambda **grid: peer.from_discrete_laplace_mechanism(0.4, 2, **grid)),
    (lambda: privacy_loss.discrete_gaussian(4.0, 1), lambda **grid: peer.from_discrete_gaussian_mechanism(4.0, 1, **grid)),
    (lambda: privacy_loss.randomized_response(0.5, 4),
     lambda **grid: peer.from_randomized_response(4 / (math.exp(0.5) + 3), 4, **grid)),
])  # fmt: skip
@pytest.mark.parametrize("count", [1, 30])
def test_compositions_against_dp_accounting(loss, other, count):
    grid = {"value_discretization_interval": 1e-3}
    low, high = (
        other(pessimistic_estimate=above, **grid).self_compose(count).get_epsilon_for_delta(1e-5)
        for above in (False, True)
    )
    ours = accounting.prv_compose([(loss(), count)], 1e-5, eps_error=1e-3)
    assert ours.lower <= high + 1e-9 and low <= ours.upper + 1e-9 and ours.upper - ours.lower < 3e-3
    if count == 1:
        assert low - 1e-9 <= loss().epsilon(1e-5) <= high + 1e-9


def test_equal_losses_are_one_and_different_ones_are_not():
    assert privacy_loss.discrete_laplace(4.0, 2) is privacy_loss.discrete_laplace(4.0, 2)
    assert privacy_loss.discrete_laplace(2.0, 1) != privacy_loss.discrete_laplace(4.0, 2)  # of the same epsilon
    together = accounting.prv_compose(
        [(privacy_loss.discrete_laplace(2.0, 1), 1), (privacy_loss.discrete_laplace(4.0, 2), 1)], 1e-3
    )
    twice = accounting.prv_compose([(privacy_loss.discrete_laplace(4.0, 2), 2)], 1e-3)
    assert together.lower <= 1.0 and twice.lower <= 1.0 and together != twice


@pytest.mark.parametrize("name, call", [
    ("epsilon", lambda loss: loss.delta(-1)), ("epsilon", lambda loss: loss.delta(math.inf)),
    ("delta", lambda loss: loss.epsilon(1)), ("delta", lambda loss: loss.epsilon(math.nan)),
    ("alpha", lambda loss: loss.renyi(1)), ("sigma", lambda _: privacy_loss.discrete_gaussian(2e4, 1)), ("sigma", lambda _: privacy_loss.discrete_gaussian(1e-150, 10**6)),
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=f"{name} must"):
        call(privacy_loss.randomized_response(1.0))


@pytest.mark.parametrize("k", [3, 10**9, 10**30, 10**300])
def test_responses_over_any_number_of_values(k):
    with mpmath.workdps(450):
        odds = mpmath.exp(1)
        expected = (odds - 1) / (odds + k - 1)
    assert privacy_loss.randomized_response(1.0, k).kl == pytest.approx(float(expected), rel=1e-9)


def test_no_delta_is_above_one():
    """Six masses of a sixth sum to a last digit more."""
    loss = privacy_loss.DiscreteLoss(60.0, np.linspace(50, 60, 6), np.log(np.full(6, 1 / 6)))
    assert loss.mass @ np.ones(6) > 1
    assert loss.delta(0.0) == 1
