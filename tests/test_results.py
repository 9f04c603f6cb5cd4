"""Results in files: written whole, read back as they were, with where they come from."""

import hashlib
import platform
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from book import results

ROOT = Path(__file__).resolve().parents[1]
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


def test_what_is_collected_says_how_to_make_it_again(path):
    made = results.collect(
        "lib.x",
        ["--output", "a b.csv"],
        data="real",
        settings={"delta": 1e-9, "seed": 3, "tree depth": None},
        files={"adult.data": hashlib.sha256(b"").hexdigest()},
        libraries=["numpy"],
    )
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", made.pop("date"))
    assert made == {
        "command": "python -m lib.x --output 'a b.csv'",
        "data": "real",
        "settings": "delta 1e-09, seed 3, tree depth None",
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}",
        "SHA-256 of adult.data": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
    results.save(path, FRAME, made)
    assert results.provenance(path) == made


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
        "seed" in made["settings"] and made["command"].startswith("python -m lib.")
    )
    frame = results.load(file)
    assert len(frame) and not any(name.startswith(("#", "Unnamed")) for name in frame)
