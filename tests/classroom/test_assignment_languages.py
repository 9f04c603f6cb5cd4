"""Assignments in Japanese are handed out without English prose and graded like English ones, with feedback in
Japanese."""

import copy
import dataclasses
import html
import re
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from book.editions import catalogues
from book.editions.edition import NO_WORDS
from notebooks.assignments import assignment, language, make_assignments
from notebooks.assignments.tables import read_table
from tests.classroom.class_of_all import IN_BYTES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NAMES = assignment.names()
NAME = "gaussian_records"
MENU = "「Restart Kernel and Run All Cells」"  # which JupyterLab has in English


def texts(notebook) -> list[str]:
    return [cell.source for cell in notebook.cells if assignment.kind(cell) == "text"]


def english(markdown: str) -> list[str]:
    """Return the runs of three or more words in Latin letters, outside of code and formulas."""
    prose = re.sub(r"(?ms)^```.*?^```|^\$\$.*?\$\$", " ", markdown.replace(MENU, ""))
    return re.findall(r"[A-Za-z']+(?:[ \n,]+[A-Za-z']+){2,}", NO_WORDS.sub(" ; ", prose))


def letters(markdown: str) -> tuple[int, int]:
    """Return how many letters of Markdown, outside of code and formulas, are Latin, and how many Japanese."""
    prose = NO_WORDS.sub(" ", re.sub(r"(?ms)^```.*?^```|^\$\$.*?\$\$", " ", markdown))
    return len(re.findall(r"[A-Za-z]", prose)), len(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]", prose))


@pytest.mark.parametrize("name", NAMES)
def test_a_japanese_notebook_has_no_english_prose_and_the_same_code(cases, name):
    case = cases[name]
    there = language.handed_out(case, "ja").released
    assert english("\n\n".join(texts(case.released))) and not [line for each in texts(there) for line in english(each)]
    latin, japanese = letters("\n\n".join(texts(there)))
    assert latin < 0.1 * japanese
    for one, other in zip(case.released.cells, there.cells, strict=True):
        assert (one.id, one.metadata, one.cell_type) == (other.id, other.metadata, other.cell_type)
        assert one.source == other.source or assignment.kind(one) == "text"
        assert re.findall(r"(?ms)^\$\$.*?\$\$", one.source) == re.findall(r"(?ms)^\$\$.*?\$\$", other.source)
    assert there.metadata["compendium"] == {"assignment": name, "variant": "default", "language": "ja"}
    assert "language" not in case.released.metadata["compendium"]


def test_the_catalogues_have_the_messages_that_there_are():
    for page, found in language.everything().items():
        known = catalogues.messages(catalogues.load(catalogues.place(page, "ja")))
        assert {message.id for message in known} == found.keys(), f"{page}: make catalogues"


def test_the_name_of_a_case_is_a_message_wherever_a_test_keeps_it():
    assert "low for everything" in language._told_by_tests("private_parameters")  # a key of a dictionary
    assert "a program with about half the noise" in language._told_by_tests("laplace")  # in a list of tuples


def test_the_zip_is_in_japanese(cases, tmp_path):
    with zipfile.ZipFile(make_assignments.make(cases[NAME], tmp_path / f"{NAME}.zip", "ja")) as archive:
        start, notebook = (archive.read(f"{NAME}/{file}").decode() for file in ("START.md", f"{NAME}.ipynb"))
    assert f"`{NAME}.ipynb`" in start and not english(re.sub(r"(?m)^    .*$", "", start))
    assert texts(nbformat.reads(notebook, 4)) == texts(language.handed_out(cases[NAME], "ja").released)


def test_another_language_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["make_assignments", "--language", "fr"])
    assert (make_assignments.main(), capsys.readouterr().err) == (2, "LANGUAGE must be one of en, ja, got 'fr'\n")


def test_an_outdated_message_is_shown_in_english(cases, tmp_path, monkeypatch):
    """Its old translation, which `make catalogues` has marked, is not."""
    old, new = "for free text", "for answers in words"
    place = catalogues.place(f"assignments/{NAME}", "ja")
    copied = tmp_path / place.relative_to(catalogues.LOCALE)
    copied.parent.mkdir(parents=True)
    copied.write_bytes(place.read_bytes())
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path)
    known = [message.id for message in catalogues.messages(catalogues.load(copied))]
    catalogues.update(f"assignments/{NAME}", {message.replace(old, new): "paragraph" for message in known}, "ja")
    assert catalogues.state(copied) == (len(known), 0, 1)

    case = dataclasses.replace(cases[NAME], released=copy.deepcopy(cases[NAME].released))
    case.released.cells[0].source = case.released.cells[0].source.replace(old, new)
    language.translations.cache_clear()
    shown = texts(language.handed_out(case, "ja").released)[0].split("\n\n")
    language.translations.cache_clear()
    assert [new in each for each in shown] == [False, True, False]
    assert not english(shown[0]) and english(shown[1]) and not english(shown[2])


def test_a_sentence_is_known_by_its_own_words_and_translated_with_what_stands_in_it():
    assert language.say("given cell a-b was changed; the original ran", "ja").startswith("与えられたセルa-bが")
    nested = "renyi is not defined, because its cell stopped: stopped: still running after 30 s"
    assert "renyiが" in language.say(nested, "ja") and language.say(nested, "ja").endswith("30秒たっても実行中だった")
    assert language.say("cell a-b is missing", "en") == "cell a-b is missing"
    for own in ("ValueError: a grid of 100 points", "of course", "(.*) {1} \\1", "1: 2", ""):
        assert language.say(own, "ja") == own
    assert language.say("given cell " + "x" * 3000 + " was changed; the original ran", "ja").startswith("given")


# ---- a class with notebooks in both languages


def page(graded, what: str) -> str:
    [row] = [row for row in read_table(graded / "grades.csv") if row["file"].startswith(f"languages/{what}/")]
    return (graded / row["feedback"]).read_text(encoding="utf-8")


def prose(page: str) -> str:
    """Return the text of a page before and after the notebook, without the names of cells."""
    before, after = page.split("</table>")[0], page.rsplit("<p><small>")[-1]
    return html.unescape(re.sub(rf"<style>.*?</style>|<script>.*?</script>|<[^>]+>|[\w-]+-test-[\w-]+|{NAME}", " ; ", before + after, flags=re.DOTALL))  # fmt: skip


def test_points_are_the_same_in_any_mixture_of_languages(graded):
    rows = read_table(graded / "grades.csv")
    rows = {row["file"].split("/")[1]: row for row in rows if row["student"] == "languages"}
    full = rows["english"]["by_tests"]
    assert full == "16" and rows["empty"]["points"] == "0"
    for student in ("japanese", "mixed", "without-ids", "without-metadata"):
        assert (rows[student]["by_tests"], rows[student]["to_mark"]) == (full, rows["english"]["to_mark"]), student
    assert rows["wrong"]["by_tests"] == rows["wrong-english"]["by_tests"] < full
    assert not [row for row in rows.values() if "changed" in row["problems"]]


def test_texts_that_were_only_translated_are_not_shown_as_the_student_s(graded):
    pages = {row["file"]: row["feedback"] for row in read_table(graded / "grades.csv")}
    for what in ("japanese", "mixed"):
        place = pages[f"languages/{what}/{NAME}.ipynb"].replace("feedback", "executed").replace(".html", ".ipynb")
        notebook = nbformat.read(graded / place, 4)
        assert len(notebook.cells) == len(assignment.key(NAME).cells)


def test_feedback_is_in_the_notebook_s_language_and_tables_in_english(graded):
    wrong, other = page(graded, "wrong"), page(graded, "wrong-english")
    assert '<html lang="ja">' in wrong and '<html lang="en">' in other
    told = r"for (\(.*\)) it is (.*), got (.*): which variance gets the weight alpha\?"
    [numbers] = set(re.findall(told, other))
    assert "{}では{}であるが、解答では{}である：重みalphaは、どちらの分散に掛かるか".format(*numbers) in wrong
    assert "<td>1. 2つの正規分布</td>" in wrong and "<td>1. Two Gaussians</td>" in other
    for student in ("wrong", "empty"):
        assert not english(prose(page(graded, student))), student
    assert not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", prose(other))
    for table in ("marks.csv", "grades.csv", "class.html"):
        told = re.sub(r"(?s)<pre>.*?</pre>", "", (graded / table).read_text(encoding="utf-8"))  # what students wrote
        told = re.sub("|".join(map(re.escape, ("日本", *IN_BYTES))), "", told)  # names of students
        assert not re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", told), table
