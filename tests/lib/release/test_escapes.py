"""Names that mean something to whatever shows them: Markdown, HTML, MathJax, a terminal, a spreadsheet."""

import csv
from html.parser import HTMLParser

import nbformat
import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from lib.command import answers
from lib.release import escapes, schema
from lib.release import synthesizer as release
from lib.tables import Table
from notebooks.tools import mine

NAMES = (
    "a<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "</code><b>", "&lt;b&gt;", "__index_level_0__", "x*1*y", "a_b_", "_",
    "**", "tick`s`", "`", "``a`", "[l](javascript:alert(1))", "![i](x)", "<http://a.b>", "http://a.b", "cost $a$", r"\\(x\\)", r"$$\href{javascript:alert(1)}{x}$$",
    "back\\", "a\\*b", "# head", "1. first", "- item", "> said", "~~gone~~", "a|b", "| a |", ":-)", "\x1b[31mred\x1b[0m", "a\nb", "a\n\n# b", "\u202egnp.exe", "\x9b31m",
    "dep_delay", "hours-per-week", "year of birth", "\u5e74\u9f62", "na\u00efve", "a.b", "x_1_y_2",
)  # fmt: skip


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *[name for name, _ in attributes if name.startswith("on") or name == "href"]))

    def handle_data(self, data):
        self.text += data


def sentences(name):
    """Yield every sentence of the report that has a name of the schema in it."""
    attributes = (
        schema.Attribute(each, "values", ("a", "b", "missing", "other"), 2, 2, 3) for each in (name, "other one")
    )
    nothing = [np.nan] * 2
    found = pd.DataFrame({"cells": [4, 10**7], "expected error of a count": nothing}, [f"{name} × other one", name])
    yield release.unmeasured(found)
    yield release.doubts(pd.DataFrame({"missing": [97.0], "other": [0.1], "mixed": [99.5]}, [name]))
    yield release.marks(schema.Schema(tuple(attributes)))


@pytest.mark.slow
def test_every_sentence_of_the_report_shows_a_name_as_it_is():
    """The page has no tag that the name would have made, and all of its letters."""
    said = [(name, sentence) for name in NAMES for sentence in sentences(name)]
    report = {"tags": ["report"]}
    cells = [nbformat.v4.new_markdown_cell(text, metadata=report) for _, each in said for text in (each, "NEXT")]
    page = Page()
    page.feed(mine.page(nbformat.v4.new_notebook(cells=cells)).removeprefix(mine.HEAD))
    assert set(page.tags) == {("div",), ("p",), ("code",)}
    for (name, sentence), text in zip(said, page.text.split("NEXT")):
        assert escapes.printable(name) in text and all(letter.isprintable() for letter in sentence), (name, text)


def test_no_letter_of_the_report_controls_anything():
    """The tables of pandas escape names for HTML only."""
    table = {"text/html": pd.DataFrame({"missing": 1.0}, NAMES).to_html()}
    output = nbformat.v4.new_output("execute_result", table, execution_count=1)
    cell = nbformat.v4.new_code_cell("", outputs=[output], metadata={"tags": ["report"]})
    body = mine.page(nbformat.v4.new_notebook(cells=[cell]))
    assert r"\x1b[31mred" in body and r"\u202egnp.exe" in body and all(line.isprintable() for line in body.splitlines())


def test_a_name_of_words_has_no_marks():
    for name in ("dep_delay", "hours-per-week", "year of birth", "x_1_y_2", "a × b", "dep_delay × arr_delay"):
        assert escapes.in_markdown(name) == name


@pytest.mark.parametrize("letters", ["\x1b[31mred", "\x9b31m", "a\rb", "\u202egnp.exe", "\x07"])
def test_nothing_that_controls_a_terminal_reaches_it(letters, capsys):
    for error in (ValueError(letters), OSError(2, letters, letters)):
        assert answers.one_line(error).isprintable()
    answers.answer({"output": letters}, in_json=False)
    answers.answer({"output": letters}, in_json=True)
    assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())


def test_labels_that_a_spreadsheet_runs_are_written_as_they_are_unless_asked(tmp_path):
    labels = ["=cmd|' /C calc'!A0", "+1+2", "-2+3", "@SUM(1)", "-9", "+5.5e3", "a=b"]
    public = schema.Schema((
        schema.Attribute("=n", "values", (*labels, "other"), len(labels), 0, len(labels)),
        schema.Attribute("age", "whole", ("-9 to 0", "1 to 9"), 2, 0, starts=(-9.0, 1.0), last=9.0),
    ))  # fmt: skip
    table = Table(np.stack([np.arange(400) % 7, np.arange(400) % 2], axis=1), public.domain)
    result = release.run(table, 1e3, 1e-9, size=1, seed=1)
    for spreadsheet in (False, True):
        folder = tmp_path / str(spreadsheet)
        folder.mkdir()
        release.write(folder, result, public, 1, "None.", seed=2, spreadsheet=spreadsheet)
        rows = [list(csv.reader((folder / name).read_text().splitlines())) for name in ("synthetic.csv", "errors.csv")]
        mark = "'" * spreadsheet
        assert rows[0][0] == [f"{mark}=n", "age"] and {row[0] for row in rows[1]} >= {f"{mark}=n", "age"}
        assert {row[0] for row in rows[0][1:]} == {mark + label for label in labels[:4]} | set(labels[4:])
        assert min(int(row[1]) for row in rows[0][1:]) < 0
        kept = pyarrow.parquet.read_table(folder / "synthetic.parquet")
        assert kept.column_names == ["=n", "age"] and set(kept.column(0).to_pylist()) == set(labels)
