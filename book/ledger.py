"""Gather the verdicts of the executed notebooks, and write the scorecard page.

    python book/ledger.py gather    build/executed/**/*.ipynb    ->  build/claims.json
    python book/ledger.py full      build/papers/**/*.ipynb      ->  book/results/claims.csv
    python book/ledger.py page      build/claims.json, book/results/claims.csv  ->  book/scorecard.md
    python book/ledger.py downloads the same                     ->  claims.json and claims.csv beside the HTML
    python book/ledger.py package   book/results/claims.csv      ->  lib/command/ledger.csv, for `dp-compendium ledger`

`gather` and `full` fail, naming every id, where a claim is judged nowhere, an id is unknown,
notebooks disagree about a claim, or a value differs without a reason.
`full` is for the documents' own settings on the real data (`make papers`); its file is committed, and
gives the verdict where a build on stand-in data has none. `full --only miura2025/02_accuracy` brings in the notebooks
named, and leaves the rows of the others as they are.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pandas as pd

from book import claims, results
from book.claims import VERDICTS, Claim, Ledger, Record
from lib.data import datasets

ROOT = Path(__file__).resolve().parent.parent


class LedgerError(Exception):
    """The notebooks and the ledger do not fit together; one line for each problem."""


# ---------------------------------------------------------------- gather


def records_in(notebook: Path, name: str) -> list[Record]:
    """The records that the outputs of one executed notebook hold, marked with its `name`."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    found = [
        output["data"][claims.MIME]
        for cell in content["cells"]
        for output in cell.get("outputs", [])
        if claims.MIME in output.get("data", {})
    ]
    flat = [entry for group in found for entry in (group if isinstance(group, list) else [group])]
    return [replace(Record(**entry), notebook=name) for entry in flat]


def collect(executed: Path, sources: Path) -> list[Record]:
    """All records below `executed`; a copy whose notebook is gone from `sources` is passed over."""
    records = []
    for path in sorted(executed.rglob("*.ipynb")):
        relative = path.relative_to(executed)
        if ".ipynb_checkpoints" in relative.parts:
            continue
        if (sources / relative).is_file():
            records += records_in(path, f"notebooks/{relative.as_posix()}")
        else:
            print(f"passed over {relative}: no such notebook any more", file=sys.stderr)
    return records


def settle(ledger: Ledger, records: list[Record]) -> list[Record]:
    """One record for every claim of the ledger, by id; `LedgerError` lists what is wrong."""
    judged: dict[str, list[Record]] = {}
    elsewhere: dict[str, str] = {}
    for record in records:
        if record.verdict == "not judged":
            elsewhere[record.id] = record.notebook
        else:
            judged.setdefault(record.id, []).append(record)

    problems = [
        f"{id}: not in the ledger ({group[0].notebook})"
        for id, group in sorted(judged.items())
        if id not in ledger.claims
    ]
    settled = []
    for id in sorted(ledger.claims):
        group = judged.get(id, [])
        problems += _problems(ledger, id, group, elsewhere.get(id))
        settled += group[:1]
    if problems:
        raise LedgerError("\n".join(problems))
    return settled


def _problems(ledger: Ledger, id: str, group: list[Record], elsewhere: str | None) -> list[str]:
    claim = ledger.claims[id]
    if not group:
        hint = f" (only in another setting, by {elsewhere})" if elsewhere else ""
        return [f"{id}: judged by no notebook{hint}"]
    problems = []
    if len({record.verdict for record in group}) > 1:
        told = ", ".join(f"{record.verdict} by {record.notebook}" for record in group)
        problems.append(f"{id}: judged differently: {told}")
    for record in group:
        if record.published != claim.printed:
            problems.append(
                f"{id}: {record.notebook} judged {record.published!r}, but the ledger "
                f"says {claim.printed!r}: execute it again"
            )
        if (record.reproduced == claims.READ) != (claim.judge == claims.READ):
            problems.append(f"{id}: {record.notebook} did not judge it by {claim.judge}: execute it again")
        if record.verdict == "differs" and record.note in ("", claims.NO_REASON):
            problems.append(f"{id}: differs without a reason, in {record.notebook}")
    return problems


def gather(executed: Path, sources: Path, output: Path) -> list[Record]:
    """Settle every claim and write the list of records to `output`; nothing on failure."""
    settled = settle(claims.load(), collect(executed, sources))
    text = json.dumps([asdict(record) for record in settled], ensure_ascii=False, indent=1)
    results.write(output, text + "\n")
    return settled


# ---------------------------------------------------------------- the full run

KEPT = ["id", "published", "reproduced", "verdict", "note", "notebook"]


def full(executed: Path, sources: Path, output: Path, only=()) -> list[Record]:
    """Settle every claim by the notebooks that `make papers` ran, and write the judged ones to `output`.

    only : notebooks, as `miura2025/02_accuracy`. If there are any, the rows of the other notebooks stay in `output` as they are.
    """
    known, found = claims.load(), collect(executed, sources)
    kept, made = pd.DataFrame(columns=KEPT), _made()
    if only:
        again = {f"notebooks/{name}.ipynb" for name in only}
        kept, made = results.load(output).fillna("").astype(str), _made_again(output, only)
        found = [record for record in found if record.notebook in again]
        mine = {record.id for record in found} | set(kept["id"][kept["notebook"].isin(again)])
        known = Ledger(known.documents, {id: claim for id, claim in known.claims.items() if id in mine})
        kept = kept[~kept["id"].isin(mine)]
    settled = settle(known, found)
    if any(record.verdict == "stand-in" for record in settled):
        raise LedgerError(
            "the full run must judge by the real data: "
            + ", ".join(record.id for record in settled if record.verdict == "stand-in")
        )
    rows = pd.concat([kept, pd.DataFrame([asdict(record) for record in settled], columns=KEPT)])
    results.save(output, rows.sort_values("id", ignore_index=True), made)
    return settled


def _made() -> dict[str, str]:
    """How the file of a full run was made."""
    files = {name: source.sha256 for name, source in datasets.SOURCES.items()}
    made = results.collect(
        "make", [], data="real", settings={"parameters": "notebooks/full.yml"}, files=files, code=results.PAPERS
    )
    return made | {"command": "make papers"}


def _made_again(output: Path, only) -> dict[str, str]:
    """How the file at `output` was made, with a line for the notebooks `only` that were run again today."""
    made, name = results.provenance(output), f"run again {datetime.now(UTC).date().isoformat()}"
    again = f"{', '.join(only)} at {results.commit()}"
    return made | {name: "; ".join(filter(None, [made.get(name), again]))}


def load_full(path: Path, ledger: Ledger) -> dict[str, Record]:
    """The committed full run by id, but what was read, or judged by another printed value than the ledger's; {} if none."""
    if not path.is_file():
        return {}
    found = {}
    for row in results.rows(path):
        claim = ledger.claims.get(row["id"])
        if claim is not None and claim.judge != claims.READ and claim.printed == row["published"]:
            document = ledger.documents[claim.document]
            found[claim.id] = Record(
                document=claim.document, item=claim.item, source=claims.source(claim, document), **row
            )
    return found


def package(path: Path, output: Path) -> None:
    """Every claim with the full run's verdict, as the built package has them; `LedgerError` names what that run has not judged."""
    known, found = claims.load().claims, {row["id"]: row for row in results.rows(path)}
    if unjudged := [id for id, claim in known.items() if found.get(id, {}).get("published") != claim.printed]:
        raise LedgerError("not judged, as it is printed now, in the full run: " + ", ".join(unjudged))
    rows = [
        {
            "id": id,
            "document": claim.document,
            "item": claim.item,
            "statement": claim.statement,
            "printed": claim.printed,
        }
        | {name: found[id][name] for name in ("reproduced", "verdict", "note")}
        | {"chapter": found[id]["notebook"]}
        for id, claim in known.items()
    ]
    results.write(output, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def standings(gathered: Path, path: Path) -> list[Record]:
    """What the book says of each claim, by the files that `gather` and `full` have written."""
    full = load_full(path, claims.load())
    return [standing(Record(**entry), full) for entry in json.loads(gathered.read_text(encoding="utf-8"))]


def standing(record: Record, full: dict[str, Record]) -> Record:
    """What the book says of a claim: this build's record, or the full run's where the build used stand-in data."""
    return full.get(record.id, record) if record.verdict == "stand-in" else record


# ---------------------------------------------------------------- page

INTRO = """\
# Scorecard

Every claim of the documents, as printed, beside what was found. The tables are made from the outputs of
the executed notebooks, and each verdict links to the place where it is reached. *Here* is this build of
the book; *full run* is the documents' own settings on the real data, which decides where this build had only stand-in data.

- {reproduced}: the value has the printed digits (or lies within the printed spread), the order
  or the trend is found again, the theorem holds as printed.
- {differs}: it does not; the reason stands beside it.
- {not_determinable}: the document leaves out what one would need, and the note says what; or the difference that
  would decide lies within the noise, two standard errors; or the document can be read in several ways, and they
  disagree: reproduced takes its own reading or all of them, and a difference that all fail.
- {stand_in}: computed on stand-in data; the real data are needed for a verdict.

Most verdicts are computed. What cannot be, such as a title, an index or a matter of record, a person has read: beside such a verdict
stands {read}, and its note says where.

<div class="scorecard-filter" hidden></div>

The same for machines: <a href="claims.json" download>claims.json</a>, <a href="claims.csv" download>claims.csv</a>.
"""

FOLD_FROM = 4  # claims of one table or section of a document, from which on they are folded


def page(ledger: Ledger, records: list[Record], full: dict[str, Record] | None = None) -> str:
    """The scorecard as MyST Markdown, from this build's `records` and the full run's, by id."""
    full = full or {}
    badges = {verdict.replace(" ", "_").replace("-", "_"): claims.badge(verdict) for verdict in VERDICTS}
    by_id = {record.id: record for record in records}
    intro = INTRO.format(read=claims.READ_MARK, **badges)
    parts = [intro, "## Totals\n", _totals(ledger, [standing(record, full) for record in records])]
    parts.append(f"This build by itself: {claims.tally(record.verdict for record in records)}.\n")
    for key, document in ledger.documents.items():
        own = [by_id[id] for id, claim in ledger.claims.items() if claim.document == key]
        if own:
            parts.append(f"(scorecard-{key})=\n## {cell(document.cited)}\n")
            parts.append(
                f"{cell(document.authors)}: *{cell(document.title)}*. "
                f"{cell(document.venue)}.\n\n"
                f"{claims.tally(standing(record, full).verdict for record in own)}.\n"
            )
            if (ROOT / f"book/{key}/summary.md").is_file():
                parts.append(f'In a few pages: <a href="{key}/summary.html">summary</a>.\n')
            parts += _verdicts(ledger, own, full)
    return "\n".join(parts)


def _totals(ledger: Ledger, records: list[Record]) -> str:
    rows = []
    for key, document in ledger.documents.items():
        count = Counter(record.verdict for record in records if record.document == key)
        if count:
            rows.append([f"[{cell(document.cited)}](#scorecard-{key})", *_counts(count)])
    rows.append(["All", *_counts(Counter(record.verdict for record in records))])
    return _table(["Document", "claims", *VERDICTS], rows)


def _counts(count: Counter) -> list[str]:
    return [str(sum(count.values())), *(str(count[verdict]) for verdict in VERDICTS)]


def _verdicts(ledger: Ledger, records: list[Record], full: dict[str, Record]) -> list[str]:
    """One part for each verdict, what differs first; long tables of a document are folded."""
    parts = []
    for verdict in ("differs", "not determinable", "stand-in", "reproduced"):
        chosen = [record for record in records if standing(record, full).verdict == verdict]
        if not chosen:
            continue
        parts.append(f"```{{rubric}} {verdict.capitalize()} ({len(chosen)})\n```\n")
        groups = [list(group) for _, group in groupby(chosen, key=_section)]
        plain = [record for group in groups if len(group) < FOLD_FROM for record in group]
        if plain:
            parts.append(_claims_table(ledger, plain, full))
        parts += [
            _folded(f"{_section(group[0])}: {len(group)} claims", ledger, group, full)
            for group in groups
            if len(group) >= FOLD_FROM
        ]
    return parts


def _section(record: Record) -> str:
    return record.item.split(",")[0]


def _folded(title: str, ledger: Ledger, records: list[Record], full: dict[str, Record]) -> str:
    return f"`````{{dropdown}} {cell(title)}\n{_claims_table(ledger, records, full)}`````\n"


def _claims_table(ledger: Ledger, records: list[Record], full: dict[str, Record]) -> str:
    """What is claimed and printed, the values, the verdict and its note."""
    chosen = [ledger.claims[record.id] for record in records]
    numbers = any(claim.judge in claims.NUMERIC_JUDGES for claim in chosen)
    both = numbers and any(record.id in full for record in records)
    head = [
        "Claim",
        *(["Printed"] if numbers else []),
        *(["Full run"] if both else []),
        *(["Here"] if numbers else []),
        "Verdict",
    ]
    rows = []
    for claim, above, record in zip(chosen, [None, *chosen], records):
        is_number = claim.judge in claims.NUMERIC_JUDGES
        # a printed sentence stands below the claim: in a column of its own it squeezes the others
        row = [_claim_cell(claim, above, quote=not is_number)]
        if numbers:
            row.append(_printed(claim) if is_number else "")
        if both:
            row.append(cell(full[record.id].reproduced) if is_number and record.id in full else "")
        if numbers:
            row.append(cell(record.reproduced) if is_number else "")
        row.append(_verdict_cell(claim, standing(record, full)))
        rows.append(row)
    return _table(head, rows)


def _claim_cell(claim: Claim, above: Claim | None, quote: bool) -> str:
    """The claim and its rule, which is not told again where that of the claim `above` is the same."""
    printed = f"<br>Printed: {cell(claim.printed)}" if quote else ""
    rule = "" if claim.judge == claims.READ else cell(claims.rule(claim))  # beside the verdict stands that it was read
    if above and rule and above.judge != claims.READ and claims.rule(above) == claims.rule(claim):
        rule = "That of the claim above."
    folded = f'<details class="rule"><summary>its rule</summary>{rule}</details>' if rule else ""
    return f"**{cell(claim.item)}.** {cell(claim.statement)}{printed}{folded}"


def _printed(claim: Claim) -> str:
    return cell(claim.printed) + (f" ± {claim.spread:g}" if claim.spread is not None else "")


def _verdict_cell(claim: Claim, record: Record) -> str:
    told = [record.reproduced] if claim.readings and claim.judge not in claims.NUMERIC_JUDGES else []
    note = "".join(f"<br>{cell(text)}" for text in (*told, record.note) if text)
    mark = f" {claims.READ_MARK}" if claim.judge == claims.READ else ""
    return f"{claims.badge(record.verdict)}{mark} {_link(record)}{note}"


def _link(record: Record) -> str:
    """To the line of the notebook's page where the claim is judged."""
    name = record.notebook.removesuffix(".ipynb").rsplit("/", 1)[-1].replace("_", " ")
    return f'<a href="{_place(record)}">{name}</a>'


def _place(record: Record) -> str:
    """Its address within the book."""
    return f"{record.notebook.removesuffix('.ipynb')}.html#{claims.anchor(record.id)}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"````{{div}} scorecard\n{body}\n````\n"


def cell(text: str) -> str:
    """`text` for a cell of a Markdown table: mathematics kept, all else taken literally."""
    pieces = re.split(r"(\$[^$]+\$)", " ".join(text.split()))
    literal = [piece if i % 2 else re.sub(r"([*_`<\[\]{}~])", r"\\\1", piece) for i, piece in enumerate(pieces)]
    return "".join(literal).replace("|", r"\|")


def downloads(ledger: Ledger, records: list[Record], full: dict[str, Record], folder: Path) -> None:
    """claims.json and claims.csv in `folder`: a row for each claim, its rule, this build's finding and the full run's."""
    rows = []
    for record in records:
        real, claim = full.get(record.id), ledger.claims[record.id]
        rows.append(
            asdict(record)
            | {"verdict": standing(record, full).verdict, "note": standing(record, full).note}
            | {"verdict_here": record.verdict, "full_run": real.reproduced if real else "", "link": _place(record)}
            | {"judge": claim.judge, "rule": claims.rule(claim)}
        )
    results.write(folder / "claims.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    results.write(folder / "claims.csv", pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description="Gather verdicts, write the scorecard page.")
    commands = parser.add_subparsers(dest="command", required=True)
    gathering = commands.add_parser("gather", help="executed notebooks -> claims.json")
    gathering.add_argument("--executed", type=Path, default=ROOT / "build" / "executed")
    gathering.add_argument("--notebooks", type=Path, default=ROOT / "notebooks")
    paging = commands.add_parser("page", help="claims.json -> scorecard.md")
    paging.add_argument("--output", type=Path, default=ROOT / "book" / "scorecard.md")
    serving = commands.add_parser("downloads", help="claims.json and claims.csv beside the HTML")
    serving.add_argument("--output", type=Path, default=ROOT / "build" / "html", help="the folder")
    for command in (gathering, paging, serving):
        command.add_argument("--claims", type=Path, default=ROOT / "build" / "claims.json")
    whole = commands.add_parser("full", help="notebooks of make papers -> results/claims.csv")
    whole.add_argument("--executed", type=Path, default=ROOT / "build" / "papers")
    whole.add_argument("--notebooks", type=Path, default=ROOT / "notebooks")
    whole.add_argument("--only", nargs="+", default=(), metavar="document/notebook", help="keep the rows of all others")
    packing = commands.add_parser("package", help="results/claims.csv -> lib/command/ledger.csv")
    packing.add_argument("--output", type=Path, default=ROOT / "lib" / "command" / "ledger.csv")
    for command in (whole, paging, serving, packing):
        command.add_argument("--full", type=Path, default=ROOT / "book" / "results" / "claims.csv")
    options = parser.parse_args(arguments)

    if options.command in ("gather", "full", "package"):
        try:
            if options.command == "package":
                package(options.full, options.output)
                return 0
            if options.command == "gather":
                settled = gather(options.executed, options.notebooks, options.claims)
            else:
                settled = full(options.executed, options.notebooks, options.full, options.only)
        except LedgerError as error:
            print(f"the ledger does not settle:\n{error}", file=sys.stderr)
            return 1
        print(claims.tally(record.verdict for record in settled))
        return 0
    if not options.claims.is_file():
        print(f"no {options.claims.name}: run `gather` first", file=sys.stderr)
        return 1
    records = [Record(**entry) for entry in json.loads(options.claims.read_text("utf-8"))]
    known = claims.load()
    real = load_full(options.full, known)
    if options.command == "downloads":
        downloads(known, records, real, options.output)
    else:
        results.write(options.output, page(known, records, real))
    return 0


if __name__ == "__main__":
    sys.exit(main())
