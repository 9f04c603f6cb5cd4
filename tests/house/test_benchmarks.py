"""The benchmarks' runner: what it prints, refuses and measures; no test here depends on how long anything takes."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from lib.data import datasets
from lib.tables.graphical_model import Measurement
from lib.tables.marginal_oracle import MarginalOracle
from lib.tables.table import Domain, Table
from tests.benchmarks import __main__ as runner
from tests.benchmarks import aim, aim_accuracy, measure
from tests.house.test_house import plain

MACHINE = {"python", "numpy", "machine", "cpu", "cores", "copy_gb_per_s"}
COSTS = {"cpu_s", "wall_s", "peak_mb"}
ERRORS = {"l1", "l2", "l3"}

# A module for the measured processes, which import nothing else.
WORK = """
import time

import numpy as np

def bench_addition():
    began = time.process_time()
    while time.process_time() < began + 0.01:  # longer than a tick of the coarsest clock
        items = np.arange(10**5).size
    return items

def bench_nothing():
    return 1

def holds(meter, megabytes):
    with meter:
        held = np.ones(int(megabytes) * 2**17)
    return {"sum": held.sum()}

def fails(meter):
    raise RuntimeError("on purpose")

def loops(meter):
    while True:
        pass
"""


@pytest.fixture
def work(monkeypatch, tmp_path):
    """Return the name of the module above, which child processes can import."""
    (tmp_path / "stand_in_work.py").write_text(WORK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "stand_in_work"


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Return a table of 500 records, and a case "tiny" on it."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=500), rng.integers(4, size=500)
    table = Table(np.stack([a, b, (a + b) % 2], axis=1), Domain({"a": 3, "b": 4, "c": 2}))
    aim.save_table(tmp_path / "tiny.npz", table)
    monkeypatch.setattr(aim, "CASES", {"tiny": aim.Case("tiny", 2, 1.0, 2)})
    monkeypatch.setattr(aim, "encoded", lambda name, folder: tmp_path / f"{name}.npz")
    monkeypatch.setattr(runner, "found", lambda: {"tiny": runner._lines(aim, "tiny")})
    return table


def printed(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# ---- the runner


def test_every_module_is_found():
    assert {"adult_k2_eps1", "adult15_k2_eps10", "gaussian_synthesis.unbounded_epsilon"} <= set(runner.found())


def test_an_unknown_case_is_refused_and_the_known_ones_named(capsys):
    assert runner.main(["adult_k2_eps1", "adult_k9"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("no such case: adult_k9; there are ")
    assert all(name in err for name in runner.found())


@pytest.mark.slow
def test_a_case_prints_its_line_and_those_of_its_peers(tiny, monkeypatch, capsys):
    """The peer is played by our own `fit`: same loss, same errors."""
    child, played = measure.child, {"tests.benchmarks.peers.mbi": ("tests.benchmarks.aim", "fitted")}
    monkeypatch.setattr(measure, "child", lambda module, function, *rest, **options: child(
        *played.get(module, (module, function)), *rest, **options))  # fmt: skip
    monkeypatch.setattr(measure, "peer", lambda name: sys.executable if name == "mbi" else None)
    assert runner.main(["tiny"]) == 0
    whole, ours, theirs = printed(capsys)
    oracle = {"oracle_share", "oracle_gb_per_s"}
    assert set(whole) == {"case", "seeds", "converged"} | oracle | COSTS | ERRORS | MACHINE
    assert 0 < whole["oracle_share"] < 1 and 0 < whole["oracle_gb_per_s"] and 0.1 < whole["copy_gb_per_s"]
    assert whole["case"] == "tiny" and whole["seeds"] == 2 and whole["converged"] is True
    assert whole["cpu_s"] > 0 and whole["wall_s"] > 0 and 0 < whole["peak_mb"] < 1000
    assert 0 < whole["l1"] < whole["l3"] < 2
    assert ours["task"] == theirs["task"] == "fit" and theirs["peer"] == "mbi"
    assert theirs["ratios"].items() >= {"loss": 1.0, "l1": 1.0, "l2": 1.0, "l3": 1.0}.items()


def test_the_oracle_is_watched_where_it_works_and_only_there():
    oracle, watched = MarginalOracle([(0, 1)], (20, 30)), aim.Watched()
    with watched:
        oracle(np.zeros(600))
    # The table of 600 is read, and its derivative written, at least once.
    assert 0 <= watched.of_oracles <= watched.seconds and watched.bytes >= 2 * 600 * 8
    once = watched.bytes
    oracle(np.zeros(600))
    assert watched.bytes == once
    with watched:
        oracle(np.zeros(600))
        oracle(np.zeros(600))
    assert watched.bytes == 3 * once


SEEDS = [
    {"l1": 0.5, "l2": 0.30, "cpu_s": 2.0, "wall_s": 3.0, "peak_mb": 7, "python": "3"},
    {"l1": 0.5, "l2": 0.34, "cpu_s": 4.0, "wall_s": 3.0, "peak_mb": 9, "python": "3"},
    {"l1": 0.5, "l2": 0.38, "cpu_s": 9.0, "wall_s": 3.0, "peak_mb": 8, "python": "3"},
]


def test_errors_of_several_seeds_have_standard_errors():
    # The variance of .30, .34 and .38 is .0016, and .04/sqrt(3) is .0231.
    about = {"seeds": 3, "cpu_s": 4.0, "wall_s": 3.0, "peak_mb": 9, "python": "3"}
    assert aim_accuracy.summary(SEEDS) == about | {"l1": 0.5, "l2": 0.34, "se1": 0.0, "se2": 0.023}


def test_models_of_the_same_measurements_are_compared_in_pairs():
    # Differences .01, .02 and .03: mean .02, standard deviation .01, over sqrt(3) .00577.
    theirs = [line | {"l2": line["l2"] - above} for line, above in zip(SEEDS, (0.01, 0.02, 0.03))]
    assert aim_accuracy.paired([{"l2": line["l2"]} for line in SEEDS], theirs) == {"l2": 3.5}


def test_accuracy_takes_a_folder_of_tables(monkeypatch, tmp_path):
    (tmp_path / "people.csv").write_text("b,a\n0,2\n1,0\n")
    (tmp_path / "people-domain.json").write_text('{"a": 3, "b": 2}')
    monkeypatch.setenv("TABLES", str(tmp_path))
    assert "people" in aim_accuracy.tables()
    read = aim.load_table(aim_accuracy.encoded("people", tmp_path))
    assert read.domain == Domain({"a": 3, "b": 2}) and read.records.tolist() == [[2, 0], [0, 1]]


@pytest.mark.slow
def test_accuracy_of_a_seed_is_measured(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("SEEDS", "2")
    monkeypatch.setenv("PEERS", "no")
    monkeypatch.setattr(aim_accuracy, "CASES", {"tiny_eps1": ("adult", 1.0)})
    monkeypatch.setattr(aim, "encoded", lambda name, folder: tmp_path / "tiny.npz")
    (line,) = aim_accuracy.lines("tiny_eps1", tmp_path)
    assert {*line} == MACHINE | COSTS | ERRORS | {"seeds", "converged", "first_s", "se1", "se2", "se3"}
    assert line["se2"] > 0


@pytest.mark.slow
def test_a_micro_benchmark_prints_one_line(work, monkeypatch, capsys):
    monkeypatch.setattr(runner, "found", lambda: {"here": runner._micro(work, "bench_addition")})
    assert runner.main([]) == 0
    (line,) = printed(capsys)
    assert line["items"] == 10**5 and line["items_per_second"] > 0 and {"case", "cpu_s", "peak_mb", "cpu"} <= set(line)


@pytest.mark.parametrize(("cpu_s", "copied", "task", "times"), [
    (15.1, 20.0, None, "1.5"), (14.9, 20.0, None, None), (31.0, 10.0, None, "1.6"), (29.0, 10.0, None, None),
    (5.1, 80.0, None, "2.0"), (99.0, 20.0, "fit", None),
])  # fmt: skip
def test_a_case_slower_than_kept_is_reported_at_equal_machine_speed(
    cpu_s, copied, task, times, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(measure, "KEPT", tmp_path / "kept.jsonl")
    measure.KEPT.write_text(
        '{"case": "a", "cpu_s": 1.0, "copy_gb_per_s": 9.0}\n{"case": "b", "cpu_s": 10.0, "copy_gb_per_s": 20.0}\n'
    )
    line = {"cpu_s": cpu_s, "copy_gb_per_s": copied} | ({"task": task} if task else {})
    monkeypatch.setattr(runner, "found", lambda: {"b": lambda folder: [line]})
    assert runner.main([]) == 0
    assert capsys.readouterr().err == (f"b: {times} times the kept CPU time\n" if times else "")


@pytest.mark.parametrize(("names", "status"), [([], 0), (["absent"], 1)])
def test_without_data_the_other_cases_go_on(names, status, monkeypatch, capsys):
    def refused(*arguments, **options):
        raise datasets.DatasetError("no file")

    monkeypatch.setattr("lib.data.encodings.adult_table", refused)
    monkeypatch.setattr(aim, "CASES", {"absent": aim.Case("adult", 2, 1.0, 1)})
    cases = {"absent": runner._lines(aim, "absent"), "present": lambda folder: [{"n": 1}]}
    monkeypatch.setattr(runner, "found", lambda: cases)
    assert runner.main(names) == status
    out, err = capsys.readouterr()
    assert err == "absent: left out, no file\n"
    assert [json.loads(line)["case"] for line in out.splitlines()] == ([] if names else ["present"])


def test_a_failing_case_is_reported_and_the_others_go_on(work, monkeypatch, capsys):
    cases = {"bad": lambda folder: [measure.child(work, "fails")], "good": lambda folder: [{"n": 1}]}
    monkeypatch.setattr(runner, "found", lambda: cases)
    assert runner.main([]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out) == {"case": "good", "n": 1}
    assert "bad: failed, its process ended with status 1" in err


# ---- what is measured


@pytest.mark.slow
def test_memory_is_that_of_the_work(work):
    little, much = (measure.child(work, "holds", megabytes)["peak_mb"] for megabytes in (1, 101))
    assert 95 <= much - little <= 105


@pytest.mark.slow
def test_memory_is_not_inherited_from_the_runner(work):
    held = np.ones(300 * 2**17)
    assert measure.child(work, "holds", 1)["peak_mb"] < 300
    del held


def test_a_meter_takes_the_median(monkeypatch):
    clocks = iter(np.array([[0, 0], [1, 2], [10, 10], [13, 16], [20, 20], [29, 40]], float))
    monkeypatch.setattr(measure, "_clocks", lambda: next(clocks))
    meter = measure.Meter()
    for _ in range(3):
        with meter:
            pass
    assert meter.reading() == {"cpu_s": 3.0, "wall_s": 6.0, "peak_mb": 0}


@pytest.mark.full
def test_what_does_not_finish_is_ended_and_said(work):
    assert measure.child(work, "loops", limit=1) == {"unfinished_after_cpu_s": 1}


@pytest.mark.slow
def test_a_shell_s_own_limit_on_seconds_is_kept(work):
    """Under `ulimit -t` a higher limit cannot be set, and process time has ticks of 4 ms."""
    script = f"from tests.benchmarks import measure as m; print(m.child({work!r}, 'holds', 1, limit=900)['sum'])"
    script += f"; print(m.child('tests.benchmarks.measure', 'micro', {work!r}, 'bench_nothing')['items'])"
    limited = ["sh", "-c", 'ulimit -t 60 && exec "$0" -c "$1"', sys.executable, script]
    done = subprocess.run(limited, cwd=measure.ROOT, capture_output=True, text=True)
    assert done.stdout == f"{2.0**17}\n1\n", done.stderr


# ---- peers


def test_a_peer_is_one_that_is_installed_and_wanted(monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "PEERS", tmp_path)
    monkeypatch.delenv("PEERS", raising=False)
    assert measure.peer("mbi") is None
    (tmp_path / "mbi").mkdir()
    (tmp_path / "mbi/installed").touch()
    assert measure.peer("mbi") == tmp_path / "mbi/bin/python"
    monkeypatch.setenv("PEERS", "no")
    assert measure.peer("mbi") is None


def test_ratios_are_theirs_over_ours():
    ours = {"cpu_s": 0.5, "peak_mb": 0, "l1": 0.3, "seeds": 10}
    assert measure.ratios({"cpu_s": 60.0, "peak_mb": 9, "l1": 0.1, "loss": 3.0, "seeds": 1}, ours) == {
        "cpu_s": 120.0,
        "l1": 0.333,
    }
    assert measure.ratios({"unfinished_after_cpu_s": 900}, ours) == {}


def test_measurements_survive_the_file(tmp_path):
    sent = [Measurement(("a",), np.array([1.5, 2.0, -3.0]), 2.0), Measurement(("b", "a"), np.ones((4, 3)) / 3, 0.1)]
    aim.save_measurements(tmp_path / "m.npz", sent)
    received = aim.load_measurements(tmp_path / "m.npz")
    assert [(m.attributes, m.sigma) for m in received] == [(m.attributes, m.sigma) for m in sent]
    assert all(np.array_equal(a.values, b.values) for a, b in zip(sent, received))


def test_loss_is_in_units_of_the_noise(tiny):
    noisy = [Measurement((name,), tiny.marginal((name,)) + 6.0, 2.0) for name in ("a", "c")]
    assert aim.judged(tiny, noisy, tiny.marginal) == {"loss": (3 + 2) * 9 / 2, "l1": 0.0, "l2": 0.0, "l3": 0.0}


@pytest.mark.parametrize("name", ["mbi", "dpmm"])
def test_a_peer_is_locked_with_hashes_at_the_version_asked_for(name):
    folder = measure.ROOT / "tests/benchmarks/peers"
    lock = re.sub(r"(?m)^#.*\n", "", (folder / f"{name}.lock").read_text())
    blocks = [block for block in re.split(r"\n(?=[A-Za-z0-9])", lock) if block.strip()]
    assert all(
        re.match(r"[\w.-]+==[\w.]+ ", block) and re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks
    )
    (asked,) = re.findall(rf"(?m)^{name}==[\w.]+", (folder / f"{name}.in").read_text())
    assert any(block.startswith(asked + " ") for block in blocks)


@pytest.mark.parametrize(
    ("peers", "status", "mentioned"), [("", 0, False), ("no", 0, False), ("yes", 0, True), ("maybe", 2, False)]
)
def test_make_installs_peers_only_when_told_to(tmp_path, peers, status, mentioned):
    shutil.copy(measure.ROOT / "Makefile", tmp_path)
    shutil.copytree(measure.ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(measure.ROOT / "tests/benchmarks/peers", tmp_path / "tests/benchmarks/peers")
    for folder in ("lib", "book"):
        (tmp_path / folder).mkdir()
    command = ["make", "-n", "PYTHON=python", "bench", f"PEERS={peers}", "CASE=one two"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=plain())
    assert done.returncode == status
    assert ("build/peers/mbi" in done.stdout) == ("build/peers/dpmm" in done.stdout) == mentioned
    assert ('"python" -m tests.benchmarks one two\n' in done.stdout) == (status == 0)
