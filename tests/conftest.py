"""The set-up of every test: the repository on the path, plots without a screen, repeatable examples."""

import ctypes
import gc
import itertools
import os
import sys
import zlib
from pathlib import Path

import hypothesis
import mpmath
import pytest

ROOT = Path(__file__).resolve().parents[1]

if str(ROOT) not in sys.path:  # pytest was started without `make`
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("MPLBACKEND", "agg")
# jsonschema does without: grammars of addresses, which take seconds to make and which nothing here asks for.
sys.modules.setdefault("rfc3987_syntax", None)

# Freed memory is kept, where the C library is GNU's: to get the same pages again takes long.
if sys.platform == "linux":
    _mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
    _mallopt(-4, 0), _mallopt(-1, 2**31 - 1)  # M_MMAP_MAX, M_TRIM_THRESHOLD

collect_ignore = [] if "RECHECK_SEED" in os.environ else ["recheck"]  # `make recheck` says which cells

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Start each test with 50 digits in mpmath, whatever the test before it has set."""
    with mpmath.workdps(50):
        return (yield)


# ---- the tiers (pyproject.toml lists their markers)


def pytest_addoption(parser):
    parser.addoption("--quarter", type=int, choices=range(4), help="only the tests whose name falls into this quarter")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage meanwhile, nor look through these thousands of tests later: either would take long in every worker."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)  # to look less often for cycles of objects saves 5 %
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config, items):
    for _, group in itertools.groupby(items, lambda item: item.nodeid.split("[")[0]):
        cases = list(group)
        if sampled := cases[0].get_closest_marker("sampled"):
            stay = {i * len(cases) // sampled.args[0] for i in range(sampled.args[0])}
            for i in set(range(len(cases))) - stay:
                cases[i].add_marker(pytest.mark.full)
    if (quarter := config.getoption("--quarter")) is not None:
        others = [item for item in items if zlib.crc32(item.nodeid.encode()) % 4 != quarter]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
