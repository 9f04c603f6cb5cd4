"""Staged residuals: make synthetic records from residual queries in a few stages, without an exponential mechanism.

1. One per cent of the budget goes to the number of records, unless that number is public.
2. A tenth of the rest goes to the residuals of single attributes (`residual_queries`), which predict the counts of each
   pair under independence.
3. Up to a twentieth goes to the question how far large pairs are from independence. The answer for each pair is one
   noisy number, its norm: the sum of the absolute differences between its residual and the predicted residual. A pair
   with few cells costs little to measure, so the run does not ask for its norm.
4. Two stages, with 40 and 60 % of the remaining budget, ask for residuals of single attributes and pairs. Each stage
   divides its budget among these residuals by reverse water-filling (`residual_plan`). Single attributes together get
   at most half of the total budget, or more if the expected error of the workload's sets then rises by at most
   `residual_plan.LOSS`. The first stage expects large pairs to be as far from independence as their norms say, and each
   cell of a small pair to be off by the mean count of a cell. The second stage learns from the first how far each pair
   stands out: from independence if the model fitted after the first stage has room for the pair, and otherwise from
   that model.
5. If the workload contains sets of three or more attributes, half of the budget of step 4 is kept for triples inside
   these sets, provided that the noise in the norms of triples would be at most `COARSE` times the number of records on
   average. A model is fitted to the answers so far. A twentieth of this half goes to one norm for each triple, which
   measures how far the triple is from this model. With the rest, a last stage asks for the residuals of the triples
   whose norms exceed `CLEAR` standard deviations of their noise, by reverse water-filling. If there are no such
   triples, the stage asks for single attributes and pairs again.
6. A graphical model is fitted to the attributes and to the pairs and triples that stand out, as far as its junction
   tree has room for them (`residual_answers`, `last_fit`).
7. Each other pair gets targets: the model's counts, moved towards the noisy answers as far as the answers stand out.
8. Records are drawn from the model, and then moved towards all targets (`record_moving`).

Privacy. The measurement of the total and each stage are Gaussian mechanisms whose mu are fixed before the run
(`residual_queries`), although the questions of a stage depend on earlier answers. Together they are mu-GDP with mu^2
the sum of the squares (Dong, Roth, Su 2022, Corollary 3.3), and the mu is that of a single Gaussian mechanism that is
(epsilon, delta)-DP (Balle and Wang 2018). Everything else reads noisy answers only. For unbounded neighbours, the mu of
each stage is exact for every pair of neighbouring tables, except in the stages of norms, where it is a bound. For
bounded neighbours, the mu of each stage is the bound in `residual_queries`.

Whether triples are measured depends on the noisy number of records, and whether their norms are asked for depends on
which pairs have answers. So the mu of the later stages form one of three sequences, which have the same sum of squares.
Cut this sum wherever a stage of any sequence ends. Each stage then consists of one or more parts whose mu are fixed
before the run. The parts are Gaussian mechanisms that answer the same questions, with precisions that add up to those
of the stage. The mean of their answers, weighted by precision, has the noise of the stage.

Without a generator, the run is exact. It adds rounded Gaussian noise to integer multiples of the residuals and of their
norms, and the mu for (epsilon, delta) is certified (`accounting.certified_gaussian`). So the guarantee holds for the
program, with the same accounting. Until the noise is added, only integers depend on the records. Plans, scales and
costs depend on noisy answers only, and their rounding never understates a cost.

The mechanism is ours. It draws on ResidualPlanner (Xiao, He, Zhang, Kifer 2023, arXiv 2305.08175), which fixes all
precisions beforehand, ReM (Mullins et al. 2024, arXiv 2410.01091), which rebuilds marginals from residuals, AIM
(McKenna et al. 2022) for the model, and PrivSyn (Zhang et al. 2021) for moving records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .. import accounting
from ..accounting.certified import root_up
from ..accounting.certified_gaussian import certified_mu
from ..mechanisms.noise import generator, system_rng
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks
from . import last_fit, residual_plan
from .counting import Counted, Counts, Workload, requested
from .graphical_model import GraphicalModel, counts_of_sets
from .record_moving import SWEEPS, moved
from .residual_answers import Answers, targets
from .residual_queries import (
    Effect,
    RoundedDraws,
    answer,
    centred,
    exact_answer,
    exact_norm,
    norm_answer,
    sigma_for,
    squared_mu,
    squared_mu_of_norms,
)
from .table import Domain, Table

TOTAL = Fraction(1, 100)  # of mu^2, for the number of records
FIRST = Fraction(1, 10)  # of the rest, for single attributes
NORMS = Fraction(1, 20)  # of the rest, for the norms of all pairs if all are large
LARGE = 16  # degrees of freedom of a pair whose norm is asked for
STAGES = (Fraction(2, 5), Fraction(3, 5))  # of what is then left
TRIPLES = Fraction(1, 2)  # of what the two stages would have, for triples; of this, `NORMS` is for their norms
COARSE = 0.02  # mean deviation of the norms of triples, as a part of the records, beyond which triples are not measured
CLEAR = 2.0  # deviations of its noise that the norm of a triple must exceed
MAX_CELLS = 300_000
_EARLY_CELLS = 50_000  # of the models between stages, and of a triple that is measured
_VISITS = 2000  # of all attributes together, when records are moved
_MOST_MEASURED = 2**24  # cells of all pairs that may be measured, and of all triples


@dataclass(frozen=True)
class Stage:
    """One stage of a run.

    sigmas : for each set of attributes in the stage, the standard deviation of the noise in a cell before centring, or
        of the noise in the norm (a Fraction in an exact run)
    answers : for each of these sets, the noisy residual, an array with an axis for each attribute, or the noisy norm
    squared_mu : mu^2 of the stage, rounded up
    norms : whether each answer is a norm, an array without axes: the sum of the absolute differences between the
        residual and that expected under independence or, for triples, by a model fitted to the previous answers
    """

    sigmas: dict[tuple[str, ...], float | Fraction]
    answers: dict[tuple[str, ...], np.ndarray]
    squared_mu: float
    norms: bool = False


@dataclass(frozen=True)
class StagedResult:
    """The result of a run.

    synthetic : a `Table` of synthetic records; model : the `GraphicalModel` that they were drawn from
    targets : the counts of pairs towards which the records were moved, scaled to the number of records of the model
    stages : first the number of records, unless it is public; then single attributes, norms if there are large pairs,
        two stages of residuals, and norms and residuals of triples if triples are measured. A run with `earlier` stages
        omits the first stages if `earlier` makes them unnecessary
    total : the public number of records, else None
    mu : the mu of Gaussian differential privacy that (epsilon, delta) permits; mu_used : the mu that was spent. In an
        exact run, both are Fractions
    """

    synthetic: Table
    model: GraphicalModel
    targets: dict[tuple[str, ...], np.ndarray]
    stages: tuple[Stage, ...]
    total: int | None
    mu: float | Fraction
    mu_used: float | Fraction


def staged_residuals(table: Counted, epsilon: float, delta: float, workload: Workload = 2, *,
                     rng: np.random.Generator | None = None, neighbours: str = "unbounded", total: int | None = None,
                     records: int | None = None, max_cells: int = MAX_CELLS,
                     earlier: Sequence[Stage] = ()) -> StagedResult:  # fmt: skip
    """Return a `StagedResult` of synthetic records, which satisfies (epsilon, delta)-DP for `neighbours`.

    table : a `Table`, or another object that can be counted (`counting.Counted`)
    epsilon : [1e-6, 1e6]; delta : [1e-300, 1)
    workload : the marginals to preserve: k in [1, the number of attributes] for all sets of k attributes, a collection of
        sets, or a mapping from sets to weights in [1e-100, 1e100]. A set of three or more attributes gives its weight
        to each pair and each triple inside it
    rng : for study only, because anyone who knows its seed can remove the noise. Without a generator, the run is exact:
        it draws from the operating system, and it computes only with integers and fractions until the noise is added
    neighbours : "unbounded" or "bounded"; for bounded neighbours, the number of records is public
    total : the number of records, [1, inf), if it is public although neighbours are unbounded; the guarantee then
        covers everything else about the records
    records : number of records to synthesize, by default the model's total (`GraphicalModel.synthesize`)
    max_cells : largest number of cells of the model's junction tree, at least the sum of the attributes' sizes
    earlier : stages from previous results for the same records, whose answers the run also uses. If they contain
        answers for all single attributes, the run omits steps 2 and 3 of the module's docstring. Epsilon and delta
        cover this run alone. If the budgets of all runs were fixed beforehand, all runs together are mu-GDP, where mu^2
        is the sum of the mu^2 of the runs

    Attributes outside the workload are uniform in the result. If the pairs have more than 2^24 cells in total, the
    largest pairs are left out; this choice does not depend on the records.

    The pairs inside sets of three or more attributes are always measured. The triples inside are measured if the budget
    suffices (step 5 of the module's docstring), except triples with more than 50,000 cells and, beyond 2^24 cells in
    total, the largest triples. For triples that were not measured, or for which the model has no room, the counts
    follow from the rest of the model, and so do all dependences among four or more attributes. Records are moved
    towards targets of pairs only.

    Raises ``ValueError`` for values outside these ranges, and for attributes that the table lacks.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table, staged_residuals
    >>> rng = np.random.default_rng(0)
    >>> table = Table(rng.integers(0, 2, (1000, 3)), Domain({"a": 2, "b": 2, "c": 2}))
    >>> result = staged_residuals(table, epsilon=1.0, delta=1e-6, rng=rng)
    >>> print(result.synthetic.domain.attributes, len(result.stages), result.mu_used <= result.mu)
    ('a', 'b', 'c') 4 True
    """
    epsilon, delta = checks.number("epsilon", epsilon, "[1e-6, 1e6]"), checks.number("delta", delta, "[1e-300, 1)")
    if rng is not None:
        rng = generator(rng)
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    if total is not None:
        total = checks.whole("total", total, "[1, inf)")
    if neighbours == "bounded":
        if not len(table) or total not in (None, len(table)):
            raise ValueError(
                f"total must be {len(table)}, the number of records, if neighbours are bounded, got {total}"
                if len(table)
                else "table must not be empty if neighbours are bounded, got no records"
            )
        total = len(table)
    max_cells = checks.whole("max_cells", max_cells, f"[{sum(table.domain.sizes)}, inf)")
    if records is not None:
        records = checks.whole("records", records, "[1, inf)")
    if not isinstance(earlier, Sequence) or not all(isinstance(stage, Stage) for stage in earlier):
        raise ValueError(f"earlier must be a sequence of Stage objects, got {earlier!r:.100}")
    mu: float | Fraction
    if rng is None:
        draws, later = RoundedDraws(1, {}, system_rng()), np.random.default_rng()  # the latter for noisy numbers only
        mu = certified_mu(epsilon, delta)
        budget = mu**2
    else:
        draws, later = None, rng
        sigma = float(accounting.gaussian_sigma(epsilon, delta))
        mu, budget = 1 / sigma, 1 / Fraction(sigma) ** 2
    run = _Run(table, set_weights(table.domain, workload), neighbours, total, later, draws)
    for stage in earlier:
        run.recall(stage)
    if total is None and not run.answers.precision(()):
        run.ask({(): _below(budget * TOTAL)})
        budget *= 1 - TOTAL
    if all(run.answers.precision(effect) for effect in run.stakes if len(effect) == 1):
        run.look(*run.fit(min(max_cells, _EARLY_CELLS)))
    else:
        run.first(_below(budget * FIRST))
        budget = (1 - FIRST) * budget - run.norms(budget * NORMS)
    of_triples = run.for_triples(budget)
    budget -= of_triples
    known = of_triples or any(run.answers.precision(triple) for triple in run.triples)
    for number, share in enumerate(STAGES):
        run.stage(_below(budget * share))
        model, inside = run.fit(max_cells if number == len(STAGES) - 1 and not known else min(max_cells, _EARLY_CELLS))
        if number < len(STAGES) - 1:
            run.look(model, inside)
    if known:
        run.third(of_triples, model)
        model, inside = run.fit(max_cells)
    aims = targets(run.answers, model, run.pairs, inside)
    names = {pair: tuple(table.domain.attributes[v] for v in pair) for pair in aims}
    synthetic = model.synthesize(records, rng=later)
    if aims:
        scale = len(synthetic) / model.total
        weights = {names[pair]: run.weights[pair] for pair in aims}
        synthetic = moved(
            synthetic,
            {names[pair]: scale * counts for pair, counts in aims.items()},
            weights=weights,
            sweeps=min(SWEEPS, max(_VISITS // len(table.domain), 1)),
            rng=later,
        )
    spent = Fraction(0)
    for each in run.stages:
        spent += Fraction(each.squared_mu)
    named = {names[pair]: counts for pair, counts in aims.items()}
    used = math.sqrt(spent) if draws is None else root_up(spent) if spent else spent
    return StagedResult(synthetic, model, named, tuple(run.stages), total, mu, used)


def set_weights(domain: Domain, workload: Workload) -> dict[Effect, float]:
    """Return the sets of at most three attributes to measure, as sorted positions in the `domain`, with their weights.

    workload : as for `staged_residuals`

    The sets are those of one or two attributes in the workload, and the pairs and triples inside its larger sets. For
    each set in the result, the weights of its sets in the workload are added. This sum is divided by the mean of the
    sums over all single attributes and pairs in the result. Weights are clipped to [1e-6, 1e6].
    """
    weights: dict[Effect, float] = {}
    for wanted, weight in requested(domain, workload, len(domain)).items():
        larger = (itertools.combinations(wanted, 2), itertools.combinations(wanted, 3))
        for clique in [wanted] if len(wanted) <= 2 else itertools.chain(*larger):
            weights[clique] = weights.get(clique, 0.0) + weight
    small = [weight for clique, weight in weights.items() if len(clique) <= 2]
    mean = max(small)  # relative to the largest first, so that the sum cannot overflow
    mean *= math.fsum(weight / mean for weight in small) / len(small)
    return {clique: min(max(weight / mean, 1e-6), 1e6) for clique, weight in sorted(weights.items())}


def _below(exact: Fraction) -> float:
    """Return a float of at most `exact`."""
    found = float(exact)
    return found if found <= exact else math.nextafter(found, 0.0)


class _Run:
    """The state of a run: the answers so far, and how much each residual is expected to differ from its prediction."""

    def __init__(self, table, weights, neighbours, total, rng, draws=None) -> None:
        self.domain, self.neighbours, self.rng, self.draws = table.domain, neighbours, rng, draws
        sizes, cells = table.domain.sizes, 0
        self.weights = {clique: weight for clique, weight in weights.items() if len(clique) <= 2}
        for pair in sorted((clique for clique in weights if len(clique) == 2), key=self._cells):
            cells += self._cells(pair)
            if cells > _MOST_MEASURED:
                weight = self.weights.pop(pair)
                for v in pair:
                    self.weights.setdefault((v,), weight)
        self.pairs = [clique for clique in self.weights if len(clique) == 2]
        triples = [clique for clique in weights if len(clique) == 3 and all(sizes[v] > 1 for v in clique)]
        triples = sorted((triple for triple in triples if self._cells(triple) <= _EARLY_CELLS), key=self._cells)
        together = itertools.accumulate(map(self._cells, triples))
        self.triples = {triple: weights[triple] for triple, cells in zip(triples, together) if cells <= _MOST_MEASURED}
        self.stakes, self.of_sets = (residual_plan.stakes(sizes, self.weights, *more) for more in ((), (0.0,)))
        if total is not None:
            self.stakes.pop(())
        self.answers = Answers(sizes, total)
        self.counts = Counts(table, [self._named(effect) for effect in (*self.stakes, *self.triples)])
        self.signals: dict[Effect, float] = {}
        self.stages: list[Stage] = []
        self.before = 0.0  # mu^2 of earlier runs

    def _cells(self, effect) -> int:
        return math.prod(self.domain.sizes[v] for v in effect)

    def _named(self, effect) -> tuple[str, ...]:
        return tuple(self.domain.attributes[v] for v in effect)

    def first(self, budget) -> None:
        """Ask for single attributes with mu^2 = `budget`."""
        stakes: dict[Effect, float] = {effect: stake for effect, stake in self.stakes.items() if len(effect) == 1}
        if stakes:
            self.ask(residual_plan.added(stakes, self.domain.sizes, {}, {}, budget, self.neighbours))

    def norms(self, budget) -> Fraction:
        """Ask how far large pairs are from independence, and return the budget spent, their part of `budget`."""
        sizes, pairs = self.domain.sizes, [effect for effect in self.stakes if len(effect) == 2]
        degrees: dict[Effect, int] = {pair: math.prod(sizes[v] - 1 for v in pair) for pair in pairs}
        large = [pair for pair in pairs if degrees[pair] >= LARGE]
        if not large:
            return Fraction(0)
        spent = _below(budget * Fraction(len(large), len(pairs)))
        precisions = residual_plan.for_norms(large, sizes, spent, self.neighbours)
        answers = self.ask(precisions, norms=True)
        for pair, (value, sigma) in answers.items():
            self.hear(pair, value, sigma)
        return Fraction(spent)

    def for_triples(self, budget) -> Fraction:
        """Return the part of `budget` to keep for triples; it is 0 if their norms would be lost in the noise."""
        part = TRIPLES * budget
        if not self.triples:
            return Fraction(0)
        precisions = self._precisions_of_norms(self.triples, part)
        noise = math.fsum(precision**-0.5 for precision in precisions.values()) / len(precisions)
        return part if noise <= COARSE * self.answers.total else Fraction(0)

    def _precisions_of_norms(self, triples, budget) -> dict[Effect, float]:
        sizes = self.domain.sizes
        return residual_plan.for_norms(list(triples), sizes, _below(NORMS * budget), self.neighbours)

    def third(self, budget, model) -> None:
        """Ask for triples with mu^2 = `budget`, which may be 0, and store what `model` expects of measured triples."""
        precision, sizes = self.answers.precision, self.domain.sizes
        whole = [triple for triple in self.triples if all(map(precision, itertools.combinations(triple, 2)))]
        wanted = [triple for triple in whole if budget or precision(triple)]
        self.answers.expected = dict(counts_of_sets(model, wanted))
        if not budget:
            return
        stakes, signals = dict[Effect, float](), dict[Effect, float]()
        if whole:
            norms = self.ask(self._precisions_of_norms(whole, budget), norms=True)
            budget *= 1 - NORMS
            for triple, (value, sigma) in norms.items():
                if value > CLEAR * sigma:
                    self.hear(triple, value, sigma)
                    first = residual_plan.first_signal(self.answers.total, self._cells(triple))
                    fewer = residual_plan.fewer_cells(first, self.signals[triple])
                    stakes[triple] = self.triples[triple] * math.prod(sizes[v] - 1 for v in triple) / fewer
                    signals[triple] = self.signals[triple] / fewer
        if stakes:
            known = {triple: precision(triple) for triple in stakes}
            self.ask(residual_plan.added(stakes, sizes, signals, known, _below(budget), self.neighbours))
        else:
            self.stage(_below(budget))

    def hear(self, effect, value, sigma) -> None:
        """Estimate the signal of a pair or triple from its noisy norm `value`; the noise has deviation `sigma`."""
        guess = residual_plan.first_signal(self.answers.total, self._cells(effect))
        error = self.answers.error_of_even(effect) if len(effect) == 2 else 0.0
        given = float(value), float(sigma), error, [self.domain.sizes[v] for v in effect]
        self.signals[effect] = residual_plan.inverse_signal(*given, guess)

    def recall(self, stage) -> None:
        """Use the answers of a `Stage` of an earlier run."""
        self.before += stage.squared_mu
        for names, values in stage.answers.items():
            axes, shape = self.domain.axes(names), () if stage.norms else self.domain.shape(names)
            values = checks.real(f"earlier answers for {names}", values, "(-1e150, 1e150)")
            sigma = checks.number(f"earlier sigma of {names}", float(stage.sigmas[names]), "[1e-75, 1e75]")
            if values.shape != shape:
                raise ValueError(f"earlier answers for {names} must have shape {shape}, got {values.shape}")
            effect = tuple(sorted(axes))
            if stage.norms and len(effect) == 2 and effect in self.stakes:
                self.hear(effect, values, sigma)
            elif not stage.norms and (effect in self.stakes or effect in self.triples):
                self.answers.record(effect, centred(values.transpose(np.argsort(axes))), sigma**-2)

    def stage(self, budget) -> None:
        """Plan and run a stage with mu^2 = `budget`; 1 / tau^2 is 0 for single attributes and the total."""
        first = {e: residual_plan.first_signal(self.answers.total, self._cells(e)) for e in self.stakes if len(e) == 2}
        known = {effect: self.answers.precision(effect) for effect in self.stakes}
        spent = math.fsum(stage.squared_mu for stage in self.stages) + self.before
        if self.stakes:
            signals: dict[Effect, float] = first | self.signals
            fewer: dict[Effect, float] = {e: residual_plan.fewer_cells(first[e], signals[e]) for e in first}
            of_all, of_sets, signals = (
                {e: value / fewer.get(e, 1.0) for e, value in each.items()}
                for each in (self.stakes, self.of_sets, signals)
            )
            given = self.domain.sizes, signals, known, budget, self.neighbours
            self.ask(residual_plan.shared(of_all, of_sets, *given, spent))

    def ask(self, precisions, *, norms=False) -> dict[Effect, tuple]:
        """Answer residuals, or their norms, with noise whose variances are 1/`precisions` or slightly larger.

        Return each answer with the standard deviation of its noise.
        """
        found = {effect: self._noisy(effect, precision, norms) for effect, precision in precisions.items()}
        for effect, (values, sigma) in found.items():
            if not norms:
                self.answers.record(effect, values, float(sigma) ** -2)
        values, sigmas = ({self._named(effect): each[k] for effect, each in found.items()} for k in (0, 1))
        cost = (squared_mu_of_norms if norms else squared_mu)(precisions, self.domain.sizes, self.neighbours)
        self.stages.append(Stage(sigmas, values, cost, norms))
        return found

    def _noisy(self, effect, precision, norms) -> tuple:
        """Return the noisy residual of `effect`, or its norm, and the standard deviation of the noise."""
        counts = self.counts(self._named(effect))
        even = self.answers.even(effect) if norms else None
        if self.draws is not None:
            if even is None:
                return exact_answer(counts, precision, self.draws)
            return exact_norm(counts, even, precision, self.draws)
        sigma = sigma_for(precision)
        if even is None:
            return answer(counts, sigma, rng=self.rng), sigma
        return norm_answer(counts, even, sigma, rng=self.rng), sigma

    def look(self, model, inside) -> None:
        """Estimate the signals of pairs for the next stage."""
        pairs = self.answers.pairs()
        for pair in inside.intersection(pairs):
            self.signals[pair] = 1 / self.answers.signal(pair, self.answers.even(pair))
        for pair, expected in counts_of_sets(model, [pair for pair in pairs if pair not in inside]):
            self.signals[pair] = 1 / self.answers.signal(pair, expected)

    def fit(self, limit):
        """Return a fitted model with at most `limit` cells, and the set of its pairs."""
        cliques = self.answers.standing_out(limit)
        model = last_fit.fit(self.domain, self.answers.within(cliques), 1.0, "adaptive")
        return model, {pair for clique in cliques for pair in itertools.combinations(clique, 2)}
