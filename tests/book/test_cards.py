"""A claim as its readers see it: first the verdict, each reading with its value, replies at the end, chapters' claims
folded."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml
from docutils import nodes
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from book._ext import claims as shown_claims
from book.kept import results
from book.ledger import cards, claims, erratum, retold, scorecard, verdicts
from book.ledger.cards import Finding
from book.ledger.claims import Claim, Record

ROOT = Path(__file__).resolve().parents[2]
READINGS = {"every, wide": "at each of $\\varepsilon = 1, 2$", "every": "at one"}


def finding(judge="digits", printed="0.58", verdict="differs", found="0.6", full=None, **more):
    claim = Claim("miura2022.a.b", "miura2022", "Table 1, left", "A <b>number</b> $x < 1$.", printed, judge, {}, **more)
    kept = Record(claim.id, "miura2022", claim.item, printed, full, "reproduced", "On real data.", "") if full else None
    return Finding(claim, Record(claim.id, "miura2022", claim.item, printed, found, verdict, "Off by 3 < 4.", ""), kept)


def test_an_entry_begins_with_the_verdict_and_shows_all_texts_as_they_are():
    made = cards.entry(finding(), "#there")
    assert made.startswith('<div class="claim" id="claim-miura2022.a.b"><p class="claim-verdict"><span class="verdict')
    assert (
        '<a href="#there">Table 1, left</a> A &lt;b&gt;number&lt;/b&gt; <span class="math">\\(x &lt; 1\\)</span>.'
        in made
    )
    assert "<span>printed <b>0.58</b></span> <span>here <b>0.6</b></span>" in made and ">Off by 3 &lt; 4.</p>" in made


def test_the_full_run_decides_where_the_build_had_stand_in_data():
    found = finding(verdict="stand-in", found="0.7", full="0.58")
    made = cards.entry(found, "#there")
    assert found.standing.verdict == "reproduced" and "verdict-reproduced" in made and "On real data." in made
    assert "<span>full run <b>0.58</b></span> <span>here, on a synthetic sample <b>0.7</b></span>" in made
    assert cards.tally([found]) == "1 claim: 1 reproduced"


def test_each_reading_has_its_own_value():
    found = finding(
        "statement", "so it is", found="every, wide: holds; every: does not hold", readings=READINGS, own="every"
    )
    assert cards.by_reading(found.claim, found.here.reproduced) == {"every, wide": "holds", "every": "does not hold"}
    made = cards.entry(found, "#there")
    assert "<li>every (selected by the text): at one; <b>does not hold</b></li>" in made
    assert "Printed: so it is" in made and "here" not in made.replace("#there", "")


def test_each_note_can_be_read_alone():
    """It consists of whole sentences, and names no other claim by its id."""
    known = {id for each in claims.load().all for id in (each, each.partition(".")[2])}
    notes = {row["id"]: row["note"] for row in results.rows(verdicts.FULL) if row["note"]}
    assert [id for id, note in notes.items() if not re.match(r"[A-Z$0-9“'].*[.?]$", note)] == []
    assert [id for id, note in notes.items() if known & set(re.findall(r"[a-z0-9]+(?:\.[a-z0-9-]+)+", note))] == []


def test_readings_that_agree_are_folded_behind_what_they_found_and_after_the_note():
    found = finding(
        "statement",
        "so",
        found="every, wide: holds; every: holds",
        readings=READINGS,
        own="every",
        verdict="reproduced",
    )
    made = cards.entry(found, "#there")
    assert "<summary>2 interpretations, one of them selected by the text: <b>holds</b></summary>" in made
    assert "<li>every (selected by the text): at one</li>" in made
    assert made.index("claim-note") < made.index("claim-readings")


def test_readings_that_combine_sets_are_named_and_each_name_is_explained_once():
    sets = ({"deep": "a deep tree", "flat": "a flat tree"}, {"all": "all records", "few": "a fifth"})
    readings = {f"{one}, {other}": f"{sets[0][one]}; {sets[1][other]}" for one in sets[0] for other in sets[1]}
    found = "; ".join(f"{name}: {value}" for name, value in zip(readings, (0.1, 0.2, 0.3, 0.3)))
    made = cards.entry(finding(found=found, readings=readings, sets=sets), "#there")
    assert "<li>deep, all: <b>0.1</b></li>" in made and "2 interpretations: <b>0.3</b>" in made
    assert made.count("a deep tree") == made.count("<li>flat: a flat tree</li>") == made.count("a fifth") == 1


def test_every_reading_of_the_book_has_a_value():
    """The text of a record is taken apart again: for each claim of the full run with readings, into all of them."""
    known = claims.load(ROOT / "book/claims.yml")
    full = verdicts.load_full(ROOT / "book/results/claims.csv", known)
    chosen = [claim for claim in known.claims.values() if claim.readings and full[claim.id].reproduced]
    assert len(chosen) > 100
    for claim in chosen:
        values = cards.by_reading(claim, full[claim.id].reproduced)
        assert set(values) == set(claim.readings) and all(values.values()), claim.id


def test_a_table_is_folded_behind_its_tally():
    both = [finding(), finding(verdict="reproduced")]
    made = cards.folded(both, ['<div id="a"><p>A</p></div>', '<div id="b"><p>B</p></div>'])
    assert made == (
        '<details class="claims"><summary>Table 1, 2 claims: 1 reproduced, 1 differs</summary>'
        '<div id="a"><noscript><p>A</p></noscript></div><div id="b"><noscript><p>B</p></noscript></div></details>'
    )


# ---- in the chapters

CHAPTERS = sorted(path for path in (ROOT / "notebooks").glob("*/*.ipynb") if "assignments" not in path.parts)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_output_of_claims_carries_the_records_it_shows(path):
    """The page shows these records in place of the notebook's HTML."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = [output["data"] for cell in notebook["cells"] for output in cell.get("outputs", []) if "data" in output]
    drawn = [
        "".join(data.get("text/html", ""))
        for data in outputs
        if "".join(data.get("text/html", "")).startswith(shown_claims.SHOWN)
    ]
    found = shown_claims.recorded(notebook)
    assert len(found) == len(drawn)
    for records, markup in zip(found, drawn):
        made = shown_claims.shown([records], "../../", "notebooks/x", {})
        assert made.startswith('<details class="claims">')
        ids = re.findall(r'id="(claim-[^"]+)"', markup)
        assert re.findall(r'<div class="claim" id="(claim-[^"]+)"', made) == ids
        assert all(f'"../../scorecard.html#{id}"' in made for id in ids)


def test_the_claims_of_a_section_are_one_list_at_the_place_of_its_last(monkeypatch):
    """The outputs of claims before it are gone, with their cells; what else a cell shows stays."""
    records = shown_claims.recorded(json.loads(CHAPTERS[0].read_text(encoding="utf-8")))[:3]
    outputs = [{"outputs": [{"data": {claims.MIME: record}}]} for record in records]
    monkeypatch.setattr(shown_claims, "executed", lambda app: {"cells": outputs})

    def cell(*before):
        forms = nodes.raw("", '<div class="claims">', format="html"), nodes.literal_block("", "x.y printed 1 differs")
        bundle = nodes.container("", *(nodes.container("", form) for form in forms), nb_element="mime_bundle")
        return nodes.container("", *before, nodes.container("", bundle))

    inner = nodes.section("", cell())
    page = nodes.document(
        "", "", "", nodes.section("", cell(), cell(nodes.paragraph("", "42")), nodes.paragraph("", "Hence"), inner)
    )
    env = SimpleNamespace(docname="notebooks/x/y", note_dependency=lambda file: None)
    shown_claims.show(SimpleNamespace(env=env), page)
    first, second = [each.astext() for each in page.findall(nodes.raw)]
    for made, judged in ((first, records[:2]), (second, records[2:])):
        ids = [each["id"] for one in judged for each in (one if isinstance(one, list) else [one])]
        assert re.findall(r'<div class="claim" id="claim-([^"]+)"', made) == ids
        assert made.count('<details class="claims">') == 1
    assert [each.astext() for each in page[0].children if not isinstance(each, nodes.section)][1:] == ["Hence"]
    assert page[0][0].astext().startswith("42") and len(page[0]) == 3
    assert len(list(page.findall(nodes.literal_block))) == 2  # the other forms of the two that are shown


# ---- replies


def test_the_replies_of_the_book_are_to_its_claims():
    assert set(cards.replies()) <= set(claims.load(ROOT / "book/claims.yml").claims)


REPLY = "- {claim: miura2022.a.b, by: A. Author, date: '2027-01-31', text: 'We meant $n > 1$.'%s}"


def test_a_reply_stands_beside_the_verdict(tmp_path, monkeypatch):
    (tmp_path / "replies.yml").write_text(REPLY % ", answer: Judged again.")
    found = cards.replies(tmp_path / "replies.yml")
    monkeypatch.setattr(cards, "replies", lambda: found)
    made = cards.entry(finding(), "#there")
    assert (
        "<em>Reply by A. Author, 2027-01-31:</em> We meant" in made and "<em>What was done:</em> Judged again." in made
    )


HOSTILE = (r"a\n``````\n\n```{image} http://a.b/c.png\n```\n", r"\\<img src=x onerror=alert(1)>", r"\\$<img src=x onerror=alert(1)>$",
           r"$$<img src=x>$$", "![i](http://a.b/c.png)", r"\\![i](http://a.b/c.png)", "<script>alert(1)</script>", "{kbd}`a`")  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reply_makes_nothing_of_its_own_on_a_page(tmp_path, monkeypatch, text):
    """It is part of a page in HTML between lines of signs, and of a list in Markdown."""
    reply = f'- {{claim: miura2022.a.b, by: "A {text}", date: "2027 {text}", text: "B {text}", answer: "C {text}"}}'
    (tmp_path / "replies.yml").write_text(reply)
    found = cards.replies(tmp_path / "replies.yml")
    monkeypatch.setattr(cards, "replies", lambda: found)
    made = cards.entry(finding(), "#there")
    assert "\n" not in made and "<img" not in made and "<script" not in made
    monkeypatch.setattr(claims, "load", lambda: {"miura2022.a.b": finding().claim})
    monkeypatch.setattr(retold, "source", lambda claim, known: "Table 1")
    config = MdParserConfig(enable_extensions={"dollarmath", "html_image"})
    shown = create_md_parser(config, RendererHTML).parse(shown_claims.listed(found))
    kinds = {part.type for block in shown for part in (block, *(block.children or ()))}
    assert kinds <= {"bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "text_special", "html_inline",
                     "math_inline", "paragraph_close", "list_item_close", "bullet_list_close"}  # fmt: skip
    links = [part.content for block in shown for part in block.children or () if part.type == "html_inline"]
    assert links == ['<a href="scorecard.html#claim-miura2022.a.b">', "</a>"]


def test_a_reply_with_letters_that_turn_a_line_round_is_refused(tmp_path):
    (tmp_path / "replies.yml").write_text(REPLY % ", answer: 'B\u202e'", encoding="utf-8")
    with pytest.raises(ValueError, match="letters and signs that print"):
        cards.replies(tmp_path / "replies.yml")


@pytest.mark.parametrize(
    "text, said",
    [
        (REPLY % ", verdict: reproduced", "verdict"),
        (REPLY % ", text: ''", "by, date and text"),
        ("- {by: Somebody}", "claim"),
    ],
)
def test_what_is_no_reply_is_refused(tmp_path, text, said):
    (tmp_path / "replies.yml").write_text(text)
    with pytest.raises(ValueError, match=f"replies.yml: .*{said}"):
        cards.replies(tmp_path / "replies.yml")


# ---- errata

ERRATA = """\
(errata-doc)=
## `doc`

### Formulas

% claims: doc.sign doc.other
Lemma 1: the sign
: It is negative.

### Remarks

Section 2: the word "all"
: Of those that it names.

% claims: doc.open
Table 3
: Not said.

(errata-more)=
## `more`

### Remarks

Section 1
: A misprint.
"""
SIGN, OPEN = "doc, Lemma 1: the sign: ", "doc, Table 3: "


@pytest.fixture
def errata(tmp_path):
    path = tmp_path / "errata.md"
    path.write_text(ERRATA, encoding="utf-8")
    return path


def test_entries_have_their_claims_and_their_place(errata):
    found = erratum.entries(errata)
    assert [(each.head, each.claims, each.remark) for each in found["doc"]] == [
        ("Lemma 1: the sign", ("doc.sign", "doc.other"), False),
        ('Section 2: the word "all"', (), True),
        ("Table 3", ("doc.open",), True),
    ]
    assert [each.head for each in found["more"]] == ["Section 1"]
    assert erratum.about("doc.open", errata) == [("errata-doc-2", "Table 3")]
    assert erratum.about("doc.theorem", errata) == []


@pytest.mark.parametrize(
    "verdicts, excused, said",
    [
        ({}, set(), []),
        ({"doc.sign": "reproduced", "doc.other": "differs"}, set(), []),
        ({"doc.sign": "not determinable"}, set(), [f"{SIGN}none of its claims differs, so it must be a remark"]),
        ({"doc.open": "differs"}, {"doc.open"}, [f"{OPEN}one of its claims differs, so it must not be a remark"]),
        (
            {"more.new": "differs"},
            set(),
            ["more.new: differs, but has neither an erratum nor a reason for having none"],
        ),
        ({"more.new": "differs"}, {"more.new"}, []),
    ],
)
def test_errata_that_say_other_than_the_ledger_are_noticed(errata, verdicts, excused, said):
    known = {"doc.sign": "differs", "doc.other": "reproduced", "doc.open": "not determinable"}
    assert erratum.problems(known | verdicts, excused, errata) == said


def test_errata_that_name_no_claim_are_noticed(errata):
    assert erratum.problems({"doc.sign": "differs", "doc.open": "reproduced"}, set(), errata) == [
        f"{SIGN}unknown claim doc.other"
    ]


MEASURED = ("within", "ordering")  # cells and orders of random measurements: no slip that could be corrected


def test_the_errata_say_what_the_ledger_says():
    known = claims.load(ROOT / "book/claims.yml").claims
    found = {row["id"]: row["verdict"] for row in results.rows(ROOT / "book/results/claims.csv")}
    assert set(erratum.entries()) <= set(claims.load(ROOT / "book/claims.yml").documents)
    excused = {id for id, claim in known.items() if claim.judge in MEASURED or claim.no_erratum}
    assert not erratum.problems({id: found.get(id, "") for id in known}, excused)
    assert not [id for id, claim in known.items() if claim.no_erratum and found.get(id, "differs") != "differs"]


def test_an_entry_of_the_errata_and_its_claims_name_the_same_place():
    """The index of formulas lists verdicts by the places that claims name, and must not contradict the errata."""
    known = claims.load(ROOT / "book/claims.yml").claims
    numbers = lambda text: set(re.findall(r"\b\w?[\d.]*\d\b", text.split(": ")[0]))
    apart = [
        (entry.head, id)
        for entries in erratum.entries().values()
        for entry in entries
        if entry.claims and numbers(entry.head) and re.match(r"[A-Z]\w+ [\w.]*\d", entry.head)
        for id in [" ".join(known[id].item for id in entry.claims)]
        if not numbers(entry.head) & numbers(id)
    ]
    assert apart == []


# ---- the ledger for machines


@pytest.mark.slow
def test_the_ledger_follows_its_schema(tmp_path):
    schema = json.loads((ROOT / "book/claims.schema.json").read_text(encoding="utf-8"))
    known = claims.load(ROOT / "book/claims.yml")
    full = verdicts.load_full(ROOT / "book/results/claims.csv", known)
    scorecard.downloads(known, list(full.values()), full, tmp_path)
    rows = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(rows, schema)
    assert set(rows[0]) == set(schema["items"]["properties"]) == set(schema["items"]["required"])
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    commit, changed = results.figures_commit()
    version = re.escape("+".join(filter(None, (released, commit[:12] + "-dirty" * changed))))
    cited = rf" of .* version {version}\. .*#claim-"
    assert all(re.search(rf"Claim {row['id']}{cited}{row['id']}$", row["cite"]) for row in rows)
    for spoilt in ({"verdict": "true"}, {"colour": "red"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([rows[0] | spoilt], schema)
    csv = (tmp_path / "claims.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert set(rows[0]) - set(csv) == {"readings", "replies", "errata"}
