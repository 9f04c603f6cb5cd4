"""The theme's own words in the edition's language, where its catalogues leave them in English."""

import json
import re
from pathlib import Path

from book import edition
from book.edition import say


def words() -> dict[str, str]:
    return {
        "Link to this heading": say("Link to this heading"),
        "Link to this image": say("Link to this image"),
        "Link to this table": say("Link to this table"),
        "Link to this term": say("Link to this term"),
        "Link to this equation": say("Link to this equation"),
        "Link to this code": say("Link to this code"),
        "Show the source": say("Show the source"),
        "Hide the source": say("Hide the source"),
        "Show the content": say("Show the content"),
        "Hide the content": say("Hide the content"),
        "Show the output": say("Show the output"),
        "Hide the output": say("Hide the output"),
        "Toggle hidden content": say("Toggle hidden content"),
        "Toggle primary sidebar": say("Toggle primary sidebar"),
        "Toggle secondary sidebar": say("Toggle secondary sidebar"),
        "Search this book...": say("Search this book..."),
        "Color mode": say("Color mode"),
        "System Settings": say("System Settings"),
        "Light": say("Light"),
        "Dark": say("Dark"),
        "Main": say("Main"),
        "Page": say("Page"),
    }


def retell(app, error):
    """In attributes and between tags, where a word stands by itself."""
    if error is not None or app.builder.format != "html" or edition.language == edition.SOURCE:
        return
    said = words()
    place = re.compile(rf'(?P<before>="|>\s*)(?P<word>{"|".join(map(re.escape, said))})(?=\s*<|")')
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
