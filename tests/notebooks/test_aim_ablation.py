"""Comparisons of AIM's variants: against single runs, known numbers, and the committed results."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lib.data import datasets
from lib.tables import utility
from lib.tables.adaptive_iterative import aim
from notebooks.studies import aim_ablation
from tests import made_up

DELTA = 1e-5


@pytest.fixture(scope="module")
def table():
    return made_up.dependent_table()


# ---- running and measuring


def test_a_row_is_what_the_run_was(table):
    plan = replace(aim_ablation.QUICK, start="none")
    frame = aim_ablation.compare(table, {"low": {"epsilon": 0.5, "plan": plan}}, 2, seed=3, delta=DELTA)
    result = aim(table, 0.5, DELTA, rng=np.random.default_rng([3, 1]), plan=plan)
    row = frame.loc["low", 1]
    assert [row["error1"], row["error3"]] == [utility.marginal_error(table, result.synthetic, k) for k in (1, 3)]
    assert (row["steps"], row["cells"], row["converged"]) == (len(result.steps), result.model.size, True)
    assert row["cpu_s"] > 0


@pytest.mark.slow
def test_a_variant_does_not_depend_on_the_company(table):
    high, low = {"high": {"epsilon": 10.0}}, {"low": {"epsilon": 0.1}}
    alone = aim_ablation.compare(table, high, 2, seed=3, delta=DELTA).drop(columns="cpu_s")
    both = aim_ablation.compare(table, low | high, 2, seed=3, delta=DELTA).drop(columns="cpu_s")
    pd.testing.assert_frame_equal(alone, both.loc[["high"]], check_dtype=False)
    assert (both.loc["low", "error2"] > both.loc["high", "error2"].max()).all()


@pytest.mark.full
def test_an_interrupted_comparison_resumes_in_any_number_of_processes(table, tmp_path, monkeypatch):
    variants = {"high": {"epsilon": 10.0}, "low": {"epsilon": 0.1}}
    whole, calls = aim_ablation.compare(table, variants, 2, seed=3, delta=DELTA).drop(columns="cpu_s"), []

    def interrupted(*arguments, **options):
        calls.append(options)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return aim(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(aim_ablation, "aim", interrupted)
        with pytest.raises(KeyboardInterrupt):
            aim_ablation.compare(table, variants, 2, seed=3, delta=DELTA, folder=tmp_path)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == 2
    resumed = aim_ablation.compare(table, variants, 2, seed=3, delta=DELTA, folder=tmp_path, jobs=2)
    pd.testing.assert_frame_equal(resumed.drop(columns="cpu_s"), whole)
    assert kept.items() <= {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}.items()
    for other in (
        {"seed": 4},
        {"delta": 2 * DELTA},
        {"epsilon": 2.0},
    ):  # other cells, but for the epsilon that variants have
        aim_ablation.compare(table, {"plain": {}}, 1, **({"seed": 3, "delta": DELTA} | other), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4 + 3


def test_widths_take_the_first_attributes(table):
    frame = aim_ablation.widths(table, 1, seed=0, counts=(3, 4))
    assert list(frame.index) == [(3, 0), (4, 0)]
    alone = aim_ablation.compare(table.project(("a", "b", "c")), {3: {}}, 1, seed=0)
    assert frame.loc[(3, 0), "error2"] == alone.loc[(3, 0), "error2"]


@pytest.mark.parametrize("counts", [(2,), (5,), (3.5,)])
def test_widths_refuses_attributes_that_are_not_there(table, counts):
    with pytest.raises(ValueError, match="counts"):
        aim_ablation.widths(table, 1, seed=0, counts=counts)


@pytest.mark.parametrize("bad", [{"trials": 0}, {"trials": 1.5}, {"seed": -1}])
def test_compare_refuses_bad_numbers(table, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        aim_ablation.compare(table, {"AIM": {}}, **({"trials": 1, "seed": 0} | bad))


@pytest.mark.slow
def test_every_device_is_an_option_that_aim_has(table):
    frame = aim_ablation.compare(table, aim_ablation.devices(4), 1, seed=1, delta=DELTA)
    assert list(frame.index.get_level_values("variant")) == list(aim_ablation.devices(4))
    steps = frame["steps"].droplevel("trial")
    assert steps["T = 16d, no annealing"] > 2 * steps["AIM"]


# ---- differences


def trials_of(values) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([values, range(len(next(iter(values.values()))))], names=["variant", "trial"])
    return pd.DataFrame({"error2": np.concatenate(list(values.values()))}, index=index)


def test_differences_of_known_numbers():
    frame = trials_of({"old": [9.0, 10.0, 11.0], "new": [19.0, 20.0, 24.0]})
    found = aim_ablation.differences(frame, "old", "error2")
    assert found.loc["old"].tolist() == [0, 0, 0]
    # differences 10, 10 and 13 in units of 10: mean 110 %, variance 300, two standard errors of 10 %
    np.testing.assert_allclose(found.loc["new"], [110, 90, 130])


@pytest.mark.slow
def test_two_standard_errors_hold_the_truth_nineteen_times_in_twenty():
    """400 comparisons of 50 pairs: 95.4 % expected, 91 % to 99 % is five standard errors (false alarm 1e-5)."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        common = rng.normal(10, 1, 50)
        frame = trials_of({"old": common + rng.normal(0, 0.5, 50), "new": common + 0.1 + rng.normal(0, 0.5, 50)})
        low, high = aim_ablation.differences(frame, "old", "error2").loc["new", ["low", "high"]]
        hits += low <= 1.0 <= high
    assert 0.91 < hits / 400 < 0.99


def test_differences_want_a_reference_and_whole_trials():
    with pytest.raises(ValueError, match="reference"):
        aim_ablation.differences(trials_of({"old": [1.0, 2.0]}), "new", "error2")
    with pytest.raises(ValueError, match="trials of each variant, at least two"):
        aim_ablation.differences(trials_of({"old": [1.0]}), "old", "error2")
    uneven = trials_of({"old": [1.0, 2.0], "new": [1.0, 2.0]}).iloc[:-1]
    with pytest.raises(ValueError, match="the same number"):
        aim_ablation.differences(uneven, "old", "error2")


# ---- files


def test_what_is_saved_can_be_loaded(tmp_path):
    index = pd.MultiIndex.from_tuples([("epsilon", 0.1, 0), ("attributes", 3, 0)], names=["study", "variant", "trial"])
    frame = pd.DataFrame({"error1": [0.25, 0.5], "converged": [True, False], "cpu_s": [0.123, 1.0]}, index=index)
    path = tmp_path / "new" / "ablation.csv"
    aim_ablation.save(frame, path, {"seed": 3, "command": "a: b"})
    assert aim_ablation.provenance(path) == {"seed": "3", "command": "a: b"}
    loaded = aim_ablation.load("epsilon", path)
    assert loaded.loc[(0.1, 0)].tolist() == [0.25, True, 0.12]
    assert [file.name for file in path.parent.iterdir()] == ["ablation.csv"]
    with pytest.raises(ValueError, match="study must be one of"):
        aim_ablation.load("devices", path)


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    index = pd.MultiIndex.from_tuples([("epsilon", 0.1, 0)], names=["study", "variant", "trial"])
    frame, path = pd.DataFrame({"cpu_s": [1.0]}, index=index), tmp_path / "ablation.csv"
    path.write_text("before")
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        aim_ablation.save(frame, path, {})
    assert path.read_text() == "before"


@pytest.mark.full
def test_the_command_writes_every_study(tmp_path, monkeypatch, table):
    monkeypatch.setattr(aim_ablation.encodings, "adult_table", lambda **_: table)
    monkeypatch.setattr(aim_ablation.encodings, "bank_table", lambda **_: table)
    monkeypatch.setattr(aim_ablation, "WIDTHS", (3, 4))
    monkeypatch.setattr(aim_ablation, "EPSILONS", (0.1, 1.0))
    path = tmp_path / "ablation.csv"
    aim_ablation.main(
        [
            "--output",
            str(path),
            "--data",
            "stand-in",
            "--trials",
            "1",
            "--seed",
            "5",
            "--cells",
            str(tmp_path / "cells"),
        ]
    )
    assert len(aim_ablation.load("devices on Adult", path)) == len(aim_ablation.devices(9)) == 21
    assert set(aim_ablation.load("devices on Bank", path).index.levels[0]) == set(aim_ablation.ON_BANK)
    for study in ("epsilon", aim_ablation.OUR_EPSILON):
        assert list(aim_ablation.load(study, path).index) == [(0.1, 0), (0.1, 1), (1.0, 0), (1.0, 1)]
    assert set(aim_ablation.load("attributes", path).index.get_level_values("variant")) == {3, 4}
    assert aim_ablation.provenance(path)["settings"] == "delta 1e-09, seed 5, trials 1"


def test_the_committed_results_are_of_the_real_data_and_whole():
    told = aim_ablation.provenance()
    assert told["data"] == "real" and "trials 100" in told["settings"]
    assert told["SHA-256 of adult.data"] == datasets.SOURCES["adult.data"].sha256
    for study, variants in {
        "devices on Adult": list(aim_ablation.devices(9)),
        "epsilon": list(aim_ablation.EPSILONS),
        aim_ablation.OUR_EPSILON: list(aim_ablation.EPSILONS),
        "attributes": list(aim_ablation.WIDTHS),
    }.items():
        frame = aim_ablation.load(study)
        assert list(dict.fromkeys(frame.index.get_level_values("variant"))) == variants
        assert frame["converged"].all() and frame["error3"].between(0, 2).all()
        assert set(frame.groupby(level="variant").size()) == {100 if study.startswith("devices") else 10}
