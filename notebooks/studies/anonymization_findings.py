"""Findings of the study of Figure 1 (`notebooks.studies.anonymization_comparison`): tables, and evidence for the
paper's sentences.

The paper leaves settings open, so each sentence is judged under every sensible interpretation. The name of an
interpretation lists the settings on which the sentence depends, in this order: one of `KERNELS`, one of `BASELINES`,
one of `LIMITS`.
"""

from __future__ import annotations

from itertools import combinations, product

import pandas as pd

from book.ledger import evidence
from lib.attacks.audit import clopper_pearson
from notebooks.studies.anonymization_comparison import KS, NONE
from notebooks.studies.anonymization_readings import WEIGHINGS
from notebooks.studies.kernel_widths import PRINTED

# Setup and method of the reconstruction. The width is the printed one, in units that the paper does not state, or is
# chosen by cross-validation, as in the paper. All are Pk-anonymous.
KERNELS = {
    "features at variance 1": ("published", "kernel 1000 standard"),
    "features at variance 100": ("published", "kernel 10 standard"),  # a width of 10 at variance 1
    "features unscaled": ("published", "kernel 1000 none"),
    "income perturbed": ("perturbed", "kernel 10 standard"),
    "cross-validated": ("published", "kernel cv standard"),
    "age a category": ("published, age categorical", "kernel 1000 standard"),
    "categories thrice": ("published, categorical thrice", "kernel 1000 standard"),
    "income half": ("perturbed, income half", "kernel 10 standard"),
}
LOSSES = {"widths": "", "heights": ", precision"}  # what the generalization is least in
# Generalization, and suppression: with a generalization, as ARX has it, or of records and nothing else.
BASELINES = {loss: (f"generalized{suffix}", f"generalized 20 % out{suffix}") for loss, suffix in LOSSES.items()}
BASELINES |= {f"{loss}, records alone": (f"generalized{suffix}", "suppressed") for loss, suffix in LOSSES.items()}
LIMITS = {"0.005": 0.005, "0.02": 0.02}  # of an AUC: what is nearly equal
# Name of an interpretation, and words for a sentence, for each scaling of `kernel_widths`
SCALED = {
    "none": ("unscaled", "without scaling"),
    "standard": ("variance 1", "at variance 1"),
    "range": ("public range", "on the public range"),
}


def summary(study) -> pd.DataFrame:
    """Return, by setup, method and k, the mean and standard deviation (divisor: splits - 1) of the AUC, and other means."""
    groups = study.groupby(["setup", "method", "k"], sort=False)
    table = groups["auc"].agg(["mean", "std", "count"])
    return table.join(groups[["effective", "removed", "width"]].mean())


def wide(study) -> pd.DataFrame:
    """Return the mean AUC, a row for each setup and method, a column for each k."""
    table = study.groupby(["setup", "method", "k"])["auc"].mean().unstack("k")
    return table.reindex(pd.MultiIndex.from_frame(study[["setup", "method"]].drop_duplicates()))


def gains(study, by=("setup", "method")) -> pd.DataFrame:
    """Return the gain in AUC of weighted over unweighted perturbed records, with a row for each group of the columns `by`.

    gain, error : mean and its standard error; cells : their number; effective : mean effective sample size, rounded
    better : proportion of the cells where the weights helped
    """
    weighted = study[study["method"].isin(list(WEIGHINGS)) & (study["method"] != "perturbed")]
    plain = study.query("method == 'perturbed'")[["setup", "k", "split", "auc"]]
    both = weighted.merge(plain, on=["setup", "k", "split"], suffixes=("", " plain"))
    both["gain"] = both["auc"] - both["auc plain"]
    table = both.groupby(list(by), sort=False)
    out = table["gain"].agg(gain="mean", error="sem", cells="size")
    return out.assign(effective=table["effective"].mean().round(0), better=table["gain"].agg(lambda x: (x > 0).mean()))


def runs(study, setup, method) -> pd.DataFrame:
    """Return the AUC of one method: a row for each split, a column for each k."""
    own = study[(study["setup"] == setup) & (study["method"] == method)]
    return own.pivot(index="split", columns="k", values="auc")


def less(lower, higher) -> evidence.Difference:
    """Return the evidence that `higher` exceeds `lower`, two columns of `runs`, on the splits that they share."""
    a, b = higher.dropna().align(lower.dropna(), join="inner")
    return evidence.between(a, b, paired=True)


def verdicts(study) -> dict:
    """Return the evidence for the sentences about Figure 1: a mapping from claims, without their paper, to `evidence.Readings`."""
    pictures = {
        (kernel, baseline): {
            "p": runs(study, setup, "perturbed"),
            "r": runs(study, setup, method),
            "g": runs(study, NONE, generalized),
            "s": runs(study, NONE, suppressed),
        }
        for (kernel, (setup, method)), (baseline, (generalized, suppressed)) in product(
            KERNELS.items(), BASELINES.items()
        )
    }
    kernels = {kernel: picture for (kernel, baseline), picture in pictures.items() if baseline == "widths"}
    limited = list(LIMITS.items())
    found = {f"figure1.proposed-best.k{k}": {at: _best(one, k) for at, one in pictures.items()} for k in KS}
    found["figure1.near-equal-perturbed.k3"] = {
        (kernel, name): evidence.near(less(one["p"][3], one["r"][3]), limit)
        for (kernel, one), (name, limit) in product(kernels.items(), limited)
    }
    found["figure1.near-equal-suppression.k3"] = {
        (*at, name): {
            f"{other}, {side}": each
            for other in ("p", "r")
            for side, each in evidence.near(less(one[other][3], one["s"][3]), limit).items()
        }
        for (at, one), (name, limit) in product(pictures.items(), limited)
    }
    found["figure1.generalization-worst.k3"] = {
        at: {f"than {name}": less(one["g"][3], one[name][3]) for name in "prs"} for at, one in pictures.items()
    }
    found["figure1.perturbed-falls"] = {
        (setup,): falls(runs(study, setup, "perturbed"))
        for setup in dict.fromkeys(each for each, _ in KERNELS.values())
    }
    found["figure1.reconstructed-level"] = {(kernel,): _level(one) for kernel, one in kernels.items()}
    found["figure1.reconstruction-improves"] = {
        (kernel,): {f"k = {k}": less(one["p"][k], one["r"][k]) for k in KS} for kernel, one in kernels.items()
    }
    original = runs(study, NONE, "original")[1]
    left = {loss: runs(study, NONE, f"suppressed on levels{suffix}")[50] for loss, suffix in LOSSES.items()}
    chance = 0 * original + 0.5  # of records alone, none is left at k = 50 to predict with
    found["figure1.suppression-reason"] = {
        (baseline, name): _above(less(original, left.get(baseline, chance)), -limit)
        for baseline, (name, limit) in product(BASELINES, limited)
    }
    return {
        claim: evidence.Readings({", ".join(at): value for at, value in values.items()})
        for claim, values in found.items()
    }


def removed(study) -> evidence.Readings:
    """Return the proportions of records that suppression leaves out at k = 50: means over the splits, with errors."""
    found = study[(study["setup"] == NONE) & (study["k"] == 50)].groupby("method")["removed"]
    return evidence.Readings(
        {name: evidence.mean(found.get_group(suppressed)) for name, (_, suppressed) in BASELINES.items()}
    )


def widths(study) -> evidence.Readings:
    """Return, for each scaling, the evidence that `kernel_widths` chose the printed width in more than 5 % of its runs."""
    found = {}
    for scaling, own in (study["width"] == PRINTED).groupby(study["scaling"], sort=False):
        low, high = clopper_pearson(int(own.sum()), len(own))
        reach = high - own.mean() if own.mean() < 0.05 else own.mean() - low  # two standard errors stand for it
        found[SCALED[scaling][0]] = evidence.Difference(own.mean(), reach / 2, 0.05)
    return evidence.Readings(found)


def _best(one, k) -> dict:
    others = [
        name for name in "pgs" if one[name][k].notna().any()
    ]  # suppression of records alone leaves none at k = 50
    return {f"than {name}": less(one[name][k], one["r"][k]) for name in others}


def falls(aucs) -> dict:
    """Return the evidence that the AUCs, which `runs` returns, fall from each k to the next."""
    return {f"k = {k} to {j}": less(aucs[j], aucs[k]) for k, j in zip(KS, KS[1:])}


def _level(one) -> dict:
    """Return the evidence that the reconstructed AUC differs less between any two k than the perturbed one falls overall."""
    fall = one["p"][KS[0]] - one["p"][KS[-1]]
    changes = {f"k = {k} and {j}": one["r"][k] - one["r"][j] for k, j in combinations(KS, 2)}
    return {
        f"{name}, {side}": less(sign * change, fall)
        for name, change in changes.items()
        for side, sign in (("falls less", 1), ("rises less", -1))
    }


def _above(difference, limit) -> evidence.Difference:
    return evidence.Difference(difference.value, difference.error, limit)
