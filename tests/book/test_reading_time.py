"""A chapter is read in one sitting: at most 20 minutes at 220 words a minute.

The test counts the words that a page shows with its folds closed. A formula in a line of text counts as a word. Code, tables and
displayed formulas are looked at rather than read, so they are left out, as are the links below a figure.
"""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

BOOK = Path(__file__).resolve().parents[2] / "build/html"
CHAPTERS = sorted(BOOK.glob("notebooks/*/*.html"))
MINUTES, SPEED = 20, 220

LEFT_OUT = (
    "pre, table, div.math, script, style, svg, a.headerlink, p.figure-links, .claim-verdict, fieldset,"
    " details > :not(summary), .dropdown > :not(.admonition-title)"
)


def words(page: str) -> int:
    """Return how many words of the article of `page` are read."""
    article = page.partition('<article class="bd-article"')[2].partition("</article>")[0]
    article = BeautifulSoup(
        re.sub(r"(?s)<(pre|script|svg|math)\b.*?</\1>", "", article), "html.parser"
    )  # in a fifth of the time
    for element in article.select(LEFT_OUT):
        element.extract()
    for formula in article.select("span.math"):
        formula.replace_with(" formula ")
    return len(re.findall(r"\w[^\s]*", article.get_text(" ")))


@pytest.mark.slow
@pytest.mark.skipif(not CHAPTERS, reason="the book is not built (make book)")
def test_a_chapter_is_read_in_twenty_minutes():
    minutes = {path.relative_to(BOOK).as_posix(): words(path.read_text(encoding="utf-8")) / SPEED for path in CHAPTERS}
    longest = max(minutes, key=minutes.get)
    print(f"the longest chapter is {longest}: {minutes[longest]:.1f} minutes")
    assert not {path: round(each, 1) for path, each in minutes.items() if each > MINUTES}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("<p>It holds – for all of them.</p>", 6),
        ('<p>If <span class="math">\\(x &lt; 1 + y\\)</span> holds</p>', 3),
        ('<div class="math">\\[x = 1\\]</div><pre>x = 1</pre><table><tr><td>one</td></tr></table>', 0),
        ("<details><summary>Two words</summary><p>and more</p></details>", 2),
        (
            '<div class="dropdown admonition"><p class="admonition-title">Solution</p><div><p>so it is</p></div></div>',
            1,
        ),
    ],
)
def test_words_that_are_read_are_counted(text, count):
    assert words(f'<nav>left out</nav><article class="bd-article">{text}</article>') == count
