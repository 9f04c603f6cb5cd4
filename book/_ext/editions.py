"""An edition in another language: its messages and translations, the parts that it takes from the English edition, and
the links between the two editions.

A message is a text of a page as written in its source: a paragraph, title, cell, caption or alternative text. Messages
are the texts that Sphinx would translate, the titles of exercises, and the words in formulas; texts that need no
translation are left out. A message without a translation is shown in English, with a mark.

Pages made from docstrings are read and written once, for the English edition. So are figures, scripts, notebooks and
data. The other edition is in a subfolder, and its pages link to these files in the folder above. Each page has a link
to the same page in the other language, and the script switch.js keeps the reader's position on the page. On a page that
is in English only, the link leads to the page that lists such pages.
"""

import json
import pickle
import re
import shutil
from pathlib import Path

from docutils import nodes
from myst_parser.mdit_to_docutils.sphinx_ import SphinxRenderer
from myst_parser.parsers.mdit import create_md_parser
from sphinx import addnodes
from sphinx.builders.dummy import DummyBuilder
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import extract_messages
from sphinx_exercise.nodes import exercise_subtitle, exercise_title, is_exercise_node, solution_title

from book._ext import web
from book.editions import catalogues, edition, gojuon
from book.editions.edition import say
from book.ledger import scorecard

# ---------------------------------------------------------------- messages and translations


LABELLED = (exercise_title, solution_title)  # titles that hold a label, and a message
OTHER = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")  # letters that are not English
TEXT = re.compile(r"(\\text\{\s*)([^{}]*?)(\s*\})")
REASON = re.compile(
    r"^(?P<start>&(?:\\quad )?)(?P<reason>.*\\text\{.*)(?P<end>\\ (?:\\checkmark|\\times)?(?: \\\\)?)$", re.MULTILINE
)  # a row of a derivation, as `book.ledger.proofs` writes it
NAMED = re.compile(r"\\mathrm\{([a-z]{2,})\}")  # a word for a quantity of a derivation
DERIVATIONS = "derivations"


def reworded(formula: str, told) -> str:
    """Return a displayed formula with its words translated by `told(message, kind, catalogue)`.

    A reason in a derivation is one message of the catalogue of derivations, with its formulas between dollar signs, so
    that a translation can order them as its language does. Other words are messages of the page.
    """

    def words(text: str) -> str:
        text = TEXT.sub(lambda match: match[1] + told(match[2], "in a formula", "") + match[3], text)
        return NAMED.sub(named, text) if r"\begin{aligned}" in formula else text

    def named(match: re.Match) -> str:
        said = told(match[1], "in a derivation", DERIVATIONS)
        return match[0] if said == match[1] else rf"\text{{{said}}}"

    made, last = "", 0
    for match in REASON.finditer(formula):
        pieces = re.split(r"\\text\{([^{}]*)\}", match["reason"])  # every second piece is words
        reason = "".join(piece if i % 2 else f"${piece}$" for i, piece in enumerate(pieces) if piece)
        said = told(reason, "in a derivation", DERIVATIONS).split("$")
        row = "".join(piece if i % 2 else rf"\text{{{piece}}}" for i, piece in enumerate(said) if piece)
        made += words(formula[last : match.start()]) + match["start"] + row + match["end"]
        last = match.end()
    return made + words(formula[last:])


def of_the_page(raw: nodes.raw) -> bool:
    """Return whether `raw` is HTML that forms a paragraph of the page: not inline HTML, the output of a cell or the
    result of a directive."""
    if (
        not raw.get("translatable", True)
        or not raw.source
        or raw["format"] != "html"
        or isinstance(raw.parent, nodes.TextElement)
    ):
        return False
    parent = raw.parent
    while parent is not None and "nb_element" not in parent and "mime_type" not in parent:
        parent = parent.parent
    return parent is None


class Prepare(SphinxTransform):
    """A transform that selects messages: titles of exercises become messages; formulas, terms and texts without words
    do not."""

    default_priority = 5

    def apply(self):
        for title in self.document.findall(lambda node: isinstance(node, LABELLED)):
            title["translatable"] = False
        for title in self.document.findall(exercise_subtitle):
            title.source, title.line = self.document["source"], title.parent.parent.line or 1
            title.rawsource = title.rawsource or title.astext()
        for node in self.document.findall(nodes.math_block):
            node["translatable"] = False
        for node in self.document.findall(nodes.term):
            if isinstance(node.parent.parent.parent, addnodes.glossary):
                node["translatable"] = False
        for fields in self.document.findall(nodes.field_list):  # a notebook's metadata
            edition.generated([fields])
        for entry in self.document.findall(nodes.entry):  # in a box a table's cells come without their source
            for node in entry.findall(nodes.TextElement):
                node.source = node.source or (node.rawsource and self.document["source"])
        for node, message in extract_messages(self.document):
            if isinstance(node, nodes.TextElement) and not edition.worded(message):
                node["translatable"] = False


class Translate(SphinxTransform):
    """A transform that collects the messages of a page and replaces each message that has a translation.

    Sphinx's own transform parses a document and applies all transforms for every message, which takes four minutes for
    the book.
    """

    default_priority = 20

    def apply(self):
        if edition.language != edition.SOURCE and catalogues.NO_PAGES.match(self.env.docname):
            return  # it is already in the edition's language
        reader = create_md_parser(self.env.myst_config, SphinxRenderer)
        reader.options["document"] = self.document
        reader.renderer.setup_render(reader.options, {"relative-images": None})
        for node, message in list(extract_messages(self.document)):
            text = edition.told(message, node.tagname)
            if isinstance(node, nodes.image):
                node["alt"] = text
            elif edition.missing(message, edition.page):
                node.children = [nodes.inline("", "", *node.children, classes=["untranslated", "language-en"])]
            elif text != message:
                node.children = []
                with reader.renderer.current_node_context(node):
                    reader.renderer.nested_render_text(text, node.line or 0, inline=True)
        for raw in filter(of_the_page, list(self.document.findall(nodes.raw))):
            pieces = re.split(r"(<[^>]*>)", raw.astext())
            pieces[::2] = [text.replace(text.strip(), edition.told(text.strip(), "in HTML")) for text in pieces[::2]]
            raw.children = [nodes.Text("".join(pieces))]
        for formula in self.document.findall(nodes.math_block):
            text = reworded(formula.astext(), edition.told)
            if text != formula.astext():
                formula.children = [nodes.Text(text)]


class Captions(SphinxTransform):
    """A transform that translates the captions of the table of contents, which are on the front page only from this
    stage on."""

    default_priority = 101

    def apply(self):
        for toctree in self.document.findall(addnodes.toctree):
            if toctree.get("caption"):
                toctree["caption"] = edition.told(toctree["caption"], "toctree")


class Finish(SphinxTransform):
    """A transform that, after translation, updates the copies of exercises' titles and sorts the terms and entries of
    glossaries."""

    default_priority = 102

    def apply(self):
        if edition.language == edition.SOURCE:
            return
        # sphinx-exercise keeps a copy of each exercise's title for the solution.
        for exercise in self.document.findall(is_exercise_node):
            kept = self.env.sphinx_exercise_registry[exercise["label"]]["node"]
            for title, copied in zip(exercise.findall(exercise_subtitle), kept.findall(exercise_subtitle)):
                copied.children = [child.deepcopy() for child in title.children]
        for glossary in self.document.findall(addnodes.glossary):
            for item in glossary.findall(nodes.definition_list_item):
                item.children.sort(
                    key=lambda child: (isinstance(child, nodes.definition), not OTHER.search(child.astext()))
                )
            if readings := gojuon.readings(edition.language):
                for entries in glossary.findall(nodes.definition_list):
                    entries.children.sort(key=lambda item: gojuon.place(_read(item, readings)))


def _read(item: nodes.definition_list_item, readings: dict[str, str]) -> str:
    """Return the reading of a glossary entry, which is that of its first name."""
    name = item.children[0].astext().split("、")[0]
    return readings.get(name, name)


class Catalogues(DummyBuilder):
    """A builder that reads every page and brings the catalogues up to date."""

    name = "catalogues"

    def get_outdated_docs(self):
        return self.env.found_docs

    def write(self, *_):
        for page, messages in edition.found.items():
            if not catalogues.NO_PAGES.match(page):
                for language in edition.OTHERS:
                    catalogues.update(page, messages, language)


def begin(app, docname, source):
    edition.page = docname
    edition.begun.value += edition.language == edition.SOURCE
    if docname == "scorecard" and edition.language != edition.SOURCE:
        source[0] = scorecard.scorecard()


# ---------------------------------------------------------------- what is written once, for the English edition


PAGES = "reference/"
FOLDERS = ("_static", "_images", "_figures", "_sources", "_modules", "_downloads", "reference")
FILES = ("claims.json", "claims.csv", "claims.schema.json")
OWN = (
    "documentation_options.js",
    "translations.js",
    "copybutton.js",
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
    """Signal to the other editions that Sphinx has read and stored all pages."""
    if edition.language == edition.SOURCE:
        edition.read.set()


def leave_out(app, env, pages):
    """Exclude the pages made from docstrings, which only the English edition reads."""
    if edition.language != edition.SOURCE:
        pages[:] = [page for page in pages if page not in lent(env)]


def beside_english() -> bool:
    """Return whether this edition is not the English one, but is built together with it."""
    return edition.language != edition.SOURCE and edition.environment != Path()


def take_pages(app, env):
    """Take over the pages made from docstrings from the English edition, with their titles and the targets of links to
    them."""
    if not beside_english():
        return
    edition.read.wait()
    with edition.environment.open("rb") as file:
        english = pickle.load(file)
    for page in lent(env):
        env.all_docs[page] = english.all_docs[page]
        kept = Path(app.doctreedir, f"{page}.doctree")
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(edition.environment.parent / f"{page}.doctree", kept)
    for name in ("std", "py"):
        env.get_domain(name).merge_domaindata(lent(env), english.domaindata[name])
    # sphinx-exercise would take the exercises of all English pages, with their titles, not only those of `lent`.
    own = dict(getattr(env, "sphinx_exercise_registry", {}))
    app.emit("env-merge-info", env, lent(env), english)  # titles and contents
    env.sphinx_exercise_registry = own
    env._viewcode_modules = {}  # no source pages
    env.project.docnames -= lent(env)  # otherwise they would be written
    # Sphinx would miss these pages in an earlier index, so there is none.
    app.builder.load_indexer = lambda pages: None


def lead_up(app, error):
    """Remove the files that the English edition also has, and change links so that they lead to those."""
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
    """Rewrite the search index with Japanese letters, which take three bytes each, in place of Sphinx's escape
    sequences, which take six."""
    call, _, rest = index.read_text(encoding="utf-8").partition("(")
    told = json.dumps(json.loads(rest.rstrip(")")), ensure_ascii=False, separators=(",", ":"))
    index.write_text(f"{call}({told})", encoding="utf-8")


# ---------------------------------------------------------------- the link to the other language


NAMES = {"en": "English", "ja": "日本語"}
ENGLISH_ONLY = (PAGES, "_modules/")
LISTED = "library"


def other(page: str, language: str, to: str) -> tuple[str, bool]:
    """Return the target of the link from a page of the edition `language` to the edition `to`, and whether it is the
    same page."""
    same = not page.startswith(ENGLISH_ONLY)
    up = "../" * (page.count("/") + (language != edition.SOURCE))
    folder = "" if to == edition.SOURCE else f"{to}/"
    return f"{up}{folder}{page if same else LISTED}.html", same


def same_places(app, doctree):
    """Give each section the ids of the English section, so that the same links work in both editions."""
    if not beside_english():
        return
    after = sorted(app.env.found_docs).index(app.env.docname) + 1
    while edition.begun.value <= after and not edition.read.is_set():
        edition.read.wait(0.05)
    english = pickle.loads((edition.environment.parent / f"{app.env.docname}.doctree").read_bytes())
    for own, theirs in zip(doctree.findall(nodes.section), english.findall(nodes.section), strict=True):
        own["ids"] = [*theirs["ids"], *(name for name in own["ids"] if name and name not in theirs["ids"])]


def add_link(app, page, template, context, doctree):
    others = [language for language in edition.editions if language != edition.language]
    for to in others[:1]:
        address, same = other(page, edition.language, to)
        context["switch"] = {"address": address, "same": same, "language": to, "name": NAMES[to]}
        if same:
            context["metatags"] = (
                f'{context.get("metatags", "")}<link rel="alternate" hreflang="{to}" href="{address}" />'
            )


# ---------------------------------------------------------------- the theme's own words


SAID = (
    "Link to this heading",
    "Link to this image",
    "Link to this table",
    "Link to this term",
    "Link to this equation",
    "Link to this code",
    "Show the source",
    "Hide the source",
    "Show the content",
    "Hide the content",
    "Show the output",
    "Hide the output",
    "Toggle hidden content",
    "Toggle primary sidebar",
    "Toggle secondary sidebar",
    "Search this book...",
    "Color mode",
    "System Settings",
    "Light",
    "Dark",
    "Main",
    "Page",
)


def words() -> dict[str, str]:
    """Return a mapping from the words to replace in the pages to their replacements."""
    return {word: say(word) for word in SAID} | {"練習": say("Exercise")}  # for which sphinx-exercise has its own word


def retell(app, error):
    """Replace the theme's words in attributes and between tags where a word is alone or is followed only by a
    number."""
    if error is not None or app.builder.format != "html" or edition.language == edition.SOURCE:
        return
    said = words()
    place = re.compile(rf'(?P<before>="|>\s*)(?P<word>{"|".join(map(re.escape, said))})(?=(?: \d+)?\s*<|")')
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = entitle(place.sub(lambda found: found["before"] + said[found["word"]], text))
        page.write_text(close_up(text), encoding="utf-8")


_WIDE = r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff9f]"
_OPEN = r"<(?:strong|em|a|span class=\"(?:std|xref|doc))\b[^>]*>"
_CLOSED = r"</(?:strong|em|a|span)>"
_GAP = re.compile(
    rf"(?P<before>{_WIDE}(?:</(?:strong|em)>)*) (?=(?:{_OPEN})+{_WIDE}|</span>{_WIDE}|（)|(?P<colon>：) (?={_WIDE})"
    rf"|(?P<closed>{_WIDE}(?:{_CLOSED})+) (?={_WIDE})"
)
_TITLE = re.compile(
    r'<p class="admonition-title">'
    r'(?:<span class="caption-number">\w+ (?P<n>\d+) </span>|\w+(?P<link><a [^>]*>) \w+ (?P<of>\d+))'
    r" \((?P<title>.*)\)(?:</a>)?</p>"
)


def close_up(text: str) -> str:
    """Return the page without the spaces that Markdown requires around bold text or a link between Japanese
    characters, and without those that the code puts beside a colon or a bracket; the space between two verdicts
    stays, and so does code."""
    parts = re.split(r"(?s)(<pre\b.*?</pre>)", text)
    parts[::2] = [
        _GAP.sub(lambda found: found["before"] or found["colon"] or found["closed"], part) for part in parts[::2]
    ]
    return "".join(parts)


def entitle(text: str) -> str:
    """Return the page with the titles of exercises and solutions in the word order of the edition's language."""

    def title(found):
        if found["n"]:
            words = say("Exercise {n}: {title}", n=found["n"], title=found["title"])
        else:
            words = (
                found["link"] + say("Solution to exercise {n}: {title}", n=found["of"], title=found["title"]) + "</a>"
            )
        return f'<p class="admonition-title">{words}</p>'

    return _TITLE.sub(title, text)


def retell_search(app, error):
    """Translate two messages of the search: in Sphinx's Japanese translation, one is empty and the other is too
    polite."""
    scripts = Path(app.outdir, "_static/translations.js")
    if error is None and app.builder.format == "html" and edition.language != edition.SOURCE and scripts.is_file():
        before, _, rest = scripts.read_text(encoding="utf-8").partition("(")
        known = json.loads(rest.rpartition(")")[0])
        known["messages"] |= {
            web.FINISHED: say("Found {n} pages.", n="${resultCount}"),
            web.NOTHING: say("No page contains all of these words."),
        }
        scripts.write_text(f"{before}({json.dumps(known, indent=4)});", encoding="utf-8")


def retell_copies(app, error):
    """Translate the words of the buttons that copy code, because sphinx-copybutton may lack the edition's language."""
    script = Path(app.outdir, "_static/copybutton.js")
    if error is None and app.builder.format == "html" and edition.language != edition.SOURCE and script.is_file():
        text = script.read_text(encoding="utf-8")
        for english, told in {
            "Copy": say("Copy"),
            "Copy to clipboard": say("Copy to clipboard"),
            "Copied!": say("Copied"),
            "Failed to copy": say("Copying failed"),
        }.items():
            text = text.replace(f": '{english}'", f": {json.dumps(told, ensure_ascii=False)}")
        script.write_text(text, encoding="utf-8")


def setup(app):
    app.add_builder(Catalogues)
    app.connect("source-read", begin)
    for transform in (Prepare, Translate, Captions, Finish):
        app.add_transform(transform)
    app.connect("env-before-read-docs", leave_out)
    app.connect("env-updated", take_pages, priority=100)  # before any use of all pages
    app.connect("env-check-consistency", give_pages)
    app.connect("doctree-read", same_places, priority=400)  # before the contents are taken from the sections
    app.connect("html-page-context", add_link)
    app.connect("build-finished", retell, priority=940)
    app.connect("build-finished", retell_search, priority=940)
    app.connect("build-finished", retell_copies, priority=940)
    app.connect("build-finished", lead_up, priority=950)  # after the pages have been reduced
