"""Intervals from a release cover the true counts as often as they state, even if the plan of measurements depends on
noise.

Each random check has a fixed seed and the false-alarm rate 1e-6, by the binomial law or, where said, by the normal one.
"""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lib.mechanisms.exact_noise import discrete_gaussian
from lib.mechanisms.selection import Exponential
from lib.release import count_intervals, uncertainty
from lib.release.uncertainty import _Law, marginal_bounds
from lib.tables import adaptive_iterative, aim, private_draws
from lib.tables.adaptive_iterative import Choice, Result
from lib.tables.graphical_model import GraphicalModel, Measurement
from lib.tables.plan import AUTHORS_CODE, OURS, Plan
from lib.tables.table import Domain, Table

RARE = 1e-6
FIRST = uncertainty._OF_MEASURED * uncertainty._SHARE  # of an error probability, what a first measurement has
UNMEASURED = (
    1 - uncertainty._OF_MEASURED
) / uncertainty._OF_MEASURED  # of it, for a measurement that stands in for another
DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 5}, labels={"c": ["no", "yes"]})
_rng = np.random.default_rng(3)
_a, _b = _rng.integers(3, size=500), _rng.integers(4, size=500)
TABLE = Table(
    np.stack([_a, _b, (_a + _rng.integers(2, size=500)) % 2, (_a + _b + _rng.integers(2, size=500)) % 5], 1), DOMAIN
)


def release(measurements, domain=DOMAIN, noise="gaussian", total=None, exact=False) -> Result:
    rho = Fraction(1) if exact else 1.0
    return Result(None, GraphicalModel(domain, {}), tuple(measurements), (), rho, rho, noise, total)


def not_above(misses, trials, probability):
    """Return whether this number of misses is compatible with at most `probability`."""
    return stats.binom.sf(misses - 1, trials, probability) > RARE


# ---- the law of the noise


def discrete_tail(sigma, cells, h):
    """Return P(|sum| > h) by convolution."""
    x = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    law = np.exp(-(x**2) / (2 * sigma**2))
    law, total = law / law.sum(), np.ones(1)
    for _ in range(cells):
        total = np.convolve(total, law)
    sums = np.arange(len(total)) - len(total) // 2
    return total[np.abs(sums) > h].sum()


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.2, 0.4, 0.7, 1.0, 1.6, 5.0])
@pytest.mark.parametrize("cells", [1, 2, 3, 10, 40])
def test_the_reach_of_discrete_noise_holds_and_is_hardly_wider_than_it_must_be(sigma, cells):
    for alpha in (0.4, 0.1, 0.05, 0.0125, 1e-4):
        h = _Law("discrete").reach(sigma, cells, alpha)
        assert h == int(h) and discrete_tail(sigma, cells, h) <= alpha * (1 + 1e-12)
        if sigma >= 1.6 and alpha <= 0.1:
            assert h == 0 or discrete_tail(sigma, cells, h - 1.001 - (cells == 40)) > alpha


def test_the_reach_of_gaussian_noise_by_a_closed_form():
    assert _Law("gaussian").reach(3.0, 4, 0.05) == pytest.approx(6 * stats.norm.isf(0.025), rel=1e-12)


def test_runs_with_laplace_noise_are_refused():
    with pytest.raises(ValueError, match="noise of result must be one of 'gaussian', got 'laplace'"):
        count_intervals(release([Measurement(("c",), np.zeros(2), 1.0)], noise="laplace"), ("c",))


@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 2, 7])
def test_the_mean_absolute_sum_is_the_integral_of_its_tail(cells):
    x = np.linspace(0, 60, 4001)
    tail = 2 * stats.norm.sf(x / math.sqrt(2 * cells))
    assert _Law("gaussian").mean(math.sqrt(2), cells) == pytest.approx(np.trapezoid(tail, x), rel=1e-3)


@given(st.floats(0.05, 5), st.floats(0, 3), st.integers(1, 5))
def test_log_moments_are_not_below_the_true_ones(sigma, theta, cells):
    x = np.arange(-200, 201)
    exponents = -(x**2) / (2 * sigma**2)
    true = cells * (np.logaddexp.reduce(exponents + theta * x) - np.logaddexp.reduce(exponents))
    assert _Law("discrete").log_moment(theta, sigma, cells) >= true - 1e-9


# ---- the combination, by brute force


def test_the_combination_is_that_of_a_loop_over_all_cells():
    rng = np.random.default_rng(8)
    cliques, sigmas = [("d", "c", "a"), ("b",), ("a", "c"), ("c", "b", "a")], [3.0, 1.0, 2.0, 4.0]
    measurements = [Measurement(c, rng.normal(20, 9, size=DOMAIN.shape(c)), s) for c, s in zip(cliques, sigmas)]
    measurements[2] = dataclasses.replace(measurements[2], values=measurements[2].values.ravel())
    found = count_intervals(release(measurements), ("c", "a"), 0.9)
    assert found.measured == 3 and found.low.shape == (2, 3)
    covering = [m for m in measurements if {"a", "c"} <= set(m.attributes)]
    for c in itertools.product(range(2), range(3)):
        ys, variances = [], []
        for m in covering:
            values, n = np.reshape(m.values, DOMAIN.shape(m.attributes)), 0
            y = 0.0
            for cell in itertools.product(*map(range, values.shape)):
                of = dict(zip(m.attributes, cell))
                if (of["c"], of["a"]) == c:
                    y, n = y + values[cell], n + 1
            ys, variances = [*ys, y], [*variances, n * m.sigma**2]
        assert found.unbiased[c] == pytest.approx(ys[0])
        assert found.expected_error == pytest.approx(math.sqrt(2 * variances[0] / math.pi))
        reach = math.sqrt(variances[0]) * stats.norm.isf(FIRST * 0.1 / 2)
        surprise = math.log(2 / ((1 - uncertainty._SHARE) * uncertainty._OF_MEASURED * 0.1))
        thetas = math.sqrt(2 * surprise * variances[0] / uncertainty._GAIN) / np.array(variances)
        centre = np.average(ys, weights=thetas)
        around = (surprise + (thetas**2 * variances).sum() / 2) / thetas.sum()
        low, high = max(ys[0] - reach, centre - around), min(ys[0] + reach, centre + around)
        low, high = (
            (low, high) if low <= high else (centre - around, centre + around)
        )  # where the first one contradicts all
        assert (found.low[c], found.high[c]) == (max(math.ceil(low), 0), math.floor(high))


# ---- one measurement: the error probability is what it was given, from both sides


def test_the_expected_error_is_that_of_the_first_measurement_that_covers():
    domain = Domain({"a": 2, "b": 3, "c": 5})
    measurements = [Measurement(("a",), np.zeros(2), 9.0), Measurement(("b", "a"), np.zeros((3, 2)), 4.0)]
    first, later = release(measurements, domain, "gaussian"), release(measurements[1:], domain, "gaussian")
    mean = math.sqrt(2 / math.pi)
    for names, expected in {("a",): 9, ("b",): 4 * math.sqrt(2), ("a", "b"): 4, ("b", "a"): 4}.items():
        assert uncertainty.expected_error(first, names) == pytest.approx(mean * expected)
        assert uncertainty.expected_error(first, names) == count_intervals(first, names).expected_error
    assert uncertainty.expected_error(later, ("a",)) == pytest.approx(4 * math.sqrt(3) * mean)
    assert math.isnan(uncertainty.expected_error(first, ("b", "c")))
    with pytest.raises(ValueError, match="attributes must be among 'a', 'b', 'c', got 'z'"):
        uncertainty.expected_error(first, ("z",))


def check_one_measurement(sigma=6.0, level=0.95):
    """10^5 sums of three cells: misses as often as the share of the first measurement says."""
    rng, domain, truth = np.random.default_rng(5), Domain({"a": 100_000, "b": 3}), 1000
    values = truth / 3 + rng.normal(scale=sigma, size=(100_000, 3))
    found = count_intervals(release([Measurement(("a", "b"), values, sigma)], domain), ("a",), level=level)
    # Before rounding, of which the counts at the ends are cleared.
    reach = uncertainty._Law("gaussian").reach(sigma, 3, FIRST * (1 - level))
    assert np.array_equal(found.low, np.ceil(found.unbiased - reach)) and found.expected_error > 0
    misses = int((np.abs(found.unbiased - truth) > reach).sum())
    expected = FIRST * (1 - level)
    assert RARE / 2 < stats.binom.cdf(misses, 100_000, expected) < 1 - RARE / 2
    assert (found.high < truth).sum() + (found.low > truth).sum() == misses
    assert np.abs(found.unbiased - truth).mean() == pytest.approx(
        found.expected_error, rel=0.015
    )  # six standard errors


@pytest.mark.parametrize("level", [0.9, 0.95])
def test_one_measurement_misses_as_often_as_it_was_given(level):
    check_one_measurement(level=level)


def test_one_measurement_with_discrete_noise_misses_no_more_often():
    domain, size = Domain({"a": 100_000, "b": 3}), (100_000, 3)
    values = 50 + discrete_gaussian(size, 2, rng=np.random.default_rng(1))
    found = count_intervals(release([Measurement(("a", "b"), values, 2.0)], domain, exact=True), ("a",))
    misses = int(((found.low > 150) | (found.high < 150)).sum())
    assert not_above(misses, 100_000, FIRST * 0.05) and misses > 2300


# ---- designs that turn the noise against the analyst

FAR = 2**20  # the truth, where no interval is cut off at 0


# A design gives the deviation of what is measured next in each play, 0 where the play ends. It is given the noises of the plays that
# have had the same deviations so far, a row for each measurement and a column for each play, and these deviations.


def again_if_positive(noises, sigmas):
    return np.full(noises.shape[1], 50.0) if not sigmas else np.where((len(sigmas) == 1) & (noises[0] > 0), 50.0, 0)


def until_the_usual_interval_misses(noises, sigmas):
    """As long as the interval of two standard deviations about the mean of least variance covers."""
    precisions = 1 / np.square(sigmas)
    covers = np.abs(precisions @ noises) < 1.96 * math.sqrt(precisions.sum())
    return np.where((len(sigmas) < 30) & (covers | (not sigmas)), 50 * 0.9 ** len(sigmas), 0)


def until_ours_misses(noises, sigmas):
    covers = covered(intervals(noises, sigmas)) if sigmas else np.ones(noises.shape[1], bool)
    return np.where((len(sigmas) < 14) & covers, 50 * 0.75 ** len(sigmas), 0)


def finer_where_it_was_far_off(noises, sigmas):
    """Return a scale by the distance in deviations, rounded to an integer so that many plays have the same."""
    if not sigmas:
        return np.full(noises.shape[1], 50.0)
    return np.where(len(sigmas) < 4, 50 / (0.5 + np.rint(np.abs(noises[-1]) / 50)), 0)


DESIGNS = {
    again_if_positive: 1500,
    until_the_usual_interval_misses: 800,
    until_ours_misses: 800,
    finer_where_it_was_far_off: 1500,
}


def intervals(noises, sigmas):
    """Return the intervals of each play."""
    domain = Domain({"a": noises.shape[1]})
    measurements = [Measurement(("a",), FAR + z, sigma) for z, sigma in zip(noises, sigmas, strict=True)]
    return count_intervals(release(measurements, domain), ("a",), level=0.9)


def covered(found) -> np.ndarray:
    return (found.low <= FAR) & (found.high >= FAR)


def played(design):
    """Yield the noises and the deviations of as many plays as `DESIGNS` says, those of the same deviations together."""
    rng = np.random.default_rng(6)

    def on(noises, sigmas):
        following = design(noises, sigmas)
        for sigma in np.unique(following):
            of = noises[:, following == sigma]
            if sigma == 0:
                yield of, sigmas
            else:
                yield from on(np.vstack([of, rng.normal(scale=sigma, size=of.shape[1])]), (*sigmas, sigma))

    yield from on(np.empty((0, DESIGNS[design])), ())


def check_design(design):
    covers = np.concatenate([covered(intervals(noises, sigmas)) for noises, sigmas in played(design)])
    assert len(covers) == DESIGNS[design] and not_above(int((~covers).sum()), len(covers), 0.1)


def test_all_measurements_together_have_villes_bound():
    """With six times the information of the first: sqrt(2 log(2/beta)) deviations, beta being a quarter of 0.1."""
    found = intervals(np.zeros((2, 1)), (5e5, 5e5 / math.sqrt(5)))
    beta = (1 - uncertainty._SHARE) * uncertainty._OF_MEASURED * 0.1
    assert found.high - FAR == pytest.approx(math.sqrt(2 * math.log(2 / beta)) * 5e5 / math.sqrt(6), abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_no_design_makes_intervals_miss_more_often(design):
    check_design(design)


@pytest.mark.slow
def test_the_first_measurement_is_unbiased_and_the_mean_of_all_is_not():
    """By the normal law: within five standard errors; the bias is 50/sqrt(8 pi)."""
    plays = [(intervals(*play).unbiased - FAR, play[0].mean(axis=0)) for play in played(again_if_positive)]
    first, mean = np.concatenate(plays, axis=1)
    assert abs(first.mean()) < 5 * 50 / math.sqrt(len(first))
    assert mean.mean() == pytest.approx(-50 / math.sqrt(8 * math.pi), abs=5 * 50 / math.sqrt(len(first)))


def test_usual_intervals_miss_far_too_often():
    """The plays have fewer than thirty measurements, and the usual interval covered before the last of them."""
    early = sum(noises.shape[1] for noises, sigmas in played(until_the_usual_interval_misses) if len(sigmas) < 30)
    assert early > 0.3 * DESIGNS[until_the_usual_interval_misses]


# ---- faults that these checks catch


@pytest.mark.slow
def test_planted_faults_are_caught(monkeypatch):
    def caught(check, *arguments, **planted):
        with monkeypatch.context() as patch:
            for name, fault in planted.items():
                patch.setattr(*((uncertainty, name) if hasattr(uncertainty, name) else (_Law, name)), fault)
            with pytest.raises(AssertionError):
                check(*arguments)

    law = {name: getattr(_Law, name) for name in ("reach", "log_moment")}
    summed = uncertainty._summed
    # A sigma that is a tenth too small; variances that are not added up.
    caught(check_one_measurement, reach=lambda self, sigma, n, alpha: law["reach"](self, 0.9 * sigma, n, alpha))
    caught(check_one_measurement, reach=lambda self, sigma, n, alpha: law["reach"](self, sigma, 1, alpha))
    caught(check_one_measurement, _summed=lambda *arguments: (summed(*arguments)[0], 1))
    caught(check_design, until_ours_misses, log_moment=lambda *arguments: 0.0)
    caught(
        test_all_measurements_together_have_villes_bound,
        log_moment=lambda *arguments: law["log_moment"](*arguments) / 2,
    )


# ---- runs of AIM


def runs(count, neighbours="unbounded", plan=OURS, **options):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield aim(
            TABLE,
            3.0,
            1e-6,
            2,
            rng=rng,
            plan=dataclasses.replace(plan, rounds=8),
            neighbours=neighbours,
            **options,
        )


@functools.cache
def honest(neighbours) -> list:
    """Return eighty runs as they are, for every check of them: so none of them is called with a part of a run replaced."""
    return list(runs(80, neighbours=neighbours))


PAIRS = [pair for k in (1, 2) for pair in itertools.combinations(DOMAIN.attributes, k)]


def check_runs(results):
    """Misses of all covered counts; errors of first measurements over what is expected of them; bounds that fail.

    The first two by the normal law of a sum over runs: 4.9 standard errors.
    """
    excess, violated = {0.9: [], 0.95: [], "error": []}, 0
    for result in results:
        covered = [pair for pair in PAIRS if any(set(pair) <= set(m.attributes) for m in result.measurements)]
        truths = [TABLE.marginal(pair) for pair in covered]
        for level in (0.9, 0.95):
            found = [count_intervals(result, pair, level=level) for pair in covered]
            misses = sum(((truth < one.low) | (truth > one.high)).sum() for truth, one in zip(truths, found))
            excess[level].append(misses - (1 - level) * sum(truth.size for truth in truths))
        errors = [(np.abs(one.unbiased - truth) / one.expected_error - 1).sum() for truth, one in zip(truths, found)]
        excess["error"].append(sum(errors))
        bounds = marginal_bounds(result, 0.1)
        assert set(bounds) == set(result.choice.weights)
        violated += any(np.abs(result.synthetic.marginal(r) - TABLE.marginal(r)).sum() > b for r, b in bounds.items())
    z = {name: np.mean(found) / np.std(found) * math.sqrt(len(found)) for name, found in excess.items()}
    assert z[0.9] < 4.9 and z[0.95] < 4.9 and abs(z["error"]) < 4.9
    assert not_above(violated, len(results), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_intervals_and_bounds_of_runs_cover(neighbours):
    check_runs(honest(neighbours))


@pytest.mark.slow
def test_noise_that_is_a_tenth_larger_than_recorded_is_caught(monkeypatch):
    drawn = private_draws.gaussian
    monkeypatch.setattr(private_draws, "gaussian", lambda shape, scale, *, rng: drawn(shape, 1.1 * scale, rng=rng))
    with pytest.raises(AssertionError):
        check_runs(list(runs(50)))


@pytest.mark.slow
def test_exact_runs_have_intervals_too(monkeypatch):
    """Only here does a generator replace the randomness of the operating system."""
    bits = np.random.default_rng(4)
    monkeypatch.setattr(adaptive_iterative, "system_rng", lambda: bits)
    truth, missed, violated = TABLE.marginal(("a",)), 0, 0
    for _ in range(20):
        result = aim(TABLE, 3.0, 1e-6, 2, plan=Plan(rounds=8), neighbours="bounded")
        found = count_intervals(result, ("a",), level=0.95)
        assert (found.low == np.floor(found.low)).all() and found.low.min() >= 0 and found.high.max() <= len(TABLE)
        missed += not found.low[0] <= truth[0] <= found.high[0]
        assert count_intervals(result).high <= len(TABLE) == result.total
        bounds = marginal_bounds(result, 0.05)
        violated += any(np.abs(result.synthetic.marginal(r) - TABLE.marginal(r)).sum() > b for r, b in bounds.items())
    assert not_above(missed, 20, 0.05) and not_above(violated, 20, 0.05)


# ---- what a choice says of all candidates


def hand_made(epsilon, sigma, candidates=3, expected=0.0, off=0.0, moved=0.0, **options):
    """Return a release whose model has 10 records in each cell of the measured marginal, which has `off` more in each."""
    model = GraphicalModel(DOMAIN, {}, 120.0)
    names = [("a", "b"), ("b",), ("c",)][:candidates]
    weights = {("a", "b"): 2, ("b",): 4, ("c",): 4}
    last = Measurement(names[0], model.marginal(names[0]) + off, sigma)
    choice = Choice(model, {r: weights[r] for r in names}, epsilon, 4, expected)
    synthetic = GraphicalModel(DOMAIN, {}, 120.0 + moved)
    return dataclasses.replace(release([last], **options), synthetic=synthetic, choice=choice)


def bound(*arguments, **options):
    return marginal_bounds(hand_made(*arguments, **options), 0.1)[("b",)]


def test_the_bound_allows_for_the_noise_and_for_the_choice():
    """moved + e n_r + (w_c (off + q - e n_c) + g) / w_r with n_c = 12, n_r = 4, w_c = 2, w_r = 4: each part separately."""
    q, g = 4 * bound(1e9, 3.0) / 2, 4 * bound(0.3, 1e-9)
    assert stats.norm.sf(q / (3.0 * math.sqrt(12))) == pytest.approx(0.05, rel=1e-5)
    assert Exponential(0.3, 4).probabilities([0, -g, -g])[1:].sum() == pytest.approx(0.05, rel=1e-5)
    assert marginal_bounds(hand_made(0.3, 1e-9, candidates=1), 0.1)[("a", "b")] < 1e-6
    assert bound(0.3, 3.0) == pytest.approx((2 * q + g) / 4)
    assert bound(0.3, 3.0, expected=1.5) == pytest.approx(1.5 * 4 + (2 * (q - 1.5 * 12) + g) / 4)
    assert bound(0.3, 3.0, off=-0.25) == pytest.approx((2 * (q + 3) + g) / 4)
    assert bound(0.3, 3.0, moved=-7) == pytest.approx((2 * q + g) / 4 + 7)
    assert bound(0.3, 1e-9, expected=1e3) == 0
    # Rounding to a 1024th, of a model that is a multiple of it: half a grain in either score.
    assert bound(0.3, 1e-9, exact=True) == pytest.approx((g + 2 * 0.5 / 1024) / 4 + 0.5 / 1024)


@pytest.mark.parametrize("plan", [OURS, AUTHORS_CODE])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_the_recorded_choice_gives_the_scores_that_were_chosen_by(exact, neighbours, plan, monkeypatch):
    name, seen = "exact_exponential" if exact else "exponential", []
    choose = getattr(private_draws, name)

    def spy(scores, epsilon, sensitivity, *, rng):
        seen.append((np.array(list(scores), dtype=float), epsilon, sensitivity))
        return choose(scores, epsilon, sensitivity, rng=rng)

    monkeypatch.setattr(private_draws, name, spy)
    options = {"neighbours": neighbours, "plan": dataclasses.replace(plan, rounds=8)}
    result = aim(TABLE, 3.0, 1e-6, 2, **options) if exact else next(runs(1, **options))
    choice, (scores, epsilon, sensitivity) = result.choice, seen[-1]
    grain = private_draws.GRAIN if exact else 1
    for score, (names, weight) in zip(scores, choice.weights.items(), strict=True):
        p = choice.model.marginal(names)
        off = np.abs(TABLE.marginal(names) - p)
        mine = weight * (
            np.maximum(off - choice.expected, 0).sum() if plan is OURS else off.sum() - choice.expected * p.size
        )
        assert score / grain == pytest.approx(mine, abs=weight * (p.size + 1) / grain if exact else 1e-9)
    assert (choice.epsilon, choice.sensitivity) == (epsilon, sensitivity / grain)
    assert result.total == (len(TABLE) if neighbours == "bounded" else None)


# ---- sets that were not measured


def test_without_a_choice_a_count_is_at_most_that_of_each_attribute():
    """This holds at half of the error probability of what was not measured, divided into equal parts."""
    rng = np.random.default_rng(9)
    singles = [Measurement((name,), rng.normal(100, 5, DOMAIN.shape((name,))), 5.0) for name in ("a", "c", "d")]
    released = release(singles)
    found = count_intervals(released, ("a", "d"), level=0.9)
    each = 1 - UNMEASURED * 0.1 / (2 * 2)
    ends = [count_intervals(released, (name,), level=each).high for name in ("a", "d")]
    assert np.array_equal(found.high, np.minimum.outer(*ends)) and (found.low == 0).all()
    assert found.measured == 0 and np.isnan(found.unbiased).all() and found.low.shape == (3, 5)
    turned = count_intervals(released, ("d", "a"), level=0.9)
    assert np.array_equal(turned.high, found.high.T)
    partly = count_intervals(released, ("a", "b"), level=0.9)  # of b nothing is known
    assert np.array_equal(partly.high[:, 0], count_intervals(released, ("a",), level=1 - UNMEASURED * 0.05).high)


@pytest.mark.parametrize("noise", ["gaussian", "exact"])
def test_intervals_and_bounds_are_finite_and_nested_up_to_the_highest_level(noise, monkeypatch):
    """This holds for measured and unmeasured marginals. (At a low level one measurement may rule out all that others leave.)"""
    bits = np.random.default_rng(4)
    monkeypatch.setattr(adaptive_iterative, "system_rng", lambda: bits)
    options = {} if noise == "exact" else {"rng": np.random.default_rng(0)}
    result = aim(TABLE, 1.0, 1e-6, [("a", "b"), ("c",)], **options)
    levels = (0.9, 0.99, 0.999999, 1 - 1e-9, 1 - 1e-11, 0.999999999999)
    for attributes in (("a", "b"), ("a", "c")):
        found = [count_intervals(result, attributes, level=level) for level in levels]
        for inner, outer in itertools.pairwise(found):
            assert (outer.low <= inner.low).all() and (inner.high <= outer.high).all()
        assert np.isfinite(found[-1].high).all() and (found[-1].high > found[2].high).any()
    bounds = [sum(marginal_bounds(result, 1 - level).values()) for level in levels]
    assert bounds == sorted(bounds) and math.isfinite(bounds[-1]) and bounds[-1] > bounds[2]


def test_the_bound_of_the_last_choice_is_about_the_synthetic_counts():
    made = hand_made(0.3, 1e-9)
    synthetic = made.synthetic.marginal(("c",))
    for total, part in ((None, 1), (len_of := 120, 2)):
        near = dataclasses.replace(made, total=total, synthetic=Sized(made.synthetic, len_of))
        reach = marginal_bounds(near, (1 - uncertainty._OF_MEASURED) * 0.1 / 2)[("c",)] / part
        found = count_intervals(near, ("c",), level=0.9)
        assert np.array_equal(found.low, np.maximum(np.ceil(synthetic - reach), 0))
        assert np.array_equal(found.high, np.minimum(np.floor(synthetic + reach), total or np.inf))


def test_a_public_number_of_records_is_known():
    """The noisy counts do not add up to it."""
    result = next(runs(1, neighbours="bounded"))
    assert result.measurements[0].values.sum() != len(TABLE)
    found = count_intervals(result)
    assert found.low == found.high == found.unbiased == len(TABLE)
    assert found.expected_error == 0


class Sized:
    """A table of expected counts, with a number of records."""

    def __init__(self, model, n):
        self.marginal, self.n = model.marginal, n

    def __len__(self):
        return self.n


def check_unmeasured_counts_are_covered(count=80):
    """Check misses of level 0.9 for all pairs that a run has not measured, by the binomial law of the runs where any count misses."""
    missed = dict.fromkeys(("unbounded", "bounded"), 0)
    for neighbours in missed:
        for result in honest(neighbours)[:count]:
            for pair in itertools.combinations(DOMAIN.attributes, 2):
                found, truth = count_intervals(result, pair, level=0.9), TABLE.marginal(pair)
                if not found.measured and ((truth < found.low) | (truth > found.high)).mean() > 0.1:
                    missed[neighbours] += 1
                    break
    return missed


@pytest.mark.slow
def test_counts_that_were_not_measured_are_covered(monkeypatch):
    assert max(check_unmeasured_counts_are_covered().values()) <= 4
    bounds, measured = uncertainty.marginal_bounds, uncertainty._measured
    monkeypatch.setattr(uncertainty, "marginal_bounds", lambda *given: {r: b / 20 for r, b in bounds(*given).items()})
    assert min(check_unmeasured_counts_are_covered(20).values()) > 4  # a planted fault
    monkeypatch.setattr(uncertainty, "marginal_bounds", bounds)

    def halved(*given):
        found = measured(*given)
        return dataclasses.replace(found, high=found.high / 4)

    monkeypatch.setattr(uncertainty, "_measured", halved)
    assert min(check_unmeasured_counts_are_covered(20).values()) > 4


# ---- bad input


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"attributes": ("d",)}, r"attributes must be among the measured ones \(a\+b, c\), got d"),
        ({"attributes": ("a", "a")}, "attributes must all be different, got 'a' twice"),
        ({"attributes": "a"}, "attributes must be a sequence"),
        ({"attributes": ("e",)}, "attributes must be among"),
        ({"attributes": ("a",), "level": 1}, r"level must be in \(0, 0.999999999999\], got 1"),
    ],
)
def test_bad_questions_are_refused(arguments, named):
    measurements = [Measurement(names, np.zeros(DOMAIN.shape(names)), 1.0) for names in (("a", "b"), ("c",))]
    with pytest.raises(ValueError, match=named):
        count_intervals(release(measurements), **arguments)
