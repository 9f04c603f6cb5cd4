"""The study that times an instructor's evening: what the simulated class hands in, the timing of the steps, and the
results."""

import numpy as np
import pytest

from book.kept import results
from notebooks.assignments import assignment, submissions, tables
from notebooks.studies import classroom_evening as evening


@pytest.mark.slow
def test_the_class_hands_in_its_own_variants_some_of_them_wrong(tmp_path):
    variants = {f"s{number}": f"v{number}" for number in range(4)}
    files = evening.hand_in(tmp_path / "class", variants, rng=np.random.default_rng(0))
    names = assignment.names()
    found = submissions.collect(tmp_path / "class", {name: assignment.key(name) for name in names})
    assert files == len(found) == 4 * len(names)
    assert all(each.variant == variants[each.student] and not each.problems for each in found)
    empty = [each for each in found if any(cell["source"] == "raise NotImplementedError()" for cell in each.cells)]
    assert 0 < len(empty) < len(found) / 2
    hostile = [each.student for each in found if any(cell["source"] == evening.UNLUCKY[3] for cell in each.cells)]
    assert hostile == ["s3"]


@pytest.mark.slow
def test_a_step_is_timed_and_one_that_fails_stops_the_evening(tmp_path):
    row = evening.timed("wait", "sleep 0.3", tmp_path)
    assert row["step"] == "wait" and 0.3 <= row["wall_s"] < 5
    with pytest.raises(RuntimeError, match="exit 3 failed: no"):
        evening.timed("fail", "echo no; exit 3", tmp_path)


def test_marks_are_filled_in_for_each_answer(tmp_path):
    heads = ["student", "out_of", "points", "comment"]
    tables.table(tmp_path / "by-hand.csv", [dict.fromkeys(heads, "") | {"out_of": "3"}] * 5)
    assert evening.mark(tmp_path, rng=np.random.default_rng(0)) == 5
    assert all(0 <= int(row["points"]) <= 3 for row in tables.read_table(tmp_path / "by-hand.csv"))


def test_what_is_kept_is_of_a_class_of_thirty_and_of_all_assignments():
    made, rows = results.provenance(evening.FILE), results.rows(evening.FILE)
    assert made["students"] == "30" and made["assignments"] == str(len(assignment.names()))
    assert all(float(row["wall_s"]) >= 0 for row in rows)
    assert [row["step"] for row in rows] == ["clone", "environment", "hand out", "grade", "enter marks"]
