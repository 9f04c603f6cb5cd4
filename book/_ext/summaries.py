"""The role {tally}`miura2022`: how the claims of a document came out, counted in the ledger by this build.

Pages write no such number by hand. Where the build used stand-in data, the full run's verdict counts,
as on the scorecard.
"""

import importlib.util
import json
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxRole

BOOK = Path(__file__).resolve().parents[1]
WORDS = {
    "reproduced": ("is reproduced", "are reproduced"),
    "differs": ("differs", "differ"),
    "not determinable": ("is not determinable", "are not determinable"),
    "stand-in": ("still needs the real data", "still need the real data"),
}


def ledger_module():
    """book/ledger.py, which is a program and not part of a package."""
    spec = importlib.util.spec_from_file_location("ledger", BOOK / "ledger.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verdicts(document: str, gathered: Path, full: Path) -> Counter:
    """How often each verdict stands in the book for the claims of `document`, by both runs' files.

    Raises ValueError if the ledger has no such document.
    """
    ledger = ledger_module()
    known = ledger.claims.load()
    if document not in known.documents:
        raise ValueError(f"document must be one of {', '.join(known.documents)}, got {document!r}")
    real = ledger.load_full(full, known)
    records = [ledger.Record(**entry) for entry in json.loads(gathered.read_text(encoding="utf-8"))]
    return Counter(ledger.standing(record, real).verdict for record in records if record.document == document)


def sentence(count: Counter) -> str:
    """``of 42 claims 32 are reproduced, 9 differ and 1 is not determinable``."""
    parts = [f"{count[verdict]} {words[count[verdict] != 1]}" for verdict, words in WORDS.items() if count[verdict]]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    return f"of {count.total()} claim{'s' * (count.total() != 1)} {listed}"


class Tally(SphinxRole):
    def run(self):
        gathered = BOOK.parent / "build" / "claims.json"
        if not gathered.is_file():
            raise ExtensionError("no build/claims.json to count claims in: run `make claims` first")
        count = verdicts(self.text, gathered, BOOK / "results" / "claims.csv")
        return [nodes.inline(self.rawtext, sentence(count))], []


def setup(app):
    app.add_role("tally", Tally())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
