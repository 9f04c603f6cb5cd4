"""No line begins with a full stop: what follows a formula without a space, and a number that stands before its symbol, stay with it.

A browser may break a line on either side of a formula, as beside a picture.
"""

import re

from docutils import nodes

FOLLOWS = re.compile(r"[^\s\w]+[A-Za-z]*")  # a mark, or the rest of a word such as -DP
LONGEST = 60  # letters of TeX; a longer formula may need a telephone's whole line


def keep(doctree) -> None:
    for formula in list(doctree.findall(nodes.math)):
        within_text = isinstance(formula.parent, nodes.TextElement) and not isinstance(formula.parent, nodes.title)
        if within_text and len(formula.astext()) <= LONGEST:
            _keep(formula)


def _keep(formula: nodes.math) -> None:
    parent, at = formula.parent, formula.parent.index(formula)
    before, after = [], []
    if formula.astext().startswith("\\,") and at and isinstance(parent[at - 1], nodes.inline):
        before = [parent[at - 1]]
    if at + 1 < len(parent) and isinstance(parent[at + 1], nodes.Text) and (mark := FOLLOWS.match(parent[at + 1])):
        after = [nodes.Text(mark[0])]
        parent[at + 1] = nodes.Text(parent[at + 1][mark.end() :])
    if before or after:
        start = at - len(before)
        del parent[start : at + 1]
        parent.insert(start, nodes.inline("", "", *before, formula, *after, classes=["together"]))


def setup(app):
    app.connect("doctree-read", lambda app, doctree: keep(doctree))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
