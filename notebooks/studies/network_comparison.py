"""Compare the approaches of sei2017 on Adult: Figure 5 (`network_tuning` also compares them at equal record-level privacy).

A study is a grid that runs every method of a variant at every epsilon on each of ten folds. A cell trains on nine folds
and is scored on the tenth. It draws from a separate generator, made from its place in the grid, and is kept on disk
when finished; an interrupted study resumes (`notebooks.studies.grid`).

    python -m notebooks.studies.network_comparison --output book/results/sei2017/figure5.csv --few 2 --few-epsilons 1 100 10000

repeats the committed study, with the paper's settings on the real data, in all `VARIANTS`. The results of the variants
at epsilon = 10 are in a separate file, whose head has its command: --variants for all but the first, --private and
--few-epsilons 10.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from sklearn.metrics import f1_score

from book.kept import results
from book.ledger import evidence
from lib.data import datasets
from lib.microdata import microaggregation
from lib.networks import dp_sgd, network, private_networks, private_regression
from lib.networks.private_networks import PrivacyStatement
from lib.numerics import checks
from notebooks.studies import command_line, grid
from notebooks.studies.network_features import adult_features, folds, one_hot

RESULTS = results.FOLDER / "sei2017/figure5.csv"
AT_10 = results.FOLDER / "sei2017/figure5_at_10.csv"
LIBRARIES = ("numpy", "scipy", "sklearn", "numba", "pandas")

BASELINES = ("majority class", "logistic regression", "network")  # no privacy, no epsilon
DOCUMENT = ("AnonymizingFirst", "LearningFirst", "AnonymizedLearning")
YARDSTICKS = ("DP-SGD", "private logistic regression")
METHODS = (*BASELINES, "AnonymizingFirst, as published", *DOCUMENT, *YARDSTICKS)
RECORD_LEVEL = ("AnonymizingFirst", *YARDSTICKS)  # whose epsilon is that of the whole model

PARAMETER_EPSILONS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
FEW_EPSILONS = (1.0, 10.0, 100.0, 1e4)  # of the variants but the main one
DELTA = 1e-5
SCORES = ("accuracy", "f_positive", "f_macro", "f_weighted")


@dataclass(frozen=True)
class Settings:
    """The settings that the paper fixes (section 5-1), and those it leaves open.

    learning_rate, batch, epochs, l2 : of all networks but DP-SGD's; folds : integer >= 2; seed : >= 0
    hidden : widths of the hidden layers; scheme : see `Network.initial`; encoding : see `adult_features`
    weight_range : half-width of the range of weights and biases in LearningFirst, (0, inf)
    thresholds : half-width of the changes' thresholds in AnonymizedLearning, or None for equations (20) to (26)
    clipping : see `anonymized_learning`; groups : the number of groups of each numeric attribute in AnonymizingFirst
    dp_rate, dp_steps : learning rate and steps of DP-SGD, which uses each record in 20 of its steps on average
    regularization, perturbation : arguments of private logistic regression, see `private_regression.fit`
    """

    learning_rate: float = 0.01
    batch: int = 50
    epochs: int = 500
    l2: float = 0.001
    folds: int = 10
    seed: int = 2017
    hidden: tuple[int, ...] = (10, 10, 10, 10)
    scheme: str = "he"
    encoding: str = "one-hot"
    weight_range: float = 1.0
    thresholds: float | None = 0.1
    clipping: str = "sum"
    groups: int = 16
    dp_rate: float = 0.5
    dp_steps: int = 800
    regularization: float = 3e-4
    perturbation: str = "objective"

    def training(self) -> dict:
        """Return the arguments of `network.train`."""
        return {name: getattr(self, name) for name in ("learning_rate", "batch", "epochs", "l2")}


# A variant changes one thing that the paper leaves open; the first is the main one.
VARIANTS = {
    "main": {},
    "hidden widths 50": {"hidden": (50, 50, 50, 50)},
    "3 hidden layers": {"hidden": (10, 10, 10)},
    "Glorot": {"scheme": "glorot"},
    "codes": {"encoding": "codes"},
    "weights within 0.25": {"weight_range": 0.25},
    "weights within 4": {"weight_range": 4.0},
    "thresholds 0.01": {"thresholds": 0.01},
    "thresholds by equations": {"thresholds": None},
    "clipping by record": {"clipping": "records"},
}
# The methods that a variant bears on; the others are those of "main".
_CHANGED = {
    "weights within 0.25": ("LearningFirst",),
    "weights within 4": ("LearningFirst",),
    "thresholds 0.01": ("AnonymizedLearning",),
    "thresholds by equations": ("AnonymizedLearning",),
    "clipping by record": ("AnonymizedLearning",),
}


# ---------------------------------------------------------------- the methods


def scores(labels, predicted) -> dict:
    """Return the accuracy and F-measures, in [0, 1]: for the class above 50K, averaged over classes, and weighted by their sizes."""
    f = {name: f1_score(labels, predicted, average=kind, zero_division=0.0)
         for name, kind in (("f_positive", "binary"), ("f_macro", "macro"), ("f_weighted", "weighted"))}  # fmt: skip
    return {"accuracy": float(np.mean(labels == predicted))} | {name: float(value) for name, value in f.items()}


def statement(method, epsilon, settings, records) -> PrivacyStatement:
    """Return the guarantee of LearningFirst or AnonymizedLearning with `epsilon` for each parameter, trained on `records`."""
    size = network.count(_widths(settings))
    if method == "LearningFirst":
        return PrivacyStatement(method, epsilon, size)
    alone = settings.thresholds is not None and settings.clipping == "sum"
    return PrivacyStatement(method, epsilon, size, settings.epochs, -(-records // settings.batch), alone)


def per_parameter(method, epsilon, settings, records, delta=DELTA) -> float:
    """Return the epsilon of each parameter that makes the whole model (`epsilon`, `delta`)-DP, with relative error 1e-9.

    method : "LearningFirst" or "AnonymizedLearning"; epsilon : (0, inf); delta : (0, 1)
    """
    epsilon = checks.number("epsilon", epsilon, "(0, inf)")

    def excess(log_epsilon):
        return statement(method, math.exp(log_epsilon), settings, records).epsilon_at(delta) - epsilon

    low, high = math.log(epsilon / network.count(_widths(settings))) - 1e-6, math.log(epsilon) + 1
    while excess(high) < 0:
        high += 1
    return math.exp(brentq(excess, low, high, xtol=1e-10))


def promises(method, epsilon, settings=Settings(), records=45_222 - 4_522) -> tuple[float, float, float]:
    """Return the epsilons proved for a stated `epsilon`: for one parameter, the whole model, and the model at `DELTA`.

    method : one of `METHODS`; neighbours have one record replaced; inf means no guarantee
    settings, records : as in `statement`; the default is nine of ten folds of Adult
    """
    checks.one_of("method", method, METHODS)
    if method in RECORD_LEVEL:
        return epsilon, epsilon, epsilon
    if method not in DOCUMENT:
        return math.inf, math.inf, math.inf
    made = statement(method, epsilon, settings, records)
    return made.one_parameter, made.whole_model, made.epsilon_at(DELTA)


def _widths(settings) -> tuple[int, ...]:
    inputs = 14 if settings.encoding == "codes" else 105
    return (inputs, *settings.hidden, 2)


def _initial(settings, rng):
    return network.Network.initial(_widths(settings), scheme=settings.scheme, rng=rng)


def _majority(train, epsilon, settings, rng):
    common = np.bincount(train.labels).argmax()
    return lambda features: np.full(len(features), common)


def _regression(train, epsilon, settings, rng):
    """Fit logistic regression to one-hot records, whose rows have a norm of at most sqrt(15)."""
    private = {"method": "none", "regularization": 1e-5}
    if epsilon is not None:
        private = {
            "method": settings.perturbation, "epsilon": epsilon, "regularization": settings.regularization,
        }  # fmt: skip
    return private_regression.fit(train.values, train.labels, bound=math.sqrt(15), rng=rng, **private).predict


def _plain(train, epsilon, settings, rng):
    return network.train(train.values, train.labels, _initial(settings, rng), rng=rng, **settings.training()).predict


def _anonymizing_first(train, epsilon, settings, rng):
    made = microaggregation.private(
        train.values, train.labels, epsilon, levels=train.levels, groups=settings.groups, rng=rng
    )
    return _on_anonymized(made, train, settings, rng)


def _as_published(train, epsilon, settings, rng):
    k = len(train.labels) // settings.groups
    made = microaggregation.published(train.values, train.labels, epsilon, k=k, rng=rng)
    return _on_anonymized(made, train, settings, rng)


def _on_anonymized(made, train, settings, rng):
    """Train on the 14 attributes, anonymized as codes, because 105 inputs would divide epsilon among too many.

    A mean of codes is rounded to the nearest category.
    """
    steps = np.maximum(np.array(train.levels) - 1, 1)
    snapped = np.where(np.array(train.levels) > 0, np.rint(made.features * steps) / steps, made.features)

    def encoded(values):
        return one_hot(values, train.levels) if settings.encoding == "one-hot" else values

    predict = _plain(replace(train, values=encoded(snapped), labels=made.labels), None, settings, rng)
    return lambda values: predict(encoded(values))


def _learning_first(train, epsilon, settings, rng):
    ranges = dict.fromkeys(("weight_range", "bias_range"), (-settings.weight_range, settings.weight_range))
    trained = _trained_within(train, settings, settings.weight_range)
    return private_networks.release(trained, epsilon=epsilon, rng=rng, **ranges).predict


@lru_cache(maxsize=2)
def _trained_within(train, settings, half):
    """Return the network before its release, which is the same for every epsilon."""
    rng = grid.generator(settings.seed, "within", train.fold)
    ranges = dict.fromkeys(("weight_range", "bias_range"), (-half, half))
    return network.train(train.values, train.labels, _initial(settings, rng), rng=rng, **ranges, **settings.training())


def _anonymized_learning(train, epsilon, settings, rng):
    chosen = {}
    if settings.thresholds is not None:
        chosen = dict.fromkeys(("weight_thresholds", "bias_thresholds"), (-settings.thresholds, settings.thresholds))
    model = private_networks.anonymized_learning(
        train.values, train.labels, _initial(settings, rng), epsilon=epsilon, clipping=settings.clipping, rng=rng, **chosen,
        **settings.training(),
    )  # fmt: skip
    return model.predict


def _dp_sgd(train, epsilon, settings, rng):
    """Train one hidden layer in few steps with large batches, which suits the noise; the choice of settings is not private."""
    start = network.Network.initial((train.values.shape[1], 16, 2), rng=rng)
    plan = _plan(epsilon, settings.dp_steps)
    return dp_sgd.train(
        train.values, train.labels, start, plan, learning_rate=settings.dp_rate, clip=1.0, rng=rng
    ).predict


@cache
def _plan(epsilon, steps) -> dp_sgd.Plan:
    return dp_sgd.Plan.calibrated(epsilon, DELTA, sampling=20 / steps, steps=steps, neighbours="bounded")


_TRAINERS = {
    "majority class": _majority,
    "logistic regression": _regression,
    "network": _plain,
    "AnonymizingFirst": _anonymizing_first,
    "AnonymizingFirst, as published": _as_published,
    "LearningFirst": _learning_first,
    "AnonymizedLearning": _anonymized_learning,
    "DP-SGD": _dp_sgd,
    "private logistic regression": _regression,
}


# ---------------------------------------------------------------- the grid


@dataclass(frozen=True, eq=False)
class _Part:
    """The training or the test records of a fold, the levels of their columns, and which fold it is."""

    values: np.ndarray
    labels: np.ndarray
    levels: tuple
    fold: int


@lru_cache(maxsize=4)
def _split(source, limit, encoding, numeric, seed, count, fold) -> tuple[_Part, _Part]:
    """Return a fold's training and test records, from a random partition into `count` parts that all methods share."""
    found = adult_features(encoding=encoding, numeric=numeric, source=source)
    everything = len(found.labels)
    chosen = grid.generator(seed, "records").permutation(everything)[:limit]
    sides = folds(len(chosen), count, rng=grid.generator(seed, "folds"))[fold]
    return tuple(_Part(found.values[chosen[side]], found.labels[chosen[side]], found.levels, fold) for side in sides)


def _cell(source, limit, settings, variant, level, method, epsilon, fold) -> dict:
    """Return one cell's scores, NaN if its training diverged, and its cost; `limit` is the largest number of records."""
    inputs = (settings.encoding, "linear")
    if method in YARDSTICKS or method == "logistic regression":
        inputs = ("one-hot", "log")
    elif method.startswith("AnonymizingFirst"):
        inputs = ("codes", "linear")
    train, test = _split(source, limit, *inputs, settings.seed, settings.folds, fold)
    stated = epsilon
    if epsilon is not None and level == "record" and method not in RECORD_LEVEL:
        stated = per_parameter(method, epsilon, settings, len(train.labels))
    rng = grid.generator(settings.seed, variant, level, method, epsilon, fold)
    began = time.process_time()
    try:
        found = scores(test.labels, _TRAINERS[method](train, stated, settings, rng)(test.values))
    except FloatingPointError:  # a result in itself: `network.train` and related functions raise it
        found = dict.fromkeys(SCORES, math.nan)
    return found | {"stated": stated, "cpu_s": time.process_time() - began}


def places(variants=tuple(VARIANTS), *, count=10, few=3, parameter_epsilons=PARAMETER_EPSILONS,
           few_epsilons=FEW_EPSILONS) -> list[tuple]:  # fmt: skip
    """Return the places of the grid, tuples (variant, level, method, epsilon, fold).

    level : "none" (no epsilon) or "parameter" (the epsilon for each parameter as the paper states it or, for methods
        without such an epsilon, the epsilon of the whole model). `run` also accepts "record", the epsilon of the whole
        model at `DELTA`
    count : the number of folds for Figure 5
    few : the number of folds for everything else: the variants and AnonymizingFirst as published, at `few_epsilons`
    """
    made = []
    for variant in variants:
        checks.one_of("variant", variant, tuple(VARIANTS))
        main = variant == "main"
        plain = BASELINES if main else () if variant in _CHANGED else ("network",)
        for fold in range(count if main else min(few, count)):
            made += [(variant, "none", method, None, fold) for method in plain]
            made += [
                (variant, "parameter", method, float(epsilon), fold)
                for method in _CHANGED.get(variant, DOCUMENT)
                for epsilon in (parameter_epsilons if main else few_epsilons)
            ]
            if main and fold < few:
                made += [
                    (variant, "parameter", "AnonymizingFirst, as published", float(epsilon), fold)
                    for epsilon in few_epsilons
                ]
    return made


def run(where, *, variants=VARIANTS, source="real", settings=Settings(), limit=None, folder=None, jobs=1,
        progress=False) -> pd.DataFrame:  # fmt: skip
    """Return a frame with a row for each cell of `where` (see `places`): its place, `SCORES`, stated and cpu_s.

    variants : what each variant changes in `settings`
    source : one of `datasets.KINDS`; limit : integer of records, for quick runs
    folder : the folder in which finished cells are kept and first looked for. A kept cell is used only if settings,
        data and code are the same
    jobs : number of processes

    The column stated is the epsilon of each parameter with which the cell ran, or the epsilon of a record-level method.
    Scores are NaN if training diverged.
    """
    checks.one_of("source", source, datasets.KINDS)
    where = list(where)
    calls = [(replace(settings, **variants[place[0]]), *place) for place in where]
    digest = grid.digest(adult_features(source=source).values)
    common = (digest, limit, *sorted(results.versions(LIBRARIES).items()))
    keys = [grid.key(*common, asdict(chosen), *place) for chosen, *place in calls]
    found = grid.run(_cell, calls, common=(source, limit), keys=keys, folder=folder, jobs=jobs, progress=progress)
    columns = ("variant", "level", "method", "epsilon", "fold")
    return pd.DataFrame([dict(zip(columns, place)) | cell for place, cell in zip(where, found)])


# ---------------------------------------------------------------- the committed results


def load(*paths) -> pd.DataFrame:
    """Return the committed study on the real data, or the study in the files `paths`: a frame as `run` makes it."""
    return pd.concat([results.load(path) for path in paths or (RESULTS, AT_10)], ignore_index=True)


def summary(study) -> pd.DataFrame:
    """Return, by variant, level, method and epsilon, each score's mean and standard deviation <score>_std, and the number of folds.

    The divisor of the standard deviation is folds - 1.
    """
    groups = study.groupby(["variant", "level", "method", "epsilon"], sort=False, dropna=False)[list(SCORES)]
    return groups.mean().join(groups.std().add_suffix("_std")).assign(folds=groups.size())


def above(study, method, baseline, *, level="parameter", margin=0.001) -> dict[float, evidence.Difference]:
    """Return for each epsilon the evidence that `method`'s mean accuracy exceeds the baseline's by more than `margin`.

    study : a frame as `run` makes it, of one variant; baseline : one of `BASELINES`; the two are compared fold by fold,
        on at least two folds
    """
    own = study[(study["level"] == level) & (study["method"] == method)]
    line = study[study["method"] == baseline].set_index("fold")["accuracy"]
    return {
        epsilon: evidence.between(cells["accuracy"], line[cells["fold"]], limit=margin, paired=True)
        for epsilon, cells in own.groupby("epsilon")
    }


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=2017)
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--few", type=int, default=2, help="folds of the other variants")
    parser.add_argument("--few-epsilons", type=float, nargs="+", default=FEW_EPSILONS, help="their values of epsilon")
    parser.add_argument("--private", action="store_true", help="only what has an epsilon")
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    settings = Settings(epochs=chosen.epochs, seed=chosen.seed)
    where = places(chosen.variants, count=settings.folds, few=chosen.few, few_epsilons=chosen.few_epsilons)
    where = [place for place in where if place[1] != "none" or not chosen.private]
    study = run(where, source=chosen.data, settings=settings, folder=chosen.cells, jobs=chosen.jobs, progress=True)
    files, told = datasets.ADULT_FILES, asdict(settings)
    made = command_line.provenance(__name__, arguments, chosen, told, files=files, libraries=LIBRARIES)
    made["CPU time"] = f"{study['cpu_s'].sum():.0f} s"
    results.save(chosen.output, study.drop(columns="cpu_s"), made)


if __name__ == "__main__":
    from notebooks.studies import network_comparison  # other processes find the cells there, not in __main__

    network_comparison.main()
