"""Figures on pages: the links below them, their words in the edition's language, repeated figures, and figures shown
step by step.

Below each figure are links to its notebook, parameters, data and commit, to the drawing as SVG, and to its numbers as
CSV. The executed notebook contains the SVG and the CSV (`book.figures.plotted`). Both are written into `_figures/` of
the built book. The CSV begins with lines that give its provenance, in the form that `book.kept.results` writes and
reads. The SVG has the same lines as its description. The notebooks that readers download contain neither file. The
links to the notebook and the commit lead to the repository that `_config.yml` names (`repository: url`). If
`_config.yml` names none, the notebook's link leads to the copy in the book, and the commit's link leads to the folded
line on how the page was made.

The words of each figure are messages of its page. In a drawing, each text consists of outlines below a comment that
contains its words. A translated text replaces the outlines and is shown in whatever Japanese font the reader's system
has. Nothing is drawn again.

{picture} fig-name   the picture of a labelled figure anywhere in the book, repeated in small size and linked to the figure.
                     The content is the caption, one sentence on what the picture shows. A label without a figure
                     causes a warning.
{idea} fig-name      the idea in a picture, step by step. The content is a numbered list of three to five texts, one for each
                     panel of the labelled figure further down the page. The panels of that figure are stacked and have the
                     same size (`book.figures.ideas`). Radio buttons choose the panel that is shown with its text; they work
                     with the keyboard and need no script. On paper, all panels appear beside their texts.
"""

import html
import json
import os
import re
import shutil
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.images import get_image_size

from book._ext.made import executed
from book.editions import edition
from book.editions.edition import say
from book.kept import results
from book.ledger import claims
from lib.data import datasets
from lib.numerics import in_order

ROOT = Path(__file__).resolve().parents[2]
MIME = "application/vnd.compendium.figure+json"  # book.figures.plotted.MIME; a build need not import matplotlib
FILES = "_figures"
REAL = {"adult": "Adult", "bank": "Bank Marketing"}
HOW_MADE = "how-made"  # the folded line at the end of the page's opening

log = logging.getLogger(__name__)


# ---------------------------------------------------------------- what is known of a figure


def figures(notebook: dict):
    """Yield (name, caption, cell number, record) for each displayed figure that has a name. The record of a figure
    without downloads is None."""
    for cell in notebook["cells"]:
        known = cell["metadata"].get("mystnb", {}).get("figure", {})
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}) and "name" in known:
                yield known["name"], known.get("caption", ""), cell["execution_count"], output["data"].get(MIME)


def stand_ins() -> dict[str, str]:
    return {"adult.csv.gz": say("Adult stand-in"), "bank.csv.gz": say("Bank stand-in")}


def sources(read: list[str]) -> list[tuple[str, str]]:
    """Return (name, address in the book) for each data file among the files that were `read`. For the file of a full
    run, this is the address of a copy."""
    found = []
    for name in read:
        path = PurePosixPath(Path(os.path.relpath(name, ROOT) if os.path.isabs(name) else name).as_posix())
        if path.name in stand_ins():
            found.append((stand_ins()[path.name], "data.html#embedded-stand-ins"))
        elif path.name in datasets.SOURCES:
            found.append((REAL[datasets.SOURCES[path.name].dataset], "data.html"))
        elif str(path).startswith("book/results/"):
            found.append((say("full run ({file})", file=path.name), f"{FILES}/{path.relative_to('book')}"))
    return sorted(set(found))


def provenance(name: str, caption: str, run: dict, cell: int, data: list, version: str) -> dict[str, str]:
    """Return the provenance of a figure, line by line; `run` is what notebooks/tools/run.py recorded in the
    notebook."""
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
    """Write <name>.svg and <name>.csv into `folder`, both with the provenance `made`."""
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
    """Return the line of links, as HTML. `to_root` is the path from the page to the book's root, and `place` the path
    from there to the files, without their suffixes."""

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
    """Write the two files of each figure on a notebook's page, and add the line of links below the figure."""
    notebook = executed(app)
    run = notebook and notebook["metadata"].get("compendium")
    if not run:
        return
    version = app.compendium_commit
    repository = (app.config.html_theme_options.get("repository_url") or "").rstrip("/")
    _mark_how_made(doctree, version, repository)
    nodes_by_name = {name: node for node in doctree.findall(nodes.figure) for name in node["names"]}
    to_root = "../" * app.env.docname.count("/")
    folder = f"{FILES}/{app.env.docname.removeprefix('notebooks/')}"
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
        if edition.language == edition.SOURCE:  # all editions have the same files
            write_files(Path(app.outdir, folder), name, provenance(name, caption, run, cell, data, version), record)
            _copy_results(Path(app.outdir), data)
        text = line(name, cell, data, to_root, f"{folder}/{name}", run["notebook"], version, repository)
        _add(nodes_by_name[name], nodes.raw("", text, format="html"))


def _add(figure: nodes.figure, line: nodes.raw) -> None:
    """Add a line below the caption, as a figure's legend."""
    legend = next((child for child in figure.children if isinstance(child, nodes.legend)), None)
    if legend is None:
        figure += nodes.legend("", line)
    else:
        legend += line


def _copy_results(outdir: Path, data: list) -> None:
    for _, address in data:
        if address.startswith(f"{FILES}/results/"):
            target = outdir / address
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / "book" / address.removeprefix(f"{FILES}/"), target)


def _mark_how_made(doctree, version: str, repository: str) -> None:
    """Add an anchor and the commit, linked if the repository is known, to the line on how the page was made."""
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
    """Remove the figures' downloads from the notebooks that readers download; those in the repository contain none
    either."""
    for path in [] if error else Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
            output.get("data", {}).pop(MIME, None)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def find_commit(app):
    hash, changed = results.figures_commit()
    app.compendium_commit = f"{hash} (changed since)" if changed else hash


# ---------------------------------------------------------------- words in drawings


DRAWN = "_drawn"
FONTS = "Hiragino Sans, Noto Sans JP, Noto Sans CJK JP, Yu Gothic, Meiryo, sans-serif"
WRITTEN = re.compile(
    r'<!-- (?P<text>[^\n]*?) -->\s*<g(?: style="(?P<style>[^"]*)")? transform="translate\((?P<place>[-\d. ]+)\)'
    r'(?: rotate\((?P<turn>[-\d.]+)\))? scale\((?P<scale>[\d.]+) [-\d.]+\)">(?P<outlines>.*?)</g>',
    re.DOTALL,
)
LETTERS = {"alpha": "α", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "lambda": "λ", "mapsto": "↦", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ", "times": "×"}  # fmt: skip
LATIN, WIDE = 0.56, 1.0  # the widths of letters, in units of the font's size
ROOM = 1.3  # how much wider than the original a text may be before it is scaled down


def plain(text: str) -> str:
    """Return `text` with its formulas as plain characters, or "" if a formula has more than letters, roots of a letter
    and digits as subscripts or exponents."""
    text = re.sub(r"\\sqrt\{?(\w)\}?", r"√\1", text.replace(r"\,", " "))
    text = re.sub(r"\\([A-Za-z]+)", lambda name: LETTERS.get(name[1], name[0]), text)
    text = re.sub(r"_(\d)", lambda number: "₀₁₂₃₄₅₆₇₈₉"[int(number[1])], text)
    text = re.sub(
        r"\^\{?(-?\d)\}?(?![\d}])",
        lambda number: number[1].translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")),
        text,
    )
    return "" if re.search(r"\$[^$]*[\\^_{][^$]*\$", text) else text.replace("$", "")


def texts(svg: str) -> list[str]:
    """Return the texts in a drawing that need translation."""
    said = (found["text"].replace("&amp;", "&").replace("&lt;", "<") for found in WRITTEN.finditer(svg))
    return list(dict.fromkeys(text for text in map(plain, said) if edition.worded(text)))


def retold(svg: str, told) -> str:
    """Return the drawing with each text that needs translation replaced, at the same position, by what `told` returns
    for it.

    The end that keeps its position is the left one in a legend and the right one beside the y-axis; other texts keep
    their middle.
    """

    def again(found):
        text = plain(found["text"].replace("&amp;", "&").replace("&lt;", "<"))
        said = told(text) if edition.worded(text) else text
        return found[0] if said == text else _text(found, said, _anchor(svg, found.start()))

    return WRITTEN.sub(again, svg)


def _anchor(svg: str, position: int) -> str:
    """Return whether the "start", "middle" or "end" of the text at `position` in the file stays in place."""
    start = {part: svg.rfind(f'<g id="{part}_', 0, position) for part in ("axes", "legend", "ytick")}
    if start["legend"] > start["axes"]:
        return "start"
    beside = (
        start["ytick"] > start["axes"] and "<!--" not in svg[start["ytick"] : position]
    )  # else behind the last tick
    return "end" if beside else "middle"


def _text(found, said: str, anchor: str) -> str:
    size = float(found["scale"]) * 100
    steps = [float(step) for step in re.findall(r"<use [^>]*translate\(([-\d.]+)", found["outlines"])] or [0.0]
    width = size * (steps[-1] / 100 + LATIN)
    own = size * in_order.total(LATIN if letter.isascii() else WIDE for letter in said)
    size *= min(1.0, ROOM * width / own)
    place = {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    turn = f" rotate({found['turn']})" if found["turn"] else ""
    kept = "".join(re.findall(r"<defs>.*?</defs>", found["outlines"], flags=re.DOTALL))  # other texts may use these
    escaped = said.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<g transform="translate({found["place"]}){turn}">{kept}'
        f'<text x="{place:.2f}" text-anchor="{anchor}" style="font: {size:.2f}px {FONTS}; {found["style"] or ""}">{escaped}</text></g>'
    )


def draw(app, doctree):
    """Replace the images on a notebook's page by drawings in the edition's language."""
    notebook = executed(app)
    if notebook is None:
        return
    by_name = {name: node for node in doctree.findall(nodes.figure) for name in node["names"]}
    for name, _, _, record in figures(notebook):
        if record is None:
            continue
        for text in texts(record["svg"]):
            edition.told(text, "in a figure")
        drawn = retold(record["svg"], edition.told)
        if edition.language != edition.SOURCE and drawn != record["svg"]:
            file = f"{DRAWN}/{app.env.docname.removeprefix('notebooks/')}/{name}.svg"
            target = Path(app.outdir, file)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(drawn, encoding="utf-8")
            for image in by_name[name].findall(nodes.image):
                lead(image, file, app.env.docname)


def lead(image: nodes.image, file: str, page: str) -> None:
    """Make `image` show the edition's drawing `file`, with its address relative to `page`."""
    address = "../" * page.count("/") + file
    image["drawn"], image["uri"], image["candidates"] = file, address, {"?": address}  # Sphinx leaves it in place


# ---------------------------------------------------------------- a figure once more


class shown_again(nodes.Element):
    """A placeholder that holds the caption until all pages have been read. It is not a figure, so it gets no number."""


class Picture(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        caption = self.parse_content_to_nodes()
        if [type(each) for each in caption] != [nodes.paragraph]:
            raise self.error(f"picture must have one paragraph, the caption, got {len(caption)}")
        place = shown_again("", caption[0], label=self.arguments[0])
        self.set_source_info(place)
        return [place]


def original(env, label: str) -> tuple[str, str, nodes.image] | None:
    """Return the page, the id and the picture of the figure labelled `label`, or None if there is no such figure."""
    page, place = env.get_domain("std").anonlabels.get(label, ("", ""))
    figures = env.get_doctree(page).findall(nodes.figure) if page else []
    pictures = [image for figure in figures if place in figure["ids"] for image in figure.findall(nodes.image)]
    return (page, place, pictures[0]) if pictures else None


def show_again(app, doctree, docname):
    for place in list(doctree.findall(shown_again)):
        found = original(app.env, place["label"])
        if found is None:
            log.warning("picture must name a labelled figure, got %r", place["label"], location=place)
            place.parent.remove(place)
            continue
        page, target, image = found
        address = f"{app.builder.get_relative_uri(docname, page)}#{target}"
        again = image.deepcopy()
        if "drawn" in image:
            lead(again, image["drawn"], docname)
        link = nodes.reference("", "", again, refuri=address, internal=True)
        name = f"again-{target}"  # a figure must have one, but this one must not be numbered
        place.replace_self(
            nodes.figure("", link, nodes.caption("", "", *place[0].children), ids=[name], classes=["shown-again"])
        )


# ---------------------------------------------------------------- the idea in a picture


PANEL = 5 / 3  # width to height, as in book.figures.ideas and compendium.css


class idea_told(nodes.Element):
    """A placeholder for the list until the page's figures have been read."""


class Idea(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        told = self.parse_content_to_nodes()
        if [type(each) for each in told] != [nodes.enumerated_list] or not 3 <= len(told[0]) <= 5:
            raise self.error("idea must have a numbered list of 3 to 5 texts and nothing else")
        place = idea_told("", *told, label=self.arguments[0])
        self.set_source_info(place)
        return [place]


def tell(app, doctree):
    """Move each list into its figure, which is in the output of a cell."""
    figures = {name: figure for figure in doctree.findall(nodes.figure) for name in figure["names"]}
    for place in list(doctree.findall(idea_told)):
        figure, told = figures.get(place["label"]), place[0]
        place.parent.remove(place)
        if figure is None:
            log.warning("idea must name a figure of the page, got %r", place["label"], location=place)
            continue
        image = next(figure.findall(nodes.image))
        panels = counted(get_image_size(app.srcdir / image["uri"]))
        if panels != len(told):
            log.warning("idea of %s: %s texts for %s panels", place["label"], len(told), panels, location=place)
            continue
        for number, item in enumerate(told, 1):
            item += raw(onwards(place["label"], number, len(told)))
        figure["classes"].append("idea")
        at = next(at for at, child in enumerate(figure) if image in child.findall())
        figure.insert(at, raw(buttons(place["label"], len(told))))
        figure[at + 2 : at + 2] = [raw('<div class="told" aria-live="polite">'), told, raw("</div>")]


def counted(size) -> float:
    """Return how many panels of the standard shape a picture of size (width, height) holds, to two decimal places."""
    return round(size[1] / size[0] * PANEL, 2)


def buttons(label: str, count: int) -> str:
    """Return a radio button for each step; the first is selected."""
    named = {number: say("Step {number}", number=number) for number in range(1, count + 1)}
    each = [
        f'<label><input type="radio" name="{label}-step" id="{label}-step-{number}" aria-label="{name}"'
        f"{' checked' * (number == 1)}>{number}</label>"
        for number, name in named.items()
    ]
    return f"<fieldset><legend>{say('The idea in a picture')}</legend>{''.join(each)}</fieldset>"


def onwards(label: str, number: int, count: int) -> str:
    """Return the link to the next step, for mouse and touch. With the keyboard, readers move between the buttons."""
    then, text = (number + 1, say("Next")) if number < count else (1, say("From the beginning"))
    return f'<label class="onwards" for="{label}-step-{then}" aria-hidden="true">{text}</label>'


def raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app):
    app.add_node(idea_told)
    app.add_node(shown_again)
    app.add_directive("idea", Idea)
    app.add_directive("picture", Picture)
    app.connect("builder-inited", find_commit)
    app.connect("doctree-read", add_links, priority=600)  # after the line on how the page was made
    app.connect("doctree-read", tell, priority=700)
    app.connect("doctree-read", draw, priority=750)  # after `tell`, which measures the picture
    app.connect("doctree-resolved", show_again)
    app.connect("build-finished", relieve_sources)
