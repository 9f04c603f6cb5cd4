"""Simulated records, which are not derived from a real file or a real person."""

import numpy as np
import pandas as pd

from lib.numerics import checks
from lib.tables.table import Domain, Table


def dependent_table() -> Table:
    """Return 2,000 records of four attributes: b depends on a; c and d are independent of all others."""
    rng = np.random.default_rng(0)
    a = rng.integers(3, size=2000)
    columns = [a, (a + rng.integers(2, size=2000)) % 3, rng.integers(2, size=2000), rng.integers(4, size=2000)]
    return Table(np.stack(columns, axis=1), Domain({"a": 3, "b": 3, "c": 2, "d": 4}))


def numeric_adult(n: int = 2_000, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return `n` records with Adult's six numeric columns and their ranges.

    The distributions are written down from common knowledge of a working population and a
    survey of it; none is fitted to Adult, and the columns are independent. They are wide
    enough that, scaled by `datasets.adult_numeric`, a thousand records or more have a covariance
    whose smallest eigenvalue exceeds 0.01, the sigma of miura2022's numerical examples.
    Each column attains both ends of its range, so `n` must be at least 2 (``ValueError``).
    """
    n = int(checks.integer("n", n, "[2, inf)"))
    schooling = [0.5, 0.5, 1, 2, 2, 3, 3, 3, 30, 20, 5, 5, 15, 7, 2, 1]  # per cent, none to doctorate
    table = {
        # working ages, most of them between twenty and sixty
        "age": (17, 90, 17 + 73 * rng.beta(1.5, 3.0, n)),
        # a survey's weights, to two decimals: one interview speaks for some 1,900 people
        "fnlwgt": (12_285, 1_490_400, rng.gamma(3.0, 190_000 / 3, n)),
        "education-num": (1, 16, rng.choice(np.arange(1, 17), n, p=np.divide(schooling, 100))),
        # most have no gain, some a few thousand dollars, one in a hundred more than the form can hold
        "capital-gain": (0, 99_999, rng.choice([0, 1, 100], n, p=[0.9, 0.09, 0.01]) * rng.lognormal(8.5, 0.8, n)),
        # few have a loss, then of some two thousand dollars
        "capital-loss": (0, 4_356, (rng.random(n) < 0.05) * rng.normal(1_900, 400, n)),
        # every other person works the forty-hour week
        "hours-per-week": (1, 99, np.where(rng.random(n) < 0.5, 40, rng.normal(40, 16, n))),
    }
    columns = {}
    for name, (low, high, values) in table.items():
        values = np.clip(np.rint(values), low, high).astype(np.int64)
        values[:2] = low, high
        columns[name] = rng.permutation(values)
    return pd.DataFrame(columns)


def library_members(n: int = 2_000, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return `n` members of an invented library, as texts: the example of notebooks/yours.

    Children have children's cards, families borrow most; a few values are missing, misspelt or beyond the codebook's ranges.
    """
    age = np.clip(np.rint(rng.gamma(4.0, 9.0, n)), 4, 102).astype(int)
    card = np.where(age < 16, "child", rng.choice(["adult", "family", "senior"], n, p=[0.55, 0.3, 0.15]))
    quarter = rng.choice(["harbour", "market", "mill", "station", "hill"], n, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    joined = np.datetime64("2015-01-01") + rng.integers(0, 11 * 365, n)
    loans = rng.poisson(np.select([card == "family", card == "child"], [9.0, 5.0], 3.0))
    fines = np.where(rng.random(n) < 0.7, 0.0, np.round(rng.gamma(1.5, 2.0, n), 2))
    frame = pd.DataFrame(
        {"card": card, "age": age, "quarter": quarter, "joined": joined, "loans": loans, "fines": fines}
    )
    frame = frame.astype({"joined": "str"}).astype(str)
    for name, text in {"quarter": "Harbor", "age": "", "loans": "?", "fines": "75.00", "joined": "unknown"}.items():
        frame.loc[rng.random(n) < 0.01, name] = text
    return frame
