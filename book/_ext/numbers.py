"""Roles that quote or compute the numbers in prose, so that no page contains numbers typed by hand.

{tally}`miura2022`                    how many claims of a document, or of `all`, have each verdict: of 42 claims, 32 are reproduced and 10 differ
{count}`miura2022.table1.* differs`   the number of claims whose ids match: all of them, or those with this verdict or
                                      value (such as: within the noise)
{printed}`miura2022.headline.rdp`     the value that the document prints
{here}`miura2022.headline.rdp :.4f`   the value that was found, in this format
{kept}`miura2025/ablation: cpu_s where variant == '1.0' :.1f`   from a file in book/results, the mean of a column over the selected rows
{kept}`miura2025/ablation: CPU time`   from such a file, a value in its first lines, which give its provenance
{shown}`kiri2019/04_floating_point: numpy sampler #% _% :.0f`   from the output of a chapter, the number at #
{noted}`miura2025.s421.nearly-optimal: pure DP # %` the same, from the note of a claim's verdict

In the words to search for, each _ matches a number, and … matches any text within one output. The words should include
the heads of a table's columns, so that a moved column is not mistaken for another. Verdicts, values and notes come from
this build or, if it used synthetic data, from the full run, as on the scorecard. A number with an exponent becomes a
formula. If a value is missing or is not a single number, the build fails with an error message.

{computed}`gaussian_sigma(1, 1e-6) :.2f`   a value that lib computes while the book is built

Such an expression can use the subpackages and modules of lib listed in `names`, by their last names. It can also use
the names that `accounting` and `mechanisms` export, and the functions of `math`.
"""

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from book.kept import results
from book.ledger import claims, retold
from book.ledger.verdicts import standings

BOOK = Path(__file__).resolve().parents[1]
NUMBER = r"(?<![\d.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\d)"
END = "\0"
FORMAT = re.compile(r"(.*?)(?:\s+:(\S+))?", re.DOTALL)


@dataclass(frozen=True)
class Sources:
    """The sources of the numbers: the claims that the build has gathered, the notebooks that it has executed, and the
    kept results."""

    gathered: Path = BOOK.parent / "build" / "claims.json"
    executed: Path = BOOK.parent / "build" / "executed"
    kept: Path = BOOK / "results"

    def file(self, path: Path, name: str) -> Path:
        if not path.is_file():
            raise ValueError(
                f"{name} must be a file of the build or of book/results, got {path.name}, which does not exist"
            )
        return path


@cache
def standing(sources: Sources) -> list:
    """Return the record that counts for each claim, from the files of this build and of the full run."""
    return standings(sources.file(sources.gathered, "claims"), sources.kept / "claims.csv")


def record(id: str, sources: Sources):
    """Return the record of claim `id`. Raises ValueError for an unknown id, with the nearest ids, and for a claim that
    this build has not judged."""
    claim = claims.load()[id]
    found = [each for each in standing(sources) if each.id == claim.id]
    if not found:
        raise ValueError(f"claim must be judged by this build, got {id!r}: run `make claims` first")
    return found[0]


# ---- what each role prints for its text; raises ValueError if there is no such number


def verdicts(document: str, sources: Sources) -> Counter:
    """Return how many claims of `document`, or of `all` documents, have each verdict."""
    known = claims.load().documents
    if document not in (*known, "all"):
        raise ValueError(f"document must be one of {', '.join(known)}, or all, got {document!r}")
    chosen = known if document == "all" else [document]
    return Counter(record.verdict for record in standing(sources) if record.document in chosen)


def tally(text: str, sources: Sources) -> str:
    return retold.sentence(verdicts(text, sources))


def count(text: str, sources: Sources) -> str:
    names, _, found = text.partition(" ")
    number = sum(
        found in ("", record.verdict, record.reproduced)
        for record in standing(sources)
        if fnmatchcase(record.id, names)
    )
    if not number:
        raise ValueError(f"count must name claims, and a verdict or value that some of them have, got {text!r}")
    return str(number)


def printed(text: str, sources: Sources) -> str:
    return claims.load()[text].printed


def here(text: str, sources: Sources) -> str:
    return record(text, sources).reproduced


def kept(text: str, sources: Sources) -> str:
    name, _, rest = text.partition(": ")
    column, _, rows = rest.partition(" where ")
    path = sources.file(sources.kept / f"{name}.csv", "kept")
    if rest in (made := results.provenance(path)):
        return made[rest].split(" ")[0]
    frame = results.load(path)
    try:
        chosen = frame.query(rows)[column]
    except Exception as error:  # whatever pandas finds wrong with the query
        raise ValueError(
            f"kept must be 'file: column where condition' of {', '.join(frame)}, got {text!r}: {error}"
        ) from None
    if chosen.isna().all():
        raise ValueError(f"kept must select rows of {name} that have a value, got {text!r}, which selects none")
    return repr(float(chosen.mean()))


def shown(text: str, sources: Sources) -> str:
    name, _, words = text.partition(": ")
    return marked(words, outputs(sources.file(sources.executed / f"{name}.ipynb", "shown")), name)


def noted(text: str, sources: Sources) -> str:
    name, _, words = text.partition(": ")
    return marked(words, record(name, sources).note, name)


def marked(words: str, where: str, name: str) -> str:
    """Search the text `where` for `words`, and return the number in the place of their #."""
    pieces = {" ": r"\s+", "_": NUMBER, "#": f"({NUMBER})", " … ": rf"\s(?:[^{END}]*?\s)?"}
    pattern = "".join(
        pieces.get(piece) or re.escape(piece) for piece in re.split("( … |[ _#])", " ".join(words.split()))
    )
    if words.count("#") != 1:
        raise ValueError(f"words must contain one #, in the place of the number, got {words!r}")
    found = set(re.findall(pattern, where))
    if len(found) != 1:
        raise ValueError(
            f"words must match one number in {name}, got {words!r}, which matches {sorted(found) or 'none'}"
        )
    return found.pop().lstrip("+")


@cache
def outputs(notebook: Path) -> str:
    """Return the texts of a notebook's outputs, separated by END, which no match of a search contains."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    each = [output for cell in cells for output in cell.get("outputs", [])]
    return END.join("".join(one.get("text", one.get("data", {}).get("text/plain", ""))) for one in each)


ROLES = {"tally": tally, "count": count, "printed": printed, "here": here, "kept": kept, "shown": shown, "noted": noted}


def quote(role: str, text: str, sources: Sources) -> str:
    """Return what the role `role` prints for `text`."""
    named, form = FORMAT.fullmatch(text).groups()
    value = ROLES[role](named, sources)
    if role == "tally":
        return value
    if not re.fullmatch(NUMBER, value):
        raise ValueError(f"{role} must name something whose value is a number, got {named!r}, whose value is {value!r}")
    return format(float(value.replace(",", "")), form) if form else value


class Quote(SphinxRole):
    def run(self):
        try:
            text = quote(self.name, self.text, Sources())
        except ValueError as error:
            logging.getLogger(__name__).error(str(error), location=self.get_location())
            text = "?"
        return [node(text, self.rawtext)], []


def node(text: str, raw: str = ""):
    """Return a node that shows `text`: a number with an exponent becomes a formula, and a negative number gets a minus
    sign."""
    if exponent := re.fullmatch(r"(.+)e([-+]?\d+)", text):
        factor = "" if exponent[1] == "1" else rf"{exponent[1]} \cdot "
        formula = f"{factor}10^{{{int(exponent[2])}}}"
        return nodes.math(raw, formula)
    return nodes.inline(raw, re.sub(r"^-(?=\d)", "−", text))


# ---------------------------------------------------------------- computed


@cache
def names() -> dict:
    from lib import accounting, gaussian_synthesis, local, mechanisms, microdata, tables
    from lib.accounting import composition
    from lib.local import communication
    from lib.networks import dp_sgd

    rooms = (accounting, composition, gaussian_synthesis, local, communication, mechanisms, microdata, tables, dp_sgd)
    named = {room.__name__.rpartition(".")[2]: room for room in rooms}
    return vars(math) | vars(accounting) | vars(mechanisms) | named


@cache
def computed(text: str) -> str:
    """Return the value of the expression in `text`, in the format that `text` gives. Raises ValueError if the
    expression is invalid or its value is not a finite number."""
    expression, form = FORMAT.fullmatch(text).groups()
    try:
        value = float(eval(expression, names()))  # the text is a page of this book
    except (ArithmeticError, AttributeError, NameError, SyntaxError, TypeError) as error:
        raise ValueError(f"computed must be an expression of lib, got {expression!r}: {error}") from error
    if not math.isfinite(value):
        raise ValueError(f"computed must give a finite number, got {value:g} from {expression!r}")
    return format(value, form or ".3g")


class Computed(SphinxRole):
    def run(self):
        try:
            made = computed(self.text)
        except ValueError as error:
            return [], [self.inliner.reporter.error(str(error), line=self.lineno)]
        return [nodes.inline(self.text, made, classes=["computed"], **{"data-expression": self.text})], []


def setup(app):
    for name in ROLES:
        app.add_role(name, Quote())
    app.add_role("computed", Computed())
