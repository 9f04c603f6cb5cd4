"""Models of a hundred attributes: what is known of small ones holds for them, and a run gets through."""

import numpy as np
import pytest

from lib.tables.adaptive_iterative import aim
from lib.tables.graphical_model import GraphicalModel
from lib.tables.table import Domain, Table
from tests.full_joint import SHAPES, joint, marginal, random_model


def similar(d, n=500, size=3, seed=0):
    """A table of d attributes, each of which follows one hidden value two times in three."""
    rng = np.random.default_rng(seed)
    hidden, followed = rng.integers(size, size=n), rng.random((n, d)) < 2 / 3
    records = np.where(followed, hidden[:, None], rng.integers(size, size=(n, d)))
    return Table(records, Domain({f"a{v}": size for v in range(d)}))


@pytest.mark.parametrize("before", [48, 60, 95])
def test_a_model_is_the_same_behind_many_other_attributes(before):
    """Against the table of all records of the few attributes that depend on each other."""
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


@pytest.mark.parametrize("d", [60, 100])
def test_a_run_gets_through_with_sets_of_three_attributes(d):
    table = similar(d)
    workload = [table.domain.attributes[v : v + 3] for v in range(0, d - 2, 2)]
    result = aim(table, 10.0, 1e-6, workload, rng=np.random.default_rng(0), rounds=d + 20)
    assert result.synthetic.domain == table.domain and any(len(step.attributes) == 3 for step in result.steps)
