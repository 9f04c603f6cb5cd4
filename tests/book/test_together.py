"""Words that stay on a line with their formula, and hidden code in one bar (book/_ext/pages.py)."""

import pytest
from docutils import nodes
from docutils.utils import new_document

from book._ext import pages


def kept(*parts) -> str:
    """Return the paragraph of `parts`, with what stays together in brackets."""
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


def cell(*parts: str, hide="input") -> nodes.container:
    inner = [nodes.container("", nodes.paragraph(text=part), nb_element=f"cell_code_{part[:6]}") for part in parts]
    return nodes.container("", *inner, nb_element="cell_code", hide_mode=hide)


def test_hidden_code_is_behind_one_bar_at_the_end_of_its_section():
    section, below = nodes.section("", nodes.paragraph(text="words")), nodes.section("", cell("source 5"))
    shown, made = cell("source 1", hide=None), cell("source 3", "output 3")
    made[1] += nodes.literal_block(text="mean: 0.5\nspread: 2")
    section += [shown, cell("source 2", hide="all"), made, nodes.paragraph(text="more words"), cell("source 4"), below]
    document = new_document("")
    document += section
    pages.gather(document)
    texts = [[part.astext().split("\n\n") for part in each] for each in section if isinstance(each, nodes.container)]
    assert texts == [
        [["source 1"]],
        [["output 3", "mean: 0.5\nspread: 2"]],
        [["source 2", "Shows: mean: 0.5 spread: 2", "source 3", "source 4"]],
    ]
    assert [each.get("hide_mode") for each in section if isinstance(each, nodes.container)] == [None, None, "input"]
    assert section[-1] is below and [each.astext() for each in below] == ["source 5"]


def test_hidden_code_of_a_section_with_claims_is_folded_with_them():
    judging = cell("source", "output")
    judging[1][:] = [nodes.raw("", '<details class="claims"><summary>2 claims</summary></details>', format="html")]
    section = nodes.section("", judging, nodes.paragraph(text="words"))
    document = new_document("")
    document += section
    pages.gather(document)
    assert [each.astext() for each in section] == [
        "words", '<details class="claims"><summary>2 claims</summary>', "source", "</details>",
    ]  # fmt: skip


def test_hidden_code_of_the_opening_is_in_its_last_block():
    opening = nodes.section(
        "", cell("source", "output"), *pages.folded(nodes.paragraph(text="Source: a")), nodes.section()
    )
    document = new_document("")
    document += opening
    pages.gather(document)
    assert [each.astext() for each in opening][2:5] == ["Source: a", "source", "</details>"]
    assert opening[3].get("hide_mode") is None


def test_a_title_above_a_hidden_cell_is_in_its_bar():
    document, title = new_document(""), nodes.paragraph("", "", nodes.Text(""), nodes.strong("", "Errors:"))
    untitled = cell("source", "output", hide="all")
    untitled[1] += nodes.raw("", "<style scoped>\n.dataframe { top: 0 }\n</style>" + "<b>word</b> " * 20, format="html")
    document += [title, cell("source", hide="all"), title.deepcopy(), cell("source"), untitled]
    pages.entitle(document)
    first, other, second, third = document
    assert third["prompt_show"] == " ".join(["word"] * 14) + " …"
    assert first["prompt_show"] == first["prompt_hide"] == "Errors" and "prompt_show" not in second
    assert other.astext() == "Errors:"
