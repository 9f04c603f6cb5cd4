"""Fit the last model of AIM, and control how closely it follows effects that barely exceed their noise.

A "plain" fit gives the entropy the same small weight for all effects (`graphical_model.fit`), and follows the
measurements closely. An "adaptive" fit is a proximal-point iteration whose (Bregman) distance is the entropy relative
to the previous model. Each step stays close to the result of the step before. After infinitely many steps, the model
would fit the noise; after four steps, it does not yet do so.

The weight of the entropy for an effect depends on how far the effect exceeds its noise (`Reconciliation.strengths`).
For noise with deviation s in cells of n expected records, a weight of n / (s^2 (S - 1)) would shrink an effect of
strength S by the fraction 1 / S in one step. This is the shrinkage of empirical Bayes, because noise contributes 1 / S
of the effect's squared length. Further steps undo part of the shrinkage. The weight used is a multiple of
n / (s^2 (S - 1)) plus a multiple of 1 / s. The second term does not depend on S: even in a strong effect, a few large
cells can stand out from the noise while the other cells do not. The multiples were found by trial on four tables, and
corrected after poor results on two more tables.

For a single attribute, such a weight would not lead to equal counts. It would keep the attribute's own potential small,
while the potentials of its pairs would still shift its counts. So the weight of its entropy is a multiple of 1 / s, and
if it has four values or more, the measured effect itself is moved towards uniformity (`Reconciliation.shrunken`).
"""

from __future__ import annotations

import math

from ..numerics import checks
from .graphical_model import GraphicalModel, fit_reconciled
from .reconciliation import Reconciliation
from .table import Domain

PLAIN = {"tau": 0.03, "tolerance": 0.001}  # tau times the deviation of the noise; see `graphical_model.fit`
TOLERANCES = (0.03, 0.03, 0.01, 0.0003)  # of the steps of an adaptive fit
KINDS = ("plain", "adaptive")


def fit(domain: Domain, reconciliation: Reconciliation, scale: float, kind: str,
        start: GraphicalModel | None = None) -> GraphicalModel:  # fmt: skip
    """Return the last model of a run; `evaluations` and `converged` cover all steps of the fit together.

    scale : the scale of the noise of the last measurement (`Step.sigma`), (0, inf), used by a plain fit only
    kind : "plain" or "adaptive"
    start : `GraphicalModel` to start from
    """
    scale = checks.number("scale", scale, "(0, inf)")
    checks.one_of("kind", kind, KINDS)
    if kind == "plain":
        return fit_reconciled(domain, reconciliation, PLAIN["tau"] / scale, PLAIN["tolerance"], start)
    steps: list[GraphicalModel] = []
    strengths = reconciliation.strengths()
    reconciliation = reconciliation.shrunken(strengths)
    for tolerance in TOLERANCES:
        centre = steps[-1] if steps else None
        weights = entropies(domain, reconciliation, centre, strengths)
        steps.append(fit_reconciled(domain, reconciliation, weights, tolerance, centre or start, centre=centre))
    model = steps[-1]
    model.evaluations = sum(step.evaluations for step in steps)
    model.converged = all(step.converged for step in steps)
    return model


def entropies(domain: Domain, reconciliation: Reconciliation, centre: GraphicalModel | None = None,
              strengths: dict[tuple[int, ...], float] | None = None) -> dict[tuple[int, ...], float]:  # fmt: skip
    """Return a mapping from each measured effect (the sorted positions of its attributes) to the weight of its entropy.

    centre : the model found so far, if any. An effect of several attributes gets the larger of two strengths, relative
        to independence and relative to this model. Because the model follows other measurements too, it may be further
        from the true interaction of the attributes than independence is. A measurement close to independence is then
        strong evidence as well
    strengths : the strengths relative to independent attributes (`Reconciliation.strengths`), if they are known
    """
    strengths = strengths or reconciliation.strengths()
    nearer = reconciliation.strengths(centre.counts) if centre else strengths
    found: dict[tuple[int, ...], float] = {}
    for effect, deviation in reconciliation.deviations().items():
        expected = reconciliation.total / math.prod(domain.sizes[v] for v in effect)
        if len(effect) == 1:
            found[effect] = 1.5 / deviation
        else:
            strength = max(strengths[effect], nearer[effect])
            found[effect] = 2 / deviation + 4 * expected / deviation**2 / max(strength - 1, 0.01)
    return found
