"""Measure the quality of synthetic records (miura2025, section 3.2).

- `workload_error` and `marginal_error` measure the error in the counts over sets of attributes (Definition 3.1).
- `mutual_information` and `mutual_information_error` measure how strongly pairs of attributes depend (Figures 6 to 8).

All functions take a `Table`, or any object with a `domain` and a `marginal(attributes)` of counts, such as a
`GraphicalModel`. So a model can be evaluated at every step of its fit.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .table import Domain, Table


def marginal_errors(real: Table, synthetic: Table, workload: Collection[Collection[str]]) -> NDArray[np.float64]:
    """Return, (k,), the L1 distance of the counts over each set of attributes, divided by the number of real records.

    real, synthetic : non-empty tables over the same domain; a wrong number of synthetic records adds to the error
    workload : k >= 1 sets of attributes of the domain; the same set may occur twice
    """
    common_domain(real, synthetic)
    workload = _workload(workload)
    n = _total("real", real)
    _total("synthetic", synthetic)
    errors = [np.abs(real.marginal(attributes) - synthetic.marginal(attributes)).sum() / n for attributes in workload]
    return np.array(errors)


def workload_error(
    real: Table, synthetic: Table, workload: Collection[Collection[str]], weights: ArrayLike | None = None
) -> float:
    """Return L(D, S) = 1/(k |D|) sum_i c_i |p_{r_i}(D) - p_{r_i}(S)|_1 (miura2025, Definition 3.1).

    real, synthetic, workload : as for `marginal_errors`
    weights : the c_i in [0, inf), shape (k,); default: all 1. As in the paper, the divisor is k for all weights

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import workload_error
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0]]), domain)
    >>> print(workload_error(real, synthetic, [("a",), ("a", "b")]))
    1.0
    """
    errors = marginal_errors(real, synthetic, workload)
    weights = checks.real("weights", np.ones(errors.size) if weights is None else weights, "[0, inf)")
    if weights.shape != errors.shape:
        raise ValueError(f"weights must have shape {errors.shape}, one for each set, got {weights.shape}")
    return float(np.mean(weights * errors))


def marginal_error(real: Table, synthetic: Table, alpha: int) -> float:
    """Return the alpha-way error: the `workload_error` over all sets of `alpha` attributes with weights 1.

    alpha : integer from 1 to the number of attributes

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import marginal_error
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0]]), domain)
    >>> print(marginal_error(real, synthetic, 2))
    2.0
    """
    return workload_error(real, synthetic, all_sets(real.domain, alpha))


def all_sets(domain: Domain, alpha: int) -> list[tuple[str, ...]]:
    """Return W(alpha), the list of all sets of `alpha` attributes of a `Domain`, each in the order of the domain."""
    alpha = checks.whole("alpha", alpha, f"[1, {len(domain)}]")
    return list(combinations(domain.attributes, alpha))


def _workload(workload) -> list[tuple]:
    if isinstance(workload, str) or any(isinstance(attributes, str) for attributes in workload):
        raise ValueError(f"workload must contain sets of attributes, got {workload!r}")
    workload = [tuple(attributes) for attributes in workload]
    if not workload or not all(workload):
        raise ValueError(f"workload must contain one or more sets of one or more attributes, got {workload!r}")
    return workload


def common_domain(real: Table, synthetic: Table) -> Domain:
    """Return the `Domain` of both tables. Raises ``ValueError`` if they differ."""
    if real.domain != synthetic.domain:
        raise ValueError(f"synthetic must have the domain of real, {real.domain!r}, got {synthetic.domain!r}")
    return real.domain


def _total(name, table) -> float:
    total = float(np.sum(table.marginal(table.domain.attributes[:1])))
    if not total > 0:
        raise ValueError(f"{name} must contain records, got a total of {total:g}")
    return total


def mutual_information(table: Table) -> NDArray[np.float64]:
    """Return I(A_i, A_j) in nats for all pairs of attributes, symmetric, shape (d, d) (miura2025, section 3.2).

    The result is not corrected for small samples. The diagonal, I(A_i, A_i), is the entropy of A_i.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import mutual_information
    >>> table = Table(np.array([[0, 0], [1, 1]]), Domain({"a": 2, "b": 2}))
    >>> print(mutual_information(table).round(3))
    [[0.693 0.693]
     [0.693 0.693]]
    """
    attributes, total = table.domain.attributes, _total("table", table)
    entropies = np.array([_entropy(table.marginal((name,)) / total) for name in attributes])
    information = np.diag(entropies)
    for i, j in combinations(range(len(attributes)), 2):
        together = _entropy(table.marginal((attributes[i], attributes[j])) / total)
        information[i, j] = information[j, i] = max(entropies[i] + entropies[j] - together, 0.0)
    return information


def mutual_information_error(real: Table, synthetic: Table) -> float:
    """Return the mean of |I(A_i, A_j) - I'(A_i, A_j)| in nats over all pairs i < j of attributes (Figure 8).

    I is the mutual information in `real`, and I' in `synthetic`. The tables must have at least two attributes.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import mutual_information_error
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0], [0, 0], [1, 1]]), domain)
    >>> print(round(float(mutual_information_error(real, synthetic)), 3))
    0.693
    """
    domain = common_domain(real, synthetic)
    checks.integer("number of attributes", len(domain), "[2, inf)")
    pairs = np.triu_indices(len(domain), 1)
    return float(np.abs(mutual_information(real) - mutual_information(synthetic))[pairs].mean())


def _entropy(shares) -> float:
    shares = shares[shares > 0]
    return float(-(shares @ np.log(shares)))
