"""`in_order` adds floats in the same way on every Python, and nothing in lib adds floats by the built-in `sum`."""

import ast
import builtins
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import accounting
from lib.accounting import bounded_range
from lib.attacks.membership_inference import Attack
from lib.numerics import in_order, log_space
from lib.tables import graphical_model
from lib.tables.adaptive_iterative import aim
from lib.tables.table import Domain, Table
from notebooks.studies import aim_trace, stand_in

ROOT = Path(__file__).resolve().parents[2]

# What the built-in may add, by the name of the module: whole numbers, arrays of them or of floats, tuples.
NO_FLOATS = {
    "adaptive_iterative": ["size for v, size in enumerate(self.domain.sizes) if v not in clique"],
    "aim_trace": ["step.epsilon == 0 for step in steps"],
    "catalogues": ["not each.string for each in all", "bool(each.string) and each.fuzzy for each in all"],
    "claims": ["count.values()", "each in chosen for each in shown"],
    "evidence": ["spreads"],  # one or two floats, whose sum has no order
    "numbers": [
        "found in ('', record.verdict, record.reproduced) for record in standing(sources) if fnmatchcase(record.id, names)"
    ],
    "pages": ["width for width in each if width < LONG"],
    "sources": [
        "(sum(map(bool, line.rstrip(b'\\r\\n').split(b'\\r'))) for line in file)",
        "map(bool, line.rstrip(b'\\r\\n').split(b'\\r'))",
        "len(cell.encode()) for cell in cells",
    ],
    "graphical_model": ["v in clique for clique in cliques"],
    "junction_trees": [
        "sizes[u] * _values(near & ~neighbours[u] & ~(1 << u), sizes) for u in bit_sets.members(near)",
        "sizes[v] for v in bit_sets.members(variables)",
        "bit_sets.cells(c, sizes) for c in maximal",
        "tree.cells for tree, _ in parts",
        "cells",
        "here",
        "self._maximal(v, left) for v, left in enumerate(self._left)",
    ],
    "account": ["(each.rho for each in self.entries if each.state != 'withdrawn'), Fraction(0)"],
    "counter": ["block.issuperset(set(clique) - {v}) for clique in holding[v]"],
    "exact_law": ["lazy"],
    "residual_queries": ["abs(entry) for entry in (whole - public).ravel().tolist()"],
    "residual_stages": ["table.domain.sizes"],
    "k_anonymity": ["attribute[level][2][rows] for attribute, level in zip(self._attributes, node)"],
    "last_fit": ["step.evaluations for step in steps"],
    "network": ["(n + 1) * m for n, m in zip(widths, widths[1:])", "network.widths"],
    "numerical": ["count for _, count in pairs"],
    "proofs": ["map(bool, held)"],
    "subset_selection": ["owners"],
    "prediction": ["sizes"],
}


TENTHS = [0.1] * 10


def test_by_hand():
    assert in_order.total(TENTHS) == 0.9999999999999999 != math.fsum(TENTHS)
    assert in_order.total(iter([1, 2.5])) == 3.5 and in_order.total([]) == 0
    assert np.array_equal(in_order.total([np.ones(2), np.arange(2)]), [1, 2])


@given(st.lists(st.floats(allow_nan=False)))
def test_each_addition_is_rounded(values):
    expected = 0
    for value in values:
        expected = expected + value
    assert in_order.total(values) == expected or math.isnan(expected)


# ---- no built-in sum of floats


def sums(code: str) -> list[str]:
    """Return what `code` gives the built-in `sum`, as text; "sum" where it does not call it there and then."""
    tree = ast.parse(code)
    calls = {id(node.func): node.args[0] for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "sum"]
    return [ast.unparse(calls.get(id(name), name)) for name in names]


@pytest.mark.slow
def test_the_built_in_sum_is_for_whole_numbers_and_arrays():
    modules = [*ROOT.glob("lib/**/*.py"), *ROOT.glob("book/**/*.py"), *ROOT.glob("notebooks/studies/*.py")]
    left = {name: set(map(inner, listed)) for name, listed in NO_FLOATS.items()}
    for path in modules:
        found = set(sums(path.read_text(encoding="utf-8")))
        unknown = found - set(map(inner, NO_FLOATS.get(path.stem, [])))
        assert not unknown, (
            f"{path.name}: floats are for in_order.total, and {unknown} is not listed here as anything else"
        )
        left[path.stem] = left.get(path.stem, set()) - found
    assert not any(left.values()), f"listed, but no longer in the code: {[each for each in left.values() if each]}"


def inner(listed: str) -> str:
    return sums(f"sum({listed})")[0]


@pytest.mark.parametrize("planted", ["sum(x)", "map(sum, x)", "total = sum", "sum(group.rho for group in groups)"])
def test_a_planted_sum_is_found(planted):
    assert set(sums(f"def f(x):\n    {planted}")) - set(map(inner, sum(NO_FLOATS.values(), [])))
    assert sums("x.sum() + np.sum(x) + math.fsum(x) + in_order.total(x)") == []


def refusing(values, /, start=0):
    """Return the built-in, refused to modules of ours that give it floats."""
    total, caller = built_in(values, start), sys._getframe(1).f_globals["__name__"]
    ours = caller.startswith(("lib.", "notebooks.", __name__))
    assert not (ours and isinstance(total, float)), f"{caller} gives the built-in sum floats: use in_order.total"
    return total


built_in = sum


def forget() -> None:
    """Empty the caches of lib's functions."""
    for module in [module for name, module in sys.modules.items() if name.startswith("lib.")]:
        for function in vars(module).values():
            getattr(function, "cache_clear", lambda: None)()


def test_the_built_in_sum_meets_no_floats(monkeypatch):
    """This includes the calls listed above, as far as this tour comes."""
    monkeypatch.setattr(builtins, "sum", refusing)
    forget()
    rng = np.random.default_rng(1)
    domain = Domain({"a": 3, "b": 5, "c": 2, "d": 7, "y": 2})
    table = Table((rng.random((600, 5)) ** 2 * domain.sizes).astype(int), domain)
    run = aim(table, 3.0, 1e-6, {("a", "b"): 0.1, ("b", "c", "y"): 0.2, ("a", "y"): 0.3}, rng=rng, errors=(1, 2))
    stand_in.release(table, "y", rng=rng)
    graphical_model.least_loss(domain, run.measurements)
    for treatment in bounded_range.TREATMENTS:
        bounded_range.compose_schedule(aim_trace.schedule_of(run.steps), 1e-6, exponential=treatment)
    log_space.Elimination([(np.zeros(3), (0,)), (np.zeros(5), (1,))], (3, 5), (0, 1)).marginals()
    accounting.compose_rdp([0.1, 0.2])
    assert Attack(rng.random(60), rng.random(60) < 0.5).auc_error > 0
    with pytest.raises(AssertionError, match="in_order"):
        sum(TENTHS)
