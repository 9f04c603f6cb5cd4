"""The evidence that chapters give for claims is computed in the chapter, and is not a constant that looks like a
computation."""

import ast
import builtins
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path for path in (ROOT / "notebooks").glob("*/*.ipynb") if "judge" in path.read_text("utf-8"))
PLAIN = set(dir(builtins))  # of literals alone these make nothing but other literals
WITHIN = PLAIN | {
    "np",
    "math",
    "Fraction",
    "evidence",
}  # and these too, where no name of the notebook stands beside them


def parsed(notebook: Path) -> ast.Module:
    """Return all code of a notebook as one tree."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ast.parse("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))


def names(expression: ast.AST) -> set[str]:
    """Return the names that an expression takes from outside of itself, but for a module's constants, `datasets.ADULT_COLUMNS`."""
    named = [node.value for node in ast.walk(expression) if isinstance(node, ast.Attribute) and node.attr.isupper()]
    inside = [node.target for node in ast.walk(expression) if isinstance(node, ast.comprehension)]
    bound = {name.id for target in inside for name in ast.walk(target) if isinstance(name, ast.Name)}
    bound |= {node.arg for node in ast.walk(expression) if isinstance(node, ast.arg)}
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name) and node not in named} - bound


def bindings(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """Return, for each name, what it is bound to anywhere in the notebook, with None where something else changes it."""
    found: dict[str, list] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)):
            value = node.iter if isinstance(node, ast.For) else node.value
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                plain = not any(isinstance(part, (ast.Subscript, ast.Attribute)) for part in ast.walk(target))
                for name in names(target):
                    found.setdefault(name, []).append(value if plain else None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # found.append(...)
            for name in names(node.value.func):
                found.setdefault(name, []).append(None)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(None)
    return found


def constants(tree: ast.AST) -> set[str]:
    """Return the names that hold nothing but what literals make."""
    imported = [
        each.asname or each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names
    ]
    bound, known = bindings(tree), PLAIN | {name for name in imported if name.isupper()}
    while True:
        more = {
            name
            for name, values in bound.items()
            if name not in known and all(value is not None and names(value) <= known for value in values)
        }
        if not more:
            return known
        known |= more


def evidence(tree: ast.AST):
    """Yield (claim, the expression given for it) for each call that judges; a mapping is looked up by its name."""
    bound = bindings(tree)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = ast.unparse(call.func)
        if function == "claims.check":
            yield call.args[0], call.args[1]
        elif function in ("judge", "claims.judge", "claims.check_all"):
            given = call.args[function == "claims.judge"]
            tables = bound.get(given.id, []) if isinstance(given, ast.Name) else [given]
            for table in tables:
                if isinstance(table, ast.Dict):
                    yield from zip(table.keys, table.values)
                elif isinstance(table, ast.DictComp):
                    yield table.key, table


def dressed(tree: ast.AST) -> list[str]:
    """Return the claims whose evidence no computation could change; that there is none, as for what is undetermined, is none."""
    known = constants(tree)
    return [
        f"{ast.unparse(claim) if claim else '**'}: {ast.unparse(given)}"
        for claim, given in evidence(tree)
        if (names(given) <= known or names(given) <= WITHIN)
        and not (isinstance(given, ast.Constant) and given.value is None)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_evidence_is_a_constant_dressed_as_a_computation(notebook):
    assert not dressed(parsed(notebook)), "such claims are read: judge read in the ledger, claims.read in the chapter"


@pytest.mark.slow
def test_every_chapter_that_judges_is_looked_into():
    judged = [claim for notebook in NOTEBOOKS for claim in evidence(parsed(notebook))]
    assert len(NOTEBOOKS) > 12 and len(judged) > 200


@pytest.mark.parametrize(
    "code",
    [
        'judge({"a": True})',
        'claims.judge("doc", {"a": "d x n" == "n x d"})',
        'claims.check("doc.a", 10 * 10 < 10**10)',
        'common = {s: min(30, 30 + s) for s in (1, -1)}\njudge({"a": [n == 30 for n in common.values()]})',
        'code = {"degree": 2}\nclaims.check("doc.a", code["degree"] == 2, reason="read in the code")',
        'claims.check("doc.a", bool(np.isclose(np.exp(-1 / 2), 0.6065)))',
        'found = {"doc.a": 3 > 2}\nclaims.check_all(found)',
        'judge({f"a.{name}": name in "abc" for name in ("a", "b")})',
        'found = {"a": check(1)}\nfound |= {"b": True}\njudge(found)',
        'near: float = 0.797\nclaims.check("doc.a", near > 0.7)',
        'judge({"a": [True, not False]})',
        'judge({"a": evidence.Difference(0.3, 0.1)})',
        'judge({"a": evidence.near(evidence.Difference(0.3, 0.0), 0.01)})',
        'judge({"a": len(datasets.ADULT_COLUMNS) - 1})',
        'ten, target = adult_design.EXPLANATORY, adult_design.TARGET\njudge({"a": len(ten)})',
        'from lib.data.datasets import ADULT_COLUMNS\njudge({"a": len(ADULT_COLUMNS)})',
    ],
)
def test_a_planted_constant_is_found(code):
    assert len(dressed(ast.parse(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        'claims.check("doc.a", None, undetermined="lost")',
        'value = accounting.rdp_to_dp(2, 1, 1e-5)\nclaims.check("doc.a", value < 3)',
        'held = []\nfor s in (1, -1):\n    held.append(check(s))\njudge({"a": held})',
        'held = {}\nheld["a"] = check(1)\njudge({"a": held["a"]})',
        'rates = (0.1, 1.0)\njudge({"a": all(np.exp(rate) < 1.05 * (1 + rate) for rate in rates)})',  # arithmetic
        'def f(x):\n    return x\njudge({"a": f(1) == 1})',
        'runs = trial(3)\njudge({"a": evidence.between(runs, runs)})',
        'judge({"a": datasets.adult("all").shape[1]})',
    ],
)
def test_what_is_computed_is_let_pass(code):
    assert not dressed(ast.parse(code))
