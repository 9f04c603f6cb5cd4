"""Staged residuals as a release: the run, its cost, and a model that uses the targets of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..accounting import gaussian_epsilon
from ..accounting.certified import root_up
from ..accounting.certified_gaussian import certified_mu
from ..numerics import checks
from ..tables.counting import Counted, Workload
from ..tables.graphical_model import GraphicalModel, Measurement
from ..tables.record_moving import SWEEPS, moved
from ..tables.residual_answers import _fitted
from ..tables.residual_stages import _VISITS, Stage, StagedResult, set_weights, staged_residuals
from ..tables.table import Table
from . import account
from .account import DIGITS, in_decimals

_RULED_OUT = 1e-15  # largest proportion of the records in a cell that a model rules out


def cost(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return a rho for which a run with (epsilon, delta) is rho-zCDP: mu^2/2, because mu-GDP implies it.

    epsilon : [1e-6, 1e6]; delta : [1e-300, 1)

    The rho is that of `account.cost` or larger, because Gaussian differential privacy permits less noise than zCDP for
    the same epsilon and delta.
    """
    return certified_mu(_below(epsilon, 1e-6), _below(delta, 1e-300)) ** 2 / 2


def epsilon_of(rho: Fraction, delta: float | Fraction) -> float:
    """Return the smallest epsilon of six digits whose `cost` at `delta` is at least `rho`.

    rho : (0, inf), the zCDP cost of all runs together; delta : [1e-300, 1)

    Raises ``ValueError`` for an epsilon above 1e6.
    """
    found = DIGITS.create_decimal(float(gaussian_epsilon(1 / math.sqrt(2 * rho), float(delta))))
    low = high = max(found, Decimal("1e-6"))
    if cost(Fraction(high), delta) < rho:  # Gaussian differential privacy may be uncertified
        high = DIGITS.create_decimal(account.epsilon_of(rho, delta))
        while cost(Fraction(high), delta) < rho:  # by rounding
            high = DIGITS.next_plus(high)
    while (middle := DIGITS.divide(DIGITS.add(low, high), 2)) < high and middle > low:
        low, high = (low, middle) if cost(Fraction(middle), delta) >= rho else (middle, high)
    while high > Decimal("1e-6") and cost(Fraction(DIGITS.next_minus(high)), delta) >= rho:
        high = DIGITS.next_minus(high)
    return float(high)


def _below(value: float | Fraction, least: float) -> float:
    """Return a float of at most `value`, read as the decimals that it is printed with, but at least `least`."""
    exact = in_decimals(value)
    found = float(exact)
    return max(found if found <= exact else math.nextafter(found, 0.0), least)


def run(table: Counted, epsilon: float, delta: float, workload: Workload, *, neighbours: str, records: int | None,
        rng: np.random.Generator | None, earlier: Sequence[Stage] = (), rho: Fraction | float = 0) -> StagedResult:  # fmt: skip
    """Run `staged_residuals` and return a `StagedResult` whose model is a `TargetedModel`.

    earlier, rho : the stages and the zCDP cost of a release to continue. The stages, `mu` and `mu_used` of the result
        include those of the earlier release

    The other arguments are as for `staged_residuals`.
    """
    if rng is None:
        epsilon, delta = _below(epsilon, 1e-6), _below(delta, 1e-300)
    found = staged_residuals(
        table, epsilon, delta, workload, neighbours=neighbours, records=records, rng=rng, earlier=earlier
    )
    weights = set_weights(table.domain, workload)
    attributes = table.domain.attributes
    named = {tuple(attributes[v] for v in pair): weight for pair, weight in weights.items() if len(pair) == 2}
    model = TargetedModel(found.model, found.targets, {pair: named[pair] for pair in found.targets})
    if not earlier:
        return replace(found, model=model)
    root: Callable = math.sqrt if rng is not None else root_up
    mu, used = (root(each**2 + 2 * rho) for each in (found.mu, found.mu_used))
    return replace(found, model=model, stages=(*earlier, *found.stages), mu=mu, mu_used=used)


class TargetedModel(GraphicalModel):
    """A `GraphicalModel` with targets for pairs.

    model : the `GraphicalModel`
    targets : mapping from pairs of attributes to counts, arrays of the pairs' shapes whose sums are the model's `total`
    weights : mapping from the same pairs to weights, as for `moved`; default: all 1

    Targets with another sum are fitted to the model's counts of single attributes. The counts of these pairs are the targets, and synthetic records are moved towards them. All other counts are those
    of the model.
    """

    def __init__(self, model: GraphicalModel, targets: Mapping[tuple[str, ...], ArrayLike], weights: Mapping[tuple[str, ...], float] | None = None) -> None:  # fmt: skip
        vars(self).update(vars(model))
        self.model = model
        self.weights = dict.fromkeys(targets, 1.0) if weights is None else dict(weights)
        self.targets = {
            names: _consistent(np.asarray(counts, float), model, names) for names, counts in targets.items()
        }
        self._by_axes = {}
        for names, counts in self.targets.items():
            axes = model.domain.axes(names)
            self._by_axes[tuple(sorted(axes))] = counts.transpose(np.argsort(axes))

    def counts(self, clique: tuple[int, ...]) -> np.ndarray:
        """Return the target of the pair `clique`, or the model's counts if there is none."""
        return self._by_axes[clique].copy() if clique in self._by_axes else self.model.counts(clique)

    def synthesize(self, n: int | None = None, *, rng: np.random.Generator) -> Table:
        """Return a `Table` of `n` records, drawn as `GraphicalModel.synthesize` does and then moved towards the targets."""
        table = self.model.synthesize(n, rng=rng)
        scale = len(table) / self.total
        aims: dict[Any, np.ndarray] = {names: scale * counts for names, counts in self.targets.items()}
        sweeps = min(SWEEPS, max(_VISITS // len(self.domain), 1))
        return moved(table, aims, weights=self.weights, sweeps=sweeps, rng=rng) if aims else table

    def of(self, model: GraphicalModel) -> TargetedModel:
        """Return `model`, which rules out some records, with these targets, fitted to its counts of single attributes.

        What the model rules out has a target of 0. Few of the moved records are of this kind; `decoded` replaces them.
        """
        found = {}
        for names, target in self.targets.items():
            allowed = model.marginal(names) > _RULED_OUT * model.total
            found[names] = _fitted(
                _filled(np.where(allowed, target, 0.0), model.marginal(names)), model.marginal(names)
            )
        return TargetedModel(model, found, self.weights)

    def __reduce__(self) -> tuple:
        return TargetedModel, (self.model, self.targets, self.weights)


def _consistent(target, model, names) -> np.ndarray:
    """Return `target` if its sum is the model's total, and otherwise fitted to the model's counts of single attributes."""
    if abs(target.sum() - model.total) <= 1e-6 * model.total:
        return target
    counts = model.marginal(names)
    found = _fitted(_filled(target, counts), counts)
    return found * (model.total / found.sum())


def _filled(target, counts) -> np.ndarray:
    """Return `target` with the model's `counts` in the rows and columns where it has none."""
    for axis in (0, 1):
        target = np.where(target.sum(axis=axis, keepdims=True) > 0, target, counts)
    return target


def packed(model: TargetedModel, stages: Sequence[Stage]) -> tuple[dict, dict[str, np.ndarray]]:
    """Return what a file says about `stages` and the targets of `model`: JSON-serializable values, and named arrays."""
    about = {
        "targets": [(names, model.weights[names]) for names in model.targets],
        "stages": [
            ([(names, _as_text(each.sigmas[names])) for names in each.answers], each.squared_mu, each.norms)
            for each in stages
        ],
    }
    arrays = {f"targets_{i}": values for i, values in enumerate(model.targets.values())}
    for number, each in enumerate(stages):
        arrays |= {f"answers_{number}_{i}": values for i, values in enumerate(each.answers.values())}
    return about, arrays


def unpacked(about: dict, arrays: Mapping[str, np.ndarray]) -> Callable[[GraphicalModel], tuple]:
    """Return a function from the model to the `TargetedModel` and the stages that were `packed`.

    The function raises ``ValueError`` for answers or targets that do not fit the domain of the model, or are out of range.
    """
    targets = {tuple(names): arrays[f"targets_{i}"] for i, (names, _) in enumerate(about["targets"])}
    weights = {tuple(names): checks.number("weight", weight, "[1e-6, 1e6]") for names, weight in about["targets"]}
    stages = []
    for number, (told, squared_mu, norms) in enumerate(about["stages"]):
        sigmas = {tuple(names): _from_text(sigma) for names, sigma in told}
        answers = {names: arrays[f"answers_{number}_{i}"] for i, names in enumerate(sigmas)}
        stages.append(Stage(sigmas, answers, checks.number("squared_mu", squared_mu, "[0, inf)"), bool(norms)))

    def with_model(model):
        for stage in stages:
            for names, values in stage.answers.items():
                sigma, shape = float(stage.sigmas[names]), () if stage.norms else model.domain.shape(names)
                Measurement(names if shape else (), values, sigma).checked(model.domain)
        for names, values in targets.items():
            checks.real("targets", values, f"[0, {1.000001 * model.total!r}]")
            Measurement(names, values, 1.0).checked(model.domain)
        return TargetedModel(model, targets, weights), tuple(stages)

    return with_model


def _as_text(sigma) -> str | float:
    return str(sigma) if isinstance(sigma, Fraction) else float(sigma)


def _from_text(sigma) -> Fraction | float:
    return Fraction(*map(int, sigma.split("/"))) if isinstance(sigma, str) else float(sigma)
