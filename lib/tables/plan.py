"""Plan a run of AIM: its first measurements, its choice of marginals, when it lowers the noise, and how it fits models.

Three parts of AIM have several options: "printed" is the part as Algorithms 2 to 4 of miura2025 print it, and the other
options are ours. The inputs of these parts are public or noisy, except the scores, which the exponential mechanism
protects.

start : "printed" measures every attribute with the noise of a round, at d/T of the budget (Algorithm 3). Option "sized"
    first measures the number of records, unless that number is public. The size of the noise in the attributes' counts
    is then known relative to the number of records. The attributes get more of the budget if this noise is larger or if
    there are fewer attributes (`first_share`). An attribute with n values has n noisy counts, so its L1 error grows as
    n sigma. For a given budget, the sum of these errors is smallest if the part of each attribute grows as n^(2/3)
    (`parts`). Option "none" measures nothing before the first round.
choice : "printed" scores a marginal by its L1 distance from the model's marginal, minus the noise expected in all of
    its cells (Algorithm 2, line 11). A large table with a few cells that are far off can then have a negative score,
    because the noise expected in the other cells is subtracted too. Option "clear" adds up, over all cells, the excess
    of the distance over the noise expected in a cell, and ignores cells with a smaller distance. In both cases, the
    sensitivity of a score of weight 1 is the number of counts that a record can change.
pace : "printed" divides the variance of the noise by four after a round that changed the model's counts by at most the
    noise expected in all cells (Algorithm 4), including nearly empty cells. Option "tested" halves the variance after a
    measurement that noise alone explains. The test statistic is the squared distance between the measurement and the
    model before it, divided by the variance. Under noise alone, the mean of the statistic is the number of cells. Noise
    is taken to explain a statistic that exceeds this mean by at most one standard deviation. Option "steady" keeps the
    noise the same in all rounds but the last.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..numerics import checks
from . import last_fit
from .budget_schedule import ALPHAS

TOTAL = Fraction(1, 100)  # of the budget, for the number of records
_PER_ROOT, _LEAST, _MOST, _FEW = 3.0, 0.1, 0.5, 9  # budget proportions for single attributes; few attributes
_BITS = 30  # of the parts
NOISES = ("gaussian", "laplace")
_WORDS = {
    "start": ("sized", "printed", "none"),
    "choice": ("clear", "printed"),
    "pace": ("tested", "printed", "steady"),
    "noise": NOISES,
    "last_fit": last_fit.KINDS,
}


@dataclass(frozen=True)
class Plan:
    """The settings of a run of `aim`; `dataclasses.replace(plan, rounds=80)` is the same plan with one setting changed.

    start : "sized", "printed" or "none"; choice : "clear" or "printed"; pace : "tested", "printed" or "steady". The
        module's docstring describes these options
    rounds : T of Algorithm 2, the number of equal rounds planned at the start, at least the number d of attributes.
        `rounds_for` gives the default. If T is near d, the budget may be spent within the first d measurements
    alpha : proportion of each round's budget that goes to measuring, [1e-9, 0.999999] (Algorithm 2, lines 1 and 2)
    noise : "gaussian", or "laplace" with the same rho in each round
    max_cells : size limit of the model, in cells of its junction tree, an integer in [1, inf). `max_cells_for` gives
        the default. When a part of the budget has been spent, a model may use at most the same part of the limit, so
        that early rounds leave room for later rounds. The run does not compute marginals that can never fit
    candidates : largest number of attribute sets from which a round chooses, an integer in [1, inf). `candidates_for`
        gives the default. If there are more candidates, each round draws this number of them at random, without looking
        at the records. The guarantee stays the same and rounds are faster, but errors are larger (by 4 % in a run with
        1/5 of 465 sets)
    round_fit : for the models between rounds, a pair: the weight of the entropy times sigma, [1e-6, 1e6], and the
        accepted gap, [1e-6, 1] (`graphical_model.fit`). Smaller values take longer and follow the noise more closely
    descent : the number of steps of mirror descent that fit each model, an integer in [0, inf). The descent starts from
        the previous model and uses the weights 1/sigma (Algorithms 1 and 2). With 0, the dual method of
        `graphical_model.fit` fits the models, with the weights 1/sigma^2 and the settings `round_fit` and `last_fit`
    last_fit : "adaptive" or "plain"

    An "adaptive" last fit takes four steps, with a larger weight of the entropy for effects that barely exceed their
    noise. A "plain" last fit takes one step, with the same small weight of the entropy for all effects.

    `OURS` contains our settings. `PRINTED` is the paper's algorithm as it is printed, with Algorithm 1 for line 13 of
    Algorithm 2, plus a limit on the size of the model, without which a run may not end. The paper gives neither this
    limit nor the number of steps of the descent; we use those of its authors' code. `AUTHORS_CODE` differs from
    `PRINTED` in the fit: the weights are 1/sigma^2, as in the code since 2026, and the models are fitted until
    their loss is close to its minimum, which the descent in the code approaches.
    Raises ``ValueError`` for values outside these ranges.

    >>> from lib.tables.plan import PRINTED, Plan
    >>> print(Plan(start="printed").pace, PRINTED.pace, PRINTED.rounds_for(9))
    tested printed 144
    """

    start: str = "sized"
    choice: str = "clear"
    pace: str = "tested"
    rounds: float | None = None
    alpha: float = 0.9
    noise: str = "gaussian"
    max_cells: int | None = None
    candidates: int | None = None
    round_fit: tuple[float, float] = (0.3, 0.1)  # a loose fit, which suffices because the last fit is close
    last_fit: str = "adaptive"
    descent: int = 0

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            checks.one_of(name, getattr(self, name), words)
        if not isinstance(self.round_fit, Sequence) or len(self.round_fit) != 2:
            raise ValueError(f"round_fit must be a pair of an entropy weight and a gap, got {self.round_fit!r}")
        tau, gap = self.round_fit
        fit = checks.number("round_fit[0]", tau, "[1e-6, 1e6]"), checks.number("round_fit[1]", gap, "[1e-6, 1]")
        checked = {"round_fit": fit, "alpha": checks.number("alpha", self.alpha, ALPHAS)}
        checked["descent"] = checks.whole("descent", self.descent, "[0, inf)")
        for name, check in (("rounds", checks.number), ("max_cells", checks.whole), ("candidates", checks.whole)):
            if getattr(self, name) is not None:
                checked[name] = check(name, getattr(self, name), "[1, inf)")
        vars(self).update(checked)

    def rounds_for(self, d: int) -> float:
        """Return `rounds`, at least d, or the default for a table with `d` attributes.

        The default is 16 d, as printed. For the pace "tested", the default is 5 d up to d = 32. For larger d, it is
        less than 5 d, because rounds take longer.
        """
        d = checks.whole("d", d, "[1, inf)")
        if self.rounds is not None:
            return checks.number("rounds", self.rounds, f"[{d}, inf)")
        return max(min(5 * d, 160), 2 * d) if self.pace == "tested" else 16 * d

    def max_cells_for(self, d: int, rho: float, counted: int) -> int:
        """Return `max_cells`, or the default for `d` attributes, the budget `rho` and `counted` cells of candidates.

        For the choice "clear", the default is smaller for smaller budgets. With a small budget, a small model is nearly
        as accurate as a large one, and it is faster to fit.
        """
        if self.max_cells is not None:
            return self.max_cells
        most = 10_000_000 if checks.whole("d", d, "[1, inf)") <= 32 or self.choice == "printed" else 500_000
        rho, counted = checks.number("rho", rho, "[1e-100, 1e100]"), checks.whole("counted", counted, "[1, inf)")
        return most if self.choice == "printed" else min(max(round(5_000_000 * rho), 60 * counted, 100_000), most)

    def candidates_for(self, d: int) -> int:
        """Return `candidates`, or the default for `d` attributes, which is unlimited if the choice is "printed".

        For the choice "clear", the default is 1000 up to `d` = 32 and 100 for larger d, because finding the size of a
        model is slow.
        """
        default = 1000 if checks.whole("d", d, "[1, inf)") <= 32 else 100
        default = sys.maxsize if self.choice == "printed" else default
        return default if self.candidates is None else self.candidates

    @property
    def growth(self) -> int:
        """Return the factor by which the budget of a round grows when the noise is lowered."""
        return 4 if self.pace == "printed" else 2


OURS = Plan()
PRINTED = Plan("printed", "printed", "printed", descent=1000)
AUTHORS_CODE = Plan("printed", "printed", "printed", round_fit=(0.05, 0.01), last_fit="plain")


def parts(sizes: Sequence[int]) -> list[Fraction]:
    """Return each attribute's part of the budget for single attributes; it grows as n^(2/3), and the sum is at most 1.

    For a given sum of 1 / sigma_n^2, the sum of n sigma_n is smallest if n sigma_n^3 is the same for all `sizes` n.
    """
    values = checks.real("sizes", sizes, "[1, inf)")
    if values.ndim != 1 or not values.size:
        raise ValueError(f"sizes must be a sequence of at least one size, got {sizes!r:.100}")
    weights = values ** (2 / 3)
    return [Fraction(max(math.floor(share * 2**_BITS), 1), 2**_BITS) for share in weights / weights.sum()]


def first_share(noise: float, d: int) -> Fraction:
    """Return the proportion of the budget that `d` single attributes get together.

    noise : (0, inf), the L1 error that noise alone would cause if the attributes got the whole budget, as a mean over
        the attributes and a proportion of all records
    d : [1, inf)

    The proportion is three times the square root of the noise. For d < 9, it is multiplied by 3 / sqrt(d), because
    fewer attributes leave fewer pairs to measure. The result is limited to [0.1, 0.5]. These numbers were found by
    trial on the tables of `notebooks.studies.aim_peers.TUNED`.
    """
    noise, d = checks.number("noise", noise, "(0, inf)"), checks.whole("d", d, "[1, inf)")
    share = _PER_ROOT * math.sqrt(noise * _FEW / min(d, _FEW))
    return Fraction(math.floor(min(max(share, _LEAST), _MOST) * 2**_BITS), 2**_BITS)
