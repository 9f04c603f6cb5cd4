"""Under each figure of each page: the way to its notebook, parameters, data and commit, and both of its files."""

import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest

from book.kept import results
from tests.browser import needs
from tests.browser.chromium import BOOK

PAGES = sorted(str(path.relative_to(BOOK)) for path in BOOK.glob("notebooks/*/*.html"))

pytestmark = needs.THE_BOOK

# Of each figure: its name, and of each link its text, accessible name, address, height and whether it downloads.
FIGURES = """
return [...document.querySelectorAll('article figure:not(.shown-again)')].map(figure => ({
  name: figure.id,
  links: [...figure.querySelectorAll('.figure-links a')].map(a => ({text: a.textContent, label: a.getAttribute('aria-label'),
    address: a.href, shown: a.checkVisibility() && a.getBoundingClientRect().height > 0, download: a.hasAttribute('download')})),
  text: figure.querySelector('.figure-links')?.textContent ?? ''}));
"""


def there(address: str, book: str, page: str) -> Path | None:
    """The file of the book that `address` leads to, its anchor looked up too; None outside the book."""
    if not address.startswith(book):
        return None
    parts = urlsplit(address)
    file = BOOK / parts.path.lstrip("/")
    assert file.is_file(), f"{address} on {page}"
    if parts.fragment:
        assert f'id="{parts.fragment}"' in file.read_text(encoding="utf-8"), f"{address} on {page}"
    return file


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_has_its_links(browser, book, page):
    browser.open(f"{book}/{page}", width=390)
    figures = browser.script(FIGURES)
    pictures = browser.script("return document.querySelectorAll('article .cell_output img').length")
    assert len(figures) == pictures and len({figure["name"] for figure in figures}) == pictures
    for figure in figures:
        name, links = figure["name"], figure["links"]
        assert all(link["shown"] and link["text"].lower() in link["label"].lower() for link in links)
        assert all(f"figure {name}" in link["label"] for link in links)
        files = {link["text"]: there(link["address"], book, page) for link in links}
        assert [text for text in files if text.startswith("notebook, cell ")] and "parameters" in files
        assert any(link["label"].startswith("Data of") for link in links) or "no data read" in figure["text"]
        assert {link["text"] for link in links if link["download"]} == {"SVG", "CSV"}
        drawn = ElementTree.parse(files["SVG"]).getroot()
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg" and float(drawn.attrib["width"].removesuffix("pt")) > 100
        told = results.provenance(files["CSV"])
        assert told["figure"] == name and told["notebook"].startswith(page.removesuffix(".html"))
        assert not [key for key in told if key.startswith("not in the table")]
        frame = results.load(files["CSV"])
        assert len(frame) > 0 and set(frame.panel) == set(range(1, frame.panel.max() + 1))
        assert pd.read_csv(io.StringIO(frame.to_csv(index=False))).equals(frame)


def test_the_links_can_be_reached_with_the_keyboard(browser, book):
    browser.open(f"{book}/{PAGES[0]}")
    browser.script("document.querySelector('.figure-links a').focus({focusVisible: true})")
    focused = browser.script(
        "const e = document.activeElement, s = getComputedStyle(e); return [e.textContent, s.outlineStyle]"
    )
    assert focused[0].startswith("notebook") and focused[1] == "solid"


def test_the_shipped_notebooks_do_not_carry_the_files_again():
    for path in (BOOK / "_sources/notebooks").rglob("*.ipynb"):
        assert "vnd.compendium.figure" not in path.read_text(encoding="utf-8")


def test_the_line_under_the_title_names_the_commit():
    made = (BOOK / PAGES[0]).read_text(encoding="utf-8")
    line = re.search(r'<p class="source-line" id="how-made">.*?</p>', made, flags=re.DOTALL)[0]
    figure = re.search(r'<p class="figure-links">.*?</p>', made, flags=re.DOTALL)[0]
    said = re.search(r"commit ([0-9a-f]{7})", figure)
    assert said is None or "commit <code" in line and said[1] in line
