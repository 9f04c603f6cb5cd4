"""The public names of the subpackages: few names, each with a line of text, and none that only tests use.

The release application may have as many as its users need.
"""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lib
from book._ext.made import code
from book._ext.reference import face, uses_of

ROOT = Path(__file__).resolve().parents[2]
FACES = sorted((ROOT / "lib").glob("*/__init__.py"))
MOST = 150


def silent(source: str) -> list[str]:
    return [name for name, line in face(source).items() if not re.search(r"\w", line)]


@pytest.mark.parametrize("path", FACES, ids=lambda path: path.parent.name)
def test_every_name_has_its_line(path):
    assert silent(path.read_text(encoding="utf-8")) == []


def test_a_name_without_a_line_is_found():
    assert silent("from .one import (\n    first,  # what it is\n    second,\n)\nfrom .two import third\n") == [
        "second",
        "third",
    ]


def test_the_faces_are_few_names():
    count = sum(len(face(path.read_text(encoding="utf-8"))) for path in FACES if path.parent.name != "release")
    assert count <= MOST, f"{count} names instead of {MOST}: take one off a face; its module still has it"


# ---- who uses them


def homes() -> dict[tuple[str, str], str]:
    """Return where each function and class of a face is defined, by its (module, name), and what it is called on the face."""
    found = {}
    for path in FACES:
        package = importlib.import_module(f"lib.{path.parent.name}")
        source = path.read_text(encoding="utf-8")
        inside = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}  # by `ORACLES`
        for name in face(source):
            thing = getattr(package, name)
            if hasattr(thing, "__qualname__") and name not in inside:
                found[thing.__module__, thing.__qualname__] = f"{package.__name__}.{name}"
    return found


def absolute(path: Path) -> str:
    """Return the code of a module of lib, its relative imports made absolute."""
    above = ("lib", *path.relative_to(ROOT / "lib").parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = above[: len(above) - node.level + 1]
            node.module, node.level = ".".join((*start, *filter(None, [node.module]))), 0
    return ast.unparse(tree)


def users() -> set[tuple[str, str]]:
    """Return the (module, name) of all that chapters, studies, the book, the benchmarks and other modules of lib name."""
    found = set()
    for path in ROOT.glob("notebooks/**/*.ipynb"):
        found |= uses_of(code(json.loads(path.read_text(encoding="utf-8"))))
    for pattern in (
        "book/**/*.py",
        "notebooks/**/*.py",
        "tests/benchmarks/**/*.py",
        "tests/browser/calculator_in_lib.py",
    ):
        for path in ROOT.glob(pattern):
            found |= uses_of(path.read_text(encoding="utf-8"))
    for path in (ROOT / "lib").glob("*/[!_]*.py"):
        own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found |= {key for key in uses_of(absolute(path)) if key[0] != own}
    return found


@pytest.mark.slow
def test_no_name_is_there_for_tests_alone():
    used = users()
    assert {shown for key, shown in homes().items() if key not in used} == set()


# ---- imports


@pytest.mark.slow
@pytest.mark.parametrize("package", ["data", "microdata", "networks", "release"])
def test_a_face_is_imported_without_its_extra(package):
    """The face also lists the names that it imports when they are first used."""
    heavy = ("numba", "sklearn", "pandas", "pyarrow")
    source = (ROOT / f"lib/{package}/__init__.py").read_text(encoding="utf-8")
    program = f"import sys, lib.{package}; print(*dir(lib.{package}), *({{*sys.modules}} & {{*{heavy!r}}}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(face(source)) <= set(done.stdout.split()) and not set(heavy) & set(done.stdout.split())


def test_another_name_is_refused():
    from lib import networks

    with pytest.raises(AttributeError, match=r"module 'lib\.networks' has no attribute 'Perceptron'"):
        networks.Perceptron  # noqa: B018


def test_the_package_has_a_version():
    assert re.match(r"\d", lib.__version__)
    with pytest.raises(AttributeError, match="module 'lib' has no attribute 'version'"):
        lib.version  # noqa: B018
