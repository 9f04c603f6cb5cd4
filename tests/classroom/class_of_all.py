"""A class with submissions of all kinds at once: hostile ones, unlucky ones, and submissions in two languages.

All students hand in `gaussian_records`. Each student costs a process, so one student hands in several files if it does
not matter who hands them in.
"""

import copy
import json
import os
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_output

from notebooks.assignments import assignment, language
from tests.classroom import hostile

NAME = hostile.NAME
FORMULA = "=1+1"  # a student's name
IN_BYTES = {
    "表 佐藤": "表 佐藤".encode("cp932"),
    r"\udcff\udc80a": b"\xff\x80a",
    r"\udcff\udc81a": b"\xff\x81a",
}  # each as it is shown
EACH = 9  # hostile notebooks of one student, or fewer, so that several are judged at a time


def hand_in(folder: Path, case, tricks, **told: str) -> None:
    """Fill `folder`; of the hostile ones come the `tricks`, `told` where to look, as constants of their code."""
    folder.mkdir(exist_ok=True)
    hostile_ones(folder, tricks, "".join(f"{name} = {value!r}\n" for name, value in told.items()))
    unlucky_ones(folder)
    for what, made in LANGUAGES.items():
        put(folder / "languages" / what, nbformat.writes(made(case)))


def put(folder: Path, text: str, name: str = f"{NAME}.ipynb") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


# ---- hostile, and a good one at the end of each such student's


def hostile_ones(folder: Path, tricks, told: str) -> None:
    for number, what in enumerate(tricks):
        own = nbformat.writes(hostile.unsolved(told + hostile.CODE[what]))
        put(folder / f"crook {number % -(-len(tricks) // EACH)}" / what, own)
    for student in [*folder.iterdir(), folder / FORMULA]:
        put(student / "z", nbformat.writes(hostile.solved(f"My answer, {student.name}")))
    for what, (make, _) in hostile.FILES.items():
        (folder / what).mkdir()
        make(folder / what)
    other = hostile.solved("Another kernel")
    other.metadata["kernelspec"] = {"name": "ir", "language": "R", "display_name": "R"}
    for what, notebook in {
        "colab": hostile.from_colab(),
        "surrogates": hostile.solved("half a character: \ud800"),
        "nested answer": hostile.solved("<div>" * 20_000 + "[" * 20_000),
        "other kernel": other,
    }.items():
        put(folder / "odd editors" / what, json.dumps(notebook), "x.ipynb")


# ---- unlucky


def reference():
    """Return a good submission: solutions in the student version, without the hidden tests."""
    return hostile.solved("My answer to {cell} is <script>alert(1)</script> $x^2$.")


def cell(notebook, ident):
    return next(cell for cell in notebook.cells if cell.id == ident)


def changed(ident, source):
    """Return a good solution with one cell replaced; None removes it."""
    notebook = reference()
    if source is None:
        notebook.cells.remove(cell(notebook, ident))
    else:
        cell(notebook, ident).source = source
    return notebook


def appended(ident, source):
    return changed(ident, cell(reference(), ident).source + "\n" + source)


def with_own_cell(before, source):
    notebook = reference()
    notebook.cells.insert(notebook.cells.index(cell(notebook, before)), new_code_cell(source))
    return notebook


def tampered():
    notebook = changed("gaussian-more", "def with_one_more(n, mu, v, x): return mu, v")
    cell(notebook, "gaussian-test-more").source = "assert True"
    notebook.cells.remove(cell(notebook, "gaussian-test-cost"))
    cell(notebook, "parameters").source = "alpha: int = 2"
    return notebook


def split():
    """Cut one solution cell in two, as Jupyter's "split cell" does it: both parts keep the metadata."""
    notebook = reference()
    whole = cell(notebook, "gaussian-needed")
    function, _, rest = whole.source.partition("\n\n\n")
    whole.source = function
    notebook.cells.insert(notebook.cells.index(whole) + 1, new_code_cell(rest, metadata=whole.metadata))
    return notebook


def without_metadata():
    """Return the notebook as some editors leave it: with new metadata, but with the cells' ids."""
    notebook = reference()
    notebook.metadata = {}
    for each in notebook.cells:
        each.metadata = {}
    return notebook


def tried_again():
    """Paste an earlier try after the right solution; the copy keeps the cell's metadata."""
    notebook = reference()
    right = cell(notebook, "gaussian-more")
    notebook.cells.insert(
        notebook.cells.index(right) + 1,
        new_code_cell("def with_one_more(n, mu, v, x): return mu, v", metadata=right.metadata),
    )
    return notebook


def with_large_outputs():
    notebook = reference()
    cell(notebook, "gaussian-more").outputs = [new_output("display_data", {"image/png": "A" * 25 * 2**20})]
    return notebook


def last_year():
    notebook = reference()
    notebook.metadata["compendium"]["variant"] = "2019"
    return notebook


STUBBORN = "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass"

# what goes wrong: (notebook, tests that are lost, what the table says)
NOTEBOOKS = {
    "good": (reference(), set(), ""),
    "endless": (
        appended("gaussian-more", "import time\nwhile True: time.sleep(1)"),
        set(),
        "cell gaussian-more: stopped: still running after 4 s",
    ),
    "endless function": (
        changed("gaussian-more", "import time\ndef with_one_more(*_):\n    while True: time.sleep(1)"),
        {"more", "cost"},
        "",
    ),
    "stubborn": (
        appended("gaussian-numeric", STUBBORN),
        {"numeric"},
        "cell gaussian-numeric: this cell was still running after 4 s",
    ),
    "hog": (
        appended("gaussian-more", "hoard = np.ones(10**10)"),
        set(),
        "cell gaussian-more: _ArrayMemoryError|MemoryError",
    ),
    "leaver": (
        appended("gaussian-numeric", "import os; os._exit(0)"),
        {"numeric"},
        "cell gaussian-numeric: this cell ended its process",
    ),
    "printer": (with_own_cell("gaussian-more", "while True: print('x' * 10_000)"), set(), r"cell \(own\): stopped"),
    "forgetful": (changed("gaussian-more", None), {"more", "cost"}, "cell gaussian-more is missing"),
    "tamperer": (
        tampered(),
        {"more", "cost"},
        "test gaussian-test-more was changed; .*test gaussian-test-cost was removed; ",
    ),
    "shadow": (with_own_cell("gaussian-more", "alpha = 77; sum = abs = None; divergence = None"), {"needed"}, ""),
    "thief": (
        with_own_cell(
            "gaussian-renyi", "open('grades.csv', 'w').write('x'); import pathlib; (pathlib.Path.home() / 'x').touch()"
        ),
        set(),
        "",
    ),
    "helper": (changed("gaussian-more", "with_one_more = joined"), {"more", "cost"}, ""),
    "split": (split(), set(), ""),
    "bare": (without_metadata(), set(), ""),
    "tried again": (tried_again(), {"more", "cost"}, "with_one_more is defined again after cell gaussian-more"),
    "large outputs": (with_large_outputs(), set(), ""),
    "repeater": (last_year(), set(), "made for variant '2019', graded as 'default'"),
    "broken code": (
        changed("gaussian-more", "def with_one_more(:"),
        {"more", "cost"},
        "cell gaussian-more: SyntaxError in line 1: .*def with_one_more",
    ),
}


def unlucky_ones(folder: Path) -> None:
    text = nbformat.writes(reference())
    for number, (what, (notebook, *_)) in enumerate(NOTEBOOKS.items()):
        own = nbformat.writes(notebook).replace("My answer", f"The answer of {what}")
        put(folder / "good" if what == "good" else folder / f"bad luck {number % 2}" / what, own)
    good = folder / "good" / f"{NAME}.ipynb"
    put(folder / "good", nbformat.writes(changed("gaussian-more", "")), f"{NAME} (1).ipynb")
    put(folder / "good" / ".ipynb_checkpoints", text, f"{NAME}-checkpoint.ipynb")
    put(folder / "copycat", good.read_text(encoding="utf-8"), "mine.ipynb")
    put(folder / "renamed", text.replace("My answer", "Mine"), "homework FINAL.txt")
    put(folder, text.replace("My answer", "An answer"), f"flat_{NAME}.ipynb")
    put(folder / "日本", text.replace("My answer", "私の答え"))
    put(folder / "cut off", text[:5000])
    put(folder / "void", "")
    put(folder / "list", "[1, 2]")
    put(folder / "odd", '{"nbformat": 4, "cells": [3, {"source": 5}]}')
    put(folder / "essay", "%PDF-1.4", "essay.pdf")
    for shown, name in IN_BYTES.items():
        put(folder / os.fsdecode(name), text.replace("My answer", f"Mine, says {ascii(shown)}"))
    with zipfile.ZipFile(folder / "MORI.ZIP", "w") as archive:
        archive.writestr(f"{NAME}.ipynb", text.replace("My answer", "Mori's answer"))
    (folder / "\x1b[2J").mkdir()
    for student in ("latin", "linked", "absent"):
        (folder / student).mkdir()
    (folder / "latin" / f"{NAME}.ipynb").write_bytes(b"\xff\xfe\x00")
    (folder / "linked" / f"{NAME}.ipynb").symlink_to(good)
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr(f"folder/{NAME}.ipynb", text.replace("My answer", "Zipped"))
        archive.writestr("../../escape.ipynb", "not JSON")
    (folder / "bad.zip").write_bytes(b"PK\x03\x04 nothing")


# ---- in two languages


def handed_in(case, to: str, old="", new=""):
    """Return the version for students in the language `to`, with the reference solution, `old` replaced in it."""
    notebook = copy.deepcopy(language.handed_out(case, to).released)
    for cell, key in zip(notebook.cells, case.key.cells, strict=True):
        if assignment.kind(cell) == "solution":
            cell.source = key.source.replace(old, new)
        if assignment.kind(cell) == "answer":
            cell.source = "それは1である。"
    return notebook


def mixed(case):
    """Return every other text in English, the others in Japanese."""
    notebook = handed_in(case, "ja")
    for cell, english in list(zip(notebook.cells, case.released.cells))[::2]:
        cell.source = english.source if assignment.kind(cell) == "text" else cell.source
    return notebook


def without_ids(case):
    """Return the notebook as an editor leaves it that drops ids and metadata of cells."""
    notebook = handed_in(case, "ja")
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"x{number}", {}
    return notebook


def without_metadata(case):
    notebook = handed_in(case, "ja")
    del notebook.metadata["compendium"]
    return notebook


WRONG = ("(1 - alpha) * v1 + alpha * v2", "alpha * v1 + (1 - alpha) * v2")
LANGUAGES = {
    "english": lambda case: handed_in(case, "en"),
    "japanese": lambda case: handed_in(case, "ja"),
    "mixed": mixed,
    "without-ids": without_ids,
    "without-metadata": without_metadata,
    "wrong": lambda case: handed_in(case, "ja", *WRONG),
    "wrong-english": lambda case: handed_in(case, "en", *WRONG),
    "empty": lambda case: language.handed_out(case, "ja").released,
}
