"""Compile functions with numba and cache them on disk, in a folder for the current state of this subpackage's files.

numba reuses a cached function as long as its file is unchanged, even if it calls compiled functions of other files that
have changed. All such functions belong to this subpackage. So the name of the folder depends on the modification time
and the size of each file of this subpackage, which are quick to read.
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
_SETTINGS: Any = numba.config  # numba.config makes its attributes when it is imported
KEPT = 4  # number of folders kept: those used last


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `function` that is compiled at its first call and cached on disk."""
    own, given = _folder(), _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(own or "")
    try:
        return numba.njit(cache=own is not None, nogil=True, error_model="numpy")(function)
    finally:
        _SETTINGS.CACHE_DIR = given


@cache
def _folder() -> Path | None:
    """Return a writable folder for compiled functions, or None; remove all folders except the `KEPT` used last."""
    for place in _places():
        own = place / _state()
        if _can_be_used(own):
            for old in sorted(place.glob("?" * len(own.name)), key=_last_used)[:-KEPT]:
                shutil.rmtree(old, ignore_errors=True)
            return own
    return None


def _state() -> str:
    """Return a name for the current state of this subpackage's modules, from the name, the modification time and the
    size of each module."""
    seen = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(HERE.glob("*.py"))]
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


def _can_be_used(folder: Path) -> bool:
    """Make `folder` if necessary, mark it as the folder used last, and return whether it is writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _last_used(folder: Path) -> float:
    """Return the time at which the folder was last used, in seconds; 0 if another process has removed the folder."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _places() -> Iterator[Path]:
    """Yield numba's own cache folder or, if none is set, a folder beside the modules and one in the user's cache."""
    if _SETTINGS.CACHE_DIR:
        yield Path(_SETTINGS.CACHE_DIR)
        return
    yield HERE / "__pycache__/compiled"
    with extra("networks"):
        import pooch  # seldom needed

    yield Path(pooch.os_cache("dp-compendium")) / "compiled"
