"""Count values under local differential privacy, by frequency oracles (`kiri2019`).

A collector wants to know how often each of k values occurs among n users. No user trusts the collector with more than
an epsilon-differentially private report. All oracles have the same interface:

    oracle = OLH(k, epsilon)
    counts = oracle.collect(values, rng=rng)        # real clients; perturb and aggregate do the two halves
    oracle.estimate(counts, n), oracle.variance(f, n), oracle.interval(counts, n)
    oracle.simulate(true_counts, rng=rng)           # support counts from their law, for large studies

`protocol` contains their common base. Estimates are raw: `base_cut` sets insignificant estimates to 0, and `norm_sub`
turns estimates into a distribution.
"""

from .communication import report_bits  # how many bits a report takes
from .consistency import (
    base_cut,  # estimates below a significance threshold set to zero
    norm_sub,  # the nearest distribution to the estimates
)
from .hadamard_response import HadamardResponse  # Hadamard response
from .histogram_encoding import (
    SHE,  # summation with histogram encoding: Laplace noise on every cell
    THE,  # thresholding with histogram encoding
)
from .local_hashing import (
    BLH,  # binary local hashing
    OLH,  # optimal local hashing
    LocalHashing,  # local hashing to g buckets
)
from .protocol import (
    GRR,  # generalized randomized response, also k-RR and direct encoding
    FrequencyOracle,  # what all frequency oracles share
    count_law,  # the law of a support count
    pure_variance,  # the variance of an estimate of a pure protocol
)
from .subset_selection import SubsetSelection  # subset selection
from .unary_encoding import (
    OUE,  # optimized unary encoding
    SUE,  # symmetric unary encoding, also basic RAPPOR
    UnaryEncoding,  # unary encoding with probabilities p and q
)

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
