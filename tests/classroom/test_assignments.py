"""Every assignment gives full marks to the reference, none to the empty version, and a reason for each lost point.

All copies are handed in as one class and graded by the command that instructors use. `test_answers` judges many more
answers, without handing them in.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from book._ext import tables
from book.ledger import claims
from notebooks.assignments import assignment, make_assignments, shipped, submissions
from notebooks.assignments.tables import read_table, table

ROOT = Path(__file__).resolve().parents[2]
NAMES = assignment.names()
OWN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # in which students run what they get


def with_solution(name: str, old: str, new: str, variant="default"):
    """Return the reference with `old` replaced in the solution cells, where it has to occur."""
    notebook = assignment.key(name, variant)
    places = [cell for cell in notebook.cells if assignment.kind(cell) == "solution" and old in cell.source]
    assert len(places) == 1, f"{name}: {old!r} is in {len(places)} solution cells"
    places[0].source = places[0].source.replace(old, new)
    return notebook


# Answers that are numbers, as they were last year: (assignment, cell, the default variant's answer, the test that is lost).
LAST_YEAR = [
    ("laplace", "laplace-verdicts", "verdicts = {'A': True, 'B': False, 'C': False}", "verdicts"),
    ("gaussian_records", "gaussian-needed", "answers = {'unbounded': 232006, 'bounded': 461768}", "needed"),
    ("aim_by_hand", "aim-first", "chances = [0.83202537, 0.06033761, 0.10763702]", "first"),
    ("pk_anonymity", "pk-here", "epsilon_here = 4.992687", "here"),
    ("private_parameters", "parameters-here", "scale_here = 70.0", "here"),
    ("frequency_oracles", "oracles-here", "needed = 46181", "needed"),
    ("synthetic_tables", "tables-live", "synthetic = draw(np.ones((7, 6, 5, 2)), 5984, rng=coins)", "live"),
]


# Answers that say what went wrong only when they are handed in: (what, text of the reference solution, what the student
# wrote, the test that is lost, what is said).
TOLD = [
    (
        "forgotten return",
        "return mu + (x - mu)",
        "mu + (x - mu)",
        "more",
        "with_one_more gives None: is a return missing",
    ),
    ("too many points", "200_001)", "5_000_001)", "numeric", "more than 32 MiB or 3 million numbers at once"),
    ("too many answers", "200_001)", "5_000_001).astype(np.float32)", "numeric", "asked for more than 32 MiB"),
    (
        "answer below the stub",
        "low, high = 0, 1",
        "raise NotImplementedError()\n    low, high = 0, 1",
        "needed",
        "is still above the answer",
    ),
    (
        "function renamed",
        "def renyi_numeric(",
        "def numeric(",
        "numeric",
        "renyi_numeric is not defined: its cell gaussian-numeric is missing",
    ),
]
SHOWN = "gaussian_records"

REFERENCE, EMPTY, NEXT_YEAR, COPIED = "reference", "empty", "reference of 2026a", "last year's numbers"


def copy_of(name: str, what: str):
    """Return the notebook of assignment `name` that is handed in as `what`."""
    if what == REFERENCE:
        return assignment.key(name)
    if what == EMPTY:
        return assignment.student(assignment.key(name))
    if what in (NEXT_YEAR, COPIED):
        notebook = assignment.key(name, "2026a")
        for place, line in [entry[1:3] for entry in LAST_YEAR if what == COPIED and entry[0] == name]:
            [cell] = [cell for cell in notebook.cells if cell.id == place]
            cell.source += f"\n{line}"
        return notebook
    [(old, new)] = [entry[1:3] for entry in TOLD if entry[0] == what]
    return with_solution(name, old, new)


@pytest.fixture(scope="session")
def marks(request, once, grade):
    """Return the marks by (what was handed in, assignment): {question: (points, out of, note)}, of all that the chosen tests look at.

    A few students hand in many files each: the process of each is started once. Those of next year have its variant.
    """
    asking = [item for item in request.session.items if "marks" in item.fixturenames and hasattr(item, "callspec")]
    wanted = sorted({(item.callspec.params["name"], item.callspec.params["what"]) for item in asking})

    def make(top: Path) -> None:
        students: dict = {}
        for number, (name, what) in enumerate(wanted):
            variant = "2026a" if what in (NEXT_YEAR, COPIED) else assignment.DEFAULT
            student = f"student {variant} {number % (1 + len(wanted) // submissions.MOST_FILES)}"
            students[student] = variant
            place = top / "class" / student / what
            place.mkdir(parents=True, exist_ok=True)
            nbformat.write(copy_of(name, what), place / f"{name}.ipynb")
        rows = [{"student": student, "variant": variant} for student, variant in students.items()]
        table(top / "variants.csv", rows)
        grade(top / "class", top / "out", "--variants", top / "variants.csv")

    found: dict = {}
    for row in read_table(once("assignments", make) / "out/marks.csv"):
        questions = found.setdefault((row["file"].split("/")[1], row["assignment"]), {})
        questions[row["question"]] = (float(row["points"] or "nan"), float(row["out_of"]), row["note"])
    return found


def lost(questions: dict) -> set:
    """Return tests without full marks; none has anything between."""
    tests = {name: mark for name, mark in questions.items() if "-test-" in name}
    assert all(points in (0, out_of) for points, out_of, _ in tests.values())
    return {name.split("-test-")[1] for name, (points, _, _) in tests.items() if points == 0}


def test_every_assignment_names_its_document():
    documents = claims.load().documents
    rows = [tables.assignment(path) for path in tables.assignments()]
    assert [row["name"] for row in rows] == NAMES and {row["document"] for row in rows} <= set(documents)
    assert all(row["title"] in tables.overview(rows) for row in rows)


def test_every_assignment_has_its_week():
    weeks = (ROOT / "book/classroom/instructors.md").read_text().partition("## Six weeks")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", weeks)) >= set(NAMES)


def test_an_assignment_that_does_not_say_what_it_is_stops_the_build(tmp_path):
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A title alone")]), tmp_path / "x.ipynb"
    )
    with pytest.raises(ValueError, match="x.ipynb must begin with its title"):
        tables.assignment(tmp_path / "x.ipynb")


@pytest.mark.slow
@pytest.mark.parametrize("what", [REFERENCE])
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_gets_all_points_that_tests_give(marks, name, what):
    assert lost(marks[what, name]) == set(), marks[what, name]
    assert sum(out_of for _, out_of, _ in marks[what, name].values()) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("what", [EMPTY])
@pytest.mark.parametrize("name", NAMES)
def test_the_empty_version_gets_nothing(marks, name, what):
    assert marks[what, name] and all(points == 0 for points, _, _ in marks[what, name].values())


@pytest.mark.slow
@pytest.mark.parametrize(("what", "test", "said"), [(entry[0], *entry[3:]) for entry in TOLD])
@pytest.mark.parametrize("name", [SHOWN])
def test_what_went_wrong_is_said(marks, name, what, test, said):
    assert said in marks[what, name][f"gaussian-test-{test}"][2]


# ---- the version for students


def secret_lines(notebook) -> set:
    """Return every line of a solution, of a hidden test and of a model answer."""
    lines = set()
    for cell in notebook.cells:
        for part in re.findall(r"### BEGIN (?:SOLUTION|HIDDEN TESTS)\n(.*?)### END", cell.source, re.DOTALL):
            lines |= {line.strip() for line in part.split("\n") if "import" not in line} - {"", ")", "}", "else:"}
    return lines


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_student_s_check_accepts_right_answers_and_names_those_of_another_form(tmp_path):
    case = assignment.prepare("laplace")
    make_assignments.make(case, tmp_path / "laplace.zip")
    with zipfile.ZipFile(tmp_path / "laplace.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked/laplace"
    shown = {cell.id: cell.source for cell in case.released.cells if assignment.kind(cell) == "test"}

    def checked(**changes):
        """Return the exit status and the lines printed for the notebook with the reference's cells, some of them changed."""
        notebook = nbformat.read(folder / "laplace.ipynb", as_version=4)
        for cell, key in zip(notebook.cells, case.key.cells):
            if assignment.kind(key) == "solution":
                cell.source = changes.get(key.id.removeprefix("laplace-"), key.source)
        nbformat.write(notebook, folder / "laplace.ipynb")
        done = subprocess.run([sys.executable, "check.py"], cwd=folder, env=OWN, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    status, lines = checked()
    assert status == 0 and lines == [f"{test}: accepted" for test in shown] + [
        "All answers have a form that grading accepts. Whether they are right is not checked."
    ]
    wrong = {
        "sensitivity": "def sensitivities(cap, weeks):\n    return {1, 2, 3, 4}",
        "release": "def release(value, sensitivity, epsilon, *, rng):\n    print(value)",
        "audit": "def epsilon_at_least(hits, false_hits, trials, confidence=0.95):\n    raise NotImplementedError()",
        "verdicts": "verdicts = [True]",
    }
    status, lines = checked(**wrong)
    said = dict(line.split(": ", 1) for line in lines)
    assert status == 1 and said.keys() == shown.keys()
    for test, part in {
        "sensitivity": "only numbers, texts, lists, tuples, dictionaries and arrays of numbers are accepted, got set",
        "shape": "release gives None: is a return missing",
        "audit": "not answered, or the line that raises NotImplementedError is still above the answer",
        "verdicts": "verdicts is a dictionary with the keys A, B and C",
    }.items():
        assert part in said[f"laplace-test-{test}"]


@pytest.mark.slow
def test_the_requirements_are_the_few_packages_of_a_student_and_all_that_they_need(cases):
    parts = shipped.requirements(cases["private_parameters"].released)
    lock = (ROOT / "requirements-classroom.lock").read_text(encoding="utf-8")
    entries = {part: re.split(r"(?m)^(?=[a-z])", text.decode())[1:] for part, text in parts.items()}
    enough, more = ({name_of(entry) for entry in entries[part]} for part in ("requirements.lock", "jupyterlab.lock"))
    assert all(entry in lock and "--hash=sha256:" in entry for part in entries.values() for entry in part)
    several = [line for line in re.findall(r"(?m)^\S+==.*$", lock) if name_of(line) in enough | more]
    found = re.findall(r"(?m)^\S+==.*$", b"".join(parts.values()).decode())
    assert set(several) <= set(found), "one version for each Python"
    assert {"ipykernel", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy"} <= enough and len(enough) < 50
    assert "jupyterlab" in more and not enough & more
    assert (enough | more).isdisjoint({"sphinx", "nbgrader", "pytest", "selenium", "ruff", "pooch"})
    for packages in (enough, enough | more):
        for package in packages - {"appnope", "colorama", "pywinpty"}:  # of other systems
            for needed in map(Requirement, importlib.metadata.requires(package) or ()):
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    assert name_of(needed.name) in packages, f"{package} needs {needed}"


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_platform_s_usual_packages_are_enough(cases, name):
    """JupyterHub and Colab have these; a package for downloads, which only the real data need, does not go out."""
    used = {module.split(".")[0] for module in shipped.modules(cases[name].released)}
    assert used - sys.stdlib_module_names <= {"numpy", "scipy", "pandas", "matplotlib", "sklearn"}


@pytest.mark.slow
def test_the_first_cell_of_a_notebook_alone_unpacks_the_zip_file_or_says_that_it_is_missing(cases, tmp_path):
    make_assignments.make(cases["laplace"], tmp_path / "laplace.zip")
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/laplace.ipynb").write_text("what a student has written")
    not_ours = "import sys\nsys.meta_path[:] = [each for each in sys.meta_path if 'Editable' not in str(each)]\n"

    def run(name="laplace"):
        given = [cell.source for cell in cases[name].released.cells if assignment.kind(cell) == "given"][:3]
        assert "zipfile" in given[0] and "from lib" in given[2]
        command = [sys.executable, "-c", not_ours + "\n".join(given)]
        return subprocess.run(command, cwd=tmp_path / "alone", env=OWN, capture_output=True, text=True)

    assert run().stderr.splitlines()[-1] == (
        "FileNotFoundError: no laplace*.zip is beside this notebook: upload the zip file, and run this cell again"
    )
    (tmp_path / "laplace.zip").rename(tmp_path / "alone/laplace (1).zip")  # as browsers call a second download
    for _ in range(2):
        assert run().stdout.startswith("48,842 records")
    assert (tmp_path / "alone/laplace.ipynb").read_text() == "what a student has written"
    assert (tmp_path / "alone/check.py").exists()
    make_assignments.make(cases["gaussian_records"], tmp_path / "alone/gaussian_records.zip")
    assert run("gaussian_records").stdout.startswith("40 records"), "another assignment in the same folder"
    assert run().stdout.startswith("48,842 records")


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_the_tests_pass_in_the_process_of_the_notebook_where_nbgrader_runs_them(cases, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, content in cases[name].files.items():
        (tmp_path / path).write_bytes(content)
    notebook = make_assignments.in_one_process(cases[name])
    space: dict = {"__name__": "__main__"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, cell.id, "exec"), space)
    ours = [cell for cell in assignment.key(name).cells if assignment.kind(cell) == "instructor"]
    shown = {line.strip() for cell in assignment.student(notebook).cells for line in cell.source.split("\n")}
    defined = {line.strip() for cell in ours for line in cell.source.split("\n") if line.startswith(("def ", "_"))}
    assert not (secret_lines(notebook) | defined) & shown


def test_a_course_for_nbgrader_is_one_for_all_and_in_english(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["make_assignments", "--nbgrader", "--language", "ja"])
    told = "NBGRADER makes one course in English, so STUDENTS and LANGUAGE must not be given with it\n"
    assert (make_assignments.main(), capsys.readouterr().err) == (2, told)


def name_of(entry: str) -> str:
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", entry)[0]).lower()


# ---- variants


@pytest.mark.slow
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
    with pytest.raises(ValueError, match="variant must be at most 40 letters, digits"):
        assignment.constants("laplace", "../x")


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", [NEXT_YEAR])
def test_solutions_and_tests_follow_the_variant(marks, name, what):
    assert lost(marks[what, name]) == set()


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "test"), [(entry[0], entry[3]) for entry in LAST_YEAR])
@pytest.mark.parametrize("what", [COPIED])
def test_last_year_s_answers_do_not_fit(marks, name, test, what):
    assert lost(marks[what, name]) == {test}
