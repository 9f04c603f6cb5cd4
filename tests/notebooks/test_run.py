"""notebooks/tools/run.py: what it refuses before anything runs, and what it leaves behind."""

import importlib.util
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import nbformat
import numpy as np
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from notebooks.tools import kept
from tests.house.test_house import plain

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "notebooks/tools/run.py"
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").glob("*/*.ipynb") if path.parent.name != "assignments")

PARAMETERS = """\
sigma: float = 0.01  # (0, 1]: least variance after scaling
sizes: list[float] = [1e5, 10**7]  # [1, inf): numbers of records
orders: list = [2, 4]  # (1, inf): Rényi orders
trials: int = 3  # [1, 1000]: repetitions
data: str = "stand-in"  # one of real, stand-in: which records
draw: bool = False
table: str = ""  # any text: which one
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
    """Return a function that writes a notebook with the given parameters cell and code."""

    def write(parameters: str = PARAMETERS, code: str = "print(sigma, trials)") -> Path:
        tagged = new_code_cell(parameters, metadata={"tags": ["parameters"]})
        content = new_notebook(cells=[new_markdown_cell("# Small"), tagged, new_code_cell(code)])
        content.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
        path = tmp_path / "small.ipynb"
        nbformat.write(content, path)
        return path

    return write


def command(*arguments, folder, **settings):
    words = [sys.executable, str(RUN), *map(str, arguments)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, **settings)


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
        ("table", str, False, "any text"),
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
        ("table", "of any name", "of any name"),
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
        ("trials", 2.5, ["trials must be an integer in [1, 1000], got 2.5"]),
        ("trials", 10**6, ["trials must be in [1, 1000]"]),
        ("sizes", [1e5, 0.5], ["sizes must be in [1, inf), got 0.5"]),
        ("sizes", 1e5, ["sizes must be a list, got 100000.0"]),
        ("data", "fake", ["data must be one of 'real', 'stand-in', got 'fake'"]),
        ("data", 3, ["data must be of type str, got 3"]),
        ("draw", 1, ["draw must be of type bool, got 1"]),
        ("table", 2024, ["table must be of type str, got 2024"]),
    ],
)
def test_bad_values_are_refused_by_name(run, notebook, name, value, words):
    with pytest.raises(ValueError) as refusal:
        run.accept(notebook(), {name: value})
    assert all(word in str(refusal.value) for word in words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "sigma: float = 0.01  # (0, 1]: see n = 4",
            "these do not: sigma",
        ),  # papermill drops a line with two equal signs
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


def refused(*arguments, folder, **settings):
    """Return the one sentence on standard error of a run that ends with 2, without having run anything."""
    done = command(*arguments, folder=folder, **settings)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1 and "Traceback" not in done.stderr
    return done.stderr.split(": ", 1)[1].rstrip()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("sigma", "-1e-3", "sigma must be in (0, 1], got -0.001"),
        ("trials", "-x", "trials must be a number in [1, 1000], got '-x'"),
        ("sigma", "--output", "sigma must be a number in (0, 1], got '--output'"),
        ("-o", "-f", "unknown parameter '-o'"),
    ],
)
def test_a_value_may_begin_with_a_dash(run, notebook, monkeypatch, capsys, name, value, words):
    """It is refused by its parameter and not as an option of the command; what is text may be any text."""
    monkeypatch.setattr(sys, "argv", ["run.py", str(notebook()), "-o", "out.ipynb", "-p", name, value])
    assert run.main() == 2 and words in capsys.readouterr().err
    assert run._joined(["-p", "table", "-x", "-p", "a"]) == ["--parameter=table\0-x", "-p", "a"]


@pytest.mark.parametrize("option", ["-o", "--failed"])
@pytest.mark.parametrize(
    "place", ["small.ipynb", "folder/../small.ipynb", "link.ipynb", "hard.ipynb", "chapter", "given.yml"]
)
def test_a_run_overwrites_no_notebook(run, notebook, tmp_path, monkeypatch, capsys, option, place):
    path = notebook()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.ipynb").symlink_to(path)
    (tmp_path / "hard.ipynb").hardlink_to(path)
    (tmp_path / "given.yml").write_text("{}")
    before, output = path.read_bytes(), NOTEBOOKS[0] if place == "chapter" else tmp_path / place
    others = ["-o", str(tmp_path / "out.ipynb")] if option == "--failed" else []
    monkeypatch.setattr(
        sys, "argv", ["run.py", str(path), "-f", str(tmp_path / "given.yml"), *others, option, str(output)]
    )
    monkeypatch.setattr(run, "execute", lambda *_: pytest.fail("it was run"))
    told = "is a notebook or an input that the run would overwrite; name another file"
    assert run.main() == 2 and told in capsys.readouterr().err
    assert path.read_bytes() == before


SETTINGS = """
import matplotlib as mpl
import sys
print(sys.executable, "planted" in globals(), mpl.rcParams["lines.linewidth"], mpl.get_backend(), get_ipython().pdb)
3.14159265358979
"""


def test_no_setting_of_the_user_and_no_other_kernel_changes_a_run(notebook, tmp_path):
    (tmp_path / "kernels/python3").mkdir(parents=True)
    (tmp_path / "kernels/python3/kernel.json").write_text(
        '{"argv": ["false"], "display_name": "other", "language": "python"}'
    )
    (tmp_path / "profile_default/startup").mkdir(parents=True)
    for name in ("startup.py", "profile_default/startup/0.py"):
        (tmp_path / name).write_text("planted = True")
    for name in ("ipython_config.py", "ipython_kernel_config.py"):
        (tmp_path / "profile_default" / name).write_text(
            "c.InteractiveShell.pdb = True\nc.PlainTextFormatter.float_precision = '%.2f'"
        )
    (tmp_path / ".config/matplotlib").mkdir(parents=True)
    for name in ("matplotlibrc", ".config/matplotlib/matplotlibrc"):
        (tmp_path / name).write_text("lines.linewidth: 77")
    planted = {
        "JUPYTER_PATH": str(tmp_path),
        "IPYTHONDIR": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "startup.py"),
    }
    planted |= {"HOME": str(tmp_path), "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"), "MPLBACKEND": "svg"}
    noted = f"import os; open({str(tmp_path / 'process')!r}, 'w').write(str(os.getpid()));" + SETTINGS
    done = command(notebook(code=noted), "-o", "out.ipynb", folder=tmp_path, env=os.environ | planted)
    assert (done.returncode, done.stderr) == (0, "")
    printed, shown = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells[-1].outputs
    assert printed.text == f"{sys.executable} False 1.5 module://matplotlib_inline.backend_inline False\n"
    assert shown.data["text/plain"] == "3.14159265358979"
    with pytest.raises(ProcessLookupError):  # the kernel ends with the run
        os.kill(int((tmp_path / "process").read_text()), 0)


def test_without_a_loopback_interface_a_run_is_refused_at_once(notebook, tmp_path):
    alone = ["unshare", "--map-root-user", "--net"]  # in a network of its own, where nothing is up
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("no network of its own can be made here")
    words = [*alone, sys.executable, RUN, notebook(), "-o", "out.ipynb"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "the loopback interface, 127.0.0.1, must be up to run a notebook: Network is unreachable\n"
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "mine.yml: No such file or directory"),
        ("- sigma\n- 0.5\n", "mine.yml must map names of parameters to values, got a list"),
        ("0.5", "mine.yml must map names of parameters to values, got a float"),
        ("sigma: [0.5", "mine.yml is not valid YAML: while parsing"),
        ("1: 2", "unknown parameter 1; small.ipynb has sigma"),
        (b"sigma: \xff", "mine.yml is not valid YAML: 'utf-8' codec"),
    ],
)
def test_a_bad_file_of_parameters_is_named(notebook, tmp_path, text, words):
    if text is not None:
        (tmp_path / "mine.yml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert refused(notebook(), "-o", "out.ipynb", "-f", "mine.yml", folder=tmp_path).startswith(words)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        ("folder", "Is a directory"),
        ("", "the file is not a notebook (NotJSONError)"),
        ("{'cells': []}", "the file is not a notebook (NotJSONError)"),
        ("[]", "the file is not a notebook"),
        ("{}", "the file is not a notebook"),
        ('{"cells": 5, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', "the file is not a notebook"),
        (b"\xff", "the file is not a notebook (UnicodeDecodeError)"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path, content, words):
    path = tmp_path / "small.ipynb"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in refused(path, "-o", "out.ipynb", folder=tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sigma: float = ", "line 1 of the parameters cell is not valid Python: invalid syntax"),
        ("sigma: float = os.getpid()", "sigma must have a number, text or list of them as its default"),
        ("sizes: list = 3", "sizes must be annotated list[float]"),
    ],
)
def test_a_parameters_cell_that_is_broken_is_refused(notebook, tmp_path, line, words):
    assert words in refused(notebook(line), "-o", "out.ipynb", folder=tmp_path)


@pytest.mark.full
def test_a_notebook_without_parameters_takes_none(run, notebook, tmp_path):
    path = notebook("")
    assert "unknown parameter 'sigma'; small.ipynb has no parameters" in refused(
        path, "-o", "out.ipynb", "-p", "sigma", "1", folder=tmp_path
    )
    content, used = run.prepare(path, {})
    assert used == {} and len(content.cells) == 3


@pytest.mark.full
def test_full_is_for_the_notebooks_of_the_house(notebook, tmp_path):
    words = refused(notebook(), "-o", "out.ipynb", "--full", folder=tmp_path)
    assert words.startswith("--full is only for notebooks in ") and "full.yml, got " in words


@pytest.mark.sampled(1)
@pytest.mark.parametrize("option", ["-o", "--failed", "--record"])
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("folder", "folder: is a folder, but must be a file"),
        ("file/out.ipynb", "file/out.ipynb: cannot be written (its folder is a file)"),
        ("/proc/out.ipynb", "/proc/out.ipynb: cannot be written"),
        ("/dev/full", "/dev/full: exists and is not a regular file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_run(notebook, tmp_path, option, place, words):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    if option == "--record":  # which is to be a folder
        place, words = (place, "/told: cannot be written") if place != "folder" else ("file", "told: cannot be written")
    others = ["-o", "out.ipynb"] if option != "-o" else []
    assert words in refused(notebook(), *others, option, place, folder=tmp_path)
    assert not (tmp_path / "out.ipynb").exists() and Path("/dev/full").is_char_device()


@pytest.mark.full
def test_options_without_their_values_are_refused(notebook, tmp_path):
    for words in (["-p", "sigma"], ["-p"], ["-f"], []):
        done = command(notebook(), *(["-o", "out.ipynb"] if words else []), *words, folder=tmp_path)
        assert done.returncode == 2 and "run.py: error: " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("value", ["nowhere", "small.ipynb", "~nobody-of-that-name/data", "x" * 5000])
def test_a_data_folder_that_is_none_is_refused_where_real_data_are_wanted(notebook, tmp_path, value):
    settings = {"env": os.environ | {"COMPENDIUM_DATA": value}}
    words = refused(notebook(), "-o", "out.ipynb", "-p", "data", "real", folder=tmp_path, **settings)
    assert words.startswith(f"COMPENDIUM_DATA must name a folder that can be read, got '{value}'")


def test_a_data_folder_is_one_below_where_the_command_was_given(run, notebook, tmp_path, monkeypatch):
    """The kernel works in the repository's root, and synthetic samples need no folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for value, kind, seen in [("mine", "real", str(tmp_path / "mine")), ("nowhere", "stand-in", "nowhere")]:
        monkeypatch.setenv("COMPENDIUM_DATA", value)
        run.prepare(notebook(), {"data": kind})
        assert os.environ["COMPENDIUM_DATA"] == seen


@pytest.fixture
def small_disk(tmp_path):
    """Provide a folder on a disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("only an administrator may mount a disk")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.full
def test_a_full_disk_is_told_in_a_sentence_and_leaves_the_old_file(notebook, tmp_path, small_disk):
    (small_disk / "out.ipynb").write_text("the last good one")
    path = notebook(code="print('x' * 100_000)")
    done = command(path, "-o", small_disk / "out.ipynb", "--failed", "failed.ipynb", folder=tmp_path)
    assert done.returncode == 1 and "No space left on device" in done.stderr and "Traceback" not in done.stderr
    assert [(left.name, left.read_text()) for left in small_disk.iterdir()] == [("out.ipynb", "the last good one")]
    assert "x" * 100_000 in (tmp_path / "failed.ipynb").read_text()  # what was computed is not lost


@pytest.mark.full
def test_a_disk_that_is_too_full_is_refused_before_the_run(notebook, tmp_path, small_disk):
    """The disk needs room for the notebook with the outputs that it has."""
    (small_disk / "out.ipynb").write_text("the last good one")
    (small_disk / "full").write_bytes(bytes(40_000))
    path = notebook(code=f"\n# {'x' * 50_000}")
    words = refused(path, "-o", small_disk / "out.ipynb", folder=tmp_path)
    assert words == f"{small_disk}/out.ipynb: cannot be written (No space left on device)"
    assert (small_disk / "out.ipynb").read_text() == "the last good one" and len([*small_disk.iterdir()]) == 2


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


@pytest.mark.full
def test_a_kernel_that_dies_is_a_failure_too(notebook, tmp_path):
    path = notebook(code="print('before', flush=True)\nimport os\nos._exit(9)")
    done = command(path, "-o", "out.ipynb", "--failed", "failed/small.ipynb", folder=tmp_path)
    assert done.returncode == 1 and "its process ended" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "failed/small.ipynb").is_file() and not (tmp_path / "out.ipynb").exists()


# Under pytest a kernel leaves its own stream of errors as it was.
STUMBLES = "import os\nos.write(2, b'it stumbled\\n')\n"


@pytest.mark.full
@pytest.mark.parametrize(("end", "told"), [("", ""), ("os.abort()", "it stumbled\n")], ids=["at its end", "early"])
def test_what_a_kernel_itself_says_counts_only_if_it_dies_early(notebook, tmp_path, end, told):
    done = command(notebook(code=STUMBLES + end), "-o", "out.ipynb", folder=tmp_path)
    assert done.stderr.startswith(told) and ("stumbled" in done.stderr) == (done.returncode == 1) == bool(told)


@pytest.fixture
def listening():
    """Listen to interrupts: if a shell started this process in the background, it ignores them, and so would its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.full
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


@pytest.mark.full
def test_equal_runs_are_equal_files(notebook, tmp_path):
    for name in ("one.ipynb", "two.ipynb"):
        assert command(notebook(), "-o", name, folder=tmp_path).returncode == 0
    one, two = (nbformat.read(tmp_path / name, as_version=4) for name in ("one.ipynb", "two.ipynb"))
    for content in (one, two):
        for cell in content.cells:
            del cell["id"]  # the fixture's notebooks are written twice, with new ids
    assert one == two


# ---- a full run: finished cells are kept


SET_UP = (
    "from pathlib import Path\nimport os\nimport time\nimport numpy as np\nrng = np.random.default_rng(1)\nscale = 1"
)
CELLS = [
    "def drawn():\n    return scale * rng.integers(1000, size=2)\nprint(drawn())",
    "open(HERE / 'first', 'a').write('ran\\n')\ntime.sleep(2.1)  # worth keeping\nprint(drawn())",
    "scale = -1\nfirst_time = not (HERE / 'begun').exists()\n(HERE / 'begun').write_text(str(os.getpid()))\n"
    "if first_time:\n    time.sleep(100)\nprint(drawn())",
    "scale = 0\nprint(drawn())",
]


@pytest.fixture
def long_notebook(notebook, tmp_path):
    """Return a notebook whose third cell waits to be interrupted when it runs first; and the folder of a run of it."""
    path = notebook(code=SET_UP)
    content = nbformat.read(path, as_version=4)
    content.cells[2].source += f"\nHERE = Path({str(tmp_path)!r})"
    content.cells += [new_code_cell(source) for source in CELLS]
    nbformat.write(content, path)
    record = tmp_path / "record"
    record.mkdir()
    (record / "plan").write_text(f"1\n{path.parent.name}/small\n")
    return path


def wait_for(file, running):
    while not (file.exists() and file.read_text()) and running.poll() is None:
        time.sleep(0.1)


def begin(path, folder, **more):
    running = subprocess.Popen(
        [sys.executable, str(RUN), str(path), "-o", "out.ipynb", "--record", "record"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **more,
    )
    wait_for(folder / "begun", running)
    return running


def printed(path):
    return [output.text for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]


@pytest.mark.full
@pytest.mark.parametrize("killed", ["run", "kernel"])
def test_a_killed_run_goes_on_with_the_cell_it_had_in_hand(long_notebook, tmp_path, killed):
    running = begin(long_notebook, tmp_path)
    if killed == "run":
        running.kill()
    else:
        os.kill(int((tmp_path / "begun").read_text()), signal.SIGKILL)
    said, _ = running.communicate(timeout=240)
    assert killed == "run" or (running.returncode == 1 and "its process ended" in said), said
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
    assert [left for left in (tmp_path / "record/cells").rglob("*") if left.suffix != ".lock"] == []  # all forgotten


@pytest.mark.full
def test_another_setting_is_another_run(long_notebook, tmp_path):
    running = begin(long_notebook, tmp_path)
    running.send_signal(signal.SIGTERM)
    said, _ = running.communicate(timeout=240)
    assert running.returncode == 130, said
    assert (tmp_path / "first").read_text() == "ran\n", said
    done = command(long_notebook, "-o", "out.ipynb", "--record", "record", "-p", "trials", "4", folder=tmp_path)
    assert done.returncode == 0 and (tmp_path / "first").read_text() == 2 * "ran\n"


@pytest.mark.full
def test_a_run_ends_with_the_make_that_started_it(long_notebook, tmp_path):
    """It leaves what is kept: `make` may be killed, and started again at once."""
    words = shlex.join([sys.executable, str(RUN), str(long_notebook), "-o", "out.ipynb", "--record", "record"])
    (tmp_path / "Makefile").write_text(f"out.ipynb:\n\t@exec {words}\n")
    said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    make = subprocess.Popen(["make"], cwd=tmp_path, env=plain(), **said)
    wait_for(tmp_path / "begun", make)
    make.kill()
    make.wait()
    again = subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True, timeout=240, env=plain())
    assert (again.returncode, again.stderr) == (0, ""), again.stdout
    assert (tmp_path / "first").read_text() == "ran\n" and (tmp_path / "out.ipynb").is_file()


def test_a_run_waits_for_an_earlier_one_of_the_same_notebook(run, tmp_path, capsys):
    path, entered = tmp_path / "small.ipynb", threading.Event()

    def later():
        with run.recorded(path, tmp_path / "record", new_notebook(), {}):
            entered.set()

    waits = threading.Thread(target=later)
    with run.recorded(path, tmp_path / "record", new_notebook(), {}):
        waits.start()
        assert not entered.wait(0.2)
    waits.join()
    assert entered.is_set() and "an earlier run has not ended yet" in capsys.readouterr().out


def test_cells_that_are_kept_do_not_run_again(tmp_path, monkeypatch):
    made_with, asked, told = ["now"], [], []
    monkeypatch.setattr(kept, "key", lambda notebook: made_with[0])
    monkeypatch.setattr(kept, "_ask", lambda client, function, path: asked.append(function))
    watch = types.SimpleNamespace(seconds=0.0, at=lambda index, before=0.0: told.append((index, before)))

    def cells():
        client = types.SimpleNamespace(nb=new_notebook(cells=[new_code_cell(source) for source in "123"]))
        return kept.Keeper(tmp_path / "cells", watch).left(client)

    interrupted = cells()
    assert next(interrupted) == 0
    watch.seconds = 5.0
    assert next(interrupted) == 1 and asked == ["save"]
    assert list(cells()) == [1, 2] and asked == ["save", "load"] and (1, 5.0) in told
    made_with[0] = "later"
    assert list(cells()) == [0, 1, 2]


@pytest.mark.full
def test_what_is_kept_and_cannot_be_read_is_run_again(long_notebook, tmp_path):
    running = begin(long_notebook, tmp_path)
    running.kill()
    running.communicate(timeout=60)
    (kept_there,) = (tmp_path / "record/cells").rglob("cells")
    kept_there.write_bytes(kept_there.read_bytes()[:-10])  # by no run of ours: it writes them whole
    done = command(long_notebook, "-o", "out.ipynb", "--record", "record", folder=tmp_path)
    assert done.returncode == 0 and "so its cells run again" in done.stderr and "Traceback" not in done.stderr
    assert (tmp_path / "first").read_text() == 2 * "ran\n"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "",
        "null",
        "{}",
        '{"key": "now"}',
        '{"key": "now", "seconds": "many", "cells": []}',
        '{"key": "now", "seconds": 1, "cells": [1]}',
        '{"key": "now", "seconds": 1, "cells": [{"cell_type": "code", "source": "2"}]}',
    ],
)
def test_a_damaged_record_of_cells_is_named_and_counts_for_nothing(tmp_path, capsys, line):
    client = types.SimpleNamespace(nb=new_notebook(cells=[new_code_cell("1")]))
    (tmp_path / "cells").write_text(line + "\n")
    assert kept.Keeper(tmp_path / "cells", watch=None)._restore(client, "now") == 0
    assert str(tmp_path / "cells") in capsys.readouterr().err and client.nb.cells[0].source == "1"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prepares_its_process_in_its_set_up_cell_alone(path):
    """Only names of the notebook are kept; the set-up cell sets styles and options again."""
    cells = nbformat.read(path, as_version=4).cells
    begins = kept._set_up_end(cells)
    assert any("figures.use_house_style()" in cell.source for cell in cells[:begins])
    for cell in cells[begins:]:
        if cell.cell_type == "code":
            assert not re.search(
                r"set_option|rcParams|set_printoptions|simplefilter|filterwarnings|np\.random\.seed|environ\[",
                cell.source,
            )


LEVELS = """
import math
level = [1]
def up(x):
    return math.floor(x) + level[0] + more
class Above:
    def at(self):
        return up(0)
more = 1
"""


@pytest.mark.full
def test_functions_look_their_names_up_where_they_are_loaded(tmp_path):
    """They do so in another process, for the notebook's own names, which later cells change."""
    start = "import types; from notebooks.tools import kept; import __main__\nshell = types.SimpleNamespace(user_ns=vars(__main__), "
    start += "user_ns_hidden={'shell', 'types', 'kept'}, execution_count=3)\n"
    there = f"shell, {str(tmp_path / 'cells')!r}"
    writes = f"open({str(tmp_path / 'cells')!r}, 'w').write('first line\\n'); kept.save({there})"
    reads = f"kept.load({there}); more = 100; level.append(2)\n"
    reads += "assert up(5.5) == 106 and Above().at() == 101 and up.__globals__ is vars(__main__) and level == [1, 2]"
    for code in (start + LEVELS + writes, start + reads):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
