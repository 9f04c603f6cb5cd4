"""The embedded synthetic samples for Adult and Bank, made from the real files by our own AIM.

    make stand-in

writes the records and their provenance to ``lib/data/stand_ins``; `datasets` reads them with
``source="stand-in"``. Each sample is the output of one (`EPSILON`, `DELTA`)-differentially private
mechanism. Neighbours are bounded: one record takes other values. The numbers of records,
which UCI publishes, and the domains and bins of `encodings` are public. One run makes all 48,842 records of Adult,
in random order, so the budget need not be divided. The first 32,561 represent the training part.

A number within a bin is drawn uniformly from the integers of the bin, without looking at the records.

The guarantee has limits. It holds against those who do not know the noise. But here the real files and the seed are
public, so anyone can make the records again. The samples show how accurate such a release is, but they protect nobody.
For protection, keep the seed secret. The errors in the provenance compare the samples with the real records, without
noise, so the errors are not private either.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from book.kept import results
from lib.data import datasets, encodings
from lib.release.files import whole
from lib.tables.adaptive_iterative import aim
from lib.tables.plan import AUTHORS_CODE
from lib.tables.table import Table
from lib.tables.utility import all_sets, marginal_errors

EPSILON, DELTA, NEIGHBOURS = 10.0, 1e-9, "bounded"
MAX_CELLS = 2_000_000
SEED = 20261121
RELEASED = "2026-11-21"
LABELS = {"adult": "income", "bank": "y"}


def real_table(dataset: str, *, download: bool = True) -> Table:
    """Return all real records of ``"adult"`` (15 attributes) or ``"bank"`` (11), with missing values as a category."""
    if dataset == "adult":
        return encodings.adult_table("all", numeric=True, missing="category", download=download)
    return encodings.bank_table(missing="category", download=download)


def workload(domain, label: str) -> list[tuple[str, ...]]:
    """Return all pairs of attributes, and all triples that contain the attribute to predict."""
    return all_sets(domain, 2) + [names for names in all_sets(domain, 3) if label in names]


def release(table: Table, label: str, *, epsilon=EPSILON, delta=DELTA, max_cells=MAX_CELLS, rng):
    """Return one run of AIM on `table`: an `adaptive_iterative.Result` with as many synthetic records as real ones."""
    plan = replace(AUTHORS_CODE, max_cells=max_cells)
    return aim(
        table,
        epsilon,
        delta,
        workload(table.domain, label),
        plan=plan,
        rng=rng,
        neighbours=NEIGHBOURS,
        records=len(table),
    )


def with_numbers(frame: pd.DataFrame, *, rng) -> pd.DataFrame:
    """Return `frame` with an integer in place of each bin of `encodings.ADULT_BINS`, uniform within the
    bin and the public range."""
    columns = {}
    for name, cuts in encodings.ADULT_BINS.items():
        if name not in frame:
            continue
        lowest, highest = datasets.PUBLIC_RANGES[name]
        first = np.maximum(cuts[:-1], lowest)
        last = np.minimum(np.array(cuts[1:]) - 1, highest)
        bins = encodings.bin_positions(name, frame[name])
        columns[name] = rng.integers(first[bins], last[bins], endpoint=True)
    return frame.assign(**columns)


def make(dataset: str) -> tuple[str, dict]:
    """Return the records as CSV text, and their provenance."""
    real = real_table(dataset)
    rng = np.random.default_rng([SEED, len(real)])
    result = release(real, LABELS[dataset], rng=rng)
    text = with_numbers(result.synthetic.to_frame(), rng=rng).to_csv(index=False, lineterminator="\n")
    return text, {
        "records": len(real),
        "sha256_csv": hashlib.sha256(text.encode()).hexdigest(),
        "made_from": {s.name: s.sha256 for s in datasets.SOURCES.values() if s.dataset == dataset},
        "rho": result.rho,
        "rho_used": result.rho_used,
        "measurements": len(result.measurements),
        "cells_of_model": result.model.size,
        "errors": errors(real, result.synthetic),
    }


def errors(real: Table, synthetic: Table) -> dict:
    """Return the mean and greatest alpha-way error for alpha = 1, 2, 3 (miura2025, Definition 3.1: L1 distance over
    the number of records, in [0, 2])."""
    found = {}
    for alpha in (1, 2, 3):
        each = marginal_errors(real, synthetic, all_sets(real.domain, alpha))
        found[str(alpha)] = {"mean": round(float(each.mean()), 5), "max": round(float(each.max()), 5)}
    return found


def provenance(parts: dict) -> dict:
    """Return the content of ``provenance.json``: how the samples were made and, by data set, the `parts` from `make`."""
    return {
        "what": "Synthetic records that stand in for the real ones; see notebooks/studies/stand_in.py. Made again by `make stand-in`.",
        "released": RELEASED,
        "mechanism": "AIM on all pairs of attributes and all triples with the one to predict; zCDP accounting",
        "epsilon": EPSILON,
        "delta": DELTA,
        "neighbours": "bounded: one record takes other values; numbers of records, domains and bins are public",
        "not_private": "the seed and the real files are public, and the errors are measured on the real records",
        "max_cells": MAX_CELLS,
        "seed": SEED,
        "made_with": {"python": platform.python_version(), "numpy": np.__version__, "pandas": pd.__version__},
        "licence": "CC BY 4.0, as the originals: doi:10.24432/C5XW20 (Adult), doi:10.24432/C5K306 (Bank Marketing)",
        "datasets": parts,
    }


def write_all(folder: Path) -> None:
    """Make everything, then write it to `folder`; each file appears complete or not at all."""
    files, parts = {}, {}
    for dataset in LABELS:
        text, parts[dataset] = make(dataset)
        files[f"{dataset}.csv.gz"] = packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
        parts[dataset]["sha256_file"] = hashlib.sha256(packed).hexdigest()
        print(
            f"{dataset}: {parts[dataset]['records']:,} records, {len(packed):,} bytes, errors {parts[dataset]['errors']}"
        )
    files["provenance.json"] = (json.dumps(provenance(parts), indent=2) + "\n").encode()
    for name, content in files.items():
        with whole(folder / name) as draft:
            draft.write_bytes(content)


def main() -> None:
    """Make the synthetic samples again in their folder."""
    if results.arithmetic() != results.ALIKE:  # rounding can change which marginal AIM chooses
        print("Start this by `make stand-in`, which sets the same arithmetic on every machine.", file=sys.stderr)
        sys.exit(2)
    try:
        write_all(datasets.STAND_INS)
    except datasets.DatasetError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
