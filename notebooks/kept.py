"""The finished cells of a notebook, kept on disk: a run that was interrupted goes on with the cell it had in hand.

After a cell, `Keeper.after` has the kernel write down what its cells have named so far (`save`, in the kernel), and
writes down their outputs itself. A run of the same cells, parameters and library finds both: `Keeper.restore`
runs the parameters and the set-up cell again, which prepare the process (styles, options), has the kernel read
the names back (`load`), and says which cell comes next.

The cells since the last time are at stake: those that took less than `SPARED` seconds together, and the one in hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import nbformat
from nbclient.exceptions import CellExecutionError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

ROOT = Path(__file__).resolve().parent.parent
SPARED = 2.0  # seconds of work not worth writing down
ENGINE = "kept"


# ---- in the run: which cells there are to run, and after each what to keep


class Keeper:
    """What is kept of one notebook's run in `folder`.

    After each cell `told` is called with the cells done, all cells, and the seconds that an earlier run has spent on them.
    """

    def __init__(self, folder: Path, told: Callable[[int, int, float], None]):
        self.folder, self.told = folder, told
        self.seconds = 0.0  # of the work that was found here
        self._spent = 0.0  # since then
        self._at_stake = 0.0
        self._key = ""

    def restore(self, client) -> int:
        """The index of the first cell that has to run; those before it have their outputs."""
        self._key = key(client.nb)
        found = self._found()
        if found is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return 0
        done = [nbformat.from_dict(cell) for cell in found["cells"]]
        for cell in done[: _set_up_end(done)]:
            if cell.cell_type == "code":
                _ask(client, cell.source)
        _ask(client, f"from notebooks import kept as _kept; _kept.load({str(self.folder / found['names'])!r})")
        client.nb.cells[: len(done)] = done
        self.seconds = found["seconds"]
        self.told(len(done), len(client.nb.cells), self.seconds)
        return len(done)

    def _found(self) -> dict | None:
        try:
            found = json.loads((self.folder / "cells.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return found if found["key"] == self._key and (self.folder / found["names"]).is_file() else None

    def after(self, client, index: int, seconds: float) -> None:
        """Cell `index` has taken `seconds`: keep it and those before it, if they are worth it."""
        self._spent += seconds
        self._at_stake += seconds
        self.told(index + 1, len(client.nb.cells), self.seconds)
        if self._at_stake < SPARED or index < _set_up_end(client.nb.cells):
            return
        names = self.folder / f"{index}.pickle"
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            _ask(client, f"from notebooks import kept as _kept; _kept.save({str(names)!r})")
        except RuntimeError as error:
            print(f"cell {index + 1} is not kept: {error}", file=sys.stderr, flush=True)
        else:
            self._write(names, client.nb.cells[: index + 1])
        self._at_stake = 0.0

    def _write(self, names: Path, cells: list) -> None:
        """The names lie there; `cells.json` makes them count, and then older ones may go."""
        record = {"key": self._key, "names": names.name, "seconds": self.seconds + self._spent, "cells": cells}
        draft = self.folder / f".cells.json.{os.getpid()}"
        draft.write_text(json.dumps(record), encoding="utf-8")
        draft.replace(self.folder / "cells.json")
        for old in self.folder.glob("*.pickle*"):
            if old != names:
                old.unlink(missing_ok=True)

    def forget(self) -> None:
        """The notebook is whole: nothing of its cells is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)


def key(notebook) -> str:
    """What the outputs depend on: the code with its parameters, the library, the claims and the locked versions."""
    digest = hashlib.sha256(sys.version.encode())
    for cell in notebook.cells:
        digest.update(f"{cell.cell_type}\0{cell.source}\0".encode())
    files = [path for path in sorted((ROOT / "lib").rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for path in [*files, ROOT / "book/claims.yml", ROOT / "requirements.lock"]:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _set_up_end(cells) -> int:
    """The index after the cells that prepare the process: the parameters, and the cell that sets the house style (or the next)."""
    code = [index for index, cell in enumerate(cells) if cell.cell_type == "code"]
    tagged = [i for i in code if {"parameters", "injected-parameters"} & set(cells[i].metadata.get("tags", []))]
    last = max(tagged, default=-1)
    behind = [index for index in code if index > last]
    styled = [index for index in code if "figures.use_house_style()" in cells[index].source]
    return max(last, *styled[:1] or behind[:1] or [len(cells) - 1]) + 1


def _ask(client, code: str) -> None:
    """Have the kernel run `code`, between the cells; ``RuntimeError`` with the reason if that fails."""
    answer = client.wait_for_reply(client.kc.execute(code, store_history=False, allow_stdin=False))
    if answer["content"]["status"] != "ok":
        raise RuntimeError(f"{answer['content'].get('ename')}: {answer['content'].get('evalue')}")


class _Client(PapermillNotebookClient):
    """Papermill's client, which starts at the first cell that is not kept."""

    keeper: Keeper

    def papermill_execute_cells(self):
        for index in range(self.keeper.restore(self), len(self.nb.cells)):
            cell = self.nb.cells[index]
            began = time.monotonic()
            try:
                self.nb_man.cell_start(cell, index)
                self.execute_cell(cell, index)
            except CellExecutionError as error:
                self.nb_man.cell_exception(cell, cell_index=index, exception=error)
                break
            finally:
                self.nb_man.cell_complete(cell, cell_index=index)
            self.keeper.after(self, index, time.monotonic() - began)


class _Engine(NBClientEngine):
    @classmethod
    def execute_managed_notebook(
        cls, nb_man, kernel_name, *, keeper, start_timeout=60, extra_arguments=(), coalesce_streams=True, **ignored
    ):
        client = _Client(
            nb_man,
            kernel_name=kernel_name,
            startup_timeout=start_timeout,
            timeout=None,
            extra_arguments=list(extra_arguments),
            coalesce_streams=coalesce_streams,
        )
        client.keeper = keeper
        return client.execute()


papermill_engines.register(ENGINE, _Engine)


@contextmanager
def alone(lock: Path, waiting: str) -> Iterator[None]:
    """Hold `lock`; while another process has it (its `make` was killed, say), having printed `waiting`, wait."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- in the kernel: its names to a file, and back


class _Pickler(cloudpickle.Pickler):
    """Functions of the notebook keep looking their names up in the notebook, also after `load`."""

    def __init__(self, file, namespace: dict):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._globals = {
            "__name__": "__main__"
        }  # stands for `namespace`: not empty, so that cloudpickle leaves it alone
        self.globals_ref[id(namespace)] = self._globals

    def persistent_id(self, value):
        return "namespace" if value is self._globals else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, namespace: dict):
        super().__init__(file)
        self._namespace = namespace

    def persistent_load(self, name):
        return self._namespace


def save(path: str) -> None:
    """Write what the cells of this kernel have named, and its count of cells, to `path`; whole or not at all."""
    from IPython import get_ipython

    from book import plotted

    shell = get_ipython()
    names = {
        name: value
        for name, value in shell.user_ns.items()
        if not name.startswith("_") and name not in shell.user_ns_hidden
    }
    draft = f"{path}.{os.getpid()}"
    with open(draft, "wb") as file:
        _Pickler(file, shell.user_ns).dump((shell.execution_count, sorted(plotted.read), names))
    os.replace(draft, path)


def load(path: str) -> None:
    """Read back what `save` wrote."""
    from IPython import get_ipython

    from book import plotted

    shell = get_ipython()
    with open(path, "rb") as file:
        count, read, names = _Unpickler(file, shell.user_ns).load()
    shell.user_ns.update(names)
    shell.execution_count = count
    plotted.read.update(read)
