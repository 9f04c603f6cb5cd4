"""Questions to a release: the estimates are the model's, the intervals cover as often as they say, and the rest is refused.

Each random check has a fixed seed and the false-alarm rate 1e-6, by the binomial law.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from lib.release import queries, schema, uncertainty
from lib.release import synthesizer as release
from lib.tables.adaptive_iterative import Result
from lib.tables.graphical_model import GraphicalModel, Measurement
from lib.tables.table import Table

RARE = 1e-6
PUBLIC = schema.parse("""\
attributes:
  line: {values: [north, south], unseen: south}
  late: {range: [0, 59], bins: [0, 5, 10, 30]}
  fare: {range: [1, 3], bins: 2, whole: no, missing: 1}
""")
RNG = np.random.default_rng(4)
LINE = RNG.choice(3, 900, p=[0.1, 0.8, 0.1])
MINUTES = np.where(RNG.random(900) < 0.1, np.nan, np.minimum(RNG.exponential(8 + 10 * (LINE == 0)), 59).round())
FARE = RNG.choice(2, 900)
LATE = PUBLIC.attributes[1].binned(MINUTES)
TABLE = Table(np.stack([LINE, LATE, FARE], axis=1), PUBLIC.domain)
NORTH = LINE == 0
TRUTH = {
    "count": 900,
    "count where line = north": NORTH.sum(),
    "count where line = north and late >= 30": (NORTH & (MINUTES >= 30)).sum(),
    "proportion(late >= 30)": (MINUTES >= 30).mean(),
    "proportion(late >= 10) where line = north": (MINUTES[NORTH] >= 10).mean(),
    "proportion(line = north) where late < 5 or late >= 30": NORTH[(MINUTES < 5) | (MINUTES >= 30)].mean(),
    "mean(late)": np.nanmean(MINUTES),
    "mean(late) where line = north": np.nanmean(MINUTES[NORTH]),
    "Mean(late) WHERE not line = north": np.nanmean(MINUTES[~NORTH]),
}


def discrete(sigma, shape, rng):
    """Return discrete Gaussian noise by its law, which for the tests' speed is a table."""
    x = np.arange(-math.ceil(10 * sigma), math.ceil(10 * sigma) + 1)
    law = np.exp(-(x**2) / (2 * sigma**2))
    return rng.choice(x, shape, p=law / law.sum())


def released(rng, sigma, total=None):
    """Return a release of `TABLE` that measures again, and better, only where the first noise was large."""
    names = ("late", "line")
    truth = TABLE.marginal(names)
    first = discrete(sigma, truth.shape, rng)
    measurements = [Measurement(names, truth + first, sigma)]
    if first.sum() > 0:
        measurements.append(Measurement(names, truth + discrete(sigma / 2, truth.shape, rng), sigma / 2))
    model = GraphicalModel(PUBLIC.domain, {}, 900)
    return Result(None, model, tuple(measurements), (), Fraction(1), Fraction(1), "gaussian", total)


def misses(level, sigma, runs=500):
    rng, found = np.random.default_rng(7), dict.fromkeys(TRUTH, 0)
    for _ in range(runs):
        result = released(rng, sigma)
        for question, truth in TRUTH.items():
            answer = queries.ask(result, PUBLIC, question, level)
            found[question] += not answer.low <= truth <= answer.high
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("level", "sigma"), [(0.8, 0.6), (0.8, 4.0), (0.5, 25.0)])
def test_intervals_cover_as_often_as_they_say(level, sigma):
    for question, missed in misses(level, sigma).items():
        assert stats.binom.sf(missed - 1, 500, 1 - level) > RARE, (question, missed)


@pytest.mark.slow
def test_a_quantile_a_third_too_small_is_caught(monkeypatch):
    """And with it that the intervals are not much wider than they must be, where bins do not widen them."""
    real = uncertainty._Law.quantile
    monkeypatch.setattr(uncertainty._Law, "quantile", lambda self, *given: (real(self, *given)[0] * 0.4, 0.0))
    monkeypatch.setattr(uncertainty, "_together", lambda law, covering, values, *_: (values[0], math.inf))
    found = misses(0.8, 25.0, runs=400)
    assert stats.binom.sf(found["proportion(late >= 30)"] - 1, 400, 0.2) < RARE


@pytest.mark.parametrize("sigma", [0.3, 0.99, 1.0, 1.7, 6.0])
@pytest.mark.parametrize("weights", [[1], [1, 1], [1, -3], [5, 1, 1, -2], [3, 3, 3, 2, 1, 0, -7]])
def test_the_reach_of_a_weighted_sum_of_discrete_noise_holds(sigma, weights):
    """By convolution: the weights are integers."""
    x = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    law = np.exp(-(x**2) / (2 * sigma**2))
    total = np.ones(1)
    for weight in filter(None, weights):
        stretched = np.zeros(abs(weight) * (len(x) - 1) + 1)
        stretched[:: abs(weight)] = law / law.sum()
        total = np.convolve(total, stretched)
    sums = np.arange(len(total)) - len(total) // 2
    for alpha in (0.5, 0.1, 0.01, 1e-4):
        length, steps = uncertainty._Law("discrete").quantile(sigma, 1, alpha)
        reach = length * math.sqrt(sum(weight**2 for weight in weights)) + steps * max(map(abs, weights))
        assert total[np.abs(sums) > reach].sum() <= alpha * (1 + 1e-9)


@pytest.mark.slow
def test_the_ends_of_a_mean_are_those_of_a_search():
    result = released(np.random.default_rng(2), 6.0)
    y = result.measurements[0].values[:, 0]  # bins of the north
    low, high = np.array([0, 5, 10, 30, 0]), np.array([4, 9, 29, 59, 0])
    error, of = 0.9 * 0.75 * 0.2, np.array([1, 1, 1, 1, 0], bool)
    z, steps = uncertainty._Law("discrete").quantile(6.0, 1, error)

    def excluded(values, m, sign):
        a = (values - m)[of]
        return sign * (a @ y[of]) > z * math.sqrt(a @ a) + steps * np.abs(a).max()

    grid = np.linspace(0, 59, 59_001)
    least = min(m for m in grid if not excluded(low, m, 1))
    most = max(m for m in grid if not excluded(high, m, -1))
    answer = queries.ask(result, PUBLIC, "mean(late) where line = north", 0.8)
    (_, first), _ = uncertainty._statements(result, ("line", "late"), 0.9 * 0.2)
    assert first(np.array([3.0, 4.0])) == pytest.approx(5 * z + 4 * steps)
    assert answer.low >= least - 0.01 and answer.high <= most + 0.01  # and the second statement may say more
    one = Result(None, result.model, result.measurements[:1], (), Fraction(1), Fraction(1))
    answer = queries.ask(one, PUBLIC, "mean(late) where line = north", 0.8)
    assert (answer.low, answer.high) == pytest.approx((least, most), abs=0.01)


def test_estimates_are_the_models_within_the_interval():
    result = release.run(TABLE, 1e5, 1e-9, size=3, neighbours="bounded", seed=1)
    for question, truth in TRUTH.items():
        answer = queries.ask(result, PUBLIC, question)
        assert answer.low <= answer.estimate <= answer.high and answer.level == 0.95
        near = 0.05 if question.lower().startswith("mean(late)") else 0.02  # numbers in bins are estimated
        assert answer.estimate == pytest.approx(truth, abs=near * max(truth, 1))
        assert answer.measured >= 1
    assert queries.ask(result, PUBLIC, "count") == queries.Answer(
        900, 900, 900, 0.95, len(result.measurements), 900, 900
    )
    few = queries.ask(result, PUBLIC, "mean(fare) where line = north")
    assert few.low < 1 + 0.5 * (1 + 2 * FARE[NORTH].mean()) < few.high and 0.9 < few.high - few.low < 1.2


def test_no_estimate_contradicts_the_interval_for_the_noise():
    """The model is far from the measurement, as a fit to other measurements may be."""
    truth = TABLE.marginal(("late",)).astype(float)
    model = GraphicalModel(PUBLIC.domain, {("late",): np.array([0.0, 0, 0, 5, 0])}, 900)
    result = Result(None, model, (Measurement(("late",), truth, 1.0),), (), Fraction(1), Fraction(1))
    for question in ("count where late < 5", "proportion(late >= 30)", "mean(late)", "sd(late)", "median(late)"):
        answer = queries.ask(result, PUBLIC, question)
        assert answer.low <= answer.noise_low <= answer.estimate <= answer.noise_high <= answer.high
        assert answer.estimate in (answer.noise_low, answer.noise_high)


def test_the_interval_for_the_noise_is_within_the_other():
    """Noisy counts below 0 once permitted a part of a bin, but not the bin."""
    for seed in range(40):
        values = np.random.default_rng(seed).normal([5, 5, 0, 0, 0], 8)
        measurement = Measurement(("late",), values, 8.0)
        result = Result(None, GraphicalModel(PUBLIC.domain, {}, 10), (measurement,), (), Fraction(1), Fraction(1))
        answer = queries.ask(result, PUBLIC, "quantile(late, 0.9)", 0.8)
        assert answer.low <= answer.noise_low <= answer.estimate <= answer.noise_high <= answer.high


def test_what_was_not_measured_together_is_bounded_by_each_attribute():
    truth = [Measurement((name,), TABLE.marginal((name,)).astype(float), 1.0) for name in ("line", "late")]
    model = GraphicalModel(PUBLIC.domain, {}, 900)
    result = Result(None, model, tuple(truth), (), Fraction(1), Fraction(1))
    found = queries.ask(result, PUBLIC, "count where line = north and late >= 5")
    assert (found.measured, found.low) == (0, 0)
    assert NORTH.sum() <= found.high < NORTH.sum() + 10
    found = queries.ask(result, PUBLIC, "count where line = north or late >= 5")
    assert found.high == math.inf or found.high >= (NORTH | (MINUTES >= 5)).sum()
    assert queries.ask(result, PUBLIC, "proportion(late >= 5) where line = north").high == 1
    found = queries.ask(result, PUBLIC, "mean(late) where line = north")
    assert (found.low, found.high) == (0, 59)


@pytest.mark.slow
def test_a_saved_release_knows_what_the_last_choice_passed_over(tmp_path):
    """Counts of attributes that were not measured together are then bounded on both sides; see `marginal_bounds`."""
    codes = np.random.default_rng(3).integers(0, [3, 5, 2], (200_000, 3))
    codes[:, 1] = np.where(codes[:, 0] == 0, 3, codes[:, 1])
    table, found = Table(codes, PUBLIC.domain), 0
    question, truth = "proportion(late >= 30) where line = north", 1.0
    for seed in range(5):
        result = release.run(table, 0.3, 1e-9, seed=seed)
        release.save(result, tmp_path / "model.npz")
        loaded = release.load(tmp_path / "model.npz")
        assert loaded.passed == release.Release.of(result).passed
        for asked, true in (
            (question, truth),
            ("mean(late) where fare < 2", None),
            ("proportion(fare < 2) where line = south", 0.5),
        ):
            answer = queries.ask(loaded, PUBLIC, asked)
            if not answer.measured:
                found += 1
                assert (answer.low, answer.high) != (0, 1) and answer.high - answer.low < 59
                assert true is None or answer.low - 0.02 < true < answer.high + 0.02
    assert found
    silent = dataclasses.replace(loaded, passed=None)
    assert queries.ask(silent, PUBLIC, "proportion(late >= 30) where fare < 2 and line = north").low == 0


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "one of count proportion mean sd median quantile correlation is expected here, got ''"),
        ("mode(late)", "is expected here, got 'mode'"),
        ("quantile(late, 1)", "the proportion must be in (0, 1), got '1'"),
        ("quantile(late)", "',' is expected here, got ')'"),
        ("correlation(late, late)", "two different attributes are needed"),
        ("correlation(late, line)", "line must have a range of numbers"),
        ("mean(late) - ", "one of count proportion"),
        ("count / count / count", "the text should end here, got '/'"),
        ("mean(line)", "line must have a range of numbers"),
        ("mean(late) where late < 7", "question must be true or false throughout each value and bin of the schema"),
        ("mean(late) where late is missing", "got a condition that excludes them all"),
        ("mean late", "'(' is expected here, got 'late'"),
        ("count of", "the text should end here, got 'of'"),
        (
            'count where line = "north"',
            "a value must be in single quotes; double quotes are for attributes, got '\"north\"'",
        ),
        ("count where line = east", "a value of line must be one of north, south, missing, got 'east'"),
    ],
)
def test_other_questions_are_refused(question, said):
    with pytest.raises(ValueError, match="question must") as refusal:
        queries.ask(released(RNG, 5.0), PUBLIC, question)
    assert said in str(refusal.value)
    with pytest.raises(ValueError, match="level must be"):
        queries.ask(released(RNG, 5.0), PUBLIC, "count", 1.0)
