"""Audit with one run: separate coins decide which of many canaries are in the table, and the coins are guessed.

If a mechanism is (epsilon, delta)-DP when a record is added or removed, nobody can guess independent coins much better than
under randomized response: of r guesses at m coins, v or more are right with probability at most

    P[W >= v] + 2 m delta max_{1 <= i <= v} P[v > W >= v - i] / i,    W ~ Binomial(r, e^epsilon / (e^epsilon + 1))

(Steinke, Nasr and Jagielski 2023, Theorem 5.2), however the guesses are made.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lib.attacks import Audit
from lib.numerics import checks

_MOST = 50.0


def one_run(
    scores: ArrayLike, present: ArrayLike, *, guesses: int, delta: float = 0.0, confidence: float = 0.95
) -> Audit:
    """Return a lower bound on epsilon from one run.

    scores : finite, shape (m,), one for each canary, higher if the canary seems to be in the table
    present : bools of the same shape, drawn by fair, independent coins. True means that the canary is in the table
    guesses : integer in [1, m/2], fixed before the scores are known. This many canaries with the highest scores are
        guessed to be in the table, and as many with the lowest scores are guessed not to be in it
    delta : [0, 1); confidence : (0, 1)

    In the `Audit`, hits are right guesses, and false hits are wrong guesses.
    """
    scores, present = checks.real("scores", scores, "[-inf, inf]"), np.asarray(present)
    if scores.ndim != 1 or not np.isfinite(scores).all() or scores.size < 2:
        raise ValueError(f"scores must be finite, of shape (m,), m >= 2, got shape {scores.shape}")
    if present.shape != scores.shape or present.dtype != bool:
        raise ValueError(f"present must be bools of shape {scores.shape}, got {present.dtype} of shape {present.shape}")
    guesses = checks.whole("guesses", guesses, f"[1, {scores.size // 2}]")
    delta, confidence = checks.number("delta", delta, "[0, 1)"), checks.number("confidence", confidence, "(0, 1)")
    order = np.argsort(scores, kind="stable")
    hits = int(present[order[-guesses:]].sum() + (~present[order[:guesses]]).sum())
    bound = _largest_refuted(hits, 2 * guesses, scores.size, delta, 1 - confidence)
    return Audit(bound, float(scores[order[-guesses]]), "first", hits, 2 * guesses - hits, scores.size, confidence)


def chance(epsilon: float, hits: int, guesses: int, canaries: int, delta: float = 0.0) -> float:
    """Return the theorem's bound, at most 1, on the probability of `hits` or more under (`epsilon`, `delta`)-DP.

    epsilon : [0, inf); guesses : integer in [1, canaries]; hits : integer in [0, guesses]; canaries : integer in [1,
        1e9]; delta : [0, 1)
    """
    epsilon, delta = checks.number("epsilon", epsilon, "[0, inf)"), checks.number("delta", delta, "[0, 1)")
    canaries = checks.whole("canaries", canaries, "[1, 1e9]")
    guesses = checks.whole("guesses", guesses, f"[1, {canaries}]")
    hits = checks.whole("hits", hits, f"[0, {guesses}]")
    right = 1 / (1 + np.exp(-epsilon))
    short = np.arange(1, hits + 1)
    below = np.cumsum(scipy.stats.binom.pmf(hits - short, guesses, right))  # P[v > W >= v - i]
    slack = 2 * canaries * delta * (below / short).max(initial=0.0)
    return float(min(scipy.stats.binom.sf(hits - 1, guesses, right) + slack, 1.0))


def _largest_refuted(hits, guesses, canaries, delta, error) -> float:
    """Return the largest epsilon, to 1e-6, at which the probability of `hits` is below `error`; 0 if there is none."""
    if chance(0.0, hits, guesses, canaries, delta) >= error:
        return 0.0
    low, high = 0.0, _MOST
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle, hits, guesses, canaries, delta) < error else (low, middle)
    return low
