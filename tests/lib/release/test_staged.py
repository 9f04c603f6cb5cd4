"""A release by staged residuals: its intervals cover, its counts are the targets, and its cost is that of its mu.

Each random check has a fixed seed and the false-alarm rate 1e-6, by the binomial law.
"""

import dataclasses
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lib.accounting.certified_gaussian import certified_mu
from lib.release import Account, Synthesizer, count_intervals, queries, residual_bounds, schema, staged, uncertainty
from lib.release import synthesizer as release
from lib.tables.graphical_model import GraphicalModel
from lib.tables.residual_queries import answer, centred
from lib.tables.residual_stages import Stage, StagedResult, staged_residuals
from lib.tables.table import Domain, Table
from tests.lib.release.test_synthesizer import PUBLIC, trips
from tests.lib.release.test_uncertainty import not_above

DOMAIN = Domain({"a": 3, "b": 4, "c": 1, "d": 2})
LEVEL = 0.9
SMALL = {"attributes": {name: PUBLIC["attributes"][name] for name in ("home", "begin", "pay")}}


def made_of(stages, domain=DOMAIN, total=None) -> StagedResult:
    return StagedResult(None, GraphicalModel(domain, {}), {}, tuple(stages), total, 1.0, 1.0)


def told(domain, names, sigma, rng, exact=False) -> Stage:
    """Return a stage that measures the residuals of the sets `names` of an empty table."""
    sigmas = {each: Fraction(sigma) if exact else sigma for each in names}
    return Stage(sigmas, {each: answer(np.zeros(domain.shape(each)), sigma, rng=rng) for each in names}, 1.0)


# ---- the statements, by brute force


def spread_of(domain, names, effect):
    """Return the matrix that maps noise in the cells of `effect` to the counts over `names`."""
    shape = domain.shape(effect)
    rows = []
    for place in range(math.prod(shape)):
        noise = np.zeros(math.prod(shape))
        noise[place] = 1.0
        residual = centred(noise.reshape(shape))
        cells = []
        for cell in itertools.product(*(range(n) for n in domain.shape(names))):
            at = dict(zip(names, cell))
            others = math.prod(domain.sizes[domain.attributes.index(v)] for v in names if v not in effect)
            cells.append(residual[tuple(at[v] for v in effect)] / others)
        rows.append(cells)
    return np.array(rows).T


@pytest.mark.parametrize("exact", [False, True])
def test_the_bound_of_a_sum_is_that_of_its_covariance(exact):
    """Stage 1 measures all subsets of the pair; stage 2 measures only the pair and an attribute."""
    rng, error = np.random.default_rng(2), 0.07
    every, some = [(), ("a",), ("b",), ("a", "b")], [("b",), ("a", "b")]
    stages = [told(DOMAIN, every, 8.0, rng, exact), told(DOMAIN, some, 0.5, rng, exact)]
    names, weights = ("b", "a"), rng.normal(size=(4, 3))
    statements = residual_bounds.statements(stages, DOMAIN, None, names, error)
    assert residual_bounds.measured(stages, DOMAIN, None, names) == len(statements) == 2
    matrices = {effect: spread_of(DOMAIN, names, effect) for effect in every}
    whole = error * (1 - 3 * residual_bounds._SUBSET - residual_bounds._SUBSETS)
    for (y, reach), stage in zip(statements, stages):  # the better one is the last
        values, variance, beside = np.zeros((4, 3)), 0.0, 0.0
        for effect in every:
            of = stage if effect in stage.answers else stages[0]
            values += (matrices[effect] @ of.answers[effect].ravel()).reshape(4, 3)
            direction = matrices[effect].T @ weights.ravel()
            if effect in stage.answers:
                variance += (float(stage.sigmas[effect]) * np.linalg.norm(direction)) ** 2
            else:
                alone = residual_bounds._SUBSET * error * residual_bounds._ALONE[0]
                beside += stats.norm.isf(alone / 2) * 8.0 * np.linalg.norm(direction)
            beside += np.abs(direction).sum() / (2 * direction.size) if exact else 0.0
        quantile = stats.norm.isf(residual_bounds._TOGETHER[stages.index(stage)] * whole / 2)
        assert y == pytest.approx(values) and reach(weights) == pytest.approx(quantile * math.sqrt(variance) + beside)
    counts, noise = residual_bounds.estimate(stages, DOMAIN, None, names)
    both = {effect: [each for each in stages if effect in each.answers] for effect in every}
    precision = {effect: sum(float(each.sigmas[effect]) ** -2 for each in both[effect]) for effect in every}
    covariance = sum(matrices[e] @ matrices[e].T / precision[e] for e in every)
    assert np.sqrt(np.diag(covariance) * 2 / math.pi) == pytest.approx(np.full(12, noise))
    means = {e: sum(each.answers[e] * float(each.sigmas[e]) ** -2 for each in both[e]) / precision[e] for e in every}
    assert counts.ravel() == pytest.approx(sum(matrices[e] @ np.ravel(means[e]) for e in every))


def test_the_parts_of_the_error_probability_add_up_to_one():
    for firsts in (residual_bounds._ALONE, residual_bounds._TOGETHER):
        parts = [residual_bounds._part(place, firsts) for place in range(60)]
        assert min(parts) > 0 and math.fsum(parts) == pytest.approx(1.0)


def test_sets_with_a_gap_are_not_measured():
    rng = np.random.default_rng(4)
    stages = [told(DOMAIN, [(), ("a",), ("a", "b")], 1.0, rng), told(DOMAIN, [("d",), ("a", "d")], 1.0, rng)]
    asked = {(): 1, ("a",): 1, ("b",): 0, ("a", "b"): 0, ("c",): 1, ("c", "a"): 1, ("a", "d"): 1, ("a", "b", "d"): 0}
    found = {names: uncertainty.measured(made_of(stages), names) for names in asked}
    assert found == asked
    for names, times in asked.items():
        assert math.isnan(uncertainty.expected_error(made_of(stages), names)) == (times == 0)
    with pytest.raises(ValueError, match=r"attributes must be among the measured ones \(a, a\+b, d, a\+d\), got b"):
        count_intervals(made_of(stages), ("b",))
    public = count_intervals(made_of(stages[1:], total=50), ("d",))
    assert public.measured == 1 and (public.high <= 50).all()
    late = [told(DOMAIN, [(), ("a",), ("a", "b")], 1.0, rng), told(DOMAIN, [("b",)], 1.0, rng)]
    assert uncertainty.measured(made_of(late), ("a", "b")) == 1  # an attribute may be measured after the pair


def test_subsets_take_the_best_of_the_stages_that_measure_them_together():
    rng, error, below = np.random.default_rng(2), 0.07, [(), ("a",), ("b",)]
    stages = [told(DOMAIN, below, 8.0, rng), told(DOMAIN, [("a", "b")], 1.0, rng), told(DOMAIN, below, 0.1, rng)]
    ((y, reach),) = residual_bounds.statements(stages, DOMAIN, None, ("a", "b"), error)
    used = dict.fromkeys(below, stages[2]) | {("a", "b"): stages[1]}
    spreads = {effect: spread_of(DOMAIN, ("a", "b"), effect) for effect in used}
    assert y.ravel() == pytest.approx(sum(spreads[e] @ used[e].answers[e].ravel() for e in used))
    weights = rng.normal(size=12)
    top, *others = (used[e].sigmas[e] * np.linalg.norm(spreads[e].T @ weights) for e in reversed(used))
    whole = 1 - 3 * residual_bounds._SUBSET - residual_bounds._SUBSETS
    parts = residual_bounds._TOGETHER[0] * whole, residual_bounds._TOGETHER[1] * residual_bounds._SUBSETS
    bound = sum(stats.norm.isf(part * error / 2) * size for part, size in zip(parts, (top, np.linalg.norm(others))))
    assert reach(weights.reshape(3, 4)) == pytest.approx(bound)


def test_subsets_that_no_stage_measures_together_are_bounded_one_by_one():
    rng, error = np.random.default_rng(5), 0.05
    stages = [told(DOMAIN, [()], 3.0, rng), told(DOMAIN, [("a",), ("b",)], 2.0, rng), told(DOMAIN, [("a", "b")], 1.0, rng)]  # fmt: skip
    ((_, reach),) = residual_bounds.statements(stages, DOMAIN, None, ("a", "b"), error)
    weights, bound = rng.normal(size=(3, 4)), 0.0
    for effect, sigma in {(): 3.0, ("a",): 2.0, ("b",): 2.0, ("a", "b"): 1.0}.items():
        part = residual_bounds._SUBSET * residual_bounds._ALONE[0]
        if effect == ("a", "b"):
            part = residual_bounds._TOGETHER[0] * (1 - 3 * residual_bounds._SUBSET - residual_bounds._SUBSETS)
        direction = spread_of(DOMAIN, ("a", "b"), effect).T @ weights.ravel()
        bound += stats.norm.isf(part * error / 2) * sigma * np.linalg.norm(direction)
    assert reach(weights) == pytest.approx(bound)


def test_larger_sets_are_bounded_by_their_pairs_and_attributes():
    """Every bound has a fixed part of the error probability, also that of a pair that was not measured."""
    rng = np.random.default_rng(6)
    result = made_of([told(DOMAIN, [(), ("a",), ("b",), ("d",), ("a", "b"), ("a", "d")], 2.0, rng)])
    error = (1 - uncertainty._OF_MEASURED) * (1 - LEVEL)
    parts = {("a", "b"): uncertainty._OF_PAIRS / 3, ("a", "d"): uncertainty._OF_PAIRS / 3}
    parts |= {(name,): (1 - uncertainty._OF_PAIRS) / 3 for name in "abd"}
    assert dict(uncertainty._within(result, ("a", "b", "d"))) == pytest.approx(parts)
    found, high = count_intervals(result, ("a", "b", "d"), LEVEL), np.full((3, 4, 2), np.inf)
    for names, part in parts.items():
        bounds = [y + reach(np.eye(1, y.size).reshape(y.shape)) for y, reach in residual_bounds.statements(result.stages, DOMAIN, None, names, part * error / 2)]  # fmt: skip
        shape = [n if name in names else 1 for name, n in zip("abd", (3, 4, 2))]
        high = np.minimum(high, np.reshape(np.min(bounds, axis=0), shape))
    assert found.high == pytest.approx(np.maximum(np.floor(high), 0)) and found.measured == 0
    assert uncertainty.sum_interval(result, ("a", "b", "d"), np.eye(1, 24).reshape(3, 4, 2), LEVEL)[1] == pytest.approx(max(high.flat[0], 0))  # fmt: skip


def test_an_interval_without_an_integer_is_widened(monkeypatch):
    low, high = uncertainty._whole_counts(made_of([], total=9), np.array([2.2, 1.5, -3.0]), np.array([2.7, 4.0, 20.0]))
    assert low.tolist() == [2, 2, 0] and high.tolist() == [3, 4, 9]
    monkeypatch.setattr(uncertainty, "sum_interval", lambda *_: (2.2, 2.7))
    assert queries._count_ends(made_of([], total=9), ("a",), np.ones(3), LEVEL) == (2, 3)


# ---- how often intervals miss


FAR = 2**20  # the truth in each cell, where no interval is cut off at 0


def play(design, rng):
    """Return whether the interval of the first cell of a pair covers, after at most five stages that `design` chooses."""
    domain = Domain({"a": 2, "b": 2})
    sets = [(), ("a",), ("b",), ("a", "b")]
    truth = {names: centred(np.full(domain.shape(names), FAR * 4 / 2 ** len(names))) for names in sets}
    stages, off = [], {names: [] for names in sets}
    for number in range(5):
        sigmas = dict.fromkeys(sets, 10.0) if number == 0 else design(stages, off)
        if not sigmas:
            break
        noise = {each: answer(np.zeros(domain.shape(each)), sigma, rng=rng) for each, sigma in sigmas.items()}
        stages.append(Stage(sigmas, {each: truth[each] + noise[each] for each in sigmas}, 1.0))
        for each in sigmas:
            off[each].append(noise[each])
    found = count_intervals(made_of(stages, domain), ("a", "b"), LEVEL)
    return bool(found.low[0, 0] <= FAR <= found.high[0, 0])


def error_of(off, which=-1):
    """Return the error of the first cell from one answer of each residual."""
    return sum(each[which].flat[0] / 4 * 2 ** each[which].ndim for each in off.values() if each)


def again_as_long_as_it_is_close(stages, off):
    """Measure the pair again, more precisely, until its last answer is far off."""
    return {("a", "b"): 10.0 * 0.7 ** len(stages)} if abs(off["a", "b"][-1].flat[0]) < 8 * 0.7 ** len(stages) else {}


def again_where_the_error_is_small(stages, off):
    """Measure again only what was right, so that errors stay."""
    small = {each: 3.0 for each, told in off.items() if abs(told[-1].flat[0]) < 5}
    return small if len(stages) < 3 else {}


def until_the_interval_misses(stages, off):
    return dict.fromkeys(off, 10.0 * 0.6 ** len(stages)) if abs(error_of(off)) < 14 * 0.6 ** len(stages) else {}


@pytest.mark.slow
@pytest.mark.parametrize("design", [again_as_long_as_it_is_close, again_where_the_error_is_small, until_the_interval_misses])  # fmt: skip
def test_no_design_makes_intervals_miss_too_often(design):
    rng, plays = np.random.default_rng(7), 1500
    misses = sum(not play(design, rng) for _ in range(plays))
    assert not_above(misses, plays, 1 - LEVEL)


def test_a_planted_reuse_of_the_best_looking_answer_misses_too_often(monkeypatch):
    """With the whole error probability for each stage, a design that waits for a miss gets one."""
    monkeypatch.setattr(residual_bounds, "_part", lambda place, firsts: 1.0)
    rng, plays = np.random.default_rng(7), 600
    misses = sum(not play(until_the_interval_misses, rng) for _ in range(plays))
    assert not not_above(misses, plays, 1 - LEVEL)


@pytest.mark.parametrize(("epsilon", "neighbours", "exact"), [(1.0, "unbounded", False), (3e4, "bounded", True)])
def test_intervals_of_runs_cover(epsilon, neighbours, exact):
    """The second case has less noise than rounding."""
    rng = np.random.default_rng(11)
    domain = Domain({"a": 2, "b": 3, "c": 4})
    columns = rng.integers(0, [2, 3, 4], (400, 3))
    columns[:, 2] = (columns[:, 0] + columns[:, 1] + (rng.random(400) < 0.2)) % 4
    table, runs, misses = Table(columns, domain), 12 if exact else 120, {}
    sets = [names for size in range(4) for names in itertools.combinations(domain.attributes, size)]
    for seed in range(runs):
        given = None if exact else np.random.default_rng(seed)
        result = staged_residuals(table, epsilon, 1e-6, rng=given, neighbours=neighbours)
        for names in sets:
            found, truth = count_intervals(result, names, LEVEL), table.marginal(names)
            missed = bool((found.low > truth).flat[0] or (found.high < truth).flat[0])  # a cell chosen beforehand
            misses[names] = misses.get(names, 0) + missed
            assert (found.low <= found.high).all()
    assert all(not_above(count, runs, 1 - LEVEL) for count in misses.values()), misses
    if exact:
        assert (count_intervals(result, ("a", "b")).high - count_intervals(result, ("a", "b")).low).max() <= 4


# ---- counts and records


@pytest.fixture(scope="module")
def fitted():
    return Synthesizer(PUBLIC, epsilon=2.0, seed=3, method="staged").fit(trips())


def test_counts_of_pairs_are_the_targets_and_records_follow_them(fitted):
    model = fitted.release_.model
    assert isinstance(model, staged.TargetedModel) and len(model.targets) == 10
    for pair, target in model.targets.items():
        assert model.marginal(pair) == pytest.approx(target) and model.marginal(pair[::-1]) == pytest.approx(target.T)
        assert target.sum() == pytest.approx(model.total)
        for name in pair:
            sums = target.sum(axis=1 - pair.index(name))
            assert sums == pytest.approx(model.marginal((name,)), rel=0.01, abs=0.001 * model.total)
    rng = np.random.default_rng(0)
    plain, made = model.model.synthesize(rng=rng), pickle.loads(pickle.dumps(model)).synthesize(rng=rng)
    off = [
        sum(np.abs(table.marginal(pair) - target).sum() for pair, target in model.targets.items())
        for table in (plain, made)
    ]
    assert off[1] < 0.5 * off[0]
    assert len(model.synthesize(77, rng=rng)) == 77


def test_no_impossible_record_comes_out(fitted):
    made = fitted.sample(4000)
    assert not (made.home == made.work).mask(made.home == "other", False).any()
    assert not (made.end < made.begin).any() and set(made.home[made.pay.isna()].dropna()) == {"a"}
    target = fitted.release_.model.targets["home", "work"]
    assert (target[:5, :5].diagonal() == 0).all() and target.sum() == pytest.approx(fitted.release_.model.total)
    codes = fitted.release_.model.synthesize(4000, rng=np.random.default_rng(1))
    assert (codes.column("home") == codes.column("work"))[codes.column("home") < 5].mean() < 0.01


def test_records_are_drawn_given_a_condition(fitted):
    assert set(fitted.sample(50, where="home = b and begin >= 8").home) == {"b"}


def test_answers_are_within_their_intervals(fitted):
    for question in ("count where home = a", "mean(pay)", "proportion(end >= 10) where home = b", "median(begin) where work = c",
                     "correlation(begin, end)", "count where home = a and work = b and begin >= 8"):  # fmt: skip
        found = fitted.query(question)
        assert found.low <= found.noise_low <= found.estimate <= found.noise_high <= found.high, question
    assert fitted.query("count where home = a and work = b").measured > 0
    three = fitted.query("count where home = a and work = b and begin >= 8")
    pair = fitted.query("count where home = a and work = b")
    assert three.measured == 0 and pair.measured > 0 and three.high < 2 * pair.high  # bounded by its pairs
    with pytest.raises(ValueError, match="method must be one of 'aim', 'staged', got 'mst'"):
        Synthesizer(PUBLIC, method="mst").fit(trips(30))


def test_a_mean_within_a_group_is_that_of_the_residuals():
    """The interval of a mean uses weights over all cells, also of those that the condition leaves out."""
    public = schema.parse("attributes: {sex: {values: [f, m], missing: f, unseen: f}, age: {range: [0, 9], bins: 5, missing: 0}}")  # fmt: skip
    table = Table(np.repeat([[0, 1], [1, 3]], 5000, axis=0), public.domain)
    found = release.run(table, 1.0, 1e-9, seed=1, method="staged")
    for sex, mean in (("f", 2.5), ("m", 6.5)):
        answer = queries.ask(found, public, f"mean(age) where sex = {sex}")
        assert answer.low < mean < answer.high and answer.noise_high - answer.noise_low < 1
    parser = queries.Parser("mean(age) where sex = m or age >= 6", public.attributes, "question")
    cells, weights = queries._Cells(found, queries._asked(parser)), np.arange(1.0, 8.0)
    every = np.array([[0, 0, 0, 1, 2], [3, 4, 5, 6, 7.0]])
    first = np.array([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0.0]])
    for (_, of_some), (_, of_all) in zip(cells.known(0.1), uncertainty.known(found, ("sex", "age"), 0.1)):
        assert of_some(weights) == pytest.approx(of_all(every)) != pytest.approx(of_all(first))


# ---- what a release costs and says


def test_the_cost_is_that_of_mu(tmp_path):
    kept, frame = Account.new(tmp_path / "kept", 1.0), trips(300)
    first = Synthesizer(SMALL, epsilon=0.4, method="staged").fit(frame, account=kept.path)
    (entry,) = kept.balance().entries
    assert entry.rho == first.release_.rho == staged.cost(0.4, 1e-9)
    assert float(entry.rho) == pytest.approx(float(certified_mu(0.4, 1e-9)) ** 2 / 2, rel=1e-14)
    assert entry.what.startswith("staged residuals, sets of 2 of 3 attributes, epsilon 0.4")
    assert first.epsilon_ == 0.4 and first.result_.mu_used <= first.result_.mu
    first.save(tmp_path / "first.npz")
    loaded = Synthesizer.load(tmp_path / "first.npz")
    assert loaded.release_.stages[0].sigmas == first.release_.stages[0].sigmas  # fractions
    second = Synthesizer(SMALL, epsilon=0.3, method="staged").fit(frame, account=kept.path, earlier=loaded)
    both = staged.cost(0.4, 1e-9) + staged.cost(0.3, 1e-9)
    assert kept.balance().spent == both <= second.release_.rho < both * (1 + Fraction(1, 2**20))
    assert len(second.release_.stages) > len(first.release_.stages)
    assert second.release_.stages[: len(first.release_.stages)] == loaded.release_.stages
    epsilon = second.epsilon_
    assert staged.cost(epsilon, 1e-9) >= second.release_.rho > staged.cost(epsilon - 2e-6, 1e-9)
    assert 0.4 < epsilon < 0.7 and f"({epsilon:g}, 1e-09)-differentially private" in second.statement()
    assert second.query("count").measured > first.query("count").measured
    with pytest.raises(ValueError, match="would exceed the total epsilon 1"):
        Synthesizer(SMALL, epsilon=1.0, method="staged").fit(frame, account=kept.path)
    for wrong in ({"epsilon": 1e-9}, {"epsilon": -5.0}, {"delta": 0.0}, {"delta": 1.0}):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name} must be"):
            release.run(Table([[0], [1]], Domain({"a": 2})), **{"epsilon": 1.0, "delta": 1e-9} | wrong, method="staged")


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-9), (1e-6, 1e-6), (1e-3, 1e-2), (1.0, 0.3), (10.0, 0.5), (1e5, 1e-300)])  # fmt: skip
def test_the_epsilon_of_a_cost_is_the_smallest(epsilon, delta):
    """Also where Gaussian differential privacy is not certified, so that the cost is that of zCDP."""
    for rho in (staged.cost(epsilon, delta), 2 * staged.cost(epsilon, delta)):
        found = staged.epsilon_of(rho, delta)
        assert staged.cost(found, delta) >= rho
        assert found <= 1e-6 or staged.cost(found * (1 - 2e-5), delta) < rho
    assert staged.epsilon_of(staged.cost(epsilon, delta), delta) == epsilon


def test_no_cost_exceeds_that_of_the_decimals():
    for epsilon, delta in ((0.1, 0.9), (0.1, 0.1), (0.7, 1e-9), (1e-6, 1e-300), (1e6, 0.5)):
        exact = Fraction(repr(epsilon)), Fraction(repr(delta))
        assert staged.cost(epsilon, delta) == staged.cost(*exact) <= certified_mu(*exact) ** 2 / 2


def test_a_table_without_a_question_is_released():
    """With a public number of records and attributes of one value, nothing is measured."""
    public = {"attributes": {"x": {"range": [0, 9], "bins": 1, "missing": 0}}, "never": ["x < 5"]}
    with pytest.warns(schema.WideBins):
        made = Synthesizer(public, method="staged", neighbours="bounded").fit(pd.DataFrame({"x": [7] * 7}))
    assert made.release_.stages == () and made.query("count where x >= 0").high == 7 and made.sample()["x"].min() >= 5


def test_a_result_of_the_function_itself_can_be_saved(tmp_path):
    rng = np.random.default_rng(0)
    table = Table(rng.integers(0, 2, (500, 3)), Domain.from_labels({name: ["x", "y"] for name in "abc"}))
    result = staged_residuals(table, 1.0, 1e-6, rng=rng)
    release.save(result, tmp_path / "m.npz")
    loaded = release.load(tmp_path / "m.npz")
    assert len(loaded.stages) == len(result.stages)
    for names in ((), ("a",), ("c", "a")):
        assert np.array_equal(count_intervals(loaded, names).high, count_intervals(result, names).high)
        assert loaded.model.marginal(names) == pytest.approx(release.Release.of(result).model.marginal(names))


def test_targets_with_another_sum_are_fitted():
    model = GraphicalModel(Domain({"a": 2, "b": 2}), {}, total=100)
    made = staged.TargetedModel(model, {("a", "b"): [[100, 0], [0, 0]]})
    again = staged.TargetedModel(model, {("a", "b"): [[0.5, 0], [0, 0]]})
    for found in (made.of(model).marginal(("a", "b")), again.marginal(("a", "b"))):
        assert found.sum() == pytest.approx(100) and found.sum(axis=0) == pytest.approx([50, 50], abs=2)
    held = made.marginal(("a", "b"))
    held[0, 0] = -7
    assert made.marginal(("a", "b"))[0, 0] == 100
    for pair, counts in ((("a", "b"), [[-1, 101], [0, 0]]), (("a", "b"), [100.0]), (("a",), [50, 50]), (("a", "a"), np.eye(2))):  # fmt: skip
        with pytest.raises(ValueError, match="must (all )?be"):
            staged.TargetedModel(model, {pair: counts})


def test_methods_are_not_mixed():
    frame = trips(200)
    by_aim, by_residuals = (Synthesizer(SMALL, seed=1, method=method).fit(frame) for method in release.METHODS)
    for earlier, method in ((by_aim, "staged"), (by_residuals, "aim")):
        with pytest.raises(ValueError, match=f"earlier must be a release by the method '{method}'"):
            Synthesizer(SMALL, seed=1, method=method).fit(frame, earlier=earlier)


def test_what_is_said_of_a_release(fitted):
    text = release.statement(1.0, 1e-9, "unbounded", method="staged")
    assert "are outputs of staged residuals" in text and "AIM" not in text
    said = release.measured(fitted.result_)
    assert said.startswith("In 5 stages, staged residuals measured the counts of 5 attributes and 10 pairs.")
    assert f"targets for {len(fitted.result_.targets)} pairs" in said
    errors = release.errors(fitted.result_, 2)
    assert len(errors) == 15 and errors["expected error of a count"].notna().all()
    assert release.unmeasured(errors) == "All sets were measured."
    assert release.evidence(dataclasses.replace(fitted.release_, stages=())) == ()
    assert fitted.result_.targets == fitted.release_.model.targets  # those without impossible records
    names = {each.attributes for each in release.evidence(fitted.release_)}
    assert () in names and ("home", "work") in names


def about(change):
    """Return a function that applies `change` to what the file says about the stages."""

    def of(arrays):
        told = json.loads(str(arrays["about"]))
        change(told["staged"])
        arrays["about"] = json.dumps(told)

    return of


HOSTILE = {
    "another shape of targets": lambda arrays: arrays.update(targets_0=np.zeros(2)),
    "another shape of answers": lambda arrays: arrays.update(answers_1_0=np.zeros(2)),
    "enormous targets": lambda arrays: arrays.update(targets_0=arrays["targets_0"] + 1e300),
    "negative targets": lambda arrays: arrays.update(targets_0=arrays["targets_0"] - 1e3),
    "sigma that takes for ever": about(lambda told: told["stages"][0][0][0].__setitem__(1, "1e300000000000")),
    "flat answers": lambda arrays: arrays.update(answers_2_0=arrays["answers_2_0"].ravel()[None]),
    "words for answers": lambda arrays: arrays.update(answers_0_0=np.array("seven")),
    "a pair in both orders": about(lambda told: told["targets"].append([told["targets"][0][0][::-1], 1.0])),
    "targets of one attribute": about(lambda told: told["targets"][0][0].pop()),
    "unknown attribute": about(lambda told: told["stages"][1][0][0][0].__setitem__(0, "zz")),
    "tiny sigma": about(lambda told: told["stages"][0][0][0].__setitem__(1, 1e-320)),
    "a word for the kind of stage": about(lambda told: told["stages"][0].__setitem__(2, "no")),
    "nothing about the stages": about(lambda told: told.clear()),
    "negative cost": about(lambda told: told["stages"][0].__setitem__(1, -5)),
    "negative weight": about(lambda told: told["targets"][0].__setitem__(1, -1)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused(fitted, tmp_path, kind):
    fitted.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as held:
        arrays = dict(held)
    HOSTILE[kind](arrays)
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match="odd.npz must be a release that `save` wrote"):
        Synthesizer.load(tmp_path / "odd.npz")
