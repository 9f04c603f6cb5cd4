"""The directive {machine-checked}: what Coq has checked, from the files of proofs/.

Without an argument it is the table of the headline theorems, with places and axioms. With `files` it is, file by file, what a
reader compares with the prose: definitions, hypotheses and headline theorems as Coq reads them, each under its comment.

File and line lead to the file in the public repository, or, while no public address is known, to a copy beside the page.

A theorem's box in a chapter ends with a line that names the headline theorems about it, by the `box` of proofs/headlines.yml.
"""

from functools import cache
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from book.editions.edition import parsed, say, told
from book.kept import results
from book.ledger import claims, machine_checked, scorecard
from book.ledger.machine_checked import Headline, Statement, label

COPIES = "_proofs"  # in the built book
DEFINING = ("Definition", "Fixpoint", "Inductive", "Record")


def table(headlines: list[Headline], files: str = "") -> str:
    """The theorems as MyST: what each says, of what in lib and which claims; its name, file and line, and its axioms' group.

    files: the address of proofs/ in the public repository, or "".
    """
    lines = [f"| {say('What is proved')} | {say('Theorem, file and line, axioms')} |", "|---|---|"]
    for each in headlines:
        stands = each.statement
        of = say(", ").join([*(f"`{name.rsplit('.', 1)[-1]}`" for name in each.lib), *map(linked, each.claims)])
        name = f"{{ref}}`{stands.name} <{label(stands)}>` ({source(stands, files)}; {_axioms(each.axioms)})"
        lines.append(f"| {scorecard.cell(told(stands.says))}{say(' ({of})', of=of) if of else ''} | {name} |")
    return "\n".join(lines)


def source(statement: Statement, files: str) -> str:
    """File and line of a statement, linked."""
    there = f"{files}/{statement.file}#L{statement.line}" if files else f"{COPIES}/{statement.file}.txt"
    return f'<a href="{there}">{statement.file}, {statement.line}</a>'


def in_public(config) -> str:
    """The address of proofs/ in the public repository, at its last commit; "" if either is unknown."""
    repository = (config.html_theme_options.get("repository_url") or "").rstrip("/")
    commit = repository and results.git(
        "log", "-1", "--format=%H", "--", "proofs", folder=machine_checked.FOLDER.parent
    )
    return f"{repository}/blob/{commit}/proofs" if commit else ""


def copy_files(app, error):
    """The files of proofs/ as plain text beside the page, which links to them while no public address is known."""
    if error is None and app.builder.format == "html" and not in_public(app.config):
        folder = Path(app.outdir, COPIES)
        folder.mkdir(exist_ok=True)
        for path in machine_checked.FOLDER.glob("*.v"):
            (folder / f"{path.name}.txt").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")


def linked(claim: str) -> str:
    """A claim as a link to its place on the scorecard; a pattern of many as it stands."""
    if "*" in claim:
        return say("claims `{id}`", id=claim)
    return say("claim {link}", link=f'<a href="scorecard.html#{claims.anchor(claim)}"><code>{claim}</code></a>')


def _axioms(group: str) -> str:
    words = {"none": say("none"), "reals": say("reals"), "matrices": say("matrices"), "interval": say("interval")}
    return words.get(group, group)


def by_file(everything: dict[str, list[Statement]], headlines: list[Headline]) -> str:
    """Definitions and headline theorems of each file as MyST, folded."""
    chosen = [headline.statement for headline in headlines]
    parts = []
    for file, statements in everything.items():
        shown = [each for each in statements if each in chosen or each.kind in DEFINING]
        if shown:
            held = sum(each in chosen for each in shown)
            theorems = say("{file}: {n} headline theorem", "{file}: {n} headline theorems", file=file, n=held)
            head = theorems if held else say("{file}: definitions", file=file)
            parts += [f"````{{dropdown}} {head}", *map(entry, shown), "````", ""]
    return "\n".join(parts)


def entry(statement: Statement) -> str:
    """One definition or theorem under its comment, with the variables of its sections; a theorem with their hypotheses, and a name for links."""
    theorem = statement.kind == "Theorem"
    context = [said for said in statement.context if theorem or said.startswith("Variable")]
    code = "\n".join([*context, statement.text])
    target = f"({label(statement)})=\n" if theorem else ""
    place = say(" (line {line})", line=statement.line) if theorem else ""
    return f"{target}{scorecard.cell(told(statement.says)) or f'`{statement.name}`'}{place}\n\n```coq\n{code}\n```\n"


class MachineChecked(SphinxDirective):
    optional_arguments = 1

    def run(self):
        for path in (machine_checked.LIST, claims.ledger_path(), *machine_checked.FOLDER.glob("*.v")):
            self.env.note_dependency(str(path))
        headlines = _headlines()
        if self.arguments and directives.choice(self.arguments[0], ("files",)):
            made = by_file(machine_checked.everything(), headlines)
        else:
            made = table(headlines, in_public(self.config))
        self.content = StringList(made.splitlines(), source=str(machine_checked.LIST))
        return parsed(self)


def mark(doctree, headlines: list[Headline], page: str) -> bool:
    """Name below each theorem that has a `box` what is checked of it, unless its text does so itself. Whether there is such a box."""
    boxes = [
        node for node in doctree.findall(nodes.Element) if "proof" in node.get("classes", ()) and node.get("label")
    ]
    for box in boxes:
        said = {link["reftarget"] for link in box.findall(pending_xref)}
        links = [link_to(each.statement, page) for each in headlines if each.box == box["label"]]
        new = [link for link in links if link["reftarget"] not in said]
        if new and len(new) == len(links):
            line = nodes.paragraph("", say("Checked by a machine: "), classes=["machine-checked"])
            for before, link in zip(["", *[say(", ")] * len(new)], new):
                line += [nodes.Text(before), link]
            line += nodes.Text(say("."))
            box[-1] += line
    return bool(boxes)


def link_to(statement: Statement, page: str) -> pending_xref:
    """A link to the statement on the page of what is checked, as {ref} makes it."""
    where = {"refdomain": "std", "reftype": "ref", "refexplicit": True, "refwarn": True, "refdoc": page}
    name = nodes.literal(statement.name, statement.name)
    return pending_xref("", name, reftarget=label(statement), **where)


@cache
def _headlines() -> list[Headline]:
    """Those of this build: every page asks."""
    return machine_checked.headlines()


def read(app, doctree):
    if mark(doctree, _headlines(), app.env.docname):
        app.env.note_dependency(str(machine_checked.LIST))


def setup(app):
    app.add_directive("machine-checked", MachineChecked)
    app.connect("doctree-read", read)
    app.connect("build-finished", copy_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
