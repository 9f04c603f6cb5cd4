"""Compare the private methods of sei2017 with the same tuning effort: six settings of each method, at each epsilon.

Every method is run with each of its `candidates` on one fold, and the setting with the highest accuracy is chosen. The
first candidate is the setting of `network_comparison`. The chosen setting is compared with the first on other folds,
and this comparison is reported. Folds and cells are those of `network_comparison`; its results of the first setting are
not run again. No method pays the privacy cost of this choice.

    python -m notebooks.studies.network_tuning --output book/results/sei2017/tuned.csv

repeats the committed study.
"""

from __future__ import annotations

import sys
from dataclasses import asdict

import pandas as pd

from book.kept import results
from book.ledger import evidence
from lib.data import datasets
from notebooks.studies import command_line
from notebooks.studies import network_comparison as study

RESULTS = results.FOLDER / "sei2017/tuned.csv"
SELECTION, REPORTED = 9, (0, 1, 2)  # folds of ten: on which settings are chosen, and on which they are compared
METHODS = (*study.DOCUMENT, *study.YARDSTICKS)
RECORD_EPSILONS = (1.0, 10.0)  # of the whole model
DEFAULT = study.Settings()
PLACE = ["variant", "level", "method", "epsilon", "fold"]


def candidates(settings=DEFAULT) -> dict[str, dict[str, dict]]:
    """Return, for each of `METHODS`, six named candidates as changes of `settings`; the first, "main", changes nothing.

    The candidates differ in the setting on which a method's noise depends most. Two values of it are tried with
    training as in `settings`, and four with a tenth of the epochs, or with fewer and larger steps. Private logistic
    regression has four candidates with its noise on the objective, and two with noise on the output.
    """
    epochs = (settings.epochs, max(settings.epochs // 10, 1))
    tried = {
        "AnonymizingFirst": _grid("groups", (16, 64), (16, 4, 64, 256), "epochs", epochs),
        "LearningFirst": _grid("weight_range", (1.0, 0.3), (0.1, 0.3, 1.0, 3.0), "epochs", epochs),
        "AnonymizedLearning": _grid("thresholds", (0.1, 1.0), (0.1, 0.3, 1.0, 3.0), "epochs", epochs),
        "DP-SGD": _grid("dp_rate", (0.5, 1.0), (0.25, 0.5, 1.0, 2.0), "dp_steps", (800, 200)),
        "private logistic regression": _grid(
            "regularization", (3e-4, 1e-4, 1e-3, 3e-3), (1e-3, 3e-3), "perturbation", ("objective", "output")
        ),
    }
    return {method: {"main": {}} | dict(list(made.items())[1:]) for method, made in tried.items()}


def _grid(name, first, second, other, values) -> dict[str, dict]:
    """Return candidates by name: `name` is in `first` and `other` is `values[0]`, or in `second` and `values[1]`."""
    return {
        f"{name} {each:g}, {other} {value}": {name: each, other: value}
        for value, tried in zip(values, (first, second))
        for each in tried
    }


def places(parameter_epsilons=study.PARAMETER_EPSILONS, record_epsilons=RECORD_EPSILONS) -> dict[str, list[tuple]]:
    """Return for each of `METHODS` the pairs (level, epsilon) of its runs, with levels as in `network_comparison`.

    The epsilon of AnonymizingFirst covers the whole data at either level, so this method is run at the level
    "parameter" only.
    """
    parameter = [("parameter", float(epsilon)) for epsilon in parameter_epsilons]
    record = [("record", float(epsilon)) for epsilon in record_epsilons]
    both = [("parameter", e) for e in sorted({*map(float, parameter_epsilons), *map(float, record_epsilons)})]
    made = dict.fromkeys(study.YARDSTICKS, record) | dict.fromkeys(study.DOCUMENT, parameter + record)
    return {method: both if method == "AnonymizingFirst" else made[method] for method in METHODS}


def run(at, *, settings=DEFAULT, selection=SELECTION, reported=REPORTED, known=None, **options) -> pd.DataFrame:
    """Run all candidates of all methods on the fold `selection`, and the chosen and first ones on the folds `reported`.

    at : what `places` returns; known : rows of `network_comparison.run` that need not be run again, or None
    options : arguments of `network_comparison.run`, which also describes the frame
    """
    named = candidates(settings)
    variants = {name: changes for each in named.values() for name, changes in each.items()}
    done = set() if known is None else set(known[PLACE].itertuples(index=False, name=None))

    def cells_at(where):
        return study.run([p for p in where if p not in done], variants=variants, settings=settings, **options)

    found = cells_at([(name, level, method, epsilon, selection)
                   for method in at for name in named[method] for level, epsilon in at[method]])  # fmt: skip
    best = chosen(pd.concat([known, found]), selection)
    wanted = {(name, *place, fold) for place, one in best.items() for name in ("main", one) for fold in reported}
    # One setting and fold after the other: a trained network is kept for a while.
    order = sorted(wanted, key=lambda place: (METHODS.index(place[2]), place[0], place[4], place))
    return pd.concat([found, cells_at(order)], ignore_index=True)


def chosen(found, selection=SELECTION) -> dict[tuple[str, str, float], str]:
    """Return, for each (level, method, epsilon), the first candidate with the highest accuracy on the fold `selection`."""
    own = found[(found["fold"] == selection) & found["accuracy"].notna()]
    return {place: cells["variant"].iloc[cells["accuracy"].argmax()]
            for place, cells in own.groupby(["level", "method", "epsilon"], sort=False)}  # fmt: skip


def compared(found, selection=SELECTION) -> pd.DataFrame:
    """Return the chosen setting and the first, on folds not used for the choice: a row for each level, method and epsilon.

    setting : the chosen setting; first, tuned : mean accuracies of the first and the chosen setting
    first_error, tuned_error : the standard errors of these means
    gain : how far tuned exceeds first, an `evidence.Difference`

    At the level "record", AnonymizingFirst has the numbers of the level "parameter".
    """
    other = found[found["fold"] != selection]
    rows = {}
    for (level, method, epsilon), name in chosen(found, selection).items():
        cells = other[(other["level"] == level) & (other["method"] == method) & (other["epsilon"] == epsilon)]
        first, tuned = (cells[cells["variant"] == one].set_index("fold")["accuracy"] for one in ("main", name))
        row = {"setting": name, "first": first.mean(), "first_error": first.sem(), "tuned": tuned.mean(),
               "tuned_error": tuned.sem(), "gain": evidence.between(tuned, first[tuned.index], paired=True)}  # fmt: skip
        rows[level, method, epsilon] = row
        if method == "AnonymizingFirst":
            rows["record", method, epsilon] = row
    return pd.DataFrame(rows).T.rename_axis(["level", "method", "epsilon"])


def cells(found, method, *, level="parameter", first=False) -> pd.DataFrame:
    """Return the rows of `found` on the `REPORTED` folds for one method's chosen settings or, with `first`, its first one.

    For AnonymizingFirst, the rows of the level "parameter" also count for the level "record".
    """
    own = "parameter" if method == "AnonymizingFirst" else level
    wanted = RECORD_EPSILONS if level == "record" else found["epsilon"].unique()
    names = {epsilon: "main" if first else name for (at, one, epsilon), name in chosen(found).items()
             if (at, one) == (own, method) and epsilon in wanted}  # fmt: skip
    rows = found[(found["level"] == own) & (found["method"] == method) & found["fold"].isin(REPORTED)]
    return rows[rows["variant"] == rows["epsilon"].map(names)].assign(level=level)


def above(found, lines, method, baseline, *, level="parameter", first=False) -> dict[float, evidence.Difference]:
    """Return the evidence of `network_comparison.above` for the chosen settings or, with `first`, for the first one.

    lines : a frame with the baselines' rows
    """
    own = cells(found, method, level=level, first=first)
    return study.above(pd.concat([own, lines[lines["level"] == "none"]]), method, baseline, level=level)


def load(path=RESULTS) -> pd.DataFrame:
    """Return the committed study, on the real data: a frame as `run` makes it, with the `known` rows."""
    return pd.concat([results.load(path), known()], ignore_index=True)


def known() -> pd.DataFrame:
    """Return the committed results of Figure 5 for the first setting, on the folds that are used here."""
    main = study.load(study.RESULTS).query("variant == 'main' and level == 'parameter'")
    return main[main["method"].isin(METHODS) & main["fold"].isin((SELECTION, *REPORTED))]


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=2017)
    parser.add_argument("--epochs", type=int, default=500)
    arguments = sys.argv[1:] if arguments is None else arguments
    asked = parser.parse_args(arguments)
    settings = study.Settings(epochs=asked.epochs, seed=asked.seed)
    own = known() if settings == DEFAULT and asked.data == "real" else None
    options = {"source": asked.data, "folder": asked.cells, "jobs": asked.jobs, "progress": True}
    found = run(places(), settings=settings, known=own, **options)
    told = asdict(settings) | {"selection": SELECTION, "reported": REPORTED}
    made = command_line.provenance(
        __name__, arguments, asked, told, files=datasets.ADULT_FILES, libraries=study.LIBRARIES
    )
    made["CPU time"] = f"{found['cpu_s'].sum():.0f} s"
    results.save(asked.output, found.drop(columns="cpu_s"), made)


if __name__ == "__main__":
    from notebooks.studies import network_tuning  # other processes find the cells there, not in __main__

    network_tuning.main()
