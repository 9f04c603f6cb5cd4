"""Beyond Figure 1 of hasegawa2015: the value of perturbed records at any total epsilon, for any analysis.

A study is a grid over numbers of records, total local epsilons, methods and random splits. Every method that starts
from perturbed records gets the same ones. The following command repeats the committed study on the real data:

    python -m notebooks.studies.reconstruction_limits --output book/results/hasegawa2015/beyond.csv

All perturbed attributes get equal parts of epsilon. The income is published, or perturbed like the others.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import linprog, minimize
from sklearn.metrics import roc_auc_score

from book.kept import results
from lib.data import datasets
from lib.microdata import KernelDensityRatio, LinearDensityRatio, effective_sample_size, weighted_regression
from lib.microdata.density_ratio import normalised
from lib.microdata.iterative_bayes import IterativeBayes
from lib.microdata.perturbation import Perturbation
from lib.networks import private_regression
from lib.numerics import checks
from notebooks.studies import adult_design, anonymization_readings, command_line, grid
from notebooks.studies.adult_design import EXPLANATORY, TARGET
from notebooks.studies.anonymization_readings import Perturbed

WEIGHTED = ("perturbed", "linear", "kernel 10 standard")
METHODS = ("original", *WEIGHTED, "naive Bayes", "inversion", "central", "any weights")
INCOMES = ("published", "perturbed")
COLUMNS = ("income", "records", "epsilon", "method", "split", "auc", "svm", "hours", "shares", "effective", "bias")
REGULARIZATION = 1e-4  # of the central yardstick, fixed beforehand
RESULTS = results.FOLDER / "hasegawa2015/beyond.csv"
LIBRARIES = ("numpy", "scipy", "sklearn", "pandas")


# ---------------------------------------------------------------- records


def sample(frame, records, epsilon, *, income="published", rng) -> tuple[Perturbed, pd.DataFrame]:
    """Return `records` random records, perturbed, and the others for testing (or the same records, if none is left).

    frame : a frame of numbers, `adult_design.adult_records`; records : integer in [2, its length]
    income : one of `INCOMES`
    epsilon : total local-DP level in (0, inf), an equal part for each attribute that is perturbed
    """
    checks.one_of("income", income, INCOMES)
    checks.real("epsilon", epsilon, "(0, inf)")
    records = checks.whole("records", records, f"[2, {len(frame)}]")
    order = rng.permutation(len(frame))
    train, test = frame.iloc[order[:records]], frame.iloc[order[records:]]
    kinds = adult_design.adult_kinds()
    names = EXPLANATORY if income == "published" else (*EXPLANATORY, TARGET)
    mechanisms = Perturbation.from_epsilon(epsilon, {name: kinds[name] for name in names})
    perturbed = train.copy()
    perturbed[list(names)] = mechanisms.perturb(train[list(names)], rng=rng)
    return Perturbed(mechanisms, kinds, train, perturbed), test if len(test) else train


# ---------------------------------------------------------------- analyses


def analyses(records, weights, test, kinds) -> dict:
    """Return scores of predictions from weighted `records` on the original `test` records.

    auc, svm : the AUCs of the income, by logistic regression and by a linear support vector machine
    hours : proportion of the variance of hours-per-week that linear regression on the other attributes explains. It is
        below 0 if the mean of the test records would predict better
    """
    explanatory = {name: kind for name, kind in kinds.items() if name != TARGET}
    design = partial(adult_design.design_matrix, kinds=explanatory)
    svm = weighted_regression.support_vector_machine(design(records), records[TARGET], weights, penalty=1e-4)
    others = {name: kind for name, kind in kinds.items() if name != "hours-per-week"}
    of_hours = partial(adult_design.design_matrix, kinds=others)
    line = weighted_regression.linear_regression(of_hours(records), records["hours-per-week"], weights)
    return {
        "auc": anonymization_readings.predict(records, test, kinds, weights),
        "svm": roc_auc_score(test[TARGET], svm.decision_function(design(test))),
        "hours": line.score(of_hours(test), test["hours-per-week"]),
    }


def category_shares(records, kinds, weights=None) -> dict:
    """Return the proportions of the categories of each categorical explanatory attribute, by attribute."""
    weights = np.ones(len(records)) if weights is None else weights
    names = [name for name in EXPLANATORY if np.ndim(kinds[name]) == 0]
    counts = {name: np.bincount(records[name].astype(int), weights, minlength=kinds[name]) for name in names}
    return {name: count / count.sum() for name, count in counts.items()}


def inverted_shares(data: Perturbed) -> dict:
    """Return unbiased estimates of `category_shares` of the original records, from perturbed ones.

    Each attribute is treated separately: the probability of seeing a category, rho x + (1 - rho)/size, is solved for
    the proportion x, which can be negative.
    """
    mechanisms = data.perturbation.mechanisms
    seen = category_shares(data.records, data.kinds)
    return {
        name: (share - (1 - mechanisms[name].rho) / len(share)) / mechanisms[name].rho for name, share in seen.items()
    }


def share_error(estimate, truth) -> float:
    """Return half the sum of the absolute differences between the proportions, averaged over the attributes."""
    return float(np.mean([np.abs(estimate[name] - truth[name]).sum() / 2 for name in truth]))


def irremovable_bias(data: Perturbed) -> float:
    """Return the proportion in [0, 1] of the bias of the perturbed records' means that no weights can remove.

    The means are those of the columns of the design matrix in each class of the income, times the proportion of the
    class. The bias is the sum of the absolute differences from the original means. The smallest bias over weights >= 0
    is found by linear programming, which uses the original records. Raises ``ArithmeticError`` if the solver fails.
    """
    wanted, columns = _class_columns(data.original, data.kinds).mean(axis=0), _class_columns(data.records, data.kinds)
    (n, m), extra = columns.shape, np.eye(columns.shape[1])
    rows = np.vstack([np.column_stack([columns.T, extra, -extra]), np.repeat([1.0, 0.0], [n, 2 * m])])
    found = linprog(np.repeat([0.0, 1.0], [n, 2 * m]), A_eq=rows, b_eq=[*wanted, 1.0], method="highs")
    if not found.success:
        raise ArithmeticError(f"linear programming failed: {found.message}")
    return float(np.clip(found.fun / np.abs(columns.mean(axis=0) - wanted).sum(), 0, 1))


def best_weights(data: Perturbed, penalty) -> np.ndarray:
    """Return weights (n,) of mean 1 with the best trade-off of bias and unevenness.

    The weights minimize |weighted means - original means|^2 + penalty mean((w - 1)^2) over w >= 0, where the means are
    those defined in `irremovable_bias`. Because the original records are used, this is not a reconstruction.

    penalty : in (0, inf). Raises ``ArithmeticError`` if the solver fails.
    """
    penalty = checks.number("penalty", penalty, "(0, inf)")
    wanted, columns = _class_columns(data.original, data.kinds).mean(axis=0), _class_columns(data.records, data.kinds)
    n = len(columns)

    def loss(w):
        off = w @ columns / n - wanted
        return n * (off @ off + penalty * np.mean((w - 1) ** 2)), 2 * (columns @ off + penalty * (w - 1))

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-12, "gtol": 1e-6}
    found = minimize(loss, np.ones(n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * n, options=options)
    if not found.success:
        raise ArithmeticError(f"no minimum was found: {found.message}")
    return normalised(found.x)


def mean_bias(data: Perturbed, weights) -> float:
    """Return the bias (as in `irremovable_bias`) with `weights` (n,) of mean 1, relative to the bias without
    weights."""
    wanted, columns = _class_columns(data.original, data.kinds).mean(axis=0), _class_columns(data.records, data.kinds)
    return float(np.abs(weights @ columns / len(columns) - wanted).sum() / np.abs(columns.mean(axis=0) - wanted).sum())


def _class_columns(records, kinds) -> np.ndarray:
    explanatory = {name: kind for name, kind in kinds.items() if name != TARGET}
    design, income = adult_design.design_matrix(records, explanatory), records[[TARGET]].to_numpy()
    return np.column_stack([design * (1 - income), design * income])


# ---------------------------------------------------------------- one histogram for each attribute


class NaiveBayes:
    """A classifier of the income that treats the other attributes as independent in each class.

    Each attribute's histogram is estimated separately by iterative Bayes, in each class if the income is published, and
    jointly with the income otherwise.

    data : perturbed records
    shares_ : mapping from attribute to Pr[cell | class], (2, cells); prior_ : Pr[class], (2,)
    smoothing : proportion of a uniform distribution that is mixed into each histogram, in (0, 1)
    """

    def __init__(self, data: Perturbed, *, smoothing=0.05):
        smoothing = checks.number("smoothing", smoothing, "(0, 1)")
        self.shares_ = {}
        for name in EXPLANATORY:
            joint = _joint(data, name)
            self.prior_ = joint.sum(axis=1)
            shares = joint / self.prior_[:, None]
            self.shares_[name] = (1 - smoothing) * shares + smoothing / shares.shape[1]

    def decision_function(self, records) -> np.ndarray:
        """Return the log odds of the higher income, (n,), for original records."""
        odds = np.log(self.prior_[1] / self.prior_[0])
        cells = adult_design.cells(records)
        for name, shares in self.shares_.items():
            odds = odds + np.log(shares[1] / shares[0])[cells[name].to_numpy()]
        return odds


def _joint(data, name) -> np.ndarray:
    """Return the joint proportions of the income and an attribute's cells, (2, cells)."""
    mechanisms, records = data.perturbation.mechanisms, data.records
    options = {"bins": {name: adult_design.EDGES[name]}} if name in adult_design.EDGES else {}
    if TARGET in mechanisms:
        both = Perturbation({one: mechanisms[one] for one in (TARGET, name)})
        return np.maximum(IterativeBayes(both, **options).fit(records[[TARGET, name]]).shares_, 1e-12)
    alone = Perturbation({name: mechanisms[name]})
    classes = [records.loc[records[TARGET] == value, [name]] for value in (0, 1)]
    return np.array([len(one) / len(records) * IterativeBayes(alone, **options).fit(one).shares_ for one in classes])


# ---------------------------------------------------------------- the study


def cell(frame, income, records, epsilon, method, split, seed) -> dict:
    """Return a method's scores at one place of the grid, by name: those of `COLUMNS` from "auc" on that the method has.

    frame : a frame of numbers, `adult_design.adult_records`; method : one of `METHODS`
    epsilon : not used by "original"
    """
    checks.one_of("method", method, METHODS)
    # the same draws for all methods, and for all epsilons
    rng = grid.generator(seed, income, records, split)
    data, test = sample(frame, records, 1.0 if method == "original" else epsilon, income=income, rng=rng)
    truth = category_shares(data.original, data.kinds)
    if method == "original":
        return analyses(data.original, None, test, data.kinds)
    if method == "naive Bayes":
        scores = NaiveBayes(data).decision_function(test)
        return {"auc": roc_auc_score(test[TARGET], scores)}
    if method == "inversion":
        return {"shares": share_error(inverted_shares(data), truth)}
    if method == "any weights":
        return {"bias": irremovable_bias(data)}
    if method == "central":
        return {"auc": central_auc(data.original, test, data.kinds, epsilon, rng=rng)}
    weights, _ = anonymization_readings.WEIGHINGS[method](data, rng=rng)
    found = analyses(data.records, weights, test, data.kinds)
    found["shares"] = share_error(category_shares(data.records, data.kinds, weights), truth)
    return found | {"effective": effective_sample_size(np.ones(records) if weights is None else weights)}


def central_auc(records, test, kinds, epsilon, *, rng) -> float:
    """Return the AUC of the logistic regression that a trusted party fits to the original `records`, `epsilon`-DP."""
    explanatory = {name: kind for name, kind in kinds.items() if name != TARGET}
    design = partial(adult_design.design_matrix, kinds=explanatory)
    # a row has a 1, and for each attribute numbers of norm 1 at most
    options = {"regularization": REGULARIZATION, "bound": (len(explanatory) + 1) ** 0.5, "rng": rng}
    model = private_regression.fit(design(records), records[TARGET], epsilon, **options)
    return roc_auc_score(test[TARGET], design(test) @ model.weights)


def study(frame, plan, *, seed=2015, folder=None, jobs=1, progress=False) -> pd.DataFrame:
    """Return a frame with `COLUMNS` and a row for each cell of the plan.

    frame : a frame of numbers, `adult_design.adult_records`
    plan : for each part, (income, records, epsilons, methods, number of splits); "original" has only the epsilon
        infinity
    seed, folder, jobs, progress : see `grid`
    """
    places = []
    for income, records, epsilons, methods, splits in plan:
        for split in range(checks.whole("splits", splits, "[1, inf)")):
            for method in methods:
                levels = (np.inf,) if method == "original" else epsilons
                places += [(income, int(records), float(epsilon), method, split, int(seed)) for epsilon in levels]
    parts = [grid.digest(pd.util.hash_pandas_object(frame).to_numpy()), results.versions(LIBRARIES)]
    keys = [grid.key(parts, *place) for place in places]
    found = grid.run(cell, places, common=(frame,), keys=keys, folder=folder, jobs=jobs, progress=progress)
    rows = [dict(zip(COLUMNS, place[:5])) | row for place, row in zip(places, found)]
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def widths(data: Perturbed, test, candidates, *, rng) -> pd.DataFrame:
    """Return how good kernel widths are by the perturbed records alone and by the truth, with a row for each candidate.

    The features have variance 1.

    held out : mean log-density of a random half of the perturbed records under the fit to the other half, minus the
        mean log-density under equal weights, in nats; the classes are fitted separately. Cross-validation compares this
        number
    auc, effective : the AUC of the fit to all records on the original `test` records, and its effective sample size
    """
    if TARGET in data.perturbation.attributes:
        raise ValueError("data must contain the income unperturbed, got it perturbed")
    names = list(data.perturbation.attributes)
    halves = rng.permutation(len(data.records)) % 2 == 0
    classes = [data.records[TARGET].to_numpy() == value for value in (0, 1)]
    rows = []
    for width in candidates:
        options, gain, weights = {"width": float(width), "scaling": "standard"}, 0.0, np.empty(len(halves))
        for own in classes:
            fit = KernelDensityRatio(data.perturbation, **options).fit(data.records.loc[own & halves, names])
            held = data.records.loc[own & ~halves, names]
            transitions = data.perturbation.transitions(data.perturbation.check(held), fit.records_)
            level = np.log(transitions @ np.ones(len(fit.records_)) / len(fit.records_)).mean()
            gain += (fit.score(held) - level) * len(held) / (~halves).sum()
            weights[own] = KernelDensityRatio(data.perturbation, **options).fit(data.records.loc[own, names]).weights_
        auc = anonymization_readings.predict(data.records, test, data.kinds, weights)
        rows.append({"held out": gain, "auc": auc, "effective": effective_sample_size(weights)})
    return pd.DataFrame(rows, index=pd.Index(candidates, name="width"))


def joint_errors(frame, names, epsilon, *, records, rng) -> dict:
    """Return each method's error, half the L1 distance, for the joint histogram of attributes that share `epsilon`.

    frame : a frame of numbers; names : the names of categorical attributes; epsilon : (0, inf)
    records : integer in [2, rows of the frame]
    The methods are the perturbed records, both density ratios, and iterative Bayes.
    """
    checks.real("epsilon", epsilon, "(0, inf)")
    kinds = {name: adult_design.adult_kinds()[name] for name in names}
    chosen = Perturbation.from_epsilon(epsilon, kinds)
    original = frame.iloc[rng.permutation(len(frame))[:records]][list(names)].to_numpy(dtype=float)
    perturbed, sizes = chosen.perturb(original, rng=rng), tuple(kinds.values())

    def histogram(table, weights=None):
        cells = np.ravel_multi_index(table.astype(int).T, sizes)
        return np.bincount(cells, weights, minlength=np.prod(sizes)) / records

    estimates = {
        "perturbed": histogram(perturbed),
        "linear": histogram(perturbed, LinearDensityRatio(chosen).fit(perturbed).weights_),
        "kernel 1": histogram(perturbed, KernelDensityRatio(chosen, 1.0).fit(perturbed).weights_),
        "iterative Bayes": IterativeBayes(chosen).fit(perturbed).shares_.ravel(),
    }
    truth = histogram(original)
    return {name: float(np.abs(estimate - truth).sum() / 2) for name, estimate in estimates.items()}


# ---------------------------------------------------------------- the committed results

EPSILONS = (1.0, 2.0, 4.5, 10.0, 20.0, 50.0)
SLOW = ("kernel 10 standard", "any weights")
FAST = tuple(method for method in METHODS if method not in SLOW)
PLAN = (
    ("published", 4000, EPSILONS, METHODS[:-1], 5),
    ("published", 16_281, EPSILONS, FAST, 4),
    ("perturbed", 16_281, (4.5, 20.0, 50.0), FAST, 2),
    ("published", 16_281, (4.5, 20.0, 50.0), ("kernel 10 standard",), 2),
    ("published", 48_842, (4.5, 20.0), FAST, 2),
    ("published", 4000, EPSILONS, ("any weights",), 2),
    ("published", 16_281, EPSILONS, ("any weights",), 2),
    ("published", 48_842, (4.5, 20.0), ("any weights",), 2),
)


def load(path=RESULTS) -> pd.DataFrame:
    """Return the committed study, on the real data: a frame of `COLUMNS`."""
    return results.load(path)


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=2015)
    parser.add_argument("--most", type=int, default=48_842, help="records of the largest parts that are run")
    parser.add_argument("--splits", type=int, default=5, help="splits of a part, at most")
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    frame = adult_design.adult_records(datasets.adult("all", missing="category", source=chosen.data))
    plan = [(*part, min(splits, chosen.splits)) for *part, splits in PLAN if part[1] <= chosen.most]
    options = {"seed": chosen.seed, "folder": chosen.cells, "jobs": chosen.jobs, "progress": True}
    found = study(frame, plan, **options)
    told = {name: getattr(chosen, name) for name in ("most", "splits", "seed")}
    made = command_line.provenance(__name__, arguments, chosen, told, files=datasets.ADULT_FILES, libraries=LIBRARIES)
    results.save(chosen.output, found, made)


if __name__ == "__main__":
    from notebooks.studies import reconstruction_limits  # other processes find the cells there, not in __main__

    reconstruction_limits.main()
