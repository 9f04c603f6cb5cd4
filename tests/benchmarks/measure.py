"""Measure the cost of work in a fresh process: CPU and wall seconds, and the memory beyond that of importing numpy.

`child` starts Python with one BLAS thread, because with two threads a call on a busy machine takes several times as
long. The process records its memory after importing only numpy, imports a module, and calls one of its functions with a
`Meter` and strings as arguments:

    def whole(meter, file):
        table = load(file)              # not measured
        for seed in range(10):
            with meter:                 # measured, run by run
                result = work(table, seed)
        return {"l1": error(result)}    # other fields of the line
"""

import importlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).with_name("kept.jsonl")  # lines that `make bench` printed
PEERS = ROOT / "build/peers"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Absent(Exception):
    """A requirement of a benchmark is not available on this machine; the message says which, in one line."""


class Meter:
    """A timer of each `with meter:` block, which also records the largest memory of the process until the end of the last block."""

    def __init__(self):
        self._runs, self._baseline = [], peak_mb()

    def __enter__(self):
        self._began = _clocks()

    def __exit__(self, *error):
        self._runs.append(_clocks() - self._began)
        self._peak = peak_mb()

    def reading(self) -> dict:
        """Return the medians of the blocks' seconds, and the largest memory until now minus that with numpy alone."""
        cpu, wall = (float(f"{seconds:.4g}") for seconds in np.median(self._runs, axis=0))
        return {"cpu_s": cpu, "wall_s": wall, "peak_mb": round(self._peak - self._baseline)}


def child(module, function, *arguments, python=sys.executable, limit=None) -> dict:
    """Run `function(meter, *arguments)` of `module` in a fresh process, and return its line, which includes the machine.

    python : the interpreter; a peer's is in a separate environment
    limit : CPU seconds, an integer, after which the process is ended; the line is then only {"unfinished_after_cpu_s":
        limit}

    Raises ``subprocess.CalledProcessError`` if the process fails; its standard error is shown.
    """
    command = [
        python,
        "-c",
        "from tests.benchmarks import measure; measure.answer()",
        str(limit or 0),
        module,
        function,
    ]
    options = {"cwd": ROOT, "env": os.environ | ONE_THREAD, "stdout": subprocess.PIPE, "text": True}
    done = subprocess.run([*command, *map(str, arguments)], **options)
    if done.returncode == -signal.SIGXCPU:
        return {"unfinished_after_cpu_s": limit}
    done.check_returncode()
    return json.loads(done.stdout.splitlines()[-1])


def answer() -> None:
    """Do the work of the fresh process."""
    meter = Meter()
    limit, module, function, *arguments = sys.argv[1:]
    if limit != "0":
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        # Past the first limit the system sends SIGXCPU. A shell's own limit (`ulimit -t`) may lie below it.
        soft = int(limit) if hard == resource.RLIM_INFINITY else min(int(limit), hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    found = getattr(importlib.import_module(module), function)(meter, *arguments)
    print(json.dumps(meter.reading() | found | machine()))


def micro(meter, module, function) -> dict:
    """Run a function without arguments three times; it returns the number of items that it worked on.

    The line gives no rate if the runs took less than one tick of the process's clock (4 ms under `ulimit -t`).
    """
    work = getattr(importlib.import_module(module), function)
    for _ in range(3):
        with meter:
            items = work()
    seconds = meter.reading()["cpu_s"]
    return {"items": items} | ({"items_per_second": round(items / seconds)} if seconds else {})


def peer(name):
    """Return the Python of the environment with the peer `name`, or None if it is not installed or not wanted."""
    wanted = os.environ.get("PEERS") != "no"
    return PEERS / name / "bin/python" if wanted and (PEERS / name / "installed").is_file() else None


def ratios(theirs, ours) -> dict:
    """Return the peer's figures divided by ours, for the figures that the two lines share."""
    both = [
        name for name in ("cpu_s", "wall_s", "peak_mb", "loss", "l1", "l2", "l3") if name in theirs and name in ours
    ]
    return {name: float(f"{theirs[name] / ours[name]:.3g}") for name in both if ours[name]}


def peak_mb() -> float:
    """Return the largest memory, in MB, that this process has held.

    On Linux, ru_maxrss of a process starts at its parent's maximum, but the high-water mark in /proc does not.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, kilobytes elsewhere
    return next(float(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10


def machine() -> dict:
    return {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine(),
            "cpu": _cpu(), "cores": os.cpu_count(), "copy_gb_per_s": float(f"{_copied() / 1e9:.3g}")}  # fmt: skip


def _copied(size=8_000_000) -> float:
    """Return the bytes per second that the fastest of twenty copies reads and writes."""
    source, target = np.ones(size), np.ones(size)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return 2 * source.nbytes / min(times)


def slower(line) -> str | None:
    """Return a report if the line's CPU seconds exceed 1.5 times those in `kept.jsonl` for the same case, or else None.

    Both times are first multiplied by the GB/s of a copy that was measured with them, to allow for the machine's speed.
    """
    for kept in map(json.loads, KEPT.read_text().splitlines()):
        same = all(kept.get(name) == line.get(name) for name in ("case", "task", "peer"))
        if same and {"cpu_s", "copy_gb_per_s"} <= line.keys():
            times = line["cpu_s"] * line["copy_gb_per_s"] / (kept["cpu_s"] * kept["copy_gb_per_s"])
            return f"{line['case']}: {times:.1f} times the kept CPU time" if times > 1.5 else None
    return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def _clocks() -> np.ndarray:
    return np.array([time.process_time(), time.perf_counter()])
