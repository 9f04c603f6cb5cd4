"""Execute a notebook: check its parameters first, and write the result completely or not at all.

    python notebooks/tools/run.py notebooks/miura2022/04_adult.ipynb -o out.ipynb -p trials 100

The cell tagged `parameters` declares the parameters, one a line:

    sigma: float = 0.01            # (0, 1]: the smallest variance after scaling
    sizes: list[float] = [1e5]     # [1, inf): numbers of records (the range holds for each)
    data: str = "stand-in"         # one of real, stand-in: which records
    table: str = ""                # any text: where no list of options can be given

Before anything runs, the program refuses an unknown name, a value of another type or outside its range, and an output
that cannot be written. The message names what is refused. The kernel is the running interpreter, in the repository
root.

With --record FOLDER the run is part of a full run: its progress is shown in FOLDER and on the screen. Finished cells are
kept there, so that an interrupted run resumes at the cell that was running.

The exit status is 0 if the executed notebook was written to `-o`, 2 if nothing was run, 1 if the run failed, and 130 if it was
interrupted.
"""

from __future__ import annotations

import argparse
import ast
import fcntl
import itertools
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

sys.modules.setdefault("rfc3987_syntax", None)  # jsonschema does without: addresses in notebooks, and a second's work

import nbformat  # noqa: E402
import papermill  # noqa: E402
import traitlets  # noqa: E402
import yaml  # noqa: E402
from jupyter_client.kernelspec import KernelSpecManager  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError, DeadKernelError  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lib.command.ending import ends_at  # noqa: E402  (the repository root must be on the path first)
from lib.numerics import checks  # noqa: E402
from lib.release import files  # noqa: E402
from notebooks.tools import kept, progress  # noqa: E402

FULL = ROOT / "notebooks/full.yml"
PYTHON = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}
SELDOM = "__import__('gc').set_threshold(100_000, 50, 100)"  # searching less often for cycles of objects saves 5 %
_RANGE = re.compile(r"^(?:(?P<interval>[\[(][^\])]*[\])]|any text)|one of (?P<options>[^:]+))\s*(?::|$)")
_KINDS = {"float": float, "int": int, "str": str, "bool": bool}


# ---- parameters: what a notebook accepts


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell; `kind` is float, int, str or bool, and `many` says whether the value is a list of it."""

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
        """Return `value` in the parameter's type. Raises ``ValueError``, which names the parameter, if it is not permitted."""
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


def read(notebook: Path):
    """Return the content of `notebook`, with metadata for Python.

    Raises ``ValueError`` if it is not a notebook, ``OSError`` if it cannot be read.
    """
    try:
        content = nbformat.read(notebook, as_version=4)
        nbformat.validate(content)
    except OSError:
        raise
    except (
        Exception
    ) as error:  # an invalid notebook raises any of a dozen types: NotJSONError, KeyError, ValidationError, ...
        raise ValueError(f"the file is not a notebook ({type(error).__name__})") from error
    content.metadata |= PYTHON
    return content


def parameters(notebook: Path) -> dict[str, Parameter]:
    """Return the parameters of `notebook` by name. Raises ``ValueError`` that names a line that cannot be read."""
    content = read(notebook)
    assigned = _assigned(content)
    known = papermill.inspect_notebook(content)
    # papermill's reader drops a line that it cannot parse (for example a comment with a second `=`).
    lost = [name for name in assigned if name not in known]
    if lost:
        raise ValueError(
            "each line of the parameters cell must have the form 'name: type = value  # range: text'; these do not: "
            f"{', '.join(lost)}"
        )
    return {
        name: _parameter(name, line["inferred_type_name"], line["default"], line["help"])
        for name, line in known.items()
    }


def _assigned(content) -> list[str]:
    tagged = [cell.source for cell in content.cells if "parameters" in cell.metadata.get("tags", [])]
    try:
        statements = ast.parse("\n".join(tagged)).body
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno} of the parameters cell is not valid Python: {error.msg}") from error
    targets = [getattr(each, "targets", [getattr(each, "target", None)]) for each in statements]
    return [target.id for several in targets for target in several if isinstance(target, ast.Name)]


def _parameter(name: str, annotation: str, default: str, text: str) -> Parameter:
    match = re.fullmatch(r"(?:(list)\[)?(float|int|str|bool)\]?|(list)", annotation)
    if match is None:
        raise ValueError(f"{name} must be annotated float, int, str, bool or a list of one, got {annotation}")
    try:
        value = eval(default, {"__builtins__": {}})  # may be 10**7; the notebook would run it anyway
    except Exception as error:
        raise ValueError(f"{name} must have a number, text or list of them as its default, got {default}") from error
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
    """Return the element type of a bare `list`: the type of its default's elements (float among ints)."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    if kinds == {int, float}:
        return float
    if len(kinds) != 1 or not kinds <= set(_KINDS.values()):
        raise ValueError(
            f"{name} must be annotated list[float], list[int] or list[str], because its default does not show the type"
        )
    return kinds.pop()


def accept(notebook: Path, values: dict) -> dict:
    """Return `values` checked against the parameters of `notebook`, converted to their types."""
    known = parameters(notebook)
    for name in values:
        if name not in known:
            listed = "; ".join(map(str, known.values())) or "no parameters"
            raise ValueError(f"unknown parameter {name!r}; {notebook.name} has {listed}")
    return {name: known[name].accept(value) for name, value in values.items()}


def check_data(used: dict) -> None:
    """Set the folder of the real data for the kernel, which runs in another one. Raises ``ValueError`` if it is not a folder."""
    if used.get("data") == "real" and os.environ.get("COMPENDIUM_DATA"):
        from lib.data import datasets  # slow to import

        try:
            os.environ["COMPENDIUM_DATA"] = str(datasets.given_folder())
        except datasets.DatasetError as error:
            raise ValueError(str(error)) from error


# ---- execution


def prepare(notebook: Path, values: dict):
    """Return the content of `notebook`, ready to be run with `values`, and the values of all its parameters."""
    values = accept(notebook, values)
    used = {name: parameter.default for name, parameter in parameters(notebook).items()} | values
    check_data(used)
    check_loopback()
    content = papermill.execute_notebook(
        read(notebook), None, parameters=values, kernel_name="python3", prepare_only=True, progress_bar=False
    )
    for cell in content.cells:
        cell.metadata.pop("papermill", None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    # Without versions and other settings, so that equal runs are equal files.
    noted = {"compendium": {"notebook": shown(notebook), "parameters": used}}
    content.metadata = {key: value for key, value in content.metadata.items() if key == "mystnb"} | PYTHON | noted
    return content, used


class ThisInterpreter(AsyncKernelManager):
    """A manager of kernels of the interpreter that runs this file; it searches no folder for other kernels."""

    @traitlets.default("kernel_spec_manager")
    def _without_folders(self):
        return KernelSpecManager(kernel_dirs=[])


def execute(content, keeper: kept.Keeper | None = None) -> None:
    """Run the cells of `content`, except those that `keeper` has kept, whose kept outputs are inserted."""
    os.environ["COMPENDIUM_DOWNLOADS"] = "1"  # book.figures.plotted: each figure as SVG and CSV beside its picture
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        content,
        kernel_name="python3",
        kernel_manager_class=ThisInterpreter,
        timeout=None,
        iopub_timeout=60,
        raise_on_iopub_timeout=True,  # rather than to lose outputs
        record_timing=False,
        coalesce_streams=True,  # the batching of printed lines is random
        extra_arguments=["--log-level=CRITICAL", f"--IPKernelApp.exec_lines={SELDOM}"],
    )
    # A kernel that ends may stumble over a socket closed before, and say so: its own words count only if it dies early.
    with tempfile.TemporaryFile() as words, _without_settings() as alone:
        try:
            with client.setup_kernel(cwd=str(ROOT), stderr=words, env=alone):
                for index in keeper.left(client) if keeper else range(len(content.cells)):
                    client.execute_cell(content.cells[index], index)
        except RuntimeError:
            words.seek(0)
            sys.stderr.write(words.read().decode(errors="replace"))
            raise


@contextmanager
def _without_settings():
    """Provide an environment without the user's settings of IPython, Python and matplotlib."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        (Path(empty) / "matplotlibrc").touch()
        alone = {name: value for name, value in os.environ.items() if name not in ("PYTHONSTARTUP", "MPLBACKEND")}
        yield alone | {"IPYTHONDIR": empty, "MATPLOTLIBRC": empty}


def check_loopback() -> None:
    """Raise ``ValueError`` if this process cannot be reached at 127.0.0.1, as the kernel must be."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5):
            pass
    except OSError as error:
        raise ValueError(
            f"the loopback interface, 127.0.0.1, must be up to run a notebook: {error.strerror or error}"
        ) from None


@contextmanager
def recorded(notebook: Path, record: Path, content, used: dict):
    """Lock the kept cells of the run of `notebook` under `record`, report its progress, and delete the cells on success."""
    name = f"{notebook.resolve().parent.name}/{notebook.stem}"
    folder = record.resolve() / "cells" / name.replace("/", ".")  # the kernel writes there too, from where it works
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting    {shown(notebook)}: an earlier run has not ended yet", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        watch = progress.Watch(progress.Board(record.resolve()), name, len(content.cells))
        yield kept.Keeper(folder / "cells", watch)
        shutil.rmtree(folder, ignore_errors=True)
        watch.finished(used)


def write(content, path: Path) -> None:
    with files.whole(path) as draft:
        nbformat.write(content, draft)


def refresh(notebooks: list[Path]) -> None:
    """Copy the outputs under build/executed into the committed notebooks, without the figures' downloads."""
    from book.figures import plotted  # matplotlib takes long to import, and nothing else here needs it

    for notebook in notebooks:
        if not notebook.resolve().is_relative_to(ROOT / "notebooks"):
            raise ValueError(f"--refresh is only for notebooks in {ROOT / 'notebooks'}, got {shown(notebook)}")
        executed = ROOT / "build/executed" / notebook.resolve().relative_to(ROOT / "notebooks")
        fresh = nbformat.read(executed, as_version=4)
        del fresh.metadata["compendium"]
        for output in (output for cell in fresh.cells for output in cell.get("outputs", [])):
            output.get("data", {}).pop(plotted.MIME, None)
        if fresh != nbformat.read(notebook, as_version=4):
            write(fresh, notebook)
            print(f"refreshed  {shown(notebook)}")


def shown(path: Path) -> str:
    """Return `path`, relative to the repository if it is in it."""
    path = path.resolve()
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


# ---- the command


def requested(arguments) -> dict:
    """Return the requested values from --full, -f and each -p, in this order. A later value replaces an earlier one."""
    values, notebook = {}, arguments.notebook[0].resolve()
    if arguments.full:
        name, every = f"{notebook.parent.name}/{notebook.stem}", _mapping(FULL)
        if name not in every and not notebook.is_relative_to(ROOT / "notebooks"):
            raise ValueError(
                f"--full is only for notebooks in {ROOT / 'notebooks'} or listed in {FULL.name}, got {name}"
            )
        values |= every.get(name, {})
    if arguments.file:
        values |= _mapping(arguments.file)
    return values | {name: _literal(text) for name, text in arguments.parameter}


def _mapping(file: Path) -> dict:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found or {}, dict):
        raise ValueError(f"{file} must map names of parameters to values, got a {type(found).__name__}")
    return found or {}


def _literal(text: str):
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (SyntaxError, ValueError):
        return text


def _told(error: BaseException) -> str:
    """Return the message of the error on one line."""
    if isinstance(error, CellExecutionError):
        return f"{error.ename}: {error.evalue}"
    if isinstance(error, DeadKernelError):
        return "its process ended, possibly because it ran out of memory"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _joined(words: list[str]) -> list[str]:
    """Return `words` with each -p NAME VALUE as one word, because argparse takes a value such as -1e-3 for an option."""
    given, joined = iter(words), []
    for word in given:
        two = [*itertools.islice(given, 2)] if word in ("-p", "--parameter") else []
        joined += [f"--parameter={two[0]}\0{two[1]}"] if len(two) == 2 else [word, *two]
    return joined


def _pair(text: str) -> list[str]:
    if "\0" not in text:
        raise argparse.ArgumentTypeError("expected NAME VALUE")
    return text.split("\0", 1)


def _other_file(place: Path, *read: Path) -> None:
    """Raise ``ValueError`` if a run that writes `place` would overwrite a file that it reads, or a notebook of the repository."""
    if place.exists() and (any(map(place.samefile, read)) or place.resolve().is_relative_to(ROOT / "notebooks")):
        raise ValueError(f"{shown(place)} is a notebook or an input that the run would overwrite; name another file")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, help="the file for the executed notebook")
    parser.add_argument("-p", "--parameter", type=_pair, action="append", default=[], metavar="NAME VALUE")
    parser.add_argument("-f", "--file", type=Path, help="a YAML file of parameters")
    parser.add_argument("--full", action="store_true", help="use the document's settings, from notebooks/full.yml")
    parser.add_argument(
        "--record", type=Path, help="the folder of a full run: report its progress, and resume it after an interruption"
    )
    parser.add_argument("--failed", type=Path, help="the file for the partly executed notebook if the run fails")
    parser.add_argument("--refresh", action="store_true", help="copy the outputs in build/executed into the notebooks")
    arguments = parser.parse_args(_joined(sys.argv[1:]))
    notebook, output, record = arguments.notebook[0], arguments.output, arguments.record
    if not arguments.refresh and (output is None or len(arguments.notebook) != 1):
        parser.error("name one notebook, and its output with -o")
    failed = arguments.failed or ROOT / "build/failed" / notebook.resolve().parent.name / notebook.name
    began = time.monotonic()
    ends_at(signal.SIGINT, signal.SIGTERM)
    for name in ("papermill", "traitlets"):  # their messages are printed here
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        if arguments.refresh:
            refresh(arguments.notebook)
            return 0
        content, used = prepare(notebook, requested(arguments))
        for place in (output, failed):
            _other_file(place, *filter(None, (notebook, arguments.file)))
        for place in filter(None, (output, arguments.failed)):
            files.check_writable(place, notebook.stat().st_size)  # about what its last run took
        if record:
            files.check_writable(record / "told")
    except (ValueError, OSError) as refusal:
        print(f"{shown(notebook)}: {_told(refusal)}", file=sys.stderr)
        return 2
    print(f"running    {shown(notebook)}", flush=True)
    try:
        with recorded(notebook, record, content, used) if record else nullcontext() as keeper:
            execute(content, keeper)
            write(content, output)
    except KeyboardInterrupt:
        print(f"{shown(notebook)}: interrupted; {shown(output)} is unchanged", file=sys.stderr)
        return 130
    except (CellExecutionError, RuntimeError, OSError) as error:
        count = max(cell.get("execution_count") or 0 for cell in content.cells)
        print(f"{shown(notebook)}: cell {count}: {_told(error)}", file=sys.stderr)
        with suppress(OSError):
            write(content, failed)
            print(f"the partly executed notebook is {failed}", file=sys.stderr)
        return 1
    failed.unlink(missing_ok=True)
    print(f"done       {shown(notebook)}  {time.monotonic() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
