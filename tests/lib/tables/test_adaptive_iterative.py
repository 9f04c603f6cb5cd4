"""`aim`: runs stay within the budget, the algorithm is the document's, and options do what their descriptions say."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import accounting
from lib.tables import adaptive_iterative as module
from lib.tables import counting, graphical_model
from lib.tables import private_draws as draws
from lib.tables.adaptive_iterative import Schedule, aim
from lib.tables.plan import AUTHORS_CODE, NOISES, OURS, Plan
from lib.tables.table import Domain, Table

DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 5})


def correlated(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(3, size=n), rng.integers(4, size=n)
    return Table(
        np.stack([a, b, (a + rng.integers(2, size=n)) % 2, (a + b + rng.integers(2, size=n)) % 5], axis=1), DOMAIN
    )


TABLE = correlated()


SETTINGS = {each.name for each in dataclasses.fields(Plan)}


def run(epsilon=2.0, delta=1e-6, workload=2, seed=0, table=TABLE, plan=OURS, **options):
    """Run AIM; `options` that are settings of a plan are changed in `plan`."""
    plan = dataclasses.replace(plan, **{name: options.pop(name) for name in SETTINGS & set(options)})
    return aim(table, epsilon, delta, workload, plan=plan, rng=np.random.default_rng(seed), **options)


# ------------------------------------------------------------------ the budget

budgets = st.floats(-12, 6).map(lambda x: 10.0**x)
rates = st.floats(1e-6, 1 - 1e-6)


@pytest.mark.slow
@given(budgets, st.floats(4, 1e4), rates, st.lists(st.sampled_from([None, 0.01, 0.2, 0.5, 0.9, 1.0]), max_size=4),
       st.lists(st.booleans(), max_size=40), st.sampled_from([2, 4]))  # fmt: skip
@settings(max_examples=300)
def test_no_schedule_exceeds_the_budget_and_every_schedule_spends_it(rho, rounds, alpha, shares, annealings, growth):
    schedule, spent = Schedule(rho, rounds, alpha), 0.0
    for share in shares:
        if share is not None and share * rho > (rho - spent) * (1 - 1e-9):
            with pytest.raises(ValueError, match="share must be below"):
                schedule.measure(share)
            assert schedule.used == spent
            continue
        multiplier = schedule.measure(share)
        spent += 1 / (2 * multiplier**2)
        assert share is None or 1 / (2 * multiplier**2) == pytest.approx(share * rho)
    if shares:
        schedule.divide()
    annealings = itertools.chain(annealings, itertools.repeat(True))
    while not schedule.exhausted:
        spent += 1 / (2 * schedule.multiplier**2) + schedule.epsilon**2 / 8
        schedule.spend()
        if not schedule.exhausted:
            schedule.advance(next(annealings), growth)
    assert spent <= rho and schedule.used <= rho
    assert spent == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize("rounds", [1, 2, 3, 7.5])
def test_a_share_near_one_leaves_something_for_the_last_round(rounds):
    """This holds although every attribute was measured with all that a round may spend on measuring."""
    schedule = Schedule(1.0, rounds, 0.999999)
    for _ in range(int(rounds)):
        schedule.measure()
    while not schedule.exhausted:
        schedule.spend()
        if not schedule.exhausted:
            schedule.advance(anneal=False)
    assert 1 - 1e-9 < schedule.used <= 1
    for alpha in (1 - 1e-9, 1 - 1e-12, 1.0):
        with pytest.raises(ValueError, match="alpha must be in .1e-9, 0.999999., got"):
            Schedule(1.0, rounds, alpha)


def test_no_more_is_measured_than_is_left():
    """Either 0.7 of the budget is spent, or all of it."""
    schedule = Schedule(2.0, 4, 0.9)
    schedule.measure(0.7)
    for share in (0.3, 0.3 * (1 + 1e-9), 0.31):
        with pytest.raises(
            ValueError, match=r"share must be below 0\.29999\d*, the part of the budget that is left, got 0\.3"
        ):
            schedule.measure(share)
    assert schedule.used == pytest.approx(1.4)
    schedule.measure(0.3 * (1 - 1e-9))
    with pytest.raises(ValueError, match="share must be below"):
        schedule.measure(1e-8)


@pytest.mark.slow
@given(st.floats(0.01, 20), st.sampled_from(["gaussian", "laplace"]), st.sampled_from(["unbounded", "bounded"]),
       st.sampled_from(["sized", "printed", "none"]), st.integers(1, 3), st.sampled_from([AUTHORS_CODE, OURS]), st.integers(0, 99))  # fmt: skip
@settings(max_examples=20)
def test_a_runs_own_record_adds_up_to_at_most_the_budget(epsilon, noise, neighbours, start, k, plan, seed):
    result = run(epsilon, workload=k, seed=seed, noise=noise, neighbours=neighbours, start=start, plan=plan)
    sensitivity = {"unbounded": 1, "bounded": 2}[neighbours]
    spent = 0.0
    for step in result.steps:
        per_sigma = math.sqrt(sensitivity) if noise == "gaussian" else sensitivity
        spent += (per_sigma / step.sigma) ** 2 / 2 + step.epsilon**2 / 8
        assert step.rho_used == pytest.approx(spent)
    assert spent <= result.rho * (1 + 1e-12) and result.rho_used <= result.rho
    assert result.rho == accounting.dp_to_zcdp(epsilon, 1e-6)
    assert len(result.steps) == len(result.measurements)


def test_the_schedule_starts_as_algorithm_2_says_and_anneals_as_algorithm_4_does():
    schedule = Schedule(rho=0.5, rounds=64, alpha=0.9)
    assert schedule.multiplier == pytest.approx(math.sqrt(64 / (2 * 0.9 * 0.5)))
    assert schedule.epsilon == pytest.approx(math.sqrt(8 * 0.1 * 0.5 / 64))
    sigma, epsilon = schedule.multiplier, schedule.epsilon
    schedule.spend()
    schedule.advance(anneal=False)
    assert (schedule.multiplier, schedule.epsilon) == (sigma, epsilon)
    schedule.spend()
    schedule.advance(anneal=True)
    assert (schedule.multiplier, schedule.epsilon) == (sigma / 2, 2 * epsilon)


# --------------------------------------------------------------- the algorithm


@pytest.mark.parametrize("unit", [2.0**-331, 2.0**330])  # near the ends of the range, and exact to divide by
def test_only_the_proportions_of_weights_matter(unit):
    pairs = dict(zip(itertools.combinations(DOMAIN.attributes, 2), itertools.cycle((1.0, 2.0, 4.0))))
    steps = [run(workload={pair: c * each for pair, c in pairs.items()}).steps for each in (1.0, unit)]
    assert steps[0] == steps[1]
    exact = aim(TABLE, 2.0, 1e-6, {pair: c * unit for pair, c in pairs.items()})
    assert exact.rho_used <= exact.rho and len(exact.steps) > len(DOMAIN)


def test_the_synthetic_table_is_close_and_has_the_tables_domain():
    result = run(epsilon=20)
    assert result.synthetic.domain == DOMAIN
    for pair in itertools.combinations(DOMAIN.attributes, 2):
        assert np.abs(result.synthetic.marginal(pair) - TABLE.marginal(pair)).sum() / len(TABLE) < 0.05


def test_the_same_seed_gives_the_same_run():
    one, other = run(seed=3), run(seed=3)
    assert np.array_equal(one.synthetic.records, other.synthetic.records) and one.steps == other.steps
    assert not np.array_equal(one.synthetic.records, run(seed=4).synthetic.records)


def test_initialisation_measures_each_attribute_of_the_workload_once():
    result = run(workload=[("a", "b"), ("b", "c")], plan=AUTHORS_CODE)
    assert [step.attributes for step in result.steps[:3]] == [("a",), ("b",), ("c",)]
    assert all(step.epsilon == 0 for step in result.steps[:3]) and result.steps[3].epsilon > 0
    assert run(start="none").steps[0].epsilon > 0


def test_without_annealing_all_rounds_but_the_last_cost_the_same():
    steady, annealed = run(pace="steady", rounds=20, plan=AUTHORS_CODE), run(rounds=20, plan=AUTHORS_CODE)
    totals = [step.rho_used for step in steady.steps]
    cost = np.diff(totals, prepend=0.0)
    np.testing.assert_allclose(cost[4:-1], steady.rho / 20, rtol=1e-9)
    assert len({step.sigma for step in steady.steps[:-1]}) == 1 and not any(step.annealed for step in steady.steps)
    assert 0.999999 * steady.rho < steady.rho_used <= steady.rho
    assert len(annealed.steps) < len(steady.steps)


def test_annealing_changes_nothing_before_it_happens():
    annealed = run().steps
    until = next(number for number, step in enumerate(annealed, 1) if step.annealed)
    steady = run(pace="steady", rounds=OURS.rounds_for(4)).steps
    assert len(steady) > until > 4
    for one, other in zip(annealed[:until], steady):
        assert dataclasses.replace(one, annealed=False) == other


def test_candidates_are_the_downward_closure_with_the_papers_weights():
    workload = {("a", "b"): 1.0, ("c", "b"): 3.0}
    weights = counting.downward_closure(DOMAIN, workload)
    named = {tuple(DOMAIN.attributes[v] for v in clique): w for clique, w in weights.items()}
    assert named == {("a",): 1, ("b",): 4, ("c",): 3, ("a", "b"): 2 + 3, ("b", "c"): 1 + 6}


def test_a_round_chooses_from_sets_drawn_anew_where_there_are_more(monkeypatch):
    offered, choose = [], draws.FloatingDraws.choose
    monkeypatch.setattr(
        draws.FloatingDraws,
        "choose",
        lambda self, scores, epsilon: offered.append(set(scores)) or choose(self, scores, epsilon),
    )
    result = run(start="none", candidates=3)
    assert all(len(sets) <= 3 for sets in offered) and set().union(*offered) == set(itertools.chain.from_iterable(
        itertools.combinations(range(4), k) for k in (1, 2)))  # fmt: skip
    assert len(set(map(frozenset, offered))) > 5 and len(result.choice.weights) <= 3
    assert np.array_equal(run(candidates=10).synthetic.records, run().synthetic.records)  # all there are


def test_the_last_model_is_that_of_the_last_fit(monkeypatch):
    asked = []

    def fitted(domain, reconciliation, scale, kind, start):
        asked.append((scale, kind, start, last_fit(domain, reconciliation, scale, kind, start)))
        return asked[-1][3]

    last_fit = module.last_fit.fit
    monkeypatch.setattr(module.last_fit, "fit", fitted)
    for kind in module.last_fit.KINDS:
        result = aim(TABLE, 1.0, 1e-6, rng=np.random.default_rng(4), plan=Plan(last_fit=kind))
        scale, given, start, model = asked.pop()
        assert (scale, given) == (result.steps[-1].sigma, kind) and model is result.model and not asked
        assert start.cliques == model.cliques[: len(start.cliques)]  # of the round before
        assert model.converged and model.evaluations == result.steps[-1].evaluations > 0


@pytest.mark.parametrize("round_fit", [(0.1,), 0.1, (0.0, 0.1), (0.1, 2.0), (0.1, 0.02, 3), ("a", 0.1), None])
def test_other_fits_between_rounds_are_refused(round_fit):
    with pytest.raises(ValueError, match="round_fit"):
        Plan(round_fit=round_fit)


def test_models_between_rounds_are_as_close_as_was_asked():
    steps = [run(round_fit=(0.1, tolerance)).steps for tolerance in (0.3, 1e-4)]
    loose, close = (max(step.gap for step in each[:-1]) for each in steps)
    assert close < loose / 100 and all(step.evaluations for step in steps[1])


def test_models_between_rounds_have_the_entropy_that_was_asked_for(monkeypatch):
    asked = []

    def fitted(domain, reconciliation, tau, tolerance, start):
        asked.append((tau, tolerance))
        return fit(domain, reconciliation, tau, tolerance, start)

    fit = module.fit_reconciled
    monkeypatch.setattr(module, "fit_reconciled", fitted)
    for options, (times, gap) in (({}, (0.3, 0.1)), ({"round_fit": (0.5, 0.1)}, (0.5, 0.1))):
        asked.clear()
        scales = {times / step.sigma for step in run(**options).steps}
        assert {tolerance for _, tolerance in asked} == {gap}
        assert all(any(tau == pytest.approx(scale) for scale in scales) for tau, _ in asked[1:])


def test_what_is_drawn_depends_on_no_record():
    other = Table(TABLE.records[::-1] * 0, DOMAIN)
    runs = [
        module._Run(table, 2, Plan(max_cells=1000), "unbounded", (), np.random.default_rng(0), 1.0)
        for table in (TABLE, other)
    ]
    first, second = (
        [one.drawn(3, rng) for _ in range(20)] for one, rng in ((r, np.random.default_rng(5)) for r in runs)
    )
    assert first == second


def test_the_noise_is_drawn_at_the_recorded_scale(monkeypatch):
    """L1 sensitivity 1, L2 sensitivity 1 when a record comes or goes; 2 and sqrt(2) when one is replaced."""
    drawn = []
    monkeypatch.setattr(
        draws, "gaussian", lambda shape, scale, *, rng: drawn.append(scale) or rng.normal(0, scale, shape)
    )
    monkeypatch.setattr(
        draws, "laplace", lambda shape, scale, *, rng: drawn.append(scale) or rng.laplace(0, scale, shape)
    )
    first = {}
    for noise, neighbours in itertools.product(NOISES, module.NEIGHBOURS):
        drawn.clear()
        result = run(noise=noise, neighbours=neighbours, plan=AUTHORS_CODE)
        assert drawn == [step.sigma for step in result.steps]
        deviations = [m.sigma / step.sigma for m, step in zip(result.measurements, result.steps)]
        assert np.allclose(deviations, 1 if noise == "gaussian" else math.sqrt(2))
        first[noise, neighbours] = drawn[0]
    base = first["gaussian", "unbounded"]
    assert first["laplace", "unbounded"] == pytest.approx(base)
    assert first["gaussian", "bounded"] == pytest.approx(base * math.sqrt(2))
    assert first["laplace", "bounded"] == pytest.approx(base * 2)


def test_bounded_neighbours_know_the_number_of_records_and_unbounded_ones_do_not():
    assert run(0.05, neighbours="bounded").model.total == len(TABLE)
    assert len(run(0.05, neighbours="bounded").synthetic) == len(TABLE)
    assert run(0.05).model.total != len(TABLE)
    assert len(run(records=77).synthetic) == 77


def test_the_size_limit_holds():
    complete = run(epsilon=50, workload=3).model.size
    result = run(epsilon=50, workload=3, max_cells=40)
    assert complete > 40 and max(step.cells for step in result.steps) <= 40


class Counted(Table):
    """Notes which marginals are asked for."""

    def marginal(self, attributes):
        self.__dict__.setdefault("asked", []).append(tuple(attributes))
        return super().marginal(attributes)


@pytest.mark.slow
def test_what_cannot_be_afforded_is_not_counted_and_all_else_once():
    """Two attributes of 10^4 values: the table of both would have 10^8 cells."""
    table = Counted([[5, 7, 1], [7_000, 3, 0]], Domain({"a": 10**4, "b": 10**4, "c": 2}))
    result = run(table=table, max_cells=50_000, records=2, rounds=4)
    assert sorted(table.asked) == [(), ("a",), ("a", "c"), ("b",), ("b", "c"), ("c",)]
    assert max(step.cells for step in result.steps) <= 50_000


def test_what_is_kept_of_the_counts_changes_nothing(monkeypatch):
    kept = run(workload=3)
    monkeypatch.setattr(counting, "_KEPT", 40)
    table = Counted(TABLE.records, DOMAIN)
    again = run(workload=3, table=table)
    assert again.steps == kept.steps and np.array_equal(again.synthetic.records, kept.synthetic.records)
    assert table.asked.count(("a",)) == 1 < table.asked.count(("a", "b", "d"))


def test_a_noisy_total_that_is_enormous_is_not_synthesised(monkeypatch):
    monkeypatch.setattr(graphical_model, "MOST_CODES", 4 * 1000)
    assert run(epsilon=1e-6, seed=0).model.total > 10_000
    assert len(run(epsilon=1e-6, seed=0).synthetic) == 1000
    assert len(run(epsilon=1e-6, seed=0, records=1001).synthetic) == 1001


@pytest.mark.parametrize(("noise", "deviation"), [("gaussian", math.sqrt(2 / math.pi)), ("laplace", 1.0)])
def test_the_first_rounds_scores_are_those_of_line_11(noise, deviation, monkeypatch):
    """w_r (|truth - model|_1 - the noise to be expected of a measurement), the model being uniform."""
    asked = []
    monkeypatch.setattr(draws, "exponential", lambda scores, *given, **more: asked.append(scores) or 0)
    scale = run(noise=noise, neighbours="bounded", start="none", plan=AUTHORS_CODE).steps[0].sigma
    counts = [TABLE.marginal(names) for k in (1, 2) for names in itertools.combinations(DOMAIN.attributes, k)]
    # Of the six pairs, three hold an attribute; a pair shares two attributes with itself, one with four others.
    expected = [
        (3 if truth.ndim == 1 else 6) * (np.abs(truth - len(TABLE) / truth.size).sum() - deviation * scale * truth.size)
        for truth in counts
    ]
    assert asked[0] == pytest.approx(expected)


def test_errors_are_recorded_where_asked_for():
    result = run(epsilon=5, errors=(1, 3))
    last = result.steps[-1]
    assert len(last.errors) == 4 + 4 and not run().steps[-1].errors
    distance = np.abs(result.model.marginal(("a", "b", "c")) - TABLE.marginal(("a", "b", "c"))).sum()
    assert last.errors["a", "b", "c"] == pytest.approx(distance / len(TABLE))
    assert last.cells == result.model.size and last.gap == result.model.gap


def test_a_table_of_one_attribute_or_one_record_will_do():
    one = Table([[1]], Domain({"a": 2}))
    assert len(aim(one, 1.0, 1e-6, 1, rng=np.random.default_rng(0)).synthetic) >= 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"epsilon": 0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"epsilon": -1}, "epsilon must be in"),
        ({"epsilon": np.nan}, "epsilon must be in"),
        ({"delta": 0}, r"delta must be in \(0, 1\)"),
        ({"delta": 1}, r"delta must be in \(0, 1\)"),
        ({"workload": []}, "workload must contain a non-empty set"),
        ({"workload": [()]}, "workload must contain a non-empty set"),
        ({"workload": 0}, "workload must be in"),
        ({"workload": 5}, "workload must be in"),
        ({"workload": [("a", "z")]}, "got 'z'"),
        ({"workload": {("a",): 0.0}}, "workload weight must be in"),
        ({"workload": {("a",): 1e200, ("b",): 1e200}}, "workload weight must be in"),
        ({"workload": {("a",): 1e-101}}, "workload weight must be in"),
        ({"rounds": 3}, r"rounds must be in \[4, inf\)"),
        ({"alpha": 1}, "alpha must be in"),
        ({"alpha": 1 - 1e-12}, r"alpha must be in \[1e-9, 0.999999\], got"),
        ({"noise": "uniform"}, "noise must be one of"),
        ({"neighbours": "both"}, "neighbours must be one of"),
        ({"max_cells": 13}, "max_cells must be at least 14"),
        ({"records": 0}, "records must be in"),
        ({"errors": (5,)}, "errors must be in"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        run(**options)
