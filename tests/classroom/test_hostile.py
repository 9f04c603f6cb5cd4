"""A class of hostile and unlucky students, all at once: each gets the mark that is due, nobody loses one, nothing gets out.

What `make grade` said and wrote is looked at from outside, as an instructor would.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

from notebooks.assignments import confinement
from notebooks.assignments.tables import read_table
from tests.classroom import hostile

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = hostile.NAME
CODE = {**hostile.EARNS_NOTHING, **hostile.STOPS_NOTHING}
FORMULA = "=1+1"
GOOD = ("colab", "nested answer", "other kernel", "surrogates")  # beside those in folders of the name z

confined = pytest.mark.skipif(confinement.way() == "none", reason="nothing confines a process here")


def processes() -> list[str]:
    """The command lines of all processes that this one may look at."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The submissions: hostile ones of a few students, each with a good one at the end; unlucky ones of a student each."""
    top = tmp_path_factory.mktemp("hostile")
    folder = top / "class"
    told = f"RESULTS, REPOSITORY = {str(top / 'out')!r}, {str(ROOT)!r}\n"
    for number, (what, code) in enumerate(CODE.items()):
        place = folder / f"crook {number // 10}" / what
        place.mkdir(parents=True)
        nbformat.write(hostile.unsolved(told + code), place / f"{NAME}.ipynb")
    for student in [*folder.iterdir(), folder / "good", folder / FORMULA]:
        (student / "z").mkdir(parents=True)
        nbformat.write(hostile.solved(f"My answer, {student.name}"), student / "z" / f"{NAME}.ipynb")
    for what, (make, _) in hostile.FILES.items():
        (folder / what).mkdir()
        make(folder / what)
    for student, notebook in {
        "colab": hostile.from_colab(),
        "surrogates": hostile.solved("half a character: \ud800"),
        "nested answer": hostile.solved("<div>" * 20_000 + "[" * 20_000),
    }.items():
        (folder / student).mkdir()
        (folder / student / "x.ipynb").write_text(json.dumps(notebook))
    other = hostile.solved("Another kernel")
    other.metadata["kernelspec"] = {"name": "ir", "language": "R", "display_name": "R"}
    (folder / "other kernel").mkdir()
    nbformat.write(other, folder / "other kernel" / f"{NAME}.ipynb")
    return folder


@pytest.fixture(scope="module")
def graded(folder):
    target = folder.parent / "out"
    command = [sys.executable, "-m", "notebooks.assignments.grade", folder, "-o", target]
    command += ["--cell-seconds", "4", "--notebook-seconds", "40", "--memory", "1024", "--jobs", "3"]
    with tempfile.TemporaryDirectory(prefix="hostile-") as own:  # other tests may grade at the same time
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"TMPDIR": own}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        (target / "printed").write_text(done.stdout)
        (target / "left").write_text("\n".join(line for line in processes() if own in line or "sleep 98765" in line))
    return target


@pytest.fixture(scope="module")
def rows(graded):
    return read_table(graded / "grades.csv")


def test_there_are_at_least_forty():
    assert len(CODE) + len(hostile.FILES) >= 40


@confined
@pytest.mark.parametrize("what", CODE)
def test_no_trick_earns_a_point(graded, rows, what):
    [row] = [row for row in rows if f"/{what}/" in row["file"]]
    assert row["points"] == "0" and row["out_of"] == "22", (row, (graded / "printed").read_text())


def test_whoever_solved_it_gets_full_marks_beside_them(rows):
    good = [row for row in rows if row["file"].endswith(f"/z/{NAME}.ipynb") or row["student"] in GOOD]
    assert len(good) >= 8
    assert [row["points"] for row in good] == ["16"] * len(good), good
    assert all(float(row["to_mark"]) == 6 for row in good), "free text is not lost"


@pytest.mark.parametrize("what", hostile.FILES)
def test_what_cannot_be_graded_is_a_line_of_its_own(rows, what):
    found = [row for row in rows if row["student"] == what]
    assert found and all(float(row["points"]) == 0 for row in found)
    assert any(re.search(hostile.FILES[what][1], row["problems"]) for row in found), found


def test_nothing_outlives_the_run(graded):
    assert (graded / "left").read_text() == ""


def test_nothing_gets_out(graded):
    assert not Path("/tmp/escaped").exists() and not (ROOT / "grades.csv").exists()
    assert not [path for path in graded.rglob("*") if path.is_file() and path.read_bytes() == b"escaped"]


def test_no_page_shows_what_is_hidden(graded, rows):
    secret = hostile.lines_of("HIDDEN TESTS", "SOLUTION")
    assert len(secret) > 20
    for row in rows:
        if "/z/" not in row["file"] and row["student"] not in GOOD:
            for path in (
                graded / row["feedback"],
                graded / row["feedback"].replace("feedback", "executed").replace(".html", ".ipynb"),
            ):
                text = path.read_text()
                assert not [line for line in secret if line in text], row["file"]


def test_a_table_holds_no_formula_and_no_page_a_command_for_the_screen(graded, rows):
    for table in ("grades", "marks", "by-hand", "platform", "canvas"):
        with (graded / f"{table}.csv").open(encoding="utf-8-sig", newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "@") or "\x1b" in cell]
    assert "\x1b" not in (graded / "printed").read_text()
    assert f"'{FORMULA}" in {row["student"] for row in rows}


def test_every_page_and_the_run_say_how_it_was_confined(graded, rows):
    said = confinement.SAID[confinement.way()]
    assert said in (graded / "printed").read_text() and said in (graded / "class.html").read_text()
    assert all(said in (graded / row["feedback"]).read_text() for row in rows)
