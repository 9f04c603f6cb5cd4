"""One style for every picture: call `use_house_style` once, then use plain matplotlib.

The background is opaque white, so that a figure is equally readable on a light and on a dark page. A figure is 6 inches
wide and has 160 dots per inch. It is sharp on a full page, and its text is legible on a phone 320 pixels wide.
"""

from __future__ import annotations

import matplotlib as mpl

from book.figures import plotted

# Blue, vermilion and green after Okabe and Ito (2008), then violet, brown and black. Every
# pair is distinguishable with each common colour-vision deficiency, and every colour has a
# contrast of at least 3:1 with the background; tests check this.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#8A3FD1", "#5B1A18", "#000000"]

_BACKGROUND = "#FFFFFF"
_INK = "#262626"
_GRID = "#DEDEDA"

HOUSE_STYLE = {
    "figure.figsize": (6.0, 3.8),
    "figure.dpi": 160,
    "savefig.dpi": 160,
    "figure.constrained_layout.use": True,
    "figure.facecolor": _BACKGROUND,
    "savefig.facecolor": _BACKGROUND,
    "axes.facecolor": _BACKGROUND,
    "savefig.transparent": False,
    "font.size": 13,
    "axes.titlesize": 14,
    "axes.labelsize": 13,
    "legend.fontsize": 12,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "lines.linewidth": 2.2,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _GRID,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "axes.prop_cycle": mpl.cycler(color=COLORS),
    "svg.hashsalt": "compendium",  # equal input, equal file
}


def use_house_style() -> None:
    """Make matplotlib draw in the project's style from now on, with downloads if requested (`book.figures.plotted`)."""
    mpl.rcParams.update(HOUSE_STYLE)
    plotted.attach()
