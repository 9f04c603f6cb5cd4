"""Formulas in MathML, made when a page is built: browsers need no script for them, and screen readers can read them
aloud.

Each formula, in a page's text or in HTML that the book's own code writes, is TeX between `\\(` and `\\)` or `\\[` and
`\\]` in an element of the class "math". Because few systems have a font for formulas, the book includes STIX Two Math,
reduced to the characters that its pages need.
"""

import html
import re
from importlib.metadata import distribution
from pathlib import Path
from unicodedata import name

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util import logging

from book._ext.mathml import mathml
from book.editions import edition

MARKED = re.compile(
    r'(?P<open><(?P<tag>span|div)(?: id="[^"]*")? class="(?:[^"]* )?math[ "][^>]*>(?:\s*<span class="eqno">.*?</span>)?)'
    r"\s*\\(?P<kind>[(\[])(?P<tex>.*?)\\[)\]]\s*(?=</(?P=tag)>)",
    re.DOTALL,
)


def typeset(text: str) -> str:
    """Return HTML with its marked formulas in MathML. An invalid formula causes a warning and remains TeX."""

    def formula(found: re.Match) -> str:
        try:
            return found["open"] + mathml(html.unescape(found["tex"]), found["kind"] == "[")
        except ValueError as reason:
            logging.getLogger(__name__).warning(str(reason))
            return found[0]

    return MARKED.sub(formula, text)


def _in_mathml(visit):
    """Return a visitor that writes what Sphinx's `visit` writes, but with the formula in MathML."""

    def visit_formula(self, node):
        begun = len(self.body)
        try:
            visit(self, node)
        finally:  # it ends by raising `SkipNode`
            self.body[begun:] = [typeset("".join(self.body[begun:]))]

    return visit_formula


def typeset_raw(app, doctree, page):
    for node in doctree.findall(nodes.raw):
        if "\\(" in node.astext() or "\\[" in node.astext():
            node.children = [nodes.Text(typeset(node.astext()))]


# ---------------------------------------------------------------- their font

# Browsers use these characters for single letters; the italic h has the code of Planck's constant.
ITALIC = {sign for sign in range(0x1D400, 0x1D800) if name(chr(sign), "").startswith("MATHEMATICAL ITALIC ")} | {0x210E}
BEYOND = {0x2032, 0x2033, 0x221A, 0x203E, 0x5E, 0x2C6, 0x2DC, 0x7E, 0xAF, 0x20D7, 0x23DE, 0x23DF}  # roots, accents, braces  # fmt: skip
FONT = Path(distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf"))


def _narrow(whole: TTFont, sign: int) -> None:
    """Make the tall forms of a sign as narrow as its smallest form, because Chromium reserves the width of the widest
    form at a root."""
    variants, least = whole["MATH"].table.MathVariants, whole.getBestCmap()[sign]
    forms = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(least)]
    names = {form.VariantGlyph for form in forms.MathGlyphVariantRecord}
    names |= {part.glyph for part in forms.GlyphAssembly.PartRecords}
    width = whole["hmtx"][least][0]
    for form in names - {least}:
        glyph, (own, bearing) = whole["glyf"][form], whole["hmtx"][form]
        glyph.coordinates.scale((width / own, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(whole["glyf"])
        whole["hmtx"][form] = (width, round(bearing * width / own))


def write_font(app, error):
    """Write the font for all editions, reduced to the characters in the built pages; its table of names keeps the
    licence."""
    if error is not None or app.builder.format != "html" or edition.language != edition.SOURCE:
        return
    pages = (page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html"))
    formulas = (formula for text in pages for formula in re.findall(r"<math.*?</math>", text, re.DOTALL))
    used = {ord(sign) for formula in formulas for sign in html.unescape(re.sub(r"<[^>]*>", "", formula))}
    chosen, whole = subset.Subsetter(subset.Options(name_IDs=["*"])), TTFont(FONT)
    chosen.populate(unicodes=used | ITALIC | BEYOND | set(range(0x20, 0x7F)))
    chosen.subset(whole)
    _narrow(whole, 0x221A)
    whole.flavor = "woff"
    whole.save(Path(app.outdir, "_static/mathematics.woff"))


def setup(app):
    visitors = (_in_mathml(visit) for visit in (html_visit_math, html_visit_displaymath))
    app.add_html_math_renderer("mathml", *((visitor, None) for visitor in visitors))
    app.config.html_math_renderer = "mathml"
    app.connect("doctree-resolved", typeset_raw)
    app.connect("build-finished", write_font)
