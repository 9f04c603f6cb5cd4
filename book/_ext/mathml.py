"""Formulas in TeX as MathML, which browsers show without a script and screen readers can read aloud."""

import re

from math_core import LatexError, LatexToMathML

_TEX = LatexToMathML(fancy_error=False)
# Sphinx puts several lines into `split`, which outside a numbered equation is `aligned`.
_SPLIT = re.compile(r"\\begin\{split\}\s*(?:\\displaystyle)?\s*(?P<lines>.*)\\end\{split\}", re.DOTALL)
_LENGTH = re.compile(r"\\\\\[-?[\d.]+\w+\]")  # of the space below a line
_REWRITTEN = [
    # Letters of another alphabet and words come with an empty space in front, which changes nothing on screen.
    (re.compile(r"<mrow><mspace/>(<mi\b[^>]*>[^<]*</mi>)</mrow>"), r"\1"),
    # Chromium keeps no size for a parenthesis that has an exponent.
    (re.compile(r"<(msup|msub|msubsup)>(<mo [^>]*minsize[^>]*>[^<]*</mo>)"), r"<\1><mrow>\2</mrow>"),
    # The font's prime is raised already: as an exponent it would be raised twice, and small.
    (re.compile(r"<msup>(<mi\b[^>]*>[^<]*</mi>)<mo>([′″])</mo></msup>"), r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>'),
]  # fmt: skip
_PARTS = re.compile(r"(<mrow\b[^>]*>|</mrow>|<mfrac|<munder|<mover|<msqrt|<mroot|<mtable|minsize|[∑∏∫⋃⋂])")


def mathml(tex: str, display: bool = False) -> str:
    """Return the formula `tex`, without its dollar signs, as MathML; `ValueError` if it is wrong or has an unknown command.

    display : whether it is shown on a separate line
    """
    if lines := _SPLIT.fullmatch(tex.strip()):
        inner = lines["lines"].strip()
        tex = inner if inner.startswith(r"\begin{") else rf"\begin{{aligned}}{inner}\end{{aligned}}"
    if length := _LENGTH.search(tex):
        raise ValueError(f"tex must not set a length after a line break, got {length[0]!r}")
    try:
        made = _TEX.convert_with_local_state(tex.strip(), displaystyle=display)
    except LatexError as reason:
        raise ValueError(f"tex must be a formula of known commands, got {tex.strip()!r}: {reason}") from None
    for found, better in _REWRITTEN:
        made = found.sub(better, made)
    return _with_plain_parentheses(made)


def _with_plain_parentheses(made: str) -> str:
    """Keep the size of parentheses around a formula that is one line high. Beside parentheses that may grow, Chromium
    leaves the width of the widest form."""
    parts, open_rows = _PARTS.split(made), [[0, False]]  # each row's start, and whether something in it is high
    for number in range(1, len(parts), 2):
        if parts[number].startswith("<mrow"):
            open_rows.append([number, False])
        elif parts[number] == "</mrow>":
            start, high = open_rows.pop()
            open_rows[-1][1] |= high
            if not high and re.match(r"<mo[^>]*>[(\[{|]</mo>", parts[start + 1]):
                parts[start + 1] = re.sub(r"^<mo(?![^>]*stretchy)", '<mo stretchy="false"', parts[start + 1])
                parts[number - 1] = re.sub(
                    r"<mo(?![^>]*stretchy)([^>]*>[)\]}|]</mo>)$", r'<mo stretchy="false"\1', parts[number - 1]
                )
        else:
            open_rows[-1][1] = True
    return "".join(parts)
