"""Formulas in TeX as MathML, which browsers show without a script and read to those who do not see."""

import re

from math_core import LatexError, LatexToMathML

_TEX = LatexToMathML(fancy_error=False)
# Sphinx puts several lines into `split`, which outside a numbered equation is `aligned`.
_SPLIT = re.compile(r"\\begin\{split\}\s*(?:\\displaystyle)?\s*(?P<lines>.*)\\end\{split\}", re.DOTALL)
# Letters of another alphabet and words come with an empty space in front, which changes nothing on screen.
_WITH_NOTHING = re.compile(r"<mrow><mspace/>(<mi\b[^>]*>[^<]*</mi>)</mrow>")


def mathml(tex: str, display: bool = False) -> str:
    """Return the formula `tex`, without its dollar signs, as MathML; `ValueError` if it is wrong or has an unknown command.

    display : whether it is shown on a separate line
    """
    if lines := _SPLIT.fullmatch(tex.strip()):
        inner = lines["lines"].strip()
        tex = inner if inner.startswith(r"\begin{") else rf"\begin{{aligned}}{inner}\end{{aligned}}"
    try:
        return _WITH_NOTHING.sub(r"\1", _TEX.convert_with_local_state(tex.strip(), displaystyle=display))
    except LatexError as reason:
        raise ValueError(f"tex must be a formula of known commands, got {tex.strip()!r}: {reason}") from None
