"""The front page's findings: the directives {finding} miura2022, one document's finding, and {bars}, a few numbers drawn as bars.

Each line of {bars} is what the number is of, a bar, and a role of `summaries` that quotes it: ``as printed | {printed}`miura2022.headline.rdp` ``.
Its options are `of`, what the bars show, `from`, where they begin (0 unless said), and `unit`.
"""

import re
from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from book._ext.summaries import Sources, quote
from book.editions.edition import generated, say, told
from book.ledger import claims, retold

LINE = re.compile(r"(.+?) \| \{(\w+)\}`([^`]+)`")


class Finding(SphinxDirective):
    """Text and picture, under the document's name, which leads to it."""

    required_arguments = 1
    has_content = True

    def run(self):
        document = claims.load().documents[self.arguments[0]]
        name = StringList(
            [f"[{retold.cited(document)}]({document.key}/index.md)", ""], source=self.get_source_info()[0]
        )
        self.content = name + self.content
        name, *rest = self.parse_content_to_nodes()
        return [nodes.container("", *generated([name]), *rest, classes=["finding"])]


def parts(numbers: list[float], start: float) -> list[float]:
    """How long each number's bar is, of the longest."""
    longest = max(numbers) - start
    if min(numbers) < start or longest <= 0:
        raise ValueError(f"bars must begin below their numbers, got {start:g} for {numbers}")
    return [(number - start) / longest for number in numbers]


def drawn(rows: list[tuple[str, str]], of: str, start: float = 0, unit: str = "") -> str:
    """HTML for (label, number as text) rows."""
    lengths = parts([float(text.replace(",", "")) for _, text in rows], start)
    head = say("{of}; bars begin at {start}", of=told(of), start=f"{start:g}") if start else told(of)
    bars = [
        f'<tr><th scope="row">{claims.markup(told(label))}</th><td><span style="--part: {length:.4f}"></span>{escape(text + unit)}</td></tr>'
        for (label, text), length in zip(rows, lengths)
    ]
    return f'<table class="bars"><caption>{claims.markup(head)}</caption><tbody>{"".join(bars)}</tbody></table>'


class Bars(SphinxDirective):
    has_content = True
    option_spec = {"of": directives.unchanged_required, "from": float, "unit": directives.unchanged}

    def run(self):
        found = [LINE.fullmatch(line) for line in self.content if line.strip()]
        try:
            if not all(found) or not found:
                raise ValueError("each line of bars must be a label, a bar and a role that quotes a number")
            rows = [(label, quote(role, text, Sources())) for label, role, text in (each.groups() for each in found)]
            text = drawn(rows, self.options["of"], self.options.get("from", 0), self.options.get("unit", ""))
        except (KeyError, ValueError) as error:
            logging.getLogger(__name__).error(str(error), location=self.get_location())
            return []
        return [nodes.raw("", text, format="html", translatable=False)]


def setup(app):
    app.add_directive("finding", Finding)
    app.add_directive("bars", Bars)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
