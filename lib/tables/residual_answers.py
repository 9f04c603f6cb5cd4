"""Noisy residuals of one table of records, the pairs and triples that stand out by them, and targets for all pairs.

Everything here reads noisy answers only, and is therefore post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.junction_trees import Growth, junction_tree
from .graphical_model import GraphicalModel, counts_of_pairs
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
    """A `Reconciliation` of residuals (`residual_queries`) in place of whole marginals.

    sizes : number of values of each attribute; total : the number of records if it is public

    `expected` maps triples, whose pairs have answers, to the counts from which they may stand out.
    """

    def __init__(self, sizes: Sequence[int], total: float | None = None) -> None:
        super().__init__(sizes, total)
        self.expected: dict[Effect, NDArray[np.float64]] = {}

    def record(self, effect: Effect, values: NDArray[np.float64], precision: float) -> None:
        """Add the noisy residual `values` of `effect`, with noise of variance 1/`precision` before centring."""
        known, weighted = self._effects.get(effect, (0.0, 0.0))
        self._effects[effect] = known + precision, weighted + precision * values

    def precision(self, effect: Effect) -> float:
        """Return the sum of the precisions of the answers for `effect`, 0 if there is none."""
        return self._effects.get(effect, (0.0, 0.0))[0]

    def pairs(self) -> list[Effect]:
        """Return the pairs with an answer, sorted."""
        return sorted(effect for effect in self._effects if len(effect) == 2)

    def within(self, cliques: Iterable[Effect]) -> Answers:
        """Return the answers for subsets of `cliques`, as if these were the cliques measured."""
        cliques = list(cliques)
        found = Answers(self._sizes, self._public_total)
        kept = {(), *(subset for clique in cliques for subset in subsets(clique))}
        found._effects = {effect: known for effect, known in self._effects.items() if effect in kept}
        found.weights = {clique: self._effects[clique][0] for clique in cliques}
        return found

    def apart(self, effect: Effect, expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return how far the residual of `effect` is from that of the counts `expected`, and its precision."""
        precision, weighted = self._effects[effect]
        return weighted / precision - centred(expected), precision

    def even(self, effect: Effect) -> NDArray[np.float64]:
        """Return the counts of a pair under independence, with the noisy proportions of its attributes, or `expected`."""
        if len(effect) == 3:
            return self.expected[effect]
        return self.total * np.multiply.outer(*(self._shares(v) for v in effect))

    def error_of_even(self, pair: Effect) -> float:
        """Return roughly the sum of absolute errors of the residual of `even` due to the noise of the two attributes.

        The error of the count of a value is taken to be the mean absolute noise, or the count itself if this is less, since
        counts are cut at 0. The residual has the errors of each attribute times the centred proportions of the other one. The
        two sums are added in squares.
        """
        off, uneven = [], []
        for v in pair:
            share, noise = self._shares(v), _ABSOLUTE / math.sqrt(max(self.precision((v,)), 1e-300))
            off.append(np.minimum(noise, self.total * share).sum())
            uneven.append(np.abs(share - 1 / share.size).sum())
        return math.hypot(off[0] * uneven[1], off[1] * uneven[0])

    def signal(self, pair: Effect, expected: NDArray[np.float64]) -> float:
        """Return an estimate of tau^2 for `pair`, at least a small part of the estimate's own standard deviation.

        The estimate is the squared distance of the residual of `pair` from that of `expected`, per degree of freedom,
        less the variance of the noise.
        """
        apart, precision = self.apart(pair, expected)
        degrees = math.prod(self._sizes[v] - 1 for v in pair)
        least = _FEWEST_SIGNAL * math.sqrt(2 / degrees) / precision
        return max(float((apart**2).sum()) / degrees - 1 / precision, least)

    def standing_out(self, limit: int) -> list[Effect]:
        """Return cliques for a model of at most `limit` cells: every attribute with an answer, then pairs and triples.

        Pairs come in the order of their distance from independence, as it exceeds the noise in each cell, summed over
        their cells, less the mean and the standard deviation of this sum under noise alone. For a triple, it is the
        distance from `expected`, and the distance of a pair counts once more for each triple in `expected` that contains
        it. Pairs and triples below 0 are left out, and so are triples without an answer.
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
        """Return how far the residual of `effect` is from that of `even`, beyond what noise alone would show."""
        apart, precision = self.apart(effect, self.even(effect))
        noise = math.sqrt(math.prod(1 - 1 / n for n in apart.shape) / precision)
        clear = float(np.maximum(np.abs(apart) - _CLEAR * noise, 0).sum())
        return clear - noise * (_MEAN * apart.size + _SPREAD * math.sqrt(apart.size))


def targets(
    answers: Answers, model: GraphicalModel, pairs: Iterable[Effect], inside: Collection[Effect]
) -> dict[Effect, NDArray[np.float64]]:
    """Return target counts for `pairs`: the model's or, for measured pairs not `inside` the model, a shrunken answer.

    With D the distance of the measured residual from the model's and S its mean square over the variance of the noise,
    the target is the model's counts plus max(0, 1 - 1/S) D: the positive-part shrinkage of James and Stein 1961, towards
    the model. The result is projected on counts of at least 0 and then fitted to the margins of the model in turn, so
    that the targets of different pairs agree about single attributes.
    """
    found = {}
    for pair, counts in counts_of_pairs(model, pairs):
        if pair not in inside and answers.precision(pair):
            apart, precision = answers.apart(pair, counts)
            strength = precision * float((apart**2).sum()) / math.prod(n - 1 for n in counts.shape)
            if strength > 1:
                counts = _fitted(simplex_projection(counts + (1 - 1 / strength) * apart, model.total), counts)
        found[pair] = counts
    return dict(sorted(found.items()))


def simplex_projection(table: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the nearest array to `table` with entries of at least 0 and the sum `total` > 0 (Held et al. 1974)."""
    falling = np.sort(table, axis=None)[::-1]
    over = np.cumsum(falling) - total
    last = np.flatnonzero(falling * np.arange(1, falling.size + 1) > over)[-1]
    return np.maximum(table - over[last] / (last + 1), 0.0)


def _fitted(table, model) -> np.ndarray:
    """Return `table` scaled to the row and column sums of `model`, by turns, where it has rows and columns to scale."""
    for _ in range(_FITTINGS):
        for axis in (0, 1):
            sums, wanted = table.sum(axis=axis, keepdims=True), model.sum(axis=axis, keepdims=True)
            table = np.where(sums > 0, table * (wanted / np.where(sums > 0, sums, 1.0)), table)
    return table
