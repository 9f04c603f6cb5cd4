"""Hadamard response: a report is one of K cells, exp(epsilon) times as likely if it is +1 in the value's row.

The rows are those of Sylvester's Hadamard matrix of size b, a power of two, with the entries (-1)^popcount(r & c). The
first row, which is all +1, is left out. With B blocks, also a power of two, value x has row x // B + 1 in block x % B
of the K = B b cells. In each row, half of the block's cells are +1. Two rows of a block agree in half of the cells, and
rows of different blocks share no cells. Aggregation computes a histogram and fast Walsh-Hadamard transforms in O(n + K
log b) time.

Reference: J. Acharya, Z. Sun, H. Zhang: Hadamard response: estimating distributions privately,
efficiently, and with little communication, AISTATS 2019 (one block for high privacy, several in general).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.checks import Numbers
from .protocol import FrequencyOracle, whole_numbers


class HadamardResponse(FrequencyOracle):
    """The Hadamard response protocol, whose reports are cells, integers in [0, `blocks` * `size`), shape (n,).

    blocks : B, a power of two; default 2^(ceil(log2(min(e^eps, 2k))) - 1), as published

    The attribute `size` is b, the smallest power of two above k/B rounded up. A report gives a value a support of 1 if
    its cell is a +1 of the value's row, 0 if the cell is a -1 of this row, and 1/2 if the cell is in another block. The
    mean support is then q = 1/2 for other values, and p = (1 + d)/2 for the sender's value, where d = (e^eps -
    1)/(e^eps + 2B - 1). With one block the protocol is pure. With several blocks, the variance of the support for
    another value depends on the block of that value, so `variance` depends on how many users have values in the same
    block.
    """

    def __init__(self, k: int, epsilon: float, blocks: int | None = None) -> None:
        super().__init__(k, epsilon)
        self.blocks = published_blocks(self.k, self.epsilon) if blocks is None else power_of_two("blocks", blocks)
        self.size = 1 << math.ceil(self.k / self.blocks).bit_length()
        self.cells, self._unit = self.blocks * self.size, 1 if self.blocks == 1 else 0.5
        d = -math.expm1(-self.epsilon) / (1 + (2 * self.blocks - 1) * math.exp(-self.epsilon))
        d = self._coin(d, lambda d: 1 + 2 * self.blocks * d / (1 - d))
        self._support_with((1 + d) / 2, 0.5, d / 2)
        self._forced = d  # how often a report is drawn from the row's +1 cells alone
        self._inside, self._outside = d + (1 - d) / self.blocks, (1 - d) / self.blocks  # in a block, from it or another
        self._unsupported = (1 - d) / self.cells
        self._block, self._row = np.arange(self.k) % self.blocks, np.arange(self.k) // self.blocks + 1

    @staticmethod
    def probabilities(epsilon: Any, blocks: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from numbers or, with sympy's `exp`, from symbols."""
        p = (1 + (blocks - 1) * exp(-epsilon)) / (1 + (2 * blocks - 1) * exp(-epsilon))
        return p, exp(0) / 2  # exp(0): 1.0, or sympy's exact 1

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return a cell for each value: uniform over all cells or, with probability d, over the row's +1 cells."""
        values = self._checked_values(values)
        cell = rng.integers(self.cells, size=values.size)
        row, within = self._row[values], cell % self.size
        within ^= np.where(odd(within & row), row & -row, 0)  # flipping one bit of the row turns a -1 into a +1
        return np.where(rng.random(values.size) < self._forced, self._block[values] * self.size + within, cell)

    def supports(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return each report's support of each value, (n, k): 1 at a +1 of the value's row, 0 at a -1, else 1/2."""
        cells = whole_numbers("reports", reports, self.cells)[:, None]
        negative = odd((cells % self.size) & self._row)
        return np.where(cells // self.size == self._block, np.where(negative, 0.0, 1.0), 0.5)

    def aggregate(self, reports: ArrayLike) -> NDArray[np.float64]:
        """Return support counts, shape (k,), from the histogram of the reports by one transform for each block."""
        return self._support_of(np.bincount(whole_numbers("reports", reports, self.cells), minlength=self.cells))

    def variance(self, f: ArrayLike, n: ArrayLike, block_share: ArrayLike | None = None) -> Numbers:
        """Return the exact variance of the raw estimate of a value of true frequency `f` in [0, 1] among `n` users.

        block_share : proportion of users whose value is in the same block, including the value itself, [0, 1]. With one
            block the proportion is 1; with several blocks the default is f + (1 - f)/B, as if the other users were
            spread evenly over the blocks
        """
        f = checks.real("f", f, "[0, 1]")
        beside = (1 - f) / self.blocks  # the others in the block
        if block_share is not None:
            beside = checks.real("block_share", block_share, "[0, 1]") - f
        # All terms are positive if the share is at least f, so no digits cancel.
        own = f * (1 - self._forced) * (self._forced + 1 / self.blocks)
        others = beside * self._inside + (1 - f - beside) * self._outside
        return (own + others) / self._forced**2 / checks.integer("n", n, "[1, inf)")

    def variances(self, counts: ArrayLike) -> np.ndarray:
        """Return the exact variance of each value's raw estimate, from the true proportions of users in the blocks."""
        own = self._checked_true_counts(counts, none=False)
        shares = np.bincount(self._block, weights=own)[self._block] / own.sum()
        return np.asarray(self.variance(own / own.sum(), own.sum(), block_share=shares))

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return support counts from their exact joint law: multinomial draws over all cells and rows' +1 cells."""
        own = self._checked_true_counts(counts)
        forced = rng.binomial(own, self._forced)
        histogram = rng.multinomial(own.sum() - forced.sum(), np.full(self.cells, 1 / self.cells))
        within = np.arange(self.size)
        for block, row, m in zip(self._block, self._row, forced):
            positive = block * self.size + within[~odd(within & row)]
            histogram[positive] += rng.multinomial(m, np.full(positive.size, 1 / positive.size))
        return self._support_of(histogram)

    def _support_of(self, histogram) -> np.ndarray:
        signed = walsh_hadamard(histogram.reshape(self.blocks, self.size))[self._block, self._row]
        return (histogram.sum() + signed) / 2

    def _at_zero(self, share):
        """Return n times the variance at f = 0: a report scores +-1/d in the value's block and 0 elsewhere."""
        return (share * self._inside + (1 - share) * self._outside) / self._forced**2

    def _variance_ends(self, estimate=None) -> tuple:
        """Return n times the variance at f = 0 and 1; a block's share is its sum of estimates, clipped to [0, 1]."""
        missing = -self.k % self.blocks
        padded = np.pad(estimate, [(0, 0)] * (estimate.ndim - 1) + [(0, missing)])
        shares = padded.reshape(*estimate.shape[:-1], -1, self.blocks).sum(axis=-2).clip(0, 1)
        at_zero = self._at_zero(shares[..., self._block])
        return at_zero, at_zero - 1


def published_blocks(k: int, epsilon: float) -> int:
    """Return B = 2^(ceil(log2(min(e^eps, 2k))) - 1) (Acharya et al. 2019)."""
    k, epsilon = checks.whole("k", k, f"[2, {2**32}]"), checks.number("epsilon", epsilon, "(0, inf)")
    return 2 ** (math.ceil(min(epsilon / math.log(2), math.log2(2 * k))) - 1)


def power_of_two(name: str, value: Any) -> int:
    """Return `value` as an int. Raises a ``ValueError`` that names `name` unless it is a power of two >= 1."""
    whole = checks.whole(name, value, "[1, inf)")
    if whole & (whole - 1):
        raise ValueError(f"{name} must be a power of two in [1, inf), got {whole}")
    return whole


def odd(words: np.ndarray) -> NDArray[np.bool_]:
    """Return whether each word has an odd number of ones; row & column has where the Hadamard matrix is -1."""
    return (np.bitwise_count(words) & 1).astype(bool)


def walsh_hadamard(table: ArrayLike) -> np.ndarray:
    """Return `table`, (..., b), times Sylvester's Hadamard matrix of size b, a power of two, by b log2 b additions."""
    table, b = np.array(table), np.shape(table)[-1]
    half = 1
    while half < b:
        pairs = table.reshape(*table.shape[:-1], -1, 2, half)
        table = np.stack([pairs.sum(axis=-2), pairs[..., 0, :] - pairs[..., 1, :]], axis=-2).reshape(table.shape)
        half *= 2
    return table
