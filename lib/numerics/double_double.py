"""Compute differences of products to full relative accuracy (Dekker 1971, Knuth 1969).

The theorems of `miura2022` divide by quantities such as ``sigma n^2 - 4 d alpha (n - 1)``, which lose every digit of
double precision near the edge of the theorems' conditions. Double-double arithmetic keeps the relative accuracy of such
differences. A double-double is an unevaluated sum of two doubles (about 32 digits), given as a pair ``(high, low)`` of
arrays of equal shape.

Every operation broadcasts. The stated accuracy holds unless products overflow (above about 1e300) or underflow.
"""

from __future__ import annotations

from .checks import Numbers

_SPLITTER = 2.0**27 + 1


def two_sum(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    """Return the sum of two floats as a double-double, without rounding error."""
    high = a + b
    shadow = high - a
    return high, (a - (high - shadow)) + (b - shadow)


def two_product(a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    """Return the product of two floats as a double-double, without rounding error."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    high = a * b
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


def times(x: tuple[Numbers, Numbers], b: Numbers) -> tuple[Numbers, Numbers]:
    """Return the double-double `x` times the float `b`, with a relative error of about 2^-104."""
    high, low = two_product(x[0], b)
    return _renormalise(high, low + x[1] * b)


def minus(x: tuple[Numbers, Numbers], y: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """Return `x` minus `y`, both double-doubles, with an error of about 2^-104 times the larger of the two."""
    high, error = two_sum(x[0], -y[0])
    low, tail = two_sum(x[1], -y[1])
    high, low = _renormalise(high, error + low)
    return _renormalise(high, low + tail)


def to_float(x: tuple[Numbers, Numbers]) -> Numbers:
    """Return the float nearest to a double-double."""
    return x[0] + x[1]


def _split(a):
    """Split `a` into two halves of 26 bits each, so that products of halves are exact."""
    shifted = _SPLITTER * a
    high = shifted - (shifted - a)
    return high, a - high


def _renormalise(high, low):
    total = high + low
    return total, low - (total - high)
