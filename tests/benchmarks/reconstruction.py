"""Benchmark reconstructions of Adult's ten explanatory attributes (hasegawa2015, Table 2), perturbed with k = 3.

A case's line contains `cpu_s` and `wall_s` of one fit to the perturbed records; `loglik`, the log-likelihood of
equation (12) with 1/N inside the logarithm; and `gap`, an upper bound on how far `loglik` is below the maximum.

A line for Algorithm 1, with our corrections and dense float64 matrices, follows `kernel_n16281` for comparison. The
algorithm may take `ITERATIONS` steps, with the learning rate lowered if necessary. `ratios` contains its figures
divided by ours. The records are the real ones if they are available, and otherwise the synthetic sample; `data` says
which.

`table1` gives, for each cost in the paper's Table 1, the slope of log CPU seconds against the log of the quantity with
which the cost should grow (for iterative Bayes, the number of cells). The fit is by least squares, and the line
includes the standard error of the slope. The seconds are kept in book/results/hasegawa2015/table1.csv.
"""

import platform
import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from book.kept import results
from tests.benchmarks import measure

ITERATIONS = 20
REPETITIONS = 5
K_LEVEL = 3
CATEGORICAL = ("workclass", "marital-status", "occupation", "relationship", "sex")
NUMERIC = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")
CELLS = (20, 50, 100, 100)  # of the histogram, 10^7 in all


class Case(NamedTuple):
    part: str
    model: str
    settings: tuple = ()  # scaling and width of the kernel


SETTINGS = (("none", 1000.0), ("range", 1000.0), ("range", 0.5))
CASES = {
    "kernel_n16281": Case("test", "kernel", SETTINGS),
    "kernel_n48842": Case("all", "kernel", SETTINGS[:1]),
    "linear_n16281": Case("test", "linear"),
    "linear_n48842": Case("all", "linear"),
    "iterative_bayes_1e7": Case("", "bayes"),
    "table1": Case("", "table1"),
}


def lines(case, folder):
    part, model, settings = CASES[case]
    if model == "table1":
        found = [measure.child(__name__, "slope", cost) for cost in COSTS]
        _keep(found)
        yield from found
    elif model == "bayes":
        yield measure.child(__name__, "bayes")
    elif model == "linear":
        yield measure.child(__name__, "linear", part)
    else:
        fits = [measure.child(__name__, "kernel", part, scaling, width) for scaling, width in settings]
        yield from fits
        if part == "test":
            dense = measure.child(__name__, "dense", part, *settings[0])
            yield {"task": "dense"} | dense | {"ratios": measure.ratios(dense, fits[0])}


def _keep(found):
    """Write the seconds for all sizes to the file that chapter 2 of hasegawa2015 reads."""
    rows = [(one["cost"], *each) for one in found for each in zip(one["sizes"], one["seconds"], strict=True)]
    settings = {"repetitions, of which the least counts": REPETITIONS, "BLAS threads": 1}
    made = results.collect(
        __name__,
        [],
        data="none: uniform records of five values",
        settings=settings,
        code="tests/benchmarks/reconstruction.py",
    )
    made |= {
        "command": "make bench CASE=table1",
        "machine": f"{found[0]['cpu']}, {found[0]['cores']} cores, {platform.machine()}",
    }
    results.save(
        results.FOLDER / "hasegawa2015/table1.csv", pd.DataFrame(rows, columns=["cost", "size", "seconds"]), made
    )


# ---- in the measured processes


def kernel(meter, part, scaling, width) -> dict:
    from lib.microdata.density_ratio import KernelDensityRatio

    data, perturbation, perturbed = _perturbed(part)
    model = KernelDensityRatio(perturbation, float(width), scaling=scaling)
    with meter:
        model.fit(perturbed)
    return _line(model, data) | {"scaling": scaling, "width": float(width)}


def linear(meter, part) -> dict:
    from lib.microdata.density_ratio import LinearDensityRatio

    data, perturbation, perturbed = _perturbed(part)
    model = LinearDensityRatio(perturbation)
    with meter:
        model.fit(perturbed)
    return _line(model, data)


def dense(meter, part, scaling, width) -> dict:
    """Compute equations (1), (2) and the kernel over all pairs, some rows at a time, then run Algorithm 1."""
    from scipy.spatial.distance import cdist

    from lib.microdata.density_ratio import Features, algorithm_1, duality_gap

    data, perturbation, perturbed = _perturbed(part)
    n = len(perturbed)
    with meter:
        points = Features(perturbation, perturbed, scaling)(perturbed)
        P, K = np.ones((n, n)), np.empty((n, n))
        for rows in (slice(top, top + 256) for top in range(0, n, 256)):
            for mechanism, column in zip(perturbation.mechanisms.values(), perturbed.T):
                P[rows] *= mechanism.density(column[rows, None], column)
            K[rows] = np.exp(-cdist(points[rows], points, "sqeuclidean") / float(width))
        alpha, trace, _ = algorithm_1(P, K, max_iter=ITERATIONS)
    done = {"data": data, "n": n, "iterations": len(trace) - 1}
    return done | {"loglik": float(trace[-1]), "gap": duality_gap(P, K, alpha)}


def bayes(meter) -> dict:
    """Run ten EM steps on a histogram of 10^7 cells."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from lib.microdata import IterativeBayes
    from lib.microdata.perturbation import pk_parameters

    rng = np.random.default_rng(7)
    perturbation = pk_parameters(K_LEVEL, 16_281, {f"a{size}_{index}": size for index, size in enumerate(CELLS)})
    records = np.column_stack([rng.integers(size, size=16_281) for size in CELLS])
    model = IterativeBayes(perturbation, max_iter=10, accelerated=False)
    with meter, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(records)
    return {"cells": model.shares_.size, "steps": model.n_iter_}


def slope(meter, cost) -> dict:
    from scipy.stats import linregress

    sizes, prepare = COSTS[cost]
    seconds = []
    for size in sizes:
        work = prepare(size)
        work()
        times = []
        for _ in range(REPETITIONS):
            with meter:
                began = time.process_time()
                work()
                times.append(time.process_time() - began)
        seconds.append(min(times))
    fit = linregress(np.log(sizes), np.log(seconds))
    found = {"slope": round(fit.slope, 2), "error": round(fit.stderr, 2)}
    return {"cost": cost, "sizes": list(sizes), "seconds": [float(f"{one:.3g}") for one in seconds]} | found


def _uniform(n, m):
    """Return a perturbation of m attributes with five values, and n uniform records."""
    from lib.microdata.perturbation import pk_parameters

    return pk_parameters(K_LEVEL, 20_000, {f"a{j}": 5 for j in range(m)}), np.random.default_rng(7).integers(
        5, size=(n, m)
    )


def _set_up(n, m):
    perturbation, records = _uniform(n, m)
    return lambda: perturbation.transitions(records).dense()


def _dense_step(n):
    matrix, vector = np.random.default_rng(7).random((n, n)), np.ones(n)
    return lambda: matrix.T @ (matrix.T @ (1 / (matrix @ (matrix @ vector))))


def _linear_step(n, m):
    a, theta = np.random.default_rng(7).random((n, m)), np.ones(m)
    return lambda: a.T @ (1 / (a @ theta))


def _em_step(m):
    from lib.microdata.iterative_bayes import ExpectationMaximisation

    shape = (5,) * m
    em = ExpectationMaximisation([np.full((5, 5), 0.2)] * m, np.ones(shape))
    shares = np.full(shape, 5.0**-m)
    return lambda: em.step(shares)


COSTS = {  # the sizes, and what is timed at each
    "kernel: P, against N": ((1000, 2000, 4000, 8000), lambda n: _set_up(n, 10)),
    "kernel: P, against M": ((10, 20, 40, 80), lambda m: _set_up(2000, m)),
    "kernel: a step, against N": ((1000, 2000, 4000, 8000), _dense_step),
    "linear: a step, against N": ((50_000, 100_000, 200_000, 400_000), lambda n: _linear_step(n, 50)),
    "linear: a step, against M'": ((25, 50, 100, 200), lambda m: _linear_step(50_000, m)),
    "iterative Bayes: a step, against cells": (
        [5**m for m in range(6, 11)],
        lambda cells: _em_step(round(np.log(cells) / np.log(5))),
    ),
}


def _line(model, data) -> dict:
    return {
        "data": data,
        "n": len(model.weights_),
        "rounds": model.n_iter_,
        "loglik": float(model.trace_[-1]),
        "gap": model.gap_,
    }


def _perturbed(part):
    """Return the kind of data, the perturbation, and Adult's perturbed records, with codes for categories."""
    from lib.data import datasets, encodings
    from lib.microdata.perturbation import pk_parameters

    data = "real" if datasets.available("adult") else "stand-in"
    frame = datasets.adult(part, missing="category", source=data, download=False)
    domain = encodings.adult_domain(missing="category")
    attributes = {name: len(domain.values(name)) for name in CATEGORICAL}
    attributes |= {name: datasets.PUBLIC_RANGES[name] for name in NUMERIC}
    codes = {name: {value: code for code, value in enumerate(domain.values(name))} for name in CATEGORICAL}
    for name in CATEGORICAL:
        frame[name] = frame[name].map(codes[name])
    perturbation = pk_parameters(K_LEVEL, len(frame), attributes)
    return data, perturbation, perturbation.perturb(frame, rng=np.random.default_rng(1))
