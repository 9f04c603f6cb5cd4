"""The scripts of the explorers and of the calculator, on the pages that have one; and a link from each chapter that has a bound.

Which chapters have a bound is read from their code: one that imports from the modules behind a question of the calculator, below.
"""

import ast
import json
from pathlib import Path

from docutils import nodes
from sphinx.util.fileutil import copy_asset

SCRIPTS = Path(__file__).resolve().parents[1] / "_scripts"
FORMULAS = ("numbers", "accounting", "fourier", "gaussian_synthesis", "local", "dp_sgd", "budget", "risk")
PAGES = ("drawing", "questions", "explorers", "calculator")
FILES = [f"{name}.js" for name in (*FORMULAS, *PAGES)]
"""In the order in which they are to be read."""

# The questions of _scripts/questions.js: their titles, and the modules of `lib` behind them.
QUESTIONS = {
    "synthesis": ("Gaussian synthesis", {"lib.gaussian_synthesis"}),
    "composition": ("many releases", {"lib.accounting", "lib.mechanisms"}),
    "local": ("local protocols", {"lib.local"}),
    "aim": ("AIM's budget", {"lib.tables.adaptive_iterative"}),
    "sgd": ("DP-SGD", {"lib.networks.dp_sgd", "lib.accounting.sampled_gaussian"}),
}


def imported(code: str) -> set[str]:
    """The modules and names that `code` imports, and all that they lie in: lib.local.GRR, lib.local, lib."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found | {name.rsplit(".", parts)[0] for name in found for parts in range(1, name.count(".") + 1)}


def questions(notebook: Path) -> list[str]:
    """Of which questions of the calculator a chapter has the functions."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return [name for name, (_, modules) in QUESTIONS.items() if modules & imported(code)]


def add_link(app, doctree):
    path = Path(app.env.doc2path(app.env.docname))
    title = next(doctree.findall(nodes.title), None)
    if path.suffix == ".ipynb" and title is not None and (names := questions(path)):
        title.parent.insert(title.parent.index(title) + 1, link(app.env.docname, names))


def link(docname: str, names: list[str]) -> nodes.paragraph:
    """ "With your own numbers in the calculator: ...", one link a question."""
    line = nodes.paragraph("", "With your own numbers, in the calculator: ", classes=["calculator-link"])
    up = "../" * docname.count("/")
    for position, name in enumerate(names):
        text = QUESTIONS[name][0]
        line += [
            nodes.Text(", " if position else ""),
            nodes.reference(text, text, refuri=f"{up}calculator.html#{name}"),
        ]
    return line


def add_scripts(app, page, template, context, doctree):
    if 'class="explorer"' in context.get("body", "") or 'class="calculator"' in context.get("body", ""):
        for name in FILES:
            app.add_js_file(f"formulas/{name}", loading_method="defer")


def copy_scripts(app, error):
    if error is None and app.builder.format == "html":
        for name in FILES:
            copy_asset(SCRIPTS / name, Path(app.outdir, "_static", "formulas"))


def setup(app):
    app.connect("doctree-read", add_link)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
