"""`privbayes`: sensitivities by brute force, the budget as it is spent, exact laws, and limits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from lib.numerics import simplex
from lib.tables import bayesian_network
from lib.tables.bayesian_network import privbayes as run
from lib.tables.table import Domain, Table

properties = settings(derandomize=True, deadline=None, max_examples=60)


def generator(seed=0):
    return np.random.default_rng(seed)


def random_table(seed, n, sizes=(3, 2, 4, 2)):
    """Return records whose attributes each depend on the one before."""
    rng, columns = generator(seed), []
    for size in sizes:
        fresh = rng.integers(0, size, n)
        columns.append(np.where(rng.random(n) < 0.6, columns[-1] % size, fresh) if columns else fresh)
    return Table(np.stack(columns, axis=1), Domain({f"a{i}": size for i, size in enumerate(sizes)}))


# ---- scores


@properties
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 5), st.integers(1, 100))
def test_the_score_is_its_definition(seed, a, b, n):
    counts = generator(seed).multinomial(n, np.ones(a * b) / (a * b)).reshape(a, b)
    shares = counts / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    distance = 0.0
    for i, j in itertools.product(range(a), range(b)):
        distance += abs(shares[i, j] - rows[i] * columns[j]) / 2
    assert bayesian_network.dependence(counts) == pytest.approx(n * distance, abs=1e-9)


def all_counts(n, cells):
    """Yield every way to put n records into `cells` cells."""
    for bars in itertools.combinations(range(n + cells - 1), cells - 1):
        edges = (-1, *bars, n + cells - 1)
        yield np.diff(edges) - 1


def greatest_change(score, shape, n):
    """Return the largest change by brute force over all tables, when a record is added to n others."""
    cells, greatest = math.prod(shape), 0.0
    for counts in all_counts(n, cells):
        after = [score((counts + one).reshape(shape)) for one in np.eye(cells, dtype=int)]
        before = score(counts.reshape(shape))
        greatest = max(greatest, *(abs(value - before) for value in after))
    return greatest


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (3, 3), (2, 4)])
def test_one_record_changes_dependence_by_less_than_claimed_by_brute_force(shape):
    for n in range(1, 6):
        added = greatest_change(bayesian_network.dependence, shape, n)
        assert added == pytest.approx(2 * n / (n + 1))  # attained, so 2 is the least bound free of n
        assert added < bayesian_network.SENSITIVITY


@pytest.mark.slow
@properties
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(2, 8), st.integers(1, 3000), st.floats(-2, 1))
def test_one_record_of_many_changes_the_score_within_its_sensitivity(seed, a, b, n, evenness):
    rng = generator(seed)
    counts = rng.multinomial(n, rng.dirichlet(np.full(a * b, 10.0**evenness))).reshape(a, b)
    before = bayesian_network.dependence(counts)
    for x, y in rng.integers(0, (a, b), (10, 2)):
        with_one = counts.copy()
        with_one[x, y] += 1
        assert abs(bayesian_network.dependence(with_one) - before) <= bayesian_network.SENSITIVITY


# ---- the budget


@pytest.mark.parametrize(("d", "parents"), [(1, 2), (2, 2), (3, 2), (5, 2), (5, 1), (5, 4), (5, 9), (8, 5), (12, 20)])
def test_what_is_drawn_adds_up_to_the_budget(monkeypatch, d, parents):
    choices, noises = [], []
    exponential, laplace = bayesian_network.exponential, bayesian_network.laplace

    def spied_choice(scores, epsilon, claimed, *, rng):
        assert claimed == 2
        choices.append(epsilon)
        return exponential(scores, epsilon, claimed, rng=rng)

    def spied_noise(shape, scale, *, rng):
        noises.append(scale)
        return laplace(shape, scale, rng=rng)

    monkeypatch.setattr(bayesian_network, "exponential", spied_choice)
    monkeypatch.setattr(bayesian_network, "laplace", spied_noise)
    table = random_table(1, 50, (2, 3, 2, 2, 3, *(2,) * 7)[:d])
    result = run(table, 0.7, parents=parents, rng=generator())
    assert (len(choices), len(noises)) == (d - 1, max(d - parents, 1))
    structure, values = sum(choices), sum(1 / scale for scale in noises)
    assert structure + values == pytest.approx(0.7, rel=1e-12)
    assert structure == pytest.approx(0.3 * 0.7 if d > 1 else 0, rel=1e-12)
    assert result.epsilon == 0.7 and len(set(noises)) == 1


# ---- what is read of the records


class Answer:
    """In place of noise: keeps the counts that it is added to, and makes the sum the same whatever they are."""

    __array_ufunc__ = None  # numpy leaves the sum to `__radd__`

    def __init__(self, read, values):
        self.read, self.values = read, values

    def __radd__(self, counts):
        self.read.append(counts)
        return self.values


def watched(monkeypatch, table, parents, mean):
    """Return a run whose choices and noisy counts are given: all that is public of it, and what the mechanisms got of the records."""
    asked, read, given = [], [], generator(4)

    def choice(scores, epsilon, sensitivity, *, rng):
        assert rng is given
        asked.append((len(scores), epsilon, sensitivity))
        place = [len(scores) - 1, 0, len(scores) // 2][len(asked) % 3]
        read.append((place, list(scores)))
        return place

    def noise(shape, scale, *, rng):
        assert rng is given
        asked.append((shape, scale))
        return Answer(read, np.arange(math.prod(shape)).reshape(shape) % 7 + mean)

    monkeypatch.setattr(bayesian_network, "exponential", choice)
    monkeypatch.setattr(bayesian_network, "laplace", noise)
    found = run(table, 0.7, rng=given, parents=parents)
    return (asked, found.network, found.table.records.tobytes(), found.epsilon, given.random()), read


def counted(table, names):
    shape = table.domain.shape(names)
    cells = np.ravel_multi_index([table.column(name) for name in names], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)


def score(table, attribute, parents):
    counts = counted(table, (attribute, *parents)).reshape(table.domain.shape([attribute])[0], -1)
    return np.abs(counts - counts.sum(axis=1)[:, None] * (counts.sum(axis=0) / len(table))).sum() / 2


@pytest.mark.slow
@pytest.mark.parametrize("mean", [-9.0, 0.0], ids=["few records", "many"])
@pytest.mark.parametrize(
    ("sizes", "parents"),
    [((1,), 2), ((7,), 1), ((1, 1, 1), 2), ((3, 2, 4, 2), 1), ((3, 2, 4, 2), 2), ((2, 5, 3), 9), ((2,) * 16, 2), ((60, 50, 20), 2)],
    ids=str,
)  # fmt: skip
def test_the_records_speak_through_the_noisy_counts_and_the_choices_alone(monkeypatch, sizes, parents, mean):
    """Each candidate's score and each cell goes where noise is added, and nothing goes anywhere else. This holds for tables of any size,
    for one record, for a million, for equal records, and if every other attribute has only one value."""
    domain = random_table(0, 1, sizes).domain
    same, spread = np.tile(np.array(sizes) - 1, (90, 1)), random_table(2, 3000, sizes)
    halves = [
        np.where(np.arange(len(sizes)) % 2 == odd, same[:40], random_table(1, 40, sizes).records) for odd in (0, 1)
    ]
    tables = [spread, Table(same, domain), random_table(3, 1, sizes), *(Table(half, domain) for half in halves)]
    if len(sizes) <= 4 and mean == 0:
        tables.append(Table(np.resize(spread.records, (1_000_001, len(sizes))), domain))
    public = []
    for table in tables:
        told, read = watched(monkeypatch, table, parents, mean)
        public.append(told)
        asked, network = told[:2]
        chosen, placed = read[: len(sizes) - 1], [name for name, _ in network]
        for step, (place, scores) in enumerate(chosen, start=1):
            groups = itertools.combinations(placed[:step], min(parents, step))
            wanted = [score(table, name, group) for group in groups for name in placed[step:]]
            assert np.allclose(np.sort(scores), np.sort(wanted), atol=1e-9)
            assert scores[place] == pytest.approx(score(table, *network[step]), abs=1e-9)
        measured = network[-max(len(sizes) - parents, 1) :]
        assert all(
            (counts == counted(table, (name, *group))).all()
            for counts, (name, group) in zip(read[len(chosen) :], measured, strict=True)
        )
        costs = [each[1] if len(each) == 3 else 1 / each[1] for each in asked]
        assert sum(costs) == pytest.approx(0.7, rel=1e-12) and {each[2] for each in asked if len(each) == 3} <= {2.0}
        assert [each[0] for each in asked if len(each) == 2] == [counts.shape for counts in read[len(chosen) :]]
    assert all(told == public[0] for told in public)


@pytest.mark.slow
def test_the_choice_is_among_all_candidates(monkeypatch):
    """Up to 6,006 of them, as sets of 6 parents among 16 attributes: the mechanism gets the score of each, and the same sensitivity."""
    scores, chosen = itertools.count(), []

    def choice(given, epsilon, sensitivity, *, rng):
        assert sensitivity == 2
        chosen.append(len(set(given)))
        return [0, len(given) - 1, len(given) // 2][len(chosen) % 3]

    sizes = [math.comb(step, min(step, 6)) * (16 - step) for step in range(1, 16)]
    monkeypatch.setattr(bayesian_network, "dependence", lambda counts: next(scores))
    monkeypatch.setattr(bayesian_network, "exponential", choice)
    run(random_table(1, 1, (1,) * 16), 0.7, rng=generator(4), parents=6)
    assert chosen == sizes and max(sizes) == 6_006


# ---- the network and the noise, against their exact laws


@pytest.mark.slow
def test_networks_have_the_probabilities_of_the_exponential_mechanism():
    """Chi-square on 2,000 networks of three attributes, one parent each: false alarm 1 in 1,000."""
    table, epsilon, runs = random_table(3, 40, (2, 2, 2)), 20.0, 2000
    names, rng = table.domain.attributes, generator(11)
    step = 0.3 * epsilon / 2 / (2 * 2)
    value = {
        frozenset(pair): step * bayesian_network.dependence(table.marginal(pair))
        for pair in itertools.combinations(names, 2)
    }
    law = {}
    for root, second in itertools.permutations(names, 2):
        third = next(iter(set(names) - {root, second}))
        first_step = {other: math.exp(value[frozenset((root, other))]) for other in (second, third)}
        second_step = {parent: math.exp(value[frozenset((parent, third))]) for parent in (root, second)}
        for parent in (root, second):
            law[(root, ()), (second, (root,)), (third, (parent,))] = (
                first_step[second] / sum(first_step.values()) * second_step[parent] / sum(second_step.values()) / 3
            )
    seen = dict.fromkeys(law, 0)
    for _ in range(runs):
        drawn = run(table, epsilon, parents=1, rng=rng)
        seen[drawn.network] += 1
    assert sum(law.values()) == pytest.approx(1) and max(law.values()) > 2 * min(law.values())
    assert stats.chisquare(list(seen.values()), runs * np.array(list(law.values()))).pvalue > 1e-3


def test_noise_has_the_scale_stated():
    """Kolmogorov and Smirnov on 5,000 draws: false alarm 1 in 1,000."""
    table = random_table(1, 10, (50, 100))
    (noisy,) = bayesian_network._measured(table, (("a0", ()), ("a1", ("a0",))), 1, 3.0, generator(5))
    drawn = (noisy - table.marginal(("a1", "a0"))).ravel()
    assert stats.kstest(drawn, stats.laplace(scale=3.0).cdf).pvalue > 1e-3


def test_networks_are_well_formed_and_find_the_chain():
    table = random_table(2, 4000, (3, 2, 4, 2, 3, 5))
    for seed, parents in itertools.product(range(5), (1, 2, 3)):
        network = run(table, 1.0, parents=parents, rng=generator(seed)).network
        placed = [name for name, _ in network]
        assert sorted(placed) == sorted(table.domain.attributes)
        for position, (_, chosen) in enumerate(network):
            assert len(chosen) == len(set(chosen)) == min(parents, position) and set(chosen) <= set(placed[:position])
    strong = run(table, 1e5, parents=1, rng=generator(1)).network
    distances = [abs(int(name[1]) - int(chosen[0][1])) for name, chosen in strong[1:]]
    assert distances == [1] * 5  # each leans on its neighbour in the chain


# ---- post-processing


@properties
@given(st.integers(0, 2**32), st.integers(1, 12), st.floats(0.1, 50))
def test_nearest_counts_are_the_quadratic_programs_solution(seed, size, total):
    noisy = generator(seed).normal(scale=5, size=size)
    ours = simplex.nearest(noisy, total)
    assert ours.sum() == pytest.approx(total) and (ours >= 0).all()
    level = optimize.brentq(lambda v: np.maximum(noisy - v, 0).sum() - total, noisy.min() - total - 1, noisy.max())
    np.testing.assert_allclose(ours, np.maximum(noisy - level, 0), atol=1e-9)  # the conditions of Karush, Kuhn, Tucker


def test_the_number_of_records_is_estimated_best_from_small_tables():
    small, large = np.array([[50.0, 52.0]]), np.full((10, 10), 2.0)
    assert bayesian_network._common_total([small, large]) == pytest.approx((102 / 2 + 200 / 100) / (1 / 2 + 1 / 100))
    assert bayesian_network._common_total([-small]) == 1


def test_without_noise_to_speak_of_the_joint_distribution_returns():
    table = random_table(4, 20_000, (3, 2, 4))
    result = run(table, 1e6, rng=generator(2))
    assert len(result.table) == len(table) and result.table.domain == table.domain
    # 24 cells of draws against their expectation: mean of chi-square 23, five deviations above it
    expected = table.marginal(("a0", "a1", "a2"))
    excess = (result.table.marginal(("a0", "a1", "a2")) - expected) ** 2 / np.maximum(expected, 1e-9)
    assert excess[expected > 0].sum() < 23 + 5 * math.sqrt(46)
    assert result.table.marginal(("a0", "a1", "a2"))[expected == 0].sum() == 0


def test_each_measured_table_returns_from_a_network_of_two_parents():
    table = random_table(6, 50_000, (3, 2, 4, 2, 3))
    result = run(table, 1e6, rng=generator(7))
    for attribute, parents in result.network:
        expected = table.marginal((attribute, *parents)) / len(table)
        drawn = result.table.marginal((attribute, *parents)) / len(result.table)
        assert np.abs(drawn - expected).max() < 0.012


def test_parents_values_never_seen_get_the_attributes_own_distribution():
    domain = Domain({"p": 3, "x": 2})
    counts = [np.array([1.0, 1.0, 2.0]), np.array([[3.0, 0.0, 0.0], [1.0, 0.0, 4.0]])]  # no record with p = 1
    drawn = bayesian_network._draw(domain, (("p", ()), ("x", ("p",))), counts, 40_000, generator(3)).marginal(
        ("p", "x")
    )
    expected = np.array([[0.75, 0.25], [3 / 8, 5 / 8], [0.0, 1.0]]) * np.array([[0.25], [0.25], [0.5]])
    assert drawn[2, 0] == 0
    assert stats.chisquare(np.delete(drawn.ravel(), 4), np.delete(expected.ravel(), 4) * 40_000).pvalue > 1e-3


@pytest.mark.parametrize("sizes", [(4,), (1,), (1, 1, 1), (2, 1, 3), (5, 2)])
def test_small_domains(sizes):
    result = run(random_table(1, 30, sizes), 0.5, rng=generator(1))
    assert result.table.domain.sizes == sizes and len(result.table) >= 1


def test_seeds_and_the_single_record():
    table = random_table(1, 100)
    first, second, other = (run(table, 1, rng=generator(seed)) for seed in (1, 1, 2))
    assert first.network == second.network and (first.table.records == second.table.records).all()
    assert first.network != other.network or first.table.records.tolist() != other.table.records.tolist()
    assert len(run(Table([[0, 1]], Domain({"x": 2, "y": 2})), 1, rng=generator()).table) >= 1


TABLE = random_table(0, 10)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("table", lambda: run([[0, 1]], 1, rng=generator())),
        ("epsilon", lambda: run(TABLE, 0, rng=generator())),
        ("epsilon", lambda: run(TABLE, math.inf, rng=generator())),
        ("parents", lambda: run(TABLE, 1, parents=0, rng=generator())),
        ("parents", lambda: run(TABLE, 1, parents=1.5, rng=generator())),
        ("rng", lambda: run(TABLE, 1, rng=3)),
        ("counts", lambda: bayesian_network.dependence([1, 2])),
        ("counts", lambda: bayesian_network.dependence([[0, 0]])),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
