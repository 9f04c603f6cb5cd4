"""The directive {changed-verdicts} 0.1.0: which verdicts are others than in that version's full run, and why, by this build.

That version's are kept in book/results/claims-0.1.0.csv. Now those of the full run count where this build used stand-in data.
"""

from collections import Counter
from pathlib import Path

from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed, say
from book.kept import results
from book.ledger import claims, retold, scorecard, verdicts

RESULTS = Path(__file__).resolve().parents[1] / "results"
GATHERED = RESULTS.parents[1] / "build" / "claims.json"


def changes(before: dict[str, str], now: list) -> list[tuple]:
    """(record, verdict before) of each claim whose verdict is another now; a claim that is new or gone has not changed."""
    return [(record, before[record.id]) for record in now if before.get(record.id, record.verdict) != record.verdict]


def page(found: list[tuple]) -> str:
    """The changes as MyST: how many of each kind, over a folded table for each document."""
    kinds = Counter((was, record.verdict) for record, was in found)
    told = say(", ").join(
        say("{count} from *{was}* to *{now}*", count=count, was=say(was), now=say(now))
        for (was, now), count in sorted(kinds.items())
    )
    parts = [say("{count} verdicts are others now: {told}.", count=len(found), told=told), ""]
    for key, document in claims.load().documents.items():
        own = [(record, was) for record, was in found if record.document == key]
        rows = [
            f"| {scorecard.cell(each.id.split('.', 1)[1])}<br>*{say(was)}* → *{say(each.verdict)}* | {_why(each)} |"
            for each, was in own
        ]
        if rows:
            table = [f"| {say('Claim')} | {say('Why')} |", "|---|---|", *rows]
            parts += [f"````{{dropdown}} {retold.cited(document)}: {len(own)}", *table, "````", ""]
    return "\n".join(parts)


def _why(record) -> str:
    """What was found, if that is in words, and the note."""
    record = retold.record(record, claims.load())
    found = record.reproduced.replace("; ", say("; ")) if ":" in record.reproduced else ""
    return scorecard.cell(say("; ").join(filter(None, [found, record.note])))


class ChangedVerdicts(SphinxDirective):
    required_arguments = 1

    def run(self):
        if not GATHERED.is_file():
            raise ExtensionError("no build/claims.json to compare: run `make claims` first")
        kept, full = RESULTS / f"claims-{self.arguments[0]}.csv", RESULTS / "claims.csv"
        before = results.load(kept).set_index("id")["verdict"].to_dict()
        for path in (kept, full, GATHERED):
            self.env.note_dependency(str(path))
        found = page(changes(before, verdicts.standings(GATHERED, full)))
        self.content = StringList(found.splitlines(), source=str(kept))
        return parsed(self)


def setup(app):
    app.add_directive("changed-verdicts", ChangedVerdicts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
