"""Rényi divergences against mpmath, brute force and closed forms that share no code."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lib.accounting import divergence
from lib.accounting.divergence import (
    log1pmx,
    psi,
    renyi,
    renyi_discrete,
    renyi_gaussian,
)
from notebooks.studies.lemma_instances import gaussian_moment_on_grid

PROPERTY = settings(derandomize=True, deadline=None, max_examples=40)
seeds = st.integers(0, 2**32 - 1)


def relative_error(value, reference):
    """Return |value - reference| / |reference| where the reference has many digits."""
    return float(abs(mp.mpmathify(value) - reference) / abs(reference))


def random_pair(seed, d):
    """Return two Gaussians in d dimensions, of condition numbers up to some thousands."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(2, d, d)) + 1.5 * np.eye(d)
    cov1, cov2 = factors @ factors.transpose(0, 2, 1) + 0.05 * np.eye(d)
    mean1, mean2 = rng.normal(size=(2, d))
    return mean1, cov1, mean2, cov2


# --- log1pmx and psi -------------------------------------------------------------------------


def test_log1pmx_against_mpmath_over_all_decades():
    rng = np.random.default_rng(1)
    small = 10.0 ** rng.uniform(-150, 0, 400)
    edge = 10.0 ** rng.uniform(-15, 0, 200) - 1
    middle = rng.uniform(-0.99, 3, 400)
    x = np.concatenate([small, -small, edge, middle, 10.0 ** rng.uniform(0, 300, 100)])
    with mp.workdps(350):
        reference = [mp.log1p(mp.mpf(v)) - mp.mpf(v) for v in x]
        worst = max(map(relative_error, log1pmx(x), reference))
    assert worst < 1e-15


def test_log1pmx_of_complex_numbers():
    rng = np.random.default_rng(2)
    z = 10.0 ** rng.uniform(-12, 3, 400) * np.exp(1j * rng.uniform(-1.57, 1.57, 400))
    near_switch = rng.uniform(-0.6, 0.6, 200) + 1j * rng.uniform(-0.6, 0.6, 200)
    circle = np.exp(1j * rng.uniform(1.5, 3.1, 200)) - 1  # |1 + z| = 1: the real part is small
    z = np.concatenate([z, near_switch, circle])
    with mp.workdps(60):
        reference = [mp.log(1 + mp.mpmathify(complex(v))) - mp.mpmathify(complex(v)) for v in z]
        worst = max(map(relative_error, log1pmx(z).tolist(), reference))
    assert worst < 4e-15


def test_log1pmx_at_zero_and_below_the_smallest_square():
    assert log1pmx(0.0) == 0.0
    assert np.all(log1pmx(np.array([1e-300, -1e-300])) == 0.0)
    assert log1pmx([[1, 2]]).shape == (1, 2)
    with pytest.raises(ValueError, match=r"x must be in \(-1, inf\), got -1"):
        log1pmx(-1.0)


ORDERS = [1 + 1e-12, 1 + 1e-6, 1.01, 1.5, 2.0, 4.0, 10.0, 1000.0, 1e6]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ORDERS)
def test_psi_against_mpmath(alpha):
    rng = np.random.default_rng(3)
    size = 10.0 ** rng.uniform(-140, 6, 300)
    t = np.concatenate([size, -size / (1 + size)])
    t = t[alpha * t > -0.9]
    with mp.workdps(350):
        a = mp.mpf(alpha)
        reference = [(a * mp.log1p(mp.mpf(v)) - mp.log1p(a * mp.mpf(v))) / (a - 1) for v in t]
        worst = max(map(relative_error, psi(t, alpha), reference))
    assert worst < 1e-14


def test_psi_limits_and_region():
    t = np.array([-0.9, -0.25, -1e-5, 0.0, 1e-5, 3.0, 1e12])
    with mp.workdps(60):
        at_one = [mp.log1p(mp.mpf(v)) - mp.mpf(v) / (1 + mp.mpf(v)) for v in t]
    nonzero = t != 0
    np.testing.assert_allclose(psi(t, 1.0)[nonzero], np.array(at_one, dtype=float)[nonzero], rtol=1e-14)
    assert psi(0.0, 1.0) == psi(0.0, 7.0) == psi(0.0, np.inf) == 0.0
    np.testing.assert_array_equal(psi(t, np.inf), np.where(t < 0, np.inf, np.log1p(t)))
    assert np.all(psi([1e-300, -1e-300], 5.0) == 0.0)  # about 1e-600, below the smallest double
    for alpha in (2.0, 3.0, 10.0, 1000.0):
        edge = -1 / alpha
        t = np.array([edge * (1 + 1e-15), edge, edge * (1 - 1e-15), edge * (1 - 1e-9)])
        assert list(np.isinf(psi(t, alpha))) == [True, alpha * edge <= -1, False, False]
    with pytest.raises(ValueError, match=r"alpha must be in \[1, inf\], got 0.5"):
        psi(0.1, 0.5)
    with pytest.raises(ValueError, match=r"t must be in \(-1, inf\)"):
        psi(-1.0, 2.0)


# --- renyi_gaussian --------------------------------------------------------------------------


def printed_formula(mean1, cov1, mean2, cov2, alpha):
    """Evaluate Proposition 4.1 as printed, determinants and all, in mpmath's current precision."""
    arrays = (np.asarray(a).tolist() for a in (mean1, cov1, mean2, cov2))
    mean1, cov1, mean2, cov2 = map(mp.matrix, arrays)
    alpha = mp.mpf(float(alpha))
    mixed = (1 - alpha) * cov1 + alpha * cov2
    quadratic = ((mean1 - mean2).T * mp.inverse(mixed) * (mean1 - mean2))[0]
    log_ratio = mp.log(mp.det(mixed) / (mp.det(cov1) ** (1 - alpha) * mp.det(cov2) ** alpha))
    return alpha / 2 * quadratic - log_ratio / (2 * (alpha - 1))


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1 + 1e-9, 1.25, 2.0, 7.0])
def test_renyi_gaussian_equals_the_printed_formula(d, alpha):
    mean1, cov1, mean2, cov2 = random_pair(40 + d, d)
    cov2 = cov1 * 0.9 + cov2 / 4  # Sigma_7 stays positive definite
    with mp.workdps(50):
        reference = printed_formula(mean1, cov1, mean2, cov2, alpha)
    assert relative_error(renyi_gaussian(mean1, cov1, mean2, cov2, alpha), reference) < 1e-12


def test_renyi_gaussian_keeps_tiny_differences():
    """Neighbours among 1e7 records, where determinants agree in all but their last digits."""
    _, cov1, _, _ = random_pair(5, 3)
    x = np.array([0.5, -1.0, 0.25])
    for n in (1e4, 1e7, 1e10):
        cov2 = cov1 * (1 - 1 / n) + np.outer(x, x) / n
        for alpha in (1 + 1e-7, 4.0, 100.0):
            with mp.workdps(80):
                reference = printed_formula(np.zeros(3), cov1, x / n, cov2, alpha)
            value = renyi_gaussian(np.zeros(3), cov1, x / n, cov2, alpha)
            assert relative_error(value, reference) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "variance", "alpha"),
    [(0.5, 2.0, 1.5), (-1.0, 0.75, 3.0), (0.0, 0.5, 1.75), (2.0, 1.0, 6.0)],
)
def test_renyi_gaussian_is_the_integral_of_the_definition(mean, variance, alpha):
    with mp.workdps(50):

        def integrand(x):
            p, q = mp.npdf(x), mp.npdf(x, mean, mp.sqrt(variance))
            return p**alpha * q ** (1 - alpha)

        reference = mp.log(mp.quad(integrand, [-60, -20, -5, 0, 5, 20, 60])) / (alpha - 1)
    assert relative_error(renyi_gaussian(0, 1, mean, variance, alpha), reference) < 1e-13


def test_renyi_gaussian_against_the_trapezoid_rule():
    rng = np.random.default_rng(6)
    for _ in range(20):
        mean, alpha = rng.normal(), rng.uniform(1.05, 4)
        variance = rng.uniform(1 - 0.9 / alpha, 3)
        q = stats.norm(mean, variance**0.5)
        x = np.linspace(-60, 60, 200_001)
        integrand = np.exp(alpha * stats.norm.logpdf(x) + (1 - alpha) * q.logpdf(x))
        expected = np.log(integrate.trapezoid(integrand, x)) / (alpha - 1)
        assert renyi_gaussian(0, 1, mean, variance, alpha) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1.25, 2.0, 7.0])
def test_the_integral_on_a_grid_equals_the_printed_formula(d, alpha):
    mean1, cov1, mean2, cov2 = random_pair(40 + d, d)
    cov2 = cov1 * 0.9 + cov2 / 4  # Sigma_7 stays positive definite
    with mp.workdps(50):
        reference = mp.exp((alpha - 1) * printed_formula(mean1, cov1, mean2, cov2, alpha))
    assert relative_error(gaussian_moment_on_grid(mean1, cov1, mean2, cov2, alpha), reference) < 1e-10
    with pytest.raises(np.linalg.LinAlgError):
        gaussian_moment_on_grid(mean1, cov1, mean2, cov1 / 10, alpha)


def test_the_integral_on_a_grid_refuses_bad_input():
    pair = [0.0], np.eye(1), [1.0], np.eye(1)
    for alpha, half, named in ((1.0, 30, "alpha"), (2.0, 0, "half"), (2.0, 1.5, "half")):
        with pytest.raises(ValueError, match=f"^{named} must"):
            gaussian_moment_on_grid(*pair, alpha, half=half)


@PROPERTY
@given(seeds, st.integers(1, 5), st.floats(1, 3))
def test_invariant_under_affine_maps(seed, d, alpha):
    mean1, cov1, mean2, cov2 = random_pair(seed, d)
    rng = np.random.default_rng(seed + 1)
    a, shift = rng.normal(size=(d, d)) + 2 * np.eye(d), rng.normal(size=d)
    if np.linalg.cond(a) > 100:
        a = np.eye(d)[::-1] * 3.0
    before = renyi_gaussian(mean1, cov1, mean2, cov2, alpha)
    mapped = (a @ mean1 + shift, a @ cov1 @ a.T, a @ mean2 + shift, a @ cov2 @ a.T)
    after = renyi_gaussian(*mapped, alpha)
    assert after == pytest.approx(before, rel=1e-6)


@PROPERTY
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.floats(1, 3))
def test_additive_over_independent_blocks(seed, d, e, alpha):
    first, second = random_pair(seed, d), random_pair(seed + 1, e)
    joined = []
    for x, y in zip(first, second, strict=True):
        zero = np.zeros((d, e))
        both = np.block([[x, zero], [zero.T, y]]) if x.ndim == 2 else np.append(x, y)
        joined.append(both)
    parts = renyi_gaussian(*first, alpha) + renyi_gaussian(*second, alpha)
    assert renyi_gaussian(*joined, alpha) == pytest.approx(parts, rel=1e-8)


@PROPERTY
@given(seeds, st.integers(1, 5))
def test_nonnegative_monotone_and_continuous_at_one(seed, d):
    pair = random_pair(seed, d)
    alphas = np.concatenate([[1, 1 + 1e-10], np.linspace(1.001, 6, 40), [50, 1e4, np.inf]])
    values = renyi_gaussian(*pair, alphas)
    assert values.shape == alphas.shape
    assert values[0] >= 0
    finite = values[np.isfinite(values)]
    assert np.all(np.isinf(values[len(finite) :]))  # once infinite, infinite for all larger orders
    assert np.all(np.diff(finite) >= -1e-12 * finite[1:])
    assert values[1] == pytest.approx(values[0], rel=1e-6)


@PROPERTY
@given(seeds, st.integers(1, 5))
def test_infinite_exactly_outside_the_region(seed, d):
    mean1, cov1, mean2, cov2 = random_pair(seed, d)
    smallest = np.linalg.eigvals(np.linalg.solve(cov1, cov2 - cov1)).real.min()
    if smallest >= 0:
        assert np.all(np.isfinite(renyi_gaussian(mean1, cov1, mean2, cov2, [2.0, 1e3, 1e6])))
        return
    edge = -1 / smallest
    alphas = edge * np.array([1 - 1e-3, 1 - 1e-7, 1 + 1e-7, 1 + 1e-3, 100, np.inf])
    outside = np.isinf(renyi_gaussian(mean1, cov1, mean2, cov2, np.maximum(alphas, 1)))
    assert list(outside) == [False, False, True, True, True, True]


def test_the_edge_itself_is_outside():
    assert np.isinf(renyi_gaussian(0, 2, 1, 1, 2.0))
    assert np.isfinite(renyi_gaussian(0, 2, 1, 1, 2 - 1e-9))
    wide, narrow = np.diag([4.0, 1.0]), np.diag([3.0, 1.0])
    orders = renyi_gaussian([0, 0], wide, [0, 0], narrow, [3.99, 4.0, 4.01])
    assert list(np.isinf(orders)) == [False, True, True]


@PROPERTY
@given(seeds, st.integers(1, 6))
def test_kl_is_the_textbook_formula(seed, d):
    mean1, cov1, mean2, cov2 = random_pair(seed, d)
    inverse, difference = np.linalg.inv(cov2), mean2 - mean1
    log_det = np.linalg.slogdet(cov2)[1] - np.linalg.slogdet(cov1)[1]
    textbook = (np.trace(inverse @ cov1) - d + difference @ inverse @ difference + log_det) / 2
    assert renyi_gaussian(mean1, cov1, mean2, cov2, 1.0) == pytest.approx(textbook, rel=1e-8)


@pytest.mark.slow
def test_max_divergence_is_the_supremum_of_the_log_ratio():
    cov1, cov2 = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[3.0, 0.25], [0.25, 4.0]])
    mean2 = np.array([0.5, -1.0])
    axis = np.linspace(-12, 12, 1201)
    points = np.stack(np.meshgrid(axis, axis), axis=-1)
    p, q = stats.multivariate_normal([0, 0], cov1), stats.multivariate_normal(mean2, cov2)
    supremum = (p.logpdf(points) - q.logpdf(points)).max()
    value = renyi_gaussian([0, 0], cov1, mean2, cov2, np.inf)
    assert supremum <= value + 1e-12
    assert value == pytest.approx(supremum, abs=1e-4)
    assert value == pytest.approx(renyi_gaussian([0, 0], cov1, mean2, cov2, 1e9), rel=1e-6)


def test_max_divergence_where_coordinates_agree():
    assert renyi_gaussian([1, 2], np.eye(2), [1, 2], np.eye(2), np.inf) == 0.0
    assert np.isinf(renyi_gaussian(0, 1, 1e-9, 1, np.inf))
    assert np.isinf(renyi_gaussian(0, 1, 0, 1 - 1e-12, np.inf))
    _, cov, _, _ = random_pair(7, 5)
    v = np.arange(1.0, 6.0)
    size = v @ np.linalg.solve(cov, v)  # one direction differs: t = size / 100, m = sqrt(size) / 10
    cov2 = cov + np.outer(v, v) / 100
    value = renyi_gaussian(np.zeros(5), cov, v / 10, cov2, np.inf)
    assert value == pytest.approx((1 + np.log1p(size / 100)) / 2, rel=1e-10)
    assert np.isinf(renyi_gaussian(np.zeros(5), cov, np.eye(5)[0], cov2, np.inf))


def test_shapes_and_bad_input():
    assert renyi_gaussian(0, 1, 1, 1, [[2.0, 4.0]]).tolist() == [[1.0, 2.0]]
    assert renyi_gaussian([0.0], [[4.0]], [2.0], [[4.0]], 3.0) == pytest.approx(1.5)
    eye = np.eye(2)
    for arguments, message in [
        (((0, 0), eye, (0, 0), eye, 0.9), r"alpha must be in \[1, inf\], got 0.9"),
        (((0, 0), -eye, (0, 0), eye, 2), "cov1 must be positive definite"),
        (((0, 0), eye, (0, 0), [[1, 0.5], [0.2, 1]], 2), "cov2 must be symmetric"),
        (((0, 0), eye, (0, 0), np.eye(3), 2), r"cov2 must have shape \(2, 2\), got \(3, 3\)"),
        (((0, 0), eye, 0, 1, 2), r"mean2 must have shape \(2,\) like mean1, got \(1,\)"),
        (((0, 0), np.ones((2, 2)), (0, 0), eye, 2), "cov1 must be positive definite"),
        (((0, 0), eye, (0, 0), np.diag([1, 1e-17]), 2), "cov2 must not be numerically singular relative to"),
        (((0, 0), [[1, 1], [1, 1 + 1e-14]], (0, 0), eye, 2), "cov1 must not be singular in"),
        ((eye, eye, (0, 0), eye, 2), r"mean1 must have shape \(d,\)"),
        (((0, np.nan), eye, (0, 0), eye, 2), r"mean1 must be in \(-inf, inf\), got nan"),
    ]:
        with pytest.raises(ValueError, match=message):
            renyi_gaussian(*arguments)


def test_wide_spread_of_variances():
    """Variance ratios from 1e-4 to 1e4 at once: no coordinate drowns in another's rounding."""
    ratios = np.array([1e-4, 0.5, 1.0, 7.0, 1e4])
    value = renyi_gaussian(np.zeros(5), np.eye(5), np.zeros(5), np.diag(ratios), 1.0)
    with mp.workdps(50):
        reference = sum(mp.log(mp.mpf(q)) + 1 / mp.mpf(q) - 1 for q in ratios) / 2
    assert relative_error(value, reference) < 1e-12


# --- renyi and renyi_discrete ----------------------------------------------------------------


def normal(mean, variance):
    return lambda x: -((x - mean) ** 2) / (2 * variance) - np.log(2 * np.pi * variance) / 2


def laplace(mean):
    return lambda x: -abs(x - mean) - np.log(2)


@pytest.mark.parametrize("alpha", [1.0, 1.3, 4.0])
@pytest.mark.parametrize(("mean", "variance"), [(1.0, 2.0), (0.1, 1.5), (3.0, 4.0)])
def test_quadrature_of_normal_densities(mean, variance, alpha):
    value, error = renyi(normal(0, 1), normal(mean, variance), alpha)
    expected = renyi_gaussian(0, 1, mean, variance, alpha)
    assert abs(value - expected) <= error < 1e-5


def test_quadrature_keeps_small_divergences():
    value, error = renyi(normal(0, 1), normal(1e-4, 1), 3.0)
    assert value == pytest.approx(1.5e-8, rel=1e-7)
    assert error < 1e-13


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 10.0])
def test_quadrature_of_laplace_densities(alpha):
    """The Laplace mechanism's curve (Mironov 2017, Proposition 6)."""
    expected = np.exp(-1)
    if alpha > 1:
        moment = alpha * np.exp(alpha - 1) + (alpha - 1) * np.exp(-alpha)
        expected = np.log(moment / (2 * alpha - 1)) / (alpha - 1)
    value, error = renyi(laplace(0), laplace(1), alpha, points=(0, 1))
    assert abs(value - expected) <= error < 1e-8


def test_quadrature_on_a_half_line_and_an_interval():
    def exponential(rate):
        return lambda x: np.log(rate) - rate * x

    expected = np.log(2**3 / (3 * 2 - 2 * 1.0)) / 2  # rates 2 and 1, alpha 3
    value, error = renyi(exponential(2.0), exponential(1.0), 3.0, (0, np.inf))
    assert abs(value - expected) <= error < 1e-9
    ramp = renyi(lambda x: np.log(2 * x), lambda x: 0.0, 2.0, (0, 1))
    assert ramp.value == pytest.approx(np.log(4 / 3), abs=ramp.error)


@pytest.mark.slow
def test_quadrature_refuses_what_it_cannot_do():
    assert renyi(normal(0, 2), normal(1, 1), 3.0).value == np.inf

    def pareto(power):
        return lambda x: np.log(power) - (power + 1) * np.log(x)

    assert renyi(pareto(1.0), pareto(4.0), 2.0, (1, np.inf)).value == np.inf
    with pytest.raises(ArithmeticError, match=r"quadrature over \(0, 1\)"):
        renyi(lambda x: np.log1p(0.9 * np.sin(1e7 * x)), lambda x: 0.0, 2.0, (0, 1))
    with pytest.raises(ValueError, match="log_q must integrate to 1 over the support"):
        renyi(normal(0, 1), lambda x: 0.5 - x**2, 2.0)
    with pytest.raises(ValueError, match="log_p must integrate to 1"):
        renyi(normal(40, 1e-6), normal(0, 1), 2.0)  # a peak that the quadrature cannot see
    with pytest.raises(ValueError, match=r"support must be \(low, high\)"):
        renyi(normal(0, 1), normal(0, 1), 2.0, (1, 0))
    with pytest.raises(ValueError, match=r"points must be in \(0, 1\), got 2"):
        renyi(normal(0, 1), normal(0, 1), 2.0, (0, 1), points=[2])


@PROPERTY
@given(seeds, st.integers(2, 30), st.sampled_from([1.0, 1 + 1e-6, 1.5, 3.0, 40.0, np.inf]))
def test_discrete_is_the_sum_of_the_definition(seed, k, alpha):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(k, 2.0), size=2)
    p[0], p[1] = 0.0, p[0] + p[1]
    value = renyi_discrete(p, q, alpha)
    with mp.workdps(60):
        pairs = [(mp.mpf(a), mp.mpf(b)) for a, b in zip(p[1:].tolist(), q[1:].tolist())]
        if alpha == 1:
            reference = sum(a * mp.log(a / b) for a, b in pairs)
        elif np.isinf(alpha):
            reference = max(mp.log(a / b) for a, b in pairs)
        else:
            moment = sum(a**alpha * b ** (1 - mp.mpf(alpha)) for a, b in pairs)
            reference = mp.log(moment) / (mp.mpf(alpha) - 1)
    assert value == pytest.approx(float(reference), rel=1e-8, abs=1e-9)


def test_discrete_corner_cases():
    assert np.all(renyi_discrete([0.5, 0.5], [1.0, 0.0], [1.0, 2.0, np.inf]) == np.inf)
    assert renyi_discrete([1.0, 0.0], [0.5, 0.5], [[1.0, 9.0]]) == pytest.approx(np.log(2))
    assert renyi_discrete([0.3, 0.7], [0.3, 0.7], [1.0, 2.0, 800.0]).tolist() == [0.0, 0.0, 0.0]
    tiny = renyi_discrete([0.5 + 1e-6, 0.5 - 1e-6], [0.5, 0.5], 3.0)
    assert tiny == pytest.approx(6e-12, rel=1e-8)  # alpha/2 chi^2 = 3/2 * 4e-12
    with pytest.raises(ValueError, match="q must sum to 1, got 0.9"):
        renyi_discrete([0.5, 0.5], [0.5, 0.4], 2.0)
    with pytest.raises(ValueError, match="the same shape"):
        renyi_discrete([1.0], [0.5, 0.5], 2.0)


def test_whitening_error_allowance_covers_the_rounding():
    """Integer maps of exact diagonal pairs, so the inputs themselves are exact."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        a = rng.integers(-1, 2, size=(4, 4)) + 5 * np.eye(4)
        t = np.sort(rng.integers(-8, 9, size=4) / 2.0 ** rng.integers(4, 30))
        m = rng.integers(-8, 9, size=4) / 16
        pair = divergence.gaussian_pair(np.zeros(4), a @ a.T, a @ m, a @ np.diag(1 + t) @ a.T)
        assert np.all(np.abs(np.sort(pair.t) - t) <= pair.t_error)
        assert abs(pair.m @ pair.m - m @ m) <= 4 * pair.m_error.max() * np.linalg.norm(m) + 1e-15
