"""`utility`: against the printed definition by brute force, scikit-learn, and problems with known answers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from lib.tables import utility
from lib.tables.table import Domain, Table

properties = settings(derandomize=True, deadline=None, max_examples=40)
DOMAIN = Domain({"a": 3, "b": 2, "c": 4, "d": 1})


def random_table(seed, n, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table(rng.integers(0, domain.sizes, (n, len(domain))), domain)


def defined_error(real, synthetic, attributes):
    """Return |p_r(D) - p_r(D^)|_1 / |D| by counting records one by one."""
    frames = [table.to_frame() for table in (real, synthetic)]
    difference = {}
    for frame, sign in zip(frames, (1, -1)):
        for cell in frame[list(attributes)].itertuples(index=False):
            difference[cell] = difference.get(cell, 0) + sign
    return sum(map(abs, difference.values())) / len(real)


@pytest.mark.slow
@properties
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40), st.integers(1, 4))
def test_errors_are_definition_3_1(seed, n, m, alpha):
    real, synthetic = random_table(seed, n), random_table(seed + 1, m)
    sets = list(combinations(DOMAIN.attributes, alpha))
    assert utility.all_sets(DOMAIN, alpha) == sets
    each = [defined_error(real, synthetic, attributes) for attributes in sets]
    assert utility.marginal_errors(real, synthetic, sets) == pytest.approx(each)
    assert utility.marginal_error(real, synthetic, alpha) == pytest.approx(np.mean(each))
    weights = np.random.default_rng(seed).random(len(sets))
    weighted = sum(w * e for w, e in zip(weights, each)) / len(sets)  # divided by k, not by the weights' sum
    assert utility.workload_error(real, synthetic, sets, weights) == pytest.approx(weighted)


def test_a_worked_example():
    domain = Domain({"x": 2, "y": 2})
    real = Table([[0, 0], [0, 0], [0, 1], [1, 1]], domain)
    synthetic = Table([[0, 0], [1, 0], [1, 1], [1, 1]], domain)
    assert utility.marginal_error(real, synthetic, 1) == 0.5  # x: 2 cells off by 2 each; y: none
    assert utility.marginal_error(real, synthetic, 2) == 1.0  # 2,1,0,1 against 1,0,1,2
    assert utility.workload_error(real, synthetic, [("x",), ("y",), ("y", "x")], [1, 5, 2]) == 1.0


def test_a_wrong_number_of_records_is_an_error():
    real = random_table(5, 30)
    twice = Table(np.concatenate([real.records, real.records]), DOMAIN)
    assert utility.marginal_error(real, twice, 2) == pytest.approx(1)


def test_errors_lie_between_equal_and_disjoint_tables():
    real = random_table(1, 50)
    assert utility.marginal_error(real, real, 3) == 0
    low, high = (Table([[value] * 2] * 5, Domain({"x": 2, "y": 2})) for value in (0, 1))
    assert utility.marginal_error(low, high, 2) == 2


class Model:
    """Expected counts of a distribution: all that the errors ask for."""

    def __init__(self, domain, joint):
        self.domain, self.joint = domain, joint

    def marginal(self, attributes):
        axes = self.domain.axes(attributes)
        return np.einsum(self.joint, range(self.joint.ndim), axes)


def test_a_model_is_as_good_as_a_table():
    real, synthetic = random_table(8, 200), random_table(9, 150)
    model = Model(DOMAIN, synthetic.marginal(DOMAIN.attributes).astype(float))
    assert utility.marginal_error(real, model, 2) == pytest.approx(utility.marginal_error(real, synthetic, 2))
    assert utility.mutual_information_error(real, model) == pytest.approx(
        utility.mutual_information_error(real, synthetic)
    )


# ---- mutual information


@pytest.mark.slow
@properties
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_mutual_information_equals_scikit_learns(seed, n):
    table = random_table(seed, n)
    information = utility.mutual_information(table)
    assert information.shape == (4, 4) and (information == information.T).all() and (information >= 0).all()
    for (i, a), (j, b) in combinations(enumerate(DOMAIN.attributes), 2):
        peer = mutual_info_score(table.column(a), table.column(b))
        assert information[i, j] == pytest.approx(peer, abs=1e-12)
    for i, a in enumerate(DOMAIN.attributes):
        assert information[i, i] == pytest.approx(mutual_info_score(table.column(a), table.column(a)), abs=1e-12)


def test_mutual_information_of_a_copy_and_of_independence():
    x, y = np.divmod(np.arange(12), 4)
    table = Table(np.stack([x, y, y], axis=1), Domain({"x": 3, "y": 4, "z": 4}))
    logs = np.log([3, 4, 4])
    expected = np.array([[logs[0], 0, 0], [0, logs[1], logs[1]], [0, logs[1], logs[2]]])
    np.testing.assert_allclose(utility.mutual_information(table), expected, atol=1e-15)


def test_the_error_of_mutual_information_is_the_mean_over_pairs():
    x, y = np.divmod(np.arange(16), 4)
    domain = Domain({"x": 4, "y": 4, "z": 4})
    dependent, independent = Table(np.stack([x, y, y], 1), domain), Table(np.stack([x, y, 0 * y], 1), domain)
    assert utility.mutual_information_error(dependent, independent) == pytest.approx(np.log(4) / 3)
    assert utility.mutual_information_error(dependent, dependent) == 0


# ---- refusals

TABLE, OTHER = random_table(0, 10), Table([[0]], Domain({"a": 3}))
EMPTY = Model(DOMAIN, np.zeros((3, 2, 4, 1)))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("synthetic", lambda: utility.marginal_error(TABLE, OTHER, 1)),
        ("alpha", lambda: utility.marginal_error(TABLE, TABLE, 5)),
        ("alpha", lambda: utility.marginal_error(TABLE, TABLE, 1.5)),
        ("alpha", lambda: utility.all_sets(DOMAIN, 0)),
        ("workload", lambda: utility.workload_error(TABLE, TABLE, [])),
        ("workload", lambda: utility.workload_error(TABLE, TABLE, [()])),
        ("workload", lambda: utility.workload_error(TABLE, TABLE, ["a"])),
        ("attributes", lambda: utility.workload_error(TABLE, TABLE, [("e",)])),
        ("attributes", lambda: utility.workload_error(TABLE, TABLE, [("a", "a")])),
        ("weights", lambda: utility.workload_error(TABLE, TABLE, [("a",)], [1, 2])),
        ("weights", lambda: utility.workload_error(TABLE, TABLE, [("a",)], [-1])),
        ("synthetic must contain records", lambda: utility.marginal_error(TABLE, EMPTY, 1)),
        ("synthetic", lambda: utility.mutual_information_error(TABLE, OTHER)),
        ("number of attributes", lambda: utility.mutual_information_error(OTHER, OTHER)),
        ("table", lambda: utility.mutual_information(EMPTY)),
    ],
)
def test_bad_arguments_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=name):
        call()
