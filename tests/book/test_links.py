"""Every link between the pages of the built book leads somewhere, down to the place on the page."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

BOOK = Path(__file__).resolve().parents[2] / "build/html"


class Page(HTMLParser):
    """The places of a page that a link can name, and the links it holds."""

    def __init__(self, text: str):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(re.sub(r"(?s)<math\b.*?</math>", "", text))  # which holds no links, but most of the elements

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


def broken(folder: Path) -> list[str]:
    """Return the links of the pages in `folder` that lead nowhere (links to other sites are not looked at)."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.relative_to(folder).parts
    }
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file():
                found.append(f"{path.relative_to(folder)}: {link}: no such file")
            elif place and target in pages and place not in pages[target].places:
                found.append(f"{path.relative_to(folder)}: {link}: no such place")
    return found


@pytest.mark.slow
@pytest.mark.skipif(not BOOK.is_dir(), reason="the book is not built (make book)")
def test_every_link_within_the_book_leads_somewhere():
    assert broken(BOOK) == []


def test_broken_links_are_seen(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="#here"></a><a href="b.html#there"></a>')
    (tmp_path / "b.html").write_text(
        '<p id="there"><a href="a.html#gone"></a><img src="none.png"><a href="https://example.org/x">'
    )
    assert broken(tmp_path) == ["b.html: a.html#gone: no such place", "b.html: none.png: no such file"]
