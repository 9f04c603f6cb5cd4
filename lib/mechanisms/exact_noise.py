"""Draw exact noise: every probability equals its formula, to the last bit.

All arithmetic is on integers (Canonne, Kamath, Steinke 2020, "The discrete Gaussian for differential privacy",
Algorithms 1-3). Every sampler is built from coins:

- `bernoulli` gives heads with probability num/den, by comparing the digits of num/den with random digits
- `bernoulli_exp` gives heads with probability e^-x for a rational x, by tossing coins of probability x/1, x/2, ...
- `discrete_laplace` and `discrete_gaussian` propose integers and accept them by tossing these coins

Parameters are ints, Fractions or floats. A float is taken as exactly the fraction that it represents (0.1 is
3602879701896397/2^55). Values that provably fit into 64 bits are computed in 64-bit integers, and all others in
Python's unbounded integers; the distribution is the same.

rng : any object with a method ``bytes(n)``, such as a `numpy.random.Generator` or `noise.system_rng()`
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .noise import SystemRandomness

_CHUNK = 2**16  # proposals at a time, which fit into the cache


def bernoulli(num: ArrayLike, den: int, *, rng: np.random.Generator | SystemRandomness) -> NDArray[np.bool_]:
    """Return independent coins in the shape of `num`, each True with probability num/den.

    num : integers in [0, den] of any shape, including Python ints of any size; den : an integer >= 1
    """
    num, den = _counts(num, den)
    if num.max(initial=0) > den:
        raise ValueError(f"num must be in [0, {den}], got {num.max()}")
    return _bernoulli(num.ravel(), den, _bits(rng)).reshape(num.shape)


def bernoulli_exp(num: ArrayLike, den: int, *, rng: np.random.Generator | SystemRandomness) -> NDArray[np.bool_]:
    """Return independent coins in the shape of `num`, each True with probability e^(-num/den).

    num : integers >= 0 of any shape, including Python ints of any size; den : an integer >= 1
    Source: Canonne, Kamath, Steinke 2020, Algorithm 1.
    """
    num, den = _counts(num, den)
    return _bernoulli_exp(num.ravel(), den, _bits(rng)).reshape(num.shape)


def uniform_integers(
    shape: int | Sequence[int], bound: int, *, rng: np.random.Generator | SystemRandomness
) -> np.ndarray:
    """Return an array of `shape` of independent uniform draws from 0, ..., bound - 1, for an integer `bound` >= 1.

    The draws are int64, or Python ints (dtype object) for bounds above 2^62.
    """
    bound = _whole("bound", bound, 1)
    return _uniform(_count(shape), bound, _bits(rng)).reshape(shape)


def _bernoulli(num, den, rng, which=None):
    """Return coins of probability num[i]/den, for all i or only for the i in `which`. A uniform number in [0, 1) is
    compared with num/den digit by digit. If two digits are equal, the comparison goes on with the remainder of num/den,
    which is again a fraction over den."""
    bits = 32 if den < 2**31 else 16 if den < 2**47 else 8 if den < 2**55 else 32
    if den >= 2**55:
        num = num.astype(object)
    shifted = num << bits  # without overflow: num << bits <= den << bits < 2^63
    digits = shifted // den
    rest = shifted - digits * den
    digits = (digits if which is None else digits[which]).astype(np.int64, copy=False)
    words = _words(len(digits), bits, rng)
    heads = words < digits
    ties = np.flatnonzero(words == digits)
    if ties.size:
        heads[ties] = _bernoulli(rest[ties if which is None else which[ties]], den, rng)
    return heads


def _bernoulli_exp(num, den, rng, which=None):
    """Return coins of probability exp(-num[i]/den), for all i or only for the i in `which`. For the integer part n of
    num/den, n coins of probability 1/e are tossed first. Few candidates are left after these n coins."""
    num = num if den < 2**62 else num.astype(object)
    whole = num // den
    part = num - whole * den
    flips = whole.copy() if which is None else whole[which]
    heads, left = np.ones(len(flips), dtype=bool), np.flatnonzero(flips)
    while left.size:
        needed = flips[left]
        failed = _run_of_inverse_e(left.size, rng) < np.minimum(needed, 4)
        heads[left[failed]] = False
        flips[left] = needed - 4
        left = left[~failed & (needed > 4)]
    if which is None and heads.all():
        return _exp_of_fraction(part, den, rng)
    left = np.flatnonzero(heads)
    num, of = _used(part, left if which is None else which[left])
    heads[left] = _exp_of_fraction(num, den, rng, of)
    return heads


def _run_of_inverse_e(count, rng):
    """Return, for each of `count` runs, how many of four coins of probability 1/e succeed before one fails: 0 to 4."""
    coins = _inverse_e(4 * count, rng).reshape(-1, 4)
    return np.where(coins.all(axis=1), 4, coins.argmin(axis=1))


def _inverse_e(count, rng, place=0):
    """Return `count` coins of probability 1/e: compare digits of uniform numbers with those of 1/e from `place` on."""
    digit, words = _digit_of_inverse_e(place), _words(count, 32, rng)
    heads = words < digit
    ties = np.flatnonzero(words == digit)
    if ties.size:
        heads[ties] = _inverse_e(ties.size, rng, place + 1)
    return heads


@functools.cache
def _digit_of_inverse_e(place) -> int:
    """Return the digit of 1/e in base 2^32 at `place`. 1/e lies between any two consecutive D/n!, where D = n
    D' + (-1)^n is the number of derangements of n things, and D' is that of n - 1 things."""
    n, derangements, factorial, before = 1, 0, 1, -1
    while True:
        digits = (derangements << 32 * (place + 1)) // factorial
        if digits == before:
            return digits % 2**32
        n, before = n + 1, digits
        derangements, factorial = n * derangements + (-1) ** n, n * factorial


def _exp_of_fraction(num, den, rng, which=None):
    """Return the coins of `_bernoulli_exp` for x = num/den <= 1: heads if the first k at which a coin of probability
    x/k fails is odd. P(first k - 1 coins succeed) = x^(k-1)/(k-1)!, and the alternating sum of these terms is e^-x."""
    heads, k = np.empty(len(num) if which is None else len(which), dtype=bool), 1
    active = np.arange(len(heads))
    while active.size:
        success = _bernoulli(num, den * k, rng, which)
        heads[active[~success]] = k % 2 == 1
        active = active[success]
        if which is None:
            num = num[success]
        else:
            num, which = _used(num, which[success])
        k += 1
    return heads


def _used(num, which):
    """Return the entries of `num` whose indices are in `which`, and the positions of these indices among them."""
    used = np.bincount(which, minlength=len(num)) > 0
    return num[used], (np.cumsum(used) - 1)[which]


def discrete_laplace(
    shape: int | Sequence[int], scale: float | Fraction, *, rng: np.random.Generator | SystemRandomness
) -> np.ndarray:
    """Return an array of `shape` of independent integers x with probabilities proportional to e^(-|x|/scale).

    scale : (0, inf)
    Draws are int64, or Python ints (dtype object) for scales of 2^50 and more.
    Source: Canonne, Kamath, Steinke 2020, Algorithm 2.
    """
    scale, rng = fraction("scale", scale), _bits(rng)
    return _collect(shape, scale, lambda count: _laplace_proposals(count, scale, rng))


def discrete_gaussian(
    shape: int | Sequence[int], sigma: float | Fraction, *, rng: np.random.Generator | SystemRandomness
) -> np.ndarray:
    """Return an array of `shape` of independent integers x with probabilities proportional to e^(-x^2/(2 sigma^2)).

    sigma : (0, inf); the standard deviation is slightly below sigma
    Draws are int64, or Python ints (dtype object) for a sigma of 2^50 and more.
    Source: Canonne, Kamath, Steinke 2020, Algorithm 3.
    """
    sigma, rng = fraction("sigma", sigma), _bits(rng)
    return _collect(shape, sigma, lambda count: _gaussian_proposals(count, sigma**2, rng))


def _laplace_proposals(count, scale, rng):
    """Return about `count` independent discrete Laplace draws with scale t/s, possibly none."""
    t, s = scale.numerator, scale.denominator
    u = _uniform(count, t, rng)
    u = u[_exp_of_fraction(u, t, rng)]
    v = np.zeros(len(u), dtype=np.int64)  # number of successes of coins of probability 1/e
    active = np.arange(len(u))
    while active.size:  # four coins at a time
        run = _run_of_inverse_e(active.size, rng)
        v[active] += run
        active = active[run == 4]
    if t >= 2**55 or s >= 2**62 or v.max(initial=0) >= 2**7:  # else t (v + 1) < 2^62
        u, v = u.astype(object), v.astype(object)
    magnitude = (u + t * v) // s
    negative = np.unpackbits(_words(len(u) // 8 + 1, 8, rng))[: len(u)].astype(bool)
    once = ~(negative & (magnitude == 0))  # -0 would count 0 twice
    return np.where(negative, -magnitude, magnitude)[once]


def _gaussian_proposals(count, variance, rng):
    """Return about `count` independent discrete Gaussian draws with sigma^2 = n/d, possibly none. A Laplace draw y of
    scale t is accepted with probability e^-x, where x = (|y| t d - n)^2 / (2 n d t^2)."""
    n, d = variance.numerator, variance.denominator
    t = math.isqrt(n // d) + 1
    y = _laplace_proposals(count, Fraction(t), rng)
    if len(y) == 0:
        return y
    sizes, which = np.unique(np.abs(y), return_inverse=True)
    if (int(sizes[-1]) * t * d + n).bit_length() > 31 or 2 * n * d * t**2 >= 2**62:
        sizes = sizes.astype(object)
    return y[_bernoulli_exp((sizes * (t * d) - n) ** 2, 2 * n * d * t**2, rng, which)]


def _collect(shape, size, propose):
    """Return an array of `shape` filled with accepted proposals, as int64 if `size` is below 2^50."""
    count = _count(shape)
    parts, missing = [np.zeros(0, dtype=np.int64)], count
    while missing > 0:
        parts.append(propose(min(3 * missing + 16, _CHUNK))[:missing])
        missing -= len(parts[-1])
    draws = np.concatenate(parts)
    return draws.astype(np.int64 if size < 2**50 else object, copy=False).reshape(shape)


def _uniform(count, bound, rng):
    """Return `count` uniform draws from 0, ..., bound - 1, by rejecting random words that are not below `bound`."""
    bits = (bound - 1).bit_length()
    if bits == 0:
        return np.zeros(count, dtype=np.int64)
    parts, missing = [], count
    while missing > 0:
        wanted = (missing << bits) // bound + 16
        size = max(8, 1 << (bits - 1).bit_length())
        words = _long_words(wanted, bits, rng) if bits > 62 else _words(wanted, size, rng)
        words = words & ((1 << bits) - 1)
        parts.append(words[words < bound][:missing])
        missing -= len(parts[-1])
    draws = np.concatenate(parts)
    return draws if bits > 62 else draws.astype(np.int64)


def _words(count, bits, rng):
    """Return `count` words of `bits` random bits each: 8, 16, 32 or 64."""
    return np.frombuffer(rng.bytes(count * bits // 8), dtype=f"<u{bits // 8}")


def _long_words(count, bits, rng):
    """Return `count` Python ints of at least `bits` random bits each."""
    size = (bits + 7) // 8
    data = rng.bytes(count * size)
    return np.array([int.from_bytes(data[i : i + size], "little") for i in range(0, count * size, size)], dtype=object)


def fraction(name: str, value: float | Fraction) -> Fraction:
    """Return `value`, an int, a Fraction or a float in (0, inf), as the Fraction that it represents exactly.

    Raises a ``ValueError`` that names the parameter, its value and the range.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be a number in (0, inf), got {value!r}")
    if isinstance(value, numbers.Rational):
        found = Fraction(int(value.numerator), int(value.denominator))
    else:
        found = Fraction(float(value)) if math.isfinite(value) else Fraction(0)
    if found <= 0:
        raise ValueError(f"{name} must be in (0, inf), got {value}")
    return found


def _whole(name, value, least) -> int:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not whole or value < least:
        raise ValueError(f"{name} must be an integer in [{least}, inf), got {value!r}")
    return int(value)


def _counts(num, den) -> tuple[np.ndarray, int]:
    """Return checked numerators, as int64 or Python ints, and the denominator."""
    den = _whole("den", den, 1)
    array = np.asarray(num)
    if array.size == 0:
        array = array.astype(np.int64)
    unbounded = array.dtype == object and all(isinstance(value, numbers.Integral) for value in array.flat)
    if array.dtype.kind not in "iu" and not unbounded:
        raise ValueError(f"num must be integers in [0, inf), got {num!r}")
    if array.min(initial=0) < 0:
        raise ValueError(f"num must be integers in [0, inf), got {array.min()}")
    large = max(int(array.max(initial=0)), den) >= 2**62
    return (np.vectorize(int, otypes=[object])(array) if large and array.size else array.astype(np.int64)), den


def _count(shape) -> int:
    """Return the number of entries in an array of `shape`."""
    sizes = checks.integer("shape", shape, "[0, inf)")
    if sizes.ndim > 1:
        raise ValueError(f"shape must be an integer or a tuple of integers, got {shape!r}")
    return math.prod(int(size) for size in sizes.ravel())


def _bits(rng):
    if not callable(getattr(rng, "bytes", None)):
        raise ValueError(f"rng must have a method bytes(n), as numpy's Generator or noise.system_rng(), got {rng!r}")
    return rng
