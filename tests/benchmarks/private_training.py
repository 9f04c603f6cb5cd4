"""Measure the cost of privacy in a training step (sei2017): DP-SGD, per-example clipping alone, and plain SGD.

The networks have 14 inputs, four hidden layers of one width and two classes. They are trained on 45,222 simulated
records, whose values do not affect the time. `us_per_step` gives the CPU microseconds of a step, including the checks
of the input, for

- "plain", `network.train`: shuffled batches and equation (5);
- "clipped": batches by Poisson sampling, the change of each record clipped, no noise;
- "private", `dp_sgd.train`: as "clipped", with a normal variate for each parameter.

`ratio` is a cost divided by that of "plain". The three take turns, so that a busy machine slows all of them. If `make
bench PEERS=yes` has installed opacus, its line follows; its `ratios` are its costs divided by ours.
"""

import time

import numpy as np

from tests.benchmarks import measure

RECORDS, INPUTS, DEPTH, EPOCHS, TURNS = 45_222, 14, 4, 3, 7
CASES = {f"dp_sgd_width{width}_batch{batch}": (width, batch) for width in (10, 50) for batch in (50, 1000)}


def lines(case, folder):
    """Yield our line, then the line of opacus if it is installed."""
    yield (ours := measure.child(__name__, "steps", *CASES[case]))
    if python := measure.peer("opacus"):
        network = (RECORDS, INPUTS, DEPTH, *CASES[case])
        theirs = measure.child("tests.benchmarks.peers.opacus", "steps", *network, python=python)
        costs = ("us_per_step_plain", "us_per_step_private")
        yield {"peer": "opacus"} | theirs | {"ratios": {cost: round(theirs[cost] / ours[cost], 1) for cost in costs}}


# ---- in the measured process


def steps(meter, width, batch) -> dict:
    width, batch = int(width), int(batch)
    runs = _runs(width, batch)
    seconds = {name: [] for name in runs}
    for run in runs.values():
        run()  # compiled, or read from the disk
    for _ in range(TURNS):
        for name, run in runs.items():
            with meter:
                began = time.process_time()
                run()
                seconds[name].append(time.process_time() - began)
    count = EPOCHS * -(-RECORDS // batch)
    cost = {name: 1e6 * np.median(times) / count for name, times in seconds.items()}
    found = {f"us_per_step_{name}": round(float(value), 1) for name, value in cost.items()}
    ratios = {f"ratio_{name}": round(float(cost[name] / cost["plain"]), 2) for name in cost}
    return {"width": width, "batch": batch} | found | ratios


def _runs(width, batch) -> dict:
    """Return, for each kind of training, a function without arguments that runs some epochs from the same start."""
    from lib.networks import dp_sgd
    from lib.networks import network as net

    rng = np.random.default_rng(7)
    network = net.Network.initial((INPUTS, *[width] * DEPTH, 2), rng=rng)
    features, labels = rng.random((RECORDS, INPUTS), dtype=np.float32), rng.integers(2, size=RECORDS)
    plan = dp_sgd.Plan(batch / RECORDS, EPOCHS * -(-RECORDS // batch), 1.0, 1e-5)

    def plain():
        net.train(features, labels, network, batch=batch, epochs=EPOCHS, rng=rng)

    def clipped():
        sizes = rng.binomial(RECORDS, plan.sampling, size=plan.steps)
        settings = 0.01, 1.0, 0.0, 0.0, 0.0, 1 / batch
        work = net.workspace(network, sizes.max())
        parameters, widths = network.parameters.copy(), np.array(network.widths)
        records = net.checked_records(features, labels, network)
        dp_sgd._run(parameters, widths, *records, sizes, np.arange(RECORDS), *settings, rng, *work)

    def private():
        dp_sgd.train(features, labels, network, plan, learning_rate=0.01, rng=rng)

    return {"plain": plain, "clipped": clipped, "private": private}
