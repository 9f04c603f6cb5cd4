"""`conditions`: a text means what it says, for every value of every bin, and anything else is refused with its place."""

import itertools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.release import conditions, schema

PUBLIC = schema.parse("""\
attributes:
  home: {values: [a, b c, "1"]}
  work: {values: [b c, a, d], missing: d}
  age: {range: [0, 9], bins: [0, 3, 4, 8]}
  since: {range: [0, 9], bins: [0, 4], missing: 0}
  level: {range: [0, 2], bins: 2, whole: no}
  joined: {dates: [2001-01-01, 2001-02-28], by: month, format: "%d/%m/%Y"}
""")
EACH = {each.name: each for each in PUBLIC.attributes}
# What a record's value may be, by the label of its code; an unlisted value may be any string, so two stand for all.
VALUES = {
    "home": {"a": ["a"], "b c": ["b c"], "1": ["1"], "missing": [None], "other": ["a?", "d"]},
    "work": {"b c": ["b c"], "a": ["a"], "d": ["d"], "other": ["a?", "1"]},
    "age": {"0 to 2": [0, 1, 2], "3": [3], "4 to 7": [4, 5, 6, 7], "8 to 9": [8, 9], "missing": [None]},
    "since": {"0 to 3": [0, 1, 2, 3], "4 to 9": [4, 5, 6, 7, 8, 9]},
}
MARKS = {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def compared(mark, one, other):
    return None not in (one, other) and getattr(operator, MARKS[mark])(one, other)


@st.composite
def leaves(draw):
    """Return a comparison as (text, the function of a record that it means, its attributes)."""
    name, mark = draw(st.sampled_from(["home", "work", "age", "since"])), draw(st.sampled_from(sorted(MARKS)))
    listed = name in ("home", "work")
    mark = mark if not listed else {"<": "=", "<=": "!=", ">": "=", ">=": "!="}.get(mark, mark)
    kind = draw(st.sampled_from(["value", "attribute", "in", "missing"]))
    value = draw(st.sampled_from(["a", "b c"]) if listed else st.integers(-1, 10))
    shown = f"'{value}'" if listed else str(value)
    if kind == "value":
        return f"{name}{mark}{shown}", lambda r: compared(mark, r[name], value), {name}
    if kind == "attribute":
        other = {"home": "work", "work": "home", "age": "since", "since": "age"}[name]
        return f"`{name}` {mark} {other}", lambda r: compared(mark, r[name], r[other]), {name, other}
    if kind == "in":
        no = draw(st.sampled_from(["", "NOT "]))
        return (
            f"{name} {no}in ({shown}, {shown})",
            lambda r: r[name] is not None and (r[name] == value) != bool(no),
            {name},
        )
    no = draw(st.sampled_from(["", "not "]))
    return f'"{name}" IS {no}missing', lambda r: (r[name] is None) != bool(no), {name}


def joined(inner):
    def both(pair):
        (one, f, names), (other, g, more), word = pair
        join = {"and": lambda r: f(r) and g(r), "or": lambda r: f(r) or g(r)}[word]
        return f"({one}) {word} ({other})", join, names | more

    pairs = st.tuples(inner, inner, st.sampled_from(["and", "or"])).map(both)
    return pairs | inner.map(lambda one: (f"not ({one[0]})", lambda r: not one[1](r), one[2]))


@pytest.mark.slow
@given(st.recursive(leaves(), joined, max_leaves=4))
def test_a_condition_means_what_it_says_for_every_value_of_every_bin(made):
    """Where it surely holds, all values fulfil it; where it does not possibly hold, none does. A comparison is told in full."""
    text, means, names = made
    condition = conditions.parse(text, PUBLIC.attributes)
    attributes = condition.attributes
    assert {each.name for each in attributes} == names
    surely, possibly = condition.cells(attributes)
    clauses = [clause.cells(attributes) for clause in condition.clauses()]
    for one, each in ((surely, 0), (possibly, 1)):  # the clauses together say the same
        assert (np.logical_and.reduce([clause[each] for clause in clauses]) == one).all()
    for cell in np.ndindex(surely.shape):
        labels = [each.labels[code] for each, code in zip(attributes, cell)]
        inside = itertools.product(*(VALUES[each.name][label] for each, label in zip(attributes, labels)))
        found = [bool(means(dict(zip((each.name for each in attributes), values)))) for values in inside]
        assert all(found) or not surely[cell]
        assert not any(found) or possibly[cell]
        if len(attributes) == 1 and "(" not in text:
            assert (all(found), any(found)) == (surely[cell], possibly[cell]), text


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("level < 1", [1, 0, 0]),
        ("level >= 1.0", [0, 1, 0]),
        ("joined >= 2001-02-01", [0, 1, 0]),
        ("joined < '01/02/2001'", [1, 0, 0]),
        ("age = missing", [0, 0, 0, 0, 1]),
        ("age = 3 or age >= 8", [0, 1, 0, 1, 0]),
        ("age = 3 or age >= 8 and age < 8", [0, 1, 0, 0, 0]),  # and before or
        ("home != 'b c'", [1, 0, 1, 0, 1]),
        ("not home = 'b c'", [1, 0, 1, 1, 1]),
        ("home = other", [0, 0, 0, 0, 1]),
        ("home = 1", [0, 0, 1, 0, 0]),
    ],
)
def test_conditions_by_hand(text, holds):
    condition = conditions.parse(text, PUBLIC.attributes)
    assert condition.decided(condition.attributes, "where").astype(int).tolist() == holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an attribute is expected here, got ''"),
        ("wage > 3", "an attribute must be one of home, work, age, since, level, joined, got 'wage'"),
        ("age >", "a value of age is expected here, got ''"),
        ("age > old", "a value of age must be a number, got 'old'"),
        ("age > nan", "must be a number, got 'nan'"),
        ("joined > 3", "a value of joined must be a date, got '3'"),
        ("home = x", "a value of home must be one of a, b c, 1, missing, other, got 'x'"),
        ("home < a", "home has a list of values, which can only be equal or unequal, got 'a'"),
        ("home = age", "home and age must be of the same kind"),
        ("age < joined", "age and joined must be of the same kind"),
        ("age 3", "one of = == != <> <= >= < > is expected here, got '3'"),
        ("age in 3", "'(' is expected here, got '3'"),
        ("age in (3", "')' is expected here, got ''"),
        ("age is 3", "'missing' is expected here"),
        ("age < 3 since > 4", "the text should end here, got 'since'"),
        ("home = 'a", 'in single quotes, got "\'a"'),
        ("(" * 5000 + "age < 3", "at most 100 parentheses"),
        ("not " * 5000 + "age", "is expected here, got ''"),
        (3, "where must be a string, got 3"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text, said):
    with pytest.raises(ValueError, match="^where must be") as caught:
        conditions.parse(text, PUBLIC.attributes)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@given(st.text("age<>=!()',\"`3 andornothme.", max_size=30))
def test_any_text_is_a_condition_or_refused(text):
    try:
        conditions.parse(text, PUBLIC.attributes)
    except ValueError as error:
        assert str(error).startswith("where must be")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age < 5", "start of a bin (age: 0, 3, 4, 8)"),
        ("level <= 1", "(level: 0, 1)"),
        ("joined < 2001-02-03", "(joined: 2001-01-01, 2001-02-01)"),
        ("home = work", "two unlisted values may be equal or not"),
    ],
)
def test_what_the_bins_do_not_tell_is_not_decided(text, said):
    condition = conditions.parse(text, PUBLIC.attributes)
    with pytest.raises(
        ValueError, match="^where must be true or false throughout each value and bin of the schema"
    ) as caught:
        condition.decided(condition.attributes, "where")
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["1", "1.0", "'1.00'", "True", "TRUE"])
def test_a_value_is_written_as_in_a_file(text):
    """Where `sources` reads a string as a listed value, a condition does."""
    public = schema.parse("attributes: {a: {values: [0.0, 1.0]}, b: {values: [x, 1]}}").attributes
    assert conditions.parse(f"a = {text}", public) == conditions.Condition("is", (public[0], 1))
    if "1" in text:
        assert conditions.parse(f"b = {text}", public) == conditions.Condition("is", (public[1], 1))
    else:
        with pytest.raises(ValueError, match="a value of b must be one of x, 1, missing, other"):
            conditions.parse(f"b = {text}", public)
