"""The catalogues of locale/ have the messages of the pages, and each translation keeps what it must keep."""

import json
import os
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

from book.editions import catalogues, edition, sentences
from book.ledger import retold, verdicts
from book.site import build

ROOT = catalogues.ROOT
FILES = sorted(catalogues.LOCALE.rglob("*.po"))
BESIDE = ("claims/", "assignments/", "words", "tables", "derivations", "feedback")
MESSAGE = (
    "Add {term}`noise` of scale $\\sigma$, as {doc}`chapter 3 <03_composition>` and [the errata](errata.md) say,"
    ' {shown}`a/b: x < 3 #%` % of `n` = 1,000 <span class="x">times</span>, {n} each.'
)
TRANSLATION = (
    "{doc}`3章 <03_composition>` と [正誤表](errata.md) のとおり、尺度 $\\sigma$ の {term}`雑音 <noise>` を"
    '`n` = 1,000 <span class="x">回</span>のうち {shown}`a/b: x < 3 #%` %、{n}ずつ加える。'
)


def pages(locale: Path) -> list[tuple[str, str]]:
    """Return the language and the page of each catalogue in `locale` that belongs to a page."""
    named = [path.relative_to(locale).with_suffix("").as_posix().split("/", 1) for path in sorted(locale.rglob("*.po"))]
    return [(language, page) for language, page in named if not page.startswith(BESIDE)]


def test_a_third_language_is_taken(tmp_path):
    for name in ("ja/cite", "fr/cite", "fr/notebooks/kiri2019/01_laplace", "fr/words", "fr/claims/kiri2019"):
        catalogues.save(tmp_path / f"{name}.po", Catalog(), name[:2])
    assert pages(tmp_path) == [("fr", "cite"), ("fr", "notebooks/kiri2019/01_laplace"), ("ja", "cite")]


def test_a_good_translation_has_no_differences():
    assert catalogues.differences(MESSAGE, TRANSLATION) == []


@pytest.mark.parametrize(
    ("planted", "instead", "what"),
    [
        ("<noise>", "<sensitivity>", "roles"),
        ("{doc}", "{ref}", "roles"),
        ("03_composition", "04_composition", "roles"),
        ("x < 3 #%", "x < 4 #%", "roles"),
        ("errata.md", "erratum.md", "links"),
        ("$\\sigma$", "$\\tau$", "formulas"),
        ("`n`", "`m`", "code"),
        ("1,000", "10,000", "numbers"),
        ('class="x"', 'class="y"', "tags"),
        ("{n}", "", "places"),
        ("尺度 ", "**「尺度」**は", "asterisks"),
        ("尺度 ", "尺度\n", "one line"),
    ],
)
def test_a_planted_edit_is_seen(planted, instead, what):
    assert planted in TRANSLATION
    (told,) = catalogues.differences(MESSAGE, TRANSLATION.replace(planted, instead))
    assert what in told


def test_words_in_a_formula_are_translated():
    message, translation = "Of $\\Pr[i \\text{ at } s]$.", "$\\Pr[i \\text{ が } s \\text{ にある}]$ のこと。"
    assert catalogues.differences(message, translation) == []
    assert catalogues.differences(message, translation.replace("s ", "t ")) != []


def test_a_number_in_words_may_become_digits():
    assert catalogues.differences("Two of them differ.", "2件が異なる。") == []
    assert catalogues.differences("They differ in 2020.", "異なる。") != []
    assert (
        catalogues.differences("On 10 August, twenty-five of 50 million, a tenth.", "8月10日、5,000万のうち25、0.1。")
        == []
    )
    assert catalogues.differences("A person of a million.", "100万人のうち1人。") == []
    for wrong in ("100万人のうち3人。", "1,000万人のうち1人。"):
        assert catalogues.differences("A person of a million.", wrong) != []


@pytest.mark.parametrize(
    ("message", "translation", "planted"),
    [
        ("Of 10 million people, 3 differ.", "1,000万人のうち3人が異なる。", ("万", "億")),
        ("Ten thousand million runs.", "100億回の実行。", ("100億", "1,000億")),
        ("3 to 5 million records.", "300万から500万レコード。", ("500万", "600万")),
        ("Two of the twelve tables.", "十二個の表のうちの二つ。", ("二つ", "三つ")),
        ("Two of the twelve tables.", "十二個の表のうちの二つ。", ("十二個", "十三個")),
        ("Four points, in general.", "一般には四点。", ("四点", "五点")),
        ("Three of them differ.", "3つが異なる。", ("3つ", "2つ")),
        ("Three of them differ.", "3つが異なる。", ("3つ", "0")),
        ("Three of them differ.", "3つが異なる。", ("3つ", "")),
        ("A table has two rows.", "表には2行ある。", ("2行", "1行")),
        ("It is 7 of 7, and then 8.", "7つのうち7つ、次に8つ。", ("のうち7つ", "のうち8つ")),
        ("It falls to -3 from 5.", "5から-3に下がる。", ("-3", "3")),
        ("It falls to minus 1.", "−1に下がる。", ("−", "")),
        ("A 2-way error of 3 %.", "2-wayの誤差は3 %である。", (" %", "")),
        ("About 3 per cent.", "約3パーセント。", ("パーセント", "")),
        ("About 3 of them.", "そのうち約3。", ("3", "3 %")),
    ],
)
def test_a_planted_number_is_seen(message, translation, planted):
    assert catalogues.differences(message, translation) == []
    assert planted[0] in translation
    assert catalogues.differences(message, translation.replace(*planted, 1)) != []


def test_a_number_is_excused_by_a_comment_that_names_it():
    message, translation = "A silent node: [5, 0].", "出力が常に0のノード：[5, 0]。"
    excuse = ["numbers: +0 (the output of a silent node)"]
    assert catalogues.mistakes(Message(message, translation)) != []
    assert catalogues.mistakes(Message(message, translation, user_comments=excuse)) == []
    for planted in ("出力が常に1のノード：[5, 0]。", "出力が常に0のノード：[6, 0]。", "静かなノード：[5, 0]。"):
        assert catalogues.mistakes(Message(message, planted, user_comments=excuse)) != []


def test_few_numbers_are_excused():
    """If many translations need an exception from a rule, fix the rule instead."""
    known = [message for path in FILES for message in catalogues.messages(catalogues.load(path))]
    assert sum(any(map(any, catalogues.excused(message))) for message in known) < 40


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(catalogues.LOCALE).as_posix())
def test_every_message_is_translated_and_its_translation_keeps_what_it_must(path):
    """The messages listed here are shown in English, with a mark: they have no translation, or their English has changed."""
    waiting = [
        message.id for message in catalogues.messages(catalogues.load(path)) if not message.string or message.fuzzy
    ]
    assert [*catalogues.problems(path), *waiting] == []


QUOTED = re.compile(r"\{doc\}`([^`<]*?) <([^>`]*)>`")


@pytest.mark.slow
@pytest.mark.parametrize("language", edition.OTHERS)
def test_a_link_that_quotes_the_title_of_a_page_quotes_its_translation(language):
    read = {page: catalogues.messages(catalogues.load(catalogues.place(page, language)))
            for each, page in pages(catalogues.LOCALE) if each == language}  # fmt: skip
    titles = {page: next(one for one in found if "title" in one.auto_comments) for page, found in read.items()}
    links = [
        (page, here[0], there[0], titles[target])
        for page, found in read.items()
        for message in found
        for here, there in zip(QUOTED.findall(message.id), QUOTED.findall(message.string))
        if (target := os.path.normpath(os.path.join("/", page, "..", there[1]))[1:]) in titles
    ]
    quoting = [(page, there, title.string) for page, here, there, title in links if here == title.id]
    assert len(quoting) > 10
    assert [each for each in quoting if each[1] != each[2]] == []


def stale(found: dict[str, dict[str, str]], language: str) -> list[str]:
    """Return the messages that are in a catalogue and no more in the book, or the other way round."""
    told = []
    for name, messages in found.items():
        path = catalogues.place(name, language)
        known = {message.id for message in catalogues.messages(catalogues.load(path))} if path.is_file() else set()
        told += [f"{name}: only in the book: {message}" for message in messages.keys() - known]
        told += [f"{name}: only in the catalogue: {message}" for message in known - messages.keys()]
    return sorted(told)


@pytest.mark.parametrize("language", edition.OTHERS)
@pytest.mark.skipif(not catalogues.FOUND.is_file(), reason="the book is not built (make book)")
def test_catalogues_have_the_messages_of_the_pages(language):
    """`make catalogues` brings them up to date, and the messages that are new or changed wait for a translator."""
    pages = json.loads(catalogues.FOUND.read_text(encoding="utf-8"))
    assert stale({page: found for page, found in pages.items() if not catalogues.NO_PAGES.match(page)}, language) == []


# What stands in the sources word by word; the rest is made of something.
WRITTEN = {"paragraph", "title", "term", "image", "caption", "exercise_subtitle"}


# What a block begins with, in Markdown: a heading, an item, what a term means, a quotation, a directive, a row of a table.
BEGINS = re.compile(r"\s*(?P<mark>#+\s+|(?:(?:[-*]|\d+\.|:|>)(?:\s+|$))+|(?::{3,}|`{3,})(?:\{[^}]+\})?|\|)")
OPTION = re.compile(r"\s*:[\w-]+:|% ")  # of a directive; or a comment
CELL = re.compile(r"\s+\|(?=\s|$)")
PUT = re.compile(r"^Proof\. |^\((.*)\)$")  # what begins a proof, or is round a title: a directive has put it there


def flat(text: str) -> str:
    return " ".join(text.split())


def blocks(text: str) -> set[str]:
    """Return the headings, paragraphs, items, definitions, titles and cells of tables of a text in Markdown, each on one line."""
    found, term = [""], False
    for line in text.splitlines():
        head = BEGINS.match(line)
        mark, body = (head["mark"].strip(), line[head.end() :]) if head else ("", line)
        goes_on = mark == ">" and found[-1]
        means = term and line.startswith("  ")  # of a glossary, below the term
        if (mark and not goes_on) or means or not body.strip() or OPTION.match(line):
            found.append("")
        term = not mark and not line.startswith(" ") and bool(body.strip())
        if OPTION.match(line):
            continue
        cells = CELL.split(body) if mark == "|" else [body]
        found[-1] += f" {cells[0]}"
        found += cells[1:]
        if mark[:1] in ("#", "|", "`") or mark.startswith(":::"):
            found.append("")
    return {flat(each) for each in found} - {""}


def texts(value):
    """Yield all texts in what JSON holds."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


def source(page: str) -> set[str]:
    """Return the blocks of a page; of a notebook those of its cells, of what they show in Markdown, and captions and the like."""
    if not page.startswith("notebooks/"):
        return blocks((ROOT / f"book/{page}.md").read_text(encoding="utf-8"))
    cells = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = [
        output["data"].get("text/markdown", "")
        for cell in cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    found = ["".join(text) for text in [*(cell["source"] for cell in cells), *shown]]
    return set().union(*map(blocks, found), map(flat, texts([cell["metadata"] for cell in cells])))


def gone(messages, written: set[str]) -> list[str]:
    """Return the messages that are not a whole block of the `written` text."""
    return [each for each in messages if not {flat(each), flat(PUT.sub(lambda head: head[1] or "", each))} & written]


@pytest.mark.parametrize(("language", "page"), pages(catalogues.LOCALE))
def test_what_is_translated_is_still_what_is_written(language, page):
    """Without a build: a changed paragraph is noticed at once. `make catalogues` brings it to the translators.

    Only the build sees messages that are made from something ("generated", "in a figure", "in HTML", "in a formula", the
    texts of scripts). This test also does not see a block that is new, that has moved, or that is still elsewhere on its page.
    """
    catalogue = catalogues.load(catalogues.place(page, language))
    known = [each.id for each in catalogues.messages(catalogue) if {*each.auto_comments} <= WRITTEN]
    assert known and gone(known, source(page)) == []


WRITTEN_PAGE = """\
# A title

The noise
is drawn once.

- True; see below.
- An item that
  goes on.

| Side | right |
|---|---|
| of $|x|$ | 1 |

:::{admonition} A box
:class: note
In a box.
:::

term
  What it means.
"""
MESSAGES = ["A title", "The noise is drawn once.", "(A title)", "True; see below.", "An item that goes on.", "right"]
MESSAGES += ["of $|x|$", "A box", "In a box.", "term", "What it means."]


def test_what_is_written_is_not_gone():
    assert gone(MESSAGES, blocks(WRITTEN_PAGE)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("is drawn once.", "is drawn twice.", "The noise is drawn once."),
        ("| right |", "| not right |", "right"),
        ("- True;", "- It is not True;", "True; see below."),
        ("What it means.", "What it means. Not always.", "What it means."),
        ("goes on.", "goes on. It ends.", "An item that goes on."),
        ("In a box.", "Not in a box.\nIn a box.", "In a box."),
        ("# A title", "# Not a title: A title", "A title"),
        ("} A box", "} A box of faults", "A box"),
    ],
)
def test_a_changed_block_is_noticed_without_a_build(old, new, message):
    assert old in WRITTEN_PAGE
    assert message in gone(MESSAGES, blocks(WRITTEN_PAGE.replace(old, new)))


@pytest.mark.parametrize("language", edition.OTHERS)
def test_the_catalogue_of_words_has_what_the_code_says(language):
    assert stale({"words": sentences.everywhere(*retold.JUDGED)}, language) == []


@pytest.mark.parametrize("language", edition.OTHERS)
@pytest.mark.skipif(not verdicts.GATHERED.is_file(), reason="no claims are judged (make claims)")
def test_the_catalogues_of_claims_have_the_claims(language):
    assert stale(build.beside_pages(), language) == []


def test_a_changed_paragraph_is_outdated(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "LOCALE", tmp_path)
    catalogues.update("page", {"The noise is drawn once.": "paragraph", "Title": "title"}, "ja")
    path = catalogues.place("page", "ja")
    catalogue = catalogues.load(path)
    catalogue["The noise is drawn once."].string, catalogue["Title"].string = "雑音は1回引く。", "題"
    catalogues.save(path, catalogue, "ja")
    assert catalogues.translations(path) == {"The noise is drawn once.": "雑音は1回引く。", "Title": "題"}
    assert stale({"page": {"The noise is drawn twice.": "paragraph", "Title": "title"}}, "ja") == [
        "page: only in the book: The noise is drawn twice.",
        "page: only in the catalogue: The noise is drawn once.",
    ]
    catalogues.update("page", {"The noise is drawn twice.": "paragraph", "Title": "title"}, "ja")
    assert catalogues.translations(path) == {"Title": "題"}
    assert catalogues.state(path) == (2, 0, 1)
    assert '#| msgid "The noise is drawn once."' in path.read_text(encoding="utf-8")
    catalogues.save(path, catalogues.load(path), "ja")
    assert "|" not in path.read_text(encoding="utf-8")  # what the message was before is no comment of a translator


def test_a_translation_that_loses_a_formula_is_not_shown(tmp_path):
    catalogue = Catalog()
    catalogue.add("of scale $s$", "尺度")
    catalogues.save(tmp_path / "page.po", catalogue, "ja")
    assert catalogues.translations(tmp_path / "page.po") == {}


def test_sentences_of_modules_and_scripts_are_found(tmp_path):
    module = 'say("a {n}", "many {n}", n=1)\nedition.say("b")\nother("c")\nsay(name)\nSAID = ("d", "e")\nMORE = ("f",)'
    assert sentences.of_module(module) == ["a {n}", "many {n}", "b", "d", "e"]
    script = tmp_path / "some.js"
    script.write_text(
        "f(say('a'), say(x ? 'b' : 'c', {d: 'e'}), many(2, '{n} f', '{n} f\\'s'), say('g '\n + 'h'), other('i'))"
    )
    assert sentences.of_scripts(script) == ["a", "b", "c", "{n} f", "{n} f's", "g h"]
