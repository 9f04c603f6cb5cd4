"""`mbi`'s mirror descent, with its own defaults (1,000 iterations), on measurements that our AIM made; and its whole AIM.

Its AIM is the script mechanisms/aim.py in a checkout of its repository. The variable MBI names the folder (`aim_peers`).

JAX compiles a program for every structure of measurements. AIM meets a new structure each round, so the
seconds include compilation. `compile_s` gives that part separately.
"""

import contextlib
import itertools
import os
import sys
import time
import warnings
from importlib.metadata import version

import jax
import numpy as np

from lib.tables.graphical_model import GraphicalModel
from lib.tables.table import Table
from tests.benchmarks import aim

warnings.filterwarnings("ignore", "JAX is running in float32 mode")  # mbi's default, enough for these tables
jax.config.update("jax_enable_compilation_cache", False)  # or a second run would look faster than the first
import mbi  # noqa: E402 (after what its import warns of)


def fit(meter, table, measured) -> dict:
    table, measurements = aim.load_table(table), aim.load_measurements(measured)
    domain = mbi.Domain(table.domain.attributes, table.domain.sizes)
    noisy = [mbi.LinearMeasurement(m.values.ravel(), m.attributes, m.sigma) for m in measurements]
    ticks = [time.process_time()]

    def tick(marginals):  # after each block of iterations, all alike but for the compiling in the first
        jax.block_until_ready(marginals)
        ticks.append(time.process_time())

    with meter:
        model = mbi.estimation.MirrorDescent().estimate(domain, noisy, callback_fn=tick)
        jax.block_until_ready(model.potentials)
    first, *others = np.diff(ticks)
    line = {"compile_s": round(float(first - np.median(others)), 2), "seeds": 1, "version": version("mbi")}
    return aim.judged(table, measurements, _ours(model, table.domain).marginal) | line


def seeded(meter, table, k, epsilon, seed) -> dict:
    """Make records from records, as the script does it: 80 MB of model, 16 rounds an attribute, pairs of 10,000 cells at most."""
    sys.path.insert(0, os.path.join(os.environ["MBI"], "mechanisms"))
    from aim import AIM

    estimate = mbi.estimation.MirrorDescent.estimate

    # Release 2.0.0 has another word than the script for where to start.
    def warm(estimator, *given, potentials=None, **options):
        return estimate(estimator, *given, warm_start=potentials, **options)

    mbi.estimation.MirrorDescent.estimate = warm
    table = aim.load_table(table)
    names = table.domain.attributes
    data = mbi.Dataset(dict(zip(names, table.records.T)), mbi.Domain(names, table.domain.sizes))
    sets = [each for each in itertools.combinations(names, int(k)) if data.domain.size(each) <= 10_000]
    mechanism = AIM(float(epsilon), aim.DELTA, prng=np.random.RandomState(int(seed)))
    with meter, contextlib.redirect_stdout(sys.stderr):
        _, synthetic = mechanism.run(data, [(each, 1.0) for each in sets])
        columns = synthetic.to_dict()
    made = Table(np.column_stack([columns[name] for name in names]).astype(int), table.domain)
    return aim.named(aim.errors(table, made.marginal)) | {"version": version("mbi")}


def _ours(model, domain) -> GraphicalModel:
    """Return the same model in our hands: mbi compiles a program for every marginal asked for, for minutes."""
    potentials = {}
    for clique in model.potentials.cliques:
        values = np.asarray(model.potentials[clique].values, dtype=float)
        potentials[clique] = values - values.max()
    return GraphicalModel(domain, potentials, float(model.total))
