"""Figures in another language (book/_ext/figures.py): translated texts replace outlines at the same positions."""

import io

import matplotlib
import pytest
from matplotlib.figure import Figure

from book._ext import figures
from book.editions import edition

WORDS = {"count & more": "件数など", "half of ε": "εの半分", "time": "時刻", "a long name": "長い名前"}


@pytest.fixture(scope="module")
def svg():
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], label="count & more")
    axes.set_xlabel("time")
    axes.set_ylabel(r"half of $\varepsilon$")
    axes.set_title(r"$\frac{1}{2}$ of all")
    axes.set_yticks([0, 1], ["a long name", "b"])
    axes.legend()
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "1"}):
        figure.savefig(drawn, format="svg")
    return drawn.getvalue()


def test_words_are_found_and_formulas_that_are_more_than_letters_are_left(svg):
    assert {"time", "count & more"} <= set(figures.texts(svg))
    assert figures.plain(r"half of $\varepsilon$") == "half of ε"
    assert figures.plain(r"$D_1$: $\sqrt{n}\,\times$ $\mu$") == "D₁: √n × μ"
    assert figures.plain(r"$\frac{1}{2}$ of all") == figures.plain(r"$2^{x}$ of all") == figures.plain("$2^{10}$") == ""
    assert not edition.worded(figures.plain(r"$\sigma^2$ = 0.05"))  # a letter with an exponent is no word
    assert figures.plain(r"$\tau^{-2}$, or $t^2$, after $z \mapsto Az$") == "τ⁻², or t², after z ↦ Az"


def test_texts_stand_where_the_others_were(svg):
    made = figures.retold(svg, lambda text: WORDS.get(text, text))
    assert ">時刻</text>" in made and ">件数など</text>" in made
    legend = made[made.index('<g id="legend_1">') :]
    assert 'x="0.00" text-anchor="start"' in legend[: legend.index(">件数など<")][-300:]
    assert 'text-anchor="middle"' in made[: made.index(">時刻<")][-300:]
    assert 'text-anchor="end"' in made[: made.index(">長い名前<")][-300:]  # against its axis
    assert 'text-anchor="middle"' in made[: made.index(">εの半分<")][-300:]  # behind the ticks
    assert figures.retold(svg, lambda text: text) == svg


def test_what_other_texts_use_stays(svg):
    """Matplotlib defines an outline where it first draws the letter."""
    made = figures.retold(svg, lambda text: WORDS.get(text, text))
    used = {part.split('"')[0] for part in made.split('xlink:href="#')[1:]}
    assert all(f'id="{name}"' in made for name in used)
