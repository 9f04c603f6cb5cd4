"""Reconstruction: maxima against scipy's optimizer, gradients against differences, histograms against brute force."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lib.microdata import (
    IterativeBayes,
    KernelDensityRatio,
    LinearDensityRatio,
    Perturbation,
    algorithm_1,
    duality_gap,
    effective_sample_size,
    iterative_bayes,
)
from lib.microdata.density_ratio import NEGLIGIBLE, maximum_likelihood, normalised
from lib.microdata.perturbation import BoundedLaplace, pk_parameters
from lib.numerics import mixing_proportions
from lib.numerics.kernel_matrix import gaussian_kernel

QUICK = settings(derandomize=True, deadline=None, max_examples=25)
MIXED = {"colour": 3, "age": (17, 90), "sex": 2}


def perturbed(n, seed, *, k=3):
    """Return perturbed records of three dependent attributes, and how."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n)
    colour = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    age = 17 + 73 * rng.beta(2 + 3 * sex, 5 - 2 * sex)
    found = pk_parameters(k, n, MIXED)
    return found, found.perturb(np.column_stack([colour, age, sex]), rng=rng)


def best_likelihood(a):
    """Return max sum_i ln (A theta)_i on the simplex, by scipy's SLSQP on theta = positive part: small A only."""
    m = a.shape[1]
    found = optimize.minimize(
        lambda theta: -np.log(a @ theta).mean(),
        np.full(m, 1 / m),
        jac=lambda theta: -(a / (a @ theta)[:, None]).mean(axis=0),
        bounds=[(0, 1)] * m,
        constraints={"type": "eq", "fun": lambda theta: theta.sum() - 1, "jac": lambda theta: np.ones(m)},
        options={"ftol": 1e-14, "maxiter": 1000},
        method="SLSQP",
    )
    return -found.fun * len(a)


# ---------------------------------------------------------------- the mixture solver


def explicit(a):
    return (lambda index: a[:, index]), (lambda r: a.T @ r)


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), m=st.integers(1, 25))
def test_the_mixture_is_at_its_maximum(seed, n, m):
    a = np.random.default_rng(seed).gamma(0.5, size=(n, m)) + 1e-3
    found = mixing_proportions.fit(*explicit(a), np.arange(m)[:: max(1, m // 3)], tol=1e-8, max_iter=50, batch=4)
    assert found.converged and found.gap < 1e-8
    assert found.trace[-1, 0] == pytest.approx(best_likelihood(a), abs=1e-6)
    assert found.theta.min() > 0 and found.theta.sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(found.density, a[:, found.support] @ found.theta)


@pytest.mark.slow
@QUICK
@given(seed=st.integers(0, 10**6))
def test_the_gap_bounds_the_distance_from_the_maximum(seed):
    """This holds at the end of each round, whatever the pool was."""
    a = np.random.default_rng(seed).gamma(0.5, size=(30, 20)) + 1e-3
    found = mixing_proportions.fit(*explicit(a), [0, 1], tol=1e-9, max_iter=50, batch=4)
    best = best_likelihood(a)
    assert (np.diff(found.trace[:, 0]) >= -1e-9).all()
    assert (found.trace[:, 0] + found.trace[:, 1] >= best - 1e-6).all()
    assert (found.trace[:, 0] <= best + 1e-6).all()


def test_copies_among_the_columns_are_no_obstacle():
    a = np.random.default_rng(0).random((50, 3)) + 0.1
    copies = a[:, [0, 0, 1, 2, 2, 2, 1]] * (1 + 1e-13)
    found = mixing_proportions.fit(*explicit(copies), np.arange(7), tol=1e-8, max_iter=10)
    assert found.trace[-1, 0] == pytest.approx(best_likelihood(a), abs=1e-6)


def test_a_record_that_no_component_explains_is_refused():
    with pytest.raises(ValueError, match="row of zeros"):
        mixing_proportions.fit(*explicit(np.array([[0.0, 1], [1, 1]])), [0], tol=0.1, max_iter=3)


# ---------------------------------------------------------------- kernel density ratio


@pytest.mark.slow
@pytest.mark.parametrize("scaling, width", [("range", 0.3), ("range", 1000.0), ("standard", 2.0), ("none", 50.0)])
def test_the_kernel_model_is_at_the_maximum_of_equation_14(scaling, width):
    found, records = perturbed(40, seed=1)
    model = KernelDensityRatio(found, width, scaling=scaling, tol=1e-7).fit(records)
    P, K = found.transitions(records).dense(), model.basis(records).dense()
    a = P @ K / K.sum(axis=0)
    assert model.converged_ and model.gap_ < 1e-7
    assert model.trace_[-1] == pytest.approx(best_likelihood(a), abs=1e-5)
    assert np.log(P @ model.weights_ / 40).sum() == pytest.approx(model.trace_[-1], abs=1e-8)
    assert model.weights_.min() > 0 and model.weights_.mean() == pytest.approx(1, rel=1e-12)
    assert np.allclose(K @ model.alpha_, model.weights_) and model.alpha_.min() >= 0
    assert duality_gap(P, K, model.alpha_) == pytest.approx(model.gap_, abs=1e-7)


def test_kernel_features_are_scaled_as_said():
    found, records = perturbed(30, seed=2)
    onehot = np.column_stack([np.eye(3)[records[:, 0].astype(int)], np.eye(2)[records[:, 2].astype(int)]])
    age = records[:, 1]
    for scaling, column in (("none", age), ("range", (age - 17) / 73), ("standard", (age - age.mean()) / age.std())):
        model = KernelDensityRatio(found, 0.7, scaling=scaling).fit(records)
        points = np.column_stack([onehot, column])
        expected = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 0.7)
        assert np.allclose(model.basis(records).dense(), expected, rtol=1e-9)


def test_columns_join_until_the_pool_is_complete():
    """300 records, a first pool of 100: the certificate looks at all 300 columns."""
    found, records = perturbed(300, seed=3)
    model = KernelDensityRatio(found, 0.01).fit(records)
    assert model.n_iter_ > 1
    P, K = found.transitions(records).dense(), model.basis(records).dense()
    assert duality_gap(P, K, model.alpha_) < 0.01


def test_predictions_are_the_weights_and_scores_the_likelihood():
    found, records = perturbed(50, seed=4)
    for model in (KernelDensityRatio(found, 0.3), LinearDensityRatio(found)):
        model.fit(pd.DataFrame(records, columns=list(MIXED)))
        assert np.allclose(model.predict(records), model.weights_, rtol=1e-9)
        assert model.score(records) == pytest.approx(model.trace_[-1] / 50, rel=1e-10)


def test_the_width_is_the_one_with_the_best_held_out_likelihood():
    """The scores are those of a cross-validation written out here, with parts of 16, 16 and 15 records."""
    found, records = perturbed(60, seed=5)
    widths = [0.01, 0.3, 1000.0]
    model = KernelDensityRatio(found, widths, folds=3, cv_records=47, rng=np.random.default_rng(6)).fit(records)
    parts = np.array_split(records[np.random.default_rng(6).permutation(60)[:47]], 3)
    expected = []
    for width in widths:
        total = 0.0
        for held in range(3):
            rest = np.concatenate([part for index, part in enumerate(parts) if index != held])
            fitted = KernelDensityRatio(found, width).fit(rest)
            dense = np.stack([found.density(parts[held], row[None]) for row in rest], axis=1)
            total += np.log(dense @ fitted.weights_ / len(rest)).sum()
        expected.append(total / 47)
    assert np.allclose(model.scores_, expected, rtol=1e-9)
    assert model.width_ == widths[int(np.argmax(expected))]
    assert np.allclose(model.weights_, KernelDensityRatio(found, model.width_).fit(records).weights_)


# ---------------------------------------------------------------- linear density ratio


def test_the_linear_model_is_the_best_of_all_non_negative_ones():
    """It is compared with SLSQP over affine w with w >= 0 at the corners of the domain, which is w >= 0 on all of it."""
    found, records = perturbed(60, seed=7)
    model = LinearDensityRatio(found, tol=1e-8).fit(records)
    P = found.transitions(records).dense() / 60

    def features(rows):
        return np.column_stack(
            [np.eye(3)[rows[:, 0].astype(int)], (rows[:, 1] - 17) / 73, np.eye(2)[rows[:, 2].astype(int)]]
        )

    corners = features(np.array(list(itertools.product(range(3), (17, 90), range(2))), dtype=float))
    y = features(records)
    a, b = P @ y, y.mean(axis=0)
    best = optimize.minimize(
        lambda alpha: -np.log(a @ alpha).mean(),
        np.full(6, 1 / b.sum()),
        jac=lambda alpha: -(a / (a @ alpha)[:, None]).mean(axis=0),
        constraints=[
            {"type": "eq", "fun": lambda alpha: b @ alpha - 1},
            {"type": "ineq", "fun": lambda alpha: corners @ alpha},
        ],
        options={"ftol": 1e-13, "maxiter": 500},
        method="SLSQP",
    )
    assert model.trace_[-1] == pytest.approx(-60 * best.fun, abs=1e-4)
    assert np.allclose(model.predict(records), y @ best.x, atol=0.02)


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(2, 80))
def test_linear_weights_are_non_negative_everywhere_with_mean_1(seed, n):
    found, records = perturbed(n, seed, k=1.5)
    model = LinearDensityRatio(found).fit(records)
    anywhere = np.array(list(itertools.product(range(3), (17, 40, 90), range(2))), dtype=float)
    assert model.predict(anywhere).min() >= 0 and model.weights_.min() >= 0
    assert model.weights_.mean() == pytest.approx(1, rel=1e-10)
    assert model.converged_ and model.gap_ < 0.01


def test_the_documents_linear_weights_can_be_negative():
    """Algorithm 1 with a standardized column keeps alpha >= 0, but not w >= 0. Here all people are 80 or older: every sixth
    perturbed record has a negative weight, and the likelihood is larger than true densities permit."""
    rng = np.random.default_rng(8)
    found = pk_parameters(1.05, 400, {"sex": 2, "age": (17, 90)})
    records = found.perturb(np.column_stack([rng.integers(2, size=400), rng.uniform(80, 90, 400)]), rng=rng)
    printed = LinearDensityRatio(found, solver="algorithm 1", scaling="standard").fit(records)
    assert printed.alpha_.min() >= 0 and printed.weights_.mean() == pytest.approx(1)
    assert np.mean(printed.weights_ < 0) > 0.15 and math.isnan(printed.gap_)
    certified = LinearDensityRatio(found).fit(records)
    assert certified.weights_.min() >= 0 and certified.trace_[-1] < printed.trace_[-1]


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30), m=st.integers(1, 12))
def test_the_certified_weights_are_the_best_of_any_matrices(seed, n, m):
    rng = np.random.default_rng(seed)
    P, K = rng.gamma(0.5, size=(n, n)) + 1e-3, rng.gamma(0.5, size=(n, m))
    K[:, 0] *= m == 1  # a column of zeros can carry no weight
    alpha, found = maximum_likelihood(P, K, tol=1e-8)
    assert alpha.min() >= 0 and (K @ alpha).mean() == pytest.approx(1)
    live = K[:, K.sum(axis=0) > 0]
    assert np.log(P @ (K @ alpha) / n).sum() == pytest.approx(best_likelihood(P @ (live / live.sum(axis=0))), abs=1e-5)
    assert found.gap < 1e-8
    scaled, _ = maximum_likelihood(7.5 * P, K, tol=1e-8)
    assert np.allclose(P @ (K @ scaled), P @ (K @ alpha), rtol=1e-4)


def test_columns_that_are_not_stored_give_the_same_maximum():
    found, records = perturbed(150, seed=5)
    P, K = found.transitions(records), gaussian_kernel(records / 90, 0.05)
    (lazy, one), (stored, other) = (
        maximum_likelihood(P, K, tol=1e-6),
        maximum_likelihood(P.dense(), K.dense(), tol=1e-6),
    )
    assert one.trace[-1, 0] == pytest.approx(other.trace[-1, 0], abs=2e-6)
    assert np.allclose(K.dense() @ lazy, K.dense() @ stored, rtol=0.01)


@pytest.mark.parametrize("columns", [1, 10, 1000])
@pytest.mark.parametrize("size", [0.1, 1e-120, 1e140])
def test_the_least_width_leaves_the_kernel_its_digits(columns, size):
    """The diagonal is 1. The refusal names the least width, also if squares of the features overflow or underflow."""
    points = size * np.random.default_rng(columns).choice([0.3, 0.7, 1.0], size=(6, columns))
    with pytest.raises(ValueError, match="width must be at least") as refused:
        gaussian_kernel(points, 1e-300)
    least = float(str(refused.value).split()[5]) * (1 + 1e-5)
    assert least < np.inf and np.diag(gaussian_kernel(points, least).dense()) == pytest.approx(np.ones(6), rel=0.0101)


def test_a_kernel_without_its_negligible_entries_gives_the_same_maximum():
    found, records = perturbed(600, seed=5)
    P, K = found.transitions(records), gaussian_kernel(records, 1e-5)
    assert K.thinned(NEGLIGIBLE) is not K
    thinned, one = maximum_likelihood(P, K, tol=1e-6)
    assert duality_gap(P.dense(), K.dense(), thinned) == pytest.approx(one.gap, abs=1e-9) and one.gap < 1e-6


# ---------------------------------------------------------------- Algorithm 1


def test_a_step_of_algorithm_1_is_the_corrected_one():
    rng = np.random.default_rng(9)
    P, K, beta = rng.random((6, 6)), rng.random((6, 4)), 0.01
    b = K.mean(axis=0)
    alpha = np.ones(4) / b.sum()
    trace = [np.log(P @ K @ alpha / 6).sum()]
    for _ in range(3):
        gradient = optimize.approx_fprime(alpha, lambda alpha: np.log(P @ K @ alpha).sum(), 1e-7)
        alpha = alpha + beta * gradient
        alpha = np.maximum(alpha + (1 - b @ alpha) * b / (b @ b), 0)
        alpha /= b @ alpha
        trace.append(np.log(P @ K @ alpha / 6).sum())
    found, found_trace, _ = algorithm_1(P, K, rate=beta, max_iter=3)
    assert np.allclose(found, alpha, rtol=1e-4) and np.allclose(found_trace, trace, rtol=1e-4)


def test_algorithm_1_climbs_and_stays_below_the_certified_maximum():
    found, records = perturbed(100, seed=10)
    best = KernelDensityRatio(found, 0.05, tol=1e-6).fit(records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        printed = KernelDensityRatio(found, 0.05, solver="algorithm 1", max_iter=300).fit(records)
    assert (np.diff(printed.trace_) >= 0).all() and printed.trace_[-1] > printed.trace_[0]
    assert printed.trace_[-1] <= best.trace_[-1] + 1e-6 <= printed.trace_[-1] + printed.gap_ + 2e-6
    assert printed.weights_.mean() == pytest.approx(1) and printed.weights_.min() > 0


def test_algorithm_1_multiplies_operators_as_well_as_arrays():
    found, records = perturbed(50, seed=11)
    model = KernelDensityRatio(found, 0.3).fit(records)
    P, K = found.transitions(records), model.basis(records)
    blocked, dense = algorithm_1(P, K, max_iter=5), algorithm_1(P.dense(), K.dense(), max_iter=5)
    assert np.allclose(blocked[0], dense[0]) and np.allclose(blocked[1], dense[1])


# ---------------------------------------------------------------- iterative Bayes


def test_transitions_between_bins_are_double_integrals():
    one = BoundedLaplace(0, 6, 1.3)
    edges = np.array([0, 0.5, 2, 6.0])
    matrix = iterative_bayes._between_bins(one, edges)
    assert np.allclose(matrix.sum(axis=0), 1, rtol=1e-13)
    for r, s in itertools.product(range(3), repeat=2):
        low, high = edges[r : r + 2]
        area = integrate.quad(lambda v: one.distribution(high, v) - one.distribution(low, v), edges[s], edges[s + 1])[0]
        assert matrix[r, s] == pytest.approx(area / (edges[s + 1] - edges[s]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("accelerated", [True, False])
def test_the_histogram_is_at_the_maximum_of_equation_6(accelerated):
    """The transition matrix of all cells written out, its columns weighed by scipy."""
    found, records = perturbed(120, seed=12)
    bins = {"age": [17, 30, 60, 90]}
    model = IterativeBayes(found, bins=bins, tol=1e-3, max_iter=100_000, accelerated=accelerated).fit(records)
    a, b, c = model._matrices()
    full = np.kron(a, np.kron(b, c))
    ages = np.digitize(records[:, 1], [30, 60])
    cells = (records[:, 0].astype(int) * 3 + ages) * 2 + records[:, 2].astype(int)
    assert model.converged_ and model.shares_.shape == (3, 3, 2)
    assert model.trace_[-1] == pytest.approx(best_likelihood(full[cells]), abs=2e-3)
    assert np.log(full[cells] @ model.shares_.ravel()).sum() == pytest.approx(model.trace_[-1], abs=1e-9)
    counts = np.bincount(cells, minlength=18)
    ratio = model.shares_.ravel()[cells] / counts[cells]
    assert np.allclose(model.weights_, ratio / ratio.mean()) and model.weights_.mean() == pytest.approx(1)


def test_em_never_descends_and_its_first_step_is_bayes_rule():
    found, records = perturbed(200, seed=13)
    model = IterativeBayes(found, bins=5, tol=1e-9, max_iter=200, accelerated=False)
    with pytest.warns(ConvergenceWarning, match="did not converge in 200 steps"):
        model.fit(records)
    assert model.n_iter_ == len(model.trace_) == 200 and (np.diff(model.trace_) >= -1e-9).all()
    one = pk_parameters(3, 100, {"a": 3})
    column = np.repeat([[0.0], [1], [2]], [5, 3, 2], axis=0)
    with pytest.warns(ConvergenceWarning):
        after = IterativeBayes(one, max_iter=2, tol=1e-12, accelerated=False).fit(column).shares_
    matrix = one.mechanisms["a"].density(np.arange(3)[:, None], np.arange(3))
    posterior = matrix / matrix.sum(axis=1, keepdims=True)  # of the original, from a uniform prior
    assert np.allclose(after, np.array([0.5, 0.3, 0.2]) @ posterior)


def test_products_of_attributes_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(14)
    matrices = [rng.random((size, size)) for size in (2, 3, 1, 4)]
    full = np.ones((1, 1))
    for matrix in matrices:
        full = np.kron(full, matrix)
    tensor = rng.random((2, 3, 1, 4))
    assert np.allclose(iterative_bayes._applied(matrices, tensor).ravel(), full @ tensor.ravel())


@pytest.mark.slow
def test_much_data_gives_the_truth_back():
    """300,000 records at k = 3: every method within 0.03 of the share of each colour (some twenty times the sampling
    error of its estimate for iterative Bayes)."""
    rng = np.random.default_rng(15)
    truth = np.array([0.6, 0.3, 0.1])
    found = pk_parameters(3, 300_000, {"colour": 3, "sex": 2})
    records = np.column_stack([rng.choice(3, 300_000, p=truth), rng.integers(2, size=300_000)])
    model = IterativeBayes(found).fit(found.perturb(records, rng=rng))
    assert np.abs(model.shares_.sum(axis=1) - truth).max() < 0.03
    for few in (KernelDensityRatio(found, 0.1), LinearDensityRatio(found)):
        y = found.perturb(records[:3000], rng=rng)
        weights = few.fit(y).weights_
        assert np.abs(np.bincount(y[:, 0].astype(int), weights) / 3000 - truth).max() < 0.1


# ---------------------------------------------------------------- refusals and warnings


def test_too_large_a_histogram_is_refused_with_its_size():
    found = pk_parameters(3, 100, {"a": 1000, "b": (0, 1), "c": 1001})
    with pytest.raises(ValueError, match=r"at most 10,000,000 cells, got 1000 x 10 x 1001 = 10,010,000"):
        IterativeBayes(found).fit(np.zeros((2, 3)))


@pytest.mark.parametrize(
    "bins, message",
    [
        (0, "bins of 'age' must be in"),
        ({"age": [17, 50]}, "edges of 'age' must increase from 17 to 90"),
        ({"age": [17, 50, 50, 90]}, "edges of 'age' must increase"),
        ({"age": [17, 100]}, "edges of 'age' must be in"),
        ({"colour": 3}, "attribute with bins must be one of 'age'"),
    ],
)
def test_bins_that_do_not_fit_are_refused(bins, message):
    found, records = perturbed(10, seed=0)
    with pytest.raises(ValueError, match=message):
        IterativeBayes(found, bins=bins).fit(records)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"width": 0}, r"width must be in \[1e-100, inf\)"),
        ({"width": []}, "width must not be empty"),
        ({"width": [1, 2]}, "rng must be a numpy Generator"),
        ({"width": [1, 2], "rng": np.random.default_rng(0), "folds": 1}, r"folds must be in \[2, 5\]"),
        ({"scaling": "log"}, "scaling must be one of"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"tol": 0}, "tol must be in"),
        ({"max_iter": 0}, "max_iter must be in"),
        ({"rate": -1, "solver": "algorithm 1"}, "rate must be in"),
        ({"perturbation": None}, "perturbation must be a Perturbation"),
    ],
)
def test_parameters_out_of_range_are_refused_when_fitted(change, message):
    found, records = perturbed(10, seed=0)
    with pytest.raises(ValueError, match=message):
        clone(KernelDensityRatio(found)).set_params(**change).fit(records)


def test_records_must_be_perturbed_ones_of_this_perturbation():
    found, records = perturbed(10, seed=0)
    for bad, message in (
        (records[:, :2], "records must have shape"),
        (records + 100, "records of 'colour'"),
        (records[:1], "number of records"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearDensityRatio(found).fit(bad)


def test_bins_that_no_record_can_have_come_from_have_no_share():
    found = Perturbation.from_epsilon(2_000, {"age": (0, 1), "answer": 2})
    model = IterativeBayes(found).fit([[0.05, 0], [0.45, 1]] * 10)
    expected = np.zeros((10, 2))
    expected[0, 0] = expected[4, 1] = 0.5
    np.testing.assert_allclose(model.shares_, expected, atol=1e-3)
    assert model.converged_ and model.weights_ == pytest.approx(np.ones(20), rel=1e-3)
    one = IterativeBayes(Perturbation.from_epsilon(2_000, {"age": (0, 1)})).fit([[0.05]] * 20)  # density 0 far away
    assert one.shares_ == pytest.approx(np.eye(10)[0], abs=1e-3) and one.weights_ == pytest.approx(np.ones(20))


def test_a_constant_column_cannot_be_standardised():
    found, records = perturbed(10, seed=0)
    records[:, 0] = 1  # of a category, which is not scaled
    KernelDensityRatio(found, 1.0, scaling="standard").fit(records)
    records[:, 1] = 20.1  # whose mean is another number
    tiny = Perturbation.from_epsilon(1.0, {"age": (0, 1e-170)})  # whose variance is 0 in floating point
    for one, rows in ((found, records), (tiny, [[0], [1e-170]])):
        with pytest.raises(ValueError, match="records of 'age' must take at least two values"):
            KernelDensityRatio(one, 1.0, scaling="standard").fit(rows)


def test_what_has_not_converged_warns():
    found, records = perturbed(300, seed=3)
    with pytest.warns(ConvergenceWarning, match="KernelDensityRatio did not converge in 1 iterations, gap"):
        model = KernelDensityRatio(found, 0.01, max_iter=1).fit(records)
    assert not model.converged_ and model.gap_ >= 0.01 and model.weights_.mean() == pytest.approx(1)


@QUICK
@given(weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=20).filter(lambda w: sum(w) > 1e-6))
def test_weights_are_normalised_to_mean_1(weights):
    assert normalised(weights).mean() == pytest.approx(1)
    assert 1 - 1e-9 <= effective_sample_size(weights) <= len(weights) + 1e-9


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [1, math.nan], [math.inf, 1], [[1, 2]], []])
def test_weights_that_cannot_be_normalised_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be"):
        normalised(weights)


def test_algorithm_1_refuses_what_it_cannot_normalise():
    P = np.eye(3)
    with pytest.raises(ValueError, match="positive mean to be normalized"):
        algorithm_1(P, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="positive mean to be normalized"):
        algorithm_1(P, np.ones((3, 2)), start=[0, 0])
    with pytest.raises(ValueError, match="densities must be positive"):
        algorithm_1(P, np.array([[1.0, 5], [1, -3], [1, 1]]))
