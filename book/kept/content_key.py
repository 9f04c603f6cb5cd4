"""Content keys: a hash of a piece of code, of everything that it imports from this repository, and of the files that it names.

What was computed is up to date as long as the key of the code that computed it is the same. Nothing is listed by hand:
imports are read from the code (a function's own too), followed through the faces of packages. A text in the code counts
as the name of a module or a file where there is such a one: a file below the root, in a package that is imported, or
beside the code, where it may be a folder's name as well; a file of code is followed like an import. Comments, docstrings and blank lines do not count, nor do
outputs in notebooks; any other difference does, between Python 3.11, 3.12 and 3.13 none.

A name that is put together when the code runs is not seen here: a test holds the files that executed notebooks really
opened against their `closure`. What a process has read of a file it does not read again, as it does not import again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_STRING_OR_LINE_END = re.compile(
    r"""('''(?:\\.|[^\\])*?'''|\"""(?:\\.|[^\\])*?\"""|'(?:\\.|[^\\'])*'|"(?:\\.|[^\\"])*")"""
    r"""|(?:[ \t\f]*(?:\#[^\n]*)?\n)+""",
    re.DOTALL,
)
_MODULE = re.compile(r"\w+(?:\.\w+)+")


class _Unit(NamedTuple):
    """What one file of code says: a hash of its meaning, the modules that it imports, and the texts that may name files."""

    meaning: bytes
    imports: tuple[str, ...]
    texts: tuple[str, ...]


def key(*starts: str | Path, root: Path = ROOT, without: Iterable[str | Path] = ()) -> str:
    """SHA-256, in hexadecimal, of the `closure` of `starts`: each file's name below `root`, and what it holds.

    >>> from pathlib import Path
    >>> from book.kept import content_key
    >>> from lib.numerics import in_order
    >>> folder = Path(in_order.__file__).parent
    >>> print(len(content_key.key("in_order.py", root=folder)))
    64
    """
    digest = hashlib.sha256()
    for path in sorted(closure(*starts, root=root, without=without)):
        digest.update(f"{os.path.relpath(path, root)}\0".encode() + _held(path))
    return digest.hexdigest()


def closure(*starts: str | Path, root: Path = ROOT, without: Iterable[str | Path] = ()) -> set[Path]:
    """The files that `starts`, paths of modules (.py), notebooks (.ipynb) or data, depend on below `root`; themselves too.

    without : paths of files, or of folders with all that they hold, that are left out, with what only they lead to

    Raises ``FileNotFoundError`` for a start that is not there, ``SyntaxError`` for code that is none.

    >>> from pathlib import Path
    >>> from book.kept import content_key
    >>> from lib.numerics import in_order
    >>> folder = Path(in_order.__file__).parent
    >>> print([path.name for path in content_key.closure("in_order.py", root=folder)])
    ['in_order.py']
    """
    root = Path(root)
    spared = {Path(root, each) for each in without}
    found: set[Path] = set()
    left = [Path(root, start) for start in starts]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _spare(_imported(path, root), spared) if _is_code(path) else ()
    packages = {path.parent for path in found if path.name == "__init__.py"}
    named = {file for path in found if _is_code(path) for file in _named(path, packages, root)}
    return found.union(_spare(named, spared))


def _spare(files: Iterable[Path], spared: set[Path]) -> list[Path]:
    """`files` without those that are `spared`, or in a folder that is."""
    return [file for file in files if not (spared and spared & {file, *file.parents})]


def _is_code(path: Path) -> bool:
    return path.suffix in (".py", ".ipynb")


@cache
def _held(path: Path) -> bytes:
    return _unit(path).meaning if _is_code(path) else hashlib.sha256(path.read_bytes()).digest()


# ---- what a file of code depends on


@cache
def _imported(path: Path, root: Path) -> tuple[Path, ...]:
    """The code below `root` that may run when `path` is imported or run: the modules and files of code that it names."""
    unit = _unit(path)
    here = path.relative_to(root).with_suffix("").parts if path.suffix == ".py" and path.is_relative_to(root) else ()
    names = {
        ".".join(here),
        *(_absolute(name, here[:-1]) for name in unit.imports),
        *filter(_MODULE.fullmatch, unit.texts),
    }
    started = [place / text for text in unit.texts if _is_code(Path(text)) for place in (path.parent, root)]
    files = [*(file for name in sorted(names) for file in _modules(name, root)), *filter(Path.is_file, started)]
    return tuple(dict.fromkeys(files))


def _absolute(name: str, package: tuple[str, ...]) -> str:
    """The module that `name`, with a dot for each level as in an import, is in `package`."""
    level = len(name) - len(name.lstrip("."))
    return ".".join([*package[: len(package) + 1 - level], name[level:]]) if level else name


@cache
def _modules(name: str, root: Path) -> tuple[Path, ...]:
    """The files of the module `name` and of the packages around it."""
    place, found = root, []
    for part in name.split("."):
        file, place = place / f"{part}.py", place / part
        found += [each for each in (file, place / "__init__.py") if each.is_file()]
    return tuple(found)


def _named(path: Path, packages: set[Path], root: Path) -> Iterator[Path]:
    """The data files that a text in the code of `path` names."""
    beside, places = _may_be_named(path, root)
    yield from beside
    folders = _data_below(root)
    for text in places:
        for file in (path.parent / text, root / text, *(package / text for package in packages)):
            if file in folders.get(file.parent, ()):
                yield file


@cache
def _may_be_named(path: Path, root: Path) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The data in folders beside `path` that a text in it names, and the texts that end in the name of some data file."""
    folders, texts = _data_below(root), _unit(path).texts
    known = {file.name for files in folders.values() for file in files}
    chosen = [path.parent / text for text in texts if path.parent / text in folders]
    held = [file for folder, files in folders.items() if any(map(folder.is_relative_to, chosen)) for file in files]
    return tuple(held), tuple(text for text in texts if text.rpartition("/")[2] in known)


@cache
def _data_below(root: Path) -> dict[Path, set[Path]]:
    """The folders below `root` with their files that are no code."""
    found: dict[Path, set[Path]] = {}
    for name, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("__pycache__", "build")]
        # A link may lead to what is gone.
        found[Path(name)] = {path for path in map(Path(name).joinpath, files) if not _is_code(path) and path.is_file()}
    return found


# ---- what a file of code says


@cache
def _unit(path: Path) -> _Unit:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tree = _parsed(source, path)
        return _Unit(hashlib.sha256(_meaning(source, tree).encode()).digest(), *_read(tree))
    try:
        notebook = json.loads(source)
        cells = notebook["cells"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} is no notebook: {error!r}") from None
    cells = [cell | {"source": "".join(cell["source"])} for cell in cells]
    said = [{name: part for name, part in cell.items() if name not in ("outputs", "execution_count")} for cell in cells]
    shown = json.dumps([said, notebook["metadata"].get("mystnb")], sort_keys=True)
    # What starts with % or ! is for IPython, and so is a cell that starts with %%.
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code" and not cell["source"].startswith("%%")]
    lines = [line for source in code for line in source.split("\n")]
    plain = "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
    return _Unit(hashlib.sha256(shown.encode()).digest(), *_read(_parsed(plain, path)))


def _parsed(source: str, path: Path) -> ast.Module:
    return ast.parse(source, filename=str(path))


def _read(tree: ast.Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules, or names in them, that are imported, relative ones with their dots; and the short texts."""
    imports: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and _may_be_a_name(node.value):
                texts.add(node.value)
        elif isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (f"{node.module}." if node.module else "")
            imports |= {f"{start}{alias.name}" for alias in node.names}
    return tuple(sorted(imports)), tuple(sorted(texts))


def _may_be_a_name(text: str) -> bool:
    return 0 < len(text) < 100 and " " not in text and text[0] not in "./" and ".." not in text and text.isprintable()


def _meaning(source: str, tree: ast.Module) -> str:
    """`source` without docstrings, and between its strings without comments, blank lines and white space at the ends of lines."""
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def place(line: int | None, column: int | None) -> int:
        """Where in `source` the byte `column` of `line` is, both as the tree has them."""
        at = (line or 1) - 1
        return starts[at] + len(lines[at].encode()[:column].decode())

    docstrings = sorted(
        (place(text.lineno, text.col_offset), place(text.end_lineno, text.end_col_offset)) for text in _docstrings(tree)
    )
    edges = [0, *(edge for pair in docstrings for edge in pair), len(source)]
    kept = "".join(source[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return _STRING_OR_LINE_END.sub(lambda found: found[1] or "\n", kept + "\n").strip("\n")


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    left: list[ast.stmt | ast.Module] = [tree]
    while left:
        node = left.pop()
        body = getattr(node, "body", [])
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
            first = body[0].value if isinstance(body[0], ast.Expr) else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, part, ())
