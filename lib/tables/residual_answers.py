"""Collect noisy residuals of one table, find the pairs and triples that stand out, and compute targets for all pairs.

Everything in this module reads noisy answers only and is therefore post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.junction_trees import Growth, junction_tree
from .graphical_model import GraphicalModel, counts_of_sets
from .marginal_effects import subsets
from .reconciliation import Reconciliation
from .residual_queries import Effect, centred

_ABSOLUTE = 0.8  # nearly the mean absolute value of a standard Gaussian
_CLEAR = _ABSOLUTE  # deviations of the noise that a cell must exceed to stand out
_MEAN, _SPREAD = 0.240, 0.417  # of max(|z| - _CLEAR, 0) for a standard Gaussian z
_FEWEST_SIGNAL = 0.05  # least signal, in units of the deviation that noise alone gives to its estimate
_REFUSED = 100  # pairs in a row that have no room in the junction tree, after which no more are tried
_FITTINGS = 20  # of a target's margins to the model's


class Answers(Reconciliation):
    """A `Reconciliation` of residuals (`residual_queries`) instead of marginals.

    sizes : number of values of each attribute; total : the number of records if it is public

    `expected` maps each triple that may stand out, and whose pairs all have answers, to the counts expected for it.
    """

    def __init__(self, sizes: Sequence[int], total: float | None = None) -> None:
        super().__init__(sizes, total)
        self.expected: dict[Effect, NDArray[np.float64]] = {}

    def record(self, effect: Effect, values: NDArray[np.float64], precision: float) -> None:
        """Add the noisy residual `values` of `effect`, with noise of variance 1/`precision` before centring."""
        known, weighted = self._effects.get(effect, (0.0, 0.0))
        self._effects[effect] = known + precision, weighted + precision * values

    def precision(self, effect: Effect) -> float:
        """Return the sum of the precisions of the answers for `effect`, or 0 if there are none."""
        return self._effects.get(effect, (0.0, 0.0))[0]

    def pairs(self) -> list[Effect]:
        """Return the pairs with an answer, sorted."""
        return sorted(effect for effect in self._effects if len(effect) == 2)

    def within(self, cliques: Iterable[Effect]) -> Answers:
        """Return the answers for subsets of `cliques`, as if exactly these cliques had been measured."""
        cliques = list(cliques)
        found = Answers(self._sizes, self._public_total)
        kept = {(), *(subset for clique in cliques for subset in subsets(clique))}
        found._effects = {effect: known for effect, known in self._effects.items() if effect in kept}
        found.weights = {clique: self._effects[clique][0] for clique in cliques}
        return found

    def apart(self, effect: Effect, expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the residual of `effect` minus that of the counts `expected`, and the precision of the former."""
        precision, weighted = self._effects[effect]
        return weighted / precision - centred(expected), precision

    def even(self, effect: Effect) -> NDArray[np.float64]:
        """Return the counts of a pair under independence, from noisy proportions, or those `expected` for a triple."""
        if len(effect) == 3:
            return self.expected[effect]
        return self.total * np.multiply.outer(*(self._shares(v) for v in effect))

    def error_of_even(self, pair: Effect) -> float:
        """Return roughly the sum of absolute errors in the residual of `even` due to the noise of both attributes.

        The error of the count of a value is taken to be the mean absolute noise or, if it is smaller, the count itself,
        because counts are cut at 0. The residual contains the errors of each attribute times the centred proportions of
        the other one. The result is the square root of the sum of the squares of both parts.
        """
        off, uneven = [], []
        for v in pair:
            share, noise = self._shares(v), _ABSOLUTE / math.sqrt(max(self.precision((v,)), 1e-300))
            off.append(np.minimum(noise, self.total * share).sum())
            uneven.append(np.abs(share - 1 / share.size).sum())
        return math.hypot(off[0] * uneven[1], off[1] * uneven[0])

    def signal(self, pair: Effect, expected: NDArray[np.float64]) -> float:
        """Return an estimate of tau^2 for `pair`, which is at least a small part of its own standard deviation.

        The estimate is the squared distance between the residual of `pair` and that of `expected`, per degree of
        freedom, minus the variance of the noise.
        """
        apart, precision = self.apart(pair, expected)
        degrees = math.prod(self._sizes[v] - 1 for v in pair)
        least = _FEWEST_SIGNAL * math.sqrt(2 / degrees) / precision
        return max(float((apart**2).sum()) / degrees - 1 / precision, least)

    def standing_out(self, limit: int) -> list[Effect]:
        """Return cliques for a model of at most `limit` cells: all attributes with an answer, then pairs and triples.

        The score of a pair adds up, over its cells, the excess of the distance from independence over the noise. The
        mean and the standard deviation of this sum under noise alone are subtracted. For a triple, the distance is that
        from `expected`. The score of a pair counts once more for each triple in `expected` that contains the pair.
        Cliques with higher scores come first. Pairs and triples with scores of at most 0 are left out, and so are
        triples without an answer.
        """
        singles = sorted(effect for effect in self._effects if len(effect) == 1)
        holding = Counter[Effect](pair for triple in self.expected for pair in itertools.combinations(triple, 2))
        triples = (triple for triple in self.expected if self.precision(triple))
        scores = {effect: (1 + holding[effect]) * self._clear(effect) for effect in (*self.pairs(), *triples)}
        chosen, sizes = list[Effect](), tuple(self._sizes)
        alone = {(v,) for v in range(len(sizes))}
        growth, refused = None, 0
        for clique in sorted(scores, key=scores.__getitem__, reverse=True):
            if scores[clique] <= 0 or refused >= _REFUSED:
                break
            if growth is None:
                scopes = (*chosen, *sorted(alone))
                growth = Growth(scopes, sizes, junction_tree(scopes, sizes))
            if growth.has(clique) or growth.within(limit, clique):
                chosen.append(clique)
                alone -= {(v,) for v in clique}
                growth, refused = None, 0
            else:
                refused += 1
        return [*singles, *chosen]

    def _clear(self, effect) -> float:
        """Return by how much the residuals of `effect` and `even` differ beyond what noise alone would show."""
        apart, precision = self.apart(effect, self.even(effect))
        noise = math.sqrt(math.prod(1 - 1 / n for n in apart.shape) / precision)
        clear = float(np.maximum(np.abs(apart) - _CLEAR * noise, 0).sum())
        return clear - noise * (_MEAN * apart.size + _SPREAD * math.sqrt(apart.size))


def targets(
    answers: Answers, model: GraphicalModel, pairs: Iterable[Effect], inside: Collection[Effect]
) -> dict[Effect, NDArray[np.float64]]:
    """Return target counts for `pairs`: the model's or, for measured pairs not `inside` the model, shrunken answers.

    Let D be the measured residual minus the residual of the model, and S the mean square of D divided by the variance
    of the noise. The target is the model's counts plus max(0, 1 - 1/S) D, the positive-part shrinkage of James and
    Stein 1961 towards the model. The result is projected to counts of at least 0 and then fitted to the two margins of
    the model in turn, so that the targets of different pairs agree on single attributes.
    """
    found = {}
    for pair, counts in counts_of_sets(model, pairs):
        if pair not in inside and answers.precision(pair):
            apart, precision = answers.apart(pair, counts)
            strength = precision * float((apart**2).sum()) / math.prod(n - 1 for n in counts.shape)
            if strength > 1:
                counts = _fitted(simplex_projection(counts + (1 - 1 / strength) * apart, model.total), counts)
        found[pair] = counts
    return dict(sorted(found.items()))


def simplex_projection(table: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the array nearest to `table` with entries of at least 0 and the sum `total` > 0 (Held et al. 1974)."""
    falling = np.sort(table, axis=None)[::-1]
    over = np.cumsum(falling) - total
    last = np.flatnonzero(falling * np.arange(1, falling.size + 1) > over)[-1]
    return np.maximum(table - over[last] / (last + 1), 0.0)


def _fitted(table, model) -> np.ndarray:
    """Return `table` scaled to the row and column sums of `model` in turn; rows and columns of zeros are unchanged."""
    for _ in range(_FITTINGS):
        for axis in (0, 1):
            sums, wanted = table.sum(axis=axis, keepdims=True), model.sum(axis=axis, keepdims=True)
            table = np.where(sums > 0, table * (wanted / np.where(sums > 0, sums, 1.0)), table)
    return table
