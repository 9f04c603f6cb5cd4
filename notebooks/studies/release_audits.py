"""Attack AIM's exact release as a whole, with canaries in one run, worst-case neighbours, last digits, and planted bugs.

    python -m notebooks.studies.release_audits

writes book/results/miura2025/release_audits.csv, which lists each attack on the unchanged program, and each bug with
the attack that should catch it. The attacker knows all records except those in question, all settings and the whole
release. A seeded generator replaces the operating system's randomness, so that an audit can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
import pandas as pd

from book.kept import results
from lib.attacks.audit import Audit, epsilon_lower_bound, epsilon_lower_bound_of_categories
from lib.tables import adaptive_iterative
from lib.tables.adaptive_iterative import aim
from lib.tables.budget_schedule import ExactSchedule
from lib.tables.plan import Plan
from lib.tables.private_draws import ExactDraws
from lib.tables.table import Domain, Table
from notebooks.studies.one_run import one_run

FILE = results.FOLDER / "miura2025/release_audits.csv"
DELTA, CONFIDENCE = 1e-6, 0.999
RUNS = 1_000  # on each of two neighbours


def released(table, epsilon, rng, start="sized", **options):
    """Run the exact mode of `aim` with random bits from `rng`, and with `start` in its plan."""
    with patch.object(adaptive_iterative, "system_rng", lambda: rng):
        return aim(table, epsilon, DELTA, plan=Plan(start, rounds=3), records=1, **options)


# ---- many canaries, one run

CANARIES, GUESSES = 400, 100
CROWD = Domain({"a": CANARIES + 1, "b": CANARIES + 1, "c": 2})
OTHERS = np.full((2000, 3), [CANARIES, CANARIES, 0])  # a known crowd; each canary has different values
OWN = np.column_stack([np.arange(CANARIES), np.arange(CANARIES), np.zeros(CANARIES, dtype=int)])


def canaries(epsilon, rng, *, by="counts", runs=1, **options) -> Audit:
    """Return the audit of one run on a table in which separate coins include the canaries.

    by : with "counts", a canary's score is a sum, weighted by precision, of how far the measurements of the canary's
        cells exceed the count of the other records. With "equality", the score is minus the number of measurements that
        equal this count
    """
    present = rng.random(CANARIES) < 0.5
    table = Table(np.concatenate([OTHERS, OWN[present]]), CROWD)
    result = released(table, epsilon, rng, workload=[("a",), ("b",)], **options)
    known, scores, equal = Table(OTHERS, CROWD), np.zeros(CANARIES), np.zeros(CANARIES)
    for measured, step in zip(result.measurements, result.steps):
        cells = tuple(OWN[:, CROWD.axes(measured.attributes)].T)
        above = (measured.values - known.marginal(measured.attributes))[cells]
        scores += np.asarray(above, dtype=float) / float(step.sigma) ** 2
        equal += above == 0
    found = scores if by == "counts" else -equal
    return one_run(found, present, guesses=GUESSES, delta=DELTA, confidence=CONFIDENCE)


# ---- two neighbours, many runs

BITS = Domain({"a": 2, "b": 2})


def pair(neighbours, odd) -> tuple[Table, Table]:
    """Return fifty records (0, 0) with `odd` in place of one (bounded) or in addition (unbounded), and without `odd`."""
    alike = np.zeros((50, 2), dtype=int)
    others = alike if neighbours == "unbounded" else alike[1:]
    return Table(np.concatenate([others, [odd]]), BITS), Table(alike, BITS)


def likelihood(result, first, second) -> float:
    """Return the log-likelihood ratio of the measurements between the two tables, up to the discreteness of the noise."""
    found = 0.0
    for measured, step in zip(result.measurements, result.steps):
        with_odd, without = first.marginal(measured.attributes), second.marginal(measured.attributes)
        above = np.asarray(measured.values, dtype=float) - (with_odd + without) / 2
        found += float(((with_odd - without) * above).sum()) / float(step.sigma) ** 2
    return found


def difference(result, first, second) -> float:
    """Return the difference of two counts, with and without the odd record, in which reused noise cancels."""
    one, other = _of_attributes(result)[:2]
    return float(one.values[1] - other.values[1])


def last_digits(result, first, second) -> int:
    """Return the number that the last two binary digits of a count with the odd record form."""
    return int(_of_attributes(result)[0].values[1]) % 4


def first_choice(result, first, second) -> int:
    """Return the number of the attribute that was measured first."""
    return BITS.axes(result.measurements[0].attributes)[0]


def _of_attributes(result) -> list:
    """Return the measurements except the one of the number of records."""
    return [measured for measured in result.measurements if measured.attributes]


def neighbours_apart(epsilon, rng, *, by=likelihood, neighbours="unbounded", odd=(1, 1), runs=RUNS, **options) -> Audit:
    """Return the audit of `runs` runs on each of two neighbours, by one of the scores above."""
    first, second = pair(neighbours, odd)

    def score(table):
        return by(released(table, epsilon, rng, neighbours=neighbours, **options), first, second)

    scores = [np.array([score(table) for _ in range(runs)]) for table in (first, second)]
    bound = epsilon_lower_bound_of_categories if by in (last_digits, first_choice) else epsilon_lower_bound
    return bound(*scores, delta=DELTA, confidence=CONFIDENCE)


# ---- bugs


def tenth_of_the_noise(draws, schedule):
    scale = draws.scale
    return patch.object(draws, "scale", lambda self, multiplier: scale(self, multiplier) / 10)


def charged_a_thousandth(draws, schedule):
    """Charge a thousandth of the cost of a round, so that many more rounds are run."""
    cost = schedule._cost
    return patch.object(schedule, "_cost", lambda self: cost(self) / 1000)


def empty_cells_without_noise(draws, schedule):
    return _noisy(draws, lambda counts, noise: np.where(counts == 0, 0, counts + noise))


def counted_ten_times(draws, schedule):
    """Count each record outside the crowd ten times, like a join that repeats rows, but keep the sensitivity 1."""
    return _noisy(draws, lambda counts, noise: np.where(counts < 1000, 10 * counts, counts) + noise)


def noise_of_even_numbers(draws, schedule):
    return _noisy(draws, lambda counts, noise: counts + 2 * (noise // 2))


def choice_at_a_thousandfold(draws, schedule):
    """Choose with a thousand times the epsilon."""
    choose = draws.choose
    return patch.object(draws, "choose", lambda self, scores, epsilon: choose(self, scores, 1000 * epsilon))


def noise_used_again(draws, schedule):
    """Start all measurements from the same random bytes."""
    noisy = draws.noisy

    def repeated(self, counts, scale):
        if not hasattr(self, "bytes_again"):
            self.bytes_again = self.rng.bytes(8)
        self.rng, rng = np.random.default_rng(int.from_bytes(self.bytes_again, "little")), self.rng
        try:
            return noisy(self, counts, scale)
        finally:
            self.rng = rng

    return patch.object(draws, "noisy", repeated)


def _noisy(draws, combined):
    """Return a patch of `draws` that makes each measurement `combined` of the counts and the noise."""
    noisy = draws.noisy

    def other(self, counts, scale):
        values, deviation = noisy(self, counts, scale)
        return combined(counts, values - counts), deviation

    return patch.object(draws, "noisy", other)


# ---- which attack on which program


@dataclass(frozen=True)
class Attack:
    """An `audit` of a program that claims `epsilon`, with or without a planted `bug`."""

    says: str
    epsilon: float
    audit: Callable
    options: dict = field(default_factory=dict)
    bug: Callable | None = None
    where: tuple = (ExactDraws, ExactSchedule)  # what `bug` is planted in

    def run(self, seed, **options) -> Audit:
        with self.bug(*self.where) if self.bug else nullcontext():
            return self.audit(self.epsilon, np.random.default_rng(seed), **(self.options | options))


ONE_RUN = "400 canaries, one run"
# Nothing is measured before, and either attribute is as good a choice, but for the odd record.
FIRST_CHOICE = {"by": first_choice, "odd": (1, 0), "start": "none", "workload": [("a",), ("b",)]}
ATTACKS = [
    *(Attack(ONE_RUN, epsilon, canaries) for epsilon in (0.5, 2.0, 20.0)),
    *(Attack("a record added", epsilon, neighbours_apart) for epsilon in (0.5, 2.0, 20.0)),
    *(
        Attack("a record replaced", epsilon, neighbours_apart, {"neighbours": "bounded"})
        for epsilon in (0.5, 2.0, 20.0)
    ),
    Attack("differences of measurements", 0.5, neighbours_apart, {"by": difference, "odd": (1, 0)}),
    Attack("last digits", 0.5, neighbours_apart, {"by": last_digits}),
    Attack("the first choice", 0.5, neighbours_apart, FIRST_CHOICE),
    Attack(ONE_RUN + ", equal counts", 0.5, canaries, {"by": "equality"}),
]
BUGS = [
    Attack(ONE_RUN, 0.5, canaries, {}, tenth_of_the_noise),
    Attack(ONE_RUN, 0.5, canaries, {}, counted_ten_times),
    Attack(ONE_RUN, 0.5, canaries, {"start": "none"}, charged_a_thousandth),
    Attack(ONE_RUN + ", equal counts", 0.5, canaries, {"by": "equality"}, empty_cells_without_noise),
    Attack("a record added", 0.5, neighbours_apart, {}, tenth_of_the_noise),
    Attack("differences of measurements", 0.5, neighbours_apart, {"by": difference, "odd": (1, 0)}, noise_used_again),
    Attack("last digits", 0.5, neighbours_apart, {"by": last_digits}, noise_of_even_numbers),
    Attack("the first choice", 0.5, neighbours_apart, FIRST_CHOICE, choice_at_a_thousandfold),
]


def keep(command, attacks, file) -> None:
    """Run `attacks` and write the bound that each proved to `file`; `command` is the module that calls this function."""
    rows, seed = [], 17
    for attack in attacks:
        found, bug = attack.run(seed), attack.bug.__name__.replace("_", " ") if attack.bug else ""
        rows.append({"attack": attack.says, "bug": bug, "claimed": attack.epsilon, "trials": found.trials,
                     "proved": found.epsilon_lower, "refuted": found.refutes(attack.epsilon)})  # fmt: skip
        print(*rows[-1].values(), sep="  ", flush=True)
    settings = {"seed": seed, "delta": DELTA, "confidence": CONFIDENCE}
    results.save(file, pd.DataFrame(rows), results.collect(command, [], data="made up", settings=settings))


if __name__ == "__main__":
    keep(__spec__.name, (*ATTACKS, *BUGS), FILE)
