"""`mechanisms.exponential`: frequencies against the exact law, extremes, refusals."""

import numpy as np
import pytest
from scipy.stats import chisquare

from lib.mechanisms import exponential


@pytest.mark.parametrize("epsilon, sensitivity", [(1.0, 1.0), (3.0, 2.0), (0.0, 1.0)])
def test_frequencies_follow_the_exact_law(epsilon, sensitivity):
    """False alarm in 1 of 10,000 seeds."""
    rng, scores = np.random.default_rng(1), np.array([0.0, 1.0, 2.5, -1.0])
    counts = np.bincount([exponential(scores, epsilon, sensitivity, rng=rng) for _ in range(20_000)], minlength=4)
    law = np.exp(epsilon * scores / (2 * sensitivity))
    assert chisquare(counts, 20_000 * law / law.sum()).pvalue > 1e-4


def test_huge_scores_neither_overflow_nor_err():
    rng = np.random.default_rng(2)
    assert exponential([0.0, 1e300], 1.0, 1.0, rng=rng) == 1
    assert exponential([-1e300, -1e280], 1.0, 1.0, rng=rng) == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], 1, 1), "shape"), (([[1.0]], 1, 1), "shape"), (([np.nan], 1, 1), "scores must be in"),
        (([np.inf], 1, 1), "scores must be in"), (([1.0], -1, 1), "epsilon must be in"), (([1.0], 1, 0), "sensitivity must be in"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        exponential(*arguments, rng=np.random.default_rng(0))
