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
from ..tables.counting import Counted, Workload
from ..tables.graphical_model import GraphicalModel, Measurement
from ..tables.record_moving import SWEEPS, moved
from ..tables.residual_answers import _fitted
from ..tables.residual_stages import _VISITS, Stage, StagedResult, set_weights, staged_residuals
from ..tables.table import Table
from .account import DIGITS

_RULED_OUT = 1e-15  # largest proportion of the records in a cell that a model rules out


def cost(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return a rho for which a run with (epsilon, delta) is rho-zCDP: mu^2/2, because mu-GDP implies it.

    epsilon : [1e-6, 1e6]; delta : [1e-300, 1)

    The rho is larger than that of `account.cost`, because Gaussian differential privacy permits less noise than zCDP
    for the same epsilon and delta.
    """
    return certified_mu(epsilon, delta) ** 2 / 2


def epsilon_of(rho: Fraction, delta: float | Fraction) -> float:
    """Return the smallest epsilon of six digits whose `cost` at `delta` is at least `rho`.

    rho : (0, inf), the zCDP cost of all runs together; delta : [1e-300, 1)

    Raises ``ValueError`` for an epsilon above 1e6.
    """
    found = DIGITS.create_decimal(float(gaussian_epsilon(1 / math.sqrt(2 * rho), float(delta))))
    found = max(found, Decimal("1e-6"))
    while cost(Fraction(found), delta) < rho:
        found = DIGITS.next_plus(found)
    return float(found)


def run(table: Counted, epsilon: float, delta: float, workload: Workload, *, neighbours: str, records: int | None,
        rng: np.random.Generator | None, earlier: Sequence[Stage] = (), rho: Fraction | float = 0) -> StagedResult:  # fmt: skip
    """Run `staged_residuals` and return a `StagedResult` whose model is a `TargetedModel`.

    earlier, rho : the stages and the zCDP cost of a release to continue. The stages, `mu` and `mu_used` of the result
        include those of the earlier release

    The other arguments are as for `staged_residuals`.
    """
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
    weights : mapping from the same pairs to weights, as for `moved`

    The counts of these pairs are the targets, and synthetic records are moved towards them. All other counts are those
    of the model.
    """

    def __init__(self, model: GraphicalModel, targets: Mapping[tuple[str, ...], ArrayLike], weights: Mapping[tuple[str, ...], float]) -> None:  # fmt: skip
        vars(self).update(vars(model))
        self.model, self.weights = model, dict(weights)
        self.targets = {names: np.asarray(counts, float) for names, counts in targets.items()}
        self._by_axes = {}
        for names, counts in self.targets.items():
            axes = model.domain.axes(names)
            self._by_axes[tuple(sorted(axes))] = counts.transpose(np.argsort(axes))

    def counts(self, clique: tuple[int, ...]) -> np.ndarray:
        """Return the target of the pair `clique`, or the model's counts if there is none."""
        return self._by_axes[clique] if clique in self._by_axes else self.model.counts(clique)

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
        for names in self.targets:
            counts = model.marginal(names)
            left = np.where(counts > _RULED_OUT * model.total, self.targets[names], 0.0)
            found[names] = _fitted(left, counts)
        return TargetedModel(model, found, self.weights)

    def __reduce__(self) -> tuple:
        return TargetedModel, (self.model, self.targets, self.weights)


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

    The function raises ``ValueError`` for answers or targets that do not fit the domain of the model.
    """
    targets = {tuple(names): arrays[f"targets_{i}"] for i, (names, _) in enumerate(about["targets"])}
    weights = {tuple(names): float(weight) for names, weight in about["targets"]}
    stages = []
    for number, (told, squared_mu, norms) in enumerate(about["stages"]):
        sigmas = {tuple(names): _from_text(sigma) for names, sigma in told}
        answers = {names: arrays[f"answers_{number}_{i}"] for i, names in enumerate(sigmas)}
        stages.append(Stage(sigmas, answers, float(squared_mu), bool(norms)))

    def with_model(model):
        for stage in stages:
            for names, values in stage.answers.items():
                sigma, shape = float(stage.sigmas[names]), () if stage.norms else model.domain.shape(names)
                Measurement(names if shape else (), values, sigma).checked(model.domain)
        for names, values in targets.items():
            Measurement(names, values, 1.0).checked(model.domain)
        return TargetedModel(model, targets, weights), tuple(stages)

    return with_model


def _as_text(sigma) -> str | float:
    return str(sigma) if isinstance(sigma, Fraction) else float(sigma)


def _from_text(sigma) -> Fraction | float:
    return Fraction(sigma) if isinstance(sigma, str) else float(sigma)
