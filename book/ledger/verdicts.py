"""Gather the verdicts of executed notebooks, and those of the full run, which are kept in book/results/claims.csv."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import yaml

from book.kept import results
from book.ledger import cards, claims
from book.ledger.claims import Ledger, Record
from lib.data import datasets

ROOT = Path(__file__).resolve().parents[2]
GATHERED, FULL = ROOT / "build/claims.json", ROOT / "book/results/claims.csv"


class LedgerError(Exception):
    """An error for notebooks that do not agree with the ledger; its message has one line for each problem."""


# ---------------------------------------------------------------- gather


def records_in(notebook: Path, name: str) -> list[Record]:
    """Return the records in the outputs of one executed notebook, marked with its `name`."""
    found = [
        output["data"][claims.MIME]
        for cell in _cells(notebook)
        for output in cell.get("outputs", [])
        if claims.MIME in output.get("data", {})
    ]
    flat = [entry for group in found for entry in (group if isinstance(group, list) else [group])]
    return [replace(Record(**entry), notebook=name) for entry in flat]


def _cells(notebook: Path) -> list[dict]:
    try:
        return json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (ValueError, LookupError, TypeError):
        raise LedgerError(f"{notebook} is damaged; delete it, and the next `make` runs the notebook again") from None


def gathered_records(path: Path) -> list[Record]:
    """Return the records in the file that `gather` wrote. Raises ``LedgerError`` if the file is damaged."""
    try:
        return [Record(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError):
        raise LedgerError(f"{path} is damaged; delete it, and `make claims` writes it again") from None


def collect(executed: Path, sources: Path) -> list[Record]:
    """Return all records in the notebooks below `executed`, except notebooks that no longer exist in `sources`."""
    records = []
    for path in sorted(executed.rglob("*.ipynb")):
        relative = path.relative_to(executed)
        if ".ipynb_checkpoints" in relative.parts:
            continue
        if (sources / relative).is_file():
            records += records_in(path, f"notebooks/{relative.as_posix()}")
        else:
            print(f"skipped {relative}: this notebook no longer exists", file=sys.stderr)
    return records


def settle(ledger: Ledger, records: list[Record]) -> list[Record]:
    """Return one record for every claim of the ledger, sorted by id. Raises `LedgerError`, which lists all problems."""
    judged: dict[str, list[Record]] = {}
    elsewhere: dict[str, str] = {}
    for record in records:
        if record.verdict == "not judged":
            elsewhere[record.id] = record.notebook
        else:
            judged.setdefault(record.id, []).append(record)

    problems = [
        f"{id} is judged in {group[0].notebook}, but is not in the ledger"
        for id, group in sorted(judged.items())
        if id not in ledger.all
    ]
    settled = []
    for id in sorted(ledger.all):
        group = judged.get(id, [])
        problems += _problems(ledger, id, group, elsewhere.get(id))
        settled += group[:1]
    if problems:
        raise LedgerError("\n".join(problems))
    return settled


def _problems(ledger: Ledger, id: str, group: list[Record], elsewhere: str | None) -> list[str]:
    """Return a sentence for each problem with `group`, the notebooks' records for the claim `id`."""
    claim = ledger[id]
    if not group:
        hint = f" (only in another setting, by {elsewhere})" if elsewhere else ""
        return [f"{id}: no notebook judges it{hint}"]
    problems = []
    if len({record.verdict for record in group}) > 1:
        told = ", ".join(f"{record.verdict} by {record.notebook}" for record in group)
        problems.append(f"{id}: notebooks judge it differently: {told}")
    for record in group:
        if record.published != claim.printed:
            problems.append(
                f"{id}: {record.notebook} judged {record.published!r}, but the ledger "
                f"says {claim.printed!r}: execute it again"
            )
        if (record.reproduced == claims.READ) != (claim.judge == claims.READ):
            problems.append(f"{id}: {record.notebook} did not judge it by {claim.judge}: execute it again")
        if record.verdict == "differs" and record.note in ("", claims.NO_REASON):
            problems.append(f"{id}: its verdict is 'differs', but {record.notebook} gives no reason")
    return problems


def gather(executed: Path, sources: Path, output: Path) -> list[Record]:
    """Settle every claim, and write the list of records to `output`. If that fails, nothing is written."""
    settled = settle(claims.load(), collect(executed, sources))
    text = json.dumps([asdict(record) for record in settled], ensure_ascii=False, indent=1)
    results.write(output, text + "\n")
    return settled


# ---------------------------------------------------------------- the full run

KEPT = ["id", "published", "reproduced", "verdict", "note", "notebook"]


def full(executed: Path, sources: Path, output: Path, only=(), id: str = "") -> list[Record]:
    """Settle every claim by the notebooks that `make papers` ran, and write the records to `output`.

    only : notebooks, such as `miura2025/02_accuracy`. If there are any, `output` keeps the rows of the other notebooks.
    id : one claim, which the notebooks in `only` judge. If it is given, `output` keeps the rows of all other claims.
    """
    known, found = claims.load(), collect(executed, sources)
    kept, made = pd.DataFrame(columns=KEPT), _made()
    if only:
        again = {f"notebooks/{name}.ipynb" for name in only}
        kept, made = _kept(output), _made_again(output, [id] if id else only)
        found = [record for record in found if record.notebook in again and id in ("", record.id)]
        mine = {id} if id else {record.id for record in found} | set(kept["id"][kept["notebook"].isin(again)])
        known = Ledger(known.documents, {id: claim for id, claim in known.all.items() if id in mine})
        kept = kept[~kept["id"].isin(mine)]
    settled = settle(known, found)
    if any(record.verdict == "stand-in" for record in settled):
        raise LedgerError(
            "the full run must use the real data: "
            + ", ".join(record.id for record in settled if record.verdict == "stand-in")
        )
    rows = pd.concat([kept, pd.DataFrame([asdict(record) for record in settled], columns=KEPT)])
    results.save(output, rows.sort_values("id", ignore_index=True), made, part=bool(only))
    return settled


def _kept(path: Path) -> pd.DataFrame:
    """Return the rows of the full run in the file at `path`, as text. Raises `LedgerError` for a file of another shape."""
    try:
        found = results.load(path)
        got = ", ".join(found.columns)
    except ValueError as error:  # of pandas: an empty file, or rows of different lengths
        got = f"a file that is not one: {error}"
    if got != ", ".join(KEPT):
        raise LedgerError(f"{path} must have the columns {', '.join(KEPT)}, got {got}")
    return found.astype(object).fillna("").astype(str)


def _made() -> dict[str, str]:
    """Return the provenance of the file of a full run."""
    files = {name: source.sha256 for name, source in datasets.SOURCES.items()}
    made = results.collect(
        "make", [], data="real", settings={"parameters": "notebooks/full.yml"}, files=files, code=results.PAPERS
    )
    return made | {"command": "make papers"}


def chapters(id: str, sources: Path, kept: Path) -> list[str]:
    """Return the chapters, as ``miura2025/02_accuracy``, that judge the claim `id` of the ledger.

    They are the notebooks below `sources` whose code contains the id. If there are none, because the code composes the
    id, the chapter is the one that judged the claim according to the file `kept`. Raises ``ValueError`` for an unknown
    id and `LedgerError` if no chapter judges it.
    """
    claims.load()[id]
    found = [path for path in sorted(sources.glob("*/*.ipynb")) if _names(path, id)]
    found = found or [sources.parent / name for each, name in _kept(kept)[["id", "notebook"]].values if each == id]
    if not found:
        raise LedgerError(f"{id}: no chapter judges it. Call `claims.check({id!r}, value)` in one")
    return [path.relative_to(sources).with_suffix("").as_posix() for path in found]


def _names(notebook: Path, id: str) -> bool:
    """Return whether a cell of code names the claim `id`."""
    cells = _cells(notebook)
    quoted = re.compile(rf"""["']{re.escape(id)}["']""")
    return any(cell["cell_type"] == "code" and quoted.search("".join(cell["source"])) for cell in cells)


def needs_data(chapter: str) -> bool:
    """Return whether notebooks/full.yml, with the settings of the papers, runs `chapter` on the real data."""
    settings = yaml.safe_load((ROOT / "notebooks/full.yml").read_text(encoding="utf-8"))
    return settings.get(chapter, {}).get("data") == "real"


def have_data() -> bool:
    """Return whether the real data exist or can be downloaded; if not, print the reason to standard error."""
    try:
        for name in datasets.SOURCES:
            datasets.path(name)
    except datasets.DatasetError as error:
        print(error, file=sys.stderr)
        return False
    return True


def _made_again(output: Path, only) -> dict[str, str]:
    """Return the provenance of the file at `output`, with a line that names the notebooks or the claim run again
    today."""
    made, name = results.provenance(output), f"run again {datetime.now(UTC).date().isoformat()}"
    again = f"{', '.join(only)} at {results.commit()}"
    return made | {name: "; ".join(filter(None, [made.get(name), again]))}


def load_full(path: Path, ledger: Ledger) -> dict[str, Record]:
    """Return the records of the committed full run by id, or {} if there is no such file. "Read" claims, and claims
    whose printed value has changed since, are left out."""
    if not path.is_file():
        return {}
    found, known = {}, ledger.all
    for row in _kept(path).to_dict("records"):
        claim = known.get(row["id"])
        if claim is not None and claim.judge != claims.READ and claim.printed == row["published"]:
            document = ledger.document(claim)
            found[claim.id] = Record(
                document=claim.document, item=claim.item, source=claims.source(claim, document), **row
            )
    return found


def package(path: Path, output: Path) -> None:
    """Write every claim, with the verdict of the full run, for the package. Raises `LedgerError`, which names the
    claims that the full run has not judged as they are printed now."""
    known, found = claims.load().claims, {row["id"]: row for row in _kept(path).to_dict("records")}
    if unjudged := [id for id, claim in known.items() if found.get(id, {}).get("published") != claim.printed]:
        raise LedgerError(
            "these claims must be judged in their current wording: "
            + ", ".join(f"`make claim ID={id}`" for id in unjudged)
        )
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
    """Return the book's record of each claim, from the files that `gather` and `full` wrote."""
    full = load_full(path, claims.load())
    return [cards.standing(record, full.get(record.id)) for record in gathered_records(gathered)]
