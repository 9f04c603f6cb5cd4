"""Make noisy tables of the same records consistent before a model is fitted to the tables.

As in an analysis of variance, a table splits into one effect for each subset of its attributes: the total (for the
empty set), the deviation of each attribute from uniformity, the deviation of each pair from what its attributes
explain, and so on. An effect sums to zero along each of its axes. Two tables that share attributes both measure the
shared effects. Effects are orthogonal, so the weighted squared distance between the marginals mu of any records and the
tables y also splits:

    sum_c w_c |mu_c - y_c|^2 = constant + sum_e W_e |mu_e - y_e|^2,    w_c = 1 / sigma_c^2,

where y_e is the inverse-variance mean of effect e over the tables that contain it, and W_e is the inverse variance of a
cell of y_e before centring. Recombining the means y_e gives tables with the same minimizer that agree where they
overlap. Because these tables do not contradict one another, a fit takes fewer steps.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .marginal_effects import Effects, subsets


class Reconciliation:
    """The effects known from the measurements added so far.

    A clique is a sorted tuple of variables.

    sizes : number of values of each variable
    total : the number of records if it is public; otherwise it is estimated like any other effect
    """

    def __init__(self, sizes: Sequence[int], total: float | None = None) -> None:
        self._sizes, self._public_total = sizes, total
        self._effects: dict = {}  # subset -> (weight, weight times mean) of its effect, a table of sums
        self.weights: dict[tuple[int, ...], float] = {}  # clique -> sum of 1 / sigma^2 over its measurements

    def add(self, clique: tuple[int, ...], values: np.ndarray, sigma: float) -> None:
        """Add noisy counts `values` over `clique`, each with noise of standard deviation `sigma`."""
        self.weights[clique] = self.weights.get(clique, 0.0) + sigma**-2
        for subset in [(), *subsets(clique)]:
            # The number of table cells over which a cell of the effect is spread.
            weight = sigma**-2 / math.prod(self._sizes[v] for v in clique if v not in subset)
            known, weighted = self._effects.get(subset, (0.0, 0.0))
            self._effects[subset] = known + weight, weighted + weight * _effect(values, clique, subset)

    @property
    def total(self) -> float:
        """Return the public number of records, or its minimum-variance estimate, at least 1 (1 without data)."""
        if self._public_total is not None:
            return float(self._public_total)
        weight, weighted = self._effects.get((), (1.0, 0.0))
        return max(float(weighted / weight), 1.0)

    def effects(self, effects: Effects) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return (means, weights), the y_e and W_e of all subsets in `effects`, as flat arrays."""
        means, weights = np.empty(effects.cells), np.empty(effects.cells)
        for subset, part in zip(effects.subsets, effects.slices):
            weight, weighted = self._effects[subset]
            means[part] = (weighted / weight).ravel()
            weights[part] = weight
        return means, weights

    def deviations(self) -> dict[tuple[int, ...], float]:
        """Return, for each effect except the total, the standard deviation of the noise in a cell before centring."""
        return {subset: weight**-0.5 for subset, (weight, _) in self._effects.items() if subset}

    def strengths(
        self, expected: Callable[[tuple[int, ...]], NDArray[np.float64]] | None = None
    ) -> dict[tuple[int, ...], float]:
        """Return how clearly each effect except the total exceeds its noise, in [0, inf).

        expected : function from a clique to its expected counts. By default these are equal counts for one attribute,
            and the counts under independence with the noisy proportions for several attributes

        A strength is the squared distance of an effect from the effect of the expected counts, divided by the mean of
        this squared distance under noise alone. It is 1 on average if the counts without noise are the expected counts.
        If the records are a random sample, the randomness of sampling adds to the strength.
        """
        if expected is None:
            shares = [self._shares(v) for v in range(len(self._sizes))]

            def expected(clique):
                if len(clique) == 1:
                    return np.full(self._sizes[clique[0]], self.total / self._sizes[clique[0]])
                return self.total * functools.reduce(np.multiply.outer, [shares[v] for v in clique])

        found = {}
        for subset, (weight, weighted) in self._effects.items():
            if subset:
                apart = weighted / weight - _effect(expected(subset), subset, subset)
                degrees = math.prod(self._sizes[v] - 1 for v in subset)
                found[subset] = float(weight * (apart**2).sum() / max(degrees, 1))
        return found

    def shrunken(self, strengths: Mapping[tuple[int, ...], float]) -> Reconciliation:
        """Return a copy, to be fitted, in which each attribute of four values or more is moved towards uniformity.

        strengths : the strength S of each effect, [0, inf)

        An attribute keeps the proportion max(0, 1 - 1/S^2) of its effect. The exponent 2 was chosen by trial among 2, 4,
        8 and the factor of James and Stein. Attributes of three values or fewer stay, because their S is uncertain.
        """
        found = copy.copy(self)
        found._effects = dict(self._effects)
        for effect, (weight, weighted) in self._effects.items():
            if len(effect) == 1 and self._sizes[effect[0]] > 3:
                found._effects[effect] = weight, (1 - max(strengths[effect], 1.0) ** -2) * weighted
        return found

    def _shares(self, variable) -> np.ndarray:
        """Return the proportions of the values of one variable; they are equal if the variable was not measured."""
        weight, weighted = self._effects.get((variable,), (1.0, 0.0))
        counts = np.maximum(self.total / self._sizes[variable] + weighted / weight, 0.0) * np.ones(
            self._sizes[variable]
        )
        return counts / counts.sum()


def _effect(values, clique, subset) -> np.ndarray:
    """Return the sums of `values` over `subset`, minus what smaller subsets explain (centred along each axis)."""
    effect = values.sum(axis=tuple(axis for axis, v in enumerate(clique) if v not in subset))
    for axis in range(len(subset)):
        effect = effect - effect.mean(axis=axis, keepdims=True)
    return effect
