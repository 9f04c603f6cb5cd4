"""`gaussian_synthesis` against 50-digit arithmetic, brute force over neighbours, and the printed tables."""

import itertools
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from lib import accounting
from lib import gaussian_synthesis as gs
from lib.accounting import divergence
from lib.accounting.hockey_stick import hockey_stick_gaussian
from lib.gaussian_synthesis.releases import _upper_delta, extremal_pair
from notebooks.studies import lemma_instances

# ------------------------------------------------- the printed formulas, digit for digit, in mpmath


def printed_unbounded(n, alpha, d, sigma):
    n, a, d, sigma = map(mpf, (n, alpha, d, sigma))
    tau, more = 4 * d / sigma, n + 1
    if not (n / more < tau and a < min(more, n**2 / (tau * more - n))):
        return mp.inf
    scale = 2 * (a - 1)
    first = (
        a / 2 * tau / (more * (more - a))
        + a * d / scale * mp.log(n / more)
        - d / scale * mp.log(1 - a / more)
        - mp.log(min(1, (1 + a * n * tau / (more * (more - a))) / (1 + tau / more) ** a)) / scale
    )
    second = (
        a / 2 * tau / (n * (n + a) - a * more * tau)
        + a * d / scale * mp.log(more / n)
        - d / scale * mp.log(1 + a / n)
        - mp.log(min(1, (1 - a * more * tau / ((n + a) * n)) / (1 - tau / n) ** a)) / scale
    )
    return max(first, second)


def printed_bounded(n, alpha, d, sigma):
    n, a, d, sigma = map(mpf, (n, alpha, d, sigma))
    tau = 4 * d / sigma
    if n > 1 and not a < n**2 / (tau * (n - 1)):
        return mp.inf
    kappa, scale = (n - 1) * tau / n**2, 2 * (a - 1)
    return a / 2 * tau / (n**2 - a * (n - 1) * tau) + a / scale * mp.log(1 + kappa) - mp.log(1 - a * kappa) / scale


def relative_error(value, reference):
    if mp.isinf(reference) or np.isinf(value):
        return 0.0 if mp.isinf(reference) and np.isinf(value) else np.inf
    return float(abs(mpf(float(value)) - reference) / reference)


def log_uniform(low, high):
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


sizes = log_uniform(1e3, 1e15).map(round)
orders = log_uniform(0.01, 999).map(lambda x: 1 + x)
dimensions = log_uniform(1, 1000).map(round)
sigmas = log_uniform(1e-4, 1)
theorems = pytest.mark.parametrize(
    "function, reference", [(gs.unbounded_epsilon, printed_unbounded), (gs.bounded_epsilon, printed_bounded)]
)


@pytest.mark.slow
@theorems
@settings(derandomize=True, deadline=None, max_examples=400)
@given(n=sizes, alpha=orders, d=dimensions, sigma=sigmas)
def test_printed_formula_to_twelve_digits(function, reference, n, alpha, d, sigma):
    assert relative_error(function(n, alpha, d, sigma), reference(n, alpha, d, sigma)) < 1e-12


@pytest.mark.slow
@theorems
@settings(derandomize=True, deadline=None, max_examples=200)
@given(n=sizes, d=dimensions, sigma=sigmas, gap=log_uniform(1e-14, 0.5), below=st.booleans())
def test_printed_formula_where_its_condition_is_about_to_fail(function, reference, n, d, sigma, gap, below):
    tau = 4 * d / sigma
    limit = n**2 / (tau * (n + 1) - n) if reference is printed_unbounded else n**2 / (tau * (n - 1))
    alpha = limit * (1 - gap if below else 1 + gap)
    if alpha > 1.01:
        assert relative_error(function(n, alpha, d, sigma), reference(n, alpha, d, sigma)) < 1e-10


@theorems
def test_smallest_orders_and_sizes(function, reference):
    for n in (1, 2, 5, 30):
        for alpha in (1 + 1e-9, 1.5):
            for d, sigma in ((1, 1.0), (1, 0.5), (3, 0.9)):
                assert relative_error(function(n, alpha, d, sigma), reference(n, alpha, d, sigma)) < 1e-10


def test_arguments_broadcast_and_scalars_come_back_as_scalars():
    n, alpha = np.array([[10**5], [10**6]]), np.array([2, 4, 7])
    for bound in (
        gs.unbounded_epsilon,
        gs.bounded_epsilon,
        gs.bounded_epsilon_tight,
        gs.bounded_epsilon_joint,
        gs.bounded_epsilon_both,
        gs.unbounded_epsilon_tight,
    ):
        grid = bound(n, alpha, 6, 0.01)
        assert grid.shape == (2, 3)
        assert np.isscalar(bound(10**6, 7, 6, 0.01)) and bound(10**6, 7, 6, 0.01) == grid[1, 2]


@pytest.mark.parametrize(
    "bound",
    [
        gs.unbounded_epsilon,
        gs.bounded_epsilon,
        gs.bounded_epsilon_tight,
        gs.bounded_epsilon_joint,
        gs.bounded_epsilon_both,
        gs.unbounded_epsilon_tight,
    ],
)
@pytest.mark.parametrize(
    "name, value",
    [
        ("n", 0),
        ("n", 2.5),
        ("n", np.inf),
        ("alpha", 1),
        ("alpha", np.nan),
        ("alpha", np.inf),
        ("d", 0),
        ("d", 1.5),
        ("sigma", 0),
        ("sigma", 1.01),
        ("sigma", "a"),
    ],
)
def test_bad_arguments_are_refused_by_name(bound, name, value):
    arguments = {"n": 1000, "alpha": 4, "d": 6, "sigma": 0.01} | {name: value}
    with pytest.raises(ValueError, match=rf"^{name} must be .*in [\[(]"):
        bound(**arguments)


# ------------------------------------------------- printed numbers (independent of this code)


def test_table_1_as_printed():
    n = np.array([1e4, 1e5, 1e6, 1e7])
    assert [f"{x:.6g}" for x in n * gs.unbounded_epsilon(n, 4, 6, 0.01)] == [
        "3535.17",
        "62.5859",
        "5.80644",
        "0.576462",
    ]
    assert [f"{x:.6g}" for x in n * gs.bounded_epsilon(n, 4, 6, 0.01)] == ["6806.72", "3263.22", "3205.81", "3200.58"]


def test_the_improvement_that_the_document_hopes_for():
    n = 10**7
    assert n * gs.bounded_epsilon_tight(n, 4, 6, 0.01) == pytest.approx(1.1525, abs=5e-5)
    # leading terms: n (alpha tau / 2 n^2 + alpha tau^2 / 2 n^2), and half of the second where both eigenvalues share it
    tau = 2400
    assert n * gs.bounded_epsilon_tight(n, 4, 6, 0.01) == pytest.approx(2 * tau / n + 2 * tau**2 / n, rel=1e-2)
    assert n * gs.bounded_epsilon_joint(n, 4, 6, 0.01) == pytest.approx(2 * tau / n + tau**2 / n, rel=1e-2)


# ------------------------------------------------- true neighbours, by brute force


def random_neighbours(seed, d, n):
    """Return a random data set, sometimes in the corners of the cube, and two further records."""
    rng = np.random.default_rng(seed)
    shape = rng.choice([0.2, 1, 5])
    data = rng.beta(shape, shape, (n, d)) * 2 - 1
    if rng.random() < 0.3:
        data[:, 0] = np.where(rng.random(n) < 3 / n, 1, -1)
        data[0, 0], data[1, 0] = 1, -1
    return data, rng.choice([-1.0, 1.0], d), rng.uniform(-1, 1, d)


def true_divergence(first, second, alpha):
    return divergence.renyi_gaussian(*gs.fit(first), *gs.fit(second), alpha)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 4),
    n=st.integers(20, 400),
    alpha=log_uniform(0.05, 30).map(lambda x: 1 + x),
)
def test_every_bound_holds_on_true_neighbours(seed, d, n, alpha):
    data, x, y = random_neighbours(seed, d, n)
    slack = 1e-9

    def sigma_of(first):
        return min(max(gs.smallest_eigenvalue(first), 1e-6), 1 - 1e-12)

    with_x, with_y = np.vstack([data, x]), np.vstack([data, y])
    bound = gs.unbounded_epsilon
    assert true_divergence(data, with_x, alpha) <= bound(n, alpha, d, sigma_of(data)) * (1 + slack) + 1e-12
    assert true_divergence(with_x, data, alpha) <= bound(n, alpha, d, sigma_of(with_x)) * (1 + slack) + 1e-12
    both = gs.unbounded_epsilon_tight(n, alpha, d, sigma_of(data))  # of the smaller one alone
    for pair in ((data, with_x), (with_x, data)):
        assert true_divergence(*pair, alpha) <= both * (1 + slack) + 1e-12
    for bound in (gs.bounded_epsilon, gs.bounded_epsilon_tight, gs.bounded_epsilon_joint):
        assert true_divergence(with_x, with_y, alpha) <= bound(n + 1, alpha, d, sigma_of(with_x)) * (1 + slack) + 1e-12
    both = gs.bounded_epsilon_both(n + 1, alpha, d, min(sigma_of(with_x), sigma_of(with_y)))
    assert true_divergence(with_x, with_y, alpha) <= both * (1 + slack) + 1e-12


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 4),
    n=st.integers(20, 400),
    alpha=log_uniform(0.05, 10).map(lambda x: 1 + x),
)
def test_the_divergence_depends_on_the_mahalanobis_distance_alone(seed, d, n, alpha):
    data, x, _ = random_neighbours(seed, d, n)
    more = np.vstack([data, x])

    (r,) = gs.squared_mahalanobis(data, [x])
    mean, cov = gs.fit(data)
    assert r == pytest.approx((x - mean) @ np.linalg.inv(cov) @ (x - mean), rel=1e-6)
    assert gs.squared_mahalanobis(more, [x])[0] == pytest.approx(n * r / (n + 1 + r), rel=1e-6)  # as the docstring says

    added, removed = gs.divergence_added(n, alpha, d, r), gs.divergence_removed(n, alpha, d, r)
    np.testing.assert_allclose(added, true_divergence(data, more, alpha), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(removed, true_divergence(more, data, alpha), rtol=1e-6, atol=1e-12)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(n=log_uniform(3, 1e6).map(round), alpha=orders, d=st.integers(1, 50), radius=log_uniform(0.1, 1e6))
def test_the_supremum_over_the_distance_sits_at_an_end(n, alpha, d, radius):
    distances = np.linspace(0, radius, 301)
    on_the_way = np.maximum(gs.divergence_added(n, alpha, d, distances), gs.divergence_removed(n, alpha, d, distances))
    supremum = gs.unbounded_epsilon_tight(n, alpha, d, 0.5, radius=radius)
    assert np.max(on_the_way) <= supremum * (1 + 1e-9)
    assert np.isclose(np.max(on_the_way), supremum, rtol=1e-6) or np.isinf(supremum)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(n=sizes, alpha=orders, d=dimensions, sigma=log_uniform(1e-4, 0.999))
def test_each_theorem_improves_on_the_one_before(n, alpha, d, sigma):
    slack = 1 + 1e-12
    assert gs.unbounded_epsilon_tight(n, alpha, d, sigma) <= gs.unbounded_epsilon(n, alpha, d, sigma) * slack
    joint, tight = gs.bounded_epsilon_joint(n, alpha, d, sigma), gs.bounded_epsilon_tight(n, alpha, d, sigma)
    assert joint <= tight * slack and tight <= gs.bounded_epsilon(n, alpha, d, sigma) * slack


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=6))
def test_the_joint_bound_on_both_eigenvalues_holds_in_the_cube(coordinates):
    x, y, centre = np.array(coordinates).T
    difference = np.outer(y - centre, y - centre) - np.outer(x - centre, x - centre)
    assert (np.linalg.eigvalsh(difference) ** 2).sum() <= (4 * len(x)) ** 2 + 1e-9


@settings(derandomize=True, deadline=None)
@given(d=st.integers(1, 6), sigma=st.floats(0.01, 1), seed=st.integers(0, 2**32))
def test_no_record_lies_beyond_the_largest_radius(d, sigma, seed):
    data, corner, _ = random_neighbours(seed, d, 60)
    smallest = gs.smallest_eigenvalue(data)
    if smallest > 1e-3:
        assert gs.squared_mahalanobis(data, [corner])[0] <= gs.largest_radius(d, min(smallest, 1)) * (1 + 1e-9)


PAIRS = [(200, 1, 0.02), (50, 1, 0.9), (60, 2, 0.1), (5000, 2, 0.05), (40_000, 6, 0.01), (1000, 3, 0.2), (1000, 6, 0.5)]


@pytest.mark.parametrize("n, d, sigma", PAIRS)
def test_the_worst_case_neighbours_exist_and_come_close_to_theorem_d(n, d, sigma):
    data, record = gs.worst_case_neighbours(n, d, sigma)
    more = np.vstack([data, record])
    assert data.shape == (n, d) and np.abs(more).max() == 1
    assert min(map(gs.smallest_eigenvalue, (data, more))) >= sigma
    radius = gs.attained_radius(n, d, sigma)
    assert gs.squared_mahalanobis(data, [record])[0] == pytest.approx(radius, rel=1e-9)
    assert 1 - 2 / (n * sigma) < radius / gs.largest_radius(d, sigma) <= 1
    alpha = 1.5
    attained = gs.unbounded_epsilon_attained(n, alpha, d, sigma)
    assert attained == pytest.approx(max(true_divergence(*pair, alpha) for pair in ((data, more), (more, data))))
    assert attained <= gs.unbounded_epsilon_tight(n, alpha, d, sigma)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(n=sizes, alpha=log_uniform(0.01, 30).map(lambda x: 1 + x), d=dimensions, sigma=sigmas)
def test_theorem_g_to_nine_digits(n, alpha, d, sigma):
    """Below order 2 the second of its two terms is the larger one."""
    n_, a, tau = mpf(n), mpf(alpha), 4 * mpf(d) / mpf(sigma)
    kappa = (n_ - 1) * tau / n_**2
    q = kappa / (1 + kappa)
    expected = mp.inf
    if a * q < 1:
        psi = lambda t: (a * mp.log(1 + t) - mp.log(1 + a * t)) / (a - 1)  # noqa: E731
        expected = a * tau / n_**2 / (1 - a * q) / 2 + max(psi(-q), (1 + kappa) ** 2 * psi(kappa)) / 2
    margin = abs(a * q - 1)
    if margin > 1e-6:  # nearer to its end, 1 - alpha q has lost digits
        assert relative_error(gs.bounded_epsilon_both(n, alpha, d, sigma), expected) < 1e-9 / min(float(margin), 1)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=300)
@given(alpha=orders, kappa=st.floats(1e-6, 10), angle=st.floats(0, 1), reach=st.floats(0, 1))
def test_both_eigenvalues_together_stay_below_theorem_g(alpha, kappa, angle, reach):
    """This holds anywhere in the set of (t_1, t_2) that the proof allows."""
    kappa = min(kappa, 0.999 / (alpha - 1))
    s = kappa * np.sqrt(reach) * np.array([np.sin(angle * np.pi / 2), -np.cos(angle * np.pi / 2)])
    t = s / (1 - s)
    if kappa < 1 and t @ t <= kappa**2:
        q = kappa / (1 + kappa)
        bound = max(divergence.psi(-q, alpha), (1 + kappa) ** 2 * divergence.psi(kappa, alpha))
        assert divergence.psi(t, alpha).sum() <= bound * (1 + 1e-9)


@pytest.mark.parametrize("n, gap", [(10**4, 2e-4), (32_561, 1e-4), (10**6, 2e-6), (10**7, 1e-7)])
def test_what_is_left_between_theorem_d_and_pairs_that_exist(n, gap):
    upper, lower = gs.unbounded_epsilon_tight(n, 4, 6, 0.01), gs.unbounded_epsilon_attained(n, 4, 6, 0.01)
    assert lower <= upper <= lower * (1 + gap)


@pytest.mark.parametrize("n, sigma", [(30, 0.1), (40, 0.3), (40, 0.8), (80, 0.1)])
def test_no_table_in_the_corners_exceeds_theorem_d(n, sigma):
    """In two attributes, no pair is above the theorem, and none is much worse than the constructed pair."""
    radii = lemma_instances.radii_of_corner_tables(n, sigma)
    worst = np.max([gs.divergence_added(n, 1.2, 2, radii), gs.divergence_removed(n, 1.2, 2, radii)])
    assert 0.5 * worst < gs.unbounded_epsilon_tight(n, 1.2, 2, sigma) >= worst
    assert gs.unbounded_epsilon_attained(n, 1.2, 2, sigma) >= 0.97 * worst


def test_the_radii_of_corner_tables_are_those_of_the_tables():
    corners = np.array(list(product((-1.0, 1.0), repeat=2)))
    tables = [corners[list(rows)] for rows in combinations_with_replacement(range(4), 5)]
    found = []
    for table in tables:
        pair = table, np.vstack([table, np.ones(2)])
        if min(map(gs.smallest_eigenvalue, pair)) >= 0.3:
            found += list(gs.squared_mahalanobis(table, np.ones((1, 2))))
    np.testing.assert_allclose(np.sort(found), np.sort(lemma_instances.radii_of_corner_tables(5, 0.3)), rtol=1e-9)
    assert len(found) > 3


def test_no_data_set_has_a_neighbour_at_the_largest_eigenvalue():
    """At sigma = 1 all attributes are -1 or 1, each half of the time; a record more leaves less than sigma somewhere."""
    for function in (gs.unbounded_epsilon_tight, gs.unbounded_epsilon_attained):
        with pytest.raises(ValueError, match=r"sigma must be in .* 1\), got 1"):
            function(1000, 2, 3, 1.0)
    data = np.array(list(product((-1.0, 1.0), repeat=3)) * 4)
    assert gs.smallest_eigenvalue(data) == 1
    assert all(gs.smallest_eigenvalue(np.vstack([data, x])) < 1 for x in np.unique(data, axis=0))


def test_worst_case_neighbours_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="sigma must be"):
        gs.worst_case_neighbours(1000, 6, 1.5)
    with pytest.raises(ValueError, match="n must be large enough"):
        gs.worst_case_neighbours(3, 3, 0.33)
    with pytest.raises(ValueError, match="sigma must be below 4 / d"):
        gs.worst_case_neighbours(1000, 6, 0.9)


# ------------------------------------------------- the mechanism


def test_fit_is_the_maximum_likelihood_estimate():
    data = np.random.default_rng(1).uniform(-1, 1, (50, 3))
    mean, cov = gs.fit(data)
    np.testing.assert_allclose(mean, data.mean(axis=0))
    np.testing.assert_allclose(cov, np.cov(data.T, bias=True), atol=1e-15)
    assert gs.smallest_eigenvalue(data) == pytest.approx(min(np.linalg.eigvals(np.cov(data.T, bias=True))))


def uneven(n, d):
    """Return records with an outlier of ten deviations, and in turns an attribute of two values, a constant one, and a copy of another."""
    rng = np.random.default_rng(n)
    data = rng.uniform(-0.1, 0.1, (n, d))
    data[-1] = 0.8
    data[:, 1::4], data[:, 2::4] = np.where(data[:, 1::4] > 0, 0.05, -0.2), 0.25
    data[:, 3::4] = data[:, 0 : d - 3 : 4]
    return data


def reflected(data):
    """Return other records with the same mean and covariance: mirrored, as vectors over the records, in two planes that hold the mean."""
    rng = np.random.default_rng(5)
    for _ in range(2):
        normal = rng.normal(size=len(data))
        normal -= normal.mean()
        data = data - 2 * np.outer(normal, normal @ data) / max(normal @ normal, 1e-9)
    return data


@pytest.mark.slow
@pytest.mark.parametrize("n, d", [*itertools.product([1, 2, 3, 10, 11, 500, 20_001], [1, 4, 40]), (1_000_001, 1)])
def test_records_speak_through_their_mean_and_covariance_alone(n, d):
    """Covariances may be singular. There are any number of draws and up to a million records, also in another order."""
    data, other = uneven(n, d), reflected(uneven(n, d))[::-1]
    assert n < 3 or (np.abs(data - other).max(axis=0) > 1e-4)[np.ptp(data, axis=0) > 0].all()
    for size in (0, 1, n, n + 1, 12_345):
        rngs = [np.random.default_rng(3) for _ in range(2)]
        found, expected = (gs.synthesize(records, size, rng=rng) for records, rng in zip((data, other), rngs))
        assert found.shape == (size, d)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert rngs[0].random() == rngs[1].random()


@pytest.mark.parametrize("n, d", [*itertools.product([1, 2, 500, 20_001], [1, 4, 40])])
@pytest.mark.parametrize("sigma", [0.0, 1e-6, 0.02, 3.0])
def test_the_added_variance_does_not_depend_on_the_records(n, d, sigma):
    """It is sigma in each attribute, constant or not, for few records and many."""
    data, rngs = uneven(n, d), [np.random.default_rng(8) for _ in range(2)]
    mean, cov = gs.fit(data)
    found = gs.synthesize(data, 7, sigma=sigma, rng=rngs[0])
    np.testing.assert_allclose(found, gs.sample(mean, cov + sigma * np.eye(d), 7, rng=rngs[1]), atol=1e-12)
    if d > 2:
        assert (np.ptp(found[:, 2]) > 1e-6) == (sigma > 0)  # a constant attribute stays one if nothing is added


def test_a_bad_variance_is_refused():
    with pytest.raises(ValueError, match=r"sigma must be in \[0, 1e5\], got -1"):
        gs.synthesize(uneven(5, 2), 3, sigma=-1, rng=np.random.default_rng(0))


class Normal:
    """A generator that keeps the normal numbers it draws."""

    def standard_normal(self, size):
        self.drawn = np.random.default_rng(4).standard_normal(size)
        return self.drawn.copy()


@pytest.mark.slow
@pytest.mark.parametrize("d, size", [*itertools.product([1, 3, 40], [1, 2, 1001, 20_001]), (1, 1_000_001), (1000, 2)])
@pytest.mark.parametrize("wide", [0.1, 1.0])
def test_each_draw_is_the_root_of_the_covariance_times_normal_numbers_of_its_own(wide, d, size):
    """Up to 1000 attributes and 10^6 draws; eigenvalues from 1 down to 10^-8 of the largest, and 0; clipped to the cube, which cuts something if it is wide."""
    rng, normal = np.random.default_rng(6), Normal()
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    root = turn * wide * np.resize([1, 0.3, 1e-3, 1e-4, 0], d) @ turn.T
    mean = rng.uniform(-0.3, 0.3, d)
    found = gs.sample(mean, root @ root, size, rng=normal)
    assert normal.drawn.shape == (size, d)
    plain = mean + normal.drawn @ root
    np.testing.assert_allclose(found, np.clip(plain, -1, 1), atol=1e-7)
    assert wide < 1 or size < 1000 or (np.abs(plain) > 1).any()


@pytest.mark.parametrize("data", [np.zeros(3), np.zeros((0, 2)), np.full((3, 2), 1.5), np.full((3, 2), np.nan)])
def test_data_outside_the_cube_or_without_records_are_refused(data):
    with pytest.raises(ValueError, match="data must"):
        gs.fit(data)


# ------------------------------------------------- a whole release


def test_records_needed_is_the_first_that_suffices():
    def cost(n):
        return n * gs.unbounded_epsilon(n, 4, 6, 0.01)

    n = gs.records_needed(1, cost)
    assert cost(n) <= 1 < cost(n - 1)
    roughly = gs.records_needed(1, cost, tolerance=0.01)
    assert cost(roughly) <= 1 and n <= roughly <= 1.011 * n
    assert gs.records_needed(1, lambda n: 1 / n) == 1
    with pytest.raises(ValueError, match="epsilon must be at least"):
        gs.records_needed(1e-20, cost)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 6, 50])
@pytest.mark.parametrize("sigma", [0.001, 0.5, 0.99])
def test_more_real_records_cost_no_more(d, sigma):
    """A statement about n records therefore holds for all data sets of n or more: each bound, and Theorem E, for a fixed release."""
    n = np.unique(np.geomspace(1e3, 1e12, 200).round()).astype(np.int64)
    for bound in (gs.unbounded_epsilon, gs.unbounded_epsilon_tight):
        for alpha in (1.01, 2, 64, 900):
            costs = bound(n, alpha, d, sigma)
            assert np.all(costs[1:] <= costs[:-1] * (1 + 1e-9))
    few, more = (gs.released_epsilon(size, 1e-5, d, sigma, size=1000) for size in (10**7, 10**8))
    assert more <= few


def test_released_dp_is_the_best_of_its_orders():
    n, delta = 10**7, 1e-5
    best = gs.released_dp(n, delta, 6, 0.01, conversion="mironov2017")
    alphas = 1 + np.geomspace(5, 20, 2000)
    by_hand = n * gs.unbounded_epsilon(n, alphas, 6, 0.01) + np.log(1 / delta) / (alphas - 1)
    assert best.epsilon == pytest.approx(by_hand.min(), rel=1e-4)
    assert best.epsilon < 2.721754  # the document's best, at alpha = 10
    one = gs.released_dp(n, delta, 6, 0.01, size=1)
    assert one.epsilon < 1e-3


def test_released_delta_brackets_the_true_pair_and_beats_every_conversion():
    n, d, sigma = 40_000, 3, 0.05
    epsilons = np.array([0.0, 1.0, 3.0])
    lower, upper = gs.released_delta(n, epsilons, d, sigma)
    assert np.all(lower <= upper) and np.all(upper <= lower * 1.001 + 1e-12)
    radius = float(gs.largest_radius(d, sigma))
    added = extremal_pair(n, d + 1, radius)  # a dimension more
    dominating = np.max(
        [hockey_stick_gaussian(*moments(pair), epsilons, count=n).delta for pair in (added, added.swapped())], axis=0
    )
    np.testing.assert_allclose(upper, dominating, rtol=1e-8)
    data, record = gs.worst_case_neighbours(n, d, sigma)
    smaller, larger = gs.fit(data), gs.fit(np.vstack([data, record]))
    true = [hockey_stick_gaussian(*p, *q, epsilons, count=n).delta for p, q in ((smaller, larger), (larger, smaller))]
    np.testing.assert_allclose(lower, np.max(true, axis=0), rtol=1e-6, atol=1e-12)
    curve = n * gs.unbounded_epsilon_tight(n, gs.ORDERS, d, sigma)
    converted = [accounting.rdp_to_delta(gs.ORDERS, curve, epsilon).delta for epsilon in epsilons]
    assert np.all(upper <= converted)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 2**32),
    d=st.integers(1, 3),
    n=st.integers(60, 400),
    size=st.integers(1, 500),
    epsilon=st.floats(0, 5),
)
def test_released_delta_covers_true_neighbours(seed, d, n, size, epsilon):
    data, x, _ = random_neighbours(seed, d, n)
    more = np.vstack([data, x])
    (r,) = gs.squared_mahalanobis(data, [x])
    for first, second in ((data, more), (more, data)):
        true = hockey_stick_gaussian(*gs.fit(first), *gs.fit(second), epsilon, count=size)
        upper = _upper_delta(n, epsilon, d, 0.5, size, r)
        assert true.delta - true.error <= upper + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("radius", [999.0, 1e3, 1e6])
def test_a_record_may_lie_farther_than_there_are_records(radius):
    """The radius is from below the number of records, where the other data set would be singular, to far beyond it."""
    n, d = 1000, 2
    epsilon = gs.released_epsilon(n, 1e-6, d, 0.01, size=500, radius=radius)
    assert 0 < epsilon < np.inf
    assert _upper_delta(n, epsilon, d, 0.01, 500, radius) <= 1e-6


def test_few_records_have_no_pair_that_is_known():
    lower, upper = gs.released_delta(3, 1.0, 3, 0.33)
    assert lower == 0 < upper <= 1


@pytest.mark.slow
def test_released_epsilon_inverts_released_delta():
    epsilon = gs.released_epsilon(10**6, 1e-5, 3, 0.05)
    assert gs.released_delta(10**6, epsilon, 3, 0.05)[1] <= 1e-5 < gs.released_delta(10**6, epsilon - 1e-6, 3, 0.05)[1]
    assert gs.released_epsilon(10**6, 0.99, 3, 0.05) == 0.0
    attained = gs.released_epsilon_attained(10**6, 1e-5, 3, 0.05)
    assert gs.released_delta(10**6, attained, 3, 0.05)[0] >= 1e-5 and epsilon - 1e-4 < attained <= epsilon
    assert gs.released_epsilon_attained(3, 1e-5, 3, 0.33) == 0.0


def test_a_released_epsilon_is_on_the_safe_side_however_large(monkeypatch):
    """For 200 thresholds up to 1e15, where 1e-9 vanishes in rounding; delta falls through 1e-5 exactly there."""
    for root in 10 ** np.random.default_rng(3).uniform(0, 15, 200):
        monkeypatch.setattr(gs.releases, "_upper_delta", lambda n, epsilon, *_: 1e-5 * (1 + (root - epsilon) / root))
        monkeypatch.setattr(
            gs.releases, "released_delta", lambda n, epsilon, *_, **__: [1e-5 * (1 + (root - epsilon) / root)]
        )
        assert gs.released_epsilon_attained(10, 1e-5, 1, 0.1) < root < gs.released_epsilon(10, 1e-5, 1, 0.1)


def moments(pair):
    """Return (mean1, cov1, mean2, cov2) of a pair in normal form."""
    return np.zeros_like(pair.m), np.eye(len(pair.m)), pair.m, np.diag(1 + pair.t)


def test_the_extremal_pair_has_the_divergences_of_theorem_d():
    n, d, radius, alpha = 500, 4, 30.0, 3.0
    pair = extremal_pair(n, d, radius)
    added = divergence.renyi_gaussian(*moments(pair), alpha)
    removed = divergence.renyi_gaussian(*moments(pair.swapped()), alpha)
    assert added == pytest.approx(gs.divergence_added(n, alpha, d, radius), rel=1e-9)
    assert removed == pytest.approx(gs.divergence_removed(n, alpha, d, radius), rel=1e-9)
    with pytest.raises(ValueError, match=r"radius must be in \[0, 1e100\]"):
        extremal_pair(n, d, -1)


def test_samples_do_not_depend_on_the_basis_of_equal_eigenvalues():
    cov = 0.01 * np.eye(4)
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    almost = turned @ cov @ turned.T  # the same matrix, up to rounding
    first = gs.sample(np.zeros(4), cov, 10, rng=np.random.default_rng(1))
    second = gs.sample(np.zeros(4), almost, 10, rng=np.random.default_rng(1))
    np.testing.assert_allclose(first, second, atol=1e-12)


def test_one_attribute_has_finite_divergences_at_large_orders():
    """With d = 1 the Gaussian of n + 1 records may be wider in all directions: then no order is too large."""
    data, record = gs.worst_case_neighbours(100, 1, 0.1)
    pair = data, np.vstack([data, record])
    for alpha in (50.0, 101.0, 300.0):
        r = gs.attained_radius(100, 1, 0.1)
        assert gs.divergence_added(100, alpha, 1, r) == pytest.approx(true_divergence(*pair, alpha), rel=1e-6)
    assert gs.divergence_added(100, 101, 1, 0) == gs.divergence_added(100, 101, 2, r) == np.inf
    assert gs.unbounded_epsilon_tight(100, 101, 1, 0.1) == np.inf
    assert gs.bounded_epsilon_both(10**15, 4, 1000, 1e-30) == np.inf
    with pytest.raises(ValueError, match=r"sigma must be below 4 / d"):
        gs.attained_radius(10**9, 6, 0.7)
