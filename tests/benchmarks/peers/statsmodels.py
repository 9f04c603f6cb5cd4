"""Public tables that packages include, encoded: a survey on marriages, an experiment with health insurance, mortgages; then an
experiment with HIV tests and a study of schooling; then a cash transfer, credit cards and earnings. No setting of AIM was chosen on
the last three.

One rule encodes all columns. A column of more than 32 different numbers goes into 32 bins of equal width over its range, and a missing
number goes into one more. In any other column each value is a value.
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
    """Return the codes of a column, from 0, and how many values there are."""
    if column.nunique() > BINS and pd.api.types.is_numeric_dtype(column):
        low, high = column.min(), column.max()
        codes = np.minimum((column - low) / (high - low) * BINS, BINS - 1)
        return codes.fillna(BINS).to_numpy().astype(int), BINS + int(column.isna().any())
    codes, values = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, len(values)
