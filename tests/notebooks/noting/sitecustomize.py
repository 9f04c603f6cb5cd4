"""Note each function of ours that a notebook calls, into build/ran. `make compare` puts this file on the path of its runs.

What a module of ours calls while it is imported does not count here: content keys treat it by other rules. Python 3.11 cannot note
calls without taking several times as long, so nothing is noted there.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
OURS = tuple(os.path.join(ROOT, name, "") for name in ("lib", "book", "notebooks"))


def note(code, _offset):
    """Write where the function that starts is defined, once, unless it runs during an import of ours."""
    if not code.co_filename.startswith(OURS) or code.co_name == "<module>":
        return sys.monitoring.DISABLE
    above = sys._getframe(1).f_back
    while above is not None:
        if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(OURS):
            return None  # a later call may count
        above = above.f_back
    with open(os.environ["RAN"], "a", encoding="utf-8") as file:
        file.write(f"{code.co_filename}\t{code.co_firstlineno}\n")
    return sys.monitoring.DISABLE


# The runner's command names the notebook; the kernel that it starts goes on with the same file.
runner = any(word.endswith("notebooks/tools/run.py") for word in sys.orig_argv)
notebook = next((Path(word) for word in sys.orig_argv if runner and word.endswith(".ipynb")), None)
if hasattr(sys, "monitoring"):
    if notebook and "RAN" not in os.environ:
        target = ROOT / "build/ran" / notebook.with_suffix(".txt")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        os.environ["RAN"] = str(target)
    if "RAN" in os.environ:
        tool = sys.monitoring.COVERAGE_ID
        sys.monitoring.use_tool_id(tool, "functions that ran")
        sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START, note)
        sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
