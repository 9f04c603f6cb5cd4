"""An edition in another language: the messages of each page, for its catalogue, and their translations in their places.

A message is a paragraph, title, cell, caption or alternative text as it is written: what Sphinx would translate, titles of
exercises, and words in formulas; but not what is nobody's to translate. What has no translation yet is marked.
"""

import re

from docutils import nodes
from myst_parser.mdit_to_docutils.sphinx_ import SphinxRenderer
from myst_parser.parsers.mdit import create_md_parser
from sphinx import addnodes
from sphinx.builders.dummy import DummyBuilder
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages
from sphinx_exercise.nodes import exercise_subtitle, exercise_title, is_exercise_node, solution_title

from book.editions import catalogues, edition, gojuon
from book.ledger import scorecard

LABELLED = (exercise_title, solution_title)  # titles that hold a label, and a message
OTHER = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")  # letters that are no English ones
TEXT = re.compile(r"(\\text\{\s*)([^{}]*?)(\s*\})")


def of_the_page(raw: nodes.raw) -> bool:
    """Whether HTML stands in the page as a paragraph of its own: not what a cell shows, a directive made, or stands in a line."""
    if (
        not raw.get("translatable", True)
        or not raw.source
        or raw["format"] != "html"
        or isinstance(raw.parent, nodes.TextElement)
    ):
        return False
    parent = raw.parent
    while parent is not None and "nb_element" not in parent and "mime_type" not in parent:
        parent = parent.parent
    return parent is None


class Prepare(SphinxTransform):
    """Before any message is looked for: titles of exercises are messages; formulas, terms and what has no words are not."""

    default_priority = 5

    def apply(self):
        for title in self.document.findall(lambda node: isinstance(node, LABELLED)):
            title["translatable"] = False
        for title in self.document.findall(exercise_subtitle):
            title.source, title.line = self.document["source"], title.parent.parent.line or 1
            title.rawsource = title.rawsource or title.astext()
        for node in self.document.findall(nodes.math_block):
            node["translatable"] = False
        for node in self.document.findall(nodes.term):
            if isinstance(node.parent.parent.parent, addnodes.glossary):
                node["translatable"] = False
        for fields in self.document.findall(nodes.field_list):  # a notebook's metadata
            edition.generated([fields])
        for entry in self.document.findall(nodes.entry):  # in a box a table's cells come without their source
            for node in entry.findall(nodes.TextElement):
                node.source = node.source or (node.rawsource and self.document["source"])
        for node, message in extract_messages(self.document):
            if isinstance(node, nodes.TextElement) and not edition.worded(message):
                node["translatable"] = False


class Translate(SphinxTransform):
    """The page's messages are collected, with what each is part of; each that has a translation makes place for it.

    Sphinx's own transform does as much with a document, a parser and all transforms for every message: four minutes for the book.
    """

    default_priority = 20

    def apply(self):
        if edition.language != edition.SOURCE and catalogues.NO_PAGES.match(self.env.docname):
            return  # it is in the edition's language already
        reader = create_md_parser(self.env.myst_config, SphinxRenderer)
        reader.options["document"] = self.document
        reader.renderer.setup_render(reader.options, {"relative-images": None})
        for node, message in list(extract_messages(self.document)):
            text = edition.told(message, node.tagname)
            if isinstance(node, nodes.image):
                node["alt"] = text
            elif edition.missing(message, edition.page):
                node.children = [nodes.inline("", "", *node.children, classes=["untranslated", "language-en"])]
            elif text != message:
                node.children = []
                with reader.renderer.current_node_context(node):
                    reader.renderer.nested_render_text(text, node.line or 0, inline=True)
        for raw in filter(of_the_page, list(self.document.findall(nodes.raw))):
            pieces = re.split(r"(<[^>]*>)", raw.astext())
            pieces[::2] = [text.replace(text.strip(), edition.told(text.strip(), "in HTML")) for text in pieces[::2]]
            raw.children = [nodes.Text("".join(pieces))]
        for formula in self.document.findall(nodes.math_block):
            text = TEXT.sub(
                lambda match: match[1] + edition.told(match[2], "in a formula") + match[3], formula.astext()
            )
            if text != formula.astext():
                formula.children = [nodes.Text(text)]


class Captions(SphinxTransform):
    """Captions of the table of contents, which stands in the front page only now."""

    default_priority = 101

    def apply(self):
        for toctree in self.document.findall(addnodes.toctree):
            if toctree.get("caption"):
                toctree["caption"] = edition.told(toctree["caption"], "toctree")


class Finish(SphinxTransform):
    """After the translations: the copies of exercises' titles, and the order of terms and of their entries."""

    default_priority = 102

    def apply(self):
        if edition.language == edition.SOURCE:
            return
        # sphinx-exercise keeps a copy of each exercise's title for the solution.
        for exercise in self.document.findall(is_exercise_node):
            kept = self.env.sphinx_exercise_registry[exercise["label"]]["node"]
            for title, copied in zip(exercise.findall(exercise_subtitle), kept.findall(exercise_subtitle)):
                copied.children = [child.deepcopy() for child in title.children]
        for glossary in self.document.findall(addnodes.glossary):
            for item in glossary.findall(nodes.definition_list_item):
                item.children.sort(
                    key=lambda child: (isinstance(child, nodes.definition), not OTHER.search(child.astext()))
                )
            if readings := gojuon.readings(edition.language):
                for entries in glossary.findall(nodes.definition_list):
                    entries.children.sort(key=lambda item: gojuon.place(_read(item, readings)))


def _read(item: nodes.definition_list_item, readings: dict[str, str]) -> str:
    """How an entry of the glossary is read: the first of its names."""
    name = item.children[0].astext().split("、")[0]
    return readings.get(name, name)


class Catalogues(DummyBuilder):
    """Reads every page, and brings the catalogues up to date."""

    name = "catalogues"

    def get_outdated_docs(self):
        return self.env.found_docs

    def write(self, *_):
        for page, messages in edition.found.items():
            if not catalogues.NO_PAGES.match(page):
                for language in edition.OTHERS:
                    catalogues.update(page, messages, language)


def begin(app, docname, source):
    edition.page = docname
    if docname == "scorecard" and edition.language != edition.SOURCE:
        source[0] = scorecard.scorecard()


def setup(app):
    app.add_builder(Catalogues)
    app.connect("source-read", begin)
    for transform in (Prepare, Translate, Captions, Finish):
        app.add_transform(transform)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
