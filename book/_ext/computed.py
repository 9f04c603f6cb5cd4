"""The role {computed}: a number that lib computes while the book is built, ``{computed}`gaussian_sigma(1, 1e-6) :.2f```.

The expression sees the faces of the rooms by their names, `composition`, `communication` and `dp_sgd`, what `accounting` and `mechanisms` show, and the functions of `math`.
"""

import math
from functools import cache

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from book._ext.summaries import FORMAT


@cache
def names() -> dict:
    from lib import accounting, gaussian_synthesis, local, mechanisms, microdata, tables
    from lib.accounting import composition
    from lib.local import communication
    from lib.networks import dp_sgd

    rooms = (accounting, composition, gaussian_synthesis, local, communication, mechanisms, microdata, tables, dp_sgd)
    named = {room.__name__.rpartition(".")[2]: room for room in rooms}
    return vars(math) | vars(accounting) | vars(mechanisms) | named


@cache
def computed(text: str) -> str:
    """What the expression in `text` gives, in the form that follows it; ValueError where it gives no finite number."""
    expression, form = FORMAT.fullmatch(text).groups()
    try:
        value = float(eval(expression, names()))  # the text is a page of this book
    except (ArithmeticError, AttributeError, NameError, SyntaxError, TypeError) as error:
        raise ValueError(f"computed must be an expression of lib, got {expression!r}: {error}") from error
    if not math.isfinite(value):
        raise ValueError(f"computed must give a finite number, got {value:g} of {expression!r}")
    return format(value, form or ".3g")


class Computed(SphinxRole):
    def run(self):
        try:
            made = computed(self.text)
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error), line=self.lineno)]
        return [nodes.inline(self.text, made, classes=["computed"], **{"data-expression": self.text})], []


def setup(app):
    app.add_role("computed", Computed())
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
