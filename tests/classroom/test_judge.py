"""The parts of grading: plain data, the sandbox, the part of `lib` that is shipped, messages, and an instructor's
variants and tests."""

import ast
import importlib
import itertools
import json
import math
import os
import socket
import struct
import subprocess
import time

import numpy as np
import pytest

from notebooks.assignments import (
    assignment,
    confinement,
    grade,
    judge,
    make_assignments,
    overview,
    plain,
    shipped,
    submissions,
    tables,
)

NAMES = assignment.names()


# ---- plain data

VALUES = [None, True, 0, -(10**30), 1.5, math.inf, "text", [1, [2.0, "x"]], (1, 2), {"a": 1, 2: (3,), ("b", 1): [4]}, np.arange(6).reshape(2, 3),
          np.array([True, False]), np.float32([1.5]), np.zeros((0, 3)), np.array(2.5)]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_is_sent_arrives(value):
    found = plain.decode(json.loads(json.dumps(plain.encode(value))))
    assert type(found) is type(value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype and found.shape == value.shape
        assert np.array_equal(found, value)
    else:
        assert found == value


def test_a_generator_arrives_with_its_state():
    rng = np.random.default_rng(3)
    rng.random(7)
    assert plain.decode(plain.encode(rng)).random() == np.random.default_rng(3).random(8)[-1]


@pytest.mark.parametrize("message", [
    {}, [], {"value": 1}, ["object", "x"], [1, 2], ["function", 0], ["array", "|O8", [1], "AAAAAAAAAAA="], ["array", "<f8", [10**12], ""],
    ["array", "<f8", [-1], ""], ["array", "<f8", [2], "AAAAAAAAAAA="], ["array", "<f8", 1, ""], ["array", "<V8", [1], "AAAAAAAAAAA="],
    ["array", ["<f8"], [1], "AAAAAAAAAAA="], ["array", "<f8", [1] * 40, "AAAAAAAAAAA="], ["dict", [["list"], 1]], ["dict", [1]], ["rng", "{}"],
    ["rng", json.dumps({"bit_generator": "PCG64"})], ["rng", json.dumps({"bit_generator": "MT19937"})], ["rng", 1], ["list", {}],
])  # fmt: skip
def test_what_is_no_plain_data_is_refused(message):
    with pytest.raises(ValueError, match="not plain data"):
        plain.decode(message)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.array([object()]), len, np.array([1j]), iter([1])],
    ids=lambda value: type(value).__name__,
)
def test_what_has_methods_of_its_own_is_not_sent(value):
    with pytest.raises(ValueError, match="only numbers, texts"):
        plain.encode(value)


def test_a_subclass_is_sent_as_what_it_holds():
    class Everything(float):
        __eq__ = __lt__ = __gt__ = lambda *_: True
        __hash__ = float.__hash__

    found = plain.decode(plain.encode(Everything(2)))
    assert type(found) is float and found != 3


def test_numbers_of_more_digits_are_sent_with_those_of_a_float():
    for value in (np.longdouble(1) / 3, np.full((2, 1), np.longdouble(1) / 3)):
        found = plain.decode(plain.encode(value))
        assert np.shape(found) == np.shape(value) and np.all(found == 1 / 3)


@pytest.mark.parametrize(("value", "empty"), [([], True), (np.zeros((0, 1)), True), ({"a": ()}, True), ([[1], []], True), ([0], False), (0, False), ("", False)])  # fmt: skip
def test_what_is_empty_is_known(value, empty):
    assert plain.is_empty(value) is empty


def test_an_empty_answer_would_be_close_to_everything():
    assert np.allclose(np.zeros((0, 1)), (1.0, 2.0)), "else it need not be refused"


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "error"), [
    (struct.pack(">Q", 2**40), ValueError), (struct.pack(">Q", 100) + b"{", TimeoutError), (struct.pack(">Q", 2) + b"x}", ValueError), (b"", TimeoutError),
])  # fmt: skip
def test_a_line_waits_and_holds_no_more_than_it_may(sent, error):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        with pytest.raises(error):
            plain.Line(ours).receive(time.monotonic() + 0.2)


# ---- walls

SEEN = """
import json, os, socket, sys
found = {"written": [], "uid": os.getuid(), "processes": len([each for each in os.listdir("/proc") if each.isdigit()])}
for place in ("/", "/usr", "/class", "/etc", "/dev", "/proc/sys/kernel", sys.prefix, REPOSITORY, "/var/tmp"):
    try:
        open(os.path.join(place, "x"), "w")
        found["written"].append(place)
    except OSError:
        pass
found["namespaces"] = os.system("unshare -Urm true 2>/dev/null") == 0
found["repository"] = os.path.exists(os.path.join(REPOSITORY, "notebooks"))
found["readable"] = [*os.listdir("/usr"), *os.listdir(sys.prefix), *os.listdir(sys.base_prefix)]
try:
    socket.create_connection(("127.0.0.1", PORT), timeout=3)
    found["network"] = True
except OSError:
    found["network"] = False
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", confinement.WAYS[:2])
def test_within_the_walls_there_is_nothing_of_ours(way, tmp_path):
    if confinement.way() == "none" or not confinement._works(way):
        pytest.skip(f"{way} does not work here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"REPOSITORY, PORT = {str(assignment.ROOT)!r}, {server.getsockname()[1]}\n{SEEN}"
        done = subprocess.run(
            confinement.command(way, tmp_path, ["-c", code]), env=confinement.environment(way), capture_output=True, text=True
        )  # fmt: skip
    found = json.loads(done.stdout)
    assert not found["namespaces"] or (way == "namespaces" and os.geteuid() == 0)
    assert found["written"] == [] and not found["repository"] and not found["network"] and found["processes"] <= 6, (
        found
    )
    assert set(found["readable"]) <= {*confinement.PARTS, "pyvenv.cfg", "share"}, (
        "a repository may lie in /usr/src, too"
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", confinement.WAYS[:2])
def test_within_the_walls_are_the_packages_of_this_python_wherever_they_are(way, tmp_path, monkeypatch):
    """Debian's Python has packages in /usr/local, where nothing else is needed."""
    if confinement.way() == "none" or not confinement._works(way):
        pytest.skip(f"{way} does not work here")
    packages = tmp_path / "local/lib/python3/dist-packages"
    packages.mkdir(parents=True)
    (packages / "there.py").touch()
    monkeypatch.setattr(confinement.site, "getsitepackages", lambda: [str(packages)])
    code = "import there, numpy, sys; print(numpy.__file__, there.__file__)"
    asked = confinement.command(way, tmp_path, ["-c", code])
    done = subprocess.run(
        asked, env=confinement.environment(way, PYTHONPATH=str(packages)), capture_output=True, text=True
    )
    assert done.stdout.split()[1:] == [str(packages / "there.py")], done.stderr


@pytest.mark.slow
@pytest.mark.skipif(confinement.way() == "none", reason="nothing confines a process here")
def test_a_class_is_not_graded_where_a_student_could_read_solutions_or_neighbours(tmp_path, monkeypatch):
    system, folder = tmp_path / "usr/lib", tmp_path / "elsewhere"
    for top in (system, folder):
        (top / "repository/notebooks").mkdir(parents=True)
        (top / "class/ann").mkdir(parents=True)
        (top / "copy/dp_compendium/mechanisms").mkdir(parents=True)
        (top / "marks.csv").touch()
    (tmp_path / "link").symlink_to(system)
    monkeypatch.setattr(confinement, "SYSTEM", (*confinement.SYSTEM, str(tmp_path / "link")))
    outside = [folder / "class", folder / "marks.csv"]
    confinement.check(outside)
    for seen in (system / "class", system / "marks.csv", tmp_path / "link/marks.csv"):
        with pytest.raises(ValueError, match=f"^students' code could read {seen}: move it out of"):
            confinement.check([*outside, seen])
    with monkeypatch.context() as moved:
        moved.setattr(confinement, "ROOT", system / "repository")
        with pytest.raises(ValueError, match=f"^students' code could read {system}/repository: move it out of"):
            confinement.check(outside)
    before = confinement.environment
    monkeypatch.setattr(confinement, "environment", lambda way: before(way, PYTHONPATH=str(tmp_path / "link/copy")))
    with pytest.raises(ValueError, match=f"the compendium is installed in {tmp_path}/link/copy/dp_compendium"):
        confinement.check(outside)


@pytest.mark.slow
@pytest.mark.parametrize("way", confinement.WAYS[:2])
@pytest.mark.skipif(os.geteuid() != 0, reason="each runs in a namespace of users of its own")
def test_whoever_runs_beside_another_has_a_limit_of_his_own(way, tmp_path):
    """The limit on processes counts those of a user: two at a time must be two users."""
    if not confinement._works(way):
        pytest.skip(f"{way} does not work here")
    code = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Uid')])"
    found = [subprocess.run(confinement.command(way, tmp_path, ["-c", code], number), env=confinement.environment(way), capture_output=True, text=True)
             for number in range(2)]  # fmt: skip
    assert [done.stdout for done in found] == ["['65534']\n", "['65533']\n"]


@pytest.mark.slow
def test_boxes_at_the_same_time_have_numbers_of_their_own(tmp_path, monkeypatch):
    for student in ("ann", "bob", "zoe"):
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "laplace.ipynb").write_text("")
    found = submissions.collect(tmp_path / "class", {name: assignment.key(name) for name in NAMES})
    taken = tmp_path / "taken"

    def noted(group, course, folder, number):
        with taken.open("a") as stream:
            stream.write(f"{group[0][0].student} {number}\n")
        time.sleep(0.5 if group[0][0].student == "ann" else 0)

    monkeypatch.setattr(grade, "_grade_student", noted)
    grade.grade_all(found, grade.Course({}, "default", judge.Limits(), None, tmp_path / "records"), 2)
    assert sorted(taken.read_text().split("\n")[:3]) == ["ann 0", "bob 1", "zoe 1"]


def test_where_no_wall_works_it_is_said(monkeypatch):
    monkeypatch.setattr(confinement, "command", lambda *_: ["false"])
    assert confinement.way.__wrapped__() == "none"
    assert "UNCONFINED" in confinement.SAID["none"]


@pytest.mark.full
def test_one_process_serves_one_notebook_after_another(cases, box):
    """The processes that a notebook leaves are ended, but not the process that it was forked from."""
    box.start()
    before, homes = box.process.pid, []
    for _ in range(2):
        with box.notebook() as line:
            notebook = judge.Notebook(line, cases["gaussian_records"], judge.Limits(), time.monotonic() + 60)
            shown = notebook.run(LEAVES)["outputs"]
            homes.append(shown[0]["text"] if shown else "")
    assert box.process.pid == before and box.process.poll() is None
    assert homes == ["['d', 'kept']\n1\n"] * 2, "files and processes of the first are gone"


SOCKETS = """
import ctypes, socket
made = []
for kind in range(64):
    try:
        socket.socket(kind, socket.SOCK_RAW if kind == 16 else socket.SOCK_STREAM).close()
        made.append(kind)
    except OSError:
        pass
print(made, ctypes.CDLL(None).syscall(425, 4, ctypes.create_string_buffer(120)))
"""


@pytest.mark.slow
@pytest.mark.skipif(confinement.way() == "none", reason="nothing confines a process here")
def test_a_notebook_makes_no_socket_that_a_network_namespace_does_not_confine(cases, box):
    with box.notebook() as line:
        notebook = judge.Notebook(line, cases["gaussian_records"], judge.Limits(), time.monotonic() + 60)
        [shown] = notebook.run(SOCKETS)["outputs"]
    made, ring = shown["text"].rsplit(" ", 1)
    assert {*json.loads(made)} <= {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6} and socket.AF_UNIX in json.loads(
        made
    )
    assert int(ring) == -1


LEAVES = """
import os
open("kept", "w").close()
home = os.getcwd()
for _ in range(1500):  # deeper than Python follows
    os.mkdir("d")
    os.chdir("d")
os.chdir(home)
if not os.fork():
    os.setsid()
    os.execvp("sleep", ["sleep", "97531"])
import time
time.sleep(0.5)
lines = [open(f"/proc/{pid}/cmdline").read() for pid in os.listdir("/proc") if pid.isdigit()]
print(sorted(name for name in os.listdir() if not name.startswith(".")))
print(sum("97531" in line for line in lines))
"""


# ---- what goes out of lib


def shipped_functions(case):
    """Return {name: how it is imported} of every function and class that goes out with an assignment."""
    found = {}
    for path, content in shipped.files(case.released).items():
        if path.endswith(".py") and not path.endswith("__init__.py"):
            module = path[:-3].replace("/", ".")
            for statement in ast.parse(content).body:
                if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    found[f"{module}.{statement.name}"] = f"from {module} import {statement.name}"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_package_that_goes_out_earns_no_point_by_itself(cases, name):
    """Every function that goes out is put in the place of every function that is asked for. It is our code, so it is judged here."""
    case = cases[name]
    earned = {}
    for title, statement in shipped_functions(case).items():
        space: dict = {}
        exec(statement, space)
        function = space[title.rpartition(".")[2]]
        for cell in case.key.cells:
            if assignment.kind(cell) == "test":
                source = dict(case.given) | {"replacing": None} | dict.fromkeys(case.asked, function)
                try:
                    exec(cell.source, source)
                except BaseException:  # noqa: S112  (that is what is wanted)
                    continue
                earned[title] = cell.id
    assert earned == {}


@pytest.mark.slow
def test_the_check_of_what_goes_out_finds_an_answer(cases):
    """If the whole of `lib` were in the zip, the check would fail."""
    case = cases["gaussian_records"]
    renyi = importlib.import_module("lib.accounting.divergence").renyi_gaussian
    space = dict(case.given) | {"renyi": lambda a, v, b, w, alpha: renyi([a], [[v]], [b], [[w]], alpha)}
    [test] = [cell for cell in case.key.cells if cell.id == "gaussian-test-variances"]
    exec(test.source, space)
    assert not any(
        "renyi_gaussian" in content.decode()
        for path, content in shipped.files(case.released).items()
        if path.endswith(".py")
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_goes_out_is_enough_for_the_given_cells(cases, box, name):
    case = cases[name]
    with box.notebook() as line:
        notebook = judge.Notebook(line, case, judge.Limits(), time.monotonic() + 100)
        for cell in case.released.cells:
            if assignment.kind(cell) == "given" and not case.asked.keys() & assignment.loaded(cell):
                assert notebook.run(cell.source)["error"] is None, cell.id


# ---- messages


@pytest.mark.parametrize("name", NAMES)
def test_every_assertion_says_what_was_expected(name):
    for cell in assignment.key(name).cells:
        if assignment.kind(cell) == "test":
            asserts = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Assert)]
            assert asserts and all(node.msg is not None for node in asserts), cell.id


@pytest.mark.slow
def test_a_syntax_error_is_told_in_its_words(cases, box):
    case = cases["gaussian_records"]
    cells = [{"ident": cell.id, "type": cell.cell_type, "source": cell.source} for cell in case.released.cells]
    [broken] = [cell for cell in cells if cell["ident"] == "gaussian-renyi"]
    broken["source"] = "def renyi(mu1, v1:\n    return 0"
    found = judge.grade(submissions.Submission("s", "f", case.name, "default", cells), case, box, judge.Limits())
    [note] = [question["note"] for question in found["questions"] if question["id"] == "gaussian-test-means"]
    assert note.startswith("renyi is not defined, because its cell stopped: SyntaxError in line 1: ")
    assert found["questions"][0]["part"] == "1. Two Gaussians"


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply", [{"error": "a\nzoe: laplace: 22 of 22\r\x1b[2J\u2028b\u200bc"}, {"value": "c\nzoe: laplace: 22 of 22"}]
)
def test_what_a_student_says_stays_on_its_line(cases, monkeypatch, reply):
    """The student's process may answer anything."""
    monkeypatch.setattr(judge.Notebook, "_ask", lambda *_: reply | {"outputs": []})
    ours, theirs = socket.socketpair()
    with ours, theirs:
        notebook = judge.Notebook(plain.Line(ours), cases["gaussian_records"], judge.Limits(), time.monotonic() + 60)
        told = [
            notebook.run("x")["error"],
            judge.run_test("assert renyi(0) == 1, f'got {renyi(0)}'", notebook, cases["gaussian_records"], {})["error"],
            judge.run_test("float(renyi(0))", notebook, cases["gaussian_records"], {})["error"],
        ]
    assert any(each and "zoe: laplace" in each for each in told)
    assert not [each for each in told if each and not each.isprintable()]


@pytest.mark.slow
def test_a_call_that_is_stopped_while_the_judge_is_asked_leaves_the_next_answer_in_its_place(cases, box, monkeypatch):
    monkeypatch.setattr(judge, "MANY_CALLS", 3)
    with box.notebook() as line:
        notebook = judge.Notebook(line, cases["gaussian_records"], judge.Limits(), time.monotonic() + 60)
        notebook.run("def endless(f):\n    while True: f(1)\ndef seven(): return 7")
        with pytest.raises(judge.Wrong, match=r"^stopped: .* with \d+ calls of a function of the test.*arrays"):
            notebook.call("endless", (lambda x: time.sleep(0.2),), {}, time.monotonic() + 1)
        assert notebook.call("seven", (), {}, time.monotonic() + 5) == 7


def test_the_page_of_the_class_shows_failures_and_similar_pairs():
    question = {"id": "t", "by_hand": False, "points": 0.0, "out_of": 2.0, "note": "too <small>", "part": ""}
    code = "\n".join(f"value_{number} = {number} * epsilon + other[{number}]" for number in range(30))
    plan = [{"kind": "solution", "shown": code, "type": "code"}]
    renamed = [
        {
            "kind": "solution",
            "shown": code.replace("value", "wert").replace("other", "andere") + "  # mine",
            "type": "code",
        }
    ]
    records = [{"student": student, "assignment": "a", "walls": "none", "questions": [question], "plan": each}
               for student, each in (("ann", plan), ("bob", renamed), ("zoe", []))]  # fmt: skip
    keys = {"a": assignment.key("laplace")}
    page = overview.page(records, ["x.html", "y.html", "z.html"], keys)
    assert "100% alike: ann, bob" in page and "zoe" not in page
    assert "too &lt;small&gt;" in page and "UNCONFINED" in page

    # A copy that has gone round the class is no less of a copy, and an unsolved notebook is none.
    unsolved = [{"kind": "solution", "shown": overview._given(keys["a"]), "type": "code"}]
    records = [
        records[0] | {"student": str(number), "plan": each} for number, each in enumerate([plan] * 3 + [unsolved] * 3)
    ]
    page = overview.page(records, ["x.html"] * 6, keys)
    assert [pair for pair in itertools.combinations("012345", 2) if "% alike: {}, {}<".format(*pair) in page] == [
        ("0", "1"),
        ("0", "2"),
        ("1", "2"),
    ]


# ---- variants of students, tests of one's own


def test_two_students_get_numbers_of_their_own_and_the_same_ones_each_time():
    secret = b"0123456789abcdef"
    ann, bob = (make_assignments.variant_of(student, secret) for student in ("ann", "bob"))
    assert ann == make_assignments.variant_of("ann", secret) != bob
    assert make_assignments.variant_of("ann", b"another secret, as long") != ann
    for name in NAMES:
        one, other = assignment.constants(name, ann), assignment.constants(name, bob)
        assert one["seed"] != other["seed"] and sum(one[key] != other[key] for key in one) >= len(one) / 2


@pytest.mark.full  # of one variant beside another, test_assignments has two cases in `make test`
def test_one_student_s_numbers_earn_nothing_as_another_s(tmp_path, box):
    """The functions are right, but the numbers that are asked for were computed with a neighbour's constants."""
    rows = [
        {"student": student, "variant": make_assignments.variant_of(student, b"0123456789abcdef")}
        for student in ("ann", "bob")
    ]
    tables.table(tmp_path / "variants.csv", rows)
    variants = tables.variants(tmp_path / "variants.csv")
    lost = set()
    for name in NAMES:
        own, other = (assignment.prepare(name, variants[student]) for student in ("ann", "bob"))
        cells = [{"ident": cell.id, "type": cell.cell_type, "source": cell.source} for cell in own.key.cells]
        for ident in {asked.cell for asked in own.asked.values() if not asked.function}:
            [cell] = [cell for cell in cells if cell["ident"] == ident]
            [constants] = [cell.source for cell in other.key.cells if cell.id == "parameters"]
            setup = "\n".join(
                each.source
                for each in other.key.cells
                if assignment.kind(each) == "given" and each.id.endswith("setup")
            )
            cell["source"] = f"{constants}\n{setup}\n{cell['source']}"
        found = judge.grade(submissions.Submission("ann", "f", name, "", cells), own, box, judge.Limits())
        if any(question["points"] == 0 for question in found["questions"]):
            lost.add(name)
    assert lost >= set(NAMES) - {"pk_anonymity"}, lost


@pytest.mark.full
def test_each_student_gets_a_zip_and_a_line_in_the_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "names.txt").write_text("ann\nbob\n")
    monkeypatch.setattr(assignment, "names", lambda: ["laplace"])
    command = [
        "make",
        "--students",
        tmp_path / "names.txt",
        "--secret",
        tmp_path / "secret.txt",
        "-o",
        tmp_path / "out",
    ]
    monkeypatch.setattr(make_assignments.sys, "argv", list(map(str, command)))
    assert make_assignments.main() == 0, capsys.readouterr().err
    variants = tables.variants(tmp_path / "out/variants.csv")
    secret = (tmp_path / "secret.txt").read_bytes()
    assert variants == {student: make_assignments.variant_of(student, secret) for student in ("ann", "bob")}
    zips = [(tmp_path / "out" / student / "laplace.zip").read_bytes() for student in ("ann", "bob")]
    assert zips[0] != zips[1]
    assert (tmp_path / "secret.txt").stat().st_mode & 0o077 == 0

    # Whoever comes later, with a name that a spreadsheet would take for a formula, is added.
    (tmp_path / "names.txt").write_text("=zoe\n")
    assert make_assignments.main() == 0
    assert tables.variants(tmp_path / "out/variants.csv") == variants | {
        "=zoe": make_assignments.variant_of("=zoe", secret)
    }

    (tmp_path / "names.txt").write_text("../ann\n")
    assert make_assignments.main() == 2 and "STUDENTS must contain one name per line" in capsys.readouterr().err


def test_hidden_tests_of_one_s_own_are_added(tmp_path):
    (tmp_path / "laplace.py").write_text("# %% laplace-test-weeks\nassert sensitivities(3, 5)[3] == 15, 'mine'\n")
    case = assignment.prepare("laplace", bank=tmp_path)
    [test] = [cell for cell in case.key.cells if cell.id == "laplace-test-weeks"]
    assert "'mine'" in test.source and "'mine'" not in json.dumps(case.released)
    (tmp_path / "laplace.py").write_text("# %% laplace-test-nothing\nassert True, ''\n")
    with pytest.raises(ValueError, match="there is no test 'laplace-test-nothing'"):
        assignment.prepare("laplace", bank=tmp_path)
    (tmp_path / "laplace.py").write_text("# %% laplace-test-weeks\nassert (True\n")
    with pytest.raises(ValueError, match="laplace.py: line .* below laplace-test-weeks is not valid Python: "):
        assignment.prepare("laplace", bank=tmp_path)
