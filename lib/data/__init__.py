"""Load Adult and Bank Marketing, real or synthetic, as frames and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.extras import on_demand

if TYPE_CHECKING:  # the extra `data` brings pandas, so each is imported when it is first used
    from .datasets import (
        DatasetError,  # the error for a file that is missing or damaged
        adult,  # Adult as a frame
        available,  # whether the real files are on this machine
        bank,  # Bank Marketing as a frame
    )
    from .encodings import (
        adult_domain,  # the public domain of Adult
        adult_table,  # Adult as a table of categorical records
        bank_domain,  # the public domain of Bank Marketing
        bank_table,  # Bank Marketing as a table of categorical records
    )

__getattr__, __dir__ = on_demand(__name__, __file__)
