"""Gathering the verdicts and writing the scorecard, from real and from hand-made notebooks."""

import dataclasses
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from book.kept import results
from book.ledger import __main__ as command
from book.ledger import claims, scorecard, verdicts
from lib.data.datasets import DatasetError

ROOT = Path(__file__).resolve().parents[2]

LEDGER = r"""
documents:
  doc: {title: A title, authors: Somebody, year: 2020, venue: A journal}
  later: {title: Another_title, authors: Somebody Else, year: 2021, venue: A journal}
claims:
- {id: doc.number, item: Table 1, statement: 'A number, $|x| < 1$.', printed: "0.576", judge: digits,
   setting: {alpha: 4}}
- {id: doc.other, item: Table 1, statement: A number., printed: "2.72", judge: digits}
- {id: doc.theorem, item: Theorem 1, statement: 'With $\{a_1 | b\}$ and $\|x\| \ge 0$.', printed: a*b*c holds, judge: proof}
- {id: doc.data, item: Section 3, statement: Six attributes., printed: "6", judge: digits}
- {id: later.sentence, item: Section 1, statement: 'A <b>sentence</b> | of [two] parts.', printed: so it is, judge: statement}
"""
GOOD = {"doc.number": 0.5764, "doc.other": 2.721, "doc.theorem": True, "doc.data": 6, "later.sentence": True}


@pytest.fixture
def house(tmp_path, monkeypatch):
    """Return a ledger, and empty folders for notebooks and their executed copies."""
    (tmp_path / "claims.yml").write_text(LEDGER, encoding="utf-8")
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(tmp_path / "claims.yml"))
    for folder in ("notebooks", "executed"):
        (tmp_path / folder / "doc").mkdir(parents=True)
    return tmp_path


def records(values, **options):
    return [claims.check(id, value, **options) for id, value in values.items()]


def write(house, name, found):
    """Write an executed notebook that holds `found`, one record an output, beside its source."""
    outputs = [
        nbformat.v4.new_output("display_data", {"text/plain": "", claims.MIME: vars(record)}) for record in found
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("pass", outputs=outputs)])
    for folder in ("notebooks", "executed"):
        nbformat.write(notebook, house / folder / "doc" / name)


def gather(house):
    return verdicts.gather(house / "executed", house / "notebooks", house / "build" / "claims.json")


# ---------------------------------------------------------------- gather


def test_every_claim_is_settled_and_written_in_order(house):
    write(house, "01_a.ipynb", records({"doc.theorem": True, "doc.data": 6, "later.sentence": True}))
    write(house, "02_b.ipynb", records({"doc.number": 0.5764, "doc.other": 2.721}))
    settled = gather(house)
    written = json.loads((house / "build" / "claims.json").read_text())
    assert [entry["id"] for entry in written] == sorted(claims.load().claims)
    assert written == [vars(record) for record in settled]
    assert set(written[0]) == {
        "id",
        "document",
        "item",
        "published",
        "reproduced",
        "verdict",
        "note",
        "source",
        "notebook",
    }
    by_id = {entry["id"]: entry for entry in written}
    assert by_id["doc.number"]["notebook"] == "notebooks/doc/02_b.ipynb"
    assert not list(house.rglob("*.tmp"))


def test_all_failures_are_named_at_once_and_nothing_is_written(house):
    (house / "build").mkdir()
    (house / "build" / "claims.json").write_text("the last good one")
    unknown = claims.Record("doc.removed", "doc", "Table 9", "1", "1", "reproduced", "", "")
    stale = claims.Record("doc.data", "doc", "Section 3", "7", "7", "reproduced", "", "")
    write(house, "01_a.ipynb", [*records({"doc.number": 0.9}), unknown, stale])
    write(house, "02_b.ipynb", records({"doc.number": 0.5764}))
    with pytest.raises(verdicts.LedgerError) as caught:
        gather(house)
    problems = str(caught.value).splitlines()
    for expected in (
        "doc.removed is judged in",
        "doc.number: notebooks judge it differently",
        "doc.number: its verdict is 'differs', but",
        "doc.data: notebooks/doc/01_a.ipynb judged '7'",
        "doc.other: no notebook judges it",
        "doc.theorem: no notebook judges it",
        "later.sentence: no notebook judges it",
    ):
        assert any(line.startswith(expected) for line in problems), expected
    assert len(problems) == 7
    assert (house / "build" / "claims.json").read_text() == "the last good one"


def test_a_reason_settles_a_difference(house):
    write(house, "01_a.ipynb", records(GOOD | {"doc.number": 0.9}, reason="a slip"))
    assert {r.id: r.note for r in gather(house)}["doc.number"] == "a slip"


def test_a_run_in_another_setting_does_not_count(house):
    write(
        house,
        "01_a.ipynb",
        [*records({k: v for k, v in GOOD.items() if k != "doc.number"}), *records({"doc.number": 0.5764}, alpha=5)],
    )
    with pytest.raises(
        verdicts.LedgerError,
        match=r"^doc.number: no notebook judges it "
        r"\(only in another setting, by notebooks/doc/01_a.ipynb\)$",
    ):
        gather(house)


def test_agreeing_notebooks_may_judge_twice(house):
    write(house, "01_a.ipynb", records(GOOD))
    write(house, "02_b.ipynb", records(GOOD))
    assert gather(house)[0].notebook == "notebooks/doc/01_a.ipynb"


def test_the_executed_copy_of_a_removed_notebook_is_passed_over(house, capsys):
    write(house, "01_a.ipynb", records(GOOD))
    write(house, "00_old.ipynb", records({"doc.number": 0.9}))
    (house / "notebooks" / "doc" / "00_old.ipynb").unlink()
    gather(house)
    assert "skipped doc/00_old.ipynb" in capsys.readouterr().err


def test_a_claim_is_judged_as_the_ledger_says(house):
    write(house, "01_a.ipynb", records(GOOD))
    ledger_file = house / "claims.yml"
    text = ledger_file.read_text()
    ledger_file.write_text(text.replace("a*b*c holds, judge: proof", "a*b*c holds, judge: read"))
    with pytest.raises(verdicts.LedgerError, match="^doc.theorem: .* did not judge it by read: execute it again$"):
        gather(house)
    read = claims.read("doc.theorem", "differs", "Page 4, a title.")
    write(house, "01_a.ipynb", [*records({id: GOOD[id] for id in GOOD if id != "doc.theorem"}), read])
    settled = gather(house)
    rows = [row for row in scorecard.page(claims.load(), settled).splitlines() if "judged-read" in row]
    assert len(rows) == 2 and "Page 4, a title." in rows[1]  # the legend, and the claim's row
    assert claims.tally(record.verdict for record in settled) == "5 claims: 4 reproduced, 1 differs"
    write(house, "01_a.ipynb", [*records({id: GOOD[id] for id in GOOD if id != "doc.theorem"}), read])
    ledger_file.write_text(text)
    with pytest.raises(verdicts.LedgerError, match="^doc.theorem: .* did not judge it by proof"):
        gather(house)


def test_the_command_line(house, capsys):
    at = ["--claims", str(house / "build" / "claims.json")]
    gathering = ["gather", "--executed", str(house / "executed"), "--notebooks", str(house / "notebooks"), *at]
    paging = ["page", "--output", str(house / "scorecard.md"), *at]
    assert command.main(paging) == 1 and "run `gather` first" in capsys.readouterr().err
    assert command.main(gathering) == 1 and "doc.number: no notebook judges it" in capsys.readouterr().err
    write(house, "01_a.ipynb", records(GOOD))
    assert command.main(gathering) == 0
    assert capsys.readouterr().out == "5 claims: 5 reproduced\n"
    assert command.main(paging) == 0
    assert (house / "scorecard.md").read_text(encoding="utf-8").startswith("# Scorecard\n")


# ---------------------------------------------------------------- a real kernel

CELLS = [
    "from book.ledger import claims",
    "claims.check('doc.number', 0.9, reason='a slip', alpha=4)",
    "claims.check('doc.data', None, stand_in=True)\nclaims.check('doc.theorem', True)\nclaims.check('later.sentence', True)",
    "claims.check_all({'doc.other': 2.72, 'doc.number': 0.1}, reasons={'doc.number': 'x'}, alpha=5)",
]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Return an executed notebook on the small ledger, run in a separate process because of its warnings."""
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "book").mkdir()
    (folder / "book" / "claims.yml").write_text(LEDGER, encoding="utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbformat.write(notebook, folder / "01_a.ipynb")
    code = (
        "import nbformat, nbclient; n = nbformat.read('01_a.ipynb', 4);"
        "nbclient.NotebookClient(n, kernel_name='python3').execute(); nbformat.write(n, '01_a.ipynb')"
    )
    path = {"PYTHONPATH": str(ROOT)}  # before the folder `book` that lies there
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, env=os.environ | path)
    return folder / "01_a.ipynb"


@pytest.mark.slow
def test_each_check_is_displayed_exactly_once(executed):
    cells = nbformat.read(executed, 4).cells
    assert [len(cell.outputs) for cell in cells] == [0, 1, 3, 1]
    data = cells[1].outputs[0].data
    assert data["text/plain"] == "doc.number  printed 0.576  here 0.900000  differs  (a slip)"
    assert 'class="verdict verdict-differs"' in data["text/html"]
    assert 'id="claim-doc.number"' in data["text/html"]
    table = cells[3].outputs[0].data
    assert table["text/plain"].startswith("2 claims: 1 reproduced, 1 not judged\n")
    assert [record["id"] for record in table[claims.MIME]] == ["doc.other", "doc.number"]


@pytest.mark.slow
def test_the_executed_notebook_is_the_record(house, executed):
    for folder in ("notebooks", "executed"):
        (house / folder / "doc" / "01_a.ipynb").write_bytes(executed.read_bytes())
    found = {record.id: record.verdict for record in gather(house)}
    assert found == {
        "doc.number": "differs",
        "doc.other": "reproduced",
        "doc.data": "stand-in",
        "doc.theorem": "reproduced",
        "later.sentence": "reproduced",
    }


# ---------------------------------------------------------------- the page

CONF = """
extensions = ["myst_nb", "sphinx_design"]
myst_enable_extensions = ["dollarmath", "colon_fence", "substitution", "attrs_inline", "amsmath"]
html_theme = "basic"
"""


def built(house, text):
    """Return the page's HTML, built by Sphinx with warnings as errors."""
    source = house / "source"
    source.mkdir()
    (source / "conf.py").write_text(CONF)
    (source / "index.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-b", "html", str(source), str(house / "html")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (house / "html" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_builds_without_a_warning_and_shows_every_text_as_it_is(house):
    write(house, "01_a.ipynb", records(GOOD | {"doc.number": 0.9}, reason="b*c*d_e <i> | `x` $y_1$"))
    page = built(house, scorecard.page(claims.load(), gather(house)))
    math = [html.unescape(text) for text in re.findall(r'<span class="math[^>]*>\\\((.*?)\\\)</span>', page)]
    assert {r"|x| < 1", r"\{a_1 | b\}", r"\|x\| \ge 0", "y_1"} <= set(math)
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    for shown in (
        "b*c*d_e <i> | `x`",
        "a*b*c holds",
        "A <b>sentence</b> | of [two] parts.",
        "Another_title",
        "Somebody Else (2021)",
    ):
        assert shown in text
    assert '<a href="notebooks/doc/01_a.html#claim-doc.number">01 a</a>' in page
    assert '<span class="verdict verdict-differs">differs</span>' in page
    assert "$" not in re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)


def unlinked(line):
    return re.sub(r"</?a[^>]*>", "", line)


def card(text, id):
    """Return the entry of one claim in the text of the scorecard."""
    return re.search(rf'<div class="claim" id="claim-{re.escape(id)}">.*?</div>', text)[0]


def test_totals_are_counted_from_the_records(house):
    write(house, "01_a.ipynb", records(GOOD | {"doc.number": 0.9}, reason="why"))
    text = scorecard.page(claims.load(), gather(house))
    totals = [unlinked(line) for line in text.splitlines() if re.match(r"\| (\[Somebody|All)", line)]
    assert totals == [
        "| [Somebody (2020)](#scorecard-doc) | 4 | 3 | 1 |",
        "| [Somebody Else (2021)](#scorecard-later) | 1 | 1 | 0 |",
        "| All | 5 | 4 | 1 |",
    ]
    assert '<a href="?document=doc&amp;verdict=differs">1</a>' in text and '<a href="?verdict=reproduced">4</a>' in text
    assert "| Document | Claims | Reproduced | Differs |" in text  # no column of zeros
    assert "\nIn this build, 4 of the 5 claims are reproduced and 1 differs.\n" in text
    assert "\nOf 4 claims, 3 are reproduced and 1 differs.\n" in text


def test_the_number_of_claims_with_a_verdict_is_given_once(house, monkeypatch):
    monkeypatch.setattr(scorecard, "FOLD_FROM", 2)
    write(house, "01_a.ipynb", records(GOOD))
    text = scorecard.page(claims.load(), gather(house))
    heads = re.findall(r'(?<=<p class="rubric">)[^<]+|(?<=<summary>)[^<]+', re.sub(r"<details class=.rule.*", "", text))
    legend, *others = heads
    assert legend == "How the verdicts are decided"
    assert others == ["Reproduced (4)", "Table 1: 2 claims", "Elsewhere: 2 claims", "Reproduced (1)"]


def told(claim):
    """Return the rule, and the meaning of each reading separately; of readings that combine several, that of each part once."""
    sets = claim.sets if len(claim.sets) > 1 else [claim.readings]
    return claims.rule(dataclasses.replace(claim, readings={})), *(
        meaning for each in sets for meaning in each.values()
    )


@pytest.mark.slow
def test_the_books_own_ledger_makes_a_page_without_a_warning(house, monkeypatch):
    """Every claim of the book: whatever its statements hold, as MyST."""
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(ROOT / "book" / "claims.yml"))
    own = claims.load()
    page = built(
        house,
        scorecard.page(
            own,
            [
                claims.Record(
                    id, claim.document, claim.item, claim.printed, "", "reproduced", "", "", "notebooks/doc/01_a.ipynb"
                )
                for id, claim in sorted(own.claims.items())
            ],
        ),
    )
    assert page.count('<div class="claim" id=') == len(own.claims)
    assert page.count('<details class="rule"><summary>') == sum(claim.judge != "read" for claim in own.claims.values())
    assert page.count('<span class="judged-read">') == 1 + sum(claim.judge == "read" for claim in own.claims.values())
    visible = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    assert "$" not in re.sub(r'<span class="math.*?</span>', "", visible, flags=re.S)
    assert len(re.findall(r'<span class="math', page)) == sum(
        len(re.findall(r"\$[^$]+\$", text))
        for claim in own.claims.values()
        for text in (claim.item, claim.statement, claim.printed, *told(claim))
    )


# ---------------------------------------------------------------- the full run


def full_run(house, values, **options):
    """Return what `make papers` leaves behind, gathered into claims.csv, and its path."""
    found = [*records(values, **options), *records({"doc.number": 0.9}, reason="A slip: 1, 2.")]
    write(house, "01_a.ipynb", found)
    verdicts.full(house / "executed", house / "notebooks", house / "results" / "claims.csv")
    return house / "results" / "claims.csv"


REST = {id: value for id, value in GOOD.items() if id != "doc.number"}


@pytest.mark.slow
def test_the_full_run_decides_where_the_build_used_stand_in_data(house):
    full = verdicts.load_full(full_run(house, REST), claims.load())
    assert {id: record.verdict for id, record in full.items()} == {
        "doc.number": "differs",
        "doc.other": "reproduced",
        "doc.theorem": "reproduced",
        "doc.data": "reproduced",
        "later.sentence": "reproduced",
    }
    write(
        house,
        "01_a.ipynb",
        [
            *records({"doc.number": None, "doc.data": 5}, stand_in=True),
            *records({"doc.other": 2.721, "doc.theorem": True, "later.sentence": True}),
        ],
    )
    here = gather(house)
    text = scorecard.page(claims.load(), here, full)
    totals = [unlinked(line) for line in text.splitlines() if line.startswith("| [Somebody (2020)]")]
    assert totals == ["| [Somebody (2020)](#scorecard-doc) | 4 | 3 | 1 |"]
    assert (
        "In this build, which uses synthetic samples of the data, "
        "3 of the 5 claims are reproduced and 2 still need the real data." in text
    )
    number = card(text, "doc.number")
    assert "<span>printed <b>0.576</b></span> <span>full run <b>0.900000</b></span>" in number
    assert "A slip: 1, 2." in number and "verdict-differs" in number
    assert "<span>full run <b>6</b></span> <span>here, on a synthetic sample <b>5</b></span>" in card(text, "doc.data")
    assert "full run" not in card(text, "doc.other")  # the same as here
    built(house, text)


def test_a_finding_that_the_real_data_change_waits_for_them():
    """The book runs some chapters on the synthetic sample, and the full run uses the real data: differences are marked `stand_in`."""
    kept = {row["id"]: (row["reproduced"], row["verdict"], row["note"]) for row in results.rows(verdicts.FULL)}
    assert [
        record.id
        for path in sorted((verdicts.ROOT / "notebooks").glob("*/*.ipynb"))
        if verdicts.needs_data(f"{path.parent.name}/{path.stem}")
        for record in verdicts.records_in(path, "")
        if record.verdict not in ("stand-in", "not judged")
        and (record.reproduced, record.verdict, record.note) != kept[record.id]
    ] == []


@pytest.mark.slow
def test_a_full_run_on_stand_in_data_is_refused(house):
    write(
        house,
        "01_a.ipynb",
        [
            *records({id: GOOD[id] for id in ("doc.number", "doc.other", "doc.theorem", "later.sentence")}),
            *records({"doc.data": 6}, stand_in=True),
        ],
    )
    with pytest.raises(verdicts.LedgerError, match="real data: doc.data"):
        verdicts.full(house / "executed", house / "notebooks", house / "claims.csv")
    assert not (house / "claims.csv").exists()


PLANTED = " 00000000 of code that is gone\n"


def run_again(house, found, *only):
    """Return the file of a full run, and what `full --only` makes of it after 02_b.ipynb was run again."""
    path = full_run(house, REST)
    with path.with_suffix(".key").open("a", encoding="utf-8") as file:
        file.write(PLANTED)
    before = path.read_text(encoding="utf-8").splitlines()
    write(house, "02_b.ipynb", found)
    arguments = ["full", "--executed", str(house / "executed"), "--notebooks", str(house / "notebooks")]
    status = command.main([*arguments, "--full", str(path), "--only", *only])
    return status, before, path.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_a_notebook_run_again_changes_its_own_rows_only(house, capsys):
    status, before, after = run_again(house, records({"doc.number": 0.5764}), "doc/02_b")
    key = (house / "results/claims.key").read_text(encoding="utf-8")
    assert key.endswith(PLANTED), "what the code of the other rows used stays"
    assert status == 0 and "1 claim: 1 reproduced" in capsys.readouterr().out
    changed = [line for line in after if line not in before]
    assert len(changed) == 2 and len(after) == len(before) + 1 and not [line for line in before if line in changed]
    assert re.fullmatch(r"# run again 20..-..-..: doc/02_b at .*", changed[0])
    assert changed[1] == "doc.number,0.576,0.576400,reproduced,,notebooks/doc/02_b.ipynb"


@pytest.mark.slow
@pytest.mark.parametrize(
    "found, only, message",
    [
        ({"doc.number": 0.5764}, "doc/01_a", "doc.other: no notebook judges it"),  # its own rows must all come back
        ({"doc.number": 0.9}, "doc/02_b", "doc.number: its verdict is 'differs', but"),
    ],
)
def test_what_a_notebook_run_again_does_not_settle_leaves_the_file(house, capsys, found, only, message):
    full_run(house, REST)
    (house / "executed" / "doc" / "01_a.ipynb").unlink(missing_ok=True)
    path = house / "results" / "claims.csv"
    before = path.read_text(encoding="utf-8")
    write(house, "02_b.ipynb", records(found))
    arguments = ["full", "--executed", str(house / "executed"), "--notebooks", str(house / "notebooks")]
    assert command.main([*arguments, "--full", str(path), "--only", only]) == 1
    assert message in capsys.readouterr().err and path.read_text(encoding="utf-8") == before


def judge_alone(house, id, *names, folder="papers"):
    """Return what `make claim` does once `make` has run the chapters `names`."""
    shutil.rmtree(house / "papers", ignore_errors=True)
    shutil.copytree(house / "executed", house / "papers")
    files = [str(house / folder / f"{name}.ipynb") for name in names]
    places = ["--full", str(house / "results/claims.csv"), "--output", str(house / "packed.csv")]
    return command.main(["claim", id, *files, "--notebooks", str(house / "notebooks"), *places])


@pytest.mark.parametrize("folder", ["papers", "executed"])
def test_a_new_claim_is_judged_alone_and_packed(house, capsys, folder):
    """The run for the book judges it, where the settings of the papers are the same."""
    path = full_run(house, REST)
    before = path.read_text(encoding="utf-8").splitlines()
    ledger = house / "claims.yml"
    added = "- {id: doc.new, item: Table 2, statement: A new number., printed: '1.5', judge: digits}\n"
    ledger.write_text(ledger.read_text(encoding="utf-8") + added, encoding="utf-8")
    with pytest.raises(verdicts.LedgerError, match="`make claim ID=doc.new`"):
        verdicts.package(path, house / "packed.csv")
    # The chapter finds other claims different from what the full run has kept; their rows stay.
    write(house, "02_b.ipynb", records({"doc.new": 1.52, "doc.other": 2.0}))
    assert judge_alone(house, "doc.new", "doc/02_b", folder=folder) == 0
    told = capsys.readouterr().out
    assert "doc.new: reproduced (1.5200)" in told and "Next, run `make book`" in told
    changed = [line for line in path.read_text(encoding="utf-8").splitlines() if line not in before]
    assert re.fullmatch(r"# run again 20..-..-..: doc.new at .*", changed[0])
    assert changed[1:] == ["doc.new,1.5,1.5200,reproduced,,notebooks/doc/02_b.ipynb"]
    assert "doc.new,doc,Table 2,A new number.,1.5,1.5200,reproduced,," in (house / "packed.csv").read_text()


@pytest.mark.parametrize(
    ("value", "folder", "message"),
    [
        (1.6, "papers", "doc.new: its verdict is 'differs', but"),
        (None, "papers", "doc.new: no notebook judges it"),
        (1.52, "executed", "To judge the claim on the real data"),
    ],
)
def test_a_claim_that_cannot_be_kept_leaves_the_files(house, capsys, monkeypatch, value, folder, message):
    monkeypatch.setattr(command, "needs_data", lambda name: name == "doc/02_b")
    path = full_run(house, REST)
    before = path.read_bytes()
    ledger = house / "claims.yml"
    added = "- {id: doc.new, item: Table 2, statement: A new number., printed: '1.5', judge: digits}\n"
    ledger.write_text(ledger.read_text(encoding="utf-8") + added, encoding="utf-8")
    write(house, "02_b.ipynb", records({"doc.new": value} if value else {"doc.other": 2.7}))
    assert judge_alone(house, "doc.new", "doc/02_b", folder=folder) == 1
    assert message in capsys.readouterr().err
    assert path.read_bytes() == before and not (house / "packed.csv").exists()


@pytest.mark.parametrize("content", ["", "{", "[]\n", "null\n", "id,verdict\na,b\n", "a,b\n1,2,3,4\n"])
@pytest.mark.parametrize("name", ["package", "page", "full"])
def test_a_damaged_file_of_the_full_run_is_named(house, capsys, content, name):
    damaged, made = full_run(house, REST), ["--output", str(house / "made")]
    gather(house)
    damaged.write_text(content, encoding="utf-8")
    folders = ["--executed", str(house / "executed"), "--notebooks", str(house / "notebooks")]
    given = {"page": ["--claims", str(house / "build/claims.json"), *made], "package": made}
    given["full"] = [*folders, "--only", "doc/01_a"]
    assert command.main([name, "--full", str(damaged), *given[name]]) == 1
    assert f"{damaged} must have the columns id, published, " in capsys.readouterr().err
    assert damaged.read_text(encoding="utf-8") == content and not (house / "made").exists()


def test_a_claim_is_judged_where_the_code_names_it(house):
    kept = full_run(house, REST)
    code = nbformat.v4.new_code_cell("claims.check('doc.data', 6)")
    text = nbformat.v4.new_markdown_cell("'doc.number'")
    nbformat.write(nbformat.v4.new_notebook(cells=[code, text]), house / "notebooks/doc/03_c.ipynb")
    assert verdicts.chapters("doc.data", house / "notebooks", kept) == ["doc/03_c"]
    assert verdicts.chapters("doc.number", house / "notebooks", kept) == ["doc/01_a"]  # which composes the id
    with pytest.raises(ValueError, match="nearest: doc.number"):
        verdicts.chapters("doc.numbr", house / "notebooks", kept)
    kept.write_text(re.sub(r"(?m)^doc\.number.*\n", "", kept.read_text()))
    with pytest.raises(verdicts.LedgerError, match="no chapter judges it"):
        verdicts.chapters("doc.number", house / "notebooks", kept)


@pytest.mark.slow
def test_a_chapter_of_real_data_runs_on_samples_where_they_are_missing(monkeypatch, capsys):
    id, chapter = "miura2022.english.dp-4.00", "miura2022/02_figures_tables"
    assert command.main(["chapters", id]) == 0 and capsys.readouterr().out == f"build/executed/{chapter}.ipynb\n"
    monkeypatch.setattr(command, "needs_data", lambda name: name == chapter)
    monkeypatch.setattr(verdicts.datasets, "path", lambda name: name)
    assert command.main(["chapters", id]) == 0 and capsys.readouterr().out == f"build/papers/{chapter}.ipynb\n"
    monkeypatch.setattr(verdicts.datasets, "path", lambda name: (_ for _ in ()).throw(DatasetError("no file")))
    assert command.main(["chapters", id]) == 0
    assert capsys.readouterr() == (f"build/executed/{chapter}.ipynb\n", "no file\n")


def test_a_full_run_of_another_printed_value_is_left_out(house):
    path = full_run(house, REST)
    path.write_text(path.read_text().replace("doc.other,2.72,", "doc.other,2.71,"))
    assert set(verdicts.load_full(path, claims.load())) == {"doc.number", "doc.theorem", "doc.data", "later.sentence"}
    assert verdicts.load_full(house / "nothing.csv", claims.load()) == {}


def test_downloads_hold_both_findings(house, capsys):
    full_run(house, REST)
    write(
        house,
        "01_a.ipynb",
        [
            *records({"doc.number": None, "doc.data": 5}, stand_in=True),
            *records({"doc.other": 2.721, "doc.theorem": True, "later.sentence": True}),
        ],
    )
    gather(house)
    arguments = [
        "downloads",
        "--output",
        str(house / "html"),
        "--claims",
        str(house / "build" / "claims.json"),
        "--full",
        str(house / "results" / "claims.csv"),
    ]
    assert command.main(arguments) == 0
    rows = {row["id"]: row for row in json.loads((house / "html" / "claims.json").read_text(encoding="utf-8"))}
    assert rows["doc.number"]["verdict"] == "differs" and rows["doc.number"]["verdict_here"] == "stand-in"
    assert rows["doc.number"]["full_run"] == "0.900000"
    assert rows["doc.number"]["judge"] == "digits" and "within 0.0005 of 0.576" in rows["doc.number"]["rule"]
    assert rows["doc.number"]["link"] == "notebooks/doc/01_a.html#claim-doc.number"
    assert len((house / "html" / "claims.csv").read_text(encoding="utf-8").splitlines()) == 6


# ---------------------------------------------------------------- the committed notebooks


@pytest.mark.slow
def test_every_claim_of_the_book_is_judged_by_a_committed_notebook(monkeypatch):
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(ROOT / "book" / "claims.yml"))
    notebooks = ROOT / "notebooks"
    verdicts.settle(claims.load(), verdicts.collect(notebooks, notebooks))


def test_our_own_results_have_a_part_of_the_scorecard_and_are_not_counted(house):
    one = "{id: compendium.doc.theorem, item: Theorem A, statement: A bound., printed: it holds, judge: proof}"
    (house / "claims.yml").write_text(f"{LEDGER}- {one}\n", encoding="utf-8")
    write(house, "one.ipynb", records(GOOD))
    with pytest.raises(verdicts.LedgerError, match="compendium.doc.theorem: no notebook judges it"):
        verdicts.gather(house / "executed", house / "notebooks", house / "out.json")
    write(house, "two.ipynb", records({"compendium.doc.theorem": True}))
    settled = verdicts.gather(house / "executed", house / "notebooks", house / "out.json")
    page = scorecard.page(claims.load(), settled)
    documents, _, mine = page.partition("## Our own results")
    assert page.count('id="claim-compendium.doc.theorem"') == mine.count('id="claim-compendium.doc.theorem"') == 1
    assert (
        f"| All | {len(GOOD)} |" in documents
        and f"In this build, {len(GOOD)} of the {len(GOOD)} claims are reproduced." in documents
    )
    assert mine.count('<div class="claim" id=') == 1 and "\nOf 1 claim, 1 is reproduced.\n" in mine


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "7"])
def test_a_damaged_file_is_named(tmp_path, capsys, text):
    notebook = tmp_path / "executed/kiri2019/01_laplace.ipynb"
    notebook.parent.mkdir(parents=True)
    for damaged, arguments in (
        (notebook, ["full", "--executed", str(tmp_path / "executed")]),
        (tmp_path / "claims.json", ["page", "--claims", str(tmp_path / "claims.json")]),
    ):
        damaged.write_text(text)
        if text == "[]" and damaged.suffix == ".json":
            continue  # no records
        assert (
            command.main([*arguments, *(["--output", str(tmp_path / "out")] if "--claims" in arguments else [])]) == 1
        )
        assert f"{damaged} is damaged; delete it" in capsys.readouterr().err
