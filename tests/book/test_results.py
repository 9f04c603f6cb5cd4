"""Results in files are written whole, with their provenance, and read back unchanged."""

import hashlib
import platform
import re
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from book.kept import content_key, results

ROOT = Path(__file__).resolve().parents[2]
FRAME = pd.DataFrame(
    {"method": ["a # b", "# c, d"], "epsilon": [0.5, 1e-9], "trial": [0, 1], "converged": [True, False]}
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "folder" / "results.csv"


# ---- there and back


def test_what_is_saved_is_loaded(path):
    made = {"command": "python -m lib.x --y 'a: b'", "date": "2026-11-21", "empty": ""}
    results.save(path, FRAME, made)
    pd.testing.assert_frame_equal(results.load(path), FRAME)
    assert results.provenance(path) == made
    assert [file.name for file in path.parent.iterdir()] == ["results.csv"]


def test_the_file_is_plain_csv_below_comment_lines(path):
    results.save(path, FRAME[["epsilon", "trial"]], {"seed": 3, "data": "real"})
    assert path.read_bytes() == b"# seed: 3\n# data: real\nepsilon,trial\n0.5,0\n1e-09,1\n"


def test_an_index_with_names_becomes_columns(path):
    frame = FRAME.set_index(["method", "trial"])
    results.save(path, frame, {})
    pd.testing.assert_frame_equal(results.load(path).set_index(["method", "trial"]), frame)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1))
def test_numbers_keep_six_digits_or_as_many_as_were_asked_for(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("results") / "numbers.csv"
    frame = pd.DataFrame({"value": values})
    results.save(path, frame, {})
    np.testing.assert_allclose(results.load(path)["value"], values, rtol=5.1e-6)
    results.save(path, frame, {}, float_format="%.17g")
    np.testing.assert_allclose(results.load(path)["value"], values, rtol=1e-15)


@pytest.mark.parametrize("made", [{"note": "two\nlines"}, {"two\nlines": 1}, {"a: b": "c"}, {"note": "end\n"}])
def test_a_provenance_that_could_not_be_read_back_is_refused(path, made):
    with pytest.raises(ValueError, match="provenance"):
        results.save(path, FRAME, made)
    assert not path.exists()


# ---- whole or not at all


def test_a_failure_leaves_the_file_as_it_was(path, monkeypatch):
    results.write(path, "before")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        results.write(path, "after")
    assert path.read_text() == "before"
    assert list(path.parent.iterdir()) == [path]


# ---- provenance


def test_what_is_collected_says_how_to_make_it_again(path, monkeypatch):
    monkeypatch.setattr(results, "commit", lambda: "0123456789ab-dirty")
    made = results.collect(
        "notebooks.studies.grid",
        ["--output", "a b.csv"],
        data="real",
        settings={"delta": 1e-9, "seed": 3, "tree depth": None},
        files={"adult.data": hashlib.sha256(b"").hexdigest()},
        libraries=["numpy"],
    )
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", made.pop("date"))
    assert made == {
        "command": "python -m notebooks.studies.grid --output 'a b.csv'",
        "data": "real",
        "settings": "delta 1e-09, seed 3, tree depth None",
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}",
        "arithmetic": results.arithmetic(),
        "commit": "0123456789ab-dirty",
        "code": "notebooks/studies/grid.py",
        "SHA-256 of adult.data": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    results.save(path, FRAME, made)
    assert results.provenance(path) == made


def test_the_commit_is_left_open_where_there_is_no_git(monkeypatch):
    assert re.fullmatch(r"|[0-9a-f]{12,}(-dirty)?", results.commit())
    monkeypatch.setenv("PATH", "")
    assert results.commit() == ""


def test_a_commit_is_dirty_where_code_has_changed_but_not_where_a_kept_result_has(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", folder := tmp_path / "book/results")
    monkeypatch.setattr(results, "git", partial(results.git, folder=folder))
    folder.mkdir(parents=True)
    code, result = tmp_path / "code.py", folder / "some.csv"
    for file in (code, result):
        file.write_text("1")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (("init",), ("add", ":/"), (*identity, "commit", "-m", "1")):
        assert results.git(*command, folder=tmp_path) or command[0] == "add"
    (tmp_path / "new").touch()
    result.write_text("2")
    assert re.fullmatch("[0-9a-f]{12}", clean := results.commit())
    code.write_text("2")
    assert results.commit() == f"{clean}-dirty"


def test_code_that_is_not_there_has_no_key():
    with pytest.raises(FileNotFoundError, match=r"no such file in the repository: lib/gone\*.py"):
        results.key("lib/numerics/checks.py lib/gone*.py")


def test_whether_the_code_is_still_the_code_that_made_it(path, monkeypatch):
    """How it follows changes, tests/book/test_content_key.py says."""
    made = results.collect("notebooks.studies.grid", [], data="real", settings={})
    results.save(path, FRAME, made)
    assert results.made_by(path) == "the code of today"
    code, hashes = path.with_suffix(".key").read_text().splitlines()
    assert code == "notebooks/studies/grid.py" and set(hashes.split()) < content_key.definitions(code).keys()
    monkeypatch.setattr(results, "_used", lambda code: {"00000000": "run", "11111111": "generator"})
    assert results.changed(path) == ["generator", "run"]
    assert results.made_by(path) == "earlier code; changed since: generator, run"
    monkeypatch.setattr(results, "_used", lambda code: {f"{i:08}": f"f{i}" for i in range(7)})
    assert results.made_by(path) == "earlier code; changed since: f0, f1, f2, f3, f4 and 2 more"
    monkeypatch.setattr(results, "_used", lambda code: {hashes.split()[0]: "run"})
    assert results.made_by(path) == "earlier code; changed since: what is no longer used"
    monkeypatch.undo()
    path.with_suffix(".key").write_text("notebooks/studies/gone.py\n")
    assert results.made_by(path) == "code that is gone"
    results.save(path, FRAME, made | {"version": "0.1.0"})
    assert results.made_by(path) == "the code of version 0.1.0"


def test_rows_with_keys_of_their_own_are_old_one_by_one(path):
    code = "lib/numerics/in_order.py lib/numerics/checks.py"
    new = pd.DataFrame({"code": [code] * 3, "key": [results.key(code)[:12]] * 3})
    results.save(path, new, {"command": "make faults"})
    assert results.made_by(path) == "the code of today" and not path.with_suffix(".key").exists()
    old = pd.DataFrame({"code": [code, "lib/gone.py", code], "key": [*new["key"][:2], "0123456789ab"]})
    results.save(path, old, {"command": "make faults"})
    assert results.made_by(path) == "earlier code for 2 of 3 rows"


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(results.FOLDER.rglob("*.csv")), ids=lambda file: file.name)
def test_what_made_each_committed_result_is_known(file):
    made_by = results.made_by(file)
    assert made_by != "code that is gone"
    if not (file.with_suffix(".key")).exists():
        assert made_by.startswith("the code of version ") or {"code", "key"} <= set(results.load(file))
        return  # as it was released, or each row has its own key
    code, hashes = file.with_suffix(".key").read_text().splitlines()
    assert re.fullmatch(r"[0-9a-f]{8}( [0-9a-f]{8})+", hashes)
    assert file.name not in results._used(code).values()  # else it is of earlier code as soon as it is written


def test_versions_are_those_of_the_modules_in_use():
    assert results.versions() == {
        "numpy": np.__version__,
        "scipy": __import__("scipy").__version__,
        "pandas": pd.__version__,
    }


@pytest.mark.parametrize("file", sorted((ROOT / "book" / "results").rglob("*.csv")), ids=lambda file: file.name)
def test_every_committed_result_says_where_it_comes_from(file):
    made = results.provenance(file)
    assert {"command", "date", "data", "settings", "versions"} <= set(made)
    assert made["command"].startswith("make ") or (
        "seed" in made["settings"] and made["command"].startswith("python -m notebooks.studies.")
    )
    frame = results.load(file)
    assert len(frame) and not any(name.startswith(("#", "Unnamed")) for name in frame)


@pytest.mark.slow
def test_the_page_says_of_every_result_whether_its_code_is_still_the_same():
    """As it was built: a page that is older than a change of the code would not."""
    page = ROOT / "build/html/how-to.html"
    if not page.is_file():
        pytest.skip("the book is not built (make book)")
    text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")).split())
    for file in sorted(results.FOLDER.rglob("*.csv")):
        made_by = results.made_by(file).replace("the code of today", "current code")
        row = rf"{re.escape(file.relative_to(results.FOLDER).as_posix())} (python|make) .*?{re.escape(made_by)}"
        assert re.search(row, text), file.name


# ---- git


def test_what_git_says_of_a_folder_that_is_no_repository_is_nothing(tmp_path):
    assert results.git("log", folder=tmp_path) == ""


def test_without_git_no_commit_is_known(tmp_path, monkeypatch):

    assert (
        re.fullmatch("[0-9a-f]{40}", results.git("log", "-1", "--format=%H", folder=ROOT))
        or not (ROOT / ".git").exists()
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert results.git("log", folder=ROOT) == results.commit() == ""
    assert results.figures_commit() == ("", False)


def test_provenance_says_whether_rounding_is_alike_on_all_machines(monkeypatch):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pinned = shlex.split(re.search(r"^ALIKE = env (.*)$", makefile, re.MULTILINE)[1])
    assert dict(each.split("=", 1) for each in pinned) == results.PINNED
    for name, value in results.PINNED.items():
        monkeypatch.setenv(name, value)
    assert results.arithmetic() == results.ALIKE
    options = {"data": "made up", "settings": {"seed": 1}, "libraries": [], "code": "setup.py"}
    made = results.collect("notebooks.studies.grid", ["--output", "a b.csv"], **options)
    assert shlex.split(made["command"]) == ["make", "study", "STUDY=grid --output 'a b.csv'"]
    monkeypatch.setenv("COMPENDIUM_SCHEDULER", "tcp://head:8786")
    assert results.arithmetic() != results.ALIKE
    monkeypatch.delenv("COMPENDIUM_SCHEDULER")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert results.arithmetic() != results.ALIKE
