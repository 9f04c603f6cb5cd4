"""Adult as numbers in [0, 1], as sei2017 (section 5-1) feeds it to a network: 14 attributes, from which Salary is predicted.

The paper says that 45,222 complete records have 14 attributes besides Salary and that inputs lie in [0, 1]. It does not
say how a category becomes a number. Here a numeric attribute is scaled by `datasets.PUBLIC_RANGES`, and a category becomes either

- "codes": its place in the publisher's list (the file adult.names), divided by the number of places minus one; there
  are 14 inputs. The order of that list has no meaning, even for education (education-num, another attribute, has
  education in order); or
- "one-hot": one input of 0 or 1 for each value in the list, 105 inputs in all.

Nothing is derived from the records, so scaling and encoding cost no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lib.data import datasets, encodings
from lib.numerics import checks

ENCODINGS = ("codes", "one-hot")
NUMERIC_SCALES = ("linear", "log")
_SKEWED = ("capital-gain", "capital-loss")  # mostly 0, else thousands of dollars


@dataclass(frozen=True)
class Features:
    """The training data of a classifier.

    values : float array (n, d) in [0, 1];   labels : integers (n,), 1 if the salary exceeds 50K
    names : the names of the d inputs, ``"attribute"`` or ``"attribute=value"``
    levels : number of values of each input, 0 for a numeric one, (d,)
    """

    values: np.ndarray
    labels: np.ndarray
    names: tuple
    levels: tuple


def adult_features(*, encoding="codes", numeric="linear", source="real", download=True) -> Features:
    """Return the complete records of Adult's two parts, training records first: 45,222 of the real ones.

    encoding : "codes" (14 inputs, in the file's order) or "one-hot" (105)
    numeric : "linear", or "log", which maps a capital gain or loss x to log(1 + x) / log(1 + largest possible x).
        Most x are 0, and on a linear scale nearly all others are below 0.1
    source, download : see `datasets.adult`
    """
    checks.one_of("encoding", encoding, ENCODINGS)
    checks.one_of("numeric", numeric, NUMERIC_SCALES)
    frame = datasets.adult("all", source=source, download=download).dropna()
    domain = encodings.adult_domain()
    columns, names, levels = [], [], []
    for attribute in datasets.ADULT_COLUMNS[:-1]:
        if attribute in datasets.PUBLIC_RANGES:
            columns.append(_scaled(frame[attribute], attribute, numeric))
            names.append([attribute])
            levels.append(0)
        else:
            labels = domain.values(attribute)
            columns.append(encodings.codes(attribute, frame[attribute], labels) / (len(labels) - 1))
            names.append([f"{attribute}={label}" for label in labels] if encoding == "one-hot" else [attribute])
            levels.append(len(labels))
    values = np.column_stack(columns)
    if encoding == "one-hot":
        values, levels = one_hot(values, levels), [2 * (level > 0) for level in levels for _ in range(max(level, 1))]
    salary = encodings.codes("income", frame["income"], domain.values("income"))
    return Features(values, salary, tuple(name for group in names for name in group), tuple(levels))


def one_hot(values, levels) -> np.ndarray:
    """Convert encoding "codes" to "one-hot", record by record, so that the conversion costs no privacy.

    values : (n, d) in [0, 1]
    levels : (d,), 0 for a numeric column, which is kept; for a column of categories, the number L >= 2 of the values
        0, 1/(L-1), ..., 1. Such a column becomes L columns

    Raises ``ValueError`` if a column has other values.
    """
    values, levels = checks.real("values", values, "[0, 1]"), checks.integer("levels", levels, "[0, 1e6]").astype(int)
    if values.ndim != 2 or levels.shape != values.shape[1:] or (levels == 1).any():
        raise ValueError(
            f"levels must be 0 or at least 2 for each of the columns {values.shape}, got {levels.tolist()}"
        )
    columns = []
    for column, level in zip(values.T, levels):
        codes = np.rint(column * (level - 1)).astype(int) if level else None
        if level and np.abs(column * (level - 1) - codes).max(initial=0) > 1e-6:
            raise ValueError(f"values must be multiples of 1/{level - 1} in a column of {level} levels, got others")
        columns.append((codes[:, None] == np.arange(level)).astype(float) if level else column[:, None])
    return np.hstack(columns)


def folds(n, count=10, *, rng) -> list:
    """Return `count` pairs (training indices, test indices): a random partition of n records, each part tested once.

    n : integer >= count; count : integer >= 2. Parts differ in size by at most one; they are not stratified, because that
    would use the labels.
    """
    count = checks.whole("count", count, "[2, inf)")
    n = checks.whole("n", n, f"[{count}, inf)")
    parts = np.array_split(rng.permutation(n), count)
    return [(np.sort(np.concatenate(parts[:i] + parts[i + 1 :])), np.sort(part)) for i, part in enumerate(parts)]


def _scaled(column, attribute, numeric):
    low, high = datasets.PUBLIC_RANGES[attribute]
    values = checks.real(attribute, column, f"[{low}, {high}]")
    if numeric == "log" and attribute in _SKEWED:
        return np.log1p(values) / np.log1p(high)
    return (values - low) / (high - low)
