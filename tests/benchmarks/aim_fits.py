"""Compare three fits of the same measurements, and keep the results in book/results/miura2025/fits.csv.

The fits are AIM's last fit, the model of smallest loss, and mirror descent that stops after a thousand steps, as in the
peers.

    python -m tests.benchmarks.aim_fits

The measurements, and so the size of the model, are the same for all three fits. The fits differ in how closely they
follow the noise. The model of smallest loss has a tenth of the default entropy of `graphical_model.fit`, which would
regularize it on small tables. `make peers` runs this module after the peers; it takes half an hour.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from book.kept import results
from notebooks.studies import aim_peers as told
from tests.benchmarks import aim, aim_accuracy, measure

FILE = told.FITS
CODE = "tests/benchmarks/aim_fits.py lib/tables/adaptive_iterative.py"
TABLES = ("adult", "bank", *aim_accuracy.PUBLIC)
EPSILONS, SEEDS, STEPS = (0.3, 1.0), 10, 1000
ENTROPY = 0.003  # over the smallest sigma: the weight of the entropy in the model of least loss


def fits(table, epsilon, seed) -> tuple[dict, tuple]:
    """Return the models by their names, and the measurements."""
    from lib.tables import adaptive_iterative, entropic_mirror_descent, graphical_model

    run = adaptive_iterative.aim(table, epsilon, aim.DELTA, aim_accuracy.K, rng=np.random.default_rng(seed))
    given = table.domain, run.measurements, run.model.total
    models = {
        told.LAST_FIT: run.model,
        told.LEAST_LOSS: graphical_model.fit(*given, tau=ENTROPY / min(each.sigma for each in run.measurements)),
        told.STOPPED: entropic_mirror_descent.mirror_descent(*given, steps=STEPS).model,
    }
    return models, run.measurements


def rows(name, table) -> list[dict]:
    """Return a row for each epsilon, seed and fit, with the 1-, 2- and 3-way errors and the loss of its model."""
    from lib.tables import graphical_model

    found = []
    for epsilon in EPSILONS:
        for seed in range(SEEDS):
            models, measurements = fits(table, epsilon, seed)
            for fit, model in models.items():
                errors = dict(zip(told.ERRORS.values(), aim.errors(table, model.marginal)))
                loss = {"loss": graphical_model.loss(model, measurements)}
                found.append({"table": name, "epsilon": epsilon, "seed": seed, "fit": fit} | errors | loss)
    return found


def main(output=FILE) -> int:
    """Write the file; return 1, and print a line, if a table is missing."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            try:
                found += rows(name, aim.load_table(aim_accuracy.encoded(name, Path(folder))))
            except (measure.Absent, KeyError) as reason:
                print(f"{name}: not to be had, {reason}; nothing is written", file=sys.stderr)
                return 1
    settings = {"seeds": SEEDS, "steps of mirror descent": STEPS, "delta": aim.DELTA, "entropy over sigma": ENTROPY}
    made = results.collect("tests.benchmarks.aim_fits", [], data="real", settings=settings, code=CODE)
    results.save(output, pd.DataFrame(found), made | {"command": "make peers"}, float_format="%.8g")
    return 0


if __name__ == "__main__":
    sys.exit(main())
