"""The register of all theorems about Gaussian synthesis: what each theorem covers, its functions and its source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..numerics import checks
from ..numerics.checks import Numbers
from . import bounds, pairs, releases


@dataclass(frozen=True)
class Theorem:
    """The scope of a theorem, and the functions that compute its bounds.

    name : such as "Theorem H"; source : where the theorem is stated and proved
    neighbours : "unbounded" (one record is added or removed, n is private) or "bounded" (one of n records is replaced,
        n is public)
    covariance : which of `plain` and `regularised` the theorem covers; `regularised` has sigma added to each variance
    assumes : which of the neighbours must have a plain covariance without an eigenvalue below sigma: "first", "smaller"
        or "both"; "none" if the theorem does not cover plain covariances. If sigma is added, nothing is assumed
    renyi : the Rényi epsilon of one record, a function of (n, alpha, d, sigma), or None
    exact : the epsilon of a release at delta, from the exact law of its privacy loss, a function of (n, delta, d,
        sigma, size=None), or None
    attained : a function that gives a lower bound for `renyi` (or for `exact` if `renyi` is None), or None. The lower
        bound is for a plain covariance if the theorem covers one
    """

    name: str
    neighbours: str
    covariance: tuple[str, ...]
    assumes: str
    source: str
    renyi: Callable[..., Numbers] | None = None
    exact: Callable[..., float] | None = None
    attained: Callable[..., Numbers] | None = None

    def falls_from(self, d: int, sigma: float) -> int:
        """Return an n above which the cost of a fixed number of synthetic records is proved to fall (see `releases`).

        d, sigma : scalars as in the theorem's function

        A cost that is computed at this n or a larger one also holds for all larger data sets.

        >>> from lib.gaussian_synthesis import THEOREMS
        >>> print([theorem.falls_from(1, 0.9) for theorem in THEOREMS])
        [1, 1, 4, 4, 2, 2, 2, 2, 2]
        """
        d, sigma = checks.whole("d", d, "[1, 1e30]"), checks.number("sigma", sigma, "[1e-30, 1e30]")
        if self.neighbours == "bounded":
            return 2
        if self.assumes != "smaller":
            return 1
        radius = float(bounds.largest_radius(d, checks.number("sigma", sigma, "[1e-30, 1)")))
        return max(math.ceil(2 * radius / (radius - 1) * (1 + 2.0**-40)) - 1, 1)

    def epsilon(self, n: int, delta: float, d: int, sigma: float, *, size: int | None = None) -> float:
        """Return the epsilon at `delta` for `size` records (default n), by `exact` or by the best Rényi order.

        Arguments and errors are those of the theorem's function and of `released_dp`.

        >>> from lib.gaussian_synthesis import THEOREMS
        >>> print(THEOREMS[0].name, round(THEOREMS[0].epsilon(10**7, 1e-5, 6, 0.01), 3))
        Theorem H 2.159
        """
        if self.exact is not None:
            return self.exact(n, delta, d, sigma, size=size)
        assert self.renyi is not None
        return float(releases.released_dp(n, delta, d, sigma, size=size, bound=self.renyi).epsilon)


_CHAPTER = "chapter 3 of miura2022"
THEOREMS = (
    Theorem(
        "Theorem H", "unbounded", ("regularised",), "none", "regularised_epsilon",
        bounds.regularised_epsilon, releases.regularised_released_epsilon, pairs.regularised_epsilon_attained,
    ),
    Theorem("Theorem 3.1", "unbounded", ("plain",), "first", "miura2022", bounds.unbounded_epsilon),
    Theorem(
        "Theorem D", "unbounded", ("plain",), "smaller", _CHAPTER,
        bounds.unbounded_epsilon_tight, attained=pairs.unbounded_epsilon_attained,
    ),
    Theorem(
        "Theorem E", "unbounded", ("plain",), "smaller", _CHAPTER,
        exact=releases.released_epsilon, attained=releases.released_epsilon_attained,
    ),
    Theorem("Theorem 3.2", "bounded", ("plain", "regularised"), "first", "miura2022", bounds.bounded_epsilon),
    Theorem("Theorem A", "bounded", ("plain", "regularised"), "first", _CHAPTER, bounds.bounded_epsilon_tight),
    Theorem("Theorem B", "bounded", ("plain", "regularised"), "first", _CHAPTER, bounds.bounded_epsilon_joint),
    Theorem("Theorem G", "bounded", ("plain", "regularised"), "both", _CHAPTER, bounds.bounded_epsilon_both,
            attained=pairs.bounded_epsilon_attained),
    Theorem("Theorem G'", "bounded", ("plain",), "both", "bounded_epsilon_centred", bounds.bounded_epsilon_centred,
            attained=pairs.bounded_epsilon_attained),
)  # fmt: skip
"""All theorems; for unbounded neighbours, the one that needs no assumption comes first."""
