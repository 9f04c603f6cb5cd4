"""Check, before you hand in, that your answers have a form that grading accepts:

    python check.py [NOTEBOOK]

The program runs the notebook from top to bottom and then the tests that you see, as grading runs them: your functions get
and return plain data only. It changes no file. It cannot know the further tests that run when the notebook is graded.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path

os.environ["MPLBACKEND"] = "agg"

import plain

SECONDS = 30  # for a cell when the notebook is graded


def cells_of(path: Path) -> list[dict]:
    """Return the code cells of a notebook: their source, grade_id and kind."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} must be a notebook of an assignment: {error}") from None
    found = []
    for cell in cells:
        mark = cell.get("metadata", {}).get("nbgrader", {})
        kind = "solution" if mark.get("solution") else "test" if mark.get("grade") else "other"
        if cell["cell_type"] == "code":
            found.append({"source": "".join(cell["source"]), "id": mark.get("grade_id", ""), "kind": kind})
    if not any(cell["kind"] == "test" for cell in found):
        raise ValueError(
            f"{path} has no test cells: its cells have lost the metadata of nbgrader, or it is not an assignment"
        )
    return found


def defined(source: str) -> set[str]:
    """Return the functions and variables that a cell defines."""
    found: set[str] = set()
    for statement in ast.parse(source).body:
        nodes = [statement] if isinstance(statement, ast.FunctionDef) else ast.walk(statement)
        found |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        found |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found


def sent(name: str, value):
    """Return an answer as grading receives it."""
    message = plain.encode(value)
    plain.packed(message)
    return plain.accepted(name, message)


def asked(name: str, function):
    """Return `function` as grading calls it: arguments and answers are plain data."""

    def call(*args, **kwargs):
        functions: list = []
        arguments = plain.encode([list(args), kwargs], functions)
        plain.packed(arguments)
        args, kwargs = plain.decode(arguments, functions.__getitem__)
        return sent(name, function(*args, **kwargs))

    return call


def check(cells: list[dict]) -> list[str]:
    """Run the cells, and return a line for each one that is not accepted."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.showtraceback = shell.showsyntaxerror = lambda *_, **__: None
    told, names = [], set()
    for cell in cells:
        began = time.monotonic()
        if cell["kind"] == "test":
            error = _test(cell["source"], shell.user_ns, names)
        else:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                result = shell.run_cell(cell["source"])
            error = result.error_before_exec or result.error_in_exec
            if cell["kind"] == "solution" and not isinstance(error, SyntaxError):
                names |= defined(cell["source"])
        place = (
            cell["id"]
            or f"a cell of yours ({cell['source'].strip().splitlines()[0][:40] if cell['source'].strip() else 'empty'})"
        )
        if isinstance(error, NotImplementedError):
            told.append(f"{place}: not answered, or the line that raises NotImplementedError is still above the answer")
        elif error is not None:
            told.append(f"{place}: {type(error).__name__}: {error}")
        elif (took := time.monotonic() - began) > SECONDS:
            told.append(f"{place}: it took {took:.0f} s here, and is stopped after {SECONDS} s when it is graded")
        elif cell["kind"] == "test":
            print(f"{place}: accepted", flush=True)
    return told


def _test(source: str, found: dict, names: set[str]) -> Exception | None:
    """Return the error of a test, or none."""
    space = dict(found)
    try:
        for name in names & found.keys():
            if callable(found[name]):
                space[name] = asked(name, found[name])
            elif any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(source))):
                space[name] = sent(name, found[name])
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, "<test>", "exec"), space)
    except Exception as error:
        return error
    return None


def main() -> int:
    here = sorted(Path(__file__).resolve().parent.glob("*.ipynb"))
    try:
        if len(sys.argv) != 2 and len(here) != 1:
            raise ValueError(f"Say which notebook: python check.py NOTEBOOK; there are {len(here)} in this folder")
        told = check(cells_of(Path(sys.argv[1]) if len(sys.argv) == 2 else here[0]))
    except ValueError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    print(
        "\n".join(told)
        if told
        else "All answers have a form that grading accepts. Whether they are right is not checked."
    )
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
