"""How a run of a notebook that is told to end leaves: as at an interrupt, with one sentence."""

import logging
import signal


def ends_at(*signals: signal.Signals) -> None:
    """Each of `signals` raises ``KeyboardInterrupt`` from now on, unless this process was started to ignore it."""
    for each in signals:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _interrupt)


def _interrupt(number, frame):
    # The cell in hand fails as its kernel is ended. Nobody waits for it any more, and asyncio would print its traceback.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    raise KeyboardInterrupt
