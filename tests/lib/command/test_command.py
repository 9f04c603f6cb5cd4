"""The command `dp-compendium` prints the numbers of `lib` as lines or JSON, its examples run, and bad arguments end in
one sentence and the exit status 2."""

import ast
import csv
import dataclasses
import functools
import io
import itertools
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import unicodedata
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest

from book._ext import reference
from book.kept import results
from book.ledger import claims
from lib import accounting, mechanisms
from lib.accounting import sampled_gaussian
from lib.command import answers, costs, verdicts
from lib.command.main import commands, main
from lib.gaussian_synthesis import THEOREMS, regularised_released_epsilon, released_epsilon
from lib.release import Synthesizer, sources
from lib.release import synthesizer as release

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "notebooks/yours/example"


@pytest.fixture
def run(capsys):
    """Return the exit status, what was said, and what was said of errors."""

    def run(words):
        status = main(shlex.split(words))
        return status, *capsys.readouterr()

    return run


def said(run, words) -> dict:
    """Return the output of the command in JSON."""
    status, out, err = run(f"{words} --json")
    assert (status, err) == (0, "")
    return json.loads(out)


# ---- what it says


def test_what_gaussian_noise_costs(run):
    found = said(run, "epsilon gaussian --sigma 3 --sensitivity 2 --delta 1e-6")
    assert found == {
        "epsilon": accounting.gaussian_epsilon(3, 1e-6, 2),
        "delta": 1e-6,
        "rho": accounting.gaussian_zcdp(3, 2),
    }
    _, out, _ = run("epsilon gaussian --sigma 3 --sensitivity 2 --delta 1e-6")
    printed = float(out.splitlines()[0].removeprefix("epsilon"))
    assert 0 <= printed - found["epsilon"] < 1e-5 * printed


@pytest.mark.parametrize(
    "value, shown",
    [
        (2.345231418, "2.34524"),
        (2.34523, "2.34523"),
        (0.1, "0.1"),
        (1e-5, "1e-05"),
        (3.0, "3"),
        (999999.5, "1e+06"),
        (np.inf, "inf"),
    ],
)
def test_no_printed_cost_is_below_the_true_one(value, shown, capsys):
    answers.answer({"epsilon": value}, in_json=False)
    assert capsys.readouterr().out == f"epsilon  {shown}\n"


def test_what_laplace_noise_costs(run):
    assert said(run, "epsilon laplace --scale 4 --sensitivity 2")["epsilon"] == 0.5
    assert said(run, "epsilon laplace --scale 4 --delta 0.01")["epsilon"] == mechanisms.Laplace(4.0).epsilon_at(0.01)


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_what_dp_sgd_costs_and_needs(run, neighbours):
    words = f"--sampling 0.1 --steps 5 --delta 1e-5 --neighbours {neighbours}"
    found = said(run, f"epsilon dp-sgd --noise-multiplier 2 {words}")["epsilon"]
    assert found == sampled_gaussian.epsilon(2, 0.1, 5, 1e-5, neighbours)
    needed = said(run, f"sigma dp-sgd --epsilon {found!r} {words}")["noise multiplier"]
    assert needed == sampled_gaussian.noise_multiplier(found, 1e-5, 0.1, 5, neighbours) == pytest.approx(2, rel=0.01)


@pytest.mark.slow
def test_what_records_of_a_gaussian_cost(run):
    words = "epsilon gaussian-synthesis --records 100000000 --attributes 4 --sigma 0.02 --delta 1e-6 --made 50"
    regularised = said(run, words)
    assert list(regularised["epsilon"]) == ["Theorem H"] and regularised["covariance"] == "regularised"
    assert regularised["epsilon"]["Theorem H"] == regularised_released_epsilon(10**8, 1e-6, 4, 0.02, size=50)
    words += " --covariance plain"
    found = said(run, words)
    assert list(found["epsilon"]) == ["Theorem 3.1", "Theorem D", "Theorem E"] and found["least"] == "Theorem E"
    assert found["epsilon"]["Theorem E"] == released_epsilon(10**8, 1e-6, 4, 0.02, size=50)
    assert found["epsilon"]["Theorem E"] < found["epsilon"]["Theorem D"] <= found["epsilon"]["Theorem 3.1"]
    bounded = said(run, f"{words} --neighbours bounded")
    assert list(bounded["epsilon"]) == ["Theorem 3.2", "Theorem A", "Theorem B", "Theorem G", "Theorem G'"]
    assert bounded["least"] == "Theorem G'"
    all_of_them = said(run, words.replace("--made 50", "--made 100000000"))["epsilon"]["Theorem D"]
    assert (
        said(run, words.replace(" --made 50", ""))["epsilon"]["Theorem D"]
        == all_of_them
        > found["epsilon"]["Theorem D"]
    )


@pytest.mark.slow
def test_the_command_lists_the_theorems_of_the_register_that_cover_a_case(run):
    """For random settings the command lists all of them, in the order of the register, with their epsilons; the reference describes each function."""
    rng, listed = np.random.default_rng(36), set()
    for i in range(8):
        neighbours, covariance = [*itertools.product(("unbounded", "bounded"), ("regularised", "plain"))][i % 4]
        n, d, sigma = int(10 ** rng.uniform(4, 9)), int(rng.integers(1, 9)), float(10 ** rng.uniform(-2, -0.1))
        delta, made = float(10 ** rng.uniform(-10, -3)), int(10 ** rng.uniform(1.7, 3))
        words = f"epsilon gaussian-synthesis --records {n} --attributes {d} --sigma {sigma!r} --delta {delta!r} --made {made}"
        found = said(run, f"{words} --neighbours {neighbours} --covariance {covariance}")["epsilon"]
        covered = [each for each in THEOREMS if each.neighbours == neighbours and covariance in each.covariance]
        assert list(found) == [each.name for each in covered]
        for each in covered:
            epsilon = each.epsilon(n, delta, d, sigma, size=made)
            assert found[each.name] == (epsilon if math.isfinite(epsilon) else None), (each.name, words)
        listed |= set(found)
    assert listed == {each.name for each in THEOREMS}
    described = set(reference.public().values())
    for function in [each for theorem in THEOREMS for each in (theorem.renyi, theorem.exact) if each]:
        assert f"lib.gaussian_synthesis.{function.__name__}" in described


def test_few_public_records_have_the_cost_of_theorem_g(run):
    """The command said 319.2 while it did not know Theorem G."""
    words = "epsilon gaussian-synthesis --records 2500 --attributes 6 --sigma 0.01 --delta 1e-5 --made 1 --neighbours bounded"
    found = said(run, words)
    assert found["least"] == "Theorem G" and f"{found['epsilon']['Theorem G']:.2f}" == "11.42"
    plain = said(run, f"{words} --covariance plain")
    assert plain["least"] == "Theorem G'" and plain["epsilon"]["Theorem G'"] < found["epsilon"]["Theorem G"]


def test_a_cost_without_limit_is_null_in_json_and_inf_in_words(run):
    words = "epsilon gaussian-synthesis --records 2 --attributes 400 --sigma 0.001 --delta 1e-6 --neighbours bounded"
    found = said(run, words)
    assert found["epsilon"]["Theorem 3.2"] is None
    assert re.search(r"(?m)^epsilon Theorem 3.2 +inf", run(words)[1])


def test_how_much_noise_a_promise_needs(run):
    found = said(run, "sigma gaussian --epsilon 0.7 --delta 1e-7 --sensitivity 3")
    assert found["sigma"] == accounting.gaussian_sigma(0.7, 1e-7, 3) < found["sigma by zcdp"]
    assert said(run, f"epsilon gaussian --sigma {found['sigma']!r} --delta 1e-7 --sensitivity 3")[
        "epsilon"
    ] == pytest.approx(0.7)
    assert said(run, "sigma laplace --epsilon 0.5 --sensitivity 3")["scale"] == 6


@pytest.mark.slow
def test_what_several_mechanisms_cost_together(run):
    several = [(mechanisms.Gaussian(9.0), 4), (mechanisms.Laplace(8.0), 3), (mechanisms.RandomizedResponse(0.2), 1)]
    found = said(run, "compose gaussian:9x4 laplace:8x3 pure:0.2 --delta 1e-6")
    accountant = accounting.Accountant(several, 1e-6)
    assert found["epsilon"] == {name: getattr(accountant, name)() for name in accountant.bounds}
    assert found["least"] == min(found["epsilon"], key=found["epsilon"].get)
    lines = run("compose gaussian:9x4 laplace:8x3 pure:0.2 --delta 1e-6")[1].splitlines()
    assert [line.split()[1] for line in lines if line.endswith("  smallest")] == [found["least"]]


@pytest.mark.slow
def test_the_least_is_by_value(run):
    """The method with the smallest value is named; it is a different one in each of these cases."""
    one, many, exact = (
        said(run, f"compose {words} --delta 1e-6") for words in ("pure:0.1", "pure:0.1x3 gaussian:9x4", "gaussian:9x4")
    )
    assert (one["least"], many["least"], exact["least"]) == ("optimal", "numerical", "gaussian")
    for found in (one, many, exact):
        assert found["epsilon"][found["least"]] == min(found["epsilon"].values())


@pytest.mark.slow
def test_a_method_that_cannot_say_does_not_silence_the_others(run):
    far = said(run, "compose gaussian:1e-9x3 --delta 1e-6")["epsilon"]
    assert far["gaussian"] <= far["numerical"] <= far["gaussian"] * 1.01
    found = said(run, "compose gaussian:10x99999999999999999999 --delta 1e-6")
    assert list(found["none"]) == ["optimal", "numerical"] and "a grid of 3.6e+13 points" in found["none"]["numerical"]
    found = said(run, "compose gaussian:9x4 --delta 1e-15")
    assert list(found["none"]) == ["numerical"] and found["none"]["numerical"].startswith("delta must be in [1e-12, 1)")
    assert found["least"] == "gaussian"


# ---- a table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("members.csv", "schema.yml"):
        (tmp_path / name).write_bytes((EXAMPLE / name).read_bytes())
    return tmp_path


def test_a_table_becomes_synthetic_records(run, folder):
    words = "synthesize members.csv schema.yml --epsilon 2 --workload 1 --records 50 --within middle --output out"
    found = said(run, words)
    files = ["errors.csv", "model.npz", "schema.yml", "statement.txt", "synthetic.csv", "synthetic.parquet"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == files == found["files"].split(", ")
    with (folder / "out/synthetic.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50 == found["records"]
    assert (folder / "out/statement.txt").read_text() == release.statement(2.0, 1e-9, "unbounded") + "\n"
    assert (folder / "out/schema.yml").read_bytes() == (EXAMPLE / "schema.yml").read_bytes()
    assert release.load(folder / "out/model.npz").total is None
    said(run, "synthesize members.csv schema.yml --method staged --output more")
    assert "outputs of staged residuals" in (folder / "more/statement.txt").read_text()
    assert Synthesizer.load(folder / "more/model.npz").release_.stages


@pytest.mark.slow
def test_a_release_is_sampled_and_asked(run, folder):
    assert run("synthesize members.csv schema.yml --workload 2 --epsilon 100")[0] == 0
    made = Synthesizer.load("released/model.npz")
    status, out, err = run("sample released/model.npz -n 20 --where 'card = child'")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (status, err, len(rows)) == (0, "", 20) and {row["card"] for row in rows} == {"child"}
    for name in ("s.csv", "s.parquet"):
        status, out, err = run(f"sample released/model.npz --output {name}")
        assert (status, err) == (0, "") and out.split() == [
            "output",
            name,
            "records",
            str(round(made.release_.model.total)),
        ]
        assert len(sources.read(name, made.schema_)) == round(made.release_.model.total)
    question = "mean(loans) where card = child"
    found = said(run, f"query released/model.npz '{question}' --level 0.9")
    assert found == dataclasses.asdict(made.query(question, 0.9))
    lines = run(f"query released/model.npz '{question}' --level 0.9")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(found) and float(lines[0].split()[1]) == pytest.approx(
        found["estimate"]
    )
    for words, reason in (
        (
            "query released/model.npz mode(loans)",
            "question must be a count or a statistic: one of count proportion mean",
        ),
        ("query members.csv count", "members.csv must be a release that `save` wrote"),
        ("query none.npz count", "none.npz: No such file or directory"),
        (
            "sample released/model.npz --output s.csv",
            "output must be a new file that ends in .csv or .parquet, got 's.csv'",
        ),
        (
            "sample released/model.npz --where 'card = x'",
            "where must be a condition on attributes: a value of card must be one of child,",
        ),
        ("sample released/model.npz -n 0", "Invalid value for '-n'"),
    ):
        status, out, err = run(words)
        assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(reason), err


def test_releases_are_kept_account_of(run, folder, monkeypatch):
    assert said(run, "account kept --new 1/2 --delta 1e-7")["epsilon"] == {"total": 0.5, "spent": 0, "left": 0.5}
    words = "synthesize members.csv schema.yml --workload 1 --account kept"
    first = said(run, f"{words} --epsilon 0.4 --delta 1e-7")
    with monkeypatch.context() as counting:
        counting.setattr("lib.release.counter.Counter.add", lambda *_: pytest.fail("a batch was counted"))
        status, out, err = run(f"{words} --epsilon 0.4 --delta 1e-7 --output two")
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(
        "this release would exceed the total epsilon 0.5 of kept,"
    )
    assert not (folder / "two").exists()
    left = re.search(r"at most epsilon ([0-9.]+),", err)[1]
    second = said(run, f"{words} --epsilon {left} --delta 1e-7 --output two --earlier released/model.npz")
    found = said(run, "account kept")
    assert first["epsilon"] == 0.4 and second["epsilon"] == found["epsilon"]["spent"] == 0.5
    assert [each["state"] for each in found["releases"]] == ["made", "made"] and found["epsilon"]["left"] < 0.01
    assert sum(Fraction(each["rho"]) for each in found["releases"]) == Fraction(found["rho"]["spent"]) <= Fraction(found["rho"]["total"])  # fmt: skip
    assert run("account kept --raise 0.6")[0] == 0 and said(run, "account kept")["epsilon"]["total"] == 0.6
    lines = run("account kept")[1].splitlines()
    assert [line.split(maxsplit=2)[:2] for line in lines[-2:]] == [["release", "1"], ["release", "2"]]
    for options, reason in (
        ("--raise 0.6", "epsilon must be above 0.6, the total of kept, got 0.6"),
        ("--new 2", "kept: File exists"),
        ("--delta 1e-7", "delta and neighbours may be given only with --new, and --raise only without --new"),
        ("--new 2 --raise 3", "delta and neighbours may be given only with --new, and --raise only without --new"),
    ):
        assert run(f"account kept {options}") == (2, "", f"{reason}\n")


@pytest.mark.parametrize("step", ["sources.count", "synthesizer.run", "synthesizer.write"])
def test_an_interrupted_release_says_what_is_spent(run, folder, monkeypatch, step):
    """The cost is reserved before counting, and is spent even if nothing is released; not if the interruption came before."""
    assert run("account kept --new 1 --delta 1e-7")[0] == 0
    words = "synthesize members.csv schema.yml --workload 1 --account kept --epsilon 0.4 --delta 1e-7"

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(f"lib.release.{step}", interrupted)
        told = "interrupted; nothing was released, but its cost is spent in kept\n"
        assert run(words) == (130, "", told)
    with monkeypatch.context() as stopped:
        stopped.setattr("lib.release.sources.check", interrupted)
        assert run(words) == (130, "", "interrupted; nothing was released\n")
    assert not (folder / "released").exists() and said(run, "account kept")["epsilon"]["spent"] == 0.4


@pytest.mark.parametrize("terminal", [False, True])
def test_names_reach_a_file_as_they_are_and_a_terminal_escaped(run, folder, monkeypatch, terminal):
    (folder / "odd.yml").write_text('attributes: {"car\\e[31md": {values: [child, adult]}}')
    (folder / "odd.csv").write_text("car\x1b[31md\n" + "child\nadult\n" * 200)
    assert run("synthesize odd.csv odd.yml")[0] == 0
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    name = run("sample released/model.npz -n 3")[1].splitlines()[0]
    assert name == (r'"car\x1b[31md"' if terminal else '"car\x1b[31md"')


@pytest.mark.parametrize("step", ["sources.count", "synthesizer.write"])
def test_an_error_says_what_is_spent(run, folder, monkeypatch, step):
    """Another run has made the folder, or the records cannot be counted, which costs nothing."""
    assert run("account kept --new 1 --delta 1e-7")[0] == 0

    def meanwhile(*_, **__):
        (folder / "released").mkdir()
        (folder / "released/other").touch()
        if step == "sources.count":
            raise OSError("cannot be counted")

    told = step == "synthesizer.write"
    monkeypatch.setattr(f"lib.release.{step}", meanwhile)
    status, out, err = run("synthesize members.csv schema.yml --workload 1 --account kept --epsilon 0.4 --delta 1e-7")
    assert (status, out, err.count("\n")) == (2, "", 1)
    spent = "released: cannot be created, so nothing was released (Directory not empty); the cost of the release is spent in kept\n"
    assert err == (spent if told else "cannot be counted\n")
    assert said(run, "account kept")["epsilon"]["spent"] == (0.4 if told else 0)
    assert [path.name for path in (folder / "released").iterdir()] == ["other"] and not list(folder.glob(".released-*"))


def test_bins_that_are_too_wide_are_told_before_a_record_is_counted(run, folder, monkeypatch):
    (folder / "wide.yml").write_text("attributes: {age: {range: [0, 99], bins: 2}}")
    monkeypatch.setattr("lib.release.counter.Counter.add", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    status, _, err = run("synthesize members.csv wide.yml")
    assert status == 130 and err.splitlines()[0].startswith(
        "A mean of age may be off by up to 24.5 because of the width"
    )
    assert len(err.splitlines()) == 2


def test_a_released_csv_can_be_made_harmless_for_a_spreadsheet(run, folder):
    (folder / "one.csv").write_text("n\n" + 90 * "=1+2\n" + 60 * "b\n")
    (folder / "one.yml").write_text("attributes: {n: {values: ['=1+2', b]}}")
    for options, label in (("", '"=1+2"'), (" --spreadsheet", '"\'=1+2"')):
        assert run(f"synthesize one.csv one.yml --output out{len(options)}{options}")[0] == 0
        assert label in (folder / f"out{len(options)}/synthetic.csv").read_text().splitlines()


def test_a_schema_that_does_not_suit_the_file_is_doubted(run, folder):
    (folder / "eu.csv").write_text("fee;sex\n" + 300 * "12,50;female\n" + 300 * "3,10;male\n")
    (folder / "eu.yml").write_text("attributes: {fee: {range: [0, 99]}, sex: {values: [female, male]}}")
    status, out, err = run("synthesize eu.csv eu.yml --json")
    assert (
        status == 0
        and err.startswith("According to the noisy counts, ")
        and "% of the values of fee are missing or `other`" in err
    )
    assert json.loads(out)["output"] == "released" and "sex" not in err
    assert run("synthesize members.csv schema.yml --workload 1 --output other")[2] == ""


def test_a_table_of_a_single_attribute_has_no_pairs(run, folder):
    (folder / "one.csv").write_text("ill\n" + 90 * "yes\n" + 60 * "no\n")
    (folder / "one.yml").write_text("attributes: {ill: {values: ['yes', 'no']}}")
    assert run("synthesize one.csv one.yml")[0] == 0
    status, _, err = run("synthesize one.csv one.yml --workload 2 --output two")
    assert status == 2 and "workload must be " in err


def test_the_noise_is_another_each_time(run, folder):
    for name in ("one", "two"):
        assert run(f"synthesize members.csv schema.yml --workload 1 --records 50 --output {name}")[0] == 0
    assert (folder / "one/errors.csv").exists() and (folder / "one/model.npz").read_bytes() != (
        folder / "two/model.npz"
    ).read_bytes()


def test_a_release_is_not_written_over(run, folder):
    (folder / "released").mkdir()
    (folder / "released/synthetic.csv").write_text("theirs")
    status, out, err = run("synthesize members.csv schema.yml")
    assert (status, out) == (2, "") and err.startswith("released already exists; ") and err.count("\n") == 1
    assert [path.name for path in (folder / "released").iterdir()] == ["synthetic.csv"]


@pytest.mark.parametrize(
    "setting",
    ["epsilon 0", "epsilon nan", "epsilon 1e-7", "epsilon 1e7", "delta 0", "delta 1", "delta 1e-301", "workload 6", "output ."],
)  # fmt: skip
def test_a_bad_setting_is_refused_before_a_record_is_counted(run, folder, monkeypatch, setting):
    monkeypatch.setattr("lib.release.counter.Counter.add", lambda *_: pytest.fail("a batch was counted"))
    (folder / "schema.yml").write_text("attributes: {card: {values: [child, adult]}, age: {range: [0, 99]}}")
    status, out, err = run(f"synthesize members.csv schema.yml --{setting}")
    assert (status, out) == (2, "") and err.startswith(f"{setting.split()[0].replace('output', '.')} "), err
    assert sorted(path.name for path in folder.iterdir()) == ["members.csv", "schema.yml"]


PAUSED = """
import sys, time
from lib.command import main
from lib.release import synthesizer
def waits(folder, *_, **__):
    (folder / "synthetic.csv").touch()
    time.sleep(60)
synthesizer.write = waits
sys.exit(main.main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_release_that_is_ended_leaves_nothing(folder, ends):
    """The process is ended when it has written a file."""
    words = [sys.executable, "-c", PAUSED, "synthesize", "members.csv", "schema.yml", "--workload", "1"]
    heard = functools.partial(signal.signal, ends, signal.SIG_DFL)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as running:
        while not list(folder.rglob("made/*")) and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(ends)
        assert running.communicate()[1] == "interrupted; nothing was released\n" and running.returncode == 130
    assert sorted(path.name for path in folder.iterdir()) == ["members.csv", "schema.yml"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [300_000, 600_000, 1_600_000])
def test_too_little_memory_for_a_release_ends_with_a_sentence(folder, limit):
    """Below such a limit, a library asked for memory without end."""
    line = (
        f"ulimit -v {limit}; exec {shlex.quote(sys.executable)} -m lib.command.main synthesize members.csv schema.yml"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | {
        "PYTHONPATH": str(ROOT)
    }
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=100)
    said = "2048 MiB of memory addresses are needed, but a limit (ulimit -v) leaves less\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_where_it_fails_nothing_is_left(run, folder, monkeypatch):
    def broken(*_, **__):
        raise OSError(28, "No space left on device", "synthetic.csv")

    monkeypatch.setattr(release, "write", broken)
    before = sorted(folder.iterdir())
    assert run("synthesize members.csv schema.yml --workload 1 --records 10") == (
        2,
        "",
        "synthetic.csv: No space left on device\n",
    )
    assert sorted(folder.iterdir()) == before


# ---- the ledger


@pytest.mark.slow
def test_the_ledger_is_todays():
    """If you change a claim or its verdict, run `make claim ID=...`."""
    full = {row["id"]: row for row in results.rows(ROOT / "book/results/claims.csv")}
    held = verdicts.read()
    known_ids = [claim["id"] for claim in held]
    assert not (new := set(claims.load().claims) - set(known_ids)), f"run `make claim ID={min(new)}`"
    assert known_ids == list(claims.load().claims), "a claim was moved or removed: run `python -m book.ledger package`"
    for claim, known in zip(held, claims.load().claims.values(), strict=True):
        run = f"run `make claim ID={known.id}`"
        assert known.id in full, run
        row = full[known.id]
        assert claim == {
            "id": known.id, "document": known.document, "item": known.item, "statement": known.statement, "printed": known.printed,
            "reproduced": row["reproduced"], "verdict": row["verdict"], "note": row["note"], "chapter": row["notebook"],
        }, run  # fmt: skip


def test_claims_are_found_by_document_verdict_and_words(run):
    held = verdicts.read()
    assert said(run, "ledger") == held
    found = said(run, "ledger --document miura2022 --verdict differs")
    assert found == [each for each in held if each["document"] == "miura2022" and each["verdict"] == "differs"] != []
    found = said(run, 'ledger --text "RENYI unbounded" --document miura2022') or said(run, "ledger --text unbounded")
    assert found and all("unbounded" in " ".join(each.values()).lower() for each in found)
    assert said(run, "ledger --text zzzz") == []
    _, out, _ = run("ledger --document kiri2019 --verdict differs")
    assert out.splitlines()[-1].startswith("found: ") and out.count(": differs\n") == int(
        out.splitlines()[-1].split()[1]
    )


def test_without_a_filter_the_ledger_counts(run):
    lines = run("ledger")[1].splitlines()
    assert [line.split(":")[0] for line in lines] == list(claims.load().documents)
    assert sum(int(line.split()[1]) for line in lines) == len(verdicts.read())


# ---- help, and what is refused


def leaves(group=commands, path=()):
    """Yield every subcommand and the words that lead to it; groups as well."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))


LEAVES = dict(leaves())


def test_the_subcommands_are_those_that_people_expect():
    assert list(commands.commands) == [
        "epsilon",
        "sigma",
        "compose",
        "synthesize",
        "sample",
        "query",
        "account",
        "ledger",
    ]


EXAMPLES = [
    line.strip()
    for command in (commands, *LEAVES.values())
    for line in (command.epilog or "").splitlines()
    if "dp-compendium" in line
]
PROSE = [
    line.partition("#")[0].strip()
    for name in ("README.md", "book/how-to.md")
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    if line.startswith("dp-compendium ")
]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_help_has_an_example(run, path):
    status, out, _ = run(" ".join([*path, "--help"]))
    assert status == 0 and f"dp-compendium {path[0]}" in out.partition("Example")[2]


@pytest.mark.parametrize("path", [(), ("epsilon",), ("sigma",)], ids=" ".join)
def test_no_line_of_the_help_is_cut(run, path):
    status, out, _ = run(" ".join([*path, "--help"]))
    listed = out.partition("Commands:")[2].partition("Example")[0].split("\n\n")[0].strip().splitlines()
    assert status == 0 and listed and all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.slow
@pytest.mark.parametrize("line", sorted({*EXAMPLES, *PROSE}))
def test_the_examples_run(run, folder, line):
    (folder / "people.csv").write_bytes((folder / "members.csv").read_bytes())
    if "sqlite" in line:
        import adbc_driver_sqlite.dbapi
        import pyarrow.csv

        with adbc_driver_sqlite.dbapi.connect(f"file:{folder}/people.db") as made, made.cursor() as cursor:
            cursor.adbc_ingest("people", pyarrow.csv.read_csv(folder / "people.csv"))
            made.commit()
    kept = " --account people.account" if "people.account" in line else ""
    if kept and "--new" not in line:
        assert run("account people.account --new 1")[0] == 0
    if "model.npz" in line:
        assert run(f"synthesize people.csv schema.yml --workload 1 --epsilon 0.5{kept}")[0] == 0
    status, out, err = run(line.removeprefix("dp-compendium "))
    assert (status, err) == (0, "") and out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("epsilon gaussian --sigma 12/4 --delta 1/1000000", "epsilon gaussian --sigma 3 --delta 1e-6"),
        ("epsilon laplace --scale 4e0 --sensitivity 1/2", "epsilon laplace --scale 4 --sensitivity 0.5"),
        ("sigma dp-sgd --epsilon 3 --delta 1e-5 --sampling 1/8 --steps 2.0", "sigma dp-sgd --epsilon 3 --delta 1e-5 --sampling 0.125 --steps 2"),
        ("compose gaussian:30/2x1e1 pure:1/8 --delta 1e-6", "compose gaussian:15x10 pure:0.125 --delta 1e-6"),
        (
            "epsilon gaussian-synthesis --records 1e5 --attributes 2e0 --sigma 1/50 --delta 1e-6 --made 5E1",
            "epsilon gaussian-synthesis --records 100000 --attributes 2 --sigma 0.02 --delta 1e-6 --made 50",
        ),
    ],
)  # fmt: skip
def test_numbers_may_be_written_as_fractions_or_powers_of_ten(run, short, long):
    assert said(run, short) == said(run, long)


def test_every_number_of_the_command_may_be_so_written():
    kinds = [
        each.type
        for command in LEAVES.values()
        for each in command.params
        if "int" in each.type.name or "float" in each.type.name
    ]
    assert len(kinds) > 20 and {type(kind) for kind in kinds} == {costs.Number, costs.Whole}
    assert costs.Whole().convert("1e23", None, None) == 10**23


BAD = {
    "epsilon dp-sgd --noise-multiplier 1 --sampling 1/0 --steps 5 --delta 1e-5": "Invalid value for '--sampling': '1/0' is not a valid float.",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 1/2/3 --steps 5 --delta 1e-5": "Invalid value for '--sampling': '1/2/3' is not a valid float.",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 0.1 --steps 1e-4 --delta 1e-5": "Invalid value for '--steps': '1e-4' is not a valid integer.",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 0.1 --steps 1e999999999 --delta 1e-5": "Invalid value for '--steps': '1e999999999' is not a valid integer.",
    "epsilon gaussian --sigma 1 --delta 3/2": "delta must be in (0, 1), got 1.5",
    "compose gaussian:1x1.5 --delta 1e-6": "Invalid value for 'MECHANISMS...': '1.5' is not a valid integer",
    "epsilon gaussian --sigma 0 --delta 1e-6": "sigma must be in (0, inf), got 0",
    "epsilon gaussian --sigma nan --delta 1e-6": "sigma must be in (0, inf), got nan",
    "epsilon gaussian --sigma x --delta 1e-6": "Invalid value for '--sigma': 'x' is not a valid float.",
    "epsilon gaussian --sigma 1": "Missing option '--delta'.",
    "epsilon gaussian --sigma 1 --delta 1": "delta must be in (0, 1), got 1",
    "epsilon laplace --scale 1 --sensitivity -1": "sensitivity must be in (0, inf), got -1",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 2 --steps 5 --delta 1e-5": "sampling must be in [1e-6, 1], got 2",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 0.5 --steps 0 --delta 1e-5": "steps must be in [1, inf), got 0",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 0.5 --steps 1 --delta 1e-5 --neighbours both": "Invalid value for '--neighbours'",
    "epsilon dp-sgd --noise-multiplier 1 --sampling 0.5 --steps 99999999999999999999999 --delta 1e-5": "no epsilon found for 1e+23 steps",
    "epsilon gaussian-synthesis --records 9 --attributes 2 --sigma 0.1 --delta 1e-6 --made 0": "Invalid value for '--made'",
    "epsilon gaussian-synthesis --records 0 --attributes 2 --sigma 0.1 --delta 1e-6": "n must be in [1, ",
    "sigma gaussian --epsilon -1 --delta 1e-6": "epsilon must be in [0, 1e150], got -1",
    "sigma laplace --epsilon 0": "epsilon must be in (0, inf), got 0",
    "compose --delta 1e-6": "Missing argument 'MECHANISMS...'.",
    "compose gaussian:1 --delta 2": "delta must be in (0, 1), got 2",
    "compose normal:1 --delta 1e-6": "Invalid value for 'MECHANISMS...': 'normal:1' must be gaussian:SIGMA, laplace:SCALE or pure:EPSILON",
    "compose gaussian:0 --delta 1e-6": "Invalid value for 'MECHANISMS...': 'gaussian:0': the number after the colon must be in (0, inf), got 0",
    "compose gaussian:1x0 --delta 1e-6": "count must be in [1, inf), got 0",
    "synthesize people.csv nothing.yml": "DATA and SCHEMA must be existing files, got 'people.csv' and 'nothing.yml', which do not exist",
    "synthesize people.csv schema.yml": "data must be an existing file or folder, or an address, got 'people.csv'",
    "synthesize members.csv nothing.yml": "nothing.yml: No such file or directory",
    "synthesize members.csv schema.yml --epsilon 0": "epsilon must be ",
    "synthesize members.csv schema.yml --workload 7": "Invalid value for '--workload'",
    "synthesize members.csv schema.yml --records 99999999999999": "Invalid value for '--records'",
    "synthesize members.csv schema.yml --workload 1 --account none": "none does not exist; dp-compendium account --new makes an account",
    "synthesize members.csv schema.yml --workload 1 --account members.csv": "members.csv cannot be read or written as an account (file is not a database)",
    "synthesize members.csv schema.yml --workload 1 --earlier members.csv": "members.csv must be a release that `save` wrote",
    "synthesize members.csv schema.yml --workload 1 --earlier ''": ".: Is a directory",
    "account none": "none does not exist; ",
    "account none --raise 2": "none does not exist; ",
    "account members.csv": "members.csv cannot be read or written as an account (file is not a database)",
    "account other --new 0": "epsilon must be in [1e-6, 1e6], got 0",
    "account other --new 1 --delta 0": "delta must be in [1e-300, 1), got 0",
    "ledger --document smith2026": "document must be one of 'kiri2019'",
    "ledger --verdict wrong": "verdict must be one of ",
    "budget": "No such command 'budget'.",
    "epsilon": "Usage: ",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_words_end_in_one_sentence(run, folder, words):
    status, out, err = run(words)
    assert (status, out) == (2, "") and err.startswith(BAD[words]), err
    assert err.count("\n") == 1 or words == "epsilon"  # which is told what there is
    assert not (folder / "released").exists()


def test_an_interruption_is_told(run, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(verdicts, "read", stopped)
    status, _, err = run("ledger")
    assert status == 130 and err.endswith("interrupted\n")


def test_too_little_memory_is_told(run, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(verdicts, "read", full)
    assert run("ledger") == (2, "", "there is not enough memory\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "err"),
    [
        (
            "epsilon gaussian --sigma 4 --delta 1e-6 >&-",
            2,
            "standard output is closed, so the answer cannot be printed\n",
        ),
        ("ledger --json | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("ledger --json >/dev/null", 0, ""),
    ],
)
def test_where_the_answer_goes(words, status, err):
    """The answer may go nowhere, to a reader that has stopped reading, or to a terminal without the letters."""
    line = f"{shlex.quote(sys.executable)} -m lib.command.main {words}"
    ran = subprocess.run(
        ["bash", "-c", line], cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": "latin-1"}, capture_output=True
    )
    assert (ran.returncode, ran.stderr.decode()) == (status, err)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_letters_that_a_terminal_lacks_are_named(encoding):
    """Nothing is left out, also in the form of lines, with an epsilon and quotation marks."""
    asked = [sys.executable, "-m", "lib.command.main", "ledger", "--text", "privacy"]
    there, plain = (
        subprocess.run(asked, cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": each}, capture_output=True)
        for each in (encoding, "utf-8")
    )
    told = plain.stdout.decode()
    for letter in "ε“”":
        assert letter in told
        if not letter.encode(encoding, "ignore"):
            told = told.replace(letter, f"\\N{{{unicodedata.name(letter)}}}")
    assert (there.returncode, there.stderr) == (0, b"") and there.stdout.decode(encoding) == told


def test_the_command_has_no_arithmetic_of_its_own():
    """Each number comes from the rooms below: nothing is added or multiplied, only mappings are joined."""
    tree = ast.parse(Path(costs.__file__).read_text(encoding="utf-8"))
    assert {type(node.op) for node in ast.walk(tree) if isinstance(node, ast.BinOp)} == {ast.BitOr}


def test_the_words_are_those_of_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dp-compendium", "epsilon", "laplace", "--scale", "2"])
    assert main() == 0 and "epsilon  0.5" in capsys.readouterr().out
