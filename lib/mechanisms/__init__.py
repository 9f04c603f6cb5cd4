"""Mechanisms, each an object that knows its sensitivity and its guarantee, and the noise they are made of."""

from .additive_noise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from .randomized_response import RandomizedResponse
from .selection import Exponential, PermuteAndFlip, exponential
