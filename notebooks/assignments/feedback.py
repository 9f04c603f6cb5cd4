"""Pages: feedback for each submission, and all free-text answers beside their rubric. Pages load nothing from outside.

Students' texts become HTML in `parts`, once, when the submission is judged. Markdown and HTML can be made to take very
long, so this happens under a time limit, with plain text as fallback. Plain text also replaces a page that a browser would
take long to show. A page runs no script, and each text stays within its place on the page.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import struct
import sys
from pathlib import Path

import bleach
import nbformat
from nbconvert.filters import markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book._ext.mathml import mathml
from lib.numerics.in_order import total
from lib.release.files import whole
from notebooks.assignments import assignment, confinement, deadlines, language, shipped
from notebooks.assignments.language import say
from notebooks.assignments.tables import code_of

DEEPEST = 2000  # tags opened and not closed: the cleaner takes time with the square of it
MOST_TAGS = 200_000  # of a page, which a browser shows in about three seconds
MOST_TAGS_OF_ANSWER = 4_000  # since all answers of a class are on one page
LONGEST_ANSWER = 20_000  # characters
LARGEST_PICTURE = 2**25  # pixels: a small file can hold a picture that fills the memory

TAGS = {"p", "br", "hr", "div", "span", "pre", "code", "em", "strong", "b", "i", "del", "sub", "sup", "blockquote", "ul", "ol", "li",
        "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}  # fmt: skip

PAGE = """\
<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; overflow-wrap: break-word; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
td, th {{ border-bottom: 1px solid #d0d7de; padding: .25rem .75rem; text-align: left; vertical-align: top; }}
pre {{ background: #f6f8fa; padding: .6rem .8rem; overflow-x: auto; font-size: .87rem; white-space: pre-wrap; }}
img {{ max-width: 100%; }}
pre.out, div.out {{ background: none; border-left: 3px solid #d0d7de; margin-left: 1rem; padding: .2rem .8rem; overflow-x: auto; }}
.lost {{ color: #a40e26; }} .full {{ color: #116329; }} td.lost, td.full {{ white-space: nowrap; }}
.answer {{ border-left: 3px solid #d0d7de; padding-left: 1rem; margin: 1rem 0; }}
.answer, .text, .out {{ overflow-x: auto; contain: paint; }}
@media (max-width: 36rem) {{
  body > table, body > table > tbody, details > table, details > table > tbody, details > table > tbody > tr > * {{ display: block; }}
  body > table > tbody > tr {{ display: flex; flex-wrap: wrap; gap: 0 1rem; border-bottom: 1px solid #d0d7de; padding: .3rem 0; }}
  body > table > tbody > tr > * {{ border: 0; padding: 0; overflow-wrap: anywhere; }}
  body > table > tbody > tr > td:first-child {{ min-width: 7rem; }}
}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def write_pages(records: list[dict], keys: dict, folder: Path, anonymous: bool = False) -> list[str]:
    """Write feedback and executed notebooks below `folder`, and return the path of each record's page."""
    pages: list[str] = []
    taken: set = set()
    for record in records:
        path = _free(f"{_safe(record['student'])}/{_safe(record['assignment'] or 'unknown')}", taken)
        write(folder / f"executed/{path}.ipynb", nbformat.writes(executed(record)))
        write(folder / f"feedback/{path}.html", page(record))
        pages.append(f"feedback/{path}.html")
    write(folder / "by-hand.html", by_hand(records, keys, anonymous))
    return pages


def _safe(name: str) -> str:
    """Return `name` as a file name."""
    return re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", name).strip(". ")[:100] or "unnamed"


def _free(path: str, taken: set) -> str:
    number, free = 1, path
    while free.casefold() in taken:
        number += 1
        free = f"{path}-{number}"
    taken.add(free.casefold())
    return free


def write(path: Path, text: str) -> None:
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="replace")


# ---- one submission


def executed(record: dict):
    """Return the notebook as it ran, with only those tests that students may see."""
    cells = []
    for cell in record["plan"]:
        if cell["type"] == "code":
            made = new_code_cell(cell["shown"], outputs=[nbformat.from_dict(o) for o in cell["outcome"]["outputs"]])
        else:
            made = new_markdown_cell(cell["shown"])
        cells.append(made)
    return new_notebook(
        cells=cells, metadata={"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    )


def parts(record: dict, plainly: bool = False) -> dict:
    """Return a student's texts as HTML: the `cells` of the notebook as it ran, and the `answers` to questions marked by
    hand; both have ids as keys.

    If `plainly`, Markdown and HTML are shown as they were typed.
    """
    markdown = _typed if plainly else _markdown
    answers = {
        question["id"]: _answer(question["text"], markdown) for question in record["questions"] if question["by_hand"]
    }
    ran = zip(record["plan"], executed(record).cells)
    cells = [
        _cell(cell, markdown, plainly, record["language"]) for plan, cell in ran if plan["id"] not in shipped.FIRST
    ]
    if not plainly and sum(each.count("<") for each in cells) > MOST_TAGS:
        raise ValueError("a browser would take too long to show it")
    return {"cells": cells, "answers": answers}


def _answer(text: str, markdown) -> str:
    if len(text) > LONGEST_ANSWER:
        return _typed(f"{text[:LONGEST_ANSWER]}\n[the rest is left out]")
    made = markdown(text)
    return made if made.count("<") <= MOST_TAGS_OF_ANSWER else _typed(text)


def page(record: dict) -> str:
    to = record["language"]
    rows = "".join(_row(question, record) for question in record["questions"])
    got = deadlines.points(record)
    out_of = total(question["out_of"] for question in record["questions"])
    file = say(f"File: {record['file']}", to)
    body = [f"<p>{html.escape(file)}</p>" * bool(record["file"]), _problems(record["problems"], to)]
    if rows:
        if deduction := late(record, to):
            body.append(f'<p class="lost">{html.escape(deduction)}</p>')
        body.append(f"<p><strong>{got:g} {say('of', to)} {out_of:g} {say('points', to)}</strong></p>")
        heads = (say("question", to), say("part", to), say("points", to), say("remark", to))
        body.append(f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>")
    body += record["shown"]["cells"]
    body.append(f"<p><small>{say(confinement.SAID[record['walls']], to)}</small></p>")
    title = f"{record['assignment'] or say('unknown assignment', to)}: {record['student']}"
    return PAGE.format(title=html.escape(title), body="\n".join(body), language=to)


def late(record: dict, to: str = language.SOURCE) -> str:
    """Return what a record loses by lateness, in words of the language `to`; nothing if it was handed in in time."""
    found = record.get("late", {"days": 0})
    if not found["days"]:
        return ""
    return say(
        f"Days late: {found['days']}, of which {found['free']} are free. {found['lost']:g} % of the points are deducted.",
        to,
    )


def _row(question: dict, record: dict) -> str:
    points, out_of, to = question["points"], question["out_of"], record["language"]
    shown = say("to be marked", to) if points is None else f"{points:g} {say('of', to)} {out_of:g}"
    colour = "full" if points == out_of else "lost" if points is not None else ""
    note = say(re.sub(r"^AssertionError: ", "", question["note"]), to)
    if "tested" in question:
        tested = say(f"marked by hand; the test gave {question['tested']:g}", to)
        note = f"{question['remark']} ({tested})"
    elif "remark" in question:
        note = f"{note} {question['remark']}"
    part = language.part(question["part"], record["assignment"], to)
    return f'<tr><td>{html.escape(question["id"])}</td><td>{html.escape(part)}</td><td class="{colour}">{shown}</td><td>{html.escape(note)}</td></tr>'


def _problems(problems: list[str], to: str) -> str:
    lines = "".join(f"<li>{html.escape(say(problem, to))}</li>" for problem in problems)
    return f'<ul class="lost">{lines}</ul>' if lines else ""


def _cell(cell, markdown, plainly: bool, to: str) -> str:
    if cell.cell_type != "code":
        return f'<div class="text">{markdown(cell.source)}</div>'
    return f"<pre>{html.escape(cell.source)}</pre>" + "".join(_output(output, plainly, to) for output in cell.outputs)


def _output(output, plainly: bool, to: str) -> str:
    if output.output_type == "stream":
        return f'<pre class="out">{html.escape(output.text)}</pre>'
    if output.output_type == "error":
        return f'<pre class="out lost">{html.escape(chr(10).join(say(line, to) for line in output.traceback))}</pre>'
    if picture := _picture(output.data.get("image/png", "")):
        return f'<p><img alt="{say("a figure", to)}" src="data:image/png;base64,{html.escape(picture)}"></p>'
    for form, shown in (
        ("text/html", _clean),
        ("text/markdown", _markdown),
        ("text/latex", lambda tex: _formulas(html.escape(tex))),
    ):
        if form in output.data and not plainly:
            return f'<div class="out">{shown(output.data[form])}</div>'
    return f'<pre class="out">{html.escape(output.data.get("text/plain", ""))}</pre>'


def _picture(text: str) -> str:
    """Return a PNG in base64 on one line, or nothing if it is none or has too many pixels."""
    text = "".join(text.split())
    try:
        head = base64.b64decode(text[:32])
        pixels = struct.unpack(">II", head[16:24])
    except (binascii.Error, ValueError, struct.error):
        return ""
    return text if head[:8] == b"\x89PNG\r\n\x1a\n" and pixels[0] * pixels[1] <= LARGEST_PICTURE else ""


# ---- all answers to one question


def by_hand(records: list[dict], keys: dict, anonymous: bool = False) -> str:
    """Return every free-text answer still to be marked, question by question, each under its model answer and rubric; if
    `anonymous`, with codes for names and in their order."""
    parts = []
    for name, key in keys.items():
        for cell in key.cells:
            answers = [
                (record["student"], record["file"], record["shown"]["answers"][question["id"]])
                for record in records
                for question in record["questions"]
                if record["assignment"] == name
                and question["id"] == cell.id
                and question["by_hand"]
                and question["points"] is None
            ]
            if anonymous:
                answers = sorted(("", code_of(file), shown) for _, file, shown in answers)
            if answers:
                parts.append(f"<h2>{html.escape(cell.id)} ({assignment.points(cell):g} points)</h2>")
                parts.append(_markdown(re.sub(r"(?m)^### (BEGIN|END) SOLUTION$", "", cell.source)))
                parts += [
                    f'<h3>{html.escape(student)} <small>{html.escape(file)}</small></h3><div class="answer">{shown}</div>'
                    for student, file, shown in answers
                ]
    return PAGE.format(
        title="Answers to mark by hand",
        body="\n".join(parts) or "<p>There are no answers to mark.</p>",
        language=language.SOURCE,
    )


def _markdown(text: str) -> str:
    return _clean(re.sub(r'<a class="anchor-link".*?</a>', "", markdown2html(text)))


INNER = r"((?:[^\\]|\\[^()\[\]])+)"  # no delimiter: so each letter is looked at once
FORMULA = re.compile(rf"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\[{INNER}\\\]|\\\({INNER}\\\)")


def _formulas(text: str) -> str:
    """Return clean HTML, with the formulas outside code in MathML; a formula that is not valid TeX stays as it was
    typed."""

    def formula(found: re.Match) -> str:
        tex = next(filter(None, found.groups()))
        try:
            return mathml(html.unescape(tex), display=found.lastindex in (1, 3))
        except ValueError:
            return found[0]

    parts, code = re.split(r"(<[^>]*>)", text), 0
    for i, part in enumerate(parts):
        if tag := re.match(r"<(/?)(?:pre|code)\b", part):
            code += -1 if tag[1] else 1
        elif i % 2 == 0 and code == 0:
            parts[i] = FORMULA.sub(formula, part)
    return "".join(parts)


def _typed(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _clean(text: str) -> str:
    """Return HTML without active or external content, or the plain text of HTML that is nested too deeply."""
    depth = deepest = 0
    for closing in re.findall(r"<(/?)[a-zA-Z]", text):
        depth = max(depth - 1, 0) if closing else depth + 1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        return _typed(text)
    return _formulas(bleach.clean(text, tags=TAGS, strip=True, strip_comments=True))
