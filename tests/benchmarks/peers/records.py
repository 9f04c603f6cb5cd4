"""Whole runs of any of the other modules here, whose synthetic records are kept."""

import importlib
from unittest.mock import patch

from tests.benchmarks import aim


def kept(meter, program, table, epsilon, seed, records) -> dict:
    """Run a peer for all pairs as `aim_peers` runs it, and keep its synthetic records in the file `records`.

    For a peer's errors, its module passes the method `marginal` of the synthetic `Table`.
    """
    plain = aim.errors

    def keep(real, marginal):
        found = plain(real, marginal)
        aim.save_table(records, marginal.__self__)
        return found

    with patch.object(aim, "errors", keep):
        return importlib.import_module(f"tests.benchmarks.peers.{program}").seeded(meter, table, 2, epsilon, seed)
