"""Compare whole runs of AIM, of staged residuals and of AIM's peers, seed by seed (book/results/miura2025/peers.csv).

    make peers TABLES=folder MBI=folder SEEDS=5 LIMIT=900 FOR="fair mortgages"

FOR : tables; default: all that are available. `aim_accuracy` lists them, and describes TABLES.
MBI : a checkout of github.com/ryan112358/mbi, whose AIM is a script beside the package. Without it `mbi` is left out.
MARGNET : a checkout of github.com/KaiChen9909/margnet. Without it `margnet` is left out.

Each program runs for all pairs at delta 1e-9 on the given domain, and otherwise uses its own defaults; the modules in
`peers/` list the exceptions. `dpmm` and `mbi` run AIM; `mst` measures a tree of pairs, with the package `dpmm`; `margnet`
fits a neural network to the pairs that it measures. Each seed runs in a separate process.

A peer takes minutes for a seed, so the result of each seed is kept when it ends. After an interruption, the next call
continues from there, and a call with more tables or seeds adds these. Our two programs run at least `OUR_SEEDS` seeds. A
seed is run again if the program that made its result now has another version; until then, the old row is kept. The
version of ours is the key of its code, and the version of a peer is its release; `margnet` has none, and that of torch
is given. The version also includes a key of the code here that calls the program, which a reworded docstring does not
change, and, for a checkout, a digest of its scripts. A run that did not end within LIMIT CPU seconds is kept without
errors, and no further seed is begun for its table, epsilon and program until LIMIT is larger. For ours, `first_s` is the
CPU time of an earlier run on two records, nearly all of which is imports.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from book.kept import content_key, results
from lib.numerics import checks
from notebooks.studies.aim_peers import FILE, OURS, STAGED
from tests.benchmarks import aim, aim_accuracy, measure

CODE = {OURS: "lib/tables/adaptive_iterative.py", STAGED: "lib/tables/residual_stages.py"}
# What the code that calls a program uses of this repository, other than code that calls programs
CALLED = ("lib", "tests/benchmarks/aim.py", "tests/benchmarks/measure.py")


class Peer(NamedTuple):
    environment: str  # in build/peers
    package: str  # whose release its rows give
    checkout: str = ""  # the variable that names its folder
    scripts: tuple[str, ...] = ()  # of the checkout


PEERS = {
    "dpmm": Peer("dpmm", "dpmm"),
    "mst": Peer("dpmm", "dpmm"),
    "mbi": Peer("mbi", "mbi", "MBI", ("mechanisms/aim.py",)),
    "margnet": Peer("opacus", "torch", "MARGNET", (
        "method/MargDL/config/gan/adult.toml", "method/MargDL/data/dataset.py", "method/MargDL/main.py",
        "method/MargDL/scripts/denoiser.py", "method/MargDL/scripts/gan.py")),
}  # fmt: skip
OUR_SEEDS = 20  # at least: they take seconds, and the fewer of them, the larger the error of a difference
PLACE = ["table", "epsilon", "program", "seed"]
ERRORS = ["error1", "error2", "error3"]
COLUMNS = [*PLACE, "version", "records", "attributes", *ERRORS, "cpu_s", "peak_mb", "limit_s", "first_s"]


def versions() -> dict[str, str]:
    """Return the version of each installed program, ours first, as its rows give it."""
    calls = {
        name: key for key, name in content_key.definitions("tests/benchmarks/aim_accuracy.py", without=CALLED).items()
    }
    calls = {OURS: calls["whole"], STAGED: calls["staged"]}
    found = {ours: f"code {results.key(code)[:12]} called by {calls[ours]}" for ours, code in CODE.items()}
    for name, peer in PEERS.items():
        python, folder = measure.peer(peer.environment), os.environ.get(peer.checkout)
        if python and (folder or not peer.checkout):
            (about,) = python.parent.parent.glob(f"lib/python*/site-packages/{peer.package}-*.dist-info")
            called = content_key.key(f"tests/benchmarks/peers/{name}.py", without=CALLED)[:12]
            found[name] = f"{about.name.removesuffix('.dist-info').split('-')[1]} called by {called}"
            if folder:
                scripts = b"".join(Path(folder, script).read_bytes() for script in peer.scripts)
                found[name] += f" script {hashlib.sha256(scripts).hexdigest()[:12]}"
    return found


def row(place, version, file, limit) -> dict:
    """Run one seed of one program."""
    name, epsilon, program, seed = place
    with tempfile.TemporaryDirectory() as folder:
        if program == OURS:
            arguments = (file, epsilon, seed, Path(folder, "measured.npz"))
            line = measure.child("tests.benchmarks.aim_accuracy", "whole", *arguments)
        elif program == STAGED:
            line = measure.child("tests.benchmarks.aim_accuracy", "staged", file, epsilon, seed)
        else:
            module, arguments = f"tests.benchmarks.peers.{program}", (file, aim_accuracy.K, epsilon, seed)
            python = measure.peer(PEERS[program].environment)
            line = measure.child(module, "seeded", *arguments, python=python, limit=limit)
    table = aim.load_table(file)
    about = version, len(table), len(table.domain)
    found = [line.get(key) for key in (*aim_accuracy.NAMES, "cpu_s", "peak_mb")]
    return dict(zip(COLUMNS, [*place, *about, *found, limit, line.get("first_s")]))


def run(names, seeds, limit, output=FILE) -> int:
    """Add the missing rows of the tables `names` to `output`, for every epsilon, program and seed.

    Returns 1 if a table was left out, and 0 otherwise.
    """
    status, current = 0, versions()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                file = aim_accuracy.encoded(name, Path(folder))
                for program, version in current.items():
                    for epsilon in aim_accuracy.EPSILONS:
                        wanted = max(seeds, OUR_SEEDS) if program in CODE else seeds
                        _seeds((name, epsilon, program), version, wanted, limit, file, output)
            except (measure.Absent, subprocess.CalledProcessError) as reason:
                print(f"{name}: left out, {reason}", file=sys.stderr)
                status = 1
    return status


def _seeds(cell, version, seeds, limit, file, output) -> None:
    """Run the seeds of one table, epsilon and program, up to one that does not end."""
    for seed in range(seeds):
        place = (*cell, seed)
        found = results.load(output) if output.exists() else pd.DataFrame(columns=COLUMNS)
        found = found.astype({"version": str}).set_index(PLACE)
        if place not in found.index or not _stands(found.loc[place], version, limit):
            made = pd.DataFrame([row(place, version, file, limit)]).set_index(PLACE)
            if versions().get(cell[-1]) != version:
                raise SystemExit(f"{cell[-1]} has changed while its seed {seed} ran, which is not kept: call again")
            found = pd.concat([found.drop(index=place, errors="ignore"), made]).sort_index()
            results.save(output, found, _provenance(limit))
        if pd.isna(found.loc[place, "error1"]):
            return  # the next seed takes as long


def _stands(kept, version, limit) -> bool:
    """Return whether a row need not be made again."""
    return kept["version"] == version and (pd.notna(kept["error1"]) or kept["limit_s"] >= limit)


def _provenance(limit) -> dict:
    """Return the provenance with the keys of our code; the rows of a peer give its version."""
    made = results.collect(
        "tests.benchmarks.aim_peers", [], data="real", settings={"limit": limit}, code=" ".join(CODE.values())
    )
    return made | {"command": "make peers"}


def main() -> int:
    try:
        names = os.environ.get("FOR", "").split() or list(aim_accuracy.tables())
        for name in names:
            checks.one_of("FOR", name, tuple(aim_accuracy.tables()))
        seeds, limit = (
            aim_accuracy.asked("SEEDS", 5, "[2, 1000]"),
            aim_accuracy.asked("LIMIT", aim.PEER_LIMIT, "[1, 1e6]"),
        )
    except ValueError as reason:
        print(reason, file=sys.stderr)
        return 2
    return run(names, seeds, limit)


if __name__ == "__main__":
    sys.exit(main())
