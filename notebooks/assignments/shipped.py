"""The files that go out with an assignment: how to start, the packages to install, and the part of `lib` that it uses.

`lib` contains answers to the assignments. So students get only the definitions that their notebook names, and the
definitions that these need in turn. A test checks that none of these definitions earns a point.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = "lib/data/stand_ins"
NO_PATH = '''\
def path(name: str, *, download: bool = True) -> Path:
    """Raise `DatasetError`: assignments use the synthetic samples."""
    raise DatasetError(f"{name} does not come with an assignment: use source='stand-in'")'''

START = """\
# How to start

**On your own computer.** You need Python 3.11, 3.12 or 3.13. In this folder:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.lock -r jupyterlab.lock
    .venv/bin/jupyter lab {name}.ipynb

(On Windows: `.venv\\Scripts\\pip` and `.venv\\Scripts\\jupyter`.) If you open notebooks in another program, such as VS Code, leave out `-r jupyterlab.lock`. Keep the notebook beside the folder `lib` and the other files.

**In Colab or JupyterHub.** Upload the notebook and the zip file to a new folder. The notebook's first code cell unpacks the zip file.

Replace every `YOUR CODE HERE`, the line below it, and every `YOUR ANSWER HERE` with your own text. Add cells wherever you like.
Cells with tests show their points; each runs further tests when it is graded. Before you hand in, choose
"Restart Kernel and Run All Cells", save, and check that your answers have a form that grading accepts:

    .venv/bin/python check.py

Hand in the one file `{name}.ipynb`.
"""

FIRST = ("where", "unpack")  # the ids of the cells with these two texts
WHERE = """\
**Where you work.** If you opened this notebook alone, as in Colab or JupyterHub, upload the zip file of the assignment to the notebook's folder. (In Colab, the folder icon at the left shows this folder.) The next cell unpacks it."""

UNPACK = """\
def _unpack():
    import importlib
    import sys
    import zipfile
    from pathlib import Path

    zips = sorted(Path().glob("{name}*.zip"), key=lambda path: path.stat().st_mtime)
    if not zips:
        raise FileNotFoundError("no {name}*.zip is beside this notebook: upload the zip file, and run this cell again") from None
    with zipfile.ZipFile(zips[-1]) as archive:
        for file in archive.namelist():
            target = Path(*Path(file).parts[1:])
            if target.suffix not in ("", ".ipynb"):
                if target.parts[0] == "lib":  # other assignments have another part of it
                    target = Path("{name}") / target
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(file))
    sys.path.insert(0, str(Path("{name}").resolve()))
    importlib.invalidate_caches()


try:
    import lib.numerics
except ModuleNotFoundError:
    _unpack()"""

USUAL = {"numpy", "scipy", "pandas", "matplotlib", "ipykernel"}  # packages that students expect in every assignment


def files(released) -> dict[str, bytes]:
    """Return {path: content} of the files below `lib` that the code cells of the notebook `released` need."""
    return dict(_files("\n".join(cell.source for cell in released.cells if cell.cell_type == "code")))


@functools.cache
def _files(code: str) -> dict[str, bytes]:
    needs = _Needs()
    needs.of_code(ast.parse(code))
    found = {
        module.relative_to(ROOT).as_posix(): _kept(module, names).encode() for module, names in needs.names.items()
    }
    for path in list(found):
        for folder in list(Path(path).parents)[:-1]:
            found.setdefault(f"{folder.as_posix()}/__init__.py", b"")
    if "lib/data/datasets.py" in found:
        used = {"provenance", *needs.names[ROOT / "lib/data/datasets.py"]}
        samples = [path for path in sorted((ROOT / DATA).iterdir()) if path.name.partition(".")[0] in used]
        found |= {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in samples}
    return found


def modules(released) -> set[str]:
    """Return the modules of other packages that the notebook `released`, and what goes out with it, imports."""
    codes = [cell.source for cell in released.cells if cell.cell_type == "code"]
    codes += [content.decode() for path, content in files(released).items() if path.endswith(".py")]
    found: set[str] = set()
    for code in codes:
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return {name for name in found if name.split(".")[0] != "lib"}


def requirements(released) -> dict[str, bytes]:
    """Return two parts of the classroom's lock, with hashes: what runs the notebook `released`, and what JupyterLab adds."""
    used = {name.split(".")[0] for name in modules(released)}
    imported = {_normal(package) for name in used for package in _providers().get(name, ())}
    enough = _with_needs(USUAL | imported)
    more = _with_needs({"jupyterlab"}) - enough
    return {"requirements.lock": _lock(enough), "jupyterlab.lock": _lock(more)}


def _with_needs(packages: set[str]) -> set[str]:
    """Return `packages` and all packages that these need."""
    while more := {package for package, (_, users) in _locked().items() if users & packages} - packages:
        packages = packages | more
    return packages


def _lock(packages: set[str]) -> bytes:
    return "".join(entry for package, (entry, _) in _locked().items() if package in packages).encode()


_providers = functools.cache(importlib.metadata.packages_distributions)


@functools.cache
def _locked() -> dict[str, tuple[str, set[str]]]:
    """Return {package: (its entries in the lock, the packages that need it)}; uv lists these packages below each entry.

    A package has several entries if its version depends on Python's.
    """
    lock = (ROOT / "requirements-classroom.lock").read_text(encoding="utf-8")
    found: dict[str, tuple[str, set[str]]] = {}
    for entry in re.split(r"(?m)^(?=[^\s#])", lock)[1:]:
        pinned, _, users = entry.partition("    # via")
        package = _normal(pinned.split("==")[0])
        earlier, known = found.get(package, ("", set()))
        found[package] = earlier + pinned, known | set(re.findall(r"[\w.-]+", users))
    return found


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


class _Needs:
    """The modules of `lib` that are needed, and the needed names of each module."""

    def __init__(self):
        self.names: dict[Path, set[str]] = {}

    def of_code(self, tree: ast.Module) -> None:
        """Record the needs of code outside `lib`."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lib":
                for alias in node.names:
                    self.of_import(Path(), node, alias, tree)

    def of_import(self, here: Path, node: ast.ImportFrom, alias: ast.alias, user: ast.AST) -> None:
        """Record the needs of `from … import alias` in the module `here`, which `user` uses."""
        folder = ROOT if not node.level else here.parents[node.level - 1]
        package = folder.joinpath(*(node.module or "").split(".")) if node.module else folder
        module = _module(package / alias.name)
        if module is None:
            if ROOT / "lib" in (package, *package.parents):
                self.of_name(_module(package), alias.name)
            return
        self.names.setdefault(module, set())
        bound = alias.asname or alias.name
        for used in ast.walk(user):
            if isinstance(used, ast.Attribute) and isinstance(used.value, ast.Name) and used.value.id == bound:
                self.of_name(module, used.attr)

    def of_name(self, module: Path, name: str) -> None:
        """Record the definition of `name` in `module` and its needs."""
        if name in self.names.setdefault(module, set()):
            return
        self.names[module].add(name)
        for statement in _statements(module):
            if name not in bound(statement):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            self.of_import(module, node, alias, _users(module, self.names[module]))
                elif isinstance(node, ast.Name):
                    self.of_global(module, node.id)
            # A module that is used in a new definition is needed for what is used of it there.
            for node in _imports(module):
                for alias in node.names:
                    if (alias.asname or alias.name) in self.names[module]:
                        self.of_import(module, node, alias, statement)

    def of_global(self, module: Path, name: str) -> None:
        if any(name in bound(statement) for statement in _statements(module)):
            self.of_name(module, name)


def _module(path: Path) -> Path | None:
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@functools.cache
def _text(module: Path) -> str:
    """Return the text of `module` without the code that fetches real data, and without the packages that it needs."""
    text = module.read_text(encoding="utf-8")
    if module != ROOT / "lib/data/datasets.py":
        return text
    before, _, rest = text.partition("\ndef path(")
    return f"{before}\n{NO_PATH}\n\n\n{rest.partition(chr(10) * 3)[2]}"


@functools.cache
def _statements(module: Path) -> list[ast.stmt]:
    return ast.parse(_text(module)).body


@functools.cache
def _imports(module: Path) -> list[ast.ImportFrom]:
    return [node for each in _statements(module) for node in ast.walk(each) if isinstance(node, ast.ImportFrom)]


def _users(module: Path, names: set[str]) -> ast.Module:
    return ast.Module([each for each in _statements(module) if bound(each) & names], [])


@functools.cache
def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.With, ast.If, ast.Try, ast.For)):
        return set().union(
            *(bound(each) for each in ast.walk(statement) if isinstance(each, ast.stmt) and each is not statement)
        )
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _kept(module: Path, names: set[str]) -> str:
    """Return the `_text` of `module` with only those statements and imports that bind one of `names`."""
    lines = _text(module).split("\n")
    kept = []
    for index, statement in enumerate(_statements(module)):
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))]) - 1
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            kept.append(ast.unparse(statement))
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            wanted = [each for each in statement.names if (each.asname or each.name).split(".")[0] in names]
            if wanted and isinstance(statement, ast.Import):
                kept.append(ast.unparse(ast.Import(wanted)))
            elif wanted:
                kept.append(ast.unparse(ast.ImportFrom(statement.module, wanted, statement.level)))
        elif (index == 0 and isinstance(statement, ast.Expr)) or bound(statement) & names:
            unused = [each for each in ast.walk(statement) if isinstance(each, ast.Import) and not bound(each) & names]
            without = {each.lineno - 1 for each in unused if isinstance(statement, ast.With)}
            kept.append("\n".join(lines[at] for at in range(first, statement.end_lineno) if at not in without))
    return "\n\n\n".join(kept) + "\n"
