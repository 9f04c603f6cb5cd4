"""Pages about lib: the list of its modules, the reference from its docstrings, and the functions for each numbered
item.

{library}                 the subpackages of lib, in order of dependence, and the modules of each with their first sentences
{reference} accounting    a subpackage, and its public functions and classes with their docstrings, by autodoc
{formulas}                each numbered item of a document with the functions that compute it, its chapters and its verdicts;
                          then our own theorems about Gaussian synthesis, from their register

The order comes from `pyproject.toml`, and the sentences come from the docstrings. The reference adds to each docstring
the full name of the function or class, the chapters that use it (found by imports and names in the notebooks' cells)
and, by sphinx.ext.viewcode, a link to its source. Names in backticks link to their definitions, citations link to the
references, and documents link to their summaries.

The numbered items are those in `book/formulas.yml`, where the lists come from `book/ledger/numbered.py`. The functions
of an item are those whose docstrings or comments name the item. If there are none, `book/formulas.yml` gives the
reason.
"""

import ast
import importlib
import inspect
import io
import json
import os
import re
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from book._ext import docstrings
from book._ext.made import Made, code, judged, table
from book.editions.edition import generated, say, told
from book.ledger import claims, numbered, retold
from book.ledger.verdicts import FULL, GATHERED
from lib.gaussian_synthesis import THEOREMS

# ---------------------------------------------------------------- the list of modules


ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"


def first_sentence(module: Path) -> str:
    """Return the first paragraph of a module's docstring, without its full stop."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))
    return " ".join(text.split("\n\n")[0].split()).rstrip(".")


def order() -> dict[str, list[str]]:
    """Return the subpackages, in order of dependence, each with the names of its modules."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    names = [name.strip() for layer in reversed(contract["layers"]) for name in layer.split("|")]
    return {name: sorted(path.stem for path in (LIB / name).glob("[!_]*.py")) for name in names}


def face(source: str) -> dict[str, str]:
    """Return the names that an `__init__` imports from the modules beside it, each with the comment on its line, if
    any."""
    lines = source.splitlines()
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.level == 1]
    told = {alias.name: lines[alias.lineno - 1] for node in imports for alias in node.names}
    return {name: line.partition("#")[2].strip() for name, line in told.items()}


def _place(name, room, place=""):
    """Return `name` as a link to its place in the reference or, if the subpackage has no page there, without a link."""
    if not (ROOT / f"book/reference/{room}.md").is_file():
        return name
    return nodes.reference("", "", name, refuri=f"reference/{room}.html{place}", internal=True)


class Library(SphinxDirective):
    def run(self):
        made = []
        for room, modules in order().items():
            name = _place(nodes.Text(room), room)
            section = nodes.section("", nodes.title(room, "", name), ids=[nodes.make_id(room)])
            said = told(first_sentence(LIB / room / "__init__.py"))
            section += nodes.paragraph(said, "", *with_code(f"{said}{say('.')}"))
            section += nodes.definition_list("", *(self._item(room, name) for name in modules))
            made.append(section)
        for path in (ROOT / "pyproject.toml", *LIB.rglob("*.py")):
            self.env.note_dependency(str(path))
        return generated(made)

    def _item(self, room, name):
        code = nodes.literal(name, f"lib.{room}.{name}")
        term = nodes.term("", "", _place(code, room, f"#{nodes.make_id(f'{room}-{name}')}"))
        line = told(first_sentence(LIB / room / f"{name}.py"))
        return nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph(line, "", *with_code(line))))


def with_code(text: str) -> list[nodes.Node]:
    """Return `text` as nodes, with what is between backticks as code."""
    pieces = enumerate(text.split("`"))
    return [nodes.literal(piece, piece) if i % 2 else nodes.Text(piece) for i, piece in pieces if piece]


# ---------------------------------------------------------------- which chapters use what


def uses(root: Path) -> dict[tuple[str, str], list[str]]:
    """Return a mapping from functions and classes of lib, as (module, name), to the pages that name them, such as
    `notebooks/kiri2019/01_laplace`."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(root.glob("notebooks/*/*.ipynb")):
        if "assignments" in path.parts:
            continue
        page = path.relative_to(root).with_suffix("").as_posix()
        for key in sorted(uses_of(code(json.loads(path.read_text(encoding="utf-8"))))):
            found.setdefault(key, []).append(page)
    return found


def uses_of(source: str) -> set[tuple[str, str]]:
    """Return (module, name) for each function and class of lib that the code names."""
    tree = ast.parse(source)
    names: dict[str, str] = {}  # local name: name in lib
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lib":
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            names |= {
                each.asname or "lib": each.name if each.asname else "lib"
                for each in node.names
                if each.name[:3] == "lib"
            }
    dotted = set(names.values()) | {place for node in ast.walk(tree) if (place := _dotted(node, names))}
    return {key for place in dotted if (key := _home(place))}


def _dotted(node, names) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value, names)):
        return f"{before}.{node.attr}"
    return ""


def _home(place: str) -> tuple[str, str] | None:
    """Return the (module, name) that defines the function or class `place`, such as lib.room.name; None for a module, a
    constant or a method."""
    above, _, name = place.rpartition(".")
    try:
        thing = getattr(importlib.import_module(above), name, None)
    except ModuleNotFoundError:  # `above` is a class
        return None
    own = getattr(thing, "__module__", "") or ""
    return (own, thing.__qualname__) if own.startswith("lib.") and hasattr(thing, "__qualname__") else None


# ---------------------------------------------------------------- the reference


IMPORT = re.compile(r"^(\s*>>> (?:from|import) )lib\b")  # the package's name in the repository only
FOREIGN = r"(?!lib\.).*"  # types of other packages, which this book does not describe

NAME = "Names are those of the installed package; in the repository ``dp_compendium`` is ``lib``."


# ---------------------------------------------------------------- what there is


def rooms() -> dict:
    """Return the subpackages with their modules, except `command`, which `--help` describes."""
    return {room: modules for room, modules in order().items() if room != "command"}


@cache
def public() -> dict[tuple[str, str], str]:
    """Return a mapping from each public function and class of lib, as the (module, name) that defines it, to the full
    name by which it is imported."""
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
    """Return the names of a module's public functions and classes, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = (ast.FunctionDef, ast.ClassDef)
    return [node.name for node in tree.body if isinstance(node, made) and not node.name.startswith("_")]


def members(kind: type) -> list[str]:
    """Return the public methods and properties of a class, including those from base classes that the reference does
    not describe."""
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
    return uses(ROOT)


@cache
def _named() -> dict[str, dict[str, str]]:
    """Return, for each name that texts may use (`compose_rdp`, `conversions.compose_rdp`), the public objects that it
    can mean, as a mapping from definitions to full names."""
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
    """Return the public object that the name `text` means in a docstring of `near`, a module or class. If it can mean
    several, this is the nearest; "" if there is none, or if several are equally near."""
    candidates = _named().get(text.removesuffix("()"), {})

    def shared(path):
        return len(os.path.commonprefix([path.split("."), near.split(".")]))

    if "." not in text:
        candidates = {path: name for path, name in candidates.items() if _within_reach(path, name, near)}
    closest = [path for path in candidates if shared(path) == max(map(shared, candidates))]
    return candidates[closest[0]] if len(closest) == 1 else ""


def _within_reach(path: str, name: str, near: str) -> bool:
    """Return whether a name without dots can mean the object: a method of the class `near`, a name that a subpackage
    exports, or a public name in the same subpackage."""
    if path.count(".") > 3:
        return path.startswith(f"{near}.")
    return name.count(".") == 2 or path.split(".")[1] == near.split(".")[1]


# ---------------------------------------------------------------- texts


@cache
def _cited() -> dict[tuple[str, str], str]:
    """Return a mapping from (surname of the first author, year) to the BibTeX key of each reference."""
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
    """Return prose with links from citations to the references, and from the keys of documents to their summaries."""
    text = AUTHORS.sub(
        lambda found: f":cite:t:`{key}`" if (key := _cited().get((found["first"], found["year"]))) else found[0], text
    )
    for key in claims.load().documents:
        text = re.sub(rf"\b{key}\b", f":doc:`{key} </{key}/summary>`", text)
    return text


def mend(app, what, name, thing, options, lines):
    """Convert a docstring to reStructuredText, and add the pages that use the function or class (a handler of an
    autodoc event)."""
    shown = list(lines)
    arguments = _arguments(thing)
    lines[:] = [IMPORT.sub(r"\1dp_compendium", line) for line in docstrings.rst(shown, arguments, linked)]
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
    """In signatures, replace `lib` before a name by the name of the installed package; links and addresses keep
    `lib`."""
    for place in doctree.findall(addnodes.desc_addname):
        if place.astext().startswith("lib."):
            name = nodes.Text(place.astext().replace("lib.", "dp_compendium.", 1))
            place.clear()
            place += name


class House(SphinxRole):
    """The role for a `name` in a docstring: code, with a link if the name means a public object or a document."""

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
        lines = [*docstrings.rst(inspect.getdoc(package).splitlines(), set(), linked), "", NAME, "", *_face(room)]
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
            lines = docstrings.rst(inspect.getdoc(module).splitlines(), set(), linked)
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
    """Return a list item for each public name of a subpackage: the name, with a link if the reference describes it, and
    its comment."""
    described, lines = set(public().values()), []
    for name, line in face((LIB / room / "__init__.py").read_text(encoding="utf-8")).items():
        shown = f":py:obj:`{name} <lib.{room}.{name}>`" if f"lib.{room}.{name}" in described else f"``{name}``"
        lines.append(f"- {shown}: {docstrings.rst([line], set(), linked)[0]}")
    return lines


def _other_names(module, own) -> list[str]:
    """Return the other names that links from source pages may use for `own`, the functions and classes of a module."""
    room, found = module.__name__.rpartition(".")[0], []
    for (_, name), shown in own:
        thing = getattr(module, name)
        inside = ["", *(f".{member}" for member in members(thing))] if inspect.isclass(thing) else [""]
        other = f"{module.__name__}.{name}" if shown == f"{room}.{name}" else f"{room}.{name}"
        found += [other + member for member in inside if other not in public().values()]
    return found


def directive(thing, shown: str) -> list[str]:
    """Return the autodoc directive for one function or class."""
    if not inspect.isclass(thing):
        return [f".. autofunction:: {shown}", ""]
    listed = ", ".join(members(thing))
    return [f".. autoclass:: {shown}", *([f"   :members: {listed}", "   :undoc-members:"] if listed else []), ""]


# ---------------------------------------------------------------- numbered items


LIST = ROOT / "book/formulas.yml"
NBSP = "\N{NO-BREAK SPACE}"
KINDS = (*numbered.KINDS, "Equation")
NAMED = re.compile(
    rf"\b(?P<kind>{'|'.join(KINDS)}|Prop|Eq)(?:s|\.)?:? (?P<numbers>\(?{numbered.NUMBER}\)?"
    rf"(?:(?:, | and |, and | to |-)\(?{numbered.NUMBER}\)?)*)",
    re.IGNORECASE,
)
ONE = re.compile(rf"(?P<joint>, and |, | and | to |-|)\(?(?P<number>{numbered.NUMBER})\)?")


def items() -> dict[str, dict[str, str]]:
    """Return for each document its numbered items, such as `Theorem 3.1`, each with the reason why no function computes
    it, or ""."""
    found = {}
    for key, kinds in yaml.safe_load(LIST.read_text(encoding="utf-8")).items():
        reasons = kinds.pop("without", {})
        each = [f"{kind} {number}" for kind, numbers in kinds.items() for number in numbers]
        if strange := reasons.keys() - set(each):
            raise ExtensionError(
                f"formulas.yml must give reasons only for numbered items of {key}, got {', '.join(sorted(strange))}"
            )
        found[key] = {name: reasons.get(name, "") for name in each}
    return found


def named(text: str, known) -> list[str]:
    """Return the `known` items that `text` names; `Lemmas 4.2-4.5` names all lemmas from 4.2 to 4.5."""
    found = []
    known = list(known)
    for match in NAMED.finditer(text):
        kind = next(each for each in KINDS if each.lower().startswith(match["kind"].lower()))
        for one in ONE.finditer(match["numbers"]):
            name = f"{kind} {one['number']}"
            if one["joint"] in (" to ", "-") and found and found[-1] in known and name in known:
                found += known[known.index(found[-1]) + 1 : known.index(name)]
            found.append(name)
    return [name for name in dict.fromkeys(found) if name in known]


# ---------------------------------------------------------------- functions


@cache
def functions() -> dict[str, dict[str, list[str]]]:
    """Return for each document and item the public objects whose docstrings or comments name the item. A text outside
    them counts for its module, `lib.room.module`."""
    known = items()
    found: dict[str, dict[str, list[str]]] = {key: {} for key in known}
    for path in sorted(LIB.glob("*/*.py")):
        source = path.read_text(encoding="utf-8")
        module = f"lib.{path.parent.name}.{path.stem}".removesuffix(".__init__")
        own = _document(ast.get_docstring(ast.parse(source)) or "", known)
        for name, text in said(source):
            shown = public().get((module, name), module)  # the module, if the text belongs to no public object
            for key, part in attributed(text, own, known):
                for item in named(part, known[key]):
                    names = found[key].setdefault(item, [])
                    if shown not in names:
                        names.append(shown)
    return found


def _document(text, known) -> str:
    """Return the document that a module's text names, or "" if it names none or several."""
    there = [key for key in known if key in text]
    return there[0] if len(there) == 1 else ""


def said(source: str):
    """Yield (name, text) for each docstring and comment of a module. The name is that of the function or class at the
    top level that contains the text, or ""."""
    tree = ast.parse(source)
    top = [
        (node.lineno, node.end_lineno, node.name)
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and (text := ast.get_docstring(node)):
            yield _within(top, getattr(node, "lineno", 0)), text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield _within(top, token.start[0]), token.string


def _within(top, line) -> str:
    return next((name for start, end, name in top if start <= line <= end), "")


def attributed(text: str, own: str, known):
    """Yield (document, part of `text`) for each part about a document. The start of a sentence is about `own`, and the
    text after a document's key is about that document. The text after another citation is not about any document."""
    marks = "|".join(known)
    for sentence in re.split(r"(?<=[a-z\d)\"])\.\s+(?=[A-Z`\"])|\n\s*\n", text):
        sentence = " ".join(sentence.split())
        for key in known:  # "Algorithm 1 of miura2025"
            sentence = re.sub(rf"({NAMED.pattern}) of {key}\b", rf"{key}, \1", sentence, flags=re.IGNORECASE)
        spoken = own
        groups = re.compile(rf"\b({marks})\b|({AUTHORS.pattern}|the chapter)")
        last = 0
        for match in groups.finditer(sentence):
            if spoken:
                yield spoken, sentence[last : match.start()]
            spoken, last = match[1] or "", match.end()
        if spoken:
            yield spoken, sentence[last:]


def by_item(key: str, standings: list) -> dict[str, list]:
    """Return for each item of a document the records of the claims about it."""
    known = items()[key]
    found: dict[str, list] = {}
    for record in standings:
        if record.document == key:
            for item in named(record.item, known):
                found.setdefault(item, []).append(record)
    return found


def numbered_items(key: str, standings: list) -> str:
    """Return the table of a document's numbered items, as MyST."""
    records, made = by_item(key, standings), functions()[key]
    known = set(public().values())
    rows = []
    for item, reason in items()[key].items():
        own = records.get(item, [])
        names = made.get(item, [])
        names = [name for name in names if name in known] or names  # a module names other uses
        shown = "<br>".join(map(_link, names)) or told(reason)
        if not shown:
            raise ExtensionError(f"formulas.yml must say why no function computes {item} of {key}")
        rows.append(_row(item, shown, own))
    return table([say("Item"), say("Function"), say("Chapter"), say("Verdict")], rows)


def own_theorems(standings: list) -> str:
    """Return the table of our own theorems in the register `THEOREMS`, as MyST."""
    rows, ours = [], [record for record in standings if record.document == claims.OWN.key]
    for theorem in THEOREMS:
        if theorem.source in claims.load().documents:
            continue
        letter = theorem.name.split()[1]
        own = [record for record in ours if letter in record.item.replace(",", "").split()]
        functions = [each for each in (theorem.renyi, theorem.exact) if each]
        rows.append(_row(theorem.name, "<br>".join(_link(public()[_key(each)]) for each in functions), own))
    return table([say("Theorem"), say("Function"), say("Chapter"), say("Verdict")], rows)


def _key(thing) -> tuple[str, str]:
    return thing.__module__, thing.__qualname__


def _row(item: str, shown: str, own: list) -> list[str]:
    """Return a row of a table: an item, its functions `shown`, and the chapters and verdicts of its records `own`."""
    pages = dict.fromkeys(record.notebook.removesuffix(".ipynb") for record in own)
    chapters = "<br>".join(f"{{doc}}`/{each}`" for each in pages) or "–"
    count = Counter(record.verdict for record in own)
    verdicts = say(", ").join(
        retold.counted(number, verdict) if len(own) > 1 else say(verdict) for verdict, number in count.items()
    )
    return [_numbered(item), shown, chapters, verdicts or say("no claim")]


def _numbered(item: str) -> str:
    """Return `Theorem 3.1` in the edition's language, with spaces at which no line breaks."""
    kind, number = item.split(" ")
    kinds = {
        "Theorem": say("Theorem {number}", number=number),
        "Proposition": say("Proposition {number}", number=number),
        "Lemma": say("Lemma {number}", number=number),
        "Definition": say("Definition {number}", number=number),
        "Algorithm": say("Algorithm {number}", number=number),
        "Table": say("Table {number}", number=number),
        "Equation": say("Equation {number}", number=number),
    }
    return kinds[kind].replace(" ", NBSP)


def _link(name: str) -> str:
    parts = name.split(".")
    if name in public().values():
        return f"{{py:obj}}`{parts[-1]} <{name}>`"
    return f"{{ref}}`{'.'.join(parts[1:])} <{name}>`"


class Formulas(Made):
    def run(self):
        found, lines = judged(), []
        for key, document in claims.load().documents.items():
            lines += [
                f"## {retold.headed(document)}",
                "",
                f"[{say('summary')}]({key}/summary.md)",
                "",
                numbered_items(key, found),
                "",
            ]
        lines += [f"## {say('Our own theorems about Gaussian synthesis')}", "", own_theorems(found), ""]
        files = (LIST, GATHERED, FULL, *LIB.rglob("*.py"))
        return self.made("\n".join(lines), *files, allow_section_headings=True)


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.viewcode")
    app.config.autodoc_preserve_defaults = True
    app.config.autodoc_typehints_format = "short"
    app.config.autodoc_type_aliases = {name: name for name in ("ArrayLike", "NDArray")}  # in their written form
    app.config.toc_object_entries_show_parents = "hide"
    app.config.nitpick_ignore_regex = [*app.config.nitpick_ignore_regex, (r"py:.*", FOREIGN)]
    app.add_directive("library", Library)
    app.add_directive("reference", Reference)
    app.add_directive("formulas", Formulas)
    app.add_role("house", House())
    app.connect("autodoc-process-docstring", mend)
    app.connect("doctree-read", rename)
    app.connect("doctree-read", docstrings.typeset_page)
