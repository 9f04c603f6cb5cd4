"""`counter`: records in batches give the same counts as a table, and an error says what is wrong with a batch."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.release import counter as counting
from lib.release.counter import Counter
from lib.tables.adaptive_iterative import aim
from lib.tables.plan import Plan
from lib.tables.table import Domain, Table

DOMAIN = Domain({"a": 3, "b": 4, "c": 300, "d": 2, "e": 1})
RECORDS = np.random.default_rng(4).integers(DOMAIN.sizes, size=(50_000, 5))
TABLE = Table(RECORDS, DOMAIN)


def columns(records, kind=np.int64):
    return {name: records[:, v].astype(kind) for v, name in enumerate(DOMAIN.attributes)}


def counted(records=RECORDS, workload=2, **options):
    counter = Counter(DOMAIN, workload, **options)
    counter.add(columns(records))
    return counter


def assert_same(counter, table, k):
    assert len(counter) == len(table)
    for size in range(k + 1):
        for names in itertools.permutations(DOMAIN.attributes, size):
            found = counter.marginal(names)
            assert found.dtype == np.int64 and np.array_equal(found, table.marginal(names))


# ---- counts


@pytest.mark.parametrize("together", [1, 100, 2**14])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_counts_are_those_of_a_table_however_they_are_grouped(k, together, monkeypatch):
    monkeypatch.setattr(counting, "_TOGETHER", together)
    counting._blocks.cache_clear()
    assert_same(counted(workload=k), TABLE, k)
    counting._blocks.cache_clear()


@given(st.lists(st.integers(0, 300), max_size=5), st.integers(1, 300), st.integers(0, 5))
@settings(max_examples=25)
def test_batches_and_merged_parts_give_the_counts_of_the_whole(cuts, total, merged_at):
    """This holds for batches of any length, 0 included, and for any type of the codes."""
    parts, one, other = np.split(RECORDS[:total], sorted(cuts)), Counter(DOMAIN), Counter(DOMAIN)
    for number, part in enumerate(parts):
        (one if number < merged_at else other).add(columns(part, (np.uint16, np.int32, ">i8")[number % 3]))
    one += pickle.loads(pickle.dumps(other))
    assert_same(one, Table(RECORDS[:total], DOMAIN), 2)


@given(st.data())
@settings(max_examples=40)
def test_every_set_is_held_by_its_group_and_small_groups_stay_small(data):
    sizes = tuple(data.draw(st.lists(st.sampled_from([1, 2, 10, 100, 1000]), min_size=1, max_size=8)))
    k = data.draw(st.integers(1, len(sizes)))
    cliques = tuple(c for size in range(1, k + 1) for c in itertools.combinations(range(len(sizes)), size))
    blocks = counting._blocks(cliques, sizes)
    assert set(blocks) == {(), *cliques} and all(set(clique) <= set(block) for clique, block in blocks.items())
    for block in blocks.values():
        assert block in cliques or np.prod([sizes[v] for v in block]) <= counting._TOGETHER


def test_a_set_that_is_too_large_is_left_out_and_its_subsets_are_counted():
    counter = counted(workload=3, max_cells=1000)  # 300 x 4 and more are too many
    assert counter.holds(["a", "c"]) and counter.holds(["d", "b", "a"]) and not counter.holds(["b", "c"])
    assert np.array_equal(counter.marginal(["c", "a"]), TABLE.marginal(["c", "a"]))
    with pytest.raises(ValueError, match="attributes must all be in one of the counted sets, got .'b', 'c'"):
        counter.marginal(["b", "c"])


def test_memory_does_not_grow_with_the_records():
    counter = counted()
    size = len(pickle.dumps(counter))
    for _ in range(3):
        counter.add(columns(RECORDS))
    assert len(pickle.dumps(counter)) <= size + 8 and len(counter) == 4 * len(RECORDS)


# ---- what is refused


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"b": [0, 1, 4]}, r"column 'b' must contain codes in \[0, 4\), got 4 in record 12"),
        ({"c": [0, -1, 0]}, r"column 'c' must contain codes in \[0, 300\), got -1 in record 11"),
        ({"a": [0, 0.5, 0]}, "column 'a' must be"),
        ({"a": [0, np.nan, 0]}, "column 'a' must be"),
        ({"a": [[0], [1], [2]]}, r"column 'a' must have shape \(n,\), got \(3, 1\)"),
        ({"d": [0, 1]}, r"columns of equal length, got \[2, 3\]"),
        ({"d": None}, "batch must contain the attribute 'd', got 'a', 'b', 'c', 'e'"),
    ],
)
def test_a_bad_batch_is_refused_and_nothing_of_it_counted(changed, message):
    counter = counted(RECORDS[:10])
    batch = {name: changed.get(name, codes[:3]) for name, codes in columns(RECORDS).items()}
    with pytest.raises(ValueError, match=message):
        counter.add({name: codes for name, codes in batch.items() if codes is not None})
    assert_same(counter, Table(RECORDS[:10], DOMAIN), 2)


def test_bad_counters_are_refused():
    with pytest.raises(ValueError, match="max_cells must be at least 1, got 0|max_cells must be in"):
        Counter(DOMAIN, max_cells=0)
    with pytest.raises(ValueError, match="max_cells must be at least 3, got 2"):
        Counter(Domain({"a": 3, "b": 4}), max_cells=2)
    with pytest.raises(ValueError, match="workload must contain a non-empty set"):
        Counter(DOMAIN, [])
    counter = counted()
    for other in (Counter(DOMAIN, 3), Counter(Domain({"a": 3, "b": 4}))):
        with pytest.raises(ValueError, match="counters must have equal sets"):
            counter += other
    with pytest.raises(TypeError):
        counter += 1


# ---- AIM


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_aim_on_a_counter_is_aim_on_the_table(k):
    runs = [
        aim(data, 1.0, 1e-6, k, rng=np.random.default_rng(3), plan=Plan(rounds=10))
        for data in (TABLE, counted(workload=k))
    ]
    assert runs[0].steps == runs[1].steps
    assert np.array_equal(runs[0].synthetic.records, runs[1].synthetic.records)
    assert len(aim(counted(workload=k), 1.0, 1e-6, k, plan=Plan(rounds=10)).synthetic) > 0  # exact


def test_aim_says_at_once_what_was_not_counted():
    with pytest.raises(ValueError, match="table must have counted all candidates, got one that has not counted"):
        aim(counted(), 1.0, 1e-6, 3)
    assert aim(counted(max_cells=1000), 1.0, 1e-6, plan=Plan(max_cells=1000), records=5).rho_used > 0


def test_aim_takes_a_counter_of_no_records():
    """One record more or less must not show."""
    assert len(aim(Counter(DOMAIN), 1.0, 1e-6, records=3).synthetic) == 3
    with pytest.raises(ValueError, match="table must not be empty if the number of records is public"):
        aim(Counter(DOMAIN), 1.0, 1e-6, neighbours="bounded")
