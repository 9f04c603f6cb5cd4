"""A release by staged residuals: its intervals cover, its counts are the targets, and its cost is that of its mu.

Each random check has a fixed seed and the false-alarm rate 1e-6, by the binomial law.
"""

import dataclasses
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
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
    for (y, reach), stage in zip(statements, stages):  # the better one is the last
        part = residual_bounds._TOGETHER[stages.index(stage)]
        variance, beside = 0.0, 0.0
        values = np.zeros((4, 3))
        for effect in every:
            of = stage if effect in stage.answers else stages[0]
            values += (matrices[effect] @ of.answers[effect].ravel()).reshape(4, 3)
            direction = matrices[effect].T @ weights.ravel()
            if effect in stage.answers:
                variance += (float(stage.sigmas[effect]) * np.linalg.norm(direction)) ** 2
            else:
                alone = residual_bounds._SUBSET * error * residual_bounds._ALONE[0]
                beside += stats.norm.isf(alone / 2) * 8.0 * np.linalg.norm(direction)
            if exact:
                beside += np.abs(direction).sum() / (2 * direction.size)
        quantile = stats.norm.isf(part * error * (1 - 3 * residual_bounds._SUBSET) / 2)
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
    # A pair that is measured before one of its attributes counts once all are known.
    late = [told(DOMAIN, [(), ("a",), ("a", "b")], 1.0, rng), told(DOMAIN, [("b",)], 1.0, rng)]
    assert uncertainty.measured(made_of(late), ("a", "b")) == 0
    late.append(told(DOMAIN, [("a", "b")], 1.0, rng))
    assert uncertainty.measured(made_of(late), ("a", "b")) == 1


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
    answer = queries.ask(found, public, "mean(age) where sex = f")
    assert answer.low < 2.5 < answer.high and answer.noise_high - answer.noise_low < 1


# ---- what a release costs and says


def test_the_cost_is_that_of_mu(tmp_path):
    kept, frame = Account.new(tmp_path / "kept", 1.0), trips(300)
    first = Synthesizer(SMALL, epsilon=0.4, method="staged").fit(frame, account=kept.path)
    (entry,) = kept.balance().entries
    assert entry.rho == first.release_.rho == certified_mu(0.4, 1e-9) ** 2 / 2 == staged.cost(0.4, 1e-9)
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
    names = {each.attributes for each in release.evidence(fitted.release_)}
    assert () in names and ("home", "work") in names


@pytest.mark.parametrize("part", ["targets_0", "answers_1_0"])
def test_a_file_with_another_shape_is_refused(fitted, tmp_path, part):
    fitted.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as held:
        arrays = dict(held)
    arrays[part] = np.zeros(2 if arrays[part].shape != (2,) else 3)
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ValueError, match="odd.npz must be a release that `save` wrote"):
        Synthesizer.load(tmp_path / "odd.npz")
