"""The summaries of the reproduction: their parts, and the roles that quote numbers on pages."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from book._ext import numbers
from book.kept import results
from book.ledger import claims, evidence, retold, verdicts
from notebooks.studies import network_comparison, network_tuning

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
DOCUMENTS = tuple(claims.load().documents)
HEADINGS = [
    "Scope",
    "Methodology",
    "Results",
    "What was easy",
    "What was difficult",
    "What the {document} leaves open",
    "What we found beyond it",
    "Communication with the authors",
]


def frame(name: str):
    return results.load(BOOK / "results" / f"{name}.csv")


# ---- form


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_summary_has_the_same_parts_in_the_same_order(document):
    text = (BOOK / document / "summary.md").read_text(encoding="utf-8")
    kind = "article" if document == "kiri2019" else "paper"
    assert re.findall(r"(?m)^## (.*)$", text) == [heading.format(document=kind) for heading in HEADINGS]
    assert f"{{tally}}`{document}`" in text and f"<scorecard-{document}>" in text
    assert "not been contacted." in text
    assert "(summary.md)" in (BOOK / document / "index.md").read_text(encoding="utf-8")


# ---- the count of claims


def test_the_tally_is_a_sentence_with_every_verdict_that_occurs():
    count = Counter({"reproduced": 32, "differs": 9, "not determinable": 1})
    assert retold.sentence(count) == "of 42 claims, 32 are reproduced, 9 differ and 1 is not determinable"
    assert retold.sentence(Counter(differs=1)) == "of 1 claim, 1 differs"
    for verdict in claims.VERDICTS:
        assert re.fullmatch(r"of 2 claims, 2 \w.*", retold.sentence(Counter({verdict: 2})))


def test_the_full_run_decides_where_the_build_had_stand_in_data(tmp_path):
    rows = frame("claims")
    own = [
        claim.id
        for claim in claims.load().claims.values()
        if claim.document == "miura2025" and claim.judge != claims.READ
    ]
    chosen = rows[rows.id.isin(own)].head(30)  # what was read waits for no data
    fields = {"item": "", "source": "", "published": "", "reproduced": "", "note": "", "notebook": ""}
    gathered = tmp_path / "claims.json"
    gathered.write_text(
        json.dumps([fields | {"id": id, "document": "miura2025", "verdict": "stand-in"} for id in chosen.id])
    )
    assert numbers.verdicts("miura2025", numbers.Sources(gathered)) == Counter(chosen.verdict)
    assert numbers.verdicts("miura2025", numbers.Sources(gathered, kept=tmp_path)) == {"stand-in": 30}


# ---- the roles, on the committed notebooks and the kept results


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    gathered = tmp_path_factory.mktemp("build") / "claims.json"
    verdicts.gather(ROOT / "notebooks", ROOT / "notebooks", gathered)
    return numbers.Sources(gathered, ROOT / "notebooks")


CHAPTERS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").glob("*20*/*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [*sorted(path.relative_to(ROOT).as_posix() for path in BOOK.glob("*/*.md")), *CHAPTERS]
)
def test_every_number_that_a_page_quotes_is_there(page, sources):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    for role, content in re.findall(rf"\{{({'|'.join(numbers.ROLES)})\}}`([^`]*)`", text):
        assert numbers.quote(role, " ".join(content.split()), sources)


@pytest.mark.parametrize(
    "role, text, found",
    [
        ("count", "miura2022.table?.* reproduced", "40"),
        ("count", "miura2022.table1.* reproduced", "8"),
        ("printed", "miura2022.headline.rdp", "0.576"),
        ("here", "miura2022.headline.rdp", "0.576462"),
        ("here", "miura2022.headline.rdp :.2f", "0.58"),
        ("here", "miura2025.table1.adult.records", "30162"),  # of the full run: the chapter has stand-in data
        ("noted", "miura2022.adult.sigma-min: eigenvalue is # to", "0.0196"),
        ("kept", "miura2025/ablation: trial where study == 'epsilon' and trial == 1 and variant == '1.0'", "1.0"),
        ("kept", "sei2017/tuned: CPU time", "579"),
        ("shown", "kiri2019/04_floating_point: textbook sampler #%", "67.4"),
        ("shown", "kiri2019/01_laplace: # different networks :.0f", "1252"),
        ("shown", "miura2025/04_beyond: between _ and 10: 1-way # :.1f", "-0.9"),
        ("shown", "miura2022/04_adult: Theorem E _ _ #", "3.97e+07"),
        ("shown", "miura2022/03_beyond: Theorem 3.1 theorem … n = 10,000,000 _ _ _ #", "5.5e-08"),
    ],
)
def test_a_role_finds_its_number(role, text, found, sources):
    assert numbers.quote(role, text, sources) == found


@pytest.mark.parametrize(
    "role, text, told",
    [
        ("tally", "nobody", "must be one of kiri2019, .*'nobody'"),
        ("count", "miura2022.table9.* reproduced", "must name claims, and a verdict"),
        ("count", "miura2022.table1.* differing", "that some of them have"),
        ("printed", "miura2022.headline.rpd", "nearest: miura2022.headline.rdp"),
        ("printed", "kiri2019.laplace.variance", "must name something whose value is a number"),
        ("here", "miura2022.headline.rpd", "nearest: miura2022.headline.rdp"),
        ("here", "miura2022.theorem3.1", "whose value is 'holds'"),
        ("here", "miura2022.headline.rdp :.4q", "Unknown format code 'q'"),
        ("noted", "miura2022.adult.sigma-min: over #", "which matches none"),
        ("kept", "miura2025/nothing: cpu_s where trial == 1", "nothing.csv, which does not exist"),
        (
            "kept",
            "miura2025/ablation: cpu where trial == 1",
            "must be 'file: column where condition' of study, .*'cpu'",
        ),
        ("kept", "miura2025/ablation: cpu_s where variant == 'none'", "which selects none"),
        ("kept", "miura2025/ablation: cpu_s", "must be 'file: column where condition'"),
        ("shown", "kiri2019/06_none: sampler #%", "06_none.ipynb, which does not exist"),
        ("shown", "kiri2019/04_floating_point: textbook sampler", "must contain one #"),
        ("shown", "kiri2019/04_floating_point: handbook sampler #%", "which matches none"),
        (
            "shown",
            "kiri2019/04_floating_point: published … numpy sampler #%",
            "which matches none",
        ),  # of another output
        ("shown", "kiri2019/04_floating_point: sampler #%", r"matches \['67.4', '77.9'\]"),
    ],
)
def test_what_is_not_there_is_told(role, text, told, sources):
    with pytest.raises(ValueError, match=told):
        numbers.quote(role, text, sources)


def test_without_a_ledger_of_the_build_there_is_no_number(tmp_path):
    with pytest.raises(ValueError, match="claims.json, which does not exist"):
        numbers.quote("tally", "kiri2019", numbers.Sources(tmp_path / "claims.json"))
    (tmp_path / "claims.json").write_text("[]")
    with pytest.raises(ValueError, match="must be judged by this build"):
        numbers.quote("here", "miura2022.headline.rdp", numbers.Sources(tmp_path / "claims.json"))


@pytest.mark.parametrize(
    "text, shown",
    [("67.4", "67.4"), ("-0.91", "−0.91"), ("5.5e-08", r"5.5 \cdot 10^{-8}"), ("1e-21", "10^{-21}")],
)
def test_a_number_as_the_page_shows_it(text, shown):
    made = numbers.node(text)
    assert made.astext() == shown
    assert made.tagname == ("math" if "e" in text else "inline")


# ---- what a summary says of results in words


def test_orders_that_the_summary_of_sei2017_tells():
    tuned, lines = network_tuning.load(), frame("sei2017/figure5").query("variant == 'main'")
    first = network_comparison.above(lines, "AnonymizingFirst", "majority class")
    best = network_tuning.above(tuned, lines, "AnonymizingFirst", "majority class")
    assert all(each.holds for each in (*first.values(), *best.values()))  # "at all of ours"
    for method in (
        "LearningFirst",
        "AnonymizedLearning",
    ):  # "from 10 on, with the best of six, and from 100 on with the first"
        found = network_tuning.above(tuned, lines, method, "majority class")
        assert [epsilon for epsilon, each in found.items() if each.holds] == [10, 100, 1e3, 1e4]
        found = network_comparison.above(lines, method, "majority class")
        assert [epsilon for epsilon, each in found.items() if each.holds] == [100, 1e3, 1e4]
    for epsilon in network_tuning.RECORD_EPSILONS:
        found = {
            method: network_tuning.cells(tuned, method, level="record").set_index(["epsilon", "fold"]).accuracy[epsilon]
            for method in network_tuning.METHODS
        }
        for method in network_comparison.YARDSTICKS:
            assert evidence.between(found[method], found["AnonymizingFirst"][found[method].index], paired=True).holds
        for method in ("LearningFirst", "AnonymizedLearning"):
            assert not network_tuning.above(tuned, lines, method, "majority class", level="record")[epsilon].holds
