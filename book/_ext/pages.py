"""The layout of pages: the opening of a chapter, scripts where they are used, and paragraphs, formulas, tables and ids.

A chapter's opening ends with a folded block, which gives the notebook's path, the parameters of its run, and the
opening's code cells without output. A chapter has a link to the calculator if its code imports a module that one of the
calculator's questions is about. Only pages that need the scripts of the explorers, the calculator or the scorecard load
them.
"""

import ast
import html
import json
import re
import unicodedata
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.fileutil import copy_asset
from sphinx_design.shared import create_component, is_component

from book._ext.made import code, executed
from book.editions import edition
from book.editions.edition import say

# ---------------------------------------------------------------- how a chapter was made


def add_source_line(app, doctree):
    notebook, title = executed(app), next(doctree.findall(nodes.title), None)
    run = notebook and notebook["metadata"].get("compendium")
    if run and title is not None:
        opening = title.parent
        end = opening.first_child_matching_class(nodes.section)
        own = opening[: len(opening) if end is None else end]
        silent = [node for node in own if node.get("nb_element") == "cell_code" and len(node) == 1]
        for cell in silent:
            opening.remove(cell)
            cell.attributes.pop("hide_mode", None)
        at = len(own) - len(silent)
        opening[at:at] = folded(source_line(run), *silent)


HOW_MADE = '<details class="how-made">'


def folded(*inside: nodes.Node) -> list[nodes.Node]:
    summary = say("How this page was made")
    start, end = f"{HOW_MADE}<summary>{summary}</summary>", "</details>"
    return [nodes.raw("", start, format="html"), *inside, nodes.raw("", end, format="html")]


def source_line(run: dict) -> nodes.paragraph:
    """Return the line that gives the notebook's path and the parameters of its run; `run` contains both."""
    line = nodes.paragraph("", "", classes=["source-line"])
    line += [nodes.Text(say("Source: ")), nodes.literal(text=run["notebook"])]
    for position, (name, value) in enumerate(run["parameters"].items()):
        line += [nodes.Text(say(", ") if position else say(" · run with ")), nodes.literal(text=f"{name} = {value!r}")]
    return line


# ---------------------------------------------------------------- explorers and the calculator


SCRIPTS = Path(__file__).resolve().parents[1] / "_scripts"
FORMULAS = ("say", "numbers", "accounting", "fourier", "gaussian_synthesis", "local", "dp_sgd", "budget", "risk")
PAGES = ("drawing", "questions", "explorers", "calculator")
SCORECARD = SCRIPTS.parent / "_static/scorecard.js"
WORDS = {
    "words.js": SCRIPTS,
    "scorecard-words.js": SCORECARD,
}  # in `_static`, the translations of what these scripts say
FILES = [f"{name}.js" for name in (*FORMULAS, *PAGES)]
"""The scripts, in the order in which a page must load them."""

# The questions of _scripts/questions.js, and the modules of `lib` behind them.
QUESTIONS = {
    "composition": {"lib.accounting", "lib.mechanisms"},
    "synthesis": {"lib.gaussian_synthesis"},
    "local": {"lib.local"},
    "aim": {"lib.tables.adaptive_iterative"},
    "sgd": {"lib.networks.dp_sgd", "lib.accounting.sampled_gaussian"},
}


def titles() -> dict[str, str]:
    told = say("many releases"), say("Gaussian synthesis"), say("local protocols"), say("AIM's budget"), say("DP-SGD")
    return dict(zip(QUESTIONS, told))


def imported(source: str) -> set[str]:
    """Return the modules and names that `source` imports, with the packages that contain them: lib.local.GRR,
    lib.local, lib."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found | {name.rsplit(".", parts)[0] for name in found for parts in range(1, name.count(".") + 1)}


def questions(notebook: dict) -> list[str]:
    """Return the names of the calculator's questions that concern a module which a chapter imports."""
    found = imported(code(notebook))
    return [name for name, modules in QUESTIONS.items() if modules & found]


def add_calculator(app, doctree):
    notebook, title = executed(app), next(doctree.findall(nodes.title), None)
    if notebook and title is not None and (names := questions(notebook)):
        title.parent.insert(title.parent.index(title) + 1, calculator_link(app.env.docname, names))


def calculator_link(docname: str, names: list[str]) -> nodes.paragraph:
    """Return the line "With your own numbers, in the calculator: ...", with a link for each question."""
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


# ---------------------------------------------------------------- an {aside}, placed beside the paragraph that follows it


LED_TO = (nodes.math_block, nodes.bullet_list, nodes.enumerated_list)


def pair(doctree) -> None:
    for aside in list(doctree.findall(lambda node: is_component(node, "aside"))):
        parent, at = aside.parent, aside.parent.index(aside)
        about = whole(parent[at + 1 :])
        if about:
            del parent[at : at + 1 + len(about)]
            parent.insert(at, create_component("div", ["beside"], children=[aside, *about]))


def whole(following: list) -> list:
    """Return the paragraph with which `following` begins, if any, and the nodes that continue its last sentence:
    formulas, the text after a formula, and lists."""
    taken: list = []
    for node in following:
        begins = not taken and isinstance(node, nodes.paragraph)
        goes_on = taken and (isinstance(node, LED_TO) or isinstance(taken[-1], nodes.math_block))
        if not begins and not (goes_on and isinstance(node, (nodes.paragraph, *LED_TO))):
            break
        taken.append(node)
    return taken


# ---------------------------------------------------------------- what stays on a line with its formula


FOLLOWS = re.compile(r"[^\s\w]+[A-Za-z]*")  # punctuation, or the rest of a word such as -DP
LONGEST = 60  # letters of TeX; a longer formula may need a phone's whole line


def keep(doctree) -> None:
    for formula in list(doctree.findall(nodes.math)):
        within_text = isinstance(formula.parent, nodes.TextElement) and not isinstance(formula.parent, nodes.title)
        if within_text and len(formula.astext()) <= LONGEST:
            _keep(formula)


def _keep(formula: nodes.math) -> None:
    parent, at = formula.parent, formula.parent.index(formula)
    before, after = [], []
    if formula.astext().startswith("\\,") and at and isinstance(parent[at - 1], nodes.inline):
        before = [parent[at - 1]]
    if at + 1 < len(parent) and isinstance(parent[at + 1], nodes.Text) and (mark := FOLLOWS.match(parent[at + 1])):
        after = [nodes.Text(mark[0])]
        parent[at + 1] = nodes.Text(parent[at + 1][mark.end() :])
    if before or after:
        start = at - len(before)
        del parent[start : at + 1]
        parent.insert(start, nodes.inline("", "", *before, formula, *after, classes=["together"]))


# ---------------------------------------------------------------- tables that a notebook shows


MANY = 6  # a table with this many columns, row heads included, or more is set closer together
WIDE = 60  # number of letters in unbreakable cells of a row, likewise
LONG = 24  # number of letters in a breakable cell
LONG_HEAD = 16  # number of letters in a row head with room for some words on a line


def fitted(text: str) -> str:
    """Return the HTML of an output with its pandas tables marked for compendium.css."""
    return re.sub(
        r'<table border="1" class="dataframe">.*?</table>', lambda found: _fitted(found[0]), text, flags=re.DOTALL
    )


def _fitted(table: str) -> str:
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    columns = max(len(re.findall(r"<t[hd]", row)) for row in rows)
    widths = ([_letters(cell) for cell in re.findall(r"<td>([^<]*)", row)] for row in rows)
    letters = max(sum(width for width in each if width < LONG) for each in widths)
    table = _in_words("td", LONG, table.replace("<td>NaN</td>", "<td>–</td>"))
    head, body, rest = table.partition("<tbody>")
    table = head + body + _in_words("th", LONG_HEAD, rest)
    close = " many" * (columns >= MANY or letters >= WIDE)
    return table.replace('class="dataframe"', f'class="dataframe{close}"', 1)


def _in_words(tag: str, long: int, table: str) -> str:
    """Return the table with each `tag` cell of at least `long` letters marked."""

    def marked(cell: re.Match) -> str:
        return f'<{tag} class="words">{cell[1]}' if _letters(cell[1]) >= long else cell[0]

    return re.sub(rf"<{tag}>([^<]+)", marked, table)


def fit(app, doctree):
    for node in doctree.findall(nodes.raw):
        if 'class="dataframe"' in node.astext():
            node.children = [nodes.Text(fitted(node.astext()))]


# ---------------------------------------------------------------- hidden code


def gather(doctree):
    """Put the hidden code of each section behind one bar at the section's end, together with the section's claims.

    A line above each part says what the part prints or draws. The code is not coloured, because the markup for colours
    would make up a fifth of a long page.
    """
    hidden: dict[nodes.Element, list[nodes.Element]] = {}
    for cell in doctree.findall(nodes.container):
        shows_nothing = [part.get("nb_element") for part in cell.children] == ["cell_code_source"]
        if cell.children and (cell.get("hide_mode") == "input" or (cell.get("hide_mode") == "all" and shows_nothing)):
            hidden.setdefault(cell.parent, []).append(cell)
    for section, cells in hidden.items():
        gathered = cells[0].copy()
        gathered["ids"], gathered["hide_mode"] = [], "input"
        source, *others = [cell.pop(0) for cell in cells]
        source[:] = [part for cell, each in zip(cells, [source, *others]) for part in (*_makes(cell), *each)]
        for each in source.findall(nodes.literal_block):
            each["language"] = "none"
        for cell in cells:
            cell.attributes.pop("hide_mode")
            if not cell.children:
                gathered["ids"] += cell["ids"]
                section.remove(cell)
        gathered += source
        texts = [child.astext() for child in section]
        if opens := [
            place for place, text in enumerate(texts) if text.startswith(HOW_MADE)
        ]:  # the opening's last block
            gathered.attributes.pop("hide_mode")
            section.insert(texts.index("</details>", opens[0]), gathered)
            continue
        behind = _behind_claims(section, gathered)
        end = section.first_child_matching_class(nodes.section)
        section[end if end is not None else len(section) : end] = behind


def _makes(cell: nodes.Element) -> list[nodes.Node]:
    """Return a line with the first words of what a cell shows apart from its code, or [] if there are none."""
    words = _first_words(cell)
    written = next(cell.findall(nodes.caption), None)  # and printed words are those of the program
    shown = nodes.Text(words) if written else nodes.literal(text=words)
    return [nodes.paragraph("", say("Shows: "), shown, classes=["makes"])] if words else []


def _first_words(shown: nodes.Element) -> str:
    """Return the first words of what is `shown`: a caption, printed text or a table; "" if there are none."""
    kinds = (nodes.caption, nodes.literal_block, nodes.raw)
    parts = [part for kind in kinds for part in shown.findall(kind) if not part.astext().startswith(CLAIMS)]
    words = [_text(part.astext()) for part in parts]
    first = next(filter(None, words), "")
    return first if len(first) <= FIRST else first[:FIRST].rpartition(" ")[0] + " …"


CLAIMS = '<details class="claims">'  # as book.ledger.cards begins the claims of a section
FIRST = 70  # letters of what a part of the code shows


def _behind_claims(section: nodes.Element, code: nodes.Element) -> list[nodes.Node]:
    """Return the hidden `code` of a section, folded together with the section's claims if there are any."""
    own = [child for child in section if not isinstance(child, nodes.section)]
    for node in (node for child in own for node in child.findall(nodes.raw)):
        if node.astext().startswith(CLAIMS):
            start = nodes.raw("", node.astext().removesuffix("</details>"), format="html")
            while isinstance(node.parent, nodes.container) and len(node.parent) == 1:
                node = node.parent
            node.parent.remove(node)
            return [start, code, nodes.raw("", "</details>", format="html")]
    return [code]


def entitle(doctree):
    """Label the bar of each hidden cell with the bold title above the cell or, if there is none, the first words of its
    output."""
    for cell in [each for each in doctree.findall(nodes.container) if each.get("hide_mode") == "all"]:
        place = cell.parent.index(cell)
        title = cell.parent[place - 1] if place else None
        if isinstance(title, nodes.paragraph) and [type(each) for each in title if each.astext()] == [nodes.strong]:
            cell["prompt_show"] = cell["prompt_hide"] = title.astext().rstrip(":：")
            cell.parent.remove(title)
        elif words := _first_words(cell[-1]):
            cell["prompt_show"] = cell["prompt_hide"] = words


class Hidden(SphinxPostTransform):
    default_priority = 198  # once MyST-NB has chosen what of an output is shown, and before it hides code

    def run(self, **_):
        gather(self.document)
        entitle(self.document)


# ---------------------------------------------------------------- tables of text: on a phone each row is a block (compendium.css)


TABLE = re.compile(r'<table class="((?:[\w-]+ )*)table"([^>]*>)(.*?)(<tbody>.*?</table>)', re.DOTALL)
ROW = re.compile(r"<tr.*?</tr>", re.DOTALL)
ROOM = 250  # number of columns times letters in the longest row; a table with fewer fits a phone


def in_blocks(body: str) -> str:
    """Return a page's HTML with tables that contain much text marked, and each cell of such a table labelled with its
    column."""
    return TABLE.sub(_in_blocks, body)


def _in_blocks(table: re.Match) -> str:
    classes, attributes, head, rows = table.groups()
    names = [_text(cell) for cell in re.findall(r"<th\b.*?</th>", head, re.DOTALL)]
    longest = max((_letters(_text(row)) for row in ROW.findall(rows)), default=0)
    if "span=" in head + rows or len(names) * longest < ROOM:
        return table[0]
    rows = ROW.sub(lambda row: _labelled(row[0], names), rows)
    return f'<table class="{classes}blocks table"{attributes}{head}{rows}'


def _labelled(row: str, names: list[str]) -> str:
    labels = iter(names)
    return re.sub(r"<t[dh]\b", lambda cell: f'{cell[0]} data-label="{html.escape(next(labels, ""))}"', row)


def _text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"(?s)<style.*?</style>|<[^>]*>", "", markup)).split())


def _letters(text: str) -> int:
    """Return the length of a text in letters; a Japanese letter counts as two, because it is twice as wide."""
    return len(text) + len([letter for letter in text if unicodedata.east_asian_width(letter) in "WF"])


TWICE = re.compile(
    r'(<span class="(?:n|o|p|default_value|sig-[\w-]+)(?: [\w-]+)*">)<span class="pre">([^<]*)</span></span>'
)


def in_one(body: str) -> str:
    """Return a page's HTML with one element for each part of a signature, for which Sphinx writes two nested
    elements."""
    return TWICE.sub(r"\1\2</span>", body)


# ---------------------------------------------------------------- what assistive technology wants


def mend(app, page, template, context, doctree):
    seen = set()

    def first_only(match):
        again = match[1] in seen
        seen.add(match[1])
        return "" if again else match[0]

    body = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    context["body"] = in_one(in_blocks(re.sub(r'(?<=[\w"])\s+id="([^"]+)"(?=[^<>]*>)', first_only, body)))


def setup(app):
    app.connect("doctree-read", add_source_line)
    app.connect("doctree-read", lambda app, doctree: pair(doctree))
    app.connect("doctree-read", add_calculator)
    app.connect("doctree-read", lambda app, doctree: keep(doctree))
    app.connect("doctree-read", fit)
    app.add_post_transform(Hidden)
    app.connect("html-page-context", mend)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_scripts)
