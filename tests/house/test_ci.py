"""`.ci/run` runs every step, and fails if any step fails (scripts stand in for the tools). The commands that run tests
run those of their tier, and four quarters run what `make test` leaves out."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.test_house import plain

ROOT = Path(__file__).resolve().parents[2]

# Each notes its call and does what it is told to; FAILING is a part of the call that fails.
PLAYED = """case " $* " in *"${FAILING:-nothing}"*) status=2; result="2 failed, 3 passed";; *) status=0; result="4 passed, 1 skipped";; esac
case "$*" in test|quarter*|*compare) echo "===== $result in 1.00s =====";; "-c"*) echo 3.11;; esac
exit "$status" """
TOOLS = {
    "make": PLAYED,
    "git": 'case "$1" in rev-list) echo "$COMMITS";; *) mkdir -p "${!#}";; esac',
    "apt-get": "exit 100",
    "chromium": "",
    "chromedriver": "",
    "coqc": "",
    "python3.11": "exit 127",  # a shim
    "python3.12": "echo Python 3.12.9",
    "python3.13": "exit 127",
}


@pytest.fixture
def tree(tmp_path):
    for name, does in TOOLS.items():
        tool(tmp_path / "bin" / name, f'echo "{name} $*" >> "$CALLS"\n{does}')
    tool(tmp_path / "here/.venv/bin/python", f'echo "python $*" >> "$CALLS"\n{PLAYED}')
    for name in (".ci/run", ".ci/digits"):
        tool(tmp_path / "here" / name, (ROOT / name).read_text(encoding="utf-8").partition("\n")[2])
    return tmp_path


def tool(path: Path, does: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{does}\n")
    path.chmod(0o755)


def run(tree, name="run", *words, commits=6, **told) -> tuple[int, list[str], list[str]]:
    """Return the script's status, its lines, and the calls of make and of the environment's Python, as they are named in a shell."""
    (tree / "calls").write_text("")
    told |= {"PATH": f"{tree}/bin:/usr/bin:/bin", "CALLS": str(tree / "calls"), "PYENV_ROOT": str(tree / "pyenv")}
    told["COMMITS"] = str(commits)
    done = subprocess.run([tree / "here/.ci" / name, *words], capture_output=True, text=True, env=plain() | told)
    calls = [call for call in (tree / "calls").read_text().splitlines() if call.startswith(("make ", "python -m"))]
    return done.returncode, done.stdout.splitlines(), calls


def test_everything_has_its_turn(tree):
    status, said, calls = run(tree)
    assert (status, said[-1]) == (0, "12 passed, 0 failed, 3 skipped")
    assert calls[:3] == ["make book", "make style", "make test"]
    assert calls[3] == "make quarter QUARTER=2"  # of 6 commits
    assert calls[4].startswith("make -C ") and calls[4].endswith(" PYTHON3=python3.12 HALF=1 compare")
    assert calls[5:] == ["python -m proofs.check unless-checked", "make package"]


@pytest.mark.slow
def test_the_other_pythons_take_turns(tree):
    tool(tree / "pyenv/versions/3.13.0/bin/python", "echo Python 3.13.0")
    pythons = ["python3.12", f"{tree}/pyenv/versions/3.13.0/bin/python"]
    for commits in range(4, 8):  # four runs cover both, with both halves
        status, said, calls = run(tree, commits=commits)
        assert status == 0 and calls[4].endswith(f" PYTHON3={pythons[commits % 2]} HALF={commits // 2 % 2} compare")
    status, said, calls = run(tree, "digits")
    assert said[-1].endswith("equal on 3.12.9 3.13.0; different on: none; not on this machine: none")
    assert [call.split("PYTHON3=")[1] for call in calls] == [f"{python} compare" for python in pythons]


def test_where_there_is_one_python_no_digits_are_compared(tree):
    (tree / "bin/python3.12").unlink()
    status, said, calls = run(tree, "digits", "3")
    assert (
        status == 0
        and calls == []
        and said[-1].endswith("equal on: none; different on: none; not on this machine: 3.12 3.13")
    )


def test_the_clones_are_not_left_behind(tree):
    scratch = tree / "tmp"
    scratch.mkdir()
    run(tree, TMPDIR=str(scratch))
    assert os.listdir(scratch) == []


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "counted"),
    [
        (" test ", "11 passed, 2 failed, 2 skipped"),
        ("book", "12 passed, 0 failed, 3 skipped"),
        ("style", "12 passed, 0 failed, 3 skipped"),
        ("quarter", "11 passed, 2 failed, 2 skipped"),
        ("compare", "11 passed, 2 failed, 2 skipped"),
        ("proofs", "12 passed, 0 failed, 3 skipped"),
        ("package", "12 passed, 0 failed, 3 skipped"),
    ],
)
def test_a_failure_anywhere_is_the_outcome(tree, failing, counted):
    status, said, calls = run(tree, FAILING=failing)
    assert status and said[-1] == counted
    assert len(calls) == 7  # all else has its turn


# ---- the tiers: which tests of one file each command runs

TESTS = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.full
@pytest.mark.parametrize("n", range(20))
def test_full(n):
    pass

@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", range(20))
def test_sampled(n):
    pass
"""
COLLECT = """
import json, sys
import pytest

class Noted(list):
    def pytest_collection_finish(self, session):
        self += [item.name for item in session.items]

every = json.loads(sys.argv[1])
found = [Noted() for _ in every]
for words, noted in zip(every, found, strict=True):
    assert pytest.main([*words, "--collect-only", *sys.argv[2:]], plugins=[noted]) == 0
print("", json.dumps(found), sep="\\n")
"""


def words(command: str, file: str = "Makefile") -> list[str]:
    """Return the words that a command of make hands to pytest."""
    recipe = re.search(rf"(?m)^{command}: .*\n((?:\t.*\n)+)", (ROOT / file).read_text(encoding="utf-8"))[1]
    return shlex.split(re.search(r"-m pytest (.*?)(?: \|\| .*)?\n", recipe)[1])


@pytest.mark.slow
def test_each_command_runs_its_tier_and_four_quarters_the_rest(tmp_path):
    (tmp_path / "test_one.py").write_text(TESTS)
    quarter = words("quarter", "scripts/maintaining.mk")
    every = [words("check"), words("test"), words("test-all")]
    every += [[word.replace("$(QUARTER)", str(each)) for word in quarter] for each in range(4)]
    settings = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(tmp_path),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, json.dumps(every), *settings, "test_one.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=plain() | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check, test, everything, *quarters = json.loads(done.stdout.splitlines()[-1])
    few = [f"test_sampled[{n}]" for n in (0, 6, 13)]
    assert (check, test) == (["test_quick", *few], ["test_quick", "test_slow", *few])
    assert len(everything) == 42 and all(quarters)
    assert sorted(sum(quarters, test)) == sorted(everything)  # each test in one quarter
