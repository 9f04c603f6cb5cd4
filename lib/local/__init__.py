"""Local differential privacy: frequency oracles (`kiri2019`).

A collector wants to know how often each of k values occurs among n users, none of whom is to be trusted
with more than an epsilon-differentially private report. All the oracles answer to the same names:

    oracle = OLH(k, epsilon)
    counts = oracle.collect(values, rng=rng)        # real clients; perturb and aggregate do the two halves
    oracle.estimate(counts, n), oracle.variance(f, n), oracle.interval(counts, n)
    oracle.simulate(true_counts, rng=rng)           # support counts from their law, for large studies

What they share stands in `protocol`. Estimates are raw: to make them a distribution is a step of its own, in `consistency`.
"""

from .hadamard_response import HadamardResponse
from .histogram_encoding import SHE, THE
from .local_hashing import BLH, OLH, LocalHashing
from .protocol import GRR, FrequencyOracle, count_law, pure_variance
from .subset_selection import SubsetSelection
from .unary_encoding import OUE, SUE, UnaryEncoding

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
