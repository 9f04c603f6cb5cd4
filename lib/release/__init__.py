"""Release a user's table: read its records by a public schema, and make synthetic records, a report and a statement.

`Synthesizer` (in `estimator`) does all of this. `schema` and `sources` read the inputs, and `counter` counts the
records. `synthesizer` contains most of the functions below and, with `report`, makes the report. `conditions` and
`restrictions` determine which records are drawn or ruled out, and `queries` answers questions. `account` adds up the
costs of releases, and `uncertainty` bounds how far counts may be from the truth. `files` writes a file completely or
not at all, and `escapes` makes names and labels safe to show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.extras import on_demand

if TYPE_CHECKING:  # the extra `data` installs pyarrow, so each name is imported at its first use
    from .account import Account  # the costs of all releases of the same records, and their total
    from .counter import Counter  # the counts of records that come in batches
    from .estimator import Synthesizer  # fit, sample, query, save and load, as in scikit-learn
    from .queries import ask  # the answer to a question in text, with an interval
    from .synthesizer import (
        decoded,  # synthetic codes as values of the schema
        intervals,  # confidence intervals for the counts of an attribute set
        load,  # a saved release
        run,  # AIM or staged residuals on coded records, with the operating system's randomness
        statement,  # the guarantee in words
        write,  # every file of a release
    )
    from .uncertainty import count_intervals  # confidence intervals for released counts

__getattr__, __dir__ = on_demand(__name__, __file__)
