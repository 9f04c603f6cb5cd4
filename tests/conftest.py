"""What every test may count on: the repository on the path, plots without a screen, repeatable examples."""

import os
import sys
from pathlib import Path

import hypothesis

ROOT = Path(__file__).resolve().parents[1]

if str(ROOT) not in sys.path:  # pytest was started without `make`
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("MPLBACKEND", "agg")

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")
