"""A class of hostile and unlucky students: each gets the right mark, no mark is lost, and no secret gets out.

The tests look at what `make grade` printed and wrote, as an instructor would.
"""

import csv
import re
from pathlib import Path

import pytest

from notebooks.assignments import confinement
from notebooks.assignments.tables import read_table
from tests.classroom import hostile
from tests.classroom.class_of_all import FORMULA

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAME = hostile.NAME

confined = pytest.mark.skipif(confinement.way() == "none", reason="nothing confines a process here")


@pytest.fixture(scope="module")
def rows(graded):
    return read_table(graded / "grades.csv")


def test_there_are_at_least_forty():
    assert len(hostile.CODE) + len(hostile.FILES) >= 40


@confined
@pytest.mark.sampled(10)
@pytest.mark.parametrize("trick", hostile.CODE)
def test_no_trick_earns_a_point(graded, rows, trick):
    [row] = [row for row in rows if row["student"].startswith("crook ") and f"/{trick}/" in row["file"]]
    assert row["points"] == "0" and row["out_of"] == "22", (row, (graded.parent / "printed").read_text())


def test_whoever_solved_it_gets_full_marks_beside_them(graded, rows):
    good = [row for row in rows if row["file"].endswith(f"/z/{NAME}.ipynb") or row["student"] == "odd editors"]
    assert len(good) == len(list((graded.parent / "class").glob("*/z"))) + 4 >= 5
    assert [row["points"] for row in good] == ["16"] * len(good), good
    assert all(float(row["to_mark"]) == 6 for row in good), "free text is not lost"


@pytest.mark.parametrize("what", hostile.FILES)
def test_what_cannot_be_graded_is_a_line_of_its_own(rows, what):
    found = [row for row in rows if row["student"] == what]
    assert found and all(float(row["points"]) == 0 for row in found)
    assert any(re.search(hostile.FILES[what][1], row["problems"]) for row in found), found


def test_nothing_outlives_the_run(graded):
    assert (graded.parent / "left").read_text() == ""


def test_nothing_gets_out(graded):
    assert not Path("/tmp/escaped").exists() and not (ROOT / "grades.csv").exists()
    assert not [path for path in graded.rglob("*") if path.is_file() and path.read_bytes() == b"escaped"]


def test_no_page_shows_what_is_hidden(graded, rows):
    secret = hostile.lines_of("HIDDEN TESTS", "SOLUTION")
    assert len(secret) > 20
    looked_at = [row for row in rows if row["student"].startswith("crook ") or row["student"] in hostile.FILES]
    tricks = list((graded.parent / "class").glob("crook */*"))
    assert len(looked_at) >= len(tricks) + len(hostile.FILES) > len(hostile.FILES)
    for row in looked_at:
        if "/z/" not in row["file"]:
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
    assert "\x1b" not in (graded.parent / "printed").read_text()
    assert f"'{FORMULA}" in {row["student"] for row in rows}


def test_every_page_and_the_run_say_how_it_was_confined(graded, rows):
    said = confinement.SAID[confinement.way()]
    assert said in (graded.parent / "printed").read_text() and said in (graded / "class.html").read_text()
    told = [row for row in rows if row["student"] != "languages"]  # who are told in theirs
    assert all(said in (graded / row["feedback"]).read_text() for row in told)
