"""MargNet (Chen, Gong and Wang 2025, arXiv 2511.13893) from encoded records to synthetic ones, on the domain as it is given.

It chooses and measures pairs in turn, as AIM does, and fits them with a neural network. It is not a package: the variable
MARGNET names a checkout of github.com/KaiChen9909/margnet, and the environment of `opacus` has what it needs (`aim_peers`).

Its preprocessing, a tenth of its budget for tables with attributes of a hundred values or more, is left out: it bins and
merges values. It has settings for each of its tables and epsilons. Those of its Adult are used here, at the largest
epsilon that is not above the given one. It is told the number of records; here it draws as many as it has estimated.
"""

import contextlib
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from lib import accounting
from lib.tables.table import Table
from tests.benchmarks import aim

torch.set_num_threads(1)
torch.cuda.reset_peak_memory_stats = lambda *device: None  # it writes a GPU's memory into a file
torch.cuda.max_memory_allocated = lambda *device, **options: 0


def seeded(meter, table, k, epsilon, seed) -> dict:
    """Make records from records; it has pairs only, so `k` must be 2."""
    if int(k) != 2:
        raise ValueError(f"k must be 2, got {k}")
    checkout = Path(os.environ["MARGNET"])
    sys.path.insert(0, str(checkout))
    from method.MargDL.main import MargDLGen

    settings = tomllib.loads((checkout / "method/MargDL/config/gan/adult.toml").read_text())
    config = settings[max((key for key in settings if float(key) <= float(epsilon)), key=float)]
    options = SimpleNamespace(iter=None, lr=None, batch=None, test=False, resample=False)  # its command's defaults
    table = aim.load_table(table)
    frame = pd.DataFrame(table.records.astype(int), columns=table.domain.attributes)
    sizes = dict(zip(table.domain.attributes, table.domain.sizes))
    np.random.seed(int(seed))
    torch.manual_seed(int(seed))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr), meter:
        maker = MargDLGen(options, frame, sizes, "cpu", config, folder, "gan")
        maker.fit_adaptive(accounting.dp_to_zcdp(float(epsilon), aim.DELTA))
        records = maker.model.sample(max(1, round(maker.dataset.est_num_records)))
    return aim.named(aim.errors(table, Table(records, table.domain).marginal)) | {"version": torch.__version__}
