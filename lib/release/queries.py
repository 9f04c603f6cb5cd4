"""Questions to a release, in text, with an estimate and an interval.

    count where carrier = 'AS'
    proportion(cancelled = yes) where month <= 3
    mean(dep_delay) where carrier = 'AS'

A count is a number of records, `proportion` a part of them, and `mean` the mean of a number over the records in which it is
not missing. Conditions are those of `conditions`. The answers use only what was released, so they cost no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..numerics import checks
from ..tables.adaptive_iterative import Result
from . import uncertainty
from .conditions import Condition, Parser
from .schema import NUMBERS, Schema

MOST_CELLS = 1_000_000  # of the table over a question's attributes
KINDS = ("count", "proportion", "mean")


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    estimate : by the model, or the nearer end of the interval; NaN if the model expects no records
    low, high : ends of the interval, which the true value misses with probability at most 1 - level
    level : (0, 1); measured : how many measurements contain all attributes of the question. Without one the interval is wide
    """

    estimate: float
    low: float
    high: float
    level: float
    measured: int


def ask(result: Result, schema: Schema, question: str, level: float = 0.95) -> Answer:
    """Return the `Answer` to a question about the records of a release.

    result : `Result` of `aim`, or a `Release`; schema : its `Schema`; question : as in the module's docstring
    level : (0, 0.999999999999], the probability of each interval, for a question asked before the release was seen

    An interval contains both the noise and the width of bins. A number beyond its range counts as the nearest end.
    Raises ``ValueError`` for any other question, and for one that the schema's bins cannot answer.

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
    kind = parser.need(*KINDS)
    numeric, conditions = None, []
    if kind != "count":
        parser.need("(")
        if kind == "mean":
            numeric = parser.attribute()
            if numeric.kind not in NUMBERS:
                parser.refuse(0, f"{numeric.name} must have a range of numbers")
        else:
            conditions.append(parser.condition())
        parser.need(")")
    where = parser.condition() if parser.word("where") else None
    parser.end()
    named = [each for c in [*conditions, where] if c for each in c.attributes]
    attributes = list(dict.fromkeys([*named, *([numeric] if numeric else [])]))
    names = [each.name for each in attributes]
    if math.prod(len(each.labels) for each in attributes) > MOST_CELLS:
        raise ValueError(f"question must concern at most {MOST_CELLS:,} combinations of values, got {', '.join(names)}")
    level = checks.number("level", level, uncertainty.LEVELS)
    shape = result.model.domain.shape(names)
    of = np.ones(shape, bool) if where is None else where.decided(attributes, "question")
    model, measured = result.model.marginal(names), [m for m in result.measurements if set(names) <= set(m.attributes)]
    if kind == "count":
        estimate, ends = float(model[of].sum()), _count_ends(result, names, of, level)
    else:
        low, high, of = _values(numeric, conditions, attributes, shape, of)
        if not of.any():
            raise ValueError(
                "question must concern values that the schema permits, got a condition that excludes them all"
            )
        ends = uncertainty.ratio_interval(result, names, low, high, of, level)
        records = float(model[of].sum())
        estimate = float((model * (low + high) / 2)[of].sum()) / records if records > 1e-9 else math.nan
    return Answer(float(np.clip(estimate, *ends)), *ends, level, len(measured))


def _count_ends(result, names, of, level) -> tuple[float, float]:
    if not names:
        found = uncertainty.count_intervals(result, (), level)
        return float(found.low), float(found.high)
    low, high = uncertainty.sum_interval(result, names, of.astype(float), level)
    most = math.inf if result.total is None else result.total
    return max(math.ceil(low - 1e-9), 0), min(math.floor(high + 1e-9), most) if high < math.inf else most


def _values(numeric, conditions: list[Condition], attributes, shape, of) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the smallest and the largest value that is averaged, in each cell, and the cells with a value."""
    if numeric is None:
        holds = conditions[0].decided(attributes, "question").astype(float)
        return holds, holds, of
    place = [-1 if each is numeric else 1 for each in attributes]
    low, high = (np.broadcast_to(np.reshape(end, place), shape) for end in numeric.ends)
    present = ~np.isnan(low)
    return np.where(present, low, 0.0), np.where(present, high, 0.0), of & present
