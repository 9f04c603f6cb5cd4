"""Floats added from left to right, rounded after each: the same digits on every Python.

The built-in `sum` does that up to Python 3.11; from 3.12 on it carries the rounding errors along, and the last digit
differs. AIM's choices hang on last digits. So `lib` leaves the built-in to whole numbers and arrays.
"""

import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any


def total(values: Iterable[Any]) -> Any:
    """The sum of `values`; 0 for none.

    >>> from lib.numerics.in_order import total
    >>> print(total([0.1, 0.2, 0.3]))
    0.6000000000000001
    """
    return reduce(operator.add, values, 0)
