"""A simulated table of categories with known truth, and the error of each reconstruction (beyond hasegawa2015).

The attributes of the table form a chain: each repeats the category of the attribute before it, or is drawn anew. So the
attributes of every pair depend on each other, and the number of attributes can be raised without changing the
distribution of a single attribute.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from lib.microdata.density_ratio import effective_sample_size
from lib.numerics import checks


def true_joint(m, shares, *, stay=0.6) -> np.ndarray:
    """Return the probabilities of the chain of `m` attributes, with an axis of ``len(shares)`` categories for each.

    m : integer >= 1; shares : the probabilities of the categories of each attribute, a vector >= 0 with sum 1
    stay : probability in [0, 1] of repeating the previous category. Otherwise the next category is drawn from `shares`
    """
    m, stay = checks.whole("m", m, "[1, inf)"), checks.number("stay", stay, "[0, 1]")
    shares = checks.real("shares", shares, "[0, 1]")
    if shares.ndim != 1 or abs(shares.sum() - 1) > 1e-9:
        raise ValueError(f"shares must be a vector with sum 1, got shape {shares.shape}, sum {shares.sum():g}")
    follow = stay * np.eye(len(shares)) + (1 - stay) * shares  # row: predecessor
    joint = shares
    for _ in range(m - 1):
        joint = joint[..., None] * follow
    return joint


def draw(joint, size, *, rng) -> np.ndarray:
    """Return `size` records drawn from `joint`, as an array (size, number of axes) of codes in floats."""
    size = checks.whole("size", size, "[0, inf)")
    return np.column_stack(np.unravel_index(rng.choice(joint.size, size, p=joint.ravel()), joint.shape)).astype(float)


def variation(table, truth, size) -> float:
    """Return the total variation distance of two distributions on the same axes, in [0, 1] if both have the sum 1.

    size : number of attributes in [1, axes]; the result is the mean over the cross-tabulations of all sets of `size`
        attributes
    """
    axes = range(np.ndim(truth))
    size = checks.whole("size", size, f"[1, {len(axes)}]")
    rest = [tuple(set(axes) - set(some)) for some in combinations(axes, size)]
    return float(np.mean([np.abs(table.sum(axis=left) - truth.sum(axis=left)).sum() / 2 for left in rest]))


def errors(joint, perturbation, methods, *, records, repeats, rng) -> pd.DataFrame:
    """Return the errors of tables drawn from `joint`, of the perturbed tables, and of reconstructions by `methods`.

    joint : probabilities, an axis for each attribute of `perturbation`
    methods : mapping from a name to a function of the perturbation that makes an estimator of `lib.microdata`
    records, repeats : integers >= 1, the number of records of a table and the number of tables

    The result has a row for each table and method ("originals" and "perturbed" come first). Its columns are M, the
    number of attributes; pairs and whole, the `variation` of cross-tabulations of two attributes (or of one if there is
    only one) and of all attributes; and ess, the effective sample size.
    """
    records, repeats = (
        checks.whole(name, value, "[1, inf)") for name, value in (("records", records), ("repeats", repeats))
    )
    edges, m, rows = [np.arange(size + 1) - 0.5 for size in joint.shape], joint.ndim, []

    def shares(table, weights=None):
        return np.histogramdd(table, bins=edges, weights=weights)[0] / records

    for _ in range(repeats):
        table = draw(joint, records, rng=rng)
        seen = perturbation.perturb(table, rng=rng)
        found = {"originals": (shares(table), records), "perturbed": (shares(seen), records)}
        for name, make in methods.items():
            fit = make(perturbation).fit(seen)
            estimate = fit.shares_ if hasattr(fit, "shares_") else shares(seen, fit.weights_)
            found[name] = (estimate, effective_sample_size(fit.weights_))
        rows += [{"M": m, "method": name, "pairs": variation(estimate, joint, min(m, 2)), "whole": variation(estimate, joint, m),
                  "ess": size} for name, (estimate, size) in found.items()]  # fmt: skip
    return pd.DataFrame(rows)
