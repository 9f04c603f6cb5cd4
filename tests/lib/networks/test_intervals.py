"""Interval bounds against random records and against examples worked by hand, and their compiled form against the plain
one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.networks import intervals
from lib.networks.intervals import change_bounds
from lib.networks.network import Network, changes, layers
from notebooks.studies.interval_looseness import observed, within

BATCH = 40


@st.composite
def networks(draw):
    """Return a network with weights and biases of either sign, dead and saturated nodes included."""
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)) + [draw(st.integers(2, 4))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread, shift = draw(st.sampled_from([0.1, 1.0, 5.0])), draw(st.sampled_from([-2.0, 0.0, 1.0]))
    size = sum((n + 1) * m for n, m in zip(widths, widths[1:]))
    return Network(tuple(widths), rng.normal(shift, spread, size)), rng


def records(network, rng, n=BATCH):
    """Return uniform records and, as bounds are attained there, corners of the cube."""
    features = rng.random((n, network.widths[0]))
    features[::2] = np.round(features[::2])
    return features, rng.integers(network.widths[-1], size=n)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["corrected", "tight"])
@given(networks())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_every_record_stays_within_its_intervals(variant, case):
    network, rng = case
    found, seen = change_bounds(network, variant=variant), observed(network, *records(network, rng))
    for name in ("inputs", "outputs", "errors", "weights", "biases"):
        assert within(getattr(seen, name), getattr(found, name)), name


@given(networks())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_each_variant_lies_within_the_looser_one(case):
    network, _ = case
    tight, corrected = (change_bounds(network, variant=variant) for variant in ("tight", "corrected"))
    for name in ("inputs", "errors", "weights"):
        assert within(getattr(tight, name), getattr(corrected, name))
        assert name == "inputs" or all((low <= 0).all() and (high >= 0).all() for low, high in getattr(tight, name))


@given(networks())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_compiled_changes_lie_within_the_intervals_times_the_batch(case):
    network, rng = case
    change = changes(network, *records(network, rng))
    for (w, b), (low, high), (low_b, high_b) in zip(layers(network.widths, change), *bounds_of(network), strict=True):
        for part, least, most in ((w, low, high), (b, low_b, high_b)):
            room = 1e-9 * (1 + np.abs(least) + np.abs(most))
            assert (part >= BATCH * least - room).all() and (part <= BATCH * most + room).all()


def bounds_of(network):
    found = change_bounds(network)
    return found.weights, found.biases


@pytest.mark.slow
@given(networks())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_the_compiled_bounds_are_the_same(case):
    network, _ = case
    low, high = np.empty(network.size), np.empty(network.size)
    intervals.fill_change_bounds(network.parameters.copy(), np.array(network.widths), low, high)
    found = change_bounds(network)
    for vector, side in ((low, 0), (high, 1)):
        for (w, b), weights, biases in zip(layers(network.widths, vector), found.weights, found.biases, strict=True):
            np.testing.assert_allclose(w, weights[side], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(b, biases[side], rtol=1e-12, atol=1e-12)


def test_one_layer_by_hand():
    """x = w y + b with y in [0, 1]; errors y - t in [-1, 1]; changes as large as the input allows."""
    network = Network.of([[[2.0, -1.0]]], [[0.5, 0.25]], dtype="float64")
    found = change_bounds(network)
    np.testing.assert_array_equal(found.inputs, [[[0.5, -0.75], [2.5, 0.25]]])
    np.testing.assert_array_equal(found.errors, [[[-1, -1], [1, 1]]])
    np.testing.assert_array_equal(found.weights, [[[[-1, -1]], [[1, 1]]]])


def test_tight_softmax_is_attained():
    """With one input and opposite weights both ends of the probabilities occur, at y = 0 and y = 1."""
    network = Network.of([[[3.0, -2.0]]], [[-0.5, 0.5]], dtype="float64")
    low, high = change_bounds(network, variant="tight").outputs[-1]
    ends = network.predict_proba([[0.0], [1.0]])
    np.testing.assert_allclose(low, ends.min(axis=0), rtol=1e-14)
    np.testing.assert_allclose(high, ends.max(axis=0), rtol=1e-14)


def test_equation_21_as_printed_misses_the_truth():
    """The errata's example: a first layer that is always off, with bias -5, and a weight -1 behind it."""
    network = Network.of([[[-1.0]], [[-1.0, 0.0]]], [[-5.0], [0.0, 0.0]], dtype="float64")
    printed, corrected = change_bounds(network, variant="printed"), change_bounds(network)
    assert printed.outputs[1][1] == -5 and corrected.outputs[1][1] == 0
    assert [float(end[0]) for end in printed.inputs[1]] == [5, 0]  # low above high, and the truth is 0
    assert [float(end[0]) for end in corrected.inputs[1]] == [0, 0]
    low, high = printed.weights[1]
    assert (low > high).any()
    assert not change_bounds(network, variant="tight").errors[0][1].any()  # nothing passes a node that is off


def test_variants_agree_where_all_nodes_can_switch_on():
    network = Network.of([[[1.0, 2.0]], [[1.0, -1.0], [0.5, 2.0]]], [[0.0, 0.0], [0.0, 0.0]], dtype="float64")
    printed, corrected = change_bounds(network, variant="printed"), change_bounds(network)
    for one, other in zip(printed.weights, corrected.weights):
        np.testing.assert_array_equal(one, other)


def test_bad_input_is_refused():
    network = Network.initial((2, 3, 2), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="variant must be one of 'printed', 'corrected', 'tight', got 'exact'"):
        change_bounds(network, variant="exact")
