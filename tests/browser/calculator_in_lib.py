"""The numbers that the calculator (book/_scripts) must show, computed by `lib`: for each question, a function of the
input.

The function returns the numbers by row and column of the table. A number is `Close` to some value, or `Between` two
values if `lib` itself gives an interval.
"""

import math
from dataclasses import dataclass

from lib import accounting, gaussian_synthesis, local, mechanisms
from lib.accounting import sampled_gaussian
from lib.attacks.membership_inference import advantage_bound, posterior_bound
from lib.local.communication import report_bits
from lib.tables.budget_schedule import Schedule

NINE_DIGITS = 1e-9
PRIORS = {"1 in 10": 0.1, "1 in 100": 0.01, "1 in 1,000": 0.001}


@dataclass(frozen=True)
class Close:
    """`value` itself, to `rel` of it or to `tolerance`."""

    value: float
    rel: float = NINE_DIGITS
    tolerance: float = 0.0

    def fits(self, shown):
        if not math.isfinite(self.value):
            return shown == self.value
        return abs(shown - self.value) <= max(self.rel * abs(self.value), self.tolerance)


@dataclass(frozen=True)
class Between:
    """From `low` to `high`; or none, where the page's inversion does not settle."""

    low: float
    high: float

    def fits(self, shown):
        return self.low <= shown <= self.high or math.isnan(shown)


def risks(epsilon, delta):
    """Return the numbers that the page shows beside an epsilon."""
    found = {name: Close(posterior_bound(prior, epsilon)) for name, prior in PRIORS.items()}
    return {"advantage": Close(advantage_bound(epsilon, delta))} | found


# Rows of the calculator, by their key: the theorem's name in the register, and whether the row is its value by Rényi orders.
ROWS = {
    "unbounded": "Theorem 3.1",
    "tight": "Theorem D",
    "bounded": "Theorem 3.2",
    "separate": "Theorem A",
    "joint": "Theorem B",
    "both": "Theorem G",
    "centred": "Theorem G'",
    "regularised": "Theorem H",
}
COVERED = {
    "regularised": ("unbounded", "regularised"),
    "public": ("bounded", "regularised"),
    "unbounded": ("unbounded", "plain"),
    "bounded": ("bounded", "plain"),
}


def covered(guarantee):
    """Return the theorems of the register that cover one of the calculator's guarantees, in its order."""
    neighbours, covariance = COVERED[guarantee]
    return [
        each for each in gaussian_synthesis.THEOREMS if each.neighbours == neighbours and covariance in each.covariance
    ]


def synthesis(guarantee, n, d, sigma, alpha, delta):
    rows, keys = {}, {name: key for key, name in ROWS.items()}
    for theorem in covered(guarantee):
        if theorem.exact:  # it may be 1e-9 too large, and counts the error of its quadrature in
            rows["direct"] = {"epsilon": Close(theorem.exact(n, delta, d, sigma), rel=1e-7, tolerance=3e-9)}
        if theorem.renyi:
            name, bound = keys[theorem.name], theorem.renyi
            rows[name] = {"epsilon": Close(gaussian_synthesis.released_dp(n, delta, d, sigma, bound=bound).epsilon)}
            record = float(bound(n, alpha, d, sigma))
            once = float(accounting.rdp_to_dp([alpha], [n * record], delta).epsilon)
            rows[f"renyi-{name}"] = {"record": Close(record), "release": Close(n * record), "converted": Close(once)}
    return rows


MECHANISMS = {
    "laplace": lambda size: mechanisms.Laplace(1 / size),
    "response": mechanisms.RandomizedResponse,
    "gaussian": lambda size: mechanisms.Gaussian(1 / size),
}


def repeated(mechanism, size, count, delta, neighbours="unbounded", numerically=True):
    made = MECHANISMS[mechanism](size)
    accountant = accounting.Accountant([(made, count)], delta)
    methods = {"basic": "basic", "advanced": "advanced", "optimal": "optimal", "zcdp": "zcdp", "rdp": "rdp"}
    searched = 1e-3 if mechanism == "gaussian" else NINE_DIGITS  # two searches for the best share of delta
    rows = {
        name: Close(
            getattr(accountant, method)(),
            searched if name in ("advanced", "optimal") else NINE_DIGITS,
        )
        for name, method in methods.items()
    }
    if mechanism == "laplace" and not numerically:
        rows["numerical"] = Between(0.25 * rows["rdp"].value, rows["rdp"].value)
    elif mechanism == "laplace":
        error = max(2e-3 * rows["zcdp"].value, 1e-5)
        found = accounting.prv_compose([(made.prv, count)], delta, eps_error=error)
        rows["numerical"] = Between(found.lower, found.upper)
    else:
        method = {"gaussian": "gaussian", "response": "optimal"}[mechanism]
        rows["numerical"] = Close(getattr(accountant, method)())
    return {name: {"epsilon": total} for name, total in rows.items()}


def oracles(epsilon, k, n, f):
    names = {"SS": "SubsetSelection", "HR": "HadamardResponse"}
    rows = {"report": {"epsilon": Close(epsilon)}}
    for name in ("GRR", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "SS", "HR"):
        oracle = getattr(local, names.get(name, name))(k, epsilon)
        rows[name] = {
            "deviation": Close(math.sqrt(oracle.variance(f, n))),
            "bits": Close(report_bits(oracle)),
        }
    return rows


def aim(neighbours, epsilon, delta, d, each, alpha):
    rounds = each * d
    rho = accounting.dp_to_zcdp(epsilon, delta)
    rows = {
        "canonne2020": {"rho": Close(rho)},
        "mironov2017": {"rho": Close(accounting.dp_to_zcdp(epsilon, delta, "mironov2017"))},
        "table": {"epsilon": Close(epsilon)},
    }
    for column, anneal in (("slow", False), ("quick", True)):
        schedule, taken = Schedule(rho, rounds, alpha), 0
        spent = {"first.multiplier": schedule.multiplier, "first.epsilon": schedule.epsilon}
        for _ in range(d):
            schedule.measure()
        spent["initial"] = schedule.used
        while not schedule.exhausted:
            last = {"last.multiplier": schedule.multiplier, "last.epsilon": schedule.epsilon}
            schedule.spend()
            taken += 1
            if not schedule.exhausted:
                schedule.advance(anneal)
        for name, value in (spent | last | {"taken": taken}).items():
            rows.setdefault(name, {})[column] = Close(value)
    return rows


def sgd(neighbours, sigma, q, steps, delta, numerically=True):
    moved = 1 if neighbours == "unbounded" else 2
    directions = sampled_gaussian.NEIGHBOURS[neighbours]
    whole = Close(accounting.gaussian_epsilon(sigma, delta, moved * math.sqrt(steps)))
    rows = {"whole": {"epsilon": whole}}
    if q < 1:
        found = sampled_gaussian.rdp_epsilon(sigma, q, steps, delta, neighbours)
        rows["rdp"] = {"epsilon": Close(found, rel=1e-8, tolerance=1e-9)}
    if q == 1:
        rows["numerical"] = {"epsilon": whole}
    elif numerically:
        upper = sampled_gaussian.epsilon(sigma, q, steps, delta, neighbours)
        error = max(upper / 40, 1e-4)
        found = [
            accounting.prv_compose(
                [(sampled_gaussian.SampledGaussian(moved / sigma, sigma, q, one), steps)], delta, eps_error=error
            )
            for one in directions
        ]
        rows["numerical"] = {"epsilon": Between(max(one.lower for one in found), upper)}
    return rows


QUESTIONS = {"synthesis": synthesis, "composition": repeated, "local": oracles, "aim": aim, "sgd": sgd}
