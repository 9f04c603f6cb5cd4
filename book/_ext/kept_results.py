"""The directive {kept-results}: the files in book/results, with the command that makes each again, and whether the code is still the same.

All is read from their own first lines, and from the code.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import say
from book.kept import results

FOLDER = Path(__file__).resolve().parents[1] / "results"


def rows(folder: Path = FOLDER) -> list[tuple[str, str, str, str]]:
    """Of each file with a command in its first lines: its name below `folder`, the command, what it took, by which code it was made."""
    found = []
    for path in sorted(folder.rglob("*.csv")):
        made = results.provenance(path)
        if "command" in made:
            name, took = path.relative_to(folder).as_posix(), _took(made.get("CPU time", ""))
            found.append((name, made["command"], took, _told(results.made_by(path))))
    return found


def _took(time: str) -> str:
    """``800 s of AIM on x86_64``: the seconds, and whether they are those of a part."""
    seconds, part, _ = time.partition(" of AIM")
    return say("{seconds} of AIM", seconds=seconds) if part else seconds


def _told(made_by: str) -> str:
    earlier, _, names = made_by.partition(": ")
    if names:
        return say("earlier code; changed since: {names}", names=names)
    return say("the code of today") if made_by == "the code of today" else say("code that is gone")


class KeptResults(SphinxDirective):
    def run(self):
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (25, 45, 12, 18)), cols=4)
        heads = say("File"), say("Made by"), say("CPU time"), say("Made with")
        head = nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in heads))
        body = [
            nodes.row("", *(self._entry(text, code) for text, code in zip(row, (True, True, False, False))))
            for row in rows()
        ]
        group += [nodes.thead("", head), nodes.tbody("", *body)]
        for path in FOLDER.rglob("*.csv"):
            self.env.note_dependency(str(path))
        return [nodes.table("", group)]

    def _entry(self, text, code):
        kind = nodes.literal if code else nodes.inline
        return nodes.entry("", nodes.paragraph("", "", kind(text, text)))


def setup(app):
    app.add_directive("kept-results", KeptResults)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
