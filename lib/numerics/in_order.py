"""Floats added from left to right, rounded after each: the same digits on every Python.

The built-in `sum` does that up to Python 3.11; from 3.12 on it carries the rounding errors along, and the last digit
differs. AIM's choices hang on last digits. So `lib` leaves the built-in to whole numbers and arrays.
"""

import operator
from collections.abc import Iterable
from functools import reduce


def total(values: Iterable):
    """The sum of `values`; 0 for none."""
    return reduce(operator.add, values, 0)
