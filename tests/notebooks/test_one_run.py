"""Audits with one run: the bound against a simulation of randomized response, which attains it, and how often it is wrong."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from notebooks.studies.one_run import chance, one_run


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_without_delta_it_is_randomized_responses_tail(epsilon):
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    for hits in (0, 30, 60):
        by_hand = math.fsum(math.comb(60, k) * right**k * (1 - right) ** (60 - k) for k in range(hits, 61))
        assert chance(epsilon, hits, 60, 100) == pytest.approx(by_hand, rel=1e-9)


def test_delta_adds_what_the_theorem_says():
    epsilon, hits, guesses, canaries, delta = 1.0, 40, 50, 200, 1e-6
    right = math.exp(1) / (1 + math.exp(1))
    within = [math.fsum(binom.pmf(hits - j, guesses, right) for j in range(1, i + 1)) / i for i in range(1, hits + 1)]
    expected = binom.sf(hits - 1, guesses, right) + 2 * canaries * delta * max(within)
    assert chance(epsilon, hits, guesses, canaries, delta) == pytest.approx(expected, rel=1e-9)
    assert chance(epsilon, hits, guesses, canaries, 0.9) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_an_honest_mechanism_is_accused_as_rarely_as_it_says(epsilon):
    """Randomized response of each coin: of 100 audits at 95 % more than 15 accuse with a probability below 1e-4."""
    rng, accused, bounds = np.random.default_rng(8), 0, []
    for _ in range(100):
        present = rng.random(300) < 0.5
        told = present ^ (rng.random(300) < 1 / (1 + math.exp(epsilon)))
        audit = one_run(told + 0.01 * rng.random(300), present, guesses=100)
        accused += audit.refutes(epsilon)
        bounds.append(audit.epsilon_lower)
    assert accused <= 15
    assert np.median(bounds) > 0.4 * epsilon  # and it is not blunt


def test_who_is_told_everything_proves_much_and_who_is_told_nothing_proves_nothing():
    rng = np.random.default_rng(3)
    present = rng.random(400) < 0.5
    told = one_run(present.astype(float), present, guesses=150)
    assert told.epsilon_lower > 4 and told.hits == 300 and told.false_hits == 0
    assert one_run(rng.random(400), present, guesses=150).epsilon_lower < 0.4
    assert one_run(-present.astype(float), present, guesses=150).epsilon_lower == 0.0
    assert chance(told.epsilon_lower, 300, 300, 400) <= 0.05 < chance(told.epsilon_lower + 1e-5, 300, 300, 400)


GOOD = {"scores": np.arange(6.0), "present": np.arange(6) > 2, "guesses": 2}


@pytest.mark.parametrize(
    "changes, named",
    [
        ({"scores": [0.0, math.inf, 1, 2, 3, 4]}, "scores must be finite"),
        ({"scores": [[0.0, 1.0]]}, "scores must be finite, of shape"),
        ({"present": np.arange(6)}, "present must be bools of shape .6,., got int64"),
        ({"present": np.array([True])}, "present must be bools"),
        ({"guesses": 4}, "guesses must be in .1, 3., got 4"),
        ({"delta": 1.0}, "delta must be in .0, 1., got 1"),
        ({"confidence": 0.0}, "confidence must be in .0, 1., got 0"),
    ],
)
def test_bad_input_is_refused_by_name(changes, named):
    with pytest.raises(ValueError, match=named):
        one_run(**GOOD | changes)


@pytest.mark.parametrize(
    "arguments, named", [((1, 5, 4, 10), "hits"), ((1, 1, 11, 10), "guesses"), ((-1, 1, 4, 10), "epsilon")]
)
def test_impossible_counts_are_refused(arguments, named):
    with pytest.raises(ValueError, match=f"{named} must be in"):
        chance(*arguments)
