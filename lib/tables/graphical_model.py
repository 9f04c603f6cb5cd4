"""Private-PGM: find the graphical model that fits noisy marginals best (miura2025, section 2.3).

Given counts y_c over cliques c, with noise of standard deviation sigma_c, `fit` finds a distribution over all possible
records. Its marginals, times the number N of records, are mu. They minimize

    sum_c w_c/2 |mu_c - y_c|^2 + tau N KL(mu/N, uniform),    w_c = 1/sigma_c^2,

where the small second term makes the minimizer unique. (Algorithm 2 of the paper weights measurements by 1/sigma_c, and
so did its code; weights 1/sigma_c^2 give the likelihood of Gaussian noise.)
McKenna, Sheldon, Miklau 2019 show that the best distribution is a graphical model on the cliques.

The paper descends on mu (`mirror_descent`), whereas `fit` solves the dual problem. Let mu(theta) be the marginals,
times N, of the model with potentials theta. The function

    N log Z(theta) - <y, theta> + tau/2 sum_c |theta_c|^2 / w_c

is smooth and strictly convex, and its gradient g = mu(theta) - y + tau theta / w requires one call of the marginal
oracle. The primal loss at mu(theta) exceeds its minimum by at most the duality gap,
which is exactly sum_c w_c/2 |g_c|^2. Each model records its duality gap as a certificate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks, in_order, lbfgs
from . import record_sampling
from .marginal_effects import Effects, subsets
from .marginal_oracle import MarginalOracle, queries
from .reconciliation import Reconciliation
from .table import Domain, Table

MOST_CODES = 2**27  # records times attributes: the largest number that `synthesize` makes by default

_KEPT = 2**18  # effects with up to this number of matrix entries, at some 40 bytes each, are kept


@dataclass(frozen=True)
class Measurement:
    """The noisy counts of one marginal.

    attributes : names, in the order of the axes of `values`
    values : counts plus noise, a finite float array; a flat array is read in C order
    sigma : standard deviation of the noise, (0, inf)
    """

    attributes: tuple[str, ...]
    values: np.ndarray
    sigma: float

    def checked(self, domain: Domain) -> tuple[tuple[int, ...], np.ndarray, float]:
        """Return (clique, values, sigma), where the axes of the values are in the order of `domain`.

        Raises ``ValueError`` for unknown attributes, values that are not finite or have the wrong shape, and a sigma
        out of range.
        """
        axes, shape = domain.axes(self.attributes), domain.shape(self.attributes)
        sigma = checks.number("sigma", self.sigma, "(0, inf)")
        values = checks.real(f"values of {self.attributes}", self.values, "(-inf, inf)")
        if values.shape != shape and values.shape != (math.prod(shape),):
            raise ValueError(f"values of {self.attributes} must have shape {shape}, got {values.shape}")
        order = np.argsort(axes)
        return tuple(sorted(axes)), values.reshape(shape).transpose(order), sigma


class GraphicalModel:
    """A model with the distribution exp(sum_c theta_c(x_c)) / Z over a domain, times a number of records.

    domain : `Domain`
    potentials : mapping from cliques (tuples of attributes) to theta_c, an array of the clique's shape, with -inf for
        cells that cannot occur
    total : number of records, (0, inf)

    `log_partition` is log Z, and `oracle` is the `MarginalOracle` at these potentials. Models made by `fit` also have
    `gap` (a bound on how far their loss is above the smallest one), `loss`, `evaluations` (calls of the oracle) and
    `converged`.
    """

    gap = loss = float("nan")
    evaluations, converged = 0, True

    def __init__(self, domain: Domain, potentials: Mapping[tuple[str, ...], ArrayLike], total: float = 1.0) -> None:
        total = checks.number("total", total, "(0, inf)")
        cliques, tables = [], []
        for attributes, values in potentials.items():
            axes, shape = domain.axes(attributes), domain.shape(attributes)
            values = checks.real(f"potentials of {attributes}", values, "[-inf, inf)")
            if values.shape != shape:
                raise ValueError(f"potentials of {attributes} must have shape {shape}, got {values.shape}")
            cliques.append(tuple(sorted(axes)))
            tables.append(values.transpose(np.argsort(axes)))
        if len(set(cliques)) < len(cliques) or () in cliques:
            raise ValueError("potentials must belong to distinct, non-empty cliques")
        oracle = MarginalOracle(cliques, domain.sizes)
        theta = np.concatenate([np.empty(0), *map(np.ravel, tables)])
        self._set(domain, oracle, theta, total, oracle(theta)[0])

    def _set(self, domain, oracle, theta, total, log_z):
        """Set the fields from the oracle's current state."""
        self.domain, self.total, self.oracle, self._theta = domain, total, oracle, theta
        self.log_partition = log_z

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Return the attributes of each potential, in the order of `potentials`."""
        return tuple(self._names(clique) for clique in self.oracle.cliques)

    @property
    def potentials(self) -> dict:
        """Return theta, as a mapping from each clique to its array."""
        cells = zip(self.cliques, self.oracle.slices, self.oracle.shapes)
        return {clique: self._theta[part].reshape(shape) for clique, part, shape in cells}

    @property
    def size(self) -> int:
        """Return the number of cells of all cliques of the junction tree, which a table-based oracle would store."""
        return self.oracle.tree.cells

    def fits(self, attributes: Collection[str], limit: float | Fraction) -> bool:
        """Return whether `size` would be at most `limit`, or would not grow, if the clique `attributes` were added."""
        limit = checks.number("limit", limit, "[-inf, inf]")
        clique = tuple(sorted(self.domain.axes(attributes)))
        return not clique or self.oracle.fits(clique, limit)

    def marginal(self, attributes: Collection[str]) -> NDArray[np.float64]:
        """Return the expected counts over `attributes`, an array with an axis for each attribute and sum `total`."""
        axes = self.domain.axes(attributes)
        return self.counts(tuple(sorted(axes))).transpose([sorted(axes).index(axis) for axis in axes])

    def counts(self, clique: tuple[int, ...]) -> NDArray[np.float64]:
        """Return `marginal` over `clique`, given as sorted positions of attributes in the domain."""
        return self.total * self.oracle.query(clique)

    def synthesize(self, n: int | None = None, *, rng: np.random.Generator) -> Table:
        """Return a `Table` of `n` records whose counts follow the model closely.

        n : the default is `total`, rounded, but at most `MOST_CODES` codes in all, because a noisy total may be
            enormous
        """
        if n is None:
            n = max(min(round(self.total), MOST_CODES // len(self.domain)), 1)
        n = checks.whole("n", n, "[1, inf)")
        marginals = [self.marginal((name,)) for name in self.domain.attributes]
        marginals = [counts / counts.sum() for counts in marginals]
        return Table(record_sampling.from_conditionals(n, self.oracle.conditionals(), marginals, rng=rng), self.domain)

    def _names(self, clique):
        return tuple(self.domain.attributes[axis] for axis in clique)

    def __reduce__(self) -> tuple:
        return _restore, (self.domain, self.potentials, self.total, {k: getattr(self, k) for k in _FIT})


_FIT = ("gap", "loss", "evaluations", "converged")


def _restore(domain, potentials, total, fitted) -> GraphicalModel:
    model = GraphicalModel(domain, potentials, total)
    vars(model).update(fitted)
    return model


def fit(domain: Domain, measurements: Iterable[Measurement], total: float | None = None, *, tau: float | None = None,
        tolerance: float = 0.001, start: GraphicalModel | None = None,
        max_evaluations: int = 10_000) -> GraphicalModel:  # fmt: skip
    """Return the `GraphicalModel` that fits noisy marginals best.

    domain : `Domain`
    measurements : iterable of `Measurement`. Without measurements, the result is the uniform distribution
    total : number of records if it is public, (0, 1e100]. By default the number is estimated from the measurements
    tau : weight of the entropy, [1e-100, 1e100]. The default is 0.03 divided by the smallest sigma
    tolerance : the target gap, (0, inf), in units of half the number of cells measured
    start : `GraphicalModel` over the same domain to start from; default: the uniform model
    max_evaluations : the largest number of calls of the oracle; `converged` is False if more would be needed

    The unit of `tolerance` is the loss that noise alone is expected to cause. Raises ``ValueError`` for measurements
    that do not fit the domain or are not finite.
    """
    if total is not None:
        total = checks.number("total", total, "(0, 1e100]")
    reconciliation = Reconciliation(domain.sizes, total)
    sigmas = []
    for measurement in measurements:
        reconciliation.add(*measurement.checked(domain))
        sigmas.append(measurement.sigma)
    tau = 0.03 / min(sigmas, default=1.0) if tau is None else tau
    return fit_reconciled(domain, reconciliation, tau, tolerance, start, max_evaluations)


def fit_reconciled(domain: Domain, reconciliation: Reconciliation, tau: float | Mapping[tuple[int, ...], float], tolerance: float,
                   start: GraphicalModel | None = None, max_evaluations: int = 10_000, *,
                   centre: GraphicalModel | None = None) -> GraphicalModel:  # fmt: skip
    """Return the result of `fit` for the measurements in a `Reconciliation`; there are two more options.

    tau : weight of the entropy, or a mapping from all measured effects (sorted positions of their attributes) to their
        weights, [1e-100, 1e100]. With a mapping, tau is the smallest weight, and in the first term the part of each
        effect is multiplied by tau divided by the weight of the effect. The gap refers to this objective
    centre : `GraphicalModel` that replaces the uniform model in the second term, tau N KL(mu/N, centre). Its potentials
        over cliques that were not measured are ignored. The default is the uniform model, as in `fit`
    """
    tolerance = checks.number("tolerance", tolerance, "(0, inf)")
    max_evaluations = checks.whole("max_evaluations", max_evaluations, "[1, inf)")
    cliques = [clique for clique in reconciliation.weights if clique]
    oracle = MarginalOracle(cliques, domain.sizes, None if start is None else start.oracle.tree.order)
    effects, total = _effects(tuple(cliques), domain.sizes), reconciliation.total
    means, weights = reconciliation.effects(effects)
    cells = np.array([math.prod(shape) for shape in oracle.shapes], dtype=int)
    y, aim = np.repeat(total / cells, cells) + effects.spread(means), tolerance * oracle.cells / 2
    beside = _beside_each(tau, effects.subsets)
    taus = np.repeat(
        [beside[subset] for subset in effects.subsets], [part.stop - part.start for part in effects.slices]
    )
    parts = weights * (min(beside.values(), default=1.0) / taus)
    at_centre = effects.of_potentials(_carried_over(centre, oracle))
    # The curvature in a cell, from noise and entropy, times the largest number of cliques that share an effect.
    most = [max(beside[subset] for subset in subsets(clique)) for clique in cliques]
    ridge = np.repeat([tau / reconciliation.weights[clique] for tau, clique in zip(most, cliques)], cells)
    sharing = max((sum(v in clique for clique in cliques) for v in range(len(domain))), default=1)
    fitted = {}

    def evaluate(theta):
        """Return the dual objective at `theta` for `lbfgs.minimise`; store log Z, the gap and the loss in `fitted`."""
        log_z, probabilities = oracle(theta)
        fitted["log_z"] = log_z
        mu = total * probabilities
        beyond = effects.of_potentials(theta) - at_centre
        penalty = taus * beyond / weights
        gradient = mu - y + effects.spread(penalty)
        residual = effects.of_counts(gradient)
        fitted["gap"] = float(0.5 * (parts * residual) @ residual)
        residual -= penalty
        fitted["loss"] = float(0.5 * (weights * residual) @ residual)
        value = total * log_z - y @ theta + 0.5 * penalty @ beyond
        return value, gradient, 1 / (sharing * (mu + ridge)), fitted["gap"] <= aim

    begin = _carried_over(start, oracle)
    theta, evaluations, converged = lbfgs.minimise(evaluate, begin, max_evaluations=max_evaluations)
    if not converged:  # otherwise the last evaluation was at theta
        evaluate(theta)
    model = object.__new__(GraphicalModel)
    model._set(domain, oracle, theta, total, fitted["log_z"])
    model.gap, model.loss = fitted["gap"], fitted["loss"]
    model.evaluations, model.converged = evaluations, bool(converged)
    return model


def counts_of_sets(
    model: GraphicalModel, sets: Iterable[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Yield (set, `model.counts`) for different `sets` of two or three attributes, in any order (`queries`)."""
    for clique, probabilities in queries(model.oracle, sets):
        yield clique, model.total * probabilities


def _effects(cliques, sizes) -> Effects:
    """Return the effects of `cliques`. The last small result is cached: the next fit may use the same cliques."""
    entries = in_order.total(math.prod(sizes[v] for v in clique) << len(clique) for clique in cliques)
    return _kept_effects(cliques, sizes) if entries <= _KEPT else Effects(cliques, sizes)


_kept_effects = functools.lru_cache(maxsize=1)(Effects)


def _beside_each(tau, effects) -> dict:
    """Return the weight of the entropy for each of `effects`, where `tau` is one number or a mapping."""
    if not isinstance(tau, Mapping):
        return dict.fromkeys(effects, checks.number("tau", tau, "[1e-100, 1e100]"))
    if set(tau) != set(effects):
        raise ValueError(f"tau must have a weight for each of the effects {effects}, got {list(tau)}")
    return {effect: checks.number(f"tau[{effect}]", tau[effect], "[1e-100, 1e100]") for effect in effects}


def loss(model: GraphicalModel, measurements: Iterable[Measurement]) -> float:
    """Return the sum of squared residuals, each divided by 2 sigma^2; `fit` minimizes this sum plus an entropy term.

    `model.loss` does not include the disagreement among the measurements, which no model can reduce.
    """
    squares = [((model.marginal(m.attributes) - m.values) ** 2).sum() / (2 * m.sigma**2) for m in measurements]
    return in_order.total(squares)


def least_loss(domain: Domain, measurements: Iterable[Measurement], total: float | None = None) -> tuple[float, float]:
    """Return (lower, upper) bounds on the smallest `loss` of any model over the domain.

    The parameters are as for `fit`. The upper bound is the loss of a fit with a small entropy term. The lower bound is
    this loss minus its gap and the entropy term; it holds because entropies are not negative.
    """
    measurements = list(measurements)
    tau = 0.001 / min((m.sigma for m in measurements), default=1.0)
    model = fit(domain, measurements, total, tau=tau)
    inner = in_order.total((table * model.marginal(clique)).sum() for clique, table in model.potentials.items())
    entropy = model.total * model.log_partition - inner  # N H(p)
    upper = loss(model, measurements)
    return upper - model.gap - tau * entropy, upper


def _carried_over(start, oracle) -> np.ndarray:
    """Return potentials on the cliques of `oracle`: those of the model `start` if it has the clique, otherwise 0."""
    theta = np.zeros(oracle.cells)
    known = {} if start is None else dict(zip(start.oracle.cliques, start.potentials.values()))
    for clique, part in zip(oracle.cliques, oracle.slices):
        if clique in known:
            theta[part] = known[clique].ravel()
    return theta
