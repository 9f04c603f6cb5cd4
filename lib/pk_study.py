"""Figure 1 of hasegawa2015: AUC of logistic regression after each way of anonymizing Adult.

A study is a grid: every method in every setup, at every k, on several random splits into training and test
records. A cell draws from generators made from its place, so it does not depend on which others there are; methods
that start from perturbed records share them. Finished cells may be kept on disk; an interrupted grid then resumes.

    python -m lib.pk_study --output book/results/hasegawa2015

makes the committed results again: the document's setting on the real data, in all readings of `lib.pk_methods`.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from lib import checks, datasets, results
from lib import grid as cell_grid  # `grid` is this module's own
from lib.pk_methods import BASELINES, SETUPS, WEIGHINGS, Setup, from_perturbed, split_records

METHODS = (*BASELINES, *WEIGHINGS)
NONE = "-"  # the setup of methods that perturb nothing
KS = (3, 5, 10, 50)
# The committed results: setups, methods, and whether they have all splits or, being slow or beside the point, a few.
OTHERS = tuple(name for name in SETUPS if name not in ("published", "published, whole", "perturbed"))
PLAN = (
    ((), tuple(BASELINES), "all"),
    (("published", "published, whole", "perturbed"), ("perturbed", "linear"), "all"),
    (("published",), ("kernel 10 standard", "kernel 1000 standard"), "all"),
    (("published, whole",), ("kernel 10 standard",), "all"),
    (("perturbed",), ("kernel 10 standard",), "few"),
    (("published",), ("kernel 1000 none", "kernel 1 range", "kernel cv standard"), "few"),
    (OTHERS, ("perturbed", "linear"), "few"),
)
COLUMNS = ("setup", "method", "k", "split", "auc", "effective", "removed", "width")
SOURCES = ("real", "stand-in")
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas")  # those that a result depends on
RESULTS = Path(__file__).resolve().parent.parent / "book" / "results" / "hasegawa2015" / "figure1.csv"


def grid(
    frame, *, setups=("published",), methods=METHODS, ks=KS, trials=10, records=16_281, seed=2015, folder=None, jobs=1
) -> pd.DataFrame:
    """Run every cell: each of `methods`, in each of `setups` if it perturbs, for each of `ks`, on `trials` splits.

    frame : `datasets.adult` of all parts with ``missing="category"``
    setups, methods : names out of `SETUPS` and `METHODS`; ks : reals in (1, records]
    trials, records, jobs : whole numbers; at least 1; records for training, the others of the frame for testing
    seed : whole number >= 0; folder : where finished cells are kept, and looked for first. One counts only if the records,
        all settings and the code that it depends on are the same.

    One row a cell, `COLUMNS` and the CPU seconds it took:
    setup : "-" for the methods that perturb nothing; k : 1 for the original records
    auc : on the test records, not a number where the training records that are left lack a class
    effective : effective sample size of the weights; removed : share of records left out; width : of the kernel
    """
    trials, records, jobs, seed = (
        int(checks.integer(name, value, interval))
        for name, value, interval in (
            ("trials", trials, "[1, inf)"), ("records", records, f"[2, {len(frame) - 1}]"),
            ("jobs", jobs, "[1, inf)"), ("seed", seed, "[0, inf)"),
        )
    )  # fmt: skip
    checks.real("ks", ks, f"(1, {records}]")
    places = [(*place, trial) for trial in range(trials) for place in _places(setups, methods, ks)]
    digest = hashlib.sha256(pd.util.hash_pandas_object(frame).to_numpy().tobytes()).hexdigest()
    keys = [_key(digest, *place, records, seed) for place in places]
    cells = cell_grid.run(_cell, places, common=(frame, records, seed), keys=keys, folder=folder, jobs=jobs)
    rows = [dict(zip(("setup", "method", "k", "split"), place)) | cell for place, cell in zip(places, cells)]
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "seconds"])


def _places(setups, methods, ks) -> list[tuple]:
    """Setup, method and k of the cells."""
    for name, values, allowed in (("setup", setups, tuple(SETUPS)), ("method", methods, METHODS)):
        for value in values:
            checks.one_of(name, value, allowed)
    places = [(NONE, method, k) for method in methods if method in BASELINES for k in ((1,) if method == "original" else ks)]
    return places + [(setup, method, k) for setup in setups for k in ks for method in methods if method in WEIGHINGS]


def _cell(frame, records, seed, setup, method, k, trial) -> dict:
    """One cell's result."""
    began = time.process_time()
    chosen = SETUPS.get(setup, Setup())
    at = split_records(frame, records, trial, seed=seed, age=chosen.age)
    if method in BASELINES:
        found = BASELINES[method](at, k)
    else:
        found = from_perturbed(WEIGHINGS[method], at, chosen, k, [seed, zlib.crc32(f"{setup}/{float(k)!r}".encode()), trial])
    return {name: float(value) for name, value in found.items()} | {"seconds": time.process_time() - began}


def _key(digest, setup, method, k, trial, records, seed) -> str:
    """A name for the cell that is another one whenever the result might be."""
    modules = ("hierarchies", "k_anonymity") if method in BASELINES else ("perturbation", "density_ratio", "mixture", "pairwise")
    code = _code("pk_features", "pk_methods", "utility", *modules)
    parts = [digest, setup, repr(SETUPS.get(setup)), method, float(k), trial, records, seed, code]
    return cell_grid.key(*parts, *results.versions(LIBRARIES).items())


_code = cache(cell_grid.code)  # read once, as imports are


# ---------------------------------------------------------------- the committed results


def load(path=RESULTS) -> pd.DataFrame:
    """The committed study, on the real data: a frame of `COLUMNS`."""
    return results.load(path)


def summary(study) -> pd.DataFrame:
    """Mean and standard deviation (divisor: splits - 1) of the AUC by setup, method and k, and the means of the rest."""
    groups = study.groupby(["setup", "method", "k"], sort=False)
    table = groups["auc"].agg(["mean", "std", "count"])
    return table.join(groups[["effective", "removed", "width"]].mean())


def main(arguments=None) -> None:
    """Run the study that the command line, or `arguments`, asks for, and write its file."""
    parser = argparse.ArgumentParser(prog="python -m lib.pk_study", description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder for figure1.csv")
    parser.add_argument("--data", choices=SOURCES, default="real")
    parser.add_argument("--records", type=int, default=16_281, help="of training")
    parser.add_argument("--trials", type=int, default=10, help="splits")
    parser.add_argument("--few", type=int, default=3, help="splits for what is slow or matters less")
    parser.add_argument("--ks", type=float, nargs="+", default=KS)
    parser.add_argument("--seed", type=int, default=2015)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cells", type=Path, default=Path("build/pk_study"), help="where finished cells are kept")
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    frame = datasets.adult("all", missing="category", source=chosen.data)
    common = {name: getattr(chosen, name) for name in ("ks", "records", "seed", "jobs")} | {"folder": chosen.cells}
    splits = {"all": chosen.trials, "few": chosen.few}
    parts = [grid(frame, setups=setups, methods=methods, trials=splits[of], **common) for setups, methods, of in PLAN]
    study = pd.concat(parts)
    told = {name: getattr(chosen, name) for name in ("records", "trials", "few", "seed")}
    files = {name: file.sha256 for name, file in datasets.SOURCES.items() if file.dataset == "adult"}
    made = results.collect("lib.pk_study", arguments, data=chosen.data, settings=told,
                           files=files if chosen.data == "real" else {}, libraries=LIBRARIES)  # fmt: skip
    made["CPU time"] = f"{study['seconds'].sum():.0f} s"
    results.save(chosen.output / RESULTS.name, study[list(COLUMNS)], made)


if __name__ == "__main__":
    from lib import pk_study  # other processes find the cells there, not in __main__

    pk_study.main()
