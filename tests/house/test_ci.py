"""`.ci/run`: every supported Python that is there has its turn, and what fails anywhere counts (tools played by scripts)."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.house.test_house import plain

ROOT = Path(__file__).resolve().parents[2]

# Each notes its call and does what it is told to: `make`'s last argument is the command.
TOOLS = {
    "make": """case "$*" in *${FAILING:-nothing}*) status=2; result="2 failed, 3 passed";; *) status=0; result="4 passed, 1 skipped";; esac
case "${!#}" in test|nbval|compare) echo "===== $result in 1.00s =====";; esac
exit "$status" """,
    "git": 'mkdir -p "${!#}"',
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
    tool(tmp_path / "here/.venv/bin/python", "echo 3.11")
    tool(tmp_path / "here/.ci/run", (ROOT / ".ci/run").read_text(encoding="utf-8").partition("\n")[2])
    return tmp_path


def tool(path: Path, does: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{does}\n")
    path.chmod(0o755)


def run(tree, **told) -> tuple[int, list[str], list[str]]:
    """Its status, its last two lines, and the calls of make."""
    (tree / "calls").write_text("")
    told |= {"PATH": f"{tree}/bin:/usr/bin:/bin", "CALLS": str(tree / "calls"), "PYENV_ROOT": str(tree / "pyenv")}
    done = subprocess.run([tree / "here/.ci/run"], capture_output=True, text=True, env=plain() | told)
    calls = [call for call in (tree / "calls").read_text().splitlines() if call.startswith("make")]
    return done.returncode, done.stdout.splitlines()[-2:], calls


def test_the_pythons_that_are_there_have_their_turn(tree):
    status, said, calls = run(tree)
    assert (status, said) == (
        0,
        ["Pythons: equal on 3.11 3.12; failed on: none; not on this machine: 3.13", "8 passed, 0 failed, 2 skipped"],
    )
    assert [call.split()[-1] for call in calls[:3]] == ["book", "style", "test"]
    assert {call.split()[-1] for call in calls[3:5]} == {"proofs", "package"}  # side by side
    assert [call.split()[-1] for call in calls[5:]] == ["nbval"]
    assert "PYTHON3=python3.12" in calls[-1]

    tool(tree / "pyenv/versions/3.13.0/bin/python", "echo Python 3.13.0")
    status, said, calls = run(tree)
    assert said == [
        "Pythons: equal on 3.11 3.12 3.13; failed on: none; not on this machine: none",
        "12 passed, 0 failed, 3 skipped",
    ]
    assert calls[5].endswith(" nbval")
    assert calls[6:] == [calls[6]] and calls[6].endswith(f"PYTHON3={tree}/pyenv/versions/3.13.0/bin/python compare")


def test_nbval_has_its_turn_where_there_is_one_python(tree):
    (tree / "bin/python3.12").unlink()
    status, said, calls = run(tree)
    assert (status, said[-1], calls[-1]) == (0, "8 passed, 0 failed, 2 skipped", "make nbval")


def test_the_clones_are_not_left_behind(tree):
    scratch = tree / "tmp"
    scratch.mkdir()
    run(tree, TMPDIR=str(scratch))
    assert os.listdir(scratch) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "counted", "broke"),
    [
        ("style", "12 passed, 0 failed, 3 skipped", "none"),
        ("test", "11 passed, 2 failed, 2 skipped", "none"),
        ("proofs", "12 passed, 0 failed, 3 skipped", "none"),
        ("package", "12 passed, 0 failed, 3 skipped", "none"),
        ("nbval", "11 passed, 2 failed, 2 skipped", "3.12"),
        ("compare", "11 passed, 2 failed, 2 skipped", "3.13"),
    ],
)
def test_a_failure_anywhere_is_the_outcome(tree, failing, counted, broke):
    tool(tree / "bin/python3.13", "echo Python 3.13.0")
    status, said, calls = run(tree, FAILING=failing)
    assert status and said[-1] == counted and f"failed on: {broke};" in said[-2]
    assert len(calls) == 7  # all else has its turn
