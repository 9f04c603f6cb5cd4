"""End a notebook's run on a signal as on an interrupt, with one sentence."""

import logging
import signal


def ends_at(*signals: signal.Signals) -> None:
    """Make `signals` raise ``KeyboardInterrupt`` from now on, unless this process was started to ignore them."""
    for each in signals:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _interrupt)


def _interrupt(number, frame):
    # The running cell fails when its kernel ends. Nothing waits for it any more, and asyncio would print its traceback.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    raise KeyboardInterrupt
