"""A browser, and the address at which the built book is served; one of each for a module's tests."""

import pytest

from tests.browser.chromium import BOOK, chromium, served


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def book():
    if not (BOOK / "index.html").exists():
        pytest.skip("the book is not built (make book)")
    with served(BOOK) as address:
        yield address
