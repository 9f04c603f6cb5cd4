"""The directive {formulas}: each numbered item of a document, the functions that compute it, its chapters and verdicts.

The numbers are those of `book/formulas.yml`, made by `book/ledger/numbered.py`; the functions are those whose texts or comments name the
item; chapters and verdicts are the ledger's. What no function names has its reason in `book/formulas.yml`.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import yaml
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from book._ext import reference
from book._ext.library import LIB, ROOT
from book.editions.edition import parsed, say, told
from book.ledger import claims, numbered, retold
from book.ledger.verdicts import standings

LIST = ROOT / "book/formulas.yml"
GATHERED, FULL = ROOT / "build/claims.json", ROOT / "book/results/claims.csv"
NBSP = "\N{NO-BREAK SPACE}"
KINDS = (*numbered.KINDS, "Equation")
NAMED = re.compile(
    rf"\b(?P<kind>{'|'.join(KINDS)}|Prop|Eq)(?:s|\.)?:? (?P<numbers>\(?{numbered.NUMBER}\)?"
    rf"(?:(?:, | and |, and | to |-)\(?{numbered.NUMBER}\)?)*)",
    re.IGNORECASE,
)
ONE = re.compile(rf"(?P<joint>, and |, | and | to |-|)\(?(?P<number>{numbered.NUMBER})\)?")


def items() -> dict[str, dict[str, str]]:
    """By document, each numbered item, as `Theorem 3.1`, and why no function computes it, where none does."""
    found = {}
    for key, kinds in yaml.safe_load(LIST.read_text(encoding="utf-8")).items():
        reasons = kinds.pop("without", {})
        each = [f"{kind} {number}" for kind, numbers in kinds.items() for number in numbers]
        if strange := reasons.keys() - set(each):
            raise ExtensionError(
                f"formulas.yml gives reasons for what {key} does not number: {', '.join(sorted(strange))}"
            )
        found[key] = {name: reasons.get(name, "") for name in each}
    return found


def named(text: str, known) -> list[str]:
    """Those of the `known` items that `text` names; `Lemmas 4.2-4.5` are all between."""
    found = []
    known = list(known)
    for match in NAMED.finditer(text):
        kind = next(each for each in KINDS if each.lower().startswith(match["kind"].lower()))
        for one in ONE.finditer(match["numbers"]):
            name = f"{kind} {one['number']}"
            if one["joint"] in (" to ", "-") and found and found[-1] in known and name in known:
                found += known[known.index(found[-1]) + 1 : known.index(name)]
            found.append(name)
    return [name for name in dict.fromkeys(found) if name in known]


# ---------------------------------------------------------------- functions


@cache
def functions() -> dict[str, dict[str, list[str]]]:
    """By document and item, the public names, or `lib.room.module` where no public one is, whose texts name the item."""
    known = items()
    found: dict[str, dict[str, list[str]]] = {key: {} for key in known}
    for path in sorted(LIB.glob("*/*.py")):
        source = path.read_text(encoding="utf-8")
        module = f"lib.{path.parent.name}.{path.stem}".removesuffix(".__init__")
        own = _document(ast.get_docstring(ast.parse(source)) or "", known)
        for name, text in said(source):
            shown = reference.public().get(
                (module, name), module
            )  # the module, where the text is nobody's who is public
            for key, part in attributed(text, own, known):
                for item in named(part, known[key]):
                    names = found[key].setdefault(item, [])
                    if shown not in names:
                        names.append(shown)
    return found


def _document(text, known) -> str:
    """The one document that a module's text names; "" if none or several."""
    there = [key for key in known if key in text]
    return there[0] if len(there) == 1 else ""


def said(source: str):
    """(name at the top of the module, what its docstrings and comments say), "" for the module's own."""
    tree = ast.parse(source)
    top = [
        (node.lineno, node.end_lineno, node.name)
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    ]
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and (text := ast.get_docstring(node)):
            yield _within(top, getattr(node, "lineno", 0)), text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield _within(top, token.start[0]), token.string


def _within(top, line) -> str:
    return next((name for start, end, name in top if start <= line <= end), "")


def attributed(text: str, own: str, known):
    """(document, part of `text`) for each part that speaks of a document: after its key, or, where nothing is cited, of its `own`."""
    marks = "|".join(known)
    for sentence in re.split(r"(?<=[a-z\d)\"])\.\s+(?=[A-Z`\"])|\n\s*\n", text):
        sentence = " ".join(sentence.split())
        for key in known:  # "Algorithm 1 of miura2025"
            sentence = re.sub(rf"({NAMED.pattern}) of {key}\b", rf"{key}, \1", sentence, flags=re.IGNORECASE)
        spoken = own
        groups = re.compile(rf"\b({marks})\b|({reference.AUTHORS.pattern}|the chapter)")
        last = 0
        for match in groups.finditer(sentence):
            if spoken:
                yield spoken, sentence[last : match.start()]
            spoken, last = match[1] or "", match.end()
        if spoken:
            yield spoken, sentence[last:]


# ---------------------------------------------------------------- the page


def judged(key: str, standings: list) -> dict[str, list]:
    """The ledger's records of each item of a document."""
    known = items()[key]
    found: dict[str, list] = {}
    for record in standings:
        if record.document == key:
            for item in named(record.item, known):
                found.setdefault(item, []).append(record)
    return found


def page(key: str, standings: list) -> list[str]:
    """A document's table, as MyST."""
    records, made = judged(key, standings), functions()[key]
    known = set(reference.public().values())
    lines = [f"| {say('Item')} | {say('Function')} | {say('Chapter')} | {say('Verdict')} |", "|---|---|---|---|"]
    for item, reason in items()[key].items():
        own = records.get(item, [])
        names = made.get(item, [])
        names = [name for name in names if name in known] or names  # a module says where else it is needed
        shown = "<br>".join(map(_link, names)) or told(reason)
        if not shown:
            raise ExtensionError(f"formulas.yml must say why no function computes {item} of {key}")
        pages = dict.fromkeys(record.notebook.removesuffix(".ipynb") for record in own)
        chapters = "<br>".join(f"{{doc}}`/{each}`" for each in pages) or "–"
        count = Counter(record.verdict for record in own)
        verdicts = say(", ").join(
            say("{n} {verdict}", n=number, verdict=name) if len(own) > 1 else name
            for name, number in ((say(verdict), number) for verdict, number in count.items())
        )
        lines.append(f"| {_numbered(item)} | {shown} | {chapters} | {verdicts or say('no claim')} |")
    return lines


def _numbered(item: str) -> str:
    """`Theorem 3.1`, which does not break in two lines."""
    kind, number = item.split(" ")
    kinds = {
        "Theorem": say("Theorem {number}", number=number),
        "Proposition": say("Proposition {number}", number=number),
        "Lemma": say("Lemma {number}", number=number),
        "Definition": say("Definition {number}", number=number),
        "Algorithm": say("Algorithm {number}", number=number),
        "Table": say("Table {number}", number=number),
        "Equation": say("Equation {number}", number=number),
    }
    return kinds[kind].replace(" ", NBSP)


def _link(name: str) -> str:
    parts = name.split(".")
    if name in reference.public().values():
        return f"{{py:obj}}`{parts[-1]} <{name}>`"
    return f"{{ref}}`{'.'.join(parts[1:])} <{name}>`"


class Formulas(SphinxDirective):
    def run(self):
        for path in (LIST, GATHERED, FULL, *LIB.rglob("*.py")):
            self.env.note_dependency(str(path))
        if not Path(GATHERED).is_file():
            raise ExtensionError("no build/claims.json: run `make claims` first")
        found = standings(GATHERED, FULL)
        lines = []
        for key, document in claims.load().documents.items():
            lines += [
                f"## {retold.cited(document)}",
                "",
                say("[`{key}`]({key}/summary.md): {title}.", key=key, title=retold.document(document).title),
                "",
                *page(key, found),
                "",
            ]
        self.content = StringList(lines, source=str(LIST))
        return parsed(self, allow_section_headings=True)


def setup(app):
    app.add_directive("formulas", Formulas)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
