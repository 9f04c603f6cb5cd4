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


@pytest.mark.parametrize("shape", [(), 3, (3, 350_001)], ids=str)
@pytest.mark.parametrize("scale", [1e-300, 0.7, 1e300])
@pytest.mark.parametrize("draw, numpys", [(noise.gaussian, "normal"), (noise.laplace, "laplace")])
def test_draws_are_those_of_numpy_in_double_precision(draw, numpys, scale, shape):
    """Every bit of them is the same, for up to a million draws and at any scale."""
    found = draw(shape, scale, rng=np.random.default_rng(2))
    wanted = getattr(np.random.default_rng(2), numpys)(scale=scale, size=shape)
    assert np.array_equal(found, wanted) and np.asarray(found).dtype == np.float64
