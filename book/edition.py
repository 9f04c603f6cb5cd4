"""What is said in the language of the edition that is being built."""

from __future__ import annotations

import re

from docutils import nodes

# What stands in a message beside its words: formulas, code with its role, addresses of links, tags.
NO_WORDS = re.compile(r"\$[^$]*\$|\{[\w:-]+\}`[^`<]*`|`[^`]*`|\]\([^)]*\)|<[^>]*>|https?://\S+")

page = ""  # which is being read
found: dict[str, dict[str, str]] = {}
"""By page, its messages so far, with what each is part of."""


def messages(page: str) -> dict[str, str]:
    return found.setdefault(page, {})


def worded(message: str) -> bool:
    """Whether there is something to translate: a word of two letters outside formulas and code."""
    return bool(re.search(r"[^\W\d_]{2}", NO_WORDS.sub(" ", message)))


def told(message: str, kind: str = "generated") -> str:
    """`message`, of which a directive makes its part of the page, in the edition's language: one of the page's messages."""
    if page and worded(message):
        messages(page).setdefault(message, kind)
    return message


def parsed(directive, **options) -> list:
    """What a directive's content makes, where it is translated already or not to be translated."""
    before = set(directive.state.document.findall(nodes.TextElement))  # sections come into the page at once
    made = directive.parse_content_to_nodes(**options)
    generated(node for node in directive.state.document.findall(nodes.TextElement) if node not in before)
    return generated(made)


def generated(made):
    """The nodes `made`, marked as nothing to translate."""
    made = list(made)
    for part in made:
        for node in part.findall(nodes.TextElement):
            if not isinstance(node, nodes.Inline):
                node["translatable"] = False
    return made
