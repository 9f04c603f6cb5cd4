"""notebooks/tools/progress.py: the line of a full run, the estimate of the time left, and the table of times."""

import json
import os

import pandas as pd
import pytest

from book.kept import results
from notebooks.tools import progress

NAMES = ["doc/a", "doc/b", "doc/c", "doc/d"]
NOW = 1_000_000.0


@pytest.fixture
def board(tmp_path):
    """Return a function that makes the board of a run that began 100 s ago; notebook e was up to date."""
    times = tmp_path / "papers.csv"
    results.save(
        times, pd.DataFrame({"notebook": NAMES, "seconds": [10.0, 20.0, 30.0, 40.0]}), {"command": "make papers"}
    )

    def make(**states) -> progress.Board:
        folder = tmp_path / "record"
        folder.mkdir(exist_ok=True)
        (folder / "plan").write_text("\n".join(["5", *NAMES]) + "\n")
        os.utime(folder / "plan", (NOW - 100, NOW - 100))
        for name, (ago, state) in states.items():
            file = folder / f"doc.{name}.json"
            file.write_text(json.dumps(state))
            os.utime(file, (NOW - ago, NOW - ago))
        return progress.Board(folder, times)

    return make


def finished(name, seconds, ago, expected):
    """Return seconds since its last sign of life, and what is written then."""
    return ago, {"done": True, "expected": expected, "row": {"notebook": name, "seconds": seconds}}


def running(seconds, ago=0.5):
    return ago, {"done": False, "began": NOW - seconds, "expected": 0, "cell": 3, "cells": 9}


def test_before_anything_is_known(board, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", " -j2 --no-print-directory")
    # Two side by side: 10 and then 30 s on one, 20 and then 40 s on the other.
    assert board().line(NOW) == "papers     1 of 5 notebooks done, 0:01:40 elapsed, about 0:01:00 left"


def test_what_is_done_what_runs_and_what_is_left(board, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "-j2")
    told = board(a=finished("doc/a", 10, 20, expected=10), b=running(5), c=running(12)).line(NOW)
    assert told == (
        "papers     2 of 5 notebooks done, 0:01:40 elapsed, about 0:00:55 left; "
        "at doc/b (cell 3 of 9), doc/c (cell 3 of 9)"
    )  # b in 15 s, then d; c in 18 s


def test_the_pace_of_this_run_counts(board, monkeypatch):
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    slow = board(a=finished("doc/a", 50, 20, expected=10))  # (50 + 30) / (10 + 30): twice as slow
    assert slow.state(NOW)[2] == [40, 60, 80]
    assert "0:03:00 left" in slow.line(NOW)


REAL = "miura2022/04_adult"


def test_a_time_measured_here_counts_more_than_the_committed_one(board):
    assert board(b=finished(REAL, 7, ago=5000, expected=20)).known[REAL] == 7


def test_one_without_any_time_is_taken_for_a_usual_one(board):
    made = board()
    del made.known["doc/d"]
    assert made.state(NOW)[2] == [10, 20, 30, 20]


def test_one_that_shows_no_sign_of_life_does_not_run(board):
    done, at_work, left = board(a=running(5, ago=60), b=finished("doc/b", 3, ago=500, expected=3)).state(NOW)
    assert (done, at_work) == (1, {}) and len(left) == 4  # b was finished before this run, and is to run again


def test_one_that_takes_longer_than_expected_is_not_about_to_end(board):
    assert board(a=running(300)).state(NOW)[2][0] == 30


def test_a_line_is_told_every_ten_seconds_whoever_tells_it(board, capsys):
    one, two = board(), board()
    os.utime(one.folder / "plan", (NOW - 100, NOW - 100))
    one.tell(NOW, always=True)
    two.tell(NOW + 9)
    assert len(capsys.readouterr().out.splitlines()) == 1
    two.tell(NOW + 10)
    one.tell(NOW + 11)
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.slow
def test_the_table_of_times(tmp_path):
    folder, path = tmp_path / "record", tmp_path / "papers.csv"
    watch = progress.Watch(progress.Board(folder, path), REAL, 3)
    watch.at(1, before=40.0)
    assert progress.rows(folder) == []
    watch.finished({"data": "real", "trials": 3})
    path.write_text("")  # damaged
    progress.save(folder, path)
    frame = results.load(path)
    assert frame.columns.tolist() == ["notebook", "seconds", "data", "parameters", "commit", "date"]
    (row,) = frame.to_dict("records")
    assert (row["notebook"], row["data"], row["parameters"]) == (REAL, "real", "data real; trials 3")
    assert 40 <= row["seconds"] < 60
    assert results.provenance(path)["command"] == "make papers"
    before = path.stat().st_mtime_ns
    progress.save(folder, path)
    assert path.stat().st_mtime_ns == before  # nothing was run, nothing is written
    assert progress.Board(folder, path).expected(REAL) == row["seconds"]


def test_a_pace_is_that_against_the_run_before(tmp_path, monkeypatch):
    """The expected time of a notebook is written before the run measures it."""
    times = tmp_path / "papers.csv"
    results.save(
        times, pd.DataFrame({"notebook": [REAL, "doc/b"], "seconds": [10.0, 100.0]}), {"command": "make papers"}
    )
    (tmp_path / "record").mkdir()
    (tmp_path / "record/plan").write_text(f"2\n{REAL}\ndoc/b\n")
    watch = progress.Watch(progress.Board(tmp_path / "record", times), REAL, 3)
    watch.at(1, before=50.0)
    watch.finished({})
    done, _, left = progress.Board(tmp_path / "record", times).state(progress.time.time())
    assert done == 1 and left == pytest.approx([100 * (50 + 30) / (10 + 30)], rel=0.05)


def test_a_notebook_that_is_run_again_keeps_its_last_time(tmp_path):
    """If it is interrupted, its time is still in the table, and the next run knows it."""
    for _ in range(2):
        watch = progress.Watch(progress.Board(tmp_path, tmp_path / "none.csv"), REAL, 3)
        if not progress.rows(tmp_path):
            watch.finished({})
    (row,) = progress.rows(tmp_path)
    assert row["notebook"] == REAL and watch.state["expected"] == row["seconds"]
    watch.finished({})


# ---- damaged files

DAMAGED = [
    "{",
    "[]",
    "",
    "null",
    "{}",
    "1",
    '{"done": true}',
    '{"done": false, "expected": 1}',
    '{"done": true, "expected": 1, "row": 3}',
    '{"done": true, "row": {"notebook": "doc/a", "seconds": 1}}',
    '{"done": true, "expected": 1, "row": {"notebook": "doc/a", "seconds": "nan"}}',
    '{"done": true, "expected": 1, "row": {"notebook": "", "seconds": 1}}',
    '{"done": true, "expected": 1e400, "row": {"notebook": "doc/a", "seconds": 1}}',
    '{"done": false, "expected": 1, "began": true, "cell": 1, "cells": 2}',
    "\x00",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_named_and_the_run_goes_on(board, tmp_path, capsys, text):
    whole = board(b=running(5)).line(NOW)
    made = board(b=running(5), a=finished("doc/a", 10, 20, expected=10))
    made.file("doc/a").write_text(text)
    os.utime(made.file("doc/a"), (NOW - 20,) * 2)
    progress._tell_once.cache_clear()
    again = progress.Board(made.folder, tmp_path / "papers.csv")
    assert again.line(NOW) == again.line(NOW) == whole
    assert capsys.readouterr().err.count(f"{made.file('doc/a')} is damaged") == 1
    watch = progress.Watch(again, "doc/a", 4)
    watch.finished({})
    assert json.loads(made.file("doc/a").read_text())["row"]["notebook"] == "doc/a"


@pytest.mark.parametrize("text", ["", "{", "a,b\n1,2\n", "notebook,seconds\ndoc/a,many\n"])
def test_a_damaged_table_of_times_is_named_and_no_time_is_known(board, tmp_path, capsys, text):
    folder = board().folder
    (tmp_path / "papers.csv").write_text(text)
    progress._tell_once.cache_clear()
    assert progress.Board(folder, tmp_path / "papers.csv").known == {}
    assert "papers.csv is damaged" in capsys.readouterr().err


def test_an_empty_plan_is_that_of_a_notebook_by_itself(board, tmp_path):
    folder = board().folder
    (folder / "plan").write_text("")
    assert progress.Board(folder, tmp_path / "papers.csv").line(NOW).startswith("papers     0 of 0 notebooks done")
