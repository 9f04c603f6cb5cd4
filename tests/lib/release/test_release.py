"""A release of a user's table: what it discloses, that it discloses no more, its files, and the command that makes them."""

import dataclasses
import datetime
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.accounting.certified import certified_zcdp
from lib.release import schema, sources
from lib.release import synthesizer as release
from lib.tables import utility
from lib.tables.graphical_model import GraphicalModel
from lib.tables.private_draws import ExactDraws
from lib.tables.residual_queries import RoundedDraws
from lib.tables.table import Domain, Table
from notebooks.tools import mine
from tests import made_up

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "notebooks/yours/example"
SCHEMA = schema.read(EXAMPLE / "schema.yml")
FILES = {"synthetic.csv", "synthetic.parquet", "errors.csv", "model.npz", "statement.txt"}


def members(n=250, seed=3, **changed):
    return made_up.library_members(n, rng=np.random.default_rng(seed)).assign(**changed)


@pytest.fixture
def read(tmp_path):
    """Return a function that makes a table of a frame of texts, by way of a CSV file."""

    def made(frame):
        frame.to_csv(tmp_path / "read.csv", index=False)
        return sources.read(tmp_path / "read.csv", SCHEMA)

    return made


# ---- what is told


@pytest.mark.slow
def test_sets_that_are_too_large_are_not_measured_and_told_as_such():
    """One pair has ten million cells, by the schema alone."""
    domain = Domain({"a": 5_000, "b": 2, "c": 2_002})
    table = Table(np.random.default_rng(1).integers([1_000, 2, 1_000], size=(300, 3)), domain)
    result = release.run(table, 1.0, 1e-9, seed=1)
    assert {"a", "c"} not in [set(m.attributes) for m in result.measurements]
    said = release.unmeasured(release.errors(result, 2))
    assert said == "These sets were not measured together: a × c (10,010,000 cells)."
    with pytest.raises(ValueError, match=r"workload must be in \[1, 3\], got 4"):
        release.run(table, 1.0, 1e-9, size=4, seed=1)


def test_the_report_names_what_was_measured_and_what_not(read):
    result = release.run(read(members(900)), 1.0, 1e-9, seed=1)
    sets = [*utility.all_sets(SCHEMA.domain, 1), *utility.all_sets(SCHEMA.domain, 2)]
    found = release.errors(result, 2)
    known = found["expected error of a count"].notna()
    covered = [any(set(names) <= set(m.attributes) for m in result.measurements) for names in sets]
    assert known.tolist() == covered and (found.index == [" × ".join(names) for names in sets]).all()
    shares = 100 * found["expected error of a count"] / result.model.total
    assert np.allclose(found["in % of all records"], shares, rtol=0.02, equal_nan=True)
    said = release.unmeasured(found, most=2)
    assert said.startswith("These sets were not measured together: ") and f" and {(~known).sum() - 2} more" in said
    assert release.unmeasured(found[known]) == "All sets were measured."
    assert f"AIM measured {len(result.steps)} tables of counts" in release.measured(result)


def test_the_errors_are_of_all_that_was_measured(read):
    """With sets of three asked for, AIM measures pairs too."""
    result = release.run(read(members(900)), 1.0, 1e-9, size=3, seed=1)
    found = release.errors(result, 3)
    assert found[found["expected error of a count"].notna()]["together"].value_counts()[2] >= 1
    for measured in result.measurements:
        if measured.attributes:
            error = found["expected error of a count"][" × ".join(measured.attributes)]
            assert error == pytest.approx(release.expected_error(result, measured.attributes), rel=0.01)


@pytest.mark.slow
def test_what_is_missing_or_not_listed_is_told_by_the_noisy_counts(read):
    frame = members(900)
    frame.loc[:599, "age"] = "27,5"
    frame.loc[:99, "card"] = "?"
    result = release.run(read(frame), 1e5, 1e-9, seed=1)
    found = release.treated(result, SCHEMA)
    exact = {
        name: read(frame).marginal((name,))[[each.missing, each.unseen]] / 9
        for name, each in ((each.name, each) for each in SCHEMA.attributes)
    }
    assert list(found.index) == list(SCHEMA.domain.attributes)
    assert found.missing[["card", "age"]].tolist() == pytest.approx([exact["card"][0], exact["age"][0]], abs=0.1)
    assert found.other[["card", "quarter"]].tolist() == pytest.approx([exact["card"][1], exact["quarter"][1]], abs=0.1)
    assert found.index[found.missing.isna()].tolist() == ["quarter", "loans", "fines"]
    assert found.index[found.other.isna()].tolist() == ["age", "joined", "loans", "fines"]
    assert found.index[found.mixed.isna()].tolist() == ["card", "quarter"]
    ends = 100 * read(frame).marginal(("loans",))[[0, -1]].max() / 900
    assert found.mixed["loans"] == pytest.approx(ends, abs=0.1)
    said = release.doubts(found)
    assert (
        re.match(r"According to the noisy counts, 6\d % of the values of age are missing or `other`\.", said)
        and "card" not in said
    )
    assert release.doubts(found.drop("age")) == ""


@pytest.mark.parametrize(
    ("fee", "sex", "doubted"),
    [
        ("12,50", "female", {"fee", "sex"}),  # no number, and a value that is not listed
        ("9999", "female", {"fee", "sex"}),
        ("12.50", "f", set()),
    ],
)
def test_a_schema_that_does_not_suit_is_doubted_whatever_it_makes_of_what_it_does_not_know(tmp_path, fee, sex, doubted):
    public = schema.parse(
        "attributes: {fee: {range: [0, 50], whole: no, bins: 10, missing: 0}, sex: {values: [f, m], missing: m, unseen: m}}"
    )
    (tmp_path / "t.csv").write_text("fee;sex\n" + 500 * f"{fee};{sex}\n")
    said = release.doubts(
        release.treated(release.run(sources.read(tmp_path / "t.csv", public), 1e4, 1e-9, seed=1), public)
    )
    assert set(re.findall(r"% of the values of (\w+) are in one value that also stands for", said)) == doubted


def test_a_value_of_the_codebook_that_is_called_other_is_no_doubt(tmp_path):
    public = schema.parse("attributes: {sex: {values: [female, male, other, missing]}}")
    (tmp_path / "t.csv").write_text("sex\n" + 300 * "other\n" + 100 * "missing\n" + 100 * "male\n" + "unknown\n")
    result = release.run(sources.read(tmp_path / "t.csv", public), 1e4, 1e-9, size=1, neighbours="bounded", seed=1)
    found = release.treated(result, public)
    assert found.loc["sex"].tolist() == pytest.approx([np.nan, np.nan, 60.1], abs=0.2, nan_ok=True)
    assert release.doubts(found) == "" and release.marks(public) == "No cell is empty."
    made = release.decoded(result.synthetic, public, rng=np.random.default_rng(1)).to_pydict()["sex"]
    assert Counter(made) == {"other": 301, "missing": 100, "male": 100}


def test_what_the_marks_stand_for_is_said_of_those_that_have_them():
    said = release.marks(SCHEMA)
    assert said.startswith(
        "An empty cell of card, age, joined is a missing value. In card, quarter, `other` stands for"
    )
    assert said.endswith("In quarter, a missing value and an unlisted one look alike.")
    assert (
        release.marks(schema.parse("attributes: {a: {values: [x, y], missing: x, unseen: y}}")) == "No cell is empty."
    )


def test_the_statement_says_what_is_promised_and_with_a_seed_that_nothing_is():
    said = release.statement(0.5, 1e-9, "unbounded")
    assert "(0.5, 1e-09)-differentially private" in said and "only one of them contains" in said
    assert "the number of records is public" in release.statement(0.5, 1e-9, "bounded")
    assert release.statement(0.5, 1e-9, "bounded", seed=0).startswith("**Not for release.**")


def test_a_run_for_release_is_exact_and_one_with_a_seed_repeats(read, monkeypatch):
    asked = []
    monkeypatch.setattr(release, "aim", lambda *given, **options: asked.append(options))
    release.run(read(members(20)), 1.0, 1e-9)
    release.run(read(members(20)), 1.0, 1e-9, seed=0)
    assert asked[0]["rng"] is None and asked[0]["records"] is None
    assert isinstance(asked[1]["rng"], np.random.Generator)
    monkeypatch.undo()
    one, same, other = (release.run(read(members(80)), 1.0, 1e-9, seed=seed).synthetic.records for seed in (4, 4, 5))
    assert one.tolist() == same.tolist() != other.tolist()


def test_a_run_for_release_costs_no_more_than_the_decimals_of_its_statement():
    """The float 0.1 is above a tenth: what the statement says in decimals is what was computed with."""
    table = Table(np.repeat([[0], [1]], 500, axis=0), Domain({"a": 2}))
    result = release.run(table, 0.1, 1e-9, size=1)
    promised = certified_zcdp(Fraction(1, 10), Fraction(1, 10**9))
    assert result.rho == promised < certified_zcdp(0.1, 1e-9)


# ---- that no more is told: where AIM's noisy answers are the same, so is all that goes out


def answer_alike(monkeypatch):
    """Replace noisy counts and choices by some that do not look at the records, and draw from a seed."""
    for draws in (ExactDraws, RoundedDraws):
        monkeypatch.setattr(
            draws,
            "noisy",
            lambda self, counts, scale: (np.arange(counts.size).reshape(counts.shape) % 7, float(scale)),
        )
    monkeypatch.setattr(ExactDraws, "choose", lambda self, scores, epsilon: list(scores)[-1])
    seeded = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda *_: seeded(1))


def told(table, folder, public=SCHEMA, neighbours="unbounded") -> dict:
    """Return all that a release of `table` gives out, by name."""
    result = release.run(table, 1.0, 1e-9, neighbours=neighbours)
    release.write(folder, result, public, 2, release.statement(1.0, 1e-9, neighbours))
    found = release.errors(result, 2)
    texts = [
        release.asked(public).to_html(),
        release.measured(result),
        found.to_html(),
        release.unmeasured(found),
        release.statement(1.0, 1e-9, neighbours),
    ]
    return {path.name: path.read_bytes() for path in folder.iterdir()} | dict(enumerate(texts))


OTHERS = {
    "more records": members(400),
    "others, and fewer": members(60, seed=9),
    "one value only": members(250, card="child", age="5"),
    "all missing or unseen": members(180, card="", age="none", quarter="Xanadu", joined="never", loans="?", fines="-"),
    "out of all bounds": members(250, age="1e9", loans="-1e9"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_where_the_noisy_answers_are_alike_all_that_is_told_is(read, monkeypatch, tmp_path, other):
    answer_alike(monkeypatch)
    first = told(read(members()), tmp_path / "first")
    assert FILES <= set(first)
    assert first == told(read(OTHERS[other]), tmp_path / "second")


def test_where_their_number_is_public_no_more_than_that_is_told(read, monkeypatch, tmp_path):
    answer_alike(monkeypatch)
    first, same, more = (
        told(read(frame), tmp_path / f"{number}", neighbours="bounded")
        for number, frame in enumerate((members(), OTHERS["out of all bounds"], OTHERS["more records"]))
    )
    assert first == same != more


@pytest.mark.slow
def test_planted_leaks_are_told_apart(read, monkeypatch, tmp_path):
    """The number of records, the unseen values, and a domain that is read off the records: each is noticed."""
    answer_alike(monkeypatch)
    tables = read(members()), read(OTHERS["all missing or unseen"])
    honest, current = release.measured, []
    for number, leak in enumerate((len, lambda table: table.marginal(("quarter",))[-1])):
        monkeypatch.setattr(release, "measured", lambda result: f"{honest(result)} {leak(current[-1])}")
        found = []
        for which, table in enumerate(tables):
            current.append(table)
            found.append(told(table, tmp_path / f"{number}{which}"))
        assert found[0] != found[1]
    monkeypatch.setattr(release, "measured", honest)
    found = []
    for which, frame in enumerate((members(), OTHERS["one value only"])):
        cards = ", ".join(sorted(set(frame.card) - {""}))
        public = schema.parse((EXAMPLE / "schema.yml").read_text().replace("child, adult, family, senior", cards))
        frame.to_csv(tmp_path / "leak.csv", index=False)
        found.append(told(sources.read(tmp_path / "leak.csv", public), tmp_path / f"domain{which}", public))
    assert found[0] != found[1]


PLANTED = """\
import numpy as np
from lib.tables.private_draws import ExactDraws
from lib.tables.residual_queries import RoundedDraws
for draws in (ExactDraws, RoundedDraws):
    draws.noisy = lambda self, counts, scale: (np.arange(counts.size).reshape(counts.shape) % 7, float(scale))
ExactDraws.choose = lambda self, scores, epsilon: list(scores)[-1]
seeded = np.random.default_rng
np.random.default_rng = lambda *_: seeded(1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", release.METHODS)
def test_the_whole_command_tells_no_more(tmp_path, method):
    """The report's page and every other file, from a CSV file and from a Parquet folder of other records."""
    (tmp_path / "sitecustomize.py").write_text(PLANTED)
    members().to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "other").mkdir()
    OTHERS["all missing or unseen"].to_parquet(tmp_path / "other/part.parquet")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    found, said = [], []
    for data in ("one.csv", "other"):
        words = ["-m", "notebooks.tools.mine", "release", "--data", tmp_path / data, "--schema", EXAMPLE / "schema.yml"]
        done = subprocess.run(
            [sys.executable, *words, "--method", method, "--output", tmp_path / f"out-{data}"],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        found.append({path.name: path.read_bytes() for path in (tmp_path / f"out-{data}").iterdir()})
        said.append(done.stdout.replace(data, "data"))
    assert set(found[0]) == FILES | {"report.html", "schema.yml"}
    assert found[0] == found[1] and said[0] == said[1]
    page = found[0]["report.html"].decode()
    assert all(
        text in page
        for text in (
            "What was asked",
            "half missing or",
            "(1, 1e-09)-differentially private",
            "inferred by the model",
            {"aim": "AIM measured", "staged": "staged residuals measured"}[method],
            "Members of a library",
            "Synthesizer.load",
        )
    )
    assert (
        "Not for release" not in page
        and not re.search(r"\bimport\b", page.replace("import Synthesizer", ""))
        and str(tmp_path) not in page
    )


# ---- the files

NAMES = st.text("abc é", min_size=1, max_size=4).map(str.strip).filter(bool)


@st.composite
def schemas(draw):
    """Return a schema of every kind of attribute, in YAML."""
    values = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    low, width, bins = draw(st.integers(-50, 50)), draw(st.integers(1, 60)), draw(st.integers(1, 5))
    first = draw(st.dates(datetime.date(1950, 1, 1), datetime.date(2050, 1, 1)))
    last = first + datetime.timedelta(draw(st.integers(1, 700)))
    by = draw(st.sampled_from(["year", "quarter", "month"]))
    numbers = f"range: [{low}, {low + width}], bins: {min(bins, width)}"
    kept = draw(st.sampled_from(["", f", missing: {low}"]))
    return schema.parse(
        f"attributes: {{v: {{values: {values!r}}}, w: {{{numbers}{kept}}}, r: {{{numbers}, whole: no}}, d: {{dates: [{first}, {last}], by: {by}}}}}"
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(schemas(), st.integers(0, 2**32), st.sampled_from(release.WITHIN))
def test_what_is_written_is_read_as_the_same_codes(tmp_path_factory, public, seed, within):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("files")
    table = Table(rng.integers(0, public.domain.sizes, size=(30, 4)), public.domain)
    counts = {each: rng.gamma(0.5, 10, n) for each, n in zip(public.domain.attributes, public.domain.sizes)}
    model = GraphicalModel(public.domain, {(name,): np.log(each + 1e-9) for name, each in counts.items()}, 30)
    released = release.Release(model, (), "gaussian", None, 1.0)
    values = release.decoded(table, public, within, rng=rng, release=released)
    pyarrow.csv.write_csv(values, folder / "t.csv")
    pyarrow.parquet.write_table(values, folder / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert (sources.read(folder / name, public).records == table.records).all()


@pytest.mark.parametrize("said", ["values: [x, y]", "range: [0, 9]", "dates: [2020-01-01, 2020-12-31]"])
def test_a_single_column_keeps_its_missing_values(said, tmp_path):
    public = schema.parse(f"attributes: {{a: {{{said}}}}}")
    missing = public.attributes[0].missing
    table = Table(np.array([[0], [missing], [1], [missing], [missing]]).repeat(40, axis=0), public.domain)
    result = release.run(table, 50.0, 1e-6, size=1, neighbours="bounded", seed=3)
    release.write(tmp_path, result, public, 1, "Nothing is.", seed=3)
    for name in ("synthetic.csv", "synthetic.parquet"):
        counted = sources.count(str(tmp_path / name), public, 1)
        assert np.array_equal(counted.marginal(("a",)), result.synthetic.marginal(("a",)))
    assert result.synthetic.marginal(("a",))[missing] > 100


def test_dates_of_a_form_of_their_own_are_read_again_from_all_that_is_written(tmp_path):
    public = schema.parse(
        "attributes: {d: {dates: [2001-01-01, 2001-12-31], by: month, format: '%d/%m/%Y'}, v: {values: [a]}}"
    )
    table = Table(np.repeat([[day, 0] for day in range(13)], 50, axis=0), public.domain)  # the last of them is missing
    result = release.run(table, 10.0, 1e-9, size=1, neighbours="bounded", seed=1)
    release.write(tmp_path, result, public, 1, "Nothing is.", seed=2)
    assert re.search(r'^"\d\d/\d\d/2001",', (tmp_path / "synthetic.csv").read_text(), flags=re.M)
    kept = pyarrow.parquet.read_schema(tmp_path / "synthetic.parquet")
    assert pyarrow.types.is_date(kept.field("d").type)
    for name in ("synthetic.csv", "synthetic.parquet"):
        assert (sources.read(tmp_path / name, public).records == result.synthetic.records).all()


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0000004, 1e-9), (2.0, 1.0000004e-9), (1.0, 1e-9)])
def test_no_statement_promises_more_than_was_run(epsilon, delta, seed):
    told = release.statement(epsilon, delta, "unbounded", seed)
    pair = re.search(r"\((\S+), (\S+)\)-differentially", told)
    assert (pair is None) == (seed is not None)
    if pair:
        assert float(pair[1]) >= epsilon and float(pair[2]) >= delta
        assert float(re.search(r"e\^(\S+) times", told)[1]) >= epsilon
        assert float(re.search(r"plus (\S+)\. ", told)[1]) >= delta


def test_numbers_lie_where_they_are_said_to_in_their_bins():
    public = schema.parse(
        "attributes: {w: {range: [0, 9], bins: [0, 4]}, r: {range: [0, 1], bins: 2, whole: no}, d: {dates: [2001-01-01, 2001-01-31], by: month}}"
    )
    table = Table(np.zeros((4_000, 3), dtype=int), public.domain)
    drawn = release.decoded(table, public, rng=np.random.default_rng(1)).to_pandas()
    assert set(drawn.w) == {0, 1, 2, 3} and set(drawn.d) == {datetime.date(2001, 1, day) for day in range(1, 32)}
    assert 0 <= drawn.r.min() < 0.01 and 0.49 < drawn.r.max() < 0.5
    # Uniform: each of four numbers a quarter, within four standard errors (false alarm: a run in 4,000, the seed is fixed)
    assert (np.abs(drawn.w.value_counts() - 1_000) < 4 * math.sqrt(4_000 * 3 / 16)).all()
    middle = release.decoded(table, public, "middle", rng=np.random.default_rng(1)).to_pandas()
    assert set(middle.w) == {2} and set(middle.r) == {0.25} and set(middle.d) == {datetime.date(2001, 1, 16)}


def test_own_missing_values_become_empty_cells(read):
    table = read(members(250, card=["", "?"] * 125, age="", quarter=""))
    values = release.decoded(table, SCHEMA, rng=np.random.default_rng(1)).to_pydict()
    assert values["card"] == [None, "other"] * 125 and set(values["age"]) == {None}
    assert set(values["quarter"]) == {"other"} and None not in values["loans"]


@pytest.mark.parametrize("neighbours, seed", [("unbounded", 1), ("bounded", None)])
def test_a_release_is_read_as_it_was_written(tmp_path, neighbours, seed):
    """An interval computed from the file must be that of the run."""
    domain = Domain({"a": 2, "b": 3, "c": 4}, {"a": ["x", "é"], "b": ["1", "2", "3"], "c": list("pqrs")})
    table = Table(np.random.default_rng(3).integers(2, size=(200, 3)), domain)
    result = release.run(table, 2.0, 1e-6, neighbours=neighbours, seed=seed)
    release.save(result, tmp_path / "m.npz")
    again = release.load(tmp_path / "m.npz")
    assert again.model.domain == domain and (again.noise, again.total, again.rho) == (
        result.noise,
        result.total,
        result.rho,
    )
    assert type(again.rho) is type(result.rho)
    for names in (("a",), ("b", "a")):
        assert (again.model.marginal(names) == result.model.marginal(names)).all()
    for name in domain.attributes:  # each was measured at first; which pairs were is chance
        counted, read = (release.intervals(each, (name,)) for each in (result, again))
        assert counted.equals(read) and (read["at least"] <= read["at most"]).all()
    for content in (b"", b"no model", (tmp_path / "m.npz").read_bytes()[:300]):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(ValueError, match="bad.npz must be a release that `save` wrote"):
            release.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", other=1)
    with pytest.raises(ValueError, match="bad.npz must be a release that `save` wrote"):
        release.load(tmp_path / "bad.npz")


class Harm:
    def __reduce__(self):
        return pytest.fail, ("the file ran code",)


HOSTILE = {
    "depth": lambda about, parts: "[" * 100_000,
    "rho 1/0": lambda about, parts: json.dumps(about | {"rho": "1/0"}),
    "rho 0": lambda about, parts: json.dumps(about | {"rho": "0"}),
    "rho of many digits": lambda about, parts: json.dumps(about | {"rho": "1e10000000"}),
    "rho of many words": lambda about, parts: json.dumps(about | {"rho": 10**400}),
    "total": lambda about, parts: json.dumps(about | {"total": -5}),
    "sigma": lambda about, parts: json.dumps(about | {"measured": [(names, "x") for names, _ in about["measured"]]}),
    "scale": lambda about, parts: json.dumps(about | {"passed": about["passed"] | {"scale": "x"}}),
    "settings": lambda about, parts: json.dumps(about | {"settings": 5}),
    "noise": lambda about, parts: parts.update(counts_0=np.full(np.shape(parts["counts_0"]), np.nan)),
    "pickle": lambda about, parts: parts.update(counts_0=np.array([Harm()], object)),
}


@pytest.mark.parametrize("kind", [*HOSTILE, "bare pickle", "encrypted"])
def test_a_hostile_file_is_refused_in_one_sentence(tmp_path, kind):
    domain = Domain.from_labels({"a": ["p", "q"], "b": ["r", "s"]})
    release.save(release.run(Table([[0, 0], [1, 1]] * 50, domain), 1.0, 1e-9), tmp_path / "bad.npz")
    with np.load(tmp_path / "bad.npz") as held:
        parts = dict(held)
    if kind in HOSTILE:
        parts["about"] = np.array(HOSTILE[kind](json.loads(str(parts["about"])), parts) or parts["about"])
        np.savez(tmp_path / "bad.npz", **parts)
    elif kind == "encrypted":
        content = bytearray((tmp_path / "bad.npz").read_bytes())
        for place in (each.start() for each in re.finditer(b"PK\x01\x02", content)):
            content[place + 8] |= 1
        (tmp_path / "bad.npz").write_bytes(content)
    else:
        (tmp_path / "bad.npz").write_bytes(pickle.dumps(Harm()))
    with pytest.raises(
        ValueError, match="bad.npz must be a release that `save` wrote, got a file that is not one"
    ) as told:
        release.load(tmp_path / "bad.npz")
    assert "unsafe" not in str(told.value)


def test_intervals_have_a_row_for_each_count():
    domain = Domain({"a": 2, "b": 2}, {"a": ["x", "y"], "b": ["1", "2"]})
    result = release.run(Table(np.array([[0, 0]] * 30 + [[1, 0]] * 50), domain), 20.0, 1e-3, size=2, seed=1)
    found = release.intervals(result, ("b", "a"))
    assert list(found.index) == [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")] and found.index.names == ["b", "a"]
    truth = np.array([30, 50, 0, 0])
    assert ((found["at least"] <= truth) & (truth <= found["at most"])).all()
    assert (np.abs(found["model"] - truth) < 10).all() and (np.abs(found["measured"] - truth) < 10).all()
    with pytest.raises(ValueError, match=r"attributes must not be empty"):
        release.intervals(result, ())
    with pytest.raises(ValueError, match=r"size must be .*\[1, 2\], got 0"):
        release.errors(result, 0)


def test_files_of_another_release_are_not_written_over(read, tmp_path):
    result = release.run(read(members(60)), 1.0, 1e-9, seed=1)
    (tmp_path / "errors.csv").write_text("mine")
    with pytest.raises(FileExistsError, match="errors.csv already exists, from another release"):
        release.write(tmp_path, result, SCHEMA, 2, "Nothing is.")
    assert {path.name for path in tmp_path.iterdir()} == {"errors.csv", "read.csv"}


# ---- the command


def command(capsys, *words):
    status = mine.main([str(word) for word in words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_what_cannot_be_used_ends_with_a_sentence_and_two(tmp_path, capsys):
    data, public, there = EXAMPLE / "members.csv", EXAMPLE / "schema.yml", tmp_path / "there"
    there.mkdir()
    (there / "synthetic.csv").write_text("x")
    (tmp_path / "bad.yml").write_text("attributes: 3")
    (tmp_path / "bad.csv").write_bytes(data.read_bytes() + b"too,few\n")
    (tmp_path / "file").write_text("x")
    out = tmp_path / "out"
    cases = [
        (
            (data, public, there),
            "for another release, whose epsilon adds to the total, name a new folder as the output",
        ),
        ((data, public, tmp_path / "file"), "file already exists"),
        ((data, tmp_path / "bad.yml", out), "bad.yml, line 1, column 13: attributes must be a mapping of names"),
        ((data, tmp_path / "none.yml", out), "none.yml: No such file or directory"),
        ((tmp_path / "none.csv", public, out), "data must be an existing file or folder, or an address"),
        ((data, public, out, "--epsilon", "0"), "epsilon must be in [1e-6, 1e6], got 0"),
        ((data, public, out, "--table", "t"), "table must be left out"),
        ((data, public, tmp_path / "file/out"), "file"),
    ]
    for (one, other, output, *rest), said in cases:
        status, _, error = command(capsys, "release", "--data", one, "--schema", other, "--output", output, *rest)
        assert status == 2 and said in error and error.count("\n") == 1, error
    assert {path.name for path in tmp_path.iterdir()} == {"there", "bad.yml", "bad.csv", "file"}


@pytest.mark.slow
def test_a_table_of_one_column_is_released_without_further_words(tmp_path, capsys):
    """A blank line is not a record; two quotation marks are a record with a missing value."""
    (tmp_path / "one.csv").write_text("ill\n" + 90 * "yes\n" + 60 * "\n" + 50 * '""\n' + 60 * "no\n")
    (tmp_path / "one.yml").write_text("attributes: {ill: {values: ['yes', 'no']}}")
    given = ("--data", tmp_path / "one.csv", "--schema", tmp_path / "one.yml", "--neighbours", "bounded")
    status, said, _ = command(capsys, "release", *given, "--epsilon", "1e4", "--output", tmp_path / "out")
    assert status == 0 and "; 1 attribute, epsilon" in said
    header, *lines = (tmp_path / "out/synthetic.csv").read_text().splitlines()
    assert header == '"ill"' and {line: lines.count(line) for line in lines} == {'"yes"': 90, '"no"': 60, '""': 50}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["bad line far below", "workload"])
def test_a_run_that_fails_ends_with_a_sentence_and_leaves_nothing(tmp_path, capsys, wrong):
    path = tmp_path / "bad.csv"
    lines = (EXAMPLE / "members.csv").read_text() * (1 if wrong == "workload" else 200)
    path.write_text(
        lines + "" if wrong == "workload" else lines.replace("\ncard,age,quarter,joined,loans,fines", "") + "too,few\n"
    )
    words = ("--workload", "6") if wrong == "workload" else ()
    small = tmp_path / "s.yml"
    small.write_text("attributes: {card: {values: [child, adult]}, age: {range: [0, 99]}}")
    status, _, error = command(
        capsys, "release", "--data", path, "--schema", small, "--output", tmp_path / "out", *words
    )
    said = "workload must be in [1, 2], got 6" if wrong == "workload" else "bad.csv, line 400002 must have 6 cells"
    assert status == 2 and said in error and error.count("\n") == 1
    assert {each.name for each in tmp_path.iterdir()} == {"bad.csv", "s.yml"}


@pytest.mark.slow
def test_a_schema_that_does_not_suit_the_file_is_told_on_the_screen(tmp_path, capsys):
    (tmp_path / "eu.csv").write_text("fee;sex\n" + 300 * "12,50;female\n" + 300 * "3,10;male\n")
    (tmp_path / "eu.yml").write_text("attributes: {fee: {range: [0, 99]}, sex: {values: [female, male]}}")
    given = ("--data", tmp_path / "eu.csv", "--schema", tmp_path / "eu.yml", "--output", tmp_path / "out")
    status, said, _ = command(capsys, "release", *given)
    assert status == 0 and re.search(
        r"\nAccording to the noisy counts, \d+ % of the values of fee are missing or `other`\. If", said
    )
    assert "% of the values of fee are missing or " in (tmp_path / "out/report.html").read_text()


# In place of the notebook's run: a file is written, and nothing more happens.
WAITS = """
import runpy, time
from pathlib import Path
from notebooks.tools import run
def waits(content):
    (next(Path("FOLDER").rglob("made")) / "synthetic.csv").touch()
    time.sleep(100)
run.execute = waits
runpy.run_module("notebooks.tools.mine", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_leaves_nothing(tmp_path, ends):
    """The run is ended when it has written files. A notebook really runs for the first signal; all are heard alike."""
    start = ["-m", "notebooks.tools.mine"] if ends == signal.SIGINT else ["-c", WAITS.replace("FOLDER", str(tmp_path))]
    words = ["release", "--data", EXAMPLE / "members.csv", "--schema", EXAMPLE / "schema.yml"]
    words = [sys.executable, *start, *words, "--workload", "1", "--output", tmp_path / "out"]
    heard = partial(
        signal.signal, ends, signal.SIG_DFL
    )  # where the tests are run in the background, interrupts are ignored
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as running:
        deadline = time.monotonic() + 120
        while not list(tmp_path.rglob("made/*")):
            assert time.monotonic() < deadline and running.poll() is None
            time.sleep(0.02)
        running.send_signal(ends)
        assert running.communicate()[1] == "interrupted; nothing was released\n" and running.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_what_takes_seconds_to_import_is_imported_where_an_interrupt_ends_with_a_sentence(
    capsys, monkeypatch, tmp_path
):
    code = "import sys, notebooks.tools.mine; sys.exit(bool({'lib', 'numpy', 'nbclient', 'yaml'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mine, "release", interrupted)
    said = "interrupted; nothing was released\n"
    assert command(capsys, "release", "--data", "a.csv", "--schema", "s.yml") == (130, "", said)
    (tmp_path / "synthetic.csv").touch()  # the last step was done
    found = command(capsys, "release", "--data", "a.csv", "--schema", "s.yml", "--output", tmp_path)
    assert found == (130, "", f"interrupted; the release in {tmp_path} is complete\n")


def test_a_schema_is_proposed_and_not_written_over(tmp_path, capsys):
    output = tmp_path / "schema.yml"
    assert command(capsys, "schema", EXAMPLE / "codebook.csv", "--output", output)[0] == 0
    assert dataclasses.replace(SCHEMA, name="") == schema.read(output)
    status, _, error = command(capsys, "schema", EXAMPLE / "codebook.csv", "--output", output)
    assert status == 2 and "already exists and is not overwritten" in error
    status, _, error = command(capsys, "schema", tmp_path / "none.csv", "--output", tmp_path / "new.yml")
    assert (
        status == 2 and error.endswith("none.csv: No such file or directory\n") and not (tmp_path / "new.yml").exists()
    )


# ---- targets


def test_targets_raise_the_weights_of_their_sets(read, monkeypatch):
    given = []

    def noted(table, epsilon, delta, workload, **_):
        given.append(workload)
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "aim", noted)
    for targets in ((), ("age",)):
        with pytest.raises(KeyboardInterrupt):
            release.run(read(members(20)), 1.0, 1e-9, seed=1, targets=targets)
    assert given[0] == 2 and set(given[1]) == set(utility.all_sets(SCHEMA.domain, 2))
    assert {names: weight for names, weight in given[1].items() if weight > 1} == {
        names: 8.0 for names in utility.all_sets(SCHEMA.domain, 2) if "age" in names
    }
    with pytest.raises(ValueError, match="attributes must be among"):
        release.run(read(members(20)), 1.0, 1e-9, seed=1, targets=["height"])


@pytest.mark.slow
def test_pairs_with_a_target_are_more_exact():
    """In twelve runs of each kind, the mean errors were .0162 and .0136, with standard errors of .0005."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (20_000, 8))
    codes[:, 1:] = np.where(rng.random((20_000, 7)) < 0.5, codes[:, :1], codes[:, 1:])
    codes[:, 7] = (codes[:, 1] + codes[:, 2] * (rng.random(20_000) < 0.5)) % 4
    table, found = Table(codes, Domain(dict.fromkeys("abcdefgh", 4))), []
    for targets in ((), ("h",)):
        models = [release.run(table, 1.0, 1e-9, seed=seed, targets=targets).model for seed in range(6)]
        errors = [
            np.abs(each.marginal((x, "h")) - table.marginal((x, "h"))).sum() for each in models for x in "abcdefg"
        ]
        found.append(np.mean(errors))
    assert found[1] < 0.93 * found[0]
