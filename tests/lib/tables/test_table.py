"""`table` against counting by hand, and its refusals."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.tables.table import Domain, Table

DOMAIN = Domain({"sex": 2, "age": 5, "city": 300}, labels={"sex": ["female", "male"]})


def some_table(n=1000, domain=DOMAIN, seed=1):
    rng = np.random.default_rng(seed)
    return Table(np.stack([rng.integers(size, size=n) for size in domain.sizes], axis=1), domain)


# ------------------------------------------------------------------- domains


def test_a_domain_knows_its_attributes_and_cells():
    assert DOMAIN.attributes == ("sex", "age", "city") and DOMAIN.sizes == (2, 5, 300)
    assert DOMAIN.size() == 3000 and DOMAIN.size(["city", "sex"]) == 600 and DOMAIN.size([]) == 1
    assert DOMAIN.axes(["city", "sex"]) == (2, 0) and DOMAIN.shape(["city", "sex"]) == (300, 2)
    assert DOMAIN.values("sex") == ("female", "male") and DOMAIN.values("age") == (0, 1, 2, 3, 4)
    assert len(DOMAIN) == 3


def test_a_projected_domain_keeps_order_and_labels():
    projected = DOMAIN.project(["age", "sex"])
    assert projected == Domain([("age", 5), ("sex", 2)], {"sex": ["female", "male"]})
    assert projected != Domain({"age": 5, "sex": 2}) and projected != DOMAIN.project(["sex", "age"])


def test_a_domain_is_immutable_hashable_and_pickles():
    with pytest.raises(AttributeError):
        DOMAIN.sizes = (1, 2, 3)
    copy = pickle.loads(pickle.dumps(DOMAIN))
    assert copy == DOMAIN and hash(copy) == hash(DOMAIN)


def test_a_domain_from_labels():
    assert Domain.from_labels({"sex": "fm"}) == Domain({"sex": 2}, {"sex": ["f", "m"]})


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Domain({}), "domain must not be empty"),
        (lambda: Domain([("a", 2), ("a", 3)]), "'a' twice"),
        (lambda: Domain({"a": 0}), r"size of 'a' must be in \[1, inf\), got 0"),
        (lambda: Domain({"a": 2.5}), "size of 'a' must be an integer"),
        (lambda: Domain({"a": 2}, {"a": ["x"]}), "labels of 'a' must be 2 values, got 1"),
        (lambda: Domain({"a": 2}, {"a": ["x", "x"]}), "got 'x' twice"),
        (lambda: Domain({"a": 2}, {"b": ["x", "y"]}), "got 'b'"),
        (lambda: DOMAIN.axes(["age", "height"]), "must be among 'sex', 'age', 'city', got 'height'"),
        (lambda: DOMAIN.project(["age", "age"]), "'age' twice"),
        (lambda: DOMAIN.size("age"), "sequence of attributes, got the string 'age'"),
    ],
)
def test_bad_domains_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -------------------------------------------------------------------- tables


@pytest.mark.slow
@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_marginals_equal_counting_one_by_one(data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    domain = Domain({f"x{axis}": size for axis, size in enumerate(sizes)})
    records = data.draw(st.lists(st.tuples(*[st.integers(0, size - 1) for size in sizes]), min_size=1, max_size=20))
    axes = data.draw(st.permutations(range(len(sizes))))[: data.draw(st.integers(0, len(sizes)))]
    expected = np.zeros([sizes[axis] for axis in axes])
    for record in records:
        expected[tuple(record[axis] for axis in axes)] += 1
    attributes = [f"x{axis}" for axis in axes]
    table = Table(np.array(records), domain)
    assert np.array_equal(table.marginal(attributes), expected)
    if attributes:
        assert np.array_equal(table.project(attributes).marginal(attributes), expected)


def test_columns_are_small_and_read_only():
    table = some_table()
    assert table.column("age").dtype == np.uint8 and table.column("city").dtype == np.uint16
    with pytest.raises(ValueError, match="read-only"):
        table.column("age")[0] = 3


def test_projection_keeps_each_record():
    table = some_table()
    assert np.array_equal(table.project(["city", "sex"]).records, table.records[:, [2, 0]])


def test_frames_round_trip():
    table = some_table()
    frame = table.to_frame()
    assert set(frame["sex"]) == {"female", "male"} and frame["age"].between(0, 4).all()
    again = Table.from_frame(frame[["city", "sex", "age"]].assign(more=1), DOMAIN)
    assert np.array_equal(again.records, table.records)


def frame(**columns):
    return pd.DataFrame({"sex": ["male", "female"], "age": [0, 4], "city": [7, 299]} | columns)


@pytest.mark.parametrize(
    "bad, message",
    [
        (frame(sex=["male", "unknown"]), "column 'sex' must contain values of the domain, got 'unknown'"),
        (frame(sex=["male", None]), "column 'sex' must have no missing value, got one in record 1"),
        (frame(age=[0, 5]), r"column 'age' must contain codes in \[0, 5\), got 5"),
        (frame(age=[0.0, np.nan]), "column 'age' must have no missing value"),
        (frame(age=[0, 1.5]), "column 'age' must be an integer"),
        (frame(age=["a", "b"]), "column 'age' must be a number"),
        (frame().drop(columns="age"), "one column 'age', got none"),
        (pd.concat([frame(), frame()[["age"]]], axis=1), "one column 'age', got 2"),
        (frame().iloc[:0], "frame must not be empty"),
    ],
)
def test_bad_frames_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        Table.from_frame(bad, DOMAIN)


@pytest.mark.parametrize(
    "records, message",
    [
        (np.zeros((0, 3), int), "records must not be empty"),
        (np.zeros((4, 2), int), r"shape \(n, 3\), got \(4, 2\)"),
        ([[0, 0, 300]], r"column 'city' must contain codes in \[0, 300\), got 300"),
        ([[-1, 0, 0]], "column 'sex'.*got -1"),
        ([[0, 0.5, 0]], "column 'age' must be an integer"),
        ([[0, np.nan, 0]], "column 'age' must be in"),
    ],
)
def test_bad_records_are_refused(records, message):
    with pytest.raises(ValueError, match=message):
        Table(records, DOMAIN)


def test_unknown_attributes_are_refused():
    with pytest.raises(ValueError, match="got 'height'"):
        some_table().marginal(["height"])
    with pytest.raises(ValueError, match="'age' twice"):
        some_table().marginal(["age", "age"])
