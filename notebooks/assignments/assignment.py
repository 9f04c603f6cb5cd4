"""An assignment: its source notebook, the constants of a variant, the version for students.

A source notebook is `notebooks/assignments/<name>/<name>.ipynb`, written for nbgrader. Every cell that
is graded, locked or to be filled in has a `grade_id`, which is also its cell id:

- locked code cells: the parameters, the imports, everything that is given;
- solution cells: code between ``### BEGIN SOLUTION`` and ``### END SOLUTION`` is for the instructor only;
- test cells: points, and asserts, some between ``### BEGIN HIDDEN TESTS`` and ``### END HIDDEN TESTS``;
- answers: free text with points, marked by hand; the source contains a model answer and the rubric.

A cell tagged `instructor` runs when the assignment is made. With their notebook, students get the printed output of
this cell, as text, and the files that it writes. The cell may use all of `lib`. Students get only the parts of `lib`
that their own cells need (`shipped`).

The cell tagged `parameters` declares the constants of a variant, with the range that each is drawn from:

    epsilon: float = 0.8  # [0.5, 1.5]: the privacy parameter
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import hashlib
import io
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from notebooks.assignments import shipped
from notebooks.tools import run

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
DEFAULT = "default"
STUB = "YOUR ANSWER HERE"


def names() -> list[str]:
    """Return the names of all assignments."""
    return sorted(path.stem for path in FOLDER.glob("*/*.ipynb") if path.stem == path.parent.name)


def source(name: str) -> Path:
    return FOLDER / name / f"{name}.ipynb"


# ---- variants


def constants(name: str, variant: str = DEFAULT) -> dict:
    """Return the parameters of assignment `name`: as written for the `variant` "default", and otherwise pseudorandom
    values that `name` and `variant` determine."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", variant):
        raise ValueError(f"variant must be at most 40 letters, digits, - and _, got {variant!r}")
    known = run.parameters(source(name))
    if variant == DEFAULT:
        return {parameter.name: parameter.default for parameter in known.values()}
    drawn = {parameter.name: _drawn(parameter, f"{variant}/{name}/{parameter.name}") for parameter in known.values()}
    return run.accept(source(name), drawn)


def _drawn(parameter, label: str):
    """Return a value of the declared range, which is the same whenever the `label` is the same; floats have two
    digits."""
    share = int.from_bytes(hashlib.sha256(label.encode()).digest()[:7]) / 2**56
    if parameter.options:
        return parameter.options[int(share * len(parameter.options))]
    ends = re.fullmatch(r"\[([^,]+),([^,]+)\]", parameter.interval)
    if parameter.many or ends is None:
        raise ValueError(f"{parameter.name} must have a closed range [low, high] or a list of options to draw from")
    low, high = float(ends[1]), float(ends[2])
    if parameter.kind is int:
        return int(low + share * (high - low + 1))
    return min(max(float(f"{low + share * (high - low):.2g}"), low), high)


@functools.cache
def _read(name: str):
    """Return the source notebook with the cells that unpack the zip file, cached: a variant changes only numbers in it."""
    notebook = nbformat.read(source(name), as_version=4)
    where, unpack = shipped.FIRST
    first = nbformat.v4.new_markdown_cell(shipped.WHERE, id=where)
    notebook.cells[1:1] = [first, locked(unpack, shipped.UNPACK.format(name=name))]
    return CheckCellMetadata().preprocess(notebook, {})[0]


def locked(ident: str, source: str) -> nbformat.NotebookNode:
    """Return a code cell that is given to students."""
    kinds = {"grade": False, "solution": False, "task": False, "locked": True}
    mark = {"grade_id": ident, "schema_version": 3} | kinds
    return nbformat.v4.new_code_cell(source, id=ident, metadata={"nbgrader": mark})


def key(name: str, variant: str = DEFAULT):
    """Return the source notebook with the constants of `variant`: solutions, tests and all."""
    notebook = copy.deepcopy(_read(name))
    values = constants(name, variant)
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    cell.source = "\n".join(_with_value(line, values) for line in cell.source.split("\n"))
    notebook.metadata["compendium"] = {"assignment": name, "variant": variant}
    return notebook


def _with_value(line: str, values: dict) -> str:
    match = re.fullmatch(r"((\w+): \w+ = )(\S+)(\s+#.*)", line)
    return f"{match[1]}{values[match[2]]!r}{match[4]}" if match else line


# ---- all that is needed to hand it out, and to grade it


class Asked(NamedTuple):
    """A name that students must define: the cell that must define it, and whether it is a function."""

    cell: str
    function: bool


@dataclass(frozen=True)
class Case:
    """An assignment in a variant: the key and the version for students, their files, and the namespace of the tests.

    `given` contains the names that the key's given cells define, and `asked` the names that students must define.
    """

    name: str
    key: nbformat.NotebookNode
    released: nbformat.NotebookNode
    files: dict[str, bytes]
    given: dict
    asked: dict[str, Asked]


def prepare(name: str, variant: str = DEFAULT, bank: Path | None = None) -> Case:
    """Return assignment `name` in `variant`, after running its given cells; the folder `bank` has further hidden
    tests."""
    notebook = key(name, variant)
    asked = {
        each: Asked(cell.id, function)
        for cell in notebook.cells
        if kind(cell) == "solution"
        for each, function in defined(cell.source).items()
    }
    given: dict = {"__name__": "given"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for index, cell in enumerate(notebook.cells):
            if kind(cell) in ("given", "instructor") and not asked.keys() & loaded(cell):
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(compile(cell.source, f"<{cell.id}>", "exec"), given)
                if kind(cell) == "instructor":
                    shown = f"```text\n{printed.getvalue()}```" if printed.getvalue() else ""
                    notebook.cells[index] = nbformat.v4.new_markdown_cell(shown, id=cell.id)
        files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    released = student(notebook)
    if bank is not None:
        _add_tests(notebook, bank / f"{name}.py")
    return Case(name, notebook, released, files, given, asked)


def defined(source: str) -> dict[str, bool]:
    """Return the names that code defines outside of functions, each with whether it is a function; none if it is
    invalid."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes in texts
            statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = True
        elif isinstance(statement, ast.Assign):
            names = [node for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            found |= {node.id: False for node in names if isinstance(node.ctx, ast.Store)}
    return found


def loaded(cell) -> set[str]:
    """Return the names that a code cell reads."""
    return {
        node.id
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _add_tests(notebook, path: Path) -> None:
    """Append the code in `path` under ``# %% <cell id>`` to the hidden tests of this cell."""
    if not path.is_file():
        return
    parts = re.split(r"(?m)^# %% *(\S+) *$", path.read_text(encoding="utf-8"))[1:]
    tests = {cell.id: cell for cell in notebook.cells if kind(cell) == "test"}
    for ident, code in zip(parts[::2], parts[1::2]):
        if ident not in tests:
            raise ValueError(f"{path.name}: there is no test {ident!r}; the tests are {', '.join(sorted(tests))}")
        try:
            ast.parse(code)
        except SyntaxError as error:
            raise ValueError(
                f"{path.name}: line {error.lineno} below {ident} is not valid Python: {error.msg}"
            ) from None
        tests[ident].source += f"\n{code.strip()}\n"


# ---- the version for students


def student(notebook):
    """Return `notebook` without solutions, model answers and hidden tests; cells that are given are locked."""
    notebook = copy.deepcopy(notebook)
    for step in (LockCells, ClearSolutions, ClearHiddenTests, ClearOutput, ComputeChecksums):
        notebook, _ = step().preprocess(notebook, {})
    return notebook


# ---- cells


def mark(cell) -> dict:
    """Return nbgrader's metadata of a cell; empty for plain ones."""
    return cell.metadata.get("nbgrader", {})


def kind(cell) -> str:
    """Return the kind of a cell: given, instructor, solution, test, answer or text."""
    said = mark(cell)
    if "instructor" in cell.metadata.get("tags", []):
        return "instructor"
    if said.get("solution"):
        return "answer" if said.get("grade") else "solution"
    if said.get("grade"):
        return "test"
    return "given" if cell.cell_type == "code" else "text"


def points(cell) -> float:
    return float(mark(cell)["points"]) if mark(cell).get("grade") else 0.0
