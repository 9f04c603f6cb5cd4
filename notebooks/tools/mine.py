"""Release a synthetic version of your table with a report (`make mine`), or propose a schema from a codebook (`make schema`).

    python -m notebooks.tools.mine release --data people.csv --schema schema.yml --output released --epsilon 1
    python -m notebooks.tools.mine schema codebook.csv --output schema.yml

`release` runs notebooks/yours/release.ipynb with the operating system's randomness. It writes all results to the output folder at
once: synthetic.csv, synthetic.parquet, model.npz, errors.csv, schema.yml, statement.txt and report.html, or nothing at all.

The exit status is 0 on success, 1 if the run failed, 2 for unusable input, which one sentence explains, and 130 when
interrupted.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import warnings
from fractions import Fraction
from pathlib import Path

# All else takes seconds to import, so that is done where an interrupt ends with a sentence.

NOTEBOOK = Path(__file__).resolve().parents[1] / "yours/release.ipynb"
OPTIONS = ("table", "epsilon", "delta", "method", "neighbours", "workload", "records", "within", "account")
HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A synthetic table</title><style>
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #262626; background: #fff; overflow-wrap: break-word }
h2 { margin-top: 2rem } div { overflow-x: auto } table { border-collapse: collapse; margin-bottom: 1rem; font-size: .9rem }
th, td { padding: .2rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid #dededa } .anchor-link { display: none }
.dataframe th { text-align: left !important } .dataframe td:last-child { min-width: 6rem } .dataframe thead tr + tr { display: none } pre { white-space: pre-wrap }
</style></head><body>
<h1>A synthetic table</h1>
"""


class Refused(Exception):
    """An input cannot be used; the message is one sentence."""


class Failed(Exception):
    """The run did not finish; the message is one sentence."""


def release(data: str, schema_file: str, output: Path, options: dict) -> None:
    """Write all results to the folder `output`; `options` maps some of the notebook's parameters, `OPTIONS`, to values."""
    from lib.command.ending import check_memory, lost

    check_memory()
    from lib.release import files, schema, sources
    from lib.release import synthesizer as releases

    files.check_new(output)
    data = str(Path(data).resolve()) if Path(data).exists() else data  # the notebook's kernel may work elsewhere
    sources.check(data, public := schema.read(schema_file), options.get("table", ""))
    if len(public.attributes) == 1:
        options = {"workload": "1"} | options  # and not pairs
    used = {}
    try:
        with files.new_folder(output) as made:
            given = {
                "data": data,
                "schema": str(Path(schema_file).resolve()),
                "output": str(made.resolve()),
                "for_release": True,
            }
            given |= {"account": str(Path(options["account"]).resolve())} if "account" in options else {}
            if said := schema.wide(public):
                print(said, file=sys.stderr)
            content, used = executed(options | given)
            (made / "report.html").write_text(page(content), encoding="utf-8")
            shutil.copyfile(schema_file, made / "schema.yml")
            doubts = releases.doubts(releases.treated(releases.load(made / "model.npz"), public))
    except OSError as error:  # for example, the disk is full, or another run has made the folder
        raise lost(error, options["account"]) if used and "account" in options else error from None
    attributes = "1 attribute" if len(public.attributes) == 1 else f"{len(public.attributes)} attributes"
    print(f"{output} contains {', '.join(sorted(each.name for each in output.iterdir()))}; {attributes}, "
          f"epsilon {used['epsilon']:g}, delta {used['delta']:g}, {used['neighbours']} neighbours", doubts, sep="\n" if doubts else "")  # fmt: skip


def executed(values: dict):
    """Run the notebook with `values`, and return it with the values of all its parameters.

    Raises `Refused` if a cell refuses an input, and `Failed` if the run fails for another reason.
    """
    from nbclient.exceptions import CellExecutionError

    from notebooks.tools import run

    content, used = run.prepare(NOTEBOOK, values)
    try:
        run.execute(content)
    except CellExecutionError as error:
        said = " ".join(str(error.evalue).split())
        raise (Refused if error.ename in ("ValueError", "FileExistsError") else Failed)(said) from None
    except RuntimeError:  # also before it began
        raise Failed("the process ended, possibly because it ran out of memory; nothing was released") from None
    return content, used


def page(content) -> str:
    """Return the report as one page: the texts and outputs of the cells tagged `report`, without their code."""
    content.cells = [cell for cell in content.cells if "report" in cell.metadata.get("tags", [])]
    for cell in content.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("### ", "## ", 1)  # in the book they are part of a chapter
    from nbconvert import HTMLExporter

    from lib.release.escapes import printable

    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True
    )
    body, _ = exporter.from_notebook_node(content)
    body = re.sub(r"[^\n\t]+", lambda line: printable(line[0]), body)  # names in tables that pandas wrote
    return HEAD + body + "\n</body></html>\n"


def propose(codebook: str, output: Path) -> None:
    """Write the schema proposed from the codebook to the file `output`, which must not exist yet."""
    from lib.release import files, schema

    if output.exists():
        raise Refused(f"{output} already exists and is not overwritten; name another file with OUTPUT")
    with files.whole(output) as draft:
        draft.write_text(schema.template(codebook), encoding="utf-8")
    print(f"{output} is the schema proposed from {codebook}; check it before you use it")


def main(words=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m notebooks.tools.mine", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("release")
    for name in ("data", "schema"):
        one.add_argument(f"--{name}", required=True)
    one.add_argument("--output", type=Path, default=Path("released"))
    for name in OPTIONS:
        one.add_argument(f"--{name}", default="")
    other = commands.add_parser("schema")
    other.add_argument("codebook")
    other.add_argument("--output", type=Path, default=Path("schema.yml"))
    given, before = parser.parse_args(words), Fraction(0)
    try:
        if given.command == "schema":
            propose(given.codebook, given.output)
        else:
            from lib.command.ending import spent

            before = spent(given.account)
            options = {name: getattr(given, name) for name in OPTIONS if getattr(given, name)}
            release(given.data, given.schema, given.output, options)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    except (Refused, ValueError, OSError, MemoryError) as error:
        from lib.command.answers import one_line

        print(one_line(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        from lib.command.ending import interrupted

        told = [given.output, given.account, before] if given.command == "release" else []
        print(interrupted(*told) if told else "interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # from the tools; the report has the relevant messages
    from lib.command.ending import ends_at

    ends_at(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    sys.exit(main())
