"""Judge changed solutions of the assignments in this process, and only by the tests that a change can affect.

The tests and their answers pass through `judge` and `box` as they do in grading, but there is no sandbox, for the answers
are ours.

    python -m tests.classroom.here table            write the marks of all wrong answers to build/wrong-answers.csv
    python -m tests.classroom.here alarms 200 [NAME]   count the tests that fail the solutions, over 200 variants
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import itertools
import json
import math
import os
import sys
import textwrap
import time
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")

from notebooks.assignments import assignment, judge, plain  # noqa: E402
from notebooks.assignments.tables import table  # noqa: E402
from tests.classroom.assignment_answers import WRONG  # noqa: E402

sys.modules.setdefault("plain", plain)  # under this name the program in the sandbox imports it
from notebooks.assignments import box  # noqa: E402

BEGIN, END = "### BEGIN SOLUTION\n", "### END SOLUTION"


class _Line:
    """Both ends of the connection by which a student's code calls functions of a test."""

    late = None

    def __init__(self, functions):
        self.functions = functions

    def send(self, asked) -> None:
        self.reply = judge._called_back(json.loads(json.dumps(asked)), self.functions)

    def receive(self):
        return json.loads(json.dumps(self.reply))


class Here(judge.Notebook):
    """A student's notebook whose names are in this process."""

    def __init__(self, names: dict):
        self.names, self.limits, self.until = names, judge.Limits(), math.inf

    def _ask(self, request, until, functions=()):
        try:
            return json.loads(json.dumps({"value": plain.encode(box._called(request, self.names, _Line(functions)))}))
        except Exception as error:
            return {"error": box._line(error)}


case = functools.cache(assignment.prepare)


def solutions(name: str, variant: str, changed: tuple = ()) -> list[list[ast.stmt]]:
    """Return the statements of each solution cell, after the change (task, old, new)."""
    cells = {cell.id: cell.source for cell in case(name, variant).key.cells if assignment.kind(cell) == "solution"}
    if changed:
        task, old, new = changed
        place = case(name, variant).asked[task].cell
        cells[place] = with_change(cells[place], task, old, new)
    return [ast.parse(source).body for source in cells.values()]


def with_change(source: str, task: str, old: str, new: str) -> str:
    """Return the source of a cell with `new` in place of `old`, or of the whole solution of `task` if `old` is empty."""
    if old:
        if old not in source:
            raise ValueError(f"{old!r} must be in the cell of {task}, which is:\n{source}")
        return source.replace(old, new)
    start = source.index(f"def {task}(") if f"def {task}(" in source else 0
    if BEGIN not in source[start:]:
        raise ValueError(f"the cell of {task} has no solution below its name")
    start = source.index(BEGIN, start) + len(BEGIN)
    indent = " " * (len(source[start:]) - len(source[start:].lstrip(" ")))
    body = "".join(f"{indent}{line}\n" for line in textwrap.dedent(new).strip("\n").split("\n"))
    end = source.index(END, start)
    return source[:start] + body + source[source.rindex("\n", 0, end) + 1 :]


def loaded(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


@functools.cache
def solved(name: str, variant: str) -> dict:
    """Return the names of the reference solution."""
    names = dict(case(name, variant).given)
    for statement in itertools.chain.from_iterable(solutions(name, variant)):
        run(statement, names)
    return names


def run(statement: ast.stmt, names: dict) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(ast.Module([statement], []), "<solution>", "exec"), names)


def notes(name: str, task: str, old: str, new: str, variant: str = assignment.DEFAULT) -> dict[str, str]:
    """Return {test: note} of the tests that the reference loses by the change; `old` and `new` as in `with_change`."""
    cells = solutions(name, variant, (task, old, new))
    place = case(name, variant).asked[task].cell
    affected = {asked for asked, each in case(name, variant).asked.items() if each.cell == place}
    everything = list(itertools.chain.from_iterable(cells))
    while more := set().union(*(bound(each) for each in everything if loaded(each) & affected)) - affected:
        affected |= more
    names, broken = dict(case(name, variant).given), {}
    for cell in cells:
        again = any(bound(each) & affected for each in cell)  # all of it, for a generator may advance from line to line
        for statement in cell:
            if not again and not isinstance(statement, ast.FunctionDef):
                names |= {each: solved(name, variant)[each] for each in bound(statement) & solved(name, variant).keys()}
                continue
            try:
                run(statement, names)
            except Exception as error:
                broken[place] = box._line(error)
                break
    return judged(name, names, affected, variant, broken)


def judged(name: str, names: dict, affected: set[str], variant: str, broken=()) -> dict[str, str]:
    """Return {test: note} of the tests that look at `affected` names and fail."""
    found = {}
    for cell in case(name, variant).key.cells:
        if assignment.kind(cell) == "test" and loaded(ast.parse(cell.source)) & affected:
            error = judge.run_test(cell.source, Here(names), case(name, variant), dict(broken))["error"]
            if error:
                found[cell.id.split("-test-")[1]] = error
    return found


def points(name: str, lost) -> float:
    """Return the points that the tests `lost` give."""
    return sum(assignment.points(cell) for cell in case(name, assignment.DEFAULT).key.cells
               if assignment.kind(cell) == "test" and cell.id.split("-test-")[1] in lost)  # fmt: skip


def _table() -> None:
    rows = []
    for (name, task), answers in WRONG.items():
        for what, old, new, _ in answers:
            found = notes(name, task, old, new)
            rows.append({"assignment": name, "task": task, "answer": what, "points_lost": f"{points(name, found):g}",
                         "tests_lost": " ".join(sorted(found)), "note": next(iter(found.values()), "")})  # fmt: skip
            print(f"{name} {task}: {what}: {rows[-1]['points_lost']} {rows[-1]['tests_lost']}", flush=True)
    table(Path("build/wrong-answers.csv"), rows)


def _alarms(count: int, *only: str) -> None:
    for name in only or assignment.names():
        began, failed = time.process_time(), []
        for number in range(count):
            variant = f"v{number}"
            found = judged(name, solved(name, variant), set(case(name, variant).asked), variant)
            failed += [(variant, test, note) for test, note in found.items()]
            for cached in (case, solved):
                cached.cache_clear()
        print(
            f"{name}: {count} variants, {len(failed)} false alarms, {time.process_time() - began:.0f} CPU s", flush=True
        )
        for each in failed:
            print("   ", *each, flush=True)


if __name__ == "__main__":
    _table() if sys.argv[1] == "table" else _alarms(int(sys.argv[2]), *sys.argv[3:])
