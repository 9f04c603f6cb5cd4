"""The scripts of the explorers and of the calculator, on the pages that have one; and a link from each chapter that has a bound.

Which chapters have a bound is read from their code: one that imports from the modules behind a question of the calculator, below.
"""

import ast
import json
from pathlib import Path

from docutils import nodes
from sphinx.util.fileutil import copy_asset

from book.editions import edition
from book.editions.edition import say

SCRIPTS = Path(__file__).resolve().parents[1] / "_scripts"
FORMULAS = ("say", "numbers", "accounting", "fourier", "gaussian_synthesis", "local", "dp_sgd", "budget", "risk")
PAGES = ("drawing", "questions", "explorers", "calculator")
SCORECARD = SCRIPTS.parent / "_static/scorecard.js"
WORDS = {
    "words.js": SCRIPTS,
    "scorecard-words.js": SCORECARD,
}  # in `_static`, the translations of what these scripts say
FILES = [f"{name}.js" for name in (*FORMULAS, *PAGES)]
"""In the order in which they are to be read."""

# The questions of _scripts/questions.js, and the modules of `lib` behind them.
QUESTIONS = {
    "synthesis": {"lib.gaussian_synthesis"},
    "composition": {"lib.accounting", "lib.mechanisms"},
    "local": {"lib.local"},
    "aim": {"lib.tables.adaptive_iterative"},
    "sgd": {"lib.networks.dp_sgd", "lib.accounting.sampled_gaussian"},
}


def titles() -> dict[str, str]:
    told = say("Gaussian synthesis"), say("many releases"), say("local protocols"), say("AIM's budget"), say("DP-SGD")
    return dict(zip(QUESTIONS, told))


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
    return [name for name, modules in QUESTIONS.items() if modules & imported(code)]


def add_link(app, doctree):
    path = Path(app.env.doc2path(app.env.docname))
    title = next(doctree.findall(nodes.title), None)
    if path.suffix == ".ipynb" and title is not None and (names := questions(path)):
        title.parent.insert(title.parent.index(title) + 1, link(app.env.docname, names))


def link(docname: str, names: list[str]) -> nodes.paragraph:
    """ "With your own numbers in the calculator: ...", one link a question."""
    line = nodes.paragraph("", say("With your own numbers, in the calculator: "), classes=["calculator-link"])
    up = "../" * docname.count("/")
    for position, name in enumerate(names):
        text = titles()[name]
        line += [
            nodes.Text(say(", ") if position else ""),
            nodes.reference(text, text, refuri=f"{up}calculator.html#{name}"),
        ]
    return line


def add_scripts(app, page, template, context, doctree):
    if 'class="explorer"' in context.get("body", "") or 'class="calculator"' in context.get("body", ""):
        files, words = FILES, "words.js"
    elif 'class="scorecard-filter"' in context.get("body", ""):
        files, words = ["say.js"], "scorecard-words.js"
    else:
        return
    if edition.language != edition.SOURCE:
        app.add_js_file(words, loading_method="defer")
    for name in files:
        app.add_js_file(f"formulas/{name}", loading_method="defer")


def copy_scripts(app, error):
    if error is None and app.builder.format == "html":
        for name in FILES:
            copy_asset(SCRIPTS / name, Path(app.outdir, "_static", "formulas"))
        for name, scripts in WORDS.items() if edition.language != edition.SOURCE else ():
            said = json.dumps(edition.words(scripts), ensure_ascii=False, indent=1)
            Path(app.outdir, "_static", name).write_text(f"globalThis.WORDS = {said};\n", encoding="utf-8")


def setup(app):
    app.connect("doctree-read", add_link)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
