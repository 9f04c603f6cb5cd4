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
from ..tables.graphical_model import GraphicalModel
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

    The rho is usually larger than that of `account.cost`, because Gaussian differential privacy permits less noise than
    zCDP for the same epsilon and delta. Where that is not certified, both are equal up to rounding.
    """
    return certified_mu(*_below(epsilon, delta)) ** 2 / 2


def epsilon_of(rho: Fraction, delta: float | Fraction) -> float:
    """Return the smallest epsilon of six digits whose `cost` at `delta` is at least `rho`.

    rho : [1e-100, 1e100], the zCDP cost of all runs together; delta : [1e-300, 1)

    Raises ``ValueError`` for an epsilon above 1e6.
    """
    checks.number("rho", rho, "[1e-100, 1e100]")
    checks.number("delta", delta, "[1e-300, 1)")
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


def _below(epsilon, delta) -> tuple[float, float]:
    """Return floats of at most `epsilon` and `delta`, read as the decimals that floats are printed with.

    At the smallest permitted value, the float may be above it by rounding, which the margin of `certified_mu` covers.
    """
    found = []
    for name, value, least, allowed in (
        ("epsilon", epsilon, 1e-6, "[1e-6, 1e6]"),
        ("delta", delta, 1e-300, "[1e-300, 1)"),
    ):
        checks.number(name, value, allowed)
        exact = in_decimals(value)
        near = float(exact)
        found.append(max(near if near <= exact else math.nextafter(near, 0.0), least))
    return found[0], found[1]


def run(table: Counted, epsilon: float, delta: float, workload: Workload, *, neighbours: str, records: int | None,
        rng: np.random.Generator | None, earlier: Sequence[Stage] = (), rho: Fraction | float = 0) -> StagedResult:  # fmt: skip
    """Run `staged_residuals` and return a `StagedResult` whose model is a `TargetedModel`.

    earlier, rho : the stages and the zCDP cost of a release to continue. The stages, `mu` and `mu_used` of the result
        include those of the earlier release

    The other arguments are as for `staged_residuals`.
    """
    if rng is None:
        epsilon, delta = _below(epsilon, delta)
    found = staged_residuals(
        table, epsilon, delta, workload, neighbours=neighbours, records=records, rng=rng, earlier=earlier
    )
    weights = set_weights(table.domain, workload)
    attributes = table.domain.attributes
    named = {tuple(attributes[v] for v in pair): weight for pair, weight in weights.items() if len(pair) == 2}
    model = TargetedModel(found.model, found.targets, {pair: named[pair] for pair in found.targets})
    found = replace(found, model=model, targets=model.targets)
    if not earlier:
        return found
    root: Callable = math.sqrt if rng is not None else root_up
    mu, used = (root(each**2 + 2 * rho) for each in (found.mu, found.mu_used))
    return replace(found, stages=(*earlier, *found.stages), mu=mu, mu_used=used)


class TargetedModel(GraphicalModel):
    """A `GraphicalModel` with targets for pairs.

    model : the `GraphicalModel`
    targets : mapping from pairs of attributes to counts, arrays of the pairs' shapes in [0, 1e100]
    weights : mapping from the same pairs to weights, as for `moved`; default: all 1

    Targets whose sum is not the model's `total` are fitted to its counts of single attributes. The counts of these
    pairs are the targets, and synthetic records are moved towards them. All other counts are those of the model. Raises
    ``ValueError`` for targets of other sets than pairs, of another shape, or out of range.
    """

    def __init__(self, model: GraphicalModel, targets: Mapping[tuple[str, ...], ArrayLike], weights: Mapping[tuple[str, ...], float] | None = None) -> None:  # fmt: skip
        vars(self).update(vars(model))
        self.model = model
        self.weights = dict.fromkeys(targets, 1.0) if weights is None else dict(weights)
        self.targets = {
            names: _consistent(_checked(counts, model.domain, names), model, names) for names, counts in targets.items()
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

        Cells that the model rules out have targets of practically 0. Few moved records are in such cells; `decoded`
        replaces them.
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


def _checked(counts, domain, names) -> np.ndarray:
    """Return targets as a new array, after checking them; numbers below 1e-100 become 0."""
    shape, found = domain.shape(names), checks.real(f"targets of {names}", counts, "[0, 1e100]")
    if len(set(names)) != 2 or found.shape != shape:
        raise ValueError(f"targets of {names} must be those of a pair, of shape {shape}, got shape {found.shape}")
    return np.where(found < 1e-100, 0.0, found)


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
    arrays = {
        name: arrays[name] for name in arrays if name.startswith(("targets_", "answers_"))
    }  # before they are closed
    targets = {tuple(names): arrays[f"targets_{i}"] for i, (names, _) in enumerate(about["targets"])}
    weights = {tuple(names): checks.number("weight", weight, "[1e-6, 1e6]") for names, weight in about["targets"]}
    if len({frozenset(names) for names in targets}) < len(about["targets"]):
        raise ValueError("targets must be of different pairs, got the same pair twice")

    def with_model(model):
        stages = []
        for number, (told, squared_mu, norms) in enumerate(about["stages"]):
            sigmas, answers = {}, {}
            for place, (names, sigma) in enumerate(told):
                named, shape = tuple(names), model.domain.shape(names)
                sigmas[named] = _from_text(sigma)
                checks.number("sigma", float(sigmas[named]), "[1e-75, 1e75]")
                answers[named] = checks.real("answers", arrays[f"answers_{number}_{place}"], "(-1e150, 1e150)")
                if answers[named].shape != (() if norms else shape):
                    raise ValueError(f"answers must have shape {shape}, got {answers[named].shape}")
            checks.one_of("norms", norms, (False, True))
            stages.append(Stage(sigmas, answers, checks.number("squared_mu", squared_mu, "[0, inf)"), norms))
        for values in targets.values():
            checks.real("targets", values, f"[0, {1.000001 * model.total!r}]")
        return TargetedModel(model, targets, weights), tuple(stages)

    return with_model


def _as_text(sigma) -> str | float:
    return str(sigma) if isinstance(sigma, Fraction) else float(sigma)


def _from_text(sigma) -> Fraction | float:
    return Fraction(*map(int, sigma.split("/"))) if isinstance(sigma, str) else float(sigma)
