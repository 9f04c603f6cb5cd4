"""Theorem H against 50-digit arithmetic, brute-force integrals, and pairs of tables chosen to exceed it."""

import bisect

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from lib import gaussian_synthesis as gs
from lib.accounting import divergence, hockey_stick
from lib.accounting.hockey_stick import hockey_stick_gaussian
from lib.gaussian_synthesis.releases import extremal_pair, regularised_pair
from tests.lib.gaussian_synthesis.test_gaussian_synthesis import log_uniform, moments


def psi(t, a):
    return (a * mpmath.log(1 + t) - mpmath.log(1 + a * t)) / (a - 1)


def directions(n, alpha, d, sigma, others=True):
    """Yield both divergences of Theorem H's pair, from means and variances: Proposition 4.1, coordinate by coordinate."""
    n, a, d, tau = mpf(n), mpf(alpha), int(d), 4 * mpf(d) / mpf(sigma)
    mean, first, rest = mpmath.sqrt(tau) / (n + 1), 1 + n * tau / (n + 1) ** 2, n / (n + 1)
    laws = [(mpf(0), mean, mpf(1), first, 1)] + [(mpf(0), mpf(0), mpf(1), rest, d)] * others
    for swapped in (False, True):
        total = mpf(0)
        for mean1, mean2, var1, var2, times in laws:
            if swapped:
                mean1, mean2, var1, var2 = mean2, mean1, var2, var1
            mixed = (1 - a) * var1 + a * var2
            if mixed <= 0:
                yield mpmath.inf
                break
            logs = (1 - a) * mpmath.log(var1) + a * mpmath.log(var2) - mpmath.log(mixed)
            total += times * (a * (mean2 - mean1) ** 2 / mixed + logs / (a - 1)) / 2
        else:
            yield total


# ------------------------------------------------- the numbers that were computed elsewhere


@pytest.mark.parametrize("n, epsilon, attained", [(32_561, 81.91959, 81.91953), (10**7, 2.159336, 2.159334)])
def test_the_epsilons_that_were_computed_independently(n, epsilon, attained):
    places = 5 if n < 10**6 else 6
    assert round(gs.regularised_released_epsilon(n, 1e-5, 6, 0.01), places) == epsilon
    assert round(gs.regularised_released_epsilon_attained(n, 1e-5, 6, 0.01), places) == attained


def test_the_renyi_epsilons_that_were_computed_independently():
    n = 32_561
    assert f"{n * gs.regularised_epsilon(n, 4, 6, 0.01):.5f}" == "198.50872"
    assert f"{n * gs.regularised_epsilon_attained(n, 4, 6, 0.01):.5f}" == "198.50854"
    assert f"{10**7 * gs.regularised_epsilon(10**7, 4, 6, 0.01):.5f}" == "0.57667"


def test_how_many_records_a_table_of_adults_size_may_release():
    def cost(m):
        return gs.regularised_released_epsilon(32_561, 1e-5, 6, 0.02403, size=m)

    assert bisect.bisect_right(range(1, 1000), 1.0, key=cost) == 115


# ------------------------------------------------- Rényi orders, in many digits


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    n=log_uniform(1, 1e12).map(round),
    alpha=log_uniform(1e-6, 1e6).map(lambda x: 1 + x),
    d=log_uniform(1, 60).map(round),
    sigma=log_uniform(1e-4, 240),
)
def test_the_closed_form_is_the_divergence_of_the_pair_rounded_up(n, alpha, d, sigma):
    with mpmath.workdps(60):
        exact = max(directions(n, alpha, d, sigma))
        corner = max(directions(n, alpha, d, sigma, others=False))
        upper, lower = gs.regularised_epsilon(n, alpha, d, sigma), gs.regularised_epsilon_attained(n, alpha, d, sigma)
        assert exact <= upper <= exact * (1 + mpf(1e-14))
        assert corner * (1 - mpf(1e-14)) <= lower <= corner
    assert 0 < lower <= upper


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-15])
@pytest.mark.parametrize("n, d, sigma", [(1, 1, 4.0), (20, 1, 1.0), (20, 1, 80.0), (999, 50, 0.01), (10**7, 6, 0.01)])
def test_each_direction_is_finite_up_to_its_last_order_and_keeps_its_digits_there(n, d, sigma, gap):
    """The last order is n + 1 when a record is added, and 1 + (n + 1)^2 / (n tau) when it is removed."""
    with mpmath.workdps(60):
        removed = 1 + (n + 1) ** 2 * mpf(sigma) / (n * 4 * d)
        for end in (n + 1, removed):
            below, above = float(end * (1 - mpf(gap))), float(end * (1 + mpf(gap)))
            for alpha in (below, above):
                exact = max(directions(n, alpha, d, sigma))
                found = gs.regularised_epsilon(n, alpha, d, sigma)
                assert exact <= found <= exact * (1 + mpf(1e-14)), (alpha, found, exact)
                corner = max(directions(n, alpha, d, sigma, others=False))
                found = gs.regularised_epsilon_attained(n, alpha, d, sigma)
                assert corner * (1 - mpf(1e-14)) <= found <= corner
            assert gs.regularised_epsilon(n, above, d, sigma) == np.inf
        assert np.isfinite(gs.regularised_epsilon(n, float(min(n + 1, removed) * (1 - mpf(gap))), d, sigma))


def test_few_records_and_no_promise_have_no_finite_order_below_the_first():
    assert gs.regularised_epsilon(1, 2.0, 1, 4.0) == np.inf  # alpha = n + 1
    assert gs.regularised_epsilon(1, 1.5, 1, 4.0) < np.inf
    assert gs.regularised_epsilon_attained(1, 2.0, 1, 4.0) < np.inf  # one coordinate, that grows


@pytest.mark.parametrize("name", ["regularised_epsilon", "regularised_epsilon_attained"])
@pytest.mark.parametrize(
    "parameter, value, permitted",
    [("n", 0, "[1, 1e30]"), ("n", 2.5, "[1, 1e30]"), ("alpha", 1, "(1, 1e100]"), ("d", 0, "[1, 1e30]"),
     ("sigma", 0, "[1e-30, 1e30]"), ("sigma", np.nan, "[1e-30, 1e30]")],
)  # fmt: skip
def test_bad_arguments_are_refused_with_name_value_and_range(name, parameter, value, permitted):
    arguments = {"n": 1000, "alpha": 4, "d": 6, "sigma": 0.01} | {parameter: value}
    with pytest.raises(ValueError) as refused:
        getattr(gs, name)(**arguments)
    assert str(refused.value).startswith(f"{parameter} must be") and permitted in str(refused.value)
    assert str(refused.value).endswith(f"got {value:g}")


@pytest.mark.parametrize("n, d, sigma, alpha", [(30, 1, 0.9, 1.7), (5, 1, 3.0, 2.5), (200, 3, 0.4, 4.0)])
def test_the_closed_form_is_the_integral_of_the_two_densities(n, d, sigma, alpha):
    """The integral is computed by adaptive quadrature on the line, one coordinate at a time."""
    pair, total = regularised_pair(n, d, sigma), np.zeros(2)

    def log_normal(mean, variance):
        return lambda x: -((x - mean) ** 2) / variance / 2 - np.log(2 * np.pi * variance) / 2

    for mean, t in zip(pair.m, pair.t):
        laws = log_normal(0, 1), log_normal(mean, 1 + t)
        total += [divergence.renyi(*laws, alpha).value, divergence.renyi(*laws[::-1], alpha).value]
    assert gs.regularised_epsilon(n, alpha, d, sigma) == pytest.approx(total.max(), rel=1e-8)


# ------------------------------------------------- the theorem itself


def table_pair(rng):
    """Return a table, a record and an added variance: at random, or near the worst pair in one of several ways."""
    d, n = int(rng.integers(1, 5)), int(np.exp(rng.uniform(0, 6)))
    sigma = float(np.exp(rng.uniform(np.log(1e-3), np.log(8 * d))))
    corner = rng.choice([-1.0, 1.0], d)
    kind = rng.integers(6)
    if kind == 0:
        data, record = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, d)
    elif kind == 1:  # corners, of unequal weight
        data, record = np.where(rng.random((n, d)) < rng.random(d), 1.0, -1.0), corner
    else:  # nearly constant in a corner, and a record in the opposite one
        spread = [0, 1e-6, 1e-2, 0.3][kind - 2]
        data = np.clip(-corner + spread * rng.normal(size=(n, d)), -1, 1)
        record = corner
        if rng.random() < 0.3 and n > 1:
            data[: int(rng.integers(1, n))] *= np.where(rng.random(d) < 0.5, -1, 1)
    return data, record, sigma


def two_laws(data, record, sigma):
    """Return (mean, covariance) of the records drawn from each of the two tables, with sigma added."""
    fits = (gs.fit(table) for table in (data, np.vstack([data, record])))
    return [(mean, cov + sigma * np.eye(len(mean))) for mean, cov in fits]


@pytest.mark.slow
def test_no_pair_of_tables_costs_more_and_some_cost_nearly_as_much():
    rng, nearest, checked = np.random.default_rng(36), 0.0, 0
    for _ in range(600):
        data, record, sigma = table_pair(rng)
        (n, d), (p, q) = data.shape, two_laws(data, record, sigma)
        last = min(n + 1, 1 + (n + 1) ** 2 * sigma / (n * 4 * d))
        alpha = 1 + (last - 1) * rng.uniform(0.01, 0.99)
        bound = gs.regularised_epsilon(n, alpha, d, sigma)
        true = max(divergence.renyi_gaussian(*p, *q, alpha), divergence.renyi_gaussian(*q, *p, alpha))
        assert true <= bound * (1 + 1e-9), (n, d, sigma, alpha)
        nearest, checked = max(nearest, true / bound), checked + np.isfinite(bound)
    assert nearest > 0.999 and checked > 580


@pytest.mark.slow
def test_no_release_from_a_pair_of_tables_exceeds_the_delta():
    rng, nearest = np.random.default_rng(37), 0.0
    for _ in range(150):
        data, record, sigma = table_pair(rng)
        (n, d), (p, q) = data.shape, two_laws(data, record, sigma)
        size, epsilon = int(rng.integers(4, 40)), rng.exponential(3 / n)
        lower, upper = gs.regularised_released_delta(n, epsilon, d, sigma, size=size, tolerance=1e-5)
        both = [hockey_stick_gaussian(*way, epsilon, size, tolerance=1e-5) for way in (p + q, q + p)]
        assert max(each.delta - each.error for each in both) <= upper
        assert lower <= upper
        nearest = max(nearest, max(each.delta for each in both) / upper)
    assert nearest > 0.999


@settings(derandomize=True, deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_one_channel_sends_the_pair_to_the_laws_of_both_tables(seed):
    """The proof: A A^T is at most I, and A maps means and covariances to those in the coordinates of the first table."""
    data, record, sigma = table_pair(np.random.default_rng(seed))
    (n, d), (p, q) = data.shape, two_laws(data, record, sigma)
    values, axes = np.linalg.eigh(p[1])
    whiten = (axes / np.sqrt(values)) @ axes.T
    w = whiten @ (record - p[0])
    rest = np.eye(d) - sigma * np.linalg.inv(p[1])
    values, axes = np.linalg.eigh(rest)
    channel = np.column_stack([w / np.sqrt(4 * d / sigma), axes * np.sqrt(np.maximum(values, 0))])
    noise = np.eye(d) - channel @ channel.T
    assert np.linalg.eigvalsh(noise).min() >= -1e-9
    pair = regularised_pair(n, d, sigma)
    np.testing.assert_allclose(channel @ pair.m, whiten @ (q[0] - p[0]), atol=1e-9)
    sent = channel @ np.diag(1 + pair.t) @ channel.T + noise
    np.testing.assert_allclose(sent, whiten @ q[1] @ whiten, atol=1e-8 * max(1, np.abs(sent).max()))


@pytest.mark.parametrize("n, d, sigma", [(1, 1, 1.0), (50, 3, 0.2), (400, 6, 30.0)])
def test_the_corner_tables_attain_the_lower_bounds(n, d, sigma):
    p, q = two_laws(-np.ones((n, d)), np.ones(d), sigma)
    alpha = 1 + 0.5 * (n + 1) ** 2 * sigma / (n * 4 * d)
    true = max(divergence.renyi_gaussian(*p, *q, alpha), divergence.renyi_gaussian(*q, *p, alpha))
    assert gs.regularised_epsilon_attained(n, alpha, d, sigma) == pytest.approx(true, rel=1e-9)
    epsilons = np.array([0.0, 0.01, 0.3])
    true = np.max([hockey_stick_gaussian(*way, epsilons, 20).delta for way in (p + q, q + p)], axis=0)
    np.testing.assert_allclose(gs.regularised_released_delta(n, epsilons, d, sigma, size=20)[0], true, rtol=1e-6)


# ------------------------------------------------- (epsilon, delta), in many digits


def integral(n, d, sigma, epsilon, size, others=True):
    """Return the larger delta of the two directions in 50 digits: the inversion integral of K on a line through its saddle point."""
    n, tau = mpf(n), 4 * mpf(d) / mpf(sigma)
    first, mean = n * tau / (n + 1) ** 2, tau / (n + 1) ** 2
    found = []
    for swapped in (False, True):
        laws = [(first, mean, 1), (-1 / (n + 1), mpf(0), d)][: 1 + others]
        if swapped:
            laws = [(-t / (1 + t), m / (1 + t), times) for t, m, times in laws]

        def exponent(z, laws=laws):
            terms = (
                times * (z * (1 + z) * m / (1 + (1 + z) * t) + (1 + z) * mpmath.log1p(t) - mpmath.log(1 + (1 + z) * t))
                for t, m, times in laws
            )
            return size * mpmath.fsum(terms) / 2 - z * epsilon

        high = min([-1 / t - 1 for t, *_ in laws if t < 0] + [mpf(10) ** 15])
        height = lambda r: mpmath.re(exponent(r)) - mpmath.log(r * (1 + r))  # noqa: E731, B023
        low, top = mpf(10) ** -12, high * (1 - mpf(10) ** -12)
        for _ in range(60):  # the saddle point, by sections of the logarithm
            left, right = low * (top / low) ** (mpf(1) / 3), low * (top / low) ** (mpf(2) / 3)
            low, top = (low, right) if height(left) < height(right) else (left, top)
        r = low
        step = (mpmath.diff(height, r, 2)) ** mpf(-0.5)
        peak = height(r)
        value = lambda u: mpmath.re(  # noqa: E731
            mpmath.exp(exponent(r + 1j * u) - peak) / ((r + 1j * u) * (1 + r + 1j * u))  # noqa: B023
        )
        nodes = [step * mpf(x) for x in (0, 2, 5, 12, 40)]
        # 24 nodes in each part: a thousand of the tanh-sinh rule give the same 17 digits in all cases below
        whole = mpmath.quad(value, nodes, method="gauss-legendre", maxdegree=4)
        found.append(whole / mpmath.pi * mpmath.exp(peak))
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n, d, sigma, size, epsilon",
    [
        (10**12, 50, 0.5, 10**12, 0.01),  # as many records as there were
        (10**12, 1, 4.0, 10**15, 1e-4),
        (10**12, 6, 1e-3, 10**12, 0.3),
        (10**15, 6, 0.01, 10**15, 1e-3),
        (32_561, 6, 0.01, 32_561, 60.0),
        (32_561, 6, 0.01, 115, 12.0),
        (10**7, 6, 0.01, 10**7, 18.0),  # delta below 1e-200
        (100, 50, 2.0, 400, 30.0),
        (3, 2, 8.0, 300, 25.0),
        (1, 1, 4.0, 300, 40.0),
    ],
)
def test_delta_is_that_of_the_pair_in_fifty_digits(n, d, sigma, size, epsilon):
    lower, upper = gs.regularised_released_delta(n, epsilon, d, sigma, size=size)
    with mpmath.workdps(50):
        exact = integral(n, d, sigma, epsilon, size)
        corner = integral(n, d, sigma, epsilon, size, others=False)
        assert exact <= upper <= exact * (1 + mpf(1e-6)), (float(exact), upper)
        assert corner * (1 - mpf(1e-6)) <= lower <= corner, (float(corner), lower)


def noncentral_law(k, centre):
    """Return the distribution function of a noncentral chi-square with k degrees of freedom, in mpmath."""

    def below(x):
        if x <= 0:
            return mpf(0)
        terms = lambda j: (  # noqa: E731
            mpmath.exp(-centre / 2 + j * mpmath.log(centre / 2) - mpmath.loggamma(j + 1))
            * mpmath.gammainc(mpf(k) / 2 + j, 0, x / 2, regularized=True)
        )
        return mpmath.fsum(terms(mpf(j)) for j in range(int(centre) + 80))

    return below


def by_chi_squares(n, d, sigma, epsilon, size, swapped):
    """Return delta of the corner pair: the loss is a quadratic in each draw, so {L > epsilon} is a ball, or what lies outside it."""
    n, tau = mpf(n), 4 * mpf(d) / mpf(sigma)
    t, m = n * tau / (n + 1) ** 2, mpmath.sqrt(tau) / (n + 1)
    # log(q/p) of size draws = t/(2 (1+t)) S + constant, S the sum of (z + m/t)^2
    constant = -size * (m**2 / t + mpmath.log(1 + t)) / 2
    level = (-epsilon if not swapped else epsilon) - constant
    square = max(level * 2 * (1 + t) / t, mpf(0))
    under_p = noncentral_law(size, size * (m / t) ** 2)(square)
    under_q = noncentral_law(size, size * (m + m / t) ** 2 / (1 + t))(square / (1 + t))
    if swapped:
        return (1 - under_q) - mpmath.exp(epsilon) * (1 - under_p)
    return under_p - mpmath.exp(epsilon) * under_q


@pytest.mark.slow
@pytest.mark.parametrize(
    "n, d, sigma, size, epsilon",
    [
        (1, 1, 4.0, 12, 0.5),
        (20, 2, 1.0, 30, 1.0),
        (20, 2, 1.0, 30, 0.0),
        (50, 6, 24.0, 64, 0.3),
        (400, 1, 0.02, 40, 2.0),
    ],
)
def test_the_corner_pair_has_the_deltas_of_noncentral_chi_squares(n, d, sigma, size, epsilon):
    with mpmath.workdps(50):
        exact = max(by_chi_squares(n, d, sigma, epsilon, size, swapped) for swapped in (False, True))
        lower, upper = gs.regularised_released_delta(n, epsilon, d, sigma, size=size)
        assert exact * (1 - mpf(1e-7)) - mpf(1e-15) <= lower <= exact <= upper


@pytest.mark.parametrize(
    "n, d, sigma, size", [(1, 1, 1.0, 1), (1, 50, 0.5, 1), (2, 3, 1e-3, 5), (10, 1, 4.0, 2), (10, 2, 240.0, 1)]
)
def test_bounds_of_few_records_are_probabilities_in_order(n, d, sigma, size):
    epsilons = np.array([0.0, 0.1, 1.0, 10.0])
    lower, upper = gs.regularised_released_delta(n, epsilons, d, sigma, size=size, tolerance=1e-5)
    assert np.all(lower >= 0) and np.all(lower <= upper) and np.all(upper <= 1)
    assert np.all(np.diff(upper) <= 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-30, 1e-200])
def test_epsilon_inverts_delta_down_to_tiny_ones(delta):
    epsilon = gs.regularised_released_epsilon(10**7, delta, 6, 0.01)
    attained = gs.regularised_released_epsilon_attained(10**7, delta, 6, 0.01)
    lower, upper = gs.regularised_released_delta(10**7, epsilon, 6, 0.01)
    assert lower <= upper <= delta < gs.regularised_released_delta(10**7, epsilon - 1e-8, 6, 0.01)[1]
    assert gs.regularised_released_delta(10**7, attained, 6, 0.01)[0] >= delta
    assert epsilon * (1 - 2e-6) < attained <= epsilon
    assert gs.regularised_released_epsilon(10**7, 0.99, 6, 0.01) == 0


def test_a_delta_near_the_smallest_double_is_not_refused():
    epsilon = gs.regularised_released_epsilon(10**7, 1e-306, 6, 0.01)
    assert gs.regularised_released_delta(10**7, epsilon, 6, 0.01)[1] <= 1e-306
    assert gs.regularised_released_delta(10**7, epsilon * (1 - 1e-6), 6, 0.01)[1] > 1e-306


@pytest.mark.slow
@pytest.mark.parametrize("n, d, sigma, size, most", [(2, 2, 0.5, 1, 1.3e6), (10**5, 2, 0.05, 2, 2.5e6)])
def test_the_epsilon_of_few_records_needs_few_nodes_and_little_more(n, d, sigma, size, most, monkeypatch):
    """A fine tolerance, or a search by differences of delta, needs more nodes; a coarse tolerance gives a larger epsilon."""
    delta, nodes, trapezoid = 1e-5, [], hockey_stick._trapezoid
    monkeypatch.setattr(hockey_stick, "_trapezoid", lambda *words: nodes.append(words[-1]) or trapezoid(*words))
    epsilon = gs.regularised_released_epsilon(n, delta, d, sigma, size=size)
    assert sum(nodes) < most
    _, at = gs.regularised_released_delta(n, epsilon, d, sigma, size=size, tolerance=1e-6)
    _, before = gs.regularised_released_delta(n, epsilon * (1 - 2e-5), d, sigma, size=size, tolerance=1e-6)
    assert at <= delta < before


def test_the_exact_law_is_never_worse_than_the_best_renyi_order():
    for n, d, sigma, size in ((10**6, 6, 0.01, 10**6), (32_561, 6, 0.024, 115), (10**5, 1, 0.5, 10**5)):
        through_orders = gs.released_dp(n, 1e-6, d, sigma, size=size, bound=gs.regularised_epsilon).epsilon
        assert gs.regularised_released_epsilon(n, 1e-6, d, sigma, size=size) <= through_orders


def test_extreme_arguments_of_a_release_are_refused_in_words():
    with pytest.raises(ValueError, match=r"n must be in \[1, 1e15\], got 1e\+16"):
        gs.regularised_released_delta(1e16, 1.0, 6, 0.01)
    with pytest.raises(ValueError, match=r"sigma must be in \[1e-30, 1e30\], got 0"):
        gs.regularised_released_epsilon(1000, 1e-5, 6, 0.0)
    with pytest.raises(ArithmeticError, match="too far apart"):
        gs.regularised_released_delta(10, 1.0, 6, 1e-20)


def test_the_pair_keeps_the_digits_of_many_records():
    """At 1e15 records, 1 + t would keep none of the digits of t, for means and for variances."""
    for pair in (extremal_pair(10**15, 3, 2.5), regularised_pair(10**15, 2, 4.0)):
        assert pair.t[1] == pytest.approx(-1e-15, rel=1e-14, abs=0)
        assert pair.swapped().t[1] == pytest.approx(1e-15, rel=1e-14, abs=0)
        assert np.all(pair.t_error <= 1e-14 * np.abs(pair.t) * 3)
        m, t = pair.swapped().swapped()[:2]
        np.testing.assert_allclose([m, t], pair[:2], rtol=1e-14)
    assert moments(regularised_pair(10, 1, 4.0))[3].shape == (2, 2)
