"""The parts of the book's calculator that need no browser: its links, its scripts, and two functions made for it."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import comb

from book._ext import pages
from lib import accounting, local
from lib.attacks.membership_inference import posterior_bound
from lib.local.communication import report_bits

ROOT = Path(__file__).resolve().parents[2]


def test_every_script_is_read_and_every_question_is_linked():
    assert sorted(pages.FILES) == sorted(path.name for path in pages.SCRIPTS.glob("*.js"))
    script = (pages.SCRIPTS / "questions.js").read_text(encoding="utf-8")
    assert f"QUESTIONS: {{{', '.join(pages.QUESTIONS)}}}" in script
    assert all((ROOT / module.replace(".", "/")).exists() or (ROOT / f"{module.replace('.', '/')}.py").exists()
               for modules in pages.QUESTIONS.values() for module in modules)  # fmt: skip


def test_no_script_asks_the_network():
    for path in pages.SCRIPTS.glob("*.js"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not any(
            word in text for word in ("fetch(", "XMLHttpRequest", "import(", "http:", "WebSocket", "sendBeacon")
        ), path


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("kiri2019/03_composition", ["composition", "local"]),
        ("miura2022/03_beyond", ["composition", "synthesis"]),
        ("miura2025/03_budget", ["composition", "aim"]),
        ("sei2017/03_beyond", ["sgd"]),
        ("sei2017/02_figure5", []),
    ],
)
def test_a_chapter_is_linked_to_the_questions_of_its_functions(stem, expected):
    assert pages.questions(json.loads((ROOT / f"notebooks/{stem}.ipynb").read_text(encoding="utf-8"))) == expected


def test_every_name_that_an_import_brings():
    code = (
        "import lib.local\nfrom lib import accounting as a\nfrom lib.networks.dp_sgd import train\nfrom os import path"
    )
    assert {"lib.local", "lib.accounting", "lib.networks.dp_sgd", "lib.networks", "os"} <= pages.imported(code)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_reports_are_as_many_as_their_bits_say(k):
    """The reports are listed: bits that are set by different users, cells, sets."""
    rng = np.random.default_rng(5)
    values = np.arange(20_000) % k
    for name in ("GRR", "SUE", "OUE", "THE", "SS", "HR"):
        oracle = local.ORACLES[name](k, 0.5)
        found = {tuple(np.atleast_1d(report).tolist()) for report in oracle.perturb(values, rng=rng)}
        assert len(found) == pytest.approx(2 ** report_bits(oracle), rel=1e-12), name


@pytest.mark.slow
def test_bits_of_sets_and_hashes():
    oracle = local.SubsetSelection(1_000_000, 3.0)
    exact = math.log2(comb(1_000_000, oracle.d, exact=True))
    assert report_bits(oracle) == pytest.approx(exact, rel=1e-11)
    assert report_bits(local.OLH(100, 1.0)) == 128 + math.log2(local.OLH(100, 1.0).g)
    with pytest.raises(ValueError, match="oracle must be a frequency oracle"):
        report_bits("GRR")


@pytest.mark.parametrize(
    ("prior", "epsilon"), [(prior, epsilon) for prior in (0.0, 0.001, 0.5, 1.0) for epsilon in (0.0, 1.0, 30.0)]
)
def test_the_posterior_is_bayes_rule_for_randomized_response(prior, epsilon):
    p, q = np.exp(epsilon) / (1 + np.exp(epsilon)), 1 / (1 + np.exp(epsilon))
    assert posterior_bound(prior, epsilon) == pytest.approx(prior * p / (prior * p + (1 - prior) * q))


def least_epsilon(first, second, delta):
    losses = np.log(first / second)
    order = np.argsort(losses)
    return accounting.DiscreteLoss(losses.max(), losses[order], np.log(first[order])).epsilon(delta)


@pytest.mark.parametrize("delta", [1e-4, 0.01, 0.2])
def test_what_a_suspicion_exceeds_its_bound_by_is_delta_at_most_on_average(delta):
    """The laws have ten outputs, and epsilon is that of their delta. For some of them the bound is exceeded more often than with probability delta."""
    rng, often = np.random.default_rng(18), []
    for prior in (0.001, 0.1, 0.5):
        for _ in range(200):
            used, unused = rng.dirichlet(np.full(10, 0.7), 2)
            epsilon = max(least_epsilon(used, unused, delta), least_epsilon(unused, used, delta))
            bound, seen = posterior_bound(prior, epsilon), prior * used + (1 - prior) * unused
            more = np.maximum(prior * used / seen - bound, 0)
            assert seen @ more <= (1 - bound) * delta * (1 + 1e-9)
            often.append(seen[more > 1e-9].sum())
    assert max(often) > delta


def test_without_privacy_any_suspicion_becomes_certain():
    assert posterior_bound([0.0, 0.1, 1.0], np.inf).tolist() == [0, 1, 1]


def test_the_mark_of_a_winner_stays_on_one_line():
    """A word without spaces, as in Japanese, would otherwise break between any two letters."""
    rule = re.search(r"\.calculator \.winner \{([^}]*)\}", (ROOT / "book/_static/compendium.css").read_text("utf-8"))[1]
    assert "white-space: nowrap" in rule
