"""Which chapters use what of lib: read from the imports and the names in the notebooks' cells, without running them."""

import ast
import importlib
import json
from pathlib import Path


def uses(root: Path) -> dict[tuple[str, str], list[str]]:
    """The pages, as `notebooks/kiri2019/01_laplace`, that name each public function or class of lib, by its (module, name)."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(root.glob("notebooks/*/*.ipynb")):
        if "assignments" in path.parts:
            continue
        page = path.relative_to(root).with_suffix("").as_posix()
        for key in sorted(named(code(json.loads(path.read_text(encoding="utf-8"))))):
            found.setdefault(key, []).append(page)
    return found


def code(notebook: dict) -> str:
    """All code cells, without lines of magic."""
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "\n".join(line for cell in cells for line in cell.splitlines() if not line.lstrip().startswith(("%", "!")))


def named(source: str) -> set[tuple[str, str]]:
    """(module, name) of each function and class of lib that the code names."""
    tree = ast.parse(source)
    names: dict[str, str] = {}  # what stands for what of lib
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lib":
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            names |= {
                each.asname or "lib": each.name if each.asname else "lib"
                for each in node.names
                if each.name[:3] == "lib"
            }
    dotted = set(names.values()) | {place for node in ast.walk(tree) if (place := _dotted(node, names))}
    return {key for place in dotted if (key := _home(place))}


def _dotted(node, names) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value, names)):
        return f"{before}.{node.attr}"
    return ""


def _home(place: str) -> tuple[str, str] | None:
    """Where the function or class at `lib.room.name` was defined; None for a module, a constant or a method."""
    above, _, name = place.rpartition(".")
    try:
        thing = getattr(importlib.import_module(above), name, None)
    except ModuleNotFoundError:  # `above` is a class
        return None
    own = getattr(thing, "__module__", "") or ""
    return (own, thing.__qualname__) if own.startswith("lib.") and hasattr(thing, "__qualname__") else None
