"""`Synthesizer`: tables of any kind in and out, a file that gives all back and tells no more, and records that can be."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

from lib.release import Synthesizer, restrictions, schema
from lib.release import synthesizer as release
from lib.tables.graphical_model import GraphicalModel
from lib.tables.table import Domain
from tests.lib.release.test_release import EXAMPLE, OTHERS, answer_alike, members

PUBLIC = {
    "attributes": {
        "home": {"values": list("abcde")},
        "work": {"values": list("abcdef")},
        "begin": {"range": [0, 23], "bins": 6},
        "end": {"range": [0, 23], "bins": [0, 2, 6, 10, 20]},
        "pay": {"range": [0, 100], "bins": 5, "whole": False},
    },
    "never": ["home = work", "end < begin", "pay is missing and home != a"],
}


def trips(n=3000, seed=1):
    """Return a table without records that the schema rules out, and with dependence."""
    rng = np.random.default_rng(seed)
    home = rng.integers(5, size=n)
    work = (home + 1 + np.minimum(rng.integers(5, size=n), rng.integers(5, size=n))) % 6
    begin = np.minimum(rng.poisson(6 + home), 23)
    end = np.minimum(begin + rng.poisson(4, size=n), 23)
    pay = np.where((home == 0) & (rng.random(n) < 0.3), np.nan, np.clip(10 * home + rng.normal(30, 9, n), 0, 100))
    letters = np.array(list("abcdef"))
    return pd.DataFrame({"home": letters[home], "work": letters[work], "begin": begin, "end": end, "pay": pay})


@pytest.fixture(scope="module")
def fitted():
    return Synthesizer(PUBLIC, epsilon=2.0, seed=3).fit(trips())


# ---- scikit-learn's conventions


def test_parameters_are_stored_as_given_and_cloned():
    given = {"schema": PUBLIC, "epsilon": 0.5, "delta": 1e-7, "workload": 1, "neighbours": "bounded", "records": 40,
             "within": "middle", "seed": 3, "method": "staged"}  # fmt: skip
    made = Synthesizer(**given)
    assert made.get_params() == given and made.get_params()["schema"] is PUBLIC
    copied = clone(made.fit(trips(200)))
    assert copied.get_params() == given and not hasattr(copied, "release_")
    assert {name for name in vars(made) if name.endswith("_")} == {"schema_", "release_", "result_"}
    assert repr(Synthesizer("s.yml", seed=None, workload=3)) == "Synthesizer(schema='s.yml', workload=3)"
    assert made.set_params(epsilon=9.0, seed=None) is made and made.epsilon == 9.0
    assert "**Not for release.**" in made.statement()  # of the run that was
    with pytest.raises(ValueError, match="parameters must be among schema, epsilon, .*, got 'eps'"):
        made.set_params(eps=1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 1e7}, "epsilon must be in .*1e-6, 1e6"),
        ({"delta": 2}, "delta must be"),
        ({"neighbours": "near"}, "neighbours must be one of"),
        ({"workload": 6}, r"workload must be in \[1, 5\], got 6"),
        ({"workload": 0}, r"workload must be in \[1, 5\], got 0"),
        ({"records": -1}, "records must be"),
        ({"within": "left"}, "within must be one of"),
        ({"seed": -1}, "seed must be"),
        ({"schema": 3}, "schema must be a path"),
        ({"schema": PUBLIC | {"never": ["home = x"]}}, "a value of home must be one of a, b, c, d, e, missing, other"),
        ({"schema": PUBLIC | {"never": ["home is missing", "not home is missing"]}}, "the conditions in never must permit at least one record"),
        ({"schema": {"attributes": {x: {"range": [0, 999], "bins": 1000} for x in "abc"}, "never": ["a < b and b < c or c < a"]}},
         "never must link fewer values, got a, b, c"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_before_a_record_is_read(wrong, said):
    class Unread:
        def __getattr__(self, name):
            raise AssertionError("read")

    with pytest.raises(ValueError, match=said):
        Synthesizer(**{"schema": PUBLIC, **wrong}).fit(Unread())


def test_what_was_not_fitted_says_so(tmp_path):
    for method, given in (
        ("sample", ()),
        ("query", ("count",)),
        ("save", (tmp_path / "m.npz",)),
        ("write", (tmp_path,)),
    ):
        with pytest.raises(ValueError, match=f"fit must be called before {method}"):
            getattr(Synthesizer(PUBLIC), method)(*given)
    assert not list(tmp_path.iterdir())


# ---- tables in and out


def kinds(tmp_path):
    """Return the same records as tables of many kinds, with the type of table that comes back."""
    frame = trips(400)
    frame.to_csv(tmp_path / "trips.csv", index=False)
    arrow = pa.Table.from_pandas(frame)
    found = {
        "pandas": (frame, pd.DataFrame),
        "arrow": (arrow, pa.Table),
        "reader": (pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches()), pa.Table),
        "path": (tmp_path / "trips.csv", pd.DataFrame),
    }
    try:
        import polars
    except ModuleNotFoundError:
        return found
    return found | {"polars": (polars.DataFrame(frame), polars.DataFrame)}


def test_a_table_of_the_kind_that_was_given_comes_back(tmp_path):
    made = {}
    for kind, (data, back) in kinds(tmp_path).items():
        found = Synthesizer(PUBLIC, seed=4).fit(data).sample(50)
        assert type(found) is back
        made[kind] = pa.table(found).to_pylist()
    assert all(rows == made["arrow"] for kind, rows in made.items() if kind in ("reader", "polars"))
    assert pd.DataFrame(made["path"]).equals(pd.DataFrame(made["pandas"]))
    again = Synthesizer(PUBLIC, seed=4).fit(Synthesizer(PUBLIC, seed=4).fit(trips(400)).sample())
    assert len(again.sample(7)) == 7


def test_a_domain_is_a_schema():
    frame = pd.DataFrame({"sex": ["f", "m"] * 200, "age": [0, 1, 2, 2] * 100})
    made = Synthesizer(Domain({"sex": 2, "age": 3}, {"sex": ["f", "m"]}), epsilon=100.0, seed=1).fit(frame).sample(400)
    assert set(made["sex"]) == {"f", "m"} and abs((made["age"] == 2).sum() - 200) < 5


# ---- the file


@pytest.mark.parametrize(
    ("neighbours", "method"), [("unbounded", "aim"), ("bounded", "aim"), ("unbounded", "staged"), ("bounded", "staged")]
)
def test_a_file_gives_everything_back(tmp_path, neighbours, method):
    given = {"epsilon": 0.1, "neighbours": neighbours, "within": "middle", "method": method}
    made = Synthesizer(PUBLIC, **given).fit(pa.Table.from_pandas(trips(500)))
    made.set_params(epsilon=0.01).save(tmp_path / "m.npz")  # whose promise is not this
    again = Synthesizer.load(tmp_path / "m.npz")
    assert again.get_params() == made.get_params() | {"schema": schema.of(PUBLIC), "epsilon": 0.1}
    assert "(0.1, 1e-09)-differentially" in again.statement() == made.statement()
    for question in ("count", "mean(pay) where home = a", "proportion(home = b and end >= 6)"):
        assert str(again.query(question)) == str(made.query(question))  # NaN is not equal to itself
    one, same = (each.set_params(seed=1).sample(60, where="home = b") for each in (made, again))
    assert isinstance(one, pa.Table) and one.to_pandas().equals(same)
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()
    with pytest.raises(ValueError, match="fit must be called before write"):
        again.write(tmp_path)


def test_the_file_of_a_release_is_one(tmp_path, fitted):
    (tmp_path / "out").mkdir()
    fitted.write(tmp_path / "out")
    again = Synthesizer.load(tmp_path / "out/model.npz")
    assert again.query("mean(pay)") == fitted.query("mean(pay)") and again.seed == 3
    release.save(fitted.result_, tmp_path / "bare.npz")
    assert release.load(tmp_path / "bare.npz").schema is None
    release.save(fitted.result_, tmp_path / "bare.npz", fitted.schema_)
    with pytest.raises(ValueError, match="bare.npz must contain its schema and parameters"):
        Synthesizer.load(tmp_path / "bare.npz")
    with pytest.raises(OSError):
        Synthesizer.load(tmp_path / "none.npz")
    release.save(fitted.release_, tmp_path / "odd.npz", fitted.schema_, fitted.release_.settings | {"seed": "x"})
    with pytest.raises(ValueError, match="seed must be"):
        Synthesizer.load(tmp_path / "odd.npz").sample(1)


def everything(frame, folder, method="aim"):
    """Return all that a synthesizer gives out for a release of `frame`, the file included."""
    text = (EXAMPLE / "schema.yml").read_text() + "never: [card = child and age >= 40, fines > 0 and loans = 0]\n"
    folder.mkdir()
    (folder / "schema.yml").write_text(text)
    made = Synthesizer(folder / "schema.yml", method=method).fit(frame)
    made.save(folder / "m.npz")
    made.write(folder)
    asked = [
        str(made.query(q))
        for q in ("count", "count where card = child", "mean(age)", "proportion(loans >= 4) where card = adult")
    ]
    told = {path.name: path.read_bytes() for path in folder.iterdir()}
    state = pickle.dumps({k: v for k, v in vars(made).items() if k not in ("schema", "_backend")})
    return told, asked, made.sample(30).to_csv(), made.sample(30, "age < 16").to_csv(), state


@pytest.mark.slow
@pytest.mark.parametrize("method", release.METHODS)
@pytest.mark.parametrize("other", OTHERS)
def test_where_the_noisy_answers_are_alike_a_synthesizer_tells_the_same(monkeypatch, tmp_path, other, method):
    """What is read of the records is what is paid for: the file, samples, answers and all that the object remembers."""
    answer_alike(monkeypatch)
    first = everything(members(), tmp_path / "first", method)
    assert first == everything(OTHERS[other], tmp_path / "second", method)
    assert str(tmp_path).encode() not in b"".join(first[0].values())  # nor where the schema was


@pytest.mark.slow
def test_planted_memories_are_told_apart(monkeypatch, tmp_path):
    answer_alike(monkeypatch)
    honest = Synthesizer.fit

    def leaking(self, data, table=""):
        honest(self, data, table)
        self.n_ = len(data)
        return self

    monkeypatch.setattr(Synthesizer, "fit", leaking)
    assert everything(members(), tmp_path / "1")[-1] != everything(OTHERS["more records"], tmp_path / "2")[-1]


# ---- conditions


def test_no_impossible_record_comes_out(fitted, tmp_path):
    fitted.write(tmp_path)
    drawn = [
        fitted.sample(4000),
        fitted.set_params(within="middle").sample(4000),
        pd.read_parquet(tmp_path / "synthetic.parquet"),
    ]
    fitted.set_params(within="uniform")
    for made in drawn:
        assert not (made.home == made.work).mask(made.home == "other", False).any()
        assert not (made.end < made.begin).any() and set(made.home[made.pay.isna()].dropna()) == {"a"}
        assert 0.02 < made.pay.isna().mean() < 0.12
    model = fitted.release_.model
    assert model.marginal(("home", "work"))[:5, :5].trace() < 1e-9 * model.total
    first = fitted.sample(6000)
    same_bin = first[(first.begin >= 10) & (first.end < 20) & (first.begin < 12)]
    assert len(same_bin) > 200 and same_bin.end.min() >= 10


@pytest.mark.slow
@pytest.mark.parametrize("workload", [1, 2])
def test_what_is_impossible_takes_no_accuracy_from_the_rest(workload):
    """Conditioning alone moves the counts of each attribute many times farther than the noise."""
    frame = trips(20_000)
    plain = {name: part for name, part in PUBLIC.items() if name != "never"}
    before = Synthesizer(plain, workload=workload, seed=1).fit(frame).result_
    public = schema.of(PUBLIC)
    after = restrictions.without(before.model, public.impossible, before.measurements)
    table = Synthesizer(PUBLIC, epsilon=1e5, seed=1).fit(frame).result_

    def errors(model, size):
        sets = [names for names in table.model.cliques if len(names) == size]
        return sum(np.abs(model.marginal(names) - table.model.marginal(names)).sum() for names in sets) / len(sets)

    assert errors(after, 1) < 1.1 * errors(before.model, 1) + 5
    assert errors(after, 2) < errors(before.model, 2)
    for condition in public.impossible:
        names = [each.name for each in condition.attributes]
        impossible = condition.cells(condition.attributes)[0]
        assert after.marginal(names)[impossible].sum() < 1e-9 * after.total
        if workload == 1:
            assert before.model.marginal(names)[impossible].sum() > 0.01 * after.total


def test_records_are_drawn_given_a_condition(fitted):
    """Their counts are the model's over the records that fulfil it."""
    where = "home in (b, c) and (begin < 8 or pay >= 60)"
    model = fitted.release_.model.marginal(("home", "begin", "pay"))[1:3]
    kept = np.zeros(model.shape[1:], bool)
    kept[:2], kept[:, 3:5] = True, True
    expected = (model * kept).sum(axis=(1, 2))
    made = fitted.sample(where=where)
    assert len(made) == pytest.approx(expected.sum(), abs=1)
    assert np.abs(made.home.value_counts()[["b", "c"]] - expected).max() < 3
    assert set(made.home) == {"b", "c"} and ((made.begin < 8) | (made.pay >= 60)).all()
    assert set(fitted.sample(1, "work = f").work) == {"f"}
    for bad, said in (
        ("home = work", "where must be true or false throughout each value and bin of the schema"),
        ("home = a and work = a", "where must hold for some record of the model"),
        ("pay < 3", r"start of a bin \(pay: 0, 20, 40, 60, 80\)"),
        ("wage = 3", "an attribute must be one of home, work, begin, end, pay"),
    ):
        with pytest.raises(ValueError, match=said):
            fitted.sample(5, bad)
    with pytest.raises(ValueError, match=r"n must be .*\[1, inf\), got 0"):
        fitted.sample(0)


def test_a_record_that_rounding_let_through_is_replaced():
    """Whatever the sampler does, no record fulfils a condition of `never`."""
    public = schema.of(PUBLIC)
    model = GraphicalModel(public.domain, {}, 500)
    made = release.decoded(
        model.synthesize(rng=np.random.default_rng(1)), public, rng=np.random.default_rng(2)
    ).to_pandas()
    assert len(made) == 500 and not (made.home == made.work).mask(made.home == "other", False).any()
    assert not (made.end < made.begin).any()
    with pytest.raises(ValueError, match="the conditions in never must permit at least one record"):
        release.decoded(model.synthesize(3, rng=np.random.default_rng(1)), schema.of(PUBLIC | {"never": ["not home = home"]}),
                        rng=np.random.default_rng(2), never=schema.of(PUBLIC | {"never": ["begin >= 0 or begin is missing"]}).impossible)  # fmt: skip
