"""Grade a folder of submissions: `make grade SUBMISSIONS=folder [VARIANT=2026a | VARIANTS=variants.csv] [ROSTER=names.txt]
[MARKS=by-hand.csv] [DUE=due.csv] [ANONYMOUS=yes]`.

    python -m notebooks.assignments.grade submissions/ --variant 2026a

The folder is only read. All output is in `build/grading/<its name>`:

- `records/`: the result of each submission, written as soon as it is known. After an interruption, the next run resumes
  there. A further run on the same submissions only writes the tables and pages again;
- `grades.csv`: a row for every file: points, open marks by hand, and every problem by name;
- `marks.csv`: a row for every question, with the reason where points were lost;
- `platform.csv` and `canvas.csv`: a row for every student and a column for every assignment, whose cell is empty until
  all answers have their marks; `moodle-<assignment>.csv` and `gradescope-<assignment>.zip` if the submissions come from
  there (`exports`);
- `by-hand.csv`: the free-text answers, and `by-hand.html` to read them beside the rubric. Fill in the points, there or in
  a copy that MARKS names, and run the command again. A row for a test replaces the points that the test gave. With
  ANONYMOUS=yes, codes replace the names of students and files in both;
- `class.html`: how often each test failed, the marks, similar submissions;
- `feedback/`: a page for each student and assignment, which loads nothing from outside;
- `executed/`: the notebooks as they ran, the tests as given to students.

DUE is a table of due dates, late days and extensions (`deadlines`).
"""

from __future__ import annotations

import os

import notebooks.assignments.systems  # noqa: F401  (first: there is no fcntl on Windows)

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one thread, so that nothing runs while we fork
os.environ["MPLBACKEND"] = "agg"

import argparse  # noqa: E402
import contextlib  # noqa: E402
import fcntl  # noqa: E402
import functools  # noqa: E402
import gc  # noqa: E402
import hashlib  # noqa: E402
import itertools  # noqa: E402
import json  # noqa: E402
import multiprocessing  # noqa: E402
import multiprocessing.connection  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402

from book.editions import catalogues  # noqa: E402
from book.kept import content_key  # noqa: E402
from lib.release.files import whole  # noqa: E402
from notebooks.assignments import (  # noqa: E402
    assignment,
    confinement,
    deadlines,
    exports,
    feedback,
    judge,
    language,
    overview,
    shipped,
    submissions,
)
from notebooks.assignments.judge import Box, Limits  # noqa: E402
from notebooks.assignments.tables import code_of, enter_marks, read_marks, roster, sign_of, table, text_of, variants  # noqa: E402

FORK = multiprocessing.get_context("fork")
ROOM = 4 * 2**30  # bytes for judging one submission and writing its page, on top of the loaded modules
PAGE_SECONDS = 20
GIVEN_UP = "could not be graded"
NOT_RUN = ("noted", "changed", "digest", "called")  # of a submission, no part of its run


# ---- a function in a process of its own, as long as it may take


def in_time(seconds: float, function, *arguments):
    """Return the value of `function`, which JSON must support. Raises ``RuntimeError`` if it fails, is killed, or is too slow."""
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise RuntimeError(f"it took longer than {seconds:g} s")
        found = json.loads(ours.recv_bytes())
    except EOFError:
        raise RuntimeError("its process ended") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if "error" in found:
        raise RuntimeError(found["error"])
    return found["value"]


def _send(pipe, function, arguments) -> None:
    if sys.platform == "linux":  # elsewhere the system does not enforce it
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM,) * 2)
    try:
        found = {"value": function(*arguments)}
    except BaseException as error:
        found = {"error": f"{type(error).__name__}: {judge.text(str(error))}"}
    pipe.send_bytes(json.dumps(found).encode())


# ---- a class


@dataclass(frozen=True, eq=False)
class Course:
    """The common settings of all submissions of a class."""

    variants: dict  # {student: variant}; others have `variant`
    variant: str
    limits: Limits
    bank: Path | None
    records: Path

    @functools.cache  # noqa: B019  (there is one course)
    def case(self, name: str, variant: str):
        return assignment.prepare(name, variant, self.bank)

    @functools.cache  # noqa: B019
    def modules(self, name: str) -> set[str]:
        """Return the modules that a student's process loads for an assignment before it runs anything."""
        return shipped.modules(self.case(name, self.variant).released)

    def variant_of(self, submission) -> str:
        return self.variants.get(submission.student, self.variant)

    def case_of(self, submission):
        if not submission.name:
            return None
        return language.handed_out(self.case(submission.name, self.variant_of(submission)), submission.language)

    def record_of(self, submission) -> Path:
        """Return the path of the record of `submission`, which changes with everything that affects it."""
        own = {name: value for name, value in vars(submission).items() if name not in NOT_RUN}
        said = [own, self.variant_of(submission), vars(self.limits), _code(), confinement.way()]
        if self.bank is not None:
            said += [(path.name, path.read_text(encoding="utf-8")) for path in sorted(self.bank.glob("*.py"))]
        return self.records / f"{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]}.json"


@functools.cache
def _code() -> str:
    files = [path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".ipynb")]
    files += [path for each in ("feedback.po", "assignments/*.po") for path in catalogues.LOCALE.glob(f"*/{each}")]
    return content_key.key(*files)


def grade_all(found: list, course: Course, jobs: int) -> list[dict]:
    """Grade all submissions, `jobs` students at a time, and return the records; each is printed and written when done."""
    course.records.mkdir(parents=True, exist_ok=True)
    placed = [(submission, course.record_of(submission)) for submission in found]
    groups = [list(group) for _, group in itertools.groupby(placed, lambda pair: pair[0].student)]
    waiting = [left for group in groups if (left := [pair for pair in group if not _is_done(pair[1])])]
    with tempfile.TemporaryDirectory() as folder:
        if waiting:
            handed_in = {submission.name for group in waiting for submission, _ in group if submission.name}
            cases = [course.case(name, course.variant) for name in sorted(handed_in)]
            judge.class_folder(cases, Path(folder))
            for case in cases:
                course.modules(case.name)  # known before anything is forked
        gc.freeze()  # and not scanned, and so copied, in each fork
        running: dict = {}
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    number = min(set(range(jobs)) - {taken for _, _, taken in running.values()})
                    process = FORK.Process(target=_grade_student, args=(waiting[0], course, Path(folder), number))
                    process.start()
                    running[process.sentinel] = process, waiting.pop(0), number
                for done in multiprocessing.connection.wait(running):
                    process, group, _ = running.pop(done)
                    process.join()
                    for submission, place in group:
                        if not place.exists():
                            _give_up(submission, place, course, f"its process ended with exit code {process.exitcode}")
                        print(_summary(_read(place) | {"noted": submission.noted}), flush=True)
        finally:
            for process, *_ in running.values():
                process.kill()
    return [
        _read(place) | {"noted": each.noted, "digest": each.digest, "called": each.called} for each, place in placed
    ]


def _grade_student(group: list, course: Course, folder: Path, number: int) -> None:
    """Judge one student's submissions, each in a separate process, and write their records."""
    modules = set().union(*(course.modules(submission.name) for submission, _ in group if submission.name))
    with Box(folder, modules, number) as box:
        if any(submission.cells and submission.name for submission, _ in group):
            box.start()
        for submission, place in group:
            seconds = 2 * course.limits.notebook + 120  # it ends earlier by itself
            try:
                _write_record(in_time(seconds, _judged, submission, course, box), place)
            except RuntimeError as error:
                _give_up(submission, place, course, str(error))
            box.check()


def _judged(submission, course: Course, box: Box) -> dict:
    try:
        return judge.grade(submission, course.case_of(submission), box, course.limits)
    finally:
        box.leave()


def _give_up(submission, place: Path, course: Course, reason: str) -> None:
    submission.problems.append(f"{GIVEN_UP}: {reason}")
    _write_record(judge.blank(submission, course.case_of(submission), GIVEN_UP) | {"given_up": True}, place)


def _is_done(place: Path) -> bool:
    """Return whether there is a valid record to keep; a submission is judged again if its record is damaged or says
    that the judge failed."""
    if not place.exists():
        return False
    try:
        record = _read(place)
        _summary(record | {"noted": []}), record["shown"]
        return not record.get("given_up")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        print(f"{place} is damaged ({error!r}), so its submission is graded again", file=sys.stderr, flush=True)
        place.unlink()
        return False


def _given_up(records: list[dict]) -> list[str]:
    count = sum("given_up" in record for record in records)
    return [f"{count} could not be graded and have no points; run the same command to try again"] if count else []


def _write_record(record: dict, place: Path) -> None:
    """Write a record with the HTML of a student's texts for its page, or plain text if that fails."""
    try:
        shown = in_time(PAGE_SECONDS, feedback.parts, record)
    except RuntimeError as error:
        record["problems"].append(f"the page shows plain text, because formatting it failed: {error}")
        shown = feedback.parts(record, plainly=True)
    with whole(place) as draft:
        draft.write_text(json.dumps(record | {"shown": shown}), encoding="utf-8")


def _read(place: Path) -> dict:
    return json.loads(place.read_text(encoding="utf-8"))


def _summary(record) -> str:
    title = f"{record['student']}: {record['assignment'] or 'unknown assignment'}"
    got, to_mark = exports.totals(record)
    points = f"{got:g} of {sum(question['out_of'] for question in record['questions']):g}"
    by_hand = f", {to_mark:g} to be marked by hand" if to_mark else ""
    return "\n    ! ".join([f"{title}: {points}{by_hand}", *record["problems"], *record["noted"]])


def _waiting(records: list[dict]) -> list[str]:
    count = sum(question["points"] is None for record in records for question in record["questions"])
    answers = "1 answer has" if count == 1 else f"{count} answers have"
    told = "no marks yet in by-hand.csv; until then, their cells in platform.csv and canvas.csv stay empty"
    return [f"{answers} {told}"] if count else []


def _not_known(records: list[dict], variant: str) -> list[str]:
    students = {
        record["student"] for record in records if any(submissions.NOT_KNOWN in each for each in record["problems"])
    }
    names = ", ".join(sorted(students))
    return [f"graded as {variant!r}, because they are not in VARIANTS or ROSTER: {names}"] if students else []


# ---- what is written


def write(records: list[dict], cases: dict, target: Path, anonymous: bool = False) -> None:
    """Write all tables and pages into the folder `target`, each whole; if `anonymous`, codes replace names where answers
    are marked by hand."""
    every = [(record, question) for record in records for question in record["questions"]]
    by_hand = [
        _by_hand(*pair) for pair in every if "sign" in pair[1] or (pair[1]["by_hand"] and pair[1]["text"].strip())
    ]
    if anonymous:
        by_hand = [row | {"student": "", "file": code_of(row["file"])} for row in by_hand]
        by_hand.sort(key=lambda row: (row["assignment"], row["question"], row["file"]))
    table(
        target / "by-hand.csv",
        by_hand,
        ["student", "assignment", "file", "question", "out_of", "points", "comment", "answer"],
    )
    pages = feedback.write_pages(records, cases, target, anonymous)
    feedback.write(target / "class.html", overview.page(records, pages, cases))
    table(target / "grades.csv", [_row(record, page) for record, page in zip(records, pages)])
    table(target / "marks.csv", [_mark(*pair) | {"part": pair[1]["part"], "note": _reason(pair[1])} for pair in every])
    exports.write(records, cases, target)


def _row(record, page) -> dict:
    got, to_mark = exports.totals(record)
    by_hand = [
        question["points"] for question in record["questions"] if question["by_hand"] and question["points"] is not None
    ]
    return {
        "student": record["student"],
        "assignment": record["assignment"],
        "points": f"{got:g}",
        "out_of": f"{sum(question['out_of'] for question in record['questions']):g}",
        "by_tests": f"{sum(question['points'] for question in record['questions'] if not question['by_hand']):g}",
        "by_hand": f"{sum(by_hand):g}",
        "to_mark": f"{to_mark:g}",
        "late": feedback.late(record),
        "problems": "; ".join([*record["problems"], *record["noted"]]),
        "file": record["file"],
        "feedback": page,
    }


def _by_hand(record, question) -> dict:
    """Return a row of by-hand.csv: for a free-text answer, or for a test with a mark by hand."""
    row = _mark(record, question) | {"answer": question.get("sign", sign_of(record, question))}
    if question["by_hand"]:
        return row | {"comment": question["note"]}
    return row | {"comment": question["remark"]} | ({} if "tested" in question else {"points": ""})


def _reason(question) -> str:
    """Return the reason for a question's points: that of the test, unless the instructor gives another."""
    return (
        question["remark"]
        if "tested" in question
        else " ".join(filter(None, (question["note"], question.get("remark"))))
    )


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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("submissions", type=Path)
    parser.add_argument("--variant", default=assignment.DEFAULT, help="the variant that was handed out")
    parser.add_argument("--variants", type=Path, help="variants.csv, which gives a variant for each student")
    parser.add_argument("--roster", type=Path, help="a file with one student's name per line; each gets a row")
    parser.add_argument("--bank", type=Path, help="a folder with further hidden tests, <assignment>.py")
    parser.add_argument("--marks", type=Path, help="by-hand.csv with the points filled in")
    parser.add_argument("--due", type=Path, help="due.csv with due dates, late days and extensions")
    parser.add_argument("--anonymous", action="store_true", help="codes replace the names where answers are marked")
    parser.add_argument("-o", "--output", type=Path, help="default: build/grading/<name of the folder>")
    parser.add_argument("--jobs", type=int, default=2, help="the number of students graded at a time")
    parser.add_argument("--cell-seconds", type=float, default=Limits.cell)
    parser.add_argument("--notebook-seconds", type=float, default=Limits.notebook)
    parser.add_argument("--memory", type=int, default=Limits.memory, help="the memory limit of a notebook, in MiB")
    arguments = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):  # a folder of the class may be named in another encoding, too
        stream.reconfigure(errors="backslashreplace")
    try:
        _run(arguments)
    except (ValueError, OSError) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. The results so far are kept; run the same command to continue.", file=sys.stderr)
        return 2
    return 0


def _run(arguments) -> None:
    began = time.monotonic()
    folder = arguments.submissions.resolve()
    target = (arguments.output or assignment.ROOT / "build/grading" / (folder.name or "submissions")).resolve()
    if not folder.is_dir():
        raise ValueError(f"SUBMISSIONS must be a folder, got {arguments.submissions}")
    if target.is_relative_to(folder):
        raise ValueError(f"the output must be outside the folder of submissions, got {target}")
    if arguments.bank is not None and not arguments.bank.is_dir():
        raise ValueError(f"BANK must be a folder, got {arguments.bank}")
    for path in sorted(arguments.bank.glob("*.py")) if arguments.bank else ():
        text_of(path)
        if path.stem not in assignment.names():
            known = ", ".join(assignment.names())
            raise ValueError(f"BANK: {path.name} must be named after an assignment, one of {known}")
    for name, least in (("jobs", 1), ("memory", 1), ("cell_seconds", 1), ("notebook_seconds", 1)):
        if not getattr(arguments, name) >= least:
            raise ValueError(f"{name} must be at least {least}, got {getattr(arguments, name):g}")
    _filled_in(target, arguments.marks)  # report unreadable tables before anything is run
    due = deadlines.read(arguments.due, assignment.names()) if arguments.due else []
    keys = {name: assignment.key(name, arguments.variant) for name in assignment.names()}
    each = variants(arguments.variants) if arguments.variants else {}
    listed = roster(arguments.roster) if arguments.roster else []
    found = submissions.collect(folder, keys, {*each, *listed})
    if not found:
        raise ValueError(f"SUBMISSIONS must contain at least one submission, got none in {arguments.submissions}")
    limits = Limits(arguments.cell_seconds, arguments.notebook_seconds, arguments.memory)
    course = Course(each, arguments.variant, limits, arguments.bank, target / "records")
    confinement.check([target, *(path for path in vars(arguments).values() if isinstance(path, Path))])
    with _alone(course.records):
        print(confinement.SAID[confinement.way()], flush=True)
        records = grade_all(found, course, arguments.jobs)
        told = enter_marks(records, _filled_in(target, arguments.marks))  # as it is by now
        told += deadlines.apply(records, due, {each.file: each.changed for each in found}.get)
        told += _given_up(records) + _not_known(records, arguments.variant) + _waiting(records)
        write(records, keys, target, arguments.anonymous)
    print("".join(f"{line}\n" for line in told), end="")
    print(
        f"{len(records)} graded in {time.monotonic() - began:.0f} s; the marks are in {submissions.printable(str(target))}/grades.csv"
    )


def _filled_in(target: Path, copy: Path | None) -> dict:
    """Return the marks in by-hand.csv, overridden by those in `copy`."""
    here = target / "by-hand.csv"
    return (read_marks(here) if here.exists() else {}) | (read_marks(copy) if copy else {})


@contextlib.contextmanager
def _alone(folder: Path):
    """Lock `folder`. Raises ``ValueError`` if another run uses it: the run that ended last would undo the other's
    marks."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as held:
        try:
            # A lock of this process only: its forks do not hold it after it is killed.
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another run writes to {folder.parent}; wait until it has ended") from None
        yield


if __name__ == "__main__":
    sys.exit(main())
