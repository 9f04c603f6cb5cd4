"""Regressions of weighted records: a weight is a number of copies, and each fit is at its optimum."""

import mpmath
import numpy as np
import pytest

from lib.microdata import weighted_regression

ANALYSES = (
    weighted_regression.logistic_regression,
    weighted_regression.support_vector_machine,
    weighted_regression.linear_regression,
)


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    labels = (features @ [1.0, -2, 0.5] + rng.logistic(size=n) > 0).astype(int)
    return features, labels, rng.integers(0, 4, size=n)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_a_weight_is_a_number_of_copies(analysis):
    features, labels, weights = problem()
    weighted = analysis(features, labels, weights)
    # as many records as before, so that the penalty stands for the same
    copied = analysis(np.repeat(features, weights, axis=0), np.repeat(labels, weights))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-3)
    np.testing.assert_allclose(analysis(features, labels, 10 * weights).coef_, weighted.coef_, rtol=1e-6)


def test_the_logistic_regression_is_at_its_optimum():
    features, labels, weights = problem()
    model = weighted_regression.logistic_regression(features, labels, weights, penalty=0.01)
    missed = weights / weights.mean() * (labels - model.predict_proba(features)[:, 1])
    np.testing.assert_allclose(missed @ features / len(labels), 0.01 * model.coef_[0], atol=1e-6)
    assert missed.mean() == pytest.approx(0, abs=1e-6)


def test_the_linear_regression_is_the_normal_equations():
    features, _, weights = problem()
    values = features @ [1.0, 2, 3] + 4 + np.random.default_rng(1).normal(size=300)
    design = np.column_stack([features, np.ones(300)])
    expected = np.linalg.solve(design.T * weights @ design, design.T * weights @ values)
    model = weighted_regression.linear_regression(features, values, weights, penalty=1e-12)
    np.testing.assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-8)


def test_the_support_vector_machine_is_at_its_optimum():
    features, labels, weights = problem()
    model = weighted_regression.support_vector_machine(features, labels, weights, penalty=0.1)
    signs = 2 * labels - 1
    slack = np.maximum(0, 1 - signs * model.decision_function(features))
    gradient = -2 * (weights / weights.mean() * signs * slack) @ features / 300 + 0.1 * model.coef_[0]
    np.testing.assert_allclose(gradient, 0, atol=2e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1, 1e3, 1e5, 1e7, 1e8, 1e20, 1e49])
@pytest.mark.parametrize("penalty", [0.1, 1e-6, 1e-12])
@pytest.mark.parametrize("analysis", ANALYSES[:2])
def test_features_of_any_size_give_the_minimum_or_are_refused(analysis, penalty, scale):
    """By mpmath's arithmetic, the gradient is 0: to a hundredth of its terms."""
    features, labels = [0, scale, 2 * scale, 3 * scale], [0, 0, 1, 1]
    try:
        model = analysis(np.transpose([features]), labels, penalty=penalty)
    except ValueError as error:
        assert scale > 1e6 and "features must be scaled" in str(error)
        return
    slope, intercept = map(mpmath.mpf, [model.coef_[0, 0], model.intercept_[0]])
    svm = analysis is weighted_regression.support_vector_machine
    terms = [[penalty * slope], [penalty * intercept * svm]]
    for x, label in zip(features, labels):
        margin = (2 * label - 1) * (slope * x + intercept)
        pull = (2 * max(1 - margin, 0) if svm else 1 / (1 + mpmath.exp(margin))) * (1 - 2 * label) / 4
        terms[0].append(pull * x)
        terms[1].append(pull)
    for each in terms:
        assert abs(sum(each)) <= 0.011 * sum(map(abs, each))


@pytest.mark.parametrize("analysis", ANALYSES)
@pytest.mark.parametrize(
    "weights", [np.full(300, -1.0), np.zeros(300), np.full(300, np.nan), np.ones(299), np.ones((300, 1))]
)
def test_bad_weights_are_refused(analysis, weights):
    features, labels, _ = problem()
    with pytest.raises(ValueError, match="weights"):
        analysis(features, labels, weights)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_bad_features_labels_and_penalties_are_refused(analysis):
    features, labels, _ = problem()
    with pytest.raises(ValueError, match="features"):
        analysis(features[:, 0], labels)
    with pytest.raises(ValueError, match="features"):
        analysis(np.where(features > 2, np.inf, features), labels)
    with pytest.raises(ValueError, match="penalty"):
        analysis(features, labels, penalty=0)
    if analysis is not weighted_regression.linear_regression:
        with pytest.raises(ValueError, match="labels"):
            analysis(features, labels + 1)
        with pytest.raises(ValueError, match="class 0"):
            analysis(features, labels, labels)  # the others weigh nothing
