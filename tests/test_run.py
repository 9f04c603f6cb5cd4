"""notebooks/run.py: what it refuses before anything runs, and what it leaves behind."""

import fcntl
import importlib.util
import io
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from notebooks import kept

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / "notebooks/run.py"
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").glob("*/*.ipynb") if path.parent.name != "assignments")

PARAMETERS = """\
sigma: float = 0.01  # (0, 1]: least variance after scaling
sizes: list[float] = [1e5, 10**7]  # [1, inf): numbers of records
orders: list = [2, 4]  # (1, inf): Rényi orders
trials: int = 3  # [1, 1000]: repetitions
data: str = "stand-in"  # one of real, stand-in: which records
draw: bool = False
"""


@pytest.fixture(scope="module")
def run():
    specification = importlib.util.spec_from_file_location("run", RUN)
    module = importlib.util.module_from_spec(specification)
    sys.modules["run"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    yield module
    del sys.modules["run"]


@pytest.fixture
def notebook(tmp_path):
    """A function that writes a notebook with the given parameters cell and code."""

    def write(parameters: str = PARAMETERS, code: str = "print(sigma, trials)") -> Path:
        tagged = new_code_cell(parameters, metadata={"tags": ["parameters"]})
        content = new_notebook(cells=[new_markdown_cell("# Small"), tagged, new_code_cell(code)])
        content.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
        path = tmp_path / "small.ipynb"
        nbformat.write(content, path)
        return path

    return write


def command(*arguments, folder):
    return subprocess.run([sys.executable, str(RUN), *map(str, arguments)], cwd=folder, capture_output=True, text=True)


# ---- parameters


def test_the_parameters_cell_is_read(run, notebook):
    known = run.parameters(notebook())
    assert [(p.name, p.kind, p.many, p.interval) for p in known.values()] == [
        ("sigma", float, False, "(0, 1]"),
        ("sizes", float, True, "[1, inf)"),
        ("orders", int, True, "(1, inf)"),
        ("trials", int, False, "[1, 1000]"),
        ("data", str, False, ""),
        ("draw", bool, False, ""),
    ]
    assert known["data"].options == ("real", "stand-in")
    assert known["sizes"].default == [1e5, 1e7]


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("sigma", 1, 1.0),
        ("sigma", "1e-3", 0.001),  # YAML reads 1e-3 as text
        ("trials", "1e2", 100),
        ("trials", 7.0, 7),
        ("sizes", [1, "1e15"], [1.0, 1e15]),
        ("data", "real", "real"),
        ("draw", True, True),
    ],
)
def test_good_values_take_the_parameters_type(run, notebook, name, value, accepted):
    (result,) = run.accept(notebook(), {name: value}).values()
    assert result == accepted and type(result) is type(accepted)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sgima", 0.5, ["unknown parameter 'sgima'", "sigma (float in (0, 1])", "data (str in real, stand-in)"]),
        ("sigma", 0, ["sigma must be in (0, 1], got 0"]),
        ("sigma", 2, ["sigma must be in (0, 1], got 2"]),
        ("sigma", float("nan"), ["sigma must be in (0, 1], got nan"]),
        ("sigma", "wide", ["sigma must be a number in (0, 1], got 'wide'"]),
        ("sigma", True, ["sigma must be a number in (0, 1], got True"]),
        ("sigma", [0.5], ["sigma must be a number in (0, 1], got [0.5]"]),
        ("trials", 2.5, ["trials must be a whole number in [1, 1000], got 2.5"]),
        ("trials", 10**6, ["trials must be in [1, 1000]"]),
        ("sizes", [1e5, 0.5], ["sizes must be in [1, inf), got 0.5"]),
        ("sizes", 1e5, ["sizes must be a list, got 100000.0"]),
        ("data", "fake", ["data must be one of 'real', 'stand-in', got 'fake'"]),
        ("data", 3, ["data must be of type str, got 3"]),
        ("draw", 1, ["draw must be of type bool, got 1"]),
    ],
)
def test_bad_values_are_refused_by_name(run, notebook, name, value, words):
    with pytest.raises(ValueError) as refusal:
        run.accept(notebook(), {name: value})
    assert all(word in str(refusal.value) for word in words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sigma: float = 0.01  # (0, 1]: see n = 4", "at sigma"),  # papermill drops a line with two equal signs
        ("sigma = 0.01  # (0, 1]: no annotation", "sigma must be annotated"),
        ("sizes: list = []  # [1, inf): nothing to tell the kind by", "sizes must be annotated list[float]"),
    ],
)
def test_a_parameters_cell_that_cannot_be_read_is_refused(run, notebook, line, words):
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        run.parameters(notebook(line))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebooks_defaults_satisfy_their_own_ranges(run, path):
    known = run.parameters(path)
    assert known, "every notebook has a parameters cell"
    for parameter in known.values():
        assert parameter.interval or parameter.options or parameter.kind is bool, f"{parameter.name} has no range"
        assert parameter.accept(parameter.default) == parameter.default


def test_the_full_settings_are_parameters_of_their_notebooks(run):
    full = yaml.safe_load((ROOT / "notebooks/full.yml").read_text(encoding="utf-8"))
    for name, values in full.items():
        run.accept(ROOT / f"notebooks/{name}.ipynb", values)


# ---- execution


def test_a_run_with_parameters(notebook, tmp_path):
    (tmp_path / "mine.yml").write_text("sigma: 0.5\ntrials: 5\n")
    done = command(notebook(), "-o", "out/small.ipynb", "-f", "mine.yml", "-p", "trials", "7", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "running" in done.stdout and "small.ipynb" in done.stdout and done.stdout.rstrip().endswith(" s")
    executed = nbformat.read(tmp_path / "out/small.ipynb", as_version=4)
    assert executed.cells[-1].outputs[0].text == "0.5 7\n"
    assert executed.metadata.compendium.parameters["trials"] == 7
    assert executed.metadata.compendium.parameters["data"] == "stand-in"
    assert "papermill" not in executed.metadata
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["small.ipynb"]


def test_a_refused_parameter_runs_nothing(notebook, tmp_path):
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    done = command(notebook(code=code), "-o", "out.ipynb", "-p", "sgima", "0.5", folder=tmp_path)
    assert done.returncode == 2 and "unknown parameter 'sgima'" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.ipynb"]


def test_a_failing_notebook_leaves_its_partial_copy_and_the_last_good_output(notebook, tmp_path):
    (tmp_path / "out.ipynb").write_text("the last good one")
    path = notebook(code="print('before')\nraise ArithmeticError('it broke here')")
    done = command(path, "-o", "out.ipynb", "--failed", "failed/small.ipynb", folder=tmp_path)
    assert done.returncode == 1
    assert "ArithmeticError: it broke here" in done.stderr and "failed/small.ipynb" in done.stderr
    assert (tmp_path / "out.ipynb").read_text() == "the last good one"
    partial = (tmp_path / "failed/small.ipynb").read_text()
    assert "before" in partial and "it broke here" in partial

    # The next good run takes the partial copy away.
    done = command(notebook(), "-o", "out.ipynb", "--failed", "failed/small.ipynb", folder=tmp_path)
    assert done.returncode == 0 and not (tmp_path / "failed/small.ipynb").exists()


def test_a_kernel_that_dies_is_a_failure_too(notebook, tmp_path):
    path = notebook(code="print('before', flush=True)\nimport os\nos._exit(9)")
    done = command(path, "-o", "out.ipynb", "--failed", "failed/small.ipynb", folder=tmp_path)
    assert done.returncode == 1 and "its process died" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "failed/small.ipynb").is_file() and not (tmp_path / "out.ipynb").exists()


@pytest.fixture
def listening():
    """Started in the background by a shell, this process ignores interrupts, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_run_leaves_nothing(notebook, tmp_path, listening):
    path = notebook(code=f"open({str(tmp_path / 'begun')!r}, 'w').close()\nimport time\ntime.sleep(60)")
    running = subprocess.Popen(
        [sys.executable, str(RUN), str(path), "-o", "out.ipynb", "--failed", "failed.ipynb"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "begun").exists() and running.poll() is None:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=240)
    assert running.returncode == 130 and "interrupted" in said and "Traceback" not in said
    assert sorted(left.name for left in tmp_path.iterdir()) == ["begun", "small.ipynb"]


def test_equal_runs_are_equal_files(notebook, tmp_path):
    for name in ("one.ipynb", "two.ipynb"):
        assert command(notebook(), "-o", name, folder=tmp_path).returncode == 0
    one, two = (nbformat.read(tmp_path / name, as_version=4) for name in ("one.ipynb", "two.ipynb"))
    for content in (one, two):
        for cell in content.cells:
            del cell["id"]  # the fixture's notebooks are written twice, with new ids
    assert one == two


# ---- a full run: finished cells are kept


SET_UP = "from pathlib import Path\nimport time\nimport numpy as np\nrng = np.random.default_rng(1)\nscale = 1"
CELLS = [
    "def drawn():\n    return scale * rng.integers(1000, size=2)\nprint(drawn())",
    "open(HERE / 'first', 'a').write('ran\\n')\ntime.sleep(2.1)  # worth keeping\nprint(drawn())",
    "scale = -1\nfirst_time = not (HERE / 'begun').exists()\n(HERE / 'begun').touch()\n"
    "if first_time:\n    time.sleep(100)\nprint(drawn())",
    "scale = 0\nprint(drawn())",
]


@pytest.fixture
def long_notebook(notebook, tmp_path):
    """A notebook whose third cell waits to be interrupted when it runs first; and the folder of a run of it."""
    path = notebook(code=SET_UP)
    content = nbformat.read(path, as_version=4)
    content.cells[2].source += f"\nHERE = Path({str(tmp_path)!r})"
    content.cells += [new_code_cell(source) for source in CELLS]
    nbformat.write(content, path)
    record = tmp_path / "record"
    record.mkdir()
    (record / "plan").write_text(f"1\n{path.parent.name}/small\n")
    return path


def begin(path, folder, **more):
    running = subprocess.Popen(
        [sys.executable, str(RUN), str(path), "-o", "out.ipynb", "--record", "record"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **more,
    )
    while not (folder / "begun").exists() and running.poll() is None:
        time.sleep(0.1)
    return running


def printed(path):
    return [output.text for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]


def test_a_killed_run_goes_on_with_the_cell_it_had_in_hand(long_notebook, tmp_path):
    running = begin(long_notebook, tmp_path)
    running.kill()
    running.communicate(timeout=60)
    assert not (tmp_path / "out.ipynb").exists()
    done = command(long_notebook, "-o", "out.ipynb", "--record", "record", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert (tmp_path / "first").read_text() == "ran\n"  # it has not run again
    # The same numbers as without an interruption: the generator goes on, and the function sees the new scale.
    rng = np.random.default_rng(1)
    assert printed(tmp_path / "out.ipynb") == [f"{scale * rng.integers(1000, size=2)}\n" for scale in (1, 1, -1, 0)]
    counts = [cell.execution_count for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[1:]]
    assert counts == list(range(1, len(counts) + 1))
    assert "1 of 1 notebooks done" in done.stdout
    assert list((tmp_path / "record/cells").rglob("*.pickle")) == []  # nothing is kept any longer

    # Another setting is another run.
    (tmp_path / "begun").unlink()
    running = begin(long_notebook, tmp_path)
    running.send_signal(signal.SIGTERM)
    said, _ = running.communicate(timeout=240)
    assert running.returncode == 130, said
    assert (tmp_path / "first").read_text() == 2 * "ran\n", said
    done = command(long_notebook, "-o", "out.ipynb", "--record", "record", "-p", "trials", "4", folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "first").read_text() == 3 * "ran\n"


def test_a_run_ends_with_the_make_that_started_it(long_notebook, tmp_path):
    """And leaves what is kept: `make` may be killed, and started again at once."""
    code = (
        f"import subprocess, sys; subprocess.run([sys.executable, {str(RUN)!r}, {str(long_notebook)!r}, "
        "'-o', 'out.ipynb', '--record', 'record'])"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (tmp_path / "begun").exists():
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    name = f"{tmp_path.name}.small"
    with (tmp_path / f"record/cells/{name}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as soon as the run has ended: or this test hangs
    assert not (tmp_path / "out.ipynb").exists()
    assert (tmp_path / f"record/cells/{name}/cells.json").is_file()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prepares_its_process_in_its_set_up_cell_alone(path):
    """What is no name of the notebook is not kept: styles and options, which the set-up cell sets again."""
    cells = nbformat.read(path, as_version=4).cells
    begins = kept._set_up_end(cells)
    assert any("figures.use_house_style()" in cell.source for cell in cells[:begins])
    for cell in cells[begins:]:
        if cell.cell_type == "code":
            assert not re.search(
                r"set_option|rcParams|set_printoptions|simplefilter|filterwarnings|np\.random\.seed|environ\[",
                cell.source,
            )


def test_functions_look_their_names_up_where_they_are_loaded():
    written = {"__name__": "__main__"}
    exec(
        "import math\nlevel = [1]\ndef up(x): return math.floor(x) + level[0] + more\nclass C:\n    def at(self): return up(0)\nmore = 1",
        written,
    )
    file = io.BytesIO()
    kept._Pickler(file, written).dump({name: value for name, value in written.items() if not name.startswith("_")})
    loaded = {"__name__": "__main__"}
    file.seek(0)
    loaded.update(kept._Unpickler(file, loaded).load())
    loaded["more"] = 100
    loaded["level"].append(2)
    assert loaded["up"](5.5) == 106 and loaded["C"]().at() == 101
    assert loaded["up"].__globals__ is loaded and written["level"] == [1]
