"""What depends on what is computed: changes are planted, and whatever was made by the changed code must be made again.

First the rules, on made-up trees. Then, in a scratch copy of the repository, a change for each kind of thing that is
kept: cells of studies, compiled code, executed notebooks, finished cells of an interrupted notebook, committed results.
"""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from book.figures import plotted
from book.kept import content_key, results
from book.ledger import claims
from lib.networks import compiled
from notebooks.tools import keys
from tests.house.test_house import plain

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").glob("*/*.ipynb"))
STUDIES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks/studies").glob("[!_]*.py"))


# ---- the rules, on made-up trees


@pytest.fixture
def tree(tmp_path):
    """A function that makes the files of a tree, by their names, and leads to it."""

    def make(files: dict[str, str], name="tree") -> Path:
        for file, text in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / name

    return make


def notebook(*sources: str, outputs=(), metadata=None) -> str:
    cells = [
        {
            "cell_type": "code",
            "source": source,
            "metadata": metadata or {},
            "outputs": list(outputs),
            "execution_count": 1,
        }
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"name": "python3"}}})


def names(root: Path, *starts: str, **how) -> set[str]:
    return {path.relative_to(root).as_posix() for path in content_key.closure(*starts, root=root, **how)}


PACKAGE = {
    "p/__init__.py": "", "p/q/__init__.py": "", "p/q/one.py": "", "p/q/two.py": "", "p/r/__init__.py": "from .three import x\n",
    "p/r/three.py": "x = 1\n", "p/top.py": "", "other.py": "",
}  # fmt: skip
AROUND = {"p/__init__.py", "p/q/__init__.py"}
FACE = {"p/__init__.py", "p/r/__init__.py", "p/r/three.py"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import p.q.one", AROUND | {"p/q/one.py"}),
        ("import p.q.one as o, json", AROUND | {"p/q/one.py"}),
        ("from p.q import one, two", AROUND | {"p/q/one.py", "p/q/two.py"}),
        ("from p.q.one import f", AROUND | {"p/q/one.py"}),
        ("from p import r", FACE),
        ("from p.r import x", FACE),
        ("import p", {"p/__init__.py"}),
        ("def f():\n    if True:\n        import p.top\n", {"p/__init__.py", "p/top.py"}),
        ("__import__('p.q.two')", AROUND | {"p/q/two.py"}),
        ("import numpy, p_and_more", set()),
        ("x = 'p'  # import p.q.one", set()),
    ],
)
def test_imports_are_followed_through_the_faces_of_packages(tree, code, found):
    root = tree(PACKAGE | {"start.py": code, "start.ipynb": notebook("%matplotlib inline\n" + code)})
    assert names(root, "start.py") == found | {"start.py"}
    assert names(root, "start.ipynb") == found | {"start.ipynb"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from . import two", {"p/q/two.py"}),
        ("from .two import *", {"p/q/two.py"}),
        ("from .. import top", {"p/top.py"}),
        ("from ..r import x", FACE),
        ("from ..r.three import x", FACE),
    ],
)
def test_relative_imports_are_followed(tree, code, found):
    root = tree(PACKAGE | {"p/q/one.py": code})
    assert names(root, "p/q/one.py") == AROUND | {"p/q/one.py"} | found
    # and where only the package itself can be seen, as when it is installed among others
    inner = {name.removeprefix("p/") for name in {"q/one.py", "q/__init__.py"} | found if name != "p/__init__.py"}
    assert names(root / "p", "q/one.py") - {"__init__.py"} == inner


def test_circles_end(tree):
    root = tree({"a.py": "import b", "b.py": "import c", "c.py": "import a"})
    assert names(root, "a.py") == names(root, "c.py") == {"a.py", "b.py", "c.py"}


DATA = {
    "p/__init__.py": "",
    "p/own.csv": "1",
    "p/sub/far.csv": "2",
    "notes/deep/a.csv": "3",
    "notes/b.csv": "4",
    "up.yml": "5",
    "p/x.py": "",
}


@pytest.mark.parametrize(
    ("start", "code", "found"),
    [
        ("p/code.py", "open(HERE / 'own.csv')", {"p/__init__.py", "p/own.csv"}),
        ("p/code.py", "open('sub/far.csv')", {"p/__init__.py", "p/sub/far.csv"}),
        ("p/code.py", "open('notes/deep/a.csv')", {"p/__init__.py", "notes/deep/a.csv"}),
        ("code.py", "import p; p.read('own.csv')", {"p/__init__.py", "p/own.csv"}),
        ("code.py", "open('own.csv')", set()),  # p is not imported
        ("code.py", "(HERE / 'notes').glob('*')", {"notes/deep/a.csv", "notes/b.csv"}),
        ("code.py", "open(HERE / 'up.yml')", {"up.yml"}),
        ("code.py", "print('see up.yml')", set()),
        ("code.py", "open('gone.csv')", set()),
    ],
)
def test_a_text_that_is_the_name_of_a_file_or_a_folder_counts(tree, start, code, found):
    assert names(tree(DATA | {start: code}), start) == found | {start}


def test_a_file_of_code_that_a_text_names_is_followed(tree):
    """As a program that is started by its path; from the root, or beside the code."""
    root = tree({
        "run.py": "import subprocess\nsubprocess.run(['python', 'tools/go.py'])\n",
        "tools/go.py": "NEXT = 'last.ipynb'\nGONE = 'none.py'\n",
        "tools/last.ipynb": notebook("import m"),
        "m.py": "",
    })  # fmt: skip
    assert names(root, "run.py") == {"run.py", "tools/go.py", "tools/last.ipynb", "m.py"}


def test_what_is_left_out_leads_nowhere(tree):
    root = tree(
        PACKAGE | {"start.py": "import p.r, other\n'data.csv'", "data.csv": "", "p/r/three.py": "import p.q.one"}
    )
    whole = names(root, "start.py")
    assert whole == FACE | AROUND | {"start.py", "other.py", "data.csv", "p/q/one.py"}
    assert names(root, "start.py", without=["p/r"]) == {"start.py", "other.py", "data.csv", "p/__init__.py"}
    assert names(root, "start.py", without=["data.csv"]) == whole - {"data.csv"}
    assert names(root, "data.csv", without=["data.csv"]) == {"data.csv"}  # asked for by name


CODE = '''"""Text."""

import a  # why

def f(x):
    """Says."""
    return x, "# no comment", """two

lines"""

class C: "One line."; y = 1
'''
SAME = [
    CODE.replace("Text.", "Another text,\n\nof two lines."),
    CODE.replace("  # why", ""),
    CODE.replace("# why", "# because of 'this'"),
    CODE.replace("\ndef", "\n\n# a 'remark\n\ndef"),
    CODE.replace("(x):\n", "(x):   \n"),
    CODE.replace("Says.", "Says # é, and more."),
    CODE.replace("One line.", "Another one"),
    CODE + "\n\n# the end",
]
OTHER = [
    CODE.replace("import a", "import b"),
    CODE.replace("# no comment", "# a comment"),
    CODE.replace("two\n\n", "two\n"),
    CODE.replace("two\n", "two \n"),
    CODE.replace("    return", "    return 1,"),
    CODE.replace("y = 1", "y = 2"),
    CODE.replace('    """Says."""\n', "").replace("return x", "x"),
    CODE.replace("lines", "linés"),
]


@pytest.mark.parametrize("code", SAME)
def test_comments_docstrings_and_blank_lines_do_not_count(tree, code):
    assert content_key.key("x.py", root=tree({"x.py": CODE}, "one")) == content_key.key(
        "x.py", root=tree({"x.py": code}, "two")
    )


@pytest.mark.parametrize("code", OTHER)
def test_everything_else_counts(tree, code):
    assert content_key.key("x.py", root=tree({"x.py": CODE}, "one")) != content_key.key(
        "x.py", root=tree({"x.py": code}, "two")
    )


def test_of_notebooks_outputs_do_not_count_but_markdown_and_tags_do(tree):
    made = {
        "same": notebook("x = 1", outputs=[{"output_type": "stream", "name": "stdout", "text": "1"}]),
        "code": notebook("x = 2"),
        "tags": notebook("x = 1", metadata={"tags": ["parameters"]}),
        "text": notebook("x = 1").replace('"code"', '"markdown"'),
    }
    before, after = ({n: content_key.key("n.ipynb", root=tree({"n.ipynb": text}, n)) for n, text in found.items()}
                     for found in ({"at first": notebook("x = 1")}, made))  # fmt: skip
    assert before["at first"] == after["same"]
    assert len({*after.values()}) == 4


def test_a_name_counts_as_well_as_what_is_behind_it(tree):
    one, two = tree({"a.py": "", "b.py": "x = 1"}, "one"), tree({"a.py": "x = 1", "b.py": ""}, "two")
    assert content_key.key("a.py", "b.py", root=one) == content_key.key("b.py", "a.py", root=one)
    assert (
        len(
            {
                content_key.key(*starts, root=root)
                for root in (one, two)
                for starts in (["a.py"], ["b.py"], ["a.py", "b.py"])
            }
        )
        == 6
    )


def test_the_key_is_the_same_whatever_python(tree):
    """Worked out with Python 3.11, 3.12 and 3.13."""
    root = tree(
        {
            "x.py": CODE + "f'{C.y!r:>{3}} \\N{BULLET}'\n",
            "a.py": "async def f():\n    'text'\n    await g()\n",
            "n.ipynb": notebook("import x", "'d.csv'"),
            "d.csv": "1\n",
        }
    )
    assert content_key.key("n.ipynb", root=root) == "d2b188b5e25d1998e3f3fade2d913e45b2c25f9e42c5ec17915a608c4984b64d"


def test_what_is_no_code_and_what_is_not_there_is_refused(tree):
    root = tree({"x.py": "import y", "y.py": "def"})
    with pytest.raises(SyntaxError) as refusal:
        content_key.key("x.py", root=root)
    assert refusal.value.filename == str(root / "y.py")
    with pytest.raises(FileNotFoundError):
        content_key.key("z.py", root=root)


# ---- the repository against what Python really loads and opens


def executed() -> list:
    found = [name for name in NOTEBOOKS if (ROOT / "build/executed" / name.removeprefix("notebooks/")).is_file()]
    return found or [pytest.param("", marks=pytest.mark.skip(reason="no notebook has been executed (make book)"))]


def outputs(name: str, mime: str) -> list:
    """What the outputs of an executed notebook hold of one type."""
    content = json.loads((ROOT / "build/executed" / name.removeprefix("notebooks/")).read_text(encoding="utf-8"))
    held = [output.get("data", {}) for cell in content["cells"] for output in cell.get("outputs", [])]
    return [data[mime] for data in held if mime in data]


@pytest.mark.slow
@pytest.mark.parametrize("name", executed())
def test_every_file_that_a_notebook_opened_is_in_its_closure(name):
    """A guard for names that are put together when the code runs."""
    read = {ROOT / file for record in outputs(name, plotted.MIME) for file in record["read"]}
    ours = {path for path in read if path.is_relative_to(ROOT) and ".venv" not in path.parts}
    assert ours <= content_key.closure(name)


@pytest.mark.parametrize("name", executed())
def test_a_notebook_judges_the_claims_of_its_own_document_alone(name):
    """Those of others may change without its being run again."""
    records = [record for held in outputs(name, claims.MIME) for record in (held if isinstance(held, list) else [held])]
    assert {record["document"] for record in records} <= {Path(name).parent.name}


# ---- changes planted in a scratch copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The repository, but what is built."""
    root = tmp_path_factory.mktemp("scratch") / "repository"
    ignored = shutil.ignore_patterns(".*", "build", "__pycache__", "*.egg-info", "browser")
    shutil.copytree(
        ROOT,
        root,
        ignore=lambda folder, found: (
            ignored(folder, found) | {name for name in found if Path(folder, name).is_symlink()}
        ),
    )
    return root


@contextmanager
def planted(root: Path, name: str, *change: str):
    """The file `name` with its one `change` (what stood there, and what stands there now); with a last line, if none is given."""
    path = root / name
    before = path.read_bytes()
    text = before.decode()
    if change:
        assert text.count(change[0]) == 1, f"{name} no longer says {change[0]!r}"
    path.write_text(
        text.replace(*change) if change else text + ("1\n" if path.suffix == ".csv" else "\n_PLANTED = 1\n"),
        encoding="utf-8",
    )
    yield
    path.write_bytes(before)


def python(root: Path, *arguments: str, **more: str) -> str:
    """What a new process of Python says, in `root`."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=plain() | {"PYTHONPATH": str(root)} | more,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LAPLACE = ("lib/mechanisms/noise.py", "return generator(rng).laplace(", "return 2 * generator(rng).laplace(")
ZCDP = ("lib/accounting/conversions.py", "rho + 2 * np.sqrt(rho * log_inverse)", "rho + 3 * np.sqrt(rho * log_inverse)")


@pytest.fixture(scope="module")
def loaded(copy) -> dict[str, set[Path]]:
    """By study, the files of the repository that an import of it loads, as Python itself says."""
    script = f"""
import importlib, os, sys
import joblib, numba, numpy, pandas, scipy.optimize, scipy.stats, sklearn.linear_model, sklearn.metrics, sklearn.svm, xgboost
for name in {STUDIES!r}:
    if not os.fork():
        importlib.import_module(name[:-3].replace("/", "."))
        print(name, *(getattr(module, "__file__", None) or "" for module in sys.modules.values()), sep="\\t", flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
    found = {}
    for line in python(copy, "-c", script).splitlines():
        name, *files = line.split("\t")
        found[name] = {path for path in map(Path, files) if path.is_relative_to(copy)}
    return found


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_every_module_that_an_import_loads_is_in_the_closure(copy, loaded, study):
    assert copy / study in loaded[study] <= content_key.closure(study, root=copy)


def cell_keys(root: Path) -> dict[str, str]:
    """By study, the name of a file in which a cell would be kept."""
    script = f"""
import importlib, json
from notebooks.studies import grid
found = {{}}
for name in {STUDIES!r}:
    study = importlib.import_module(name[:-3].replace("/", "."))
    cell = next((value for value in vars(study).values() if callable(value) and getattr(value, "__module__", "") == study.__name__), None)
    if cell is not None:
        found[name] = grid._files(cell, [1], ["a"], "cells")[0].name
print(json.dumps(found))
"""
    return json.loads(python(root, "-c", script))


@pytest.fixture(scope="module")
def cells(copy):
    return cell_keys(copy)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("change", [LAPLACE, ZCDP, ("lib/networks/intervals.py",)], ids=lambda change: change[0])
def test_cells_of_the_studies_that_use_what_has_changed_are_computed_again_and_no_others(copy, cells, loaded, change):
    with planted(copy, *change):
        changed = {study for study, key in cell_keys(copy).items() if key != cells[study]}
    assert changed == {study for study in cells if copy / change[0] in loaded[study]}
    assert {"notebooks/studies/network_comparison.py"} <= changed < set(cells)


@pytest.mark.full
def test_results_do_not_make_their_own_cells_out_of_date(copy, cells):
    with planted(copy, "book/results/sei2017/figure5.csv"):
        assert cell_keys(copy) == cells


@pytest.mark.slow
def test_a_change_reaches_code_that_was_compiled_with_it(copy):
    """numba alone would take the kept loops of `private_networks`, into which the old bounds are compiled."""
    script = """
import numpy as np
from lib.networks import private_networks as p
rng = np.random.default_rng(1)
start = p.Network.initial((3, 4, 2), rng=rng)
made = p.anonymized_learning(rng.random((6, 3)), [0, 1] * 3, start, epsilon=50.0, epochs=2, batch=3, rng=rng)
print(sum(p._epoch.stats.cache_hits.values()), made.network.parameters.tolist())
"""

    def train() -> tuple[bool, str]:
        """Whether compiled code was taken from the disk, and the network."""
        hits, network = python(copy, "-c", script).split(" ", 1)
        return hits == "1", network

    (kept, network), (kept_again, network_again) = train(), train()
    assert not kept and kept_again and network == network_again
    bounds = "biases_of(high, widths, last)[:] = 1\n"
    with planted(copy, "lib/networks/intervals.py", bounds, bounds.replace("1\n", "0.5\n")):
        assert train()[1] != network
    assert train()[1] == network


def test_code_compiled_from_older_modules_goes_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "_places", lambda: [tmp_path])
    folders = []
    for number in range(6):
        monkeypatch.setattr(compiled, "_state", lambda n=number: f"{n}" * 16)
        folders.append(compiled._folder.__wrapped__())
        (folders[-1] / "index").write_text("")
        os.utime(folders[-1], (1000 + number, 1000 + number))
    assert sorted(tmp_path.iterdir()) == folders[-compiled.KEPT :]


def test_where_nothing_can_be_written_code_is_compiled_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(compiled, "_places", lambda: [tmp_path / "file", tmp_path / "next"])
    assert compiled._folder.__wrapped__().parent == tmp_path / "next"
    monkeypatch.setattr(compiled, "_places", lambda: [tmp_path / "file"])
    assert compiled._folder.__wrapped__() is None
    monkeypatch.setattr(compiled, "_folder", lambda: None)
    assert compiled.compiled(_twice)(3) == 6


def _twice(x):
    return 2 * x


# ---- notebooks


def notebook_keys(root: Path) -> dict[str, str]:
    """By name, the keys that make goes by."""
    python(root, "notebooks/tools/keys.py", "build/keys", *NOTEBOOKS)
    folder = root / "build/keys"
    return {path.relative_to(folder).with_suffix("").as_posix(): path.read_text() for path in folder.rglob("*.key")}


@pytest.fixture(scope="module")
def before(copy):
    return notebook_keys(copy)


def wanted(root: Path, before: dict[str, str], kind="executed") -> set[str]:
    """The notebooks that have to run, as document/name."""
    after = notebook_keys(root)
    assert after.keys() == before.keys()
    return {name.removeprefix(f"{kind}/") for name in after if name.startswith(kind) and after[name] != before[name]}


def of(*documents: str) -> set[str]:
    return {name[len("notebooks/") : -len(".ipynb")] for name in NOTEBOOKS if name.split("/")[1] in documents}


# By kept result, the chapters whose code leads to it. (03_budget reads none of the three: its study imports those that do.)
AIM = {"miura2025/03_budget", "miura2025/04_beyond"}
NETWORKS = {"sei2017/02_figure5", "sei2017/03_beyond"}
READERS = {
    "hasegawa2015/beyond.csv": {"hasegawa2015/04_beyond"},
    "hasegawa2015/figure1.csv": {"hasegawa2015/03_figure1"},
    "hasegawa2015/rivals.csv": {"hasegawa2015/03_figure1"},
    "hasegawa2015/table1.csv": {"hasegawa2015/02_reconstruction"},
    "hasegawa2015/widths.csv": {"hasegawa2015/03_figure1"},
    "miura2025/ablation.csv": AIM,
    "miura2025/fits.csv": {"miura2025/04_beyond"},
    "miura2025/peers.csv": {"miura2025/04_beyond"},
    "miura2025/mutual_information.csv": AIM | {"miura2025/02_accuracy"},
    "miura2025/release_audits.csv": set(),
    "miura2025/scores.csv": AIM | {"miura2025/02_accuracy"},
    "sei2017/figure5.csv": NETWORKS,
    "sei2017/figure5_at_10.csv": NETWORKS,
    "sei2017/tuned.csv": NETWORKS,
    "classroom/evening.csv": set(),
    "claims-0.1.0.csv": set(),
    "claims.csv": set(),
    "faults.csv": set(),
    "papers.csv": set(),
}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(results.FOLDER.rglob("*.csv")), ids=lambda file: file.name)
def test_a_changed_result_runs_the_chapters_that_read_it(copy, before, file):
    name = file.relative_to(results.FOLDER).as_posix()
    with planted(copy, f"book/results/{name}"):
        assert wanted(copy, before) == wanted(copy, before, "papers") == READERS[name]


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "lib/networks").glob("[!_]*.py")))
def test_a_change_in_networks_runs_no_chapter_of_others(copy, before, name):
    with planted(copy, f"lib/networks/{name}"):
        changed = wanted(copy, before)
    assert changed and not changed & of("kiri2019", "miura2022", "miura2025")


@pytest.mark.full
def test_claims_run_the_chapters_of_their_document(copy, before):
    with planted(
        copy, "book/claims.yml", "- id: kiri2019.background.counts-betray\n", "- id: kiri2019.background.counts-tell\n"
    ):
        assert wanted(copy, before) == of("kiri2019")
    with planted(copy, "book/claims.yml", "# ===== kiri1701", "# ##### kiri1701"):
        assert wanted(copy, before) == set()


@pytest.mark.full
def test_full_settings_run_their_notebook_in_full_runs_alone(copy, before):
    with planted(copy, "notebooks/full.yml", "sei2017/02_figure5:\n", "sei2017/02_figure5:\n  batch: 3\n"):
        assert wanted(copy, before) == set() and wanted(copy, before, "papers") == {"sei2017/02_figure5"}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["notebooks/tools/run.py", "notebooks/tools/kept.py", "notebooks/tools/keys.py", "requirements.lock"]
)
def test_what_runs_notebooks_runs_all_again(copy, before, name):
    with planted(copy, name, *(["numpy==", "numpy==1"] if name.endswith("lock") else [])):
        assert wanted(copy, before) == {name[len("notebooks/") : -len(".ipynb")] for name in NOTEBOOKS}


@pytest.mark.full
def test_a_docstring_concerns_pages_alone(copy, before):
    with planted(copy, "lib/mechanisms/noise.py", '"""Samplers of', '"""All samplers of'):
        after = notebook_keys(copy)
    assert {name for name in after if after[name] != before[name]} == {"pages"}


@pytest.mark.full
def test_a_key_that_is_the_same_leaves_its_file_alone(copy, before):
    notebook_keys(copy)
    files = {path: path.stat().st_mtime_ns for path in (copy / "build/keys").rglob("*.key")}
    (copy / "lib/mechanisms/noise.py").touch()
    (copy / NOTEBOOKS[0]).touch()
    notebook_keys(copy)
    assert files == {path: path.stat().st_mtime_ns for path in files}


def test_code_that_cannot_be_read_is_named(copy):
    with planted(copy, "lib/mechanisms/noise.py", "def laplace(", "def laplace(("):
        done = subprocess.run(
            [sys.executable, "notebooks/tools/keys.py", "build/keys", *NOTEBOOKS],
            cwd=copy,
            env=plain(),
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1 and re.match(r".*lib/mechanisms/noise.py, line \d+: ", done.stderr)


def test_every_line_about_a_document_is_part_of_its_claims():
    text, ledger = (ROOT / keys.CLAIMS).read_text(encoding="utf-8"), claims.load()
    parts = {document: keys.claims_of(document, text) for document in ledger.documents}
    for document, part in parts.items():
        assert part.count("- id: ") == sum(claim.document == document for claim in ledger.claims.values())
        assert ledger.documents[document].title in part
    said = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert sum(len(part.splitlines()) for part in parts.values()) >= len(said) - 2  # documents: and claims:


@pytest.mark.slow
def test_finished_cells_of_an_interrupted_notebook_count_only_for_the_same_code(copy):
    chapters = ["notebooks/sei2017/02_figure5.ipynb", "notebooks/kiri2019/01_laplace.ipynb"]
    script = f"""
import nbformat
from notebooks.tools import kept
for name in {chapters!r}:
    content = nbformat.read(name, as_version=4)
    content.metadata["compendium"] = {{"notebook": name}}  # as `run.prepare` notes it
    print(kept.key(content))
content.cells[2].source += " # with other parameters, say"
print(kept.key(content))
"""
    first = python(copy, "-c", script).split()
    assert len({*first}) == 3
    with planted(copy, "lib/networks/intervals.py"):
        changed = [a != b for a, b in zip(first, python(copy, "-c", script).split(), strict=True)]
    assert changed == [True, False, False]


# ---- committed results


def marks(root: Path) -> dict[str, str]:
    """What the page of kept results says of each: made by the code of today, or not."""
    script = "import sys, json; sys.path.insert(0, 'book/_ext'); import kept_results; print(json.dumps({row[0]: row[3] for row in kept_results.rows()}))"
    return json.loads(python(root, "-c", script))


@pytest.mark.slow
def test_a_result_that_other_code_has_made_is_marked(copy):
    script = """
from book.kept import results
for name, module, code in (
    ("sei2017/figure5", "notebooks.studies.network_comparison", ""),
    ("claims", "make", results.PAPERS),
    ("papers", "make", results.PAPERS),
):
    path = results.FOLDER / f"{name}.csv"
    made = results.collect(module, [], data="real", settings={"seed": 1}, code=code)
    results.save(path, results.load(path), made | {"commit": "0123456789ab"})
"""
    old = marks(copy)
    names = ("sei2017/figure5.csv", "claims.csv", "papers.csv")
    kept = {name: (copy / f"book/results/{name}").read_bytes() for name in names}
    python(copy, "-c", script)
    today, earlier = "the code of today", "earlier code (commit 0123456789ab)"
    others = {name: mark for name, mark in old.items() if name not in kept}
    assert marks(copy) == others | dict.fromkeys(names, today)
    with planted(copy, "lib/networks/intervals.py"):
        assert marks(copy) == others | dict.fromkeys(names, earlier)
    with planted(copy, "lib/local/protocol.py"):  # chapters and attacks use it, the study of networks does not
        found, attacks = marks(copy), "miura2025/release_audits.csv"
        assert found.pop(attacks).startswith("earlier code") and others.pop(attacks)
        assert found == others | dict.fromkeys(names, earlier) | {"sei2017/figure5.csv": today}
    for name, text in kept.items():
        (copy / f"book/results/{name}").write_bytes(text)


# ---- what is told of notebooks elsewhere


def test_the_settings_of_tools_and_the_display_are_in_no_notebooks_key():
    runner = content_key.closure(*keys.RUNNER, root=ROOT, without=(*keys.SHARED, *keys.BESIDES))
    assert (
        not runner & {ROOT / "pyproject.toml", ROOT / "notebooks/tools/progress.py"}
        and ROOT / "notebooks/tools/kept.py" in runner
    )


def test_the_settings_of_the_processor_are_in_every_notebooks_key(tmp_path, monkeypatch):
    name = "kiri2019/01_laplace"
    said = set()
    for alike in ("OPENBLAS_CORETYPE=Nehalem", "OPENBLAS_CORETYPE=Haswell"):
        monkeypatch.setenv("ALIKE", alike)
        keys.write(tmp_path, [Path(f"notebooks/{name}.ipynb")])
        said.add((tmp_path / f"executed/{name}.key").read_text())
    assert len(said) == 2


def test_the_commit_below_figures_is_of_all_that_they_are_made_of():
    source = (ROOT / "book/_ext/figure_links.py").read_text(encoding="utf-8")
    made_from = ast.literal_eval(re.search(r"^MADE_FROM = (\(.*\))", source, flags=re.MULTILINE)[1])
    listed = subprocess.run(["git", "ls-files", "--", *made_from], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    covered = {ROOT / name for name in listed.stdout.splitlines()}
    for path in ROOT.glob("notebooks/*/[0-9]*.ipynb"):
        assert content_key.closure(path, root=ROOT) <= covered, path
    # What `make` looks at to know that pages are older than the commit they name.
    looked_at = re.search(r"(?m)^FIGURES_OF = -- (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"))[1]
    assert tuple(shlex.split(looked_at)) == made_from


@pytest.mark.full
def test_what_make_makes_changes_no_key(copy, before):
    """Else all would be stale as soon as it is made. The scorecard is named by the code that makes it, and by that of keys."""
    made = copy / "book/scorecard.md"
    made.unlink(missing_ok=True)
    bare = notebook_keys(copy)
    made.write_text("made\n", encoding="utf-8")
    link = copy / "book/notebooks"
    link.symlink_to("../build/executed")
    assert notebook_keys(copy) == bare == before
    link.unlink()
