"""Runs of AIM seen step by step, against hand-made runs and independent accounts."""

from fractions import Fraction

import numpy as np
import pytest

from lib import accounting
from lib.accounting import compose_schedule
from lib.mechanisms import Exponential, Gaussian, Laplace
from lib.tables.adaptive_iterative import Step, aim
from lib.tables.plan import AUTHORS_CODE
from notebooks.studies import aim_trace
from tests import made_up

DELTA = 1e-5


def step(attributes, rho_used, epsilon=0.1, annealed=False, errors=None, sigma=10.0):
    return Step(attributes, sigma, epsilon, rho_used, 0, 0.0, 0, annealed, errors or {})


@pytest.fixture(scope="module")
def table():
    return made_up.dependent_table()


@pytest.fixture(scope="module")
def run(table):
    return aim(table, 1.0, DELTA, rng=np.random.default_rng(1), errors=(1, 2), plan=AUTHORS_CODE)


# ---- what was spent


def test_charges_add_up_to_what_was_used(run):
    cost = aim_trace.charges(run.steps)
    assert cost.sum() == pytest.approx(run.rho_used, rel=1e-12)
    expected = [1 / (2 * s.sigma**2) + s.epsilon**2 / 8 for s in run.steps]
    np.testing.assert_allclose(cost, expected, rtol=1e-9)


def test_the_initialisation_is_one_step_an_attribute(run, table):
    assert aim_trace.initial(run.steps) == len(table.domain)


def test_paces_are_read_off_the_charges_alone():
    totals = np.cumsum([1, 1, 2, 2, 8, 8, 32, 5])  # two initial steps, the last round gets the rest
    steps = [step(("a",), total, epsilon=0 if i < 2 else 0.1) for i, total in enumerate(totals)]
    assert aim_trace.paces(steps) == [5, 7]
    assert aim_trace.paces(steps, factor=5) == []


def test_paces_follow_annealing(run):
    after = [n + 1 for n in aim_trace.annealed(run.steps) if n + 1 < len(run.steps)]
    assert after and aim_trace.paces(run.steps) == after


def test_milestones_hold_the_ends_and_every_change(run):
    numbers = aim_trace.milestones(run.steps, 3)
    assert numbers == sorted(set(numbers))
    assert {1, len(run.steps), aim_trace.initial(run.steps), *aim_trace.annealed(run.steps)} <= set(numbers)


def test_spent_ends_at_the_budget_by_zcdp(run):
    frame = aim_trace.spent(run.steps, DELTA, [1, 4, len(run.steps)])
    assert list(frame.index) == [1, 4, len(run.steps)]
    assert frame["zcdp"].iloc[-1] == pytest.approx(1.0, rel=1e-6)
    assert (np.diff(frame["zcdp"]) > 0).all()
    assert ((frame["lower"] <= frame["estimate"]) & (frame["estimate"] <= frame["upper"])).all()


def test_spent_brackets_the_exact_epsilon_of_gaussian_steps(run):
    first = run.steps[: aim_trace.initial(run.steps)]
    for number, row in aim_trace.spent(first, DELTA).iterrows():
        exact = accounting.gaussian_epsilon(first[0].sigma / number**0.5, DELTA)
        assert row["lower"] <= exact <= row["upper"]


@pytest.mark.parametrize("at", [[0], [10_000], [1.5]])
def test_spent_refuses_steps_that_were_not(run, at):
    with pytest.raises(ValueError, match="at"):
        aim_trace.spent(run.steps, DELTA, at)


# ---- the algorithms as printed


def test_a_run_has_the_printed_schedule(run):
    found = aim_trace.printed_schedule(run, 16 * 4)
    np.testing.assert_allclose(found, [(s.sigma, s.epsilon) for s in run.steps], rtol=1e-9)
    assert not np.allclose(found, aim_trace.printed_schedule(run, 16 * 5))


def test_the_printed_budget_by_hand():
    """T = 4, d = 1: 9/40, then rounds of 1/4, until at most two more would fit."""
    assert aim_trace.printed_spending([False] * 3, 4, 1) == (1, 0)  # 9/40 + 10/40, then 21/40 > 2/4; then 11/40
    used, left = aim_trace.printed_spending([True] * 2, 4, 1)  # after one round, 21/40 <= 2: all that is left
    assert (used, left) == (1, 0)
    assert aim_trace.printed_spending([False], 9, 9) == (Fraction(9, 10) + Fraction(1, 9), Fraction(-1, 90))
    assert aim_trace.printed_spending([], 4, 9) == (Fraction(81, 40), Fraction(1, 4))


def test_a_budget_that_is_not_used_up_is_refused():
    with pytest.raises(ValueError, match="anneals"):
        aim_trace.printed_spending([False] * 2, 4, 1)


@pytest.mark.parametrize(("rounds", "share", "named"), [(0, 0.9, "rounds"), (1.5, 0.9, "rounds"), (9, 1.0, "share")])
def test_printed_schedules_refuse_bad_input(run, rounds, share, named):
    with pytest.raises(ValueError, match=named):
        aim_trace.printed_schedule(run, rounds, share)


# ---- calibration


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_tightened_gaussians_are_calibrated_exactly(epsilon):
    factor = aim_trace.tightened([(Gaussian(4.0).prv, 5)], epsilon, DELTA)
    exact = 4.0 / 5**0.5 / accounting.gaussian_sigma(epsilon, DELTA)
    assert exact * 0.99 < factor <= exact * (1 + 1e-3)


@pytest.mark.slow
def test_tightened_schedules_cost_epsilon_and_save_noise():
    schedule = [(Gaussian(1.0, 2.0).prv, 3), (Exponential(0.4).prv, 3), (Laplace(3.0).prv, 2)]
    factor = aim_trace.tightened(schedule, 2.0, DELTA, exponential="bounded range prv")
    scaled = [(Gaussian(1 / factor, 2.0).prv, 3), (Exponential(0.4 * factor).prv, 3), (Laplace(3 / factor).prv, 2)]
    upper = compose_schedule(scaled, DELTA, exponential="bounded range prv").upper
    assert upper == pytest.approx(2.0, abs=2e-3)
    assert factor**2 * accounting.compose_zcdp(schedule) > accounting.dp_to_zcdp(2.0, DELTA)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 501.0])
def test_tightened_refuses_a_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        aim_trace.tightened([(Gaussian(1.0).prv, 1)], epsilon, DELTA)


# ---- errors along the steps


def test_errors_are_means_over_the_sets_of_one_size():
    errors = {("a",): 0.5, ("b",): 0.1, ("a", "b"): 0.7}
    steps = [step(("a",), 1.0, errors=errors)]
    assert aim_trace.errors(steps, 1) == pytest.approx([0.3])
    assert aim_trace.errors(steps, 2) == pytest.approx([0.7])


def test_the_last_errors_are_those_of_the_model(run, table):
    model, pairs = run.model, [s for s in run.steps[-1].errors if len(s) == 2]
    expected = [np.abs(table.marginal(p) - model.marginal(p)).sum() / len(table) for p in pairs]
    assert len(pairs) == 6
    assert aim_trace.errors(run.steps, 2)[-1] == pytest.approx(np.mean(expected), rel=1e-9)


def test_chosen_and_rest_take_measured_sets_whatever_their_order():
    errors = {("a", "b"): 0.2, ("a", "c"): 0.6, ("b", "c"): 1.0}
    steps = [step(names, 1.0, errors=errors) for names in (("a",), ("b", "a"), ("c", "b"), ("a", "c"))]
    chosen, rest = aim_trace.chosen_and_rest(steps)
    np.testing.assert_allclose(chosen, [np.nan, 0.2, 0.6, 0.6])
    np.testing.assert_allclose(rest, [0.6, 0.8, 0.6, np.nan])
    table = aim_trace.selections(steps)
    assert table.loc["a × b"].tolist() == [0, 1, 0, 0]
    assert table.to_numpy().sum() == 3 and list(table.columns) == [1, 2, 3, 4]


@pytest.mark.parametrize("steps", [[], [step(("a",), 1.0)]])
def test_errors_that_were_not_recorded_are_missed(steps):
    with pytest.raises(ValueError, match="errors"):
        aim_trace.errors(steps, 2)
