"""Conversions that are provably rounded in the safe direction: the rho that a release may spend, as a fraction.

For every order 1 + x > 1, rho-zCDP implies (epsilon, delta)-DP for

    epsilon = rho (1 + x) - log(1 + 1/x) - log(1 + x)/x + log(1/delta)/x

(Canonne, Kamath and Steinke 2020, Proposition 12; miura2025, Proposition 2.4). A good x is found in floating-point
arithmetic, which is safe because every x is valid. For this x, the equation is solved for rho in exact fractions. Each
logarithm is rounded in the direction that makes rho smaller. Python's decimal logarithm is correctly rounded, so the
true value lies between the two decimals adjacent to the result.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from ..numerics import checks
from . import conversions

_BITS = 64  # binary digits of the returned fractions
_DOWN, _UP = Context(prec=50, rounding=ROUND_FLOOR), Context(prec=50, rounding=ROUND_CEILING)


def certified_zcdp(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return a rho for which rho-zCDP provably implies (epsilon, delta)-DP.

    epsilon : [1e-6, 1e6]; delta : [1e-300, 1)

    A float is treated as the fraction that it represents exactly. The rho is only slightly below that of
    `conversions.dp_to_zcdp`.

    >>> from lib.accounting import certified_zcdp
    >>> rho = certified_zcdp(1.0, 1e-9)
    >>> print(round(float(rho), 6))
    0.014973
    """
    epsilon, delta = _fraction("epsilon", epsilon, "[1e-6, 1e6]"), _fraction("delta", delta, "[1e-300, 1)")
    x = Fraction(_good_order(float(epsilon), float(delta)))
    saved = log_between(1 + 1 / x)[0] + log_between(1 + x)[0] / x
    rho = (epsilon + saved - log_between(1 / delta)[1] / x) / (1 + x)
    return round_down(rho)


def _fraction(name, value, permitted) -> Fraction:
    checked = checks.number(name, value, permitted)
    return value if isinstance(value, Fraction) else Fraction(checked)


def _good_order(epsilon: float, delta: float) -> float:
    """Return a nearly optimal x for the conversion: the root, by bisection, of rho x^2 + log(1 + x) - log(1/delta)."""
    rho, goal = float(conversions.dp_to_zcdp(epsilon, delta)), -math.log(delta)
    low, high = 1e-20, math.sqrt(goal / rho) + 1
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rho * middle**2 + math.log1p(middle) < goal else (low, middle)
    return high


def log_between(value: Fraction) -> tuple[Fraction, Fraction]:
    """Return fractions below and above the natural logarithm of a `value` in (0, inf), to about 48 digits."""
    ends = [context.divide(Decimal(value.numerator), Decimal(value.denominator)) for context in (_DOWN, _UP)]
    low, high = (end.ln(context) for context, end in zip((_DOWN, _UP), ends))  # nearest to the logarithm of its end
    return Fraction(_DOWN.next_minus(low)), Fraction(_UP.next_plus(high))


def round_down(value: Fraction, bits: int = _BITS) -> Fraction:
    """Return the largest fraction of at most `bits` binary digits that does not exceed a `value` in (0, inf)."""
    if value <= 0:
        raise ValueError(f"value must be in (0, inf), got {value}")
    size = Fraction(2) ** (bits - value.numerator.bit_length() + value.denominator.bit_length())
    return math.floor(value * size) / size


def root_down(value: Fraction, bits: int = _BITS) -> Fraction:
    """Return a fraction, of about `bits` binary digits, at or just below the square root of a `value` in (0, inf)."""
    scale = _scale(value, 2 * bits)
    return math.isqrt(math.floor(value * scale**2)) / scale


def root_up(value: Fraction, bits: int = _BITS) -> Fraction:
    """Return a fraction, of about `bits` binary digits, at or just above the square root of a `value` in (0, inf)."""
    scale = _scale(value, 2 * bits)
    return (math.isqrt(math.ceil(value * scale**2) - 1) + 1) / scale


def _scale(value, bits) -> Fraction:
    """Return a power of two whose square times `value` has about `bits` binary digits."""
    if value <= 0:
        raise ValueError(f"value must be in (0, inf), got {value}")
    return Fraction(2) ** ((bits - value.numerator.bit_length() + value.denominator.bit_length()) // 2)
