"""The made-up chain of categories: against counts over all its records, and methods whose answer is known."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from lib.microdata import IterativeBayes
from lib.microdata.perturbation import Perturbation, RetentionReplacement
from notebooks.studies import reconstruction_errors

SHARES = np.array([0.6, 0.3, 0.1])


@pytest.mark.parametrize("stay", [0.0, 0.6, 1.0])
def test_the_joint_distribution_is_the_product_along_the_chain(stay):
    joint = reconstruction_errors.true_joint(3, SHARES, stay=stay)
    for record in product(range(3), repeat=3):
        probability = SHARES[record[0]]
        for before, after in zip(record, record[1:]):
            probability *= stay * (before == after) + (1 - stay) * SHARES[after]
        assert joint[record] == pytest.approx(probability, abs=1e-15)
    for axes in ((1, 2), (0, 2), (0, 1)):  # every attribute looks alike
        assert joint.sum(axis=axes) == pytest.approx(SHARES)


def test_records_are_drawn_from_it():
    """The distance of 100,000 records' shares from 27 probabilities: below 0.02 but for one draw in 10^9."""
    joint = reconstruction_errors.true_joint(3, SHARES)
    records = reconstruction_errors.draw(joint, 100_000, rng=np.random.default_rng(1))
    assert records.shape == (100_000, 3) and records.dtype == float
    counted = (
        np.bincount(np.ravel_multi_index(records.astype(int).T, (3, 3, 3)), minlength=27).reshape(3, 3, 3) / 100_000
    )
    assert reconstruction_errors.variation(counted, joint, 3) < 0.02


def test_variation_of_tables_by_hand():
    table, truth = np.array([[0.5, 0.0], [0.0, 0.5]]), np.full((2, 2), 0.25)
    assert reconstruction_errors.variation(table, truth, 2) == 0.5  # of the whole table
    assert reconstruction_errors.variation(table, truth, 1) == 0.0  # of the shares of either attribute
    moved = np.array([[0.5, 0.25], [0.0, 0.25]])
    assert reconstruction_errors.variation(moved, truth, 1) == pytest.approx((0.25 + 0.0) / 2)


def test_errors_of_methods_whose_answer_is_known():
    joint = reconstruction_errors.true_joint(2, SHARES)
    weak = Perturbation({name: RetentionReplacement(3, 0.2) for name in "ab"})

    class Truth:
        shares_, weights_ = joint, np.array([1.0, 3.0, 0.0, 0.0])

        def fit(self, records):
            return self

    methods = {
        "truth": lambda _: Truth(),
        "equal weights": lambda _: SimpleNamespace(fit=lambda seen: equal(seen)),
        "Bayes": IterativeBayes,
    }

    def equal(seen):
        return SimpleNamespace(weights_=np.ones(len(seen)))

    found = reconstruction_errors.errors(joint, weak, methods, records=500, repeats=2, rng=np.random.default_rng(3))
    assert len(found) == 2 * 5 and set(found["M"]) == {2}
    means = found.groupby("method")[["pairs", "whole", "ess"]].mean()
    assert (means["pairs"] == means["whole"]).all()
    assert means.loc["truth"].tolist() == [0, 0, 1.6]
    assert means.loc["equal weights"].tolist() == means.loc["perturbed"].tolist()
    assert means.loc["originals", "whole"] < means.loc["Bayes", "whole"] < means.loc["perturbed", "whole"]


@pytest.mark.parametrize(
    ("name", "call"),
    {
        "m": lambda: reconstruction_errors.true_joint(0, SHARES),
        "stay": lambda: reconstruction_errors.true_joint(2, SHARES, stay=1.5),
        "shares": lambda: reconstruction_errors.true_joint(2, [-1.0, 2.0]),
        "sum": lambda: reconstruction_errors.true_joint(2, [0.5, 0.4]),
        "size": lambda: reconstruction_errors.variation(np.ones((2, 2)), np.ones((2, 2)), 3),
        "records": lambda: reconstruction_errors.errors(
            reconstruction_errors.true_joint(1, SHARES), None, {}, records=0, repeats=1, rng=None
        ),
        "repeats": lambda: reconstruction_errors.errors(
            reconstruction_errors.true_joint(1, SHARES), None, {}, records=1, repeats=0, rng=None
        ),
    }.items(),
)
def test_bad_input_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
