"""Formulas in TeX become MathML (book/_ext/mathml.py, book/_ext/formulas.py)."""

import html
import re
from types import SimpleNamespace
from unicodedata import lookup, name

import pytest
from fontTools.ttLib import TTFont

from book._ext import formulas
from book._ext.mathml import mathml


def signs(tex: str, **how) -> str:
    return html.unescape(re.sub("<[^>]*>", "", mathml(tex, **how))).replace("\u2061", "")  # the sign of an application


@pytest.mark.parametrize(
    "tex, shown",
    [
        (r"\varepsilon \le \ln 3", "ε≤ln3"),
        (r"\Pr[x = y]", "Pr[x=y]"),
        (r"\begin{split}a &= b \\ &= c\end{split}", "a=b=c"),  # as Sphinx writes several lines
        (r"\begin{split}\begin{aligned}a &= b\end{aligned}\end{split}", "a=b"),
        (r"\text{全員}", "全員"),
    ],
)
def test_a_formula_keeps_its_signs(tex, shown):
    assert signs(tex) == shown
    assert mathml(tex, display=True).startswith('<math display="block">')


@pytest.mark.parametrize(
    "tex, written",
    [
        (r"\mathcal M", "<math><mi>ℳ"),  # no empty space before it
        (r"\bigr)^2", '<msup><mrow><mo minsize="1.2em" maxsize="1.2em">)</mo></mrow>'),
        (r"D'", '<mrow><mi>D</mi><mo lspace="0" rspace="0">′</mo></mrow>'),
        (r"\left(n + 1\right)", '<mo stretchy="false">(</mo><mi>n</mi><mo>+</mo><mn>1</mn><mo stretchy="false">)</mo>'),
        (r"\displaystyle a \left(b\right)", '<mo stretchy="false" lspace="0.1667em">(</mo><mi>b</mi>'),
        (r"\left(\left(a\right) \frac12\right)", '<mo>(</mo><mrow><mo stretchy="false">(</mo>'),
    ],
)
def test_what_browsers_draw_badly_is_written_otherwise(tex, written):
    assert written in mathml(tex)


def test_a_length_after_a_lines_end_is_refused():
    with pytest.raises(ValueError, match=r"tex must not set a length after a line break, got '.*2ex"):
        mathml(r"\begin{cases} a \\[2ex] b \end{cases}")


@pytest.mark.parametrize("tex", ["x^1^2", r"\nosuchmacro", r"\frac{a", r"\href{javascript:alert(1)}{x}", r"\left( a"])
def test_a_wrong_formula_is_refused_in_words(tex):
    with pytest.raises(ValueError, match="tex must be a formula of known commands, got ") as raised:
        mathml(tex)
    assert repr(tex) in str(raised.value) and "\x1b" not in str(raised.value)


@pytest.mark.parametrize("tex", [
    r"\eqref{a}", r"\begin{equation}x\label{claim-a}\end{equation}", r"\mmlToken{mtext}[href=\"javascript:alert(1)\"]{x}",
    r"\bbox[background-image:url(http://a.b)]{x}", r"\style{position:fixed}{x}", r"\color{url(http://a.b)}x", r"\hspace{-100em}x",
    r"\kern 99999em x", r"\raisebox{-10em}{x}", r"\genfrac{(}{)}{100em}{0}{a}{b}",
    r"\def\a{%s}" % ("x" * 4000) + r"\a" * 50, "x" * 6000,
])  # fmt: skip
def test_a_formula_leads_nowhere_covers_nothing_and_takes_no_time(tex):
    with pytest.raises(ValueError, match="tex must "):
        mathml(tex)


@pytest.mark.parametrize(
    "define", [r"\renewcommand{\le}{\ge}", r"\def\le{\ge}", r"\gdef\le{\ge}", r"\global\let\le\ge"]
)
def test_a_definition_ends_with_its_formula(define):
    assert signs(rf"{define} 1 \le 2") == "1≥2" and signs(r"1 \le 2") == "1≤2"


def test_marked_formulas_of_a_page_are_typeset_and_the_rest_stays():
    tex = {"a": r"a &lt; b", "b": r"\frac{1}{2}"}
    page = f'<p>\\(x\\) <span class="math notranslate">\\({tex["a"]}\\)</span></p><div class="math">\n\\[{tex["b"]}\\]</div>'
    made = formulas.typeset(page)
    assert (
        made.startswith('<p>\\(x\\) <span class="math notranslate"><math>') and '<math display="block"><mfrac>' in made
    )
    assert html.unescape(re.sub("<[^>]*>", "", made)).split() == ["\\(x\\)", "a<b12"], made
    assert formulas.typeset(made) == made


def test_a_wrong_formula_of_a_page_is_warned_of_and_stays(monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(formulas.logging, "getLogger", lambda name: SimpleNamespace(warning=told.append))
    page = '<span class="math">\\(\\nosuchmacro\\)</span>'
    assert formulas.typeset(page) == page
    assert len(told) == 1 and "nosuchmacro" in told[0]


def test_the_font_has_italic_letters_and_roots_of_one_width():
    font = TTFont(formulas.FONT)
    letters = {chr(code) for start in "aAα" for code in range(ord(start), ord(start) + 25)} | {"z", "Z"}
    italic = {lookup(name(letter).replace("LATIN", "MATHEMATICAL ITALIC").replace("GREEK", "MATHEMATICAL ITALIC").replace(" LETTER", ""))
              for letter in letters - {"h"}}  # fmt: skip
    assert {*map(ord, italic), ord("ℎ")} <= formulas.ITALIC <= set(font.getBestCmap())
    formulas._narrow(font, 0x221A)
    tall = [f"uni221A.{form}" for form in ("s1", "s2", "s3", "s4", "x", "t")]
    assert {font["hmtx"][name][0] for name in tall} == {font["hmtx"]["uni221A"][0]}


def test_a_students_formulas_are_typeset_outside_code_and_what_is_none_stays():
    feedback = pytest.importorskip("notebooks.assignments.feedback")
    made = feedback._markdown(
        "For $\\varepsilon < 1$ and $$\\frac{a}{b}$$, not `$x$` or $\\nosuch$, at \\$5: <b>$y$</b> $\\text{<script>}$"
    )
    assert made.count("<math") == 4 and "<code>$x$</code>" in made and "$\\nosuch$" in made and "<script" not in made
    for hostile in (
        "$" * 100_000,
        "\\(" * 50_000,
        "$x" * 50_000,
        "\\[x" * 50_000,
        r"$\def\x{\x\x}\x$",
    ):  # no endless work
        assert html.unescape(re.sub("<[^>]*>", "", feedback._formulas(hostile))).count("x") >= hostile.count("x") // 2
