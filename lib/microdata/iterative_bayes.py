"""Iterative Bayes: estimate the histogram of the original records from perturbed ones (hasegawa2015, section 2.2.2).

Let x be the vector of the probabilities of all cells of the multidimensional histogram, T the matrix of transition
probabilities between cells, and h the histogram of the perturbed records. Equation (6) maximizes sum_y h_y ln (T x)_y.
The paper uses the EM algorithm, x <- x * T^T(h / T x) / n. The matrix T is a product over the attributes, so T is
applied attribute by attribute and never formed. An iteration takes (number of cells) * (sum of the matrices' sizes)
operations.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.extras import extra
from .density_ratio import normalised
from .perturbation import BoundedLaplace, Perturbation

with extra("classifiers"):
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import ConvergenceWarning

MOST_CELLS = 10**7
NODES = 64  # of the quadrature over a bin


class IterativeBayes(BaseEstimator):
    """Maximum-likelihood histogram of the original records, over categories and bins of numeric attributes.

    Parameters
    ----------
    perturbation : the `Perturbation` that was applied to the records
    bins : the number >= 1 of bins of equal width for each numeric attribute, or a mapping from numeric attributes to
        this number or to increasing edges, from the low to the high end of the range; attributes left out have 10 bins.
        A bin includes its lower edge, and the last bin includes both edges. The fit assumes that the original values
        are uniform within each bin
    tol : in (0, inf); the fit ends when the gap of the log-likelihood (`lib.numerics.mixing_proportions`) is below `tol`
    max_iter : the largest number of EM steps, integer >= 1; EM is slow if the perturbation is strong
    accelerated : whether to extrapolate after every two steps (Varadhan and Roland, Scand. J. Statist. 2008: SQUAREM)
        and keep each extrapolation whose likelihood is at least as large; False gives the algorithm of the paper

    Attributes
    ----------
    shares_ : probabilities of the cells, an axis for each attribute; edges_ : mapping from numeric attribute to edges
    weights_ : (n,), the estimated proportion of each record's cell divided by the observed proportion, scaled to mean 1
    gap_, trace_ : the gap at the end, and the log-likelihoods, (n_iter_,), before each step
    n_iter_, converged_ : number of steps, and whether the gap is below `tol`
    """

    def __init__(self, perturbation: Perturbation, *, bins: int | ArrayLike | Mapping[str, ArrayLike] = 10,
                 tol: float = 0.1, max_iter: int = 10_000, accelerated: bool = True) -> None:  # fmt: skip
        self.perturbation, self.bins = perturbation, bins
        self.tol, self.max_iter, self.accelerated = tol, max_iter, accelerated

    def fit(self, records: ArrayLike) -> Self:
        """Fit to perturbed `records`, (n, M) or a frame, and return self. Raises ``ValueError`` above 10^7 cells."""
        if not isinstance(self.perturbation, Perturbation):
            raise ValueError(f"perturbation must be a Perturbation, got {self.perturbation!r}")
        tol = checks.number("tol", self.tol, "(0, inf)")
        max_iter = checks.whole("max_iter", self.max_iter, "[1, inf)")
        self.edges_ = _edges(self.perturbation, self.bins)
        mechanisms = self.perturbation.mechanisms
        shape = tuple(
            len(self.edges_[name]) - 1 if name in self.edges_ else one.size for name, one in mechanisms.items()
        )
        if math.prod(shape) > MOST_CELLS:
            sizes = " x ".join(map(str, shape))
            raise ValueError(f"histogram must have at most {MOST_CELLS:,} cells, got {sizes} = {math.prod(shape):,}")
        cells = self._cells(self.perturbation.check(records), shape)
        observed = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(float)
        self._ascend(ExpectationMaximisation(self._matrices(), observed), tol, max_iter)
        ratio = self.shares_ / np.maximum(observed, 1)
        self.weights_ = normalised(ratio.ravel()[cells])
        if not self.converged_:
            message = f"did not converge in {self.n_iter_} steps, gap {self.gap_:g}: raise max_iter or tol"
            warnings.warn(f"IterativeBayes {message}", ConvergenceWarning, stacklevel=2)
        return self

    def _ascend(self, em, tol, max_iter):
        shares, trace = np.full(em.observed.shape, 1 / em.observed.size), []
        while True:
            first, likelihood, gap = em.step(shares)
            trace.append(likelihood)
            if gap < tol or len(trace) >= max_iter:
                break
            if self.accelerated and len(trace) + 2 <= max_iter:
                second, likelihood, _ = em.step(first)
                trace.append(likelihood)
                shares = _extrapolated(em, shares, first, second)
            else:
                shares = first
        self.shares_, self.gap_, self.converged_ = shares, float(gap), bool(gap < tol)
        self.trace_, self.n_iter_ = np.array(trace), len(trace)

    def _cells(self, records, shape) -> np.ndarray:
        """Return the position of each record's cell in the flattened histogram."""
        codes = []
        for name, column, size in zip(self.perturbation.attributes, records.T, shape):
            if name in self.edges_:
                column = np.minimum(np.searchsorted(self.edges_[name], column, side="right") - 1, size - 1)
            codes.append(column.astype(int))
        return np.ravel_multi_index(codes, shape)

    def _matrices(self) -> list[np.ndarray]:
        """Return Pr[perturbed value in cell r | original value in cell s], a (size, size) matrix for each attribute."""
        return [
            _between_bins(one, self.edges_[name])
            if name in self.edges_
            else one.density(np.arange(one.size)[:, None], np.arange(one.size))
            for name, one in self.perturbation.mechanisms.items()
        ]


def _edges(perturbation, bins) -> dict:
    """Return the edges of the bins of every numeric attribute."""
    numeric = {name: one for name, one in perturbation.mechanisms.items() if isinstance(one, BoundedLaplace)}
    given = dict(bins) if isinstance(bins, Mapping) else dict.fromkeys(numeric, bins)
    for name in given:
        checks.one_of("attribute with bins", name, tuple(numeric))
    edges = {}
    for name, one in numeric.items():
        chosen = given.get(name, 10)
        if np.ndim(chosen) == 0:
            count = checks.whole(f"bins of {name!r}", chosen, f"[1, {MOST_CELLS}]")
            edges[name] = np.linspace(one.low, one.high, count + 1)
        else:
            edges[name] = one.check(f"edges of {name!r}", chosen)
            ends = edges[name][:1].tolist() + edges[name][-1:].tolist()
            if ends != [one.low, one.high] or not (np.diff(edges[name]) > 0).all():
                raise ValueError(f"edges of {name!r} must increase from {one.low:g} to {one.high:g}, got {chosen!r}")
    return edges


def _between_bins(mechanism, edges) -> np.ndarray:
    """Return the probability of each output bin, averaged over the original values in each bin. It is smooth within a
    bin, so Gauss-Legendre quadrature is exact to rounding unless a bin is many times as wide as phi."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    inputs = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    below = mechanism.distribution(edges[:, None, None], np.clip(inputs, mechanism.low, mechanism.high))
    return np.diff(below, axis=0) @ (weights / 2)


class ExpectationMaximisation:
    """The steps of the EM algorithm for one histogram of perturbed records."""

    def __init__(self, matrices: Sequence[np.ndarray], observed: np.ndarray) -> None:
        self.matrices, self.observed, self.total = matrices, observed, observed.sum()

    def step(self, shares: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return the proportions after a step, and the log-likelihood and the gap before the step."""
        density = _applied(self.matrices, shares)
        seen = self.observed > 0  # in other cells the density can be 0
        ratio = np.divide(self.observed, density * self.total, out=np.zeros_like(density), where=seen)
        score = _applied([matrix.T for matrix in self.matrices], ratio)
        return shares * score, self.likelihood(density), self.total * (score.max() - 1)

    def likelihood(self, density: np.ndarray) -> float:
        """Return the log-likelihood of the observed records, given the density of the cells after perturbation."""
        seen = self.observed > 0
        return float(self.observed[seen] @ np.log(density[seen]))


def _applied(matrices, tensor) -> np.ndarray:
    """Return the product of the tensor with one square matrix along each of its axes."""
    shape, right = tensor.shape, tensor.size
    for matrix in matrices:
        right //= len(matrix)
        if right > 1:
            tensor = np.matmul(matrix, tensor.reshape(-1, len(matrix), right))
        else:
            tensor = tensor.reshape(-1, len(matrix)) @ matrix.T
    return tensor.reshape(shape)


def _extrapolated(em, start, first, second) -> np.ndarray:
    """Return the SQUAREM extrapolation through three iterates or, if it is impossible or less likely, `second`."""
    change = first - start
    bend = second - first - change
    norm = float(np.linalg.norm(bend))
    if norm == 0:
        return second
    length = max(float(np.linalg.norm(change)) / norm, 1.0)
    far = start + 2 * length * change + length**2 * bend
    # EM can never revive a proportion of 0, so no proportion is set to 0
    far = np.maximum(far, second * 1e-3)
    far /= far.sum()
    better = em.likelihood(_applied(em.matrices, far)) >= em.likelihood(_applied(em.matrices, second))
    return far if better else second
