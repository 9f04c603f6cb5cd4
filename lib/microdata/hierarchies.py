"""Generalization hierarchies: which values are merged, level by level, up to `*` (hasegawa2015, sections 1.1.1 and 5).

The folder ``adult_hierarchies`` contains a text file for each attribute of Adult that has a hierarchy. hasegawa2015
modelled its hierarchies on Fung, Wang and Yu, Top-Down Specialization for Information and Privacy Preservation (ICDE
2005), and does not print them. The files that Fung et al. published were unavailable. The parts that follow Fung et al.
are therefore taken from taxonomy trees in public implementations of their method. (Two implementations give the trees
in full; a third differs on marital-status and workclass.) The head of each file says which parts are ours. Fung et al.
chose the groups of workclass, education (and, as intervals, education-num), marital-status, occupation, relationship,
sex and most of native-country. We chose the groups of race, and all intervals of age, capital-gain, capital-loss and
hours-per-week; the algorithm of Fung et al. finds such intervals itself. Fung et al. leave out records with ``?``. Here
``?`` is a value, separate from all others up to the top.

A file of categories contains a row ``value,level 1,level 2,...`` for each value. A file of intervals contains a row for
each level, with the starts of its intervals and the end of the range. Lines that start with ``#`` are comments.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.extras import extra

with extra("classifiers"):
    import pandas as pd

FOLDER = Path(__file__).parent / "adult_hierarchies"
TOP = "*"

# hasegawa2015, Table 2, in its order
QUASI_IDENTIFIERS = (
    "age", "workclass", "education-num", "marital-status", "occupation", "relationship", "sex",
    "capital-gain", "capital-loss", "hours-per-week",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """An immutable hierarchy of generalizations of one attribute, made by `categories`, `intervals` or `load`.

    attribute : the name of the attribute
    values : all values of the attribute, (d,), strings or the integers from the smallest to the greatest
    positions : for each level, the group of each value, (d,). Groups are unions of groups of the level below
    labels : for each level, the name of each group

    Level 0 leaves the values unchanged, and level `height` makes all of them ``*``.
    """

    attribute: str
    values: np.ndarray
    positions: tuple[np.ndarray, ...]
    labels: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        for array in (self.values, *self.positions, *self.labels):
            array.setflags(write=False)
        for level in range(1, len(self.positions)):
            self._nested(level)
        if list(self.labels[-1]) != [TOP]:
            got = list(self.labels[-1])
            raise ValueError(f"top level of {self.attribute!r} must be {TOP!r} for every value, got {got!r}")

    def _nested(self, level):
        """Raise ``ValueError`` if a group of the level below is split."""
        below, here = self.positions[level - 1], self.positions[level]
        parent = np.empty(len(self.labels[level - 1]), dtype=int)
        parent[below] = here
        split = np.flatnonzero(parent[below] != here)
        if len(split):
            value, group = self.values[split[0]], self.labels[level - 1][below[split[0]]]
            got = f"level {level}, which splits {group!r} at {value!s}"
            raise ValueError(f"levels of {self.attribute!r} must be nested, got {got}")

    @property
    def height(self) -> int:
        """Return the top level."""
        return len(self.positions) - 1

    @property
    def numeric(self) -> bool:
        """Return whether the values are numbers and the groups are intervals."""
        return self.values.dtype.kind == "i"

    def codes(self, values: ArrayLike, level: int) -> NDArray[np.int64]:
        """Return the groups of `values` (n,) at `level` in [0, height], as positions in ``labels[level]``, (n,).

        Raises a ``ValueError`` that names a value missing from the hierarchy.
        """
        level = checks.whole("level", level, f"[0, {self.height}]")
        if self.numeric:
            numbers = checks.integer(self.attribute, values, f"[{self.values[0]}, {self.values[-1]}]")
            found = numbers.astype(int) - self.values[0]
        else:
            values = np.asarray(values, dtype=object)
            found = pd.Index(self.values).get_indexer(values)
            if (found < 0).any():
                known, got = f"the {len(self.values)} values of its hierarchy", values[found < 0][0]
                raise ValueError(f"{self.attribute} must be one of {known}, got {got!r}")
        return self.positions[level][found]

    def generalize(self, values: ArrayLike, level: int) -> np.ndarray:
        """Return the label of each value's group at `level`, as strings, (n,). Raises the errors of `codes`."""
        return self.labels[checks.whole("level", level, f"[0, {self.height}]")][self.codes(values, level)]

    def losses(self, level: int) -> NDArray[np.float64]:
        """Return Iyengar's loss of a cell in each group at `level`, in [0, 1]: (values in the group - 1)/(values - 1).

        For intervals of integers, this is (largest - smallest)/range.
        Source: V. S. Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
        """
        level = checks.whole("level", level, f"[0, {self.height}]")
        sizes = np.bincount(self.positions[level], minlength=len(self.labels[level]))
        return (sizes - 1) / max(len(self.values) - 1, 1)

    def midpoints(self, values: ArrayLike, level: int) -> NDArray[np.float64]:
        """Return the middle of each value's interval, floats, (n,).

        Raises the errors of `codes`, and ``ValueError`` for categories.
        """
        if not self.numeric:
            raise ValueError(f"attribute must be numeric to have midpoints, got {self.attribute!r}")
        codes = self.codes(values, level)
        starts = np.flatnonzero(np.diff(self.positions[int(level)], prepend=-1))
        low, high = self.values[starts], self.values[np.append(starts[1:], len(self.values)) - 1]
        return (low + high)[codes] / 2


def categories(attribute: str, rows: Iterable[Sequence[str]]) -> Hierarchy:
    """Return a hierarchy of strings.

    rows : at least one, each a value followed by the labels of its groups at levels 1, 2, ..., the last of which is
        ``*``

    Raises ``ValueError`` if a value occurs twice or lacks a level, or if a level splits a group of the level below.
    """
    rows = [tuple(row) for row in rows]
    if not rows:
        raise ValueError(f"hierarchy of {attribute!r} must have at least one value")
    values = [row[0] for row in rows]
    for row in rows:
        if len(row) != len(rows[0]) or len(row) < 2 or not all(row):
            wanted = "the same number of labels, at least one, for every value"
            raise ValueError(f"hierarchy of {attribute!r} must have {wanted}, got {row!r}")
        if values.count(row[0]) > 1:
            raise ValueError(f"hierarchy of {attribute!r} must have each value once, got {row[0]!r} twice")
    positions, labels = zip(*(pd.factorize(np.array(column, dtype=object)) for column in zip(*rows)))
    return Hierarchy(attribute, np.array(values, dtype=object), positions, labels)


def intervals(attribute: str, starts: Iterable[ArrayLike]) -> Hierarchy:
    """Return a hierarchy of integers.

    starts : for each level from 1 on, an increasing sequence of integers: the starts of its intervals and then the end
        of the range, which belongs to the last interval. All sequences have the same ends. Each sequence is a subset of
        the previous one, and the last sequence contains only the ends

    Raises ``ValueError`` if a number is out of order, or if a level splits an interval of the level below.
    """
    cuts = [checks.integer(f"starts of {attribute!r}", level, "(-inf, inf)").astype(int) for level in starts]
    if not cuts:
        raise ValueError(f"hierarchy of {attribute!r} must have at least one level")
    low, high = cuts[0][0], cuts[0][-1]
    values = np.arange(low, high + 1)
    positions, labels = [np.arange(len(values))], [values.astype(str).astype(object)]
    for level, numbers in enumerate(cuts, 1):
        falling = np.flatnonzero(np.diff(numbers) <= 0)
        if len(falling) or len(numbers) < 2:
            offenders = numbers[falling + 1].tolist() or numbers.tolist()
            raise ValueError(f"starts of {attribute!r} must increase at level {level}, got {offenders}")
        if (numbers[0], numbers[-1]) != (low, high):
            wanted, got = f"the ends {low} and {high} at level {level}", f"{numbers[0]} and {numbers[-1]}"
            raise ValueError(f"starts of {attribute!r} must have {wanted}, got {got}")
        last = [*(numbers[1:-1] - 1), high]
        top = level == len(cuts) and len(numbers) == 2
        labels.append(np.array([TOP] if top else [_interval(*ends) for ends in zip(numbers, last)], dtype=object))
        positions.append(np.searchsorted(numbers[:-1], values, side="right") - 1)
    return Hierarchy(attribute, values, tuple(positions), tuple(labels))


def _interval(low, high) -> str:
    return str(low) if low == high else f"{low}-{high}"


def load(file: str | Path, attribute: str) -> Hierarchy:
    """Read the hierarchy of `attribute` from the path `file`, a CSV file in UTF-8 whose first line names the columns.

    The first column is "value" (see `categories`) or "level"; in a file with levels, the second column contains the
    starts of `intervals`. Empty lines and lines that begin with # are skipped. Raises a ``ValueError`` that names the
    file, the attribute and, where there is one, the line.
    """
    named, data = f"hierarchy of {attribute!r}, {file}", Path(file).read_bytes()
    rows: list[tuple[int, list[str]]] = []
    try:
        lines = io.StringIO(data.decode("utf-8-sig"), newline="")
        reader = csv.reader("" if line.startswith("#") else line for line in lines)
        rows += ((reader.line_num, row) for row in reader if row)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{named}, line {line} must be UTF-8 text, got the byte {data[error.start]:#04x}") from None
    except csv.Error as error:
        raise ValueError(f"{named}, line {reader.line_num} must be CSV: {error}") from None
    if len(rows) < 2:
        raise ValueError(
            f"{named} must have a line of columns and a line for each value or level, got {len(rows)} lines"
        )
    for number, row in rows:
        if len(row) < 2:
            raise ValueError(f"{named}, line {number} must have at least 2 cells, got {len(row)}")
    head, *rest = (row for _, row in rows)
    checks.one_of(f"first column of the {named},", head[0], ("value", "level"))
    try:
        return (
            categories(attribute, rest)
            if head[0] == "value"
            else intervals(attribute, [row[1].split() for row in rest])
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def adult(attributes: Iterable[str] = QUASI_IDENTIFIERS) -> dict[str, Hierarchy]:
    """Return Adult's hierarchies by attribute; the default is the ten attributes of hasegawa2015, Table 2.

    attributes : any attributes that have a file: these ten, education, race or native-country
    """
    known = sorted(file.stem for file in FOLDER.glob("*.csv"))
    for attribute in attributes:
        checks.one_of("attributes", attribute, known)
    return {attribute: load(FOLDER / f"{attribute}.csv", attribute) for attribute in attributes}


def apply(frame: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], levels: Mapping[str, int]) -> pd.DataFrame:
    """Return `frame` with each attribute in `levels` replaced by its labels at that level; level 0 leaves it unchanged.

    frame : contains the attributes as columns
    hierarchies : mapping from attribute to `Hierarchy`; levels : mapping from attribute to level
    """
    columns = {}
    for name, level in levels.items():
        checks.one_of("attribute of levels", name, tuple(hierarchies))
        checks.one_of("attribute of levels", name, tuple(frame.columns))
        labels = hierarchies[name].generalize(frame[name], level)
        columns[name] = labels if level > 0 else frame[name]
    return frame.assign(**columns)
