"""Multiply by matrices of exponentials over pairs of points, block by block, without storing the matrices.

The matrices of hasegawa2015, the transition densities P and the Gaussian kernel K, have entries
c_i d_j exp(l_i . r_j - |s_i - t_j|_1). The bilinear part l_i . r_j counts common values through one-hot columns, or
expands squared distances. The part |s_i - t_j|_1 is for numeric attributes under Laplace noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import LinearOperator
from scipy.spatial.distance import cdist

# Rows and columns of a block: one megabyte of float64, so that its passes stay in a core's cache.
BLOCK = (256, 512)
# Exponents are at least this, so no entry is below 1e-260: subnormal numbers make products ten times slower.
LEAST = -600.0


@dataclass(frozen=True)
class Points:
    """One side of a `Pairwise`: n points.

    bilinear : (n, p); steps : (n, q), compared by absolute difference; factors : (n,), c or d of the module's formula
    """

    bilinear: np.ndarray
    steps: np.ndarray
    factors: np.ndarray

    def __len__(self) -> int:
        return len(self.factors)

    def __getitem__(self, index: slice | np.ndarray) -> Points:
        return Points(self.bilinear[index], self.steps[index], self.factors[index])


class Pairwise(LinearOperator):
    """The (n, m) matrix with entries c_i d_j exp(l_i . r_j - |s_i - t_j|_1), a scipy `LinearOperator`.

    left, right : `Points`, n on the left and m on the right
    symmetric : declares that both sides contain the same points, so that exp(...) is the same for (i, j) and (j, i).
        Products then evaluate each pair once, which halves their cost

    ``A @ v`` takes a v of shape (m,) or (m, h), and ``A.T @ v`` takes a v of shape (n,) or (n, h). The products need
    memory for their result and one block. `dense()` returns the array itself.
    """

    def __init__(self, left: Points, right: Points, *, symmetric: bool = False) -> None:
        if symmetric and len(left) != len(right):
            raise ValueError(f"symmetric must be False for {len(left)} points by {len(right)}, got True")
        super().__init__(dtype=np.float64, shape=(len(left), len(right)))
        self.left, self.right, self.symmetric = left, right, symmetric

    def columns(self, index: ArrayLike) -> NDArray[np.float64]:
        """Return the columns `index` as an array (n, len(index))."""
        return Pairwise(self.left, self.right[np.asarray(index)]).dense()

    def dense(self) -> np.ndarray:
        """Return the whole matrix, n * m numbers of eight bytes."""
        full = np.empty(self.shape)
        for rows, cols, block in self._blocks():
            full[rows, cols] = block
        full *= self.left.factors[:, None]
        full *= self.right.factors
        return full

    def thinned(self, least: float) -> Pairwise | csc_array:
        """Return a sparse matrix without entries with exponents below `least`, or `self` if more than 2 % remain."""
        smallest = np.exp(least)
        some = np.linspace(0, self.shape[1] - 1, min(self.shape[1], 64)).astype(int)
        sample = Pairwise(self.left, self.right[some])
        left = [np.count_nonzero(block > smallest) for _, _, block in sample._blocks()]
        if np.sum(left) > len(self.left) * len(some) / 50:
            return self
        parts = []
        for rows, cols, block in self._blocks(upper=self.symmetric):
            i, j = np.nonzero(block > smallest)
            values, i, j = block[i, j], i + rows.start, j + cols.start
            parts.append((values, i, j))
            if self.symmetric:
                below = j >= rows.stop  # earlier columns are rows of this block, which is done in full
                parts.append((values[below], j[below], i[below]))
        values, i, j = map(np.concatenate, zip(*parts))
        return csc_array((values * self.left.factors[i] * self.right.factors[j], (i, j)), shape=self.shape)

    def _matmat(self, vectors):
        return self.left.factors[:, None] * self._product(self.right.factors[:, None] * vectors)

    def _matvec(self, vector):
        return self._matmat(vector.reshape(-1, 1))

    def _adjoint(self):
        return Pairwise(self.right, self.left, symmetric=self.symmetric)

    _transpose = _adjoint

    def _product(self, vectors) -> np.ndarray:
        """Return the exponentials times `vectors`."""
        out = np.zeros((len(self.left), vectors.shape[1]))
        for rows, cols, block in self._blocks(upper=self.symmetric):
            out[rows] += block @ vectors[cols]
            if self.symmetric:
                below = max(cols.start, rows.stop)  # earlier columns are rows of this block, which is done in full
                out[below : cols.stop] += block[:, below - cols.start :].T @ vectors[rows]
        return out

    def _blocks(self, *, upper=False):
        """Yield, for each block, its two slices and its exponentials, in an array that the next block overwrites.

        upper : whether to yield only the columns from the first row of a block onwards. Then every pair i <= j occurs
        once, and the square over the block's own rows occurs in full
        """
        height, width = BLOCK
        n, m = self.shape
        room = np.empty((2, height * width))
        for top in range(0, n, height):
            rows = slice(top, min(top + height, n))
            for start in range(top if upper else 0, m, width):
                cols = slice(start, min(start + width, m))
                shape = (rows.stop - top, cols.stop - start)
                block, spare = (part[: shape[0] * shape[1]].reshape(shape) for part in room)
                np.matmul(self.left.bilinear[rows], self.right.bilinear[cols].T, out=block)
                if self.left.steps.shape[1]:
                    block -= cdist(self.left.steps[rows], self.right.steps[cols], "cityblock", out=spare)
                if block.min() < LEAST:
                    np.maximum(block, LEAST, out=block)
                yield rows, cols, np.exp(block, out=block)


def gaussian_kernel(centres: np.ndarray, width: float, *, points: np.ndarray | None = None) -> Pairwise:
    """Return K with K_ij = exp(-|z_i - z_j|^2 / width) over the rows of `points` (n, p) and `centres` (m, p).

    width : sigma^2 of hasegawa2015, (0, inf), without a factor 2, as printed; points : by default the centres

    Squared distances are computed as differences of squares, so entries have a relative error of up to (6 p + 24) 2^-53
    |z|^2 / width, where |z|^2 is the largest squared norm. Raises ``ValueError`` for a width at which this error
    exceeds 1 %.
    """
    right = _squared(np.asarray(centres, dtype=float), width)
    if points is None:
        return Pairwise(replace(right, bilinear=_turned(right.bilinear)), right, symmetric=True)
    left = _squared(np.asarray(points, dtype=float), width)
    return Pairwise(replace(left, bilinear=_turned(left.bilinear)), right)


def _squared(points, width) -> Points:
    """Return `Points` whose bilinear products with `_turned` rows are -|z_i - z_j|^2 / width."""
    largest = np.abs(points).max(initial=0)
    squares = ((points / (largest or 1)) ** 2).sum(axis=1).max(initial=0)
    least = (6 * points.shape[1] + 24) * 2.0**-53 / 0.01 * squares * largest * largest
    if not width >= least:
        raise ValueError(f"width must be at least {least:g} for features of this size, got {width:g}")
    scaled = points / np.sqrt(width)
    norms = np.einsum("ij,ij->i", scaled, scaled)
    bilinear = np.column_stack([np.sqrt(2) * scaled, -norms, np.ones(len(points))])
    return Points(bilinear, np.empty((len(points), 0)), np.ones(len(points)))


def _turned(bilinear) -> np.ndarray:
    return np.column_stack([bilinear[:, :-2], bilinear[:, -1], bilinear[:, -2]])
