"""The executed notebooks beside the committed ones, output by output and picture by picture: `make compare`.

What `make book` has run is enough for this, so that a second and a third Python cost one run each. `make nbval` runs the
notebooks once more, by another runner; only what nbval is told to pass over is passed over here.
"""

import configparser
import re
from pathlib import Path

import nbformat
import pytest

from book import plotted

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in ROOT.glob("notebooks/*/*.ipynb") if path.parent.name != "assignments")


def outputs(cell) -> list[dict]:
    """What a cell shows, without what differs by chance and the figures' downloads, which are not committed."""
    shown = [dict(output) for output in cell.get("outputs", [])]
    for output in shown:
        output.get("data", {}).pop(plotted.MIME, None)
    return sanitized(shown)


def sanitized(value):
    if isinstance(value, str):
        for section in SANITIZE.values():
            value = re.sub(section["regex"], section["replace"], value)
        return value
    if isinstance(value, list):
        return [sanitized(each) for each in value]
    return {key: sanitized(each) for key, each in value.items()} if isinstance(value, dict) else value


def sections() -> dict:
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "tests/notebooks/nbval-sanitize.cfg", encoding="utf-8")
    return {name: parser[name] for name in parser.sections()}


SANITIZE = sections()


def cells():
    """A pair of cells, committed and executed, for each cell of code."""
    for path in NOTEBOOKS:
        name = path.relative_to(ROOT / "notebooks")
        pair = [nbformat.read(at, as_version=4).cells for at in (path, ROOT / "build/executed" / name)]
        for number, both in enumerate(zip(*pair, strict=True)):
            if both[0].cell_type == "code":
                yield pytest.param(*both, id=f"{name.with_suffix('')}, cell {number}")


@pytest.mark.parametrize(("committed", "executed"), list(cells()))
def test_outputs_are_those_committed(committed, executed):
    assert committed.source == executed.source, "make book"
    assert outputs(executed) == outputs(committed)
