"""Each entry of the errata gets a place that links can lead to (`book.ledger.erratum`)."""

from docutils import nodes
from sphinx.util import logging

from book.ledger import erratum

log = logging.getLogger(__name__)


def name_entries(app, doctree):
    if app.env.docname != erratum.PAGE.stem:
        return
    for section in doctree.findall(nodes.section):
        key = next((name.removeprefix("errata-") for name in section["ids"] if name.startswith("errata-")), None)
        if key is None:
            continue
        terms = list(section.findall(nodes.term))
        if len(terms) != len(erratum.entries().get(key, [])):
            log.warning("the errata of %s have %d entries on the page, others in the file", key, len(terms))
        for number, term in enumerate(terms):
            term["ids"].append(erratum.anchor(key, number))


def setup(app):
    app.connect("doctree-read", name_entries)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
