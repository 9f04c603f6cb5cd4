"""Say how well classifiers learn from the records of AIM, of staged residuals and of other programs (beyond miura2025)."""

from __future__ import annotations

import pandas as pd

from book.kept import results
from notebooks.studies.aim_peers import OURS, STAGED

FILE = results.FOLDER / "miura2025/classifiers.csv"
LEARNERS = {"tree": "tree", "svm": "SVM", "xgboost": "XGBoost"}  # columns of the file, and their headings
REFERENCES = ("majority", "real records")  # no programs: a constant prediction, and the real records


def accuracies(frame: pd.DataFrame | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how accurate classifiers are that learn from the records of each program, and how far this is from ours.

    frame : a row for each data set, program and seed; by default, the kept file

    The first result has a row for each program and a column for each data set and classifier. Its entries are texts:
    the mean in per cent, with its standard error over the seeds. The second result has a row for each data set and
    classifier and a column for each program of others. Its entries are the mean differences from `STAGED`, in standard
    errors of the paired differences.
    """
    frame = results.load(FILE) if frame is None else frame
    long = frame.rename(columns=LEARNERS).melt(
        ["data", "program", "seed"], [*LEARNERS.values()], "classifier", "accuracy"
    )
    each = 100 * long.groupby(["program", "data", "classifier"], sort=False)["accuracy"].agg(["mean", "sem"])
    told = each["mean"].map("{:.1f}".format) + each["sem"].map(" ({:.1f})".format)
    wide = long.pivot(index=["data", "classifier", "seed"], columns="program", values="accuracy")
    others = wide.drop(columns=[OURS, STAGED, *REFERENCES]).sub(wide[STAGED], axis=0).groupby(["data", "classifier"])
    by_data = told.unstack(["data", "classifier"]).sort_index(axis=1, level="data", sort_remaining=False)
    return by_data, others.mean() / others.sem()
