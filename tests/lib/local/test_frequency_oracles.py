"""Frequency oracles: their laws enumerated in full on few values, then the samplers against those laws.

Statistical tests have fixed seeds; each test raises a false alarm with probability at most ALARM,
divided evenly among its comparisons.
"""

import functools
import itertools
import math
import tracemalloc

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from lib.local import (
    BLH,
    GRR,
    OLH,
    ORACLES,
    OUE,
    SHE,
    SUE,
    THE,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    count_law,
    protocol,
    pure_variance,
    unary_encoding,
)  # fmt: skip
from lib.local.hadamard_response import walsh_hadamard
from lib.local.histogram_encoding import optimal_threshold
from lib.local.local_hashing import bucket, bucket_start, optimal_buckets, scramble

ALARM = 1e-6
PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)
EPSILONS = [0.1, 1.0, math.log(3), 2.5, 6.0]

# Oracles with a finite alphabet that the tests below run through, on k values; and all of them.
DISCRETE = {
    "GRR": GRR,
    "SUE": SUE,
    "OUE": OUE,
    "THE": THE,
    "THE, theta 0.3": lambda k, epsilon: THE(k, epsilon, theta=0.3),
    "SS": SubsetSelection,
    "SS, d = k - 1": lambda k, epsilon: SubsetSelection(k, epsilon, d=k - 1),
    "HR, published blocks": HadamardResponse,
    "HR, 1 block": lambda k, epsilon: HadamardResponse(k, epsilon, blocks=1),
    "HR, 2 blocks": lambda k, epsilon: HadamardResponse(k, epsilon, blocks=2),
}
HASHING = {"BLH": BLH, "OLH": OLH, "LH, g = 3": lambda k, epsilon: LocalHashing(k, epsilon, 3)}
EVERY = DISCRETE | HASHING | {"SHE": SHE}
PATHS = ["GRR", "OUE", "SS", "HR, published blocks", "OLH", "SHE"]  # one for each way to draw reports


def alphabet(oracle) -> np.ndarray:
    """Return every report there is."""
    if isinstance(oracle, GRR):
        return np.arange(oracle.k)
    if isinstance(oracle, HadamardResponse):
        return np.arange(oracle.cells)
    rows = np.array(list(itertools.product([False, True], repeat=oracle.k)))
    return rows[rows.sum(axis=1) == oracle.d] if isinstance(oracle, SubsetSelection) else rows


def definition(oracle, report, value) -> float:
    """Return the probability of a report, from the definition in the literature."""
    k, odds = oracle.k, math.exp(oracle.epsilon)
    if isinstance(oracle, GRR):
        return (odds if report == value else 1) / (odds + k - 1)
    if isinstance(oracle, SubsetSelection):
        total = odds * math.comb(k - 1, oracle.d - 1) + math.comb(k - 1, oracle.d)
        return (odds if report[value] else 1) / total
    if isinstance(oracle, HadamardResponse):
        blocks, size = oracle.blocks, oracle.size
        matrix = linalg.block_diag(*[linalg.hadamard(size)] * blocks)
        row = matrix[value % blocks * size + value // blocks + 1]
        return (odds if row[report] > 0 else 1) / (odds * size / 2 + blocks * size - size / 2)
    keep_one = {SUE: math.sqrt(odds) / (math.sqrt(odds) + 1), OUE: 1 / 2}
    flip_zero = {SUE: 1 / (math.sqrt(odds) + 1), OUE: 1 / (odds + 1)}
    if isinstance(oracle, THE):  # a Laplace variable of scale 2/epsilon, plus the 1 or not, above theta
        p, q = stats.laplace.sf([oracle.theta - 1, oracle.theta], scale=2 / oracle.epsilon)
    else:
        p, q = keep_one[type(oracle)], flip_zero[type(oracle)]
    ones = [p if x == value else q for x in range(k)]
    return math.prod(one if bit else 1 - one for bit, one in zip(report, ones))


def exact_variance(oracle, f, n) -> np.ndarray:
    """Return `oracle.variance` at the frequencies `f` of all k values, which give the block shares as well."""
    if not isinstance(oracle, HadamardResponse):
        return oracle.variance(f, n)
    return oracle.variance(f, n, block_shares(oracle, f))


def block_shares(oracle, f) -> np.ndarray:
    block = np.arange(oracle.k) % oracle.blocks
    return np.array([f[block == b].sum() for b in block]).clip(0, 1)


def normal_bound(comparisons) -> float:
    return stats.norm.isf(ALARM / comparisons / 2)


# ---- the law of a report


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [3, 4, 6])
@pytest.mark.parametrize("name", DISCRETE)
def test_the_law_of_a_report_is_that_of_the_literature(name, k, epsilon):
    oracle = DISCRETE[name](k, epsilon)
    reports = alphabet(oracle)
    law = oracle.probability(reports)
    expected = [[definition(oracle, report, value) for value in range(k)] for report in reports]
    assert law == pytest.approx(np.array(expected), rel=1e-11)
    assert law.sum(axis=0) == pytest.approx(np.ones(k), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("name", DISCRETE)
def test_the_worst_ratio_over_all_reports_is_the_privacy_loss(name, k, epsilon):
    oracle = DISCRETE[name](k, epsilon)
    law = oracle.probability(alphabet(oracle))
    worst = np.log(law.max(axis=1) / law.min(axis=1)).max()
    assert worst == pytest.approx(oracle.privacy_loss, rel=1e-9)
    if isinstance(oracle, THE):
        assert worst < epsilon  # thresholding gives some protection away
    else:
        assert worst == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("name", HASHING)
def test_whatever_the_hash_function_the_bucket_protects_the_value(name):
    """There are 50 functions, and all reports that belong to each."""
    oracle = HASHING[name](40, 1.3)
    functions = np.random.default_rng(3).integers(0, 2**63, size=(50, 1, 2), dtype=np.uint64)
    buckets = np.arange(oracle.g, dtype=np.uint64)[None, :, None]
    reports = np.concatenate([np.repeat(functions, oracle.g, axis=1), np.tile(buckets, (50, 1, 1))], axis=2)
    law = oracle.probability(reports.reshape(-1, 3)).reshape(50, oracle.g, 40)
    assert law.sum(axis=1) == pytest.approx(np.ones((50, 40)), abs=1e-12)
    assert np.log(law.max(axis=2) / law.min(axis=2)).max() == pytest.approx(oracle.epsilon) == oracle.privacy_loss


def test_the_density_of_she_is_a_product_of_laplace_densities_and_private():
    oracle = SHE(3, 0.8)
    reports = np.random.default_rng(0).normal(scale=4, size=(500, 3))
    expected = [stats.laplace.pdf(reports - np.eye(3)[v], scale=2.5).prod(axis=1) for v in range(3)]
    density = oracle.probability(reports)
    assert density == pytest.approx(np.transpose(expected), rel=1e-12)
    ratios = np.log(density.max(axis=1) / density.min(axis=1))
    assert ratios.max() <= 0.8 * (1 + 1e-12)
    ratio = oracle.probability([[1.0, 0.0, 9.0]])  # beyond both ends, where the bound is attained
    assert np.log(ratio[0, 0] / ratio[0, 1]) == pytest.approx(0.8) == oracle.privacy_loss


# ---- mean and variance of the raw estimate, exactly


def ideal_hashing(oracle) -> tuple[np.ndarray, np.ndarray]:
    """Return all functions from the values to the buckets, alike, with all reports: law [report, v], support [report, x]."""
    functions = np.array(list(itertools.product(range(oracle.g), repeat=oracle.k)))
    support = np.concatenate([functions == reported for reported in range(oracle.g)])
    law = np.where(support, oracle.p, (1 - oracle.p) / (oracle.g - 1)) / len(functions)
    return law, support.astype(float)


def enumerated(oracle) -> tuple[np.ndarray, np.ndarray]:
    """Return the law of a report [report, v], and the support counts [report, x] that it alone would give."""
    if isinstance(oracle, LocalHashing):
        return ideal_hashing(oracle)
    return oracle.probability(alphabet(oracle)), oracle.supports(alphabet(oracle)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 3.5])
@pytest.mark.parametrize("name", DISCRETE | HASHING)
def test_mean_and_variance_of_the_estimate_at_any_frequency(name, epsilon):
    """They follow from all that a single user can report; n users are independent, so their variances add up."""
    oracle = (DISCRETE | HASHING)[name](5 if epsilon < 3 else 3, epsilon)
    law, support = enumerated(oracle)
    assert law.T @ support == pytest.approx(np.where(np.eye(oracle.k), oracle.p, oracle.q), rel=1e-12)
    single = oracle.estimate(support, 1)
    assert law.T @ single == pytest.approx(np.eye(oracle.k), abs=1e-10)
    users = np.array([70, 5, 25, 0, 0])[: oracle.k]
    f = users / 100
    expected = users @ (law.T @ single**2 - np.eye(oracle.k)) / 100**2
    assert exact_variance(oracle, f, 100) == pytest.approx(expected, rel=1e-10)


def test_without_a_block_share_the_other_users_are_even_over_the_blocks():
    oracle = HadamardResponse(20, 3.0)
    assert oracle.blocks == 16
    assert oracle.variance(0.2, 50) == oracle.variance(0.2, 50, block_share=0.2 + 0.8 / 16)
    assert (
        oracle.variance(0.2, 50, block_share=1) > oracle.variance(0.2, 50) > oracle.variance(0.2, 50, block_share=0.2)
    )


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_variances_at_frequency_0_as_the_literature_prints_them(epsilon):
    """Wang et al. 2017, Section 4, for n = 1; with one set member subset selection is GRR, with one block
    Hadamard response has BLH's variance."""
    e, half = math.exp(epsilon), math.exp(epsilon / 2)
    theta = THE(9, epsilon).theta
    printed = {
        "GRR": (e + 7) / (e - 1) ** 2,
        "SUE": half / (half - 1) ** 2,
        "OUE": 4 * e / (e - 1) ** 2,
        "BLH": (e + 1) ** 2 / (e - 1) ** 2,
        "SHE": 8 / epsilon**2,
        "THE": (2 * math.exp(epsilon * theta / 2) - 1)
        / (1 + math.exp(epsilon * (theta - 1 / 2)) - 2 * math.exp(epsilon * theta / 2)) ** 2,
    }
    for name, variance in printed.items():
        assert ORACLES[name](9, epsilon).variance(0, 1) == pytest.approx(variance, rel=1e-9)
    g = OLH(9, epsilon).g
    assert OLH(9, epsilon).variance(0, 1) == pytest.approx((e + g - 1) ** 2 / ((g - 1) * (e - 1) ** 2), rel=1e-9)
    assert HadamardResponse(9, epsilon, 1).variance(0, 1) == pytest.approx(printed["BLH"], rel=1e-9)
    assert SubsetSelection(9, epsilon, 1).variance(0.3, 7) == pytest.approx(GRR(9, epsilon).variance(0.3, 7), rel=1e-12)


def test_grr_is_better_than_oue_below_k_of_3_e_to_the_epsilon_plus_2():
    for epsilon in (0.2, 1.0, 2.0, 4.0):
        crossing = 3 * math.exp(epsilon) + 2
        for k in (math.floor(crossing), math.ceil(crossing)):
            assert (GRR(k, epsilon).variance(0, 1) < OUE(k, epsilon).variance(0, 1)) == (k < crossing)


@pytest.mark.slow
def test_symbols_go_through_the_same_formulas_as_numbers():
    epsilon, k, g, f, n = sympy.symbols("epsilon k g f n", positive=True)
    e = sympy.exp(epsilon)

    def at_zero(oracle, *sizes):
        return n * pure_variance(*oracle.probabilities(epsilon, *sizes, exp=sympy.exp), 0, n)

    assert sympy.simplify(at_zero(GRR, k) - (e + k - 2) / (e - 1) ** 2) == 0
    assert sympy.simplify(at_zero(OUE) - 4 * e / (e - 1) ** 2) == 0
    assert sympy.simplify(at_zero(LocalHashing, e + 1) - 4 * e / (e - 1) ** 2) == 0
    assert sympy.simplify(sympy.diff(at_zero(LocalHashing, g), g).subs(g, e + 1)) == 0
    numbers = {epsilon: sympy.Rational(3, 2), k: 7, f: sympy.Rational(1, 5), n: 90}
    sized = {GRR: (k,), SUE: (), OUE: (), SubsetSelection: (k, 2), LocalHashing: (4,), THE: (0.8,)}
    for oracle, sizes in sized.items():
        p, q = oracle.probabilities(epsilon, *sizes, exp=sympy.exp)
        value = float(pure_variance(p, q, f, n).subs(numbers))
        numeric = [number if number != k else 7 for number in sizes]
        assert value == pytest.approx(pure_variance(*oracle.probabilities(1.5, *numeric), 0.2, 90), rel=1e-12)


# ---- choices called optimal


@pytest.mark.parametrize("epsilon", [0.01, 0.4, 1.0, 1.5, 2.2, 3.0, 4.4])
def test_no_other_choice_is_better_than_the_optimal_one(epsilon):
    """Buckets and threshold: variance at frequency 0. Set size: the total over all values."""
    assert OLH(50, epsilon).variance(0, 1) <= min(LocalHashing(50, epsilon, g).variance(0, 1) for g in range(2, 200))
    thetas = np.linspace(0, 1, 1001)
    p, q = THE.probabilities(epsilon, thetas, exp=np.exp)
    assert THE(50, epsilon).variance(0, 1) <= pure_variance(p, q, 0, 1).min() * (1 + 1e-9)

    def total(d):
        oracle = SubsetSelection(50, epsilon, d)
        return oracle.variance(1, 1) + 49 * oracle.variance(0, 1)

    assert total(SubsetSelection(50, epsilon).d) == min(total(d) for d in range(1, 50))


@pytest.mark.parametrize("epsilon", [0.01, 0.4, 1.0, 3.0, 10.0, 50.0])
def test_the_best_threshold_solves_a_quadratic_equation(epsilon):
    """The derivative of q (1 - q)/(p - q)^2 vanishes there; it is written in y = 2 e^(epsilon theta/2) - 1."""
    c, y = np.exp(-epsilon / 2), 2 * np.exp(epsilon * optimal_threshold(epsilon) / 2) - 1
    assert 3 * c * y**2 == pytest.approx((4 - 2 * c) * y + c, rel=1e-11)


def test_sizes_at_the_extremes():
    buckets = [optimal_buckets(epsilon) for epsilon in (1e-6, 1.0, math.log(3), 3.0, 40.0, 2000.0)]
    assert buckets == [2, 4, 4, 21, 65536, 65536]
    sets = [SubsetSelection(k, epsilon).d for k, epsilon in ((2, 1.0), (10, 1e-3), (100, 1.0), (10, 50.0))]
    assert sets == [1, 5, 27, 1]
    settings_ = ((2, 0.5), (3, 1.0), (128, 1.0), (128, 3.0), (5, 99.0))
    shapes = [(oracle.blocks, oracle.size) for oracle in itertools.starmap(HadamardResponse, settings_)]
    assert shapes == [(1, 4), (2, 4), (2, 128), (16, 16), (8, 2)]


# ---- real clients


def test_coins_have_their_probability_past_the_byte():
    """Every byte once and, on a tie, a grid of 4096 uniform numbers: heads must be as many as the probability says."""

    class EveryByte:
        def integers(self, low, high, size, dtype, endpoint):
            return np.arange(8 * size).astype(np.uint8).view(np.uint64)

        def random(self, ties):
            return np.resize(np.arange(4096) / 4096, ties)

    for part in (0, 1, 5 * 2**12, 2**19 - 1, 123457, 2**19, 777777, 2**20 - 1, 2**20):
        heads = unary_encoding.coins((4096, 256), part / 2**20, rng=EveryByte()).sum()
        assert heads == part


class Scripted:
    """A generator that gives the uniform numbers it is told, in double precision only, and the largest integers or a given byte."""

    def __init__(self, uniform, byte=255):
        self.uniform, self.byte = uniform, byte

    def random(self, size):
        return repeated(self.uniform, size)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        if dtype == np.uint64:
            return np.full(8 * np.prod(size), self.byte, dtype=np.uint8).view(np.uint64).reshape(size)
        return np.full(size, (low if high is None else high) - 1, dtype=dtype)


def repeated(numbers, size):
    """Return what `np.resize` does, without a list of as many arrays."""
    numbers = np.ravel(numbers)
    return np.tile(numbers, -(-size // len(numbers)))[:size]


def next_to(p):
    """Return the uniform numbers of double precision next to `p`, the smallest one and the largest."""
    near = np.array([0, p - 2.0**-53, p, p + 2.0**-53, 1 - 2.0**-53])
    return near[(near >= 0) & (near < 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "n", "epsilon"),
    [
        *itertools.product(
            sorted({*DISCRETE, *HASHING} - {"SUE", "OUE", "THE", "THE, theta 0.3"}),
            [2, 3],
            [9],
            [0.01, 1.2, 8.0, 20.0, 36.0],
        ),
        *((name, 3, 1_000_001, 20.0) for name in PATHS if name not in ("OUE", "SHE")),
    ],
)
def test_a_coin_on_a_record_compares_a_number_of_double_precision(name, k, n, epsilon):
    """A report depends on whether the number is below the coin's probability, and on nothing else of the number. The probability
    may be closer to 1 than every number of single precision."""
    oracle = EVERY[name](k, epsilon)
    p = oracle._forced if isinstance(oracle, HadamardResponse) else oracle.p
    values, uniform = np.zeros(n, dtype=int), repeated(next_to(p), n)
    kept, changed, reports = (oracle.perturb(values, rng=Scripted(each)) for each in (0.0, 1 - 2.0**-53, uniform))
    assert not np.array_equal(kept[0], changed[0])
    below = uniform < p
    assert np.array_equal(reports[below], kept[below]) and np.array_equal(reports[~below], changed[~below])


@pytest.mark.parametrize("epsilon", [0.01, 1.2, 8.0, 20.0, 36.0, 70.0])
@pytest.mark.parametrize("name", ["SUE", "OUE", "THE", "THE, theta 0.3"])
def test_a_bit_is_a_coin_that_compares_a_byte_and_a_number_of_double_precision(name, epsilon, monkeypatch):
    """A number next to the remaining fraction decides if the byte does not. Each coin has the probability that the oracle states."""
    oracle, tossed = EVERY[name](5, epsilon), []
    for p in (oracle.p, oracle.q):
        byte, fraction = divmod(256 * p, 1)
        uniform = repeated(next_to(fraction), 70_000)
        for drawn, heads in ((byte - 1, True), (byte, uniform < fraction), (byte + 1, False)):
            if 0 <= drawn < 256:
                assert (unary_encoding.coins(70_000, p, rng=Scripted(uniform, int(drawn))) == heads).all()

    def coins(shape, probability, *, rng):
        tossed.append((shape, probability))
        return np.arange(math.prod(shape)).reshape(shape) % 3 == 0

    monkeypatch.setattr(unary_encoding, "coins", coins)
    bits = oracle.perturb([4, 0, 1], rng=None)
    assert tossed == [((3, 5), oracle.q), ((3,), oracle.p)]
    assert bits.astype(int).tolist() == [[1, 0, 0, 1, 1], [0, 1, 0, 0, 1], [0, 0, 1, 0, 0]]


@PROPERTY
@given(st.integers(0, 1100), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_column_sums_are_sums_of_columns(rows, columns, seed):
    bits = np.random.default_rng(seed).random((rows, columns)) < 0.9
    assert np.array_equal(protocol.column_sums(bits), bits.sum(axis=0))


def test_the_transform_is_the_hadamard_matrix():
    table = np.random.default_rng(1).integers(-50, 50, size=(3, 16))
    assert np.array_equal(walsh_hadamard(table), table @ linalg.hadamard(16))
    assert np.array_equal(walsh_hadamard([[7]]), [[7]])


@pytest.mark.parametrize("k", [5, 2**16 + 1, 3_000_000, 2**32])
def test_lies_are_uniform_among_the_other_values(k):
    """Half of 100,000 users have the first value, half the last. Kolmogorov-Smirnov; the false alarm rate is 0.1 %."""
    values = np.resize([0, k - 1], 100_000)
    reports = GRR(k, 1e-3).perturb(values, rng=np.random.default_rng(11))
    lies = (reports - (values == 0))[reports != values]  # among 0, ..., k - 2
    assert len(lies) > 50_000
    assert stats.kstest((lies + np.random.default_rng(12).random(len(lies))) / (k - 1), "uniform").pvalue > 1e-3 / 4


@pytest.mark.slow
@pytest.mark.parametrize("name", DISCRETE)
def test_clients_draw_reports_by_their_law(name):
    """400,000 users of each value; chi-squared over all reports."""
    oracle = DISCRETE[name](5, 1.2)
    reports, law = alphabet(oracle), oracle.probability(alphabet(oracle))
    rng = np.random.default_rng(100)
    for value in range(5):
        drawn = oracle.perturb(np.full(400_000, value), rng=rng)
        codes, known = (rows @ 2 ** np.arange(5) if rows.ndim == 2 else rows for rows in (drawn, reports))
        observed = np.bincount(codes, minlength=known.max() + 1)[known]
        assert observed.sum() == 400_000
        assert stats.chisquare(observed, 400_000 * law[:, value]).pvalue > ALARM / 5


@pytest.mark.parametrize("name", EVERY)
def test_estimates_of_real_reports_are_where_they_should_be(name):
    """50,000 users: every estimate within the normal bound of its exact variance."""
    oracle = EVERY[name](12, 1.5)
    users = np.array([20_000, 0, 10_000, 5_000, 1, 4_999, 3_000, 2_000, 5_000, 0, 0, 0])
    f = users / 50_000
    values = np.random.default_rng(7).permutation(np.repeat(np.arange(12), users))
    estimate = oracle.estimate(oracle.collect(values, rng=np.random.default_rng(8)), 50_000)
    deviations = (estimate - f) / np.sqrt(exact_variance(oracle, f, 50_000))
    assert np.abs(deviations).max() < normal_bound(12)


@pytest.mark.parametrize("name", EVERY)
def test_aggregation_is_the_sum_of_what_reports_support(name):
    """Fast counting is compared with the definition; 16,500 users fill more than one block of hashing."""
    oracle = EVERY[name](9, 0.9)
    rng = np.random.default_rng(4)
    reports = oracle.perturb(rng.integers(9, size=16_500), rng=rng)
    assert oracle.aggregate(reports) == pytest.approx(oracle.supports(reports).sum(axis=0), rel=1e-12)
    assert oracle.aggregate(reports[:0]) == pytest.approx(np.zeros(9))


@functools.lru_cache(4)
def mixed_values(k, n, seed=1):
    """Return values, not to be written into: a third each are the first and the last value, in turns, and the rest are random."""
    values = np.random.default_rng(seed).integers(k, size=n)
    values[::3], values[1::3] = 0, k - 1
    values.flags.writeable = False
    return values


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "n"),
    [
        *((name, *size) for name in EVERY for size in ((3, 1), (3, 2), (5, 70_001), (3000, 150))),
        *((name, 3, 1_000_001) for name in PATHS),
    ],
)
def test_a_report_reads_its_own_value_alone(name, k, n, monkeypatch):
    """There are up to a million users and 3,000 values, with the generator fixed. It moves equally far whatever the values. Another state
    of it gives other reports, also of the last thousand users, and no other generator is made."""
    few = n < 10**6
    for epsilon in (1.2, 8.0)[: 1 + few]:
        oracle, values = EVERY[name](k, epsilon), mixed_values(k, n)

        def draw(values, seed=2, oracle=oracle):
            rng = np.random.default_rng(seed)
            with monkeypatch.context() as alone:
                alone.setattr(np.random, "default_rng", None)
                return oracle.perturb(values, rng=rng), rng.random()

        before, stands = draw(values)
        assert n < 1000 or not np.array_equal(draw(values, 4)[0][-1000:], before[-1000:])
        for other in (0, k - 1)[: 1 + few]:
            all_alike, stands_there = draw(np.full(n, other))
            for kept in (np.random.default_rng(3).random(n) < 0.5, np.arange(n) == n - 1)[: 1 + few]:
                after, stands_after = draw(np.where(kept, values, other))
                assert np.array_equal(after[kept], before[kept]) and np.array_equal(after[~kept], all_alike[~kept])
                assert stands == stands_there == stands_after
            if name == "SHE":
                np.testing.assert_allclose(all_alike - (np.arange(k) == other), before - np.eye(k)[values], atol=1e-12)
            elif isinstance(oracle, unary_encoding.UnaryEncoding):
                before[np.arange(n), values] = before[:, other] = all_alike[:, other] = all_alike[
                    np.arange(n), values
                ] = 0
                assert np.array_equal(before, all_alike)
                before, _ = draw(values)


SIZES = [(3, 70_001, 1.2), (30, 70_001, 1.2), (3000, 2001, 1.2), (30, 70_001, 8.0), (100_000, 40, 1.2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "n", "epsilon"),
    [*((name, *size) for name in EVERY for size in SIZES), *((name, 3, 1_000_001, 1.2) for name in PATHS)],
)
def test_reports_have_their_law_for_any_number_of_users_and_values(name, k, n, epsilon):
    """There are up to a million users and 100,000 values. The users of the first value, the last and others support their value and
    the rest. This support is compared for the first half of the users and the second, for all values and for groups with at least 50
    supports and 50 missing ones. The false alarm rate is 0.1 %. In no protocol are the supports of two values positively correlated, so the variance of
    a sum is at most that of its terms."""
    oracle, values = EVERY[name](k, epsilon), mixed_values(k, n)
    supports = oracle.supports(oracle.perturb(values, rng=np.random.default_rng(9)))
    supports = supports.astype(np.float32, copy=False)  # SHE's too: sums below are in double precision
    users, scores = np.arange(n), []
    own, variances = supports[users, values], variances_of_support(oracle)
    supports[users, values] = 0
    rare = min(oracle.q, 1 - oracle.q)
    width = min(k, math.ceil(50 / (n / 2 * rare))) if rare else 1
    for start, end in ((0, n // 2), (n // 2, n)):
        kinds = [own[start + (part - start) % 3 : end : 3] for part in range(3)]
        scores.extend((kind.mean(dtype=float) - oracle.p) / math.sqrt(variances[0] / len(kind)) for kind in kinds)
        lent = supports[start:end].sum(axis=0, dtype=float)
        others = end - start - np.bincount(values[start:end], minlength=k)
        starts = np.arange(0, k - width + 1, width)
        for sums, counts in (
            (np.add.reduceat(lent, starts), np.add.reduceat(others, starts)),
            (lent.sum(), others.sum()),
        ):
            scores.extend(np.ravel((sums - counts * oracle.q) / np.sqrt(counts * variances[1])))
    assert np.abs(scores).max() < stats.norm.isf(1e-3 / len(scores) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "n"), [(2, 1_000_001), (300, 1000), (100_000, 3), (10**6, 1)])
def test_every_cell_of_she_has_noise_of_its_own(k, n):
    """Kolmogorov-Smirnov tests up to 10^6 users or values in twenty parts, by cell and by user; false alarm 0.1 % each way."""
    oracle, values = SHE(k, 1.2), mixed_values(k, n)
    noise = oracle.perturb(values, rng=np.random.default_rng(9))
    noise[np.arange(n), values] -= 1
    assert np.unique(noise).size == noise.size
    noise = stats.laplace(scale=oracle.scale).cdf(noise)
    for part in (*np.array_split(noise.ravel(), 20), *np.array_split(noise.T.ravel(), 20)):
        assert stats.kstest(part, "uniform", method="auto" if len(part) < 1000 else "asymp").pvalue > 1e-3 / 20


def variances_of_support(oracle) -> tuple[float, float]:
    """Return the variance of a report's support for its user's value, and the largest for another value."""
    if isinstance(oracle, SHE):
        return 8 / oracle.epsilon**2, 8 / oracle.epsilon**2
    if isinstance(oracle, HadamardResponse):
        inside = 1 / oracle.blocks + (oracle.p - 0.5) * 2 * (
            1 - 1 / oracle.blocks
        )  # in the own block; support is 1/2 elsewhere
        return inside / 4 - (oracle.p - 0.5) ** 2, 0.25
    return oracle.p * (1 - oracle.p), oracle.q * (1 - oracle.q)


class Own(protocol.FrequencyOracle):
    """A protocol that supplies no more than it must."""

    perturb, supports, simulate = GRR.perturb, GRR.supports, GRR.simulate

    def __init__(self, k, epsilon):
        super().__init__(k, epsilon)
        self._support_with(*GRR.probabilities(epsilon, k))


@pytest.mark.slow
@pytest.mark.parametrize("bytes_at_a_time", [300, protocol._CHUNK_BYTES])
@pytest.mark.parametrize("name", [*EVERY, "one's own"])
def test_collecting_hands_every_value_over_once_and_reads_the_reports_alone(name, bytes_at_a_time, monkeypatch):
    """In place of the reports are those of other users; the last chunk is full, or short, or of one user. There are up to a million users,
    or a hundred chunks, and the generator is that given, for each."""
    monkeypatch.setattr(protocol, "_CHUNK_BYTES", bytes_at_a_time)
    make, given = EVERY.get(name, Own), np.random.default_rng(7)
    step = max(1, bytes_at_a_time // make(20, 1.0).report_bytes)
    many = (3, 1_000_001) if step > 1000 else (20, 100 * step)
    for k, n in {*((20, n) for n in (1, step, step + 1, 2 * step + 1, 3 * step - 1)), many}:
        oracle, values, handed = make(k, 1.0), mixed_values(k, n), []
        reports = oracle.perturb(mixed_values(k, n, seed=5)[::-1], rng=np.random.default_rng(6))

        def perturb(values, *, rng, handed=handed, reports=reports):
            assert rng is given
            handed.append(values)
            done = sum(map(len, handed))
            return reports[done - len(values) : done]

        monkeypatch.setattr(oracle, "perturb", perturb)
        counts = oracle.collect(values, rng=given)
        assert np.array_equal(np.concatenate(handed), values)
        assert counts == pytest.approx(oracle.aggregate(reports), rel=1e-9, abs=1e-6)
    assert np.array_equal(make(6, 1.0).collect([], rng=np.random.default_rng(3)), np.zeros(6))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH", "SS", "SHE", "HR, published blocks"])
def test_the_reports_are_never_in_memory_all_at_once(name):
    """40,000 users with 128 bits, 3 numbers or 128 numbers each: 0.3 MB at least, 5 MB of bits, 41 MB of noise."""
    oracle = EVERY[name](128, 1.0)
    values = np.random.default_rng(0).integers(128, size=40_000)
    tracemalloc.start()
    oracle.collect(values, rng=np.random.default_rng(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


def test_the_same_generator_gives_the_same_reports():
    for make in EVERY.values():
        oracle = make(6, 1.0)
        first, second = (oracle.perturb([0, 5, 3, 3], rng=np.random.default_rng(9)) for _ in range(2))
        assert np.array_equal(first, second)


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int16, float])
def test_whole_numbers_of_any_type_are_values(kind):
    for make in EVERY.values():
        oracle = make(6, 1.0)
        expected = oracle.perturb([0, 5, 3, 3], rng=np.random.default_rng(9))
        reports = oracle.perturb(np.array([0, 5, 3, 3], dtype=kind), rng=np.random.default_rng(9))
        assert np.array_equal(reports, expected) and reports.dtype == expected.dtype


# ---- the hash family


def test_the_family_is_pairwise_independent():
    """On the ring of 2^8, all 2^16 functions and all pairs of 4-bit values: joint counts are exact products."""
    a, b, x = np.ogrid[:256, :256, :16]
    for g in (2, 3, 11):
        hashed = g * ((a * x + b) % 256 // 16) // 16
        sizes = np.bincount(g * np.arange(16) // 16, minlength=g)
        assert set(sizes) <= {16 // g, -(-16 // g)}
        for one, other in itertools.combinations(range(16), 2):
            joint = np.bincount((g * hashed[..., one] + hashed[..., other]).ravel(), minlength=g * g)
            assert np.array_equal(joint.reshape(g, g), 256 * np.outer(sizes, sizes))


@PROPERTY
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(2, 2**16))
def test_hashing_is_what_the_formula_says(a, b, x, g):
    """The reference uses Python's integers."""
    word = x
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        word = (word ^ word >> shift) * factor % 2**32
    assert scramble([x])[0] == word
    position = np.array([a], dtype=np.uint64) * scramble([x]) + np.uint64(b)
    index = (a * word + b) % 2**64 // 2**32 * g // 2**32
    assert bucket(position, g)[0] == index
    start, end = (int(bucket_start(np.array([j], dtype=np.uint64), g)[0]) for j in (index, index + 1))
    assert start <= int(position[0]) < (end or 2**64)


def test_scrambling_can_be_undone():
    """The steps of the finalizer backwards give every word back, so no two values share one."""
    values = np.random.default_rng(0).integers(0, 2**32, size=10_000, dtype=np.uint64)
    word, mask = scramble(values), np.uint64(2**32 - 1)
    for shift, factor in ((16, 0xC2B2AE35), (13, 0x85EBCA6B), (16, 1)):
        word ^= word >> np.uint64(shift) ^ (word >> np.uint64(2 * shift) if shift == 13 else np.uint64(0))
        word = word * np.uint64(pow(factor, -1, 2**32)) & mask
    assert np.array_equal(word, values)
    assert scramble([1])[0] == 0x514E28B7


@pytest.mark.slow
@pytest.mark.parametrize("g", [2, 3, 4, 21, 300])
def test_buckets_are_uniform_and_collide_once_in_g(g):
    """200,000 functions on 8 values, neighbours, powers of two and the last one among them: chi-squared of
    each value's buckets, and the number of collisions of each pair, a binomial variable."""
    values = scramble([0, 1, 2, 3, 1000, 1024, 2**31, 2**32 - 1])
    a, b = np.random.default_rng(g).integers(0, 2**64 - 1, size=(2, 200_000, 1), dtype=np.uint64, endpoint=True)
    buckets = bucket(a * values + b, g)
    for column in buckets.T:
        assert stats.chisquare(np.bincount(column.astype(int), minlength=g)).pvalue > ALARM / (8 + 28)
    for one, other in itertools.combinations(buckets.T, 2):
        assert stats.binomtest(np.count_nonzero(one == other), 200_000, 1 / g).pvalue > ALARM / (8 + 28)


@pytest.mark.slow
def test_counts_of_real_hashing_add_up_like_independent_ones():
    """The variance of the number of values a report supports, when no two values' buckets are tied together:
    p (1-p) + (k-1) q (1-q). Without the scrambling it is 2.2 times that. 200,000 users; the bound is by
    the empirical fourth moment."""
    oracle = OLH(32, 3.0)
    rng = np.random.default_rng(6)
    supported = oracle.supports(oracle.perturb(np.full(200_000, 10), rng=rng)).sum(axis=1)
    expected = oracle.p * (1 - oracle.p) + 31 * oracle.q * (1 - oracle.q)
    squares = (supported - (oracle.p + 31 * oracle.q)) ** 2
    assert abs(squares.mean() - expected) < normal_bound(1) * squares.std() / math.sqrt(200_000)


# ---- simulation


@pytest.mark.slow
@pytest.mark.parametrize("name", DISCRETE | HASHING)
def test_simulated_counts_have_the_exact_joint_law(name):
    """Three users of two values: the law of their counts by convolution of all reports, against 2,000 draws;
    outcomes expected fewer than 5 times are pooled. For hashing, the law is that of ideal functions."""
    oracle = (DISCRETE | HASHING)[name](4, 1.1)
    users = np.array([0, 2, 0, 1])
    law, support = enumerated(oracle)
    expected = joint_law(law, support, users)
    rng = np.random.default_rng(12)
    observed = dict.fromkeys(expected, 0)
    for _ in range(2_000):
        observed[key(oracle.simulate(users, rng=rng))] += 1  # KeyError for an impossible outcome
    assert chi_squared(expected, observed) > ALARM


@pytest.mark.parametrize("name", DISCRETE)
def test_real_counts_have_the_same_law(name):
    oracle = DISCRETE[name](4, 1.1)
    expected = joint_law(*enumerated(oracle), np.array([0, 2, 0, 1]))
    reports = oracle.perturb(np.tile([1, 3, 1], 4_000), rng=np.random.default_rng(13))
    observed = dict.fromkeys(expected, 0)
    for counts in oracle.supports(reports).reshape(4_000, 3, 4).sum(axis=1):
        observed[key(counts)] += 1
    assert chi_squared(expected, observed) > ALARM


def joint_law(law, support, users) -> dict:
    """Return the probability of each vector of counts."""
    result = {(0,) * law.shape[1]: 1.0}
    for value in np.repeat(np.arange(len(users)), users):
        single = {}
        for row, probability in zip(support, law[:, value]):
            single[key(row)] = single.get(key(row), 0.0) + probability
        convolved = {}
        for (one, p), (other, q) in itertools.product(result.items(), single.items()):
            total = tuple(map(sum, zip(one, other)))
            convolved[total] = convolved.get(total, 0.0) + p * q
        result = convolved
    return result


def key(counts) -> tuple:
    return tuple(float(count) for count in counts)


def chi_squared(expected, observed) -> float:
    draws = sum(observed.values())
    want = draws * np.array([expected[outcome] for outcome in expected])
    have = np.array([observed[outcome] for outcome in expected])
    assert want.sum() == pytest.approx(draws, rel=1e-9)
    rare = want < 5
    if rare.any():
        want, have = np.append(want[~rare], want[rare].sum()), np.append(have[~rare], have[rare].sum())
    return stats.chisquare(have, want * (draws / want.sum())).pvalue


@pytest.mark.parametrize("name", HASHING)
def test_each_count_of_real_hashing_has_its_exact_law(name):
    """20 users, 3,000 times: chi-squared against the sum of two binomials, value by value."""
    oracle = HASHING[name](6, 1.1)
    users = np.array([8, 0, 5, 5, 2, 0])
    reports = oracle.perturb(np.tile(np.repeat(np.arange(6), users), 3_000), rng=np.random.default_rng(21))
    counts = oracle.supports(reports).reshape(3_000, 20, 6).sum(axis=1)
    for x in range(6):
        own = stats.binom.pmf(np.arange(21), users[x], oracle.p)
        other = stats.binom.pmf(np.arange(21), 20 - users[x], oracle.q)
        expected = dict(enumerate(np.convolve(own, other)[:21]))
        observed = dict(enumerate(np.bincount(counts[:, x], minlength=21)))
        assert chi_squared(expected, observed) > ALARM / 6


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_simulated_and_real_counts_have_the_same_spread(name):
    """40 users, 1,500 times each way: Kolmogorov and Smirnov's test of each count and of two sums of counts,
    and the variance of the estimates against the formula."""
    oracle = EVERY[name](8, 1.7)
    users = np.array([10, 0, 3, 7, 12, 0, 8, 0])
    rng = np.random.default_rng(31)
    reports = oracle.perturb(np.tile(np.repeat(np.arange(8), users), 1_500), rng=rng)
    real = oracle.supports(reports).reshape(1_500, 40, 8).sum(axis=1)
    simulated = np.array([oracle.simulate(users, rng=rng) for _ in range(1_500)])
    sums = np.c_[np.eye(8), np.repeat([1, 0], 4), np.tile([1, 0], 4)]
    for one, other in zip((real @ sums).T, (simulated @ sums).T):
        assert stats.ks_2samp(one, other, method="asymp").pvalue > ALARM / 10
    f = users / 40
    for counts in (real, simulated):
        squares = (oracle.estimate(counts, 40) - f) ** 2
        error = squares.std(axis=0) / math.sqrt(1_500)
        assert (np.abs(squares.mean(axis=0) - exact_variance(oracle, f, 40)) < normal_bound(16) * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [20_000, 5_000_000])
@pytest.mark.parametrize("name", EVERY)
def test_simulated_estimates_have_their_mean_and_variance_at_rare_and_frequent_values(name, n):
    """100 studies; of 40 values half are nobody's, and one is that of most users. False alarm 0.1 %, variances too small included."""
    oracle, rng = EVERY[name](40, 1.2), np.random.default_rng(17)
    users = np.where(np.arange(40) % 2, n // 100, 0)
    users[[1, 39]] = n - users.sum() + n // 100, 0
    n = users.sum()
    estimates = np.array([oracle.estimate(oracle.simulate(users, rng=rng), n) for _ in range(100)])
    scores = (estimates - users / n) / np.sqrt(exact_variance(oracle, users / n, n))
    assert np.abs(scores.sum(axis=0)).max() / 10 < stats.norm.isf(1e-3 / 120 / 2)
    spread = stats.chi2.cdf((scores**2).sum(axis=0), 100)
    assert 1e-3 / 120 < spread.min() and spread.max() < 1 - 1e-3 / 120


@pytest.mark.parametrize("name", EVERY)
def test_a_large_study_keeps_its_totals(name):
    """10^7 users; and where the sum of the counts is fixed, it is kept."""
    oracle = EVERY[name](128, 1.0)
    users = np.full(128, 10**7 // 128)
    counts = oracle.simulate(users, rng=np.random.default_rng(41))
    f, n = 1 / 128, users.sum()
    deviations = (oracle.estimate(counts, n) - f) / math.sqrt(oracle.variance(f, n))
    assert np.abs(deviations).max() < normal_bound(128)
    if name in ("GRR", "SS"):
        assert counts.sum() == n * getattr(oracle, "d", 1)
    assert np.array_equal(oracle.simulate(np.zeros(128), rng=np.random.default_rng(0)), np.zeros(128))


# ---- intervals


@pytest.mark.parametrize("name", EVERY)
def test_the_ends_of_an_interval_are_frequencies_that_just_fit(name):
    """(estimate - f)^2 = z^2 variance(f, n) at both ends, where they are frequencies."""
    oracle = EVERY[name](6, 1.4)
    users = np.array([900, 50, 50, 0, 600, 400])
    counts = oracle.simulate(users, rng=np.random.default_rng(51))
    estimate = oracle.estimate(counts, 2_000)
    low, high = oracle.interval(counts, 2_000, confidence=0.9)
    assert (low < estimate).all() and (estimate < high).all()
    hadamard = isinstance(oracle, HadamardResponse)
    for end in (low, high):
        inside = (0 <= end) & (end <= 1)
        assert inside.any()
        shares = [block_shares(oracle, estimate)[inside]] if hadamard else []
        squares = (estimate - end)[inside] ** 2 / oracle.variance(end[inside], 2_000, *shares)
        assert squares == pytest.approx(np.full(inside.sum(), stats.norm.ppf(0.95) ** 2), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_intervals_cover_as_often_as_they_say(name):
    """1,000 studies of 3,000 users: coverage of each value within the binomial bound of 95 %, but for 1 %
    that the normal approximation of counts, and of the blocks' shares, may cost."""
    oracle = EVERY[name](5, 1.0)
    users = np.array([1_500, 900, 500, 100, 0])
    rng = np.random.default_rng(61)
    low, high = oracle.interval([oracle.simulate(users, rng=rng) for _ in range(1_000)], 3_000)
    coverage = ((low <= users / 3_000) & (users / 3_000 <= high)).mean(axis=0)
    assert (np.abs(coverage - 0.95) < 0.01 + normal_bound(5) * math.sqrt(0.95 * 0.05 / 1_000)).all()


def test_more_confidence_takes_a_wider_interval():
    oracle = OUE(4, 1.0)
    counts = np.array([300, 400, 350, 380])
    widths = [
        np.diff(oracle.interval(counts, 1_000, confidence), axis=0)
        for confidence in (0.5, 0.9, 1 - 1e-15, 1 - 2.0**-53)
    ]
    assert (np.diff(widths, axis=0) > 0).all()


# ---- bad input

bad_epsilon = st.one_of(
    st.floats(max_value=0.0), st.sampled_from([math.inf, math.nan, -math.inf, 1e-300, "one", None, [1.0, 2.0]])
)
bad_k = st.one_of(st.integers(max_value=1), st.sampled_from([2.5, math.inf, math.nan, "many", [3, 4]]))


@PROPERTY
@given(st.sampled_from(sorted(ORACLES)), bad_epsilon)
def test_an_impossible_epsilon_is_refused(name, epsilon):
    if name == "SHE" and epsilon == 1e-300:
        return  # the noise is enormous, but nothing is lost to rounding
    with pytest.raises(ValueError, match="^epsilon must"):
        ORACLES[name](4, epsilon)


@PROPERTY
@given(st.sampled_from(sorted(ORACLES)), bad_k)
def test_an_impossible_k_is_refused(name, k):
    with pytest.raises(ValueError, match="^k must"):
        ORACLES[name](k, 1.0)


@PROPERTY
@given(
    st.sampled_from(sorted(ORACLES)),
    st.lists(st.integers(-3, 9), min_size=1, max_size=6),
    st.sampled_from([int, float]),
)
def test_values_outside_the_alphabet_are_refused(name, values, kind):
    oracle = ORACLES[name](7, 1.0)
    values = np.array(values, dtype=kind)
    if ((0 <= values) & (values < 7)).all():
        assert len(oracle.perturb(values, rng=np.random.default_rng(0))) == len(values)
    else:
        with pytest.raises(ValueError, match=r"^values must be .*in \[0, 7\)"):
            oracle.perturb(values, rng=np.random.default_rng(0))
        with pytest.raises(ValueError, match="^values must"):
            oracle.collect(values, rng=np.random.default_rng(0))


def bits(*rows):
    return np.array(rows, dtype=float)


uint64 = np.uint64
REPORTS = [
    (GRR(3, 1.0), [0, 3], "reports"),
    (GRR(3, 1.0), [-1], "reports"),
    (GRR(3, 1.0), [0.5], "reports"),
    (GRR(3, 1.0), [[0, 1]], "reports"),
    (GRR(3, 1.0), ["a"], "reports"),
    (OUE(3, 1.0), bits([0, 1, 2]), "reports"),
    (OUE(3, 1.0), bits([0, 1, np.nan]), "reports"),
    (OUE(3, 1.0), bits([0, 1]), "reports"),
    (OUE(3, 1.0), [0, 1, 0], "reports"),
    (SubsetSelection(4, 1.0, 2), bits([1, 1, 1, 0]), "reports"),
    (SubsetSelection(4, 1.0, 2), bits([1, 0, 0, 0]), "reports"),
    (HadamardResponse(3, 1.0), [8], "reports"),
    (HadamardResponse(3, 1.0), [-1], "reports"),
    (OLH(3, 1.0), np.array([[1, 2, 4]], dtype=uint64), "reports"),
    (OLH(3, 1.0), np.array([[1, 2]], dtype=uint64), "reports"),
    (OLH(3, 1.0), np.array([[1, 2, 3]]), "reports"),
    (SHE(3, 1.0), bits([0, 1, np.inf]), "reports"),
    (SHE(3, 1.0), bits([0, 1]), "reports"),
]


@pytest.mark.parametrize("oracle, reports, named", REPORTS)
def test_reports_outside_the_alphabet_are_refused(oracle, reports, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        oracle.aggregate(reports)
    with pytest.raises(ValueError, match=f"^{named} must"):
        oracle.probability(reports)


COUNTS = [
    ("GRR", [5, 5, 1]), ("GRR", [-1, 6, 5]), ("GRR", [10.5, -0.5, 0]), ("GRR", [5, 5]), ("GRR", 10),
    ("SUE", [11, 0, 0]), ("OUE", [0.5, 0, 0]), ("OUE", [0, 0, np.nan]), ("OUE", [0, 0, 0, 0]), ("THE", [-1, 0, 0]),
    ("BLH", [11, 0, 0]), ("OLH", [1.5, 0, 0]), ("OLH", [-1, 0, 0]),
    ("SHE", [0, 0, np.inf]), ("SHE", [0, 0]),
    ("SS", [9, 9, 9]), ("SS", [11, 0, 0]),
    ("HR", [10.5, 5, 5]), ("HR", [0.25, 5, 5]), ("HR", [5, 5]),
]  # fmt: skip


@pytest.mark.parametrize("name, counts", COUNTS)
def test_counts_that_cannot_come_from_10_users_are_refused(name, counts):
    oracle = ORACLES[name](3, 1.0)
    for method in (oracle.estimate, oracle.interval):
        with pytest.raises(ValueError, match="^counts (must|of 10 users must)"):
            method(counts, 10)


@PROPERTY
@given(st.sampled_from(sorted(ORACLES)), st.sampled_from([0, -5, 2.5, math.nan, math.inf, "ten", [10, 10]]))
def test_an_impossible_number_of_users_is_refused(name, n):
    oracle = ORACLES[name](2, 1.0)
    with pytest.raises(ValueError, match="^n must"):
        oracle.estimate([1, 1], n)
    if not isinstance(n, list):
        with pytest.raises(ValueError, match="^n must"):
            oracle.variance(0.1, n)


@pytest.mark.parametrize("own, n", [(0, 0), (0, 3), (2, 5), (5, 5), (3, 9)])
def test_the_law_of_a_count_is_that_of_all_coins(own, n):
    p, q = 0.7, 0.2
    expected = np.zeros(n + 1)
    for coins in itertools.product([0, 1], repeat=n):
        chances = [chance if coin else 1 - chance for coin, chance in zip(coins, [p] * own + [q] * (n - own))]
        expected[sum(coins)] += math.prod(chances)
    assert count_law(own, n, p, q) == pytest.approx(expected, abs=1e-14)


def test_the_law_of_a_large_count_has_the_moments_of_the_protocol():
    oracle, n, f = OUE(8, 1.3), 5_000, 0.3
    law = count_law(1_500, n, oracle.p, oracle.q)
    estimates = oracle.estimate(np.stack([np.arange(n + 1)] * 8, axis=1), n)[:, 0]
    assert law.sum() == pytest.approx(1) and law @ estimates == pytest.approx(f)
    assert law @ (estimates - f) ** 2 == pytest.approx(oracle.variance(f, n))


def test_no_probability_of_a_count_is_negative_or_lost():
    law = count_law(5_000, 10_000, 0.75, 0.25)
    assert law.min() >= 0 and law.sum() == pytest.approx(1)
    law = count_law(300, 600, 0.75, 0.25)
    assert law[[0, -1]] == pytest.approx([0.1875**300] * 2, rel=1e-9, abs=0)


@pytest.mark.parametrize("name", EVERY)
def test_variances_are_those_of_each_value(name):
    oracle, users = EVERY[name](6, 1.1), np.array([8, 0, 5, 5, 2, 0])
    expected = exact_variance(oracle, users / 20, 20)
    np.testing.assert_array_equal(oracle.variances(users), expected)
    with pytest.raises(ValueError, match="^counts must"):
        oracle.variances(users[:5])


@pytest.mark.parametrize(
    ("own", "n", "p", "q", "named"),
    [
        (4, 3, 0.7, 0.2, "own"),
        (-1, 3, 0.7, 0.2, "own"),
        (1, 2.5, 0.7, 0.2, "n"),
        (1, 3, 1.1, 0.2, "p"),
        (1, 3, 0.7, -1, "q"),
    ],
)
def test_laws_of_impossible_counts_are_refused(own, n, p, q, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        count_law(own, n, p, q)


@pytest.mark.parametrize("missing", ["perturb", "supports", "simulate"])
def test_an_oracle_without_one_of_its_parts_cannot_be_made(missing):
    parts = {name: getattr(GRR, name) for name in ("perturb", "supports", "simulate")}
    whole = type("Whole", (protocol.FrequencyOracle,), parts)
    assert whole(3, 1.0).k == 3
    del parts[missing]
    with pytest.raises(TypeError, match=missing):
        type("Partial", (protocol.FrequencyOracle,), parts)(3, 1.0)


def test_unary_encoding_alone_has_no_probabilities():
    with pytest.raises(TypeError, match="probabilities"):
        unary_encoding.UnaryEncoding(3, 1.0)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: OUE(3, 1.0).variance(1.1, 10), "f"),
        (lambda: OUE(3, 1.0).interval([5, 5, 5], 10, confidence=1.0), "confidence"),
        (lambda: HadamardResponse(3, 1.0).variance(-0.1, 10), "f"),
        (lambda: HadamardResponse(3, 1.0).variance(0.1, 10, block_share=1.5), "block_share"),
        (lambda: HadamardResponse(3, 1.0, blocks=3), "blocks"),
        (lambda: HadamardResponse(3, 1.0, blocks=0), "blocks"),
        (lambda: THE(3, 1.0, theta=1.5), "theta"),
        (lambda: SubsetSelection(3, 1.0, d=0), "d"),
        (lambda: SubsetSelection(3, 1.0, d=3), "d"),
        (lambda: LocalHashing(3, 1.0, g=1), "g"),
        (lambda: LocalHashing(3, 1.0, g=2**16 + 1), "g"),
        (lambda: GRR(2**33, 1.0), "k"),
        (lambda: GRR(3, 1.0).simulate([1, 2], rng=np.random.default_rng(0)), "counts"),
        (lambda: OUE(3, 1.0).simulate([1, 2, -1], rng=np.random.default_rng(0)), "counts"),
        (lambda: OUE(3, 1.0).simulate([1, 2, 0.5], rng=np.random.default_rng(0)), "counts"),
    ],
)
def test_other_bad_input_is_refused_by_name(call, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        call()
