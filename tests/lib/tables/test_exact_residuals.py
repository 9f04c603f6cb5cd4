"""Exact runs of staged residuals: integers until the noise is added, sensitivities by brute force, the budget in fractions."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from lib import accounting
from lib.accounting.certified_gaussian import certified_mu
from lib.mechanisms import rounded_noise
from lib.mechanisms.noise import SystemRandomness
from lib.release.counter import Counter
from lib.tables import Domain, Table, residual_stages, staged_residuals
from lib.tables import residual_queries as queries
from lib.tables.counting import Counts
from lib.tables.residual_answers import Answers
from lib.tables.residual_queries import (
    RoundedDraws,
    centred,
    exact_answer,
    exact_norm,
    integer_form,
    longest_change,
    squared_mu,
    squared_mu_of_norms,
)
from tests.lib.tables.made import Watched, WatchedTable, counted, dependent

SIZES = (2, 3, 1, 4)
RECORDS = list(itertools.product(*map(range, SIZES)))
EFFECTS = [effect for k in range(4) for effect in itertools.combinations(range(len(SIZES)), k)]
DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 9, "e": 1})  # two pairs are large


TABLE = dependent(DOMAIN)


def counts(records, effect, sizes=SIZES):
    table = np.zeros([sizes[v] for v in effect], dtype=np.int64)
    for record in records:
        table[tuple(record[v] for v in effect)] += 1
    return table


def by_hand(table):
    """Return n_a n_b x_ij - n_a x_i. - n_b x_.j + N, or n_a x_i - N, or N, and so on, in Python's integers."""
    table = np.asarray(table).astype(object)
    found = np.zeros(table.shape, dtype=object)
    for kept in itertools.product((True, False), repeat=table.ndim):
        gone = tuple(axis for axis, keep in enumerate(kept) if not keep)
        sums = table.sum(axis=gone, keepdims=True) if gone else table
        found = found + (-1) ** len(gone) * math.prod(n for n, keep in zip(table.shape, kept) if keep) * sums
    return found


MU = functools.cache(certified_mu)  # of epsilon and delta alone: runs on many tables share it


@pytest.fixture
def seeded(monkeypatch):
    """Make exact runs repeatable: here only, a generator takes the place of the operating system's randomness."""

    def start(seed):
        bits, after = (np.random.Generator(np.random.PCG64([seed, part])) for part in (1, 2))

        def later(*seeds):
            assert not seeds, f"what follows the noise must be seeded by the operating system, got {seeds}"
            return after

        monkeypatch.setattr(residual_stages, "system_rng", lambda: bits)
        monkeypatch.setattr(residual_stages.np.random, "default_rng", later)
        monkeypatch.setattr(residual_stages, "certified_mu", MU)
        return bits

    return start


# ---- integers, and what a record adds to them


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (3, 1), (4, 2, 3), (40, 30), (1000,), (300, 200)], ids=str)
def test_the_integer_form_is_the_residual_times_the_number_of_cells(shape):
    rng = np.random.default_rng(1)
    for table in (rng.poisson(0.3, shape), rng.integers(0, 10**9, shape), np.zeros(shape, dtype=int)):
        table = np.asarray(table)
        found = integer_form(table)
        assert found.dtype == np.int64 and found.shape == shape and (found == by_hand(table)).all()
        assert np.allclose(found / table.size, centred(table), atol=1e-6 * (1 + table.max()))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64], ids=str)
def test_narrow_integers_do_not_wrap(kind):
    table = np.full((11, 13), 100, dtype=kind)
    table[3, 4] = 7
    assert (integer_form(table) == by_hand(table)).all()


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_squared_sensitivities_are_those_of_the_text(effect):
    """Brute force: every record added to a table, and every record replaced by every other."""
    n = [SIZES[v] for v in effect]
    before = integer_form(counts(RECORDS[3:7], effect))
    added = [integer_form(counts([*RECORDS[3:7], record], effect)) - before for record in RECORDS]
    assert {int((change**2).sum()) for change in added} == {math.prod(size * (size - 1) for size in n)}
    worst = 0
    for (x, one), (y, other) in itertools.combinations(zip(RECORDS, added), 2):
        squared = int(((one - other) ** 2).sum())
        same = math.prod(size * (size * (x[v] == y[v]) - 1) for v, size in zip(effect, n))
        assert squared == 2 * (math.prod(size * (size - 1) for size in n) - same)
        worst = max(worst, squared)
    if len(n) == 1:
        assert worst == (2 * n[0] ** 2 if n[0] > 1 else 0)
    if len(n) == 2 and min(n) > 1:
        assert worst == 2 * n[0] * n[1] * ((n[0] - 1) * (n[1] - 1) + max(n) - 1)
    if len(n) == 3 and min(n) > 1:
        low, middle, high = sorted(n)
        assert worst == 2 * low**2 * middle * (middle - 1) * high * (high - 1)
    if len(n) == 0:
        assert worst == 0  # the number of records stays


@pytest.mark.parametrize("sizes", [SIZES, (12, 3, 1, 2)], ids=str)
@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_the_longest_change_is_attained_and_not_exceeded(effect, sizes):
    """Brute force in integers: every record added to a table, and every record replaced by every other."""
    cells, records = math.prod(sizes[v] for v in effect), list(itertools.product(*map(range, sizes)))
    added = [integer_form(counts([record], effect, sizes)) for record in records]
    longest = longest_change(effect, sizes, "unbounded")
    assert {Fraction(int(np.abs(change).sum()), cells) for change in added} == {longest}
    replaced = {int(np.abs(one - other).sum()) for one, other in itertools.combinations(added, 2)}
    stated = longest_change(effect, sizes, "bounded")
    assert stated == Fraction(max(replaced), cells) or (len(effect) == 3 and stated > Fraction(max(replaced), cells))


class Unnoised:
    """In place of the noise: notes the integers that the sampler adds to, and its standard deviation."""

    def __init__(self, monkeypatch):
        self.asked = []
        monkeypatch.setattr(RoundedDraws, "noisy", self)

    def __get__(self, draws, kind=None):
        return lambda table, scale: (self.asked.append((table, scale)), (table, float(scale)))[1]

    def taken(self):
        asked, self.asked = self.asked, []
        return asked


def apart(one, other) -> Fraction:
    """Return the squared distance of what two runs read, in units of its noise: mu^2."""
    assert [scale for _, scale in one] == [scale for _, scale in other]
    return sum(
        Fraction(int(np.sum(np.asarray(a - b, dtype=object) ** 2))) / scale**2 for (a, scale), (b, _) in zip(one, other)
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_a_stage_costs_no_more_than_stated_for_any_two_neighbours(neighbours, seed, monkeypatch):
    """Brute force in fractions, with random precisions, from huge to tiny."""
    rng, read, sizes = np.random.default_rng(seed), Unnoised(monkeypatch), (2, 3, 3)
    effects = [e for k in range(4) for e in itertools.combinations(range(3), k)]
    precisions = {effect: float(10.0 ** rng.uniform(-8, 2) if seed else rng.exponential()) for effect in effects}

    def reads(records):
        for effect, precision in precisions.items():
            exact_answer(counts(records, effect, sizes), precision, RoundedDraws(1, {}, None))
        return read.taken()

    everything = list(itertools.product(*map(range, sizes)))
    cost, none = Fraction(squared_mu(precisions, sizes, neighbours)), reads([])
    alone = [reads([record]) for record in everything]
    if neighbours == "unbounded":
        costs = [apart(one, none) for one in alone]
        assert min(costs) >= cost * (1 - Fraction(1, 2**11))
    else:
        costs = [apart(one, other) for one, other in itertools.combinations(alone, 2)]
    assert max(costs) <= cost


def norm_by_hand(table, expected) -> int:
    """Return the sum of absolute values of the integer form less the rounded one of `expected`, in Python's integers."""
    public = [round(entry) for entry in (table.size * centred(expected)).ravel().tolist()]
    whole = np.ravel(by_hand(table)).tolist()
    return sum(abs(entry - other) for entry, other in zip(whole, public, strict=True))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 4, 3), (40, 30), (300, 200)], ids=str)
def test_a_norm_is_within_half_a_record_of_the_true_one(shape, monkeypatch):
    rng, read = np.random.default_rng(1), Unnoised(monkeypatch)
    for table in (rng.poisson(0.3, shape), rng.integers(0, 10**9, shape), np.zeros(shape, dtype=int)):
        table = np.asarray(table)
        for expected in (rng.normal(2, 3, shape), 1.0 * table):
            found, _ = exact_norm(table, expected, 1.0, RoundedDraws(1, {}, None))
            ((whole, _),) = read.taken()
            assert whole.item() == norm_by_hand(table, expected) and whole.shape == found.shape == ()
            true = np.abs(centred(table) - centred(expected)).sum()
            assert abs(found - true) <= 0.5 + 1e-9 * table.size * (1 + np.max(np.abs(expected)))
    extreme = np.zeros(shape)
    extreme.flat[0] = -1e150  # a public total has no limit
    assert exact_norm(np.asarray(table), extreme, 1.0, RoundedDraws(1, {}, None))[0] >= (2.0**60 / extreme.size) * (
        shape != (1,)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_norms_cost_no_more_than_stated_for_any_two_neighbours(neighbours, seed, monkeypatch):
    """Brute force in fractions: random tables, every neighbour, and norms around random counts and around the table itself.

    The last case comes close to the stated cost, because the norm then rises by the whole length of the change.
    """
    rng, read, sizes = np.random.default_rng(seed), Unnoised(monkeypatch), (2, 3, 3)
    effects, everything = [e for e in EFFECTS if max(e, default=0) < 3], list(itertools.product(*map(range, sizes)))
    precisions = {effect: float(10.0 ** rng.uniform(-8, 2) if seed else rng.exponential()) for effect in effects}
    cost, most = Fraction(squared_mu_of_norms(precisions, sizes, neighbours)), 0

    def reads(records, around):
        for effect, precision in precisions.items():
            exact_norm(counts(records, effect, sizes), around[effect], precision, RoundedDraws(1, {}, None))
        return read.taken()

    for trial in range(30):
        records = [everything[k] for k in rng.integers(0, len(everything), rng.integers(1, 9))]
        own = {effect: counts(records, effect, sizes) for effect in effects}
        around = own if trial % 3 else {e: rng.normal(1, 2, table.shape) for e, table in own.items()}
        before = reads(records, around)
        kept = records if neighbours == "unbounded" else records[1:]
        costs = [apart(before, reads([*kept, record], around)) for record in everything]
        most = max(most, *costs)
    assert cost * (1 - Fraction(1, 2**10) if neighbours == "unbounded" else Fraction(1, 3)) <= most <= cost


def test_scales_are_rounded_up_and_hardly(monkeypatch):
    read = Unnoised(monkeypatch)
    for precision in np.exp(np.random.default_rng(3).uniform(-300, 300, 300)).tolist():
        for shape in ((), (7,), (40, 30)):
            table = np.ones(shape, dtype=np.int64)
            sigma = exact_answer(table, precision, RoundedDraws(1, {}, None))[1]
            around = exact_norm(table, 0 * table, precision, RoundedDraws(1, {}, None))[1]
            (_, scale), (_, of_norm) = read.taken()
            assert scale == of_norm == table.size * sigma and sigma == around
            assert isinstance(sigma, Fraction) and isinstance(around, Fraction)
            assert 1 <= sigma**2 * Fraction(precision) <= (1 + Fraction(1, 2**12)) ** 2


# ---- the noise


SHAPES = [(), (1,), (7, 3), (3, 1), (300, 200), (25_001,), (1000, 1000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_cell_gets_its_noise_before_anything_else(shape, monkeypatch):
    """Cells may be empty, even all of them. Tables have up to 10^6 cells and counts, and precisions are from 10^-20 to 10^12.

    The noise is asked for by the table's shape and the scale alone, from the generator given.
    """
    some, asked, given = np.zeros(shape, dtype=np.int64), [], object()
    some.flat[:: max(some.size // 3, 1)] = 5
    noise = np.random.default_rng(2).integers(-(10**6), 10**6, shape)

    def drawn(shape, scale, *, rng):
        assert rng is given
        asked.append((shape, scale))
        return noise

    monkeypatch.setattr(queries, "rounded_gaussian", drawn)
    precisions = [1.0, *10.0 ** np.random.default_rng(3).uniform(-20, 12, 20 if some.size < 1000 else 2)]
    full = np.full_like(some, 10**6)
    for table, precision in itertools.product((some, np.zeros_like(some), full), precisions):
        values, sigma = exact_answer(table, precision, RoundedDraws(1, {}, given))
        assert asked == [(shape, table.size * sigma)]
        assert 1 <= sigma**2 * Fraction(precision) <= 1 + Fraction(1, 2**10)
        asked.clear()
        wanted = centred((integer_form(table) + noise) / table.size)
        assert np.allclose(values, wanted, rtol=1e-12, atol=1e-9 * (1 + np.abs(wanted).max()))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) == 2], ids=str)
def test_every_norm_gets_its_noise_before_anything_else(shape, monkeypatch):
    """Norms may be 0, of tables without records or as expected, or large. One number is asked for, by the scale alone."""
    some, asked, given = np.zeros(shape, dtype=np.int64), [], object()
    some.flat[:: max(some.size // 3, 1)] = 5

    def drawn(shape, scale, *, rng):
        assert rng is given
        asked.append((shape, scale))
        return np.asarray(noise)

    monkeypatch.setattr(queries, "rounded_gaussian", drawn)
    precisions = [1.0, *10.0 ** np.random.default_rng(3).uniform(-20, 12, 5 if some.size < 10**4 else 0)]
    cases = itertools.product((some, np.zeros_like(some)), (some, np.zeros_like(some), 0.7 * some), precisions)
    for (table, expected, precision), noise in zip(cases, itertools.cycle([12345, -(2**40), 2**70])):
        value, sigma = exact_norm(table, expected, precision, RoundedDraws(1, {}, given))
        assert asked == [((), table.size * sigma)]
        assert 1 <= sigma**2 * Fraction(precision) <= 1 + Fraction(1, 2**10)
        asked.clear()
        assert float(value) == (norm_by_hand(table, expected) + noise) / table.size


@pytest.mark.slow
@pytest.mark.parametrize("cells, precision", [(1, 0.4), (2, 3.0), (2, 0.05)])
def test_answers_have_the_rounded_gaussians_law(cells, precision, monkeypatch):
    """Pearson's test at a false-alarm rate of 1e-6, with a fixed seed. With two cells, an answer shows the difference of two draws.

    The draws of all answers are made at once: each answer must ask for the same shape and scale.
    """
    table, trials = np.array([4, 1][:cells] if cells > 1 else 5), 4000
    draws, seen, made = RoundedDraws(1, {}, np.random.default_rng(4)), [], {}

    def drawn(shape, scale, *, rng):
        if not made:
            made[shape, scale] = iter(rounded_noise.rounded_gaussian((trials, *shape), scale, rng=rng))
        return np.asarray(next(made[shape, scale]))

    monkeypatch.setattr(queries, "rounded_gaussian", drawn)
    for _ in range(trials):
        values, sigma = exact_answer(table, precision, draws)
        off = (values - centred(table)).ravel()[0] * (4 if cells > 1 else 1)
        seen.append(round(off))
        assert abs(seen[-1] - off) < 1e-9
    places = np.arange(-400, 401)
    law = np.diff(stats.norm.cdf((np.arange(-400, 402) - 0.5) / float(cells * sigma)))
    if cells > 1:
        law, places = np.convolve(law, law), np.arange(-800, 801)
    found = np.array([seen.count(place) for place in places.tolist()])
    likely = trials * law > 5
    table = np.array([*found[likely], found[~likely].sum()]), trials * np.array([*law[likely], law[~likely].sum()])
    assert found.sum() == trials and stats.chisquare(table[0], table[1]).pvalue > 1e-6


@pytest.mark.slow
def test_no_two_cells_and_no_two_answers_share_their_noise():
    """Covariances over 400 answers: a cell's noise has the others' only as far as both are centred. One would be off by 33."""
    draws, trials = RoundedDraws(1, {}, np.random.default_rng(5)), 400
    table = np.zeros((2, 3), dtype=np.int64)
    found = np.array([[exact_answer(table, 0.01, draws)[0] for _ in range(2)] for _ in range(trials)])
    found = found.reshape(trials, -1)
    centring = np.kron(np.eye(2) - 1 / 2, np.eye(3) - 1 / 3)
    wanted = 100 * np.kron(np.eye(2), centring)
    assert np.abs(found.T @ found / trials - wanted).max() < 6 * wanted.max() * math.sqrt(2 / trials)


def test_noise_beyond_64_bits_is_drawn_in_python_integers():
    values, sigma = exact_answer(np.array([10**6, 0]), 1e-40, RoundedDraws(1, {}, np.random.default_rng(6)))
    assert sigma >= 10**20 and values.dtype == float and 1e17 < np.abs(values).max() < 1e22


@pytest.mark.slow
def test_every_bit_comes_from_the_operating_system(monkeypatch):
    """If it gives the same bytes again, the answers of the first stages are the same. Only what follows has separate randomness."""
    import random

    def run(seed):
        monkeypatch.setattr("os.urandom", random.Random(seed).randbytes)
        return [
            values.tolist() for stage in staged_residuals(TABLE, 1.0, 1e-6).stages for values in stage.answers.values()
        ]

    assert run(1) == run(1) != run(2)


@pytest.mark.slow
def test_the_noise_comes_from_the_operating_system_alone(monkeypatch):
    sources = set()

    def drawn(shape, scale, *, rng):
        sources.add(type(rng))
        return rounded_noise.rounded_gaussian(shape, scale, rng=rng)

    monkeypatch.setattr(queries, "rounded_gaussian", drawn)
    for options in ({}, {"neighbours": "bounded"}, {"total": 5}, {"workload": 1, "records": 3}):
        staged_residuals(TABLE, 1.0, 1e-6, **options)
    assert sources == {SystemRandomness}


# ---- what touches the data


@pytest.fixture
def released(monkeypatch):
    """Adding the noise ends the watch; nothing else does."""
    ended = []

    def noisy(self, table, scale):
        norm = table.dtype == object and isinstance(table.item(), int)  # from integers by Python's integer arithmetic
        ended.append(norm or isinstance(table, Watched))
        return np.asarray(table + rounded_noise.rounded_gaussian(table.shape, scale, rng=self.rng)), float(scale)

    monkeypatch.setattr(RoundedDraws, "noisy", noisy)
    return ended


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("epsilon, workload", [(1.0, 2), (100.0, 3)])
def test_no_count_meets_a_float_before_its_noise(epsilon, workload, neighbours, released):
    watched = WatchedTable(TABLE.records, DOMAIN)
    result = staged_residuals(watched, epsilon, 1e-6, workload, neighbours=neighbours)
    assert max(map(len, result.stages[-1].sigmas)) == workload and len(result.synthetic) > 0
    assert released and all(released)


def test_a_norm_in_floating_point_is_found(released, monkeypatch):
    monkeypatch.setattr(residual_stages, "exact_norm", lambda counts, *others: (counts / counts.size, others))
    with pytest.raises(AssertionError, match="floats"):
        staged_residuals(WatchedTable(TABLE.records, DOMAIN), 1.0, 1e-6)


def test_a_float_that_meets_a_count_is_found(released, monkeypatch):
    """The watch works: the floating-point residual, planted in an exact run, is caught."""
    monkeypatch.setattr(queries, "integer_form", lambda table: np.rint(table - table.mean()).astype(np.int64))
    with pytest.raises(AssertionError, match="floats"):
        staged_residuals(WatchedTable(TABLE.records, DOMAIN), 1.0, 1e-6)


RUNS = {
    "defaults": ((2, 3, 4, 3), {}),
    "large pairs": ((6, 5, 9, 5), {}),
    "large pairs of few records": ((6, 5, 9, 5), {"most": 24, "epsilon": 10.0}),
    "a constant attribute": ((2, 3, 1, 3), {"records": 50}),
    "attributes alone": ((5, 4), {"workload": 1}),
    "one attribute": ((5,), {"workload": 1}),
    "one value": ((1, 1), {}),
    "weights": ((3, 3, 4), {"workload": {("a0", "a2"): 3.0, ("a1",): 1.0}}),
    "no room for pairs": ((3, 3, 3, 3), {"max_cells": 12}),
    "a public total": ((2, 3, 4), {"total": 1000}),
    "little budget": ((2, 3, 4), {"epsilon": 1e-3}),
    "few records": ((2, 3, 4), {"most": 24}),
    "much budget": ((2, 3, 4), {"epsilon": 100.0}),
    "triples and pairs": (
        (3, 4, 2, 5),
        {"workload": {("a0", "a1", "a2"): 2.0, ("a1", "a3"): 1.0}, "epsilon": 30.0, "max_cells": 60},
    ),
    "many triples": ((2,) * 10, {"workload": 3, "epsilon": 100.0, "max_cells": 60}),
    "triples, a public total": ((3, 4, 2, 3), {"workload": 3, "epsilon": 100.0, "total": 1000}),
    "a large triple": ((30, 20, 18), {"workload": 3, "epsilon": 3e3, "records": 200}),
    "large tables": ((120, 100, 2), {}),
    "large tables, much budget": ((120, 100, 2), {"epsilon": 1e4, "max_cells": 300, "records": 200}),
    "a thousand values": ((1000, 30, 2), {"records": 100}),
    "many attributes": ((2,) * 14, {"max_cells": 200}),
}


def even(result, stage, pair):
    """Return the counts of `pair` under independence, by the answers of all stages before `stage`."""
    domain = result.synthetic.domain
    known = Answers(domain.sizes, result.total)
    for before in itertools.takewhile(lambda each: each is not stage, result.stages):
        for names, values in before.answers.items():
            known.record(domain.axes(names), values, float(before.sigmas[names]) ** -2)
    return known.even(domain.axes(pair))


def cost_by_hand(stage, domain, neighbours) -> Fraction:
    """Return mu^2 of a stage by the noise that was drawn, in fractions. For bounded neighbours, it asks for triples only."""
    cost, bounded = Fraction(0), neighbours == "bounded"
    for names, sigma in stage.sigmas.items():
        parts = sorted(1 - Fraction(1, n) for n in domain.shape(names))
        if stage.norms:
            cost += math.prod(4 * part**2 for part in parts) * (4 if bounded else 1) / sigma**2
        else:
            cost += (2 * math.prod(parts[1:]) if bounded else math.prod(parts)) / sigma**2
    return cost


# Each run with both relations, and with even and odd counts, in turn.
TURNS = {
    f"{name}, {relation}, {'even' if (place + turn) % 2 else 'odd'} counts": (*run, relation, (place + turn) % 2 == 1)
    for place, (name, run) in enumerate(RUNS.items())
    for turn, relation in enumerate(["unbounded", "bounded"])
}


@pytest.mark.slow
@pytest.mark.parametrize("sizes, options, neighbours, all_even", TURNS.values(), ids=TURNS)
def test_the_records_speak_through_noisy_integers_alone(sizes, options, neighbours, all_even, seeded, monkeypatch):
    """With the same noisy integers, everything else is the same, whatever the records are.

    If the number of records is secret, this holds for any number: none, one, or a million, more than the answers say. The
    records may be all the same, the same in the first attribute, or such that their residuals without noise are 0.

    The sampler gets each residual that a stage lists, in its integer form, and nothing else asks for counts.
    """
    domain, rng = Domain({f"a{v}": size for v, size in enumerate(sizes)}), np.random.default_rng(6)
    options = {"epsilon": 1.0, "neighbours": neighbours} | options
    most = options.pop("most", 1000 if domain.size() > 10_000 else 2000 // domain.size() * domain.size())
    if neighbours == "bounded":
        options.pop("total", None)
    product = np.stack(np.unravel_index(np.arange(most) % domain.size(), sizes), axis=1)
    tables = [Table(product, domain), Table(rng.integers(0, sizes, (most, len(sizes))), domain)]
    tables.append(Table(np.tile(np.array(sizes) - 1, (most, 1)), domain))
    tables.append(Table(tables[1].records * np.minimum(np.arange(len(sizes)), 1), domain))
    if neighbours == "unbounded":
        many = 1_000_001 if len(sizes) < 4 and not all_even else 20_000
        tables += [Table(product[:1], domain), Table(np.resize(tables[1].records, (many, len(sizes))), domain)]
        tables.append(Counter(domain, min(len(sizes), 3)))
    given, sources, centres, reads = [], [], [], []
    values = np.random.default_rng(7).integers(-3000, 3000, 2**17) if not all_even else np.zeros(2**17, dtype=np.int64)

    def noisy(self, table, scale):
        assert self.rng is sources[-1]
        given.append((table, scale))
        if table.dtype == object:  # a norm
            few = len(centres[-1].shape) == 3 and (len(given) + 1) % 3  # CLEAR deviations, or one, for some triples
            deviations = few or abs(int(values[len(given)]))
            return round(deviations * scale) if not all_even else 0, float(scale)
        if table.ndim == 0:
            return np.asarray(most), float(scale)
        spread = values[: table.size].reshape(table.shape)
        return spread * (1 + int(scale) // 3000), float(scale)

    class Noting(Counts):
        def __call__(self, attributes):
            reads.append(attributes)
            return super().__call__(attributes)

    def around(counts, expected, *others):
        centres.append(expected)
        return exact_norm(counts, expected, *others)

    def everything(table):
        given.clear()
        centres.clear()
        reads.clear()
        sources.append(seeded(3))
        result = staged_residuals(table, delta=1e-6, **options)
        asked = [(stage, names, sigma) for stage in result.stages for names, sigma in stage.sigmas.items()]
        assert reads == [names for _, names, _ in asked]
        for (stage, names, sigma), (integers, scale) in zip(asked, given, strict=True):
            if stage.norms:
                centre = (
                    even(result, stage, names)
                    if len(names) == 2
                    else centres[-len(stage.sigmas) :][list(stage.sigmas).index(names)]
                )
                assert integers.item() == norm_by_hand(counted(table, names), centre)
            else:
                assert integers.dtype == np.int64 and (integers == integer_form(counted(table, names))).all()
            assert scale == sigma * domain.size(names)
        assert result.mu_used <= result.mu
        for stage in result.stages:
            if neighbours == "unbounded" or min(map(len, stage.sigmas)) == 3:
                assert cost_by_hand(stage, domain, neighbours) <= stage.squared_mu
        if options.get("workload") == 3:  # with answers of 0, neither triples nor pairs stand out
            assert (max(map(len, result.stages[-1].sigmas)) == 3) != all_even
        if options["epsilon"] == 1e4 and not all_even:
            assert ("a0", "a1") in result.stages[-2].sigmas
        stages = [(stage.sigmas, stage.squared_mu) for stage in result.stages]
        answers = [values.tolist() for stage in result.stages for values in stage.answers.values()]
        potentials = {clique: theta.tolist() for clique, theta in result.model.potentials.items()}
        aims = {pair: target.tolist() for pair, target in result.targets.items()}
        public = result.total, result.model.total, result.mu, result.mu_used
        return (
            stages,
            answers,
            potentials,
            aims,
            public,
            [each.tolist() for each in centres],
            result.synthetic.records.tobytes(),
        )

    monkeypatch.setattr(residual_stages, "Counts", Noting)
    monkeypatch.setattr(residual_stages, "exact_norm", around)
    monkeypatch.setattr(RoundedDraws, "noisy", noisy)
    first, *others = map(everything, tables)
    for other in others:
        for here, there in zip(first, other, strict=True):
            assert here == there


class Again:
    """In place of the sampler: notes what it adds noise to, and gives the noisy integers of a first run again."""

    def __init__(self, monkeypatch):
        self.asked, self.given, self.again = [], [], None
        self._noisy = RoundedDraws.noisy
        monkeypatch.setattr(RoundedDraws, "noisy", self)

    def __get__(self, draws, kind=None):
        def noisy(table, scale):
            self.asked.append((table, scale))
            if self.again is None:
                self.given.append(self._noisy(draws, table, scale))
                return self.given[-1]
            return self.again.pop(0)

        return noisy

    def replay(self, run):
        """Return what `run` reads if it gets the first run's answers, and its result."""
        self.asked, self.again = [], list(self.given)
        result = run()
        assert not self.again
        return self.asked, result


@pytest.mark.slow
@pytest.mark.parametrize("total, epsilon, workload", [(None, 1.0, 2), (1990, 1.0, 2), (None, 100.0, 3)])
def test_without_a_record_the_same_answers_give_the_same_output_at_exactly_the_stated_cost(
    total, epsilon, workload, seeded, monkeypatch
):
    def run(table):
        seeded(2)
        return staged_residuals(table, epsilon, 1e-6, workload, total=total)

    again = Again(monkeypatch)
    first, asked = run(TABLE), again.asked
    for gone in (0, 7, 1234):
        without = Table(np.delete(TABLE.records, gone, axis=0), DOMAIN)
        read, other = again.replay(lambda table=without: run(table))
        assert np.array_equal(other.synthetic.records, first.synthetic.records)
        norms = [stage.norms for stage in first.stages for _ in stage.sigmas]
        stated = sum(Fraction(stage.squared_mu) for stage in first.stages if stage.norms)
        for of, limit in ((True, stated), (False, first.mu_used**2 - stated)):
            parts = [[one for one, norm in zip(each, norms, strict=True) if norm == of] for each in (asked, read)]
            assert max(map(len, first.stages[-1].sigmas)) == workload
            assert (0 if of else limit * (1 - Fraction(1, 2**11))) < apart(*parts) <= limit
        assert first.mu_used <= first.mu


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, workload", [(1.0, 2), (100.0, 3)])
def test_a_replaced_record_costs_no_more_than_stated(epsilon, workload, seeded, monkeypatch):
    def run(table):
        seeded(3)
        return staged_residuals(table, epsilon, 1e-6, workload, neighbours="bounded")

    again, worst = Again(monkeypatch), Fraction(0)
    first, asked = run(TABLE), again.asked
    for values in ([0, 0, 0, 0, 0], [2, 3, 1, 4, 0], [1, 2, 1, 1, 0], [TABLE.records[5, 0], 0, 1, 4, 0]):
        records = TABLE.records.copy()
        records[5] = values
        table = Table(records, DOMAIN)
        read, other = again.replay(lambda table=table: run(table))
        assert np.array_equal(other.synthetic.records, first.synthetic.records)
        worst = max(worst, apart(asked, read))
    assert max(map(len, first.stages[-1].sigmas)) == workload
    assert first.mu**2 / 2 < worst <= first.mu_used**2 <= first.mu**2


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[3] * 60, [1000, 800, 2, 30]], ids=["60 attributes", "1000 values"])
def test_large_tables_are_read_at_exactly_the_stated_cost(sizes, monkeypatch):
    """The stages alone: neither a model nor records, and answers without noise."""
    domain, read, reads = Domain({f"a{v}": size for v, size in enumerate(sizes)}), Unnoised(monkeypatch), []
    table = dependent(domain, 60)
    for records in (table.records, table.records[:-1]):
        draws = RoundedDraws(1, {}, None)
        weights = residual_stages.set_weights(domain, 2)
        run = residual_stages._Run(Table(records, domain), weights, "unbounded", None, None, draws)
        for budget in (0.5, 2.0):
            run.ask({(): budget}) if budget < 1 else run.stage(budget)
            monkeypatch.setattr(residual_stages.Answers, "total", 60.0)  # as if the noisy answer were the same
        reads.append(read.taken())
    squared = sum(
        float(((one - other).astype(float) ** 2).sum() / float(scale) ** 2) for (one, scale), (other, _) in zip(*reads)
    )
    stated = math.fsum(stage.squared_mu for stage in run.stages)
    assert [scale for _, scale in reads[0]] == [scale for _, scale in reads[1]]
    assert stated * (1 - 2**-11) <= squared <= stated * (1 + 1e-12) and stated == pytest.approx(2.5, rel=1e-9)


# ---- the budget


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 50.0, 1e6])
def test_the_budget_is_a_certified_fraction_and_kept(epsilon, neighbours):
    result = staged_residuals(TABLE, epsilon, 1e-7, neighbours=neighbours, records=20)
    assert result.mu == certified_mu(epsilon, 1e-7) and isinstance(result.mu_used, Fraction)
    spent = sum(Fraction(stage.squared_mu) for stage in result.stages)
    assert spent <= result.mu_used**2 <= spent * (1 + Fraction(1, 2**60))
    assert result.mu * (1 - Fraction(1, 10**4)) <= result.mu_used <= result.mu
    assert accounting.gaussian_delta(1 / result.mu_used, epsilon) <= 1e-7 * (1 + 1e-9)
    parts = [stage.squared_mu / float(result.mu**2) for stage in result.stages]
    rest = 0.99 if neighbours == "unbounded" else 1.0
    left = 0.9 - 0.05 / 3  # norms of two of six pairs
    wanted = [rest * part for part in (0.1, 0.05 / 3, 0.4 * left, 0.6 * left)]
    assert parts == pytest.approx([0.01, *wanted] if neighbours == "unbounded" else wanted)
    for stage in result.stages:  # the noise that was drawn, by fractions
        assert all(isinstance(sigma, Fraction) for sigma in stage.sigmas.values())
        if neighbours == "unbounded":
            cost = cost_by_hand(stage, DOMAIN, neighbours)
            assert stage.squared_mu * (1 - Fraction(1, 2**11)) <= cost <= stage.squared_mu


@pytest.mark.slow
def test_errors_are_those_of_floating_point(seeded):
    """Mean 2-way errors of ten runs each; they differ by less than three standard errors (a false alarm in 400)."""
    pairs = list(itertools.combinations(DOMAIN.attributes, 2))

    def error(result):
        return np.mean([np.abs(result.synthetic.marginal(p) - TABLE.marginal(p)).sum() / len(TABLE) for p in pairs])

    floating = [error(staged_residuals(TABLE, 1.0, 1e-6, rng=np.random.default_rng(seed))) for seed in range(10)]
    exact = []
    for seed in range(10):
        seeded(seed)
        exact.append(error(staged_residuals(TABLE, 1.0, 1e-6)))
    assert abs(np.mean(exact) - np.mean(floating)) < 3 * math.hypot(stats.sem(exact), stats.sem(floating))


@pytest.mark.parametrize(
    "options, named",
    [
        ({"epsilon": 0.0}, r"epsilon must be in \[1e-6, 1e6\], got 0"),
        ({"epsilon": 1e9}, r"epsilon must be in \[1e-6, 1e6\]"),
        ({"delta": 0.0}, r"delta must be in \[1e-300, 1\), got 0"),
        ({"rng": SystemRandomness()}, "rng must be a numpy.random.Generator for floating-point noise, got SystemRandomness"),
        ({"workload": 6}, r"workload must be in \[1, 5\], got 6"),
        ({"total": 0}, r"total must be in \[1, inf\), got 0"),
        ({"records": 0}, r"records must be in \[1, inf\), got 0"),
        ({"max_cells": 18}, r"max_cells must be in \[19, inf\), got 18"),
        ({"neighbours": "near"}, "neighbours must be one of 'unbounded', 'bounded', got 'near'"),
    ],
)  # fmt: skip
def test_what_an_exact_run_cannot_be_given_is_refused_before_any_noise(options, named, monkeypatch):
    read = Unnoised(monkeypatch)
    with pytest.raises(ValueError, match=named):
        staged_residuals(**{"table": TABLE, "epsilon": 1.0, "delta": 1e-6} | options)
    assert not read.asked


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: integer_form([0.5, 1.0]), "counts must be integers, at least one, got float64"),
        (lambda: integer_form([True]), "counts must be integers, at least one, got bool"),
        (lambda: integer_form(np.zeros((0, 2), dtype=int)), r"counts must be integers, at least one, got int64 of shape \(0, 2\)"),
        (lambda: exact_answer(np.array([1, 2]), 0.0, RoundedDraws(1, {}, None)), r"precision must be in \[1e-150, 1e150\], got 0"),
        (lambda: exact_answer(np.array([1, 2]), 1.0, np.random.default_rng(1)), "draws must be a RoundedDraws, got Generator"),
        (lambda: exact_norm(np.array([1, 2]), [0.5], 1.0, RoundedDraws(1, {}, None)), r"expected must have the shape of counts, \(2,\), got \(1,\)"),
        (lambda: exact_norm(np.array([1, 2]), [0.5, math.nan], 1.0, RoundedDraws(1, {}, None)), r"expected must be in \[-1e150, 1e150\], got nan"),
        (lambda: exact_norm(np.array([1, 2]), [0.5, 1], 1.0, np.random.default_rng(1)), "draws must be a RoundedDraws, got Generator"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
