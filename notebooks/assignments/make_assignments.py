"""Student versions of the assignments, one zip each: `make assignments [VARIANT=2026a]`.

    python -m notebooks.assignments.make_assignments --variant 2026a -o build/assignments

The reference solution is graded first: a variant in which it loses points is refused.

`laplace-2026a.zip` (`laplace.zip` for the default variant) holds all that a student needs: the notebook, the
package `lib` with its embedded data, the pinned requirements and a page on how to start.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import zipfile
from pathlib import Path

import nbformat

from lib.numerics.files import whole
from notebooks.assignments import assignment, grade, submissions
from notebooks.assignments.sandbox import Limits

START = """\
# How to start

You need Python 3.11, 3.12 or 3.13. In this folder:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.lock
    .venv/bin/jupyter lab {name}.ipynb

(On Windows: `.venv\\Scripts\\pip` and `.venv\\Scripts\\jupyter`.) Keep the notebook beside the folder `lib`.

Replace every `YOUR CODE HERE` with the line below it, and every `YOUR ANSWER HERE`. Add cells wherever you like.
Cells with tests show their points; each runs further tests when it is graded. Before you hand in, choose
"Restart Kernel and Run All Cells", save, and hand in the one file `{name}.ipynb`.
"""


def check(name: str, variant: str) -> None:
    """``ValueError`` unless the tests give the reference solution all points in `variant`."""
    key = assignment.key(name, variant)
    cells = [{"ident": cell.id, "type": cell.cell_type, "source": cell.source} for cell in key.cells]
    reference = submissions.Submission("reference", "reference", name, variant, cells)
    for question in grade.grade(reference, key, assignment.student(key), Limits())["questions"]:
        if not question["by_hand"] and question["points"] < question["out_of"]:
            raise ValueError(
                f"variant {variant!r} does not suit {name}: its own solution fails {question['id']} "
                f"({question['note']}); choose another name for it"
            )


def make(name: str, variant: str, folder: Path) -> Path:
    """Write the student version of assignment `name` and its zip into `folder`; the path of the zip."""
    title = name if variant == assignment.DEFAULT else f"{name}-{variant}"
    notebook = nbformat.writes(assignment.student(assignment.key(name, variant)))
    contents = {f"{name}.ipynb": notebook.encode(), "START.md": START.format(name=name).encode()}
    contents["requirements.lock"] = (assignment.ROOT / "requirements.lock").read_bytes()
    for path in sorted((assignment.ROOT / "lib").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            contents[path.relative_to(assignment.ROOT).as_posix()] = path.read_bytes()
    with whole(folder / title / f"{name}.ipynb") as draft:
        draft.write_bytes(contents[f"{name}.ipynb"])
    target = folder / f"{title}.zip"
    with whole(target) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            entry = zipfile.ZipInfo(f"{title}/{path}")  # dated 1980: equal contents make equal files
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", default=assignment.DEFAULT, help="letters, digits, - and _")
    parser.add_argument("-o", "--output", type=Path, default=assignment.ROOT / "build/assignments")
    arguments = parser.parse_args()
    for name in grade.LOADED:
        importlib.import_module(name)
    try:
        for name in assignment.names():
            check(name, arguments.variant)
            print(make(name, arguments.variant, arguments.output))
    except ValueError as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
