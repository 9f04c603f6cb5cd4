"""Intervals for standard deviations, quantiles, correlations, differences and ratios cover as often as they say.

Each random check has a fixed seed and the false-alarm rate 1e-6, by the binomial law.
"""

import numpy as np
import pytest
from scipy import stats

from lib.release import moments, queries, schema
from lib.tables.adaptive_iterative import Result
from lib.tables.graphical_model import GraphicalModel, Measurement
from lib.tables.table import Table

RARE = 1e-6
STATISTICS = {
    "sd(x)": lambda x, y, g: x.std(),
    "sd(y) where g = one": lambda x, y, g: y[g == 0].std(),
    "median(x)": lambda x, y, g: np.quantile(x, 0.5, method="inverted_cdf"),
    "quantile(x, 0.9) where g = one": lambda x, y, g: np.quantile(x[g == 0], 0.9, method="inverted_cdf"),
    "correlation(x, y)": lambda x, y, g: np.corrcoef(x, y)[0, 1],
    "correlation(y, x) where g = one": lambda x, y, g: np.corrcoef(x[g == 0], y[g == 0])[0, 1],
    "mean(x) where g = one - mean(x) where g = two": lambda x, y, g: x[g == 0].mean() - x[g == 1].mean(),
    "sd(x) / mean(x)": lambda x, y, g: x.std() / x.mean(),
    "count where g = two / count": lambda x, y, g: (g == 1).mean(),
}


def table(x_bins, y_bins, whole="yes"):
    """Return a schema with two numbers from 0 to 5 and two groups."""
    numbers = "".join(
        f"  {name}: {{range: [0, 5], bins: {bins}, whole: {whole}, missing: 0}}\n"
        for name, bins in (("x", x_bins), ("y", y_bins))
    )
    return schema.parse(f"attributes:\n{numbers}  g: {{values: [one, two], missing: one, unseen: two}}\n")


def population(rng, n, slope, whole=True):
    g = (rng.random(n) < 0.3).astype(int)
    x = np.clip(rng.gamma(2, 0.8, n) + g, 0, 5)
    y = np.clip(2.5 + slope * (x - 2) + rng.normal(0, 0.7, n), 0, 5)
    return (np.floor(x), np.floor(y), g) if whole else (x, y, g)


def released(public, codes, sigma, rng):
    """Return a release that measures all counts, and measures again and better only where the first noise was large."""
    truth, names = Table(codes, public.domain).marginal(("x", "y", "g")), ("x", "y", "g")
    noise = rng.normal(0, sigma, truth.shape)
    measurements = [Measurement(names, truth + noise, sigma)]
    if noise.sum() > 0:
        measurements.append(Measurement(names, truth + rng.normal(0, sigma / 2, truth.shape), sigma / 2))
    return Result(None, GraphicalModel(public.domain, {}, len(codes)), tuple(measurements), (), 1.0, 1.0)


def codes(public, x, y, g):
    return np.stack([*(each.binned(values) for each, values in zip(public.attributes, (x, y))), g], axis=1)


def misses(runs, level, sigma=12.0):
    """Return how often each interval misses for numbers that bins do not blur, so that noise alone is tested."""
    rng, public = np.random.default_rng(3), table(6, 6)
    values = population(rng, 1500, 0.9)
    found = dict.fromkeys(STATISTICS, 0)
    for run in range(runs):
        result = released(public, codes(public, *values), sigma, rng)
        for question, statistic in STATISTICS.items():
            if question.startswith("corr") and run >= runs / 5:  # which take longer
                continue
            answer = queries.ask(result, public, question, level)
            found[question] += not answer.low - 1e-9 <= statistic(*values) <= answer.high + 1e-9
    return found


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say():
    for question, missed in misses(100, 0.8).items():
        assert stats.binom.sf(missed - 1, 20 if question.startswith("corr") else 100, 0.2) > RARE, (question, missed)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.95, -0.8, 0.0])
@pytest.mark.parametrize("bins", [("[0, 1, 2, 4]", "3"), ("12", "20")])
def test_without_noise_intervals_contain_the_truth_wherever_the_numbers_are_in_their_bins(bins, slope):
    rng, public = np.random.default_rng(5), table(*bins, whole="no")
    x, y, g = population(rng, 300, slope, whole=False)
    coded = codes(public, x, y, g)
    result, moved = released(public, coded, 1e-7, rng), [(x, y)]
    ends = [
        np.stack([each.ends[i][coded[:, place]] for i in (0, 1)]) for place, each in enumerate(public.attributes[:2])
    ]
    for _ in range(20):  # all numbers at ends of their bins: where the statistics are extreme
        sides = (
            rng.integers(0, 2, (2, 300))
            if len(moved) % 2
            else (np.array([x > x.mean(), y > y.mean()]) ^ (rng.random((2, 1)) < 0.5)).astype(int)
        )
        moved.append(tuple(end[side, np.arange(300)] for end, side in zip(ends, sides)))
    for question, statistic in STATISTICS.items():
        answer = queries.ask(result, public, question)
        truths = [statistic(*each, g) for each in moved]
        assert answer.low - 1e-5 <= min(truths) and max(truths) <= answer.high + 1e-5, question
        if bins[0] == "12":
            assert (
                answer.high - answer.low < {"s": 0.75, "m": 0.95, "q": 0.45, "c": 0.95}[question[0]]
                or "corr" in question
            )


def test_narrow_bins_give_close_intervals_of_correlations():
    rng, public = np.random.default_rng(6), table(40, 40, whole="no")
    x, y, g = population(rng, 4000, 0.95, whole=False)
    y = np.clip(x + 0.02 * y, 0, 5)
    answer = queries.ask(released(public, codes(public, x, y, g), 1e-7, rng), public, "correlation(x, y)")
    assert 0.9 < answer.low < np.corrcoef(x, y)[0, 1] < answer.high


def test_the_ends_of_the_function_of_a_correlation_are_those_of_a_grid_within_each_cell():
    rng = np.random.default_rng(8)
    low, width = rng.normal(0, 2, (2, 40)), rng.exponential(1, (2, 40))
    one, other = (moments.Values(a, a + w, np.zeros(40)) for a, w in zip(low, width))
    for r in (-0.999, -0.5, 0.0, 0.3, 0.98):
        saddle = moments._Saddle(one, other, np.zeros(40), np.array([[0.5, 0.1, -0.3, 0.2, 1.7]]))
        x = (low[0] - 0.5 + width[0] * np.linspace(0, 1, 201)[:, None])[:, None]
        y = (low[1] + 0.3 + width[1] * np.linspace(0, 1, 201)[:, None])[None]
        values = x * y - r / 2 * (1.7 * x**2 + y**2 / 1.7)
        allowance = 0.1 * 0.2 + (1.7 * 0.1**2 + 0.2**2 / 1.7) / 2
        assert saddle.end(np.array([r]), True)[0] == pytest.approx(values.min((0, 1)) - allowance, abs=2e-3)
        assert saddle.end(np.array([r]), False)[0] == pytest.approx(values.max((0, 1)) + allowance, abs=2e-3)


def test_means_that_noise_leaves_open_are_not_searched_through(monkeypatch):
    """All combinations of parts of two ranges would take a minute to say nothing."""
    low = np.repeat(np.arange(32.0), 32), np.tile(np.arange(32.0), 32)
    one, other = (moments.Values(each, each + 1, np.zeros(each.size)) for each in low)
    searched: list = []
    monkeypatch.setattr(
        moments, "_crossings", lambda statements, saddle: searched.append(saddle.q.size) or np.zeros((1, 2))
    )
    known = lambda error: [(np.ones(1024), lambda weights: 0.0)]  # noqa: E731
    monkeypatch.setattr(moments, "deviation", lambda *_: (9.0, 9.5))
    monkeypatch.setattr(moments, "mean", lambda *_: (15.0, 15.5))
    assert moments.correlation(known, one, other, np.zeros(1024), 0.05) == (0.0, 0.0)
    assert searched and max(searched) * 1024 <= 10**6
    searched.clear()
    monkeypatch.setattr(moments, "mean", lambda *_: (0.0, 32.0))
    assert moments.correlation(known, one, other, np.zeros(1024), 0.05) == (-1.0, 1.0)
    assert not searched
