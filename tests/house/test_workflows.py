"""The workflows of `.github`: nothing that GitHub would refuse or this project forbids, and no commands that do not
exist.

GitHub's schema comes with the package check-jsonschema. Where `actionlint` is on the path, as in the workflow `ci`, it
reads the expressions and the shell too.
"""

import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema

from tests.house.test_house import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LINTER = shutil.which("actionlint")
needs_the_linter = pytest.mark.skipif(LINTER is None, reason="no actionlint is installed")


@cache
def schema():
    known = get_builtin_schema("vendor.github-workflows")
    return jsonschema.validators.validator_for(known)(known)


def complaints(path: Path) -> list[str]:
    """Return what GitHub's schema has against it."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["on"] = content.pop(True, None)  # YAML 1.1 takes `on` for a truth value
    return [error.message for error in schema().iter_errors(content)]


def jobs(path: Path) -> list[dict]:
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values())


def test_they_follow_the_schema():
    assert {path.stem for path in WORKFLOWS} == {"ci", "nightly", "pages", "recheck"}
    assert [complaint for path in WORKFLOWS for complaint in complaints(path)] == []


@needs_the_linter
def test_actionlint_has_nothing_to_say():
    done = subprocess.run([LINTER, "-no-color", *WORKFLOWS], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED = [
    ("ci", "runs-on:", "run-on:"),
    ("ci", "timeout-minutes: 90", "timeout-minute: 90"),
    ("pages", "needs: build", "need: build"),
    ("pages", "pages: write", "pages: publish"),
    ("recheck", "workflow_dispatch:", "workflow_dispach:"),
]
ONLY_THE_LINTER = [
    ("recheck", "type: string", "type: text"),
    ("ci", "fail-fast: false", "fail-fast: no thanks"),
    ("ci", "${{ matrix.python }}", "${{ matrix.phyton }}"),
    ("ci", "hashFiles(", "hashFile("),
    ("pages", "needs: build", "needs: built"),
    ("pages", "steps.publish.", "steps.published."),
    ("recheck", "17 3 * * 1", "17 3 * * 8"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), PLANTED)
def test_a_planted_error_is_caught(tmp_path, name, right, wrong):
    assert complaints(planted(tmp_path, name, right, wrong))


@needs_the_linter
@pytest.mark.parametrize(("name", "right", "wrong"), PLANTED + ONLY_THE_LINTER)
def test_a_planted_error_is_caught_by_actionlint(tmp_path, name, right, wrong):
    assert subprocess.run([LINTER, planted(tmp_path, name, right, wrong)], capture_output=True).returncode == 1


def planted(folder: Path, name: str, right: str, wrong: str) -> Path:
    text = (ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8")
    assert right in text
    path = folder / f"{name}.yml"
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    return path


# ---- what the house wants


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_those_of_github_pinned_by_commit(path):
    used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} does not say which version it is"


def test_one_version_of_each_action():
    pinned = {use for path in WORKFLOWS for use in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))}
    assert len({use.split("@")[0] for use in pinned}) == len(pinned)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_read_and_only_the_publishing_job_more(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    granted = [job["permissions"] for job in jobs(path) if "permissions" in job]
    assert granted == ([{"pages": "write", "id-token": "write"}] if path.stem == "pages" else [])
    assert all(job["timeout-minutes"] <= 120 for job in jobs(path))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_that_it_runs_exist(path):
    ran = "\n".join(step.get("run", "") for job in jobs(path) for step in job["steps"])
    named = set(re.findall(r"\bmake ([a-z-]+)", ran))
    assert named and named <= COMMANDS
    assert path.stem != "nightly" or {"book", "test-all"} <= named
    assert "${{" not in ran  # a value that GitHub would paste into the shell


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_who_draws_pages_has_japanese_letters(path):
    """The documents' titles are Japanese, and a runner has no Japanese font."""
    for job in jobs(path):
        ran = [step.get("run", "") for step in job["steps"]]
        drawn = [number for number, step in enumerate(ran) if re.search(r"\bmake (test|pdf)\b", step)]
        assert not drawn or any("fonts-noto-cjk" in step for step in ran[: drawn[0]])


def test_the_matrix_is_what_the_project_supports():
    (matrix,) = [
        job["strategy"]["matrix"]["python"] for job in jobs(ROOT / ".github/workflows/ci.yml") if "strategy" in job
    ]
    supported = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    least, below = (int(minor) for minor in re.fullmatch(r">=3\.(\d+),<3\.(\d+)", supported).groups())
    assert matrix == [f"3.{minor}" for minor in range(least, below)]
