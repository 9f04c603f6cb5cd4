"""`noise` against the exact distribution functions."""

import numpy as np
import pytest
from scipy import stats

from lib.mechanisms import noise


@pytest.mark.parametrize("draw, law", [(noise.gaussian, stats.norm), (noise.laplace, stats.laplace)])
def test_draws_follow_their_law(draw, law):
    """Kolmogorov-Smirnov; false alarm in 1 of 10,000 seeds."""
    sample = draw((100, 200), 3.0, rng=np.random.default_rng(1))
    assert sample.shape == (100, 200)
    assert stats.kstest(sample.ravel(), law(scale=3.0).cdf).pvalue > 1e-4
    with pytest.raises(ValueError, match="must be in"):
        draw(3, 0.0, rng=np.random.default_rng(1))
