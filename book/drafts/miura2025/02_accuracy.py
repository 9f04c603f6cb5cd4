# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How accurate is it? Tables 1 to 3, Figures 1, 2, 6, 7 and 8
#
# :::{admonition} The claim
# At $\varepsilon = 1$, AIM makes better synthetic data than PrivBayes, on Adult and on Bank, for statistics and for
# prediction alike; of AIM's devices, Gaussian noise matters and the initialisation hardly does; and AIM keeps the
# mutual information between attributes better than PrivBayes, which is built on it {cite}`miura2025`.
# :::
#
# Five methods, two data sets, three trials each: that is the document's experiment, and here it is again. A run that took its
# authors an hour takes a second. How the model is fitted and what happens along the way are other chapters;
# this one looks at what comes out.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from lib import aim_study, claims, encodings, figures, utility
from lib.table import Domain, Table

figures.use_house_style()
pd.set_option("display.width", 120)

# %% [markdown]
# By default the chapter runs on the embedded *stand-in*, synthetic records of Adult and Bank made by AIM itself ({doc}`/data`).
# Its numbers are those of a synthetic copy of a synthetic copy, and no claim is judged by them. Beside them stand the numbers of
# a full run on the real data, kept with the book.

# %% tags=["parameters"]
data: str = "stand-in"  # one of stand-in, real: the embedded records, or the real files
epsilon: float = 1.0  # (0, 1000]: privacy budget
delta: float = 1e-9  # (0, 1): its delta
trials: int = 3  # [2, 1000]: synthetic tables for each method and data set
depth: int = 5  # [1, 1000]: depth of the decision trees, which the document does not state
seed: int = 2025  # [0, 1e15]: of all randomness
jobs: int = 1  # [1, 64]: processes that share the work

# %%
setting = {"epsilon": epsilon, "delta": delta, "trials": trials}
stand_in = data != "real"
adult, bank = aim_study.cases(data)
full = aim_study.load()
for name, value in aim_study.provenance().items():
    if "SHA" not in name:
        print(f"full run, {name}: {value}")

# %% [markdown]
# ## Table 1: the data
#
# The document keeps the categorical attributes of the complete records. The numbers of values it prints are those that the
# publishers of the data declare, less the category for "missing": a *public* domain, as differential privacy needs it.

# %%
domains = {"adult": encodings.adult_domain(), "bank": encodings.bank_domain()}
occurring = {
    case.name: [
        len(np.unique(case.real.column(a))) for a in case.real.domain.attributes
    ]
    for case in (adult, bank)
}
for name, domain in domains.items():
    print(f"{name}: {len(domain)} attributes")
    print("  declared ", *domain.sizes)
    print(f"  occurring ({data})", *occurring[name])

# %%
cells = {
    f"miura2025.table1.{name}.size.{attribute.replace('_', '-')}": size
    for name, domain in domains.items()
    for attribute, size in zip(domain.attributes, domain.sizes)
}
cells |= {f"miura2025.table1.{k}.attributes": len(domains[k]) for k in domains}
claims.check_all(
    cells,
    reasons={
        "miura2025.table1.adult.size.workclass": "declared; 7 of them occur",
        "miura2025.table1.bank.size.month": "calendar months; only 10 occur",
    },
)

# %%
records = {f"miura2025.table1.{c.name}.records": len(c.real) for c in (adult, bank)}
claims.check_all(records, stand_in=stand_in)
claims.check(
    "miura2025.s32.categorical-only",
    list(records.values()) == [30162, 30488],
    stand_in=stand_in,
)

# %% [markdown]
# Among the real records used, `Never-worked` never occurs in Adult, nor January and February in Bank: 7 and 10 values where 8 and
# 12 are printed. The row is thus right as a domain, and not what a count of the records would give. It matters: a method that reads its
# domain off the records, as the document's PrivBayes may have, both discloses something and has a smaller table to fill.
#
# ## What is measured
#
# Definition 3.1 averages the $L_1$ distances of the counts of $k$ sets of attributes,
#
# $$
# L(D, \hat D) = \frac{1}{k\,|D|} \sum_{i=1}^{k} c_i\, \lVert p_{r_i}(D) - p_{r_i}(\hat D) \rVert_1 ,
# $$
#
# and the $\alpha$-way error takes all sets of $\alpha$ attributes with weight 1. Counts, not shares: were $p$ a
# distribution, as section 2.1 has it, the error would be divided by $|D|$ twice. On the smallest case:

# %%
tiny = Domain({"a": 2, "b": 2})
D = Table([[0, 0], [0, 1], [1, 1], [1, 1]], tiny)
other = Table([[0, 0], [0, 0], [1, 1], [1, 1]], tiny)
by_hand = (0 / 4 + 2 / 4) / 2  # a agrees; b is 1, 3 against 2, 2
two_way = 2 / 4  # one record of (0, 1) sits at (0, 0)
claims.check(
    "miura2025.def3.1.workload-error",
    utility.workload_error(D, other, [("a",), ("b",)], [1, 1]) == by_hand,
)
claims.check(
    "miura2025.def3.1.alpha-way",
    [utility.marginal_error(D, other, k) for k in (1, 2)] == [by_hand, two_way],
)

# %% [markdown]
# The mutual information is zero for independent attributes and grows with their relation:


# %%
def related(share, scale=1000):
    """Two attributes that agree by nature in a share of the records, else by chance."""
    counts = scale * (share * np.eye(2) / 2 + (1 - share) * np.full((2, 2), 0.25))
    records = [cell for cell in np.ndindex(2, 2) for _ in range(round(counts[cell]))]
    return utility.mutual_information(Table(records, tiny))[0, 1]


nats = [related(share) for share in (0, 0.2, 0.4, 0.6, 0.8, 1)]
print("nats:", np.round(nats, 4), " greatest possible:", round(float(np.log(2)), 4))
claims.check("miura2025.s32.mi-independent", bool(abs(nats[0]) < 1e-12))
claims.check("miura2025.s32.mi-stronger", bool(np.all(np.diff(nats) > 0)))

# %% [markdown]
# ## The five methods
#
# aim-k2 is AIM for all pairs, the default; aim-k3 for all triples; aim-noinit measures no single attribute first; aim-lap
# replaces Gaussian by Laplace noise, of equal $\rho$ a round. How the document set the Laplace noise it does not
# say. The settings are defaults of the code it names, `mechanisms/aim.py` at the commit of footnote 3 (read, not run, here):

# %%
read_in_the_code = {"epsilon": 1.0, "delta": 1e-9, "degree": 2}
claims.check(
    "miura2025.s33.default-budget",
    (read_in_the_code["epsilon"], read_in_the_code["delta"]) == (1.0, 1e-9),
    reason="read in the code",
)
claims.check(
    "miura2025.s33.default-workload",
    read_in_the_code["degree"] == 2,
    reason="read in the code",
)
printed_commit = claims.load()["miura2025.fn3.commit"].printed
commit = "1b0d4363e1c4de04de2a4ef5cfa441c8a82910ee"
claims.check(
    "miura2025.fn3.commit",
    printed_commit == commit,
    reason=f"{len(printed_commit)} digits of 40: '04de' is missing in the middle",
)
claims.check(
    "miura2025.fn3.changes",
    True,
    reason="its history: packaging, manual's address, 7 and 8 August",
)

# %% [markdown]
# **PrivBayes** {cite}`zhang2017` chooses a network of attributes and their parents by the exponential mechanism, measures the table of each
# attribute with its two parents, and draws records down the network. The document took DataSynthesizer's {cite}`ping2017`; we take
# our own. In the library's code, as read here:
#
# - the scores of the choice have the sensitivity for a *replaced* record, the noise in the tables that for an *added* one:
#   between tables that differ in a replaced record, the measuring half of the budget is spent twice;
# - the domain is what occurs in the records, unless the user supplies it;
# - an attribute of more than 20 values, such as Adult's native country, is no categorical one unless it is declared so;
# - negative noisy counts become zero and the others stay: with thousands of nearly empty cells, most of the
#   distribution may come to lie where no record is.
#
# Ours accounts for one kind of neighbour throughout, has a public domain, and moves noisy counts to the nearest ones of the right
# sum. It is *another* PrivBayes, and a better one: what follows compares AIM with PrivBayes, not with a library.

# %%
claims.check(
    "miura2025.s33.privbayes-parents",
    None,
    undetermined="says what the authors ran; the library's version and settings "
    "are not given",
)
claims.check(
    "miura2025.s25.privbayes",
    True,
    reason="so in the library's code; ours chooses by half the L1 distance from "
    "independence, whose sensitivity is bounded for unbounded neighbours",
)

# %%
study = aim_study.grid(
    [adult, bank],
    aim_study.Settings(delta=delta, seed=seed, depth=depth),
    epsilons=[epsilon],
    trials=trials,
    jobs=jobs,
)
METRICS = ["error1", "error2", "error3", "mi_error", "tree", "svm", "xgboost"]


def summary(study):
    """Mean and standard deviation (divisor: trials - 1) by data set and method."""
    return study.scores.groupby(["data", "method"])[METRICS].agg(["mean", "std"])


here, there = summary(study), summary(full)
here.xs("mean", axis=1, level=1).round(4)

# %% [markdown]
# ## Figures 1 and 2: errors of the counts


# %%
def bars(axis, table, title):
    """The alpha-way errors of one data set, a group of bars for each alpha."""
    for i, method in enumerate(aim_study.METHODS):
        cell = table.loc[method, METRICS[:3]]
        place = np.arange(3) + 0.16 * (i - 2)
        axis.bar(
            place,
            cell.xs("mean", level=1),
            0.15,
            yerr=cell.xs("std", level=1),
            color=figures.COLORS[i],
            label=method,
        )
    axis.set(title=title, xticks=range(3), xticklabels=["1-way", "2-way", "3-way"])


def both_bars(name):
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(6, 3.4))
    bars(axes[0], here.loc[name], f"this run ({data})")
    bars(axes[1], there.loc[name], "full run (real)")
    axes[0].set_ylabel("error")
    axes[0].legend(fontsize=10)
    plt.show()


# %% mystnb={"figure": {"caption": "Figure 1 of the document, computed again: α-way errors on Adult, mean and standard deviation over the trials. Left: this run. Right: the full run on the real records.", "name": "fig-miura2025-1"}, "image": {"alt": "Two panels of grouped bars for 1-way, 2-way and 3-way errors on Adult, five methods each. The errors grow from 1-way to 3-way. The bars of aim-k2, aim-k3 and aim-noinit are about equal, aim-lap is slightly higher, and bayes is the highest by far, with the longest error bars."}}
both_bars("adult")

# %% mystnb={"figure": {"caption": "Figure 2 of the document, computed again: α-way errors on Bank.", "name": "fig-miura2025-2"}, "image": {"alt": "Two panels of grouped bars for 1-way, 2-way and 3-way errors on Bank, five methods each. The four AIM methods are close together, aim-lap slightly higher than the others for pairs and triples, and bayes is the highest by far, with the longest error bars."}}
both_bars("bank")

# %% [markdown]
# The document's figures have no numbers beside them, but its sentences are plain, and each can be asked of any table of
# means and spreads:


# %%
def sentences(mean, spread, better):
    """What section 4.1 says of one row; `better(a, b)`: a is strictly better than b."""
    aims = [m for m in aim_study.METHODS if m != "bayes"]
    k2, noinit = mean["aim-k2"], mean["aim-noinit"]
    apart = abs(k2 - noinit)
    return {
        "aim-beats-privbayes": all(better(mean[m], mean["bayes"]) for m in aims),
        "k2-best": not any(better(mean[m], k2) for m in mean.index),
        "lap-worst": not any(better(mean["aim-lap"], mean[m]) for m in aims),
        "noinit-slightly-worse": bool(better(k2, noinit)),
        "noinit-no-difference": bool(
            apart <= spread["aim-k2"] + spread["aim-noinit"]
        ),
    }


def judged(table, name, metrics, better):
    """The sentences for each metric of one data set, one column a metric."""
    rows = {
        m: sentences(
            table.loc[name, (m, "mean")], table.loc[name, (m, "std")], better
        )
        for m in metrics
    }
    return pd.DataFrame(rows)


# %%
shown = {}
for name in ("adult", "bank"):
    for run, table in (("this run", here), ("full run", there)):
        found = judged(table, name, METRICS[:3], np.less)
        shown[name, run] = found.replace({True: "yes", False: "no"})
pd.concat(shown, axis=1).rename(
    columns={"error1": "1-way", "error2": "2-way", "error3": "3-way"}
)

# %%
why = "means nearer than their spreads: three trials do not order them"


def where_not(cells, reason):
    """The reason for each claim that does not hold, on real data."""
    return {id: reason for id, holds in cells.items() if not (holds or stand_in)}


cells = {}
for figure, name in ((1, "adult"), (2, "bank")):
    found = judged(here, name, METRICS[:3], np.less)
    for alpha, metric in enumerate(METRICS[:3], start=1):
        for sentence, holds in found[metric].items():
            id = f"miura2025.fig{figure}.{sentence}.{alpha}way"
            if id in claims.load().claims:
                cells[id] = bool(holds)
claims.check_all(cells, reasons=where_not(cells, why), stand_in=stand_in, **setting)

# %% [markdown]
# On the real data, two of these sentences are beyond doubt: all AIM variants are far ahead of PrivBayes (aim-k2 by factors of 1.6 to 8 in the full run), and
# aim-lap is the last of them for pairs and triples. That aim-k2 is the *best* is not: aim-k3 and aim-noinit are as good or better, within the
# spread of three trials.
#
# ## Tables 2 and 3: prediction
#
# A decision tree, a linear support vector machine and XGBoost learn from synthetic records and predict real ones: Adult's income
# on its separate test part; Bank's outcome on the 30,488 records themselves, since Table 1 leaves no others. The document says neither
# which records it tested on nor any setting of its classifiers.


# %%
def printed(number, name):
    """Accuracies and spreads as the document prints them, from the ledger."""
    ledger = claims.load()
    rows = {}
    for model in aim_study.MODELS:
        for method in aim_study.METHODS:
            claim = ledger[f"miura2025.table{number}.{name}.{method}.{model}"]
            rows[model, method] = (float(claim.printed), claim.spread)
    return pd.DataFrame(rows, index=["mean", "std"]).T


paper = {"adult": printed(2, "adult"), "bank": printed(3, "bank")}


def beside(name):
    """Printed accuracies, ours, and whether ours lie within the printed spread."""
    table = paper[name].rename(columns={"mean": "printed", "std": "spread"})
    for run, source in (("this run", here), ("full run", there)):
        table[run] = [source.loc[(name, me), (mo, "mean")] for mo, me in table.index]
    close = (table["full run"] - table["printed"]).abs() <= table["spread"]
    table["full run within"] = np.where(close, "yes", "no")
    return table.round(4)


beside("adult")

# %%
beside("bank")

# %%
cells = {
    f"miura2025.table{number}.{name}.{method}.{model}": float(
        here.loc[(name, method), (model, "mean")]
    )
    for number, name in ((2, "adult"), (3, "bank"))
    for model in aim_study.MODELS
    for method in aim_study.METHODS
}
reasons = {
    id: f"classifier settings, test records not stated (trees of depth {depth} here)"
    for id in cells
}
reasons = {} if stand_in else reasons
claims.check_all(cells, reasons=reasons, stand_in=stand_in, **setting)

# %% [markdown]
# ### What agreement could be expected?
#
# "Within the printed spread" is a strict test. Let the mean of three trials be printed with their standard deviation $s$, and let somebody
# repeat the *same* experiment. The difference of the two means has variance $\frac23\sigma^2$, so that, over
# $s$, it is $\sqrt{2/3}$ times a Student $t$ with two degrees of freedom:

# %%
n = 3
chance = 1 - 2 * stats.t.sf(1 / np.sqrt(2 / n), n - 1)
print(
    f"a perfect repetition lies within the printed spread with probability {chance:.2f}"
)
print(f"of 30 cells: about {30 * chance:.0f}")
within = {
    name: int((beside(name)["full run within"] == "yes").sum()) for name in paper
}
print("full run:", ", ".join(f"{k} of 15 on {name}" for name, k in within.items()))

# %% [markdown]
# So about a third of the cells would differ even for the authors themselves; in the full run 12 of 30 do, all but one of them cells of the three AIM
# methods whose printed spreads are small. (If the spread has the divisor 3, as some libraries have,
# more.) Nor does it cover the choice of test records: had the document tested on a fifth of Bank's, accuracies near 0.88 would have a standard error of
# $\sqrt{0.88 \cdot 0.12/6098} = 0.0042$, common to all cells and larger than most of the printed spreads.
#
# And then there is what it does not state. The depth of the tree alone:

# %% mystnb={"figure": {"caption": "Accuracy of a decision tree against its depth, trained on one aim-k2 table (this run's data). The dashed line is the accuracy printed for aim-k2 on the real data, the dotted line a guess of the commoner value.", "name": "fig-miura2025-depth"}, "image": {"alt": "Two panels, Adult and Bank: accuracy against tree depth 2 to 25. On Adult the curve rises to a plateau at about depth 4 to 10 and falls slowly. On Bank it falls from its left end, steadily with depth, in the end by more than a hundredth. A dashed line marks the printed accuracy, a dotted line the majority guess."}}
rng = np.random.default_rng(seed)
depths = [2, 3, 4, 5, 7, 10, 15, 25]
fig, axes = plt.subplots(1, 2, figsize=(6, 3.2))
for axis, case in zip(axes, (adult, bank)):
    table = aim_study.synthesize(case.real, "aim-k2", epsilon, delta, rng=rng)
    accuracy = [
        utility.train_synthetic_test_real(
            table, case.test, case.target, depth=k, rng=rng
        )
        for k in depths
    ]
    commoner = case.test.marginal((case.target,)).max() / len(case.test)
    axis.plot(depths, accuracy, "o-")
    axis.axhline(paper[case.name].loc[("tree", "aim-k2"), "mean"], color="k", ls="--")
    axis.axhline(commoner, color="k", ls=":")
    axis.set(title=case.name, xlabel="depth")
axes[0].set_ylabel("accuracy")
plt.show()

# %% [markdown]
# On the real Bank records, trees fully grown reach 0.865, less than the 0.873 of always saying "no", while the document prints 0.884 with a
# spread of 0.0008: its trees cannot have been left to grow, as the library's default is. With a depth of our choosing, 5, ours are near. The setting that
# is not stated moves the result by more than any two methods differ.
#
# ### The sentences, against the document's own tables
#
# Section 4.1: "in both results AIM was better than PrivBayes"; aim-k2 the best of the variants, aim-lap the worst; aim-noinit
# slightly worse on Adult, though not given the error bars; on Bank hardly different. In the printed tables, and in ours:

# %%
shown, cells, verdict = {}, {}, {}
for number, name in ((2, "adult"), (3, "bank")):
    own = pd.concat({name: paper[name].unstack(0).swaplevel(axis=1)})
    tables = {"printed": own, "this run": here, "full run": there}
    for run, table in tables.items():
        found = judged(table, name, aim_study.MODELS, np.greater)
        shown[name, run] = found.replace({True: "yes", False: "no"})
        verdict[name, run] = found
    for model in aim_study.MODELS:
        for sentence, holds in verdict[name, "this run"][model].items():
            id = f"miura2025.table{number}.{sentence}.{model}"
            if id in claims.load().claims:
                cells[id] = bool(holds)
pd.concat({run: shown["adult", run] for run in tables}, axis=1)

# %%
pd.concat({run: shown["bank", run] for run in tables}, axis=1)

# %%
reasons = where_not(cells, "the order changes with the run and the classifier")
own = {
    f"miura2025.table3.aim-beats-privbayes.{model}": "nor in the document's own "
    "table, where aim-lap is below bayes"
    for model in aim_study.MODELS
}
own["miura2025.table2.noinit-no-difference.tree"] = (
    "nor in the document's own table, where the two intervals are disjoint"
)
reasons |= {id: text for id, text in own.items() if id in reasons}
claims.check_all(cells, reasons=reasons, stand_in=stand_in, **setting)

# %% [markdown]
# *Is AIM better than PrivBayes in every row? No.* In the document's own Table 3, aim-lap is below PrivBayes in all three rows. In
# every row of both tables, the printed intervals of aim-k2 and PrivBayes overlap, because those of PrivBayes are so wide:

# %%
rows = []
for name, table in paper.items():
    for model in aim_study.MODELS:
        cell = table.loc[model]
        k2, lap, bayes = (cell.loc[m] for m in ("aim-k2", "aim-lap", "bayes"))
        rows.append(
            {
                "data": name,
                "model": model,
                "k2 - bayes": k2["mean"] - bayes["mean"],
                "both spreads": k2["std"] + bayes["std"],
                "k2 - lap": k2["mean"] - lap["mean"],
                "spread of lap": lap["std"],
            }
        )
pd.DataFrame(rows).set_index(["data", "model"]).round(4)

# %% [markdown]
# The spreads of aim-lap and bayes, ten times those of the others in the tables, look as if one of three trials had failed to learn. Ours do not fail,
# and with that the difference goes: in the full run, accuracies of all five methods lie within about a hundredth. Accuracy is a blunt
# instrument here. The errors of the counts, with means and no rows to choose from, say the same thing far more clearly.
#
# ## Figures 6 to 8: mutual information


# %%
def heat(name, study):
    """The document's four panels: original, aim-k2, aim-noinit, PrivBayes."""
    fig, axes = plt.subplots(2, 2, figsize=(6, 5.6), sharex=True, sharey=True)
    methods = ("original", "aim-k2", "aim-noinit", "bayes")
    tables = [aim_study.matrix(study, name, method) for method in methods]
    top = np.nanmax(tables[0])
    for axis, method, table in zip(axes.flat, methods, tables):
        image = axis.imshow(table**0.5, vmin=0, vmax=top**0.5, cmap="viridis")
        axis.set(title=method, xticks=range(len(table)), yticks=range(len(table)))
        axis.set_xticklabels(table.index, rotation=90, fontsize=8)
        axis.set_yticklabels(table.index, fontsize=8)
        axis.grid(False)
    bar = fig.colorbar(image, ax=axes, shrink=0.7, label="mutual information (nats)")
    ticks = [t for t in (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.7) if t <= top]
    bar.set_ticks(np.sqrt(ticks), labels=[f"{t:g}" for t in ticks])
    plt.show()


# %% mystnb={"figure": {"caption": "Figure 6 of the document, computed again from the full run on the real records: mutual information of each pair of Adult's attributes, means over the trials. The colours follow its square root, so that weak pairs can be seen.", "name": "fig-miura2025-6"}, "image": {"alt": "Four heat maps of nine by nine attributes of Adult: original, aim-k2, aim-noinit, bayes. All four show the same few bright pairs: marital status with relationship brightest, then relationship with sex, education with occupation. The map of bayes is brighter in pairs that are dark in the original."}}
heat("adult", full)

# %% mystnb={"figure": {"caption": "Figure 7 of the document, computed again from the full run on the real records: mutual information of each pair of Bank's attributes.", "name": "fig-miura2025-7"}, "image": {"alt": "Four heat maps of eleven by eleven attributes of Bank: original, aim-k2, aim-noinit, bayes. In all four, job with education is brightest, then contact with month. The map of bayes is brighter than the original in several weak pairs."}}
heat("bank", full)

# %% [markdown]
# "All methods keep the pairs of especially large mutual information": take the five strongest pairs of the original, and say that one is kept if the synthetic
# value is within a quarter of it.


# %%
def strongest(study, name, count=5):
    """The strongest pairs, and each method's share of their information."""
    pairs = study.information.query("data == @name").pivot(
        index=["first", "second"], columns="method", values="nats"
    )
    top = pairs.nlargest(count, "original")
    shares = top[list(aim_study.METHODS)].div(top["original"], axis=0)
    return shares.set_axis([" – ".join(pair) for pair in shares.index])


pd.concat({name: strongest(full, name) for name in ("adult", "bank")}).round(2)

# %%
cells = {}
for figure, name in ((6, "adult"), (7, "bank")):
    kept = (strongest(study, name) - 1).abs().max() <= 0.25
    for method in ("aim-k2", "aim-noinit", "bayes"):
        cells[f"miura2025.fig{figure}.strong-pairs.{method}"] = bool(kept[method])
claims.check_all(
    cells,
    reasons=where_not(cells, "one of the five pairs is off by over a quarter"),
    stand_in=stand_in,
    epsilon=epsilon,
    delta=delta,
)

# %% [markdown]
# Figure 8 averages the differences over all pairs.

# %% mystnb={"figure": {"caption": "Figure 8 of the document, computed again: mean absolute error of the mutual information over all pairs, mean and standard deviation over the trials. Dots, this run; squares, the full run on the real records.", "name": "fig-miura2025-8"}, "image": {"alt": "Two panels, Adult and Bank: the mean error of the mutual information of five methods, with error bars, for this run and the full run. The AIM methods are close together; bayes has about twice their error on Adult and more on Bank, and the longest error bars."}}
fig, axes = plt.subplots(1, 2, figsize=(6, 3.4))
for axis, name in zip(axes, ("adult", "bank")):
    for shift, marker, label, table in (
        (-0.12, "o", f"this run ({data})", here),
        (0.12, "s", "full run (real)", there),
    ):
        cell = table.loc[name].loc[list(aim_study.METHODS), "mi_error"]
        place = np.arange(5) + shift
        axis.errorbar(place, cell["mean"], cell["std"], fmt=marker, label=label)
    axis.set(title=name, xticks=range(5), ylim=(0, None))
    axis.set_xticklabels(aim_study.METHODS, rotation=90)
axes[0].set_ylabel("error (nats)")
axes[0].legend(fontsize=10)
plt.show()


# %%
def information(table, name):
    """Section 4.3 for one data set; "far" is below half of PrivBayes' error."""
    cell = table.loc[name, "mi_error"]
    mean, spread = cell["mean"], cell["std"]
    aims = mean.drop("bayes")
    close = abs(mean["aim-k2"] - mean["aim-noinit"]) <= (
        spread["aim-k2"] + spread["aim-noinit"]
    )
    return {
        "far better than PrivBayes": bool(aims.max() < mean["bayes"] / 2),
        "better than PrivBayes": bool(aims.max() < mean["bayes"]),
        "noinit like k2": bool(close),
        "bayes / aim-k2": round(float(mean["bayes"] / mean["aim-k2"]), 2),
    }


found = {
    (name, run): information(table, name)
    for name in ("adult", "bank")
    for run, table in (("this run", here), ("full run", there))
}
pd.DataFrame(found)

# %%
cells = {}
for name in ("adult", "bank"):
    says = found[name, "this run"]
    far = f"miura2025.fig8.aim-beats-privbayes.{name}"
    cells[far] = says["far better than PrivBayes"]
    cells[f"miura2025.fig8.noinit-no-difference.{name}"] = says["noinit like k2"]
reasons = where_not(cells, "not so against this PrivBayes, or in three trials")
claims.check_all(cells, reasons=reasons, stand_in=stand_in, **setting)

better = all(found[name, "this run"]["better than PrivBayes"] for name in paper)
for id in ("abstract", "intro", "s6"):
    claims.check(
        f"miura2025.{id}.mutual-information",
        better,
        stand_in=stand_in,
        reason="" if better or stand_in else "not every AIM variant is",
        **setting,
    )

# %% [markdown]
# AIM is better than PrivBayes, though not by as much as one might think from the document's bars: a PrivBayes that spends and repairs its noise properly
# keeps the strong pairs, too. What it adds is information that is not there: noise in
# thousands of nearly empty cells looks like dependence. AIM's model has only as many parameters as it measured pairs.
#
# ## The sentences of the introduction


# %%
def devices(table):
    """Ratio of an error to that of aim-k2, averaged over data sets and orders."""
    mean = table.xs("mean", axis=1, level=1)[METRICS[:3]]
    ratios = {
        m: np.exp(
            np.log(mean.xs(m, level=1) / mean.xs("aim-k2", level=1)).mean(axis=None)
        )
        for m in ("aim-k3", "aim-noinit", "aim-lap", "bayes")
    }
    return pd.Series(ratios)


ratios = pd.DataFrame({"this run": devices(here), "full run": devices(there)})
ratios.round(2)

# %%
says = ratios["this run"]
cells = {
    "miura2025.intro.initialisation": bool(abs(says["aim-noinit"] - 1) <= 0.1),
    "miura2025.intro.laplace": bool(says["aim-lap"] >= 1.5),
    "miura2025.intro.default-settings": bool(says["aim-noinit"] > 1.1),
}
reasons = {
    "miura2025.intro.initialisation": "errors differ by more than a tenth",
    "miura2025.intro.laplace": "errors grow by a fifth or so; in the document's own "
    "tables accuracy drops by less than one spread in five rows of six",
    "miura2025.intro.default-settings": "the initialisation makes no difference, as "
    "the same section says",
}
reasons = {id: reasons[id] for id in where_not(cells, why)}
claims.check_all(cells, reasons=reasons, stand_in=stand_in, **setting)

# %%
for id, missing in {
    "benchmarks": "about the contents of three other papers",
    "not-quantified": "about the contents of the paper that proposed AIM",
}.items():
    claims.check(f"miura2025.intro.{id}", None, undetermined=missing)

# %% [markdown]
# "Utility drops substantially" with Laplace noise depends on what one calls substantial: at equal $\rho$, a Laplace
# measurement has $\sqrt 2$ times the standard deviation of a Gaussian one, and the errors grow less than that. Perhaps the document's aim-lap spent its budget as pure differential privacy, which costs
# far more; it does not say. That no device is "useless" sits ill with the same section's "hardly any effective
# difference" of the initialisation; the numbers are with the latter.
#
# ## What this shows, and what it leaves open
#
# AIM's statistics are one and a half to eight times as accurate as those of a sound PrivBayes, and its mutual information is closer. Its classifiers are
# not distinguishably better: in the document because the spreads of PrivBayes are wide, here because all methods are about equally good. The
# initialisation is of little consequence at $\varepsilon = 1$. Left open by the document:
#
# - which records the accuracies were tested on, and the settings of all three classifiers;
# - the budget of a Laplace measurement, and whether aim-noinit spends what it saves;
# - the divisor of the standard deviations, and whether Tables 2 and 3 have three trials, as the figures do;
# - PrivBayes' domain, version and further settings;
# - the neighbouring relation: Definition 2.1 replaces a record, the code's noise is for adding or removing one.
