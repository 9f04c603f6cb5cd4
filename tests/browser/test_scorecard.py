"""The scorecard's filters (book/_static/scorecard.js)."""

from pathlib import Path

import pytest

from lib import claims
from tests.browser.chromium import BROWSERS, DRIVERS, chromium, found, served

BOOK = Path(__file__).resolve().parents[2] / "build/html"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(found(BROWSERS) is None, reason="no Chromium is installed (Debian: chromium)"),
    pytest.mark.skipif(found(DRIVERS) is None, reason="no chromedriver is installed (Debian: chromium-driver)"),
    pytest.mark.skipif(not (BOOK / "scorecard.html").exists(), reason="the book is not built (make book)"),
]

ROWS = "[...document.querySelectorAll('.scorecard tbody tr')].filter(row => row.querySelector('.verdict'))"


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened, served(BOOK) as address:
        opened.open(f"{address}/scorecard.html")
        yield opened


def shown(browser):
    return browser.script(f"return {ROWS}.filter(row => !row.hidden).map(row => row.textContent)")


def test_words_and_verdicts_choose_the_rows(browser):
    everything = shown(browser)
    words = browser.driver.find_element("id", "scorecard-words")
    words.send_keys("laplace  Noise")
    expected = [text for text in everything if "laplace" in text.lower() and "noise" in text.lower()]
    assert 0 < len(expected) < len(everything)
    assert shown(browser) == expected
    told = browser.driver.find_element("css selector", ".scorecard-filter output").text
    assert told == f"{len(expected)} of {len(everything)} claims"
    visible = browser.script(f"return {ROWS}.filter(row => !row.hidden).every(row => row.getClientRects().length > 0)")
    assert visible  # also those in folded tables
    browser.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    left = [text for text in expected if "reproduced" not in text]
    assert len(shown(browser)) <= len(expected)
    assert set(left) <= set(shown(browser))
    words.clear()
    browser.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    words.send_keys(" ")
    assert shown(browser) == everything


def test_a_document_chooses_its_rows(browser):
    everything = shown(browser)
    choice = browser.driver.find_element("id", "scorecard-document")
    options = choice.find_elements("css selector", "option")
    assert [option.text for option in options] == ["all documents", *(document.cited for document in claims.load().documents.values())]
    options[1].click()
    headings = browser.script(f"return [...new Set({ROWS}.filter(row => !row.hidden).map(row => row.closest('section').id))]")
    assert headings == ["kiri1701-2019"]
    options[0].click()
    assert shown(browser) == everything


@pytest.mark.parametrize("name", ["claims.json", "claims.csv"])
def test_the_downloads_are_there(name):
    assert (BOOK / name).stat().st_size > 10_000
