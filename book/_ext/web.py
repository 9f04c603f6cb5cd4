"""What the browser gets: less than the theme brings, everything from the book itself, a search for two languages, and public links.

What no page uses is not sent, and pictures of few colours are stored as such: the theme brings a script of 1.5 MB that draws icons,
which its font draws as well; the search's index on every page, which only the search page needs; style sheets of 0.5 MB, of which a
book uses a fifth; and a font of 1,400 icons for two dozen. MathJax lies in the book, and Thebe is left out.

Sphinx's search lists a run of Japanese as one word, and finds what is a whole word, or else part of one if it has three letters.
In Japanese two letters are a word, and words stand together unspaced: here any part of a run is found, and a query is parted at
particles between words and where Latin letters begin or end.

The Binder and Colab buttons need the public repository: `repository: url:` of _config.yml, or else the `origin` of this checkout
where that is on GitHub, so that a fork's book opens the fork's notebooks. Without an address there are no buttons.
"""

import io
import re
import subprocess
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import files
from pathlib import Path

import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.search import SearchEnglish
from sphinx.util import logging
from sphinx.util.fileutil import copy_asset

from book.editions import edition

# ---------------------------------------------------------------- light pages


UNUSED = re.compile(r'\s*<script\b[^>]*\bsrc="[^"]*/scripts/fontawesome\.js[^"]*"[^>]*></script>')
FOR_SEARCH = re.compile(
    r'\s*<script\b[^>]*\bsrc="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"[^>]*></script>'
)


def lighten(app, error):
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = [page for page in folder.rglob("*.html") if "_static" not in page.relative_to(folder).parts]
    for page in pages:
        text = UNUSED.sub("", page.read_text(encoding="utf-8"))
        page.write_text(text if page.name == "search.html" else FOR_SEARCH.sub("", text), encoding="utf-8")
    if edition.language != edition.SOURCE:  # whose files are the English edition's
        return
    scripts = [script for script in (folder / "_static").rglob("*.js") if "mathjax" not in script.parts]
    names = {name for file in [*pages, *scripts] for name in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))}
    for sheet in (folder / "_static").rglob("*.css"):
        if sheet.name == "compendium.css":  # ours is short, and our scripts make names up, as line-3
            continue
        rules = tinycss2.parse_stylesheet(sheet.read_text(encoding="utf-8"))
        sheet.write_text(used(rules, names), encoding="utf-8")
    fewer_icons(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(fewer_colours, (folder / "_images").glob("*.png")))


def used(rules: list, names: set[str]) -> str:
    """The rules whose classes all occur among `names`, the words of all pages and scripts; and the licences."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [one for one in separate(rule.prelude) if classes(one) <= names]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports") and rule.content:
            inner = used(tinycss2.parse_rule_list(rule.content), names)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule" or (rule.type == "comment" and rule.value.startswith("!")):
            kept.append(rule.serialize())
    return "\n".join(kept)


def separate(prelude: list) -> list[str]:
    """The selectors of a rule, which commas separate."""
    selectors, start = [], 0
    for end, token in [*enumerate(prelude), (len(prelude), ",")]:
        if token == ",":
            selectors.append(tinycss2.serialize(prelude[start:end]).strip())
            start = end + 1
    return selectors


def classes(selector: str) -> set[str]:
    """The classes that an element must have; not those in brackets, which name alternatives, exceptions or neighbours."""
    plain = re.sub(r"\[[^\]]*\]|\([^()]*(?:\([^()]*\)[^()]*)*\)", "", selector)
    return {name.replace("\\", "") for name in re.findall(r"\.((?:[\w-]|\\.)+)", plain)}


ICONS = re.compile(r"""(fa-[a-z]+-\d+)\.woff2(["')]+ format\()"woff2"[^;}]*""")


def fewer_icons(folder: Path) -> None:
    """The icons' fonts, each with the icons only that a style sheet still names."""
    sheets = {sheet: sheet.read_text(encoding="utf-8") for sheet in (folder / "_static").rglob("*.css")}
    icons = {ord(letter) for text in sheets.values() for letter in text if "\ue000" <= letter <= "\uf8ff"}
    for whole in (folder / "_static").rglob("fa-*.ttf"):
        chosen = subset.Subsetter()
        chosen.populate(unicodes=icons)
        font = TTFont(whole)
        chosen.subset(font)
        font.flavor = "woff"
        font.save(whole.with_suffix(".woff"))
        whole.unlink()
        whole.with_suffix(".woff2").unlink()
    for sheet, text in sheets.items():
        sheet.write_text(ICONS.sub(r'\1.woff\2"woff")', text), encoding="utf-8")


def fewer_colours(picture: Path) -> None:
    """At most 256 colours, if that makes the file smaller: plots have few, but for blends at edges."""
    before = Image.open(picture)
    if before.mode not in ("RGB", "RGBA"):
        return
    white = Image.new("RGBA", before.size, "white")
    flat = Image.alpha_composite(white, before.convert("RGBA")).convert("RGB")
    smaller = io.BytesIO()
    flat.quantize(256, dither=Image.Dither.NONE).save(smaller, format="PNG", optimize=True)
    if len(smaller.getvalue()) < picture.stat().st_size:
        picture.write_bytes(smaller.getvalue())


# ---------------------------------------------------------------- no page loads anything from elsewhere


# What `loader` in _config.yml names: TeX, CHTML and MathML for screen readers; not MathJax's menu and speech engine (0.8 MB).
PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex",
    "output/chtml.js",
    "output/chtml/fonts",
    "a11y/assistive-mml.js",
)


def mathjax_folder() -> Path:
    """Where the package sphinx-mathjax-offline keeps its copy of MathJax 3."""
    for file in files("sphinx-mathjax-offline"):
        if file.name == "startup.js":
            return Path(file.locate()).parent
    raise FileNotFoundError("sphinx-mathjax-offline is installed without startup.js")


def copy_mathjax(app, error):
    if error is None:
        target = Path(app.outdir, "_static", "mathjax")
        for part in PARTS:
            source = mathjax_folder() / part
            copy_asset(source, (target / part).parent if source.is_file() else target / part)


def leave_thebe_out(app, page, template, context, doctree):
    """Thebe would load from a CDN, and declares a constant twice: a console error on every page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if not mentions_thebe(file)]


def mentions_thebe(file) -> bool:
    return "thebe" in f"{file.filename} {getattr(file, 'attributes', {}).get('body', '')}".lower()


# ---------------------------------------------------------------- search


JAPANESE, KANA = r"\u3005\u3040-\u30ff\u3400-\u9fff", r"\u3040-\u309f"


def border(letter: str) -> str:
    """Where Japanese meets other letters, as a regular expression, in which `letter` is any letter or digit."""
    return f"(?<={letter})(?<![{JAPANESE}])(?=[{JAPANESE}])|(?<=[{JAPANESE}])(?={letter})(?![{JAPANESE}])"


# Beside Sphinx's own search, which also counts no word of two letters when it asks whether all words were found.
IN_THE_BROWSER = r"""
const particles = /(?<=LETTER)(?<![KANA])[のをはがにでと]+(?=LETTER)(?![KANA])/gu;
const borders = /BORDER/gu;
var splitQuery = (query) =>
  query.normalize("NFKC").replace(particles, " ").replace(borders, " ").split(/[^\p{Letter}\p{Number}_]+/u).filter(Boolean);

const termsWith = (word) =>
  /[JAPANESE]/.test(word)
    ? Object.keys({...Search._index.terms, ...Search._index.titleterms}).filter((term) => term.includes(word))
    : [word];
const pagesWithAnyTerm = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = [...words].map((word) =>
    termsWith(word).flatMap((term) => pagesWithAnyTerm(new Set([term]), excluded)));
  return (found[0] ?? []).filter(([page]) => found.every((results) => results.some(([other]) => other === page)));
};
"""


_IN_JAVASCRIPT = {"LETTER": r"[\p{L}\p{N}]", "KANA": KANA, "BORDER": border(r"[\p{L}\p{N}]"), "JAPANESE": JAPANESE}
_BORDER = re.compile(border(r"[^\W_]"))


class SearchEnglishAndJapanese(SearchEnglish):
    js_splitter_code = re.sub("|".join(_IN_JAVASCRIPT), lambda name: _IN_JAVASCRIPT[name[0]], IN_THE_BROWSER)

    def split(self, text: str) -> list[str]:
        """Full-width letters and half-width kana as the usual ones, Latin letters apart, in the index as in the query."""
        return super().split(_BORDER.sub(" ", unicodedata.normalize("NFKC", text)))


# ---------------------------------------------------------------- the public repository


GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/](?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?/?")
SERVICES = ("binderhub_url", "colab_url")


def on_github(remote: str) -> str:
    """The address of a git remote's page on GitHub, or "" for a remote elsewhere."""
    found = GITHUB.fullmatch(remote.strip())
    return f"https://github.com/{found['path']}" if found else ""


def origin(folder) -> str:
    """The address from which the checkout in `folder` was cloned, or ""."""
    try:
        asked = subprocess.run(
            ["git", "config", "--get", "remote.origin.url"], cwd=folder, capture_output=True, text=True
        )
    except FileNotFoundError:  # a copy of the files, and no git
        return ""
    return asked.stdout


def find_address(app, config):
    options = config.html_theme_options
    options["repository_url"] = options.get("repository_url") or on_github(origin(app.srcdir))
    if not options["repository_url"]:
        logging.getLogger(__name__).info("no public address is known: no Binder and Colab buttons")
        for service in SERVICES:
            options.get("launch_buttons", {}).pop(service, None)


def setup(app):
    app.config.mathjax_path = "mathjax/startup.js"
    app.add_search_language(SearchEnglishAndJapanese)  # in the place of "en"
    app.connect("config-inited", find_address)
    app.connect("html-page-context", leave_thebe_out, priority=900)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", lighten, priority=900)
