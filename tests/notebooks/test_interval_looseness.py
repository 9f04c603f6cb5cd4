"""The span of records, and how much wider the bounds are."""

import numpy as np
import pytest

from lib.networks.network import Network
from notebooks.studies.interval_looseness import looseness, observed, within
from tests.lib.networks.test_intervals import records


def test_within_sees_either_end_and_forgives_rounding():
    outer = [(np.zeros(2), np.ones(2)), (np.array([-5.0]), np.array([1e6]))]
    assert within([(np.array([0.0, -1e-13]), np.ones(2)), outer[1]], outer)
    assert not within([(np.array([0.0, -1e-9]), np.ones(2)), outer[1]], outer)
    assert not within([outer[0], (np.array([0.0]), np.array([1e6 + 1]))], outer)
    with pytest.raises(ValueError, match=r"tolerance must be in \[0, 1\], got -1"):
        within(outer, outer, tolerance=-1)


def test_looseness_is_at_least_one_and_exact_where_the_bounds_are():
    rng = np.random.default_rng(5)
    network = Network.initial((3, 8, 8, 2), rng=rng, dtype="float64")
    features, labels = records(network, rng, 3000)
    for variant in ("corrected", "tight"):
        for ratios in looseness(network, features, labels, variant=variant).values():
            assert ratios.shape == (3,) and (ratios >= 1).all()
    corners = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T  # they attain equation (20) in the first layer
    assert looseness(network, corners, np.arange(8) % 2)["inputs"][0] == pytest.approx(1, rel=1e-12)


def test_chunks_do_not_matter():
    rng = np.random.default_rng(6)
    network = Network.initial((3, 4, 2), rng=rng)
    features, labels = records(network, rng, 30)
    whole, parts = observed(network, features, labels), observed(network, features, labels, chunk=7)
    for one, other in zip(whole.weights, parts.weights):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_bad_input_is_refused():
    network = Network.initial((2, 3, 2), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="chunk must be in"):
        observed(network, [[0.5, 0.5]], [0], chunk=0)
    with pytest.raises(ValueError, match=r"features must be in \[0, 1\], got 2"):
        observed(network, [[0.5, 2.0]], [0])
