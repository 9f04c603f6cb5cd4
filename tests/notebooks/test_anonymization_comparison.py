"""Figure 1's grid and its methods: separate cells, kept on disk, resumed; and the committed results."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from book.kept import results
from lib.data import datasets
from lib.microdata import KernelDensityRatio, LinearDensityRatio, k_anonymity, weighted_regression
from lib.microdata.perturbation import pk_level
from notebooks.studies import (
    adult_design,
    anonymization_comparison,
    anonymization_findings,
    anonymization_readings,
    local_marginals,
)
from notebooks.studies.adult_design import EXPLANATORY, TARGET
from notebooks.studies.anonymization_readings import BASELINES, SETUPS, WEIGHINGS, Setup

FRAME = datasets.adult("test", missing="category", source="stand-in").head(1500)
AT = anonymization_readings.split_records(FRAME, 500, 0, seed=1)
FAST = ("original", "suppressed on categories", "perturbed", "linear")


def small(**options):
    return anonymization_comparison.grid(
        FRAME, **({"methods": FAST, "ks": (3, 10), "trials": 2, "records": 500, "seed": 1} | options)
    )


def scores(study):
    return study.drop(columns="seconds").reset_index(drop=True)


# ---- the readings


@pytest.mark.parametrize("name", SETUPS)
def test_setups_perturb_what_they_say_at_the_level_they_say(name):
    setup = SETUPS[name]
    perturbation = setup.perturbation(5, 16281)
    assert (TARGET in perturbation.attributes) == (setup.income == "perturbed")
    level = pk_level(perturbation, 16281)
    if setup.share == "whole":
        assert level == pytest.approx(1)  # next to nothing, of the k = 5 that each attribute would have alone
        assert np.ptp(perturbation.epsilons) < 1e-12
        assert perturbation.epsilon == pytest.approx(np.log(16280 / 4) / 2 * len(perturbation.attributes))
    else:
        assert level == pytest.approx(5)
    epsilons = dict(zip(perturbation.attributes, perturbation.epsilons))
    if setup.share == "income half":
        assert epsilons[TARGET] == pytest.approx(perturbation.epsilon / 2)
    if setup.share == "categorical thrice":
        assert epsilons["sex"] == pytest.approx(3 * epsilons["capital-gain"])


def test_bad_setups_are_refused():
    for name, options in {
        "income": {"income": "hidden"},
        "age": {"age": "young"},
        "share": {"share": "equally"},
    }.items():
        with pytest.raises(ValueError, match=name):
            Setup(**options)
    with pytest.raises(ValueError, match="income half"):
        Setup(share="income half")


def test_splits_cover_the_records_once():
    assert len(AT.train) == len(AT.train_numbers) == 500 and len(AT.test) == len(AT.test_numbers) == 1000
    together = pd.concat([AT.train, AT.test]).sort_values(list(FRAME)).reset_index(drop=True)
    pd.testing.assert_frame_equal(together, FRAME.sort_values(list(FRAME)).reset_index(drop=True))
    assert (AT.train_numbers["age"] == AT.train["age"]).all() and (AT.test_numbers["age"] == AT.test["age"]).all()
    assert not AT.train.equals(anonymization_readings.split_records(FRAME, 500, 1, seed=1).train)
    with pytest.raises(ValueError, match="records"):
        anonymization_readings.split_records(FRAME, 1500, 0, seed=1)


def test_only_the_perturbed_attributes_change():
    data = anonymization_readings.perturb(AT, SETUPS["published"], 3, rng=np.random.default_rng(0))
    assert (data.records[TARGET] == data.original[TARGET]).all()
    assert all((data.records[name] != data.original[name]).any() for name in EXPLANATORY)
    data = anonymization_readings.perturb(AT, SETUPS["perturbed"], 3, rng=np.random.default_rng(0))
    assert (data.records[TARGET] != data.original[TARGET]).any()


def test_without_perturbation_the_original_prediction_comes_back(monkeypatch):
    monkeypatch.setattr(anonymization_readings, "pk_parameters", lambda k, n, kinds, shares: Unchanged(kinds))
    found = anonymization_readings.from_perturbed(anonymization_readings.unweighted, AT, SETUPS["perturbed"], 3, [1])
    assert found["auc"] == BASELINES["original"](AT, 1)["auc"] > 0.8
    assert found["effective"] == 500


class Unchanged:
    def __init__(self, kinds):
        self.attributes = tuple(kinds)

    def perturb(self, records, *, rng):
        return records.to_numpy()


def test_a_published_income_has_weights_for_each_class():
    """The weights are as if the income were perturbed with a retention probability next to 1."""
    data = anonymization_readings.perturb(AT, SETUPS["published"], 3, rng=np.random.default_rng(0))
    weights, width = anonymization_readings.reconstructed(data, rng=None, estimator=KernelDensityRatio, width=5.0)
    assert width == 5.0
    for income in (0, 1):
        own = (data.records[TARGET] == income).to_numpy()
        assert weights[own].mean() == pytest.approx(1)
        alone = KernelDensityRatio(data.perturbation, 5.0).fit(data.records.loc[own, list(EXPLANATORY)])
        np.testing.assert_array_equal(weights[own], alone.weights_)


def test_a_perturbed_income_is_one_more_attribute():
    data = anonymization_readings.perturb(AT, SETUPS["perturbed"], 3, rng=np.random.default_rng(0))
    weights, _ = WEIGHINGS["linear"](data, rng=None)
    np.testing.assert_array_equal(weights, LinearDensityRatio(data.perturbation).fit(data.records).weights_)


def test_cross_validation_chooses_one_of_the_widths():
    data = anonymization_readings.perturb(AT, SETUPS["published, whole"], 3, rng=np.random.default_rng(0))
    _, width = anonymization_readings.reconstructed(
        data, rng=np.random.default_rng(1), estimator=KernelDensityRatio, width=(10.0, 1000.0), cv_records=60, folds=2
    )
    assert width in (10.0, 505.0, 1000.0)  # each class chooses: the mean


# ---- k-anonymity


@pytest.mark.slow
def test_generalized_tables_are_predicted_from_their_own_values(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        anonymization_readings, "predict", lambda train, test, kinds: seen.update(train=train, test=test) or 0.5
    )
    found = BASELINES["generalized 20 % out"](AT, 5)
    assert 0 < found["removed"] <= 0.2 and len(seen["train"]) == round(500 * (1 - found["removed"]))
    assert k_anonymity.anonymity(seen["train"], list(EXPLANATORY)) >= 5
    for name in EXPLANATORY:  # the records of both parts that shared a value share it still: the same levels
        both = pd.DataFrame({"was": pd.concat([AT.train[name], AT.test[name]]).astype(str).to_numpy()})
        both["now"] = pd.concat([seen["train"].reindex(range(500))[name], seen["test"][name]]).to_numpy()
        assert (both.dropna().groupby("was")["now"].nunique() == 1).all()


@pytest.mark.slow
def test_suppression_leaves_out_what_it_says():
    sizes = AT.train.groupby([name for name in EXPLANATORY[1:] if name not in adult_design.NUMERIC])["age"].transform(
        "size"
    )
    assert BASELINES["suppressed on categories"](AT, 3)["removed"] == pytest.approx((sizes < 3).mean())
    generalized, on_levels = (BASELINES[name](AT, 3) for name in ("generalized 20 % out", "suppressed on levels"))
    assert on_levels["removed"] == generalized["removed"] and on_levels["auc"] != generalized["auc"]
    everything = BASELINES["suppressed"](AT, 400)
    assert everything["removed"] == 1 and np.isnan(everything["auc"])


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["generalized", "generalized 20 % out", "suppressed on levels"])
def test_the_second_loss_is_that_of_the_heights(name, monkeypatch):
    asked, real = [], k_anonymity.generalize
    monkeypatch.setattr(k_anonymity, "generalize", lambda *a, **o: asked.append(o["loss"]) or real(*a, **o))
    widths, heights = BASELINES[name](AT, 5), BASELINES[f"{name}, precision"](AT, 5)
    assert asked == ["lm", "precision"] and widths != heights


def test_originals_in_cells_are_predicted_from_the_cells(monkeypatch):
    seen = []
    monkeypatch.setattr(
        anonymization_readings, "predict", lambda train, test, kinds: seen.append((train, kinds)) or 0.5
    )
    assert BASELINES["original in cells"](AT, 1) == {"auc": 0.5}
    ((train, kinds),) = seen
    pd.testing.assert_frame_equal(train, adult_design.cells(AT.train_numbers))
    assert kinds == adult_design.cell_sizes()


def test_the_prediction_is_that_of_utility():
    kinds = adult_design.adult_kinds()
    kinds.pop(TARGET)
    train, test = (adult_design.design_matrix(part, kinds) for part in (AT.train_numbers, AT.test_numbers))
    weights = np.random.default_rng(0).random(500)
    model = weighted_regression.logistic_regression(train, AT.train_numbers[TARGET], weights)
    expected = roc_auc_score(AT.test_numbers[TARGET], model.decision_function(test))
    assert (
        anonymization_readings.predict(AT.train_numbers, AT.test_numbers, adult_design.adult_kinds(), weights)
        == expected
    )


# ---- the grid


@pytest.mark.slow
def test_the_grid_has_every_cell_once():
    study = small(setups=("published", "perturbed"))
    assert len(study) == 2 * (1 + 2 + 2 * 2 * 2)
    assert not study.duplicated(["setup", "method", "k", "split"]).any()
    assert set(study.query("method == 'original'")["k"]) == {1} and set(study.query("setup == '-'")["method"]) == {
        *FAST[:2]
    }
    table = anonymization_findings.summary(study)
    cell = study.query("setup == 'perturbed' and method == 'linear' and k == 10")
    assert table.loc[("perturbed", "linear", 10), "mean"] == cell["auc"].mean()
    assert table.loc[("perturbed", "linear", 10), "std"] == pytest.approx(cell["auc"].std())


@pytest.mark.slow
def test_a_cell_does_not_depend_on_the_others():
    everything, alone = small(), small(methods=("linear",), ks=(10,), trials=1)
    same = everything.query("method == 'linear' and k == 10 and split == 0")
    pd.testing.assert_frame_equal(scores(same), scores(alone))


@pytest.mark.slow
def test_weighings_share_the_perturbed_records():
    study = small(methods=("perturbed", "linear", "kernel 1000 range"), ks=(10,))
    wide = study.pivot(index="split", columns="method", values="auc")
    assert (abs(wide["perturbed"] - wide["kernel 1000 range"]) < 2e-3).all()  # weights next to 1
    assert wide["perturbed"].nunique() == 2


@pytest.mark.slow
def test_the_local_protocol_needs_no_setup_and_has_coins_of_its_own():
    study = small(setups=(), methods=("original in cells", *local_marginals.LOCAL))
    assert len(study) == 2 * (1 + 2 * 2) and set(study["setup"]) == {"-"}
    assert study["auc"].nunique() == len(study)
    alone = small(setups=(), methods=("local marginals",), ks=(10,), trials=1)
    same = study.query("method == 'local marginals' and k == 10 and split == 0")
    pd.testing.assert_frame_equal(scores(same), scores(alone))


@pytest.mark.full
def test_processes_share_the_work_without_changing_it():
    pd.testing.assert_frame_equal(scores(small()), scores(small(jobs=2)))


@pytest.mark.full
def test_an_interrupted_grid_resumes(tmp_path, monkeypatch):
    whole, real, calls = small(), anonymization_comparison.from_perturbed, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(anonymization_comparison, "from_perturbed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small(folder=tmp_path)
    kept = len(list(tmp_path.iterdir()))
    resumed = small(folder=tmp_path)
    assert kept == 3 + 2 and len(calls) == 8 + 1  # the one that was interrupted ran twice
    pd.testing.assert_frame_equal(scores(resumed), scores(whole))
    next(tmp_path.iterdir()).write_text("{")
    pd.testing.assert_frame_equal(scores(small(folder=tmp_path)), scores(whole))


def test_a_kept_cell_counts_only_for_what_it_was_made_from():
    def key(digest="a", setup="published", method="linear", k=3, trial=0, records=500, seed=1):
        return anonymization_comparison._key(digest, setup, method, k, trial, records, seed)

    others = [
        {"digest": "b"},
        {"setup": "perturbed"},
        {"method": "perturbed"},
        {"k": 5},
        {"trial": 1},
        {"records": 9},
        {"seed": 2},
    ]
    assert len({key(), *(key(**other) for other in others)}) == 8 and key() == key()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("setup", {"setups": ("hidden",)}), ("method", {"methods": ("magic",)}), ("ks", {"ks": (1,)}), ("ks", {"ks": (501,)}),
        ("trials", {"trials": 0}), ("records", {"records": 1500}), ("jobs", {"jobs": 0}), ("seed", {"seed": -1}),
    ],
)  # fmt: skip
def test_grids_refuse_bad_input(name, options):
    with pytest.raises(ValueError, match=name):
        small(**options)


# ---- the file


@pytest.mark.slow
def test_the_command_writes_the_file_with_its_provenance(tmp_path, monkeypatch):
    monkeypatch.setattr(
        anonymization_comparison, "PLAN", (((), ("original",), "all"), (("published",), ("perturbed", "linear"), "few"))
    )
    monkeypatch.setitem(anonymization_comparison.PLANS, "figure1", anonymization_comparison.PLAN)
    options = ["--data", "stand-in", "--records", "400", "--trials", "2", "--few", "1", "--ks", "3", "--seed", "7"]
    anonymization_comparison.main(["--output", str(tmp_path / "out"), "--cells", str(tmp_path / "cells"), *options])
    path = tmp_path / "out" / "figure1.csv"
    study = anonymization_comparison.load(path)
    assert list(study.columns) == list(anonymization_comparison.COLUMNS) and len(study) == 2 + 2
    made = results.provenance(path)
    assert made["settings"] == "records 400, trials 2, few 1, seed 7" and made["data"] == "stand-in"


@pytest.mark.parametrize("plan", anonymization_comparison.PLANS)
def test_the_committed_results_are_the_documents_settings_on_the_verified_files(plan):
    path = anonymization_comparison.RESULTS.with_name(f"{plan}.csv")
    made, study = results.provenance(path), anonymization_comparison.load(path)
    assert made["data"] == "real" and "records 16281" in made["settings"]
    files = {name: file.sha256 for name, file in datasets.SOURCES.items() if file.dataset == "adult"}
    assert {name: made[f"SHA-256 of {name}"] for name in files} == files
    assert {"date", "versions", "CPU time", "command"} <= set(made)
    counts = study.groupby(["setup", "method", "k"])["split"].nunique()
    for setups, methods, of in anonymization_comparison.PLANS[plan]:
        for setup, method, k in anonymization_comparison._places(setups, methods, anonymization_comparison.KS):
            assert counts[setup, method, k] == {"all": 10, "few": 3}[of]
    assert study["auc"].dropna().between(0, 1).all()
    together = anonymization_comparison.load()
    assert len(study.merge(together, on=list(study.columns))) == len(study)
    assert not together.duplicated(["setup", "method", "k", "split"]).any()
