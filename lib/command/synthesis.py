"""`dp-compendium synthesize`, `sample` and `query`: synthetic records from a table, and answers from a release."""

from __future__ import annotations

import dataclasses
import io
import shutil
import sys
import warnings
from pathlib import Path

import click

from ..numerics.extras import extra
from ..release import files
from ..release.escapes import printable
from .answers import answer, as_json
from .costs import WHICH, Whole, option
from .ending import check_memory, interrupted, lost, spent


@click.command(
    epilog="\b\nExamples:\n  dp-compendium synthesize people.csv schema.yml --epsilon 1"
    "\n  dp-compendium synthesize sqlite:///people.db schema.yml --table people --output released"
    "\n  dp-compendium synthesize people.csv schema.yml --epsilon 0.2 --account people.account --earlier released/model.npz --output more"
)
@click.argument("data")
@click.argument("schema")
@option("epsilon", "The epsilon of the guarantee.", default=1.0)
@option(
    "delta",
    "The delta of the guarantee, far below 1/n for a public upper bound n on the number of records.",
    default=1e-9,
)
@option(
    "neighbours",
    "Unbounded: one record is added or removed. Bounded: one record is changed, and the number of records is public.",
    default="unbounded",
    kind=WHICH,
)
@option(
    "method",
    "AIM, or staged residuals, whose errors were smaller on most tables that we tried; see the book.",
    default="aim",
    kind=click.Choice(("aim", "staged")),
)
@click.option(
    "--workload",
    type=Whole(1, 6),
    help="The number of attributes whose joint counts are preserved.  [default: 2, or 1 if there is one attribute]",
)
@option(
    "records",
    "The number of synthetic records; 0 for the number of input records, noisy unless it is public.",
    default=0,
    kind=Whole(0, 10**9),
)
@option(
    "within",
    "Where a number is placed in its bin.",
    default="interpolated",
    kind=click.Choice(("interpolated", "uniform", "middle")),
)
@click.option("--table", default="", help="The name of the table, if DATA is a database.")
@option("output", "The folder for the release, new or empty.", default="released", kind=click.Path(path_type=Path))
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="In CSV files, write an apostrophe (') before names and labels that a spreadsheet would run as a formula, "
    "such as =1+2.",
)
@click.option("--account", help="The account of all releases of these records (dp-compendium account).")
@click.option(
    "--earlier", help="The model.npz of an earlier release of the same records, which this release continues."
)
@as_json
def synthesize(output, epsilon, delta, neighbours, as_json, **given):
    """Make differentially private synthetic records from DATA.

    The randomness comes from the operating system. DATA is a CSV, Parquet or DuckDB file, or the address
    of an SQL database. SCHEMA is a YAML file with the attributes and their values; write it without looking at the
    records. The command writes all of these files or none: synthetic.csv, synthetic.parquet, model.npz, errors.csv,
    schema.yml, and statement.txt, which states the guarantee. The folder must be new or empty, so that a release cannot
    replace an earlier one: the epsilons of all releases of the same records add up. With an account, a release that would
    exceed the total is refused before any record is counted. A release that continues an earlier one uses the measurements
    of both.
    """
    before = spent(given["account"])
    try:
        records, doubts, total = _release(output, epsilon, delta, neighbours, **given)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(output, given["account"], before)) from None
    held = ", ".join(sorted(each.name for each in output.iterdir()))
    promised = {"epsilon": total, "delta": delta, "neighbours": neighbours}
    answer({"output": str(output), "files": held, "records": records} | promised, as_json)
    if doubts:
        click.echo(doubts, err=True)


def _release(
    output,
    epsilon,
    delta,
    neighbours,
    data,
    schema,
    method,
    workload,
    records,
    within,
    table,
    spreadsheet,
    account,
    earlier,
) -> tuple[int, str, float]:
    """Write a release to `output`, and return the number of records, the doubts about the schema, and the epsilon."""
    check_memory()
    from ..release import Synthesizer, sources  # needs the extra `data`, and is slow to import
    from ..release import schema as schemas
    from ..release import synthesizer as release

    if not any("://" in name or Path(name).exists() for name in (data, schema)):
        raise FileNotFoundError(
            f"DATA and SCHEMA must be existing files, got {data!r} and {schema!r}, which do not exist"
        )
    files.check_new(output)
    sources.check(data, public := schemas.read(schema), table)
    made = Synthesizer(public, epsilon, delta, workload=workload, neighbours=neighbours, records=records, within=within,
                       method=method)  # fmt: skip
    if said := schemas.wide(public):
        click.echo(said, err=True)
    try:
        with files.new_folder(output) as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", schemas.WideBins)
            made.fit(data, table, account=account, earlier=None if earlier is None else Synthesizer.load(earlier))
            made.write(folder, spreadsheet=spreadsheet)
            shutil.copyfile(schema, folder / "schema.yml")
    except OSError as error:  # for example, the disk is full, or another run has made the folder
        raise lost(error, account) if account and hasattr(made, "result_") else error from None
    return len(made.result_.synthetic), release.doubts(release.treated(made.release_, public)), made.epsilon_


@click.command(
    epilog='\b\nExamples:\n  dp-compendium query released/model.npz "count where card = adult"'
    '\n  dp-compendium query released/model.npz "mean(age) where card = adult" --level 0.99 --json'
)
@click.argument("model")
@click.argument("question")
@option("level", "The probability that the interval covers the true value.", default=0.95)
@as_json
def query(model, question, level, as_json):
    """Answer a question about the records of a release.

    MODEL is the model.npz of the release. QUESTION is `count`, `proportion(CONDITION)`, `mean(ATTRIBUTE)`, `sd(ATTRIBUTE)`,
    `median(ATTRIBUTE)`, `quantile(ATTRIBUTE, 0.9)` or `correlation(ATTRIBUTE, ATTRIBUTE)`, and may end with
    `where CONDITION`. Two questions with ` - ` or ` / ` between them ask for a difference or a ratio. The answer gives
    an estimate and two intervals. With probability LEVEL, the interval (low, high) covers the true value, wherever in
    their bins the numbers lie. The interval (noise_low, noise_high) accounts for the noise only. The answer uses only
    the release, so it costs no privacy.
    """
    from ..release import Synthesizer

    found = dataclasses.asdict(Synthesizer.load(model).query(question, level))
    answer(found if as_json else {name: f"{value:.10g}" for name, value in found.items()}, as_json)


@click.command(
    epilog="\b\nExamples:\n  dp-compendium sample released/model.npz -n 5"
    '\n  dp-compendium sample released/model.npz -n 1000 --where "age >= 16" --output adults.parquet'
)
@click.argument("model")
@click.option("-n", "--records", "n", type=Whole(1, 10**9), help="The number of records.  [default: by the model]")
@click.option("--where", default="", help="A condition that all records fulfil.")
@click.option("--output", type=click.Path(path_type=Path), help="A new file, .csv or .parquet.  [default: print CSV]")
def sample(model, n, where, output):
    """Draw more synthetic records from a release.

    MODEL is the model.npz of the release. Sampling uses only the release, so it costs no privacy.
    """
    with extra("data"):
        from pyarrow.parquet import write_table

    from ..release import Synthesizer
    from ..release.synthesizer import write_csv

    if output and (output.exists() or output.suffix not in (".csv", ".parquet")):
        raise ValueError(f"output must be a new file that ends in .csv or .parquet, got {str(output)!r}")
    made = Synthesizer.load(model, kind="pyarrow")
    table, printed = made.sample(n, where), io.BytesIO()
    if not output:
        write_csv(table, made.schema_, printed)
        text = printed.getvalue().decode()
        if sys.stdout.isatty():
            text = "\n".join(map(printable, text.split("\n")))
        click.echo(text, nl=False, color=True)  # without this, click removes escape codes from a file
        return
    with files.whole(output) as draft:
        write_table(table, draft) if output.suffix == ".parquet" else write_csv(table, made.schema_, draft)
    answer({"output": str(output), "records": len(table)}, False)
