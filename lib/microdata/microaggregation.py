"""Microaggregation with Laplace noise, the first step of AnonymizingFirst in sei2017: as published, and made private.

The paper (section 4-2 (1)) takes the step from Soria-Comas et al. 2014 and Sánchez et al. 2016. Records are put into
groups of at least k records, and each group is represented by its mean (its centroid). Laplace noise is added to the
centroids, and every record is replaced by the noisy centroid of its group. Neighbours are bounded: one of n records
is replaced, and n is public. All values lie in [0, 1].

Individual ranking (2016) groups each attribute separately: the k smallest values, the next k values, and so on.

Lemma. Replacing one value moves the vector of the n // k centroids of one attribute by at most 1/k in L1.
Proof. Let x and x' be the sorted values before and after a value a is replaced by b, say a <= b. Removing a and
inserting b moves the values between a and b down by one place, so x'_i >= x_i for all i. All other values occur in x
and in x', so sum_i (x'_i - x_i) = b - a <= 1. A group is a set of at least k places, the same for x and x'. So
sum_g |c'_g - c_g| = sum_g sum_{i in g} (x'_i - x_i) / |g| <= (b - a) / k. ∎  (The bound is attained if one of k zeros
becomes a one, and all other values are ones.)

So noise of scale m / (k epsilon) on the centroids of m attributes makes the lists of centroids epsilon-DP. The
published method relies on this sensitivity, which does not cover the assignment of records to groups. The assignment
depends on the data, and the released records reveal it: whatever the noise, records with equal values belong to the
same group. Two records can share a group with probability 1 under one database and with probability 0 under its
neighbour (the tests give an example of five records), so no epsilon gives a guarantee with delta below 1. The clipping
to [0, 1] in `published` can make two centroids equal by chance. But two records that differ with probability p > 0
under one database and never under the other still rule out every epsilon with a delta below p. Shuffling the records
does not help if there are two columns or more, because it leaves the counts of the pairs of groups as they are. Fresh
noise for every record would hide the groups, but it would cost at least k epsilon, because a record can move from the
first group to the last, a distance of up to 1, in all m attributes.

These functions are private:

- `noisy_centroids`: the lists of centroids, one for each attribute, without the records (the lemma).
- `private`: a private form of individual ranking. First it computes `noisy_centroids` of the numeric attributes, for a
  part of epsilon. Then every value is rounded to the nearest released centroid. Rounding needs no other records, so
  neighbours stay neighbours, and the data become categorical over a public domain. The joint distribution is released
  as noisy counts of each attribute with the label, for the rest of epsilon (a naive Bayes model with Laplace noise, see
  `_naive_bayes`). Records are drawn from the noisy counts, so no released record belongs to a person. The second step
  depends on the result of the first, so basic composition gives epsilon for both together.

Noise is drawn in floating point (`floating_point` shows what that reveals).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from ..mechanisms.noise import generator, laplace
from ..numerics import checks
from ..tables.table import Domain, Table

_CENTROID_SHARE = 0.3  # the part of epsilon for the centroids, if a column is numeric


@dataclass(frozen=True)
class Anonymized:
    """Records to train on, in place of the real ones.

    features : float array (n, d) in [0, 1]; labels : integers (n,), 0 or 1
    epsilon : the guarantee of the released records for bounded neighbours; inf if there is no guarantee
    """

    features: np.ndarray
    labels: np.ndarray
    epsilon: float


def individual_ranking(values: ArrayLike, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the increasing centroids (n // k,) of groups of k sorted values, and the group of each value, (n,).

    values : (n,) in [0, 1]; k : integer in [1, n]; the last group also takes the remaining values and has up to 2k - 1
    """
    values = checks.real("values", values, "[0, 1]")
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"values must be one column (n,) of at least one value, got shape {values.shape}")
    n = len(values)
    k = checks.whole("k", k, f"[1, {n}]")
    groups = np.minimum(np.arange(n) // k, n // k - 1)
    order = np.argsort(values, kind="stable")
    centroids = np.bincount(groups, weights=values[order]) / np.bincount(groups)
    group = np.empty(n, dtype=np.intp)
    group[order] = groups
    return centroids, group


def noisy_centroids(
    features: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator
) -> list[NDArray[np.float64]]:
    """Return each column's centroids with Laplace noise: d arrays (n // k,), epsilon-DP for bounded neighbours.

    features : (n, d) in [0, 1]; k : integer in [1, n]; epsilon : (0, inf), split equally over the columns
    """
    features = checks.features(features, "[0, 1]")
    k = checks.whole("k", k, f"[1, {len(features)}]")
    scale = features.shape[1] / (k * _epsilon(epsilon))
    return [c + laplace(c.shape, scale, rng=rng) for c in (individual_ranking(column, k)[0] for column in features.T)]


def published(
    features: ArrayLike, labels: ArrayLike, epsilon: float, *, k: int, rng: np.random.Generator
) -> Anonymized:
    """Return the data of AnonymizingFirst as the literature describes it: NOT differentially private (see the module).

    features : (n, d) in [0, 1]; labels : (n,) of 0 and 1, treated as another attribute
    epsilon : (0, inf), the epsilon of the centroids; k : integer in [1, n]

    Each value is the noisy centroid of its group, clipped to [0, 1]; a label is 1 if its noisy centroid exceeds 1/2.
    """
    features, labels = _records(features, labels)
    table = np.column_stack([features, labels])
    noisy = noisy_centroids(table, k, epsilon, rng=rng)
    released = np.column_stack([c[individual_ranking(column, k)[1]] for c, column in zip(noisy, table.T)])
    return Anonymized(released[:, :-1].clip(0, 1), (released[:, -1] > 0.5).astype(np.int64), inf)


def private(features: ArrayLike, labels: ArrayLike, epsilon: float, *, levels: ArrayLike, rng: np.random.Generator,
            groups: int = 16) -> Anonymized:  # fmt: skip
    """Return `epsilon`-DP records (bounded), by individual ranking of numeric columns and noisy counts with labels.

    features : (n, d) in [0, 1]; labels : (n,) of 0 and 1; epsilon : (0, inf)
    levels : (d,) integers, public: 0 for a numeric column, or L >= 2 for a column that takes only the L values 0,
        1/(L-1), ..., 1. Encode each categorical attribute as one such column: one-hot columns would be drawn
        independently of one another, given the label
    groups : integer in [1, n], the number of groups of a numeric column
    """
    features, labels = _records(features, labels)
    generator(rng)
    levels = _levels(levels, features)
    groups = checks.whole("groups", groups, f"[1, {len(labels)}]")
    share = _CENTROID_SHARE if (levels == 0).any() else 0.0
    epsilon = _epsilon(epsilon)
    values = [np.arange(level) / max(level - 1, 1) for level in levels]
    numeric = np.flatnonzero(levels == 0)
    if numeric.size:
        noisy = noisy_centroids(features[:, numeric], len(labels) // groups, share * epsilon, rng=rng)
        for j, centroids in zip(numeric, noisy):
            # The nearest increasing list in [0, 1] without repetitions; centroids have these properties.
            values[j] = np.unique(isotonic_regression(centroids).x.clip(0, 1))
    codes = np.column_stack([_nearest(column, known) for column, known in zip(features.T, values)])
    sizes: list[tuple] = [*enumerate(map(len, values)), ("label", 2)]
    table = Table(np.column_stack([codes, labels]), Domain(sizes))
    drawn = _naive_bayes(table, (1 - share) * epsilon, rng)
    released = np.column_stack([known[column] for known, column in zip(values, drawn.T)])
    return Anonymized(released, drawn[:, -1], epsilon)


def _naive_bayes(table, epsilon, rng) -> np.ndarray:
    """Return n records (n, d + 1), `epsilon`-DP for bounded neighbours. Each attribute is drawn given only the label.
    In each of the d tables (attribute, label), replacing a record moves 1 from one cell to another, so the L1
    sensitivity is 2d. The distribution of labels is the mean over the d noisy tables, each summed over its attribute,
    at no further cost."""
    *attributes, label = table.domain.attributes
    scale = 2 * len(attributes) / epsilon
    counts = [table.marginal((name, label)) for name in attributes]
    noisy = [np.maximum(c + laplace(c.shape, scale, rng=rng), 0) + 1e-9 for c in counts]  # at least one cell is not 0
    shares = np.mean([c.sum(axis=0) / c.sum() for c in noisy], axis=0)
    labels = (rng.random(len(table)) < shares[1]).astype(np.int64)
    columns = []
    for c in noisy:
        cumulated = np.cumsum(c / c.sum(axis=0), axis=0)
        place = (rng.random(len(table)) > cumulated[:, labels]).sum(axis=0)
        columns.append(np.minimum(place, len(c) - 1))  # rounding may leave the last sum below 1
    return np.column_stack([*columns, labels])


def _nearest(column, known):
    """Return, for each entry, the index of the nearest of the increasing values `known`; a tie gives the lower one."""
    return np.searchsorted((known[1:] + known[:-1]) / 2, column, side="left")


def _records(features, labels) -> tuple[np.ndarray, np.ndarray]:
    features = checks.features(features, "[0, 1]")
    return features, checks.labels(labels, len(features))


def _levels(levels, features) -> np.ndarray:
    levels = checks.integer("levels", levels, "[0, 1e6]").astype(int)
    if levels.shape != features.shape[1:] or (levels == 1).any():
        wanted = f"0 or at least 2 for each of {features.shape[1]} columns"
        raise ValueError(f"levels must be {wanted}, got {levels.tolist()}")
    for j in np.flatnonzero(levels):
        places = features[:, j] * (levels[j] - 1)
        if (np.abs(places - np.rint(places)) > 1e-6).any():
            raise ValueError(
                f"column {j} of features must contain multiples of 1/{levels[j] - 1}, since its level is {levels[j]}, got other values"
            )
    return levels


def _epsilon(epsilon):
    return checks.number("epsilon", epsilon, "(0, inf)")
