"""Figure 1 of hasegawa2015: AUC of logistic regression after each way of anonymizing Adult.

A study is a grid: every method in every setup, at every k, on several random splits into training and test
records. A cell draws from generators made from its place, so it does not depend on which others there are; methods
that start from perturbed records share them. Finished cells may be kept on disk; an interrupted grid then resumes.

    python -m notebooks.studies.anonymization_comparison --output book/results/hasegawa2015

makes the committed results again: the document's setting on the real data, in all readings of `notebooks.studies.anonymization_readings`.
"""

from __future__ import annotations

import sys
import time
import zlib
from itertools import combinations

import pandas as pd

from book import evidence, results
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
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas")  # those that a result depends on
RESULTS = results.FOLDER / "hasegawa2015/figure1.csv"
ALIKE = 0.01  # of an AUC


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
    """Setup, method and k of the cells."""
    for name, values, allowed in (("setup", setups, tuple(SETUPS)), ("method", methods, METHODS)):
        for value in values:
            checks.one_of(name, value, allowed)
    places = [
        (NONE, method, k) for method in methods if method in BASELINES for k in ((1,) if method == "original" else ks)
    ]
    return places + [(setup, method, k) for setup in setups for k in ks for method in methods if method in WEIGHINGS]


def _cell(frame, records, seed, setup, method, k, trial) -> dict:
    """One cell's result."""
    began = time.process_time()
    chosen = SETUPS.get(setup, Setup())
    at = split_records(frame, records, trial, seed=seed, age=chosen.age)
    if method in BASELINES:
        found = BASELINES[method](at, k)
    else:
        found = from_perturbed(
            WEIGHINGS[method], at, chosen, k, [seed, zlib.crc32(f"{setup}/{float(k)!r}".encode()), trial]
        )
    return {name: float(value) for name, value in found.items()} | {"seconds": time.process_time() - began}


def _key(digest, setup, method, k, trial, records, seed) -> str:
    """What the cell's result depends on besides the code."""
    parts = [digest, setup, repr(SETUPS.get(setup)), method, float(k), trial, records, seed]
    return cell_grid.key(*parts, *results.versions(LIBRARIES).items())


# ---------------------------------------------------------------- the committed results


def load(path=RESULTS) -> pd.DataFrame:
    """The committed study, on the real data: a frame of `COLUMNS`."""
    return results.load(path)


def summary(study) -> pd.DataFrame:
    """Mean and standard deviation (divisor: splits - 1) of the AUC by setup, method and k, and the means of the rest."""
    groups = study.groupby(["setup", "method", "k"], sort=False)
    table = groups["auc"].agg(["mean", "std", "count"])
    return table.join(groups[["effective", "removed", "width"]].mean())


# ---------------------------------------------------------------- what the document says of its figure


def wide(study) -> pd.DataFrame:
    """Mean AUC, a row for each setup and method, a column for each k."""
    table = study.groupby(["setup", "method", "k"])["auc"].mean().unstack("k")
    return table.reindex(pd.MultiIndex.from_frame(study[["setup", "method"]].drop_duplicates()))


def gains(study, by=("setup", "method")) -> pd.DataFrame:
    """AUC of weighted less AUC of unweighted perturbed records, cell by cell: a row for each group `by` of columns.

    gain, error : mean and its standard error; cells : their number; effective : mean effective sample size, rounded
    better : share of the cells in which the weights helped
    """
    weighted = study[study["method"].isin(list(WEIGHINGS)) & (study["method"] != "perturbed")]
    plain = study.query("method == 'perturbed'")[["setup", "k", "split", "auc"]]
    both = weighted.merge(plain, on=["setup", "k", "split"], suffixes=("", " plain"))
    both["gain"] = both["auc"] - both["auc plain"]
    table = both.groupby(list(by), sort=False)
    out = table["gain"].agg(gain="mean", error="sem", cells="size")
    return out.assign(effective=table["effective"].mean().round(0), better=table["gain"].agg(lambda x: (x > 0).mean()))


def readings(study) -> list[tuple]:
    """(setup, method) of the reconstructions that have all splits: those that are Pk-anonymous, and one that is not, last."""
    counts = study.groupby(["setup", "method"])["split"].nunique()
    weighted = [place for place in counts.index if place[1] in WEIGHINGS and place[1] != "perturbed"]
    tried = [*filter(_anonymous, weighted), ("published, whole", "kernel 10 standard")]
    return [place for place in tried if counts.get(place) == counts.max()]


def _anonymous(place) -> bool:
    return SETUPS[place[0]].share != "whole"


def lines(study, setup, kernel) -> pd.DataFrame:
    """Figure 1's lines in one setup, with the method `kernel` for the reconstruction: rows of mean AUC, columns `KS`."""
    rows = {"perturbed": (setup, "perturbed"), "reconstructed": (setup, kernel),
            "generalized": (NONE, "generalized"), "suppressed": (NONE, "generalized 20 % out")}  # fmt: skip
    return pd.DataFrame({row: wide(study).loc[place] for row, place in rows.items()}).T[list(KS)]


def printed_picture(study, setup, kernel) -> dict:
    """What decides the sentences about Figure 1 that are comparisons, in one setup: names to differences, of which all must hold.

    Differences are of means, with the standard error of the differences split by split. Alike, or level, is within 0.01.
    """
    p, r = (_runs(study, setup, method) for method in ("perturbed", kernel))
    g, s = (_runs(study, NONE, method) for method in ("generalized", "generalized 20 % out"))
    others, pairs = {"perturbed": p, "generalized": g, "suppressed": s}, list(combinations(KS, 2))
    says = {
        f"proposed best, k = {k}": {f"than {name}": _less(other[k], r[k]) for name, other in others.items()} for k in KS
    }
    return says | {
        "perturbed as good at 3": evidence.near(_less(p[3], r[3]), ALIKE),
        "suppressed as good at 3": _all_near({"perturbed": (p[3], s[3]), "reconstructed": (r[3], s[3])}),
        "generalized worst at 3": {f"than {name}": _less(g[3], x[3])
                                   for name, x in {"perturbed": p, "reconstructed": r, "suppressed": s}.items()},
        "perturbed falls": {f"k = {k} to {j}": _less(p[j], p[k]) for k, j in zip(KS, KS[1:])},
        "reconstructed level": _all_near({f"k = {k} and {j}": (r[k], r[j]) for k, j in pairs}),
        "reconstruction improves": {f"k = {k}": _less(p[k], r[k]) for k in KS},
    }  # fmt: skip


def _runs(study, setup, method) -> pd.DataFrame:
    """The AUC of one method: a row for each split, a column for each k."""
    own = study[(study["setup"] == setup) & (study["method"] == method)]
    return own.pivot(index="split", columns="k", values="auc")


def _less(lower, higher) -> evidence.Difference:
    return evidence.between(higher, lower, paired=True)


def _all_near(pairs) -> dict:
    return {
        f"{name}, {side}": each
        for name, (one, other) in pairs.items()
        for side, each in evidence.near(_less(one, other), ALIKE).items()
    }


def verdicts(study) -> dict:
    """The evidence for each sentence of `printed_picture` in that Pk-anonymous reading which is best for it, with one kernel
    for all k: where the weakest of its differences exceeds its limit by the most standard errors.

    "kept as good as original": at k = 50, with their original values, those that suppression keeps predict within 0.01
    """
    pictures = [
        printed_picture(study, *place) for place in readings(study) if _anonymous(place) and place[1] != "linear"
    ]
    best = {
        name: max((picture[name] for picture in pictures), key=lambda found: evidence.weakest(found)[1].errors)
        for name in pictures[0]
    }
    original, kept = _runs(study, NONE, "original")[1], _runs(study, NONE, "suppressed on levels")[50]
    return best | {"kept as good as original": evidence.between(kept, original, paired=True, limit=-ALIKE)}


# ---------------------------------------------------------------- the command line


def main(arguments=None) -> None:
    """Run the study that the command line, or `arguments`, asks for, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="folder for figure1.csv", seed=2015)
    parser.add_argument("--records", type=int, default=16_281, help="of training")
    parser.add_argument("--trials", type=int, default=10, help="splits")
    parser.add_argument("--few", type=int, default=3, help="splits for what is slow or matters less")
    parser.add_argument("--ks", type=float, nargs="+", default=KS)
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    frame = datasets.adult("all", missing="category", source=chosen.data)
    common = {name: getattr(chosen, name) for name in ("ks", "records", "seed", "jobs")} | {"folder": chosen.cells}
    splits = {"all": chosen.trials, "few": chosen.few}
    parts = [grid(frame, setups=setups, methods=methods, trials=splits[of], **common) for setups, methods, of in PLAN]
    study = pd.concat(parts)
    told = {name: getattr(chosen, name) for name in ("records", "trials", "few", "seed")}
    made = command_line.provenance(__name__, arguments, chosen, told, files=datasets.ADULT_FILES, libraries=LIBRARIES)
    made["CPU time"] = f"{study['seconds'].sum():.0f} s"
    results.save(chosen.output / RESULTS.name, study[list(COLUMNS)], made)


if __name__ == "__main__":
    from notebooks.studies import anonymization_comparison  # other processes find the cells there, not in __main__

    anonymization_comparison.main()
