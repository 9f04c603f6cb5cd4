"""The summaries of the reproduction: their parts, and the roles by which pages quote numbers."""

import importlib.util
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from book import claims, evidence, ledger, results
from notebooks.studies import anonymization_comparison, anonymization_findings, network_comparison, network_tuning

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
DOCUMENTS = tuple(claims.load().documents)
HEADINGS = [
    "Scope",
    "Methodology",
    "Results",
    "What was easy",
    "What was difficult",
    "What the document leaves open",
    "What we found beyond it",
    "Communication with the authors",
]
_spec = importlib.util.spec_from_file_location("summaries", BOOK / "_ext" / "summaries.py")
summaries = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(summaries)


@cache
def summary(document: str) -> str:
    """The page's text, every white space a blank."""
    return " ".join((BOOK / document / "summary.md").read_text(encoding="utf-8").split())


@cache
def chapter(path: str) -> str:
    """Text and text outputs of a committed notebook, every white space a blank."""
    pieces = []
    for cell in json.loads((ROOT / "notebooks" / f"{path}.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            pieces.append("".join(cell["source"]))
        for output in cell.get("outputs", []):
            pieces += ["".join(output.get("text", "")), "".join(output.get("data", {}).get("text/plain", ""))]
    return " ".join(" ".join(pieces).split())


def frame(name: str):
    return results.load(BOOK / "results" / f"{name}.csv")


# ---- form


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_summary_has_the_same_parts_in_the_same_order(document):
    text = (BOOK / document / "summary.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (.*)$", text) == HEADINGS
    assert f"{{tally}}`{document}`" in text and f"<scorecard-{document}>" in text
    assert "not been contacted." in text
    assert "(summary.md)" in (BOOK / document / "index.md").read_text(encoding="utf-8")


# ---- the count of claims


def test_the_tally_is_a_sentence_with_every_verdict_that_occurs():
    count = Counter({"reproduced": 32, "differs": 9, "not determinable": 1})
    assert summaries.sentence(count) == "of 42 claims 32 are reproduced, 9 differ and 1 is not determinable"
    assert summaries.sentence(Counter(differs=1)) == "of 1 claim 1 differs"
    assert set(summaries.WORDS) == set(claims.VERDICTS)


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
    assert summaries.verdicts("miura2025", summaries.Sources(gathered)) == Counter(chosen.verdict)
    assert summaries.verdicts("miura2025", summaries.Sources(gathered, kept=tmp_path)) == {"stand-in": 30}


# ---- the roles, on the committed notebooks and the kept results


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    gathered = tmp_path_factory.mktemp("build") / "claims.json"
    ledger.gather(ROOT / "notebooks", ROOT / "notebooks", gathered)
    return summaries.Sources(gathered, ROOT / "notebooks")


@pytest.mark.parametrize("page", sorted(path.relative_to(BOOK).as_posix() for path in BOOK.glob("*/*.md")))
def test_every_number_that_a_page_quotes_is_there(page, sources):
    text = (BOOK / page).read_text(encoding="utf-8")
    for role, content in re.findall(rf"\{{({'|'.join(summaries.ROLES)})\}}`([^`]*)`", text):
        assert summaries.quote(role, " ".join(content.split()), sources)


@pytest.mark.parametrize(
    "role, text, found",
    [
        ("count", "miura2022.table?.* reproduced", "40"),
        ("count", "miura2025.* within the noise", "33"),
        ("printed", "miura2022.headline.rdp", "0.576"),
        ("here", "miura2022.headline.rdp", "0.576462"),
        ("here", "miura2022.headline.rdp :.2f", "0.58"),
        ("here", "sei2017.s51.accuracy :.3f", "0.850"),  # of the full run: the chapter has stand-in data
        ("noted", "miura2022.adult.sigma-min: # to _ over parts", "0.0196"),
        ("kept", "miura2025/ablation: trial where study == 'epsilon' and trial == 1 and variant == '1.0'", "1.0"),
        ("shown", "kiri2019/04_floating_point: textbook sampler #%", "67.4"),
        ("shown", "kiri2019/01_laplace: # different networks :.0f", "1252"),
        ("shown", "miura2025/04_beyond: between _ and 10: 1-way # :.1f", "-0.9"),
        ("shown", "miura2022/04_adult: Theorem E _ _ #", "3.97e+07"),
        ("shown", "miura2022/03_beyond: Theorem 3.1 theorem … n = 10,000,000 _ _ _ #", "5.5e-08"),
    ],
)
def test_a_role_finds_its_number(role, text, found, sources):
    assert summaries.quote(role, text, sources) == found


@pytest.mark.parametrize(
    "role, text, told",
    [
        ("tally", "nobody", "must be one of kiri2019, .*'nobody'"),
        ("count", "miura2022.table9.* reproduced", "must be of claims and a verdict"),
        ("count", "miura2022.table1.* differing", "that some of them have"),
        ("printed", "miura2022.headline.rpd", "nearest: miura2022.headline.rdp"),
        ("printed", "kiri2019.laplace.variance", "must have a number to quote"),
        ("here", "miura2022.headline.rpd", "nearest: miura2022.headline.rdp"),
        ("here", "miura2022.theorem3.1", "which has 'holds'"),
        ("here", "miura2022.headline.rdp :.4q", "Unknown format code 'q'"),
        ("noted", "miura2022.adult.sigma-min: over #", "which fits none"),
        ("kept", "miura2025/nothing: cpu_s where trial == 1", "nothing.csv, which is not there"),
        (
            "kept",
            "miura2025/ablation: cpu where trial == 1",
            "must be 'file: column where condition' of study, .*'cpu'",
        ),
        ("kept", "miura2025/ablation: cpu_s where variant == 'none'", "which fits none"),
        ("kept", "miura2025/ablation: cpu_s", "must be 'file: column where condition'"),
        ("shown", "kiri2019/06_none: sampler #%", "06_none.ipynb, which is not there"),
        ("shown", "kiri2019/04_floating_point: textbook sampler", "must have one #"),
        ("shown", "kiri2019/04_floating_point: handbook sampler #%", "which fits none"),
        ("shown", "kiri2019/04_floating_point: published … numpy sampler #%", "which fits none"),  # of another output
        ("shown", "kiri2019/04_floating_point: sampler #%", r"fits \['67.4', '77.9'\]"),
    ],
)
def test_what_is_not_there_is_told(role, text, told, sources):
    with pytest.raises(ValueError, match=told):
        summaries.quote(role, text, sources)


def test_without_a_ledger_of_the_build_there_is_no_number(tmp_path):
    with pytest.raises(ValueError, match="claims.json, which is not there"):
        summaries.quote("tally", "kiri2019", summaries.Sources(tmp_path / "claims.json"))
    (tmp_path / "claims.json").write_text("[]")
    with pytest.raises(ValueError, match="must be judged by this build"):
        summaries.quote("here", "miura2022.headline.rdp", summaries.Sources(tmp_path / "claims.json"))


@pytest.mark.parametrize(
    "text, shown",
    [("67.4", "67.4"), ("-0.91", "−0.91"), ("5.5e-08", r"5.5 \cdot 10^{-8}"), ("1e-21", "10^{-21}")],
)
def test_a_number_as_the_page_shows_it(text, shown):
    made = summaries.node(text)
    assert made.astext() == shown
    assert made.tagname == ("math" if "e" in text else "inline")


# ---- numbers from the result files


def test_numbers_of_hasegawa2015():
    text = summary("hasegawa2015")
    figure = frame("hasegawa2015/figure1").groupby(["setup", "method", "k"]).auc.mean().round(3)
    rivals = frame("hasegawa2015/rivals").groupby(["setup", "method", "k"]).auc.mean().round(3)
    auc_of = lambda table, setup, method: [f"{table[setup, method, k]:.3f}" for k in (3, 50)]
    auc = lambda setup, method: auc_of(figure, setup, method)
    assert f"Original records {figure['-', 'original', 1]:.3f};" in text
    assert "perturbed {} at $k = 3$ and {} at 50,".format(*auc("published", "perturbed")) in text
    assert "reconstructed {} and {};".format(*auc("published", "kernel 1000 standard")) in text
    by_both = (*auc("-", "generalized 20 % out"), *auc_of(rivals, "-", "generalized 20 % out, precision"))
    assert "with at most a fifth suppressed {} and {} by one loss, {} and {} by the other |".format(*by_both) in text
    study = anonymization_comparison.load()
    local, perturbed = (
        anonymization_findings.runs(study, *place) for place in (("-", "local marginals"), ("published", "perturbed"))
    )
    more = {k: anonymization_findings.less(perturbed[k], local[k]) for k in (3, 50)}
    told = [f"{more[k].value:.3f} ± {2 * more[k].error:.3f}" for k in (3, 50)]
    assert (
        "AUC of {} at $k = 3$ and {} at 50, by {} and {}".format(*auc_of(rivals, "-", "local marginals"), *told) in text
    )
    seconds = [
        results.provenance(BOOK / f"results/hasegawa2015/{name}.csv")["CPU time"].split(" ")[0]
        for name in ("figure1", "rivals")
    ]
    assert "took {} CPU seconds, its second part {} CPU seconds".format(*seconds) in text
    chosen = frame("hasegawa2015/widths")
    shares = (chosen.width == 1000).groupby(chosen.scaling).sum()
    assert "in {none} of {size} as the file has the numbers".format(none=shares["none"], size=len(chosen) // 3) in text
    assert f"in {shares['standard']} at variance 1 and in {shares['range']} on" in text
    alone, weighted = auc("published, whole", "perturbed"), auc("published, whole", "kernel 10 standard")
    assert (
        f"have {alone[0]} at $k = 3$, reconstructed ones {weighted[0]}, and {alone[1]} and {weighted[1]} at 50" in text
    )

    beyond = frame("hasegawa2015/beyond").query("income == 'published' and records == 16281")
    mean = beyond.groupby(["epsilon", "method"])[["auc", "shares"]].mean()
    shares = [mean.shares[4.5, method] for method in ("inversion", "linear", "perturbed")]
    assert (
        "an error of {:.3f} where the linear weights leave {:.3f} and the perturbed records have {:.3f}".format(*shares)
        in text
    )
    change = [mean.auc[epsilon, "linear"] - mean.auc[epsilon, "perturbed"] for epsilon in (4.5, 10, 50)]
    assert (
        f"by {-change[0]:.3f} at $\\varepsilon = 4.5$ and by {-change[1]:.3f} at 10, and gains {change[2]:.3f} at 50"
        in text
    )
    assert (
        f"$\\varepsilon = 2$ ({mean.auc[2, 'central']:.3f}) than perturbed records do at 50 ({mean.auc[50, 'perturbed']:.3f})"
        in text
    )


def test_numbers_of_sei2017():
    text = summary("sei2017")
    main = frame("sei2017/figure5").query("variant == 'main'")
    mean = main.query("level == 'none'").groupby("method")[["accuracy", "f_positive", "f_macro"]].mean()
    network, guess = mean.loc["network"], mean.accuracy["majority class"]
    assert f"The accuracy is reached: {network.accuracy:.3f}. Logistic" in text
    assert (
        f"Logistic regression has {mean.accuracy['logistic regression']:.3f}, the more common class {guess:.3f}."
        in text
    )
    assert (
        f"(macro) is {network.f_macro:.3f}, the F of those above 50K is {network.f_positive:.3f}, the weighted" in text
    )
    above = {
        method: [[e for e, each in found.items() if each.holds] for found in (
            network_comparison.above(main, method, "majority class"),
            network_tuning.above(network_tuning.load(), main, method, "majority class"))]
        for method in network_comparison.DOCUMENT
    }  # fmt: skip
    late = [[100, 1e3, 1e4], [10, 100, 1e3, 1e4]]
    assert above == {
        "AnonymizingFirst": [[0.1, 1, 10, 100, 1e3, 1e4]] * 2, "LearningFirst": late, "AnonymizedLearning": late,
    }  # fmt: skip
    assert network_comparison.above(main, "AnonymizedLearning", "majority class")[10].holds is None


def test_numbers_of_the_same_effort_in_sei2017():
    text, tuned = summary("sei2017"), network_tuning.load()
    lines = frame("sei2017/figure5").query("variant == 'main'")
    table = network_tuning.compared(tuned)
    ten = table.loc[("parameter", "AnonymizedLearning", 10.0)]
    assert ten.setting == "thresholds 3, epochs 50" and ten.gain.holds
    assert (
        f"has an accuracy of {ten.tuned:.3f} at $\\varepsilon = 10$, and not {ten['first']:.3f} as with $\\pm 0.1$"
        in text
    )
    at = {method: table.loc[("record", method, 1.0)].tuned for method in network_tuning.METHODS}
    assert (
        f"DP-SGD has an accuracy of {at['DP-SGD']:.3f}, private logistic regression {at['private logistic regression']:.3f}, "
        f"AnonymizingFirst {at['AnonymizingFirst']:.3f}, LearningFirst {at['LearningFirst']:.3f} and AnonymizedLearning "
        f"{at['AnonymizedLearning']:.3f}"
    ) in text
    for epsilon in network_tuning.RECORD_EPSILONS:
        found = {method: network_tuning.cells(tuned, method, level="record").set_index(["epsilon", "fold"]).accuracy[epsilon]
                 for method in network_tuning.METHODS}  # fmt: skip
        for method in network_comparison.YARDSTICKS:
            assert evidence.between(found[method], found["AnonymizingFirst"][found[method].index], paired=True).holds
        for method in ("LearningFirst", "AnonymizedLearning"):
            over = network_tuning.above(tuned, lines, method, "majority class", level="record")
            assert not over[epsilon].holds
    assert f"that of the six settings {results.provenance(network_tuning.RESULTS)['CPU time'].split(' ')[0]}." in text


# ---- numbers from the chapters: what the summary says, and what stands in the committed notebook


@pytest.mark.parametrize(
    "document, said, path, found",
    [
        (
            "hasegawa2015",
            "$\\varepsilon = 4.50, 4.16, 3.75, 2.90$",
            "01_perturbation",
            "total local epsilon 4.50 4.16 3.75 2.90",
        ),
        (
            "hasegawa2015",
            "a share costs a factor of 20, a pair 420",
            "04_beyond",
            "a share costs a factor of 20, a pair 420",
        ),
        ("hasegawa2015", "$k = 1 + 10^{-21}$ at most", "03_figure1", "k = 50: total ε = 29.0, that is k = 1 + 1e-21"),
        ("sei2017", "loses $1.309\\,\\varepsilon$", "01_theory", "1.309"),
        ("sei2017", "$K = 814$", "01_theory", "K = 814 batches an epoch"),
        ("sei2017", "has $\\varepsilon = 8.69$ as a whole", "02_figure5", "8.69"),
        ("sei2017", "that of LearningFirst 671", "02_figure5", "671"),
        ("sei2017", "13,500 and 1,570 at least", "02_figure5", "weight range 0.3, epochs 50 13,500"),
        ("sei2017", "13,500 and 1,570 at least", "02_figure5", "thresholds 3, epochs 50 1,570"),
        (
            "sei2017",
            "multiplier of 5.32, where an added or removed record takes 2.81",
            "03_beyond",
            "removed: 2.81 (1.00 times), replaced: 5.32",
        ),
        ("sei2017", "given away nearly always", "03_beyond", "ε = 100: AUC 0.98"),
    ],
)
def test_what_the_summary_says_stands_in_the_chapter(document, said, path, found):
    assert said in summary(document)
    assert found in chapter(f"{document}/{path}")
