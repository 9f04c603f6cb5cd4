"""Every link between the pages of the built book leads somewhere, down to the place on the page."""

import html
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

BOOK = Path(__file__).resolve().parents[2] / "build/html"


# Formulas hold no links, but most of the elements. A sign within quotation marks does not end a tag.
LEFT_OUT = re.compile(r"(?s)<!--.*?-->|<math\b.*?</math>|(?<=<script)([^>]*>).*?</script>")
TAG = re.compile(r"""<[a-zA-Z](?:[^>"']|"[^"]*"|'[^']*')*>""")
GIVEN = re.compile(r"""(?<=\s)(id|name|href|src)\s*=\s*(?:"([^"]+)"|'([^']+)'|([^\s"'>]+))""")


class Page:
    """The places of a page that a link can name, and the links it holds."""

    def __init__(self, text: str):
        self.places, self.links = set(), []
        for tag in TAG.findall(LEFT_OUT.sub(r"\1", text)):
            for key, *values in GIVEN.findall(tag):
                value = html.unescape("".join(values))
                if key in ("id", "name"):
                    self.places.add(value)
                else:
                    self.links.append(value)


def broken(folder: Path) -> list[str]:
    """Return the links of the pages in `folder` that lead nowhere (links to other sites are not looked at)."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.relative_to(folder).parts
    }
    found = []

    @cache  # every page links to most of the others
    def file(parent: Path, name: str) -> Path | None:
        there = (parent / unquote(name)).resolve()
        return there if there.is_file() else None

    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = file(path.parent, parts.path) if parts.path else path
            place = unquote(parts.fragment)
            if target is None:
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
