"""Conversions rounded to the safe side, against 60-digit arithmetic and the floating-point conversions that they
approximate."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.accounting import conversions
from lib.accounting.certified import certified_zcdp, log_between, root_down, root_up, round_down

EPSILONS = st.floats(-6, 6).map(lambda power: min(max(10.0**power, 1e-6), 1e6))
DELTAS = st.floats(-300, -1e-4).map(lambda power: max(10.0**power, 1e-300))


def least_epsilon(rho, delta):
    """Return the epsilon that rho-zCDP implies at `delta`, in 60 digits, by a search over the order that is independent of lib's."""
    with mp.workdps(60):
        rho, goal = mp.mpf(rho.numerator) / rho.denominator, -mp.log(mp.mpf(delta))

        def cost(u):
            x = mp.e**u
            return rho * (1 + x) - mp.log(1 + 1 / x) - mp.log(1 + x) / x + goal / x

        low, high = mp.mpf(-30), mp.log(goal / rho) / 2 + 2
        golden = (mp.sqrt(5) - 1) / 2
        left, right = high - golden * (high - low), low + golden * (high - low)
        of_left, of_right = cost(left), cost(right)
        for _ in range(110):  # golden section: the cost has one minimum, and 20 digits of where give 40 of it
            if of_left < of_right:
                high, right, of_right = right, left, of_left
                left = high - golden * (high - low)
                of_left = cost(left)
            else:
                low, left, of_left = left, right, of_right
                right = low + golden * (high - low)
                of_right = cost(right)
        return min(of_left, of_right)


@pytest.mark.slow
@given(EPSILONS, DELTAS)
def test_the_rho_is_proved_and_hardly_smaller_than_the_floating_one(epsilon, delta):
    rho = certified_zcdp(epsilon, delta)
    assert isinstance(rho, Fraction)
    assert float(rho) == pytest.approx(float(conversions.dp_to_zcdp(epsilon, delta)), rel=1e-9)
    assert least_epsilon(rho, delta) <= epsilon


@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-9), (0.1, 1e-5), (10.0, 1e-12)])
def test_a_rho_that_is_larger_by_a_billionth_is_not_proved(epsilon, delta):
    rho = certified_zcdp(epsilon, delta)
    assert least_epsilon(rho * (1 + Fraction(1, 10**9)), delta) > epsilon


def test_a_fraction_stands_for_itself():
    third, little = Fraction(1, 3), Fraction(1, 10**18)
    assert certified_zcdp(third - little, 1e-9) < certified_zcdp(third, 1e-9) < certified_zcdp(third + little, 1e-9)
    assert certified_zcdp(0.25, 1e-9) == certified_zcdp(Fraction(1, 4), 1e-9)


@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**40))
def test_logarithms_lie_between_their_ends(value):
    low, high = log_between(value)
    with mp.workdps(80):
        exact = mp.log(mp.mpf(value.numerator) / value.denominator)
        assert mp.mpf(low.numerator) / low.denominator <= exact <= mp.mpf(high.numerator) / high.denominator
    assert high - low <= Fraction(1, 10**40)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(8, 80))
def test_rounding_is_to_the_named_side_and_near(value, bits):
    near = Fraction(16, 2**bits)
    down = round_down(value, bits)
    assert down <= value <= down * (1 + near)
    low, high = root_down(value, bits), root_up(value, bits)
    assert low**2 <= value <= high**2 and high - low <= high * near
    assert max(low.numerator.bit_length(), high.numerator.bit_length()) <= bits + 2


def test_a_square_is_its_roots_square():
    assert root_down(Fraction(9, 4), 10) == root_up(Fraction(9, 4), 10) == Fraction(3, 2)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: certified_zcdp(0.0, 1e-9), "epsilon must be in .1e-6, 1e6., got 0"),
        (lambda: certified_zcdp(1.0, 1.0), "delta must be in .1e-300, 1., got 1"),
        (lambda: certified_zcdp(math.nan, 1e-9), "epsilon must"),
        (lambda: round_down(Fraction(0)), "value must be in .0, inf., got 0"),
        (lambda: root_up(Fraction(-1)), "value must be in .0, inf., got -1"),
        (lambda: root_down(Fraction(0)), "value must be in .0, inf., got 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, named):
    with pytest.raises(ValueError, match=named):
        call()
