"""Read the user's tables, from CSV, Parquet, DuckDB, SQL databases or memory, in batches of codes of a public schema.

For every source, a batch is a mapping from each attribute to its codes, an array of unsigned integers. Only a few
batches are in memory at a time. The code of a value depends only on the schema and on the value (`schema`): no type is
guessed from the records, the type of one file is not imposed on another, and the names of folders are strings.

Errors in a source raise ``ValueError`` with a message of one sentence, which quotes names of columns and tables but no
records.
"""

from __future__ import annotations

import csv
import datetime
import io
import os
import re
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..numerics.extras import extra
from ..tables.counting import Workload
from ..tables.table import Table
from . import parts
from .counter import Counter
from .schema import NUMBERS, TRUTHS, Attribute, Schema, as_number, as_text, day, known_texts

with extra("data"):
    import narwhals as nw
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.dataset

ROWS = 1 << 16  # of a batch
BLOCK = 1 << 22  # bytes of a CSV file that are read at a time; a longer record may be refused
SCHEMES = ("sqlite", "postgresql", "postgres")
_DUCKDB, _PARQUET = (".duckdb", ".ddb"), (".parquet", ".pq")
_SEPARATORS = (",", ";", "\t", "|")
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WANTED = {"whole": "numbers", "real": "numbers", "dates": "dates", "values": "the values that the schema lists"}
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the name of a folder for a missing value
_DATABASES = {b"SQLite format 3": "an SQLite file; give its address, such as sqlite:///people.db, and the table",
            b"DUCK": "a DuckDB file; rename it so that it ends in .duckdb, and give the table"}  # fmt: skip
_ESCAPED = re.compile("[\udc80-\udcff]")
_MERGED = (
    ", but an extra quotation mark may have merged it with others; if "
    "strings in the file extend over several lines, write multiline: yes in the schema"
)
_WHITE = " \t\r\n\f\v\u00a0\u3000"


def batches(data: Any, schema: Schema, table: str = "") -> Iterator[dict[str, np.ndarray]]:
    r"""Yield the records of `data` in batches, mappings from each attribute of `schema` to its codes.

    data : a CSV file, also compressed (.csv.gz); a Parquet file or a folder of Parquet files; a DuckDB file (.duckdb);
        an address, sqlite:///people.db or postgresql://host/database; or a table in memory, of pandas, polars or Arrow
    table : the table of the database, a name or schema.name; empty for other sources

    Columns that the schema does not name are not read. Raises ``ValueError``, if possible before the first batch.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import batches
    >>> public = parse("attributes: {sex: {values: [female, male]}}")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,sex\n39,male\n50,female\n38,?\n")
    ...     print([batch["sex"].tolist() for batch in batches(path, public)], public.attributes[0].labels)
    [[1, 0, 3]] ('female', 'male', 'missing', 'other')
    """
    for batch in _open(data, tuple(each.name for each in schema.attributes), table, schema):
        coded = {}
        for each, column in zip(schema.attributes, batch.columns):
            with _plain(data, each.name, column):
                coded[each.name] = codes(each, column, schema.blanks)
        yield coded


@contextmanager
def _plain(data: Any, name: str, column: pa.Array) -> Iterator[None]:
    """Raise ``ValueError``, which names `data` and the column, if the column's type is refused or its values are not plain."""
    try:
        yield
    except pa.ArrowException:  # its message may quote a value
        raise ValueError(
            f"{_shown(data)}, column {name!r} must contain plain values, such as numbers or UTF-8 text, got the type {column.type}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{_shown(data)}, {error}") from None


def read(data: Any, schema: Schema, table: str = "") -> Table:
    r"""Return all records of `data` (see `batches`) as a `Table`. Also raises ``ValueError`` if there are no records.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,sex\n39,male\n50,female\n")
    ...     table = read(path, parse("attributes: {sex: {values: [female, male]}}"))
    >>> print(table.marginal(["sex"]))
    [1 1 0 0]
    """
    parts = [np.stack(list(batch.values()), axis=1) for batch in batches(data, schema, table)]
    if not any(map(len, parts)):
        raise ValueError(f"{_shown(data)} must have at least one record")
    return Table(np.concatenate(parts), schema.domain)


def numbers(data: Any, schema: Schema, table: str = "") -> dict[str, np.ndarray]:
    r"""Return an array (n,) of the values of each numeric attribute of `schema` in `data` (see `batches`), NaN if missing.

    A value beyond the range becomes the nearest end. The values are not binned, so only the owner of the records may
    see them.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import numbers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,sex\n39,male\n130,female\n")
    ...     print(numbers(path, parse("attributes: {sex: {values: [female, male]}, age: {range: [0, 99], bins: 2}}")))
    {'age': array([39., 99.])}
    """
    numeric = [each for each in schema.attributes if each.kind in NUMBERS]
    found: dict[str, list[np.ndarray]] = {each.name: [np.zeros(0)] for each in numeric}
    for batch in _open(data, tuple(found), table, schema):
        for name, column in zip(found, batch.columns):
            with _plain(data, name, column):
                found[name].append(_numbers(_values(column), schema.blanks))
    return {each.name: np.clip(np.concatenate(found[each.name]), each.starts[0], each.last) for each in numeric}


def count(data: Any, schema: Schema, workload: Workload, table: str = "") -> Counter:
    r"""Count the records of `data` over the sets of `workload`, for `aim`. Errors are those of `read`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import count
    >>> public = parse("attributes: {sex: {values: [female, male]}, age: {range: [0, 99], bins: 2}}")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,sex\n39,male\n50,female\n")
    ...     counter = count(path, public, workload=2)
    >>> print(len(counter), counter.marginal(["age"]))
    2 [1 1 0]
    """
    counter = parts.count([data], lambda part: batches(part, schema, table), schema.domain, workload)
    if not len(counter):
        raise ValueError(f"{_shown(data)} must have at least one record")
    return counter


def check(data: Any, schema: Schema, table: str = "") -> None:
    r"""Raise ``ValueError`` if `data` cannot be opened or lacks an attribute of `schema`, without reading more than a batch.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import check
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,sex\n39,male\n50,female\n")
    ...     try:
    ...         check(path, parse("attributes: {height: {range: [0, 3]}}"))
    ...     except ValueError as error:
    ...         print(str(error).partition("must ")[2])
    have one column 'height', got none among 2 names
    """
    next(batches(data, schema, table), None)


def codes(
    attribute: Attribute, column: pa.Array | pa.ChunkedArray, blanks: Collection[str] = frozenset([""])
) -> np.ndarray:
    """Return the Arrow `column` (n,) as codes (n,) of `attribute`, in the smallest unsigned type; `blanks` mean missing.

    Raises ``ValueError`` if the type of the column permits none of the values that the schema lists, or no number or
    date.

    >>> import pyarrow
    >>> from lib.release.schema import parse
    >>> from lib.release.sources import codes
    >>> age = parse("attributes: {age: {range: [0, 99], bins: [0, 18, 65]}}").attributes[0]
    >>> print(codes(age, pyarrow.chunked_array([["12", "40.0", "130", "unknown"]])))  # beyond the range: its end
    [0 1 2 3]
    """
    column = _values(column)
    if not _suits(attribute, column.type):
        raise ValueError(
            f"column {attribute.name!r} must contain {_WANTED[attribute.kind]}, got the type {column.type}, which holds other values"
        )
    if attribute.kind in NUMBERS:
        found = attribute.binned(_numbers(column, blanks))
    else:
        encoded = _texts(column).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        if attribute.kind == "dates":  # a column of dates needs no form, unlike strings
            form = "" if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type) else attribute.form
            each = attribute.binned(np.array([np.nan if t in blanks else day(t, form) for t in texts], dtype=float))
        else:
            known, key = known_texts(attribute, frozenset(blanks), _is_number(column.type))
            each = np.array([known.get(t, known.get(key(t), attribute.unseen)) for t in texts], dtype=int)
        found = np.append(each, attribute.missing)[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
    return found.astype(np.min_scalar_type(len(attribute.labels) - 1))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _suits(attribute: Attribute, kind: pa.DataType) -> bool:
    """Return whether values of the type `kind` can be values of `attribute`; strings, bytes and lists are checked one by one."""
    days = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    other = pa.types.is_time(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind)
    if attribute.kind in NUMBERS:
        return not (days or other or pa.types.is_boolean(kind))
    if attribute.kind == "dates":
        return not (other or pa.types.is_boolean(kind))
    labels = attribute.labels[: attribute.declared]
    if pa.types.is_boolean(kind) or _is_number(kind):
        both = {TRUTHS.get(as_text(label)) for label in labels} >= {True, False}
        return both or (_is_number(kind) and any(isinstance(as_number(label), Decimal) for label in labels))
    return not days or not all(np.isnan(day(label)) for label in labels)


def _values(column) -> pa.Array:
    """Return a column as one array of values, not as indices into a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _texts(column):
    """Return a column as stripped strings; NaN becomes null, and floats that are integers are written with all digits."""
    if pa.types.is_timestamp(column.type):  # a day is its first moment
        column = pc.replace_substring_regex(pc.cast(column, pa.string()), r" 00:00:00(\.0+)?Z?$", "")
    if not pa.types.is_floating(column.type):
        return pc.utf8_trim(pc.cast(column, pa.string()), _WHITE)
    numbers = pc.cast(column, pa.float64())
    numbers = pc.if_else(pc.is_finite(numbers), numbers, None)
    whole = pc.and_(pc.equal(numbers, pc.trunc(numbers)), pc.less(pc.abs(numbers), 2**53))
    digits = pc.cast(pc.cast(pc.if_else(whole, numbers, None), pa.int64()), pa.string())
    return pc.if_else(pc.is_valid(numbers), pc.coalesce(digits, pc.cast(column, pa.string())), None)


def _numbers(column, blanks) -> np.ndarray:
    """Return a column as floats (n,), NaN for values that are not numbers."""
    kind = column.type
    if not _is_number(kind):
        column = _texts(column)
        column = pc.if_else(pc.match_substring_regex(column, _NUMBER), column, None)
    elif pa.types.is_floating(kind):  # the string "inf" is not a number either
        column = pc.cast(column, pa.float64())
        column = pc.if_else(pc.is_finite(column), column, None)
    column = pc.cast(column, pa.float64(), safe=False)
    none = pa.array([float(text) for text in sorted(blanks) if re.fullmatch(_NUMBER, text)], pa.float64())
    return pc.if_else(pc.is_in(column, none), None, column).to_numpy(zero_copy_only=False)


# ---- the sources: each yields record batches with the requested columns, in their order


def _open(data: Any, names, table: str, schema: Schema) -> Iterator[pa.RecordBatch]:
    """Return the record batches of `data`, read by the function for its kind of source."""
    if not isinstance(data, (str, Path)):
        if table:
            raise ValueError(f"table must be left out for a table in memory, got {table!r}")
        return _frame(frame(data), names, {each.name: each.form for each in schema.attributes})
    data = str(data)
    path, scheme = Path(data), re.match(r"([\w+.:-]+)://", data)
    database = scheme or path.suffix.lower() in _DUCKDB
    if scheme and scheme[1] not in SCHEMES:
        raise ValueError(f"data must be a file, a folder or an address of {', '.join(SCHEMES)}, got {scheme[1]}://")
    if database and not table:
        raise ValueError(f"table must name one of the tables of {_shown(data)}, got none")
    if table and not database:
        raise ValueError(
            f"table must be left out for {_shown(data)}, got {table!r}: the file is {_of_a_database(path) or 'not a database'}"
        )
    if scheme:
        return _sql(data, scheme[1], names, table)
    if not os.path.exists(data):
        given = (
            repr(_shown(data))
            if len(data.splitlines()) == 1 and len(data) < 4096
            else "a text that is longer than a path"
        )
        raise ValueError(f"data must be an existing file or folder, or an address, got {given}")
    if database:
        return _duckdb(data, names, table)
    if what := _of_a_database(path):
        raise ValueError(f"data cannot be read as CSV or Parquet, because {data} is {what}")
    return (
        _parquet(path, names)
        if path.is_dir() or path.suffix.lower() in _PARQUET
        else _csv(data, names, schema.multiline)
    )


def _of_a_database(path: Path) -> str:
    """Return which database the file `path` is, and how to read it, or "" if it is not a known database."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        begins = file.read(16)
    return next(
        (said for mark, said in _DATABASES.items() if begins.startswith(mark) or begins[8:].startswith(mark)), ""
    )


def frame(data: Any) -> nw.DataFrame:
    """Return a table in memory as a narwhals frame. Raises ``ValueError``, which does not quote the content, for anything else."""
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise ValueError("data must have columns with different names, got a name twice") from None
    except TypeError:
        pass  # not a frame, or one that is not computed yet
    if hasattr(data, "__arrow_c_stream__"):  # a reader, or a relation of DuckDB
        with suppress(pa.ArrowException):  # a single column
            return nw.from_native(pa.table(data), eager_only=True)
    raise ValueError(
        f"data must be a path, an address, or a table in memory (pandas, polars, Arrow), got {type(data).__name__}"
    )


def _frame(records: nw.DataFrame, names, forms) -> Iterator[pa.RecordBatch]:
    _lacking("data", names, records.columns)
    for start in range(0, len(records), ROWS):
        part = records[start : start + ROWS]
        yield pa.RecordBatch.from_arrays([_of_series(part[name], forms[name]) for name in names], list(names))


def _of_series(series: nw.Series, form: str) -> pa.Array:
    """Return a column as an Arrow array; each Python object becomes a string, because Arrow would look for a common type."""
    if series.dtype == nw.Object:
        values = zip(series.to_list(), series.is_null().to_list())
        return pa.array([None if null else _as_written(value, form) for value, null in values], pa.string())
    try:
        found = series.to_arrow()
    except (pa.ArrowException, TypeError):
        raise ValueError(f"data, column {series.name!r} must contain plain values, got {series.dtype}") from None
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _as_written(value, form: str) -> str:
    return value.strftime(form) if form and isinstance(value, datetime.date) else str(value)


def _lacking(data, names, columns, told: bool = True) -> None:
    """Raise ``ValueError`` unless `columns` contains each of `names` once; with `told`, the message lists the columns."""
    for name in names:
        count = list(columns).count(name)
        if count != 1:
            has = (", ".join(map(repr, columns)) or "none") if told else f"{len(columns)} names"
            raise ValueError(f"{data} must have one column {name!r}, got {count or 'none'} among {has}")


def _csv(data: str, names, multiline: bool) -> Iterator[pa.RecordBatch]:
    """Yield the columns `names` of a CSV file in batches; the separator of its cells is any of `_SEPARATORS`."""
    separator, columns, below = _header(data, names, multiline)
    reading = pa.csv.ReadOptions(
        use_threads=False, block_size=BLOCK, column_names=[str(i) for i in range(len(columns))], skip_rows_after_names=1
    )
    places = [str(columns.index(name)) for name in names]
    as_text = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(places, pa.string()), include_columns=places, strings_can_be_null=False
    )
    parsing, records = pa.csv.ParseOptions(delimiter=separator, newlines_in_values=True), 0
    try:
        with pa.csv.open_csv(data, reading, parsing, as_text) as reader:
            for batch in reader:
                records += len(batch)
                yield batch
    except (pa.ArrowInvalid, OSError) as error:
        wrong = ""
        with suppress(OSError):  # a compressed file that was cut off cannot be read again
            wrong = _what_is_wrong(data, columns, separator, below)
        said = re.sub(r"(got \d+).*", r"\1", _one_line(error))  # Arrow quotes the record
        raise ValueError(wrong or f"{data} cannot be read: {said}") from None
    # A record of several lines may have an unclosed quote, and contain all records up to another such quote or the end.
    if records != _count_lines(data) - below:
        for first, last, _ in _rows(data, separator, below, strict=True):
            if last > first and not multiline:
                raise ValueError(f"{data}, line {first} must contain a whole record{_MERGED}")


def _count_lines(data: str) -> int:
    """Return the number of non-empty lines of a file."""
    with io.BufferedReader(pa.input_stream(data)) as file:
        return sum(sum(map(bool, line.rstrip(b"\r\n").split(b"\r"))) for line in file)


def _header(data: str, names, multiline: bool) -> tuple[str, list[str], int]:
    """Return the separator of a CSV file, the names of its columns, and the number of lines that the names occupy."""
    found, refused = [], []
    for separator in _SEPARATORS:
        try:
            _, last, cells = next(_rows(data, separator), (1, 1, []))
            found.append((separator, [cell.strip() for cell in cells], last))
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{data} cannot be read: {_one_line(error)}") from None
        except ValueError as error:  # with another separator, a quotation mark may have no meaning
            refused.append(error)
    if not found:
        raise refused[0]
    separator, columns, last = next((each for each in found if set(names) <= set(each[1])), found[0])
    if not any(columns):
        raise ValueError(f"{data}, line 1 must name the columns, got an empty line")
    if _ESCAPED.search("".join(columns)):
        raise ValueError(f"{data}, line 1 must be UTF-8 text")
    _lacking(f"{data}, line 1,", names, columns, told=False)  # if the names are absent, line 1 is a record
    if last > 1 and not multiline:
        raise ValueError(f"{data}, line 1 must contain the names of all columns{_MERGED}")
    return separator, columns, last


def _lines(data: str):
    """Return a file, which may be compressed, as text; bytes that are not UTF-8 become `_ESCAPED` characters."""
    return io.TextIOWrapper(pa.input_stream(data), encoding="utf-8-sig", errors="surrogateescape", newline="")


def _rows(data: str, separator: str, above: int = 0, strict: bool = False) -> Iterator[tuple[int, int, list[str]]]:
    """Yield (first line, last line, cells) of the rows below `above` lines of a CSV file; `strict` refuses text after a quote."""
    with _lines(data) as file:
        for _ in range(above):
            file.readline()
        rows, begins = csv.reader(file, delimiter=separator, strict=strict), above + 1
        try:
            for cells in rows:
                yield begins, rows.line_num + above, cells
                begins = rows.line_num + above + 1
        except csv.Error as error:
            reason = f"line {begins} cannot be read, perhaps because a quotation mark is not closed: {error}"
            raise ValueError(f"{data}, {reason}") from None


def _what_is_wrong(data, columns, separator, above) -> str:
    """Return the error in the first bad record of a CSV file (its number of cells, length, or encoding), or "" if none is bad."""
    line = 0
    for line, _, cells in _rows(data, separator, above):
        if cells and len(cells) != len(columns):
            return f"{data}, line {line} must have {len(columns)} cells like the first line, got {len(cells)}"
        for name, cell in zip(columns, cells):
            if _ESCAPED.search(cell):
                return f"{data}, line {line}, column {name!r} must be UTF-8 text"
        if sum(len(cell.encode()) for cell in cells) > BLOCK:
            return f"{data}, line {line} must hold a record of less than {BLOCK >> 20} MiB"
    return "" if line else f"{data} must have at least one record below the column names"


def _parquet(path: Path, names) -> Iterator[pa.RecordBatch]:
    """Yield the records of each file with the file's own types, so that these do not depend on records in other files."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if _holds_records(each, path))
    if not files:
        raise ValueError(f"{path} must contain Parquet files, got none")
    for file in files:
        with _readable(file):
            columns = pa.dataset.dataset(file, format="parquet").schema.names
        _lacking(file, names, [*columns, *(name for name in _of_folders(file, path) if name not in columns)])
    for file in files:
        with _readable(file):
            yield from _of_file(file, names, _of_folders(file, path))


def _of_file(file: Path, names, folders: dict[str, str | None]) -> Iterator[pa.RecordBatch]:
    """Yield the records of one file, each extended by the values in the names of its `folders`."""
    records = pa.dataset.dataset(file, format="parquet")
    own = [name for name in names if name in records.schema.names]
    for batch in records.to_batches(
        columns=own,
        batch_size=ROWS,
        use_threads=False,
        batch_readahead=1,
        fragment_readahead=1,
        fragment_scan_options=pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=False),
    ):
        said = {name: pa.repeat(pa.scalar(folders[name], pa.string()), len(batch)) for name in names if name not in own}
        yield pa.RecordBatch.from_arrays([said[name] if name in said else batch[name] for name in names], list(names))


def _holds_records(file: Path, folder: Path) -> bool:
    """Return whether a file in `folder` contains records, unlike the notes of the program that wrote the folder."""
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _of_folders(file: Path, folder: Path) -> dict[str, str | None]:
    """Return the columns given by the names of folders between `folder` and `file`, such as year=2001, as strings."""
    parts = file.relative_to(folder).parts[:-1]
    said = (map(unquote, part.split("=", 1)) for part in parts if "=" in part)
    return {name: None if value == _NO_VALUE else value for name, value in said}


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{file} cannot be read as Parquet: {_one_line(error)}") from None


def _duckdb(data: str, names, table) -> Iterator[pa.RecordBatch]:
    with extra("databases"):
        import duckdb  # imported only where it is needed, like the drivers below

    there, opened = f"{data}, table {table!r}", False
    try:
        settings: dict = {"python_enable_replacements": False}  # or `table` could name a variable of this program
        with closing(duckdb.connect(data, read_only=True, config=settings)) as connection:
            records = connection.table(_path_of(table))  # unlike SQL, it does not take a path for a table
            _lacking(f"{there},", names, records.columns)
            opened = True
            yield from records.project(", ".join(map(_quoted, names))).to_arrow_reader(ROWS)
    except (duckdb.Error, pa.ArrowException) as error:
        raise ValueError(f"{there} cannot be read: {_said(error, opened)}") from None


def _sql(data: str, scheme: str, names, table) -> Iterator[pa.RecordBatch]:
    with extra("databases"):
        import adbc_driver_manager

    there, opened = f"{_shown(data)}, table {table!r}", False
    try:
        with _connected(data, scheme) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {_path_of(table)} WHERE 1 = 0")
            _lacking(f"{there},", names, [column[0] for column in cursor.description])
            opened = True
            cursor.execute(f"SELECT {', '.join(map(_as_text, names))} FROM {_path_of(table)}")
            for batch in cursor.fetch_record_batch():
                yield pa.RecordBatch.from_arrays([_told(column) for column in batch.columns], list(names))
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
        raise ValueError(f"{there} cannot be read: {_said(error, opened)}") from None


def _as_text(name: str) -> str:
    """Return SQL for a column as strings, so that SQLite's driver does not guess its type; `_told` converts NULL back."""
    return f"CASE WHEN {_quoted(name)} IS NULL THEN '' ELSE '=' || CAST({_quoted(name)} AS TEXT) END"


def _told(column: pa.Array) -> pa.Array:
    texts = pc.cast(column, pa.string())
    return pc.if_else(pc.equal(texts, ""), None, pc.utf8_slice_codeunits(texts, 1))


def _connected(data: str, scheme: str):
    if scheme != "sqlite":
        with extra("databases"):
            import adbc_driver_postgresql.dbapi

        password = re.match(r"\w+://[^/@?:]*:(.*)@", data)  # a part of it may be a host or a port for the driver
        if re.search(r"\s|%(?![0-9a-fA-F]{2})", data) or (password and re.search(r"[/?#@\[\]]", password[1])):
            raise ValueError(
                f"data must be an address whose special characters are in the form %2F for a slash, got {_shown(data)}"
            )
        return adbc_driver_postgresql.dbapi.connect(data)
    with extra("databases"):
        import adbc_driver_sqlite.dbapi

    path = Path(data.removeprefix("sqlite://").removeprefix("/"))  # three slashes, and a fourth for an absolute path
    if not path.is_file():
        raise ValueError(f"data must be the address of an existing SQLite file, got {data}")
    return adbc_driver_sqlite.dbapi.connect(f"{path.resolve().as_uri()}?mode=ro")


def _path_of(table: str) -> str:
    return ".".join(map(_quoted, table.split(".")))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _shown(data: Any) -> str:
    """Return an address without its password, which precedes the host or follows a question mark."""
    if not isinstance(data, (str, Path)):
        return "data"
    data = str(data)
    shown = re.sub(r"(:/*[^/@?:]*):.*@", r"\1@", data)
    return re.sub(r"(pass[^=&]*=)[^&]*", r"\1...", shown, flags=re.IGNORECASE)


def _said(error, opened: bool) -> str:
    """Return the message of a database or, while records are read, only the kind of error, because messages quote records."""
    return f"{type(error).__name__} while its records were read" if opened else _one_line(error)


def _one_line(error) -> str:
    return str(error).strip().split("\n")[0]
