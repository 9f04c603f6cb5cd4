"""The reference in the browser: its search and its texts, which contain none of the docstrings' own markup."""

import html
import re
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from book._ext import reference
from tests.browser import needs
from tests.browser.chromium import BOOK

pytestmark = needs.THE_BOOK


def first_found(browser, book, words: str) -> tuple[str, str]:
    """Return the path and fragment of the first result of the book's search."""
    browser.open(f"{book}/search.html?q={words}")
    WebDriverWait(browser.driver, 60).until(
        lambda _: browser.script("return document.querySelector('ul.search > li > a')?.href")
    )
    found = urlsplit(browser.script("return document.querySelector('ul.search > li > a').href"))
    return found.path.lstrip("/"), found.fragment


@pytest.mark.parametrize(
    "name", ["lib.gaussian_synthesis.unbounded_epsilon", "lib.accounting.prv_compose", "lib.release.count_intervals"]
)
def test_search_finds_a_function_first_in_the_reference(browser, book, name):
    page = f"reference/{name.split('.')[1]}.html"
    assert first_found(browser, book, name.rpartition(".")[2]) == (page, name)


def article(room: str) -> str:
    text = (BOOK / f"reference/{room}.html").read_text(encoding="utf-8")
    return re.search(r"<article\b.*?</article>", text, flags=re.DOTALL)[0]


@pytest.mark.parametrize("room", reference.rooms())
def test_a_room_has_all_its_functions_with_their_lines_and_no_backticks(room):
    page = article(room)
    names = {name for (module, _), name in reference.public().items() if module.split(".")[1] == room}
    assert names and names <= set(re.findall(r'<dt class="sig[^>]*? id="([^"]+)"', page))
    assert page.count('<span class="viewcode-link">') >= len(names)
    assert "`" not in html.unescape(re.sub(r"<pre>.*?</pre>|<[^>]+>", "", page, flags=re.DOTALL))


def test_the_page_of_a_function_says_where_it_comes_from_and_who_uses_it():
    page = article("gaussian_synthesis").partition('id="lib.gaussian_synthesis.unbounded_epsilon"')[2]
    page = page.partition('<dl class="py')[0]
    assert "miura2022/summary.html" in page and "Theorem 3.1" in page
    assert "notebooks/miura2022/02_figures_tables.html" in page
    assert "&gt;&gt;&gt;" in page and "0.576" in page


@pytest.mark.parametrize("room", reference.rooms())
def test_names_and_examples_are_those_of_the_installed_package(room):
    page = re.sub(r"<[^>]+>", "", article(room))
    assert f"dp_compendium.{room}." in page and "in the repository dp_compendium is lib" in page
    assert not re.search(rf"^lib\.{room}\.|&gt;&gt;&gt; (from|import) lib\b", page, flags=re.MULTILINE)
