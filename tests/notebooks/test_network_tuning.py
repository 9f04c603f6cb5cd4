"""The tuning study: as many settings for every method, chosen on one fold and compared on others; its kept results."""

import pandas as pd
import pytest

from notebooks.studies import network_comparison as study
from notebooks.studies import network_tuning as tuning

QUICK = study.Settings(epochs=4, folds=4)
KEPT = tuning.RESULTS.exists()


def run(at, **options):
    common = {"settings": QUICK, "selection": 3, "reported": (0, 1), "source": "stand-in", "limit": 1200}
    return tuning.run(at, **common | options)


def made_up(cells):
    """Return a frame of cells at one level and epsilon of AnonymizedLearning: (variant, fold, accuracy)."""
    rows = [("parameter", "AnonymizedLearning", 1.0, *cell) for cell in cells]
    return pd.DataFrame(rows, columns=["level", "method", "epsilon", "variant", "fold", "accuracy"])


# ---- the same effort


def test_every_method_has_the_same_number_of_settings_and_the_first_is_the_default():
    for settings in (tuning.DEFAULT, QUICK):
        tried = tuning.candidates(settings)
        assert set(tried) == set(tuning.METHODS)
        for named in tried.values():
            assert len(named) == 6 and next(iter(named.items())) == ("main", {})
            distinct = {repr(sorted((vars(settings) | changes).items())) for changes in named.values()}
            assert len(distinct) == 6  # and none of the others is the default again
    names = [name for named in tuning.candidates().values() for name in named if name != "main"]
    assert len(set(names)) == len(names)


def test_the_thresholds_reach_far_beyond_the_first():
    tried = [changes.get("thresholds", 0.1) for changes in tuning.candidates()["AnonymizedLearning"].values()]
    assert max(tried) == 3.0 and tried.count(1.0) == 2


def test_every_method_is_run_at_every_epsilon_and_ten_is_one():
    at = tuning.places()
    for method in study.DOCUMENT:
        assert {e for level, e in at[method] if level == "parameter"} == set(study.PARAMETER_EPSILONS)
    for method in set(tuning.METHODS) - {"AnonymizingFirst"}:
        assert [e for level, e in at[method] if level == "record"] == list(tuning.RECORD_EPSILONS)
    assert set(tuning.RECORD_EPSILONS) <= {e for _, e in at["AnonymizingFirst"]}
    assert 10.0 in study.PARAMETER_EPSILONS and 10.0 in tuning.RECORD_EPSILONS and 10.0 in study.FEW_EPSILONS


# ---- chosen on one fold, compared on others


def test_what_is_chosen_is_the_best_of_one_fold_only():
    cells = [("main", 9, 0.7), ("b", 9, 0.8), ("c", 9, float("nan")), ("d", 9, 0.8)]
    found = made_up([*cells, ("main", 0, 0.9), ("b", 0, 0.1), ("main", 1, 0.9), ("b", 1, 0.3)])
    assert tuning.chosen(found) == {("parameter", "AnonymizedLearning", 1.0): "b"}
    row = tuning.compared(found).iloc[0]
    assert row["setting"] == "b" and row["first"] == 0.9 and row["tuned"] == pytest.approx(0.2)
    assert row["tuned_error"] == pytest.approx(0.1) and row["gain"].value == pytest.approx(-0.7)
    assert row["gain"].holds is False  # worse than the first, and said so


def test_above_a_baseline_is_of_the_chosen_setting_or_of_the_first():
    cells = [("main", 9, 0.7), ("b", 9, 0.8)]
    cells += [(name, fold, value) for name, value in (("main", 0.5), ("b", 0.9)) for fold in (0, 1, 2)]
    lines = made_up([("main", fold, 0.75) for fold in range(5)]).assign(level="none", method="majority class")
    found = made_up(cells)
    above = {
        first: tuning.above(found, lines, "AnonymizedLearning", "majority class", first=first)[1.0] for first in (0, 1)
    }
    assert above[0].value == pytest.approx(0.15) and above[0].holds is True
    assert above[1].value == pytest.approx(-0.25) and above[1].holds is False


@pytest.mark.slow
def test_the_run_is_chosen_on_its_fold_and_leaves_out_what_is_known():
    at = {"AnonymizedLearning": [("parameter", 1e4)], "private logistic regression": [("record", 10.0)]}
    found = run(at)
    assert not found.duplicated(tuning.PLACE).any()
    assert (found.groupby("method")["fold"].apply(lambda folds: (folds == 3).sum()) == 6).all()
    best = tuning.chosen(found, 3)
    for (level, method, epsilon), name in best.items():
        other = found[(found["method"] == method) & (found["fold"] != 3)]
        assert set(other["variant"]) == {"main", name} and set(other["fold"]) == {0, 1}
    known = found[(found["variant"] == "main") & (found["method"] == "AnonymizedLearning")]
    again = run(at, known=known)
    both = pd.concat([again, known]).set_index(tuning.PLACE).sort_index()
    pd.testing.assert_series_equal(both["accuracy"], found.set_index(tuning.PLACE).sort_index()["accuracy"])


@pytest.mark.slow
def test_anonymizing_first_counts_at_both_levels():
    found = run({"AnonymizingFirst": [("parameter", 10.0)]})
    table = tuning.compared(found, 3)
    assert (
        table.loc[("record", "AnonymizingFirst", 10.0), "tuned"]
        == table.loc[("parameter", "AnonymizingFirst", 10.0), "tuned"]
    )


# ---- the kept results


@pytest.mark.slow
@pytest.mark.skipif(not KEPT, reason="the study has not been run")
def test_the_kept_results_have_every_setting_of_every_method():
    found = tuning.load()
    assert not found.duplicated(tuning.PLACE).any()
    for method, at in tuning.places().items():
        for level, epsilon in at:
            own = found[(found["method"] == method) & (found["level"] == level) & (found["epsilon"] == epsilon)]
            assert set(own[own["fold"] == tuning.SELECTION]["variant"]) == set(tuning.candidates()[method])
            best = tuning.chosen(found)[level, method, epsilon]
            for fold in tuning.REPORTED:
                assert set(own[own["fold"] == fold]["variant"]) == {"main", best}


@pytest.mark.skipif(not KEPT, reason="the study has not been run")
def test_wider_thresholds_make_anonymized_learning_far_better_at_10():
    row = tuning.compared(tuning.load()).loc[("parameter", "AnonymizedLearning", 10.0)]
    assert row["setting"].startswith("thresholds") and row["gain"].value > 0.03 and row["gain"].holds
