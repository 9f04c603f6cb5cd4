"""Counts of operations: what is counted is done, and done right; and each count against a formula."""

import numpy as np
import pytest

from lib.microdata import algorithm_1
from lib.microdata.iterative_bayes import ExpectationMaximisation
from lib.microdata.perturbation import RetentionReplacement
from lib.numerics.kernel_matrix import gaussian_kernel
from notebooks.studies import reconstruction_costs as costs
from notebooks.studies.reconstruction_costs import Counted, Tally

N, M = 40, 4
WEAK, RECORDS = costs.table(N, M, rng=np.random.default_rng(5))
P = costs.densities(WEAK, RECORDS, Tally())
Y = costs.dummies(RECORDS)


def test_the_work_is_done():
    np.testing.assert_allclose(P, WEAK.transitions(RECORDS).dense())
    np.testing.assert_allclose(costs.kernel(RECORDS, 5.0, Tally()), gaussian_kernel(Y, 5.0).dense())
    np.testing.assert_allclose(costs.beforehand(P, RECORDS, Tally()), P @ Y)
    alpha = np.linspace(1, 2, Y.shape[1])
    np.testing.assert_allclose(costs.gradient(P @ Y, alpha, Tally()), Y.T @ (P.T @ (1 / (P @ (Y @ alpha)))))
    rng = np.random.default_rng(2)
    observed, shares = rng.integers(1, 9, (3, 3, 3)).astype(float), rng.dirichlet(np.ones(27)).reshape(3, 3, 3)
    matrix = RetentionReplacement(3, 0.4).density(np.arange(3)[:, None], np.arange(3))
    expected, *_ = ExpectationMaximisation([matrix] * 3, observed).step(shares)
    np.testing.assert_allclose(costs.expectation_maximisation(shares, observed, 0.4, Tally()), expected)


@pytest.mark.parametrize(("n", "m"), [(40, 4), (60, 3)])
def test_counts_are_those_of_the_formulas(n, m):
    wide = m * costs.CATEGORIES
    assert costs.initial_kernel(n, m) == 2 * n**2 * m
    assert [costs.initial_linear(n, m, product=each) for each in (False, True)] == [n**2 * m, 2 * n**2 * m]
    assert costs.loop_kernel(n, m) == 4 * n**2 and costs.space_kernel(n, m) == 2 * n**2
    assert [costs.loop_linear(n, m, product=each) for each in (False, True)] == [2 * n**2 + 2 * n * wide, 2 * n * wide]
    assert [costs.space_linear(n, m, product=each) for each in (False, True)] == [n**2 + n * wide, n * wide]
    assert costs.loop_bayes(m) == (4 * m + 2) * costs.CATEGORIES**m


def test_an_iteration_is_that_of_the_algorithm():
    """All products with P and K are counted, and alpha is the same with the counter."""
    tally = Tally()
    counted, plain = (
        algorithm_1(*pair, max_iter=5, tol=0)[0] for pair in ((Counted(P, tally), Counted(Y, tally)), (P, Y))
    )
    np.testing.assert_array_equal(counted, plain)
    assert tally.operations > 5 * costs.iteration(P, Y)


def test_growth_is_compared_with_the_printed_order():
    grown = costs.growth(lambda n, m: n**2 * m + n, n=1000, m=10)
    assert grown["n"] == pytest.approx(4, rel=1e-3) and grown["m"] == pytest.approx(2, rel=1e-3)
    assert costs.within(grown, {"n": 4, "m": 2}) and not costs.within(grown, {"n": 2, "m": 2})
    assert not costs.within(grown, {"n": 4, "m": 1})
