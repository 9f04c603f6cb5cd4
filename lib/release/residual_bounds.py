"""Bounds on the errors of counts, from the noisy residuals of a release by staged residuals (`tables.residual_stages`).

The counts over a set r of attributes are the sum over the subsets e of r of their residuals, each spread evenly over
the cells of r (`residual_queries.rebuilt`). So, for weights a on these cells, the noisy sum of counts is off by the sum
over e of <a_e, Z_e>. Here Z_e is the noise in the residual of e, and a_e is the mean of a over the attributes outside e,
centred. The number of records is the residual of the empty set; it has no noise if it is public. A residual over an
attribute of one value is 0 and has no noise either.

Several stages may measure the same residual. Earlier answers decide what a stage measures, and how precisely. So a mean
of answers of different stages is not exactly Gaussian. But given everything before a stage, its answers have
independent Gaussian noise of known variances sigma_e^2. So, given everything before stage t and for any sets E that t
measures and that are known beforehand, the sum over E of <a_e, Z_e> is Gaussian with variance sum_E sigma_e^2 |a_e|^2.
Each of the following statements is the bound on this sum by a quantile of its law:

- for each stage that measures r: E contains r and those of its subsets that the stage measures;
- for each stage that measures all proper subsets of r: E contains these;
- for each proper subset e of r and each stage that measures e: E contains e alone.

A statement's part of the error probability depends only on how often the stages before it have measured the same sets.
The parts add up to the whole, whatever the stages measure and however often the release is continued. So, by the union
bound, all statements hold together, and an interval may use any of them. For each stage that measures r, an interval
uses the first kind, and adds the smallest bounds for the subsets that this stage does not measure. If the stage measures
no proper subset, these are bounded one by one or together, as is better for a single count. The statements hold for
weights that were fixed beforehand, whatever the records are.

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

from ..numerics import in_order
from ..tables.graphical_model import Measurement
from ..tables.residual_queries import Effect, centred, rebuilt
from ..tables.residual_stages import Stage
from ..tables.table import Domain

# Parts of the error probability, found by trial. Each run measures single attributes first with little of its budget.
_SUBSET, _SUBSETS = 0.01, 0.05  # for each proper subset alone; for all proper subsets together
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


@dataclass(frozen=True)
class _Group:
    """Answers of one stage whose errors are bounded together: `used` maps their sets to them; quantile : of the bound."""

    used: dict[Effect, _Answer]
    quantile: float


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
        return [(_counts(clique, domain, total, names, []), lambda weights: 0.0)]
    inside, values = _inside(domain, clique, names), partial(_counts, clique, domain, total, names)
    one = np.zeros(domain.shape(names))
    one.flat[0] = 1.0  # any cell, because the noise is the same in all
    below = {effect: told for effect, told in known.items() if effect != clique}
    whole = error * (1 - _SUBSET * len(below) - (_SUBSETS if len(below) > 1 else 0))
    (alone, together), found = _for_subsets(below, error), []
    for answer in known[clique]:
        used = {effect: each for effect, told in known.items() for each in told if each.stage == answer.stage}
        groups = [_Group(used, _quantile(answer.part * whole))]
        if len(used) > 1 or not below:
            groups += [alone[effect] for effect in below if effect not in used]
        else:
            choices = [list(alone.values()), *together]
            best: list[_Group] = min(choices, key=lambda some: _reach(some, clique, inside, one))
            groups += best
        found.append((values([each.used for each in groups]), partial(_reach, groups, clique, inside)))
    return sorted(found, key=lambda each: -each[1](one))


def _for_subsets(below, error) -> tuple[dict[Effect, _Group], list[list[_Group]]]:
    """Return the best bound for each proper subset alone, and a list of bounds for all of them together."""
    alone, together = dict[Effect, _Group](), list[list[_Group]]()
    for effect, told in below.items():
        groups = [_Group({effect: each}, _quantile(each.part * _SUBSET * error)) for each in told]
        alone[effect] = min(groups, key=lambda some: some.quantile * next(iter(some.used.values())).sigma)
    if len(below) > 1:
        by_stage: dict[int, dict[Effect, _Answer]] = {}
        for effect, told in below.items():
            for each in told:
                by_stage.setdefault(each.stage, {})[effect] = each
        full = [used for _, used in sorted(by_stage.items()) if len(used) == len(below)]
        for place, used in enumerate(full):
            together.append([_Group(used, _quantile(_part(place, _TOGETHER) * _SUBSETS * error))])
    return alone, together


def _quantile(error: float) -> float:
    return -float(scipy.special.ndtri(error / 2))


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
        means[effect] = in_order.total(each.values * each.sigma**-2 for each in told) / precision
        sizes = [domain.sizes[v] for v in clique]
        shares = (1 - 1 / n if v in effect else n**-2 for v, n in zip(clique, sizes))
        variance += math.prod(shares) / precision
    used = {effect: _Answer(0, mean, 0.0, False, 0.0) for effect, mean in means.items()}
    return _counts(clique, domain, total, names, [used]), math.sqrt(2 * variance / math.pi)


def _known(stages, domain, total, names) -> tuple[dict[Effect, list[_Answer]] | None, Effect]:
    """Return the answers for the residuals with noise that make up the counts over `names`, and the largest of their sets.

    The answers are None if some residual was not measured.
    """
    found = dict[Effect, list[_Answer]]()
    clique: Effect = tuple(sorted(v for v in domain.axes(names) if domain.sizes[v] > 1))
    for size in range(total is not None, len(clique) + 1):
        for effect in itertools.combinations(clique, size):
            told, named = list[_Answer](), tuple(domain.attributes[v] for v in effect)
            for place, stage in enumerate(stages):
                if named in stage.answers and not stage.norms:
                    sigma = stage.sigmas[named]
                    given = place, stage.answers[named], float(sigma), isinstance(sigma, Fraction)
                    told.append(_Answer(*given, _part(len(told), _TOGETHER if size > 1 else _ALONE)))
            if not told:
                return None, clique
            found[effect] = told
    return found, clique


def _part(place, firsts) -> float:
    """Return the part of answer number `place`: what `firsts` says, and for each further one half of what is left."""
    return firsts[place] if place < len(firsts) else (1 - math.fsum(firsts)) * 0.5 ** (place - len(firsts) + 1)


def _inside(domain, clique, names) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape over `clique`, and the permutation of an array over `names` that puts its axes in the domain's order."""
    axes = domain.axes(names)
    return tuple(domain.sizes[v] for v in clique), [axes.index(v) for v in sorted(axes)]


def _counts(clique, domain, total, names, used: Sequence[Mapping[Effect, _Answer]]) -> np.ndarray:
    residuals: dict[Effect, np.ndarray] = {} if total is None else {(): np.asarray(float(total))}
    for each in used:
        residuals |= {effect: answer.values for effect, answer in each.items()}
    axes = domain.axes(names)
    values = rebuilt(residuals, clique, domain.sizes)
    return values.reshape([domain.sizes[v] for v in sorted(axes)]).transpose([sorted(axes).index(v) for v in axes])


def _reach(groups: Sequence[_Group], clique, inside, weights) -> float:
    """Return the bound on the error of a sum of counts with these `weights`."""
    shape, order = inside
    weights, found = weights.transpose(order).reshape(shape), 0.0
    for group in groups:
        variance = 0.0
        for effect, answer in group.used.items():
            outside = tuple(axis for axis, v in enumerate(clique) if v not in effect)
            part = centred(weights.mean(axis=outside))
            variance += answer.sigma**2 * float((part**2).sum())
            if answer.exact:
                found += float(np.abs(part).sum()) / (2 * part.size)
        found += group.quantile * math.sqrt(variance)
    return found
