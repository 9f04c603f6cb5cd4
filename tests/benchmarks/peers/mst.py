"""`dpmm`'s MST, from encoded records to synthetic ones, in the environment of its AIM and as `peers/dpmm.py` calls that.

It measures all attributes and a tree of pairs, whatever the workload. It merges the values that it has measured as rare
(`compress`) and splits them again in its records; this is a step of MST, unlike of AIM, and stays on.
"""

from unittest.mock import patch

from dpmm.models.mst import MSTGM

from tests.benchmarks.peers import dpmm


def seeded(meter, table, k, epsilon, seed) -> dict:
    with patch.object(dpmm, "AIMGM", lambda degree, **options: MSTGM(**options | {"compress": True})):
        return dpmm.seeded(meter, table, k, epsilon, seed)
