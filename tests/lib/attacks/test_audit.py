"""`audit`: intervals with exact coverage, and bounds that are neither above the truth nor far below it."""

import numpy as np
import pytest
from scipy.stats import binom

from lib import mechanisms
from lib.attacks import audit
from lib.local import GRR, ORACLES


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_covers_at_least_as_often_as_it_says(trials, confidence):
    successes = np.arange(trials + 1)
    low, high = audit.clopper_pearson(successes, trials, confidence)
    for p in np.linspace(0, 1, 101):
        weights = binom.pmf(successes, trials, p)
        assert weights[p < low].sum() <= (1 - confidence) / 2 + 1e-12
        assert weights[p > high].sum() <= (1 - confidence) / 2 + 1e-12


def laplace_scores(epsilon, trials, rng):
    return rng.laplace(0, 1 / epsilon, trials), rng.laplace(1, 1 / epsilon, trials)


@pytest.mark.slow
def test_the_bound_stays_under_a_true_epsilon_and_comes_near_it():
    # 200 audits at 99 %: at most 2 false alarms expected; more than 10 has probability below 1e-4
    rng = np.random.default_rng(5)
    found = np.array(
        [audit.epsilon_lower_bound(*laplace_scores(1.0, 2000, rng), confidence=0.99).epsilon_lower for _ in range(200)]
    )
    assert (found > 1.0).sum() <= 10
    assert 0.6 < np.median(found) < 1.0
    large = audit.epsilon_lower_bound(*laplace_scores(1.0, 400_000, rng)).epsilon_lower
    assert 0.95 < large <= 1.0


def test_a_mechanism_with_a_third_of_its_noise_is_caught():
    # claimed epsilon 1, true epsilon 3
    found = audit.epsilon_lower_bound(*laplace_scores(3.0, 20_000, np.random.default_rng(6)))
    assert found.epsilon_lower > 2


def test_delta_lowers_the_bound_and_equal_inputs_prove_nothing():
    rng = np.random.default_rng(7)
    first, second = laplace_scores(2.0, 20_000, rng)
    plain = audit.epsilon_lower_bound(first, second).epsilon_lower
    assert audit.epsilon_lower_bound(first, second, delta=0.05).epsilon_lower < plain
    same = audit.epsilon_lower_bound(rng.normal(size=20_000), rng.normal(size=20_000))
    assert same.epsilon_lower < 0.1


def test_the_half_that_judges_is_not_the_half_that_chooses():
    """Only the second half judges, whatever the first half shows: its event happens every time, or never."""
    rng, high, low = np.random.default_rng(9), np.full(500, 9.0), np.full(500, -9.0)
    chosen = rng.normal(2, 1, 500), rng.normal(0, 1, 500)
    for judging, hits, false_hits in (((high, low), 500, 0), ((low, high), 0, 500), ((high, high), 500, 500)):
        found = audit.epsilon_lower_bound(*map(np.concatenate, zip(chosen, judging)))
        assert (found.hits, found.false_hits, found.trials, found.direction) == (hits, false_hits, 500, "first")
    assert audit.epsilon_lower_bound(*map(np.concatenate, zip(chosen, (low, high)))).epsilon_lower == 0


def test_categories_have_the_scores_that_the_first_half_teaches():
    """The score is log((a + 1)/(b + 1)): outputs that it has not seen say nothing, though they say everything in the second half."""
    first, second = np.repeat([0, 2], 300), np.repeat([1, 3], 300)
    found = audit.epsilon_lower_bound_of_categories(first, second)
    assert found.hits == found.false_hits and found.epsilon_lower == 0
    found = audit.epsilon_lower_bound_of_categories(np.repeat([0, 0], 300), np.repeat([1, 1], 300))
    assert abs(found.threshold) == pytest.approx(np.log(301)) and (found.hits, found.false_hits) == (300, 0)


def test_the_direction_of_the_scores_does_not_matter():
    first, second = laplace_scores(2.0, 20_000, np.random.default_rng(8))
    forth = audit.epsilon_lower_bound(first, second).epsilon_lower
    assert audit.epsilon_lower_bound(-first, -second).epsilon_lower == pytest.approx(forth, rel=0.05)
    assert audit.epsilon_lower_bound(second, first).epsilon_lower == pytest.approx(forth, rel=0.05)


# ---- mechanisms

HONEST = [
    mechanisms.Laplace.calibrated(1.0, 2.0), mechanisms.Gaussian.calibrated(1.0, 0.01), mechanisms.DiscreteLaplace.calibrated(1.0, 3),
    mechanisms.DiscreteGaussian.calibrated(1.0, 0.01), mechanisms.Exponential(1.0), mechanisms.PermuteAndFlip(1.0, 2.0),
    mechanisms.RandomizedResponse(1.0, 2), mechanisms.RandomizedResponse(1.0, 6),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", HONEST, ids=repr)
def test_no_mechanism_is_worse_than_it_says(mechanism):
    """At confidence 1 - 1e-5: a false alarm in at most 1 of 100,000 seeds for each mechanism."""
    delta = 0.0 if np.isfinite(mechanism.epsilon) else 0.01
    found = audit.audit_mechanism(
        mechanism, trials=40_000, rng=np.random.default_rng(11), delta=delta, confidence=1 - 1e-5
    )
    assert not found.refutes(1.0)
    assert found.epsilon_lower > 0.55  # nor does the audit sleep


@pytest.mark.parametrize("name", ORACLES)
def test_no_frequency_oracle_is_worse_than_it_says(name):
    """At confidence 1 - 1e-5: a false alarm in at most 1 of 100,000 seeds for each oracle."""
    oracle = ORACLES[name](16, 1.0)
    found = audit.audit_oracle(oracle, trials=40_000, rng=np.random.default_rng(13), confidence=1 - 1e-5)
    assert not found.refutes(1.0)
    assert found.epsilon_lower > 0.55


def test_an_oracle_that_lies_too_rarely_is_caught():
    class Honest(GRR):
        """States epsilon = 1 and reports with 2."""

        def perturb(self, values, *, rng):
            return GRR(self.k, 2.0).perturb(values, rng=rng)

    found = audit.audit_oracle(Honest(4, 1.0), trials=20_000, rng=np.random.default_rng(14), confidence=1 - 1e-5)
    assert found.refutes(1.0) and found.epsilon_lower < 2


class HalfTheNoise(mechanisms.Laplace):
    """Claims the epsilon of its scale, adds noise of half of it."""

    def release(self, value, *, rng):
        return mechanisms.Laplace(self.scale / 2, self.sensitivity).release(value, rng=rng)


class HalfTheDiscreteNoise(mechanisms.DiscreteLaplace):
    def release(self, value, *, rng):
        return mechanisms.DiscreteLaplace(self.scale / 2, self.sensitivity).release(value, rng=rng)


class WithoutTheTwo(mechanisms.PermuteAndFlip):
    """Forgets the 2 of 2 sensitivity."""

    def release(self, value, *, rng):
        return mechanisms.PermuteAndFlip(2 * self.epsilon, self.sensitivity).release(value, rng=rng)


class TooHonest(mechanisms.RandomizedResponse):
    """Tells the truth too often: with probability 0.84, where e^epsilon / (e^epsilon + 4) is 0.40."""

    def release(self, value, *, rng):
        return np.where(rng.random(np.shape(value)) < 0.8, value, rng.integers(self.k, size=np.shape(value)))


@pytest.mark.parametrize("broken", [
    HalfTheNoise.calibrated(1.0), HalfTheDiscreteNoise.calibrated(1.0, 2), WithoutTheTwo(1.0), TooHonest(1.0, 5),
], ids=repr)  # fmt: skip
def test_a_broken_mechanism_is_caught(broken):
    """An honest mechanism would be accused in at most 1 of 100,000 seeds."""
    assert broken.epsilon == pytest.approx(1.0)
    found = audit.audit_mechanism(broken, trials=20_000, rng=np.random.default_rng(12), confidence=1 - 1e-5)
    assert found.refutes(broken.epsilon) and found.epsilon_lower > 1.4


@pytest.mark.slow
def test_how_often_an_honest_mechanism_is_accused():
    """At confidence 0.9, of 200 audits at most 20 are false alarms on average; more than 38 in 1 of 10,000 seeds."""
    rng = np.random.default_rng(13)
    for mechanism in (mechanisms.DiscreteLaplace.calibrated(1.0), mechanisms.RandomizedResponse(1.0, 3)):
        found = [audit.audit_mechanism(mechanism, trials=400, rng=rng, confidence=0.9) for _ in range(200)]
        assert sum(one.refutes(1.0) for one in found) <= 38
        assert sum(one.refutes(0.1) for one in found) > 100


def test_categories_are_names_whose_order_means_nothing():
    rng = np.random.default_rng(14)
    response = mechanisms.RandomizedResponse(1.5, 7)
    first, second = (response.release(np.full(20_000, value), rng=rng) for value in (2, 5))
    plain = audit.epsilon_lower_bound_of_categories(first, second)
    renamed = rng.permutation(7)
    other = audit.epsilon_lower_bound_of_categories(renamed[first], renamed[second])
    assert plain == other and 1.2 < plain.epsilon_lower <= 1.5
    assert audit.epsilon_lower_bound(first, second).epsilon_lower < plain.epsilon_lower - 0.2


@pytest.mark.parametrize("name, call", [
    ("trials", lambda rng: audit.audit_mechanism(HONEST[0], trials=3, rng=rng)),
    ("trials", lambda rng: audit.audit_mechanism(HONEST[0], trials=10.5, rng=rng)),
    ("delta", lambda rng: audit.audit_mechanism(HONEST[0], trials=10, rng=rng, delta=1)),
    ("first", lambda rng: audit.epsilon_lower_bound_of_categories([0.5] * 4, [0] * 4)),
    ("first and second", lambda rng: audit.epsilon_lower_bound_of_categories([0] * 4, [0] * 5)),
    ("epsilon", lambda rng: audit.audit_mechanism(HONEST[0], trials=10, rng=rng).refutes(-1)),
])  # fmt: skip
def test_bad_audits_are_refused(name, call):
    with pytest.raises(ValueError, match=f"{name} must"):
        call(np.random.default_rng(0))


@pytest.mark.parametrize(
    "arguments, name",
    [
        (dict(first=np.zeros(3), second=np.zeros(3)), "first and second"),
        (dict(first=np.zeros(5), second=np.zeros(6)), "first and second"),
        (dict(first=np.full(5, np.nan), second=np.zeros(5)), "first must be"),
        (dict(first=np.zeros(5), second=np.zeros(5), delta=1.0), "delta must be"),
        (dict(first=np.zeros(5), second=np.zeros(5), confidence=1.0), "confidence must be"),
    ],
)
def test_bad_input_is_refused(arguments, name):
    with pytest.raises(ValueError, match=name):
        audit.epsilon_lower_bound(arguments.pop("first"), arguments.pop("second"), **arguments)


@pytest.mark.parametrize("trials", [4, 5, 1_000])
@pytest.mark.parametrize("confidence", [0.6, 0.99])
def test_the_most_that_is_provable_is_proved_where_nothing_is_hidden(trials, confidence):
    found = audit.epsilon_lower_bound(np.ones(trials), np.zeros(trials), confidence=confidence)
    most = audit.most_provable(trials, confidence)
    assert found.epsilon_lower == max(most, 0)
    m, a = found.trials, (1 - confidence) / 2
    assert most == pytest.approx(np.log(a ** (1 / m) / (1 - a ** (1 / m))), rel=1e-9)


@pytest.mark.parametrize(
    ("trials", "confidence", "named"), [(3, 0.95, "trials"), (4.5, 0.95, "trials"), (10, 1.0, "confidence")]
)
def test_the_most_that_is_provable_refuses_bad_input(trials, confidence, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        audit.most_provable(trials, confidence)
