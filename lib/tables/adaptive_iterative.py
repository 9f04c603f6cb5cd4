"""AIM, the adaptive and iterative mechanism (miura2025, Algorithms 2 to 4).

Round after round, AIM asks privately which marginal its model gets most wrong, measures that
marginal with noise, and fits the model again (`graphical_model`); at the end, synthetic records
are made from the model. The budget is one rho of zero-concentrated DP, which adds up even though
each round's choice and noise depend on what came before (Bun and Steinke 2016, Lemma 2.3).

Neighbouring tables: "unbounded" adds or removes a record, as the code measured in the document does;
"bounded" replaces one, as its Definition 2.1 says, and treats the number of records as public.
McKenna, Mullins, Sheldon, Miklau 2022, "AIM", is the original.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .. import accounting
from ..mechanisms.noise import gaussian, laplace
from ..mechanisms.selection import exponential
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks, in_order
from .graphical_model import GraphicalModel, Measurement, fit_reconciled
from .marginal_effects import subsets
from .reconciliation import Reconciliation
from .table import Table

NOISES = ("gaussian", "laplace")

# Fitting: weight of the entropy times sigma, and accepted gap (see `graphical_model.fit`).
_ROUND, _LAST = {"tau": 0.05, "tolerance": 0.01}, {"tau": 0.03, "tolerance": 0.001}


@dataclass(frozen=True)
class Step:
    """One measurement of a run.

    attributes : what was measured
    sigma : scale of the noise in counts, the standard deviation of Gaussian, b of Laplace noise
    epsilon : of the choice by the exponential mechanism; 0 in the initialisation, which chooses nothing
    rho_used : zCDP spent so far, this step included
    cells : size of the model fitted after it (cells of the junction tree's cliques)
    gap, evaluations : how well and in how many calls that model was fitted
    annealed : whether the budget a round was doubled after it (Algorithm 4)
    errors : for the attribute sets asked for, L1 distance of the model's marginal from the true one,
        over the number of records. Not private: for studying the mechanism, not for release
    """

    attributes: tuple[str, ...]
    sigma: float
    epsilon: float
    rho_used: float
    cells: int
    gap: float
    evaluations: int
    annealed: bool = False
    errors: dict = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Result:
    """`synthetic`, a `Table`; the `model` it was made from; the `measurements` and `steps` of this run;
    `rho`, the budget, and `rho_used` <= rho."""

    synthetic: Table
    model: GraphicalModel
    measurements: tuple[Measurement, ...]
    steps: tuple[Step, ...]
    rho: float
    rho_used: float


def aim(table, epsilon, delta, workload=2, *, rng, rounds=None, alpha=0.9, initialise=True, anneal=True, noise="gaussian",
        neighbours="unbounded", max_cells=10_000_000, measurements=(), records=None, errors=(),
        progress=False) -> Result:  # fmt: skip
    """Run AIM on a `Table`; the result satisfies (epsilon, delta)-DP towards `neighbours`.

    epsilon : (0, inf); delta : (0, 1)
    workload : the marginals to preserve: k for all sets of k attributes, a collection of attribute
        sets, or a mapping from them to weights c_s in (0, inf)
    rounds : T of Algorithm 2, into so many the budget is divided at first; default: 16 times the number of
        attributes, and at least that number
    alpha : share of each round's budget that goes to measuring, [1e-9, 1)
    initialise : measure every attribute by itself first (Algorithm 3)
    anneal : give the rounds a larger share when one has taught the model too little (Algorithm 4, lines 1
        and 2); otherwise every round but the last costs the same
    noise : "gaussian" or "laplace", at equal rho a round
    max_cells : size limit of the model, in cells of its junction tree; at most the share of it that
        equals the share of the budget spent is used, so that early rounds leave room for later ones
    measurements : iterable of `Measurement` to continue from; their privacy is not accounted for here
    records : how many to synthesise; default: the model's (noisy) total under unbounded neighbours
    errors : sizes k of attribute sets whose errors each `Step` is to record, e.g. (1, 2, 3)
    progress : whether to show on standard error how much of the budget is spent

    Raises ``ValueError`` for values outside these ranges, an empty workload, attributes that the table
    does not have, measurements that do not fit its domain, and a size limit that leaves nothing to choose.
    """
    run = _Run(table, workload, rng, noise, neighbours, max_cells, errors)
    epsilon, delta = checks.real("epsilon", epsilon, "(0, inf)"), checks.real("delta", delta, "(0, 1)")
    d = len(table.domain)
    rounds = 16 * d if rounds is None else checks.number("rounds", rounds, f"[{d}, inf)")
    alpha = checks.number("alpha", alpha, "[1e-9, 1)")
    if records is not None:
        records = checks.whole("records", records, "[1, inf)")
    for measurement in measurements:
        run.take_in(measurement)
    schedule = Schedule(accounting.dp_to_zcdp(epsilon, delta), rounds, alpha)
    run.fit(run.noise_scale(schedule), **_ROUND)
    if initialise:
        run.initialise(schedule)
    while not schedule.exhausted:
        run.round(schedule, anneal)
        if progress:
            _show(schedule)
    synthetic = run.model.synthesize(records, rng=rng)
    return Result(synthetic, run.model, tuple(run.measurements), tuple(run.steps), schedule.rho, schedule.used)


class Schedule:
    """How the budget rho is spent (Algorithm 2, lines 1, 2 and 10; Algorithm 4); `used` never exceeds it.

    rho, rounds : [1e-100, 1e100]; alpha : [1e-9, 1)
    `multiplier` and `epsilon` are those of the next round: sigma_t for sensitivity 1, and epsilon_t.
    """

    def __init__(self, rho, rounds, alpha):
        rho, rounds = checks.number("rho", rho, "[1e-100, 1e100]"), checks.number("rounds", rounds, "[1e-100, 1e100]")
        self.rho, self.alpha, self.used = rho, checks.number("alpha", alpha, "[1e-9, 1)"), 0.0
        self.multiplier = math.sqrt(rounds / (2 * self.alpha * rho))
        self.epsilon = math.sqrt(8 * (1 - alpha) * rho / rounds)
        self.last = self.exhausted = False
        self._finish_if_short()

    def measure(self) -> None:
        """Spend on one measurement without a choice."""
        self.used += 1 / (2 * self.multiplier**2)
        self._finish_if_short()

    def spend(self) -> None:
        """Spend on a whole round: a choice and a measurement."""
        self.used += self._cost()
        self.exhausted = self.last

    def advance(self, anneal: bool) -> None:
        """Set the next round's share; `anneal` says that the last one taught the model too little."""
        if anneal:
            self.multiplier, self.epsilon = self.multiplier / 2, 2 * self.epsilon
        self._finish_if_short()

    def _cost(self) -> float:
        return 1 / (2 * self.multiplier**2) + self.epsilon**2 / 8

    def _finish_if_short(self) -> None:
        """If less than two rounds' worth is left, the next round is the last and gets it all."""
        left = (self.rho - self.used) * (1 - 1e-12)  # less rounding errors
        if left <= 2 * self._cost():
            self.last = True
            self.epsilon = math.sqrt(8 * (1 - self.alpha) * left)
            self.multiplier = math.sqrt(1 / (2 * self.alpha * left))


class _Run:
    """The state of one run: the measurements so far and the model that fits them."""

    model: GraphicalModel  # from the first `fit` on

    def __init__(self, table, workload, rng, noise, neighbours, max_cells, errors):
        checks.one_of("noise", noise, NOISES)
        checks.one_of("neighbours", neighbours, NEIGHBOURS)
        self.domain, self.rng, self.noise = table.domain, rng, noise
        # Added or removed, a record changes one count of a marginal by one; replaced, two.
        self.sensitivity = 1 if neighbours == "unbounded" else 2
        self.reconciliation = Reconciliation(self.domain.sizes, None if neighbours == "unbounded" else len(table))
        self.weights = _downward_closure(self.domain, workload)
        self.truth = {clique: table.marginal(self._names(clique)) for clique in self.weights}
        self.max_cells = checks.whole("max_cells", max_cells, "[1, inf)")
        smallest = min(self._smallest_with(clique) for clique in self.weights)
        if smallest > self.max_cells:
            raise ValueError(f"max_cells must be at least {smallest}, the smallest model, got {self.max_cells}")
        self.records, self.watched = len(table), _watched(table, errors)
        self.measurements: list[Measurement] = []
        self.steps: list[Step] = []

    def initialise(self, schedule) -> None:
        """Measure every attribute of the workload by itself (Algorithm 3)."""
        for clique in [clique for clique in self.weights if len(clique) == 1]:
            scale = self.noise_scale(schedule)
            schedule.measure()
            self._measure(clique, scale)
            if self.watched:  # otherwise one fit after all of them will do
                self.fit(scale, **_ROUND)
            self._note(clique, scale, 0.0, schedule)
        self.fit(scale, **_ROUND)

    def round(self, schedule, may_anneal) -> None:
        """Choose, measure, fit, and set the budget of the next round (Algorithm 2, lines 9 to 14)."""
        scale, epsilon, last = self.noise_scale(schedule), schedule.epsilon, schedule.last
        schedule.spend()
        candidates = self._affordable(schedule.used / schedule.rho)
        believed = {clique: self.model.marginal(self._names(clique)) for clique in candidates}
        noise_per_cell = scale * (math.sqrt(2 / math.pi) if self.noise == "gaussian" else 1.0)
        scores = [
            self.weights[c] * (np.abs(self.truth[c] - believed[c]).sum() - noise_per_cell * self.truth[c].size)
            for c in candidates
        ]
        sensitivity = self.sensitivity * max(self.weights.values())
        chosen = candidates[exponential(scores, epsilon, sensitivity, rng=self.rng)]
        self._measure(chosen, scale)
        self.fit(scale, **(_LAST if last else _ROUND))
        moved = np.abs(self.model.marginal(self._names(chosen)) - believed[chosen]).sum()
        anneal = may_anneal and bool(moved <= noise_per_cell * self.truth[chosen].size)
        if not last:
            schedule.advance(anneal)
        self._note(chosen, scale, epsilon, schedule, annealed=anneal and not last)

    def take_in(self, measurement) -> None:
        self.reconciliation.add(*measurement.checked(self.domain))

    def fit(self, scale, tau, tolerance) -> None:
        last = vars(self).get("model")
        self.model = fit_reconciled(self.domain, self.reconciliation, tau / scale, tolerance, last)

    def _measure(self, clique, scale) -> None:
        draw, deviation = (gaussian, scale) if self.noise == "gaussian" else (laplace, scale * math.sqrt(2))
        values = self.truth[clique] + draw(self.truth[clique].shape, scale, rng=self.rng)
        self.measurements.append(Measurement(self._names(clique), values, deviation))
        self.take_in(self.measurements[-1])

    def noise_scale(self, schedule) -> float:
        """At equal rho: a Gaussian goes by L2 sensitivity, the square root of the counts changed; Laplace
        noise of scale b for L1 sensitivity s is s/b-DP, hence (s/b)^2/2-zCDP."""
        return schedule.multiplier * (math.sqrt(self.sensitivity) if self.noise == "gaussian" else self.sensitivity)

    def _affordable(self, share) -> list:
        """The candidates with which the model stays within `share` of its size limit, or does not grow.

        Where there is none, as without initialisation in a first round, the smallest candidate.
        """
        limit = self.max_cells * share
        candidates = [clique for clique in self.weights if self.model.fits(self._names(clique), limit)]
        return candidates or [min(self.weights, key=self._smallest_with)]

    def _smallest_with(self, clique) -> int:
        """Size of the model of `clique` alone."""
        others = sum(size for v, size in enumerate(self.domain.sizes) if v not in clique)
        return math.prod(self.domain.sizes[v] for v in clique) + others

    def _note(self, clique, scale, epsilon, schedule, annealed=False) -> None:
        model = self.model
        errors = {
            names: float(np.abs(model.marginal(names) - counts).sum()) / self.records
            for names, counts in self.watched.items()
        }
        fitted = model.size, model.gap, model.evaluations
        self.steps.append(Step(self._names(clique), scale, epsilon, schedule.used, *fitted, annealed, errors))

    def _names(self, clique):
        return tuple(self.domain.attributes[v] for v in clique)


def _watched(table, errors) -> dict:
    attributes = table.domain.attributes
    sizes = [checks.whole("errors", k, f"[1, {len(attributes)}]") for k in errors]
    return {names: table.marginal(names) for k in sizes for names in itertools.combinations(attributes, k)}


def _downward_closure(domain, workload) -> dict:
    """The candidates, all non-empty subsets of the workload's sets, each with its weight
    w_r = sum_s c_s |r & s| (Algorithm 2, line 7)."""
    if isinstance(workload, Mapping):
        weights = {tuple(sorted(domain.axes(names))): checks.number("workload weight", c, "(0, inf)")
                   for names, c in workload.items()}  # fmt: skip
    else:
        if isinstance(workload, (int, np.integer)):
            k = checks.whole("workload", workload, f"[1, {len(domain)}]")
            workload = itertools.combinations(domain.attributes, k)
        weights = {tuple(sorted(domain.axes(names))): 1.0 for names in workload}
    weights.pop((), None)
    if not weights:
        raise ValueError("workload must hold at least one set of attributes, got none")
    ordered = sorted({r for s in weights for r in subsets(s)}, key=lambda r: (len(r), r))
    return {r: in_order.total(c * len(set(r) & set(s)) for s, c in weights.items()) for r in ordered}


def _show(schedule) -> None:
    share = schedule.used / schedule.rho
    bar = "#" * round(40 * share)
    end = "\n" if schedule.exhausted else ""
    print(f"\rAIM [{bar:<40}] {share:4.0%} of the budget", end=end, file=sys.stderr, flush=True)
