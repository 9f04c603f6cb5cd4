"""Perturbed Adult at any total epsilon: its analyses, and the committed results."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from lib import datasets, pk_beyond, pk_features, results, utility
from lib.pk_features import EXPLANATORY, TARGET
from lib.reconstruction import effective_sample_size

FRAME = pk_features.adult_records(datasets.adult("test", missing="category", source="stand-in").head(3000))
KINDS = pk_features.adult_kinds()


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("income, attributes", [("published", 10), ("perturbed", 11)])
def test_the_total_level_is_shared_equally(income, attributes):
    data, test = pk_beyond.sample(FRAME, 1000, 4.4, income=income, rng=rng())
    assert data.perturbation.epsilons == pytest.approx(np.full(attributes, 4.4 / attributes))
    assert len(data.records) == 1000 and len(test) == 2000
    assert ((data.records[TARGET] == data.original[TARGET]).all()) == (income == "published")
    assert not set(test.index) & set(data.records.index)


def test_the_whole_frame_is_tested_on_itself():
    data, test = pk_beyond.sample(FRAME, len(FRAME), 3.0, rng=rng())
    pd.testing.assert_frame_equal(test, data.original)


def test_hours_are_explained_as_by_least_squares():
    others = {name: kind for name, kind in KINDS.items() if name != "hours-per-week"}
    design = pk_features.design_matrix(FRAME, others)
    hours = FRAME["hours-per-week"].to_numpy()
    beta = np.linalg.lstsq(design, hours, rcond=None)[0]  # 0/1 columns hold the intercept
    explained = 1 - np.sum((hours - design @ beta) ** 2) / np.sum((hours - hours.mean()) ** 2)
    found = pk_beyond.analyses(FRAME, None, FRAME, KINDS)
    assert found["hours"] == pytest.approx(explained, abs=1e-4)
    assert found["auc"] == pytest.approx(found["svm"], abs=0.02)


def test_with_next_to_no_noise_categories_are_counted():
    data, test = pk_beyond.sample(FRAME, 1000, 300, rng=rng())
    shares = pk_beyond.category_shares(data.original, KINDS)
    assert pk_beyond.share_error(pk_beyond.inverted_shares(data), shares) < 1e-9
    one = pk_beyond.NaiveBayes(data, smoothing=1e-9).shares_["sex"]
    counted = pd.crosstab(data.original[TARGET], data.original["sex"], normalize="index").to_numpy()
    assert one == pytest.approx(counted, abs=1e-3)


def test_equal_weights_are_no_weights():
    data, test = pk_beyond.sample(FRAME, 500, 10, rng=rng())
    equal = pk_beyond.analyses(data.records, np.full(500, 3.0), test, KINDS)
    assert equal == pytest.approx(pk_beyond.analyses(data.records, None, test, KINDS), abs=1e-6)
    plain, weighted = (pk_beyond.category_shares(data.records, KINDS, w) for w in (None, np.full(500, 3.0)))
    assert all(np.allclose(plain[name], weighted[name]) for name in plain)


def test_inversion_is_unbiased():
    """The mean of 100 estimates of a share, at the false-alarm rate 1e-6 by its own spread."""
    estimates = []
    truth = pk_beyond.category_shares(FRAME, KINDS)
    for seed in range(100):
        data, _ = pk_beyond.sample(FRAME, len(FRAME), 10, rng=rng(seed))
        estimates.append(pk_beyond.inverted_shares(data)["sex"][0])
    error = np.mean(estimates) - truth["sex"][0]
    assert abs(error) < norm.isf(5e-7) * np.std(estimates, ddof=1) / np.sqrt(100)
    assert np.std(estimates) > 0.005  # the test has something to average


@pytest.mark.parametrize("income", pk_beyond.INCOMES)
def test_naive_bayes_scores_by_the_sum_of_log_ratios(income):
    data, test = pk_beyond.sample(FRAME, 1000, 40, income=income, rng=rng())
    model = pk_beyond.NaiveBayes(data)
    assert all(np.allclose(model.shares_[name].sum(axis=1), 1) for name in EXPLANATORY)
    first = test.iloc[[0]]
    cells = {name: first[name].iloc[0] for name in EXPLANATORY}
    expected = np.log(model.prior_[1] / model.prior_[0])
    for name, value in cells.items():
        edges = pk_beyond.EDGES.get(name)
        cell = int(value) if edges is None else min(np.digitize(value, edges) - 1, len(edges) - 2)
        expected += np.log(model.shares_[name][1, cell] / model.shares_[name][0, cell])
    assert model.decision_function(first)[0] == pytest.approx(expected)
    assert utility.auc(test[TARGET], model.decision_function(test)) > 0.7


def test_widths_gain_nothing_where_all_weights_are_one():
    data, test = pk_beyond.sample(FRAME, 400, 10, rng=rng())
    table = pk_beyond.widths(data, test, (3.0, 1e9), rng=rng())
    assert table.loc[1e9, "held out"] == pytest.approx(0, abs=1e-6)
    assert table.loc[1e9, "effective"] == pytest.approx(400)
    assert table.loc[3.0, "effective"] < 399
    data, test = pk_beyond.sample(FRAME, 400, 10, income="perturbed", rng=rng())
    with pytest.raises(ValueError, match="published"):
        pk_beyond.widths(data, test, (3.0,), rng=rng())


def test_joint_errors_vanish_with_the_noise():
    found = pk_beyond.joint_errors(FRAME, ("sex", "relationship"), 60.0, records=500, rng=rng())
    assert set(found) == {"perturbed", "linear", "kernel 1", "iterative Bayes"}
    assert found["perturbed"] < 1e-12 and found["iterative Bayes"] < 0.01
    noisy = pk_beyond.joint_errors(FRAME, ("sex", "relationship"), 2.0, records=3000, rng=rng())
    assert noisy["iterative Bayes"] < noisy["perturbed"]


def test_no_weights_remove_the_bias_of_strong_noise():
    weak, strong = (pk_beyond.sample(FRAME, 500, epsilon, rng=rng())[0] for epsilon in (100.0, 2.0))
    assert 0 <= pk_beyond.irremovable_bias(weak) < pk_beyond.irremovable_bias(strong) <= 1
    # a table that holds the original records can be weighted down to these
    data = strong
    both = pk_beyond.Perturbed(data.perturbation, data.kinds, data.original, pd.concat([data.records, data.original]))
    assert pk_beyond.irremovable_bias(both) == pytest.approx(0, abs=1e-9)
    # one of two records has the right sex; none of them has
    two = data.original.iloc[[0, 0]].assign(sex=[0, 1])
    all_men = pk_beyond.Perturbed(data.perturbation, data.kinds, two.assign(sex=1), two)
    assert pk_beyond.irremovable_bias(all_men) == pytest.approx(0, abs=1e-9)
    none = pk_beyond.Perturbed(data.perturbation, data.kinds, two.assign(sex=1), two.assign(sex=0))
    assert pk_beyond.irremovable_bias(none) == pytest.approx(1)


def test_the_best_weights_trade_evenness_for_bias():
    data, _ = pk_beyond.sample(FRAME, 400, 4.5, rng=rng())
    even, uneven = (pk_beyond.best_weights(data, penalty) for penalty in (1.0, 0.01))
    for weights in (even, uneven):
        assert weights.min() >= 0 and weights.mean() == pytest.approx(1)
        assert pk_beyond.irremovable_bias(data) <= pk_beyond.mean_bias(data, weights) + 1e-9
    assert effective_sample_size(uneven) < effective_sample_size(even) < 400
    assert pk_beyond.mean_bias(data, uneven) < pk_beyond.mean_bias(data, even) < pk_beyond.mean_bias(data, np.ones(400)) + 1e-12
    assert pk_beyond.mean_bias(data, np.ones(400)) == pytest.approx(1)
    assert pk_beyond.best_weights(data, 1e6) == pytest.approx(np.ones(400), abs=1e-3)


# ---- the study

PLAN = (("published", 300, (4.5, 20.0), pk_beyond.METHODS, 1), ("perturbed", 300, (20.0,), ("perturbed", "central"), 2))


def test_a_study_has_a_row_for_each_cell_and_resumes(tmp_path):
    once = pk_beyond.study(FRAME, PLAN, seed=3, folder=tmp_path)
    assert list(once) == list(pk_beyond.COLUMNS)
    assert len(once) == len(list(tmp_path.iterdir())) == 1 + 2 * 7 + 4
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = pk_beyond.study(FRAME, PLAN[1:], seed=3, folder=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    pd.testing.assert_frame_equal(again, once.tail(4).reset_index(drop=True))


def test_methods_start_from_the_same_records():
    one, two = (pk_beyond.cell(FRAME, "published", 300, 5.0, name, 0, 3) for name in ("perturbed", "kernel 10 standard"))
    assert one["auc"] != two["auc"] and one["effective"] == pytest.approx(300) and two["effective"] < 300
    assert one == pk_beyond.cell(FRAME, "published", 300, 5.0, "perturbed", 0, 3)


@pytest.mark.parametrize(
    "name, call",
    {
        "epsilon": lambda: pk_beyond.sample(FRAME, 10, 0.0, rng=rng()),
        "records": lambda: pk_beyond.sample(FRAME, 3001, 1.0, rng=rng()),
        "income": lambda: pk_beyond.sample(FRAME, 10, 1.0, income="hidden", rng=rng()),
        "method": lambda: pk_beyond.cell(FRAME, "published", 300, 5.0, "magic", 0, 3),
        "splits": lambda: pk_beyond.study(FRAME, [("published", 300, (1.0,), ("perturbed",), 0)]),
        "penalty": lambda: pk_beyond.best_weights(pk_beyond.sample(FRAME, 10, 1.0, rng=rng())[0], 0),
        "smoothing": lambda: pk_beyond.NaiveBayes(pk_beyond.sample(FRAME, 10, 1.0, rng=rng())[0], smoothing=0),
    }.items(),
)
def test_bad_input_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()


def test_the_command_line_writes_a_file_that_tells_its_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(pk_beyond, "PLAN", PLAN)
    arguments = ["--output", str(tmp_path / "beyond.csv"), "--data", "stand-in", "--splits", "1", "--cells", str(tmp_path / "cells")]
    pk_beyond.main(arguments)
    assert len(pk_beyond.load(tmp_path / "beyond.csv")) == 1 + 2 * 7 + 2
    assert results.provenance(tmp_path / "beyond.csv")["data"] == "stand-in"


def test_the_committed_results_are_of_the_plan():
    found = pk_beyond.load()
    assert results.provenance(pk_beyond.RESULTS)["data"] == "real"
    for income, records, epsilons, methods, splits in pk_beyond.PLAN:
        part = found[(found["income"] == income) & (found["records"] == records) & found["method"].isin(methods)]
        levels = sum(1 if method == "original" else len(epsilons) for method in methods)
        assert len(part) >= levels * splits
    weighted = found.dropna(subset="effective")
    assert found["auc"].dropna().between(0, 1).all() and found["bias"].dropna().between(0, 1).all()
    assert weighted["effective"].between(1, weighted["records"]).all()
