"""`prediction`: problems with known answers, for each classifier."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from lib.tables.table import Domain, Table
from notebooks.studies import prediction
from tests.lib.tables.test_utility import OTHER, TABLE, random_table


def labelled(n, seed, classes=(0, 1), flip=0.0):
    """Return records with noise whose target is the third of 9 values that contains `x`; a proportion `flip` is changed."""
    rng = np.random.default_rng(seed)
    x, noise = rng.integers(0, 9, n), rng.integers(0, 5, n)
    target = np.array(classes)[np.minimum(x // 3, len(classes) - 1)]
    target = np.where(rng.random(n) < flip, classes[0], target)
    return Table(np.stack([noise, target, x], axis=1), Domain({"noise": 5, "target": 4, "x": 9}))


@pytest.mark.parametrize("model", prediction.CLASSIFIERS)
def test_classifiers_learn_what_there_is_to_learn(model):
    train, test = labelled(600, 1), labelled(400, 2)
    score = prediction.train_synthetic_test_real(train, test, "target", model, rng=np.random.default_rng(0))
    assert score == 1.0 and isinstance(score, float)
    three = labelled(600, 1, (3, 0, 1)), labelled(400, 2, (3, 0, 1))
    assert prediction.train_synthetic_test_real(*three, "target", model, rng=np.random.default_rng(0)) == 1.0


@pytest.mark.parametrize("model", prediction.CLASSIFIERS)
def test_what_is_learnt_is_synthetic_what_is_tested_is_real(model):
    # Trained on inverted labels, every prediction is wrong; half of the labels flipped, a bit more than chance.
    train, test = labelled(600, 1, (1, 0)), labelled(400, 2, (0, 1))
    assert prediction.train_synthetic_test_real(train, test, "target", model, rng=np.random.default_rng(0)) == 0.0
    noisy = labelled(600, 2, flip=0.2)
    share = 1 - np.mean(noisy.column("target") != (noisy.column("x") >= 3))
    assert 0.5 < share < 0.95
    score = prediction.train_synthetic_test_real(labelled(600, 3), noisy, "target", model, rng=np.random.default_rng(0))
    assert score == pytest.approx(share)


@pytest.mark.parametrize("model", prediction.CLASSIFIERS)
def test_accuracy_is_the_same_for_the_same_generator(model):
    rng = np.random.default_rng
    train, test = random_table(1, 300), random_table(2, 300)
    first, second = (prediction.train_synthetic_test_real(train, test, "a", model, rng=rng(4)) for _ in range(2))
    assert first == second
    assert 0.1 < first < 0.6  # nothing to learn: about one in three


@pytest.mark.parametrize("model", prediction.CLASSIFIERS)
def test_one_target_value_is_predicted_throughout(model):
    train, test = labelled(50, 1, (2,)), labelled(80, 2, (0, 2))
    score = prediction.train_synthetic_test_real(train, test, "target", model, rng=np.random.default_rng(0))
    assert score == np.mean(test.column("target") == 2)


def test_one_hot_columns_are_those_of_pandas():
    table = random_table(3, 20)
    sizes = {"a": 3, "c": 4, "d": 1}
    columns = {name: pd.Categorical(table.column(name), range(size)) for name, size in sizes.items()}
    wanted = pd.get_dummies(pd.DataFrame(columns))
    np.testing.assert_array_equal(prediction._one_hot(table, "b").toarray(), wanted.to_numpy(dtype=float))


def test_distinct_records_with_weights_are_the_same_machine_as_all_records(monkeypatch):
    train, test = random_table(5, 400), random_table(6, 400)
    train = Table(np.concatenate([train.records, train.records[:150]]), train.domain)
    columns, labels = prediction._one_hot(train, "b"), train.column("b")
    fitted = prediction._classifier("radial svm", None, 0).fit(columns, labels)
    whole = SVC().fit(columns.toarray(), labels)
    assert len(fitted.machine.support_) < len(whole.support_)  # fewer rows
    seen = prediction._one_hot(test, "b")
    np.testing.assert_allclose(
        fitted.machine.decision_function(seen.toarray()), whole.decision_function(seen.toarray()), atol=5e-3
    )
    np.testing.assert_array_equal(fitted.predict(seen), fitted.machine.predict(seen.toarray()))
    for seed in range(5):
        of_few = prediction._classifier("decision tree", None, seed).fit(columns, labels)
        of_all = DecisionTreeClassifier(random_state=seed).fit(columns, labels)
        assert of_few.machine.tree_.feature.tolist() == of_all.tree_.feature.tolist()
        np.testing.assert_array_equal(of_few.predict(seen), of_all.predict(seen))


def test_boosted_trees_have_the_settings_that_they_are_named_for():
    train = labelled(600, 1)
    columns, labels = prediction._one_hot(train, "target"), train.column("target")
    for model, (rounds, depth) in {"xgboost": (100, 6), "ten trees": (10, 6), "flat trees": (100, 3)}.items():
        fitted = prediction._classifier(model, None, 0).fit(columns, labels)
        trees = fitted.get_booster().trees_to_dataframe()
        assert trees["Tree"].nunique() == rounds
        assert fitted.get_params()["max_depth"] == depth


@pytest.mark.parametrize("model", ["decision tree", "xgboost"])
def test_depth_bounds_what_trees_can_learn(model):
    def exclusive_or(seed):  # no sum of questions about one attribute each answers it
        x, y = np.random.default_rng(seed).integers(0, 2, (2, 400))
        return Table(np.stack([x, y, x ^ y], axis=1), Domain({"x": 2, "y": 2, "either": 2}))

    for depth, low, high in [(1, 0.2, 0.8), (2, 1, 1), (None, 1, 1)]:
        tables, rng = (exclusive_or(1), exclusive_or(2)), np.random.default_rng(0)
        score = prediction.train_synthetic_test_real(*tables, "either", model, rng=rng, depth=depth)
        assert low <= score <= high


# ---- refusals


_RNG = np.random.default_rng(0)


def predict(train=TABLE, test=TABLE, target="a", model="svm", rng=_RNG, depth=None):
    return prediction.train_synthetic_test_real(train, test, target, model, rng=rng, depth=depth)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("model", lambda: predict(model="forest")),
        ("attributes", lambda: predict(target="e")),
        ("number of attributes", lambda: predict(OTHER, OTHER)),
        ("synthetic", lambda: predict(train=OTHER)),
        ("synthetic", lambda: predict(train=TABLE.to_frame())),
        ("real_test", lambda: predict(test=None)),
        ("rng", lambda: predict(rng=0)),
        ("depth", lambda: predict(depth=3)),
        ("depth", lambda: predict(model="xgboost", depth=0)),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
