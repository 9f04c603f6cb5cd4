"""Gather the verdicts of the executed notebooks, and write the scorecard page.

    python -m book.ledger gather    build/executed/**/*.ipynb    ->  build/claims.json
    python -m book.ledger full      build/papers/**/*.ipynb      ->  book/results/claims.csv
    python -m book.ledger page      build/claims.json, book/results/claims.csv  ->  book/scorecard.md
    python -m book.ledger downloads the same                     ->  claims.json and claims.csv beside the HTML
    python -m book.ledger package   book/results/claims.csv      ->  lib/command/ledger.csv, for `dp-compendium ledger`

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
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote_plus

import pandas as pd
import yaml

from book import cards, claims, edition, erratum, machine_checked, retold
from book.cards import Finding
from book.claims import VERDICTS, Claim, Ledger, Record
from book.edition import say
from book.kept import results
from lib.data import datasets

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "book/claims.schema.json"
GATHERED, FULL = ROOT / "build/claims.json", ROOT / "book/results/claims.csv"


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
    records = [Record(**entry) for entry in json.loads(gathered.read_text(encoding="utf-8"))]
    return [cards.standing(record, full.get(record.id)) for record in records]


# ---------------------------------------------------------------- page


def _intro() -> str:
    badges = {verdict.replace(" ", "_").replace("-", "_"): retold.badge(verdict) for verdict in VERDICTS}
    links = {name: f'<a href="{name}" download>{name}</a>' for name in ("claims.json", "claims.csv")}
    citation = _citation(**{name: f"{{{name}}}" for name in ("place", "verdict", "id", "address")})
    schema = f'<a href="{SCHEMA.name}" download>{say("schema")}</a>'
    return f"""\
# {say("Scorecard")}

{say("Every claim of the documents, as printed, beside what was found. The name of a claim's place, such as Table 1, is the address of that claim: copy the link and send it. Below each claim stand the chapter that judges it, which opens at the cell, and the rule of the verdict. *Here* is this build of the book. The *full run* has the documents' own settings on the real data, and decides where this build had only stand-in data.")}

- {say("{reproduced}: the value has the printed digits (or lies within the printed spread), the order or the trend is found again, the theorem holds as printed.", **badges)}
- {say("{differs}: it does not; the reason stands beside it.", **badges)}
- {say("{not_determinable}: the document leaves out something that the claim depends on, and the note says what. Or the difference between two noisy means that would decide lies within two standard errors. Or the document can be read in several ways, and the claim holds in some of them only; if the text favours a reading in which it holds, it is reproduced.", **badges)}
- {say("{stand_in}: computed on stand-in data; the real data are needed for a verdict.", **badges)}

{say("Where a machine has checked a theorem that proves or refutes a claim, whole or in part, the name of the theorem stands below the claim and leads to {link}.", link=f'<a href="machine-checked.html">{say("its statement")}</a>')}

{say("Most verdicts are computed. What cannot be, such as a title, an index or a matter of record, a person has read: beside such a verdict stands {read}, and its note says where.", read=retold.read_mark())}

<div class="scorecard-filter" data-cite="{escape(citation)}" hidden></div>

{say("The same for machines: {json}, {csv} and the {schema} of the first.", json=links["claims.json"], csv=links["claims.csv"], schema=schema)}
"""


def scorecard() -> str:
    """The page in the edition's language, from what `gather` and `full` have written."""
    known = claims.load()
    records = [Record(**entry) for entry in json.loads(GATHERED.read_text("utf-8"))]
    return page(known, records, load_full(FULL, known))


FOLD_FROM = 4  # claims of one table or section of a document, from which on they are folded


def page(ledger: Ledger, records: list[Record], full: dict[str, Record] | None = None) -> str:
    """The scorecard as MyST Markdown, from this build's `records` and the full run's, by id."""
    by_id = {each.claim.id: each for each in cards.findings(ledger, records, full or {})}
    found = [by_id[id] for id in ledger.claims if id in by_id]
    here = retold.tally(each.here.verdict for each in found)
    name = "" if edition.language == edition.SOURCE else "(totals)=\n"  # which an English title has by itself
    parts = [_intro(), f"{name}## {say('Totals')}\n", _totals(ledger, found)]
    parts.append(say("This build by itself: {tally}.", tally=here) + "\n")
    for key, document in ledger.documents.items():
        own = [each for each in found if each.claim.document == key]
        if own:
            parts.append(f"(scorecard-{key})=\n## {cell(retold.cited(document))}\n")
            texts = {
                name: cell(text) for name, text in vars(retold.document(document)).items() if isinstance(text, str)
            }
            parts.append(say("{authors}: *{title}*. {venue}.", **texts) + f"\n\n{cards.tally(own)}{say('.')}\n")
            if (ROOT / f"book/{key}/summary.md").is_file():
                link = f'<a href="{key}/summary.html">{say("summary")}</a>'
                parts.append(say("In a few pages: {summary}.", summary=link) + "\n")
            parts += _verdicts(own)
    return "\n".join(parts)


def _totals(ledger: Ledger, found: list[Finding]) -> str:
    rows = [[say("All"), *_counts(found)]]
    for key, document in ledger.documents.items():
        own = [each for each in found if each.claim.document == key]
        if own:
            rows.insert(
                -1, [f"[{cell(retold.cited(document))}](#scorecard-{key})", *_counts(own, f"document={key}&amp;")]
            )
    lines = [[say("Document"), say("claims"), *map(say, VERDICTS)], ["---"] * (2 + len(VERDICTS)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _counts(found: list[Finding], query: str = "") -> list[str]:
    """How many there are, and how many of each verdict, as links to them."""
    count = Counter(each.standing.verdict for each in found)
    linked = [
        f'<a href="?{query}verdict={quote_plus(verdict)}">{count[verdict]}</a>' if count[verdict] else "0"
        for verdict in VERDICTS
    ]
    return [str(len(found)), *linked]


def _verdicts(found: list[Finding]) -> list[str]:
    """One part for each verdict, what differs first. Folded are tables with many claims, and whatever is reproduced."""
    parts = []
    for verdict in ("differs", "not determinable", "stand-in", "reproduced"):
        chosen = [each for each in found if each.standing.verdict == verdict]
        if not chosen:
            continue
        groups = [list(group) for _, group in groupby(chosen, key=lambda each: each.section)]
        many = [group for group in groups if len(group) >= FOLD_FROM]
        few = [each for group in groups if len(group) < FOLD_FROM for each in group]
        entries = {each.claim.id: cards.entry(each, _address(each.claim), _foot(each)) for each in chosen}
        blocks = [cards.folded(group, [entries[each.claim.id] for each in group]) for group in many]
        if few and verdict == "reproduced":
            blocks.append(cards.folded(few, [entries[each.claim.id] for each in few], say("Elsewhere")))
        elif few:
            blocks = [*(entries[each.claim.id] for each in few), *blocks]
        head = f'<p class="rubric">{say("{verdict} ({n})", verdict=_capital(say(verdict)), n=len(chosen))}</p>'
        parts.append("\n".join(["``````{raw} html", '<div class="verdicts">', head, *blocks, "</div>", "``````", ""]))
    return parts


def _foot(found: Finding) -> str:
    """Where the claim is judged, what the errata say of its place, and its rule."""
    claim, record = found.claim, found.standing
    chapter = f'<a href="{_place(record)}">{escape(_chapter(record.notebook, edition.language))}</a>'
    links = [say("judged in {chapter}", chapter=chapter)]
    if record.verdict not in ("reproduced", "stand-in"):
        item = claims.load()[claim.id].item  # as the errata name it
        slips = {_head(head): anchor for anchor, head in reversed(erratum.about(claim.document, item))}
        named = [f'<a href="errata.html#{slips[head]}">{cards.markup(head)}</a>' for head in reversed(slips)]
        links += [say("errata: {heads}", heads=say(", ").join(named))] if named else []
    rule = "" if claim.judge == claims.READ else retold.rule(claim)
    told = f'<details class="rule"><summary>{say("its rule")}</summary>{cards.markup(rule)}</details>' if rule else ""
    return f'<p class="claim-foot">{" · ".join(links)}</p>{told}'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _head(entry: str) -> str:
    """Which place an entry of the errata is about: what stands before its colon."""
    return re.split("[:：]", edition.translated(entry, erratum.PAGE.stem))[0]


@cache
def _chapter(notebook: str, language: str) -> str:
    """The title of the chapter, where it is plain text; else the notebook's name in words."""
    path = ROOT / notebook
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
    title = re.match(r"# ([^`{$\[\n]+)\n", "".join(cells[0]["source"]) + "\n") if cells else None
    return edition.translated(title[1], notebook.removesuffix(".ipynb")) if title else path.stem.replace("_", " ")


def _address(claim: Claim) -> str:
    """Where the claim stands by itself, on the scorecard."""
    return f"#{claims.anchor(claim.id)}"


def _place(record: Record) -> str:
    """The cell that judges it, as an address within the book."""
    return f"{record.notebook.removesuffix('.ipynb')}.html#{claims.anchor(record.id)}"


def _citation(**told) -> str:
    return say(
        "{authors} ({year}). {place}: {verdict}. Claim {id} of {title}, version {version}. {address}", **cited(), **told
    )


@cache
def cited() -> dict[str, str]:
    """What a citation says of the compendium, from CITATION.cff."""
    made = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    authors = ", ".join(author["name"] for author in made["authors"])
    return {"authors": authors, "year": made["date-released"][:4], "title": made["title"], "version": made["version"]}


def cell(text: str) -> str:
    """`text` for a cell of a Markdown table: mathematics kept, all else taken literally."""
    pieces = re.split(r"(\$[^$]+\$)", " ".join(text.split()))
    literal = [piece if i % 2 else re.sub(r"([*_`<\[\]{}~])", r"\\\1", piece) for i, piece in enumerate(pieces)]
    return "".join(literal).replace("|", r"\|")


def downloads(ledger: Ledger, records: list[Record], full: dict[str, Record], folder: Path) -> None:
    """claims.json, its schema and claims.csv in `folder`: all that the scorecard shows of each claim; the CSV without lists."""
    rows = [_row(ledger, each) for each in cards.findings(ledger, records, full)]
    plain = [{name: value for name, value in row.items() if isinstance(value, str)} for row in rows]
    results.write(folder / "claims.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    results.write(folder / "claims.csv", pd.DataFrame(plain).to_csv(index=False, lineterminator="\n"))
    results.write(folder / SCHEMA.name, SCHEMA.read_text(encoding="utf-8"))


def _row(ledger: Ledger, found: Finding) -> dict:
    claim, record, here = found.claim, found.standing, found.here
    address = f"scorecard.html{_address(claim)}"
    by_reading = cards.by_reading(claim, record.reproduced)
    told = {"place": here.source, "verdict": record.verdict, "id": claim.id, "address": address}
    return (
        asdict(here)
        | {"verdict": record.verdict, "note": record.note}
        | {"verdict_here": here.verdict, "full_run": found.full.reproduced if found.full else ""}
        | {"link": _place(here), "judge": claim.judge, "rule": claims.rule(claim)}
        | {"statement": claim.statement, "address": address, "cite": _citation(**told)}
        | {"checked": ", ".join(each.statement.name for each in machine_checked.about(claim.id))}
        | {"errata": [f"errata.html#{anchor}" for anchor, _ in erratum.about(claim.document, claim.item)]}
        | {
            "readings": [
                {"name": name, "meaning": meaning, "own": name == claim.own, "found": by_reading.get(name, "")}
                for name, meaning in claim.readings.items()
            ],
            "replies": [asdict(reply) for reply in cards.replies().get(claim.id, [])],
        }
    )


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
