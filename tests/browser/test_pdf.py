"""The book as one PDF (tests/browser/pdf.py), tested on the chapters of one document."""

import re
import zlib

import pytest

from book.editions import edition
from tests.browser import needs, pdf
from tests.browser.chromium import BOOK

pytestmark = needs.THE_BOOK


@pytest.fixture(autouse=True)
def english_again():
    yield
    edition.begin(edition.SOURCE)


@pytest.mark.full
def test_one_document(browser, book):
    told = pdf.assemble(browser, book, "miura2022")
    links = browser.script(
        "return [...document.querySelectorAll('.chapter a[href^=\"#\"]')].map(a => [a.hash, "
        "!!document.getElementById(decodeURIComponent(a.hash.slice(1)))])"
    )
    errors = browser.script("return document.querySelectorAll('merror').length")
    printed = pdf.printed(browser)
    chapters = sorted((BOOK / "notebooks/miura2022").glob("*.html"))
    assert told["chapters"] == 2 + len(chapters)  # the introduction and the summary
    assert told["broken"] == told["wide"] == [] and errors == 0
    assert told["formulas"] >= sum(page.read_text(encoding="utf-8").count('class="math ') for page in chapters)
    assert len(links) > 20 and [link for link, there in links if not there] == []
    assert printed.startswith(b"%PDF-")
    text = printed + b"".join(inflated(printed))
    assert len(re.findall(rb"/Type ?/Page\b", text)) > 20
    assert b"/Outlines" in text and b"/StructTreeRoot" in text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_contents_list_what_the_book_has(browser, book, language):
    """The contents leave out the reference, which is in English; the Japanese sidebar lists it below the library."""
    folder = "" if language == "en" else f"/{language}"
    if not (BOOK / language / "index.html").is_file() and folder:
        pytest.skip("one edition is built (make book LANGUAGE=en)")
    told = pdf.assemble(browser, f"{book}{folder}", f"{folder}/library.html", language)
    listed = browser.script("return [...document.querySelectorAll('.contents a')].map(a => decodeURIComponent(a.hash))")
    assert listed == [f"#{folder}/library.html".replace("/", "-").replace(".", "-")] and told["chapters"] == 1
    assert browser.script("return document.querySelectorAll('.contents .caption').length") == 1


def inflated(printed: bytes) -> list[bytes]:
    """Return the compressed streams of a PDF that are text."""
    found = []
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", printed, flags=re.DOTALL):
        try:
            found.append(zlib.decompressobj().decompress(stream))
        except zlib.error:  # a picture or a font, stored otherwise
            continue
    return found
