"""Perturbation and Pk-anonymity: densities against quadrature, levels against enumeration, samplers against their law."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lib.microdata.perturbation import (
    BoundedLaplace,
    Perturbation,
    RetentionReplacement,
    matching_posteriors,
    pk_epsilon,
    pk_level,
    pk_parameters,
)
from lib.numerics import kernel_matrix

QUICK = settings(derandomize=True, deadline=None, max_examples=60)
MIXED = {"colour": 3, "age": (17, 90), "sex": 2, "balance": (-5.0, 1.0)}


def mixed_records(n, rng):
    columns = [rng.integers(3, size=n), rng.uniform(17, 90, n), rng.integers(2, size=n), rng.uniform(-5, 1, n)]
    return np.column_stack(columns)


# ---------------------------------------------------------------- retention-replacement


def test_retention_replacement_has_the_probabilities_of_equation_1():
    one = RetentionReplacement(4, 0.3)
    matrix = one.density(np.arange(4)[:, None], np.arange(4))
    assert np.allclose(matrix, 0.3 * np.eye(4) + 0.7 / 4, rtol=1e-15)


@pytest.mark.parametrize("size, rho", [(2, 0.0), (2, 0.4), (5, 0.9), (15, 0.03)])
def test_retention_replacement_epsilon_is_the_worst_ratio_of_all(size, rho):
    one = RetentionReplacement(size, rho)
    matrix = one.density(np.arange(size)[:, None], np.arange(size))
    assert one.epsilon == pytest.approx(np.log(matrix[:, :, None] / matrix[:, None, :]).max(), abs=1e-14)


@QUICK
@given(epsilon=st.floats(0, 30), size=st.integers(2, 200))
def test_retention_replacement_from_epsilon_is_the_inverse(epsilon, size):
    """Near epsilon = 30, rho is so close to 1 that its rounding shows."""
    found = RetentionReplacement.from_epsilon(epsilon, size).epsilon
    assert found == pytest.approx(epsilon, rel=1e-4 if epsilon > 25 else 1e-6, abs=1e-12)


def test_a_large_epsilon_for_many_categories_has_a_mechanism():
    assert RetentionReplacement.from_epsilon(745, 10**300).epsilon <= 745


def test_densities_beyond_a_double_are_refused():
    change = Perturbation({name: BoundedLaplace(0, 1e-300, 1e-300) for name in "ab"})
    for call in (change.density, change.transitions):
        with pytest.raises(ValueError, match="densities of at most 1e308"):
            call([[0, 0.0]], [[0, 0.0]])


# ---------------------------------------------------------------- bounded Laplace

LAPLACES = [
    BoundedLaplace(0, 6, 1.3),
    BoundedLaplace(-1, 1, 0.05),
    BoundedLaplace(0, 5000, 11_000),
    BoundedLaplace(2, 3, math.inf),
]


@pytest.mark.parametrize("one", LAPLACES)
def test_bounded_laplace_density_is_equation_2_with_the_integral_of_equation_3(one):
    for share in (0, 0.2, 0.5, 1):
        v = one.low + share * (one.high - one.low)
        outputs = np.linspace(one.low, one.high, 7)
        if math.isinf(one.phi):
            expected = np.full(7, 1 / (one.high - one.low))
        else:
            pieces = sorted({one.low - v, 0.0, one.high - v})
            gamma = mpmath.quad(lambda z: mpmath.exp(-abs(z) / one.phi) / (2 * one.phi), pieces)
            expected = np.exp(-np.abs(outputs - v) / one.phi) / (2 * one.phi * float(gamma))
        assert np.allclose(one.density(outputs, v), expected, rtol=1e-10)


@pytest.mark.parametrize("one", LAPLACES)
def test_bounded_laplace_distribution_is_the_integral_of_its_density(one):
    for v in (one.low, 0.3 * one.low + 0.7 * one.high, one.high):
        for y in np.linspace(one.low, one.high, 5):
            area = integrate.quad(lambda z: one.density(z, v), one.low, y, points=[v], limit=200, epsabs=1e-12)[0]
            assert one.distribution(y, v) == pytest.approx(area, abs=1e-9)
        assert one.distribution(one.high, v) == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize("one", LAPLACES[:3])
def test_bounded_laplace_epsilon_is_the_worst_ratio_normaliser_included(one):
    """No ratio on a fine grid is above (b - a)/phi, and the ends of the range attain it."""
    grid = np.linspace(one.low, one.high, 121)
    log_density = np.log(one.density(grid[:, None], grid))
    ratios = log_density.max(axis=1) - log_density.min(axis=1)
    assert ratios.max() == pytest.approx(one.epsilon, rel=1e-12)
    assert ratios.argmax() in (0, 120)
    exact = Fraction(one.high - one.low) / Fraction(one.phi)
    assert exact <= one.epsilon <= exact * (1 + Fraction(1, 2**52))


@QUICK
@given(width=st.floats(0.01, 40), u=st.floats(0, 1), v=st.floats(0, 1), y=st.floats(0, 1))
def test_no_ratio_of_bounded_laplace_densities_exceeds_its_level(width, u, v, y):
    one = BoundedLaplace(0, 1, 1 / width)
    assert np.log(one.density(y, u) / one.density(y, v)) <= one.epsilon + 1e-9


class Uniform:
    """A generator that draws the given numbers: the sampler as a function."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def random(self, shape):
        return np.broadcast_to(self.values, shape)

    def integers(self, high, size):
        return np.full(size, high - 1)


@pytest.mark.parametrize("one", LAPLACES)
def test_the_sampler_inverts_the_distribution_function(one):
    uniform = np.linspace(0, 1, 101)
    for v in (one.low, (one.low + 2 * one.high) / 3, one.high):
        draws = one.perturb(np.full(101, v), rng=Uniform(uniform))
        assert np.allclose(one.distribution(draws, v), uniform, rtol=0, atol=1e-9)
        assert (np.diff(draws) >= 0).all()


@pytest.mark.parametrize(
    ("epsilon", "size", "n"),
    [*itertools.product([0.01, 1.2, 8.0, 20.0, 36.0], [2, 3, 5000], [1, 70_001]), (36.0, 3, 1_000_001)],
)
def test_a_category_is_kept_if_a_uniform_number_of_double_precision_is_below_rho(epsilon, size, n):
    """The numbers are next to rho, which may be closer to 1 than every number of single precision."""
    one = RetentionReplacement.from_epsilon(epsilon, size)
    for uniform in (0, one.rho - 2.0**-53, one.rho, one.rho + 2.0**-53, 1 - 2.0**-53):
        if uniform < 1:
            draws = one.perturb(np.zeros(n), rng=Uniform(uniform))
            assert (draws == (0 if uniform < one.rho else size - 1)).all()


# ---------------------------------------------------------------- what a draw reads, and its law, for any number of records

ALARM = 1e-3  # of each of the tests below, their seeds fixed
ALONE = [RetentionReplacement(2, 0.4), RetentionReplacement(5000, 0.3), *LAPLACES, BoundedLaplace(-3, 3, 1e-3)]

PATHS = [ALONE[1], LAPLACES[0], next(one for one in LAPLACES if math.isinf(one.phi))]  # one for each way to draw


def ends(one):
    return (0, one.size - 1) if isinstance(one, RetentionReplacement) else (one.low, one.high)


def mixed_values(one, n, rng):
    """Return values that are in turns both ends, the middle, and a number past it, a fifth each; the rest are random."""
    low, high = ends(one)
    values = np.resize([low, high, (low + high) // 2, np.ceil((low + 2 * high) / 3), 0], n).astype(float)
    values[4::5] = rng.uniform(low, high, n)[4::5]
    return values if isinstance(one, BoundedLaplace) else np.rint(values)


def uniforms(one, draws, values, rng):
    """Return where each draw lies in its law given the value: these numbers are uniform if the law is right."""
    if isinstance(one, BoundedLaplace):
        return one.distribution(draws, values)
    own, others = one.density(0, 0), one.density(1, 0)
    past = (draws - values) % one.size  # 0 for the own category, which comes first
    return np.where(past == 0, 0, own + (past - 1) * others) + rng.random(draws.shape) * np.where(
        past == 0, own, others
    )


def least_doubt(uniform, groups):
    """Return the smallest p-value, times their number, that the numbers (..., cells) are uniform and independent; too even counts as well.

    Chi-squared over 20 bins for each of the `groups` of cells, and for the means along any of the axes, but for few numbers.
    """
    chances = []
    for group in np.unique(groups):
        found = uniform[..., groups == group].ravel()
        chances.append(stats.chisquare(np.histogram(found, 20, (0, 1))[0]).pvalue)
    axes = range(uniform.ndim)
    for gone in itertools.chain.from_iterable(itertools.combinations(axes, count) for count in axes[1:]):
        together = math.prod(uniform.shape[axis] for axis in gone)
        if together >= 10:
            scores = (uniform.mean(axis=gone) - 0.5) * math.sqrt(12 * together)
            chances.append(stats.chi2.sf((scores**2).sum(), scores.size))
    return 2 * len(chances) * min(min(p, 1 - p) for p in chances)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "n"), [*itertools.product(ALONE, [1, 2, 999, 70_001]), *((one, 1_000_001) for one in PATHS)], ids=repr
)
def test_a_draw_depends_on_its_own_value_alone(one, n, monkeypatch):
    """With the generator fixed; whatever the values, it has moved as far. In a table the draws are those in a row. Another state of the
    generator gives other draws, also for the last thousand of a million records, and no other
    generator is made."""
    values = mixed_values(one, n, np.random.default_rng(1))

    def draw(values, seed=2):
        rng = np.random.default_rng(seed)
        with monkeypatch.context() as alone:
            alone.setattr(np.random, "default_rng", None)
            return one.perturb(values, rng=rng), rng.random()

    of_others = [draw(np.full(n, end)) for end in ends(one)]
    before, stands = draw(values)
    assert n < 999 or not np.array_equal(draw(values, 4)[0][-999:], before[-999:])
    kinds = np.random.default_rng(3).random(n) < 0.5, np.arange(n) == 0, np.arange(n) == n - 1
    for kept in kinds if n < 10**6 else kinds[:1]:
        for end, (all_alike, stands_there) in zip(ends(one), of_others):
            after, stands_after = draw(np.where(kept, values, end))
            assert np.array_equal(after[kept], before[kept]) and np.array_equal(after[~kept], all_alike[~kept])
            assert stands == stands_there == stands_after
    assert np.array_equal(draw(values.reshape(-1, 1 if n % 3 else 3))[0].ravel(), before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "calls", "n"),
    [
        *((one, *size) for one in ALONE for size in ((2000, 20), (300, 1500), (20, 70_001))),
        *((one, 2, 1_000_001) for one in PATHS),
    ],
    ids=repr,
)
def test_draws_have_their_law_and_are_independent_for_any_number_of_values(one, calls, n):
    """Each end, the middle and others, in the first half of up to a million records and in the second."""
    rng = np.random.default_rng(5)
    values = mixed_values(one, n, rng)
    draws = np.array([one.perturb(values, rng=rng) for _ in range(calls)])
    if isinstance(one, BoundedLaplace):
        assert one.phi < 0.01 or len(np.unique(draws)) == draws.size
    uniform = uniforms(one, draws, values, rng)
    assert least_doubt(uniform, np.arange(n) % 5 + 5 * (np.arange(n) >= n // 2)) > ALARM


# ---------------------------------------------------------------- Pk-anonymity


def printed_level(perturbation, n):
    """Evaluate equation (4), factor by factor."""
    product = 1.0
    for one in perturbation.mechanisms.values():
        if isinstance(one, RetentionReplacement):
            product *= ((1 - one.rho) / (1 + (one.size - 1) * one.rho)) ** 2
        else:
            product *= math.exp(-2 * abs(one.high - one.low) / one.phi)
    return 1 + (n - 1) * product


@pytest.mark.slow
@QUICK
@given(
    k=st.floats(1.001, 1000), n=st.integers(1000, 10**7), shares=st.lists(st.floats(0.01, 10), min_size=4, max_size=4)
)
def test_parameters_have_the_level_asked_for(k, n, shares):
    for split in ("equal", dict(zip(MIXED, shares))):
        found = pk_parameters(k, n, MIXED, split)
        assert pk_level(found, n) == pytest.approx(k, rel=1e-9)
        assert printed_level(found, n) == pytest.approx(k, rel=1e-9)
        assert found.epsilon == pytest.approx(pk_epsilon(k, n), rel=1e-9)
    assert np.allclose(found.epsilons / found.epsilon, np.array(shares) / sum(shares), rtol=1e-6)


def test_the_levels_of_the_document_as_local_epsilon():
    """Computed by hand, they are 4.502, 4.156, 3.750 and 2.903 on 16,281 records."""
    assert [round(pk_epsilon(k, 16_281), 3) for k in (3, 5, 10, 50)] == [4.502, 4.156, 3.750, 2.903]
    assert np.ptp(pk_parameters(3, 16_281, MIXED).epsilons) < 1e-12
    assert pk_epsilon(math.nextafter(1e9, 0), 10**9) == pytest.approx(
        2.0**-24 / (10**9 - 1), rel=1e-12, abs=0
    )  # k near n


def test_k_equal_to_n_leaves_nothing_of_the_records():
    found = pk_parameters(50, 50, MIXED)
    assert found.epsilon == 0 and found.mechanisms["colour"].rho == 0 and found.mechanisms["age"].phi == math.inf


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 20.0])
def test_a_total_level_is_shared_as_asked(epsilon):
    equal = Perturbation.from_epsilon(epsilon, MIXED)
    assert list(equal.attributes) == list(MIXED) and np.allclose(equal.epsilons, epsilon / len(MIXED))
    halves = Perturbation.from_epsilon(epsilon, MIXED, dict(colour=2, age=1, sex=1, balance=0))
    assert dict(zip(MIXED, halves.epsilons)) == pytest.approx(
        dict(colour=epsilon / 2, age=epsilon / 4, sex=epsilon / 4, balance=0)
    )


def test_an_attribute_without_a_share_is_drawn_afresh():
    found = pk_parameters(3, 50, MIXED, dict(colour=1, age=0, sex=1, balance=0))
    assert found.mechanisms["age"].phi == math.inf and found.epsilon == pytest.approx(pk_epsilon(3, 50))


def posteriors(densities):
    """Return Pr[person i holds row r], (N, N), from p(y_r | x_i): over all matchings of persons to rows."""
    n = len(densities)
    likely = np.zeros((n, n))
    for matching in itertools.permutations(range(n)):
        likely[range(n), matching] += math.prod(densities[range(n), matching])
    return likely / likely.sum(axis=1, keepdims=True)


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6))
def test_matching_posteriors_are_those_over_all_permutations(seed, n):
    rng = np.random.default_rng(seed)
    densities = rng.exponential(size=(n, n)) ** 3 * (rng.random((n, n)) < 0.8) + np.eye(n) * 1e-3
    found = matching_posteriors(densities * rng.exponential(size=(n, 1)) * 1e-80)
    assert np.allclose(found, posteriors(densities), rtol=1e-9, atol=1e-15)


@pytest.mark.slow
def test_matching_posteriors_of_sixteen_alike_are_uniform_and_of_one_alone_certain():
    assert np.allclose(matching_posteriors(np.full((16, 16), 0.3)), 1 / 16, rtol=1e-12)
    grouped = np.kron(np.eye(2), np.full((3, 3), 0.2))  # two groups of three, as k-anonymity makes them
    assert np.allclose(matching_posteriors(grouped), np.kron(np.eye(2), np.full((3, 3), 1 / 3)), rtol=1e-12)


def discrete_worst(perturbation, values, n):
    """Return the largest posterior over all original and perturbed tables of n records with these `values`."""
    kernel = perturbation.transitions(values, values).dense()
    tables = list(itertools.combinations_with_replacement(range(len(values)), n))
    return max(posteriors(kernel[np.ix_(after, before)].T).max() for before in tables for after in tables)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 5])
def test_no_matching_of_categories_is_surer_than_1_in_k_and_one_attains_it(n):
    for attributes in ({"a": 2}, {"a": 3}) if n == 5 else ({"a": 3}, {"a": 2, "b": 2}):
        found = pk_parameters(1.7, n, attributes)
        values = np.array(list(itertools.product(*(range(size) for size in attributes.values()))), dtype=float)
        assert discrete_worst(found, values, n) == pytest.approx(1 / 1.7, rel=1e-12)


def test_no_matching_of_numbers_is_surer_than_1_in_k_and_the_ends_attain_it():
    found = pk_parameters(1.5, 3, {"a": (0, 1)})
    assert discrete_worst(found, np.linspace(0, 1, 5)[:, None], 3) == pytest.approx(1 / 1.5, rel=1e-12)


def test_the_equality_case_of_the_theorem_in_mixed_attributes():
    u, w = [0, 17, 0, -5.0], [1, 90, 1, 1.0]
    found = pk_parameters(3.3, 6, MIXED)
    table = np.array([u] + 5 * [w])
    assert posteriors(found.transitions(table).dense().T).max() == pytest.approx(1 / 3.3, rel=1e-12)


@pytest.mark.slow
@QUICK
@given(seed=st.integers(0, 10**6))
def test_random_tables_never_exceed_1_in_k(seed):
    rng = np.random.default_rng(seed)
    found = pk_parameters(1.2, 5, MIXED)
    original = mixed_records(5, rng)
    kernel = found.transitions(found.perturb(original, rng=rng), original).dense()
    assert posteriors(kernel.T).max() <= 1 / 1.2 + 1e-12


# ---------------------------------------------------------------- the operator


@pytest.mark.parametrize("epsilon", [1e-9, 30, 300, 720, 5_000])
def test_transitions_are_densities_at_any_level(epsilon):
    found = Perturbation.from_epsilon(epsilon, {"age": (0, 1), **{f"answer {i}": 2 for i in range(40)}})
    records = np.zeros((3, 41))
    records[1, 1] = records[2] = 1
    with np.errstate(all="raise", under="ignore"):
        expected = np.stack([found.density(records, row[None]) for row in records], axis=1)
        for operator in (found.transitions(records), found.transitions(records, records)):
            np.testing.assert_allclose(operator.dense(), expected, rtol=1e-11, atol=1e-250)


@pytest.mark.parametrize("epsilon", [1e4, 1e8, 1e10, 1.1e10, 1e13, 1e16])
def test_transitions_are_accurate_or_refuse_their_level(epsilon):
    """Values are near and far, in a range different from that of its distances."""
    noise = BoundedLaplace.from_epsilon(epsilon, 1e5, 3e5)
    found = Perturbation({"age": noise})
    records = np.array([[1e5], [2e5], [2e5 + 5 * noise.phi], [3e5 - 0.1 * noise.phi], [3e5]])
    if epsilon > 1e10:
        with pytest.raises(ValueError, match=r"^the epsilon of age must be in \[0, 1e10\], got"):
            found.transitions(records)
    else:
        expected = np.stack([found.density(records, row[None]) for row in records], axis=1)
        np.testing.assert_allclose(found.transitions(records).dense(), expected, rtol=1e-5, atol=1e-250)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 300, 1100])
def test_transitions_multiply_like_the_array_of_densities(n):
    rng = np.random.default_rng(n)
    found = pk_parameters(2.5, 2000, MIXED)
    outputs, inputs = mixed_records(n, rng), mixed_records(77, rng)
    for operator, expected in (
        (found.transitions(outputs), np.stack([found.density(outputs, row[None]) for row in outputs], axis=1)),
        (found.transitions(outputs, inputs), np.stack([found.density(outputs, row[None]) for row in inputs], axis=1)),
    ):
        assert np.allclose(operator.dense(), expected, rtol=1e-12)
        assert np.allclose(operator.columns([2, 0]), expected[:, [2, 0]], rtol=1e-12)
        for matrix, array in ((operator, expected), (operator.T, expected.T)):
            vectors = rng.normal(size=(array.shape[1], 3))
            assert np.allclose(matrix @ vectors, array @ vectors, rtol=1e-10, atol=1e-12 * np.abs(array).sum())
            assert np.allclose(
                matrix @ vectors[:, 0], array @ vectors[:, 0], rtol=1e-10, atol=1e-12 * np.abs(array).sum()
            )


@pytest.mark.slow
def test_densities_integrate_to_one_over_all_outputs():
    found = pk_parameters(2.5, 2000, {"colour": 3, "age": (17, 90)})
    nodes, weights = np.polynomial.legendre.leggauss(400)
    ages = 53.5 + 36.5 * nodes
    outputs = np.array([(colour, age) for colour in range(3) for age in ages])
    record = np.array([[1.0, 17.0]])
    assert np.sum(found.density(outputs, record) * np.tile(36.5 * weights, 3)) == pytest.approx(1, rel=1e-9)


def test_gaussian_kernel_is_that_of_the_document():
    rng = np.random.default_rng(3)
    centres, points = rng.normal(size=(40, 3)), rng.normal(size=(600, 3))
    expected = np.exp(-((points[:, None] - centres) ** 2).sum(axis=2) / 2.5)
    kernel = kernel_matrix.gaussian_kernel(centres, 2.5, points=points)
    assert np.allclose(kernel.dense(), expected, rtol=1e-12)
    square = kernel_matrix.gaussian_kernel(points, 2.5)
    assert np.allclose(square @ np.ones(600), square.dense().sum(axis=1), rtol=1e-12)


def test_far_points_have_entries_that_are_tiny_but_normal_and_positive():
    kernel = kernel_matrix.gaussian_kernel(np.array([[0.0], [1e5]]), 1000.0).dense()
    assert np.allclose(np.diag(kernel), 1, rtol=1e-6)
    assert np.finfo(float).tiny < kernel[0, 1] < 1e-250


@pytest.mark.slow
@pytest.mark.parametrize("square", [True, False])
def test_a_thinned_kernel_lacks_its_small_entries_alone(square):
    points = np.linspace(0, 1000, 1300)[:, None]  # more than two blocks each way
    whole = kernel_matrix.gaussian_kernel(points, 1.0, points=None if square else points[::-1] + 0.1)
    factors = replace(whole.right, factors=np.arange(1.0, 1301.0))
    whole = whole if square else kernel_matrix.Pairwise(whole.left, factors)
    thin, exponents = whole.thinned(-10.0), np.log(whole.dense() / whole.right.factors)
    assert np.array_equal(thin.toarray() > 0, exponents >= -10)
    assert np.allclose(thin.toarray(), np.where(exponents >= -10, whole.dense(), 0), rtol=1e-14, atol=0)


def test_a_kernel_with_many_large_entries_stays_as_it_is():
    whole = kernel_matrix.gaussian_kernel(np.linspace(0, 1, 100)[:, None], 1.0)
    assert whole.thinned(-10.0) is whole


def test_a_rectangular_matrix_cannot_be_declared_symmetric():
    found = pk_parameters(2.5, 2000, MIXED)
    wide = found.transitions(mixed_records(3, np.random.default_rng(0)), mixed_records(4, np.random.default_rng(1)))
    with pytest.raises(ValueError, match="symmetric must be False"):
        kernel_matrix.Pairwise(wide.left, wide.right, symmetric=True)


# ---------------------------------------------------------------- whole records


def test_perturbing_leaves_each_attribute_to_its_own_mechanism():
    """A frame gives the same as its array; categories stay codes, numbers stay in range."""
    import pandas as pd

    records = mixed_records(500, np.random.default_rng(4))
    found = pk_parameters(3, 500, MIXED)
    frame = pd.DataFrame(records, columns=list(MIXED)).assign(further="x")[
        ["further", "sex", "age", "colour", "balance"]
    ]
    draws = found.perturb(records, rng=np.random.default_rng(5))
    assert np.array_equal(draws, found.perturb(frame, rng=np.random.default_rng(5)))
    assert np.array_equal(found.check(draws), draws)
    assert (draws != records).any(axis=0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attributes", "calls", "n"),
    [*((m, *size) for m in (1, 4, 40) for size in ((1000, 1), (40, 500))), (3, 1, 1_000_001)],
)
def test_every_attribute_of_every_record_has_draws_of_its_own(attributes, calls, n):
    """Every other column is constant; attributes are alike, so that draws used twice show. They are those of the mechanisms, one after
    the other, with the generator given."""
    kinds = {f"{j}": (0.0, 2.0) if j % 4 > 1 else 3 for j in range(attributes)}
    found, rng = Perturbation.from_epsilon(0.7 * attributes, kinds), np.random.default_rng(6)
    mechanisms = list(found.mechanisms.values())
    records = np.column_stack([mixed_values(one, n, rng) * (j % 2) for j, one in enumerate(mechanisms)])
    drawn = np.array([found.perturb(records, rng=rng) for _ in range(calls)])
    columns = zip(mechanisms, np.moveaxis(drawn, 2, 0), records.T)
    uniform = np.stack([uniforms(one, draws, values, rng) for one, draws, values in columns], axis=-1)
    assert least_doubt(uniform, np.arange(attributes)) > ALARM
    rngs = [np.random.default_rng(7) for _ in range(2)]
    apart = [one.perturb(column, rng=rngs[0]) for one, column in zip(mechanisms, records.T)]
    assert (
        np.array_equal(found.perturb(records, rng=rngs[1]), np.transpose(apart))
        and rngs[0].random() == rngs[1].random()
    )


# ---------------------------------------------------------------- refusals


@QUICK
@given(rho=st.one_of(st.floats(max_value=-1e-300), st.floats(min_value=1), st.just(math.nan)))
def test_rho_outside_0_1_is_refused(rho):
    with pytest.raises(ValueError, match=r"rho must be in \[0, 1\)"):
        RetentionReplacement(3, rho)


@pytest.mark.parametrize("epsilon", [1e-308, 1e-299, 1e300, 1e308])
@pytest.mark.parametrize("width", [1e-20, 1, 1e10, 1e300])
def test_densities_are_finite_at_the_ends_of_the_scale(epsilon, width):
    least = BoundedLaplace.from_epsilon(epsilon, 0, width)
    assert 0 <= least.epsilon <= epsilon
    with np.errstate(all="raise", under="ignore"):
        assert 0 < least.density(width / 2, width / 2) < math.inf
        assert least.density(width / 2, width / 4) == pytest.approx(0 if epsilon > 1 else 1 / width)
        if epsilon < 1:
            assert np.isfinite(Perturbation({"age": least}).transitions([[0], [width]]).dense()).all()
    with pytest.raises(ValueError, match=r"^phi must be in \(0, 1e\+280\] or inf"):
        BoundedLaplace(0, 1e-20, 1e308)


@QUICK
@given(phi=st.one_of(st.floats(max_value=0), st.just(math.nan)))
def test_phi_not_above_0_is_refused(phi):
    with pytest.raises(ValueError, match=r"phi must be in \[1e-300, inf\]"):
        BoundedLaplace(0, 1, phi)


@QUICK
@given(value=st.floats().filter(lambda value: not 17 <= value <= 90))
def test_values_outside_the_range_are_refused(value):
    one, rng = BoundedLaplace(17, 90, 5), np.random.default_rng(0)
    for call in (
        lambda: one.perturb([20, value], rng=rng),
        lambda: one.density(value, 20),
        lambda: one.density(20, value),
    ):
        with pytest.raises(ValueError, match=r"must be in \[17.0, 90.0\]"):
            call()


@QUICK
@given(k=st.one_of(st.floats(max_value=1), st.floats(min_value=100, exclude_min=True), st.just(math.nan)))
def test_k_outside_1_n_is_refused(k):
    with pytest.raises(ValueError, match=r"k must be in \(1, 100\]"):
        pk_parameters(k, 100, MIXED)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: RetentionReplacement(1, 0.5), r"size must be in \[2, inf\)"),
        (lambda: RetentionReplacement(2.5, 0.5), "size must be an integer"),
        (lambda: RetentionReplacement(3, 0.5).density(3, 0), r"outputs must be in \[0, 3\)"),
        (lambda: RetentionReplacement(3, 0.5).perturb([0.5], rng=None), "values must be an integer"),
        (lambda: RetentionReplacement.from_epsilon(-1, 3), "epsilon must be in"),
        (lambda: BoundedLaplace(1, 1, 2), "low must be in"),
        (lambda: BoundedLaplace(-math.inf, 1, 2), "low must be in"),
        (lambda: Perturbation({}), "mechanisms must not be empty"),
        (lambda: Perturbation({"a": 3}), "mechanism of 'a' must be"),
        (lambda: Perturbation.from_epsilon(-1, MIXED), r"epsilon must be in \[0, inf\), got -1"),
        (lambda: Perturbation.from_epsilon(math.inf, MIXED), "epsilon must be in"),
        (lambda: Perturbation.from_epsilon(1, {}), "attributes must not be empty"),
        (lambda: pk_parameters(3, 1, MIXED), "n_records must be in"),
        (lambda: pk_parameters(3, 10, {}), "attributes must not be empty"),
        (lambda: pk_parameters(3, 10, {"a": (1, 2, 3)}), "attribute 'a' must be a number of categories or a range"),
        (lambda: pk_parameters(3, 10, {"a": 1}), "categories of 'a' must be in"),
        (lambda: pk_parameters(3, 10, {"a": (2, 1)}), "low must be in"),
        (lambda: pk_parameters(3, 10, MIXED, "fair"), "split must be one of"),
        (lambda: pk_parameters(3, 10, MIXED, {"age": 1}), "split must give a part for each"),
        (lambda: pk_parameters(3, 10, {"a": 3}, {"a": 0}), "split must have a finite positive sum"),
        (lambda: pk_parameters(3, 10, {"a": 3}, {"a": -1}), "share of 'a' must be in"),
        (lambda: matching_posteriors(np.ones((2, 3))), r"densities must have shape \(N, N\)"),
        (lambda: matching_posteriors(np.ones((17, 17))), r"N in \[1, 16\], got \(17, 17\)"),
        (lambda: matching_posteriors([[1, -1], [1, 1]]), r"densities must be in \[0, inf\)"),
        (lambda: matching_posteriors([[1, 0], [1, 0]]), "densities must allow at least one matching"),
    ],
)
def test_refusals_name_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_records_that_do_not_fit_are_refused_by_the_attribute():
    import pandas as pd

    found = pk_parameters(3, 10, {"a": 3, "b": (0, 1)})
    for records, message in (
        ([[0, 2.0]], "records of 'b' must be in"),
        ([[3, 0.5]], "records of 'a' must be in"),
        ([[0, 0.5, 1]], "records must have shape"),
        (np.empty((0, 2)), "records must have shape"),
        ([0, 0.5], "records must have shape"),
        (pd.DataFrame({"a": [1]}), "records must have one column 'b'"),
    ):
        with pytest.raises(ValueError, match=message):
            found.check(records)
