"""Marks for what tests of the rendered book need: a module says `pytestmark = needs.THE_BOOK`."""

import pytest

from tests.browser.chromium import BOOK, BROWSERS, DRIVERS, found

A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(found(BROWSERS) is None, reason="no Chromium is installed (Debian: chromium)"),
    pytest.mark.skipif(found(DRIVERS) is None, reason="no chromedriver is installed (Debian: chromium-driver)"),
]
THE_BOOK = [
    *A_BROWSER,
    pytest.mark.skipif(not (BOOK / "index.html").exists(), reason="the book is not built (make book)"),
]
