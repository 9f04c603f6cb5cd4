"""Place numbers within their bins, with densities that follow the neighbouring counts and positions that keep correlations.

A release says how many records a bin contains, but not where in the bin their values are. Three steps estimate these
positions from the counts of the model alone, so they cost no privacy.

1. In each bin the density is proportional to e^(tilt u), where u in [0, 1] is the position in the bin. The bin's count is kept.
   An inner bin has two slopes of the log density, one towards each edge. Its tilt is the slope with the smaller
   absolute value, or 0 if their signs differ, as in schemes that create no new maximum (van Leer 1979). At an edge, the
   log density is interpolated linearly between the middles of the two bins. In the first and the last bin, the density
   at the inner edge determines the tilt if the neighbouring bin is denser; otherwise the tilt is 0, because the values
   of such a bin may be anywhere in it.
2. Independent positions would weaken correlations. So positions follow a Gaussian copula. Each number has a latent
   normal variable, and each bin is an interval of this variable. The correlation of two latent variables is chosen so
   that the normal scores of the bins are correlated as in the model (a polychoric correlation; Olsson 1979). The latent
   variables of a record are drawn given its bins.
3. Only the order of the latent variables within a bin is used, so that the density in the bin stays that of step 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

Attribute = Any  # that of `schema`

_STEEPEST = 100.0  # tilt
_SWEEPS = 4  # of the Gibbs sampler
_TERMS = 24  # of the series for the correlation of scores
_CLOSEST = 0.99  # latent correlation
_STRONG = 0.5  # weaker latent correlations count as 0: in runs on public tables they made others worse
_MOST_CELLS = 1_000_000  # of a pair whose correlation is computed


def tilts(attribute: Attribute, counts: np.ndarray, least: float = 1.0) -> np.ndarray:
    """Return the tilt of each bin, an array (bins,).

    attribute : an attribute with bins; counts : [0, inf), array (bins,) or longer; further values are ignored
    least : (0, inf), the size of a count that noise alone may produce; smaller counts are raised to this size

    >>> import numpy as np
    >>> from lib.release import interpolation, schema
    >>> public = schema.parse("attributes: {delay: {range: [0, 1000], bins: [0, 10, 20, 40]}}")
    >>> print(interpolation.tilts(public.attributes[0], np.array([400.0, 200, 100, 50])).round(1).tolist())
    [0.0, -0.7, -0.2, -87.6]
    """
    starts = np.array(attribute.starts)
    if len(starts) == 1:
        return np.zeros(1)
    widths = _beyond(attribute) - starts
    heights = np.log(np.maximum(counts[: len(starts)], least) / widths)
    edges = (heights[:-1] * widths[1:] + heights[1:] * widths[:-1]) / (widths[:-1] + widths[1:])
    left, right = 2 * (heights[1:] - edges), 2 * (edges - heights[:-1])  # of the bins 1, ... and of the bins 0, ...
    inner = np.where(left[:-1] * right[1:] > 0, np.sign(right[1:]) * np.minimum(abs(left[:-1]), abs(right[1:])), 0.0)
    first, last = (max(edge - height, 0.0) for edge, height in ((edges[0], heights[0]), (edges[-1], heights[-1])))
    return np.array([-_tilt(first), *inner, _tilt(last)]) + 0.0


def _tilt(log_ratio: float) -> float:
    """Return the tilt of the density whose value at position 0 is its mean times e^`log_ratio`; log_ratio : [0, inf)."""
    if log_ratio < 1e-9:
        return 0.0

    def excess(tilt):
        return math.log(tilt / math.expm1(tilt)) - log_ratio if tilt else -log_ratio

    return -_STEEPEST if excess(-_STEEPEST) < 0 else float(scipy.optimize.brentq(excess, -_STEEPEST, 0.0, xtol=1e-6))


def moments(attribute: Attribute, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of a value in each bin, arrays (bins,), for the tilts (bins,)."""
    starts, whole = np.array(attribute.starts), attribute.kind != "real"
    widths = _beyond(attribute) - starts
    small = np.abs(tilt) < 1e-3
    safe = np.where(small, 1.0, tilt)
    mean = np.where(small, 0.5 + tilt / 12, -1 / np.expm1(-safe) - 1 / safe)
    variance = np.where(small, 1 / 12, 1 / safe**2 - 1 / (4 * np.sinh(safe / 2) ** 2))
    if whole:  # the numbers rounded down have a truncated geometric law
        each = safe / widths
        mean += np.where(small, -0.5 / widths, (1 / each + 1 / np.expm1(-each)) / widths)
        exact = 1 / (4 * np.sinh(each / 2) ** 2) - 1 / each**2
        variance += np.where(small, -1 / 12, exact) / widths**2
    return starts + widths * mean, np.maximum(widths**2 * variance, 0.0)


def placed(attribute: Attribute, bins: np.ndarray, positions: np.ndarray, tilt: np.ndarray) -> np.ndarray:
    """Return the numbers or days, floats (n,), whose quantile levels in the records' `bins` (n,) are `positions` (n,), [0, 1)."""
    starts, real = np.array(attribute.starts), attribute.kind == "real"
    low, high, steep = starts[bins], _beyond(attribute)[bins], tilt[bins]
    small = np.abs(steep) < 1e-6
    safe = np.where(small, 1.0, steep)
    bent = np.log1p(positions * np.expm1(safe)) / safe
    values = low + np.where(small, positions, bent) * (high - low)
    return np.minimum(values, np.nextafter(high, low)) if real else np.clip(np.floor(values), low, high - 1)


def steps(attribute: Attribute, tilt: np.ndarray, count: int) -> tuple[list, np.ndarray]:
    """Divide the range into steps and return their smallest and largest values, and how much of each bin lies below them.

    count : the number of steps in a bin; with 0, each bin is one step

    The second result is an array (steps + 1, bins) of proportions, whose last row is 1.
    """
    starts, beyond, whole = np.array(attribute.starts), _beyond(attribute), attribute.kind != "real"
    ends, below = [], [np.zeros(len(starts))]
    for place, (start, end, steep) in enumerate(zip(starts, beyond, tilt)):
        cuts = np.linspace(start, end, max(count, 1) + 1)
        cuts = np.unique(np.round(cuts)) if whole else cuts
        shares = (cuts[1:] - start) / (end - start)
        shares = shares if abs(steep) < 1e-6 else np.expm1(steep * shares) / math.expm1(steep)
        ends += [(float(a), float(b - whole)) for a, b in zip(cuts, cuts[1:])]
        below += [
            np.where(np.arange(len(starts)) < place, 1.0, np.where(np.arange(len(starts)) == place, share, 0.0))
            for share in shares
        ]
    return ends, np.array(below)


def _beyond(attribute) -> np.ndarray:
    return np.append(attribute.starts[1:], attribute.last + (attribute.kind != "real"))


class Copula:
    """The latent correlations of the numbers and dates among `attributes`, and draws of positions given the bins.

    marginal : function from names of attributes to their counts, such as the `marginal` of a model
    """

    def __init__(self, marginal: Callable[[tuple[str, ...]], np.ndarray], attributes: Sequence[Attribute]) -> None:
        self.attributes = [each for each in attributes if len(each.starts) > 1]
        self.cuts = {each.name: _cuts(marginal((each.name,))[: each.declared]) for each in self.attributes}
        self.correlations = np.eye(len(self.attributes))
        for j, one in enumerate(self.attributes):
            for i, other in enumerate(self.attributes[:j]):
                if len(one.labels) * len(other.labels) <= _MOST_CELLS:
                    counts = marginal((other.name, one.name))[: other.declared, : one.declared]
                    found = latent_correlation(counts)
                    self.correlations[i, j] = self.correlations[j, i] = found if abs(found) >= _STRONG else 0.0
        values, vectors = np.linalg.eigh(self.correlations)
        mended = (vectors * np.maximum(values, 1 - _CLOSEST)) @ vectors.T
        scale = np.sqrt(np.diag(mended))
        self.correlations = mended / np.outer(scale, scale)

    def positions(self, codes: Mapping[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return, for each attribute, positions (n,) in [0, 1) within the bins of the records; `codes` maps attributes to (n,)."""
        precision, n = np.linalg.inv(self.correlations), len(next(iter(codes.values()), ()))
        ends, latent = [], np.zeros((len(self.attributes), n))
        for each in self.attributes:
            cuts, code = self.cuts[each.name], codes[each.name]
            missing = (code == each.missing) & each.own_missing
            bins = np.where(missing, 0, code)
            ends.append((np.where(missing, -np.inf, cuts[bins]), np.where(missing, np.inf, cuts[bins + 1])))
        for sweep in range(_SWEEPS if len(self.attributes) > 1 else 1):
            for j, (low, high) in enumerate(ends):
                spread = 1 / math.sqrt(precision[j, j])
                centre = latent[j] - (precision[j] @ latent) / precision[j, j] if sweep or j else np.zeros(n)
                latent[j] = centre + spread * _normal_between((low - centre) / spread, (high - centre) / spread, rng)
        return {each.name: _ranks(latent[j], codes[each.name], rng) for j, each in enumerate(self.attributes)}


def latent_correlation(counts: np.ndarray) -> float:
    """Return the correlation of two latent normal variables for which the scores of the bins are correlated as in `counts`.

    counts : [0, inf), array (bins of the first number, bins of the second)

    >>> import numpy as np
    >>> from lib.release.interpolation import latent_correlation
    >>> print(round(latent_correlation(np.array([[30.0, 10], [10, 30]])), 3))  # sin of pi/4
    0.707
    """
    joint = np.maximum(counts, 1e-12)
    joint = joint / joint.sum()
    (scores, one), (others, other) = (_scores(joint.sum(axis=axis)) for axis in (1, 0))
    wanted, powers = float(scores @ joint @ others), one * other

    def beyond(correlation):
        return float(powers @ correlation ** np.arange(1, _TERMS + 1)) - wanted

    if beyond(-_CLOSEST) >= 0 or beyond(_CLOSEST) <= 0:
        return math.copysign(_CLOSEST, wanted)
    return float(scipy.optimize.brentq(beyond, -_CLOSEST, _CLOSEST, xtol=1e-4))


def _cuts(counts) -> np.ndarray:
    """Return the ends (bins + 1,) of the intervals of a standard normal variable that have the bins' probabilities."""
    shares = np.maximum(counts, 1e-9 * max(counts.sum(), 1e-9))
    total = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
    return scipy.special.ndtri(np.clip(total, 0, 1))


def _scores(shares) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the normal variable in each interval, and the coefficients of these scores in Hermite polynomials."""
    cuts = _cuts(shares)
    inner = np.where(np.isfinite(cuts), cuts, 0.0)
    density = np.where(np.isfinite(cuts), np.exp(-(inner**2) / 2) / math.sqrt(2 * math.pi), 0.0)
    chances = np.maximum(np.diff(scipy.special.ndtr(cuts)), 1e-300)
    scores = -np.diff(density) / chances
    coefficients, before, now = (
        [],
        np.zeros_like(inner),
        density,
    )  # now: the normalized polynomial of degree k - 1 times density
    for k in range(1, _TERMS + 1):
        coefficients.append(float(-(scores @ np.diff(now)) / math.sqrt(k)))
        before, now = now, (inner * now - math.sqrt(k - 1) * before) / math.sqrt(k)
    return scores, np.array(coefficients)


def _normal_between(low, high, rng) -> np.ndarray:
    """Draw standard normal variables given that they are in [low, high], from the tail in which no digits are lost."""
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    least, most = scipy.special.ndtr(low), scipy.special.ndtr(high)
    found = scipy.special.ndtri(least + rng.random(len(low)) * (most - least))
    found = np.clip(found, np.maximum(low, -38.0), np.maximum(np.minimum(high, 38.0), -38.0))
    return np.where(flipped, -found, found)


def _ranks(latent, codes, rng) -> np.ndarray:
    """Return, for each record, a random number in the part of [0, 1) that belongs to its rank among the records of its bin."""
    order = np.lexsort((latent, codes))
    first = np.searchsorted(codes[order], codes[order])
    sizes = np.bincount(codes)[codes[order]] if len(codes) else codes
    found = np.empty(len(codes))
    found[order] = (np.arange(len(codes)) - first + rng.random(len(codes))) / sizes
    return np.minimum(found, np.nextafter(1.0, 0.0))
