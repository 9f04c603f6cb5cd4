"""Adult and Bank as tables of categorical records, on public domains.

The values of an attribute are those that the publishers list, whether or not they occur. Numeric attributes are divided
into bins at round numbers within `datasets.PUBLIC_RANGES`. A domain derived from the records would disclose which
values occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics import checks
from ..numerics.extras import extra
from ..tables.table import Domain, Table
from . import datasets

with extra("data"):
    import pandas as pd

# The values that adult.names, which comes with the data, lists, in its order.
_ADULT_VALUES = {
    "workclass": "Private, Self-emp-not-inc, Self-emp-inc, Federal-gov, Local-gov, State-gov, Without-pay, Never-worked",
    "education": "Bachelors, Some-college, 11th, HS-grad, Prof-school, Assoc-acdm, Assoc-voc, 9th, 7th-8th, 12th, "
    "Masters, 1st-4th, 10th, Doctorate, 5th-6th, Preschool",
    "marital-status": "Married-civ-spouse, Divorced, Never-married, Separated, Widowed, Married-spouse-absent, "
    "Married-AF-spouse",
    "occupation": "Tech-support, Craft-repair, Other-service, Sales, Exec-managerial, Prof-specialty, "
    "Handlers-cleaners, Machine-op-inspct, Adm-clerical, Farming-fishing, Transport-moving, Priv-house-serv, "
    "Protective-serv, Armed-Forces",
    "relationship": "Wife, Own-child, Husband, Not-in-family, Other-relative, Unmarried",
    "race": "White, Asian-Pac-Islander, Amer-Indian-Eskimo, Other, Black",
    "sex": "Female, Male",
    "native-country": "United-States, Cambodia, England, Puerto-Rico, Canada, Germany, Outlying-US(Guam-USVI-etc), "
    "India, Japan, Greece, South, China, Cuba, Iran, Honduras, Philippines, Italy, Poland, Jamaica, Vietnam, Mexico, "
    "Portugal, Ireland, France, Dominican-Republic, Laos, Ecuador, Taiwan, Haiti, Columbia, Hungary, Guatemala, "
    "Nicaragua, Scotland, Thailand, Yugoslavia, El-Salvador, Trinadad&Tobago, Peru, Hong, Holand-Netherlands",
    "income": "<=50K, >50K",
}
_ADULT_MISSING = ("workclass", "occupation", "native-country")

# Each bin starts at one number and ends before the next number. There are at most 32 bins.
ADULT_BINS = {
    "age": (*range(17, 90, 3), 91),
    "fnlwgt": tuple(range(0, 1_550_001, 50_000)),
    "education-num": tuple(range(1, 18)),
    # 99,999, the greatest number that five digits hold, stands for all values beyond it
    "capital-gain": (0, 1, *range(1_000, 8_001, 1_000), 10_000, 15_000, 20_000, 50_000, 99_999, 100_000),
    "capital-loss": (0, 1, *range(250, 5_251, 250)),
    "hours-per-week": (1, 5, 10, 15, 20, 21, 25, 30, 35, 36, 40, 41, 45, 46, 50, 51, 55, 60, 61, 65, 70, 80, 90, 100),
}

# From bank-additional-names.txt, but months are all calendar months, though two of them do not occur.
_BANK_VALUES = {
    "job": "admin., blue-collar, entrepreneur, housemaid, management, retired, self-employed, services, student, "
    "technician, unemployed",
    "marital": "divorced, married, single",
    "education": "basic.4y, basic.6y, basic.9y, high.school, illiterate, professional.course, university.degree",
    "default": "no, yes",
    "housing": "no, yes",
    "loan": "no, yes",
    "contact": "cellular, telephone",
    "month": "jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec",
    "day_of_week": "mon, tue, wed, thu, fri",
    "poutcome": "failure, nonexistent, success",
    "y": "no, yes",
}
_BANK_MISSING = ("job", "marital", "education", "default", "housing", "loan")

MISSING = ("drop", "category")


def adult_domain(*, numeric: bool = False, missing: str = "drop") -> Domain:
    """Return the domain of `adult_table`; its categorical sizes are 8, 16, 7, 14, 6, 5, 2, 41, 2 (miura2025, Table 1).

    >>> from lib.data.encodings import adult_domain
    >>> print(adult_domain().sizes)
    (8, 16, 7, 14, 6, 5, 2, 41, 2)
    """
    labels = _labels(_ADULT_VALUES, _ADULT_MISSING, "?", missing)
    if not numeric:
        return Domain.from_labels(labels)
    labels |= {name: [_interval(low, high) for low, high in zip(cuts, cuts[1:])] for name, cuts in ADULT_BINS.items()}
    return Domain.from_labels({name: labels[name] for name in datasets.ADULT_COLUMNS})


def adult_table(
    part: str = "train", *, numeric: bool = False, missing: str = "drop", source: str = "real", download: bool = True
) -> Table:
    """Return Adult's 9 categorical attributes or, if `numeric`, all 15, with numeric values cut into `ADULT_BINS`.

    part : "train", "test" or "all"; source : "real" or "stand-in", as for `datasets.adult`
    missing : "drop" keeps only the complete records (30,162 for training: miura2025, Table 1); "category" keeps all
        records, with the label ``?``

    >>> from lib.data.encodings import adult_table
    >>> print(adult_table(source="stand-in").domain.attributes[:3])
    ('workclass', 'education', 'marital-status')
    """
    domain = adult_domain(numeric=numeric, missing=missing)
    frame = datasets.adult(part, missing="category", source=source, download=download)
    if missing == "drop":
        frame = frame[(frame != "?").all(axis=1)]
    return Table.from_frame(_binned(frame) if numeric else frame, domain)


def bank_domain(*, missing: str = "drop") -> Domain:
    """Return the domain of `bank_table`, with the sizes 11, 3, 7, 2, 2, 2, 2, 12, 5, 3, 2 (miura2025, Table 1).

    >>> from lib.data.encodings import bank_domain
    >>> print(bank_domain().sizes)
    (11, 3, 7, 2, 2, 2, 2, 12, 5, 3, 2)
    """
    return Domain.from_labels(_labels(_BANK_VALUES, _BANK_MISSING, "unknown", missing))


def bank_table(*, missing: str = "drop", source: str = "real", download: bool = True) -> Table:
    """Return Bank Marketing's 11 categorical attributes.

    source : "real" or "stand-in", as for `datasets.bank`
    missing : "drop" keeps only the 30,488 complete records of miura2025, Table 1; "category" keeps all 41,188 records,
        with the label ``unknown``

    >>> from lib.data.encodings import bank_table
    >>> print(bank_table(source="stand-in").domain.attributes[:3])
    ('job', 'marital', 'education')
    """
    domain = bank_domain(missing=missing)
    frame = datasets.bank(missing="category", source=source, download=download)
    if missing == "drop":
        frame = frame[(frame[list(_BANK_MISSING)] != "unknown").all(axis=1)]
    return Table.from_frame(frame, domain)


def _labels(values, may_miss, marker, missing) -> dict:
    checks.one_of("missing", missing, MISSING)
    labels = {name: text.split(", ") for name, text in values.items()}
    if missing == "category":
        labels |= {name: [*labels[name], marker] for name in may_miss}
    return labels


def _interval(low, high) -> str:
    return str(low) if high == low + 1 else f"{low}-{high - 1}"


def _binned(frame) -> pd.DataFrame:
    """Return `frame` with numeric values replaced by the labels of their bins; values beyond the bins are unchanged."""
    columns = {}
    for name, cuts in ADULT_BINS.items():
        values = frame[name].to_numpy()
        position = np.searchsorted(cuts, values, side="right") - 1
        inside = (position >= 0) & (position < len(cuts) - 1)
        labels = np.array([_interval(low, high) for low, high in zip(cuts, cuts[1:])], dtype=object)
        columns[name] = np.where(inside, labels[position.clip(0, len(labels) - 1)], values.astype(object))
    return frame.assign(**columns)


def codes(name: str, column: pd.Series, labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the position in `labels`, from 0, of each value of a pandas `column`: integers (n,).

    Raises ``ValueError``, which calls the column `name`, for a missing value or a value that is not in `labels`.
    """
    places = pd.Index(labels).get_indexer(column)
    if (places < 0).any():
        raise ValueError(f"{name} must be one of {', '.join(map(str, labels))}, got {column[places < 0].iloc[0]!r}")
    return places


def bin_positions(name: str, labels: Iterable[str]) -> NDArray[np.int64]:
    """Return the index, from 0, of the bin of each of the `labels` that the attribute `name` has in a `Table`."""
    cuts = ADULT_BINS[name]
    position = {_interval(low, high): index for index, (low, high) in enumerate(zip(cuts, cuts[1:]))}
    return np.array([position[label] for label in labels])
