"""Random graphical models, and what the table of all possible records says of them."""

import numpy as np

from lib.tables.table import Domain

SHAPES = {
    "cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "disconnected": [(0, 1), (2, 3), (4,)],
    "one clique": [(0, 1, 2)],
    "empty": [],
    "nested": [(0, 1, 2), (0, 1), (1,), (2, 3)],
    "complete": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
}


def random_structure(rng, d):
    cliques = {tuple(sorted(rng.choice(d, rng.integers(1, min(d, 3) + 1), replace=False).tolist()))
               for _ in range(rng.integers(0, 8))}  # fmt: skip
    return sorted(cliques)


def random_model(rng, structure=None, scale=None, zeros=None):
    """Return (domain, potentials) of up to five attributes, sizes from 1 to 4, potentials up to +-scale.

    With `zeros`, about every eighth cell is impossible, but at least one record stays possible.
    """
    d = 5 if structure is not None else int(rng.integers(1, 6))
    cliques = random_structure(rng, d) if structure is None else structure
    domain = Domain({f"x{v}": int(size) for v, size in enumerate(rng.integers(1, 5, d))})
    scale = rng.choice([1, 5, 30, 100, 200]) if scale is None else scale
    zeros = rng.random() < 0.3 if zeros is None else zeros
    possible = [int(rng.integers(size)) for size in domain.sizes]
    potentials = {}
    for clique in cliques:
        names = tuple(domain.attributes[v] for v in clique)
        values = rng.uniform(-scale, scale, domain.shape(names))
        if zeros:
            impossible = rng.random(values.shape) < 1 / 8
            impossible[tuple(possible[v] for v in clique)] = False
            values[impossible] = -np.inf
        potentials[names] = values
    return domain, potentials


def joint(domain, potentials):
    """Return (log Z, probabilities of all records, an array of the domain's sizes)."""
    total = np.zeros(domain.sizes)
    for names, values in potentials.items():
        axes = domain.axes(names)
        total = total + values[tuple(slice(None) if v in axes else None for v in range(len(domain)))]
    highest = total.max()
    log_z = highest + np.log(np.exp(total - highest).sum())
    return log_z, np.exp(total - log_z)


def marginal(probabilities, domain, names):
    axes = domain.axes(names)
    summed = probabilities.sum(axis=tuple(v for v in range(len(domain)) if v not in axes))
    return summed.transpose([sorted(axes).index(v) for v in axes])
