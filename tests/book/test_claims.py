"""The ledger and its judging, against Python's own rounding and the documents' arithmetic."""

import html
import math
import os
import re
import statistics
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sympy
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from book.editions import edition
from book.ledger import claims, evidence, retold
from book.ledger.evidence import Difference, Readings

BOOK = Path(__file__).resolve().parents[2] / "book" / "claims.yml"

LEDGER = """\
documents:
  doc: {title: A title, authors: Somebody, year: 2020, venue: A journal}
  later: {title: Another, authors: Somebody Else, year: 2021, venue: A journal}
interpretations:
  doc-pair: {deep: a deep tree, flat: a flat tree}
claims:
- {id: doc.number, item: Table 1, statement: A number., printed: "0.576", judge: digits,
   setting: {alpha: 4, sigma: 0.01, n: 1.0e+7, data: adult}}
- {id: doc.spread, item: Table 2, statement: A mean., printed: "0.85", judge: within, spread: 0.01}
- {id: doc.runs, item: Table 2, statement: A mean., printed: "0.85", judge: within, spread: 0.03, runs: 9}
- {id: doc.mean, item: Text, statement: A mean., printed: "0.79", judge: digits, random: true}
- {id: doc.either, item: Table 2, statement: A mean., printed: "0.85", judge: within, spread: 0.03, runs: 9, readings: doc-pair}
- {id: doc.order, item: Figure 1, statement: An order., printed: falls, judge: ordering,
   setting: {n: [1.0e+4, 1.0e+5]}}
- {id: doc.theorem, item: Theorem 1, statement: A theorem., printed: holds, judge: proof}
- {id: doc.open, item: Figure 2, statement: A finding., printed: above, judge: ordering,
   readings: {thick: the thick line, thin: the thin line}, own: thick}
- {id: doc.unclear, item: Table 3, statement: A mean., printed: "0.5", judge: digits,
   readings: {mean: of all, median: of all, first: of the first}}
- {id: doc.title, item: Lemma 4, statement: Its title., printed: Upper bound, judge: read}
- {id: later.sentence, item: Section 1, statement: A sentence., printed: so it is, judge: statement}
"""


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    path = tmp_path / "ledger.yml"
    path.write_text(LEDGER, encoding="utf-8")
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(path))
    return path


def verdict_of(printed, value, judge="digits", spread=None):
    claim = claims.Claim("doc.x", "doc", "Table 1", "A number.", printed, judge, {}, spread)
    return "reproduced" if claims._agrees(claim, value) else "differs"


# ---------------------------------------------------------------- digits and spreads


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.floats(-1e6, 1e6), st.integers(0, 9))
def test_what_python_prints_is_reproduced_and_its_neighbours_are_not(value, places):
    printed = f"{value:.{places}f}"
    unit = Decimal(1).scaleb(-places)
    assert verdict_of(printed, value) == "reproduced"
    for step in (-2, 2):
        assert verdict_of(str(Decimal(printed) + step * unit), value) == "differs"


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=400)
@given(
    st.integers(-(10**7), 10**7),
    st.integers(-3, 8),
    st.fractions(0, 3).filter(lambda t: abs(t - Fraction(1, 2)) > Fraction(1, 1000)),
    st.sampled_from([-1, 1]),
)
def test_half_a_unit_of_the_last_place_decides(digits, places, offset, sign):
    printed = Decimal(digits).scaleb(-places)
    value = Fraction(digits) / Fraction(10) ** places + sign * offset / Fraction(10) ** places
    expected = "reproduced" if offset < Fraction(1, 2) else "differs"
    assert verdict_of(str(printed), value) == expected


@pytest.mark.parametrize(
    "printed, value, verdict",
    [
        ("0.576462", 0.5764615, "reproduced"),  # a tie may have been rounded either way
        ("0.576461", 0.5764615, "reproduced"),
        ("2.68", 2.675, "reproduced"),  # although the double is 2.67499999999999982236...
        ("0.576", 0.144, "differs"),
        ("3535.17", 3535.1749, "reproduced"),
        ("3535.17", 3535.18, "differs"),
        ("11.3620", 11.36204, "reproduced"),
        ("11.3620", 11.3624, "differs"),  # 11.36 would have been
        ("1e-5", 1.4e-5, "reproduced"),
        ("1e-5", 1.6e-5, "differs"),
        ("1.0e-5", 1.4e-5, "differs"),
        ("-0.3", -0.349, "reproduced"),
        ("−0.3", 0.3, "differs"),  # a typographic minus
        ("85.3%", 85.34, "reproduced"),
        ("85.3%", 0.8534, "differs"),
        ("32,561", 32561, "reproduced"),
        ("6", 6, "reproduced"),
        ("6", math.inf, "differs"),
        ("6", math.nan, "differs"),
        ("2.72", 2.71, "differs"),
        ("2.71", 2.718, "differs"),  # cut off, not rounded
    ],
)
def test_digits(printed, value, verdict):
    assert verdict_of(printed, value) == verdict


@pytest.mark.parametrize(
    "value, verdict",
    [
        (0.85, "reproduced"),
        (0.84, "reproduced"),
        (0.86, "reproduced"),
        (0.8399, "differs"),
        (0.8601, "differs"),
        (math.nan, "differs"),
    ],
)
def test_within_the_printed_spread_ends_included(value, verdict):
    assert verdict_of("0.85", value, "within", 0.01) == verdict


@pytest.mark.parametrize(
    "value, verdict",
    [
        (evidence.Mean(0.88, 0.0), "reproduced"),  # within the spread, whatever the noise
        (evidence.Mean(0.82, 9.0), "reproduced"),
        (evidence.Mean(0.881, 0.012), "not determinable"),  # the two errors make 0.0156
        (evidence.Mean(0.882, 0.012), "differs"),
        (evidence.Mean(0.818, 0.012), "differs"),
        (evidence.Mean(0.95, 0.06), "not determinable"),
        (0.881, "differs"),  # the document's error alone is 0.01
        (0.87, "reproduced"),
    ],
)
def test_outside_of_the_spread_two_standard_errors_decide(ledger, value, verdict):
    record = claims.check("doc.runs", value, reason="why")
    assert record.verdict == verdict
    if verdict == "not determinable" and float(value) == 0.881:
        assert (
            record.note
            == "The result is within the noise. The difference is +0.031, and two standard errors are 0.031. why"
        )


@pytest.mark.parametrize(
    "value, verdict",
    [
        (evidence.Mean(0.795, 0.0), "reproduced"),
        (evidence.Mean(0.7851, 9.0), "reproduced"),
        (evidence.Mean(0.7849, 0.0), "differs"),
        (evidence.Mean(0.784, 0.00051), "not determinable"),  # 0.001 below what rounds to 0.79
        (evidence.Mean(0.784, 0.00049), "differs"),
        (evidence.Mean(0.796, 0.00051), "not determinable"),
        (evidence.Mean(0.796, 0.00049), "differs"),
    ],
)
def test_outside_of_the_printed_digits_two_standard_errors_decide(ledger, value, verdict):
    record = claims.check("doc.mean", value, reason="why")
    assert record.verdict == verdict
    if verdict == "not determinable" and value.value == 0.784:
        assert record.note == (
            "The result is within the noise. The difference is -0.0060, the limit is -0.005, and two standard errors are "
            "0.0010. why"
        )


def test_a_random_number_is_not_judged_by_its_digits_alone(ledger):
    with pytest.raises(
        ValueError, match="value must be a mean with its error for doc.mean, whose number is random, got 0.79"
    ):
        claims.check("doc.mean", 0.79)
    with pytest.raises(ValueError, match="only for the judge within or a random number, .* for doc.number"):
        claims.check("doc.number", evidence.Mean(0.576, 0.1))


def test_without_the_number_of_runs_only_our_error_counts(ledger):
    assert claims.check("doc.spread", evidence.Mean(0.865, 0.01)).verdict == "not determinable"
    assert claims.check("doc.spread", evidence.Mean(0.865, 0.007)).verdict == "differs"


def test_means_of_several_readings_are_judged_one_by_one(ledger):
    near, open_, far = evidence.Mean(0.86, 0.01), evidence.Mean(0.882, 0.02), evidence.Mean(0.95, 0.01)
    for deep, flat, verdict in ((near, near, "reproduced"), (far, far, "differs"), (open_, far, "not determinable")):
        record = claims.check("doc.either", Readings({"deep": deep, "flat": flat}))
        assert record.verdict == verdict
    assert record.note == "The claim fails under “flat”; it is left open by the noise under “deep”."
    assert record.reproduced == "deep: 0.88200; flat: 0.95000"


def test_the_mean_of_runs_has_their_standard_error():
    assert evidence.mean([0.80, 0.84, 0.82]) == evidence.Mean(pytest.approx(0.82), pytest.approx(0.02 / math.sqrt(3)))
    with pytest.raises(ValueError, match="runs must be two or more"):
        evidence.mean([0.8])


@pytest.mark.parametrize(
    "id, error", [("doc.number", 0.1), ("doc.spread", math.inf), ("doc.spread", -0.1), ("doc.spread", math.nan)]
)
def test_a_mean_with_its_error_is_for_a_printed_spread(ledger, id, error):
    with pytest.raises(ValueError, match="value may be a mean, with a finite error, only"):
        claims.check(id, evidence.Mean(0.576, error))


def test_numbers_of_every_kind_are_taken(ledger):
    for value in (
        0.5764,
        np.float64(0.5764),
        np.float32(0.5764),
        Decimal("0.5764"),
        Fraction(5764, 10**4),
        np.array(0.5764),
    ):
        assert claims.check("doc.number", value).verdict == "reproduced"


@pytest.mark.parametrize(
    "value, shown",
    [
        (0.57646195, "0.576462"),
        (0.5, "0.500000"),
        (12345.678, "12345.678000"),
        (1e20, "1.00000000000000E+20"),
        (math.inf, "inf"),
    ],
)
def test_the_value_is_kept_with_three_digits_more_than_printed(ledger, value, shown):
    assert claims.check("doc.number", value).reproduced == shown


# ---------------------------------------------------------------- check


def test_a_record_says_what_the_ledger_says(ledger):
    record = claims.check("doc.number", 0.5764, alpha=4.0, sigma=1e-2, n=10**7, data="adult")
    assert record == claims.Record(
        "doc.number",
        "doc",
        "Table 1",
        "0.576",
        "0.576400",
        "reproduced",
        "",
        source="Somebody (2020), Table 1",
        notebook="",
    )


@pytest.mark.parametrize(
    "authors, cited",
    [
        ("kiri1701", "kiri1701 (2020)"),
        ("Sei and Ohsuga", "Sei and Ohsuga (2020)"),
        ("Hasegawa, Hamada and Kikuchi", "Hasegawa et al. (2020)"),
    ],
)
def test_how_a_document_is_cited(authors, cited):
    assert claims.Document("doc", "A title", authors, 2020, "A journal").cited == cited


def test_a_difference_keeps_its_reason_or_says_that_there_is_none(ledger):
    assert claims.check("doc.number", 0.7, reason="a slip").note == "a slip"
    assert claims.check("doc.number", 0.7).note == claims.NO_REASON
    assert claims.check("doc.number", 0.7).verdict == "differs"


def test_true_and_false(ledger):
    for holds in (True, np.True_):
        assert claims.check("doc.theorem", holds).verdict == "reproduced"
    record = claims.check("doc.order", np.bool_(False), reason="it rises")
    assert (record.verdict, record.reproduced, record.note) == ("differs", "does not hold", "it rises")


@pytest.mark.parametrize("verdict", ["reproduced", "differs", "not determinable"])
def test_what_was_read_is_told_as_read(ledger, verdict):
    record = claims.read("doc.title", verdict, "page 4: $L_2$ is bounded from below")
    assert record.verdict == verdict and record.reproduced == "read" and record.note.startswith("page 4")
    assert record.source == "Somebody (2020), Lemma 4" and record.published == "Upper bound"
    assert (
        claims._line(record)
        == f"doc.title  printed Upper bound  read  {verdict}  (page 4: $L_2$ is bounded from below)"
    )
    assert '<span class="judged-read">read</span>' in claims._line_html(record)
    assert claims.read_all("doc", {"title": (verdict, record.note)}) == (record,)


def test_stand_in_and_undetermined_judge_nothing(ledger):
    record = claims.check("doc.number", 0.7, stand_in=True)
    assert (record.verdict, record.reproduced) == ("stand-in", "0.700000") and record.note
    record = claims.check("doc.theorem", None, undetermined="the seed is not given")
    assert (record.verdict, record.reproduced, record.note) == ("not determinable", "", "the seed is not given")


@pytest.mark.parametrize(
    "setting",
    [{"alpha": 5}, {"sigma": 0.0100001}, {"n": 10**7 + 1}, {"data": "bank"}, {"alpha": [4, 4]}, {"alpha": 4, "n": 1e6}],
)
def test_in_another_setting_nothing_is_judged(ledger, setting):
    for value in (0.576, 7.0):
        record = claims.check("doc.number", value, **setting)
        assert record.verdict == "not judged" and record.note.startswith("This run has a different setting: ")


def test_a_setting_may_be_a_list(ledger):
    assert claims.check("doc.order", True, n=[10**4, 10**5]).verdict == "reproduced"
    assert claims.check("doc.order", True, n=np.array([1e4, 1e6])).verdict == "not judged"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: claims.check("doc.nubmer", 1), r"'doc.nubmer' \(nearest: doc.number"),
        (lambda: claims.check("doc.number", 0.576, simga=0.01), "got 'simga'"),
        (lambda: claims.check("doc.theorem", True, n=3), "it has none"),
        (lambda: claims.check("doc.number", "many"), "value must be a number for doc.number"),
        (lambda: claims.check("doc.number", True), "value must be a number for doc.number"),
        (lambda: claims.check("doc.number", None), "value must be a number for doc.number"),
        (lambda: claims.check("doc.theorem", 1), "value must be True or False for doc.theorem"),
        (lambda: claims.check("doc.theorem", "holds"), "value must be True or False"),
        (lambda: claims.check_all({}), "values must not be empty"),
        (lambda: claims.check("doc.title", True), "value must not be given for doc.title"),
        (lambda: claims.judge("doc", {"theorem": True, "title": [True]}), "value must not be given for doc.title"),
        (lambda: claims.check("doc.title", None, undetermined="lost"), "value must not be given for doc.title"),
        (lambda: claims.read("doc.title", True, "page 4"), "verdict must be one of .* for doc.title, got True"),
        (lambda: claims.read("doc.title", "stand-in", "page 4"), "for doc.title, got 'stand-in'"),
        (lambda: claims.read("doc.title", "differs", " "), "note must say where doc.title was read, got ' '"),
        (lambda: claims.read("doc.theorem", "differs", "page 4"), "judge read, got 'doc.theorem' .judge proof"),
        (lambda: claims.read_all("doc", {}), "found must not be empty"),
        (lambda: claims.read_all("doc", {"theorem": ("differs", "page 4")}), "judge read, got 'doc.theorem'"),
        (lambda: claims.read("doc.titel", "differs", "page 4"), r"'doc.titel' \(nearest: doc.title"),
        (lambda: claims.check("doc.open", True), r"readings .'thick', 'thin'. of doc.open, got ..$"),
        (lambda: claims.check("doc.open", Readings({"thick": True})), r"of doc.open, got .'thick'.$"),
        (lambda: claims.check("doc.order", Readings({"thick": True})), r"readings .. of doc.order, got .'thick'.$"),
        (
            lambda: claims.check("doc.open", Readings({"thick": True, "thin": 1})),
            "value must be True or False for doc.open",
        ),
        (lambda: claims.check("doc.open", Readings({"thick": True, "thin": []})), "evidence for doc.open, got"),
        (lambda: claims.check("doc.open", Readings({})), "evidence for doc.open, got"),
        (lambda: claims.check("doc.number", math.nan), "value must be a number for doc.number .judge digits., got nan"),
        (lambda: claims.check("doc.unclear", Readings({"mean": 0.5, "median": math.nan, "first": 0.5})), "doc.unclear"),
        (lambda: claims.judge("doc", {"theorem": "False"}), "value must be True or False for doc.theorem"),
        (lambda: claims.judge("doc", {"theorem": ["False", "True"]}), "value must be True or False for doc.theorem"),
        (
            lambda: claims.judge("doc", {"open": Readings({"thick": "False", "thin": True})}),
            "for doc.open .judge ordering., got 'False'",
        ),
        (lambda: claims.judge("doc", {"theorem": [1, 1]}), "value must be True or False for doc.theorem"),
        (lambda: claims.check_all({"doc.number": 1}, reasons={"doc.spread": "x"}), "got 'doc.spread'"),
        (lambda: claims.check_all({"doc.number": 1, "doc.spread": 1}, beta=2), "got 'beta'"),
    ],
)
def test_bad_input_is_refused_by_name(ledger, call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "nothing", [[], (), {}, set(), "", np.array([]), np.empty((3, 0)), pd.Series(dtype=bool), pd.DataFrame(), [[], []]]
)
@pytest.mark.parametrize("name", ["theorem", "order", "number"])
def test_empty_evidence_is_refused_by_the_claims_name(ledger, nothing, name):
    for call in (
        lambda: claims.judge("doc", {name: nothing}),
        lambda: claims.check(f"doc.{name}", nothing),
        lambda: claims.check_all({f"doc.{name}": nothing}),
        lambda: claims.check(f"doc.{name}", nothing, undetermined="the seed is not given"),
    ):
        with pytest.raises(ValueError, match=f"evidence for doc.{name}, got"):
            call()


def test_judge_names_the_document_once_and_wants_every_bool(ledger):
    found = {"number": 0.576462, "theorem": [True, np.True_, sympy.true], "order": np.array([True, False])}
    records = claims.judge("doc", found, {"order": "not in the second case"})
    assert [record.verdict for record in records] == ["reproduced", "reproduced", "differs"]
    assert [record.id for record in records] == ["doc.number", "doc.theorem", "doc.order"]
    assert records[2].note == "not in the second case"


# ---------------------------------------------------------------- differences of noisy means

D = Difference


@pytest.mark.parametrize(
    "value, verdict, shown",
    [
        (D(0.5, 0.125), "reproduced", "holds"),
        (D(0.25, 0.125), "not determinable", "within the noise"),  # two standard errors, no more
        (D(np.nextafter(0.25, 1), 0.125), "reproduced", "holds"),
        (D(0.0, 0.125), "not determinable", "within the noise"),
        (D(-0.25, 0.125), "not determinable", "within the noise"),
        (D(np.nextafter(-0.25, -1), 0.125), "differs", "does not hold"),
        (D(0.5, 0.125, limit=0.25), "not determinable", "within the noise"),
        (D(0.75, 0.125, limit=0.25), "reproduced", "holds"),
        (D(-0.25, 0.125, limit=0.25), "differs", "does not hold"),
        (D(-0.25, 0.125, limit=-0.75), "reproduced", "holds"),
        (D(1e-300, 0.0), "reproduced", "holds"),  # nothing is left to chance
        (D(-1e-300, 0.0), "differs", "does not hold"),
        (D(1.0, 0.0, limit=1.0), "differs", "does not hold"),
        ([D(0.5, 0.125), D(0.5, 0.0)], "reproduced", "holds"),
        ([D(0.5, 0.125), D(0.0, 0.125)], "not determinable", "within the noise"),
        ((D(0.0, 0.125), D(-0.5, 0.125), D(0.5, 0.125)), "differs", "does not hold"),
        ({"a": D(9.0, 1.0), "b": D(3.0, 1.0)}, "reproduced", "holds"),
        ({"a": D(9.0, 1.0), "b": D(1.5, 1.0)}, "not determinable", "within the noise"),
        ({"a": D(1.0, 1.0), "b": D(-9.0, 1.0)}, "differs", "does not hold"),
    ],
)
def test_a_difference_must_exceed_two_standard_errors(ledger, value, verdict, shown):
    for name in ("doc.order", "later.sentence"):
        found = [claims.check(name, value), *claims.check_all({name: value})]
        document, rest = name.split(".")
        found += claims.judge(document, {rest: value})
        assert [(record.verdict, record.reproduced) for record in found] == [(verdict, shown)] * 3
        assert all(isinstance(text, str) for record in found for text in vars(record).values())


def test_within_the_noise_the_note_has_the_difference_and_its_noise(ledger):
    found = {"aim": D(0.5, 0.1), "lap": D(0.00123, 0.00071), "k3": D(0.0019, 0.00091)}
    record = claims.check("doc.order", found, reason="three trials")
    assert record.note == (
        "The result is within the noise. For lap, the difference is +0.0012, and two standard errors are 0.0014. three trials"
    )
    record = claims.check("doc.order", [D(3.0, 1.0), D(-2.0, 7.0, limit=-3)])
    assert record.note == (
        "The result is within the noise. For comparison 2, the difference is -2, the limit is -3, and two standard errors are 14."
    )
    assert claims.check("doc.order", D(0.5, 0.1), reason="a remark").note == "a remark"
    assert claims.check("doc.order", D(-0.5, 0.1)).note == claims.NO_REASON


def test_on_stand_in_data_and_in_other_settings_a_difference_judges_nothing(ledger):
    for value in (D(1.0, 0.1), D(0.0, 0.1), [D(-1.0, 0.1)]):
        assert claims.check("doc.order", value, stand_in=True).verdict == "stand-in"
        assert claims.check("doc.order", value, n=[1]).verdict == "not judged"
        assert claims.check("doc.order", value, undetermined="lost").note == "lost"


@pytest.mark.parametrize(
    "value, message",
    [
        (D(math.nan, 0.1), "for doc.order, got Difference.value=nan"),
        (D(0.1, math.nan), "an error of at least 0, for doc.order"),
        (D(0.1, math.inf), "for doc.order"),
        (D(math.inf, 0.1), "for doc.order"),
        (D(0.1, 0.1, limit=math.nan), "for doc.order"),
        (D(0.1, -0.1), "for doc.order, got"),
        ([D(0.1, 0.1), D(0.1, -0.1)], "for doc.order .2., got"),
        ({"lap": D(0.1, math.nan), "k3": D(-9, 0.1)}, "for doc.order .lap., got"),
        ([D(0.1, 0.1), True], "True or False for doc.order"),
        ({"lap": True}, "True or False for doc.order"),
    ],
)
def test_bad_differences_are_refused_by_the_claims_name(ledger, value, message):
    for options in ({}, {"stand_in": True}, {"undetermined": "lost"}):
        with pytest.raises(ValueError, match=message):
            claims.check("doc.order", value, **options)


@pytest.mark.parametrize("id", ["doc.theorem", "doc.number", "doc.spread"])
def test_a_difference_is_no_proof_and_no_number(ledger, id):
    for value in (D(1.0, 0.1), [D(1.0, 0.1)]):
        with pytest.raises(ValueError, match=f"value must be .* for {id}"):
            claims.check(id, value)


def test_the_standard_error_of_a_difference_of_runs():
    a, b = [0.1, 0.4, 0.3], [0.2, 0.6, 0.7, 0.1]
    found = evidence.between(a, b, limit=0.05)
    expected = math.sqrt(statistics.variance(a) / 3 + statistics.variance(b) / 4)
    assert found.value == pytest.approx(statistics.mean(a) - statistics.mean(b)) and found.limit == 0.05
    assert found.error == pytest.approx(expected)
    paired = evidence.between(a, b[:3], paired=True)
    assert paired.error == pytest.approx(statistics.stdev(x - y for x, y in zip(a, b)) / math.sqrt(3))
    assert evidence.between([1, 1], [0, 0]) == D(1.0, 0.0)
    for call in (lambda: evidence.between([1], [0, 1]), lambda: evidence.between([1], [0], paired=True)):
        with pytest.raises(ValueError, match="two or more for a standard error, got 1"):
            call()


@pytest.mark.parametrize("sign", [1, -1])
def test_error_bars_overlap_if_means_are_closer_than_the_sum_of_their_spreads(sign):
    spreads, runs = (0.4, 0.9), 400  # normal runs with means 0 and 1
    draws = sign * np.random.default_rng(0).normal((0, 1), spreads, size=(2000, runs, 2))
    gaps = [evidence.between(a, b) for a, b in draws.transpose(0, 2, 1)]
    found = [evidence.overlap(gap, tuple(each.std(axis=0, ddof=1)), runs) for gap, each in zip(gaps, draws)]
    values = [each.value for each in found]
    assert np.mean(values) == pytest.approx(0.3, abs=0.005)  # 4 standard errors are 0.005
    assert np.mean([each.error for each in found]) == pytest.approx(np.std(values), rel=0.08)  # 5 standard errors
    together = evidence.overlap(D(sign, 0.0), (1.3,), runs)  # of paired runs: one estimate, of twice a spread
    assert together.value == pytest.approx(0.3) and together.error == pytest.approx(1.3 / math.sqrt(2 * 399))


def test_printed_error_bars_overlap_or_do_not():
    assert evidence.overlap(D(-0.2, 0.5), (0.1, 0.11), None).holds is True
    assert evidence.overlap(D(0.2, 0.5), (0.1, 0.09), None).holds is False
    with pytest.raises(ValueError, match="runs must be two or more for the noise of a standard deviation, got 1"):
        evidence.overlap(D(0.2, 0.5), (0.1, 0.11), 1)


@pytest.mark.parametrize(
    "value, error, holds",
    [(0.004, 0.001, True), (-0.004, 0.001, True), (0.009, 0.001, None), (-0.009, 0.001, None), (-0.02, 0.001, False)],
)
def test_near_is_less_than_the_tolerance_on_both_sides(value, error, holds):
    assert evidence.holds(evidence.near(D(value, error), 0.01)) is holds


def test_numpys_numbers_hold_as_pythons_do():
    assert D(np.float64(0.5), np.float64(0.1)).holds is True
    assert D(np.float64(-0.5), np.float64(0.1)).holds is evidence.holds([D(np.float64(-0.5), 0.1)]) is False


def test_what_is_not_a_number_holds_neither_so_nor_so():
    assert D(math.nan, 0.1).holds is D(0.1, math.nan).holds is None


def test_of_no_differences_nothing_is_told():
    for value in ([], {}, True, [True], "text"):
        with pytest.raises(ValueError, match="value must be a Difference"):
            evidence.told(value)


# ---------------------------------------------------------------- many claims at once


def test_check_all_judges_each_claim_in_its_own_setting(ledger):
    records = claims.check_all(
        {"doc.number": 0.9, "doc.spread": 0.9, "doc.theorem": True}, reasons={"doc.spread": "other data"}, alpha=5
    )
    assert [record.verdict for record in records] == ["not judged", "differs", "reproduced"]
    assert [record.note for record in records[1:]] == ["other data", ""]


def test_outside_a_notebook_nothing_is_shown(ledger, capsys):
    claims.check("doc.number", 0.576)
    claims.check_all({"doc.number": 0.576, "doc.theorem": True})
    assert capsys.readouterr() == ("", "")


def test_html_is_escaped(ledger):
    record = claims.check("doc.number", 0.7, reason="<script> & 1 < 2")
    for markup in (claims._line_html(record), claims._table_html(claims.Records([record]))):
        assert "&lt;script&gt; &amp; 1 &lt; 2" in markup and "<script>" not in markup


def formula(tex):
    return rf'<span class="math notranslate nohighlight">\({tex}\)</span>'


@pytest.mark.parametrize(
    "text, shown",
    [
        ("$x$", formula("x")),
        ("by $a$ and $b$", f"by {formula('a')} and {formula('b')}"),
        (r"$|D| < n \& \delta'$ & <b>", formula(r"|D| &lt; n \&amp; \delta&#x27;") + " &amp; &lt;b&gt;"),
        ("costs $5", "costs $5"),  # one dollar opens nothing
        ("$$", "$$"),
        ("", ""),
    ],
)
def test_formulas_are_marked_and_the_rest_is_literal(text, shown):
    assert claims.markup(text) == shown
    unmarked = re.sub(r'<span class="math notranslate nohighlight">\\\((.*?)\\\)</span>', r"$\1$", shown)
    assert html.unescape(unmarked) == text


def test_formulas_of_a_claim_are_typeset_wherever_they_stand(tmp_path, monkeypatch):
    path = tmp_path / "ledger.yml"
    path.write_text(LEDGER.replace("printed: holds", r"printed: '$\rho < 1$'"), encoding="utf-8")
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(path))
    record = claims.check("doc.theorem", False, reason=r"only for $\rho > 2$")
    assert record.published == r"$\rho < 1$"  # the record keeps the text of the ledger
    for markup in (claims._line_html(record), claims._table_html(claims.Records([record]))):
        assert "$" not in markup
        assert formula(r"\rho &lt; 1") in markup and "only for " + formula(r"\rho &gt; 2") in markup


@pytest.mark.slow
def test_no_formula_of_the_book_is_left_raw(book):
    for claim in book.claims.values():
        for text in (claim.printed, claim.statement):
            assert "$" not in claims.markup(text), claim.id


# ---------------------------------------------------------------- reading the ledger


def with_claim(**changes):
    """Return a ledger of one claim, changed (None takes a field away)."""
    entry = {
        "id": "doc.x",
        "item": "Table 1",
        "statement": "A number.",
        "printed": "1.5",
        "judge": "digits",
        "setting": {"n": 10},
    } | changes
    head = LEDGER.split("claims:")[0]
    return head + yaml.safe_dump({"claims": [{k: v for k, v in entry.items() if v is not None}]})


@pytest.mark.parametrize(
    "text, message",
    [
        (LEDGER.replace("doc.spread", "doc.number"), "^doc.number is listed twice"),
        (with_claim(judge="guess"), "^doc.x: judge must be one of"),
        (with_claim(printed=1.5), "^doc.x: printed must be a .quoted. string, got 1.5"),
        (with_claim(printed="about 1.5"), "^doc.x: printed must be a number"),
        (with_claim(printed=" ", judge="proof"), "^doc.x: printed"),
        (with_claim(item=None), "^doc.x: .*item"),
        (with_claim(statement=""), "^doc.x: statement"),
        (with_claim(colour="red"), "^doc.x: .*colour"),
        (with_claim(id="other.x"), "^other.x: document must be one of .*, got 'other'"),
        (with_claim(id="doc"), "^doc: id must have the form document.where.what"),
        (with_claim(id="doc.two words"), "^doc.two words: id must have the form"),
        (with_claim(judge="within"), "^doc.x: a spread must be given for the judge"),
        (with_claim(spread=0.1), "^doc.x: a spread must be given for the judge"),
        (with_claim(judge="within", spread=0), "^doc.x: spread must be in"),
        (with_claim(setting=[1]), "^doc.x: setting must be a mapping"),
        (
            with_claim(rule="It is so."),
            "^doc.x: a rule must be written only for the judges ordering and statement; the rule of digits",
        ),
        (with_claim(rule="It is so.", judge="proof"), "^doc.x: a rule must be written .* the rule of proof is derived"),
        (with_claim(rule=5, judge="statement"), "^doc.x: rule must be a .quoted. string, got 5"),
        (with_claim(readings=5), "^doc.x: readings must map .*, or name interpretations, got 5"),
        (with_claim(readings={"a": "it"}), "^doc.x: readings must map two or more names"),
        (with_claim(readings={"a": "it", "b": ""}), "^doc.x: readings must map two or more names"),
        (with_claim(readings={"a": "it", "b": "they"}, own="c"), "^doc.x: own must name one of .* .a, b., got 'c'"),
        (with_claim(own="c"), "^doc.x: own must name"),
        (
            with_claim(readings={"a": "it", "b": "they"}, judge="proof"),
            "^doc.x: readings must not be given for the judge",
        ),
        (with_claim(setting={"delta": "1e-5"}), "^doc.x: setting delta must be a number, got the text"),
        (LEDGER.replace(", year: 2021, venue: A journal", ", year: 2021"), "^document later: .*venue"),
        ("documents: {}", "must contain 'documents' and 'claims'; it may contain 'interpretations'"),
        (with_claim(id="later.x", readings="doc-pair"), "^later.x: readings must name interpretations of its document"),
        (with_claim(id="compendium.nowhere.x"), "^compendium.nowhere.x: document must be one of .*, got 'nowhere'"),
        (
            with_claim(readings="nowhere"),
            "^doc.x: readings must name interpretations of its document .doc-pair., got 'nowhere'",
        ),
        (
            with_claim(readings=["doc-pair", "b"]),
            "^doc.x: readings must name interpretations of its document .doc-pair., got 'b'",
        ),
        (
            with_claim(apart="It is another."),
            "^doc.x: apart must be a .quoted. string, and be given only with readings",
        ),
        (with_claim(runs=3), "^doc.x: runs must be an integer of at least 2, and be given only with a spread, got 3"),
        (
            with_claim(judge="proof", random=True),
            "^doc.x: random must be true, and be given only for the judge 'digits'",
        ),
        (with_claim(judge="digits", random=3), "^doc.x: random must be true, .* got 3"),
        (with_claim(judge="within", spread=0.1, runs=1), "^doc.x: runs must be an integer of at least 2"),
    ],
)
def test_a_malformed_ledger_is_refused_by_id(tmp_path, text, message):
    path = tmp_path / "ledger.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        claims.load(path)


def test_the_ledger_is_read_again_when_it_changes(ledger):
    assert "doc.fresh" not in claims.load().claims
    ledger.write_text(LEDGER.replace("doc.number", "doc.fresh"), encoding="utf-8")
    os.utime(ledger, ns=(1, 1))
    assert "doc.fresh" in claims.load().claims


def test_where_the_ledger_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("COMPENDIUM_CLAIMS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert claims.ledger_path() == BOOK
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "claims.yml").write_text(LEDGER, encoding="utf-8")
    (tmp_path / "notebooks" / "doc").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks" / "doc")
    assert claims.ledger_path() == tmp_path / "book" / "claims.yml"
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(tmp_path / "absent.yml"))
    with pytest.raises(FileNotFoundError, match="absent.yml"):
        claims.ledger_path()


# ---------------------------------------------------------------- the book's own ledger


@pytest.fixture(scope="module")
def book():
    return claims.load(BOOK)


@pytest.mark.slow
def test_there_are_claims_of_every_document(book):
    assert {claim.document for claim in book.claims.values()} == set(book.documents)


@pytest.mark.slow
def test_miura2022_has_its_two_tables_cell_by_cell(book):
    cells = {f"miura2022.table1.{which}.n1e{k}" for which in ("unbounded", "bounded") for k in (4, 5, 6, 7)}
    cells |= {
        f"miura2022.table2.n1e{k}.alpha{a}.delta1e-{j}" for k in (6, 7) for a in (2, 4, 7, 10) for j in (2, 3, 4, 5)
    }
    assert {id for id in book.claims if id.startswith("miura2022.table")} == cells


@pytest.mark.slow
def test_the_ids_of_table_2_agree_with_their_settings(book):
    for id, claim in book.claims.items():
        if id.startswith("miura2022.table2."):
            n, alpha, delta = (part for part in id.split(".")[2:])
            assert claim.setting == {
                "d": 6,
                "sigma": 0.01,
                "n": float(n[1:]),
                "alpha": int(alpha[5:]),
                "delta": float(delta[5:]),
            }


@pytest.mark.slow
def test_table_2_is_consistent_with_the_conversion_so_it_was_copied_right(book):
    """Proposition 2.5: epsilon(delta) = epsilon + log(1/delta) / (alpha - 1), epsilon from Table 1."""
    for k in (6, 7):
        for alpha in (2, 4, 7, 10):
            row = [book.claims[f"miura2022.table2.n1e{k}.alpha{alpha}.delta1e-{j}"] for j in (2, 3, 4, 5)]
            printed = [Decimal(claim.printed) for claim in row]
            unit = float(max(claims._unit(value) for value in printed))
            renyi = [float(value) - math.log(10) * j / (alpha - 1) for j, value in zip((2, 3, 4, 5), printed)]
            assert max(renyi) - min(renyi) <= 1.01 * unit
            if alpha == 4:
                table1 = float(book.claims[f"miura2022.table1.unbounded.n1e{k}"].printed)
                assert renyi[0] == pytest.approx(table1, abs=unit)


NUMERIC = [id for id, claim in claims.load(BOOK).claims.items() if claim.judge in claims.NUMERIC_JUDGES]


@pytest.mark.slow
@pytest.mark.parametrize("id", NUMERIC)
def test_a_numeric_verdict_flips_where_the_value_is_moved_by_twice_its_tolerance(book, monkeypatch, id):
    monkeypatch.setenv("COMPENDIUM_CLAIMS", str(BOOK))
    printed, tolerance = claims._parse(book[id].printed), claims.tolerance(book[id])
    assert tolerance > 0
    # The spread of so few runs is less than two standard errors
    noisy = math.sqrt(book[id].runs or 100) * 1.1 < evidence.ERRORS
    near = "not determinable" if noisy else "differs"
    for times, verdict in ((0, "reproduced"), (0.9, "reproduced"), (1.1, near), (2, "differs")):
        for side in (-1, 1):
            moved = float(printed + side * Decimal(str(times)) * tolerance)
            moved = evidence.Mean(moved, 0.0) if book[id].random else moved
            value = Readings(dict.fromkeys(book[id].readings, moved)) if book[id].readings else moved
            assert claims.check(id, value).verdict == verdict, (times, side)


@pytest.mark.slow
def test_only_a_numeric_claim_has_a_tolerance(book):
    assert len(NUMERIC) > 100
    with pytest.raises(ValueError, match="got kiri2019.coin.protocol .judge"):
        claims.tolerance(book["kiri2019.coin.protocol"])


# ---------------------------------------------------------------- readings

CLEAR, NOISE, AGAINST = D(0.5, 0.1), D(0.1, 0.1), D(-0.5, 0.1)


@pytest.mark.parametrize(
    "thick, thin, verdict",
    [
        (True, False, "reproduced"),  # the document's own reading holds
        (CLEAR, AGAINST, "reproduced"),
        (True, True, "reproduced"),
        (False, True, "differs"),
        (NOISE, CLEAR, "not determinable"),
        (AGAINST, NOISE, "differs"),
        (NOISE, NOISE, "not determinable"),
        ([True, False], False, "differs"),  # of many bools each must hold
        (AGAINST, AGAINST, "differs"),
    ],
)
def test_an_own_reading_decides(ledger, thick, thin, verdict):
    (record,) = claims.judge("doc", {"open": Readings({"thin": thin, "thick": thick})}, {"open": "why"})
    assert record.verdict == verdict
    assert record.note.endswith("why")


@pytest.mark.parametrize(
    "values, verdict",
    [
        ((0.5, 0.5, 0.54), "reproduced"),
        ((0.5, 0.5, 0.56), "not determinable"),
        ((0.5, 0.44, 0.56), "not determinable"),
        ((0.6, 0.44, 0.56), "differs"),
    ],
)
def test_without_an_own_reading_all_decide(ledger, values, verdict):
    found = Readings(dict(zip(("mean", "median", "first"), values, strict=True)))
    assert claims.check("doc.unclear", found).verdict == verdict


def test_readings_by_themselves_hold_in_all_or_in_none():
    for values, holds in (
        ((True, True), True),
        ((False, AGAINST), False),
        ((True, False), None),
        ((False, NOISE), None),
    ):
        found = Readings(dict(enumerate(values)))
        assert evidence.holds(found) is holds
    assert evidence.told(Readings({"a": CLEAR, "b": NOISE, "c": False})) == (
        "The claim holds under “a”; it fails under “c”; it is left open by the noise under “b”."
    )
    for outcome, verb in ((CLEAR, "holds"), (False, "fails"), (NOISE, "is left open by the noise")):
        assert evidence.told(Readings({"a": outcome, "b": outcome})) == f"The claim {verb} under every interpretation."
    seven = Readings(dict(zip("abcdefg", [CLEAR, CLEAR, NOISE, False, False, False, True])))
    assert evidence.told(seven) == (
        "The claim holds under 3 of 7 interpretations; it fails under 3; it is left open by the noise under 1."
    )


def test_a_translation_finds_each_clause_of_what_is_told():
    """Names of interpretations may contain numbers, and a remark may follow."""
    told = evidence.told(Readings({"within 5 %": CLEAR, "1.5 times": True, "b": NOISE, "c": False}))
    first, *rest = retold.parts(f"{told} The mean is 0.5.")
    assert [found for found, _ in retold._clauses(first)] == ["holds", "fails", "is left open by the noise"]
    assert rest == ["The mean is 0.5."]


def test_in_japanese_each_count_has_its_counter_and_a_clause_before_another_its_own_form(monkeypatch):
    monkeypatch.setattr(edition, "language", "ja")
    claim = SimpleNamespace(document="miura2025", readings={})

    def told(*outcomes):
        return retold._part(retold.parts(evidence.told(Readings(dict(zip("abcdefg", outcomes)))))[0], claim)

    assert (
        told(CLEAR, NOISE, False)
        == "主張は、「a」では成り立つが、「c」では成り立たず、「b」ではノイズのため判定できない"
    )
    assert told(CLEAR, NOISE, False, False, False, True, True) == (
        "主張は、7通りの解釈のうち、3通りでは成り立つが、3通りでは成り立たず、1通りではノイズのため判定できない"
    )
    assert told(CLEAR, False, CLEAR) == "主張は、「a」、「c」では成り立つが、「b」では成り立たない"


def test_of_two_parts_of_a_name_the_one_that_decides_is_told():
    many = {
        f"{plan}, {limit}": outcome
        for plan in ("printed", "ours")
        for limit, outcome in (("half", CLEAR), ("all", False))
    }
    assert evidence.told(Readings(many)) == "The claim holds under “half”; it fails under “all”."
    other = {
        f"{limit}, {plan}": outcome
        for plan, outcome in (("printed", CLEAR), ("ours", False))
        for limit in ("half", "all")
    }
    assert evidence.told(Readings(other)) == "The claim holds under “printed”; it fails under “ours”."
    both = Readings({**many, "ours, half": False})
    assert (
        evidence.told(both)
        == "The claim holds under “printed, half”; it fails under “printed, all”, “ours, half” and “ours, all”."
    )
    whole = Readings({"printed, half": CLEAR, "ours, all": False})
    assert evidence.told(whole) == "The claim holds under “printed, half”; it fails under “ours, all”."


def test_a_record_shows_each_reading(ledger):
    record = claims.check("doc.unclear", Readings({"mean": 0.5, "median": 0.56, "first": 0.52}))
    assert record.reproduced == "mean: 0.5000; median: 0.5600; first: 0.5200"
    assert record.note == "The claim holds under “mean” and “first”; it fails under “median”."
    rule = claims.rule(claims.load(ledger)["doc.open"])
    assert (
        "The claim must hold under the interpretation that the document's words select, “thick”: thick: the thick line; thin: the thin line."
        in rule
    )
    assert claims.check("doc.unclear", None, stand_in=True).verdict == "stand-in"


def unequal(known):
    """Return the claims of one table or figure that share a reading but not the set, and do not say why: (one, another, what they share)."""
    found, seen = [], {}
    for id, claim in known.claims.items():
        place = re.match(r"\w+\.(?:table|fig)\w*\.", id)
        if place and not claim.apart:
            others = seen.setdefault(place[0], {})
            for names in map(frozenset, claim.sets):
                found += [
                    (other, id, sorted(names & each))
                    for each, other in others.items()
                    if names & each and names != each
                ]
                others.setdefault(names, id)
    return found


def test_claims_of_one_table_or_figure_share_their_readings(book):
    assert not unequal(book), "declare one set below interpretations, or say in `apart` why a claim has others"


@pytest.mark.parametrize(
    "readings, noticed",
    [
        ("doc-pair", 0),
        ("{deep: a deep tree, flat: a flat tree}", 0),
        ("{a: one, b: two}", 0),
        ("[doc-pair, doc-more]", 0),
        ("{deep: a deep tree, round: a round one}", 1),
        ("{deep: a deep tree, flat: a flat tree, round: a round one}", 1),
        ("{deep: a deep tree, round: a round one}, apart: it is of medians", 0),
    ],
)
def test_other_readings_than_those_of_the_table_are_noticed(ledger, readings, noticed):
    text = LEDGER.replace("claims:", "  doc-more: {x: here, y: there}\nclaims:").replace(
        "doc.either", "doc.table2.either"
    )
    one = f"{{id: doc.table2.other, item: Table 2, statement: A mean., printed: '1', judge: digits, readings: {readings}}}"
    ledger.write_text(f"{text}- {one}\n", encoding="utf-8")
    assert len(unequal(claims.load(ledger))) == noticed


def test_a_claim_with_several_sets_has_each_combination(ledger):
    text = LEDGER.replace("claims:", "  doc-more: {x: here, y: there}\nclaims:").replace(
        "readings: doc-pair", "readings: [doc-pair, doc-more]"
    )
    ledger.write_text(text, encoding="utf-8")
    claim = claims.load(ledger)["doc.either"]
    assert claim.readings == {
        "deep, x": "a deep tree; here",
        "deep, y": "a deep tree; there",
        "flat, x": "a flat tree; here",
        "flat, y": "a flat tree; there",
    }
    assert claims.rule(claim).endswith(
        "The claim must hold under all interpretations. Each combines one of (deep: a deep tree; flat: a flat tree) and one of "
        "(x: here; y: there)."
    )


# ---------------------------------------------------------------- results of our own


def test_our_own_results_are_judged_and_stand_apart(ledger):
    one = "{id: compendium.doc.theorem, item: Theorem A, statement: A bound., printed: it holds, judge: proof}"
    ledger.write_text(f"{LEDGER}- {one}\n", encoding="utf-8")
    known = claims.load(ledger)
    assert "compendium.doc.theorem" not in known.claims and list(known.own) == ["compendium.doc.theorem"]
    record = claims.check("compendium.doc.theorem", True)
    assert record.verdict == "reproduced" and record.source == "The compendium (2026), Theorem A"
    with pytest.raises(ValueError, match="nearest: compendium.doc.theorem"):
        claims.check("compendium.doc.theorems", True)


# ---------------------------------------------------------------- rules in words


@pytest.mark.slow
def test_every_claim_says_how_it_is_judged(book):
    """In every document, each ordering and each statement has its own rule."""
    assert not [id for id, claim in book.claims.items() if not claims.rule(claim)], "write a rule in claims.yml"


@pytest.mark.slow
def test_a_rule_is_a_sentence_that_says_when_the_verdict_is_reproduced(book):
    for id, claim in book.claims.items():
        if claim.rule:
            assert re.match(r"Reproduced (if|unless)\b.*\.$", claim.rule), id
            assert "$" not in claims.markup(claim.rule), id


@pytest.mark.parametrize(
    "id, told",
    [
        ("doc.number", "within 0.0005 of 0.576, half a unit of the last printed place"),
        ("doc.spread", "within 0.01 of 0.85, the spread that the paper prints"),
        (
            "doc.mean",
            "our mean lies within 0.005 of 0.79, half a unit of the last printed place. Otherwise the claim differs if",
        ),
        ("doc.runs", "standard error is 0.01, the spread over the square root of its 9 runs"),
        (
            "doc.either",
            "runs; ours is that of our repetitions. The claim must hold under all interpretations: deep: a deep tree; flat:",
        ),
        ("doc.theorem", "holds as printed in every case"),
        ("doc.title", "Read, not computed"),
        ("doc.order", "It falls at each step."),
        ("later.sentence", ""),
    ],
)
def test_the_rule_of_the_other_judges_is_made(ledger, id, told):
    ledger.write_text(
        LEDGER.replace("judge: ordering,", "judge: ordering, rule: It falls at each step.,"), encoding="utf-8"
    )
    rule = claims.rule(claims.load(ledger)[id])
    assert told in rule and bool(told) == bool(rule)


def test_a_tally_has_the_plural():
    assert claims.tally(["differs", "reproduced"]) == "2 claims: 1 reproduced, 1 differs"
    assert claims.tally(["differs", "differs"]) == "2 claims: 2 differ"
