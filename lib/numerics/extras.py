"""Import optional packages, which some subpackages need and which an extra of this package installs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Wrap imports so that the ``ModuleNotFoundError`` of a missing package names the extra `name` that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = f"{error.name} is not installed here: the extra dp-compendium[{name}] brings it"
        raise ModuleNotFoundError(said, name=error.name) from None


def on_demand(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` (PEP 562) for the names that a package imports under ``if TYPE_CHECKING``.

    package : the `__name__` of the package; file : its `__file__`, from which the imports are read

    Type checkers and human readers see the imports. A name is imported at its first use, so the package can be imported
    without the extra that the name's module needs.
    """
    blocks = [node.body for node in ast.parse(Path(file).read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: f".{node.module}" for node in imports for alias in node.names}

    def get(name: str):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name], package), name)

    return get, lambda: sorted(homes.keys() | vars(import_module(package)).keys())
