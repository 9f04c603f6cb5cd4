"""Fit logistic and linear regressions and support vector machines to weighted records (hasegawa2015, section 4.1).

Each function uses scikit-learn to minimize the weighted mean of the records' losses (equation 15).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.extras import extra
from .density_ratio import normalised

MOST_STEPS = 200

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import LinearSVC


def logistic_regression(
    features: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, *, penalty: float = 1e-6
) -> LogisticRegression:
    """Minimize mean_i w_i (-log-likelihood)_i + penalty |gamma|^2 / 2 (hasegawa2015, equations 15 and 16).

    features : (n, p). Raises a ``ValueError`` that asks for scaling if the solver cannot reach the minimum
    labels : (n,), 0 or 1, both present
    weights : (n,), for example density ratios, >= 0 with a positive sum. Only their proportions matter
    penalty : in [1e-12, 1e6]; it does not apply to the intercept. The penalty makes the optimum unique even if features
        add up to a constant, as the one-hot columns of an attribute do. It also makes the optimum finite if the classes
        can be separated. The paper does not give a penalty

    Returns a fitted scikit-learn `LogisticRegression`.

    >>> from lib.microdata.weighted_regression import logistic_regression
    >>> model = logistic_regression([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], penalty=0.1)
    >>> print(model.predict([[0.5], [2.5]]))
    [False  True]
    """
    with extra("classifiers"):
        from sklearn.linear_model import LogisticRegression

    features, labels, weights = _analysed(features, labels, weights)
    penalty = checks.number("penalty", penalty, "[1e-12, 1e6]")
    tol = min(1e-8, 1e-6 * penalty)  # for the gradient, which includes the penalty
    model = LogisticRegression(C=1 / (penalty * len(labels)), solver="newton-cholesky", tol=tol)
    labels = _both(labels, weights)
    with warnings.catch_warnings(action="ignore"):  # convergence is checked below
        model.fit(features, labels, weights)
    signs = np.where(labels, 1.0, -1.0)
    pulls = -signs * weights * scipy.special.expit(-signs * model.decision_function(features)) / len(labels)
    shrinks = penalty * model.coef_[0]
    gradient, terms = pulls @ features + shrinks, np.abs(pulls) @ np.abs(features) + np.abs(shrinks)
    if (np.abs(gradient) > terms / 100).any() or abs(pulls.sum()) > np.abs(pulls).sum() / 100:
        raise _unscaled(features)
    return model


def support_vector_machine(
    features: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, *, penalty: float = 1e-6
) -> LinearSVC:
    """Minimize mean_i w_i (hinge loss)_i^2 + penalty |gamma|^2 / 2: a linear SVM (hasegawa2015, section 4.1).

    Arguments are as for `logistic_regression`; `penalty` also applies to the intercept. Returns a fitted `LinearSVC`.

    >>> from lib.microdata.weighted_regression import support_vector_machine
    >>> model = support_vector_machine([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], penalty=0.1)
    >>> print(model.predict([[0.5], [2.5]]))
    [False  True]
    """
    with extra("classifiers"):
        from sklearn.svm import LinearSVC

    features, labels, weights = _analysed(features, labels, weights)
    penalty = checks.number("penalty", penalty, "[1e-12, 1e6]")
    labels = _both(labels, weights)
    # scikit-learn minimizes C sum_i w_i hinge_i^2 + |gamma|^2 / 2 approximately
    model = LinearSVC(C=1 / (penalty * len(labels)), dual=False).fit(features, labels, weights)
    signed = np.where(labels, 1.0, -1.0)[:, None] * np.column_stack([features, np.ones(len(labels))])
    found = _newton(signed, weights / len(labels), penalty, np.append(model.coef_[0], model.intercept_))
    model.coef_, model.intercept_ = found[None, :-1], found[-1:]
    return model


def linear_regression(
    features: ArrayLike, values: ArrayLike, weights: ArrayLike | None = None, *, penalty: float = 1e-6
) -> Ridge:
    """Minimize mean_i w_i (value_i - prediction_i)^2 + penalty |gamma|^2 (hasegawa2015, section 4.1).

    values : (n,) numbers; other arguments are as for `logistic_regression`

    Returns a fitted scikit-learn `Ridge`.

    >>> from lib.microdata.weighted_regression import linear_regression
    >>> model = linear_regression([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> print(model.predict([[4.0]]).round(3))
    [9.]
    """
    with extra("classifiers"):
        from sklearn.linear_model import Ridge

    features, values, weights = _analysed(features, values, weights)
    penalty = checks.number("penalty", penalty, "[1e-12, 1e6]")
    return Ridge(alpha=penalty * len(values)).fit(features, values, weights)


def _analysed(features, values, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (n, p), values (n,) and weights (n,) of mean 1, all of them finite."""
    features, values = (checks.real(*pair, "[-1e50, 1e50]") for pair in (("features", features), ("values", values)))
    if features.ndim != 2 or len(features) == 0 or values.shape != (len(features),):
        got = f"{features.shape} and {values.shape}"
        raise ValueError(f"features must have shape (n, p) and values (n,), n >= 1, got {got}")
    weights = normalised(np.ones(len(values)) if weights is None else weights)
    if weights.shape != values.shape:
        raise ValueError(f"weights must have shape {values.shape}, one for each record, got {weights.shape}")
    return features, values, weights


def _newton(signed, weights, penalty, found) -> np.ndarray:
    """Return the minimizer of sum_i w_i (1 - m_i)_+^2 + penalty |found|^2 / 2, m = `signed` @ found, by Newton's method."""

    def at(found):
        slack = np.maximum(1 - signed @ found, 0)
        return slack, weights @ slack**2 + penalty / 2 * found @ found

    slack, value = at(found)
    for _ in range(MOST_STEPS):
        gradient = penalty * found - 2 * (weights * slack) @ signed
        active = signed[slack > 0] * np.sqrt(2 * weights[slack > 0, None])
        curvature = active.T @ active + penalty * np.eye(len(found))
        size = np.sqrt(np.diag(curvature))
        step = np.linalg.lstsq(curvature / size / size[:, None], gradient / size)[0] / size
        if gradient @ step <= 1e-9 * value:  # twice the remaining decrease, if the margin keeps its records
            return found
        length = 1.0
        while (after := at(found - length * step))[1] > value - length / 4 * (gradient @ step) and length > 1e-9:
            length /= 2
        found, (slack, value) = found - length * step, after
    raise _unscaled(signed)


def _unscaled(features) -> ValueError:
    largest = np.abs(features).max(axis=0)
    return ValueError(
        "features must be scaled, for instance to [0, 1], for the solver to reach the minimum, got columns whose largest"
        f" absolute values are from {largest.min():g} to {largest.max():g}"
    )


def _both(labels, weights) -> np.ndarray:
    """Return the labels as booleans. Raises ``ValueError`` unless both classes have a positive weight."""
    labels = checks.integer("labels", labels, "[0, 1]").astype(bool)
    for positive in (False, True):
        if not weights[labels == positive].sum() > 0:
            wanted = "a record of each class with a positive weight"
            raise ValueError(f"labels must have {wanted}, got none of class {positive:d}")
    return labels
