"""A run that gets a signal to end: any signal is an interrupt, and only the message about it is printed."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
A_TASK_FAILS_THAT_NOBODY_WAITS_FOR = """
import asyncio, os, signal, sys
from lib.command.ending import ends_at

async def fails():
    raise ArithmeticError

async def started():
    asyncio.create_task(fails())
    await asyncio.sleep(0)

ends_at(signal.SIGHUP)
try:
    if sys.argv[1] == "hangup":
        os.kill(os.getpid(), signal.SIGHUP)
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
asyncio.run(started())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "at_first", "said", "traceback"),
    [
        ("hangup", signal.SIG_DFL, "interrupted", False),
        ("hangup", signal.SIG_IGN, "went on", True),  # with `nohup`
        ("nothing", signal.SIG_DFL, "went on", True),
    ],
)
def test_it_is_interrupted_unless_it_was_started_to_ignore_that(told, at_first, said, traceback):
    started = partial(signal.signal, signal.SIGHUP, at_first)
    words = [sys.executable, "-c", A_TASK_FAILS_THAT_NOBODY_WAITS_FOR, told]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, preexec_fn=started)
    assert (done.returncode, done.stdout) == (0, f"{said}\n") and ("Traceback" in done.stderr) == traceback
