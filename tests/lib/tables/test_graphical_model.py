"""`graphical_model`, `marginal_oracle`, `contraction`, `log_space`, `records` against the table of all records."""

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from lib.numerics import log_space
from lib.tables import marginal_oracle
from lib.tables.graphical_model import (
    GraphicalModel,
    Measurement,
    counts_of_sets,
    fit,
    fit_reconciled,
    least_loss,
    loss,
)
from lib.tables.reconciliation import Reconciliation
from lib.tables.table import Domain, Table
from tests.lib.tables.full_joint import SHAPES, joint, marginal, random_model

RANDOM = [None] * 200
STRUCTURES = [structure for structure in SHAPES.values() for _ in range(8)]


def models(seed, scale=None):
    for number, structure in enumerate(RANDOM + STRUCTURES):
        rng = np.random.default_rng([seed, number])
        domain, potentials = random_model(rng, structure, scale)
        yield domain, potentials, GraphicalModel(domain, potentials, total=100.0), rng


def subsets(domain):
    return [q for k in range(1, len(domain) + 1) for q in itertools.combinations(domain.attributes, k)]


# ------------------------------------------------- log Z, marginals, queries


@pytest.mark.slow
def test_log_partition_and_every_marginal_equal_those_of_the_full_joint():
    for domain, potentials, model, rng in models(1):
        log_z, probabilities = joint(domain, potentials)
        assert model.log_partition == pytest.approx(log_z, rel=1e-12, abs=1e-10)
        for names in subsets(domain):
            names = tuple(rng.permutation(names).tolist())
            expected = 100 * marginal(probabilities, domain, names)
            found = model.marginal(names)
            assert found.shape == domain.shape(names)
            assert np.abs(found - expected).max() < 1e-9


@pytest.mark.parametrize("together", [1, 150, 2**22])
def test_the_counts_of_many_sets_are_those_of_each(together, monkeypatch):
    """With attributes in no clique and in other components, values that cannot occur, and all sets or few."""
    monkeypatch.setattr(marginal_oracle, "_TOGETHER", together)
    domain = Domain({f"a{v}": size for v, size in enumerate((2, 3, 2, 4, 2, 3, 2, 5, 2, 1))})
    sets = [each for k in (2, 3) for each in itertools.combinations(range(10), k)]
    scopes = ["01", "12", "234", "67"], ["012", "345", "24", "08"], ["03", "13", "23", "34", "45", "46", "789"], []
    for number, cliques in enumerate(scopes):
        rng = np.random.default_rng(number)
        potentials = {
            (names := tuple(f"a{v}" for v in clique)): rng.normal(0, 2, domain.shape(names)) for clique in cliques
        }
        if number < 2:
            next(iter(potentials.values()))[:, 1] = -np.inf
        model = GraphicalModel(domain, potentials, 70.0)
        wanted = {each: model.counts(each) for each in sets}
        for some in (sets, sets[::7], []):
            found = dict(counts_of_sets(model, iter(some)))
            assert set(found) == set(some)
            assert all(found[each].shape == wanted[each].shape for each in some)
            assert all(np.allclose(found[each], wanted[each], rtol=1e-9, atol=1e-12) for each in some)


@pytest.mark.slow
@pytest.mark.parametrize("k, passes", [(2, 5), (3, 100)])
def test_the_counts_of_many_sets_take_little_memory_in_few_passes(k, passes, monkeypatch):
    """With all attributes at once, each array on the clique of 4,096 cells would take 5.8 MB instead of 2.1."""
    monkeypatch.setattr(marginal_oracle, "_TOGETHER", 2**18)
    made, once = [], marginal_oracle._with_each
    monkeypatch.setattr(marginal_oracle, "_with_each", lambda *given: made.append(given) or once(*given))
    domain = Domain({f"a{v}": 8 for v in range(22)})
    potentials = {tuple(f"a{v}" for v in scope): np.zeros((8,) * len(scope)) for scope in (range(4), (5, 6), (7, 8))}
    model, sets = GraphicalModel(domain, potentials, 70.0), itertools.combinations(range(22), k)
    tracemalloc.start()
    try:
        assert sum(counts.sum() for _, counts in counts_of_sets(model, sets)) == pytest.approx(70 * math.comb(22, k))
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()
    assert len(made) <= passes


def test_pairs_with_many_values_take_little_memory(monkeypatch):
    """With all values at once, each array would take 130 MB."""
    monkeypatch.setattr(marginal_oracle, "_TOGETHER", 2**19)
    domain, rng = Domain({"a": 250, "b": 250, "c": 250, "d": 3}), np.random.default_rng(0)
    scopes = ("a", "b"), ("b", "c"), ("c", "d")
    model = GraphicalModel(domain, {scope: rng.normal(0, 1, domain.shape(scope)) for scope in scopes}, 70.0)
    wanted = {pair: model.counts(pair) for pair in [(0, 2), (0, 3)]}
    tracemalloc.start()
    try:
        for pair, counts in counts_of_sets(model, itertools.combinations(range(4), 2)):
            assert pair not in wanted or np.allclose(counts, wanted[pair], rtol=1e-9, atol=1e-12)
        assert tracemalloc.get_traced_memory()[1] < 2.5e7
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_an_oracle_forgets_what_it_found_at_other_potentials():
    for domain, potentials, model, rng in models(1):
        for names in subsets(domain):
            model.marginal(names)
        model.oracle(np.zeros(model.oracle.cells))
        for names in subsets(domain):
            assert model.marginal(names) == pytest.approx(np.full(domain.shape(names), 100 / domain.size(names)))


def test_the_slow_way_through_logarithms_gives_the_same(monkeypatch):
    monkeypatch.setattr(marginal_oracle.MarginalOracle, "_plain_numbers_do", lambda self, depth: False)
    called = []
    original = log_space.Elimination.marginals
    monkeypatch.setattr(log_space.Elimination, "marginals", lambda *a: called.append(1) or original(*a))
    for number, structure in enumerate(STRUCTURES):
        rng = np.random.default_rng([2, number])
        domain, potentials = random_model(rng, structure)
        model = GraphicalModel(domain, potentials)
        log_z, probabilities = joint(domain, potentials)
        assert model.log_partition == pytest.approx(log_z, rel=1e-12, abs=1e-10)
        for names in subsets(domain):
            assert np.abs(model.marginal(names) - marginal(probabilities, domain, names)).max() < 1e-11
        for each, counts in counts_of_sets(model, itertools.combinations(range(len(domain)), 3)):
            assert np.abs(counts - model.counts(each)).max() < 1e-11
        table = model.synthesize(50, rng=rng)
        assert (probabilities[tuple(table.records.T)] > 0).all()
    assert len(called) == len(STRUCTURES)


def test_the_fast_way_gives_way_where_plain_numbers_would_be_wrong(monkeypatch):
    """Each factor of this cycle vetoes what the next one favours: Z is exp(-1600) of the maxima's product."""
    called = []
    original = log_space.Elimination.marginals
    monkeypatch.setattr(log_space.Elimination, "marginals", lambda *a: called.append(1) or original(*a))
    domain = Domain({"a": 2, "b": 2, "c": 2})
    potentials = {
        ("a", "b"): np.diag([800.0, 801.0]),
        ("b", "c"): np.diag([800.0, 802.0]),
        ("a", "c"): 800 - np.diag([800.0, 799.0]),
    }
    log_z, probabilities = joint(domain, potentials)
    model = GraphicalModel(domain, potentials)
    assert called and model.log_partition == pytest.approx(log_z, rel=1e-14)
    for names in subsets(domain):
        assert np.allclose(model.marginal(names), marginal(probabilities, domain, names), atol=1e-12)


def test_potentials_that_cancel_one_another_need_no_logarithms(monkeypatch):
    """Every two cliques that share an attribute get a function of it, up to +-1000, one with each sign."""
    monkeypatch.setattr(log_space, "Elimination", None)
    for number, structure in enumerate(STRUCTURES):
        rng = np.random.default_rng([11, number])
        domain, potentials = random_model(rng, structure, 5)
        log_z, probabilities = joint(domain, potentials)
        for one, other in itertools.combinations(list(potentials), 2):
            for name in set(one) & set(other):
                shift = rng.uniform(-1000, 1000, domain.shape((name,)))
                for clique, sign in ((one, 1), (other, -1)):
                    shape = [-1 if each == name else 1 for each in clique]
                    potentials[clique] = potentials[clique] + sign * shift.reshape(shape)
        model = GraphicalModel(domain, potentials)
        assert model.log_partition == pytest.approx(log_z, abs=1e-9)
        for names in subsets(domain):
            assert np.abs(model.marginal(names) - marginal(probabilities, domain, names)).max() < 1e-9


@pytest.mark.slow
def test_logarithms_keep_numbers_far_beyond_the_range_of_floats(monkeypatch):
    """Potentials reach +-3000, so most sums have terms that underflow after scaling; some have no others."""
    monkeypatch.setattr(marginal_oracle.MarginalOracle, "_plain_numbers_do", lambda self, depth: False)
    monkeypatch.setattr(marginal_oracle.MarginalOracle, "_balance", lambda self: None)
    for number, structure in enumerate(STRUCTURES):
        rng = np.random.default_rng([10, number])
        domain, potentials = random_model(rng, structure, 3000)
        model = GraphicalModel(domain, potentials)
        log_z, probabilities = joint(domain, potentials)
        assert model.log_partition == pytest.approx(log_z, rel=1e-12, abs=1e-9)
        for names in subsets(domain):
            expected = marginal(probabilities, domain, names)
            assert model.marginal(names) == pytest.approx(expected, rel=1e-9, abs=1e-100)


def test_a_model_that_allows_no_record_is_refused():
    domain = Domain({"a": 2, "b": 2})
    veto = {("a",): np.array([0.0, -np.inf]), ("a", "b"): np.array([[-np.inf, -np.inf], [0.0, 0.0]])}
    with pytest.raises(ValueError, match="zero everywhere"):
        GraphicalModel(domain, veto)


def test_potentials_near_the_largest_floats_exclude_without_a_warning():
    lowest = np.array([[-1.5e308, -1.5e308], [0.0, 1.0]])
    model = GraphicalModel(Domain({"a": 2, "b": 2, "c": 2}), {("a", "b"): lowest, ("a", "c"): lowest})
    assert model.marginal(("a",)) == pytest.approx([0.0, 1.0]) and model.log_partition == pytest.approx(2.6265233750)


def test_models_pickle():
    for domain, potentials, model, _ in itertools.islice(models(3), 20):
        copy = pickle.loads(pickle.dumps(model))
        assert copy.log_partition == model.log_partition and copy.total == 100
        assert copy.cliques == model.cliques


def test_the_size_of_a_model_and_what_fits():
    domain = Domain({"a": 2, "b": 3, "c": 4})
    model = GraphicalModel(domain, {("a", "b"): np.zeros((2, 3))})
    assert model.size == 6 + 4
    assert model.fits(("a",), 0)  # costs nothing
    assert model.fits(("b", "c"), 6 + 12) and not model.fits(("b", "c"), 17)


# -------------------------------------------------------------------- records


@pytest.mark.slow
def test_synthetic_records_follow_the_model_in_every_pair_of_attributes():
    """Rounding leaves a few records of 3,000 out of place, whatever the pair: not noise of sqrt(3000)."""
    worst = 0.0
    for domain, potentials, model, rng in models(4, scale=3):
        table = model.synthesize(3000, rng=rng)
        assert len(table) == 3000 and table.domain == domain
        for pair in itertools.combinations(domain.attributes, 2):
            expected = 30 * model.marginal(pair)
            excess = np.abs(table.marginal(pair) - expected).sum() / expected.size
            worst = max(worst, excess)
    assert worst < 8  # independent draws exceed it in most models


def test_impossible_cells_stay_empty():
    for number in range(50):
        rng = np.random.default_rng([5, number])
        domain, potentials = random_model(rng, zeros=True)
        table = GraphicalModel(domain, potentials).synthesize(200, rng=rng)
        assert (joint(domain, potentials)[1][tuple(table.records.T)] > 0).all()


def test_a_marginal_of_whole_counts_is_reproduced_exactly():
    counts = np.array([[5.0, 0.0, 3.0], [2.0, 7.0, 1.0]])
    with np.errstate(divide="ignore"):
        model = GraphicalModel(Domain({"a": 2, "b": 3}), {("a", "b"): np.log(counts)}, total=18)
    table = model.synthesize(rng=np.random.default_rng(0))
    assert np.abs(table.marginal(("a", "b")) - counts).sum() <= 2
    assert len(table) == 18


# ------------------------------------------------------------------------ fit


def noisy(rng, domain, cliques, n=1000):
    table = Table(np.stack([rng.integers(size, size=n) ** 2 % size for size in domain.sizes], axis=1), domain)
    measurements = []
    for clique in cliques:
        names, sigma = tuple(domain.attributes[v] for v in clique), rng.uniform(1, 10)
        values = table.marginal(names) + rng.normal(scale=sigma, size=domain.shape(names))
        measurements.append(Measurement(names, values, sigma))
    return measurements


def best_records(domain, measurements, tau, total):
    """Return the smallest value of the objective that `fit` minimizes, by Newton's method over the table of all records.

    `design` has a row for every measured cell and a column for every record. The dual value is a lower
    bound of the objective, so their agreement proves the solution.
    """
    cells = np.indices(domain.sizes).reshape(len(domain), -1)
    design, y, variance = [], [], []
    for m in measurements:
        index = np.ravel_multi_index([cells[v] for v in domain.axes(m.attributes)], domain.shape(m.attributes))
        design.append(np.eye(m.values.size)[:, index])
        y.append(m.values.ravel())
        variance.append(np.full(m.values.size, m.sigma**2))
    design, y, variance = np.vstack(design), np.concatenate(y), np.concatenate(variance)
    theta = np.zeros(len(y))

    def dual(theta):
        logits = theta @ design
        log_z = logits.max() + np.log(np.exp(logits - logits.max()).sum())
        return total * log_z - y @ theta + tau / 2 * np.sum(variance * theta**2), np.exp(logits - log_z)

    for _ in range(200):
        value, p = dual(theta)
        mu = design @ p
        gradient = total * mu - y + tau * variance * theta
        hessian = total * ((design * p) @ design.T - np.outer(mu, mu)) + np.diag(tau * variance)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while dual(theta - size * step)[0] > value - 1e-4 * size * gradient @ step and size > 1e-8:
            size /= 2
        theta = theta - size * step
    value, p = dual(theta)
    bound = -tau * value + tau * total * np.log(domain.size())
    objective = objective_of(domain, measurements, tau, total, p.reshape(domain.sizes))
    assert objective == pytest.approx(bound, rel=1e-9)
    return objective


def objective_of(domain, measurements, tau, total, p):
    loss = sum(
        np.sum((total * marginal(p, domain, m.attributes) - m.values) ** 2) / (2 * m.sigma**2) for m in measurements
    )
    return loss + tau * total * np.sum(p * np.log(np.maximum(p, 1e-300) * domain.size()))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "empty"])
def test_the_certificate_holds_against_a_high_precision_solution(name):
    rng = np.random.default_rng([6, *map(ord, name)])
    domain = Domain({f"x{v}": int(size) for v, size in enumerate(rng.integers(2, 4, 5))})
    measurements = noisy(rng, domain, [*SHAPES[name], SHAPES[name][0], (0,)])
    least = best_records(domain, measurements, 0.05, 1000.0)
    for tolerance in (1.0, 0.1, 1e-3, 1e-9):
        model = fit(domain, measurements, 1000.0, tau=0.05, tolerance=tolerance)
        assert model.converged and model.gap <= tolerance * sum(v.size for v in model.potentials.values()) / 2
        reached = objective_of(domain, measurements, 0.05, 1000.0, joint(domain, model.potentials)[1])
        assert -1e-7 * least < reached - least <= model.gap + 1e-7 * least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "times", "more"), [("cycle", 1, 0), ("cycle", 3, 0), ("cycle", 1, 20), ("nested", 1, 0), ("nested", 3, 0)]
)
def test_the_certificate_holds_around_a_centre_with_weights_of_the_entropy_for_each_effect(name, times, more):
    """The weight is equal for main effects, `times` as much for interactions, and `more` from each to the next.

    The reference is a minimization over the table of all records, with residuals that projections split into effects.
    """
    rng = np.random.default_rng([9, *map(ord, name)])
    domain = Domain({f"x{v}": int(size) for v, size in enumerate(rng.integers(2, 4, 4))})
    cliques = [tuple(sorted({v % 4 for v in clique})) for clique in SHAPES[name]]
    measurements, total, tau = noisy(rng, domain, [*cliques, cliques[0]]), 1000.0, 0.05
    centre = fit(domain, measurements, total, tau=0.3)
    reconciliation = Reconciliation(domain.sizes, total)
    for measurement in measurements:
        reconciliation.add(*measurement.checked(domain))
    start = joint(domain, centre.potentials)[1]
    effects = reconciliation.strengths()
    interactions = sorted(effect for effect in effects if len(effect) > 1)
    heavier = {effect: times + more * place for place, effect in enumerate(interactions)}
    taus = {effect: tau * heavier.get(effect, 1) for effect in effects}

    def objective_and_slope(p):
        loss, slope = 0.0, tau * total * np.log(p / start)
        for m in measurements:
            left = total * marginal(p, domain, m.attributes) - m.values
            means = [
                left.mean(axis=tuple(a for a in range(left.ndim) if a != axis), keepdims=True)
                for axis in range(left.ndim)
            ]
            main = sum(mean - left.mean() for mean in means) + left.mean() + 0 * left
            weight = heavier.get(domain.axes(m.attributes), 1)
            loss += (np.sum(main**2) + np.sum((left - main) ** 2) / weight) / (2 * m.sigma**2)
            axes = domain.axes(m.attributes)
            back = (main + (left - main) / weight) * total / m.sigma**2  # the parts are projections, at right angles
            back = back.transpose(np.argsort(axes))
            slope += np.expand_dims(back, tuple(a for a in range(len(domain)) if a not in axes))
        return loss + tau * total * np.sum(p * np.log(p / start)), slope

    def objective(p):
        return objective_and_slope(p)[0]

    def of_logits(x):
        p = np.exp(x - np.logaddexp.reduce(x))
        value, slope = objective_and_slope(p.reshape(domain.sizes))
        return value, p * (slope.ravel() - p @ slope.ravel())

    found = optimize.minimize(of_logits, np.log(start).ravel(), method="BFGS", jac=True, options={"gtol": 1e-6})
    for tolerance in (1.0, 1e-3, 1e-7):
        model = fit_reconciled(domain, reconciliation, taus, tolerance, centre=centre)
        reached = objective(joint(domain, model.potentials)[1])
        assert model.converged and reached - found.fun <= model.gap + 1e-6 * found.fun
        assert tolerance > 1e-6 or reached <= found.fun * (1 + 1e-6)
        if tolerance == 1e-3:  # it is no looser than that: the dual is nearly as far from its end as the primal
            assert reached - found.fun >= 0.5 * model.gap


@pytest.mark.parametrize(
    ("tau", "message"),
    [
        ({(0,): 1.0}, r"tau must have a weight for each of the effects \[\(0,\), \(0, 1\), \(1,\)\], got"),
        ({(0,): 1.0, (1,): 1.0, (0, 1): 1.0, (0, 2): 1.0}, "tau must have a weight for each of the effects"),
        ({(0,): 1.0, (1,): 1.0, (0, 1): 0.0}, r"tau\[\(0, 1\)\] must be in \[1e-100, 1e100\], got 0"),
        ([1.0, 1.0, 1.0], "tau must be"),
    ],
)
def test_weights_of_the_entropy_for_other_effects_than_those_measured_are_refused(tau, message):
    reconciliation = Reconciliation((2, 2, 2))
    reconciliation.add((0, 1), np.ones((2, 2)), 1.0)
    with pytest.raises(ValueError, match=message):
        fit_reconciled(Domain({"a": 2, "b": 2, "c": 2}), reconciliation, tau, 0.01)


@pytest.mark.parametrize("name", ["cycle", "nested"])
def test_the_least_loss_is_between_its_bounds(name):
    """The reference is a non-negative least-squares solution over the table of all records, its total held by a heavy row."""
    rng = np.random.default_rng([8, *map(ord, name)])
    domain = Domain({f"x{v}": int(size) for v, size in enumerate(rng.integers(2, 4, 5))})
    measurements, total = noisy(rng, domain, SHAPES[name]), 1000.0
    cells = np.indices(domain.sizes).reshape(len(domain), -1)
    rows, targets = [np.full((1, cells.shape[1]), 1e3)], [[1e3 * total]]
    for m in measurements:
        index = np.ravel_multi_index([cells[v] for v in domain.axes(m.attributes)], domain.shape(m.attributes))
        rows.append(np.eye(m.values.size)[:, index] / m.sigma)
        targets.append(m.values.ravel() / m.sigma)
    least = optimize.nnls(np.vstack(rows), np.concatenate(targets))[1] ** 2 / 2
    lower, upper = least_loss(domain, measurements, total)
    assert lower <= least * (1 + 1e-6) and least * (1 - 1e-6) <= upper
    model = fit(domain, measurements, total)
    entropy = 1e-3 / min(m.sigma for m in measurements) * total * np.log(domain.size())  # its term, at most
    assert upper - lower <= entropy + 1e-3 * sum(table.size for table in model.potentials.values()) / 2
    by_records = objective_of(domain, measurements, 0.0, total, joint(domain, model.potentials)[1])
    assert loss(model, measurements) == pytest.approx(by_records, rel=1e-9) and by_records >= lower


def test_noiseless_measurements_are_met_and_the_total_is_estimated():
    rng = np.random.default_rng(7)
    domain = Domain({"a": 3, "b": 4, "c": 2})
    table = Table(np.stack([rng.integers(s, size=500) for s in domain.sizes], axis=1), domain)
    pairs = [("b", "a"), ("b", "c")]
    model = fit(domain, [Measurement(pair, table.marginal(pair), 1e-3) for pair in pairs], tolerance=1e-6)
    assert model.total == pytest.approx(500)
    for pair in pairs:
        assert np.allclose(model.marginal(pair), table.marginal(pair), atol=1e-2)


def test_a_warm_start_reaches_the_same_model_in_fewer_calls():
    rng = np.random.default_rng(8)
    domain = Domain({"a": 8, "b": 9, "c": 7})
    measurements = noisy(rng, domain, [(0, 1), (1, 2), (0, 2)])
    cold = fit(domain, measurements, tolerance=1e-8)
    warm = fit(domain, measurements, tolerance=1e-8, start=cold)
    assert warm.evaluations < cold.evaluations
    assert np.allclose(warm.marginal(("a", "c")), cold.marginal(("a", "c")), atol=1e-3)


def test_without_measurements_the_model_is_uniform():
    model = fit(Domain({"a": 2, "b": 5}), [], 40)
    assert np.allclose(model.marginal(("a", "b")), 4.0) and model.converged


def test_a_fit_that_gives_up_says_so():
    domain = Domain({"a": 8, "b": 9})
    model = fit(domain, noisy(np.random.default_rng(9), domain, [(0, 1)]), tolerance=1e-12, max_evaluations=2)
    assert not model.converged and model.gap > 0


DOMAIN = Domain({"a": 2, "b": 3})


@pytest.mark.parametrize(
    "measurement, message",
    [
        (Measurement(("a", "c"), np.zeros((2, 3)), 1.0), "got 'c'"),
        (Measurement(("a", "a"), np.zeros((2, 2)), 1.0), "'a' twice"),
        (Measurement(("a", "b"), np.zeros((3, 2)), 1.0), r"must have shape \(2, 3\), got \(3, 2\)"),
        (Measurement(("a", "b"), np.full((2, 3), np.nan), 1.0), "values of .* got nan"),
        (Measurement(("a", "b"), np.full((2, 3), np.inf), 1.0), "values of .* got inf"),
        (Measurement(("a",), np.zeros(2), 0.0), r"sigma must be in \(0, inf\), got 0"),
        (Measurement(("a",), np.zeros(2), np.nan), "sigma must be in"),
    ],
)
def test_bad_measurements_are_refused(measurement, message):
    with pytest.raises(ValueError, match=message):
        fit(DOMAIN, [measurement])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: fit(DOMAIN, [], 0), "total must be in"),
        (lambda: fit(DOMAIN, [], tau=-1), "tau must be in"),
        (lambda: fit(DOMAIN, [], tolerance=0), "tolerance must be in"),
        (lambda: GraphicalModel(DOMAIN, {("a",): np.zeros(3)}), r"potentials of \('a',\) must have shape \(2,\)"),
        (lambda: GraphicalModel(DOMAIN, {("a",): np.array([0, np.nan])}), "got nan"),
        (lambda: GraphicalModel(DOMAIN, {("a",): np.array([0, np.inf])}), "got inf"),
        (
            lambda: GraphicalModel(DOMAIN, {("a", "b"): np.zeros((2, 3)), ("b", "a"): np.zeros((3, 2))}),
            "distinct, non-empty cliques",
        ),
        (lambda: GraphicalModel(DOMAIN, {}).synthesize(0, rng=np.random.default_rng(0)), "n must be in"),
        (lambda: GraphicalModel(DOMAIN, {}).marginal(("z",)), "got 'z'"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@given(st.permutations(["x0", "x1", "x2"]), st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_order_of_a_measurements_axes_does_not_matter(order, seed):
    rng = np.random.default_rng(seed)
    domain = Domain({"x0": 2, "x1": 3, "x2": 4})
    values = rng.normal(100, 20, (2, 3, 4))
    straight = fit(domain, [Measurement(("x0", "x1", "x2"), values, 5.0)])
    turned = fit(domain, [Measurement(tuple(order), values.transpose([int(name[1]) for name in order]), 5.0)])
    assert np.allclose(straight.marginal(order), turned.marginal(order))
