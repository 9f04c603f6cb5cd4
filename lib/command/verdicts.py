"""`dp-compendium ledger`: the claims of the five documents, and the verdicts on them.

`python -m book.ledger package` writes the claims and the verdicts, which are those under the documents' settings, to
this folder.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import click

from ..numerics import checks
from .answers import as_json

LEDGER = Path(__file__).with_name("ledger.csv")


@click.command(
    epilog="\b\nExamples:\n  dp-compendium ledger --document miura2022 --verdict differs"
    '\n  dp-compendium ledger --text "randomized response" --json'
)
@click.option("--document", help="Show only claims of this document, such as kiri2019.")
@click.option("--verdict", help="Show only claims with this verdict, such as differs.")
@click.option("--text", help="Show only claims whose entry, note included, contains each of these words.")
@as_json
def ledger(document, verdict, text, as_json):
    """Show the claims of the five documents and their verdicts.

    Without a filter, the command counts the verdicts of each document.
    """
    claims = read()
    documents, verdicts = (tuple(dict.fromkeys(claim[name] for claim in claims)) for name in ("document", "verdict"))
    chosen = claims
    for name, wanted, known in (("document", document, documents), ("verdict", verdict, verdicts)):
        if wanted is not None:
            checks.one_of(name, wanted, known)
            chosen = [claim for claim in chosen if claim[name] == wanted]
    for word in (text or "").lower().split():
        chosen = [claim for claim in chosen if any(word in part.lower() for part in claim.values())]
    if as_json:
        click.echo(json.dumps(chosen, indent=1))
        return
    if document or verdict or text:
        for claim in chosen:
            click.echo(_told(claim))
        return click.echo(_tally("found", chosen))
    for name in documents:
        click.echo(_tally(name, [claim for claim in claims if claim["document"] == name]))


def read() -> list[dict[str, str]]:
    """Return every claim: id, document, item, statement, printed, reproduced, verdict, note, chapter."""
    with LEDGER.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _told(claim) -> str:
    lines = [f"{claim['id']}: {claim['verdict']}", f"  {claim['item']}. {claim['statement']}"]
    lines.append(f"  printed: {claim['printed']}; here: {claim['reproduced']}")
    return "\n".join([*lines, *([f"  {claim['note']}"] if claim["note"] else []), ""])


def _tally(name, claims) -> str:
    counts = Counter(claim["verdict"] for claim in claims)
    return f"{name}: {len(claims)} claims" + "".join(
        f", {count} {verdict}" for verdict, count in sorted(counts.items())
    )
