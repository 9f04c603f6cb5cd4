"""Under each figure: its notebook, parameters, data and commit, a click each, and the figure as SVG and as CSV.

The executed notebook holds both files (`book.figures.plotted`); they are written into `_figures/` of the built book, the CSV
under lines that say where it comes from, as `book.kept.results` writes and reads them, the SVG with the same as its
description. The notebooks that readers download are relieved of them.

Notebook and commit link into the repository that `_config.yml` names (`repository: url`). While it names none, the
notebook is the one that the book ships, and the commit stands in the folded line on how the page was made.
"""

import html
import json
import os
import shutil
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.util import logging

from book.editions import edition
from book.editions.edition import say
from book.kept import results
from book.ledger import claims
from lib.data import datasets

ROOT = Path(__file__).resolve().parents[2]
MIME = "application/vnd.compendium.figure+json"  # book.figures.plotted.MIME; a build need not import matplotlib
FOLDER = "_figures"
REAL = {"adult": "Adult", "bank": "Bank Marketing"}
HOW_MADE = "how-made"  # the folded line at the end of the page's opening

log = logging.getLogger(__name__)


# ---------------------------------------------------------------- what is known of a figure


def figures(notebook: dict):
    """(name, caption, cell number, record) of each displayed figure that has a name; the record None if it lacks downloads."""
    for cell in notebook["cells"]:
        known = cell["metadata"].get("mystnb", {}).get("figure", {})
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}) and "name" in known:
                yield known["name"], known.get("caption", ""), cell["execution_count"], output["data"].get(MIME)


def stand_ins() -> dict[str, str]:
    return {"adult.csv.gz": say("Adult stand-in"), "bank.csv.gz": say("Bank stand-in")}


def sources(read: list[str]) -> list[tuple[str, str]]:
    """(name, place in the book) of the data among the files that were `read`; a full run's file by its path."""
    found = []
    for name in read:
        path = PurePosixPath(Path(os.path.relpath(name, ROOT) if os.path.isabs(name) else name).as_posix())
        if path.name in stand_ins():
            found.append((stand_ins()[path.name], "data.html#embedded-stand-ins"))
        elif path.name in datasets.SOURCES:
            found.append((REAL[datasets.SOURCES[path.name].dataset], "data.html"))
        elif str(path).startswith("book/results/"):
            found.append((say("full run ({file})", file=path.name), f"{FOLDER}/{path.relative_to('book')}"))
    return sorted(set(found))


def provenance(name: str, caption: str, run: dict, cell: int, data: list, version: str) -> dict[str, str]:
    """Where a figure comes from, line by line; `run` is what notebooks/tools/run.py noted of the notebook."""
    key = run["notebook"].split("/")[1]
    document = claims.load().documents.get(key)
    return {
        "figure": name,
        "caption": caption,
        "document": f"{document.cited}, {document.title}" if document else key,
        "notebook": f"{run['notebook']}, cell {cell}",
        "parameters": ", ".join(f"{name} {value}" for name, value in run["parameters"].items()) or "none",
        "data": ", ".join(known for known, _ in data) or "no file",
        "licence": "CC BY 4.0",
        "commit": version or "unknown",
    }


# ---------------------------------------------------------------- the files


def write_files(folder: Path, name: str, made: dict[str, str], record: dict) -> None:
    """<name>.svg and <name>.csv in `folder`, both with the provenance `made`."""
    head = "".join(f"# {key}: {' '.join(str(value).split())}\n" for key, value in (made | record["notes"]).items())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.csv").write_text(head + record["csv"], encoding="utf-8", newline="\n")
    start, drawn = record["svg"].split("<svg ", 1)
    tag, drawn = drawn.split(">", 1)
    told = "\n".join(f"{key}: {value}" for key, value in made.items())
    described = f"<title>{html.escape(made['caption'] or name)}</title>\n<desc>{html.escape(told)}</desc>"
    (folder / f"{name}.svg").write_text(f"{start}<svg {tag}>\n{described}{drawn}", encoding="utf-8", newline="\n")


def line(
    name: str, cell: int, data: list, to_root: str, place: str, notebook: str, version: str, repository: str
) -> str:
    """The links, as HTML; `to_root` leads from the page to the book, `place` from there to the files without their ends."""

    def link(address, text, label, attributes=""):
        return f'<a href="{html.escape(address)}" aria-label="{html.escape(label)}"{attributes}>{html.escape(text)}</a>'

    hash, _, changed = version.partition(" ")
    source = f"{repository}/blob/{hash}/{notebook}" if repository and hash else f"{to_root}_sources/{notebook}"
    parts = [
        link(
            source,
            say("notebook, cell {cell}", cell=cell),
            say("Notebook, cell {cell}, of figure {name}", cell=cell, name=name),
        ),
        link(f"#{HOW_MADE}", say("parameters"), say("Parameters of figure {name}", name=name)),
    ]
    known = [
        link(to_root + address, text, say("Data of figure {name}: {data}", name=name, data=text))
        for text, address in data
    ]
    parts.append(say("data read: {data}", data=say(", ").join(known)) if known else say("no data read"))
    if hash:
        text = say("commit {hash}", hash=f"{hash[:7]}{'+' if changed else ''}")
        address = f"{repository}/commit/{hash}" if repository else f"#{HOW_MADE}"
        parts.append(link(address, text, say("{commit} of figure {name}", commit=text, name=name)))
    parts += [
        link(
            f"{to_root}{place}.{kind}",
            kind.upper(),
            say("Download figure {name} as {kind}", name=name, kind=kind.upper()),
            " download",
        )
        for kind in ("svg", "csv")
    ]
    return f'<p class="figure-links">{" · ".join(parts)}</p>'


# ---------------------------------------------------------------- in the build


def add_links(app, doctree):
    """For each figure of a notebook's page its two files and its line of links."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    notebook = json.loads(path.read_text(encoding="utf-8"))
    run = notebook["metadata"].get("compendium")
    if run is None:
        return
    version = app.compendium_commit
    repository = (app.config.html_theme_options.get("repository_url") or "").rstrip("/")
    _mark_how_made(doctree, version, repository)
    nodes_by_name = {name: node for node in doctree.findall(nodes.figure) for name in node["names"]}
    to_root = "../" * app.env.docname.count("/")
    folder = f"{FOLDER}/{app.env.docname.removeprefix('notebooks/')}"
    for name, caption, cell, record in figures(notebook):
        if record is None:
            log.warning(
                "no downloads of %s: delete build/executed/%s and run make again",
                name,
                run["notebook"].removeprefix("notebooks/"),
                location=app.env.docname,
            )
            continue
        data = sources(record["read"])
        if edition.language == edition.SOURCE:  # the files are the same in all
            write_files(Path(app.outdir, folder), name, provenance(name, caption, run, cell, data, version), record)
            _copy_results(Path(app.outdir), data)
        text = line(name, cell, data, to_root, f"{folder}/{name}", run["notebook"], version, repository)
        _add(nodes_by_name[name], nodes.raw("", text, format="html"))


def _add(figure: nodes.figure, line: nodes.raw) -> None:
    """Below the caption, where a figure's legend stands."""
    legend = next((child for child in figure.children if isinstance(child, nodes.legend)), None)
    if legend is None:
        figure += nodes.legend("", line)
    else:
        legend += line


def _copy_results(outdir: Path, data: list) -> None:
    for _, address in data:
        if address.startswith(f"{FOLDER}/results/"):
            target = outdir / address
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / "book" / address.removeprefix(f"{FOLDER}/"), target)


def _mark_how_made(doctree, version: str, repository: str) -> None:
    """The line of the extension `source_line` gets an anchor and the commit, which leads into the repository if that is named."""
    hash, _, changed = version.partition(" ")
    shown: nodes.Node = nodes.literal(text=hash[:12])
    if repository:
        shown = nodes.reference("", "", shown, refuri=f"{repository}/commit/{hash}")
    for paragraph in doctree.findall(nodes.paragraph):
        if "source-line" in paragraph["classes"]:
            paragraph["ids"].append(HOW_MADE)
            if version:
                paragraph += [nodes.Text(say(" · commit ")), shown, nodes.Text(f" {changed}" if changed else "")]


def relieve_sources(app, error):
    """The shipped notebooks are those of the repository: without the downloads, which lie beside them."""
    for path in [] if error else Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
            output.get("data", {}).pop(MIME, None)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def find_commit(app):
    hash, changed = results.figures_commit()
    app.compendium_commit = f"{hash} (changed since)" if changed else hash


def setup(app):
    app.connect("builder-inited", find_commit)
    app.connect("doctree-read", add_links, priority=600)  # after source_line
    app.connect("build-finished", relieve_sources)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
