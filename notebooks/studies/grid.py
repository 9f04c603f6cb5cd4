"""Run grids of independent cells in parallel, keep their results on disk, and resume after an interruption.

A study consists of a function and of places, the arguments of its calls; `run` makes these calls, the cells. Finished
cells are kept under a name that depends on everything that affects the result, including the code (`code`), and are not
computed again. If a grid is killed and restarted, only the cells that were being computed are lost.

The cells are computed by processes of this machine or, with ``COMPENDIUM_SCHEDULER=tcp://address:port`` in the
environment, by the workers of that dask.distributed scheduler. The results are the same, because a cell draws
from a generator made from its place (`generator`). The cells of a lost worker go to the others.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import joblib
import numpy as np

from book.kept import content_key, results
from lib.numerics import checks

SCHEDULER = "COMPENDIUM_SCHEDULER"
PATIENCE = 15  # seconds for a scheduler to answer, and to have a worker


class SchedulerError(RuntimeError):
    """The scheduler that `COMPENDIUM_SCHEDULER` names does not answer, has no workers, or has lost too many."""


def generator(seed, *place) -> np.random.Generator:
    """Return the random generator of the cell at `place` (texts and numbers), different from that of any other cell.

    seed : integer >= 0
    """
    seed = checks.whole("seed", seed, "[0, inf)")
    return np.random.default_rng([seed, zlib.crc32("/".join(map(str, place)).encode())])


def key(*parts) -> str:
    """Return a file name for a cell; the name changes whenever any of `parts` (JSON-serializable values) changes."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def digest(*parts) -> str:
    """Return the SHA-256 of data that a cell's `key` should depend on: the bytes of numpy arrays, and the ``repr`` of all else."""
    made = hashlib.sha256()
    for part in parts:
        made.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return made.hexdigest()


def code(function) -> str:
    """Return the content key of the module that defines `function`, without the results that studies have written."""
    return content_key.key(inspect.getfile(function), without=results.FOLDER.rglob("*.csv"))


def run(function, places, *, common=(), keys=None, folder=None, jobs=1, progress=False) -> list:
    """Return ``function(*common, *place)`` for each of `places`, in order.

    function : a function of a module, so that other processes can import it. With `folder`, its results must be
        JSON-serializable
    common : arguments that all cells share, sent to each worker of a scheduler once
    keys : a `key` for each place, which need not cover the code; folder : the folder in which results are kept and
        first looked for
    jobs : number of processes, integer >= 1; a scheduler has its own
    progress : report each finished cell on standard error, with the time left

    If a file is damaged, a message names it, and its cell is computed again. Raises `SchedulerError`, and any error of
    `function`.
    """
    places, jobs = list(places), checks.whole("jobs", jobs, "[1, inf)")
    files = _files(function, places, keys, folder)
    kept = {i: _read(file) for i, file in enumerate(files) if file and file.exists()}
    found = {i: result for i, each in kept.items() for result in each}
    missing = [i for i in range(len(places)) if i not in found]
    compute = _scheduled if os.environ.get(SCHEDULER) else _local
    began = time.monotonic()
    for done, (i, result) in enumerate(compute(function, common, places, missing, jobs), 1):
        found[i] = result
        if files[i]:
            results.write(files[i], json.dumps({"result": result}))
        if progress:
            _tell(done, len(missing), time.monotonic() - began, places[i])
    return [found[i] for i in range(len(places))]


def _files(function, places, keys, folder) -> list[Path | None]:
    if folder is None:
        return [None] * len(places)
    keys = list(keys or ())
    if len(keys) != len(places) or len(set(keys)) != len(keys):
        raise ValueError(f"keys must contain a different key for each of {len(places)} places, got {len(set(keys))}")
    made_by = code(function)
    return [Path(folder) / f"{key(name, made_by)}.json" for name in keys]


def _read(file) -> list:
    """Return the result that is kept in `file`, in a list; the list is empty if the file is damaged."""
    try:
        return [json.loads(file.read_text(encoding="utf-8"))["result"]]
    except (ValueError, LookupError, TypeError) as error:
        print(f"{file} is damaged ({error!r}), and its cell is run again", file=sys.stderr, flush=True)
        return []


def _tell(done, total, seconds, place) -> None:
    left = seconds / done * (total - done)
    named = " ".join(str(part) for part in place if isinstance(part, (str, int, float)))
    print(f"{done} of {total} cells, about {left / 60:.0f} min left: {named}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- who computes


def _numbered(function, i, common, place):
    return i, function(*common, *place)


def _local(function, common, places, missing, jobs) -> Iterator[tuple]:
    """Return (index, result) of the missing places as they are finished, by `jobs` processes."""
    calls: Iterable = (joblib.delayed(_numbered)(function, i, common, places[i]) for i in missing)
    return joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)


def _scheduled(function, common, places, missing, jobs) -> Iterator[tuple]:
    """Yield (index, result) as `_local` does, from the workers of the scheduler that the environment names."""
    from distributed import Client, as_completed  # slow to import, seldom needed
    from distributed.scheduler import KilledWorker

    if not missing:
        return
    address = os.environ[SCHEDULER]
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise SchedulerError(
            f"{SCHEDULER}={address} does not answer ({error}): start it, or unset {SCHEDULER}"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise SchedulerError(f"{SCHEDULER}={address} has no workers: start some, or unset {SCHEDULER}") from error
        shared = client.scatter(list(common), broadcast=True) if common else []
        calls = [client.submit(_gathered, function, i, places[i], *shared, pure=False) for i in missing]
        try:
            for call in as_completed(calls):
                yield call.result()
        except KilledWorker as error:
            raise SchedulerError(f"{SCHEDULER}={address} lost one worker after another ({error})") from error


def _gathered(function, i, place, *common):
    return _numbered(function, i, common, place)
