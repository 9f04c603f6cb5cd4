"""Gather the verdicts of the executed notebooks, and write the scorecard page.

    python -m book.ledger gather    build/executed/**/*.ipynb    ->  build/claims.json
    python -m book.ledger full      build/papers/**/*.ipynb      ->  book/results/claims.csv
    python -m book.ledger page      build/claims.json, book/results/claims.csv  ->  book/scorecard.md
    python -m book.ledger downloads the same                     ->  claims.json and claims.csv beside the HTML
    python -m book.ledger package   book/results/claims.csv      ->  lib/command/ledger.csv, for `dp-compendium ledger`
    python -m book.ledger chapters ID    prints the files in which `make` executes the chapters that judge a claim
    python -m book.ledger claim ID FILE  judges that claim by those files, and writes its row into both CSV files

`gather` and `full` fail if a claim is judged nowhere, an id is unknown, notebooks disagree about a claim, or a value
differs without a reason. The error message names every id concerned.
`full` is for the documents' own settings on the real data (`make papers`). Its file is committed, and gives the verdicts
that a build on synthetic data cannot give. `full --only miura2025/05_details` updates the rows of the named notebooks
and keeps the others. `make claim` runs `chapters`, then makes the printed files, then runs `claim`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from book.kept import results
from book.ledger import claims
from book.ledger.scorecard import downloads, page
from book.ledger.verdicts import (
    ROOT,
    LedgerError,
    chapters,
    full,
    gather,
    gathered_records,
    have_data,
    load_full,
    needs_data,
    package,
    records_in,
)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description="Gather verdicts, and write the scorecard page.")
    commands = parser.add_subparsers(dest="command", required=True)
    gathering = commands.add_parser("gather", help="executed notebooks -> claims.json")
    gathering.add_argument("--executed", type=Path, default=ROOT / "build" / "executed")
    gathering.add_argument("--notebooks", type=Path, default=ROOT / "notebooks")
    paging = commands.add_parser("page", help="claims.json -> scorecard.md")
    paging.add_argument("--output", type=Path, default=ROOT / "book" / "scorecard.md")
    serving = commands.add_parser("downloads", help="claims.json and claims.csv beside the HTML")
    serving.add_argument("--output", type=Path, default=ROOT / "build" / "html", help="the folder of the built book")
    for command in (gathering, paging, serving):
        command.add_argument("--claims", type=Path, default=ROOT / "build" / "claims.json")
    whole = commands.add_parser("full", help="notebooks of make papers -> results/claims.csv")
    whole.add_argument("--executed", type=Path, default=ROOT / "build" / "papers")
    whole.add_argument("--notebooks", type=Path, default=ROOT / "notebooks")
    whole.add_argument("--only", nargs="+", default=(), metavar="document/notebook", help="update only these")
    packing = commands.add_parser("package", help="results/claims.csv -> lib/command/ledger.csv")
    finding = commands.add_parser("chapters", help="print where make runs the chapters that judge a claim")
    judging = commands.add_parser("claim", help="judge one claim, and keep its verdict")
    for command in (packing, judging):
        command.add_argument("--output", type=Path, default=ROOT / "lib" / "command" / "ledger.csv")
    for command in (finding, judging):
        command.add_argument("id")
        command.add_argument("--notebooks", type=Path, default=ROOT / "notebooks")
    judging.add_argument("files", type=Path, nargs="+", help="the executed notebooks that `chapters` printed")
    for command in (whole, paging, serving, packing, finding, judging):
        command.add_argument("--full", type=Path, default=ROOT / "book" / "results" / "claims.csv")
    options = parser.parse_args(arguments)

    if options.command in ("gather", "full", "package", "chapters", "claim"):
        try:
            if options.command == "chapters":
                found = chapters(options.id, options.notebooks, options.full)
                real = any(map(needs_data, found)) and have_data()
                print(*(f"build/{'papers' if real else 'executed'}/{chapter}.ipynb" for chapter in found))
                return 0
            if options.command == "claim":
                return claim(options)
            if options.command == "package":
                package(options.full, options.output)
                return 0
            if options.command == "gather":
                settled = gather(options.executed, options.notebooks, options.claims)
            else:
                settled = full(options.executed, options.notebooks, options.full, options.only)
        except (LedgerError, ValueError) as error:
            print(f"the ledger has problems:\n{error}", file=sys.stderr)
            return 1
        print(claims.tally(record.verdict for record in settled))
        return 0
    if not options.claims.is_file():
        print(f"{options.claims.name} does not exist: run `gather` first", file=sys.stderr)
        return 1
    try:
        records, known = gathered_records(options.claims), claims.load()
        real = load_full(options.full, known)
    except LedgerError as error:
        print(error, file=sys.stderr)
        return 1
    if options.command == "downloads":
        downloads(known, records, real, options.output)
    else:
        results.write(options.output, page(known, records, real))
    return 0


def claim(options) -> int:
    """Judge the claim `options.id` by the executed chapters, keep its verdict, and print what remains to be done."""
    folder = options.files[0].parents[1]
    judging = [path.relative_to(folder).with_suffix("").as_posix() for path in options.files]
    found = [
        record for name in judging for record in records_in(folder / f"{name}.ipynb", name) if record.id == options.id
    ]
    for record in found:
        print(f"{record.id}: {record.verdict} ({record.reproduced})" + (f"; {record.note}" if record.note else ""))
    if folder.name != "papers" and any(map(needs_data, judging)):
        print(
            "The verdict comes from synthetic samples and was not kept. To judge the claim on the real data, "
            f"put the data where book/data.md says, then run `make claim ID={options.id}`.",
            file=sys.stderr,
        )
        return 1
    full(folder, options.notebooks, options.full, judging, options.id)
    package(options.full, options.output)
    print(
        f"The verdict is kept in {options.full.name} and {options.output.name}, and the chapter's outputs follow. "
        "Next, run `make book` and look at the chapter and its claim, run `make check`, and commit."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
