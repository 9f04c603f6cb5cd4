"""The table of changed verdicts: what changed is there, with its reason, and nothing else."""

from pathlib import Path

from book._ext import claims as on_pages
from book.kept import results
from book.ledger import claims
from book.ledger.claims import Record

ROOT = Path(__file__).resolve().parents[2]


def record(id, verdict, note="", reproduced=""):
    return Record(id, id.split(".")[0], "Table 1", "1", reproduced, verdict, note, "Somebody, Table 1")


def test_what_changed_is_listed_with_its_reason():
    before = {
        "kiri2019.a": "reproduced",
        "kiri2019.b": "differs",
        "miura2022.c": "reproduced",
        "sei2017.gone": "differs",
    }
    records = [
        record("kiri2019.a", "not determinable", "within the noise: x | y", "a fifth: holds; a tenth: fails"),
        record("kiri2019.b", "differs"),
        record("miura2022.c", "differs", "off by 3 < 4"),
        record("kiri2019.new", "reproduced"),
    ]
    found = on_pages.changes(before, records)
    assert [(each.id, was) for each, was in found] == [("kiri2019.a", "reproduced"), ("miura2022.c", "reproduced")]
    shown = on_pages.changed(found)
    assert (
        "2 verdicts are others now: 1 from *reproduced* to *differs*, 1 from *reproduced* to *not determinable*."
        in shown
    )
    assert (
        "| a<br>*reproduced* → *not determinable* | a fifth: holds; a tenth: fails; within the noise: x \\| y |"
        in shown
    )
    assert r"off by 3 \< 4" in shown and shown.count("{dropdown}") == 2


def test_the_kept_verdicts_are_of_the_ledgers_claims():
    kept = results.load(ROOT / "book/results/claims-0.1.0.csv")
    assert len(kept) == 600 and set(kept["verdict"]) <= set(claims.READ_VERDICTS) and kept["id"].is_unique
