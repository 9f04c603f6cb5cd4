"""AIM, the adaptive and iterative mechanism (miura2025, Algorithms 2 to 4).

Round after round, AIM asks privately which marginal its model gets most wrong, measures that
marginal with noise, and fits the model again (`graphical_model`); at the end, synthetic records
are made from the model. The budget is one rho of zero-concentrated DP. What the rounds cost adds up to it at most, though
each round's cost, choice and noise depend on what came before: at every order alpha, given the past, the moment
E[e^((alpha-1)(L_t - alpha rho_t))] of a round's privacy loss is 1 at most, and so is that of their sum (a Rényi filter;
Feldman and Zrnic 2021).

What is measured first, how marginals are chosen, and when the noise becomes finer is its `plan`: ours, or as printed.

Neighbouring tables: "unbounded" adds or removes a record, as the code measured in the document does;
"bounded" replaces one, as its Definition 2.1 says, and treats the number of records as public.
McKenna, Mullins, Sheldon, Miklau 2022, "AIM", is the original.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from .. import accounting
from ..mechanisms.noise import generator, system_rng
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks, in_order
from . import last_fit
from . import plan as plans
from .budget_schedule import ALPHAS, ExactSchedule, Schedule
from .counting import Counter, Counts, Workload, downward_closure
from .graphical_model import GraphicalModel, Measurement, fit_reconciled
from .plan import Plan
from .private_draws import ExactDraws, FloatingDraws
from .reconciliation import Reconciliation
from .table import Table

NOISES = ("gaussian", "laplace")
ROUND_FIT = (0.3, 0.1)  # looser than is cheap: the last fit makes up for it


@dataclass(frozen=True)
class Step:
    """One measurement of a run.

    attributes : what was measured; () for the number of records
    sigma : scale of the noise in counts, the standard deviation of Gaussian, b of Laplace noise
    epsilon : of the choice by the exponential mechanism; 0 in the initialisation, which chooses nothing
    rho_used : zCDP spent so far, this step included
    cells : size of the model fitted after it (cells of the junction tree's cliques)
    gap, evaluations : how well and in how many calls that model was fitted
    annealed : whether the budget a round was made larger after it (Algorithm 4)
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
class Choice:
    """The choice of a round, in what is public of it (see `FloatingDraws.choose`).

    model : before the choice
    weights : mapping from the candidates' attributes to the weights of their scores
    epsilon, sensitivity : of the exponential mechanism, for scores in counts
    expected : noise expected in a count, which the scores leave out: of all cells, or, if `clear`, of those that are off by more
    """

    model: GraphicalModel
    weights: dict
    epsilon: float
    sensitivity: float
    expected: float
    clear: bool = False


@dataclass(frozen=True)
class Result:
    """`synthetic`, a `Table`; the `model` it was made from; the `measurements` and `steps` of this run;
    `rho`, the budget, and `rho_used` <= rho, Fractions of an exact run, as are the steps' scales and epsilons;
    `noise`, its kind; `total`, the number of records where it is public, else None; `choice`, of the last round."""

    synthetic: Table
    model: GraphicalModel
    measurements: tuple[Measurement, ...]
    steps: tuple[Step, ...]
    rho: float
    rho_used: float
    noise: str = "gaussian"
    total: int | None = None
    choice: Choice | None = None


def aim(table: Table | Counter, epsilon: float, delta: float, workload: Workload = 2, *,
        rng: np.random.Generator | None = None, exact: bool | None = None, rounds: float | None = None,
        alpha: float = 0.9, initialise: bool = True, anneal: bool = True, noise: str = "gaussian",
        neighbours: str = "unbounded", max_cells: int | None = None, candidates: int | None = None,
        measurements: Iterable[Measurement] = (), records: int | None = None, errors: Sequence[int] = (),
        plan: Plan = plans.OURS, round_fit: tuple[float, float] = ROUND_FIT, last_fit: str = "adaptive",
        progress: bool = False) -> Result:  # fmt: skip
    """Run AIM on a `Table`; the result satisfies (epsilon, delta)-DP towards `neighbours`.

    epsilon : (0, inf); delta : (0, 1); of an exact run [1e-6, 1e6] and [1e-300, 1)
    rng : for study; whoever knows its seed takes the noise off. None, the default, is the operating system's randomness
    exact : whether whole numbers and fractions alone are computed with until the noise is on (`private_draws`, `budget_schedule`), so that
        the guarantee holds for the program; the default, and only possible, where no `rng` is given
    workload : the marginals to preserve: k for all sets of k attributes, a collection of attribute
        sets, or a mapping from them to weights c_s in [1e-100, 1e100]
    rounds : T of Algorithm 2, into so many the budget is divided at first, at least the number d of attributes; default: `Plan.rounds`
    alpha : share of each round's budget that goes to measuring, [1e-9, 0.999999]
    initialise : measure every attribute by itself first (Algorithm 3, or as the plan's start says)
    anneal : give the rounds a larger share when one has taught the model too little (Algorithm 4, lines 1
        and 2, or as the plan's pace says); otherwise every round but the last costs the same
    noise : "gaussian" or "laplace", at equal rho a round
    max_cells : size limit of the model, in cells of its junction tree; at most the share of it that
        equals the share of the budget spent is used, so that early rounds leave room for later ones; default: `Plan.cells`.
        The records are not counted over attributes that never fit
    candidates : how many attribute sets a round chooses from at most, at least 1. Where the workload has more, they are drawn anew in
        each round, whatever the records are: the promise is the same and a round quicker, for larger errors (by 4 % with a fifth of 465 sets, in one run);
        default: 1000 up to d = 32, from where on it takes long to see which of them the model has room for, then 100
    measurements : iterable of `Measurement` to continue from; their privacy is not accounted for here
    records : how many to synthesise; default: the model's total, which is noisy under unbounded neighbours, but no more
        than hold `graphical_model.MOST_CODES` codes
    errors : sizes k of attribute sets whose errors each `Step` is to record, e.g. (1, 2, 3)
    plan : what is measured first, how marginals are chosen, and when the noise becomes finer; `plan.PRINTED` is that of the document
    round_fit : of the models between rounds: weight of the entropy times sigma, [1e-6, 1e6], and accepted gap, [1e-6, 1]
        (`graphical_model.fit`). Less of both takes longer and follows the noise more closely
    last_fit : "adaptive", in four steps whose entropy is heavier beside effects that stand out of their noise less;
        or "plain", in one step with the same little entropy beside all effects
    progress : whether to show on standard error how much of the budget is spent

    Raises ``ValueError`` for values outside these ranges, an empty workload, attributes that the table
    does not have, measurements that do not fit its domain, and a size limit that leaves nothing to choose; and for an
    exact run that is given a generator, Laplace noise or `errors`, or whose noise would be beyond 2^50.

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
    exact = _exact(exact, rng, noise, errors)
    if not isinstance(plan, Plan):
        raise ValueError(f"plan must be a Plan, such as plan.PRINTED, got {plan!r:.100}")
    d = len(table.domain)
    rounds = plan.rounds(d) if rounds is None else checks.number("rounds", rounds, f"[{d}, inf)")
    alpha = checks.number("alpha", alpha, ALPHAS)
    if exact:
        rng = np.random.default_rng()  # for what is made of noisy numbers
        schedule = ExactSchedule(accounting.certified_zcdp(epsilon, delta), Fraction(rounds), Fraction(alpha))
    else:
        rng = generator(rng)
        epsilon, delta = checks.number("epsilon", epsilon, "(0, inf)"), checks.number("delta", delta, "(0, 1)")
        schedule = Schedule(float(accounting.dp_to_zcdp(epsilon, delta)), rounds, alpha)
    run = _Run(table, workload, system_rng() if exact else rng, noise, neighbours, max_cells, errors, exact,
               plan, round_fit, last_fit, float(schedule.rho))  # fmt: skip
    candidates = checks.whole(
        "candidates", (1000 if d <= 32 else 100) if candidates is None else candidates, "[1, inf)"
    )
    if records is not None:
        records = checks.whole("records", records, "[1, inf)")
    for measurement in _given(measurements):
        run.take_in(measurement)
    run.fit(run.draws.scale(schedule.multiplier))
    if initialise:
        run.initialise(schedule)
    while not schedule.exhausted:
        run.round(schedule, anneal, run.drawn(candidates, rng))
        if progress:
            _show(schedule)
    synthetic = run.model.synthesize(records, rng=rng)
    total = len(table) if neighbours == "bounded" else None
    return Result(synthetic, run.model, tuple(run.measurements), tuple(run.steps), schedule.rho, schedule.used, noise, total,
                  run.choice)  # fmt: skip


def _exact(exact, rng, noise, errors) -> bool:
    """Whether a run is exact, by what `aim` was given."""
    exact = rng is None if exact is None else bool(exact)
    if exact != (rng is None):
        raise ValueError(f"rng must {'not ' * exact}be given where exact is {exact}, got {rng!r}")
    if exact and noise != "gaussian":
        raise ValueError(f"noise must be 'gaussian' for an exact run, got {noise!r}")
    if exact and list(errors):
        raise ValueError(f"errors must not be asked for of an exact run, as they are not private, got {errors!r}")
    return exact


def _given(measurements) -> tuple[Measurement, ...]:
    """Those to continue from, checked."""
    found = tuple(measurements) if isinstance(measurements, Iterable) else (measurements,)
    if wrong := [each for each in found if not isinstance(each, Measurement)]:
        raise ValueError(f"measurements must be an iterable of Measurement, got {wrong[0]!r:.100}")
    return found


def _round_fit(given) -> tuple[float, float]:
    """Its two numbers, checked."""
    if not isinstance(given, Sequence) or len(given) != 2:
        raise ValueError(f"round_fit must be a pair of a weight of the entropy and a gap, got {given!r}")
    tau, tolerance = given
    return (
        checks.number("round_fit[0]", tau, "[1e-6, 1e6]"),
        checks.number("round_fit[1]", tolerance, "[1e-6, 1]"),
    )


class _Run:
    """The state of one run: the measurements so far and the model that fits them."""

    model: GraphicalModel  # from the first `fit` on
    choice: Choice  # of the last round

    def __init__(self, table, workload, rng, noise, neighbours, max_cells, errors, exact, plan, round_fit, kind, rho):
        checks.one_of("noise", noise, NOISES)
        checks.one_of("neighbours", neighbours, NEIGHBOURS)
        checks.one_of("last_fit", kind, last_fit.KINDS)
        self.plan, self.round_fit, self.last_fit = plan, _round_fit(round_fit), kind
        self.domain, self.total_is_public = table.domain, neighbours == "bounded"
        self._named: dict[tuple[int, ...], tuple[str, ...]] = {}
        self.reconciliation = Reconciliation(self.domain.sizes, len(table) if self.total_is_public else None)
        self.weights = downward_closure(self.domain, workload)
        # Added or removed, a record changes one count of a marginal by one; replaced, two.
        changed = 1 if neighbours == "unbounded" else 2
        clear = plan.choice == "clear"
        self.draws = (
            ExactDraws(changed, self.weights, rng, clear) if exact
            else FloatingDraws(noise, changed, self.weights, rng, clear)
        )  # fmt: skip
        if max_cells is None:
            counted = in_order.total(math.prod(self.domain.sizes[v] for v in clique) for clique in self.weights)
            max_cells = plan.cells(len(self.domain), rho, counted)
        self.max_cells = checks.whole("max_cells", max_cells, "[1, inf)")
        # A model's tables have at most as many axes as there are letters (`contraction`): those of one value cost no cells.
        constant, most = self.domain.sizes.count(1), max(52 - self.max_cells.bit_length(), 0)
        if constant > most:
            raise ValueError(
                f"table must have at most {most} attributes of a single value, got {constant}: leave some out"
            )
        smallest = {clique: self._smallest_with(clique) for clique in self.weights}
        if min(smallest.values()) > self.max_cells:
            raise ValueError(
                f"max_cells must be at least {min(smallest.values())}, the smallest model, got {max_cells}"
            )
        self.truth = Counts(
            table, [(), *(self._names(clique) for clique, cells in smallest.items() if cells <= self.max_cells)]
        )
        self.records, self.watched = len(table), _watched(table, errors)
        self.measurements: list[Measurement] = []
        self.steps: list[Step] = []

    def initialise(self, schedule) -> None:
        """Measure every attribute of the workload by itself (Algorithm 3, or `plan.Plan.start`)."""
        cliques = [clique for clique in self.weights if len(clique) == 1]
        sized = self.plan.start == "sized"
        shares = self._shares(cliques, schedule) if sized else [None] * len(cliques)
        for clique, share in zip(cliques, shares):
            scale = self._first(clique, share, schedule)
        self.fit(scale)
        if sized:
            schedule.divide()

    def _shares(self, cliques, schedule) -> list:
        """How much of the budget each attribute gets, by how large the noise would be beside the records."""
        if not self.total_is_public:
            self._first((), plans.TOTAL, schedule)
        sizes = [self.domain.sizes[v] for (v,) in cliques]
        parts = plans.parts(sizes)
        alone = [float(self.draws.scale(schedule.multiplier_of(part))) for part in parts]
        noise = np.mean([size * self.draws.per_cell(scale) for size, scale in zip(sizes, alone)])
        share = plans.first_share(noise / self.reconciliation.total, len(cliques))
        return [share * part for part in parts]

    def _first(self, clique, share, schedule):
        """A measurement without a choice; its scale."""
        scale = self.draws.scale(schedule.measure(share))
        self._measure(clique, scale)
        if self.watched:  # otherwise one fit after all of them will do
            self.fit(scale)
        self._note(clique, scale, 0.0, schedule)
        return scale

    def drawn(self, most, rng) -> list:
        """What a round may choose from: `most` attribute sets, or all if there are no more."""
        cliques = list(self.weights)
        if len(cliques) <= most:
            return cliques
        return [cliques[place] for place in np.sort(rng.choice(len(cliques), most, replace=False))]

    def round(self, schedule, may_anneal, drawn) -> None:
        """Choose one of the attribute sets `drawn`, measure, fit, and set the budget of the next round (Algorithm 2, lines 9 to 14)."""
        scale, epsilon, last = self.draws.scale(schedule.multiplier), schedule.epsilon, schedule.last
        schedule.spend()
        candidates = self._affordable(drawn, schedule.used / schedule.rho)
        scores = {c: self.draws.score(c, self.truth(self._names(c)), self.model.counts(c), scale) for c in candidates}
        chosen = self.draws.choose(scores, epsilon)
        weights = {self._names(c): self.draws.weights[c] for c in candidates}
        sensitivity = self.draws.changed * max(self.draws.weights.values())
        self.choice = Choice(
            self.model, weights, epsilon, sensitivity, self.draws.per_cell(float(scale)), self.draws.clear
        )
        before = self.model.counts(chosen)
        self._measure(chosen, scale)
        if last:
            self.model = last_fit.fit(self.domain, self.reconciliation, float(scale), self.last_fit, self.model)
        else:
            self.fit(scale)
        anneal = may_anneal and not last and self._taught_little(chosen, before, scale)
        if not last:
            schedule.advance(anneal, self.plan.growth)
        self._note(chosen, scale, epsilon, schedule, annealed=anneal)

    def _taught_little(self, chosen, before, scale) -> bool:
        """Whether the measurement of `chosen`, of which the model had said `before`, was hardly worth its budget (`plan.Plan.pace`)."""
        if self.plan.pace == "printed":
            moved = np.abs(self.model.counts(chosen) - before).sum()
            return bool(moved <= self.draws.per_cell(float(scale)) * before.size)
        last = self.measurements[-1]
        squares = ((last.values - before) ** 2).sum() / last.sigma**2
        spread = math.sqrt(self.draws.variance_of_squares * before.size)
        return bool(squares <= before.size + spread)

    def take_in(self, measurement) -> None:
        self.reconciliation.add(*measurement.checked(self.domain))

    def fit(self, scale) -> None:
        tau, tolerance = self.round_fit
        last = vars(self).get("model")
        self.model = fit_reconciled(self.domain, self.reconciliation, tau / float(scale), tolerance, last)

    def _measure(self, clique, scale) -> None:
        values, deviation = self.draws.noisy(self.truth(self._names(clique)), scale)
        self.measurements.append(Measurement(self._names(clique), values, deviation))
        self.take_in(self.measurements[-1])

    def _affordable(self, drawn, share) -> list:
        """Those of the attribute sets `drawn` with which the model stays within `share` of its size limit, or does not grow.

        Where there is none, as without initialisation in a first round, the smallest of the workload.
        """
        limit = self.max_cells * share
        candidates = [clique for clique in drawn if self.model.oracle.fits(clique, limit)]
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
        if clique not in self._named:
            self._named[clique] = tuple(self.domain.attributes[v] for v in clique)
        return self._named[clique]


def _watched(table, errors) -> dict:
    attributes = table.domain.attributes
    sizes = [checks.whole("errors", k, f"[1, {len(attributes)}]") for k in errors]
    return {names: table.marginal(names) for k in sizes for names in itertools.combinations(attributes, k)}


def _show(schedule) -> None:
    share = schedule.used / schedule.rho
    bar = "#" * round(40 * share)
    end = "\n" if schedule.exhausted else ""
    print(f"\rAIM [{bar:<40}] {share:4.0%} of the budget", end=end, file=sys.stderr, flush=True)
