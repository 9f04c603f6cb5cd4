"""Frequency oracles under local differential privacy, in one place.

A collector wants to know how often each of k values occurs among n users, none of whom is to be trusted
with more than an epsilon-differentially private report. All the oracles answer to the same names:

    oracle = OLH(k, epsilon)
    counts = oracle.collect(values, rng=rng)        # real clients; perturb and aggregate do the two halves
    oracle.estimate(counts, n), oracle.variance(f, n), oracle.interval(counts, n)
    oracle.simulate(true_counts, rng=rng)           # support counts from their law, for large studies

and are described where they stand: `lib.local_protocol` (what they share, and GRR), `lib.unary_encoding`,
`lib.histogram_encoding`, `lib.local_hashing`, `lib.subset_selection`, `lib.hadamard_response`. Estimates
are raw: to make them a distribution is a step of its own, in `lib.consistency`.
"""

from lib.hadamard_response import HadamardResponse
from lib.histogram_encoding import SHE, THE
from lib.local_hashing import BLH, OLH, LocalHashing
from lib.local_protocol import GRR, FrequencyOracle, count_law, pure_variance
from lib.subset_selection import SubsetSelection
from lib.unary_encoding import OUE, SUE, UnaryEncoding

ORACLES = {
    "GRR": GRR,
    "SUE": SUE,
    "OUE": OUE,
    "BLH": BLH,
    "OLH": OLH,
    "SHE": SHE,
    "THE": THE,
    "SS": SubsetSelection,
    "HR": HadamardResponse,
}

__all__ = ["ORACLES", "FrequencyOracle", "HadamardResponse", "LocalHashing", "SubsetSelection", "UnaryEncoding",
           "BLH", "GRR", "OLH", "OUE", "SHE", "SUE", "THE", "count_law", "pure_variance"]  # fmt: skip
