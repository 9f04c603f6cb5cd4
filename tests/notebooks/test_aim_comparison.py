"""The grid of methods: separate cells, kept on disk, resumed, and the committed results."""

import dataclasses
import functools
import itertools
import json

import numpy as np
import pandas as pd
import pytest

from book.ledger import claims
from lib.data import datasets
from lib.tables import utility
from lib.tables.plan import AUTHORS_CODE, PRINTED
from lib.tables.table import Domain, Table
from notebooks.studies import aim_comparison
from notebooks.studies.aim_comparison import AS_PRINTED, METHODS, MODELS, PRINTED_METHODS, Case, Settings
from notebooks.studies.prediction import train_synthetic_test_real

DOMAIN = Domain({"a": 2, "b": 3, "c": 2, "y": 2})


def table(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, size=n), rng.integers(3, size=n)
    return Table(np.stack([a, b, (a + (b == 1)) % 2, (a + (rng.random(n) < 0.2)) % 2], axis=1), DOMAIN)


CASE = Case("small", table(600, 1), table(300, 2), "y")
SETTINGS = Settings(delta=1e-6, seed=3)


@functools.cache
def study():
    """Return the default study, for all tests that do not change it."""
    return small()


def small(**options):
    return aim_comparison.grid(
        [CASE], options.pop("settings", SETTINGS), **({"methods": ("aim-k2", "bayes"), "trials": 2} | options)
    )


# ---- what a cell is


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_records_over_the_domain(method):
    synthetic = aim_comparison.synthesize(CASE.real, method, 1.0, 1e-6, rng=np.random.default_rng(0))
    assert synthetic.domain == DOMAIN
    assert abs(len(synthetic) - 600) < 150  # a noisy count: standard deviation below 25 at this budget


def test_the_variants_differ_from_the_default_in_the_one_thing_they_are_named_for(monkeypatch):
    asked = {}
    for method in METHODS | PRINTED_METHODS:
        monkeypatch.setattr(
            aim_comparison, "aim", lambda *a, rng, **options: asked.__setitem__(method, options) or STOP
        )
        monkeypatch.setattr(
            aim_comparison, "privbayes", lambda *a, rng, **options: asked.__setitem__(method, options) or STOP
        )
        aim_comparison.synthesize(CASE.real, method, 1.0, 1e-6, rng=None)
    assert asked == {
        name + ending: {"workload": workload, "plan": dataclasses.replace(plan, **changed)}
        for ending, plan in (("", AUTHORS_CODE), (AS_PRINTED, PRINTED))
        for name, workload, changed in (
            ("aim-k2", 2, {}), ("aim-k3", 3, {}), ("aim-noinit", 2, {"start": "none"}), ("aim-lap", 2, {"noise": "laplace"})
        )
    } | {"bayes": {"parents": 2}}  # fmt: skip


class STOP:
    synthetic = table = None


def test_a_copy_of_the_records_is_perfect():
    scores = aim_comparison.evaluate(CASE, CASE.real, depth=5, rng=np.random.default_rng(0))
    assert [scores[name] for name in ("error1", "error2", "error3", "mi_error")] == [0, 0, 0, 0]
    assert all(scores[model] > 0.75 for model in MODELS)  # y follows a in four records of five


def test_what_is_held_out_is_not_synthesised_and_shared_by_all_methods(monkeypatch):
    seen = {}
    held = Case("held", CASE.real, CASE.real, "y", held=0.2)

    def noted(table, method, *_, **__):
        seen.setdefault(method, []).append(table)
        return table

    tested = []
    real = aim_comparison.train_synthetic_test_real
    monkeypatch.setattr(aim_comparison, "synthesize", noted)
    monkeypatch.setattr(
        aim_comparison, "train_synthetic_test_real", lambda s, t, *a, **o: tested.append(t) or real(s, t, *a, **o)
    )
    aim_comparison.grid([held], SETTINGS, methods=("aim-k2", "bayes"), trials=2)
    kept = [aim_comparison.digest(table) for table in seen["aim-k2"]]
    assert kept == [aim_comparison.digest(table) for table in seen["bayes"]] and len(set(kept)) == 2
    assert {len(table) for table in seen["aim-k2"]} == {480} and {len(table) for table in tested} == {120}
    first, out = seen["aim-k2"][0], tested[0]
    together = first.marginal(DOMAIN.attributes) + out.marginal(DOMAIN.attributes)
    np.testing.assert_array_equal(together, CASE.real.marginal(DOMAIN.attributes))


@pytest.mark.slow
def test_a_radial_kernel_is_trained_in_the_first_trials_only():
    scores = small(settings=Settings(delta=1e-6, seed=3, kernels=1)).scores
    assert list(scores["radial"].notna()) == [True, False] * 2 and scores["flat"].notna().all()


@pytest.mark.slow
def test_each_reading_of_the_claims_has_a_column_and_a_case():
    ledger, columns = claims.load(), small(methods=("bayes",)).scores.columns
    for number, name in ((2, "adult"), (3, "bank")):
        for model, settings in aim_comparison.SETTINGS.items():
            named = [", ".join(filter(None, pair)) for pair in itertools.product(settings, aim_comparison.TESTED[name])]
            assert list(ledger[f"miura2025.table{number}.{name}.bayes.{model}"].readings) == named
            assert set(settings.values()) <= set(columns)
    assert {case.name for case in aim_comparison.cases("stand-in")} == {
        case for tested in aim_comparison.TESTED.values() for case in tested.values()
    }


def test_the_scores_are_those_of_utility():
    synthetic = table(500, 9)
    scores = aim_comparison.evaluate(CASE, synthetic, depth=2, rng=np.random.default_rng(4))
    assert scores["error2"] == utility.marginal_error(CASE.real, synthetic, 2)
    assert scores["records"] == 500
    tree = train_synthetic_test_real(synthetic, CASE.test, "y", depth=2, rng=np.random.default_rng(4))
    assert scores["tree"] == tree
    assert scores["information"][0] == utility.mutual_information(synthetic)[0, 1]


# ---- the grid


@pytest.mark.slow
def test_a_cell_does_not_depend_on_the_others():
    everything, alone = study().scores, small(methods=("bayes",), trials=1).scores
    same = everything.query("method == 'bayes' and trial == 0").reset_index(drop=True)
    pd.testing.assert_frame_equal(same, alone)


@pytest.mark.slow
def test_trials_and_seeds_differ():
    first, other = study().scores, small(settings=Settings(delta=1e-6, seed=4)).scores
    columns = ["error1", "error2", "error3"]  # one alone may agree by chance: so few records, so few values
    assert len(first[columns].drop_duplicates()) == 4
    assert first[columns].merge(other[columns]).empty


@pytest.mark.full
def test_processes_share_the_work_without_changing_it():
    one, two = small(), small(jobs=2)
    pd.testing.assert_frame_equal(one.scores, two.scores)
    pd.testing.assert_frame_equal(one.information, two.information)


@pytest.mark.slow
def test_the_information_is_the_mean_over_the_trials():
    found = aim_comparison.matrix(study(), "small", "original")
    expected = utility.mutual_information(CASE.real)
    off = ~np.eye(4, dtype=bool)
    assert list(found.index) == list(found.columns) == list(DOMAIN.attributes)
    np.testing.assert_allclose(found.to_numpy()[off], expected[off], rtol=1e-12)
    synthetic = [
        aim_comparison.synthesize(CASE.real, "bayes", 1.0, 1e-6, rng=rng)
        for rng in (
            np.random.default_rng([3, aim_comparison.zlib.crc32(b"small/bayes/1.0"), trial]) for trial in range(2)
        )
    ]
    one, two = (utility.mutual_information(table) for table in synthetic)
    found = aim_comparison.matrix(study(), "small", "bayes").to_numpy()
    np.testing.assert_allclose(found[off], (one + two)[off] / 2, rtol=1e-12)
    deviation = study().information.query("method == 'bayes'")["deviation"]
    np.testing.assert_allclose(deviation, abs(one - two)[np.triu_indices(4, 1)] / 2, rtol=1e-9)
    assert study().information.query("method == 'original'")["deviation"].isna().all()
    with pytest.raises(ValueError, match="aim-lap"):
        aim_comparison.matrix(study(), "small", "aim-lap")


@pytest.mark.full
def test_an_interrupted_grid_resumes(tmp_path, monkeypatch):
    whole, real, calls = small(), aim_comparison.synthesize, []

    def interrupted(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **options)

    monkeypatch.setattr(aim_comparison, "synthesize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small(folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    resumed = small(folder=tmp_path)
    assert len(calls) == 3 + 2  # the cell that was interrupted and the last one
    pd.testing.assert_frame_equal(resumed.scores, whole.scores)
    small(folder=tmp_path)
    assert len(calls) == 5


def test_a_kept_cell_counts_only_for_what_it_was_made_from():
    key = aim_comparison._key
    other = Case("small", table(600, 7), CASE.test, "y")
    keys = {
        key(CASE, "aim-k2", 1.0, 0, SETTINGS),
        key(CASE, "aim-k3", 1.0, 0, SETTINGS),
        key(CASE, "aim-k2", 2.0, 0, SETTINGS),
        key(CASE, "aim-k2", 1.0, 1, SETTINGS),
        key(CASE, "aim-k2", 1.0, 0, Settings(delta=1e-6, seed=3, depth=None)),
        key(CASE, "aim-k2", 1.0, 0, Settings(delta=1e-7, seed=3)),
        key(other, "aim-k2", 1.0, 0, SETTINGS),
        key(dataclasses.replace(CASE, held=0.2), "aim-k2", 1.0, 0, SETTINGS),
    }
    assert len(keys) == 8
    assert key(CASE, "aim-k2", 1.0, 0, SETTINGS) in keys


@pytest.mark.slow
def test_a_damaged_cell_is_named(tmp_path, capsys):
    whole = small(folder=tmp_path, methods=("bayes",), trials=1)
    kept = next(tmp_path.iterdir())
    kept.write_text(kept.read_text()[:20])
    pd.testing.assert_frame_equal(small(folder=tmp_path, methods=("bayes",), trials=1).scores, whole.scores)
    assert f"{kept.name} is damaged" in capsys.readouterr().err


@pytest.mark.slow
def test_runs_by_each_plan_have_the_names_of_the_methods(monkeypatch):
    """PrivBayes is in both; a study without runs as printed has one plan."""
    for method, options in PRINTED_METHODS.items():  # a tenth of the steps: they are most of the time
        shorter = dataclasses.replace(options["plan"], descent=100) if "plan" in options else None
        monkeypatch.setitem(PRINTED_METHODS, method, options | ({"plan": shorter} if shorter else {}))
    both_plans = small(printed=1)
    printed, code = (aim_comparison.by_plan(both_plans)[plan] for plan in aim_comparison.PLANS)
    assert printed.scores["method"].value_counts().to_dict() == dict.fromkeys(METHODS, 1) | {"bayes": 2}
    assert code.scores["method"].value_counts().to_dict() == {"aim-k2": 2, "bayes": 2}
    both = both_plans.scores.set_index(["method", "trial"])["error3"]
    of_k2 = printed.scores.set_index(["method", "trial"])["error3"]["aim-k2"][0]
    assert of_k2 == both["aim-k2, as printed"][0] != both["aim-k2"][0]
    assert set(printed.information["method"]) == {*METHODS, "original"}
    assert list(aim_comparison.by_plan(small(methods=("aim-k2",)))) == ["authors' code"]


# ---- the files


@pytest.mark.slow
def test_a_saved_study_is_loaded_again(tmp_path):
    aim_comparison.save(study(), tmp_path, {"date": "2026-11-21", "settings": "delta: 1e-06"})
    again = aim_comparison.load(tmp_path)
    pd.testing.assert_frame_equal(again.scores, study().scores, rtol=0, atol=5.1e-7)
    pd.testing.assert_frame_equal(again.information, study().information, rtol=0, atol=5.1e-7)
    assert aim_comparison.provenance(tmp_path) == {"date": "2026-11-21", "settings": "delta: 1e-06"}


@pytest.mark.slow
def test_the_command_writes_both_files_with_their_provenance(tmp_path, monkeypatch):
    monkeypatch.setattr(aim_comparison, "cases", lambda source: [CASE])
    monkeypatch.setattr(aim_comparison, "synthesize", lambda table, method, *_, **__: table)
    aim_comparison.main(
        ["--output", str(tmp_path / "out"), "--cells", str(tmp_path / "cells"), "--trials", "1", "--printed", "1",
         "--data", "stand-in"]
    )  # fmt: skip
    assert len(aim_comparison.load(tmp_path / "out").scores) == 9
    assert aim_comparison.provenance(tmp_path / "out")["settings"] == (
        "delta 1e-09, seed 2025, tree depth 5, trials 1, trials as printed 1, trials with a kernel 1"
    )


def test_the_committed_results_are_the_documents_settings_on_the_verified_files():
    made, scores = aim_comparison.provenance(), aim_comparison.load().scores
    assert made["data"] == "real"
    assert {name: made[f"SHA-256 of {name}"] for name in datasets.SOURCES} == {
        name: file.sha256 for name, file in datasets.SOURCES.items()
    }
    often = dict.fromkeys(METHODS, 20) | dict.fromkeys(PRINTED_METHODS, 5)  # the document has three
    cases = ("adult", "bank", "bank held out")
    assert scores.groupby(["data", "method"]).size().to_dict() == {(c, m): n for c in cases for m, n in often.items()}
    assert set(scores["epsilon"]) == {1.0} and "delta 1e-09" in made["settings"]
    assert {"date", "versions", "wall time", "command"} <= set(made)


def test_committed_results_stand_in_for_a_run_of_the_same_settings_and_code_alone(tmp_path, monkeypatch):
    changed = {}
    monkeypatch.setattr(aim_comparison.results, "changed", lambda path: changed.get(path.name, []))
    settings, grid = Settings(seed=2025), {"trials": 20, "printed": 5}
    made = aim_comparison.provenance() | {"arithmetic": aim_comparison.results.ALIKE}
    libraries = ", ".join(
        f"{name} {version}" for name, version in aim_comparison.results.versions(aim_comparison.LIBRARIES).items()
    )
    aim_comparison.save(aim_comparison.load(), tmp_path, made | {"code": "", "versions": f"Python 3.11.7, {libraries}"})
    assert "code" in made and aim_comparison.kept(settings, **grid, folder=tmp_path) is not None
    for other in ({"delta": 1e-6}, {"seed": 3}, {"depth": None}, {"kernels": 4}):
        assert aim_comparison.kept(dataclasses.replace(settings, **other), **grid, folder=tmp_path) is None, other
    for other in ({"trials": 19}, {"printed": 0}, {"epsilons": [2.0]}, {"epsilons": [1.0, 2.0]}):
        assert aim_comparison.kept(settings, **(grid | other), folder=tmp_path) is None, other
    for name, value in (
        ("data", "stand-in"),
        ("versions", f"Python 3.11.7, {libraries}0"),
        ("arithmetic", "of one machine"),
    ):
        aim_comparison.save(study(), tmp_path / name, made | {"code": "", "versions": libraries, name: value})
        assert aim_comparison.kept(settings, **grid, folder=tmp_path / name) is None, name
    for name in ("scores.csv", "mutual_information.csv"):
        changed = {name: ["lib.tables.plan.Plan"]}
        assert aim_comparison.kept(settings, **grid, folder=tmp_path) is None, name


# ---- bad input


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("trials", {"trials": 0}),
        ("jobs", {"jobs": 1.5}),
        ("method", {"methods": ("aim-k4",)}),
        ("epsilon", {"epsilons": (0.0,)}),
    ],
)
def test_grids_refuse_bad_input(name, options):
    with pytest.raises(ValueError, match=name):
        small(**options)


@pytest.mark.parametrize(
    ("name", "value"), [("delta", 0.0), ("delta", 1.0), ("seed", -1), ("depth", 0), ("kernels", -1)]
)
def test_settings_refuse_bad_input(name, value):
    with pytest.raises(ValueError, match=name):
        Settings(**{name: value})


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="source"):
        aim_comparison.cases("imaginary")


def test_the_cells_on_disk_are_plain_json(tmp_path):
    small(folder=tmp_path, methods=("bayes",), trials=1)
    cell = json.loads(next(tmp_path.iterdir()).read_text())["result"]
    assert len(cell["information"]) == 6
