"""Every untranslated text is shown in English with a mark: a small book without catalogues, built in Japanese."""

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx

from book.editions import catalogues, edition
from book.ledger import claims, retold

MARK = "（英語）"
PAGE = """\
# The title

A paragraph of **words** and $x$.

| The head | $y$ |
|---|---|
| The cell | $\\sigma$ |

```{figure} picture.png
:alt: The drawing

The caption
```

:::{note}
The note
:::

:::{admonition} The heading of a box
- The entry of a list
:::

The term
: The meaning

$$
x = 1 \\text{ if it holds}
$$

<p>The HTML</p>

:::{toctree}
:caption: The contents
other
:::
"""
CONF = """\
extensions = ["myst_parser", "sphinx_exercise", "book._ext.editions"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
html_theme, language = "basic", "ja"
"""
# Where no element can stand, the mark is text; else CSS puts it behind a `span`.
IN_TEXT = ["The drawing", "if it holds", "The HTML", "The contents"]
IN_SPANS = [
    "The title",
    "A paragraph of words and \\(x\\).",
    "The head",
    "The cell",
    "The caption",
    "The note",
    "The heading of a box",
    "The entry of a list",
    "The term",
    "The meaning",
]


@pytest.fixture
def japanese(tmp_path, monkeypatch):
    """Provide the edition in Japanese, with no catalogue but that of the code's words."""
    for name in ("locale", "source"):
        (tmp_path / name).mkdir()
    words = catalogues.place("words", "ja").read_text(encoding="utf-8")
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path / "locale")
    (tmp_path / "locale/ja").mkdir()
    catalogues.place("words", "ja").write_text(words, encoding="utf-8")
    edition._translations.cache_clear()
    edition.begin("ja")
    yield tmp_path
    edition.begin(edition.SOURCE)
    edition._translations.cache_clear()


def built(folder) -> BeautifulSoup:
    """Return the page, built."""
    source = folder / "source"
    (source / "conf.py").write_text(CONF)
    (source / "index.md").write_text(PAGE)
    (source / "other.md").write_text("# Other\n")
    (source / "picture.png").write_bytes(b"")
    edition._translations.cache_clear()
    Sphinx(source, source, folder / "html", folder / "doctrees", "html", status=None, freshenv=True).build()
    return BeautifulSoup((folder / "html/index.html").read_text(encoding="utf-8"), "html.parser").select_one(".body")


def test_whatever_has_no_translation_is_marked(japanese):
    page = built(japanese)
    assert [span.get_text() for span in page.select(".untranslated")] == [*IN_SPANS, "Other"]
    for each in IN_TEXT:
        assert f"{each}{MARK}" in str(page)


def test_what_has_one_is_not(japanese):
    known = {"The cell": "欄", "The drawing": "図", "The contents": "目次"}
    catalogues.update("index", dict.fromkeys(known, "paragraph"), "ja")
    path = catalogues.place("index", "ja")
    catalogue = catalogues.load(path)
    for message, translation in known.items():
        catalogue[message].string = translation
    catalogues.save(path, catalogue, "ja")
    page = built(japanese)
    assert page.select_one("td").get_text() == "欄"
    assert page.select_one("img")["alt"] == "図"
    assert "目次" in str(page) and f"目次{MARK}" not in str(page)
    assert known.keys().isdisjoint(span.get_text() for span in page.select(".untranslated"))


def test_what_the_code_and_the_ledger_say_is_marked(japanese):
    assert edition.say("What nobody has translated: {n} of them", n=3) == f"What nobody has translated: 3 of them{MARK}"
    assert edition.say("reproduced") == "再現"
    assert retold._told("Table 9", "kiri2019") == f"Table 9{MARK}"
    assert edition.translated("$x$, 7", "words") == "$x$, 7"  # nothing to translate
    edition.begin(edition.SOURCE)
    assert edition.translated("What nobody has translated", "words") == "What nobody has translated"


def test_the_braces_of_a_formula_are_not_the_places_of_numbers(japanese):
    """A note without a translation has its own numbers again, and its formulas as they were."""
    assert retold._part("At 5 the cost is $e^{2}$, not 7", next(iter(claims.load().all.values()))) == (
        f"At 5 the cost is $e^{{2}}$, not 7{MARK}"
    )
