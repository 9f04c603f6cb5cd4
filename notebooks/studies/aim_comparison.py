"""Compare AIM, its variants and PrivBayes (miura2025, sections 3 and 4).

A study is a grid that runs every method several times at every epsilon on every data set. Each cell of the grid is one
synthetic table with its scores (`evaluate`). A cell draws from a separate generator, made from its place in the grid,
so that it does not depend on the other cells or on the number of processes. Finished cells may be kept on disk; an
interrupted grid then resumes.

    make study STUDY="aim_comparison --output book/results/miura2025"

repeats the committed study, with the paper's settings on the real data and more trials than the paper's three.
The four AIM methods run under two plans, as printed and as in the authors' later code (`PLANS`).
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from book.kept import results
from lib.data import datasets, encodings
from lib.numerics import checks
from lib.tables import utility
from lib.tables.adaptive_iterative import aim
from lib.tables.bayesian_network import privbayes
from lib.tables.plan import AUTHORS_CODE, PRINTED, Plan
from lib.tables.table import Table
from notebooks.studies import command_line
from notebooks.studies import grid as cell_grid  # `grid` is this module's own
from notebooks.studies.prediction import train_synthetic_test_real


def _variants(plan: Plan) -> dict:
    """Return the options of `aim` for the paper's variants (section 3.3), by their names."""
    return {
        "aim-k2": {"workload": 2, "plan": plan},
        "aim-k3": {"workload": 3, "plan": plan},
        "aim-noinit": {"workload": 2, "plan": replace(plan, start="none")},
        "aim-lap": {"workload": 2, "plan": replace(plan, noise="laplace")},
    }


# None means PrivBayes. `aim_ablation` measures the gain of our plan over these; the paper's claims are not judged by ours.
METHODS = _variants(AUTHORS_CODE) | {"bayes": None}
AS_PRINTED = ", as printed"  # after the name of a method, in the column of scores
PRINTED_METHODS = {name + AS_PRINTED: options for name, options in _variants(PRINTED).items()}
# The readings of the claims, and what they add to the name of a method
PLANS = {"as printed": AS_PRINTED, "authors' code": ""}
# Columns of scores, by the classifier's name there: the first settings of the paper's three, and others of them.
MODELS = {"tree": "decision tree", "svm": "svm", "xgboost": "xgboost"}
OTHERS = {"ten": "ten trees", "flat": "flat trees", "radial": "radial svm"}
METRICS = ["error1", "error2", "error3", "mi_error", *MODELS]
# Settings that the paper leaves open, as in the claims of Tables 2 and 3: the columns of a model, and the cases of a data set.
SETTINGS = {
    "tree": {"five levels": "tree", "no limit": "grown"},
    "svm": {"linear": "svm", "radial": "radial"},
    "xgboost": {"a hundred trees": "xgboost", "ten trees": "ten", "flat trees": "flat"},
}
TESTED = {"adult": {"": "adult"}, "bank": {"all records": "bank", "held out": "bank held out"}}
LIBRARIES = ("numpy", "scipy", "sklearn", "xgboost")  # those that a result depends on
SCORES, INFORMATION = results.FOLDER / "miura2025/scores.csv", results.FOLDER / "miura2025/mutual_information.csv"
RESULTS = SCORES.parent


@dataclass(frozen=True)
class Case:
    """A data set: its `name`, the `real` records to synthesize, the `test` records and the `target` to predict.

    held : proportion in [0, 1) of the real records that each trial draws for testing. The trial synthesizes the others
    """

    name: str
    real: Table
    test: Table
    target: str
    held: float = 0.0

    def drawn(self, rng) -> Case:
        """Return the case of one trial, with records drawn by `rng` if some are held out."""
        if not self.held:
            return self
        order = rng.permutation(len(self.real))
        parts = np.split(order, [round(self.held * len(order))])
        test, real = (Table(self.real.records[rows], self.real.domain) for rows in parts)
        return Case(self.name, real, test, self.target)


@dataclass(frozen=True)
class Settings:
    """The common settings of a grid's cells.

    delta : (0, 1); seed : integer >= 0
    depth : the depth of the decision trees, integer >= 1. With None they grow until their leaves are pure
    kernels : integer >= 0, the number of trials, from the first on, that also train a radial kernel, which takes
        longest
    """

    delta: float = 1e-9
    seed: int = 0
    depth: int | None = 5
    kernels: int = 5

    def __post_init__(self):
        checks.real("delta", self.delta, "(0, 1)")
        checks.integer("seed", self.seed, "[0, inf)")
        checks.integer("kernels", self.kernels, "[0, inf)")
        if self.depth is not None:
            checks.integer("depth", self.depth, "[1, inf)")


@dataclass(frozen=True)
class Study:
    """The result of a grid.

    scores : frame, one row a cell: data, method, epsilon, trial, records; error1, error2, error3
        (alpha-way errors); mi_error (nats); the columns of `SETTINGS` (accuracies; radial in the first trials only)
    information : frame, one row for each data set, method, epsilon and pair of attributes. Column nats is the mutual
        information, a mean over the trials, and deviation is its standard error (NaN for one trial). For the real
        records the method is "original"
    """

    scores: pd.DataFrame
    information: pd.DataFrame


def cases(source="real") -> list[Case]:
    """Return the paper's two data sets, from the real files or the embedded synthetic ones; Bank twice.

    Adult is tested on its own test part. Bank has no test part, and the 30,488 records of Table 1 are all of its
    complete records. So Bank is tested on these records themselves and, as a second case, on a held-out fifth of them.
    """
    checks.one_of("source", source, datasets.KINDS)
    bank = encodings.bank_table(source=source)
    return [
        Case("adult", encodings.adult_table(source=source), encodings.adult_table("test", source=source), "income"),
        Case("bank", bank, bank, "y"),
        Case("bank held out", bank, bank, "y", held=0.2),
    ]


def synthesize(table, method, epsilon, delta, *, rng) -> Table:
    """Return synthetic records by one of `METHODS` or `PRINTED_METHODS`, (epsilon, delta)-DP under unbounded neighbours.

    As in the paper, PrivBayes has two parents and Laplace noise, so it is epsilon-DP and does not use delta. (With
    Gaussian noise and a delta as small as 1e-9 it is less accurate.)
    """
    methods = METHODS | PRINTED_METHODS
    checks.one_of("method", method, tuple(methods))
    options = methods[method]
    if options is None:
        return privbayes(table, epsilon, parents=2, rng=rng).table
    return aim(table, epsilon, delta, rng=rng, **options).synthetic


def evaluate(case, synthetic, *, depth, rng, kernel=True) -> dict:
    """Return the scores of a synthetic table and each pair's mutual information; `kernel` includes a radial kernel's score."""
    scores = {f"error{alpha}": utility.marginal_error(case.real, synthetic, alpha) for alpha in (1, 2, 3)}
    scores["mi_error"] = utility.mutual_information_error(case.real, synthetic)
    for short, model in MODELS.items():
        grown = {"depth": depth} if model == "decision tree" else {}
        scores[short] = train_synthetic_test_real(synthetic, case.test, case.target, model, rng=rng, **grown)
    scores["grown"] = train_synthetic_test_real(synthetic, case.test, case.target, "decision tree", rng=rng)
    for short, model in OTHERS.items():
        if kernel or short != "radial":
            scores[short] = train_synthetic_test_real(synthetic, case.test, case.target, model, rng=rng)
    return scores | {"records": len(synthetic), "information": _pairs(synthetic)}


def grid(
    cases: Iterable[Case],
    settings: Settings,
    *,
    methods=tuple(METHODS),
    epsilons=(1.0,),
    trials=3,
    printed=0,
    folder=None,
    jobs=1,
) -> Study:
    """Run each of `methods` `trials` times, and `PRINTED_METHODS` `printed` times, on all `cases` at all `epsilons`.

    trials, jobs : integers >= 1; jobs is the number of processes; printed : integer >= 0
    folder : the folder in which finished cells are kept and first looked for. A kept cell is used only if the records,
        all settings and the code of this package are the same
    """
    cases = list(cases)
    trials, jobs = (checks.whole(name, value, "[1, inf)") for name, value in (("trials", trials), ("jobs", jobs)))
    for method in methods:
        checks.one_of("method", method, tuple(METHODS | PRINTED_METHODS))
    printed = checks.whole("printed", printed, "[0, inf)")
    often = dict.fromkeys(methods, trials) | (dict.fromkeys(PRINTED_METHODS, printed) if printed else {})
    places = [
        (case, method, checks.number("epsilon", epsilon, "(0, inf)"), trial)
        for case in cases
        for method, times in often.items()
        for epsilon in epsilons
        for trial in range(times)
    ]
    keys = [_key(*place, settings) for place in places]
    cells = cell_grid.run(_cell, places, common=(settings,), keys=keys, folder=folder, jobs=jobs)
    return Study(_scores(places, cells), _information(places, cells, cases))


# ---- one cell


def _cell(settings, case, method, epsilon, trial) -> dict:
    """Return one cell's result."""
    place = zlib.crc32(f"{case.name}/{method}/{epsilon!r}".encode())
    rng = np.random.default_rng([settings.seed, place, trial])
    # All methods of a trial share what is held out.
    case = case.drawn(np.random.default_rng([settings.seed, zlib.crc32(case.name.encode()), trial]))
    synthetic = synthesize(case.real, method, epsilon, settings.delta, rng=rng)
    return evaluate(case, synthetic, depth=settings.depth, rng=rng, kernel=trial < settings.kernels)


def _key(case, method, epsilon, trial, settings) -> str:
    """Return a key of everything that the cell's result depends on, except the code."""
    parts = [
        digest(case.real),
        digest(case.test),
        case.name,
        case.target,
        case.held,
        *results.versions(LIBRARIES).items(),
    ]
    return cell_grid.key(
        *parts, method, repr((METHODS | PRINTED_METHODS)[method]), epsilon, trial, sorted(asdict(settings).items())
    )


def digest(table) -> str:
    """Return the SHA-256 of a `Table`: its domain and its records."""
    return cell_grid.digest(table.domain, *(table.column(name) for name in table.domain.attributes))


def _pairs(table) -> list[float]:
    """Return I(A_i, A_j) of the pairs i < j."""
    return utility.mutual_information(table)[np.triu_indices(len(table.domain), 1)].tolist()


# ---- the whole grid as frames


def _scores(places, cells) -> pd.DataFrame:
    rows = [
        {"data": case.name, "method": method, "epsilon": epsilon, "trial": trial}
        | {name: value for name, value in cell.items() if name != "information"}
        for (case, method, epsilon, trial), cell in zip(places, cells)
    ]
    return pd.DataFrame(rows)


def _information(places, cells, cases) -> pd.DataFrame:
    gathered = {(case.name, "original", np.nan): (case, [_pairs(case.real)]) for case in cases}
    for (case, method, epsilon, _), cell in zip(places, cells):
        gathered.setdefault((case.name, method, epsilon), (case, []))[1].append(cell["information"])
    rows = [
        (data, method, epsilon, *pair, nats, deviation)
        for (data, method, epsilon), (case, found) in gathered.items()
        for pair, nats, deviation in zip(
            combinations(case.real.domain.attributes, 2),
            np.mean(found, axis=0),
            stats.sem(found) if len(found) > 1 else np.full(len(found[0]), np.nan),
        )
    ]
    return pd.DataFrame(rows, columns=["data", "method", "epsilon", "first", "second", "nats", "deviation"])


def undivided(study) -> pd.DataFrame:
    """Return the scores of tables made from all records, with none held out."""
    return study.scores[study.scores["data"] != "bank held out"]


def summary(study) -> pd.DataFrame:
    """Return mean, standard deviation (divisor: trials - 1), standard error and number of trials of each of `METRICS`, by data
    and method."""
    return undivided(study).groupby(["data", "method"])[METRICS].agg(["mean", "std", "sem", "count"])


def matrix(study, data, method) -> pd.DataFrame:
    """Return the pairs' mutual information for one data set and method: a symmetric frame (d, d), with NaN on its diagonal."""
    chosen = study.information.query("data == @data and method == @method")
    if chosen.empty:
        raise ValueError(f"study must contain the mutual information of {method!r} on {data!r}, got none")
    wide = pd.concat([chosen, chosen.rename(columns={"first": "second", "second": "first"})])
    names = list(dict.fromkeys([*chosen["first"], *chosen["second"]]))
    return wide.pivot(index="first", columns="second", values="nats").loc[names, names]


def by_plan(study) -> dict[str, Study]:
    """Return the study's part for each of `PLANS`, with the names of `METHODS`; each has PrivBayes and the real records."""
    found = {}
    for plan, ending in PLANS.items():
        names = {method + ending * (method != "bayes"): method for method in METHODS} | {"original": "original"}
        named = [frame.assign(method=frame["method"].map(names)) for frame in vars(study).values()]
        parts = [frame.dropna(subset="method") for frame in named]
        if set(parts[0]["method"]) - {"bayes"}:
            found[plan] = Study(*parts)
    return found


# ---- the committed results

_FILES = {"scores": SCORES.name, "information": INFORMATION.name}


def save(study, folder, provenance) -> None:
    """Write a study as two CSV files, each below comment lines with the mapping `provenance`."""
    for part, name in _FILES.items():
        results.save(Path(folder) / name, getattr(study, part), provenance, float_format="%.6f")


def load(folder=RESULTS) -> Study:
    """Return the study that `save` wrote; by default the committed one, on the real data."""
    return Study(**{part: results.load(Path(folder) / name) for part, name in _FILES.items()})


def kept(settings: Settings, *, epsilons=(1.0,), trials=3, printed=0, folder=RESULTS) -> Study | None:
    """Return the study in `folder` if today's code and libraries made it from the real data with these settings, else None.

    The study must have been made with arithmetic that is alike on all machines. The scores have six digits. The
    arguments are those of `grid`.
    """
    made, study = provenance(folder), load(folder)
    asked = {"delta": settings.delta, "seed": settings.seed, "tree depth": settings.depth, "trials": trials}
    asked |= {"trials as printed": printed, "trials with a kernel": min(settings.kernels, trials)}
    told = ", ".join(f"{name} {value}" for name, value in asked.items())
    libraries = {f"{name} {version}" for name, version in results.versions(LIBRARIES).items()}
    same = made["data"] == "real" and made["settings"] == told and libraries <= set(made["versions"].split(", "))
    same = same and set(study.scores["epsilon"]) == set(epsilons) and made.get("arithmetic") == results.ALIKE
    return study if same and not any(results.changed(Path(folder) / name) for name in _FILES.values()) else None


def provenance(folder=RESULTS) -> dict:
    """Return when the study in `folder` was made, from which data, and with which versions and settings."""
    return results.provenance(Path(folder) / _FILES["scores"])


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its two files."""
    parser = command_line.parser(__name__, __doc__, output="folder for the two CSV files", seed=2025)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--printed", type=int, default=5, help="trials as printed, which take longer")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    settings, began = Settings(seed=chosen.seed), time.monotonic()
    where = {"epsilons": chosen.epsilons, "trials": chosen.trials, "printed": chosen.printed}
    where |= {"folder": chosen.cells, "jobs": chosen.jobs}
    study = grid(cases(chosen.data), settings, **where)
    told = {"delta": settings.delta, "seed": settings.seed, "tree depth": settings.depth, "trials": chosen.trials}
    told["trials as printed"] = chosen.printed
    told["trials with a kernel"] = min(settings.kernels, chosen.trials)
    made = command_line.provenance(__name__, arguments, chosen, told, files=datasets.SOURCES, libraries=LIBRARIES)
    made["wall time"] = f"{time.monotonic() - began:.0f} s in {chosen.jobs} process(es)"
    save(study, chosen.output, made)


if __name__ == "__main__":
    from notebooks.studies import aim_comparison  # other processes find the cells there, not in __main__

    aim_comparison.main()
