"""The marks of a class in the forms that learning platforms import: Moodle, Canvas and Gradescope.

The forms follow these sources, in stored copies read on 29 November 2026:

- Moodle's gradebook: `grade/import/csv/classes/load_data.php` of github.com/moodle/moodle at 0289d8c, and
  docs.moodle.org/405/en/Grade_import. Its worksheets: `mod/assign/feedback/offline/importgradeslib.php` at 452e36f;
- Canvas's gradebook: `lib/gradebook_importer.rb` of github.com/instructure/canvas-lms at 00b222d. The names of the files
  that Canvas hands out: `lib/content_zipper.rb` at 05e9653;
- Gradescope's autograders: gradescope-autograders.readthedocs.io/en/latest/specs, and `docs/specs.md` of
  github.com/gradescope/autograder_samples at 00f6aa0.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from lib.release.files import whole
from notebooks.assignments import assignment, deadlines, feedback, submissions
from notebooks.assignments.tables import table

WORKSHEET = ("Identifier", "Full name", "Grade", "Last modified (grade)")  # as in an English Moodle
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")

# Gradescope has no import of marks. This autograder runs no code of a student: it looks up the marks of a file. Equal
# files of several students may have different marks, because one is late; then the number of the submission decides.
SETUP = "#!/usr/bin/env bash\ncommand -v python3 || (apt-get update && apt-get install -y python3)\n"
RUN = """\
#!/usr/bin/env python3
import hashlib
import json
from pathlib import Path

top = Path("/autograder")
known = json.loads((top / "source/results.json").read_text(encoding="utf-8"))
about = top / "submission_metadata.json"
mine = f"submission_{json.loads(about.read_text(encoding='utf-8')).get('id')}" if about.exists() else ""
files = [path for path in sorted((top / "submission").rglob("*")) if path.is_file()]
found = []
for path in files:
    each = known.get(hashlib.sha256(path.read_bytes()).hexdigest(), {})
    found += [each[mine]] if mine in each else each.values() if len(each) == 1 else []
best = max(found, key=lambda each: each["score"], default={"score": 0, "output": "This submission is not graded yet."})
(top / "results/results.json").write_text(json.dumps(best), encoding="utf-8")
"""


def totals(record: dict) -> tuple[float, float]:
    """Return points so far, less those that are lost by lateness, and points still to be given by hand."""
    waiting = [question for question in record["questions"] if question["points"] is None]
    return deadlines.points(record), sum(question["out_of"] for question in waiting)


def final(records: list[dict]) -> str:
    """Return the points of the best file, or nothing while marks or a run that failed may still change them."""
    totalled = [(*totals(record), record.get("given_up", False)) for record in records]
    best = max((got for got, to_mark, given_up in totalled if not (to_mark or given_up)), default=-1.0)
    open_still = any(given_up or got + to_mark > best for got, to_mark, given_up in totalled)
    return "" if open_still or not totalled else f"{best:g}"


def write(records: list[dict], keys: dict, target: Path) -> None:
    """Write `platform.csv`, `canvas.csv` and, if the submissions come from Moodle or Gradescope, a worksheet or an
    autograder for each assignment. `keys` maps the assignments to their key notebooks."""
    rows = platform(records)
    table(target / "platform.csv", rows)
    table(target / "canvas.csv", canvas(rows, records, keys), None if rows else CANVAS)
    for name in keys:
        mine = [record for record in records if record["assignment"] == name]
        if sheet := worksheet(mine):
            table(target / f"moodle-{name}.csv", sheet)
        if any(_number(record)[0] == "Gradescope" for record in mine):
            _autograder(target / f"gradescope-{name}.zip", results(mine))


def platform(records: list[dict]) -> list[dict]:
    """Return a row for every student with the points of each assignment, from the best of several files."""
    names = sorted({record["assignment"] for record in records} - {""})
    files: dict = {}
    for record in records:
        files.setdefault(record["student"], {}).setdefault(record["assignment"], []).append(record)
    return [{"student": student} | {name: final(row.get(name, [])) for name in names} for student, row in files.items()]


def _number(record: dict) -> tuple[str, str]:
    """Return the platform that the name of a record's file comes from, and its number of the student; or twice nothing."""
    if submissions.GRADESCOPE.fullmatch(record["called"]):
        return "Gradescope", record["called"]
    said = submissions.PLATFORM.fullmatch(record["called"])
    return ("Moodle" if "_assignsubmission_" in said[0].lower() else "Canvas", said[2]) if said else ("", "")


def canvas(rows: list[dict], records: list[dict], keys: dict) -> list[dict]:
    """Return the rows of `platform` with Canvas's heads, the possible points first.

    Canvas knows a student by its own number, which is in the names of the files that it hands out, or else by the
    login.
    """
    numbers: dict = {}
    for record in records:
        system, number = _number(record)
        if system == "Canvas":
            numbers.setdefault(record["student"], set()).add(number)
    heads = dict.fromkeys(CANVAS, "")
    out_of = {name: f"{sum(map(assignment.points, key.cells)):g}" for name, key in keys.items()}
    names = [name for name in (rows[0] if rows else {}) if name != "student"]
    first = heads | {"Student": "Points Possible"} | {name: out_of[name] for name in names}
    found = []
    for row in rows:
        own = {"Student": row["student"], "SIS Login ID": row["student"]}
        if len(number := numbers.get(row["student"], ())) == 1:
            own["ID"] = min(number)
        found.append(heads | own | {name: row[name] for name in names})
    return [first, *found]


def worksheet(records: list[dict]) -> list[dict]:
    """Return the rows of Moodle's grading worksheet for the `records` of an assignment, if their names are Moodle's."""
    files: dict = {}
    for record in records:
        system, number = _number(record)
        if system == "Moodle":
            files.setdefault((record["student"], number), []).append(record)
    return [
        dict(zip(WORKSHEET, (f"Participant {number}", student, final(mine), "")))
        for (student, number), mine in files.items()
    ]


def results(records: list[dict]) -> dict[str, dict]:
    """Return {SHA-256 of a file: {name of the submission: Gradescope's results}} of the `records` of an assignment that have
    all their marks."""
    found: dict[str, dict] = {}
    for record in records:
        got, to_mark = totals(record)
        if to_mark or record.get("given_up") or not record["digest"]:
            continue
        tests = [
            {
                "name": f"{question['part']}: {question['id']}",
                "score": question["points"],
                "max_score": question["out_of"],
                "output": question.get("remark") or question["note"].removeprefix("AssertionError: "),
            }
            for question in record["questions"]
        ]
        said = "\n".join(filter(None, [*record["problems"], feedback.late(record)]))
        plain = dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text")
        said = {"score": got, "output": said, "visibility": "after_published"}
        found.setdefault(record["digest"], {})[record["called"]] = said | plain | {"tests": tests}
    return found


def _autograder(path: Path, found: dict[str, dict]) -> None:
    contents = {"setup.sh": SETUP, "run_autograder": RUN, "results.json": json.dumps(found, indent=1)}
    with whole(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            entry = zipfile.ZipInfo(name)  # at the root of the zip file, where Gradescope looks for them
            entry.external_attr, entry.compress_type = 0o755 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
