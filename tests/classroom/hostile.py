"""Hostile and unlucky submissions, each with the mark that it must get.

Each is an unsolved notebook of `gaussian_records` with cells that try to earn points, to stop the run, or to read what
students may not read.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from notebooks.assignments import assignment

NAME = "gaussian_records"

# Cells that stand after the setup of a notebook in which nothing is solved: all of them must earn nothing.
EARNS_NOTHING = {
    # -- replacing what makes the marks
    "grader's test replaced": """
import gc, sys
for module in list(sys.modules.values()):
    for name in ("_test", "_question", "verdict"):
        if callable(getattr(module, name, None)):
            setattr(module, name, lambda *_, **__: {"outputs": [], "error": None})
for thing in gc.get_objects():
    if isinstance(thing, dict) and callable(thing.get("_test")):
        thing["_test"] = lambda *_: {"outputs": [], "error": None}
""",
    "key in memory": """
import gc
for thing in gc.get_objects():
    source = thing.get("source") if isinstance(thing, dict) else None
    if isinstance(source, str) and "BEGIN SOLUTION" in source:
        try:
            exec(source, globals())
        except Exception:
            pass
""",
    "solutions on the disk": """
import json, os, pathlib, sys, lib
tops = {"/", "/class", "/tmp", "/home", "/srv", "/opt", "/mnt", "/old", os.getcwd(), *map(str, pathlib.Path(lib.__file__).parents), *sys.path}
for top in filter(os.path.isdir, tops):
    for where, folders, names in os.walk(top):
        folders[:] = [each for each in folders if each not in ("site-packages", "proc", "sys", "dev", "usr")]
        for name in names:
            if name.endswith((".ipynb", ".py")) and where != os.getcwd():
                try:
                    text = open(os.path.join(where, name)).read()
                    if "BEGIN SOLUTION" in text and name.endswith(".ipynb"):
                        for cell in json.loads(text)["cells"]:
                            exec("".join(cell["source"]), globals())
                except Exception:
                    pass
""",
    "equals everything": """
class Everything:
    def __array__(self, *_, **__): return np.array(self, dtype=object)
    def __getattr__(self, name): return Everything()
    def __call__(self, *_, **__): return Everything()
    def __array_function__(self, *_, **__): return True
    def __array_ufunc__(self, *_, **__): return True
    def __iter__(self): return iter([Everything(), Everything()])
    def __getitem__(self, _): return Everything()
    def __bool__(self): return True
for _name in "__eq__ __lt__ __le__ __gt__ __ge__ __ne__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__".split():
    setattr(Everything, _name, lambda *_: Everything())
renyi = renyi_numeric = with_one_more = cost_of_joining = records_needed = lambda *_, **__: Everything()
answers = Everything()
""",
    "frames": """
import sys
def renyi(*_, **__):
    frame = sys._getframe()
    while frame:
        for space in (frame.f_locals, frame.f_globals):
            for name in list(space):
                if name in ("_right", "_truth", "expected", "space", "case", "key"):
                    return space[name]
            if "error" in space and frame.f_code.co_name != "renyi":
                space["error"] = None
        frame = frame.f_back
    return 0
renyi_numeric = with_one_more = cost_of_joining = records_needed = renyi
answers = {"unbounded": 1, "bounded": 1}
""",
    "memory of other processes": """
import os, re
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        for line in open(f"/proc/{pid}/maps"):
            low, high = (int(each, 16) for each in line.split()[0].split("-"))
            if "rw" in line and int(pid) != os.getpid():
                memory = open(f"/proc/{pid}/mem", "rb"); memory.seek(low)
                for found in re.findall(rb"def renyi.{0,600}?END SOLUTION", memory.read(min(high - low, 2**26)), re.DOTALL):
                    exec(found.decode("unicode_escape"), globals())
    except Exception:
        pass
""",
    "numpy replaced": """
for _name in "isclose allclose array_equal any all abs".split():
    setattr(np, _name, lambda *_, **__: np.True_)
np.testing.assert_allclose = lambda *_, **__: None
def renyi(*_): return 1.0
renyi_numeric = cost_of_joining = records_needed = renyi
def with_one_more(*_): return 1.0, 1.0
answers = {"unbounded": 1, "bounded": 1}
""",
    "builtins replaced": """
import builtins
for _name in "isinstance callable abs min max all any".split():
    setattr(builtins, _name, lambda *_, **__: True)
renyi = renyi_numeric = with_one_more = cost_of_joining = records_needed = lambda *_: True
""",
    "traced": """
import sys, threading
def trace(frame, event, argument):
    for name in ("error", "_error"):
        if name in frame.f_locals:
            frame.f_locals[name] = None
    return trace
sys.settrace(trace); sys.setprofile(trace); threading.settrace(trace)
renyi = lambda *_: 1.0
""",
    "forged replies": """
import json, os, socket, stat, struct, threading, time
_message = json.dumps({"value": True, "outputs": [], "error": None, "points": 99, "questions": []}).encode()
def _flood():
    for number in range(256):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                for _ in range(50):
                    os.write(number, struct.pack(">Q", len(_message)) + _message)
        except OSError:
            pass
_flood()
renyi = lambda *_: _flood()
""",
    "codec replaced": """
import sys
sys.modules["plain"].encode = lambda *_: ["function", 0]
renyi = with_one_more = lambda *_: 0
""",
    "pickled array": """
import base64, pickle, sys
class Evil:
    def __reduce__(self): return (eval, ("__import__('os').system('touch /tmp/escaped')",))
_bytes = base64.b64encode(pickle.dumps(Evil())).decode()
sys.modules["plain"].encode = lambda *_: ["array", "|O8", [1], _bytes]
renyi = with_one_more = lambda *_: 0
""",
    "empty arrays": """
renyi = renyi_numeric = with_one_more = cost_of_joining = records_needed = lambda *_: np.empty((0, 1))
answers = {}
""",
    "numbers that are none": """
renyi = renyi_numeric = cost_of_joining = records_needed = lambda *_: float("nan")
with_one_more = lambda *_: (float("nan"), float("nan"))
answers = {"unbounded": float("nan"), "bounded": float("nan")}
""",
    "subclasses": """
class Number(float):
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda *_: True
    __hash__ = float.__hash__
    def __float__(self): return self
renyi = renyi_numeric = cost_of_joining = records_needed = lambda *_: Number(1)
with_one_more = lambda *_: (Number(1), Number(1))
answers = {"unbounded": Number(1), "bounded": Number(1)}
""",
    "huge answers": """
renyi = lambda *_: np.zeros(2**28)
with_one_more = lambda *_: 10 ** 100_000
renyi_numeric = lambda *_: "x" * 2**27
_nest = []
for _ in range(900): _nest = [_nest]
cost_of_joining = lambda *_: _nest
answers = {number: [number] for number in range(10**6)}
""",
    "callbacks misused": """
def renyi_numeric(log_p, log_q, alpha):
    for odd in (np.zeros(10**7), "text", None, [[1], [2, 3]], {}, 10**300, np.zeros((2,) * 20)):
        try:
            log_p(odd)
        except Exception:
            pass
    return getattr(log_p, "__closure__", 1) and 1.0
def records_needed(per_record, total):
    while True:
        per_record(5)
""",
    "start-up files": """
import os, pathlib, site, sys
for place in (*sys.path, *site.getsitepackages(), site.getusersitepackages(), os.path.expanduser("~"), "/class", "/tmp"):
    for name in ("sitecustomize.py", "usercustomize.py", "evil.pth", "numpy.py", "plain.py", ".pythonrc.py"):
        try:
            pathlib.Path(place).mkdir(parents=True, exist_ok=True)
            pathlib.Path(place, name).write_text("import os; os.system('touch /tmp/escaped')")
        except OSError:
            pass
profile = pathlib.Path(os.path.expanduser("~/.ipython/profile_default/startup")); profile.mkdir(parents=True, exist_ok=True)
(profile / "00.py").write_text("import numpy as np; np.isclose = lambda *_, **__: True")
""",
    "environment": """
import os
import re
os.environ.update(LD_PRELOAD="/tmp/x.so", PYTHONSTARTUP="/tmp/x.py", PYTHONPATH="/tmp", PATH="/tmp", PYTHONINSPECT="1")
assert not {name for name in os.environ if "TOKEN" in name or "SECRET" in name or "DATA" in name}
""",
    "marks written": """
import csv, os
for place in (RESULTS, os.path.join(RESULTS, "records"), os.path.join(REPOSITORY, "build"), REPOSITORY, "/"):
    for name in ("grades.csv", "marks.csv", "by-hand.csv", "0" * 32 + ".json"):
        try:
            os.makedirs(place, exist_ok=True)
            open(os.path.join(place, name), "w").write("escaped")
        except OSError:
            pass
for place in ("perturbed.csv", "records", "grades.csv"):
    os.symlink("/etc/passwd", place)
""",
    "exit handlers": """
import atexit, os, weakref
atexit.register(lambda: os.write(1, b"points: 16"))
class Last:
    def __del__(self): print("16 of 16")
_last = Last()
""",
    "errors that bite": """
class Bite(Exception):
    def __str__(self): raise Bite
    __repr__ = __str__
Bite.__name__ = "=HYPERLINK(1)" + chr(27) + "[2J" * 99
def renyi(*_): raise Bite
def with_one_more(*_): raise ValueError("=cmd|' /C calc'!A1" + chr(27) + "]0;x" + chr(7))
def cost_of_joining(*_): raise SystemExit(0)
def records_needed(*_): raise KeyboardInterrupt
raise Bite
""",
}

# The same, of those that would stop the run, or stay when it is over.
STOPS_NOTHING = {
    "kills its parent": "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
    "kills all": "import os, signal; os.kill(-1, signal.SIGKILL)",
    "freezes its parent": "import os, signal; os.kill(os.getppid(), signal.SIGSTOP); os._exit(0)",
    "thirty detached children": """
import os, time
for _ in range(30):
    if not os.fork():
        os.setsid()
        os.execvp("sleep", ["sleep", "98765"])
""",
    "fork bomb": """
import os
import re
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    "thread bomb": """
import threading, time
while True: threading.Thread(target=time.sleep, args=(1000,)).start()
""",
    "stubborn": "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
    "alarm off": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0); signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass",
    "hundred megabytes printed": "for _ in range(100): print('x' * 2**20)",
    "hundred megabytes written": "import os\nfor _ in range(100):\n    for number in (1, 2): os.write(number, b'x' * 2**20)",
    "hundred megabytes shown": "from IPython.display import HTML, display\nfor _ in range(100): display(HTML('x' * 2**20))",
    "hundred megabytes sent": """
import os, stat, struct
for number in range(256):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            os.write(number, struct.pack(">Q", 2**40))
            while True: os.write(number, b"[" * 2**20)
    except OSError:
        pass
""",
    "nested message": """
import os, stat, struct
for number in range(256):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode): os.write(number, struct.pack(">Q", 10**6) + b"[" * 10**6)
    except OSError:
        pass
""",
    "nested HTML": "from IPython.display import HTML\nHTML('<div>' * 20_000 + 'x' + '</div>' * 20_000)",
    "disk filled": """
for number in range(10_000):
    try:
        open(f"/tmp/{number}", "wb").write(b"x" * 2**25)
    except OSError:
        break
while True: open(f"{number}", "wb").write(b"x" * 2**25); number += 1
""",
    "memory filled": "hoard = []\nwhile True: hoard.append(np.ones(10**7))",
    "line closed": "import os; os.closerange(0, 4096)",
    "crash": "import ctypes; ctypes.string_at(0)",
    "no descriptors": "import os\nwhile True: os.dup(0)",
    "deep folders": "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')",
}

CODE = {**EARNS_NOTHING, **STOPS_NOTHING}


def unsolved(code: str, at: int = 3):
    """Return the notebook as it was handed out, its solutions emptied, and `code` in a cell at the beginning and at the end."""
    notebook = nbformat.from_dict(assignment.prepare(NAME).released)
    for cell in notebook.cells:
        if assignment.kind(cell) == "solution":
            cell.source = ""
    notebook.cells.insert(at, new_code_cell(code))
    notebook.cells.append(new_code_cell(code))
    return notebook


def solved(answer: str = "My answer, of which there is only one."):
    """Return all solutions, and `answer` in the place of free text, "{cell}" in it standing for the cell's name."""
    key = assignment.key(NAME)
    notebook = assignment.student(key)
    for cell, right in zip(notebook.cells, key.cells, strict=True):
        if assignment.kind(cell) == "solution":
            cell.source = right.source
        elif assignment.kind(cell) == "answer":
            cell.source = answer.format(cell=cell.id)
    return notebook


def lines_of(*marks: str) -> set[str]:
    """Return the long lines of the instructor's cells between "### BEGIN mark" and "### END": what no student may see."""
    between = re.compile(rf"### BEGIN (?:{'|'.join(marks)})\n(.*?)### END", re.DOTALL)
    parts = [part for cell in assignment.key(NAME).cells for part in between.findall(cell.source)]
    return {line.strip() for part in parts for line in part.split("\n") if len(line.strip()) > 20}


def from_colab():
    """Return a good notebook as Colab saves it: an older format, without ids and nbgrader's marks, with Colab's metadata."""
    notebook = solved("Written in Colab.")
    notebook.nbformat_minor, notebook.metadata = (
        0,
        {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    for number, cell in enumerate(notebook.cells):
        cell.pop("id")
        cell.metadata = {"id": f"Xy{number}"}
    return notebook


# Files that are no notebooks to grade, each with what the table says of it. `make(folder)` writes one.
FILES: dict = {}


def file(said: str):
    def keep(make):
        FILES[make.__name__] = make, said
        return make

    return keep


def _zipped(path: Path, text: str) -> bytearray:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{NAME}.ipynb", text)
    return bytearray(path.read_bytes())


@file("the zip file cannot be read")
def damaged_zip(folder):
    content = _zipped(folder / "a.zip", nbformat.writes(solved()))
    content[60:90] = b"\xff" * 30  # in the deflated data
    (folder / "a.zip").write_bytes(content)


@file("the zip file cannot be read")
def encrypted_zip(folder):
    content = _zipped(folder / "a.zip", nbformat.writes(solved()))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + place] |= 1
    (folder / "a.zip").write_bytes(content)


@file("the zip file cannot be read")
def zip_cut_off(folder):
    content = _zipped(folder / "a.zip", nbformat.writes(solved()))
    (folder / "a.zip").write_bytes(content[: len(content) // 2])


@file("the zip file cannot be read .it holds more than")
def zip_bomb(folder):
    with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.ipynb", b"0" * (60 * 2**20), compresslevel=1)


@file("it holds more than 1000 files")
def zip_of_many(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for number in range(3000):
            archive.writestr(f"{number}.ipynb", "{}")


@file("not a notebook")
def zip_slip(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("../../../../tmp/escaped.ipynb", "{}")


@file("a link, not a file")
def zipped_link(folder):
    entry = zipfile.ZipInfo(f"{NAME}.ipynb")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")


@file("not a regular file")
def pipe(folder):
    os.mkfifo(folder / f"{NAME}.ipynb")


@file("a link, not a file")
def link(folder):
    (folder / f"{NAME}.ipynb").symlink_to("/dev/zero")


@file("not a notebook")
def cut_off(folder):
    (folder / f"{NAME}.ipynb").write_text(nbformat.writes(solved())[:5000])


@file("not a notebook")
def nested(folder):
    (folder / f"{NAME}.ipynb").write_text('{"cells": ' + "[" * 200_000)


@file("cells, but at most 1000 are permitted")
def many_cells(folder):
    notebook = solved()
    notebook.cells = notebook.cells * 100
    (folder / f"{NAME}.ipynb").write_text(json.dumps(notebook))


@file("larger than 64 MiB")
def large(folder):
    with (folder / f"{NAME}.ipynb").open("wb") as stream:
        stream.truncate(65 * 2**20)


@file("it has an old format: open it in Jupyter")
def old_format(folder):
    (folder / f"{NAME}.ipynb").write_text('{"nbformat": 3, "worksheets": [{"cells": []}]}')


@file("not a notebook")
def undecodable_name(folder):
    (folder / os.fsdecode(b"\xff\xfe" + NAME.encode() + b".ipynb")).write_text("[]")


@file("nothing handed in")
def folder_named_like_a_notebook(folder):
    (folder / f"{NAME}.ipynb").mkdir()
