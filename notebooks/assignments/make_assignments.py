"""Make the students' versions of the assignments, one zip each: `make assignments [LANGUAGE=ja] [VARIANT=2026a |
STUDENTS=names.txt SECRET=file]`, or a course for nbgrader: `make assignments NBGRADER=yes [VARIANT=2026a]`.

    python -m notebooks.assignments.make_assignments --variant 2026a -o build/assignments

The reference solution is graded first: a variant in which it loses points is refused.

`laplace-2026a.zip` (`laplace.zip` for the default variant) contains everything a student needs: the notebook, its data,
the part of the package `lib` that the given cells use, pinned lists of the packages that the notebook imports and of
those that JupyterLab adds, a page on how to start (`shipped`), and a program that checks the form of the answers
(`check`).

If the file STUDENTS lists names, one a line, each student gets different numbers, which depend on the name and on a
secret in the file SECRET (created if missing). The output is `<student>/laplace.zip` and so on, and `variants.csv`,
which grading uses. The same student always gets the same numbers, and nobody without the secret can predict another
student's numbers.

With NBGRADER, the folder `nbgrader` gets a course: in `source` a folder for each assignment, with solutions and hidden
tests, from which `nbgrader generate_assignment` makes the students' version.

Assignments in another language are in a folder for that language, `ja/laplace.zip`, with the same names, numbers and
code.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import hmac
import secrets
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat

import notebooks.assignments.systems  # noqa: F401
from lib.release.files import whole
from notebooks.assignments import assignment, judge, language, shipped, submissions, tables

# What `judge` gives to tests; nbgrader runs them in the process of the student's notebook.
REPLACING = '''\
import contextlib


@contextlib.contextmanager
def replacing(name, function):
    """Let the functions of this notebook find `function` under `name` while the block runs. Some tests do so."""
    before = globals()[name]
    globals()[name] = function
    try:
        yield
    finally:
        globals()[name] = before'''
HIDDEN = "### BEGIN HIDDEN TESTS"
CONFIGURATION = """\
c = get_config()
c.CourseDirectory.course_id = "course"
# The tests use the whole package lib, so a student's part of it must not be in its place.
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "lib"]
"""


def check(case: assignment.Case, box: judge.Box) -> None:
    """Raise ``ValueError`` unless the tests give the reference solution all points."""
    variant = case.key.metadata["compendium"]["variant"]
    cells = [{"ident": cell.id, "type": cell.cell_type, "source": cell.source} for cell in case.key.cells]
    reference = submissions.Submission("reference", "reference", case.name, variant, cells)
    for question in judge.grade(reference, case, box, judge.Limits())["questions"]:
        if not question["by_hand"] and question["points"] < question["out_of"]:
            raise ValueError(
                f"variant {variant!r} cannot be used for {case.name}: the reference solution fails {question['id']} "
                f"({question['note']}); choose another name for the variant"
            )


@functools.cache
def _for_all(name: str, to: str) -> dict[str, bytes]:
    """Return the files that the zips of all variants of an assignment in a language have in common."""
    start = language.in_language(shipped.START, language.translations(language.START, to))
    contents = {"START.md": start.format(name=name).encode()}
    contents |= {each: Path(__file__).with_name(each).read_bytes() for each in ("check.py", "plain.py")}
    released = assignment.prepare(name).released
    return contents | shipped.requirements(released) | shipped.files(released)


def make(case: assignment.Case, target: Path, to: str = language.SOURCE) -> Path:
    """Write the zip `target` in the language `to`, and the notebook alone beside it; return the path of the zip."""
    with whole(target.with_suffix("") / f"{case.name}.ipynb") as draft:
        draft.write_bytes(pack(case, target, to)[f"{case.name}.ipynb"])
    return target


def pack(case: assignment.Case, target: Path, to: str = language.SOURCE) -> dict[str, bytes]:
    """Write the zip `target` in the language `to`; return its files."""
    notebook = nbformat.writes(language.handed_out(case, to).released).encode()
    contents = {f"{case.name}.ipynb": notebook, **case.files, **_for_all(case.name, to)}
    with whole(target) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(f"{target.stem}/{path}")  # dated 1980: equal contents make equal files
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return contents


def for_class(variant: str, output: Path, box: judge.Box, to: str) -> None:
    """Write a zip of each assignment in `variant`."""
    for name in assignment.names():
        case = assignment.prepare(name, variant)
        check(case, box)
        title = name if variant == assignment.DEFAULT else f"{name}-{variant}"
        print(make(case, _place(output, to) / f"{title}.zip", to))


def for_nbgrader(variant: str, output: Path, box: judge.Box) -> None:
    """Write a course in `variant` for nbgrader: its configuration and its source folder."""
    course = output / "nbgrader"
    with whole(course / "nbgrader_config.py") as draft:
        draft.write_text(CONFIGURATION, encoding="utf-8")
    for name in assignment.names():
        case = assignment.prepare(name, variant)
        check(case, box)
        folder = course / "source" / name
        pack(case, folder / f"{name}.zip")
        for path, content in {f"{name}.ipynb": nbformat.writes(in_one_process(case)).encode(), **case.files}.items():
            with whole(folder / path) as draft:
                draft.write_bytes(content)
        print(folder)


def in_one_process(case: assignment.Case) -> nbformat.NotebookNode:
    """Return the key of `case` with all that its tests need where they run in the student's notebook.

    A test that uses names of a cell tagged `instructor` gets this cell, in its hidden part.
    """
    notebook = copy.deepcopy(case.key)
    source = assignment.key(case.name, case.key.metadata["compendium"]["variant"])
    for cell in source.cells:
        if assignment.kind(cell) != "instructor":
            continue
        own = {name for statement in ast.parse(cell.source).body for name in shipped.bound(statement)}
        for test in notebook.cells:
            if assignment.kind(test) == "test" and own & assignment.loaded(test):
                test.source = test.source.replace(HIDDEN, f"{HIDDEN}\n{cell.source}", 1)
    notebook.cells.insert(3, assignment.locked("replacing", REPLACING))  # after the title and the first cell
    return notebook


def for_each(students: list[str], secret: bytes, output: Path, box: judge.Box, to: str) -> None:
    """Write a zip of each assignment for each student, and the table of their variants, which keeps its existing rows."""
    listed = output / "variants.csv"
    known = tables.variants(listed) if listed.exists() else {}
    for student in students:
        variant, cases = _suiting(student, secret, box)
        for case in cases:
            make(case, _place(output, to) / student / f"{case.name}.zip", to)
        known[student] = variant
        print(f"{student}: {variant}", flush=True)
    tables.table(listed, [{"student": student, "variant": variant} for student, variant in known.items()])


def _place(output: Path, to: str) -> Path:
    return output if to == language.SOURCE else output / to


def _suiting(student: str, secret: bytes, box: judge.Box) -> tuple[str, list[assignment.Case]]:
    """Return the first variant drawn for `student` with which every reference solution passes, and its assignments."""
    for attempt in range(10):
        variant = variant_of(student, secret, attempt)
        try:
            cases = [assignment.prepare(name, variant) for name in assignment.names()]
            for case in cases:
                check(case, box)
        except ValueError as refusal:
            print(f"{student}: {refusal}", file=sys.stderr)
        else:
            return variant, cases
    raise ValueError(f"none of ten variants drawn for {student!r} can be used; choose another SECRET")


def variant_of(student: str, secret: bytes, attempt: int = 0) -> str:
    """Return the name of a student's variant; nobody can derive it without `secret`."""
    return hmac.digest(secret, f"{student}/{attempt}".encode(), "sha256").hex()[:20]


def _secret(path: Path) -> bytes:
    if not path.exists():
        with whole(path) as draft:
            draft.write_text(secrets.token_hex(32), encoding="utf-8")
            draft.chmod(0o600)
    secret = path.read_bytes().strip()
    if len(secret) < 16:
        raise ValueError(f"SECRET must be a file of at least 16 bytes, got {len(secret)} in {path}")
    return secret


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default=assignment.DEFAULT, help="the variant's name: letters, digits, - and _")
    parser.add_argument("--students", type=Path, help="a file with one student's name per line; each gets a variant")
    parser.add_argument(
        "--secret", type=Path, help="a private file from which the variants are drawn; created if missing"
    )
    parser.add_argument("--nbgrader", action="store_true", help="make the source folder of a course for nbgrader")
    parser.add_argument(
        "--language", default=language.SOURCE, help=f"the language of the texts: {' or '.join(language.LANGUAGES)}"
    )
    parser.add_argument("-o", "--output", type=Path, default=assignment.ROOT / "build/assignments")
    arguments = parser.parse_args()
    try:
        if bool(arguments.students) != bool(arguments.secret):
            raise ValueError("STUDENTS and SECRET must be given together, got only one of them")
        to = language.known(arguments.language)
        if arguments.nbgrader and (arguments.students or to != language.SOURCE):
            raise ValueError("NBGRADER makes one course in English, so STUDENTS and LANGUAGE must not be given with it")
        with tempfile.TemporaryDirectory() as folder:
            cases = [assignment.prepare(name) for name in assignment.names()]
            modules = set().union(*(shipped.modules(case.released) for case in cases))
            with judge.Box(judge.class_folder(cases, Path(folder)), modules) as box:
                if arguments.nbgrader:
                    for_nbgrader(arguments.variant, arguments.output, box)
                elif arguments.students:
                    for_each(
                        tables.roster(arguments.students, "STUDENTS"),
                        _secret(arguments.secret),
                        arguments.output,
                        box,
                        to,
                    )
                else:
                    for_class(arguments.variant, arguments.output, box, to)
    except (ValueError, OSError) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
