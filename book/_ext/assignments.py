"""The directive {assignments}: the assignments that there are, as each says of itself in its first cell."""

import json
import re
from pathlib import Path

from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed, say, told

FOLDER = Path(__file__).resolve().parents[2] / "notebooks/assignments"
SAID = (
    r"# (?P<title>.+)\n[\s\S]*`(?P<document>[a-z]+\d{4})`[\s\S]*?"
    r"About (?P<minutes>\d+) minutes, \d+\s+points:\s+(?P<tests>\d+) by tests, (?P<text>\d+)"
)


def notebooks() -> list[Path]:
    return sorted(path for path in FOLDER.glob("*/*.ipynb") if path.stem == path.parent.name)


def row(path: Path) -> dict:
    """What an assignment says of itself; ``ValueError`` where it does not say it."""
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    said = re.match(SAID, first)
    if said is None:
        raise ValueError(f"{path.name} must begin with its title, document, minutes and points, got {first[:200]!r}")
    return {"name": path.stem, **said.groupdict()}


def table(rows: list[dict]) -> str:
    lines = [
        f"| `{each['name']}` | [`{each['document']}`](../{each['document']}/index.md) | {told(each['title'])} | {each['minutes']} | {each['tests']} + {each['text']} |"
        for each in rows
    ]
    heads = [say("Assignment"), say("Document"), say("What it is about"), say("Minutes"), say("Points")]
    return "\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *lines])


class Assignments(SphinxDirective):
    def run(self):
        for path in notebooks():
            self.env.note_dependency(str(path))
        self.content = StringList(table(map(row, notebooks())).splitlines(), source=str(FOLDER))
        made = parsed(self)
        for part in made:
            part["classes"].append("whole-names")
        return made


def setup(app):
    app.add_directive("assignments", Assignments)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
