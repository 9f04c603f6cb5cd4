"""Run chapters about Adult and Bank on the user's table, which the parameters `data` and `schema` name.

`data` is "stand-in", "real", or the file of a table (`lib.release.sources`), whose public schema is the file `schema`.
On such a table, no claim of a paper is judged, and cells that begin with `THEIRS` are left out, because these claims
and cells are about the paper's own records. An unusable table raises ``ValueError`` with a message of one sentence.

The output of a chapter about the records is not private, so it is for their owner only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from lib.data import datasets, encodings
from lib.numerics import checks
from lib.release import schema as schemas
from lib.release import sources
from lib.tables.table import Table

ROOT = Path(__file__).resolve().parents[2]
THEIRS = "# Only for the paper's own records"  # the first words of such cells
WAYS = ("observed", "public")


def given(data: str, schema: str) -> schemas.Schema | None:
    """Return the schema of the user's table, or None if `data` is one of `datasets.KINDS`.

    For the user's table, print its name, and leave out the notebook's cells about other tables.
    """
    if data in datasets.KINDS:
        if schema:
            raise ValueError(f"schema must be left out where data is {data}, got {schema!r}")
        return None
    if not schema:
        known = ", ".join(datasets.KINDS)
        raise ValueError(f"data must be one of {known}, or a file of yours if schema is also given, got {data!r}")
    try:
        public = schemas.read(ROOT / schema)
    except OSError as error:
        raise ValueError(f"schema must be a file, got {schema!r}: {error.strerror}") from None
    sources.check(place(data), public)
    _leave_out(data)
    print(f"This run is on {data}. The text and the kept results are about Adult and Bank, not about this table.")
    return public


def categorical(data: str, schema: str, *, adult: Callable[..., Table] = encodings.adult_table) -> Table:
    """Return the user's records or else Adult's, as codes with numbers in bins; three attributes are needed."""
    public = given(data, schema)
    if public is None:
        return adult(source=data)
    if len(public.attributes) < 3:
        raise ValueError(f"schema must have at least 3 attributes for this chapter, got {len(public.attributes)}")
    return sources.read(place(data), public)


def numeric(data: str, schema: str) -> tuple[dict[str, pd.DataFrame], Callable[..., pd.DataFrame]]:
    """Return frames by name, the first of which the chapter uses, and a function that scales a frame to [-1, 1].

    The function's argument `scaling` is one of `WAYS`.
    """
    public = given(data, schema)
    if public is None:
        which = "Adult" if data == "real" else "synthetic sample"
        frames = {f"{which}, {part}": datasets.adult(part, source=data) for part in ("train", "all")}
        return frames | {f"{name}, complete": frame.dropna() for name, frame in frames.items()}, datasets.adult_numeric
    ends = ranges(public)
    if not 2 <= len(ends) <= 12:
        raise ValueError(f"schema must have 2 to 12 attributes with a range for this chapter, got {len(ends)}")
    frame = pd.DataFrame(sources.numbers(place(data), public)).dropna()
    return {f"{Path(data).name}, complete": frame}, partial(_scaled, ends=ends)


def _scaled(frame, ends, *, scaling="observed") -> pd.DataFrame:
    checks.one_of("scaling", scaling, WAYS)
    used = pd.DataFrame(ends, index=["low", "high"]) if scaling == "public" else frame.agg(["min", "max"])
    low, high = used.to_numpy()
    for name, least, most in zip(frame.columns, low, high):
        if not least < most:
            raise ValueError(
                f"{name} must take at least two values in complete records to be scaled, got {least:g} only"
            )
    return 2 * (frame - low) / (high - low) - 1


def ranges(public) -> dict[str, tuple[float, float]]:
    """Return the declared ends of the range of each numeric attribute."""
    return {each.name: (each.starts[0], each.last) for each in public.attributes if each.kind in schemas.NUMBERS}


def place(data: str) -> str:
    """Return the path of `data`, relative to the repository's root wherever the notebook runs."""
    return str(ROOT / data) if (ROOT / data).exists() else data


# ---- cells that are about the document's own records


class _Unjudged(ast.NodeTransformer):
    """A transformer that removes the statements that judge claims from a cell, and says so once."""

    def visit_Module(self, node):
        self.taken = False
        self.generic_visit(node)
        if self.taken:
            node.body.append(ast.parse("print('Claims are not judged: they are about other records.')").body[0])
        return ast.fix_missing_locations(node)

    def visit_Expr(self, node):
        called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
        if called != "judge" and not called.startswith("claims."):
            return node
        self.taken = True
        return ast.copy_location(ast.Pass(), node)


def _leave_out(data: str) -> None:
    """In a notebook, leave out the cells that begin with `THEIRS`, from the next cell on."""
    from IPython import get_ipython

    if shell := get_ipython():
        said = f"print({f'Left out: this cell is about other records than those of {data}.'!r})\n"
        shell.input_transformers_cleanup.append(
            lambda lines: [said] if lines and lines[0].rstrip("\n") == THEIRS else lines
        )
        shell.ast_transformers.append(_Unjudged())
