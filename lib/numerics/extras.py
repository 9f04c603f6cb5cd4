"""Packages that not every installation has: some rooms need them, and an extra of this package brings them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports: where a package is not installed, ``ModuleNotFoundError`` says that the extra `name` brings it.

    name : of one of the extras in pyproject.toml

    >>> from lib.numerics.extras import extra
    >>> with extra("data"):
    ...     import no_such_package
    Traceback (most recent call last):
    ModuleNotFoundError: no_such_package is not installed here: the extra dp-compendium[data] brings it
    """
    try:
        yield
    except ModuleNotFoundError as error:
        said = f"{error.name} is not installed here: the extra dp-compendium[{name}] brings it"
        raise ModuleNotFoundError(said, name=error.name) from None
