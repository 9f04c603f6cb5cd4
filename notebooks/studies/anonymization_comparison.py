"""Figure 1 of hasegawa2015: AUC of logistic regression after each way of anonymizing Adult.

A study is a grid that runs every method in every setup, at every k, on several random splits into training and test
records. A cell draws from generators made from its place, so it does not depend on the other cells. Methods that start
from perturbed records start from the same ones. Finished cells may be kept on disk; an interrupted grid then resumes.

    python -m notebooks.studies.anonymization_comparison --output book/results/hasegawa2015

repeats the committed study, with the paper's setting on the real data, in all interpretations of
`notebooks.studies.anonymization_readings`. With ``--plan rivals``, it makes the results of the baselines with the
second loss, and those of local differential privacy at the same epsilon (`notebooks.studies.local_marginals`). With
``--plan setups``, it makes those of the reconstruction in the remaining setups.
"""

from __future__ import annotations

import sys
import time
import zlib

import pandas as pd

from book.kept import results
from lib.data import datasets
from lib.numerics import checks
from notebooks.studies import command_line
from notebooks.studies import grid as cell_grid  # `grid` is this module's own
from notebooks.studies.anonymization_readings import (
    BASELINES,
    SETUPS,
    WEIGHINGS,
    Setup,
    from_perturbed,
    split_records,
)
from notebooks.studies.local_marginals import LOCAL

METHODS = (*BASELINES, *LOCAL, *WEIGHINGS)
NONE = "-"  # the setup of methods that perturb nothing
KS = (3, 5, 10, 50)
# The committed results: setups, methods, and whether they have all splits or, being slow or beside the point, a few.
OTHERS = tuple(name for name in SETUPS if name not in ("published", "published, whole", "perturbed"))
PLAN = (
    ((), tuple(name for name in BASELINES if not name.endswith(("precision", "in cells"))), "all"),
    (("published", "published, whole", "perturbed"), ("perturbed", "linear"), "all"),
    (("published",), ("kernel 10 standard", "kernel 1000 standard"), "all"),
    (("published, whole",), ("kernel 10 standard",), "all"),
    (("perturbed",), ("kernel 10 standard",), "few"),
    (("published",), ("kernel 1000 none", "kernel 1 range", "kernel cv standard"), "few"),
    (OTHERS, ("perturbed", "linear"), "few"),
)
RIVALS = (((), ("original in cells", *(name for name in BASELINES if name.endswith("precision")), *LOCAL), "all"),)
RECONSTRUCTED = (
    (("published, age categorical", "published, categorical thrice"), ("kernel 1000 standard",), "few"),
    (("perturbed, income half",), ("kernel 10 standard",), "few"),
)
PLANS = {"figure1": PLAN, "rivals": RIVALS, "setups": RECONSTRUCTED}
COLUMNS = ("setup", "method", "k", "split", "auc", "effective", "removed", "width")
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas")  # those that a result depends on
RESULTS = results.FOLDER / "hasegawa2015/figure1.csv"
RIVALS_RESULTS = results.FOLDER / "hasegawa2015/rivals.csv"
SETUPS_RESULTS = results.FOLDER / "hasegawa2015/setups.csv"


def grid(
    frame, *, setups=("published",), methods=METHODS, ks=KS, trials=10, records=16_281, seed=2015, folder=None, jobs=1
) -> pd.DataFrame:
    """Run every cell: each of `methods`, in each of `setups` if it perturbs, for each of `ks`, on `trials` splits.

    frame : `datasets.adult` of all parts with ``missing="category"``
    setups, methods : names out of `SETUPS` and `METHODS`; ks : reals in (1, records]
    trials, jobs : integers >= 1; records : integer in [2, len(frame) - 1], the number of training records; the others
        are for testing
    seed : integer >= 0; folder : the folder in which finished cells are kept and first looked for. A kept cell is used
        only if the records, all settings and the code that it depends on are the same

    The result has one row for each cell, with `COLUMNS` and the CPU seconds it took.

    setup : "-" for the methods that perturb nothing; k : 1 for the original records
    auc : the AUC on the test records, NaN if the training records that are left lack a class
    effective : effective sample size of the weights; removed : proportion of records left out; width : width of the kernel
    """
    trials, records, jobs, seed = (
        checks.whole(name, value, interval)
        for name, value, interval in (
            ("trials", trials, "[1, inf)"), ("records", records, f"[2, {len(frame) - 1}]"),
            ("jobs", jobs, "[1, inf)"), ("seed", seed, "[0, inf)"),
        )
    )  # fmt: skip
    checks.real("ks", ks, f"(1, {records}]")
    places = [(*place, trial) for trial in range(trials) for place in _places(setups, methods, ks)]
    digest = cell_grid.digest(pd.util.hash_pandas_object(frame).to_numpy())
    keys = [_key(digest, *place, records, seed) for place in places]
    cells = cell_grid.run(_cell, places, common=(frame, records, seed), keys=keys, folder=folder, jobs=jobs)
    rows = [dict(zip(("setup", "method", "k", "split"), place)) | cell for place, cell in zip(places, cells)]
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "seconds"])


def _places(setups, methods, ks) -> list[tuple]:
    """Return setup, method and k of the cells."""
    for name, values, allowed in (("setup", setups, tuple(SETUPS)), ("method", methods, METHODS)):
        for value in values:
            checks.one_of(name, value, allowed)
    places = [
        (NONE, method, k)
        for method in methods
        if method not in WEIGHINGS
        for k in ((1,) if method.startswith("original") else ks)
    ]
    return places + [(setup, method, k) for setup in setups for k in ks for method in methods if method in WEIGHINGS]


def _cell(frame, records, seed, setup, method, k, trial) -> dict:
    """Return one cell's result."""
    began = time.process_time()
    chosen = SETUPS.get(setup, Setup())
    at = split_records(frame, records, trial, seed=seed, age=chosen.age)
    if method in BASELINES:
        found = BASELINES[method](at, k)
    elif method in LOCAL:
        found = LOCAL[method](at, k, rng=cell_grid.generator(seed, method, float(k), trial))
    else:
        found = from_perturbed(
            WEIGHINGS[method], at, chosen, k, [seed, zlib.crc32(f"{setup}/{float(k)!r}".encode()), trial]
        )
    return {name: float(value) for name, value in found.items()} | {"seconds": time.process_time() - began}


def _key(digest, setup, method, k, trial, records, seed) -> str:
    """Return a key of everything that the cell's result depends on, except the code."""
    parts = [digest, setup, repr(SETUPS.get(setup)), method, float(k), trial, records, seed]
    return cell_grid.key(*parts, *results.versions(LIBRARIES).items())


# ---------------------------------------------------------------- the committed results


def load(*paths) -> pd.DataFrame:
    """Return the committed study on the real data, or the study in the files `paths`: a frame of `COLUMNS`, each cell once."""
    found = pd.concat(
        [results.load(path) for path in paths or (RESULTS, RIVALS_RESULTS, SETUPS_RESULTS)], ignore_index=True
    )
    return found.drop_duplicates(["setup", "method", "k", "split"], ignore_index=True)


# ---------------------------------------------------------------- the command line


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="folder for the plan's file", seed=2015)
    parser.add_argument("--plan", choices=PLANS, default="figure1", help="which file")
    parser.add_argument("--records", type=int, default=16_281, help="of training")
    parser.add_argument("--trials", type=int, default=10, help="splits")
    parser.add_argument("--few", type=int, default=3, help="splits for what is slow or matters less")
    parser.add_argument("--ks", type=float, nargs="+", default=KS)
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    frame = datasets.adult("all", missing="category", source=chosen.data)
    common = {name: getattr(chosen, name) for name in ("ks", "records", "seed", "jobs")} | {"folder": chosen.cells}
    splits = {"all": chosen.trials, "few": chosen.few}
    parts = [
        grid(frame, setups=setups, methods=methods, trials=splits[of], **common)
        for setups, methods, of in PLANS[chosen.plan]
    ]
    study = pd.concat(parts)
    told = {name: getattr(chosen, name) for name in ("records", "trials", "few", "seed")}
    made = command_line.provenance(__name__, arguments, chosen, told, files=datasets.ADULT_FILES, libraries=LIBRARIES)
    made["CPU time"] = f"{study['seconds'].sum():.0f} s"
    results.save(chosen.output / f"{chosen.plan}.csv", study[list(COLUMNS)], made)


if __name__ == "__main__":
    from notebooks.studies import anonymization_comparison  # other processes find the cells there, not in __main__

    anonymization_comparison.main()
