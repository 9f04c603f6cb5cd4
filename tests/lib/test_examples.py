"""The examples in the texts of lib run, and what they print is what stands there; each public function has one."""

import ast
import doctest
import importlib
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for path in (ROOT / "lib").glob("*/[!_]*.py")
)
ROOMS = sorted({module.split(".")[1] for module in MODULES} - {"command"})  # that of the command has `--help`


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


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_examples_print_what_stands_there(module):
    assert [said for test in examples(module) if (said := failures(test))] == []


def lacking(module: str) -> list[str]:
    """The public functions of a module that have no example, or one that no test runs."""
    run = {test.name for test in examples(module)}
    return [name for node in parts(module) if (name := f"{module}.{node.name}") not in run]


@pytest.mark.parametrize("room", ROOMS)
def test_every_function_has_an_example(room):
    assert [name for module in MODULES if module.split(".")[1] == room for name in lacking(module)] == []


def test_a_function_without_an_example_is_found():
    assert lacking("lib.command.verdicts") == ["lib.command.verdicts.ledger", "lib.command.verdicts.read"]


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
