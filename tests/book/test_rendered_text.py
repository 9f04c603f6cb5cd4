"""Markup does not break a sentence: a page shows every letter of a message, and no sign of markup.

An unescaped asterisk in quotation marks once began an emphasis, and the sentence lost its point. Each message is read by
the parser that the build uses. The text found is compared with the message without its markup, which the patterns of
`book.editions.catalogues` remove. Signs of markup that remain must be the same as in the English message. If the book is
built, its pages are compared with the messages as well.
"""

import html
import re
from collections import Counter
from functools import cache
from types import SimpleNamespace

import pytest
import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from book.editions import catalogues
from tests.book.test_catalogues import WRITTEN, pages

SIGNS = "*_`$\\[]{}<>#|~^"  # of markup
ASTERISK = re.compile(r"\\\*|(?<=[\s\"“「])\*(?=[\s\"”」])")  # one that readers are meant to see
PLACE = "\ue000"  # of what is compared elsewhere: code, formulas, pictures, and what the page fills in
PLACES = ("code_inline", "math_inline", "math_inline_double", "image")
EMPTY = ("link_open", "link_close")  # a link without a text, for which the page has the title of its target
PLAIN = {"image", "in a figure", "in HTML"}  # kinds of messages that no parser reads
PAIRS = {"「": "」", "『": "』", "（": "）", "“": "”", "(": ")", "[": "]"}
BETWEEN = 300  # letters of a page that may be in a place
BOOK = catalogues.ROOT / "build/html"


@cache
def parser():
    settings = yaml.safe_load((catalogues.ROOT / "_config.yml").read_text(encoding="utf-8"))
    enabled = set(settings["parse"]["myst_enable_extensions"]) - {"substitution"}  # which needs a page
    made = create_md_parser(MdParserConfig(enable_extensions=enabled), RendererHTML)
    made.options["document"] = SimpleNamespace(settings=SimpleNamespace(language_code="en"))
    return made


def shown(text: str) -> tuple[str, list[str]]:
    """Return the prose that the parser finds in the Markdown `text`, and each of its emphasized parts."""
    prose, emphasized, begun, before = "", [], [], ""
    for part in parser().parseInline(text)[0].children:
        if part.type in ("text", "text_special"):
            prose += part.content
        elif part.type in ("softbreak", "hardbreak"):
            prose += " "
        elif part.type == "myst_role":
            prose += title(part.meta["name"], part.content)
        elif part.type in ("em_open", "strong_open"):
            begun.append(len(prose))
        elif part.type in ("em_close", "strong_close"):
            emphasized.append(prose[begun.pop() :])
        elif part.type in PLACES or (before, part.type) == EMPTY:
            prose += PLACE
        before = part.type
    return prose, emphasized


def title(role: str, text: str) -> str:
    """Return what a message says of the text that a page shows for a role."""
    titled = None if role in catalogues.QUOTES else re.fullmatch(r"(.*?)\s*<[^<>]+>", text, re.DOTALL)
    return titled[1] if titled else PLACE


def unmarked(text: str) -> str:
    """Return the prose of the Markdown `text` by the catalogues' patterns. Signs of emphasis are still in it."""
    text = catalogues.ROLE.sub(lambda role: title(role["role"], role["text"]), text)
    for pattern in (catalogues.CODE, catalogues.FORMULA):
        text = pattern.sub(PLACE, text)
    text = re.sub(r"!?\[\]\([^)]*\)", PLACE, text)
    text = re.sub(r"\]\([^)]*\)|(?<=\])\{[.#][^}]*\}", "]", text)  # addresses, and the classes of a span
    return html.unescape(catalogues.TAG.sub("", re.sub(r"<(https?://[^>]+)>", r"\1", text)))


def letters(text: str) -> str:
    return re.sub(rf"[\s{re.escape(SIGNS)}]", "", text)


def divided(text: str) -> bool:
    """Return whether a bracket or a quotation mark in `text` has no partner in it."""
    waiting = []
    for letter in text:
        if letter in PAIRS:
            waiting.append(PAIRS[letter])
        elif letter in PAIRS.values() and (not waiting or waiting.pop() != letter):
            return True
    return bool(waiting)


def broken(message: str, translation: str, plain: bool = False) -> list[str]:
    """Return what the markup of a translation destroys, a sentence for each; a `plain` text has no markup."""
    told, texts = [], (message, translation)
    if not plain:
        (prose, emphasized), written = shown(translation), unmarked(translation)
        if letters(prose) != letters(written):
            told.append(f"the letters shown are not those written: {prose!r}")
        if prose.count("*") > len(ASTERISK.findall(written)):
            told.append(f"an asterisk remains: {prose!r}")
        told += [f"an emphasis divides a pair of brackets: {part!r}" for part in emphasized if divided(part)]
        texts = shown(message)[0], prose
    before, after = (Counter(sign for sign in text if sign in SIGNS) for text in texts)
    if before != after:
        told.append(f"English has the signs {dict(before)}, the translation {dict(after)}")
    return told


def read(language: str, page: str, kinds: set[str]) -> list[tuple[str, str, bool]]:
    """Return each message of these kinds with its translation, and whether it is plain."""
    known = [
        (each, {*each.auto_comments}) for each in catalogues.messages(catalogues.load(catalogues.place(page, language)))
    ]
    return [
        (each.id, each.string, bool(own & PLAIN))
        for each, own in known
        if each.string and not each.fuzzy and own <= kinds
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "page"), pages(catalogues.LOCALE))
def test_no_letter_of_a_message_vanishes_and_no_markup_remains(language, page):
    known = read(language, page, WRITTEN | PLAIN | {"generated"})
    texts = [(message, text, plain) for message, translation, plain in known for text in (message, translation)]
    assert [(told, text) for message, text, plain in texts for told in broken(message, text, plain)] == []


SAID = (
    'Above *f* is only "\\*", **not** `a*b`: a {term}`noise` of $x_1 * 2$, see [the errata](errata.md), "so" -- or _not_ … of'
    ' <span class="x">f_1</span>, {shown}`a: # <3`.'
)
TOLD = (
    "*f* の上には「\\*」しかなく、`a*b` では **ない**。大きさ $x_1 * 2$ の {term}`ノイズ <noise>` は、[正誤表](errata.md) のとおり「そう」"
    'か――または _そうでない_ …、<span class="x">f_1</span> の {shown}`a: # <3`。'
)


def test_a_good_translation_is_whole():
    assert broken(SAID, TOLD) == broken(SAID, SAID) == []


@pytest.mark.parametrize(
    ("good", "planted"),
    [
        ("「\\*」しかなく、", "「*」しかなく、* または*"),  # as it once was
        ("「\\*」しかなく", "「*」や「*」しかなく"),  # both vanish
        ("「\\*」", "「」"),
        ("「\\*」", "「\\*\\*」"),
        (" **ない**。", "**「ない」**。"),
        (" **ない**。", " **な*い**。"),
        (" _そうでない_ ", "_そうでない_"),
        ("「そう」", "<そう>"),
        ("「そう」", "&lt;そう&gt;"),
        ("[正誤表](errata.md)", "[正誤表] (errata.md)"),
        ("[正誤表](errata.md)", "[正誤表](errata .md)"),
        ("{term}`ノイズ <noise>`", "{term} `ノイズ <noise>`"),
        ("{term}`ノイズ <noise>`", "{term}｀ノイズ <noise>｀"),
        ("`a*b`", "`a*b"),
        ("$x_1 * 2$", "x_1 * 2"),
        ("f_1</span>", "f_1</span"),
        ("f_1", "f\\_1_"),
    ],
)
def test_a_planted_fault_of_markup_is_seen(good, planted):
    assert TOLD.count(good) == 1
    assert broken(SAID, TOLD.replace(good, planted)) != []


def test_signs_in_a_plain_text_are_seen():
    assert broken("The curve of f falls.", "曲線fは下がる。", plain=True) == []
    assert broken("The curve of f falls.", "曲線 *f* は下がる。", plain=True) != []


# ---------------------------------------------------------------- built pages


def seen(page: str) -> str:
    """Return the letters that a page shows, without spaces."""
    body = re.sub(r"(?s)^.*?(?=<article\b)|</article>.*$|<(script|style|svg)\b.*?</\1>", "", page)
    return re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]*>", "", body)))


def lies(prose: str, page: str) -> bool:
    """Return whether `page` has the `prose`, with at most `BETWEEN` letters in each place.

    The colon at its end may be left out, as it is where a title becomes the name of a bar.
    """
    first, *others = [re.sub(r"\s", "", piece) for piece in prose.strip(f" {PLACE}").rstrip("：").split(PLACE)]
    start = page.find(first)
    while start >= 0:
        at = start + len(first)
        for piece in others:
            found = page.find(piece, at, at + BETWEEN + len(piece))
            at = found + len(piece)
            if found < 0:
                break
        else:
            return True
        start = page.find(first, start + 1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("language", "page"), pages(catalogues.LOCALE))
def test_a_built_page_shows_each_translation_whole(language, page):
    file = BOOK / language / f"{page}.html"
    if not file.is_file():
        pytest.skip("the edition is not built (make book)")
    text = seen(file.read_text(encoding="utf-8"))
    known = [translation for _, translation, _ in read(language, page, WRITTEN - {"image"})]
    assert [translation for translation in known if not lies(shown(translation)[0], text)] == []


PAGE = (
    '<body><article class="a"><p><em>f</em>の上には「*」しかなく、<code>a*b</code>では<strong>ない</strong>。大きさ<span class="math">\\(x_1 * 2\\)</span>の'
    '<a href="#">ノイズ</a>は、<a href="errata.html">正誤表</a>のとおり「そう」か――または<em>そうでない</em>…、<span class="x">f_1</span>の5。</p></article></body>'
)


def test_a_page_that_shows_a_message_is_whole():
    assert lies(shown(TOLD)[0], seen(PAGE))


@pytest.mark.parametrize(
    ("good", "planted"),
    [
        ("「*」", "「」"),
        ("<strong>ない</strong>", "**ない**"),
        ("<em>f</em>", "*f*"),
        (">ノイズ<", "><"),
        (">ノイズ<", ">noise<"),
        ("「そう」", "“そう”"),
        ("――", "—"),
        ("…", "..."),
        ("<em>そうでない</em>", "_そうでない_"),
        ("f_1", "f1"),
        ("のとおり", ""),
        ("<code>a*b</code>", "<code>a*b</code>" + BETWEEN * "x"),
    ],
)
def test_a_planted_fault_of_a_page_is_seen(good, planted):
    assert PAGE.count(good) == 1
    assert not lies(shown(TOLD)[0], seen(PAGE.replace(good, planted)))
