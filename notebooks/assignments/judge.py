"""The verdict on one submission, by a process that runs no student code.

The student's cells run in a sandbox (`box`, `confinement`). The tests of the key run here, with the names that the
key's given cells define. Each function that the student had to write is replaced by a function that asks the student's
process for the answer and gets plain data. If a test passes a function to the student's, that function is called back
here, with plain data. So a student's code cannot touch a test, a key or a mark: it can only answer.
"""

from __future__ import annotations

import ast
import base64
import compileall
import contextlib
import io
import json
import os
import py_compile
import re
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from notebooks.assignments import assignment, confinement, plain, shipped, submissions

GRACE = 3.0  # seconds from the end of a cell's time, which it can ignore, to the end of its process
ANSWER = 5.0  # seconds for a process between two notebooks to answer before it is replaced
LARGEST_OUTPUT = 8 * 2**20  # characters of what all cells of a notebook show
MOST_DEATHS = 3  # cells of one notebook that may end its process before the rest is given up
MANY_CALLS = 1000  # of a function of the test; this number takes a tenth of a second
STUB = "NotImplementedError"
UNANSWERED = "not answered, or the line that raises NotImplementedError is still above the answer"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Limits:
    """The seconds for one cell and for a whole notebook, and the MiB of memory beyond the modules that are loaded
    anyway."""

    cell: float = 30.0
    notebook: float = 180.0
    memory: int = 2048


class CellDied(RuntimeError):
    """The cell ended its process, did not stop when its time was over, or sent an invalid answer."""


class Wrong(Exception):
    """The student's process answered with an error, or with unusable data."""


def text(said, length: int = 600) -> str:
    """Return a student's text in a form that is safe in a table and on a screen."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", said[:length]) if isinstance(said, str) else ""


def one_line(said, length: int = 600) -> str:
    """Return `text` on one line: several could look like lines about other students."""
    return submissions.printable(" ".join(text(said, length).split()))


# ---- the student's process


def class_folder(cases: list, folder: Path) -> Path:
    """Write into `folder` what students' processes may read: their program, and the part of `lib` that students get."""
    import matplotlib
    from matplotlib import font_manager

    for name in ("box.py", "plain.py"):
        shutil.copy(Path(__file__).with_name(name), folder / name)
    (folder / "matplotlib").mkdir()
    for fonts in Path(matplotlib.get_cachedir()).glob(f"fontlist-v{font_manager.FontManager.__version__}.json"):
        shutil.copy(fonts, folder / "matplotlib")
    for case in cases:
        for path, content in shipped.files(case.released).items():
            target = folder / case.name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH  # compiled here, once for all notebooks
    compileall.compile_dir(folder, quiet=1, stripdir=str(folder), invalidation_mode=unchecked)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


class Box:
    """The process in the sandbox, from which notebooks are forked, one after another; restarted if it was lost."""

    def __init__(self, folder: Path, modules=(), number: int = 0):
        self.number = number  # different for simultaneous ones
        self.modules = sorted({"IPython.core.interactiveshell", "matplotlib_inline.backend_inline", "numpy", *modules})
        self.folder, self.way, self.process, self.control, self.owner = Path(folder), confinement.way(), None, None, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self) -> None:
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.home, ignore_errors=True)
        self.process = None

    def leave(self) -> None:
        """End the process in the sandbox, unless it was started by another process, before a fork."""
        if self.owner == os.getpid():
            self.stop()

    def check(self) -> None:
        """Ensure that a process answers, by starting a new one if necessary."""
        if self.control is not None:
            try:
                self.control.send(b"?")
                self._expect(ANSWER)
            except OSError:
                self.start()

    def start(self) -> None:
        self.stop()
        self.control, theirs = socket.socketpair()
        self.owner = os.getpid()
        self.home = tempfile.mkdtemp(prefix="home-")
        place = confinement.place(self.way, self.folder)
        arguments = [f"{place}/box.py", place, "unconfined" if self.way == "none" else "confined", *self.modules]
        self.process = subprocess.Popen(
            confinement.command(self.way, self.folder, arguments, self.number),
            stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.home, start_new_session=True,
            env={"HOME": self.home} | confinement.environment(self.way, PYTHONHASHSEED="0", COMPENDIUM_OFFLINE="1"),
        )  # fmt: skip
        theirs.close()
        self._expect(120)

    def _expect(self, seconds: float) -> None:
        self.control.settimeout(seconds)
        if self.control.recv(1) != b".":
            raise OSError("students' code cannot be run here: its process ended at once")

    @contextlib.contextmanager
    def notebook(self):
        """Yield a connection to a new notebook, which ends when the block ends."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                try:
                    socket.send_fds(self.control, [b"n"], [theirs.fileno()])
                except (OSError, AttributeError):  # not started, or lost
                    self.start()
                    socket.send_fds(self.control, [b"n"], [theirs.fileno()])
            yield plain.Line(ours)
        finally:
            ours.close()
            try:
                self.control.send(b"e")
                self._expect(ANSWER)
            except OSError:
                self.stop()


class Notebook:
    """A student's notebook in its process, to run cells, read names and call functions."""

    def __init__(self, line: plain.Line, case, limits: Limits, until: float):
        self.line, self.limits, self.until, self.room = line, limits, until, LARGEST_OUTPUT
        files = {name: base64.b64encode(content).decode() for name, content in case.files.items()}
        self._send(
            {"assignment": case.name, "files": files, "memory": limits.memory, "notebook_seconds": limits.notebook},
            until,
        )

    def run(self, source: str) -> dict:
        """Return the result of a cell: `outputs` (as in a notebook) and `error` (one line, or None)."""
        left = self.until - time.monotonic()
        if left <= 0:
            return failure(f"not run: the notebook took longer than {self.limits.notebook:g} s")
        found = self._ask({"source": source}, time.monotonic() + min(self.limits.cell, left))
        outputs = found.get("outputs")
        error = one_line(found["error"]) if isinstance(found.get("error"), str) else None
        kept = []
        for output in filter(None, map(_output, outputs[:50] if isinstance(outputs, list) else ())):
            self.room -= len(json.dumps(output))
            kept += [output] if self.room > 0 else []
        return {"outputs": kept, "error": error}

    def value(self, name: str, until: float):
        return self._answer({"name": name}, until)

    def call(self, name: str, args: tuple, kwargs: dict, until: float, replaced: dict | None = None):
        functions: list = []
        arguments = plain.encode([list(args), kwargs, replaced or {}], functions)
        return self._answer({"name": name, "arguments": arguments}, until, functions)

    def _answer(self, request: dict, until: float, functions=()):
        found = self._ask(request, until, functions)
        if "error" in found:
            raise Wrong(one_line(found["error"]) or "an error without a name")
        try:
            return plain.accepted(request["name"], found.get("value"))
        except ValueError as error:
            raise Wrong(str(error)) from None

    def _ask(self, request: dict, until: float, functions=()) -> dict:
        """Return the reply to `request`; meanwhile the student's code may call `functions`."""
        seconds = max(until - time.monotonic(), 0.01)
        self._send(request | {"seconds": seconds}, until + GRACE)
        calls = 0
        while "function" in (reply := self._receive(until + GRACE, seconds)):
            calls += 1
            try:
                self._send(_called_back(reply, functions), until + GRACE)
            except ValueError as large:  # nothing is sent yet
                self._send({"error": f"asked for {large}"}, until + GRACE)
        if calls >= MANY_CALLS and str(reply.get("error")).startswith("stopped: "):
            reply["error"] = (
                f"{reply['error']}, with {calls} calls of a function of the test; each call takes time, so call it with arrays"
            )
        return reply

    def _send(self, message, until) -> None:
        try:
            self.line.send(message, until)
        except OSError as lost:
            raise CellDied("this cell ended its process (out of memory, exit or a crash)") from lost

    def _receive(self, until, seconds) -> dict:
        try:
            reply = self.line.receive(until)
        except TimeoutError:
            raise CellDied(
                f"this cell was still running after {seconds:.0f} s and did not stop when interrupted"
            ) from None
        except (EOFError, OSError) as lost:
            raise CellDied("this cell ended its process (out of memory, exit or a crash)") from lost
        except (ValueError, RecursionError, MemoryError) as nonsense:
            raise CellDied(f"this cell sent an invalid answer ({one_line(str(nonsense), 100)})") from None
        if not isinstance(reply, dict):
            raise CellDied("this cell sent an invalid answer")
        return reply


def _called_back(request: dict, functions) -> dict:
    try:
        args, kwargs = plain.decode(request["arguments"])
        value = functions[request["function"]](*args, **kwargs)
        generators = [each for each in (*args, *kwargs.values()) if isinstance(each, np.random.Generator)]
        return {"value": plain.encode([value, generators])}
    except Exception as error:  # errors from a student's arguments to a function are the student's
        return {"error": f"{type(error).__name__}: {error}"}


def _output(found) -> dict | None:
    """Return an output in the format of notebooks, made of texts alone."""
    if not isinstance(found, dict):
        return None
    if found.get("output_type") == "stream":
        return {
            "output_type": "stream",
            "name": "stderr" if found.get("name") == "stderr" else "stdout",
            "text": text(found.get("text"), 25_000),
        }
    if found.get("output_type") == "error" and isinstance(found.get("traceback"), list):
        return {
            "output_type": "error",
            "ename": "",
            "evalue": "",
            "traceback": [text(line, 2000) for line in found["traceback"][:30]],
        }
    data = found.get("data")
    data = data if isinstance(data, dict) else {}
    kept = {form: text(value, 700_000) for form, value in data.items() if form in FORMS and isinstance(value, str)}
    return {"output_type": "display_data", "data": kept, "metadata": {}} if kept else None


FORMS = ("text/plain", "text/markdown", "text/latex", "text/html", "image/png")


def failure(reason: str) -> dict:
    """Return the outcome of a cell that was not run, or failed."""
    return {"outputs": [{"output_type": "error", "ename": "", "evalue": "", "traceback": [reason]}], "error": reason}


# ---- tests


def run_test(source: str, notebook: Notebook, case, broken: dict) -> dict:
    """Return the outcome of a test: an `error`, or none.

    broken : the cells that failed, with their errors, which explain missing names
    """
    until = min(time.monotonic() + notebook.limits.cell, notebook.until)
    if until <= time.monotonic():
        return failure(f"not run: the notebook took longer than {notebook.limits.notebook:g} s")
    replaced: dict = {}

    @contextlib.contextmanager
    def replacing(name, function):
        """Let the student's code find `function` under `name` while the block runs."""
        replaced[name] = function
        try:
            yield
        finally:
            del replaced[name]

    def remote(name):
        return lambda *args, **kwargs: notebook.call(name, args, kwargs, until, replaced)

    try:
        space = dict(case.given) | {"replacing": replacing}
        used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        for name in used & case.asked.keys():
            space[name] = remote(name) if case.asked[name].function else notebook.value(name, until)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(source, "<test>", "exec"), space)
    except CellDied:
        raise
    except Wrong as wrong:
        return failure(_explained(str(wrong), case, broken))
    except AssertionError as error:
        return failure(f"AssertionError: {one_line(str(error))}")
    except BaseException as error:  # the answer is of another form than asked for
        return failure(
            f"{type(error).__name__}: {one_line(str(error))} (does the answer have the form that is asked for?)"
        )
    return {"outputs": [], "error": None}


def _explained(error: str, case, broken: dict) -> str:
    match = re.search(r"name '(\w+)' is not defined", error)
    if match and match[1] in case.asked:
        cell = case.asked[match[1]].cell
        if cell in broken:
            stopped = UNANSWERED if broken[cell] == STUB else broken[cell]
            return f"{match[1]} is not defined, because its cell stopped: {stopped}"
        return f"{match[1]} is not defined: its cell {cell} is missing, or does not define it"
    return error


# ---- one submission


def execute(plan: list[dict], case, box: Box, limits: Limits) -> list[dict | None]:
    """Return the outcome of every code cell of `plan` (None for text), under the limits.

    A cell that ends its process is left out, and the notebook starts again without it.
    """
    lost: dict[int, str] = {}
    until = time.monotonic() + limits.notebook
    while True:
        outcomes = _attempt(plan, case, box, limits, lost, until)
        if len(outcomes) == len(plan):
            return outcomes
        if len(lost) > MOST_DEATHS or time.monotonic() > until:
            given_up = failure(f"not run: {len(lost)} earlier cells ended their process")
            return outcomes + [given_up if cell["type"] == "code" else None for cell in plan[len(outcomes) :]]


def _attempt(plan, case, box, limits, lost, until) -> list:
    """Return outcomes up to the first cell that ends the process, which is noted in `lost`."""
    outcomes: list = []
    broken: dict = {}
    with box.notebook() as line:
        try:
            notebook = Notebook(line, case, limits, until)
            for index, cell in enumerate(plan):
                if cell["type"] != "code":
                    outcomes.append(None)
                elif index in lost:
                    outcomes.append(failure(lost[index]))
                elif cell["kind"] == "test":
                    outcomes.append(run_test(cell["source"], notebook, case, broken))
                else:
                    outcomes.append(notebook.run(cell["source"]))
                if outcomes[-1] and outcomes[-1]["error"]:
                    broken[cell["id"]] = outcomes[-1]["error"]
        except CellDied as death:
            lost[len(outcomes)] = str(death)
    return outcomes


def grade(submission, case, box: Box, limits: Limits) -> dict:
    """Return everything about one submission that goes on a page or into a table."""
    record = blank(submission, case, "no notebook to grade") | {"plan": []}
    if not submission.cells or case is None:
        return record
    record["questions"] = []
    plan = submissions.merge(case.key, case.released, submission)
    for cell, outcome in zip(plan, execute(plan, case, box, limits)):
        error = outcome and outcome["error"]
        record["plan"].append(
            {name: cell[name] for name in ("id", "kind", "type", "shown", "points")} | {"outcome": outcome}
        )
        if cell["kind"] == "test":
            note = UNANSWERED if error == STUB else error or ""
            record["questions"].append(_question(cell, 0.0 if error else cell["points"], note))
        elif cell["kind"] == "answer":
            unanswered = not cell["source"].replace(assignment.STUB, "").strip()
            record["questions"].append(_question(cell, 0.0 if unanswered else None, "no answer" if unanswered else ""))
        elif error and re.search(
            "stopped: |ended its process|did not stop|invalid answer|MemoryError|SyntaxError|IndentationError", error
        ):
            record["problems"].append(f"cell {cell['id'] or '(own)'}: {error}")
    return record


def blank(submission, case, reason: str) -> dict:
    """Return the record of a submission that could not be graded: no points, for this `reason`."""
    cells = [] if case is None else case.key.cells
    graded = [
        {"id": cell.id, "kind": assignment.kind(cell), "points": assignment.points(cell), "part": part}
        for cell, part in zip(cells, submissions.parts(cells))
    ]
    return {
        "student": submission.student,
        "file": submission.file,
        "assignment": submission.name,
        "variant": submission.variant,
        "language": submission.language,
        "problems": submission.problems,
        "walls": confinement.way(),
        "plan": [],
        "questions": [_question(cell, 0.0, reason) for cell in graded if cell["kind"] in ("test", "answer")],
    }


def _question(cell, points, note) -> dict:
    by_hand = cell["kind"] == "answer"
    return {"id": cell["id"], "by_hand": by_hand, "points": points, "out_of": cell["points"], "note": note, "part": cell["part"],
            "text": cell.get("source", "") if by_hand else ""}  # fmt: skip
