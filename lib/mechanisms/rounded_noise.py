"""Draw from the rounded Gaussian, a normal variable times sigma, rounded to the nearest integer, exactly.

For integers z, rounding z + sigma g gives z + round(sigma g). Integers with this noise are therefore post-processing of
the Gaussian mechanism. With L2 sensitivity s, they are (s/sigma)-GDP (Dong, Roth, Su 2022), whereas the discrete
Gaussian is only known to be s^2/(2 sigma^2)-zCDP.

Sampler. A proposal is |g| = k + x, with k >= 0 drawn with probabilities proportional to e^(-k^2/2) and x uniform in [0,
1). It is accepted with probability e^(-x (2 k + x)/2), so that its density is proportional to e^(-(k + x)^2/2) (Karney
2016, Algorithm N). Write sigma = u/q with an even q, and x = (j + f)/u with j uniform in 0, ..., u - 1 and f uniform in
[0, 1). Then sigma |g| = (m + f)/q with m = k u + j, and the nearest integer is floor((m + q/2)/q), whatever f is.
Without its sign, the exponent is

    x (2 k + x)/2 = j (2 k u + j)/(2 u^2) + f (2 m + f)/(2 u^2).

The first term is rational, and `exact_noise.bernoulli_exp` gives its coin. For the second term, c(f), coins of
probability c(f)/i for i = 1, 2, ... are tossed until one fails. As in `exact_noise`, the result is heads if the i of
this coin is odd. Each coin compares one or two new uniform numbers with the same f. The number f itself is never drawn:
if n numbers were below f, the next `more` numbers are all below f with probability (n + 1)/(n + 1 + more). The coins
need c(f) <= 1, which holds for u > k. Multiplying u and q by the same number leaves sigma unchanged and makes u large
enough. All arithmetic is on integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..numerics import checks
from .exact_noise import bernoulli, bernoulli_exp, fraction, uniform_integers
from .noise import SystemRandomness

_CHUNK = 2**16  # proposals at a time
_FINE = 2**10  # u is at least so many times k + 1, so that few coins of the second term succeed


def rounded_gaussian(
    shape: int | Sequence[int], sigma: float | Fraction, *, rng: np.random.Generator | SystemRandomness
) -> np.ndarray:
    """Return an array of `shape` of independent draws of sigma g, rounded to the nearest integer; g is standard normal.

    sigma : (0, inf)
    Draws are int64, or Python ints (dtype object) for a sigma of 2^50 and more. Source: Karney 2016, Algorithm N.
    """
    sigma, sizes = fraction("sigma", sigma), checks.integer("shape", shape, "[0, inf)")
    parts, missing = [np.zeros(0, dtype=np.int64)], math.prod(map(int, sizes.ravel()))
    while missing > 0:
        parts.append(_proposals(min(3 * missing + 16, _CHUNK), sigma, rng)[:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts).astype(np.int64 if sigma < 2**50 else object, copy=False).reshape(shape)


def _proposals(count, sigma, rng):
    """Return about `count` independent draws, possibly none."""
    k = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while active.size:  # k has probabilities proportional to e^(-k/2), then to e^(-k^2/2)
        active = active[bernoulli_exp(np.ones(active.size, dtype=np.int64), 2, rng=rng)]
        k[active] += 1
    k = k[bernoulli_exp(k * (k - 1), 2, rng=rng)]
    most = int(k.max(initial=0)) + 1
    times = 2 * max(-(-_FINE * most // (2 * sigma.numerator)), 1)
    u, q = sigma.numerator * times, sigma.denominator * times
    if max(2 * most * u**2, q) >= 2**62:
        k = k.astype(object)
    j = uniform_integers(len(k), u, rng=rng)
    kept = bernoulli_exp(j * (2 * u * k + j), 2 * u**2, rng=rng)
    m = (u * k + j)[kept]
    first = uniform_integers(len(m), 2 * u**2, rng=rng)
    heads = first > 2 * m
    for place in np.flatnonzero(~heads):
        heads[place] = _coin(int(m[place]), u, int(first[place]), rng)
    size = (m[heads] + q // 2) // q
    return np.where(bernoulli(np.ones(len(size), dtype=np.int64), 2, rng=rng), size, -size)


def _coin(m, u, drawn, rng) -> bool:
    """Return a coin of probability E[e^(-f (2 m + f)/(2 u^2))], f uniform; `drawn` is uniform in [0, 2 u^2)."""
    i, below = 1, 0
    while drawn <= 2 * m:
        more = 1 + (drawn == 2 * m)  # f^2 takes two numbers below f, and f one
        if not bernoulli(below + 1, below + 1 + more, rng=rng):
            break
        i, below = i + 1, below + more
        drawn = int(uniform_integers(1, 2 * u**2 * i, rng=rng)[0])
    return i % 2 == 1
