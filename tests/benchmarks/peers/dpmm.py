"""`dpmm`'s AIM from encoded records to synthetic ones, in one process and on the domain as it is given.

(By default it merges the values of an attribute that it finds rare: `compress`.) Its noise comes from
OpenDP, which takes no seed: the errors differ a little from run to run.
"""

from importlib.metadata import version

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM

from lib.tables.table import Table
from tests.benchmarks import aim


def whole(meter, table, k, epsilon, delta) -> dict:
    return seeded(meter, table, k, epsilon, 0, delta) | {"seeds": 1}


def seeded(meter, table, k, epsilon, seed, delta=aim.DELTA) -> dict:
    table = aim.load_table(table)
    names = table.domain.attributes
    frame = pd.DataFrame(table.records.astype(int), columns=names)
    sizes = dict(zip(names, table.domain.sizes))
    options = {"domain": sizes, "compress": False, "random_state": np.random.RandomState(int(seed)), "n_jobs": 1}
    with meter:
        model = AIMGM(epsilon=float(epsilon), delta=float(delta), degree=int(k), **options)
        model.fit(frame)
        records = model.generate()
    synthetic = Table(records[list(names)].to_numpy(), table.domain)
    return aim.named(aim.errors(table, synthetic.marginal)) | {"version": version("dpmm")}
