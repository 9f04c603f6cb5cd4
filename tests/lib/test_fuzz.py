"""Every public function of `lib` against hostile arguments: an error that says what is wrong, or a right answer.

`fuzz_cases` contains a valid call of each. One argument at a time is replaced by something hostile of a similar kind. A
number becomes NaN, an infinity, the largest or smallest float, an integer beyond all floats, a text, or a complex number.
An array gets such an entry, or becomes empty, or has a different shape or type. A choice becomes an invalid one. Then

- no array may be written into, in whatever order it lies
- a refusal must be a ``ValueError`` or ``TypeError`` (a warning is an error in this suite, and no refusal), and a
  ``ValueError`` about a number must say which parameter or value it is about
- NaN, text and complex numbers must be refused where a number is wanted, as must an empty name
- whatever is returned holds no NaN, no delta outside [0, 1], no negative epsilon, rho or variance, and probabilities
  that sum to 1
"""

import inspect
from abc import ABC
from collections import defaultdict
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lib import fuzz_cases

CALLS = defaultdict(list)
for _call in fuzz_cases.calls():
    CALLS[_call.name].append(_call)


# ---- nothing is forgotten


def public() -> set[str]:
    """Return the public functions of all modules, and the constructors and methods of their public classes."""
    names = set()
    for leaf, module in fuzz_cases.MODULES.items():
        for name, found in vars(module).items():
            if name.startswith("_") or getattr(found, "__module__", None) != module.__name__:
                continue
            if inspect.isclass(found):
                names |= {f"{leaf}.{name}{method}" for method in _methods(found)}
            elif callable(found):
                names.add(f"{leaf}.{name}")
    return names


def _methods(cls):
    """Return what a class itself defines; a constructor counts if it computes or checks, and can be called."""
    own = [name for name, found in vars(cls).items() if not name.startswith("_") and _has_arguments(found)]
    constructor = any("__init__" in vars(base) and not is_dataclass(base) or "__post_init__" in vars(base)
                      for base in cls.__mro__ if base.__module__.startswith("lib."))  # fmt: skip
    abstract = ABC in cls.__bases__ or not constructor
    methods = [f".{name}" for name in own if not getattr(vars(cls)[name], "__isabstractmethod__", False)]
    return methods if abstract or cls.__name__ in MIXINS else [*methods, ""]


MIXINS = ("PositiveFields", "FromLoss", "PureDP", "FrequencyOracle", "UnaryEncoding")


def _has_arguments(found):
    function = getattr(found, "__func__", found)
    return inspect.isfunction(function) and len(inspect.signature(function).parameters) > (
        0 if isinstance(found, staticmethod) else 1
    )


def exempt(name):
    return any(name == listed or (listed.endswith(".") and name.startswith(listed)) for listed in fuzz_cases.EXEMPT)


def test_every_public_function_is_fuzzed_or_exempt_with_a_reason():
    assert sorted(name for name in public() if name not in CALLS and not exempt(name)) == []


def test_what_is_exempt_exists():
    existing = public()
    for name in fuzz_cases.EXEMPT:
        assert any(found == name or (name.endswith(".") and found.startswith(name)) for found in existing), name


# ---- what is hostile

NUMBERS = {
    "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0": -0.0, "0": 0, "-1": -1, "1/2": 0.5, "1": 1, "2": 2,
    "1e308": 1e308, "10^30": 10**30, "10^400": 10**400, "5e-324": 5e-324, "1e-300": 1e-300, "2^53": 2.0**53,
    "text": "abc", "digits": "1", "complex": 1j, "complex array": np.array(1 + 1j), "nothing": None, "object": object(),
    "empty": [], "ragged": [[1, 2], [3]], "with nan": [1.0, np.nan], "true": True, "date": np.datetime64("2020-01-01"),
}  # fmt: skip
REFUSED = ("nan", "text", "complex", "complex array", "object", "ragged", "with nan", "date", "nan entry", "text entry",
           "complex entry", "object entry")  # fmt: skip
HUGE = ("1e308", "10^30", "10^400", "2^53", "5e-324", "1e-300")  # a tiny error or scale asks for much as well
MISTYPED = ("text", "object", "nan", "scalar", "list", "ragged", "nothing")
CHOICES = {"empty": "", "other": "no such thing", "nothing": None, "number": 0, "nan": np.nan, "list": []}


def arrays(valid) -> dict:
    """Return hostile relatives of an array of numbers."""
    valid = np.asarray(valid)
    numbers = valid.astype(float)
    hostile = {f"{name} entry": _with(numbers, value) for name, value in NUMBERS.items()
               if isinstance(value, float) or name in ("-1", "0")}  # fmt: skip
    hostile |= {
        "text entry": _with(valid.astype(object), "abc"), "complex entry": _with(valid.astype(complex), 1j),
        "object entry": _with(valid.astype(object), object()), "empty": valid[:0], "scalar": valid.flat[0], "all zero": np.zeros_like(numbers),
        "all 1e308": np.full_like(numbers, 1e308), "more axes": valid[None], "longer": np.concatenate([valid, valid]), "list": valid.tolist(),
        "big-endian": numbers.astype(">f8"), "read-only": _read_only(valid), "read-only, by columns": _read_only(np.asfortranarray(valid)),
        "read-only, one": _read_only(valid[:1]), "reversed": valid[::-1], "text": "abc", "object": object(),
        "nan": np.nan, "empty rows": np.zeros((0, *valid.shape[1:])), "ragged": [[1, 2], [3]],
    }  # fmt: skip
    return hostile


def _with(array, value):
    array = array.copy()
    array.flat[0] = value
    return array


def _read_only(array):
    """Return a copy that raises an error if a function writes into it, and so into the caller's array."""
    array = array.copy(order="K")
    array.flags.writeable = False
    return array


def hostile(call, parameter) -> dict:
    """Return values that `parameter` should not or need not have: none for a table, a function, a generator."""
    valid = call.arguments[parameter]
    if parameter in call.fixed:
        return {}
    if isinstance(valid, (bool, str)):
        return CHOICES if isinstance(valid, str) else {}
    if isinstance(valid, (int, float, np.number)):
        found = NUMBERS
    elif isinstance(valid, (list, tuple, np.ndarray)) and _numeric(valid):
        found = arrays(valid)
    else:
        return {}
    too_much = HUGE if parameter in call.spare else ()
    if parameter == "tolerance":  # 5e-324 is out of reach, too, and takes long enough once
        too_much = (*too_much, "1e-300")
    return {name: value for name, value in found.items()
            if name not in call.allows and not any(huge in name for huge in too_much)}  # fmt: skip


def _numeric(valid):
    try:
        valid = np.asarray(valid)
    except ValueError:  # ragged: a collection of something
        return False
    return valid.dtype.kind in "iuf" and valid.size > 0


# ---- what is right


def leaves(result, name=""):
    """Yield (name, value) of all numbers and arrays in a result, under the names that fields and keys give them."""
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        parts = zip(result._fields, result)
    elif is_dataclass(result) and not isinstance(result, type):
        parts = [(field.name, getattr(result, field.name)) for field in fields(result)]
    elif isinstance(result, dict):
        parts = result.items()
    elif isinstance(result, pd.DataFrame):
        parts = [(column, result[column].to_numpy()) for column in result]
    elif isinstance(result, (list, tuple)):
        parts = [(name, part) for part in result]
    else:
        parts = None
    if parts is not None:
        for key, part in parts:
            yield from leaves(part, key)
    elif isinstance(result, (float, np.floating, np.ndarray)) and np.asarray(result).dtype.kind == "f":
        yield str(name), np.asarray(result)


NO_NUMBER = {  # documented: NaN where no order proves anything
    ("conversions.rdp_to_dp", "alpha"), ("conversions.rdp_to_delta", "alpha"), ("releases.released_dp", "alpha"),
}  # fmt: skip


def wrong(call, result) -> str:
    """Return what is wrong with a result as such, or nothing."""
    function = call.name.rsplit(".", 1)[-1]
    for name, value in leaves(result):
        what = name or function
        if np.isnan(value).any() and (call.name, what) not in NO_NUMBER:
            return f"NaN in {what}"
        least = value.min(initial=0)
        if least < 0 and (
            what in ("epsilon", "delta", "rho", "variance", "variances", "lower", "upper")
            or what.endswith(("_epsilon", "zcdp"))
        ):
            return f"{what} is {least}"
        if value.max(initial=0) > 1 and ("delta" in what.split("_") or what in ("probability", "probabilities", "auc")):
            return f"{what} is {value.max()}"
        if what == "probabilities" and value.ndim == 1 and abs(value.sum() - 1) > 1e-9:
            return f"{what} sum to {value.sum()}"
    return ""


def fault(call, parameter, name, value) -> str:
    """Return what is wrong with the answer to one hostile argument, or nothing."""
    try:
        result = call(**{parameter: value})
    except Exception as error:  # any but a refusal is a fault, which is what this test looks for
        python = (
            isinstance(error, AttributeError) and name in MISTYPED
        )  # Python's own refusal of a thing of another type
        written = "read-only" in str(error)
        return "" if (refused(error) or python) and not written else f"{type(error).__name__}: {error}"
    if name in REFUSED:
        return f"accepted: {result!r:.80}"
    return wrong(call, result)


def refused(error) -> bool:
    """Return whether an exception is a refusal: as documented, ``ArithmeticError`` itself says "too extreme for double precision"."""
    return isinstance(error, (ValueError, TypeError)) or type(error) in (ArithmeticError, FloatingPointError)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CALLS))
def test_hostile_arguments(name):
    faults = []
    for call in CALLS[name]:
        assert wrong(call, call()) == "", "the valid call"
        for parameter in call.arguments:
            for kind, value in hostile(call, parameter).items():
                found = fault(call, parameter, kind, value)
                if found:
                    faults.append(f"{parameter} = {kind}: {found}")
    assert faults == []


# ---- several arguments at once


def numbers(call) -> list:
    """Return the parameters of a call that are one number, except those for the size of the result."""
    kept = (*call.fixed, *call.spare)
    return [name for name, valid in call.arguments.items()
            if isinstance(valid, (int, float)) and not isinstance(valid, bool) and name not in kept]  # fmt: skip


def anywhere(valid):
    """Return a number of any size, also NaN and infinite; one of some other order of magnitude; or `valid` itself."""
    return st.one_of(st.floats(), st.floats(-12, 12).map(lambda power: valid * 10.0**power), st.just(valid))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name in CALLS if any(map(numbers, CALLS[name]))))
@settings(max_examples=6)
@given(data=st.data())
def test_drawn_numbers(name, data):
    for call in CALLS[name]:
        changed = {parameter: data.draw(anywhere(call.arguments[parameter]), parameter) for parameter in numbers(call)}
        try:
            result = call(**changed)
        except Exception as error:
            if not refused(error):
                raise
        else:
            assert wrong(call, result) == ""
