"""The certified mu, against 400-digit arithmetic and against the floating-point curve, which must be near."""

import itertools
from fractions import Fraction

import mpmath as mp
import pytest

from lib.accounting import certified_zcdp, gaussian_sigma
from lib.accounting.certified_gaussian import certified_mu, delta_above

CASES = list(itertools.product([1e-6, 1e-3, 0.1, 1.0, 3.0, 100.0, 1e4], [0.5, 1e-2, 1e-5, 1e-9, 1e-20, 1e-100, 1e-300]))


def exact(value):
    return mp.mpf(value.numerator) / value.denominator


def delta(epsilon, mu):
    """Return Phi(-a) - e^epsilon Phi(-b)."""
    a = epsilon / exact(mu) - exact(mu) / 2
    return mp.erfc(a / mp.sqrt(2)) / 2 - mp.exp(epsilon) * mp.erfc((a + exact(mu)) / mp.sqrt(2)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("epsilon, goal", CASES, ids=str)
def test_the_mu_is_proved_and_hardly_below_the_largest(epsilon, goal):
    mu = certified_mu(epsilon, goal)
    assert isinstance(mu, Fraction) and mu**2 >= 2 * certified_zcdp(epsilon, goal) * (1 - Fraction(1, 2**60))
    with mp.workdps(400):
        assert delta(mp.mpf(epsilon), mu) <= mp.mpf(goal)
    largest = 1 / gaussian_sigma(epsilon, goal)
    assert float(mu) <= largest
    if epsilon / largest - largest / 2 > 0.26:
        assert float(mu) >= largest * (1 - 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("a", [Fraction(1, 4), Fraction(1, 2), Fraction(7, 3), Fraction(37)], ids=str)
@pytest.mark.parametrize("mu", [Fraction(1, 10**7), Fraction(1, 3), Fraction(5), Fraction(100)], ids=str)
def test_the_bound_is_above_and_close(a, mu):
    with mp.workdps(400):
        wanted, found = delta(exact(a * mu + mu**2 / 2), mu), exact(delta_above(a, mu))
        assert wanted <= found <= wanted * (1 + mp.mpf(10) ** (-15 if a > 0.3 else -7))


def test_a_mu_that_is_larger_by_a_billionth_is_not_verified():
    for epsilon, goal in ((1.0, 1e-9), (0.1, 1e-5), (10.0, 1e-12)):
        mu = certified_mu(epsilon, goal) * (1 + Fraction(1, 10**9))
        assert delta_above(Fraction(epsilon) / mu - mu / 2, mu) > goal


@pytest.mark.parametrize(
    "epsilon, goal, named",
    [
        (0.0, 0.1, r"epsilon must be in \[1e-6, 1e6\], got 0"),
        (1.0, 0.0, r"delta must be in \[1e-300, 1\), got 0"),
        (1.0, 1.0, r"delta must be in \[1e-300, 1\), got 1"),
    ],
)
def test_bad_input_is_refused(epsilon, goal, named):
    with pytest.raises(ValueError, match=named):
        certified_mu(epsilon, goal)
