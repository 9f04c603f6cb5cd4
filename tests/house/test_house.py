"""The project's own files agree with one another: lock, environment, commands, licences."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from book._ext import reference
from book.ledger import claims

ROOT = Path(__file__).resolve().parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# Both lists of commands: what a person runs, and what only maintainers run.
COMMANDS = {
    command
    for file, first in (("Makefile", "help"), ("scripts/maintaining.mk", "nbval"))
    for command in re.search(rf"^\.PHONY: ({first} .*)$", text(file), flags=re.MULTILINE)[1].split()
}


def git(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def ours() -> list[str]:
    """Return the files that are, or would be, part of the repository."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


# ---- the map of the package


def test_the_map_of_the_package_is_the_package():
    shown = {f"lib/{room}/{name}.py" for room, names in reference.order().items() for name in names}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "lib").rglob("*.py") if path.name != "__init__.py"}
    assert shown == there


# ---- the lock


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


READER, *GROUPS = LISTS = ["requirements", "requirements-classroom", "requirements-development"]


def locked(stem: str = READER) -> dict[str, str]:
    """Return every requirement of a lock with the lines that follow it."""
    blocks = re.split(r"\n(?=[A-Za-z0-9])", "\n" + re.sub(r"(?m)^ *#.*\n", "", text(f"{stem}.lock")))
    return {block.split(" ", 1)[0]: block for block in blocks if block.strip()}


def requested(stem: str) -> list[str]:
    return [line for line in text(f"{stem}.in").splitlines() if line and line[0] not in "#-"]


@pytest.mark.parametrize("stem", LISTS)
def test_every_requirement_is_in_the_lock_within_its_bounds(stem):
    pins = {}
    for pin in locked(stem):
        name, version = pin.split("==")
        pins.setdefault(canonical(name), []).append(version)
    for line in requested(stem):
        name, bound = re.fullmatch(r"([\w.-]+)([^;]*)(?:;.*)?", line).groups()
        assert canonical(name) in pins, f"{name} is not locked: make lock"
        for version in pins[canonical(name)]:
            if bound.startswith("=="):
                assert version == bound[2:]
            elif bound.startswith("<"):
                release = [tuple(map(int, v.split("."))) for v in (version, bound[1:])]
                assert release[0] < release[1], f"{name} {version} is not {bound}"
            else:
                assert bound == "", f"a bound this test cannot read: {line}"


@pytest.mark.parametrize("stem", GROUPS)
def test_a_group_is_locked_to_the_versions_of_those_below_it(stem):
    """Installed over the reader's packages, it changes none of them."""
    for below in LISTS[: LISTS.index(stem)]:
        theirs = locked(below)
        names = {pin.split("==")[0] for pin in theirs}
        ours = {pin for pin in locked(stem) if pin.split("==")[0] in names}
        assert ours <= theirs.keys() and len(ours) > 10


@pytest.mark.parametrize("stem", LISTS)
def test_every_locked_requirement_is_pinned_and_hashed(stem):
    pins = locked(stem)
    assert len(pins) > 50
    for pin, block in pins.items():
        assert re.fullmatch(r"[\w.-]+==[\w.]+", pin)
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), f"{pin} has no hash"


def test_the_environment_can_be_made_from_the_lock_alone():
    """uv installs the rest, setuptools builds the editable project without isolation."""
    names = {pin.split("==")[0] for pin in locked()}
    needed = tomllib.loads(text("pyproject.toml"))["build-system"]["requires"]
    assert {"uv", *(re.match(r"[\w-]+", each)[0] for each in needed)} <= names


def test_conda_users_get_the_locked_versions_and_the_same_pythons():
    environment = yaml.safe_load(text("environment.yml"))
    python, pip, packages = environment["dependencies"]
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert python == f"python {project['requires-python']}"
    assert pip == "pip"
    assert packages == {"pip": ["-r requirements.lock"]}


# ---- commands


def test_make_help_lists_every_command():
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in printed.splitlines() if line.startswith("  ")}
    assert listed == COMMANDS


PROSE = [
    "README.md",
    "README.ja.md",
    "CONTRIBUTING.md",
    ".github/pull_request_template.md",
    "book/how-to.md",
    "book/data.md",
    "book/index.md",
]


@pytest.mark.parametrize("name", [*PROSE, ".ci/run"])
def test_the_commands_that_the_prose_names_exist(name):
    named = set(re.findall(r"(?m)(?:^|`)make (?:PYTHON=python )?([a-z-]+)", text(name)))
    assert named <= COMMANDS


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_the_readme_lists_ten_commands_at_most_and_how_to_see_the_rest(name):
    listed = re.findall(r"(?m)^\| `make ([a-z-]+)", text(name))
    assert set(listed) <= COMMANDS and "help" in listed and len(listed) <= 10


@pytest.mark.parametrize("name", ["README.md", "README.ja.md", "CONTRIBUTING.md", "book/how-to.md"])
def test_the_files_that_the_prose_names_exist(name):
    named = re.findall(r"\b((?:notebooks|book|tests|lib)/[\w/.-]+\.\w+)", text(name))
    assert named and [path for path in named if not (ROOT / path).is_file()] == []


def test_ci_is_an_executable_script_that_bash_can_read():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text(".ci/run")
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_without_a_usable_python_make_says_so_in_one_line(tmp_path):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for folder in ("lib", "book"):
        (tmp_path / folder).mkdir()
    done = subprocess.run(
        ["make", "PYTHON3=", ".venv/installed"], cwd=tmp_path, capture_output=True, text=True, env=plain()
    )
    first, *rest = done.stderr.splitlines()
    assert done.returncode and first.startswith("No usable Python 3.11, 3.12 or 3.13 found")
    assert all(line.startswith("make") for line in rest)
    assert not (tmp_path / ".venv").exists()


def plain() -> dict:
    """Return the environment without what an outer make, perhaps the one that runs this test, has set."""
    return {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


# ---- what the repository holds


def test_git_ignores_what_is_made_and_not_lib():
    if git("rev-parse").returncode:
        pytest.skip("not a git checkout")
    assert git("check-ignore", "lib/numerics/checks.py").returncode == 1
    made = [".venv/x", "build/x", "book/notebooks", "book/scorecard.md"]
    made += [".released-k3jx/made/synthetic.csv", "notebooks/.released-k3jx"]  # a release that was killed
    assert git("check-ignore", *made).stdout.splitlines() == made


def test_no_file_is_empty_but_those_that_mark_packages():
    empty = [Path(name) for name in ours() if not (ROOT / name).stat().st_size]
    assert [str(file) for file in empty if file.name not in ("__init__.py", "py.typed")] == []


@pytest.mark.slow
def test_no_file_names_a_machine_or_a_registry_host():
    hosts = ["pypi" + ".org", "python" + "hosted", "anaconda" + ".org", "npm" + "js", "deb" + ".debian"]
    private = re.compile(r"(?<![\w.~-])/(?:work|root|home|Users)/|" + "|".join(map(re.escape, hosts)))
    for name in ours():
        try:
            content = text(name)
        except UnicodeDecodeError:
            continue  # a picture
        found = private.search(content)
        assert found is None, f"{name}: {content[max(0, found.start() - 40) : found.end() + 40]!r}"


def test_the_citation_is_of_the_last_version():
    """It is the last version of the changes and, if git has tags, of the tags; a build without git has a later one."""
    citation = yaml.safe_load(text("CITATION.cff"))
    told = re.findall(r"(?m)^## (\d+\.\d+\.\d+) \((.*)\)$", text("book/changes.md"))
    assert (citation["version"], citation["date-released"]) == told[0]
    tags = git("tag", "--list", "v[0-9]*").stdout.split()
    assert max((Version(tag) for tag in tags), default=Version(citation["version"])) == Version(citation["version"])
    fallback = tomllib.loads(text("pyproject.toml"))["tool"]["setuptools_scm"]["fallback_version"]
    assert Version(fallback).is_devrelease and Version(fallback) > Version(citation["version"])
    assert citation["title"] == yaml.safe_load(text("_config.yml"))["title"]
    assert citation["license"] == ["MIT", "CC-BY-4.0"]


def test_the_licences_are_both_stated():
    for name in ("LICENSE", "README.md"):
        assert "MIT" in text(name) and "CC BY 4.0" in text(name)


@pytest.mark.parametrize(
    "same",
    [
        r"(?ms)^```.*?^```",  # the code
        r"(?m)^\| (`[^|]+`) \|",  # commands and documents
        r"\b[A-Z]{4,}=\S+\b",  # what commands are given
        r"\]\((?!README)(.*?)\)",  # links and pictures
        r"(?m)^(#+) ",
    ],
)
def test_both_readmes_say_the_same(same):
    english, japanese = (re.findall(same, text(name)) for name in ("README.md", "README.ja.md"))
    assert english == japanese and english


def test_the_picture_in_the_readme_is_there_and_small():
    picture = ROOT / "book/_static/screenshot.png"
    assert "](book/_static/screenshot.png)" in text("README.md")
    assert 10_000 < picture.stat().st_size < 300_000


# ---- the documents


DOCUMENTS = claims.load(ROOT / "book/claims.yml").documents


@pytest.mark.parametrize("key", DOCUMENTS)
def test_a_document_has_its_pages_and_its_row(key):
    listed = re.findall(r"file: (\S+)", text("book/_toc.yml"))
    assert {f"{key}/index", f"{key}/summary"} <= set(listed)
    assert any(name.startswith(f"notebooks/{key}/") for name in listed)
    document = DOCUMENTS[key]
    for name, words in (
        ("README.md", (f"*{document.title}*", f"| {document.subject} |")),
        ("README.ja.md", (document.title_ja or document.title,)),
    ):
        row = next((line for line in text(name).splitlines() if line.startswith(f"| `{key}` |")), "")
        assert all(said in row for said in (*words, f"({document.year})")), row


NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


@pytest.mark.parametrize("name", ["README.md", "book/index.md", "CITATION.cff"])
def test_the_prose_counts_the_documents(name):
    found = re.search(r"(\w+) (?:\w+ )?(?:documents|papers) on differential privacy", text(name))
    assert found and found[1].capitalize() == NUMBERS[len(DOCUMENTS)]


def test_nothing_is_left_to_be_filled_in():
    """`make document` marks what only a person can say (notebooks/templates)."""
    places = [
        f"{name}:{number}"
        for name in ours()
        if name.startswith(("book/", "notebooks/", "README"))
        and not name.startswith("notebooks/templates/")
        and name.endswith((".md", ".yml", ".bib", ".ipynb"))
        for number, line in enumerate(text(name).splitlines(), start=1)
        if "FILL IN" in line
    ]
    assert places == []


def test_every_notebook_is_a_page_of_the_book():
    notebooks = {path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "notebooks").glob("*/*.ipynb")}
    listed = set(re.findall(r"file: (notebooks/\S+)", text("book/_toc.yml")))
    assert listed == {name for name in notebooks if "/assignments/" not in name}
