"""Bounds on the errors of counts, from the noisy residuals of a release by staged residuals (`tables.residual_stages`).

The counts over a set r of attributes are the sum over the subsets e of r of their residuals, each spread evenly over
the cells of r (`residual_queries.rebuilt`). So, for weights a on these cells, the noisy sum of counts is off by the sum
over e of <a_e, Z_e>. Here Z_e is the noise in the residual of e, and a_e is the mean of a over the attributes outside e,
centred. The number of records is the residual of the empty set; it has no noise if it is public. A residual over an
attribute of one value is 0 and has no noise either.

Several stages may measure the same residual. What a stage measures, and how precisely, depends on earlier answers. So a
mean of answers of different stages is not exactly Gaussian. But given everything before a stage, its answers have
independent Gaussian noise of known variances sigma_e^2. If stage t measures r and all subsets of r, then, given
everything before t,

    <a, noisy counts - true counts> is Gaussian with variance sum_e sigma_e^2 |a_e|^2.

So the absolute value exceeds the quantile q of its law with the probability alpha_t. If the stage does not measure some
of the subsets, their parts come from earlier stages: for each subset e and each earlier stage s that measured e, |<a_e, Z_e>|
exceeds q' sigma_e |a_e| with the probability beta_s. The alpha_t and beta_s depend only on how often r or e was measured
before. By the union bound, all these statements together fail with at most the sum of all alpha_t and beta_s, whatever
the stages measure and however often the release is continued. The statements hold for weights that were fixed
beforehand, whatever the records are. An interval may therefore use each of them.

An exact run rounds Gaussian noise in the residual times its number n_e of cells to integers. This changes the part of e
by at most |a_e|_1 / (2 n_e), which the bounds add.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import scipy

from ..tables.graphical_model import Measurement
from ..tables.residual_queries import Effect, centred, rebuilt
from ..tables.residual_stages import Stage
from ..tables.table import Domain

# Parts of the error probability, found by trial. Each run measures single attributes first with little of its budget.
_SUBSET = 0.02  # for each proper subset
_ALONE, _TOGETHER = (0.05, 0.1, 0.7), (0.2, 0.65)  # for the first measurements of at most one attribute, or of more
Reach = Callable[[np.ndarray], float]


@dataclass(frozen=True)
class _Answer:
    """One answer for a residual, whose axes are in the order of the domain.

    stage : its position among the stages; sigma : of the noise; exact : whether the noise was rounded
    part : of the error probability for this residual, the part for this answer
    """

    stage: int
    values: np.ndarray
    sigma: float
    exact: bool
    part: float

    def quantile(self, error: float) -> float:
        return -float(scipy.special.ndtri(self.part * error / 2))


def measurements(stages: Sequence[Stage]) -> Iterator[Measurement]:
    """Yield each noisy residual of the `stages` in order, without norms, as a `Measurement` of the noise's sigma."""
    for stage in stages:
        if not stage.norms:
            for names, values in stage.answers.items():
                yield Measurement(names, values, float(stage.sigmas[names]))


def measured(stages: Sequence[Stage], domain: Domain, total: int | None, names: Sequence[str]) -> int:
    """Return how often the residual over `names` was measured, or 0 if the residual of a subset was not.

    stages, domain, total : of the release; `total` is the number of records if it is public

    Attributes of one value do not matter. A public number of records counts as measured once.
    """
    known, clique = _known(stages, domain, total, names)
    return 0 if known is None else len(known[clique]) if known else 1


def statements(stages: Sequence[Stage], domain: Domain, total: int | None, names: Sequence[str], error: float
               ) -> list[tuple[np.ndarray, Reach]]:  # fmt: skip
    """Return the statements about the true counts over `names`, as `uncertainty.known` does; none if they were not measured.

    stages, domain, total, names : as for `measured`; error : (0, 1)

    The weights of a sum are an array of shape ``domain.shape(names)``. The statements are sorted by the bound for a
    single count, the smallest last.
    """
    known, clique = _known(stages, domain, total, names)
    if known is None:
        return []
    if not known:
        return [(_counts({}, clique, domain, total, names), lambda weights: 0.0)]
    of_subset, found = _SUBSET * error, []
    for answer in known[clique]:
        used, alone = {}, {}
        for effect, told in known.items():
            same = [each for each in told if each.stage == answer.stage]
            before = [each for each in told if each.stage < answer.stage]
            used[effect] = same[0] if same else min(before, key=lambda each: each.quantile(of_subset) * each.sigma)
            alone[effect] = 0.0 if same else used[effect].quantile(of_subset)
        quantile = answer.quantile(error - of_subset * (len(known) - 1))
        reach = partial(_reach, quantile, used, alone, clique, _inside(domain, clique, names))
        found.append((_counts({e: each.values for e, each in used.items()}, clique, domain, total, names), reach))
    one = np.zeros(domain.shape(names))
    one.flat[0] = 1.0  # any cell, because the noise is the same in all
    return sorted(found, key=lambda each: -each[1](one))


def estimate(
    stages: Sequence[Stage], domain: Domain, total: int | None, names: Sequence[str]
) -> tuple[np.ndarray, float]:
    """Return the counts over `names` from the means of all answers, weighted by precision, and the mean absolute noise in a cell.

    stages, domain, total, names : as for `measured`, which must be positive

    The noise is computed as if the number of answers and their precisions did not depend on earlier noise.
    """
    known, clique = _known(stages, domain, total, names)
    assert known is not None
    means, variance = {}, 0.0
    for effect, told in known.items():
        precision = math.fsum(each.sigma**-2 for each in told)
        means[effect] = np.asarray(sum(each.values * each.sigma**-2 for each in told)) / precision
        sizes = [domain.sizes[v] for v in clique]
        shares = (1 - 1 / n if v in effect else n**-2 for v, n in zip(clique, sizes))
        variance += math.prod(shares) / precision
    return _counts(means, clique, domain, total, names), math.sqrt(2 * variance / math.pi)


def _known(stages, domain, total, names) -> tuple[dict[Effect, list[_Answer]] | None, Effect]:
    """Return the answers for the residuals with noise that make up the counts over `names`, and the largest of their sets.

    The answers are None if some residual was not measured. Those for the largest set begin when all others have one.
    """
    sizes, found, first = domain.sizes, dict[Effect, list[_Answer]](), 0
    clique: Effect = tuple(sorted(v for v in domain.axes(names) if sizes[v] > 1))
    for size in range(total is not None, len(clique) + 1):
        for effect in itertools.combinations(clique, size):
            told, named = list[_Answer](), tuple(domain.attributes[v] for v in effect)
            for place, stage in enumerate(stages):
                if named in stage.answers and not stage.norms:
                    sigma = stage.sigmas[named]
                    given = place, stage.answers[named], float(sigma), isinstance(sigma, Fraction)
                    told.append(_Answer(*given, _part(len(told), _TOGETHER if size > 1 else _ALONE)))
            told = [each for each in told if effect != clique or each.stage >= first]
            if not told:
                return None, clique
            found[effect], first = told, max(first, told[0].stage)
    return found, clique


def _part(place, firsts) -> float:
    """Return the part of answer number `place`: what `firsts` says, and for each further one half of what is left."""
    return firsts[place] if place < len(firsts) else (1 - math.fsum(firsts)) * 0.5 ** (place - len(firsts) + 1)


def _inside(domain, clique, names) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape over `clique`, and the permutation of an array over `names` that puts its axes in the domain's order."""
    axes = domain.axes(names)
    return tuple(domain.sizes[v] for v in clique), [axes.index(v) for v in sorted(axes)]


def _counts(residuals: Mapping[Effect, np.ndarray], clique, domain, total, names) -> np.ndarray:
    public: dict[Effect, np.ndarray] = {} if total is None else {(): np.asarray(float(total))}
    axes = domain.axes(names)
    values = rebuilt({**public, **residuals}, clique, domain.sizes)
    return values.reshape([domain.sizes[v] for v in sorted(axes)]).transpose([sorted(axes).index(v) for v in axes])


def _reach(quantile, used, alone, clique, inside, weights) -> float:
    """Return the bound on the error of a sum of counts with these `weights`."""
    shape, order = inside
    weights, variance, found = weights.transpose(order).reshape(shape), 0.0, 0.0
    for effect, answer in used.items():
        outside = tuple(axis for axis, v in enumerate(clique) if v not in effect)
        part = centred(weights.mean(axis=outside))
        spread = answer.sigma * math.sqrt(float((part**2).sum()))
        if alone[effect]:
            found += alone[effect] * spread
        else:
            variance += spread**2
        if answer.exact:
            found += float(np.abs(part).sum()) / (2 * part.size)
    return found + quantile * math.sqrt(variance)
