"""`composition`: theorems against enumeration of all outputs, against one another, and against dp-accounting."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import dlaplace

from lib import accounting, mechanisms
from lib.accounting import composition
from lib.accounting.composition import Accountant, advanced, basic, optimal, parallel

properties = settings(derandomize=True, deadline=None, max_examples=60)
epsilons = st.floats(-2, 0.5).map(lambda exponent: 10.0**exponent)


def test_basic_adds_up():
    assert basic([0.1, 0.2, 0.3], [1e-6, 0, 2e-6]) == pytest.approx((0.6, 3e-6))
    assert basic([0.5, 0.5]) == (1.0, 0.0) and basic(1.0, 0.5) == (1.0, 0.5) and basic([1, 1, 1], 0.5).delta == 1


def test_parallel_against_the_losses_of_every_pair_of_neighbours():
    """Each part publishes the sum of values in {-1, 0, 1} with discrete Laplace noise; a table has one record or none."""
    rates, outputs = [0.7, 0.4], np.arange(-40, 41)

    def loss(first, second):
        """Return the largest loss over all outputs between tables that are None or (part, value)."""
        sums = [[table[1] if table and table[0] == part else 0 for table in (first, second)] for part in (0, 1)]
        laws = [[dlaplace(rate).logpmf(outputs - value) for value in pair] for rate, pair in zip(rates, sums)]
        return sum((one - other).max() for one, other in laws)

    records = list(itertools.product((0, 1), (-1, 0, 1)))
    added = max(max(loss(record, None), loss(None, record)) for record in records)
    replaced = max(itertools.starmap(loss, itertools.product(records, records)))
    assert added == pytest.approx(parallel(rates).epsilon) == pytest.approx(0.7)
    assert replaced == pytest.approx(parallel(rates, neighbours="bounded").epsilon) == pytest.approx(1.4)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (2.0, 1e-9), (0.0, 0.25)])
def test_parallel_spends_delta_as_two_changes_in_one_part_do(epsilon, delta):
    """Of three laws, neighbours are (epsilon, delta)-close, and the ends need exactly the stated cost."""
    far = (1 + np.exp(epsilon)) * delta
    left, middle, right = np.array([[far, 1 - far, 0], [delta, 1 - 2 * delta, delta], [0, 1 - far, far]])
    needed = lambda one, other, at: np.maximum(one - np.exp(at) * other, 0).sum()
    for one, other in itertools.permutations((left, middle, right), 2):
        if middle is one or middle is other:
            assert needed(one, other, epsilon) <= delta * (1 + 1e-9) + 1e-16
    cost = parallel([epsilon], [delta], neighbours="bounded")
    assert cost == pytest.approx((2 * epsilon, needed(left, right, 2 * epsilon)), rel=1e-12)
    assert cost.epsilon >= 2 * epsilon and cost.delta >= needed(left, right, 2 * epsilon)


def test_parallel_covers_the_record_that_moves_to_another_part():
    assert parallel([0.2, 0.5, 0.4], [0.1, 0, 0.2], neighbours="bounded") == pytest.approx(
        (1.0, (1 + np.exp(0.4)) * 0.2)
    )
    assert parallel([0.0, 1.0], [0.3, 0.4], neighbours="bounded") == (2.0, 1.0)
    assert parallel([800.0, 1.0], [0.0, 0.0], neighbours="bounded") == (1600.0, 0.0)
    assert parallel([2.0], neighbours="bounded") == (4.0, 0.0) and parallel([2.0, 1.0], [0.1, 0.2]) == (2.0, 0.2)


def worst_pair(epsilon, delta):
    """Return the worst (epsilon, delta)-DP mechanism: reveals all with probability delta, else randomized response."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    p = np.array([delta, truth, 1 - delta - truth, 0.0])
    return p, p[::-1]


@pytest.mark.parametrize("epsilon, delta, count", [(0.5, 0.0, 4), (0.3, 0.01, 5), (1.5, 0.1, 3), (0.2, 1e-3, 6)])
def test_optimal_against_enumeration(epsilon, delta, count):
    p, q = worst_pair(epsilon, delta)
    joint = [np.array([math.prod(x) for x in itertools.product(law, repeat=count)]) for law in (p, q)]

    def exact_delta(x):
        return np.maximum(joint[0] - np.exp(x) * joint[1], 0).sum()

    for x in np.linspace(0.01, 0.99, 9) * count * epsilon:
        assert optimal(epsilon, count, exact_delta(x), delta).epsilon == pytest.approx(x, abs=1e-9)
    least = 1 - (1 - delta) ** count
    assert optimal(epsilon, count, least * 0.99, delta).epsilon == (
        math.inf if delta else pytest.approx(count * epsilon)
    )


@pytest.mark.parametrize("i", [0, 1, 3, 7])
def test_optimal_meets_the_theorem_as_it_is_printed(i):
    """Kairouz, Oh, Viswanath 2015, Theorem 3.3: ((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i))."""
    epsilon, delta, k = 0.2, 1e-4, 15
    inner = sum(math.comb(k, j) * (math.exp((k - j) * epsilon) - math.exp((k - 2 * i + j) * epsilon)) for j in range(i))
    total = 1 - (1 - delta) ** k * (1 - inner / (1 + math.exp(epsilon)) ** k)
    assert optimal(epsilon, k, total * (1 + 1e-12), delta).epsilon == pytest.approx((k - 2 * i) * epsilon, abs=1e-7)


@pytest.mark.slow
@properties
@given(epsilons, st.integers(1, 200), st.floats(-9, -1))
def test_no_theorem_beats_the_optimum(epsilon, count, log_delta):
    delta = 10.0**log_delta
    least = optimal(epsilon, count, delta).epsilon
    assert least <= advanced(epsilon, count, delta).epsilon * (1 + 1e-9)
    assert least <= basic([epsilon] * count).epsilon * (1 + 1e-9)
    assert least <= accounting.zcdp_to_dp(count * epsilon * np.tanh(epsilon / 2), delta) * (1 + 1e-9)
    assert advanced(epsilon, count, delta / 2, delta / (2 * count)).delta == pytest.approx(delta)


def test_advanced_in_numbers():
    # sqrt(2 * 100 * log(1e5)) * 0.1 + 100 * 0.1 * (e^0.1 - 1)
    assert advanced(0.1, 100, 1e-5, 1e-8) == pytest.approx((4.79852591 + 1.05170918, 1.1e-5), rel=1e-8)
    assert advanced(1.0, 10**9, 1e-5, 0.5).delta == 1 and advanced(1e4, 3, 1e-5).epsilon == math.inf


@pytest.mark.parametrize("sigmas", [[5.0], [3.0, 4.0], [10.0] * 30])
def test_gaussians_against_dp_accounting(sigmas):
    composed = peer.from_gaussian_mechanism(sigmas[0], value_discretization_interval=1e-3)
    for sigma in sigmas[1:]:
        composed = composed.compose(peer.from_gaussian_mechanism(sigma, value_discretization_interval=1e-3))
    exact = composition.gaussian(sigmas, 1e-6).epsilon
    assert exact <= composed.get_epsilon_for_delta(1e-6) <= exact + 0.05
    assert composition.gaussian(np.array(sigmas) * 2, 1e-6, 2.0).epsilon == pytest.approx(exact)


MECHANISMS = [
    mechanisms.Laplace(8.0), mechanisms.Gaussian(9.0), mechanisms.DiscreteLaplace(8, 2), mechanisms.DiscreteGaussian(9),
    mechanisms.Exponential(0.2), mechanisms.PermuteAndFlip(0.2), mechanisms.RandomizedResponse(0.2, 6),
]  # fmt: skip


def priced(several):
    """Return the cost by each approximate bound that applies to mechanisms of any kind."""
    accountant = Accountant(several, 1e-6)
    return {name: getattr(accountant, name)() for name in accountant.bounds if name != "gaussian"}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("count", [1, 40])
def test_every_method_is_above_the_truth(mechanism, count):
    error = 1e-3
    least = accounting.prv_compose([(mechanism.prv, count)], 1e-6, eps_error=error).lower
    if isinstance(mechanism, mechanisms.Exponential):  # whose variable is no single mechanism's
        least = 0.0
    found = priced([(mechanism, count)])
    assert all(epsilon >= least for epsilon in found.values())
    assert found["optimal"] <= found["advanced"] and found["optimal"] <= found["basic"] * (1 + 1e-6)
    assert found["rdp"] <= found["zcdp"] * (1 + 2e-3)
    assert found["numerical"] <= 1.02 * min(found.values()) or isinstance(mechanism, mechanisms.Exponential)
    if math.isfinite(mechanism.epsilon):
        assert found["basic"] == pytest.approx(count * mechanism.epsilon)
        assert found["optimal"] == optimal(mechanism.epsilon, count, 1e-6).epsilon


def test_the_exact_method_is_for_gaussians():
    accountant = Accountant([(mechanisms.Gaussian(20.0, 2.0), 50)], 1e-5)
    exact = accountant.gaussian()
    assert exact == pytest.approx(accounting.gaussian_epsilon(10 / math.sqrt(50), 1e-5))
    assert exact <= accountant.numerical() <= exact * 1.02 and accountant.bounds[-1] == "gaussian"
    for mechanism in (mechanisms.Laplace(1.0), mechanisms.DiscreteGaussian(3)):
        other = Accountant([(mechanism, 2)], 1e-5)
        assert "gaussian" not in other.bounds
        with pytest.raises(ValueError, match="mechanisms must all be Gaussian"):
            other.gaussian()


PURE = [(mechanisms.Laplace(8.0), 3), (mechanisms.RandomizedResponse(0.2), 2), (mechanisms.DiscreteLaplace(8, 2), 1)]
MIXED = [*PURE, (mechanisms.Gaussian(9.0), 4), (mechanisms.DiscreteGaussian(9), 2)]


@pytest.mark.slow
@pytest.mark.parametrize("several", [PURE, MIXED], ids=["pure", "mixed"])
def test_every_method_for_several_mechanisms_is_above_what_they_cost_together(several):
    least = accounting.prv_compose([(each.prv, count) for each, count in several], 1e-6, eps_error=1e-3).lower
    found = priced(several)
    assert 0 < least <= min(found.values()) and found["numerical"] <= 1.02 * min(found.values())
    assert found["optimal"] <= found["advanced"] and found["rdp"] <= found["zcdp"] * (1 + 2e-3)


def test_basic_gives_delta_to_those_that_need_one():
    assert Accountant(PURE, 1e-6).basic() == pytest.approx(3 / 8 + 2 * 0.2 + 2 / 8)
    share = 1e-6 / 6
    gaussians = 4 * mechanisms.Gaussian(9.0).epsilon_at(share) + 2 * mechanisms.DiscreteGaussian(9).epsilon_at(share)
    assert Accountant(MIXED, 1e-6).basic() == pytest.approx(3 / 8 + 2 * 0.2 + 2 / 8 + gaussians)


def test_gaussians_together_are_one():
    both = [(mechanisms.Gaussian(4.0), 3), (mechanisms.Gaussian(6.0, 2.0), 2)]
    assert Accountant(both, 1e-5).gaussian() == pytest.approx(
        accounting.gaussian_epsilon(1 / math.sqrt(3 / 16 + 2 / 9), 1e-5)
    )


@pytest.mark.parametrize("name, call", [
    ("mechanisms", lambda: Accountant([], 0.1)), ("mechanisms", lambda: Accountant(MIXED, 0.1).gaussian()),
    ("epsilons", lambda: basic([])), ("epsilons", lambda: basic([-1])), ("epsilons", lambda: basic([[1.0]])),
    ("deltas", lambda: basic([1, 2], [0.1])), ("deltas", lambda: parallel([1], 2)),
    ("neighbours", lambda: parallel([1], neighbours="both")),
    ("epsilon", lambda: advanced(-1, 2, 0.1)), ("count", lambda: advanced(1, 0, 0.1)), ("count", lambda: advanced(1, 1.5, 0.1)),
    ("slack", lambda: advanced(1, 2, 0)), ("delta", lambda: advanced(1, 2, 0.1, 1)),
    ("epsilon", lambda: optimal(math.inf, 2, 0.1)), ("count", lambda: optimal(1, 10**7, 0.1)),
    ("total_delta", lambda: optimal(1, 2, 1)), ("delta", lambda: optimal(1, 2, 0.1, -0.1)),
    ("sigmas", lambda: composition.gaussian([0], 0.1)), ("sigmas", lambda: composition.gaussian([], 0.1)),
    ("sensitivities", lambda: composition.gaussian([1, 2], 0.1, [1])), ("delta", lambda: composition.gaussian([1], 0)),
    ("count", lambda: Accountant([(MECHANISMS[0], 0)], 0.1)), ("delta", lambda: Accountant([(MECHANISMS[0], 2)], 1)),
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
