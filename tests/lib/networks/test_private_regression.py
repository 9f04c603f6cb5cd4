"""Private logistic regression: minimizers against scikit-learn, sensitivities and densities of neighbours, audits."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit
from sklearn import linear_model

from lib.attacks import audit
from lib.networks import private_regression
from lib.networks.private_regression import fit, gamma_noise, minimiser, objective_parameters, output_sensitivity

QUICK = settings(derandomize=True, deadline=None, max_examples=100)


def drawn(seed, n, d):
    """Return n vectors of norm 1 or less."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.random((n, 3))
    return features, (rng.random(n) < 1 / (1 + np.exp(4 - 8 * features[:, 0]))).astype(int)


# ---- the minimizer


@pytest.mark.parametrize("regularization", [1e-5, 1e-2, 1.0])
def test_the_model_is_that_of_scikit_learn(regularization):
    """An appended column of ones makes its intercept regularized as ours is."""
    features, labels = data(300)
    ours = fit(features, labels, method="none", regularization=regularization, bound=2.0)
    rows = np.column_stack([features, np.ones(300)]) / 2
    theirs = linear_model.LogisticRegression(
        C=1 / (300 * regularization), fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    coefficients = theirs.fit(rows, labels).coef_[0] / 2
    assert np.allclose([*ours.weights, ours.intercept], coefficients, rtol=1e-4, atol=1e-6)
    assert np.allclose(ours.predict_proba(features), theirs.predict_proba(rows), atol=1e-5)
    assert np.array_equal(ours.predict(features), theirs.predict(rows)) and ours.epsilon == np.inf


@QUICK
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 8), d=st.integers(1, 4), power=st.floats(-4, 1), size=st.floats(0, 100)
)
def test_the_gradient_vanishes(seed, n, d, power, size):
    signed, regularization = drawn(seed, n, d), 10**power
    slope = np.random.default_rng(seed + 1).normal(size=d) * size / n
    w = minimiser(signed, regularization, slope)
    gradient = regularization * w + slope - (signed * expit(-signed @ w)[:, None]).mean(axis=0)
    assert np.linalg.norm(gradient) <= 1e-10 * (1 + np.linalg.norm(slope))


# ---- output perturbation


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), d=st.integers(1, 3), power=st.floats(-3, 1))
def test_replacing_a_record_moves_the_minimiser_by_no_more_than_the_sensitivity(seed, n, d, power):
    both = drawn(seed, n + 1, d)
    moved = minimiser(both[:-1], 10**power) - minimiser(both[1:], 10**power)  # first record for last, order aside
    assert np.linalg.norm(moved) <= output_sensitivity(n, 10**power)


def test_the_sensitivity_is_nearly_attained():
    """All neighbours on a circle, the others pulling the minimizer far away from both records."""
    n, regularization = 2000, 5e-3
    others = np.tile([0.0, 1.0], (n - 1, 1))
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    found = [minimiser(np.vstack([[[np.sin(t), np.cos(t)]], others]), regularization) for t in angles]
    most = max(np.linalg.norm(a - b) for a, b in itertools.combinations(found, 2))
    assert 0.65 * output_sensitivity(n, regularization) < most <= output_sensitivity(n, regularization)


# ---- objective perturbation


def log_density(w, signed, noise_epsilon, regularization):
    """Return the log density of the published w, up to a constant: the density of the noise that leads to it, times the Jacobian."""
    n, d = signed.shape
    s = expit(-signed @ w)
    b = signed.T @ s - n * regularization * w
    jacobian = n * regularization * np.eye(d) + (signed * (s * (1 - s))[:, None]).T @ signed
    return -noise_epsilon * np.linalg.norm(b) / 2 + np.linalg.slogdet(jacobian)[1]


@pytest.mark.slow
@settings(QUICK, max_examples=400)
@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 5), d=st.integers(1, 3), power=st.floats(-4, 1),
    epsilon=st.floats(0.01, 10), size=st.floats(0, 30),
)  # fmt: skip
def test_densities_of_neighbours_differ_by_no_more_than_epsilon(seed, n, d, power, epsilon, size):
    both = drawn(seed, n + 1, d)
    w = np.random.default_rng(seed + 1).normal(size=d) * size
    parameters = objective_parameters(n, 10**power, epsilon)
    first, second = (log_density(w, signed, *parameters) for signed in (both[:-1], both[1:]))
    assert abs(first - second) <= epsilon + 1e-9


@pytest.mark.slow
def test_the_density_is_that_of_what_is_published():
    """One dimension: the distribution of 2000 models against the integral of the density; false alarm 0.1 %."""
    signed, rng = np.array([[1.0], [0.5]]), np.random.default_rng(4)
    noise_epsilon, regularization = objective_parameters(2, 0.2, 1.5)
    models = [minimiser(signed, regularization, gamma_noise(1, 2 / noise_epsilon, rng=rng) / 2)[0] for _ in range(2000)]
    grid = np.linspace(-60, 60, 24_001)
    density = np.exp([log_density(np.array([w]), signed, noise_epsilon, regularization) for w in grid])
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(models, lambda w: np.interp(w, grid, cdf)).pvalue > 1e-3


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_the_budget_of_objective_perturbation_adds_up(epsilon):
    for n, regularization in ((10, 1e-6), (10, 10.0), (40_000, 1e-4)):
        noise_epsilon, raised = objective_parameters(n, regularization, epsilon)
        assert raised >= regularization and noise_epsilon >= epsilon / 2 * (1 - 1e-12)
        assert noise_epsilon + np.log1p(1 / (4 * n * raised)) == pytest.approx(epsilon, rel=1e-12)


# ---- what is read of the records


def tables(n, d):
    """Return records of n rows and d features, as unlike each other as they may be."""
    rng = np.random.default_rng(n + d)
    some = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    extreme = np.resize([1e100, 0.0, 1e-100], (n, 1)) * np.ones(d), 1 - some[1]
    return some, (np.zeros((n, d)), np.zeros(n, int)), (np.ones((n, d)), np.ones(n, int)), extreme


def watched(monkeypatch, features, labels, **options):
    """Return a fit whose noise and minimizer are given: all that is public of it, and the rows that the minimizer got."""
    asked, read, given = [], [], np.random.default_rng(5)
    n, d = features.shape
    noise, found = np.arange(1.0, d + 2), np.linspace(-3, 2, d + 1)

    def drawn(size, scale, *, rng):
        assert rng is given
        asked.append((size, scale))
        return noise

    def minimised(signed, regularization, slope=0.0):
        asked.append((signed.shape, regularization, np.asarray(slope).tolist()))
        read.append(signed)
        return found

    monkeypatch.setattr(private_regression, "gamma_noise", drawn)
    monkeypatch.setattr(private_regression, "minimiser", minimised)
    model = fit(features, labels, rng=given, **options)
    public = asked, model.weights.tolist(), model.intercept, model.method, model.epsilon, model.regularization
    return (*public, given.random()), read


SETTINGS = list(
    itertools.product(
        [(1, 1), (2, 3), (300, 2), (4, 600), (20_000, 3)], [(0.3, 1e-5), (50.0, 0.1)], [None, 1e-3, 1.5, 1e50]
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["output", "objective"])
@pytest.mark.parametrize(("shape", "level", "limit"), [*SETTINGS, ((1_000_001, 1), (0.3, 1e-5), 1.5)], ids=str)
def test_the_records_speak_through_the_minimiser_alone(monkeypatch, method, shape, level, limit):
    """The minimizer gets all rows, up to a million, each shortened separately. The noise and everything else are the same for all records."""
    (n, d), (epsilon, regularization) = shape, level
    bound, public = math.sqrt(d + 1) if limit is None else limit, []
    options = {"epsilon": epsilon, "method": method, "regularization": regularization, "bound": limit}
    for features, labels in tables(n, d):
        told, (rows,) = watched(monkeypatch, features, labels, **options)
        public.append(told)
        longer = np.column_stack([features, np.ones(n)])
        length = np.sqrt((longer**2).sum(axis=1))
        wanted = longer * ((2 * labels - 1) / np.maximum(length, bound))[:, None]
        assert np.allclose(rows, wanted, rtol=1e-12, atol=0) and np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    assert all(told == public[0] for told in public)
    (asked, weights, intercept, *stated), noise, found = public[0], np.arange(1.0, d + 2), np.linspace(-3, 2, d + 1)
    assert stated[:2] == [method, epsilon]
    if method == "output":
        booked = 2 / (n * regularization) + 2e-10 / regularization
        assert asked == [((n, d + 1), regularization, 0.0), (d + 1, pytest.approx(booked / epsilon))]
        found = found + noise
    else:
        (size, scale), (_, raised, slope) = asked
        assert size == d + 1 and raised == stated[2] >= regularization
        assert 2 / scale + np.log1p(1 / (4 * n * raised)) == pytest.approx(epsilon)
        assert np.allclose(slope, noise / n, rtol=1e-12)
    assert np.allclose([*weights, intercept], found / bound, rtol=1e-12)


ROWS = list(itertools.product([(1, 1), (300, 2), (7, 300), (20_000, 4)], [1e-5, 1.0], [0.0, 50.0]))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "regularization", "size"), [*ROWS, ((1_000_001, 1), 1e-5, 50.0)], ids=str)
def test_the_minimiser_is_that_of_all_rows_to_rounding(shape, regularization, size):
    """As objective perturbation counts on it, with a slope and without: for few rows and a million, the same or separable ones."""
    n, d = shape
    slope = np.random.default_rng(9).normal(size=d) * size / n
    for signed in (drawn(n, n, d), np.full((n, d), 1 / np.sqrt(d)), np.zeros((n, d))):
        w = minimiser(signed, regularization, slope)
        gradient = regularization * w + slope - (signed * expit(-signed @ w)[:, None]).mean(axis=0)
        assert np.linalg.norm(gradient) <= 1e-12 * (1 + np.linalg.norm(slope))


@pytest.mark.parametrize("d", [1, 2, 3, 3000])
def test_the_noise_is_spherical_in_any_dimension(d):
    """Kolmogorov-Smirnov of the length and of the part of it in the first half of the coordinates; false alarm 0.2 % in all."""
    rng = np.random.default_rng(6)
    noise = np.array([gamma_noise(d, 0.7, rng=rng) for _ in range(400)])
    length, half = np.linalg.norm(noise, axis=1), (d + 1) // 2
    assert stats.kstest(length, stats.gamma(d, scale=0.7).cdf).pvalue > 1e-3 and (noise != 0).all()
    assert abs((noise > 0).mean() - 0.5) < 3.3 * 0.5 / np.sqrt(noise.size)
    if d > 1:
        part = (noise[:, :half] ** 2).sum(axis=1) / length**2
        assert stats.kstest(part, stats.beta(half / 2, (d - half) / 2).cdf).pvalue > 1e-3


# ---- the whole


@pytest.mark.slow
@pytest.mark.parametrize("method", ["output", "objective"])
def test_an_audit_does_not_refute_epsilon(method):
    """Three records, one of them moved to the opposite corner with the opposite label; false alarm 0.02 %."""

    def audited(epsilon, trials):
        scores = []
        for features, labels in (([[0.0], [0.5], [1.0]], [0, 0, 1]), ([[1.0], [0.5], [1.0]], [1, 0, 1])):
            rng = np.random.default_rng(9)
            models = [fit(features, labels, epsilon, method=method, regularization=0.1, rng=rng) for _ in range(trials)]
            scores.append(np.array([(m.weights[0], m.intercept) for m in models]))
        return [audit.epsilon_lower_bound(*pair, confidence=0.9999) for pair in zip(*(score.T for score in scores))]

    assert not any(found.refutes(1.0) for found in audited(1.0, 1500))
    assert any(found.refutes(1.0) for found in audited(300.0, 400))  # which is not 1


@pytest.mark.parametrize("method", ["output", "objective"])
def test_with_much_data_the_private_model_is_as_good(method):
    features, labels = data(20_000, seed=1)
    test, known = data(5_000, seed=2)
    exact = fit(features, labels, method="none", regularization=1e-3)
    noisy = fit(features, labels, 5.0, method=method, regularization=1e-3, rng=np.random.default_rng(3))
    assert noisy.epsilon == 5.0 and not np.array_equal(noisy.weights, exact.weights)
    assert (noisy.predict(test) == known).mean() > (exact.predict(test) == known).mean() - 0.03


def test_long_rows_are_scaled_down_to_the_bound():
    signed = private_regression._signed(np.array([[3.0, 4.0], [0.1, 0.2]]), np.array([1, 0]), 2.0)
    assert np.linalg.norm(signed[0]) == pytest.approx(1) and np.allclose(signed[1], [-0.05, -0.1, -0.5])
    assert np.allclose(signed[0] / signed[0, 2], [3, 4, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": [[np.nan]] * 2}, r"features must be in \[-1e100, 1e100\], got nan"),
        ({"features": np.zeros((0, 1)), "labels": []}, "features must be a table"),
        ({"labels": [0, 2]}, r"labels must be in \[0, 1\], got 2"),
        ({"labels": [0]}, "labels must have shape .2,., one for each record"),
        ({"epsilon": 0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"epsilon": np.nan}, r"epsilon must be in \(0, inf\), got nan"),
        ({"method": "input"}, "method must be one of 'output', 'objective', 'none', got 'input'"),
        ({"regularization": 0}, r"regularization must be in \(0, inf\), got 0"),
        ({"bound": -1}, r"bound must be in \[1e-100, 1e100\], got -1"),
        ({"rng": None}, "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_input_is_refused(change, message):
    good = {"features": [[0.2], [0.7]], "labels": [0, 1], "epsilon": 1.0, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        fit(**good | change)


def test_without_noise_neither_epsilon_nor_rng_is_needed():
    assert fit([[0.2], [0.7]], [0, 1], method="none").method == "none"
