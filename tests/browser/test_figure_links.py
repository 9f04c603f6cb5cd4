"""Each figure of each page has links to its notebook, parameters, data, commit and two files, and is visible in dark
mode."""

import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pandas as pd
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from book.kept import results
from tests.browser import needs
from tests.browser.chromium import BOOK

PAGES = sorted(str(path.relative_to(BOOK)) for path in BOOK.glob("notebooks/*/*.html"))

pytestmark = needs.THE_BOOK


def there(address: str, page: str) -> Path | None:
    """Return the file of the book that `address` on `page` leads to, its anchor looked up too; None outside the book."""
    parts = urlsplit(urljoin(page, address))
    if parts.netloc:
        return None
    file = BOOK / parts.path
    assert file.is_file(), f"{address} on {page}"
    if parts.fragment:
        assert f'id="{parts.fragment}"' in file.read_text(encoding="utf-8"), f"{address} on {page}"
    return file


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_has_its_links(page):
    article = re.search(r"(?s)<article.*?</article>", (BOOK / page).read_text(encoding="utf-8"))[0]
    article = BeautifulSoup(re.sub(r"(?s)<(pre|script)\b.*?</\1>", "", article), "html.parser")
    figures = article.select("figure:not(.shown-again)")
    pictures = len(article.select(".cell_output img"))
    assert len(figures) == pictures and len({figure["id"] for figure in figures}) == pictures
    for figure in figures:
        name, links = figure["id"], figure.select(".figure-links a")
        assert all(link.text.lower() in link["aria-label"].lower() for link in links)
        assert all(f"figure {name}" in link["aria-label"] for link in links)
        files = {link.text: there(link["href"], page) for link in links}
        assert [text for text in files if text.startswith("notebook, cell ")] and "parameters" in files
        no_data = "no data read" in figure.select_one(".figure-links").text
        assert any(link["aria-label"].startswith("Data of") for link in links) or no_data
        assert {link.text for link in links if link.has_attr("download")} == {"SVG", "CSV"}
        drawn = ElementTree.parse(files["SVG"]).getroot()
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg" and float(drawn.attrib["width"].removesuffix("pt")) > 100
        told = results.provenance(files["CSV"])
        assert told["figure"] == name and told["notebook"].startswith(page.removesuffix(".html"))
        assert not [key for key in told if key.startswith("not in the table")]
        frame = results.load(files["CSV"])
        assert len(frame) > 0 and set(frame.panel) == set(range(1, frame.panel.max() + 1))
        assert pd.read_csv(io.StringIO(frame.to_csv(index=False))).equals(frame)


def test_the_links_are_shown_and_can_be_reached_with_the_keyboard(browser, book):
    browser.open(f"{book}/{PAGES[0]}", width=390)
    assert browser.script(
        "const links = [...document.querySelectorAll('article .figure-links a')];"
        "return links.length > 0 && links.every(a => a.checkVisibility() && a.getBoundingClientRect().height > 0)"
    )
    browser.script("document.querySelector('.figure-links a').focus({focusVisible: true})")
    focused = browser.script(
        "const e = document.activeElement, s = getComputedStyle(e); return [e.textContent, s.outlineStyle]"
    )
    assert focused[0].startswith("notebook") and focused[1] == "solid"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_figure_has_the_ground_of_its_page_and_ink_that_contrasts(browser, book, dark):
    browser.open(f"{book}/{PAGES[0]}", width=390, dark=dark)
    left, top, right, bottom = browser.script(
        "const e = document.querySelector('article .cell_output img'); e.scrollIntoView({block: 'center'});"
        "const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom].map(Math.round)"
    )
    seen = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("L")
    page, ground = seen.getpixel((left - 5, top + 9)), seen.getpixel((left + 5, top + 9))
    darkest, lightest = seen.crop((left + 9, top + 9, right - 9, bottom - 9)).getextrema()
    assert abs(page - ground) < 9 and (ground < 32) == dark
    assert lightest - darkest > 180


def test_the_shipped_notebooks_do_not_carry_the_files_again():
    for path in (BOOK / "_sources/notebooks").rglob("*.ipynb"):
        assert "vnd.compendium.figure" not in path.read_text(encoding="utf-8")


def test_the_line_under_the_title_names_the_commit():
    made = (BOOK / PAGES[0]).read_text(encoding="utf-8")
    line = re.search(r'<p class="source-line" id="how-made">.*?</p>', made, flags=re.DOTALL)[0]
    figure = re.search(r'<p class="figure-links">.*?</p>', made, flags=re.DOTALL)[0]
    said = re.search(r"commit ([0-9a-f]{7})", figure)
    assert said is None or "commit <code" in line and said[1] in line
