"""The planted faults: the list fits the code, the kept table fits the list, and the runner notices what moves a verdict."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from book._ext import claims as page
from book.kept import results
from book.ledger import claims
from tests.house import planted_faults
from tests.house.planted_faults import KEPT, Fault, listed

ROOT = Path(__file__).resolve().parents[2]
FAULTS = listed()


def kept():
    return results.rows(KEPT)


# ---- the list, and what is kept


def test_every_document_has_fifteen_faults_at_least_or_one_for_each_claim():
    ledger, count = claims.load(), Counter(fault.document for fault in FAULTS)
    claimed = Counter(claim.document for claim in ledger.claims.values())
    few = {name: count[name] for name in ledger.documents if count[name] < min(15, claimed[name])}
    assert few == {} and set(count) <= {*ledger.documents, "leaks"}, (
        f"plant more in tests/house/planted_faults.yml, then `make faults`: {few}"
    )


def test_every_releasing_function_has_ten_leaks_at_least():
    count = Counter(fault.says.split(": ")[0] for fault in FAULTS if fault.document == "leaks")
    assert min(count.values()) >= 10, count


def test_what_notices_faults_and_mutants_runs_in_make_test():
    """Every test of lib does, so that nothing that `make test-all` notices in lib passes `make test`."""
    assert {fault.test.rsplit("/", 2)[0] for fault in FAULTS if fault.test} == {"tests/lib"}
    left_out = re.compile(r"pytest\.mark\.(full|sampled)\b")
    files = [*(ROOT / "tests/lib").rglob("test_*.py"), ROOT / "tests/notebooks/test_release_audit.py"]
    assert [path.name for path in files if left_out.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.document}: {fault.says}")
def test_a_fault_stands_where_the_list_says_and_is_python(fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.was) == 1, (
        f"{fault.file} has changed: say what the fault is now, and run `make faults` for it"
    )
    compile(text.replace(fault.was, fault.becomes), fault.file, "exec")
    assert fault.becomes not in ("", fault.was)
    file, name, *_ = [*re.split(r"::|\[| -k ", fault.test), ""]
    assert name in (ROOT / file).read_text(encoding="utf-8")


def test_the_kept_table_is_of_these_faults_and_each_was_noticed():
    rows = kept()
    told = [(row["document"], row["fault"], row["file"], row["was"], row["is"]) for row in rows]
    assert told == [(each.document, each.says, each.file, each.was, each.becomes) for each in FAULTS], (
        "run `make faults`"
    )
    assert not [
        row["fault"]
        for row in rows
        if not (row["moved"] or row["stopped"] or (row["test"] and (row["explained"] or row["document"] == "leaks")))
    ]


def test_an_explanation_stands_only_beside_a_fault_that_moves_nothing():
    assert [each.says for each, row in zip(FAULTS, kept()) if each.explained != row["explained"]] == []


def test_the_kept_verdicts_are_of_claims_of_the_ledger():
    known = claims.load().all
    for row in kept():
        for each in filter(None, row["moved"].split("; ")):
            id, verdicts = each.split(": ")
            before, after = verdicts.split(" to ")
            assert id in known and before != after, row["fault"]


# ---- the page


def test_the_page_says_for_each_document_what_noticed_how_many():
    document = next(iter(claims.load().documents))
    row = dict.fromkeys(planted_faults.COLUMNS, "") | {"document": document, "file": "lib/a.py"}
    rows = [
        row
        | {"fault": "one", "moved": f"{document}.a.b: reproduced to differs; {document}.c.d: reproduced to differs"},
        row | {"fault": "two", "stopped": "01: ValueError: a|b"},
        row | {"fault": "three", "explained": "it goes beyond", "test": "tests/test_a.py"},
        row | {"fault": "four"},
        row | {"document": "leaks", "fault": "a sum: one", "test": "tests/test_a.py::test_b"},
        row | {"document": "leaks", "fault": "a sum: two"},
    ]
    shown = page.faults(rows)
    assert (
        "4 faults. Verdicts change: 1; a chapter stops with an error: 1; no verdict changes, but a test fails: 1; not detected: 1"
        in shown
    )
    assert "it goes beyond; `tests/test_a.py`" in shown
    assert "2 leaks in functions that release. A test fails: 1; not detected: 1" in shown
    assert "| a sum: one | `lib/a.py` | `test_a.py` |" in shown
    assert "| one | `lib/a.py` | 2 verdicts: `a.b`, `c.d` |" in shown and r"`01: ValueError: a\|b` |" in shown


# ---- the runner, on a small repository


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a repository with one module, one chapter that judges by it, one that does not, and a ledger of one claim."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "notebooks/doc").mkdir(parents=True)
    for name in ("lib/__init__.py", "lib/numerics"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "lib/sums.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    shutil.copytree(ROOT / "book", tmp_path / "book", ignore=shutil.ignore_patterns("notebooks", "__pycache__"))
    (tmp_path / "book/claims.yml").write_text(
        "documents:\n  doc: {title: A, authors: B, year: 2020, venue: C}\n"
        "claims:\n- {id: doc.table.sum, item: T, statement: S., printed: '4', judge: digits}\n",
        encoding="utf-8",
    )
    (tmp_path / "tests/house").mkdir(parents=True)
    shutil.copy(planted_faults.__file__, tmp_path / "tests/house")
    (tmp_path / "tests/conftest.py").write_text("", encoding="utf-8")
    (tmp_path / "tests/test_sums.py").write_text(
        "from lib.sums import double\n\ndef test_double():\n    assert double(3) == 6\n", encoding="utf-8"
    )
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    judging = "from book.ledger import claims\nfrom lib.sums import double\nclaims.check('doc.table.sum', double(VALUE), stand_in=True)"
    for name, code in (
        ("01", judging.replace("VALUE", "2")),
        ("02", "from lib.sums import double\ndisplay(double(1))"),
    ):
        cells = [{"cell_type": "code", "source": [code], "outputs": []}]
        book = {"cells": cells, "metadata": {}}
        (tmp_path / f"notebooks/doc/{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
    monkeypatch.setattr(planted_faults, "ROOT", tmp_path)
    monkeypatch.setattr(planted_faults.content_key, "ROOT", tmp_path)
    monkeypatch.setattr(planted_faults, "chapters", lambda fault: ["notebooks/doc/01.ipynb", "notebooks/doc/02.ipynb"])
    return tmp_path


def fault(becomes, was="2 * x", test="tests/test_sums.py"):
    return Fault("doc", "a fault", "lib/sums.py", was, becomes, test, "no claim hangs on it")


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "becomes, moved, stopped, test",
    [
        ("3 * x", "doc.table.sum: reproduced to differs", "", ""),
        ("2 * x / 0", "", "01: ZeroDivisionError: division by zero", ""),
        ("4 if x == 2 else 3 * x", "", "", "tests/test_sums.py"),  # no claim hangs on it, and a test notices
        ("x * 2", "", "", ""),  # the same program: nobody can notice
    ],
)
def test_a_fault_is_noticed_by_a_verdict_an_error_or_a_test(small, becomes, moved, stopped, test):
    row = planted_faults.compare(fault(becomes), {})
    assert (row["moved"], row["stopped"], row["test"]) == (moved, stopped, test)
    assert row["explained"] == ("" if moved or stopped else "no claim hangs on it")
    assert row["code"].endswith("01.ipynb" if moved or stopped else "01.ipynb tests/conftest.py tests/test_sums.py")
    assert (small / "lib/sums.py").read_text(encoding="utf-8").count("2 * x") == 1  # planted in a copy


@pytest.mark.full
def test_a_chapter_that_does_not_end_has_noticed(small, monkeypatch):
    monkeypatch.setattr(planted_faults, "LIMIT", 5)
    row = planted_faults.compare(fault("any(iter(lambda: 0, 1))"), {})
    assert (row["moved"], row["stopped"]) == ("", "01: TimeoutError: it does not end within 5 CPU seconds")


@pytest.mark.slow
def test_a_text_that_is_not_there_once_is_refused(small):
    for was in ("5 * x", "x"):
        with pytest.raises(ValueError, match="was must occur once in lib/sums.py"):
            fault("y", was=was).plant(small)


@pytest.mark.full
def test_a_chapter_that_fails_by_itself_and_a_test_that_is_none_are_told(small):
    with pytest.raises(RuntimeError, match="nowhere.py cannot be run"):
        planted_faults.compare(fault("4 if x == 2 else 3 * x", test="tests/nowhere.py"), {})
    (small / "lib/sums.py").write_text("def double(x):\n    return 2 * y\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="01.ipynb fails without any fault: NameError"):
        planted_faults.compare(fault("3 * y", was="2 * y"), {})


def test_another_fault_in_the_lists_ages_no_row():
    used = results._used("tests/house/planted_faults.py").values()
    assert "Fault" in used and not {"planted_faults.yml", "planted_leaks.yml"} & set(used)


def test_the_command_wants_a_fault_that_there_is(capsys):
    with pytest.raises(SystemExit) as stop:
        planted_faults.main(["--only", "no such fault"])
    assert stop.value.code == 2 and "got 'no such fault'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_row_is_planted_again_only_if_what_ran_for_it_has_changed(small, monkeypatch, capsys):
    known, kept = fault("3 * x"), small / "faults.csv"
    monkeypatch.setattr(planted_faults, "listed", lambda: [known])
    planted_faults.main(["--output", str(kept)])
    assert results.made_by(kept) == "the code of today"
    [row] = results.rows(kept)
    assert row["code"] == "tests/house/planted_faults.py notebooks/doc/01.ipynb"
    assert row["moved"] == "doc.table.sum: reproduced to differs"
    told = capsys.readouterr
    planted_faults._rows.cache_clear()
    told(), planted_faults.main(["--output", str(kept)])
    assert told().out == "0 of 1 faults to plant\n"
    for stale in (row | {"key": "0" * 12}, row | {"is": "4 * x"}):
        results.save(kept, planted_faults.pd.DataFrame([stale]), {"command": "make faults"})
        planted_faults._rows.cache_clear()
        planted_faults.main(["--output", str(kept)])
        assert told().out.startswith("1 of 1 faults to plant\n") and results.rows(kept) == [row]
