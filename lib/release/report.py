"""Make the parts of the report that show numbers, in HTML: distributions, pairs, statistics, and possible uses.

Each part uses only the release and the schema, so it costs no privacy. All names and labels are escaped by
`escapes.in_html`. The parts contain no scripts, and their classes prevent MathJax from treating a name as a formula.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .. import __version__
from . import queries, uncertainty
from .escapes import in_html
from .schema import NUMBERS, Schema
from .synthesizer import MANY, Release

LEVEL = 0.95
_BARS, _NAMES, _PAIRS = 30, 40, 8  # at most: bars of a figure, attributes of a matrix, correlations
_RELIABLE = 5  # per cent of the records, at most, that a count is off if the report recommends it with care
_WIDTH, _ROW, _LABEL = 340, 16, 130  # of a figure, in units of 1/96 inch
_BLUE, _RED, _INK = "#0072B2", "#D55E00", "#262626"
_MEASURED, _INFERRED = ("#cfe3f1", "measured together"), ("#fbe0cd", "inferred by the model")


def head(schema: Schema, release: Release, guarantee: str, day: datetime.date | None = None) -> str:
    """Return a table with the release's name, content and guarantee and, given `day`, the date and the program's version.

    guarantee : the guarantee in a few words; day : the date of the release, or None for a table that must not be
        released

    >>> from lib.release import report, schema
    >>> from lib.release.synthesizer import Release, run
    >>> from lib.tables import Table
    >>> public = schema.parse("{name: A & B, attributes: {sex: {values: [f, m]}}}")
    >>> made = Release.of(run(Table([[0], [1]] * 500, public.domain), epsilon=1.0, delta=1e-9, size=1, seed=1))
    >>> print("A &amp; B" in report.head(public, made, "epsilon 1"))
    True
    """
    low, high = (float(end) for end in _ends(release, ()))
    records = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    rows = [
        ("Name", schema.name or "no name is given in the schema"),
        (
            "What it is",
            f"a synthetic table, with a model and this report, of {_number(len(schema.attributes), 'attribute')}",
        ),
        ("Records in the original table", records),
        ("Guarantee", guarantee),
        *([("Date", day.isoformat()), ("Made by", f"dp-compendium {__version__}")] if day else []),
    ]
    return _table([], rows)


def distributions(schema: Schema, release: Release) -> str:
    """Return a figure for each attribute, with the model's proportions as bars and 95 % intervals as lines.

    Each interval is for one value, so one of twenty intervals may miss the true proportion. At most 30 values of an
    attribute are shown, those with the largest counts.
    """
    total = max(release.model.total, 1.0)
    parts = []
    for each in schema.attributes:
        counts = 100 * release.model.marginal((each.name,)) / total
        low, high = (100 * end / total for end in _ends(release, (each.name,)))
        shown = np.arange(len(counts))
        if len(counts) > _BARS:
            shown = np.sort(np.argsort(-counts, kind="stable")[:_BARS])
        note = f" ({_BARS} of {len(counts)} values)" if len(counts) > _BARS else ""
        bars = [(each.labels[code], counts[code], low[code], high[code]) for code in shown]
        parts.append(f"<div><p><b>{in_html(each.name)}</b>{note}</p>{_bars(each.name, bars)}</div>")
    grid = "display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));align-items:start"
    return _ignored(f'<div style="{grid}">{"".join(parts)}</div>')


def _bars(name, bars: Sequence[tuple[str, float, float, float]]) -> str:
    """Return a drawing of bars with intervals; values are in per cent."""
    most, height = max([high for *_, high in bars] + [1e-9]), _ROW * len(bars) + 20
    scale = (_WIDTH - _LABEL - 48) / most
    lines = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" style="max-width:{_WIDTH}px;background:#fff" role="img" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="{_INK}" aria-label="{in_html(name)}: percentages of its values, with intervals">'
    ]
    for row, (label, value, low, high) in enumerate(bars):
        y, x = row * _ROW, _LABEL + 4
        short = label if len(label) <= 20 else label[:19] + "…"
        middle = y + _ROW / 2
        lines.append(
            f'<text x="{_LABEL}" y="{y + 12}" text-anchor="end">{in_html(short)}<title>{in_html(label)}</title></text>'
            f'<rect x="{x}" y="{y + 3}" width="{max(value, 0) * scale:.1f}" height="{_ROW - 6}" fill="{_BLUE}" opacity=".55"/>'
            f'<path d="M{x + max(low, 0) * scale:.1f} {middle}H{x + high * scale:.1f}" stroke="{_INK}" stroke-width="2"/>'
            f'<text x="{x + max(value, high) * scale + 5:.1f}" y="{y + 12}" font-size="10">{_percent(value)}</text>'
        )
    return "".join([*lines, f'<text x="{_LABEL + 4}" y="{height - 5}" font-size="10">% of the records</text></svg>'])


def pairs(schema: Schema, release: Release) -> str:
    """Return a matrix that shows for each pair of attributes whether it was measured, and the largest error of a count.

    The error is half the width of the widest 95 % interval of a count of the pair, in per cent of all records.
    """
    names = [each.name for each in schema.attributes][:_NAMES]
    if len(names) < 2:
        return "There is one attribute, so there are no pairs."
    rows = []
    for j, name in enumerate(names[1:], 1):
        cells = [f'<th scope="row" style="text-align:right;white-space:nowrap">{in_html(name)}</th>']
        for other in names[:j]:
            error, measured = _pair_error(release, (other, name))
            colour, words = _MEASURED if measured else _INFERRED
            shown = "?" if math.isnan(error) else _percent(error)
            cells.append(
                f'<td style="background:{colour};color:{_INK};text-align:center;padding:.15rem .3rem" title="{in_html(other)}, {in_html(name)}: {words}">{shown}</td>'
            )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    upright = (
        "writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;white-space:nowrap;padding:.3rem .15rem"
    )
    tops = "".join(
        f'<th scope="col" style="vertical-align:bottom"><span style="{upright}">{in_html(name)}</span></th>'
        for name in names[:-1]
    )
    legend = " ".join(
        f'<span style="background:{colour};color:{_INK};padding:0 .4rem">{words}</span>'
        for colour, words in (_MEASURED, _INFERRED)
    )
    left_out = "" if len(names) == len(schema.attributes) else f"<p>The first {_NAMES} attributes are shown.</p>"
    return _ignored(
        f'<table style="border-collapse:separate;border-spacing:2px;font-size:.8rem;font-variant-numeric:tabular-nums"><thead><tr><td></td>{tops}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table><p>{legend}</p>{left_out}"
    )


def _pair_error(release: Release, names: tuple[str, ...]) -> tuple[float, bool]:
    """Return the largest error of a count over `names`, in per cent of the records, and whether `names` were measured together.

    The error is half the width of the widest 95 % interval, or NaN if nothing bounds it or there are a million counts
    or more.
    """
    measured = not math.isnan(uncertainty.expected_error(release, names))
    if release.model.domain.size(names) >= MANY:
        return math.nan, measured
    low, high = _ends(release, names)
    error = 100 * float((high - low).max()) / 2 / max(release.model.total, 1.0)
    return (error if error < math.inf else math.nan), measured


def numbers(schema: Schema, release: Release) -> str:
    """Return a table of means, standard deviations and medians of numeric attributes, and some correlations, with 95 % intervals."""
    rows = []
    numeric = [each for each in schema.attributes if each.kind in NUMBERS]
    quoted = {each.name: f'"{each.name}"' for each in numeric if '"' not in each.name}
    asked = [(f"{kind} of {name}", f"{question}({quoted[name]})") for name in quoted for kind, question in _STATISTICS]
    both = (
        pair for pair in itertools.combinations(quoted, 2) if not math.isnan(uncertainty.expected_error(release, pair))
    )
    fitting = (pair for pair in both if release.model.domain.size(pair) <= 10_000)
    asked += [
        (f"correlation of {a} and {b}", f"correlation({quoted[a]}, {quoted[b]})")
        for a, b in itertools.islice(fitting, _PAIRS)
    ]
    for what, question in asked:
        try:
            found = queries.ask(release, schema, question, LEVEL)  # type: ignore[arg-type]
        except ValueError:  # the attribute was not measured
            continue
        intervals = (found.noise_low, found.noise_high), (found.low, found.high)
        shown = _as_exact_as(found.noise_high - found.noise_low)
        rows.append((what, shown(found.estimate), *(f"{shown(low)} to {shown(high)}" for low, high in intervals)))
    if not rows:
        return "The schema has no numbers."
    return _table(["", "estimate", "with noise", "with noise and bins"], rows, ' style="white-space:nowrap"')


_STATISTICS = (("mean", "mean"), ("standard deviation", "sd"), ("median", "median"))


def uses(schema: Schema, release: Release) -> str:
    """Return a table that says what may be computed from the release and what may not, and how large the errors are."""
    total, names = max(release.model.total, 1.0), [each.name for each in schema.attributes]
    single = max(_pair_error(release, (name,))[0] for name in names)
    found = [_pair_error(release, pair) for pair in itertools.islice(itertools.combinations(names, 2), 2_000)]
    known = [error for error, measured in found if measured and error == error]
    inferred = [error for error, measured in found if not measured]
    rows = [("Counts and proportions of one attribute", "yes", f"to {_percent(single)} % of the records")]
    if known:
        few = math.ceil(np.median(known) * total / 100 / 0.05)
        rows += [
            (f"Counts of two attributes that were measured together ({len(known)} of {_number(len(found), 'pair')})", "yes",
             f"half of these pairs to {_percent(float(np.median(known)))} %, all to {_percent(max(known))} % of the records"),
            ("Proportions and means within a group", "in large groups", f"a proportion to 5 percentage points in a group of {few:,} records or more"),
            ("Correlations and regressions of measured pairs", "as a first look", "see the table of numbers; an interval from -1 to 1 says nothing"),
        ]  # fmt: skip
    if inferred:
        bounded = [error for error in inferred if error == error]
        number = f"off by up to {_percent(max(bounded))} % of the records" if bounded else "the error is not bounded"
        rows.append(
            (
                f"Counts of two attributes that were not measured together ({_number(len(inferred), 'pair')})",
                "with care" if bounded and max(bounded) < _RELIABLE else "no",
                number,
            )
        )
    rows += [
        (
            "Rare values, single records, outliers",
            "no",
            f"a count below {math.ceil(2 * single * total / 100):,} may be 0",
        ),
        (
            "Standard errors, as if these were the records",
            "no",
            "use the intervals of a query, which contain the noise",
        ),
        *(
            [("More detail than the bins", "no", f"a number may be off by up to {_widest(schema)}")]
            if _widest(schema)
            else []
        ),
    ]
    return _table(["What", "May it be computed?", "How exactly"], rows)


def _widest(schema) -> str:
    widths = {
        each.name: float(np.nanmax(each.ends[1] - each.ends[0])) for each in schema.attributes if each.kind in NUMBERS
    }
    widths = {name: width for name, width in widths.items() if width > 0}
    return ", ".join(f"{width:.6g} ({name})" for name, width in sorted(widths.items(), key=lambda each: -each[1])[:3])


def _ends(release, names) -> tuple[np.ndarray, np.ndarray]:
    try:
        found = uncertainty.count_intervals(release, names, LEVEL)
    except ValueError:  # nothing that contains the attributes was measured
        shape = release.model.domain.shape(names)
        return np.zeros(shape), np.full(shape, np.inf)
    return np.asarray(found.low), np.asarray(found.high)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], cell: str = "") -> str:
    top = "".join(f'<th scope="col" style="text-align:left">{in_html(each)}</th>' for each in columns)
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{in_html(first)}</th>{"".join(f"<td{cell}>{in_html(each)}</td>" for each in rest)}</tr>'
        for first, *rest in rows
    )
    return _ignored(
        f"<table style='font-size:.85rem'>{f'<thead><tr>{top}</tr></thead>' if columns else ''}<tbody>{body}</tbody></table>"
    )


def _ignored(inner: str) -> str:
    # The book's theme knows the last class: the side of a wide table that is out of sight fades there.
    return f'<div class="tex2jax_ignore mathjax_ignore pst-scrollable-table-container" style="overflow-x:auto">{inner}</div>'


def _as_exact_as(width: float) -> Callable[[float], str]:
    """Return a function that writes numbers with as many decimals as an interval of this width needs for two digits."""
    if not 1e-6 < width < math.inf:
        return "{:.6g}".format
    return f"{{:z.{max(0, 1 - math.floor(math.log10(width)))}f}}".format


def _percent(value: float) -> str:
    return (
        f"{value:.0f}"
        if value >= 9.95
        else f"{value:.1f}"
        if value >= 0.95
        else f"{value:.2g}"
        if value >= 0.0095
        else "<.01"
    )


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
