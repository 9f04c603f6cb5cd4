"""Run AIM with one thing changed at a time: a part, the budget or the number of attributes (beyond miura2025).

A comparison is a frame with one row for each variant and trial: the errors of the synthetic table, the size of the run and
its cost. Trial i of every variant draws from a separate generator, made from the seed and i, so that no variant depends
on the other variants compared. Finished runs may be kept on disk; an interrupted comparison then resumes
(`notebooks.studies.grid`).

    python -m notebooks.studies.aim_ablation --output book/results/miura2025/ablation.csv

repeats the committed comparisons, on the real data, in ten to fifteen minutes on one core.
"""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd

from book.kept import results
from lib.data import encodings
from lib.numerics import checks
from lib.tables import utility
from lib.tables.adaptive_iterative import aim
from lib.tables.plan import AUTHORS_CODE, Plan
from lib.tables.plan import OURS as OUR_PLAN
from notebooks.studies import aim_comparison, command_line, grid

RESULTS = results.FOLDER / "miura2025/ablation.csv"
ERRORS = ("error1", "error2", "error3")
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
WIDTHS = (3, 6, 9, 12, 15)
DELTA = 1e-9  # the paper's
OURS = (
    "our start",
    "our choice",
    "our choice, limit 1e7 cells",
    "our pace",
    "our pace, T = 16d",
    "all but our start",
    "all but our choice",
    "all but our pace",
    "our plan",
)
QUICK = replace(AUTHORS_CODE, round_fit=(0.1, 0.02), last_fit="adaptive")  # as printed, but for the fits
OUR_EPSILON = "epsilon, our plan"
ON_BANK = ("AIM", "no initialisation", "Laplace noise", "least loss", "least loss, no initialisation", *OURS)


def devices(d) -> dict:
    """Return options of `compare` by name, for variants of AIM on `d` attributes that differ from AIM in one part each.

    The "least loss" variants are fitted like the paper's methods.
    """
    changes: dict[str, dict] = {
        "AIM": {},
        "no initialisation": {"start": "none"},
        "Laplace noise": {"noise": "laplace"},
        "T = 4d": {"rounds": 4 * d},
        "T = 64d": {"rounds": 64 * d},
        "limit 1e4 cells": {"max_cells": 10_000},
        "limit 2e3 cells": {"max_cells": 2_000},
        "T = 16d, no annealing": {"pace": "steady"},
        "T = 4d, no annealing": {"pace": "steady", "rounds": 4 * d},
        "plain last fit": {"last_fit": "plain"},
    }
    variants = {name: replace(QUICK, **change) for name, change in changes.items()}
    variants |= {"least loss": AUTHORS_CODE, "least loss, no initialisation": replace(AUTHORS_CODE, start="none")}
    return {name: {"plan": plan} for name, plan in variants.items()} | plans(d)


def plans(d) -> dict:
    """Return options of `compare` by name, for variants of AIM on `d` attributes with some of our changes.

    The variants are AIM as printed with one of our changes, with all but one of them, or with all of them. Our choice
    includes a size limit of the model, and our pace includes a number of rounds. In two variants, this limit or this
    number is as printed.
    """
    choice, pace = replace(QUICK, choice="clear"), replace(QUICK, pace="tested")
    variants = (
        replace(QUICK, start="sized"),
        choice,
        replace(choice, max_cells=AUTHORS_CODE.max_cells_for(d, 1, 1)),
        pace,
        replace(pace, rounds=AUTHORS_CODE.rounds_for(d)),
        Plan(start="printed"),
        Plan(choice="printed"),
        Plan(pace="printed"),
        OUR_PLAN,
    )
    return {name: {"plan": plan} for name, plan in zip(OURS, variants, strict=True)}


def compare(table, variants, trials, *, seed, epsilon=1.0, delta=DELTA, **how) -> pd.DataFrame:
    """Run AIM `trials` times on `table` with the options of each of `variants`, and measure errors, size and cost.

    variants : mapping from a name to options of `aim`, which may include an `epsilon`; the default plan is `QUICK`
    trials : integer >= 1; seed : integer >= 0; how : `folder`, `jobs` and `progress` of `grid.run`

    Returns one row for each variant and trial: error1, error2, error3, the alpha-way errors of the synthetic
    records; steps; cells, the size of the last model; converged; cpu_s, CPU seconds of the run.
    """
    trials, seed = checks.whole("trials", trials, "[1, inf)"), checks.whole("seed", seed, "[0, inf)")
    standard = {"epsilon": epsilon, "delta": delta, "plan": QUICK}
    places = [(name, standard | options, trial) for name, options in variants.items() for trial in range(trials)]
    parts = (aim_comparison.digest(table), *results.versions().items(), seed)
    keys = [grid.key(*parts, name, repr(options), trial) for name, options, trial in places]
    cells = grid.run(_cell, places, common=(table, seed), keys=keys, **how)
    index = pd.MultiIndex.from_tuples([(name, trial) for name, _, trial in places], names=["variant", "trial"])
    return pd.DataFrame(cells, index=index)


def _cell(table, seed, name, options, trial) -> dict:
    """Return what one run measured; the `name` of its variant has no effect."""
    began = time.process_time()
    result = aim(table, rng=np.random.default_rng([seed, trial]), **options)
    took = time.process_time() - began
    errors = {
        error: float(utility.marginal_error(table, result.synthetic, alpha)) for alpha, error in enumerate(ERRORS, 1)
    }
    model = result.model
    return errors | {
        "steps": len(result.steps),
        "cells": int(model.size),
        "converged": bool(model.converged),
        "cpu_s": took,
    }


def widths(table, trials, *, seed, counts=WIDTHS, **how) -> pd.DataFrame:
    """Return `compare` for AIM on the first d attributes of `table`, for each d >= 3 in `counts`; d names the variant."""
    attributes = table.domain.attributes
    counts = [int(d) for d in checks.integer("counts", counts, f"[3, {len(attributes)}]")]
    return pd.concat([compare(table.project(attributes[:d]), {d: {}}, trials, seed=seed, **how) for d in counts])


def differences(frame, reference, column, spread=2.0) -> pd.DataFrame:
    """Return each variant's excess in `column` over the variant `reference`, in per cent of the mean of `reference`.

    frame : the result of `compare`, with at least two trials

    The columns of the result are `excess`, the mean over the trials, and `low` and `high`, which are `spread` standard
    errors below and above it (2 for about 95 %). The variants of one trial share a seed, so they are dependent, but the
    differences of different trials are independent.
    """
    wide = frame[column].unstack("variant", sort=False)
    if reference not in wide:
        raise ValueError(f"reference must be one of the variants {list(wide)}, got {reference!r}")
    if len(wide) < 2 or wide.isna().any(axis=None):
        raise ValueError("frame must contain the same number of trials of each variant, at least two")
    percent = 100 * wide.sub(wide[reference], axis=0) / wide[reference].mean()
    excess, half = percent.mean(), float(spread) * percent.std() / np.sqrt(len(wide))
    return pd.DataFrame({"excess": excess, "low": excess - half, "high": excess + half})


# ---- the committed results


def everything(trials, *, seed, source="real", **how) -> pd.DataFrame:
    """Return the committed comparisons under an additional index level, `study`.

    The studies "devices on Adult" and "devices on Bank", the latter with the variants `ON_BANK` only, run each variant
    `trials` times. The studies "epsilon", `OUR_EPSILON` and "attributes" run each a tenth as often, but at least twice.
    how : see `compare`
    """
    adult, bank = encodings.adult_table(source=source), encodings.bank_table(source=source)
    few = max(2, trials // 10)
    on_bank = {name: options for name, options in devices(len(bank.domain)).items() if name in ON_BANK}
    how["seed"] = seed
    studies = {
        "devices on Adult": compare(adult, devices(len(adult.domain)), trials, **how),
        "devices on Bank": compare(bank, on_bank, trials, **how),
        "epsilon": compare(adult, {e: {"epsilon": e} for e in EPSILONS}, few, **how),
        OUR_EPSILON: compare(adult, {e: {"epsilon": e, "plan": OUR_PLAN} for e in EPSILONS}, few, **how),
        "attributes": widths(encodings.adult_table(source=source, numeric=True), few, counts=WIDTHS, **how),
    }
    return pd.concat(studies, names=["study"])


def save(frame, path, provenance) -> None:
    """Write a frame as CSV, below comment lines with the mapping `provenance`, completely or not at all."""
    results.save(path, frame.round({"cpu_s": 2}), provenance)


def load(study, path=RESULTS) -> pd.DataFrame:
    """Return one of the committed studies, as `compare` returned it; variants that are numbers are numbers again."""
    frame = results.load(path)
    if study not in set(frame["study"]):
        raise ValueError(f"study must be one of {sorted(set(frame['study']))}, got {study!r}")
    frame = frame[frame["study"] == study].drop(columns="study")
    if study in ("epsilon", OUR_EPSILON, "attributes"):
        frame["variant"] = pd.to_numeric(frame["variant"])
    return frame.set_index(["variant", "trial"])


def provenance(path=RESULTS) -> dict:
    """Return when the file was made, from which data, and with which versions and settings."""
    return results.provenance(path)


def main(arguments=None) -> None:
    """Run the comparisons requested by the command line, or `arguments`, and write their file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=2025)
    parser.add_argument("--trials", type=int, default=100)
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    how = {"folder": chosen.cells, "jobs": chosen.jobs, "progress": True}
    frame = everything(chosen.trials, seed=chosen.seed, source=chosen.data, **how)
    told = {"delta": DELTA, "seed": chosen.seed, "trials": chosen.trials}
    files = ("adult.data", "bank-additional-full.csv")
    made = command_line.provenance(__name__, arguments, chosen, told, files=files)
    made["CPU time"] = f"{frame['cpu_s'].sum():.0f} s of AIM on {platform.machine()}"
    save(frame, chosen.output, made)


if __name__ == "__main__":
    from notebooks.studies import aim_ablation  # other processes find the cells there, not in __main__

    aim_ablation.main()
