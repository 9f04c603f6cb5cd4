"""`make package`: the package is built and installed with the lowest versions that it declares, and the tests run with them.

This is done twice, in separate environments below build/package: for the bare package, with the tests that need only it, and for the
package with all its extras, with the tests that need them. What a test needs follows from its imports, and from the
imports of what it imports. A package index is required.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from book.kept import content_key

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OUT = ROOT / "build/package"
# What the tests need besides, in the locked versions, each with what it needs itself.
TOOLS = ("pytest", "iniconfig", "packaging", "pluggy", "pygments", "pytest-xdist", "execnet", "hypothesis", "sortedcontainers",
         "mpmath", "sympy", "dp-accounting", "absl-py", "attrs", "dm-tree")  # fmt: skip


def canonical(requirement: str) -> str:
    """Return the name of what is required, as `importlib.metadata` compares it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def modules(names) -> set[str]:
    """Return the modules of the distributions called `names`."""
    wanted = set(map(canonical, names))
    return {module for module, held in packages_distributions().items() if wanted & set(map(canonical, held))}


def declared(*extras: str) -> set[str]:
    """Return the names of what the package and its `extras` require, those of the extras that they name included."""
    found = set(map(canonical, PROJECT["dependencies"]))
    for extra in extras:
        for requirement in PROJECT["optional-dependencies"][extra]:
            named = re.match(r"dp-compendium\[(.*)\]", requirement)
            found |= declared(*named[1].split(",")) if named else {canonical(requirement)}
    return found


@cache
def imported(path: Path) -> frozenset[str]:
    """Return the packages that are imported when the file `path` is: of a test by its functions as well, which it calls."""
    found, left = set(), list(ast.parse(path.read_text(encoding="utf-8")).body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            found |= modules(declared("all"))  # whatever is named when it runs
        elif "TYPE_CHECKING" not in ast.dump(getattr(node, "test", node)) and (
            path.is_relative_to(ROOT / "tests") or not isinstance(node, (ast.FunctionDef, ast.ClassDef))
        ):
            left += ast.iter_child_nodes(node)
    return frozenset(found - sys.stdlib_module_names - {"lib", "tests"})


@cache
def needs(test: Path) -> frozenset[str] | None:
    """Return the packages that the file `test` needs, with all that it imports; None if that is nothing of `lib`."""
    code = [each for each in content_key.closure(test) if each.suffix == ".py"]
    ours = any(each.is_relative_to(ROOT / "lib") for each in code)
    return frozenset().union(*map(imported, code)) if ours else None


def tests(*extras: str) -> list[str]:
    """Return the tests of `lib` that need no more than the package with its `extras`."""
    there = modules([*declared(*extras), *TOOLS])
    found = {path: needs(path) for path in sorted((ROOT / "tests/lib").rglob("test_*.py"))}
    return [str(path.relative_to(ROOT)) for path, needed in found.items() if needed is not None and needed <= there]


def run(*words) -> None:
    subprocess.run([sys.executable, "-m", *map(str, words)], cwd=ROOT, check=True)


def main() -> int:
    run("uv", "build", "--quiet", "--clear", "--out-dir", OUT)
    wheel = next(OUT.glob("*.whl"))
    bare = tests()
    for extra, chosen in (("", bare), ("all", [each for each in tests("all") if each not in bare])):
        folder = OUT / (extra or "bare")
        python = folder / "bin/python"
        run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder)
        install = ["uv", "pip", "install", "--quiet", "--python", python]
        run(*install, "--resolution", "lowest-direct", f"dp-compendium[{extra}] @ {wheel.as_uri()}")
        locks = (f"--constraints={name}.lock" for name in ("requirements", "requirements-development"))
        run(*install, "--no-deps", *locks, *TOOLS)
        subprocess.run([folder / "bin/dp-compendium", "ledger"], check=True, cwd=folder)
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", "2", "-m", "not slow and not full", "-p", "no:cacheprovider", *chosen],
            cwd=ROOT,
        )
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
