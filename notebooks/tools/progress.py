"""Report the progress of a full run (`make papers`), the time left, and the time that each notebook took.

    python -m notebooks.tools.progress build/papers/record      writes the times to book/results/papers.csv at the end

The folder contains `plan`, which is as old as the run and gives the number of notebooks and the names of those that
have to run. It also contains a file for each notebook, which the notebook's process touches every second. So each
process knows the state of all notebooks, and the first process that finds that a line of progress is due prints it.

The time left follows from the time that each notebook took in the last run (or that papers.csv gives), times the pace
of this run.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import platform
import re
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from statistics import median

from book.kept import results

NOTEBOOKS = Path(__file__).resolve().parents[1]
TIMES = results.FOLDER / "papers.csv"
EVERY = 10.0  # seconds between two lines
LOST = 5.0  # seconds without activity after which a process counts as dead
LITTLE = 30.0  # seconds of work too short to show the pace, and expected of a notebook if no times are known


class Board:
    """The record of a full run in `folder`."""

    def __init__(self, folder: Path, times: Path = TIMES):
        self.folder, plan = folder, folder / "plan"
        self.began = plan.stat().st_mtime if plan.is_file() else time.time()
        self.total, *self.todo = (plan.read_text(encoding="utf-8").split() if plan.is_file() else []) or ["0"]
        self.known = _times(times) if times.is_file() else {}
        self.known |= {row["notebook"]: row["seconds"] for row in rows(folder)}

    def file(self, name: str) -> Path:
        """Return the file for the notebook `name` ("document/stem")."""
        return self.folder / f"{name.replace('/', '.')}.json"

    def expected(self, name: str) -> float:
        """Return how many seconds `name` took last time or, if unknown, how many a typical notebook takes."""
        return self.known.get(name) or median(self.known.values() or [LITTLE])

    def state(self, now: float) -> tuple[int, dict[str, dict], list[float]]:
        """Return the number of finished notebooks, the running notebooks, and the seconds left for each notebook that
        is not finished, running ones first."""
        seen = {name: self.file(name).stat().st_mtime for name in self.todo if self.file(name).is_file()}
        found = {name: _noted(self.file(name)) for name in seen if seen[name] >= self.began}
        found = {name: each for name, each in found.items() if each}
        done = [each for each in found.values() if each["done"]]
        running = {name: each for name, each in found.items() if not each["done"] and seen[name] > now - LOST}
        waiting = [name for name in self.todo if name not in running and not found.get(name, {}).get("done")]
        took, foreseen = sum(each["row"]["seconds"] for each in done), sum(each["expected"] for each in done)
        pace = (took + LITTLE) / (foreseen + LITTLE)
        left = []
        for name, each in running.items():
            spent = now - each["began"]
            # One that takes longer than expected is assumed to need a tenth of its time more.
            left.append(max(self.expected(name) * pace - spent, spent / 10))
        return int(self.total) - len(self.todo) + len(done), running, left + [self.expected(n) * pace for n in waiting]

    def line(self, now: float) -> str:
        done, running, left = self.state(now)
        parts = [f"{done} of {self.total} notebooks done", f"{timedelta(seconds=round(now - self.began))} elapsed"]
        parts += [f"about {timedelta(seconds=round(_makespan(left)))} left"] if left else []
        at = [f"{name} (cell {each['cell']} of {each['cells']})" for name, each in running.items()]
        return f"papers     {', '.join(parts)}{'; at ' if at else ''}{', '.join(at)}"

    def tell(self, now: float, *, always: bool = False) -> None:
        """Print the line, unless a process printed it in the last `EVERY` seconds, or there is no plan (a single
        notebook)."""
        told = self.folder / "told"
        if self.todo and (always or not told.exists() or now - told.stat().st_mtime >= EVERY):
            told.touch()
            os.utime(told, (now, now))
            print(self.line(now), flush=True)


class Watch:
    """A watch that notes the progress of the notebook `name`, with `cells` cells, on `board`, and ends its run if make is gone."""

    def __init__(self, board: Board, name: str, cells: int):
        self.board, self.name, self.file = board, name, board.file(name)
        found = _noted(self.file) if self.file.is_file() else {}
        now = {"done": False, "cells": cells, "began": time.time(), "expected": board.expected(name)}
        self.state, self._over = found | now, threading.Event()
        self.at(0)
        self._clock = threading.Thread(target=self._tick, args=(os.getppid(),), daemon=True)
        self._clock.start()

    @property
    def seconds(self) -> float:
        """Return the seconds that the notebook has taken, including those of an interrupted run that need not be
        repeated."""
        return round(time.time() - self.state["began"], 1)

    def at(self, index: int, *, before: float = 0.0) -> None:
        """Note that the cell at `index` is next; an interrupted run spent `before` seconds on the earlier ones."""
        self.state |= {"cell": index + 1, "began": self.state["began"] - before}
        results.write(self.file, json.dumps(self.state))

    def _tick(self, parent: int) -> None:
        while not self._over.wait(1.0):
            if os.getppid() != parent:  # make was killed, so nothing waits for this process
                return os.kill(os.getpid(), signal.SIGTERM)
            self.file.touch()
            self.board.tell(time.time())

    def finished(self, parameters: dict) -> None:
        """Note that the notebook is done; the next run expects the same time."""
        self._over.set()
        self._clock.join()
        row = {"notebook": self.name, "seconds": self.seconds, "data": parameters.get("data", "")}
        row["parameters"] = "; ".join(f"{key} {value}" for key, value in parameters.items())
        row["commit"] = results.commit()
        row["date"] = datetime.now(UTC).date().isoformat()
        results.write(self.file, json.dumps(self.state | {"done": True, "row": row}))
        self.board.tell(time.time(), always=True)


def _noted(file: Path) -> dict:
    """Return the notes of a notebook's process in `file`; if the file is damaged, say so and return no notes."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        numbers = [found["expected"], *([] if found["done"] else (found["began"], found["cell"], found["cells"]))]
        if found["done"] or "row" in found:
            numbers.append(found["row"]["seconds"])
            if not str.split(found["row"]["notebook"]):
                raise ValueError("a row must name its notebook")
        if not all(type(each) in (int, float) and math.isfinite(each) for each in numbers):
            raise ValueError("times must be finite numbers")
        return found
    except (ValueError, LookupError, TypeError, AttributeError):
        _tell_once(f"{file} is damaged and is ignored")
        return {}


def _times(file: Path) -> dict[str, float]:
    """Return each notebook's time from the table in `file`; if the file is damaged, say so and return no times."""
    try:
        return results.load(file).set_index("notebook")["seconds"].astype(float).to_dict()
    except (ValueError, LookupError):
        _tell_once(f"{file} is damaged, so its times of notebooks are ignored")
        return {}


@cache
def _tell_once(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _makespan(tasks: list[float]) -> float:
    """Return when the last of `tasks` (seconds) ends, if each in turn is given to the first free process of make."""
    said = re.search(r"-j\s*([1-9]\d*)", os.environ.get("MAKEFLAGS", ""))
    free = [0.0] * int(said[1] if said else 1)
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def rows(folder: Path) -> list[dict]:
    """Return the rows of papers.csv: each notebook's cost the last time it ran to its end."""
    found = [_noted(file).get("row") for file in sorted(folder.glob("*.json"))]
    return [row for row in found if row and (NOTEBOOKS / f"{row['notebook']}.ipynb").is_file()]


def save(folder: Path, path: Path = TIMES) -> None:
    """Write the `rows` to `path`, unless it already has them."""
    import pandas as pd  # slow to import, and a run of one notebook needs it not

    frame, text = pd.DataFrame(rows(folder)), {"index": False, "float_format": "%.6g"}
    try:
        if path.is_file() and results.load(path).to_csv(**text) == frame.to_csv(**text):
            return
    except ValueError:
        print(f"{path} is damaged and is written again", file=sys.stderr)
    made = results.collect("make", [], data="real", settings={"parameters": "notebooks/full.yml"}, code=results.PAPERS)
    cores = f"{os.cpu_count()} cores, {platform.machine()}, two notebooks side by side, a thread each"
    results.save(path, frame, made | {"command": "make papers", "machine": cores})


if __name__ == "__main__":
    save(Path(sys.argv[1]))
