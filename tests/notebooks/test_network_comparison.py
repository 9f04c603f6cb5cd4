"""The Figure 5 study: its methods, its grid, its conversions, on few records and epochs."""

import math

import numpy as np
import pandas as pd
import pytest

from lib.networks import network
from lib.networks.private_networks import PrivacyStatement
from notebooks.studies import network_comparison as study

QUICK = study.Settings(epochs=2, folds=3)


def run(where, **options):
    return study.run(where, source="stand-in", settings=QUICK, limit=1500, **options)


def test_scores_against_counts_by_hand():
    labels, predicted = np.array([1, 1, 1, 0, 0, 0, 0, 0]), np.array([1, 1, 0, 1, 0, 0, 0, 0])
    found = study.scores(labels, predicted)
    above, below = 2 * 2 / (2 * 2 + 1 + 1), 2 * 4 / (2 * 4 + 1 + 1)
    assert found["accuracy"] == 0.75
    assert found["f_positive"] == pytest.approx(above)
    assert found["f_macro"] == pytest.approx((above + below) / 2)
    assert found["f_weighted"] == pytest.approx((3 * above + 5 * below) / 8)


def test_scores_of_one_class_only():
    found = study.scores(np.array([0, 1]), np.array([0, 0]))
    assert found["accuracy"] == 0.5 and found["f_positive"] == 0.0


@pytest.mark.parametrize("method", ["LearningFirst", "AnonymizedLearning"])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, 1e3])
def test_epsilon_for_each_parameter_is_the_inverse_of_the_whole_models(method, epsilon):
    stated = study.per_parameter(method, epsilon, QUICK, 40_000)
    assert study.statement(method, stated, QUICK, 40_000).epsilon_at(study.DELTA) == pytest.approx(epsilon, rel=1e-8)
    assert stated < epsilon


def test_the_statement_is_that_of_the_trained_network():
    size = network.count((105, 10, 10, 10, 10, 2))
    made = study.statement("AnonymizedLearning", 3.0, QUICK, 1001)
    assert made == PrivacyStatement("AnonymizedLearning", 3.0, size, 2, 21, True)
    assert study.statement("LearningFirst", 3.0, QUICK, 1001) == PrivacyStatement("LearningFirst", 3.0, size)


def test_what_a_stated_epsilon_promises():
    made = study.statement("AnonymizedLearning", 2.0, QUICK, 40_700)
    promised = study.promises("AnonymizedLearning", 2.0, QUICK)
    assert promised == (made.one_parameter, made.whole_model, made.epsilon_at(1e-5))
    assert promised[0] < promised[1] and promised[2] < promised[1]
    assert study.promises("AnonymizingFirst", 2.0) == study.promises("DP-SGD", 2.0) == (2.0, 2.0, 2.0)
    assert study.promises("AnonymizingFirst, as published", 2.0) == study.promises("network", None) == (math.inf,) * 3
    with pytest.raises(ValueError, match="method must be one of .*got 'LearningLast'"):
        study.promises("LearningLast", 1.0)


def test_above_compares_fold_by_fold():
    folds = {2: 0.85, 0: 0.75, 1: 0.80}  # of the majority class
    gains = {("parameter", 1.0): (0.0005, 0.0010), ("parameter", 2.0): (0.02, 0.01), ("record", 4.0): (-0.1, 0.1)}
    cells = [("none", "majority class", None, fold, accuracy) for fold, accuracy in folds.items()]
    for (level, epsilon), gain in gains.items():
        cells += [(level, "LearningFirst", epsilon, fold, folds[fold] + gain[fold]) for fold in (0, 1)]
    cells += [("record", "DP-SGD", 1.0, 1, 0.8)]
    frame = pd.DataFrame(cells, columns=["level", "method", "epsilon", "fold", "accuracy"])
    found = study.above(frame, "LearningFirst", "majority class")
    assert list(found) == [1.0, 2.0] and [each.holds for each in found.values()] == [None, True]
    assert found[2.0].value == pytest.approx(0.015) and found[2.0].error == pytest.approx(0.005)
    assert found[2.0].limit == 0.001
    assert study.above(frame, "LearningFirst", "majority class", level="record")[4.0].holds is None
    assert study.above(frame, "LearningFirst", "majority class", margin=0.03)[2.0].holds is False


@pytest.mark.full
def test_every_method_runs_and_repeats_alone_or_together():
    where = study.places(("main",), count=1, parameter_epsilons=(100.0,))
    where += [("main", "record", method, 2.0, 0) for method in (*study.DOCUMENT, *study.YARDSTICKS)]
    assert {p[2] for p in where} == set(study.METHODS)
    together = run(where)
    assert together[list(study.SCORES)].map(lambda x: 0 <= x <= 1).all(axis=None)
    alone = run(where[::-3])
    for _, row in alone.iterrows():
        place = ["level", "method", "epsilon"]
        twin = together[(together[place].fillna(0) == row[place].fillna(0)).all(axis=1)]
        assert twin["accuracy"].tolist() == [row["accuracy"]]


@pytest.mark.slow
def test_majority_class_and_the_test_share():
    found = run([("main", "none", "majority class", None, fold) for fold in range(3)])
    assert found["accuracy"].between(0.7, 0.8).all()
    assert (found["f_positive"] == 0).all()


def test_every_variant_changes_the_settings_and_its_methods_only():
    assert [name for name, changed in study.VARIANTS.items() if not changed] == ["main"]
    where = study.places(count=2, few=1)
    assert len(set(where)) == len(where)
    for variant, level, method, epsilon, fold in where:
        assert fold < (2 if variant == "main" else 1)
        assert (epsilon is None) == (level == "none")
        if variant.startswith(("thresholds", "clipping")):
            assert method == "AnonymizedLearning"


def test_the_variants_have_epsilon_10():
    where = study.places()
    for variant, changed in study.VARIANTS.items():
        methods = {method for name, level, method, epsilon, _ in where if name == variant and epsilon == 10}
        expected = {*study._CHANGED.get(variant, study.DOCUMENT)}
        assert methods == (expected if changed else expected | {"AnonymizingFirst, as published"})


@pytest.mark.slow
def test_dp_sgd_is_calibrated_for_a_replaced_record():
    plan = study._plan(1.0, 200)
    assert plan.replaced == pytest.approx(1.0, rel=0.01) and plan.replaced <= 1 and plan.delta == study.DELTA
    assert plan.sampling * plan.steps == pytest.approx(study._plan(1.0, 800).sampling * 800) == 20
    assert plan.epsilon < 0.6  # for one that is added or removed


@pytest.mark.slow
def test_a_variant_is_another_network():
    where = [
        (name, "parameter", "AnonymizedLearning", 1e4, 0)
        for name in ("main", "codes", "3 hidden layers", "clipping by record")
    ]
    found = run(where)
    assert len(set(found["accuracy"])) > 1


@pytest.mark.slow
def test_finished_cells_are_kept(tmp_path):
    where = [("main", "none", "majority class", None, fold) for fold in range(2)]
    first = run(where, folder=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert run(where, folder=tmp_path).equals(first)


@pytest.mark.slow
def test_the_command_writes_a_file_that_loads(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "places", lambda *a, **k: [("main", "none", "majority class", None, 0)])
    output = tmp_path / "figure5.csv"
    study.main(["--output", str(output), "--data", "stand-in", "--epochs", "1", "--cells", str(tmp_path / "cells")])
    loaded = study.load(output)
    assert loaded.loc[0, "method"] == "majority class" and math.isnan(loaded.loc[0, "epsilon"])
    table = study.summary(loaded)
    assert table["folds"].tolist() == [1]


@pytest.mark.parametrize("wrong", [{"source": "made up"}, {"jobs": 0}])
def test_bad_input_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        study.run([("main", "none", "majority class", None, 0)], **({"source": "stand-in"} | wrong))


def test_unknown_variants_are_refused():
    with pytest.raises(ValueError, match="variant must be one of"):
        study.places(("other",))
