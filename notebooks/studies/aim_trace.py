"""A run of AIM step by step: its spending, its choices and its errors (miura2025, Figures 3 to 5).

All functions take the `steps` of an `adaptive_iterative.Result`, or the first few. The errors reported for the steps
are computed from the true records, so use the results to study the mechanism, and do not release them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from lib import accounting
from lib.mechanisms import Exponential, Gaussian, Laplace
from lib.numerics import checks


def charges(steps) -> np.ndarray:
    """Return the rho that each step costs, shape (steps,)."""
    return np.diff([step.rho_used for step in steps], prepend=0.0)


def annealed(steps) -> list[int]:
    """Return the numbers, from 1, of the steps after which Algorithm 4 (line 1) raised the budget of a round."""
    return [number for number, step in enumerate(steps, 1) if step.annealed]


def initial(steps) -> int:
    """Return the number of steps in the initialization, which chooses nothing."""
    return sum(step.epsilon == 0 for step in steps)


def paces(steps, factor=1.5) -> list[int]:
    """Return the numbers, from 1, of the rounds that cost more than `factor` times as much as the round before.

    factor : [1, inf)

    Only the costs of the rounds are used, not the mechanism's own record of its annealing. The last round, which gets
    the remaining budget, is left out.
    """
    factor = checks.number("factor", factor, "[1, inf)")
    cost, first = charges(steps), initial(steps)
    return [number for number in range(first + 2, len(steps)) if cost[number - 1] > factor * cost[number - 2]]


def milestones(steps, count=6) -> list[int]:
    """Return the numbers of steps to compose: the first, the last, `count` in between, and each at a change of pace.

    These changes are the end of the initialization and the steps in `annealed`.
    """
    count = checks.whole("count", count, "[0, inf)")
    spread = np.linspace(1, len(steps), count + 2).round().astype(int).tolist()
    return sorted({*spread, initial(steps) or 1, *annealed(steps)})


def schedule_of(steps, noise="gaussian", neighbours="unbounded") -> list:
    """Return the steps of a run of AIM, in order, as pairs (privacy loss variable, 1) for accountants.

    steps : those of `adaptive_iterative.Result`, or the first few. Each has the scale `sigma` of its noise in counts,
        (0, inf), and the `epsilon` of its selection, [0, inf), 0 if it selects nothing
    noise : "gaussian" or "laplace" (then `sigma` is b); neighbours : "unbounded" or "bounded"
    """
    checks.one_of("noise", noise, ("gaussian", "laplace"))
    checks.one_of("neighbours", neighbours, ("unbounded", "bounded"))
    cells = 1 if neighbours == "unbounded" else 2  # of a marginal, that one record changes by one
    pairs = []
    for step in steps:
        if checks.number("epsilon", step.epsilon, "[0, inf)") > 0:
            pairs.append((Exponential(step.epsilon).prv, 1))
        noisy = Laplace(step.sigma, cells) if noise == "laplace" else Gaussian(step.sigma, cells**0.5)
        pairs.append((noisy.prv, 1))
    return pairs


def spent(
    steps,
    delta,
    at=None,
    *,
    exponential="bounded range",
    noise="gaussian",
    neighbours="unbounded",
    eps_error=None,
    resolution=32,
):
    """Return the epsilon at `delta` that the first n steps cost, for each n in `at` (by default, for every n).

    delta : [1e-12, 1); at : integers in [1, steps]
    exponential, noise, neighbours, resolution : as in `accounting.compose_schedule` and `schedule_of`
    eps_error : (0, inf), as in `accounting.compose_schedule`. The default is 0.2 % of the cost of all steps by zCDP, at
        least 2e-4

    The result is a frame with a row for each number of steps. Column `zcdp` follows from the sum of the rho. Columns
    `lower`, `estimate` and `upper` compose the schedule numerically as if it had been fixed in advance, which it was
    not.
    """
    at = range(1, len(steps) + 1) if at is None else [int(n) for n in checks.integer("at", at, f"[1, {len(steps)}]")]
    if eps_error is None:
        eps_error = max(2e-3 * accounting.zcdp_to_dp(steps[-1].rho_used, delta), 2e-4)
    options = {"exponential": exponential, "eps_error": eps_error, "resolution": resolution}
    rows = []
    for number in at:
        schedule = schedule_of(steps[:number], noise, neighbours)
        zcdp = accounting.zcdp_to_dp(accounting.compose_zcdp(schedule), delta)
        rows.append((zcdp, *accounting.compose_schedule(schedule, delta, **options)))
    return pd.DataFrame(rows, columns=["zcdp", "lower", "estimate", "upper"], index=pd.Index(at, name="step"))


def tightened(mechanisms, epsilon, delta, *, exponential="bounded range", resolution=32) -> float:
    """Return the factor f such that a schedule with all noise divided by f costs `epsilon` at `delta`.

    mechanisms : as for `accounting.compose_schedule`. The scales of noise become sigma/f and the epsilons of the
        selections become f epsilon, so every variable's `size` is multiplied by f and every rho by f^2
    epsilon : (0, 500); delta : [1e-12, 1)

    The cost is the upper bound of `compose_schedule`. It is a guarantee if the schedule is fixed in advance.
    """
    epsilon, delta = checks.number("epsilon", epsilon, "(0, 500)"), checks.number("delta", delta, "[1e-12, 1)")
    mechanisms = list(mechanisms)
    options = {"exponential": exponential, "resolution": resolution}

    def excess(log_factor):
        scaled = [(replace(prv, size=prv.size * float(np.exp(log_factor))), count) for prv, count in mechanisms]
        return accounting.compose_schedule(scaled, delta, **options).upper - epsilon

    rho = accounting.compose_zcdp(mechanisms)
    start = np.log(accounting.dp_to_zcdp(epsilon, delta) / rho) / 2  # where zCDP is content
    return float(np.exp(brentq(excess, start - 0.5, start + 0.5, xtol=1e-4)))


# ---- errors, for runs that were asked to record them (`aim(..., errors=...)`)


def errors(steps, alpha) -> np.ndarray:
    """Return the alpha-way error of the model after each step, shape (steps,) (miura2025, Figure 4)."""
    sets = _watched(steps, alpha)
    return np.array([np.mean([step.errors[names] for names in sets]) for step in steps])


def chosen_and_rest(steps, alpha=2) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean error after each step of the sets measured by then, and of the others (miura2025, Figure 5).

    The result is two arrays of shape (steps,), with NaN for steps without such sets. The sets have `alpha` attributes;
    a set counts as measured if a step measured exactly its attributes.
    """
    sets, measured = _watched(steps, alpha), set()
    means = []
    for step in steps:
        measured.add(frozenset(step.attributes))
        means.append(
            [_mean(step, [names for names in sets if (frozenset(names) in measured) == side]) for side in (True, False)]
        )
    chosen, rest = np.array(means).T
    return chosen, rest


def selections(steps, alpha=2) -> pd.DataFrame:
    """Return whether a step measured a set of `alpha` attributes, as 0 or 1: a row for each set, a column for each step."""
    sets = _watched(steps, alpha)
    hits = [[int(frozenset(names) == frozenset(step.attributes)) for step in steps] for names in sets]
    return pd.DataFrame(hits, index=[" × ".join(names) for names in sets], columns=range(1, len(steps) + 1))


# ---- Algorithms 2 to 4 as printed, to hold runs against


def printed_schedule(run, rounds, share=0.9) -> np.ndarray:
    """Return (sigma_t, epsilon_t) of each step of `run`, an `adaptive_iterative.Result`, by Algorithms 2 to 4; shape (steps, 2).

    rounds : T, integer in [1, inf); share : alpha, the measurements' part of the budget, (0, 1)

    The function uses only the run's rho, which steps chose, and the rounds after which the run annealed. The epsilon_t
    of steps in the initialization is 0.
    """
    rounds, share = checks.integer("rounds", rounds, "[1, 1e100]"), checks.real("share", share, "[1e-9, 1)")
    sigma, epsilon, used = np.sqrt(rounds / (2 * share * run.rho)), np.sqrt(8 * (1 - share) * run.rho / rounds), 0.0
    rows = []
    for step in run.steps:
        chosen = step.epsilon > 0
        rows.append((sigma, epsilon * chosen))
        used += 1 / (2 * sigma**2) + epsilon**2 / 8 * chosen
        if chosen and step.annealed:
            sigma, epsilon = sigma / 2, 2 * epsilon
        remaining = run.rho - used
        if chosen and 0 < remaining <= 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            sigma, epsilon = np.sqrt(1 / (2 * share * remaining)), np.sqrt(8 * (1 - share) * remaining)
    return np.array(rows)


def printed_spending(anneals, rounds, d, share=Fraction(9, 10)) -> tuple[Fraction, Fraction]:
    """Return the proportion of rho that Algorithms 2 to 4 have used when they end, and the rest, by which they then divide.

    anneals : for each round, in order until the budget is spent, whether it anneals; rounds : T, integer in [1, inf)
    d : number of attributes, integer in [1, inf); share : alpha, a Fraction in (0, 1)

    The result is exact: a round costs 1/T of rho, and each annealing multiplies the cost by four.
    """
    rounds, d = checks.whole("rounds", rounds, "[1, inf)"), checks.whole("d", d, "[1, inf)")
    used, cost = d * share / rounds, Fraction(1, rounds)
    for anneal in anneals:
        if used >= 1:
            break
        used += cost
        cost *= 4 if anneal else 1
        if 1 - used <= 2 * cost:
            cost = 1 - used
    if used < 1:
        raise ValueError(
            f"anneals must have a value for each round until the budget is spent, got rounds that use {float(used):.3g} of it"
        )
    return used, cost


def _mean(step, sets) -> float:
    return float(np.mean([step.errors[names] for names in sets])) if sets else float("nan")


def _watched(steps, alpha) -> list[tuple[str, ...]]:
    alpha = checks.whole("alpha", alpha, "[1, inf)")
    sets = [names for names in steps[0].errors if len(names) == alpha] if len(steps) else []
    if not sets:
        raise ValueError(f"steps must contain errors of sets of {alpha} attributes: run aim(..., errors=[{alpha}])")
    return sets
