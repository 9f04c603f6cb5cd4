"""The directive {kept-table} miura2025/release_audits: a file of book/results as a table.

Each line of its content is a column of the file and, behind a colon, its head: `proved: proved ε`. Numbers have three digits.
"""

from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed, say, told
from book.kept import results
from book.ledger import scorecard


def page(rows: list[dict[str, str]], heads: dict[str, str]) -> str:
    """The columns that `heads` names of the file's `rows`, as MyST."""
    unknown = heads.keys() - rows[0].keys()
    if unknown:
        raise ExtensionError(f"kept-table: no column {', '.join(sorted(unknown))} in {', '.join(rows[0])}")
    lines = ["| " + " | ".join(scorecard.cell(shown(row[name])) for name in heads) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(heads.values()) + " |", "|---" * len(heads) + "|", *lines])


def shown(text: str) -> str:
    """A number with three digits, a truth value as a word, another text as it is."""
    try:
        return f"{float(text):.3g}"
    except ValueError:
        return {"True": say("yes"), "False": say("no"), "": "–"}.get(text) or told(text)


class KeptTable(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        file = results.FOLDER / f"{self.arguments[0]}.csv"
        self.env.note_dependency(str(file))
        heads = {name: told(head.strip()) for name, _, head in (line.partition(":") for line in self.content)}
        self.content = StringList(page(results.rows(file), heads).splitlines(), source=str(file))
        return parsed(self)


def setup(app):
    app.add_directive("kept-table", KeptTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
