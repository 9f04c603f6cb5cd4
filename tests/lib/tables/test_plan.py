"""AIM's plan: what it measures first, the scores of its choices, and when its noise becomes finer."""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from lib.mechanisms.noise import gaussian
from lib.mechanisms.selection import exponential
from lib.tables import adaptive_iterative as module
from lib.tables import plan as plans
from lib.tables.adaptive_iterative import aim
from lib.tables.plan import AUTHORS_CODE, OURS, PRINTED, Plan
from lib.tables.private_draws import GRAIN, ExactDraws, FloatingDraws
from lib.tables.table import Domain, Table

DOMAIN = Domain({"a": 3, "b": 30, "c": 2})
PRINTED_DEVICES = Plan("printed", "printed", "printed")  # with our fits
_rng = np.random.default_rng(0)
_a = _rng.choice(3, p=[0.7, 0.2, 0.1], size=2000)
_b = np.minimum(9 * _a + _rng.geometric(0.4, size=2000) - 1, 29)  # large tables of both have few cells that occur
TABLE = Table(np.stack([_a, _b, (_rng.random(2000) < 0.1).astype(int)], axis=1), DOMAIN)


def run(epsilon=1.0, seed=0, table=TABLE, **options):
    return aim(table, epsilon, 1e-6, rng=np.random.default_rng(seed), **options)


def singles(result):
    return [step for step in result.steps if step.epsilon == 0]


# ---- the start


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60))
def test_parts_are_a_budget(sizes):
    parts = plans.parts(sizes)
    assert all(isinstance(part, Fraction) and part > 0 for part in parts)
    assert 1 - 1e-6 < sum(parts) <= 1 and sorted(parts) == [part for _, part in sorted(zip(sizes, parts))]


@pytest.mark.parametrize("sizes", [(2, 9), (3, 3, 40), (2, 5, 17, 90)])
def test_parts_make_the_sum_of_errors_least(sizes):
    """The reference is a minimizer that does not use the formula."""

    def errors(logs):
        shares = np.exp(logs - np.logaddexp.reduce(logs))
        return sum(n / math.sqrt(share) for n, share in zip(sizes, shares))

    found = optimize.minimize(errors, np.zeros(len(sizes)), tol=1e-12)
    mine = errors(np.log([float(part) for part in plans.parts(sizes)]))
    assert mine <= found.fun * (1 + 1e-6)
    assert mine < errors(np.zeros(len(sizes))) * 0.99


@given(st.floats(1e-12, 1e12), st.integers(1, 100))
def test_the_share_grows_as_the_root_of_the_noise_within_bounds(noise, d):
    share = plans.first_share(noise, d)
    assert Fraction(0.1) - Fraction(1, 10**8) < share <= Fraction(1, 2)
    assert float(share) == pytest.approx(min(max(3 * max(3 / math.sqrt(d), 1) * math.sqrt(noise), 0.1), 0.5), abs=2e-9)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_a_sized_start_spends_what_it_says(noise, neighbours):
    """The budget of the total, of all attributes together, and of each, told from the scales alone."""
    result = run(
        epsilon=20.0, neighbours=neighbours, plan=Plan(noise=noise), seed=3
    )  # enough for a share between its bounds
    changed = {"unbounded": 1, "bounded": 2}[neighbours]
    per_sigma = math.sqrt(changed) if noise == "gaussian" else changed
    shares = [(per_sigma / step.sigma) ** 2 / 2 / result.rho for step in singles(result)]
    known = neighbours == "bounded"
    assert [step.attributes for step in singles(result)] == ([] if known else [()]) + [("a",), ("b",), ("c",)]
    records = len(TABLE)
    if not known:
        assert shares.pop(0) == pytest.approx(0.01)
        records = float(result.measurements[0].values)
    parts = np.array([float(part) for part in plans.parts(DOMAIN.sizes)])
    scales = per_sigma / np.sqrt(2 * parts * result.rho)
    mean_absolute = scales * (math.sqrt(2 / math.pi) if noise == "gaussian" else 1)
    expected = 3 * math.sqrt(3) * math.sqrt(np.mean(np.array(DOMAIN.sizes) * mean_absolute) / records)
    assert 0.1 < expected < 0.5
    assert sum(shares) == pytest.approx(expected, rel=1e-6)
    assert np.array(shares) / sum(shares) == pytest.approx(parts, rel=1e-6)


def test_the_share_is_of_the_attributes_of_the_workload():
    """The workload has two attributes, and the table has three."""
    result = run(epsilon=20.0, workload=[("b", "c")])
    total, *alone = singles(result)
    assert [step.attributes for step in alone] == [("b",), ("c",)]
    parts = [float(part) for part in plans.parts([30, 2])]
    noise = [size * math.sqrt(2 / math.pi) / math.sqrt(2 * part * result.rho) for size, part in zip((30, 2), parts)]
    expected = 3 * math.sqrt(9 / 2) * math.sqrt(np.mean(noise) / float(result.measurements[0].values))
    assert 0.1 < expected < 0.5
    assert sum(1 / (2 * step.sigma**2) for step in alone) / result.rho == pytest.approx(expected, rel=1e-6)


def test_what_the_start_leaves_is_divided_among_the_rounds():
    result = run(epsilon=20.0, plan=Plan(rounds=30))
    first = result.steps[len(singles(result))]
    left = result.rho - singles(result)[-1].rho_used
    assert 1 / (2 * first.sigma**2) + first.epsilon**2 / 8 == pytest.approx(left / 30)


def test_more_records_leave_more_for_the_rounds():
    few, many = (
        singles(run(5.0, table=Table(np.repeat(TABLE.records, n, axis=0), DOMAIN)))[-1].rho_used for n in (1, 100)
    )
    assert many < few / 1.5


# ---- the choice


def brute(truth, believed, expected, clear):
    found = 0.0
    for cell in itertools.product(*map(range, truth.shape)):
        off = abs(float(truth[cell]) - float(believed[cell]))
        found += max(off - expected, 0.0) if clear else off - expected
    return found


def tables():
    return st.lists(st.tuples(st.integers(0, 50), st.floats(0, 50)), min_size=1, max_size=8)


@given(tables(), st.floats(0.1, 20), st.booleans(), st.sampled_from([1, 2]))
def test_scores_are_those_of_a_loop_over_the_cells(cells, sigma, clear, changed):
    truth, believed = np.array([cell[0] for cell in cells]), np.array([cell[1] for cell in cells])
    floating = FloatingDraws("gaussian", changed, {(0,): 3.0}, None, clear)
    expected = math.sqrt(2 / math.pi) * sigma
    mine = 3 * brute(truth, believed, expected, clear)
    assert floating.score((0,), truth, believed, sigma) == pytest.approx(mine, abs=1e-9)
    exact = ExactDraws(changed, {(0,): 3.0}, None, clear)
    score = exact.score((0,), truth, believed, Fraction(sigma))
    assert isinstance(score, int) and score / GRAIN == pytest.approx(mine, abs=3 * (len(cells) + 1) / GRAIN)


@given(tables(), st.integers(0, 7), st.floats(0.1, 20), st.booleans())
def test_a_record_changes_a_score_by_its_weight_at_most(cells, where, sigma, clear):
    truth, believed = np.array([cell[0] for cell in cells]), np.array([cell[1] for cell in cells])
    more = truth.copy()
    more[where % len(cells)] += 1
    exact = ExactDraws(1, {(0,): 3.0}, None, clear)
    one, other = (exact.score((0,), each, believed, Fraction(sigma)) for each in (truth, more))
    assert abs(one - other) <= 3 * GRAIN


def test_a_large_table_with_a_few_cells_that_are_far_off_is_seen_by_a_clear_choice_alone():
    truth, believed = np.zeros(1000, int), np.ones(1000)
    truth[:4] = 250
    for clear in (False, True):
        draws = FloatingDraws("gaussian", 1, {(0,): 1.0}, None, clear)
        assert (draws.score((0,), truth, believed, 20.0) > 0) == clear


# ---- the pace


def taught_little(values, before, sigma, noise="gaussian"):
    state = object.__new__(module._Run)
    state.plan, state.draws = Plan(), FloatingDraws(noise, 1, {}, None)
    state.measurements = [module.Measurement(("a",), values, sigma)]
    return state._taught_little((0,), before, sigma)


@pytest.mark.parametrize("noise, variance", [("gaussian", 2), ("laplace", 5)])
def test_a_measurement_teaches_little_up_to_a_standard_deviation_above_what_noise_makes(noise, variance):
    before, n = np.full(50, 7.0), 50
    for factor, little in ((0.999, True), (1.001, False)):
        off = math.sqrt(factor * (n + math.sqrt(variance * n)) / n)
        assert taught_little(before + 3.0 * off, before, 3.0, noise) == little


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_squares_of_noise_have_that_variance(noise):
    """They agree within five standard errors."""
    draws, n = FloatingDraws(noise, 1, {}, np.random.default_rng(4)), 1_000_000
    values, deviation = draws.noisy(np.zeros(n), 2.0)
    squares = (values / deviation) ** 2
    error = math.sqrt(((squares - 1) ** 2).var() / n)
    assert squares.var() == pytest.approx(draws.variance_of_squares, abs=5 * error)


def test_the_budget_of_a_round_doubles_or_as_printed_becomes_four_times_as_large():
    for plan, growth in ((Plan(), 2), (AUTHORS_CODE, 4)):
        steps = [step for step in run(epsilon=3.0, plan=plan).steps if step.epsilon > 0]
        grown = [(after.epsilon / step.epsilon) ** 2 for step, after in zip(steps[:-2], steps[1:-1]) if step.annealed]
        assert grown and grown == pytest.approx([growth] * len(grown))


# ---- as printed


def by_the_paper(table, rho, rounds, steps, draw, choose):
    """Run Algorithms 1 to 4 of miura2025, line by line, on a table of all records; return the measurements and the last distribution.

    Algorithm 1 moves the potentials of a table by the gradient of line 13's loss with a line search, `steps` times from the theta before.
    """
    d, alpha, names = len(table.domain), 0.9, table.domain.attributes
    closure = [r for k in (1, 2) for r in itertools.combinations(range(d), k)]
    axes = {r: tuple(v for v in range(d) if v not in r) for r in closure}
    data = {r: table.marginal(tuple(names[v] for v in r)) for r in closure}
    weights = {r: sum(len({*r} & {*s}) for s in closure if len(s) == 2) for r in closure}
    sigma, epsilon = math.sqrt(rounds / (2 * alpha * rho)), math.sqrt(8 * (1 - alpha) * rho / rounds)
    told, used, theta = [], 0.0, np.zeros(table.domain.sizes)

    def total():
        """Return the estimate of smallest variance, which is the sum of every table."""
        precision = [1 / (s**2 * y.size) for _, y, s in told]
        return sum(p * y.sum() for p, (_, y, _) in zip(precision, told)) / sum(precision)

    def marginals(theta):
        p = np.exp(theta - theta.max())
        return {r: total() * (p / p.sum()).sum(axis=axes[r]) for r in closure}

    def loss(theta):
        """Return half the loss of line 13, and its gradient in the potential of every record."""
        mu = marginals(theta)
        residuals = [(mu[r] - y) / s for r, y, s in told]
        spread = [np.expand_dims(e, axes[r]) for e, (r, _, _) in zip(residuals, told)]
        return sum(0.5 * (e**2).sum() * s for e, (*_, s) in zip(residuals, told)), sum(spread, np.zeros(theta.shape))

    def fit(theta):
        value, slope = loss(theta)
        of_a_cell = {}
        for r, y, s in told:
            of_a_cell[r] = of_a_cell.get(r, 0) + (marginals(theta)[r] - y) / s
        eta = 1 / (total() * max(np.abs(g).max() for g in of_a_cell.values()))
        for _ in range(steps):
            while True:
                moved = theta - eta * slope
                value_there, slope_there = loss(moved)
                p, q = (np.exp(t - t.max()) for t in (theta, moved))
                promised = 0.5 * (slope * total() * (p / p.sum() - q / q.sum())).sum()
                if value_there <= value - promised:
                    break
                eta /= 2
            theta, value, slope, eta = moved, value_there, slope_there, 2 * eta
        return theta

    for r in closure[:d]:  # Algorithm 3
        told.append((r, draw(data[r], sigma), sigma))
        used += 1 / (2 * sigma**2)
    theta = fit(theta)
    while used < (1 - 1e-9) * rho:  # Algorithm 2, line 8, to rounding
        used += epsilon**2 / 8 + 1 / (2 * sigma**2)
        believed = marginals(theta)
        far = {r: np.abs(data[r] - believed[r]).sum() - math.sqrt(2 / math.pi) * sigma * data[r].size for r in closure}
        r = closure[choose([weights[r] * far[r] for r in closure], epsilon, max(weights.values()))]
        told.append((r, draw(data[r], sigma), sigma))
        theta = fit(theta)
        moved = np.abs(marginals(theta)[r] - believed[r]).sum()
        if moved <= math.sqrt(2 / math.pi) * sigma * data[r].size:  # Algorithm 4
            sigma, epsilon = sigma / 2, 2 * epsilon
        if 1e-9 * rho < (left := rho - used) <= 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            epsilon, sigma = math.sqrt(8 * (1 - alpha) * left), math.sqrt(1 / (2 * alpha * left))
    return told, marginals(theta)


def test_the_printed_plan_is_the_algorithm_that_the_paper_prints():
    """The same draws in the same order, so that every choice and every number is the same."""
    small = Table(TABLE.records[:, [0, 2, 0]] % [3, 2, 2], Domain({"a": 3, "c": 2, "e": 2}))
    for seed in range(3):
        mine = run(1.0, seed, small, plan=dataclasses.replace(PRINTED, descent=7))
        rng = np.random.default_rng(seed)
        draw = lambda counts, sigma: counts + gaussian(counts.shape, sigma, rng=rng)
        choose = lambda scores, epsilon, most: exponential(scores, epsilon, most, rng=rng)
        told, marginals = by_the_paper(small, mine.rho, 48, 7, draw, choose)
        assert len(mine.steps) > 6 and any(step.annealed for step in mine.steps)
        names = [tuple(small.domain.attributes[v] for v in r) for r, *_ in told]
        assert [m.attributes for m in mine.measurements] == names
        for measurement, (_, values, sigma) in zip(mine.measurements, told, strict=True):
            assert measurement.sigma == pytest.approx(sigma, rel=1e-9)
            assert measurement.values == pytest.approx(values, rel=1e-9)
        for r, counts in marginals.items():
            assert mine.model.counts(r) == pytest.approx(counts, rel=1e-6)
    assert (PRINTED.descent, AUTHORS_CODE.descent) == (1000, 0)  # of Algorithm 1, in the authors' code; none


def test_a_descent_takes_in_a_measured_total():
    """This holds although a measurement of no attribute leaves nothing to descend on."""
    result = run(50.0, plan=Plan(start="sized", descent=300))
    assert result.measurements[0].attributes == ()
    assert result.model.total == pytest.approx(2000, abs=2) and result.model.evaluations > 300
    assert result.model.marginal(("a",)) == pytest.approx(TABLE.marginal(("a",)), abs=20)


# ---- all of it


@functools.cache  # of a table by its identity
def errors(table, epsilon, plan, k, runs=20) -> np.ndarray:
    """Return the k-way errors of each of `runs` runs."""
    sets = list(itertools.combinations(table.domain.attributes, k))
    made = [run(epsilon, seed, table, plan=plan).synthetic for seed in range(runs)]
    distances = [[np.abs(each.marginal(names) - table.marginal(names)).sum() for names in sets] for each in made]
    return np.mean(distances, axis=1) / len(table)


@functools.cache
def linked():
    """Return a table where 35 of 1,225 cells occur, each with about 55 records; the noise of all cells exceeds the number of records."""
    rng = np.random.default_rng(1)
    value = rng.integers(35, size=2000)
    return Table(np.stack([value, value, rng.integers(2, size=2000)], axis=1), Domain({"a": 35, "b": 35, "c": 2}))


def check_a_link_between_many_values_is_found(plan):
    printed, ours = (errors(linked(), 1.0, each, 2) for each in (PRINTED_DEVICES, plan))
    assert ours.max() < 0.6 * printed.min()


@pytest.mark.slow
def test_a_link_between_many_values_is_found():
    check_a_link_between_many_values_is_found(Plan())
    with pytest.raises(AssertionError):
        check_a_link_between_many_values_is_found(Plan(choice="printed"))


@functools.cache
def skewed():
    """Return eight attributes of few and many values."""
    rng = np.random.default_rng(2)
    sizes = (2, 3, 4, 6, 9, 14, 20, 30)
    columns = [np.minimum(rng.geometric(3 / (n + 2), size=3000) - 1, n - 1) for n in sizes]
    return Table(np.stack(columns, axis=1), Domain({f"a{n}": n for n in sizes}))


def check_single_attributes_are_closer(plan):
    printed, ours = (errors(skewed(), 0.5, each, 1) for each in (PRINTED_DEVICES, plan))
    assert ours.mean() + 3 * math.hypot(ours.std(), printed.std()) / math.sqrt(len(ours)) < printed.mean()


@pytest.mark.slow
def test_single_attributes_are_closer_by_a_sized_start():
    check_single_attributes_are_closer(Plan())
    with pytest.raises(AssertionError):
        check_single_attributes_are_closer(Plan(start="printed"))


@pytest.mark.parametrize(
    "bad", [{"start": "even"}, {"choice": "tested"}, {"pace": None}, {"noise": "uniform"}, {"last_fit": 2}]
)
def test_other_words_are_refused(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"{name} must be one of .*, got {value!r}"):
        Plan(**bad)


def test_no_other_thing_is_a_plan():
    with pytest.raises(ValueError, match="plan must be a Plan, such as plan.PRINTED, got 'printed'"):
        run(plan="printed")


def test_the_rounds_and_the_room_of_a_plan():
    assert [PRINTED.rounds_for(d) for d in (5, 32, 60, 200)] == [80, 512, 960, 3200]
    assert [OURS.rounds_for(d) for d in (5, 32, 60, 200)] == [25, 160, 160, 400]
    assert PRINTED.max_cells_for(9, 1e-5, 50) == 10_000_000 and OURS.max_cells_for(9, 1e-5, 50) == 100_000
    assert OURS.max_cells_for(9, 1.0, 50) == 5_000_000 and OURS.max_cells_for(9, 1e-5, 5000) == 300_000
    assert OURS.max_cells_for(9, 1e3, 50) == 10_000_000
    assert OURS.max_cells_for(40, 1e3, 50) == OURS.max_cells_for(40, 1e-5, 10**9) == 500_000
    assert [OURS.candidates_for(d) for d in (5, 32, 33)] == [1000, 1000, 100]
    for printed in (PRINTED, AUTHORS_CODE):  # of any table: 16 d rounds, one limit, and all of W_+
        assert [printed.max_cells_for(d, 1.0, 50) for d in (9, 40, 1000)] == [10_000_000] * 3
        assert printed.candidates_for(1000) > 2**62
    given = Plan(rounds=40, max_cells=77, candidates=3)
    assert (given.rounds_for(5), given.max_cells_for(40, 1.0, 10**400), given.candidates_for(40)) == (40, 77, 3)
