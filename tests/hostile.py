"""Hostile and unlucky submissions: what each of them is, and the mark that it must get.

Each is an unsolved notebook of `gaussian_records` with cells that try to earn points, to stop the run, or to reach what is not theirs.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell

from notebooks.assignments import assignment

NAME = "gaussian_records"

# Cells that stand after the setup of a notebook in which nothing is solved: all of them must earn nothing.
EARNS_NOTHING = {
    # -- replacing what makes the marks
    "grader's test replaced": """
import gc, sys
for module in list(sys.modules.values()):
    for name in ("_test", "_question", "verdict"):
        if callable(getattr(module, name, None)):
            setattr(module, name, lambda *_, **__: {"outputs": [], "error": None})
for thing in gc.get_objects():
    if isinstance(thing, dict) and callable(thing.get("_test")):
        thing["_test"] = lambda *_: {"outputs": [], "error": None}
""",
    "key in memory": """
import gc
for thing in gc.get_objects():
    source = thing.get("source") if isinstance(thing, dict) else None
    if isinstance(source, str) and "BEGIN SOLUTION" in source:
        try:
            exec(source, globals())
        except Exception:
            pass
""",
    "solutions on the disk": """
import json, pathlib, lib
for top in (*pathlib.Path(lib.__file__).parents, *map(pathlib.Path, sys.path if "sys" in globals() else ())):
    for path in top.glob("notebooks/assignments/*/*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code" and "BEGIN SOLUTION" in "".join(cell["source"]):
                try:
                    exec("".join(cell["source"]), globals())
                except Exception:
                    pass
""",
    "equals everything": """
class Everything:
    def __array__(self, *_, **__): return np.array(self, dtype=object)
    def __getattr__(self, name): return Everything()
    def __call__(self, *_, **__): return Everything()
    def __array_function__(self, *_, **__): return True
    def __array_ufunc__(self, *_, **__): return True
    def __iter__(self): return iter([Everything(), Everything()])
    def __getitem__(self, _): return Everything()
    def __bool__(self): return True
    __array__ = None
for _name in "__eq__ __lt__ __le__ __gt__ __ge__ __ne__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__".split():
    setattr(Everything, _name, lambda *_: Everything())
renyi = renyi_numeric = with_one_more = cost_of_joining = records_needed = lambda *_, **__: Everything()
answers = Everything()
""",
}
