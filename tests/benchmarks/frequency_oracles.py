"""Benchmark frequency oracles from the users' values to the estimates, with all reports, and `simulate` alone.

A case's line contains `cpu_s` and `wall_s` of one collection, as medians of three, and `error`, the mean square of the
estimates' deviations from the true frequencies in units of their exact standard deviation. The error should be near 1.
Epsilon is 1, and the values are uniform.

After `olh_k1024`, there are lines of the peers that `make bench PEERS=yes` installs. They run their own clients and
servers on fewer users, because their time is proportional to the number of users. `us_per_user` is CPU time, and
`ratios` contains a peer's values divided by ours.
"""

from typing import NamedTuple

import numpy as np

from tests.benchmarks import measure

EPSILON = 1.0
PEERS = ("multi_freq_ldpy", "pure_ldp")
PEER_USERS = 2_000


class Case(NamedTuple):
    oracles: tuple
    n: int
    k: int
    task: str = "collected"


CASES = {
    "grr_k128": Case(("GRR",), 10**7, 128),
    "sue_k128": Case(("SUE",), 10**7, 128),
    "oue_k128": Case(("OUE",), 10**7, 128),
    "hr_k128": Case(("HR",), 10**7, 128),
    "olh_k1024": Case(("OLH",), 10**6, 1024),
    "simulate_k128": Case(("GRR", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "SS", "HR"), 10**7, 128, "simulated"),
}


def lines(case, folder):
    """Yield a line for each oracle of the case, then those of the peers that are installed."""
    oracles, n, k, task = CASES[case]
    for oracle in oracles:
        yield (ours := measure.child(__name__, task, oracle, n, k))
    for name in PEERS if "OLH" in oracles and task == "collected" else ():
        if python := measure.peer(name):
            module = f"tests.benchmarks.peers.{name}"
            theirs = _per_user(measure.child(module, "collected", PEER_USERS, k, EPSILON, python=python), PEER_USERS)
            ratio = theirs["us_per_user"] / _per_user(ours, n)["us_per_user"]
            yield {"peer": name} | theirs | {"ratios": {"us_per_user": float(f"{ratio:.3g}")}}


def _per_user(line, n) -> dict:
    return line | {"us_per_user": round(line["cpu_s"] / n * 1e6, 4)}


# ---- in the measured processes


def collected(meter, name, n, k) -> dict:
    """Perturb, aggregate and estimate."""
    oracle, values, f = _population(name, int(n), int(k))
    for seed in range(3):
        with meter:
            counts = oracle.collect(values, rng=np.random.default_rng(seed))
            estimate = oracle.estimate(counts, values.size)
    return _line(oracle, estimate, f, values.size)


def simulated(meter, name, n, k) -> dict:
    """Simulate support counts from the true counts, and estimate."""
    oracle, values, f = _population(name, int(n), int(k))
    users = np.bincount(values, minlength=oracle.k)
    for seed in range(3):
        with meter:
            counts = oracle.simulate(users, rng=np.random.default_rng(seed))
            estimate = oracle.estimate(counts, values.size)
    return _line(oracle, estimate, f, values.size)


def _population(name, n, k):
    from lib.local import ORACLES

    values = np.random.default_rng(7).integers(k, size=n)
    return ORACLES[name](k, EPSILON), values, np.bincount(values, minlength=k) / n


def _line(oracle, estimate, f, n) -> dict:
    error = np.mean((estimate - f) ** 2 / oracle.variance(f, n))
    return {"oracle": type(oracle).__name__, "n": n, "k": oracle.k, "error": round(float(error), 2)}
