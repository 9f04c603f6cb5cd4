"""Chapters on a user's table: each runs to its end on a simulated one and judges nothing by it, or refuses it in a sentence."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from book.ledger import claims
from notebooks.studies import own_anonymization, own_comparison, own_table

ROOT = Path(__file__).resolve().parents[2]
# The least that each chapter may be asked for.
CHAPTERS = {
    "hasegawa2015/03_figure1": {"target": "member", "records": 400, "ks": [3]},
    "miura2025/01_private_pgm": {"epsilons": [1.0], "steps": 30, "draws": 2},
    "miura2025/05_details": {"target": "member", "trials": 2},
    "miura2025/03_budget": {"epsilons": [1.0], "trials": 2, "points": 0},
    "miura2025/04_beyond": {"epsilons": [1.0], "trials": 2},
    "miura2022/04_adult": {"sigma": 0.1, "sizes": [10], "trials": 1000, "audit_n": 3200},
    "miura2022/05_guarantee": {"checked": 30, "searches": 2, "releases": 2},
}
SCHEMA = """\
attributes:
  colour: {values: [red, green, blue]}
  age: {range: [18, 99], bins: 6}
  income: {range: [0, 9000], bins: 5, whole: no}
  member: {values: [no, yes]}
"""


@pytest.fixture
def people(tmp_path):
    """Return a file of records, and its schema."""
    rng = np.random.default_rng(1)
    group, age, pay = rng.integers(3, size=600), rng.integers(18, 90, 600), rng.gamma(2, 900, 600).round(2)
    yes = rng.random(600) < 1 / (1 + np.exp(1 - group - (age - 50) / 15))
    ages = np.where(rng.random(600) < 0.02, "", age.astype(str))
    lines = [
        f"{('red', 'green', 'blue')[g]},{a},{p},{('no', 'yes')[y]}" for g, a, p, y in zip(group, ages, pay, yes * 1)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["colour,age,income,member", *lines]))
    (tmp_path / "schema.yml").write_text(SCHEMA)
    return tmp_path / "people.csv", tmp_path / "schema.yml"


def ran(chapter, output, **values):
    told = [word for name, value in values.items() for word in ("-p", name, str(value))]
    words = [sys.executable, ROOT / "notebooks/tools/run.py", ROOT / f"notebooks/{chapter}.ipynb", "-o", output, *told]
    failed = ["--failed", output.with_name("failed.ipynb")]
    return subprocess.run([*words, *failed], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_on_it_and_judges_nothing_by_it(chapter, people, tmp_path):
    data, schema = people
    done = ran(chapter, tmp_path / "out.ipynb", data=data, schema=schema, **CHAPTERS[chapter])
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells if cell.cell_type == "code"]
    told = next(i for i, cell in enumerate(cells) if f"This run is on {data}" in str(cell.outputs))
    judged = [each for cell in cells[told:] for each in cell.outputs if claims.MIME in each.get("data", {})]
    assert not judged
    shown = 0
    for cell in cells[told + 1 :]:
        left_out, unjudged = (said in str(cell.outputs) for said in ("Left out", "Claims are not judged"))
        assert left_out == cell.source.startswith(own_table.THEIRS)
        assert not unjudged or "claims." in cell.source or "judge(" in cell.source
        shown += bool(cell.outputs) and not (left_out or unjudged)
    assert shown > 5


@pytest.mark.full
def test_a_run_that_is_refused_ends_with_a_sentence(people, tmp_path):
    done = ran("miura2025/03_budget", tmp_path / "out.ipynb", data=people[0])
    assert done.returncode == 1 and not (tmp_path / "out.ipynb").exists()
    assert "ValueError: data must be one of real, stand-in, or a file of yours if schema is also given" in done.stderr
    assert "Traceback" not in done.stderr


REFUSED = {
    "no file": ({"data": "nobody.csv"}, "data must be an existing file or folder, or an address, got 'nobody.csv'"),
    "no schema's file": ({"schema": "none.yml"}, "schema must be a file, got 'none.yml': No such file or directory"),
    "a schema of the stand-in": ({"data": "stand-in"}, "schema must be left out where data is stand-in"),
    "no target": ({"target": ""}, "target must be one of 'colour', 'age', 'income', 'member', got ''"),
    "three values": (
        {"target": "colour"},
        "target must name an attribute with two values for this chapter, got 'colour', which has 3",
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_suit_is_refused(case, people):
    values, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(sentence)):
        own_anonymization.experiment(**{"data": str(people[0]), "schema": str(people[1]), "target": "member"} | values)


def test_there_must_be_records_left_to_test_on_and_a_target_to_predict(people):
    data, schema = map(str, people)
    with pytest.raises(ValueError, match=r"records must be in \[2, 5\d\d\], got 600"):
        own_anonymization.grid(
            own_anonymization.experiment(data, schema, "member"), ks=[3], trials=1, records=600, seed=1
        )
    with pytest.raises(ValueError, match="target must be one of 'colour', 'age', 'income', 'member', got 'pay'"):
        own_comparison.cases(data, schema, "pay")


def test_an_attribute_that_has_the_name_of_the_chapters_target_is_another(people):
    own = own_anonymization.experiment(str(people[0]), str(people[1]), "member")
    assert list(own.kinds) == ["colour", "age", "income'"] and own.kinds["income'"] == (0, 9000)
    assert list(own.numbers) == ["colour", "age", "income'", "income"] and set(own.numbers["income"]) == {0, 1}
    assert own.ladder["income'"].labels[1].tolist() == [
        "1: 0",
        "1: 1",
        "1: 2",
    ]  # five bins and missing values, two by two


def test_a_table_without_numbers_or_with_few_attributes_is_refused(people):
    data, schema = people
    schema.write_text("attributes: {colour: {values: [red, green, blue]}, age: {range: [18, 99]}}")
    with pytest.raises(ValueError, match="schema must have 2 to 12 attributes with a range for this chapter, got 1"):
        own_table.numeric(str(data), str(schema))
    with pytest.raises(ValueError, match="schema must have at least 3 attributes for this chapter, got 2"):
        own_table.categorical(str(data), str(schema))


def test_a_number_that_never_changes_is_refused_where_it_is_scaled_by_what_was_observed(people):
    data, schema = people
    data.write_text("colour,age,income,member\nred,20,5,yes\nblue,20,6,no\n")
    frames, scaled = own_table.numeric(str(data), str(schema))
    (frame,) = frames.values()
    assert scaled(frame, scaling="public").to_numpy().tolist() == [
        [2 * 2 / 81 - 1, 2 * 5 / 9000 - 1],
        [2 * 2 / 81 - 1, 2 * 6 / 9000 - 1],
    ]
    with pytest.raises(
        ValueError, match="age must take at least two values in complete records to be scaled, got 20 only"
    ):
        scaled(frame, scaling="observed")
