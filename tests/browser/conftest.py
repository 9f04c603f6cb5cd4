"""A browser, and the address at which the built book is served; one of each for all tests of a worker."""

import pytest

from tests.browser.chromium import BOOK, chromium, served


@pytest.fixture(scope="session")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def book():
    if not (BOOK / "index.html").exists():
        pytest.skip("the book is not built (make book)")
    with served(BOOK) as address:
        yield address
