"""What platforms import is read here as their sources, which `exports` names, say that they read it."""

import csv
import hashlib
import json
import re
import subprocess
import sys
import zipfile

import pytest

from notebooks.assignments import assignment, exports, submissions

NAME = "gaussian_records"
KEYS = {NAME: assignment.key(NAME), "laplace": assignment.key("laplace")}


def record(student, file, points=2.0, name=NAME, **more):
    question = {
        "id": "gaussian-test-means",
        "part": "1. Two Gaussians",
        "points": points,
        "out_of": 22.0,
        "note": "<b>",
    }
    known = {"student": student, "file": file, "assignment": name, "language": "en", "problems": ["a cell is missing"]}
    known |= {"digest": f"digest of {file}", "called": submissions.named(file, KEYS) if file else ""}
    return known | {"questions": [question]} | more


def written(folder, *records):
    exports.write(list(records), KEYS, folder)
    return folder


def cells(path):
    """Return the rows of a table as Canvas and Moodle read it: Moodle drops the byte-order mark, Canvas keeps it."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def canvas(path):
    """Return {(Canvas's number, or else the login): {assignment: (points, possible)}}, as `gradebook_importer.rb` finds it."""
    head, *rows = cells(path)
    assert "Student" in head[0] and "ID" in head[1]  # `row_has_student_headers?`
    assert re.search(r"SIS\s+User\s+ID", head[2]) and re.search(r"SIS\s+Login\s+ID", head[3])  # `update_column_count`
    assert "Section" in head[4]  # `header?`: the last column about the student
    [possible] = [row for row in rows if "Points Possible" in row[0]]  # `check_for_non_student_row`
    assert rows[0] is possible
    return {
        row[1] or row[3]: {name: (row[at], possible[at]) for at, name in enumerate(head) if at >= 5} for row in rows[1:]
    }


def moodle(path):
    """Return {number: points} of a worksheet, as `importgradeslib.php` finds it."""
    head, *rows = cells(path)
    head = [name.removeprefix("\ufeff") for name in head]
    number, grade, modified = map(head.index, ("Identifier", "Grade", "Last modified (grade)"))
    assert all(
        len(row) == len(head) and row[modified] == "" for row in rows
    )  # `csv_import_reader` refuses other lengths
    return {row[number][len("Participant ") :]: row[grade] for row in rows}


SATO = f"sato_late_12345_67890_{NAME}.ipynb"
MOODLE = "Sato Ken_{}_assignsubmission_file_/x.ipynb"


def test_canvas_finds_students_by_its_number_or_by_the_login(tmp_path):
    two = [record("bob", f"bob_{number}_67890_{NAME}.ipynb") for number in (1, 2)]
    made = written(tmp_path, record("ann", "ann/x.ipynb", 7.5), record("sato", SATO, None), record("zoe", ""), *two)
    assert canvas(made / "canvas.csv") == {
        "ann": {NAME: ("7.5", "22")}, "12345": {NAME: ("", "22")}, "zoe": {NAME: ("2", "22")}, "bob": {NAME: ("2", "22")}
    }  # fmt: skip
    assert not list(made.glob("moodle*")) + list(made.glob("gradescope*"))


def test_moodle_finds_each_participant_of_an_assignment(tmp_path):
    records = [record("Sato Ken", MOODLE.format(4711)), record("Sato Ken", MOODLE.format(4712), 5.0),
               record("ann", "ann/x.ipynb"), record("mori", "mori_9_assignsubmission_file_/x.ipynb", None),
               record("Sato Ken", MOODLE.format(31), 1.0, "laplace")]  # fmt: skip
    made = written(tmp_path, *records)
    assert moodle(made / f"moodle-{NAME}.csv") == {"4711": "2", "4712": "5", "9": ""}
    assert moodle(made / "moodle-laplace.csv") == {"31": "1"}


def gradescope(made, folder, *files, number=None):
    """Return the results for a submission of `files`, and how the autograder's zip file is packed."""
    for name in ("source", "submission/below", "results"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for at, content in enumerate(files):
        (folder / f"submission/below/{at}").write_bytes(content)
    if number:
        (folder / "submission_metadata.json").write_text(json.dumps({"id": number, "users": []}))
    with zipfile.ZipFile(made) as archive:
        archive.extractall(folder / "source")
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    program = (folder / "source/run_autograder").read_text().replace('"/autograder"', repr(str(folder)))
    assert str(folder) in program
    subprocess.run([sys.executable, "-c", program], check=True)
    return json.loads((folder / "results/results.json").read_text()), modes


def test_gradescope_looks_up_the_marks_of_a_file_and_runs_none_of_its_code(tmp_path):
    one, other, waiting = (hashlib.sha256(content).hexdigest() for content in (b"one", b"other", b"waiting"))
    late = {"days": 1, "free": 0, "lost": 50.0}
    made = written(tmp_path / "out", record("submission_1", "submission_1/x.ipynb", digest=one, late=late),
                   record("submission_2", "submission_2/x.ipynb", 5.0, digest=other),
                   record("submission_3", "submission_3/x.ipynb", None, digest=waiting))  # fmt: skip
    made = made / f"gradescope-{NAME}.zip"
    found, modes = gradescope(made, tmp_path / "a", b"data", b"one")
    assert {"setup.sh", "run_autograder"} <= modes.keys() and modes["run_autograder"] & 0o111
    assert found["score"] == 1 and found["visibility"] == "after_published"
    assert found["output"].startswith("a cell is missing\nDays late: 1")
    [test] = found["tests"]
    assert test == {"name": "1. Two Gaussians: gaussian-test-means", "score": 2, "max_score": 22, "output": "<b>"}
    assert {found[each] for each in ("output_format", "test_output_format", "test_name_format")} == {"text"}
    assert gradescope(made, tmp_path / "b", b"one", b"other")[0]["score"] == 5, "the best of several files"
    for content in (b"waiting", b"unknown"):
        assert gradescope(made, tmp_path / content.decode(), content)[0] == {
            "score": 0, "output": "This submission is not graded yet."
        }  # fmt: skip


def test_gradescope_gives_each_of_two_students_with_equal_files_the_own_marks(tmp_path):
    digest, late = hashlib.sha256(b"same").hexdigest(), {"days": 1, "free": 0, "lost": 50.0}
    made = written(tmp_path / "out", record("submission_1", "submission_1/x.ipynb", 8.0, digest=digest),
                   record("submission_2", "submission_2/x.ipynb", 8.0, digest=digest, late=late))  # fmt: skip
    made = made / f"gradescope-{NAME}.zip"
    for number, score in ((1, 8), (2, 4), (3, 0), (None, 0)):
        assert gradescope(made, tmp_path / str(number), b"same", number=number)[0]["score"] == score


@pytest.mark.parametrize("top", ["", "assignment_77_export/"])
def test_gradescope_s_folders_are_students_and_its_list_is_not(tmp_path, top):
    for number in (1, 2):
        (tmp_path / f"{top}submission_{number}").mkdir(parents=True)
        (tmp_path / f"{top}submission_{number}/{NAME}.ipynb").write_bytes(b"{}")
    (tmp_path / f"{top}submission_metadata.yml").write_text("submission_1: {}")
    found = submissions.collect(tmp_path, KEYS)
    assert [each.student for each in found] == ["submission_1", "submission_2"]
    assert {each.digest for each in found} == {hashlib.sha256(b"{}").hexdigest()}
