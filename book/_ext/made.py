"""Shared parts of the extension: directives with generated text, tables, and the notebook from which a page is made."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed
from book.ledger.verdicts import FULL, GATHERED, standings


class Made(SphinxDirective):
    """A directive whose content is MyST, generated from files; its page depends on these files."""

    def made(self, text: str, *files: Path, **options) -> list:
        """Return the nodes of `text`, made from `files`; errors name the first file. The options are those of
        `parsed`."""
        for file in files:
            self.env.note_dependency(str(file))
        self.content = StringList(text.splitlines(), source=str(files[0]))
        return parsed(self, **options)


def table(heads, rows) -> str:
    """Return a table as MyST; `heads` are its column heads, and each of `rows` is a list of cells."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def folded(head: str, *lines: str) -> str:
    """Return `lines` of MyST in a block that shows only `head` until a reader opens it."""
    return "\n".join([f"````{{dropdown}} {head}", *lines, "````", ""])


def judged() -> list:
    """Return the record that counts for each claim, which is that of this build or of the full run."""
    if not GATHERED.is_file():
        raise ExtensionError("build/claims.json does not exist: run `make claims` first")
    return standings(GATHERED, FULL)


def executed(app) -> dict | None:
    """Return the executed notebook of the page being read, or None if the page has none. Do not change the notebook,
    which is cached."""
    path = Path(app.env.doc2path(app.env.docname))
    return _read(path) if path.suffix == ".ipynb" else None


def code(notebook: dict) -> str:
    """Return the text of all code cells, without the lines that start with % or !."""
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "\n".join(line for cell in cells for line in cell.splitlines() if not line.lstrip().startswith(("%", "!")))


@lru_cache(maxsize=1)  # several functions ask, page after page
def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))
