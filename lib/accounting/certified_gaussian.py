"""A mu of Gaussian differential privacy that provably suffices for (epsilon, delta), as a fraction.

A mu-GDP mechanism is (epsilon, delta)-DP for delta = Phi(-a) - e^epsilon Phi(-b), with a = epsilon/mu - mu/2 and b =
a + mu (Balle, Wang 2018, Theorem 8; Dong, Roth, Su 2022, Corollary 2.13). As b^2 - a^2 = 2 epsilon, delta is phi(a)
(R(a) - R(b)), with the Mills ratio R(t) = Phi(-t)/phi(t). For t > 0, Laplace's continued fraction R(t) = 1/T_1, T_n =
t + n/T_(n+1), has positive terms, so T_n >= t for every n. Starting from the bound T_n >= t at a large n, decimal
arithmetic with outward rounding computes an interval that contains R(t).
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from .certified import certified_zcdp, root_down, round_down
from .gaussian_curve import gaussian_sigma

_DOWN, _UP = Context(prec=60, rounding=ROUND_FLOOR), Context(prec=60, rounding=ROUND_CEILING)
_PI = Decimal("3.141592653589793238462643383279502884197")  # rounded down
_SMALLEST, _TERMS = Fraction(1, 4), 5000  # of a; of the continued fraction


def certified_mu(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return a mu for which mu-GDP provably implies (epsilon, delta)-DP.

    epsilon : [1e-6, 1e6]; delta : [1e-300, 1)

    Floating-point arithmetic proposes a mu that is below the largest valid mu by a relative 2^-40. If the proposal
    cannot be verified, in particular if epsilon/mu - mu/2 is below 1/4, the result is sqrt(2 rho) for the rho of
    `certified_zcdp`, which is always valid.

    >>> from lib.accounting import gaussian_sigma
    >>> from lib.accounting.certified_gaussian import certified_mu
    >>> print(round(float(certified_mu(1.0, 1e-9)), 6), round(1 / gaussian_sigma(1.0, 1e-9), 6))
    0.181975 0.181975
    """
    zcdp = certified_zcdp(epsilon, delta)  # checks both
    epsilon, delta = (x if isinstance(x, Fraction) else Fraction(float(x)) for x in (epsilon, delta))
    mu = round_down(Fraction(1 / float(gaussian_sigma(float(epsilon), float(delta)))) * (1 - Fraction(1, 2**40)))
    a = epsilon / mu - mu / 2
    return mu if a >= _SMALLEST and delta_above(a, mu) <= delta else root_down(2 * zcdp)


def delta_above(a: Fraction, mu: Fraction) -> Fraction:
    """Return an upper bound on phi(a) (R(a) - R(a + mu)) for positive `a` and `mu`; it is close if `a` >= 1/4."""
    low, high = _rounded(_DOWN, a), _rounded(_UP, a + mu)
    # Whatever the context, decimal roots and exponentials are rounded to the nearest, so that a neighbour is a bound.
    above = _UP.next_plus(_UP.multiply(_DOWN.multiply(low, low), Decimal("-0.5")).exp(_UP))
    root = _DOWN.next_minus(_DOWN.sqrt(_DOWN.multiply(2, _PI)))
    apart = _UP.subtract(_UP.divide(1, _tail(low)[0]), _DOWN.divide(1, _tail(high)[1]))
    return Fraction(_UP.multiply(_UP.divide(above, root), apart))


def _rounded(context, value) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _tail(t) -> tuple[Decimal, Decimal]:
    """Return decimals below and above T_1 of a decimal t > 0."""
    low, high = t, Decimal("Infinity")
    for n in range(_TERMS, 0, -1):
        low, high = _DOWN.add(t, _DOWN.divide(n, high)), _UP.add(t, _UP.divide(n, low))
    return low, high
