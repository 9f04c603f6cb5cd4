"""`make bench`: every function `bench_…` of the modules in this folder, the best of three runs as a line of JSON.

A benchmark takes no arguments, does its work once and returns how many items it worked on.
"""

import importlib
import json
import os
import pkgutil
import platform
import sys
import time

import numpy

REPEATS = 3


def benchmarks():
    for module in sorted(found.name for found in pkgutil.iter_modules(sys.modules["tests.benchmarks"].__path__)):
        if module != "__main__":
            content = vars(importlib.import_module(f"tests.benchmarks.{module}"))
            yield from ((f"{module}.{name}", content[name]) for name in sorted(content) if name.startswith("bench_"))


def measured(benchmark) -> dict:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        items = benchmark()
        times.append(time.perf_counter() - began)
    return {"items": items, "seconds": round(min(times), 4), "items_per_second": round(items / min(times))}


def main() -> None:
    machine = {"python": platform.python_version(), "numpy": numpy.__version__,
               "machine": platform.machine(), "cores": os.cpu_count()}
    for name, benchmark in benchmarks():
        print(json.dumps({"benchmark": name, **measured(benchmark), **machine}), flush=True)


if __name__ == "__main__":
    main()
