"""The table of changed verdicts contains each verdict that changed, with the reason, and nothing else."""

from pathlib import Path

import yaml

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
    assert "2 verdicts changed: 1 from *reproduced* to *differs*, 1 from *reproduced* to *not determinable*." in shown
    assert (
        "| a<br>*reproduced* → *not determinable* | a fifth: holds; a tenth: fails; within the noise: x \\| y |"
        in shown
    )
    assert r"off by 3 \< 4" in shown and shown.count("{dropdown}") == 2


def test_the_kept_verdicts_are_of_the_ledgers_claims():
    kept = results.load(ROOT / "book/results/claims-0.1.0.csv")
    assert len(kept) == 600 and set(kept["verdict"]) <= set(claims.READ_VERDICTS) and kept["id"].is_unique


def test_what_the_standard_changed_has_its_paragraph():
    listed = [
        {"id": "kiri2019.coin.protocol", "was": "differs", "by": "S1"},
        {"id": "sei2017.gone", "was": "differs", "by": "S3", "now": "merged"},
    ]
    shown = on_pages.changed_by_standard(listed, {"kiri2019.coin.protocol": "not determinable"})
    assert shown.count("{dropdown}") == 2
    assert (
        "#claim-kiri2019.coin.protocol" in shown
        and "| *differs* → *not determinable* | {ref}`S1 <standard-s1>` |" in shown
    )
    assert "| sei2017.gone | *differs* → *merged* | {ref}`S3 <standard-s3>` |" in shown


def test_the_list_of_what_the_standard_changed_is_of_today():
    """Each claim in it now has a different verdict, or is gone; each paragraph is one of the standard's."""
    listed, known = yaml.safe_load(on_pages.STANDARD.read_text(encoding="utf-8")), claims.load().claims
    now = {row["id"]: row["verdict"] for row in results.rows(ROOT / "book/results/claims.csv")}
    assert listed and len({each["id"] for each in listed}) == len(listed)
    for each in listed:
        assert each["was"] in claims.READ_VERDICTS and ("now" in each) == (each["id"] not in known), each
        assert each["was"] != now.get(each["id"]), each
        assert f"(standard-{each['by'].lower()})=" in (ROOT / "book/standard.md").read_text(encoding="utf-8"), each
