"""The directive {library}: the rooms of lib, in their order, and every module of each with its first sentence, and links to the reference.

All is read from the package itself: the order from `pyproject.toml`, the sentences from the docstrings.
"""

import ast
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import generated, say, told

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"


def first_sentence(module: Path) -> str:
    """The first paragraph of a module's text, without its full stop."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def rooms() -> dict[str, list[str]]:
    """The rooms, those that use none of the others first, each with the names of its modules."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    names = [name.strip() for layer in reversed(contract["layers"]) for name in layer.split("|")]
    return {name: sorted(path.stem for path in (LIB / name).glob("[!_]*.py")) for name in names}


def face(source: str) -> dict[str, str]:
    """The names that an `__init__` imports from its own modules, each with the comment in its line, or ""."""
    lines = source.splitlines()
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.level == 1]
    told = {alias.name: lines[alias.lineno - 1] for node in imports for alias in node.names}
    return {name: line.partition("#")[2].strip() for name, line in told.items()}


def _linked(name, room, place=""):
    """A name as a link to its place in the reference, for a room that has a page there."""
    if not (ROOT / f"book/reference/{room}.md").is_file():
        return name
    return nodes.reference("", "", name, refuri=f"reference/{room}.html{place}", internal=True)


class Library(SphinxDirective):
    def run(self):
        made = []
        for room, modules in rooms().items():
            name = _linked(nodes.Text(room), room)
            section = nodes.section("", nodes.title(room, "", name), ids=[nodes.make_id(room)])
            said = told(first_sentence(LIB / room / "__init__.py"))
            section += nodes.paragraph(said, f"{said}{say('.')}")
            section += nodes.definition_list("", *(self._item(room, name) for name in modules))
            made.append(section)
        for path in (ROOT / "pyproject.toml", *LIB.rglob("*.py")):
            self.env.note_dependency(str(path))
        return generated(made)

    def _item(self, room, name):
        code = nodes.literal(name, f"lib.{room}.{name}")
        term = nodes.term("", "", _linked(code, room, f"#{nodes.make_id(f'{room}-{name}')}"))
        line = told(first_sentence(LIB / room / f"{name}.py"))
        return nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph(line, line)))


def setup(app):
    app.add_directive("library", Library)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
