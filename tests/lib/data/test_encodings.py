"""`encodings`: the domains of the document's Table 1, public bins, and the record counts of the real files."""

import numpy as np
import pandas as pd
import pytest

from lib.data import datasets, encodings
from tests import made_up


def test_the_domains_are_those_of_table_1():
    assert encodings.adult_domain().sizes == (8, 16, 7, 14, 6, 5, 2, 41, 2)
    assert encodings.bank_domain().sizes == (11, 3, 7, 2, 2, 2, 2, 12, 5, 3, 2)
    assert encodings.adult_domain(missing="category").shape(["workclass", "native-country", "sex"]) == (9, 42, 2)
    assert encodings.bank_domain(missing="category").shape(["job", "loan", "contact"]) == (12, 3, 2)


def test_all_of_adult_has_15_attributes_of_at_most_32_values_but_the_country():
    domain = encodings.adult_domain(numeric=True)
    assert domain.attributes == datasets.ADULT_COLUMNS
    assert all(size <= 32 for name, size in zip(domain.attributes, domain.sizes) if name != "native-country")


@pytest.mark.parametrize("name", list(encodings.ADULT_BINS))
def test_bins_cover_the_public_range(name):
    cuts, (low, high) = encodings.ADULT_BINS[name], datasets.PUBLIC_RANGES[name]
    assert cuts[0] <= low and cuts[-1] > high and (np.diff(cuts) > 0).all()


def test_values_fall_into_the_bin_that_starts_at_or_below_them():
    frame = made_up.numeric_adult(500, rng=np.random.default_rng(1))
    for name in encodings.ADULT_BINS:
        for value, label in zip(frame[name], encodings._binned(frame)[name]):
            first, _, last = label.partition("-")
            assert int(first) <= value <= int(last or first)


def test_values_beyond_the_bins_are_left_for_the_table_to_refuse():
    frame = made_up.numeric_adult(10, rng=np.random.default_rng(1))
    frame.loc[0, "age"] = 200
    assert encodings._binned(frame)["age"][0] == 200


def test_a_wrong_word_is_refused():
    with pytest.raises(ValueError, match="missing must be one of"):
        encodings.bank_domain(missing="keep")


@pytest.mark.slow
@pytest.mark.skipif(not datasets.available("adult"), reason="needs the real Adult files")
def test_adult_has_the_documents_number_of_records():
    assert len(encodings.adult_table(download=False)) == 30162
    assert len(encodings.adult_table("all", numeric=True, missing="category", download=False)) == 48842


@pytest.mark.slow
@pytest.mark.skipif(not datasets.available("bank"), reason="needs the real Bank file")
def test_bank_has_the_documents_number_of_records():
    assert len(encodings.bank_table(download=False)) == 30488
    assert len(encodings.bank_table(missing="category", download=False)) == 41188


@pytest.mark.slow
@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("missing", encodings.MISSING)
def test_the_stand_ins_make_tables_over_the_same_domains(numeric, missing):
    table = encodings.adult_table("test", numeric=numeric, missing=missing, source="stand-in")
    assert table.domain == encodings.adult_domain(numeric=numeric, missing=missing)
    frame = datasets.adult("test", source="stand-in")
    assert len(table) == (len(frame) if missing == "category" else len(frame.dropna()))
    bank = encodings.bank_table(missing=missing, source="stand-in")
    assert bank.domain == encodings.bank_domain(missing=missing)
    assert len(bank) == len(datasets.bank(source="stand-in")) if missing == "category" else 25_000 < len(bank) < 41_188


@pytest.mark.parametrize("name", list(encodings.ADULT_BINS))
def test_positions_of_bins_are_the_codes_of_their_labels(name):
    labels = encodings.adult_domain(numeric=True).values(name)
    assert encodings.bin_positions(name, labels).tolist() == list(range(len(labels)))


@pytest.mark.parametrize("labels", [["b", "a", "?"], [17, 18, 19]])
def test_codes_are_places_in_the_list(labels):
    column = pd.Series([labels[2], labels[0], labels[0]], index=[5, 7, 9])
    found = encodings.codes("it", column, labels)
    assert found.tolist() == [2, 0, 0] and np.issubdtype(found.dtype, np.integer)
    for stranger in ("A", None, np.nan, 16):
        with pytest.raises(ValueError, match=f"^it must be one of {labels[0]}, .*, got ".replace("?", "[?]")):
            encodings.codes("it", pd.Series([labels[1], stranger], dtype=object), labels)
