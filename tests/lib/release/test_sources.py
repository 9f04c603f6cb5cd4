"""Every kind of source gives the same records in bounded batches, and an error is a sentence on what is wrong with a
source."""

import csv
import datetime
import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.release import schema, sources
from lib.tables import aim
from tests import made_up

EXAMPLE = Path(__file__).resolve().parents[3] / "notebooks/yours/example"
SCHEMA = schema.read(EXAMPLE / "schema.yml")
FRAME = made_up.library_members(300, rng=np.random.default_rng(4))
SMALL = schema.parse("attributes: {a: {values: [x, y]}, b: {range: [0, 9], bins: 2}}")
MULTILINE = replace(SMALL, multiline=True)


def by_hand(frame):
    """Return codes (n, 6) by the example's schema, computed once more, record by record."""
    domain = SCHEMA.domain

    def place(value, starts):
        return max((i for i, start in enumerate(starts) if start <= value), default=0)

    def number(text, starts, missing):
        return place(float(text), starts) if re.fullmatch(r"[0-9.]+", text) else missing

    rows = []
    for row in frame.itertuples():
        named = [domain.values(name).index(value if value in domain.values(name) else "other")
                 for name, value in (("card", row.card), ("quarter", row.quarter))]  # fmt: skip
        joined = int(row.joined[:4]) - 2015 if row.joined[:2] == "20" else 11
        age, loans = number(row.age, [4, 10, 16, 25, 40, 65], 6), number(row.loans, [0, 1, 2, 4, 8, 16], 0)
        rows.append([named[0], age, named[1], joined, loans, number(row.fines, range(0, 50, 5), 0)])
    return np.array(rows)


def typed(frame):
    """Return the frame as others would hold it, in numbers and days, with nulls where that is not possible."""
    days = pd.to_datetime(frame.joined, errors="coerce").dt.date.to_numpy()
    numbers = {name: pd.to_numeric(frame[name], errors="coerce") for name in ("age", "loans", "fines")}
    return frame.assign(joined=days, **numbers)


class Stream:
    """A table that offers Arrow's C stream, and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Return the records in each kind of source: (data, table) by its name."""
    folder = tmp_path_factory.mktemp("sources")
    text = FRAME.assign(more="not asked for").to_csv(index=False)
    (folder / "members.csv").write_text("\ufeff" + text, encoding="utf-8")
    (folder / "windows.csv").write_bytes(FRAME.to_csv(index=False, sep=";", lineterminator="\r\n", quoting=1).encode())
    with gzip.open(folder / "members.csv.gz", "wt") as file:
        file.write(text)
    (folder / "parts").mkdir()
    for part in range(3):
        arrow = pa.Table.from_pandas(typed(FRAME)[part * 100 : part * 100 + 100], preserve_index=False)
        pa.parquet.write_table(arrow, folder / f"parts/{part}.parquet", row_group_size=30)
    pa.parquet.write_table(pa.Table.from_pandas(FRAME.astype("category")), folder / "one.parquet")
    arrow = pa.Table.from_pandas(typed(FRAME))
    with duckdb.connect(str(folder / "lib.duckdb")) as connection:
        connection.register("arrow", arrow)
        connection.sql(
            'CREATE SCHEMA town; CREATE TABLE town.members AS SELECT * FROM arrow; CREATE VIEW "a b" AS FROM town.members'
        )
    with sqlite3.connect(folder / "lib.db") as connection:
        typed(FRAME).to_sql("members", connection, index=False)
        FRAME.to_sql("texts", connection, index=False)
    connection.close()
    return {
        "csv": (folder / "members.csv", ""),
        "csv of Windows": (folder / "windows.csv", ""),
        "csv, compressed": (folder / "members.csv.gz", ""),
        "parquet folder": (folder / "parts", ""),
        "parquet file": (folder / "one.parquet", ""),
        "duckdb": (folder / "lib.duckdb", "town.members"),
        "duckdb view": (folder / "lib.duckdb", "a b"),
        "sqlite": (f"sqlite:///{folder}/lib.db", "members"),
        "sqlite, texts": (f"sqlite:///{folder}/lib.db", "texts"),
        "pandas": (FRAME.assign(more="not asked for"), ""),
        "pandas, typed": (typed(FRAME).convert_dtypes(), ""),
        "pandas, objects": (typed(FRAME).astype(object), ""),
        "pandas, categories": (FRAME.astype("category"), ""),
        "arrow": (arrow, ""),
        "arrow, a stream": (Stream(arrow), ""),
    }  # fmt: skip


KINDS = [
    "csv",
    "csv of Windows",
    "csv, compressed",
    "parquet folder",
    "parquet file",
    "duckdb",
    "duckdb view",
    "sqlite",
    "sqlite, texts",
    "pandas",
    "pandas, typed",
    "pandas, objects",
    "pandas, categories",
    "arrow",
    "arrow, a stream",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_numbers(places, kind):
    found = sources.numbers(places[kind][0], SCHEMA, places[kind][1])
    assert list(found) == ["age", "loans", "fines"]
    for name, (low, high) in {"age": (4, 99), "loans": (0, 30), "fines": (0, 50)}.items():
        expected = pd.to_numeric(FRAME[name], errors="coerce").clip(low, high).to_numpy()
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_codes(places, kind):
    data, table = places[kind]
    sources.check(data, SCHEMA, table)
    read = sources.read(data, SCHEMA, table)
    assert read.domain == SCHEMA.domain
    assert (read.records == by_hand(FRAME)).all()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return the socket of a separate PostgreSQL server without a network."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("no PostgreSQL server is installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's name must be short
    alone = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if alone:
        shutil.chown(folder, "postgres")

    def call(program, *words):
        done = subprocess.run(
            [*alone, programs[-1] / program, "-D", folder / "data", *words], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    call("initdb", "--username=me", "--auth=trust", "--no-sync")
    call("pg_ctl", "--wait", "--log", folder / "log", "--options", f"-c listen_addresses='' -k {folder}", "start")
    try:
        yield folder
    finally:
        call("pg_ctl", "--wait", "--mode", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.mark.slow
def test_postgresql_gives_the_same_codes(server):
    import adbc_driver_postgresql.dbapi

    address = f"postgresql://me@/postgres?host={server}"
    with adbc_driver_postgresql.dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("members", pa.Table.from_pandas(typed(FRAME), preserve_index=False))
        cursor.execute("CREATE SCHEMA town")
        cursor.execute("CREATE TABLE town.members AS SELECT *, CAST(age AS numeric(6, 2)) AS exact FROM members")
        connection.commit()
    for table in ("members", "town.members"):
        assert (sources.read(address, SCHEMA, table).records == by_hand(FRAME)).all()
    with pytest.raises(ValueError, match="table 'nobody' cannot be read: "):
        sources.read(address, SCHEMA, "nobody")


def test_the_folders_of_a_partition_are_a_column(tmp_path):
    pyarrow.parquet.write_to_dataset(pa.table({"a": ["x", "y", "x"], "b": [7, 1, 3]}), tmp_path, partition_cols=["a"])
    assert sorted(sources.read(tmp_path, SMALL).records.tolist()) == [[0, 0], [0, 1], [1, 0]]


def write_parts(folder, parts):
    """Write Parquet files, with the folders that their names have, of the columns that each holds."""
    for name, columns in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(pa.table(columns), folder / name)
    return folder


@pytest.mark.parametrize(
    "parts, more",
    [
        # a folder's name that is no number, after two that could be
        ({"w=01/a.parquet": {"b": [1] * 40}, "w=02/a.parquet": {"b": [1] * 50}}, {"w=XX/a.parquet": {"b": [1]}}),
        # a first part of numbers, as others write them, that one record more makes texts
        ({"0.parquet": {"w": [1, 2]}, "1.parquet": {"w": ["01"] * 40}}, {"0.parquet": {"w": ["1", "2", "XX"]}}),
        # a whole number that one record more makes a fraction
        ({"0.parquet": {"w": [10**10, 2]}, "1.parquet": {"w": [2]}}, {"0.parquet": {"w": [1e10, 2.0, 2.5]}}),
    ],
)
def test_one_record_more_changes_how_no_other_is_read(tmp_path, parts, more):
    public = schema.parse("attributes: {w: {values: ['01', '02', '1', '2', '10000000000']}}")
    one, other = (
        sources.count(write_parts(tmp_path / name, files), public, 1).marginal(("w",))
        for name, files in (("one", parts), ("other", parts | more))
    )
    assert (other - one).tolist() == [0, 0, 0, 0, 0, 0, 1] and one[:5].sum() == one.sum()


COLUMNS = [
    "01",
    1,
    2.0,
    True,
    None,
    float("nan"),
    datetime.date(2001, 3, 2),
    pd.Timestamp(2001, 3, 2, 5),
    b"x",
    "2001-03-02",
]


@pytest.mark.slow
@given(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6), st.sampled_from(COLUMNS))
def test_one_value_more_in_a_frame_changes_how_no_other_is_read(values, more):
    """pandas gives a column one type, of all its values; a column of Python objects keeps each as it was."""
    public = schema.parse(
        "attributes: {w: {values: ['01', '1', '2', 'True']}, d: {dates: [2001-01-01, 2001-12-31], by: month, format: '%d/%m/%Y'},"
        " n: {range: [0, 9]}}"
    )

    def read(column):
        return sources.read(pd.DataFrame(dict.fromkeys("wdn", pd.Series(column, dtype=object))), public).records

    alone = np.concatenate([read([value]) for value in [*values, more]])
    assert (read([*values, more]) == alone).all()
    assert (read(values) == alone[:-1]).all()
    assert alone[-1, 1] == (2 if isinstance(more, datetime.date) else 12)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pd.DataFrame({"a": ["Ann Smith"]}), "data must have one column 'b', got none among 'a'"),
        (pd.DataFrame([["Ann Smith", 1, 2]], columns=["a", "b", "b"]), "data must have columns with different names"),
        (pd.DataFrame({"a": [[]], "b": [1]})[:0], "data must have at least one record"),
        (pa.table({"a": [["Ann Smith"]], "b": [1]}), "data, column 'a' must contain plain values"),
        (pd.DataFrame({"a": ["Ann Smith"], "b": [1 + 2j]}), "data, column 'b' must contain plain values, got "),
        (["Ann Smith"], r"data must be a path, an address, or a table in memory \(pandas, polars, Arrow\), got list"),
        (pd.Series(["Ann Smith"], name="a"), "got Series"),
        (np.array([["Ann Smith"]]), "got ndarray"),
        (None, "got NoneType"),
    ],
)
def test_a_frame_that_cannot_be_read_is_refused_without_its_records(data, said):
    with pytest.raises(ValueError, match=said) as refusal:
        sources.read(data, SMALL)
    assert "Smith" not in str(refusal.value) and "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="table must be left out for a table in memory, got 't'"):
        sources.read(data, SMALL, "t")


def test_a_part_that_lacks_a_column_is_refused_by_its_name(tmp_path):
    folder = write_parts(
        tmp_path, {"0.parquet": {"a": ["x"]}, "k=1/1.parquet": {"A": ["x"]}, "_notes/2.parquet": {"A": [1]}}
    )
    with pytest.raises(ValueError, match=r"k=1/1.parquet must have one column 'a', got none among 'A', 'k'"):
        sources.check(folder, schema.parse("attributes: {a: {values: [x, y]}}"))


def test_what_folders_are_called_is_text_and_gives_way_to_a_column(tmp_path):
    folder = write_parts(
        tmp_path,
        {"a=x%20y/b=5/0.parquet": {"c": [1, 2]}, "a=__HIVE_DEFAULT_PARTITION__/1.parquet": {"b": [7], "c": [1]}},
    )
    public = schema.parse("attributes: {a: {values: [x y]}, b: {range: [0, 9], bins: 2}, c: {values: ['1', '2']}}")
    assert sources.read(folder, public).records.tolist() == [[1, 1, 0], [0, 1, 0], [0, 1, 1]]
    assert sources.read(folder, schema.parse("attributes: {b: {range: [0, 9], bins: 2}}")).records.tolist() == [
        [1],
        [1],
        [1],
    ]


def test_numbers_count_as_what_they_are_in_a_column_of_any_type():
    public = schema.parse(
        "attributes: {v: {values: ['1', '10000000000', '2.5']}, n: {range: [0, 9], bins: 2}, d: {dates: [2001-01-01, 2002-12-31]}}"
    )
    value, number, date = public.attributes
    floats = [1.0, 1e10, 2.5, float("nan"), float("inf"), None, 1e300]
    assert sources.codes(value, pa.array(floats)).tolist() == [0, 1, 2, 3, 3, 3, 4]
    assert sources.codes(value, pa.chunked_array([floats[:2], floats[2:]])).tolist() == [0, 1, 2, 3, 3, 3, 4]
    assert sources.codes(value, pa.array([1, 10**10]).cast(pa.decimal128(30, 2))).tolist() == [0, 1]
    assert sources.codes(value, pa.array(["1.00", "v1.0", "inf"])).tolist() == [0, 4, 4]
    assert sources.codes(value, pa.array([1.0, 1e10], pa.float32()).dictionary_encode()).tolist() == [0, 1]
    assert sources.codes(number, pa.array(floats)).tolist() == [0, 1, 0, 2, 2, 2, 1]
    assert sources.codes(number, pa.array(["inf", "1e400"])).tolist() == [2, 1]
    assert sources.codes(date, pa.chunked_array([["2001-02-03"], ["2002-01-01", "x"]])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["csv", "parquet folder", "duckdb", "sqlite"])
def test_batches_are_codes_of_the_domain_in_the_smallest_type(places, kind):
    for batch in sources.batches(places[kind][0], SCHEMA, places[kind][1]):
        assert list(batch) == list(SCHEMA.domain.attributes)
        for name, column in batch.items():
            assert column.dtype == np.uint8 and column.max() < SCHEMA.domain.shape([name])[0]


def test_the_domain_is_the_schemas_whatever_the_records_hold(places, tmp_path):
    """A domain that is read off the records, planted below, is what this would find."""
    few = FRAME[FRAME.card == "child"].head(3)
    few.to_csv(tmp_path / "few.csv", index=False)
    assert (
        sources.read(tmp_path / "few.csv", SCHEMA).domain
        == sources.read(places["csv"][0], SCHEMA).domain
        == SCHEMA.domain
    )


@pytest.mark.slow
def test_a_long_csv_comes_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK", 1 << 20)
    path, n = tmp_path / "long.csv", 300_000
    path.write_text("a,b\n" + '"x\n\n\n\n\n\n\n\n",7\ny,2\n' * (n // 2))  # of cells of many lines, too
    sizes = [len(batch["a"]) for batch in sources.batches(path, MULTILINE)]
    assert sum(sizes) == n and max(sizes) < n / 2
    counts = sources.read(path, MULTILINE).marginal(("a", "b"))
    assert counts[0, 1] == counts[1, 0] == n // 2 == counts.sum() / 2


def test_columns_come_in_any_order_and_names_may_be_quoted(tmp_path):
    path = tmp_path / "o.csv"
    path.write_text('"b" ,"a"\n"7","y"\n\n2,"x\n"\n')
    assert sources.read(path, MULTILINE).records.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("rest", ["", "20,y\n", '20,"y"\n', "\n" * 3])
def test_a_quote_that_is_not_closed_is_no_end_of_the_table(tmp_path, rest):
    """Everything up to the next quote, or to the end, is one value: the records there must not be lost in silence."""
    path = tmp_path / "q.csv"
    path.write_text("a,b\nx,1\n" + 'x,"1\n' + "y,2\n" * 100 + rest)
    with pytest.raises(
        ValueError, match="q.csv, line 3 cannot be read, perhaps because a quotation mark is not closed: "
    ):
        sources.read(path, SMALL)


def test_line_ends_of_another_kind_hide_no_lost_record(tmp_path):
    path = tmp_path / "q.csv"
    path.write_bytes(b'a,b\nx,1\rx,1\rx,1\nx,1\nx,"1\ny,2\ny,2\n')
    with pytest.raises(ValueError, match="perhaps because a quotation mark is not closed"):
        sources.read(path, SMALL)


@pytest.mark.parametrize(
    "text",
    [
        b"a,b\r\nx,1\r\ny,7\r\n",
        b"a,b\rx,1\ry,7\r",
        b"\xef\xbb\xbfa,b\nx,1\ny,7",
        b"a,b\n\nx,1\n\n\ny,7\n\n",
        b'a,b,c\nx,1,"one\n\ntwo"\ny,7,"a ""word"""\n',
        b'a,b,c\nx,1,5" pipe\n\ny,7,\xe9\n\n',
        b"a,b,c\nx,1," + b"z" * 200_000 + b"\n\ny,7,z\n",
    ],
)
def test_what_was_read_without_a_doubt_is_read(tmp_path, text):
    path = tmp_path / "r.csv"
    path.write_bytes(text)
    assert sources.read(path, MULTILINE).records.tolist() == [[0, 0], [1, 1]]
    if b'"one' not in text:
        assert sources.read(path, SMALL).records.tolist() == [[0, 0], [1, 1]]


LONG = "z" * 200_000  # more than Python's csv module permits by itself


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_names_and_cells_may_be_long_and_have_line_breaks(tmp_path, separator):
    """A file that only a reader of whole records understands: the names of its columns may take several lines, too."""
    path, more = tmp_path / "l.csv", [f"column {i}" for i in range(50)]
    names, cells = ["a", "b", f"{LONG},\n\r\n;\t|", *more], [f"{LONG}\n\n{LONG}", *["0"] * len(more)]
    rows = [names, ["x", "1", *cells], ["y", "7", *cells]]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    assert sources.read(path, MULTILINE).records.tolist() == [[0, 0], [1, 1]]
    rows = [[cell.translate(dict.fromkeys(map(ord, "\r\n,;\t|"))) for cell in row] for row in rows]
    path.write_text("\n".join(map(separator.join, rows)))
    assert sources.read(path, SMALL).records.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("added", ['y",7', 'y","7"'])
def test_one_record_more_swallows_no_others(tmp_path, added):
    """If texts are not quoted, a text that begins with a quotation mark and one that ends with it enclose everything between them."""
    path, records = tmp_path / "m.csv", [*(f"x,{number % 10}" for number in range(100)), added]
    path.write_text("\n".join(["a,b", *records]))
    assert len(sources.read(path, SMALL)) == 101
    path.write_text("\n".join(["a,b", '"y,7', *records]))
    assert len(sources.read(path, MULTILINE)) == 1
    with pytest.raises(ValueError, match="m.csv, line 2 must contain a whole record, but an extra quotation mark"):
        sources.read(path, SMALL)


@pytest.mark.slow
def test_a_refused_file_of_many_blocks_leaves_the_interpreter_whole(tmp_path):
    """No thread may call back into an interpreter that ends."""
    path = tmp_path / "l.csv"
    path.write_text("a,b\n" + "x,1\n" * 200_000 + "x\n" + "y,2\n" * 3_000_000)
    script = f"""
from lib.release import schema, sources
try:
    sources.read({str(path)!r}, schema.parse("attributes: {{a: {{values: [x, y]}}, b: {{range: [0, 9], bins: 2}}}}"))
except ValueError as error:
    print(error)
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert done.returncode == 0 and "line 200002 must have 2 cells" in done.stdout and not done.stderr


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6)


@pytest.mark.slow
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_what_a_csv_file_holds_is_what_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("drawn") / "d.csv"
    drawn = pd.DataFrame(rows, columns=["a", "b"])
    drawn.to_csv(path, index=False, quoting=1, encoding="utf-8", lineterminator="\n")
    expected = np.stack(
        [sources.codes(each, pa.array(drawn[each.name].tolist(), pa.string())) for each in SMALL.attributes], axis=1
    )
    assert (sources.read(path, MULTILINE).records == expected).all()


@pytest.mark.parametrize("last", ["f", 7.5, 7, None])
@pytest.mark.parametrize("declared", ["", "TEXT", "INTEGER", "REAL"])
def test_no_type_is_guessed_from_records_without_a_value(tmp_path, declared, last):
    with sqlite3.connect(tmp_path / "n.db") as connection:
        connection.execute(f"CREATE TABLE t (a {declared})")
        connection.executemany("INSERT INTO t VALUES (?)", [(None,)] * 5_000 + [(last,)])
    public = schema.parse("attributes: {a: {values: [f, '7.5', '7']}}")
    expected = {"f": 0, 7.5: 1, 7: 2, None: 3}[last]
    assert sources.read(f"sqlite:///{tmp_path}/n.db", public, "t").marginal(["a"]).tolist() == [
        5_000 * (code == 3) + (code == expected) for code in range(5)
    ]


def test_a_table_without_records_is_told(tmp_path):
    with sqlite3.connect(tmp_path / "n.db") as connection:
        connection.execute("CREATE TABLE t (a, b)")
    with pytest.raises(ValueError, match="n.db must have at least one record"):
        sources.read(f"sqlite:///{tmp_path}/n.db", SMALL, "t")


BLANKS = schema.parse("""
blanks: ["-9", "999.0", NA]
attributes: {age: {range: [0, 120], bins: [0, 18, 65]}, code: {values: ['1', '2']}}
""")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["-9", "999", "-9.0", "NA", "30", "1"]),
        pa.array([-9, 999, -9, None, 30, 1]),
        pa.array([-9.0, 999.0, -9.0, None, 30.0, 1.0]),
        pa.array([-9, 999, -9, None, 30, 1]).cast(pa.decimal128(30, 2)),
        pa.array([-9, 999, -9, None, 30, 1]).dictionary_encode(),
    ],
    ids=["texts", "whole", "floats", "decimals", "dictionary"],
)
def test_what_stands_for_a_missing_value_does_so_in_a_column_of_any_type(column):
    age, code = BLANKS.attributes
    assert sources.codes(age, column, BLANKS.blanks).tolist() == [3, 3, 3, 3, 1, 0]
    assert sources.codes(code, column, BLANKS.blanks).tolist() == [2, 2, 2, 2, 3, 0]


@pytest.mark.slow
@pytest.mark.parametrize("truths", ["[True, False]", "['true', 'false']", "[1, 0]", "[1.0, 0.00]"])
@pytest.mark.parametrize("numbers", ["[1, 2]", "[1.0, 2.0]"])
def test_a_value_is_one_however_a_source_writes_it(tmp_path, truths, numbers):
    """A schema is written from a codebook, which does not know as what type a program stores 1, or true."""
    public = schema.parse(f"attributes: {{t: {{values: {truths}}}, n: {{values: {numbers}}}}}")
    expected = [[0, 0], [1, 1], [2, 2], [0, 3]]
    frame = pd.DataFrame({"t": [True, False, None, True], "n": [1, 2, None, 2.5]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    types = {"bool": pa.bool_(), "whole": pa.int8(), "double": pa.float64(), "fixed": pa.decimal128(9, 3)}
    columns = {
        "t": [pa.array(frame.t.tolist(), pa.bool_()).cast(types[each]) for each in ("bool", "whole", "double")],
        "n": [pa.array([1, 2, None, 2.5], pa.float64()).cast(types[each]) for each in ("double", "fixed")],
    }
    data = [(tmp_path / "t.csv", "")]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as duck, sqlite3.connect(tmp_path / "t.db") as lite:
        for i, (t, n) in enumerate((t, n) for t in columns["t"] for n in columns["n"]):
            arrow = pa.table({"t": t, "n": n})
            pa.parquet.write_table(arrow, tmp_path / f"{i}.parquet")
            duck.register("arrow", arrow)
            duck.sql(f"CREATE TABLE t{i} AS FROM arrow")
            data += [(tmp_path / f"{i}.parquet", ""), (tmp_path / "t.duckdb", f"t{i}")]
        lite.execute("CREATE TABLE t (t BOOLEAN, n REAL)")
        lite.executemany("INSERT INTO t VALUES (?, ?)", zip(columns["t"][0].to_pylist(), columns["n"][0].to_pylist()))
    lite.close()
    for each, table in [*data, (f"sqlite:///{tmp_path}/t.db", "t")]:
        assert sources.read(each, public, table).records.tolist() == expected, (each, table)


def test_numbers_have_one_spelling_in_a_column_of_numbers_and_codes_have_many():
    (price,) = schema.parse("attributes: {p: {values: [2.50, 1e3, '01', '3.1', '3.10', '-0.0']}}").attributes
    numbers = [2.5, 1000, 1, 3.1, 0]
    for column in (pa.array(numbers), pa.array(numbers, pa.float32()), pa.array(numbers).cast(pa.decimal128(30, 6))):
        assert sources.codes(price, column).tolist() == [0, 1, 7, 3, 5]
    assert sources.codes(price, pa.array(["2.50", "2.5", "1000", "1", "01", "3.1", "3.10"])).tolist() == [
        0, 7, 7, 7, 2, 3, 4,
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"line 1, column 30: values of 'p' must be distinct strings \(1.0 equals 1\)"):
        schema.parse("attributes: {p: {values: [1, 1.0]}}")
    (stated,) = schema.parse("attributes: {p: {values: [1.0, 2], unseen: 1, missing: 2.0}}").attributes
    assert sources.codes(stated, pa.array(["1", "2", "3", None])).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "said, column, wanted",
    [
        ("values: ['yes', 'no']", pa.array([True, None]), "the values that the schema lists, got the type bool"),
        ("values: ['01', '02']", pa.array([1, 2]), "the values that the schema lists, got the type int64"),
        ("values: [low, high]", pa.array([1.5]), "the values that the schema lists, got the type double"),
        (
            "values: [low, high]",
            pa.array([1], pa.date32()),
            r"the values that the schema lists, got the type date32\[day\]",
        ),
        ("range: [0, 9]", pa.array([True]), "numbers, got the type bool"),
        ("range: [0, 9]", pa.array([1], pa.timestamp("s")), r"numbers, got the type timestamp\[ms\]"),
        ("dates: [2001-01-01, 2002-01-01]", pa.array([1], pa.time32("s")), r"dates, got the type time32\[ms\]"),
    ],
)
def test_a_type_that_has_none_of_the_values_is_refused_before_anything_is_counted(tmp_path, said, column, wanted):
    """Every record would become `other` or missing, which the noisy counts would tell after the budget is spent."""
    public = schema.parse(f"attributes: {{v: {{{said}}}}}")
    pa.parquet.write_table(pa.table({"v": column}), tmp_path / "v.parquet")
    with pytest.raises(ValueError, match=f"v.parquet, column 'v' must contain {wanted}, which holds other values"):
        sources.check(tmp_path / "v.parquet", public)
    pa.parquet.write_table(pa.table({"v": pa.nulls(3)}), tmp_path / "v.parquet")  # no value is of no type
    assert sources.read(tmp_path / "v.parquet", public).records.tolist() == [[public.attributes[0].missing]] * 3


def test_a_moment_is_a_listed_day():
    (day,) = schema.parse("attributes: {d: {values: [2001-01-01, 2001-01-02]}}").attributes
    for unit in ("s", "ns"):
        moments = (
            pa.array([11323 * 86400, 11324 * 86400, 11324 * 86400 + 1]).cast(pa.timestamp("s")).cast(pa.timestamp(unit))
        )
        assert sources.codes(day, moments).tolist() == [0, 1, 3]


def test_no_type_is_guessed_from_the_first_records(tmp_path):
    """Numbers come first and a text far below; it counts as missing or as a value, as the schema says."""
    rows = [("x", number % 10) for number in range(5_000)] + [("y", "many"), ("7", 7.5)]
    frame = pd.DataFrame(rows, columns=["b", "a"])[["a", "b"]].rename(columns={"a": "b", "b": "a"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    for data, table in ((tmp_path / "t.csv", ""), (f"sqlite:///{tmp_path}/t.db", "t")):
        found = sources.read(data, SMALL, table).records.tolist()
        assert found[:10] == [[0, 0]] * 5 + [[0, 1]] * 5 and found[-2:] == [[1, 2], [3, 1]]


# ---- what may be wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "t.csv, line 1 must name the columns, got an empty line"),
        (b"\n\n", "t.csv, line 1 must name the columns, got an empty line"),
        (b"a,b\n", "t.csv must have at least one record"),
        (b"a,c\nx,1\n", "t.csv, line 1, must have one column 'b', got none among 2 names"),
        (b"a,b,a\nx,1,y\n", "t.csv, line 1, must have one column 'a', got 2 among 3 names"),
        (b"x,1\ny,2\n", "t.csv, line 1, must have one column 'a', got none among 2 names"),
        (b"a,b\nx,1\ny\n", "t.csv, line 3 must have 2 cells like the first line, got 1"),
        (b"a,b\nx,1\ny,2,3\n", "t.csv, line 3 must have 2 cells like the first line, got 3"),
        (b'a,b\n"x\ny",1\n\nz\n', "t.csv, line 5 must have 2 cells like the first line, got 1"),
        (b"a;b\nx;1\ny\n", "t.csv, line 3 must have 2 cells like the first line, got 1"),
        (b"a,b\nx,1\nb\xe4h,2\n", "t.csv, line 3, column 'a' must be UTF-8 text"),
        (b"a,b\nx,1\nx,\xff\n", "t.csv, line 3, column 'b' must be UTF-8 text"),
        (b"\xe4,a,b\n1,x,1\n", "t.csv, line 1 must be UTF-8 text"),
        ("a,b\nx,1\n".encode("utf-16"), "t.csv, line 1 must be UTF-8 text"),
        (b'a,b,"c\nd"\nx,1,2\n', "t.csv, line 1 must contain the names of all columns, but an extra quotation mark"),
        (b'a,b,"c\nx,1,2\n', "t.csv, line 1 must contain the names of all columns, but an extra quotation mark"),
        (b"a,b\nx,1\n" + b"x," * 4_500_000 + b"\n", "t.csv, line 3 must have 2 cells like the first line, got 4500001"),
        (
            b"a,b\nx,1\n" + b"x" * 5_000_000 + b"," + b"1" * 5_000_000 + b"\n",
            "t.csv, line 3 must hold a record of less than 4 MiB",
        ),
        (
            b"a,b\nx,1\n" + b"x" * 9_000_000 + b",1\n",
            "t.csv, line 3 cannot be read, perhaps because a quotation mark is not closed: field larger than field limit",
        ),
    ],
)
def test_a_bad_csv_file_gets_a_sentence_with_its_place(tmp_path, content, said):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError) as refusal:
        sources.read(path, SMALL)
    assert said in str(refusal.value) and str(refusal.value).startswith(str(path)) and "\n" not in str(refusal.value)


def test_text_among_numbers_is_missing_and_no_error(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nx,many\n,\nz,-4\n")
    assert sources.read(tmp_path / "t.csv", SMALL).records.tolist() == [[0, 2], [2, 2], [3, 0]]


def test_a_bad_source_gets_a_sentence(places, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    (tmp_path / "t.duckdb").write_bytes(b"no database" * 2000)
    (tmp_path / "t.db").write_bytes(b"no database" * 2000)
    (tmp_path / "t.csv.gz").write_bytes(b"a,b\n")
    (tmp_path / "nothing").mkdir()
    nested = pa.table({"a": [["x"], ["y"]], "b": [1, 2]})
    pa.parquet.write_table(nested, tmp_path / "nested.parquet")
    pa.parquet.write_table(nested.rename_columns(["a", "c"]), tmp_path / "other.parquet")
    pa.parquet.write_table(pa.table({"a": [b"\xff"], "b": [1]}), tmp_path / "bytes.parquet")
    lib, sqlite = places["duckdb"][0], places["sqlite"][0]
    cases = [
        (tmp_path / "none.csv", "", "data must be an existing file or folder, or an address, got '"),
        (tmp_path / "t.parquet", "", "t.parquet cannot be read as Parquet: "),
        (tmp_path / "nothing", "", "nothing must contain Parquet files, got none"),
        (tmp_path / "nested.parquet", "", "nested.parquet, column 'a' must contain plain values, such as numbers or UTF-8 text, got the type "),
        (tmp_path / "bytes.parquet", "", "bytes.parquet, column 'a' must contain plain values, such as numbers or UTF-8 text, got the type "),
        (tmp_path / "other.parquet", "", "other.parquet must have one column 'b', got none among 'a', 'c'"),
        (tmp_path / "t.csv.gz", "", "t.csv.gz cannot be read: "),
        (tmp_path / "t.duckdb", "t", "t.duckdb, table 't' cannot be read: "),
        (tmp_path / "t.duckdb", "", "table must name one of the tables of "),
        (lib, "nobody", "lib.duckdb, table 'nobody' cannot be read: "),
        (lib, 'x" WHERE 1=1; --', "cannot be read: "),
        (lib, "town.members", "lib.duckdb, table 'town.members', must have one column 'a', got none among 'card', 'age'"),
        (sqlite, "nobody", "lib.db, table 'nobody' cannot be read: "),
        (sqlite, "members", "lib.db, table 'members', must have one column 'a', got none among 'card', 'age'"),
        (f"sqlite:///{tmp_path}/t.db", "t", "t.db, table 't' cannot be read: "),
        (f"sqlite:///{tmp_path}/none.db", "t", "data must be the address of an existing SQLite file, got sqlite:///"),
        ("mysql://host/people", "t", "data must be a file, a folder or an address of sqlite, postgresql, postgres, got mysql://"),
        ("postgresql://me:secret@127.0.0.1:1/people", "t", "postgresql://me@127.0.0.1:1/people, table 't' cannot be read: "),
        (places["csv"][0], "t", "members.csv, got 't': the file is not a database"),
    ]  # fmt: skip
    for data, table, said in cases:
        with pytest.raises(ValueError) as refusal:
            sources.read(data, SMALL, table)
        assert said in str(refusal.value) and "\n" not in str(refusal.value) and "secret" not in str(refusal.value), (
            str(refusal.value)
        )
    assert not (tmp_path / "none.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("table", ["pa", "np", "names", "data", "table", "duckdb", "a.parquet", "far/a.parquet"])
def test_a_table_is_one_of_the_database_and_nothing_else(tmp_path, monkeypatch, table):
    """DuckDB would also read the variables of the program that calls it, and files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "far").mkdir()
    for name in ("a.parquet", "far/a.parquet"):
        pa.parquet.write_table(pa.table({"a": ["x"], "b": [1]}), name)
    with duckdb.connect("t.duckdb") as connection:
        connection.sql("CREATE TABLE t AS SELECT 'x' AS a, 1 AS b")
    assert sources.read("t.duckdb", SMALL, "main.t").records.tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="cannot be read: Catalog Error: Table with name .* does not exist!$"):
        sources.read("t.duckdb", SMALL, table)


def test_no_message_quotes_a_record(tmp_path):
    secret, other = "Anna Smith", "HIV"
    frame = pd.DataFrame({"a": [secret] * 3, "b": [other] * 3})
    csv_files = {
        "no header": f"{secret},{other}\n",
        "no header, latin-1": f"{secret} \xe4,{other}\n".encode("latin-1"),
        "no header, quoted": f'"{secret}\n","{other}"\n',
        "cells": f"a,b\n{secret},{other},1\n",
        "latin-1": f"a,b\n{secret} \xe4,{other}\n".encode("latin-1"),
        "quote": f'a,b\n"{secret},{other}\n',
        "quotes": f'a,b\n"{secret}"x,{other}\n"{secret}\n",1\n',
        "long": f"a,b\n{secret * 999_999},{other}\n",
        "header": f'a,b,"\n{secret},{other},1\n',
        "ends": f"a,b\r{secret},{other}\n\n{secret}\r",
    }
    given = [
        (frame.assign(b=1 + 2j), ""),
        (pa.table({"a": [[secret]], "b": [other]}), ""),
        (frame.to_dict(), ""),
        (frame.to_csv(), ""),
        (frame.to_csv() * 999, ""),
    ]
    for name, text in csv_files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        given.append((tmp_path / name, ""))
    for name, column in {"bytes": [secret.encode() + b"\xff"], "list": [[secret]], "struct": [{"of": secret}]}.items():
        pa.parquet.write_table(pa.table({"a": column, "b": [other]}), tmp_path / f"{name}.parquet")
        given.append((tmp_path / f"{name}.parquet", ""))
    whole = (tmp_path / "bytes.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:60] + whole[70:])
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection, sqlite3.connect(tmp_path / "t.db") as lite:
        connection.sql(
            f"CREATE TABLE t AS SELECT '{secret}' AS a; CREATE VIEW v AS SELECT CAST(a AS integer) AS a, 1 AS b FROM t"
        )
        lite.execute("CREATE TABLE t (a, b)")
        lite.execute("INSERT INTO t VALUES (?, ?)", (secret.encode() + b"\xff", other))
    lite.close()
    given += [(tmp_path / "cut.parquet", ""), (tmp_path / "t.duckdb", "v"), (f"sqlite:///{tmp_path}/t.db", "t")]
    refused = 0
    for data, table in given:
        for public in (SMALL, MULTILINE):
            try:
                sources.read(data, public, table)
            except ValueError as refusal:
                refused += 1
                assert not re.search("Anna|Smith|HIV", str(refusal)) and len(str(refusal).splitlines()) == 1, refusal
    assert refused >= 2 * len(given) - 2


@pytest.mark.parametrize(
    "address",
    [
        *(f"postgresql://me:SE{letter}CRET@127.0.0.1:1/db" for letter in "/?#@:%[] "),
        *("postgres://:SECRET@127.0.0.1:1/db", "postgresql://me:SE%2FCRET@127.0.0.1:1/db"),
        *(f"postgresql://127.0.0.1:1/db?user=u&{name}=SE/CRET" for name in ("password", "PassWord", "sslpassword")),
        *("postgresql://127.0.0.1:1/db?password=SE%CRET", "postgresql+psycopg://me:SE/CRET@h/db", " postgresql://me:SECRET@h/db"),
        *("jdbc:postgresql://me:SE/CRET@h/db", "postgresql:/me:SECRET@h/db", "host=h password=SECRET"),
    ],
)  # fmt: skip
def test_no_message_shows_a_password(address):
    for table in ("t", ""):
        with pytest.raises(ValueError) as refusal:
            sources.read(address, SMALL, table)
        assert not re.search("SE|CRET", str(refusal.value))


def test_numbers_that_are_lists_get_a_sentence(tmp_path):
    pa.parquet.write_table(pa.table({"a": ["x"], "b": [[1]]}), tmp_path / "nested.parquet")
    with pytest.raises(
        ValueError,
        match="nested.parquet, column 'b' must contain plain values, such as numbers or UTF-8 text, got the type list",
    ):
        sources.numbers(tmp_path / "nested.parquet", SMALL)


def test_a_locked_duckdb_file_gets_a_sentence(places, tmp_path):
    path = tmp_path / "busy.duckdb"
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(ValueError, match="busy.duckdb, table 't' cannot be read: IO Error: Could not set lock"):
            sources.read(path, SMALL, "t")
        holder.stdin.close()


def test_the_example_is_made_up_and_its_schema_is_the_codebooks():
    made = made_up.library_members(rng=np.random.default_rng(2026)).to_csv(index=False, lineterminator="\n")
    assert (EXAMPLE / "members.csv").read_text(encoding="utf-8") == made
    named = (EXAMPLE / "schema.yml").read_text(encoding="utf-8")  # a codebook does not name its table
    assert named.replace("name: Members of a library (simulated)\n", "") == schema.template(EXAMPLE / "codebook.csv")


def test_counted_batch_by_batch_the_records_are_those_that_are_read(tmp_path, monkeypatch):
    """AIM, with a seed, then gives the same result."""
    monkeypatch.setattr(sources, "ROWS", 64)
    public = schema.parse("attributes: {a: {values: [x, y]}, b: {range: [0, 9], bins: 3}, c: {values: [p, q, r]}}")
    rng = np.random.default_rng(5)
    columns = {"a": rng.choice(["x", "y", "z"], 500), "b": rng.integers(-2, 12, 500), "c": rng.choice(list("pqr"), 500)}
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = sources.read(tmp_path / "t.parquet", public)
    counted = sources.count(tmp_path / "t.parquet", public, 2)
    assert len(counted) == len(table) == 500
    for names in (("a",), ("c", "b"), ("b", "a")):
        assert (counted.marginal(names) == table.marginal(names)).all()
    one, other = (aim(each, 1.0, 1e-6, 2, rng=np.random.default_rng(1)) for each in (table, counted))
    assert (one.synthetic.records == other.synthetic.records).all()
    pa.parquet.write_table(pa.table({name: each[:0] for name, each in columns.items()}), tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="must have at least one record"):
        sources.count(tmp_path / "none.parquet", public, 2)


def test_a_file_that_is_another_than_its_name_says_is_told_what_it_is(places, tmp_path):
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    shutil.copyfile(places["duckdb"][0], tmp_path / "people.dat")
    text = gzip.compress(b"a,b\n" + b"".join(b"x,%d\n" % (i * i % 97) for i in range(200_000)))
    (tmp_path / "cut.csv.gz").write_bytes(text[: len(text) // 2])
    (tmp_path / "header.csv").write_text("a,b")
    address = "postgresql://127.0.0.1:1/db?user=u&password=secret"
    cases = [
        (tmp_path / "people.db", "", "is an SQLite file; give its address, such as sqlite:///people.db, and the table"),
        (tmp_path / "people.db", "t", "must be left out for"),
        (tmp_path / "people.dat", "", "is a DuckDB file; rename it so that it ends in .duckdb"),
        (tmp_path / "cut.csv.gz", "", "cut.csv.gz cannot be read: "),
        (tmp_path / "header.csv", "", "header.csv must have at least one record below the column names"),
        (
            "http://a.b/people.csv",
            "",
            "data must be a file, a folder or an address of sqlite, postgresql, postgres, got http://",
        ),
        (address, "", "table must name one of the tables of postgresql://127.0.0.1:1/db?user=u&password=..., got none"),
        (address, "t", "password=..., table 't' cannot be read"),
    ]
    for data, table, said in cases:
        with pytest.raises(ValueError) as refusal:
            sources.read(data, SMALL, table)
        assert said in str(refusal.value) and "\n" not in str(refusal.value) and "secret" not in str(refusal.value), (
            said
        )
