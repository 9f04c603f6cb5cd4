"""Reconstruction by density ratios (hasegawa2015, section 3): weights w(y_i) that estimate P_X(y_i)/P_Y(y_i).

The mixture sum_j p(y|y_j) w(y_j)/N of the perturbed records is fitted to the same records by maximum likelihood
(equation 12). The weights are w = K alpha with non-negative coefficients alpha. The mean of the weights, b . alpha, is
1, where b contains the column means of K (equation 11). So theta_r = b_r alpha_r are mixing proportions, and the
components are the columns of P K, each divided by N b_r. `lib.numerics.mixing_proportions` finds the proportions and
certifies the result. `algorithm_1` is the paper's algorithm.
"""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks, mixing_proportions
from ..numerics.extras import extra
from ..numerics.kernel_matrix import Pairwise, gaussian_kernel
from .perturbation import BoundedLaplace, Perturbation, RetentionReplacement

with extra("classifiers"):
    from sklearn.base import BaseEstimator, clone
    from sklearn.exceptions import ConvergenceWarning

SOLVERS = ("certified", "algorithm 1")
SCALINGS = ("range", "standard", "none")
FIRST_POOL = 100
# Kernel entries with smaller exponents are left out if few others remain. The entry of a record with itself has
# exponent 0, and the entries of a row of P differ by at most a factor e^epsilon. So for n records, a column of P K
# loses less than a proportion n e^(epsilon - 100).
NEGLIGIBLE = -100.0


def normalised(weights: ArrayLike) -> NDArray[np.float64]:
    """Return weights (n,) divided by their mean. Raises ``ValueError`` if one is < 0 or not finite, or if all are 0."""
    weights = checks.real("weights", weights, "[0, inf)")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if weights.ndim != 1 or not 0 < total < np.inf:
        got = f"shape {weights.shape}, sum {total:g}"
        raise ValueError(f"weights must be a vector with a finite positive sum, got {got}")
    return weights / weights.mean()


def effective_sample_size(weights: ArrayLike) -> float:
    """Return (sum w)^2 / sum w^2, in [1, n]: the mean of this number of equally weighted records has the same variance.

    >>> from lib.microdata import effective_sample_size
    >>> print(effective_sample_size([1.0, 1.0, 1.0]), effective_sample_size([1.0, 0.0, 0.0]))
    3.0 1.0
    """
    weights = normalised(weights)
    return float(len(weights) / np.mean(weights**2))


def algorithm_1(P: np.ndarray | Pairwise, K: np.ndarray | Pairwise, *, rate: float | None = None, tol: float = 1e-12,
                max_iter: int = 1000,
                start: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:  # fmt: skip
    """Run Algorithm 1 of hasegawa2015 with corrections; return alpha (m,), the trace and whether the loop converged.

    P, K : shapes (n, n) and (n, m), arrays or other objects with ``@`` and ``.T``; for the linear model K is Y
    rate : beta in (0, inf). The default is adaptive (see below)
    tol : e in [0, inf); the loop ends when |alpha_new - alpha|^2 < e
    start : alpha before the first step, >= 0. By default all entries are equal
    The trace contains the log-likelihood sum_i ln(P K alpha / n)_i before each step and after the last. The paper does
    not give beta. By default beta begins at 1000 and is divided by ten, permanently, whenever a step would lower the
    likelihood.

    We make three corrections: b contains the column means of K (the paper prints row means, which are the same if K is
    symmetric), the gradient step starts from alpha^t, and (1 - b . alpha) multiplies b. The cycle of shift, clip and
    rescale is not a projection, so the loop can stall below the maximum. Raises ``ValueError`` if b . alpha or a
    density is not positive.

    >>> import numpy as np
    >>> from lib.microdata import algorithm_1
    >>> P = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> alpha, trace, converged = algorithm_1(P, np.eye(2))
    >>> print(alpha.round(3), converged)
    [1. 1.] True
    """
    n = P.shape[0]
    b = K.T @ np.ones(n) / n
    alpha = _rescaled(np.ones(len(b)) if start is None else checks.real("start", start, "[0, inf)"), b)
    tol, max_iter = checks.number("tol", tol, "[0, inf)"), checks.whole("max_iter", max_iter, "[1, inf)")
    fixed = rate is not None
    rate = checks.number("rate", rate, "(0, inf)") if fixed else 1e3
    density = P @ (K @ alpha) / n
    trace = [_log_likelihood(density)]
    for _ in range(max_iter):
        if trace[-1] == -np.inf:
            raise ValueError(f"densities must be positive, got {density.min():g}: use a smaller rate or features >= 0")
        gradient = K.T @ (P.T @ (1 / density)) / n
        while True:
            new = _cycle(alpha + rate * gradient, b)
            density = P @ (K @ new) / n
            if fixed or _log_likelihood(density) >= trace[-1] or rate < 1e-30:
                break
            rate /= 10
        change, alpha = np.sum((new - alpha) ** 2), new
        trace.append(_log_likelihood(density))
        if change < tol:
            return alpha, np.array(trace), True
    return alpha, np.array(trace), False


def _cycle(alpha, b) -> np.ndarray:
    """Shift alpha along b to b . alpha = 1, clip it at 0, and return it rescaled to b . alpha = 1."""
    return _rescaled(np.maximum(0, alpha + (1 - b @ alpha) * b / (b @ b)), b)


def _rescaled(alpha, b) -> np.ndarray:
    total = b @ alpha
    if not 0 < total < np.inf:
        raise ValueError(f"weights must have a finite positive mean to be normalized, got {total:g}")
    return alpha / total


def _log_likelihood(density) -> float:
    return float(np.log(density).sum()) if density.min() > 0 else -np.inf


def duality_gap(P: np.ndarray | Pairwise, K: np.ndarray | Pairwise, alpha: NDArray[np.float64]) -> float:
    """Return a bound on how far the log-likelihood at `alpha` (b . alpha = 1) lies below the maximum over alpha >= 0.

    P, K : as in `algorithm_1`, with K >= 0; see `lib.numerics.mixing_proportions`

    >>> import numpy as np
    >>> from lib.microdata import duality_gap
    >>> P = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> print(round(duality_gap(P, np.eye(2), np.ones(2)), 6))
    0.0
    """
    n = P.shape[0]
    sums = K.T @ np.ones(n)
    scores = K.T @ (P.T @ (1 / (P @ (K @ alpha))))
    return float(n * (np.max(scores[sums > 0] / sums[sums > 0]) - 1))


def maximum_likelihood(
    P: np.ndarray | Pairwise, K: np.ndarray | Pairwise, *, tol: float = 0.01, max_iter: int = 100
) -> tuple[NDArray[np.float64], mixing_proportions.Mixture]:
    """Return alpha (m,) >= 0 with b . alpha = 1 that maximizes sum_i ln(P K alpha)_i (equation 14), and the `Mixture`.

    P, K : as in `algorithm_1`, with P > 0 and K >= 0
    tol : the gap in (0, inf) below which the iteration ends; max_iter : the largest number of rounds, integer >= 1

    For an array K, the product P K is formed once; otherwise the product is formed column by column.
    """
    tol, max_iter = checks.number("tol", tol, "(0, inf)"), checks.whole("max_iter", max_iter, "[1, inf)")
    n = P.shape[0]
    K = K.thinned(NEGLIGIBLE) if isinstance(K, Pairwise) else K
    sums = K.T @ np.ones(n)
    live = np.flatnonzero(sums > 0)  # a category without records has no weight
    start = np.arange(len(live))[:: max(1, len(live) // FIRST_POOL)]
    columns, scores = _mixture(P, K, live, sums[live])
    found = mixing_proportions.fit(columns, scores, start, tol=tol, max_iter=max_iter)
    alpha = np.zeros(len(sums))
    alpha[live[found.support]] = found.theta * n / sums[live[found.support]]
    return alpha, found


def _mixture(P, K, live, sums):
    """Return `columns` and `scores` for `mixing_proportions.fit`: columns `live` of P K divided by `sums` of K."""
    if isinstance(K, np.ndarray):
        a = P @ (K[:, live] / sums)
        return (lambda index: a[:, index]), (lambda ratios: a.T @ ratios)

    def columns(index):
        if isinstance(K, Pairwise):
            return P @ (K.columns(live[index]) / sums[index])
        chosen = K[:, live[index]]
        used = np.unique(chosen.indices)  # rows
        return Pairwise(P.left, P.right[used]) @ (chosen[used].toarray() / sums[index])

    def scores(ratios):
        return (K.T @ (P.T @ ratios))[live] / sums

    return columns, scores


class Features:
    """A map from records to the rows of a real matrix: 0/1 columns for categories, one column for a numeric attribute.

    scaling : how numeric values are scaled: "range" (to [0, 1] over the public range), "standard" (mean 0 and
        variance 1 over the `records` given here) or "none"
    """

    def __init__(self, perturbation: Perturbation, records: NDArray[np.float64], scaling: str) -> None:
        self.mechanisms = tuple(perturbation.mechanisms.values())
        if scaling == "range":
            ends = [(0, 1) if isinstance(one, RetentionReplacement) else (one.low, one.high) for one in self.mechanisms]
            self.origin, ends = np.array(ends, dtype=float).T
            self.unit = ends - self.origin
        elif scaling == "standard":
            self.origin, self.unit = records.mean(axis=0), records.std(axis=0)
            for name, one, column, unit in zip(perturbation.attributes, self.mechanisms, records.T, self.unit):
                if isinstance(one, BoundedLaplace) and (unit == 0 or column.min() == column.max()):
                    raise ValueError(f"records of {name!r} must take at least two values to be scaled, got one")
        else:
            self.origin, self.unit = np.zeros(records.shape[1]), np.ones(records.shape[1])

    def __call__(self, records: NDArray[np.float64], *, both_ways: bool = False) -> NDArray[np.float64]:
        """Return the features of `records`; with `both_ways`, a column 1 - t follows each numeric column t."""
        columns = []
        for one, column, origin, unit in zip(self.mechanisms, records.T, self.origin, self.unit):
            if isinstance(one, RetentionReplacement):
                columns.append(np.eye(one.size)[column.astype(int)])
            else:
                t = ((column - origin) / unit)[:, None]
                columns += [t, 1 - t] if both_ways else [t]
        return np.concatenate(columns, axis=1)


class _DensityRatio(BaseEstimator):
    """Base class of the two models; a model defines K (`basis`)."""

    def fit(self, records: ArrayLike) -> Self:
        """Fit weights for the perturbed `records`, (n, M) or a pandas frame, n >= 2, and return self."""
        tol, max_iter = self._checked()
        self.records_ = self.perturbation.check(records)
        checks.integer("number of records", len(self.records_), "[2, inf)")
        self._prepare()
        P, K = self.perturbation.transitions(self.records_), self.basis()
        if self.solver == "certified":
            self.alpha_, found = maximum_likelihood(P, K, tol=tol, max_iter=max_iter)
            self.trace_, self.n_iter_ = found.trace[:, 0], len(found.trace)
            self.gap_, self.converged_ = found.gap, found.converged
        else:
            P, K = P.dense(), K.dense() if hasattr(K, "dense") else K
            self.alpha_, self.trace_, self.converged_ = algorithm_1(P, K, rate=self.rate, tol=tol, max_iter=max_iter)
            self.n_iter_ = len(self.trace_) - 1
            self.gap_ = duality_gap(P, K, self.alpha_) if K.min() >= 0 else np.nan
        used = np.flatnonzero(self.alpha_)
        self.weights_ = (K.columns(used) if isinstance(K, Pairwise) else K[:, used]) @ self.alpha_[used]
        if not self.converged_:
            message = f"did not converge in {self.n_iter_} iterations, gap {self.gap_:g}: raise max_iter"
            warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=2)
        return self

    def _checked(self) -> tuple[float, int]:
        """Return `tol` and `max_iter`, checked only in `fit` as scikit-learn requires."""
        if not isinstance(self.perturbation, Perturbation):
            raise ValueError(f"perturbation must be a Perturbation, got {self.perturbation!r}")
        checks.one_of("solver", self.solver, SOLVERS)
        checks.one_of("scaling", self.scaling, SCALINGS)
        default = {"certified": (0.01, 100), "algorithm 1": (1e-12, 1000)}[self.solver]
        tol, max_iter = (value if given is None else given for value, given in zip(default, (self.tol, self.max_iter)))
        return checks.number("tol", tol, "(0, inf)"), checks.whole("max_iter", max_iter, "[1, inf)")

    def predict(self, records: ArrayLike) -> NDArray[np.float64]:
        """Return the fitted weights w (h,) of other perturbed `records`."""
        return self.basis(records) @ self.alpha_

    def score(self, records: ArrayLike) -> float:
        """Return the mean log-density of perturbed `records` under the fit; cross-validation compares these means."""
        density = self.perturbation.transitions(self.perturbation.check(records), self.records_) @ self.weights_
        return float(np.mean(np.log(density / len(self.records_))))


class KernelDensityRatio(_DensityRatio):
    """The model w(z) = sum_r alpha_r exp(-|z - y_r|^2 / width) over the perturbed records y_r (equation 14).

    Parameters
    ----------
    perturbation : the `Perturbation` that was applied to the records
    width : sigma^2 of the paper, which takes 1000, in [1e-100, inf) and not too small for the features
        (`gaussian_kernel`); or a sequence of candidates, from which cross-validation on the perturbed records chooses
        the width with the highest mean log-density
    scaling : how numeric attributes are scaled in the kernel: "range", "standard" or "none". The paper does not say
        how. Categories enter as 0/1 columns
    solver : "certified", or "algorithm 1" for the algorithm of the paper, which needs two dense arrays of n^2 numbers
    rate : learning rate of algorithm 1 in (0, inf); `algorithm_1` describes the default
    tol : the gap in (0, inf) below which "certified" ends (default 0.01), or the e of algorithm 1 (default 1e-12)
    max_iter : integer >= 1; the default is 100 rounds of "certified", or 1000 iterations of algorithm 1
    folds, cv_records, rng : for a sequence of widths, the number of folds (>= 2), the largest number of records in all
        folds together, and the numpy Generator that draws these records, which is then required

    Attributes
    ----------
    weights_ : (n,), w at the records, >= 0 with mean 1
    alpha_ : (n,), the coefficients, most of which are 0 if the solver is "certified"
    gap_ : a bound on how far the log-likelihood is below the maximum
    trace_ : log-likelihoods, (n_iter_,), or (n_iter_ + 1,) for algorithm 1
    n_iter_, converged_ : number of iterations, and whether the gap or the step became small enough
    width_ : the width used; scores_ : (candidates,), mean log-densities in the cross-validation, if there was one

    >>> import numpy as np
    >>> from lib.microdata import KernelDensityRatio, Perturbation
    >>> rng = np.random.default_rng(0)
    >>> change = Perturbation.from_epsilon(3.0, {"age": (0.0, 1.0)})
    >>> seen = change.perturb(rng.beta(8, 2, (200, 1)), rng=rng)
    >>> model = KernelDensityRatio(change, width=0.1).fit(seen)
    >>> print(round(float(seen.mean()), 2), round(float((seen[:, 0] * model.weights_).mean()), 2))
    0.65 0.79
    """

    def __init__(self, perturbation: Perturbation, width: ArrayLike = 1000.0, *, scaling: str = "range",
                 solver: str = "certified", rate: float | None = None, tol: float | None = None,
                 max_iter: int | None = None, folds: int = 5, cv_records: int = 2000,
                 rng: np.random.Generator | None = None) -> None:  # fmt: skip
        self.perturbation, self.width, self.scaling, self.solver, self.rate = perturbation, width, scaling, solver, rate
        self.tol, self.max_iter, self.folds, self.cv_records, self.rng = tol, max_iter, folds, cv_records, rng

    def _prepare(self):
        widths = checks.real("width", self.width, "[1e-100, inf)")
        if widths.size == 0:
            raise ValueError("width must not be empty")
        self.width_ = float(widths) if widths.ndim == 0 else self._cross_validated(widths)
        self._features = Features(self.perturbation, self.records_, self.scaling)
        self._centres = self._features(self.records_)

    def _cross_validated(self, widths) -> float:
        if not isinstance(self.rng, np.random.Generator):
            raise ValueError(f"rng must be a numpy Generator to choose among widths, got {self.rng!r}")
        size = min(checks.whole("cv_records", self.cv_records, "[4, inf)"), len(self.records_))
        folds = checks.whole("folds", self.folds, f"[2, {size // 2}]")
        chosen = self.records_[self.rng.permutation(len(self.records_))[:size]]
        parts = np.array_split(chosen, folds)
        scores = np.zeros(len(widths))
        for index, width in enumerate(widths):
            one = clone(self).set_params(width=float(width))
            for held in range(folds):
                rest = np.concatenate(parts[:held] + parts[held + 1 :])
                scores[index] += one.fit(rest).score(parts[held]) * len(parts[held]) / size
        self.scores_ = scores
        return float(widths[scores.argmax()])

    def basis(self, records: ArrayLike | None = None) -> Pairwise:
        """Return K (h, n), the kernel of `records` (default: the fitted ones) and the fitted records, all perturbed."""
        points = None if records is None else self._features(self.perturbation.check(records))
        return gaussian_kernel(self._centres, self.width_, points=points)


class LinearDensityRatio(_DensityRatio):
    """The model w(z) = alpha . z, where z has categories as 0/1 columns (hasegawa2015, end of section 3.2).

    A numeric attribute enters twice, as its position t in [0, 1] within its range and as 1 - t. Then alpha >= 0 is
    equivalent to w >= 0 on all possible records. A sum of functions of one attribute each is non-negative everywhere if
    and only if their minima add up to 0 or more. So constants can be moved between the functions until each function is
    non-negative. The non-negative functions of one attribute are the non-negative combinations of its columns.

    With ``solver="algorithm 1"`` numeric attributes enter once, scaled by `scaling`, as in the paper. Weights can then
    be negative where a scaled value is below 0, and weights can only increase with the value.

    Parameters and attributes are those of `KernelDensityRatio`, without a width. With M' columns, P is multiplied by
    the columns once, block by block. Then an iteration takes n M' operations, and a fit stores n M' numbers (algorithm
    1: n^2).
    """

    def __init__(self, perturbation: Perturbation, *, scaling: str = "range", solver: str = "certified",
                 rate: float | None = None, tol: float | None = None, max_iter: int | None = None) -> None:  # fmt: skip
        self.perturbation, self.scaling, self.solver, self.rate = perturbation, scaling, solver, rate
        self.tol, self.max_iter = tol, max_iter

    def _prepare(self):
        scaling = "range" if self.solver == "certified" else self.scaling
        self._features = Features(self.perturbation, self.records_, scaling)

    def basis(self, records: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return K, the features (h, M') of perturbed `records` (default: the records of the fit)."""
        records = self.records_ if records is None else self.perturbation.check(records)
        return self._features(records, both_ways=self.solver == "certified")
