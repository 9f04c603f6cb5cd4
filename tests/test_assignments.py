"""Every assignment: full marks for the reference, none for the empty version, and the marks meant for wrong answers.

All copies are handed in as one class and graded by the command that instructors use.
"""

import csv
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from book import claims
from notebooks.assignments import assignment, make_assignments, submissions

ROOT = Path(__file__).resolve().parents[1]
NAMES = assignment.names()

# (assignment, what went wrong, text of the reference solution, what the student wrote, tests that are lost by it)
WRONG = [
    ("laplace", "sensitivity of a sum is 1", "= 1, cap, 2", "= 1, 1, 2", {"sensitivity"}),
    ("laplace", "weeks forgotten", "weeks * cap", "cap", {"weeks"}),
    ("laplace", "scale upside down", "scale=sensitivity / epsilon", "scale=epsilon / sensitivity", {"scale"}),
    ("laplace", "same noise for all", ", size=value.shape", "", {"shape", "scale"}),
    ("laplace", "budget not shared", "epsilon / 2", "epsilon", {"mean-private"}),
    ("laplace", "exact count", "release(len(hours), 1, epsilon / 2, rng=rng)", "len(hours)", {"mean-private"}),
    ("laplace", "not clipped", "np.clip(hours, 0, cap)", "hours", {"mean", "mean-private"}),
    ("laplace", "both limits with the whole error", "(1 - confidence) / 2", "1 - confidence", {"audit"}),
    ("laplace", "event too common", "> 1)", "> -3)", {"verdicts"}),
    (
        "gaussian_records",
        "weights exchanged",
        "(1 - alpha) * v1 + alpha * v2",
        "alpha * v1 + (1 - alpha) * v2",
        {"variances", "infinite", "cost"},
    ),
    ("gaussian_records", "forgotten half", "/ (2 * mixed)", "/ mixed", {"means", "variances", "cost"}),
    ("gaussian_records", "divergent integral", "if mixed <= 0:", "if False:", {"infinite"}),
    ("gaussian_records", "variance of the newcomer", "n / (n + 1) ** 2 *", "n / (n + 1) *", {"more", "cost"}),
    (
        "gaussian_records",
        "one direction",
        "max(renyi(mu, v, *more, alpha), renyi(*more, mu, v, alpha))",
        "renyi(mu, v, *more, alpha)",
        {"cost"},
    ),
    ("gaussian_records", "one record published", "middle * per_record", "per_record", {"needed"}),
    ("aim_by_hand", "forgotten 2", "(2 * share * rho)", "(share * rho)", {"budget", "first"}),
    ("aim_by_hand", "no overlap", "len(set(r) & set(s))", "1", {"weight"}),
    ("aim_by_hand", "noise of one cell", "sigma_t * true.size)", "sigma_t)", {"score", "first"}),
    ("aim_by_hand", "sum of weights", "max(weights)", "sum(weights)", {"sensitivity", "first"}),
    ("aim_by_hand", "scores too large", " - np.max(scores))", ")", {"select"}),
    ("aim_by_hand", "annealing the wrong way", "<= np.sqrt", "> np.sqrt", {"anneal"}),
    ("aim_by_hand", "last round too late", "left <= 2 *", "left <=", {"last"}),
    ("pk_anonymity", "old value not drawn again", "(rho + (1 - rho) / s) /", "rho /", {"epsilon", "level"}),
    ("pk_anonymity", "forgotten 2", "np.exp(-2 *", "np.exp(-1 *", {"level"}),
    (
        "pk_anonymity",
        "always another value",
        "rng.integers(s, size=np.shape(values))",
        "(values + rng.integers(1, s, size=np.shape(values))) % s",
        {"perturb"},
    ),
    ("pk_anonymity", "income not undone", ", transition(rho_income, 2)", ", np.eye(2)", {"reconstruct", "error"}),
    ("pk_anonymity", "nothing reconstructed", "range(400)", "range(0)", {"reconstruct", "error", "auc"}),
    ("private_parameters", "not cut before", "np.clip(weights, low, high)", "np.asarray(weights)", {"release"}),
    (
        "private_parameters",
        "range forgotten",
        "scale=(high - low) / epsilon",
        "scale=1 / epsilon",
        {"release", "success"},
    ),
    ("private_parameters", "forgotten half", "- b / 2 *", "- b *", {"expectation"}),
    ("private_parameters", "mean of the logarithms", "np.sum(inside)", "np.mean(inside)", {"ratio"}),
    ("private_parameters", "no composition", "return parameters * epsilon", "return epsilon", {"whole"}),
    (
        "private_parameters",
        "one step only",
        "return epochs * (high - low) / epsilon",
        "return (high - low) / epsilon",
        {"steps", "here"},
    ),
]

# Other ways to do it right.
RIGHT = [
    ("laplace", "inverse distribution", "rng.laplace(scale=sensitivity / epsilon, size=value.shape)",
     "(sensitivity / epsilon) * (rng.exponential(size=value.shape) - rng.exponential(size=value.shape))"),
    ("laplace", "one release of both, centred", "noisy_sum = release(clipped.sum(), cap, epsilon / 2, rng=rng)",
     "middle, count = release([(clipped - cap / 2).sum(), len(hours)], cap / 2 + 1, epsilon, rng=rng)\n"
     "    return cap / 2 + middle / max(count, 1)"),
    ("gaussian_records", "only the ends", "np.linspace(-1, 1, 201)", "(-1, 1)"),
    ("aim_by_hand", "softmax", "return np.exp(exponents) / np.exp(exponents).sum()", "from scipy.special import softmax; return softmax(exponents)"),
    ("pk_anonymity", "other steps", "range(400)", "range(1500)"),
    ("private_parameters", "uniform draws", "rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside))",
     "stats.laplace(scale=(high - low) / epsilon).ppf(rng.random(np.shape(inside)))"),
]  # fmt: skip


def with_solution(name: str, old: str, new: str, variant="default"):
    """The reference with `old` replaced in the solution cells, where it has to occur."""
    notebook = assignment.key(name, variant)
    places = [cell for cell in notebook.cells if assignment.kind(cell) == "solution" and old in cell.source]
    assert len(places) == 1, f"{name}: {old!r} is in {len(places)} solution cells"
    places[0].source = places[0].source.replace(old, new)
    return notebook


def grade(folder: Path, target: Path, *options) -> dict:
    """The marks by (student, assignment): {question: (points, out of, note)}."""
    done = subprocess.run(
        [sys.executable, "-m", "notebooks.assignments.grade", folder, "-o", target, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    marks = {}
    with (target / "marks.csv").open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            questions = marks.setdefault((row["file"].split("/")[1], row["assignment"]), {})
            questions[row["question"]] = (float(row["points"] or "nan"), float(row["out_of"]), row["note"])
    return marks


def hand_in(folder: Path, what: str, name: str, notebook) -> None:
    """In the folder of one of a few students, whose process is started once for all that they hand in."""
    place = folder / f"student {len(list(folder.glob('*/*/*'))) // submissions.MOST_FILES}" / what
    place.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, place / f"{name}.ipynb")


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for name in NAMES:
        hand_in(folder, "reference", name, assignment.key(name))
        hand_in(folder, "empty", name, assignment.student(assignment.key(name)))
    for name, what, old, new, *_ in [*WRONG, *RIGHT]:
        hand_in(folder, what, name, with_solution(name, old, new))
    return grade(folder, tmp_path_factory.mktemp("grading") / "out")


def lost(questions: dict) -> set:
    """Tests without full marks; none has anything between."""
    tests = {name: mark for name, mark in questions.items() if "-test-" in name}
    assert all(points in (0, out_of) for points, out_of, _ in tests.values())
    return {name.split("-test-")[1] for name, (points, _, _) in tests.items() if points == 0}


def test_every_assignment_names_its_document():
    documents = claims.load().documents
    for name in NAMES:
        assert any(f"`{key}`" in assignment.key(name).cells[0].source for key in documents), name


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_gets_all_points_that_tests_give(marks, name):
    assert lost(marks["reference", name]) == set(), marks["reference", name]
    assert sum(out_of for _, out_of, _ in marks["reference", name].values()) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_the_empty_version_gets_nothing(marks, name):
    assert all(points == 0 for points, _, _ in marks["empty", name].values())


@pytest.mark.parametrize(("name", "what", "tests"), [(wrong[0], wrong[1], wrong[4]) for wrong in WRONG])
def test_a_wrong_answer_loses_the_points_meant_for_it(marks, name, what, tests):
    assert lost(marks[what, name]) == tests


@pytest.mark.parametrize(("name", "what"), [right[:2] for right in RIGHT])
def test_another_right_answer_loses_nothing(marks, name, what):
    assert lost(marks[what, name]) == set(), marks[what, name]


def test_whoever_loses_points_is_told_why(marks):
    told = [
        note
        for (student, _), questions in marks.items()
        if student not in ("reference", "empty")
        for name, (points, _, note) in questions.items()
        if "-test-" in name and points == 0
    ]
    assert len(told) > 30 and all(note for note in told)
    assert sum(note.startswith("AssertionError: ") for note in told) > len(told) / 2


@pytest.mark.parametrize("name", NAMES)
def test_three_wrong_answers_at_least_are_tried(name):
    assert sum(wrong[0] == name for wrong in WRONG) >= 3


# ---- the version for students


def secret_lines(notebook) -> set:
    """Every line of a solution, of a hidden test and of a model answer."""
    lines = set()
    for cell in notebook.cells:
        for part in re.findall(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", cell.source, re.DOTALL):
            lines |= {line.strip() for line in part.split("\n") if "import" not in line} - {"", ")", "}", "else:"}
    return lines


@pytest.mark.parametrize("variant", ["default", "2026a"])
@pytest.mark.parametrize("name", NAMES)
def test_the_student_version_holds_no_line_of_a_solution_or_hidden_test(name, variant):
    key = assignment.key(name, variant)
    student = assignment.prepare(name, variant).released
    shown = {line.strip() for cell in student.cells for line in cell.source.split("\n")}
    assert len(secret_lines(key)) > 40 and secret_lines(key) & shown == set()
    assert "BEGIN" not in json.dumps(student) and not any(cell.get("outputs") for cell in student.cells)
    assert any("### BEGIN SOLUTION" in cell.source for cell in key.cells), "the key is left as it was"


@pytest.mark.parametrize("name", NAMES)
def test_points_and_texts_agree(name):
    notebook = assignment.key(name)
    tests = sum(assignment.points(cell) for cell in notebook.cells if assignment.kind(cell) == "test")
    by_hand = sum(assignment.points(cell) for cell in notebook.cells if assignment.kind(cell) == "answer")
    said = " ".join(notebook.cells[0].source.split())
    assert f"{tests + by_hand:g} points: {tests:g} by tests, {by_hand:g} for free text" in said
    headings = [
        int(points)
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for points in re.findall(r"(?m)^## .*?(\d+) points?\)$", cell.source)
    ]
    assert sum(headings) == tests + by_hand
    for cell in notebook.cells:
        if assignment.kind(cell) == "answer":
            assert "**Rubric.**" in cell.source and len(re.findall(r"\d point", cell.source)) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_every_graded_cell_can_be_found_again_by_its_id(name):
    notebook = assignment.key(name)
    for cell in notebook.cells:
        assert (
            cell.cell_type == "markdown" and not assignment.mark(cell) or assignment.mark(cell)["grade_id"] == cell.id
        )
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_a_zip_holds_all_that_a_student_needs(tmp_path):
    first = make_assignments.make(assignment.prepare("laplace", "2026a"), tmp_path / "laplace-2026a.zip")
    content = first.read_bytes()
    with zipfile.ZipFile(first) as archive:
        files = set(archive.namelist())
        notebook = nbformat.reads(archive.read("laplace-2026a/laplace.ipynb").decode(), as_version=4)
    assert {
        "laplace-2026a/START.md",
        "laplace-2026a/requirements.lock",
        "laplace-2026a/lib/data/stand_ins/adult.csv.gz",
    } <= files
    assert not any("__pycache__" in file or "assignments" in file for file in files)
    assert notebook == nbformat.read(tmp_path / "laplace-2026a/laplace.ipynb", as_version=4)
    assert make_assignments.make(assignment.prepare("laplace", "2026a"), first).read_bytes() == content


# ---- variants


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_has_other_numbers_and_always_the_same(name):
    default, one, other = (assignment.constants(name, variant) for variant in ("default", "2026a", "2026b"))
    assert assignment.constants(name, "2026a") == one
    assert default.keys() == one.keys() == other.keys() and "seed" in one
    for pair in ((default, one), (one, other)):
        assert pair[0]["seed"] != pair[1]["seed"]
        assert sum(pair[0][key] != pair[1][key] for key in default) >= len(default) - 2
    text = "\n".join(
        cell.source for cell in assignment.key(name, "2026a").cells if "parameters" in cell.metadata.get("tags", [])
    )
    found = {}
    exec(text, found)
    assert {key: found[key] for key in one} == one


def test_a_variant_s_name_is_checked():
    with pytest.raises(ValueError, match="variant must be letters, digits"):
        assignment.constants("laplace", "../x")


# Answers that are numbers, as they were last year: (assignment, cell, the default variant's answer, the test that is lost).
LAST_YEAR = [
    ("laplace", "laplace-verdicts", "verdicts = {'A': True, 'B': False, 'C': False}", "verdicts"),
    ("gaussian_records", "gaussian-needed", "answers = {'unbounded': 232006, 'bounded': 461768}", "needed"),
    ("aim_by_hand", "aim-first", "chances = [0.83202537, 0.06033761, 0.10763702]", "first"),
    ("pk_anonymity", "pk-here", "epsilon_here = 4.992687", "here"),
    ("private_parameters", "parameters-here", "scale_here = 70.0", "here"),
]


@pytest.fixture(scope="module")
def next_year(tmp_path_factory):
    """Graded as variant 2026a: its references, and copies that give the numbers of the default one."""
    folder = tmp_path_factory.mktemp("class")
    for name, place, line, _ in LAST_YEAR:
        notebook = assignment.key(name, "2026a")
        hand_in(folder, "reference", name, notebook)
        [cell] = [cell for cell in notebook.cells if cell.id == place]
        cell.source += f"\n{line}"
        hand_in(folder, "last year's numbers", name, notebook)
    return grade(folder, tmp_path_factory.mktemp("grading") / "out", "--variant", "2026a")


@pytest.mark.parametrize("name", NAMES)
def test_solutions_and_tests_follow_the_variant(next_year, name):
    assert lost(next_year["reference", name]) == set()


@pytest.mark.parametrize(("name", "test"), [(entry[0], entry[3]) for entry in LAST_YEAR])
def test_last_year_s_answers_do_not_fit(next_year, name, test):
    assert lost(next_year["last year's numbers", name]) == {test}
