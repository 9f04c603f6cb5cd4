"""Compare classifiers that learn from the synthetic records of AIM, of staged residuals and of other programs (beyond miura2025).

    MBI=folder MARGNET=folder python -m tests.benchmarks.aim_classifiers --seeds 3

`make peers` runs this module last; it takes two hours. The two data sets are those of the paper: Adult, with its own
test part, and Bank, a fifth of which each seed holds out for testing. The programs run as in `aim_peers`, which explains
the folders, at epsilon 1 and delta 1e-9. The classifiers are the three of the paper, with the first settings in
`notebooks.studies.aim_comparison`. In the rows of the program "real records" they learn from the real records, and in
those of "majority" the prediction is constant, the most frequent value of the tested records. `margnet` runs on Adult
only, because its authors have other settings for Bank.

For Bank, `mbi` compiles so many programs that it ends with "Cannot allocate memory" unless Linux permits more memory
maps than by default (`sysctl -w vm.max_map_count=1048576`).

The synthetic records of each run are kept in the folder `--cells`, under a name that changes with the program's version,
and are not made again. A run that did not end within `--limit` CPU seconds has a row without accuracies.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from book.kept import results
from lib.data import datasets
from lib.tables import staged_residuals, utility
from lib.tables.adaptive_iterative import aim as our_aim
from lib.tables.table import Table
from notebooks.studies import aim_classifiers as told
from notebooks.studies import aim_comparison, aim_peers, grid
from notebooks.studies.prediction import train_synthetic_test_real
from tests.benchmarks import aim, measure
from tests.benchmarks.aim_peers import CODE, PEERS, versions

EPSILON = 1.0
MAJORITY, REAL = told.REFERENCES
OURS = {aim_peers.OURS: our_aim, aim_peers.STAGED: staged_residuals}


def made(case, program, version, seed, limit, cells) -> tuple[Path, dict]:
    """Return the file of the synthetic records of one run, and its line; the file does not exist if the run did not end."""
    place = cells / grid.key(aim_comparison.digest(case.real), program, version, seed, limit)
    records, line = place.with_suffix(".npz"), place.with_suffix(".json")
    if not line.exists():
        if program in OURS:
            with (meter := measure.Meter()):
                result = OURS[program](case.real, EPSILON, aim.DELTA, rng=np.random.default_rng(seed))
            aim.save_table(records, result.synthetic)
            found = meter.reading()
        else:
            with tempfile.TemporaryDirectory() as folder:
                aim.save_table(real := Path(folder, "real.npz"), case.real)
                arguments = ("kept", program, real, EPSILON, seed, records.resolve())
                python = measure.peer(PEERS[program].environment)
                found = measure.child("tests.benchmarks.peers.records", *arguments, python=python, limit=limit)
        results.write(line, json.dumps(found))
    return records, json.loads(line.read_text())


def scores(case, learned, rng) -> dict:
    """Return the accuracies of the classifiers that learn from the `Table` `learned`, and its error in pairs."""
    depth = {"depth": aim_comparison.Settings().depth}
    found = {
        name: train_synthetic_test_real(
            learned, case.test, case.target, model, rng=rng, **depth if name == "tree" else {}
        )
        for name, model in aim_comparison.MODELS.items()
    }
    return found | {"error2": utility.marginal_error(case.real, learned, 2)}


def rows(case, seed, limit, cells, current) -> list[dict]:
    """Return the rows of one data set and seed."""
    case = case.drawn(np.random.default_rng([seed, zlib.crc32(case.name.encode())]))
    about, draws = {"data": case.name, "seed": seed}, lambda: np.random.default_rng(seed)
    constant = np.bincount(case.test.column(case.target)).max() / len(case.test)
    found = [about | {"program": MAJORITY} | dict.fromkeys(aim_comparison.MODELS, constant)]
    found.append(about | {"program": REAL} | scores(case, case.real, draws()))
    for program, version in current.items():
        if program == "margnet" and case.name != "adult":
            continue  # its module calls it with its authors' settings for Adult
        records, line = made(case, program, version, seed, limit, cells)
        judged = {}
        if records.exists():
            judged = scores(case, Table(aim.load_table(records).records, case.real.domain), draws())
        found.append(about | {"program": program, "version": version} | judged | {"cpu_s": line.get("cpu_s")})
    return found


def main(words=None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.aim_classifiers", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=3600, help="CPU seconds of a run")
    parser.add_argument("--cells", type=Path, default=Path("build/aim_classifiers"))
    words = sys.argv[1:] if words is None else words
    chosen, current = parser.parse_args(words), versions()
    chosen.cells.mkdir(parents=True, exist_ok=True)
    cases = [case for case in aim_comparison.cases() if case.name != "bank"]
    found = [
        row
        for seed in range(chosen.seeds)
        for case in cases
        for row in rows(case, seed, chosen.limit, chosen.cells, current)
    ]
    settings = {"epsilon": EPSILON, "delta": aim.DELTA, "seeds": chosen.seeds, "limit": chosen.limit}
    files, libraries = datasets.fingerprints("real", *datasets.SOURCES), aim_comparison.LIBRARIES
    code = " ".join([*CODE.values(), "tests/benchmarks/aim_classifiers.py", "tests/benchmarks/peers/records.py"])
    about = {"data": "real", "settings": settings, "files": files, "libraries": libraries, "code": code}
    provenance = results.collect("tests.benchmarks.aim_classifiers", words, **about) | {"command": "make peers"}
    results.save(told.FILE, pd.DataFrame(found), provenance)


if __name__ == "__main__":
    main()
