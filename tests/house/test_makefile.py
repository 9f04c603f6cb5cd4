"""The recipes that `make book` runs again and those that it skips, on a small tree with a substitute for Python."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from book.kept import content_key
from tests.house.test_house import plain

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

# Plays every Python command of the Makefile but the keys, and notes it; a file named `broken-…` makes that step fail. What a file
# named `meanwhile` says is done after a step that has its first line in the command.
PYTHON = """\
#!/bin/sh
case "$*" in
  *check_environment*) ;;
  notebooks/tools/keys.py* | notebooks/tools/alone.py*) exec "REAL" "$@" ;;
  notebooks/tools/run.py*) echo "ran $2" >> log; ps -o comm= -p $PPID > parent; test ! -e broken-notebook || exit 1; mkdir -p "$(dirname "$4")"; cp "$2" "$4" ;;
  *gather*) find build/executed -name '*.ipynb' | sort > build/claims.json ;;
  *page*) cp build/claims.json book/scorecard.md ;;
  *book.site.build*) echo "built" >> log; test ! -e broken-page || { echo 'x.md:1: WARNING: a bad page'; exit 1; }
    mkdir -p build/scratch/html; cat book/*.md > build/scratch/html/index.html ;;
esac
case "$*" in *"$(head -1 meanwhile 2>/dev/null || echo none)"*) mv meanwhile done; sed 1d done | sh ;; esac
"""


def notebook(*sources: str) -> str:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}})


CLAIMS = """\
claims:

- id: doc.first
  printed: "1"
- id: other.first
  printed: "2"
"""
FILES = {
    "lib/a.py": "A = 1\nA_UNUSED = 1\n",
    "lib/b.py": '"""B."""\n\nB = 1\n',
    "book/claims.yml": CLAIMS,
    "book/ledger/__main__.py": "LEDGER = 'book/claims.yml'\n",
    "book/page.md": "page\n",
    "book/results/numbers.csv": "1\n",
    "_config.yml": "title: x\n",
    "notebooks/tools/run.py": "from notebooks.tools.kept import KEPT\nKEPT\n",
    "notebooks/tools/kept.py": "KEPT = 1\n",
    "notebooks/full.yml": "doc/one:\n  trials: 3\n",
    "notebooks/doc/one.ipynb": notebook("import lib.a\nlib.a.A", "open('book/results/numbers.csv')"),
    "notebooks/doc/two.ipynb": notebook("from lib.b import B\nB"),
    "requirements.lock": "numpy==1\n",
    "pyproject.toml": "[project]\n",
}
ONE, TWO, BUILT = "ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"


@pytest.fixture
def tree(tmp_path):
    tmp_path /= "a folder"
    programs = "notebooks/tools/keys.py", "notebooks/tools/alone.py"
    code = [path for path in content_key.closure(*programs) if path.suffix == ".py"]
    for path in (ROOT / "Makefile", *(ROOT / "scripts").iterdir(), *code):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "python").write_text(PYTHON.replace("REAL", sys.executable))
    (tmp_path / "python").chmod(0o755)
    assert make(tmp_path) == {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb", "built"}
    return tmp_path


def make(tree: Path, *, fails: bool = False, command: str = "book") -> set[str]:
    """Return the steps that `make book` took."""
    (tree / "log").write_text("")
    done = subprocess.run(["make", "PYTHON=./python", command], cwd=tree, capture_output=True, text=True, env=plain())
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    if not fails and command == "book":
        assert done.stdout.splitlines()[-1] == f"{tree}/build/html/index.html"
    (tree / "printed").write_text(done.stdout + done.stderr)
    return set((tree / "log").read_text().splitlines())


def test_nothing_changed_runs_nothing(tree):
    assert make(tree) == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "text", "steps"),
    [
        ("notebooks/doc/one.ipynb", notebook("import lib.a, lib.b"), {ONE, BUILT}),
        ("lib/a.py", "A = 2\nA_UNUSED = 1\n", {ONE, BUILT}),
        ("lib/a.py", "A = 1\nA_UNUSED = 2\n", {BUILT}),
        ("lib/b.py", "B = 2\n", {TWO, BUILT}),
        ("lib/b.py", '"""The letter."""\n\nB = 1\n', {BUILT}),
        ("book/results/numbers.csv", "2\n", {ONE, BUILT}),
        ("book/claims.yml", CLAIMS.replace('"1"', '"3"'), {ONE, TWO, BUILT}),
        ("book/claims.yml", CLAIMS.replace('"2"', '"3"'), {BUILT}),
        ("notebooks/tools/run.py", "from notebooks.tools.kept import KEPT\nKEPT + 1\n", {ONE, TWO, BUILT}),
        ("notebooks/tools/kept.py", "KEPT = 2\n", {ONE, TWO, BUILT}),
        ("requirements.lock", "numpy==2\n", {ONE, TWO, BUILT}),
        ("book/page.md", "changed\n", {BUILT}),
        ("_config.yml", "title: y\n", {BUILT}),
    ],
)
def test_a_change_runs_what_depends_on_it(tree, name, text, steps):
    (tree / name).write_text(text)
    assert wanted(tree) == steps - {BUILT}
    assert make(tree) == steps
    assert make(tree) == set()


def wanted(tree: Path) -> set[str]:
    """Return the notebooks that `make -n book` says it would run."""
    said = subprocess.run(
        ["make", "-n", "PYTHON=./python", "book"], cwd=tree, capture_output=True, text=True, env=plain()
    )
    assert not said.returncode, said.stderr
    return {
        f"ran {words[words.index('-o') - 1]}"
        for words in map(str.split, said.stdout.splitlines())
        if "-o" in words and "notebooks/tools/run.py" in words
    }


@pytest.mark.sampled(1)
# The first runs in `make test`: results from the future, as after a clock was set back.
@pytest.mark.parametrize("age", [1e8, 3600.0, 0.0, -3600.0, -1e8], ids=str)
def test_only_what_is_said_counts_and_no_age(tree, age):
    """The ages of sources and results do not count: a clock may have been set back, or the files may be a copy."""

    def date(name):
        os.utime(tree / name, (time.time() + age,) * 2)

    files = [
        path.relative_to(tree) for path in tree.rglob("*") if path.is_file() and path.name not in ("log", "printed")
    ]
    for name in files:
        date(name)
    assert wanted(tree) == make(tree) == set()
    for name, text, steps in (
        ("lib/a.py", "A = 2\n", {ONE, BUILT}),
        ("book/page.md", "changed\n", {BUILT}),
        ("requirements.lock", "numpy==2\n", {ONE, TWO, BUILT}),
    ):
        (tree / name).write_text(text)
        date(name)
        assert make(tree) == steps and make(tree) == set(), name
        for made in ("build/executed/doc/one.ipynb", "build/claims.json", "book/scorecard.md", "build/html/index.html"):
            date(made)
        assert make(tree) == set()
    assert (tree / "build/html/index.html").read_text() == "changed\n" + (tree / "build/claims.json").read_text()


@pytest.mark.full
@pytest.mark.parametrize(
    "made", ["build/executed/doc/one.ipynb", "build/claims.json", "book/scorecard.md", "build/html/index.html"]
)
def test_what_is_gone_is_made_again_and_nothing_else(tree, made):
    text = (tree / made).read_bytes()
    (tree / made).unlink()
    assert make(tree) == {"build/executed/doc/one.ipynb": {ONE}, "build/html/index.html": {BUILT}}.get(made, set())
    assert (tree / made).read_bytes() == text


def test_code_that_comes_back_is_run_again_if_its_outputs_may_be_of_other_code(tree):
    """The run was killed after it wrote its outputs and before it wrote their key."""
    (tree / "lib/a.py").write_text("A = 2\n")
    assert wanted(tree) == {ONE}  # the key of the first outputs is gone
    (tree / "build/executed/doc/one.ipynb").write_text(notebook("of other code"))
    (tree / "lib/a.py").write_text(FILES["lib/a.py"])
    assert make(tree) == {ONE, BUILT}


@pytest.mark.parametrize(
    ("step", "name", "text", "steps"),
    [
        ("doc/one", "lib/a.py", "A = 2\n", {ONE, BUILT}),
        ("gather", "lib/a.py", "A = 2\n", {ONE, BUILT}),
        ("page", "book/claims.yml", CLAIMS.replace('"2"', '"3"'), {BUILT}),
        ("site.build", "book/page.md", "changed\n", {BUILT}),
    ],
)
def test_a_change_during_a_build_is_in_the_next_one(tree, step, name, text, steps):
    """This holds even if another make reads the new sources before the build ends."""
    (tree / "lib/b.py").write_text("B = 2\n")
    (tree / "notebooks/doc/one.ipynb").write_text(notebook("import lib.a\nlib.a.A + 1"))
    (tree / "new").write_text(text)
    other = "env -u MAKEFLAGS -u MAKELEVEL make -n PYTHON=./python book > /dev/null"
    (tree / "meanwhile").write_text(f"{step}\ncp new {name}\n{other}\n")
    assert make(tree) == {ONE, TWO, BUILT} and not (tree / "meanwhile").exists()
    assert make(tree) == steps
    assert make(tree) == set()


def test_of_two_that_build_at_once_the_second_waits_and_finds_the_book(tree):
    (tree / "book/page.md").write_text("changed\n")
    (tree / "log").write_text("")
    slow = PYTHON.replace('echo "built" >> log;', 'echo "built" >> log; sleep 2;').replace("REAL", sys.executable)
    (tree / "python").write_text(slow)
    command = ["make", "PYTHON=./python", "book"]
    two = [
        subprocess.Popen(command, cwd=tree, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=plain())
        for _ in "ab"
    ]
    said = sorted(each.communicate()[0] for each in two)
    assert [each.returncode for each in two] == [0, 0], said
    assert sum("another process holds the lock" in each for each in said) == 1
    assert (tree / "log").read_text() == "built\n"
    assert (tree / "build/html/index.html").read_text().startswith("changed\n")


def test_of_two_that_make_the_environment_at_once_the_second_waits_and_finds_it(tree):
    (tree / "base").write_text(f"""#!/bin/sh
case "$*" in
  *alone.py*) exec "{sys.executable}" "$@" ;;
  "-m venv"*) echo "made" >> log; sleep 1; mkdir -p .venv/bin; cp base .venv/bin/python ;;
esac
""")
    (tree / "base").chmod(0o755)
    (tree / "log").write_text("")
    command = ["make", "PYTHON3=./base", ".venv/installed"]
    two = [subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, text=True, env=plain()) for _ in "ab"]
    said = sorted(each.communicate()[0] for each in two)
    assert [each.returncode for each in two] == [0, 0], said
    assert sum("another process holds the lock" in each for each in said) == 1
    assert (tree / "log").read_text() == "made\n" and (tree / ".venv/installed").is_file()


def test_a_killed_build_leaves_the_good_book_and_no_lock(tree):
    good = (tree / "build/html/index.html").read_text()
    (tree / "book/page.md").write_text("changed\n")
    (tree / "python").write_text(
        PYTHON.replace('echo "built" >> log;', 'echo "built" >> log; sleep 60;').replace("REAL", sys.executable)
    )
    done = subprocess.Popen(
        ["make", "PYTHON=./python", "book"], cwd=tree, env=plain(), stdout=subprocess.PIPE, start_new_session=True
    )
    done.stdout.read(len("building"))
    os.killpg(done.pid, signal.SIGKILL)
    done.communicate()
    assert (tree / "build/html/index.html").read_text() == good
    (tree / "build/html").rename(tree / "build/html.old")  # as if killed between the two renames
    (tree / "python").write_text(PYTHON.replace("REAL", sys.executable))
    (tree / "broken-page").touch()
    make(tree, fails=True)
    assert (tree / "build/html/index.html").read_text() == good
    (tree / "broken-page").unlink()
    assert make(tree) == {BUILT}


@pytest.mark.full
def test_new_outputs_in_a_notebook_do_not_run_it(tree):
    path = tree / "notebooks/doc/one.ipynb"
    path.write_text(
        path.read_text().replace(
            '"outputs": []', '"outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]'
        )
    )
    assert make(tree) == set()


@pytest.mark.full
def test_code_that_cannot_be_read_stops_make_before_anything_runs(tree):
    (tree / "lib/b.py").write_text("B = (\n")
    assert make(tree, fails=True) == set()
    assert "lib/b.py, line 1: " in (tree / "printed").read_text()
    (tree / "lib/b.py").write_text(FILES["lib/b.py"])
    assert make(tree) <= {BUILT}


@pytest.mark.full
def test_a_tree_without_an_environment_can_be_asked_what_would_run(tree):
    said = subprocess.run(
        ["make", "-n", "build/keys/claims.key"], cwd=tree, capture_output=True, text=True, env=plain()
    )
    assert said.returncode == 0, said.stderr


@pytest.mark.full
def test_a_page_that_came_went_or_was_renamed_is_noticed(tree):
    (tree / "book/new.md").write_text("new\n")
    os.utime(tree / "book/new.md", (0, 0))
    assert make(tree) == {"built"}
    (tree / "book/new.md").rename(tree / "book/other.md")
    assert make(tree) == {"built"}
    (tree / "book/other.md").unlink()
    assert make(tree) == {"built"}


@pytest.mark.full
def test_an_executed_notebook_whose_source_is_gone_is_removed(tree):
    (tree / "notebooks/doc/two.ipynb").unlink()
    assert make(tree) == {"built"}
    assert not (tree / "build/executed/doc/two.ipynb").exists()
    assert "two" not in (tree / "build/claims.json").read_text()


def test_a_failure_leaves_the_last_good_book(tree):
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
    (tree / "notebooks/doc/one.ipynb").write_text(notebook("2"))
    (tree / "broken-notebook").touch()
    assert "built" not in make(tree, fails=True)
    assert "built" not in make(tree, fails=True)  # and it stays failed until it is mended
    (tree / "broken-notebook").unlink()
    assert make(tree) == {"ran notebooks/doc/one.ipynb", "built"}


@pytest.mark.full
def test_papers_run_into_a_folder_of_their_own(tree):
    assert make(tree, command="papers") == {"ran notebooks/doc/one.ipynb", "ran notebooks/doc/two.ipynb"}
    assert (tree / "build/papers/doc/one.ipynb").is_file()
    assert make(tree, command="papers") == set()
    assert make(tree) == set()


@pytest.mark.full
def test_a_run_of_one_chapter_plans_that_one(tree):
    make(tree, command="build/papers/doc/one.ipynb")
    assert (tree / "build/papers/record/plan").read_text().split() == ["1", "doc/one"]


def test_an_interrupted_full_run_goes_on_and_plans_only_what_is_left(tree):
    plan = tree / "build/papers/record/plan"
    make(tree, command="papers")
    assert plan.read_text().split() == ["2", "doc/one", "doc/two"]
    make(tree, command="papers")
    assert plan.read_text().split() == ["2"]
    (tree / "notebooks/doc/two.ipynb").write_text(notebook("2"))
    (tree / "broken-notebook").touch()  # interrupted: what was being run is not there
    make(tree, command="papers", fails=True)
    assert plan.read_text().split() == ["2", "doc/two"]
    (tree / "broken-notebook").unlink()
    assert make(tree, command="papers") == {"ran notebooks/doc/two.ipynb"}
    (tree / "notebooks/full.yml").write_text(FILES["notebooks/full.yml"].replace("3", "4"))
    assert make(tree, command="papers") == {ONE}
    assert plan.read_text().split() == ["2", "doc/one"]
    assert make(tree) == {TWO, BUILT}  # with its own settings one is as it was


@pytest.mark.full
def test_nothing_stands_between_make_and_a_notebook_of_a_full_run(tree):
    """The notebook's run must see when make is killed (tests/notebooks/test_run.py)."""
    make(tree, command="papers")
    assert (tree / "parent").read_text() == "make\n"


@pytest.mark.full
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
    (tree / "notebooks/doc/one.ipynb").write_text(notebook("2"))
    assert make(tree) == {"ran notebooks/doc/one.ipynb", "built"}
    git("commit", "-a", "-m", "two")
    assert make(tree) == {"built"}
    assert make(tree) == set()


def test_clean_keeps_the_environment(tree):
    (tree / ".venv").mkdir()
    make(tree, command="clean")
    assert not (tree / "build").exists() and not (tree / "book/scorecard.md").exists()
    assert (tree / ".venv").is_dir()
