"""Words that stay on a line with their formula (book/_ext/pages.py)."""

import pytest
from docutils import nodes

from book._ext import pages


def kept(*parts) -> str:
    """The paragraph of `parts`, with what stays together in brackets."""
    paragraph = nodes.paragraph("", "", *parts)
    pages.keep(paragraph)
    return "".join(
        f"[{part.astext()}]" if "together" in getattr(part, "get", lambda *_: [])("classes", []) else part.astext()
        for part in paragraph
    )


def formula(tex):
    return nodes.math(tex, tex)


@pytest.mark.parametrize(
    "after, expected",
    [
        (". And", "[x.] And"),
        ("-DP, so", "[x-DP], so"),
        (" is", "x is"),
        ("", "x"),
        (")), or", "[x)),] or"),
        ("。次", "[x。]次"),
    ],
)
def test_a_mark_stays_with_the_formula_before_it(after, expected):
    assert kept(nodes.Text("if "), formula("x"), nodes.Text(after)) == f"if {expected}"


def test_a_number_stays_with_its_symbol():
    assert kept(nodes.inline("", "1.309"), formula(r"\,\varepsilon"), nodes.Text(".")) == r"[1.309\,\varepsilon.]"
    assert kept(nodes.inline("", "1.309"), formula("x"), nodes.Text(" is")) == "1.309x is"


def test_a_long_formula_may_have_a_line_of_its_own():
    assert kept(formula("x" * 61), nodes.Text(".")) == "x" * 61 + "."
