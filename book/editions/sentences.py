"""The sentences of the code: the arguments of `say("…")` in the book's modules and scripts, and the lists called SAID
in modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

BOOK = Path(__file__).resolve().parents[1]
CALL = re.compile(r"\b(?:say|many)\(")
TOKEN = re.compile(r"""(?P<text>(?:'(?:[^'\\]|\\.)*'\s*\+?\s*)+)|(?P<open>[({\[])|(?P<close>[)}\]])|[^'(){}\[\]]+""")


def everywhere(*judged: str) -> dict[str, str]:
    """Return all sentences, each with the name of the first file that contains it; `judged` are the ledger's words for
    verdicts and rules."""
    found = dict.fromkeys(judged, "claims.py")
    for path in sorted(BOOK.rglob("*.py")):
        for sentence in of_module(path.read_text(encoding="utf-8")):
            found.setdefault(sentence, path.name)
    for path in sorted([*BOOK.glob("_scripts/*.js"), *BOOK.glob("_static/*.js")]):
        for sentence in of_scripts(path):
            found.setdefault(sentence, path.name)
    return found


def of_module(source: str) -> list[str]:
    """Return the strings among the arguments of calls of `say` in a Python module, and those in its list SAID."""
    said = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "say":
            said.append((node.lineno, node.args))
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SAID":
            said.append((node.lineno, getattr(node.value, "elts", [])))
    texts = [text for _, each in sorted(said, key=lambda one: one[0]) for text in each]
    return [text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)]


def of_scripts(*paths: Path) -> list[str]:
    """Return the single-quoted strings among the arguments of calls of `say` and `many` in JavaScript."""
    found = []
    for path in paths:
        for script in sorted(path.glob("*.js")) if path.is_dir() else [path]:
            source = script.read_text(encoding="utf-8")
            for call in CALL.finditer(source):
                found += _arguments(source, call.end())
    return list(dict.fromkeys(found))


def _arguments(source: str, start: int) -> list[str]:
    """Return the strings between the bracket before `start` and the bracket that closes it, without those in inner
    brackets."""
    depth, found = 1, []
    for token in TOKEN.finditer(source, start):
        depth += bool(token["open"]) - bool(token["close"])
        if not depth:
            break
        if token["text"] and depth == 1:
            pieces = re.findall(r"'((?:[^'\\]|\\.)*)'", token["text"])
            found.append("".join(pieces).replace("\\'", "'"))
    return found
