"""Translated assignments. Their texts are in locale/ja/assignments/, and graders' sentences in
locale/ja/feedback.po.

The English key is graded, whatever the language of the notebook, because cells are known by their ids. Only texts for
students are translated, when the notebook is handed out and when the feedback page is written. A text without a
translation stays English.

    python -m notebooks.assignments.language     brings the catalogues up to date (part of `make catalogues`)
"""

from __future__ import annotations

import ast
import dataclasses
import re
from functools import cache
from pathlib import Path

from book.editions import catalogues
from book.editions.edition import OTHERS, SOURCE, worded
from notebooks.assignments import assignment, confinement, shipped

LANGUAGES = (SOURCE, *OTHERS)
START = "assignments/start"
TELLING = ("judge", "submissions", "plain", "box")  # modules whose sentences are about what a student handed in
LONGEST = 800  # characters compared with the sentences: a student's text may take time with their fourth power
VERBATIM = ("$$", "```", "    ")
PLACE = re.compile(r"\{(\d+)\}")
NAMED = re.compile(r"(\w+: |'[^']*' )(.+)", re.DOTALL)  # a kind of error, or a name, and what is wrong with it
NO_SENTENCE = re.compile(r"[|\\\n]")  # but a pattern, or a placeholder in an output

# ---- texts in Markdown


def in_language(text: str, translations: dict[str, str]) -> str:
    """Return Markdown with the `translations` of its messages: headings, paragraphs and list items, each on one line."""
    return "\n\n".join(
        "\n".join(_piece(piece, translations) for piece in _pieces(block)) for block in text.split("\n\n")
    )


def messages(text: str) -> list[str]:
    """Return the messages to translate in Markdown."""
    found = [_message(piece)[1] for block in text.split("\n\n") for piece in _pieces(block)]
    return [message for message in found if worded(message)]


def _pieces(block: str) -> list[str]:
    return [block] if block.startswith(VERBATIM) else re.split(r"\n(?=- )", block)


def _message(piece: str) -> tuple[str, str]:
    """Return the mark of a heading or an item, and its text on one line; nothing for untranslated parts."""
    if piece.startswith(VERBATIM):
        return piece, ""
    mark, text = re.fullmatch(r"(#+ |- |)(.*)", piece, re.DOTALL).groups()
    return mark, " ".join(text.split())


def _piece(piece: str, translations: dict[str, str]) -> str:
    mark, message = _message(piece)
    return mark + translations[message] if message in translations else piece


@cache
def translations(page: str, language: str) -> dict[str, str]:
    return {} if language == SOURCE else catalogues.translations(catalogues.place(page, language))


def known(language: str) -> str:
    """Return `language`, or raise if there is none of this name."""
    if language not in LANGUAGES:
        raise ValueError(f"LANGUAGE must be one of {', '.join(LANGUAGES)}, got {language!r}")
    return language


def handed_out(case: assignment.Case, language: str) -> assignment.Case:
    """Return `case` with the version for students in `language`, which it records."""
    if language == SOURCE:
        return case
    told = translations(f"assignments/{case.name}", language)
    released = case.released.copy()
    released.metadata = released.metadata | {"compendium": released.metadata["compendium"] | {"language": language}}
    released.cells = [
        type(cell)(cell, source=in_language(cell.source, told)) if assignment.kind(cell) == "text" else cell
        for cell in released.cells
    ]
    return dataclasses.replace(case, released=released)


def part(heading: str, name: str, language: str) -> str:
    """Return the `heading` of a part of an assignment, without the brackets after it."""
    for message, translation in translations(f"assignments/{name}", language).items():
        if message == heading or message.startswith(f"{heading} ("):
            return re.sub(r" ?[(（][^(（]*[)）]$", "", translation)
    return heading


# ---- sentences of the graders


def say(text: str, language: str) -> str:
    """Return a translated sentence for students, with the values inserted."""
    if language == SOURCE or len(text) > LONGEST:
        return text
    for pattern, translation in _patterns(language):
        if match := pattern.fullmatch(text):
            return PLACE.sub(lambda place: say(match[int(place[1])], language), translation)  # noqa: B023  (called at once)
    named = NAMED.fullmatch(text)
    return named[1] + say(named[2], language) if named else text


@cache
def _patterns(language: str) -> list[tuple[re.Pattern, str]]:
    """Return, for each message, a pattern that matches it with values inserted; patterns with more words come first."""
    known = [(re.split(r"\{\d+\}", message), told) for message, told in translations("feedback", language).items()]
    known.sort(key=lambda pair: -len("".join(pair[0])))
    return [(re.compile("(.*?)".join(map(re.escape, words)), re.DOTALL), told) for words, told in known]


class _Sentences(ast.NodeVisitor):
    """The texts in a piece of Python, with {1}, {2}, … for inserted values, without docstrings."""

    def __init__(self, *nodes: ast.AST):
        self.found: list[str] = []
        for node in nodes:
            self.visit(node)

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            self.found.append(node.value)

    def visit_JoinedStr(self, node):
        places = iter(range(1, len(node.values) + 1))
        texts = [f"{{{next(places)}}}" if isinstance(each, ast.FormattedValue) else each.value for each in node.values]
        self.found.append("".join(texts))
        for choice in ast.walk(node):
            if isinstance(choice, ast.IfExp):
                self.visit(choice.body)
                self.visit(choice.orelse)


def _told_by(module: str) -> list[str]:
    """Return the sentences of a module."""
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
    if module != "feedback":
        return [each for each in _Sentences(tree).found if " " in each.strip() == each and not NO_SENTENCE.search(each)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say"]
    texts = [call.args[0] for call in calls if isinstance(call.args[0], (ast.Constant, ast.JoinedStr))]
    return _Sentences(*texts).found


def _told_by_tests(name: str) -> list[str]:
    """Return the messages of an assignment's tests, directly or through a function that is given to them.

    A message may insert the name of a case. Tests keep these names in many ways, so every text of three words or more is
    a message.
    """
    told = []
    for cell in assignment.key(name).cells:
        if assignment.kind(cell) not in ("test", "instructor"):
            continue
        tree = ast.parse(cell.source)
        for node in ast.walk(tree):
            said = node.msg if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Return) else None
            if isinstance(said, (ast.Constant, ast.JoinedStr)):
                told += _Sentences(said).found
        if assignment.kind(cell) == "test":
            told += [each for each in _Sentences(tree).found if each.count(" ") > 1]
    return told


# ---- all that there is to translate


def everything() -> dict[str, dict[str, str]]:
    """Return the messages of each catalogue, and the place of each message."""
    found = {START: dict.fromkeys(messages(shipped.START), "paragraph")}
    feedback = dict.fromkeys(confinement.SAID.values(), "confinement.py")
    for module in ("feedback", *TELLING):
        feedback |= dict.fromkeys(_told_by(module), f"{module}.py")
    for name in assignment.names():
        texts = [cell.source for cell in assignment.key(name).cells if assignment.kind(cell) == "text"]
        found[f"assignments/{name}"] = {each: "paragraph" for text in texts for each in messages(text)}
        feedback |= dict.fromkeys(_told_by_tests(name), name)
    return found | {"feedback": {message: kind for message, kind in feedback.items() if worded(message)}}


def main() -> None:
    """Bring the catalogues up to date."""
    for language in OTHERS:
        for name, found in everything().items():
            catalogues.update(name, found, language)


if __name__ == "__main__":
    main()
