"""Texts in the language of the edition being built.

`say` is for sentences of the code; their translations are in locale/ja/words.po. `told` is for texts of a page that a
directive processes; their translations are in the page's own catalogue.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from threading import Event
from types import SimpleNamespace

from docutils import nodes

from book.editions import catalogues, sentences

SOURCE, OTHERS = "en", ("ja",)
SAID = ("{text} (in English)",)  # the mark of untranslated texts

language = SOURCE
editions: list[str] = [SOURCE]
"""The languages of this build."""
environment = Path()
"""The file in which Sphinx keeps its data on the English pages, once they are `read`."""
read = Event()
"""Set when all English pages have been read; processes that build other editions wait for it."""
begun = SimpleNamespace(value=0)
"""How many English pages Sphinx has begun to read, in order; all of these but the last have been read."""
page = ""
"""The page that is being read."""
found: dict[str, dict[str, str]] = {}
"""The messages found so far on each page, each with its kind, such as paragraph or title."""

# The parts of a message that are not words: formulas, code with its role, addresses of links, tags.
NO_WORDS = re.compile(r"\$[^$]*\$|\{[\w:-]+\}`[^`<]*`|`[^`]*`|\]\([^)]*\)|<[^>]*>|https?://\S+")


def begin(one: str, of=(), kept: Path = Path()) -> None:
    """Set the language of all texts from now on to `one`. `of` lists the languages of the build, and `kept` is the
    `environment`."""
    global language, editions, environment, page
    language, editions, environment, page = one, list(of) or [one], kept, ""
    found.clear()


def messages(page: str) -> dict[str, str]:
    return found.setdefault(page, {})


def worded(message: str) -> bool:
    """Return whether there is something to translate: two letters in a row outside formulas, code, addresses and
    tags."""
    return bool(re.search(r"[^\W\d_\u2070-\u2079²³¹]{2}", NO_WORDS.sub(" ", message)))


@cache
def _translations(name: str, language: str) -> dict[str, str]:
    return {} if language == SOURCE else catalogues.translations(catalogues.place(name, language))


def translated(message: str, catalogue: str) -> str:
    """Return the translation of `message` in `catalogue` or, if it is missing, the English message with a mark."""
    if missing(message, catalogue):
        return _translations("words", language).get(SAID[0], SAID[0]).format(text=message)
    return _translations(catalogue, language).get(message, message)


def missing(message: str, catalogue: str) -> bool:
    """Return whether `catalogue` has no translation of `message`, so that it is shown in English."""
    return language != SOURCE and worded(message) and message not in _translations(catalogue, language)


def say(sentence: str, many: str = "", /, **parts) -> str:
    """Return `sentence`, or `many` if it is given and `n` is not 1, in the edition's language, with `parts` filled in."""
    said = translated(many if many and parts["n"] != 1 else sentence, "words")
    return said.format(**parts) if parts else said


def words(*scripts: Path) -> dict[str, str]:
    """Return a mapping from the sentences of `scripts` to their translations."""
    return {sentence: translated(sentence, "words") for sentence in sentences.of_scripts(*scripts)}


def enumerated(parts: list[str]) -> str:
    """Return the parts as ``a, b and c``."""
    *before, last = parts
    return say("{before} and {last}", before=say(", ").join(before), last=last) if before else last


def told(message: str, kind: str = "generated", catalogue: str = "") -> str:
    """Return `message`, which a directive puts on the page, in the edition's language.

    Record `message` among the messages of the page or, if given, of `catalogue`."""
    if page and worded(message):
        messages(catalogue or page).setdefault(message, kind)
    return translated(message, catalogue or page)


def parsed(directive, **options) -> list:
    """Return the nodes of a directive's content, which is already translated or needs no translation."""
    before = set(directive.state.document.findall(nodes.TextElement))  # sections come into the page at once
    made = directive.parse_content_to_nodes(**options)
    generated(node for node in directive.state.document.findall(nodes.TextElement) if node not in before)
    return generated(made)


def generated(made):
    """Return the nodes `made`, marked as texts that need no translation."""
    made = list(made)
    for part in made:
        for node in part.findall(nodes.TextElement):
            if not isinstance(node, nodes.Inline):
                node["translatable"] = False
    return made
