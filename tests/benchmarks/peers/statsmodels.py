"""Encode public tables that packages include.

The tables are about marriages, health insurance, mortgages, HIV tests, schooling, a cash transfer, credit cards, and
earnings. `notebooks.studies.aim_peers.TUNED` lists those on which settings of AIM were chosen.

One rule encodes all columns. A numeric column with more than 32 different values is divided into 32 bins of equal width
over its range, and missing numbers get one more bin. In any other column, each value has a separate code.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from causaldata import close_college, cps_mixtape, credit_cards, gov_transfers, mortgages, thornton_hiv

from lib.tables.table import Domain, Table
from tests.benchmarks import aim

BINS = 32
SOURCES = {
    "fair": lambda: sm.datasets.fair.load_pandas().data,
    "randhie": lambda: sm.datasets.randhie.load_pandas().data,
    "mortgages": lambda: mortgages.load_pandas().data,
    "thornton_hiv": lambda: thornton_hiv.load_pandas().data,
    "close_college": lambda: close_college.load_pandas().data,
    "gov_transfers": lambda: gov_transfers.load_pandas().data,
    "credit_cards": lambda: credit_cards.load_pandas().data,
    "cps_mixtape": lambda: cps_mixtape.load_pandas().data,
}


def write(meter, name, file) -> dict:
    with meter:
        frame = SOURCES[name]()
        codes, sizes = zip(*(encoded(frame[column]) for column in frame))
    aim.save_table(file, Table(np.column_stack(codes).astype(int), Domain(zip(frame.columns, sizes))))
    return {"records": len(frame)}


def encoded(column: pd.Series) -> tuple[np.ndarray, int]:
    """Return the codes of a column, from 0, and the number of codes."""
    if column.nunique() > BINS and pd.api.types.is_numeric_dtype(column):
        low, high = column.min(), column.max()
        codes = np.minimum((column - low) / (high - low) * BINS, BINS - 1)
        return codes.fillna(BINS).to_numpy().astype(int), BINS + int(column.isna().any())
    codes, values = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, len(values)
