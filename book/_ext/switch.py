"""The link on every page that leads to the same page in the other language; the script switch.js takes the place on it along.

Where a page is in English only, as those made of docstrings and those of code, the link leads to the page that lists them.
"""

import pickle

from docutils import nodes

from book._ext.shared import PAGES
from book.editions import edition

NAMES = {"en": "English", "ja": "日本語"}
ENGLISH_ONLY = (PAGES, "_modules/")
LISTED = "library"


def other(page: str, language: str, to: str) -> tuple[str, bool]:
    """Where the link on a page of the edition `language` leads, and whether that is the same page."""
    same = not page.startswith(ENGLISH_ONLY)
    up = "../" * (page.count("/") + (language != edition.SOURCE))
    folder = "" if to == edition.SOURCE else f"{to}/"
    return f"{up}{folder}{page if same else LISTED}.html", same


def same_places(app, doctree):
    """Each section has the names of the English page's, whatever its title: what leads to the one leads to the other."""
    if edition.language == edition.SOURCE:
        return
    english = pickle.loads((edition.environment.parent / f"{app.env.docname}.doctree").read_bytes())
    for own, theirs in zip(doctree.findall(nodes.section), english.findall(nodes.section), strict=True):
        own["ids"] = [*theirs["ids"], *(name for name in own["ids"] if name and name not in theirs["ids"])]


def add_link(app, page, template, context, doctree):
    others = [language for language in edition.editions if language != edition.language]
    for to in others[:1]:
        address, same = other(page, edition.language, to)
        context["switch"] = {"address": address, "same": same, "language": to, "name": NAMES[to]}
        if same:
            context["metatags"] = (
                f'{context.get("metatags", "")}<link rel="alternate" hreflang="{to}" href="{address}" />'
            )


def setup(app):
    app.connect("doctree-read", same_places, priority=400)  # before the contents are taken from the sections
    app.connect("html-page-context", add_link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
