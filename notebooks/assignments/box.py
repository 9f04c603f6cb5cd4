"""The program in the sandbox: a process that has loaded the notebooks' imports, and for each notebook a copy of it.

    python box.py <its folder> confined|unconfined <modules to be loaded>

`confinement` starts this program. Of the compendium, the process reads only this file and `plain`; it has no key and no
expected value. Its standard input is a socket, over which it gets a separate socket for each notebook. A copy of the
process then runs the notebook's cells as they arrive, in an IPython shell without kernel, port or server, and calls the
functions that the cells define. When the notebook is over, its remaining processes are killed, and its files are
removed.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import functools
import gc
import importlib
import io
import os
import platform
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import traceback
from pathlib import Path

import plain

LONGEST_TEXT = 20_000  # characters of printed output kept of a cell
LARGEST_DISPLAY = 500_000  # bytes kept of one displayed object
MOST_DISPLAYS = 30
SHOWN = ("text/plain", "text/markdown", "text/latex", "text/html", "image/png")
LARGEST_FILE = 100 * 2**20
MOST_PROCESSES = 100


class Late(BaseException):
    """The time of a cell or a call is over. Not an ``Exception``, so that `except Exception` does not stop it."""


# ---- one process for a student's notebooks


def main(folder: str, confined: bool, modules: list[str]) -> None:
    control = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    shutil.copytree(Path(folder, "matplotlib"), Path(os.environ["HOME"], ".matplotlib"), dirs_exist_ok=True)
    if confined:
        _no_other_sockets()
    gc.disable()  # nothing loaded will be garbage
    for name in modules:
        importlib.import_module(name)
    shell = _shell()
    gc.freeze()  # nor is it scanned, and so copied, in each notebook
    gc.enable()
    control.send(b".")
    while True:
        asked, ends, _, _ = socket.recv_fds(control, 1, 1)
        if not asked:
            return
        if not ends:  # whether we are still there
            control.send(b".")
            continue
        notebook = os.fork()
        if not notebook:
            control.close()
            _serve(plain.Line(socket.socket(fileno=ends[0])), shell, folder)
        os.close(ends[0])
        control.recv(1)  # the notebook is over
        with contextlib.suppress(ProcessLookupError):
            # In the sandbox, "all processes" are those that the notebook has started.
            os.kill(-1, signal.SIGKILL) if confined else os.killpg(notebook, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        _clear(os.environ["HOME"], *(["/tmp"] if confined else []))
        control.send(b".")


SYSTEMS = {
    "x86_64": (0xC000003E, 41),
    "aarch64": (0xC00000B7, 198),
}  # the kernel's number of each, and that of `socket`
IO_URING = 425  # `io_uring_setup`: such a ring makes sockets as well
SOCKETS = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)


def _no_other_sockets() -> None:
    """Permit this process and its children only the kinds of sockets that its own network confines.

    In a virtual machine AF_VSOCK reaches the host, from every network namespace. Raises ``RuntimeError`` if it still works.
    """
    if platform.machine() in SYSTEMS:
        system, call = SYSTEMS[platform.machine()]
        load, equal, least, end = 0x20, 0x15, 0x35, 0x06  # instructions of a filter: (what, if so, else, number)
        kinds = [(equal, len(SOCKETS) - at, 0, kind) for at, kind in enumerate(SOCKETS)]
        refuse = len(kinds) + 2  # from the check of the call
        steps = [(load, 0, 0, 4), (equal, 0, refuse + 3, system), (load, 0, 0, 0), (least, refuse + 1, 0, 1 << 30),
                 (equal, refuse, 0, IO_URING), (equal, 0, refuse, call), (load, 0, 0, 16), *kinds,
                 (end, 0, 0, 0x50000 | errno.EAFNOSUPPORT), (end, 0, 0, 0x7FFF0000)]  # fmt: skip
        code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
        program = struct.pack("@HP", len(steps), ctypes.addressof(code))
        ctypes.CDLL(None).prctl(22, 2, ctypes.c_char_p(program), 0, 0)  # PR_SET_SECCOMP, with a filter
    with contextlib.suppress(OSError):
        socket.socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM).close()
        raise RuntimeError("AF_VSOCK")


def _clear(*places: str) -> None:
    """Remove the files that were written, at any depth, except in folders mounted there, such as Python's if it is in
    /tmp."""
    command = ["find", *places, "-mindepth", "1", "-xdev", "-delete"]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- one notebook


def _serve(line: plain.Line, shell, folder: str) -> None:
    os.setsid()
    sys.modules["__main__"] = shell.user_module
    begin = line.receive()
    _limit(begin["memory"], begin["notebook_seconds"])
    sys.path[:] = [os.path.join(folder, begin["assignment"]), *(path for path in sys.path if path != folder)]
    for name, content in begin["files"].items():
        Path(name).write_bytes(base64.b64decode(content))
    try:
        while True:
            line.send(_answer(line.receive(), shell, line))
    except EOFError:
        os._exit(0)


def _answer(request: dict, shell, line) -> dict:
    try:
        signal.signal(signal.SIGALRM, functools.partial(_late, request["seconds"], line))
        signal.setitimer(signal.ITIMER_REAL, request["seconds"])
        if "source" in request:
            return _cell(request["source"], shell)
        with contextlib.redirect_stdout(_Printed()), contextlib.redirect_stderr(_Printed()):
            return {"value": plain.encode(_called(request, shell.user_ns, line))}
    except BaseException as error:  # a SystemExit in a student's function is not a right answer either
        return {"error": _line(error), "outputs": []}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _called(request: dict, names: dict, line):
    """Return the value of a name, or of a call of it; during the call, the names in `replaced` are functions of the judge."""
    name, arguments = request["name"], request.get("arguments")
    if name not in names:
        raise NameError(f"name {name!r} is not defined")
    if arguments is None:
        return names[name]

    def call(number: int):
        return lambda *args, **kwargs: _call_back(line, number, args, kwargs)

    args, kwargs, replaced = plain.decode(arguments, call)
    before = {each: names[each] for each in replaced if each in names}
    try:
        names.update(replaced)
        return names[name](*args, **kwargs)
    finally:
        names.update(before)


def _call_back(line, number: int, args: tuple, kwargs: dict):
    asked = {"function": number, "arguments": plain.encode([args, kwargs])}
    line.late, line.busy = None, True
    try:
        line.send(asked)
        reply = line.receive()
    finally:
        line.busy = False
    if line.late is not None:
        raise line.late
    if "error" in reply:
        raise ValueError(reply["error"])
    value, states = plain.decode(reply["value"])
    generators = [each for each in (*args, *kwargs.values()) if hasattr(each, "bit_generator")]
    for generator, state in zip(generators, states):
        generator.bit_generator.state = state.bit_generator.state  # advance our generator by the draws made there
    return value


def _limit(memory: int, seconds: float) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    limits = {"CPU": int(seconds) + 30, "FSIZE": LARGEST_FILE, "CORE": 0, "NOFILE": 256, "NPROC": MOST_PROCESSES}
    if os.environ["HOME"] != "/student":
        del limits["NPROC"]  # it would count the grader's processes
    if pages:  # elsewhere the system does not enforce it
        limits["AS"] = pages * resource.getpagesize() + memory * 2**20
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    for name, limit in limits.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))


def _late(seconds: float, line, *_):
    late = Late(f"stopped: still running after {seconds:.0f} s")
    if not line.busy:
        raise late
    line.late = late  # immediately, it would leave half a message, or a reply mistaken for the next request's


# ---- cells


def _shell():
    """Return an IPython shell without a screen, made once and then forked. It collects in `displayed` what cells
    show."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    displayed: list = []

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

        def _tee(self, channel):  # IPython would keep all printed text, without limit
            return contextlib.nullcontext()

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = Shell.instance(config=config)
    shell.displayed = displayed
    shell.run_line_magic("matplotlib", "inline")
    return shell


class _Printed(io.StringIO):
    """A stream of text that keeps the first `LONGEST_TEXT` characters."""

    def write(self, text):
        room = LONGEST_TEXT - self.tell()
        if room > 0:
            super().write(text if len(text) <= room else text[:room] + "\n[the rest is left out]\n")
        return len(text)


def _cell(source: str, shell) -> dict:
    shell.displayed.clear()
    printed, warned = _Printed(), _Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(warned):
        result = shell.run_cell(source, store_history=True)
    outputs = [
        {"output_type": "stream", "name": name, "text": text.getvalue()}
        for name, text in (("stdout", printed), ("stderr", warned))
        if text.getvalue()
    ]
    shown = filter(None, map(_kept, shell.displayed[:MOST_DISPLAYS]))
    outputs += [{"output_type": "display_data", "data": kept} for kept in shown]
    error = result.error_before_exec or result.error_in_exec
    return {"outputs": outputs + ([_described(error)] if error else []), "error": _line(error)}


def _kept(data: dict) -> dict:
    """Return the parts of a displayed object that a page can show."""
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
    if isinstance(error, Late):
        return str(error)
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{type(error).__name__} in line {error.lineno}: {error.msg}: {(error.text or '').strip()[:100]}"
    try:
        text = " ".join(str(error).split())[:500]
    except BaseException:  # a student's exception may fail to describe itself
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _described(error) -> dict:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "ipython-input" in frame.filename]
    lines = [f"line {frame.lineno}, in {frame.name}" for frame in frames[-20:]]
    return {"output_type": "error", "traceback": [*lines, _line(error)]}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "confined", sys.argv[3:])
