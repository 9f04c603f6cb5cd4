"""Execute a notebook: parameters checked first, the outcome written whole or not at all.

    python notebooks/run.py notebooks/miura2022/04_adult.ipynb -o out.ipynb -p trials 100

The cell tagged `parameters` says what may be set, one parameter a line:

    sigma: float = 0.01            # (0, 1]: the least variance after scaling
    sizes: list[float] = [1e5]     # [1, inf): numbers of records (the range holds for each)
    data: str = "stand-in"         # one of real, stand-in: which records

A name that is not there, a value of another type or outside its range is refused by
name before anything runs. The kernel is the running interpreter, in the repository root.

With --record FOLDER it is a part of a full run: how far it is stands in FOLDER and on the screen, and finished
cells are kept there, so that a run that was interrupted goes on with the cell it had in hand.
"""

from __future__ import annotations

import argparse
import ast
import logging
import os
import re
import signal
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import nbformat
import papermill
import yaml
from nbclient.exceptions import DeadKernelError

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lib.numerics import checks  # noqa: E402  (the repository root must be on the path first)
from notebooks import kept, progress  # noqa: E402

_RANGE = re.compile(r"^(?:(?P<interval>[\[(][^\])]*[\])])|one of (?P<options>[^:]+))\s*(?::|$)")
_KINDS = {"float": float, "int": int, "str": str, "bool": bool}


# ---- parameters: what a notebook accepts


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell; `kind` is float, int, str or bool, `many` marks a list of it."""

    name: str
    kind: type
    many: bool
    default: object
    interval: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        allowed = self.interval or ", ".join(self.options)
        kind = f"list of {self.kind.__name__}" if self.many else self.kind.__name__
        return f"{self.name} ({kind}{' in ' + allowed if allowed else ''})"

    def accept(self, value):
        """`value` as the notebook wants it; ``ValueError`` naming this parameter otherwise."""
        if not self.many:
            return self._one(value)
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{self.name} must be a list, got {value!r}")
        return [self._one(element) for element in value]

    def _one(self, value):
        if self.kind in (float, int):
            value = self._number(value)
        elif not isinstance(value, self.kind):
            raise ValueError(f"{self.name} must be of type {self.kind.__name__}, got {value!r}")
        if self.options:
            checks.one_of(self.name, str(value), self.options)
        return value

    def _number(self, value):
        interval = self.interval or "[-inf, inf]"
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError(f"{self.name} must be a number in {interval}, got {value!r}")
        # YAML reads 1e7 as text, so text that spells a number is welcome here.
        if self.kind is float:
            return float(checks.real(self.name, value, interval))
        if isinstance(value, int):
            checks.real(self.name, value, interval)
            return value
        return int(checks.integer(self.name, value, interval))


def parameters(notebook: Path) -> dict[str, Parameter]:
    """The parameters of `notebook` by name; ``ValueError`` names a line that cannot be read."""
    found = {}
    for name, line in papermill.inspect_notebook(str(notebook)).items():
        found[name] = _parameter(name, line["inferred_type_name"], line["default"], line["help"])
    # papermill's reader drops a line that it cannot parse (a comment with a second `=`, say).
    lost = [name for name in _assigned(notebook) if name not in found]
    if lost:
        raise ValueError(
            f"{notebook}: the parameters cell needs 'name: type = value  # range: text' at {', '.join(lost)}"
        )
    return found


def _parameter(name: str, annotation: str, default: str, text: str) -> Parameter:
    match = re.fullmatch(r"(?:(list)\[)?(float|int|str|bool)\]?|(list)", annotation)
    if match is None:
        raise ValueError(f"{name} must be annotated float, int, str, bool or a list of one, got {annotation}")
    value = eval(default, {"__builtins__": {}})  # may say 10**7; the notebook would run it anyway
    said = _RANGE.match(text)
    options = said["options"].split(",") if said and said["options"] else []
    return Parameter(
        name=name,
        kind=_KINDS[match[2]] if match[2] else _common_kind(name, value),
        many=bool(match[1] or match[3]),
        default=value,
        interval=(said["interval"] or "") if said else "",
        options=tuple(option.strip().strip("\"'") for option in options),
    )


def _common_kind(name: str, values: list) -> type:
    """What a bare `list` is a list of: the type of its default's elements (float among ints)."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return float
    if len(kinds) != 1 or not kinds <= set(_KINDS.values()):
        raise ValueError(f"{name} must be annotated list[float], list[int] or list[str]: its elements do not tell")
    return kinds.pop()


def _assigned(notebook: Path) -> list[str]:
    cells = nbformat.read(notebook, as_version=4).cells
    tagged = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    names = []
    for statement in ast.parse("\n".join(tagged)).body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def accept(notebook: Path, values: dict) -> dict:
    """`values` checked against the parameters of `notebook`, converted to their types."""
    known = parameters(notebook)
    for name in values:
        if name not in known:
            listed = "; ".join(map(str, known.values())) or "none at all"
            raise ValueError(f"unknown parameter {name!r}; {notebook.name} has {listed}")
    return {name: known[name].accept(value) for name, value in values.items()}


# ---- execution


def execute(notebook: Path, output: Path, values: dict, failed: Path, record: Path | None = None) -> None:
    """Run `notebook` with `values` into `output`; a run that fails leaves its partial copy at `failed`.

    With `record`, a folder, the run goes on where an interrupted one was, and tells how far it is.
    """
    values = accept(notebook, values)
    used = {name: parameter.default for name, parameter in parameters(notebook).items()} | values
    with recorded(notebook, record, used) if record else nullcontext({}) as engine:
        run(notebook, output, values, used, failed, engine)


@contextmanager
def recorded(notebook: Path, record: Path, used: dict):
    """What papermill needs to keep the cells of `notebook` under `record`, while its progress is told."""
    name = f"{notebook.resolve().parent.name}/{notebook.stem}"
    record = record.resolve()  # the kernel, which writes there too, works in the repository root
    folder = record / "cells" / name.replace("/", ".")
    with (
        kept.alone(
            folder.with_name(f"{folder.name}.lock"), f"waiting    {shown(notebook)}: an earlier run has not ended yet"
        ),
        progress.Watch(progress.Board(record), name, len(nbformat.read(notebook, as_version=4).cells)) as watch,
    ):
        keeper = kept.Keeper(folder, watch.at)
        yield {"engine_name": kept.ENGINE, "keeper": keeper}
        keeper.forget()
        watch.finished(used)


def run(notebook: Path, output: Path, values: dict, used: dict, failed: Path, engine: dict) -> None:
    """What `execute` does; `engine` are papermill's further arguments."""
    print(f"running    {shown(notebook)}", flush=True)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    # The interpreter that runs this file is the kernel, whatever other kernels are installed.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["COMPENDIUM_DOWNLOADS"] = "1"  # book.plotted: each figure as SVG and CSV beside its picture
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / notebook.name
        try:
            papermill.execute_notebook(
                notebook,
                draft,
                parameters=values,
                kernel_name="python3",
                cwd=ROOT,
                progress_bar=False,
                extra_arguments=["--log-level=CRITICAL"],
                coalesce_streams=True,  # how printed lines arrive in batches is chance
                **engine,
            )
        except (papermill.PapermillExecutionError, DeadKernelError):
            write(tidy(nbformat.read(draft, as_version=4)), failed)
            raise
        executed = tidy(nbformat.read(draft, as_version=4))
    executed.metadata["compendium"] = {"notebook": shown(notebook), "parameters": used}
    write(executed, output)
    failed.unlink(missing_ok=True)


def tidy(notebook):
    """Without timings, paths and versions, so that equal runs are equal files."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
    } | {key: value for key, value in notebook.metadata.items() if key in ("mystnb",)}
    for cell in notebook.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if cell.metadata.get("tags") == []:
            cell.metadata.pop("tags")
    return notebook


def write(notebook, path: Path) -> None:
    """Write to a neighbouring file, then rename: `path` holds all of it or is untouched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        nbformat.write(notebook, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def refresh(notebooks: list[Path]) -> None:
    """Bring the outputs under build/executed into the committed notebooks themselves, without the figures' downloads."""
    from book import plotted  # matplotlib takes long to import, and nothing else here needs it

    for notebook in notebooks:
        executed = ROOT / "build/executed" / notebook.resolve().relative_to(ROOT / "notebooks")
        fresh = nbformat.read(executed, as_version=4)
        del fresh.metadata["compendium"]
        for output in (output for cell in fresh.cells for output in cell.get("outputs", [])):
            output.get("data", {}).pop(plotted.MIME, None)
        if fresh != nbformat.read(notebook, as_version=4):
            write(fresh, notebook)
            executed.touch()  # still newer than its source: there is nothing to run again
            print(f"refreshed  {shown(notebook)}")


def shown(path: Path) -> str:
    """`path` relative to the repository where it lies in it."""
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


# ---- the command


def requested(arguments) -> dict:
    """The values asked for: --full, then -f, then each -p, later ones winning."""
    values = {}
    if arguments.full:
        name = f"{arguments.notebook[0].resolve().parent.name}/{arguments.notebook[0].stem}"
        every = yaml.safe_load((ROOT / "notebooks/full.yml").read_text(encoding="utf-8")) or {}
        values |= every.get(name, {})
    if arguments.file:
        values |= yaml.safe_load(arguments.file.read_text(encoding="utf-8")) or {}
    for name, text in arguments.parameter:
        values[name] = _literal(text)
    return values


def _literal(text: str):
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (SyntaxError, ValueError):
        return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, help="where the executed notebook goes")
    parser.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    parser.add_argument("-f", "--file", type=Path, help="a YAML file of parameters")
    parser.add_argument("--full", action="store_true", help="the document's own settings, from notebooks/full.yml")
    parser.add_argument(
        "--record", type=Path, help="the folder of a full run: tell how far it is, go on where it was interrupted"
    )
    parser.add_argument("--failed", type=Path, help="where a failing run leaves its partial copy")
    parser.add_argument("--refresh", action="store_true", help="copy the outputs in build/executed into the notebooks")
    arguments = parser.parse_args()
    if arguments.refresh:
        refresh(arguments.notebook)
        return 0
    if arguments.output is None or len(arguments.notebook) != 1:
        parser.error("one notebook and its -o are needed")
    notebook = arguments.notebook[0]
    failed = arguments.failed or ROOT / "build/failed" / notebook.resolve().parent.name / notebook.name
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave as tidily as at an interrupt
    try:
        execute(notebook, arguments.output, requested(arguments), failed, arguments.record)
    except (ValueError, FileNotFoundError) as refusal:
        print(f"{shown(notebook)}: {refusal}", file=sys.stderr)
        return 2
    except papermill.PapermillExecutionError as error:
        print(f"{shown(notebook)}: cell {error.exec_count}: {error.ename}: {error.evalue}", file=sys.stderr)
        print(f"partly executed copy, with the error: {failed}", file=sys.stderr)
        return 1
    except DeadKernelError:
        print(f"{shown(notebook)}: its process died, perhaps for want of memory", file=sys.stderr)
        print(f"partly executed copy: {failed}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{shown(notebook)}: interrupted; {shown(arguments.output)} is as it was", file=sys.stderr)
        return 130
    print(f"done       {shown(notebook)}  {time.monotonic() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
