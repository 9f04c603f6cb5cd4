"""`double_double` against exact rational arithmetic."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from lib.numerics import double_double as dd

numbers = st.floats(min_value=-1e15, max_value=1e15, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-15)


def exact(x):
    return Fraction(float(x[0])) + Fraction(float(x[1]))


@settings(derandomize=True, deadline=None)
@given(numbers, numbers)
def test_sum_and_product_of_two_floats_are_exact(a, b):
    assert exact(dd.two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exact(dd.two_product(a, b)) == Fraction(a) * Fraction(b)


@settings(derandomize=True, deadline=None)
@given(numbers, numbers, numbers)
def test_product_of_three_floats_keeps_thirty_digits(a, b, c):
    product = Fraction(a) * Fraction(b) * Fraction(c)
    assert abs(exact(dd.times(dd.two_product(a, b), c)) - product) <= abs(product) * Fraction(2) ** -100


@settings(derandomize=True, deadline=None)
@given(numbers, numbers, numbers, numbers)
def test_difference_of_products_keeps_digits_that_cancel(a, b, c, d):
    difference = Fraction(a) * Fraction(b) - Fraction(c) * Fraction(d)
    scale = max(abs(Fraction(a) * Fraction(b)), abs(Fraction(c) * Fraction(d)))
    result = dd.minus(dd.two_product(a, b), dd.two_product(c, d))
    assert abs(exact(result) - difference) <= scale * Fraction(2) ** -98
    assert (
        abs(Fraction(float(dd.to_float(result))) - difference)
        <= abs(difference) * Fraction(2) ** -52 + scale * Fraction(2) ** -98
    )


def test_a_difference_that_double_precision_loses():
    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30  # a b = 1 - 2^-60, which rounds to 1
    assert a * b - 1.0 == 0
    assert dd.to_float(dd.minus(dd.two_product(a, b), (1.0, 0.0))) == -(2.0**-60)
