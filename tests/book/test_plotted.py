"""book.figures.plotted: the numbers of known drawings are read back from the artists, and equal drawings give equal
files."""

import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from book import figures
from book.figures import plotted

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def axes():
    with plt.rc_context():
        figures.use_house_style()
        _, drawn = plt.subplots()
        yield drawn
        plt.close("all")


def rows(axes, **chosen) -> pd.DataFrame:
    """Return the rows of the table of the axes' figure that have the chosen values."""
    frame, _ = plotted.table(axes.figure)
    for name, value in chosen.items():
        frame = frame[frame[name] == value]
    return frame


def equal(found, expected):
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-12, atol=1e-12, equal_nan=True)


def test_lines_with_their_labels_and_the_names_of_the_axes(axes):
    axes.semilogy([1, 2, 3], [10, 100, np.nan], label="first")
    axes.plot([1, 2], [7, 8])
    axes.set(title="A\ntitle", xlabel="records $n$", ylabel="error")
    frame, notes = plotted.table(axes.figure)
    assert list(frame.columns) == ["panel", "kind", "series", "x", "y"]
    assert notes == {"panel 1": "A title; x: records $n$; y: error (log)"}
    equal(frame[frame.series == "first"][["x", "y"]], [[1, 10], [2, 100], [3, np.nan]])
    equal(frame[frame.series == "line 2"][["x", "y"]], [[1, 7], [2, 8]])


def test_a_line_across_the_panel_is_one_number(axes):
    axes.plot([0, 5], [0, 1])
    axes.axhline(0.25, label="level")
    axes.axvline(3, label="place")
    axes.axvspan(1, 2, label="strip")
    assert rows(axes, series="level")[["x", "y"]].isna().to_numpy().tolist() == [[True, False]]
    equal(rows(axes, series="level").y, [0.25])
    equal(rows(axes, series="place").x, [3])
    equal(rows(axes, series="strip")[["x_low", "x_high"]], [[1, 2]])


def test_error_bars(axes):
    axes.errorbar([1, 2], [5, 6], yerr=[[1, 2], [3, 4]], label="both")
    axes.errorbar([1, 2], [5, 6], xerr=0.5, yerr=[0.1, np.nan], label="crossed")
    axes.errorbar([4], [9], yerr=2, fmt="none", label="bare")
    equal(rows(axes, series="both")[["x", "y", "y_low", "y_high"]], [[1, 5, 4, 8], [2, 6, 4, 10]])
    equal(
        rows(axes, series="crossed")[["x_low", "x_high", "y_low", "y_high"]],
        [[0.5, 1.5, 4.9, 5.1], [1.5, 2.5, np.nan, np.nan]],
    )
    equal(rows(axes, series="bare")[["x", "y", "y_low", "y_high"]], [[4, np.nan, 7, 11]])
    assert len(rows(axes)) == 5  # and nothing twice


def test_bars_side_by_side_share_the_name_of_their_group(axes):
    for i, label in enumerate(["left", "right"]):
        axes.bar(np.arange(2) + 0.4 * (i - 0.5), [3 + i, 5 + i], 0.4, yerr=[1, 2], label=label)
    axes.set_xticks([0, 1], ["ages", "sexes"])
    found = rows(axes, series="right")
    assert found.x_name.tolist() == ["ages", "sexes"]
    equal(found[["x", "x_low", "x_high", "y", "y_low", "y_high"]], [[0.2, 0, 0.4, 4, 3, 5], [1.2, 1, 1.4, 6, 4, 8]])
    assert len(rows(axes)) == 4


@pytest.mark.parametrize("ticks, names", [(["3", "50"], ["3", "50"]), (["0", "1"], [])])
def test_numbers_are_names_where_they_do_not_stand_at_their_places(axes, ticks, names):
    axes.errorbar([-0.1, 0.9], [5, 6], yerr=1)
    axes.set(xticks=[0, 1], xticklabels=ticks)
    assert rows(axes).get("x_name", pd.Series()).tolist() == names


def test_a_curve_has_no_name_between_the_names(axes):
    axes.plot([0, 0.25, 1], [5, 6, 7])
    axes.set_xticks([0, 1], ["least", "most"])
    assert rows(axes).x_name.fillna("").tolist() == ["least", "", "most"]


def test_bars_that_lie_have_names_and_a_base(axes):
    axes.barh(["one", "two"], [3, 4], left=[0, 1])
    found = rows(axes)
    assert found.y_name.tolist() == ["one", "two"]
    equal(found[["x", "base"]], [[3, np.nan], [5, 1]])


def test_a_histogram_has_its_edges(axes):
    axes.hist([1, 1, 2, 5], bins=[0, 2, 4, 6], label="counts")
    equal(rows(axes)[["x_low", "x_high", "y"]], [[0, 2, 2], [2, 4, 1], [4, 6, 1]])
    axes.stairs([7, 8], [0, 1, 3], label="steps")
    equal(rows(axes, series="steps")[["x_low", "x_high", "y"]], [[0, 1, 7], [1, 3, 8]])


def test_bands_segments_and_points(axes):
    axes.fill_between([1, 2, 3], [0, 1, 0], [5, 6, 7], label="band")
    axes.fill_betweenx([1, 2], [0, 1], [5, 6], label="upright band")
    axes.vlines([4, 5], [0, 1], [2, 3], label="upright")
    axes.scatter([1, 2], [3, 4], c=[0.5, 0.6], label="dots")
    equal(rows(axes, series="band")[["x", "y_low", "y_high"]], [[1, 0, 5], [2, 1, 6], [3, 0, 7]])
    equal(rows(axes, series="upright band")[["y", "x_low", "x_high"]], [[1, 0, 5], [2, 1, 6]])
    equal(rows(axes, series="upright")[["x", "y_low", "y_high"]], [[4, 0, 2], [5, 1, 3]])
    equal(rows(axes, series="dots")[["x", "y", "value"]], [[1, 3, 0.5], [2, 4, 0.6]])


@pytest.mark.parametrize("origin", ["upper", "lower"])
def test_cells_of_an_image_lie_where_they_are_drawn(axes, origin):
    values = np.arange(6.0).reshape(2, 3)
    shown = axes.imshow(values, origin=origin)
    axes.figure.colorbar(shown, label="nats")
    axes.set_yticks([0, 1], ["a", "b"])
    frame, notes = plotted.table(axes.figure)
    assert set(frame.panel) == {1} and notes["panel 1"].endswith("colour: nats")
    for _, row in frame.iterrows():  # matplotlib's default places cell (i, j) at x = j, y = i, either way up
        assert row.value == values[int(row.y), int(row.x)]
    assert frame.y_name.tolist() == ["a"] * 3 + ["b"] * 3
    axes.clear()
    axes.imshow(values, origin=origin, extent=(0, 30, 0, 20))
    top = rows(axes, value=0.0)
    equal(top[["x", "y"]], [[5, 15 if origin == "upper" else 5]])


def test_meshes_contours_shapes_and_texts(axes):
    x, y = np.meshgrid([0, 1, 2], [0, 1, 2])
    axes.pcolormesh([0, 1, 3], [0, 2], [[7, 8]], label="mesh")
    filled = axes.contourf(x, y, x, levels=[-0.5, 0.5, 2.5])
    axes.add_patch(plt.Rectangle((1, 2), 3, 4, label="shape"))
    axes.text(0.5, 0.25, "here")
    axes.text(0.5, 0.5, "anywhere", transform=axes.transAxes)
    axes.annotate("arrow", (1, 1), (2, 2), arrowprops={})
    equal(rows(axes, series="mesh")[["x", "y", "value"]], [[0.5, 1, 7], [2, 1, 8]])
    assert set(rows(axes, kind="contour").value) == {-0.5, 0.5} and filled.filled
    outline = rows(axes, kind="contour", text="-0.5 to 0.5")
    assert outline.x.max() == 0.5  # where the plane x crosses the level
    equal(rows(axes, series="shape")[["x", "y"]].drop_duplicates(), [[1, 2], [4, 2], [4, 6], [1, 6]])
    texts = rows(axes, kind="text").set_index("text")
    equal(texts.loc[["here", "arrow", "anywhere"], ["x", "y"]], [[0.5, 0.25], [1, 1], [np.nan, np.nan]])


def test_several_panels_and_an_inset_and_nothing_left_out_unsaid(axes):
    axes.plot([1], [1])
    axes.inset_axes([0.5, 0.5, 0.4, 0.4]).plot([2], [2])
    axes.secondary_xaxis("top")  # holds nothing
    frame, _ = plotted.table(axes.figure)
    assert frame[["panel", "x"]].to_numpy().tolist() == [[1, 1], [2, 2]]
    axes.axline((0, 0), slope=1)
    _, notes = plotted.table(axes.figure)
    assert notes["not in the table, panel 1"] == "AxLine"


def test_the_csv_has_ten_digits(axes):
    axes.plot([1], [1 / 3])
    found = pd.read_csv(io.StringIO(plotted.record(axes.figure)["csv"]))
    assert found.y[0] == 0.3333333333


@pytest.mark.slow
def test_equal_figures_are_equal_drawings():
    """They are equal in another process too: the files contain neither dates nor names made by chance."""
    code = (
        "import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot as plt; from book import figures; from book.figures import plotted\n"
        "figures.use_house_style(); _, axes = plt.subplots(); axes.plot([1, 2], label='a'); axes.imshow([[1, 2]])\n"
        "axes.legend(); print(plotted.svg(axes.figure))"
    )
    one, two = (
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    )
    assert one == two
    drawn = ElementTree.fromstring(one)
    assert drawn.tag.endswith("svg") and "date" not in one


def test_nothing_is_attached_outside_a_notebook():
    before = set(plotted.read)
    plotted.attach()
    (ROOT / "lib/data/stand_ins/adult.csv.gz").read_bytes()
    assert plotted.read == before
