"""Each edition uses one term for one thing.

locale/ja/terms.yml lists the terms of the Japanese edition, and the exceptions with their reasons. book/terms-en.yml lists the words
that the English pages do not use, with the terms that replace them.
"""

import ast
import json
import re
from functools import cache

import pytest
import yaml

from book.editions import catalogues
from book.kept import results
from book.ledger import claims, verdicts
from tests.book import test_strong_words as pages

FILES = sorted((catalogues.LOCALE / "ja").rglob("*.po"))
TERMS = yaml.safe_load((catalogues.LOCALE / "ja/terms.yml").read_text(encoding="utf-8"))
ENGLISH = yaml.safe_load((pages.ROOT / "book/terms-en.yml").read_text(encoding="utf-8"))["terms"]
SUBPACKAGES = sorted(path.parent.name for path in (pages.ROOT / "lib").glob("*/__init__.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
QUOTATION = re.compile(r'"[^"]*"|“[^”]*”|「[^」]*」')
# Where an English word is not the term: addresses, code, formulas, tags, the targets of roles, places for parts.
ASIDE = (catalogues.CODE, catalogues.FORMULA, catalogues.LINK, catalogues.TAG, re.compile(r"\{\w+\}"))


@cache
def pattern(term: str) -> re.Pattern:
    """Return the term as whole words, in the singular or the plural, and in any case but for abbreviations."""
    plural = f"{term[:-1]}(?:y|ies)" if term.endswith("y") else f"{term}(?:e?s)?"
    return re.compile(rf"(?<![\w-]){plural}(?![\w-])", 0 if term.isupper() else re.IGNORECASE)


def prose(message: str) -> str:
    """Return the prose of `message`; a role with a title counts as its title."""
    titles = catalogues.ROLE.sub(
        lambda role: f" {role['text'].partition('<')[0]} " if "<" in role["text"] else " ", message
    )
    for each in ASIDE:
        titles = each.sub(" ", titles)
    return titles


def lacking(message: str, translation: str) -> list[str]:
    """Return the terms of `message` that its translation lacks. If one term contains another, the longer one counts."""
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


@pytest.mark.slow
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


# ---- the English pages


def replaced(text: str, name: str, page: str = "") -> list[str]:
    """Return the words of `text` that book/terms-en.yml replaces, each with its sentence.

    `text` is what the page `name` contains, or, if `page` is given, prose that belongs to that page.
    """
    found = []
    for sentence in (each for block in pages.blocks(pages.prose(text, name)) for each in pages.sentences(block)):
        own = QUOTATION.sub(" ", re.sub(pages.CODE, " ", re.sub(pages.MATH, " ", sentence)))
        found += [
            f"{word} (write: {entry['term']}): {sentence}"
            for entry in ENGLISH
            for word in entry["not"]
            if (page or name) not in entry.get("left", ()) and pattern(word).search(own)
        ]
    return found


def docstrings(tree: ast.AST) -> list[str]:
    """Return the docstrings in `tree`."""
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, DOCUMENTED)]


def documented(text: str, name: str) -> str:
    """Return the docstrings in the code cells of the notebook `name`; a page has none."""
    cells = json.loads(text)["cells"] if name.endswith(".ipynb") else []
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n\n".join(each for source in sources if "def " in source for each in docstrings(ast.parse(source)))


@pytest.mark.parametrize("name", pages.pages())
def test_no_english_page_uses_a_replaced_word(name):
    text = (pages.ROOT / name).read_text(encoding="utf-8")
    assert replaced(text, name) + replaced(documented(text, name), "", name) == []


def test_a_replaced_word_is_found_in_a_docstring_of_a_code_cell():
    cells = [
        {"cell_type": "code", "source": ["def f():\n", '    """Return a whole number."""\n']},
        {"cell_type": "code", "source": ["whole_number = 1  # a whole number\n"]},
    ]
    found = documented(json.dumps({"cells": cells}), "a.ipynb")
    assert replaced(found, "") == ["whole number (write: integer): Return a whole number."]


def said(name: str) -> list[str]:
    """Return the texts of `name`: the rules or notes of the scorecard, or what docstrings and errors say in a folder of `lib`."""
    if name == "rules":
        judged = claims.load().claims.values()
        return [text for each in judged for text in (each.statement, claims.rule(each))]
    if name == "notes":
        return [row["note"] for row in results.rows(verdicts.FULL)]
    nodes = [node for path in (pages.ROOT / name).glob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    errors = [each for node in nodes if isinstance(node, ast.Raise) for each in ast.walk(node)]
    told = [each.value for each in errors if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return told + [ast.get_docstring(node) or "" for node in nodes if isinstance(node, DOCUMENTED)]


@pytest.mark.parametrize("name", ["rules", "notes", *(f"lib/{each}" for each in SUBPACKAGES)])
def test_no_rule_note_docstring_or_error_uses_a_replaced_word(name):
    texts = said(name)
    assert len(texts) > 20
    assert [found for text in texts for found in replaced(text, name)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Counts are Whole numbers.", ["whole number (write: integer): Counts are Whole numbers."]),
        ('The paper says "whole number", `whole number` and $\\text{whole number}$.', []),
        ("Integers amend the wholesale numbers.", []),
    ],
)
def test_a_replaced_word_is_found_outside_of_quotations_code_and_formulas(text, found):
    assert replaced(text, "book/trust.md") == found


def test_each_entry_of_the_english_list_is_complete():
    """An entry has a reason, words that are not the term, and pages that exist."""
    for entry in ENGLISH:
        assert entry["why"] and entry["not"] and entry["term"] not in entry["not"], entry
        assert set(entry.get("left", ())) <= set(pages.pages()), entry
