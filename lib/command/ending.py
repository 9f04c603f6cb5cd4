"""The process of a command: it ends on a signal with one sentence, and does not start without enough memory."""

from __future__ import annotations

import logging
import mmap
import signal
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


def interrupted(output: Path) -> str:
    """Return what an interrupted release to the folder `output`, which was new or empty, has to tell."""
    complete = output.is_dir() and any(output.iterdir())
    return f"interrupted; {f'the release in {output} is complete' if complete else 'nothing was released'}"


def check_memory(size: int = NEEDED) -> None:
    """Raise ``MemoryError`` if a limit, such as that of `ulimit -v`, leaves less than `size` bytes of addresses.

    Below such a limit, libraries of linear algebra may try without end to get memory.
    """
    try:
        mmap.mmap(-1, size, access=mmap.ACCESS_COPY).close()
    except (OSError, ValueError, OverflowError):
        raise MemoryError(
            f"{size >> 20} MiB of memory addresses are needed, but a limit (ulimit -v) leaves less"
        ) from None
