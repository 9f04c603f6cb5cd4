"""`make peers` keeps each seed and runs it again if the code that made it has changed; and what the chapter says of the
seeds."""

import sys
import zlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from book.kept import content_key, results
from lib.tables.graphical_model import loss
from lib.tables.table import Table
from notebooks.studies import aim_classifiers as learned
from notebooks.studies import aim_comparison
from notebooks.studies import aim_peers as told
from notebooks.studies.prediction import train_synthetic_test_real
from tests import made_up
from tests.benchmarks import aim, aim_accuracy, aim_classifiers, aim_fits, aim_peers, measure
from tests.benchmarks.peers import records


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Return the places that are run, in their order; the programs cost nothing, and "slow" never ends."""
    places = []

    def row(place, version, file, limit):
        places.append(place)
        values = (None,) * 4 if place[2] == "slow" else (0.1, 0.2, 0.3, 1.0)
        return dict(zip(aim_peers.COLUMNS, [*place, version, 10, 2, *values, 5, limit, None]))

    monkeypatch.setattr(aim_peers, "row", row)
    monkeypatch.setattr(aim_accuracy, "encoded", lambda name, folder: tmp_path / name)
    monkeypatch.setattr(aim_accuracy, "EPSILONS", (1.0,))
    return places


def run(monkeypatch, output, seeds=2, tables=("fair",), limit=9, **current):
    monkeypatch.setattr(aim_peers, "versions", lambda: current)
    return aim_peers.run(tables, seeds, limit, output)


def test_a_seed_that_is_kept_is_not_run_again(asked, monkeypatch, tmp_path):
    run(monkeypatch, tmp_path / "peers.csv", peer="1")
    assert asked == [("fair", 1.0, "peer", 0), ("fair", 1.0, "peer", 1)]
    asked.clear()
    run(monkeypatch, tmp_path / "peers.csv", seeds=3, peer="1")
    assert asked == [("fair", 1.0, "peer", 2)]


def test_a_checkout_that_is_named_is_run_and_its_scripts_are_part_of_the_version(monkeypatch, tmp_path):
    for environment, about in (("dpmm", "dpmm-1"), ("mbi", "mbi-2"), ("opacus", "torch-3")):
        (tmp_path / environment / "lib/python3/site-packages" / f"{about}.dist-info").mkdir(parents=True)
        (tmp_path / environment / "installed").touch()
    monkeypatch.setattr(measure, "PEERS", tmp_path)
    scripts = [tmp_path / script for script in aim_peers.PEERS["margnet"].scripts]
    for script in scripts:
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text("1")
    for variable in ("MBI", "MARGNET", "PEERS"):
        monkeypatch.delenv(variable, raising=False)
    assert set(aim_peers.versions()) == {told.OURS, told.STAGED, "dpmm", "mst"}
    monkeypatch.setenv("MARGNET", str(tmp_path))
    before = aim_peers.versions()
    scripts[-1].write_text("2")
    after = aim_peers.versions()
    assert set(after) == {told.OURS, told.STAGED, "dpmm", "mst", "margnet"}
    assert after["margnet"].startswith("3 called by ") and after["mst"].startswith("1 called by ")
    assert [name for name in after if before[name] != after[name]] == ["margnet"]


def test_the_version_of_a_peer_covers_the_code_here_that_calls_it_and_no_other():
    for name, also in (("dpmm", ()), ("mbi", ()), ("mst", ("dpmm",)), ("margnet", ())):
        files = content_key.closure(f"tests/benchmarks/peers/{name}.py", without=aim_peers.CALLED)
        assert {file.stem for file in files} - {"__init__"} == {name, *also}


@pytest.mark.slow
def test_ours_which_take_seconds_have_more_seeds(asked, monkeypatch, tmp_path):
    run(monkeypatch, tmp_path / "peers.csv", **{told.OURS: "1", told.STAGED: "1"}, peer="1")
    programs = [place[2] for place in asked]
    assert programs.count("peer") == 2
    assert programs.count(told.OURS) == programs.count(told.STAGED) == aim_peers.OUR_SEEDS > 2


def test_another_version_is_run_again_and_the_others_stay(asked, monkeypatch, tmp_path):
    run(monkeypatch, tmp_path / "peers.csv", peer="1", other="1")
    asked.clear()
    run(monkeypatch, tmp_path / "peers.csv", peer="2")
    assert {place[2] for place in asked} == {"peer"} and len(asked) == 2
    kept = pd.read_csv(tmp_path / "peers.csv", comment="#", dtype={"version": str})
    assert sorted(zip(kept["program"], kept["version"])) == [("other", "1")] * 2 + [("peer", "2")] * 2


def test_what_changed_while_it_ran_is_not_kept(asked, monkeypatch, tmp_path):
    current = iter(["1", "1", "2"])  # at the beginning, and after each of two seeds
    monkeypatch.setattr(aim_peers, "versions", lambda: {"peer": next(current)})
    with pytest.raises(SystemExit, match="peer has changed while its seed 1 ran"):
        aim_peers.run(("fair",), 2, 9, tmp_path / "peers.csv")
    assert pd.read_csv(tmp_path / "peers.csv", comment="#")["seed"].tolist() == [0]


def test_of_what_does_not_end_no_further_seed_is_begun(asked, monkeypatch, tmp_path):
    run(monkeypatch, tmp_path / "peers.csv", slow="1")
    assert asked == [("fair", 1.0, "slow", 0)]
    run(monkeypatch, tmp_path / "peers.csv", slow="1")
    assert len(asked) == 1
    run(monkeypatch, tmp_path / "peers.csv", slow="1", limit=10)
    assert len(asked) == 2


def test_what_was_not_asked_for_stays_though_it_is_old(asked, monkeypatch, tmp_path):
    run(monkeypatch, tmp_path / "peers.csv", tables=("fair", "randhie"), peer="1")
    run(monkeypatch, tmp_path / "peers.csv", tables=("fair",), seeds=1, peer="2")
    kept = pd.read_csv(tmp_path / "peers.csv", comment="#", dtype={"version": str})
    assert list(zip(kept["table"], kept["seed"], kept["version"])) == [
        ("fair", 0, "2"),
        ("fair", 1, "1"),
        ("randhie", 0, "1"),
        ("randhie", 1, "1"),
    ]


def test_a_table_that_is_not_to_be_had_is_left_out_and_the_others_are_run(asked, monkeypatch, tmp_path, capsys):
    def encoded(name, folder):
        if name == "adult":
            raise measure.Absent("no file")
        return tmp_path / name

    monkeypatch.setattr(aim_accuracy, "encoded", encoded)
    assert run(monkeypatch, tmp_path / "peers.csv", tables=("adult", "fair"), peer="1") == 1
    assert "adult: left out, no file" in capsys.readouterr().err and len(asked) == 2


def test_what_is_interrupted_has_lost_one_seed(asked, monkeypatch, tmp_path):
    whole = aim_peers.row

    def interrupted(place, *more):
        if place[3] == 1:
            raise KeyboardInterrupt
        return whole(place, *more)

    monkeypatch.setattr(aim_peers, "row", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, tmp_path / "peers.csv", peer="1")
    assert len(pd.read_csv(tmp_path / "peers.csv", comment="#")) == 1


def test_a_table_that_is_not_to_be_had_ends_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setenv("FOR", "nowhere")
    assert aim_peers.main() == 2
    assert "FOR must be one of 'adult', 'bank'" in capsys.readouterr().err


def seeds(program, errors, cpu, table="fair"):
    lines = [
        dict.fromkeys(told.ERRORS.values(), error) | {"cpu_s": cpu, "peak_mb": 10 * cpu, "first_s": 3.0}
        for error in errors
    ]
    about = {"table": table, "epsilon": 1.0, "program": program}
    return [about | line | {"seed": seed} for seed, line in enumerate(lines)]


@pytest.mark.parametrize("ours, other", [(told.OURS, told.STAGED), (told.STAGED, told.OURS)])
def test_the_chapter_counts_standard_errors_of_the_difference(ours, other):
    """Means .2 and .3 with standard errors .1/sqrt(3) and .2/sqrt(3): .1 is .1/sqrt(.05/3) = .775 of the difference's."""
    rows = seeds(ours, (0.1, 0.2, 0.3), 2.0) + seeds("dpmm", (0.1, 0.3, 0.5), 100.0) + seeds(other, (0.7, 0.8), 9.0)
    found = told.summary(pd.DataFrame(rows), ours)
    assert found.loc[("fair", 1.0, "dpmm"), "se2"] == pytest.approx(0.2 / 3**0.5)
    (line,) = told.behind(found, ours).reset_index().to_dict("records")
    assert [line[way] for way in told.ERRORS] == pytest.approx([-0.7746] * 3, abs=1e-4)
    assert [line[key] for key in ("CPU", "first", "memory", "ratio")] == pytest.approx([50, 20, 50, 1.5])
    assert line["spread"] == pytest.approx(1.5 * ((0.2 / 0.3) ** 2 / 3 + (0.1 / 0.2) ** 2 / 3) ** 0.5)


def test_the_chapter_counts_tables_of_our_choice_apart_and_names_where_ours_is_larger():
    index = pd.MultiIndex.from_tuples(
        [("fair", 1.0, "mbi"), ("else", 0.3, "mbi"), ("else", 0.3, "dpmm")], names=["table", "epsilon", "program"]
    )
    apart = {"1-way": [-1.5, 4.04, -9.0], "2-way": [1.0, 0.0, -1.0], "3-way": [2.0, -3.0, -1.1], "CPU": [200, 300, 400]}
    beside = pd.DataFrame(apart, index=index)
    found = told.standing(beside)
    assert found["with a part in the choice of our settings"].tolist() == ["fair", 3, 1, 1]
    assert found["without"].tolist() == ["else", 6, 3, 1]
    assert told.standing(beside.loc[["fair"]])["without"].tolist() == ["none so far", 0, 0, 0]
    above = told.larger(beside)["standard errors"].to_dict()
    assert above == {("fair", 1.0, "mbi", "3-way"): 2.0, ("else", 0.3, "mbi", "1-way"): 4.0}


def test_the_chapter_leaves_out_what_did_not_end_and_single_seeds():
    ended = seeds(told.OURS, (0.1, 0.2), 2.0) + seeds("dpmm", (0.1, 0.2), 9.0) + seeds("mbi", (None, None), 9.0)
    alone = seeds(told.OURS, (0.1, 0.2), 2.0, "else") + seeds("dpmm", (0.1,), 9.0, "else")
    found = told.summary(pd.DataFrame(ended + alone))
    assert found.index.tolist() == [("fair", 1.0, "dpmm"), ("fair", 1.0, told.OURS)]
    assert told.readable(found)["2-way"].tolist() == ["0.15 ± 0.05"] * 2


def test_what_does_not_run_aim_is_compared_with_staged_residuals_alone():
    programs = told.OURS, told.STAGED, "margnet", "mst", "mbi"
    rows = [line for program in programs for line in seeds(program, (0.1, 0.2), 2.0)]
    for ours, others in ((told.OURS, ["mbi"]), (told.STAGED, ["margnet", "mst", "mbi"])):
        found = told.summary(pd.DataFrame(rows), ours)
        assert sorted(found.index.get_level_values("program")) == sorted([ours, *others])


def test_the_chapter_says_how_many_seeds_there_are(monkeypatch, tmp_path):
    rows = seeds(told.OURS, (0.1, 0.2), 2.0) + seeds("dpmm", (0.1,), 9.0) + seeds("mbi", (None,), 9.0, "else")
    rows += [line for program in (told.STAGED, *told.NOT_AIM) for line in seeds(program, (0.1, 0.2), 2.0)]
    pd.DataFrame(rows).to_csv(tmp_path / "peers.csv", index=False)
    monkeypatch.setattr(told, "FILE", tmp_path / "peers.csv")
    assert told.seeds().to_dict("index") == {("fair", 1.0): {"dpmm": 1, told.OURS: 2}}


# ---- fits of the same measurements


def test_fits_are_told_beside_that_of_least_loss_seed_by_seed():
    """Seeds 1.0, 2.0 of least loss, and 0.1 and 0.3 less or 0.2 more each: means -0.2 and 0.2 of 1.5."""
    rows = [
        {"table": "t", "epsilon": 1.0, "seed": seed, "fit": fit, "loss": 10 * more}
        | dict.fromkeys(told.ERRORS.values(), least + more)
        for seed, least, ours in ((0, 1.0, -0.1), (1, 2.0, -0.3))
        for fit, more in ((told.LEAST_LOSS, 0.0), (told.LAST_FIT, ours), (told.STOPPED, 0.2))
    ]
    (line,) = told.fits(pd.DataFrame(rows)).to_dict("records")
    assert line[told.LAST_FIT, "2-way"] == pytest.approx(-100 * 0.2 / 1.5)
    assert line[told.LAST_FIT, "2-way se"] == pytest.approx(100 * 0.1 / 1.5)
    assert line[told.STOPPED, "1-way"] == pytest.approx(100 * 0.2 / 1.5)
    assert line[told.STOPPED, "1-way se"] == pytest.approx(0, abs=1e-12)
    assert line[told.STOPPED, "loss"] == pytest.approx(2) and line[told.LAST_FIT, "loss"] == pytest.approx(-2)


@pytest.mark.slow
def test_fits_of_the_same_measurements_are_kept(monkeypatch, tmp_path):
    table = made_up.dependent_table()
    monkeypatch.setattr(aim_fits, "TABLES", ("t",))
    monkeypatch.setattr(aim_fits, "SEEDS", 2)
    monkeypatch.setattr(aim_fits, "STEPS", 20)
    monkeypatch.setattr(aim_accuracy, "encoded", lambda name, folder: name)
    monkeypatch.setattr(aim_fits.aim, "load_table", lambda file: table)
    assert aim_fits.main(tmp_path / "fits.csv") == 0
    kept = results.load(tmp_path / "fits.csv")
    assert len(kept) == 2 * 2 * 3 and set(kept["fit"]) == {told.LAST_FIT, told.LEAST_LOSS, told.STOPPED}
    models, measurements = aim_fits.fits(table, 1.0, 1)
    row = kept.query("epsilon == 1.0 and seed == 1").set_index("fit")
    for name, model in models.items():
        assert row["error2"][name] == pytest.approx(aim_fits.aim.errors(table, model.marginal)[1], rel=1e-5)
        assert row["loss"][name] == pytest.approx(loss(model, measurements), rel=1e-5)
    assert row["loss"].idxmin() == told.LEAST_LOSS


def test_without_a_table_no_fits_are_written(monkeypatch, tmp_path, capsys):
    def absent(name, folder):
        raise measure.Absent("no file")

    monkeypatch.setattr(aim_accuracy, "encoded", absent)
    assert aim_fits.main(tmp_path / "fits.csv") == 1
    assert "adult: not to be had, no file" in capsys.readouterr().err and not (tmp_path / "fits.csv").exists()


# ---- classifiers that learn from synthetic records


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Return a case and the places that are run, with a peer that returns the records in reverse, and one that does not end."""
    places = []

    def child(module, function, program, *arguments, python, limit):
        places.append((program, limit))
        return getattr(records, function)(measure.Meter(), program, *arguments) if program == "copy" else {}

    def seeded(meter, file, k, epsilon, seed):
        table = aim.load_table(file)
        return aim.named(aim.errors(table, Table(table.records[::-1], table.domain).marginal)) | {"cpu_s": 2.0}

    monkeypatch.setattr(measure, "child", child)
    monkeypatch.setitem(sys.modules, "tests.benchmarks.peers.copy", SimpleNamespace(seeded=seeded))
    monkeypatch.setattr(aim_classifiers, "PEERS", dict.fromkeys(("copy", "slow"), aim_peers.PEERS["dpmm"]))
    return next(case for case in aim_comparison.cases("stand-in") if case.name == "bank held out"), places


@pytest.mark.slow
def test_classifiers_learn_from_the_records_of_each_program_and_are_tested_on_others(copied, tmp_path):
    case, places = copied
    programs = {told.OURS: "1", "copy": "1", "slow": "1"}
    first = aim_classifiers.rows(case, 0, 9, tmp_path, programs)
    assert places == [("copy", 9), ("slow", 9)]
    again = aim_classifiers.rows(case, 0, 9, tmp_path, programs)
    assert len(places) == 2 and again == first  # what is kept is not run again
    aim_classifiers.rows(case, 0, 9, tmp_path, {"copy": "2"})
    assert len(places) == 3
    found = {row["program"]: row for row in first}
    assert list(found) == [*learned.REFERENCES, *programs]
    assert found["copy"]["error2"] == 0 < found[told.OURS]["error2"]  # reversed records are still the real ones
    for name in learned.LEARNERS:
        assert found["copy"][name] == pytest.approx(found["real records"][name], abs=0.02)
        assert found["majority"][name] <= found[told.OURS][name] + 0.05 < 1.05
    assert found["copy"]["cpu_s"] == 2 and not set(learned.LEARNERS) & set(found["slow"])
    drawn = case.drawn(np.random.default_rng([0, zlib.crc32(case.name.encode())]))
    boosted = train_synthetic_test_real(drawn.real, drawn.test, case.target, "xgboost", rng=np.random.default_rng(0))
    assert found["real records"]["xgboost"] == boosted
    kept = [aim.load_table(file).records for file in tmp_path.glob("*.npz")]
    assert any(np.array_equal(each, drawn.real.records[::-1]) for each in kept)


def test_accuracies_are_compared_within_each_seed():
    assert set(learned.LEARNERS) == set(aim_comparison.MODELS)
    level = {"majority": 0.5, "real records": 0.9, told.OURS: 0.7, told.STAGED: 0.8, "peer": 0.75}
    lines = [
        {"data": data, "seed": seed, "program": program}
        | dict.fromkeys(learned.LEARNERS, value + 0.01 * seed + 0.001 * seed**2 * (program == "peer"))
        for data in ("one", "two")
        for seed in range(3)
        for program, value in level.items()
    ]
    table, apart, limit = learned.accuracies(pd.DataFrame(lines).assign(error2=0.25))
    shown = [learned.SHOWN.get(name, name) for name in level]
    assert table.index.tolist() == shown and table.loc["real records", ("two", "SVM")] == "91.0 (0.6)"
    assert table.loc["peer", ("one", "error in pairs")] == "0.250" and limit == pytest.approx(4.303, abs=0.001)
    differences = np.array([-0.05, -0.049, -0.046])  # the seeds' common part drops out
    expected = differences.mean() / (differences.std(ddof=1) / 3**0.5)
    assert apart.columns.tolist() == ["peer"] and np.allclose(apart, expected)
