"""A chapter's claims, as the scorecard shows them (`book.ledger.cards`): a table folded behind its tally, a single claim in the open.

How all of them came out stands in the box that opens the chapter, and leads to them.

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

from book.editions.edition import parsed, say
from book.ledger import cards, claims, machine_checked, retold, scorecard
from book.ledger.verdicts import load_full

FULL = Path(__file__).resolve().parents[1] / "results/claims.csv"
SHOWN = ('<div class="claims">', '<div class="claim" ')  # how book.ledger.claims begins a table, and a line


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
    listed = findings([found], page, full)
    entries = [cards.entry(each, f"{to_root}scorecard.html#{claims.anchor(each.claim.id)}") for each in listed]
    return cards.folded(listed, entries) if isinstance(found, list) else entries[0]


def findings(found: list, page: str, full: dict) -> list[cards.Finding]:
    """All records of `found`, which holds them one by one and in lists."""
    each = [record for one in found for record in (one if isinstance(one, list) else [one])]
    return cards.findings(claims.load(), [replace(claims.Record(**record), notebook=page) for record in each], full)


def tally(listed: list[cards.Finding]) -> str:
    """How many claims have each verdict, as badges, each of which leads to the first of these claims on the page."""
    verdicts = {each.claim.id: each.standing.verdict for each in listed}
    badges = []
    for verdict in claims.VERDICTS:
        ids = [id for id, own in verdicts.items() if own == verdict]
        said = say("{n} {verdict}", n=len(ids), verdict=say(verdict))
        shown = f'<span class="verdict {claims.css_class(verdict)}">{said}</span>'
        badges += [f'<a href="#{claims.anchor(ids[0])}">{shown}</a>'] if ids else []
    return f'<p class="tally">{say("Claims judged here: {badges}", badges=" ".join(badges))}</p>'


def show(app, doctree):
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix == ".ipynb":
        found = recorded(json.loads(path.read_text(encoding="utf-8")))
        raw = [each for each in doctree.findall(nodes.raw) if each.astext().startswith(SHOWN)]
        full = load_full(FULL, claims.load()) if found else {}
        to_root = "../" * app.env.docname.count("/")
        for node, record in zip(raw, found, strict=True):
            node.children = [nodes.Text(shown(record, to_root, app.env.docname, full))]
        answer = next(doctree.findall(nodes.admonition), None)
        if found and answer is not None:
            answer += nodes.raw("", tally(findings(found, app.env.docname, full)), format="html")
        for file in (claims.ledger_path(), FULL, cards.REPLIES, machine_checked.LIST) if found else ():
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
            by=scorecard.cell(reply.by),
            date=reply.date,
            claim=f'<a href="scorecard.html#{claims.anchor(id)}">{scorecard.cell(retold.source(known[id], known))}</a>',
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
