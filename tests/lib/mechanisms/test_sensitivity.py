"""`sensitivity`: every formula against all tables of a small domain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.mechanisms import sensitivity
from lib.mechanisms.sensitivity import brute_force

properties = settings(derandomize=True, deadline=None, max_examples=40)
relations = pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
ends = st.tuples(st.integers(-20, 20), st.integers(1, 30)).map(lambda pair: (pair[0] / 2, pair[0] / 2 + pair[1] / 4))


@relations
@properties
@given(ends, st.integers(1, 4))
def test_sum(neighbours, interval, n):
    low, high = interval
    found = brute_force(lambda table: sum(table), [low, (low + high) / 2, high], n, neighbours=neighbours)
    assert found.value == pytest.approx(sensitivity.of_sum(low, high, neighbours))


@relations
@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_count_and_histogram(neighbours, norm):
    cells = [0, 1, 2, 3]
    counted = brute_force(lambda table: sum(x > 1 for x in table), cells, 4, neighbours=neighbours)
    assert counted.value == 1
    histogram = brute_force(
        lambda t: np.bincount(np.array(t, dtype=int), minlength=4), cells, 4, neighbours=neighbours, norm=norm
    )
    assert histogram.value == pytest.approx(sensitivity.of_histogram(norm, neighbours))


@properties
@given(ends, st.integers(1, 6))
def test_mean_with_n_public(interval, n):
    low, high = interval
    found = brute_force(np.mean, [low, (low + high) / 2, high], n, neighbours="bounded")
    assert found.value == pytest.approx(sensitivity.of_mean(low, high, n, neighbours="bounded"))


@properties
@given(ends, st.integers(1, 5))
def test_mean_with_n_private(interval, n):
    low, high = interval
    middle = brute_force(lambda t: np.mean(t) if t else (low + high) / 2, [low, high], n, neighbours="unbounded")
    assert middle.value == pytest.approx((high - low) / 2) == sensitivity.of_mean(low, high, neighbours="unbounded")


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_from_a_table_of_n_records_the_mean_moves_as_if_n_were_public(n):
    tables = [(0,) * (n - ones) + (1,) * ones for ones in range(n + 1)]
    empty, moved = 0.5, 0.0
    for table in tables:
        others = [(*table, 0), (*table, 1), *(table[:i] + table[i + 1 :] for i in range(n))]
        moved = max(moved, *(abs(np.mean(table) - (np.mean(other) if other else empty)) for other in others))
    assert moved == pytest.approx(sensitivity.of_mean(0, 1, n, neighbours="unbounded"))
    assert moved == pytest.approx(1 / n if n > 1 else 0.5)


def test_the_witness_is_a_pair_of_neighbours_that_far_apart():
    value, first, second = brute_force(np.ptp, [0, 1, 5], 3, neighbours="bounded")
    assert value == 5 == abs(np.ptp(first) - np.ptp(second)) and len(first) == len(second) == 3
    assert sum(a != b for a, b in zip(sorted(first), sorted(second))) == 1
    value, first, second = brute_force(sum, [-3, 2], 3, neighbours="unbounded")
    assert value == 3 and second == (*first, -3)


@pytest.mark.parametrize("name, call", [
    ("neighbours", lambda: sensitivity.of_sum(0, 1, None)),
    ("neighbours", lambda: sensitivity.of_histogram(1, "edges")),
    ("norm", lambda: sensitivity.of_histogram(3)),
    ("low", lambda: sensitivity.of_sum(1, 1)),
    ("low", lambda: sensitivity.of_sum(-np.inf, 1)),
    ("high", lambda: sensitivity.of_mean(0, np.nan, 3, neighbours="bounded")),
    ("n must be an integer", lambda: sensitivity.of_mean(0, 1, neighbours="bounded")),
    ("n must be", lambda: sensitivity.of_mean(0, 1, 0, neighbours="bounded")),
    ("n must be", lambda: sensitivity.of_mean(0, 1, 2.5, neighbours="unbounded")),
    ("domain", lambda: brute_force(sum, [1], 2, neighbours="bounded")),
    ("n must be", lambda: brute_force(sum, [0, 1], 0, neighbours="bounded")),
    ("norm", lambda: brute_force(sum, [0, 1], 2, neighbours="bounded", norm=0)),
    ("neighbours", lambda: brute_force(sum, [0, 1], 2, neighbours="any")),
])  # fmt: skip
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
