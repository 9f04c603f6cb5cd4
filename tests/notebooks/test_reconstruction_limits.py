"""Perturbed Adult at any total epsilon: its analyses, and the committed results."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from book.kept import results
from lib.data import datasets
from lib.microdata import effective_sample_size
from notebooks.studies import adult_design, reconstruction_limits
from notebooks.studies.adult_design import EXPLANATORY, TARGET

FRAME = adult_design.adult_records(datasets.adult("test", missing="category", source="stand-in").head(3000))
KINDS = adult_design.adult_kinds()


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("income, attributes", [("published", 10), ("perturbed", 11)])
def test_the_total_level_is_shared_equally(income, attributes):
    data, test = reconstruction_limits.sample(FRAME, 1000, 4.4, income=income, rng=rng())
    assert data.perturbation.epsilons == pytest.approx(np.full(attributes, 4.4 / attributes))
    assert len(data.records) == 1000 and len(test) == 2000
    assert ((data.records[TARGET] == data.original[TARGET]).all()) == (income == "published")
    assert not set(test.index) & set(data.records.index)


def test_the_whole_frame_is_tested_on_itself():
    data, test = reconstruction_limits.sample(FRAME, len(FRAME), 3.0, rng=rng())
    pd.testing.assert_frame_equal(test, data.original)


@pytest.mark.slow
def test_hours_are_explained_as_by_least_squares():
    others = {name: kind for name, kind in KINDS.items() if name != "hours-per-week"}
    design = adult_design.design_matrix(FRAME, others)
    hours = FRAME["hours-per-week"].to_numpy()
    beta = np.linalg.lstsq(design, hours, rcond=None)[0]  # 0/1 columns hold the intercept
    explained = 1 - np.sum((hours - design @ beta) ** 2) / np.sum((hours - hours.mean()) ** 2)
    found = reconstruction_limits.analyses(FRAME, None, FRAME, KINDS)
    assert found["hours"] == pytest.approx(explained, abs=1e-4)
    assert found["auc"] == pytest.approx(found["svm"], abs=0.02)


def test_with_next_to_no_noise_categories_are_counted():
    data, test = reconstruction_limits.sample(FRAME, 1000, 300, rng=rng())
    shares = reconstruction_limits.category_shares(data.original, KINDS)
    assert reconstruction_limits.share_error(reconstruction_limits.inverted_shares(data), shares) < 1e-9
    one = reconstruction_limits.NaiveBayes(data, smoothing=1e-9).shares_["sex"]
    counted = pd.crosstab(data.original[TARGET], data.original["sex"], normalize="index").to_numpy()
    assert one == pytest.approx(counted, abs=1e-3)


def test_equal_weights_are_no_weights():
    data, test = reconstruction_limits.sample(FRAME, 500, 10, rng=rng())
    equal = reconstruction_limits.analyses(data.records, np.full(500, 3.0), test, KINDS)
    assert equal == pytest.approx(reconstruction_limits.analyses(data.records, None, test, KINDS), abs=1e-6)
    plain, weighted = (reconstruction_limits.category_shares(data.records, KINDS, w) for w in (None, np.full(500, 3.0)))
    assert all(np.allclose(plain[name], weighted[name]) for name in plain)


@pytest.mark.slow
def test_inversion_is_unbiased():
    """The mean of 100 estimates of a share, at the false-alarm rate 1e-6 by its own spread."""
    estimates = []
    truth = reconstruction_limits.category_shares(FRAME, KINDS)
    for seed in range(100):
        data, _ = reconstruction_limits.sample(FRAME, len(FRAME), 10, rng=rng(seed))
        estimates.append(reconstruction_limits.inverted_shares(data)["sex"][0])
    error = np.mean(estimates) - truth["sex"][0]
    assert abs(error) < norm.isf(5e-7) * np.std(estimates, ddof=1) / np.sqrt(100)
    assert np.std(estimates) > 0.005  # the test has something to average


@pytest.mark.slow
@pytest.mark.parametrize("income", reconstruction_limits.INCOMES)
def test_naive_bayes_scores_by_the_sum_of_log_ratios(income):
    data, test = reconstruction_limits.sample(FRAME, 1000, 40, income=income, rng=rng())
    model = reconstruction_limits.NaiveBayes(data)
    assert all(np.allclose(model.shares_[name].sum(axis=1), 1) for name in EXPLANATORY)
    first = test.iloc[[0]]
    cells = {name: first[name].iloc[0] for name in EXPLANATORY}
    expected = np.log(model.prior_[1] / model.prior_[0])
    for name, value in cells.items():
        edges = adult_design.EDGES.get(name)
        cell = int(value) if edges is None else min(np.digitize(value, edges) - 1, len(edges) - 2)
        expected += np.log(model.shares_[name][1, cell] / model.shares_[name][0, cell])
    assert model.decision_function(first)[0] == pytest.approx(expected)
    assert roc_auc_score(test[TARGET], model.decision_function(test)) > 0.7


@pytest.mark.slow
def test_widths_gain_nothing_where_all_weights_are_one():
    data, test = reconstruction_limits.sample(FRAME, 400, 10, rng=rng())
    table = reconstruction_limits.widths(data, test, (3.0, 1e9), rng=rng())
    assert table.loc[1e9, "held out"] == pytest.approx(0, abs=1e-6)
    assert table.loc[1e9, "effective"] == pytest.approx(400)
    assert table.loc[3.0, "effective"] < 399
    data, test = reconstruction_limits.sample(FRAME, 400, 10, income="perturbed", rng=rng())
    with pytest.raises(ValueError, match="income unperturbed"):
        reconstruction_limits.widths(data, test, (3.0,), rng=rng())


@pytest.mark.slow
def test_joint_errors_vanish_with_the_noise():
    found = reconstruction_limits.joint_errors(FRAME, ("sex", "relationship"), 60.0, records=500, rng=rng())
    assert set(found) == {"perturbed", "linear", "kernel 1", "iterative Bayes"}
    assert found["perturbed"] < 1e-12 and found["iterative Bayes"] < 0.01
    noisy = reconstruction_limits.joint_errors(FRAME, ("sex", "relationship"), 2.0, records=3000, rng=rng())
    assert noisy["iterative Bayes"] < noisy["perturbed"]


def test_no_weights_remove_the_bias_of_strong_noise():
    weak, strong = (reconstruction_limits.sample(FRAME, 500, epsilon, rng=rng())[0] for epsilon in (100.0, 2.0))
    assert 0 <= reconstruction_limits.irremovable_bias(weak) < reconstruction_limits.irremovable_bias(strong) <= 1
    # a table that holds the original records can be weighted down to these
    data = strong
    both = reconstruction_limits.Perturbed(
        data.perturbation, data.kinds, data.original, pd.concat([data.records, data.original])
    )
    assert reconstruction_limits.irremovable_bias(both) == pytest.approx(0, abs=1e-9)
    # one of two records has the right sex; none of them has
    two = data.original.iloc[[0, 0]].assign(sex=[0, 1])
    all_men = reconstruction_limits.Perturbed(data.perturbation, data.kinds, two.assign(sex=1), two)
    assert reconstruction_limits.irremovable_bias(all_men) == pytest.approx(0, abs=1e-9)
    none = reconstruction_limits.Perturbed(data.perturbation, data.kinds, two.assign(sex=1), two.assign(sex=0))
    assert reconstruction_limits.irremovable_bias(none) == pytest.approx(1)


def test_the_best_weights_trade_evenness_for_bias():
    data, _ = reconstruction_limits.sample(FRAME, 400, 4.5, rng=rng())
    even, uneven = (reconstruction_limits.best_weights(data, penalty) for penalty in (1.0, 0.01))
    for weights in (even, uneven):
        assert weights.min() >= 0 and weights.mean() == pytest.approx(1)
        assert reconstruction_limits.irremovable_bias(data) <= reconstruction_limits.mean_bias(data, weights) + 1e-9
    assert effective_sample_size(uneven) < effective_sample_size(even) < 400
    assert (
        reconstruction_limits.mean_bias(data, uneven)
        < reconstruction_limits.mean_bias(data, even)
        < reconstruction_limits.mean_bias(data, np.ones(400)) + 1e-12
    )
    assert reconstruction_limits.mean_bias(data, np.ones(400)) == pytest.approx(1)
    assert reconstruction_limits.best_weights(data, 1e6) == pytest.approx(np.ones(400), abs=1e-3)


# ---- the study

PLAN = (
    ("published", 300, (4.5, 20.0), reconstruction_limits.METHODS, 1),
    ("perturbed", 300, (20.0,), ("perturbed", "central"), 2),
)


@pytest.mark.slow
def test_a_study_has_a_row_for_each_cell_and_resumes(tmp_path):
    once = reconstruction_limits.study(FRAME, PLAN, seed=3, folder=tmp_path)
    assert list(once) == list(reconstruction_limits.COLUMNS)
    assert len(once) == len(list(tmp_path.iterdir())) == 1 + 2 * 7 + 4
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = reconstruction_limits.study(FRAME, PLAN[1:], seed=3, folder=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    pd.testing.assert_frame_equal(again, once.tail(4).reset_index(drop=True))


@pytest.mark.slow
def test_methods_start_from_the_same_records():
    one, two = (
        reconstruction_limits.cell(FRAME, "published", 300, 5.0, name, 0, 3)
        for name in ("perturbed", "kernel 10 standard")
    )
    assert one["auc"] != two["auc"] and one["effective"] == pytest.approx(300) and two["effective"] < 300
    assert one == reconstruction_limits.cell(FRAME, "published", 300, 5.0, "perturbed", 0, 3)


@pytest.mark.parametrize(
    "name, call",
    {
        "epsilon": lambda: reconstruction_limits.sample(FRAME, 10, 0.0, rng=rng()),
        "records": lambda: reconstruction_limits.sample(FRAME, 3001, 1.0, rng=rng()),
        "income": lambda: reconstruction_limits.sample(FRAME, 10, 1.0, income="hidden", rng=rng()),
        "method": lambda: reconstruction_limits.cell(FRAME, "published", 300, 5.0, "magic", 0, 3),
        "splits": lambda: reconstruction_limits.study(FRAME, [("published", 300, (1.0,), ("perturbed",), 0)]),
        "penalty": lambda: reconstruction_limits.best_weights(
            reconstruction_limits.sample(FRAME, 10, 1.0, rng=rng())[0], 0
        ),
        "smoothing": lambda: reconstruction_limits.NaiveBayes(
            reconstruction_limits.sample(FRAME, 10, 1.0, rng=rng())[0], smoothing=0
        ),
    }.items(),
)
def test_bad_input_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.mark.slow
def test_the_command_line_writes_a_file_that_tells_its_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(reconstruction_limits, "PLAN", PLAN)
    arguments = [
        "--output",
        str(tmp_path / "beyond.csv"),
        "--data",
        "stand-in",
        "--splits",
        "1",
        "--cells",
        str(tmp_path / "cells"),
    ]
    reconstruction_limits.main(arguments)
    assert len(reconstruction_limits.load(tmp_path / "beyond.csv")) == 1 + 2 * 7 + 2
    assert results.provenance(tmp_path / "beyond.csv")["data"] == "stand-in"


def test_the_committed_results_are_of_the_plan():
    found = reconstruction_limits.load()
    assert results.provenance(reconstruction_limits.RESULTS)["data"] == "real"
    for income, records, epsilons, methods, splits in reconstruction_limits.PLAN:
        part = found[(found["income"] == income) & (found["records"] == records) & found["method"].isin(methods)]
        levels = sum(1 if method == "original" else len(epsilons) for method in methods)
        assert len(part) >= levels * splits
    weighted = found.dropna(subset="effective")
    assert found["auc"].dropna().between(0, 1).all() and found["bias"].dropna().between(0, 1).all()
    assert weighted["effective"].between(1, weighted["records"]).all()
