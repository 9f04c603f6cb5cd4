"""Mechanisms, each an object that knows its sensitivity and its guarantee; what they share is in `guarantees`.

- add noise (`additive_noise`): `Laplace`, `Gaussian`, `DiscreteLaplace`, `DiscreteGaussian`
- choose (`selection`): `Exponential`, `PermuteAndFlip`, and the function `exponential`
- answer for oneself (`randomized_response`): `RandomizedResponse`
"""

from lib.additive_noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from lib.randomized_response import RandomizedResponse
from lib.selection import Exponential, PermuteAndFlip, exponential

__all__ = [
    "DiscreteGaussian", "DiscreteLaplace", "Exponential", "Gaussian", "Laplace", "PermuteAndFlip",
    "RandomizedResponse", "exponential",
]  # fmt: skip
