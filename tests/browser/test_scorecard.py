"""The scorecard (book/_static/scorecard.js): filters that live in the address, claims with addresses, citations."""

import re
from collections import Counter

import pytest

from book.ledger import claims, retold
from book.ledger import scorecard as made_by
from tests.browser import needs
from tests.browser.chromium import BOOK

pytestmark = needs.THE_BOOK

CARDS = "[...document.querySelectorAll('.bd-article .claim')]"
SHOWN = f"return {CARDS}.filter(card => !card.hidden)"
KNOWN = claims.load().all
PARTS = {document.cited: key for key, document in claims.load().documents.items()} | {"Our own results": claims.OWN.key}


def opened(browser, book, query=""):
    browser.open(f"{book}/scorecard.html{query}")
    return browser


@pytest.fixture(scope="module")
def scorecard(browser, book):
    return opened(browser, book)


def told(scorecard):
    """Return the text of each claim, by its name, as it was sent: cards that are not laid out yet are included."""
    sent = "new DOMParser().parseFromString(await (await fetch(location)).text(), 'text/html')"
    texts = f"[...({sent}).querySelectorAll('.claim')].map(card => [card.id.replace('claim-', ''), card.textContent])"
    return dict(scorecard.driver.execute_async_script(f"(async done => done({texts}))(arguments[0])"))


def ids(scorecard):
    return scorecard.script(f"{SHOWN}.map(card => card.id.replace('claim-', ''))")


def test_words_and_verdicts_choose_the_claims(scorecard):
    everything = told(scorecard)
    words = scorecard.driver.find_element("id", "scorecard-words")
    words.send_keys("laplace  Noise")
    expected = [name for name, text in everything.items() if "laplace" in text.lower() and "noise" in text.lower()]
    assert 0 < len(expected) < len(everything) == len(KNOWN)
    assert ids(scorecard) == expected
    counted = scorecard.driver.find_element("css selector", ".scorecard-filter output").text
    own = sum(name.startswith("compendium.") for name in everything)
    assert counted == f"{len(expected)} of {len(everything)} claims (the {len(everything)} include {own} of our own)"
    assert scorecard.script(f"{SHOWN}.every(card => card.getClientRects().length > 0)")  # also in what was folded
    empty = "[...document.querySelectorAll('.rubric')].filter(e => e.checkVisibility() && !e.parentElement.querySelector('.claim:not([hidden])'))"
    assert scorecard.script(f"return {empty}.length") == 0
    scorecard.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    assert set(ids(scorecard)) < set(expected)
    words.clear()
    scorecard.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    words.send_keys(" ")
    assert ids(scorecard) == [*everything]


@pytest.mark.parametrize("query", ["", "?verdict=reproduced", "?document=miura2025", "?words=a"])
def test_the_page_stays_small_whatever_its_address_asks_for(browser, book, query):
    assert opened(browser, book, query).script("return document.querySelectorAll('*').length") < 6000


def test_what_is_folded_is_laid_out_when_it_is_opened(browser, book):
    page = opened(browser, book)
    folded = "document.querySelector('details.claims:has(.claim > noscript)')"
    page.script(f"window.part = {folded}; part.querySelector('summary').click()")
    page.turn()
    assert page.script(
        "return part.querySelectorAll('noscript').length === 0 && part.querySelector('.claim button').checkVisibility()"
    )
    raw = r"return [...part.querySelectorAll('.math')].filter(e => !e.querySelector('math')).length"
    assert page.script(raw) == 0


@pytest.mark.full
def test_an_address_with_filters_opens_at_them_and_without_the_totals(browser, book):
    page = opened(browser, book, "?verdict=differs")
    assert 0 <= page.script("return document.querySelector('.scorecard-filter').getBoundingClientRect().top") < 100
    assert not page.script("return document.getElementById('totals').checkVisibility()")
    assert opened(browser, book).script("return document.getElementById('totals').checkVisibility() && scrollY === 0")


def test_a_document_chooses_its_claims(scorecard):
    choice = scorecard.driver.find_element("id", "scorecard-document")
    options = choice.find_elements("css selector", "option")
    assert [option.text for option in options] == ["all documents", *PARTS]
    options[1].click()
    assert {claim.split(".")[0] for claim in ids(scorecard)} == {PARTS[options[1].text]}
    options[0].click()
    assert len(ids(scorecard)) == len(KNOWN)


def test_what_was_read_and_not_computed_can_be_chosen(scorecard):
    options = scorecard.driver.find_element("id", "scorecard-judged").find_elements("css selector", "option")
    counts = {}
    for option in options[1:]:
        option.click()
        counts[option.text] = len(ids(scorecard))
    read = [claim for claim in KNOWN.values() if claim.judge == claims.READ]
    assert counts == {"read": len(read), "computed": len(KNOWN) - len(read)}
    options[0].click()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "document, words, place",
    [
        ("miura2025", "Table 2", r"Table 2\b"),
        ("miura2022", "table 1", r"Table 1\b"),
        ("miura2022", "Theorem 3.2", r"Theorems? (3\.1 and )?3\.2\b"),
        ("hasegawa2015", "Equation 1", r"Equation 1\b"),
        ("sei2017", "Equation (2)", r"Equation \(2\)"),
    ],
)
def test_a_place_finds_the_claims_of_that_place(browser, book, document, words, place):
    asked = f"?document={document}&words={words.replace(' ', '+')}"
    expected = {id for id, claim in KNOWN.items() if claim.document == document and re.search(place, claim.item)}
    assert expected and set(ids(opened(browser, book, asked))) == expected


@pytest.mark.full
def test_the_filters_live_in_the_address(browser, book):
    opened(browser, book).driver.find_element("id", "scorecard-words").send_keys("Table 2")
    browser.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
    address, before = browser.driver.current_url, ids(browser)
    assert "words=Table+2" in address and "verdict=differs" in address and "verdict=reproduced" not in address
    browser.open(address)
    assert ids(browser) == before and 0 < len(before) < 100
    assert browser.script("return document.querySelector('.scorecard-filter input[value=reproduced]').checked") is False


@pytest.mark.full
@pytest.mark.parametrize(
    "query, sentence, count",
    [
        (
            "?verdict=nonsense",
            "verdict must be one of reproduced, differs, not determinable, stand-in, got “nonsense”.",
            None,
        ),
        ("?document=foo", f"document must be one of {', '.join(PARTS.values())}, got “foo”.", None),
        ("?judged=guessed", "judged must be one of read, computed, got “guessed”.", None),
        ("?document=sei2017&verdict=nonsense", "got “nonsense”.", "sei2017"),
        ("?verdict=reproduced&document=sei2017", "", None),
        ("#claim-nope", "There is no claim named “nope”.", None),
    ],
)
def test_a_filter_that_is_not_permitted_is_said_and_left_out(browser, book, query, sentence, count):
    page = opened(browser, book, query)
    wrong = "document.querySelector('.scorecard-filter .wrong')"
    assert page.script(f"return {wrong}.textContent").endswith(sentence) and page.script(
        f"return {wrong}.checkVisibility()"
    ) == bool(sentence)
    if sentence:
        assert len(ids(page)) == sum(count in (None, claim.document) for claim in KNOWN.values())
        page.driver.find_element("css selector", ".scorecard-filter input[value=reproduced]").click()
        assert page.script(f"return {wrong}.textContent") == ""


@pytest.mark.full
def test_a_citation_from_a_copy_on_disk_has_no_address_of_the_disk(browser):
    browser.driver.get((BOOK / "scorecard.html").as_uri())
    id = browser.script(
        "dispatchEvent(new Event('beforeprint')); const card = document.querySelector('.claim'); card.querySelector('button').click(); return card.id"
    )
    cited, why = browser.script(
        "return [...document.querySelector('.claim').querySelectorAll('.citation')].map(e => e.textContent)"
    )
    assert cited.endswith(f" scorecard.html#{id}") and "file:" not in cited and "copy on your own disk" in why


@pytest.mark.full
def test_every_claim_has_an_address_and_is_in_view_there(browser, book):
    assert sorted(ids(opened(browser, book))) == sorted(KNOWN)
    folded = browser.script("return document.querySelector('details.claims .claim').id")
    browser.open(f"{book}/scorecard.html#{folded}", width=390)
    top = browser.script(
        f"return document.getElementById('{folded}').querySelector('.verdict').getBoundingClientRect().top"
    )
    assert 0 <= top <= 844
    linked = browser.script(
        "dispatchEvent(new Event('beforeprint')); return [...document.querySelectorAll('.claim')].every(e => e.querySelector('.claim-says a').hash === '#' + e.id)"
    )
    assert linked


@pytest.mark.full
def test_a_claim_can_be_cited(browser, book):
    opened(browser, book)
    id = browser.script(
        "dispatchEvent(new Event('beforeprint')); const card = document.querySelector('.claim'); card.querySelector('button').click(); return card.id"
    )
    cited = browser.script("return document.querySelector('.claim .citation').textContent")
    claim, made = KNOWN[id.removeprefix("claim-")], made_by.cited()
    place = claims.source(claim, claims.load().document(claim))
    assert cited.startswith(f"{made['authors']} ({made['year']}). {place}: ") and "{" not in cited
    assert f"version {made['version']}" in cited and cited.endswith(f"{book}/scorecard.html#{id}")


@pytest.mark.full
def test_a_chapter_folds_its_claims_and_opens_the_one_that_is_asked_for(browser, book):
    page = f"{book}/notebooks/sei2017/01_theory.html"
    browser.open(page)
    last = "[...document.querySelectorAll('details.claims')].at(-1)"
    assert browser.script(f"return !{last}.open && {last}.querySelector('.claim > :not(noscript)') === null")
    id = browser.script(f"return {last}.querySelector('.claim').id")
    browser.open(f"{page}#{id}")
    first = f"document.getElementById('{id}').firstElementChild"
    assert browser.script(f"return {first}.matches('.claim-verdict') && {first}.checkVisibility()")
    assert 0 <= browser.script(f"return {first}.getBoundingClientRect().top") < 900
    assert browser.script("return document.querySelectorAll('details.claims[open]').length") == 1


@pytest.mark.full
@pytest.mark.parametrize("name", ["notebooks/sei2017/01_theory.html", "scorecard.html"])
def test_without_scripts_folded_claims_are_there(browser, book, name):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(f"{book}/{name}")
        claims_shown = browser.driver.find_elements("css selector", "details.claims > .claim .claim-verdict")
        summary = browser.driver.find_element("css selector", "details.claims > summary")
        assert claims_shown and not claims_shown[0].is_displayed()
        summary.click()
        assert claims_shown[0].is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_the_answer_of_a_chapter_has_the_tally_of_its_claims_and_leads_to_them(browser, book):
    page = f"{book}/notebooks/sei2017/01_theory.html"
    browser.open(page)
    shown = (
        "[...document.querySelectorAll('.bd-article .claim')].map(e => [e.id, e.querySelector('.verdict').textContent])"
    )
    browser.script("for (const event of ['beforeprint', 'afterprint']) dispatchEvent(new Event(event))")
    judged = dict(browser.script(f"return {shown}"))
    badges = browser.script(
        "return [...document.querySelector('.admonition').querySelectorAll('p.tally a')].map(e => [e.textContent, e.hash.slice(1)])"
    )
    counted = Counter(judged.values())
    said = {each: retold.counted(number, each) for each, number in counted.items()}
    assert {text: judged[id] for text, id in badges} == {said[each]: each for each in counted}
    browser.driver.find_element("css selector", "p.tally a").click()
    assert browser.script("return document.querySelectorAll('details.claims[open]').length") == 1


@pytest.mark.full
def test_on_paper_nothing_is_folded(browser, book):
    browser.open(f"{book}/notebooks/sei2017/01_theory.html")
    count = "document.querySelectorAll('details.claims:not([open])').length"
    folded = browser.script(f"return {count}")
    assert folded > 0 == browser.script(f"dispatchEvent(new Event('beforeprint')); return {count}")
    assert browser.script("return document.querySelector('.claim > noscript') === null")
    assert browser.script(f"dispatchEvent(new Event('afterprint')); return {count}") == folded


@pytest.mark.parametrize("name", ["claims.json", "claims.csv", "claims.schema.json", "compendium-site.zip"])
def test_the_downloads_are_there(name):
    assert (BOOK / name).stat().st_size > 3_000
