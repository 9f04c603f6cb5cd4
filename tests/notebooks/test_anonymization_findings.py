"""The findings on Figure 1: tables, and evidence under each interpretation."""

import functools

import numpy as np
import pandas as pd
import pytest

from book.ledger import claims, evidence
from notebooks.studies import anonymization_comparison, anonymization_findings, kernel_widths
from notebooks.studies.anonymization_comparison import KS
from notebooks.studies.anonymization_findings import BASELINES, KERNELS, LIMITS, LOSSES
from notebooks.studies.anonymization_readings import SETUPS

LEDGER = claims.load().claims


def figure(reconstructed=0.02, suppressed=0.03, heights=0.0, only=None, splits=2) -> pd.DataFrame:
    """Return a study with these AUC above 0.8, that of the perturbed records, which falls with k.

    heights : by how much the baselines' AUC is higher with the second loss
    only : of the kernels, the one that reconstructs so; the others give what the perturbed records do
    """
    rows = []
    for split in range(splits):
        for k in KS:
            level = 0.8 - k / 1e4
            rows += [(setup, "perturbed", k, split, level) for setup in SETUPS]
            for kernel, (setup, method) in KERNELS.items():
                gain = reconstructed + split / 1e4 if only in (None, kernel) else 0.0
                rows += [(setup, method, k, split, level + gain)]
            for loss, more in (("", 0.0), (", precision", heights)):
                rows += [
                    ("-", f"generalized{loss}", k, split, 0.75 + more),
                    ("-", f"generalized 20 % out{loss}", k, split, level + suppressed + more),
                    ("-", f"suppressed on levels{loss}", k, split, 0.896 - more),
                ]
            rows += [("-", "suppressed", k, split, level + suppressed if k < 50 else np.nan)]
        rows += [("-", "original", 1, split, 0.9)]
    frame = pd.DataFrame(rows, columns=["setup", "method", "k", "split", "auc"]).drop_duplicates()
    return frame.assign(effective=1000.4, removed=0.1, width=np.nan)


@functools.cache
def found_as(**options) -> dict:
    """Return the verdicts of `figure`."""
    return anonymization_findings.verdicts(figure(**options))


def holds(found) -> dict:
    """Return whether each reading of each of these sentences holds: True, False, or None within the noise."""
    return {
        claim.removeprefix("figure1."): {name: evidence.holds(each) for name, each in each_found.values.items()}
        for claim, each_found in found.items()
    }


def verdict(found, claim) -> str:
    return claims.check(f"hasegawa2015.{claim}", found[claim], reason="it does").verdict


@pytest.mark.slow
def test_every_sentence_has_the_readings_that_the_ledger_lists():
    found = dict(found_as())
    found["figure1.suppression-removed.k50"] = anonymization_findings.removed(anonymization_comparison.load())
    found["section5.kernel-width"] = anonymization_findings.widths(kernel_widths.load())
    for claim, value in found.items():
        assert list(value.values) == list(LEDGER[f"hasegawa2015.{claim}"].readings), claim
    asked = {id for id, claim in LEDGER.items() if id.startswith("hasegawa2015.figure1") and claim.readings}
    beside = {"hasegawa2015.figure1.randomization-grows-slowly"}  # of the levels alone, in the chapter
    assert asked == beside | {f"hasegawa2015.{claim}" for claim in found if claim.startswith("figure1")}
    assert list(LEDGER["hasegawa2015.section5.removed-contribute-little"].readings) == list(LIMITS)


@pytest.mark.slow
def test_readings_are_pk_anonymous():
    assert all(SETUPS[setup].share != "whole" for setup, _ in KERNELS.values())
    falls = found_as()["figure1.perturbed-falls"].values
    assert set(falls) == {name for name, setup in SETUPS.items() if setup.share != "whole"}


def test_gains_are_differences_split_by_split():
    study = figure()
    own = study[study["setup"].eq("published") & study["method"].isin(["perturbed", "kernel 1000 standard"])]
    found = anonymization_findings.gains(own)
    assert list(found.index) == [("published", "kernel 1000 standard")]
    row = found.iloc[0]
    assert row["gain"] == pytest.approx(0.02005) and row["cells"] == 8 and row["effective"] == 1000
    assert row["error"] == pytest.approx(np.std([0.02] * 4 + [0.0201] * 4, ddof=1) / np.sqrt(8)) and row["better"] == 1
    assert len(anonymization_findings.gains(study, ["setup", "method", "k"])) == 4 * len(KERNELS)


@pytest.mark.slow
def test_a_sentence_holds_where_the_lines_say_so():
    found = holds(found_as())
    alone = {f"{kernel}, {baseline}" for kernel in KERNELS for baseline in BASELINES if baseline not in LOSSES}
    for k in KS:  # at 50 nothing is left of the suppression of records alone
        assert {name for name, each in found[f"proposed-best.k{k}"].items() if each} == (alone if k == 50 else set())
    assert all(found["generalization-worst.k3"].values()) and all(found["perturbed-falls"].values())
    assert all(found["reconstruction-improves"].values()) and not any(found["near-equal-suppression.k3"].values())
    assert {name[-4:] == "0.02" for name, each in found["near-equal-perturbed.k3"].items() if each is not False} == {
        True
    }
    best = holds(found_as(reconstructed=0.004, suppressed=0.001))
    assert all(all(best[f"proposed-best.k{k}"].values()) for k in KS)
    assert all(best["near-equal-perturbed.k3"].values()) and all(best["near-equal-suppression.k3"].values())
    worse = holds(found_as(reconstructed=-0.1))
    assert not any(worse["generalization-worst.k3"].values()) and not any(worse["reconstruction-improves"].values())


@pytest.mark.slow
def test_level_is_to_change_less_than_the_perturbed_records_do():
    study = figure()
    assert not any(holds(found_as())["reconstructed-level"].values())  # it falls as they do
    kernels = study["method"].str.startswith("kernel")
    level = study.assign(auc=np.where(kernels, 0.85 + study["split"] / 1e4, study["auc"]))
    assert all(holds(anonymization_findings.verdicts(level))["reconstructed-level"].values())
    rising = level.assign(auc=level["auc"] + np.where(kernels, level["k"] / 1e4, 0))
    assert not any(holds(anonymization_findings.verdicts(rising))["reconstructed-level"].values())


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_reading_alone_reproduces_nothing_and_refutes_nothing(kernel):
    found = anonymization_findings.verdicts(figure(reconstructed=0.3, only=kernel))
    assert holds(found)["proposed-best.k3"][f"{kernel}, widths"] is True
    assert verdict(found, "figure1.proposed-best.k3") == "not determinable"


@pytest.mark.slow
def test_all_readings_together_reproduce_and_none_of_them_refutes():
    assert verdict(found_as(reconstructed=0.3), "figure1.proposed-best.k3") == "reproduced"
    assert verdict(found_as(reconstructed=0.0), "figure1.proposed-best.k3") == "differs"


@pytest.mark.slow
def test_the_baselines_are_asked_with_both_losses():
    both = found_as(reconstructed=0.035, heights=0.01)
    found = holds(both)["proposed-best.k3"]
    assert found == {name: not name.endswith("heights") for name in found} and len(found) == 4 * len(KERNELS)
    assert verdict(both, "figure1.proposed-best.k3") == "not determinable"
    reason = holds(found_as(heights=0.01))["suppression-reason"]
    assert reason == {f"{baseline}, {limit}": baseline in LOSSES and (baseline, limit) != ("heights", "0.005")
                      for baseline in BASELINES for limit in LIMITS}  # fmt: skip
    assert list(BASELINES) == ["widths", "heights", "widths, records alone", "heights, records alone"]


@pytest.mark.slow
def test_what_splits_disagree_about_is_within_the_noise():
    noisy = figure(reconstructed=0.0)
    kernels = noisy["method"].str.startswith("kernel")
    noisy.loc[kernels & (noisy["split"] == 0), "auc"] -= 0.0015
    within = anonymization_findings.verdicts(noisy)
    found = holds(within)
    assert set(found["reconstruction-improves"].values()) == {None}
    assert set(found["proposed-best.k3"].values()) == {False}  # suppression is clearly ahead
    assert all(found["near-equal-perturbed.k3"].values()) and all(found["perturbed-falls"].values())
    assert verdict(within, "figure1.reconstruction-improves") == "not determinable"


def test_a_reading_with_fewer_splits_is_compared_on_those():
    study = figure(splits=4)
    gone = (study["method"] == "kernel 1000 none") & (study["split"] > 2)
    study.loc[study["split"] == 3, "auc"] += 0.5  # of splits that the kernel has not seen
    found = anonymization_findings.verdicts(study[~gone])["figure1.reconstruction-improves"].values["features unscaled"]
    assert found["k = 3"].value == pytest.approx(0.0201)


def test_the_share_removed_is_that_of_each_reading():
    rows = [("-", method, 50, split, 0.9, share) for split in (0, 1) for method, share in
            (("suppressed", 1.0), ("generalized 20 % out", 0.16), ("generalized 20 % out, precision", 0.18 + split / 50))]  # fmt: skip
    study = pd.DataFrame(rows, columns=["setup", "method", "k", "split", "auc", "removed"]).assign(
        effective=1.0, width=1.0
    )
    found = anonymization_findings.removed(study).values
    assert [*found] == [*BASELINES]
    assert [each.value for each in found.values()] == pytest.approx([0.16, 0.19, 1.0, 1.0])
    assert [each.error for each in found.values()] == pytest.approx([0.0, 0.01, 0.0, 0.0])


def test_suppression_that_leaves_no_record_is_compared_with_nothing():
    found = found_as()["figure1.proposed-best.k50"].values
    assert list(found["features at variance 1, widths"]) == ["than p", "than g", "than s"]
    assert list(found["features at variance 1, widths, records alone"]) == ["than p", "than g"]


def chosen(*widths):
    """Return a study of cross-validations that chose these widths, for each scaling."""
    return pd.DataFrame(
        [(scaling, width) for scaling in kernel_widths.SCALINGS for width in widths], columns=["scaling", "width"]
    )


@pytest.mark.parametrize(
    ("often", "expected"),
    [(12, "reproduced"), (2, "not determinable"), (0, "differs")],
)
def test_the_printed_width_has_to_be_chosen_in_more_than_one_of_twenty_runs(often, expected):
    value = anonymization_findings.widths(chosen(*[1000.0] * often, *[100.0] * (72 - often)))
    assert claims.check("hasegawa2015.section5.kernel-width", value, reason="so").verdict == expected
    assert list(value.values) == ["unscaled", "variance 1", "public range"] and value.values[
        "unscaled"
    ].value == pytest.approx(often / 72)
