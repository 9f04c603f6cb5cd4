"""What every test may count on: the repository on the path, plots without a screen, repeatable examples."""

import itertools
import os
import sys
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


# ---- the tiers (pyproject.toml lists their markers)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    for _, group in itertools.groupby(items, lambda item: item.nodeid.split("[")[0]):
        cases = list(group)
        if sampled := cases[0].get_closest_marker("sampled"):
            stay = {i * len(cases) // sampled.args[0] for i in range(sampled.args[0])}
            for i in set(range(len(cases))) - stay:
                cases[i].add_marker(pytest.mark.full)
