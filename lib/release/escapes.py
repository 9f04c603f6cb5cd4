"""Names and labels of a schema as they may be shown: in a terminal, in Markdown and the pages made of it, and in a CSV file."""

from __future__ import annotations

import html
import re

_PLAIN = re.compile(r"[^\W_]+(?:[ ._/-][^\W_]+|(?: × )[^\W_]+)*")
_BETWEEN = re.compile(r"([;\t\r\n]+)")  # where some spreadsheets begin another cell
_FORMULA = re.compile(r"\s*[=+@＝＋－＠-]")
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")


def printable(text: str) -> str:
    r"""Return `text` with letters that are not printable, such as those that control a terminal, in the form \x1b.

    >>> from lib.release.escapes import printable
    >>> print(printable("re\x1b[31md\n"))
    re\x1b[31md\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def in_markdown(text: str) -> str:
    r"""Return `text` for a sentence in Markdown or in a terminal; it becomes code unless it is words and numbers.

    Code in Markdown is shown letter by letter: it is no HTML, no link, no emphasis and no formula.

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
    """Return `text` for an element or an attribute in quotes of a page in HTML.

    >>> from lib.release.escapes import in_html
    >>> print(in_html("a<b>"), in_html("x & 'y'"))
    a&lt;b&gt; x &amp; &#x27;y&#x27;
    """
    return html.escape(printable(text))


def no_formula(text: str) -> str:
    """Return `text` with an apostrophe before each part that a spreadsheet would take for a formula; numbers are none.

    >>> from lib.release.escapes import no_formula
    >>> print(no_formula("=1+2"), no_formula("-9"), no_formula("a=b"), no_formula("a;=1+2"))
    '=1+2 -9 a=b a;'=1+2
    """
    parts = _BETWEEN.split(text)
    return "".join(f"'{each}" if _FORMULA.match(each) and not _NUMBER.fullmatch(each) else each for each in parts)
