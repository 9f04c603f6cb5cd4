"""Privacy of each parameter by itself, and of all of them together (sei2017, section 4-1), computed exactly.

A model has P parameters. It is *parameter-wise* epsilon-DP if the law of each parameter, taken alone, changes by at most
a factor e^epsilon from one data set to a neighbour; *jointly* epsilon-DP, which is differential privacy, if the law of
all P together does. The smallest such epsilon is called the loss here.

A finite mechanism is an array `law` of shape (datasets, k_1, ..., k_P): for each data set the probabilities of the
outputs, one axis a parameter. All data sets are neighbours of one another.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy import signal, special, stats

from ..numerics import checks
from . import intervals
from .network import Network, changes, layers

# ---- finite mechanisms


def loss(law, parameters=None) -> float:
    """The smallest epsilon for the `parameters` (numbers from 0 to P - 1; default all) of `law` together.

    law : shape (datasets, k_1, ..., k_P), entries >= 0 that sum to 1 for each data set; see the module's text
    In [0, inf], inf if some output is possible for one data set and impossible for another. ``ValueError`` on other input.
    """
    law = _law("law", law)
    count = law.ndim - 1
    chosen = (
        range(count) if parameters is None else np.ravel(checks.integer("parameters", parameters, f"[0, {count - 1}]"))
    )
    others = tuple(axis for axis in range(1, law.ndim) if axis - 1 not in chosen)
    outputs = law.sum(axis=others).reshape(len(law), -1)
    most, least = outputs.max(axis=0), outputs.min(axis=0)
    possible = most > 0
    if (least[possible] == 0).any():
        return math.inf
    return float(np.log(most[possible] / least[possible]).max())


def losses(law) -> np.ndarray:
    """The loss of each parameter of `law` by itself, shape (P,): what parameter-wise privacy asks for."""
    law = _law("law", law)
    return np.array([loss(law, [parameter]) for parameter in range(law.ndim - 1)])


def chain(first, second) -> np.ndarray:
    """The law of the outputs of two mechanisms, of which the second reads the data set and the outputs of the first.

    first : shape (datasets, *outputs); second : (datasets, *outputs of the first, *outputs of the second), its
    conditional laws. Returns shape (datasets, *outputs of the first, *outputs of the second).
    """
    first, second = _law("first", first), checks.real("second", second, "[0, 1]")
    if second.ndim <= first.ndim or second.shape[: first.ndim] != first.shape:
        raise ValueError(f"second must have a shape that begins with {first.shape} and goes on, got {second.shape}")
    sums = second.sum(axis=tuple(range(first.ndim, second.ndim)))
    if np.abs(sums - 1).max() > 1e-9:
        raise ValueError(
            f"second must sum to 1 for each data set and each output of the first, got {sums.flat[np.abs(sums - 1).argmax()]:g}"
        )
    return first.reshape(first.shape + (1,) * (second.ndim - first.ndim)) * second


def _law(name, law) -> np.ndarray:
    law = checks.real(name, law, "[0, 1]")
    if law.ndim < 2 or law.size == 0:
        raise ValueError(f"{name} must have shape (datasets, k_1, ..., k_P), got {law.shape}")
    sums = law.reshape(len(law), -1).sum(axis=1)
    if np.abs(sums - 1).max() > 1e-9:
        raise ValueError(f"{name} must sum to 1 for each data set, got {sums[np.abs(sums - 1).argmax()]:g}")
    return law


# ---- the Laplace mechanism, limited to a range


def atoms(centre, scale, low, high) -> tuple:
    """Probabilities of the outputs `low` and `high` of min(high, max(low, centre + Lap(scale))) (sei2017, Lemma 1, mended).

    centre : array_like in [low, high]; scale : in [1e-100, inf); low < high, both in [-1e100, 1e100]. Two arrays of the shape of `centre`.
    """
    low, high = _range(low, high)
    centre = checks.real("centre", centre, f"[{low}, {high}]")
    scale = checks.real("scale", scale, "[1e-100, inf)")
    return 0.5 * np.exp(-(centre - low) / scale), 0.5 * np.exp(-(high - centre) / scale)


def on_grid(centre, scale, low, high, cells, *, up=False) -> np.ndarray:
    """The same law on a grid of `cells` + 1 equidistant values from `low` to `high`, shape (cells + 1,).

    Every output is rounded down to the grid, or, with `up`, up to it. So the expectation of an increasing function
    lies between those of the two.
    """
    low, high = _range(low, high)
    at_low, _ = atoms(centre, scale, low, high)
    cells = int(checks.integer("cells", cells, "[1, 1e6]"))
    below = stats.laplace.cdf(np.linspace(low, high, cells + 1), centre, scale)
    inner = np.diff(below)
    probabilities = np.zeros(cells + 1)
    probabilities[1:] += inner if up else 0
    probabilities[:-1] += 0 if up else inner
    probabilities[0] += at_low
    probabilities[-1] += 1 - below[-1]
    return probabilities


def _range(low, high) -> tuple[float, float]:
    low, high = (float(checks.real(name, end, "[-1e100, 1e100]")) for name, end in (("low", low), ("high", high)))
    if low >= high:
        raise ValueError(f"low must be below high, got low {low:g}, high {high:g}")
    return low, high


def best_guess(parameters, epsilon, *, cells=100) -> float:
    """How often the best guess of a fair bit is right, from `parameters` values in [0, 1], all 0 or all 1 by that bit, with
    Lap(1/epsilon) on each, limited to [0, 1] again: in [1/2, 1].

    Inside the range the log ratio of the two laws is linear, so the sum of the values says all there is to know. Its
    laws are computed `on_grid`, exact in the limit of many `cells`.

    parameters : whole number in [1, 1e4]; epsilon : in (0, inf), of each value by itself
    """
    parameters = int(checks.integer("parameters", parameters, "[1, 1e4]"))
    epsilon = float(checks.real("epsilon", epsilon, "(0, inf)"))
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
    """How far one weight of AnonymizedLearning's model tells two neighbours apart, after one epoch of `BATCHES`.

    The network has `inputs` inputs, no hidden layer and two classes; all 2 (inputs + 1) parameters start at 0, changes are
    limited to [-1/2, 1/2], and E = 1, so that the noise on each is Lap(1/epsilon). Neighbours differ in the label
    of the first record. The weight is that from an input to the first class; the event that its first change is -1/2 and its
    second 1/2. With an L2 term (any but countably many) that is one single value of the finished weight.
    Returns bounds of the log of the ratio of its probabilities, label 0 over label 1. Theorem 4 says: at most epsilon.

    inputs : whole number in [1, 1000]; epsilon : in (0, 10]; learning_rate : alpha in (0, inf)
    """
    inputs = int(checks.integer("inputs", inputs, "[1, 1000]"))
    epsilon = float(checks.real("epsilon", epsilon, "(0, 10]"))
    learning_rate = float(checks.real("learning_rate", learning_rate, "(0, inf)"))
    laws = {(label, up): _other_changes(inputs, label, epsilon, cells, up) for label in (0, 1) for up in (False, True)}

    def second(label, up):
        """Probability that the second change is 1/2, given that the first was -1/2."""
        law = laws[label, up]
        terms = 2 * inputs + 1
        advantage = 0.5 + np.linspace(-terms / 2, terms / 2, law.size)
        share = special.expit(learning_rate / 2 * advantage)  # softmax output of the first class
        return law @ atoms(np.clip(2 * share - 1, -0.5, 0.5), 1 / epsilon, -0.5, 0.5)[1]

    return Bounds(*(epsilon + math.log(second(0, up) / second(1, not up)) for up in (False, True)))


def _other_changes(inputs, label, epsilon, cells, up) -> np.ndarray:
    """Law of the sum of the first changes of all parameters but the weight: class 2 counts plus, class 1 minus."""
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
    """An estimate of the same loss over K batches of one epoch: for large networks it comes near to K epsilon.

    The network is that of `two_batches`, the first batch that of `BATCHES`, in which neighbours differ; each later
    one is a pair of records of either label, with the input 1 at the watched weight and `small` at all others. The
    event is that the first change is -1/2, the others 1/2. The other parameters are drawn `runs` times for each neighbour,
    and the probabilities of the event given them averaged.

    inputs : whole number in [1, 1000]; epsilon : in (0, 10]; batches : K, whole number in [2, 100]
    learning_rate, small : in (0, 1e100]; runs : whole number >= 1; rng : numpy Generator
    """
    inputs, batches = (
        int(checks.integer("inputs", inputs, "[1, 1000]")),
        int(checks.integer("batches", batches, "[2, 100]")),
    )
    epsilon, runs = float(checks.real("epsilon", epsilon, "(0, 10]")), int(checks.integer("runs", runs, "[1, inf)"))
    learning_rate, small = (
        float(checks.real(name, value, "(0, 1e100]"))
        for name, value in (("learning_rate", learning_rate), ("small", small))
    )
    chances = [_path(inputs, label, epsilon, batches, learning_rate, small, runs, rng) for label in (0, 1)]
    return math.log(chances[0] / chances[1])


def _path(inputs, label, epsilon, batches, rate, small, runs, rng) -> float:
    """Probability of the path -1/2, 1/2, ..., 1/2 of the watched weight, averaged over all other parameters."""

    def noisy(centre):
        """Changes around `centre`, limited before the noise and after it."""
        return np.clip(np.clip(centre, -0.5, 0.5) + rng.laplace(0, 1 / epsilon, np.shape(centre)), -0.5, 0.5)

    def gain(centre, count):
        """What the input of class 1 over that of class 2 gains from the changes of `count` pairs of parameters."""
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
    """A lower bound of one weight's loss where the thresholds of the second of two epochs follow the weights.

    One record with all `inputs` 1, one hidden node (weights 0.1 into it, 0.1 and -0.1 out of it), two classes; neighbours
    differ in the label; thresholds are the intervals of equations (20) to (26). The weight is that from the hidden node to
    the first class, the event that it ends at the greatest value it can have. It tells that all inputs + 1 parameters
    of the hidden node, too, were at their lower thresholds after the first epoch; theirs is the loss returned.

    inputs : whole number in [1, 1000]; epsilon : in [1e-100, inf)
    """
    inputs = int(checks.integer("inputs", inputs, "[1, 1000]"))
    epsilon = float(checks.real("epsilon", epsilon, "[1e-100, inf)"))
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
    """The hidden node's weights and bias, and its weight to the first class, as one vector."""
    return np.concatenate([np.ravel(w), b, v[0, :1]])
