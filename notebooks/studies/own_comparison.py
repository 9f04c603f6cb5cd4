"""The data for `aim_comparison.grid` if a chapter uses the user's table (`own_table`)."""

from __future__ import annotations

from pathlib import Path

from lib.data import datasets
from lib.numerics import checks
from notebooks.studies import aim_comparison, own_table


def cases(data: str, schema: str, target: str) -> list[aim_comparison.Case]:
    """Return the user's table, with a fifth held out, or the paper's two data sets if `data` is one of
    `datasets.KINDS`.

    target : the attribute whose prediction is compared

    Raises ``ValueError`` for a table that does not fit, as `own_table.categorical` does, and for an unknown `target`.
    """
    if data in datasets.KINDS:
        own_table.given(data, schema)
        return aim_comparison.cases(data)
    table = own_table.categorical(data, schema)
    checks.one_of("target", target, table.domain.attributes)
    return [aim_comparison.Case(Path(data).name, table, table, target, held=0.2)]
