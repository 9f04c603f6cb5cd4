"""Chapters on a table of one's own: each runs to its end on a made-up one and judges nothing by it, or refuses it in a sentence."""

import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from book import claims
from notebooks.studies import own_table

ROOT = Path(__file__).resolve().parents[1]
# The least that each chapter may be asked for.
CHAPTERS = {
    "miura2025/01_private_pgm": {"epsilons": [1.0], "steps": 30, "draws": 2},
    "miura2025/02_accuracy": {"target": "member", "trials": 2},
    "miura2025/03_budget": {"epsilons": [1.0], "trials": 2, "points": 0},
    "miura2025/04_beyond": {"epsilons": [1.0], "trials": 2},
    "miura2022/04_adult": {"sigma": 0.1, "sizes": [10], "trials": 1000, "audit_n": 3200},
    "hasegawa2015/03_figure1": {"target": "member", "records": 400, "ks": [3]},
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
    """A file of records, and its schema."""
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
    words = [sys.executable, ROOT / "notebooks/run.py", ROOT / f"notebooks/{chapter}.ipynb", "-o", output, *told]
    failed = ["--failed", output.with_name("failed.ipynb")]
    return subprocess.run([*words, *failed], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_on_it_and_judges_nothing_by_it(chapter, people, tmp_path):
    data, schema = people
    done = ran(chapter, tmp_path / "out.ipynb", data=data, schema=schema, **CHAPTERS[chapter])
    assert done.returncode == 0, done.stderr
    cells = [cell for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells if cell.cell_type == "code"]
    told = next(i for i, cell in enumerate(cells) if f"This run is on {data}" in str(cell.outputs))
    judged = [each for cell in cells[told:] for each in cell.outputs if claims.MIME in each.get("data", {})]
    assert not judged
    for cell in cells[told + 1 :]:
        left_out, unjudged = (said in str(cell.outputs) for said in ("Left out", "Claims are not judged"))
        assert left_out == cell.source.startswith(own_table.THEIRS)
        assert not unjudged or "claims." in cell.source or "judge(" in cell.source
    assert sum("text/plain" in str(cell.outputs) for cell in cells[told:]) > 5  # tables and figures


REFUSED = {
    "no schema": ("miura2025/03_budget", {"schema": ""}, "data must be one of real, stand-in, or a file whose public schema is named"),
    "no file": ("miura2025/03_budget", {"data": "nobody.csv"}, "data must be a file, a folder or an address, got 'nobody.csv'"),
    "no schema's file": ("miura2025/03_budget", {"schema": "none.yml"}, "schema must be a file, got 'none.yml'"),
    "a schema of the stand-in": ("miura2025/03_budget", {"data": "stand-in"}, "schema must be left out where data is stand-in"),
    "no target": ("miura2025/02_accuracy", {}, "target must be one of 'colour', 'age', 'income', 'member', got ''"),
    "three values": ("hasegawa2015/03_figure1", {"target": "colour"}, "target must name an attribute with two values"),
    "few records": ("hasegawa2015/03_figure1", {"target": "member", "records": 2000}, "records must be a whole number in [2, "),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_suit_is_refused_in_a_sentence(case, people, tmp_path):
    chapter, values, sentence = REFUSED[case]
    done = ran(chapter, tmp_path / "out.ipynb", **{"data": people[0], "schema": people[1]} | values)
    assert done.returncode == 1 and not (tmp_path / "out.ipynb").exists()
    assert sentence in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_table_without_numbers_or_with_few_attributes_is_refused(people):
    data, schema = people
    schema.write_text("attributes: {colour: {values: [red, green, blue]}, age: {range: [18, 99]}}")
    with pytest.raises(ValueError, match="schema must have 2 to 12 attributes with a range for this chapter, got 1"):
        own_table.numeric(str(data), str(schema))
    with pytest.raises(ValueError, match="schema must have 3 attributes at least for this chapter, got 2"):
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
        ValueError, match="age must take two values at least in complete records to be scaled, got 20 only"
    ):
        scaled(frame, scaling="observed")
