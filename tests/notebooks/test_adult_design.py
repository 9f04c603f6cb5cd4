"""Adult's ten attributes as records to perturb and as a design matrix: public sets, the same columns for every part."""

import numpy as np
import pandas as pd
import pytest

from lib.data import datasets
from lib.microdata.perturbation import pk_parameters
from notebooks.studies.adult_design import (
    AGES,
    EXPLANATORY,
    NUMERIC,
    TARGET,
    adult_kinds,
    adult_records,
    design_matrix,
)

FRAME = datasets.adult("test", missing="category", source="stand-in").head(500)


@pytest.mark.parametrize("age", AGES)
def test_the_attributes_are_those_of_table_2(age):
    kinds = adult_kinds(age=age)
    assert list(kinds) == [*EXPLANATORY, TARGET] and len(EXPLANATORY) == 10
    ranges = {name for name, kind in kinds.items() if np.ndim(kind)}
    assert ranges == {*NUMERIC} | ({"age"} if age == "numeric" else set())
    assert (kinds["workclass"], kinds["occupation"], kinds["sex"], kinds["income"]) == (
        9,
        15,
        2,
        2,
    )  # "?" is one of 9, of 15
    assert kinds["age"] == ((17, 90) if age == "numeric" else 74)


@pytest.mark.parametrize("age", AGES)
def test_records_are_codes_and_values(age):
    records = adult_records(FRAME, age=age)
    assert list(records) == list(adult_kinds(age=age)) and list(records.index) == list(FRAME.index)
    assert (records["age"] == FRAME["age"] - (17 if age == "categorical" else 0)).all()
    assert (records["income"] == (FRAME["income"] == ">50K")).all()
    assert (records["capital-gain"] == FRAME["capital-gain"]).all()
    for name in ("workclass", "occupation", "relationship"):  # as many codes as values, and one for each
        assert (records.groupby(FRAME[name])[name].nunique() == 1).all()
        assert records[name].nunique() == FRAME[name].nunique()
    assert (records.loc[FRAME["occupation"] == "?", "occupation"] == 14).all()
    pk_parameters(10, len(records), adult_kinds(age=age)).check(records)  # what a perturbation takes


def test_the_design_has_a_column_for_each_category_and_each_number():
    kinds = {"sex": 2, "occupation": 15, "age": (17, 90)}
    records = adult_records(FRAME)
    design = design_matrix(records, kinds)
    assert design.shape == (500, 18)
    expected = pd.get_dummies(records["occupation"].astype(int)).reindex(columns=range(15), fill_value=False)
    np.testing.assert_array_equal(design[:, 2:17], expected)
    np.testing.assert_array_equal(design[:, :2].sum(axis=1), 1)
    np.testing.assert_allclose(design[:, 17], (records["age"] - 17) / 73)


def test_scalings():
    kinds, records = {"age": (17, 90), "hours-per-week": (1, 99)}, adult_records(FRAME)
    plain = design_matrix(records, kinds, scaling="none")
    np.testing.assert_array_equal(plain, records[["age", "hours-per-week"]])
    standard = design_matrix(records, kinds, scaling="standard")
    np.testing.assert_allclose([standard.mean(axis=0), standard.std(axis=0)], [[0, 0], [1, 1]], atol=1e-12)
    other = design_matrix(records.head(10), kinds, scaling="standard", reference=records)
    np.testing.assert_array_equal(other, standard[:10])
    constant = design_matrix(records.assign(age=20), kinds, scaling="standard")
    assert (constant[:, 0] == 0).all()


def test_any_part_has_the_same_columns():
    kinds, records = adult_kinds(), adult_records(FRAME)
    assert design_matrix(records.head(1), kinds).shape[1] == design_matrix(records, kinds).shape[1] == 48 - 2


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("sex", FRAME.drop(columns="sex")),
        ("occupation", FRAME.assign(occupation="Astronaut")),
        ("age", FRAME.assign(age=16)),
        ("capital-gain", FRAME.assign(**{"capital-gain": np.nan})),
    ],
)
def test_frames_that_are_not_adult_are_refused(name, frame):
    with pytest.raises(ValueError, match=name):
        adult_records(frame)


def test_bad_options_are_refused():
    records = adult_records(FRAME)
    with pytest.raises(ValueError, match="age"):
        adult_kinds(age="ordinal")
    with pytest.raises(ValueError, match="scaling"):
        design_matrix(records, {"sex": 2}, scaling="log")
    with pytest.raises(ValueError, match="occupation"):
        design_matrix(records, {"occupation": 3})
    with pytest.raises(ValueError, match="age"):
        design_matrix(records, {"age": (17, 30)})
