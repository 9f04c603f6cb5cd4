"""Lists of the documents, in the ledger's order: the directives {documents}, the front page's table, and {entries}, what to cite.

The table is made from `book/claims.yml`, the entries are those of `book/documents.bib`; no page lists a document by hand.
"""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import generated, parsed, say
from book.ledger import claims, retold

BIBLIOGRAPHY = Path(__file__).resolve().parents[1] / "documents.bib"


def table(documents: dict) -> list[str]:
    """The lines of a Markdown table: each document, its subject, its summary."""
    rows = [f"| {say('Document')} | {say('Subject')} | {say('In two pages')} |", "|---|---|---|"]
    for key, document in documents.items():
        shown = f"[{retold.cited(document)}]({key}/index.md)"
        rows.append(f"| {shown} | {retold.document(document).subject} | [{say('summary')}]({key}/summary.md) |")
    return rows


def entries(bibliography: str) -> dict[str, str]:
    """Each entry of a BibTeX file by its key; an entry begins with a line that starts with an @."""
    found = re.split(r"(?m)^(?=@)", bibliography)
    return {re.match(r"@\w+\{([^,\s]+)", entry)[1]: entry.strip() for entry in found if entry.strip()}


class Documents(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(claims.ledger_path()))
        self.content = StringList(table(claims.load().documents), source=self.get_source_info()[0])
        return parsed(self)


class Entries(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(BIBLIOGRAPHY))
        self.env.note_dependency(str(claims.ledger_path()))
        known = claims.load().documents
        return generated(
            self._entry(retold.cited(known[key]) if key in known else say("The compendium"), text)
            for key, text in entries(BIBLIOGRAPHY.read_text(encoding="utf-8")).items()
        )

    def _entry(self, title, text):
        heading = nodes.section("", nodes.title(title, title), ids=[nodes.make_id(title)])
        heading += nodes.literal_block(text, text, language="bibtex")
        return heading


def setup(app):
    app.add_directive("documents", Documents)
    app.add_directive("entries", Entries)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
