"""Run a command while no other process runs one with the same lock.

    python notebooks/tools/alone.py build/html.lock COMMAND ...

The lock is on a file. The command and all processes that it starts hold the lock. It is released when the last of them
ends, however that happens.
"""

import fcntl
import os
import sys

if __name__ == "__main__":
    file, *command = sys.argv[1:]
    lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting    another process holds the lock {file}", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)
    os.execvp(command[0], command)
