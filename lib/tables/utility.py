"""How good synthetic records are (miura2025, section 3.2).

- `workload_error`, `marginal_error`: how far counts of sets of attributes are off (Definition 3.1)
- `mutual_information`, `mutual_information_error`: how strongly pairs of attributes depend (Figures 6 to 8)

All take a `Table`, or anything else with a `domain` and a `marginal(attributes)` of counts,
such as a `GraphicalModel`: so a model can be followed along the steps of its making.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .table import Domain, Table

SCALES = ("counts", "shares")
DISTANCES = ("l1", "total variation")


# ---- counts


def marginal_errors(
    real: Table, synthetic: Table, workload: Collection[Collection[str]], *, scale: str = "counts", distance: str = "l1"
) -> NDArray[np.float64]:
    """Distance of the counts of each set of attributes, over the number of real records: shape (k,).

    real, synthetic : tables over one domain, the real one not empty
    workload : k >= 1 sets of attributes of the domain; one such set may occur twice
    scale : "counts" compares counts as they are (Definition 3.1), so that a wrong number of synthetic
        records is an error too; "shares" compares each table's shares. Equal if the tables are as long.
    distance : "l1", in [0, 2] for shares, or "total variation", half of it

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import marginal_errors
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0]]), domain)
    >>> print(marginal_errors(real, synthetic, [("a",), ("a", "b")]))
    [0. 2.]
    """
    checks.one_of("scale", scale, SCALES)
    checks.one_of("distance", distance, DISTANCES)
    domain = common_domain(real, synthetic)
    workload = _workload(workload)
    n, m = _total("real", real), _total("synthetic", synthetic)
    factor = n / m if scale == "shares" else 1.0
    errors = []
    for attributes in workload:
        domain.axes(attributes)
        errors.append(np.abs(real.marginal(attributes) - factor * synthetic.marginal(attributes)).sum() / n)
    return np.array(errors) / (2 if distance == "total variation" else 1)


def workload_error(real: Table, synthetic: Table, workload: Collection[Collection[str]] | Mapping[Any, float],
                   weights: ArrayLike | None = None, *, scale: str = "counts",
                   distance: str = "l1") -> float:  # fmt: skip
    """L(D, D^) = 1/(k |D|) sum_i c_i |p_{r_i}(D) - p_{r_i}(D^)|_1 (miura2025, Definition 3.1).

    workload : the sets r_i, or a mapping from them to their weights
    weights : the c_i in [0, inf), shape (k,); default: all 1. The divisor stays k, as printed,
        whatever the weights add up to.
    Other arguments as for `marginal_errors`.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import workload_error
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0]]), domain)
    >>> print(workload_error(real, synthetic, [("a",), ("a", "b")]))
    1.0
    """
    if isinstance(workload, Mapping):
        if weights is not None:
            raise ValueError(f"weights must not be given beside a workload that has them, got {weights!r}")
        weights = list(workload.values())
    errors = marginal_errors(real, synthetic, workload, scale=scale, distance=distance)
    weights = checks.real("weights", np.ones(errors.size) if weights is None else weights, "[0, inf)")
    if weights.shape != errors.shape:
        raise ValueError(f"weights must have shape {errors.shape}, one for each set, got {weights.shape}")
    return float(np.mean(weights * errors))


def marginal_error(real: Table, synthetic: Table, alpha: int, *, scale: str = "counts", distance: str = "l1") -> float:
    """The alpha-way error: `workload_error` over all sets of `alpha` attributes, weights 1.

    alpha : whole number from 1 to the number of attributes

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import marginal_error
    >>> domain = Domain({"a": 2, "b": 2})
    >>> real, synthetic = Table(np.array([[0, 0], [1, 1]]), domain), Table(np.array([[0, 1], [1, 0]]), domain)
    >>> print(marginal_error(real, synthetic, 2))
    2.0
    """
    return workload_error(real, synthetic, all_sets(real.domain, alpha), scale=scale, distance=distance)


def all_sets(domain: Domain, alpha: int) -> list[tuple[str, ...]]:
    """W(alpha): all sets of `alpha` attributes of a `Domain`, each in the domain's order.

    >>> from lib.tables import Domain
    >>> from lib.tables.utility import all_sets
    >>> print(all_sets(Domain({"a": 2, "b": 2, "c": 2}), 2))
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    alpha = checks.whole("alpha", alpha, f"[1, {len(domain)}]")
    return list(combinations(domain.attributes, alpha))


def _workload(workload) -> list[tuple]:
    if isinstance(workload, str) or any(isinstance(attributes, str) for attributes in workload):
        raise ValueError(f"workload must hold sets of attributes, got {workload!r}")
    workload = [tuple(attributes) for attributes in workload]
    if not workload or not all(workload):
        raise ValueError(f"workload must hold one or more sets of one or more attributes, got {workload!r}")
    return workload


def common_domain(real: Table, synthetic: Table) -> Domain:
    """The `Domain` that both have; ``ValueError`` else.

    >>> import numpy as np
    >>> from lib.tables import Domain, Table
    >>> from lib.tables.utility import common_domain
    >>> table = Table(np.array([[0, 0], [1, 1]]), Domain({"a": 2, "b": 2}))
    >>> print(common_domain(table, table).attributes)
    ('a', 'b')
    """
    if real.domain != synthetic.domain:
        raise ValueError(f"synthetic must have the domain of real, {real.domain!r}, got {synthetic.domain!r}")
    return real.domain


def _total(name, table) -> float:
    total = float(np.sum(table.marginal(table.domain.attributes[:1])))
    if not total > 0:
        raise ValueError(f"{name} must hold records, got a total of {total:g}")
    return total


# ---- dependence


def mutual_information(table: Table) -> NDArray[np.float64]:
    """I(A_i, A_j) in nats of all pairs of attributes, shape (d, d), symmetric (miura2025, section 3.2).

    Of the shares as they are, without correction for small samples. The diagonal, I(A_i, A_i), is
    the entropy of A_i.

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
    """Mean of |I(A_i, A_j) - I^(A_i, A_j)| in nats over the pairs i < j (Figure 8); at least two attributes.

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
