"""Perturb records one by one, reconstruct statistics from them, and make tables k-anonymous (`hasegawa2015`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.extras import on_demand
from .perturbation import (
    BoundedLaplace,  # Laplace noise that keeps a number in its range
    Perturbation,  # a mechanism for each attribute of a record
    RetentionReplacement,  # keep a value with probability rho, else replace it by a uniform one
    matching_posteriors,  # the probability that a person holds a row, given the shuffled rows
    pk_epsilon,  # the total epsilon of a level of Pk-anonymity
    pk_level,  # the level k of Pk-anonymity
    pk_parameters,  # the parameters of a perturbation for a level of Pk-anonymity
)

if TYPE_CHECKING:  # the extra `classifiers` installs what these modules need, so each name is imported at its first use
    from .density_ratio import (
        KernelDensityRatio,  # weights of perturbed records, a density ratio with Gaussian kernels
        LinearDensityRatio,  # weights of perturbed records, a density ratio linear in the attributes
        algorithm_1,  # the paper's Algorithm 1
        duality_gap,  # a bound on how far a solution lies below the optimum
        effective_sample_size,  # the number of equal weights that would be as informative
    )
    from .hierarchies import Hierarchy  # a generalization hierarchy of one attribute
    from .iterative_bayes import IterativeBayes  # a maximum-likelihood histogram of the original records
    from .k_anonymity import (
        generalize,  # the best full-domain generalization that is k-anonymous
        suppress,  # the records without those in classes smaller than k
    )
    from .weighted_regression import (
        linear_regression,  # linear regression on weighted records
        logistic_regression,  # logistic regression on weighted records
        support_vector_machine,  # a support vector machine on weighted records
    )

__getattr__, __dir__ = on_demand(__name__, __file__)
