"""Adult's 14 attributes in [0, 1]: against the raw fields, the public lists and hand counts."""

import numpy as np
import pytest

from lib.data import datasets
from lib.data.encodings import adult_domain
from notebooks.studies.network_features import adult_features, folds, one_hot

SOURCES = [
    pytest.param(
        "real", marks=pytest.mark.skipif(not datasets.available("adult"), reason="the real Adult is not at hand")
    ),
    "stand-in",
]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_value_can_be_read_back(source):
    frame = datasets.adult("all", source=source, download=False).dropna().reset_index(drop=True)
    features = adult_features(source=source, download=False)
    assert features.names == datasets.ADULT_COLUMNS[:-1]
    for name, level, column in zip(features.names, features.levels, features.values.T):
        if name in datasets.PUBLIC_RANGES:
            low, high = datasets.PUBLIC_RANGES[name]
            assert level == 0 and np.array_equal(np.rint(low + column * (high - low)), frame[name])
        else:
            values = np.array(adult_domain().values(name))
            assert level == len(values) and (values[np.rint(column * (level - 1)).astype(int)] == frame[name]).all()
    assert np.array_equal(features.labels, (frame["income"] == ">50K").to_numpy().astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("encoding", "inputs"), [("codes", 14), ("one-hot", 105)])
def test_inputs_lie_in_the_unit_cube(source, encoding, inputs):
    features = adult_features(encoding=encoding, source=source, download=False)
    assert (
        features.values.shape == (len(features.labels), inputs)
        and len(features.names) == len(features.levels) == inputs
    )
    assert 0 <= features.values.min() and features.values.max() <= 1
    assert set(np.unique(features.labels)) == {0, 1}
    if source == "real":
        assert len(features.labels) == 45_222 and features.labels.sum() == 11_208


def test_one_hot_has_one_value_of_each_attribute():
    features = adult_features(encoding="one-hot", source="stand-in")
    attributes = np.array([name.partition("=")[0] for name in features.names])
    for attribute in set(attributes) - set(datasets.PUBLIC_RANGES):
        assert (features.values[:, attributes == attribute].sum(axis=1) == 1).all()


@pytest.mark.slow
def test_one_hot_is_made_from_codes():
    codes, wanted = (adult_features(encoding=encoding, source="stand-in") for encoding in ("codes", "one-hot"))
    assert np.array_equal(one_hot(codes.values, codes.levels), wanted.values)
    numeric = [name for name, level in zip(wanted.names, wanted.levels) if level == 0]
    assert set(wanted.levels) == {0, 2} and numeric == list(datasets.PUBLIC_RANGES)
    for name, column in zip(wanted.names, wanted.values.T):
        attribute, _, label = name.partition("=")
        if label:
            place = codes.names.index(attribute)
            code = adult_domain().values(attribute).index(label) / (codes.levels[place] - 1)
            assert np.array_equal(column == 1, codes.values[:, place] == code)


@pytest.mark.slow
def test_a_logarithmic_scale_keeps_the_order_and_the_ends():
    linear, log = (adult_features(source="stand-in", numeric=scale).values[:, 10] for scale in ("linear", "log"))
    assert np.array_equal(np.argsort(linear, kind="stable"), np.argsort(log, kind="stable"))
    assert log.min() == 0 and log[linear == linear.max()].max() == log.max() <= 1
    assert np.allclose(np.expm1(log * np.log1p(99_999)), linear * 99_999)


@pytest.mark.parametrize(("n", "count"), [(10, 10), (45_222, 10), (11, 3)])
def test_folds_test_every_record_once(n, count):
    pairs = folds(n, count, rng=np.random.default_rng(1))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in pairs])), np.arange(n))
    for train, test in pairs:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    sizes = [len(test) for _, test in pairs]
    assert max(sizes) - min(sizes) <= 1


def test_folds_are_a_function_of_the_seed():
    first, again, other = (folds(100, rng=np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(first, other))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adult_features(encoding="hashed"), "encoding must be one of 'codes', 'one-hot', got 'hashed'"),
        (lambda: adult_features(numeric="rank"), "numeric must be one of 'linear', 'log', got 'rank'"),
        (lambda: adult_features(source="made up"), "source must be one of"),
        (lambda: one_hot([[0.5]], [2]), "values must be multiples of 1/1 in a column of 2 levels"),
        (lambda: one_hot([[0.5]], [1]), "levels must be 0 or at least 2"),
        (lambda: one_hot([[0.5, 1.5]], [0, 0]), r"values must be in \[0, 1\], got 1.5"),
        (lambda: folds(9, rng=np.random.default_rng(0)), r"n must be in \[10, inf\), got 9"),
        (lambda: folds(9, 1, rng=np.random.default_rng(0)), r"count must be in \[2, inf\), got 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_value_outside_its_public_domain_is_refused(monkeypatch):
    frame = datasets.adult("all", source="stand-in").head(20)
    for column, value, message in (("race", "Martian", "race must be one of White, .*, Black, got 'Martian'"),
                                   ("age", 16, r"age must be in \[17, 90\], got 16")):  # fmt: skip
        monkeypatch.setattr(datasets, "adult", lambda *_, **__: frame.assign(**{column: value}))
        with pytest.raises(ValueError, match=message):
            adult_features(source="stand-in")
