"""What every test may count on: the repository on the path, plots without a screen, repeatable examples."""

import os
import sys
import time
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]

if str(ROOT) not in sys.path:  # pytest was started without `make`
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("MPLBACKEND", "agg")
# jsonschema does without: grammars of addresses, which take seconds to make and which nothing here asks for.
sys.modules.setdefault("rfc3987_syntax", None)

collect_ignore = [] if "RECHECK_SEED" in os.environ else ["recheck"]  # `make recheck` says which cells

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


# ---- the quick part, for `make check`: all but the functions that took long when `make slow` last measured them

SLOW = ROOT / "tests/slow.txt"
LONG = 0.2  # seconds, of a test function with all its cases


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="without the functions that tests/slow.txt names")
    parser.addoption("--measure", metavar="FILE", help="write the names of slow test functions to FILE")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        slow = set(SLOW.read_text(encoding="utf-8").split())
        config.hook.pytest_deselected(items=[item for item in items if function(item.nodeid) in slow])
        items[:] = [item for item in items if function(item.nodeid) not in slow]


def function(name: str) -> str:
    """The test function of a test's `name`, without its parameters."""
    return name.split("[")[0]


# A fixture that several tests share is set up by whichever comes first: all that ask for a long one are long.
LONG_FIXTURES: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    began = time.perf_counter()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function" and time.perf_counter() - began >= LONG:
            LONG_FIXTURES.add(fixturedef.argname)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.config.getoption("--measure") and call.when == "setup":
        report.user_properties = [("long", name) for name in LONG_FIXTURES.intersection(item.fixturenames)]
    return report


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if (path := config.getoption("--measure")) and exitstatus == 0:  # not of a part, nor of failures
        reports = [
            report for group in terminalreporter.stats.values() for report in group if hasattr(report, "duration")
        ]
        seconds = Counter()
        for report in reports:
            waits = LONG * any(kind == "long" for kind, _ in report.user_properties)
            seconds[function(report.nodeid)] += max(report.duration, waits)
        names = sorted(name for name, took in seconds.items() if took >= LONG)
        Path(path).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
