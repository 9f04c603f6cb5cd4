"""The width that cross-validation chooses for the kernel of hasegawa2015, section 5; the paper's is 1000.

The paper does not give the scaling of the features, nor the k, the number of records and the candidates of its
cross-validation. So each combination is run on several splits of Adult. The perturbed records are those of Figure 1's
study. A cell of the grid says how many of them cross-validation uses. This command repeats the committed study on the
real data:

    python -m notebooks.studies.kernel_widths --output book/results/hasegawa2015/widths.csv
"""

from __future__ import annotations

import sys
import warnings
import zlib
from itertools import product

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from book.kept import results
from lib.data import datasets
from lib.microdata import KernelDensityRatio
from lib.numerics import checks
from notebooks.studies import anonymization_readings, command_line, grid
from notebooks.studies.anonymization_comparison import KS, LIBRARIES

PRINTED = 1000.0
WIDTHS = tuple(10.0**power for power in range(-1, 9))  # the candidates
SCALINGS = ("none", "standard", "range")
PLAN = (("published", 500), ("perturbed", 500), ("published", 2000))  # setup, records of the cross-validation
COLUMNS = ("setup", "records", "scaling", "k", "split", "width", "short", "unfinished")
RESULTS = results.FOLDER / "hasegawa2015/widths.csv"


def cell(frame, training, seed, setup, records, scaling, k, split) -> dict:
    """Return the width that five-fold cross-validation chooses on the first `records` of `training` perturbed records.

    short : by how many nats the mean log-density of a record is lower with the printed width than with the chosen one
    unfinished : the number of fits that did not reach a certificate within 300 rounds
    """
    at = anonymization_readings.split_records(frame, training, split, seed=seed)
    place = [seed, zlib.crc32(f"{setup}/{float(k)!r}".encode()), split]  # Figure 1's perturbed records
    seen = anonymization_readings.perturb(at, anonymization_readings.SETUPS[setup], k, rng=np.random.default_rng(place))
    rng = grid.generator(seed, setup, records, scaling, float(k), split)
    options = {"scaling": scaling, "cv_records": records, "max_iter": 300, "rng": rng}
    model = KernelDensityRatio(seen.perturbation, WIDTHS, **options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(seen.records[list(seen.perturbation.attributes)].head(records))
    short = model.scores_.max() - model.scores_[WIDTHS.index(PRINTED)]
    return {"width": model.width_, "short": float(short), "unfinished": len(told)}


def study(
    frame, plan=PLAN, *, splits=3, ks=KS, training=16_281, seed=2015, folder=None, jobs=1, progress=False
) -> pd.DataFrame:
    """Return a frame with `COLUMNS` and a row for each cell.

    frame : `datasets.adult` of all parts with ``missing="category"``; plan : (setup, records) of its parts, each on
        `splits` splits
    ks : in (1, training]; training : perturbed records, integer in [2, rows of the frame); others : see `grid.run`
    """
    checks.real("ks", ks, f"(1, {training}]")
    places = [
        (training, seed, setup, records, scaling, k, split)
        for setup, records in plan
        for split, scaling, k in product(range(splits), SCALINGS, ks)
    ]
    parts = [grid.digest(pd.util.hash_pandas_object(frame).to_numpy()), results.versions(LIBRARIES)]
    keys = [grid.key(parts, *place) for place in places]
    found = grid.run(cell, places, common=(frame,), keys=keys, folder=folder, jobs=jobs, progress=progress)
    return pd.DataFrame([dict(zip(COLUMNS, place[2:])) | row for place, row in zip(places, found)])[list(COLUMNS)]


def load(path=RESULTS) -> pd.DataFrame:
    """Return the committed study, on the real data: a frame of `COLUMNS`."""
    return results.load(path)


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=2015)
    parser.add_argument("--training", type=int, default=16_281, help="perturbed records")
    parser.add_argument("--most", type=int, default=2000, help="records of the largest cross-validations that are run")
    parser.add_argument("--splits", type=int, default=3, help="splits of a part")
    parser.add_argument("--ks", type=float, nargs="+", default=KS)
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    frame = datasets.adult("all", missing="category", source=chosen.data)
    plan = [(setup, records) for setup, records in PLAN if records <= chosen.most]
    common = {name: getattr(chosen, name) for name in ("splits", "ks", "training", "seed", "jobs")}
    found = study(frame, plan, folder=chosen.cells, progress=True, **common)
    told = {name: getattr(chosen, name) for name in ("training", "most", "splits", "seed")}
    made = command_line.provenance(__name__, arguments, chosen, told, files=datasets.ADULT_FILES, libraries=LIBRARIES)
    results.save(chosen.output, found, made)


if __name__ == "__main__":
    from notebooks.studies import kernel_widths  # other processes find the cells there, not in __main__

    kernel_widths.main()
