"""Say how well classifiers learn from the records of AIM, of staged residuals and of other programs (beyond miura2025)."""

from __future__ import annotations

import pandas as pd
from scipy import stats

from book.kept import results
from notebooks.studies.aim_peers import OURS, STAGED

FILE = results.FOLDER / "miura2025/classifiers.csv"
LEARNERS = {"tree": "tree", "svm": "SVM", "xgboost": "XGBoost"}  # columns of the file, and their headings
SHOWN = {OURS: "our AIM", STAGED: "staged residuals"}  # names of rows
REFERENCES = ("majority", "real records")  # no programs: a constant prediction, and the real records


def accuracies(frame: pd.DataFrame | None = None) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Return how accurate classifiers are that learn from the records of each program, and how far this is from ours.

    frame : a row for each data set, program and seed; by default, the kept file

    The first result has a row for each program. For each data set it has a column with the error of pairs and one for
    each classifier. Their entries are texts: means and, for the accuracies in per cent, standard errors over the seeds.
    The second result has a row for each data set and classifier and a column for each program of others. Its entries
    are the mean differences from `STAGED`, in standard errors of the paired differences. The third result is the limit
    of such a ratio that chance exceeds in one of twenty comparisons, on either side (Student's t).
    """
    frame = results.load(FILE) if frame is None else frame
    frame = frame.rename(columns=LEARNERS).replace({"program": SHOWN, "data": {"bank held out": "bank"}})
    names = [*LEARNERS.values()]
    groups = frame.groupby(["program", "data"], sort=False)
    mean, error = 100 * groups[names].mean(), 100 * groups[names].sem()
    told = mean.map("{:.1f}".format) + error.map(" ({:.1f})".format)
    told.insert(0, "error in pairs", groups["error2"].mean().map("{:.3f}".format).replace("nan", ""))
    table = told.unstack("data").swaplevel(axis=1).sort_index(axis=1, level=0, sort_remaining=False).fillna("")
    long = frame.melt(["data", "program", "seed"], names, "classifier", "accuracy")
    wide = long.pivot(index=["data", "classifier", "seed"], columns="program", values="accuracy")
    others = wide.drop(columns=[SHOWN[OURS], SHOWN[STAGED], *REFERENCES]).sub(wide[SHOWN[STAGED]], axis=0)
    apart = others.groupby(["data", "classifier"])
    limit = float(stats.t.ppf(0.975, frame["seed"].nunique() - 1))
    return (
        table.loc[frame["program"].unique()].rename_axis(index=None, columns=[None, None]),
        apart.mean() / apart.sem(),
        limit,
    )
