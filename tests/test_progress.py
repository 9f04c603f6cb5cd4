"""notebooks/progress.py: the line of a full run, the estimate of the time left, and the table of times."""

import json
import os

import pandas as pd
import pytest

from book import results
from notebooks import progress

NAMES = ["doc/a", "doc/b", "doc/c", "doc/d"]
NOW = 1_000_000.0


@pytest.fixture
def board(tmp_path):
    """A function that makes the board of a run that began 100 s ago; notebook e was up to date."""
    times = tmp_path / "papers.csv"
    results.save(
        times, pd.DataFrame({"notebook": NAMES, "seconds": [10.0, 20.0, 30.0, 40.0]}), {"command": "make papers"}
    )

    def make(**states) -> progress.Board:
        folder = tmp_path / "record"
        folder.mkdir(exist_ok=True)
        (folder / "plan").write_text("\n".join(["5", *NAMES]) + "\n")
        os.utime(folder / "plan", (NOW - 100, NOW - 100))
        for name, state in states.items():
            (folder / f"doc.{name}.json").write_text(json.dumps(state))
        return progress.Board(folder, times)

    return make


def finished(seconds, ago, expected=None):
    return {"finished": NOW - ago, "seconds": seconds, "expected": expected, "seen": NOW - ago, "cell": 9, "cells": 9}


def running(seconds, ago=0.5, expected=None):
    return {"seconds": seconds, "expected": expected, "seen": NOW - ago, "cell": 3, "cells": 9}


def test_before_anything_is_known(board, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", " -j2 --no-print-directory")
    # Two side by side: 10 and then 30 s on one, 20 and then 40 s on the other.
    assert board().line(NOW) == "papers     1 of 5 notebooks done, 1 min 40 s elapsed, about 1 min 00 s left"


def test_what_is_done_what_runs_and_what_is_left(board, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "-j2")
    told = board(a=finished(10, 20), b=running(5), c=running(12)).line(NOW)
    assert told == (
        "papers     2 of 5 notebooks done, 1 min 40 s elapsed, about 55 s left; "
        "at doc/b (cell 3 of 9), doc/c (cell 3 of 9)"
    )  # b in 15 s, then d; c in 18 s


def test_the_pace_of_this_run_counts(board, monkeypatch):
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    slow = board(a=finished(50, 20, expected=10))  # (50 + 30) / (10 + 30): twice as slow
    assert slow.state(NOW)[2] == [40, 60, 80]
    assert "3 min 00 s left" in slow.line(NOW)


def test_a_time_measured_here_counts_more_than_the_committed_one(board):
    assert board(b=finished(7, ago=5000, expected=7)).state(NOW)[2] == [10, 7, 30, 40]


def test_one_without_any_time_is_taken_for_a_usual_one(board):
    made = board()
    del made.known["doc/d"]
    assert made.state(NOW)[2] == [10, 20, 30, 20]


def test_one_that_shows_no_sign_of_life_does_not_run(board):
    done, at_work, left = board(a=running(5, ago=60), b=finished(3, ago=500)).state(NOW)
    assert (done, at_work) == (1, {}) and len(left) == 4  # b was finished before this run, and is to run again


def test_one_that_takes_longer_than_expected_is_not_about_to_end(board):
    assert board(a=running(300)).state(NOW)[2][0] == 30


def test_a_line_is_told_every_ten_seconds_whoever_tells_it(board, capsys):
    one, two = board(), board()
    os.utime(one.folder / "plan", (NOW - 100, NOW - 100))
    one.tell(now=NOW, always=True)
    two.tell(now=NOW + 9)
    assert len(capsys.readouterr().out.splitlines()) == 1
    two.tell(now=NOW + 10)
    one.tell(now=NOW + 11)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_table_of_times(tmp_path):
    folder, path = tmp_path / "record", tmp_path / "papers.csv"
    name = "miura2022/04_adult"
    made = progress.Board(folder, path)
    with progress.Watch(made, name, 3) as watch:
        watch.at(1, 3, 40.0)
        assert made.read(name)["seconds"] < 40
        watch.finished({"data": "real", "trials": 3})
    progress.save(folder, path)
    frame = results.load(path)
    assert frame.columns.tolist() == ["notebook", "seconds", "data", "parameters", "commit", "date"]
    (row,) = frame.to_dict("records")
    assert (row["notebook"], row["data"], row["parameters"]) == (name, "real", "data real; trials 3")
    assert 40 <= row["seconds"] < 60
    assert results.provenance(path)["command"] == "make papers"
    before = path.stat().st_mtime_ns
    progress.save(folder, path)
    assert path.stat().st_mtime_ns == before  # nothing was run, nothing is written
    assert progress.Board(folder, path).expected(name, made.read(name)) == row["seconds"]
