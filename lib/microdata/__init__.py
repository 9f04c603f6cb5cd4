"""Records that are perturbed one by one, and statistics rebuilt from them; k-anonymity (`hasegawa2015`)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .perturbation import (
    BoundedLaplace,
    Perturbation,
    RetentionReplacement,
    matching_posteriors,
    pk_epsilon,
    pk_level,
    pk_parameters,
)

if TYPE_CHECKING:
    from .density_ratio import (
        KernelDensityRatio,
        LinearDensityRatio,
        algorithm_1,
        duality_gap,
        effective_sample_size,
        normalised,
    )
    from .iterative_bayes import IterativeBayes

# The estimators need scikit-learn, of an extra, and are imported when they are asked for: the rest of the room does without.
_ESTIMATORS = {
    "density_ratio": (
        "KernelDensityRatio",
        "LinearDensityRatio",
        "algorithm_1",
        "duality_gap",
        "effective_sample_size",
        "normalised",
    ),
    "iterative_bayes": ("IterativeBayes",),
}


def __getattr__(name: str):
    for module, names in _ESTIMATORS.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
