"""At the end of a chapter's opening, folded: which notebook the page is, and the parameters it ran with."""

import json
from pathlib import Path

from docutils import nodes

from book.editions.edition import say


def add_source_line(app, doctree):
    path = Path(app.env.doc2path(app.env.docname))
    title = next(doctree.findall(nodes.title), None)
    if path.suffix != ".ipynb" or title is None:
        return
    run = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("compendium")
    if run:
        opening = title.parent
        end = opening.first_child_matching_class(nodes.section)
        at = len(opening) if end is None else end
        opening[at:at] = folded(source_line(run))


def folded(line: nodes.paragraph) -> list[nodes.Node]:
    summary = say("How this page was made")
    start, end = f'<details class="how-made"><summary>{summary}</summary>', "</details>"
    return [nodes.raw("", start, format="html"), line, nodes.raw("", end, format="html")]


def source_line(run: dict) -> nodes.paragraph:
    """`run` holds the notebook's path and the parameters of this run, by name."""
    line = nodes.paragraph("", "", classes=["source-line"])
    line += [nodes.Text(say("Source: ")), nodes.literal(text=run["notebook"])]
    for position, (name, value) in enumerate(run["parameters"].items()):
        line += [nodes.Text(say(", ") if position else say(" · run with ")), nodes.literal(text=f"{name} = {value!r}")]
    return line


def setup(app):
    app.connect("doctree-read", add_source_line)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
