"""Conversion of the project's docstrings to reStructuredText, for autodoc.

A docstring is plain text: paragraphs, indented formulas, `- ` lists, `>>>` examples, names in backticks. The description of
an argument follows its name and a colon, `n : records, [1, inf); alpha : order`, on separate lines or within a paragraph.
"""

import ast
import re
import textwrap

ENTRY = r"(?:(?<=\A)|(?<=\n)|(?<=; )|(?<=\. )|(?<=;\n))(?P<names>\**\w+(?:, \**\w+)*)(?P<mark> : |: | :\n|:\n)"
HEADS = ("Parameters", "Attributes", "Fields", "Returns")
CODE = re.compile(r"``(.+?)``|`([^`]+)`", re.DOTALL)


def paragraphs(lines: list[str]) -> list[list[str]]:
    """Return the groups of lines between empty ones."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            groups[-1].append(line.rstrip())
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]


def rst(lines: list[str], arguments: set[str], mend=lambda text: text) -> list[str]:
    """Return the docstring `lines` as reStructuredText, for an object with `arguments`; `mend` links the prose."""
    made: list[str] = []
    for group in paragraphs(lines):
        if group[0].startswith(">>>"):
            made += [*group, ""]
        elif all(line.startswith("    ") for line in group):
            made += [f".. code-block:: {_language(group)}", "", *group, ""]
        else:
            made += _prose(group, arguments, mend)
    return made


def _language(lines) -> str:
    """Return "text" for formulas, which must not be highlighted as code, and "python" for code."""
    try:
        ast.parse(textwrap.dedent("\n".join(lines)))
    except SyntaxError:
        return "text"
    return "python"


def _prose(group, arguments, mend) -> list[str]:
    """Return a paragraph's parts: the text before its lists, their items, its arguments, and its source."""
    text = re.sub(r"(?<=[.)]) (?=Sources?: )", "\n", "\n".join(group))
    made: list[str] = []
    for part in re.split(r"\n(?=Sources?: )", text):
        if part.startswith("Source"):
            made += [":Source: " + flowing(part.split(":", 1)[1], mend, arguments), ""]
            continue
        for piece in re.split(r"(?m)^(?=- )", part):
            if piece.startswith("- "):
                item, *rest = re.split(r"\n(?! )", piece[2:], maxsplit=1)
                made += ["- " + flowing(item, mend, arguments), ""]
                piece = rest[0] if rest else ""
            made += _entries(piece, arguments, mend)
    return made


def _entries(text, arguments, mend) -> list[str]:
    found = [
        match
        for match in re.finditer(ENTRY, text)
        if {name.strip(" *") for name in match["names"].split(",")} <= arguments
        or (match["mark"].startswith(" ") and (match.start() == 0 or text[match.start() - 1] == "\n"))
    ]
    starts = [match.start() for match in found] + [len(text)]
    before = re.sub(r"\n-{3,}$", "", text[: starts[0]].strip())
    made = [f"**{before}**" if before in HEADS else flowing(before, mend, arguments), ""] if before else []
    for match, end in zip(found, starts[1:]):
        said, *rest = re.split(r"\n(?=[A-Z])", text[match.end() : end].strip().removesuffix(";"), maxsplit=1)
        names = ", ".join(f"``{name.strip()}``" for name in match["names"].split(","))
        made += [names, "    " + flowing(said, mend, arguments), ""]
        made += [flowing(rest[0], mend, arguments), ""] if rest else []
    return made


def flowing(text: str, mend=lambda text: text, arguments=frozenset()) -> str:
    """Return prose on one line, with reStructuredText markup escaped and code as roles, except for `arguments`."""
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
