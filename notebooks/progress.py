"""How far a full run (`make papers`) is, how long it will take, and what each notebook took.

    python notebooks/progress.py build/papers/record      at its end: the times to book/results/papers.csv

Under the record's folder lie `plan` (the notebooks that have to run, a line each; as old as the run), and a file
for each notebook, which the process that runs it writes every second. So each process knows of all the others, and
whichever comes first prints the next line: one line for the whole run, to read on a terminal and in a log.

What is left is estimated from the seconds that each notebook took the last time (here, or else in
book/results/papers.csv), times the pace of this run so far, shared among the processes that make was told to use.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from book import results  # noqa: E402  (the repository root must be on the path first)

TIMES = ROOT / "book/results/papers.csv"
EVERY = 10.0  # seconds between two lines
LOST = 5.0  # seconds without a sign of life after which a process is taken for dead
UNKNOWN = 30.0  # seconds expected of notebooks when no time of any is known


class Board:
    """The record of a full run in `folder`."""

    def __init__(self, folder: Path, times: Path = TIMES):
        self.folder = folder
        plan = folder / "plan"
        self.began = plan.stat().st_mtime if plan.is_file() else time.time()
        self.total, *self.todo = plan.read_text(encoding="utf-8").split() if plan.is_file() else ("0",)
        self.known = {}
        if times.is_file():
            frame = results.load(times)
            self.known = dict(zip(frame["notebook"], frame["seconds"], strict=True))

    def file(self, name: str) -> Path:
        return self.folder / f"{name.replace('/', '.')}.json"

    def read(self, name: str) -> dict:
        """What is written of the notebook `name` ("document/stem"); {} if nothing is."""
        try:
            return json.loads(self.file(name).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}

    def expected(self, name: str, found: dict) -> float | None:
        """Seconds that `name` took the last time."""
        return found.get("expected") or self.known.get(name)

    def state(self, now: float) -> tuple[int, dict[str, dict], list[float]]:
        """How many notebooks are done; those that run; and the seconds left for each that is not done, those that run first."""
        found = {name: self.read(name) for name in self.todo}
        done = {name for name, each in found.items() if each.get("finished", 0) >= self.began}
        running = {
            name: each
            for name, each in found.items()
            if name not in done and each.get("seen", 0) > max(now - LOST, self.began)
        }
        ahead = {name: self.expected(name, found[name]) for name in self.todo}
        usual = median([seconds for seconds in ahead.values() if seconds] or [UNKNOWN])
        earlier = sum(ahead[name] or 0 for name in done)
        measured = sum(found[name]["seconds"] for name in done if ahead[name])
        # Little work says little of the pace: as if half a minute had gone as expected.
        pace = (measured + 30) / (earlier + 30)
        # One that takes longer than expected goes on for who knows how long: say a tenth of what it has taken.
        left = [
            max((ahead[name] or usual) * pace - each["seconds"], each["seconds"] / 10) for name, each in running.items()
        ]
        left += [(ahead[name] or usual) * pace for name in self.todo if name not in done and name not in running]
        return int(self.total) - len(self.todo) + len(done), running, left

    def line(self, now: float) -> str:
        done, running, left = self.state(now)
        parts = [f"{done} of {self.total} notebooks done", f"{_clock(now - self.began)} elapsed"]
        if left:
            parts.append(f"about {_clock(_makespan(left, _processes()))} left")
        at = [f"{name} (cell {each['cell']} of {each['cells']})" for name, each in running.items()]
        return f"papers     {', '.join(parts)}{'; at ' if at else ''}{', '.join(at)}"

    def tell(self, *, now: float | None = None, always: bool = False) -> None:
        """Print the line, unless some process has within the last `EVERY` seconds, or there is no plan: a notebook by itself."""
        if not self.todo:
            return
        now = time.time() if now is None else now
        with (self.folder / "told").open("a") as told:
            fcntl.flock(told, fcntl.LOCK_EX)
            if always or now - os.fstat(told.fileno()).st_mtime >= EVERY:
                print(self.line(now), flush=True)
                os.utime(told.fileno(), (now, now))


class Watch:
    """Writes down every second that one notebook is being run, and how far it is; a context manager."""

    def __init__(self, board: Board, name: str, cells: int):
        self.board, self.name, self.cells = board, name, cells
        self.cell = 0
        self.before = 0.0  # seconds of an interrupted run that need not be repeated
        self._began = time.monotonic()
        self._expected = board.expected(name, board.read(name))
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def at(self, done: int, of_all: int, before: float) -> None:
        """`done` cells of the notebook are done, `before` seconds' worth of them by an earlier run."""
        self.cell, self.cells, self.before = min(done + 1, of_all), of_all, before

    @property
    def seconds(self) -> float:
        return self.before + time.monotonic() - self._began

    def _write(self, **more) -> None:
        state = {
            "cell": self.cell,
            "cells": self.cells,
            "seconds": round(self.seconds, 1),
            "seen": time.time(),
            "expected": self._expected,
        }
        results.write(self.board.file(self.name), json.dumps(state | more))

    def _tick(self) -> None:
        parent = os.getppid()
        while not self._over.wait(1.0):
            self._write()
            self.board.tell()
            if os.getppid() != parent:  # make was killed, and nobody waits for this process any more
                os.kill(os.getpid(), signal.SIGTERM)

    def __enter__(self):
        self.board.folder.mkdir(parents=True, exist_ok=True)
        self._write()
        self._clock.start()
        return self

    def __exit__(self, *error) -> None:
        self._over.set()
        self._clock.join()

    def finished(self, parameters: dict) -> None:
        """The notebook is done: what it took is what the next run expects."""
        self._over.set()
        self._clock.join()
        seconds = round(self.seconds, 1)
        self._write(
            finished=time.time(),
            expected=seconds,
            took=seconds,
            parameters=parameters,
            commit=commit(),
            date=datetime.now(UTC).date().isoformat(),
        )
        self.board.tell(always=True)


def _processes() -> int:
    """How many notebooks run side by side: what the make around this process was told."""
    said = re.search(r"-j\s*(\d+)", os.environ.get("MAKEFLAGS", ""))
    return max(int(said[1]), 1) if said else 1


def _makespan(tasks: list[float], processes: int) -> float:
    """When the last of `tasks` (seconds, in their order) ends, if each goes to the process that is free first."""
    free = [0.0] * processes
    for seconds in tasks:
        first = free.index(min(free))
        free[first] += seconds
    return max(free)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"


def commit() -> str:
    """The commit of the working tree, marked `-dirty` where it has been changed; "" outside a repository."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return said.stdout.strip() if said.returncode == 0 else ""


# ---- at the end: what each notebook took


def save(folder: Path, path: Path = TIMES) -> None:
    """Write the last measured times of every notebook to `path`, unless they are the ones that are there."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        name = file.stem.replace(".", "/", 1)
        if "took" in found and (ROOT / f"notebooks/{name}.ipynb").is_file():
            settings = "; ".join(f"{key} {value}" for key, value in found["parameters"].items())
            rows.append(
                {
                    "notebook": name,
                    "seconds": found["took"],
                    "data": found["parameters"].get("data", ""),
                    "parameters": settings,
                    "commit": found["commit"],
                    "date": found["date"],
                }
            )
    frame = pd.DataFrame(rows, columns=["notebook", "seconds", "data", "parameters", "commit", "date"])
    if path.is_file():
        there = results.load(path).fillna("")
        if there.astype({"seconds": float}).astype(str).equals(frame.astype(str)):
            return
    made = results.collect("make", [], data="real", settings={"parameters": "notebooks/full.yml"})
    cores = f"{os.cpu_count()} cores, {platform.machine()}, two notebooks side by side, a thread each"
    results.save(path, frame, made | {"command": "make papers", "machine": cores})


if __name__ == "__main__":
    save(Path(sys.argv[1]))
