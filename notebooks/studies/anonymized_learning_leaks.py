"""The remaining leakage under sei2017's noise: counterexamples to Theorem 4, and what all parameters reveal together.

The laws are those of `lib.networks.parameterwise`. `two_batches` bounds a privacy loss from both sides, `many_batches`
estimates the loss for longer epochs, and `moving_thresholds` bounds it from below for thresholds that follow the
weights.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy import signal, special, stats

from lib.networks import intervals
from lib.networks.network import Network, changes, layers
from lib.networks.parameterwise import atoms
from lib.numerics import checks


def on_grid(centre, scale, low, high, cells, *, up=False) -> np.ndarray:
    """Return the law of `atoms` on a grid of `cells` + 1 equidistant values from `low` to `high`, shape (cells + 1,).

    Every output is rounded down to the grid or, with `up`, up to the grid. So the expectation of an increasing function
    under the true law lies between its expectations under the two laws on the grid.
    """
    at_low, _ = atoms(centre, scale, low, high)
    cells = checks.whole("cells", cells, "[1, 1e6]")
    below = stats.laplace.cdf(np.linspace(low, high, cells + 1), centre, scale)
    inner = np.diff(below)
    probabilities = np.zeros(cells + 1)
    probabilities[1:] += inner if up else 0
    probabilities[:-1] += 0 if up else inner
    probabilities[0] += at_low
    probabilities[-1] += 1 - below[-1]
    return probabilities


def best_guess(parameters, epsilon, *, cells=100) -> float:
    """Return how often the best guess of a fair bit is right, in [1/2, 1].

    The guess is made from `parameters` values, all of which equal the bit; each gets noise Lap(1/epsilon) and is then
    limited to [0, 1]. Inside the range the log ratio of the two laws is linear, so the sum of the values is sufficient.
    The laws of the sum are computed `on_grid`, which is exact in the limit of many `cells`.

    parameters : integer in [1, 1e4]; epsilon : in (0, inf), of each value separately
    """
    parameters = checks.whole("parameters", parameters, "[1, 1e4]")
    epsilon = checks.number("epsilon", epsilon, "(0, inf)")
    low, high = (reduce(np.convolve, [on_grid(end, 1 / epsilon, 0, 1, cells)] * parameters) for end in (0, 1))
    return float(np.maximum(low, high).sum() / 2)


# ---- sei2017's AnonymizedLearning on few records


class Bounds(NamedTuple):
    """A proven lower and upper bound of a number."""

    low: float
    high: float


BATCHES = (((1.0, None), (0.0, 1)), ((1.0, 0), (1.0, 1)))
"""Two batches of two records (value of all inputs, label); None is the label in which neighbours differ."""


def two_batches(inputs, epsilon, learning_rate, *, cells=500) -> Bounds:
    """Return how well one weight of AnonymizedLearning's model distinguishes two neighbours, after one epoch of `BATCHES`.

    The network has `inputs` inputs, no hidden layer and two classes; all 2 (inputs + 1) parameters start at 0, changes are
    limited to [-1/2, 1/2], and E = 1, so that the noise on each change is Lap(1/epsilon). Neighbours differ in the
    label of the first record. The weight leads from an input to the first class. The event is that the weight's first
    change is -1/2 and its second change is 1/2. With an L2 term, except for countably many values of lambda, exactly
    one value of the finished weight corresponds to this event. The function returns bounds on the log ratio of the
    event's probabilities, label 0 over label 1. Theorem 4 says that this log ratio is at most epsilon.

    inputs : integer in [1, 1000]; epsilon : in (0, 10]; learning_rate : alpha in (0, inf)
    """
    inputs = checks.whole("inputs", inputs, "[1, 1000]")
    epsilon = checks.number("epsilon", epsilon, "(0, 10]")
    learning_rate = checks.number("learning_rate", learning_rate, "(0, inf)")
    laws = {(label, up): _other_changes(inputs, label, epsilon, cells, up) for label in (0, 1) for up in (False, True)}

    def second(label, up):
        """Return the probability that the second change is 1/2, given that the first was -1/2."""
        law = laws[label, up]
        terms = 2 * inputs + 1
        advantage = 0.5 + np.linspace(-terms / 2, terms / 2, law.size)
        share = special.expit(learning_rate / 2 * advantage)  # softmax output of the first class
        return law @ atoms(np.clip(2 * share - 1, -0.5, 0.5), 1 / epsilon, -0.5, 0.5)[1]

    return Bounds(*(epsilon + math.log(second(0, up) / second(1, not up)) for up in (False, True)))


def _other_changes(inputs, label, epsilon, cells, up) -> np.ndarray:
    """Return the law of the sum of the other parameters' first changes, with sign plus for class 2 and minus for class 1."""
    weight = on_grid(0.5 if label == 0 else -0.5, 1 / epsilon, -0.5, 0.5, cells, up=up)
    bias = on_grid(0.0 if label == 0 else -0.5, 1 / epsilon, -0.5, 0.5, cells, up=up)
    total = signal.fftconvolve(bias, bias)
    factor, power = weight, 2 * inputs - 1
    while power:  # by squaring
        if power % 2:
            total = signal.fftconvolve(total, factor)
        factor, power = signal.fftconvolve(factor, factor), power // 2
    return np.maximum(total, 0)


def many_batches(inputs, epsilon, batches, *, learning_rate=100.0, small=0.1, runs=2000, rng) -> float:
    """Return an estimate of the loss of `two_batches` over K batches of an epoch, nearly K epsilon for large networks.

    The network is that of `two_batches`, and the first batch is that of `BATCHES`, where neighbours differ. Each later
    batch is a pair of records of either label, with the input 1 at the watched weight and `small` at all others. The
    event is that the first change is -1/2 and the others are 1/2. The other parameters are drawn `runs` times for each
    neighbour, and the conditional probabilities of the event are averaged.

    inputs : integer in [1, 1000]; epsilon : in (0, 10]; batches : K, integer in [2, 100]
    learning_rate, small : in (0, 1e100]; runs : integer >= 1; rng : numpy Generator
    """
    inputs, batches = (
        checks.whole("inputs", inputs, "[1, 1000]"),
        checks.whole("batches", batches, "[2, 100]"),
    )
    epsilon, runs = checks.number("epsilon", epsilon, "(0, 10]"), checks.whole("runs", runs, "[1, inf)")
    learning_rate, small = (
        checks.number(name, value, "(0, 1e100]") for name, value in (("learning_rate", learning_rate), ("small", small))
    )
    chances = [_path(inputs, label, epsilon, batches, learning_rate, small, runs, rng) for label in (0, 1)]
    return math.log(chances[0] / chances[1])


def _path(inputs, label, epsilon, batches, rate, small, runs, rng) -> float:
    """Return the probability of the path -1/2, 1/2, ..., 1/2 of the watched weight, averaged over all other parameters."""

    def noisy(centre):
        """Return changes around `centre`, limited before the noise and after it."""
        return np.clip(np.clip(centre, -0.5, 0.5) + rng.laplace(0, 1 / epsilon, np.shape(centre)), -0.5, 0.5)

    def gain(centre, count):
        """Return how much `count` pairs of changes raise the input of class 1 relative to that of class 2."""
        return -noisy(np.tile(centre, (2 * count, 1))).sum(axis=0)

    weight, bias = np.full(runs, label - 0.5), np.full(runs, label / 2)
    probability = atoms(weight, 1 / epsilon, -0.5, 0.5)[0]
    near, far = 0.5 - noisy(weight) + gain(bias, 1), gain(weight, inputs - 1)
    for _ in range(batches - 1):
        change = np.tanh(rate / 4 * (near + small * far))  # of the watched weight: 2 y - 1, y the output of class 1
        probability = probability * atoms(np.clip(change, -0.5, 0.5), 1 / epsilon, -0.5, 0.5)[1]
        near, far = near - 0.5 - noisy(change) + gain(change, 1), far + gain(small * change, inputs - 1)
    return float(probability.mean())


def moving_thresholds(inputs, epsilon) -> float:
    """Return a lower bound of one weight's loss if the thresholds of the second of two epochs follow the weights.

    The table has one record, whose `inputs` are all 1. The network has one hidden node (weights 0.1 into it, 0.1 and
    -0.1 out of it) and two classes. Neighbours differ in the label, and thresholds are the intervals of equations (20)
    to (26). The weight leads from the hidden node to the first class. The event is that the weight ends at its largest
    possible value. The event reveals that the changes of all inputs + 1 parameters of the hidden node were at their
    lower thresholds in the first epoch. The loss returned is the loss of those parameters.

    inputs : integer in [1, 1000]; epsilon : in [1e-100, inf)
    """
    inputs = checks.whole("inputs", inputs, "[1, 1000]")
    epsilon = checks.number("epsilon", epsilon, "[1e-100, inf)")
    begin = Network.of([np.full((inputs, 1), 0.1), [[0.1, -0.1]]], [[0.0], [0.0, 0.0]], dtype="float64")
    bounds = intervals.change_bounds(begin)
    low, high = (_watched(bounds.weights[0][end], bounds.biases[0][end], bounds.weights[1][end]) for end in (0, 1))
    total = 0.0
    for label, sign in ((0, 1), (1, -1)):
        (w, b), (v, _) = layers(begin.widths, changes(begin, np.ones((1, inputs)), [label]))
        for change, least, most in zip(_watched(w, b, v), low, high):
            total += sign * math.log(atoms(change, 2 * (most - least) / epsilon, least, most)[0])
    return total


def _watched(w, b, v) -> np.ndarray:
    """Return the hidden node's weights and bias, and its weight to the first class, as one vector."""
    return np.concatenate([np.ravel(w), b, v[0, :1]])
