"""Bounds on the errors of counts, from a release alone. They do not use the records, so they cost no privacy.

This docstring is about AIM. For staged residuals, `residual_bounds` has the statements about sets that were measured.
No choice bounds the counts of other sets, so these are bounded by those of subsets alone (`_within`). The error
probability is divided between measured and other sets in the same way.

A measured marginal. A measurement is the true marginal plus independent noise of a known law. The choice and the scale
of a measurement may depend on all earlier noise, but not on later noise. So, given everything before it, the first
measurement that covers a count is unbiased, and its noise has the known law. The mean of several measurements can be
biased. For example, if a design measures again only where the first noise was positive, the mean of the measurements is
too small on average. If the weights of a mean are fixed before the noise of each measurement and always add up to one,
all weight must be on the first measurement, because it may be the last.

`count_intervals` uses two statements and returns the counts that both permit. The probability that one of the two fails
is at most the given error probability.

1. The first covering measurement y_1, with noise Z_1, satisfies |y_1 - truth| <= h, where P(|Z_1| > h) <= 3/4 of the
   error probability.
2. This statement is about all covering measurements y_t together. Let theta_t > 0 be fixed before the noise Z_t, and
   psi_t at least log E e^(theta_t Z_t). Then the product of the e^(theta_t Z_t - psi_t) is a supermartingale that
   starts at 1, and so is the product with -theta_t. By Ville's inequality, the probability that one of the two products
   ever reaches 2/beta is at most beta. If none does, |sum theta_t (y_t - truth)| < log(2/beta) + sum psi_t, for any
   number of measurements and whatever they depend on (Howard, Ramdas, McAuliffe, Sekhon 2020, Theorem 1). We take
   theta_t in proportion to 1/variance. With Gaussian noise, the constant of proportionality makes the interval the
   narrowest of its kind if all measurements together are `_GAIN` times as informative as the first.

Both statements hold for a count that was chosen before the release was seen. They hold conditionally on everything
before the first covering measurement, and on the event that there is one. For k counts at once, ask for the level 1 -
(1 - level)/k.

An unmeasured marginal. The last round chose its marginal by the exponential mechanism, so probably no
candidate had a much higher score or a much larger error (`marginal_bounds`; McKenna, Mullins, Sheldon, Miklau
2022, Section 5). Moreover, no count is larger than the counts of its single attributes, which were measured. Half of
the error probability is for the errors of the candidates; the other half is divided equally between the counts of the
attributes.

Conditionally on the event that the marginal was not measured, these statements need not hold, because the noise decides
whether it is measured. So the error probability e is divided: an interval of a measured marginal misses with
probability at most 9/10 e, and an interval of an unmeasured marginal with probability at most e/10. The sum of the two
probabilities is at most e.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from ..numerics import checks, in_order
from ..tables.adaptive_iterative import Result
from ..tables.private_draws import GRAIN
from . import residual_bounds

LEVELS = "(0, 0.999999999999]"  # for levels nearer to 1, the error probability has too few digits for quantiles
# The level holds for any values; with these, intervals were narrow in runs on the synthetic sample of Adult.
_OF_MEASURED = 0.9  # proportion of the error probability, if measured; the rest is for other counts
_SHARE = 0.75  # proportion of this part that is for the first measurement
_GAIN = 6.0
_OF_PAIRS = 0.8  # proportion for pairs, if staged residuals bound a larger set by its pairs and single attributes


@dataclass(frozen=True)
class Intervals:
    """Intervals for counts; each field is a number or an array of the counts' shape.

    low, high : integers, as floats; the interval includes both ends
    unbiased : the first measurement of AIM that covers the counts, whose mean, given that there is one, is the truth, or
        the counts from all answers of staged residuals, which are nearly unbiased; NaN if nothing covers the counts
    expected_error : the mean absolute error of `unbiased` (for discrete or rounded noise, that of continuous noise), or
        NaN
    measured : the number of measurements that cover the counts; 0 for a public number of records, which is exact. For
        staged residuals, it is how often the residual of the counts' attributes was measured
    """

    low: np.ndarray
    high: np.ndarray
    unbiased: np.ndarray
    expected_error: float
    measured: int


def count_intervals(result: Any, attributes: Collection[str] = (), level: float = 0.95) -> Intervals:
    """Return `Intervals` for true counts from a release; each covers its count with probability at least `level`.

    result : `Result` of `aim` with Gaussian noise, `StagedResult`, or `Release`
    attributes : the attributes of the counts, whose shape is ``domain.shape(attributes)``; () for the number of records
    level : (0, 0.999999999999]

    The probability is over the noise; see the module's docstring. Intervals are cut off at 0, and at the number of
    records if it is public. Intervals for attributes that were not measured together are wide. Raises ``ValueError``
    for unknown attributes, and if none of the attributes was measured.

    >>> import numpy as np
    >>> from lib.release import count_intervals
    >>> from lib.tables import Domain, Table, aim
    >>> rng = np.random.default_rng(1)
    >>> table = Table(rng.integers(0, 2, (1000, 2)), Domain({"a": 2, "b": 2}))
    >>> result = aim(table, epsilon=1.0, delta=1e-6, rng=rng)
    >>> found = count_intervals(result, ["a"])
    >>> print((found.low <= table.marginal(["a"])).all(), (table.marginal(["a"]) <= found.high).all())
    True True
    """
    error = 1 - checks.number("level", level, LEVELS)
    result.model.domain.axes(attributes)
    names = tuple(attributes)
    if result.total is not None and not names:
        every = np.float64(result.total)
        return Intervals(every, every, every, 0.0, 0)  # type: ignore[arg-type]
    found, share = (_measured, _OF_MEASURED) if measured(result, names) else (_unmeasured, 1 - _OF_MEASURED)
    return found(result, names, share * error)


def _measured(result, names, error) -> Intervals:
    """Return the intervals of the counts over the attributes `names`, which a measurement covers."""
    if stages(result) is not None:
        return _from_residuals(result, names, error)
    law, covering = _Law.of(result), _covering(result, names)
    values, cells = zip(*(_summed(m, result.model.domain, names) for m in covering))
    reach = law.reach(covering[0].sigma, cells[0], _SHARE * error)
    centre, around = _together(law, covering, values, cells, error)

    low, high = np.maximum(values[0] - reach, centre - around), np.minimum(values[0] + reach, centre + around)
    empty = low > high  # improbable; the interval from all measurements together is then used
    low, high = np.where(empty, centre - around, low), np.where(empty, centre + around, high)
    mean = law.mean(covering[0].sigma, cells[0])
    return Intervals(*_whole_counts(result, low, high), values[0][()], mean, len(covering))


def _from_residuals(result, names, error) -> Intervals:
    """Return what `_measured` does, for staged residuals."""
    given = stages(result), result.model.domain, result.total, names
    one, lows, highs = np.zeros(result.model.domain.shape(names)), [], []
    one.flat[0] = 1.0  # the noise is the same in all cells
    for y, reach in residual_bounds.statements(*given, error):
        lows.append(y - reach(one))
        highs.append(y + reach(one))
    low, high = np.max(lows, axis=0), np.min(highs, axis=0)
    empty = low > high  # improbable; the interval from all answers is then used
    low, high = np.where(empty, lows[-1], low), np.where(empty, highs[-1], high)
    counts, noise = residual_bounds.estimate(*given)
    return Intervals(*_whole_counts(result, low, high), counts[()], noise, measured(result, names))


def stages(result: Any) -> Any:
    """Return the stages of a release by staged residuals, or None for AIM."""
    return getattr(result, "stages", None)


def measured(result: Any, attributes: Collection[str]) -> int:
    """Return how often all of `attributes` were measured together."""
    if (told := stages(result)) is not None:
        return residual_bounds.measured(told, result.model.domain, result.total, tuple(attributes))
    return len(_covering(result, attributes))


def _together(law, covering, values, cells, error) -> tuple[Any, float]:
    """Return the weighted mean of all covering measurements and its reach, by the module's second statement."""
    variances = [m.sigma**2 * count for m, count in zip(covering, cells)]
    surprise = math.log(2 / ((1 - _SHARE) * error))
    rate = math.sqrt(2 * surprise * variances[0] / _GAIN)
    thetas = [rate / variance for variance in variances]
    moments = in_order.total(law.log_moment(theta, m.sigma, n) for theta, m, n in zip(thetas, covering, cells))
    weighted, total = in_order.total(theta * value for theta, value in zip(thetas, values)), in_order.total(thetas)
    return weighted / total, (surprise + moments) / total


def sum_interval(result: Any, attributes: Collection[str], weights: np.ndarray, level: float = 0.95) -> tuple[float, float]:  # fmt: skip
    """Return an interval that covers the sum of the true counts times `weights` with probability at least `level`.

    attributes, level : as for `count_intervals`; weights : [0, inf), an array of shape ``domain.shape(attributes)``

    See `mean_ends` for the noise of a weighted sum. If no measurement contains all `attributes`, the ends follow
    from the sets that the last choice passed over and from the counts of single attributes or, for staged residuals,
    of pairs.
    """
    error, names = 1 - checks.number("level", level, LEVELS), tuple(attributes)
    ends = [
        (float((y * weights).sum()) - reach(weights), float((y * weights).sum()) + reach(weights))
        for y, reach in known(result, names, error)
    ]
    low, most = _crossing(ends, 0.0, math.inf) if ends else (0.0, math.inf)
    if not measured(result, names):
        error *= (1 - _OF_MEASURED) / 2
        for some, share in _within(result, names):
            largest = weights.max(axis=tuple(axis for axis, each in enumerate(names) if each not in some))
            for y, reach in _statements(result, some, error * share):
                most = min(most, max(float((y * largest).sum()) + reach(largest), 0.0))
    most = most if result.total is None else min(most, result.total * float(weights.max()))
    return min(low, most), most


def known(result: Any, names: tuple[str, ...], error: float) -> list[tuple[np.ndarray, Callable[[np.ndarray], float]]]:
    """Return statements about the true counts over `names`, which together fail with probability at most `error`.

    A statement is a pair of an estimate y of the counts n and a function. The function maps weights a to an upper bound
    on the absolute value of sum a (y - n). The weights have the shape of the counts; for AIM, any shape will do. If the
    counts were measured, there are two statements for AIM, and one for each measurement for staged residuals. There is
    one if they were not measured but the last choice passed over a set that contains `names`, and none otherwise. The
    probability is for weights that were fixed beforehand.
    """
    if measured(result, names):
        return _statements(result, names, _OF_MEASURED * error)
    bounds, around, same = _passed_over(result, (1 - _OF_MEASURED) * error / 2)
    bound = min((bound for within, bound in bounds.items() if set(names) <= set(within)), default=math.inf)
    if bound == math.inf:
        return []

    def reach(a):
        low, high = min(float(a.min()), 0.0), max(float(a.max()), 0.0)
        return bound * ((high - low) / 2 if same else max(-low, high))

    return [(np.asarray(around.marginal(names), float), reach)]


def _passed_over(result, error) -> tuple[dict, Any, bool]:
    """Return bounds as `marginal_bounds` does, the model or table that they are for, and whether its total is exact."""
    synthetic = getattr(result, "synthetic", None)  # absent from a release, which has the bounds' parts instead
    around: Any = synthetic or result.model
    passed = getattr(result, "passed", None)
    if synthetic and getattr(result, "choice", None):
        bounds = marginal_bounds(result, error)
    else:
        bounds = passed.bounds(_Law.of(result), error) if passed else {}
    return bounds, around, result.total == (len(synthetic) if synthetic else result.model.total)


def mean_ends(statements: Sequence, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return an interval for the mean of a value over records, which is right if all `statements` are.

    statements : as `known` returns them, about the counts of the cells of the records that are averaged
    low, high : arrays of the shape of these counts, the smallest and the largest value of a record in a cell

    Let n be the true counts. The mean is at least the m for which the sum of (low - m) n is 0. For each m, the noise of
    that sum has a known law, so each m whose noisy sum is farther above 0 than noise explains is excluded (Fieller
    1954); `high` is treated likewise. A sum of noise with weights a is taken as normal with the standard deviation
    sigma |a|, plus half of the largest weight for the steps of discrete noise. If no measurement contains all
    attributes, the error of the sum follows from the sets that the last choice passed over. If these do not bound it,
    or if the counts do not exceed the noise, the ends are the smallest `low` and the largest `high`.
    """
    least, most = float(low.min()), float(high.max())
    if not statements:
        return least, most
    ends = [
        (_first_zero(low, y, reach, least, most), -_first_zero(-high, y, reach, -most, -least))
        for y, reach in statements
    ]
    return _crossing(ends, least, most)


def _statements(result, names, error) -> list:
    """Return the statements about measured counts, each as noisy counts and a function from weights to the reach of the sum."""
    if (told := stages(result)) is not None:
        return residual_bounds.statements(told, result.model.domain, result.total, names, error)
    law, covering = _Law.of(result), _covering(result, names)
    values, cells = zip(*(_summed(m, result.model.domain, names) for m in covering))
    centre, around = _together(law, covering, values, cells, error)
    quantile, steps = law.quantile(covering[0].sigma, cells[0], _SHARE * error)
    return [
        (values[0], lambda a: quantile * _length(a) + steps * float(np.abs(a).max())),
        (centre, lambda a: around * _length(a)),
    ]


def _length(weights) -> float:
    return math.sqrt(float((weights**2).sum()))


def _first_zero(values, counts, reach, low, high) -> float:
    """Return the smallest m in [low, high] at which the sum of (values - m) counts is not above its reach, or else `low`.

    The sum minus its reach is a concave function of m. If it is positive at `low` and not at `high`, it has one zero
    between them.
    """

    def beyond(m):
        return float(((values - m) * counts).sum()) - reach(values - m)

    if beyond(low) <= 0 or beyond(high) > 0:
        return low
    return float(scipy.optimize.brentq(beyond, low, high, xtol=1e-9 * (high - low)))


def _crossing(intervals, least, most) -> tuple[float, float]:
    """Return the intersection of intervals, within [least, most]; the last interval if they do not meet."""
    low, high = max(low for low, _ in intervals), min(high for _, high in intervals)
    low, high = (low, high) if low <= high else intervals[-1]
    return min(max(low, least), most), max(min(high, most), least)


def _unmeasured(result, names, error) -> Intervals:
    """Return intervals of unmeasured `names`, around synthetic counts or the model's, cut off at the bounds of subsets (`_within`)."""
    bounds, believed, same = _passed_over(result, error / 2)
    bound = min((bound for within, bound in bounds.items() if set(names) <= set(within)), default=math.inf)
    reach = bound / (2 if same else 1)
    within = _within(result, names)
    if not within and reach == math.inf:
        told = result.measurements if stages(result) is None else residual_bounds.measurements(stages(result))
        known = ", ".join(dict.fromkeys("+".join(m.attributes) for m in told if m.attributes))
        raise ValueError(f"attributes must be among the measured ones ({known}), got {'+'.join(sorted(names))}")
    counts = believed.marginal(names).astype(float)
    high = counts + reach
    for some, share in within:
        of_some = _measured(result, some, error / 2 * share).high
        high = np.minimum(high, np.reshape(of_some, [n if name in some else 1 for name, n in zip(names, counts.shape)]))
    low, high = _whole_counts(result, np.minimum(counts - reach, high), high)
    return Intervals(low, high, np.full(counts.shape, np.nan)[()], math.nan, 0)


def _within(result, names) -> list[tuple[tuple[str, ...], float]]:
    """Return measured subsets of `names`, and how the error probability is divided among them.

    They are single attributes and, for staged residuals, also pairs if `names` are three or more. Which pairs were
    measured depends on noise, so all pairs have a part. Single attributes are measured first, whatever the noise.
    """
    alone = [(name,) for name in names if measured(result, (name,))]
    if stages(result) is None or len(names) < 3:
        return [(some, 1 / len(alone)) for some in alone]
    pairs = list(itertools.combinations(names, 2))
    told = [(pair, _OF_PAIRS / len(pairs)) for pair in pairs if measured(result, pair)]
    return [*told, *((some, (1 - _OF_PAIRS) / len(alone)) for some in alone)]


def _whole_counts(result, low, high) -> tuple[Any, Any]:
    """Return the ends of intervals, restricted to possible counts.

    If an interval contains no integer, its ends are rounded outwards.
    """
    inner, outer = (np.ceil(low - 1e-9), np.floor(high + 1e-9)), (np.floor(low), np.ceil(high))
    most, empty = np.inf if result.total is None else result.total, inner[0] > inner[1]
    return tuple(np.clip(np.where(empty, wide, near), 0, most)[()] for near, wide in zip(inner, outer))


def expected_error(result: Any, attributes: Collection[str]) -> float:
    """Return the `Intervals.expected_error` of the counts over `attributes`, or NaN if no measurement covers them."""
    domain = result.model.domain
    domain.axes(attributes)
    if not measured(result, attributes):
        return math.nan
    if (told := stages(result)) is not None:
        return residual_bounds.estimate(told, domain, result.total, tuple(attributes))[1]
    covering = _covering(result, attributes)
    first = covering[0]
    return _Law.of(result).mean(first.sigma, domain.size(first.attributes) // domain.size(attributes))


def _covering(result, attributes) -> list:
    """Return the measurements that contain all of `attributes`, in order."""
    return [measurement for measurement in result.measurements if set(attributes) <= set(measurement.attributes)]


@dataclass(frozen=True)
class PassedOver:
    """Numbers from the last choice of a run that bound the errors of its candidates. A saved release contains them.

    The symbols are those of the proof in `marginal_bounds`.

    candidates : for each candidate r, its attributes, w_r, e n_r, and the distance of the model or table from p_r
    scale : 2 sensitivity/epsilon; top : psi(y - p_c); chosen : w_c; sigma : the scale of the noise Z; cells : n_c
    """

    candidates: tuple[tuple[tuple[str, ...], float, float, float], ...]
    scale: float
    top: float
    chosen: float
    sigma: float
    cells: int

    @classmethod
    def of(cls, result: Result, around: Any) -> PassedOver:
        """Return the numbers that bound the distance of the truth from `around`, a model or a table, by the choice of `result`."""
        choice, last = result.choice, result.measurements[-1]
        if choice is None:
            raise ValueError(
                "result must come from a run that chose at least one measurement, got a run without a choice"
            )
        believed = {names: choice.model.marginal(names) for names in choice.weights}
        rounding, expected = 0.0, choice.expected
        if (
            _Law.of(result).noise == "discrete"
        ):  # as in `ExactDraws`, which also rounds the noise expected in a cell or in a marginal
            believed = {names: np.rint(GRAIN * p) / GRAIN for names, p in believed.items()}
            rounding, expected = (0.0, round(GRAIN * expected) / GRAIN) if choice.clear else (0.5 / GRAIN, expected)
        off = np.abs(last.values - believed[last.attributes])
        beyond = np.maximum(off - expected, 0).sum() if choice.clear else off.sum() - expected * off.size + rounding
        candidates = tuple(
            (
                names,
                float(choice.weights[names]),
                float(expected * p.size + rounding),
                float(np.abs(around.marginal(names) - p).sum()),
            )
            for names, p in believed.items()
        )
        scale, chosen = 2 * float(choice.sensitivity / choice.epsilon), float(choice.weights[last.attributes])
        return cls(candidates, scale, float(beyond), chosen, float(last.sigma), off.size)

    def bounds(self, law: Any, error: float) -> dict[tuple[str, ...], float]:
        """Return what `marginal_bounds` returns; `law` is the law of the noise."""
        gap = self.scale * math.log(max((len(self.candidates) - 1) * (2 / error - 1), 1.0))
        top = self.chosen * (self.top + law.reach(self.sigma, self.cells, error)) + gap
        return {names: max(noise + top / weight, 0.0) + moved for names, weight, noise, moved in self.candidates}


def marginal_bounds(result: Result, error: float) -> dict[tuple[str, ...], float]:
    """Return bounds on the L1 distance between true and synthetic marginals, for each candidate of `aim`'s last round.

    The distances are in counts. The probability that any of the bounds fails is at most `error`.

    result : `Result` of `aim`; error : (0, 1)

    The error of a count of a candidate's attributes, or of a subset of them, is at most this distance. It is at most
    half the distance if the number of records is public and the synthetic table has as many.

    The proof conditions on everything before the last round and uses two statements, each with error probability beta =
    error/2. Let p be the model before that round, d_r = |truth_r - p_r|_1, n_r the number of cells, and s_r = w_r
    psi(truth_r - p_r) the score of r. Let e be the expected noise. For the choice as printed in the paper, psi(x) is
    |x|_1 - e n_r; for a clear choice, it is the sum of the max(|x_i| - e, 0). So d_r <= e n_r + s_r/w_r.

    1. The exponential mechanism chooses c among k candidates with probability proportional to
       e^(epsilon s_c / (2 sensitivity)). The probability that c is one of the candidates whose scores are lower than
       the highest by g = 2 sensitivity/epsilon log((k-1)(1-beta)/beta) or more is at most beta. Otherwise, s_r < s_c +
       g for all r.
    2. The measurement is y = truth_c + Z, with Z independent of the choice. The function psi is convex and has, at
       truth_c - p_c, a subgradient u with entries -1, 0 and 1 (for the printed choice, the signs). So psi(y - p_c) >=
       psi(truth_c - p_c) + <u, Z>. The noise <u, Z> is distributed as a sum of at most n_c draws of noise. Let q be a
       bound that a sum of n_c draws exceeds, in absolute value, with probability at most beta. A sum of fewer draws
       exceeds q with no larger probability, because the noise is symmetric and log-concave (Anderson's inequality).

    So d_r <= e n_r + (w_c (psi(y - p_c) + q) + g) / w_r. By the triangle inequality, the distance of the synthetic
    table from the truth is at most that of p plus the distance of the synthetic table from p.
    """
    error, law, around = checks.number("error", error, "(0, 1)"), _Law.of(result), result.synthetic
    found = PassedOver.of(result, around).bounds(law, error)
    most = math.inf if result.total is None else result.total + len(around)
    return {names: min(bound, most) for names, bound in found.items()}


@dataclass(frozen=True)
class _Law:
    """The law of a run's noise: "gaussian", or "discrete" for the discrete Gaussian.

    The arguments of the methods are

    sigma : the standard deviation of the noise or, for "discrete", the square root of its variance parameter
    cells : the number of draws that are added up
    """

    noise: str

    @classmethod
    def of(cls, result) -> _Law:
        checks.one_of("noise of result", result.noise, ("gaussian",))
        return cls("discrete" if isinstance(result.rho, Fraction) else "gaussian")

    def reach(self, sigma, cells, alpha) -> float:
        """Return h with P(|sum| > h) <= alpha."""
        spread = sigma * math.sqrt(cells)
        if self.noise == "gaussian":
            return -spread * float(scipy.special.ndtri_exp(math.log(alpha / 2)))
        return min(_discrete_reach(sigma, cells, alpha), math.floor(spread * math.sqrt(2 * math.log(2 / alpha))))

    def quantile(self, sigma, cells, alpha) -> tuple[float, float]:
        """Return a weighted sum's reach for weights of norm 1, and what to add for each unit of the largest weight."""
        normal = -sigma * math.sqrt(cells) * float(scipy.special.ndtri_exp(math.log(alpha / 2)))
        return normal, 0.0 if self.noise == "gaussian" else 0.5

    def log_moment(self, theta, sigma, cells) -> float:
        """Return log E e^(theta sum), or an upper bound.

        For the discrete Gaussian, E e^(theta X) = e^(theta^2 sigma^2/2) f(theta sigma^2)/f(0), where f(c) is the sum of
        e^(-(x-c)^2/(2 sigma^2)) over all integers x. Its Fourier coefficients are positive, so f is largest at c = 0.
        """
        return cells * (theta * sigma) ** 2 / 2

    def mean(self, sigma, cells) -> float:
        """Return E |sum|; for the discrete Gaussian, the mean of the continuous one."""
        return sigma * math.sqrt(2 * cells / math.pi)


def _discrete_reach(sigma, cells, alpha) -> float:
    """Return `_Law.reach` from the normal law and a bound on the deviation from it.

    Write a vector of m integers with sum s as the vector with s/m in each cell plus a rest. The rest is in a translate
    of the lattice of integer vectors with sum 0, which has dimension m - 1 and determinant root m. Over such a
    translate, the sum of e^(-|x|^2/(2 sigma^2)) is largest for the lattice itself (as in `log_moment`). With spread^2 =
    m sigma^2, and f(0) >= sigma root(2 pi) for the f of `log_moment`,

        P(sum = s) <= (1 + e) e^(-s^2/(2 spread^2)) / (spread root(2 pi)),
        1 + e = sum of e^(-2 pi^2 sigma^2 |w|^2) over the w of the dual lattice.

    Each w is z - mean(z) for an integer vector z with |sum z| <= m/2, and |w|^2 >= |z|^2 - |sum z|/2 >= |z|^2/2. So 1 +
    e <= (sum over integers k of e^(-pi^2 sigma^2 k^2))^m. For x >= spread, the normal density is convex, so its value
    at s is at most its mean over [s - 1/2, s + 1/2]. So for integers h with h + 1/2 >= spread, P(|sum| > h) <= 2 (1 +
    e) P(normal > h + 1/2).
    """
    decay = -((math.pi * sigma) ** 2)
    excess = cells * math.log1p(-2 * math.exp(decay) / math.expm1(decay))
    quantile = -float(scipy.special.ndtri_exp(math.log(alpha / 2) - excess))
    return math.ceil(sigma * math.sqrt(cells) * max(quantile, 1.0) - 0.5)


def _summed(measurement, domain, attributes):
    """Return the noisy counts over `attributes`, and the number of cells that are added up in each count."""
    clique, values, _ = measurement.checked(domain)
    names = [domain.attributes[axis] for axis in clique]
    order = [names.index(name) for name in attributes]
    others = [axis for axis in range(len(names)) if axis not in order]
    summed = values.transpose(order + others).sum(axis=tuple(range(len(order), len(names))))
    return summed, values.size // summed.size
