"""The directive {planted-faults}: which planted fault moved which verdicts, by document, from book/results/faults.csv."""

from collections import Counter
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed, say, told
from book.kept import results
from book.ledger import claims, retold, scorecard

FILE = Path(__file__).resolve().parents[1] / "results" / "faults.csv"


def page(rows: list[dict]) -> str:
    """The rows of the file as MyST: for each document how many were noticed, and by what, over the folded table."""
    parts = []
    for key, document in claims.load().documents.items():
        own = [row for row in rows if row["document"] == key]
        by = Counter(noticed_by(row)[0] for row in own)
        counts = say(
            "{document}, {n} faults: {verdicts} move verdicts, {error} end a chapter in an error, {test} move no verdict and fail a"
            " test, {nothing} are not noticed",
            document=retold.cited(document),
            n=len(own),
            **{what: by[what] for what in ("verdicts", "error", "test", "nothing")},
        )
        lines = [f"| {scorecard.cell(told(row['fault']))} | `{row['file']}` | {noticed_by(row)[1]} |" for row in own]
        table = [f"| {say('Fault')} | {say('In')} | {say('Noticed by')} |", "|---|---|---|", *lines]
        parts.append("\n".join([f"````{{dropdown}} {counts}", *table, "````", ""]))
    return "\n".join(parts)


def noticed_by(row: dict) -> tuple[str, str]:
    """Of one fault, what noticed it: verdicts, error, test or nothing; and the same as MyST for its cell."""
    if row["moved"]:
        ids = [each.split(": ")[0].split(".", 1)[1] for each in row["moved"].split("; ")]
        listed = ", ".join(f"`{id}`" for id in ids)
        return "verdicts", say("{n} verdict: {ids}", "{n} verdicts: {ids}", n=len(ids), ids=listed)
    if row["stopped"]:
        return "error", scorecard.cell(row["stopped"])
    explained = say("{why}; `{test}`", why=told(row["explained"]), test=row["test"])
    return ("test", explained) if row["test"] else ("nothing", say("nothing"))


class PlantedFaults(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(FILE))
        rows = results.rows(FILE)
        self.content = StringList(page(rows).splitlines(), source=str(FILE))
        made = parsed(self)
        for folded in made:
            for table in folded.findall(nodes.table):
                table["classes"].append("planted-faults")
        return made


def setup(app):
    app.add_directive("planted-faults", PlantedFaults)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
