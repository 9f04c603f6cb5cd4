"""What AIM measures first, which marginals it then looks for, and when it turns to finer noise: its plan.

Three devices, each as Algorithms 2 to 4 of miura2025 have it ("printed") or as we found it better. Whatever a device looks at is public or
noisy, but for the scores, which the exponential mechanism keeps.

start
    "printed" measures every attribute with the noise of a round, d/T of the budget (Algorithm 3). "sized" first measures how many
    records there are, unless that is public. By then it is known how large the noise in the attributes' counts will be beside
    the records, and the attributes get more of the budget the larger it is, and the fewer they are (`first_share`). An attribute of n
    values has n noisy counts, so that its L1 error goes as n sigma; for the least sum of these at the same budget its part is as n^(2/3) (`parts`).
choice
    "printed" scores a marginal by its L1 distance from the model's, less the noise expected in all of its cells (Algorithm 2, line 11).
    A large table with a few cells that are far off then scores below nothing, for the noise of its other cells counts
    against it, though the fit does not follow that. "clear" adds up what each cell is off by beyond the noise expected in it, and
    nothing of a cell that is off by less: a record changes this by as much as before, one for each count that it changes.
pace
    "printed" quarters the noise's variance after a round in which the model has moved by less than the noise expected in all cells
    (Algorithm 4), those that are nearly empty included. "tested" halves it after a measurement that is no further from the model before it
    than noise alone: its squared distance over the variance, of which noise makes as many as there are cells, is above that by at most
    a standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..numerics import checks

TOTAL = Fraction(1, 100)  # of the budget, for the number of records
_PER_ROOT, _LEAST, _MOST, _FEW = 3.0, 0.1, 0.5, 9  # of the budget, for single attributes; where they are few
_BITS = 30  # of the parts


@dataclass(frozen=True)
class Plan:
    """The devices of a run, as the module's text says.

    start : "sized" or "printed"; choice : "clear" or "printed"; pace : "tested" or "printed"

    Raises ``ValueError`` for other words.

    >>> from lib.tables.plan import PRINTED, Plan
    >>> print(Plan(start="printed").pace, PRINTED.pace)
    tested printed
    """

    start: str = "sized"
    choice: str = "clear"
    pace: str = "tested"

    def __post_init__(self) -> None:
        for name, ours in (("start", "sized"), ("choice", "clear"), ("pace", "tested")):
            checks.one_of(name, getattr(self, name), (ours, "printed"))

    def rounds(self, d: int) -> int:
        """T, into so many rounds the budget is divided at first, for `d` attributes.

        As printed 16 d, as the code of the document has it. From d = 32 on a round takes longer and longer, so that there are fewer.
        """
        d = checks.whole("d", d, "[1, inf)")
        per, most, least = (16, 512, 4) if self.pace == "printed" else (5, 160, 2)
        return max(min(per * d, most), least * d)

    def cells(self, d: int, rho: float, counted: int) -> int:
        """The size limit of the model, for `d` attributes, a budget of `rho`, and candidates that have `counted` cells together.

        A choice that is clear finds more to measure, and the model grows: with little budget a small one is nearly as accurate, and quicker.
        """
        most = 10_000_000 if checks.whole("d", d, "[1, inf)") <= 32 else 500_000
        rho, counted = checks.number("rho", rho, "[1e-100, 1e100]"), checks.whole("counted", counted, "[1, inf)")
        return most if self.choice == "printed" else min(max(round(5_000_000 * rho), 60 * counted, 100_000), most)

    @property
    def growth(self) -> int:
        """By how much the budget of a round grows when the noise is made finer."""
        return 4 if self.pace == "printed" else 2


OURS, PRINTED = Plan(), Plan("printed", "printed", "printed")


def parts(sizes: Sequence[int]) -> list[Fraction]:
    """How the budget for single attributes of these `sizes` is divided: as n^(2/3), at most 1 in all.

    The sum of n sigma_n is least, at the same sum of 1 / sigma_n^2, where n sigma_n^3 is the same for all.
    """
    values = checks.real("sizes", sizes, "[1, inf)")
    if values.ndim != 1 or not values.size:
        raise ValueError(f"sizes must be a sequence of one size or more, got {sizes!r:.100}")
    weights = values ** (2 / 3)
    return [Fraction(max(math.floor(share * 2**_BITS), 1), 2**_BITS) for share in weights / weights.sum()]


def first_share(noise: float, d: int) -> Fraction:
    """Which share of the budget `d` single attributes get.

    noise : the L1 distance, as a share of all records and a mean over the attributes, that noise alone would make if they got all of the
        budget; (0, inf)
    d : [1, inf)

    Three times its root, for d < 9 times another 3 / sqrt(d), as fewer attributes leave fewer pairs to measure; but at least 0.1 and
    at most 0.5: found by trial, on the tables of `notebooks.studies.aim_peers.TUNED`.
    """
    noise, d = checks.number("noise", noise, "(0, inf)"), checks.whole("d", d, "[1, inf)")
    share = _PER_ROOT * math.sqrt(noise * _FEW / min(d, _FEW))
    return Fraction(math.floor(min(max(share, _LEAST), _MOST) * 2**_BITS), 2**_BITS)
