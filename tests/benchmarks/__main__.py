"""Run the benchmarks in this folder (`make bench`), and print a line of JSON for each.

A module in this folder offers one or both of

- functions `bench_…()`, micro benchmarks, which do their work once and return the number of items processed:
  `bench_x` of `module.py` is the case `module.x`;
- `CASES`, names of cases, with the function `lines(case, folder)`, which yields a dictionary for each line and may keep
  files in `folder`, which all its cases share. It raises `measure.Absent` if data are not available.

In both cases, the measured code runs in a separate process (see `measure`). Each line contains `copy_gb_per_s`, the
rate at which a copy of 64 MB reads and writes. `kept.jsonl` keeps some lines. A case is reported on standard error if
its CPU time is more than 1.5 times the kept one, relative to the time of a copy.
"""

import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile

from tests.benchmarks import measure


def found() -> dict:
    """Return, for the name of each case, a function that maps a folder to the lines of the case."""
    cases = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(sys.modules["tests.benchmarks"].__path__)):
        if name != "__main__":
            module = importlib.import_module(f"tests.benchmarks.{name}")
            cases |= {
                f"{name}.{part[6:]}": _micro(module.__name__, part)
                for part in vars(module)
                if part.startswith("bench_")
            }
            cases |= {case: _lines(module, case) for case in getattr(module, "CASES", ())}
    return cases


def _micro(module, function):
    return lambda folder: [measure.child("tests.benchmarks.measure", "micro", module, function)]


def _lines(module, case):
    return lambda folder: module.lines(case, folder)


def main(names) -> int:
    """Run the cases `names`, or all cases, and return the exit status.

    The status is 1 if a case failed or a named case has no data, and 2 for an unknown name or an unusable setting.
    """
    cases = found()
    if unknown := [name for name in names if name not in cases]:
        print(f"no such case: {', '.join(unknown)}; there are {', '.join(cases)}", file=sys.stderr)
        return 2
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or cases:
            try:
                for line in cases[name](folder):
                    print(json.dumps(line := {"case": name} | line), flush=True)
                    if report := measure.slower(line):
                        print(report, file=sys.stderr, flush=True)
            except measure.Absent as reason:
                print(f"{name}: left out, {reason}", file=sys.stderr, flush=True)
                status = max(status, bool(names))
            except ValueError as reason:  # of this process: what fails in a measured one is a failed process
                print(f"{name}: {reason}", file=sys.stderr, flush=True)
                return 2
            except subprocess.CalledProcessError as failure:
                print(
                    f"{name}: failed, its process ended with status {failure.returncode}", file=sys.stderr, flush=True
                )
                status = 1
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
