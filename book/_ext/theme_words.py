"""The theme's own words in the edition's language, where its catalogues leave them in English."""

import json
import re
from pathlib import Path

from book import edition
from book.edition import say

SAID = (
    "Link to this heading",
    "Link to this image",
    "Link to this table",
    "Link to this term",
    "Link to this equation",
    "Link to this code",
    "Show the source",
    "Hide the source",
    "Show the content",
    "Hide the content",
    "Show the output",
    "Hide the output",
    "Toggle hidden content",
    "Toggle primary sidebar",
    "Toggle secondary sidebar",
    "Search this book...",
    "Color mode",
    "System Settings",
    "Light",
    "Dark",
    "Main",
    "Page",
)


def words() -> dict[str, str]:
    """What stands in the pages, and what is to stand there."""
    return {word: say(word) for word in SAID} | {"練習": say("Exercise")}  # which sphinx-exercise has its own word for


def retell(app, error):
    """In attributes and between tags, where a word stands by itself or before its number."""
    if error is not None or app.builder.format != "html" or edition.language == edition.SOURCE:
        return
    said = words()
    place = re.compile(rf'(?P<before>="|>\s*)(?P<word>{"|".join(map(re.escape, said))})(?=(?: \d+)?\s*<|")')
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(place.sub(lambda found: found["before"] + said[found["word"]], text), encoding="utf-8")


SEARCHED = "Search finished, found ${resultCount} page(s) matching the search query."


def retell_search(app, error):
    """The one sentence of the search that Sphinx leaves empty in Japanese."""
    scripts = Path(app.outdir, "_static/translations.js")
    if error is None and app.builder.format == "html" and edition.language != edition.SOURCE and scripts.is_file():
        said = say("Search finished, found {n} page(s) matching the search query.", n="${resultCount}")
        text = scripts.read_text(encoding="utf-8")
        scripts.write_text(text.replace(f'"{SEARCHED}": ""', f'"{SEARCHED}": {json.dumps(said)}'), encoding="utf-8")


def setup(app):
    app.connect("build-finished", retell, priority=940)
    app.connect("build-finished", retell_search, priority=940)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
