"""Make a release of the user's table by AIM or staged residuals, describe it in words and tables, and write its files.

All outputs come from the schema and the settings, which are public, and from the noisy counts and choices that the
method releases. Nothing else about the records is disclosed: not their number, unless it is public, and not how many values
were unlisted or missing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..accounting import dp_to_zcdp
from ..mechanisms.noise import generator
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks, in_order
from ..numerics.extras import extra
from ..tables import plan as plans
from ..tables.adaptive_iterative import Result, _Run, aim
from ..tables.budget_schedule import ExactSchedule, Schedule
from ..tables.counting import Workload
from ..tables.graphical_model import GraphicalModel, Measurement
from ..tables.residual_stages import Stage, StagedResult
from ..tables.table import Domain, Table
from ..tables.utility import all_sets
from . import account, files, interpolation, residual_bounds, staged
from .account import in_decimals
from .conditions import Condition
from .counter import Counter
from .escapes import in_markdown, no_formula
from .schema import Attribute, Schema
from .uncertainty import PassedOver, count_intervals, expected_error, stages

with extra("data"):
    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

METHODS = ("aim", "staged")
WITHIN = ("interpolated", "uniform", "middle")
MANY = 1_000_000  # cells
_TARGETED = 8.0  # weight of sets with a target, found by trial on two public tables
_ATTEMPTS = 100  # to place the numbers of a record so that it is possible
_EPOCH = 719_163  # the ordinal of 1970-01-01


def run(table: Table | Counter, epsilon: float, delta: float, *, size: int = 2, neighbours: str = "unbounded",
        records: int = 0, seed: int | None = None, earlier: Release | Result | StagedResult | None = None,
        targets: Collection[str] = (), method: str = "aim") -> Any:  # fmt: skip
    """Run AIM or staged residuals on a `Table` or a `Counter`, with all sets of `size` attributes as workload.

    The result is a `Result` or a `StagedResult`. Arguments that are not listed here are as for `aim`.

    records : number of records to synthesize; 0 means the number in the table if that is public, or else its noisy
        estimate
    seed : None, as a release needs, means the operating system's randomness, and a computation in integers until the
        noise is added. With an integer, the run can be repeated, but anyone who knows the seed can remove the noise, so
        do not release the result
    earlier : a release of the same records by the same method, to continue. The run then starts from the earlier
        measurements and spends the new budget on further ones. The `rho` or `mu` of the result is that of both runs
    targets : attributes that analyses predict. Sets of the workload that contain a target have eight times the weight
        of other sets
    method : "aim" or "staged", which means `staged_residuals`

    Raises ``ValueError`` for an `earlier` with another method, domain, neighbours or number of records, or with noise from a seed.

    >>> import numpy as np
    >>> from lib.release.synthesizer import run
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0, 0], [1, 1]], 500, axis=0), Domain({"a": 2, "b": 2}))
    >>> result = run(table, epsilon=1.0, delta=1e-9, neighbours="bounded", seed=1)
    >>> print(len(result.synthetic), result.model.marginal(["a", "b"])[0].round(-2))
    1000 [500.   0.]
    """
    rng = None if seed is None else np.random.default_rng(checks.whole("seed", seed, "[0, inf)"))
    if rng is None:
        epsilon, delta = in_decimals(epsilon), in_decimals(delta)
    made = checks.whole("records", records, "[0, inf)") or None
    checks.one_of("method", method, METHODS)
    workload: Workload = size
    if targets:
        table.domain.axes(targets)
        aimed = set(targets)
        workload = {names: _TARGETED if aimed & set(names) else 1.0 for names in all_sets(table.domain, size)}
    if earlier is not None:
        check_earlier(earlier, table.domain, neighbours, seed, method)
        if earlier.total not in (None, len(table)):
            raise ValueError(f"earlier must have as many records as the table, {len(table)}, got {earlier.total}")
    if method == "staged":
        told, rho = ((), Fraction(0)) if earlier is None else (stages(earlier), Release.of(earlier).rho)
        return staged.run(
            table, epsilon, delta, workload, neighbours=neighbours, records=made, rng=rng, earlier=told, rho=rho
        )
    if earlier is not None:
        return _continued(table, epsilon, delta, workload, neighbours, made, rng, earlier)
    return aim(table, epsilon, delta, workload, neighbours=neighbours, records=made, rng=rng)


def check_earlier(earlier: Any, domain: Domain, neighbours: str, seed: int | None, method: str = "aim") -> None:
    """Raise ``ValueError`` if a run with these settings cannot continue the release `earlier`."""
    if (stages(earlier) is not None) != (method == "staged"):
        raise ValueError(f"earlier must be a release by the method {method!r}, got a release by the other method")
    if earlier.model.domain != domain:
        raise ValueError("earlier must have the attributes and values of the schema, got a release with different ones")
    if (earlier.total is None) != (neighbours == "unbounded"):
        raise ValueError(f"earlier must be a release for {neighbours} neighbours, got one for other neighbours")
    noisy = Release.of(earlier) if isinstance(earlier, StagedResult) else earlier
    if noisy.noise != "gaussian" or (seed is None and not isinstance(noisy.rho, Fraction)):
        raise ValueError(
            "earlier must have noise from the operating system, got a release whose noise came from a seed"
        )


def _continued(table, epsilon, delta, workload, neighbours, records, rng, earlier) -> Result:
    """Run AIM as `aim` does, but start after the measurements of `earlier` and count their cost as used."""
    plan, later = plans.OURS, np.random.default_rng() if rng is None else rng
    rounds, candidates = plan.rounds_for(len(table.domain)), plan.candidates_for(len(table.domain))
    schedule: Schedule
    if rng is None:
        schedule = ExactSchedule(account.cost(epsilon, delta) + earlier.rho, Fraction(rounds), Fraction(plan.alpha))
    else:
        schedule = Schedule(float(dp_to_zcdp(epsilon, delta)) + float(earlier.rho), rounds, plan.alpha)
    schedule.used = schedule.used + earlier.rho
    schedule.divide()
    made = _Run(table, workload, plan, neighbours, (), rng, float(schedule.rho))
    made.measurements.extend(earlier.measurements)
    for each in earlier.measurements:
        made.reconciliation.add(*each.checked(table.domain))
    made.fit(made.draws.scale(schedule.multiplier))
    while not schedule.exhausted:
        made.round(schedule, made.drawn(candidates, later))
    return Result(made.model.synthesize(records, rng=later), made.model, tuple(made.measurements), tuple(made.steps),
                  schedule.rho, schedule.used, plan.noise, earlier.total, made.choice)  # fmt: skip


# ---- what may be told


def asked(schema: Schema) -> pd.DataFrame:
    """Return a table of the attributes with their numbers of values and the treatment of other values; all of it is public.

    >>> from lib.release.synthesizer import asked
    >>> from lib.release.schema import parse
    >>> public = parse("attributes: {sex: {values: [female, male], unseen: male}, age: {range: [0, 99], missing: 0}}")
    >>> print(asked(public)["treatment"].to_list())
    ['missing: a value of its own; unlisted: male', 'missing, or no number: 0 to 5; beyond the range: its end']
    """
    rows = {
        each.name: {
            "kind": each.kind,
            "values": len(each.labels),
            "first": each.labels[0],
            "treatment": each.treatment(),
        }
        for each in schema.attributes
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("attribute")


def intervals(
    result: Result | StagedResult | Release, attributes: Collection[str], level: float = 0.95
) -> pd.DataFrame:
    """Return the model's counts over `attributes`, the measured counts, or NaN, and `count_intervals`.

    The measured counts are the `unbiased` ones of `uncertainty.Intervals`.

    attributes : at least one; level : (0, 1). Raises ``ValueError`` for values outside these ranges

    >>> import numpy as np
    >>> from lib.release.synthesizer import intervals, run
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0, 0], [1, 1]], 500, axis=0), Domain({"a": 2, "b": 2}))
    >>> found = intervals(run(table, epsilon=1.0, delta=1e-9, seed=1), ["a"])
    >>> print(found.columns.to_list(), (found["at least"] < found["at most"]).all())
    ['model', 'measured', 'at least', 'at most'] True
    """
    if not len(attributes):
        raise ValueError("attributes must not be empty; `count_intervals` gives the number of records")
    found, domain = count_intervals(result, attributes, level=level), result.model.domain
    values = pd.MultiIndex.from_product([domain.values(name) for name in attributes], names=attributes)
    counts = {
        "model": result.model.marginal(attributes).round(1),
        "measured": found.unbiased,
        "at least": found.low,
        "at most": found.high,
    }
    return pd.DataFrame({name: np.ravel(each) for name, each in counts.items()}, values)


def errors(result: Result | StagedResult | Release, size: int) -> pd.DataFrame:
    """Return the number of cells and the `expected_error` of a count, for each attribute and for sets of attributes.

    The sets are all sets of `size` attributes and the other sets that were measured.

    The error is that of the noise alone, without the errors of the model and of sampling. The last column gives it in
    per cent of the model's number of records. The error is NaN for sets that were not measured, but `intervals` bounds
    their counts.

    size : [1, the number of attributes]

    >>> import numpy as np
    >>> from lib.release.synthesizer import errors, run
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0, 0], [1, 1]], 500, axis=0), Domain({"a": 2, "b": 2}))
    >>> found = errors(run(table, epsilon=1.0, delta=1e-9, seed=1), size=2)
    >>> print(found["cells"].to_dict())
    {'a': 2, 'b': 2, 'a × b': 4}
    """
    domain = result.model.domain
    size = checks.whole("size", size, f"[1, {len(domain)}]")
    others = [m.attributes for m in evidence(result) if 1 < len(m.attributes) != size]
    rows = []
    for names in dict.fromkeys([*all_sets(domain, 1), *sorted(others, key=domain.axes), *all_sets(domain, size)]):
        error = expected_error(result, names)
        share = 100 * error / result.model.total
        rows.append((" × ".join(names), len(names), domain.size(names), _short(error), _short(share)))
    columns = ["attributes", "together", "cells", "expected error of a count", "in % of all records"]
    return pd.DataFrame(rows, columns=columns).set_index("attributes")


def _short(number: float) -> float:
    return float(f"{number:.3g}")


def unmeasured(found: pd.DataFrame, most: int = 20) -> str:
    """Return a sentence with the first `most` unmeasured sets of `found`, a result of `errors`.

    For a set with `MANY` or more cells, the sentence gives their number, because measuring such a set is seldom
    affordable.

    >>> import numpy as np
    >>> from lib.release.synthesizer import errors, run, unmeasured
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0, 0], [1, 1]], 500, axis=0), Domain({"a": 2, "b": 2}))
    >>> result = run(table, epsilon=1.0, delta=1e-9, size=1, seed=1)
    >>> print(unmeasured(errors(result, size=2)))
    These sets were not measured together: a × b.
    """
    none = found[found["expected error of a count"].isna()]
    cells = [f" ({each:,} cells)" if each >= MANY else "" for each in none["cells"]]
    names = [in_markdown(name) + each for name, each in zip(none.index, cells)]
    rest = f" and {len(names) - most} more (listed in `errors.csv`)" if len(names) > most else ""
    return (
        f"These sets were not measured together: {', '.join(names[:most])}{rest}."
        if names
        else "All sets were measured."
    )


def measured(result: Result | StagedResult) -> str:
    """Return a sentence that says how much was measured.

    >>> import numpy as np
    >>> from lib.release.synthesizer import measured, run
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0, 0], [1, 1]], 500, axis=0), Domain({"a": 2, "b": 2}))
    >>> print(measured(run(table, epsilon=1.0, delta=1e-9, seed=1)).partition(",")[0])
    AIM measured 7 tables of counts
    """
    if isinstance(result, StagedResult):
        told = dict.fromkeys(each.attributes for each in residual_bounds.measurements(result.stages))
        kinds = {size: in_order.total(len(names) == size for names in told) for size in (1, 2, 3)}
        named = " and ".join(f"{count:,} {_KINDS[size]}{'s' * (count != 1)}" for size, count in kinds.items() if count)
        return (
            f"In {len(result.stages)} stages, staged residuals measured the counts of {named}. They spent mu = {float(result.mu_used):.6g} of the "
            f"budget mu = {float(result.mu):.6g} of Gaussian differential privacy. The model has {_potentials(result.model)}, and targets for "
            f"{len(result.targets):,} pair{'s' * (len(result.targets) != 1)} of attributes. It estimates the number of records at {result.model.total:,.0f}."
        )
    chosen = in_order.total(step.epsilon > 0 for step in result.steps)
    sigmas = [float(step.sigma) for step in result.steps]
    return (
        f"AIM measured {len(result.steps)} tables of counts, {chosen} of them chosen by the exponential mechanism. The standard deviation "
        f"of its Gaussian noise was at most {max(sigmas):.4g}, and {sigmas[-1]:.4g} in the last round. It spent {float(result.rho_used):.6g} "
        f"of its budget rho = {float(result.rho):.6g} of zero-concentrated differential privacy. "
        f"The model has {_potentials(result.model)} and estimates the number of records at {result.model.total:,.0f}."
    )


_KINDS = {1: "attribute", 2: "pair", 3: "triple"}


def _potentials(model) -> str:
    return f"{len(model.cliques)} potential{'s' * (len(model.cliques) != 1)}"


def treated(result: Result | StagedResult | Release, schema: Schema) -> pd.DataFrame:
    """Return the percentages of missing, `other` and mixed values of each attribute, according to the noisy counts.

    The column "missing" includes values that are not numbers or dates, and "other" counts unlisted values. Each is NaN
    if it is not a separate value of the attribute. The column "mixed" gives the largest percentage of a value that also
    means missing values, unlisted values, or values beyond an end of the range.

    >>> import numpy as np
    >>> from lib.release.synthesizer import run, treated
    >>> from lib.release.schema import parse
    >>> from lib.tables import Table
    >>> public = parse("attributes: {sex: {values: [female, male], missing: male}}")
    >>> table = Table(np.repeat([[0], [2]], [100, 300], axis=0), public.domain)
    >>> print(treated(run(table, epsilon=1e4, delta=1e-9, size=1, seed=1), public).to_dict("index"))
    {'sex': {'missing': nan, 'other': 75.0, 'mixed': 0.0}}
    """
    rows = {}
    for each in schema.attributes:
        shares = 100 * result.model.marginal((each.name,)) / result.model.total
        rows[each.name] = {
            "missing": shares[each.missing] if each.own_missing else np.nan,
            "other": shares[each.unseen] if each.own_unseen else np.nan,
            "mixed": max((shares[code] for code in each.mixed), default=np.nan),
        }
    found = pd.DataFrame.from_dict(rows, orient="index", columns=["missing", "other", "mixed"], dtype=float)
    return (found.round(1) + 0.0).rename_axis("attribute")


def doubts(found: pd.DataFrame) -> str:
    """Return a warning about attributes that are mostly missing or `other`, or at least 99 % mixed; "" if there are none.

    found : the table that `treated` returns

    >>> import pandas as pd
    >>> from lib.release.synthesizer import doubts
    >>> print(doubts(pd.DataFrame({"missing": [97.0], "other": [0.1], "mixed": [0.0]}, ["fee"])).partition(" If")[0])
    According to the noisy counts, 97 % of the values of fee are missing or `other`.
    """
    lost, mixed = found[["missing", "other"]].sum(axis=1), found["mixed"]
    said = [
        f"{share:.0f} % of the values of {in_markdown(name)} are missing or `other`"
        for name, share in lost[lost > 50].items()
    ]
    said += [
        f"{share:.0f} % of the values of {in_markdown(name)} are in one value that also stands for values that are missing, unlisted or beyond the range"
        for name, share in mixed[mixed >= 99].items()
    ]
    if not said:
        return ""
    return (
        f"According to the noisy counts, {'. '.join(said)}. If the codebook does not explain this, the schema does not match how the "
        "records are written (for example decimal commas, leading zeros, another date format, another spelling), and this release says "
        "little about these attributes. If you want another release, which adds its epsilon to the total, correct the schema from the "
        "codebook and these counts, without looking at the records."
    )


def marks(schema: Schema) -> str:
    """Return one to three sentences on the meaning of empty cells and the value `other` in the synthetic table.

    >>> from lib.release.synthesizer import marks
    >>> from lib.release.schema import parse
    >>> print(marks(parse("attributes: {sex: {values: [female, male], missing: male}}")))
    No cell is empty. In sex, `other` stands for values that the schema does not list.
    """
    missing = [in_markdown(each.name) for each in schema.attributes if each.own_missing]
    other = [in_markdown(each.name) for each in schema.attributes if each.own_unseen]
    one = [in_markdown(each.name) for each in schema.attributes if each.missing == each.unseen]
    said = [f"An empty cell of {', '.join(missing)} is a missing value." if missing else "No cell is empty."]
    if other:
        said.append(f"In {', '.join(other)}, `other` stands for values that the schema does not list.")
    if one:
        said.append(f"In {', '.join(one)}, a missing value and an unlisted one look alike.")
    return " ".join(said)


def statement(epsilon: float, delta: float, neighbours: str, seed: int | None = None, method: str = "aim") -> str:
    """Return the guarantee in words, for publication, or with a `seed`, that there is none. Arguments are as for `run`.

    Raises ``ValueError`` for values that `run` refuses, so that a caller can check them before the records are counted.

    >>> from lib.release.synthesizer import statement
    >>> print(statement(1.0, 1e-9, "unbounded").partition(", which is ")[2].partition(":")[0])
    (1, 1e-09)-differentially private
    >>> print(statement(1.0, 1e-9, "unbounded", seed=7).partition(" The ")[0])
    **Not for release.**
    """
    epsilon = checks.number("epsilon", epsilon, "[1e-6, 1e6]" if seed is None else "(0, inf)")  # as `aim` does
    delta = checks.number("delta", delta, "[1e-300, 1)" if seed is None else "(0, 1)")
    checks.one_of("neighbours", neighbours, NEIGHBOURS)
    checks.one_of("method", method, METHODS)
    if seed is not None:
        return (
            "**Not for release.** The noise of this run came from a seed, so that readers can repeat the run. Anyone who knows the seed "
            "and the program can subtract the noise, so this run protects nobody in the table."
        )
    pair = (
        "differ in one record, which only one of them contains"
        if neighbours == "unbounded"
        else "differ in the values of one record (the number of records is public)"
    )
    e, d = _upwards(epsilon), _upwards(delta)
    named, drawn = _TOLD[method]
    return (
        f"The synthetic table, the model and this report are outputs of {named}, which is "
        f"({e}, {d})-differentially private: for two tables that {pair}, the probability of any set of outputs is at "
        f"most e^{e} times as large for one as for the other, plus {d}. This assumes that the schema (attributes, values, "
        "bins, treatment of missing and unlisted values) and the settings were fixed without looking at the records. The guarantee "
        "is for one record. For a person with k records, epsilon is k times as large, and delta is k e^((k-1) epsilon) times as large. "
        f"{drawn} computed with integers and the operating system's randomness. Other releases of the same records add to "
        "epsilon and delta. The guarantee covers the outputs. It does not cover what an observer could see of the computation, such as "
        "the time that it took."
    )


_TOLD = {
    "aim": ("a variant of AIM (McKenna, Mullins, Sheldon and Miklau 2022)", "Noise and choices were"),
    "staged": ("staged residuals (a method of the Differential Privacy Reproduction Compendium)", "The noise was"),
}


def _upwards(number: float) -> str:
    """Return `number` with six digits, or with all digits if six digits would round it down."""
    return short if float(short := f"{number:g}") >= number else repr(float(number))


# ---- the files


def write(folder: str | Path, result: Result | StagedResult, schema: Schema, size: int, promise: str, *,
          within: str = "interpolated", seed: int | None = None, settings: Mapping | None = None,
          spreadsheet: bool = False) -> None:  # fmt: skip
    """Write the files of a release to `folder`, each completely or not at all.

    The files are synthetic.csv, synthetic.parquet, errors.csv, model.npz and statement.txt.

    promise : the text of statement.txt, from `statement`; `decoded`, `errors` and `save` describe the other files
    settings : as for `save`
    spreadsheet : whether the CSV files have an apostrophe before each name and label that a spreadsheet would run as a
        formula, such as =1+2. The schema does not contain the labels with apostrophes, so read synthetic.parquet
        instead

    Raises ``FileExistsError`` if one of the files exists, because it may be another release.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from lib.release.synthesizer import run, statement, write
    >>> from lib.release.schema import parse
    >>> from lib.tables import Table
    >>> public = parse("attributes: {sex: {values: [female, male], missing: male, unseen: male}}")
    >>> result = run(Table(np.repeat([[0], [1]], 500, axis=0), public.domain), epsilon=1.0, delta=1e-9, size=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder, result, public, size=1, promise=statement(1.0, 1e-9, "unbounded", seed=1))
    ...     print(sorted(os.listdir(folder)))
    ['errors.csv', 'model.npz', 'statement.txt', 'synthetic.csv', 'synthetic.parquet']
    """
    folder, rng = Path(folder), np.random.default_rng(seed)
    table = decoded(result.synthetic, schema, within, rng=rng, release=result)
    writers = {
        "synthetic.csv": lambda draft: write_csv(table, schema, draft, spreadsheet),
        "synthetic.parquet": lambda draft: pa.parquet.write_table(table, draft),
        "errors.csv": lambda draft: (
            errors(result, size).rename(index=no_formula if spreadsheet else str).to_csv(draft, lineterminator="\n")
        ),
        "model.npz": lambda draft: save(result, draft, schema, settings),
        "statement.txt": lambda draft: draft.write_text(f"{promise}\n", encoding="utf-8"),
    }
    for name in writers:
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name} already exists, from another release; choose another folder")
    for name, writer in writers.items():
        with files.whole(folder / name) as draft:
            writer(draft)


def write_csv(table: pa.Table, schema: Schema, file: Any, spreadsheet: bool = False) -> None:
    """Write `decoded` records as CSV to a path or a binary file, with dates in the schema's format, so that it can read them.

    Quotation marks are written where needed. If there is one column, a missing value is written as "", because blank
    lines are not records. `spreadsheet` is as for `write`.
    """
    for place, each in enumerate(schema.attributes):
        if each.form:
            days = [day and day.strftime(each.form) for day in table.column(place).to_pylist()]
            table = table.set_column(place, each.name, pa.array(days, pa.string()))
    table, style = _without_formulas(table) if spreadsheet else table, "needed"
    if table.num_columns == 1:
        texts, style = table.column(0).cast(pa.string()).fill_null(""), "all_valid"
        table = table.set_column(0, table.column_names[0], texts)
    pa.csv.write_csv(table, file, pa.csv.WriteOptions(quoting_style=style))


def _without_formulas(table: pa.Table) -> pa.Table:
    for place, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            encoded = column.combine_chunks().dictionary_encode()
            labels = pa.array([no_formula(label) for label in encoded.dictionary.to_pylist()], pa.string())
            column = pa.DictionaryArray.from_arrays(encoded.indices, labels).cast(pa.string())
            table = table.set_column(place, table.column_names[place], column)
    return table.rename_columns([no_formula(name) for name in table.column_names])


def decoded(table: Table, schema: Schema, within: str = "uniform", *, rng: np.random.Generator,
            never: Sequence[Condition] = (), release: Result | StagedResult | Release | None = None) -> pa.Table:  # fmt: skip
    """Return `table`, whose domain is that of `schema`, with values instead of codes, in one column for each attribute.

    within : "uniform" draws a number or a day in its bin; "middle" takes the middle of the bin. "interpolated" draws it
        so that the density follows the counts of `release` and correlations are kept (`interpolation`)
    release : the release that `table` was drawn from, needed for "interpolated"
    never : conditions that no record may satisfy, besides those of `schema`

    The additional value "missing" becomes null. A record that satisfies a condition of `never` gets other numbers in
    its bins or, if that does not help, is replaced by a copy of another record.

    >>> import numpy as np
    >>> from lib.release.synthesizer import decoded
    >>> from lib.release.schema import parse
    >>> from lib.tables import Table
    >>> public = parse("attributes: {age: {range: [0, 99], bins: 10}}")
    >>> table = Table([[1], [3], [10]], public.domain)  # two bins, and the value "missing"
    >>> print(decoded(table, public, "middle", rng=np.random.default_rng(0)).to_pydict())
    {'age': [15, 35, None]}
    """
    checks.one_of("within", within, WITHIN)
    if table.domain != schema.domain:
        raise ValueError(f"table must have the domain of the schema, {schema.domain!r}, got {table.domain!r}")
    rng = generator(rng)
    codes = {each.name: table.column(each.name).astype(np.int64) for each in schema.attributes}
    place = _Placer(schema, codes, within, rng, release)
    placed = {each.name: place(each, codes[each.name]) for each in schema.attributes if each.starts}
    if never := [*schema.impossible, *never]:
        _replace(codes, placed, never, place)
    return pa.table({each.name: _decoded(each, codes[each.name], placed.get(each.name)) for each in schema.attributes})


class _Placer:
    """A function that places records in their bins: it returns numbers or days as floats, NaN if they are missing."""

    def __init__(self, schema, codes, within, rng, release):
        self.within, self.rng, self.positions = within, rng, {}
        self.tilts = {each.name: np.zeros(len(each.starts)) for each in schema.attributes if each.starts}
        if within != "interpolated":
            return
        if release is None:
            raise ValueError("release must be given to interpolate numbers, got None")
        marginal = release.model.marginal
        self.positions = interpolation.Copula(marginal, schema.attributes).positions(codes, rng)
        for each in schema.attributes:
            if each.starts:
                noise = expected_error(release, (each.name,))
                self.tilts[each.name] = interpolation.tilts(each, marginal((each.name,)), noise if noise > 1 else 1.0)

    def __call__(self, attribute, codes, again=False):
        """Return the numbers of the records with these codes; with `again`, draw new numbers."""
        missing = (codes == attribute.missing) & attribute.own_missing
        bins, positions = np.where(missing, 0, codes), self.positions.get(attribute.name)
        if again or positions is None:
            positions = self.rng.random(len(codes)) if again or self.within != "middle" else np.full(len(codes), 0.5)
        return np.where(missing, np.nan, interpolation.placed(attribute, bins, positions, self.tilts[attribute.name]))


def _replace(codes, placed, never, place) -> None:
    """Change the records for which a condition of `never` holds; `codes` and `placed` contain the columns."""
    binned = {each.name: each for condition in never for each in condition.attributes if each.starts}
    left = np.arange(len(next(iter(codes.values()))))
    for _ in range(_ATTEMPTS):
        ends = {name: placed[name][left] for name in binned}

        def view(each, rows=left, ends=ends):
            return codes[each.name][rows], ends.get(each.name), ends.get(each.name)

        left = left[np.any([condition.holds(view)[0] for condition in never], axis=0)]
        if not len(left):
            return
        for each in binned.values():
            placed[each.name][left] = place(each, codes[each.name][left], again=True)
    others = np.delete(np.arange(len(codes[next(iter(codes))])), left)
    if not len(others):
        raise ValueError(
            "the conditions in never must permit at least one record, got conditions that hold for all records drawn"
        )
    copied = place.rng.choice(others, len(left))
    for column in (*codes.values(), *placed.values()):
        column[left] = column[copied]


def _decoded(attribute: Attribute, codes, values) -> pa.Array:
    missing = (codes == attribute.missing) & attribute.own_missing
    if attribute.kind == "values":
        return pa.array(np.array(attribute.labels, dtype=object)[codes], pa.string(), mask=missing)
    if attribute.kind == "real":
        return pa.array(values, mask=missing)
    values = np.where(missing, 0, values).astype(np.int64)
    if attribute.kind == "dates":
        return pa.array((values - _EPOCH).astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    return pa.array(values, mask=missing)


@dataclass(frozen=True)
class Release:
    """The public part of a `Result` for further computation; `count_intervals` accepts it in place of a `Result`.

    model : `GraphicalModel`; measurements : AIM's noisy counts, in order; noise : "gaussian" or "laplace"
    total : the number of records if it is public, else None; rho : the budget, a Fraction after an exact run
    schema, settings : the `Schema` and the parameters of a `Synthesizer`, if they were saved
    passed : `PassedOver` for AIM's last choice, which bounds the errors of counts that were not measured; None if unknown
    stages : the `Stage` objects of staged residuals, in order, whose `model` is a `TargetedModel`; None for AIM
    """

    model: GraphicalModel
    measurements: tuple[Measurement, ...]
    noise: str
    total: int | None
    rho: Fraction | float
    schema: Schema | None = None
    settings: dict = field(default_factory=dict)
    passed: PassedOver | None = None
    stages: tuple[Stage, ...] | None = None

    @classmethod
    def of(cls, result: Release | Result | StagedResult, schema: Schema | None = None, settings: Mapping | None = None) -> Release:  # fmt: skip
        """Return the public part of `result`, or `result` itself if it is a `Release`.

        The rho of staged residuals is half of the square of `mu`.
        """
        if isinstance(result, Release):
            return result
        if isinstance(result, StagedResult):
            model: GraphicalModel = result.model
            if not isinstance(model, staged.TargetedModel):
                model = staged.TargetedModel(model, result.targets)
            given = model, (), "gaussian", result.total, result.mu**2 / 2
            return cls(*given, schema, dict(settings or {}), stages=result.stages)
        passed = PassedOver.of(result, result.model) if result.choice else None
        parts = result.model, result.measurements, result.noise, result.total, result.rho
        return cls(*parts, schema, dict(settings or {}), passed)


def evidence(result: Result | StagedResult | Release) -> tuple[Measurement, ...]:
    """Return AIM's measurements, or the noisy residuals of staged residuals, each with the sigma of its noise."""
    told: Any = stages(result)
    return tuple(result.measurements if told is None else residual_bounds.measurements(told))  # type: ignore[union-attr]


def save(
    result: Result | StagedResult | Release,
    path: str | Path,
    schema: Schema | None = None,
    settings: Mapping | None = None,
) -> None:
    """Write the `Release` of a `Result` whose labels are strings to `path`, as numpy's .npz; `load` reads it.

    schema, settings : the `Schema` and other public parameters of the run (JSON-serializable values), which are also
        written

    >>> import os, tempfile
    >>> import numpy as np
    >>> from lib.release.synthesizer import load, run, save
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.repeat([[0], [1]], 500, axis=0), Domain.from_labels({"sex": ["female", "male"]}))
    >>> result = run(table, epsilon=1.0, delta=1e-9, size=1, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(result, os.path.join(folder, "model.npz"))
    ...     released = load(os.path.join(folder, "model.npz"))
    >>> print(released.model.total == result.model.total, hasattr(released, "synthetic"))
    True False
    """
    released = Release.of(result)
    model, domain = released.model, released.model.domain
    about = {
        "sizes": list(zip(domain.attributes, domain.sizes)),
        "labels": domain.labels,
        "records": model.total,
        "cliques": model.cliques,
        "measured": [(m.attributes, m.sigma) for m in released.measurements],
        "noise": released.noise,
        "total": released.total,
        "rho": str(released.rho) if isinstance(released.rho, Fraction) else released.rho,
        "schema": schema and schema.as_json(),
        "settings": dict(settings or {}),
        "passed": released.passed and asdict(released.passed),
    }
    arrays = {f"potentials_{i}": values for i, values in enumerate(model.potentials.values())}
    arrays |= {f"counts_{i}": m.values for i, m in enumerate(released.measurements)}
    if released.stages is not None:
        targeted = model if isinstance(model, staged.TargetedModel) else staged.TargetedModel(model, {})
        about["staged"], more = staged.packed(targeted, released.stages)
        arrays |= more
    with Path(path).open("wb") as file:
        np.savez(file, about=json.dumps(about, default=float), **arrays)


def load(path: str | Path) -> Release:
    """Return the `Release` that `save` wrote.

    Raises ``ValueError`` for any other file, and ``OSError`` if the file cannot be read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.synthesizer import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.npz")
    ...     written = path.write_text("something else")
    ...     try:
    ...         load(path)
    ...     except ValueError as error:
    ...         print("must be a release that `save` wrote" in str(error))
    True
    """
    try:
        with Path(path).open("rb") as file, np.lib.npyio.NpzFile(file) as held:  # without pickles
            about = json.loads(str(held["about"]))
            potentials = {tuple(names): held[f"potentials_{i}"] for i, names in enumerate(about["cliques"])}
            measured = [
                Measurement(tuple(names), held[f"counts_{i}"], sigma)
                for i, (names, sigma) in enumerate(about["measured"])
            ]
            unpack = staged.unpacked(about["staged"], held) if about.get("staged") is not None else None
        model = GraphicalModel(Domain(about["sizes"], about["labels"]), potentials, about["records"])
        for each in measured:
            each.checked(model.domain)
        model, told = unpack(model) if unpack else (model, None)
        rho: Any = about["rho"]
        rho = Fraction(*map(int, rho.split("/"))) if isinstance(rho, str) else float(rho)
        checks.number("rho", rho, "(0, inf)")
        total = about["total"] if about["total"] is None else checks.whole("total", about["total"], "[0, inf)")
        schema = Schema.from_json(about["schema"]) if about.get("schema") else None
        passed = about.get("passed")
        if passed:
            candidates: Any = tuple((tuple(names), *map(float, rest)) for names, *rest in passed["candidates"])
            numbers = {name: float(passed[name]) for name in ("scale", "top", "chosen", "sigma")}
            passed = PassedOver(candidates, **numbers, cells=checks.whole("cells", passed["cells"], "[1, inf)"))
        settings = dict(about.get("settings", {}))
        return Release(model, tuple(measured), about["noise"], total, rho, schema, settings, passed, told)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a file by someone else raises any of a dozen types
        raise ValueError(f"{path} must be a release that `save` wrote, got a file that is not one ({error})") from None
