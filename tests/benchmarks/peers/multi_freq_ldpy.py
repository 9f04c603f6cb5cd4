"""`multi_freq_ldpy`'s optimized local hashing: its client for every user, then its aggregator."""

from importlib.metadata import version

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles import LH


def collected(meter, n, k, epsilon) -> dict:
    n, k, epsilon = int(n), int(k), float(epsilon)
    values = np.random.default_rng(7).integers(k, size=n).tolist()
    LH.LH_Client(0, k, epsilon)  # compiles what numba compiles
    with meter:
        LH.LH_Aggregator_MI([LH.LH_Client(value, k, epsilon) for value in values], k, epsilon)
    return {"n": n, "k": k, "version": version("multi_freq_ldpy")}
