"""Write files and folders completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Provide an empty draft for the block to write; when the block ends, the draft replaces `path` at once.

    An existing file keeps its permissions; if `path` is a link, its target is written. If the block raises, or is killed,
    `path` is unchanged. (A killed block leaves the draft in the same folder, as a hidden file without an extension.)

    Raises ``OSError`` if `path` cannot be written; where possible, it does so before the block runs.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.files import whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answer.txt")
    ...     with whole(path) as draft:
    ...         length = draft.write_text("42")
    ...     print(path.read_text())
    42
    """
    path = Path(os.path.realpath(path))
    draft = _draft(path)
    try:
        yield draft
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Provide an empty folder for the block to fill; when the block ends, it becomes the folder `path` at once.

    `path` may be absent, an empty folder, or a link to either; for a link, its target is written. Missing parent
    folders are made. If the block raises, everything is as it was before. (A killed block leaves a folder named
    .released-... beside `path`.)

    Raises ``FileExistsError`` as `check_new` does, and ``OSError`` if the folder cannot be made. To find out before the
    block runs, an empty folder is first put in place in the same way.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from lib.release.files import new_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_folder(f"{folder}/released") as made:
    ...         length = (made / "answer.txt").write_text("42")
    ...     print(Path(folder, "released/answer.txt").read_text())
    42
    """
    check_new(path)
    target = Path(os.path.realpath(path))
    there, absent = target.exists(), [each for each in target.parents if not each.exists()]
    try:
        with _said_of(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.TemporaryDirectory(prefix=".released-", dir=target.parent)
        with scratch:
            made = Path(scratch.name, "made")
            for last in (False, True):
                made.mkdir()
                if last:
                    yield made
                with _said_of(path):
                    if target.exists():
                        shutil.copymode(target, made)
                    made.replace(target)
                    if not (last or there):
                        target.rmdir()
    except BaseException:
        with suppress(OSError):  # they may hold files of another run by now
            for each in absent:
                each.rmdir()
        raise


@contextmanager
def _said_of(path) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # for example, another process has made a folder of this name
        raise OSError(
            error.errno, f"cannot be created, so nothing was released ({error.strerror})", str(path)
        ) from None


def check_new(path: str | Path) -> None:
    """Raise ``FileExistsError`` unless `path` is absent or an empty folder that is not the current one."""
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir()) or path.samefile(".")):
        raise FileExistsError(
            f"{path} already exists; for another release, whose epsilon adds to the total, name a new folder as the output"
        )


def check_writable(path: str | Path, size: int = 1) -> None:
    """Raise ``OSError`` if `whole` could not write `size` bytes to `path` now; missing folders are made.

    >>> import os, tempfile
    >>> from lib.release.files import check_writable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_writable(f"{folder}/new/answer.txt")
    ...     print(os.listdir(folder))
    ['new']
    """
    path = Path(os.path.realpath(path))
    draft = _draft(path)
    try:
        draft.write_bytes(bytes(size))
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror})", str(path)) from error
    finally:
        draft.unlink(missing_ok=True)


def _draft(path: Path) -> Path:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, but must be a file", str(path))
    if path.exists() and not path.is_file():  # a device, which a rename would replace
        raise FileExistsError(errno.EEXIST, "exists and is not a regular file", str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{secrets.token_hex(8)}")
        draft.touch(exist_ok=False)
    except OSError as error:
        reason = "its folder is a file" if isinstance(error, FileExistsError) else error.strerror
        raise OSError(error.errno, f"cannot be written ({reason})", str(path)) from error
    return draft
