"""Display derivations as formulas that sympy has checked, and list which statements hold.

proofs.zero(sp.sin(x)**2 + sp.cos(x)**2 - 1)                        # True
proofs.derive(sp.Integral(x, (x, 0, t)), t**2 / 2)                  # True, and the formula with a mark
proofs.tabulate(["p"], {"f": [x / 2]}, "why", [True])                # True, and a table of formulas with a mark below it
proofs.show({"a step, in random cases": [True, True], "the end": True}, "a remark")
"""

from __future__ import annotations

import re

import numpy as np
import sympy as sp
from IPython.display import Math, display
from sympy.printing.latex import LatexPrinter

ROOM = 220  # letters of LaTeX


def zero(expression) -> bool:
    """Return whether sympy reduces `expression` to 0, directly or in terms of exp. False does not prove that it is not
    0."""
    expression = sp.sympify(expression)
    if isinstance(expression, sp.MatrixBase):
        return all(map(zero, expression))
    if sp.simplify(expression) == 0:
        return True
    return not _differs(expression) and sp.simplify(sp.expand(expression.rewrite(sp.exp))) == 0


def _differs(expression) -> bool:
    """Return whether `expression` is not 0 at a test point. If so, it need not be rewritten in terms of exp, which can
    take hours."""
    if isinstance(expression, sp.MatrixBase):
        return any(map(_differs, expression))
    symbols = sorted(expression.free_symbols, key=str)
    if any(symbol.is_integer or symbol.is_positive is False for symbol in symbols):
        return False  # the point is between 0 and 1
    value = expression.subs({symbol: sp.Rational(k, len(symbols) + 1) for k, symbol in enumerate(symbols, 1)}).evalf()
    return bool(value.is_number and value.is_finite and abs(value) > 1e-9)


def derive(*lines, where=None) -> bool:
    """Display a chain of equations, each with a mark that says whether it holds; return whether all of them hold.

    lines : expressions of sympy. Each must equal the one before after integrals, derivatives and limits are evaluated
        and logarithms of products are split as for positive factors. A string in the first place is LaTeX for the
        left-hand side of the chain; after an & it may give a relation other than equality. A pair (expression, reason)
        adds a reason, in words and formulas between dollar signs. A triple (relation, expression, held) gives another
        relation, in LaTeX, and whether it holds; a reason may follow.
    where : {symbol: expression}, substituted before lines are compared
    """
    name, before, *rest = lines if isinstance(lines[0], str) else ("", *lines)
    name = name if "&" in name else f"{name} &=" if name else ""
    before, why = before if isinstance(before, tuple) else (before, "")
    first = latex(before)
    rows, held = _reasoned(f"{name} {first}" if name else f"&{first}", why), []
    for line in rest:
        relation, expression, holds, reason = "=", line, None, ""
        if isinstance(line, tuple) and len(line) == 2:
            expression, reason = line
        elif isinstance(line, tuple):
            relation, expression, holds, reason = (*line, "")[:4]
        if holds is None:
            difference = _evaluated(before, where) - _evaluated(expression, where)
            holds = zero(difference)
            relation = "=" if holds else r"\ne" if _differs(difference) else r"\overset{?}{=}"
        mark = r"\checkmark" if holds else r"\times"
        if name and not why and not held and holds and latex(expression) == first:  # by definition, as sympy writes it
            rows = _reasoned(rows[0], reason, mark)
        else:
            rows += _reasoned(f"&{relation} {latex(expression)}", reason, mark)
        held.append(bool(holds))
        before = expression
    if rest and not name and not why and len(rows[0] + rows[1]) < ROOM:  # one line for the first equation
        rows[:2] = [f"{first} {rows[1]}"]
    display(Math("\n".join([r"\begin{aligned}", " \\\\\n".join(rows), r"\end{aligned}"])))
    return all(held)


def _reasoned(row: str, reason: str, mark: str = "") -> list[str]:
    """Return the row with its mark or, if there is a reason, the row and a second row with the reason and the mark."""
    if reason:
        return [row, rf"&\quad {_because(reason)}{mark}"]
    return [rf"{row} \quad {mark}" if mark else row]


def _because(reason: str) -> str:
    """Return `reason` as LaTeX. Its formulas are placed outside of the text elements, because text in MathML cannot
    contain formulas."""
    pieces = enumerate(reason.split("$"))
    shown = [piece if i % 2 else rf"\text{{{piece}}}" for i, piece in pieces if piece]
    return "".join(shown) + r"\ "


class _Printer(LatexPrinter):
    """A printer that puts terms with a plus first (x - mu and not -mu + x) and writes a product of roots as one
    root."""

    def _print_Mul(self, expr):
        roots = [each for each in expr.args if each.is_Pow and each.exp == sp.S.Half and each.base.is_nonnegative]
        if len(roots) < 2:
            return super()._print_Mul(expr)
        root = sp.Pow(sp.Mul(*(each.base for each in roots)), sp.S.Half, evaluate=False)
        others = [each for each in expr.args if each not in roots]
        return super()._print_Mul(sp.Mul(*others, root, evaluate=False)) if others else self._print(root)

    def _as_ordered_terms(self, expr, order=None):
        return sorted(super()._as_ordered_terms(expr, order), key=lambda term: term.could_extract_minus_sign())


def latex(expression) -> str:
    stacked = re.compile(r"\\substack\{([^{}]*)\}")  # which MathML is not made of here
    return stacked.sub(lambda found: found[1].replace(r"\\", r",\ ").strip(), _Printer().doprint(expression))


def _evaluated(expression, where):
    expression = sp.sympify(expression).subs(where or {}).doit()
    if not expression.is_commutative:
        return sp.expand(expression)
    return expression if isinstance(expression, sp.MatrixBase) else sp.expand_log(expression, force=True)


def tabulate(head, rows, reason="", held=True) -> bool:
    """Display a table of formulas and, below it, a reason with a mark that says whether it holds; return whether it
    holds.

    head : the columns, in LaTeX
    rows : {name in LaTeX: expressions of sympy, or LaTeX}
    held : true or false, or a sequence of these
    """
    lines = []
    for name, row in rows.items():
        cells = [each if isinstance(each, str) else rf"\displaystyle {latex(each)}" for each in row]
        lines.append(" & ".join([name, *cells]) + r" \\")
    table = [
        rf"&\begin{{array}}{{l|{'l' * len(head)}}}",
        " & ".join(["", *head]) + r" \\ \hline",
        *lines,
        r"\end{array}",
    ]
    if reason:
        table += [r"\\", rf"&{_because(reason)}" + (r"\checkmark" if np.all(held) else r"\times")]
    display(Math("\n".join([r"\begin{aligned}", *table, r"\end{aligned}"])))
    return bool(np.all(held))


def show(found, *remarks) -> None:
    """Print whether each statement holds, or in how many cases, and then print the remarks.

    found : {statement: true or false, or a sequence of these}
    """
    lines = [*(f"{_often(held):>12}  {statement}" for statement, held in found.items()), *remarks]
    print("\n".join(lines))


def _often(held) -> str:
    if np.ndim(held) == 0:
        return "yes" if held else "no"
    return f"{sum(map(bool, held))} of {len(held)}"
