"""The idea in a picture: small stacked panels, which {idea} (book/_ext/figures.py) shows one at a time.

Each function draws what a chapter has computed, with one panel for each step. All panels have the same size, so the
number of a panel is enough to find it in the picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from book.figures import COLORS

WIDTH, HEIGHT = 4.0, 2.4  # inches; book/_ext/figures.py and compendium.css know the ratio
_MARGIN = 0.1  # notebooks cut a picture to what is drawn, and add this much
_GREY = "#B9B9B4"
_BLUE, _RED, _GREEN = COLORS[:3]


def panels(titles) -> list:
    """Return a subfigure for each of the `titles`; all have the same size in the saved picture."""
    count = len(titles)
    figure = plt.figure(figsize=(WIDTH - 2 * _MARGIN, count * HEIGHT - 2 * _MARGIN), layout="none")
    figure.add_artist(Rectangle((0, 0), 1, 1, fill=False, linewidth=0, transform=figure.transFigure))  # nothing is cut
    heights = np.full(count, HEIGHT)
    heights[0] -= _MARGIN
    heights[-1] -= _MARGIN
    made = list(np.ravel(figure.subfigures(count, 1, height_ratios=heights)))
    for number, (panel, title) in enumerate(zip(made, titles, strict=True), 1):
        panel.text(0, 0.99 if number == 1 else 0.95, f"{number}  {title}", va="top", fontsize=13, fontweight="bold")
    return made


def _crowd(panel, colors, areas=130.0, rows=5):
    """Draw people or records as squares, in columns of `rows` squares."""
    axes = panel.add_axes((0, 0.02, 1, 0.78))
    x, y = np.divmod(np.arange(len(colors)), rows)
    axes.scatter(x, -y, s=areas, c=colors, marker="s", linewidths=0)
    axes.set(xlim=(-0.6, x.max() + 0.6), ylim=(-rows + 0.4, 0.6))
    axes.axis("off")


def randomized_response(truths, heads, answers, corrected: float) -> Figure:
    """Draw people whose true answer is yes (red) or no (blue), their coins, what they report, and the number of yes
    after correction for the coins."""
    n, said = len(truths), int(np.sum(answers))
    colors = np.array([_BLUE, _RED])
    one, two, three, four = panels(
        (
            f"The truth: {np.sum(truths)} of {n} are red",
            f"The coins: {n - np.sum(heads)} answer at random",
            f"What is reported: {said} red",
            f"Corrected: {corrected:.0f} red",
        )
    )
    _crowd(one, colors[truths])
    _crowd(two, np.where(heads, colors[truths], _GREY))
    _crowd(three, colors[answers])
    axes = four.add_axes((0.36, 0.02, 0.56, 0.78))
    rows = {"reported": said, f"less {n / 4:g}": said - n / 4, "doubled": corrected, "the truth": np.sum(truths)}
    _bars(axes, rows, [_RED, _RED, _RED, _GREY])
    return four.figure


def _bars(axes, rows: dict, colors):
    bars = axes.barh(list(rows), list(rows.values()), color=colors, height=0.7)
    axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=12)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=1)
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0, labelbottom=False)


def private_pgm(pairs, noisy, first, truth, chosen, measured, second) -> Figure:
    """Draw the loop on three attributes: measure, fit, compare, measure again and fit again.

    `noisy` maps attributes to tables; `first`, `truth` and `second` map the `pairs` of attributes to tables. `measured`
    is the table of the pair `chosen`."""
    gaps = [{pair: np.abs(model[pair] - truth[pair]).sum() for pair in pairs} for model in (first, second)]
    top = max(table.max() for tables in (first, truth, second) for table in tables.values())
    counts, differences = {"cmap": "Blues", "vmin": 0, "vmax": top}, {"cmap": "PuOr", "vmin": -top / 2, "vmax": top / 2}
    made = panels(
        (
            "Measured: each attribute",
            "Fitted: a model of all pairs",
            "Compared with the data",
            f"Measured: {' and '.join(chosen)}",
            "Fitted again",
        )
    )
    columns = {name: np.reshape(table, (-1, 1)) for name, table in noisy.items()}
    most = max(map(np.max, columns.values()))
    _tables(made[0], columns, {name: name for name in columns}, cmap="Blues", vmin=0, vmax=1.6 * most)
    _tables(made[1], first, {pair: " and ".join(pair) for pair in pairs}, **counts)
    errors = {pair: f"off by {gap:.0f}" for pair, gap in gaps[0].items()}
    _tables(made[2], {pair: first[pair] - truth[pair] for pair in pairs}, errors, framed=chosen, **differences)
    blank = {pair: measured if pair == chosen else np.full_like(measured, np.nan) for pair in pairs}
    _tables(made[3], blank, {pair: "with noise" if pair == chosen else "" for pair in pairs}, framed=chosen, **counts)
    _tables(made[4], second, {pair: f"off by {gap:.0f}" for pair, gap in gaps[1].items()}, framed=chosen, **counts)
    return made[0].figure


def _tables(panel, tables: dict, below: dict, framed=None, **colors):
    """Draw heat maps with their numbers side by side; the one called `framed` gets a red frame."""
    for place, (name, table) in enumerate(tables.items()):
        axes = panel.add_axes((0.02 + 0.34 * place, 0.17, 0.28, 0.58))
        axes.imshow(table, aspect="auto", **colors)
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                part = (value - colors["vmin"]) / (colors["vmax"] - colors["vmin"])
                dark = part > 0.65 if colors["vmin"] == 0 else abs(part - 0.5) > 0.32
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", color="white" if dark else "black")
        axes.set(xticks=[], yticks=[])
        axes.set_xlabel(below[name], fontsize=12, labelpad=3)
        axes.spines[:].set(visible=True, color=_RED if name == framed else _GREY, linewidth=3 if name == framed else 1)
        axes.grid(False)


def reconstruction(true, seen, posterior, weights) -> Figure:
    """Draw the original records of three kinds, the perturbed records `seen`, the probabilities of their original
    kinds, their weights, and three histograms."""
    colors = np.array([_BLUE, _RED, _GREEN])
    order = np.lexsort((seen, true))
    one, two, three, four, five = panels(
        (
            "The records, which nobody sees",
            "Perturbed: what is seen",
            "Bayes: what were they?",
            "Each gets its weight",
            "Counted with the weights",
        )
    )
    _crowd(one, colors[true[order]], areas=56, rows=10)
    _crowd(two, colors[seen[order]], areas=56, rows=10)
    names = ("blue", "red", "green")
    axes = three.add_axes((0.32, 0.02, 0.66, 0.64))
    axes.imshow(posterior, aspect="auto", cmap="Greys", vmin=0, vmax=1.3)
    for (row, column), value in np.ndenumerate(posterior):
        axes.text(column, row, f"{value:.0%}", ha="center", va="center", color="white" if value > 0.65 else "black")
    axes.set(xticks=range(3), yticks=range(3))
    axes.set_xticklabels([f"was {name}" for name in names], fontsize=11)
    axes.set_yticklabels([f"seen {name}" for name in names], fontsize=11)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    _crowd(four, colors[seen[order]], areas=56 * weights[order] / weights.max(), rows=10)
    axes = five.add_axes((0.02, 0.13, 0.96, 0.62))
    heights = {
        "true": np.bincount(true, minlength=3),
        "seen": np.bincount(seen, minlength=3),
        "weighted": np.bincount(seen, weights, minlength=3),
    }
    for place, (name, height) in enumerate(heights.items()):
        at = np.arange(3) + 4 * place
        axes.bar_label(axes.bar(at, height, color=colors, width=0.9, label=name), fmt="%.0f", fontsize=11)
    axes.set(xticks=[1, 5, 9], yticks=[], ylim=(0, 1.2 * max(map(np.max, heights.values()))))
    axes.set_xticklabels(heights, fontsize=12)
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(False)
    return one.figure
