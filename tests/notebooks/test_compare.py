"""`make compare`: what it passes over and what it finds, on two small notebooks."""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book import plotted

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = new_notebook(
    cells=[
        new_markdown_cell("# Words"),
        new_code_cell("1", outputs=[new_output("stream", text="<a.B object at 0x7f0000000001>\n")]),
        new_code_cell("2", outputs=[new_output("execute_result", {"text/plain": "0.1", "image/png": "iVBORw"})]),
    ]
)


def compared(folder: Path, executed) -> subprocess.CompletedProcess:
    (folder / "tests/notebooks").mkdir(parents=True)
    for name in ("tests/notebooks/compare.py", "tests/notebooks/nbval-sanitize.cfg"):
        shutil.copy(ROOT / name, folder / name)
    for notebook, at in ((COMMITTED, "notebooks/doc/one.ipynb"), (executed, "build/executed/doc/one.ipynb")):
        (folder / at).parent.mkdir(parents=True)
        nbformat.write(notebook, folder / at)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/notebooks/compare.py"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )


def test_what_differs_by_chance_and_the_downloads_are_passed_over(tmp_path):
    executed = copy.deepcopy(COMMITTED)
    executed.cells[1].outputs[0].text = "<a.B object at 0x7fffffffffff>\n"
    executed.cells[2].outputs[0].data[plotted.MIME] = {"csv": "x"}
    done = compared(tmp_path, executed)
    assert done.returncode == 0 and "2 passed" in done.stdout.splitlines()[-1], done.stdout


@pytest.mark.parametrize(("kind", "other"), [("text/plain", "0.2"), ("image/png", "iVBORx")])
def test_another_digit_or_picture_is_found(tmp_path, kind, other):
    executed = copy.deepcopy(COMMITTED)
    executed.cells[2].outputs[0].data[kind] = other
    done = compared(tmp_path, executed)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout.splitlines()[-1]
    assert "doc/one, cell 2" in done.stdout
