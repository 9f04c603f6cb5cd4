"""Tables that spreadsheets read and write, and the marks and variants in them."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from pathlib import Path

from lib.release.files import whole


def table(path: Path, rows: list[dict], header=None) -> None:
    """Write `rows` as CSV, with a byte-order mark, from which spreadsheets recognize UTF-8."""
    with whole(path) as draft, draft.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, header or list(rows[0] if rows else []))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def read_table(path: Path) -> list[dict]:
    """Return the rows of a table written by `table`, or saved again by a spreadsheet, which may separate cells by
    semicolons or tabs. Raises ``ValueError`` for quotes that do not match, within which rows could vanish."""
    text = text_of(path)
    between = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=between, restval="", strict=True)
    try:
        return list(rows)
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num + 1}: the quotes must match ({error})") from None


def text_of(path: Path) -> str:
    """Return the text of a file that an instructor has written."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return stream.read()
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be in UTF-8: save it as UTF-8, or as CSV UTF-8") from None


# A program that separates cells by another sign than the comma begins a new one after it, in spite of quotes.
_BETWEEN = re.compile(r"([;\t\r\n]+)")
_FORMULA = re.compile(r"[\s']*[=+@＝＋－＠-]")
_LOGIN = re.compile(r"\s*[+@-][\w.@-]+")


def _cell(value: str) -> str:
    """Return a value in which no spreadsheet finds a formula; a student's name or an error may start like one."""
    parts = _BETWEEN.split(value)
    return "".join(f"'{each}" if _FORMULA.match(each) and not _LOGIN.fullmatch(each) else each for each in parts)


def _uncelled(value: str) -> str:
    """Return the value that `_cell` was given."""
    parts = _BETWEEN.split(value)
    return "".join(each[1:] if each[:1] == "'" and _FORMULA.match(each) else each for each in parts)


def variants(path: Path) -> dict[str, str]:
    """Return {student: variant} from the table that `make assignments` has written."""
    rows = read_table(path)
    if not all(row.get("student") and row.get("variant") for row in rows):
        raise ValueError(f"VARIANTS must be a table with the columns student and variant, got {path}")
    return {_uncelled(row["student"]): row["variant"] for row in rows}


def roster(path: Path, option: str = "ROSTER") -> list[str]:
    """Return the students' names in a file with one name a line."""
    names = [line.strip() for line in text_of(path).splitlines() if line.strip()]
    odd = [name for name in names if Path(name).name != name or name.startswith(".")]
    if odd or not names or len(set(names)) < len(names):
        raise ValueError(
            f"{option} must contain one name per line, each listed once and usable as the name of a folder, "
            f"got {odd or f'{len(names)} names (repeated: {len(names) - len(set(names))})'} in {path}"
        )
    return names


# ---- marks given by hand


def read_marks(path: Path) -> dict:
    """Return the marks in by-hand.csv, without empty rows: {(file, question): (points or None, comment, the answer's
    `sign_of`)}."""
    marks: dict = {}
    for number, row in enumerate(read_table(path), start=2):
        try:
            points, said = (row["points"] or "").strip(), _uncelled(row["comment"] or "").strip()
            place = _uncelled(row["file"]), row["question"]
            mark = (float(points.replace(",", ".")) if points else None, said, (row.get("answer") or "").strip())
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: points must be a number, and the columns must be those of by-hand.csv: {error}"
            ) from error
        if not (points or said):
            continue
        if marks.setdefault(place, mark) != mark:
            raise ValueError(f"{path}, line {number}: another row marks {place[1]!r} in {place[0]!r}; keep one of them")
    return marks


def enter_marks(records: list[dict], marks: dict) -> list[str]:
    """Enter the marks, except for answers that have changed, which are listed in the problems and returned.

    A mark for a test replaces the points that the test gave, which stay as `tested`; its comment is the reason that the
    student reads (`remark`). Raises ``ValueError`` for a mark that is out of range, lacks this reason or belongs to no
    question, so that no mark is dropped silently. A question with a mark keeps its `sign`.
    """
    places = {
        (record["file"], question["id"]): (record, question) for record in records for question in record["questions"]
    }
    files = {code_of(record["file"]): record["file"] for record in records}
    told = []
    for (file, ident), (points, comment, sign) in {
        (files.get(file, file), ident): mark for (file, ident), mark in marks.items()
    }.items():
        if (file, ident) not in places:
            raise ValueError(
                f"MARKS: there is no question {ident!r} in {file!r}, for which the table gives {_said(points)}; "
                "write the file's new name into the table, or clear the points and the comment"
            )
        record, question = places[file, ident]
        if points is not None and not 0 <= points <= question["out_of"]:
            raise ValueError(
                f"MARKS: points for {ident!r} in {file!r} must be in [0, {question['out_of']:g}], got {points:g}"
            )
        if points is not None and not comment and not question["by_hand"]:
            raise ValueError(
                f"MARKS: {ident!r} in {file!r} is a test, so its {points:g} points must have a comment, "
                "the reason that the student reads, got none"
            )
        kept = record.get("given_up")  # there is no answer to compare with until it is judged again
        if points is not None and not kept and sign not in ("", sign_of(record, question)):
            problem = f"{ident} was changed after it got {points:g} points by hand: mark it again"
            record["problems"].append(problem)
            told.append(f"{file}: {problem}")
            comment = f"({points:g} points before it was changed) {comment}".strip()
            points = None
        question["sign"] = sign if kept else sign_of(record, question)
        question["note" if question["by_hand"] else "remark"] = comment
        if points is not None:
            question |= {"points": points} | ({} if question["by_hand"] else {"tested": question["points"]})
    return told


def _said(points) -> str:
    return "a comment" if points is None else f"{points:g} points by hand"


def sign_of(record: dict, question: dict) -> str:
    """Return a short hash of the answer, which shows whether the answer has changed; that of a test is the student's code."""
    cells = [] if question["by_hand"] else [cell for cell in record["plan"] if cell["kind"] in ("solution", "own")]
    words = " ".join("\n".join([question["text"], *(cell["shown"] for cell in cells)]).split())
    return (
        "s" + hashlib.sha256(words.encode(errors="replace")).hexdigest()[:12]
    )  # a letter first, so that it is not read as a number


def code_of(file: str) -> str:
    """Return the name under which a file appears where its student is not to be known.

    The code hides the name from people who mark. It does not stop somebody who computes the codes of a class list.
    """
    return "c" + hashlib.sha256(file.encode(errors="replace")).hexdigest()[:10]
