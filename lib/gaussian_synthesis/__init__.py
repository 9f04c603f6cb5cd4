"""Synthetic data from one multivariate Gaussian, and the Rényi privacy of its randomness alone (`miura2022`)."""

from .bounds import (
    bounded_epsilon,
    bounded_epsilon_both,
    bounded_epsilon_joint,
    bounded_epsilon_tight,
    divergence_added,
    divergence_removed,
    largest_radius,
    regularised_epsilon,
    unbounded_epsilon,
    unbounded_epsilon_tight,
)
from .mechanism import fit, sample, smallest_eigenvalue, squared_mahalanobis, synthesize
from .pairs import attained_radius, bounded_epsilon_attained, unbounded_epsilon_attained, worst_case_neighbours
from .releases import (
    ORDERS,
    extremal_pair,
    records_needed,
    released_delta,
    released_dp,
    released_epsilon,
    released_epsilon_attained,
)
