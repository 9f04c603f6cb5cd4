"""Release numbers and choices by mechanisms: objects that report their sensitivity and guarantee and draw noise."""

from .additive_noise import (
    DiscreteGaussian,  # the discrete Gaussian mechanism: integer noise
    DiscreteLaplace,  # the discrete Laplace mechanism, also geometric mechanism: integer noise
    Gaussian,  # the Gaussian mechanism
    Laplace,  # the Laplace mechanism
)
from .randomized_response import RandomizedResponse  # randomized response over k values, also k-RR
from .selection import (
    Exponential,  # the exponential mechanism; Gumbel noise and report noisy max give the same law
    PermuteAndFlip,  # permute-and-flip; report noisy max with exponential noise gives the same law
)
from .sensitivity import (
    brute_force,  # the sensitivity of a query, by enumeration of small tables
    of_histogram,  # the sensitivity of a histogram
    of_mean,  # the sensitivity of a mean
    of_sum,  # the sensitivity of a sum
)
