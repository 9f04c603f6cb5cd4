"""`parts`: Parquet files counted here and by real workers give the same counts, even if a worker is killed."""

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lib.release import parts
from lib.tables.table import Domain, Table

pytestmark = pytest.mark.slow

DOMAIN = Domain({"a": 3, "b": 40, "c": 2})
RECORDS = np.random.default_rng(8).integers(DOMAIN.sizes, size=(6, 1000, 3))


@pytest.fixture
def files(tmp_path):
    """Return six Parquet files of a thousand records."""
    found = [tmp_path / f"part{number}.parquet" for number in range(len(RECORDS))]
    for file, records in zip(found, RECORDS):
        pa.parquet.write_table(pa.table(dict(zip(DOMAIN.attributes, records.T))), file)
    return found


def batches(file):
    for batch in pa.parquet.ParquetFile(file).iter_batches(batch_size=300):
        yield {name: batch.column(name).to_numpy() for name in batch.schema.names}


def deadly_batches(file):
    """Yield the same batches, but kill the process that counts the fourth file for the first time, after its second batch."""
    first = Path(file).with_suffix(".begun")
    for number, batch in enumerate(batches(file)):
        if "part3" in str(file) and number == 2 and not first.exists():
            first.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield batch


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


def assert_all_counted(counter):
    table = Table(RECORDS.reshape(-1, 3), DOMAIN)
    assert len(counter) == len(table)
    for names in (["a"], ["b", "a"], ["c", "b"], ["a", "c"]):
        assert np.array_equal(counter.marginal(names), table.marginal(names))


def test_files_are_counted_one_after_another(files):
    assert_all_counted(parts.count(files, batches, DOMAIN))
    assert len(parts.count([], batches, DOMAIN)) == 0


def test_a_worker_killed_at_a_file_changes_nothing(files, client):
    before = set(client.scheduler_info()["workers"])
    assert_all_counted(parts.count(files, deadly_batches, DOMAIN, client=client))
    assert files[3].with_suffix(".begun").exists() and before - set(client.scheduler_info()["workers"])


def test_a_code_outside_the_domain_is_said_with_its_file_and_record(files, client):
    narrow = Domain({"a": 3, "b": 39, "c": 2})
    record = int((RECORDS[0, :, 1] == 39).argmax())
    for workers in (None, client):
        with pytest.raises(
            ValueError, match=rf"part0.parquet: column 'b' must contain codes in .0, 39., got 39 in record {record}$"
        ):
            parts.count(files[:1], batches, narrow, client=workers)
