"""Cells run one after another in a process of their own, with limits of time and memory.

The process is a fork of this one, which has imported what notebooks import: a copy starts in a tenth of a second.
It has an IPython shell, so notebooks behave as they do in Jupyter, but no kernel, no port and no server. It works in
a scratch folder, which is also its home. What it sends back is JSON, never a pickle.

This keeps a class's accidents apart (endless loops, memory hogs, crashes, stray files). It is no jail: the process
has the rights of whoever started it. Strangers' code belongs on an account of its own.
"""

from __future__ import annotations

import base64
import builtins
import contextlib
import functools
import io
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

LONGEST_TEXT = 20_000  # characters of printed output kept of a cell
LARGEST_DISPLAY = 500_000  # bytes kept of one displayed object
SHOWN = ("text/plain", "text/markdown", "text/latex", "text/html", "image/png")
LARGEST_FILE = 100 * 2**20
GRACE = 3.0  # seconds that an interrupted cell has to come to an end


@dataclass(frozen=True)
class Limits:
    """Seconds for one cell and for a whole notebook, and MiB that it may take on top of what is loaded anyway."""

    cell: float = 30.0
    notebook: float = 180.0
    memory: int = 2048


class CellDied(RuntimeError):
    """The cell ended its process, or did not stop when it was interrupted."""


class Sandbox:
    """A process that runs cells; a context manager, at whose end the process is gone."""

    def __init__(self, limits: Limits, scratch: Path):
        self.limits = limits
        self.deadline = time.monotonic() + limits.notebook
        _shell()
        ours, theirs = multiprocessing.Pipe()
        self.pipe = ours
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_serve, args=(theirs, ours, limits, Path(scratch)), daemon=False)
        self.process.start()
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with whatever it has started
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def run(self, source: str, *, test: bool = False) -> dict:
        """What became of a cell: `outputs` (as in a notebook), `error` (one line, or None), `seconds`.

        A `test` sees the student's names, but given ones as they were given. `CellDied` if the process is lost.
        """
        began = time.monotonic()
        seconds = min(self.limits.cell, self.deadline - began)
        if seconds <= 0:
            return failure(f"not run: the notebook took longer than {self.limits.notebook:g} s")
        try:
            self.pipe.send_bytes(json.dumps([source, test]).encode())
            found = self._answer(seconds)
        except (EOFError, OSError, ValueError) as lost:
            raise CellDied("this cell ended its process (out of memory, exit or a crash)") from lost
        return found | {"seconds": time.monotonic() - began}

    def remember(self) -> None:
        """Note the names defined so far as given: tests see these values, whatever is assigned later."""
        self.pipe.send_bytes(json.dumps(None).encode())

    def _answer(self, seconds: float) -> dict:
        if self.pipe.poll(seconds):
            return json.loads(self.pipe.recv_bytes())
        os.kill(self.process.pid, signal.SIGINT)
        if not self.pipe.poll(GRACE):
            raise CellDied(f"this cell was still running after {seconds:.0f} s and did not stop when interrupted")
        found = json.loads(self.pipe.recv_bytes())
        late = f"stopped: still running after {seconds:.0f} s"
        printed = [output for output in found["outputs"] if output["output_type"] != "error"]
        return found | {"error": late, "outputs": [*printed, _error_output("Timeout", late)]}


def failure(reason: str) -> dict:
    """The outcome of a cell that was not run."""
    return {"outputs": [_error_output("NotRun", reason)], "error": reason, "seconds": 0.0}


def _error_output(name: str, text: str, lines=()) -> dict:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": list(lines) or [f"{name}: {text}"]}


# ---- within the process


def _serve(pipe, other_end, limits: Limits, scratch: Path) -> None:
    other_end.close()
    _confine(limits, scratch)
    shell, displayed = _shell()
    sys.modules["__main__"] = shell.user_module
    given = {}
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        if request is None:
            given = {name: value for name, value in shell.user_ns.items() if not name.startswith("_")}
            continue
        source, test = request
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            found = _test(source, shell, given) if test else _cell(source, shell, displayed)
        except KeyboardInterrupt as stopped:  # came between the student's code and ours
            found = {"outputs": [_described(stopped)], "error": _line(stopped)}
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one that comes too late does not count
        pipe.send_bytes(json.dumps(found).encode())


def _confine(limits: Limits, scratch: Path) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir(scratch)
    for name in ("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR", "COMPENDIUM_CACHE"):
        os.environ[name] = str(scratch)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.stdin = open(os.devnull)  # noqa: SIM115  (for the rest of the process)
    resource.setrlimit(resource.RLIMIT_CPU, (int(limits.notebook) + 30,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere the system does not enforce it
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + limits.memory * 2**20,) * 2)


@functools.cache
def _shell():
    """An IPython shell without a screen, and the list that collects what it displays; made once, then forked."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    displayed = []

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            displayed.append(format_dict)

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, **_):
            displayed.append(data)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        displayhook_class, display_pub_class = Hook, Publisher

        def enable_gui(self, gui=None):
            pass

        def showtraceback(self, *_, **__):  # errors are reported as notebooks do
            pass

        showsyntaxerror = showtraceback

        def _tee(self, channel):  # IPython would keep all that is printed, without a bound
            return contextlib.nullcontext()

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    ours = sys.modules["__main__"]
    shell = Shell.instance(config=config)
    shell.run_line_magic("matplotlib", "inline")
    sys.modules["__main__"] = ours  # the notebook becomes the main module in its own process only
    return shell, displayed


class _Printed(io.StringIO):
    """Keeps the first `LONGEST_TEXT` characters."""

    def write(self, text):
        room = LONGEST_TEXT - self.tell()
        if room > 0:
            super().write(text if len(text) <= room else text[:room] + "\n[the rest is left out]\n")
        return len(text)


def _cell(source: str, shell, displayed: list) -> dict:
    displayed.clear()
    printed, warned = _Printed(), _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(warned):
        result = shell.run_cell(source, store_history=True)
    outputs = [
        {"output_type": "stream", "name": name, "text": text.getvalue()}
        for name, text in (("stdout", printed), ("stderr", warned))
        if text.getvalue()
    ]
    outputs += [{"output_type": "display_data", "data": kept, "metadata": {}} for kept in map(_kept, displayed) if kept]
    error = result.error_before_exec or result.error_in_exec
    return {"outputs": outputs + ([_described(error)] if error else []), "error": _line(error)}


def _test(source: str, shell, given: dict) -> dict:
    # A student's `sum = 3` or `epsilon = 5` is no business of the tests.
    space = {name: value for name, value in shell.user_ns.items() if not hasattr(builtins, name)} | given
    try:
        with contextlib.redirect_stdout(_Printed()), contextlib.redirect_stderr(_Printed()):
            exec(compile(source, "<test>", "exec"), space)
    except BaseException as error:  # a SystemExit or an interrupt in a student's function is a failed test, too
        return {"outputs": [_described(error)], "error": _line(error)}
    return {"outputs": [], "error": None}


def _kept(data: dict) -> dict:
    """The parts of a displayed object that a page can show."""
    kept = {}
    for form in SHOWN:
        value = data.get(form)
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        if isinstance(value, str) and len(value) <= LARGEST_DISPLAY:
            kept[form] = value
    return kept


def _line(error) -> str | None:
    if error is None:
        return None
    text = " ".join(str(error).split())[:500]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _described(error) -> dict:
    # Frames of the student's own cells only: not of this file, nor the lines of a hidden test.
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "ipython-input" in frame.filename]
    lines = [f"line {frame.lineno}, in {frame.name}" for frame in frames[-20:]]
    name, text = type(error).__name__, str(error)[:2000]
    return _error_output(name, text, [*lines, f"{name}: {text}" if text else name])
