"""The examples in the texts of lib run, and what they print is what stands there; in rooms that are complete each has one."""

import ast
import doctest
import importlib
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in (ROOT / "lib").glob("*/[!_]*.py")
)
COMPLETE = (
    "numerics",
    "accounting",
    "mechanisms",
    "gaussian_synthesis",
    "local",
    "tables",
    "microdata",
    "attacks",
)  # in whose modules every public function has one

AT_LEAST = {"networks": 16, "data": 10}  # functions that have one, of the other rooms


def parts(module: str, *kinds):
    """The public functions, or nodes of other `kinds`, at the top of a module."""
    tree = ast.parse((ROOT / module.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8"))
    kinds = kinds or (ast.FunctionDef,)
    return [node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]


def examples(module: str, package: str = "lib") -> list[doctest.DocTest]:
    """Those of a module's own texts; `package` is the name under which the package is imported there."""
    found = doctest.DocTestFinder().find(importlib.import_module(f"{package}{module.removeprefix('lib')}"), globs={})
    for test in found:
        for example in test.examples:
            example.source = example.source.replace("from lib.", f"from {package}.")
    return [test for test in found if test.examples]


def failures(test: doctest.DocTest) -> str:
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_stands_there(module):
    assert [said for test in examples(module) if (said := failures(test))] == []


def lacking(room: str) -> tuple[int, list[str]]:
    """How many public functions of a room have an example, and the names of those that have none."""
    functions = [(module, node) for module in MODULES if module.split(".")[1] == room for node in parts(module)]
    without = [f"{module}.{node.name}" for module, node in functions if ">>>" not in (ast.get_docstring(node) or "")]
    return len(functions) - len(without), without


@pytest.mark.parametrize("room", COMPLETE)
def test_every_function_of_a_complete_room_has_an_example(room):
    assert lacking(room)[1] == []


@pytest.mark.parametrize("room", AT_LEAST)
def test_no_example_is_lost_elsewhere(room):
    assert lacking(room)[0] >= AT_LEAST[room]


def test_examples_name_the_package_as_readers_do():
    """By `from lib.room import …`, so that another name of the package is one replacement."""
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
