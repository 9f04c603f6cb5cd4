"""The files that a browser loads: smaller than the theme's and all served by the book, with a search in two languages
and links to the public repository.

Pages do not load scripts that they do not use, pictures with few colours are stored with a palette, and code that is
not coloured has no elements. The theme includes a script of 1.5 MB for icons that are also in its font. It loads the
search index on every page, although only the search page needs the index. The book uses a fifth of the theme's 0.5 MB
of style sheets, and two dozen of the 1,400 icons in the theme's font. Thebe is left out. The last part of the sidebar,
the reference, is folded.

Sphinx's search indexes a run of Japanese letters as one word. It finds entire words, and parts of words if they have at
least three letters. But Japanese words may have two letters, and they are written without spaces. So this search finds
any part of a run, and it splits a query at particles between words and at the borders between Japanese and other
letters.

The Binder and Colab buttons need the address of the public repository. It is `repository: url:` in _config.yml or, if
that is not set, the `origin` of this checkout, if it is on GitHub; so a fork's book opens the fork's notebooks. Without
an address, the buttons are left out.
"""

import io
import re
import subprocess
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from pygments.formatters import HtmlFormatter
from pygments.styles import get_style_by_name
from pygments.token import Token
from sphinx.highlighting import PygmentsBridge
from sphinx.search import SearchEnglish
from sphinx.util import logging

from book.editions import edition

# ---------------------------------------------------------------- light pages


UNUSED = re.compile(r'\s*<script\b[^>]*\bsrc="[^"]*/scripts/fontawesome\.js[^"]*"[^>]*></script>')


class Coloured(HtmlFormatter):
    """A formatter that makes elements only for coloured words of code, and not for names, operators and words that the
    `styles` leave plain.

    Names and operators make up two thirds of a listing. If they were coloured, the few important words would not stand
    out.
    """

    styles: tuple[str, ...] = ()

    def _get_css_classes(self, ttype):
        plain = ttype in (Token.Name, Token.Operator) or (
            all(_look(style, ttype) == _look(style, Token.Text) for style in self.styles) and ttype not in Token.Generic
        )
        return "" if plain else super()._get_css_classes(ttype)


@cache
def _look(style: str, kind) -> dict:
    """Return how a style shows a kind of word; an unknown kind is shown like the wider kind that contains it."""
    try:
        return get_style_by_name(style).style_for_token(kind)
    except KeyError:
        return _look(style, kind.parent)


def colour(app, config):
    Coloured.styles = tuple(config.html_theme_options[f"pygments_{mode}_style"] for mode in ("light", "dark"))
    PygmentsBridge.html_formatter = Coloured


FOR_SEARCH = re.compile(
    r'\s*<script\b[^>]*\bsrc="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"[^>]*></script>'
)
TOGGLE = re.compile(r'>(?P<entry>[^<]+)(?P<between></a><details[^>]*>\s*<summary)(?=>\s*<span class="toctree-toggle")')


def _named(toggle: re.Match) -> str:
    """Return an arrow of the sidebar with a name for screen readers, which the theme does not give it."""
    label = edition.say("Pages below “{entry}”", entry=toggle["entry"].strip())
    return f'>{toggle["entry"]}{toggle["between"]} aria-label="{label}"'


NAVIGATION = re.compile(r'<nav class="bd-links.*?</nav>', re.DOTALL)
CAPTION = re.compile(r'<p( aria-level="2" class="caption" role="heading">.*?</)p>', re.DOTALL)
ARROW = '<span class="toctree-toggle" role="presentation"><i class="fa-solid fa-chevron-down"></i></span>'


def folded(page: str) -> str:
    """Return the page with the last part of its sidebar, the reference, folded unless the page is in that part."""
    return NAVIGATION.sub(_folded, page, count=1)


def _folded(navigation: re.Match) -> str:
    *before, caption = re.split("(?=<p aria-level)", navigation[0])
    if not before:  # a book without parts
        return navigation[0]
    close = caption.rfind("</ul>") + len("</ul>")
    head, entries, after = *CAPTION.split(caption[:close])[1:], caption[close:]
    shown = " open" if re.search(r'class="[^"]*\bcurrent\b', entries) else ""
    part = f'<details class="part"{shown}><summary><span{head}span>{ARROW}</summary>{entries}</details>'
    return "".join([*before, part, after])


def lighten(app, error):
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = [page for page in folder.rglob("*.html") if "_static" not in page.relative_to(folder).parts]
    for page in pages:
        text = folded(TOGGLE.sub(_named, UNUSED.sub("", page.read_text(encoding="utf-8"))))
        page.write_text(text if page.name == "search.html" else FOR_SEARCH.sub("", text), encoding="utf-8")
    if edition.language != edition.SOURCE:  # its files are the English edition's
        return
    scripts = (folder / "_static").rglob("*.js")
    names = {name for file in [*pages, *scripts] for name in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))}
    for sheet in (folder / "_static").rglob("*.css"):
        if sheet.name == "compendium.css":  # ours is short, and our scripts construct names, such as line-3
            continue
        rules = tinycss2.parse_stylesheet(sheet.read_text(encoding="utf-8"))
        sheet.write_text(used(rules, names), encoding="utf-8")
    fewer_icons(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(fewer_colours, (folder / "_images").glob("*.png")))


def used(rules: list, names: set[str]) -> str:
    """Return the style sheet `rules` as text, without comments other than licences and without unused rules.

    A rule is used if one of its selectors has only classes in `names`, the words of all pages and scripts.
    """
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
    """Return the selectors of a rule, split at commas."""
    selectors, start = [], 0
    for end, token in [*enumerate(prelude), (len(prelude), ",")]:
        if token == ",":
            selectors.append(tinycss2.serialize(prelude[start:end]).strip())
            start = end + 1
    return selectors


def classes(selector: str) -> set[str]:
    """Return the classes that `selector` requires. Classes in brackets (alternatives, exceptions or neighbours) are
    left out."""
    plain = re.sub(r"\[[^\]]*\]|\([^()]*(?:\([^()]*\)[^()]*)*\)", "", selector)
    return {name.replace("\\", "") for name in re.findall(r"\.((?:[\w-]|\\.)+)", plain)}


ICONS = re.compile(r"""(fa-[a-z]+-\d+)\.woff2(["')]+ format\()"woff2"[^;}]*""")


def fewer_icons(folder: Path) -> None:
    """Reduce the icon fonts to the icons that the style sheets still name."""
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
    """Reduce a picture to 256 colours if that makes the file smaller; plots have few colours, apart from the blends at
    edges."""
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


def leave_thebe_out(app, page, template, context, doctree):
    """Remove Thebe, which would be loaded from a CDN and causes a console error on every page by declaring a constant
    twice."""
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if not mentions_thebe(file)]


def mentions_thebe(file) -> bool:
    return "thebe" in f"{file.filename} {getattr(file, 'attributes', {}).get('body', '')}".lower()


# ---------------------------------------------------------------- search


JAPANESE, KANA = r"\u3005\u3040-\u30ff\u3400-\u9fff", r"\u3040-\u309f"


def border(letter: str) -> str:
    """Return a regular expression for the border between Japanese and other letters; `letter` is any letter or digit."""
    return f"(?<={letter})(?<![{JAPANESE}])(?=[{JAPANESE}])|(?<=[{JAPANESE}])(?={letter})(?![{JAPANESE}])"


# An addition to Sphinx's search, which ignores words of two letters when it checks whether a page has all words.
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

// A question is searched for by what it asks about.
const question = /^\s*(?:what|who|which|how|why|when|where)(?:['’]s|\s+(?:is|are|do|does|can|much|many))*\s+(?:(?:an?|the)\s+)?/i;
const performSearch = Search.performSearch;
Search.performSearch = (query) =>
  performSearch(query.replace(/[?？]\s*$/, "").replace(question, "").replace(/とは(?:(?:何|なに)(?:です)?か?)?\s*$/, "") || query);

// A member of `lib` whose name is a word, such as epsilon, comes after the pages that speak of it.
Scorer.score = ([, title, , , score]) => (/^lib\.[\w.]*\.[a-z]+$/.test(title) ? score - 15 : score);

// The theme's sentences, unless the edition has its own; all results are listed when their number is said.
if (!("FINISHED" in Documentation.TRANSLATIONS)) Object.defineProperty(Documentation.TRANSLATIONS, "FINISHED", {
  get: () => (Search.output.children.length === 1 ? "Found ${resultCount} page." : "Found ${resultCount} pages."),
});
Documentation.TRANSLATIONS["NOTHING"] ??= "No page contains all of these words.";

// An excerpt is the sentence with most of the words, and the next. A sentence is left out if it has a formula of more than one line of signs.
// A paragraph or an item of a list ends a sentence.
const LEFT_OUT = "\uFFFC", END = "\uFFFB", TALL = "mfrac, msup, msubsup, munder, mover, munderover, mtable";
Search.makeSearchSummary = (html, words, anchor) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  const article = page.querySelector("article") ?? page.querySelector('[role="main"]');
  const found = (anchor && article?.querySelector(anchor)) || article;
  const definition = found?.matches(".glossary dt") && found.parentNode.querySelector(`${anchor} ~ dd`), part = definition || found;
  part?.querySelectorAll(`msup:not(:has(${TALL}))`).forEach((each) => {
    const [base, power] = [...each.children].map((child) => child.textContent);
    each.replaceWith(power.length > 1 ? `${base}^(${power})` : `${base}^${power}`);
  });
  part?.querySelectorAll("msub").forEach((each) => each.replaceWith([...each.children].map((child) => child.textContent).join("_")));
  part?.querySelectorAll("h1, h2, h3, h4, h5, h6, nav, script, style, pre, table, noscript, .headerlink, .cell, .how-made, .tally, .calculator-link, .admonition-title").forEach((each) => each.remove());
  part?.querySelectorAll(`math:has(${TALL})`).forEach((each) => each.replaceWith(LEFT_OUT));
  part?.querySelectorAll("p, li, dt, dd, figcaption").forEach((each) => each.append(END));
  const term = definition ? `${found.firstChild.textContent}: ` : "";
  const text = (term + (part?.textContent ?? "")).replace(/\s+/g, " ").trim();
  const parts = text.match(/.+?(?:[.!?](?= |\uFFFB)|[。！？]|\uFFFB|$)/g) ?? [];
  const sentences = parts.map((each) => each.replaceAll(END, " ").trim()).filter(Boolean);
  const known = sentences.filter((sentence) => !sentence.includes(LEFT_OUT));
  const ended = known.filter((sentence) => /[.!?。！？]$/.test(sentence)), whole = ended.length ? ended : known;
  const count = (sentence) => [...words].filter((word) => sentence.toLowerCase().includes(word.toLowerCase())).length;
  const best = whole.reduce((first, each) => (count(each) > count(first) ? each : first), whole[0]);
  if (!best) return document.createDocumentFragment();
  const next = sentences[sentences.indexOf(best) + 1];
  const summary = document.createElement("p");
  summary.classList.add("context");
  const said = ended.includes(best) && whole.includes(next) ? `${best} ${next}` : best;
  summary.textContent = said.length > 400 ? `${said.slice(0, 400).replace(/\s\S*$/, "")} …` : said;
  return summary;
};
"""


# Sphinx's messages about the number of results, and about a search without results.
FINISHED = "Search finished, found ${resultCount} page(s) matching the search query."
NOTHING = (
    "Your search did not match any documents. Please make sure that all words are spelled correctly and that "
    "you've selected enough categories."
)
_IN_JAVASCRIPT = {
    "FINISHED": FINISHED,
    "NOTHING": NOTHING,
    "LETTER": r"[\p{L}\p{N}]",
    "KANA": KANA,
    "BORDER": border(r"[\p{L}\p{N}]"),
    "JAPANESE": JAPANESE,
}
_BORDER = re.compile(border(r"[^\W_]"))


class SearchEnglishAndJapanese(SearchEnglish):
    js_splitter_code = re.sub("|".join(_IN_JAVASCRIPT), lambda name: _IN_JAVASCRIPT[name[0]], IN_THE_BROWSER)

    def split(self, text: str) -> list[str]:
        """Return the words of `text`, with full-width letters and half-width kana normalized, and with Japanese
        separated from other letters. The index and the query are both treated in this way."""
        return super().split(_BORDER.sub(" ", unicodedata.normalize("NFKC", text)))


# ---------------------------------------------------------------- the public repository


GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/](?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?/?")
SERVICES = ("binderhub_url", "colab_url")


def on_github(remote: str) -> str:
    """Return the address of a git remote's page on GitHub, or "" for a remote elsewhere."""
    found = GITHUB.fullmatch(remote.strip())
    return f"https://github.com/{found['path']}" if found else ""


def origin(folder) -> str:
    """Return the address from which the checkout in `folder` was cloned, or "" if there is none."""
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
    app.connect("config-inited", colour)
    app.add_search_language(SearchEnglishAndJapanese)  # in the place of "en"
    app.connect("config-inited", find_address)
    app.connect("html-page-context", leave_thebe_out, priority=900)
    app.connect("build-finished", lighten, priority=900)
