"""The common parts of the studies: their command line, the origin of their results, and where other processes find their cells."""

import runpy
import sys

import numpy as np
import pytest

from lib.data import datasets
from notebooks.studies import command_line, grid

STUDIES = (
    "aim_ablation",
    "aim_comparison",
    "anonymization_comparison",
    "kernel_widths",
    "network_comparison",
    "reconstruction_limits",
)


def test_a_study_is_asked_for_the_same_and_its_own():
    parser = command_line.parser("notebooks.studies.some_study", "What it is.\n\nMore.", output="the file", seed=7)
    parser.add_argument("--trials", type=int, default=3)
    chosen = parser.parse_args(["--output", "out.csv", "--jobs", "2"])
    assert (chosen.data, chosen.seed, chosen.jobs, chosen.trials) == ("real", 7, 2, 3)
    assert (chosen.output.name, chosen.cells.as_posix()) == ("out.csv", "build/some_study")
    help = parser.format_help()
    assert "python -m notebooks.studies.some_study" in help and "What it is." in help and "More" not in help


@pytest.mark.parametrize("words", [[], ["--output", "x", "--data", "imagined"], ["--output", "x", "--trials", "3"]])
def test_other_words_end_the_program(words, capsys):
    with pytest.raises(SystemExit):
        command_line.parser("notebooks.studies.some_study", "What it is.", output="the file", seed=7).parse_args(words)
    assert "usage" in capsys.readouterr().err


def test_a_data_folder_that_is_none_ends_the_program_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setenv("COMPENDIUM_DATA", "/nowhere")
    made = command_line.parser("notebooks.studies.some_study", "What it is.", output="the file", seed=7)
    with pytest.raises(SystemExit) as ended:
        made.parse_args(["--output", "x"])
    assert ended.value.code == 2
    assert "error: argument --data: COMPENDIUM_DATA must name a folder" in capsys.readouterr().err
    assert made.parse_args(["--output", "x", "--data", "stand-in"]).data == "stand-in"


@pytest.mark.parametrize("data", datasets.KINDS)
def test_the_origin_names_the_files_of_real_data(data):
    words = ["--output", "x", "--data", data]
    chosen = command_line.parser("notebooks.studies.aim_ablation", "What it is.", output="the file", seed=7).parse_args(
        words
    )
    made = command_line.provenance(
        "notebooks.studies.aim_ablation", words, chosen, {"seed": 7}, files=datasets.ADULT_FILES
    )
    assert (
        made["command"] == f"python -m notebooks.studies.aim_ablation --output x --data {data}" and made["data"] == data
    )
    digests = {name: text for name, text in made.items() if name.startswith("SHA-256")}
    expected = {f"SHA-256 of {name}": datasets.SOURCES[name].sha256 for name in ("adult.data", "adult.test")}
    assert digests == (expected if data == "real" else {})


class Stopped(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_command_leaves_its_cells_where_other_processes_find_them(study, tmp_path, monkeypatch):
    """The command runs as by `python -m`, in a module called __main__, which is a different one in each process."""

    def stop(function, places, **_):
        assert len(list(places)) > 0
        raise Stopped(function.__module__)

    monkeypatch.setattr(grid, "run", stop)
    words = ["--output", str(tmp_path / "out"), "--data", "stand-in", "--jobs", "2", "--cells", str(tmp_path / "cells")]
    monkeypatch.setattr(sys, "argv", [study, *words])
    with pytest.raises(Stopped, match=f"^notebooks.studies.{study}$"):
        runpy.run_module(f"notebooks.studies.{study}", run_name="__main__")


def test_digests_tell_data_apart():
    one, other = np.arange(4.0), np.arange(4.0)[::-1].copy()
    assert grid.digest(one) == grid.digest(one.copy()) != grid.digest(other)
    assert len({grid.digest(one), grid.digest(one, "a"), grid.digest(one, "b"), grid.digest(one, other)}) == 4
