"""Measure AIM's accuracy over several seeds, and compare its fit with `mbi`'s mirror descent on the same measurements.

    make bench PEERS=yes CASE="accuracy_adult_eps1" SEEDS=5 TABLES=folder

The tables are Adult, Bank, those of `peers/statsmodels.py` if they are installed, and those in the folder TABLES.

TABLES : a folder of tables, `name.csv` with codes from 0 and `name-domain.json`, the number of values of each attribute,
    the usual format for exchanging them (github.com/ryan112358/hd-datasets). `notebooks.studies.aim_peers.TUNED` lists
    the tables that AIM's settings were chosen on.
LIMIT : CPU seconds that a peer has for a seed; default: 900.

Our line contains means over the seeds of the 1-, 2- and 3-way errors of the synthetic records (miura2025, Definition
3.1), their standard errors `se1` to `se3`, and medians of the seconds. In the line of `mbi` (`task` fit), the errors
are those of its models, with its defaults (1,000 iterations). `behind` is the mean over the seeds of our models' errors
minus those of `mbi`, in standard errors, so it is below 0 if ours are smaller. Each seed runs in a separate process,
with AIM for all pairs at delta 1e-9. `aim_peers` compares whole programs.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np

from lib.numerics import checks
from lib.tables.table import Domain, Table
from tests.benchmarks import aim, measure

EPSILONS = (0.3, 1.0, 10.0)
K = 2
NAMES = ("l1", "l2", "l3")
# Of `peers/statsmodels.py`.
PUBLIC = (
    "fair",
    "randhie",
    "mortgages",
    "thornton_hiv",
    "close_college",
    "gov_transfers",
    "credit_cards",
    "cps_mixtape",
)


def tables() -> dict[str, Path | None]:
    """Return the files of the tables by name; None for a table that `encoded` makes itself."""
    folder = os.environ.get("TABLES")
    files = sorted(Path(folder).glob("*.csv")) if folder else []
    known = ("adult", "bank", *(PUBLIC if measure.peer("statsmodels") else ()))
    return dict.fromkeys(known) | {file.stem: file for file in files}


CASES = {f"accuracy_{table}_eps{epsilon:g}": (table, epsilon) for table in tables() for epsilon in EPSILONS}


# ---- in the runner's process


def lines(case, folder):
    """Yield our line, then that of `mbi` if it is installed."""
    name, epsilon = CASES[case]
    # A standard error needs two seeds at least.
    seeds, limit = asked("SEEDS", 5, "[2, 1000]"), asked("LIMIT", aim.PEER_LIMIT, "[1, 1e6]")
    table = encoded(name, Path(folder))
    kept = [Path(folder, f"{case}.{seed}.npz") for seed in range(seeds)]
    runs = [measure.child(__name__, "whole", table, epsilon, seed, file) for seed, file in enumerate(kept)]
    models = [run.pop("model") for run in runs]
    yield summary(runs)
    if fits := _fits(table, kept, limit):
        done = [line for line in fits if "l1" in line]
        told = summary(done) | {"behind": paired(models[: len(done)], done)} if len(done) > 1 else {}
        yield {"task": "fit", "peer": "mbi"} | (told or {"seeds": len(done)} | fits[-1])


def asked(name, default, permitted) -> int:
    """Return the integer in the environment variable `name`, or the default. Raises ``ValueError`` for any other text."""
    text = os.environ.get(name) or str(default)
    return checks.whole(name, int(text) if text.isdecimal() else text, permitted)


def _fits(table, measured, limit) -> list[dict]:
    """Return the lines of `mbi`'s fits, seed by seed, up to one that it does not finish; empty if `mbi` is not installed."""
    found: list[dict] = []
    if python := measure.peer("mbi"):
        for file in measured:
            found.append(measure.child("tests.benchmarks.peers.mbi", "fit", table, file, python=python, limit=limit))
            if "unfinished_after_cpu_s" in found[-1]:
                break  # the next seed takes as long
    return found


def summary(found: list[dict]) -> dict:
    """Combine the lines of all seeds: return means and standard errors, medians of the times, and the largest memory."""
    errors = np.array([[line[name] for name in NAMES if name in line] for line in found])
    spread = errors.std(axis=0, ddof=1) / np.sqrt(len(found))
    line = {"seeds": len(found)} | aim.named(errors.mean(axis=0))
    line |= {f"se{way}": float(f"{each:.2g}") for way, each in enumerate(spread, start=1)}
    line |= {name: float(f"{np.median([each[name] for each in found]):.4g}") for name in ("cpu_s", "wall_s")}
    about = {name: value for name, value in found[0].items() if name not in (*line, *NAMES)}
    return line | about | {"peak_mb": max(each["peak_mb"] for each in found)}


def paired(ours: list[dict], theirs: list[dict]) -> dict:
    """Return how many standard errors our errors are above theirs, on the same measurements."""
    behind = {}
    for name in (name for name in NAMES if name in ours[0]):
        above = np.array([one[name] - other[name] for one, other in zip(ours, theirs, strict=True)])
        if spread := above.std(ddof=1) / np.sqrt(len(above)):
            behind[name] = round(float(above.mean() / spread), 1)
    return behind


def encoded(name, folder) -> Path:
    """Return a file with the table, for the measured processes."""
    source, file = tables()[name], folder / f"{name}.npz"
    if name in PUBLIC and not file.exists():
        measure.child("tests.benchmarks.peers.statsmodels", "write", name, file, python=measure.peer("statsmodels"))
    elif source is None and name not in PUBLIC:
        return aim.encoded(name, folder)
    elif not file.exists():
        sizes = json.loads(source.with_name(f"{name}-domain.json").read_text())
        with source.open(newline="") as opened:
            rows = csv.reader(opened)
            columns = next(rows)
            records = np.array(list(rows), dtype=np.int64)[:, [columns.index(attribute) for attribute in sizes]]
        aim.save_table(file, Table(records, Domain(sizes.items())))
    return file


# ---- in the measured processes


def staged(meter, table, epsilon, seed) -> dict:
    """Run our staged residuals once."""
    from lib.tables.residual_stages import staged_residuals as run

    table, rng = aim.load_table(table), np.random.default_rng(int(seed))
    first = measure.Meter()
    with first:
        run(Table(table.records[:2], table.domain), 1.0, aim.DELTA, K, rng=np.random.default_rng(0))
    with meter:
        result = run(table, float(epsilon), aim.DELTA, K, rng=rng)
    return aim.named(aim.errors(table, result.synthetic.marginal)) | {"first_s": first.reading()["cpu_s"]}


def whole(meter, table, epsilon, seed, measured) -> dict:
    """Run our AIM once, with the errors of its model; its measurements go into the file `measured`."""
    from lib.tables.adaptive_iterative import aim as run

    table, rng = aim.load_table(table), np.random.default_rng(int(seed))
    first = measure.Meter()
    with first:  # scipy imports its parts where they are first used; what the peers import is not measured with their runs either
        run(Table(table.records[:2], table.domain), 1.0, aim.DELTA, K, rng=np.random.default_rng(0))
    with meter:
        result = run(table, float(epsilon), aim.DELTA, K, rng=rng)
    aim.save_measurements(measured, result.measurements)
    model = aim.named(aim.errors(table, result.model.marginal))
    return aim.named(aim.errors(table, result.synthetic.marginal)) | {
        "converged": result.model.converged,
        "model": model,
        "first_s": first.reading()["cpu_s"],
    }
