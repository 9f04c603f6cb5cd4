"""The directive {reference} accounting: a room of lib, each public function and class of it from its docstring, by autodoc.

Beside the docstring stand the import, the chapters that use it, and, by sphinx.ext.viewcode, its lines. Names in backticks
lead to what they name, citations to the references, documents to their summaries.
"""

import ast
import importlib
import inspect
import os
import re
from functools import cache
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book._ext import chapters, house_text, library
from book._ext.library import LIB, ROOT
from book.ledger import claims

IMPORT = re.compile(r"^(\s*>>> (?:from|import) )lib\b")  # which is the package's name in the repository alone
FOREIGN = r"(?!lib\.).*"  # types of other packages, which this book does not describe

NAME = "Names are those of the installed package; in the repository ``dp_compendium`` is ``lib``."


# ---------------------------------------------------------------- what there is


def rooms() -> dict:
    """The rooms with their modules; but that of the command, which `--help` describes."""
    return {room: modules for room, modules in library.rooms().items() if room != "command"}


@cache
def public() -> dict[tuple[str, str], str]:
    """What each public function and class of lib is called, by the (module, name) of its definition: the room's name first."""
    found = {}
    for room, modules in rooms().items():
        face = importlib.import_module(f"lib.{room}")
        for name in modules:
            module = importlib.import_module(f"lib.{room}.{name}")
            for each in _defined(LIB / room / f"{name}.py"):
                same = getattr(face, each, None) is getattr(module, each)
                found[module.__name__, each] = f"lib.{room}.{each}" if same else f"{module.__name__}.{each}"
    return found


def _defined(path: Path) -> list[str]:
    """The public functions and classes of a module, in its order."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, made) and not node.name.startswith("_")]


def members(kind: type) -> list[str]:
    """The public methods and properties that a class has itself, or from a base that is not described by itself."""
    described = {key for key in public() if key != (kind.__module__, kind.__qualname__)}
    own = [base for base in kind.__mro__ if base.__module__.startswith("lib.")]
    own = [base for base in own if (base.__module__, base.__qualname__) not in described]
    made = (property, classmethod, staticmethod)
    return list(
        dict.fromkeys(
            name
            for base in own
            for name, thing in vars(base).items()
            if not name.startswith("_") and (isinstance(thing, made) or inspect.isfunction(thing))
        )
    )


@cache
def _uses() -> dict:
    return chapters.uses(ROOT)


@cache
def _named() -> dict[str, dict[str, str]]:
    """By each name that texts may use, as `compose_rdp` or `conversions.compose_rdp`, where it is defined and what it is called."""
    found: dict[str, dict[str, str]] = {}
    for (module, name), shown in public().items():
        thing = getattr(importlib.import_module(module), name)
        methods = [f".{method}" for method in members(thing)] if inspect.isclass(thing) else []
        for method in ["", *methods]:
            path = f"{module}.{name}{method}"
            for call in {f"{name}{method}", method[1:], shown + method, *_ends(path), *_ends(shown + method)} - {""}:
                found.setdefault(call, {})[path] = shown + method
    return found


def _ends(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[start:]) for start in range(len(parts) - 1)]


def meant(text: str, near: str) -> str:
    """What is public of the name `text` in a docstring of `near`, a module or class: the nearest, if one is; else ""."""
    candidates = _named().get(text.removesuffix("()"), {})

    def shared(path):
        return len(os.path.commonprefix([path.split("."), near.split(".")]))

    if "." not in text:
        candidates = {path: name for path, name in candidates.items() if _within_reach(path, name, near)}
    closest = [path for path in candidates if shared(path) == max(map(shared, candidates))]
    return candidates[closest[0]] if len(closest) == 1 else ""


def _within_reach(path: str, name: str, near: str) -> bool:
    """Whether a bare name may mean it: a method in its class, what a room shows everywhere, and the rest in its room."""
    if path.count(".") > 3:
        return path.startswith(f"{near}.")
    return name.count(".") == 2 or path.split(".")[1] == near.split(".")[1]


# ---------------------------------------------------------------- texts


@cache
def _cited() -> dict[tuple[str, str], str]:
    """The key of each entry of the references, by its first author's surname and its year."""
    found = {}
    for text in re.split(r"(?m)^(?=@)", (ROOT / "book/references.bib").read_text(encoding="utf-8"))[1:]:
        key = re.match(r"@\w+\{([^,\s]+)", text)[1]
        author = re.search(r"(?m)^\s*author\s*=\s*[{\"]+(.*?)(?: and |[}\"],?$)", text)
        year = re.search(r"(?m)^\s*year\s*=\s*[{\"]?(\d{4})", text)
        if author and year:
            surname = author[1].partition(",")[0].strip() if "," in author[1] else author[1].split()[-1]
            found.setdefault((re.sub(r"[{}\\]", "", surname), year[1]), key)
    return found


AUTHORS = re.compile(
    r"(?:[A-Z]\. )?(?P<first>[A-Z][\w'’-]+)(?: et al\.|(?:, (?:and )?| and )(?:[A-Z][\w'’-]+|others))*,? (?P<year>(?:19|20)\d\d)\b"
)


def linked(text: str) -> str:
    """Prose in which what the references list is cited, and a document's key leads to its summary."""
    text = AUTHORS.sub(
        lambda found: f":cite:t:`{key}`" if (key := _cited().get((found["first"], found["year"]))) else found[0], text
    )
    for key in claims.load().documents:
        text = re.sub(rf"\b{key}\b", f":doc:`{key} </{key}/summary>`", text)
    return text


def mend(app, what, name, thing, options, lines):
    """autodoc's event: a docstring becomes reStructuredText, and what uses it is added."""
    shown = list(lines)
    arguments = _arguments(thing)
    lines[:] = [IMPORT.sub(r"\1dp_compendium", line) for line in house_text.rst(shown, arguments, linked)]
    key = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    pages = _uses().get(key, []) if what in ("function", "class") else []
    if pages:
        lines += ["", ":Used in: " + ", ".join(f":doc:`/{page}`" for page in pages), ""]


def _arguments(thing) -> set[str]:
    thing = getattr(thing, "fget", thing)
    try:
        found = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        found = set()
    return found | set(getattr(thing, "__annotations__", {}))


def rename(app, doctree):
    """What stands before a name in its signature is the installed package's; links and addresses keep `lib`."""
    for place in doctree.findall(addnodes.desc_addname):
        if place.astext().startswith("lib."):
            name = nodes.Text(place.astext().replace("lib.", "dp_compendium.", 1))
            place.clear()
            place += name


class House(SphinxRole):
    """`name` in a docstring: code, and a link where it names something public, a room's module or a document."""

    def run(self):
        near = self._near()
        code = nodes.literal(self.text, self.text)
        if self.text in claims.load().documents:
            return [self._link("std", "doc", f"/{self.text}/summary", code)], []
        target = meant(self.text, near)
        return [self._link("py", "obj", target, code) if target else code], []

    def _near(self) -> str:
        return f"{self.env.temp_data.get('lib_module', '')}.{self.env.ref_context.get('py:class') or ''}"

    def _link(self, domain, kind, target, code):
        link = addnodes.pending_xref(
            "",
            code,
            refdomain=domain,
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.env.docname,
        )
        return link


# ---------------------------------------------------------------- the page


class Reference(SphinxDirective):
    required_arguments = 1

    def run(self):
        room = self.arguments[0]
        package = importlib.import_module(f"lib.{room}")
        lines = [*house_text.rst(inspect.getdoc(package).splitlines(), set(), linked), "", NAME, "", *_face(room)]
        made = self._parsed(lines, package.__file__)
        for name in rooms()[room]:
            module = importlib.import_module(f"lib.{room}.{name}")
            own = [(key, shown) for key, shown in public().items() if key[0] == module.__name__]
            place = nodes.make_id(f"{room}-{name}")
            section = nodes.section("", nodes.title(name, name), ids=[place])
            standard = self.env.get_domain("std")
            standard.labels[module.__name__] = self.env.docname, place, name
            standard.anonlabels[module.__name__] = self.env.docname, place
            self.env.temp_data["lib_module"] = module.__name__
            lines = house_text.rst(inspect.getdoc(module).splitlines(), set(), linked)
            for key, shown in own:
                lines += directive(getattr(module, key[1]), shown)
            section += self._parsed(lines, module.__file__)
            section += [nodes.raw("", f'<span id="{one}"></span>', format="html") for one in _other_names(module, own)]
            made.append(section)
        for path in (ROOT / "pyproject.toml", *(LIB / room).rglob("*.py"), *ROOT.glob("notebooks/*/*.ipynb")):
            self.env.note_dependency(str(path))
        return made

    def _parsed(self, lines, source):
        text = ["``````{eval-rst}", *lines, "``````"]
        made = nodes.Element()
        self.state.nested_parse(StringList(text, source), 0, made)
        return made.children


def _face(room: str) -> list[str]:
    """The public names of a subpackage, each with its line: a link where the reference describes it."""
    described, lines = set(public().values()), []
    for name, line in library.face((LIB / room / "__init__.py").read_text(encoding="utf-8")).items():
        shown = f":py:obj:`{name} <lib.{room}.{name}>`" if f"lib.{room}.{name}" in described else f"``{name}``"
        lines.append(f"- {shown}: {house_text.rst([line], set(), linked)[0]}")
    return lines


def _other_names(module, own) -> list[str]:
    """What links from the pages of code may call the functions and classes `own` of a module: by the room, or by the module."""
    room, found = module.__name__.rpartition(".")[0], []
    for (_, name), shown in own:
        thing = getattr(module, name)
        inside = ["", *(f".{member}" for member in members(thing))] if inspect.isclass(thing) else [""]
        other = f"{module.__name__}.{name}" if shown == f"{room}.{name}" else f"{room}.{name}"
        found += [other + member for member in inside if other not in public().values()]
    return found


def directive(thing, shown: str) -> list[str]:
    """What autodoc is asked for one function or class."""
    if not inspect.isclass(thing):
        return [f".. autofunction:: {shown}", ""]
    listed = ", ".join(members(thing))
    return [f".. autoclass:: {shown}", *([f"   :members: {listed}", "   :undoc-members:"] if listed else []), ""]


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.viewcode")
    app.config.autodoc_preserve_defaults = True
    app.config.autodoc_typehints_format = "short"
    app.config.autodoc_type_aliases = {name: name for name in ("ArrayLike", "NDArray")}  # as they are written
    app.config.toc_object_entries_show_parents = "hide"
    app.config.nitpick_ignore_regex = [*app.config.nitpick_ignore_regex, (r"py:.*", FOREIGN)]
    app.add_directive("reference", Reference)
    app.add_role("house", House())
    app.connect("autodoc-process-docstring", mend)
    app.connect("doctree-read", rename)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
