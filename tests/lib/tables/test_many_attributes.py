"""Models of a hundred attributes: what is known of small models holds for them, and a run of AIM reaches its end."""

from dataclasses import replace

import numpy as np
import pytest

from lib.release import Counter
from lib.tables import adaptive_iterative
from lib.tables.adaptive_iterative import aim
from lib.tables.graphical_model import GraphicalModel
from lib.tables.plan import AUTHORS_CODE, Plan
from lib.tables.table import Domain, Table
from tests.lib.tables.full_joint import SHAPES, joint, marginal, random_model


def similar(d, n=500, size=3, seed=0):
    """Return a table of d attributes; each follows one hidden value two times in three."""
    rng = np.random.default_rng(seed)
    hidden, followed = rng.integers(size, size=n), rng.random((n, d)) < 2 / 3
    records = np.where(followed, hidden[:, None], rng.integers(size, size=(n, d)))
    return Table(records, Domain({f"a{v}": size for v in range(d)}))


@pytest.mark.parametrize("before", [48, 60, 95])
def test_a_model_is_the_same_behind_many_other_attributes(before):
    """The reference is the table of all records of the few attributes that depend on each other."""
    others = {f"other {v}": 2 for v in range(before)}
    for number, structure in enumerate(SHAPES.values()):
        rng = np.random.default_rng([before, number])
        domain, potentials = random_model(rng, structure)
        log_z, probabilities = joint(domain, potentials)
        model = GraphicalModel(Domain(others | dict(zip(domain.attributes, domain.sizes))), potentials)
        assert model.log_partition == pytest.approx(log_z + before * np.log(2), rel=1e-12)
        for _ in range(5):
            names = tuple(rng.permutation(domain.attributes)[: rng.integers(1, len(domain) + 1)].tolist())
            assert np.abs(model.marginal(names) - marginal(probabilities, domain, names)).max() < 1e-11
            halves = np.repeat(marginal(probabilities, domain, names)[..., None], 2, axis=-1) / 2
            assert np.abs(model.marginal((*names, "other 0")) - halves).max() < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("exact", [False, True])
def test_a_run_gets_through_with_sets_of_three_attributes(exact):
    table, d = similar(70), 70  # more than numpy has axes
    workload = [table.domain.attributes[v : v + 3] for v in range(0, d - 2, 2)]
    result = aim(table, 10.0, 1e-6, workload, plan=Plan(rounds=d + 5), rng=None if exact else np.random.default_rng(0))
    assert result.synthetic.domain == table.domain and any(len(step.attributes) == 3 for step in result.steps)


@pytest.mark.slow
def test_a_run_with_all_pairs_learns_what_depends_on_what():
    """Among the 780 pairs the run measures those of the chain, some with an attribute of a thousand values. Its model is close."""
    rng, d, n = np.random.default_rng(1), 40, 20_000
    columns = [rng.integers(4, size=n)]
    for v in range(1, d):
        columns.append(np.where(rng.random(n) < 0.8, columns[-1], rng.integers(4, size=n)))
    wide = rng.integers(1000, size=(3, n))
    domain = Domain({f"a{v}": 4 for v in range(d - 3)} | {f"wide {v}": 1000 for v in range(3)})
    counter = Counter(domain)
    counter.add(dict(zip(domain.attributes, (*columns[: d - 3], *wide))))
    result = aim(counter, 10.0, 1e-6, rng=rng, plan=Plan(rounds=45, max_cells=2_000_000))
    chosen = {step.attributes for step in result.steps if len(step.attributes) == 2}
    assert sum((f"a{v}", f"a{v + 1}") in chosen for v in range(d - 4)) >= 20
    for pair in chosen:
        assert np.abs(result.synthetic.marginal(pair) - counter.marginal(pair)).sum() / n < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "plan", "limit"),
    [
        (32, AUTHORS_CODE, 10_000_000),
        (33, AUTHORS_CODE, 10_000_000),
        (33, Plan(), 60 * (33 * 3 + 33 * 32 // 2 * 9)),
        (60, Plan(), 500_000),
    ],
)
def test_a_model_of_many_attributes_has_less_room_by_default(d, plan, limit, monkeypatch):
    """The cells of 33 attributes of three values each, and of their pairs, are counted by hand."""

    def noted(run, asked, rng):
        raise InterruptedError(run.max_cells)

    monkeypatch.setattr(adaptive_iterative._Run, "drawn", noted)
    for given, found in (({}, limit), ({"max_cells": 5000}, 5000)):
        with pytest.raises(InterruptedError, match=f"^{found}$"):
            aim(similar(d), 1.0, 1e-6, plan=replace(plan, start="none", **given), rng=np.random.default_rng(0))


@pytest.mark.parametrize(("d", "most"), [(32, 1000), (33, 100)])
def test_a_round_of_many_attributes_has_fewer_candidates_by_default(d, most, monkeypatch):
    def noted(run, asked, rng):
        raise InterruptedError(asked)

    monkeypatch.setattr(adaptive_iterative._Run, "drawn", noted)
    with pytest.raises(InterruptedError, match=f"^{most}$"):
        aim(similar(d), 1.0, 1e-6, plan=Plan("none"))


def test_very_many_attributes_of_one_value_are_refused():
    """They take no cells, and would make a table of more axes than numpy has."""
    table = Table(np.zeros((3, 31), int), Domain({f"a{v}": 1 if v < 29 else 2 for v in range(31)}))
    with pytest.raises(
        ValueError, match="table must have at most 28 attributes with a single value, got 29: leave some of them out"
    ):
        aim(table, 1.0, 1e-6, plan=Plan(max_cells=10_000_000))
