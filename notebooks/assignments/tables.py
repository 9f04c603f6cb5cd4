"""Tables, as spreadsheets read and write them, and the marks and variants that stand in them."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

from lib.numerics.files import whole


def table(path: Path, rows: list[dict], header=None) -> None:
    """`rows` as CSV, with a byte-order mark, by which spreadsheets see that names are in UTF-8."""
    with whole(path) as draft, draft.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, header or list(rows[0] if rows else []))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def read_table(path: Path) -> list[dict]:
    """The rows of a table that `table` has written, or a spreadsheet since."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def _cell(value: str) -> str:
    """A spreadsheet takes what starts like this for a formula, and a student's name or error may; a login can call nothing."""
    if re.fullmatch(r"[+@-][\w.@-]+", value):
        return value
    return f"'{value}" if value[:1] in tuple("=+-@\t\r") and value[:1] else value


def variants(path: Path) -> dict[str, str]:
    """{student: variant} from the table that `make assignments` has written."""
    rows = read_table(path)
    if not all(row.get("student") and row.get("variant") for row in rows):
        raise ValueError(f"VARIANTS must be a table with the columns student and variant, got {path}")
    return {row["student"]: row["variant"] for row in rows}


# ---- marks given by hand


def read_marks(path: Path) -> dict:
    """by-hand.csv, filled in: {(file, question): (points, comment, sign of the answer)}; rows without points are left out."""
    marks = {}
    for number, row in enumerate(read_table(path), start=2):
        try:
            if (row["points"] or "").strip():
                file = re.sub(r"^'(?=[=+\-@])", "", row["file"])  # as `_cell` has written it
                said = (row["comment"] or "").strip()
                marks[file, row["question"]] = (float(row["points"]), said, (row.get("answer") or "").strip())
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: points must be a number, and the columns those of by-hand.csv: {error}"
            ) from error
    return marks


def enter_marks(records: list[dict], marks: dict) -> list[str]:
    """Put the marks in their places, but for answers that are others by now: these are told, in the problems and as the result.

    ``ValueError`` for a mark that is out of range or has no place: none is dropped.
    """
    places = {
        (record["file"], question["id"]): (record, question)
        for record in records
        for question in record["questions"]
        if question["by_hand"]
    }
    told = []
    for place, (points, comment, sign) in marks.items():
        file, ident = place
        if place not in places:
            raise ValueError(
                f"MARKS: there is no question {ident!r} in {file!r}, which has {points:g} points by hand: "
                "write the file's new name into the table, or clear the points"
            )
        record, question = places[place]
        if not 0 <= points <= question["out_of"]:
            raise ValueError(
                f"MARKS: points for {ident!r} in {file!r} must be in [0, {question['out_of']:g}], got {points:g}"
            )
        if sign not in ("", sign_of(question)):
            problem = f"{ident} was changed after it got {points:g} points by hand: mark it again"
            record["problems"].append(problem)
            told.append(f"{file}: {problem}")
        else:
            question |= {"points": points, "note": comment}
    return told


def sign_of(question: dict) -> str:
    """By which an answer that was changed is known."""
    words = " ".join(question["text"].split())
    return (
        "s" + hashlib.sha256(words.encode(errors="replace")).hexdigest()[:12]
    )  # a letter first, lest it be taken for a number
