"""Content keys: hashes of a piece of code, together with every definition in this repository that the code uses and the
files that it names.

A computed result is up to date as long as the key of the code that computed it is unchanged. Nothing is listed by hand.
The notebook or module at which the search starts counts in full. Each name in it is followed to the statement that
defines the name, in the same module or through imports, `__init__` files of subpackages and `module.name`. The names in
that statement are followed in the same way. A module that is used in another way (as an argument, with `import *`, for
a name that it does not define) counts in full. The code that an imported module runs at import also counts: statements
that are not definitions, definitions that call code of the repository or are decorated with it, and `__getattr__`. A
string literal counts as a dependency if it matches an existing module, the end of a data path, a data folder beside the
code, or the path of a code file. The code file then counts in full.

Comments, docstrings, blank lines and the outputs of notebooks do not count. Nor do the modules from which names come.
So a key does not change if a definition moves to another module or if a subpackage exports another name, and it is the
same for Python 3.11, 3.12 and 3.13.

Names that are composed at run time are not found. Tests compare the files that executed notebooks opened, and the
functions that ran, with the files and definitions that count. A process reads each file only once, just as it imports
each module only once.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SCORECARD = "book/scorecard.md"  # written by the build, from what has keys: no key depends on it

_STRING_OR_LINE_END = re.compile(
    r"""('''(?:\\.|[^\\])*?'''|\"""(?:\\.|[^\\])*?\"""|'(?:\\.|[^\\'])*'|"(?:\\.|[^\\"])*")"""
    r"""|(?:[ \t\f]*(?:\#[^\n]*)?\n)+""",
    re.DOTALL,
)
_MODULE = re.compile(r"\w+(?:\.\w+)+")
IN_WORDS = re.compile(r"(?m)^#.*\n|^  (?:statement|rule):.*\n(?:    .*\n)*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)

_Node = tuple[str, int]  # a file, and the number of a statement in it or one of the three below; 0 for a data file
_IMPORTED, _ALL, _WHOLE = (
    -1,
    -2,
    -3,
)  # the code that runs when a module is imported; all its statements; all its statements and imports


class _Statement(NamedTuple):
    """One statement of a module, or the code of a notebook: a hash of its meaning, and the names in it."""

    name: str
    meaning: str
    runs: bool  # at an import, whether what it defines is used or not
    uses: tuple[str, ...]  # with dots
    calls: tuple[str, ...]  # those of `uses` that the statement calls when it runs, or is decorated with
    imports: tuple[tuple[str, str], ...]  # in the form of `_imported`
    texts: tuple[str, ...]
    silent: str  # the hash of its meaning without the texts of errors


class _Module(NamedTuple):
    statements: tuple[_Statement, ...]
    binds: dict[str, list[int]]  # by name, the statements that define it
    imports: dict[str, list[str]]  # by name, what imports bind it to
    imported: tuple[str, ...] = ()  # what is imported with the module, except imports for type checkers only
    command: tuple[int, ...] = ()  # statements that run only if it is the command


def key(*starts: str | Path, root: Path = ROOT, without: Iterable[str | Path] = ()) -> str:
    """Return the SHA-256, in hexadecimal, of everything on which `starts` depend (see `closure`). The key does not
    depend on the folder in which the repository is.

    >>> from book.kept import content_key
    >>> print(len(content_key.key("lib/numerics/in_order.py")))
    64
    """
    found = _found(starts, root, without)
    return _hash(*sorted(_linked(node, found, str(root)) for node in found if node[1] >= 0))


def definitions(
    *starts: str | Path, root: Path = ROOT, without: Iterable[str | Path] = (), as_commands: bool = False
) -> dict[str, str]:
    """Return a mapping from short hashes to names, for the definitions, files and notebooks' code that `key` covers.

    These hashes ignore the texts of errors and the statements and rules of the ledger, because no result depends on
    them.

    as_commands : whether only the code that runs as a command counts for a module with ``if __name__ == "__main__"``

    >>> from book.kept import content_key
    >>> print(*sorted(content_key.definitions("lib/numerics/in_order.py").values()))
    lib total
    """
    said = [_named(node, str(root), silent=True) for node in _found(starts, root, without, as_commands) if node[1] >= 0]
    return {meaning[:8]: name for name, meaning in sorted(said) if name}


def closure(*starts: str | Path, root: Path = ROOT, without: Iterable[str | Path] = ()) -> set[Path]:
    """Return the files below `root` that `starts` need, including themselves; `starts` are paths of modules (.py),
    notebooks (.ipynb) or data.

    without : paths of files or folders that are left out, together with everything that only they need

    Raises ``FileNotFoundError`` for a missing start, ``SyntaxError`` for invalid code.

    >>> from book.kept import content_key
    >>> print(sorted(path.name for path in content_key.closure("lib/numerics/in_order.py")))
    ['__init__.py', '__init__.py', 'in_order.py']
    """
    return {Path(path) for path, _ in _found(starts, root, without)}


def _found(
    starts: Iterable[str | Path], root: Path, without: Iterable[str | Path], as_commands: bool = False
) -> set[_Node]:
    """Return the nodes that `starts` lead to."""
    top, spared = str(root), tuple(os.path.join(root, each) for each in without)

    @cache
    def counts(path: str) -> bool:
        return not any(path == each or path.startswith(each + os.sep) for each in spared)

    found: set[_Node] = set()
    left: list[_Node] = []
    for path in (os.path.join(root, start) for start in starts):
        command = _module(path, top).command if as_commands and _is_code(path) else ()
        left += [(path, number) for number in command] or [(path, _ALL if _is_code(path) else 0)]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            if _is_code(node[0]):
                left += [each for each in _next(node, top) if counts(each[0])]
    named = {file for node in found if node[1] >= 0 and _is_code(node[0]) for file in _data(node, top)}
    return found | {(file, 0) for file in named if counts(file)}


def _is_code(path: str) -> bool:
    return path.endswith((".py", ".ipynb"))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _named(node: _Node, root: str, silent: bool = False) -> tuple[str, str]:
    """Return the name of a definition or data file, and the hash of its content. If `silent`, the hash ignores the
    texts of errors."""
    path, number = node
    if not _is_code(path):
        return os.path.basename(path), _unsaid(path) if silent else content(path)
    statement = _module(path, root).statements[number]
    return statement.name, statement.silent if silent else statement.meaning


@cache
def content(path: str) -> str:
    """Return the SHA-256 of the file at `path`, in hexadecimal."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@cache
def _unsaid(path: str) -> str:
    """Return the hash of the file at `path`; for the ledger, the hash ignores comments, statements and rules in
    words."""
    if not path.endswith("book/claims.yml"):
        return content(path)
    return _hash(IN_WORDS.sub("", Path(path).read_text(encoding="utf-8")))


def _linked(node: _Node, found: set[_Node], root: str) -> str:
    """Return a hash of a definition's content and of the definitions in `found` to which its names refer. For a data
    file, return its name and hash."""
    if not _is_code(node[0]):
        return " ".join(_named(node, root))
    said = [_named(node, root)[1]]
    for name, to in _links(node, root):
        if isinstance(to, str):
            said.append(f"{name} {to}")
        elif to in found and to[1] >= 0:
            said.append(f"{name} {_named(to, root)[1]}")
    return _hash(*said)


# ---- what depends on what


@cache
def _next(node: _Node, root: str) -> tuple[_Node, ...]:
    """Return the nodes on which `node` depends directly."""
    path, number = node
    module = _module(path, root)
    if number == _IMPORTED:
        imported = [file for said in module.imported for file in _modules(said, root)]
        starred = [to for said in module.imports.get("*", ()) for to in _behind(said, root)]
        runs = [(path, each) for each in range(len(module.statements)) if _runs((path, each), root)]
        around = _modules(_dotted_path(path, root), root) if path.endswith(".py") else ()
        return (*around, *imported, *starred, *runs)
    if number < 0:
        names = chain(*module.imports.values()) if number == _WHOLE else ()
        inside = [(path, each) for each in range(len(module.statements))]
        return ((path, _IMPORTED), *inside, *(to for said in names for to in _behind(said, root)))
    statement = module.statements[number]
    started = [
        os.path.join(place, text)
        for text in statement.texts
        if _is_code(text)
        for place in (os.path.dirname(path), root)
    ]
    modules = [to for text in statement.texts if _MODULE.fullmatch(text) for to in _behind(text, root)]
    imported = [file for _, said in statement.imports for file in _modules(said, root)]
    links = [to for _, to in _links(node, root) if not isinstance(to, str)]
    return ((path, _IMPORTED), *links, *modules, *imported, *((file, _ALL) for file in started if _is_file(file)))


def _runs(node: _Node, root: str) -> bool:
    """Return whether a statement counts when its module is imported: if it is not a definition, or calls code of the
    repository."""
    statement = _module(node[0], root).statements[node[1]]
    called = (to for name in statement.calls for to in _meant(name, node, root))
    return statement.runs or not all(isinstance(to, str) for to in called)


@cache
def _links(node: _Node, root: str) -> tuple[tuple[str, _Node | str], ...]:
    """Return pairs of a name in a statement and what it refers to: a definition, a module, or a name outside the
    repository."""
    statement = _module(node[0], root).statements[node[1]]
    return tuple((name, to) for name in statement.uses for to in _meant(name, node, root) if to != node)


def _meant(name: str, node: _Node, root: str) -> list[_Node | str]:
    path, number = node
    module = _module(path, root)
    first, _, rest = name.partition(".")
    inside = [said for own, said in module.statements[number].imports if own == first]
    found: list[_Node | str] = [(path, each) for each in module.binds.get(first, ())]
    for said in dict.fromkeys([*module.imports.get(first, ()), *inside]):
        found += _behind(_further(said, rest), root) or [said]
    return found


def _further(said: str, names: str) -> str:
    return f"{said}{'.' if ':' in said else ':'}{names}" if names else said


@cache
def _behind(said: str, root: str) -> tuple[_Node, ...]:
    """Return the nodes to which "module:name.in.it" or the name of a module refers; none for a package outside the
    repository."""
    module, _, inside = said.partition(":")
    parts, names = module.split("."), inside.split(".") if inside else []
    for count in range(len(parts), 0, -1):
        if file := _file(os.path.join(root, *parts[:count])):
            return _in(file, [*parts[count:], *names], root)
    return _behind(_further(f"{module}.{names[0]}", ".".join(names[1:])), root) if names else ()


def _in(file: str, names: list[str], root: str) -> tuple[_Node, ...]:
    """Return the nodes to which `names`, the parts of a dotted name, refer in the module at `file`. The first part is
    defined there or, if the file is an `__init__`, is a module of the package."""
    if not names:
        return ((file, _WHOLE),)
    module, (name, *rest) = _module(file, root), names
    bound = [said for said in module.imports.get(name, ()) if said != f"{_dotted_path(file, root)}:{name}"]
    if name in module.binds or bound:
        numbers = module.binds.get(name, ())
        further = [to for said in bound for to in _behind(_further(said, ".".join(rest)), root)]
        return ((file, _IMPORTED), *((file, number) for number in numbers), *further)
    inner = _file(os.path.join(os.path.dirname(file), name)) if file.endswith("__init__.py") else None
    return _in(inner, rest, root) if inner else ((file, _WHOLE),)


@cache
def _modules(said: str, root: str) -> tuple[_Node, ...]:
    """Return the modules that run when `said` is imported: its own module and the packages that contain it."""
    parts = said.replace(":", ".").split(".")
    files = [_file(os.path.join(root, *parts[:count])) for count in range(1, len(parts) + 1)]
    return tuple((file, _IMPORTED) for file in files if file)


@cache
def _file(place: str) -> str | None:
    """Return the file of the module, or package, at `place`."""
    return next(filter(_is_file, (f"{place}.py", os.path.join(place, "__init__.py"))), None)


@cache
def _is_file(path: str) -> bool:
    return os.path.isfile(path)


def _dotted_path(path: str, root: str) -> str:
    """Return the dotted name of the module at `path`; for a package, this is the name of its folder."""
    return os.path.relpath(path, root).removesuffix(".py").removesuffix(f"{os.sep}__init__").replace(os.sep, ".")


# ---- the data files that are named


@cache
def _data(node: _Node, root: str) -> tuple[str, ...]:
    """Return the data files whose paths end with a string in a statement, and those in a folder beside the code that a
    string names."""
    path, number = node
    folders, named = _data_below(root), _data_by_name(root)
    found = []
    for text in _module(path, root).statements[number].texts:
        found += [file for file in named.get(os.path.basename(text), ()) if file.endswith(f"/{text}")]
        place = os.path.join(os.path.dirname(path), text)
        if place in folders:
            found += [file for folder in folders if f"{folder}/".startswith(f"{place}/") for file in folders[folder]]
    return tuple(found)


@cache
def _data_by_name(root: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in chain(*_data_below(root).values()):
        found.setdefault(os.path.basename(file), []).append(file)
    return found


@cache
def _data_below(root: str) -> dict[str, set[str]]:
    """Return the folders below `root`, each with its files that are neither code nor written by the build."""
    found: dict[str, set[str]] = {}
    written = os.path.join(root, SCORECARD)
    for name, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("__pycache__", "build")]
        # A link may be broken.
        paths = {os.path.join(name, file) for file in files} - {written}
        found[name] = {path for path in paths if not _is_code(path) and os.path.isfile(path)}
    return found


# ---- what a file of code says


@cache
def _module(path: str, root: str) -> _Module:
    """Return the statements of the module or notebook at `path`, and what its names and imports refer to."""
    source, name = Path(path).read_text(encoding="utf-8"), os.path.basename(path)
    if path.endswith(".ipynb"):
        code, shown = _notebook(source, path)
        everything = _walk(_parsed(code, path))
        made = _statement(name, _meaning(code, _places(code), everything), everything)
        return _Module((made, _statement("", (_hash(shown),) * 2)), {}, {})
    place = _places(source)
    package, own = (
        os.path.relpath(os.path.dirname(path), root).replace(os.sep, "."),
        _dotted_path(path, root).rpartition(".")[2],
    )
    statements: list[_Statement] = []
    binds: dict[str, list[int]] = {}
    imports: dict[str, list[str]] = {}
    imported: list[str] = []
    command: list[int] = []
    for node in _parsed(source, path).body:
        outside = _walk(node, (*_FUNCTIONS, ast.ClassDef))
        bound = [pair for part in outside for pair in _imported(part, package)]
        for name, said in bound:
            imports.setdefault(name, []).append(said)
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in _dotted(_walk(node.test))):
            imported += [said for _, said in bound]
        if isinstance(node, _IMPORTS) or _is_text(node):
            continue
        main = isinstance(node, ast.If) and "__name__" in _dotted(_walk(node.test))
        command += [len(statements)] * main
        defined = list(dict.fromkeys([*chain(*map(_defined, outside)), *(name for name, _ in bound)]))
        for name in defined:
            binds.setdefault(name, []).append(len(statements))
        asked = "__getattr__" in defined  # by Python itself, for a name that is not there
        runs, everything = not main and (asked or not _is_definition(node)), _walk(node)
        label = own if runs or not defined else defined[0]
        statements.append(_statement(label, _meaning(source, place, everything), everything, package, runs))
    return _Module(tuple(statements), binds, imports, tuple(imported), tuple(command))


def _parsed(source: str, path: str) -> ast.Module:
    return ast.parse(source, filename=path)


def _notebook(source: str, path: str) -> tuple[str, str]:
    """Return the Python code of a notebook, and its content without outputs."""
    try:
        notebook = json.loads(source)
        cells = notebook["cells"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} is not a notebook: {error!r}") from None
    cells = [cell | {"source": "".join(cell["source"])} for cell in cells]
    said = [{name: part for name, part in cell.items() if name not in ("outputs", "execution_count")} for cell in cells]
    # Lines that start with % or ! are for IPython, as are cells that start with %%.
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code" and not cell["source"].startswith("%%")]
    lines = [line for source in code for line in source.split("\n")]
    plain = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
    return plain, json.dumps([said, notebook["metadata"].get("mystnb")], sort_keys=True)


def _statement(
    name: str, meanings: tuple[str, str], everything: Sequence[Any] = (), package: str = "", runs: bool = False
) -> _Statement:
    """Return the statement for the first node of `everything`, which contains the others."""
    called = [each for node in everything[:1] for part in _walk(node, _FUNCTIONS) for each in _called(part)]
    texts = {part.value for part in everything if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return _Statement(
        name,
        meanings[0],
        runs,
        uses=tuple(sorted(_dotted(everything))),
        calls=tuple(sorted(_dotted(called))),
        imports=tuple(pair for part in everything for pair in _imported(part, package)),
        texts=tuple(sorted(filter(_may_be_a_name, texts))),
        silent=meanings[1],
    )


def _may_be_a_name(text: str) -> bool:
    return 0 < len(text) < 100 and " " not in text and text[0] not in "./" and ".." not in text and text.isprintable()


def _walk(node: Any, closed: tuple[type, ...] = ()) -> list[Any]:
    """Return `node` and all nodes in it, outer ones first, except annotations and the bodies of nodes of the types
    `closed`."""
    found = [node]
    for each in found:  # which grows during the loop
        for field in each._fields:
            if field not in ("ctx", "annotation", "returns") and not (field == "body" and isinstance(each, closed)):
                value = getattr(each, field, None)
                if isinstance(value, list):
                    found += [part for part in value if isinstance(part, ast.AST)]
                elif isinstance(value, ast.AST):
                    found.append(value)
    return found


def _dotted(nodes: Iterable[Any]) -> set[str]:
    """Return the names that `nodes` read, each joined with the attributes that follow it, as in `module.name`."""
    nodes = list(nodes)
    found, inside = set(), set()
    stored = {node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    stored -= {node.target for node in nodes if isinstance(node, ast.AugAssign)}  # which is also read
    for node in nodes:
        attributes: list[str] = []
        while isinstance(node, ast.Attribute) and node not in inside:
            inside.add(node)
            attributes.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node not in inside | stored:
            inside.add(node)
            found.add(".".join([node.id, *attributes]))
    return found


def _called(node: Any) -> list[Any]:
    """Return what `node` calls, or its decorators."""
    return [node.func] if isinstance(node, ast.Call) else getattr(node, "decorator_list", [])


def _defined(node: Any) -> list[str]:
    """Return a list with the name that `node` binds, or [] if it binds none."""
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


def _imported(node: Any, package: str) -> list[tuple[str, str]]:
    """Return pairs for an import in `package`: a name that it binds ("" for none, "*" for all), and its target,
    "module" or "module:name"."""
    if isinstance(node, ast.Import):
        plain = [alias.name for alias in node.names if not alias.asname]
        firsts = [(name.split(".")[0], name.split(".")[0]) for name in plain]
        return [
            *firsts,
            *(("", name) for name in plain),
            *((alias.asname, alias.name) for alias in node.names if alias.asname),
        ]
    if isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        module = ".".join([*above, *filter(None, [node.module])])
        return [
            (alias.asname or alias.name, module if alias.name == "*" else f"{module}:{alias.name}")
            for alias in node.names
        ]
    return []


def _is_definition(node: ast.stmt) -> bool:
    """Return whether `node` only binds names: a definition, an assignment to names, or imports under a condition."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return not any(isinstance(part, (ast.Attribute, ast.Subscript)) for each in targets for part in _walk(each))
    inner = [part for part in _walk(node) if isinstance(part, ast.stmt) and not hasattr(part, "body")]
    return isinstance(node, _DEFINITIONS) or all(isinstance(part, (*_IMPORTS, ast.Pass)) for part in inner)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _places(source: str) -> Callable[[int, int], int]:
    """Return a function that converts a line and a column of the syntax tree to the position in `source`."""
    lines = source.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return lambda line, column: starts[line - 1] + len(lines[line - 1].encode()[:column].decode())


def _meaning(source: str, place: Callable[[int, int], int], everything: list[Any]) -> tuple[str, str]:
    """Return two hashes of the first node in `everything`, which ignore docstrings, imports, comments, blank lines and
    trailing white space.

    The second hash also ignores the arguments of the errors that are raised.
    """
    node = everything[0]
    cut = [part for part in everything if isinstance(part, _IMPORTS)]
    cut += [part.body[0] for part in everything if isinstance(part, _DEFINITIONS) and _is_text(part.body[0])]
    raised = [part.exc for part in everything if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call)]
    start, end = 0, len(source)
    if not isinstance(node, ast.Module):
        first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
        start, end = (
            place(first, node.col_offset if first == node.lineno else 0),
            place(node.end_lineno, node.end_col_offset),
        )

    def span(part: Any) -> tuple[int, int]:
        return place(part.lineno, part.col_offset), place(part.end_lineno, part.end_col_offset)

    def hashed(*cut: tuple[int, int]) -> str:
        edges = [start, *chain(*sorted(cut)), end]
        kept = "".join(source[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        return _hash(_STRING_OR_LINE_END.sub(lambda found: found[1] or "\n", kept + "\n").strip("\n"))

    silent = [span(part) for part in cut]
    arguments = [(span(call.func)[1] + 1, span(call)[1] - 1) for call in raised]  # however many lines they take
    return hashed(*silent), hashed(*silent, *arguments)
