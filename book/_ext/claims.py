"""The parts of pages that show the ledger: claims, replies, changed verdicts, errata, planted faults, and theorems that
Coq has checked.

A chapter's claims appear as on the scorecard (`book.ledger.cards`). The claims of a section form one list, folded
behind their tally. The list replaces the section's last output of claims or, if the section has hidden code, is at the
section's end (`book._ext.pages`). The box that opens the chapter gives the tally of all claims and links to them. The
notebook's outputs are not changed; the page is made from the records in them. If the chapter ran on synthetic data, the
page shows the verdict of the full run.

{replies}                   the replies to verdicts
{changed-verdicts} 0.1.0    the verdicts that differ from the full run of that version (book/results/claims-0.1.0.csv), and why
{changed-by-standard}       the verdicts that the standard changed, each with the paragraph that changed it, from book/standard.yml
{planted-faults}            what detected each planted fault, by document, and each planted leak, from book/results/faults.csv
{machine-checked}           the headline theorems that Coq has checked, with their files, lines and axioms, from proofs/
{machine-checked} files     for each file, the parts to compare with the prose: definitions, hypotheses and headline theorems

The file and line of a theorem link to the file in the public repository or, if no public address is known, to a copy in
the built book. In a chapter, the box of a theorem ends with a line that names the headline theorems about it;
proofs/headlines.yml gives the `box` of each.
"""

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.util import logging

from book._ext.made import Made, executed, folded, judged, table
from book.editions.edition import say, told
from book.kept import results
from book.ledger import cards, claims, erratum, machine_checked, retold, scorecard
from book.ledger.machine_checked import Headline, Statement, label
from book.ledger.verdicts import FULL, GATHERED, load_full

FAULTS = results.FOLDER / "faults.csv"
log = logging.getLogger(__name__)


# ---------------------------------------------------------------- in chapters


SHOWN = ('<div class="claims">', '<div class="claim" ')  # how book.ledger.claims begins a table, and a line


def recorded(notebook: dict) -> list:
    """Return the content of each output that records claims, in order: a record or, for a table, a list of records."""
    return [
        output["data"][claims.MIME]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if claims.MIME in output.get("data", {})
    ]


def shown(found, to_root: str, page: str, full: dict) -> str:
    """Return the records in `found` (single records and lists of records) as HTML for the chapter's page."""
    listed = findings(found, page, full)
    entries = [cards.entry(each, f"{to_root}scorecard.html#{claims.anchor(each.claim.id)}") for each in listed]
    return cards.folded(listed, entries)


def findings(found: list, page: str, full: dict) -> list[cards.Finding]:
    """Return all records in `found`, which contains single records and lists of records."""
    each = [record for one in found for record in (one if isinstance(one, list) else [one])]
    return cards.findings(claims.load(), [replace(claims.Record(**record), notebook=page) for record in each], full)


def tally(listed: list[cards.Finding]) -> str:
    """Return the number of claims with each verdict, as a badge that links to the first such claim on the page."""
    verdicts = {each.claim.id: each.standing.verdict for each in listed}
    badges = []
    for verdict in claims.VERDICTS:
        ids = [id for id, own in verdicts.items() if own == verdict]
        shown = f'<span class="verdict {claims.css_class(verdict)}">{retold.counted(len(ids), verdict)}</span>'
        badges += [f'<a href="#{claims.anchor(ids[0])}">{shown}</a>'] if ids else []
    return f'<p class="tally">{say("Claims judged here: {badges}", badges=" ".join(badges))}</p>'


def _section(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section | nodes.document):
        node = node.parent
    return node


def _drop(node: nodes.Node) -> None:
    """Remove `node` with the other formats of its output; if the output or the cell contains nothing else, remove that
    too."""
    while isinstance(node.parent, nodes.container) and (
        len(node.parent) == 1 or node.parent.get("nb_element") == "mime_bundle"
    ):
        node = node.parent
    node.parent.remove(node)


def show(app, doctree):
    if notebook := executed(app):
        found = recorded(notebook)
        raw = [each for each in doctree.findall(nodes.raw) if each.astext().startswith(SHOWN)]
        full = load_full(FULL, claims.load()) if found else {}
        to_root = "../" * app.env.docname.count("/")
        by_section: dict[nodes.Node, list] = {}
        for node, records in zip(raw, found, strict=True):
            by_section.setdefault(_section(node), []).append((node, records))
        for judged_in in by_section.values():
            (*others, last), records = zip(*judged_in)
            last.children = [nodes.Text(shown(records, to_root, app.env.docname, full))]
            for node in others:
                _drop(node)
        answer = next(doctree.findall(nodes.admonition), None)
        if found and answer is not None:
            answer += nodes.raw("", tally(findings(found, app.env.docname, full)), format="html")
        for file in (claims.ledger_path(), FULL, cards.REPLIES, machine_checked.LIST) if found else ():
            app.env.note_dependency(str(file))


def listed(replies: dict) -> str:
    """Return the replies as MyST, each with a link to its claim."""
    known = claims.load()
    lines = [
        "- "
        + say(
            "{by}, {date}, to {claim}",
            by=scorecard.cell(reply.by),
            date=scorecard.cell(reply.date),
            claim=f'<a href="scorecard.html#{claims.anchor(id)}">{scorecard.cell(retold.source(known[id], known))}</a>',
        )
        for id, each in replies.items()
        for reply in each
    ]
    return "\n".join(lines or [say("There are no replies yet.")])


class Replies(Made):
    def run(self):
        return self.made(listed(cards.replies()), cards.REPLIES)


# ---------------------------------------------------------------- changed verdicts


def changes(before: dict[str, str], now: list) -> list[tuple]:
    """Return (record, earlier verdict) for each claim whose verdict has changed; new and removed claims are left
    out."""
    return [(record, before[record.id]) for record in now if before.get(record.id, record.verdict) != record.verdict]


def changed(found: list[tuple]) -> str:
    """Return the changes as MyST: how many there are of each kind, above one folded table per document."""
    kinds = Counter((was, record.verdict) for record, was in found)
    told = say(", ").join(
        say("{count} from *{was}* to *{now}*", count=count, was=say(was), now=say(now))
        for (was, now), count in sorted(kinds.items())
    )
    parts = [say("{count} verdicts changed: {told}.", count=len(found), told=told), ""]
    for key, document in claims.load().documents.items():
        own = [(record, was) for record, was in found if record.document == key]
        rows = [
            [f"{scorecard.cell(each.id.split('.', 1)[1])}<br>*{say(was)}* → *{say(each.verdict)}*", _why(each)]
            for each, was in own
        ]
        if rows:
            parts.append(folded(f"{retold.cited(document)}: {len(own)}", table([say("Claim"), say("Why")], rows)))
    return "\n".join(parts)


def _why(record) -> str:
    """Return the finding, if it is in words, followed by the note."""
    record = retold.record(record, claims.load())
    found = record.reproduced.replace("; ", say("; ")) if ":" in record.reproduced else ""
    return scorecard.cell(say("; ").join(filter(None, [found, record.note])))


class ChangedVerdicts(Made):
    required_arguments = 1

    def run(self):
        kept = results.FOLDER / f"claims-{self.arguments[0]}.csv"
        before = results.load(kept).set_index("id")["verdict"].to_dict()
        return self.made(changed(changes(before, judged())), kept, FULL, GATHERED)


STANDARD = claims.ledger_path().with_name("standard.yml")


def changed_by_standard(listed: list[dict], now: dict[str, str]) -> str:
    """Return the changes in `listed` as MyST, one folded table per document; `now` maps ids to current verdicts.

    An entry of `listed` gives the `id` of a claim, its earlier verdict `was`, and the paragraph of the standard that
    changed the verdict, `by`. If the claim is no longer in the ledger, the entry's `now` says what became of it.
    """
    parts = []
    for key, document in claims.load().documents.items():
        rows = [
            [
                f'<a href="scorecard.html#{claims.anchor(each["id"])}">{each["id"]}</a>'
                if each["id"] in now
                else each["id"],
                f"*{say(each['was'])}* → *{say(now[each['id']]) if each['id'] in now else _gone(each['now'])}*",
                f"{{ref}}`{each['by']} <standard-{each['by'].lower()}>`",
            ]
            for each in listed
            if each["id"].startswith(f"{key}.")
        ]
        if rows:
            heads = [say("Claim"), say("Verdict"), say("Paragraph")]
            parts.append(folded(f"{retold.cited(document)}: {len(rows)}", table(heads, rows)))
    return "\n".join(parts)


def _gone(what: str) -> str:
    """Return in words what became of a claim that is no longer in the ledger."""
    return {"merged": say("merged"), "removed": say("removed"), "divided": say("divided")}[what]


class ChangedByStandard(Made):
    def run(self):
        listed = yaml.safe_load(STANDARD.read_text(encoding="utf-8"))
        now = {record.id: record.verdict for record in judged()}
        return self.made(changed_by_standard(listed, now), STANDARD, FULL, GATHERED)


# ---------------------------------------------------------------- errata


def name_entries(app, doctree):
    """Give each entry of the errata an anchor, and list its claims with their verdicts below it."""
    if app.env.docname != erratum.PAGE.stem:
        return
    standing = {record.id: record for record in judged()}
    for path in (claims.ledger_path(), erratum.PAGE, FULL, GATHERED):
        app.env.note_dependency(str(path))
    for section in doctree.findall(nodes.section):
        key = next((name.removeprefix("errata-") for name in section["ids"] if name.startswith("errata-")), None)
        if key is None:
            continue
        terms, entries = list(section.findall(nodes.term)), erratum.entries().get(key, [])
        if len(terms) != len(entries):
            log.warning(
                "the errata of %s have %d entries on the page, but a different number in the file", key, len(terms)
            )
        for number, (term, entry) in enumerate(zip(terms, entries)):
            term["ids"].append(erratum.anchor(key, number))
            if links := [_judged(standing[id]) for id in entry.claims if id in standing]:
                term.parent[-1] += nodes.raw("", f'<p class="erratum-claims">{" · ".join(links)}</p>', format="html")


def _judged(record) -> str:
    """Return the verdict of a claim, then the claim's place in its document as a link to the scorecard."""
    item = cards.markup(retold.claim(claims.load()[record.id]).item)
    return f'{retold.badge(record.verdict)} <a href="scorecard.html#{claims.anchor(record.id)}">{item}</a>'


# ---------------------------------------------------------------- planted faults


def faults(kept: list[dict]) -> str:
    """Return the rows `kept` in the file as MyST: for each document, how many faults were detected and how, and a
    folded table of the faults."""
    parts = []
    for key, document in [*claims.load().documents.items(), ("leaks", None)]:
        own = [row for row in kept if row["document"] == key]
        by = Counter(noticed_by(row)[0] for row in own)
        counts = (
            say(
                "{n} leaks in functions that release. A test fails: {test}; not detected: {nothing}",
                n=len(own),
                **{what: by[what] for what in ("test", "nothing")},
            )
            if document is None
            else say(
                "{document}, {n} faults. Verdicts change: {verdicts}; a chapter stops with an error: {error}; no verdict changes, but"
                " a test fails: {test}; not detected: {nothing}",
                document=retold.cited(document),
                n=len(own),
                **{what: by[what] for what in ("verdicts", "error", "test", "nothing")},
            )
        )
        heads = [say("Fault"), say("In"), say("Detected by")]
        rows = [[scorecard.cell(told(row["fault"])), f"`{row['file']}`", noticed_by(row)[1]] for row in own]
        parts.append(folded(counts, table(heads, rows)))
    return "\n".join(parts)


def noticed_by(row: dict) -> tuple[str, str]:
    """Return what detected a fault ("verdicts", "error", "test" or "nothing"), and the table cell that says so, as
    MyST."""
    if row["moved"]:
        ids = [each.split(": ")[0].split(".", 1)[1] for each in row["moved"].split("; ")]
        listed = ", ".join(f"`{id}`" for id in ids)
        return "verdicts", say("{n} verdict: {ids}", "{n} verdicts: {ids}", n=len(ids), ids=listed)
    if row["stopped"]:
        error = row["stopped"].replace("`", "").replace("|", r"\|")
        return "error", f"`{error}`"  # as code, in any language: Python's errors are in English
    why = told(row["explained"])
    explained = (
        say("{why}; `{test}`", why=why, test=row["test"])
        if why
        else f"`{row['test'].split('::')[0].rsplit('/', 1)[-1]}`"
    )
    return ("test", explained) if row["test"] else ("nothing", say("nothing"))


class PlantedFaults(Made):
    def run(self):
        made = self.made(faults(results.rows(FAULTS)), FAULTS)
        for part in made:
            for shown in part.findall(nodes.table):
                shown["classes"].append("planted-faults")
        return made


# ---------------------------------------------------------------- theorems that Coq has checked


COPIES = "_proofs"  # in the built book
DEFINING = ("Definition", "Fixpoint", "Inductive", "Record")
GREEK = dict(eps="ε", alpha="α", delta="δ", Delta="Δ", kappa="κ", psi="ψ", rho="ρ", sigma="σ", tau="τ")


def theorems(headlines: list[Headline], files: str = "") -> str:
    """Return the theorems as MyST: each with its statement, functions of lib, claims, name, file, line and group of
    axioms.

    files: the address of proofs/ in the public repository, or "".
    """
    rows = []
    for each in headlines:
        stands = each.statement
        of = say(", ").join([*(f"`{name.rsplit('.', 1)[-1]}`" for name in each.lib), *map(linked, each.claims)])
        name = f"{{ref}}`{stands.name} <{label(stands)}>` ({source(stands, files)}; {_axioms(each.axioms)})"
        rows.append([f"{with_code(greek(told(stands.says)))}{say(' ({of})', of=of) if of else ''}", name])
    return table([say("What is proved"), say("Theorem (file and line; axioms)")], rows)


def greek(text: str) -> str:
    """Return a comment of a Coq file with Greek letters in place of their names."""
    return re.sub(rf"\b({'|'.join(GREEK)})\b", lambda found: GREEK[found[1]], text).replace("^2", "²")


def with_code(comment: str) -> str:
    """Return a comment of a Coq file as MyST, in which names between backticks are code and everything else is
    literal."""
    pieces = re.split(r"\\`", scorecard.cell(comment))  # every second piece is code
    return "`".join(re.sub(r"\\(.)", r"\1", piece) if i % 2 else piece for i, piece in enumerate(pieces))


def source(statement: Statement, files: str) -> str:
    """Return the file and line of a statement, as a link to it."""
    there = f"{files}/{statement.file}#L{statement.line}" if files else f"{COPIES}/{statement.file}.txt"
    return f'<a href="{there}">{statement.file}, {statement.line}</a>'


def in_public(config) -> str:
    """Return the address of proofs/ in the public repository, at the last commit that changed it; "" if the repository
    or the commit is unknown."""
    repository = (config.html_theme_options.get("repository_url") or "").rstrip("/")
    commit = repository and results.git(
        "log", "-1", "--format=%H", "--", "proofs", folder=machine_checked.FOLDER.parent
    )
    return f"{repository}/blob/{commit}/proofs" if commit else ""


def copy_files(app, error):
    """Copy the files of proofs/ as plain text into the built book, where pages link to them if no public address is known."""
    if error is None and app.builder.format == "html" and not in_public(app.config):
        folder = Path(app.outdir, COPIES)
        folder.mkdir(exist_ok=True)
        for path in machine_checked.FOLDER.glob("*.v"):
            (folder / f"{path.name}.txt").write_text(path.read_text(encoding="utf-8"), encoding="utf-8")


def linked(claim: str) -> str:
    """Return a claim as a link to its place on the scorecard, or a pattern for several claims without a link."""
    if "*" in claim:
        return say("claims `{id}`", id=claim)
    return say("claim {link}", link=f'<a href="scorecard.html#{claims.anchor(claim)}"><code>{claim}</code></a>')


def _axioms(group: str) -> str:
    words = {"none": say("none"), "reals": say("reals"), "matrices": say("matrices"), "interval": say("interval")}
    return words.get(group, group)


def by_file(everything: dict[str, list[Statement]], headlines: list[Headline]) -> str:
    """Return the definitions and headline theorems as MyST, folded file by file."""
    chosen = [headline.statement for headline in headlines]
    parts = []
    for file, statements in everything.items():
        shown = [each for each in statements if each in chosen or each.kind in DEFINING]
        if shown:
            held = sum(each in chosen for each in shown)
            count = say("{file}: {n} headline theorem", "{file}: {n} headline theorems", file=file, n=held)
            parts.append(folded(count if held else say("{file}: definitions", file=file), *map(stated, shown)))
    return "\n".join(parts)


def stated(statement: Statement) -> str:
    """Return one definition or theorem as MyST, below its comment and with the variables of its sections.

    For a theorem, the abbreviations and hypotheses of its sections and a target for links are added.
    """
    theorem = statement.kind == "Theorem"
    context = [said for said in statement.context if theorem or said.startswith("Variable")]
    code = "\n".join([*context, statement.text])
    target = f"({label(statement)})=\n" if theorem else ""
    place = say(" (line {line})", line=statement.line) if theorem else ""
    return f"{target}{with_code(told(statement.says)) or f'`{statement.name}`'}{place}\n\n```coq\n{code}\n```\n"


class MachineChecked(Made):
    optional_arguments = 1

    def run(self):
        headlines = _headlines()
        if self.arguments and directives.choice(self.arguments[0], ("files",)):
            made = by_file(machine_checked.everything(), headlines)
        else:
            made = theorems(headlines, in_public(self.config))
        files = machine_checked.FOLDER.glob("*.v")
        return self.made(made, machine_checked.LIST, claims.ledger_path(), *files)


def mark(doctree, headlines: list[Headline], page: str) -> bool:
    """Add to each boxed theorem a line that names its theorems in Coq, unless the box already links to one of them.
    Return whether the page has such boxes."""
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
    """Return a link, of the kind that the role {ref} makes, to the statement on the page of checked theorems."""
    where = {"refdomain": "std", "reftype": "ref", "refexplicit": True, "refwarn": True, "refdoc": page}
    name = nodes.literal(statement.name, statement.name)
    return pending_xref("", name, reftarget=label(statement), **where)


@cache
def _headlines() -> list[Headline]:
    """Return the headlines, cached because every page needs them."""
    return machine_checked.headlines()


def name_theorems(app, doctree):
    if mark(doctree, _headlines(), app.env.docname):
        app.env.note_dependency(str(machine_checked.LIST))


def setup(app):
    app.add_directive("replies", Replies)
    app.add_directive("changed-verdicts", ChangedVerdicts)
    app.add_directive("changed-by-standard", ChangedByStandard)
    app.add_directive("planted-faults", PlantedFaults)
    app.add_directive("machine-checked", MachineChecked)
    app.connect("doctree-read", show)
    app.connect("doctree-read", name_entries)
    app.connect("doctree-read", name_theorems)
    app.connect("build-finished", copy_files)
