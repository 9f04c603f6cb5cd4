"""The three reconstruction methods of hasegawa2015, in one place.

- `IterativeBayes` (`lib.iterative_bayes`): the multidimensional histogram of the original records
- `KernelDensityRatio`, `LinearDensityRatio` (`lib.density_ratio`): a weight for each perturbed record

Each is an estimator in the manner of scikit-learn: ``KernelDensityRatio(perturbation).fit(perturbed).weights_``
goes wherever an analysis takes sample weights (equation 15, with its missing 1/N).
"""

from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from lib.density_ratio import (
    KernelDensityRatio,
    LinearDensityRatio,
    algorithm_1,
    duality_gap,
    effective_sample_size,
    normalised,
)
from lib.iterative_bayes import IterativeBayes

# CPU seconds of their parts against the sizes they grow with (Table 1), as `make bench CASE=table1` measured them
MEASURED = Path(__file__).resolve().parents[1] / "book/results/hasegawa2015/table1.csv"

__all__ = [
    "MEASURED", "ConvergenceWarning", "IterativeBayes", "KernelDensityRatio", "LinearDensityRatio", "algorithm_1",
    "duality_gap", "effective_sample_size", "normalised",
]  # fmt: skip
