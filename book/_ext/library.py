"""The directive {library}: every module of lib with its first sentence, in the groups of the package's own text.

A module that no group names, or a name without a module, stops the build.
"""

import ast
import re
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

LIB = Path(__file__).resolve().parents[2] / "lib"


def first_line(module: Path) -> str:
    """The first line of a module's text, without its full stop."""
    return ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))).splitlines()[0].rstrip(".")


def groups() -> dict[str, list[str]]:
    """The headings in the package's text, each with the names of its modules.

    Raises ``ValueError`` where they are not exactly the modules that there are.
    """
    text = ast.get_docstring(ast.parse((LIB / "__init__.py").read_text(encoding="utf-8")))
    listed = text.split("Where to look:\n\n")[1]
    found = {heading: re.findall(r"\w+", names) for heading, names in re.findall(r"^(\S.*)\n((?: {4}.*\n?)+)", listed, re.M)}
    named = [name for names in found.values() for name in names]
    there = {path.stem for path in LIB.glob("*.py")} - {"__init__"}
    if wrong := set(named) ^ there | {name for name in named if named.count(name) > 1}:
        raise ValueError(f"lib/__init__.py must name each module once, but not so {', '.join(sorted(wrong))}")
    return found


class Library(SphinxDirective):
    def run(self):
        try:
            found = groups()
        except ValueError as reason:
            raise ExtensionError(str(reason)) from None
        made = []
        for heading, names in found.items():
            section = nodes.section("", nodes.title(heading, heading), ids=[nodes.make_id(heading)])
            items = [self._item(name) for name in names]
            section += nodes.definition_list("", *items)
            made.append(section)
        for path in LIB.glob("*.py"):
            self.env.note_dependency(str(path))
        return made

    def _item(self, name):
        term = nodes.term("", "", nodes.literal(name, name))
        line = first_line(LIB / f"{name}.py")
        return nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph(line, line)))


def setup(app):
    app.add_directive("library", Library)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
