"""The house style: visible colours, which readers with any colour vision can distinguish, on an opaque light
background."""

import itertools
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from book import figures

CSS = Path(__file__).resolve().parents[2] / "book/_static/compendium.css"

# Machado, Oliveira and Fernandes (2009), full deficiency, on linear RGB.
EYES = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour):
    c = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    """Return the WCAG 2 contrast ratio."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """Return the CIE L*a*b* (D65) of a linear RGB colour."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.fixture
def style():
    with plt.rc_context():
        figures.use_house_style()
        yield
        plt.close("all")


@pytest.mark.parametrize("eye", EYES)
def test_every_pair_of_colours_can_be_told_apart(eye):
    seen = [lab(EYES[eye] @ linear(colour)) for colour in figures.COLORS]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 15  # a just noticeable difference is about 2.3


def explorers():
    """Return the nine colours of the explorers' lines, in light and in dark mode, and those of each pattern of dashes."""
    css = CSS.read_text(encoding="utf-8")
    dashes = [re.findall(r"line-(\d)", rule) for rule in re.findall(r"path:is\(([^)]*)\) \{ stroke-dasharray", css)]
    assert [len(each) for each in dashes] == [3, 3] and set(map(int, sum(dashes, []))) == set(range(3, 9))
    return [re.findall(r"--l\d: (#\w+);", palette) for palette in re.findall(r"svg \{ (--l0:.*?) \}", css)]


@pytest.mark.parametrize("eye", EYES)
def test_every_pair_of_an_explorers_lines_can_be_told_apart(eye):
    for palette in explorers():
        seen = [lab(EYES[eye] @ linear(colour)) for colour in palette]
        distances = {(i, j): np.linalg.norm(seen[i] - seen[j]) for i, j in itertools.combinations(range(9), 2)}
        assert min(distances.values()) > 15
        assert min(distance for (i, j), distance in distances.items() if i // 3 == j // 3) > 22  # of the same dashes


def test_colours_stand_out_and_text_is_legible(style):
    ground = plt.rcParams["axes.facecolor"]
    assert min(contrast(colour, ground) for colour in figures.COLORS) >= 3
    assert contrast(plt.rcParams["text.color"], ground) >= 7
    assert contrast(plt.rcParams["xtick.color"], ground) >= 7


def test_lines_take_the_colours_in_order(style):
    _, axes = plt.subplots()
    drawn = [axes.plot([0, 1], [k, k])[0].get_color() for k in range(len(figures.COLORS))]
    assert drawn == figures.COLORS
    assert not axes.spines["top"].get_visible() and not axes.spines["right"].get_visible()


def test_a_saved_figure_is_opaque_light_and_sharp(style, tmp_path):
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1])
    figure.savefig(tmp_path / "figure.png")
    pixels = plt.imread(tmp_path / "figure.png")
    assert pixels.shape[1] == round(160 * figure.get_figwidth())
    if pixels.shape[2] == 4:
        assert pixels[..., 3].min() == 1
    assert pixels[0, 0, :3].min() > 0.95 and pixels[-1, -1, :3].min() > 0.95


def test_text_is_legible_on_a_telephone(style):
    """At 320 pixels wide (390 less the margins) no default text falls below 8 pixels."""
    figure, axes = plt.subplots()
    smallest = min(plt.rcParams[name] for name in ("font.size", "xtick.labelsize", "legend.fontsize"))
    assert smallest / 72 / figure.get_figwidth() * 320 >= 8


def test_the_lettering_of_a_figure_is_no_larger_than_the_text():
    """This holds at the width that the style sheet permits, in rem; the text has a size of 1 rem."""
    rem = float(
        re.search(
            r"\.bd-article figure img \{[^}]*max-width: min\(100%, ([\d.]+)rem\)", CSS.read_text(encoding="utf-8")
        )[1]
    )
    largest = max(
        figures.HOUSE_STYLE[name] for name in figures.HOUSE_STYLE if name.endswith("size") and name != "figure.figsize"
    )
    inches = figures.HOUSE_STYLE["figure.figsize"][0]
    assert largest / 72 * rem / inches <= 1.01
