"""Numbers within their bins follow the neighbouring counts, keep each bin's count, and keep correlations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.release import Synthesizer, interpolation, queries, schema
from lib.release import synthesizer as release
from lib.tables.table import Table


def attribute(bins, last=60, whole="no"):
    return schema.parse(f"attributes: {{a: {{range: [0, {last}], bins: {bins}, whole: {whole}}}}}").attributes[0]


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["yes", "no"])
@pytest.mark.parametrize("bins", ["[0, 1, 2, 5, 20]", "1", "[0, 30]"])
@given(st.lists(st.floats(0, 1e6), min_size=5, max_size=5))
def test_moments_and_steps_are_those_of_the_numbers_placed(bins, whole, counts):
    made = attribute(bins, whole=whole)
    tilt = interpolation.tilts(made, np.array(counts))
    mean, spread = interpolation.moments(made, tilt)
    ends, below = interpolation.steps(made, tilt, 4)
    positions, low, high = (np.arange(20_000) + 0.5) / 20_000, *made.ends
    for code in range(len(made.starts)):
        found = interpolation.placed(made, np.full(20_000, code), positions, tilt)
        width = high[code] - low[code] + 1
        assert low[code] <= found.min() and found.max() <= high[code] and (np.diff(found) >= 0).all()
        assert abs(found.mean() - mean[code]) < 2e-3 * width
        assert found.var() == pytest.approx(spread[code], rel=0.02, abs=1e-3 * width)
        for (first, _), share in zip(ends, below[:, code]):
            assert (found < first).mean() == pytest.approx(share, abs=1e-3)


def test_the_tails_and_the_slopes_of_an_exponential_law_are_found():
    made, rng = attribute("[0, 5, 10, 15, 25, 40]", last=2000), np.random.default_rng(1)
    values = rng.exponential(15, 200_000)
    counts = np.bincount(made.binned(values))
    mean, _ = interpolation.moments(made, interpolation.tilts(made, counts))
    truth = np.array([values[made.binned(values) == code].mean() for code in range(6)])
    assert np.abs(mean - truth)[:-1].max() < 1.3 and abs(mean[-1] - truth[-1]) < 5
    assert abs((made.ends[0] + made.ends[1])[5] / 2 - truth[-1]) > 900  # the middle of the last bin


def test_where_the_neighbours_say_nothing_numbers_stay_even():
    assert (interpolation.tilts(attribute("6"), np.array([9, 9, 9, 9, 9, 9.0])) == 0).all()
    assert interpolation.tilts(attribute("3"), np.array([900, 5, 5.0]))[0] == 0  # a peak may be anywhere in its bin
    assert (interpolation.tilts(attribute("3"), np.array([-3, 4, 0.0]), least=10.0) == 0).all()  # noise
    assert interpolation.tilts(attribute("3"), np.array([5, 900, 5.0]))[1] == 0


@pytest.mark.parametrize("rho", [-0.95, -0.4, 0.0, 0.8])
def test_latent_correlations_are_those_of_a_normal_law(rho):
    rng = np.random.default_rng(2)
    x, y = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 400_000).T
    counts = np.histogram2d(x, y, [[-9, -1, 0.3, 9], [-9, -1.5, 0, 0.2, 1, 9]])[0]
    assert interpolation.latent_correlation(counts) == pytest.approx(rho, abs=0.02)


PUBLIC = schema.parse("""\
attributes:
  x: {range: [-6, 6], bins: [-6, -1, 0, 1], whole: no}
  y: {range: [-6, 6], bins: [-6, -1.5, 0, 1.5], whole: no}
  line: {values: [north, south], missing: north, unseen: south}
""")


def pairs(n=40_000, rho=0.9):
    rng = np.random.default_rng(4)
    x, y = np.clip(rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T, -6, 6)
    x[:100] = np.nan
    codes = [each.binned(values) for each, values in zip(PUBLIC.attributes, (x, y))]
    return x, y, Table(np.stack([*codes, rng.integers(0, 2, n)], axis=1), PUBLIC.domain)


def test_interpolated_records_keep_correlations_bins_and_missing_values():
    x, y, table = pairs()
    result, found = release.run(table, 1e4, 1e-9, size=2, seed=1), {}
    for within in ("interpolated", "uniform"):
        made = release.decoded(table, PUBLIC, within, rng=np.random.default_rng(3), release=result)
        a, b = (made.column(name).to_numpy() for name in "xy")
        for each, values, code in zip(PUBLIC.attributes, (a, b), table.records.T):
            assert np.array_equal(each.binned(values), code)
        assert np.isnan(a).sum() == 100
        found[within] = np.corrcoef(a[100:], b[100:])[0, 1], np.nanstd(a)
    truth = np.corrcoef(x[100:], y[100:])[0, 1]
    assert abs(found["interpolated"][0] - truth) < 0.05 < 0.2 < abs(found["uniform"][0] - truth)
    assert abs(found["interpolated"][1] - 1) < 0.15 < 0.9 < found["uniform"][1] - 1


def test_positions_are_even_in_each_bin():
    _, _, table = pairs()
    copula = interpolation.Copula(table.marginal, PUBLIC.attributes)
    codes = {each.name: table.column(each.name).astype(int) for each in PUBLIC.attributes}
    for name, positions in copula.positions(codes, np.random.default_rng(0)).items():
        for code in range(4):
            here = np.sort(positions[codes[name] == code])
            assert np.abs(here - (np.arange(len(here)) + 0.5) / len(here)).max() < 1.01 / len(here)


def test_noise_intervals_contain_the_truth_where_bins_alone_would_not_tell():
    x, y, table = pairs()
    found = [release.Release.of(release.run(table, 2.0, 1e-9, seed=seed)) for seed in range(8)]
    for question, truth in {
        "mean(x)": np.nanmean(x),
        "median(y)": np.median(y),
        "mean(y) where line = north": 0.0,
    }.items():
        answers = [queries.ask(each, PUBLIC, question, 0.99) for each in found]
        assert all(a.low <= a.noise_low and a.noise_high <= a.high for a in answers)
        assert all(a.noise_low - 0.25 <= truth <= a.noise_high + 0.25 and a.high - a.low > 1 for a in answers), question


def test_a_fitted_synthesizer_samples_numbers_that_are_interpolated_even_under_a_condition():
    import pandas as pd

    x, y, table = pairs()
    frame = pd.DataFrame({"x": x, "y": y, "line": np.where(table.column("line") == 0, "north", "south")})
    with pytest.warns(
        schema.WideBins, match=r"A mean of x may be off by up to 2.5 .* such as \[-6, -4, -2, -1, 0, 1, 2, 4\]"
    ):
        made = Synthesizer(PUBLIC, 1e4, seed=1).fit(frame)
    low = made.sample(20_000, where="x < -1")
    assert low["x"].mean() == pytest.approx(x[x < -1].mean(), abs=0.4) and low["x"].mean() > -2.5
    with pytest.raises(ValueError, match="release must be given"):
        release.decoded(table, PUBLIC, "interpolated", rng=np.random.default_rng(1))
