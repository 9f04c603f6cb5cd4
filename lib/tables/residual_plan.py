"""Divide the budget of a stage among residual queries, by reverse water-filling.

The objective is the expected squared error of the marginals that matter. A pair r with the weight w_r consists of the
residuals of its subsets, each spread over the cells of r. Let the residual of e, which has dof_e = prod_(v in e) (n_v -
1) degrees of freedom, have a squared error of t per degree of freedom. Then this residual contributes w_r t dof_e /
(cells of r outside e). Each single attribute also counts as a set. Its weight is `SINGLES` d times the sum of the
weights of all sets that contain it, where d is the number of attributes. The sum over all sets is t times the stake
s_e. Single attributes together get at most half of the total budget, or more if the expected error of the requested
sets then rises by at most `LOSS` (`shared`).

Let tau_e^2, the signal, be the variance per degree of freedom of the residual of e around the value that is expected if
no answer is given. Let g_e be the precision of its noise after the stage. If a noisy answer is shrunk towards the
expected value in the best way, an error of 1 / (1/tau_e^2 + g_e) per degree of freedom remains. The stage minimizes the
sum of
s_e / (1/tau_e^2 + g_e) at a cost of sum_e c_e (g_e - k_e), where k_e is the precision known before the stage. By the
Lagrange conditions,

    g_e = max(k_e, sqrt(s_e / (c_e lambda)) - 1/tau_e^2),                                         (1)

as in reverse water-filling (Cover and Thomas 2006, 10.3.3): a residual gets nothing if its signal is below the water
level. The cost is piecewise linear in x = lambda^(-1/2), so x can be found by sorting (`water_filling`).

If two attributes determine each other, the records are in few cells of the pair. If N records are spread evenly over m
of the cells, tau^2 is about cells / m times the first guess, (N / cells)^2. The noise in the other cells matters less
than (1) assumes, because the fit does not permit negative counts. If tau^2 is more than `FAR` times the first guess,
s_e and 1/tau_e^2 are therefore divided by the excess, as if the pair had fewer degrees of freedom with the same squared
distance from independence (`fewer_cells`).

For unbounded neighbours, c_e is the squared length of the vector that a record adds (`residual_queries`). For bounded
neighbours, the cost is not linear. The first bound of `residual_queries` is the maximum over w in [0, 1]^d of sum_e
c_e(w) g_e, with c_v(w) = 2 (1 - w_v) and c_uv(w) = 2 (1 - (1 - w_v) r_u - (1 - w_u) r_v). In a fixed number of steps,
`added` searches for the w at which (1) satisfies the Lagrange conditions, and then multiplies all precisions by the
factor that spends the budget. Residuals of three attributes have a stage of their own, and their cost is linear for
both kinds of neighbours. The guarantee holds for any precisions, because `residual_queries.squared_mu` gives their
cost; only the error depends on how good they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks, in_order
from .residual_queries import Effect, longest_change, squared_length, squared_mu

SINGLES = 0.195  # weight of an attribute alone, per attribute, in units of the weights of all its pairs together
MOST_SINGLES = (0.5, 0.6, 0.7, 0.8, 0.9)  # limits of the part of all budget that single attributes get
LOSS = 0.03  # increase of the expected error of the requested sets that a higher limit may cause
CONCENTRATED = (
    8.0  # the sum of squares of a residual, as a multiple of the least that its sum of absolute values permits
)
FAR = 4.0  # times the first guess of tau^2, from which on a pair is taken to have its records in few cells
_STEPS = 40  # of the search for w


def stakes(sizes: Sequence[int], weights: Mapping[Effect, float], singles: float | None = None) -> dict[Effect, float]:
    """Return s_e for () and for all subsets of the sets in `weights` whose attributes have at least two values.

    sizes : the number of values of each attribute, integers in [1, 1e15]
    weights : mapping from sets of one or two attributes (sorted positions) to weights in [1e-100, 1e100]
    singles : [0, 1e100], the weight of each single attribute, as a multiple of the weights of all sets that contain it;
        by default `SINGLES` times the number of attributes in `weights`
    """
    sizes = [checks.whole("sizes", size, "[1, 1e15]") for size in sizes]
    if singles is not None:
        singles = checks.number("singles", singles, "[0, 1e100]")
    wanted = {clique: checks.number(f"weight of {clique}", w, "[1e-100, 1e100]") for clique, w in weights.items()}
    holding: dict[int, list[float]] = {}
    for clique, weight in wanted.items():
        if (
            not 1 <= len(clique) <= 2
            or list(clique) != sorted(set(clique))
            or not set(clique) <= set(range(len(sizes)))
        ):
            raise ValueError(f"weights must be of one or two sorted positions in [0, {len(sizes)}), got {clique!r}")
        for v in clique:
            holding.setdefault(v, []).append(weight)
    if singles is None:
        singles = SINGLES * len(holding)
    terms = list(wanted.items())
    terms += [((v,), singles * in_order.total(each)) for v, each in sorted(holding.items())]
    found: dict[Effect, float] = {}
    for clique, weight in terms:
        for effect in _subsets_with_empty(clique):
            if all(sizes[v] > 1 for v in effect):
                outside = math.prod(sizes[v] for v in clique if v not in effect)
                degrees = math.prod(sizes[v] - 1 for v in effect)
                found[effect] = found.get(effect, 0.0) + weight * degrees / outside
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def _subsets_with_empty(clique: Effect) -> list[Effect]:
    """Return all subsets of a clique, starting with the empty set."""
    return [subset for k in range(len(clique) + 1) for subset in itertools.combinations(clique, k)]


def water_filling(
    stakes: ArrayLike, prices: ArrayLike, inverse_signals: ArrayLike, known: ArrayLike, budget: float
) -> NDArray[np.float64]:
    """Return the precisions, (m,), that minimize the expected error when they are added: g_e - k_e of equation (1).

    stakes : s_e, (0, 1e150], (m,); prices : c_e, [1e-100, 1e100], (m,); m >= 1
    inverse_signals : 1 / tau_e^2, [0, 1e150], (m,); known : k_e, [0, 1e150], (m,)
    budget : the sum over e of c_e times the added precision, (0, 1e100]

    >>> from lib.tables.residual_plan import water_filling
    >>> print(water_filling([1.0, 1.0, 1.0], [1.0, 1.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0], 2.0))
    [0.66666667 0.         0.33333333]
    """
    s, c = checks.real("stakes", stakes, "(0, 1e150]"), checks.real("prices", prices, "[1e-100, 1e100]")
    inverse = checks.real("inverse_signals", inverse_signals, "[0, 1e150]")
    k, budget = checks.real("known", known, "[0, 1e150]"), checks.number("budget", budget, "(0, 1e100]")
    if s.ndim != 1 or not s.size or not s.shape == c.shape == inverse.shape == k.shape:
        shapes = ", ".join(str(each.shape) for each in (s, c, inverse, k))
        raise ValueError(
            f"stakes, prices, inverse_signals and known must have the same shape (m,), m >= 1, got {shapes}"
        )
    rise, floor = np.sqrt(s / c), inverse + k
    order = np.argsort(floor / rise, kind="stable")
    # With the first j residuals above the water, the cost at x is x * slopes[j] - offsets[j].
    slopes, offsets = np.cumsum((c * rise)[order]), np.cumsum((c * floor)[order])
    x = (budget + offsets) / slopes
    last = np.flatnonzero(x > (floor / rise)[order])
    level = x[last[-1]] if last.size else x[0]
    return np.maximum(rise * level - floor, 0.0)


def added(stakes: Mapping[Effect, float], sizes: Sequence[int], inverse_signals: Mapping[Effect, float],
          known: Mapping[Effect, float], budget: float, neighbours: str) -> dict[Effect, float]:  # fmt: skip
    """Return the precision that a stage adds to each residual it asks for; their `squared_mu` is at most `budget`.

    stakes : `stakes` of the residuals that may be asked for; () only if the number of records is not public. Either all of
        them are of three attributes, or none is
    sizes : the number of values of each attribute
    inverse_signals, known : 1 / tau_e^2 and k_e, [0, 1e150]; missing residuals have 0
    budget : mu^2 of the stage, (0, 1e100]
    """
    effects = list(stakes)
    s = np.array([stakes[effect] for effect in effects])
    inverse = np.array([inverse_signals.get(effect, 0.0) for effect in effects])
    k = np.array([known.get(effect, 0.0) for effect in effects])
    if neighbours == "unbounded":
        prices = np.array([float(squared_length(effect, sizes)) for effect in effects])
        more = water_filling(s, prices, inverse, k, budget)
    elif len(effects[0]) == 3:
        prices = np.array([squared_mu({effect: 1.0}, sizes, neighbours) for effect in effects])
        more = water_filling(s, prices, inverse, k, budget)
    else:
        more = _for_bounded(effects, s, sizes, inverse, k, budget)
    found = {effect: float(p) for effect, p in zip(effects, more) if p > 1e-9 * more.max()}
    return _within(budget, found, sizes, neighbours)


def _within(budget, precisions, sizes, neighbours) -> dict[Effect, float]:
    """Return `precisions` times a factor, at most 1, for which their `squared_mu` is at most `budget`."""
    factor = 1.0
    while True:  # twice, because the first factor is rounded
        scaled = {effect: p * factor for effect, p in precisions.items()}
        cost = squared_mu(scaled, sizes, neighbours)
        if cost <= budget:
            return scaled
        factor *= budget / cost * (1 - 2**-50)


def shared(stakes: Mapping[Effect, float], of_sets: Mapping[Effect, float], sizes: Sequence[int],
           inverse_signals: Mapping[Effect, float], known: Mapping[Effect, float], budget: float, neighbours: str,
           spent: float) -> dict[Effect, float]:  # fmt: skip
    """Return `added` with a limit to the budget of single attributes: the highest of `MOST_SINGLES` that costs little.

    Half of the total budget is always permitted. The next higher limit is permitted if it makes the expected squared
    error of the requested sets larger by at most a proportion `LOSS` than with half. This is the case if most pairs are
    lost in the noise: pairs then gain as much from precise single attributes. If single attributes would exceed the
    limit, single attributes and pairs get fixed parts of `budget`, and `added` divides each part. There is no limit for
    bounded neighbours, because the precision of single attributes then costs nothing as long as pairs have more.

    of_sets : the part of `stakes` that comes from the requested sets: `stakes` with singles=0
    spent : mu^2 of all previous stages, [0, 1e100]; the other parameters are those of `added`
    """
    found = added(stakes, sizes, inverse_signals, known, budget, neighbours)
    lengths = {effect: float(squared_length(effect, sizes)) for effect in stakes if len(effect) == 1}
    already, more = (
        in_order.total(length * of.get(effect, 0.0) for effect, length in lengths.items()) for of in (known, found)
    )
    if neighbours == "bounded" or all(len(effect) < 2 for effect in stakes):
        return found
    given = stakes, sizes, inverse_signals, known, budget, neighbours
    best, with_half = found, 0.0
    for most in MOST_SINGLES:
        allowed = min(max(most * (spent + budget) - already, 1e-3 * budget), 0.999 * budget)
        plan = found if more <= allowed else _divided(*given, allowed)
        left = _left(plan, of_sets, inverse_signals, known)
        with_half = with_half or left
        if left > (1 + LOSS) * with_half:
            break
        best = plan
        if plan is found:
            break
    return best


def _left(plan, of_sets, inverse_signals, known) -> float:
    """Return the expected squared error of the requested sets after a stage."""
    after = {e: inverse_signals.get(e, 0.0) + known.get(e, 0.0) + plan.get(e, 0.0) for e in of_sets if e}
    return in_order.total(of_sets[e] / precision if precision else math.inf for e, precision in after.items())


def _divided(stakes, sizes, inverse_signals, known, budget, neighbours, allowed) -> dict[Effect, float]:
    """Return `added` with `allowed` of `budget` for single attributes and the total, and the rest for pairs."""
    pairs: dict[Effect, float] = {effect: stake for effect, stake in stakes.items() if len(effect) == 2}
    others = {effect: stake for effect, stake in stakes.items() if len(effect) < 2}
    parts = ((others, allowed), (pairs, budget - allowed))
    alone, together = (added(part, sizes, inverse_signals, known, most, neighbours) for part, most in parts)
    return _within(budget, alone | together, sizes, neighbours)


def _for_bounded(effects, s, sizes, inverse, k, budget) -> np.ndarray:
    """Return precisions to add at the prices of bounded neighbours: w_v rises while p_v is below sum_u p_uv / n_u."""
    part = 1 / np.array(sizes, dtype=float)
    ends = np.array([(effect * 2)[:2] for effect in effects])
    single = np.array([len(effect) == 1 for effect in effects])
    u, v = ends[~single].T
    logit, step = np.zeros(len(sizes)), 1.0
    best, least = s, math.inf
    for _ in range(_STEPS):
        w = 1 / (1 + np.exp(-logit))
        prices = np.empty(len(effects))
        prices[single] = 2 * (1 - w[ends[single, 0]])
        prices[~single] = 2 * (1 - (1 - w[v]) * part[u] - (1 - w[u]) * part[v])
        more = water_filling(s, prices, inverse, k, budget)
        own = np.bincount(ends[single, 0], more[single], len(sizes))
        short = np.bincount(v, more[~single] * part[u], len(sizes)) + np.bincount(
            u, more[~single] * part[v], len(sizes)
        )
        cost = 2 * (own.sum() + (more[~single] * (1 - part[u] - part[v])).sum() + np.maximum(short - own, 0).sum())
        more = more * (budget / cost)
        left = float((s / (inverse + k + more)).sum()) if (inverse + k + more).all() else math.inf
        if left < least or best is s:
            best, least = more, left
        logit = np.clip(logit + step * np.log((short + 1e-9 * more.max()) / (own + 1e-9 * more.max())), -12, 12)
        step *= 0.93
    return best


def first_signal(records: float, cells: int) -> float:
    """Return a first guess of 1 / tau^2 for a set of attributes, as if each cell were off by the mean count of a cell.

    records : [1, inf), the noisy number of records; cells : [1, 1e100], the set's number of cells
    """
    return (checks.number("cells", cells, "[1, 1e100]") / checks.number("records", records, "[1, inf)")) ** 2


def for_norms(pairs: Sequence[Effect], sizes: Sequence[int], budget: float, neighbours: str) -> dict[Effect, float]:
    """Return the precisions of the norms of `pairs`; all get equal parts of `budget`, (0, 1e100], the total mu^2.

    pairs : at most 1e6 pairs or triples (sorted positions) of attributes with at least two values
    sizes, neighbours : as for `added`
    """
    part = checks.number("budget", budget, "(0, 1e100]") / max(len(pairs), 1) * (1 - 2**-30)  # for rounding up the cost
    return {pair: part / float(longest_change(pair, sizes, neighbours)) ** 2 for pair in pairs}


def inverse_signal(norm: float, sigma: float, error: float, sizes: Sequence[int], guess: float) -> float:
    """Estimate 1 / tau^2 of a pair or triple from its `norm`, the sum of absolute differences from expected counts.

    norm : (-1e150, 1e150), with noise of standard deviation `sigma`, (0, 1e150]
    error : [0, 1e150], the sum of absolute errors of the expected counts; its square is assumed to add to that of the
        norm
    sizes : the numbers of values of its attributes, integers in [2, 1e15]
    guess : (0, 1e150], its `first_signal`

    The sum of squares is assumed to be `CONCENTRATED` times as large as if all cells were off by the same amount. A
    pair whose norm is lost in the noise may be as far from independence as the noise. So the squared norm is assumed to
    be at least the smaller of 0.4 sigma^2 and the value that gives `FAR` / guess for tau^2.
    """
    norm, sigma = checks.number("norm", norm, "(-1e150, 1e150)"), checks.number("sigma", sigma, "(0, 1e150]")
    error, guess = checks.number("error", error, "[0, 1e150]"), checks.number("guess", guess, "(0, 1e150]")
    sizes = [checks.whole("sizes", size, "[2, 1e15]") for size in sizes]
    degrees, squares = math.prod(size - 1 for size in sizes), CONCENTRATED / math.prod(sizes)  # squares for a norm of 1
    lost = min(0.4 * sigma**2 * squares, FAR * degrees / guess)
    return degrees / max((max(norm, 0.0) ** 2 - error**2 - 0.5 * sigma**2) * squares, lost)


def fewer_cells(guess: float, inverse_signal: float) -> float:
    """Return the number, at least 1, that divides the degrees of freedom of a set: tau^2 divided by `FAR` / guess.

    guess : (0, 1e150], the `first_signal` of the set; inverse_signal : (0, 1e150], 1 / tau^2
    """
    guess = checks.number("guess", guess, "(0, 1e150]")
    return max(guess / checks.number("inverse_signal", inverse_signal, "(0, 1e150]") / FAR, 1.0)
