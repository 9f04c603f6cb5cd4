"""The input of grading, before anything is run: the names and files of the class, and the instructor's marks and
commands."""

import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

import nbformat
import pytest

from notebooks.assignments import exports, feedback, submissions, tables
from notebooks.assignments import grade as command
from notebooks.assignments.tables import read_table as table
from tests.classroom import hostile
from tests.house.test_house import plain

ROOT = Path(__file__).resolve().parents[2]
NAME = "gaussian_records"


@pytest.mark.parametrize(("row", "message"), [
    ("ann,x,ann/gaussian_records.ipynb,gaussian-explain-size,3,4,", r"must be in \[0, 3\], got 4"),
    ("ann,x,ann/gaussian_records.ipynb,gaussian-explain-size,3,good,", "line 2: points must be a number"),
    ("ann,x,nobody.ipynb,gaussian-explain-size,3,2,", "there is no question 'gaussian-explain-size' in 'nobody.ipynb'"),
])  # fmt: skip
def test_marks_that_cannot_be_are_refused(tmp_path, row, message):
    (tmp_path / "m.csv").write_text("student,assignment,file,question,out_of,points,comment\n" + row)
    with pytest.raises(ValueError, match=message):
        tables.enter_marks([answered("It is small.")], tables.read_marks(tmp_path / "m.csv"))


def answered(text, **more):
    """Return a record of ann's, with one answer to be marked by hand."""
    question = {"id": "gaussian-explain-size", "by_hand": True, "points": None, "out_of": 3.0, "note": "", "text": text}
    return {
        "student": "ann",
        "file": f"ann/{NAME}.ipynb",
        "assignment": NAME,
        "questions": [question],
        "problems": [],
    } | more


def test_an_answer_that_was_changed_is_to_be_marked_again():
    old, new = answered("It is small."), answered("I give up.")
    place = old["file"], "gaussian-explain-size"
    mark = {place: (3.0, "good", tables.sign_of(old, old["questions"][0]))}
    told = tables.enter_marks([old], mark) + tables.enter_marks([new], mark)
    assert old["questions"][0]["points"] == 3.0 and new["questions"][0]["points"] is None
    assert told == [f"{place[0]}: {problem}" for problem in new["problems"]]
    assert "changed after it got 3 points by hand" in told[0]


FILLED_IN = [f"student,file,question,out_of,points,comment\nann,ann/{NAME}.ipynb,gaussian-explain-size,3,2.5,a pair; of tables",
             f"file\tstudent\tquestion\tpoints\tcomment\r\nann/{NAME}.ipynb\tann\tgaussian-explain-size\t2,5\ta pair; of tables\r\n",
             f'question;comment;points;student;file\ngaussian-explain-size;"a pair; of tables";2,5;ann;ann/{NAME}.ipynb']  # fmt: skip


@pytest.mark.parametrize("saved", FILLED_IN)
def test_marks_are_read_as_spreadsheets_save_them(tmp_path, saved):
    (tmp_path / "m.csv").write_text(saved, encoding="utf-8-sig")
    record = answered("It is small.")
    assert tables.enter_marks([record], tables.read_marks(tmp_path / "m.csv")) == []
    [question] = record["questions"]
    assert (question["points"], question["note"]) == (2.5, "a pair; of tables")


def test_a_table_in_another_encoding_and_two_marks_for_one_answer_are_refused(tmp_path):
    (tmp_path / "m.csv").write_bytes(f"file,question,points,comment\n{NAME},a,2,佐藤".encode("cp932"))
    with pytest.raises(ValueError, match="m.csv must be in UTF-8: save it as"):
        tables.read_marks(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text("file,question,points,comment\nx,a,2,\nx,b,,\nx,b,1,\nx,a,1,")
    with pytest.raises(ValueError, match="line 5: another row marks 'a' in 'x'"):
        tables.read_marks(tmp_path / "m.csv")
    (tmp_path / "names.txt").write_bytes("佐藤".encode("cp932"))
    with pytest.raises(ValueError, match="names.txt must be in UTF-8"):
        tables.roster(tmp_path / "names.txt")


@pytest.mark.parametrize("comment", ['"good', '"good" work'])
def test_no_mark_vanishes_within_a_quote_that_does_not_end(tmp_path, comment):
    (tmp_path / "m.csv").write_text(f"file,question,points,comment\nx,a,2,\nx,b,2,{comment}\nx,c,1,\nx\n")
    with pytest.raises(ValueError, match="line 3: the quotes must match"):
        tables.read_marks(tmp_path / "m.csv")
    (tmp_path / "m.csv").write_text("file,question,points,comment\nx,c,1,\nx\n")
    assert tables.read_marks(tmp_path / "m.csv") == {("x", "c"): (1.0, "", "")}


def test_a_comment_without_points_stays_and_so_do_points_for_what_was_changed(tmp_path):
    record = answered("It is small.")
    [question] = record["questions"]
    place = record["file"], question["id"]
    tables.enter_marks([record], {place: (None, "read again", tables.sign_of(record, question))})
    assert (question["points"], question["note"]) == (None, "read again")
    tables.enter_marks([record], {place: (3.0, "good", "another")})
    assert (question["points"], question["note"]) == (None, "(3 points before it was changed) good")


def record(points, **more):
    return answered("") | {"questions": [{"points": points, "out_of": 17.0}]} | more


def test_a_cell_for_the_platform_is_empty_until_nothing_can_change_it():
    open_still = {"questions": [{"points": 12.0, "out_of": 14.0}, {"points": None, "out_of": 3.0}]}
    failed = {"given_up": True}
    for files, cell in (
        ([record(12.0)], "12"),
        ([record(None)], ""),
        ([record(0.0, **failed)], ""),
        ([record(17.0), record(0.0, **failed)], ""),
        ([record(15.0), record(0.0, **open_still)], "15"),  # where all marks together give no more
        ([record(14.0), record(0.0, **open_still)], ""),
        ([record(0.0)], "0"),
    ):
        assert exports.platform(files) == [{"student": "ann", NAME: cell}], files
    told = (
        "2 answers have no marks yet in by-hand.csv; until then, their cells in platform.csv and canvas.csv stay empty"
    )
    assert command._waiting([record(None), record(0.0, **open_still)]) == [told]
    assert (
        command._waiting([record(None)])[0].startswith("1 answer has no marks yet")
        and command._waiting([record(1)]) == []
    )


def test_of_several_files_the_best_counts():
    records = [record(0.0), record(17.0), record(3.0), record(2.0, student="bob", assignment="laplace")]
    assert exports.platform(records) == [
        {"student": "ann", NAME: "17", "laplace": ""}, {"student": "bob", NAME: "", "laplace": "2"}
    ]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), [
    (["{}/none"], "SUBMISSIONS must be a folder"),
    (["{}/class", "-o", "{}/class/out"], "the output must be outside the folder of submissions"),
    (["{}"], "SUBMISSIONS must contain at least one submission"),
    (["{}/class", "--variant", "a b"], "variant must be at most 40 letters"),
    (["{}/class", "--jobs", "0"], "jobs must be at least 1, got 0"),
    (["{}/class", "--cell-seconds", "nan"], "cell_seconds must be at least 1, got nan"),
    (["{}/class", "--bank", "{}/bank"], "BANK: gausian_records.py must be named after an assignment"),
])  # fmt: skip
def test_a_command_that_makes_no_sense_is_refused(tmp_path, monkeypatch, capsys, arguments, message):
    if message != "SUBMISSIONS must contain at least one submission":
        (tmp_path / "class/ann").mkdir(parents=True)
    if "--bank" in arguments:
        (tmp_path / "bank").mkdir()
        (tmp_path / "bank/gausian_records.py").write_text("")
    monkeypatch.setattr(sys, "argv", ["grade", *(argument.format(tmp_path) for argument in arguments)])
    assert command.main() == 2
    assert message in capsys.readouterr().err


def test_a_class_within_reach_of_students_is_refused(tmp_path, monkeypatch, capsys):
    (tmp_path / "class/ann").mkdir(parents=True)
    seen = []
    monkeypatch.setattr(command.confinement, "check", lambda hidden: seen.extend(hidden))
    monkeypatch.setattr(command, "grade_all", lambda *_: (_ for _ in ()).throw(ValueError("checked first")))
    (tmp_path / "names.txt").write_text("ann")
    (tmp_path / "m.csv").write_text("file,question,points,comment\n")
    given = ["--marks", tmp_path / "m.csv", "--bank", tmp_path / "class", "-o", tmp_path / "out"]
    monkeypatch.setattr(sys, "argv", list(map(str, ["grade", tmp_path / "class", *given])))
    assert command.main() == 2 and "checked first" in capsys.readouterr().err
    assert {*seen} >= {tmp_path / "class", tmp_path / "out", tmp_path / "m.csv"}


# ---- who handed in what


@pytest.mark.parametrize(("file", "student"), [
    ("tanaka/laplace.ipynb", "tanaka"),
    ("laplace/tanaka/x.ipynb", "tanaka"),
    ("tanaka/laplace/laplace.ipynb", "tanaka"),
    ("tanaka_laplace.ipynb", "tanaka"),
    ("laplace.ipynb", "laplace"),
    ("tanaka.zip/a/b.ipynb", "tanaka"),
    ("delaplace_laplace.ipynb", "delaplace"),
    ("laplace2_tanaka (1).ipynb", "2_tanaka (1)"),
    ("tanakalaplace.ipynb", "tanaka"),
    ("TANAKA.ZIP/a/b.ipynb", "TANAKA"),
    ("laplace/Tanaka_Laplace.IPYNB", "Tanaka"),
])  # fmt: skip
def test_the_student_is_read_off_the_path(file, student):
    assert submissions.named(file, {"laplace": None}) == student


@pytest.mark.parametrize(("student", "meant"), [
    ("sato", "sato"), ("Sato", "sato"), ("sato (1)", "sato"), ("sato_12345_67890_-1", "sato"), ("sato_late_12345_67890_", "sato"),
    ("Sato Ken_4711_assignsubmission_file_", "Sato Ken"), (unicodedata.normalize("NFD", "が ｻﾄｳ"), "が サトウ"), ("sato_LATE_12345_67890", "sato"),
    ("sato_2", "sato_2"), ("sato_2_345_678_", "sato_2"), ("sato_ken", ""), ("satou", ""),
    ("tanaka", ""),
])  # fmt: skip
def test_names_as_platforms_deliver_them_are_known_where_they_mean_one_student(student, meant):
    assert submissions._meant(student, ["sato", "Sato Ken", "sato_2", "Tanaka", "TANAKA", "が サトウ"]) == meant


def handed_in(folder: Path, *files: bytes | str) -> Path:
    """Write a notebook of its own below `folder` for each name."""
    for number, file in enumerate(files):
        path = os.path.join(os.fsencode(folder), os.fsencode(file))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_text(nbformat.writes(hostile.solved(f"Answer {number}")))
    return folder


def collected(folder: Path, known=()) -> list[submissions.Submission]:
    return submissions.collect(folder, {NAME: hostile.assignment.key(NAME)}, known)


MOODLE = "{}_{}_assignsubmission_file_/x.ipynb"


def test_a_zip_file_with_too_long_a_list_is_not_read(tmp_path, monkeypatch):
    """Each file in the list takes memory of the process that grades the class, also if it is ignored."""
    monkeypatch.setattr(submissions, "MOST_LISTED", 3)
    for count in (3, 4):
        with zipfile.ZipFile(tmp_path / f"ann{count}.zip", "w") as archive:
            archive.writestr("x.ipynb", nbformat.writes(hostile.solved()))
            for number in range(1, count):
                archive.writestr(f"lib/{number}.py", "")
    said = {each.student: each.problems for each in collected(tmp_path)}
    assert said == {"ann3": [], "ann4": ["the zip file cannot be read (it holds more than 3 files)"]}


def test_what_platforms_append_is_undone_without_a_list_of_students(tmp_path):
    files = MOODLE.format("Sato Ken", 4711), f"mori_late_12345_67890_{NAME}.ipynb", f"sato_2_{NAME}.ipynb"
    assert [each.student for each in collected(handed_in(tmp_path, *files))] == ["Sato Ken", "mori", "sato_2"]


@pytest.mark.parametrize("known", [(), ("Sato Ken",)])
def test_two_persons_of_one_name_are_two(tmp_path, known):
    files = MOODLE.format("Sato Ken", 4711), MOODLE.format("Sato Ken", 4712)
    one, other = collected(handed_in(tmp_path, *files), known)[-2:]
    assert (
        one.student != other.student
        and one.noted[0] == "several persons are called 'Sato Ken': rename their folders or files"
    )


@pytest.mark.parametrize("known", [(), ("Sato Ken", "mori")])
@pytest.mark.parametrize("zipped", [False, True])
def test_the_files_of_a_class_may_be_in_the_folder_or_zip_file_of_a_platform(tmp_path, zipped, known):
    files = MOODLE.format("Sato Ken", 4711), f"mori_12345_67890_{NAME}.ipynb"
    handed_in(tmp_path, *(f"week 1/{file}" for file in files))
    (tmp_path / "week 1/list.csv").write_text("Sato Ken")
    if zipped:
        shutil.make_archive(str(tmp_path / "week 1"), "zip", tmp_path / "week 1")
        shutil.rmtree(tmp_path / "week 1")
    found = collected(tmp_path, known)
    assert [(each.student, each.problems) for each in found] == [("Sato Ken", []), ("mori", [])]
    assert [exports._number(vars(each)) for each in found] == [("Moodle", "4711"), ("Canvas", "12345")]
    assert [each.changed is None for each in found] == [zipped] * 2, "the zip file's time is that of the instructor"


@pytest.mark.parametrize(("known", "beside"), [(("eve", "mori"), ()), ((), [f"mori_{NAME}.ipynb"])])
def test_nobody_hands_in_for_another_who_is_named_in_a_zip_file(tmp_path, known, beside):
    handed_in(tmp_path / "own", MOODLE.format("mori", 4711))
    shutil.make_archive(str(tmp_path / "class/eve"), "zip", tmp_path / "own")
    found = collected(handed_in(tmp_path / "class", *beside), known)
    assert [each.student for each in found if each.file.startswith("eve.zip")] == ["eve"]


def test_names_that_look_alike_are_noted(tmp_path):
    names = [unicodedata.normalize(form, "José") for form in ("NFC", "NFD")]
    files = [*(f"{name}/x.ipynb" for name in names), "Ken/x.ipynb"]
    found = {each.student: each.noted for each in collected(handed_in(tmp_path, *files))}
    told = {name: [f"several persons are called {name!r}: rename their folders or files"] for name in names}
    assert found == told | {"Ken": []}


@pytest.mark.slow
def test_whoever_handed_in_nothing_has_a_row(tmp_path, monkeypatch, capsys):
    ann, bob, zoe = collected(handed_in(tmp_path / "one", "bob/x.ipynb"), ["ann", "bob", "zoe"])
    assert (ann.student, ann.problems) == ("ann", ["nothing handed in"]) and zoe.student == "zoe" and bob.cells
    (tmp_path / "class/bob").mkdir(parents=True)
    (tmp_path / "names.txt").write_text("ann\nbob\n")
    given = ["grade", tmp_path / "class", "-o", tmp_path / "out", "--roster", tmp_path / "names.txt"]
    monkeypatch.setattr(sys, "argv", list(map(str, given)))
    assert command.main() == 0
    assert [row["student"] for row in table(tmp_path / "out/grades.csv")] == ["ann", "bob"]
    assert [row["student"] for row in table(tmp_path / "out/platform.csv")] == ["ann", "bob"]
    (tmp_path / "names.txt").write_text("ann\nann\n")
    assert command.main() == 2 and "ROSTER must contain one name per line, each listed once" in capsys.readouterr().err


SHIFT_JIS = "表 佐藤".encode("cp932")  # the second byte of the first letter is a backslash


def test_a_name_that_is_not_utf_8_is_read_and_shown_and_no_two_are_merged(tmp_path):
    """Such names come from Windows; a name may also hold letters that command a terminal."""
    names = [SHIFT_JIS, "田中".encode("cp932"), b"\xff\x80a", b"\xff\x81a", b"\x1b[2J", b"\\x1b[2J"]
    names += [letter.encode(code) for letter in ("表", "ｱ") for code in ("cp932", "utf-8")]
    names += [b"\xee\xf9", b"\x81\xca"]  # two codes of one sign
    try:
        handed_in(tmp_path, *(name + b"/x.ipynb" for name in names))
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    os.mkdir(os.fsencode(tmp_path) + b"/\x83\xff")
    found = collected(tmp_path)
    students = {each.student for each in found}
    assert len(students) == len(found) == len(names) + 1 and {"表 佐藤", "田中"} <= students
    for letter in ("表", "ｱ"):
        [own] = [each for each in found if each.student == letter]
        answer = f"Answer {names.index(letter.encode())}"
        assert answer in [cell["source"] for cell in own.cells], "a name in UTF-8 is what it is"
    assert [each.problems for each in found if not each.cells] == [["nothing handed in"]]
    for each in found:
        assert each.student.isprintable() and each.file.isprintable()
        told = command._summary(vars(each) | {"assignment": "", "questions": []})
        told.encode(), json.dumps(vars(each)), feedback.PAGE.format(title=each.student, body="", language="en").encode()
    assert len({feedback._safe(each.student) for each in found}) == len(found)


def test_a_class_in_a_folder_with_such_a_name_is_graded(tmp_path, monkeypatch):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + SHIFT_JIS))
    (folder / "absent").mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", ["grade", str(folder), "-o", os.fsdecode(os.fsencode(folder) + b"-graded")])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert command.main() == 0
    sys.stdout.flush()
    assert b"1 graded in" in sys.stdout.buffer.getvalue()


def test_names_in_a_zip_file_from_windows_are_read(tmp_path):
    archive = tmp_path / "ann.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(f"{'?' * len(SHIFT_JIS)}/x.ipynb", nbformat.writes(hostile.solved()))
    archive.write_bytes(archive.read_bytes().replace(b"?" * len(SHIFT_JIS), SHIFT_JIS))
    assert [(each.student, each.file) for each in collected(tmp_path)] == [("ann", "ann.zip/表 佐藤/x.ipynb")]


def test_saved_outputs_cost_nothing_and_long_cells_are_refused(tmp_path):
    notebook = hostile.solved()
    notebook.cells[-1].source = "x" * (submissions.LARGEST_CELLS + 1)
    (tmp_path / "zoe.ipynb").write_text(nbformat.writes(notebook))
    notebook = hostile.solved()
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.outputs = [nbformat.v4.new_output("display_data", {"image/png": "x" * (25 * 2**20)})]
    (tmp_path / "ann.ipynb").write_text(nbformat.writes(notebook))
    ann, zoe = collected(tmp_path)
    assert ann.problems == [] and len(ann.cells) == len(notebook.cells) and len(json.dumps(vars(ann))) < 10**5
    assert zoe.cells == [] and "without their outputs" in zoe.problems[0]


AGAIN = "{} is defined again after cell {}; the last definition counts, so delete the others"


@pytest.mark.parametrize(("ident", "code", "said"), [
    ("gaussian-renyi", "def renyi(*_): return 0", AGAIN.format("renyi", "gaussian-renyi")),
    ("gaussian-needed", "answers = {}", AGAIN.format("answers", "gaussian-needed")),
    ("gaussian-renyi", "answers = {}", ""),
    ("gaussian-renyi", "scratch = 1\ndef helper(): renyi = 3", ""), ("gaussian-renyi", "def renyi(:", ""),
    ("gaussian-renyi", "%matplotlib inline", ""), ("gaussian-renyi", None, ""),
])  # fmt: skip
@pytest.mark.parametrize("copied", [False, True])
def test_a_second_definition_after_the_right_one_is_told(ident, code, said, copied):
    """JupyterLab gives a copied cell a new id, and leaves its mark as the solution of a question."""
    key, handed = hostile.assignment.key(NAME), hostile.solved()
    [index] = [number for number, cell in enumerate(handed.cells) if cell.id == ident]
    right = handed.cells[index]
    own = nbformat.v4.new_code_cell(right.source if code is None else code, metadata=right.metadata if copied else {})
    handed.cells.insert(index + 1, own)
    submission = submissions.Submission("ann", "x")
    submissions._parse(submission, handed, {NAME: key})
    submissions.merge(key, hostile.assignment.student(key), submission)
    assert submission.problems == [said] * bool(said)


def test_whoever_has_no_variant_is_told(tmp_path):
    for student in ("Sato_4711_assignsubmission_file_", "mori"):
        (tmp_path / student).mkdir()
        (tmp_path / student / "laplace.ipynb").write_text("")
    mori, sato = submissions.collect(tmp_path, {"laplace": hostile.assignment.key("laplace")}, {"sato": "v"})
    assert (mori.student, sato.student) == ("mori", "sato")
    assert "'Sato_4711_assignsubmission_file_' was identified as 'sato'" in sato.noted
    [told] = command._not_known([vars(mori), vars(sato)], "default")
    assert told == "graded as 'default', because they are not in VARIANTS or ROSTER: mori" and any(
        submissions.NOT_KNOWN in each for each in mori.problems
    )


def test_a_folder_zipped_with_its_environment_is_graded(tmp_path):
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        for number in range(submissions.MOST_MEMBERS + 1):
            archive.writestr(f"gaussian/.venv/lib/{number}.py", "")
            archive.writestr(f"gaussian/env/site-packages/{number}.py", "")
        archive.writestr(f"gaussian/{NAME}.ipynb", nbformat.writes(hostile.solved()))
    [found] = submissions.collect(tmp_path, {NAME: hostile.assignment.key(NAME)})
    assert found.cells and found.problems == []


def test_other_notebooks_in_the_zip_do_not_count(tmp_path):
    other = json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "A lecture"}]})
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        for number in range(submissions.MOST_FILES + 1):
            archive.writestr(f"course/{number}.ipynb", other)
        archive.writestr(f"course/{NAME}.ipynb", nbformat.writes(hostile.solved()))
    found = submissions.collect(tmp_path, {NAME: hostile.assignment.key(NAME)})
    assert [each.problems for each in found if each.name] == [[]] and len(found) == submissions.MOST_FILES + 2


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_in_a_zip_are_two(tmp_path):
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        for answer in ("One answer", "Another answer"):
            archive.writestr(f"{NAME}.ipynb", nbformat.writes(hostile.solved(answer)))
    found = submissions.collect(tmp_path, {NAME: hostile.assignment.key(NAME)})
    assert [(each.student, each.name) for each in found] == [("ann", NAME)] * 2 and found[0].file != found[1].file


def test_what_can_be_mended_is_read_or_comes_with_advice(tmp_path):
    inner = tmp_path / "inner.zip"
    inner.write_bytes(b"PK")
    for student in ("ann", "bob", "zoe"):
        (tmp_path / student).mkdir()
    with zipfile.ZipFile(tmp_path / "ann/outer.zip", "w") as archive:
        archive.write(inner, "a/inner.zip")
    inner.unlink()
    (tmp_path / "bob/x.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": []}]}))
    (tmp_path / "zoe/x.ipynb").write_text(nbformat.writes(hostile.solved()), encoding="utf-16")
    ann, bob, zoe = submissions.collect(tmp_path, {NAME: hostile.assignment.key(NAME)})
    assert ann.problems == ["a zip file within a zip file: unpack it, and run this again"]
    assert bob.problems == ["not a notebook: it has an old format: open it in Jupyter, save it, and run this again"]
    assert (zoe.name, zoe.problems) == (NAME, [])


def test_a_notebook_copied_into_one_s_own_variant_is_known_as_a_copy(tmp_path):
    for student in ("ann", "bob"):
        copied = hostile.solved()
        [parameters] = [cell for cell in copied.cells if cell.id == "parameters"]
        parameters.source = f"seed: int = {len(list(tmp_path.iterdir()))}"
        nbformat.write(copied, tmp_path / f"{student}_{NAME}.ipynb")
    for student in ("moe", "zoe"):
        nbformat.write(hostile.assignment.student(hostile.assignment.key(NAME)), tmp_path / f"{student}_{NAME}.ipynb")
    ann, bob, moe, zoe = submissions.collect(tmp_path, {NAME: hostile.assignment.key(NAME)})
    assert moe.problems == zoe.problems == [], "nothing is no copy"
    assert (ann.noted, bob.noted) == (["the same notebook as that of bob"], ["the same notebook as that of ann"])
    assert ann.problems == bob.problems == [], "students read these"


def test_a_login_is_exported_as_it_is_and_a_formula_is_not(tmp_path):
    names = ["-tanaka", "@ken", "+81.sato", "=1+1", "-2+3", "@SUM(A1)", "+cmd|' /C calc'!A1"]
    tables.table(tmp_path / "x.csv", [{"student": name} for name in names])
    assert [row["student"] for row in table(tmp_path / "x.csv")] == names[:3] + [f"'{name}" for name in names[3:]]


@pytest.mark.parametrize("between", [";", "\t", "\r", "\n"])
def test_no_cell_of_a_table_holds_a_formula_in_a_program_that_separates_otherwise(tmp_path, between):
    """It looks for quotes at the beginning of a cell only."""
    attack = [
        f"x{between}{space}{sign}cmd|' /C calc'!A0{between}x"
        for sign in "=+-@＝＋－＠"
        for space in ("", " ", "'", '"')
    ]
    tables.table(tmp_path / "x.csv", [{"student": "ann", "note": each, "file": "f"} for each in attack])
    cells = re.split("[;\t\r\n]+", (tmp_path / "x.csv").read_text(encoding="utf-8-sig"))
    assert [each for each in cells if re.match(r"\s*[=+@＝＋－＠-]", each)] == []
    assert [tables._uncelled(row["note"]) for row in table(tmp_path / "x.csv")] == attack


def test_what_is_in_a_cell_can_be_read_again():
    """Files and comments come back from a table; marks by hand belong to a file."""
    for letters in itertools.product("';=-a \t", repeat=5):
        value = "".join(letters)
        assert tables._uncelled(tables._cell(value)) == value


def test_a_comment_comes_back_as_it_was(tmp_path):
    record = answered("It is small.")
    for _ in range(2):
        rows = [{"file": record["file"], "question": "gaussian-explain-size", "points": "1", "comment": "- good; = 2"}]
        tables.table(tmp_path / "m.csv", rows)
        [(_, said, _)] = tables.read_marks(tmp_path / "m.csv").values()
        assert said == "- good; = 2"


def test_make_grade_without_a_folder_says_what_is_missing():
    done = subprocess.run(
        ["make", f"PYTHON={sys.executable}", "grade"], cwd=ROOT, capture_output=True, text=True, env=plain()
    )
    assert done.returncode and "make grade SUBMISSIONS=folder" in done.stderr


@pytest.mark.parametrize("command", ["grade", "make_assignments"])
def test_windows_is_told_at_once_what_to_use(command):
    """Neither `fcntl` nor `resource` exists there, and a traceback says nothing to an instructor."""
    code = f"import runpy, sys; sys.platform = 'win32'; sys.modules['fcntl'] = None; runpy.run_module('notebooks.assignments.{command}')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Making and grading assignments needs Linux or macOS; on Windows, run the command in WSL\n"
