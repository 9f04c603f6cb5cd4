"""Time an instructor's evening: from a clone to zips for each student, graded submissions, and marks for a platform.

    python -m notebooks.studies.classroom_evening

writes book/results/classroom/evening.csv, which contains each step's command and the time it took. An instructor would
run the same commands; here they run in a clone of the current commit with a separate environment. The students are
simulated. Each hands in the solutions of their variant. In one notebook of five a solution cell is left empty, and a
few submissions are hostile or damaged.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from book.kept import results
from notebooks.assignments import assignment, tables

FILE = results.FOLDER / "classroom/evening.csv"
STUDENTS, SEED = 30, 8
UNLUCKY = {  # by the student's number: the content of a cell in the first assignment handed in
    3: "while True:\n    pass",
    9: "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)",
    15: "import os\nwhile True:\n    os.fork()",
    21: "hoard = []\nwhile True:\n    hoard.append(bytearray(2**26))",
}


def timed(step: str, command: str, folder: Path) -> dict:
    """Run `command` in `folder` and return its row of the table. Raises ``RuntimeError`` with its output if it fails."""
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "VIRTUAL_ENV"))
    }
    began = time.monotonic()
    done = subprocess.run(command, shell=True, cwd=folder, env=plain, capture_output=True, text=True)
    wall = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(f"{command} failed: {(done.stdout + done.stderr)[-2000:]}")
    print(f"{step}: {wall:.0f} s", flush=True)
    return {"step": step, "command": command, "wall_s": round(wall, 1)}


def hand_in(folder: Path, variants: dict[str, str], *, rng) -> int:
    """Write the submissions of the class and return the number of files."""
    for number, (student, variant) in enumerate(variants.items()):
        (folder / student).mkdir(parents=True)
        for index, name in enumerate(assignment.names()):
            notebook = assignment.key(name, variant)
            solutions = [cell for cell in notebook.cells if assignment.kind(cell) == "solution"]
            if rng.random() < 1 / 5:
                rng.choice(solutions).source = "raise NotImplementedError()"
            for cell in notebook.cells:
                if assignment.kind(cell) == "answer":
                    cell.source = f"What {student} thinks of {cell.id}."
            if number in UNLUCKY and index == 0:
                notebook.cells.insert(3, nbformat.v4.new_code_cell(UNLUCKY[number]))
            nbformat.write(notebook, folder / student / f"{name}.ipynb")
        if number == 27:  # a zip file, cut off on its way
            (folder / student / "more.zip").write_bytes(b"PK\x03\x04" + rng.bytes(1000))
    return len([path for path in folder.rglob("*") if path.is_file()])


def mark(graded: Path, *, rng) -> int:
    """Fill in by-hand.csv, as a person would, and return the number of answers."""
    rows = tables.read_table(graded / "by-hand.csv")
    for row in rows:
        row["points"], row["comment"] = str(rng.integers(int(row["out_of"]) + 1)), "see the rubric"
    tables.table(graded / "by-hand.csv", rows)
    return len(rows)


def main() -> None:
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as place:
        top, clone = Path(place), Path(place, "clone")
        (top / "names.txt").write_text("".join(f"student{number:02}\n" for number in range(STUDENTS)), encoding="utf-8")
        rows = [
            timed("clone", f"git clone -q {assignment.ROOT} clone", top),
            timed("environment", "make .venv/installed", clone),
            timed("hand out", "make assignments STUDENTS=../names.txt SECRET=../secret.txt", clone),
        ]
        files = hand_in(top / "class", tables.variants(clone / "build/assignments/variants.csv"), rng=rng)
        again = "make grade SUBMISSIONS=../class VARIANTS=build/assignments/variants.csv"
        rows.append(timed("grade", again, clone))
        answers = mark(clone / "build/grading/class", rng=rng)
        rows.append(timed("enter marks", again, clone))
    rows[0]["command"], count = "git clone …", len(assignment.names())
    settings = {"students": STUDENTS, "assignments": count, "files": files, "answers": answers, "seed": SEED}
    made = results.collect(__spec__.name, [], data="stand-in", settings=settings)
    made |= {"cores": str(os.cpu_count()), "machine": platform.machine(), "students": str(STUDENTS)}
    made |= {"assignments": str(count), "files": str(files), "answers": str(answers)}
    results.save(FILE, pd.DataFrame(rows), made)


if __name__ == "__main__":
    main()
