"""`make grade` on a class where everything that can go wrong does: graded as far as possible, reported by name."""

import csv
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import nbformat
import pytest

from notebooks.assignments import grade as command
from notebooks.assignments.tables import read_table as table
from tests.classroom import hostile
from tests.classroom.class_of_all import IN_BYTES, NOTEBOOKS, cell, reference, with_own_cell
from tests.classroom.conftest import fingerprint

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = "gaussian_records"
FULL = 16.0  # points by tests
BY_HAND = {"gaussian-explain-size": 3.0, "gaussian-explain-sigma": 3.0}


def grade(*arguments) -> int:
    """Run the command in this process, which has loaded what it needs."""
    with mock.patch.object(sys, "argv", ["grade", *map(str, arguments)]):
        return command.main()


@pytest.fixture(scope="module")
def rows(graded):
    return {(row["student"], row["file"]): row for row in table(graded / "grades.csv")}


def row_of(rows, student):
    [row] = [row for (name, _), row in rows.items() if name == student]
    return row


REPEATED = re.compile("handed in more than once, see also .*?; each is graded, and the best counts(; )?")


@pytest.mark.parametrize("what", [what for what in NOTEBOOKS if what != "good"])
def test_everything_that_can_be_graded_is(graded, rows, what):
    _, expected, said = NOTEBOOKS[what]
    [row] = [row for (who, file), row in rows.items() if who.startswith("bad luck ") and f"/{what}/" in file]
    marks = [mark for mark in table(graded / "marks.csv") if mark["file"] == row["file"]]
    lost = {
        mark["question"].split("-test-")[1] for mark in marks if "-test-" in mark["question"] and mark["points"] == "0"
    }
    assert lost == expected, row
    problems, repeated = REPEATED.subn("", row["problems"])
    assert repeated == 1 and re.search(said, problems), problems
    if not said:
        assert problems == ""
    assert float(row["to_mark"]) == 6


@pytest.mark.parametrize(("student", "problem"), [
    ("cut off", "not a notebook"), ("void", "not a notebook"), ("list", "not a notebook"), ("latin", "not a notebook"),
    ("odd", "2 cells cannot be read"), ("essay", "no notebook, only essay/essay.pdf"), ("absent", "nothing handed in"),
    ("linked", "a link, not a file"), (r"\x1b[2J", "nothing handed in"), ("bad", "the zip file cannot be read"),
])  # fmt: skip
def test_what_cannot_be_graded_is_reported_by_name(graded, rows, student, problem):
    row = row_of(rows, student)
    assert problem in row["problems"] and row["points"] == "0"
    assert f"{student}: " in (graded.parent / "printed").read_text()
    if student in ("cut off", "void", "list", "latin", "linked"):
        assert (row["assignment"], row["out_of"]) == (NAME, "22"), "by the file's name"


def test_files_are_known_by_what_is_in_them(rows):
    for student in ("renamed", "flat", "日本", "copycat", "MORI", *IN_BYTES):
        row = row_of(rows, student)
        assert (row["assignment"], row["points"]) == (NAME, f"{FULL:g}"), row
    assert rows["zipped", f"zipped.zip/folder/{NAME}.ipynb"]["points"] == f"{FULL:g}"
    assert "not a notebook" in rows["zipped", "zipped.zip/../../escape.ipynb"]["problems"]


def test_repeated_and_equal_submissions_are_all_graded_and_pointed_out(graded, rows):
    one, other = rows["good", f"good/{NAME}.ipynb"], rows["good", f"good/{NAME} (1).ipynb"]
    assert float(one["points"]) == FULL > float(other["points"]) > 0
    assert f"see also good/{NAME} (1).ipynb" in one["problems"] and f"see also good/{NAME}.ipynb" in other["problems"]
    assert "the same notebook as that of copycat" in one["problems"]
    assert "the same notebook as that of good" in row_of(rows, "copycat")["problems"]
    assert not [
        row["feedback"] for row in rows.values() if "the same notebook as" in (graded / row["feedback"]).read_text()
    ]
    assert len({row["feedback"] for row in rows.values()}) == len(rows)


def test_feedback_loads_nothing_from_outside_and_shows_no_hidden_test(graded, rows):
    hidden = hostile.lines_of("HIDDEN TESTS")
    assert hidden
    for row in rows.values():
        page = (graded / row["feedback"]).read_text()
        assert re.findall(r"""(?:src|href)=["']?(?!#|data:|\.\./)[^"'\s>]+""", page) == []
        assert "<script>alert" not in page
        assert html.escape(row["student"].lstrip("'")) in page
        executed = (graded / row["feedback"].replace("feedback", "executed").replace(".html", ".ipynb")).read_text()
        assert not any(line in executed for line in map(json.dumps, hidden))
    page = (graded / rows["good", f"good/{NAME}.ipynb"]["feedback"]).read_text()
    assert "16 of 22 points" in page and "to be marked" in page and "<math" in page and "$" not in page
    [forgetful] = [row for (_, file), row in rows.items() if "/forgetful/" in file]
    page = (graded / forgetful["feedback"]).read_text()
    assert "cell gaussian-more is missing" in page


def test_answers_stand_beside_their_rubric(graded):
    page = (graded / "by-hand.html").read_text()
    assert page.count("1 point:") == 6 and "私の答え" in page
    assert "<script>alert" not in page


def test_students_leave_nothing_behind(graded):
    assert not (ROOT / "grades.csv").exists() and not (ROOT / "gradebook.db").exists()
    assert {path.name for path in graded.iterdir()} == {
        "by-hand.csv",
        "by-hand.html",
        "executed",
        "feedback",
        "grades.csv",
        "marks.csv",
        "class.html",
        "canvas.csv",
        "platform.csv",
        "records",
    }
    assert "x" != (graded / "grades.csv").read_text()


# ---- marks given by hand


@pytest.fixture
def one(class_of_one, tmp_path):
    """Return a class of one good student, that was graded; records are found again by what was handed in."""
    return shutil.copytree(class_of_one, tmp_path / "one")


def test_marks_by_hand_are_added_and_none_is_lost(one, capsys):
    target = one / "out"
    rows = table(target / "by-hand.csv")
    assert {row["question"]: float(row["out_of"]) for row in rows} == BY_HAND
    assert all(row["points"] == "" for row in rows)
    before = fingerprint(target / "records")
    filled = one / "filled.csv"
    write_table(filled, [rows[0] | {"points": "2.5", "comment": "a pair of tables is missing"}, rows[1]])
    assert grade(one / "class", "-o", target, "--marks", filled) == 0
    assert fingerprint(target / "records") == before, "nothing is run again"
    [row] = table(target / "grades.csv")
    got = [row[name] for name in ("points", "by_tests", "by_hand", "to_mark", "out_of")]
    assert got == ["15.5", "13", "2.5", "3", "22"]
    assert "a pair of tables is missing" in (target / row["feedback"]).read_text()

    # What was entered is in the table that is written again, and what is filled in there counts as well.
    again = table(target / "by-hand.csv")
    assert [row["points"] for row in again] == ["2.5", ""]
    write_table(target / "by-hand.csv", [again[0], again[1] | {"points": "1"}])
    assert grade(one / "class", "-o", target) == 0
    assert table(target / "grades.csv")[0]["points"] == "16.5"

    # Points for a file that is there no longer stop the run, and stay in the table.
    (one / "class/ann").rename(one / "class/ann b")
    assert grade(one / "class", "-o", target) == 2
    assert f"in 'ann/{NAME}.ipynb', for which the table gives" in capsys.readouterr().err
    assert [row["points"] for row in table(target / "by-hand.csv")] == ["2.5", "1"]
    (one / "class/ann b").rename(one / "class/ann")
    assert table(target / "platform.csv") == [{"student": "ann", NAME: "16.5"}]
    heads = dict.fromkeys(("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), "")
    assert table(target / "canvas.csv") == [
        heads | {"Student": "Points Possible", NAME: "22"},
        heads | {"Student": "ann", "SIS Login ID": "ann", NAME: "16.5"},
    ]


def test_points_for_an_answer_in_another_place_stay(one):
    """The instructor adds a row for an answer that the student wrote into a new cell."""
    notebook = reference()
    cell(notebook, "gaussian-explain-size").source = "YOUR ANSWER HERE"
    nbformat.write(notebook, one / f"class/ann/{NAME}.ipynb")
    assert grade(one / "class", "-o", one / "out") == 0
    [row] = table(one / "out/by-hand.csv")
    added = row | {"question": "gaussian-explain-size", "points": "3", "comment": "below part 5", "answer": ""}
    write_table(one / "out/by-hand.csv", [row, added])
    for _ in range(2):
        assert grade(one / "class", "-o", one / "out") == 0
        assert table(one / "out/grades.csv")[0]["points"] == "19"


def test_marks_that_are_entered_while_a_run_goes_on_count_and_a_second_run_is_refused(one, monkeypatch):

    def graded(*arguments, real=command.grade_all):
        found = real(*arguments)
        rows = table(one / "out/by-hand.csv")
        write_table(one / "out/by-hand.csv", [rows[0] | {"points": "2"}, rows[1]])
        again = [sys.executable, "-m", "notebooks.assignments.grade", one / "class", "-o", one / "out"]
        done = subprocess.run(again, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2 and "another run writes to" in done.stderr
        return found

    monkeypatch.setattr(command, "grade_all", graded)
    assert grade(one / "class", "-o", one / "out") == 0
    assert [row["points"] for row in table(one / "out/by-hand.csv")] == ["2", ""]
    assert table(one / "out/platform.csv") == [{"student": "ann", NAME: ""}], "an answer is not marked yet"


def write_table(path, rows):
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.full
def test_a_run_that_was_stopped_goes_on(tmp_path):
    """The first run is killed when one record exists: the second run keeps that record, and makes the others."""
    target = tmp_path / "out"
    for student in ("ann", "bob"):
        (tmp_path / "class" / student).mkdir(parents=True)
        code = "import time; time.sleep(60)" if student == "bob" else ""
        nbformat.write(with_own_cell("gaussian-more", code), tmp_path / "class" / student / f"{NAME}.ipynb")
    command = [sys.executable, "-m", "notebooks.assignments.grade", tmp_path / "class", "-o", target, "--jobs", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert any(line.startswith("ann: ") for line in run.stdout)
        run.kill()
    [kept] = list((target / "records").glob("*.json"))
    before = kept.stat().st_mtime_ns
    nbformat.write(reference(), tmp_path / "class" / "bob" / f"{NAME}.ipynb")
    assert grade(tmp_path / "class", "-o", target) == 0
    assert kept.stat().st_mtime_ns == before and len(list((target / "records").glob("*.json"))) == 2
    assert [row["points"] for row in table(target / "grades.csv")] == ["16", "16"]


@pytest.mark.parametrize("text", ["{", "[]", "", "null", "{}", '{"student": 1}', "\x00"])
def test_a_damaged_record_is_named_and_counts_for_nothing(tmp_path, capsys, text):
    from notebooks.assignments import grade as command

    place = tmp_path / "record.json"
    assert not command._is_done(place) and not capsys.readouterr().err
    place.write_text(text)
    assert not command._is_done(place) and not place.exists()
    assert f"{place} is damaged" in capsys.readouterr().err


@pytest.mark.full
def test_what_could_not_be_graded_is_tried_again(one, monkeypatch, capsys):
    """This happens if the machine had no memory left for a moment."""
    shutil.rmtree(one / "out")
    monkeypatch.setattr(sys, "argv", ["grade", str(one / "class"), "-o", str(one / "out")])
    with monkeypatch.context() as hurt:
        hurt.setattr(command.judge, "grade", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert command.main() == 0
    assert table(one / "out/grades.csv")[0]["points"] == "0"
    assert "1 could not be graded" in capsys.readouterr().out
    assert command.main() == 0
    [row] = table(one / "out/grades.csv")
    assert row["points"] == "13" and row["problems"] == "" and "could not be graded" not in capsys.readouterr().out

    # The same later, when marks by hand are there, which it must not cost.
    write_table(one / "out/by-hand.csv", [row | {"points": "2"} for row in table(one / "out/by-hand.csv")])
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--cell-seconds", "31"])
    with monkeypatch.context() as hurt:
        hurt.setattr(command.judge, "grade", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert command.main() == 0
    assert [row["points"] for row in table(one / "out/by-hand.csv")] == ["2", "2"]
    assert command.main() == 0
    assert table(one / "out/grades.csv")[0]["points"] == "17"
