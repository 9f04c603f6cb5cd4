"""Due dates, late days and extensions: `make grade SUBMISSIONS=folder DUE=due.csv`.

    assignment,student,due,handed_in,late_days,per_day
    ,,,,2,10
    laplace,,2026-10-12 23:59+09:00,,,
    laplace,tanaka,2026-10-15 23:59+09:00,,,
    laplace,suzuki,,2026-10-13 08:30+09:00,,
    ,sato,,,5,

A row without an assignment or a student is about all of them. If several rows apply, a row that names both takes
precedence, then a row that names only the student, then a row that names only the assignment. In this example, each
student has two late days over all assignments (sato has five), and every further day, once begun, costs 10 % of the
points. tanaka has an extension. A file counts as handed in when it was last changed, unless a row says `handed_in`.

Late days are used up in the order of the due dates, automatically. If a student has several files for one assignment,
the late days counted are those of the file with the most points after deductions.
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime, timedelta
from pathlib import Path

from notebooks.assignments.tables import _uncelled, read_table

FIELDS = ("due", "handed_in", "late_days", "per_day")


def read(path: Path, assignments: list[str]) -> list[dict]:
    """Return the rows of a table of due dates, with times and numbers in place of texts and without empty cells."""
    found = []
    for number, row in enumerate(read_table(path), start=2):
        if not {"assignment", "student", *FIELDS} <= row.keys():
            raise ValueError(
                f"DUE must have the columns assignment, student, {', '.join(FIELDS)}, got {', '.join(map(str, row))} in {path}"
            )
        cells = {name: _uncelled((row[name] or "").strip()) for name in ("assignment", "student", *FIELDS)}
        where = f"{path}, line {number}"
        if cells["assignment"] and cells["assignment"] not in assignments:
            raise ValueError(
                f"{where}: assignment must be empty or one of {', '.join(assignments)}, got {cells['assignment']!r}"
            )
        if cells["handed_in"] and not (cells["assignment"] and cells["student"]):
            raise ValueError(f"{where}: a row with handed_in must name an assignment and a student")
        if cells["late_days"] and cells["assignment"]:
            raise ValueError(
                f"{where}: late_days is about all assignments, so assignment must be empty, got {cells['assignment']!r}"
            )
        kept = {name: _value(name, text, where) for name, text in cells.items() if text}
        for other in found:
            if all(other.get(name) == kept.get(name) for name in ("assignment", "student")) and any(
                name in other and name in kept for name in FIELDS
            ):
                raise ValueError(
                    f"{where}: another row for the same assignment and student gives the same column; keep one of them"
                )
        found.append(kept)
    return found


def _value(name: str, text: str, where: str):
    """Return the value of a cell."""
    if name in ("due", "handed_in"):
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            raise ValueError(
                f"{where}: {name} must be a time with its distance from UTC, such as 2026-10-12 23:59+09:00, got {text!r}"
            )
        return time
    if name in ("late_days", "per_day"):
        most = 100 if name == "per_day" else 1000
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            number = math.nan
        if not 0 <= number <= most or (name == "late_days" and number % 1):
            kind = "a percentage" if name == "per_day" else "an integer"
            raise ValueError(f"{where}: {name} must be {kind} in [0, {most}], got {text!r}")
        return number
    return text


def apply(records: list[dict], rows: list[dict], changed) -> list[str]:
    """Enter what each record loses by lateness, as its `late`, and return what there is to say about it.

    `changed(file)` returns when a file was last changed, in seconds since 1970, or None.
    """

    def said(name: str, student: str, assigned: str):
        wanted = ((assigned, student), ("", student), (assigned, ""), ("", ""))
        cells = {(row.get("assignment", ""), row.get("student", "")): row[name] for row in rows if name in row}
        return next((cells[place] for place in wanted if place in cells), None)

    told = []
    graded = [record for record in records if record["assignment"] and record["questions"]]
    for student, group in itertools.groupby(
        sorted(graded, key=lambda record: record["student"]), lambda record: record["student"]
    ):
        by_name: dict = {}
        for record in group:
            if due := said("due", student, record["assignment"]):
                by_name.setdefault((due, record["assignment"]), []).append(record)
        left = int(said("late_days", student, "") or 0)
        for (due, name), files in sorted(by_name.items(), key=lambda item: item[0]):
            for record in files:
                time = said("handed_in", student, name) or _time(changed(record["file"]))
                if time is None:
                    told.append(f"{record['file']}: no time is known, so it counts as in time; give handed_in in DUE")
                days = max(0, math.ceil(((time or due) - due) / timedelta(days=1)))
                free = min(days, left)
                record["late"] = {
                    "days": days,
                    "free": free,
                    "lost": min(100.0, (said("per_day", student, name) or 0) * (days - free)),
                }
            left -= max(files, key=lambda record: (points(record), -record["late"]["days"]))["late"]["free"]
    unknown = {row["student"] for row in rows if "student" in row} - {record["student"] for record in records}
    return told + ([f"DUE names students without a submission: {', '.join(sorted(unknown))}"] if unknown else [])


def _time(seconds) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone()


def points(record: dict) -> float:
    """Return the points that a record has so far, after the deduction for lateness."""
    got = sum(question["points"] for question in record["questions"] if question["points"] is not None)
    return got * (1 - record.get("late", {}).get("lost", 0.0) / 100)
