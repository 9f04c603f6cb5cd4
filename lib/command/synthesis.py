"""`dp-compendium synthesize`: a table and its public schema to synthetic records."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from ..release import files
from .answers import answer, as_json
from .costs import WHICH, option


@click.command(
    epilog="\b\nExamples:\n  dp-compendium synthesize people.csv schema.yml --epsilon 1"
    "\n  dp-compendium synthesize sqlite:///people.db schema.yml --table people --output released"
)
@click.argument("data")
@click.argument("schema")
@option("epsilon", "What is promised.", default=1.0)
@option("delta", "Far below one over a number of records that is public, or surely not exceeded.", default=1e-9)
@option("neighbours", "A record more, or another one and their number public.", default="unbounded", kind=WHICH)
@click.option(
    "--workload",
    type=click.IntRange(1, 6),
    help="Counts of so many attributes together are preserved.  [default: 2, or 1 where there is one attribute]",
)
@option(
    "records",
    "How many are made, whatever their true number; 0 for as many as the noisy counts say.",
    default=0,
    kind=click.IntRange(0, 10**9),
)
@option("within", "Where a number lies in its bin.", default="uniform", kind=click.Choice(("uniform", "middle")))
@click.option("--table", default="", help="Which table of a database.")
@option("output", "The folder for all that goes out.", default="released", kind=click.Path(path_type=Path))
@as_json
def synthesize(data, schema, epsilon, delta, neighbours, workload, records, within, table, output, as_json):
    """Differentially private synthetic records of DATA, by AIM, with the operating system's randomness.

    DATA is a CSV, Parquet or DuckDB file, or an address of an SQL database. SCHEMA is a YAML file with the attributes and their values,
    written without a look at the records. In the folder appear, at once: synthetic.csv, synthetic.parquet, model.npz, errors.csv,
    schema.yml, and statement.txt, which says what is promised. A second release costs its epsilon on top of the first one's, so a folder that
    holds one is refused.
    """
    from ..release import schema as schemas  # of the extra `data`, and slow to import
    from ..release import sources
    from ..release import synthesizer as release

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise FileExistsError(
            f"{output} is there already: say with --output where another release is to go, if it is meant"
        )
    sources.check(data, public := schemas.read(schema), table)
    workload = workload or min(2, len(public.attributes))
    files.check_writable(output.with_name(f".{output.name}"))
    counted = sources.count(data, public, workload, table)
    result = release.run(counted, epsilon, delta, size=workload, neighbours=neighbours, records=records)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        promise = release.statement(epsilon, delta, neighbours)
        release.write(made, result, public, workload, promise, within=within)
        shutil.copyfile(schema, made / "schema.yml")
        os.replace(made, output)
    promised = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
    held = ", ".join(sorted(each.name for each in output.iterdir()))
    answer({"output": str(output), "files": held, "records": len(result.synthetic)} | promised, as_json)
    if doubts := release.doubts(release.treated(result, public)):
        click.echo(doubts, err=True)
