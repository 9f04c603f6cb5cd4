"""An assignment: its source notebook, the constants of a variant, the version for students.

A source notebook lies in `notebooks/assignments/<name>/<name>.ipynb` and is written for nbgrader. Every cell that
is graded, locked or to be filled in has a `grade_id`, which is its cell id as well:

- locked code cells: the parameters, the imports, everything that is given;
- solution cells: code between ``### BEGIN SOLUTION`` and ``### END SOLUTION`` is for the instructor only;
- test cells: points, and asserts, some between ``### BEGIN HIDDEN TESTS`` and ``### END HIDDEN TESTS``;
- answers: free text with points, marked by hand; the source holds a model answer and the rubric.

The cell tagged `parameters` declares what a variant changes, with the range that it is drawn from:

    epsilon: float = 0.8  # [0.5, 1.5]: the privacy parameter
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import nbformat
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from notebooks import run

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
DEFAULT = "default"
STUB = "YOUR ANSWER HERE"


def names() -> list[str]:
    """The assignments that there are."""
    return sorted(path.stem for path in FOLDER.glob("*/*.ipynb") if path.stem == path.parent.name)


def source(name: str) -> Path:
    return FOLDER / name / f"{name}.ipynb"


# ---- variants


def constants(name: str, variant: str = DEFAULT) -> dict:
    """The parameters of assignment `name` in `variant`: the written ones for "default", else drawn by the names."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", variant):
        raise ValueError(f"variant must be letters, digits, - and _ (40 at most), got {variant!r}")
    known = run.parameters(source(name))
    if variant == DEFAULT:
        return {parameter.name: parameter.default for parameter in known.values()}
    drawn = {parameter.name: _drawn(parameter, f"{variant}/{name}/{parameter.name}") for parameter in known.values()}
    return run.accept(source(name), drawn)


def _drawn(parameter, label: str):
    """A value of the declared range, always the same one for the same `label`; floats have two digits."""
    share = int.from_bytes(hashlib.sha256(label.encode()).digest()[:7]) / 2**56
    if parameter.options:
        return parameter.options[int(share * len(parameter.options))]
    ends = re.fullmatch(r"\[([^,]+),([^,]+)\]", parameter.interval)
    if parameter.many or ends is None:
        raise ValueError(f"{parameter.name} needs a closed range [low, high] or a list of options to be drawn from")
    low, high = float(ends[1]), float(ends[2])
    if parameter.kind is int:
        return int(low + share * (high - low + 1))
    return min(max(float(f"{low + share * (high - low):.2g}"), low), high)


def key(name: str, variant: str = DEFAULT):
    """The source notebook with the constants of `variant`: solutions, tests and all."""
    notebook = nbformat.read(source(name), as_version=4)
    values = constants(name, variant)
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    cell.source = "\n".join(_with_value(line, values) for line in cell.source.split("\n"))
    notebook.metadata["compendium"] = {"assignment": name, "variant": variant}
    return notebook


def _with_value(line: str, values: dict) -> str:
    match = re.fullmatch(r"((\w+): \w+ = )(\S+)(\s+#.*)", line)
    return f"{match[1]}{values[match[2]]!r}{match[4]}" if match else line


# ---- the version for students


def student(notebook):
    """`notebook` without solutions, model answers and hidden tests; cells that are given are locked."""
    notebook = nbformat.from_dict(notebook)  # a copy
    for step in (CheckCellMetadata, LockCells, ClearSolutions, ClearHiddenTests, ClearOutput, ComputeChecksums):
        notebook, _ = step().preprocess(notebook, {})
    return notebook


# ---- cells


def mark(cell) -> dict:
    """What nbgrader says of a cell; empty for plain ones."""
    return cell.metadata.get("nbgrader", {})


def kind(cell) -> str:
    """given, solution, test, answer or text."""
    said = mark(cell)
    if said.get("solution"):
        return "answer" if said.get("grade") else "solution"
    if said.get("grade"):
        return "test"
    return "given" if cell.cell_type == "code" else "text"


def points(cell) -> float:
    return float(mark(cell)["points"]) if mark(cell).get("grade") else 0.0
