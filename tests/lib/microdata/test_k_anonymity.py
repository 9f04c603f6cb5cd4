"""k-anonymity: the search against every node counted one by one, pycanon as the independent judge of k."""

import dataclasses
import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycanon import anonymity as pycanon

from lib.data import datasets
from lib.microdata import hierarchies, k_anonymity

QUICK = settings(derandomize=True, deadline=None, max_examples=60)

SMALL = {
    "colour": hierarchies.categories(
        "colour", [("red", "warm", "*"), ("orange", "warm", "*"), ("blue", "cold", "*"), ("?", "?", "*")]
    ),
    "steps": hierarchies.intervals("steps", [[0, 1, 3, 5, 7], [0, 1, 5, 7], [0, 1, 7], [0, 7]]),
    "sex": hierarchies.categories("sex", [("f", "*"), ("m", "*")]),
    "place": hierarchies.categories(
        "place", [("a", "A", "*"), ("b", "A", "*"), ("c", "B", "*"), ("d", "B", "*"), ("e", "B", "*")]
    ),
}


def table(rows, names=tuple(SMALL)):
    """Return records with the values numbered by `rows`, with an unusual index and an additional column."""
    columns = {
        name: SMALL[name].values[[row[axis] % len(SMALL[name].values) for row in rows]]
        for axis, name in enumerate(names)
    }
    return pd.DataFrame(columns | {"income": np.arange(len(rows))}, index=np.arange(len(rows))[::-1] * 10)


@st.composite
def tables(draw):
    names = tuple(draw(st.sampled_from([("colour", "steps"), ("steps", "sex", "place"), tuple(SMALL)])))
    skewed = st.one_of(st.just(0), st.integers(0, 9))  # many records alike, some of them rare
    rows = draw(st.lists(st.tuples(*[skewed] * len(names)), min_size=1, max_size=40))
    return table(rows, names), {name: SMALL[name] for name in names}


def nodes(known):
    return list(itertools.product(*(range(hierarchy.height + 1) for hierarchy in known.values())))


def cells(frame, name, hierarchy, level, loss):
    """Return each record's label of one attribute, and the loss of that cell, by counting the values of its group."""
    labels = hierarchy.generalize(frame[name], level)
    if loss == "precision":
        return labels, np.full(len(frame), level / hierarchy.height)
    sizes = Counter(hierarchy.generalize(hierarchy.values, level))
    return labels, np.array([sizes[label] - 1 for label in labels]) / (len(hierarchy.values) - 1)


def brute_force(frame, known, k, max_suppression, loss):
    """Return every feasible node with its loss and the number of records left out, counted one by one."""
    levels = [(name, level) for name, hierarchy in known.items() for level in range(hierarchy.height + 1)]
    one = {(name, level): cells(frame, name, known[name], level, loss) for name, level in levels}
    found = {}
    for node in nodes(known):
        labels, losses = zip(*(one[part] for part in zip(known, node)))
        records = list(zip(*labels))
        sizes = Counter(records)
        gone = np.array([sizes[record] < k for record in records])
        if gone.sum() <= max_suppression * len(frame) + 1e-9:
            found[node] = np.where(gone, 1.0, np.mean(losses, axis=0)).mean(), gone.sum()
    return found


# ---------------------------------------------------------------- generalization


@pytest.mark.slow
@settings(QUICK, max_examples=100)
@given(
    one=tables(),
    share=st.sampled_from([0.0, 0.0, 0.1, 0.3, 1.0]),
    loss=st.sampled_from(k_anonymity.LOSSES),
    data=st.data(),
)
def test_the_search_finds_the_least_loss_of_all_nodes(one, share, loss, data):
    frame, known = one
    k = data.draw(st.integers(1, min(6, len(frame))))
    found = k_anonymity.generalize(frame, known, k, max_suppression=share, loss=loss)
    every = brute_force(frame, known, k, share, loss)
    least = min(value for value, _ in every.values())
    assert found.loss == pytest.approx(least, abs=1e-12)
    equal = {node: gone for node, (value, gone) in every.items() if value <= least + 1e-10}
    assert tuple(found.levels.values()) == min(equal, key=lambda node: (equal[node], node))
    assert found.suppressed.sum() == equal[tuple(found.levels.values())]
    assert (found.nodes, found.checked <= found.nodes) == (len(nodes(known)), True)


@pytest.mark.slow
@QUICK
@given(one=tables(), share=st.sampled_from([0.0, 0.2]), data=st.data())
def test_the_table_returned_is_the_generalized_one_and_k_anonymous(one, share, data):
    frame, known = one
    k = data.draw(st.integers(1, min(6, len(frame))))
    found = k_anonymity.generalize(frame, known, k, max_suppression=share)
    assert found.suppressed_share <= share
    assert found.frame.equals(hierarchies.apply(frame, known, found.levels)[~found.suppressed])
    assert found.frame.index.equals(frame.index[~found.suppressed])
    assert found.frame["income"].tolist() == frame["income"][~found.suppressed].tolist()
    if len(found.frame):
        assert pycanon.k_anonymity(found.frame.astype(str), list(known)) >= k


@pytest.mark.slow
@QUICK
@given(one=tables(), data=st.data())
def test_raising_a_level_never_leaves_out_more(one, data):
    """The pruning relies on this: fewer records are left out, and the penalty for them falls."""
    frame, known = one
    k = data.draw(st.integers(1, len(frame)))
    lattice = k_anonymity._Lattice(frame, known, k, len(frame), "lm")
    low = data.draw(st.sampled_from(nodes(known)))
    high = tuple(data.draw(st.integers(level, hierarchy.height)) for level, hierarchy in zip(low, known.values()))
    assert lattice.p(high) <= lattice.p(low) + 1e-12
    assert lattice.known[high][1] <= lattice.known[low][1]
    assert lattice.rising[high] >= lattice.rising[low] - 1e-12


@pytest.mark.slow
@QUICK
@given(one=tables(), share=st.sampled_from([0.0, 0.2, 1.0]), data=st.data())
def test_what_the_search_notes_of_nodes_it_does_not_count_is_true(one, share, data):
    frame, known = one
    k = data.draw(st.integers(1, len(frame)))
    lattice = k_anonymity._Lattice(frame, known, k, int(share * len(frame)), "lm")
    k_anonymity._search(lattice)
    lower, upper = lattice.lower.copy(), lattice.upper.copy()
    for node in nodes(known):
        assert lower[node] - 1e-12 <= lattice.p(node) <= upper[node] + 1e-12


@pytest.mark.slow
@QUICK
@given(one=tables(), share=st.sampled_from([0.0, 0.1, 0.3]), order=st.sampled_from([1, -1]), data=st.data())
def test_every_node_is_counted_truly_whatever_was_before(one, share, order, data):
    """This includes nodes that half of their attributes already rule out."""
    frame, known = one
    k = data.draw(st.integers(1, min(6, len(frame))))
    every = brute_force(frame, known, k, share, "lm")
    lattice = k_anonymity._Lattice(frame, known, k, math.floor(share * len(frame) + 1e-9), "lm")
    for node in nodes(known)[::order]:
        assert lattice.total(node) == pytest.approx(every.get(node, (math.inf,))[0], abs=1e-12)


@pytest.mark.parametrize("most", [1.0, 0.5, 0.0])
def test_blocks_of_nodes_keep_their_order(most):
    """If each block is sorted, all nodes are sorted. Among them are the smallest and the largest loss, and equal losses."""
    rising = np.random.default_rng(5).integers(2001, size=9_000) / 2_000
    rising[:3] = 0.0, 1.0, np.nextafter(1, 2)
    blocks = k_anonymity._graded(rising, most + 1e-12)
    found = np.concatenate([block[np.argsort(rising[block], kind="stable")] for block in blocks])
    order = np.argsort(rising, kind="stable")
    assert found.tolist() == order[rising[order] <= most + 1e-12].tolist()


@pytest.mark.slow
@QUICK
@given(one=tables(), data=st.data())
def test_more_anonymity_costs_more_and_more_suppression_less(one, data):
    frame, known = one
    k = data.draw(st.integers(1, len(frame)))
    here = k_anonymity.generalize(frame, known, k).loss
    assert k_anonymity.generalize(frame, known, max(1, k - 1)).loss <= here + 1e-12
    assert k_anonymity.generalize(frame, known, k, max_suppression=0.25).loss <= here + 1e-12


def test_the_search_leaves_most_of_a_larger_lattice_uncounted():
    """With five attributes of the synthetic sample, 600 nodes, the search finds the optimum and counts fewer than a fifth of them."""
    known = hierarchies.adult(("age", "education-num", "marital-status", "relationship", "sex"))
    frame = datasets.adult("train", missing="category", source="stand-in").head(300)
    every = brute_force(frame, known, 5, 0.1, "lm")
    for share in (0.0, 0.1):
        found = k_anonymity.generalize(frame, known, 5, max_suppression=share)
        assert found.loss == pytest.approx(
            min(value for value, gone in every.values() if gone <= share * 300), abs=1e-12
        )
        assert found.nodes == 600
        assert found.checked < 120


@pytest.mark.parametrize("share", [0.1, 0.59, 0.61])
def test_many_values_are_counted_as_truly_as_few(share):
    """More than 65,536 places for the classes of 1,500 records, most of them empty: every node, those refused too."""
    rng = np.random.default_rng(7)
    steps = [np.arange(0, 600, width) for width in (3, 12, 60)]
    known = {
        name: hierarchies.intervals(name, [[*starts, 600] for starts in steps] + [[0, 600]]) for name in ("one", "two")
    }
    crowded, lone = rng.integers(600, size=(150, 2)), rng.integers(600, size=(900, 2))
    frame = pd.DataFrame(np.concatenate([np.repeat(crowded, 4, axis=0), lone]), columns=list(known))
    every = brute_force(frame, known, 2, share, "lm")
    lattice = k_anonymity._Lattice(frame, known, 2, int(share * len(frame)), "lm")
    for node in nodes(known):
        assert lattice.total(node) == pytest.approx(every.get(node, (math.inf,))[0], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 50])
def test_adult_by_its_ten_attributes(k):
    known = hierarchies.adult()
    frame = datasets.adult("all", missing="category", source="stand-in").sample(4_000, random_state=1)
    found = k_anonymity.generalize(frame, known, k)
    assert (
        pycanon.k_anonymity(found.frame.astype(str), list(known))
        == k_anonymity.anonymity(found.frame, list(known))
        >= k
    )
    assert not found.suppressed.any()
    assert found.checked < found.nodes / 100
    for name, level in found.levels.items():  # and no level can be lowered by itself
        if level:
            lower = hierarchies.apply(frame, known, found.levels | {name: level - 1})
            assert k_anonymity.anonymity(lower, list(known)) < k


def test_k_of_1_changes_nothing():
    frame = table([(0, 3, 1, 2), (1, 5, 0, 0), (2, 2, 1, 4)])
    found = k_anonymity.generalize(frame, SMALL, 1)
    assert (found.loss, set(found.levels.values())) == (0.0, {0})
    assert found.frame.equals(frame)


def test_k_of_all_leaves_one_class():
    found = k_anonymity.generalize(table([(0, 0, 0, 0), (1, 1, 1, 1), (2, 6, 0, 3)]), SMALL, 3)
    assert len(found.frame[list(SMALL)].drop_duplicates()) == 1


def test_one_odd_record_is_left_out_where_that_is_permitted():
    rows = [(0, 0, 0, 0)] * 19 + [(2, 6, 1, 4)]
    strict, lenient = (k_anonymity.generalize(table(rows), SMALL, 5, max_suppression=share) for share in (0.0, 0.05))
    assert strict.loss == 1.0
    assert lenient.suppressed.tolist() == [False] * 19 + [True]
    assert lenient.loss == pytest.approx(1 / 20)


def test_ties_go_to_the_first_levels():
    """Either attribute may be given up at the same loss."""
    frame = pd.DataFrame({"one": ["f", "m", "f", "m"], "two": ["f", "f", "m", "m"]})
    known = {name: hierarchies.categories(name, [("f", "*"), ("m", "*")]) for name in frame.columns}
    assert k_anonymity.generalize(frame, known, 2).levels == {"one": 0, "two": 1}
    assert k_anonymity.generalize(frame, dict(reversed(known.items())), 2).levels == {"two": 0, "one": 1}


def test_many_attributes_are_counted_without_overflow():
    """Seventy binary attributes have more combinations than 64 bits hold; some records differ in the first one only."""
    rng = np.random.default_rng(4)
    values = np.repeat(rng.integers(2, size=(20, 70)), 2, axis=0)
    values[::2, 0] = 1 - values[1::2, 0]
    frame = pd.DataFrame(values[rng.integers(40, size=200)]).rename(columns=str)
    sizes = frame.groupby(list(frame.columns))["0"].transform("size")
    assert k_anonymity.class_sizes(frame, frame.columns).tolist() == sizes.tolist()


# ---------------------------------------------------------------- suppression


@pytest.mark.slow
@QUICK
@given(one=tables(), data=st.data())
def test_suppression_keeps_exactly_the_records_of_large_classes(one, data):
    frame, known = one
    k = data.draw(st.integers(1, len(frame)))
    levels = data.draw(
        st.sampled_from([{}, {"steps": 2}, {name: hierarchy.height for name, hierarchy in known.items()}])
    )
    found = k_anonymity.suppress(frame, k, attributes=known, levels=levels, hierarchies=known)
    labels = hierarchies.apply(frame, known, levels)
    kept = labels.groupby(list(known)).filter(lambda records: len(records) >= k)
    assert found.frame.equals(kept)
    assert found.suppressed_share == pytest.approx(1 - len(kept) / len(frame))
    assert found.levels == dict.fromkeys(known, 0) | levels
    if len(kept):
        assert pycanon.k_anonymity(found.frame.astype(str), list(known)) >= k


def test_suppression_may_leave_nothing():
    found = k_anonymity.suppress(table([(0, 0, 0, 0), (1, 1, 1, 1)]), 2, attributes=SMALL)
    assert (len(found.frame), found.suppressed_share) == (0, 1.0)


def test_suppression_of_the_stand_in():
    frame = datasets.adult("all", missing="category", source="stand-in").head(5_000)
    names = ["workclass", "marital-status", "sex"]
    shares = [k_anonymity.suppress(frame, k, attributes=names).suppressed_share for k in (1, 3, 10, 50)]
    assert shares == sorted(shares)
    assert shares[0] == 0 < shares[-1] < 1


# ---------------------------------------------------------------- what a table has


@pytest.mark.slow
@QUICK
@given(one=tables())
def test_anonymity_agrees_with_pycanon(one):
    frame, known = one
    assert k_anonymity.anonymity(frame, known) == pycanon.k_anonymity(frame.astype(str), list(known))
    sizes = frame.groupby(list(known))["income"].transform("size")
    assert k_anonymity.class_sizes(frame, known).tolist() == sizes.tolist()


def test_missing_values_are_equal_to_one_another():
    frame = pd.DataFrame({"one": [np.nan, np.nan, 1.0], "two": [None, None, "x"]})
    assert k_anonymity.class_sizes(frame, ["one", "two"]).tolist() == [2, 2, 1]


# ---------------------------------------------------------------- what is refused

FOUR = table([(0, 0, 0, 0)] * 4)


@pytest.mark.parametrize("k", [0, -1, 5, 2.5, math.nan, "two"])
@pytest.mark.parametrize(
    "make",
    [lambda k: k_anonymity.generalize(FOUR, SMALL, k), lambda k: k_anonymity.suppress(FOUR, k, attributes=SMALL)],
)
def test_k_is_a_whole_number_of_records_at_most_all(make, k):
    with pytest.raises(ValueError, match=r"k must be .*\[1, 4\]"):
        make(k)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: k_anonymity.generalize(FOUR, SMALL, 2, max_suppression=1.1),
            r"max_suppression must be in \[0, 1\], got 1.1",
        ),
        (lambda: k_anonymity.generalize(FOUR, SMALL, 2, max_suppression=-0.1), "max_suppression must be"),
        (
            lambda: k_anonymity.generalize(FOUR, SMALL, 2, loss="entropy"),
            "loss must be one of 'lm', 'precision', got 'entropy'",
        ),
        (lambda: k_anonymity.generalize(FOUR, {}, 2), "attributes must not be empty"),
        (lambda: k_anonymity.generalize(FOUR.drop(columns="sex"), SMALL, 2), "got 'sex'"),
        (lambda: k_anonymity.generalize(FOUR.assign(colour="green"), SMALL, 2), "colour must be .*got 'green'"),
        (lambda: k_anonymity.generalize(FOUR.assign(steps=8), SMALL, 2), r"steps must be in \[0, 7\], got 8"),
        (lambda: k_anonymity.generalize(FOUR.assign(steps=0.5), SMALL, 2), "steps must be an integer"),
        (lambda: k_anonymity.generalize(FOUR.head(0), SMALL, 1), "records must not be empty"),
        (lambda: k_anonymity.suppress(FOUR, 2, attributes=[]), "attributes must not be empty"),
        (lambda: k_anonymity.suppress(FOUR, 2, attributes=["size"]), "attributes must be one of .*got 'size'"),
        (
            lambda: k_anonymity.suppress(FOUR, 2, attributes=["sex"], levels={"steps": 1}, hierarchies=SMALL),
            "got 'steps'",
        ),
        (lambda: k_anonymity.suppress(FOUR, 2, attributes=["steps"], levels={"steps": 1}), "got 'steps'"),
        (
            lambda: k_anonymity.suppress(FOUR, 2, attributes=["steps"], levels={"steps": 9}, hierarchies=SMALL),
            r"level must be in \[0, 4\]",
        ),
        (lambda: k_anonymity.suppress(FOUR.head(0), 1, attributes=SMALL), "records must not be empty"),
        (lambda: k_anonymity.anonymity(FOUR.head(0), SMALL), "frame must not be empty"),
        (lambda: k_anonymity.class_sizes(FOUR, ["size"]), "got 'size'"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_lattice_too_large_is_refused_by_its_size():
    many = {str(number): SMALL["sex"] for number in range(24)}
    with pytest.raises(ValueError, match=f"at most 10000000 combinations of levels, got {2**24}"):
        k_anonymity.generalize(pd.DataFrame({name: ["f", "m"] for name in many}), many, 2)


def test_results_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        k_anonymity.suppress(FOUR, 2, attributes=SMALL).k = 1
