"""Count all pairs of fifteen attributes, in a Parquet file of 10^7 simulated records and in one of a tenth as many.

`make bench CASE=counting RECORDS=100000000` uses another number. `cpu_s`, `wall_s` and `peak_mb` are the cost of
reading the file and counting. `cpu_s_per_1e9` is the CPU time of 10^9 records at the same rate, which should be the
same in both lines.
"""

import os
from pathlib import Path

import numpy as np

from tests.benchmarks import measure

CASES = ("counting",)
SIZES = (8, 16, 7, 14, 6, 5, 2, 41, 2, 10, 10, 8, 8, 10, 9)
BATCH = 10**5


def lines(case, folder):
    n = int(os.environ.get("RECORDS") or 10**7)
    for records in (n // 10, n):
        file = Path(folder, "records.parquet")
        measure.child(__name__, "make", file, records)
        yield measure.child(__name__, "count", file)
        file.unlink()


def _domain():
    from lib.tables.table import Domain

    return Domain({f"a{v}": size for v, size in enumerate(SIZES)})


def make(meter, file, records) -> dict:
    """Write the file batch by batch, in a separate process."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, names, left = np.random.default_rng(20261122), _domain().attributes, int(records)
    with meter, parquet.ParquetWriter(file, pa.schema([(name, pa.uint8()) for name in names])) as writer:
        while left:
            n = min(left, BATCH)
            codes = [rng.integers(size, size=n, dtype=np.uint8) for size in SIZES]
            writer.write_table(pa.table(dict(zip(names, codes))))
            left -= n
    return {}


def count(meter, file) -> dict:
    import pyarrow as pa
    from pyarrow import parquet

    from lib.release import Counter

    counter = Counter(_domain())
    pa.array([0]).to_numpy()  # at its first array, pyarrow imports pandas
    with meter, parquet.ParquetFile(file, pre_buffer=False) as source:  # else it reads far ahead, into memory
        for batch in source.iter_batches(BATCH, use_threads=False):
            counter.add({name: batch.column(name).to_numpy() for name in batch.schema.names})
    assert counter.marginal(["a0"]).sum() == len(counter)
    return {"n": len(counter), "cpu_s_per_1e9": round(meter.reading()["cpu_s"] * 1e9 / len(counter), 1)}
