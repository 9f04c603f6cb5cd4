"""Content keys: a hash of a piece of code, of everything that it imports from this repository, and of the files that it names.

What was computed is up to date as long as the key of the code that computed it is the same. Nothing is listed by hand:
imports are read from the code (a function's own too), followed through the faces of packages, and a text in the code
counts as the name of a file where there is such a file: below the root, in a package that is imported, or beside the
code, where it may be a folder's name as well. Comments, docstrings and blank lines do not count.

A name that is put together when the code runs is not seen here: tests hold the files that notebooks and studies really
open against their `closure`.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class _Unit(NamedTuple):
    """What one file of code says: its meaning as text, the modules that it imports, and the texts that may name files."""

    meaning: str
    imports: tuple[str, ...]
    texts: tuple[str, ...]


def key(*starts, root: Path = ROOT) -> str:
    """SHA-256, in hexadecimal, of the `closure` of `starts`: each file's name below `root`, and what it holds."""
    digest = hashlib.sha256()
    for path in sorted(closure(*starts, root=root)):
        held = _unit(path, root).meaning.encode() if _is_code(path) else path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(held)}\0".encode() + held)
    return digest.hexdigest()


def closure(*starts, root: Path = ROOT) -> set[Path]:
    """The files below `root` that `starts`, paths of modules (.py), notebooks (.ipynb) or data, depend on; themselves too.

    Raises ``FileNotFoundError`` for a start that is not there, ``SyntaxError`` for code that is none.
    """
    found: set[Path] = set()
    left = [Path(root, start) for start in starts]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(path, root) if _is_code(path) else []
    packages = {path.parent for path in found if path.name == "__init__.py"}
    code = [path for path in found if _is_code(path)]
    return found | {named for path in code for named in _named(path, packages, root)}


def _is_code(path: Path) -> bool:
    return path.suffix in (".py", ".ipynb")


def _imported(path: Path, root: Path) -> Iterator[Path]:
    """The modules below `root` that run when `path` is imported or run: those it names, and the packages around them."""
    around = [path.relative_to(root).with_suffix("").as_posix().replace("/", ".")] if path.suffix == ".py" else []
    for name in (*_unit(path, root).imports, *around):
        place = root
        for part in name.split("."):
            file, place = place / f"{part}.py", place / part
            yield from (each for each in (file, place / "__init__.py") if _exists(each))


@cache
def _exists(path: Path) -> bool:
    return path.is_file()


def _named(path: Path, packages: set[Path], root: Path) -> Iterator[Path]:
    """The data files that a text in the code of `path` names."""
    folders = _data_below(root)
    for text in _unit(path, root).texts:
        beside = path.parent / text
        yield from (
            (file for folder, files in folders.items() if folder.is_relative_to(beside) for file in files)
            if beside in folders
            else ()
        )
        for place in (beside, root / text, *(package / text for package in packages)) if "." in text else ():
            if place in folders.get(place.parent, ()):
                yield place


@cache
def _data_below(root: Path) -> dict[Path, set[Path]]:
    """The folders below `root` with their files that are no code."""
    found: dict[Path, set[Path]] = {}
    for name, folders, files in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in ("__pycache__", "build")]
        found[Path(name)] = {path for path in map(Path(name).joinpath, files) if not _is_code(path)}
    return found


@cache
def _unit(path: Path, root: Path) -> _Unit:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return _Unit(_meaning(source), *_read(ast.parse(source), _package(path, root)))
    cells = json.loads(source)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # What starts with % or ! is for IPython.
    plain = "\n".join(line for each in code for line in each.splitlines() if not line.startswith(("%", "!")))
    meaning = json.dumps([(cell["cell_type"], "".join(cell["source"])) for cell in cells])
    return _Unit(meaning, *_read(ast.parse(plain), ()))


def _package(path: Path, root: Path) -> tuple[str, ...]:
    return path.parent.relative_to(root).parts


def _read(tree: ast.Module, package: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules, or names in them, that the code of a module in `package` imports; and its short texts."""
    imports: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            start = ".".join([*above, *([node.module] if node.module else [])])
            imports |= {f"{start}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _may_name_a_file(node.value):
            texts.add(node.value)
    return tuple(sorted(imports)), tuple(sorted(texts))


def _may_name_a_file(text: str) -> bool:
    return 0 < len(text) < 100 and text.isprintable() and ".." not in text and text[0] not in "./" and " " not in text


def _meaning(source: str) -> str:
    """`source` without comments, docstrings, blank lines and white space at the ends of lines."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            text = node.body[0]
            lines[text.lineno - 1 : text.end_lineno] = [""] * (text.end_lineno - text.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())
