"""The claims that cover each sentence of a document, in `book/coverage/<document>.yml`, with one line for each
sentence.

    python -m book.ledger.coverage kiri2019     prints these lines: those of the file as they are, and the others
    to be filled in

A line has the sentence's number ``n``, its section ``at``, its first ``words``, and either ``claims``, a list of ids,
or ``no claim``, which says why there is none. The texts of the documents are not ours, so the files contain only the
first words. The text of a document is ``<document>-….txt`` in the folder that the environment variable
``COMPENDIUM_PAPERS`` names or, if it is not set, in ``shared/papers`` beside the repository.

`split` divides a text into blocks at blank lines, and the blocks into entries:

- A heading (a line that begins with ``#`` or a section number, or a separate short line that is not a sentence) sets
  the section.
- A caption, a footnote, an affiliation, a reference, an item of a list and a line of an algorithm are one entry each.
- Each cell of a table is one entry, except in the first row and the first column. Its words are the cell and the row's
  name.
- The rest is prose. A sentence ends at ``。`` or at a full stop, question mark or exclamation mark before a space or a
  Japanese letter, and at the next heading. It continues across captions, tables, footnotes, algorithms and the ends of
  pages. A displayed formula belongs to the sentence before it, unless that sentence has ended. The text after the
  formula continues this sentence if it begins with a Japanese particle, such as で, が or と; otherwise it begins a new
  one.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from book.ledger import claims

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "book/coverage"
WORDS = 16  # characters of a sentence that a file quotes

JAPANESE = r"\u3040-\u30ff\u4e00-\u9fff（「『"
END = re.compile(
    rf"[。．]|(?<!\bal)(?<!\be\.g)(?<!\bi\.e)(?<!\d)(?<!\b[A-Z])[.?!？！](?=[\s{JAPANESE}]|$)|(?<=[ \0]\d)\.(?=\s|$)"
)
GOES_ON = re.compile(r"\s*[,.、]?\s*[でがとをにはのも]")
BEGINS = re.compile(r"\*\*|\*Proof|概要|キーワード|Abstract|Keywords|定義|定理|命題|補題|証明|Theorem|Lemma")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|\\displaystyle\s*\{.*?\n?\}(?=\n|$|の)", re.DOTALL)
HEADING = re.compile(r"#+ |【|〈|(?:参考文献|付 録|目次)$|(?:[A-Z]\.)?\d+(?:\.\d+)*\.? [^。]{1,30}(?<![.。])$")
LINE = re.compile(r"(?=.*\w)(?:[^.。•:：=$\[]{1,17}|[A-Za-z\d ()-]{1,32})(?<![,、.:：])$")
LABEL = re.compile(
    r"[\W_]*(?:Definition|Theorem|Lemma|Proof|証明|定義|定理|補題|命題)[ \dA.*]*(?:[(（].*[)）])?[*\s]*[.。]$"
)
NUMBERED = re.compile(r"(?:[A-Z]\.?)?\d+(?:[.-]\d+)*(?=\.? )|[A-Z](?= )|\(\d\)")
ALGORITHM = re.compile(r"[#* ]*(Algorithm \d+)")
CAPTION = re.compile(r"(?:図|表) ?\d+|f:id:\S+\n")
FOOTNOTE = re.compile(r"<sup>|\^?\{?\\?\*\d|\^\{|[¹²³†]|.*@\S+\.(?:jp|com)$")
REFERENCE = re.compile(r"(?:- )?\[\d+\] ")
ITEM = re.compile(r"\s*(?:- |• |\d+[.:] )")


@dataclass(frozen=True)
class Sentence:
    """An entry of a document's text: `kind` is sentence, caption, note, cell, item or reference."""

    section: str
    text: str
    kind: str = "sentence"

    @property
    def words(self) -> str:
        """Return the first characters of the text, without spaces and markup."""
        mark = r"^(?:- |• )" if self.kind in ("item", "reference") else r"^\0"
        return re.sub(rf"{mark}|f:id:\S+|</?sup>|[\s$*`\\]", "", self.text.strip())[:WORDS]


def split(text: str) -> list[Sentence]:
    """Return the entries of a document's `text`, in the order in which they begin (see the module's docstring)."""
    found: list[list] = []  # section, text, kind
    section, algorithm = "", ""
    running, formula = None, False  # the sentence that has not ended, and whether its last part is a displayed formula
    for block in re.split(r"\n\s*\n", text):
        block = block.strip("\n")
        if not block.strip():
            continue
        lines, head = block.split("\n"), block.strip("* \n")
        if title := ALGORITHM.match(block):
            algorithm = title[1]
            found += [[algorithm, each, "item"] for each in lines]
        elif (
            len(lines) == 1
            and not (CAPTION.match(block) or FOOTNOTE.match(block) or algorithm)
            and (HEADING.match(head) or not (running or formula) and LINE.match(head))
        ):
            section, running = _section(head), None
        elif head.startswith("#"):
            section, algorithm, running = _section(head), "", None
        elif "\t" in block:
            found += _cells(section, lines)
        elif CAPTION.match(block):
            found.append([section, block, "caption"])
        elif REFERENCE.match(block):
            found += [[section, each, "reference"] for each in re.split(r"\n(?=(?:- )?\[\d)", block)]
        elif FOOTNOTE.match(block):
            found += [[section, each, "note"] for each in lines]
        elif found and found[-1][2] == "reference" and not re.search("[ぁ-ん]", block):
            found[-1][1] += f" {block}"
        elif ITEM.match(block) or algorithm and (re.search(r"(?m)^- \d+: ", block) or not END.search(block)):
            parts = re.split(r"\n(?=\s*(?:- |• |\d+[.:] ))", block)
            if block.startswith("$$") and found[-1][2] == "item":
                found[-1][1] += parts.pop(0)
            found += [[algorithm or section, each, "item"] for each in parts]
        else:
            algorithm = ""
            running, formula = _prose(found, section, block, running, formula)
    return [Sentence(*each) for each in found]


def _section(head: str) -> str:
    """Return the number of a section, or the first characters of its name."""
    name = re.sub(r"^#+ |[*$]", "", head).strip()
    return number[0] if (number := NUMBERED.match(name)) else name[:WORDS]


def _prose(found: list, section: str, block: str, running, formula: bool):
    """Add the sentences of `block` to `found`; the first continues the sentence `running`, if there is one. Return the
    last sentence, if it has not ended, and whether the block is a displayed formula."""
    displayed = block.startswith(("$$", "\\displaystyle"))
    if BEGINS.match(block) or (formula and not displayed and not GOES_ON.match(block)):
        running = None
    hidden = MATH.sub(lambda match: "\0" * len(match[0]), block)
    start = 0
    for end in [match.end() for match in END.finditer(hidden)] + [len(block)]:
        part = block[start:end]
        start = end
        if not re.sub(r"\\square|\\ ?|[\s)）」□$]", "", part):
            continue
        if running is None:
            running = [section, part.strip(), "sentence"]
            found.append(running)
        else:
            running[1] += part
        if END.search(hidden[end - 1 : end]) and not LABEL.match(running[1]):
            running = None
    return running, displayed


def _cells(section: str, lines: list[str]) -> list[list]:
    """Return the cells of a table, except the first row and the first column. A line without a tab is not a row."""
    rows = [line.split("\t") for line in lines if "\t" in line]
    return [
        [section, f"{cell.strip()} {row[0].strip()}", "cell"] for row in rows[1:] for cell in row[1:] if cell.strip()
    ]


def papers() -> Path:
    """Return the folder of the documents' texts; it need not exist."""
    return Path(os.environ.get("COMPENDIUM_PAPERS") or ROOT.parent / "shared/papers")


def text(document: str) -> str | None:
    """Return the text of `document`, or None if it is not in the folder."""
    found = sorted(papers().glob(f"{document}-*.txt"))
    return found[0].read_text(encoding="utf-8") if found else None


def load(document: str, folder: Path = FOLDER) -> list[dict]:
    """Return the lines of a document's file.

    Raises ``ValueError``, which names the first line that is malformed, is out of order, or has neither claims nor a
    reason.
    """
    lines = yaml.safe_load((folder / f"{document}.yml").read_text(encoding="utf-8"))
    for number, line in enumerate(lines, start=1):
        told, reason = line.get("claims"), line.get("no claim")
        if set(line) not in ({"n", "at", "words", "claims"}, {"n", "at", "words", "no claim"}) or line["n"] != number:
            raise ValueError(
                f"{document}, line {number}: it must have n: {number}, at, words, and either claims or no claim; got {line}"
            )
        if len(line["words"]) > WORDS or not (told or isinstance(reason, str) and len(reason) > 3):
            raise ValueError(
                f"{document}, line {number}: it must quote at most {WORDS} characters, and name claims or the reason "
                f"why it has none; got {line}"
            )
    return lines


def skeleton(document: str, folder: Path = FOLDER) -> str:
    """Return the lines of a document's file, with what the file already says of each sentence. For a new reference, the
    reason is filled in; for another new sentence, the list of claims is empty."""
    told = text(document)
    if told is None:
        raise ValueError(f"document must be one whose text is in {papers()}, got {document!r}")
    path = folder / f"{document}.yml"
    known = {
        (line["at"], line["words"], occurrence): line
        for line, occurrence in _counted(yaml.safe_load(path.read_text("utf-8")) if path.is_file() else [])
    }
    lines = []
    blank = (
        {"n": n, "at": each.section, "words": each.words, "kind": each.kind}
        for n, each in enumerate(split(told), start=1)
    )
    for line, occurrence in _counted(blank):
        old = known.get((line["at"], line["words"], occurrence), {})
        said = {name: old[name] for name in ("claims", "no claim") if name in old}
        said = said or ({"no claim": "a reference"} if line["kind"] == "reference" else {"claims": []})
        entry = {name: line[name] for name in ("n", "at", "words")} | said
        shown = yaml.safe_dump(entry, allow_unicode=True, default_flow_style=True, width=10**6, sort_keys=False)
        lines.append(f"- {shown}")
    return "".join(lines)


def _counted(lines):
    """Yield each line with the number of earlier lines that have the same section and words."""
    seen = Counter()
    for line in lines:
        yield line, seen[line["at"], line["words"]]
        seen[line["at"], line["words"]] += 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in claims.load().documents:
        print(
            f"Name one of {', '.join(claims.load().documents)}: python -m book.ledger.coverage kiri2019",
            file=sys.stderr,
        )
        sys.exit(2)
    print(skeleton(sys.argv[1]), end="")
