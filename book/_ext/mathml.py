"""Conversion of formulas from TeX to MathML, which browsers show without a script and screen readers can read aloud.

Authors who reply to a verdict and students who hand in answers also write formulas. So a formula must not contain a
link, a label or a length of 10 em or more, and its size is limited. A definition in one formula does not apply to later
formulas.
"""

import re

from math_core import LatexError, LatexToMathML

_TEX = LatexToMathML(fancy_error=False, max_expansions=100)
LONGEST = 5_000  # characters of a formula in TeX; the book's longest has 723
LARGEST = 100_000  # characters of a formula in MathML, which a browser shows in a third of a second
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
_SHORT = r"-?[0-9]?(?:\.\d+)?(?:em|rem|ex)?"
_STYLE = (
    rf"(?:(?:padding|margin|border)-(?:top|right|bottom|left): ?{_SHORT}(?: (?:solid|dashed) currentcolor)?|width: ?{_SHORT}"
    r"|(?:width|font-size): ?\d{1,3}(?:\.\d)?%|color: ?#[0-9A-F]{6}|(?:text-align|justify-items|math-shift|font-variant-caps): ?[a-z-]+)"
)
_MARKUP = re.compile(
    r"</?(?:m(?:ath|[inos]|text|space|row|padded|phantom|frac|sqrt|root|(?:sub|sup|under|over){1,2}|multiscripts|prescripts"
    r"|table|t[rd]|enclose)|b|i|em|code|s|u|span)(?: (?:"
    r'(?:stretchy|symmetric|accent|accentunder|displaystyle|movablelimits)="(?:true|false)"|scriptlevel="[0-3]"'
    rf'|(?:[lr]space|width|height|(?:min|max)size|linethickness|voffset)="{_SHORT}"|display="block"|mathvariant="normal"'
    r'|form="(?:pre|in|post)fix"|notation="[a-z ]+"|class="(?:math-core|menclose)-[a-z-]+"'
    rf'|style="{_STYLE}(?:; ?{_STYLE})*;?"))* ?/?>'
)
_PARTS = re.compile(r"(<mrow\b[^>]*>|</mrow>|<mfrac|<munder|<mover|<msqrt|<mroot|<mtable|minsize|[∑∏∫⋃⋂])")


def mathml(tex: str, display: bool = False) -> str:
    """Return the formula `tex`, which is given without dollar signs, as MathML.

    Raises `ValueError` if the formula is invalid or too long, or if it contains an unknown command, a link, a label or
    a length of 10 em or more.

    display : whether the formula is shown on a separate line
    """
    if lines := _SPLIT.fullmatch(tex.strip()):
        inner = lines["lines"].strip()
        tex = inner if inner.startswith(r"\begin{") else rf"\begin{{aligned}}{inner}\end{{aligned}}"
    if len(tex) > LONGEST:
        raise ValueError(f"tex must have at most {LONGEST} characters, got {len(tex)}")
    if length := _LENGTH.search(tex):
        raise ValueError(f"tex must not set a length after a line break, got {length[0]!r}")
    try:
        made = _TEX.convert_with_local_state(tex.strip(), displaystyle=display)
    except LatexError as reason:
        raise ValueError(f"tex must be a formula of known commands, got {tex.strip()!r}: {reason}") from None
    if len(made) > LARGEST:
        raise ValueError(f"tex must become at most {LARGEST} characters of MathML, got {len(made)}")
    for found, better in _REWRITTEN:
        made = found.sub(better, made)
    if odd := re.search("<[^>]*>?", _MARKUP.sub("", made)):
        raise ValueError(f"tex must have no links, labels or lengths of 10 em or more, got {tex.strip()!r}: {odd[0]}")
    return _with_plain_parentheses(made)


def _with_plain_parentheses(made: str) -> str:
    """Keep parentheses around parts that are one line high from stretching, because Chromium reserves the width of the
    widest form beside parentheses that can stretch."""
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
