"""An edition in another language: the messages of each page, for its catalogue, and their translations in its place.

A message is a paragraph, title, cell, caption or alternative text as it is written. Sphinx translates what
`sphinx.util.nodes.extract_messages` finds; this prepares what it would miss, and leaves out what is nobody's to translate.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.dummy import DummyBuilder
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages
from sphinx_exercise.nodes import exercise_subtitle, exercise_title, solution_title

from book import catalogues, edition

HEADS = (exercise_title, solution_title)  # which hold a label, and a message
NO_CATALOGUE = re.compile(r"reference/|scorecard$")  # made from docstrings, and written by the ledger in each language


class Prepare(SphinxTransform):
    """Before any message is looked for: titles of exercises are messages; formulas, terms and what has no words are not."""

    default_priority = 5

    def apply(self):
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
        for node, message in extract_messages(self.document):
            if isinstance(node, HEADS) or (isinstance(node, nodes.TextElement) and not edition.worded(message)):
                node["translatable"] = False


class Collect(SphinxTransform):
    """The page's messages, as they are looked up a moment later, with what each is part of."""

    default_priority = 19

    def apply(self):
        found = edition.messages(self.env.docname)
        for node, message in extract_messages(self.document):
            found.setdefault(message, node.tagname)


class Captions(SphinxTransform):
    """Captions of the table of contents, which stands in the front page only now."""

    default_priority = 101

    def apply(self):
        found = edition.messages(self.env.docname)
        for toctree in self.document.findall(addnodes.toctree):
            for message in toctree.extract_original_messages():
                found.setdefault(message, "toctree")


class Catalogues(DummyBuilder):
    """Reads every page, and brings the catalogues up to date."""

    name = "catalogues"

    def get_outdated_docs(self):
        return self.env.found_docs

    def write(self, *_):
        for page, messages in edition.found.items():
            if not NO_CATALOGUE.match(page):
                catalogues.update(page, messages, self.config.translated_into)


def begin(app, docname, source):
    edition.page = docname


def setup(app):
    app.add_config_value("translated_into", "ja", "")
    app.add_builder(Catalogues)
    app.connect("source-read", begin)
    for transform in (Prepare, Collect, Captions):
        app.add_transform(transform)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
