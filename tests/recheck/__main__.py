"""`make recheck SEED=number`: the real data are looked for first, then some cells of the kept results are computed again."""

import os
import sys

import pytest

from lib.data import datasets


def main() -> int:
    os.environ["RECHECK_SEED"] = sys.argv[1]
    try:
        for name in datasets.SOURCES:
            datasets.path(name)
    except (datasets.DatasetError, OSError) as error:
        print(f"nothing was checked: {error}", file=sys.stderr)
        return 2
    return pytest.main(["-n", "2", os.path.dirname(__file__)])


if __name__ == "__main__":
    sys.exit(main())
