"""The theme's own words in the edition's language, where its catalogues leave them in English."""

import json
import re
from pathlib import Path

from book.editions import edition
from book.editions.edition import say

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
        text = entitle(place.sub(lambda found: found["before"] + said[found["word"]], text))
        page.write_text(close_up(text), encoding="utf-8")


_WIDE = r"[\u3001-\u30ff\u3400-\u9fff\uff01-\uff9f]"
_OPEN, _CLOSED = r"<(?:strong|em|a|span class=\"std)\b[^>]*>", r"</(?:strong|em|a|span)>"
_GAP = re.compile(rf"(?P<before>{_WIDE}) (?=(?:{_OPEN})+{_WIDE})|(?P<closed>{_WIDE}(?:{_CLOSED})+) (?={_WIDE})")
_TITLE = re.compile(
    r'<p class="admonition-title">'
    r'(?:<span class="caption-number">\w+ (?P<n>\d+) </span>|\w+(?P<link><a [^>]*>) \w+ (?P<of>\d+))'
    r" \((?P<title>.*)\)(?:</a>)?</p>"
)


def close_up(text: str) -> str:
    """A page without the spaces that Markdown asks for beside what is bold or a link, where Japanese stands on both sides."""
    return _GAP.sub(lambda found: found["before"] or found["closed"], text)


def entitle(text: str) -> str:
    """A page whose exercises and solutions have titles in the edition's order of words, not in that of sphinx-exercise."""

    def title(found):
        if found["n"]:
            words = say("Exercise {n}: {title}", n=found["n"], title=found["title"])
        else:
            words = (
                found["link"] + say("Solution to exercise {n}: {title}", n=found["of"], title=found["title"]) + "</a>"
            )
        return f'<p class="admonition-title">{words}</p>'

    return _TITLE.sub(title, text)


def retell_search(app, error):
    """Two sentences of the search: Sphinx leaves the one empty in Japanese, and speaks politely in the other."""
    scripts = Path(app.outdir, "_static/translations.js")
    if error is None and app.builder.format == "html" and edition.language != edition.SOURCE and scripts.is_file():
        before, _, rest = scripts.read_text(encoding="utf-8").partition("(")
        known = json.loads(rest.rpartition(")")[0])
        known["messages"] |= {
            "Search finished, found ${resultCount} page(s) matching the search query.": say(
                "Search finished, found {n} page(s) matching the search query.", n="${resultCount}"
            ),
            "Your search did not match any documents. Please make sure that all words are spelled correctly and that "
            "you've selected enough categories.": say("No page has all of these words."),
        }
        scripts.write_text(f"{before}({json.dumps(known, indent=4)});", encoding="utf-8")


def setup(app):
    app.connect("build-finished", retell, priority=940)
    app.connect("build-finished", retell_search, priority=940)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
