"""Classes that are graded once in a run of the tests, by the first worker that needs them, and that many tests read."""

import fcntl
import hashlib
import inspect
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
import pytest

from notebooks.assignments import assignment, judge, shipped
from tests.classroom import class_of_all, hostile

ROOT = Path(__file__).resolve().parents[2]
GRADED = pytest.StashKey()


@pytest.fixture(scope="session")
def cases():
    return {name: assignment.prepare(name) for name in assignment.names()}


@pytest.fixture(scope="session")
def box(cases, tmp_path_factory):
    """Provide a process within the walls for all assignments."""
    modules = set().union(*(shipped.modules(case.released) for case in cases.values()))
    with judge.Box(judge.class_folder(list(cases.values()), tmp_path_factory.mktemp("place")), modules) as box:
        yield box


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Return `filled` for the folder that all workers share."""
    return partial(filled, shared(tmp_path_factory))


def shared(factory) -> Path:
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def filled(top: Path, name: str, make) -> Path:
    """Return the folder `name` in `top`, filled by `make` in the first worker that asks; the others wait."""
    with (top / f"{name}.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (top / name).exists():
            shutil.rmtree(top / f"{name}.begun", ignore_errors=True)
            (top / f"{name}.begun").mkdir()
            make(top / f"{name}.begun")
            (top / f"{name}.begun").rename(top / name)
    return top / name


@pytest.fixture(scope="session")
def grade():
    return run_grade


def run_grade(folder: Path, target: Path, *options, **more) -> str:
    """Grade `folder` into `target` by the command that instructors use; return what was printed."""
    command = [sys.executable, "-m", "notebooks.assignments.grade", folder, "-o", target, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pytest_collection_finish(session):
    """Begin to grade the class of all kinds, which mostly waits for what never ends, while other tests run."""
    asked = any(
        "graded" in inspect.signature(item.function).parameters for item in session.items if hasattr(item, "function")
    )
    if asked and not session.config.option.collectonly:
        params = [item.callspec.params for item in session.items if hasattr(item, "callspec")]
        tricks = [each["trick"] for each in params if "trick" in each]
        top = shared(session.config._tmp_path_factory)
        own = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))  # a thread would change the tests' folder
        session.config.stash[GRADED] = own.submit(filled, top, "graded", partial(grade_all, tricks))


def grade_all(tricks: list[str], top: Path) -> None:
    folder, target = top / "class", top / "out"
    class_of_all.hand_in(folder, assignment.prepare(hostile.NAME), tricks, RESULTS=str(target), REPOSITORY=str(ROOT))
    before = fingerprint(folder)
    limits = ("--cell-seconds", "4", "--notebook-seconds", "40", "--memory", "1024", "--jobs", "6")
    with tempfile.TemporaryDirectory(prefix="hostile-") as own:  # other tests may grade at the same time
        printed = run_grade(folder, target, *limits, env=os.environ | {"TMPDIR": own})
        left = [line for line in processes() if own in line or "sleep 98765" in line]
    assert fingerprint(folder) == before, "the submissions are only read"
    (top / "printed").write_text(printed)
    (top / "left").write_text("\n".join(left))


@pytest.fixture(scope="session", autouse=True)
def graded(request):
    """Return the folder that grading wrote for the class of all kinds, with the tricks that the chosen tests need.

    Beside it are the submissions, the `printed` text and the processes `left`. All tests of the classroom wait for it: its
    tricks may leave other judges no process to start.
    """
    return request.config.stash[GRADED].result() / "out" if GRADED in request.config.stash else None


@pytest.fixture(scope="session")
def class_of_one(once, grade):
    """Return the folder with the `class` of one good student, and with `out`, its grading."""

    def make(top: Path) -> None:
        (top / "class/ann").mkdir(parents=True)
        notebook = class_of_all.changed("gaussian-needed", "")
        nbformat.write(notebook, top / f"class/ann/{hostile.NAME}.ipynb")
        grade(top / "class", top / "out")

    return once("class of one", make)


def processes() -> list[str]:
    """Return the command lines of all processes that this one may look at."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def fingerprint(folder: Path) -> dict:
    """Return when each file below `folder` was last changed, and what is in it."""
    return {
        path.relative_to(folder): (
            path.lstat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "",
        )
        for path in folder.rglob("*")
    }
