"""The study of the kernel's width: the result of a cell, and the committed results."""

import warnings
import zlib

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from book.kept import results
from lib.data import datasets
from lib.microdata import KernelDensityRatio
from notebooks.studies import anonymization_readings, kernel_widths

FRAME = datasets.adult("test", missing="category", source="stand-in").head(600)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(kernel_widths, "WIDTHS", (1.0, 1000.0))


def test_a_cell_is_the_cross_validation_of_figure_1s_perturbed_records(few, monkeypatch):
    seen, real = [], anonymization_readings.perturb
    monkeypatch.setattr(anonymization_readings, "perturb", lambda *a, **o: seen.append(real(*a, **o)) or seen[-1])
    found = kernel_widths.cell(FRAME, 300, 1, "published", 100, "standard", 3, 0)
    at, weigh = anonymization_readings.split_records(FRAME, 300, 0, seed=1), anonymization_readings.unweighted
    anonymization_readings.from_perturbed(
        weigh, at, anonymization_readings.SETUPS["published"], 3, [1, zlib.crc32(b"published/3.0"), 0]
    )
    np.testing.assert_array_equal(seen[0].records, seen[1].records)
    assert found["width"] in (1.0, 1000.0) and found["short"] >= 0 and (found["short"] == 0) == (found["width"] == 1000)
    assert found["unfinished"] == 0


def test_unfinished_fits_are_counted(few, monkeypatch):
    def fit(self, records):
        self.width_, self.scores_ = 1.0, np.array([-1.0, -1.5])
        for _ in range(3):
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=2)

    monkeypatch.setattr(KernelDensityRatio, "fit", fit)
    found = kernel_widths.cell(FRAME, 300, 1, "published", 100, "none", 3, 0)
    assert found == {"width": 1.0, "short": 0.5, "unfinished": 3}


@pytest.mark.full
def test_the_command_writes_every_cell_with_its_provenance(few, tmp_path):
    options = ["--data", "stand-in", "--training", "400", "--most", "500", "--splits", "1", "--ks", "3", "--seed", "7"]
    path = tmp_path / "widths.csv"
    kernel_widths.main(["--output", str(path), "--cells", str(tmp_path / "cells"), *options])
    study, made = kernel_widths.load(path), results.provenance(path)
    assert list(study.columns) == list(kernel_widths.COLUMNS) and len(study) == 2 * 3
    assert not study.duplicated(["setup", "records", "scaling", "k", "split"]).any()
    assert made["settings"] == "training 400, most 500, splits 1, seed 7" and made["data"] == "stand-in"


def test_bad_levels_are_refused():
    with pytest.raises(ValueError, match="ks"):
        kernel_widths.study(FRAME, ks=(1.0,), training=300)


def test_the_committed_results_have_every_scaling_k_and_split_of_the_verified_files():
    made, study = results.provenance(kernel_widths.RESULTS), kernel_widths.load()
    assert made["data"] == "real" and "training 16281" in made["settings"] and "seed 2015" in made["settings"]
    files = {name: file.sha256 for name, file in datasets.SOURCES.items() if file.dataset == "adult"}
    assert {name: made[f"SHA-256 of {name}"] for name in files} == files
    splits = int(made["command"].split("--splits ")[1].split(" ")[0])
    assert len(study) == len(kernel_widths.PLAN) * 3 * 4 * splits
    assert set(study["width"]) <= set(kernel_widths.WIDTHS) and (study["short"] >= 0).all()
    assert ((study["width"] == kernel_widths.PRINTED) <= (study["short"] == 0)).all()
