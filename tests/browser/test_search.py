"""The search (book/_ext/web.py) in the browser finds what the text of the pages contains."""

import html
import re
import time
import unicodedata
from functools import cache
from urllib.parse import quote, urlsplit

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from book.editions.edition import OTHERS
from tests.browser import needs
from tests.browser.chromium import BOOK

pytestmark = needs.THE_BOOK

SUMMARY = "return document.querySelector('.search-summary')?.innerText"
# Excerpts need whole pages: so many of them are fetched.
AGAIN = """
window.fetched ||= window.fetch; let left = arguments[1];
window.fetch = (...what) => left-- > 0 ? fetched(...what) : new Promise(() => {});
document.getElementById('search-results').replaceChildren(); Search.performSearch(arguments[0]);
"""


def patiently(browser):
    return WebDriverWait(browser.driver, 60, poll_frequency=0.05)


@pytest.fixture(scope="module")
def search(browser, book):
    """Return a function that types words into the book's search and returns the pages it finds. One page takes them all."""

    def typed(words: str, edition: str = "", excerpts: int = 0) -> set[str]:
        address = f"{book}/{edition}search.html"
        if browser.driver.current_url != address:
            browser.open(address)
        browser.script(AGAIN, words, excerpts)
        patiently(browser).until(lambda _: browser.script(SUMMARY))
        links = browser.script("return [...document.querySelectorAll('ul.search > li > a')].map(a => a.href)")
        return {urlsplit(link).path.lstrip("/").removeprefix(edition) for link in links}

    return typed


@cache
def articles(edition: str, formulas: bool = False) -> dict[str, str]:
    """Return the text of the article of every page of an edition, by its folder (`ja/`), in lower case.

    formulas : whether with the signs of formulas, which the search knows as they were written in TeX
    """
    left_out = r"<[^>]+>" if formulas else r"(?s)<math.*?</math>|<[^>]+>"
    found = {
        path: re.search(r"<article\b.*?</article>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in (BOOK / edition).rglob("*.html")
        if "_static" not in path.parts and (edition or path.relative_to(BOOK).parts[0] not in OTHERS)
    }
    return {
        str(path.relative_to(BOOK / edition)): unicodedata.normalize(
            "NFKC", html.unescape(re.sub(left_out, "", article[0]))
        ).lower()
        for path, article in found.items()
        if article and path.name != "search.html"
    }


# Two letters as a word and within longer ones, whole compounds, and parts of them.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "word",
    ["感度", "雑音", "合成", "匿名", "差分", "差分プライバシー", "局所差分プライバシー", "匿名性", "プライバシー損失"],
)
def test_japanese_words_are_found_wherever_they_stand(search, word):
    expected = {name for name, text in articles("").items() if word in text}
    assert "glossary.html" in expected
    assert search(word) == expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words, page",
    [
        ("sensitivity", "glossary.html"),
        ("junction tree", "notebooks/miura2025/01_private_pgm.html"),
        ("randomized response", "notebooks/kiri2019/02_local.html"),
        ("CITATION", "cite.html"),
        ("ＡＩＭ", "miura2025/index.html"),
        ("Pk-匿名性", "glossary.html"),
        ("zCDP 予算管理", "glossary.html"),
    ],
)
def test_the_right_page_comes_up(search, words, page):
    assert page in search(words)


@pytest.mark.parametrize(
    ("edition", "question", "definition"),
    [
        ("", "What is differential privacy?", "The guarantee that, if one person’s data change"),
        ("ja/", "差分プライバシーとは何ですか？", "保証"),
    ],
)
def test_a_question_finds_the_definition_first(browser, search, edition, question, definition):
    search(question, edition, excerpts=5)
    first = browser.driver.find_element("css selector", "ul.search > li")
    assert "glossary.html" in first.find_element("css selector", "a").get_attribute("href")
    patiently(browser).until(lambda _: definition in first.text)
    assert "e^ε" in first.text


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("query", "sign"), [("epsilon", "ε"), ("what is epsilon", "ε"), ("ε", "ε"), ("Delta", "δ"), ("δ", "δ"), ("ρ", "ρ")]
)
@pytest.mark.parametrize("edition", ["", "ja/"])
def test_a_letter_finds_its_definition_first(browser, search, edition, query, sign):
    search(query, edition, excerpts=5)
    first = browser.driver.find_element("css selector", "ul.search > li")
    assert "/glossary.html#term-" in first.find_element("css selector", "a").get_attribute("href")
    others = browser.script(
        "return [...document.querySelectorAll('ul.search > li > a')].slice(1, 5).map(each => each.href)"
    )
    assert not [each for each in others if re.search(r"#lib\.[\w.]*\.[a-z]+$", each)]  # members named by a word
    patiently(browser).until(lambda _: first.find_elements("css selector", "p.context"))
    assert sign in first.find_element("css selector", "p.context").text


def test_the_number_of_results_is_said_in_words(browser, book):
    """The words come in the address, as from the field on every page."""
    for words, said in (("sensitivity", r"Found \d\d+ pages\."), ("xyzzyq", r"No page contains all of these words\.")):
        browser.open(f"{book}/search.html?q={quote(words)}")
        patiently(browser).until(lambda _: re.fullmatch(said, browser.script(SUMMARY) or ""))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", ["sampled Gaussian budget", "zCDP", "notebooks", "single person"])
def test_an_excerpt_is_a_sentence_without_markup_and_without_what_is_left_out(browser, search, words):
    search(words, excerpts=999)
    patiently(browser).until(lambda _: browser.driver.find_elements("css selector", "p.context"))
    time.sleep(1)  # each excerpt comes with its page
    excerpts = browser.script("return [...document.querySelectorAll('p.context')].map(each => each.textContent)")
    assert all(each and "\\(" not in each and not each.startswith("...") for each in excerpts)
    assert [each for each in excerpts if "Source: notebooks" in each or "\ufffc" in each] == []
    assert [each for each in excerpts if re.search("(?<!, )…(?!,)", each.removesuffix(" …"))] == []


def test_an_excerpt_has_no_heading_and_ends_with_its_paragraph_or_item(browser, search):
    search("zCDP")
    page = "<article><h2>A word</h2><ul><li>learn a word;</li><li>learn two</li></ul><p>The word is here. It ends.</p></article>"
    said = "return Search.makeSearchSummary(arguments[0], new Set(['word']), null).textContent"
    assert browser.script(said, page) == "The word is here. It ends."
    assert browser.script(said, page.partition("<p>")[0]) == "learn a word;"


def test_the_page_that_a_result_opens_marks_the_word(browser, search):
    search("感度")
    browser.driver.find_element("css selector", "ul.search > li > a").click()
    patiently(browser).until(
        lambda _: browser.script("return document.querySelector('.highlighted')?.textContent") == "感度"
    )


def test_every_word_must_be_on_the_page(search):
    found = search("sensitivity 感度")
    assert found == {name for name, text in articles("").items() if "感度" in text and "sensitivity" in text}
    assert found < search("sensitivity")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", ["xyzzyq", "猫犬", "量子猫", "感度 xyzzyq", "sensitivity 猫犬"])
def test_what_the_book_does_not_have_is_not_found(search, words):
    assert search(words) == set()


# Ten terms in the Japanese edition: its own pages, and all of them.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "word",
    ["感度", "ノイズ", "再構築", "合成データ", "差分プライバシー", "判定不能", "正誤表", "隣接", "反例", "メカニズム"],
)
def test_the_japanese_edition_finds_its_pages(search, word):
    expected = {name for name, text in articles("ja/").items() if word in text}
    assert len(expected) > 1
    assert search(word, "ja/") == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "query, words",
    [
        ("指数メカニズムの感度", ["指数メカニズム", "感度"]),
        ("合成データの誤差", ["合成データ", "誤差"]),
        ("Rényiダイバージェンス", ["rényi", "ダイバージェンス"]),
        ("εの値", ["ε", "値"]),
    ],
)
def test_a_query_is_parted_where_its_words_end(search, query, words):
    least, most = (
        {name for name, text in articles("ja/", formulas).items() if all(word in text for word in words)}
        for formulas in (False, True)
    )
    assert least and least <= search(query, "ja/") <= most
