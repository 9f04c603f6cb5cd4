"""The subpackages import one another only in the order of `pyproject.toml`, and a planted import against the order is
found."""

import ast
import graphlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path) -> subprocess.CompletedProcess:
    """Return import-linter's answer about the code below `folder`."""
    command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.'); {LINT}", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


@pytest.fixture
def copy(tmp_path):
    """Return the code of the packages and of their tests, and the settings."""
    for path in [
        ROOT / "pyproject.toml",
        *(p for top in ("lib", "book", "notebooks", "tests") for p in ROOT.glob(f"{top}/**/*.py")),
    ]:
        there = tmp_path / path.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(path.read_bytes())
    return tmp_path


def test_no_room_uses_one_above_it():
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("lib/numerics/checks.py", "from ..accounting import divergence"),
        ("lib/mechanisms/noise.py", "def late():\n    from ..tables import table"),
        ("lib/local/protocol.py", "from lib.tables import Table"),
        ("lib/attacks/audit.py", "from ..command import main"),
        ("lib/attacks/audit.py", "from book.ledger import claims"),
        ("book/ledger/claims.py", "from notebooks.studies import grid"),
        ("book/editions/edition.py", "from book.ledger import claims"),
        ("book/ledger/cards.py", "def late():\n    from book._ext import tables"),
        ("lib/a_new_room/__init__.py", ""),
    ],
)
def test_a_planted_import_is_found(copy, module, line):
    (copy / module).parent.mkdir(exist_ok=True)
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = lint(copy)
    assert done.returncode and "BROKEN" in done.stdout or "a_new_room" in done.stdout, done.stdout + done.stderr


# ---- folders that are no packages, which import-linter does not see: the book's extensions, the assignments

ABOVE = {"lib": {"book", "notebooks", "tests"}, "book": {"notebooks", "tests"}, "notebooks": {"tests"}}


def backwards(root: Path) -> set[tuple[str, str]]:
    """Return the files below `root` that import from above, each with the name."""
    found = set()
    for top, above in ABOVE.items():
        for path in (root / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import) or isinstance(node, ast.ImportFrom) and not node.level:
                    start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                    names = {start + alias.name for alias in node.names}
                    found |= {
                        (path.relative_to(root).as_posix(), name) for name in names if name.split(".")[0] in above
                    }
    return found


def test_nothing_imports_backwards():
    assert backwards(ROOT) == set()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("module", "line", "name"),
    [
        ("book/_ext/tables.py", "from notebooks.studies import grid", "notebooks.studies.grid"),
        ("book/_ext/reference.py", "def late():\n    import notebooks.tools.run", "notebooks.tools.run"),
        ("notebooks/assignments/grade.py", "from tests.classroom import hostile", "tests.classroom.hostile"),
        ("lib/release/parts.py", "import book", "book"),
    ],
)
def test_a_planted_import_backwards_is_found(copy, module, line, name):
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")
    assert backwards(copy) == {(module, name)}


def test_every_room_is_a_package_and_stands_in_the_order():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    ordered = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    folders = {path.name for path in (ROOT / "lib").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert ordered == folders == {path.parent.name for path in (ROOT / "lib").glob("*/__init__.py")}


# ---- no circle, between files of whichever folder, imports within functions included


def imported(root: Path, path: Path) -> set[Path]:
    """Return the files below `root` that `path` imports, wherever in it; of a package and what lies in it the module that is named."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name: "" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(root).parts[: -node.level] if node.level else ()
            start = ".".join([*package, *filter(None, [node.module])])
            names = {f"{start}.{alias.name}": start for alias in node.names}
        else:
            continue
        for name, otherwise in names.items():
            found.add(file_of(root, name) or file_of(root, otherwise))
    return found - {None, path}


def file_of(root: Path, name: str) -> Path | None:
    place = root.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py") if name else ()
    return next((file for file in files if file.is_file()), None)


def circle(root: Path) -> list[str]:
    """Return the files of a circle of imports, from the first to the first again; [] without a circle."""
    paths = [path for top in ("lib", "book", "notebooks", "proofs", "tests") for path in (root / top).rglob("*.py")]
    try:
        graphlib.TopologicalSorter({path: imported(root, path) for path in paths}).prepare()
    except graphlib.CycleError as error:
        return [path.relative_to(root).as_posix() for path in error.args[1]]
    return []


def test_no_files_import_one_another_in_a_circle():
    assert circle(ROOT) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("module", "line", "other"),
    [
        ("book/editions/catalogues.py", "def late():\n    from book.ledger import verdicts", "book/ledger/verdicts.py"),
        ("book/ledger/claims.py", "from book.ledger.cards import Finding", "book/ledger/cards.py"),
        ("lib/mechanisms/noise.py", "from . import selection", "lib/mechanisms/selection.py"),
        ("lib/numerics/checks.py", "import lib.data.datasets", "lib/data/datasets.py"),
        (
            "notebooks/assignments/confinement.py",
            "import notebooks.assignments.judge",
            "notebooks/assignments/judge.py",
        ),
        ("tests/browser/chromium.py", "from tests.browser import page", "tests/browser/page.py"),
    ],
)
def test_a_planted_circle_is_found(copy, module, line, other):
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")
    assert {module, other} <= set(circle(copy))
