"""Exact runs of AIM: only integers and fractions touch the data, the budget is kept, and errors are as in floating point."""

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lib import accounting
from lib.mechanisms import exact_noise
from lib.mechanisms.selection import exact_exponential, exponential
from lib.release.counter import Counter
from lib.tables import adaptive_iterative, marginal_oracle
from lib.tables import private_draws as draws
from lib.tables.adaptive_iterative import aim
from lib.tables.budget_schedule import ExactSchedule
from lib.tables.plan import AUTHORS_CODE, OURS, PRINTED, Plan
from lib.tables.private_draws import GRAIN, ExactDraws, FloatingDraws
from lib.tables.table import Domain, Table
from tests.lib.tables.made import WatchedTable, counted

DOMAIN = Domain({"a": 2, "b": 3, "c": 4, "d": 3})
_codes = np.random.default_rng(5).integers(0, [2, 3, 4, 3], size=(600, 4))
_codes[:, 1] = np.where(_codes[:, 0] == 1, 2, _codes[:, 1])
TABLE = Table(_codes, DOMAIN)


RHO = functools.cache(accounting.certified_zcdp)  # of epsilon and delta alone: runs on many tables share it


@pytest.fixture
def seeded(monkeypatch):
    """Make exact runs repeatable: here only, a generator takes the place of the operating system's randomness."""

    def start(seed):
        bits, after = (np.random.Generator(np.random.PCG64([seed, part])) for part in (1, 2))
        monkeypatch.setattr(accounting, "certified_zcdp", RHO)
        monkeypatch.setattr(adaptive_iterative, "system_rng", lambda: bits)
        monkeypatch.setattr(adaptive_iterative.np.random, "default_rng", lambda *_: after)

    return start


# ---- the exact exponential mechanism


@pytest.mark.slow
@pytest.mark.parametrize(
    "scores, epsilon, sensitivity",
    [
        ([0, 5, 9, 10], Fraction(1, 3), 2),
        ([3], 1.0, 1),
        ([10**30, 10**30 + 2, 0], Fraction(7, 8), 3),
        ([-4, -4, -1], 2, 1),
    ],
)
def test_choices_have_the_exponential_mechanisms_law(scores, epsilon, sensitivity):
    """Pearson's test at a false-alarm rate of 1e-6, with a fixed seed."""
    rng, trials = np.random.default_rng(11), 4000
    seen = np.bincount(
        [exact_exponential(scores, epsilon, sensitivity, rng=rng) for _ in range(trials)], minlength=len(scores)
    )
    weights = np.array([math.exp(float(epsilon) * (score - max(scores)) / (2 * sensitivity)) for score in scores])
    expected = trials * weights / weights.sum()
    possible = expected > 1e-3
    assert not seen[~possible].any()
    if possible.sum() > 1:
        assert stats.chisquare(seen[possible], seen.sum() * expected[possible] / expected[possible].sum()).pvalue > 1e-6


@pytest.mark.parametrize(
    "arguments, named",
    [
        (([], 1.0, 1), "scores must be integers of shape"),
        (([0.5, 1], 1.0, 1), "scores must be integers"),
        (([True, False], 1.0, 1), "scores must be integers"),
        (([1, 2], 0.0, 1), "epsilon must be in .0, inf., got 0"),
        (([1, 2], 1.0, 0), "sensitivity must be in .1, inf., got 0"),
    ],
)
def test_bad_choices_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        exact_exponential(*arguments, rng=np.random.default_rng(1))


# ---- the budget


@pytest.mark.slow
@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=1000),
    st.integers(4, 200),
    st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000)),
    st.lists(st.booleans(), max_size=30),
    st.lists(st.sampled_from([None, *map(Fraction, ("0.01", "0.2", "0.5", "0.9", "1"))]), max_size=4),
    st.sampled_from([2, 4]),
)
def test_the_exact_budget_is_spent_to_a_millionth_and_never_exceeded(rho, rounds, alpha, anneals, first, growth):
    schedule, spent = ExactSchedule(rho, Fraction(rounds), alpha), Fraction(0)
    for share in first:
        if share is not None and 1 / (2 * schedule.multiplier_of(share) ** 2) >= rho - spent:
            with pytest.raises(ValueError, match="share must be below"):
                schedule.measure(share)
            assert schedule.used == spent
            continue
        multiplier = schedule.measure(share)
        spent += 1 / (2 * multiplier**2)
        assert share is None or 1 / (2 * multiplier**2) <= share * rho
    if first:
        schedule.divide()
    decisions = itertools.chain(anneals, itertools.repeat(True))
    while not schedule.exhausted:
        spent += 1 / (2 * schedule.multiplier**2) + schedule.epsilon**2 / 8
        schedule.spend()
        assert spent == schedule.used <= rho
        if not schedule.last:
            schedule.advance(next(decisions), growth)
    assert isinstance(schedule.used, Fraction) and schedule.used >= rho * (1 - Fraction(1, 10**4))


def test_an_exact_schedule_keeps_something_for_a_round():
    """The amount asked for is the whole budget, to the last digit."""
    schedule = ExactSchedule(Fraction(1, 2), Fraction(4), Fraction(9, 10))
    assert schedule.multiplier_of(Fraction(1)) == 1
    with pytest.raises(ValueError, match="share must be below 1.0, the part of the budget that is left, got 1.0"):
        schedule.measure(Fraction(1))
    assert schedule.used == 0


@pytest.mark.parametrize("plan", [OURS, AUTHORS_CODE], ids=["ours", "printed"])
@pytest.mark.parametrize("neighbours, changed", [("unbounded", 1), ("bounded", 2)])
def test_what_is_drawn_costs_what_is_booked(neighbours, changed, plan, monkeypatch):
    """The zCDP of a run, added up from what its noise and its choices are drawn with, and from sensitivities worked out by hand."""
    heaviest = 6  # of all pairs of four attributes a pair shares two with itself and one with four others: its weight
    costs = []

    def noise(shape, scale, *, rng):
        costs.append(changed / (2 * scale**2))
        return exact_noise.discrete_gaussian(shape, scale, rng=rng)

    def choice(scores, epsilon, sensitivity, *, rng):
        costs.append((epsilon * GRAIN * changed * heaviest / sensitivity) ** 2 / 8)
        return exact_exponential(scores, epsilon, sensitivity, rng=rng)

    monkeypatch.setattr(draws, "discrete_gaussian", noise)
    monkeypatch.setattr(draws, "exact_exponential", choice)
    result = aim(TABLE, 1.0, 1e-6, neighbours=neighbours, plan=plan)
    spent = sum(costs)
    assert spent <= result.rho_used <= result.rho
    assert spent >= result.rho * (1 - Fraction(1, 10**4))


# ---- what touches the data


@pytest.fixture
def released(monkeypatch):
    """Adding the discrete Gaussian ends the watch; nothing else does."""

    def noisy(self, counts, scale):
        noise = exact_noise.discrete_gaussian(counts.shape, scale, rng=self.rng)
        return np.asarray(counts + noise), float(scale)

    monkeypatch.setattr(ExactDraws, "noisy", noisy)


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_no_count_meets_a_float_before_its_noise(released, neighbours):
    watched = WatchedTable(_codes, DOMAIN)
    assert len(aim(watched, 1.0, 1e-6, neighbours=neighbours).synthetic) > 0


def test_a_float_that_meets_a_count_is_found(released, monkeypatch):
    """The watch works: the floating-point scores, planted in an exact run, are caught."""
    monkeypatch.setattr(ExactDraws, "score", draws.FloatingDraws.score)
    with pytest.raises(AssertionError, match="mixes counts with floats"):
        aim(WatchedTable(_codes, DOMAIN), 1.0, 1e-6)


RUNS = {
    "ours": ((2, 3, 4, 3), {}),
    "printed": ((2, 3, 4, 3), {"plan": AUTHORS_CODE}),
    "descent": ((2, 3, 4, 3), {"plan": replace(PRINTED, descent=3)}),
    "few candidates": ((2, 3, 1, 3), {"plan": Plan(candidates=3), "records": 50}),
    "one attribute": ((5,), {"workload": 1}),
    "nothing fits": ((3, 3, 3, 3), {"plan": Plan(start="none", candidates=1, max_cells=12)}),
    "large tables": ((120, 100, 2), {"plan": Plan(rounds=5)}),
    "many candidates": ((2,) * 14, {"plan": Plan(rounds=14, pace="steady", max_cells=200)}),
}


# Each run with both relations and both kinds of draws, and with even and odd counts, in turn.
TURNS = {
    f"{name}, {relation}, {kind}, {'even' if (place + turn) % 2 else 'odd'} counts": (
        *(*run, relation, kind == "exact", (place + turn) % 2 == 1),
    )
    for place, (name, run) in enumerate(RUNS.items())
    for turn, (relation, kind) in enumerate(
        [("unbounded", "exact"), ("unbounded", "seeded"), ("bounded", "seeded"), ("bounded", "exact")]
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("sizes, options, neighbours, exact, even", TURNS.values(), ids=TURNS)
def test_the_records_speak_through_noisy_counts_and_choices_alone(
    sizes, options, neighbours, exact, even, seeded, monkeypatch
):
    """With the same noisy counts and choices, everything public is the same, whatever the records are.

    If the number of records is secret, this holds for any number: none, one, or a million, more than the noisy counts say. The records may
    be all the same, the same in the first attribute, or such that their counts without noise are even and the model fits them.

    The mechanisms get the records' counts of all candidates that fit, and nothing else asks for counts.
    """
    domain, rng = Domain({f"a{v}": size for v, size in enumerate(sizes)}), np.random.default_rng(6)
    options = {"workload": 2, "neighbours": neighbours} | options
    total = domain.size() if even else 5000
    product = np.stack(np.unravel_index(np.arange(total) % domain.size(), sizes), axis=1)
    tables = [Table(product, domain), Table(rng.integers(0, sizes, (total, len(sizes))), domain)]
    tables.append(Table(np.tile(np.array(sizes) - 1, (total, 1)), domain))
    tables.append(Table(tables[1].records * np.minimum(np.arange(len(sizes)), 1), domain))
    if neighbours == "unbounded":
        most = 20_000 if even or len(sizes) == 14 else 1_000_001
        tables += [Table(product[:1], domain), Table(np.resize(tables[1].records, (most, len(sizes))), domain)]
        tables.append(Counter(domain, options["workload"]))
    fits = marginal_oracle.MarginalOracle.fits
    fitting, rounds, given, scored, sources = [], [], [], [], []

    def watched(self, clique, limit):
        fitting.append((clique, limit, fits(self, clique, limit)))
        return fitting[-1][-1]

    def noisy(self, counts, scale):
        assert self.rng is sources[-1]
        given.append(counts)
        values = np.arange(counts.size).reshape(counts.shape) % 7 + (5000 if counts.size == 1 else 20)
        return np.full(counts.shape, total // counts.size) if even else values, float(scale)

    def score(self, clique, truth, believed, scale):
        scored.append((clique, truth))
        return 0

    def choose(self, scores, epsilon):
        assert self.rng is sources[-1]
        fit = [clique for clique, _, fit in fitting if fit]
        assert list(scores) == fit or (not fit and len(scores) == 1)
        rounds.append((fitting.copy(), epsilon))
        fitting.clear()
        return list(scores)[len(rounds) % len(scores)]

    def everything(table):
        for each in (fitting, rounds, given, scored):
            each.clear()
        seeded(3)
        rng = None if exact else np.random.Generator(np.random.PCG64(3))
        sources.append(adaptive_iterative.system_rng() if exact else rng)
        result = aim(table, 1.0, 1e-6, rng=rng, **options)
        if neighbours == "unbounded" and not even and options.get("plan", OURS).start == "sized" and len(sizes) == 4:
            # The start has room to tell a secret number of records: it is at no bound.
            alone = [step.sigma for step in result.steps if len(step.attributes) == 1 and not step.epsilon]
            assert 0.12 < sum(1 / (2 * sigma**2) for sigma in alone) / result.rho < 0.48
        for measured, counts in zip(result.measurements, given, strict=True):
            assert (counts == counted(table, measured.attributes)).all()
        for clique, truth in scored:
            assert (truth == counted(table, tuple(domain.attributes[v] for v in clique))).all()
        measured = [(m.attributes, m.values.tolist(), m.sigma) for m in result.measurements]
        potentials = {clique: theta.tolist() for clique, theta in result.model.potentials.items()}
        chosen = [getattr(result.choice, name) for name in ("weights", "epsilon", "sensitivity", "expected")]
        public = result.rho, result.rho_used, result.total, result.model.total, result.synthetic.records.tobytes()
        return result.steps, measured, potentials, chosen, public, rounds.copy(), [clique for clique, _ in scored]

    monkeypatch.setattr(marginal_oracle.MarginalOracle, "fits", watched)
    for kind in (FloatingDraws, ExactDraws):
        for answer in (noisy, score, choose):
            monkeypatch.setattr(kind, answer.__name__, answer)
    first, *others = map(everything, tables)
    for other in others:
        for here, there in zip(first, other, strict=True):
            assert here == there


NOISE = {("noisy", True): "discrete_gaussian", ("noisy", False): "gaussian", ("laplace", False): "laplace"}


SHAPES = [(), (1,), (7, 3), (2, 3, 4), (3, 1, 2, 5), (2, 3, 2, 3, 2), (300, 200), (25_001,), (10,) * 6]


@pytest.mark.parametrize("kind, exact", NOISE, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_cell_of_every_table_gets_its_noise(kind, exact, shape, monkeypatch):
    """Cells may be empty, even all of them. Tables have up to 6 axes (none: the number of records) and up to 10^6 cells and counts; scales are from 10^-6 to 2^50.

    The noise is asked for by the table's shape and the scale alone, from the generator given.
    """
    some, asked, given = np.zeros(shape, dtype=np.int64), [], object()
    some.flat[:: max(some.size // 3, 1)] = 5

    def noise(shape, scale, *, rng):
        assert rng is given
        asked.append((shape, scale))
        return np.arange(1, math.prod(shape) + 1).reshape(shape)

    monkeypatch.setattr(draws, NOISE[kind, exact], noise)
    made = (
        ExactDraws(1, {(0,): 1}, given)
        if exact
        else FloatingDraws("laplace" if kind == "laplace" else "gaussian", 1, {(0,): 1}, given)
    )
    scales = [1, 3, *10.0 ** np.random.default_rng(3).uniform(-6, 15, 20 if some.size < 1000 else 1)]
    for counts, scale in itertools.product((some, np.zeros_like(some), np.full_like(some, 10**6)), scales):
        scale = Fraction(scale) if exact else float(scale)
        values, deviation = made.noisy(counts, scale)
        assert asked.pop() == (shape, scale) and not asked
        assert deviation == float(scale) * (math.sqrt(2) if kind == "laplace" else 1)
        assert np.array_equal(values - counts, np.arange(1, counts.size + 1).reshape(shape))


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "floating"])
@pytest.mark.parametrize("count", [1, 3, 101, 1000, 100_000])
def test_every_candidate_can_be_chosen_however_many_there_are(count, exact, monkeypatch):
    """Up to 100,000, equal or far apart: the mechanism gets each score, in order, with the budget and sensitivity booked, and its answer is taken."""
    ranks = [(7 * place) % count - count // 2 for place in range(count)]
    asked = []

    def mechanism(found, epsilon, sensitivity, *, rng):
        asked.append((list(found), epsilon, sensitivity))
        return wanted

    monkeypatch.setattr(draws, "exact_exponential" if exact else "exponential", mechanism)
    weights = {(place,): 1 + place % 3 for place in range(count)}
    made = ExactDraws(2, weights, None) if exact else FloatingDraws("gaussian", 2, weights, None)
    sensitivity = (GRAIN if exact else 1) * 2 * max(weights.values())
    for scores, wanted in itertools.product((ranks, [0] * count, [2**60, *ranks[1:]]), {0, count // 2, count - 1}):
        assert made.choose(dict(zip(weights, scores, strict=True)), Fraction(1, 3)) == (wanted,)
        assert asked.pop() == (scores, Fraction(1, 3), sensitivity) and not asked


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [exact_exponential, exponential], ids=["exact", "floating"])
def test_equal_scores_are_equally_likely_among_many(mechanism):
    """A chi-squared test of 6000 draws among 300 candidates; false alarm 0.1 %."""
    rng = np.random.default_rng(8)
    seen = np.bincount(
        [
            mechanism([4] * 300, Fraction(1, 2) if mechanism is exact_exponential else 0.5, 1, rng=rng)
            for _ in range(6000)
        ],
        minlength=300,
    )
    assert stats.chisquare(seen).pvalue > 1e-3


def test_released_counts_are_whole_and_the_budget_a_fraction():
    result = aim(TABLE, 1.0, 1e-6)
    assert all((m.values == np.rint(m.values)).all() and m.values.dtype.kind in "iO" for m in result.measurements)
    assert result.rho == accounting.certified_zcdp(1.0, 1e-6) and isinstance(result.rho_used, Fraction)
    assert result.rho * (1 - Fraction(1, 10**4)) <= result.rho_used <= result.rho
    again = sum(1 / (2 * step.sigma**2) + Fraction(step.epsilon) ** 2 / 8 for step in result.steps)
    assert again <= result.rho_used  # each scale is rounded up once more


def test_every_bit_comes_from_the_operating_system(monkeypatch):
    """If it gives the same bytes again, the measurements are the same. Only the synthetic records have separate randomness."""
    import random

    def run(seed):
        bits = random.Random(seed)
        monkeypatch.setattr("os.urandom", bits.randbytes)
        return [measured.values.tolist() for measured in aim(TABLE, 1.0, 1e-6, plan=Plan("none")).measurements[:1]]

    assert run(1) == run(1) != run(2)


# ---- scores


@pytest.mark.parametrize("clear, scale", [(False, Fraction(2)), (True, Fraction(1, 8))])
def test_one_record_changes_an_exact_score_by_no_more_than_the_sensitivity(clear, scale, monkeypatch):
    """Brute force: each record of a small table removed, or replaced by any other."""
    weights = {(0,): 1.0, (1,): 2.0, (0, 1): 3.0}
    domain = Domain({"a": 2, "b": 2})
    believed = {(0,): np.array([1.3, 2.2]), (1,): np.array([0.4, 3.1]), (0, 1): np.array([[0.2, 1.1], [0.2, 2.0]])}
    asked = []
    monkeypatch.setattr(draws, "exact_exponential", lambda scores, *given, rng: asked.append((scores, given)) or 0)

    def scores(records, changed):
        table = Table(np.array(records), domain)
        truth = {clique: table.marginal(tuple("ab"[v] for v in clique)) for clique in weights}
        exact = ExactDraws(changed, weights, None, clear)
        exact.choose({c: exact.score(c, truth[c], believed[c], scale) for c in weights}, Fraction(1))
        (found, (_, sensitivity)) = asked.pop()
        return np.array(list(found)), sensitivity

    values, worst = list(itertools.product(range(2), repeat=2)), {1: 0, 2: 0}
    for records in itertools.product(values, repeat=3):
        for changed, others in ((1, [records[1:]]), (2, [(value, *records[1:]) for value in values])):
            here, sensitivity = scores(records, changed)
            assert sensitivity == GRAIN * changed * 3
            for other in others:
                gap = np.abs(here - scores(other, changed)[0]).max()
                assert gap <= sensitivity
                worst[changed] = max(worst[changed], gap)
    assert worst == {1: GRAIN * 3, 2: 2 * GRAIN * 3}  # attained


@pytest.mark.slow
@pytest.mark.parametrize("clear", [False, True], ids=["all cells", "clear"])
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "floating"])
@pytest.mark.parametrize("shape", SHAPES[1:-1], ids=str)
def test_a_score_counts_every_cell_of_tables_of_any_size(shape, exact, clear):
    """The formula is applied cell by cell: to empty cells, few records or none, 1 to 5 axes and up to 60,000 cells."""
    rng, weights, scale, noise = np.random.default_rng(9), {(0,): 3, (1,): 1}, 0.25, 0.25 * math.sqrt(2 / math.pi)
    made = ExactDraws(1, weights, None, clear) if exact else FloatingDraws("gaussian", 1, weights, None, clear)
    believed = rng.exponential(0.5, shape)
    for truth in (rng.poisson(0.1, shape), np.zeros(shape, dtype=np.int64), np.full(shape, 2)):
        wanted = 0
        for count, other in zip(truth.ravel().tolist(), believed.ravel().tolist()):
            off = abs(GRAIN * count - round(GRAIN * other)) if exact else abs(count - other)
            beyond = off - (round(GRAIN * noise) if exact else noise)
            wanted += (max(beyond, 0) if clear else off) * 3
        wanted -= 0 if clear else 3 * (round(GRAIN * noise * truth.size) if exact else noise * truth.size)
        score = made.score((0,), truth, believed, Fraction(scale) if exact else scale)
        assert score == (wanted if exact else pytest.approx(wanted, rel=1e-9))


def test_weights_that_are_no_small_whole_numbers_become_some():
    assert draws._whole({1: 2.0, 2: 7.0}) == {1: 2, 2: 7}
    assert draws._whole({1: 0.5, 2: 1.5, 3: 1e-9}) == {1: 341, 2: 1024, 3: 1}
    assert draws._whole({1: 5000.0, 2: 2500.0}) == {1: 1024, 2: 512}


# ---- the result


@pytest.mark.slow
def test_errors_are_those_of_floating_point(seeded):
    """Mean 2-way errors of twenty runs each; they differ by less than three standard errors (a false alarm in 400)."""
    pairs = list(itertools.combinations(DOMAIN.attributes, 2))

    def error(result):
        return np.mean(
            [np.abs(result.model.marginal(pair) - TABLE.marginal(pair)).sum() / len(TABLE) for pair in pairs]
        )

    floating = [error(aim(TABLE, 1.0, 1e-6, rng=np.random.default_rng(seed))) for seed in range(20)]
    exact = []
    for seed in range(20):
        seeded(seed)
        exact.append(error(aim(TABLE, 1.0, 1e-6)))
    assert abs(np.mean(exact) - np.mean(floating)) < 3 * math.hypot(stats.sem(exact), stats.sem(floating))


@pytest.mark.parametrize(
    "options, named",
    [
        ({"plan": Plan(noise="laplace")}, "plan.noise must be 'gaussian' for an exact run, got 'laplace'"),
        ({"errors": (1,)}, "errors must be empty for an exact run"),
        ({"delta": 0.0}, "delta must be in .1e-300, 1., got 0"),
        ({"epsilon": 1e9}, "epsilon must be in .1e-6, 1e6."),
        (
            {"plan": Plan(rounds=1e30)},
            "noise must have a standard deviation below 2.50, got .*: epsilon or alpha is too small",
        ),
    ],
)
def test_what_an_exact_run_cannot_be_given_is_refused(options, named):
    given = {"epsilon": 1.0, "delta": 1e-6} | options
    with pytest.raises(ValueError, match=named):
        aim(TABLE, **given)
