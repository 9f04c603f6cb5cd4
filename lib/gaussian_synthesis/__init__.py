"""Synthetic data from one multivariate Gaussian, and the Rényi privacy of its sampling randomness (`miura2022`)."""

from .bounds import (
    bounded_epsilon,  # Theorem 3.2: a record is replaced, n public
    bounded_epsilon_both,  # Theorem G: a record is replaced, both data sets in the class
    bounded_epsilon_centred,  # Theorem G': the same pairs, and what is known about their means
    bounded_epsilon_joint,  # Theorem B: a record is replaced, the two eigenvalues bounded together
    bounded_epsilon_tight,  # Theorem A: a record is replaced, the two eigenvalues bounded one by one
    divergence_added,  # the divergence when a record is added, given its Mahalanobis distance
    divergence_removed,  # the divergence when a record is removed, given its Mahalanobis distance
    largest_radius,  # the largest Mahalanobis distance of a record in the class
    regularised_epsilon,  # Theorem H: a variance of sigma is added, and the data may be any
    unbounded_epsilon,  # Theorem 3.1: a record is added or removed
    unbounded_epsilon_tight,  # Theorem D: a record is added or removed, from exact divergences
)
from .mechanism import (
    fit,  # mean and covariance of the records
    sample,  # synthetic records from a mean and a covariance
    smallest_eigenvalue,  # the smallest eigenvalue of the covariance
    squared_mahalanobis,  # the distance of each record from the mean
    synthesize,  # `fit`, then `sample`, with an added variance if wished
)
from .pairs import (
    attained_radius,  # a Mahalanobis distance that a data set of the class attains
    bounded_epsilon_attained,  # a lower bound, from a pair of data sets with the same n
    regularised_epsilon_attained,  # a lower bound for Theorem H, from n equal records and one in the opposite corner
    unbounded_epsilon_attained,  # a lower bound, from a pair of data sets with n and n + 1 records
    worst_case_neighbours,  # a data set and a record that nearly attain Theorem D
)
from .releases import (
    ORDERS,  # the Rényi orders that are tried
    records_needed,  # the smallest n for (epsilon, delta) and a number of synthetic records
    regularised_released_delta,  # bounds of the smallest delta of several synthetic records, by Theorem H
    regularised_released_epsilon,  # the smallest epsilon of several synthetic records, by Theorem H
    regularised_released_epsilon_attained,  # a lower bound of that epsilon, from a pair of data sets
    released_delta,  # bounds of the smallest delta of several synthetic records
    released_dp,  # (epsilon, delta) of several synthetic records, through Rényi divergences
    released_epsilon,  # the smallest epsilon of several synthetic records, from the privacy loss itself
    released_epsilon_attained,  # a lower bound of the smallest epsilon, from a pair of data sets
)
from .theorems import THEOREMS  # all theorems, with what they cover
