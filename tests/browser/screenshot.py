"""Pictures of the built book: `make screenshot` takes the pictures of the README.

python -m tests.browser.screenshot notebooks/miura2022/01_proofs.html out.png --width 390 --dark --full
"""

import argparse
from pathlib import Path

from tests.browser.chromium import BOOK, chromium, served


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", help="relative to build/html")
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--at", default="html", help="the selector of what is at the top of the window")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true", help="the whole page, not the window")
    asked = parser.parse_args()
    with served(BOOK) as address, chromium() as browser:
        browser.open(f"{address}/{asked.page}", width=asked.width, height=asked.height, dark=asked.dark)
        browser.script("document.querySelector(arguments[0]).scrollIntoView()", asked.at)
        browser.screenshot(asked.picture, full=asked.full)


if __name__ == "__main__":
    main()
