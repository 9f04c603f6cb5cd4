"""Make names and labels of a schema safe to show in a terminal, in Markdown, on its pages, and in a CSV file."""

from __future__ import annotations

import html
import re

_PLAIN = re.compile(r"[^\W_]+(?:[ ._/-][^\W_]+|(?: × )[^\W_]+)*")
_BETWEEN = re.compile(r"([;\t\r\n]+)")  # where some spreadsheets begin another cell
_FORMULA = re.compile(r"\s*[=+@＝＋－＠-]")
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")


def printable(text: str) -> str:
    r"""Return `text` with each character that is not printable, such as one that controls a terminal, in the form \x1b.

    >>> from lib.release.escapes import printable
    >>> print(printable("re\x1b[31md\n"))
    re\x1b[31md\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_markdown(text: str) -> str:
    r"""Return `text` for a sentence in Markdown or in a terminal; unless it consists of words and numbers, it becomes code.

    Markdown shows code literally and does not treat it as HTML, a link, emphasis or a formula.

    >>> from lib.release.escapes import in_markdown
    >>> print(in_markdown("dep_delay"), in_markdown("__x__"), in_markdown("<b>"), in_markdown("a`b"))
    dep_delay `__x__` `<b>` ``a`b``
    """
    if _PLAIN.fullmatch(text):
        return text
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " * (text.startswith("`") or text.endswith("`"))
    return f"{fence}{pad}{printable(text)}{pad}{fence}"


def in_html(text: str) -> str:
    """Return `text` escaped for an element or a quoted attribute of an HTML page.

    >>> from lib.release.escapes import in_html
    >>> print(in_html("a<b>"), in_html("x & 'y'"))
    a&lt;b&gt; x &amp; &#x27;y&#x27;
    """
    return html.escape(printable(text))


def no_formula(text: str) -> str:
    """Return `text` with an apostrophe before each part that a spreadsheet would take for a formula, except numbers.

    >>> from lib.release.escapes import no_formula
    >>> print(no_formula("=1+2"), no_formula("-9"), no_formula("a=b"), no_formula("a;=1+2"))
    '=1+2 -9 a=b a;'=1+2
    """
    parts = _BETWEEN.split(text)
    return "".join(f"'{each}" if _FORMULA.match(each) and not _NUMBER.fullmatch(each) else each for each in parts)
