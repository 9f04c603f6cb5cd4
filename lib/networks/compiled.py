"""Functions compiled by numba and kept on disk, in a folder for the present state of this subpackage's files.

numba by itself uses what it has kept as long as the file of a function is the same, though functions of other files, which
are compiled into it, may have changed. All functions compiled into one another are of this subpackage, so the name of the
folder follows the age and the size of each of its files, which cost nothing to read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ..numerics.extras import extra

with extra("networks"):
    import numba

HERE = Path(__file__).resolve().parent
_SETTINGS: Any = numba.config  # it makes its attributes when it is imported
KEPT = 4  # folders that stay, the last used


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, of a module of this subpackage, compiled at its first call, and kept, so that the next process need not wait."""
    own, given = _folder(), _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(own or "")
    try:
        return numba.njit(cache=own is not None, nogil=True, error_model="numpy")(function)
    finally:
        _SETTINGS.CACHE_DIR = given


@cache
def _folder() -> Path | None:
    """Where compiled functions are kept, in the first of `_places` that can be written to; None if none can.

    Of the folders for earlier states, all but the last used are removed: `KEPT` stay.
    """
    for place in _places():
        own = place / _state()
        if _can_be_used(own):
            for old in sorted(place.glob("?" * len(own.name)), key=_last_used)[:-KEPT]:
                shutil.rmtree(old, ignore_errors=True)
            return own
    return None


def _state() -> str:
    """A name for the present state of this subpackage's modules: it changes with the age and the size of each."""
    seen = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(HERE.glob("*.py"))]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def _can_be_used(folder: Path) -> bool:
    """Whether `folder` is there, or could be made, and can be written to; it is now the last used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _last_used(folder: Path) -> float:
    """In seconds; 0 if it is gone, since another process has removed it."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _places() -> Iterator[Path]:
    """Where numba was told to keep compiled code; else beside the modules, else in the user's cache."""
    if _SETTINGS.CACHE_DIR:
        yield Path(_SETTINGS.CACHE_DIR)
        return
    yield HERE / "__pycache__/compiled"
    with extra("networks"):
        import pooch  # seldom needed

    yield Path(pooch.os_cache("dp-compendium")) / "compiled"
