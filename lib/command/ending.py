"""Control the process of a command: it ends on a signal with one sentence, and does not start without enough memory."""

from __future__ import annotations

import logging
import mmap
import signal
from fractions import Fraction
from pathlib import Path

NEEDED = 2 << 30  # bytes of addresses that a release takes, most of them for its libraries' threads and pools


def ends_at(*signals: signal.Signals) -> None:
    """Make `signals` raise ``KeyboardInterrupt`` from now on, unless this process was started to ignore them."""
    for each in signals:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _interrupt)


def _interrupt(number, frame):
    # The running cell fails when its kernel ends. Nothing waits for it any more, and asyncio would print its traceback.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    raise KeyboardInterrupt


def spent(account: str | None) -> Fraction:
    """Return the rho that the file `account` counts as spent, or 0 if it is None or does not exist."""
    if not account or not Path(account).exists():
        return Fraction(0)
    from ..release.account import Account

    return Account(account).balance().spent


def interrupted(output: Path, account: str | None = None, before: Fraction = Fraction(0)) -> str:
    """Return the message for an interrupted release to the folder `output`, which was new or empty.

    account : the account file of this release, if any; before : the result of `spent` when the release started
    """
    if output.is_dir() and any(output.iterdir()):
        return f"interrupted; the release in {output} is complete"
    charged = f", but its cost is spent in {account}" if spent(account) > before else ""
    return f"interrupted; nothing was released{charged}"


def lost(error: OSError, account: str) -> OSError:
    """Return `error`, which ended a release after its noise was drawn, with a note that the cost is spent."""
    from .answers import one_line

    return OSError(f"{one_line(error)}; the cost of the release is spent in {account}")


def check_memory(size: int = NEEDED) -> None:
    """Raise ``MemoryError`` if a limit, such as that of `ulimit -v`, leaves less than `size` bytes of addresses.

    Below such a limit, libraries of linear algebra may try endlessly to get memory.
    """
    try:
        mmap.mmap(-1, size, access=mmap.ACCESS_COPY).close()
    except (OSError, ValueError, OverflowError):
        raise MemoryError(
            f"{size >> 20} MiB of memory addresses are needed, but a limit (ulimit -v) leaves less"
        ) from None
