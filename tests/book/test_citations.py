"""The entries to cite (book/documents.bib) say what the ledger and CITATION.cff say."""

import codecs
from pathlib import Path

import latexcodec  # noqa: F401  it brings the codec "ulatex"
import pytest
import yaml
from pybtex.database import parse_file

from book._ext import tables
from book.ledger import claims

ROOT = Path(__file__).resolve().parents[2]
CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
DOCUMENTS = claims.load().documents


@pytest.fixture(scope="module")
def entries():
    return parse_file(ROOT / "book/documents.bib").entries


def plain(field: str) -> str:
    return codecs.decode(field, "ulatex").replace("{", "").replace("}", "")


def test_every_document_and_the_compendium_have_an_entry(entries):
    assert set(entries) == {"compendium", *DOCUMENTS}


@pytest.mark.parametrize("key", DOCUMENTS)
def test_a_documents_entry_is_the_ledgers(entries, key):
    document, fields, authors = DOCUMENTS[key], entries[key].fields, entries[key].persons["author"]
    assert plain(fields["title"]) == document.title
    assert fields["year"] == str(document.year)
    assert [plain(" ".join(author.last_names)) for author in authors] == document.authors.replace(" and ", ", ").split(
        ", "
    )
    assert document.title_ja in ("", document.title) or document.title_ja in fields["note"]


def test_the_compendiums_entry_is_the_citation_files(entries):
    entry = entries["compendium"]
    assert plain(entry.fields["title"]) == CITED["title"]
    assert [plain(" ".join(author.last_names)) for author in entry.persons["author"]] == [
        author["name"] for author in CITED["authors"]
    ]
    assert entry.fields["note"] == f"Version {CITED['version']}"
    assert entry.fields["year"] == CITED["date-released"][:4]


def test_the_page_shows_every_entry_whole(entries):
    """The directive {entries} (book/_ext/tables.py), which book/cite.md uses."""
    source = (ROOT / "book/documents.bib").read_text(encoding="utf-8")
    shown = tables.entries(source)
    assert list(shown) == list(entries) and "\n".join(shown.values()) == source.strip()


def test_the_front_page_shows_every_document():
    """The directive {documents}, which book/index.md uses."""
    rows = tables.documents(DOCUMENTS).splitlines()[2:]
    assert len(rows) == len(DOCUMENTS)
    for row, (key, document) in zip(rows, DOCUMENTS.items()):
        assert f"({key}/index.md)" in row and f"({key}/summary.md)" in row and f"| {document.subject} |" in row


def test_the_list_of_changes_has_the_version():
    assert f"## {CITED['version']} ({CITED['date-released']})" in (ROOT / "book/changes.md").read_text(encoding="utf-8")
