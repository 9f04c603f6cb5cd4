"""What `make book` runs again and what it leaves alone, on a small tree with a stand-in for Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_house import plain

ROOT = Path(__file__).resolve().parents[1]

# Plays every Python command of the Makefile, and notes it; a file named `broken-…` makes that step fail.
PYTHON = """\
#!/bin/sh
case "$*" in
  *check_environment*) ;;
  notebooks/run.py*) echo "ran $2" >> log; ps -o comm= -p $PPID > parent; test ! -e broken-notebook || exit 1; mkdir -p "$(dirname "$4")"; cp "$2" "$4" ;;
  *gather*) find build/executed -name '*.ipynb' | sort > build/claims.json ;;
  *page*) cp build/claims.json book/scorecard.md ;;
  *jupyter_book*) echo "built" >> log; test ! -e broken-page || { echo 'x.md:1: WARNING: a bad page'; exit 1; }
    mkdir -p build/scratch/_build/html; cat book/*.md > build/scratch/_build/html/index.html ;;
esac
"""


@pytest.fixture
def tree(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (
        "lib/a.py",
        "book/claims.yml",
        "book/ledger.py",
        "book/page.md",
        "_config.yml",
        "notebooks/run.py",
        "notebooks/kept.py",
        "notebooks/full.yml",
        "notebooks/doc/one.ipynb",
        "notebooks/doc/two.ipynb",
        "requirements.lock",
        "pyproject.toml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name + "\n")
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    assert make(tmp_path) == {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"}
    return tmp_path


def make(tree: Path, *, fails: bool = False, command: str = "book") -> set[str]:
    """The steps that `make book` took."""
    (tree / "log").write_text("")
    done = subprocess.run(["make", "PYTHON=./python", command], cwd=tree, capture_output=True, text=True, env=plain())
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    if not fails and command == "book":
        assert done.stdout.splitlines()[-1] == f"{tree}/build/html/index.html"
    (tree / "printed").write_text(done.stdout + done.stderr)
    return set((tree / "log").read_text().splitlines())


def settle(tree: Path) -> None:
    """Date every file back, evenly, so that what is written next is newer for certain."""
    for path in tree.rglob("*"):
        if path.is_file():
            os.utime(path, (path.stat().st_mtime - 100,) * 2)


def test_nothing_changed_runs_nothing(tree):
    assert make(tree) == set()


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("notebooks/doc/one.ipynb", {"ran notebooks/doc/one.ipynb", "built"}),
        ("lib/a.py", {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"}),
        ("book/claims.yml", {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"}),
        ("notebooks/run.py", {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"}),
        ("book/page.md", {"built"}),
        ("_config.yml", {"built"}),
    ],
)
def test_a_change_runs_what_depends_on_it(tree, name, steps):
    settle(tree)
    (tree / name).write_text("changed\n")
    assert make(tree) == steps
    assert make(tree) == set()


def test_a_page_that_came_went_or_was_renamed_is_noticed(tree):
    settle(tree)
    (tree / "book/new.md").write_text("new\n")
    os.utime(tree / "book/new.md", (0, 0))
    assert make(tree) == {"built"}
    (tree / "book/new.md").rename(tree / "book/other.md")
    assert make(tree) == {"built"}
    (tree / "book/other.md").unlink()
    assert make(tree) == {"built"}


def test_an_executed_notebook_whose_source_is_gone_is_removed(tree):
    (tree / "notebooks/doc/two.ipynb").unlink()
    assert make(tree) == {"built"}
    assert not (tree / "build/executed/doc/two.ipynb").exists()
    assert "two" not in (tree / "build/claims.json").read_text()


def test_a_failure_leaves_the_last_good_book(tree):
    settle(tree)
    good = (tree / "build/html/index.html").read_text()
    (tree / "book/page.md").write_text("changed\n")
    (tree / "broken-page").touch()
    make(tree, fails=True)
    printed = (tree / "printed").read_text()
    assert "x.md:1: WARNING: a bad page" in printed and "was not built" in printed
    assert (tree / "build/html/index.html").read_text() == good

    (tree / "broken-page").unlink()
    assert make(tree) == {"built"}
    assert (tree / "build/html/index.html").read_text() != good
    (tree / "notebooks/doc/one.ipynb").write_text("changed\n")
    (tree / "broken-notebook").touch()
    assert "built" not in make(tree, fails=True)
    assert "built" not in make(tree, fails=True)  # and it stays failed until it is mended
    (tree / "broken-notebook").unlink()
    assert make(tree) == {"ran notebooks/doc/one.ipynb", "built"}


def test_papers_run_into_a_folder_of_their_own(tree):
    assert make(tree, command="papers") == {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb"}
    assert (tree / "build/papers/doc/one.ipynb").is_file()
    assert make(tree, command="papers") == set()
    assert make(tree) == set()


def test_an_interrupted_full_run_goes_on_and_plans_only_what_is_left(tree):
    plan = tree / "build/papers/record/plan"
    make(tree, command="papers")
    assert plan.read_text().split() == ["2", "doc/one", "doc/two"]
    make(tree, command="papers")
    assert plan.read_text().split() == ["2"]
    settle(tree)
    (tree / "notebooks/doc/two.ipynb").write_text("changed\n")
    (tree / "broken-notebook").touch()  # interrupted: what was being run is not there
    make(tree, command="papers", fails=True)
    assert plan.read_text().split() == ["2", "doc/two"]
    (tree / "broken-notebook").unlink()
    assert make(tree, command="papers") == {"ran notebooks/doc/two.ipynb"}
    settle(tree)
    (tree / "notebooks/full.yml").write_text("changed\n")
    make(tree, command="papers")
    assert plan.read_text().split() == ["2", "doc/one", "doc/two"]


def test_nothing_stands_between_make_and_a_notebook_of_a_full_run(tree):
    """So that the notebook's run sees when make is killed (tests/test_run.py)."""
    make(tree, command="papers")
    assert (tree / "parent").read_text() == "make\n"


def test_the_pages_follow_the_commit_that_their_figures_name(tree):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b.example", *arguments],
            cwd=tree,
            check=True,
            capture_output=True,
        )

    git("init")
    git("add", "notebooks", "lib", "book/page.md")
    git("commit", "-m", "one")
    assert make(tree) == {"built"}
    assert make(tree) == set()
    git("add", "_config.yml")
    git("commit", "-m", "nothing that a figure shows")
    assert make(tree) == set()
    settle(tree)
    (tree / "notebooks/doc/one.ipynb").write_text("changed\n")
    assert make(tree) == {"ran notebooks/doc/one.ipynb", "built"}
    git("commit", "-a", "-m", "two")
    assert make(tree) == {"built"}
    assert make(tree) == set()


def test_clean_keeps_the_environment(tree):
    (tree / ".venv").mkdir()
    make(tree, command="clean")
    assert not (tree / "build").exists() and not (tree / "book/scorecard.md").exists()
    assert (tree / ".venv").is_dir()
