"""Adult's ten explanatory attributes and the income (hasegawa2015, Table 2), as records to perturb and as a design matrix.

All possible values are public: they are the publishers' categories, with ``?`` added, and `datasets.PUBLIC_RANGES`. So
records of a training and a test part, original or perturbed, have the same codes and the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lib.data import datasets, encodings
from lib.numerics import checks

# Table 2, in its order; the target last.
EXPLANATORY = (
    "age", "workclass", "education-num", "marital-status", "occupation", "relationship", "sex", "capital-gain",
    "capital-loss", "hours-per-week",
)  # fmt: skip
TARGET = "income"
NUMERIC = ("education-num", "capital-gain", "capital-loss", "hours-per-week")
# Table 2 has the age as categorical, perhaps by mistake; one category is then a year.
AGES = ("numeric", "categorical")
SCALINGS = ("none", "range", "standard")
# Public edges of the bins into which `cells` puts numbers, fixed beforehand; attributes that are not named are categories.
CUTS = {
    "age": (25, 35, 45, 55, 65),
    "education-num": (9, 10, 11, 13, 14),
    "capital-gain": (5000,),
    "capital-loss": (1500,),
    "hours-per-week": (35, 40, 41, 50),
}
EDGES = {name: (datasets.PUBLIC_RANGES[name][0], *cuts, datasets.PUBLIC_RANGES[name][1]) for name, cuts in CUTS.items()}


def adult_kinds(*, age="numeric") -> dict:
    """Return each attribute's number of categories, or its range (low, high), for `lib.microdata.perturbation.pk_parameters`.

    age : "numeric", or "categorical" as printed, with the 74 years 17 to 90 as categories

    The attributes are the ten explanatory ones and the income.
    """
    checks.one_of("age", age, AGES)
    numeric = {*NUMERIC, "age"} if age == "numeric" else set(NUMERIC)
    labels = _labels()
    names = (*EXPLANATORY, TARGET)
    return {name: datasets.PUBLIC_RANGES[name] if name in numeric else len(labels[name]) for name in names}


def adult_records(frame, *, age="numeric") -> pd.DataFrame:
    """Return records as numbers, (n, 11) in the order of `adult_kinds`: codes from 0 for categories, else values.

    frame : `datasets.adult` with ``missing="category"``. Raises ``ValueError`` if an attribute is absent or has a value
        outside its public set; the message names the attribute.
    """
    labels, columns = _labels(), {}
    for name, kind in adult_kinds(age=age).items():
        if name not in frame.columns:
            raise ValueError(f"frame must have the column {name!r}, got {', '.join(frame.columns)}")
        if np.ndim(kind):
            columns[name] = checks.real(name, frame[name], f"[{kind[0]}, {kind[1]}]")
        else:
            columns[name] = encodings.codes(name, frame[name], labels[name]).astype(float)
    return pd.DataFrame(columns, index=frame.index)


def cell_sizes() -> dict:
    """Return how many cells each attribute has: its categories, or the bins of `EDGES`."""
    return {name: len(EDGES[name]) - 1 if name in EDGES else kind for name, kind in adult_kinds().items()}


def cells(records) -> pd.DataFrame:
    """Return the cells of the values of `adult_records` as codes from 0, with the same index; numbers get bins of `EDGES`.

    A bin contains its lower edge, and the last bin contains both of its edges.
    """
    columns = {
        name: np.clip(np.searchsorted(EDGES[name], values, side="right") - 1, 0, len(EDGES[name]) - 2)
        if name in EDGES
        else values.astype(int)
        for name, values in records.items()
    }
    return pd.DataFrame(columns, index=records.index)


def design_matrix(records, kinds: Mapping, *, scaling="range", reference=None) -> np.ndarray:
    """Return explanatory variables (n, p): a 0/1 column for each category, one column for each numeric attribute.

    records : frame of codes and values, (n, at least the attributes of `kinds`)
    kinds : mapping from attribute to its number of categories or its range; other columns are left out
    scaling : how numeric values are scaled: "range" to [0, 1] over the public range, "standard" to mean 0 and variance
        1 over `reference`, or "none"
    reference : the records, for example those of training, whose mean and standard deviation "standard" uses; by
        default, `records`. An attribute that is constant in these records is only shifted
    """
    checks.one_of("scaling", scaling, SCALINGS)
    reference = records if reference is None else reference
    columns = []
    for name, kind in kinds.items():
        values = np.asarray(records[name], dtype=float)
        if np.ndim(kind) == 0:
            codes = checks.integer(name, values, f"[0, {kind})").astype(int)
            columns.append(np.eye(kind)[codes])
            continue
        origin, unit = _scale(scaling, kind, np.asarray(reference[name], dtype=float))
        columns.append((checks.real(name, values, f"[{kind[0]}, {kind[1]}]")[:, None] - origin) / unit)
    return np.concatenate(columns, axis=1)


def _scale(scaling, kind, reference) -> tuple[float, float]:
    if scaling == "none":
        return 0.0, 1.0
    if scaling == "range":
        return kind[0], kind[1] - kind[0]
    return reference.mean(), reference.std() or 1.0


def _labels() -> dict:
    """Return every category of every attribute as written in the files."""
    domain = encodings.adult_domain(missing="category")
    labels = {name: list(domain.labels[name]) for name in domain.attributes}
    low, high = datasets.PUBLIC_RANGES["age"]
    return labels | {"age": list(range(low, high + 1))}
