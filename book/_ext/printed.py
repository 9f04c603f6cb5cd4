"""The tables that notebooks print, with their words in the edition's language.

Each name of a row or a column, and each cell with words, is a message of the catalogue locale/ja/tables.po. The numbers
in a message are fields, so that "5 runs" and "10 runs" are the same message. Numbers stay as printed. So do names:
identifiers and abbreviations (education-num, f_macro, DP-SGD), the attributes of Adult and Bank, and all code in the
page's text except `catalogues.COLUMNS`. In a `title` or an `aria-label`, the text up to the last colon consists of
names and stays. Any other name that should stay has itself as its translation. Japanese counts in 万 and not in
millions, so that 14.1百万 in a translation becomes 1,410万. Tables of claims are skipped, because their words come from
the ledger.
"""

import gzip
import html
import re
from functools import cache

from docutils import nodes

from book._ext import claims
from book._ext.made import executed
from book.editions import catalogues, edition, numerals
from book.ledger import retold
from book.ledger.claims import MIME
from lib.data import datasets

CATALOGUE = "tables"
CELL = re.compile(r"(?P<start><(?P<tag>t[hd]|text|title|span)\b[^>]*>)(?P<text>[^<]+)(?=</(?P=tag)>|<title>)")
SAID = re.compile(r'(?P<start>\s(?:title|aria-label)="(?:[^"]*: )?)(?P<text>[^"]+)')  # "age, sex: measured together"
BETWEEN = re.compile(r"[\s,;:()\[\]/=+<>×±–…]+")
LISTED = re.compile(" *[,–×] *")
WORD = re.compile(r"[^\W\d_]+(?:['’]s?)?[.?]?")
ABBREVIATED = 4  # letters of the longest abbreviation: WHOLE is a word
TABLE = "text/html"


@cache
def attributes() -> frozenset[str]:
    """Return the names of the attributes of Adult and Bank."""
    with gzip.open(datasets.STAND_INS / "bank.csv.gz", "rt", encoding="utf-8") as file:
        return frozenset([*datasets.ADULT_COLUMNS, *file.readline().strip().split(",")])


def names(notebook: dict) -> frozenset[str]:
    """Return the names that stay in the tables of `notebook`: the attributes, and all code in the notebook's text."""
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    written = [catalogues.ROLE.sub("", text) for text in cells]
    code = {code[2].strip() for text in written for code in catalogues.CODE.finditer(text)}
    return attributes().union(code - catalogues.COLUMNS)


def worded(text: str, known: frozenset[str]) -> bool:
    """Return whether `text` needs translation: it contains a word that is not an abbreviation, and it is not just a
    list of `known` names."""
    words = () if known.issuperset(LISTED.split(text)) else filter(WORD.fullmatch, BETWEEN.split(text))
    return any(word[1:].islower() or word.isupper() and len(word) > ABBREVIATED for word in words)


def messages(notebook: dict) -> list[str]:
    """Return the messages in the tables of `notebook`, without repetitions."""
    printed = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    tables = ["".join(data[TABLE]) for data in printed if TABLE in data and MIME not in data]
    known, found = names(notebook), {}
    for cell in (cell for table in tables for each in (CELL, SAID) for cell in each.finditer(table)):
        text = _plain(cell["text"])
        if worded(text, known):
            found[retold.without_numbers(text)[0]] = None
    return list(found)


def retell(table: str, known: frozenset[str], told) -> str:
    """Return the HTML of a table with its messages translated by `told`; the names in `known` stay."""

    def again(cell: re.Match) -> str:
        text = _plain(cell["text"])
        if not worded(text, known):
            return cell[0]
        shape, numbers = retold.without_numbers(text)
        said = numerals.regrouped(retold.filled(told(shape), numbers))
        return cell["start"] + html.escape(said, quote=cell.re is SAID)

    return SAID.sub(again, CELL.sub(again, table))


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())


def translate(app, doctree):
    """Translate the tables on a notebook's page, and record their messages."""
    if (notebook := executed(app)) is None:
        return
    known = names(notebook)
    for shown in doctree.findall(nodes.container):
        for node in shown.children if shown.get("mime_type") == TABLE else ():
            if not node.astext().startswith(claims.SHOWN):
                text = retell(node.astext(), known, lambda shape: edition.told(shape, edition.page, CATALOGUE))
                if edition.language != edition.SOURCE:
                    node.children = [nodes.Text(text)]


def setup(app):
    app.connect("doctree-read", translate, priority=450)  # before tables are fitted to the page
