"""`make document` adds a document to a copy of the repository; its claim is judged, and a book of its pages alone is
built."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from book.ledger import claims
from notebooks.tools import new_document
from tests.book.test_summaries import HEADINGS
from tests.house.test_house import ours, plain

ROOT = Path(__file__).resolve().parents[2]
TITLE = "Noise & Counts: 100 % of a Théorie isn't #1, 差分"
CONTENTS = """\
format: jb-book
root: index
chapters:
- file: smith2026/index
  sections:
  - file: smith2026/summary
  - file: notebooks/smith2026/01_first
- file: glossary
- file: scorecard
- file: references
- file: cite
"""


@pytest.fixture
def clone(tmp_path):
    for name in ours():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


def run(clone, *command) -> str:
    done = subprocess.run(command, cwd=clone, env=plain() | {"PYTHONPATH": str(clone)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make(clone, **words) -> subprocess.CompletedProcess:
    given = [f"{name}={value}" for name, value in words.items()]
    command = ["make", f"PYTHON={sys.executable}", "document", *given]
    return subprocess.run(command, cwd=clone, env=plain(), capture_output=True, text=True)


def contents(folder) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


# ---- the whole way


@pytest.mark.full
def test_one_more_document_is_made_judged_and_shown(clone):
    before = contents(clone)
    done = make(clone, KEY="smith2026", TITLE=TITLE, AUTHORS="Smith and van der Berg")
    assert done.returncode == 0, done.stdout + done.stderr
    after = contents(clone)
    check_what_was_written(before, after, done.stdout)
    check_the_words(clone)

    executed = clone / "build/executed"
    for name in after:  # the committed outputs stand for runs; only the new chapter is run again, and compared
        if re.fullmatch(r"notebooks/(?!assignments)\w+/\w+\.ipynb", name):
            (executed / name.removeprefix("notebooks/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(clone / name, executed / name.removeprefix("notebooks/"))
    chapter = "notebooks/smith2026/01_first.ipynb"
    python = sys.executable
    run(clone, python, "notebooks/tools/run.py", chapter, "-o", executed / "smith2026/01_first.ipynb")
    again, committed = (
        nbformat.read(path, as_version=4) for path in (executed / "smith2026/01_first.ipynb", clone / chapter)
    )
    assert again.cells == committed.cells

    run(clone, python, "-m", "book.ledger", "gather")
    run(clone, python, "-m", "book.ledger", "page")
    judged = {record["id"]: record for record in json.loads((clone / "build/claims.json").read_text())}
    assert judged["smith2026.example.deviation"]["verdict"] == "reproduced"
    assert judged["smith2026.example.deviation"]["notebook"] == chapter
    check_the_book(clone)


def check_what_was_written(before, after, said):
    """Check that there are new files, that old ones have lost no line, and that each is named on the screen."""
    written = {name for name in after if before.get(name) != after[name]}
    assert before.keys() <= after.keys()
    assert written == {line.split(":")[0] for line in said.splitlines() if "to fill in" in line}
    for name in written & before.keys():
        old, new = before[name].decode().splitlines(), iter(after[name].decode().splitlines())
        assert all(line in new for line in old), f"{name} lost lines, or their order"


def check_the_words(clone):
    ledger = claims.load(clone / "book/claims.yml")
    document = ledger.documents["smith2026"]
    assert (document.title, document.authors, document.year) == (TITLE, "Smith and van der Berg", 2026)
    assert list(ledger.documents)[-1] == "smith2026"
    rows = re.findall(r"(?m)^\| `(\w+)` \|", (clone / "README.md").read_text(encoding="utf-8"))
    assert rows == list(ledger.documents)
    summary = (clone / "book/smith2026/summary.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (.*)$", summary) == [heading.format(document="paper") for heading in HEADINGS]
    # the project's own tests of entries and pages, in the copy
    names = (
        "book/test_citations",
        "book/test_summaries",
        "book/test_typed_numbers",
        "house/test_house",
        "notebooks/test_run",
    )
    chosen = [f"tests/{name}.py" for name in names]
    which = "entry or entries or same_parts or has_its_pages or is_a_page or defaults_satisfy or set_up_cell or types_no_number"
    run(clone, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, "-k", which)


def check_the_book(clone):
    """Build a book of the new pages, without the other documents: all its warnings must concern those."""
    (clone / "book/_toc.yml").write_text(CONTENTS)
    (clone / "book/notebooks").symlink_to("../build/executed")
    command = "from jupyter_book.cli.main import main; main()"
    said = run(
        clone, sys.executable, "-c", command, "build", "book", "--config", "_config.yml", "--path-output", "build", "-n"
    )
    assert [line for line in said.splitlines() if "WARNING" in line and "smith2026" in line] == []
    pages = clone / "build/_build/html"
    shown = {page: (pages / page).read_text(encoding="utf-8") for page in ("scorecard.html", "cite.html", "index.html")}
    assert 'href="notebooks/smith2026/01_first.html#claim-smith2026.example.deviation"' in shown["scorecard.html"]
    assert "Smith and van der Berg (2026)" in shown["cite.html"]
    assert 'href="smith2026/summary.html"' in shown["index.html"]
    assert "of 1 claim, 1 is reproduced" in (pages / "smith2026/summary.html").read_text(encoding="utf-8")


# ---- nothing by halves


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "KEY must be the author"),
        ({"KEY": '"; touch pwned; "', "TITLE": '"; touch pwned; "'}, "KEY must be the author"),
        ({"KEY": "kiri2019", "TITLE": "--authors"}, "KEY must be new, but "),
        ({"KEY": "smith2026", "TITLE": "It costs $5"}, "TITLE must be one line"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence_and_leaves_nothing(clone, words, said):
    before = contents(clone)
    done = make(clone, **words)
    sentence, *rest = done.stderr.splitlines()
    assert done.returncode == 2 and sentence.startswith(said)
    assert all(line.startswith("make: ***") for line in rest)
    assert contents(clone) == before
    if said.startswith("TITLE"):
        assert words["TITLE"] in sentence


def test_a_key_that_anything_has_already_is_refused(clone, monkeypatch):
    monkeypatch.setattr(new_document, "ROOT", clone)
    (clone / "notebooks/smith2026").mkdir()
    with (clone / "book/documents.bib").open("a") as bibliography:
        bibliography.write("@misc{jones2026,\n}\n")
    for key, where in (
        ("smith2026", "notebooks/smith2026"),
        ("jones2026", "book/documents.bib"),
        ("wang2017", "book/references.bib"),
    ):
        with pytest.raises(ValueError, match=f"^KEY must be new, but {where} already contains"):
            new_document.plan(key)


def test_a_file_without_its_place_is_refused(clone, monkeypatch):
    monkeypatch.setattr(new_document, "ROOT", clone)
    (clone / "README.md").write_text("no table")
    with pytest.raises(ValueError, match="^README.md must contain lines that match"):
        new_document.plan("smith2026")


@pytest.mark.parametrize(
    "key", ["smith", "2026", "smith1826", "smith20266", "smith2026\n", "Smith2026", "../smith2026"]
)
def test_malformed_keys(key):
    with pytest.raises(ValueError, match="^KEY must be"):
        new_document.values(key)


@pytest.mark.parametrize(
    "title", ["a\nb", "a\u2028b", "a  b", " a", "a\x1bb", "*a*", r"\a", "a|b", "{a}", "<a>", "@key@", '"a"']
)
def test_unfit_titles(title):
    with pytest.raises(ValueError, match="^TITLE must be"):
        new_document.values("smith2026", title)


def test_a_file_that_cannot_be_written_undoes_the_others(tmp_path, monkeypatch):
    (tmp_path / "old.yml").write_text("old")
    os.mkdir(tmp_path / "in_the_way")
    files = {tmp_path / "old.yml": "new", tmp_path / "fresh/page.md": "new", tmp_path / "in_the_way": "no file"}
    with pytest.raises(OSError):
        new_document.put(files)
    assert (tmp_path / "old.yml").read_text() == "old"
    assert not (tmp_path / "fresh").exists()


def test_the_templates_are_used_every_one():
    used = {template for _, _, template in new_document.INSERTIONS} | {"chapter.md", "index.md", "summary.md"}
    assert used == {path.name for path in new_document.TEMPLATES.iterdir()}
    words = new_document.values("smith2026")
    assert all(new_document.filled(name, words) for name in used)
    assert list(yaml.safe_load(new_document.filled("document.yml", words))) == ["smith2026"]
