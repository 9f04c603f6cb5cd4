"""The examples in the docstrings of lib run and print what the docstrings say; each exported function has an
example."""

import ast
import doctest
import importlib
import inspect
import textwrap
from pathlib import Path

import pytest

from book._ext.reference import face
from tests.lib.test_faces import FACES

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in (ROOT / "lib").glob("*/[!_]*.py")
)


def examples(module: str, package: str = "lib") -> list[doctest.DocTest]:
    """Return the examples of a module's own texts; `package` is the name under which the package is imported there."""
    found = doctest.DocTestFinder().find(importlib.import_module(f"{package}{module.removeprefix('lib')}"), globs={})
    for test in found:
        for example in test.examples:
            example.source = example.source.replace("from lib.", f"from {package}.")
    return [test for test in found if test.examples]


def failures(test: doctest.DocTest) -> str:
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_stands_there(module):
    assert [said for test in examples(module) if (said := failures(test))] == []


def lacking(package: str, names) -> list[str]:
    """Return the functions without an example among the `names` of a package."""
    functions = [
        found for name in names if inspect.isfunction(found := getattr(importlib.import_module(package), name))
    ]
    return [each.__qualname__ for each in functions if ">>> " not in (inspect.getdoc(each) or "")]


@pytest.mark.parametrize("path", FACES, ids=lambda path: path.parent.name)
def test_every_function_on_a_face_has_an_example(path):
    assert lacking(f"lib.{path.parent.name}", face(path.read_text(encoding="utf-8"))) == []


def test_a_function_without_an_example_is_found():
    assert lacking("lib.accounting.numerical", ["prv_compose", "_variables"]) == ["_variables"]


def test_examples_name_the_package_as_readers_do():
    """They import by `from lib.room import …`, so that another name of the package is one replacement."""
    for module in MODULES:
        for test in examples(module):
            lines = "".join(example.source for example in test.examples)
            named = [node for node in ast.walk(ast.parse(lines)) if isinstance(node, (ast.Import, ast.ImportFrom))]
            ours = [node.module for node in named if isinstance(node, ast.ImportFrom) and node.module.startswith("lib")]
            assert ours and all(name.startswith("lib.") for name in ours), test.name
            assert not any(
                each.name.startswith("lib") for node in named if isinstance(node, ast.Import) for each in node.names
            )


def test_a_wrong_example_is_found():
    text = textwrap.dedent(
        """
        >>> from lib.accounting import pure_dp_to_zcdp
        >>> pure_dp_to_zcdp(0.5)
        0.5
        """
    )
    test = doctest.DocTestParser().get_doctest(text, {}, "planted", None, 0)
    assert "Got:\n    0.125" in failures(test)
