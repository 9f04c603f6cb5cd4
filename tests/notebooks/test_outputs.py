"""The executed notebooks beside the committed ones, output by output and picture by picture: `make compare`.

The notebooks that `make book` has run are enough for this, so a second and a third Python cost one run each. `make nbval` runs
the notebooks once more, by another runner. This test ignores only what nbval also ignores.
"""

import configparser
import copy
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book.figures import plotted

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in ROOT.glob("notebooks/*/*.ipynb") if path.parent.name != "assignments")
EXECUTED = ROOT / "build/executed"


def outputs(cell) -> list[dict]:
    """Return the outputs of a cell, without random differences and the figures' downloads, which are not committed."""
    shown = [dict(output) for output in cell.get("outputs", [])]
    for output in shown:
        output.get("data", {}).pop(plotted.MIME, None)
    return sanitized(shown)


def sanitized(value):
    if isinstance(value, str):
        for section in SANITIZE.values():
            value = re.sub(section["regex"], section["replace"], value)
        return value
    if isinstance(value, list):
        return [sanitized(each) for each in value]
    return {key: sanitized(each) for key, each in value.items()} if isinstance(value, dict) else value


def sections() -> dict:
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "tests/notebooks/nbval-sanitize.cfg", encoding="utf-8")
    return {name: parser[name] for name in parser.sections()}


SANITIZE = sections()


def differences(committed, executed) -> list[str]:
    """Return a line for each cell of code whose source or outputs differ between two notebooks."""
    found = []
    for number, (old, new) in enumerate(zip(committed.cells, executed.cells, strict=True)):
        if old.cell_type == "code" and old.source != new.source:
            found.append(f"cell {number}: the source has changed since `make book` ran it")
        elif old.cell_type == "code" and (before := outputs(old)) != (after := outputs(new)):
            found.append(f"cell {number}: committed {before}\n  executed {after}")
    return found


def test_no_committed_notebook_shows_a_warning():
    """Readers would see it on the page, such as that of a font that was not found."""
    cells = {path.name: nbformat.read(path, as_version=4).cells for path in NOTEBOOKS}
    shown = [(name, each.text[:80]) for name, some in cells.items() for cell in some for each in cell.get("outputs", [])
             if each.get("name") == "stderr"]  # fmt: skip
    assert shown == []


@pytest.mark.slow
@pytest.mark.parametrize("notebook", [path.relative_to(ROOT / "notebooks").as_posix() for path in NOTEBOOKS])
def test_outputs_are_those_committed(notebook):
    if not (EXECUTED / notebook).is_file():
        pytest.skip("the notebook has not been executed (make book)")
    pair = [nbformat.read(folder / notebook, as_version=4) for folder in (ROOT / "notebooks", EXECUTED)]
    assert differences(*pair) == []


# ---- what is passed over and what is found, in a small notebook

SMALL = new_notebook(
    cells=[
        new_markdown_cell("# Words"),
        new_code_cell("1", outputs=[new_output("stream", text="<a.B object at 0x7f0000000001>\n")]),
        new_code_cell("2", outputs=[new_output("execute_result", {"text/plain": "0.1", "image/png": "iVBORw"})]),
    ]
)


def test_what_differs_by_chance_and_the_downloads_are_passed_over():
    executed = copy.deepcopy(SMALL)
    executed.cells[1].outputs[0].text = "<a.B object at 0x7fffffffffff>\n"
    executed.cells[2].outputs[0].data[plotted.MIME] = {"csv": "x"}
    assert differences(SMALL, executed) == []


@pytest.mark.parametrize(("kind", "other"), [("text/plain", "0.2"), ("image/png", "iVBORx")])
def test_another_digit_or_picture_is_found(kind, other):
    executed = copy.deepcopy(SMALL)
    executed.cells[2].outputs[0].data[kind] = other
    (found,) = differences(SMALL, executed)
    assert found.startswith("cell 2: committed") and other in found


def test_another_source_is_found():
    executed = copy.deepcopy(SMALL)
    executed.cells[1].source = "3"
    assert differences(SMALL, executed) == ["cell 1: the source has changed since `make book` ran it"]
