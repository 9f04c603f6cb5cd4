"""Print the answers of the command as lines, each with a name and a value, or as JSON."""

from __future__ import annotations

import decimal
import json
import math
from collections.abc import Callable, Mapping

import click

from ..release.escapes import printable

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON; an infinite cost is null.")


def answer(found: Mapping, in_json: bool) -> None:
    """Print `found`, a mapping from names to values or mappings; in lines, mark the value named by "least"."""
    if in_json:
        click.echo(json.dumps(_finite(found), allow_nan=False, indent=1))
        return
    lines = []
    for name, part in found.items():
        for key, value in part.items() if isinstance(part, Mapping) else [("", part)]:
            shown = _rounded_up(value) if isinstance(value, float) else value
            lines.append((f"{name} {key}".strip(), shown, "  smallest" if key and key == found.get("least") else ""))
    width = max(len(name) for name, *_ in lines)
    for name, shown, mark in lines:
        if name != "least":
            click.echo(printable(f"{name:<{width}}  {shown}{mark}"))


def _rounded_up(value: float) -> str:
    """Return `value`, a cost or an amount of noise that is needed, rounded up to six digits."""
    shown = f"{value:.6g}"
    if float(shown) < value:
        shown = f"{float(decimal.Context(prec=6, rounding=decimal.ROUND_CEILING).create_decimal(value)):.6g}"
    return shown


def _finite(found):
    """Return `found`, with None in place of numbers that JSON cannot represent."""
    if isinstance(found, Mapping):
        return {name: _finite(part) for name, part in found.items()}
    return None if isinstance(found, float) and not math.isfinite(found) else found


def by_each_way(ways: Mapping[str, Callable[[], float]]) -> dict:
    """Return a mapping with the keys "epsilon", "least" and, if a way fails, "none".

    "epsilon" maps the name of each of `ways` that succeeds to its value, "least" is the name of the way with the
    smallest value, and "none" maps each other name to the reason why the way has no value.

    Raises the ``ValueError`` or ``ArithmeticError`` of the first way if no way has a value.
    """
    found, lacking = {}, {}
    for name, way in ways.items():
        try:
            found[name] = float(way())
        except (ValueError, ArithmeticError) as error:
            lacking[name] = error
    if not found:
        raise next(iter(lacking.values()))
    told = {"epsilon": found, "least": min(found, key=found.__getitem__)}
    return told | ({"none": {name: one_line(error) for name, error in lacking.items()}} if lacking else {})


def one_line(error: Exception) -> str:
    """Return the message of `error` as one sentence."""
    if isinstance(error, OSError) and error.filename:
        return printable(f"{error.filename}: {error.strerror}")
    return printable(" ".join(str(error).split())) or "there is not enough memory"  # a MemoryError has no message
