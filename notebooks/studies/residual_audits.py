"""Attack exact runs of staged residuals, with canaries in one run, worst-case neighbours, last digits, and planted bugs.

    python -m notebooks.studies.residual_audits

writes book/results/miura2025/residual_audits.csv, in the form of `release_audits`. The attacker knows all records
except those in question, all settings and the whole result. A seeded generator replaces the operating system's
randomness.
"""

from __future__ import annotations

from functools import partial
from unittest.mock import patch

import numpy as np

from book.kept import results
from lib.attacks.audit import Audit, epsilon_lower_bound, epsilon_lower_bound_of_categories
from lib.tables import residual_queries, residual_stages, staged_residuals
from lib.tables.residual_answers import Answers
from lib.tables.residual_queries import RoundedDraws, centred
from lib.tables.table import Domain, Table
from notebooks.studies import release_audits
from notebooks.studies.one_run import one_run
from notebooks.studies.release_audits import (
    BITS,
    CANARIES,
    CONFIDENCE,
    CROWD,
    DELTA,
    GUESSES,
    ONE_RUN,
    OTHERS,
    OWN,
    pair,
)

FILE = results.FOLDER / "miura2025/residual_audits.csv"
RUNS = 300  # on each of two neighbours


def released(table, epsilon, rng, **options):
    """Run the exact mode of `staged_residuals` with random bits from `rng`."""
    with patch.object(residual_stages, "system_rng", lambda: rng):
        return staged_residuals(table, epsilon, DELTA, records=1, **options)


def answers(result) -> list[tuple]:
    """Return (attributes, sigma, residual) of each answer, in order, except those for norms and the number of records."""
    return [
        (names, float(sigma), stage.answers[names])
        for stage in result.stages
        for names, sigma in stage.sigmas.items()
        if names and not stage.norms
    ]


def norms(result) -> list[tuple]:
    """Return (attributes, sigma, norm, expected counts) for each norm of a pair, in order."""
    domain, found = result.synthetic.domain, []
    known = Answers(domain.sizes, result.total)
    for stage in result.stages:
        for names, sigma in stage.sigmas.items():
            if stage.norms and len(names) == 2:
                found.append((names, float(sigma), float(stage.answers[names]), known.even(domain.axes(names))))
            elif not stage.norms:
                known.record(domain.axes(names), stage.answers[names], float(sigma) ** -2)
    return found


def canaries(epsilon, rng, *, by="answers", runs=1) -> Audit:
    """Return the audit of one run on a table in which separate coins include the canaries.

    by : with "answers", a canary's score is a sum, weighted by precision, of how far the answers for the canary's cells
        exceed the residual of the other records. With "equality", the score is minus the number of answers that equal
        the median answer of the canaries' cells, as all empty cells would without noise
    """
    present = rng.random(CANARIES) < 0.5
    table = Table(np.concatenate([OTHERS, OWN[present]]), CROWD)
    result = released(table, epsilon, rng, workload=[("a",), ("b",)])
    known, scores, equal = Table(OTHERS, CROWD), np.zeros(CANARIES), np.zeros(CANARIES)
    for names, sigma, values in answers(result):
        cells, size = tuple(OWN[:, CROWD.axes(names)].T), CROWD.size(names)
        scores += (values - centred(known.marginal(names)))[cells] / sigma**2
        # Without noise in empty cells, the integer form would be -N there, the same for all of them.
        whole = np.rint(size * values)[cells]
        equal += whole == np.median(whole)
    found = scores if by == "answers" else -equal
    return one_run(found, present, guesses=GUESSES, delta=DELTA, confidence=CONFIDENCE)


# ---- two neighbours, many runs

LARGE = Domain({"a": 9, "b": 3})  # a large pair, so that its norm is asked for
THREE = Domain({"a": 2, "b": 2, "c": 2})
# Each attribute is the parity of the other two, and noise is small beside 4,000 records, so that the triple is measured.
PARITY = np.array([(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)] * 1000)


def likelihood(result, first, second, sizes=(1, 2, 3)) -> float:
    """Return the log-likelihood ratio of the answers between the two tables, up to the rounding of the noise.

    Only residuals of sets whose numbers of attributes are in `sizes` count and, if 2 is among them, the norms of pairs.
    """
    found = 0.0
    for names, sigma, values in answers(result):
        if len(names) in sizes:
            with_odd, without = (centred(table.marginal(names)) for table in (first, second))
            found += float(((with_odd - without) * (values - (with_odd + without) / 2)).sum()) / sigma**2
    return found + (of_norms(result, first, second) if 2 in sizes else 0.0)


def of_norms(result, first, second) -> float:
    """Return the log-likelihood ratio of the norms alone."""
    found = 0.0
    for names, sigma, value, around in norms(result):
        tables, size = (first.marginal(names), second.marginal(names)), around.size
        with_odd, without = (np.abs(centred(t) - np.rint(size * centred(around)) / size).sum() for t in tables)
        found += float((with_odd - without) * (value - (with_odd + without) / 2)) / sigma**2
    return found


def difference(result, first, second) -> float:
    """Return the difference of the first answers for the two attributes, in which reused noise cancels."""
    one, other = (residual_answer[1] for _, _, residual_answer in answers(result)[:2])
    return float(one - other)


def of_triples(result, first, second) -> float:
    """Return the log-likelihood ratio of the residuals of triples alone."""
    return likelihood(result, first, second, (3,))


def last_digits(result, first, second) -> int:
    """Return the number that the last two binary digits of the noisy number of records form."""
    return int(result.stages[0].answers[()]) % 4


def neighbours_apart(
    epsilon, rng, *, by=likelihood, neighbours="unbounded", odd=(1, 1), runs=RUNS, domain=BITS, crowd=None, **options
) -> Audit:
    """Return the audit of `runs` runs on each of two neighbours, by one of the scores above.

    The second neighbour contains `crowd`; without it, both are those of `release_audits.pair`.
    """
    if crowd is None:
        tables = [table.records for table in pair(neighbours, odd)]
    else:
        tables = [np.concatenate([crowd[neighbours == "bounded" :], [odd]]), crowd]
    first, second = (Table(records, domain) for records in tables)

    def score(table):
        return by(released(table, epsilon, rng, neighbours=neighbours, **options), first, second)

    scores = [np.array([score(table) for _ in range(runs)]) for table in (first, second)]
    bound = epsilon_lower_bound_of_categories if by is last_digits else epsilon_lower_bound
    return bound(*scores, delta=DELTA, confidence=CONFIDENCE)


# ---- bugs


def scale_of_the_counts():
    """Forget that the integers are residuals times their number of cells."""
    noisy = RoundedDraws.noisy
    return patch.object(
        RoundedDraws, "noisy", lambda self, whole, scale: noisy(self, whole, scale / max(whole.size, 1))
    )


def noise_of_one_in_norms():
    """Forget the scale of the noise of norms."""
    noisy = RoundedDraws.noisy
    return patch.object(
        RoundedDraws, "noisy", lambda self, whole, scale: noisy(self, whole, 1 if whole.dtype == object else scale)
    )


def tenth_of_the_noise():
    noisy = RoundedDraws.noisy
    return patch.object(RoundedDraws, "noisy", lambda self, whole, scale: noisy(self, whole, scale / 10))


def charged_a_thousandth():
    """Plan each stage with a thousand times its budget."""
    below = residual_stages._below
    return patch.object(residual_stages, "_below", lambda exact: 1000 * below(exact))


def counted_ten_times():
    """Count each record outside the crowd ten times, like a join that repeats rows."""
    form = residual_queries.integer_form
    return patch.object(
        residual_queries, "integer_form", lambda counts: form(np.where(counts < 1000, 10 * counts, counts))
    )


def empty_cells_without_noise():
    """Add no noise to counts of 0, for which the integer form of one attribute is smallest."""
    return _noisy(lambda whole, noise: np.where(whole == whole.min(), whole, whole + noise))


def noise_of_even_numbers():
    return _noisy(lambda whole, noise: whole + 2 * (noise // 2))


def noise_used_again():
    """Start all answers from the same random bytes."""
    return release_audits.noise_used_again(RoundedDraws, None)


def _noisy(combined):
    return release_audits._noisy(RoundedDraws, combined)


# ---- which attack on which program


Attack = partial(release_audits.Attack, where=())  # these bugs know where they are planted

# For a pair of attributes with two values each, a record (1, 1) would have the residual of (0, 0).
REPLACED = {"neighbours": "bounded", "odd": (1, 0)}
NORMS = {"by": of_norms, "domain": LARGE}
TRIPLES = {"by": of_triples, "odd": (1, 1, 1), "domain": THREE, "crowd": PARITY, "workload": 3}
ALIKE = {"by": difference, "odd": (1, 0), "workload": [("a",), ("b",)]}
ATTACKS = [
    *(Attack(ONE_RUN, epsilon, canaries) for epsilon in (0.5, 2.0, 20.0)),
    *(Attack("a record added", epsilon, neighbours_apart) for epsilon in (0.5, 2.0, 20.0)),
    *(Attack("a record replaced", epsilon, neighbours_apart, REPLACED) for epsilon in (0.5, 2.0, 20.0)),
    Attack("a record added, with norms", 2.0, neighbours_apart, {"domain": LARGE}),
    Attack("a record replaced, with norms", 2.0, neighbours_apart, REPLACED | {"domain": LARGE}),
    Attack("norms alone", 0.5, neighbours_apart, NORMS),
    *(Attack("triples alone", epsilon, neighbours_apart, TRIPLES) for epsilon in (2.0, 20.0)),
    Attack("triples alone, a record replaced", 20.0, neighbours_apart, TRIPLES | {"neighbours": "bounded"}),
    Attack("differences of answers", 0.5, neighbours_apart, ALIKE),
    Attack("last digits", 0.5, neighbours_apart, {"by": last_digits}),
    Attack(ONE_RUN + ", equal answers", 0.5, canaries, {"by": "equality"}),
]
BUGS = [
    Attack(ONE_RUN, 0.5, canaries, {}, scale_of_the_counts),
    Attack(ONE_RUN, 0.5, canaries, {}, tenth_of_the_noise),
    Attack(ONE_RUN, 0.5, canaries, {}, charged_a_thousandth),
    Attack(ONE_RUN, 0.5, canaries, {}, counted_ten_times),
    Attack(ONE_RUN + ", equal answers", 0.5, canaries, {"by": "equality"}, empty_cells_without_noise),
    Attack("a record added", 0.5, neighbours_apart, {}, charged_a_thousandth),
    Attack("a record replaced", 0.5, neighbours_apart, REPLACED, charged_a_thousandth),
    Attack("norms alone", 0.5, neighbours_apart, NORMS, noise_of_one_in_norms),
    Attack("triples alone", 0.5, neighbours_apart, TRIPLES, charged_a_thousandth),
    Attack("differences of answers", 0.5, neighbours_apart, ALIKE, noise_used_again),
    Attack("last digits", 0.5, neighbours_apart, {"by": last_digits}, noise_of_even_numbers),
]


if __name__ == "__main__":
    release_audits.keep(__spec__.name, (*ATTACKS, *BUGS), FILE)
