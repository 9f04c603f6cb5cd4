"""book.ledger.proofs: which expressions it takes for zero, and what it shows."""

import json
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from book._ext import editions
from book.editions import edition
from book.ledger import proofs
from tests.book.test_catalogues import stale

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


@pytest.fixture
def shown(monkeypatch):
    """Return the lines of the formulas that are displayed."""
    lines = []
    monkeypatch.setattr(proofs, "display", lambda formula: lines.extend(formula.data.split("\n")[1:-1]))
    return lines


y, m = sp.symbols("y mu")
z = sp.Symbol("z", positive=True)
A, B = sp.symbols("A B", commutative=False)


@pytest.mark.parametrize(
    ("lines", "holds", "expected"),
    [
        ((sp.Integral(y, (y, 0, x)), x**2 / 2), True, [r"\int\limits_{0}^{x} y\, dy &= \frac{x^{2}}{2} \quad \checkmark"]),
        (("f &\\le", x, (sp.cos(0) * sp.exp(sp.log(x)), "why")), True, [r"f &\le x \\", r"&\quad \text{why}\ \checkmark"]),
        (("f", (x, "for $x > 0$, say"), (x, "")), True, [r"f &= x \\", r"&\quad \text{for }x > 0\text{, say}\  \\", r"&= x \quad \checkmark"]),
        (("f", sp.Derivative(x, x), (1, "$1$")), True, [r"f &= \frac{d}{d x} x \\", r"&= 1 \\", r"&\quad 1\ \checkmark"]),
        (("f", sp.Derivative(x, x), 1), True, [r"f &= \frac{d}{d x} x \\", r"&= 1 \quad \checkmark"]),
        (("f", x - m, x + m), False, [r"f &= x - \mu \\", r"&\ne \mu + x \quad \times"]),
        (("f", x, (r"\le", x + 1, True)), True, [r"f &= x \\", r"&\le x + 1 \quad \checkmark"]),
        (("f", x, (r"\le", x + 1, True, "why")), True, [r"f &= x \\", r"&\le x + 1 \\", r"&\quad \text{why}\ \checkmark"]),
        (("f", x, (r"\le", x - 1, False)), False, [r"f &= x \\", r"&\le x - 1 \quad \times"]),
        ((sp.log(x * y), sp.log(x) + sp.log(y)), True, [r"\log{\left(x y \right)} &= \log{\left(x \right)} + \log{\left(y \right)} \quad \checkmark"]),
        ((A * (A + B), A**2 + A * B), True, [r"A \left(A + B\right) &= A B + A^{2} \quad \checkmark"]),
        ((A * (A + B), A**2 + B * A), False, None),
        ((sp.Matrix([x, x**2]), sp.Matrix([x, x * x])), True, None),
        (("f", 2 * x), True, ["f &= 2 x"]),
        (("f", -sp.sqrt(2 * sp.pi) * y / 2), True, [r"f &= - \frac{y \sqrt{2 \pi}}{2}"]),
        (("f", sp.sqrt(x) * sp.sqrt(z)), True, [r"f &= \sqrt{x z}"]),
        (("f", sp.sqrt(2) * sp.sqrt(y - 3)), True, [r"f &= \sqrt{2} \sqrt{y - 3}"]),
    ],
)  # fmt: skip
def test_a_derivation_marks_each_line_by_what_sympy_makes_of_it(shown, lines, holds, expected):
    assert proofs.derive(*lines) is holds
    assert expected is None or shown == expected


@pytest.mark.parametrize(("room", "first"), [(99, ["x &= x"]), (0, ["&x", "&= x"])])
def test_a_derivation_without_a_name_shows_each_row_once(shown, monkeypatch, room, first):
    monkeypatch.setattr(proofs, "ROOM", room)
    assert proofs.derive(x, x, (x, "why"), x)
    reasoned = [r"&= x", r"&\quad \text{why}\ \checkmark", r"&= x \quad \checkmark"]
    assert [row.removesuffix(r" \\") for row in shown] == [*first[:-1], rf"{first[-1]} \quad \checkmark", *reasoned]


def test_symbols_of_a_derivation_stand_for_what_is_given(shown):
    assert not proofs.derive("f", m, x / 2) and proofs.derive("f", m, x / 2, where={m: x / 2})


def test_what_is_neither_proved_nor_refuted_is_a_question(shown, monkeypatch):
    monkeypatch.setattr(proofs, "zero", lambda _: False)
    assert not proofs.derive("f", x, x) and shown[1].startswith(r"&\overset{?}{=}")


@pytest.mark.parametrize(("held", "mark"), [([True, True], r"\checkmark"), ([True, False], r"\times")])
def test_a_table_of_formulas_has_one_mark_for_all_rows(shown, held, mark):
    rows = {"f": [x / 2, ""], r"\text{g}": [x, sp.Integer(1)]}
    assert proofs.tabulate(["p", "q"], rows, "why $x$", held) is all(held)
    assert shown == [
        r"&\begin{array}{l|ll}",
        r" & p & q \\ \hline",
        r"f & \displaystyle \frac{x}{2} &  \\",
        r"\text{g} & \displaystyle x & \displaystyle 1 \\",
        r"\end{array}",
        r"\\",
        rf"&\text{{why }}x\ {mark}",
    ]
    assert proofs.tabulate(["p"], {"f": [x]}) and shown[-1] == r"\end{array}"


ROOT = Path(__file__).resolve().parents[2]


def derivations(notebook):
    """Return the derivations that the committed outputs of a notebook show."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = ["".join(each.get("data", {}).get("text/latex", "")) for cell in cells for each in cell.get("outputs", [])]
    return [each for each in shown if r"\begin{aligned}" in each]


def test_bounds_of_a_sum_stand_in_one_line():
    a, b = sp.symbols("a b")
    both = proofs.latex(sp.Sum(a * b, (a, 1, 3), (b, 1, 2)))
    assert both == r"\sum_{1 \leq a \leq 3,\ 1 \leq b \leq 2} a b"
    assert proofs.latex(sp.Subs(sp.Function("f")(a), a, 1)).endswith(r"\right|_{a=1}")


def refuted(derivation):
    return [mark for mark in (r"\times", r"\ne ", r"\overset{?}{=}") if mark in derivation]


def test_every_line_of_the_derivations_in_chapters_holds(shown):
    """Some of them are only displayed, and no claim would notice."""
    found = {path: derivations(path) for path in sorted((ROOT / "notebooks").glob("*/*.ipynb"))}
    assert sum(map(len, found.values())) > 40
    assert {path.name: each for path, all_ in found.items() for each in all_ if refuted(each)} == {}
    proofs.derive("f", x, 2 * x)
    assert refuted("\n".join(shown))


# ---------------------------------------------------------------- in another language


def test_a_reason_is_translated_as_a_whole_with_its_formulas_in_their_new_order(shown):
    proofs.derive(r"\Pr[\mathrm{noise}]", x, (x, "for $x > 0$, by $y$"), ("=", x, True, "$1$"), (x, "why"))
    formula = "\n".join([r"\begin{aligned}", *shown, r"\text{no reason} &= 1", r"\end{aligned}"])
    words = {"for $x > 0$, by $y$": "$y$ より、$x > 0$ のとき", "why": "理由", "no reason": "他", "noise": "雑音"}
    made = editions.reworded(formula, lambda message, kind, catalogue: words[message])
    for before, after in (
        (r"\text{for }x > 0\text{, by }y\ \checkmark", r"y\text{ より、}x > 0\text{ のとき}\ \checkmark"),
        (r"\text{why}\ \checkmark", r"\text{理由}\ \checkmark"),
        (r"\text{no reason}", r"\text{他}"),
        (r"\mathrm{noise}", r"\text{雑音}"),
    ):
        assert formula.count(before) == 1
        formula = formula.replace(before, after)
    assert made == formula
    assert editions.reworded(formula, lambda message, *_: message) == formula


@pytest.mark.parametrize("language", edition.OTHERS)
def test_the_catalogue_of_derivations_has_the_reasons_of_the_committed_ones(language):
    """`make catalogues` brings it up to date."""
    found = {editions.DERIVATIONS: {}}

    def told(message, kind, catalogue):
        if catalogue and edition.worded(message):
            found[catalogue][message] = kind
        return message

    for path in sorted((ROOT / "notebooks").glob("[!a]*/*.ipynb")):
        for derivation in derivations(path):
            assert editions.reworded(derivation, told) == derivation
    assert len(found[editions.DERIVATIONS]) > 100 and stale(found, language) == []
