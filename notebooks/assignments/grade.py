"""Grade a folder of submissions: `make grade SUBMISSIONS=folder [VARIANT=2026a] [MARKS=by-hand.csv]`.

    python -m notebooks.assignments.grade submissions/ --variant 2026a

The folder is only read. All that comes out lies in a new folder, `build/grading/<its name>`:

- `grades.csv`: a row for every file: points, what is still to be marked by hand, and every problem by name;
- `marks.csv`: a row for every question, with the reason where points were lost;
- `by-hand.csv`: the free-text answers still to be marked, and `by-hand.html` to read them beside the rubric.
  Fill in the points, then run the command again with MARKS=that file;
- `feedback/`: a page for each student and assignment, without anything from outside;
- `executed/`: the notebooks as they ran, the tests as given to students.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one process, one thread: nothing runs while we fork
os.environ["MPLBACKEND"] = "agg"

import argparse  # noqa: E402
import csv  # noqa: E402
import importlib  # noqa: E402
import multiprocessing  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from pathlib import Path  # noqa: E402

from lib.numerics.files import whole  # noqa: E402
from notebooks.assignments import assignment, feedback, submissions  # noqa: E402
from notebooks.assignments.sandbox import CellDied, Limits, Sandbox, failure  # noqa: E402

# Imported once, before anything is forked.
LOADED = ("matplotlib.pyplot", "pandas", "scipy.stats", "scipy.optimize", "sklearn.metrics", "sklearn.tree", "IPython",
          "matplotlib_inline.backend_inline", "lib.tables.adaptive_iterative", "lib.attacks.audit", "lib.data.datasets", "lib.accounting.divergence",
          "lib.gaussian_synthesis", "lib.microdata.iterative_bayes", "lib.mechanisms", "lib.microdata.perturbation", "lib.tables.utility")  # fmt: skip
MOST_DEATHS = 3  # cells of one notebook that may end its process before the rest is given up


# ---- one submission


def execute(plan: list[dict], limits: Limits) -> list[dict | None]:
    """The outcome of every code cell of `plan` (None for text), under the limits.

    A cell that ends its process is left out, and the notebook starts again without it.
    """
    lost: dict[int, str] = {}
    while True:
        outcomes = _attempt(plan, limits, lost)
        if len(outcomes) == len(plan):
            return outcomes
        if len(lost) > MOST_DEATHS:
            rest = plan[len(outcomes) :]
            given_up = failure(f"not run: {len(lost)} cells before ended their process")
            return outcomes + [given_up if cell["type"] == "code" else None for cell in rest]


def _attempt(plan, limits, lost) -> list:
    """Outcomes up to the first cell that ends the process, which is noted in `lost`."""
    outcomes, given = [], True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, Sandbox(limits, Path(scratch)) as sandbox:
        for index, cell in enumerate(plan):
            if given and cell["kind"] in ("solution", "own"):
                sandbox.remember()
                given = False
            if cell["type"] != "code":
                outcomes.append(None)
            elif index in lost:
                outcomes.append(failure(lost[index]))
            else:
                try:
                    outcomes.append(sandbox.run(cell["source"], test=cell["kind"] == "test"))
                except CellDied as death:
                    lost[index] = str(death)
                    break
    return outcomes


def grade(submission, key, released, limits: Limits) -> dict:
    """Everything about one submission that goes on a page or into a table."""
    record = {
        "student": submission.student,
        "file": submission.file,
        "assignment": submission.name,
        "variant": submission.variant,
        "problems": submission.problems,
        "plan": [],
        "questions": [],
    }
    if not submission.cells or key is None:
        if key is not None:
            record["questions"] = [_question(cell, 0.0, "no notebook to grade") for cell in _graded(key)]
        return record
    plan = submissions.merge(key, released, submission)
    for cell, outcome in zip(plan, execute(plan, limits)):
        error = outcome and outcome["error"]
        record["plan"].append(
            {name: cell[name] for name in ("id", "kind", "type", "shown", "points")} | {"outcome": outcome}
        )
        if cell["kind"] == "test":
            note = "not answered: the stub is still there" if error == "NotImplementedError" else error or ""
            record["questions"].append(_question(cell, 0.0 if error else cell["points"], note))
        elif cell["kind"] == "answer":
            blank = not cell["source"].replace(assignment.STUB, "").strip()
            record["questions"].append(_question(cell, 0.0 if blank else None, "no answer" if blank else ""))
        elif error and re.search("stopped: |ended its process|did not stop|MemoryError", error):
            record["problems"].append(f"cell {cell['id'] or '(own)'}: {error}")
    return record


def _graded(key) -> list[dict]:
    cells = [{"id": cell.id, "kind": assignment.kind(cell), "points": assignment.points(cell)} for cell in key.cells]
    return [cell for cell in cells if cell["kind"] in ("test", "answer")]


def _question(cell, points, note) -> dict:
    return {
        "id": cell["id"],
        "by_hand": cell["kind"] == "answer",
        "points": points,
        "out_of": cell["points"],
        "note": note,
        "text": cell.get("source", "") if cell["kind"] == "answer" else "",
    }


# ---- a class

_KEYS: dict = {}


def grade_all(found: list, keys: dict, limits: Limits, jobs: int) -> list[dict]:
    """Records of all submissions, `jobs` at a time; a line for each as it is done."""
    for name in LOADED:
        importlib.import_module(name)
    _KEYS.update({name: (key, assignment.student(key)) for name, key in keys.items()})
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        waiting = [pool.submit(_graded_copy, submission, limits) for submission in found]
        records = []
        for task in waiting:
            records.append(task.result())
            print(_summary(records[-1]), flush=True)
    return records


def _graded_copy(submission, limits) -> dict:
    return grade(submission, *_KEYS.get(submission.name, (None, None)), limits)


def _summary(record) -> str:
    title = f"{record['student']}: {record['assignment'] or 'unknown assignment'}"
    got, to_mark = totals(record)
    points = f"{got:g} of {sum(question['out_of'] for question in record['questions']):g}"
    by_hand = f", {to_mark:g} to be marked by hand" if to_mark else ""
    return "\n    ! ".join([f"{title}: {points}{by_hand}", *record["problems"]])


def totals(record) -> tuple[float, float]:
    """Points so far, and points still to be given by hand."""
    given = [question for question in record["questions"] if question["points"] is not None]
    waiting = [question for question in record["questions"] if question["points"] is None]
    return sum(question["points"] for question in given), sum(question["out_of"] for question in waiting)


# ---- marks given by hand


def read_marks(path: Path) -> dict:
    """by-hand.csv, filled in: {(file, question): (points, comment)}; rows without points are left out."""
    marks = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        for number, row in enumerate(csv.DictReader(stream), start=2):
            try:
                if (row["points"] or "").strip():
                    marks[row["file"], row["question"]] = (float(row["points"]), (row["comment"] or "").strip())
            except (KeyError, ValueError) as error:
                raise ValueError(
                    f"{path}, line {number}: points must be a number, and the columns those of by-hand.csv: {error}"
                ) from error
    return marks


def enter_marks(records: list[dict], marks: dict) -> None:
    """Put the marks in their places; ``ValueError`` for one that has none, or is out of range."""
    places = {
        (record["file"], question["id"]): question
        for record in records
        for question in record["questions"]
        if question["by_hand"]
    }
    for place, (points, comment) in marks.items():
        if place not in places:
            raise ValueError(f"MARKS: there is no question {place[1]!r} in {place[0]!r}")
        if not 0 <= points <= places[place]["out_of"]:
            raise ValueError(
                f"MARKS: points for {place[1]!r} in {place[0]!r} must be in [0, {places[place]['out_of']:g}], got {points:g}"
            )
        places[place] |= {"points": points, "note": comment}


# ---- what is written


def write(records: list[dict], keys: dict, target: Path) -> Path:
    """All tables and pages into a new folder: `target`, or `target-2` … where that is taken."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        pages = feedback.write_pages(records, keys, draft)
        _table(draft / "grades.csv", [_row(record, page) for record, page in zip(records, pages)])
        every = [(record, question) for record in records for question in record["questions"]]
        _table(draft / "marks.csv", [_mark(*pair) | {"note": pair[1]["note"]} for pair in every])
        open_ones = [_mark(*pair) | {"comment": ""} for pair in every if pair[1]["points"] is None]
        _table(
            draft / "by-hand.csv",
            open_ones,
            ["student", "assignment", "file", "question", "out_of", "points", "comment"],
        )
        draft.chmod(0o755)
        number, final = 1, target
        while final.exists():
            number += 1
            final = target.with_name(f"{target.name}-{number}")
        return draft.rename(final)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _row(record, page) -> dict:
    got, to_mark = totals(record)
    by_hand = [
        question["points"] for question in record["questions"] if question["by_hand"] and question["points"] is not None
    ]
    return {
        "student": record["student"],
        "assignment": record["assignment"],
        "points": f"{got:g}",
        "out_of": f"{sum(question['out_of'] for question in record['questions']):g}",
        "by_tests": f"{got - sum(by_hand):g}",
        "by_hand": f"{sum(by_hand):g}",
        "to_mark": f"{to_mark:g}",
        "problems": "; ".join(record["problems"]),
        "file": record["file"],
        "feedback": page,
    }


def _mark(record, question) -> dict:
    points = "" if question["points"] is None else f"{question['points']:g}"
    return {
        "student": record["student"],
        "assignment": record["assignment"],
        "file": record["file"],
        "question": question["id"],
        "out_of": f"{question['out_of']:g}",
        "points": points,
    }


def _table(path: Path, rows: list[dict], header=None) -> None:
    # With a byte-order mark, by which spreadsheets see that names are in UTF-8.
    with whole(path) as draft, draft.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, header or list(rows[0] if rows else []))
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("submissions", type=Path)
    parser.add_argument("--variant", default=assignment.DEFAULT, help="the one that was given out")
    parser.add_argument("--marks", type=Path, help="by-hand.csv, filled in")
    parser.add_argument("-o", "--output", type=Path, help="default: build/grading/<name of the folder>")
    parser.add_argument("--jobs", type=int, default=2, help="copies at a time")
    parser.add_argument("--cell-seconds", type=float, default=Limits.cell)
    parser.add_argument("--notebook-seconds", type=float, default=Limits.notebook)
    parser.add_argument("--memory", type=int, default=Limits.memory, help="MiB")
    arguments = parser.parse_args()
    began = time.monotonic()
    folder = arguments.submissions.resolve()
    target = (arguments.output or assignment.ROOT / "build/grading" / (folder.name or "submissions")).resolve()
    try:
        if not folder.is_dir():
            raise ValueError(f"SUBMISSIONS must be a folder, got {arguments.submissions}")
        if target.is_relative_to(folder):
            raise ValueError(f"the output must lie outside the submissions, got {target}")
        marks = read_marks(arguments.marks) if arguments.marks else {}
        keys = {name: assignment.key(name, arguments.variant) for name in assignment.names()}
        found = submissions.collect(folder, keys)
        if not found:
            raise ValueError(f"there is no submission in {arguments.submissions}")
        limits = Limits(arguments.cell_seconds, arguments.notebook_seconds, arguments.memory)
        records = grade_all(found, keys, limits, arguments.jobs)
        enter_marks(records, marks)
        written = write(records, keys, target)
        print(f"{len(records)} graded in {time.monotonic() - began:.0f} s: {written}/grades.csv")
    except (ValueError, OSError) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
