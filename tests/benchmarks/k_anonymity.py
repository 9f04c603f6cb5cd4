"""Generalize Adult's ten quasi-identifiers (hasegawa2015, Table 2), in 16,281 records, with k-anonymity and the smallest loss.

One line is without suppression, and in the other up to 5 % of the records may be suppressed. Each gives `cpu_s`,
`wall_s` and `peak_mb` for k = 3, 5, 10 and 50 together, and the number of `nodes` in the lattice. For each k, it gives
the number of nodes `checked`, the `loss` (Iyengar's), the `levels` and the proportion `suppressed`. The records are the
real ones if they are available, and otherwise the synthetic sample; `data` says which.
"""

from tests.benchmarks import measure

CASES = {"k_anonymity": (0.0, 0.05)}
LEVELS = (3, 5, 10, 50)


def lines(case, folder):
    yield from (measure.child(__name__, "search", share) for share in CASES[case])


def search(meter, share) -> dict:
    from lib.data import datasets
    from lib.microdata import hierarchies, k_anonymity

    data = "real" if datasets.available("adult") else "stand-in"
    records = datasets.adult("test", missing="category", source=data, download=False)
    with meter:
        known = hierarchies.adult()
        found = [k_anonymity.generalize(records, known, k, max_suppression=float(share)) for k in LEVELS]
    return {
        "data": data,
        "n": len(records),
        "max_suppression": float(share),
        "nodes": found[0].nodes,
        "k": list(LEVELS),
    } | {
        "checked": [one.checked for one in found],
        "loss": [round(one.loss, 4) for one in found],
        "levels": [list(one.levels.values()) for one in found],
        "suppressed": [round(one.suppressed_share, 4) for one in found],
    }
