"""Compare the interval bounds of `lib.networks.intervals` with actual records (sei2017, section 4-2 (3))."""

from __future__ import annotations

import numpy as np

from lib.networks.intervals import Intervals, change_bounds
from lib.networks.network import Network, checked_records, layers
from lib.numerics import checks


def observed(network, features, labels, *, chunk=256) -> Intervals:
    """Return the smallest and largest values over the records, in the form of `change_bounds` and in float64.

    features, labels : as for `network.train`; chunk : integer >= 1, the number of records processed at a time
    """
    features, labels = checked_records(features, labels, network)
    chunk = checks.whole("chunk", chunk, "[1, inf)")
    extremes = None
    for start in range(0, len(labels), chunk):
        found = [
            _extremes(values)
            for values in passes(network, features[start : start + chunk], labels[start : start + chunk])
        ]
        extremes = found if extremes is None else [_widened(*both) for both in zip(extremes, found)]
    return Intervals(*extremes)


def passes(network, features, labels):
    """Return inputs, outputs, errors and changes of weights of each record, lists over layers with the records first (axis 0)."""
    network = Network(network.widths, network.parameters.astype(float))
    pairs, outputs = layers(network.widths, network.parameters), network.outputs(features)
    inputs = [y @ w + b for y, (w, b) in zip(outputs, pairs)]
    errors = [outputs[-1] - np.eye(network.widths[-1])[labels]]
    for (w, _), x in zip(pairs[:0:-1], inputs[-2::-1]):
        errors.insert(0, np.where(x > 0, errors[0] @ w.T, 0))
    return inputs, outputs, errors, [y[:, :, None] * delta[:, None, :] for y, delta in zip(outputs, errors)]


def _extremes(values):
    return [(one.min(axis=0), one.max(axis=0)) for one in values]


def _widened(first, second):
    return [(np.minimum(a[0], b[0]), np.maximum(a[1], b[1])) for a, b in zip(first, second)]


def within(inner, outer, *, tolerance=1e-12) -> bool:
    """Return whether all pairs (low, high) of the list `inner` lie inside those of `outer`, up to rounding.

    tolerance : in [0, 1], relative to 1 + |low| + |high| of the outer pair
    """
    tolerance = checks.number("tolerance", tolerance, "[0, 1]")
    for (least, most), (low, high) in zip(inner, outer, strict=True):
        room = tolerance * (1 + np.abs(low) + np.abs(high))
        if not ((least >= low - room).all() and (most <= high + room).all()):
            return False
    return True


def looseness(network, features, labels, *, variant="corrected") -> dict[str, np.ndarray]:
    """Return how many times wider the computed intervals are than the records' range, by layer: at least 1, or NaN.

    The keys "inputs", "errors" and "weights" (changes of weights) map to arrays (L,). An entry is the sum of the widths
    of a layer's intervals, divided by the sum of the observed ranges. If no observed value varied, the entry is NaN for
    intervals of width 0, and inf for others.
    """
    computed, seen = change_bounds(network, variant=variant), observed(network, features, labels)
    found = {}
    for name in ("inputs", "errors", "weights"):
        spans = [[np.sum(high - low) for low, high in getattr(one, name)] for one in (computed, seen)]
        with np.errstate(divide="ignore", invalid="ignore"):
            found[name] = np.divide(*spans)
    return found
