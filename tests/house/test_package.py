"""The built package: `dp_compendium` contains what `lib` contains and runs without `lib`, declares its dependencies,
and is quick to import."""

import ast
import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.version import Version

from book.ledger import claims
from tests.house import package
from tests.house.test_house import ours

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"
BASE = ("numerics", "accounting", "mechanisms", "gaussian_synthesis", "local", "tables", "attacks", "command")
OTHERS = {
    "microdata import IterativeBayes": "classifiers",
    "networks import Network": "networks",
}  # of rooms that need an extra


# ---- built, and laid in an empty folder


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Return a copy of the files that the package is made of, without git."""
    folder = tmp_path_factory.mktemp("source")
    for name in ours():
        if name.startswith("lib/") or name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CITATION.cff",
                                               "book/changes.md"):  # fmt: skip
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(source: Path, out: Path, kind: str = "wheel") -> Path:
    """Return the wheel of `source`, or its "sdist", by setuptools itself: nothing is fetched."""
    code = f"import setuptools.build_meta as backend; backend.build_{kind}({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(out.iterdir())


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory) -> Path:
    copy = tmp_path_factory.mktemp("copy") / "source"
    shutil.copytree(source, copy)  # a build leaves things there
    compileall.compile_dir(copy / "lib", quiet=1)  # and a run of the repository's code leaves these
    return build(copy, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


# Refuses what an environment lacks, and what a user of the package has not: the repository.
REFUSE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
"""


def python(installed: Path, code: str, *, without=()) -> subprocess.CompletedProcess:
    """Run `code` where `dp_compendium` is, and neither the repository nor the packages `without` are."""
    refused = {"lib", "book", "notebooks", *without}
    environment = {"PYTHONPATH": str(installed), "PATH": os.environ["PATH"], "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-P", "-c", REFUSE.format(refused=refused) + code]
    return subprocess.run(words, cwd=installed, capture_output=True, text=True, env=environment)


@pytest.mark.full
def test_the_wheel_holds_the_package_and_its_papers(wheel, installed):
    names = {path.relative_to(installed).as_posix(): path for path in installed.rglob("*") if path.is_file()}
    inside = {name.removeprefix("dp_compendium/"): path for name, path in names.items() if name.startswith("dp_")}
    for name in ours():
        if name.startswith("lib/"):
            assert inside[name.removeprefix("lib/")].read_bytes() == (ROOT / name).read_bytes(), name
    assert {name.split("/")[0].split("-")[0] for name in names} == {"dp_compendium"}
    assert {
        "py.typed",
        "data/stand_ins/adult.csv.gz",
        "microdata/adult_hierarchies/race.csv",
        "command/ledger.csv",
    } <= set(inside)
    papers = {name.split("/", 1)[1]: path for name, path in names.items() if ".dist-info/" in name}
    for name in ("LICENSE", "CITATION.cff", "book/changes.md"):
        assert papers[f"licenses/{name}"].read_bytes() == (ROOT / name).read_bytes()
    assert wheel.stat().st_size < 1_500_000
    assert not [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".pyc")]


def test_every_module_is_imported_and_an_example_runs_without_the_repository(installed):
    """The examples of one subpackage: tests/lib/test_examples.py runs all of them, under the repository's name."""
    code = """
import doctest, importlib, pkgutil, dp_compendium
names = [info.name for info in pkgutil.walk_packages(dp_compendium.__path__, "dp_compendium.")]
attempted = failed = 0
for module in map(importlib.import_module, ["dp_compendium", *names]):
    for test in doctest.DocTestFinder().find(module, globs={}) if ".mechanisms" in module.__name__ else ():
        for example in test.examples:
            example.source = example.source.replace("from lib.", "from dp_compendium.")
        found = doctest.DocTestRunner(verbose=False).run(test)
        attempted, failed = attempted + found.attempted, failed + found.failed
print(dp_compendium.__file__, len(names), attempted, failed)
"""
    done = python(installed, code)
    assert done.returncode == 0, done.stdout + done.stderr
    where, modules, attempted, failed = done.stdout.splitlines()[-1].split()
    assert Path(where) == installed / "dp_compendium/__init__.py"
    assert int(modules) == len(list(LIB.rglob("*.py"))) - 1
    assert int(attempted) > 0 and int(failed) == 0, done.stdout


def test_the_command_is_installed_and_says_what_it_says_here(installed):
    (entry,) = installed.glob("*.dist-info/entry_points.txt")
    assert "dp-compendium = dp_compendium.command.main:main" in entry.read_text()
    code = "from dp_compendium.command.main import main; sys.exit(main({words!r}))"
    words = ["epsilon", "gaussian", "--sigma", "4", "--delta", "1e-6", "--json"]
    there = python(installed, code.format(words=words))
    here = subprocess.run([sys.executable, "-m", "lib.command.main", *words], cwd=ROOT, capture_output=True, text=True)
    assert there.returncode == 0 and json.loads(there.stdout) == json.loads(here.stdout), there.stderr
    documents = sum(not id.startswith("compendium.") for id in claims.load().claims)
    assert f"{documents} claims" in python(installed, code.format(words=["ledger", "--text", "."])).stdout


# ---- what it needs


def imports(path: Path):
    """Yield (package, extra) of every import in `path` from elsewhere; the extra is that of the `with` around it, or ""."""
    left = [(node, "") for node in ast.parse(path.read_text(encoding="utf-8")).body]
    while left:
        node, extra = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue  # for those who read types
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], extra) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0], extra
        for call in (item.context_expr for item in getattr(node, "items", [])):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "extra":
                extra = call.args[0].value
        left += [(child, extra) for child in ast.iter_child_nodes(node)]


IMPORTED = {(name, extra) for path in LIB.rglob("*.py") for name, extra in imports(path)}


def test_imports_inside_are_relative():
    """Relative imports are the same under both names of the package."""
    assert not [
        (path, name) for path in LIB.rglob("*.py") for name, _ in imports(path) if name in ("lib", "dp_compendium")
    ]


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    for extra in ("", *package.PROJECT["optional-dependencies"]):
        there = package.modules(package.declared(*filter(None, [extra])))
        used = {name for name, of in IMPORTED if of == extra} - sys.stdlib_module_names
        assert used <= there, f"the extra {extra or 'none'} does not bring {used - there}"
    held = packages_distributions()
    used = {package.canonical(dist) for name, _ in IMPORTED for dist in held.get(name, [])}
    assert package.declared("all") - used == set()


def test_extras_are_those_that_the_code_names():
    extras = set(package.PROJECT["optional-dependencies"])
    assert {extra for _, extra in IMPORTED if extra} == extras - {"all"}
    assert package.declared("all") == package.declared(*(extras - {"all"}))


HEAVY = sorted({name for name, extra in IMPORTED if extra})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("room", BASE)
def test_a_room_of_the_bare_package_needs_no_extra_and_loads_nothing_slow(installed, room):
    """A count of loaded modules would be of one version; the four named here take a second of the import."""
    code = f"""
import dp_compendium.{room}
print(*({{"scipy.stats", "scipy.signal", "scipy.optimize", "prv_accountant"}} & set(sys.modules)))
"""
    done = python(installed, code, without=HEAVY)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("room, extra", OTHERS.items())
def test_a_room_that_lacks_its_packages_names_the_extra_in_a_sentence(installed, room, extra):
    done = python(installed, f"from dp_compendium.{room}", without=HEAVY)
    last = done.stderr.splitlines()[-1]
    assert (
        done.returncode == 1
        and last.startswith("ModuleNotFoundError: ")
        and last.endswith(f"dp-compendium[{extra}] brings it")
    )


@pytest.mark.full
def test_records_are_perturbed_without_any_extra(installed):
    code = (
        "from dp_compendium.microdata import Perturbation, pk_epsilon; import dp_compendium.microdata.microaggregation"
    )
    done = python(installed, code, without=HEAVY)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_says_which_extra_a_table_needs(installed):
    code = "from dp_compendium.command.main import main; sys.exit(main(['synthesize', 'people.csv', 'schema.yml']))"
    done = python(installed, code, without=HEAVY)
    assert done.returncode == 2 and done.stderr.endswith("the extra dp-compendium[data] brings it\n")
    assert len(done.stderr.splitlines()) == 1


def test_the_lowest_versions_are_stated():
    for requirement in (*package.PROJECT["dependencies"], *sum(package.PROJECT["optional-dependencies"].values(), [])):
        assert ">=" in requirement or requirement.startswith("dp-compendium["), requirement


def test_what_a_test_needs_is_read_from_its_imports():
    bare, tools = package.modules(package.declared()), package.modules(package.TOOLS)
    files = ("lib/mechanisms/test_mechanisms.py", "lib/networks/test_network.py", "book/test_links.py")
    needed = {Path(name).stem.removeprefix("test_"): package.needs(ROOT / "tests" / name) for name in files}
    assert needed["links"] is None  # of `lib`, nothing
    assert {"scipy", "mpmath"} <= needed["mechanisms"] <= bare | tools
    assert {"numba", "sklearn"} <= needed["network"] - (bare | tools) <= package.modules(package.declared("all"))


# ---- its version


def metadata(wheel: Path) -> dict:
    with zipfile.ZipFile(wheel) as file:
        name = next(name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return dict(HeaderParser().parsestr(file.read(name).decode()))


def test_without_git_the_version_is_after_the_last(wheel):
    fallback = package.tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools_scm"][
        "fallback_version"
    ]
    assert metadata(wheel)["Version"] == fallback


def committed(source: Path, copy: Path):
    """Put `source` under git in the folder `copy`, in one commit without a tag; return a function that runs git there."""
    shutil.copytree(source, copy)

    def git(*words):
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=copy, check=True, capture_output=True)

    (copy / ".gitignore").write_text("/build/\n*.egg-info/\n")
    git("init", "-q"), git("add", "."), git("commit", "-qm", "one")
    return git


@pytest.mark.full
def test_the_version_is_that_of_the_tag(source, tmp_path):
    git, copy = committed(source, tmp_path / "copy"), tmp_path / "copy"
    git("tag", "v3.2.0"), git("commit", "-qm", "two", "--allow-empty")
    after = Version(metadata(build(copy, tmp_path / "after"))["Version"])
    assert after.base_version == "3.2.1" and after.dev == 1
    git("tag", "v4.0.0")
    assert metadata(build(copy, tmp_path / "at"))["Version"] == "4.0.0"


@pytest.mark.full
def test_without_a_tag_commits_are_counted_and_a_source_distribution_says_the_same(source, tmp_path):
    git, copy = committed(source, tmp_path / "copy"), tmp_path / "copy"
    git("commit", "-qm", "two", "--allow-empty")
    archive = build(copy, tmp_path / "sdist", "sdist")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    there, here = (
        Version(metadata(build(folder, tmp_path / f"of-{folder.name}"))["Version"])
        for folder in (tmp_path / archive.name.removesuffix(".tar.gz"), copy)
    )
    last = Version(re.search(r"(?m)^version: (.+)$", (ROOT / "CITATION.cff").read_text())[1])
    assert there == here > last and here.dev == 2 and here.local.startswith("g")


# ---- in place


@pytest.mark.full
def test_an_editable_install_finds_the_repositorys_own_names_too(source, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    for name in ("book/__init__.py", "notebooks/__init__.py", "notebooks/studies/__init__.py"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).touch()
    code = f"import setuptools.build_meta as backend; backend.build_editable({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as file:
        file.extractall(site)
    code = f"""
import site, sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in str(each)]  # of the environment that runs this test
site.addsitedir({str(site)!r})
import lib.accounting, book, notebooks.studies, dp_compendium.command.main
print(*(each.__file__ for each in (lib, book, notebooks, dp_compendium)), sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, env={"PATH": ""}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(copy / name / "__init__.py") for name in ("lib", "book", "notebooks", "lib")]
