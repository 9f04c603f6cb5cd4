"""The contents of a figure, for download: the drawing as SVG, and the plotted numbers as one tidy table.

`table` reads the numbers from the artists that matplotlib draws, and returns a row for each point, bar, interval or
cell. The notes name every kind of artist that the table leaves out, so that nothing is omitted silently.

    figure, axes = plt.subplots()
    axes.plot([1, 2], [3, 4], label="rising")
    frame, notes = plotted.table(figure)        # panel, kind, series, x, y: two rows

If the environment variable ``COMPENDIUM_DOWNLOADS`` is set, `attach` makes IPython add the SVG and the table to every
figure that it displays, as one record of type `MIME`. The record also contains the names of the files read so far,
which are the figure's sources. Without the variable, notebooks contain no such records.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from itertools import count, takewhile

import numpy as np
import pandas as pd
from matplotlib import collections, colors, contour, image, lines, patches
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryFormatter
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator

MIME = "application/vnd.compendium.figure+json"
WANTED = "COMPENDIUM_DOWNLOADS"

# Cells that do not apply are empty. An interval extends from low to high; `piece` numbers the parts of a series.
COLUMNS = [
    "panel", "kind", "series", "piece", "x", "x_name", "y", "y_name", "x_low", "x_high", "y_low", "y_high", "base",
    "value", "text",
]  # fmt: skip

read: set[str] = set()  # what this process has opened for reading since `attach`, as the program named it


# ---------------------------------------------------------------- the two downloads


def svg(figure: Figure) -> str:
    """Return `figure` as SVG, with its texts as outlines. With the hash salt of the house style, equal figures give
    equal SVG."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


def table(figure: Figure) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the plotted numbers, with those of `COLUMNS` that are in use, and notes: the names of each panel and its
    axes, and the kinds of artists left out."""
    rows: list[dict] = []
    notes: dict[str, str] = {}
    for number, axes in enumerate(_panels(figure), 1):
        notes[f"panel {number}"] = _described(axes)
        left_out: list[str] = []
        rows += [{"panel": number, **row} for row in _rows(axes, left_out)]
        if left_out:
            notes[f"not in the table, panel {number}"] = ", ".join(sorted(set(left_out)))
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.dropna(axis="columns", how="all"), notes


def _panels(figure) -> list:
    """Return the figure's axes and their insets, without colour bars and secondary axes."""
    found = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    return found + [
        inset for axes in found for inset in axes.child_axes if isinstance(inset, Axes) and inset not in found
    ]


def _described(axes) -> str:
    """Return "title; x: label (log); y: label; colour: label", without the parts that a panel lacks."""
    parts = [_line(axes.get_title())]
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        scale = axis.get_scale()
        parts.append(f"{name}: {_line(axis.get_label_text())}{'' if scale == 'linear' else f' ({scale})'}")
    bars = [made.colorbar for made in (*axes.collections, *axes.images) if getattr(made, "colorbar", None)]
    parts += [f"colour: {_line(bar.ax.get_ylabel() or bar.ax.get_xlabel())}" for bar in bars]
    return "; ".join(part for part in parts if not part.endswith(": ") and part)


def _line(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------- from artists to rows


def _rows(axes, left_out: list[str]) -> Iterator[dict]:
    """Yield the rows of one panel. The types of visible artists that cannot be read are added to `left_out`."""
    taken: set[int] = set()  # artists already covered by a container
    numbers: dict[str, int] = {}
    names = {"x": _names(axes.xaxis), "y": _names(axes.yaxis)}

    def told(kind, label, found):
        """Yield the rows `found`, each with its kind, the name of its series, and the names of its positions on the
        axes."""
        numbers[kind] = numbers.get(kind, 0) + 1
        series = f"{kind} {numbers[kind]}" if str(label).startswith("_") or not label else _line(str(label))
        found = list(found)
        for way, known in names.items():
            for row, name in zip(found, _named(known, [row.get(way) for row in found]), strict=True):
                row[f"{way}_name"] = name
        for row in found:
            yield {"kind": kind, "series": series, **row}

    bars = [made for made in axes.containers if isinstance(made, BarContainer)]
    errors = [made for made in axes.containers if isinstance(made, ErrorbarContainer)]
    for made in bars:
        taken.update(map(id, made.patches))
        if made.errorbar is not None:
            errors.remove(made.errorbar)
            taken.update(map(id, _parts(made.errorbar)))
        yield from told("bar", made.get_label(), _of_bars(made))
    for made in errors:
        taken.update(map(id, _parts(made)))
        yield from told("point", made.get_label(), _of_error_bars(made))
    for artist in (*axes.lines, *axes.collections, *axes.images, *axes.patches, *axes.texts):
        if id(artist) in taken or not artist.get_visible():
            continue
        kind, found = _of_artist(axes, artist)
        if found is None:
            left_out.append(type(artist).__name__)
        else:
            yield from told(kind, "" if kind == "text" else artist.get_label(), found)


def _of_artist(axes, artist):
    """Return (kind, rows) of an artist; the rows are None if they cannot be read from it."""
    for kind, matches, rows in (
        ("contour", contour.ContourSet, _of_contours),
        ("line", lines.Line2D, _of_line),
        ("segment", collections.LineCollection, _of_paths),
        ("band", collections.FillBetweenPolyCollection, _of_band),
        ("area", collections.PolyCollection, _of_paths),
        ("point", collections.PathCollection, _of_points),
        ("cell", collections.QuadMesh, _of_mesh),
        ("cell", image.AxesImage, _of_image),
        ("step", patches.StepPatch, _of_steps),
        ("shape", patches.Patch, _of_patch),
    ):
        if isinstance(artist, matches):
            return kind, None if isinstance(artist, lines.AxLine) else rows(axes, artist)
    return "text", _of_text(axes, artist)


def _parts(errors: ErrorbarContainer) -> list:
    data, caps, bars = errors.lines
    return [part for part in (data, *caps, *bars) if part is not None]


def _of_bars(made: BarContainer) -> Iterator[dict]:
    """Yield a row for each bar. Across the bar, it gives the middle and the edges; along the bar, it gives the end, the
    base unless 0, and the ends of the error bar."""
    across, along = ("x", "y") if made.orientation == "vertical" else ("y", "x")
    ends = {} if made.errorbar is None else _intervals(made.errorbar).get(along, [])
    for i, bar in enumerate(made.patches):
        (x0, y0), (width, height) = bar.get_xy(), (bar.get_width(), bar.get_height())
        start, size, base, length = (x0, width, y0, height) if across == "x" else (y0, height, x0, width)
        row = {across: start + size / 2, f"{across}_low": start, f"{across}_high": start + size, along: base + length}
        if base != 0:
            row["base"] = base
        if i < len(ends):
            row |= {f"{along}_low": ends[i][0], f"{along}_high": ends[i][1]}
        yield row


def _intervals(errors: ErrorbarContainer) -> dict[str, list]:
    """Return the ends of the error bars along each direction ("x", "y")."""
    ways = ["x"] * errors.has_xerr + ["y"] * errors.has_yerr
    return {
        way: [path.vertices[:, "xy".index(way)] for path in bars.get_paths()]
        for way, bars in zip(ways, errors.lines[2], strict=True)
    }


def _of_error_bars(errors: ErrorbarContainer) -> Iterator[dict]:
    found = _intervals(errors)
    way, other = ("y", "x") if "y" in found else ("x", "y")
    if errors.lines[0] is not None:
        points = np.transpose(errors.lines[0].get_data(orig=False))
    else:  # no mark between the ends: only the bars' positions are known
        bars = errors.lines[2][-1].get_paths()
        points = [[path.vertices[0, k] if "xy"[k] == other else np.nan for k in (0, 1)] for path in bars]
    for i, (x, y) in enumerate(points):
        row = {"x": x, "y": y}
        for along, ends in found.items():
            row |= {f"{along}_low": ends[i][0], f"{along}_high": ends[i][1]} if i < len(ends) else {}
        yield row


def _in_data(axes, artist) -> tuple[bool, bool]:
    """Return whether x and whether y of `artist` are in the units of the panel's axes, and not proportions of the
    panel."""
    return artist.get_transform().contains_branch_seperately(axes.transData)


def _of_line(axes, line) -> list[dict]:
    """Return a row for each point or, for a line across the entire panel, one row with its position."""
    by_x, by_y = _in_data(axes, line)
    x, y = (np.ma.filled(np.ma.asarray(values, dtype=float), np.nan) for values in line.get_data(orig=False))
    if by_x and by_y:
        return [{"x": a, "y": b} for a, b in zip(x, y, strict=True)]
    return [{"y": y[0]}] if by_y else [{"x": x[0]}] if by_x else []


def _vertices(axes, artist, path) -> np.ndarray:
    """Return the corners of `path`, shape (n, 2), in the units of the panel's axes; curves are replaced by chords."""
    path = (artist.get_transform() - axes.transData).transform_path(path)
    pieces = path.to_polygons(closed_only=False)
    return np.concatenate(pieces) if pieces else np.empty((0, 2))


def _of_paths(axes, made) -> Iterator[dict]:
    """Yield an interval for each vertical or horizontal segment, and the corners of each other piece."""
    for number, path in enumerate(made.get_paths(), 1):
        corners = _vertices(axes, made, path)
        (x, y), (u, v) = (corners[0], corners[-1]) if len(corners) else (np.full(2, np.nan),) * 2
        if len(corners) == 2 and x == u:
            yield {"x": x, "y_low": min(y, v), "y_high": max(y, v)}
        elif len(corners) == 2 and y == v:
            yield {"y": y, "x_low": min(x, u), "x_high": max(x, u)}
        else:
            yield from ({"piece": number, "x": a, "y": b} for a, b in corners)


def _of_band(axes, made) -> Iterator[dict]:
    """Yield the two edges of the band at each x (or y, for a vertical band)."""
    way = made.t_direction
    k, other = "xy".index(way), "yx"["xy".index(way)]
    for number, path in enumerate(made.get_paths(), 1):
        places = path.vertices[:, k]
        for place in np.unique(places):
            edges = path.vertices[places == place, 1 - k]
            yield {"piece": number, way: place, f"{other}_low": edges.min(), f"{other}_high": edges.max()}


def _of_points(axes, made) -> Iterator[dict]:
    values = made.get_array()
    for i, (x, y) in enumerate(np.ma.filled(np.ma.asarray(made.get_offsets(), dtype=float), np.nan)):
        yield {"x": x, "y": y} | ({} if values is None else {"value": values[i]})


def _of_contours(axes, made) -> Iterator[dict]:
    """Yield the outline of each level. `value` is the level; for a filled contour, it is the lower of two levels, which
    `text` gives."""
    for i, path in enumerate(made.get_paths()):
        told = {"value": made.levels[i]}
        if made.filled:
            told["text"] = f"{made.levels[i]:g} to {made.levels[i + 1]:g}"
        for number, piece in enumerate(path.to_polygons(closed_only=False), 1):
            yield from ({"piece": number, "x": x, "y": y, **told} for x, y in piece)


def _of_mesh(axes, made) -> Iterator[dict]:
    corners = made.get_coordinates()
    middles = (corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]) / 4
    values = np.ma.filled(np.ma.asarray(made.get_array(), dtype=float), np.nan).reshape(middles.shape[:2])
    for (x, y), value in zip(middles.reshape(-1, 2), values.ravel(), strict=True):
        yield {"x": x, "y": y, "value": value}


def _of_image(axes, made) -> Iterator[dict]:
    """Yield a row for each cell, at its middle, with the `value` that its colour represents or, if there is none, the
    colour as `text`."""
    cells = made.get_array()
    left, right, bottom, top = made.get_extent()
    if made.origin == "upper":
        bottom, top = top, bottom
    height, width = cells.shape[:2]
    for i in range(height):
        for j in range(width):
            row = {"x": left + (j + 0.5) * (right - left) / width, "y": bottom + (i + 0.5) * (top - bottom) / height}
            if cells.ndim == 2:
                yield row | {"value": np.ma.filled(np.ma.asarray(cells[i, j], dtype=float), np.nan).item()}
            else:
                share = cells[i, j] / (255 if cells.dtype.kind == "u" else 1)
                yield row | {"text": colors.to_hex(share, keep_alpha=True)}


def _of_steps(axes, made) -> Iterator[dict]:
    values, edges, baseline = made.get_data()
    way, along = ("x", "y") if made.orientation == "vertical" else ("y", "x")
    for value, low, high in zip(values, edges[:-1], edges[1:], strict=True):
        yield {way: (low + high) / 2, f"{way}_low": low, f"{way}_high": high, along: value}


def _of_patch(axes, made) -> list[dict]:
    """Return the edges of a strip across the panel, or the corners of any other shape."""
    by_x, by_y = _in_data(axes, made)
    corners = _vertices(axes, made, made.get_path()) if by_x or by_y else np.empty((0, 2))
    if by_x and by_y:
        return [{"x": x, "y": y} for x, y in corners]
    if not len(corners):
        return []
    way, k = ("x", 0) if by_x else ("y", 1)
    return [{f"{way}_low": corners[:, k].min(), f"{way}_high": corners[:, k].max()}]


def _of_text(axes, made) -> list[dict]:
    """Return the text, if it is not empty, with its position, unless the position is a proportion of the panel."""
    if isinstance(made, Annotation):
        (x, y), placed = made.xy, made.xycoords == "data"
    else:
        (x, y), placed = made.get_position(), all(_in_data(axes, made))
    written = {"text": _line(made.get_text())}
    return [] if not written["text"] else [{"x": x, "y": y} | written] if placed else [written]


# ---------------------------------------------------------------- names on an axis


def _names(axis: Axis) -> dict[float, str]:
    """Return the names at positions of `axis`, or {} if its tick labels show nothing but the positions."""
    formatter = axis.get_major_formatter()
    if isinstance(formatter, StrCategoryFormatter):
        return {float(place): name for place, name in enumerate(takewhile(bool, map(formatter, count())))}
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return {}
    names = {float(place): _line(str(formatter(place, i))) for i, place in enumerate(axis.get_majorticklocs())}
    return {} if all(_says(name, place) for place, name in names.items()) else names


def _says(text: str, place: float) -> bool:
    """Return whether `text` is not a name because it is empty or equals the number `place`."""
    try:
        return not text or float(text.replace("\N{MINUS SIGN}", "-").replace(",", "")) == place
    except ValueError:
        return False


def _named(names: dict[float, str], places: list) -> list[str | None]:
    """Return the name at each place of a series. If all places have the same offset from names, as for grouped bars,
    each gets the nearest name."""
    nearest = [
        min(names, key=lambda known: abs(known - place)) if names and _is_place(place) else None for place in places
    ]
    offsets = {round(place - known, 6) for place, known in zip(places, nearest, strict=True) if known is not None}
    beside = len(offsets) == 1 and abs(min(offsets)) < 0.5
    return [
        names[known] if known is not None and (beside or place == known) else None
        for place, known in zip(places, nearest, strict=True)
    ]


def _is_place(number) -> bool:
    return isinstance(number, (int, float, np.number)) and bool(np.isfinite(number))


# ---------------------------------------------------------------- in a notebook


def attach() -> None:
    """Make IPython add its downloads to every figure that it displays, and record the data files that this process
    reads."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if not os.environ.get(WANTED) or shell is None or MIME in shell.display_formatter.formatters:
        return
    from IPython.core.formatters import BaseFormatter

    class Downloads(BaseFormatter):
        """A formatter that runs last, so that the picture is drawn before the SVG and independently of it."""

        format_type = MIME

        def __call__(self, shown):
            return record(shown) if isinstance(shown, Figure) else None

    shell.display_formatter.formatters[MIME] = Downloads(parent=shell.display_formatter)
    sys.addaudithook(_note)


def record(figure: Figure) -> dict:
    """Return what `attach` adds to a figure: "svg" and "csv" as texts, "notes", and "read", the files read so far."""
    frame, notes = table(figure)
    return {
        "svg": svg(figure),
        "csv": frame.to_csv(index=False, float_format="%.10g", lineterminator="\n"),
        "notes": notes,
        "read": sorted(read),
    }


def _note(event: str, arguments: tuple) -> None:
    """Record every data file that is opened for reading (an audit hook, `sys.addaudithook`)."""
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)) and arguments[1] in ("r", "rb", "rt"):
        name = os.fspath(arguments[0])
        if isinstance(name, str) and name.endswith((".csv", ".csv.gz", ".data", ".test", ".csv.xz", ".parquet")):
            read.add(name)
