"""Generalization hierarchies: Adult's hierarchies cover its public domain, and the builders refuse what is not a
hierarchy."""

import csv
import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.data import datasets, encodings
from lib.microdata import hierarchies

EVERY = (*hierarchies.QUASI_IDENTIFIERS, "education", "race", "native-country")
ADULT = hierarchies.adult(EVERY)
QUICK = settings(derandomize=True, deadline=None, max_examples=60)

COLOURS = [("red", "warm", "*"), ("orange", "warm", "*"), ("blue", "cold", "*")]
STEPS = [[0, 1, 5, 9], [0, 5, 9], [0, 9]]


# ---------------------------------------------------------------- Adult


def test_the_quasi_identifiers_are_those_of_table_2():
    assert len(hierarchies.QUASI_IDENTIFIERS) == 10
    assert tuple(hierarchies.adult()) == hierarchies.QUASI_IDENTIFIERS
    assert set(hierarchies.QUASI_IDENTIFIERS) < set(datasets.ADULT_COLUMNS) - {"income"}


def groups(hierarchy, level) -> dict:
    """Return the values of each group by its label; for numbers the first and the last."""
    found = {label: [] for label in hierarchy.labels[level]}
    for value, label in zip(hierarchy.values, hierarchy.labels[level][hierarchy.positions[level]]):
        found[label].append(value)
    return {label: (min(of), max(of)) if hierarchy.numeric else tuple(of) for label, of in found.items()}


@pytest.mark.parametrize("attribute", EVERY)
def test_adult_covers_the_public_domain_and_nothing_else(attribute):
    hierarchy = ADULT[attribute]
    if hierarchy.numeric:
        low, high = datasets.PUBLIC_RANGES[attribute]
        assert hierarchy.values.tolist() == list(range(low, high + 1))
    else:
        assert set(hierarchy.values) == set(encodings.adult_domain(missing="category").values(attribute))


@pytest.mark.slow
@pytest.mark.parametrize("attribute", EVERY)
def test_adult_is_nested_from_single_values_to_all(attribute):
    """Two values that are together at one level are so at all above; each level merges some, and none is empty."""
    hierarchy = ADULT[attribute]
    values = hierarchy.values[:: max(1, len(hierarchy.values) // 300)]
    labels = [hierarchy.generalize(values, level) for level in range(hierarchy.height + 1)]
    assert labels[0].tolist() == [str(value) for value in values]
    assert set(labels[-1]) == {"*"}
    for below, above in zip(labels, labels[1:]):
        same = below[:, None] == below
        assert (above[:, None] == above)[same].all()
    many = [len(groups(hierarchy, level)) for level in range(hierarchy.height + 1)]
    assert many == sorted(set(many), reverse=True)
    assert many[-1] == 1


@pytest.mark.slow
@pytest.mark.parametrize("source", ["stand-in", "real"])
def test_adult_generalizes_every_record(source):
    if source == "real" and not datasets.available("adult"):
        pytest.skip("the real file is not here")
    frame = datasets.adult("all", missing="category", source=source, download=False)
    for level in (1, 2, 3):
        levels = {name: min(level, hierarchy.height) for name, hierarchy in ADULT.items()}
        assert hierarchies.apply(frame, ADULT, levels).notna().all().all()


def test_a_missing_value_stays_by_itself_up_to_the_top():
    for name in ("workclass", "occupation", "native-country"):
        hierarchy = ADULT[name]
        assert all(groups(hierarchy, level)["?"] == ("?",) for level in range(hierarchy.height))


def test_some_of_fung_s_groups():
    assert ADULT["education"].generalize(["Doctorate", "9th"], 1).tolist() == ["Post-grad", "Junior-secondary"]
    assert groups(ADULT["workclass"], 1)["Gov"] == ("Federal-gov", "Local-gov", "State-gov")
    assert groups(ADULT["marital-status"], 2)["Never-married"] == ("Never-married",)


def test_the_numbers_of_education_are_grouped_like_its_values():
    """Where the tree's groups are intervals of the numbers: up to Bachelors at level 1, everywhere from level 2."""
    frame = datasets.adult("all", source="stand-in")
    number = {value: int(part.mode()[0]) for value, part in frame.groupby("education")["education-num"]}
    assert sorted(number.values()) == list(range(1, 17))
    for level in (1, 2, 3):
        by_value = {}
        for value, group in zip(number, ADULT["education"].generalize(list(number), level)):
            by_value.setdefault("University" if group == "Post-grad" else group, set()).add(number[value])
        if level == 2:  # there the lowest four have two groups, Preschool and Elementary, as here
            assert by_value["Secondary"] == set(range(5, 10))
        ends = {(min(numbers), max(numbers)) for numbers in by_value.values()}
        assert ends == set(groups(ADULT["education-num"], level).values())


def test_adult_refuses_an_attribute_without_a_file():
    with pytest.raises(ValueError, match="attributes must be one of .*'age'.*got 'income'"):
        hierarchies.adult(["income"])


# ---------------------------------------------------------------- one hierarchy


def test_categories_generalize():
    colour = hierarchies.categories("colour", COLOURS)
    assert (colour.height, colour.numeric, colour.attribute) == (2, False, "colour")
    assert colour.generalize(["blue", "red", "blue"], 1).tolist() == ["cold", "warm", "cold"]
    assert groups(colour, 1) == {"warm": ("red", "orange"), "cold": ("blue",)}
    assert colour.codes(["blue", "red"], 1).tolist() == [1, 0]
    assert colour.losses(1).tolist() == [0.5, 0.0]
    assert colour.losses(2).tolist() == [1.0]


def test_intervals_generalize():
    steps = hierarchies.intervals("steps", STEPS)
    assert (steps.height, steps.numeric) == (3, True)
    assert steps.generalize([0, 1, 4, 5, 9], 1).tolist() == ["0", "1-4", "1-4", "5-9", "5-9"]
    assert groups(steps, 2) == {"0-4": (0, 4), "5-9": (5, 9)}
    assert steps.losses(1).tolist() == [0.0, 3 / 9, 4 / 9]
    assert steps.midpoints([0, 3, 9.0], 1).tolist() == [0.0, 2.5, 7.0]
    assert steps.midpoints([0, 3], 0).tolist() == [0.0, 3.0]


@pytest.mark.slow
@QUICK
@given(st.data())
def test_intervals_agree_with_counting(data):
    """Random nested cut points: each label's ends hold the value, the loss is the width over the range."""
    low = data.draw(st.integers(-20, 20))
    high = low + data.draw(st.integers(1, 60))
    cuts = sorted(data.draw(st.sets(st.integers(low + 1, high), max_size=8)) - {high})
    coarse = [cut for cut in cuts if data.draw(st.booleans())]
    one = hierarchies.intervals("x", [[low, *cuts, high], [low, *coarse, high], [low, high]])
    values = np.arange(low, high + 1)
    for level in range(4):
        within = groups(one, level)
        ends = np.array([within[label] for label in one.generalize(values, level)])
        assert ((ends[:, 0] <= values) & (values <= ends[:, 1])).all()
        assert np.allclose(one.losses(level)[one.codes(values, level)], (ends[:, 1] - ends[:, 0]) / (high - low))
        assert np.allclose(one.midpoints(values, level), ends.mean(axis=1))


def test_a_hierarchy_cannot_be_changed():
    colour = hierarchies.categories("colour", COLOURS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        colour.attribute = "other"
    for array in (colour.values, *colour.positions, *colour.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


@pytest.mark.parametrize(
    "values, named",
    [(["red", "green"], "'green'"), (["red", None], "None"), (["red", 3], "3"), (["red", float("nan")], "nan")],
)
def test_categories_name_a_value_they_miss(values, named):
    with pytest.raises(ValueError, match=f"colour must be one of the 3 values of its hierarchy, got {named}"):
        hierarchies.categories("colour", COLOURS).generalize(values, 1)


@pytest.mark.parametrize("value", [-1, 10, 3.5, np.nan, "x"])
def test_intervals_name_a_value_they_miss(value):
    with pytest.raises(ValueError, match=r"steps must be a?.*\[0, 9\], got"):
        hierarchies.intervals("steps", STEPS).generalize([1, value], 2)


@pytest.mark.parametrize("level", [-1, 3, 0.5, "top"])
@pytest.mark.parametrize("method", ["codes", "generalize"])
def test_a_level_beyond_the_height_is_refused(level, method):
    with pytest.raises(ValueError, match=r"level must be .*\[0, 2\]"):
        getattr(hierarchies.categories("colour", COLOURS), method)(["red"], level)


def test_categories_have_no_midpoints():
    with pytest.raises(ValueError, match="must be numeric to have midpoints, got 'colour'"):
        hierarchies.categories("colour", COLOURS).midpoints(["red"], 1)


# ---------------------------------------------------------------- what is not a hierarchy


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "at least one value"),
        ([("red",)], "the same number of labels"),
        ([("red", "warm", "*"), ("blue", "*")], r"the same number of labels.*'blue'"),
        ([("red", "", "*")], r"the same number of labels.*'red'"),
        ([("red", "*"), ("red", "*")], "'red' twice"),
        ([("red", "warm"), ("blue", "cold")], r"top level of 'colour' must be '\*'"),
        ([("red", "warm"), ("blue", "warm")], r"top level of 'colour' must be '\*'"),
        (
            [("a", "x", "p", "*"), ("b", "x", "q", "*"), ("c", "y", "q", "*")],
            "nested, got level 2, which splits 'x' at 'a'|at a|at b",
        ),
    ],
)
def test_categories_refuse(rows, message):
    with pytest.raises(ValueError, match=message):
        hierarchies.categories("colour", rows)


@pytest.mark.parametrize(
    "starts, message",
    [
        ([], "at least one level"),
        ([[0]], "must increase at level 1"),
        ([[0, 5, 5, 9], [0, 9]], r"must increase at level 1, got \[5\]"),
        ([[0, 9], [1, 9]], "ends 0 and 9 at level 2, got 1 and 9"),
        ([[0, 5, 9], [0, 4, 9], [0, 9]], "nested, got level 2, which splits '0-4'"),
        ([[0, 5, 9]], "top level of 'steps'"),
        ([[0, 4.5, 9], [0, 9]], "integer"),
        ([[0, "x", 9]], "must be a number"),
    ],
)
def test_intervals_refuse(starts, message):
    with pytest.raises(ValueError, match=message):
        hierarchies.intervals("steps", starts)


def test_load_reads_both_kinds(tmp_path):
    colours, steps = tmp_path / "colour.csv", tmp_path / "steps.csv"
    colours.write_text("# a remark\nvalue,level 1,level 2\n" + "".join(",".join(row) + "\n" for row in COLOURS))
    steps.write_text("level,starts\n" + "".join(f"{i},{' '.join(map(str, row))}\n" for i, row in enumerate(STEPS, 1)))
    assert groups(hierarchies.load(colours, "colour"), 1)["warm"] == ("red", "orange")
    assert groups(hierarchies.load(steps, "steps"), 2) == {"0-4": (0, 4), "5-9": (5, 9)}
    colours.write_text("colour,level 1\nred,*\n")
    with pytest.raises(ValueError, match="first column of the hierarchy of 'colour'"):
        hierarchies.load(colours, "colour")


@pytest.fixture
def the_usual_limit():
    """Cells as long as Python allows when it starts; `release.sources` allows longer ones."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(
    "written, message",
    [
        (b"", "must have a line of columns and a line for each value or level, got 0 lines"),
        (b"# a remark\n\nvalue,level 1\n", "got 1 lines"),
        (b"value,level 1\nred,*\n\nbl\xe9u,*\n", "line 4 must be UTF-8 text, got the byte 0xe9"),
        (b"value,level 1\n# a remark\nred\n", "line 3 must have at least 2 cells, got 1"),
        (b"level,starts\n1\n", "line 2 must have at least 2 cells, got 1"),
        (b"value,level 1\nred,*\n" + b"x" * 200_000 + b",*\n", "line 3 must be CSV: field larger than field limit"),
        (b"value,level 1\nred,*\nred,*\n", "must have each value once, got 'red' twice"),
        (b"level,starts\n1,x 9\n", "must be a number"),
    ],
)
def test_load_names_file_and_line(tmp_path, written, message, the_usual_limit):
    file = tmp_path / "colour.csv"
    file.write_bytes(written)
    with pytest.raises(ValueError, match=message) as refused:
        hierarchies.load(file, "colour")
    assert str(file) in str(refused.value) and "'colour'" in str(refused.value) and len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "written", ["\ufeffvalue,level 1\nred,*\n\nblue,*\n", "value,level 1\r\nred,*\r\n# a\r\n\r\nblue,*"]
)
def test_load_reads_what_spreadsheets_write(tmp_path, written):
    (tmp_path / "colour.csv").write_bytes(written.encode())
    assert list(hierarchies.load(tmp_path / "colour.csv", "colour").values) == ["red", "blue"]


def test_apply_replaces_only_what_it_is_told():
    frame = pd.DataFrame({"colour": ["red", "blue"], "steps": [3, 7], "other": [1.5, 2.5]}, index=[7, 3])
    known = {"colour": hierarchies.categories("colour", COLOURS), "steps": hierarchies.intervals("steps", STEPS)}
    found = hierarchies.apply(frame, known, {"colour": 1, "steps": 0})
    expected = pd.DataFrame({"colour": ["warm", "cold"], "steps": [3, 7], "other": [1.5, 2.5]}, index=[7, 3])
    assert found.equals(expected.astype(found.dtypes.to_dict()))
    assert found["steps"].dtype == frame["steps"].dtype
    for levels, message in (({"other": 1}, "got 'other'"), ({"size": 1}, "got 'size'")):
        with pytest.raises(ValueError, match=message):
            hierarchies.apply(frame, known, levels)
    with pytest.raises(ValueError, match="colour must be"):
        hierarchies.apply(frame.assign(colour="green"), known, {"colour": 0})
