"""What an edition in another language takes from the English one: pages made of docstrings, pictures, scripts, notebooks, data.

They are read and written once, for the English edition; the other lies in a folder of it, and its pages lead up there.
"""

import json
import pickle
import re
import shutil
from pathlib import Path

from book.editions import edition

PAGES = "reference/"
FOLDERS = ("_static", "_images", "_figures", "_sources", "_modules", "_downloads", "reference")
FILES = ("claims.json", "claims.csv", "claims.schema.json")
OWN = (
    "documentation_options.js",
    "translations.js",
    "words.js",
    "scorecard-words.js",
)  # of _static, in the edition's language
UP = re.compile(
    rf'(?P<before>\b(?:href|src|data-src|action)="(?:\.\./)*)'
    rf'(?=(?:{"|".join(FOLDERS)})/(?!{"|".join(map(re.escape, OWN))})|(?:{"|".join(map(re.escape, FILES))})")'
)


def lent(env) -> set[str]:
    return {page for page in env.found_docs if page.startswith(PAGES)}


def give_pages(app, env):
    """Sphinx has kept what it knows of all pages."""
    if edition.language == edition.SOURCE:
        edition.read.set()


def take_pages(app, env, pages):
    """The pages made of docstrings as the English edition has read them: their titles, and what links to them lead to."""
    if edition.language == edition.SOURCE:
        return
    with edition.environment.open("rb") as file:
        english = pickle.load(file)
    for page in lent(env):
        pages.remove(page)
        env.all_docs[page] = english.all_docs[page]
        kept = Path(app.doctreedir, f"{page}.doctree")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(edition.environment.parent / f"{page}.doctree", kept)
    for name in ("std", "py"):
        env.get_domain(name).merge_domaindata(lent(env), english.domaindata[name])
    app.emit("env-merge-info", env, lent(env), english)  # titles and contents
    env._viewcode_modules = {}  # no pages of code


def leave_pages(app, env):
    if edition.language != edition.SOURCE:
        env.project.docnames -= lent(env)  # or they would be written
        # there is no earlier index, and Sphinx would miss these pages in it.
        app.builder.load_indexer = lambda pages: None


def lead_up(app, error):
    """Leaves out what lies in the English edition, and leads there from the pages."""
    if error is not None or app.builder.format != "html" or edition.language == edition.SOURCE:
        return
    folder = Path(app.outdir)
    for page in folder.rglob("*.html"):
        page.write_text(UP.sub(r"\g<before>../", page.read_text(encoding="utf-8")), encoding="utf-8")
    _in_letters(folder / "searchindex.js")
    for name in set(FOLDERS) - {"_static"}:
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in sorted((folder / "_static").rglob("*"), reverse=True):
        if file.is_dir():
            file.rmdir()
        elif file.name not in OWN:
            file.unlink()


def _in_letters(index: Path) -> None:
    """The search's index with letters for their numbers: Sphinx writes six bytes for a letter of three."""
    call, _, rest = index.read_text(encoding="utf-8").partition("(")
    told = json.dumps(json.loads(rest.rstrip(")")), ensure_ascii=False, separators=(",", ":"))
    index.write_text(f"{call}({told})", encoding="utf-8")


def setup(app):
    app.connect("env-before-read-docs", take_pages)
    app.connect("env-updated", leave_pages)
    app.connect("env-check-consistency", give_pages)
    app.connect("build-finished", lead_up, priority=950)  # after light
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
