"""`dp-compendium synthesize`: synthetic records from a table and its public schema."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from ..release import files
from .answers import answer, as_json
from .costs import WHICH, Whole, option
from .ending import check_memory, interrupted


@click.command(
    epilog="\b\nExamples:\n  dp-compendium synthesize people.csv schema.yml --epsilon 1"
    "\n  dp-compendium synthesize sqlite:///people.db schema.yml --table people --output released"
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
@option("within", "Where a number is placed in its bin.", default="uniform", kind=click.Choice(("uniform", "middle")))
@click.option("--table", default="", help="The name of the table, if DATA is a database.")
@option("output", "The folder for the release, new or empty.", default="released", kind=click.Path(path_type=Path))
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="Write ' before names and labels in CSV files that a spreadsheet would run as a formula, such as =1+2.",
)
@as_json
def synthesize(
    data, schema, epsilon, delta, neighbours, workload, records, within, table, output, spreadsheet, as_json
):
    """Make differentially private synthetic records from DATA.

    The algorithm is AIM, with the operating system's randomness. DATA is a CSV, Parquet or DuckDB file, or the address
    of an SQL database. SCHEMA is a YAML file with the attributes and their values; write it without looking at the
    records. The command writes all of these files or none: synthetic.csv, synthetic.parquet, model.npz, errors.csv,
    schema.yml, and statement.txt, which states the guarantee. The folder must be new or empty, so that a release cannot
    replace an earlier one: the epsilons of all releases of the same records add up.
    """
    try:
        made = _release(data, schema, epsilon, delta, neighbours, workload, records, within, table, output, spreadsheet)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(output)) from None
    held = ", ".join(sorted(each.name for each in output.iterdir()))
    promised = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
    answer({"output": str(output), "files": held, "records": made[0]} | promised, as_json)
    if made[1]:
        click.echo(made[1], err=True)


def _release(
    data, schema, epsilon, delta, neighbours, workload, records, within, table, output, spreadsheet
) -> tuple[int, str]:
    """Write the files of a release to `output`, and return the number of records and the doubts about the schema."""
    check_memory()
    from ..release import schema as schemas  # needs the extra `data`, and is slow to import
    from ..release import sources
    from ..release import synthesizer as release

    if not any("://" in name or Path(name).exists() for name in (data, schema)):
        raise FileNotFoundError(
            f"DATA and SCHEMA must be existing files, got {data!r} and {schema!r}, which do not exist"
        )
    files.check_new(output)
    sources.check(data, public := schemas.read(schema), table)
    workload = workload or min(2, len(public.attributes))
    promise = release.statement(epsilon, delta, neighbours)
    with files.new_folder(output) as made:
        counted = sources.count(data, public, workload, table)
        result = release.run(counted, epsilon, delta, size=workload, neighbours=neighbours, records=records)
        release.write(made, result, public, workload, promise, within=within, spreadsheet=spreadsheet)
        shutil.copyfile(schema, made / "schema.yml")
    return len(result.synthetic), release.doubts(release.treated(result, public))
