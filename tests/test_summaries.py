"""The summaries of the reproduction: their numbers are those of the ledger, the result files and the chapters."""

import importlib.util
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from book import claims, evidence, results
from notebooks.studies import network_comparison, network_tuning

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
    full = BOOK / "results" / "claims.csv"
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
    assert summaries.verdicts("miura2025", gathered, full) == Counter(chosen.verdict)
    assert summaries.verdicts("miura2025", gathered, tmp_path / "none.csv") == {"stand-in": 30}
    with pytest.raises(ValueError, match="'nobody'"):
        summaries.verdicts("nobody", gathered, full)


# ---- what the prose says of the ledger's verdicts


@cache
def verdicts() -> dict:
    return frame("claims").set_index("id").verdict.to_dict()


def counted(pattern: str, verdict: str) -> int:
    return sum(found == verdict for id, found in verdicts().items() if re.match(pattern, id))


def test_counts_of_verdicts_in_the_prose():
    assert [counted(rf"miura2022\.table{table}\.", "reproduced") for table in (1, 2)] == [8, 32]
    assert "all forty numbers of the tables, eight in Table 1 and 32 in Table 2" in summary("miura2022")
    cells = r"miura2025\.table[23]\.(adult|bank)\."
    assert (counted(cells, "reproduced"), counted(cells, "differs")) == (19, 11)
    assert "Of the 30 accuracies of Tables 2 and 3, 19 lie within the printed spread" in summary("miura2025")
    said = {
        "kiri2019": ("One claim cannot be judged", 1),
        "miura2022": ("**Not determinable** are five remarks", 5),
        "hasegawa2015": ("two remarks on other methods' settings and limits, and six comparisons", 2 + 6),
        "sei2017": (
            "**Not determinable** are the four claims against a baseline without a name, and the F-measure",
            4 + 1,
        ),
    }
    for document, (words, number) in said.items():
        assert words in summary(document)
        assert counted(rf"{document}\.", "not determinable") == number
    noise = frame("claims").query("reproduced == 'within the noise'").id
    assert f"**Not determinable** are {noise.str.startswith('miura2025.').sum()} comparisons" in summary("miura2025")
    assert noise.str.startswith("hasegawa2015.").sum() == 6


# ---- numbers from the result files


def test_numbers_of_hasegawa2015():
    text = summary("hasegawa2015")
    figure = frame("hasegawa2015/figure1").groupby(["setup", "method", "k"]).auc.mean().round(3)
    auc = lambda setup, method: [f"{figure[setup, method, k]:.3f}" for k in (3, 50)]
    assert f"Original records {figure['-', 'original', 1]:.3f};" in text
    assert "perturbed {} at $k = 3$ and {} at 50,".format(*auc("published", "perturbed")) in text
    assert "reconstructed {} and {};".format(*auc("published", "kernel 1000 standard")) in text
    assert "with at most a fifth suppressed {} and {} |".format(*auc("-", "generalized 20 % out")) in text
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


def test_numbers_of_miura2025():
    text = summary("miura2025")
    scores = frame("miura2025/scores").query("epsilon == 1").groupby(["data", "method"]).mean(numeric_only=True)
    worse = {data: scores.loc[data, "bayes"] / scores.loc[data, "aim-k2"] for data in ("adult", "bank")}
    span = [f"{extreme(worse[data][['error1', 'error2', 'error3']]):.1f}" for data in worse for extreme in (min, max)]
    assert "{} to {} times as large on Adult, {} to {} times on Bank".format(*span) in text
    mutual = [
        scores.mi_error[data, "bayes"] / scores.mi_error[data, method]
        for data in worse
        for method in ("aim-k2", "aim-k3", "aim-noinit", "aim-lap")
    ]
    assert f"the errors of PrivBayes are {min(mutual):.1f} to {max(mutual):.1f} times as large" in text

    ablation = frame("miura2025/ablation")
    seconds = (
        ablation.query("study == 'epsilon'")
        .assign(epsilon=lambda rows: rows.variant.astype(float))
        .groupby("epsilon")
        .cpu_s.mean()
    )
    assert f"{seconds[1.0]:.1f} CPU seconds at $\\varepsilon = 1$ and {seconds[100.0]:.1f} at 100" in text
    devices = (
        ablation.query("study == 'devices on Adult'").groupby("variant").error2.mean()
        / ablation.query("study == 'devices on Adult' and variant == 'AIM'").error2.mean()
        - 1
    )
    worth = [100 * devices[name] for name in ("Laplace noise", "T = 16d, no annealing")]
    assert "costs {:.1f} % of the 2-way error on Adult, leaving out annealing {:.1f} % where".format(*worth) in text


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


@pytest.mark.parametrize(
    "document, name, key",
    [
        ("miura2025", "miura2025/ablation", "CPU time"),
        ("miura2025", "miura2025/scores", "wall time"),
        ("hasegawa2015", "hasegawa2015/figure1", "CPU time"),
        ("sei2017", "sei2017/figure5", "CPU time"),
    ],
)
def test_the_computing_cost_is_the_one_that_the_result_files_state(document, name, key):
    seconds = results.provenance(BOOK / "results" / f"{name}.csv")[key].split(" ")[0]
    kind = "CPU seconds" if key == "CPU time" else "seconds"
    assert f"{seconds} {kind}" in summary(document)


# ---- numbers from the chapters: what the summary says, and what stands in the committed notebook


@pytest.mark.parametrize(
    "document, said, path, found",
    [
        ("kiri2019", "67.4 % of its releases", "04_floating_point", "textbook sampler 67.4%"),
        ("kiri2019", "numpy's own in 77.9 %", "04_floating_point", "numpy sampler 77.9%"),
        (
            "kiri2019",
            "cost 4.775 at $\\delta = 10^{-6}$, not 10",
            "03_composition",
            "epsilon at delta = 1e-6: 4.775 instead of 10",
        ),
        ("kiri2019", "up to 30 % of the variance", "02_local", "SS saves at most 30%"),
        ("kiri2019", "up to 20 % more than plain", "02_local", "SS has up to 20% more variance than the best"),
        ("kiri2019", "$k = 3e^\\varepsilon + 2$", "02_local", "k = 3*e + 2"),
        ("kiri2019", "all 1,252 networks", "01_laplace", "1252 different networks"),
        ("kiri2019", "accuses none falsely", "05_audit", "accused: none"),
        (
            "miura2022",
            "0.5704, and data sets that exist attain 0.5704",
            "03_beyond",
            "Lemma C 0.5704294 a pair that exists 0.5704293",
        ),
        ("miura2022", "1.152 with its two eigenvalues apart", "03_beyond", "two eigenvalues 1.15248"),
        ("miura2022", "0.577 with both together", "03_beyond", "both together 0.576941"),
        ("miura2022", "2.146 where the document has 2.722", "03_beyond", "Theorem E 2.146"),
        ("miura2022", "data sets that exist attain 0.571", "03_beyond", "a pair that exists 0.570907"),
        ("miura2022", "takes 39.7 million records, not 69.2 million", "04_adult", "3.97e+07"),
        ("miura2022", "costs 0.08 % in $\\varepsilon$", "04_adult", "exceeds Theorem 3.1 by 0.08%"),
        ("miura2022", "98.3 by the document's theorem and 81.3 by ours", "04_adult", "1e-05, Theorem E 81.3"),
        ("miura2022", "$\\sigma_{\\min} = 0.085$", "04_adult", "$\\sigma_{\\min}$ is 0.085"),
        ("miura2022", "exceeds it by 2.8 %", "01_proofs", "1.028 times Theorem 3.1"),
        ("miura2025", "1.91 or 2.19 times its $\\rho$", "01_private_pgm", "1.906 rho"),
        ("miura2025", "would be expected to have 20", "02_accuracy", "about 20 of 30 cells"),
        (
            "miura2025",
            "$\\varepsilon^{-0.91}$, $\\varepsilon^{-0.63}$ and $\\varepsilon^{-0.41}$",
            "04_beyond",
            "1-way -0.91, 2-way -0.63, 3-way -0.41",
        ),
        ("miura2025", "1.4 % and 2.0 % of the 2-way error", "04_beyond", "+1.4 (+0.3 to +2.4)"),
        ("miura2025", "1.4 % and 2.0 % of the 2-way error", "04_beyond", "+2.0 (+0.6 to +3.4)"),
        (
            "miura2025",
            "43.2 % where there are $16d$ rounds",
            "04_beyond",
            "T = 16d, no annealing +2.6 (-0.3 to +5.5) +43.2",
        ),
        ("miura2025", "8.7 % where there are $4d$", "04_beyond", "T = 4d, no annealing -6.7 (-9.7 to -3.8) +8.7"),
        (
            "miura2025",
            "between 0.3 and 10 they fall like $\\varepsilon^{-0.91}$",
            "04_beyond",
            "0.3 and 10: 1-way -0.91, 2-way",
        ),
        ("miura2025", "$\\delta(1) = 1.93 \\cdot 10^{-5}$", "03_budget", "1.93e-05"),
        ("miura2025", "3 % (Adult) and 11 % (Bank)", "04_beyond", "3 % (Adult) and 11 % (Bank)"),
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
