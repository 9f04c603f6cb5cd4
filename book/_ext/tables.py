"""Directives that make lists, tables and bars from files, so that no page contains lists typed by hand.

{documents}                            the table of the documents on the front page, from book/claims.yml
{entries}                              the BibTeX entries of the documents and of the compendium, from book/documents.bib
{finding} miura2022                    a finding of one document, below the document's name, which links to its page
{bars}                                 a few numbers drawn as bars
{assignments}                          the assignments, as their first cells describe them
{kept-results}                         the files in book/results, each with the command that makes it, its CPU time, and the code that made it
{kept-table} miura2025/release_audits  a file of book/results as a table

Each line of {bars} gives the label of a bar, a vertical line, and a role of `numbers` that quotes the bar's number:
``as printed | {printed}`miura2022.headline.rdp` ``. The options of {bars} are `of` (the quantity), `from` (where the bars
begin, default 0) and `unit`. Each line of {kept-table} names a column of the file and gives, after a colon, the head of this
column: `proved: proved ε`. Numbers are rounded to three significant digits.
"""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from book._ext.made import Made, table
from book._ext.numbers import Sources, quote
from book.editions.edition import generated, say, told
from book.kept import results
from book.ledger import claims, retold, scorecard

# ---------------------------------------------------------------- documents


BIBLIOGRAPHY = Path(__file__).resolve().parents[1] / "documents.bib"


def documents(known: dict) -> str:
    """Return the table of the documents as MyST, with the subject of each document and a link to its summary."""
    rows = [
        [
            f"[{retold.cited(document)}]({key}/index.md)",
            retold.document(document).subject,
            f"[{say('summary')}]({key}/summary.md)",
        ]
        for key, document in known.items()
    ]
    return table([say("Document"), say("Subject"), say("In two pages")], rows)


def entries(bibliography: str) -> dict[str, str]:
    """Return a mapping from keys to the entries of a BibTeX file. An entry begins with a line that starts with @."""
    found = re.split(r"(?m)^(?=@)", bibliography)
    return {re.match(r"@\w+\{([^,\s]+)", entry)[1]: entry.strip() for entry in found if entry.strip()}


class Documents(Made):
    def run(self):
        return self.made(documents(claims.load().documents), claims.ledger_path())


class Entries(SphinxDirective):
    def run(self):
        self.env.note_dependency(str(BIBLIOGRAPHY))
        self.env.note_dependency(str(claims.ledger_path()))
        known = claims.load().documents
        return generated(
            self._entry(retold.cited(known[key]) if key in known else say("The compendium"), text)
            for key, text in entries(BIBLIOGRAPHY.read_text(encoding="utf-8")).items()
        )

    def _entry(self, title, text):
        heading = nodes.section("", nodes.title(title, title), ids=[nodes.make_id(title)])
        heading += nodes.literal_block(text, text, language="bibtex")
        return heading


# ---------------------------------------------------------------- findings


LINE = re.compile(r"(.+?) \| \{(\w+)\}`([^`]+)`")


class Finding(SphinxDirective):
    """The directive {finding}: text and picture below the document's name, which links to the document's page."""

    required_arguments = 1
    has_content = True

    def run(self):
        document = claims.load().documents[self.arguments[0]]
        name = StringList(
            [f"[{retold.cited(document)}]({document.key}/index.md)", ""], source=self.get_source_info()[0]
        )
        self.content = name + self.content
        name, *rest = self.parse_content_to_nodes()
        return [nodes.container("", *generated([name]), *rest, classes=["finding"])]


def parts(numbers: list[float], start: float) -> list[float]:
    """Return the length of each number's bar, as a proportion of the longest bar."""
    longest = max(numbers) - start
    if min(numbers) < start or longest <= 0:
        raise ValueError(f"bars must begin below their numbers, got {start:g} for {numbers}")
    return [(number - start) / longest for number in numbers]


def drawn(rows: list[tuple[str, str]], of: str, start: float = 0, unit: str = "") -> str:
    """Return the bars, as HTML, for rows of (label, number as text)."""
    lengths = parts([float(text.replace(",", "")) for _, text in rows], start)
    head = say("{of}; bars begin at {start}", of=told(of), start=f"{start:g}") if start else told(of)
    bars = [
        f'<tr><th scope="row">{claims.markup(told(label))}</th><td><span style="--part: {length:.4f}"></span>{escape(text + unit)}</td></tr>'
        for (label, text), length in zip(rows, lengths)
    ]
    return f'<table class="bars"><caption>{claims.markup(head)}</caption><tbody>{"".join(bars)}</tbody></table>'


class Bars(SphinxDirective):
    has_content = True
    option_spec = {"of": directives.unchanged_required, "from": float, "unit": directives.unchanged}

    def run(self):
        found = [LINE.fullmatch(line) for line in self.content if line.strip()]
        try:
            if not all(found) or not found:
                raise ValueError("each line of bars must be a label, a bar and a role that quotes a number")
            rows = [(label, quote(role, text, Sources())) for label, role, text in (each.groups() for each in found)]
            text = drawn(rows, self.options["of"], self.options.get("from", 0), self.options.get("unit", ""))
        except (KeyError, ValueError) as error:
            logging.getLogger(__name__).error(str(error), location=self.get_location())
            return []
        return [nodes.raw("", text, format="html", translatable=False)]


# ---------------------------------------------------------------- assignments


ASSIGNMENTS = Path(__file__).resolve().parents[2] / "notebooks/assignments"
SAID = (
    r"# (?P<title>.+)\n[\s\S]*`(?P<document>[a-z]+\d{4})`[\s\S]*?"
    r"About (?P<minutes>\d+) minutes, \d+\s+points:\s+(?P<tests>\d+) by tests, (?P<text>\d+)"
)


def assignments() -> list[Path]:
    return sorted(path for path in ASSIGNMENTS.glob("*/*.ipynb") if path.stem == path.parent.name)


def assignment(path: Path) -> dict:
    """Return what the first cell of an assignment says about it. Raises ``ValueError`` if title, document, minutes or
    points are missing."""
    first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
    said = re.match(SAID, first)
    if said is None:
        raise ValueError(f"{path.name} must begin with its title, document, minutes and points, got {first[:200]!r}")
    return {"name": path.stem, **said.groupdict()}


def overview(rows: list[dict]) -> str:
    cells = [
        [
            f"`{each['name']}`",
            f"[`{each['document']}`](../{each['document']}/index.md)",
            told(each["title"]),
            each["minutes"],
            f"{each['tests']} + {each['text']}",
        ]
        for each in rows
    ]
    heads = [say("Assignment"), say("Document"), say("What it is about"), say("Minutes"), say("Points")]
    return table(heads, cells)


class Assignments(Made):
    def run(self):
        made = self.made(overview(map(assignment, assignments())), *assignments())
        for part in made:
            part["classes"].append("whole-names")
        return made


# ---------------------------------------------------------------- kept results


def kept_results(folder: Path = results.FOLDER) -> list[tuple[str, str, str, str]]:
    """Return (path below `folder`, command, CPU time, code) for each file whose first lines give a command."""
    found = []
    for path in sorted(folder.rglob("*.csv")):
        made = results.provenance(path)
        if "command" in made:
            name, took = path.relative_to(folder).as_posix(), _took(made.get("CPU time", ""))
            found.append((name, made["command"], took, _made_with(results.made_by(path))))
    return found


def _took(time: str) -> str:
    """Return the CPU time in the edition's language, with "of AIM" if only AIM was timed."""
    seconds, part, _ = time.partition(" of AIM")
    return say("{seconds} of AIM", seconds=seconds) if part else time.partition(" of all")[0]


def _made_with(made_by: str) -> str:
    """Return which code made a result, in the edition's language, with the names of definitions as code."""
    if version := re.fullmatch("the code of version (.*)", made_by):
        return say("the code of version {version}", version=version[1])
    if part := re.fullmatch(r"earlier code for (\d+) of (\d+) rows", made_by):
        return say("earlier code for {n} of {rows} rows", n=part[1], rows=part[2])
    earlier, _, names = made_by.partition(": ")
    if names == "what is no longer used":
        names = say("parts no longer used")
    elif names:
        few, more = re.fullmatch(r"(.*?)(?: and (\d+) more)?", names).groups()
        names = say("{names} and {n} more", names=f"`{few}`", n=more) if more else f"`{few}`"
    if names:
        return say("earlier code; changed since: {names}", names=names)
    return say("current code") if made_by == "the code of today" else say("code that no longer exists")


class KeptResults(SphinxDirective):
    def run(self):
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (25, 45, 12, 18)), cols=4)
        heads = say("File"), say("Command"), say("CPU time"), say("Code")
        head = nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in heads))
        body = [
            nodes.row("", *(self._entry(text, code) for text, code in zip(row, (True, True, False, False))))
            for row in kept_results()
        ]
        group += [nodes.thead("", head), nodes.tbody("", *body)]
        for path in results.FOLDER.rglob("*.csv"):
            self.env.note_dependency(str(path))
        return [nodes.table("", group)]

    def _entry(self, text, code):
        pieces = ["", text] if code else text.split("`")  # every second piece is code
        kinds = [nodes.literal if i % 2 else nodes.inline for i in range(len(pieces))]
        return nodes.entry(
            "", nodes.paragraph("", "", *(kind(each, each) for kind, each in zip(kinds, pieces) if each))
        )


def kept_table(rows: list[dict[str, str]], heads: dict[str, str]) -> str:
    """Return a table of `rows` as MyST; `heads` maps the columns to show to their heads."""
    unknown = heads.keys() - rows[0].keys()
    if unknown:
        raise ExtensionError(f"kept-table: there is no column {', '.join(sorted(unknown))} among {', '.join(rows[0])}")
    return table(list(heads.values()), [[scorecard.cell(shown(row[name])) for name in heads] for row in rows])


def shown(text: str) -> str:
    """Return the text of a cell: a number is rounded to three significant digits, and a truth value becomes a word."""
    try:
        return f"{float(text):.3g}"
    except ValueError:
        return {"True": say("yes"), "False": say("no"), "": "–"}.get(text) or told(text)


class KeptTable(Made):
    required_arguments = 1
    has_content = True

    def run(self):
        file = results.FOLDER / f"{self.arguments[0]}.csv"
        heads = {name: told(head.strip()) for name, _, head in (line.partition(":") for line in self.content)}
        return self.made(kept_table(results.rows(file), heads), file)


def setup(app):
    app.add_directive("documents", Documents)
    app.add_directive("entries", Entries)
    app.add_directive("finding", Finding)
    app.add_directive("bars", Bars)
    app.add_directive("assignments", Assignments)
    app.add_directive("kept-results", KeptResults)
    app.add_directive("kept-table", KeptTable)
