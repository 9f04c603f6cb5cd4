"""Kept results: CSV files whose first lines give their provenance.

    # command: python -m lib.some_study --output book/results/some.csv
    # date: 2026-11-21
    # data: real
    # settings: delta 1e-09, seed 2025, trials 100
    # versions: Python 3.11.7, numpy 2.4.6, scipy 1.17.1, pandas 3.1.1
    # commit: 623b6baf3f2b
    # code: lib/some_study.py
    # SHA-256 of adult.data: 5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d
    method,epsilon,trial,error
    ...

A study gets its provenance from `collect`, adds its own measurements (`| {"CPU time": "868 s"}`), and writes the result
with `save`. `load` reads the frame back, and `provenance` reads the lines above it. Beside some.csv, the file some.key
contains short hashes of the definitions, files and notebooks' code that made the result (`content_key`). `changed`
compares these hashes with those of today's code.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from book.kept import content_key
from lib.release.files import whole

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).resolve().parents[1] / "results"
LIBRARIES = ("numpy", "scipy", "pandas")
ALIKE = "alike on all machines"
# Settings that make rounding alike on every x86-64 processor with FMA (since 2013), which the C library uses for exp and log:
# only instructions that all of these processors have, and sums by one thread. `ALIKE` in the Makefile has the same settings.
PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NUMBA_CPU_NAME": "generic",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
PAPERS = "notebooks/*/*.ipynb notebooks/full.yml"  # sources of a full run
FIGURES = (
    "notebooks",
    "lib",
    "book/__init__.py",
    "book/claims.yml",
    "book/figures",
    "book/kept",
    "book/ledger",
    "book/results",
)  # the sources of the figures
SHOWN = 5  # names of changed definitions at most


def collect(module, arguments, *, data, settings, files=None, libraries=LIBRARIES, code="") -> dict[str, str]:
    """Return the provenance of a result that is being made now, which `save` writes.

    module, arguments : the command line is `python -m module arguments`; for a study that make started, it is `make
        study`
    data : the data from which the result is made, "real" or "stand-in"
    settings : mapping from names to values, including the seed, with everything needed to make the result again
    files : mapping from the names of the files from which the result is made to their SHA-256, in hexadecimal
    libraries : importable names of the libraries whose versions are recorded
    code : the code that makes the result, as for `_used`. The default is the module alone.
    """
    code = code or f"{module.replace('.', '/')}.py"
    command = shlex.join(["python", "-m", module, *arguments])
    if arithmetic() == ALIKE and (study := module.removeprefix("notebooks.studies.")) != module:
        command = f"make study STUDY={shlex.quote(shlex.join([study, *arguments]))}"
    made = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "data": data,
        "settings": _listed(settings),
        "versions": _listed({"Python": platform.python_version()} | versions(libraries)),
        "arithmetic": arithmetic(),
        "commit": commit(),
        "code": code,
    }
    _used(code)  # what has been imported, before it is changed
    return made | {f"SHA-256 of {name}": digest for name, digest in (files or {}).items()}


def arithmetic() -> str:
    """Return `ALIKE` if rounding is the same on every machine, as in runs by make, and otherwise a text that says whose
    rounding it is. The result of a fit with many steps depends on rounding."""
    if "COMPENDIUM_SCHEDULER" in os.environ:  # the workers' settings are their own
        return "of the workers"
    return ALIKE if all(os.environ.get(name) == value for name, value in PINNED.items()) else "of one machine"


def commit() -> str:
    """Return the commit that is checked out, with "-dirty" if files other than kept results have been changed since; ""
    if the commit is unknown."""
    last = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/", f":(exclude){FOLDER}")
    return f"{last}-dirty" if last and changed else last


def figures_commit(root: Path = FOLDER.parents[1]) -> tuple[str, bool]:
    """Return the last commit of the figures' sources, and whether the working tree has changed since; ("", False) if
    the commit is unknown."""
    last = git("log", "-1", "--format=%H", "--", *FIGURES, folder=root)
    return last, bool(last and git("status", "--porcelain", "--", *FIGURES, folder=root))


def key(code: str) -> str:
    """Return a hash, in hexadecimal, of everything that `code` uses (`_used`)."""
    return hashlib.sha256(" ".join(sorted(_used(code))).encode()).hexdigest()


@cache
def _used(code: str) -> dict[str, str]:
    """Return what `code` uses, in the form of `content_key.definitions`.

    code : paths of files below the repository, or patterns for such paths, separated by spaces

    For chapters, the kept results that they read count, except those directly in `FOLDER`, which are results of all
    chapters together. For studies, kept results do not count, because they are output. If a study is a command, only
    the code that the command runs counts, and not the code that reads its results. The code that writes kept results is
    left out, because it does not affect their values. Raises ``FileNotFoundError`` if a pattern matches no file.
    """
    starts = []
    for pattern in code.split():
        found = sorted(content_key.ROOT.glob(pattern))
        if not found:
            raise FileNotFoundError(f"no such file in the repository: {pattern}")
        starts += found
    chapters = any(path.suffix == ".ipynb" for path in starts)
    made = FOLDER.glob("*.csv") if chapters else FOLDER.rglob("*.csv")
    lists = content_key.ROOT.glob("tests/house/planted_*.yml")  # of which a row has its own entry
    return content_key.definitions(*starts, without=(Path(__file__).parent, *made, *lists), as_commands=True)


def changed(path) -> list[str]:
    """Return the names of definitions and files that the code of the file at `path` uses today, but did not use in this
    form when it made the file.

    If the code only uses less than it did then, the list says so in words.

    Raises ``FileNotFoundError`` if no hashes of that code are kept, or if a file of that code no longer exists.
    """
    code, hashes = Path(path).with_suffix(".key").read_text(encoding="utf-8").split("\n", 1)
    then, today = set(hashes.split()), _used(code)
    new = {name for said, name in today.items() if said not in then}
    return sorted(new, key=str.swapcase) or ["what is no longer used"] * (not then <= today.keys())


def stale(row: Mapping[str, str]) -> bool:
    """Return whether the row's "code", or something that it uses, has been removed or changed since the row got its
    "key"."""
    try:
        return key(row["code"])[: len(row["key"])] != row["key"] or not row["key"]
    except FileNotFoundError:
        return True


def made_by(path) -> str:
    """Return in words whether today's code made the file at `path`, or which version released the file.

    If each row has its own code (`stale`), the text says for how many rows the code has changed.
    """
    if version := provenance(path).get("version"):
        return f"the code of version {version}"
    if "code" not in provenance(path):
        old = [stale(row) for row in rows(path)]
        return f"earlier code for {old.count(True)} of {len(old)} rows" if any(old) else "the code of today"
    try:
        names = changed(path)
    except FileNotFoundError:
        return "code that is gone"
    few = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    return f"earlier code; changed since: {few}" if names else "the code of today"


def versions(libraries: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of `libraries`. The keys are the names under which they are imported."""
    return {name: import_module(name).__version__ for name in libraries}


def _listed(values: Mapping) -> str:
    """Return ``name value, name value``, with floating-point numbers in their short form."""
    short = {name: f"{value:g}" if isinstance(value, float) else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in short.items())


def save(path, frame, provenance, *, float_format="%.6g", part=False) -> None:
    """Write `provenance`, a mapping of one-line texts, and below it `frame` as CSV. The file is written completely or
    not at all.

    If `provenance` has "code", the hashes of what that code uses are written to a second file. An index with names is
    written as columns, for `set_index` after loading; an index without names is dropped. Set `part` if only some rows
    were made again; the second file then stays as it is. Raises ValueError if an item of `provenance` could not be read
    back.
    """
    head = [f"# {name}: {value}" for name, value in provenance.items()]
    for name, line in zip(provenance, head):
        if ": " in name or line.splitlines() != [line]:
            raise ValueError(f"provenance must map names without ': ' to texts of one line, got {line!r}")
    named = any(name is not None for name in frame.index.names)
    table = frame.to_csv(index=named, float_format=float_format, lineterminator="\n")
    write(path, "".join(f"{line}\n" for line in head) + table)
    if (code := provenance.get("code")) and not part:
        write(Path(path).with_suffix(".key"), f"{code}\n{' '.join(_used(code))}\n")


def load(path) -> pd.DataFrame:
    """Return the frame that `save` wrote, with its index among the columns; numbers have the digits in the file."""
    lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    import pandas as pd  # slow to import, and not every user of this module loads

    return pd.read_csv(io.StringIO("".join(lines[len(_head(lines)) :])))


def rows(path) -> list[dict[str, str]]:
    """Return the rows that `load` reads, each as a mapping from column names to texts; an empty cell is ""."""
    return load(path).astype(object).fillna("").astype(str).to_dict("records")


def provenance(path) -> dict[str, str]:
    """Return the provenance of the file at `path`, which `save` wrote, as texts."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return dict(line[2:].split(": ", 1) for line in _head(lines))


def _head(lines) -> list[str]:
    return list(takewhile(lambda line: line.startswith("# "), lines))


def write(path, text) -> None:
    """Write `text` to `path`, completely or not at all (`lib.release.files`)."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def git(*arguments, folder=FOLDER) -> str:
    """Return the output of git in `folder`; "" if git is not installed or fails (for example, outside a repository)."""
    try:
        answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
