"""Subset selection: a report is a set of d values, exp(epsilon) times as likely if it contains the user's value.

The user's value is in the set with probability p = d e^eps/(d e^eps + k - d). The rest of the set is uniform among the
other values. The optimal d is one of the two integers next to k/(e^eps + 1).

References: M. Ye, A. Barg: Optimal schemes for discrete distribution estimation under locally
differential privacy, IEEE Trans. Inf. Theory 64 (2018). S. Wang et al.: Mutual information optimally
local private discrete distribution estimation, arXiv:1607.08025 (2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .protocol import FrequencyOracle, bit_rows, column_sums


class SubsetSelection(FrequencyOracle):
    """Subset selection: reports are boolean rows of shape (k,) with d ones; a set supports its members.

    d : integer in [1, k-1]; default: the size with the smallest total variance. With d = 1, the protocol is GRR.
    """

    def __init__(self, k: int, epsilon: float, d: int | None = None) -> None:
        super().__init__(k, epsilon)
        chosen = optimal_size(self.k, self.epsilon) if d is None else d
        self.d = self._lent = checks.whole("d", chosen, f"[1, {self.k - 1}]")
        p, k, d = self.probabilities(self.epsilon, self.k, self.d)[0], self.k, self.d
        p = self._coin(p, lambda p: p * (k - d) / ((1 - p) * d))
        self._support_with(p, (p * (d - 1) + (1 - p) * d) / (k - 1), (Fraction(p) * k - d) / (k - 1))
        self._unsupported = (1 - self.p) / scipy.special.comb(self.k - 1, self.d)
        self.report_bytes = self.k

    @staticmethod
    def probabilities(epsilon: Any, k: Any, d: Any, exp: Callable[[Any], Any] = math.exp) -> tuple[Any, Any]:
        """Return the support probabilities (p, q), from numbers or, with sympy's `exp`, from symbols."""
        p = d / (d + (k - d) * exp(-epsilon))
        return p, (p * (d - 1) + (1 - p) * d) / (k - 1)

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return each user's set, by Floyd's sampling: d other values, or the user's value and d - 1 other values."""
        values = self._checked_values(values)
        sets = np.zeros((values.size, self.k), dtype=bool)
        users = np.arange(values.size)
        own = rng.random(values.size) < self.p
        sets[users, values] = own
        for last in range(self.k - 1 - self.d, self.k - 1):
            if last == self.k - 1 - self.d:  # the first step is for users who need d other values
                who, mine = users[~own], values[~own]
            else:
                who, mine = users, values
            pick = rng.integers(last + 1, size=who.size)
            pick += pick >= mine  # from a number among the others to a value
            taken = sets[who, pick]
            sets[who, np.where(taken, last + (last >= mine), pick)] = True
        return sets

    def supports(self, reports: ArrayLike) -> NDArray[np.bool_]:
        """Return the sets themselves, boolean, shape (n, k). Raises ``ValueError`` unless each contains d values."""
        sets = bit_rows(reports, self.k)
        sizes = np.count_nonzero(sets, axis=1)
        if (sizes != self.d).any():
            raise ValueError(f"reports must contain {self.d} values each, got one with {sizes[sizes != self.d][0]}")
        return sets

    def aggregate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Return support counts, shape (k,): the number of sets that contain each value."""
        return column_sums(self.supports(reports))

    def simulate(self, counts: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return support counts from their exact joint law, in k steps of 3 (d + 1) draws, for fewer than 10^9 users.

        The method goes through the values in order. A set takes its user's value with probability p, and any other
        value with probability needed/left: the number of other values that the set still needs, divided by the number
        of other values still to come. Users in the same state are alike, so it suffices to count the users who need j
        more values, for each j. The users `ahead` of their value form two groups: those whose set will not contain it,
        and those whose set will. The users `past` their value form one group.
        """
        own = self._checked_true_counts(counts)
        chosen = rng.binomial(own, self.p)
        need = np.arange(self.d + 1)
        ahead, past = np.zeros((2, self.d + 1), dtype=np.int64), np.zeros(self.d + 1, dtype=np.int64)
        ahead[0, self.d], ahead[1, self.d - 1] = (own - chosen).sum(), chosen.sum()
        support = chosen.copy()
        for x, members in enumerate(zip(own - chosen, chosen)):
            owners = [rng.multivariate_hypergeometric(row, m, method="marginals") for row, m in zip(ahead, members)]
            left = self.k - x  # for users past their own value; one less for users ahead of it
            ahead, taken = _take(ahead - owners, need / max(left - 1, 1), rng)
            past, taken_too = _take(past, need / left, rng)
            support[x] += taken + taken_too
            past += sum(owners)
        return support


def _take(users, chance, rng) -> tuple[np.ndarray, int]:
    """Let each of the `users[..., j]` who need j more values take the current value with probability `chance[j]`.

    Return the new numbers of users, and how many users took the value.
    """
    taken = rng.binomial(users, np.minimum(chance, 1))  # above 1 only where there are no users
    users = users - taken
    users[..., :-1] += taken[..., 1:]
    return users, taken.sum()


def optimal_size(k: int, epsilon: float) -> int:
    """Return the integer d in [1, k-1] with the smallest total variance, one of the two next to k/(e^eps + 1).

    The choice is the same for every histogram.
    """
    k, epsilon = checks.whole("k", k, f"[2, {2**32}]"), checks.number("epsilon", epsilon, "(0, inf)")
    odds = math.exp(-epsilon)
    nearest = (min(max(round_(k * odds / (1 + odds)), 1), k - 1) for round_ in (math.floor, math.ceil))

    def total_variance(d):  # up to a factor that all d share
        p, q = SubsetSelection.probabilities(epsilon, k, d)
        gap = d * (k - d) / (d + (k - d) * odds)  # (k - 1) (p - q) / (1 - odds)
        return (p * (1 - p) + (k - 1) * q * (1 - q)) / gap**2

    return min(nearest, key=total_variance)
