"""Add floats from left to right, with rounding after each addition, for the same digits on every version of Python.

The built-in `sum` adds in this way up to Python 3.11. Since Python 3.12 `sum` compensates for rounding errors, so the
last digit can differ. AIM's choices depend on the last digits of sums, so `lib` uses the built-in `sum` only for
integers and arrays.
"""

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any


def total(values: Iterable[Any]) -> Any:
    """Return the sum of `values`, or 0 if there are none.

    >>> from lib.numerics.in_order import total
    >>> print(total([0.1, 0.2, 0.3]))
    0.6000000000000001
    """
    return reduce(operator.add, values, 0)
