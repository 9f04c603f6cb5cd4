"""Pages for slow lines: what no page uses is not sent, and pictures of few colours are stored as such.

The theme brings a script of 1.5 MB that draws icons, which its font draws as well; the search's index on every page,
which only the search page needs; style sheets of 0.5 MB, of which a book uses a fifth; and a font of 1,400 icons for two dozen.
"""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image

from book.editions import edition

UNUSED = re.compile(r'\s*<script\b[^>]*\bsrc="[^"]*/scripts/fontawesome\.js[^"]*"[^>]*></script>')
FOR_SEARCH = re.compile(
    r'\s*<script\b[^>]*\bsrc="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"[^>]*></script>'
)


def lighten(app, error):
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir)
    pages = [page for page in folder.rglob("*.html") if "_static" not in page.relative_to(folder).parts]
    for page in pages:
        text = UNUSED.sub("", page.read_text(encoding="utf-8"))
        page.write_text(text if page.name == "search.html" else FOR_SEARCH.sub("", text), encoding="utf-8")
    if edition.language != edition.SOURCE:  # whose files are the English edition's
        return
    scripts = [script for script in (folder / "_static").rglob("*.js") if "mathjax" not in script.parts]
    names = {name for file in [*pages, *scripts] for name in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))}
    for sheet in (folder / "_static").rglob("*.css"):
        if sheet.name == "compendium.css":  # ours is short, and our scripts make names up, as line-3
            continue
        rules = tinycss2.parse_stylesheet(sheet.read_text(encoding="utf-8"))
        sheet.write_text(used(rules, names), encoding="utf-8")
    fewer_icons(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(fewer_colours, (folder / "_images").glob("*.png")))


def used(rules: list, names: set[str]) -> str:
    """The rules whose classes all occur among `names`, the words of all pages and scripts; and the licences."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [one for one in separate(rule.prelude) if classes(one) <= names]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports") and rule.content:
            inner = used(tinycss2.parse_rule_list(rule.content), names)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule" or (rule.type == "comment" and rule.value.startswith("!")):
            kept.append(rule.serialize())
    return "\n".join(kept)


def separate(prelude: list) -> list[str]:
    """The selectors of a rule, which commas separate."""
    selectors, start = [], 0
    for end, token in [*enumerate(prelude), (len(prelude), ",")]:
        if token == ",":
            selectors.append(tinycss2.serialize(prelude[start:end]).strip())
            start = end + 1
    return selectors


def classes(selector: str) -> set[str]:
    """The classes that an element must have; not those in brackets, which name alternatives, exceptions or neighbours."""
    plain = re.sub(r"\[[^\]]*\]|\([^()]*(?:\([^()]*\)[^()]*)*\)", "", selector)
    return {name.replace("\\", "") for name in re.findall(r"\.((?:[\w-]|\\.)+)", plain)}


ICONS = re.compile(r"""(fa-[a-z]+-\d+)\.woff2(["')]+ format\()"woff2"[^;}]*""")


def fewer_icons(folder: Path) -> None:
    """The icons' fonts, each with the icons only that a style sheet still names."""
    sheets = {sheet: sheet.read_text(encoding="utf-8") for sheet in (folder / "_static").rglob("*.css")}
    icons = {ord(letter) for text in sheets.values() for letter in text if "\ue000" <= letter <= "\uf8ff"}
    for whole in (folder / "_static").rglob("fa-*.ttf"):
        chosen = subset.Subsetter()
        chosen.populate(unicodes=icons)
        font = TTFont(whole)
        chosen.subset(font)
        font.flavor = "woff"
        font.save(whole.with_suffix(".woff"))
        whole.unlink()
        whole.with_suffix(".woff2").unlink()
    for sheet, text in sheets.items():
        sheet.write_text(ICONS.sub(r'\1.woff\2"woff")', text), encoding="utf-8")


def fewer_colours(picture: Path) -> None:
    """At most 256 colours, if that makes the file smaller: plots have few, but for blends at edges."""
    before = Image.open(picture)
    if before.mode not in ("RGB", "RGBA"):
        return
    white = Image.new("RGBA", before.size, "white")
    flat = Image.alpha_composite(white, before.convert("RGBA")).convert("RGB")
    smaller = io.BytesIO()
    flat.quantize(256, dither=Image.Dither.NONE).save(smaller, format="PNG", optimize=True)
    if len(smaller.getvalue()) < picture.stat().st_size:
        picture.write_bytes(smaller.getvalue())


def setup(app):
    app.connect("build-finished", lighten, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
