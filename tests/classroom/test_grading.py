"""`make grade` on a class where everything that can go wrong does: graded as far as possible, reported by name."""

import csv
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from notebooks.assignments.tables import read_table as table
from tests.classroom import hostile

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = "gaussian_records"
FULL = 16.0  # points by tests
BY_HAND = {"gaussian-explain-size": 3.0, "gaussian-explain-sigma": 3.0}


def reference():
    """What a good student hands in: solutions in the student version, nothing of the hidden tests."""
    return hostile.solved("My answer to {cell} is <script>alert(1)</script> $x^2$.")


def cell(notebook, ident):
    return next(cell for cell in notebook.cells if cell.id == ident)


def changed(ident, source):
    """A good solution with one cell replaced; None removes it."""
    notebook = reference()
    if source is None:
        notebook.cells.remove(cell(notebook, ident))
    else:
        cell(notebook, ident).source = source
    return notebook


def appended(ident, source):
    return changed(ident, cell(reference(), ident).source + "\n" + source)


def with_own_cell(before, source):
    notebook = reference()
    notebook.cells.insert(notebook.cells.index(cell(notebook, before)), new_code_cell(source))
    return notebook


def tampered():
    notebook = changed("gaussian-more", "def with_one_more(n, mu, v, x): return mu, v")
    cell(notebook, "gaussian-test-more").source = "assert True"
    notebook.cells.remove(cell(notebook, "gaussian-test-cost"))
    cell(notebook, "parameters").source = "alpha: int = 2"
    return notebook


def split():
    """One solution cell cut in two, as Jupyter's "split cell" does it: both parts keep the metadata."""
    notebook = reference()
    whole = cell(notebook, "gaussian-needed")
    function, _, rest = whole.source.partition("\n\n\n")
    whole.source = function
    notebook.cells.insert(notebook.cells.index(whole) + 1, new_code_cell(rest, metadata=whole.metadata))
    return notebook


def without_metadata():
    """As some editors leave it: new metadata, but the cells' ids are kept."""
    notebook = reference()
    notebook.metadata = {}
    for each in notebook.cells:
        each.metadata = {}
    return notebook


def last_year():
    notebook = reference()
    notebook.metadata["compendium"]["variant"] = "2019"
    return notebook


STUBBORN = "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass"

# student: (notebook, tests that are lost, what the table says)
NOTEBOOKS = {
    "good": (reference(), set(), ""),
    "endless": (
        appended("gaussian-more", "import time\nwhile True: time.sleep(1)"),
        set(),
        "cell gaussian-more: stopped: still running after 4 s",
    ),
    "endless function": (
        changed("gaussian-more", "import time\ndef with_one_more(*_):\n    while True: time.sleep(1)"),
        {"more", "cost"},
        "",
    ),
    "stubborn": (
        appended("gaussian-numeric", STUBBORN),
        {"numeric"},
        "cell gaussian-numeric: this cell was still running after 4 s",
    ),
    "hog": (
        appended("gaussian-more", "hoard = np.ones(10**10)"),
        set(),
        "cell gaussian-more: _ArrayMemoryError|MemoryError",
    ),
    "leaver": (
        appended("gaussian-numeric", "import os; os._exit(0)"),
        {"numeric"},
        "cell gaussian-numeric: this cell ended its process",
    ),
    "printer": (with_own_cell("gaussian-more", "while True: print('x' * 10_000)"), set(), r"cell \(own\): stopped"),
    "forgetful": (changed("gaussian-more", None), {"more", "cost"}, "cell gaussian-more is missing"),
    "tamperer": (
        tampered(),
        {"more", "cost"},
        "test gaussian-test-more was changed; .*test gaussian-test-cost was removed; .*|",
    ),
    "shadow": (with_own_cell("gaussian-more", "alpha = 77; sum = abs = None; divergence = None"), {"needed"}, ""),
    "thief": (
        with_own_cell(
            "gaussian-renyi", "open('grades.csv', 'w').write('x'); import pathlib; (pathlib.Path.home() / 'x').touch()"
        ),
        set(),
        "",
    ),
    "helper": (changed("gaussian-more", "with_one_more = joined"), {"more", "cost"}, ""),
    "split": (split(), set(), ""),
    "bare": (without_metadata(), set(), ""),
    "repeater": (last_year(), set(), "made for variant '2019', graded as 'default'"),
    "broken code": (
        changed("gaussian-more", "def with_one_more(:"),
        {"more", "cost"},
        "cell gaussian-more: SyntaxError in line 1: .*def with_one_more",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("all") / "class"
    for student, (notebook, *_) in NOTEBOOKS.items():
        (folder / student).mkdir(parents=True)
        text = nbformat.writes(notebook).replace("My answer", f"The answer of {student}")
        (folder / student / f"{NAME}.ipynb").write_text(text)
    text = nbformat.writes(reference())
    good = folder / "good" / f"{NAME}.ipynb"
    (folder / "good" / f"{NAME} (1).ipynb").write_text(nbformat.writes(changed("gaussian-more", "")))
    (folder / "copycat").mkdir()
    (folder / "copycat" / "mine.ipynb").write_text(good.read_text())
    (folder / "renamed").mkdir()
    (folder / "renamed" / "homework FINAL.txt").write_text(text.replace("My answer", "Mine"))
    (folder / f"flat_{NAME}.ipynb").write_text(text.replace("My answer", "An answer"))
    for student, content in {
        "cut off": text[:5000],
        "void": "",
        "list": "[1, 2]",
        "odd": '{"nbformat": 4, "cells": [3, {"source": 5}]}',
    }.items():
        (folder / student).mkdir()
        (folder / student / f"{NAME}.ipynb").write_text(content)
    (folder / "latin").mkdir()
    (folder / "latin" / f"{NAME}.ipynb").write_bytes(b"\xff\xfe\x00")
    (folder / "essay").mkdir()
    (folder / "essay" / "essay.pdf").write_bytes(b"%PDF-1.4")
    (folder / "absent").mkdir()
    (folder / "linked").mkdir()
    (folder / "linked" / f"{NAME}.ipynb").symlink_to(good)
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr(f"folder/{NAME}.ipynb", text.replace("My answer", "Zipped"))
        archive.writestr("../../escape.ipynb", "not JSON")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04 nothing")
    (folder / "日本").mkdir()
    (folder / "日本" / f"{NAME}.ipynb").write_text(text.replace("My answer", "私の答え"), encoding="utf-8")
    (folder / "good" / ".ipynb_checkpoints").mkdir()
    (folder / "good" / ".ipynb_checkpoints" / f"{NAME}-checkpoint.ipynb").write_text(text)
    return folder


def grade(folder, target, *options):
    return subprocess.run(
        [sys.executable, "-m", "notebooks.assignments.grade", folder, "-o", target, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def fingerprint(folder):
    return {
        path.relative_to(folder): (
            path.lstat().st_mtime_ns,
            "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in folder.rglob("*")
    }


@pytest.fixture(scope="module")
def graded(folder, tmp_path_factory):
    before = fingerprint(folder)
    target = tmp_path_factory.mktemp("grading") / "class"
    done = grade(folder, target, "--cell-seconds", "4", "--memory", "1024")
    assert done.returncode == 0, done.stdout + done.stderr
    assert fingerprint(folder) == before, "the submissions are only read"
    (target / "printed").write_text(done.stdout)
    return target


@pytest.fixture(scope="module")
def rows(graded):
    return {(row["student"], row["file"]): row for row in table(graded / "grades.csv")}


def row_of(rows, student):
    [row] = [row for (name, _), row in rows.items() if name == student]
    return row


@pytest.mark.parametrize("student", [student for student in NOTEBOOKS if student != "good"])
def test_everything_that_can_be_graded_is(graded, rows, student):
    _, expected, said = NOTEBOOKS[student]
    row = row_of(rows, student)
    marks = [mark for mark in table(graded / "marks.csv") if mark["student"] == student]
    lost = {
        mark["question"].split("-test-")[1] for mark in marks if "-test-" in mark["question"] and mark["points"] == "0"
    }
    assert lost == expected, row
    assert re.search(said, row["problems"]), row["problems"]
    if not said:
        assert row["problems"] == ""
    assert float(row["to_mark"]) == 6


@pytest.mark.parametrize(("student", "problem"), [
    ("cut off", "not a notebook"), ("void", "not a notebook"), ("list", "not a notebook"), ("latin", "not a notebook"),
    ("odd", "2 cells cannot be read"), ("essay", "no notebook, only essay/essay.pdf"), ("absent", "nothing handed in"),
    ("linked", "a link, not a file"), ("bad", "the zip file cannot be read"),
])  # fmt: skip
def test_what_cannot_be_graded_is_reported_by_name(graded, rows, student, problem):
    row = row_of(rows, student)
    assert problem in row["problems"] and row["points"] == "0"
    assert f"{student}: " in (graded / "printed").read_text()
    if student in ("cut off", "void", "list", "latin", "linked"):
        assert (row["assignment"], row["out_of"]) == (NAME, "22"), "by the file's name"


def test_files_are_known_by_what_is_in_them(rows):
    for student in ("renamed", "flat", "日本", "copycat"):
        row = row_of(rows, student)
        assert (row["assignment"], row["points"]) == (NAME, f"{FULL:g}"), row
    assert rows["zipped", f"zipped.zip/folder/{NAME}.ipynb"]["points"] == f"{FULL:g}"
    assert "not a notebook" in rows["zipped", "zipped.zip/../../escape.ipynb"]["problems"]


def test_repeated_and_equal_submissions_are_all_graded_and_pointed_out(rows):
    one, other = rows["good", f"good/{NAME}.ipynb"], rows["good", f"good/{NAME} (1).ipynb"]
    assert float(one["points"]) == FULL > float(other["points"]) > 0
    assert f"see also good/{NAME} (1).ipynb" in one["problems"] and f"see also good/{NAME}.ipynb" in other["problems"]
    assert "the same notebook as that of copycat" in one["problems"]
    assert "the same notebook as that of good" in row_of(rows, "copycat")["problems"]
    assert len({row["feedback"] for row in rows.values()}) == len(rows)


def test_feedback_loads_nothing_from_outside_and_shows_no_hidden_test(graded, rows):
    hidden = hostile.lines_of("HIDDEN TESTS")
    assert hidden
    for row in rows.values():
        page = (graded / row["feedback"]).read_text()
        assert re.findall(r"""(?:src|href)=["']?(?!#|data:|\.\./)[^"'\s>]+""", page) == []
        assert "<script>alert" not in page
        assert row["student"] in page
        executed = (graded / row["feedback"].replace("feedback", "executed").replace(".html", ".ipynb")).read_text()
        assert not any(line in executed for line in map(json.dumps, hidden))
    page = (graded / rows["good", f"good/{NAME}.ipynb"]["feedback"]).read_text()
    assert "16 of 22 points" in page and "to be marked" in page and (graded / "mathjax/tex-chtml.js").is_file()
    page = (graded / row_of(rows, "forgetful")["feedback"]).read_text()
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
        "mathjax",
        "canvas.csv",
        "platform.csv",
        "printed",
        "records",
    }
    assert "x" != (graded / "grades.csv").read_text()


# ---- marks given by hand


@pytest.fixture
def one(tmp_path):
    """A class of one good student."""
    (tmp_path / "class/ann").mkdir(parents=True)
    nbformat.write(changed("gaussian-needed", ""), tmp_path / f"class/ann/{NAME}.ipynb")
    return tmp_path


def test_marks_by_hand_are_added_and_none_is_lost(one):
    target = one / "out"
    assert grade(one / "class", target).returncode == 0
    rows = table(target / "by-hand.csv")
    assert {row["question"]: float(row["out_of"]) for row in rows} == BY_HAND
    assert all(row["points"] == "" for row in rows)
    before = fingerprint(target / "records")
    filled = one / "filled.csv"
    write_table(filled, [rows[0] | {"points": "2.5", "comment": "a pair of tables is missing"}, rows[1]])
    assert grade(one / "class", target, "--marks", filled).returncode == 0
    assert fingerprint(target / "records") == before, "nothing is run again"
    [row] = table(target / "grades.csv")
    got = [row[name] for name in ("points", "by_tests", "by_hand", "to_mark", "out_of")]
    assert got == ["15.5", "13", "2.5", "3", "22"]
    assert "a pair of tables is missing" in (target / row["feedback"]).read_text()

    # What was entered is in the table that is written again, and what is filled in there counts as well.
    again = table(target / "by-hand.csv")
    assert [row["points"] for row in again] == ["2.5", ""]
    write_table(target / "by-hand.csv", [again[0], again[1] | {"points": "1"}])
    assert grade(one / "class", target).returncode == 0
    assert table(target / "grades.csv")[0]["points"] == "16.5"

    # Points for a file that is there no longer stop the run, and stay in the table.
    (one / "class/ann").rename(one / "class/ann b")
    done = grade(one / "class", target)
    assert done.returncode == 2 and f"in 'ann/{NAME}.ipynb', which has" in done.stderr
    assert [row["points"] for row in table(target / "by-hand.csv")] == ["2.5", "1"]
    (one / "class/ann b").rename(one / "class/ann")
    assert table(target / "platform.csv") == [{"student": "ann", NAME: "16.5"}]
    heads = dict.fromkeys(("Student", "ID", "SIS User ID", "SIS Login ID", "Section"), "")
    assert table(target / "canvas.csv") == [
        heads | {"Student": "Points Possible", NAME: "22"},
        heads | {"Student": "ann", "SIS Login ID": "ann", NAME: "16.5"},
    ]


def test_points_for_an_answer_in_another_place_stay(one):
    """The instructor adds a row for what the student wrote into a cell of his own."""
    notebook = reference()
    cell(notebook, "gaussian-explain-size").source = "YOUR ANSWER HERE"
    nbformat.write(notebook, one / f"class/ann/{NAME}.ipynb")
    assert grade(one / "class", one / "out").returncode == 0
    [row] = table(one / "out/by-hand.csv")
    added = row | {"question": "gaussian-explain-size", "points": "3", "comment": "below part 5", "answer": ""}
    write_table(one / "out/by-hand.csv", [row, added])
    for _ in range(2):
        assert grade(one / "class", one / "out").returncode == 0
        assert table(one / "out/grades.csv")[0]["points"] == "19"


def test_marks_that_are_entered_while_a_run_goes_on_count_and_a_second_run_is_refused(one, monkeypatch):
    from notebooks.assignments import grade as command

    assert grade(one / "class", one / "out").returncode == 0

    def graded(*arguments, real=command.grade_all):
        found = real(*arguments)
        rows = table(one / "out/by-hand.csv")
        write_table(one / "out/by-hand.csv", [rows[0] | {"points": "2"}, rows[1]])
        done = grade(one / "class", one / "out")
        assert done.returncode == 2 and "another run writes to" in done.stderr
        return found

    monkeypatch.setattr(command, "grade_all", graded)
    monkeypatch.setattr(sys, "argv", ["grade", str(one / "class"), "-o", str(one / "out")])
    assert command.main() == 0
    assert [row["points"] for row in table(one / "out/by-hand.csv")] == ["2", ""]
    assert table(one / "out/platform.csv") == [{"student": "ann", NAME: "15"}]


def write_table(path, rows):
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_run_that_was_stopped_goes_on(tmp_path):
    """Killed when one record is there: the second run keeps that one, and makes the others."""
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
    done = grade(tmp_path / "class", target)
    assert done.returncode == 0, done.stderr
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


def test_what_could_not_be_graded_is_tried_again(one, monkeypatch, capsys):
    """As where the machine had no memory left for a moment."""
    from notebooks.assignments import grade as command

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
