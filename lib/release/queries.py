"""Answer text questions about a release with an estimate and intervals.

    count where carrier = 'AS'
    proportion(cancelled = yes) where month <= 3
    mean(dep_delay) where carrier = 'AS'
    sd(dep_delay)
    median(dep_delay), quantile(dep_delay, 0.9)
    correlation(dep_delay, arr_delay)
    mean(dep_delay) where carrier = 'AS' - mean(dep_delay) where carrier = 'AA'
    sd(dep_delay) / mean(dep_delay)

`count` is the number of records, and `proportion` is the proportion of records that satisfy a condition. The other
statistics describe numeric attributes, over the records in which these are not missing. `sd` is the standard deviation,
with the number of records as the divisor. `quantile` is the smallest value that at least the given proportion of the
values do not exceed. A question may also be the difference or the ratio of two statistics. Conditions are written as in
`conditions`. The answers use only what was released, so they cost no privacy.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics import checks
from ..tables.adaptive_iterative import Result
from . import interpolation, moments, uncertainty
from .conditions import Condition, Parser
from .schema import NUMBERS, Schema

MOST_CELLS = 1_000_000  # of the table over a question's attributes
KINDS = ("count", "proportion", "mean", "sd", "median", "quantile", "correlation")
_STEPS = 8  # of a bin, for a quantile
_DRAWS, _FEW = 50_000, 20  # of pairs of values, and in a cell so that their moments are used
_NONE = 1e-9  # records


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    estimate : the model's answer, with numbers in their bins as in `interpolation`; outside the interval for the noise,
        the nearer end of that interval. It is NaN if the model expects no records
    low, high : ends of the interval. The true value misses it with probability at most 1 - level, wherever the numbers are in
        their bins
    level : (0, 1); measured : how many measurements contain all attributes of the question; if none does, the interval
        is wide
    noise_low, noise_high : ends of the interval for the noise alone, which assumes that the numbers are in their bins
        as in `interpolation`. For counts and proportions, they equal `low` and `high`
    """

    estimate: float
    low: float
    high: float
    level: float
    measured: int
    noise_low: float
    noise_high: float


def ask(result: Result, schema: Schema, question: str, level: float = 0.95) -> Answer:
    """Return the `Answer` to a question about the records of a release.

    result : `Result` of `aim`, `StagedResult` or `Release`; schema : its `Schema`; question : as in the module's docstring
    level : (0, 0.999999999999], the probability that each interval contains the true value, if the question was chosen
        before the release was seen

    A number beyond its range counts as the nearest end. Each part of a difference or a ratio gets half of the error
    probability. Raises ``ValueError`` for any other text, and for a question that the schema's bins cannot answer.

    >>> import numpy as np
    >>> from lib.release.queries import ask
    >>> from lib.release.schema import parse
    >>> from lib.release.synthesizer import run
    >>> from lib.tables import Table
    >>> public = parse("attributes: {sex: {values: [f, m]}, age: {range: [0, 99], bins: 10}}")
    >>> table = Table(np.repeat([[0, 1], [1, 3]], 5000, axis=0), public.domain)
    >>> found = ask(run(table, epsilon=1.0, delta=1e-9, seed=1), public, "mean(age) where sex = f")
    >>> print(found.low < 10 + 4.5 < found.high)
    True
    """
    parser = Parser(question, schema.attributes, "question")
    first = _asked(parser)
    mark = parser.word("-", "/")
    asked = [first, _asked(parser)] if mark else [first]
    parser.end()
    level = checks.number("level", level, uncertainty.LEVELS)
    parts = [_Cells(result, each).answer((1 - level) / len(asked)) for each in asked]
    measured = min(part[-1] for part in parts)
    estimate, ends, noise = _joined(mark, *parts) if mark else parts[0][:-1]
    noise_low, noise_high = noise
    # For quantiles, noise may permit more steps than whole bins.
    low, high = min(ends[0], noise_low), max(ends[1], noise_high)
    within = np.clip(estimate, noise_low, noise_high)
    return Answer(float(within), low, high, level, measured, noise_low, noise_high)


@dataclass(frozen=True)
class _Asked:
    kind: str
    numbers: tuple[Any, ...]  # attributes
    of: Condition | None  # of a proportion
    share: float  # of a quantile
    where: Condition | None


def _asked(parser) -> _Asked:
    kind = parser.need(*KINDS)
    numbers, of, share = [], None, 0.5
    if kind != "count":
        parser.need("(")
        if kind == "proportion":
            of = parser.condition()
        else:
            numbers.append(_number(parser))
        if kind in ("quantile", "correlation"):
            parser.need(",")
        if kind == "quantile":
            share = parser.number("(0, 1)")
        if kind == "correlation":
            numbers.append(_number(parser))
            if numbers[0] is numbers[1]:
                parser.refuse(0, "two different attributes are needed")
        parser.need(")")
    where = parser.condition() if parser.word("where") else None
    return _Asked("quantile" if kind == "median" else kind, tuple(numbers), of, share, where)


def _number(parser) -> Any:
    numeric = parser.attribute()
    if numeric.kind not in NUMBERS:
        parser.refuse(0, f"{numeric.name} must have a range of numbers")
    return numeric


def _joined(mark, one, other) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """Return the estimate and the two intervals of the difference or the ratio of two answers."""

    def ends(a, b):
        if mark == "-":
            return a[0] - b[1], a[1] - b[0]
        if b[0] <= 0 <= b[1]:
            return -math.inf, math.inf
        found = [x / y for x in a for y in b]
        return min(found), max(found)

    (first, *some, _), (second, *others, _) = one, other
    estimate = first - second if mark == "-" else first / second if second else math.nan
    exact, noise = (ends(a, b) for a, b in zip(some, others))
    return estimate, exact, noise


class _Cells:
    """The cells of the domain of a question's attributes, with the counts that a release gives for them."""

    def __init__(self, result: Result, asked: _Asked) -> None:
        named = [each for c in (asked.of, asked.where) if c for each in c.attributes]
        self.attributes = list(dict.fromkeys([*named, *asked.numbers]))
        self.names = tuple(each.name for each in self.attributes)
        if math.prod(len(each.labels) for each in self.attributes) > MOST_CELLS:
            raise ValueError(
                f"question must concern at most {MOST_CELLS:,} combinations of values, got {', '.join(self.names)}"
            )
        self.result, self.asked, self.shape = result, asked, result.model.domain.shape(self.names)
        self.of = np.ones(self.shape, bool)
        if asked.where is not None:
            self.of &= asked.where.decided(self.attributes, "question")
        for each in asked.numbers:
            place = [-1 if one is each else 1 for one in self.attributes]
            self.of &= ~np.isnan(np.reshape(each.ends[0], place))
        if asked.kind != "count" and not self.of.any():
            raise ValueError(
                "question must concern values that the schema permits, got a condition that excludes them all"
            )
        self.model = np.maximum(result.model.marginal(self.names), 0.0)
        self.expected = self.model[self.of]  # counts

    def known(self, error: float) -> list:
        known = uncertainty.known(self.result, self.names, error)
        return [(y[self.of], self._of_some(reach)) for y, reach in known]

    def _of_some(self, reach):
        """Return `reach` as a function of the weights of the cells asked for; all other weights are 0."""
        if not uncertainty.stages(self.result):  # for AIM, weights of 0 and the shape do not matter
            return reach

        def of_these(weights):
            every = np.zeros(self.shape)
            every[self.of] = weights
            return reach(every)

        return of_these

    def answer(self, error: float) -> tuple[float, tuple[float, float], tuple[float, float], int]:
        """Return the estimate, the interval, the interval for the noise alone, and the number of measurements."""
        measured = uncertainty.measured(self.result, self.names)
        kind, records = self.asked.kind, float(self.expected.sum())
        if kind == "count":
            ends = _count_ends(self.result, self.names, self.of, 1 - error)
            return records, ends, ends, measured
        if kind == "proportion":
            holds: Any = self.asked.of.decided(self.attributes, "question").astype(float)[self.of]  # type: ignore[union-attr]
            estimate, exact = float(holds @ self.expected), uncertainty.mean_ends(self.known(error), holds, holds)
            return (estimate / records if records > _NONE else math.nan), exact, exact, measured
        by = {"mean": self._mean, "sd": self._deviation, "quantile": self._quantile, "correlation": self._correlation}
        estimate, exact, smooth = by[kind](error)
        return (estimate if records > _NONE else math.nan), exact, smooth, measured

    def _mean(self, error) -> tuple:
        values = self._interpolated()
        ends = [moments.mean(self.known, each, error) for each in (self._bins(), values)]
        return _weighted(values.low, self.expected), *ends

    def _deviation(self, error) -> tuple:
        values = self._interpolated()
        ends = [moments.deviation(self.known, each, error) for each in (self._bins(), values)]
        middle = _weighted(values.low, self.expected)
        return math.sqrt(_weighted(values.squares(middle)[0], self.expected)), *ends

    def _quantile(self, error) -> tuple:
        (attribute,), (tilt,), share = self.asked.numbers, self._tilts, self.asked.share
        found = []
        for count in (0, _STEPS):
            ends, below = interpolation.steps(attribute, tilt, count)
            missing = np.zeros((len(below), len(attribute.labels) - attribute.declared))
            weights = self._over(attribute, np.hstack([below, missing]))
            found.append(moments.quantile(self.known, ends, weights, share, error))
        first = int(np.searchsorted(weights[1:] @ self.expected, share * self.expected.sum() - 1e-9))
        low, high = ends[min(first, len(ends) - 1)]
        return (low + high) / 2, *found

    def _correlation(self, error) -> tuple:
        known = self.known
        bins = self._bins(0), self._bins(1)
        one, other, together = self._drawn()
        ends = [
            moments.correlation(known, *bins, np.zeros(len(together)), error),
            moments.correlation(known, one, other, together, error),
        ]
        x, y = (each.low - _weighted(each.low, self.expected) for each in (one, other))
        spreads = [_weighted(x**2 + one.spread, self.expected), _weighted(y**2 + other.spread, self.expected)]
        scale = math.sqrt(math.prod(spreads))
        return (_weighted(x * y + together, self.expected) / scale if scale else 0.0), *ends

    # ---- values in the cells

    def _over(self, attribute, values) -> np.ndarray:
        """Return, for each cell asked for, the entry of `values` for its code of `attribute`; the codes are the last axis."""
        place = [1] * len(self.shape)
        place[self.attributes.index(attribute)] = len(attribute.labels)
        wide = np.reshape(values, (*values.shape[:-1], *place))
        return np.broadcast_to(wide, (*values.shape[:-1], *self.shape))[..., self.of]

    def _bins(self, place: int = 0) -> moments.Values:
        attribute = self.asked.numbers[place]
        low, high = (self._over(attribute, each) for each in attribute.ends)
        return moments.Values(low, high, np.zeros(low.shape))

    @functools.cached_property
    def _tilts(self) -> list[np.ndarray]:
        found, where = [], self.asked.where
        for each in self.asked.numbers:  # the neighbours of a bin, unless the condition leaves them out
            of = np.ones(self.shape, bool) if where and each in where.attributes else self.of
            others = tuple(i for i, one in enumerate(self.attributes) if one is not each)
            noise = uncertainty.expected_error(self.result, (each.name,))
            counts = np.where(of, self.model, 0.0).sum(axis=others)
            found.append(interpolation.tilts(each, counts, noise if noise > 1 else 1.0))
        return found

    def _interpolated(self) -> moments.Values:
        (attribute,), (tilt,) = self.asked.numbers, self._tilts
        missing = [0.0] * (len(attribute.labels) - attribute.declared)
        mean, spread = (
            self._over(attribute, np.append(each, missing)) for each in interpolation.moments(attribute, tilt)
        )
        return moments.Values(mean, mean, spread)

    def _drawn(self) -> tuple[moments.Values, moments.Values, np.ndarray]:
        """Return the values of two numeric attributes in each cell, and their covariance in it, from draws by `interpolation.Copula`."""
        pair = [self.attributes.index(each) for each in self.asked.numbers]
        table = np.where(self.of, self.model, 0.0)
        rng, shares = np.random.default_rng(0), self.expected / self.expected.sum()
        drawn = rng.choice(len(shares), _DRAWS, p=shares)
        codes = np.argwhere(self.of)[drawn]

        def marginal(names):
            wanted = [self.names.index(name) for name in names]
            summed = table.sum(axis=tuple(i for i in range(table.ndim) if i not in wanted))
            return np.transpose(summed, np.argsort(np.argsort(wanted)))

        copula = interpolation.Copula(marginal, self.asked.numbers)
        named = {each.name: codes[:, place] for each, place in zip(self.asked.numbers, pair)}
        positions = copula.positions(named, rng)
        x, y = (
            interpolation.placed(each, named[each.name], positions.get(each.name, rng.random(_DRAWS)), tilt)
            for each, tilt in zip(self.asked.numbers, self._tilts)
        )
        counts, means, spreads = np.bincount(drawn, minlength=len(shares)), [], []
        for values, each, tilt in zip((x, y), self.asked.numbers, self._tilts):
            middle, spread = (
                np.append(m, [0.0] * (len(each.labels) - each.declared)) for m in interpolation.moments(each, tilt)
            )
            many, n = counts >= _FEW, np.maximum(counts, 1)
            mean = np.where(many, np.bincount(drawn, values, len(shares)) / n, self._over(each, middle))
            off = values - mean[drawn]
            means.append((mean, off))
            spreads.append(np.where(many, np.bincount(drawn, off**2, len(shares)) / n, self._over(each, spread)))
        (one, x_off), (other, y_off) = means
        together = np.where(many, np.bincount(drawn, x_off * y_off, len(shares)) / n, 0.0)
        return moments.Values(one, one, spreads[0]), moments.Values(other, other, spreads[1]), together


def _weighted(values, counts) -> float:
    return float(values @ counts) / max(float(counts.sum()), _NONE)


def _count_ends(result, names, of, level) -> tuple[float, float]:
    if not names:
        found = uncertainty.count_intervals(result, (), level)
        return float(found.low), float(found.high)
    low, high = uncertainty.sum_interval(result, names, of.astype(float), level)
    most = math.inf if result.total is None else result.total
    if high == math.inf:
        return max(math.ceil(low - 1e-9), 0), most
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    if first > last:  # the interval contains no integer
        first, last = math.floor(low), math.ceil(high)
    return max(first, 0), min(last, most)
