"""Staged residuals beside AIM on public tables: the rule of encoding, the pairing of runs, and changes of known numbers."""

import numpy as np
import pandas as pd
import pytest

from lib.tables import Domain, aim, utility
from lib.tables.residual_stages import staged_residuals
from notebooks.studies import staged_tables
from tests import made_up
from tests.lib.tables import made


def test_the_rule_encodes_numbers_values_and_gaps():
    n = 300
    frame = pd.DataFrame({
        "rownames": range(n),
        "number": np.where(np.arange(n) == 5, np.nan, np.arange(n)),
        "few": np.arange(n) % 7 * 10,
        "word": [None if i == 3 else "ab"[i % 2] for i in range(n)],
        "one": "same",
        "many": [f"name {i}" for i in range(n)],
    })  # fmt: skip
    table = staged_tables.encoded(frame)
    assert dict(zip(table.domain.attributes, table.domain.sizes)) == {"number": 33, "few": 7, "word": 3}
    assert table.column("number")[[0, 5, n - 1]].tolist() == [0, 32, 31]
    assert table.column("word")[3] == 2 and table.column("few")[:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]


def test_a_row_is_what_the_run_was(monkeypatch):
    table = made_up.dependent_table()
    monkeypatch.setattr(staged_tables, "table", lambda name: table)
    frame = staged_tables.compare(["wage"], 2, epsilons=(1.0,), seed=3)
    assert frame["method"].tolist() == ["aim", "staged"] * 2 and frame["design"].all()
    again = staged_residuals(table, 1.0, staged_tables.DELTA, rng=np.random.default_rng(4)).synthetic
    assert frame.loc[3, ["error1", "error2"]].tolist() == [utility.marginal_error(table, again, k) for k in (1, 2)]
    frame = staged_tables.compare(["wage"], 1, epsilons=(100.0,), methods=staged_tables.OF_TRIPLES, seed=3)
    for row, method in enumerate((aim, staged_residuals)):
        again = method(table, 100.0, staged_tables.DELTA, 3, rng=np.random.default_rng(3)).synthetic
        assert frame.loc[row, "error3"] == utility.marginal_error(table, again, 3)


@pytest.mark.slow
def test_each_step_is_left_out_and_back_afterwards(monkeypatch):
    """Without a step, the errors differ from those of all other runs. The model has no room for all pairs.

    Exact noise changes them as well, and moved records of AIM are closer in pairs.
    """
    table = made.dependent(Domain(dict.fromkeys("abcd", 40)))
    monkeypatch.setattr(staged_tables, "table", lambda name: table)
    others = (staged_tables.EXACT, "aim", staged_tables.MOVED)
    methods = ("staged", *staged_tables.WITHOUT, *others, "staged")
    frame = staged_tables.compare(["wage"], 1, epsilons=(10.0,), methods=methods)
    errors = frame.set_index("method")[["error1", "error2"]]
    assert (errors.loc["staged"].nunique() == 1).all()
    assert len(errors.drop_duplicates()) == len(methods) - 1
    assert errors.loc[staged_tables.MOVED, "error2"] < errors.loc["aim", "error2"]


def test_changes_of_known_numbers():
    rows = [("t", 1.0, trial, method, True, error, 1.0, 2.0) for trial, pair in enumerate([(9.0, 10.0), (11.0, 14.0)])
            for method, error in zip(staged_tables.METHODS, pair)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["table", "epsilon", "trial", "method", "design", *staged_tables.ERRORS])
    found = staged_tables.beside(frame).loc[(True, "t", 1.0, "error1")]
    np.testing.assert_allclose(found, [20.0, 10.0, 2.0])  # differences 1 and 3, of a mean of 10


def test_unknown_tables_are_refused():
    with pytest.raises(ValueError, match="name must be one of"):
        staged_tables.table("none")
