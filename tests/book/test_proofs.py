"""book.ledger.proofs: what it calls zero, and what it prints."""

import numpy as np
import pytest
import sympy as sp

from book.ledger import proofs

x = sp.symbols("x", positive=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression, expected",
    [
        (0, True),
        (sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, True),
        (sp.cosh(x) - (sp.exp(x) + sp.exp(-x)) / 2, True),
        (sp.tanh(x / 2) - (sp.exp(x) - 1) / (sp.exp(x) + 1), True),
        (1e-30, False),
        (x, False),
        (sp.sin(x), False),
    ],
)
def test_zero(expression, expected):
    assert proofs.zero(expression) is expected


def test_each_statement_is_printed_with_how_often_it_held(capsys):
    proofs.show({"one": True, "none": sp.false, "some": [True, False, sp.true], "array": np.array([True])}, "and so on")
    assert capsys.readouterr().out == (
        "         yes  one\n          no  none\n      2 of 3  some\n      1 of 1  array\nand so on\n"
    )


def test_remarks_alone(capsys):
    proofs.show({}, "first", "second")
    assert capsys.readouterr().out == "first\nsecond\n"


def test_what_a_number_refutes_is_not_rewritten(monkeypatch):
    """Rewriting can take hours: sei2017's equation (3) as printed."""
    monkeypatch.setattr(sp, "expand", lambda _: pytest.fail("rewritten"))
    n, below = sp.symbols("n", integer=True), sp.symbols("y", negative=True)
    assert not proofs.zero(sp.exp(x) - x)
    for symbol in (n, below):  # numbers between 0 and 1 say nothing about these
        with pytest.raises(pytest.fail.Exception):
            proofs.zero(sp.exp(symbol) - symbol)
