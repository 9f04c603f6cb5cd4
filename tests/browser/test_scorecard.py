"""The scorecard's filters (book/_static/scorecard.js)."""

import pytest

from book import claims
from tests.browser import needs
from tests.browser.chromium import BOOK

pytestmark = needs.THE_BOOK

ROWS = "[...document.querySelectorAll('.scorecard tbody tr')].filter(row => row.querySelector('.verdict'))"


@pytest.fixture(scope="module")
def scorecard(browser, book):
    browser.open(f"{book}/scorecard.html")
    return browser


def shown(scorecard):
    return scorecard.script(f"return {ROWS}.filter(row => !row.hidden).map(row => row.textContent)")


def test_words_and_verdicts_choose_the_rows(scorecard):
    everything = shown(scorecard)
    words = scorecard.driver.find_element("id", "scorecard-words")
    words.send_keys("laplace  Noise")
    expected = [text for text in everything if "laplace" in text.lower() and "noise" in text.lower()]
    assert 0 < len(expected) < len(everything)
    assert shown(scorecard) == expected
    told = scorecard.driver.find_element("css selector", ".scorecard-filter output").text
    assert told == f"{len(expected)} of {len(everything)} claims"
    visible = scorecard.script(
        f"return {ROWS}.filter(row => !row.hidden).every(row => row.getClientRects().length > 0)"
    )
    assert visible  # also those in folded tables
    scorecard.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    left = [text for text in expected if "reproduced" not in text]
    assert len(shown(scorecard)) <= len(expected)
    assert set(left) <= set(shown(scorecard))
    words.clear()
    scorecard.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    words.send_keys(" ")
    assert shown(scorecard) == everything


def test_a_document_chooses_its_rows(scorecard):
    everything = shown(scorecard)
    choice = scorecard.driver.find_element("id", "scorecard-document")
    options = choice.find_elements("css selector", "option")
    assert [option.text for option in options] == [
        "all documents",
        *(document.cited for document in claims.load().documents.values()),
    ]
    options[1].click()
    headings = scorecard.script(
        f"return [...new Set({ROWS}.filter(row => !row.hidden).map(row => row.closest('section').id))]"
    )
    assert headings == ["kiri1701-2019"]
    options[0].click()
    assert shown(scorecard) == everything


def test_what_was_read_and_not_computed_can_be_chosen(scorecard):
    everything = shown(scorecard)
    options = scorecard.driver.find_element("id", "scorecard-judged").find_elements("css selector", "option")
    counts = {}
    for option in options[1:]:
        option.click()
        counts[option.text] = len(shown(scorecard))
    read = [claim for claim in claims.load().claims.values() if claim.judge == claims.READ]
    assert counts == {"read": len(read), "not read": len(everything) - len(read)}
    options[0].click()
    assert shown(scorecard) == everything


@pytest.mark.parametrize("name", ["claims.json", "claims.csv"])
def test_the_downloads_are_there(name):
    assert (BOOK / name).stat().st_size > 10_000
