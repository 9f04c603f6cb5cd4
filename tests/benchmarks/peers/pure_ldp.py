"""`pure_ldp`'s optimized local hashing: its client and server, report by report."""

from importlib.metadata import version

import numpy as np
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer


def collected(meter, n, k, epsilon) -> dict:
    n, k, epsilon = int(n), int(k), float(epsilon)
    values = np.random.default_rng(7).integers(k, size=n).tolist()
    options = {"epsilon": epsilon, "d": k, "use_olh": True, "index_mapper": int}
    with meter:
        client, server = LHClient(**options), LHServer(**options)
        for value in values:
            server.aggregate(client.privatise(value))
        server.estimate(0, suppress_warnings=True)
    return {"n": n, "k": k, "version": version("pure_ldp")}
