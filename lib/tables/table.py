"""Tables of categorical records: `Domain`, the values that are possible, and `Table`, the records.

A value is stored as its code, from 0 to size - 1; labels name the codes. A domain must be public, because a domain
derived from the records reveals which values occur (`miura2025`, section 2.1). A marginal, p_r(D), is a table of counts
with an axis for each attribute.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from ..numerics.extras import extra

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, init=False, repr=False)
class Domain:
    """An immutable list of named attributes, each with a finite number of values.

    sizes : mapping from each attribute to its number of values, an integer >= 1, or pairs (attribute, number)
    labels : mapping from an attribute to its values, all different, one for each code

    An attribute without labels has the values 0 to size - 1.

    >>> from lib.tables import Domain
    >>> domain = Domain({"sex": 2, "age": 5}, labels={"sex": ["female", "male"]})
    >>> domain.attributes, domain.sizes, domain.size(), domain.size(["age"])
    (('sex', 'age'), (2, 5), 10, 5)

    Two domains are equal if their attributes, sizes and labels are equal. Raises ``ValueError`` for a domain
    without attributes, a repeated attribute, a size below 1, a repeated label, and a wrong number of labels.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: dict[str, tuple] = field(hash=False)
    _position: dict[str, int] = field(compare=False)

    def __init__(self, sizes: Mapping[str, int] | Iterable[tuple[str, int]], labels: Mapping | None = None) -> None:
        pairs = list(sizes.items() if isinstance(sizes, Mapping) else sizes)
        attributes = tuple(name for name, _ in pairs)
        if not attributes:
            raise ValueError("domain must not be empty")
        _refuse_repeated(attributes)
        counts = tuple(checks.whole(f"size of {name!r}", size, "[1, inf)") for name, size in pairs)
        position = {name: index for index, name in enumerate(attributes)}
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "sizes", counts)
        object.__setattr__(self, "_position", position)
        object.__setattr__(self, "labels", self._checked_labels(labels or {}))

    @classmethod
    def from_labels(cls, labels: Mapping) -> Domain:
        """Return the domain whose attributes have exactly the values listed: ``{"sex": ["female", "male"]}``."""
        return cls({name: len(values) for name, values in labels.items()}, labels)

    def _checked_labels(self, labels) -> dict:
        checked = {}
        for name, values in labels.items():
            size, values = self.shape([name])[0], tuple(values)
            if len(values) != size:
                raise ValueError(f"labels of {name!r} must be {size} values, got {len(values)}")
            if len(set(values)) != size:
                repeated = next(value for value in values if values.count(value) > 1)
                raise ValueError(f"labels of {name!r} must all be different, got {repeated!r} twice")
            checked[name] = values
        return checked

    def axes(self, attributes: Collection[str]) -> tuple[int, ...]:
        """Return the positions of `attributes` in the domain. Raises ``ValueError`` if one is unknown or repeated."""
        attributes = _names(attributes)
        for name in attributes:
            if name not in self._position:
                known = ", ".join(map(repr, self.attributes))
                raise ValueError(f"attributes must be among {known}, got {name!r}")
        _refuse_repeated(attributes)
        return tuple(self._position[name] for name in attributes)

    def shape(self, attributes: Collection[str] | None = None) -> tuple[int, ...]:
        """Return the sizes of `attributes` (default: all), in the order given."""
        return self.sizes if attributes is None else tuple(self.sizes[axis] for axis in self.axes(attributes))

    def size(self, attributes: Collection[str] | None = None) -> int:
        """Return the number of cells of a table over `attributes` (default: all), which is 1 for no attributes."""
        return math.prod(self.shape(attributes))

    def project(self, attributes: Collection[str]) -> Domain:
        """Return the domain of `attributes` alone, in the order given."""
        attributes = _names(attributes)
        sizes = zip(attributes, self.shape(attributes))
        return Domain(sizes, {name: self.labels[name] for name in attributes if name in self.labels})

    def values(self, attribute: str) -> tuple:
        """Return the values of one attribute: its labels, or the codes 0 to size - 1 if it has none."""
        return self.labels.get(attribute, tuple(range(self.shape([attribute])[0])))

    def __len__(self) -> int:
        return len(self.attributes)

    def __repr__(self) -> str:
        return f"Domain({{{', '.join(f'{name!r}: {size}' for name, size in zip(self.attributes, self.sizes))}}})"


class Table:
    """A read-only table of records over a `Domain`.

    records : integer array (n, k) of codes in [0, size), n >= 1, with a row for each record and a
        column for each of the domain's k attributes, in the order of the domain

    `len(table)` is n, and `table.records` is the array of codes. Raises ``ValueError`` for an empty table, a wrong
    shape, and a code outside the domain; the message then names the column and the code.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> table = Table(np.array([[0, 4], [1, 0], [1, 4]]), Domain({"sex": 2, "age": 5}))
    >>> print(len(table), table.marginal(["sex"]))
    3 [1 2]
    """

    def __init__(self, records: ArrayLike, domain: Domain) -> None:
        records = np.asarray(records)
        if records.ndim != 2 or records.shape[1] != len(domain):
            raise ValueError(f"records must have shape (n, {len(domain)}), got {records.shape}")
        if len(records) == 0:
            raise ValueError("records must not be empty")
        names = zip(domain.attributes, domain.sizes)
        # Separate columns, in the smallest type that holds their codes, for counting.
        columns = [checked_codes(name, size, records[:, axis]) for axis, (name, size) in enumerate(names)]
        self.domain, self._columns = domain, columns

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, domain: Domain) -> Table:
        """Encode the columns of a pandas `frame` that `domain` names; further columns are ignored.

        Raises ``ValueError`` for an empty frame, an absent or duplicated column, a missing value, and a value outside
        the domain.
        """
        if len(frame) == 0:
            raise ValueError("frame must not be empty")
        columns = [_encode(_column(frame, name), name, domain) for name in domain.attributes]
        return cls(np.stack(columns, axis=1), domain)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame (n, k) of labels, or of codes for attributes without labels."""
        with extra("data"):
            import pandas as pd  # imported only here, because the mechanisms need only numpy

        columns = {}
        for name, codes in zip(self.domain.attributes, self._columns):
            labels = self.domain.labels.get(name)
            columns[name] = codes.astype(np.int64) if labels is None else pd.Index(labels).take(codes.astype(np.intp))
        return pd.DataFrame(columns)

    @property
    def records(self) -> np.ndarray:
        """Return the codes, an integer array (n, k)."""
        return np.stack([column.astype(np.int64) for column in self._columns], axis=1)

    def column(self, attribute: str) -> np.ndarray:
        """Return the codes (n,) of one attribute, read-only, in the smallest unsigned integer type."""
        return self._columns[self.domain.axes([attribute])[0]]

    def marginal(self, attributes: Collection[str]) -> NDArray[np.int64]:
        """Return counts over `attributes`, integers of shape ``domain.shape(attributes)``, or () without attributes."""
        axes = self.domain.axes(attributes)
        shape = self.domain.shape(attributes)
        cells = np.zeros(len(self), dtype=np.intp)
        for axis, size in zip(axes, shape):
            cells *= size
            cells += self._columns[axis]
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)

    def project(self, attributes: Collection[str]) -> Table:
        """Return a table of the same records with only `attributes`, in the given order."""
        axes = self.domain.axes(attributes)
        projected = object.__new__(Table)
        projected.domain, projected._columns = self.domain.project(attributes), [self._columns[axis] for axis in axes]
        return projected

    def __len__(self) -> int:
        return len(self._columns[0])


def _names(attributes) -> tuple:
    if isinstance(attributes, str):
        raise ValueError(f"attributes must be a sequence of attributes, got the string {attributes!r}")
    return tuple(attributes)


def _refuse_repeated(attributes) -> None:
    if len(set(attributes)) != len(attributes):
        repeated = next(name for name in attributes if attributes.count(name) > 1)
        raise ValueError(f"attributes must all be different, got {repeated!r} twice")


def checked_codes(name: str, size: int, column: np.ndarray, first: int = 0) -> np.ndarray:
    """Return the array `column` of codes, read-only, in the smallest unsigned type for integers below `size`.

    Raises ``ValueError`` for a code outside [0, size); the message gives the number of its record, counted from
    `first`.
    """
    if not np.issubdtype(column.dtype, np.integer):
        checks.integer(f"column {name!r}", column, f"[0, {size})")  # names the first NaN or fraction
    outside = (column < 0) | (column >= size)
    if outside.any():
        record = int(outside.argmax())
        raise ValueError(
            f"column {name!r} must contain codes in [0, {size}), got {column[record]} in record {first + record}"
        )
    codes = column.astype(np.min_scalar_type(size - 1))
    codes.flags.writeable = False
    return codes


def _column(frame, name):
    count = list(frame.columns).count(name)
    if count != 1:
        raise ValueError(f"frame must have one column {name!r}, got {count or 'none'}")
    column = frame[name]
    if column.isna().any():
        raise ValueError(f"column {name!r} must have no missing value, got one in record {int(column.isna().argmax())}")
    return column


def _encode(column, name, domain: Domain) -> np.ndarray:
    """Return the codes of `column`; it contains labels or, if the attribute has no labels, codes."""
    labels = domain.labels.get(name)
    if labels is None:
        return checked_codes(name, domain.shape([name])[0], column.to_numpy())
    codes = column.map({label: code for code, label in enumerate(labels)})
    if codes.isna().any():
        stranger = column[codes.isna()].iloc[0]
        raise ValueError(f"column {name!r} must contain values of the domain, got {stranger!r}")
    return codes.to_numpy(dtype=np.int64)
