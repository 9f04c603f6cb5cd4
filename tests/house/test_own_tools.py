"""The comparison with other tools: what it measures of a script, and what it makes of the runs."""

import sys

import pandas as pd
import pytest

from tests.benchmarks import own_tools

RECORD = {"wage": 400.0, "education": 12, "experience": 7, "ethnicity": "cauc", "smsa": "yes", "region": "south", "parttime": "no"}  # fmt: skip
COPY = """
import shutil, sys
held = bytearray(2**26)
shutil.copy(sys.argv[1], sys.argv[2])
print("loading\\n3\\n5.5 4 7\\n-1")
"""


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    """Return the folder of the scripts, with one that copies the table, and a table in it."""
    rows = [RECORD, RECORD | {"education": 16, "wage": 900.0}, RECORD | {"ethnicity": "afam", "region": "west"}]
    pd.DataFrame(rows * 20).to_csv(tmp_path / "wages.csv", index=False)
    (tmp_path / "with_dpmm.py").write_text(COPY)
    monkeypatch.setattr(own_tools, "SCRIPTS", tmp_path)
    monkeypatch.setattr(own_tools, "install", lambda tool, cells: sys.executable)
    return tmp_path


def test_a_run_has_the_costs_the_errors_and_the_answers_of_the_script(scripts):
    found = own_tools.run("dpmm", 0, scripts / "wages.csv", scripts)
    assert found["answers"] == [[3.0], [5.5, 4.0, 7.0], [-1.0]]
    assert found["error1"] == found["error2"] == 0
    assert 0 < found["cpu_s"] < 60 and 2**26 < found["peak_gb"] * 2**30 < 2**32


def test_errors_are_those_of_the_synthetic_records(scripts):
    table = pd.read_csv(scripts / "wages.csv")
    table.assign(region="midwest", education=table["education"] + 0.5).to_csv(scripts / "made.csv", index=False)
    found = own_tools.errors(scripts / "wages.csv", scripts / "made.csv")
    assert found["error1"] == pytest.approx(2 / 7) and found["error2"] == pytest.approx(2 * 6 / 21)


def test_a_script_that_fails_stops_the_comparison(scripts):
    (scripts / "with_dpmm.py").write_text("raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="status 3"):
        own_tools.run("dpmm", 0, scripts / "wages.csv", scripts)


def test_the_true_answers_are_those_of_the_records(scripts):
    assert own_tools.answers(pd.read_csv(scripts / "wages.csv")) == [20, 650.0, 250.0]


def test_a_row_is_a_mean_over_the_runs(scripts):
    (scripts / "with_dpmm.py").write_text("one\n\ntwo\n")
    costs = {"cpu_s": 1.0, "peak_gb": 2.0, "error1": 0.1, "error2": 0.2}
    runs = [costs | {"answers": [[110.0, 90.0, 120.0], [6.0], [4.0]]},
            costs | {"cpu_s": 3.0, "answers": [[110.0, 101.0, 120.0], [5.0], [4.0]]}]  # fmt: skip
    row = own_tools.summary("dpmm", runs, [100.0, 5.0, -4.0])
    assert (row["steps"], row["lines"], row["runs"], row["cpu_s"]) == (2, 2, 2, 2.0)
    assert (row["count"], row["mean"], row["difference"]) == pytest.approx((10, 10, 200))
    assert row["error1"] == pytest.approx(10) and row["covered"] == 50
    assert own_tools.summary("dpmm", [costs | {"answers": [[1.0], [1.0], [1.0]]}], [1, 1, 1])["intervals"] is False


def test_every_tool_has_a_script_and_says_what_it_reads():
    assert set(own_tools.COMMANDS) == set(own_tools.READS)
    assert {f"with_{tool}.py" for tool in own_tools.COMMANDS} == {
        file.name for file in own_tools.SCRIPTS.glob("with_*.py")
    }
