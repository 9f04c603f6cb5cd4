"""The rounded Gaussian sampler: each coin and each comparison by enumeration, and draws against the exact law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from scipy import stats

from lib.mechanisms import rounded_noise
from lib.mechanisms.noise import system_rng
from lib.mechanisms.rounded_noise import rounded_gaussian


class Enumerated:
    """In place of the random draws of `_coin`: follows each possible path, down to a probability of 1e-13, in fractions."""

    def __init__(self, monkeypatch, m):
        self.m, self.script, self.open = m, [], []
        monkeypatch.setattr(
            rounded_noise,
            "bernoulli",
            lambda num, den, *, rng: self.choose([Fraction(num, den), 1 - Fraction(num, den)]) == 0,
        )
        monkeypatch.setattr(rounded_noise, "uniform_integers", lambda count, bound, *, rng: [self.uniform(bound)])  # fmt: skip

    def uniform(self, bound):
        """Only whether the number is below 2 m, is 2 m or is above matters."""
        parts = [Fraction(2 * self.m, bound), Fraction(1, bound), Fraction(bound - 2 * self.m - 1, bound)]
        return (0, 2 * self.m, 2 * self.m + 1)[self.choose(parts)] if self.m else int(self.choose(parts) - 1)

    def choose(self, chances):
        assert min(chances) >= 0 and sum(chances) == 1
        place = len(self.path)
        if place == len(self.script):
            self.script.append(0)
        self.path.append(len(chances))
        self.chance *= chances[self.script[place]]
        if self.chance < 1e-13:
            raise StopIteration
        return self.script[place]

    def law(self, run):
        """Return the probability of True, and of the paths that were not followed."""
        heads = left = Fraction(0)
        while True:
            self.path, self.chance = [], Fraction(1)
            try:
                found = run()
                heads += self.chance if found else 0
            except StopIteration:
                left += self.chance
            self.script = self.script[: len(self.path)]
            while self.script and self.script[-1] == self.path[len(self.script) - 1] - 1:
                self.script.pop()
            if not self.script:
                return heads, left
            self.script[-1] += 1


@pytest.mark.slow
@pytest.mark.parametrize("m, u", [(0, 1), (0, 2), (1, 2), (3, 2), (5, 3), (7, 4), (20, 6)])
def test_the_second_coin_has_its_probability(m, u, monkeypatch):
    """E[e^(-f (2 m + f)/(2 u^2))] for uniform f, from all paths of the code, and by an integral."""
    paths = Enumerated(monkeypatch, m)
    heads, left = paths.law(lambda: rounded_noise._coin(m, u, paths.uniform(2 * u**2), None))
    wanted = scipy.integrate.quad(lambda f: math.exp(-f * (2 * m + f) / (2 * u**2)), 0, 1, epsabs=1e-14)[0]
    assert left < 1e-9 and float(heads) - 1e-12 <= wanted <= float(heads + left) + 1e-12


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 9), Fraction(1), Fraction(7, 4), Fraction(41, 3), Fraction(2**40 + 1, 8)]
)
def test_a_proposal_is_the_deviate_that_it_describes(sigma, monkeypatch):
    """What the coins are asked for and what is returned, in fractions: |g| = k + (j + f)/u, whatever f in [0, 1)."""
    asked, rng, exps = [], np.random.default_rng(1), rounded_noise.bernoulli_exp

    def coins(num, den, *, rng):
        asked.append((num, den))
        return (
            exps(num, den, rng=rng)
            if len(num) and max(num.tolist()) < 2 and den == 2
            else np.ones(len(num), dtype=bool)
        )

    def uniforms(count, bound, *, rng):
        asked.append((count, bound))
        return np.array([int(x * bound) for x in np.random.default_rng(2).random(count)], dtype=object)

    monkeypatch.setattr(rounded_noise, "bernoulli_exp", coins)
    monkeypatch.setattr(rounded_noise, "uniform_integers", uniforms)
    monkeypatch.setattr(rounded_noise, "_coin", lambda m, u, first, rng: True)
    monkeypatch.setattr(rounded_noise, "bernoulli", lambda num, den, *, rng: np.ones(len(num), dtype=bool))
    found = rounded_noise._proposals(500, sigma, rng)
    (squares, two), (count, u), (num, den), (again, bound) = asked[-4:]
    k = [(1 + math.isqrt(1 + 4 * int(square))) // 2 if square else 0 for square in squares]  # 0 is k = 0 or 1
    j = [int(x * u) for x in np.random.default_rng(2).random(500)]
    assert (two, count, again, den, bound) == (2, 500, 500, 2 * u**2, 2 * u**2) and u > max(k) + 1
    for square, place, exponent, result in zip(squares, j, num, found):
        likely = [k for k in range(60) if k * (k - 1) == square]
        ks = [k for k in likely if place * (2 * u * k + place) == exponent]
        assert len(ks) == 1
        for f in (Fraction(0), Fraction(1, 2), Fraction(999, 1000)):
            x = (place + f) / u
            rest = f * (2 * (ks[0] * u + place) + f) / (2 * u**2)
            assert x * (2 * ks[0] + x) / 2 == Fraction(int(exponent), den) + rest and rest <= 1
            assert result == math.floor(sigma * (ks[0] + x) + Fraction(1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("fine", [1, 2**10], ids=["coarse", "fine"])
@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(1, 3), 1, 1.75, 5, Fraction(40, 3)], ids=str)
def test_draws_have_the_rounded_normal_law(sigma, fine, monkeypatch):
    """Pearson's test at a false-alarm rate of 1e-6, with a fixed seed; coarse grids toss the second coin often."""
    monkeypatch.setattr(rounded_noise, "_FINE", fine)
    trials = 20_000 if fine == 1 else 200_000
    draws = rounded_gaussian(trials, sigma, rng=np.random.default_rng(3))
    law = np.diff(stats.norm.cdf((np.arange(-200, 202) - 0.5) / float(sigma)))
    seen, likely = np.bincount(draws + 200, minlength=401), trials * law > 5
    found = np.append(seen[likely], seen[~likely].sum())
    expected = np.append(trials * law[likely], max(trials * (1 - law[likely].sum()), 1e-3))
    assert stats.chisquare(found, expected * trials / expected.sum()).pvalue > 1e-6


@pytest.mark.parametrize(
    "sigma", [Fraction(8191, 64), 40_000, 8191 * 2**7, 2**27 + 1, 2**49 + 1, 2**50, 10**30], ids=str
)
def test_large_scales_have_it_too(sigma):
    draws = rounded_gaussian((40, 50), sigma, rng=np.random.default_rng(4))
    assert draws.shape == (40, 50) and draws.dtype == (np.int64 if sigma < 2**50 else object)
    assert stats.kstest(np.asarray(draws.ravel(), dtype=float) / float(sigma), "norm").pvalue > 1e-6


def test_neighbouring_draws_are_independent():
    draws = rounded_gaussian((50_000, 2), 3, rng=np.random.default_rng(5)).astype(float)
    for one, other in itertools.product((draws[:, 0], np.abs(draws[:, 0])), (draws[:, 1], np.abs(draws[:, 1]))):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(50_000)


def test_shapes_and_sources():
    assert rounded_gaussian((), 2, rng=system_rng()).shape == () and rounded_gaussian(
        (0, 3), 2, rng=system_rng()
    ).shape == (0, 3)
    assert rounded_gaussian(7, 2, rng=system_rng()).shape == (7,)
    one, two = (rounded_gaussian(9, 100, rng=np.random.default_rng(6)) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    "options, named",
    [
        ({"sigma": 0}, r"sigma must be in \(0, inf\), got 0"),
        ({"sigma": math.nan}, r"sigma must be in \(0, inf\), got nan"),
        ({"shape": -1}, r"shape must be in \[0, inf\), got -1"),
        ({"rng": 3}, r"rng must have a method bytes\(n\)"),
    ],
)
def test_bad_input_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        rounded_gaussian(**{"shape": 3, "sigma": 2.0, "rng": np.random.default_rng(1)} | options)
