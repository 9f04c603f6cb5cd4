"""The finished cells of a notebook, kept on disk: an interrupted run resumes at the cell that was running.

A file contains a line for the run (JSON: the finished cells with their outputs), followed by the names that these cells
defined in the kernel (pickled). After an interruption, only the interrupted cell runs again, with the cells just before
it if they took less than `SPARED` seconds in total.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import nbformat

from lib.release.files import whole
from notebooks.tools import keys

ROOT = Path(__file__).resolve().parents[2]
SPARED = 2.0  # seconds of work not worth writing down


class Keeper:
    """The cells of one notebook's run, kept in `file`; `watch` (of `progress`) reports how far the run is."""

    def __init__(self, file: Path, watch):
        self.file, self.watch = file, watch

    def left(self, client) -> Iterator[int]:
        """Yield the index of each cell that `client` (of nbclient) must run, after the cell before has run."""
        digest, prepared = key(client.nb), _set_up_end(client.nb.cells)
        yield from range(prepared)
        done = self._restore(client, digest) or prepared
        kept_at = self.watch.seconds
        for index in range(done, len(client.nb.cells)):
            self.watch.at(index)
            yield index
            if self.watch.seconds - kept_at >= SPARED:
                self._keep(client, digest, index + 1)
                kept_at = self.watch.seconds

    def _restore(self, client, digest: str) -> int:
        """Return the number of finished cells that are kept, or 0 if the file is unreadable or belongs to other
        cells."""
        try:
            with self.file.open("rb") as file:
                found = json.loads(file.readline())
            if found["key"] != digest:
                return 0
            done, before = [nbformat.from_dict(cell) for cell in found["cells"]], float(found["seconds"])
            if [cell.source for cell in done] != [cell.source for cell in client.nb.cells[: len(done)]]:
                raise ValueError("its cells are not those of the notebook")
            _ask(client, "load", self.file)
        except FileNotFoundError:
            return 0
        except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            print(
                f"{self.file} is damaged ({error!r}), so its cells run again",
                file=sys.stderr,
                flush=True,
            )
            return 0
        client.nb.cells[: len(done)] = done
        self.watch.at(len(done), before=before)
        return len(done)

    def _keep(self, client, digest: str, count: int) -> None:
        found = {"key": digest, "seconds": self.watch.seconds, "cells": client.nb.cells[:count]}
        try:
            with whole(self.file) as draft:
                draft.write_text(json.dumps(found) + "\n", encoding="utf-8")
                _ask(client, "save", draft)
        except (OSError, RuntimeError) as error:
            print(f"cell {count} was not saved, so an interrupted run repeats it: {error}", file=sys.stderr, flush=True)


def key(notebook) -> str:
    """Return a hash of everything the outputs depend on: the cells, their parameters, and make's keys (`keys`)."""
    digest = hashlib.sha256(f"{sys.version}\0{keys.key(ROOT / notebook.metadata['compendium']['notebook'])}\0".encode())
    for cell in notebook.cells:
        digest.update(f"{cell.cell_type}\0{cell.source}\0".encode())
    return digest.hexdigest()


def _set_up_end(cells) -> int:
    """Return the index after the cell that sets the house style, or 0 without such a cell. The cells up to this index
    prepare the process."""
    return next((i + 1 for i, cell in enumerate(cells) if "figures.use_house_style()" in cell.source), 0)


def _ask(client, function: str, path: Path) -> None:
    """Make the kernel `save` to `path`, or `load`, between the cells. Raises ``RuntimeError`` with the reason if that fails."""
    code = f"from notebooks.tools import kept as _kept; _kept.{function}(get_ipython(), {str(path)!r})"
    answer = client.wait_for_reply(client.kc.execute(code, store_history=False, allow_stdin=False))["content"]
    if answer["status"] != "ok":
        raise RuntimeError(f"{answer.get('ename')}: {answer.get('evalue')}")


# ---- in the kernel: its names to a file, and back


class _Names(dict):
    """The notebook's namespace: functions look names up there, not in a copy, even after loading."""

    def __reduce__(self):
        return vars, (sys.modules["__main__"],)


def save(shell, path: str) -> None:
    """Append the names that the cells of this kernel define, and its count of cells, to the file at `path`."""
    from book.figures import plotted

    hidden = shell.user_ns_hidden
    names = {name: value for name, value in shell.user_ns.items() if name[0] != "_" and name not in hidden}
    with open(path, "ab") as file:
        pickler = cloudpickle.Pickler(file)
        pickler.globals_ref[id(shell.user_ns)] = _Names()
        pickler.dump((shell.execution_count, plotted.read, names))


def load(shell, path: str) -> None:
    """Read back what `save` wrote, after the first line."""
    from book.figures import plotted

    with open(path, "rb") as file:
        file.readline()
        shell.execution_count, read, names = pickle.load(file)
    shell.user_ns.update(names)
    plotted.read.update(read)
