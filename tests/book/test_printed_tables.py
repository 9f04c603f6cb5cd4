"""Tables that notebooks print, in another language (book/_ext/printed.py)."""

import copy
import json
from pathlib import Path

import pytest

from book._ext import printed
from book.editions import catalogues, edition, numerals
from book.ledger.claims import MIME
from tests.book.test_catalogues import stale

NOTEBOOKS = sorted((Path(printed.__file__).parents[2] / "notebooks").glob("[!a]*/*.ipynb"))  # not of the assignments
TABLE = """<table border="1" class="dataframe"><thead><tr><th></th><th>least &amp; most</th><th>education-num</th></tr></thead>
<tbody><tr><th>5 runs of 1,000</th><td>-0.5</td><td>yes</td></tr><tr><th>10 runs of 20</th><td>NaN</td><td>occupation, kin</td></tr>
<tr><th>DP-SGD, f_macro</th><td>1e-05</td><td>sex – race</td></tr><tr><th>WHOLE</th><td>OUE</td><td>PrivBayes</td></tr></tbody></table>"""
MESSAGES = ["least & most", "{1} runs of {2}", "yes", "WHOLE"]
WORDS = {"least & most": "最小<最大", "{1} runs of {2}": "{2}件の{1}回", "yes": "はい", "WHOLE": "全体"}


def notebook(table: str = TABLE, **more) -> dict:
    """Return a notebook whose text has `kin` as code, and which prints `table`, with `more` forms of the output."""
    text = {"cell_type": "markdown", "source": ["The column `kin`, {term}`yes` and no more."]}
    return {"cells": [text, {"cell_type": "code", "source": [], "outputs": [{"data": {"text/html": [table], **more}}]}]}


def test_words_are_messages_and_names_are_not():
    assert printed.messages(notebook()) == MESSAGES
    assert printed.messages(notebook(**{MIME: {}})) == []  # the ledger's


def test_a_table_has_its_words_translated_and_its_numbers_and_names_as_they_were():
    made = printed.retell(TABLE, printed.names(notebook()), WORDS.get)
    for cell in (
        "<th>最小&lt;最大</th>",
        "<th>1,000件の5回</th>",
        "<th>20件の10回</th>",
        "<td>はい</td>",
        "<th>全体</th>",
    ):
        assert made.count(cell) == 1
        made = made.replace(cell, "")
    kept = ("least &amp; most", "5 runs of 1,000", "10 runs of 20", "yes", "WHOLE")
    left = TABLE
    for text in kept:
        left = left.replace(f"<th>{text}</th>", "").replace(f"<td>{text}</td>", "")
    assert made == left  # every other sign
    assert printed.retell(TABLE, printed.names(notebook()), lambda shape: shape) == TABLE


def test_a_column_that_is_translated_is_so_although_the_text_has_it_as_code():
    table, told = "<td>law</td><td>kin</td><td>law, runs</td>", {"law": "分布", "law, runs": "分布、実行"}
    book = notebook(table)
    book["cells"][0]["source"] = ["The columns `law`, `kin` and `runs`."]
    assert printed.messages(book) == list(told)
    assert printed.retell(table, printed.names(book), told.get) == "<td>分布</td><td>kin</td><td>分布、実行</td>"
    said, untold = "The column `law` is right.", "列「分布」は正しい。"
    assert catalogues.differences(said, untold) == [] != catalogues.differences(said.replace("law", "kin"), untold)


def test_millions_are_regrouped():
    table = "<td>0.840 [13.4 million]</td><td>124 million</td><td>1,410 million</td><td>2.5</td>"
    told = {"{1} [{2} million]": "{1} [{2}百万]", "{1} million": "{1}百万"}.get
    assert printed.retell(table, frozenset(), told) == (
        "<td>0.840 [1,340万]</td><td>1億2,400万</td><td>14億1,000万</td><td>2.5</td>"
    )
    assert numerals.regrouped("1.41百万と4.78百万、100百万、0.12345百万") == "141万と478万、1億、0.12345百万"


def found(books: list[dict]) -> dict[str, dict[str, str]]:
    return {printed.CATALOGUE: dict.fromkeys((message for each in books for message in printed.messages(each)), "")}


@pytest.fixture(scope="module")
def books() -> list[dict]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in NOTEBOOKS]


@pytest.mark.parametrize("language", edition.OTHERS)
def test_the_catalogue_has_the_words_of_the_committed_tables(language, books):
    """`make catalogues` brings it up to date; a name that stays is translated by itself."""
    assert stale(found(books), language) == []


@pytest.mark.parametrize("language", edition.OTHERS)
def test_a_renamed_column_is_noticed(language, books):
    changed = copy.deepcopy(books)
    table = next(
        output["data"][printed.TABLE]
        for cell in (cell for book in changed for cell in book["cells"])
        for output in cell.get("outputs", [])
        if "<th>nobody</th>" in "".join(output.get("data", {}).get(printed.TABLE, "")) and MIME not in output["data"]
    )
    table[:] = [line.replace("<th>nobody</th>", "<th>no guest at all</th>") for line in table]
    assert "tables: only in the book: no guest at all" in stale(found(changed), language)
