"""Hockey-stick divergences of Gaussians: closed forms in mpmath, and the reported error bound."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.accounting import hockey_stick
from lib.accounting.divergence import renyi_gaussian
from lib.accounting.hockey_stick import hockey_stick_gaussian


def assert_within_bound(result, reference, at_most=np.inf):
    """Assert that |delta - reference| <= error for a scalar result, and that the error is no larger than asked."""
    distance = abs(mp.mpf(float(result.delta)) - reference)
    assert distance <= result.error, (float(distance), result)
    assert result.error <= at_most, result


# --- Closed forms ----------------------------------------------------------------------------


def equal_covariances(mu, epsilon):
    """Return Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang 2018, Theorem 5)."""
    epsilon = mp.mpf(float(epsilon))
    tail = mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
    return mp.ncdf(mu / 2 - epsilon / mu) - tail


def on_the_line(mean, variance, epsilon):
    """Return delta of N(0, 1) against N(mean, variance): {L > eps} lies between or outside two roots."""
    mean, variance, epsilon = (mp.mpf(float(v)) for v in (mean, variance, epsilon))
    a, b = (1 / variance - 1) / 2, -mean / variance
    c = mean**2 / (2 * variance) + mp.log(variance) / 2 - epsilon
    discriminant = b * b - 4 * a * c
    if discriminant <= 0:  # the loss never crosses eps
        return mp.mpf(0) if a < 0 else 1 - mp.exp(epsilon)
    low, high = sorted((-b + sign * mp.sqrt(discriminant)) / (2 * a) for sign in (-1, 1))

    def probability(centre, spread):
        low_z, high_z = (low - centre) / spread, (high - centre) / spread
        if a < 0:
            return mp.ncdf(high_z) - mp.ncdf(low_z)
        return mp.ncdf(low_z) + mp.ncdf(-high_z)

    return probability(0, 1) - mp.exp(epsilon) * probability(mean, mp.sqrt(variance))


def scaled_covariance(freedom, ratio, epsilon):
    """Return delta of N(0, I) against N(0, ratio I): {L > eps} is a chi-square tail with `freedom` degrees."""
    ratio, epsilon, shape = mp.mpf(ratio), mp.mpf(float(epsilon)), mp.mpf(freedom) / 2
    radius = (freedom * mp.log(ratio) - 2 * epsilon) / (1 - 1 / ratio)
    if radius <= 0:
        return mp.mpf(0) if ratio > 1 else 1 - mp.exp(epsilon)

    def probability(square):
        ends = (0, square / 2) if ratio > 1 else (square / 2, mp.inf)
        return mp.gammainc(shape, *ends, regularized=True)

    return probability(radius) - mp.exp(epsilon) * probability(radius / ratio)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1e-6, 1e-3, 0.1, 1.0, 5.0, 40.0])
def test_equal_covariances_down_to_1e_90(mu):
    epsilons = mu * np.array([-50, -3, -0.5, 0, 0.5, 3, 8, 20])
    result = hockey_stick_gaussian(0, 1, mu, 1, epsilons)
    with mp.workdps(800):
        for delta, error, epsilon in zip(*result, epsilons, strict=True):
            reference = equal_covariances(mp.mpf(mu), epsilon)
            assert abs(mp.mpf(delta) - reference) <= error
            if reference > 1e-300:
                assert error <= 1e-10 * reference


@pytest.mark.parametrize("count", [1, 12, 10**7, 10**12])
def test_equal_covariances_in_many_dimensions(count):
    factor = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [-3.0, 2.0, 1.0]])
    whitened = np.array([1.0, -2.0, 0.5]) * 2.0 ** -round(np.log2(count**0.5))
    cov = factor @ factor.T
    with mp.workdps(60):
        mu = mp.sqrt(count * mp.mpf(whitened @ whitened))
        for epsilon in (-1.0, 0.0, 1.0, 20.0):
            result = hockey_stick_gaussian(np.zeros(3), cov, factor @ whitened, cov, epsilon, count)
            reference = equal_covariances(mu, epsilon)
            assert_within_bound(result, reference, at_most=1e-8 * float(reference))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "variance", "epsilon"),
    [
        (0.5, 2.0, 0.1),
        (3.0, 4.0, 2.0),
        (-1.0, 0.5, 0.0),
        (1.0, 1e-12, 0.5),  # 1 + t keeps few digits, and the bound says so
        (0.3, 0.999, 3.0),
        (0.1, 1e6, 6.5),
        (2.0, 0.25, -1.0),
        (0.0, 4.0, -0.25),
    ],
)
def test_one_draw_on_the_line(mean, variance, epsilon):
    """The slowest case: the integrand decays as u^-2.5, and the truncation is reported."""
    result = hockey_stick_gaussian(0, 1, mean, variance, epsilon)
    with mp.workdps(60):
        assert_within_bound(result, on_the_line(mean, variance, epsilon), at_most=1e-7)


@pytest.mark.parametrize(
    ("freedom", "d", "ratio"),
    [
        (10, 5, 1.25),
        (300, 3, 0.875),
        (300, 3, 1.125),
        (10**6, 1, 1 + 2**-10),
        (10**6, 2, 1 - 2**-10),
    ],
)
def test_scaled_covariance_against_chi_square(freedom, d, ratio):
    eye = np.eye(d)
    with mp.workdps(60):
        for epsilon in (-1.0, 0.0, 0.5, 3.0, 6.0):
            result = hockey_stick_gaussian(np.zeros(d), eye, np.zeros(d), ratio * eye, epsilon, freedom // d)
            reference = scaled_covariance(freedom, ratio, epsilon)
            assert_within_bound(result, reference, at_most=1e-9 * float(reference))


@pytest.mark.slow
def test_neighbours_among_ten_million_records():
    """The released set of miura2022: the integral again, in 50 digits and as printed."""
    n, d, t, m = 10**7, 6, 2.4e-4, 2.0**-16
    ratios = np.array([1 + t] + [1 - 1e-7] * (d - 1))
    mean = np.array([m] + [0.0] * (d - 1))
    epsilons = [0.0, 1.0, 4.0]
    result = hockey_stick_gaussian(np.zeros(d), np.eye(d), mean, np.diag(ratios), epsilons, n)

    def reference(epsilon, r):
        def integrand(u):
            z = mp.mpc(r, u)
            first, rest = (1 + (1 + z) * (mp.mpf(q) - 1) for q in ratios[:2])
            moment = z * (1 + z) * mp.mpf(m) ** 2 / first - mp.log(first) - 5 * mp.log(rest)
            moment += (1 + z) * (mp.log(ratios[0]) + 5 * mp.log(ratios[1]))
            return mp.re(mp.exp(n * moment / 2 - z * epsilon) / (z * (1 + z)))

        return mp.quad(integrand, [0, 4, 10, 20, 40], maxdegree=7) / mp.pi

    with mp.workdps(40):
        for delta, error, epsilon, r in zip(*result, epsilons, [1, 3, 10], strict=True):
            exact = reference(epsilon, r)
            assert abs(mp.mpf(delta) - exact) <= error + mp.mpf(10) ** -25
            assert error <= 1e-10 * exact


# --- Structure -------------------------------------------------------------------------------


def test_identical_gaussians():
    epsilons = np.array([[-2.0, -1e-9, 0.0], [1e-9, 3.0, 700.0]])
    cov = [[2.0, 0.3], [0.3, 1.0]]
    delta, error = hockey_stick_gaussian([1, 2], cov, [1, 2], cov, epsilons, 10**6)
    np.testing.assert_array_equal(delta, np.maximum(0.0, -np.expm1(epsilons)))
    assert np.all(error <= 1e-15)


def test_bounded_losses_have_an_end():
    """Beyond the max-divergence delta is 0; below the smallest loss it is 1 - e^eps."""
    top = 8 * renyi_gaussian(0, 1, 1, 4, np.inf)
    offsets = np.array([-1.0, -1e-13, 0.0, 1e-9, 1.0])
    delta, error = hockey_stick_gaussian(0, 1, 1, 4, top + offsets, 8)
    assert delta[0] > 1e-5 > error[0]
    assert np.all(delta[2:] == 0.0) and np.all(error[3:] == 0.0)
    assert np.all(error <= 1e-12)
    delta, error = hockey_stick_gaussian(1, 4, 0, 1, -top - offsets, 8)
    assert delta[0] > -np.expm1(-top - offsets[0])
    np.testing.assert_allclose(delta[2:], -np.expm1(-top - offsets[2:]), rtol=1e-14)
    assert np.all(error <= 1e-12)


def test_count_is_a_product_of_independent_blocks():
    cov2 = np.array([[1.5, 0.25], [0.25, 0.75]])
    mean = np.array([0.5, -0.25])
    epsilons = np.array([-1.0, 0.7, 3.0])
    three = hockey_stick_gaussian([0, 0], np.eye(2), mean, cov2, epsilons, 3)
    blocks = hockey_stick_gaussian(np.zeros(6), np.eye(6), np.tile(mean, 3), np.kron(np.eye(3), cov2), epsilons)
    assert np.all(np.abs(three.delta - blocks.delta) <= three.error + blocks.error)
    assert np.all(three.error < 1e-12) and np.all(np.diff(three.delta) < 0)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(5, 400), st.floats(-2, 6))
def test_error_bound_holds_for_chi_squares(seed, count, epsilon):
    """Ratios and counts at random; in closed form, with an exact change of basis."""
    rng = np.random.default_rng(seed)
    ratio = 1 + float(np.round(rng.uniform(-0.7, 2) / count**0.5 * 2**20)) / 2**20
    basis = rng.integers(-1, 2, size=(2, 2)) + 3 * np.eye(2)
    cov = basis @ basis.T
    result = hockey_stick_gaussian([0, 0], cov, [0, 0], ratio * cov, epsilon, count)
    with mp.workdps(60):
        reference = scaled_covariance(2 * count, ratio, epsilon)
        assert_within_bound(result, reference, at_most=1e-9)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(-3, 6), st.integers(2, 500))
def test_duality_and_chernoff_and_basis(seed, epsilon, count):
    """delta_PQ(eps) - e^eps delta_QP(-eps) = 1 - e^eps; below every Rényi bound; basis-free."""
    rng = np.random.default_rng(seed)
    d = 3
    basis = rng.integers(-1, 2, size=(d, d)) + 4 * np.eye(d)
    scale = 2.0 ** -np.floor(np.log2(count**0.5))
    ratios = 1 + rng.integers(-15, 32, size=d) / 32 * scale
    mean = rng.integers(-16, 17, size=d) / 16 * scale
    zero, eye, cov = np.zeros(d), np.eye(d), basis @ basis.T
    mapped = (zero, cov, basis @ mean, basis @ np.diag(ratios) @ basis.T)
    plain = hockey_stick_gaussian(zero, eye, mean, np.diag(ratios), epsilon, count)
    dual = hockey_stick_gaussian(mean, np.diag(ratios), zero, eye, -epsilon, count)
    other = hockey_stick_gaussian(*mapped, epsilon, count)
    assert abs(plain.delta - other.delta) <= plain.error + other.error
    bounds = plain.error + np.exp(epsilon) * dual.error
    defect = plain.delta - np.exp(epsilon) * dual.delta + np.expm1(epsilon)
    assert abs(defect) <= bounds + 1e-15 * np.exp(max(epsilon, 0))
    alpha = np.linspace(1.1, 30, 50)
    log_chernoff = (alpha - 1) * (count * renyi_gaussian(*mapped, alpha) - epsilon)
    log_chernoff += (alpha - 1) * np.log1p(-1 / alpha) - np.log(alpha)
    assert plain.delta <= np.exp(log_chernoff.min()) * (1 + 1e-9) + plain.error


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("coarse", [1e-1, 1e-3, 1e-6])
def test_bounds_hold_when_the_grid_is_coarse(monkeypatch, mu, coarse):
    """Aliasing and truncation are made visible on purpose, on all three kinds of line."""
    epsilons = np.linspace(-4, 8, 25)
    with mp.workdps(60):
        exact = np.array([float(equal_covariances(mp.mpf(mu), x)) for x in epsilons])
    for aliasing, truncation in ((coarse, 1e-14), (1e-16, coarse)):
        monkeypatch.setattr(hockey_stick, "_ALIASING", np.log(aliasing))
        delta, error = hockey_stick_gaussian(0, 1, mu, 1, epsilons, tolerance=truncation)
        distance = np.abs(delta - exact)
        assert np.all(distance <= error + 1e-15 * exact)
        assert np.any(distance > 1e-4 * coarse * exact)  # there was something to bound


@pytest.mark.slow
def test_against_simulation():
    """Five correlated draws. Three z-tests at 5 standard errors: false alarm below 2e-6."""
    rng = np.random.default_rng(20221024)
    mean2, count = np.array([0.2, -0.1, 0.3]), 5
    cov1 = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 0.8]])
    cov2 = np.array([[1.2, 0.3, 0.1], [0.3, 1.5, 0.0], [0.1, 0.0, 1.0]])
    x = rng.multivariate_normal(np.zeros(3), cov1, size=(200_000, count))

    def log_density(points, cov):
        return -np.einsum("...i,ij,...j", points, np.linalg.inv(cov), points) / 2

    loss = (log_density(x, cov1) - log_density(x - mean2, cov2)).sum(axis=1)
    loss += count / 2 * np.log(np.linalg.det(cov2) / np.linalg.det(cov1))
    for epsilon in (-0.5, 0.0, 1.0):
        samples = np.maximum(-np.expm1(epsilon - loss), 0.0)
        standard_error = samples.std() / len(samples) ** 0.5
        result = hockey_stick_gaussian(np.zeros(3), cov1, mean2, cov2, epsilon, count)
        assert abs(result.delta - samples.mean()) <= 5 * standard_error
        assert result.error < 1e-10


def test_shapes_and_bad_input():
    result = hockey_stick_gaussian(0, 1, 0.5, 1, np.array([[0.0, 1.0], [2.0, 3.0]]))
    assert result.delta.shape == result.error.shape == (2, 2)
    assert np.all(np.diff(result.delta.ravel()) < 0)
    assert hockey_stick_gaussian(0, 1, 0.5, 1, [1.0]).delta[0] == result.delta[0, 1]
    assert np.shape(hockey_stick_gaussian(0, 1, 0.5, 1, 1.0).delta) == ()
    with pytest.raises(ValueError, match=r"count must be in \[1, 1e15\], got 0"):
        hockey_stick_gaussian(0, 1, 1, 1, 0.0, 0)
    with pytest.raises(ValueError, match=r"count must be an integer"):
        hockey_stick_gaussian(0, 1, 1, 1, 0.0, 1.5)
    with pytest.raises(ValueError, match=r"epsilon must be in \(-inf, inf\), got inf"):
        hockey_stick_gaussian(0, 1, 1, 1, np.inf)
    with pytest.raises(ValueError, match="cov2 must be positive definite"):
        hockey_stick_gaussian(0, 1, 1, 0, 1.0)
