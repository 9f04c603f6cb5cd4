"""Conversion of the project's docstrings to reStructuredText, for autodoc.

A docstring is plain text: paragraphs, indented formulas, lists with `- ` or `1. `, `>>>` examples, and names in
backticks. An argument is described after its name and a colon, as in `n : records, [1, inf); alpha : order`. Such
descriptions are on separate lines or within a paragraph. Formulas are plain text, which `typeset` converts:
e^(epsilon/2), for example, becomes a letter with an exponent.
"""

import re
from html.entities import html5

from docutils import nodes
from sphinx import addnodes

ENTRY = r"(?:(?<=\A)|(?<=\n)|(?<=; )|(?<=\. )|(?<=;\n))(?P<names>\**\w+(?:, \**\w+)*)(?P<mark> : |: | :\n|:\n)"
HEADS = ("Parameters", "Attributes", "Fields", "Returns")
CODE = re.compile(r"``(.+?)``|`([^`]+)`", re.DOTALL)
CAPITALS = ("Lambda;", "Phi;", "Sigma;")  # those of the formulas: others begin sentences, or look Latin
GREEK = {"eps": "ε"} | {
    name[:-1]: sign for name, sign in html5.items() if name in CAPITALS or (name.endswith(";") and "α" <= sign <= "ω")
}
SIGNS = GREEK | {"<=": "≤", ">=": "≥", "!=": "≠", "+-": "±", "-+": "∓", "<-": "←", "inf": "∞", "sqrt": "√", "sum": "∑"}
_GROUP = r"\([^()]*\)"
for _ in range(4):  # brackets within brackets
    _GROUP = rf"\((?:[^()]|{_GROUP})*\)"
FORMULA = re.compile(
    rf"(?<=[\w)\]|'])\^(?P<power>-?(?:{_GROUP}|\d+(?:\.\d+)?|[A-Za-z]\w*'?))"
    rf"|(?:\b(?P<base>[A-Za-z]|sum|max|min|sup|{'|'.join(GREEK)}|[A-Za-z]+(?=_[a-z](?!\w)))(?P<prime>'?)|(?<=[|)]))"
    rf"_(?P<index>\{{[^{{}}]*\}}|{'|'.join(GREEK)}|[A-Za-z0-9]{{1,3}})(?![A-Za-z0-9])"
    rf"|(?P<sign>\b(?:{'|'.join(GREEK)}|inf|sqrt(?=\())(?!\w)|[<>!]=|<-(?= )|\+-|-\+)"
)

CODE_NODES = (nodes.literal, nodes.FixedTextElement, nodes.title, nodes.raw, addnodes.desc_signature)


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Return the groups of lines between empty lines."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            groups[-1].append(line.rstrip())
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]


def rst(lines: list[str], arguments: set[str], mend=lambda text: text) -> list[str]:
    """Return the docstring `lines` of an object with `arguments` as reStructuredText; `mend` adds links to the
    prose."""
    made: list[str] = []
    for group in paragraphs(lines):
        if group[0].startswith(">>>"):
            made += [*group, ""]
        elif all(line.startswith("    ") for line in group):
            made += _display(group)
        else:
            made += _prose(group, arguments, mend)
    return made


def _display(group) -> list[str]:
    """Return indented lines as code if they contain an import or a comment, and otherwise as formulas."""
    if any("import " in line or "#" in line for line in group):
        return [f".. code-block:: {'python' if '(' in group[0] + group[-1] else 'text'}", "", *group, ""]
    return [".. rst-class:: formula", "", *(f"    | {_escaped(line.strip())}" for line in group), ""]


def _prose(group, arguments, mend) -> list[str]:
    """Return a paragraph in parts: the text before a list, the items of the list, the arguments, and the source."""
    text = re.sub(r"(?<=[.)]) (?=Sources?: )", "\n", "\n".join(group))
    made: list[str] = []
    for part in re.split(r"\n(?=Sources?: )", text):
        if part.startswith("Source"):
            made += [":Source: " + flowing(part.split(":", 1)[1], mend, arguments), ""]
            continue
        for piece in re.split(r"(?m)^(?=- |\d\. )", part):
            if mark := re.match(r"- |\d\. ", piece):
                item, *rest = re.split(r"\n(?! )", piece[mark.end() :], maxsplit=1)
                made += [mark[0] + flowing(item, mend, arguments), ""]
                piece = rest[0] if rest else ""
            made += _entries(piece, arguments, mend)
    return made


def _entries(text, arguments, mend) -> list[str]:
    found = [
        match
        for match in re.finditer(ENTRY, text)
        if {name.strip(" *") for name in match["names"].split(",")} <= arguments
        or (match["mark"].startswith(" ") and (match.start() == 0 or text[: match.start()].endswith(("\n", "; "))))
    ]
    starts = [match.start() for match in found] + [len(text)]
    before = re.sub(r"\n-{3,}$", "", text[: starts[0]].strip())
    made = [f"**{before}**" if before in HEADS else flowing(before, mend, arguments), ""] if before else []
    for match, end in zip(found, starts[1:]):
        said, *rest = re.split(r"\n(?=[A-Z`])", text[match.end() : end].strip().removesuffix(";"), maxsplit=1)
        names = ", ".join(f"``{name.strip()}``" for name in match["names"].split(","))
        made += [names, "    " + flowing(said, mend, arguments), ""]
        made += [flowing(rest[0], mend, arguments), ""] if rest else []
    return made


def flowing(text: str, mend=lambda text: text, arguments=frozenset()) -> str:
    """Return prose on one line, with reStructuredText markup escaped. Code becomes a role, or a literal if it is in
    `arguments`."""
    text = " ".join(text.split())
    made, last = "", 0
    for match in CODE.finditer(text):
        code = match[1] or match[2]
        role = f"``{code}``" if code in arguments else f":house:`{code}`".replace("\\", "\\\\")
        made += mend(_escaped(text[last : match.start()])) + f"\\ {role}\\ "
        last = match.end()
    return made + mend(_escaped(text[last:]))


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
    text = re.sub(r"_(?=\W|$)", r"\\_", text)
    return re.sub(r"^([-+#.:=~]|\w{1,3}[.)](?= )|\(\w+\)(?= ))", r"\\\1", text)


def typeset(text: str) -> list[nodes.Node]:
    """Return prose as nodes, with the Greek letters, exponents, indices and signs of its formulas typeset."""
    made, last = [], 0
    for found in FORMULA.finditer(text):
        made.append(nodes.Text(text[last : found.start()]))
        last = found.end()
        if power := found["power"]:
            made.append(nodes.superscript("", "", *typeset(power[1:-1] if power.startswith("(") else power)))
        elif index := found["index"]:
            if base := found["base"]:
                made.append(nodes.Text(SIGNS.get(base, base) + found["prime"]))
            made.append(nodes.subscript("", "", *typeset(index.strip("{}"))))
        else:
            made.append(nodes.Text(SIGNS[found["sign"]]))
    return [node for node in [*made, nodes.Text(text[last:])] if node.astext()]


def typeset_page(app, doctree):
    """Typeset the formulas of a page of the reference, except in code and titles (a handler of a Sphinx event)."""
    if not app.env.docname.startswith("reference/"):
        return
    for text in list(doctree.findall(nodes.Text)):
        above = text.parent
        while above is not None and not isinstance(above, CODE_NODES):
            above = above.parent
        if above is None and FORMULA.search(text):
            text.parent.replace(text, typeset(text))
