"""What a page says over and over while it checks a proof: an expression vanishes, and which statements held.

proofs.zero(sp.sin(x)**2 + sp.cos(x)**2 - 1)                        # True
proofs.show({"a step, in random cases": [True, True], "the end": True}, "a remark")
"""

from __future__ import annotations

import numpy as np
import sympy as sp


def zero(expression) -> bool:
    """Whether sympy reduces `expression` to 0, as it stands or in terms of exp. False is no proof: it may know no way."""
    expression = sp.sympify(expression)
    if sp.simplify(expression) == 0:
        return True
    return not _differs(expression) and sp.simplify(sp.expand(expression.rewrite(sp.exp))) == 0


def _differs(expression) -> bool:
    """Whether `expression` is far from 0 at some point: then it need not be rewritten, which can take hours."""
    symbols = sorted(expression.free_symbols, key=str)
    if any(symbol.is_integer or symbol.is_positive is False for symbol in symbols):
        return False  # the point is between 0 and 1
    value = expression.subs({symbol: sp.Rational(k, len(symbols) + 1) for k, symbol in enumerate(symbols, 1)}).evalf()
    return bool(value.is_number and value.is_finite and abs(value) > 1e-9)


def show(found, *remarks) -> None:
    """Print each statement with whether it holds, or in how many cases; then the remarks.

    found : {statement: true or false, or a sequence of these}
    """
    lines = [*(f"{_often(held):>12}  {statement}" for statement, held in found.items()), *remarks]
    print("\n".join(lines))


def _often(held) -> str:
    if np.ndim(held) == 0:
        return "yes" if held else "no"
    return f"{sum(map(bool, held))} of {len(held)}"
