"""Regressions of weighted records: a weight is a number of copies, and each fit is at its optimum."""

import itertools
from fractions import Fraction

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


SCALES = [1e-6, 1e-3, 1, 1e3, 1e5, 1e7, 1e8, 1e20, 1e49]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", [0.1, 1e-6, 1e-12])
def test_a_logistic_regression_of_features_of_any_size_is_the_minimum_or_refused(penalty, scale):
    """The gradient is 0 to a hundredth of its terms, by mpmath's arithmetic."""
    features, labels = [0, scale, 2 * scale, 3 * scale], [0, 0, 1, 1]
    try:
        model = weighted_regression.logistic_regression(np.transpose([features]), labels, penalty=penalty)
    except ValueError as error:
        assert scale > 1e6 and "features must be scaled" in str(error)
        return
    slope, intercept = map(mpmath.mpf, [model.coef_[0, 0], model.intercept_[0]])
    pulls = [
        (1 - 2 * label) / (1 + mpmath.exp((2 * label - 1) * (slope * x + intercept))) / 4
        for x, label in zip(features, labels)
    ]
    for terms in ([penalty * slope, *(pull * x for pull, x in zip(pulls, features))], pulls):
        assert abs(sum(terms)) <= 0.011 * sum(map(abs, terms))


def exact_support_vectors(records, penalty):
    """Return the objective, as a function, and its minimum, by solving for each set of records within the margin, in fractions."""
    n, penalty = len(records), Fraction(penalty)

    def objective(t):
        slacks = [max(1 - a * t[0] - b * t[1], 0) for a, b in records]
        return sum(slack**2 for slack in slacks) / n + penalty / 2 * (t[0] ** 2 + t[1] ** 2)

    for within in itertools.product([False, True], repeat=n):
        chosen = [record for record, inside in zip(records, within) if inside]
        (aa, ab, bb), (a, b) = (
            [Fraction(2, n) * sum(x[i] * x[j] for x in chosen) for i, j in ((0, 0), (0, 1), (1, 1))],
            [Fraction(2, n) * sum(x[i] for x in chosen) for i in (0, 1)],
        )
        aa, bb = aa + penalty, bb + penalty
        t = (a * bb - b * ab) / (aa * bb - ab**2), (b * aa - a * ab) / (aa * bb - ab**2)
        if all((1 - x * t[0] - y * t[1] > 0) == inside for (x, y), inside in zip(records, within)):
            return objective, objective(t)
    raise AssertionError


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("penalty", [0.1, 1e-6, 1e-12])
def test_a_support_vector_machine_of_features_of_any_size_is_the_minimum(penalty, scale):
    features, labels = np.array([0.0, 1.0, 2.0, 4.0]) * scale, [0, 1, 0, 1]
    model = weighted_regression.support_vector_machine(features[:, None], labels, penalty=penalty)
    signed = [((2 * label - 1) * Fraction(x), Fraction(2 * label - 1)) for x, label in zip(features, labels)]
    objective, least = exact_support_vectors(signed, penalty)
    found = Fraction(model.coef_[0, 0]), Fraction(model.intercept_[0])
    assert least <= objective(found) <= least * Fraction(1.000001)


@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1])
@pytest.mark.parametrize("kind", ["separable", "rare categories", "weights"])
def test_a_support_vector_machine_is_near_the_minimum(kind, penalty):
    """The objective curves by the penalty at least, so it exceeds its minimum by at most |gradient|^2 / (2 penalty)."""
    rng = np.random.default_rng(7)
    features, weights = rng.random((2_000, 3)), np.ones(2_000)
    labels = (features[:, 0] > 0.5).astype(int)
    if kind != "separable":
        labels = (features[:, 0] + rng.normal(size=2_000) > 0.5).astype(int)
        categories = np.eye(41)[np.minimum(rng.geometric(0.2, size=2_000), 40)]
        features = np.column_stack([features, categories])
    if kind == "weights":
        weights = np.exp(4 * rng.normal(size=2_000)) * (rng.random(2_000) < 0.5)
    model = weighted_regression.support_vector_machine(features, labels, weights, penalty=penalty)
    found = np.append(model.coef_[0], model.intercept_)
    signed = (2 * labels - 1)[:, None] * np.column_stack([features, np.ones(2_000)])
    slack, share = np.maximum(1 - signed @ found, 0), weights / weights.sum()
    gradient = penalty * found - 2 * (share * slack) @ signed
    assert gradient @ gradient / (2 * penalty) <= 1e-4 * (share @ slack**2 + penalty / 2 * found @ found)


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
