"""The local protocol beside Figure 1: each user sends one report with all of epsilon, and the model learns the
dependence."""

import numpy as np
import pandas as pd
import pytest

from lib.data import datasets
from lib.local import SubsetSelection
from lib.microdata.perturbation import pk_epsilon
from lib.tables.graphical_model import Measurement
from lib.tables.table import Domain, Table
from notebooks.studies import adult_design, anonymization_readings, local_marginals
from notebooks.studies.adult_design import EXPLANATORY, TARGET

FRAME = datasets.adult("test", missing="category", source="stand-in").head(3000)
AT = anonymization_readings.split_records(FRAME, 1000, 0, seed=1)
TABLE = Table(adult_design.cells(AT.train_numbers).to_numpy(), Domain(adult_design.cell_sizes()))


class Spy(SubsetSelection):
    """Notes of each report what it is about and with which epsilon."""

    sent: list = []

    def collect(self, values, *, rng):
        Spy.sent.append((self.k, self.epsilon, len(values)))
        return super().collect(values, rng=rng)


@pytest.fixture
def sent(monkeypatch):
    monkeypatch.setattr(Spy, "sent", [])
    monkeypatch.setattr(local_marginals, "SubsetSelection", Spy)
    return Spy.sent


@pytest.mark.parametrize("pairs", [False, True])
def test_each_user_sends_one_report_with_all_of_epsilon(sent, pairs):
    local_marginals.fitted(TABLE, 2.5, pairs=pairs, rng=np.random.default_rng(0))
    assert sum(n for _, _, n in sent) == len(TABLE)
    assert {epsilon for _, epsilon, _ in sent} == {2.5}
    sizes = [TABLE.domain.size((name, TARGET)) for name in EXPLANATORY]
    assert [k for k, _, _ in sent][:10] == sizes and len(sent) == 10 + 45 * pairs
    assert max(n for _, _, n in sent[:10]) - min(n for _, _, n in sent[:10]) <= 1


@pytest.mark.slow
def test_epsilon_is_the_one_that_k_means_for_so_many_records(sent):
    found = local_marginals.prediction(AT, 3, rng=np.random.default_rng(0))
    assert {epsilon for _, epsilon, _ in sent} == {pk_epsilon(3, 1000)} and 0.5 < found["auc"] < 1


def test_a_report_loses_no_more_than_epsilon():
    """The ratio of the probabilities of any report is bounded, for two attributes taken together and all pairs of records."""
    epsilon = pk_epsilon(50, 16_281)
    oracle = SubsetSelection(4, epsilon)
    sets = np.array([row for row in np.ndindex(2, 2, 2, 2) if sum(row) == oracle.d], dtype=bool)
    probabilities = oracle.probability(sets)
    assert np.allclose(probabilities.sum(axis=0), 1)
    assert np.log(probabilities[:, :, None] / probabilities[:, None, :]).max() == pytest.approx(epsilon)


def test_a_user_is_asked_at_random():
    """Which users a table is about does not depend on the order of the records."""
    order = np.arange(len(TABLE))
    domain = Domain({"place": len(TABLE), TARGET: 2})
    table = Table(np.column_stack([order, order % 2]), domain)
    exact = local_marginals.measured(table, [("place", TARGET), (TARGET,)], 30.0, rng=np.random.default_rng(0))
    half = np.flatnonzero(exact[0].values.sum(axis=1) > len(TABLE) / len(order))
    assert len(half) == len(TABLE) // 2 and 0.4 < np.mean(half < len(TABLE) / 2) < 0.6


def test_estimates_are_unbiased_and_as_noisy_as_they_say():
    sets = [("sex", TARGET), ("relationship", TARGET)]
    runs = [local_marginals.measured(TABLE, sets, 1.0, rng=np.random.default_rng(seed)) for seed in range(200)]
    for place, names in enumerate(sets):
        values = np.array([run[place].values for run in runs])
        truth, error = TABLE.marginal(names), values.std(axis=0) / np.sqrt(len(runs))
        assert (abs(values.mean(axis=0) - truth) < 4.5 * error).all()
        assert runs[0][place].attributes == names
        # sampling who is asked adds to the noise of the reports, at this epsilon by little
        assert np.sqrt(values.var(axis=0).mean()) == pytest.approx(runs[0][place].sigma, rel=0.15)


@pytest.mark.slow
def test_without_noise_the_model_has_the_tables_of_each_attribute_and_the_income():
    table = Table(np.repeat(TABLE.records, 40, axis=0), TABLE.domain)
    model = local_marginals.fitted(table, 30.0, rng=np.random.default_rng(0))
    for name in EXPLANATORY:
        off = np.abs(model.marginal((name, TARGET)) - table.marginal((name, TARGET))).sum() / 2 / len(table)
        assert off < 0.04, name  # who is asked is drawn: 4,000 users for each table


def test_pairs_add_the_tree_of_most_information():
    strong = {("age", "sex"): 0.4, ("sex", "relationship"): 0.3, ("age", "relationship"): 0.2}
    found = []
    for first, name in enumerate(EXPLANATORY):
        for other in EXPLANATORY[first + 1 :]:
            shift = strong.get((name, other)) or strong.get((other, name)) or 0.01 * (first == 0)
            found.append(
                Measurement(
                    (name, other),
                    100 * np.array([[0.25 + shift / 2, 0.25 - shift / 2]] * 1 + [[0.25 - shift / 2, 0.25 + shift / 2]]),
                    1.0,
                )
            )
    tree = [set(each.attributes) for each in local_marginals.spanning(found)]
    assert len(tree) == 9 and {"age", "sex"} in tree and {"sex", "relationship"} in tree
    assert {"age", "relationship"} not in tree  # a circle
    assert sum("age" in each for each in tree) == 8  # all others by age, but the one that sex has


@pytest.mark.parametrize(
    ("values", "nats"),
    [
        (np.ones((2, 3)), 0.0),
        (np.eye(2), np.log(2)),
        (np.array([[5.0, -1.0], [-1.0, 5.0]]), np.log(2)),
        (np.eye(3) * 7, np.log(3)),
    ],
)
def test_mutual_information_is_that_of_the_nearest_distribution(values, nats):
    assert local_marginals.mutual_information(values) == pytest.approx(nats, abs=1e-12)


def test_synthetic_records_predict_better_with_more_epsilon():
    aucs = {k: local_marginals.prediction(AT, k, rng=np.random.default_rng(2))["auc"] for k in (1.001, 100)}
    assert aucs[1.001] > 0.85 > aucs[100]


def test_cells_are_public_bins():
    numbers = pd.DataFrame(
        {"capital-gain": [0.0, 4999.9, 5000.0, 99999.0], "sex": [0.0, 1.0, 1.0, 0.0]}, index=[4, 5, 6, 7]
    )
    found = adult_design.cells(numbers)
    assert found["capital-gain"].tolist() == [0, 0, 1, 1] and found["sex"].tolist() == [0, 1, 1, 0]
    assert list(found.index) == [4, 5, 6, 7]
    sizes, cells = adult_design.cell_sizes(), adult_design.cells(AT.train_numbers)
    assert all(cells[name].between(0, size - 1).all() for name, size in sizes.items())
