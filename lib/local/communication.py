"""The length of a frequency oracle's reports."""

from __future__ import annotations

import math

from scipy.special import betaln

from ..numerics import checks
from .hadamard_response import HadamardResponse
from .histogram_encoding import SHE
from .local_hashing import LocalHashing
from .protocol import FrequencyOracle
from .subset_selection import SubsetSelection
from .unary_encoding import UnaryEncoding


def report_bits(oracle: FrequencyOracle) -> float:
    """Return the number of bits of an uncompressed report of `oracle`: log2 of the number of reports that it may send.

    GRR needs log2 k bits. SUE, OUE and THE need k. BLH and OLH need 128 + log2 g, because a report contains the hash
    function, two numbers of 64 bits. SHE needs 64 k. SS needs log2 of the number of sets of d values, and HR needs log2
    of the number of cells.
    Raises ``ValueError`` for anything but an oracle of `lib.local`.

    >>> from lib.local import GRR
    >>> from lib.local.communication import report_bits
    >>> report_bits(GRR(16, 1.0))
    4.0
    """
    if not isinstance(oracle, FrequencyOracle):
        raise ValueError(f"oracle must be a frequency oracle of lib.local, got {oracle!r:.100}")
    k = checks.number("k", oracle.k, "[2, inf)")
    if isinstance(oracle, UnaryEncoding):
        return k
    if isinstance(oracle, LocalHashing):
        return 128 + math.log2(oracle.g)
    if isinstance(oracle, SHE):
        return 64 * k
    if isinstance(oracle, SubsetSelection):
        return float(-(betaln(oracle.d + 1, k - oracle.d + 1) + math.log(k + 1)) / math.log(2))
    if isinstance(oracle, HadamardResponse):
        return math.log2(oracle.cells)
    return math.log2(k)
