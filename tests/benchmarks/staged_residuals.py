"""Compare AIM with our plan, AIM's records moved to the pairs of its model, and staged residuals, over paired seeds.

    make bench CASE="staged_adult_eps1" SEEDS=10

The tables are those of `aim_accuracy`. Each seed runs in a separate process, with all pairs at delta 1e-9. A line
contains means over the seeds of the 1-, 2- and 3-way errors, their standard errors `se1` to `se3`, and medians of the
seconds. In the lines after AIM's, `above` is the mean difference from AIM's errors, and `se_above` is the standard
error of the paired differences, both as proportions of AIM's mean errors.
"""

from pathlib import Path

import numpy as np

from lib.tables import Table, moved, plan, staged_residuals
from lib.tables.adaptive_iterative import aim as run_aim
from lib.tables.utility import all_sets
from tests.benchmarks import aim, aim_accuracy, measure

METHODS = ("aim", "aim_moved", "staged")
CASES = {name.replace("accuracy_", "staged_"): case for name, case in aim_accuracy.CASES.items()}


def lines(case, folder):
    name, epsilon = CASES[case]
    seeds, table = aim_accuracy.asked("SEEDS", 10, "[2, 1000]"), aim_accuracy.encoded(name, Path(folder))
    first: list[dict] = []
    for method in METHODS:
        found = [measure.child(__name__, "whole", table, epsilon, seed, method) for seed in range(seeds)]
        first = first or found
        yield {"method": method} | aim_accuracy.summary(found) | above(found, first)


def above(found: list[dict], first: list[dict]) -> dict:
    """Return the mean excess of the errors over those of the `first` method, as a proportion of these, and its standard error."""
    told: dict[str, dict] = {"above": {}, "se_above": {}}
    for name in aim_accuracy.NAMES:
        difference = np.array([one[name] - other[name] for one, other in zip(found, first, strict=True)])
        mean = np.mean([line[name] for line in first])
        told["above"][name] = round(float(difference.mean() / mean), 4)
        told["se_above"][name] = round(float(difference.std(ddof=1) / np.sqrt(len(found)) / mean), 4)
    return told if found is not first else {}


# ---- in the measured processes


def whole(meter, table, epsilon, seed, method) -> dict:
    """Return the errors of the synthetic records of one run of `method`."""
    table, epsilon, rng = aim.load_table(table), float(epsilon), np.random.default_rng(int(seed))
    few = Table(table.records[:2], table.domain)
    staged_residuals(few, 1.0, aim.DELTA, rng=np.random.default_rng(0))  # imports what is imported at its first use
    with meter:
        if method == "staged":
            synthetic = staged_residuals(table, epsilon, aim.DELTA, rng=rng).synthetic
        else:
            result = run_aim(table, epsilon, aim.DELTA, rng=rng, plan=plan.OURS)
            synthetic = result.synthetic
            if method == "aim_moved":
                pairs = {pair: result.model.marginal(pair) for pair in all_sets(table.domain, 2)}
                synthetic = moved(synthetic, pairs, rng=rng)
    return aim.named(aim.errors(table, synthetic.marginal))
