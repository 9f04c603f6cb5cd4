"""Mutation testing: one thing in a module of `lib` is changed; does a test notice?

    make mutants MODULE=divergence SAMPLE=60

cosmic-ray makes the mutants: another arithmetic or comparison operator, a number one more or less, `and` for
`or`, a condition negated or made constant, a loop over nothing, a decorator removed, another exception caught.
A sample is drawn from all mutants except those in type annotations. For each, the module's tests run on a copy of
`lib` until one fails; a run that takes five times the CPU time of the unmutated one counts as killed too.

The command prints every survivor as a diff, and the proportion killed with its 95 % Clopper-Pearson interval.
"""

import argparse
import ast
import contextlib
import difflib
import os
import random
import resource
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "divergence": ["accounting/test_divergence.py", "accounting/test_hockey_stick.py"],
    "conversions": ["accounting/test_accounting.py", "accounting/test_bounded_range.py"],
    "bounds": [
        "gaussian_synthesis/test_gaussian_synthesis.py",
        "gaussian_synthesis/test_theorem_h.py",
        "gaussian_synthesis/test_public_n.py",
    ],
    "adaptive_iterative": ["tables/test_adaptive_iterative.py"],
}
SLOW = "test_released_delta_covers_true_neighbours"  # four fifths of the time of its module: left out
# Imported before the fork: they are most of a test run's start.
LIBRARIES = ("pandas", "mpmath", "scipy.stats", "scipy.integrate", "scipy.optimize", "hypothesis", "prv_accountant",
             "dp_accounting.gaussian_mechanism", "dp_accounting.pld", "dp_accounting.rdp")  # fmt: skip


def mutants(path: Path) -> list:
    """Return cosmic-ray's specification of every mutant of a file, in its order, except for those in annotations."""
    from cosmic_ray.commands.init import _all_work_items

    spans = annotations(path.read_text(encoding="utf-8"))
    found = [item.mutations[0] for item in _all_work_items([path], {})]
    return [mutation for mutation in found if not any(start <= mutation.start_pos < end for start, end in spans)]


def annotations(source: str) -> list:
    """Return ((line, column), (line, column)) of the start and end of every type annotation."""
    nodes = [getattr(node, name, None) for node in ast.walk(ast.parse(source)) for name in ("annotation", "returns")]
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in nodes if node]


def mutated(source: str, mutation) -> str:
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    return mutate_code(source, get_operator(mutation.operator_name)(), mutation.occurrence)


def passes(folder: Path, tests: list, cpu_seconds: int | None = None) -> tuple[bool, float]:
    """Return whether the tests pass in `folder`, in a separate process, and its CPU seconds."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        errors = os.fdopen(os.dup(2), "w")
        try:
            _run_tests(folder, tests, cpu_seconds)
        except BaseException:
            traceback.print_exc(file=errors)
            errors.flush()
        os._exit(70)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) == 70:
        raise RuntimeError("the tests could not be run")
    return status == 0, used.ru_utime + used.ru_stime


def _run_tests(folder, tests, cpu_seconds):
    if cpu_seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "lib")]:
        del sys.modules[name]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    import pytest

    arguments = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-k", f"not {SLOW}", "--rootdir", str(folder)]
    arguments += ["-W", "ignore:Module already imported"]  # hypothesis, on purpose
    os._exit(int(pytest.main([*arguments, *(f"tests/lib/{name}" for name in tests)], plugins=[Impatient()])))


class Impatient:
    """A failing example need not be made small."""

    def pytest_collection(self):
        import hypothesis

        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("impatient", hypothesis.settings.get_profile("repeatable"), phases=phases)
        hypothesis.settings.load_profile("impatient")


@contextlib.contextmanager
def copy():
    """Provide a folder with `lib`, the tests' own files and their settings."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("lib", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        yield folder


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module", choices=TESTS)
    parser.add_argument("--sample", type=int, default=60, help="how many mutants (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    sys.dont_write_bytecode = True  # a mutant may be as old and as long as the one before it
    for name in LIBRARIES:
        __import__(name)

    (path,), tests = (ROOT / "lib").rglob(f"{given.module}.py"), TESTS[given.module]
    source, everything = path.read_text(encoding="utf-8"), mutants(path)
    sample = random.Random(given.seed).sample(everything, min(given.sample, len(everything)))
    survivors = []
    with copy() as folder:
        passed, seconds = passes(folder, tests)
        if not passed:
            raise SystemExit("the tests fail without any mutation")
        print(
            f"{given.module}: {len(everything)} mutants, {len(sample)} drawn; the tests take {seconds:.0f} CPU s",
            flush=True,
        )
        for number, mutation in enumerate(sample, 1):
            changed = mutated(source, mutation)
            (folder / path.relative_to(ROOT)).write_text(changed, encoding="utf-8")
            survived, used = passes(folder, tests, cpu_seconds=int(5 * seconds) + 10)
            print(f"{number:4d} {'SURVIVED' if survived else 'killed':8s} {used:5.1f} s  line {mutation.start_pos[0]} "
                  f"{mutation.operator_name}", flush=True)  # fmt: skip
            if survived:
                survivors.append(mutation)
                lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), lineterm="", n=0)
                print("\n".join("     " + line for line in list(lines)[2:]), flush=True)
    print(summary(given.module, len(sample), len(survivors)))


def summary(module: str, drawn: int, survived: int) -> str:
    from scipy.stats import binomtest

    low, high = binomtest(drawn - survived, drawn).proportion_ci(0.95, method="exact")
    return f"{module}: {drawn - survived} of {drawn} killed, {1 - survived / drawn:.1%} (95 %: {low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
