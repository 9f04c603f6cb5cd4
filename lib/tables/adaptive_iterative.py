"""AIM, the adaptive and iterative mechanism (miura2025, Algorithms 2 to 4).

In every round, AIM privately selects the marginal that its model gets most wrong, measures that marginal with noise,
and fits the model again (`graphical_model`). At the end, it draws synthetic records from the model. A `plan` contains
the settings of the algorithm: our settings, or those that the paper prints.

The privacy budget is a number rho of zero-concentrated DP. All rounds together cost at most rho, although the cost, the
choice and the noise of a round depend on earlier rounds. Let L_t be the privacy loss of round t and rho_t its cost.
Given the earlier rounds, E[e^((alpha-1)(L_t - alpha rho_t))] is at most 1 at every order alpha > 1. The expectation is
then also at most 1 if L_t and rho_t are replaced by their sums over all rounds (a Rényi filter; Feldman and Zrnic
2021).

Neighbouring tables are "unbounded" if a record is added or removed, as in the code that the paper measured. Neighbours
are "bounded" if a record is replaced, as in the paper's Definition 2.1; the number of records is then public.
AIM was published by McKenna, Mullins, Sheldon and Miklau (2022).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from .. import accounting
from ..mechanisms.noise import generator, system_rng
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks, in_order
from . import last_fit
from . import plan as plans
from .budget_schedule import ExactSchedule, Schedule
from .counting import Counted, Counts, Workload, downward_closure
from .entropic_mirror_descent import mirror_descent
from .graphical_model import GraphicalModel, Measurement, fit_reconciled
from .plan import Plan
from .private_draws import ExactDraws, FloatingDraws
from .reconciliation import Reconciliation
from .table import Table


@dataclass(frozen=True)
class Step:
    """One measurement of a run.

    attributes : the attributes of the measured marginal; () if the number of records was measured
    sigma : scale of the noise in counts: the standard deviation of Gaussian noise, or b of Laplace noise
    epsilon : epsilon of the choice by the exponential mechanism; 0 in the initialization, which makes no choice
    rho_used : zCDP spent so far, including this step
    cells : size of the model fitted after the step: the number of cells of the cliques of its junction tree
    gap, evaluations : the duality gap of the fitted model, and the number of calls of the oracle during the fit
    annealed : whether the budget of a round became larger after the step (Algorithm 4)
    errors : for each requested attribute set, the L1 distance between the model's marginal and the true marginal,
        divided by the number of records. These errors are not private: use them for study only, and do not release them
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
class Choice:
    """The public part of a round's choice (see `FloatingDraws.choose`).

    model : the model before the choice
    weights : mapping from the candidates' attributes to the weights of their scores
    epsilon, sensitivity : parameters of the exponential mechanism, for scores in counts
    expected : mean absolute noise of a count, which is subtracted from the distance in every cell. If `clear`, cells
        with a smaller distance add nothing to the score
    """

    model: GraphicalModel
    weights: dict
    epsilon: float
    sensitivity: float
    expected: float
    clear: bool = False


@dataclass(frozen=True)
class Result:
    """The result of a run.

    synthetic : a `Table` drawn from `model`; model : the last model
    measurements, steps : all measurements and all steps of the run, in order
    rho : the budget; rho_used : the part of it that was spent. In an exact run, `rho` and `rho_used` are Fractions
    noise : the kind of noise; total : the number of records if it is public, else None; choice : that of the last round
    """

    synthetic: Table
    model: GraphicalModel
    measurements: tuple[Measurement, ...]
    steps: tuple[Step, ...]
    rho: float
    rho_used: float
    noise: str = "gaussian"
    total: int | None = None
    choice: Choice | None = None


def aim(table: Counted, epsilon: float, delta: float, workload: Workload = 2, *, plan: Plan = plans.OURS,
        rng: np.random.Generator | None = None, neighbours: str = "unbounded", records: int | None = None,
        errors: Sequence[int] = ()) -> Result:  # fmt: skip
    """Run AIM on a `Table` and return a `Result`, which satisfies (epsilon, delta)-DP for `neighbours`.

    epsilon : (0, inf), or [1e-6, 1e6] for an exact run; delta : (0, 1), or [1e-300, 1) for an exact run
    workload : the marginals to preserve, given as k for all sets of k attributes, as a collection of attribute sets, or
        as a mapping from attribute sets to weights c_s in [1e-100, 1e100]
    plan : settings of the algorithm. `plan.PRINTED` contains the settings of the paper
    rng : for study only, because anyone who knows its seed can remove the noise. With None, the default, the run is exact.
        An exact run draws from the operating system and computes only with integers and fractions until the noise is
        added (`private_draws`, `budget_schedule`), so that the guarantee holds for the program
    records : number of records to synthesize. The default is the model's total, which is noisy under unbounded
        neighbours; it is reduced if these records would have more than `graphical_model.MOST_CODES` codes in all
    errors : sizes k of attribute sets whose errors each `Step` records, for example (1, 2, 3)

    Raises ``ValueError`` for values outside these ranges, an empty workload, attributes that the table lacks, and a size
    limit that leaves no candidates; in an exact run also for Laplace noise, `errors`, and noise of scale 2^50 or above.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table, aim
    >>> rng = np.random.default_rng(0)
    >>> records = rng.integers(0, 2, (1000, 3))
    >>> table = Table(records, Domain({"a": 2, "b": 2, "c": 2}))
    >>> result = aim(table, epsilon=1.0, delta=1e-6, workload=2, rng=rng)
    >>> print(result.synthetic.domain.attributes, len(result.steps) > 0)
    ('a', 'b', 'c') True
    """
    schedule: Schedule
    if not isinstance(plan, Plan):
        raise ValueError(f"plan must be a Plan, such as plan.PRINTED, got {plan!r:.100}")
    d = len(table.domain)
    rounds, candidates = plan.rounds_for(d), plan.candidates_for(d)
    if rng is None:
        if plan.noise != "gaussian":
            raise ValueError(f"plan.noise must be 'gaussian' for an exact run, got {plan.noise!r}")
        if list(errors):
            raise ValueError(f"errors must be empty for an exact run, because they are not private, got {errors!r}")
        later = np.random.default_rng()  # for uses of noisy numbers only
        schedule = ExactSchedule(accounting.certified_zcdp(epsilon, delta), Fraction(rounds), Fraction(plan.alpha))
    else:
        later = rng = generator(rng)
        epsilon, delta = checks.number("epsilon", epsilon, "(0, inf)"), checks.number("delta", delta, "(0, 1)")
        schedule = Schedule(float(accounting.dp_to_zcdp(epsilon, delta)), rounds, plan.alpha)
    run = _Run(table, workload, plan, neighbours, errors, rng, float(schedule.rho))
    if records is not None:
        records = checks.whole("records", records, "[1, inf)")
    run.fit(run.draws.scale(schedule.multiplier))
    if plan.start != "none":
        run.initialise(schedule)
    while not schedule.exhausted:
        run.round(schedule, run.drawn(candidates, later))
    synthetic = run.model.synthesize(records, rng=later)
    total = len(table) if neighbours == "bounded" else None
    return Result(synthetic, run.model, tuple(run.measurements), tuple(run.steps), schedule.rho, schedule.used, plan.noise,
                  total, run.choice)  # fmt: skip


class _Run:
    """The state of one run: the measurements so far and the model that fits them."""

    model: GraphicalModel  # from the first `fit` on
    choice: Choice  # of the last round

    def __init__(self, table, workload, plan, neighbours, errors, rng, rho):
        checks.one_of("neighbours", neighbours, NEIGHBOURS)
        self.plan, self.domain, self.total_is_public = plan, table.domain, neighbours == "bounded"
        if self.total_is_public and not len(table):
            raise ValueError("table must not be empty if the number of records is public")
        self.reconciliation = Reconciliation(self.domain.sizes, len(table) if self.total_is_public else None)
        self.weights = downward_closure(self.domain, workload)
        self.names = {clique: tuple(self.domain.attributes[v] for v in clique) for clique in [(), *self.weights]}
        # A record that is added or removed changes one count of a marginal by one; a replaced record changes two.
        changed = 1 if neighbours == "unbounded" else 2
        clear = plan.choice == "clear"
        self.draws = (
            ExactDraws(changed, self.weights, system_rng(), clear) if rng is None
            else FloatingDraws(plan.noise, changed, self.weights, rng, clear)
        )  # fmt: skip
        counted = in_order.total(math.prod(self.domain.sizes[v] for v in clique) for clique in self.weights)
        self.max_cells = plan.max_cells_for(len(self.domain), rho, counted)
        # A model's tables have at most as many axes as letters (`contraction`); attributes of one value cost no cells.
        constant, most = self.domain.sizes.count(1), max(52 - self.max_cells.bit_length(), 0)
        if constant > most:
            raise ValueError(
                f"table must have at most {most} attributes with a single value, got {constant}: leave some of them out"
            )
        smallest = {clique: self._smallest_with(clique) for clique in self.weights}
        if min(smallest.values()) > self.max_cells:
            raise ValueError(
                f"max_cells must be at least {min(smallest.values())}, the size of the smallest model, got {self.max_cells}"
            )
        self.truth = Counts(
            table, [(), *(self.names[clique] for clique, cells in smallest.items() if cells <= self.max_cells)]
        )
        self.records, self.watched = len(table), _watched(table, errors)
        self.measurements: list[Measurement] = []
        self.steps: list[Step] = []

    def initialise(self, schedule) -> None:
        """Measure every attribute of the workload separately (Algorithm 3, or `plan.Plan.start`)."""
        cliques = [clique for clique in self.weights if len(clique) == 1]
        sized = self.plan.start == "sized"
        shares = self._shares(cliques, schedule) if sized else [None] * len(cliques)
        for clique, share in zip(cliques, shares):
            scale = self._first(clique, share, schedule)
        self.fit(scale)
        if sized:
            schedule.divide()

    def _shares(self, cliques, schedule) -> list:
        """Return the proportion of the budget for each attribute, from the noise relative to the number of records."""
        if not self.total_is_public:
            self._first((), plans.TOTAL, schedule)
        sizes = [self.domain.sizes[v] for (v,) in cliques]
        parts = plans.parts(sizes)
        alone = [float(self.draws.scale(schedule.multiplier_of(part))) for part in parts]
        noise = np.mean([size * self.draws.per_cell(scale) for size, scale in zip(sizes, alone)])
        share = plans.first_share(noise / self.reconciliation.total, len(cliques))
        return [share * part for part in parts]

    def _first(self, clique, share, schedule):
        """Measure `clique` without selecting it privately and return the scale of the noise."""
        scale = self.draws.scale(schedule.measure(share))
        self._measure(clique, scale)
        if self.watched:  # otherwise one fit after all first measurements suffices
            self.fit(scale)
        self._note(clique, scale, 0.0, schedule)
        return scale

    def drawn(self, most, rng) -> list:
        """Return the sets that a round may choose: all candidates or, if there are more, `most` of them at random."""
        cliques = list(self.weights)
        if len(cliques) <= most:
            return cliques
        return [cliques[place] for place in np.sort(rng.choice(len(cliques), most, replace=False))]

    def round(self, schedule, drawn) -> None:
        """Choose a set from `drawn`, measure it, fit, and set the next round's budget (Algorithm 2, lines 9 to 14)."""
        scale, epsilon, last = self.draws.scale(schedule.multiplier), schedule.epsilon, schedule.last
        schedule.spend()
        candidates = self._affordable(drawn, schedule.used / schedule.rho)
        scores = {c: self.draws.score(c, self.truth(self.names[c]), self.model.counts(c), scale) for c in candidates}
        chosen = self.draws.choose(scores, epsilon)
        weights = {self.names[c]: self.draws.weights[c] for c in candidates}
        sensitivity = self.draws.changed * max(self.draws.weights.values())
        self.choice = Choice(
            self.model, weights, epsilon, sensitivity, self.draws.per_cell(float(scale)), self.draws.clear
        )
        before = self.model.counts(chosen)
        self._measure(chosen, scale)
        if last and not self.plan.descent:
            self.model = last_fit.fit(self.domain, self.reconciliation, float(scale), self.plan.last_fit, self.model)
        else:
            self.fit(scale)
        anneal = not last and self._taught_little(chosen, before, scale)
        if not last:
            schedule.advance(anneal, self.plan.growth)
        self._note(chosen, scale, epsilon, schedule, annealed=anneal)

    def _taught_little(self, chosen, before, scale) -> bool:
        """Return whether measuring `chosen` added so little to the model's counts `before` that the noise must fall."""
        if self.plan.pace == "steady":
            return False
        if self.plan.pace == "printed":
            moved = np.abs(self.model.counts(chosen) - before).sum()
            return bool(moved <= self.draws.per_cell(float(scale)) * before.size)
        last = self.measurements[-1]
        squares = ((last.values - before) ** 2).sum() / last.sigma**2
        spread = math.sqrt(self.draws.variance_of_squares * before.size)
        return bool(squares <= before.size + spread)

    def fit(self, scale) -> None:
        last = vars(self).get("model")
        told = [measurement for measurement in self.measurements if measurement.attributes]
        if self.plan.descent and told:
            how = {"steps": self.plan.descent, "weights": "inverse-deviation", "start": last}
            found = mirror_descent(self.domain, told, self.reconciliation.total, **how)
            self.model, self.model.evaluations = found.model, int(found.calls[-1])
            return
        tau, tolerance = self.plan.round_fit
        self.model = fit_reconciled(self.domain, self.reconciliation, tau / float(scale), tolerance, last)

    def _measure(self, clique, scale) -> None:
        values, deviation = self.draws.noisy(self.truth(self.names[clique]), scale)
        self.measurements.append(Measurement(self.names[clique], values, deviation))
        self.reconciliation.add(*self.measurements[-1].checked(self.domain))

    def _affordable(self, drawn, share) -> list:
        """Return the attribute sets in `drawn` with which the model stays within the part `share` of its size limit, or
        does not grow. If there are none, as in a first round without initialization, return the set with the smallest
        model."""
        limit = self.max_cells * share
        candidates = [clique for clique in drawn if self.model.oracle.fits(clique, limit)]
        return candidates or [min(self.weights, key=self._smallest_with)]

    def _smallest_with(self, clique) -> int:
        """Return the size of the smallest model that contains `clique`."""
        others = sum(size for v, size in enumerate(self.domain.sizes) if v not in clique)
        return math.prod(self.domain.sizes[v] for v in clique) + others

    def _note(self, clique, scale, epsilon, schedule, annealed=False) -> None:
        model = self.model
        errors = {
            names: float(np.abs(model.marginal(names) - counts).sum()) / self.records
            for names, counts in self.watched.items()
        }
        fitted = model.size, model.gap, model.evaluations
        self.steps.append(Step(self.names[clique], scale, epsilon, schedule.used, *fitted, annealed, errors))


def _watched(table, errors) -> dict:
    attributes = table.domain.attributes
    sizes = [checks.whole("errors", k, f"[1, {len(attributes)}]") for k in errors]
    return {names: table.marginal(names) for k in sizes for names in itertools.combinations(attributes, k)}
