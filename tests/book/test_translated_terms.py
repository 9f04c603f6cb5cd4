"""The Japanese edition speaks of each thing in one way: locale/ja/terms.yml has the terms, and the exceptions with their reasons."""

import re
from functools import cache

import pytest
import yaml

from book.editions import catalogues

FILES = sorted((catalogues.LOCALE / "ja").rglob("*.po"))
TERMS = yaml.safe_load((catalogues.LOCALE / "ja/terms.yml").read_text(encoding="utf-8"))
# Where an English word is not the term: addresses, code, formulas, tags, the targets of roles, places for parts.
ASIDE = (catalogues.CODE, catalogues.FORMULA, catalogues.LINK, catalogues.TAG, re.compile(r"\{\w+\}"))


@cache
def pattern(term: str) -> re.Pattern:
    """The term as whole words, in the singular or the plural, and in any case but for abbreviations."""
    plural = f"{term[:-1]}(?:y|ies)" if term.endswith("y") else f"{term}(?:e?s)?"
    return re.compile(rf"(?<![\w-]){plural}(?![\w-])", 0 if term.isupper() else re.IGNORECASE)


def prose(message: str) -> str:
    """`message` without what is no prose; of a role with a title, the title."""
    titles = catalogues.ROLE.sub(
        lambda role: f" {role['text'].partition('<')[0]} " if "<" in role["text"] else " ", message
    )
    for each in ASIDE:
        titles = each.sub(" ", titles)
    return titles


def lacking(message: str, translation: str) -> list[str]:
    """The terms of `message` for which nothing stands in its translation; of terms in one another, the longest counts."""
    text, found = prose(message), []
    for term in sorted(TERMS["terms"], key=len, reverse=True):
        rest = pattern(term).sub(" ", text)
        if rest != text and not any(japanese in translation for japanese in TERMS["terms"][term]):
            found.append(term)
        text = rest
    return found


def test_terms_are_found_in_any_number_and_case_and_the_longest_counts():
    assert lacking("The Laplace mechanism has sensitivities.", "ラプラスメカニズムには感度がある。") == []
    assert lacking("The Laplace mechanism has sensitivities.", "ラプラス機構には敏感さがある。") == [
        "Laplace mechanism",
        "sensitivity",
    ]
    assert lacking("`mechanism` {ref}`x <mechanism>` $\\text{mechanism}$", "何もない") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(catalogues.LOCALE).as_posix())
def test_each_term_has_its_word(path):
    excused = {(each["message"], term) for each in TERMS["exceptions"] for term in each["terms"]}
    assert [
        (message.id, term)
        for message in catalogues.messages(catalogues.load(path))
        if message.string and not message.fuzzy and message.string != message.id
        for term in lacking(message.id, message.string)
        if not any(message.id.startswith(begins) and term == of for begins, of in excused)
    ] == []


def test_each_exception_is_one():
    """A reason, and a message that begins so and lacks the term."""
    known = [message for path in FILES for message in catalogues.messages(catalogues.load(path)) if message.string]
    for each in TERMS["exceptions"]:
        assert each["why"]
        begun = [message for message in known if message.id.startswith(each["message"])]
        for term in each["terms"]:
            assert any(term in lacking(message.id, message.string) for message in begun), (each, term)
