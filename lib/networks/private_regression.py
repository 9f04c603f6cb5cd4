"""Logistic regression whose whole model is epsilon-DP: a reference for the networks of sei2017.

Chaudhuri, Monteleoni and Sarwate 2011 perturb the minimizer w of

    J(w) = 1/n sum_i log(1 + exp(-v_i . w)) + Lambda/2 |w|^2,    v_i = y_i (x_i, 1) / R,    y_i = -1 or 1,

where |(x_i, 1)| <= R, so that |v_i| <= 1. Neighbours are bounded: one of n records is replaced, and n is public. Let
s(m) = 1/(1 + e^m). The loss of a record has the gradient -s(v.w) v, of norm < 1, and the Hessian s(1 - s) v v^T, with
s(1 - s) <= 1/4.

Output perturbation. Claim: the minimizer moves by at most 2/(n Lambda). J is Lambda-strongly convex: |grad J(u)| >=
Lambda |u - w| for its minimizer w. Let J' be the function of the neighbour, and let u minimize J'. Then grad J(u) =
grad J(u) - grad J'(u) is the difference of two records' gradients, divided by n, and its norm is below 2/n. ∎ By the
same inequality, a w' with |grad J(w')| <= t is within t/Lambda of w. So the result of the solver moves by at most S =
2/(n Lambda) + 2t/Lambda. Noise b with density proportional to exp(-epsilon |b| / S) is added. Densities at any point
then differ by a factor of at most e^epsilon, by the triangle inequality. ∎

Objective perturbation. Before J is minimized, b . w / n is added to it, where b has density proportional to exp(-e |b|
/ 2), and Lambda is raised to L if necessary. Claim: the released w is epsilon-DP for e = epsilon - log(1 + 1/(4 n L)) >
0. Each w is the minimizer for exactly one b, namely b(w) = sum_i s(v_i.w) v_i - n L w. So the density of w is the
density of b at b(w) times the absolute determinant of the Jacobian of b(w). Up to sign, this Jacobian is A = n L I +
sum_i s(1 - s) v_i v_i^T. The b(w) of a neighbour differs by s v - s' v', whose norm is < 2, so the density of b changes
by a factor of at most e^e. The A' of the neighbour is at most A + v' v'^T / 4 in the order of positive semidefinite
matrices. So det A' <= det A (1 + v'^T A^-1 v' / 4) <= det A (1 + 1/(4 n L)). ∎ (The authors use the square of this
factor. If e were below epsilon/2 for L = Lambda, L is chosen so that e = epsilon/2.) The proof assumes exact
minimizers, but Newton's method ends when rounding stops it.

Noise is drawn in floating point (`floating_point` shows what that reveals). Lambda and R must be chosen without the
data: trying several values costs additional privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..mechanisms.noise import generator
from ..numerics import checks
from ..numerics.checks import Numbers, number, whole

METHODS = ("output", "objective", "none")
_TOLERANCE = 1e-10  # for the gradient's norm; output perturbation accounts for the rest


@dataclass(frozen=True)
class LogisticRegression:
    """A published model: the probability of label 1 is 1/(1 + exp(-(x . weights + intercept))).

    weights : (d,); intercept : a number; method : one of `METHODS`
    epsilon : the guarantee for the whole model, at record level, for bounded neighbours; inf without noise
    regularization : Lambda or, if objective perturbation raised it, L
    """

    weights: np.ndarray
    intercept: float
    method: str
    epsilon: float
    regularization: float

    def predict_proba(self, features: np.ndarray) -> NDArray[np.float64]:
        """Return the probabilities of the labels 0 and 1, (n, 2), for features (n, d)."""
        score = checks.real("features", features, "[-1e100, 1e100]") @ self.weights + self.intercept
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, features: np.ndarray) -> NDArray[np.int64]:
        """Return labels 0 or 1, (n,), for features (n, d)."""
        return self.predict_proba(features).argmax(axis=1)


def fit(features: ArrayLike, labels: ArrayLike, epsilon: float = inf, *, method: str = "objective",
        regularization: float = 1e-4, bound: float | None = None,
        rng: np.random.Generator | None = None) -> LogisticRegression:  # fmt: skip
    """Return a logistic regression that is `epsilon`-DP (bounded neighbours).

    features : (n, d) in [-1e100, 1e100]; labels : (n,), each 0 or 1
    epsilon : (0, inf). The `method` "none" uses neither `epsilon` nor `rng`
    regularization : Lambda in (0, inf), public
    bound : R in [1e-100, 1e100], public: the largest norm of a row with a 1 appended (for the intercept, which is also
        regularized). Longer rows are scaled down to the norm R. The default is sqrt(d + 1), which suits features in [0,
        1]; for the six numeric and eight one-hot categorical attributes of Adult, sqrt(15) suffices

    >>> import numpy as np
    >>> from lib.networks.private_regression import fit
    >>> rng = np.random.default_rng(0)
    >>> features = rng.uniform(0, 1, (1000, 2))
    >>> model = fit(features, (features[:, 0] > 0.5).astype(int), epsilon=1.0, regularization=0.01, rng=rng)
    >>> print(model.weights[0] > abs(model.weights[1]))
    True
    """
    checks.one_of("method", method, METHODS)
    features = checks.features(features, "[-1e100, 1e100]")
    n, d = features.shape
    labels = checks.labels(labels, n)
    regularization = checks.number("regularization", regularization, "(0, inf)")
    bound = sqrt(d + 1) if bound is None else checks.number("bound", bound, "[1e-100, 1e100]")
    signed = _signed(features, labels, bound)
    epsilon = inf if method == "none" else checks.number("epsilon", epsilon, "(0, inf)")
    slope: float | np.ndarray = 0.0
    if method == "objective":
        noise_epsilon, regularization = objective_parameters(n, regularization, epsilon)
        slope = gamma_noise(d + 1, 2 / noise_epsilon, rng=generator(rng)) / n
    w = minimiser(signed, regularization, slope)
    if method == "output":
        w = w + gamma_noise(d + 1, output_sensitivity(n, regularization) / epsilon, rng=generator(rng))
    return LogisticRegression(w[:-1] / bound, float(w[-1] / bound), method, epsilon, regularization)


def output_sensitivity(n: float, regularization: float) -> float:
    """Return S, a bound on the L2 distance that the solver's result moves if one of n >= 1 records is replaced.

    regularization : Lambda in [1e-100, 1e100]
    """
    n, regularization = number("n", n, "[1, 1e15]"), number("regularization", regularization, "[1e-100, 1e100]")
    return 2 / (n * regularization) + 2 * _TOLERANCE / regularization


def objective_parameters(n: float, regularization: float, epsilon: float) -> tuple[float, float]:
    """Return (e, L) of objective perturbation for n >= 1, Lambda in [1e-100, 1e100] and epsilon in [1e-100, inf)."""
    n, regularization = number("n", n, "[1, 1e15]"), number("regularization", regularization, "[1e-100, 1e100]")
    epsilon = number("epsilon", epsilon, "[1e-100, inf)")
    noise_epsilon = epsilon - log1p(1 / (4 * n * regularization))
    if noise_epsilon >= epsilon / 2:
        return noise_epsilon, regularization
    return epsilon / 2, 1 / (4 * n * np.expm1(epsilon / 2))


def gamma_noise(d: int, scale: float, *, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return b in R^d with density proportional to exp(-|b| / scale): Gamma(d) times `scale` in a uniform direction."""
    d, scale = whole("d", d, "[1, inf)"), number("scale", scale, "[0, 1e100]")
    direction = generator(rng).normal(size=d)
    return direction * (rng.gamma(d, scale) / np.linalg.norm(direction))


def minimiser(signed: NDArray[np.float64], regularization: float, slope: Numbers = 0.0) -> NDArray[np.float64]:
    """Return w (d,) that minimizes J(w) + slope . w for the v_i in `signed` (n, d), by Newton's method with backtracking.

    The method stops when the gradient g is below 1e-15 (1 + |slope|), or when it no longer shrinks.
    Raises ``ArithmeticError`` if |g| is then not below 1e-10 (1 + |slope|).
    """
    n, d = signed.shape

    def gradient_at(w):
        s = expit(-(signed @ w))
        return regularization * w + slope - signed.T @ s / n, s

    w = np.zeros(d)
    gradient, s = gradient_at(w)
    allowed, length = _TOLERANCE * (1 + np.linalg.norm(slope)), 1.0
    while length > 1e-8 and np.linalg.norm(gradient) > 1e-5 * allowed:
        hessian = (signed * (s * (1 - s) / n)[:, None]).T @ signed + regularization * np.eye(d)
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > 1e-8:  # the Newton direction lowers |g|, if the step is short enough
            new, new_s = gradient_at(w - length * step)
            if np.linalg.norm(new) < np.linalg.norm(gradient):
                w, gradient, s = w - length * step, new, new_s
                break
            length /= 2
    left = np.linalg.norm(gradient)
    if not left <= allowed:
        now = f"raise regularization, now {regularization:g}"
        raise ArithmeticError(
            f"the fit did not converge: the gradient's norm is {left:g}, above the tolerance {allowed:g}; {now}"
        )
    return w


def _signed(features, labels, bound):
    """Return the v_i, (n, d + 1), of norm at most 1."""
    rows = np.column_stack([features, np.ones(len(features))])
    rows /= np.maximum(np.linalg.norm(rows, axis=1), bound)[:, None]
    return np.where(labels == 1, 1.0, -1.0)[:, None] * rows
