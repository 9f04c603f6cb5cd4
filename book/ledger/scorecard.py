"""The scorecard: the page of all claims with their verdicts, and its content as data."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote_plus

import pandas as pd
import yaml

from book.editions import edition
from book.editions.edition import say
from book.kept import results
from book.ledger import cards, claims, erratum, machine_checked, retold
from book.ledger.cards import Finding
from book.ledger.claims import VERDICTS, Claim, Ledger, Record
from book.ledger.verdicts import FULL, GATHERED, gathered_records, load_full

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "book/claims.schema.json"


def _intro(ledger: Ledger) -> str:
    citation = _citation(**{name: f"{{{name}}}" for name in ("place", "verdict", "id", "address")})
    names = {key: retold.cited(document) for key, document in ledger.documents.items()}
    names |= {claims.OWN.key: say("Our own results")} if ledger.own else {}
    return f"""\
# {say("Scorecard")}

{say("This page lists every claim of the documents, as printed, beside what we found. The name of a claim's place, such as Table 1, is a link to that claim, which you can copy and send. Under each claim you will find a link to the cell that tests it and the rule that decides the verdict. *Here* means this build of the book. The *full run* uses the documents' own settings on the real data, and it decides where this build had only a synthetic sample.")}

<div class="scorecard-filter" data-cite="{escape(citation)}" data-documents="{escape(json.dumps(names, ensure_ascii=False))}" hidden></div>
"""


def _legend() -> str:
    """Return the folded text on what the verdicts mean."""
    badges = {verdict.replace(" ", "_").replace("-", "_"): retold.badge(verdict) for verdict in VERDICTS}
    links = {name: f'<a href="{name}" download>{name}</a>' for name in ("claims.json", "claims.csv")}
    schema = f'<a href="{SCHEMA.name}" download>{say("schema")}</a>'
    return f"""\
<details class="legend"><summary>{say("How the verdicts are decided")}</summary>

- {say("{reproduced}: the value has the printed digits (or lies within the printed spread), we find the same order or trend, or the theorem holds as printed.", **badges)}
- {say("{differs}: our result disagrees with the document, and the note explains why.", **badges)}
- {say("{not_determinable}: the document leaves out something that the claim depends on, and the note says what. Or the verdict would rest on a difference that is smaller than two standard errors. Or the document has several interpretations, and the claim holds only in some of them. If the text selects an interpretation, that one decides.", **badges)}
- {say("{stand_in}: computed on a synthetic sample; a verdict needs the real data.", **badges)}

{say("The same {standard} applies to every claim.", standard=f'<a href="standard.html">{say("standard")}</a>')}

{say("If a machine has checked a theorem that proves or refutes a claim, whole or in part, the theorem is named under the claim and links to {link}.", link=f'<a href="machine-checked.html">{say("its statement")}</a>')}

{say("Most verdicts are computed. Claims that cannot be computed, such as titles, indices and matters of record, were checked by a person. They are marked {read}, and the note gives the source.", read=retold.read_mark())}

{say("The ledger as data: {json}, {csv} and the {schema} of the JSON file.", json=links["claims.json"], csv=links["claims.csv"], schema=schema)}

</details>
"""


def scorecard() -> str:
    """Return the page in the edition's language, from the files of `gather` and `full`."""
    known = claims.load()
    return page(known, gathered_records(GATHERED), load_full(FULL, known))


FOLD_FROM = 4  # this many claims of one table or section, or more, are folded separately


def page(ledger: Ledger, records: list[Record], full: dict[str, Record] | None = None) -> str:
    """Return the scorecard as MyST Markdown, from the `records` of this build and the records of the `full` run, by
    id."""
    by_id = {each.claim.id: each for each in cards.findings(ledger, records, full or {})}
    found = [by_id[id] for id in ledger.claims if id in by_id]
    name = "" if edition.language == edition.SOURCE else "(totals)=\n"  # an English title already has it
    parts = [_intro(ledger), f"{name}## {say('Totals')}\n", _totals(ledger, found)]
    parts += [_here(found) + "\n", _legend()]
    for key, document in ledger.documents.items():
        own = [each for each in found if each.claim.document == key]
        if own:
            parts.append(f"(scorecard-{key})=\n## {cell(retold.headed(document))}\n")
            texts = {
                name: cell(text) for name, text in vars(retold.document(document)).items() if isinstance(text, str)
            }
            parts.append(say("{authors}. {venue}.", **texts) + f"\n\n{_tally(own)}\n")
            if (ROOT / f"book/{key}/summary.md").is_file():
                parts.append(f'<a href="{key}/summary.html">{say("Read the summary")}</a>\n')
            parts += _verdicts(own)
    if mine := [by_id[id] for id in ledger.own if id in by_id]:
        parts.append(f"(scorecard-{claims.OWN.key})=\n## {say('Our own results')}\n")
        parts.append(
            say(
                "Theorems of this book, which no document states, are judged by the same standard. The totals above do not include them."
            )
            + "\n"
        )
        parts += [f"{_tally(mine)}\n", *_verdicts(mine)]
    return "\n".join(parts)


def _totals(ledger: Ledger, found: list[Finding]) -> str:
    verdicts = [verdict for verdict in VERDICTS if any(each.standing.verdict == verdict for each in found)]
    rows = [[say("All"), *_counts(found, verdicts)]]
    for key, document in ledger.documents.items():
        own = [each for each in found if each.claim.document == key]
        if own:
            rows.insert(
                -1,
                [
                    f"[{cell(retold.cited(document))}](#scorecard-{key})",
                    *_counts(own, verdicts, f"document={key}&amp;"),
                ],
            )
    heads = [say("Document"), say("Claims"), *(_capital(say(verdict)) for verdict in verdicts)]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _tally(found: list[Finding]) -> str:
    """Return a count of the verdicts in the book, such as ``Of 42 claims, 32 are reproduced and 10 differ.``."""
    return _capital(retold.sentence(Counter(each.standing.verdict for each in found))) + say(".")


def _here(found: list[Finding]) -> str:
    """Return the sentence about this build alone, which says whether it used synthetic samples."""
    count = Counter(each.here.verdict for each in found)
    first = say(
        "{n} of the {total} claims is reproduced",
        "{n} of the {total} claims are reproduced",
        n=count.pop("reproduced", 0),
        total=len(found),
    )
    listed = edition.enumerated([first, *retold.counts(count)])
    if count["stand-in"]:
        return say("In this build, which uses synthetic samples of the data, {listed}.", listed=listed)
    return say("In this build, {listed}.", listed=listed)


def _counts(found: list[Finding], verdicts: list[str], query: str = "") -> list[str]:
    """Return the number of claims, and the number with each of `verdicts` as a link to them."""
    count = Counter(each.standing.verdict for each in found)
    linked = [
        f'<a href="?{query}verdict={quote_plus(verdict)}">{count[verdict]}</a>' if count[verdict] else "0"
        for verdict in verdicts
    ]
    return [str(len(found)), *linked]


def _verdicts(found: list[Finding]) -> list[str]:
    """Return one part for each verdict, "differs" first. Tables or sections with many claims are folded separately, and
    the others together.

    If there is only one group, the heading is the line that unfolds it.
    """
    parts = []
    for verdict in ("differs", "not determinable", "stand-in", "reproduced"):
        chosen = [each for each in found if each.standing.verdict == verdict]
        if not chosen:
            continue
        groups = [list(group) for _, group in groupby(chosen, key=lambda each: each.section)]
        many = [group for group in groups if len(group) >= FOLD_FROM]
        few = [each for group in groups if len(group) < FOLD_FROM for each in group]
        named = [(group[0].section, group) for group in many] + [(say("Elsewhere"), few)] * bool(few)
        head = say("{verdict} ({n})", verdict=_capital(say(verdict)), n=len(chosen))
        if len(named) == 1:
            blocks = [_folded(chosen, head)]
        else:
            lines = [say("{name}: {n} claim", "{name}: {n} claims", name=name, n=len(group)) for name, group in named]
            blocks = [f'<p class="rubric">{head}</p>']
            blocks += [_folded(group, line) for line, (_, group) in zip(lines, named)]
        parts.append("\n".join(["``````{raw} html", '<div class="verdicts">', *blocks, "</div>", "``````", ""]))
    return parts


def _folded(found: list[Finding], line: str) -> str:
    return cards.folded(found, list(map(_entry, found)), line)


def _entry(found: Finding) -> str:
    return cards.entry(found, _address(found.claim), _foot(found))


def _foot(found: Finding) -> str:
    """Return the text below a claim: the chapter that judges the claim, its entries in the errata, and its rule."""
    claim, record = found.claim, found.standing
    chapter = f'<a href="{_place(record)}">{escape(_chapter(record.notebook, edition.language))}</a>'
    links = [say("judged in {chapter}", chapter=chapter)]
    if record.verdict not in ("reproduced", "stand-in"):
        slips = {_head(head): anchor for anchor, head in reversed(erratum.about(claim.id))}
        named = [f'<a href="errata.html#{slips[head]}">{cards.markup(head)}</a>' for head in reversed(slips)]
        links += [say("errata: {heads}", heads=say(", ").join(named))] if named else []
    rule = "" if claim.judge == claims.READ else retold.rule(claim)
    told = f'<details class="rule"><summary>{say("its rule")}</summary>{cards.markup(rule)}</details>' if rule else ""
    return f'<p class="claim-foot">{" · ".join(links)}</p>{told}'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _head(entry: str) -> str:
    """Return the place that an entry of the errata is about: the text before its colon."""
    return re.split("[:：]", edition.translated(entry, erratum.PAGE.stem))[0]


@cache
def _chapter(notebook: str, language: str) -> str:
    """Return the title of the chapter, if it is plain text; otherwise return the notebook's name in words."""
    path = ROOT / notebook
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
    title = re.match(r"# ([^`{$\[\n]+)\n", "".join(cells[0]["source"]) + "\n") if cells else None
    return edition.translated(title[1], notebook.removesuffix(".ipynb")) if title else path.stem.replace("_", " ")


def _address(claim: Claim) -> str:
    """Return the address of the claim's entry on the scorecard."""
    return f"#{claims.anchor(claim.id)}"


def _place(record: Record) -> str:
    """Return the address, within the book, of the cell that judges the claim."""
    return f"{record.notebook.removesuffix('.ipynb')}.html#{claims.anchor(record.id)}"


def _citation(**told) -> str:
    return say(
        "{authors} ({year}). {place}: {verdict}. Claim {id} of {title}, version {version}. {address}", **cited(), **told
    )


@cache
def cited() -> dict[str, str]:
    """Return the authors, year, title and version of the compendium for a citation, from CITATION.cff.

    After a plus sign, the version has the commit of the figures if it is known, because verdicts change between versions.
    """
    made = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    authors = ", ".join(author["name"] for author in made["authors"])
    commit, changed = results.figures_commit()
    version = "+".join(filter(None, (made["version"], commit[:12] + "-dirty" * changed)))
    return {"authors": authors, "year": made["date-released"][:4], "title": made["title"], "version": version}


def cell(text: str) -> str:
    """Return `text` for a cell of a Markdown table; formulas are kept, and everything else is escaped."""
    pieces = re.split(r"(\$[^$]+\$)", " ".join(text.split()))
    literal = [piece if i % 2 else re.sub(r"([\\$*_`<\[\]{}~])", r"\\\1", piece) for i, piece in enumerate(pieces)]
    return "".join(literal).replace("|", r"\|")


def downloads(ledger: Ledger, records: list[Record], full: dict[str, Record], folder: Path) -> None:
    """Write claims.json, its schema and claims.csv into `folder`, with everything that the scorecard shows; claims.csv
    omits lists."""
    rows = [_row(ledger, each) for each in cards.findings(ledger, records, full)]
    plain = [{name: value for name, value in row.items() if isinstance(value, str)} for row in rows]
    results.write(folder / "claims.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    results.write(folder / "claims.csv", pd.DataFrame(plain).to_csv(index=False, lineterminator="\n"))
    results.write(folder / SCHEMA.name, SCHEMA.read_text(encoding="utf-8"))


def _row(ledger: Ledger, found: Finding) -> dict:
    """Return the row of one claim in the files claims.json and claims.csv."""
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
        | {"errata": [f"errata.html#{anchor}" for anchor, _ in erratum.about(claim.id)]}
        | {
            "readings": [
                {"name": name, "meaning": meaning, "own": name == claim.own, "found": by_reading.get(name, "")}
                for name, meaning in claim.readings.items()
            ],
            "replies": [asdict(reply) for reply in cards.replies().get(claim.id, [])],
        }
    )
