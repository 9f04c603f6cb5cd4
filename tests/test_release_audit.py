"""AIM's exact release as a whole, under attack: canaries in one run, and what five planted bugs give away.

The attacker knows all records but the canaries, each of which is in the table by a coin of its own, and all that is released: the
measurements, in their order, and what was measured. A canary's score adds up what the measurements of its cells have above the
others' count, each by its precision; or counts how often it has nothing above it, which no noise would leave so.
"""

import numpy as np
import pytest

from lib.attacks.one_run import one_run
from lib.tables import adaptive_iterative
from lib.tables.adaptive_iterative import aim
from lib.tables.budget_schedule import ExactSchedule
from lib.tables.private_draws import ExactDraws
from lib.tables.table import Domain, Table

CANARIES, GUESSES, DELTA = 400, 100, 1e-6
DOMAIN = Domain({"a": CANARIES + 1, "b": CANARIES + 1, "c": 2})
OTHERS = np.full((2000, 3), [CANARIES, CANARIES, 0])  # a known crowd; a canary has values of its own
KNOWN = Table(OTHERS, DOMAIN)


def canaries():
    own = np.arange(CANARIES)
    return np.column_stack([own, own, np.zeros(CANARIES, dtype=int)])


def attacked(epsilon, seed, monkeypatch, *, by="counts", **options):
    """The audit of one run, and the run; its randomness is a generator's, so that the test can be repeated."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(adaptive_iterative, "system_rng", lambda: rng)
    present = rng.random(CANARIES) < 0.5
    table = Table(np.concatenate([OTHERS, canaries()[present]]), DOMAIN)
    result = aim(table, epsilon, DELTA, [("a",), ("b",)], rounds=3, **options)
    scores, equal = np.zeros(CANARIES), np.zeros(CANARIES)
    for measured, step in zip(result.measurements, result.steps):
        cells = tuple(canaries()[:, [DOMAIN.attributes.index(name) for name in measured.attributes]].T)
        above = (measured.values - KNOWN.marginal(measured.attributes))[cells]
        scores += np.asarray(above, dtype=float) / float(step.sigma) ** 2
        equal += above == 0
    found = scores if by == "counts" else -equal
    return one_run(found, present, guesses=GUESSES, delta=DELTA, confidence=0.999), result


@pytest.mark.parametrize("epsilon, least", [(0.5, 0.0), (2.0, 0.0), (20.0, 1.0)])
def test_one_run_proves_no_more_than_the_claim(monkeypatch, epsilon, least):
    """At a confidence of 99.9 %; at a large epsilon the attack is sharp enough to prove a part of it."""
    assert not attacked(epsilon, 17, monkeypatch, by="equality")[0].refutes(epsilon)
    audit, result = attacked(epsilon, 17, monkeypatch)
    assert not audit.refutes(epsilon)
    assert audit.epsilon_lower >= least
    assert result.rho_used <= result.rho


# ---- five bugs


def tenth_of_the_noise(monkeypatch):
    scale = ExactDraws.scale
    monkeypatch.setattr(ExactDraws, "scale", lambda self, multiplier: scale(self, multiplier) / 10)


def charged_a_thousandth(monkeypatch):
    """A round is charged at a thousandth of its cost, so that many more are made."""
    cost = ExactSchedule._cost
    monkeypatch.setattr(ExactSchedule, "_cost", lambda self: cost(self) / 1000)


def empty_cells_without_noise(monkeypatch):
    noisy = ExactDraws.noisy

    def bare(self, counts, scale):
        values, deviation = noisy(self, counts, scale)
        return np.where(counts == 0, 0, values), deviation

    monkeypatch.setattr(ExactDraws, "noisy", bare)


def the_same_noise_again(monkeypatch):
    """All measurements share their noise, since each starts from the same random bytes: they cancel in differences."""
    noisy = ExactDraws.noisy

    def repeated(self, counts, scale):
        self.rng = np.random.default_rng(1)
        return noisy(self, counts, scale)

    monkeypatch.setattr(ExactDraws, "noisy", repeated)


def counts_multiplied(monkeypatch):
    """Each record is counted ten times, as by a join that repeats rows, and the sensitivity stays 1."""
    noisy = ExactDraws.noisy
    monkeypatch.setattr(
        ExactDraws,
        "noisy",
        lambda self, counts, scale: noisy(self, np.where(counts < 1000, 10 * counts, counts), scale),
    )


@pytest.mark.parametrize(
    "bug, how",
    [
        (tenth_of_the_noise, {}),
        (counts_multiplied, {}),
        (charged_a_thousandth, {"initialise": False}),
        (empty_cells_without_noise, {"by": "equality"}),
    ],
)
def test_a_planted_bug_is_caught_by_one_run(monkeypatch, bug, how):
    bug(monkeypatch)
    audit, _ = attacked(0.5, 17, monkeypatch, **how)
    assert audit.refutes(0.5), audit


def test_noise_that_is_used_again_is_caught(monkeypatch):
    """Of two attributes that the same records fill, the difference of two measurements has to be as noisy as each."""

    def spread():
        _, result = attacked(0.5, 17, monkeypatch, initialise=True)
        first, second = (m.values for m in result.measurements[:2])
        return np.std(np.asarray(first - second, dtype=float)) / float(result.steps[0].sigma)

    assert spread() > 1.2
    the_same_noise_again(monkeypatch)
    assert spread() < 0.1
