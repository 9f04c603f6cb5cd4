"""Releases of public tables: the true values are those of the records, and the summary counts what the intervals contain."""

import numpy as np
import pandas as pd
import pytest

from lib.release import queries, schema
from notebooks.studies import public_tables


def chains(n=400):
    """Return records with the columns of the study's smallest table."""
    rng = np.random.default_rng(0)
    age = rng.integers(50, 100, n)
    frame = {"age": age, "futime": np.maximum(5000 - 50 * (age - 50), 0), "sex": rng.choice(["F", "M"], n)}
    frame |= {"death": rng.integers(0, 2, n), "mgus": 0, "sample.yr": rng.integers(1995, 2004, n)}
    frame |= {name: rng.gamma(4, 0.3, n) for name in ("kappa", "lambda", "creatinine")}
    return pd.DataFrame(frame | {"flc.grp": rng.integers(1, 11, n)})


@pytest.fixture(scope="module")
def rows():
    return public_tables.answered("chains", chains(), 3)


def test_every_question_is_answered_beside_the_true_value(rows):
    frame = chains()
    assert len(rows) == len(public_tables.QUESTIONS["chains"]) + 1 and (rows["records"] == 400).all()
    true = rows.set_index("question")["true"]
    assert true["count where sample.yr <= 1996"] == frame["sample.yr"].isin([1995, 1996]).sum()
    assert true["quantile(kappa, 0.9)"] == np.sort(frame["kappa"])[359]
    assert true["slope of futime on age"] == pytest.approx(-50)
    asked = rows.iloc[:-1]
    assert ((asked["low"] <= asked["estimate"]) & (asked["estimate"] <= asked["high"])).all()


def test_every_question_can_be_asked():
    for name, asked in public_tables.QUESTIONS.items():
        public = schema.read(public_tables.SCHEMAS / f"{name}.yml")
        for question in asked:
            parser = queries.Parser(question, public.attributes, "question")
            assert queries._asked(parser)


def test_the_summary_counts_the_intervals_that_contain_the_true_value(rows):
    missed = rows.assign(seed=4, low=rows["true"] + 1, high=rows["true"] + 2, estimate=rows["true"] + 3)
    certain = rows.assign(low=-np.inf, high=np.inf)
    found = public_tables.summary(pd.concat([certain, missed, certain.assign(seed=5)]))
    assert found["seeds"].tolist() == [3] * 7 and found["inside"].tolist() == [2] * 7
    assert found["interval"].tolist() == ["-inf to inf"] * 7
    row = found.iloc[0]
    error = (2 * abs(rows["estimate"][0] - rows["true"][0]) + 3) / 3
    assert row["error"] == public_tables.short(error) and row["estimate"] == public_tables.short(rows["estimate"][0])
    assert public_tables.summary(rows)["inside"].isna().tolist() == [False] * 6 + [True]


def test_numbers_are_short():
    assert [public_tables.short(each) for each in (28155.4, 999.96, 0.123456)] == ["28,155", "1000", "0.1235"]
    assert public_tables.between(np.nan, np.nan) == ""
