"""Marks that are right: a test's mark that the instructor overrides, due dates with late days, and anonymous answers."""

import copy
import os
import shutil
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from unittest import mock

import nbformat
import pytest

from notebooks.assignments import assignment, deadlines, exports, feedback, submissions, tables
from notebooks.assignments import grade as command
from notebooks.assignments.tables import code_of, read_table

NAME, TEST, ANSWER = "gaussian_records", "gaussian-test-needed", "gaussian-explain-size"
HEADS = "assignment,student,due,handed_in,late_days,per_day\n"
DUE = datetime(2026, 10, 12, 23, 59, tzinfo=UTC)


def record(student="ann", points=1.0, name=NAME, code="low = 0", file=""):
    """Return the record of a submission with a test and an answer."""
    question = {
        "id": TEST,
        "by_hand": False,
        "points": points,
        "out_of": 3.0,
        "note": "AssertionError: no",
        "text": "",
        "part": "",
    }
    answer = question | {"id": ANSWER, "by_hand": True, "points": None, "note": "", "text": f"What {student} thinks."}
    file = file or f"{student}/{name}.ipynb"
    return {"student": student, "file": file, "assignment": name, "questions": [question, answer], "problems": [], "noted": [], "called": student, "language": "en",
            "plan": [{"kind": "solution", "type": "code", "shown": code, "outcome": {"outputs": []}}], "walls": "none", "variant": "default",
            "shown": {"cells": [], "answers": {ANSWER: f"<p>What {student} thinks.</p>"}}}  # fmt: skip


# ---- marks by hand for tests


def test_a_test_s_mark_is_overridden_with_a_reason_and_comes_back_from_the_table(tmp_path):
    found = record()
    told = tables.enter_marks([found], {(found["file"], TEST): (2.5, "right, but for a slip", "")})
    assert told == [] and found["questions"][0] | {"points": 2.5, "tested": 1.0} == found["questions"][0]
    page = feedback.page(found)
    assert (
        "right, but for a slip (marked by hand; the test gave 1)" in page and "2.5 of 3" in page and ">no<" not in page
    )
    command.write([found], {NAME: assignment.key(NAME)}, tmp_path)
    [row, answer] = read_table(tmp_path / "by-hand.csv")
    assert (row["question"], row["points"], row["comment"]) == (TEST, "2.5", "right, but for a slip")
    assert (answer["question"], answer["points"]) == (ANSWER, "")
    [marked, _] = read_table(tmp_path / "marks.csv")
    assert (marked["points"], marked["note"]) == ("2.5", "right, but for a slip")
    again = record()
    tables.enter_marks([again], tables.read_marks(tmp_path / "by-hand.csv"))
    assert again["questions"][0] == found["questions"][0]

    # If the code changes, the points of the test count again, and the reason stays in the table.
    changed = record(code="low = 1")
    [said] = tables.enter_marks([changed], tables.read_marks(tmp_path / "by-hand.csv"))
    assert "was changed after it got 2.5 points by hand" in said and changed["questions"][0]["points"] == 1.0
    command.write([changed], {NAME: assignment.key(NAME)}, tmp_path)
    [row, _] = read_table(tmp_path / "by-hand.csv")
    assert (row["points"], row["comment"]) == ("", "(2.5 points before it was changed) right, but for a slip")


def test_a_mark_for_a_test_needs_a_reason():
    found = record()
    with pytest.raises(
        ValueError, match=f"'{TEST}' in 'ann/{NAME}.ipynb' is a test, so its 2 points must have a comment"
    ):
        tables.enter_marks([found], {(found["file"], TEST): (2.0, "", "")})
    with pytest.raises(ValueError, match=r"must be in \[0, 3\], got 4"):
        tables.enter_marks([found], {(found["file"], TEST): (4.0, "more", "")})


# ---- answers without names


def test_anonymous_answers_name_nobody_and_their_marks_arrive(tmp_path):
    found = [record(student) for student in ("ann", "bob", "zoe")]
    for each in found:
        each["questions"][1]["text"] = each["shown"]["answers"][ANSWER] = f"An answer of {code_of(each['file'])}."
    keys = {NAME: assignment.key(NAME)}
    command.write(copy.deepcopy(found), keys, tmp_path, anonymous=True)
    for name in ("by-hand.html", "by-hand.csv"):
        text = (tmp_path / name).read_text(encoding="utf-8-sig")
        assert not any(student in text for student in ("ann", "bob", "zoe"))
        places = [text.index(code_of(each["file"])) for each in found]
        assert sorted(range(3), key=places.__getitem__) == sorted(range(3), key=lambda i: code_of(found[i]["file"]))
    rows = read_table(tmp_path / "by-hand.csv")
    tables.table(tmp_path / "by-hand.csv", [row | {"points": str(number)} for number, row in enumerate(rows)])
    tables.enter_marks(found, tables.read_marks(tmp_path / "by-hand.csv"))
    codes = sorted(code_of(each["file"]) for each in found)
    assert [each["questions"][1]["points"] for each in found] == [codes.index(code_of(each["file"])) for each in found]


# ---- due dates


def due(tmp_path, *lines):
    (tmp_path / "due.csv").write_text(HEADS + "".join(f"{line}\n" for line in lines))
    return deadlines.read(tmp_path / "due.csv", assignment.names())


def after(days: float):
    return lambda _: (DUE + timedelta(days=days)).timestamp()


@pytest.mark.parametrize(("days", "late", "free", "left"), [
    (-1, 0, 0, 10), (0, 0, 0, 10), (1e-6, 1, 1, 10), (2, 2, 2, 10), (2.1, 3, 2, 9), (5, 5, 2, 7), (90, 90, 2, 0),
])  # fmt: skip
def test_each_day_after_the_late_days_costs_its_part(tmp_path, days, late, free, left):
    rows = due(tmp_path, ",,,,2,10", f"{NAME},,2026-10-12 23:59+00:00,,,")
    found = record(points=10.0)
    assert deadlines.apply([found], rows, after(days)) == []
    assert (found["late"]["days"], found["late"]["free"]) == (late, free)
    assert exports.totals(found)[0] == pytest.approx(left)
    assert (f"Days late: {late}, of which {free} are free." in feedback.page(found)) == (late > 0)


def test_the_row_that_says_most_counts_and_late_days_are_used_up_in_the_order_of_the_due_dates(tmp_path):
    rows = due(tmp_path, ",,2026-10-12 23:59Z,,1,20", "laplace,,2026-10-11 23:59Z,,,", ",ann,,,4,", "aim_by_hand,ann,,,,50",
               "laplace,bob,2026-10-15 08:59+09:00,,,", ",zoe,2026-10-13 23:59Z,,,", "laplace,zoe,,2026-10-14 12:00Z,,")  # fmt: skip
    found = {
        (student, name): record(student, 10.0, name)
        for student in ("ann", "bob", "zoe")
        for name in ("aim_by_hand", "laplace")
    }
    assert deadlines.apply(list(found.values()), rows, after(2)) == []
    lost = {place: (each["late"]["days"], each["late"]["free"], each["late"]["lost"]) for place, each in found.items()}
    assert lost == {
        ("ann", "laplace"): (3, 3, 0), ("ann", "aim_by_hand"): (2, 1, 50),
        ("bob", "laplace"): (0, 0, 0), ("bob", "aim_by_hand"): (2, 1, 20),
        ("zoe", "aim_by_hand"): (1, 1, 0), ("zoe", "laplace"): (1, 0, 20),
    }  # fmt: skip


def test_of_several_files_the_one_with_most_points_after_deductions_counts(tmp_path):
    rows = due(tmp_path, f"{NAME},,2026-10-12 23:59Z,,,25")
    early, late = record(points=8.0, file="ann/a.ipynb"), record(points=10.0, file="ann/b.ipynb")
    deadlines.apply([early, late], rows, lambda file: after(1 if file == "ann/b.ipynb" else -1)(file))
    assert exports.platform([early, late]) == [{"student": "ann", NAME: ""}]  # an answer waits for its mark
    for each in (early, late):
        each["questions"][1]["points"] = 0.0
    assert exports.platform([early, late]) == [{"student": "ann", NAME: "8"}]


def test_what_is_not_known_is_said(tmp_path):
    rows = due(tmp_path, f"{NAME},,2026-10-12 23:59Z,,,10", ",nobody,,,3,")
    assert deadlines.apply([record()], rows, lambda _: None) == [
        f"ann/{NAME}.ipynb: no time is known, so it counts as in time; give handed_in in DUE",
        "DUE names students without a submission: nobody",
    ]


@pytest.mark.parametrize(("line", "said"), [
    ("laplas,,2026-10-12 23:59Z,,,", "assignment must be empty or one of aim_by_hand, .*, got 'laplas'"),
    (",,2026-10-12 23:59,,,", "due must be a time with its distance from UTC, such as .*, got '2026-10-12 23:59'"),
    (",,tomorrow,,,", "due must be a time with its distance from UTC, .*, got 'tomorrow'"),
    (",ann,,2026-10-12 23:59Z,,", "a row with handed_in must name an assignment and a student"),
    (",,,,1.5,", r"late_days must be an integer in \[0, 1000\], got '1.5'"),
    ("laplace,,,,1,", "late_days is about all assignments, so assignment must be empty, got 'laplace'"),
    (",,,,,101", r"per_day must be a percentage in \[0, 100\], got '101'"),
    (",,,,2,", "another row for the same assignment and student gives the same column"),
])  # fmt: skip
def test_a_table_of_due_dates_that_cannot_be_is_refused(tmp_path, line, said):
    with pytest.raises(ValueError, match=f"due.csv, line 3: {said}"):
        due(tmp_path, ",,,,2,10", line)
    (tmp_path / "due.csv").write_text("assignment,due\nlaplace,2026\n")
    with pytest.raises(ValueError, match="DUE must have the columns assignment, student, due, .*, got assignment, due"):
        deadlines.read(tmp_path / "due.csv", assignment.names())


def test_the_time_of_a_file_is_its_own_or_that_of_its_zip_file_whatever_its_name_is(tmp_path):
    notebook = nbformat.writes(assignment.key(NAME))
    sato = tmp_path / os.fsdecode("佐藤".encode("cp932"))
    sato.mkdir()
    (sato / "a.ipynb").write_text(notebook)
    (tmp_path / "ann").mkdir()
    with zipfile.ZipFile(tmp_path / "ann/b.zip", "w") as archive:
        archive.writestr("in/c.ipynb", notebook)
    for number, path in enumerate((sato / "a.ipynb", tmp_path / "ann/b.zip"), 1):
        os.utime(path, (0, 1e9 * number))
    found = submissions.collect(tmp_path, {NAME: assignment.key(NAME)})
    assert {each.file: each.changed for each in found} == {"佐藤/a.ipynb": 1e9, "ann/b.zip/in/c.ipynb": 2e9}


@pytest.mark.slow
def test_the_command_enters_them_all(class_of_one, tmp_path):
    one = shutil.copytree(class_of_one, tmp_path / "one")
    file = f"ann/{NAME}.ipynb"
    (one / "due.csv").write_text(HEADS + f"{NAME},,2000-01-01 12:00Z,,,10\n{NAME},ann,,2000-01-02 13:00Z,,\n")
    (one / "marks.csv").write_text(
        f"file,question,points,comment\n{code_of(file)},{TEST},1,half a point less\n{file},{ANSWER},3,good\n"
        f"{file},gaussian-explain-sigma,0,empty\n"
    )
    options = ["--due", one / "due.csv", "--marks", one / "marks.csv", "--anonymous"]
    (one / "names.txt").write_text("ann\n")
    options += ["--roster", one / "names.txt"]
    looked_for: list = []
    with (
        mock.patch.object(sys, "argv", ["grade", *map(str, [one / "class", "-o", one / "out", *options])]),
        mock.patch.object(command.confinement, "check", looked_for.extend),
    ):
        assert command.main() == 0
    assert set(looked_for) == {one / name for name in ("class", "out", "due.csv", "marks.csv", "names.txt")}
    [row] = read_table(one / "out/grades.csv")
    assert (row["by_tests"], row["by_hand"], row["points"]) == ("14", "3", "13.6")
    assert row["late"] == "Days late: 2, of which 0 are free. 20 % of the points are deducted."
    assert read_table(one / "out/platform.csv") == [{"student": "ann", NAME: "13.6"}]
    assert {each["file"] for each in read_table(one / "out/by-hand.csv")} == {code_of(file)}
