"""The submissions of a class: notebooks found in a folder, each with its student and its assignment.

A student's mistakes cause no failure here: any problem with a file becomes a line in its `problems`.
The folder is only read.

Names of files are bytes, and not all are UTF-8: Windows writes names in Shift-JIS into zip files. So a submission is
identified by a text that can be printed, and that is different for names of different bytes.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import hashlib
import io
import itertools
import json
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from notebooks.assignments import assignment, language

LARGEST = 64 * 2**20  # bytes of a file that is looked at: most are saved outputs, which are dropped
LARGEST_CELLS = 2 * 2**20  # characters of the cells of a notebook, without outputs
LARGEST_ZIP = 400 * 2**20  # bytes of a zip file: a student may well hand in the whole folder, with its `.venv`
LARGEST_HELD = 256 * 2**20  # bytes that are looked at of what it holds
MOST_FILES = 20  # of one student, counting notebooks of assignments
MOST_MEMBERS = 1000  # of a zip file, those not counted that are ignored
MOST_LISTED = 200_000  # of a zip file, with those: each takes memory
MOST_CELLS = 1000
NOT_KNOWN = "is not in the list of students"
# Moodle: _4711_assignsubmission_file_; Canvas: _12345_67890_…-1, and _late_ before; browsers: " (1)"
APPENDED = re.compile(r"(_late)?(_\d+(_.*|-\d+)?)?( \(\d+\))?")
# The same, if it certainly comes from a platform: the name, and the number that the platform has for the person.
PLATFORM = re.compile(
    r"(.+?)(?:_late)?_(\d+)_(?:assignsubmission_(?:file|onlinetext)(?:_.*)?|\d{3,}(?:_.*|-\d+)?)", re.IGNORECASE
)
GRADESCOPE = re.compile(r"submission_\d+")
EXPORT = re.compile(r"assignment_\d+_export")  # Gradescope's folder around those of the submissions
IGNORED = re.compile(r"(^|/)(\.[^./]|__MACOSX/|lib/|site-packages/|submission_metadata\.yml$)")


@dataclass
class Submission:
    """One file. `cells` is empty if it could not be read; `name` is the assignment, or empty.

    Students read the `problems` on their pages; what is `noted` is for the instructor only. The file, or the zip file that
    contains it, was last `changed` at this time, in seconds since 1970. Its content has this SHA-256 `digest`. Its folder
    or file is `called` so, which may contain the number that a platform has for the student.
    """

    student: str
    file: str
    name: str = ""
    variant: str = ""
    cells: list = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    language: str = language.SOURCE
    noted: list[str] = field(default_factory=list)
    changed: float | None = None
    digest: str = ""
    called: str = ""


def collect(folder: Path, keys: dict, known: Collection[str] = ()) -> list[Submission]:
    """Return every notebook below `folder`, also in zip files, sorted; `keys` maps assignments to key notebooks.

    Each submission gets the name that its folder or file means: one of the students' names in `known` if there are
    any, else the name without what a platform has appended. A student in `known` without a file has a submission
    without cells. The zip files or folders of a class that a platform hands out may be in `folder` as they are.
    """
    names = _Names()
    found, rest, taken = [], [], set()
    for file, changed, content, problem in _files(folder, names):
        while file in taken:  # a zip file may have two of one name, which identifies marks by hand
            file += " (again)"
        taken.add(file)
        if problem or _is_notebook(file, content):
            found.append(_read(named(file, keys), file, content, problem, keys))
            found[-1].changed, found[-1].digest = changed, hashlib.sha256(content).hexdigest()
        else:
            rest.append(file)
    deeper = _is_deeper([submission.file for submission in found], keys, known)
    if deeper:
        for submission in found:
            top, _, inner = submission.file.partition("/")
            submission.student = named(inner, keys)
            if top.lower().endswith(".zip"):
                submission.changed = None  # this was when the instructor fetched the zip file
    others: dict[str, list[str]] = {}
    for file in rest:
        place = file.partition("/")[2] if deeper else file
        if not deeper or _means_student(place, keys, known):
            others.setdefault(named(place, keys), []).append(file)
    for student in others.keys() - {submission.student for submission in found}:
        files = ", ".join(sorted(others[student])[:5])
        found.append(Submission(student, min(others[student]), problems=[f"no notebook, only {files}"]))
    there = {submission.file.split("/")[0] for submission in found}
    for path in sorted(folder.iterdir()):
        name = names(os.fsencode(path.name))
        if path.is_dir() and not IGNORED.search(name) and name not in {*keys, *there}:
            found.append(Submission(name, f"{name}/", problems=["nothing handed in"]))
    _identify(found, known)
    absent = set(known) - {submission.student for submission in found}
    found += [Submission(student, "", problems=["nothing handed in"]) for student in absent]
    found.sort(key=lambda submission: (submission.student, submission.name, submission.file))
    for _, group in itertools.groupby(found, lambda submission: submission.student):
        to_run = [submission for submission in group if submission.name and submission.cells]
        for submission in to_run[MOST_FILES:]:
            submission.cells, submission.problems = [], [f"not graded: more than {MOST_FILES} files from one student"]
    _note_repeated(found, keys)
    return found


class _Names:
    """Texts for names of bytes: the same text for the same bytes, different texts for different ones."""

    def __init__(self):
        self.meant: dict[str, bytes] = {}

    def __call__(self, name: bytes) -> str:
        """Return `name`, with its folders, as text that can be printed.

        A name is read as UTF-8 or, if that is not possible, as Shift-JIS. If another name already reads the same, or if
        a letter does not print, bytes and letters are shown as \\x1b and the like, and a backslash as two.
        """
        return "/".join(self._one(part) for part in name.split(b"/"))

    def _one(self, name: bytes) -> str:
        for encoding in ("utf-8", "cp932"):
            with contextlib.suppress(UnicodeError):
                text = name.decode(encoding)
                plain = text.isprintable() and "\\" not in text
                if plain and self.meant.setdefault(text, name) == name:
                    return text
        letters = name.decode("utf-8", "surrogateescape")
        return "".join(each if each.isprintable() and each != "\\" else _escaped(each) for each in letters)


def _files(folder: Path, names: _Names):
    """Yield (path below `folder`, time, content, problem) of every file, and of every file in a zip file; paths that can be
    printed."""
    # UTF-8 first: what a name in UTF-8 is called does not depend on the other names.
    for path in sorted(folder.rglob("*"), key=lambda path: (not path.as_posix().isprintable(), path)):
        file = names(os.fsencode(path.relative_to(folder)))
        if IGNORED.search(file) or (path.is_dir() and not path.is_symlink()):
            continue
        changed = path.lstat().st_mtime if os.path.lexists(path) else None
        content, problem = _content(path, LARGEST_ZIP if path.suffix.lower() == ".zip" else LARGEST)
        if problem or path.suffix.lower() != ".zip":
            yield file, changed, content, problem
            continue
        try:
            if content.count(b"PK\1\2") > MOST_LISTED:
                raise ValueError(f"it holds more than {MOST_LISTED} files")
            members = list(_members(file, zipfile.ZipFile(io.BytesIO(content)), names))
            yield from ((name, changed, *rest) for name, *rest in members)
        except Exception as error:  # damaged data raise whatever they meet: zlib.error, BadZipFile, struct.error, …
            yield file, changed, b"", f"the zip file cannot be read ({printable(str(error)) or type(error).__name__})"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _content(path: Path, most: int):
    try:
        if path.is_symlink():
            return b"", "a link, not a file"
        if not stat.S_ISREG(path.lstat().st_mode):  # reading a pipe would wait for ever
            return b"", "not a regular file"
        if path.stat().st_size > most:
            return b"", f"larger than {most // 2**20} MiB"
        return path.read_bytes(), ""
    except OSError as error:
        return b"", f"cannot be read ({error.strerror})"


def _members(file: str, archive: zipfile.ZipFile, names: _Names):
    room = LARGEST_HELD
    members = [each for each in archive.infolist() if not (each.is_dir() or IGNORED.search(each.filename))]
    if len(members) > MOST_MEMBERS:
        raise ValueError(f"it holds more than {MOST_MEMBERS} files")
    for member in members:
        name = f"{file}/{names(_bytes_of(member))}"
        odd = "a link, not a file" if stat.S_ISLNK(member.external_attr >> 16) else ""
        if odd or name.lower().endswith(".zip"):
            yield name, b"", odd or "a zip file within a zip file: unpack it, and run this again"
            continue
        with archive.open(member) as stream:
            content = stream.read(LARGEST + 1)  # regardless of the size that the archive claims
        room -= len(content)
        if room < 0:
            raise ValueError(f"it holds more than {LARGEST_HELD // 2**20} MiB")
        too_large = f"larger than {LARGEST // 2**20} MiB" if len(content) > LARGEST else ""
        yield name, b"" if too_large else content, too_large


def _bytes_of(member: zipfile.ZipInfo) -> bytes:
    """Return the name of a member of a zip file as it is in the file; `zipfile` reads names without a mark as cp437."""
    with contextlib.suppress(UnicodeError):
        return member.filename.encode("utf-8" if member.flag_bits & 0x800 else "cp437")
    return member.filename.encode("utf-8", "surrogatepass")


def _is_notebook(file: str, content: bytes) -> bool:
    """Return whether a file is a notebook by its name or, if it was renamed, by its content."""
    return file.lower().endswith(".ipynb") or (content.lstrip()[:1] == b"{" and b'"nbformat"' in content)


def named(file: str, keys) -> str:
    """Return, as it is written, the name of the first folder that is not an assignment's, or the file's name without the assignment's
    name."""
    *folders, name = PurePosixPath(re.sub(r"(?i)\.zip/.*", "", file)).parts
    for folder in folders:
        if folder not in keys and not EXPORT.fullmatch(folder):
            return folder
    stem = re.sub(r"(?i)\.(ipynb|json|txt|zip)\b", "", name)
    names = "|".join(map(re.escape, keys))
    word = rf"(?i)(?<![^\W_])(?:{names})(?![^\W\d_])"  # the name as a word, so that "delaplace" does not match
    rest = re.sub(word if re.search(word, stem) else f"(?i){names}", "", stem).strip(" _-.") if keys else stem
    return rest or stem


def _is_deeper(files: list[str], keys, known: Collection[str]) -> bool:
    """Return whether every file is within a folder or zip file of a class, such as a platform hands out, so that the next
    name means the student.

    Then no name at the top means a student: what one student hands in cannot count as the work of others.
    """
    inner = [file.partition("/")[2] for file in files]
    means = [_means_student(file, keys, known) for file in (*inner, *files)]
    return bool(files) and all(means[: len(files)]) and not any(means[len(files) :])


def _means_student(file: str, keys, known: Collection[str]) -> bool:
    name = named(file, keys) if file else ""
    return bool(PLATFORM.fullmatch(name) or GRADESCOPE.fullmatch(name) or _meant(name, known))


def _identify(found: list[Submission], known: Collection[str]) -> None:
    """Give each submission the name of the student that its folder or file means.

    Two persons may have one name: if a platform has two numbers for a name in one assignment, neither is renamed. Names
    that look alike, such as two forms of one accent, are noted.
    """
    meant, numbers = [], {}
    for submission in found:
        submission.called = submission.student
        said = PLATFORM.fullmatch(submission.student)
        meant.append(_meant(submission.student, known) if known else said[1] if said else submission.student)
        if said:
            numbers.setdefault((meant[-1], submission.name), set()).add(said[2])
    for submission, name in zip(found, meant):
        if not name:
            submission.problems.append(f"{submission.student!r} {NOT_KNOWN}")
        elif len(numbers.get((name, submission.name), ())) > 1 and PLATFORM.fullmatch(submission.student):
            submission.noted.append(f"several persons are called {name!r}: rename their folders or files")
        elif name != submission.student:
            submission.noted.append(f"{submission.student!r} was identified as {name!r}")
            submission.student = name
    alike: dict[str, set[str]] = {}
    for submission in found:
        alike.setdefault(_folded(submission.student), set()).add(submission.student)
    for submission in found:
        if len(alike[_folded(submission.student)]) > 1 and submission.student not in known:
            submission.noted.append(f"several persons are called {submission.student!r}: rename their folders or files")


def _meant(student: str, known: Collection[str]) -> str:
    """Return the name in `known` that `student` means, ignoring case, the form of letters, and additions of platforms
    and browsers, if any."""
    if student in known:
        return student
    same, names = _folded(student), [(name, _folded(name)) for name in known]
    exact = [name for name, folded in names if folded == same]
    like = [(name, same.removeprefix(folded)) for name, folded in names if same.startswith(folded)]
    like = [(name, rest) for name, rest in like if APPENDED.fullmatch(rest)]
    longest = exact or [name for name, rest in like if len(rest) == min(len(rest) for _, rest in like)]
    return longest[0] if len(longest) == 1 else ""


def _folded(name: str) -> str:
    """Return a name without differences that file systems make: macOS writes an accent as a separate letter."""
    return unicodedata.normalize("NFKC", name).casefold()


def _read(student, file, content, problem, keys) -> Submission:
    submission = Submission(student, file, problems=[problem] if problem else [])
    if not problem:
        try:
            _parse(submission, json.loads(content), keys)
        except (ValueError, RecursionError, MemoryError) as error:  # neither UTF-8 nor UTF-16, not JSON, not a notebook
            submission.cells = []
            submission.problems.append(f"not a notebook: {printable(' '.join(str(error).split())[:200])}")
    if not submission.name:
        named = [name for name in keys if name in file]
        submission.name = named[0] if len(named) == 1 else ""
    return submission


def _parse(submission: Submission, notebook, keys) -> None:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        old = isinstance(notebook, dict) and "worksheets" in notebook
        raise ValueError(
            "it has an old format: open it in Jupyter, save it, and run this again"
            if old
            else "it has no list of cells"
        )
    if len(cells) > MOST_CELLS:
        raise ValueError(f"it has {len(cells)} cells, but at most {MOST_CELLS} are permitted")
    submission.cells = [cell for cell in map(_cell, cells) if cell]
    if sum(len(cell["source"]) for cell in submission.cells) > LARGEST_CELLS:
        raise ValueError(f"its cells have more than {LARGEST_CELLS} characters without their outputs")
    if len(submission.cells) < len(cells):
        submission.problems.append(f"{len(cells) - len(submission.cells)} cells cannot be read")
    metadata = _dictionary(notebook.get("metadata"))
    said = _dictionary(metadata.get("compendium"))
    kernel = (
        _dictionary(metadata.get("kernelspec")).get("language")
        or _dictionary(metadata.get("language_info")).get("name")
        or "python"
    )
    if not str(kernel).lower().startswith("python"):
        submission.problems.append(f"made for another kernel ({printable(str(kernel)[:40])}); it ran as Python")
    present = {cell["ident"] for cell in submission.cells}
    overlap = {name: len(present & {cell.id for cell in key.cells}) for name, key in keys.items()}
    best = max(overlap, key=overlap.get, default="")
    if best and overlap[best]:
        submission.name = best
    else:
        submission.name = _by_content(submission.cells, keys) or (
            str(said.get("assignment")) if str(said.get("assignment")) in keys else ""
        )
        if submission.name:
            submission.problems.append(
                "its cells have lost their ids; they were identified by their order and contents"
            )
        else:
            submission.problems.append("none of its cells is from an assignment: was the notebook created anew?")
    submission.variant = printable(str(said.get("variant", ""))[:60])
    if said.get("language") in language.LANGUAGES:
        submission.language = said["language"]


def _by_content(cells: list[dict], keys) -> str:
    """Return the assignment whose given texts are in `cells`, or nothing."""
    theirs = {_squeezed(cell["source"]) for cell in cells}
    common = {
        name: sum(_squeezed(cell.source) in theirs for cell in key.cells if assignment.kind(cell) in ("text", "given"))
        for name, key in keys.items()
    }
    best = max(common, key=common.__getitem__, default="")
    return best if best and common[best] >= 3 else ""


def known(cells: list[dict], released) -> list[dict]:
    """Return `cells` with ids. If an editor has dropped all ids, they follow from unchanged texts and the order
    between."""
    if {cell["ident"] for cell in cells} & {cell.id for cell in released.cells}:
        return cells
    ours = [(_kind_of(cell.cell_type), _squeezed(cell.source)) for cell in released.cells]
    theirs = [(_kind_of(cell["type"]), _squeezed(cell["source"])) for cell in cells]
    found = [dict(cell) for cell in cells]
    matched = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    for tag, first, last, start, end in matched:
        if tag == "equal":
            pairs = zip(range(first, last), range(start, end))
        else:  # solutions and answers, changed: those of a kind in their order
            open_ones = [
                index for index in range(first, last) if assignment.kind(released.cells[index]) not in ("text", "given")
            ]
            pairs = iter(_in_order(open_ones, range(start, end), ours, theirs))
        for index, own in pairs:
            found[own]["ident"] = released.cells[index].id
    return found


def _in_order(wanted, offered, ours, theirs):
    """Yield pairs of cells of one kind in order; code cells are paired by the function that they define, if any."""
    left = list(offered)
    for index in wanted:
        kind, source = ours[index]
        alike = [own for own in left if theirs[own][0] == kind]
        names = set(re.findall(r"def (\w+)", source))
        same = [own for own in alike if names & set(re.findall(r"def (\w+)", theirs[own][1]))]
        if same or alike:
            chosen = (same or alike)[0]
            yield index, chosen
            left = [own for own in left if own > chosen]


def _kind_of(cell_type: str) -> str:
    return "code" if cell_type == "code" else "text"


def parts(cells) -> list[str]:
    """Return the heading above each of `cells`: the part of the assignment that explains it."""
    found, part = [], ""
    for cell in cells:
        headings = re.findall(r"(?m)^## (.*?)(?: \(.*\))?$", cell.source) if cell.cell_type == "markdown" else []
        part = headings[-1] if headings else part
        found.append(part)
    return found


def _cell(cell) -> dict | None:
    """Return a cell as {ident, type, source}; None if it is unreadable."""
    if not isinstance(cell, dict):
        return None
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    ident = _dictionary(_dictionary(cell.get("metadata")).get("nbgrader")).get("grade_id") or cell.get("id")
    kind = cell.get("cell_type")
    return {"ident": str(ident or ""), "type": kind if kind in ("code", "markdown") else "raw", "source": source}


def _dictionary(value) -> dict:
    return value if isinstance(value, dict) else {}


def _note_repeated(submissions: list[Submission], keys) -> None:
    """Note several files of one student for one assignment, and files of two students that are equal up to
    parameters."""
    # ids of cells that are given, parameters among them, and what stands in the others before anybody has written there
    given: dict = {name: set() for name in ("", *keys)}
    for name, key in keys.items():
        for cell in assignment.student(key).cells:
            filled_in = assignment.kind(cell) in ("solution", "answer")
            given[name].add(_squeezed(cell.source) if filled_in else cell.id)
    files, texts = {}, {}
    for submission in submissions:
        if submission.name:
            files.setdefault((submission.student, submission.name), []).append(submission)
        if submission.cells:
            own = [cell["source"] for cell in submission.cells if cell["ident"] not in given[submission.name]]
            own = [text for text in map(_squeezed, own) if text not in given[submission.name]]
            if own:
                texts.setdefault((submission.name, *own), []).append(submission)
    for group in files.values():
        if len(group) > 1:
            for submission in group:
                others = ", ".join(other.file for other in group if other is not submission)
                submission.problems.append(
                    f"handed in more than once, see also {others}; each is graded, and the best counts"
                )
    for group in texts.values():
        for submission in group:
            others = sorted({other.student for other in group} - {submission.student})
            if others:
                submission.noted.append(f"the same notebook as that of {', '.join(others[:5])}")


# ---- what is to be run


def merge(key, released, submission: Submission) -> list[dict]:
    """Return the cells to run, in the key's order: {id, kind, type, source, shown, points}.

    Given cells and tests are taken from the key, whatever the student did to them; `shown` is the part that students
    may see. Solutions and answers are taken from the student. Cells that the student added stay after the same cell as
    before.
    """
    theirs, extras, last = {}, {}, ""
    texts = {_squeezed(cell.source) for cell in released.cells}
    known_ids = {cell.id for cell in key.cells}
    for cell in known(submission.cells, released):
        if cell["ident"] in known_ids:
            last = cell["ident"]
            theirs.setdefault(last, []).append(cell)
        elif cell["source"].strip() and _squeezed(cell["source"]) not in texts:
            extras.setdefault(last, []).append(cell)
    plan = [_own(cell) for cell in extras.pop("", [])]
    for cell, shown, part in zip(key.cells, released.cells, parts(key.cells), strict=True):
        planned = _planned(cell, shown, theirs.get(cell.id, []), submission.problems)
        plan += [each | {"part": part} for each in planned]
        plan += [_own(extra) for extra in extras.pop(cell.id, [])]
    _note_second_definitions(plan, key, submission.problems)
    if submission.variant and submission.variant != key.metadata["compendium"]["variant"]:
        submission.problems.append(
            f"made for variant {submission.variant!r}, graded as {key.metadata['compendium']['variant']!r}"
        )
    return plan


def _note_second_definitions(plan: list[dict], key, problems: list) -> None:
    """Note each name that tests ask for and that a later cell defines differently, such as a copy of an earlier try."""
    tests = [cell.source for cell in key.cells if assignment.kind(cell) == "test"]
    used = {node.id for source in tests for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    solutions = [cell for cell in key.cells if assignment.kind(cell) == "solution"]
    places = {name: cell.id for cell in solutions for name in used & assignment.defined(cell.source).keys()}
    first: dict[str, str] = {}
    for cell in plan:
        if cell["type"] == "code" and cell["kind"] in ("solution", "own"):
            for name in sorted(places.keys() & assignment.defined(cell["source"]).keys()):
                if name in first and _squeezed(cell["source"]) != first[name]:
                    problems.append(
                        f"{name} is defined again after cell {places[name]}; the last definition counts, so delete the others"
                    )
                elif cell["id"] == places[name]:
                    first[name] = _squeezed(cell["source"])


def _planned(cell, shown, theirs: list, problems: list) -> list[dict]:
    kind = assignment.kind(cell)
    plan = {
        "id": cell.id,
        "kind": kind,
        "type": cell.cell_type,
        "source": cell.source,  # for tests including the hidden part, which goes only to the judge
        "shown": shown.source,
        "points": assignment.points(cell),
    }
    sources = [own["source"] for own in theirs]
    if kind == "solution":
        if not sources:
            problems.append(f"cell {cell.id} is missing")
        # a split or copied cell returns as several
        return [plan | {"source": source, "shown": source} for source in sources] or [
            plan | {"source": "", "shown": ""}
        ]
    if kind == "answer":
        if not sources:
            problems.append(f"cell {cell.id} is missing")
        text = "\n\n".join(source for source in sources if _squeezed(source) != _squeezed(shown.source))
        return [plan | {"source": text, "shown": text}]
    changed = [
        source for source in sources if _squeezed(source) not in {_squeezed(shown.source), _squeezed(cell.source)}
    ]
    if kind == "text":
        return [plan, *(_own({"type": "markdown", "source": source}) for source in changed)]
    if kind == "test" and (changed or not sources):
        problems.append(f"test {cell.id} {'was changed' if changed else 'was removed'}; the original ran")
    elif changed:
        problems.append(f"given cell {cell.id} was changed; the original ran")
    return [plan]


def _own(cell: dict) -> dict:
    """Return a cell that the student added."""
    return {
        "id": "",
        "kind": "own",
        "type": cell["type"],
        "source": cell["source"],
        "shown": cell["source"],
        "points": 0.0,
    }


def _squeezed(source: str) -> str:
    return " ".join(source.split())
