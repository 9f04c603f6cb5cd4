"""An attack on Gaussian synthesis: a lower bound on its epsilon, from releases of two neighbouring data sets.

The adversary knows everything except whether one record is in the table, sees the released records, clipped to the
cube, and bets by the likelihood ratio of the two fitted Gaussians (miura2022, section 2.3; `lib.attacks.audit` judges
the bets). The chapter "What is the guarantee worth for a real table?" uses this attack.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from lib.attacks import epsilon_lower_bound
from lib.gaussian_synthesis import fit, sample
from lib.numerics import checks

_BLOCK = 500  # trials drawn at a time, for memory


def off_the_wall(n: int, d: int, sigma: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a data set (n, d) in a corner of the cube, with covariance about sigma I, and a record (d,), the opposite corner.

    Independent attributes take -1 and about -1 + 2 sqrt(sigma) equally often, so that little is clipped on the far side; the
    squared Mahalanobis distance of the record is about d (2 - sqrt(sigma))^2 / sigma.

    n : integer in [2^d, inf), best a multiple of 2^d; d : integer in [1, 16]; sigma : (0, 0.5]. Raises ``ValueError`` otherwise.
    """
    d = checks.whole("d", d, "[1, 16]")
    n = checks.whole("n", n, f"[{2**d}, inf)")
    sigma = checks.number("sigma", sigma, "(0, 0.5]")
    side = np.sqrt(sigma * (1 + 2 / n))  # 2/n: the new record takes a little variance away
    corners = np.array(list(product((-1.0, 1.0), repeat=d)))
    return side * np.resize(corners, (n, d)) - (1 - side), np.ones(d)


def log_likelihood_ratios(given: tuple[ArrayLike, ArrayLike], pair: Sequence[tuple[ArrayLike, ArrayLike]],
                          sizes: ArrayLike, *, trials: int,
                          rng: np.random.Generator) -> NDArray[np.float64]:  # fmt: skip
    """Return the log-likelihood ratios of the first m released records for each m of `sizes`, shape (len(sizes), trials).

    given : (mean, cov) of the Gaussian from which the records are drawn; pair : the two Gaussians to distinguish
    sizes : integers, [1, inf); trials : integer in [1, inf); rng : numpy Generator
    """
    sizes = checks.integer("sizes", sizes, "[1, inf)").astype(int)
    trials = checks.whole("trials", trials, "[1, inf)")
    (mean, cov), (first, second) = given, (scipy.stats.multivariate_normal(*gaussian) for gaussian in pair)
    blocks = []
    for start in range(0, trials, _BLOCK):
        count = min(_BLOCK, trials - start)
        records = sample(mean, cov, count * sizes.max(), rng=rng)
        ratios = first.logpdf(records) - second.logpdf(records)
        blocks.append(ratios.reshape(count, -1).cumsum(axis=1)[:, sizes - 1])
    return np.concatenate(blocks).T


def attack(data: ArrayLike, record: ArrayLike, sizes: ArrayLike, *, trials: int, delta: float, confidence: float,
           rng: np.random.Generator) -> list[float]:  # fmt: skip
    """Return lower bounds on epsilon at `delta`, one for each size of a release, for `data` (n, d) and `data` with `record` (d,).

    Each bound holds with probability at least `confidence`, in (0, 1). For bounds that hold simultaneously, divide 1 -
    `confidence` among them.

    trials : releases of each data set, integer in [2, inf); delta : [0, 1)

    Other arguments are as for `log_likelihood_ratios`.
    """
    pair = fit(data), fit(np.vstack([data, record]))
    without, with_it = (log_likelihood_ratios(given, pair, sizes, trials=trials, rng=rng) for given in pair)
    found = (epsilon_lower_bound(p, q, delta=delta, confidence=confidence) for p, q in zip(without, with_it))
    return [one.epsilon_lower for one in found]
