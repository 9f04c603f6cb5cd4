"""Plant known faults in `lib`, one at a time, and check whether the verdicts of the chapters change.

    make faults                 faults whose code has changed since, into book/results/faults.csv (all: three hours)
    make faults ONLY=kiri2019   those of one document; the rows of other documents are kept
    make faults ONLY=leaks      the leaks alone; runs with different ONLY can go on side by side

tests/house/planted_faults.yml lists the faults, each as a line of code and its replacement. For each fault, chapters of the document
run on a copy of the repository, with their default parameters and without their pictures: those that judge claims and use the faulty
code. The chapters run one after the other until one detects the fault; the chapter that detected it in the kept run
comes first. A verdict has moved if it differs from the verdict without the fault. Such a verdict does not count if it
also changes with the seed: without the fault, all of `SEEDS` are tried. A claim that waits for the real data is judged
here by the synthetic sample, with and without the fault. A chapter that ends in an error, or does not end, also counts
as a detection. If no chapter detects the fault, the list must explain why, and name a test that fails with the fault
and passes without it; otherwise the command fails.

tests/house/planted_leaks.yml lists leaks by the function that releases. The leaks are small, depend on a size or a rare
case, and would pass a review. No chapter runs for a leak: the test that the list names must fail.

Each row has its own key, which covers this file, the chapters and the test that ran for the row, and the fixtures that
the test shares. So a change makes out of date only the rows that it can affect.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from book.kept import content_key, results

ROOT = Path(__file__).resolve().parents[2]
LIST, KEPT = ROOT / "tests/house/planted_faults.yml", ROOT / "book/results/faults.csv"
LEAKS = LIST.with_name("planted_leaks.yml")
# Imported before the fork: they are most of a chapter's start.
LIBRARIES = ("scipy.stats", "scipy.optimize", "sympy", "matplotlib.pyplot", "numba", "sklearn.linear_model",
             "sklearn.metrics", "prv_accountant", "IPython.display")  # fmt: skip
SEEDS = (0, 1, 2)  # added to a chapter's own
LIMIT = 150  # CPU seconds of a chapter or a test: three times what the longest takes
COLUMNS = ["document", "fault", "file", "was", "is", "moved", "stopped", "explained", "test", "code", "key"]


@dataclass(frozen=True)
class Fault:
    """The text `was`, which occurs once in `file`, becomes `becomes`; `says` describes the fault.

    explained : why no verdict moves, if none does; test : the test that notices then, as for pytest
    """

    document: str
    says: str
    file: str
    was: str
    becomes: str
    test: str = ""
    explained: str = ""

    def plant(self, root: Path) -> None:
        """Plant the fault below `root`. Raises ``ValueError`` unless `was` occurs once in the file."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.was) != 1:
            raise ValueError(f"was must occur once in {self.file}, got {text.count(self.was)} times {self.was!r}")
        path.write_text(text.replace(self.was, self.becomes), encoding="utf-8")


def listed() -> list[Fault]:
    """Return the faults, and the leaks as those of the document "leaks", in the order of their files."""
    documents, functions = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in (LIST, LEAKS))
    faults = [Fault(document, **entry) for document, entries in documents.items() for entry in entries]
    leaks = [
        Fault("leaks", **entry | {"says": f"{function}: {entry['says']}"})
        for function, entries in functions.items()
        for entry in entries
    ]
    return faults + leaks


def chapters(fault: Fault) -> list[str]:
    """Return the document's notebooks that depend on the fault's file, those that noticed in the kept run first."""
    own = sorted((ROOT / "notebooks" / fault.document).glob("*.ipynb"))
    found = [str(path.relative_to(ROOT)) for path in own if ROOT / fault.file in content_key.closure(path)]
    kept = [row for row in _rows(KEPT) if (row["document"], row["fault"]) == (fault.document, fault.says)]
    told = "; ".join(row["moved"] + "; " + row["stopped"] for row in kept)
    noticed = {row["notebook"] for row in _rows(KEPT.with_name("claims.csv")) if f"{row['id']}: " in told}
    return sorted(found, key=lambda each: each not in noticed and f"{Path(each).stem}: " not in told)


@functools.cache
def _rows(path: Path) -> list[dict[str, str]]:
    return results.rows(path) if path.is_file() else []


# ---------------------------------------------------------------- running a chapter


def judged(folder: Path, notebook: str, more: int = 0) -> tuple[dict[str, str], str]:
    """Return the verdicts of `notebook`, run in the repository at `folder`, by claim, and the error that ends it, or "".

    more : the number added to its seed
    """
    with tempfile.TemporaryFile() as told:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                pickle.dump(_run(folder, notebook, more), told)
                told.flush()
            os._exit(0)
        os.waitpid(child, 0)
        told.seek(0)
        return pickle.load(told)


def fails(folder: Path, test: str) -> bool:
    """Return whether `test` fails in the repository at `folder`. Raises ``RuntimeError`` if it cannot be run."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *test.split()]
    env = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, preexec_fn=_limit)
    if done.returncode not in (0, 1, -signal.SIGXCPU):
        raise RuntimeError(f"{test} cannot be run: {(done.stdout + done.stderr)[-500:]}")
    return done.returncode != 0


def _limit() -> None:
    """End this process after `LIMIT` CPU seconds: a fault may make a loop endless."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, -1))


def _ended(*_) -> None:
    raise TimeoutError(f"it does not end within {LIMIT} CPU seconds")


def _run(folder: Path, notebook: str, more: int) -> tuple[dict[str, str], str]:
    signal.signal(signal.SIGXCPU, _ended)
    _limit()
    os.chdir(folder)
    # A fault planted within the second, as long as what it takes the place of, would not be read.
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(each for each in sys.path if each not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.split(".")[0] in ("lib", "book", "notebooks", "tests")]:
        del sys.modules[name]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    found = _listen()
    names = {"__name__": "__main__", "display": lambda *_, **__: None}
    for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            try:
                exec(compile("".join(cell["source"]), notebook, "exec"), names)
            except Exception as error:
                return found, f"{type(error).__name__}: {error}".split("\n")[0]
            if "parameters" in cell.get("metadata", {}).get("tags", []) and "seed" in names:
                names["seed"] += more
    return found, ""


def _listen() -> dict[str, str]:
    """Return the verdicts of `book.ledger.claims` from now on, by id. A claim with a value is judged also on synthetic data."""
    from book.ledger import claims

    found, judge = {}, claims._judge

    def heard(claim, value, reason, stand_in, undetermined, setting):
        record = judge(claim, value, reason, stand_in and value is None, undetermined, setting)
        found[claim.id] = record.verdict
        return record

    claims._judge = heard
    return found


@contextlib.contextmanager
def copy():
    """Provide a copy of what the chapters need, with the compiled functions as old as they are."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("lib", "book", "notebooks", "tests"):
            skipped = shutil.ignore_patterns("*.pyc", "notebooks" if name == "book" else "assignments")
            shutil.copytree(ROOT / name, Path(folder, name), ignore=skipped)
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield Path(folder)


# ---------------------------------------------------------------- all of them


def steady(folder: Path, notebook: str) -> tuple[dict[str, str], str]:
    """Return the verdicts of `notebook` that are the same for each of `SEEDS`. Raises ``RuntimeError`` if it fails."""
    found, *others = [judged(folder, notebook, more) for more in SEEDS]
    for _, error in (found, *others):
        if error:
            raise RuntimeError(f"{notebook} fails without any fault: {error}")
    return {id: verdict for id, verdict in found[0].items() if all(other.get(id) == verdict for other, _ in others)}, ""


def compare(fault: Fault, before: dict[str, tuple]) -> dict[str, str]:
    """Return the row of one fault; `before` keeps the steady verdicts of each chapter without a fault between calls."""
    moved, stopped, ran = [], [], ["tests/house/planted_faults.py"]
    with copy() as folder:
        for notebook in chapters(fault):
            if notebook not in before:
                before[notebook] = steady(folder, notebook)
        fault.plant(folder)
        for notebook in chapters(fault):
            if not (was := before[notebook][0]):
                continue  # it goes beyond the document, and judges nothing
            if moved or stopped:
                break
            ran.append(notebook)
            found, error = judged(folder, notebook)
            moved += [f"{id}: {was[id]} to {found[id]}" for id in found if id in was and found[id] != was[id]]
            stopped += [f"{Path(notebook).stem}: {error}"] if error else []
        noticed = ""
        if fault.test and not moved and not stopped:
            test = Path(fault.test.split()[0].split("::")[0])
            shared = [each / "conftest.py" for each in test.parents if (ROOT / each / "conftest.py").is_file()]
            ran += [str(each) for each in (*shared, test)]
            noticed = fault.test if fails(folder, fault.test) else ""
    if noticed and noticed not in before:
        with copy() as folder:
            if fails(folder, noticed):
                raise RuntimeError(f"{noticed} fails without any fault")
        before[noticed] = ({}, "")
    told = [fault.document, fault.says, fault.file, fault.was, fault.becomes, "; ".join(moved), "; ".join(stopped)]
    explained, code = "" if moved or stopped else fault.explained, " ".join(ran)
    return dict(zip(COLUMNS, [*told, explained, noticed, code, results.key(code)[:12]], strict=True))


def main(arguments=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="a document, or a part of what a fault says")
    parser.add_argument("--output", type=Path, default=KEPT)
    given = parser.parse_args(arguments)
    known = [fault for fault in listed() if given.only in fault.document or given.only in fault.says]
    if not known:
        parser.error(f"--only must be part of a document or of what a fault says, got {given.only!r}")
    faults = known if given.only else [fault for fault in known if not current(fault, given.output)]
    print(f"{len(faults)} of {len(known)} faults to plant", flush=True)
    os.environ.update(MPLBACKEND="Agg", OMP_NUM_THREADS="1")
    sys.dont_write_bytecode = True  # a fault may be as old and as long as what it replaces
    for name in LIBRARIES:
        __import__(name)
    before, missed = {}, []
    for fault in faults:
        row = compare(fault, before)
        count = row["moved"].count(" to ")
        how = f"{count} moved" if count else row["stopped"] or row["test"] or "NOT NOTICED"
        print(f"{fault.document}  {fault.says}: {how}", flush=True)
        missed += [] if row["moved"] or row["stopped"] or row["test"] else [fault.says]
        _keep(given.output, row)
    if missed:
        sys.exit(f"no verdict, error or listed test noticed these faults: {'; '.join(missed)}")


def current(fault: Fault, path: Path) -> bool:
    """Return whether the file at `path` has a row of `fault` as the list has it, made with today's code."""
    told = (fault.document, fault.says, fault.file, fault.was, fault.becomes)
    found = [row for row in _rows(path) if tuple(row[name] for name in COLUMNS[:5]) == told]
    return any(not results.stale(row) for row in found)


def _keep(output: Path, row: dict[str, str]) -> None:
    """Write `row` into the file, in the list's order, beside those of other faults that are still listed."""
    settings = {"parameters": "default"}
    made = results.collect("tests.house.planted_faults", [], data="stand-in", settings=settings, code=row["code"])
    del made["code"]  # each row has its own
    folder = os.open(output.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # until it is closed: another run may write as well
        known = results.rows(output) if output.is_file() else []
        done = {(each["document"], each["fault"]): each for each in [*known, row]}
        ordered = [done[each.document, each.says] for each in listed() if (each.document, each.says) in done]
        results.save(output, pd.DataFrame(ordered, columns=COLUMNS), made | {"command": "make faults"})
    finally:
        os.close(folder)


if __name__ == "__main__":
    main()
