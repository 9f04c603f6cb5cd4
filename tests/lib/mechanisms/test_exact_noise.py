"""`exact_noise`: each coin against the digits that it was drawn from, and each law against exact probabilities.

The statistical tests have fixed seeds; each raises a false alarm in 1 of 100,000 seeds.
"""

import ast
import inspect
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lib.mechanisms import exact_noise, noise

properties = settings(derandomize=True, deadline=None, max_examples=200)
FALSE_ALARM = 1e-5


# ---- coins


class Recorder:
    """Random bytes, after some that are prescribed; keeps what it gave, one word an entry."""

    def __init__(self, prescribed, seed):
        self.prescribed, self.rng, self.words = list(prescribed), np.random.default_rng(seed), []

    def bytes(self, length):
        data = self.prescribed.pop(0).to_bytes(length, "little") if self.prescribed else self.rng.bytes(length)
        self.words.append((int.from_bytes(data, "little"), 8 * length))
        return data


denominators = st.integers(0, 200).flatmap(lambda bits: st.integers(2**bits, 2 ** (bits + 1)))


@pytest.mark.slow
@properties
@given(denominators, st.floats(0, 1), st.integers(0, 4), st.integers(-1, 1), st.integers(0, 99))
def test_a_coin_compares_a_random_number_with_its_probability(den, share, ties, off, seed):
    num = min(int(share * den), den)
    bits = 32 if den < 2**31 or den >= 2**55 else 16 if den < 2**47 else 8
    digits = [(num << bits * (i + 1)) // den % 2**bits for i in range(ties + 1)] if num < den else []
    if digits:  # the random digits agree with those of num/den, up to the last
        digits[-1] = min(max(digits[-1] + off, 0), 2**bits - 1)
    recorder = Recorder(digits, seed)
    heads = exact_noise.bernoulli(num, den, rng=recorder)
    low, width = Fraction(0), Fraction(1)
    for i, (word, size) in enumerate(recorder.words):
        low, width = low + word * width / 2**size, width / 2**size
        undecided = low < Fraction(num, den) < low + width
        assert not undecided or i < len(recorder.words) - 1  # no coin is thrown before it is decided
    assert heads == (low < Fraction(num, den))


def agrees(heads, p):
    return stats.binomtest(int(heads.sum()), heads.size, p).pvalue > FALSE_ALARM


@pytest.mark.parametrize("den", [7, 2**33 + 1, 2**50 + 1, 2**54 + 3, 2**61 + 1, 3**90])
@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_exponential_coins(den, x):
    num = int(x * den)
    heads = exact_noise.bernoulli_exp(np.array([num] * 20_000), den, rng=np.random.default_rng(1))
    assert agrees(heads, math.exp(-num / den))


def test_the_digits_of_the_coin_of_one_in_e_are_those_of_mpmath():
    with mpmath.workdps(400):
        digits = int(mpmath.floor(mpmath.exp(-1) * mpmath.mpf(2) ** (32 * 30)))
    found = [exact_noise._digit_of_inverse_e(place) for place in range(30)]
    assert sum(digit << 32 * (29 - place) for place, digit in enumerate(found)) == digits


@pytest.mark.parametrize("ties", [0, 1, 5])
def test_the_coin_of_one_in_e_is_decided_by_the_first_digit_that_differs(ties):
    known = [exact_noise._digit_of_inverse_e(place) for place in range(ties + 1)]
    for last, heads in ((known[-1] - 1, True), (known[-1] + 1, False)):
        bits = b"".join(digit.to_bytes(4, "little") for digit in [*known[:-1], last])
        assert exact_noise._inverse_e(1, BytesInOrder(bits)).tolist() == [heads]


class BytesInOrder:
    """Random bits that are known."""

    def __init__(self, bits):
        self.left = bits

    def bytes(self, n):
        found, self.left = self.left[:n], self.left[n:]
        assert len(found) == n
        return found


def test_coins_of_different_probabilities_at_once_keep_their_places():
    num = np.tile(np.arange(6), (50_000, 1))
    rng = np.random.default_rng(2)
    for i, (coin, power) in enumerate(
        zip(exact_noise.bernoulli(num, 5, rng=rng).T, exact_noise.bernoulli_exp(num, 5, rng=rng).T)
    ):
        assert agrees(coin, i / 5) and agrees(power, math.exp(-i / 5))


@pytest.mark.parametrize("bound", [1, 2, 3, 200, 257, 2**16, 2**33 + 1, 2**62, 2**62 + 1, 10**30])
def test_uniform_integers(bound):
    draws = exact_noise.uniform_integers((100, 300), bound, rng=np.random.default_rng(3))
    assert draws.shape == (100, 300) and draws.min() >= 0 and draws.max() < bound
    assert draws.dtype == (np.int64 if bound <= 2**62 else object)
    cells = np.minimum(
        (draws.ravel() * 7) // bound if bound < 2**59 else np.array([7 * int(u) // bound for u in draws.flat]), 6
    )
    edges = np.array([-(-i * bound // 7) for i in range(8)], dtype=object)
    expected = np.array([int(b - a) / bound for a, b in zip(edges, edges[1:])]) * draws.size
    counts = np.bincount(cells.astype(int), minlength=7)
    assert (counts[expected == 0] == 0).all()
    if bound > 1:
        assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > FALSE_ALARM


# ---- laws


def chi_square(draws, probability, reach):
    """Return the p-value of integer draws against probability(x), |x| <= reach, the tails together."""
    x = np.arange(-reach, reach + 1)
    p = np.array([float(probability(int(i))) for i in x])
    counts = np.array([(draws == i).sum() for i in x])
    p, counts = np.append(p, max(1 - p.sum(), 0)), np.append(counts, draws.size - counts.sum())
    rare = p * draws.size < 5
    p, counts = np.append(p[~rare], p[rare].sum()), np.append(counts[~rare], counts[rare].sum())
    if p[-1] * draws.size < 1:
        assert counts[-1] <= 12  # has a probability below 1e-9
        p, counts = p[:-1] / p[:-1].sum(), counts[:-1]
    return stats.chisquare(counts, p * counts.sum()).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.2, 1, Fraction(5, 2), 3.7, Fraction(10**20 + 1, 3 * 10**20), 12])
def test_discrete_laplace_follows_its_law(scale):
    draws = exact_noise.discrete_laplace(100_000, scale, rng=np.random.default_rng(4))
    assert chi_square(draws, stats.dlaplace(float(1 / Fraction(scale))).pmf, int(8 * scale) + 2) > FALSE_ALARM


def gaussian_law(sigma):
    two_variances = 2 * mpmath.mpf(Fraction(sigma).numerator) ** 2 / mpmath.mpf(Fraction(sigma).denominator) ** 2
    total = mpmath.jtheta(3, 0, mpmath.exp(-1 / two_variances))
    return lambda x: mpmath.exp(-(x**2) / two_variances) / total


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [0.3, 0.75, 1, Fraction(7, 3), 3.7, 20, Fraction(10**20 + 1, 3 * 10**19)])
def test_discrete_gaussian_follows_its_law(sigma):
    draws = exact_noise.discrete_gaussian(100_000, sigma, rng=np.random.default_rng(5))
    assert chi_square(draws, gaussian_law(sigma), int(5 * sigma) + 2) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e5, 12345.678, 2.0**49, 2**50, 1e20, Fraction(10**40, 7)])
def test_wide_noise_is_nearly_continuous(size):
    for draw, law in [(exact_noise.discrete_laplace, stats.laplace), (exact_noise.discrete_gaussian, stats.norm)]:
        draws = draw(20_000, size, rng=np.random.default_rng(6))
        assert draws.dtype == (np.int64 if size < 2**50 else object)
        assert stats.kstest(draws.astype(float) / float(size), law.cdf).pvalue > FALSE_ALARM
        last_bits = np.bincount([int(x) % 8 for x in draws], minlength=8)  # rounded floats would end in zeros
        assert stats.chisquare(last_bits).pvalue > FALSE_ALARM


@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e-3])
def test_tiny_noise_is_none(size):
    rng = np.random.default_rng(7)
    assert not exact_noise.discrete_gaussian(1000, size, rng=rng).any()
    assert not exact_noise.discrete_laplace(1000, size, rng=rng).any()


class Counter:
    """Random bits whose words of 32 bits are 0, 1, 2, ..."""

    def __init__(self):
        self.given = 0

    def bytes(self, length):
        first, self.given = self.given, self.given + length // 4
        return np.arange(first, self.given, dtype="<u4").tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [65_537, (3, 700_001), (5 * 10**6, 1)], ids=str)
@pytest.mark.parametrize("kind", ["laplace", "gaussian", "uniform", "coins"])
def test_no_draw_repeats_an_earlier_one(kind, shape, monkeypatch):
    """There are up to 5 million draws. Each comes from a proposal of its own, or from bits of its own."""
    proposals, places = itertools.count(0, 30_000), np.arange(np.prod(shape)).reshape(shape)

    def proposed(count, size, rng):
        return next(proposals) + np.arange(min(count, 30_000))

    if kind == "coins":  # of a probability just above or just below the number that the bits give
        heads = exact_noise.bernoulli(places // 4 + (places % 3 > 0), 2**30, rng=Counter())
        assert np.array_equal(heads, places % 3 > 0)
    elif kind == "uniform":
        assert np.array_equal(exact_noise.uniform_integers(shape, 2**32, rng=Counter()), places)
    else:
        monkeypatch.setattr(exact_noise, f"_{kind}_proposals", proposed)
        assert np.array_equal(getattr(exact_noise, f"discrete_{kind}")(shape, 2, rng=Counter()), places)


def test_draws_are_independent_of_their_neighbours():
    x = exact_noise.discrete_gaussian(200_000, 4, rng=np.random.default_rng(8))
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(x.size)


@pytest.mark.parametrize("draw", [exact_noise.discrete_laplace, exact_noise.discrete_gaussian])
def test_shapes_and_repeatability(draw):
    for shape in [(), 0, 3, (2, 3), (0, 4)]:
        first, second = (draw(shape, 5, rng=np.random.default_rng(9)) for _ in range(2))
        assert first.shape == np.empty(shape).shape and first.dtype == np.int64
        np.testing.assert_array_equal(first, second)
    same = [
        draw(50, value, rng=np.random.default_rng(9))
        for value in (2, 2.0, np.int64(2), np.float32(2), Fraction(2), np.array(2.0))
    ]
    assert all((same[0] == other).all() for other in same)


def test_the_systems_randomness_has_the_same_interface(monkeypatch):
    draws = exact_noise.discrete_gaussian(1000, 1000, rng=noise.system_rng())
    assert draws.shape == (1000,) and len(np.unique(draws)) > 500
    assert (draws != exact_noise.discrete_gaussian(1000, 1000, rng=noise.system_rng())).any()
    monkeypatch.setattr(noise.os, "urandom", np.random.default_rng(10).bytes)
    scripted = exact_noise.discrete_laplace(1000, 1000, rng=noise.system_rng())
    np.testing.assert_array_equal(scripted, exact_noise.discrete_laplace(1000, 1000, rng=np.random.default_rng(10)))
    with pytest.raises(ValueError, match="rng must be a numpy.random.Generator"):
        noise.laplace(3, 1.0, rng=noise.system_rng())
    with pytest.raises(ValueError, match="rng must be a numpy.random.Generator"):
        noise.gaussian(3, 1.0, rng=noise.system_rng())


def test_the_samplers_compute_with_whole_numbers_only():
    """No division but //, no decimal constant, no transcendental function in the module, its types apart."""
    tree = ast.parse(inspect.getsource(exact_noise))
    for node in ast.walk(tree):
        vars(node).update(dict.fromkeys({"annotation", "returns"} & vars(node).keys()))
    assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))
    assert not any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(tree))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not called & {"exp", "log", "sqrt", "random", "uniform", "float64", "power", "rint", "floor"}


# ---- refusals

bad_sizes = st.one_of(
    st.floats(max_value=0), st.integers(max_value=0), st.sampled_from([math.nan, math.inf, -math.inf, "1", None, True, 1j, [1]]),
)  # fmt: skip


@properties
@given(bad_sizes)
def test_bad_sizes_are_refused_by_name(size):
    with pytest.raises(ValueError, match=r"scale must be .*\(0, inf\)"):
        exact_noise.discrete_laplace(3, size, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"sigma must be .*\(0, inf\)"):
        exact_noise.discrete_gaussian(3, size, rng=np.random.default_rng(0))


@pytest.mark.parametrize("name, call", [
    ("num", lambda rng: exact_noise.bernoulli(3, 2, rng=rng)),
    ("num", lambda rng: exact_noise.bernoulli(-1, 2, rng=rng)),
    ("num", lambda rng: exact_noise.bernoulli([0.5], 2, rng=rng)),
    ("num", lambda rng: exact_noise.bernoulli_exp(np.array([1, -2]), 2, rng=rng)),
    ("num", lambda rng: exact_noise.bernoulli_exp([True], 2, rng=rng)),
    ("den", lambda rng: exact_noise.bernoulli(0, 0, rng=rng)),
    ("den", lambda rng: exact_noise.bernoulli_exp(0, 1.0, rng=rng)),
    ("bound", lambda rng: exact_noise.uniform_integers(3, 0, rng=rng)),
    ("bound", lambda rng: exact_noise.uniform_integers(3, 2.0, rng=rng)),
    ("shape", lambda rng: exact_noise.uniform_integers(-3, 2, rng=rng)),
    ("shape", lambda rng: exact_noise.discrete_laplace((2, 0.5), 2, rng=rng)),
    ("shape", lambda rng: exact_noise.discrete_gaussian("many", 2, rng=rng)),
    ("rng", lambda _: exact_noise.discrete_gaussian(3, 2, rng=None)),
    ("rng", lambda _: exact_noise.uniform_integers(3, 2, rng=7)),
    ("rng", lambda _: exact_noise.bernoulli(1, 2, rng="system")),
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=f"{name} must"):
        call(np.random.default_rng(0))
