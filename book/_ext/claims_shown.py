"""A chapter's claims, as the scorecard shows them (`book.cards`): a table folded behind its tally, a single claim in the open.

The directive {replies} lists what was replied to verdicts.

The notebook's outputs stay as they are; what the page shows is made from the records that they carry. Where the chapter ran on
stand-in data, the verdict shown is the full run's, as on the scorecard.
"""

import json
from dataclasses import replace
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from book import cards, claims, ledger, retold
from book.edition import parsed, say

FULL = Path(__file__).resolve().parents[1] / "results/claims.csv"
SHOWN = ('<div class="claims">', '<div class="claim" ')  # how book.claims begins a table, and a line


def recorded(notebook: dict) -> list:
    """What each output of claims holds, in their order: a record, or the list of a table's."""
    return [
        output["data"][claims.MIME]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if claims.MIME in output.get("data", {})
    ]


def shown(found, to_root: str, page: str, full: dict) -> str:
    """A record, or a table's records, as HTML for the page of the chapter."""
    many = isinstance(found, list)
    records = [replace(claims.Record(**each), notebook=page) for each in (found if many else [found])]
    listed = cards.findings(claims.load(), records, full)
    entries = [cards.entry(each, f"{to_root}scorecard.html#{claims.anchor(each.claim.id)}") for each in listed]
    return cards.folded(listed, entries) if many else entries[0]


def show(app, doctree):
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix == ".ipynb":
        found = recorded(json.loads(path.read_text(encoding="utf-8")))
        raw = [each for each in doctree.findall(nodes.raw) if each.astext().startswith(SHOWN)]
        full = ledger.load_full(FULL, claims.load()) if found else {}
        to_root = "../" * app.env.docname.count("/")
        for node, record in zip(raw, found, strict=True):
            node.children = [nodes.Text(shown(record, to_root, app.env.docname, full))]
        for file in (claims.ledger_path(), FULL, cards.REPLIES) if found else ():
            app.env.note_dependency(str(file))
    if any('<span class="math' in each.astext() for each in doctree.findall(nodes.raw)):
        app.env.get_domain("math").data["has_equations"][app.env.docname] = True  # else MathJax is left out


def listed(replies: dict) -> str:
    """The replies as MyST, each a link to its claim."""
    known = claims.load()
    lines = [
        "- "
        + say(
            "{by}, {date}, to {claim}",
            by=ledger.cell(reply.by),
            date=reply.date,
            claim=f'<a href="scorecard.html#{claims.anchor(id)}">{ledger.cell(retold.source(known[id], known))}</a>',
        )
        for id, each in replies.items()
        for reply in each
    ]
    return "\n".join(lines or [say("None has come so far.")])


class Replies(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(cards.REPLIES))
        self.content = StringList(listed(cards.replies()).splitlines(), source=str(cards.REPLIES))
        return parsed(self)


def setup(app):
    app.add_directive("replies", Replies)
    app.connect("doctree-read", show)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
