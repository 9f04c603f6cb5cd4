"""Benchmark AIM on the real data, end to end, and the peers that `make bench PEERS=yes` installs.

A case's line contains `cpu_s` and `wall_s` of one run, including the synthetic records, as medians over the seeds, and
the alpha-way errors of these records, `l1`, `l2` and `l3` (miura2025, Definition 3.1), as means. `oracle_share` is the
proportion of the CPU time that calls of the models' `MarginalOracle` take, without its queries. `oracle_gb_per_s`
counts only the arrays that its contractions read and write, divided by the time of these calls.

A line with `peer` is for one seed. `mbi` fits the last seed's measurements with its mirror descent. The line before it
is our `fit` of the same measurements from a cold start, for comparison. In these two lines, `loss` is half the sum of
the squared distances from the measurements in units of their noise, and the errors are those of the model. `dpmm` runs
its AIM from the records to the synthetic records. `ratios` contains a peer's values divided by ours.
"""

import itertools
import json
import time
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from lib.tables.graphical_model import Measurement, fit
from lib.tables.marginal_oracle import MarginalOracle
from lib.tables.table import Domain, Table
from tests.benchmarks import measure

DELTA = 1e-9
PEER_LIMIT = 900  # CPU seconds; at large epsilon the peers do not finish in hours


class Case(NamedTuple):
    table: str
    k: int  # the workload is all sets of k attributes
    epsilon: float
    seeds: int


CASES = {
    "adult_k2_eps1": Case("adult", 2, 1.0, 10),
    "bank_k2_eps1": Case("bank", 2, 1.0, 10),
    "adult_k3_eps1": Case("adult", 3, 1.0, 10),
    "adult_k2_eps10": Case("adult", 2, 10.0, 10),
    "adult_k2_eps100": Case("adult", 2, 100.0, 10),
    "adult15_k2_eps10": Case("adult15", 2, 10.0, 3),
}


# ---- in the runner's process


def lines(case, folder):
    """Yield the case's line, then those of the peers that are installed."""
    name, k, epsilon, seeds = CASES[case]
    table, measured = encoded(name, Path(folder)), Path(folder, f"{case}.measured.npz")
    yield (ours := measure.child(__name__, "whole", table, k, epsilon, seeds, measured))
    if python := measure.peer("mbi"):
        yield (refit := {"task": "fit"} | measure.child(__name__, "fitted", table, measured))
        yield _peer("mbi", "fit", python, refit, table, measured)
    if python := measure.peer("dpmm"):
        yield _peer("dpmm", "whole", python, ours, table, k, epsilon, DELTA)


def _peer(name, task, python, ours, *arguments) -> dict:
    theirs = measure.child(f"tests.benchmarks.peers.{name}", task, *arguments, python=python, limit=PEER_LIMIT)
    return {"task": task, "peer": name} | theirs | {"ratios": measure.ratios(theirs, ours)}


def encoded(name, folder) -> Path:
    """Return a file with the real table, so that the measured processes do not need pandas."""
    from lib.data import datasets, encodings

    file = folder / f"{name}.npz"
    if not file.exists():
        try:
            table = encodings.bank_table() if name == "bank" else encodings.adult_table(numeric=name == "adult15")
        except datasets.DatasetError as reason:
            raise measure.Absent(str(reason)) from reason
        save_table(file, table)
    return file


# ---- in the measured processes


def whole(meter, table, k, epsilon, seeds, measured) -> dict:
    """Run AIM `seeds` times; the last run's measurements go into the file `measured`."""
    from lib.tables.adaptive_iterative import aim

    table, found, watched = load_table(table), [], Watched()
    for seed in range(int(seeds)):
        with meter, watched:
            result = aim(table, float(epsilon), DELTA, int(k), rng=np.random.default_rng(seed))
        found.append(errors(table, result.synthetic.marginal))
    save_measurements(measured, result.measurements)
    return named(np.mean(found, axis=0)) | {"seeds": int(seeds), "converged": result.model.converged} | watched.line()


class Watched:
    """A context that measures CPU seconds, in total and of the models' oracles, and the bytes that these read and write."""

    def __init__(self):
        self.seconds, self.of_oracles, self.bytes = 0.0, 0.0, 0

    def __enter__(self):
        plain = MarginalOracle.__call__

        def timed(oracle, potentials):
            start = time.process_time()
            try:
                return plain(oracle, potentials)
            finally:
                self.of_oracles += time.process_time() - start
                contraction = oracle._contraction
                self.bytes += sum(map(_bytes, contraction._forward + contraction._backward * oracle._in_range))

        self._patch = patch.object(MarginalOracle, "__call__", timed)
        self._patch.start()
        self._start = time.process_time()

    def __exit__(self, *error):
        self.seconds += time.process_time() - self._start
        self._patch.stop()

    def line(self) -> dict:
        rate = self.bytes / self.of_oracles / 1e9
        return {
            "oracle_share": round(self.of_oracles / self.seconds, 3),
            "oracle_gb_per_s": float(f"{rate:.3g}"),
        }


def _bytes(operation) -> int:
    _, arguments, out = operation
    return sum(array.nbytes for array in (*arguments, out) if isinstance(array, np.ndarray))


def fitted(meter, table, measured) -> dict:
    """Return the line of our fit to given measurements, up to the certificate of AIM's last round."""
    table, measurements = load_table(table), load_measurements(measured)
    with meter:
        model = fit(table.domain, measurements)
    return judged(table, measurements, model.marginal) | {"seeds": 1, "converged": model.converged}


def judged(table, measurements, marginal) -> dict:
    """Return the loss and errors of a model, given as a function from attributes to their marginal."""
    squares = [np.sum((marginal(m.attributes) - m.values) ** 2) / m.sigma**2 for m in measurements]
    return {"loss": round(float(sum(squares)) / 2, 2)} | named(errors(table, marginal))


def errors(table, marginal) -> list[float]:
    """Return the mean L1 distance of the 1-, 2- and 3-way marginals from the table's, divided by the number of records."""

    def error(names):
        return np.abs(table.marginal(names) - marginal(names)).sum() / len(table)

    sizes = range(1, min(3, len(table.domain)) + 1)
    return [
        float(np.mean([error(names) for names in itertools.combinations(table.domain.attributes, k)])) for k in sizes
    ]


def named(values) -> dict:
    return {f"l{alpha}": float(f"{value:.5g}") for alpha, value in enumerate(values, start=1)}


# ---- from process to process


def save_table(file, table) -> None:
    np.savez(file, attributes=table.domain.attributes, sizes=table.domain.sizes, records=table.records)


def load_table(file) -> Table:
    saved = np.load(file)
    return Table(saved["records"], Domain(zip(saved["attributes"].tolist(), saved["sizes"].tolist())))


def save_measurements(file, measurements) -> None:
    about = json.dumps([(m.attributes, m.sigma) for m in measurements])
    np.savez(file, about=about, **{f"values{i}": m.values for i, m in enumerate(measurements)})


def load_measurements(file) -> list[Measurement]:
    saved = np.load(file)
    about = json.loads(str(saved["about"]))
    return [Measurement(tuple(names), saved[f"values{i}"], sigma) for i, (names, sigma) in enumerate(about)]
