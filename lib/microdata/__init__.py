"""Records that are perturbed one by one, and statistics rebuilt from them; k-anonymity (`hasegawa2015`)."""

from .density_ratio import (
    KernelDensityRatio,
    LinearDensityRatio,
    algorithm_1,
    duality_gap,
    effective_sample_size,
    normalised,
)
from .iterative_bayes import IterativeBayes
from .perturbation import (
    BoundedLaplace,
    Perturbation,
    RetentionReplacement,
    matching_posteriors,
    pk_epsilon,
    pk_level,
    pk_parameters,
)
