"""Public schemas: what they say, the errors in them, and that the treatment of a value depends only on the schema."""

import datetime
import json
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.release import schema, sources
from lib.tables.table import Domain

TEXT = """\
blanks: [NA, "?"]
attributes:
  sex: {values: [female, male], missing: female}
  answer: {values: [no, yes, 1], unseen: missing}
  age: {range: [0, 120], bins: [0, 18, 30, 65]}
  income: {range: [0, 200], bins: 4, whole: no, missing: 50}
  joined: {dates: [2001-11-15, 2003-02-01], by: quarter}
  left: {dates: [2001-01-30, 2001-02-02], by: day, format: "%d/%m/%Y", missing: 2001-02-01}
"""
SCHEMA = schema.parse(TEXT)


def codes(name, texts):
    attribute = next(each for each in SCHEMA.attributes if each.name == name)
    labels = [attribute.labels[code] for code in sources.codes(attribute, pa.array(texts), SCHEMA.blanks)]
    return labels


def test_the_form_that_is_described_is_one_that_is_read():
    example = textwrap.dedent(schema.__doc__.split(" YAML:\n\n")[1].split("\n\n")[0])
    assert schema.parse(example).domain.sizes == (3, 6, 21, 100)
    notebook = json.loads(
        (Path(__file__).resolve().parents[3] / "notebooks/yours/release.ipynb").read_text(encoding="utf-8")
    )
    assert any(f"```yaml\n{example}\n```" in "".join(cell["source"]) for cell in notebook["cells"])


def test_the_domain_is_what_the_schema_says():
    assert SCHEMA.domain.labels == {
        "sex": ("female", "male", "other"),
        "answer": ("no", "yes", "1", "missing"),
        "age": ("0 to 17", "18 to 29", "30 to 64", "65 to 120", "missing"),
        "income": ("0 to under 50", "50 to under 100", "100 to under 150", "150 to 200"),
        "joined": ("2001-Q4", "2002-Q1", "2002-Q2", "2002-Q3", "2002-Q4", "2003-Q1", "missing"),
        "left": ("2001-01-30", "2001-01-31", "2001-02-01", "2001-02-02"),
    }


@pytest.mark.parametrize(
    "name, texts, expected",
    [
        ("sex", ["male", " male\t", "", "NA", "?", None, "Male"], ["male"] * 2 + ["female"] * 4 + ["other"]),
        ("answer", ["no", "1", "1.0", "2", "maybe", None], ["no", "1", "1"] + ["missing"] * 3),
        ("age", ["17", "18", "17.9", "-5", "1e9", " 65 "], ["0 to 17", "18 to 29", "0 to 17", "0 to 17"] + ["65 to 120"] * 2),
        ("age", ["", "NA", "old", "1,5", "nan", "inf", "0x10", "1_0", "NA ", None], ["missing"] * 10),
        ("age", ["1e400", "-1e400", "+20", ".5", "5."], ["65 to 120", "0 to 17", "18 to 29", "0 to 17", "0 to 17"]),
        ("income", ["49.999", "50", "200", "200.1", "x"], ["0 to under 50", "50 to under 100"] + ["150 to 200"] * 2 + ["50 to under 100"]),
        ("joined", ["2001-11-15", "1999-01-01", "2002-01-01", "2003-02-01T10:00", "2099-01-01"], ["2001-Q4"] * 2 + ["2002-Q1"] + ["2003-Q1"] * 2),
        ("joined", ["15/11/2001", "2002-13-01", "", None, "soon", "2002-01-011"], ["missing"] * 6),
        ("left", ["31/01/2001", "2001-01-31", "32/01/2001"], ["2001-01-31", "2001-02-01", "2001-02-01"]),
    ],
)  # fmt: skip
def test_what_values_become(name, texts, expected):
    assert codes(name, texts) == expected


def test_values_come_in_many_types():
    answer, age, joined = (next(a for a in SCHEMA.attributes if a.name == name) for name in ("answer", "age", "joined"))
    for column in (pa.array([1, None]), pa.array([1.0, None]), pa.array(["1", None]).dictionary_encode()):
        assert sources.codes(answer, column).tolist() == [2, 3]
    for column in (pa.array([30, None]), pa.array([30.0, float("nan")]), pa.array(["30", None]).dictionary_encode()):
        assert sources.codes(age, column).tolist() == [2, 4]
    day = datetime.datetime(2002, 1, 1, 23, 59)
    for column in (pa.array([day, None]), pa.array([day.date(), None]), pa.array(["2002-01-01 23:59:00", None])):
        assert sources.codes(joined, column).tolist() == [1, 6]


VALUES = st.one_of(
    st.none(), st.text(max_size=12), st.sampled_from(["female", " no", "17", "1.0", "2002-01-01", "31/01/2001", "1e5"])
)


@pytest.mark.slow
@given(st.lists(VALUES, max_size=12), st.integers(0, 12))
def test_a_values_code_does_not_hang_on_the_others(values, cut):
    """This holds whatever the other values are, and however the batches are cut; every code is in the domain."""
    texts = [None if value is None else value.encode("utf-8", "ignore").decode() for value in values]
    for attribute in SCHEMA.attributes:
        together = sources.codes(attribute, pa.array(texts, pa.string()), SCHEMA.blanks)
        parts = [
            sources.codes(attribute, pa.array(part, pa.string()), SCHEMA.blanks) for part in (texts[:cut], texts[cut:])
        ]
        alone = [sources.codes(attribute, pa.array([text], pa.string()), SCHEMA.blanks)[0] for text in texts]
        assert together.tolist() == np.concatenate(parts).tolist() == alone
        assert all(code < len(attribute.labels) for code in alone)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6, unique=True), st.floats(allow_nan=False))
def test_bins_are_found_as_by_hand(starts, number):
    starts = sorted(starts)
    attribute = schema.Attribute(
        "x", "real", tuple(map(str, range(len(starts) + 1))), len(starts), len(starts), starts=tuple(starts), last=2e6
    )
    expected = max([i for i, start in enumerate(starts) if start <= number], default=0)
    assert attribute.binned(np.array([number, np.nan])).tolist() == [expected, len(starts)]


@pytest.mark.slow
@pytest.mark.parametrize("by", schema.PERIODS)
@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), st.integers(1, 900), st.integers(0, 900))
def test_a_day_lies_in_its_period(by, first, length, after):
    last, day = first + datetime.timedelta(length), first + datetime.timedelta(min(after, length))
    made = schema.parse(f"attributes: {{x: {{dates: [{first}, {last}], by: {by}}}}}").attributes[0]
    label = made.labels[int(made.binned(np.array([schema.day(day.isoformat())]))[0])]
    quarter = f"{day.year}-Q{(day.month + 2) // 3}"
    assert label == {"year": str(day.year), "quarter": quarter, "month": f"{day:%Y-%m}", "day": day.isoformat()}[by]


def test_what_never_occurs_is_a_list_of_conditions():
    public = schema.parse(TEXT + "never: [sex = male and age < 18, joined < left]\n")
    assert public.never == ("sex = male and age < 18", "joined < left") and len(public.impossible) == 2
    assert [[each.name for each in one.attributes] for one in public.impossible] == [["sex", "age"], ["joined", "left"]]


def test_a_schema_is_given_in_many_forms(tmp_path):
    (tmp_path / "s.yml").write_text(TEXT)
    mapping = {
        "blanks": ["NA", "?"],
        "attributes": {
            "sex": {"values": ("female", "male"), "missing": "female"},
            "answer": {"values": ["no", "yes", 1], "unseen": "missing"},
            "age": {"range": [0, 120], "bins": np.array([0, 18, 30, 65])},
            "income": {"range": (0, 200), "bins": 4, "whole": False, "missing": 50},
            "joined": {"dates": [datetime.date(2001, 11, 15), "2003-02-01"], "by": "quarter"},
            "left": {
                "dates": ["2001-01-30", "2001-02-02"],
                "by": "day",
                "format": "%d/%m/%Y",
                "missing": datetime.date(2001, 2, 1),
            },
        },
    }
    for given_ in (SCHEMA, tmp_path / "s.yml", str(tmp_path / "s.yml"), mapping):
        assert schema.of(given_) == SCHEMA
    made = schema.of(Domain({"sex": 2, "age": 3, "one": 1}, {"sex": ["f", "m"]}))
    assert made.domain.labels == {
        "sex": ("f", "m", "missing", "other"),
        "age": ("0", "1", "2", "missing"),
        "one": ("0", "missing", "other"),
    }
    for bad, said in (
        (3, "schema must be a path, a mapping, a Domain or a Schema, got int"),
        ({"attributes": {"a": {"values": []}}}, "values of 'a' must be a list of at least one string"),
        ({"attributes": {"a": 3}}, "attribute 'a' must be a mapping"),
        ({}, "the schema must contain attributes"),
    ):
        with pytest.raises(ValueError, match=said):
            schema.of(bad)


# ---- what is wrong with a schema


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, said",
    [
        ("", "s.yml must have attributes, got an empty file"),
        ("a: [", "s.yml, line 1, column 5: "),
        ("- a", "s.yml, line 1, column 1: the schema must be a mapping of names to values"),
        ("attribute: {}", "s.yml, line 1, column 1: the schema may contain only name, blanks, multiline, attributes, never, targets, got 'attribute'"),
        ("blanks: [x]", "s.yml, line 1, column 1: the schema must contain attributes"),
        ("attributes: {}", "s.yml, line 1, column 13: attributes must not be empty"),
        ("attributes:\n  a: {values: [x]}\n  a: {values: [y]}", "s.yml, line 3, column 3: attributes must contain 'a' only once"),
        ("attributes:\n  a: {}", "s.yml, line 2, column 6: attribute 'a' must have exactly one of values, range, dates, got none"),
        ("attributes:\n  a: {values: [x], range: [0, 1]}", "attribute 'a' must have exactly one of values, range, dates, got values, range"),
        ("attributes:\n  a:\n    values: [x]\n    bins: 3", "line 4, column 5: attribute 'a' may contain only values, unseen, missing, got 'bins'"),
        ("attributes:\n  a: {values: [x, x]}", "line 2, column 19: values of 'a' must be distinct strings (1.0 equals 1), none of them empty, got 'x'"),
        ("attributes:\n  a: {values: x}", "line 2, column 15: values of 'a' must be a list of at least one string, such as [a, b]"),
        ("attributes:\n  a: {values: [[x]]}", "line 2, column 16: a single string or number is expected here"),
        ("attributes:\n  a: {values: [x], missing: z}", "column 29: missing of 'a' must be missing, other or one of its values, got 'z'"),
        ("attributes:\n  a: {values: [x], unseen: z}", "column 28: unseen of 'a' must be missing, other or one of its values, got 'z'"),
        ("blanks: [x]\nattributes:\n  a: {values: [x]}", "line 3, column 6: attribute 'a' has the value 'x', which is also one of the blanks"),
        ("attributes:\n  a: {range: [0]}", "line 2, column 14: range of 'a' must be [first, last]"),
        ("attributes:\n  a: {range: [3, 3]}", "range of 'a' must be [first, last] with first below last"),
        ("attributes:\n  a: {range: [0, x]}", "line 2, column 18: an integer is expected here, got 'x'"),
        ("attributes:\n  a: {range: [0, nan], whole: no}", "line 2, column 18: a number is expected here, got 'nan'"),
        ("attributes:\n  a: {range: [0, 1.5]}", "an integer is expected here, got '1.5'"),
        ("attributes:\n  a: {range: [0, 9], bins: 11}", "line 2, column 28: bins of 'a' must be in [1, 10], got 11"),
        ("attributes:\n  a: {range: [0, 9], bins: [1, 5]}", "line 2, column 28: bins of 'a' must be increasing bin starts: the first must be 0, and all must be below 10"),
        ("attributes:\n  a: {range: [0, 9], bins: [0, 5, 5]}", "bins of 'a' must be increasing bin starts"),
        ("attributes:\n  a: {range: [0, 9], bins: [0, 9], whole: no}", "bins of 'a' must be increasing bin starts: the first must be 0, and all must be below 9"),
        ("attributes:\n  a: {range: [0, 9], whole: perhaps}", "whole must be one of yes, no, true, false, got 'perhaps'"),
        ("attributes:\n  a: {range: [0, 9], missing: 12}", "line 2, column 31: missing of 'a' must be the word 'missing' or a value within the range of 'a', got '12'"),
        ("attributes:\n  a: {range: [0, 9], missing: other}", "line 2, column 31: missing of 'a' must be the word 'missing' or a value within the range of 'a', got 'other'"),
        ("attributes:\n  a: {dates: [2001-01-01, 2001-13-01]}", "line 2, column 27: a date such as 2001-12-31 is expected here, got '2001-13-01'"),
        ("attributes:\n  a: {dates: [2001-01-01, 2002-01-01], by: decade}", "by must be one of year, quarter, month, day, got 'decade'"),
        ("attributes:\n  a: {dates: [1900-01-01, 2025-01-01], by: day}", "attribute 'a' must have at most 10,000 values, because each count gets separate noise, got 45,658; "),
        (f"attributes:\n  a: {{values: {list(range(10_000))}}}", "line 2, column 15: attribute 'a' must have at most 10,000 values, because each count gets separate noise, got 10,002; "),
        ("attributes:\n  a: {dates: [2001-01-01, 2002-01-01], format: '%d/%m'}", "format of 'a' must contain day, month and year, such as %d/%m/%Y, got '%d/%m'"),
        ("attributes:\n  a: {dates: [1950-01-01, 2002-01-01], format: '%d/%m/%y'}", "format of 'a' must distinguish 1950-01-01 from other days, got '%d/%m/%y'"),
        ("attributes:\n  a: {dates: [2001-01-01, 2002-01-01], format: 'Q'}", "line 2, column 48: format of 'a' must contain day, month and year"),
        ("attributes:\n  a: {range: [1e99, 1.0000000000000002e99], whole: no}", "line 2, column 14: the bins of 'a' are too narrow"),
        ("attributes:\n  a: {values: [x]}\nnever: a = x", "s.yml, line 3, column 8: never must be a list of at least one string"),
        ("attributes:\n  a: {values: [x]}\nnever: [a = x, a = y]", "s.yml, line 3, column 16: never must be a condition on attributes: a value of a must be one of x, missing, other, got 'y'"),
        ("attributes: {'': {values: [x]}}", "column 14: attributes may contain only non-empty names, got ''"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(text, said):
    with pytest.raises(ValueError) as refusal:
        schema.parse(text, "s.yml")
    assert str(refusal.value).startswith("s.yml") and said in str(refusal.value) and "\n" not in str(refusal.value)


@given(st.text(st.sampled_from("attributes: {}[]vlu,e\n- rg0123?&*!%|>\"'#x\x00\ud7ff"), max_size=60))
def test_any_text_is_a_schema_or_refused_in_a_sentence(text):
    try:
        schema.parse("attributes:\n  a: " + text)
    except ValueError as refusal:
        assert len(str(refusal).splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("deep", ["[", "{a: ", "- ", "? ", "[{"])
def test_a_text_of_a_thousand_levels_is_refused_in_a_sentence(tmp_path, deep):
    """Python's limit of recursion must not end the command with a traceback."""
    for text in (deep * 500, f"attributes: {{a: {deep * 500}"):
        with pytest.raises(ValueError) as refusal:
            schema.parse(text)
        assert len(str(refusal.value).splitlines()) == 1
    (tmp_path / "codebook.csv").write_text(f'attribute,kind,low,high\nx,whole,"{deep * 500}",9\n')
    with pytest.raises(ValueError, match="codebook.csv, line 2: "):
        schema.template(tmp_path / "codebook.csv")


LONG = "of a value that a codebook spells out at length as some do in a hundred letters and more so that one cell holds many"


@pytest.mark.slow
def test_a_codebook_may_have_many_long_values(tmp_path):
    (tmp_path / "codebook.csv").write_text(
        "attribute,kind,values\ncode,values," + "|".join(f"{i} {LONG}" for i in range(1_000))
    )
    assert len(schema.parse(schema.template(tmp_path / "codebook.csv")).attributes[0].labels) == 1_002


def test_a_blank_may_be_called_missing():
    made = schema.parse("blanks: [missing]\nattributes: {a: {values: [x]}, b: {range: [0, 1]}}")
    assert [sources.codes(each, pa.array(["missing"]), made.blanks)[0] for each in made.attributes] == [1, 2]


def test_a_file_is_read_and_refused_by_name(tmp_path):
    path = tmp_path / "s.yml"
    path.write_text("\ufeff" + TEXT, encoding="utf-8")
    assert schema.read(path) == SCHEMA
    path.write_bytes(b"\xef\xbb\xbf# values\nattributes: {a: {values: [\xe4]}}")
    with pytest.raises(ValueError, match="s.yml, line 2 must be UTF-8 text, got byte 0xe4"):
        schema.read(path)


# ---- the template from a codebook


def codebook(tmp_path, *lines):
    path = tmp_path / "codebook.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_codebook_proposes_a_schema(tmp_path):
    text = schema.template(
        codebook(
            tmp_path,
            "attribute,kind,values,low,high,bins,by,missing",
            "code,values,007|no|3 a: b,,,,,007",
            "age,whole,,0,120,0|18|65,,",
            "weight,real,,0.5,200,8,,2",
            "born,dates,,1900-01-01,2020-12-31,,month,1950-01-01",
        )
    )
    made = schema.parse(text)
    assert [each.kind for each in made.attributes] == list(schema.KINDS)
    assert made.domain.labels["code"] == ("007", "no", "3 a: b", "other") and made.attributes[0].missing == 0
    assert made.domain.sizes == (4, 4, 8, 121 * 12)
    assert "not from any data" in text


@pytest.mark.parametrize(
    "lines, said",
    [
        (["name,kind", "a,values"], "line 1: the columns must be attribute and kind, optionally values, low"),
        ([""], "line 1: the columns must be attribute and kind"),
        ([], "line 1: the columns must be attribute and kind"),
        (["attribute,kind,values,values", "a,values,x,y"], "line 1: the columns must be attribute and kind, optionally"),
        (["attribute,kind,low,high", "a,whole,>=0,99"], "line 2: an integer is expected here, got '>=0'"),
        (["attribute,kind,low,high", "a,whole,@0,[9"], "line 2: an integer is expected here, got '@0'"),
        (["attribute,kind,low,high", "a,dates,2001-13-45,2002-01-01"], "line 2: a date such as 2001-12-31 is expected here, got '2001-13-45'"),
        (["attribute,kind,low,high,bins", "a,whole,0,9,*|5"], "line 2: an integer is expected here, got '*'"),
        (["attribute,kind"], "must have a line for each attribute, got none"),
        (["attribute,kind,values", "a,values,x", "b,colour,x"], "line 3, column kind must be one of values, whole, real, dates, got 'colour'"),
        (["attribute,kind,values", "a,values,"], "line 2, column values is required for the kind values"),
        (["attribute,kind,low", "a,whole,3"], "line 2, column high is required for the kind whole"),
        (["attribute,kind,values", ",values,x"], "line 2, column attribute must not be empty"),
        (["attribute,kind,values", "a,values,x", "a,values,y"], "line 3, column attribute: duplicate attribute 'a'"),
        (["attribute,kind,values", "a,values"], "line 2 must have as many cells as the first line"),
        (["attribute,kind,values", "a,values,x,y"], "line 2 must have as many cells as the first line"),
        (["attribute,kind,low,high", "a,whole,0,ten"], "line 2: an integer is expected here, got 'ten'"),
        (["attribute,kind,values,by", "a,values,x,year"], "line 2: attribute 'a' may contain only values, unseen, missing, got 'by'"),
    ],
)  # fmt: skip
def test_a_bad_codebook_is_refused_with_its_line(tmp_path, lines, said):
    with pytest.raises(ValueError) as refusal:
        schema.template(codebook(tmp_path, *lines))
    assert "codebook.csv" in str(refusal.value) and said in str(refusal.value) and "\n" not in str(refusal.value)


# ---- bins that are too wide, and targets


@pytest.mark.parametrize(
    ("entry", "finer"),
    [
        ("{range: [0, 99], bins: 10}", None),
        ("{range: [0, 120], bins: [0, 18, 30, 65]}", None),  # the last bin does not double
        ("{range: [0, 120], bins: [0, 65]}", "[0, 1, 2, 4, 8, 16, 32, 65]"),
        ("{range: [-60, 1300], bins: [-60, 0, 15, 60, 240]}", "[-60, 0, 15, 60, 240, 480, 960]"),
        ("{range: [-100, 100], bins: 2, whole: no}", "[-100, -50, -25, -12, -6.2, -3.1, 0, 1.6, 3.1, 6.2, 12, 25, 50]"),
        ("{values: [a]}", None),
        ("{dates: [2001-01-01, 2020-12-31], by: year}", None),
    ],
)  # fmt: skip
def test_wide_bins_are_told_from_the_schema_alone_with_finer_ones(entry, finer):
    public = schema.parse(f"attributes: {{a: {entry}}}")
    said = schema.wide(public)
    assert bool(said) == (finer is not None)
    if finer and "-100" not in finer:
        assert finer in said
        parts = entry.replace("bins: [", "bins: [").partition("bins: ")
        again = schema.parse(f"attributes: {{a: {parts[0]}bins: {finer}{parts[2].partition(']')[2]}}}")
        assert not schema.wide(again)


def test_targets_and_a_name_are_read_and_saved():
    text = "{name: People, targets: [b], attributes: {a: {values: [x]}, b: {values: [y]}}}"
    public = schema.parse(text)
    assert (public.targets, public.name) == (("b",), "People") and schema.Schema.from_json(public.as_json()) == public
    with pytest.raises(ValueError, match="line 1, column 26: targets must be among a, b, got 'c'"):
        schema.parse(text.replace("[b]", "[c]"))


def test_the_warning_of_wide_bins_writes_large_numbers_in_full():
    public = schema.parse("attributes: {income: {range: [0, 200000], bins: 2}}")
    assert "off by up to 50000 because" in schema.wide(public)
