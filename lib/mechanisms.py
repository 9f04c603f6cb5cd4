"""Mechanisms, each with its guarantee in the terms of `accounting`."""

from __future__ import annotations

import numpy as np

from lib import checks


def exponential(scores, epsilon, sensitivity, *, rng) -> int:
    """The index that the exponential mechanism chooses among `scores`.

    scores : finite, shape (k,), k >= 1, higher is better; epsilon : [0, inf)
    sensitivity : by how much neighbouring tables can change any score, (0, inf)

    Index i has probability proportional to exp(epsilon scores[i] / (2 sensitivity)); drawn as the
    largest of the exponents plus Gumbel noise, so no exponential is ever taken. It is epsilon-DP and,
    its privacy loss having a range of epsilon, epsilon^2/8-zCDP (miura2025, Definition 2.6;
    Cesar and Rogers 2021, Lemma 4).
    """
    scores = checks.real("scores", scores, "(-inf, inf)")
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"scores must have shape (k,) with k >= 1, got {scores.shape}")
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    sensitivity = checks.real("sensitivity", sensitivity, "(0, inf)")
    return int(np.argmax(epsilon * scores / (2 * sensitivity) + rng.gumbel(size=scores.size)))
