"""Dependencies of computed results: changes are planted, and every result of the changed code must be made again.

First the rules, on simulated trees. Then, in a scratch copy of the repository, a change for each kind of thing that is
kept: cells of studies, compiled code, executed notebooks, finished cells of an interrupted notebook, committed results.
"""

import ast
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml

from book.figures import plotted
from book.kept import content_key, results
from book.ledger import claims
from lib.networks import compiled
from notebooks.tools import kept, keys
from tests.house.test_house import plain

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").glob("*/*.ipynb"))
STUDIES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks/studies").glob("[!_]*.py"))


@pytest.fixture(scope="module", autouse=True)
def parsed_once():
    """The same text is parsed once for all tests, although content keys forget the files that they have read."""
    parse, parsed = content_key._module.__wrapped__, {}

    def module(path, top):
        said = path, top, Path(path).read_bytes()
        if said not in parsed:
            parsed[said] = parse(path, top)
        return parsed[said]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content_key, "_module", cache(module))
        yield


# ---- the rules, on made-up trees


@pytest.fixture
def tree(tmp_path):
    """Return a function that makes the files of a tree, by their names, and leads to it."""

    def make(files: dict[str, str], name="tree") -> Path:
        for file, text in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / name

    return make


def notebook(*sources: str, outputs=(), metadata=None) -> str:
    each = {"cell_type": "code", "metadata": metadata or {}, "outputs": list(outputs), "execution_count": 1}
    cells = [each | {"source": source} for source in sources]
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
    "p/__init__.py": "", "p/own.csv": "1", "p/sub/far.csv": "2", "notes/deep/a.csv": "3", "notes/b.csv": "4",
    "up.yml": "5", "p/x.py": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("start", "code", "found"),
    [
        ("p/code.py", "open(HERE / 'own.csv')", {"p/__init__.py", "p/own.csv"}),
        ("p/code.py", "open('sub/far.csv')", {"p/__init__.py", "p/sub/far.csv"}),
        ("p/code.py", "open('notes/deep/a.csv')", {"p/__init__.py", "notes/deep/a.csv"}),
        ("code.py", "import p; p.read('own.csv')", {"p/__init__.py", "p/own.csv"}),
        ("code.py", "open('own.csv')", {"p/own.csv"}),  # whatever folder it is looked for in
        ("code.py", "open('wn.csv')", set()),
        ("code.py", "(HERE / 'notes').glob('*')", {"notes/deep/a.csv", "notes/b.csv"}),
        ("code.py", "open(HERE / 'up.yml')", {"up.yml"}),
        ("code.py", "print('see up.yml')", set()),
        ("code.py", "open('gone.csv')", set()),
    ],
)
def test_a_text_that_is_the_name_of_a_file_or_a_folder_counts(tree, start, code, found):
    assert names(tree(DATA | {start: code}), start) == found | {start}


def test_a_file_of_code_that_a_text_names_is_followed(tree):
    """The text names the file as a program is started by its path, from the root or beside the code."""
    root = tree({
        "run.py": "import subprocess\nsubprocess.run(['python', 'tools/go.py'])\n",
        "tools/go.py": "NEXT = 'last.ipynb'\nGONE = 'none.py'\n",
        "tools/last.ipynb": notebook("import m"),
        "m.py": "",
    })  # fmt: skip
    assert names(root, "run.py") == {"run.py", "tools/go.py", "tools/last.ipynb", "m.py"}


def test_what_is_left_out_leads_nowhere(tree):
    root = tree(
        PACKAGE | {"start.py": "import p.r, other\nprint('data.csv')", "data.csv": "", "p/r/three.py": "import p.q.one"}
    )
    whole = names(root, "start.py")
    assert whole == FACE | AROUND | {"start.py", "other.py", "data.csv", "p/q/one.py"}
    assert names(root, "start.py", without=["p/r"]) == {"start.py", "other.py", "data.csv", "p/__init__.py"}
    assert names(root, "start.py", without=["data.csv"]) == whole - {"data.csv"}
    assert names(root, "data.csv", without=["data.csv"]) == {"data.csv"}  # asked for by name


def test_of_a_command_what_reads_its_results_is_left_out(tree):
    code = "import m\nALL = 3\ndef made(): return m.f(ALL)\ndef read(): return m.g()\n"
    study = code + "if __name__ == '__main__':\n    made()\n"
    root = tree({"study.py": study, "plain.py": code, "m.py": "def f(x): pass\ndef g(): pass\n"})
    found = {
        start: set(content_key.definitions(start, root=root, as_commands=True).values())
        for start in ("study.py", "plain.py")
    }
    assert found == {"study.py": {"study", "ALL", "made", "f"}, "plain.py": {"ALL", "made", "f", "read", "g"}}
    assert {"read", "g"} <= set(content_key.definitions("study.py", root=root).values())


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
    one, two = (content_key.key("x.py", root=tree({"x.py": text}, name)) for name, text in (("a", CODE), ("b", code)))
    assert one == two


@pytest.mark.parametrize("code", OTHER)
def test_everything_else_counts(tree, code):
    one, two = (content_key.key("x.py", root=tree({"x.py": text}, name)) for name, text in (("a", CODE), ("b", code)))
    assert one != two


def test_what_errors_say_counts_for_chapters_and_not_for_kept_results(tree):
    code = "def f(x):\n    if x < 0:\n        raise ValueError(f'x must be {x!r}')\n    return 'kept'\n"
    changes = {
        "said": code.replace("must be", "has to be"),
        "longer": code.replace(
            "f'x must be {x!r}'", "\n            'x must be at least 0, '\n            f'got {x!r}'\n        "
        ),
        "error": code.replace("ValueError", "TypeError"),
        "result": code.replace("'kept'", "'other'"),
    }
    root = tree({"x.py": code} | {f"{name}.py": text for name, text in changes.items()})
    for kind, same in ((content_key.key, set()), (content_key.definitions, {"said", "longer"})):
        found = {name: kind(f"{name}.py", root=root) for name in ("x", *changes)}
        assert {name for name in changes if found[name] == found["x"]} == same


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


USED = {
    "p/__init__.py": "from .one import f\n",
    "p/one.py": "import math\nfrom . import two\nA = 1\nB = 2\n\ndef f(x: C):\n    return A + two.g() + math.pi\n\nclass C:\n    D = 1\n",
    "p/two.py": "from .three import known\n\ndef g():\n    return 1\n\ndef unused():\n    return 2\n\n@known\ndef found():\n    return 3\n",
    "p/three.py": "ALL = []\n\ndef known(f):\n    ALL.append(f)\n    return f\n\nLAST = 1\nFIRST = known(LAST)\n",
    "p/late.py": "HERE = 'own.csv'\n",
    "p/own.csv": "1\n",
    "typed.py": "if TYPE_CHECKING:\n    import p.two\n",
    "large.py": "if sys.maxsize > 2**32:\n    import p.two\n",
    "start.py": "from p import f\n\nf()\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "name", "old", "new", "counts"),
    [
        ("", "p/one.py", "A = 1", "A = 3", True),
        ("", "p/one.py", "B = 2", "B = 3", False),
        ("", "p/one.py", "D = 1", "D = 2", False),  # of an annotation
        ("", "p/one.py", "import math", "import cmath as math", True),
        ("", "p/two.py", "return 1", "return 5", True),
        ("", "p/two.py", "return 2", "return 5", False),
        ("", "p/two.py", "return 3", "return 5", True),  # decorated by code of the repository, which may keep it
        ("", "p/two.py", "@known", "@cache", True),
        ("", "p/three.py", "ALL.append(f)", "ALL.insert(0, f)", True),
        ("", "p/three.py", "LAST = 1", "LAST = 2", True),  # called with at the import
        ("", "p/three.py", "LAST = 1", "LAST = 1\nNEXT = 1", False),
        ("", "p/three.py", "LAST = 1", "LAST = 1\nprint()", True),
        ("", "p/__init__.py", "import f", "import C, f", False),
        ("", "p/__init__.py", ".one import f", ".two import g as f", True),
        ("", "p/__init__.py", ".one import f\n", ".one import f\nfrom . import late\n", False),
        ("import p.two\nprint(p.two)\n", "p/two.py", "return 2", "return 5", True),
        ("import p.two\np.two.g()\n", "p/two.py", "return 2", "return 5", False),
        ("from p import two\ntwo.new()\n", "p/two.py", "return 2", "return 5", True),
        ("from p.two import *\n", "p/two.py", "return 2", "return 5", True),
        ("def main():\n    from p.two import unused as u\n    u()\n", "p/two.py", "return 2", "return 5", True),
        ("__import__('p.two')\n", "p/two.py", "return 2", "return 5", True),
        ("print('p.two.g')\n", "p/two.py", "return 2", "return 5", False),
        ("import p.late\n", "p/own.csv", "1", "2", False),
        ("import typed\n", "p/two.py", "return 3", "return 5", False),
        ("import large\n", "p/two.py", "return 3", "return 5", True),
        ("import p.late\np.late.HERE\n", "p/own.csv", "1", "2", True),
        ("from p import two\nclass K:\n    two: int = 1\nK()\ntwo.g()\n", "p/two.py", "return 2", "return 5", False),
        ("from p import two\ndef f():\n    global two\n    two += 1\nf()\n", "p/two.py", "return 2", "return 5", True),
    ],
)  # fmt: skip
def test_a_definition_counts_where_it_is_used(tree, start, name, old, new, counts):
    files = USED | ({"start.py": start} if start else {})
    assert files[name].count(old) == 1
    keys = {
        content_key.key("start.py", root=tree(files | {name: files[name].replace(old, to)}, to)) for to in (old, new)
    }
    assert len(keys) == 1 + counts


def test_where_a_definition_lies_does_not_count_but_what_a_name_stands_for_does(tree):
    one = {"a.py": "def f():\n    return g()\n\ndef g():\n    return 1\n", "start.py": "from a import f\nf()\n"}
    moved = {"a.py": "from b.c import g\n\ndef f():\n    return g()\n", "b/c.py": "def g():\n    return 1\n"}
    assert content_key.key("start.py", root=tree(one, "one")) == content_key.key(
        "start.py", root=tree(one | moved, "two")
    )
    two = {"a.py": "def f():\n    return 1\n", "b.py": "def f():\n    return 2\n"}
    starts = [
        "from a import f as a\nfrom b import f as b\na() - b()\n",
        "from a import f as b\nfrom b import f as a\na() - b()\n",
    ]
    assert len({content_key.key("start.py", root=tree(two | {"start.py": start}, start[:20])) for start in starts}) == 2


def test_what_is_of_no_package_counts_by_its_content_and_its_name(tree):
    root = tree({"a.csv": "1", "b/a.csv": "1", "b.csv": "1", "b/b.csv": "2"})
    assert content_key.key("a.csv", root=root) == content_key.key("b/a.csv", root=root)
    assert len({content_key.key(name, root=root) for name in ("a.csv", "b.csv", "b/b.csv")}) == 3


def test_the_names_of_what_counts(tree):
    root = tree(USED | {"n.ipynb": notebook("from p import f\nf()", "'own.csv'")})
    found = content_key.definitions("n.ipynb", root=root)
    assert sorted(found.values()) == ["A", "ALL", "FIRST", "LAST", "f", "found", "g", "known", "n.ipynb", "own.csv"]
    prose = notebook("from p import f\nf()", "'own.csv'").replace(
        '"cells": [', '"cells": [{"cell_type": "markdown", "source": "new"}, '
    )
    assert content_key.definitions("n.ipynb", root=tree({"n.ipynb": prose})).keys() <= found.keys()


def test_of_the_ledger_comments_statements_and_rules_do_not_count_as_content(tree):
    claim = "- id: a.b\n  statement: One\n    line.\n  printed: '1'\n  judge: statement\n  rule: 'If\n    so.'\n  readings:\n    wide: 'x'\n"

    def found(old="", new="", name="book/claims.yml"):
        root = tree(
            {"n.py": f"open('{name}')\n", name: "# Head.\nclaims:\n" + claim.replace(old, new, 1)}, f"{old}{new}{name}"
        )
        return content_key.definitions("n.py", root=root).keys()

    assert found() == found("line.", "row.") == found("so.", "not.") == found("One", "Two")
    for old, new in [("a.b", "a.c"), ("'1'", "'2'"), ("wide", "flat"), ("judge: statement", "judge: proof")]:
        assert found() != found(old, new)
    assert found(name="claims2.yml") != found("line.", "row.", name="claims2.yml")


def test_the_key_is_the_same_whatever_python(tree):
    """Worked out with Python 3.11, 3.12 and 3.13."""
    root = tree(
        {
            "x.py": CODE + "f'{C.y!r:>{3}} \\N{BULLET}'\n",
            "a.py": "async def f():\n    'text'\n    await g()\n",
            "n.ipynb": notebook("import x\nx.f(x.C)", "'d.csv'"),
            "d.csv": "1\n",
        }
    )
    assert content_key.key("n.ipynb", root=root) == "3067b99c36f6a338fbb489a53cccf552b907ef8e2adcf0c674d7eb5a62d1bc68"


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
    """Return the outputs of one type in an executed notebook."""
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


# What tests/notebooks/noting/sitecustomize.py has noted. .ci/digits runs every notebook that it compares, and wants a note of each.
RAN = {
    path.relative_to(ROOT / "build/ran").with_suffix("").as_posix(): path for path in ROOT.glob("build/ran/**/*.txt")
}
NOTED = "EVERY_CALL_NOTED" in os.environ and sys.version_info >= (3, 12)


@pytest.mark.full
@pytest.mark.skipif(
    not (RAN or NOTED), reason=".ci/digits notes, on Python 3.12 or later, which functions notebooks call"
)
def test_every_function_that_ran_in_a_notebook_is_in_its_key():
    """A guard for calls that no name in the code tells of."""
    executed = {f"notebooks/{path.parent.name}/{path.stem}" for path in ROOT.glob("build/executed/*/*.ipynb")}
    assert not NOTED or executed == RAN.keys()
    for name, path in RAN.items():
        found = content_key._found((f"{name}.ipynb", *keys.RUNNER), ROOT, keys.SHARED)
        ran = {tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()}
        assert len({file for file, _ in ran}) > 5
        missing = [f"{file}:{line}" for file, line in sorted(ran) if not found & set(_around(file, int(line)))]
        assert not missing, name


def _around(file: str, line: int) -> list[tuple[str, int]]:
    """Return the statement that the `line` of a module is in, as content keys number it by the name that it defines."""
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        first = min(part.lineno for part in (node, *getattr(node, "decorator_list", ())))
        if first <= line <= node.end_lineno:
            names = content_key._defined(node) or [
                name for part in ast.walk(node) for name in content_key._defined(part)
            ]
            return [
                (file, number) for name in names for number in content_key._module(file, str(ROOT)).binds.get(name, ())
            ]
    return []


@pytest.mark.parametrize("name", executed())
def test_a_notebook_judges_the_claims_of_its_own_document_alone(name):
    """The claims of other documents may change, and the notebook does not run again."""
    records = [record for held in outputs(name, claims.MIME) for record in (held if isinstance(held, list) else [held])]
    assert {record["document"] for record in records} <= {Path(name).parent.name, "compendium"}


# ---- changes planted in a scratch copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return the repository, but what is built."""
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
    """Apply one `change` (the old text and the new) to the file `name`; without one, add a last line."""
    path = root / name
    before = path.read_bytes()
    text = before.decode()
    if change:
        assert text.count(change[0]) == 1, f"{name} no longer says {change[0]!r}"
    path.write_text(text.replace(*change) if change else text + "1\n", encoding="utf-8")
    read_again(code=path.suffix in (".py", ".ipynb"))
    try:
        yield
    finally:
        path.write_bytes(before)
        read_again(code=path.suffix in (".py", ".ipynb"))


def read_again(code: bool = True) -> None:
    """Have content keys, in this process, forget the files that they have read: data alone, or everything."""
    for each in (
        [value for value in vars(content_key).values() if hasattr(value, "cache_clear")]
        if code
        else [content_key.content]
    ):
        each.cache_clear()


def python(root: Path, *arguments: str, **more: str) -> str:
    """Return what a new Python process prints, in `root`."""
    env = plain() | {"PYTHONPATH": str(root)} | more
    done = subprocess.run([sys.executable, *arguments], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


LAPLACE = ("lib/mechanisms/noise.py", "return generator(rng).laplace(", "return 2 * generator(rng).laplace(")
ZCDP = ("lib/accounting/conversions.py", "rho + 2 * np.sqrt(rho)", "rho + 3 * np.sqrt(rho)")
BOUNDS = (
    "lib/networks/intervals.py",
    "biases_of(high, widths, last)[:] = 1\n",
    "biases_of(high, widths, last)[:] = 0.5\n",
)
EXPORT = (
    "lib/tables/__init__.py",
    "from .adaptive_iterative import aim ",
    "from .adaptive_iterative import Step, aim ",
)
NEW_NAME = ("lib/networks/intervals.py", "def change_bounds(", "UNUSED = 1\n\n\ndef change_bounds(")
RUNNERS = [
    ("notebooks/tools/run.py", "coalesce_streams=True", "coalesce_streams=False"),
    ("notebooks/tools/kept.py", "SPARED = 2.0", "SPARED = 3.0"),
    ("notebooks/tools/keys.py", "def key(notebook: Path) -> str:", "def key(notebook: Path, more=1) -> str:"),
    ("requirements.lock", "numpy==", "numpy==1"),
]


@pytest.mark.parametrize(("name", "line", "changed"), [LAPLACE, ZCDP, BOUNDS, EXPORT, NEW_NAME, *RUNNERS])
def test_lines_that_slow_tests_change_stand_in_the_code(name, line, changed):
    assert (ROOT / name).read_text(encoding="utf-8").count(line) == 1


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_every_module_that_an_import_loads_is_in_the_closure(copy, study):
    """The files of the repository that an import loads, as Python itself says."""
    script = f"""
import importlib, sys
importlib.import_module("{study[:-3].replace("/", ".")}")
print(*(getattr(module, "__file__", None) or "" for module in sys.modules.values()), sep="\\t")
"""
    loaded = {path for path in map(Path, python(copy, "-c", script).strip().split("\t")) if path.is_relative_to(copy)}
    assert copy / study in loaded <= content_key.closure(study, root=copy)


def cell_keys(root: Path) -> dict[str, str]:
    """Return, by study, the code that names the files of its kept cells (`grid.code`)."""
    return {
        study: content_key.key(study, root=root, without=(root / "book/results").rglob("*.csv")) for study in STUDIES
    }


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "some", "others"),
    [
        (LAPLACE, {"aim_comparison", "network_comparison"}, {"kernel_widths", "interval_looseness"}),
        (ZCDP, {"aim_trace", "network_comparison"}, {"anonymization_comparison", "kernel_widths"}),
        (BOUNDS, {"network_comparison", "network_tuning"}, {"anonymization_comparison", "aim_ablation", "aim_trace"}),
        (("book/results/sei2017/figure5.csv",), set(), {Path(study).stem for study in STUDIES}),
    ],
    ids=["noise", "conversions", "intervals", "results"],
)
def test_cells_of_the_studies_that_use_what_has_changed_are_computed_again_and_no_others(copy, change, some, others):
    cells = cell_keys(copy)
    with planted(copy, *change):
        changed = {Path(study).stem for study, key in cell_keys(copy).items() if key != cells[study]}
    assert some <= changed and not others & changed


@pytest.mark.full
def test_a_cell_is_kept_under_the_key_of_its_study(copy):
    script = """
from notebooks.studies import grid, network_tuning
print(grid.code(network_tuning.run), grid._files(network_tuning.run, [1], ["a"], "cells")[0].name)
"""
    key, name = python(copy, "-c", script).split()
    assert key == cell_keys(copy)["notebooks/studies/network_tuning.py"]
    with planted(copy, *BOUNDS):
        assert name not in python(copy, "-c", script)


@pytest.mark.full
def test_a_change_reaches_code_that_was_compiled_with_it(copy):
    """numba alone would take the kept `rectified`, into which the old `_relu` of another file is compiled."""
    caller = copy / "lib/networks/caller.py"
    caller.write_text("""
from .backpropagation import _relu
from .compiled import compiled

@compiled
def rectified(x, b):
    _relu(x, b)
    return x
""")
    script = """
import numpy as np
from lib.networks.caller import rectified
print(rectified(np.ones((1, 1)), np.ones(1))[0, 0], sum(rectified.stats.cache_hits.values()))
"""
    with planted(copy, "lib/networks/backpropagation.py", "zero if value <= 0 else value", "value + 1"):
        assert python(copy, "-c", script).split() == ["3.0", "0"]
    assert python(copy, "-c", script).split() == ["2.0", "0"]
    assert python(copy, "-c", script).split() == ["2.0", "1"]  # from the disk
    caller.unlink()


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
    """Return the keys that make uses, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "ROOT", root)
        return keys.today([Path(name) for name in NOTEBOOKS], ["en"])


@pytest.fixture(scope="module")
def before(copy):
    return notebook_keys(copy)


def wanted(root: Path, before: dict[str, str], kind="executed") -> set[str]:
    """Return the notebooks that have to run, as document/name."""
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
    "hasegawa2015/setups.csv": {"hasegawa2015/03_figure1"},
    "hasegawa2015/table1.csv": {"hasegawa2015/02_reconstruction"},
    "hasegawa2015/widths.csv": {"hasegawa2015/03_figure1"},
    "miura2025/ablation.csv": AIM,
    "miura2025/classifiers.csv": {"miura2025/06_stages"},
    "miura2025/fits.csv": {"miura2025/04_beyond"},
    "miura2025/peers.csv": {"miura2025/04_beyond", "miura2025/06_stages"},
    "miura2025/mutual_information.csv": AIM | {"miura2025/02_accuracy", "miura2025/05_details"},
    "miura2025/release_audits.csv": set(),
    "miura2025/residual_audits.csv": set(),
    "miura2025/scores.csv": AIM | {"miura2025/02_accuracy", "miura2025/05_details"},
    "miura2025/staged_ablation.csv": {"miura2025/06_stages"},
    "miura2025/staged_triples.csv": {"miura2025/06_stages"},
    "miura2025/staged_tables.csv": {"miura2025/06_stages"},
    "sei2017/figure5.csv": NETWORKS,
    "sei2017/figure5_at_10.csv": NETWORKS,
    "sei2017/tuned.csv": NETWORKS,
    "classroom/evening.csv": set(),
    "yours/public.csv": set(),
    "yours/public_staged.csv": set(),
    "yours/tools.csv": set(),
    "claims-0.1.0.csv": set(),
    "claims.csv": set(),
    "faults.csv": set(),
    "papers.csv": set(),
}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(READERS, key=lambda name: -len(READERS[name])))  # first one that chapters read
def test_a_changed_result_runs_the_chapters_that_read_it(copy, before, name):
    with planted(copy, f"book/results/{name}"):
        assert wanted(copy, before) == wanted(copy, before, "papers") == READERS[name]


def test_the_readers_of_every_kept_result_are_listed():
    assert {file.relative_to(results.FOLDER).as_posix() for file in results.FOLDER.rglob("*.csv")} == {*READERS}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "chapters"),
    [
        (BOUNDS, {"sei2017/01_theory", "sei2017/02_figure5", "sei2017/03_beyond"}),
        (EXPORT, set()),
        (NEW_NAME, set()),
    ],
    ids=["a body", "an export", "a new name"],
)
def test_a_change_runs_the_chapters_that_use_it(copy, before, change, chapters):
    with planted(copy, *change):
        assert wanted(copy, before) == wanted(copy, before, "papers") == chapters


@pytest.mark.slow
def test_few_chapters_run_again_after_a_public_function_of_lib_changes():
    """The median over all of them, by what the keys are of."""
    used = [content_key.definitions(name, without=keys.SHARED) for name in NOTEBOOKS]
    counts = []
    for path in sorted((ROOT / "lib").rglob("*.py")):
        own = content_key.definitions(path)
        public = {
            node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
        }
        counts += [
            sum(said in found for found in used) for said, name in own.items() if name in public and name[0] != "_"
        ]
    assert len(counts) > 250 and statistics.median(counts) <= 3


@pytest.mark.full
def test_claims_run_the_chapters_of_their_document(copy, before):
    with planted(
        copy, "book/claims.yml", "- id: kiri2019.background.counts-betray\n", "- id: kiri2019.background.counts-tell\n"
    ):
        assert wanted(copy, before) == of("kiri2019")
    with planted(copy, "book/claims.yml", "# ===== kiri1701", "# ##### kiri1701"):
        assert wanted(copy, before) == set()
    rule = re.search(r"  rule: &.*'Reproduced if ", (ROOT / keys.CLAIMS).read_text(encoding="utf-8"))[0]
    with planted(copy, "book/claims.yml", rule, rule + "today "):
        after = notebook_keys(copy)
    assert {name for name in after if after[name] != before[name]} == {"claims", "scorecard", "html"}


@pytest.mark.full
def test_full_settings_run_their_notebook_in_full_runs_alone(copy, before):
    with planted(copy, "notebooks/full.yml", "sei2017/02_figure5:\n", "sei2017/02_figure5:\n  batch: 3\n"):
        assert wanted(copy, before) == set() and wanted(copy, before, "papers") == {"sei2017/02_figure5"}


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("change", RUNNERS, ids=lambda change: change[0])
def test_what_runs_notebooks_runs_all_again(copy, before, change):
    with planted(copy, *change):
        assert wanted(copy, before) == {name[len("notebooks/") : -len(".ipynb")] for name in NOTEBOOKS}


@pytest.mark.full
def test_a_docstring_concerns_pages_alone(copy, before):
    with planted(copy, "lib/mechanisms/noise.py", '"""Define samplers of', '"""All samplers of'):
        after = notebook_keys(copy)
    assert {name for name in after if after[name] != before[name]} == {"html"}


@pytest.mark.slow
def test_code_that_cannot_be_read_is_named(copy):
    with planted(copy, "lib/mechanisms/noise.py", "def laplace(", "def laplace(("):
        words = [sys.executable, "notebooks/tools/keys.py", *NOTEBOOKS, "--", "en"]
        done = subprocess.run(words, cwd=copy, env=plain(), capture_output=True, text=True)
    assert done.returncode == 1 and re.match(r".*lib/mechanisms/noise.py, line \d+: ", done.stderr)


@pytest.mark.slow
def test_every_line_about_a_document_is_part_of_its_claims():
    text, ledger = (ROOT / keys.CLAIMS).read_text(encoding="utf-8"), claims.load()
    parts = {document: keys.claims_of(document, text) for document in ledger.documents}
    for document, part in parts.items():
        assert part.count("- id: ") == sum(document in id.split(".")[:2] for id in ledger.all)
        assert ledger.documents[document].title in part
    for name in yaml.safe_load(text)["interpretations"]:
        assert [document for document, part in parts.items() if f"  {name}:\n" in part] == [name.partition("-")[0]]
    said = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert sum(len(part.splitlines()) for part in parts.values()) >= len(said) - 2  # documents: and claims:


@pytest.mark.slow
def test_finished_cells_of_an_interrupted_notebook_count_only_for_the_same_code(copy, monkeypatch):
    def found():
        for name in ("notebooks/sei2017/02_figure5.ipynb", "notebooks/kiri2019/01_laplace.ipynb"):
            content = nbformat.read(copy / name, as_version=4)
            content.metadata["compendium"] = {"notebook": name}  # as `run.prepare` notes it
            yield kept.key(content)
        content.cells[2].source += " # with other parameters, say"
        yield kept.key(content)

    for module in (keys, kept):
        monkeypatch.setattr(module, "ROOT", copy)
    first = [*found()]
    assert len({*first}) == 3
    with planted(copy, *BOUNDS):
        assert [a != b for a, b in zip(first, found(), strict=True)] == [True, False, False]


# ---- committed results


def marks(root: Path, between: str = "") -> list[dict[str, str]]:
    """Return, for each kept result, whether its page says that today's code made it: before and after what is done `between`.

    The planted faults are left out: they have hundreds of keys, one a row.
    """
    told = """
import json
from book._ext.tables import kept_results
from book.kept import results
results.stale = lambda row: False
print(json.dumps({row[0]: row[3] for row in kept_results()}))
"""
    script = f"{told}\n{between}\n{told}" if between else told
    return [json.loads(line) for line in python(root, "-c", script).splitlines()]


@pytest.mark.slow
def test_a_result_that_other_code_has_made_is_marked(copy):
    script = """
from book.kept import content_key, results
for name, module, code in (
    ("sei2017/figure5", "notebooks.studies.network_comparison", ""),
    ("claims", "make", results.PAPERS),
    ("papers", "make", results.PAPERS),
):
    path = results.FOLDER / f"{name}.csv"
    made = results.collect(module, [], data="real", settings={"seed": 1}, code=code)
    results.save(path, results.load(path), made | {"commit": "0123456789ab"})
    for each in (content_key.content, content_key._unsaid, results._used):
        each.cache_clear()  # as in a new process
"""
    names = ("sei2017/figure5.csv", "claims.csv", "papers.csv")
    files = [copy / "book/results" / each for name in names for each in (name, name.replace(".csv", ".key"))]
    kept = {file: file.read_bytes() for file in files}
    old, found = marks(copy, between=script)
    unread = old.keys() - {*names, "faults.csv"}  # chapters made the last, and they read what this test writes
    assert [found[name] for name in names] == ["current code"] * 3
    assert [found[name] for name in unread] == [old[name] for name in unread]
    with planted(copy, *BOUNDS), planted(copy, *LAPLACE):
        [found] = marks(copy)
    assert {found[name] for name in names} == {"earlier code; changed since: `fill_change_bounds, laplace`"}
    assert found["hasegawa2015/table1.csv"] == old["hasegawa2015/table1.csv"]
    for file, text in kept.items():
        file.write_bytes(text)


# ---- what is told of notebooks elsewhere


def test_the_settings_of_tools_and_the_display_are_in_no_notebooks_key():
    runner = content_key.closure(*keys.RUNNER, root=ROOT, without=(*keys.SHARED, *keys.BESIDES))
    assert (
        not runner & {ROOT / "pyproject.toml", ROOT / "notebooks/tools/progress.py"}
        and ROOT / "notebooks/tools/kept.py" in runner
    )


@pytest.mark.slow
def test_the_settings_of_the_processor_are_in_every_notebooks_key(monkeypatch):
    name = "kiri2019/01_laplace"
    said = set()
    for alike in ("OPENBLAS_CORETYPE=Nehalem", "OPENBLAS_CORETYPE=Haswell"):
        monkeypatch.setenv("ALIKE", alike)
        said.add(keys.today([Path(f"notebooks/{name}.ipynb")], ["en"])[f"executed/{name}"])
    assert len(said) == 2


@pytest.mark.slow
def test_the_commit_below_figures_is_of_all_that_they_are_made_of():
    listed = subprocess.run(["git", "ls-files", "--", *results.FIGURES], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    covered = {ROOT / name for name in listed.stdout.splitlines()}
    for path in ROOT.glob("notebooks/*/[0-9]*.ipynb"):
        assert content_key.closure(path, root=ROOT) <= covered, path


@pytest.mark.full
def test_what_make_makes_changes_no_key(copy, before):
    """Otherwise everything would be stale as soon as it is made. The scorecard is named by the code that makes it, and by that of keys."""
    made = copy / "book/scorecard.md"
    made.unlink(missing_ok=True)
    bare = notebook_keys(copy)
    made.write_text("made\n", encoding="utf-8")
    link = copy / "book/notebooks"
    link.symlink_to("../build/executed")
    assert notebook_keys(copy) == bare == before
    link.unlink()
