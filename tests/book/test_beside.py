"""An aside is paired with the paragraph that it is about (book/_ext/pages.py)."""

from docutils import nodes
from sphinx_design.shared import create_component

from book._ext import pages


def paired(*children) -> list[str]:
    section = nodes.section("", *children)
    pages.pair(section)
    return [
        " | ".join(part.astext() for part in child) if "beside" in child["classes"] else child.astext()
        for child in section
    ]


def aside():
    return create_component("aside", children=[nodes.paragraph("", "By the way.")])


def said(text):
    return nodes.paragraph("", text)


def test_an_aside_is_paired_with_the_paragraph_after_it():
    assert paired(said("A."), aside(), said("B."), said("C.")) == ["A.", "By the way. | B.", "C."]


def test_what_a_sentence_goes_on_to_belongs_to_its_paragraph():
    formula, items = nodes.math_block("", "x"), nodes.bullet_list("", nodes.list_item("", said("C.")))
    assert paired(aside(), said("A is"), formula, said("or so."), said("B.")) == [
        "By the way. | A is | x | or so.",
        "B.",
    ]
    assert paired(aside(), said("These:"), items, said("B.")) == ["By the way. | These: | C.", "B."]


def test_an_aside_before_something_else_stays_alone():
    assert paired(said("A."), aside(), nodes.block_quote("", said("B."))) == ["A.", "By the way.", "B."]
    assert paired(said("A."), aside()) == ["A.", "By the way."]
