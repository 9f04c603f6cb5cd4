"""The two editions beside one another: the link between them, and the filters of the Japanese scorecard."""

import pytest

from tests.browser import needs
from tests.browser.chromium import BOOK

pytestmark = [
    *needs.THE_BOOK,
    pytest.mark.skipif(not (BOOK / "ja/index.html").is_file(), reason="one edition is built (make book LANGUAGE=en)"),
]

PLACES = [
    "index.html#the-documents",
    "how-to.html",
    "glossary.html#term-sensitivity",
    "choose.html",
    "errata.html#errata-miura2022",
    "scorecard.html?document=sei2017&verdict=differs",
    "calculator.html#composition?mechanism=laplace&size=0.1",
    "kiri2019/summary.html",
    "notebooks/kiri2019/01_laplace.html#kiri2019-01-exercises",
    "notebooks/miura2022/03_beyond.html#miura2022-b",
]
SWITCH = "document.querySelector('a.language-switch')"


def followed(browser, address: str) -> str:
    """Return where the link to the other language leads from an address."""
    browser.open(address)
    browser.script(f"{SWITCH}.click()")
    return browser.script("return location.href")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", PLACES)
def test_the_switch_leads_to_the_same_place_and_back(browser, book, place):
    there = followed(browser, f"{book}/{place}")
    assert there.split("&delta")[0] == f"{book}/ja/{place}".split("&delta")[0]
    fragment = place.partition("#")[2]
    if fragment and "?" not in fragment:
        assert browser.script("return document.getElementById(arguments[0]) !== null", fragment)
    assert followed(browser, f"{book}/ja/{place}").split("&delta")[0] == f"{book}/{place}"


@pytest.mark.full
def test_the_switch_takes_the_section_in_sight_along(browser, book):
    browser.open(f"{book}/notebooks/kiri2019/01_laplace.html")
    browser.script("document.getElementById('epsilon-as-odds').scrollIntoView({behavior: 'instant'})")
    browser.script(f"{SWITCH}.click()")
    assert browser.script("return location.href") == f"{book}/ja/notebooks/kiri2019/01_laplace.html#epsilon-as-odds"


@pytest.mark.parametrize("page", ["reference/accounting.html", "_modules/lib/accounting/divergence.html"])
def test_what_is_in_english_only_leads_to_the_page_that_lists_it(browser, book, page):
    assert followed(browser, f"{book}/{page}") == f"{book}/ja/library.html"


def test_pages_say_their_language(browser, book):
    for page, language in (("index.html", "en"), ("ja/index.html", "ja")):
        browser.open(f"{book}/{page}")
        assert browser.script("return document.documentElement.lang") == language


@pytest.mark.sampled(1)
@pytest.mark.parametrize("japanese, english", [("表1", "Table 1"), ("定理4", "Theorem 4"), ("式(20)", "equation 20")])
def test_places_are_found_in_japanese(browser, book, japanese, english):
    shown = "return [...document.querySelectorAll('.bd-article .claim:not([hidden])')].map(e => e.id)"
    found = []
    for address in (f"ja/scorecard.html?words={japanese}", f"scorecard.html?words={english}"):
        browser.open(f"{book}/{address}")
        found.append(set(browser.script(shown)))
    assert found[0] and found[0] == found[1]
