"""Intervals for standard deviations, quantiles and correlations, from statements about counts (`uncertainty.known`).

Each interval inverts tests. A statistic theta solves equations sum w(theta) n = 0, where n are the true counts of the
cells and w is the mean of a function of the values over the records of a cell. A value is known only to be in its bin,
so only the smallest and the largest possible w are known. A theta is excluded if the noisy sum with the smallest w is
farther above 0 than noise explains, or the one with the largest w is farther below 0. The weights of the true theta are
fixed before the noise is drawn, so the true theta is excluded with at most the error probability of the statements. An
interval contains all theta that are not excluded. It is valid wherever in their bins the values are.

The equations of the other statistics contain means. These are unknown, so the range is divided into parts that are
fixed beforehand. For each part that intersects the interval of the mean, the equations are solved with the middle of
the part in place of the mean, and with an allowance for the largest distance between them. The error probability is
divided between the mean and the rest.

Instead of the ends of bins, the equations can use an estimate of the values in each bin, such as the means and
variances of `interpolation`. Then the smallest and the largest w are equal, and an interval allows for noise alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .uncertainty import mean_ends

_PARTS, _FEW = 256, 32  # of the range, for one attribute and for each of two
_STEP = 0.1  # between the logarithms of ratios of two standard deviations
_HALVINGS = 12  # of the range of correlations
_MOST = 400_000  # combinations of parts times cells; with more, the means are hardly known
Known = Callable[[float], list]  # from an error probability to `uncertainty.known`


@dataclass(frozen=True)
class Values:
    """The values of one attribute in the cells, arrays (cells,).

    low, high : the smallest and the largest value; or the mean of the values, twice
    spread : the variance of the values around this mean; 0 if `low` and `high` are the ends of bins
    """

    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray

    def parts(self, count: int) -> list[tuple[float, float]]:
        """Divide the range, by the cells alone, into about `count` parts and return their middles and half their widths."""
        ends = np.unique(np.concatenate([self.low, self.high]))
        each = max(count // max(len(ends) - 1, 1), 1)
        inner = [np.linspace(a, b, each, endpoint=False) for a, b in zip(ends, ends[1:])]
        cuts = np.concatenate([*inner, ends[-1:]])
        return [((a + b) / 2, (b - a) / 2) for a, b in zip(cuts, cuts[1:])] or [(float(ends[0]), 0.0)]

    def within(self, low: float, high: float, count: int) -> list[tuple[float, float]]:
        """Return the `parts` that intersect [low, high]."""
        return [(middle, half) for middle, half in self.parts(count) if middle - half <= high and middle + half >= low]

    def squares(self, middle: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest mean squared distance from `middle` in each cell."""
        below, above = self.low - middle, self.high - middle
        least = np.where((below <= 0) & (above >= 0), 0.0, np.minimum(abs(below), abs(above)))
        return least**2 + self.spread, np.maximum(abs(below), abs(above)) ** 2 + self.spread


def mean(known: Known, values: Values, error: float) -> tuple[float, float]:
    """Return an interval for the mean; see `uncertainty.mean_ends`."""
    return mean_ends(known(error), values.low, values.high)


def deviation(known: Known, values: Values, error: float) -> tuple[float, float]:
    """Return an interval for the standard deviation, whose divisor is the number of records.

    If the mean is in the part [a - h, a + h], the variance is the mean of (x - a)^2, minus at most h^2.
    """
    found, statements = [], known(error / 2)
    for middle, half in values.within(*mean(known, values, error / 2), _PARTS):
        low, high = mean_ends(statements, *values.squares(middle))
        found.append((max(low - half**2, 0.0), high))
    lows, highs = zip(*found)
    return math.sqrt(min(lows)), math.sqrt(max(highs))


def quantile(
    known: Known, ends: list[tuple[float, float]], below: np.ndarray, share: float, error: float
) -> tuple[float, float]:
    """Return an interval for the smallest value that at least the proportion `share` of the values do not exceed.

    ends : the smallest and the largest value of consecutive steps of the range
    below : [0, 1], array (steps + 1, cells), the proportion of a cell's values below each step and, in the last row,
        below or in the last step

    The quantile is in a step only if the proportion of values below the step is less than `share`, and the proportion
    up to the end of the step is not.
    """
    statements, possible = known(error), np.ones(len(ends), bool)
    for y, reach in statements:
        weights = below - share
        sums, far = weights @ y, np.array([reach(each) for each in weights])
        here = (sums[:-1] <= far[:-1]) & (sums[1:] >= -far[1:])
        possible = possible & here if (possible & here).any() else here if here.any() else possible
    steps = np.flatnonzero(possible)
    return ends[steps[0]][0], ends[steps[-1]][1]


def correlation(known: Known, one: Values, other: Values, together: np.ndarray, error: float) -> tuple[float, float]:
    """Return an interval for the correlation, within [-1, 1]; it is [-1, 1] if the noise hides the means or deviations.

    together : array (cells,), the covariance of the values in a cell, 0 if only the ends of their bins are known

    Let x and y be distances from the means, s and t their standard deviations, and q = t/s. The mean of
    x y - r/2 (q x^2 + y^2/q) is 0 for the correlation r. If q is replaced by a number that differs from q by a factor
    of at most e^h, the mean is 0 at a number between r and r/cosh(h) in place of r. The function is a saddle, so its
    smallest and its largest value in a cell are at a corner or on an edge. It is small near the diagonal if r is close
    to 1, so the bins matter less than if the covariance and both standard deviations were bounded separately. The ends
    of the interval are found by bisection, which assumes that the noisy sum decreases in r, as the true sum does. This
    holds unless the counts are mostly noise.
    """
    part = error / 8
    (s_low, s_high), (t_low, t_high) = deviation(known, one, part), deviation(known, other, part)
    if not (s_low > 0 and t_low > 0 and known(error)):
        return -1.0, 1.0
    first, last = math.floor(math.log(t_low / s_high) / _STEP), math.ceil(math.log(t_high / s_low) / _STEP)
    if last - first > 60:
        return -1.0, 1.0
    q = np.exp(_STEP * (np.arange(first, last) + 0.5))
    x_parts, y_parts = (each.within(*mean(known, each, part), _FEW) for each in (one, other))
    if len(x_parts) * len(y_parts) * len(q) * len(together) > _MOST:
        return -1.0, 1.0
    boxes = np.array([(*x, *y, ratio) for x in x_parts for y in y_parts for ratio in q])
    found = _crossings(known(error / 2), _Saddle(one, other, together, boxes))
    found = found[found[:, 0] <= found[:, 1]]
    if not len(found):
        return -1.0, 1.0
    wider = np.stack([found, found * math.cosh(_STEP / 2)])
    return max(float(wider.min()), -1.0), min(float(wider.max()), 1.0)


class _Saddle:
    """The function of `correlation` over the cells, an array (boxes, cells), with the middles of parts in place of the means."""

    def __init__(self, one, other, together, boxes):
        a, h, b, k, self.q = boxes.T[:, :, None]
        self.x, self.y = (one.low - a, one.high - a), (other.low - b, other.high - b)
        self.spread, self.together = self.q * one.spread + other.spread / self.q, together
        self.allowance = h * k + (self.q * h**2 + k**2 / self.q) / 2

    def end(self, r: np.ndarray, least: bool) -> np.ndarray:
        """Return the smallest or the largest mean of the function in each cell; `r` contains one number for each box."""
        r, q, best = r[:, None], self.q, np.minimum if least else np.maximum
        found, turn = None, np.where(np.abs(r) > 1e-6, r, 1e-6)

        def consider(x, y):
            nonlocal found
            value = x * y - r / 2 * (q * x**2 + y**2 / q)
            found = value if found is None else best(found, value)

        for y in self.y:
            for x in (*self.x, np.clip(y / (turn * q), *self.x)):
                consider(x, y)
        for x in self.x:
            consider(x, np.clip(q * x / turn, *self.y))
        return found + self.together - r / 2 * self.spread + (-self.allowance if least else self.allowance)


def _crossings(statements, saddle) -> np.ndarray:
    """Return the smallest and the largest r, within [-1, 1], that no statement excludes, for each box: an array (boxes, 2)."""
    boxes = len(saddle.q)
    found = np.tile([-1.0, 1.0], (boxes, 1))
    for y, reach in statements:
        for side, sign in ((0, 1.0), (1, -1.0)):
            low, high = np.full(boxes, -1.0), np.full(boxes, 1.0)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                weights = saddle.end(middle, least=side == 0)
                excluded = sign * (weights @ y) > np.array([reach(each) for each in weights])
                keep_low = excluded if side == 0 else ~excluded
                low, high = np.where(keep_low, middle, low), np.where(keep_low, high, middle)
            found[:, side] = np.maximum(found[:, 0], low) if side == 0 else np.minimum(found[:, 1], high)
    return found
