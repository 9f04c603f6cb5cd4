"""`residual_stages`: what is read of the records, the budget, the targets, and synthetic records like the real ones."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lib import accounting
from lib.tables import Domain, Table, residual_queries, residual_stages, staged_residuals
from lib.tables.graphical_model import GraphicalModel
from lib.tables.residual_answers import Answers, simplex_projection, targets
from lib.tables.residual_queries import centred
from lib.tables.residual_stages import Stage
from tests.lib.tables.made import dependent

DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 5, "e": 1})
PAIRS = list(itertools.combinations(DOMAIN.attributes, 2))


TABLE = dependent(DOMAIN)
LARGER = dependent(Domain({"a": 12, "b": 9, "c": 7, "d": 2}))  # for triples


class Heard:
    """In place of the noisy answers: notes the exact counts and the noise, and gives the answers of a first run again."""

    def __init__(self, monkeypatch):
        self.asked, self.given, self.again = [], [], None
        self._answer = residual_stages.answer
        for module in (residual_stages, residual_queries):
            monkeypatch.setattr(module, "answer", self)

    def __call__(self, counts, sigma, *, rng):
        fresh = self._answer(counts, sigma, rng=rng)
        self.asked.append((counts, sigma))
        self.given.append(fresh if self.again is None else self.again.pop(0))
        return self.given[-1]

    def replay(self):
        """Return what was asked, and prepare to give the same answers to another table."""
        asked, self.asked, self.again, self.given = self.asked, [], list(self.given), []
        return asked


def apart(one, other) -> float:
    """The squared distance of what two runs read, in units of its noise."""
    assert [sigma for _, sigma in one] == [sigma for _, sigma in other]
    return math.fsum(((centred(a) - centred(b)) ** 2).sum() / sigma**2 for (a, sigma), (b, _) in zip(one, other))


class CountsOnly:
    """A table that gives its counts and nothing else, as a `lib.release.Counter` does."""

    def __init__(self, table):
        self.domain, self.marginal, self._n = table.domain, table.marginal, len(table)

    def __len__(self):
        return self._n


@pytest.mark.slow
@pytest.mark.parametrize("total, epsilon, workload", [(None, 1.0, 2), (1990, 1.0, 2), (None, 100.0, 3)])
def test_without_a_record_the_same_answers_give_the_same_output_at_exactly_the_stated_cost(
    total, epsilon, workload, monkeypatch
):
    """So everything but the answers is post-processing, and mu is not only a bound: it is the distance for any record,
    but for the norms, whose distance it bounds."""
    heard = Heard(monkeypatch)
    monkeypatch.setattr(residual_stages, "LARGE", 6)
    table = TABLE if workload == 2 else LARGER
    first = staged_residuals(CountsOnly(table), epsilon, 1e-6, workload, rng=np.random.default_rng(2), total=total)
    assert max(map(len, first.stages[-1].sigmas)) == workload
    answers = list(heard.given)
    asked = heard.replay()
    for gone in (0, 7, 1234):
        heard.again = list(answers)
        heard.asked = []
        without = Table(np.delete(table.records, gone, axis=0), table.domain)
        again = staged_residuals(
            CountsOnly(without), epsilon, 1e-6, workload, rng=np.random.default_rng(2), total=total
        )
        assert np.array_equal(again.synthetic.records, first.synthetic.records)
        norms = [stage.norms for stage in first.stages for _ in stage.sigmas]
        parts = [[one for one, norm in zip(each, norms, strict=True) if norm == of] for of in (True, False)
                 for each in (asked, heard.asked)]  # fmt: skip
        stated = math.fsum(stage.squared_mu for stage in first.stages if stage.norms)
        assert 0 < apart(*parts[:2]) <= stated and apart(*parts[2:]) == pytest.approx(first.mu_used**2 - stated)
        assert first.mu * (1 - 1e-9) <= first.mu_used <= first.mu * (1 + 1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, workload", [(1.0, 2), (100.0, 3)])
def test_a_replaced_record_costs_no_more_than_stated(epsilon, workload, monkeypatch):
    heard = Heard(monkeypatch)
    monkeypatch.setattr(residual_stages, "LARGE", 6)
    given = {"neighbours": "bounded", "workload": workload}
    first = staged_residuals(TABLE, epsilon, 1e-6, rng=np.random.default_rng(3), **given)
    assert max(map(len, first.stages[-1].sigmas)) == workload
    assert any(stage.norms for stage in first.stages)
    answers, worst = list(heard.given), 0.0
    asked = heard.replay()
    for values in ([0, 0, 0, 0, 0], [2, 3, 1, 4, 0], [1, 2, 1, 1, 0], [TABLE.records[5, 0], 0, 1, 4, 0]):
        heard.again, heard.asked = list(answers), []
        records = TABLE.records
        records[5] = values
        again = staged_residuals(Table(records, DOMAIN), epsilon, 1e-6, rng=np.random.default_rng(3), **given)
        assert np.array_equal(again.synthetic.records, first.synthetic.records)
        worst = max(worst, apart(asked, heard.asked))
    assert 0.5 * first.mu**2 < worst <= first.mu_used**2 * (1 + 1e-12) and first.mu_used <= first.mu


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("records, epsilon, workload", [(2000, 1.0, 2), (60, 1.0, 2), (2000, 50.0, 3)])
def test_a_run_that_continues_reads_the_records_at_its_own_cost_only(
    records, epsilon, workload, neighbours, monkeypatch
):
    table, given = Table(TABLE.records[:records], DOMAIN), {"workload": workload, "neighbours": neighbours}
    earlier = staged_residuals(table, epsilon, 1e-6, rng=np.random.default_rng(20), **given).stages
    heard, given["earlier"] = Heard(monkeypatch), earlier
    first = staged_residuals(CountsOnly(table), epsilon / 2, 1e-6, rng=np.random.default_rng(21), **given)
    asked = heard.replay()
    other = table.records[1:] if neighbours == "unbounded" else np.vstack([[0, 3, 0, 4, 0], table.records[1:]])
    again = staged_residuals(
        CountsOnly(Table(other, DOMAIN)), epsilon / 2, 1e-6, rng=np.random.default_rng(21), **given
    )
    assert np.array_equal(again.synthetic.records, first.synthetic.records)
    assert [stage.norms for stage in first.stages] == [False, False, *[True, False] * (workload == 3)]
    assert (max(map(len, first.stages[-1].sigmas)) == 3) == (workload == 3)
    cost = apart(asked, heard.asked)
    assert 0 < cost <= first.mu_used**2 * (1 + 1e-12) and first.mu * (1 - 1e-6) <= first.mu_used <= first.mu
    if (workload, neighbours) == (2, "unbounded"):
        assert cost == pytest.approx(first.mu_used**2)


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_if_no_triple_has_answers_for_its_pairs_their_budget_is_spent_once(neighbours):
    """Then no norm is asked for: the number of stages depends on earlier answers, and their sum does not."""
    weights = residual_stages.set_weights(DOMAIN, 3)
    run = residual_stages._Run(TABLE, weights, neighbours, 2000, np.random.default_rng(25))
    run.third(Fraction(1, 2), model())
    assert not run.stages[0].norms and 0.499 < sum(stage.squared_mu for stage in run.stages) <= 0.5


def test_a_run_uses_the_answers_of_earlier_ones_whatever_the_order_of_attributes():
    other = Domain({name: DOMAIN.shape((name,))[0] for name in reversed(DOMAIN.attributes)})
    turned = Table(TABLE.records[:, ::-1], other)
    earlier = staged_residuals(turned, 200.0, 1e-6, rng=np.random.default_rng(22)).stages
    off = [
        np.mean([np.abs(found.synthetic.marginal(pair) - TABLE.marginal(pair)).sum() / len(TABLE) for pair in PAIRS])
        for found in (
            staged_residuals(TABLE, 0.01, 1e-6, rng=np.random.default_rng(23), records=2000, earlier=stages)
            for stages in (earlier, earlier[:-1], ())
        )
    ]
    assert off[0] < 0.02 and off[0] < off[1] < off[2]


def test_single_attributes_keep_their_part_of_the_budget_of_all_runs():
    """As if a run of twice the budget had been interrupted: the later stages do not take all of it for pairs."""
    part = lambda stages: math.fsum(  # noqa: E731
        (1 - 1 / DOMAIN.shape(names)[0]) / sigma**2
        for stage in stages for names, sigma in stage.sigmas.items() if len(names) == 1
    ) / math.fsum(stage.squared_mu for stage in stages)  # fmt: skip
    run = lambda seed, **more: staged_residuals(TABLE, 0.02, 1e-6, rng=np.random.default_rng(seed), **more).stages  # noqa: E731
    first = [run(seed) for seed in range(24, 32)]
    again = [part(run(seed, earlier=stages)) for seed, stages in enumerate(first, 24)]
    assert sum(again) > 0.9 * sum(map(part, first))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes, budget",
    [([3] * 60, 2.0), ([1000, 800, 2, 30], 1e6)],
    ids=["60 attributes", "1000 values"],
)
def test_large_tables_are_read_at_exactly_the_stated_cost(sizes, budget, monkeypatch):
    """The stages alone: neither a model nor records. The second asks for a pair of 30,000 cells."""
    domain = Domain({f"a{v}": size for v, size in enumerate(sizes)})
    table, heard = dependent(domain, 60), Heard(monkeypatch)
    asked = []
    for records in (table.records, table.records[:-1]):
        weights = residual_stages.set_weights(domain, 2)
        run = residual_stages._Run(Table(records, domain), weights, "unbounded", None, np.random.default_rng(4))
        run.ask({(): 0.5})
        run.stage(budget)
        asked = asked or heard.replay()
    assert apart(asked, heard.asked) == pytest.approx(math.fsum(stage.squared_mu for stage in run.stages), rel=1e-9)
    assert math.fsum(stage.squared_mu for stage in run.stages) == pytest.approx(budget + 0.5, rel=1e-9)
    assert max(answer.size for answer in run.stages[-1].answers.values()) == (9 if max(sizes) == 3 else 30_000)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_the_budget_is_that_of_one_gaussian_mechanism(epsilon, neighbours):
    result = staged_residuals(TABLE, epsilon, 1e-7, rng=np.random.default_rng(5), neighbours=neighbours)
    assert result.mu == 1 / accounting.gaussian_sigma(epsilon, 1e-7)
    assert accounting.gaussian_delta(1 / result.mu_used, epsilon) <= 1e-7 * (1 + 1e-9)
    assert result.mu * (1 - 1e-6) <= result.mu_used
    spent = sum(Fraction(stage.squared_mu) for stage in result.stages)
    assert spent <= 1 / Fraction(float(accounting.gaussian_sigma(epsilon, 1e-7))) ** 2
    parts = [stage.squared_mu / result.mu**2 for stage in result.stages]
    assert parts == pytest.approx([0.01, 0.099, 0.3564, 0.5346] if neighbours == "unbounded" else [0.1, 0.36, 0.54])
    for stage in result.stages:  # the noise that was drawn, by fractions
        cost = sum(
            math.prod(1 - Fraction(1, n) for n in DOMAIN.shape(names)) / Fraction(sigma) ** 2
            for names, sigma in stage.sigmas.items()
        )
        assert neighbours == "bounded" or Fraction(stage.squared_mu) * (1 - Fraction(1, 10**12)) <= cost <= Fraction(
            stage.squared_mu
        )


def test_the_same_seed_gives_the_same_digits():
    one, two, other = (staged_residuals(TABLE, 1.0, 1e-6, rng=np.random.default_rng(seed)) for seed in (6, 6, 7))
    assert np.array_equal(one.synthetic.records, two.synthetic.records)
    assert all(np.array_equal(one.targets[pair], two.targets[pair]) for pair in one.targets)
    assert not np.array_equal(one.synthetic.records, other.synthetic.records)


def test_records_are_like_the_real_ones_with_much_budget():
    result = staged_residuals(TABLE, 200.0, 1e-6, rng=np.random.default_rng(8))
    for pair in PAIRS:
        assert np.abs(result.synthetic.marginal(pair) - TABLE.marginal(pair)).sum() < 0.02 * len(TABLE)


def test_a_pair_outside_the_tree_is_not_lost():
    """With room for single attributes only, the model knows no pair, but the records do."""
    result = staged_residuals(TABLE, 50.0, 1e-6, rng=np.random.default_rng(9), max_cells=15)
    assert all(len(clique) == 1 for clique in result.model.cliques)
    for pair in PAIRS:
        off, before = (
            np.abs(found.marginal(pair) - TABLE.marginal(pair)).sum() for found in (result.synthetic, result.model)
        )
        assert off < 0.05 * len(TABLE) and (before > 0.15 * len(TABLE) or "e" in pair)


def test_the_second_stage_asks_for_what_stood_out():
    """Only a and d depend on each other: the pair gets more precision than a pair of the same sizes that does not."""
    domain, rng = Domain({"a": 6, "b": 6, "c": 6}), np.random.default_rng(10)
    records = rng.integers(0, 6, (3000, 3))
    records[:, 1] = np.where(rng.random(3000) < 0.8, records[:, 0], records[:, 1])
    result = staged_residuals(Table(records, domain), 0.3, 1e-6, rng=rng)
    first, second = (stage.sigmas for stage in result.stages[-2:])
    assert first["a", "b"] < first.get(("b", "c"), math.inf)
    assert second["a", "b"] < 0.8 * second.get(("b", "c"), math.inf)


def test_workloads_weights_and_options():
    run = lambda workload, **more: staged_residuals(TABLE, 1.0, 1e-6, workload, rng=np.random.default_rng(11), **more)  # noqa: E731
    found = run([("b", "a"), ("c",)])
    assert set(found.targets) == {("a", "b")}
    assert set().union(*(stage.sigmas for stage in found.stages)) <= {(), ("a",), ("b",), ("c",), ("a", "b")}
    counts = found.model.marginal(("d",))
    assert np.allclose(counts, counts.mean())
    heavy, light = (run({("a", "b"): 1.0, ("c", "d"): w}).stages[-2].sigmas["c", "d"] for w in (50.0, 0.02))
    assert heavy < 0.5 * light
    assert run(1).targets == {} and len(run(1, records=77).synthetic) == 77
    public = run(2, total=1500)
    assert (
        public.total == 1500
        and len(public.stages) == 3 + any(stage.norms for stage in public.stages)
        and public.model.total == 1500 == len(public.synthetic)
    )
    bounded = run(2, neighbours="bounded")
    assert bounded.total == len(bounded.synthetic) == len(TABLE)


def test_weights_are_relative_to_their_mean():
    weights = residual_stages.set_weights(DOMAIN, {("a", "b"): 3e99, ("c", "a"): 1e99})
    assert weights == {(0, 1): pytest.approx(1.5), (0, 2): pytest.approx(0.5)}


def test_larger_sets_give_their_weight_to_the_pairs_and_triples_inside_them():
    """By the definition, for all sets of up to three attributes."""
    workload = {("d", "b", "a", "c"): 2.0, ("a", "e", "c"): 0.5, ("c", "a"): 3.0, ("b",): 1.0, ("d",): 4.0}
    wanted = {}
    for k in (1, 2, 3):
        for clique in itertools.combinations(range(5), k):
            names = {DOMAIN.attributes[v] for v in clique}
            larger = [weight for each, weight in workload.items() if k > 1 and len(each) > 2 and names <= set(each)]
            wanted[clique] = sum(larger) + sum(w for each, w in workload.items() if k < 3 and names == set(each))
    wanted = {clique: weight for clique, weight in wanted.items() if weight}
    mean = np.mean([weight for clique, weight in wanted.items() if len(clique) < 3])
    found = residual_stages.set_weights(DOMAIN, workload)
    assert list(found) == sorted(wanted)
    assert found == {clique: pytest.approx(weight / mean) for clique, weight in wanted.items()}


# ---- triples


def parity(n=3000, domain=None, seed=30):
    """Records whose third attribute is usually the sum of the first two, modulo 2, so that all pairs are independent."""
    rng = np.random.default_rng(seed)
    records = rng.integers(0, 2, (n, 4))
    records[:, 2] = np.where(rng.random(n) < 0.8, (records[:, 0] + records[:, 1]) % 2, records[:, 2])
    return Table(records, domain or Domain({"x": 2, "y": 2, "z": 2, "w": 2}))


def off(table, result, names) -> float:
    return np.abs(result.synthetic.marginal(names) - table.marginal(names)).sum() / len(table)


def test_triples_that_stand_out_are_measured_if_the_workload_has_them_and_the_budget_suffices():
    table, triple = parity(), ("x", "y", "z")
    run = lambda epsilon, workload: staged_residuals(table, epsilon, 1e-6, workload, rng=np.random.default_rng(31))  # noqa: E731
    found = run(10.0, 3)
    assert [stage.norms for stage in found.stages] == [False] * 4 + [True, False]
    assert set(found.stages[-2].sigmas) == set(itertools.combinations(table.domain.attributes, 3))
    assert triple in found.stages[-1].sigmas and triple in found.model.cliques
    assert off(table, found, triple) < 0.02 < 0.7 < off(table, run(10.0, 2), triple)
    for others in (2, [("x", "y"), ("z", "w")], [("x", "y", "w")]):
        assert triple not in run(10.0, others).stages[-1].sigmas
    assert np.array_equal(run(0.1, 3).synthetic.records, run(0.1, 2).synthetic.records)


def test_heavier_triples_get_more_precision():
    sets = {("a", "b", "d"): 1.0, ("a", "c", "d"): 1.0}
    heavy, light = (
        staged_residuals(TABLE, 100.0, 1e-6, sets | {("a", "b", "c"): w}, rng=np.random.default_rng(36)).stages[-1]
        for w in (50.0, 0.02)
    )
    assert heavy.sigmas["a", "b", "c"] < 0.5 * light.sigmas["a", "b", "c"]


def test_a_pair_counts_once_more_for_each_triple_that_contains_it():
    found = Answers((2, 2, 2, 2), 4000.0)
    for v in range(4):
        found.record((v,), np.zeros(2), 1.0)
    for pair, distance in {(0, 1): 60.0, (1, 2): 10.0, (0, 2): 10.0, (2, 3): 100.0}.items():
        found.record(pair, distance * np.array([[1.0, -1.0], [-1.0, 1.0]]), 1.0)
    assert found.standing_out(10**6)[4:6] == [(2, 3), (0, 1)]
    found.expected = {(0, 1, 2): np.zeros((2, 2, 2)), (0, 1, 3): np.zeros((2, 2, 2))}
    assert found.standing_out(10**6)[4:6] == [(0, 1), (2, 3)]


def test_all_triples_and_sets_of_four_are_what_they_contain():
    """The same digits for all sets of three attributes, their collection, and equal weights of theirs."""
    table = parity()
    triples = list(itertools.combinations(table.domain.attributes, 3))
    one, *others = (
        staged_residuals(table, 10.0, 1e-6, workload, rng=np.random.default_rng(32))
        for workload in (3, triples, dict.fromkeys(triples, 7.0), 4)
    )
    for other in others:
        assert np.array_equal(one.synthetic.records, other.synthetic.records) and one.mu_used == other.mu_used


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_without_a_triple_that_stands_out_the_budget_goes_to_pairs(neighbours):
    records = np.stack(np.unravel_index(np.arange(16 * 200) % 16, (2,) * 4), axis=1)
    table = Table(records, parity().domain)
    found = staged_residuals(table, 3.0, 1e-6, 3, rng=np.random.default_rng(33), neighbours=neighbours)
    assert found.stages[-2].norms and max(map(len, found.stages[-1].sigmas)) == 2
    assert found.mu * (1 - 1e-6) <= found.mu_used <= found.mu


def test_a_run_that_continues_uses_triples_even_if_it_cannot_measure_them():
    table, triple = parity(), ("x", "y", "z")
    earlier = staged_residuals(table, 10.0, 1e-6, 3, rng=np.random.default_rng(34)).stages
    found = staged_residuals(table, 0.05, 1e-6, 3, rng=np.random.default_rng(35), earlier=earlier, records=3000)
    assert len(found.stages) == 2 and max(len(names) for names in found.stages[-1].sigmas) < 3
    assert off(table, found, triple) < 0.1


def test_large_triples_are_left_out_by_size(monkeypatch):
    weights = residual_stages.set_weights(DOMAIN, 3)
    cells = lambda triple: math.prod(DOMAIN.sizes[v] for v in triple)  # noqa: E731
    alive = set(itertools.combinations(range(4), 3))  # the fifth attribute has one value
    triples = lambda: set(residual_stages._Run(TABLE, weights, "unbounded", None, None).triples)  # noqa: E731
    assert triples() == alive
    monkeypatch.setattr(residual_stages, "_EARLY_CELLS", 40)
    assert triples() == {triple for triple in alive if cells(triple) <= 40}
    monkeypatch.setattr(residual_stages, "_MOST_MEASURED", 40)
    assert triples() == {min(alive, key=cells)}


def test_attributes_of_one_value_alone():
    domain = Domain({"a": 1, "b": 1})
    table = Table(np.zeros((9, 2), dtype=int), domain)
    for neighbours in ("unbounded", "bounded"):
        result = staged_residuals(table, 1.0, 1e-6, rng=np.random.default_rng(12), neighbours=neighbours)
        assert result.synthetic.records.max() == 0 and result.mu_used <= result.mu


def test_pairs_with_too_many_cells_are_left_out_by_size(monkeypatch):
    monkeypatch.setattr(residual_stages, "_MOST_MEASURED", 30)
    run = residual_stages._Run(TABLE, residual_stages.set_weights(DOMAIN, 2), "unbounded", None, None)
    assert sum(math.prod(DOMAIN.sizes[v] for v in pair) for pair in run.pairs) <= 30
    assert {v for effect in run.stakes for v in effect} == {0, 1, 2, 3}


# ---- answers, and targets


def answers(precision=1e-4, total=2000.0, noise=0.0, table=TABLE):
    found, rng = Answers(DOMAIN.sizes, total), np.random.default_rng(13)
    for k in (1, 2):
        for effect in itertools.combinations(range(4), k):
            counts = table.marginal([DOMAIN.attributes[v] for v in effect])
            found.record(effect, centred(counts + noise * rng.normal(size=counts.shape)), precision)
    return found


def model(total=2000.0):
    shares = np.array([0.5, 0.3, 0.2])
    return GraphicalModel(DOMAIN, {("a",): np.log(shares), ("b",): np.log([0.4, 0.3, 0.2, 0.1])}, total)


def test_a_target_is_the_models_where_an_answer_does_not_stand_out():
    weak = targets(answers(1e-12), model(), [(0, 1), (0, 2)], ())
    assert all(np.allclose(counts, model().counts(pair), rtol=1e-13, atol=0) for pair, counts in weak.items())
    inside = targets(answers(1e6), model(), [(0, 1)], {(0, 1)})
    assert np.allclose(inside[0, 1], model().counts((0, 1)), rtol=1e-13, atol=0)


def test_a_target_is_shrunk_by_its_strength():
    """By hand, for a small distance, so that no count is cut at 0 and the margins stay the model's."""
    known, away = Answers(DOMAIN.sizes, 2000.0), np.outer([1.0, -1.0, 0.0], [1.0, 0.0, -1.0, 0.0])
    counts = model().counts((0, 1))
    known.record((0, 1), centred(counts) + 30.0 * away, 0.005)
    strength = 0.005 * 30**2 * 4 / (2 * 3)
    assert strength == 3.0
    assert np.allclose(targets(known, model(), [(0, 1)], ())[0, 1], counts + (1 - 1 / strength) * 30 * away)


def test_targets_are_counts_with_the_models_margins():
    for precision, noise in ((1.0, 1.0), (1e-4, 100.0)):
        for pair, counts in targets(answers(precision, noise=noise), model(), [(0, 1), (1, 3), (0, 3)], ()).items():
            wanted = model().counts(pair)
            assert counts.min() >= 0 and counts.sum() == pytest.approx(2000)
            assert np.allclose(counts.sum(axis=0), wanted.sum(axis=0), rtol=1e-2, atol=1)
            assert not np.allclose(counts, wanted, rtol=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_projection_is_the_nearest_point(seed):
    """By the conditions of Karush, Kuhn and Tucker: the same amount is taken from all entries above 0, and more from none."""
    table = np.random.default_rng(seed).normal(1, 3, (3, 4))
    found = simplex_projection(table, 10.0)
    assert found.min() == 0 and found.sum() == pytest.approx(10)
    taken = table - found
    above = taken[found > 0]
    assert np.ptp(above) < 1e-12 and taken.max() <= above.max() + 1e-12


def test_the_error_of_counts_under_independence_is_roughly_that_of_simulations():
    """Where counts are far above the noise, and where most are lost in it: then at most the counts themselves."""
    rng, shares = np.random.default_rng(17), (np.arange(20, 0, -1) ** 2 / 2870, np.arange(1, 31) / 465)
    for noise, within in ((5.0, 0.2), (300.0, 0.5)):
        found, true = [], []
        for _ in range(40):
            known = Answers((20, 30), 2000.0)
            for v, share in enumerate(shares):
                known.record((v,), centred(2000 * share + noise * rng.normal(size=share.size)), noise**-2)
            found.append(known.error_of_even((0, 1)))
            true.append(np.abs(centred(known.even((0, 1)) - 2000 * np.multiply.outer(*shares))).sum())
        assert np.mean(found) == pytest.approx(np.mean(true), rel=within)
    assert (
        Answers((20, 30), 2000.0).error_of_even((0, 1)) < 1e-9
    )  # the residual of even counts is 0 if nothing is known


def test_a_signal_is_the_squared_distance_less_the_noise():
    """The mean of 4000 estimates, for a true distance of 9 per degree of freedom under noise of variance 4."""
    rng, away, found = np.random.default_rng(14), centred(np.random.default_rng(15).normal(size=(3, 4))), []
    away *= math.sqrt(9 * 6 / (away**2).sum())
    for _ in range(4000):
        known = Answers((3, 4))
        known.record((0, 1), centred(away + rng.normal(0, 2, (3, 4))), 1 / 4)
        found.append(known.signal((0, 1), np.zeros((3, 4))))
    assert np.mean(found) == pytest.approx(9, abs=5 * np.std(found) / math.sqrt(4000))
    none = Answers((3, 4))
    none.record((0, 1), np.zeros((3, 4)), 1 / 4)
    assert 0 < none.signal((0, 1), np.zeros((3, 4))) < 1


def test_pairs_that_stand_out_fill_the_tree_and_no_more():
    known = answers(1.0, noise=0.5)
    everything = known.standing_out(10**6)
    assert everything[:4] == [(0,), (1,), (2,), (3,)] and len(everything) == 10
    for limit in (15, 30, 60):
        found = known.standing_out(limit)
        assert found[:4] == everything[:4]
        cliques = [tuple(DOMAIN.attributes[v] for v in clique) for clique in found]
        assert GraphicalModel(DOMAIN, {names: np.zeros(DOMAIN.shape(names)) for names in cliques}).size <= limit
    assert known.standing_out(30)[4:] and not known.standing_out(15)[4:]
    assert answers(1e-9).standing_out(10**6) == everything[:4]  # nothing exceeds its noise


@pytest.mark.parametrize("seed", range(3))
def test_pairs_inside_a_clique_count_when_later_pairs_are_tried(seed):
    """The tree of a cycle has one of its chords. With both, four attributes form one clique, which may exceed the limit."""
    rng, sizes = np.random.default_rng(seed), (8,) * 6
    domain = Domain({f"a{v}": size for v, size in enumerate(sizes)})
    for _ in range(10):
        known = Answers(sizes, 1e4)
        for v, size in enumerate(sizes):
            known.record((v,), np.zeros(size), 1.0)
        for pair in itertools.combinations(range(6), 2):
            known.record(pair, rng.exponential() * 100 * centred(rng.normal(size=(8, 8))), 1.0)
        cliques = [tuple(domain.attributes[v] for v in clique) for clique in known.standing_out(3000)]
        assert GraphicalModel(domain, {names: np.zeros(domain.shape(names)) for names in cliques}).size <= 3000


def test_a_pair_of_noise_alone_does_not_stand_out_before_a_weak_dependence():
    """The noise of the large pair adds up to more counts than the dependence of the small one."""
    found, rng = Answers((20, 20, 2, 2), 2000.0), np.random.default_rng(16)
    for v, size in enumerate((20, 20, 2, 2)):
        found.record((v,), np.zeros(size), 1.0)
    found.record((0, 1), centred(rng.normal(0, 50, (20, 20))), 1 / 50**2)
    found.record((2, 3), np.array([[60.0, -60.0], [-60.0, 60.0]]), 1 / 20**2)
    assert found.standing_out(10**6)[4] == (2, 3)


def test_answers_for_one_residual_are_averaged_by_precision():
    known = Answers((2, 2))
    known.record((0,), np.array([1.0, -1.0]), 3.0)
    known.record((0,), np.array([5.0, -5.0]), 1.0)
    assert known.precision((0,)) == 4.0 and known.precision((1,)) == 0.0
    assert known.deviations() == {(0,): 0.5} and known.strengths()[0,] == pytest.approx(4 * (2 * 2**2))


@pytest.mark.parametrize(
    "options, named",
    [
        ({"epsilon": 0.0}, r"epsilon must be in \[1e-6, 1e6\], got 0"),
        ({"delta": 1.0}, r"delta must be in \[1e-300, 1\), got 1"),
        ({"rng": 3}, "rng must be a numpy.random.Generator"),
        ({"neighbours": "near"}, "neighbours must be one of 'unbounded', 'bounded', got 'near'"),
        ({"workload": 6}, r"workload must be in \[1, 5\], got 6"),
        ({"workload": [("a", "b", "a")]}, "attributes must all be different, got 'a' twice"),
        ({"workload": {("a", "b", "c"): -1.0}}, "workload weight must be in .1e-100, 1e100., got -1"),
        ({"workload": []}, "workload must contain a non-empty set"),
        ({"workload": {("a", "b"): 0.0}}, "workload weight must be in .1e-100, 1e100., got 0"),
        ({"workload": [("a", "z")]}, "attributes must be among"),
        ({"total": 0}, r"total must be in \[1, inf\), got 0"),
        (
            {"total": 5, "neighbours": "bounded"},
            "total must be 2000, the number of records, if neighbours are bounded, got 5",
        ),
        ({"records": 0}, r"records must be in \[1, inf\), got 0"),
        ({"max_cells": 14}, r"max_cells must be in \[15, inf\), got 14"),
        ({"earlier": 3}, "earlier must be a sequence of Stage objects, got 3"),
        ({"earlier": [Stage({("a",): 1.0}, {("a",): np.zeros(4)}, 1.0)]}, r"must have shape \(3,\), got \(4,\)"),
        ({"earlier": [Stage({("a",): 0.0}, {("a",): np.zeros(3)}, 1.0)]}, r"earlier sigma of \('a',\) must be in"),
        ({"earlier": [Stage({("z",): 1.0}, {("z",): np.zeros(3)}, 1.0)]}, "attributes must be among"),
    ],
)
def test_bad_input_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        staged_residuals(**{"table": TABLE, "epsilon": 1.0, "delta": 1e-6, "rng": np.random.default_rng(1)} | options)
